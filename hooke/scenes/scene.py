"""Scene: a builder with what is needed to simulate and to picture it, and what several scenes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder

__all__ = ["Scene", "self_contact", "write_rows"]


@dataclass
class Scene:
    """Something to simulate.

    Args:
        name: Name for results.
        builder: What is in it; it is coloured and finalized by the run.
        seconds: Simulated time.
        fps: Recorded frames per second.
        substeps: Steps per frame.
        iterations: Sweeps per step of SolverVBD.
        solver: Further keywords of the solver; of SolverKamino fields of its configuration.
        soft_contact: Values of ``model.soft_contact_ke``, ``_kd``, ``_mu`` by the last part of their names.
        drive: Called before every step as ``drive(model, state, time)``; moves kinematic bodies and pinned particles.
        command: Called before every step as ``command(model, control, time)``; writes targets and efforts of joints.
        camera: Keywords of ``hooke.render``.
        method: The solver that the scene is made for: "vbd" (SolverVBD) or "kamino" (SolverKamino).
    """

    name: str
    builder: ModelBuilder
    seconds: float = 3.0
    fps: float = 60.0
    substeps: int = 10
    iterations: int = 10
    solver: dict[str, Any] = field(default_factory=dict)
    soft_contact: dict[str, float] = field(default_factory=dict)
    drive: Callable[[Any, Any, float], None] | None = None
    command: Callable[[Any, Any, float], None] | None = None
    camera: dict[str, Any] = field(default_factory=dict)
    method: str = "vbd"


def self_contact(wanted: bool, radius: float, reach: float = 1.75, **others: Any) -> dict[str, Any]:
    """Keywords of the solver for contact of surfaces with themselves and each other.

    Args:
        wanted: Whether there is any; if not, there are no keywords.
        radius: Distance [m] below which surfaces repel.
        reach: Distance of detection over ``radius``.
        others: Further keywords of the solver.
    """
    if not wanted:
        return {}
    return {
        "particle_enable_self_contact": True,
        "particle_self_contact_radius": radius,
        "particle_self_contact_margin": reach * radius,
        **others,
    }


def write_rows(array: Any, rows: np.ndarray, values: np.ndarray) -> None:
    """Write rows of an array of a state, in place where its memory is the host's."""
    host = array.numpy()
    host[rows] = values
    if not array.device.is_cpu:
        array.assign(host)

"""Scene: a builder with what is needed to simulate and to picture it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hooke.model.builder import ModelBuilder

__all__ = ["Scene"]


@dataclass
class Scene:
    """Something to simulate.

    Args:
        name: Name for results.
        builder: What is in it; it is coloured and finalized by the run.
        seconds: Simulated time.
        fps: Recorded frames per second.
        substeps: Steps per frame.
        iterations: Sweeps per step.
        solver: Further keywords of the solver.
        soft_contact: Values of ``model.soft_contact_ke``, ``_kd``, ``_mu`` by the last part of their names.
        drive: Called before every step as ``drive(model, state, time)``; moves kinematic bodies and pinned particles.
        camera: Keywords of ``hooke.render``.
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
    camera: dict[str, Any] = field(default_factory=dict)

"""One module per engine, each imported only in the process that runs it."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from benchmarks.cases import Case

__all__ = ["WAYS", "Engine", "build_engine"]

WAYS: dict[str, tuple[str, ...]] = {"hooke": ("plain",), "newton": ("plain", "graph"), "mujoco": ("plain",)}
"""The ways in which every engine may run: what its step is called like, or replayed from a graph."""


class Engine(Protocol):
    """A case within one engine.

    Attributes:
        version: Of the engine.
        threads: Threads that a step uses.
    """

    version: str
    threads: int

    def move_held(self) -> None:
        """Put what is held, and moves, where it belongs in the next step; nothing happens when that is done already."""

    def step_start(self) -> tuple[np.ndarray, np.ndarray]:
        """The state that the next step starts from, as the engine sees it: what is held has jumped to its new place already, unless
        the engine moves it over the step.
        """

    def step(self) -> None:
        """Move what is held, detect contacts and take one time step."""

    def start_graph(self) -> None:
        """From now on replay steps from a graph."""

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies of positions [m] and velocities [m/s], both (n, 3)."""

    def overflow(self) -> dict[str, Any]:
        """Buffers that were too small, as {name: (needed, available)}, and warnings of instability; empty when all went well."""

    def export(self) -> dict[str, np.ndarray]:
        """What residual and strain are measured with (:func:`benchmarks.scene.export_model`), or ``edges`` and ``lengths``; with
        self-contact ``tri_indices`` too.
        """

    def facts(self) -> dict[str, Any]:
        """Further numbers for the report."""


def build_engine(name: str, case: Case) -> Engine:
    """A case, ready to step, in the engine of a name."""
    return importlib.import_module(f"benchmarks.engines.{name}_engine").build(case)

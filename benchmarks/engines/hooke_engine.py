"""hooke as a user calls it: ``model.collide``, then ``solver.step``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import hooke
from benchmarks.cases import Case
from benchmarks.roofline import sweep_bytes
from benchmarks.scene import export_model, fill_builder, set_contact, start_twist

__all__ = ["build"]


class HookeEngine:
    """A case in hooke (see :class:`benchmarks.engines.Engine`)."""

    def __init__(self, case: Case):
        builder = hooke.ModelBuilder()
        fill_builder(builder, case)
        self.model = builder.finalize(device="cpu")
        set_contact(self.model, case)
        self.solver = hooke.solvers.SolverVBD(self.model, iterations=case.iterations, **self_contact(case))
        self.states = [self.model.state(), self.model.state()]
        self.twist = start_twist(self.model, self.states[0], case)
        self.contacts = self.model.contacts()
        self.dt = case.dt
        self.version = hooke.__version__
        self.threads = count_workers()

    def move_held(self) -> None:
        if self.twist is not None:
            self.twist.move(self.states[0].particle_q.numpy())

    def step(self) -> None:
        self.move_held()
        now, after = self.states
        self.model.collide(now, self.contacts)
        self.solver.step(now, after, None, self.contacts, self.dt)
        self.states = [after, now]
        if self.twist is not None:
            self.twist.steps += 1

    def start_graph(self) -> None:
        raise ValueError("hooke records its steps by itself; it runs in the way 'plain' only")

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.states[0].particle_q.numpy().copy(), self.states[0].particle_qd.numpy().copy()

    def step_start(self) -> tuple[np.ndarray, np.ndarray]:
        return self.state()

    def overflow(self) -> dict[str, Any]:
        return dict(self.solver.status.overflow)

    def export(self) -> dict[str, np.ndarray]:
        return export_model(self.model)

    def facts(self) -> dict[str, Any]:
        return {
            "status_residual": self.solver.status.residual,
            "sweep_bytes": sweep_bytes(self.solver),
            "colors": len(self.model.particle_color_groups),
            "phases": self.time_phases(),
        }

    def time_phases(self) -> dict[str, float]:
        """Milliseconds of the parts of one more step, by name, where the solver can tell: among them ``detect`` and ``truncate``."""
        time_step = getattr(self.solver, "time_phases", None)
        if time_step is None:
            return {}
        self.move_held()
        now, after = self.states
        self.model.collide(now, self.contacts)
        return dict(time_step(now, after, None, self.contacts, self.dt))


def self_contact(case: Case) -> dict[str, Any]:
    """Keywords of the solver."""
    if not case.contact_distance:
        return {}
    return {
        "particle_enable_self_contact": True,
        "particle_self_contact_radius": case.contact_distance,
        "particle_self_contact_margin": case.reach,
    }


def count_workers() -> int:
    """Threads of a step: what the engine says, else ``HOOKE_WORKERS``, else one."""
    workers = getattr(hooke.config, "workers", None)
    if isinstance(workers, int) and workers > 0:
        return workers
    given = os.environ.get("HOOKE_WORKERS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return 1 if workers is None else os.cpu_count() or 1


def build(case: Case) -> HookeEngine:
    """A case in hooke."""
    return HookeEngine(case)

"""newton through its public interface: the same builder calls, its own solver and collision pipeline."""

from __future__ import annotations

from typing import Any

import newton
import numpy as np
import warp as wp

from benchmarks.cases import Case
from benchmarks.scene import export_model, fill_builder, set_contact, start_twist

__all__ = ["build"]


class _Vectors:
    """The builder with tuples of numbers turned into Warp's vectors and quaternions."""

    def __init__(self, builder: Any):
        self.builder = builder

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.builder, name)

        def call(**arguments: Any) -> Any:
            for key, kind in (("pos", wp.vec3), ("vel", wp.vec3), ("rot", wp.quat)):
                if key in arguments:
                    arguments[key] = kind(*arguments[key])
            return function(**arguments)

        return call


class NewtonEngine:
    """A case in newton (see :class:`benchmarks.engines.Engine`)."""

    def __init__(self, case: Case):
        builder = newton.ModelBuilder()
        fill_builder(_Vectors(builder), case)
        self.model = builder.finalize(device="cpu")
        set_contact(self.model, case)
        self.buffers = {"vertex": 64, "edge": 128} if case.kind == "twist" else {"vertex": 32, "edge": 64}
        self.solver = newton.solvers.SolverVBD(self.model, iterations=case.iterations, **self.self_contact(case))
        self.pipeline = newton.CollisionPipeline(self.model)
        self.contacts = self.pipeline.contacts()
        self.states = [self.model.state(), self.model.state()]
        self.twist = start_twist(self.model, self.states[0], case)
        self.graphs: list[Any] = []
        self.dt = case.dt
        self.version = newton.__version__
        self.threads = 1

    def self_contact(self, case: Case) -> dict[str, Any]:
        """Keywords of the solver. Its buffers do not tell when they overflow: the demand is measured from the final state instead."""
        if not case.contact_distance:
            return {}
        return {
            "particle_enable_self_contact": True,
            "particle_self_contact_margin": case.contact_distance,
            "particle_self_contact_gap": case.contact_gap,
            **{f"particle_{name}_contact_buffer_size": size for name, size in self.buffers.items()},
        }

    def _launch(self, now: Any, after: Any) -> None:
        self.pipeline.collide(now, self.contacts)
        self.solver.step(now, after, None, self.contacts, self.dt)

    def move_held(self) -> None:
        if self.twist is not None:
            self.twist.move(self.states[0].particle_q.numpy())

    def step(self) -> None:
        self.move_held()
        now, after = self.states
        if self.graphs:
            wp.capture_launch(self.graphs[0])
            self.graphs = self.graphs[::-1]
        else:
            self._launch(now, after)
        self.states = [after, now]
        if self.twist is not None:
            self.twist.steps += 1

    def start_graph(self) -> None:
        """Record a step in both directions; nothing is executed meanwhile."""
        graphs = []
        for now, after in (self.states, self.states[::-1]):
            with wp.ScopedCapture(device=self.model.device) as capture:
                self._launch(now, after)
            graphs.append(capture.graph)
        self.graphs = graphs

    def step_start(self) -> tuple[np.ndarray, np.ndarray]:
        self.move_held()
        return self.state()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.states[0].particle_q.numpy().copy(), self.states[0].particle_qd.numpy().copy()

    def overflow(self) -> dict[str, Any]:
        needed, room = int(self.contacts.soft_contact_count.numpy()[0]), int(self.contacts.soft_contact_max)
        return {"soft_contact": (needed, room)} if needed > room else {}

    def export(self) -> dict[str, np.ndarray]:
        return export_model(self.model)

    def facts(self) -> dict[str, Any]:
        return {"colors": len(self.model.particle_color_groups), "contact_buffers": self.buffers}


def build(case: Case) -> NewtonEngine:
    """A case in newton."""
    return NewtonEngine(case)

"""Resetting worlds of SolverVBD: entities as the model has them, and nothing remembered."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.execution.recorder import launch_directly
from hooke.model.enums import StateFlags
from hooke.solvers.reset import restore, select_worlds
from hooke.solvers.vbd.check import Swaps, check_arrays
from hooke.solvers.vbd.contacts import forget_bodies, forget_particles
from hooke.solvers.vbd.workspace import Workspace

__all__ = ["WorldReset"]


class WorldReset:
    """The method of SolverVBD that resets worlds."""

    model: Any
    device: Any
    integrate_with_external_rigid_solver: bool
    workspace: Workspace
    _tables: dict[str, Any]
    _rigid: Any
    _swaps: Swaps
    _particles: Any

    def reset(self, state: Any, world_mask: Any = None, flags: Any = None) -> None:
        """Bring selected worlds back to the model's initial state and forget their contacts.

        The next step then equals the first step of a new solver. Contacts are not detected here.

        Args:
            state: Changed in place; arrays that are None are skipped.
            world_mask: Bool array of length ``world_count``, or one more where the last entry is for what belongs to no world; None
                is everything.
            flags: StateFlags of the arrays to restore (PARTICLE_Q, PARTICLE_QD, BODY_Q, BODY_QD); None is all of them. With 0 the
                caller authors the state and only the solver's memory is cleared.

        Raises:
            TypeError: ``world_mask`` is not a Warp array of bool.
            ValueError: Its length or device is wrong, or those of an array of ``state``, or that is None; then nothing was changed.
        """
        wanted = StateFlags.ALL if flags is None else StateFlags(int(flags))
        if state is None:
            raise ValueError("SolverVBD.reset: expected a state, found None; flags=0 leaves it as it is")
        launch_directly(self._reset, state, world_mask, wanted)
        self._swaps.forget()

    def _reset(self, state: Any, world_mask: Any, wanted: StateFlags) -> None:
        restored = [("particle", "q", StateFlags.PARTICLE_Q), ("particle", "qd", StateFlags.PARTICLE_QD)]
        if not self.integrate_with_external_rigid_solver:
            restored += [("body", "q", StateFlags.BODY_Q), ("body", "qd", StateFlags.BODY_QD)]
        values = [
            (table, column, getattr(state, f"{table}_{column}"))
            for table, column, flag in restored
            if wanted & flag and getattr(state, f"{table}_{column}") is not None
        ]
        for table, column, _value in values:
            noun = "particles" if table == "particle" else "bodies"
            check_arrays("reset: state", state, (f"{table}_{column}",), self._tables[table].count, noun, self.device)
        selected = select_worlds(world_mask, self.model.world_count, self.workspace.everything, self.workspace.selected)
        for table, column, value in values:
            arrays = self._tables[table].arrays
            self._launch(restore, len(value), [arrays["world"], selected, arrays[column]], [value])
        w = self.workspace
        self._launch(forget_particles, w.particles, [self._particles, selected], [w.vertices, w.memory])
        if self._tables["body"].count:
            worlds = self._tables["body"].arrays["world"]
            self._launch(forget_bodies, self._tables["body"].count, [worlds, selected], [w.body_known])
        if self._rigid is not None:
            self._rigid.reset(selected)

    def _launch(self, kernel: Any, dim: int, inputs: list[Any], outputs: list[Any]) -> None:
        if dim:
            wp.launch(kernel, dim=dim, inputs=inputs, outputs=outputs, device=self.device)

"""Memory for the problem that is left of a step, and the phases that form and solve it."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke import config as process
from hooke.execution.pool import cores
from hooke.solvers.kamino.data import Step
from hooke.solvers.kamino.inequality import KEYS, make_inequality_kernels, make_row_types
from hooke.solvers.kamino.ncp import make_solve_worlds
from hooke.solvers.kamino.options import Options, PenaltyMethod, WorldStatus, make_options, make_report
from hooke.solvers.kamino.problem import PAD, make_problem
from hooke.solvers.kamino.scratch import make_scratch, scratch_places, scratch_size
from hooke.solvers.kamino.structure import Structure
from hooke.solvers.kamino.workspace import Workspace, allocate, row_flags

__all__ = ["ProblemSpace"]

_PLAIN = 16


class ProblemSpace:
    """The problems of all worlds.

    Args:
        structure: Structure of the model.
        workspace: What the solver keeps.
        config: Settings of the solver.
        recorder: Launches.
    """

    def __init__(self, structure: Structure, workspace: Workspace, config: Any, recorder: Any):
        self._structure, self._workspace, self._config, self._recorder = structure, workspace, config, recorder
        s, device, scalar = structure, workspace.device, workspace.scalar
        eliminate = config.dynamics.eliminate_bilateral
        joint_flags = np.zeros(s.joint_count, np.int32)
        np.bitwise_or.at(joint_flags, s.dof_joint, row_flags(s))
        rows = s.per_joint(s.friction) + s.per_joint(s.effort) + s.per_joint(s.limited)
        if not eliminate:
            joint_flags |= np.where(s.acts, _PLAIN, 0).astype(np.int32)
            rows = rows + np.where(s.acts, s.locked + s.per_joint(s.dynamic), 0)
        capacity = s.per_world(rows)
        self.capacity = int(capacity.max(initial=0))
        self._joint_flags = wp.array(joint_flags, dtype=wp.int32, device=device)
        row = np.concatenate([[0], np.cumsum(capacity)]).astype(np.int32)
        entry = np.concatenate([[0], np.cumsum(capacity * _padded(capacity))])
        if entry[-1] >= 2**31:
            raise ValueError(f"SolverKamino: the matrices of all worlds would have {entry[-1]} numbers; 2147483647 are possible")
        given = {
            "row": wp.array(row, dtype=wp.int32, device=device), "entry": wp.array(entry, dtype=wp.int32, device=device),
            "count": wp.zeros(s.world_count, dtype=wp.int32, device=device),
            "stride": wp.zeros(s.world_count, dtype=wp.int32, device=device),
            "matrix": wp.zeros(int(entry[-1]) + PAD, dtype=scalar, device=device),
        }  # fmt: skip
        self.problem = allocate(make_problem(scalar), int(row[-1]), device, **given)
        kept = {name: wp.zeros(KEYS * s.joint_count, dtype=scalar, device=device) for name in ("kept_impulse", "kept_velocity")}
        self.rows = allocate(make_row_types(scalar), int(row[-1]), device, **kept)
        self._kernels, self._solve = make_inequality_kernels(scalar), make_solve_worlds(scalar)
        self.report = make_report(scalar)()
        self.report.world = wp.zeros(s.world_count, dtype=WorldStatus, device=device)
        self.report.history = wp.zeros((0, 0), dtype=scalar, device=device)
        self._scratch, self._slots, self._cores = make_scratch(scalar)(), 0, cores()
        self.reserve()
        self.options = wp.array([self._make_options()], dtype=Options, device=device)

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        return [*vars(self._kernels).values(), self._solve] if self.capacity else []

    def reserve(self) -> None:
        """Make working memory for as many workers as there may be; on CUDA for every world."""
        device, most = self._workspace.device, self._structure.world_count
        slots = max(self._cores, int(process.workers or 1)) if device.is_cpu else most
        if slots > self._slots and self.capacity:
            self._scratch.rows, self._scratch.size = self.capacity, scratch_size(self.capacity)
            self._scratch.numbers = wp.zeros(slots * self._scratch.size, dtype=self._workspace.scalar, device=device)
            self._scratch.places = wp.zeros(slots * scratch_places(self.capacity), dtype=wp.int32, device=device)
            self._slots = slots
            self._recorder.forget()

    def _make_options(self) -> Options:
        padmm = self._config.padmm
        names = (
            "primal_tolerance", "dual_tolerance", "compl_tolerance", "restart_tolerance", "eta", "rho_0", "rho_min", "a_0", "alpha", "tau",
            "max_iterations", "penalty_update_freq", "use_acceleration",
        )  # fmt: skip
        values = {name: getattr(padmm, name) for name in names}
        method = PenaltyMethod[padmm.penalty_update_method.upper()]
        return make_options(
            **values, penalty_update_method=int(method), preconditioning=self._config.dynamics.preconditioning,
            warm_start=padmm.warmstart_mode != "none",
        )  # fmt: skip

    def solve(self, step: Step, tables: tuple[Any, Any], inputs: Any) -> None:
        """Launch what finds the impulses of the rows, and the twists with them. Without rows nothing is launched."""
        if not self.capacity:
            return
        w, launch, count = self._workspace, self._recorder.launch, self._structure.world_count
        given = [step, w.patterns, w.mechanism, *tables, inputs, self._joint_flags, w.joints]
        launch(self._kernels.gather, count, given, [self.problem, self.rows])
        launch(self._kernels.form, count, [w.patterns, self.rows], [w.matrix, self.problem])
        launch(self._solve, count, [self.options], [self.problem, self._scratch, self.report])
        given = [w.patterns, w.mechanism, w.start, self.problem, w.scalar(self._config.padmm.warmstart_scale)]
        launch(self._kernels.apply, count, given, [self.rows, w.joints, w.matrix])


def _padded(rows: np.ndarray) -> np.ndarray:
    return (rows.astype(np.int64) + PAD - 1) // PAD * PAD

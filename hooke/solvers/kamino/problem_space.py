"""Memory for the problem that is left of a step, and the phases that form and solve it."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke import config as process
from hooke.execution.pool import cores
from hooke.execution.recorder import launch_directly
from hooke.solvers.kamino.contacts.contact_list import ContactList
from hooke.solvers.kamino.contacts.points import MIXES
from hooke.solvers.kamino.contacts.rows import make_contact_rows
from hooke.solvers.kamino.data import Step
from hooke.solvers.kamino.groups import make_group_rows
from hooke.solvers.kamino.inequality import KEYS, PLAIN, make_inequality_kernels, make_row_types
from hooke.solvers.kamino.ncp.options import COLUMNS, Options, PenaltyMethod, WorldStatus, make_options, make_report
from hooke.solvers.kamino.ncp.problem import PAD, make_problem
from hooke.solvers.kamino.ncp.scratch import make_scratch, scratch_places, scratch_size
from hooke.solvers.kamino.row_solve import make_solve_rows
from hooke.solvers.kamino.structure import Structure
from hooke.solvers.kamino.workspace import Workspace, allocate, row_flags

__all__ = ["ProblemSpace"]

_FIRST_ROOM = 3.0e7
"""Numbers of working memory to begin with, at most; outside a capture it grows with the problems."""
_VECTORS_OF_ROWS = ("kind", "free", "friction", "low", "high", "member", "impulse", "velocity")
_LASTING = (
    "first_row",
    "first_contact",
    "of_contacts",
    "largest",
    "root",
    "amount",
    "order",
    "kept",
    "kept_impulse",
    "kept_velocity",
)


class ProblemSpace:
    """The problems of all worlds.

    Args:
        structure: Structure of the model.
        tables: Tables of the model.
        workspace: What the solver keeps.
        config: Settings of the solver.
        recorder: Launches.

    Attributes:
        problem: The problems; their matrices lie in what a worker works with, so that only that of its last world is there.
        rows: What the rows are.
        contacts: The contacts.
        report: What became of the problems.
        capacity: Most rows that joints of a world may have.
        room: Most rows of a problem that there is working memory for.
    """

    def __init__(self, structure: Structure, tables: dict[str, Any], workspace: Workspace, config: Any, recorder: Any):
        self._structure, self._workspace, self._config, self._recorder = structure, workspace, config, recorder
        s, self._device, self._scalar = structure, workspace.device, workspace.scalar
        capacity = self._read_joints()
        self.capacity, self._joint_rows = int(capacity.max(initial=0)), int(capacity.sum())
        still = wp.array(s.immovable.astype(np.int32), dtype=wp.int32, device=self._device)
        self.contacts = ContactList(tables, s.world_count, still, recorder, self._scalar)
        rules = self.contacts.materials
        rules.friction, rules.restitution = (MIXES[getattr(config.materials, f"{n}_mix_mode")] for n in ("friction", "restitution"))
        rules.culls, rules.apart = int(config.dynamics.cull_speculative_contacts), config.constraints.delta
        self._kernels = make_inequality_kernels(self._scalar)
        self._fill, self._solve = make_contact_rows(self._scalar), make_solve_rows(self._scalar, config.collect_solver_info)
        self._group = make_group_rows(self._scalar)
        self._has_contacts = False
        self.problem, self.rows = make_problem(self._scalar)(), make_row_types(self._scalar)()
        first_row = np.concatenate([[0], np.cumsum(capacity)]).astype(np.int32)
        self.rows.first_row = wp.array(first_row, dtype=wp.int32, device=self._device)
        self.rows.first_contact = wp.zeros(s.world_count + 1, dtype=wp.int32, device=self._device)
        nodes = len(workspace.matrix.x)
        for name, length in (("of_contacts", s.world_count), ("largest", s.world_count), ("kept", s.world_count), ("root", nodes),
                             ("amount", nodes), ("order", nodes)):  # fmt: skip
            setattr(self.rows, name, wp.zeros(length, dtype=wp.int32, device=self._device))
        for name in ("kept_impulse", "kept_velocity"):
            setattr(self.rows, name, wp.zeros(KEYS * s.joint_count, dtype=self._scalar, device=self._device))
        for name in ("row", "count", "entry", "stride"):
            setattr(self.problem, name, wp.zeros(s.world_count, dtype=wp.int32, device=self._device))
        self._make_vectors()
        self._make_report()
        self._scratch, self._slots, self._cores, self.room = make_scratch(self._scalar)(), 0, cores(), 0
        self.reserve_rows(self.capacity)
        self.options = wp.array([self._make_options()], dtype=Options, device=self._device)

    def _read_joints(self) -> np.ndarray:
        """Most rows that the joints of every world may have."""
        s, eliminate = self._structure, self._config.dynamics.eliminate_bilateral
        flags = np.zeros(s.joint_count, np.int32)
        np.bitwise_or.at(flags, s.dof_joint, row_flags(s))
        rows = s.per_joint(s.friction) + s.per_joint(s.effort) + s.per_joint(s.limited)
        if not eliminate:
            flags |= np.where(s.acts, PLAIN, 0).astype(np.int32)
            rows = rows + np.where(s.acts, s.locked + s.per_joint(s.dynamic), 0)
        self._joint_flags = wp.array(flags, dtype=wp.int32, device=self._device)
        return s.per_world(rows)

    def _make_vectors(self) -> None:
        """Vectors for the rows of joints and of as many contacts as there is room for."""
        length = self._joint_rows + (3 * self.contacts.room if self._has_contacts else 0)
        for name in _VECTORS_OF_ROWS:
            dtype = make_problem(self._scalar).vars[name].type.dtype
            setattr(self.problem, name, wp.zeros(length, dtype=dtype, device=self._device))
        given = {name: getattr(self.rows, name) for name in _LASTING}
        self.rows = allocate(make_row_types(self._scalar), length, self._device, **given)

    def _make_report(self) -> None:
        worlds, c = self._structure.world_count, self._config
        self.report = make_report(self._scalar)()
        self.report.world = wp.zeros(worlds, dtype=WorldStatus, device=self._device)
        shape = (worlds * c.padmm.max_iterations, len(COLUMNS)) if c.collect_solver_info else (0, 0)
        self.report.history = wp.zeros(shape, dtype=self._scalar, device=self._device)

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step that has rows."""
        own = [self._kernels.gather, self._group, self._solve] if self.room or self._has_contacts else []
        return own + ([*self.contacts.kernels, self._fill] if self._has_contacts else [])

    @property
    def works(self) -> bool:
        """Whether there may be rows at all."""
        return self.capacity > 0 or self._has_contacts

    def take_contacts(self, contacts: Any) -> bool:
        """Make room for the rows of a buffer; whether kernels are needed that were not before."""
        fresh = not self._has_contacts
        if fresh or self.contacts.needs(contacts):
            launch_directly(self._grow, contacts.rigid_contact_max)
        return fresh

    def _grow(self, rows: int) -> None:
        self._has_contacts = True
        self.contacts.reserve(max(rows, self.contacts.room))
        self.rows.first_contact = self.contacts.points.first
        self._make_vectors()
        each = -(-rows // max(1, self._structure.world_count))
        affordable = int((_FIRST_ROOM / (5 * self._needed_slots())) ** 0.5)
        self.reserve_rows(max(self.capacity, min(self.capacity + 3 * each, affordable)))

    def reserve_workers(self) -> None:
        """Make working memory for as many workers as there may be now; on CUDA for every world."""
        if self._slots < self._needed_slots():
            launch_directly(self.reserve_rows, self.room)

    def _needed_slots(self) -> int:
        most = self._structure.world_count
        return max(self._cores, int(process.workers or 1)) if self._device.is_cpu else most

    def reserve_rows(self, rows: int) -> None:
        """Make working memory for problems of so many rows.

        Raises:
            ValueError: That is more than can be addressed.
        """
        slots, rows = self._needed_slots(), max(rows, self.room)
        wide = (rows + PAD - 1) // PAD * PAD
        if max(slots * rows * wide, scratch_size(rows)) >= 2**31:
            raise ValueError(
                f"SolverKamino: {rows} rows that contacts and joints connect are too many for a dense matrix; expected at most "
                f"{int((2**31 / max(slots, 5)) ** 0.5)}; split the scene into worlds, or leave out contacts"
            )
        self.room, self._slots = rows, slots
        self.problem.matrix = wp.zeros(slots * rows * wide + PAD, dtype=self._scalar, device=self._device)
        self._scratch.rows, self._scratch.size = rows, scratch_size(rows)
        self._scratch.numbers = wp.zeros(slots * self._scratch.size, dtype=self._scalar, device=self._device)
        self._scratch.places = wp.zeros(slots * scratch_places(rows), dtype=wp.int32, device=self._device)
        self._recorder.forget()

    def most_rows(self) -> int:
        """The most rows of a problem in this step; waits for the device."""
        return int(self.rows.largest.numpy().max(initial=0))

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

    def gather(self, step: Step, tables: tuple[Any, Any], inputs: Any, contacts: Any, body_q: wp.array) -> None:
        """Launch what lists the rows of the step, with their first guesses.

        Args:
            step: Numbers of the step.
            tables: Tables of joints and of degrees of freedom.
            inputs: What joints are given.
            contacts: The buffer of contacts, or None.
            body_q: The poses at which contacts are taken.
        """
        if not self.works:
            return
        w, launch, count = self._workspace, self._recorder.launch, self._structure.world_count
        if self._has_contacts:
            self.contacts.find(contacts, body_q)
        given = [step, w.patterns, w.mechanism, *tables, inputs, self._joint_flags, w.joints]
        launch(self._kernels.gather, count, given, [self.problem, self.rows])
        if contacts is not None:
            given = [step, self.contacts.points, w.patterns, w.mechanism, w.start]
            launch(self._fill, self.contacts.room, given, [self.problem, self.rows])
            padmm = self._config.padmm
            if padmm.warmstart_mode != "none":
                way = "internal" if padmm.warmstart_mode == "internal" else padmm.contact_warmstart_method
                self.contacts.recall(body_q, self.rows.of_contacts, way, padmm.warmstart_scale, self.problem, step.dt)
        launch(self._group, count, [w.patterns, w.mechanism, int(self._config.collect_solver_info)], [self.rows, self.problem])

    def solve(self, step: Step, body_q: wp.array) -> None:
        """Launch what finds the impulses of the rows, and the twists with them. Where there can be no rows nothing is launched."""
        if not self.works:
            return
        w, launch = self._workspace, self._recorder.launch
        given = [self.options, w.patterns, w.mechanism, w.start, w.scalar(self._config.padmm.warmstart_scale)]
        outputs = [self.problem, self._scratch, self.report, self.rows, w.joints, w.matrix]
        launch(self._solve, self._structure.world_count, given, outputs)
        if self._has_contacts:
            self.contacts.remember(body_q, self.rows.of_contacts, self.problem, step.dt)

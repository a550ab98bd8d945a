"""Dynamic bodies and their joints in SolverVBD: what a step launches for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.recorder import pointers
from hooke.joints import JOINTS
from hooke.joints.layout import JointLayout
from hooke.model.enums import BodyFlags
from hooke.model.motion import compose, inverse_pose
from hooke.solvers.vbd.body_contacts import BodyContacts
from hooke.solvers.vbd.body_motion import BodyMotion, begin_bodies, finish_bodies, forget_joints, predict_bodies
from hooke.solvers.vbd.island_solve import Turn, restore_momentum, solve_islands
from hooke.solvers.vbd.islands import Islands, make_islands
from hooke.solvers.vbd.joint_rows import (
    JointInputs,
    JointMemory,
    JointOptions,
    JointRows,
    begin_joints,
    linearise_joints,
)
from hooke.solvers.vbd.rigid_contacts import RigidContacts
from hooke.solvers.vbd.workspace import Workspace, allocate

__all__ = ["RigidBodies"]

_ELASTIC = [int(kind.code) for kind in JOINTS if kind.strain is not None]
_LOOSE = [int(kind.code) for kind in JOINTS if kind.at_com and kind.strain is None and not kind.one_sided]


class RigidBodies:
    """Bodies that the solver moves.

    Args:
        model: The model.
        tables: Its tables.
        workspace: Remembers the poses at the end of the last step.
        options: Arguments of the solver by name; read in every step.
        recorder: Launches the kernels.

    Attributes:
        hard: Which slots (linear, angular) of every joint are hard, int (joints, 2).
        contacts: The contacts between bodies.
    """

    def __init__(self, model: Any, tables: dict[str, Any], workspace: Workspace, options: dict[str, Any], recorder: Any):
        self._model, self._tables, self._workspace, self._recorder = model, tables, workspace, recorder
        self._options = options
        device, bodies, joints = recorder.device, tables["body"].count, tables["joint"].count
        self._device, self._joint_count = device, joints
        self._motion = allocate(BodyMotion, bodies, device)
        self._rows = allocate(JointRows, joints, device)
        coordinates = wp.zeros(max(1, tables["joint_coord"].count), dtype=wp.float32, device=device)
        applied = wp.zeros(2 * joints, dtype=wp.spatial_vector, device=device)
        self._memory = allocate(JointMemory, joints, device, coordinates=coordinates, applied=applied)
        self.contacts = RigidContacts(model, tables, options, recorder)
        self._began = wp.zeros(bodies, dtype=wp.transform, device=device)
        self._no_wrench = wp.zeros(0, dtype=wp.spatial_vector, device=device)
        self.hard = wp.array(self._authored_hardness(), dtype=wp.int32, device=device)
        self.bind()

    # ---- binding to the model

    def bind(self) -> None:
        """Which bodies move and which joints connect them; rest poses."""
        columns = {name: self._tables["joint"].arrays[name] for name in ("type", "parent", "child")} if self._joint_count else {}
        joints = {name: array.numpy() for name, array in columns.items()}
        parent, child = (joints.get(name, np.zeros(0, np.int32)) for name in ("parent", "child"))
        body = self._tables["body"].arrays
        moves = ((body["flags"].numpy() & int(BodyFlags.KINEMATIC)) == 0) & (body["inv_mass"].numpy() > 0.0)
        acts = ~np.isin(joints.get("type", np.zeros(0, np.int32)), _LOOSE)
        self._islands: Islands = make_islands(moves, parent, child, acts, self._device)
        self._island_count = len(self._islands.first) - 1
        self.contacts.bind(self._islands, moves, (parent, child), acts)
        self._gather(parent, child)
        self._rest = wp.array(self._rest_poses(joints), dtype=wp.transform, device=self._device)

    def _gather(self, parent: np.ndarray, child: np.ndarray) -> None:
        """Which wrenches of joints are applied to each body."""
        ends = np.stack([child, parent], axis=1).reshape(-1)
        used = np.flatnonzero(ends >= 0)
        order = used[np.argsort(ends[used], kind="stable")]
        counts = np.bincount(ends[used], minlength=self._tables["body"].count)
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self._first = wp.array(first, dtype=wp.int32, device=self._device)
        self._source = wp.array(order.astype(np.int32), dtype=wp.int32, device=self._device)

    def _rest_poses(self, joints: dict[str, np.ndarray]) -> np.ndarray:
        """Relative poses of the anchors where joints are at rest: of cables where the model has the bodies, else ``joint_rest_q``."""
        rest = np.tile(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), (self._joint_count, 1))
        if not self._joint_count:
            return rest
        arrays = self._tables["joint"].arrays
        poses = self._tables["body"].arrays["q"].numpy().astype(np.float64)
        base, end = arrays["X_p"].numpy().astype(np.float64), arrays["X_c"].numpy().astype(np.float64)
        rest_q = self._tables["joint_coord"].arrays["rest_q"]
        rest_q = None if rest_q is None else rest_q.numpy().astype(np.float64)
        first = self._model.joint_q_start.numpy()
        quaternion = {int(kind.code) for kind in JOINTS if kind.quaternion}
        for j, code in enumerate(joints["type"].tolist()):
            parent, child = int(joints["parent"][j]), int(joints["child"][j])
            q = np.zeros(0) if rest_q is None else rest_q[first[j] : first[j + 1] if j + 1 < len(first) else None]
            if code in quaternion and len(q) >= 4 and np.linalg.norm(q[-4:]) > 0.5:
                rest[j, 7 - len(q) :] = q
            elif code in _ELASTIC:
                anchor = base[j] if parent < 0 else compose(poses[parent], base[j])
                rest[j] = compose(inverse_pose(anchor), compose(poses[child], end[j]))
                rest[j, :3] = 0.0
        return rest

    def _authored_hardness(self) -> np.ndarray:
        """Slots of elastic joints are soft, those of others what ``vbd:joint_is_hard`` says."""
        hard = np.ones((self._joint_count, 2), np.int32)
        if not self._joint_count:
            return hard
        authored = getattr(getattr(self._model, "vbd", None), "joint_is_hard", None)
        if authored is not None:
            hard[:] = np.asarray(authored.numpy()).reshape(-1, 1)
        hard[np.isin(self._tables["joint"].arrays["type"].numpy(), _ELASTIC)] = 0
        return hard

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        joints = [begin_joints, linearise_joints, restore_momentum] if self._joint_count else []
        return [begin_bodies, predict_bodies, solve_islands, finish_bodies, *joints, *self.contacts.kernels]

    # ---- the step

    def key(self, control: Any) -> tuple[Any, ...]:
        """All that the launches of a step depend on beside arrays of the states and of the tables."""
        values = tuple(value for name, value in sorted(self._options.items()) if name.startswith("rigid_"))
        return values, self.contacts.key, pointers(control, self.hard, self._rest, self._islands.first)

    def launch(self, iterations: int, states: tuple[Any, Any], control: Any, contacts: Any, dt: float) -> None:
        """All launches of a step."""
        self._begin(states[0], control, contacts, dt)
        for number in range(iterations):
            self.iterate(number, iterations, contacts, dt)
        self.finish(states, contacts, dt)

    def _begin(self, state: Any, control: Any, contacts: Any, dt: float) -> None:
        self.enter(state, dt)
        self.meet(contacts, dt)
        self.predict(state, control, self._touching(contacts).first, dt)

    def enter(self, state: Any, dt: float) -> None:
        """Where the bodies start."""
        w, bodies = self._workspace, self._tables["body"]
        inputs = [bodies.struct, state.body_q, state.body_qd, w.body_known, w.body_q_prev, dt]
        self._recorder.launch(begin_bodies, bodies.count, inputs, [self._motion])

    def meet(self, contacts: Any, dt: float) -> wp.array:
        """The rows between bodies; returns where those of every body begin, an empty array without contacts."""
        if contacts is not None:
            self.contacts.begin(contacts, self._motion, dt)
        return self._touching(contacts).first

    def predict(self, state: Any, control: Any, touching: wp.array, dt: float) -> None:
        """Where inertia and joints take the bodies; a body touches something where ``touching`` grows."""
        bodies, launch = self._tables["body"], self._recorder.launch
        self._inputs = self._joint_inputs(control)
        if self._joint_count:
            launch(begin_joints, self._joint_count, [self._joint_options, *self._joint_tables, self._inputs, dt], [self._memory])
        force = self._no_wrench if state.body_f is None else state.body_f
        inputs = [bodies.struct, self._model.gravity, force, self._first, self._source, self._memory.applied, touching, dt]
        launch(predict_bodies, bodies.count, inputs, [self._motion])

    def _touching(self, contacts: Any) -> BodyContacts:
        """The rows of a step."""
        return self.contacts.none if contacts is None else self.contacts.rows

    def iterate(self, number: int, iterations: int, contacts: Any, dt: float) -> None:
        """A Newton step of every island, or of every group of islands that touch."""
        joints, bodies = self._tables["joint"], self._tables["body"]
        launch = self._recorder.launch
        if self._joint_count:
            inputs = [self._joint_options, *self._joint_tables, self._inputs, number, dt]
            launch(linearise_joints, self._joint_count, inputs, [self._memory, self._rows])
        turn = Turn()
        turn.dt, turn.last = dt, int(number == iterations - 1)
        groups = [(0, self._islands, self._island_count)]
        if contacts is not None:
            groups = self.contacts.judge(contacts, self._motion, number, dt)
        for part, islands, count in groups:
            turn.part = part
            inputs = [joints.struct, bodies.struct, self._rows, self.contacts.options, turn]
            outputs = [islands, self._touching(contacts), self._motion, self._memory]
            launch(solve_islands, count, inputs, outputs)

    def finish(self, states: tuple[Any, Any], contacts: Any, dt: float) -> None:
        """Poses and velocities at the end of a step."""
        w, bodies, launch = self._workspace, self._tables["body"], self._recorder.launch
        state_in, state_out = states
        if contacts is not None:
            self.contacts.finish(contacts, self._motion, dt)
        outputs = [self._motion, state_out.body_q, state_out.body_qd, w.body_known, w.body_q_prev, self._began]
        launch(finish_bodies, bodies.count, [bodies.struct, state_in.body_q, dt], outputs)
        if self._joint_count:
            inputs = [self._tables["joint"].struct, bodies.struct, self._islands, self._motion, self._rows, self._memory]
            inputs += [self._touching(contacts), dt]
            launch(restore_momentum, self._island_count, inputs, [state_out.body_qd])

    @property
    def _joint_tables(self) -> list[Any]:
        tables = self._tables
        return [tables["joint"].struct, tables["joint_dof"].struct, tables["body"].struct, self._motion]

    def _joint_inputs(self, control: Any) -> JointInputs:
        """Targets and efforts of a control, or the model's."""
        inputs = JointInputs()
        if not self._joint_count:
            return inputs
        layout = JointLayout()
        model, tables = self._model, self._tables
        layout.q, layout.qd, layout.dim = model.joint_q_start, model.joint_qd_start, tables["joint"].arrays["dof_dim"]
        inputs.layout = layout
        given = {}
        for name, table, column in (
            ("target_q", "joint_coord", "target_q"), ("target_qd", "joint_dof", "target_qd"), ("force", "joint_dof", "f"),
        ):  # fmt: skip
            public = "joint_f" if name == "force" else f"joint_{name}"
            given[name] = getattr(control, public, None)
            if given[name] is None:
                given[name] = tables[table].arrays[column]
        given["initial"], given["rest_q"] = (tables["joint_coord"].arrays[name] for name in ("q", "rest_q"))
        for name, array in given.items():
            if array is not None:
                setattr(inputs, name, array)
        inputs.rest, inputs.hard = self._rest, self.hard
        return inputs

    @property
    def _joint_options(self) -> JointOptions:
        given, options = self._options, JointOptions()
        options.ke = wp.vec2(given["rigid_joint_linear_ke"], given["rigid_joint_angular_ke"])
        options.kd = wp.vec2(max(0.0, given["rigid_joint_linear_kd"]), max(0.0, given["rigid_joint_angular_kd"]))
        options.k_start = wp.vec2(given["rigid_joint_linear_k_start"], given["rigid_joint_angular_k_start"])
        betas = (given["rigid_avbd_linear_beta"], given["rigid_avbd_angular_beta"])
        options.beta = wp.vec2(*(given["rigid_avbd_beta"] if beta is None else beta for beta in betas))
        alpha = given["rigid_avbd_joint_alpha"]
        options.alpha = given["rigid_avbd_alpha"] if alpha is None else alpha
        options.gamma = given["rigid_avbd_gamma"]
        return options

    # ---- beside the step

    @property
    def body_motion(self) -> BodyMotion:
        """The bodies within a step."""
        return self._motion

    def motion(self, body_q: wp.array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the bodies were when the last step began, when it ended, and in ``body_q``: poses."""
        return self._began.numpy(), self._workspace.body_q_prev.numpy(), body_q.numpy()

    def reset(self, selected: wp.array) -> None:
        """Forget multipliers, penalties and turns of joints in selected worlds."""
        memory = self._memory
        self.contacts.reset(selected)
        if self._joint_count:
            outputs = [memory.known, memory.multiplier, memory.effort, memory.penalty, memory.mode]
            self._recorder.launch(forget_joints, self._joint_count, [self._tables["joint"].arrays["world"], selected], outputs)

    def set_hardness(self, joint: int, slots: list[int], hard: bool) -> None:
        """Make slots of a joint hard or soft from the next step on, in place."""
        values = self.hard.numpy().copy()
        values[joint, slots] = int(hard)
        self.hard.assign(values)

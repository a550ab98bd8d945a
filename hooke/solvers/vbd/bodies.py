"""Dynamic bodies and their joints in SolverVBD: what a step launches for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.recorder import pointers
from hooke.execution.work import whole_work
from hooke.joints import JOINTS
from hooke.joints.layout import JointLayout
from hooke.model.enums import BodyFlags
from hooke.model.motion import compose, inverse_pose
from hooke.solvers.vbd.body_balance import measure_balance
from hooke.solvers.vbd.body_contacts import BodyContacts
from hooke.solvers.vbd.body_motion import BodyMotion, begin_bodies, finish_bodies, forget_joints, predict_bodies
from hooke.solvers.vbd.check_values import check_values
from hooke.solvers.vbd.hysteresis import find_hysteresis, remember_bends
from hooke.solvers.vbd.island_solve import Turn, restore_momentum, solve_islands
from hooke.solvers.vbd.islands import Islands, make_islands
from hooke.solvers.vbd.joint_frames import JointInputs, JointMemory, JointOptions
from hooke.solvers.vbd.joint_rows import JointRows, begin_joints, linearise_joints
from hooke.solvers.vbd.mimics import find_mimics, forget_mimics, linearise_mimics, make_mimics
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
        documented: Whether this is the formulation of the documented page.
    """

    documented = False

    def __init__(self, model: Any, tables: dict[str, Any], workspace: Workspace, options: dict[str, Any], recorder: Any):
        self._model, self._tables, self._workspace, self._recorder = model, tables, workspace, recorder
        self._options = options
        self._option_names = sorted(name for name in options if name.startswith("rigid_"))
        device, bodies, joints = recorder.device, tables["body"].count, tables["joint"].count
        self._device, self._joint_count = device, joints
        self._motion = allocate(BodyMotion, bodies, device, busy=wp.ones(2, dtype=wp.int32, device=device))
        load = wp.zeros(2 * joints, dtype=wp.spatial_vector, device=device)
        stiffen = wp.zeros(2 * joints, dtype=wp.mat33, device=device)
        self._rows = allocate(JointRows, joints, device, load=load, stiffen=stiffen)
        coordinates = wp.zeros(max(1, tables["joint_coord"].count), dtype=wp.float32, device=device)
        applied = wp.zeros(2 * joints, dtype=wp.spatial_vector, device=device)
        self._memory = allocate(JointMemory, joints, device, coordinates=coordinates, applied=applied)
        self.contacts = self._make_contacts()
        self._began = wp.zeros(bodies, dtype=wp.transform, device=device)
        wp.copy(workspace.body_q_prev, tables["body"].arrays["q"])
        self._no_wrench = wp.zeros(0, dtype=wp.spatial_vector, device=device)
        self.hard = wp.array(self._authored_hardness(), dtype=wp.int32, device=device)
        self.bind()

    def _make_contacts(self) -> Any:
        return RigidContacts(self._model, self._tables, self._options, self._recorder)

    # ---- binding to the model

    def bind(self) -> None:
        """Which bodies move and which joints connect them; rest poses, mimics, hysteresis."""
        check_values(self._model, self._tables)
        self._recorder.forget()
        columns = {name: self._tables["joint"].arrays[name] for name in ("type", "parent", "child")} if self._joint_count else {}
        joints = {name: array.numpy() for name, array in columns.items()}
        parent, child = (joints.get(name, np.zeros(0, np.int32)) for name in ("parent", "child"))
        body = self._tables["body"].arrays
        moves = ((body["flags"].numpy() & int(BodyFlags.KINEMATIC)) == 0) & (body["inv_mass"].numpy() > 0.0)
        acts = ~np.isin(joints.get("type", np.zeros(0, np.int32)), _LOOSE)
        self._holds = bool(acts.any())
        self._mimics, ends = make_mimics(find_mimics(self._tables), parent, child, self._device)
        self._islands: Islands = make_islands(moves, parent, child, acts, self._device, ends)
        self._island_count = len(self._islands.first) - 1
        self._gather(parent, child)
        self._islands.first_end, self._islands.end = self._first, self._source
        self.contacts.bind(self._islands, self._mimics, moves, parent, child, acts, self._device, ends)
        self._rest = wp.array(self._rest_poses(joints), dtype=wp.transform, device=self._device)
        self._hysteresis = find_hysteresis(self._model, self._tables, self._device)

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
            wrong = np.flatnonzero((hard[:, 0] != 0) & (hard[:, 0] != 1))
            if len(wrong):
                name = self._tables["joint"].arrays["label"][wrong[0]]
                raise ValueError(
                    f"SolverVBD: expected vbd:joint_is_hard as 0 or 1, found {hard[wrong[0], 0]} at joint {name!r} (index {wrong[0]})"
                )
        hard[np.isin(self._tables["joint"].arrays["type"].numpy(), _ELASTIC)] = 0
        return hard

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        joints = [begin_joints, linearise_joints, restore_momentum] if self._joint_count else []
        joints += [remember_bends] if self._hysteresis.acts else []
        joints += [linearise_mimics] if len(self._mimics.follower) else []
        return [begin_bodies, predict_bodies, solve_islands, finish_bodies, *joints, *self.contacts.kernels]

    # ---- the step

    def prepare(self, contacts: Any) -> None:
        """Before a step is launched: nothing here; rows are found again by what touches."""

    def hold_history(self, update: bool) -> None:
        """Whether the next step takes rows anew; here every step does, and finds what it kept of them."""

    @property
    def keeps_rows(self) -> bool:
        """Whether this step goes on with the rows of the step before as they are."""
        return False

    def key(self, control: Any) -> tuple[Any, ...]:
        """All that the launches of a step depend on beside arrays of the states and of the tables."""
        values = tuple([self._options[name] for name in self._option_names])
        given = (self.hard, self._rest, self._islands.first, self._mimics.follower, self._hysteresis.eps_max, self._hysteresis.tau)
        return values, self._hysteresis.acts, self.contacts.key, pointers(control, *given)

    def launch(self, iterations: int, states: tuple[Any, Any], control: Any, contacts: Any, dt: float) -> None:
        """All launches of a step."""
        self._begin(states[0], control, contacts, dt)
        for number in range(iterations):
            self.iterate(number, iterations, contacts, dt)
        self.finish(states, contacts, dt)

    def _begin(self, state: Any, control: Any, contacts: Any, dt: float) -> None:
        self.enter(state, dt)
        self.predict(state, control, contacts, self.meet(contacts, dt), dt)

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

    def predict(self, state: Any, control: Any, contacts: Any, touching: wp.array, dt: float) -> None:
        """Where inertia and joints take the bodies; a body touches something where ``touching`` grows."""
        bodies, launch = self._tables["body"], self._recorder.launch
        self._inputs = self._joint_inputs(control)
        if self._joint_count:
            inputs = [self._joint_options, bodies.struct, *self._joint_tables, self._inputs, dt]
            launch(begin_joints, self._joint_count, inputs, [self._memory])
        force = self._no_wrench if state.body_f is None else state.body_f
        inputs = [bodies.struct, self._model.gravity, force, self._first, self._source, self._memory.applied, touching, dt]
        launch(predict_bodies, bodies.count, inputs, [self._motion])
        self.contacts.bounce(contacts, self._motion, dt)

    def locate(self) -> None:
        """Ways and turns to where the bodies are now: in this formulation they always are."""

    def _touching(self, contacts: Any) -> BodyContacts:
        """The rows of a step."""
        return self.contacts.none if contacts is None else self.contacts.rows

    def iterate(self, number: int, iterations: int, contacts: Any, dt: float) -> None:
        """A Newton step of every island, or of every group of islands that touch."""
        joints, bodies = self._tables["joint"], self._tables["body"]
        launch = self._recorder.launch
        if self._holds:
            inputs = [self._joint_options, *self._joint_tables, self._inputs, number, dt]
            launch(linearise_joints, self._joint_count, inputs, [self._memory, self._rows])
            launch(linearise_mimics, len(self._mimics.follower), inputs[:-1], [self._memory, self._mimics])
        turn = Turn()
        turn.dt, turn.number, turn.last = dt, number, int(number == iterations - 1)
        groups = [(0, 0, self._islands, self._island_count)]
        if contacts is not None:
            groups = self.contacts.judge(self._motion, number, dt)
        for part, lone, islands, count in groups:
            turn.part, turn.lone = part, lone
            inputs = [joints.struct, bodies.struct, self._rows, self.contacts.options, turn]
            outputs = [islands, self._touching(contacts), self._motion, self._memory, self._mimics]
            launch(solve_islands, count, inputs, outputs)

    def finish(self, states: tuple[Any, Any], contacts: Any, dt: float) -> None:
        """Poses and velocities at the end of a step."""
        w, bodies, launch = self._workspace, self._tables["body"], self._recorder.launch
        state_in, state_out = states
        if self._hysteresis.acts:
            launch(remember_bends, self._joint_count, [*self._joint_tables, self._inputs], [self._memory])
        if contacts is not None:
            self.contacts.finish(contacts, self._motion, dt)
        outputs = [self._motion, state_out.body_q, state_out.body_qd, w.body_known, w.body_q_prev, self._began]
        launch(finish_bodies, bodies.count, [bodies.struct, state_in.body_q, dt], outputs)
        if self._holds:
            inputs = [self._tables["joint"].struct, bodies.struct, self._islands, self._motion, self._rows, self._memory]
            inputs += [self._mimics, self._touching(contacts), dt]
            launch(restore_momentum, self._island_count, inputs, [state_out.body_qd])

    @property
    def _joint_tables(self) -> list[Any]:
        return [self._tables["joint"].struct, self._tables["joint_dof"].struct, self._motion]

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
        inputs.eps_max, inputs.tau = self._hysteresis.eps_max, self._hysteresis.tau
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

    def contact_loads(self, contacts: Any, body_q: Any, body_q_prev: Any, dt: float) -> tuple[wp.array, wp.array] | None:
        """The force [N] on body 1 of every row of the buffer of the last step, and where it acts [m]; None if that has not solved them.

        The point is where bodies meet at the start of the step; levers from there keep angular momentum. Poses and ``dt`` are for
        formulations that find forces from them.
        """
        return self.contacts.loads(contacts, self._motion)

    def measure_imbalance(self, contacts: Any, dt: float) -> float:
        """The largest sum of forces on a body [N], or of torques over its radius of gyration, after the last step."""
        count, device = self._tables["body"].count, self._device
        given = None if contacts is None or not contacts.rigid_contact_max else contacts
        imbalance = wp.zeros(count, dtype=wp.float32, device=device)
        inputs = [whole_work(0, count), self._tables["body"].struct, self._motion, self._rows, self._memory, self._mimics]
        inputs += [self._islands, self._touching(given), dt]
        wp.launch(measure_balance, dim=1 if device.is_cpu else count, inputs=inputs, outputs=[imbalance], device=device)
        return float(imbalance.numpy().max())

    def reset(self, selected: wp.array) -> None:
        """Forget multipliers, penalties and turns of joints in selected worlds."""
        memory = self._memory
        self.contacts.reset(selected)
        if self._joint_count:
            outputs = [memory.known, memory.multiplier, memory.effort, memory.penalty, memory.mode]
            world = self._tables["joint"].arrays["world"]
            self._recorder.launch(forget_joints, self._joint_count, [world, selected], outputs)
            self._recorder.launch(forget_mimics, len(self._mimics.follower), [world, selected], [self._mimics])

    def set_hardness(self, joint: int, slots: list[int], hard: bool) -> None:
        """Make slots of a joint hard or soft from the next step on, in place."""
        values = self.hard.numpy().copy()
        values[joint, slots] = int(hard)
        self.hard.assign(values)

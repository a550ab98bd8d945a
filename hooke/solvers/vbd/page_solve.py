"""Sweeps over bodies, one colour at a time, in the formulation of the documented page (``rigid_compliant_alm=False``).

Every body takes a Newton step on the 6x6 block of its inertia, its joints, its contacts and the particles that it meets, H delta = forces,
with the inertial parts

    f = m (com* - com) / h^2,     t = R I theta / h^2,     theta = rotation vector of q^-1 q*,     I_w / h^2 in H,

where (com*, q*) is the semi-implicit prediction, and then com += delta_x, q <- normalise((delta_theta / 2, 1) q). Poses X^- at the end of
the step before are the solver's: velocities are the way from there, so that a body that the caller moves elsewhere without a reset is
taken to have gone that way. docs/decisions/0019-rigid.md says why this is not the default.

Particles exert on the body what they get from it where both are now: -f at the body's point of contact or attachment, with the block of
the particle as if it were held.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints import JOINTS
from hooke.joints.dispatch import is_at_com
from hooke.joints.layout import joint_place
from hooke.joints.rotation import rotation_vector
from hooke.math.blocks import solve_block
from hooke.model.enums import BodyFlags
from hooke.model.tables import Bodies, JointDofs, Joints
from hooke.solvers.vbd.bodies import RigidBodies
from hooke.solvers.vbd.body_motion import BodyMotion, begin_bodies
from hooke.solvers.vbd.check_bodies import idle_on_page
from hooke.solvers.vbd.joint_frames import JointInputs, JointOptions
from hooke.solvers.vbd.joint_rows import begin_joints
from hooke.solvers.vbd.page_contacts import PageContacts, PageLoads, is_resting
from hooke.solvers.vbd.page_rigid_contacts import PageRigidContacts
from hooke.solvers.vbd.page_rows import (
    PageBend,
    PageBodyMotion,
    PageMemory,
    PageWrench,
    begin_page_joint,
    joint_at,
    page_bend,
    page_wrench,
    update_page_joint,
)
from hooke.solvers.vbd.workspace import allocate

__all__ = ["PageBodies"]

KINEMATIC = wp.constant(int(BodyFlags.KINEMATIC))
_REFUSED = [int(kind.code) for kind in JOINTS if kind.at_com and (kind.one_sided or kind.strain is not None)]


@wp.struct
class PageSystem:
    """The joints of every body: those from ``first[b]`` on to that of the next, as 2 j for a child and 2 j + 1 for a parent."""

    first: wp.array(dtype=wp.int32)
    source: wp.array(dtype=wp.int32)


@wp.func
def turned_pose(q: wp.quat, half: wp.vec3, com: wp.vec3, local: wp.vec3):
    """The pose with a centre of mass, after the rotation (half, 1)."""
    turned = wp.normalize(wp.normalize(wp.quat(half[0], half[1], half[2], 1.0)) * q)
    return wp.transform(com - wp.quat_rotate(turned, local), turned)


@wp.kernel(enable_backward=False)
def locate_page(work: Work, bodies: Bodies, page: PageBodyMotion, motion: BodyMotion):
    """Where the bodies are now, as ways and turns from the start of the step."""
    b = first_item(work, wp.tid())
    while b >= 0:
        motion.way[b] = wp.transform_point(page.q[b], bodies.com[b]) - motion.com[b]
        motion.turn[b] = wp.normalize(wp.transform_get_rotation(page.q[b]) * wp.quat_inverse(motion.rotation[b]))
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def predict_page(
    work: Work, bodies: Bodies, gravity: wp.array(dtype=wp.vec3), body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector), body_f: wp.array(dtype=wp.spatial_vector), applied: wp.array(dtype=wp.spatial_vector),
    known: wp.array(dtype=wp.int32), system: PageSystem, dt: float, motion: PageBodyMotion, loads: PageLoads,
):  # fmt: skip
    """The semi-implicit prediction, which is the first guess; explicit in the gyroscopic moment."""
    b = first_item(work, wp.tid())
    while b >= 0:
        start = body_q[b]
        motion.moves[b] = int((bodies.flags[b] & KINEMATIC) == 0 and bodies.inv_mass[b] > 0.0)
        if known[b] == 0:
            motion.previous[b] = start
        motion.target[b] = start
        if motion.moves[b] != 0:
            wrench = wp.spatial_vector()
            if body_f.shape[0] > 0:
                wrench = wrench + body_f[b]
            for k in range(system.first[b], system.first[b + 1]):
                wrench += applied[system.source[k]]
            q = wp.transform_get_rotation(start)
            g = gravity[wp.where(bodies.world[b] < 0, gravity.shape[0] - 1, bodies.world[b])]
            v = wp.spatial_top(body_qd[b]) + dt * (g + wp.spatial_top(wrench) * bodies.inv_mass[b])
            omega = wp.quat_rotate_inv(q, wp.spatial_bottom(body_qd[b]))
            torque = wp.quat_rotate_inv(q, wp.spatial_bottom(wrench)) - wp.cross(omega, bodies.inertia[b] * omega)
            omega = wp.quat_rotate(q, omega + dt * (bodies.inv_inertia[b] * torque))
            motion.target[b] = turned_pose(q, 0.5 * dt * omega, wp.transform_point(start, bodies.com[b]) + dt * v, bodies.com[b])
        motion.q[b] = motion.target[b]
        loads.force[b] = wp.spatial_vector()
        loads.ll[b] = wp.mat33()
        loads.al[b] = wp.mat33()
        loads.aa[b] = wp.mat33()
        b = next_item(work, b)


@wp.func
def acts_on_page(joints: Joints, j: int):
    return joints.enabled[j] and not is_at_com(joints.type[j])


@wp.func
def turn_rate(motion: PageBodyMotion, b: int, dt: float):
    """Angular velocity of the way since X^-."""
    omega = wp.vec3(0.0)
    if b >= 0:
        turn = wp.transform_get_rotation(motion.q[b]) * wp.quat_inverse(wp.transform_get_rotation(motion.previous[b]))
        omega = rotation_vector(wp.normalize(turn)) / dt
    return omega


@wp.kernel(enable_backward=False)
def begin_page(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, bodies: Bodies, inputs: JointInputs, motion: PageBodyMotion,
    memory: PageMemory,
):  # fmt: skip
    """What is left of penalties and multipliers, and C_0."""
    j = first_item(work, wp.tid())
    while j >= 0:
        before = joint_at(joints, bodies, memory, j, motion.previous)
        begin_page_joint(options, joints, dofs, inputs, memory, before, j, acts_on_page(joints, j))
        j = next_item(work, j)


@wp.func
def add_particles(w: PageWrench, motion: PageBodyMotion, b: int):
    """Add what particles exert."""
    w.f += wp.spatial_top(motion.pull[b])
    w.t += wp.spatial_bottom(motion.pull[b])
    ll, al, aa = wp.mat33(), wp.mat33(), wp.mat33()
    for i in range(3):
        for k in range(3):
            ll[i, k] = motion.stiffening[b][i, k]
            al[i, k] = motion.stiffening[b][3 + i, k]
            aa[i, k] = motion.stiffening[b][3 + i, 3 + k]
    w.ll += ll
    w.al += al
    w.aa += aa
    return w


@wp.func
def block_of(w: PageWrench):
    """The 6x6 matrix."""
    m = wp.spatial_matrix()
    least = 1.0e-9 * (wp.trace(w.aa) / 3.0 + 1.0)
    for i in range(3):
        for k in range(3):
            m[i, k] = w.ll[i, k]
            m[3 + i, k] = w.al[i, k]
            m[k, 3 + i] = w.al[i, k]
            m[3 + i, 3 + k] = w.aa[i, k]
        m[3 + i, 3 + i] += least
    return m


@wp.kernel(enable_backward=False)
def sweep_page(
    work: Work, color: wp.array(dtype=wp.int32), options: JointOptions, joints: Joints, dofs: JointDofs, bodies: Bodies,
    inputs: JointInputs, memory: PageMemory, loads: PageLoads, system: PageSystem, dt: float, motion: PageBodyMotion,
):  # fmt: skip
    """A Newton step of every body of a colour, in place."""
    i = first_item(work, wp.tid())
    while i >= 0:
        b = color[i]
        if motion.moves[b] != 0:
            q, target = wp.transform_get_rotation(motion.q[b]), motion.target[b]
            com = wp.transform_point(motion.q[b], bodies.com[b])
            w = PageWrench()
            scale = 1.0 / (dt * dt)
            turn = wp.quat_to_matrix(q)
            w.f = wp.spatial_top(loads.force[b]) + (scale * bodies.mass[b]) * (wp.transform_point(target, bodies.com[b]) - com)
            theta = rotation_vector(wp.normalize(wp.quat_inverse(q) * wp.transform_get_rotation(target)))
            w.t = wp.spatial_bottom(loads.force[b]) + scale * (turn * (bodies.inertia[b] * theta))
            w.ll = loads.ll[b] + (scale * bodies.mass[b]) * wp.identity(n=3, dtype=wp.float32)
            w.al = 1.0 * loads.al[b]
            w.aa = loads.aa[b] + scale * (turn * bodies.inertia[b] * wp.transpose(turn))
            w = add_particles(w, motion, b)
            for k in range(system.first[b], system.first[b + 1]):
                j = system.source[k] / 2
                if acts_on_page(joints, j):
                    side = wp.where(system.source[k] % 2 == 0, -1.0, 1.0)
                    now, before = (
                        joint_at(joints, bodies, memory, j, motion.q),
                        joint_at(joints, bodies, memory, j, motion.previous),
                    )
                    omega = turn_rate(motion, joints.child[j], dt) - turn_rate(motion, joints.parent[j], dt)
                    w = page_wrench(w, options, joints, dofs, inputs, memory, now, before, omega, j, side, dt)
            step = solve_block(block_of(w), wp.spatial_vector(w.f[0], w.f[1], w.f[2], w.t[0], w.t[1], w.t[2]))
            motion.q[b] = turned_pose(q, 0.5 * wp.spatial_bottom(step), com + wp.spatial_top(step), bodies.com[b])
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def update_page(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, bodies: Bodies, inputs: JointInputs, motion: PageBodyMotion,
    dt: float, memory: PageMemory,
):  # fmt: skip
    """Multipliers and penalties after all colours."""
    j = first_item(work, wp.tid())
    while j >= 0:
        if acts_on_page(joints, j):
            now, before = joint_at(joints, bodies, memory, j, motion.q), joint_at(joints, bodies, memory, j, motion.previous)
            omega = turn_rate(motion, joints.child[j], dt) - turn_rate(motion, joints.parent[j], dt)
            update_page_joint(options, joints, dofs, inputs, memory, now, before, omega, j, dt)
        j = next_item(work, j)


@wp.kernel(enable_backward=False)
def finish_page(
    work: Work, bodies: Bodies, contacts: PageContacts, given_q: wp.array(dtype=wp.transform), dt: float, motion: PageBodyMotion,
    body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector), known: wp.array(dtype=wp.int32),
    began: wp.array(dtype=wp.transform),
):  # fmt: skip
    """Poses, velocities of the way from X^-, and X^- for the next step."""
    b = first_item(work, wp.tid())
    while b >= 0:
        if is_resting(contacts, motion, b):
            motion.q[b] = motion.previous[b]
        v = (wp.transform_point(motion.q[b], bodies.com[b]) - wp.transform_point(motion.previous[b], bodies.com[b])) / dt
        omega = turn_rate(motion, b, dt)
        began[b] = given_q[b]
        body_q[b] = motion.q[b]
        body_qd[b] = wp.spatial_vector(v[0], v[1], v[2], omega[0], omega[1], omega[2])
        known[b] = 1
        motion.previous[b] = motion.q[b]
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def remember_page_bends(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, bodies: Bodies, inputs: JointInputs, motion: PageBodyMotion,
    memory: PageMemory,
):  # fmt: skip
    """The hysteresis at the end of a step; of joints that are switched off or hard only where they are bent."""
    j = first_item(work, wp.tid())
    while j >= 0:
        now, bend = joint_at(joints, bodies, memory, j, motion.q), PageBend()
        if acts_on_page(joints, j):
            bend = page_bend(options, dofs, inputs, memory, joints.type[j], joint_place(inputs.layout, j), j, now.angular)
        memory.stress[j] = bend.stress
        memory.way[j] = bend.way
        memory.bent[j] = now.angular
        j = next_item(work, j)


@wp.kernel(enable_backward=False)
def forget_page(work: Work, world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), memory: PageMemory):
    """Joints of selected worlds: penalties at their floors, no multipliers, and no stress from the next step on."""
    j = first_item(work, wp.tid())
    while j >= 0:
        if selected[wp.where(world[j] < 0, selected.shape[0] - 1, world[j])]:
            memory.known[j] = 0
            memory.penalty[j] = wp.vec2(0.0, 0.0)
            memory.drive[j] = wp.spatial_vector()
            memory.multiplier[j] = wp.spatial_vector()
        j = next_item(work, j)


class PageBodies(RigidBodies):
    """Bodies that the solver moves as the documented page says. Arguments as :class:`~hooke.solvers.vbd.bodies.RigidBodies`.

    Raises:
        NotImplementedError: A joint is of a kind that the page does not solve.
    """

    documented = True

    def __init__(self, model: Any, tables: dict[str, Any], workspace: Any, options: dict[str, Any], recorder: Any):
        self._page_memory = allocate(PageMemory, tables["joint"].count, recorder.device)
        super().__init__(model, tables, workspace, options, recorder)
        shared = {"previous": workspace.body_q_prev, "pull": self._motion.pull, "stiffening": self._motion.stiffening}
        self._page = allocate(PageBodyMotion, tables["body"].count, recorder.device, **shared)

    def _make_contacts(self) -> PageRigidContacts:
        return PageRigidContacts(self._model, self._tables, self._options, self._recorder)

    def bind(self) -> None:
        """As of the default formulation; and rest rotations and angles of joints, the colours."""
        super().bind()
        self._system = PageSystem()
        self._system.first, self._system.source = self._first, self._source
        self._colors = [group for group in self._model.body_color_groups if len(group)]
        if self._joint_count:
            self._bind_rest()

    def _bind_rest(self) -> None:
        """Rest rotations are those of ``model.body_q``, rest angles ``model.joint_q``."""
        arrays, dofs = self._tables["joint"].arrays, self._tables["joint"].arrays["dof_dim"].numpy()
        types = arrays["type"].numpy()
        self._check_joints(types)
        poses = np.vstack([self._tables["body"].arrays["q"].numpy(), np.array([[0, 0, 0, 0, 0, 0, 1]], np.float32)]).astype(
            np.float64
        )
        ends = [(arrays["parent"].numpy(), arrays["X_p"].numpy()), (arrays["child"].numpy(), arrays["X_c"].numpy())]
        first, second = (_product(poses[body][:, 3:], anchor[:, 3:].astype(np.float64)) for body, anchor in ends)
        rest = _product(first * (-1.0, -1.0, -1.0, 1.0), second)
        self._page_memory.rest.assign(rest.astype(np.float32))
        angle, q = np.zeros((len(types), 6), np.float32), self._tables["joint_coord"].arrays["q"].numpy()
        scalar = ~np.isin(types, [int(kind.code) for kind in JOINTS if kind.quaternion or kind.strain is not None])
        for j, start in zip(np.flatnonzero(scalar).tolist(), self._model.joint_q_start.numpy()[:-1][scalar].tolist(), strict=True):
            linear, angular = dofs[j].tolist()
            angle[j, 3 : 3 + angular] = q[start + linear : start + linear + angular]
        self._page_memory.angle.assign(angle)

    def _check_joints(self, types: np.ndarray) -> None:
        """Refuse kinds that are not solved, and say what does not act."""
        arrays = self._tables["joint"].arrays
        if np.isin(types, _REFUSED).any():
            j = int(np.flatnonzero(np.isin(types, _REFUSED))[0])
            raise NotImplementedError(
                f"SolverVBD(rigid_compliant_alm=False): joint {arrays['label'][j]!r} (index {j}) is a distance joint or a rod, which the "
                "documented formulation does not solve; leave the default True"
            )
        if len(self._mimics.follower):
            j = int(self._mimics.follower.numpy()[0])
            raise NotImplementedError(
                f"SolverVBD(rigid_compliant_alm=False): joint {arrays['label'][j]!r} (index {j}) follows another, which the documented "
                "formulation does not solve; leave the default True"
            )
        found = idle_on_page(self._model, types, self._tables["joint_dof"].arrays)
        if found:
            names = ", ".join(f"joint_{name}" for name in found)
            warnings.warn(f"SolverVBD(rigid_compliant_alm=False): {names} do not act in the documented formulation", stacklevel=9)

    def contact_loads(self, contacts: Any, body_q: Any, body_q_prev: Any, dt: float) -> tuple[wp.array, wp.array] | None:
        """The force [N] on body 1 of every row of the buffer of the last step, and where it acts [m]; None if that has not solved them.

        Damping, and of soft rows all, is that between the poses ``body_q_prev`` and ``body_q``; without them that of the last step.
        """
        return self.contacts.read(contacts, body_q, body_q_prev, dt)

    def measure_imbalance(self, contacts: Any, dt: float) -> float:
        """0, or no number after poses that are none: sweeps end where their number ends, and what they leave is not measured."""
        return 0.0 if np.isfinite(self._workspace.body_q_prev.numpy()).all() else float("nan")

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        joints = [begin_joints, begin_page, update_page] if self._joint_count else []
        joints += [remember_page_bends] if self._hysteresis.acts else []
        return [begin_bodies, predict_page, sweep_page, finish_page, *joints, *self.contacts.kernels]

    def prepare(self, contacts: Any) -> None:
        """Before a step is launched: whether it takes rows of contacts anew."""
        self.contacts.prepare(contacts)

    def hold_history(self, update: bool) -> None:
        """Whether the next step takes rows of contacts anew."""
        self.contacts.update = update

    @property
    def keeps_rows(self) -> bool:
        """Whether this step goes on with the rows of the step before as they are."""
        return not self.contacts.renews

    def meet(self, contacts: Any, dt: float) -> wp.array:
        """Nothing: the first guess does not depend on what touches."""
        return self.contacts.none

    def predict(self, state: Any, control: Any, contacts: Any, touching: wp.array, dt: float) -> None:
        """Where inertia takes the bodies, and the rows of contacts and joints."""
        w, bodies, launch = self._workspace, self._tables["body"], self._recorder.launch
        self._inputs = self._joint_inputs(control)
        if self._joint_count:  # efforts act as in the default formulation
            inputs = [self._joint_options, bodies.struct, *self._joint_tables, self._inputs, dt]
            launch(begin_joints, self._joint_count, inputs, [self._memory])
        force = self._no_wrench if state.body_f is None else state.body_f
        inputs = [bodies.struct, self._model.gravity, state.body_q, state.body_qd, force, self._memory.applied, w.body_known]
        launch(predict_page, bodies.count, [*inputs, self._system, dt], [self._page, self.contacts.loads])
        self.contacts.begin(contacts, state.body_q, self._page)
        if self._joint_count:
            launch(begin_page, self._joint_count, [*self._page_tables, self._page], [self._page_memory])

    def locate(self) -> None:
        """Ways and turns to where the bodies are now."""
        bodies = self._tables["body"]
        self._recorder.launch(locate_page, bodies.count, [bodies.struct, self._page], [self._motion])

    @property
    def _page_tables(self) -> list[Any]:
        tables = self._tables
        return [self._joint_options, tables["joint"].struct, tables["joint_dof"].struct, tables["body"].struct, self._inputs]

    def iterate(self, number: int, iterations: int, contacts: Any, dt: float) -> None:
        """A sweep over all colours, and the multipliers."""
        for color in self._colors:
            self.contacts.push(color, contacts, self._page, dt)
            inputs = [color, *self._page_tables, self._page_memory, self.contacts.loads, self._system, dt]
            self._recorder.launch(sweep_page, len(color), inputs, [self._page])
        self.contacts.iterated(contacts, self._page)
        if self._joint_count:
            self._recorder.launch(update_page, self._joint_count, [*self._page_tables, self._page, dt], [self._page_memory])

    def finish(self, states: tuple[Any, Any], contacts: Any, dt: float) -> None:
        """Poses and velocities at the end of a step."""
        w, bodies = self._workspace, self._tables["body"]
        self.contacts.finish(contacts, self._page, dt)
        outputs = [self._page, states[1].body_q, states[1].body_qd, w.body_known, self._began]
        self._recorder.launch(
            finish_page, bodies.count, [bodies.struct, self.contacts.view(contacts), states[0].body_q, dt], outputs
        )
        if self._hysteresis.acts:
            self._recorder.launch(remember_page_bends, self._joint_count, [*self._page_tables, self._page], [self._page_memory])

    def reset(self, selected: wp.array) -> None:
        """Forget multipliers, penalties and hysteresis of joints, and multipliers and penalties of contacts, in selected worlds."""
        self.contacts.reset(selected)
        if self._joint_count:
            inputs = [self._tables["joint"].arrays["world"], selected]
            self._recorder.launch(forget_page, self._joint_count, inputs, [self._page_memory])


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions x y z w, shape (n, 4)."""
    v = a[:, 3:] * b[:, :3] + b[:, 3:] * a[:, :3] + np.cross(a[:, :3], b[:, :3])
    return np.concatenate([v, a[:, 3:] * b[:, 3:] - (a[:, :3] * b[:, :3]).sum(axis=1, keepdims=True)], axis=1)

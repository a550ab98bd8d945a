"""Six rows of every joint: its locked motions (:mod:`hooke.joints.rows`), then its degrees of freedom.

The rows of locked motions are J u + C l = -v_b with v_b = clamp(kappa r) for the residual r, and C tiny: redundant rows share what they
hold. Of a degree of freedom with armature a, damping d, a passive spring k, and a drive with gains kp and kd, in steps of dt,

    m = a + dt d + dt^2 k + dt kd + dt^2 kp,     h = a q'- + dt (k (q_rest - q) + kp (q_ref - q) + kd q'_ref + f)           (1)
    J u + l / m = h / m,     so that  l = h - m J u                                                                     (2)

is the impulse of implicit Euler. With an effort limit the drive and f are a row of their own, (2) with l within +- dt t.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import has_quaternion, is_at_com, joint_rates
from hooke.joints.gimbal import nearest_turn
from hooke.joints.kind import Place
from hooke.joints.layout import JointLayout, joint_place
from hooke.joints.rotation import rotation_vector
from hooke.model.tables import Bodies, JointDofs, Joints
from hooke.solvers.kamino.data import Step, make_types
from hooke.solvers.kamino.joint_frames import make_joint_frames
from hooke.solvers.kamino.mechanism import Mechanism

__all__ = ["PROXIMAL", "JointInputs", "make_joint_kernels"]


@wp.struct
class JointInputs:
    """What joints are given: where their numbers are, targets and efforts, rest and initial coordinates, which rows there are.

    ``acts`` is of every joint; ``route``, ``drive``, ``bounded`` and ``dynamic`` are of every degree of freedom
    (:class:`~hooke.solvers.kamino.structure.Structure`), and ``rows`` are the bits of its bounded rows.
    """

    layout: JointLayout
    target_q: wp.array(dtype=wp.float32)
    target_qd: wp.array(dtype=wp.float32)
    force: wp.array(dtype=wp.float32)
    rest_q: wp.array(dtype=wp.float32)
    initial: wp.array(dtype=wp.float32)
    acts: wp.array(dtype=wp.int32)
    route: wp.array(dtype=wp.int32)
    mode: wp.array(dtype=wp.int32)
    drive: wp.array(dtype=wp.int32)
    bounded: wp.array(dtype=wp.int32)
    dynamic: wp.array(dtype=wp.int32)
    rows: wp.array(dtype=wp.int32)


POSITION, VELOCITY = wp.constant(2), wp.constant(3)
TO_BODIES, TO_DYNAMIC = wp.constant(1), wp.constant(2)
PROXIMAL = {wp.float64: 1.0e-8, wp.float32: 1.0e-6}  # of what locked rows give way
_LEAST = {wp.float64: 1.0e-12, wp.float32: 1.0e-6}  # inertia of a row [kg or kg m^2]


@cache
def make_joint_kernels(scalar: Any) -> SimpleNamespace:
    """``linearise``, ``measure`` and ``finish`` over a type of numbers."""
    t = make_types(scalar)
    vec3, quat, row, rows, Motion, JointRows = t.vec3, t.quat, t.row, t.rows, t.Motion, t.JointRows
    proximal = wp.constant(scalar(PROXIMAL[scalar]))

    least = wp.constant(scalar(_LEAST[scalar]))
    f = make_joint_frames(scalar)
    Frames, frames_of, coordinates_of, locked_motions = f.Frames, f.frames_of, f.coordinates_of, f.locked_motions
    rows_of, row_of = f.rows_of, f.row_of

    @wp.func
    def give_of(bodies: Bodies, mechanism: Mechanism, b: int, arm: vec3):
        """Inverse mass and inertia of a body, about what a force at the end of an arm meets."""
        give = wp.vector(scalar(0.0), scalar(0.0))
        if b >= 0:
            if mechanism.moves[b] != 0:
                turn = scalar(wp.trace(bodies.inv_inertia[b])) / scalar(3.0)
                give[0] = scalar(bodies.inv_mass[b]) + turn * wp.dot(arm, arm)
                give[1] = turn
        return give

    @wp.func
    def target_error(code: int, place: Place, target: wp.array(dtype=wp.float32), q: wp.array(dtype=scalar), k: int):
        """How far a coordinate is from its target, per degree of freedom; of a quaternion the rotation in the parent's axes."""
        if has_quaternion(code) and k >= place.linear:
            i = place.q + place.linear
            now = quat(q[i], q[i + 1], q[i + 2], q[i + 3])
            goal = wp.normalize(quat(scalar(target[i]), scalar(target[i + 1]), scalar(target[i + 2]), scalar(target[i + 3])))
            phi = rotation_vector(goal * wp.quat_inverse(now))
            return phi[k - place.linear]
        return scalar(target[place.q + k]) - q[place.q + k]

    @wp.func
    def drive_dof(code: int, place: Place, dofs: JointDofs, inputs: JointInputs, out: JointRows, dt: scalar, rate: scalar, k: int):
        """(1): m and h of the dynamic row, and the effort that goes to the bodies; writes the data of the effort row."""
        d = place.qd + k
        a, spring = scalar(dofs.armature[d]), scalar(dofs.stiffness[d])
        kp, kd = scalar(dofs.target_ke[d]), scalar(dofs.target_kd[d])
        mode = inputs.mode[d]
        m = a + dt * scalar(dofs.damping[d]) + dt * dt * spring
        h = a * rate
        if spring > scalar(0.0):
            h += dt * spring * target_error(code, place, inputs.rest_q, out.q, k)
        effort, gain = scalar(inputs.force[d]), scalar(0.0)
        if inputs.drive[d] != 0:
            if mode != VELOCITY:
                effort += kp * target_error(code, place, inputs.target_q, out.q, k)
                gain += dt * dt * kp
            if mode != POSITION:
                effort += kd * scalar(inputs.target_qd[d])
            gain += dt * kd
        elif inputs.bounded[d] != 0 and mode < POSITION:
            most = scalar(dofs.effort_limit[d])
            effort = wp.clamp(effort, -most, most)
        to_bodies = scalar(0.0)
        if inputs.route[d] == TO_DYNAMIC:
            m += gain
            h += dt * effort
        elif inputs.route[d] == TO_BODIES:
            to_bodies = effort
        else:
            gain = wp.max(gain, least)
            out.effort_gain[d] = gain
            out.effort_rate[d] = dt * effort / gain
        return wp.max(m, least), h, to_bodies

    @wp.func
    def update_coordinates(code: int, place: Place, frames: Frames, inputs: JointInputs, out: JointRows, j: int):
        """Write the coordinates of a joint."""
        found = coordinates_of(code, place, frames, out, inputs.initial, j)
        for k in range(place.linear + place.angular + wp.where(has_quaternion(code), 1, 0)):
            out.q[place.q + k] = found[k]
        out.known[j] = 1
        return 0

    @wp.func
    def linearise_joint(step: Step, place: Place, joints: Joints, dofs: JointDofs, bodies: Bodies, mechanism: Mechanism,
                        inputs: JointInputs, motion: Motion, frames: Frames, out: JointRows, j: int):  # fmt: skip
        """Write the rows of a joint that acts."""
        code, parent, child, dt = joints.type[j], joints.parent[j], joints.child[j], scalar(step.dt)
        found = locked_motions(place, frames, out)
        give = give_of(bodies, mechanism, child, frames.on_child) + give_of(bodies, mechanism, parent, frames.on_parent)
        on_child, on_parent = rows(), rows()
        right, bias, carried, held, goal = row(), row(), row(), row(), row()
        compliance, to_child, to_parent = row(), row(), row()
        u_child, u_parent, steered = scalar(1.0) * motion.twist[child], row(), scalar(0.0)
        moved = scalar(1 - mechanism.moves[child])
        if parent >= 0:
            u_parent = scalar(1.0) * motion.twist[parent]
            steered = scalar(1 - mechanism.moves[parent])
        locked = 6 - place.linear - place.angular
        for i in range(rows_of(code)):
            of_child, of_parent = row_of(code, place, frames, found, out, i)
            on_child[i] = of_child
            on_parent[i] = of_parent
            rate_child, rate_parent = wp.dot(of_child, u_child), wp.dot(of_parent, u_parent)
            carried[i] = moved * rate_child + steered * rate_parent
            if i < locked:
                speed = scalar(step.joint_speed)
                bias[i] = wp.clamp(scalar(step.joint_rate) * found.error[i], -speed, speed)
                compliance[i] = proximal * give[wp.where(i < 3 - place.linear, 0, 1)]
                held[i] = scalar(1.0)
                goal[i] = found.error[i] - dt * bias[i]
            else:
                m, h, effort = drive_dof(code, place, dofs, inputs, out, dt, rate_child + rate_parent, i - locked)
                compliance[i] = scalar(1.0)
                if inputs.dynamic[place.qd + i - locked] != 0:
                    held[i] = scalar(1.0)
                    compliance[i] = scalar(1.0) / m
                    bias[i] = -h / m
                to_child += dt * effort * of_child
                to_parent += dt * effort * of_parent
            right[i] = -held[i] * (bias[i] + carried[i])
        out.child[j] = on_child
        out.parent[j] = on_parent
        out.compliance[j] = compliance
        out.held[j] = held
        out.right[j] = right
        out.bias[j] = bias
        out.carried[j] = carried
        out.error[j] = found.error
        out.goal[j] = goal
        out.on_child[j] = to_child
        out.on_parent[j] = to_parent
        return 0

    @wp.kernel(enable_backward=False, module="unique")
    def linearise_joints(
        work: Work, step: Step, joints: Joints, dofs: JointDofs, bodies: Bodies, mechanism: Mechanism, inputs: JointInputs,
        motion: Motion, out: JointRows,
    ):  # fmt: skip
        """J, C, right sides and coordinates where the equations are set up."""
        state = flush_denormals()
        j = first_item(work, wp.tid())
        while j >= 0:
            place = joint_place(inputs.layout, j)
            frames = frames_of(joints, bodies, motion, j)
            update_coordinates(joints.type[j], place, frames, inputs, out, j)
            if inputs.acts[j] != 0:
                linearise_joint(step, place, joints, dofs, bodies, mechanism, inputs, motion, frames, out, j)
            j = next_item(work, j)
        restore_denormals(state)

    @wp.kernel(enable_backward=False, module="unique")
    def measure_joints(work: Work, joints: Joints, bodies: Bodies, inputs: JointInputs, motion: Motion, out: JointRows):
        """Residuals of locked motions at the end."""
        state = flush_denormals()
        j = first_item(work, wp.tid())
        while j >= 0:
            error = row()
            if inputs.acts[j] != 0:
                found = locked_motions(joint_place(inputs.layout, j), frames_of(joints, bodies, motion, j), out)
                error = found.error
            out.error[j] = error
            j = next_item(work, j)
        restore_denormals(state)

    @wp.kernel(enable_backward=False, module="unique")
    def finish_joints(
        work: Work, step: Step, joints: Joints, bodies: Bodies, inputs: JointInputs, first_row: wp.array(dtype=wp.int32),
        motion: Motion, out: JointRows, joint_q: wp.array(dtype=wp.float32), joint_qd: wp.array(dtype=wp.float32),
        joint_q_prev: wp.array(dtype=wp.float32), multipliers: wp.array(dtype=wp.float32),
    ):  # fmt: skip
        """Coordinates, rates and multipliers at the end."""
        state = flush_denormals()
        j = first_item(work, wp.tid())
        while j >= 0:
            code, place, parent = joints.type[j], joint_place(inputs.layout, j), joints.parent[j]
            frames = frames_of(joints, bodies, motion, j)
            found = coordinates_of(code, place, frames, out, inputs.initial, j)
            freedoms = place.linear + place.angular
            for k in range(freedoms + wp.where(has_quaternion(code), 1, 0)):
                value, before = found[k], out.q[place.q + k]
                joint_q_prev[place.q + k] = float(before)
                out.q[place.q + k] = value
                if k >= place.linear and not has_quaternion(code):
                    turn = scalar(6.283185307179586)
                    if step.correction == 0:
                        value = value - turn * scalar(int(value / turn))
                    elif step.correction == 2:
                        value = nearest_turn(value, scalar(0.0))
                joint_q[place.q + k] = float(value)
            out.known[j] = 1
            axes = wp.quat_to_matrix(frames.axes)
            u, base = scalar(1.0) * motion.twist[joints.child[j]], row()
            if parent >= 0:
                base = scalar(1.0) * motion.twist[parent]
            v_c, w_c = vec3(u[0], u[1], u[2]), vec3(u[3], u[4], u[5])
            v_p, w_p = vec3(base[0], base[1], base[2]), vec3(base[3], base[4], base[5])
            v = v_c + wp.cross(w_c, frames.on_child) - v_p - wp.cross(w_p, frames.on_parent)
            if is_at_com(code):
                v = v_c - v_p - wp.cross(w_p, frames.coms)
            local_v, local_w = wp.transpose(axes) * v, wp.transpose(axes) * (w_c - w_p)
            for k in range(freedoms):
                f, torque = joint_rates(code, place, out.axis, out.q, k)
                joint_qd[place.qd + k] = float(wp.dot(f, local_v) + wp.dot(torque, local_w))
            for i in range(6 - freedoms):
                multipliers[first_row[j] + i] = float(out.impulse[j][i] / scalar(step.dt))
            j = next_item(work, j)
        restore_denormals(state)

    return SimpleNamespace(linearise=linearise_joints, measure=measure_joints, finish=finish_joints)

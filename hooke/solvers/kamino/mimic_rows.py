"""Rows of mimics: joints that follow others, q = c0 + c1 q_leader, axis by axis.

    J_f u - c1 J_l u + C l = -clamp(kappa (q_f - c0 - c1 q_l))                                               (1)

for the rates J u of an axis of the follower and of the leader. Their bodies are up to four. A leader that immovable bodies turn is
followed too.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.layout import joint_place
from hooke.linalg.block_ldl import make_block_ldl
from hooke.model.tables import Bodies, Joints, Mimics
from hooke.solvers.kamino.data import Step, make_types
from hooke.solvers.kamino.joint_frames import make_joint_frames
from hooke.solvers.kamino.joint_rows import PROXIMAL, JointInputs

__all__ = ["FollowedJoints", "make_mimic_kernels", "make_mimic_miss"]


@wp.struct
class FollowedJoints:
    """Mimics in the order of their worlds.

    Attributes:
        follower: Joint that follows.
        leader: Joint that it follows.
        constraint: Row of the table of mimic constraints with the coefficients, -1 where they are the follower's.
        body: Four of every mimic: different bodies that move, -1 for none.
        slot: Four of every mimic: which of these is the follower's child, its parent, the leader's child, its parent, or -1.
    """

    follower: wp.array(dtype=wp.int32)
    leader: wp.array(dtype=wp.int32)
    constraint: wp.array(dtype=wp.int32)
    body: wp.array(dtype=wp.int32)
    slot: wp.array(dtype=wp.int32)


@wp.func
def coefficients(joints: Joints, mimics: Mimics, followed: FollowedJoints, m: int):
    """c0 and c1 of a mimic."""
    k = followed.constraint[m]
    if k < 0:
        return 1.0 * joints.mimic_coeffs[followed.follower[m]]
    return wp.vec2(mimics.coef0[k], mimics.coef1[k])


@cache
def make_mimic_miss(scalar: Any) -> Any:
    """The function ``miss(joints, mimics, bodies, inputs, followed, motion, out, m)``: q_f - c0 - c1 q_l for every axis."""
    t, frames = make_types(scalar), make_joint_frames(scalar)
    row, Motion, JointRows = t.row, t.Motion, t.JointRows
    frames_of, coordinates_of = frames.frames_of, frames.coordinates_of

    @wp.func
    def coordinates(joints: Joints, bodies: Bodies, inputs: JointInputs, motion: Motion, out: JointRows, j: int):
        return coordinates_of(
            joints.type[j], joint_place(inputs.layout, j), frames_of(joints, bodies, motion, j), out, inputs.initial, j
        )

    @wp.func
    def miss(joints: Joints, mimics: Mimics, bodies: Bodies, inputs: JointInputs, followed: FollowedJoints, motion: Motion,
             out: JointRows, m: int):  # fmt: skip
        c, place = coefficients(joints, mimics, followed, m), joint_place(inputs.layout, followed.follower[m])
        own = coordinates(joints, bodies, inputs, motion, out, followed.follower[m])
        other = coordinates(joints, bodies, inputs, motion, out, followed.leader[m])
        error = row()
        for i in range(place.linear + place.angular):
            error[i] = own[i] - scalar(c[0]) - scalar(c[1]) * other[i]
        return error

    return miss


@cache
def make_mimic_kernels(scalar: Any) -> SimpleNamespace:
    """``linearise`` over a type of numbers."""
    t, row_at = make_types(scalar), make_block_ldl(scalar).row_at
    row, rows, Motion, JointRows, miss = t.row, t.rows, t.Motion, t.JointRows, make_mimic_miss(scalar)
    proximal, one = wp.constant(scalar(PROXIMAL[scalar])), wp.constant(scalar(1.0))

    @wp.func
    def share(bodies: Bodies, b: int, rate: row):
        """What a unit impulse along the rates of a body moves it along them."""
        turn = scalar(wp.trace(bodies.inv_inertia[b])) / scalar(3.0)
        v, w = rate[0] * rate[0] + rate[1] * rate[1] + rate[2] * rate[2], rate[3] * rate[3] + rate[4] * rate[4] + rate[5] * rate[5]
        return scalar(bodies.inv_mass[b]) * v + turn * w

    @wp.func
    def add_axes_of(bodies: Bodies, followed: FollowedJoints, place: int, j: int, end: int, m: int, factor: scalar, axes: int,
                  rates: wp.array(dtype=rows), out: JointRows):  # fmt: skip
        """Add the rates of the axes of a joint to those of one of its bodies."""
        give, slot = row(), followed.slot[4 * m + end]
        if slot >= 0:
            at = 4 * m + slot
            sum = one * out.mimic[at]
            for i in range(axes):
                rate = sum[i] + factor * row_at(j, place + i, rates)
                sum[i] = rate
                give[i] = share(bodies, followed.body[at], rate)
            out.mimic[at] = sum
        return give

    @wp.kernel(enable_backward=False, module="unique")
    def linearise_mimics(
        work: Work, step: Step, joints: Joints, mimics: Mimics, bodies: Bodies, inputs: JointInputs, followed: FollowedJoints,
        motion: Motion, out: JointRows,
    ):  # fmt: skip
        """(1)."""
        state = flush_denormals()
        m = first_item(work, wp.tid())
        while m >= 0:
            f, led = followed.follower[m], followed.leader[m]
            place = joint_place(inputs.layout, f)
            axes, other = place.linear + place.angular, joint_place(inputs.layout, led)
            first_f, first_l = 6 - axes, 6 - other.linear - other.angular
            c1 = scalar(coefficients(joints, mimics, followed, m)[1])
            for k in range(4):
                out.mimic[4 * m + k] = rows()
            give = add_axes_of(bodies, followed, first_f, f, 0, m, one, axes, out.child, out)
            give += add_axes_of(bodies, followed, first_f, f, 1, m, one, axes, out.parent, out)
            give += add_axes_of(bodies, followed, first_l, led, 2, m, -c1, axes, out.child, out)
            give += add_axes_of(bodies, followed, first_l, led, 3, m, -c1, axes, out.parent, out)
            error = miss(joints, mimics, bodies, inputs, followed, motion, out, m)
            held, compliance, right, carried, goal = row(), row(), row(), row(), row()
            speed = scalar(step.joint_speed)
            for i in range(6):
                compliance[i] = one
                if i < axes:
                    held[i] = one
                    compliance[i] = proximal * give[i]
                    bias = wp.clamp(scalar(step.joint_rate) * error[i], -speed, speed)
                    carried[i] = out.carried[f][first_f + i] - c1 * out.carried[led][first_l + i]
                    right[i] = -carried[i] - bias
                    goal[i] = error[i] - scalar(step.dt) * bias
            out.mimic_right[m] = right
            out.mimic_carried[m] = carried
            out.mimic_error[m] = error
            out.mimic_goal[m] = goal
            out.mimic_compliance[m] = compliance
            for k in range(4):
                out.mimic_held[4 * m + k] = held
            m = next_item(work, m)
        restore_denormals(state)

    return SimpleNamespace(linearise=linearise_mimics)

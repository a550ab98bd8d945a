"""The end of a step: velocities that take joints to where they belong, and poses with joints closed.

Twists u that satisfy the rows of joints where the step began, J u = -v_b, move along tangents. Joints open by errors of the second order,
and what of u is not along the next tangents is lost: a pendulum would lose w^2 dt of its energy per second. So for

    u' = u + du,     [ M   J^T ] [ dt du  ]   [ dt dp    ]
                     [ J   -C  ] [ -dt dl ] = [ g - r(u) ]                                                       (1)

is solved, where r(u) are the errors of locked motions and mimics at the pose that u leads to, and g what they ought to be: those at the
start less dt v_b; dp is what is missing of (2) of :mod:`hooke.solvers.kamino.body_motion`. This is the symplectic scheme SHAKE (Ryckaert,
Ciccotti, Berendsen, J. Comput. Phys. 23, 1977). With the midpoint rule u ends where the path through the middle began, as far as it is even
in time. Newton's method on (1) with the factors of the step, whose steps are dt du, converges as fast as steps are small
against a radian. Where it does not, near singular positions, where a body turns by more than a third of a radian, and where limits,
contacts or bounded rows act, which du would not heed, u is left as it is.

What is left then, errors of the start, and those of the second order where u was left, are taken back by moving the poses alone: by the
least, as mass measures it, with the same factors.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.layout import joint_place
from hooke.linalg.block_ldl import make_block_ldl
from hooke.linalg.elimination import Patterns
from hooke.model.tables import Bodies, Joints, Mimics
from hooke.solvers.kamino.body_motion import QUICK
from hooke.solvers.kamino.data import Step, make_types
from hooke.solvers.kamino.joint_frames import make_joint_frames
from hooke.solvers.kamino.joint_rows import JointInputs
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.mimic_rows import FollowedJoints, make_mimic_miss
from hooke.solvers.kamino.poses import make_pose_functions

__all__ = ["Followers", "make_close_worlds"]

_NOISE = {wp.float64: 0.0, wp.float32: 4.0e-6}  # errors that rounding may have made, which must not become velocities [m or rad]
_SETTLED = {wp.float64: 1.0e-10, wp.float32: 1.0e-6}  # changes of a pose that are none [m or rad]
EPSILON = wp.constant(wp.float64(2.0**-23))
TIMES = wp.constant(8)
"""Newton steps at most, of either kind."""


@wp.struct
class Followers:
    """Tables and lists that the errors of a world are measured with."""

    joints: Joints
    mimics: Mimics
    bodies: Bodies
    inputs: JointInputs
    followed: FollowedJoints


@cache
def make_close_worlds(scalar: Any) -> Any:
    """The kernel over a type of numbers."""
    t, frames = make_types(scalar), make_joint_frames(scalar)
    row, vec3, Motion, JointRows, Matrix = t.row, t.vec3, t.Motion, t.JointRows, t.Matrix
    frames_of, locked_motions, miss = frames.frames_of, frames.locked_motions, make_mimic_miss(scalar)
    functions, poses = make_block_ldl(scalar), make_pose_functions(scalar)
    factor_blocks, solve_blocks, store_block = functions.factor, functions.solve, functions.store_block
    store_inertia, store_compliance, rows, rows_of, row_of = (
        functions.store_inertia, functions.store_compliance, t.rows, frames.rows_of, frames.row_of
    )  # fmt: skip
    turned, rotated = poses.turned, poses.rotated
    settled, noise = wp.constant(scalar(_SETTLED[scalar])), wp.constant(scalar(_NOISE[scalar]))

    @wp.func
    def largest(r: row):
        most = wp.max(wp.max(wp.abs(r[0]), wp.abs(r[1])), wp.max(wp.abs(r[2]), wp.abs(r[3])))
        return wp.max(most, wp.max(wp.abs(r[4]), wp.abs(r[5])))

    @wp.func
    def measure(w: int, mechanism: Mechanism, of: Followers, motion: Motion, ahead: scalar, joint_rows: JointRows):
        """Write the errors of a world, with immovable bodies where they will be in a time ``ahead``; the largest."""
        most = scalar(0.0)
        for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
            if of.inputs.acts[j] != 0:
                place = joint_place(of.inputs.layout, j)
                found = locked_motions(place, frames_of(of.joints, of.bodies, motion, j), joint_rows)
                error = found.error
                for i in range(6 - place.linear - place.angular):
                    error[i] = error[i] + ahead * joint_rows.carried[j][i]
                joint_rows.error[j] = error
                most = wp.max(most, largest(error))
        for m in range(mechanism.mimic[w], mechanism.mimic[w + 1]):
            wrong = miss(of.joints, of.mimics, of.bodies, of.inputs, of.followed, motion, joint_rows, m)
            wrong += ahead * joint_rows.mimic_carried[m]
            joint_rows.mimic_error[m] = wrong
            most = wp.max(most, largest(wrong))
        return most

    @wp.func
    def advance(w: int, mechanism: Mechanism, start: Motion, twist: wp.array(dtype=row), time: scalar, motion: Motion):
        """Poses after a time with given twists; the largest turn."""
        most = scalar(0.0)
        for b in range(mechanism.body[w], mechanism.body[w + 1]):
            if mechanism.moves[b] != 0:
                u = scalar(1.0) * twist[b]
                spin = vec3(u[3], u[4], u[5])
                motion.com[b] = start.com[b] + time * vec3(u[0], u[1], u[2])
                motion.rotation[b] = turned(start.rotation[b], time * spin)
                most = wp.max(most, wp.length(spin))
        return time * most

    @wp.func
    def add_goals(w: int, mechanism: Mechanism, of: Followers, factor: scalar, ahead: scalar, joint_rows: JointRows):
        """Add a factor of the errors to what they ought to be, and what immovable bodies add to them in a time."""
        for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
            place = joint_place(of.inputs.layout, j)
            goal = joint_rows.goal[j] + factor * joint_rows.error[j]
            for i in range(6 - place.linear - place.angular):
                goal[i] = goal[i] + ahead * joint_rows.carried[j][i]
            joint_rows.goal[j] = goal
        for m in range(mechanism.mimic[w], mechanism.mimic[w + 1]):
            joint_rows.mimic_goal[m] = (
                joint_rows.mimic_goal[m] + factor * joint_rows.mimic_error[m] + ahead * joint_rows.mimic_carried[m]
            )
        return 0

    @wp.func
    def turn_goals(w: int, mechanism: Mechanism, of: Followers, step: Step, start: Motion, motion: Motion, joint_rows: JointRows):
        """With the midpoint rule errors are to be those of the way from the middle back, as far as it is even in time."""
        half = scalar(step.half)
        add_goals(w, mechanism, of, scalar(1.0), scalar(step.dt), joint_rows)
        measure(w, mechanism, of, motion, scalar(step.dt), joint_rows)
        add_goals(w, mechanism, of, scalar(-0.5), scalar(0.0), joint_rows)
        advance(w, mechanism, start, motion.twist, -half, motion)
        measure(w, mechanism, of, motion, scalar(0.0), joint_rows)
        add_goals(w, mechanism, of, scalar(-0.5), scalar(0.0), joint_rows)
        return 0

    @wp.func
    def solve_errors(w: int, patterns: Patterns, mechanism: Mechanism, of_goal: scalar, of_error: scalar, joint_rows: JointRows,
                     matrix: Matrix):  # fmt: skip
        """Right sides of rows: a factor of the goals less one of the errors, and the solution; those of bodies are in ``matrix.x``."""
        k, start, joint = patterns.kind[w], patterns.node[w], mechanism.joint[w]
        item, mimic = patterns.of_place[k], mechanism.mimic[w] - (mechanism.joint[w + 1] - joint)
        for n in range(patterns.size[k]):
            i = mechanism.item[item + n]
            if i < joint - mechanism.joint[w + 1]:
                m = mimic - 1 - i
                matrix.x[start + n] = of_goal * joint_rows.mimic_goal[m] - of_error * joint_rows.mimic_error[m]
            elif i < 0:
                j = joint - 1 - i
                matrix.x[start + n] = of_goal * joint_rows.goal[j] - of_error * joint_rows.error[j]
        return solve_blocks(w, patterns, matrix.diagonal, matrix.lower, matrix.x)

    @wp.func
    def change_twists(w: int, patterns: Patterns, mechanism: Mechanism, way: scalar, half: scalar, start: Motion,
                      joint_rows: JointRows, matrix: Matrix, motion: Motion):  # fmt: skip
        """A Newton step of (1), ``half`` being -dt / 2; the largest change of a pose."""
        k, first, joint, body = patterns.kind[w], patterns.node[w], mechanism.joint[w], mechanism.body[w]
        item = patterns.of_place[k]
        for n in range(patterns.size[k]):
            own, value = mechanism.item[item + n], row()
            if own >= 0:
                b = body + own
                u = scalar(1.0) * motion.twist[b]
                rate = vec3(u[3], u[4], u[5])
                torque = start.inertia[b] * rate - start.carried_spin[b]
                spin = rotated(start.spin[b] + torque, half * rate) - torque
                more = spin - start.carried_spin[b]
                start.carried_spin[b] = spin
                value[3] = more[0]
                value[4] = more[1]
                value[5] = more[2]
                start.momentum[b] = start.momentum[b] + value
            matrix.x[first + n] = way * value
        solve_errors(w, patterns, mechanism, scalar(1.0), scalar(1.0), joint_rows, matrix)
        most = scalar(0.0)
        for n in range(patterns.size[k]):
            i = mechanism.item[item + n]
            change = scalar(1.0) / way * matrix.x[first + n]
            if i >= 0:
                motion.twist[body + i] = motion.twist[body + i] + change
                most = wp.max(most, largest(matrix.x[first + n]))
            elif i >= joint - mechanism.joint[w + 1]:
                j = joint - 1 - i
                joint_rows.impulse[j] = joint_rows.impulse[j] - change
                joint_rows.right[j] = joint_rows.right[j] - scalar(1.0) / way * (joint_rows.error[j] - joint_rows.goal[j])
            else:
                m = mechanism.mimic[w] - (mechanism.joint[w + 1] - joint) - 1 - i
                joint_rows.mimic_impulse[m] = joint_rows.mimic_impulse[m] - change
        return most

    @wp.func
    def keep_twists(w: int, patterns: Patterns, mechanism: Mechanism, back: int, start: Motion, joint_rows: JointRows, matrix: Matrix,
                    motion: Motion):  # fmt: skip
        """Put twists and impulses aside, or take them back."""
        k, first, joint, body = patterns.kind[w], patterns.node[w], mechanism.joint[w], mechanism.body[w]
        item = patterns.of_place[k]
        for n in range(patterns.size[k]):
            i = mechanism.item[item + n]
            if i >= 0:
                b = body + i
                if back == 0:
                    matrix.rest[first + n] = motion.twist[b]
                    motion.momentum[b] = start.momentum[b]
                else:
                    motion.twist[b] = matrix.rest[first + n]
                    start.momentum[b] = motion.momentum[b]
            elif i >= joint - mechanism.joint[w + 1]:
                if back == 0:
                    matrix.rest[first + n] = joint_rows.impulse[joint - 1 - i]
                else:
                    joint_rows.impulse[joint - 1 - i] = matrix.rest[first + n]
            else:
                m = mechanism.mimic[w] - (mechanism.joint[w + 1] - joint) - 1 - i
                if back == 0:
                    matrix.rest[first + n] = joint_rows.mimic_impulse[m]
                else:
                    joint_rows.mimic_impulse[m] = matrix.rest[first + n]
        return 0

    @wp.func
    def settle_twists(w: int, patterns: Patterns, mechanism: Mechanism, of: Followers, step: Step, start: Motion,
                      joint_rows: JointRows, matrix: Matrix, motion: Motion):  # fmt: skip
        """(1); 0 where that is not done, 2 where the factors are those of the end too, near enough."""
        way, last, first, left = scalar(step.dt - step.half), scalar(1.0e30), scalar(0.0), int(TIMES)
        rest, quick, worst, loud = scalar(0.0), scalar(0.0), scalar(0.0), int(1)
        if step.half > wp.float64(0.0):
            turn_goals(w, mechanism, of, step, start, motion, joint_rows)
            advance(w, mechanism, start, motion.twist, way, motion)
        keep_twists(w, patterns, mechanism, 0, start, joint_rows, matrix, motion)
        while left > 0:
            found = measure(w, mechanism, of, motion, scalar(step.dt), joint_rows)
            if first == scalar(0.0):
                loud = wp.where(found < noise, 0, 1)
            change = change_twists(w, patterns, mechanism, way, scalar(-0.5) * scalar(step.dt), start, joint_rows, matrix, motion)
            turn = advance(w, mechanism, start, motion.twist, way, motion)
            ratio = wp.where(last < scalar(1.0e30), change / last, scalar(4.0) * turn)  # by which steps become smaller
            left = wp.where(change * ratio > settled and ratio < scalar(0.5), left - 1, 0)
            rest = change * ratio
            quick = turn
            worst = wp.max(worst, ratio)
            first = wp.max(first, change)
            last = change
        # what the factors do to errors of the start is as they did to these
        settles = wp.where(worst < scalar(0.1), 2, 1)
        settles = wp.where(rest <= wp.max(settled, scalar(1.0e-3) * first) and quick < scalar(QUICK) and loud == 1, settles, 0)
        if settles > 0:
            for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
                held = scalar(1.0) * joint_rows.held[j]
                missed = joint_rows.bias[j] + joint_rows.right[j] + joint_rows.carried[j]
                joint_rows.bias[j] = joint_rows.bias[j] - wp.cw_mul(held, missed)
        else:
            keep_twists(w, patterns, mechanism, 1, start, joint_rows, matrix, motion)
            advance(w, mechanism, start, motion.twist, way, motion)
        return settles

    @wp.func
    def largest_goal(w: int, mechanism: Mechanism, joint_rows: JointRows):
        """What errors are left of a world whose twists are settled."""
        most = scalar(0.0)
        for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
            most = wp.max(most, largest(joint_rows.goal[j]))
        for m in range(mechanism.mimic[w], mechanism.mimic[w + 1]):
            most = wp.max(most, largest(joint_rows.mimic_goal[m]))
        return most

    @wp.func
    def rounding_of(w: int, mechanism: Mechanism, motion: Motion):
        """What poses of single precision cannot tell apart: the last place of the largest coordinate [m], and of a turn."""
        most = scalar(0.01)
        for b in range(mechanism.body[w], mechanism.body[w + 1]):
            x = scalar(1.0) * motion.com[b]
            most = wp.max(most, wp.max(wp.abs(x[0]), wp.max(wp.abs(x[1]), wp.abs(x[2]))))
        return scalar(EPSILON) * most

    @wp.func
    def shift(w: int, patterns: Patterns, mechanism: Mechanism, factor: scalar, matrix: Matrix, motion: Motion):
        """Move poses by a factor of the solution."""
        k, start = patterns.kind[w], patterns.node[w]
        for n in range(patterns.size[k]):
            i = mechanism.item[patterns.of_place[k] + n]
            if i >= 0:
                b, dx = mechanism.body[w] + i, factor * matrix.x[start + n]
                motion.com[b] = motion.com[b] + vec3(dx[0], dx[1], dx[2])
                motion.rotation[b] = turned(motion.rotation[b], vec3(dx[3], dx[4], dx[5]))
        return 0

    @wp.func
    def move_poses(w: int, patterns: Patterns, mechanism: Mechanism, of_goal: scalar, of_error: scalar, joint_rows: JointRows,
                   matrix: Matrix, motion: Motion):  # fmt: skip
        """Take back what joints are open."""
        for n in range(patterns.node[w], patterns.node[w] + patterns.size[patterns.kind[w]]):
            matrix.x[n] = row()
        solve_errors(w, patterns, mechanism, of_goal, of_error, joint_rows, matrix)
        return shift(w, patterns, mechanism, scalar(1.0), matrix, motion)

    @wp.func
    def factor_again(w: int, patterns: Patterns, mechanism: Mechanism, of: Followers, start: Motion, motion: Motion,
                     joint_rows: JointRows, matrix: Matrix):  # fmt: skip
        """The factors with J where bodies are now; with their inertia at the start, which is a measure like another."""
        k, first, origin, joint = patterns.kind[w], patterns.node[w], patterns.block[w], mechanism.joint[w]
        item, mimic = patterns.of_place[k], mechanism.mimic[w] - (mechanism.joint[w + 1] - joint)
        for e in range(patterns.blocks[k]):
            matrix.lower[origin + e] = rows()
        for n in range(patterns.size[k]):
            i = mechanism.item[item + n]
            if i >= 0:
                store_inertia(first + n, mechanism.body[w] + i, start.mass, start.inertia, matrix.diagonal)
            elif i < joint - mechanism.joint[w + 1]:
                store_compliance(first + n, mimic - 1 - i, joint_rows.mimic_compliance, matrix.diagonal)
            else:
                store_compliance(first + n, joint - 1 - i, joint_rows.compliance, matrix.diagonal)
        for j in range(joint, mechanism.joint[w + 1]):
            place = mechanism.of_joint[k] + j - joint
            if mechanism.place[place] >= 0:
                code, at = of.joints.type[j], joint_place(of.inputs.layout, j)
                where = frames_of(of.joints, of.bodies, motion, j)
                found = locked_motions(at, where, joint_rows)
                of_child, of_parent = rows(), rows()
                for c in range(rows_of(code)):
                    a, b = row_of(code, at, where, found, joint_rows, c)
                    of_child[c] = a
                    of_parent[c] = b
                joint_rows.child_end[j] = of_child
                joint_rows.parent_end[j] = of_parent
                if mechanism.child_block[place] >= 0:
                    store_block(origin, mechanism.child_block[place], j, joint_rows.child_end, joint_rows.held, matrix.lower)
                if mechanism.parent_block[place] >= 0:
                    store_block(origin, mechanism.parent_block[place], j, joint_rows.parent_end, joint_rows.held, matrix.lower)
        last = 4 * mechanism.of_mimic[k]
        for m in range(4 * (mechanism.mimic[w + 1] - mechanism.mimic[w])):
            if mechanism.mimic_block[last + m] >= 0:
                own = 4 * mechanism.mimic[w] + m
                store_block(origin, mechanism.mimic_block[last + m], own, joint_rows.mimic, joint_rows.mimic_held, matrix.lower)
        return factor_blocks(w, patterns, matrix.diagonal, matrix.lower)

    @wp.func
    def close_joints(w: int, patterns: Patterns, mechanism: Mechanism, of: Followers, ahead: scalar, rounding: scalar,
                     start: Motion, joint_rows: JointRows, matrix: Matrix, motion: Motion):  # fmt: skip
        """Move poses alone; where the factors of the step do not halve the errors, with factors made anew."""
        last, left, fresh = scalar(1.0e30), int(2 * TIMES), int(0)
        while left > 0:
            error = measure(w, mechanism, of, motion, ahead, joint_rows)
            left -= 1
            if error > rounding and error > scalar(0.5) * last:
                if error > last:
                    shift(w, patterns, mechanism, scalar(-1.0), matrix, motion)
                    error = measure(w, mechanism, of, motion, ahead, joint_rows)
                if fresh == 0:
                    factor_again(w, patterns, mechanism, of, start, motion, joint_rows, matrix)
                    fresh = 1
                else:  # a singular position
                    left = -1
            else:
                fresh = 0
            if error > rounding and left >= 0:
                move_poses(w, patterns, mechanism, scalar(0.0), scalar(1.0), joint_rows, matrix, motion)
                last = error
            else:
                left = 0
        return 0

    @wp.kernel(enable_backward=False, module="unique")
    def close_worlds(
        work: Work, step: Step, patterns: Patterns, mechanism: Mechanism, of: Followers, bounded: wp.array(dtype=wp.int32),
        start: Motion, joint_rows: JointRows, matrix: Matrix, motion: Motion,
    ):  # fmt: skip
        """Twists and poses at the end of the step; ``bounded`` is the number of rows with bounded impulses of every world."""
        state = flush_denormals()
        w = first_item(work, wp.tid())
        while w >= 0:
            settles, rounding = int(0), rounding_of(w, mechanism, motion)
            if bounded[w] == 0:
                turn = scalar(0.0)
                for b in range(mechanism.body[w], mechanism.body[w + 1]):
                    u = scalar(1.0) * motion.twist[b]
                    turn = wp.max(turn, scalar(step.dt) * wp.length(vec3(u[3], u[4], u[5])))
                if turn < scalar(QUICK):
                    settles = settle_twists(w, patterns, mechanism, of, step, start, joint_rows, matrix, motion)
            if settles < 2:
                close_joints(w, patterns, mechanism, of, scalar(step.dt), rounding, start, joint_rows, matrix, motion)
            elif largest_goal(w, mechanism, joint_rows) > rounding:
                move_poses(w, patterns, mechanism, scalar(-1.0), scalar(0.0), joint_rows, matrix, motion)
            w = next_item(work, w)
        restore_denormals(state)

    return close_worlds

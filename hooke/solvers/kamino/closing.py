"""Closing joints after the integration: bodies move by the least, as mass measures it, that takes back what joints are open.

Errors r of locked motions and mimics at the end of a step are of the second order in what the step turns. With the factors of the step's
matrix a Newton step of the pose,

    [ M   J^T ] [ dx ]   [  0 ]
    [ J   -C  ] [ -l ] = [ -r ]                                                                              (1)

leaves an error of the third order. It is repeated while that halves what is left, until it is below rounding.
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
from hooke.solvers.kamino.data import make_types
from hooke.solvers.kamino.joint_frames import make_joint_frames
from hooke.solvers.kamino.joint_rows import JointInputs
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.mimic_rows import FollowedJoints, make_mimic_miss
from hooke.solvers.kamino.poses import make_pose_functions

__all__ = ["make_close_worlds"]

_ROUNDING = {wp.float64: 1.0e-9, wp.float32: 3.0e-7}  # errors that are left [m or rad]
TIMES = wp.constant(8)
"""Newton steps at most."""


@cache
def make_close_worlds(scalar: Any) -> Any:
    """The kernel over a type of numbers."""
    t, frames = make_types(scalar), make_joint_frames(scalar)
    row, vec3, Motion, JointRows, Matrix = t.row, t.vec3, t.Motion, t.JointRows, t.Matrix
    frames_of, locked_motions, miss = frames.frames_of, frames.locked_motions, make_mimic_miss(scalar)
    solve_blocks, turned = make_block_ldl(scalar).solve, make_pose_functions(scalar).turned
    rounding = wp.constant(scalar(_ROUNDING[scalar]))

    @wp.func
    def largest(r: row):
        most = wp.max(wp.max(wp.abs(r[0]), wp.abs(r[1])), wp.max(wp.abs(r[2]), wp.abs(r[3])))
        return wp.max(most, wp.max(wp.abs(r[4]), wp.abs(r[5])))

    @wp.func
    def measure(w: int, mechanism: Mechanism, joints: Joints, mimics: Mimics, bodies: Bodies, inputs: JointInputs,
                followed: FollowedJoints, motion: Motion, joint_rows: JointRows):  # fmt: skip
        """Write the errors of a world; the largest."""
        most = scalar(0.0)
        for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
            if inputs.acts[j] != 0:
                found = locked_motions(joint_place(inputs.layout, j), frames_of(joints, bodies, motion, j), joint_rows)
                joint_rows.error[j] = found.error
                most = wp.max(most, largest(found.error))
        for m in range(mechanism.mimic[w], mechanism.mimic[w + 1]):
            error = miss(joints, mimics, bodies, inputs, followed, motion, joint_rows, m)
            joint_rows.mimic_error[m] = error
            most = wp.max(most, largest(error))
        return most

    @wp.func
    def project(w: int, patterns: Patterns, mechanism: Mechanism, joint_rows: JointRows, matrix: Matrix, motion: Motion):
        """(1)."""
        k, start, joint, body = patterns.kind[w], patterns.node[w], mechanism.joint[w], mechanism.body[w]
        item, mimic = patterns.of_place[k], mechanism.mimic[w] - (mechanism.joint[w + 1] - joint)
        for n in range(patterns.size[k]):
            i, value = mechanism.item[item + n], row()
            if i < joint - mechanism.joint[w + 1]:
                value = scalar(-1.0) * joint_rows.mimic_error[mimic - 1 - i]
            elif i < 0:
                value = scalar(-1.0) * joint_rows.error[joint - 1 - i]
            matrix.x[start + n] = value
        solve_blocks(w, patterns, matrix.diagonal, matrix.lower, matrix.x)
        for n in range(patterns.size[k]):
            local = mechanism.item[item + n]
            if local >= 0:
                b, dx = body + local, scalar(1.0) * matrix.x[start + n]
                motion.com[b] = motion.com[b] + vec3(dx[0], dx[1], dx[2])
                motion.rotation[b] = turned(motion.rotation[b], vec3(dx[3], dx[4], dx[5]))
        return 0

    @wp.kernel(enable_backward=False, module="unique")
    def close_worlds(
        work: Work, patterns: Patterns, mechanism: Mechanism, joints: Joints, mimics: Mimics, bodies: Bodies, inputs: JointInputs,
        followed: FollowedJoints, joint_rows: JointRows, matrix: Matrix, motion: Motion,
    ):  # fmt: skip
        """The poses at the end of the step, with joints closed."""
        state = flush_denormals()
        w = first_item(work, wp.tid())
        while w >= 0:
            left, last = int(TIMES), scalar(1.0e30)
            while left > 0:
                error = measure(w, mechanism, joints, mimics, bodies, inputs, followed, motion, joint_rows)
                left -= 1
                if error > rounding and error < scalar(0.5) * last:
                    project(w, patterns, mechanism, joint_rows, matrix, motion)
                    last = error
                else:
                    left = 0
            w = next_item(work, w)
        restore_denormals(state)

    return close_worlds

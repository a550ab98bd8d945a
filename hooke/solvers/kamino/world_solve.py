"""The linear system of a step, world by world.

    [ M   J^T ] [  u ]   [ p + dt J_f^T f ]
    [ J   -C  ] [ -l ] = [ -v_b           ]                                                                     (1)

is factored, solved, and improved by what the solution leaves of the right side. J has the rows of joints and of mimics.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.linalg.block_ldl import make_block_ldl
from hooke.linalg.elimination import Patterns
from hooke.solvers.kamino.data import make_types
from hooke.solvers.kamino.mechanism import Mechanism

__all__ = ["make_solve_again", "make_world_kernels"]


@cache
def make_solve_again(scalar: Any) -> Any:
    """The function ``solve_again(w, patterns, mechanism, again, motion, joint_rows, matrix)``: x and impulses of joints, by the factors.

    What the solution leaves of the right side is solved for once more where ``again`` is positive.
    """
    t, functions = make_types(scalar), make_block_ldl(scalar)
    row, Motion, JointRows, Matrix = t.row, t.Motion, t.JointRows, t.Matrix
    solve_blocks, rates_of, wrench_of, momentum_of = functions.solve, functions.rates_of, functions.wrench_of, functions.momentum_of

    @wp.func
    def ends_of(k: int):
        """Four, as a number that the compiler does not unroll loops for."""
        return wp.where(k < 0, 0, 4)

    @wp.func
    def improve(w: int, patterns: Patterns, mechanism: Mechanism, motion: Motion, joint_rows: JointRows, matrix: Matrix):
        """What x leaves of the right side of (1) is solved for, and added."""
        k, start = patterns.kind[w], patterns.node[w]
        body, joint, item = mechanism.body[w], mechanism.joint[w], patterns.of_place[k]
        for n in range(patterns.size[k]):
            i = mechanism.item[item + n]
            value = matrix.right[start + n]
            if i >= 0:
                value = value - momentum_of(start + n, body + i, motion.mass, motion.inertia, matrix.x)
            matrix.rest[start + n] = value
        first = mechanism.of_joint[k]
        for i in range(mechanism.joint[w + 1] - joint):
            j, place = joint + i, first + i
            if mechanism.place[place] >= 0:
                node = start + mechanism.place[place]
                y, rate = scalar(1.0) * matrix.x[node], row()
                if mechanism.child[place] >= 0:
                    child = start + mechanism.child[place]
                    rate += rates_of(j, joint_rows.child, matrix.x[child])
                    matrix.rest[child] = matrix.rest[child] - wrench_of(j, joint_rows.child, y)
                if mechanism.parent[place] >= 0:
                    parent = start + mechanism.parent[place]
                    rate += rates_of(j, joint_rows.parent, matrix.x[parent])
                    matrix.rest[parent] = matrix.rest[parent] - wrench_of(j, joint_rows.parent, y)
                own = wp.cw_mul(joint_rows.compliance[j], y) - wp.cw_mul(joint_rows.held[j], rate)
                matrix.rest[node] = matrix.rest[node] + own
        first = mechanism.of_mimic[k]
        for i in range(mechanism.mimic[w + 1] - mechanism.mimic[w]):
            m, node, rate = mechanism.mimic[w] + i, start + mechanism.mimic_place[first + i], row()
            y = scalar(1.0) * matrix.x[node]
            for end in range(ends_of(k)):
                place = mechanism.mimic_body[4 * (first + i) + end]
                if place >= 0:
                    other = start + place
                    rate += rates_of(4 * m + end, joint_rows.mimic, matrix.x[other])
                    matrix.rest[other] = matrix.rest[other] - wrench_of(4 * m + end, joint_rows.mimic, y)
            own = wp.cw_mul(joint_rows.mimic_compliance[m], y) - wp.cw_mul(joint_rows.mimic_held[4 * m], rate)
            matrix.rest[node] = matrix.rest[node] + own
        solve_blocks(w, patterns, matrix.diagonal, matrix.lower, matrix.rest)
        for n in range(patterns.size[k]):
            matrix.x[start + n] = matrix.x[start + n] + matrix.rest[start + n]
        return 0

    @wp.func
    def solve_again(w: int, patterns: Patterns, mechanism: Mechanism, again: int, motion: Motion, joint_rows: JointRows,
                    matrix: Matrix):  # fmt: skip
        k, start, joint = patterns.kind[w], patterns.node[w], mechanism.joint[w]
        for n in range(patterns.size[k]):
            matrix.x[start + n] = matrix.right[start + n]
        solve_blocks(w, patterns, matrix.diagonal, matrix.lower, matrix.x)
        if again > 0:
            improve(w, patterns, mechanism, motion, joint_rows, matrix)
        first = mechanism.of_joint[k]
        for i in range(mechanism.joint[w + 1] - joint):
            impulse = row()
            if mechanism.place[first + i] >= 0:
                impulse = scalar(-1.0) * matrix.x[start + mechanism.place[first + i]]
            joint_rows.impulse[joint + i] = impulse
        first = mechanism.of_mimic[k]
        for i in range(mechanism.mimic[w + 1] - mechanism.mimic[w]):
            joint_rows.mimic_impulse[mechanism.mimic[w] + i] = scalar(-1.0) * matrix.x[start + mechanism.mimic_place[first + i]]
        return 0

    return solve_again


@cache
def make_world_kernels(scalar: Any) -> SimpleNamespace:
    """``solve`` over a type of numbers."""
    t, functions = make_types(scalar), make_block_ldl(scalar)
    rows, Motion, JointRows, Matrix = t.rows, t.Motion, t.JointRows, t.Matrix
    factor_blocks = functions.factor
    store_block, store_inertia, store_compliance = functions.store_block, functions.store_inertia, functions.store_compliance
    solve_again = make_solve_again(scalar)

    @wp.func
    def assemble(w: int, patterns: Patterns, mechanism: Mechanism, motion: Motion, joint_rows: JointRows, matrix: Matrix):
        """Blocks and right side of (1)."""
        k, start, origin = patterns.kind[w], patterns.node[w], patterns.block[w]
        body, joint, item = mechanism.body[w], mechanism.joint[w], patterns.of_place[k]
        for e in range(patterns.blocks[k]):
            matrix.lower[origin + e] = rows()
        for n in range(patterns.size[k]):
            i = mechanism.item[item + n]
            if i >= 0:
                store_inertia(start + n, body + i, motion.mass, motion.inertia, matrix.diagonal)
                matrix.right[start + n] = motion.momentum[body + i]
            elif i < joint - mechanism.joint[w + 1]:
                m = mechanism.mimic[w] - (mechanism.joint[w + 1] - joint) - 1 - i
                store_compliance(start + n, m, joint_rows.mimic_compliance, matrix.diagonal)
                matrix.right[start + n] = joint_rows.mimic_right[m]
            else:
                store_compliance(start + n, joint - 1 - i, joint_rows.compliance, matrix.diagonal)
                matrix.right[start + n] = joint_rows.right[joint - 1 - i]
        first = mechanism.of_joint[k]
        for i in range(mechanism.joint[w + 1] - joint):
            j, place = joint + i, first + i
            child, parent = mechanism.child[place], mechanism.parent[place]
            if child >= 0:
                matrix.right[start + child] = matrix.right[start + child] + joint_rows.on_child[j]
            if parent >= 0:
                matrix.right[start + parent] = matrix.right[start + parent] + joint_rows.on_parent[j]
            if mechanism.child_block[place] >= 0:
                store_block(origin, mechanism.child_block[place], j, joint_rows.child, joint_rows.held, matrix.lower)
            if mechanism.parent_block[place] >= 0:
                store_block(origin, mechanism.parent_block[place], j, joint_rows.parent, joint_rows.held, matrix.lower)
        first = 4 * mechanism.of_mimic[k]
        for i in range(4 * (mechanism.mimic[w + 1] - mechanism.mimic[w])):
            if mechanism.mimic_block[first + i] >= 0:
                at = 4 * mechanism.mimic[w] + i
                store_block(origin, mechanism.mimic_block[first + i], at, joint_rows.mimic, joint_rows.mimic_held, matrix.lower)
        return 0

    @wp.kernel(enable_backward=False, module="unique")
    def solve_worlds(
        work: Work, patterns: Patterns, mechanism: Mechanism, motion: Motion, bounded: wp.array(dtype=wp.int32), joint_rows: JointRows,
        matrix: Matrix,
    ):  # fmt: skip
        """(1), with ``bounded`` rows of every world to follow; where there are none, :mod:`hooke.solvers.kamino.closing` improves it."""
        state = flush_denormals()
        w = first_item(work, wp.tid())
        while w >= 0:
            assemble(w, patterns, mechanism, motion, joint_rows, matrix)
            factor_blocks(w, patterns, matrix.diagonal, matrix.lower)
            solve_again(w, patterns, mechanism, bounded[w], motion, joint_rows, matrix)
            w = next_item(work, w)
        restore_denormals(state)

    return SimpleNamespace(solve=solve_worlds)

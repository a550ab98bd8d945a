"""The rows with bounded impulses of a world, solved: the matrix that couples them, their impulses, and the twists with these.

With K the matrix of :mod:`hooke.solvers.kamino.world_solve` as bodies see it and u the twists without these rows,

    S = J K^-1 J^T + diag(c),     v_f = J u + b                                                                  (1)

are formed eight rows at a time, problem by problem (:mod:`hooke.solvers.kamino.groups`).
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.linalg.block_ldl import make_block_ldl
from hooke.linalg.elimination import Patterns
from hooke.solvers.kamino.data import make_types
from hooke.solvers.kamino.inequality import KEYS, make_row_types
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.ncp.options import Options, make_report, solve_nothing, worse_of
from hooke.solvers.kamino.ncp.problem import PAD, RowKind, make_problem
from hooke.solvers.kamino.ncp.scratch import make_scratch
from hooke.solvers.kamino.ncp.solve import scratch_slot
from hooke.solvers.kamino.ncp.world import make_solve_world
from hooke.solvers.kamino.world_solve import make_solve_again

__all__ = ["make_solve_rows"]

BILATERAL, ALL_KEYS, WIDTH = wp.constant(int(RowKind.BILATERAL)), wp.constant(KEYS), wp.constant(PAD)


@cache
def make_solve_rows(scalar: Any, collect: bool = False) -> Any:
    """The kernel over a type of numbers, with a history of the iterations or without."""
    t, functions = make_types(scalar), make_block_ldl(scalar)
    rows, JointRows, Matrix, Motion = t.rows, t.JointRows, t.Matrix, t.Motion
    Rows, problems, scratch, reports = make_row_types(scalar), make_problem(scalar), make_scratch(scalar), make_report(scalar)
    solve_eight, put_column, store_products = functions.solve_eight, functions.put_column, functions.store_products
    solve_again, solve_world = make_solve_again(scalar), make_solve_world(scalar, collect)

    @wp.func
    def columns_of(begin: int, first: int, count: int, start: int, table: Rows, member: wp.array(dtype=wp.int32), matrix: Matrix):
        """J^T of up to eight rows."""
        for lane in range(count):
            at = begin + member[first + lane]
            if table.first_place[at] >= 0:
                put_column(start + table.first_place[at], lane, at, table.first, matrix.eight)
            if table.second_place[at] >= 0:
                put_column(start + table.second_place[at], lane, at, table.second, matrix.eight)
        return 0

    @wp.func
    def form_problem(w: int, offset: int, n: int, patterns: Patterns, table: Rows, matrix: Matrix, problem: problems):
        """(1) of the n rows from member ``offset`` on."""
        begin, start, entry, stride = problem.row[w], patterns.node[w], problem.entry[w], problem.stride[w]
        members, listed = begin + offset, start + table.nodes[begin + offset]
        number = 1 * table.number[members]
        for group in range(stride / WIDTH):
            first = group * WIDTH
            for k in range(number):
                matrix.eight[start + table.order[listed + k]] = rows()
            columns_of(begin, members + first, wp.min(WIDTH, n - first), start, table, problem.member, matrix)
            solve_eight(w, start, listed, number, table.order, patterns, matrix.diagonal, matrix.lower, matrix.eight)
            for r in range(n):
                at = begin + problem.member[members + r]
                a, b = table.first_place[at], table.second_place[at]
                store_products(
                    entry + r * stride + first, wp.where(a >= 0, start + a, -1), wp.where(b >= 0, start + b, -1), at,
                    table.first, table.second, matrix.eight, problem.matrix,
                )  # fmt: skip
        for r in range(n):
            at = begin + problem.member[members + r]
            v = scalar(1.0) * table.bias[at]
            if table.first_place[at] >= 0:
                v += wp.dot(table.first[at], matrix.x[start + table.first_place[at]])
            if table.second_place[at] >= 0:
                v += wp.dot(table.second[at], matrix.x[start + table.second_place[at]])
            problem.free[at] = v
            i = entry + r * stride + r
            problem.matrix[i] = problem.matrix[i] + table.compliance[at]
        return 0

    @wp.func
    def apply_impulses(
        w: int, patterns: Patterns, mechanism: Mechanism, motion: Motion, problem: problems, scale: scalar, table: Rows,
        joint_rows: JointRows, matrix: Matrix,
    ):  # fmt: skip
        """Twists and impulses of joints with the impulses of the rows; those are kept, times ``scale``, for the next step."""
        n, begin, start = problem.count[w], problem.row[w], patterns.node[w]
        joint, end = mechanism.joint[w], mechanism.joint[w + 1]
        if table.kept[w] > 0:
            for k in range(ALL_KEYS * joint, ALL_KEYS * end):
                table.kept_impulse[k] = scalar(0.0)
                table.kept_velocity[k] = scalar(0.0)
        table.kept[w] = n
        if n > 0:
            for r in range(n):
                at = begin + r
                impulse, key = problem.impulse[at], table.key[at]
                if key >= 0:
                    table.kept_impulse[key] = scale * impulse
                    table.kept_velocity[key] = problem.velocity[at]
                if table.first_place[at] >= 0:
                    node = start + table.first_place[at]
                    matrix.right[node] = matrix.right[node] + impulse * table.first[at]
                if table.second_place[at] >= 0:
                    node = start + table.second_place[at]
                    matrix.right[node] = matrix.right[node] + impulse * table.second[at]
            solve_again(w, patterns, mechanism, 1, motion, joint_rows, matrix)
            for r in range(n):
                if problem.kind[begin + r] == BILATERAL:
                    index = table.key[begin + r] / 5
                    value = scalar(1.0) * joint_rows.impulse[index / 6]
                    value[index % 6] = problem.impulse[begin + r]
                    joint_rows.impulse[index / 6] = value
        return 0

    @wp.kernel(enable_backward=False, module="unique")
    def solve_rows(
        work: Work, options: wp.array(dtype=Options), patterns: Patterns, mechanism: Mechanism, motion: Motion, scale: scalar,
        problem: problems, space: scratch, report: reports, table: Rows, joint_rows: JointRows, matrix: Matrix,
    ):  # fmt: skip
        """Of every world; ``scale`` is the share of the impulses of joints that the next step begins with."""
        state = flush_denormals()
        w = first_item(work, wp.tid())
        while w >= 0:
            slot, n, offset, width = scratch_slot(work, w), problem.count[w], int(0), (space.rows + WIDTH - 1) / WIDTH * WIDTH
            problem.entry[w] = slot * (space.rows * width)
            status = solve_nothing(options[wp.min(w, options.shape[0] - 1)])
            while offset < n:
                size = 1 * table.part[problem.row[w] + offset]
                problem.stride[w] = (size + WIDTH - 1) / WIDTH * WIDTH
                if size <= space.rows:
                    form_problem(w, offset, size, patterns, table, matrix, problem)
                found = solve_world(w, offset, size, slot, problem, options, space, report)
                status = worse_of(status, found)
                offset += size
            report.world[w] = status
            apply_impulses(w, patterns, mechanism, motion, problem, scale, table, joint_rows, matrix)
            w = next_item(work, w)
        restore_denormals(state)

    return solve_rows

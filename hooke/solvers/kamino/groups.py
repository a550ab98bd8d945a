"""Which rows of a world have to do with each other: problems that neither joints nor contacts connect are solved one by one."""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.linalg.elimination import Patterns
from hooke.solvers.kamino.inequality import make_row_types
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.ncp.problem import make_problem

__all__ = ["make_group_rows"]


@cache
def make_group_rows(scalar: Any) -> Any:
    """The kernel over a type of numbers."""
    Rows, problems = make_row_types(scalar), make_problem(scalar)

    @wp.func
    def find_root(start: int, place: int, root: wp.array(dtype=wp.int32)):
        """The root of a place; the way to it becomes shorter."""
        at = int(place)
        while root[start + at] != at:
            root[start + at] = 1 * root[start + root[start + at]]
            at = 1 * root[start + at]
        return at

    @wp.func
    def root_of_row(at: int, start: int, table: Rows):
        """The root of a row's bodies; of a row that moves nothing the first of all."""
        place = wp.max(table.first_place[at], table.second_place[at])
        return find_root(start, wp.max(place, 0), table.root)

    @wp.func
    def connect(begin: int, n: int, start: int, nodes: int, component: int, mechanism: Mechanism, table: Rows):
        """Roots of all places of a world: the lowest place of those that are connected."""
        for node in range(nodes):
            table.root[start + node] = mechanism.component[component + node]
            table.amount[start + node] = 0
        for r in range(n):
            a, b = table.first_place[begin + r], table.second_place[begin + r]
            if a >= 0 and b >= 0:
                one, other = find_root(start, a, table.root), find_root(start, b, table.root)
                table.root[start + wp.max(one, other)] = wp.min(one, other)
        for r in range(n):
            root = start + root_of_row(begin + r, start, table)
            table.amount[root] = table.amount[root] + 1
        return 0

    @wp.func
    def list_problems(begin: int, start: int, nodes: int, table: Rows):
        """Where the rows and the nodes of every problem begin; the most rows of one. ``amount`` becomes where the rows of a root do."""
        for node in range(nodes):
            table.order[start + node] = 0
        for node in range(nodes):
            root = start + find_root(start, node, table.root)
            table.order[root] = table.order[root] + 1
        at, node_at, largest = int(0), int(0), int(0)
        for node in range(nodes):
            size, number = 1 * table.amount[start + node], 1 * table.order[start + node]
            if size > 0:
                table.part[begin + at] = size
                table.nodes[begin + at] = node_at
                table.number[begin + at] = number
                largest = wp.max(largest, size)
            table.amount[start + node] = at
            table.order[start + node] = node_at
            at += size
            node_at += number
        return largest

    @wp.func
    def list_members(begin: int, n: int, start: int, nodes: int, table: Rows, problem: problems):
        """The rows and the nodes of every problem, in their order."""
        for r in range(n):
            root = start + root_of_row(begin + r, start, table)
            problem.member[begin + table.amount[root]] = r
            table.amount[root] = table.amount[root] + 1
        for node in range(nodes):
            table.amount[start + node] = 1 * table.order[start + node]
        for node in range(nodes):
            root = start + find_root(start, node, table.root)
            table.order[start + table.amount[root]] = node
            table.amount[root] = table.amount[root] + 1
        return 0

    @wp.func
    def one_problem(begin: int, n: int, start: int, nodes: int, table: Rows, problem: problems):
        """All rows of a world as one problem."""
        for r in range(n):
            problem.member[begin + r] = r
        for node in range(nodes):
            table.order[start + node] = node
        if n > 0:
            table.part[begin] = n
            table.nodes[begin] = 0
            table.number[begin] = nodes
        return n

    @wp.kernel(enable_backward=False, module="unique")
    def group_rows(work: Work, patterns: Patterns, mechanism: Mechanism, whole: int, table: Rows, problem: problems):
        """The problems of every world; one where it is ``whole``."""
        w = first_item(work, wp.tid())
        while w >= 0:
            n, begin, kind, start = problem.count[w], problem.row[w], patterns.kind[w], patterns.node[w]
            nodes = patterns.size[kind]
            if whole != 0 or mechanism.parts[kind] < 2:
                table.largest[w] = one_problem(begin, n, start, nodes, table, problem)
            else:
                connect(begin, n, start, nodes, patterns.of_place[kind], mechanism, table)
                table.largest[w] = list_problems(begin, start, nodes, table)
                list_members(begin, n, start, nodes, table, problem)
            w = next_item(work, w)

    return group_rows

"""Graphs of nodes that act on each other: neighbour lists, and orders in which to colour them.

The kernels here and in :mod:`~hooke.geometry.coloring` are sequential: one thread on the CPU walks through all nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import warp as wp

from hooke.geometry.incidence import list_members, run_sequential

__all__ = ["Graph", "order_by_cardinality", "order_by_degree"]


@dataclass(frozen=True)
class Graph:
    """Neighbours of node i are ``neighbor[start[i] : start[i + 1]]``, each once, never i itself; int32."""

    start: np.ndarray
    neighbor: np.ndarray

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.start) - 1

    @property
    def degree(self) -> np.ndarray:
        """Number of neighbours of every node, int32 (count,)."""
        return np.diff(self.start)

    @staticmethod
    def of_stencils(count: int, stencils: Sequence[np.ndarray]) -> Graph:
        """Join all nodes of a row of ``stencils``, a list of arrays (n, size); negative entries and repetitions are ignored."""
        rows = _stacked(stencils)
        first, element, _slot = list_members(rows, count)
        start, seen = np.zeros(count + 1, np.int32), np.full(count, -1, np.int32)
        run_sequential(list_neighbors, rows, first, element, seen, start, np.empty(0, np.int32))
        np.cumsum(start, out=start)
        neighbor = np.empty(start[-1], np.int32)
        seen.fill(-1)
        run_sequential(list_neighbors, rows, first, element, seen, start, neighbor)
        return Graph(start, neighbor)


def _stacked(stencils: Sequence[np.ndarray]) -> np.ndarray:
    """All rows in one array, the shorter ones filled up with -1."""
    width = max((rows.shape[1] for rows in stencils), default=1)
    stacked = np.full((sum(len(rows) for rows in stencils), width), -1, np.int32)
    at = 0
    for rows in stencils:
        stacked[at : at + len(rows), : rows.shape[1]] = rows
        at += len(rows)
    return stacked


@wp.kernel(enable_backward=False)
def list_neighbors(
    rows: wp.array2d(dtype=wp.int32), first: wp.array(dtype=wp.int32), element: wp.array(dtype=wp.int32),
    seen: wp.array(dtype=wp.int32), start: wp.array(dtype=wp.int32), neighbor: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Count the neighbours of node i in ``start[i + 1]``; where there is room for neighbours, list them instead."""
    room = neighbor.shape[0]
    for i in range(seen.shape[0]):
        at = int(0)
        if room > 0:
            at = start[i]
        for k in range(first[i], first[i + 1]):
            e = element[k]
            for slot in range(rows.shape[1]):
                j = rows[e, slot]
                if j >= 0 and j != i:
                    if seen[j] != i:
                        seen[j] = i
                        if room > 0:
                            neighbor[at] = j
                        at += 1
        if room == 0:
            start[i + 1] = at


def order_by_degree(graph: Graph) -> np.ndarray:
    """Nodes with many neighbours first."""
    return np.argsort(-graph.degree, kind="stable").astype(np.int32)


def order_by_cardinality(graph: Graph) -> np.ndarray:
    """Maximum cardinality search: next is the node that has the most neighbours before it."""
    order = np.empty(graph.count, np.int32)
    weight, after, before = np.zeros(graph.count, np.int32), np.empty_like(order), np.empty_like(order)
    head = np.full(int(graph.degree.max(initial=0)) + 2, -1, np.int32)
    run_sequential(search_by_cardinality, graph.start, graph.neighbor, head, after, before, weight, order)
    return order


@wp.func
def link(i: int, w: int, head: wp.array(dtype=wp.int32), after: wp.array(dtype=wp.int32), before: wp.array(dtype=wp.int32)):
    """Put node i at the front of the list of weight w."""
    j = head[w]
    before[i] = -1
    after[i] = j
    if j >= 0:
        before[j] = i
    head[w] = i


@wp.func
def unlink(i: int, w: int, head: wp.array(dtype=wp.int32), after: wp.array(dtype=wp.int32), before: wp.array(dtype=wp.int32)):
    """Take node i out of the list of weight w."""
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[w] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]


@wp.kernel(enable_backward=False)
def search_by_cardinality(
    start: wp.array(dtype=wp.int32), neighbor: wp.array(dtype=wp.int32), head: wp.array(dtype=wp.int32),
    after: wp.array(dtype=wp.int32), before: wp.array(dtype=wp.int32), weight: wp.array(dtype=wp.int32),
    order: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Nodes stand in one list per weight, the number of neighbours that are ordered; -1 marks a node that is."""
    count = order.shape[0]
    for k in range(count):
        link(count - 1 - k, 0, head, after, before)
    top = int(0)
    for k in range(count):
        while head[top] < 0:
            top -= 1
        i = head[top]
        unlink(i, top, head, after, before)
        weight[i] = -1
        order[k] = i
        for n in range(start[i], start[i + 1]):
            j = neighbor[n]
            w = weight[j]
            if w >= 0:
                unlink(j, w, head, after, before)
                link(j, w + 1, head, after, before)
                weight[j] = w + 1
                top = wp.max(top, w + 1)

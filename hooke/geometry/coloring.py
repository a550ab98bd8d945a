"""Colouring of a graph: nodes of one colour share no edge, so they can be updated at the same time.

Nodes are coloured one after the other; then whole colours are emptied, the smallest first, as long as that succeeds; then the sizes
of the colours are evened out. All of it takes a time proportional to the number of edges, and gives the same result every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import combinations
from typing import Any

import numpy as np
import warp as wp

from hooke.geometry.graph import Graph, order_by_cardinality, order_by_degree
from hooke.geometry.incidence import run_sequential

__all__ = ["ColoringAlgorithm", "color_graph", "color_worlds", "find_conflict", "groups_of", "merge_groups"]

_PATIENCE = 4
"""Nodes that may be coloured anew while a colour is emptied, in multiples of the number of nodes."""


class ColoringAlgorithm(IntEnum):
    """The order in which each node takes the smallest free colour."""

    MCS = 0
    """Maximum cardinality search: next is the node that has the most coloured neighbours."""

    GREEDY = 1
    """Nodes with many neighbours first."""


_ORDER = {ColoringAlgorithm.MCS: order_by_cardinality, ColoringAlgorithm.GREEDY: order_by_degree}


def color_graph(
    count: int,
    stencils: Sequence[np.ndarray],
    balance: bool = True,
    target_ratio: float = 1.1,
    algorithm: ColoringAlgorithm = ColoringAlgorithm.MCS,
) -> list[np.ndarray]:
    """Colour ``count`` nodes so that no two of a stencil share a colour.

    Args:
        count: Number of nodes.
        stencils: Arrays of nodes, each of shape (n, size); negative entries and repetitions in a row are ignored.
        balance: Even out the sizes of the groups.
        target_ratio: Largest over smallest group at which balancing stops.
        algorithm: Order in which nodes are coloured.

    Returns:
        One int32 array of nodes per colour, every node in exactly one. Without edges, one group of all nodes.
    """
    if count == 0:
        return []
    stencils = [np.asarray(rows) for rows in stencils if len(rows)]
    graph = Graph.of_stencils(count, stencils)
    colors = np.full(count, -1, np.int32)
    room = int(graph.degree.max()) + 1
    run_sequential(take_free_colors, graph.start, graph.neighbor, _ORDER[algorithm](graph), np.full(room, -1, np.int32), colors)
    colors = _empty_colors(graph, colors, least=max((rows.shape[1] for rows in stencils), default=1))
    if balance:
        _even_out(graph, colors, target_ratio)
    return groups_of(colors, int(colors.max()) + 1)


def color_worlds(world: np.ndarray, stencils: Sequence[np.ndarray], *settings: Any) -> list[np.ndarray]:
    """Colour the nodes of every world by itself, equal worlds equally, so that they do the same.

    Args:
        world: World of every node, shape (count,); those of a world stand side by side.
        stencils: As for :func:`color_graph`; one that reaches into two worlds makes them one.
        *settings: The other arguments of :func:`color_graph`.
    """
    stencils = [np.asarray(rows) for rows in stencils if len(rows)]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(world)) + 1, [len(world)]])
    part = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    owner = [part[rows.max(axis=1)] for rows in stencils]
    mixed = any(((part[rows] != of[:, None]) & (rows >= 0)).any() for rows, of in zip(stencils, owner, strict=True))
    if mixed or len(starts) == 2:
        return color_graph(len(world), stencils, *settings)
    orders = [np.argsort(of, kind="stable") for of in owner]
    bounds = [np.searchsorted(of[order], np.arange(len(starts))) for of, order in zip(owner, orders, strict=True)]
    known: dict[tuple[int, bytes], list[int]] = {}
    for w, first in enumerate(starts[:-1]):
        own = [rows[order[b[w] : b[w + 1]]] for rows, order, b in zip(stencils, orders, bounds, strict=True)]
        own = [np.where(rows >= 0, rows - first, -1) for rows in own]
        key = int(starts[w + 1] - first), b"".join(rows.tobytes() + b"|" for rows in own)
        known.setdefault(key, []).append(int(first))
    groups: list[np.ndarray] = []
    for (count, _), firsts in known.items():
        own = [rows[(rows.max(axis=1) >= firsts[0]) & (rows.max(axis=1) < firsts[0] + count)] for rows in stencils]
        own = [np.where(rows >= 0, rows - firsts[0], -1) for rows in own]
        colors = color_graph(count, own, *settings)
        repeated = [(np.asarray(firsts)[:, None] + color).reshape(-1).astype(np.int32) for color in colors]
        groups = merge_groups(groups, repeated) if groups else repeated
    return groups


@wp.kernel(enable_backward=False)
def take_free_colors(
    start: wp.array(dtype=wp.int32), neighbor: wp.array(dtype=wp.int32), order: wp.array(dtype=wp.int32),
    taken: wp.array(dtype=wp.int32), colors: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Every node in turn takes the smallest colour that no neighbour has; ``taken[c]`` is the last node that could not take c."""
    for k in range(order.shape[0]):
        i = order[k]
        for n in range(start[i], start[i + 1]):
            c = colors[neighbor[n]]
            if c >= 0:
                taken[c] = i
        c = int(0)
        while taken[c] == i:
            c += 1
        colors[i] = c


def _empty_colors(graph: Graph, colors: np.ndarray, least: int) -> np.ndarray:
    """Colours of a colouring with as few colours as can be found, but ``least``: the nodes of the smallest one go elsewhere."""
    while True:
        sizes = np.bincount(colors)
        if len(sizes) <= least:
            return colors
        names = np.empty(len(sizes), np.int32)
        names[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
        fewer = names[colors]
        left, weight = np.zeros(1, np.int32), np.ones(graph.count, np.int32)
        stack, cost = np.empty(graph.count, np.int32), np.empty(len(sizes) - 1, np.int32)
        budget = _PATIENCE * graph.count
        run_sequential(empty_last_color, graph.start, graph.neighbor, budget, stack, weight, cost, fewer, left)
        if left[0]:
            return colors
        colors = fewer


@wp.kernel(enable_backward=False)
def empty_last_color(
    start: wp.array(dtype=wp.int32), neighbor: wp.array(dtype=wp.int32), budget: int, stack: wp.array(dtype=wp.int32),
    weight: wp.array(dtype=wp.int32), cost: wp.array(dtype=wp.int32), colors: wp.array(dtype=wp.int32),
    left: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Colour the nodes of the last colour anew; ``left`` is the number that have none when the budget is spent.

    A node takes the colour of least cost and ejects the neighbours that have it. What is ejected grows heavier, so that a chain of
    ejections does not run in a circle.
    """
    others = cost.shape[0]
    top = int(0)
    for k in range(colors.shape[0]):
        if colors[k] == others:
            colors[k] = -1
            stack[top] = k
            top += 1
    spent = int(0)
    while top > 0 and spent < budget:
        spent += 1
        top -= 1
        i = stack[top]
        for c in range(others):
            cost[c] = 0
        for n in range(start[i], start[i + 1]):
            c = colors[neighbor[n]]
            if c >= 0:
                cost[c] += weight[neighbor[n]]
        best = int(0)
        for c in range(1, others):
            if cost[c] < cost[best]:
                best = c
        if cost[best] > 0:
            for n in range(start[i], start[i + 1]):
                j = neighbor[n]
                if colors[j] == best:
                    colors[j] = -1
                    weight[j] += 1
                    stack[top] = j
                    top += 1
        colors[i] = best
    left[0] = top


def _even_out(graph: Graph, colors: np.ndarray, target_ratio: float) -> None:
    """Exchange two colours within connected pieces of their nodes, the two that differ the most first."""
    sizes = np.bincount(colors)
    stuck = np.eye(len(sizes), dtype=bool)
    seen, queue, moved = np.full(graph.count, -1, np.int32), np.empty(graph.count, np.int32), np.zeros(1, np.int32)
    for trial in range(4 * len(sizes) ** 2):
        if sizes.max() <= target_ratio * sizes.min() or stuck.all():
            break
        excess = np.where(stuck, -1, sizes[:, None] - sizes[None, :])
        large, small = np.unravel_index(int(excess.argmax()), excess.shape)
        if excess[large, small] < 2:
            break
        run_sequential(
            exchange_colors, graph.start, graph.neighbor, int(large), int(small), int(excess[large, small]), trial, seen, queue,
            colors, moved,
        )  # fmt: skip
        if moved[0]:
            stuck[[large, small], :] = stuck[:, [large, small]] = False
            np.fill_diagonal(stuck, True)
            sizes[large] -= moved[0]
            sizes[small] += moved[0]
        else:
            stuck[large, small] = True


@wp.kernel(enable_backward=False)
def exchange_colors(
    start: wp.array(dtype=wp.int32), neighbor: wp.array(dtype=wp.int32), large: int, small: int, excess: int, trial: int,
    seen: wp.array(dtype=wp.int32), queue: wp.array(dtype=wp.int32), colors: wp.array(dtype=wp.int32),
    moved: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Exchange two colours in pieces with more nodes of the large one, as far as that makes them more equal (Kempe chains).

    ``excess`` is by how many nodes the large colour is larger, ``moved`` how many it loses.
    """
    moved[0] = 0
    for k in range(colors.shape[0]):
        if colors[k] == large and seen[k] != trial:
            seen[k] = trial
            queue[0] = k
            end = int(1)
            at = int(0)
            more = int(0)
            while at < end:
                i = queue[at]
                at += 1
                more += wp.where(colors[i] == large, 1, -1)
                for n in range(start[i], start[i + 1]):
                    j = neighbor[n]
                    if (colors[j] == large or colors[j] == small) and seen[j] != trial:
                        seen[j] = trial
                        queue[end] = j
                        end += 1
            if more > 0 and 2 * (moved[0] + more) <= excess:
                moved[0] += more
                for q in range(end):
                    colors[queue[q]] = large + small - colors[queue[q]]


def groups_of(colors: np.ndarray, used: int) -> list[np.ndarray]:
    """The nodes of each colour in increasing order, from the colour of each node."""
    order = np.argsort(colors.astype(np.uint16), kind="stable").astype(np.int32)  # 16 bits are sorted in linear time
    bounds = np.concatenate([[0], np.cumsum(np.bincount(colors, minlength=used))])
    return [order[bounds[c] : bounds[c + 1]] for c in range(used) if bounds[c + 1] > bounds[c]]


def merge_groups(groups: list[np.ndarray], others: list[np.ndarray]) -> list[np.ndarray]:
    """Join two independent colourings: the largest group of one meets the smallest of the other."""
    if len(groups) < len(others):
        groups, others = others, groups
    groups = sorted(groups, key=len)
    others = sorted(others, key=len, reverse=True)
    others += [np.empty(0, np.int32)] * (len(groups) - len(others))
    return [np.concatenate([a, b]).astype(np.int32) for a, b in zip(groups, others, strict=True)]


def find_conflict(colors: np.ndarray, stencils: np.ndarray) -> tuple[int, int, int] | None:
    """The first stencil (n, size) with two different particles of one colour, as (row, particle, particle)."""
    slots = [(stencils[:, s], colors[stencils[:, s]]) for s in range(stencils.shape[1])]
    for (i, color_i), (j, color_j) in combinations(slots, 2):
        rows = np.flatnonzero((color_i == color_j) & (i != j))
        if len(rows):
            return int(rows[0]), int(i[rows[0]]), int(j[rows[0]])
    return None

"""Islands of bodies that joints connect, and the order in which the equations of each are eliminated.

The unknowns of an island are the six of every body and the six multipliers of every joint; a joint couples with its two bodies only, a
mimic (:mod:`hooke.solvers.vbd.mimics`), which has six multipliers of its own, with those of its two joints. A
body is eliminated where it has fewest neighbours left, and then the joints it had, which have a pivot by then. In a tree this goes from
the leaves to the root and fills in nothing; a loop costs the blocks around it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import warp as wp

from hooke.math.blocks import Rows

__all__ = ["Islands", "find_islands", "make_islands"]


@wp.struct
class Islands:
    """The elimination of all islands. Nodes are body ``i`` as i, joint ``j`` as -1 - j, and mimic ``m`` as -1 - joints - m, in the
    order of elimination.

    There are ``count[0]`` islands. Island ``k`` has the nodes ``first[k] ... first[k + 1]``, node ``n`` the blocks ``block[n] ...
    block_end[n]``, each with the node of its row, and ``target`` from ``pair[n]`` on names the blocks that they fill in; the blocks of
    an island follow each other. ``node_of_body`` is -1 of a body in none of them. ``child`` and ``parent`` are the blocks that the rows
    of a joint start in, -1 without one; negative numbers below that, -2 - block, stand for a transposed one; ``mimic`` are the same for
    the four ends of every mimic. The other blocks of an island with the first node n are ``fill`` from ``block[n]`` to ``fill_end[n]``.
    Body ``b`` is in the ends of joints ``end`` from ``first_end[b]`` to
    ``first_end[b + 1]``, 2 j of a child and 2 j + 1 of a parent.

    Of islands that are made anew in every step, ``given`` are the nodes as they came in the step before, ``around`` the bits of their
    neighbours (:mod:`hooke.solvers.vbd.elimination_order`), and ``order`` what was found for them; ``place`` is the number of nodes at
    the first of an island, and minus the place within it at the others.
    """

    count: wp.array(dtype=wp.int32)
    first: wp.array(dtype=wp.int32)
    item: wp.array(dtype=wp.int32)
    block: wp.array(dtype=wp.int32)
    block_end: wp.array(dtype=wp.int32)
    row: wp.array(dtype=wp.int32)
    pair: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    child: wp.array(dtype=wp.int32)
    parent: wp.array(dtype=wp.int32)
    mimic: wp.array(dtype=wp.int32)
    fill: wp.array(dtype=wp.int32)
    fill_end: wp.array(dtype=wp.int32)
    node_of_body: wp.array(dtype=wp.int32)
    given: wp.array(dtype=wp.int32)
    around: wp.array(dtype=wp.uint64)
    order: wp.array(dtype=wp.int32)
    place: wp.array(dtype=wp.int32)
    first_end: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    diagonal: wp.array(dtype=Rows)
    lower: wp.array(dtype=Rows)
    scaled: wp.array(dtype=Rows)
    solution: wp.array(dtype=wp.spatial_vector)
    gradient: wp.array(dtype=wp.spatial_vector)


def find_islands(moves: np.ndarray, links: Iterable[list[int]]) -> list[list[int]]:
    """Bodies that move, grouped by what links them; every group and the list are in increasing order."""
    root = np.arange(len(moves))

    def find(b: int) -> int:
        while root[b] != b:
            root[b] = root[root[b]]
            b = int(root[b])
        return b

    for bodies in links:
        for body in bodies[1:]:
            a, b = find(bodies[0]), find(body)
            root[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for b in np.flatnonzero(moves).tolist():
        groups.setdefault(find(b), []).append(b)
    return list(groups.values())


def order_of_elimination(bodies: list[int], joints_of: dict[int, list[int]], ends: dict[int, list[int]]) -> tuple[Any, Any]:
    """The nodes of an island in order, and for each the set of later nodes that it couples with."""
    links: dict[int, set[int]] = {b: {-1 - j for j in joints_of.get(b, ())} for b in bodies}
    for b in bodies:
        for joint in links[b]:
            links.setdefault(joint, set())
    for j, pair in ends.items():
        links[-1 - j] = set(pair)
    heap = [(len(links[b]), b) for b in bodies]
    heapq.heapify(heap)
    order: list[int] = []
    later: dict[int, set[int]] = {}

    def eliminate(node: int) -> set[int]:
        around = links.pop(node)
        order.append(node)
        later[node] = around
        for other in around:
            links[other].discard(node)
            links[other] |= around - {other}
        return around

    while heap:
        count, body = heapq.heappop(heap)
        if body in later:
            continue
        if len(links[body]) != count:
            heapq.heappush(heap, (len(links[body]), body))
            continue
        touched = set(eliminate(body))
        for joint in sorted((n for n in touched if n < 0), reverse=True):
            if joint not in later:
                touched |= eliminate(joint)
        for other in touched:
            if other >= 0 and other not in later:
                heapq.heappush(heap, (len(links[other]), other))
    return order, later


def make_islands(
    moves: np.ndarray, parent: np.ndarray, child: np.ndarray, acts: np.ndarray, device: Any, mimics: Sequence[list[int]] = ()
) -> Islands:
    """The elimination for the bodies that move and the joints that act.

    Args:
        moves: Which bodies are unknown, bool (bodies,).
        parent: Parent body of every joint; -1 is the world.
        child: Its child body.
        acts: Which joints have rows, bool (joints,).
        device: Where the arrays go.
        mimics: Up to four bodies of every mimic, -1 for one that it does not act on.
    """
    movable = np.append(moves, False)
    used = acts & (movable[parent] | movable[child])
    joints_of: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    couplings = [(j, [int(parent[j]), int(child[j])]) for j in np.flatnonzero(used).tolist()]
    couplings += [(len(parent) + m, bodies) for m, bodies in enumerate(mimics)]
    for j, bodies in couplings:
        ends[j] = [b for b in bodies if movable[b]]
        for b in ends[j]:
            joints_of.setdefault(b, []).append(j)
    groups = find_islands(moves, ends.values())
    starts, rest = ("first", "block", "pair"), ("item", "row", "target", "fill", "fill_end")
    lists: dict[str, list[int]] = {**{name: [0] for name in starts}, **{name: [] for name in rest}}
    start_block = {"child": np.full(len(parent), -1, np.int32), "parent": np.full(len(parent), -1, np.int32)}
    start_block["mimic"] = np.full(4 * len(mimics), -1, np.int32)
    slots = {j: [("parent", j, int(parent[j])), ("child", j, int(child[j]))] for j in range(len(parent))}
    slots |= {len(parent) + m: [("mimic", 4 * m + k, b) for k, b in enumerate(bodies)] for m, bodies in enumerate(mimics)}
    node_of_body = np.full(len(moves), -1, np.int32)
    for group in groups:
        mine = {j: ends[j] for b in group for j in joints_of.get(b, ())}
        _append_island(group, joints_of, mine, lists, start_block, slots, node_of_body)
    islands = Islands()
    lists["block_end"] = lists["block"][1:]
    for name, values in {**lists, **start_block, "node_of_body": node_of_body}.items():
        setattr(islands, name, wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=device))
    islands.count = wp.array([len(groups)], dtype=wp.int32, device=device)
    nodes, blocks = len(lists["item"]), len(lists["row"])
    islands.diagonal = wp.zeros(nodes, dtype=Rows, device=device)
    islands.lower = wp.zeros(blocks, dtype=Rows, device=device)
    islands.scaled = wp.zeros(blocks, dtype=Rows, device=device)
    islands.solution = wp.zeros(nodes, dtype=wp.spatial_vector, device=device)
    islands.gradient = wp.zeros(nodes, dtype=wp.spatial_vector, device=device)
    return islands


def _append_island(
    group: list[int], joints_of: dict[int, list[int]], ends: dict[int, list[int]], lists: dict[str, list[int]],
    start_block: dict[str, np.ndarray], slots: dict[int, list[tuple[str, int, int]]], node_of_body: np.ndarray,
) -> None:  # fmt: skip
    order, later = order_of_elimination(group, joints_of, ends)
    base = len(lists["item"])
    place = {node: base + k for k, node in enumerate(order)}
    block_of: dict[tuple[int, int], int] = {}
    columns = []
    for node in order:
        n = place[node]
        rows = sorted(place[other] for other in later[node])
        columns.append(rows)
        for row in rows:
            block_of[n, row] = len(lists["row"])
            lists["row"].append(row)
        lists["block"].append(len(lists["row"]))
        lists["item"].append(node)
        if node >= 0:
            node_of_body[node] = n
    for rows in columns:
        lists["target"] += [block_of[rows[f], rows[e]] for e in range(len(rows)) for f in range(e)]
        lists["pair"].append(len(lists["target"]))
    filled = set(block_of.values())
    for j in ends:
        for end, index, body in slots[j]:
            if body in ends[j]:
                b, n = place[body], place[-1 - j]
                block = block_of[min(b, n), max(b, n)]
                start_block[end][index] = block if b < n else -2 - block
                filled.discard(block)
    start = lists["block"][base]
    lists["fill_end"] += [start + len(filled)] * len(order)
    lists["fill"] += [*sorted(filled), *[-1] * (len(block_of) - len(filled))]
    lists["first"].append(len(lists["item"]))

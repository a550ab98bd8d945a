"""The order in which the blocks of a sparse symmetric matrix are eliminated, and what that fills in. Made once, on the host.

A node is a block row and column. A node of negative pivots (a row of constraints, whose own block is nearly zero) gets them from what it
constrains, so it must wait: it is eliminated when the nodes it came with are gone, or when it hangs on a single node that is left and on
no other constraint. Whatever is behind it is then free to move in all six directions, and its pivots are those of that motion; otherwise
they might be as small as its own block.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

__all__ = ["Elimination", "Patterns", "find_elimination", "make_patterns"]


@dataclass(frozen=True, eq=False)
class Elimination:
    """The elimination of one matrix. Places are those in the order of elimination.

    Attributes:
        order: Node at every place, int32 (n,).
        place: Place of every node (n,).
        column: First block below the diagonal of every place, then their number (n + 1,).
        row: Place of the row of every block, increasing within a column.
        pair: First entry of ``target`` of every place, then their number (n + 1,).
        target: For every pair (e, f < e) of blocks of a column, in this order, the block that it is subtracted from.
        side: Sign of the pivots, 1 or -1 (n,).
    """

    order: np.ndarray
    place: np.ndarray
    column: np.ndarray
    row: np.ndarray
    pair: np.ndarray
    target: np.ndarray
    side: np.ndarray

    def block(self, a: int, b: int) -> tuple[int, bool]:
        """The block that couples two nodes, and whether its column is that of ``b``."""
        i, j = int(self.place[a]), int(self.place[b])
        first, last = min(i, j), max(i, j)
        start, end = self.column[first], self.column[first + 1]
        return int(start + np.searchsorted(self.row[start:end], last)), first == j


def find_elimination(count: int, couplings: Sequence[tuple[int, int]], negative: Sequence[int] = ()) -> Elimination:
    """Minimum degree, ties by number.

    Args:
        count: Number of nodes.
        couplings: Pairs of nodes with a block; a node of negative pivots couples with others of positive ones only.
        negative: Nodes of negative pivots.
    """
    waits = set(negative)
    around: list[set[int]] = [set() for _ in range(count)]
    for a, b in couplings:
        around[a].add(b)
        around[b].add(a)
    order, later = [], {}
    held = [False] * count  # has a node it came with behind it

    def may_go(node: int) -> bool:
        if node not in waits:
            return True
        positive = sum(other not in waits for other in around[node])
        return positive == 0 or (held[node] and positive == 1 and len(around[node]) == 1)

    heap = [(len(around[n]), n) for n in range(count) if may_go(n)]
    heapq.heapify(heap)
    gone = [False] * count
    while heap:
        degree, node = heapq.heappop(heap)
        if gone[node] or degree != len(around[node]) or not may_go(node):
            continue
        gone[node] = True
        order.append(node)
        later[node] = sorted(around[node])
        for other in later[node]:
            held[other] = True
            around[other].discard(node)
            around[other].update(o for o in later[node] if o != other)
        for other in later[node]:
            if may_go(other):
                heapq.heappush(heap, (len(around[other]), other))
    place = np.empty(count, np.int32)
    place[order] = np.arange(count)
    rows = [sorted(int(place[o]) for o in later[node]) for node in order]
    column = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int32)
    block = {(n, r): int(column[n]) + k for n, group in enumerate(rows) for k, r in enumerate(group)}
    targets = [[block[r[f], r[e]] for e in range(len(r)) for f in range(e)] for r in rows]
    pair = np.concatenate([[0], np.cumsum([len(t) for t in targets])]).astype(np.int32)
    flat = [np.asarray([x for group in groups for x in group], np.int32) for groups in (rows, targets)]
    side = np.asarray([-1 if node in waits else 1 for node in order], np.int32)
    return Elimination(np.asarray(order, np.int32), place, column, flat[0], pair, flat[1], side)


@wp.struct
class Patterns:
    """Eliminations of matrices of several kinds, and which matrix is of which.

    Matrix m is of kind ``kind[m]``; its nodes begin at ``node[m]``, its blocks at ``block[m]``. Kind k has ``size[k]`` nodes and
    ``blocks[k]`` blocks; its entries begin at ``of_place[k]`` in ``side``, at ``of_column[k]`` in ``column`` and ``pair`` (a place
    more than nodes), at ``of_block[k]`` in ``row`` and at ``of_target[k]`` in ``target``. All that these name is counted from the
    beginning of the matrix.
    """

    kind: wp.array(dtype=wp.int32)
    node: wp.array(dtype=wp.int32)
    block: wp.array(dtype=wp.int32)
    size: wp.array(dtype=wp.int32)
    blocks: wp.array(dtype=wp.int32)
    of_place: wp.array(dtype=wp.int32)
    of_column: wp.array(dtype=wp.int32)
    of_block: wp.array(dtype=wp.int32)
    of_target: wp.array(dtype=wp.int32)
    side: wp.array(dtype=wp.int32)
    column: wp.array(dtype=wp.int32)
    pair: wp.array(dtype=wp.int32)
    row: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)


def make_patterns(kinds: Sequence[Elimination], kind: np.ndarray, device: Any) -> Patterns:
    """The eliminations of matrices on a device.

    Args:
        kinds: Eliminations.
        kind: Which of them is that of every matrix, int32 (m,).
        device: Where the arrays go.
    """
    patterns = Patterns()
    size, blocks = [np.asarray([len(getattr(e, name)) for e in kinds], np.int32) for name in ("order", "row")]
    kind = np.asarray(kind, np.int32)
    values = {"kind": kind, "size": size, "blocks": blocks, "node": _starts(size[kind]), "block": _starts(blocks[kind])}
    for start, name in (("of_place", "side"), ("of_column", "column"), ("of_column", "pair"), ("of_block", "row"),
                        ("of_target", "target")):  # fmt: skip
        parts = [getattr(e, name) for e in kinds]
        values[start] = _starts(np.asarray([len(p) for p in parts], np.int32))
        values[name] = np.concatenate([np.zeros(0, np.int32), *parts])
    for name, array in values.items():
        setattr(patterns, name, wp.array(array.astype(np.int32), dtype=wp.int32, device=device))
    return patterns


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)

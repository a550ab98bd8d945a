"""Colouring of a graph: nodes of one colour share no edge, so they can be updated at the same time."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import warp as wp

__all__ = ["ColoringAlgorithm", "color_graph", "find_conflict", "groups_of", "merge_groups", "pairs_of"]


class ColoringAlgorithm(IntEnum):
    """How the nodes are ordered before each takes the smallest free colour."""

    MCS = 0
    GREEDY = 1


def pairs_of(stencils: np.ndarray) -> np.ndarray:
    """All pairs of particles within stencils (n, size), shape (m, 2); unsorted, with repetitions."""
    size = stencils.shape[1]
    a, b = np.triu_indices(size, 1)
    return stencils[:, np.stack([a, b], axis=1)].reshape(-1, 2)


def _unique_edges(pairs: np.ndarray, count: int) -> np.ndarray:
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs >= 0).all(axis=1)]
    key = np.unique(pairs.min(axis=1).astype(np.int64) * count + pairs.max(axis=1))
    return np.stack([key // count, key % count], axis=1).astype(np.int32)


def color_graph(
    count: int,
    pairs: np.ndarray,
    balance: bool = True,
    target_ratio: float = 1.1,
    algorithm: ColoringAlgorithm = ColoringAlgorithm.MCS,
) -> list[np.ndarray]:
    """Colour ``count`` nodes so that no pair shares a colour.

    Args:
        count: Number of nodes.
        pairs: Edges, shape (m, 2); repetitions, loops and negative entries are ignored.
        balance: Even out the sizes of the groups.
        target_ratio: Largest over smallest group at which balancing stops.
        algorithm: Order in which nodes are coloured.

    Returns:
        One int32 array of nodes per colour, every node in exactly one. Without edges, one group of all nodes.
    """
    if count == 0:
        return []
    edges = _unique_edges(np.asarray(pairs).reshape(-1, 2), count)
    if len(edges) == 0:
        return [np.arange(count, dtype=np.int32)]
    colors = wp.zeros(count, dtype=wp.int32, device="cpu")
    edges = wp.array(edges, dtype=wp.int32, ndim=2, device="cpu")
    used = wp.utils.graph_coloring_assign(edges, colors, wp.utils.GraphColoringAlgorithm(int(algorithm)))
    if balance and used > 1:
        wp.utils.graph_coloring_balance(edges, colors, used, target_ratio)
    return groups_of(colors.numpy(), used)


def groups_of(colors: np.ndarray, used: int) -> list[np.ndarray]:
    """The nodes of each colour in increasing order, from the colour of each node."""
    order = np.argsort(colors, kind="stable").astype(np.int32)
    bounds = np.searchsorted(colors[order], np.arange(used + 1))
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
    for a, b in zip(*np.triu_indices(stencils.shape[1], 1), strict=True):
        i, j = stencils[:, a], stencils[:, b]
        rows = np.flatnonzero((colors[i] == colors[j]) & (i != j))
        if len(rows):
            return int(rows[0]), int(i[rows[0]]), int(j[rows[0]])
    return None

"""Pairs of boxes that overlap (NumPy): a grid for every power of two of their sizes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["box_pairs", "triangle_boxes"]

_PAIRS = 1 << 20
"""Candidates that are treated at a time."""

_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])


def triangle_boxes(corners: np.ndarray) -> np.ndarray:
    """Bounds (2, n, 3) of elements with ``corners`` (n, k, 3)."""
    return np.stack([corners.min(axis=1), corners.max(axis=1)])


def box_pairs(first: np.ndarray, second: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """Pairs of axis-aligned boxes that overlap or touch, some at a time, each once.

    A box of size up to 2^k lies in at most two cells of size 2^k along every axis. Boxes of that size are looked up by all boxes that are
    not larger; a pair counts in the one cell that holds the lower corner of what both boxes cover.

    Args:
        first: Lower and upper corners, shape (2, n, 3), finite.
        second: The same of other boxes; None: pairs i < j within ``first``.

    Yields:
        Indices into ``first`` and ``second``, shape (k, 2), in no particular order.
    """
    boxes = first if second is None else np.concatenate([first, second], axis=1)
    count = first.shape[1]
    if boxes.shape[1] == 0 or (second is not None and second.shape[1] == 0):
        return
    side = np.arange(boxes.shape[1]) >= count
    level, base = _levels(boxes)
    origin = boxes[0].min(axis=0)
    for k in np.unique(level):
        grid = _Grid(boxes, origin, base * 2.0**k * (1.0 + 1.0e-9))  # rounding does not put a box into a third cell
        at, below = level == k, level <= k
        if second is None:
            yield from grid.join(np.flatnonzero(at), np.flatnonzero(below), level)
            continue
        yield from (p - (0, count) for p in grid.join(np.flatnonzero(at & side), np.flatnonzero(below & ~side), None))
        yield from (
            p[:, ::-1] - (0, count) for p in grid.join(np.flatnonzero(at & ~side), np.flatnonzero((level < k) & side), None)
        )


def _levels(boxes: np.ndarray) -> tuple[np.ndarray, float]:
    """The power of two of the cell that every box fits into, over the size of the smallest cell."""
    extent = (boxes[1] - boxes[0]).max(axis=1)
    whole = float((boxes[1].max(axis=0) - boxes[0].min(axis=0)).max())
    base = max(float(np.median(extent)), whole * 2.0**-20) or 1.0
    return np.ceil(np.log2(np.maximum(extent / base, 1.0))).astype(int), base


class _Grid:
    """Cells of one size."""

    def __init__(self, boxes: np.ndarray, origin: np.ndarray, size: float):
        self.lower = boxes[0]
        self.upper = boxes[1]
        self.cell = np.floor((boxes - origin) / size).astype(np.int64)
        self.strides = np.cumprod(np.append(1, self.cell[1].max(axis=0)[:-1] + 2))

    def cells(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every cell that the boxes lie in, as a number, and which row it belongs to."""
        keys, owners = [], []
        for corner in _CORNERS:
            own = (self.cell[0][rows] + corner <= self.cell[1][rows]).all(axis=1)
            keys.append((self.cell[0][rows[own]] + corner) @ self.strides)
            owners.append(rows[own])
        return np.concatenate(keys), np.concatenate(owners)

    def join(self, table: np.ndarray, queries: np.ndarray, level: np.ndarray | None) -> Iterator[np.ndarray]:
        """Pairs (query, entry of the table); with ``level``, both are of one set and a pair is listed as i < j."""
        if not len(table) or not len(queries):
            return
        keys, entries = self.cells(table)
        order = np.argsort(keys, kind="stable")
        keys, entries = keys[order], entries[order]
        wanted, owners = self.cells(queries)
        begin = np.searchsorted(keys, wanted, "left")
        count = np.searchsorted(keys, wanted, "right") - begin
        used = count > 0
        wanted, owners, begin, count = wanted[used], owners[used], begin[used], count[used]
        total = np.cumsum(count)
        start = 0
        while start < len(count):
            before = total[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(total, before + _PAIRS, "right")))
            yield self._chosen(wanted[start:stop], owners[start:stop], begin[start:stop], count[start:stop], entries, level)
            start = stop

    def _chosen(self, wanted: np.ndarray, owners: np.ndarray, begin: np.ndarray, count: np.ndarray, entries: np.ndarray,
                level: np.ndarray | None) -> np.ndarray:  # fmt: skip
        first = np.repeat(begin - np.cumsum(count) + count, count)
        i, j = np.repeat(owners, count), entries[first + np.arange(int(count.sum()))]
        if level is not None:  # equals meet twice
            kept = (level[i] < level[j]) | (i < j)
            i, j, wanted = i[kept], j[kept], np.repeat(wanted, count)[kept]
        else:
            wanted = np.repeat(wanted, count)
        kept = np.ones(len(i), bool)
        for axis in range(3):
            kept &= (self.lower[i, axis] <= self.upper[j, axis]) & (self.lower[j, axis] <= self.upper[i, axis])
        i, j, wanted = i[kept], j[kept], wanted[kept]
        kept = np.maximum(self.cell[0][i], self.cell[0][j]) @ self.strides == wanted
        pairs = np.stack([i[kept], j[kept]], axis=1)
        return np.sort(pairs, axis=1) if level is not None else pairs

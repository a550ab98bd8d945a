"""Search for pairs on a surface: the trees over its features, the buffers for what is found, and the launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.self_contact import (
    EDGE_EDGE,
    VERTEX_TRIANGLE,
    Candidates,
    PairKind,
    Pairs,
    Reach,
    make_pair_kernels,
)
from hooke.collision.surface import PairFilter, Surface
from hooke.execution.work import FEW
from hooke.geometry.box_tree import BoxTree, fit_leaves, merge_boxes
from hooke.math import LANES, Lanes

__all__ = ["PairPool", "PairSearch", "SurfaceTrees"]

ROOM = 1.5
"""What a buffer gets that was too small, as a multiple of what was needed."""


class SurfaceTrees:
    """Trees over the vertices, edges and triangles of a surface.

    Args:
        surface: The surface.
        index: Index of every particle in the arrays that boxes are fitted to.
        worlds: Number of worlds.
        nobody: Index of a corner without place.
        device: Where the arrays live.
    """

    def __init__(self, surface: Surface, index: np.ndarray, worlds: int, nobody: int, device: Any):
        self.vertices, self.edges, self.triangles = (
            BoxTree(corners, index[corners], world, worlds, nobody, device)
            for corners, world in zip((surface.vertices, surface.edges, surface.triangles), surface.worlds, strict=True)
        )

    def sort(self, x: wp.array) -> None:
        """Build the trees anew for positions ``x`` [m] of the particles."""
        for tree in (self.vertices, self.edges, self.triangles):
            tree.sort(x)

    def fit(self, reach: Reach, wanted: wp.array, recorder: Any) -> None:
        """Fit the boxes to where every index may go; nothing happens where ``wanted``, shape (1,), is 0."""
        for tree in (self.vertices, self.edges, self.triangles):
            tree.fit(reach.low, reach.high, wanted, recorder)
        self.edges.merge(wanted, recorder)
        self.triangles.merge(wanted, recorder)


class PairPool:
    """Buffers for one kind of pairs.

    Args:
        kind: The kind.
        query: The tree that asks.
        room: Pairs to make room for.
        device: Where the arrays live.

    Attributes:
        candidates: What the boxes left.
        pairs: What is near enough.
    """

    def __init__(self, kind: PairKind, query: BoxTree, room: int, device: Any):
        self.kind, self.device = kind, wp.get_device(device)
        self._features, self._leaves = max(query.count, 1), max(query.leaves, 1)
        self.counters = wp.zeros(2 * self._features + 1, dtype=wp.int32, device=device)  # one array, to be cleared at once
        self.kernels = make_pair_kernels(kind)
        self._room = [0, 0]
        self._reserve(3 * room, room)

    def _reserve(self, candidates: int, pairs: int) -> None:
        """Make room; what is in there is dropped."""
        device = self.device
        if candidates > self._room[0]:
            self._room[0] = candidates
            found = self.candidates = Candidates()
            for name in ("query", "target", "acts"):  # the last are read sixteen at a time
                setattr(found, name, wp.zeros(candidates + LANES, dtype=wp.int32, device=device)[:candidates])
            for name, length in (("start", self._leaves), ("kept", self._leaves), ("end", self._features)):
                setattr(found, name, wp.zeros(length, dtype=wp.int32, device=device))
            found.number, found.filled = self.counters[: self._features], self.counters[self._features : -1]
            found.total = self.counters[-1:]
            self._found = self._look()
        if pairs > self._room[1]:
            groups = -(-pairs // LANES)
            self._room[1] = LANES * groups
            self.pairs = Pairs()
            for name, length in (("query", 1), ("target", 1), ("acts", 1), ("corner", 4)):
                setattr(self.pairs, name, wp.zeros(LANES * groups * length, dtype=wp.int32, device=device))
            for name, rows in (("distance", 1), ("weight", 2)):
                setattr(self.pairs, name, wp.zeros(LANES * groups * rows, dtype=wp.float32, device=device))
            for name in ("gap", "band"):
                setattr(self.pairs, name, wp.zeros(groups, dtype=Lanes, device=device))
            for name, rows in (("normal", 3), ("offset", 4), ("shift", 4)):
                setattr(self.pairs, name, wp.zeros((groups, rows), dtype=Lanes, device=device))

    @property
    def room(self) -> int:
        """Pairs that there is room for."""
        return self._room[1]

    @property
    def groups(self) -> int:
        """Groups of 16 pairs that there is room for."""
        return self._room[1] // LANES

    def needed(self) -> tuple[int, int]:
        """Candidates and pairs found by the last search; the latter counts only what there was room to look at. Reads the device."""
        total, end = self._found if self.device.is_cpu else self._look()
        return int(total[0]), int(end[-1])

    def _look(self) -> tuple[np.ndarray, np.ndarray]:
        """Counts of the last search; on a CPU they follow the next ones."""
        return self.candidates.total.numpy(), self.candidates.end.numpy()

    def shortage(self) -> tuple[int, int] | None:
        """What the last search needed and had, if that was too little; None if not. Reads the device."""
        for needed, room in zip(self.needed(), self._room, strict=True):
            if needed > room:
                return needed, room
        return None

    def grow(self) -> bool:
        """Make room for what the last search found; whether it had too little."""
        candidates, pairs = self.needed()
        if candidates <= self._room[0] and pairs <= self._room[1]:
            return False
        self._reserve(
            int(ROOM * candidates) if candidates > self._room[0] else 0, int(ROOM * pairs) if pairs > self._room[1] else 0
        )
        return True


class PairSearch:
    """Both kinds of pairs of a surface.

    Args:
        trees: Trees over the surface.
        pair_filter: Pairs that are left out.
        parallel: Squared sine of the angle at which edges count as parallel.
        room: Vertex-triangle and edge-edge pairs to make room for at first.
        device: Where the arrays live.
    """

    def __init__(self, trees: SurfaceTrees, pair_filter: PairFilter, parallel: float, room: tuple[int, int], device: Any):
        self.trees, self._filter, self._parallel = trees, pair_filter, parallel
        self.vertex_triangle = PairPool(VERTEX_TRIANGLE, trees.vertices, room[0], device)
        self.edge_edge = PairPool(EDGE_EDGE, trees.edges, room[1], device)
        self.any_mover = wp.ones(1, dtype=wp.int32, device=device)

    @property
    def pools(self) -> tuple[PairPool, PairPool]:
        """The buffers of both kinds."""
        return self.vertex_triangle, self.edge_edge

    def grow(self) -> bool:
        """Make room for what the last search found; whether it had too little. Reads the device."""
        grown = [pool.grow() for pool in self.pools]
        return any(grown)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a search launches."""
        return [fit_leaves, merge_boxes, *(kernel for pool in self.pools for kernel in pool.kernels)]

    def run(self, reach: Reach, recorder: Any) -> None:
        """Find the pairs of what ``reach`` says; launches only. Nothing is found while ``any_mover`` is 0."""
        trees = self.trees
        trees.fit(reach, self.any_mover, recorder)
        self._run(self.vertex_triangle, trees.vertices, trees.triangles, reach, recorder)
        self._run(self.edge_edge, trees.edges, trees.edges, reach, recorder)
        self.separate(reach, recorder)

    def separate(self, reach: Reach, recorder: Any) -> None:
        """Find the separators of the pairs where ``reach`` says that they are."""
        for pool in self.pools:
            inputs = [pool.candidates, reach, self._parallel]
            recorder.launch(pool.kernels[-1], pool.groups, inputs, [pool.pairs])

    def _run(self, pool: PairPool, query: BoxTree, target: BoxTree, reach: Reach, recorder: Any) -> None:
        found, pairs = pool.candidates, pool.pairs
        find_pairs, place_pairs, sort_pairs, _separate_pairs = pool.kernels
        recorder.alone(pool.counters.zero_)
        inputs = [query.view, target.view, int(query is target), reach, self._filter, self._parallel, self.any_mover]
        recorder.launch(find_pairs, query.leaves, inputs, [found])
        recorder.alone(wp.utils.array_scan, found.number, found.end)
        recorder.launch(place_pairs, query.leaves, [query.view, target.view], [found, pairs], grain=FEW)
        recorder.launch(sort_pairs, query.count, [query.view, target.view, found], [pairs], grain=FEW)

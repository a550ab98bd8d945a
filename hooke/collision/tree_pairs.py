"""A broad phase that searches a tree of boxes for every world, and asks infinite planes, which no box holds, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.broad_phase import ROOM, BroadPhase, ShapePairs, sort_numbers, write_pair
from hooke.collision.places import Places, ShapeFilter, may_collide, owner_of, plane_meets
from hooke.execution.flags import lane_options
from hooke.execution.reading import CountReader
from hooke.execution.work import FEW, SOME, Work, first_item, next_item
from hooke.geometry.box_tree import BoxTree, TreeView, fit_leaves, merge_boxes, visit_tree
from hooke.math import take_number
from hooke.model.tables import Bodies, Shapes

__all__ = ["TreePairs"]


@wp.struct
class Candidates:
    """Slots of a tree whose boxes meet, then owners and others of pairs: of leaf g the first ``kept[g]`` from ``start[g]`` on."""

    query: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    start: wp.array(dtype=wp.int32)
    kept: wp.array(dtype=wp.int32)
    total: wp.array(dtype=wp.int32)


@wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
def find_tree_pairs(
    work: Work, tree: TreeView, shapes: Shapes, bodies: Bodies, filters: ShapeFilter, found: ShapePairs,
    candidates: Candidates,
):  # fmt: skip
    """The pairs of every leaf, put in front of its candidates, and counted by owner."""
    g = first_item(work, wp.tid())
    while g >= 0:
        count = visit_tree(tree, g, tree, 1, candidates.start, candidates.total, candidates.query, candidates.target)
        start = candidates.start[g]
        kept = int(0)
        for n in range(start, start + count):
            i = tree.corner[candidates.query[n]]
            j = tree.corner[candidates.target[n]]
            if may_collide(i, j, shapes, bodies, filters):
                owner = owner_of(i, j, shapes, filters)
                candidates.query[start + kept] = owner
                candidates.target[start + kept] = i + j - owner
                take_number(owner, found.number)
                kept += 1
        candidates.kept[g] = kept
        g = next_item(work, g)


@wp.kernel(enable_backward=False)
def find_plane_pairs(
    work: Work, writes: int, shapes: Shapes, bodies: Bodies, filters: ShapeFilter, places: Places, found: ShapePairs
):  # fmt: skip
    """The pairs of a shape with infinite planes: they are counted, or written."""
    i = first_item(work, wp.tid())
    while i >= 0:
        w = shapes.world[i]
        if w < 0:
            w = filters.plane_start.shape[0] - 2
        for c in range(filters.plane_start[w], filters.plane_start[w + 1]):
            p = filters.plane[c]
            if plane_meets(p, i, shapes, places) and may_collide(i, p, shapes, bodies, filters):
                owner = owner_of(i, p, shapes, filters)
                if writes == 0:
                    take_number(owner, found.number)
                else:
                    k = found.end[owner] - found.number[owner] + take_number(owner, found.filled)
                    write_pair(k, owner, i + p - owner, found)
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def place_pairs(work: Work, candidates: Candidates, found: ShapePairs):
    """The pairs of every owner behind each other, in no order yet."""
    g = first_item(work, wp.tid())
    while g >= 0:
        for n in range(candidates.start[g], candidates.start[g] + candidates.kept[g]):
            owner = candidates.query[n]
            k = found.end[owner] - found.number[owner] + take_number(owner, found.filled)
            write_pair(k, owner, candidates.target[n], found)
        g = next_item(work, g)


@wp.kernel(enable_backward=False)
def sort_pairs(work: Work, room: int, found: ShapePairs):
    """The pairs of every owner in the order of the other shape, however the trees are sorted."""
    s = first_item(work, wp.tid())
    while s >= 0:
        end = wp.min(found.end[s], room)
        sort_numbers(wp.min(found.end[s] - found.number[s], end), end, found.other)
        s = next_item(work, s)


class TreePairs(BroadPhase):
    """Trees of boxes; arguments as :class:`BroadPhase` without the number, and the worlds' number behind the places."""

    name = "sap"
    kernels = (find_tree_pairs, find_plane_pairs, place_pairs, sort_pairs, fit_leaves, merge_boxes)

    def __init__(self, tables: Any, filters: ShapeFilter, places: Places, worlds: int, room: int, device: Any):
        super().__init__(tables, filters, places, tables["shape"].count, room, device)
        count = tables["shape"].count
        boxed = np.flatnonzero(filters.infinite.numpy() == 0).reshape(-1, 1)
        world = tables["shape"].arrays["world"].numpy()[boxed[:, 0]]
        self.tree = BoxTree(boxed, boxed, world, worlds, count, device)
        self._planes = int(filters.plane.shape[0])
        self._wanted = wp.ones(1, dtype=wp.int32, device=device)
        self._met = CountReader()
        candidates = self.candidates = Candidates()
        candidates.start = wp.zeros(max(self.tree.leaves, 1), dtype=wp.int32, device=device)
        candidates.kept = wp.zeros(max(self.tree.leaves, 1), dtype=wp.int32, device=device)
        candidates.total = self._counters[2 * count :]
        self._reserve_candidates(max(2 * room, 1))

    def _reserve_candidates(self, room: int) -> None:
        self._candidate_room = room
        for name in ("query", "target"):
            setattr(self.candidates, name, wp.zeros(room, dtype=wp.int32, device=self.device))

    def grow(self) -> bool:
        needed = self._met.read(self.candidates.total)
        if needed > self._candidate_room:  # some leaves found nothing, so the number of pairs is not known yet
            self._reserve_candidates(int(ROOM * needed))
            super().grow()
            return True
        return super().grow()

    @property
    def boxes(self) -> tuple[wp.array, int]:
        return self.candidates.total, self._candidate_room

    @property
    def version(self) -> tuple[int, ...]:
        return self.room, self._candidate_room

    def shortages(self) -> list[tuple[str, int, int]]:
        return [*super().shortages(), ("pairs of boxes", int(self.candidates.total.numpy()[0]), self._candidate_room)]

    def sort(self, recorder: Any) -> None:
        self.tree.sort(self.places.center)

    def run(self, recorder: Any) -> None:
        tree, count = self.tree, self._shapes.count
        tree.fit(self.places.low, self.places.high, self._wanted, recorder)
        tree.merge(self._wanted, recorder)
        recorder.alone(self._counters.zero_)
        recorder.launch(find_tree_pairs, tree.leaves, [tree.view, *self.tested], [self.pairs, self.candidates], grain=SOME)
        if self._planes:
            recorder.launch(find_plane_pairs, count, [0, *self.tested, self.places], [self.pairs], grain=SOME)
        recorder.alone(wp.utils.array_scan, self.pairs.number, self.pairs.end)
        recorder.launch(place_pairs, tree.leaves, [self.candidates], [self.pairs], grain=FEW)
        if self._planes:
            recorder.launch(find_plane_pairs, count, [1, *self.tested, self.places], [self.pairs], grain=SOME)
        recorder.launch(sort_pairs, count, [self.room], [self.pairs], grain=FEW)

"""The broad phase: pairs of shapes whose boxes meet, in an order that depends on nothing but the data.

Every pair has an owner (:func:`hooke.collision.places.owner_of`); pairs are counted by owner, summed, and written, those of an owner in
the order of the other shape. Four ways to find them: a list of pairs that is gone through, all shapes against all of their world, and
a tree of boxes for every world (with the infinite planes, which no box holds, asked one by one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.places import Places, ShapeFilter, boxes_meet, is_idle, may_collide, owner_of, plane_meets
from hooke.execution.flags import lane_options
from hooke.execution.work import FEW, SOME, Work, first_item, next_item
from hooke.geometry.box_tree import BoxTree, TreeView, fit_leaves, merge_boxes, visit_tree
from hooke.math import take_number
from hooke.model.tables import Bodies, Shapes

__all__ = ["AllPairs", "BroadPhase", "ListedPairs", "ShapePairs", "TreePairs"]

ROOM = 1.5
"""What a buffer gets that was too small, as a multiple of what was needed."""
SMALL = wp.constant(24)
"""Shapes that are sorted by insertion."""


@wp.struct
class ShapePairs:
    """Pairs of shapes: ``owner`` and ``other``. The last entry of ``end`` is the number that was found.

    ``number`` counts what each owner (or place in a list) has, with running sum ``end``; ``filled`` what is written already.
    """

    owner: wp.array(dtype=wp.int32)
    other: wp.array(dtype=wp.int32)
    number: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    filled: wp.array(dtype=wp.int32)


@wp.struct
class Candidates:
    """Slots of a tree whose boxes meet, then owners and others of pairs: of leaf g the first ``kept[g]`` from ``start[g]`` on."""

    query: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    start: wp.array(dtype=wp.int32)
    kept: wp.array(dtype=wp.int32)
    total: wp.array(dtype=wp.int32)


@wp.func
def sift(begin: int, count: int, root: int, values: wp.array(dtype=wp.int32)):
    """Let a number sink in a heap of ``count`` numbers."""
    value = values[begin + root]
    at = root
    child = 2 * at + 1
    while child < count:
        if child + 1 < count and values[begin + child + 1] > values[begin + child]:
            child += 1
        if values[begin + child] > value:
            values[begin + at] = values[begin + child]
            at = child
            child = 2 * at + 1
        else:
            child = count
    values[begin + at] = value


@wp.func
def sort_numbers(begin: int, end: int, values: wp.array(dtype=wp.int32)):
    """Sort some numbers: by insertion if they are few, else as a heap."""
    count = end - begin
    if count <= SMALL:
        for n in range(begin + 1, end):
            value = values[n]
            k = n - 1
            while k >= begin and values[wp.max(k, 0)] > value:
                values[k + 1] = values[k]
                k -= 1
            values[k + 1] = value
    else:
        for n in range(count // 2):
            sift(begin, count, count // 2 - 1 - n, values)
        for n in range(count - 1):
            last = begin + count - 1 - n
            value = values[begin]
            values[begin] = values[last]
            values[last] = value
            sift(begin, count - 1 - n, 0, values)


@wp.func
def write_pair(k: int, owner: int, other: int, found: ShapePairs):
    if k < found.owner.shape[0]:
        found.owner[k] = owner
        found.other[k] = other


@wp.func
def meets(i: int, j: int, shapes: Shapes, filters: ShapeFilter, places: Places):
    """Whether the boxes of two shapes meet, either of which may be an infinite plane."""
    if filters.infinite[j] != 0:
        return plane_meets(j, i, shapes, places)
    if filters.infinite[i] != 0:
        return plane_meets(i, j, shapes, places)
    return boxes_meet(i, j, places)


# ---- a list of pairs


@wp.kernel(enable_backward=False)
def test_pairs(
    work: Work, pairs: wp.array(dtype=wp.vec2i), shapes: Shapes, bodies: Bodies, filters: ShapeFilter, places: Places,
    found: ShapePairs,
):  # fmt: skip
    p = first_item(work, wp.tid())
    while p >= 0:
        i = pairs[p][0]
        j = pairs[p][1]
        near = meets(i, j, shapes, filters, places)
        if filters.idle == 0 and is_idle(i, shapes, bodies) and is_idle(j, shapes, bodies):
            near = False
        found.number[p] = wp.where(near, 1, 0)
        p = next_item(work, p)


@wp.kernel(enable_backward=False)
def write_pairs(work: Work, pairs: wp.array(dtype=wp.vec2i), found: ShapePairs):
    p = first_item(work, wp.tid())
    while p >= 0:
        if found.number[p] != 0:
            write_pair(found.end[p] - 1, pairs[p][0], pairs[p][1], found)
        p = next_item(work, p)


# ---- all with all


@wp.kernel(enable_backward=False)
def find_all_pairs(
    work: Work, writes: int, shapes: Shapes, bodies: Bodies, filters: ShapeFilter, places: Places, found: ShapePairs
):  # fmt: skip
    """The pairs that a shape owns: they are counted, or written."""
    i = first_item(work, wp.tid())
    while i >= 0:
        count = int(0)
        if writes == 0 or found.number[i] > 0:
            begin = found.end[i] - found.number[i]
            w = shapes.world[i]
            if w < 0:
                w = filters.met_start.shape[0] - 2
            for c in range(filters.met_start[w], filters.met_start[w + 1]):
                j = filters.met[c]
                if i != j and meets(i, j, shapes, filters, places) and owner_of(i, j, shapes, filters) == i:
                    if may_collide(i, j, shapes, bodies, filters):
                        if writes != 0:
                            write_pair(begin + count, i, j, found)
                        count += 1
            for c in range(filters.plane_start[w], filters.plane_start[w + 1]):
                j = filters.plane[c]
                if filters.infinite[i] == 0 and owner_of(i, j, shapes, filters) == i:
                    if plane_meets(j, i, shapes, places) and may_collide(i, j, shapes, bodies, filters):
                        if writes != 0:
                            write_pair(begin + count, i, j, found)
                        count += 1
        if writes == 0:
            found.number[i] = count
        elif count > 0:
            sort_numbers(
                wp.min(found.end[i] - count, found.other.shape[0]), wp.min(found.end[i], found.other.shape[0]), found.other
            )
        i = next_item(work, i)


# ---- trees


@wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
def find_tree_pairs(
    work: Work, tree: TreeView, shapes: Shapes, bodies: Bodies, filters: ShapeFilter, number: wp.array(dtype=wp.int32),
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
                take_number(owner, number)
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


class BroadPhase:
    """What every way to find pairs has.

    Args:
        tables: Tables of the model.
        filters: Which shapes may collide.
        places: Where they stand; written before :meth:`run`.
        counted: Number of owners, or of entries of a list.
        room: Pairs to make room for at first.
        device: Where the arrays live.

    Attributes:
        pairs: What was found.
    """

    name = ""
    kernels: tuple[Any, ...] = ()

    def __init__(self, tables: Any, filters: ShapeFilter, places: Places, counted: int, room: int, device: Any):
        self.device, self.filters, self.places = device, filters, places
        self._shapes, self._bodies = tables["shape"], tables["body"]
        counted = max(counted, 1)  # kernels read the last sum
        pairs = self.pairs = ShapePairs()
        self._counters = wp.zeros(2 * counted + 1, dtype=wp.int32, device=device)  # one array, to be cleared at once
        pairs.number, pairs.filled = self._counters[:counted], self._counters[counted : 2 * counted]
        pairs.end = wp.zeros(counted, dtype=wp.int32, device=device)
        self._reserve(max(room, 1))

    def _reserve(self, room: int) -> None:
        self.room = room
        self.pairs.owner = wp.zeros(room, dtype=wp.int32, device=self.device)
        self.pairs.other = wp.zeros(room, dtype=wp.int32, device=self.device)

    @property
    def tested(self) -> list[Any]:
        """What kernels take to know which shapes collide."""
        return [self._shapes.struct, self._bodies.struct, self.filters]

    def needed(self) -> int:
        """Pairs that the last pass found. Reads the device."""
        return int(self.pairs.end[-1:].numpy()[0])

    def grow(self) -> bool:
        """Make room for what the last pass found; whether it had too little. Reads the device."""
        needed = self.needed()
        if needed <= self.room:
            return False
        self._reserve(int(ROOM * needed))
        return True

    @property
    def boxes(self) -> tuple[wp.array, int]:
        """Number of pairs of boxes that the last pass found, int32 (1,), and what there is room for; none where none are stored."""
        return self._counters[-1:], self.room

    @property
    def version(self) -> tuple[int, ...]:
        """Sizes of the buffers: recorded launches belong to them."""
        return (self.room,)

    def shortages(self) -> list[tuple[str, int, int]]:
        """Name, need in the last pass and room of every buffer. Reads the device."""
        return [("pairs of shapes", self.needed(), self.room)]

    def sort(self, recorder: Any) -> None:
        """Put the shapes in an order that is quick to search; places are known."""

    def run(self, recorder: Any) -> None:
        """Find the pairs; launches only."""
        raise NotImplementedError


class ListedPairs(BroadPhase):
    """Pairs of a list, which is in the order of owners and others.

    Args:
        listed: The list (n, 2) of pairs (owner, other).
        *rest: As :class:`BroadPhase` from ``tables`` on, without the number.
    """

    name = "explicit"
    kernels = (test_pairs, write_pairs)

    def __init__(self, listed: np.ndarray, tables: Any, filters: ShapeFilter, places: Places, room: int, device: Any):
        super().__init__(tables, filters, places, len(listed), room, device)
        self._listed = wp.array(listed.astype(np.int32).reshape(-1, 2), dtype=wp.vec2i, device=device)

    def run(self, recorder: Any) -> None:
        recorder.launch(test_pairs, len(self._listed), [self._listed, *self.tested, self.places], [self.pairs])
        recorder.alone(wp.utils.array_scan, self.pairs.number, self.pairs.end)
        recorder.launch(write_pairs, len(self._listed), [self._listed], [self.pairs], grain=FEW)


class AllPairs(BroadPhase):
    """All shapes with all of their world; arguments as :class:`BroadPhase` without the number."""

    name = "nxn"
    kernels = (find_all_pairs,)

    def __init__(self, tables: Any, filters: ShapeFilter, places: Places, room: int, device: Any):
        super().__init__(tables, filters, places, tables["shape"].count, room, device)

    def run(self, recorder: Any) -> None:
        count = self._shapes.count
        recorder.launch(find_all_pairs, count, [0, *self.tested, self.places], [self.pairs])
        recorder.alone(wp.utils.array_scan, self.pairs.number, self.pairs.end)
        recorder.launch(find_all_pairs, count, [1, *self.tested, self.places], [self.pairs])


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
        needed = int(self.candidates.total.numpy()[0])
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
        recorder.launch(find_tree_pairs, tree.leaves, [tree.view, *self.tested, self.pairs.number], [self.candidates], grain=SOME)
        if self._planes:
            recorder.launch(find_plane_pairs, count, [0, *self.tested, self.places], [self.pairs], grain=SOME)
        recorder.alone(wp.utils.array_scan, self.pairs.number, self.pairs.end)
        recorder.launch(place_pairs, tree.leaves, [self.candidates], [self.pairs], grain=FEW)
        if self._planes:
            recorder.launch(find_plane_pairs, count, [1, *self.tested, self.places], [self.pairs], grain=SOME)
        recorder.launch(sort_pairs, count, [self.room], [self.pairs], grain=FEW)

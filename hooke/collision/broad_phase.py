"""The broad phase: pairs of shapes whose boxes meet, in an order that depends on nothing but the data.

Every pair has an owner (:func:`hooke.collision.places.owner_of`); pairs are counted by owner, summed, and written, those of an owner in
the order of the other shape. Four ways to find them: a list of pairs that is gone through, all shapes against all of their world, and
a tree of boxes for every world (with the infinite planes, which no box holds, asked one by one).
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.places import Places, ShapeFilter, boxes_meet, plane_meets
from hooke.execution.reading import CountReader
from hooke.model.tables import Shapes

__all__ = ["ROOM", "BroadPhase", "ShapePairs", "meets", "sort_numbers", "write_pair"]

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
        self._found = CountReader()
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
        return self._found.read(self.pairs.end)

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

"""A broad phase that asks all shapes of a world about each other."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.broad_phase import BroadPhase, ShapePairs, meets, sort_numbers, write_pair
from hooke.collision.places import Places, ShapeFilter, may_collide, owner_of, plane_meets
from hooke.execution.work import Work, first_item, next_item
from hooke.model.tables import Bodies, Shapes

__all__ = ["AllPairs"]


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

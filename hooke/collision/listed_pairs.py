"""A broad phase that goes through a list of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.broad_phase import BroadPhase, ShapePairs, meets, write_pair
from hooke.collision.places import Places, ShapeFilter, is_idle
from hooke.execution.work import FEW, Work, first_item, next_item
from hooke.model.tables import Bodies, Shapes

__all__ = ["ListedPairs"]


@wp.struct
class Listed:
    """The list: (owner, other) in order."""

    pairs: wp.array(dtype=wp.vec2i)


@wp.kernel(enable_backward=False)
def test_pairs(
    work: Work, listed: Listed, shapes: Shapes, bodies: Bodies, filters: ShapeFilter, places: Places,
    found: ShapePairs,
):  # fmt: skip
    p = first_item(work, wp.tid())
    while p >= 0:
        i = listed.pairs[p][0]
        j = listed.pairs[p][1]
        near = meets(i, j, shapes, filters, places)
        if filters.idle == 0 and is_idle(i, shapes, bodies) and is_idle(j, shapes, bodies):
            near = False
        found.number[p] = wp.where(near, 1, 0)
        p = next_item(work, p)


@wp.kernel(enable_backward=False)
def write_pairs(work: Work, listed: Listed, found: ShapePairs):
    p = first_item(work, wp.tid())
    while p >= 0:
        if found.number[p] != 0:
            write_pair(found.end[p] - 1, listed.pairs[p][0], listed.pairs[p][1], found)
        p = next_item(work, p)


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
        self._listed, self._count = Listed(), len(listed)
        self._listed.pairs = wp.array(listed.astype(np.int32).reshape(-1, 2), dtype=wp.vec2i, device=device)

    def run(self, recorder: Any) -> None:
        recorder.launch(test_pairs, self._count, [self._listed, *self.tested, self.places], [self.pairs])
        recorder.alone(wp.utils.array_scan, self.pairs.number, self.pairs.end)
        recorder.launch(write_pairs, self._count, [self._listed], [self.pairs], grain=FEW)

"""Which contact of a pass is which of the pass before: of the same pair of shapes, near enough, with nearly the same normal.

Contacts of a pair are matched in their order, each with the nearest one that is not taken: no two have the same match. Nearness is
the motion in the world of the midpoint between the two surface points. Sticky contacts keep the points (anchors) of their match, so
that a contact at rest does not creep with the rounding of its detection; what is remembered is then where the anchors stand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.places import Places
from hooke.execution.work import FEW, Work, first_item, next_item
from hooke.model.contacts import Contacts, RigidRows
from hooke.model.tables import Shapes

__all__ = ["ContactMemory", "Memory", "match_pair"]

MODES = ("disabled", "latest", "sticky")
STICKY = wp.constant(2)
NEW_PAIR = wp.constant(-1)
TOO_FAR = wp.constant(-2)


@wp.struct
class Memory:
    """Rows of the pass before, ``number[0]`` of them, in the order of ``owner`` and ``other``; and ``next``, those of this pass.

    ``mode``: 0 for no matching, 1 for the latest, 2 for sticky contacts. A match is nearer than ``distance`` [m], its normals have at
    least the product ``alignment``. ``state`` is 1 for a row that has no match yet, 2 for one that has, 0 for one that was forgotten.
    """

    mode: wp.int32
    distance: wp.float32
    alignment: wp.float32
    number: wp.array(dtype=wp.int32)
    owner: wp.array(dtype=wp.int32)
    other: wp.array(dtype=wp.int32)
    state: wp.array(dtype=wp.int32)
    midpoint: wp.array(dtype=wp.vec3d)
    normal: wp.array(dtype=wp.vec3)
    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    offset0: wp.array(dtype=wp.vec3)
    offset1: wp.array(dtype=wp.vec3)
    next_owner: wp.array(dtype=wp.int32)
    next_other: wp.array(dtype=wp.int32)
    next_midpoint: wp.array(dtype=wp.vec3d)


@wp.struct
class Report:
    """New rows and rows of the pass before that are gone: flags of every row, their running sums, and the lists."""

    is_new: wp.array(dtype=wp.int32)
    new_end: wp.array(dtype=wp.int32)
    is_broken: wp.array(dtype=wp.int32)
    broken_end: wp.array(dtype=wp.int32)
    new_indices: wp.array(dtype=wp.int32)
    broken_indices: wp.array(dtype=wp.int32)
    new_count: wp.array(dtype=wp.int32)
    broken_count: wp.array(dtype=wp.int32)


@wp.func
def first_of_pair(owner: int, other: int, memory: Memory):
    """The first remembered row that does not come before a pair."""
    low = int(0)
    high = memory.number[0]
    while low < high:
        middle = (low + high) // 2
        o = memory.owner[middle]
        if o < owner or (o == owner and memory.other[middle] < other):
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def in_world(s: int, p: wp.vec3, shapes: Shapes, places: Places):
    """A point of the frame of the body of a shape in the world."""
    local = wp.transform_point(wp.transform_inverse(shapes.transform[s]), p)
    return wp.vec3d(places.base[s]) + wp.vec3d(places.arm[s] + wp.quat_rotate(places.rotation[s], local))


@wp.func
def row_midpoint(r: int, shapes: Shapes, places: Places, rows: RigidRows):
    a = in_world(rows.shape0[r], rows.point0[r] + rows.offset0[r], shapes, places)
    b = in_world(rows.shape1[r], rows.point1[r] + rows.offset1[r], shapes, places)
    return wp.float64(0.5) * (a + b)


@wp.func
def nearest_match(first: int, owner: int, other: int, midpoint: wp.vec3d, normal: wp.vec3, memory: Memory):
    """The remembered row that a contact is, or why there is none."""
    best = int(NEW_PAIR)
    least = wp.float64(memory.distance)
    m = first
    while m < memory.number[0] and memory.owner[wp.min(m, memory.owner.shape[0] - 1)] == owner and memory.other[m] == other:
        if memory.state[m] != 0:
            if best == NEW_PAIR:
                best = TOO_FAR
            away = wp.length(midpoint - memory.midpoint[m])
            if memory.state[m] == 1 and away < least and wp.dot(normal, memory.normal[m]) >= memory.alignment:
                least = away
                best = m
        m += 1
    return best


@wp.func
def match_pair(owner: int, other: int, first: int, last: int, shapes: Shapes, places: Places, memory: Memory, rows: RigidRows):
    """Match the rows ``first ... last`` of a pair; sticky ones get their anchors back."""
    begin = first_of_pair(owner, other, memory)
    for r in range(first, last):
        midpoint = row_midpoint(r, shapes, places, rows)
        m = nearest_match(begin, owner, other, midpoint, rows.normal[r], memory)
        rows.match_index[r] = m
        if m >= 0:
            memory.state[m] = 2
            if memory.mode == STICKY:
                rows.point0[r] = memory.point0[m]
                rows.point1[r] = memory.point1[m]
                rows.offset0[r] = memory.offset0[m]
                rows.offset1[r] = memory.offset1[m]
                midpoint = row_midpoint(r, shapes, places, rows)
        memory.next_owner[r] = owner
        memory.next_other[r] = other
        memory.next_midpoint[r] = midpoint


@wp.kernel(enable_backward=False)
def mark_changes(work: Work, found: wp.array(dtype=wp.int32), memory: Memory, rows: RigidRows, report: Report):
    r = first_item(work, wp.tid())
    while r >= 0:
        count = wp.min(found[found.shape[0] - 1], rows.shape0.shape[0])
        report.is_new[r] = 0
        if r < count and rows.match_index[r] < 0:
            report.is_new[r] = 1
        report.is_broken[r] = wp.where(r < memory.number[0] and memory.state[r] == 1, 1, 0)
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def list_changes(work: Work, report: Report):
    r = first_item(work, wp.tid())
    while r >= 0:
        last = report.is_new.shape[0] - 1
        if report.is_new[r] != 0:
            report.new_indices[report.new_end[r] - 1] = r
        if report.is_broken[r] != 0 and report.broken_end[r] <= report.broken_indices.shape[0]:
            report.broken_indices[report.broken_end[r] - 1] = r
        if r == last:
            report.new_count[0] = report.new_end[last]
            report.broken_count[0] = report.broken_end[last]
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def remember_rows(work: Work, found: wp.array(dtype=wp.int32), rows: RigidRows, memory: Memory):
    r = first_item(work, wp.tid())
    while r >= 0:
        count = wp.min(found[found.shape[0] - 1], rows.shape0.shape[0])
        if r < count:
            memory.owner[r] = memory.next_owner[r]
            memory.other[r] = memory.next_other[r]
            memory.midpoint[r] = memory.next_midpoint[r]
            memory.state[r] = 1
            memory.normal[r] = rows.normal[r]
            memory.point0[r] = rows.point0[r]
            memory.point1[r] = rows.point1[r]
            memory.offset0[r] = rows.offset0[r]
            memory.offset1[r] = rows.offset1[r]
        if r == 0:
            memory.number[0] = count
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def forget_rows(shape_world: wp.array(dtype=wp.int32), mask: wp.array(dtype=wp.bool), shared: int, memory: Memory):
    """Forget the rows of some worlds; those of none are row ``shared`` of the mask, if that is not negative."""
    r = wp.tid()
    if r < memory.number[0]:
        w = wp.max(shape_world[memory.owner[r]], shape_world[memory.other[r]])
        if w < 0:
            w = shared
        if w >= 0 and mask[w]:
            memory.state[r] = 0


class ContactMemory:
    """What a pipeline remembers of its last pass.

    Args:
        mode: ``"disabled"``, ``"latest"`` or ``"sticky"``.
        distance: Largest motion [m] of a match.
        alignment: Least product of the normals of a match.
        report: Whether new and broken contacts are listed.
        device: Where the arrays live.

    Attributes:
        room: Rows that it has room for.
    """

    def __init__(self, mode: str, distance: float, alignment: float, report: bool, device: Any):
        self.device, self.reports = device, report
        memory = self.memory = Memory()
        memory.mode, memory.distance, memory.alignment = MODES.index(mode), distance, alignment
        memory.number = wp.zeros(1, dtype=wp.int32, device=device)
        self._report = Report()
        self.room = 0
        if memory.mode:
            self.reserve(1)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that it launches in a pass."""
        return [remember_rows, *([mark_changes, list_changes] if self.reports else [])] if self.memory.mode else []

    def reserve(self, rows: int) -> None:
        """Make room; what is remembered is kept."""
        if not self.memory.mode or rows <= self.room:
            return
        self.room = rows
        for name, annotation in Memory.vars.items():
            if hasattr(annotation.type, "dtype") and name != "number":
                old, new = getattr(self.memory, name), wp.zeros(rows, dtype=annotation.type.dtype, device=self.device)
                if old is not None and old.shape[0]:
                    wp.copy(new, old, count=old.shape[0])
                setattr(self.memory, name, new)
        if self.reports:
            for name in ("is_new", "new_end", "is_broken", "broken_end"):
                setattr(self._report, name, wp.zeros(rows, dtype=wp.int32, device=self.device))

    def run(self, found: wp.array, contacts: Contacts, recorder: Any) -> None:
        """After the rows were written, ``found[-1]`` of them: list what is new and gone, and remember them; launches only."""
        if not self.memory.mode:
            return
        if self.reports:
            report = self._report
            for name in ("new_indices", "broken_indices", "new_count", "broken_count"):
                setattr(report, name, getattr(contacts, f"rigid_contact_{name}"))
            recorder.launch(mark_changes, self.room, [found, self.memory, contacts.rigid_rows], [report], grain=FEW)
            recorder.alone(wp.utils.array_scan, report.is_new, report.new_end)
            recorder.alone(wp.utils.array_scan, report.is_broken, report.broken_end)
            recorder.launch(list_changes, self.room, [], [report], grain=FEW)
        recorder.launch(remember_rows, self.room, [found, contacts.rigid_rows], [self.memory], grain=FEW)

    def forget(self, shape_world: wp.array, worlds: int, mask: Any = None) -> None:
        """Forget the rows of the worlds of a mask, bool (worlds,) or, with what belongs to none last, (worlds + 1,); None is all.

        Raises:
            ValueError: The mask has another length.
        """
        if not self.memory.mode:
            return
        if mask is None:
            self.memory.number.zero_()
            return
        if not isinstance(mask, wp.array):
            mask = wp.array(np.asarray(mask, bool), dtype=wp.bool, device=self.device)
        if mask.shape not in ((worlds,), (worlds + 1,)) or mask.dtype not in (wp.bool, bool):
            raise ValueError(
                f"reset_contact_matching: expected a world_mask of bool, shape ({worlds},) or ({worlds + 1},), found {mask.dtype.__name__} "
                f"{mask.shape}"
            )
        shared = worlds if len(mask) == worlds + 1 else (0 if worlds == 1 else -1)
        wp.launch(forget_rows, dim=self.room, inputs=[shape_world, mask, shared], outputs=[self.memory], device=self.device)

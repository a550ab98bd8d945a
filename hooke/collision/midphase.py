"""Meshes and heightfields against other shapes: which triangles are near, the contacts of each, and the few that are kept.

The contacts of pairs of triangles go to a pool of their own; for every pair of shapes, those that matter go from there to the common
pool (:mod:`hooke.collision.reduction`). An infinite plane is asked for the vertices below it instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.broad_phase import ShapePairs
from hooke.collision.inside import inside_contact, nested_contact
from hooke.collision.places import Places, ShapeFilter
from hooke.collision.reduction import REDUCED, is_kept, no_points, offer
from hooke.collision.rigid_rows import MESHES, Pool, Touched, ordered, pair_count, pair_reach, relative_pose, start_in_pool
from hooke.collision.triangle_contact import PLANE, TRIANGLES, make_collide_triangles
from hooke.collision.triangle_pairs import (
    Surfaces,
    TrianglePairs,
    has_triangles,
    is_endless,
    list_triangles,
    make_surfaces,
    mesh_first,
)
from hooke.execution.work import Work, first_item, next_item
from hooke.model.tables import Shapes

__all__ = ["Midphase"]

ROOM = 1.5
ALIKE = wp.constant(1.0e-4)
"""Distance of two points, relative to the radius of the smaller shape, and 1 less the product of their normals, below which one goes."""


@wp.func
def copy_contact(n: int, at: int, source: Pool, pool: Pool):
    pool.point0[at] = source.point0[n]
    pool.point1[at] = source.point1[n]
    pool.normal[at] = source.normal[n]
    pool.distance[at] = source.distance[n]
    pool.feature[at] = source.feature[n]


@wp.func
def is_repeated(at: int, first: int, alike: float, pool: Pool):
    """Whether a contact stands where an earlier one of the pair does."""
    again = bool(False)
    for k in range(first, at):
        if wp.length(pool.point0[k] - pool.point0[at]) < alike and wp.dot(pool.normal[k], pool.normal[at]) > 1.0 - ALIKE:
            again = True
    return again


@wp.func
def keep_contacts(
    p: int, reduces: int, alike: float, found: TrianglePairs, each: Touched, source: Pool, touched: Touched, pool: Pool
):  # fmt: skip
    """Take the contacts of a pair of shapes to the common pool, all or those that matter; their number, 0 where there is no room."""
    begin = found.end[p] - found.number[p]
    end = wp.min(found.end[p], found.pair.shape[0])
    best = no_points()
    total = int(0)
    for c in range(begin, end):
        for k in range(each.number[c]):
            n = each.start[c] + k
            if reduces != 0:
                best = offer(best, source.point0[n], source.normal[n], source.distance[n], total)
            total += 1
    if total == 0:
        return 0
    if reduces != 0:
        total = wp.min(total, REDUCED)
    start = start_in_pool(p, total, touched, pool)
    if start < 0:
        return 0
    at = start
    key = int(0)
    for c in range(begin, end):
        for k in range(each.number[c]):
            if reduces == 0 or is_kept(best, key):
                copy_contact(each.start[c] + k, at, source, pool)
                if reduces == 0 or not is_repeated(at, start, alike, pool):
                    at += 1
            key += 1
    return at - start


@wp.func
def plane_contacts(
    p: int, reduces: int, plane: int, s: int, shapes: Shapes, places: Places, touched: Touched, pool: Pool
):  # fmt: skip
    """The vertices of a shape with triangles that are below an infinite plane, or the few that matter."""
    mesh = wp.mesh_get(shapes.source_ptr[s])
    pose = relative_pose(plane, s, places)
    reach = pair_reach(plane, s, shapes, places)
    up = wp.vec3(0.0, 0.0, 1.0)
    best = no_points()
    total = int(0)
    for i in range(mesh.points.shape[0]):
        x = wp.transform_point(pose, wp.cw_mul(mesh.points[i], shapes.scale[s]))
        if x[2] < reach:
            if reduces != 0:
                best = offer(best, wp.vec3(x[0], x[1], 0.0), up, x[2], i)
            total += 1
    if total == 0:
        return 0
    if reduces != 0:
        total = wp.min(total, REDUCED)
    start = start_in_pool(p, total, touched, pool)
    if start < 0:
        return 0
    at = start
    for i in range(mesh.points.shape[0]):
        q = wp.cw_mul(mesh.points[i], shapes.scale[s])
        x = wp.transform_point(pose, q)
        if x[2] < reach and (reduces == 0 or is_kept(best, i)):
            pool.point0[at] = wp.vec3(x[0], x[1], 0.0)
            pool.point1[at] = q
            pool.normal[at] = up
            pool.distance[at] = x[2]
            pool.feature[at] = i
            at += 1
    return at - start


@wp.kernel(enable_backward=False)
def keep_triangles(
    work: Work, reduces: int, pairs: ShapePairs, shapes: Shapes, places: Places, filters: ShapeFilter, surfaces: Surfaces,
    found: TrianglePairs, each: Touched, source: Pool, touched: Touched, pool: Pool,
):  # fmt: skip
    """The contacts of every pair of shapes of which one has triangles."""
    p = first_item(work, wp.tid())
    while p >= 0:
        if p < pair_count(pairs):
            a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
            if is_endless(a, filters) and has_triangles(b, shapes):
                touched.number[p] = plane_contacts(p, reduces, a, b, shapes, places, touched, pool)
            elif has_triangles(a, shapes) or has_triangles(b, shapes):
                alike = ALIKE * wp.min(shapes.collision_radius[a], shapes.collision_radius[b])
                kept = keep_contacts(p, reduces, alike, found, each, source, touched, pool)
                mesh, s = mesh_first(a, b, shapes)
                if kept == 0 and has_triangles(s, shapes):
                    kept = nested_contact(p, a, b, shapes, places, surfaces, touched, pool)
                elif kept == 0 and shapes.type[s] != PLANE:
                    kept = inside_contact(p, mesh, s, mesh == b, shapes, places, surfaces, touched, pool)
                touched.number[p] = kept
        p = next_item(work, p)


@wp.kernel(enable_backward=False)
def add_triangle_losses(work: Work, found: TrianglePairs, each: Touched, source: Pool, counters: wp.array(dtype=wp.int32)):
    """Add what a pass had no room for."""
    one = first_item(work, wp.tid())
    while one >= 0:
        lost = wp.max(found.end[found.end.shape[0] - 1] - found.pair.shape[0], 0)
        counters[2] = counters[2] + lost + wp.max(each.total[0] - source.feature.shape[0], 0)
        one = next_item(work, one)


class Midphase:
    """Contacts of meshes and heightfields.

    Args:
        columns: Columns of the shape table on the host.
        sources: Geometry object of every shape.
        kinds: Types of the shapes that collide.
        reduces: Whether few contacts of many are kept.
        room: Pairs of triangles to make room for at first; None is an estimate.
        device: Where the arrays live.

    Attributes:
        room: Pairs of triangles and contacts of them that there is room for.
    """

    def __init__(self, columns: dict[str, np.ndarray], sources: list[Any], kinds: tuple[int, ...], reduces: bool, room: int | None,
                 device: Any):  # fmt: skip
        self.device, self._reduces = device, int(reduces)
        chosen = np.flatnonzero(np.isin(columns["type"], MESHES))
        self._surfaces = make_surfaces(chosen, columns["scale"], sources, device)
        self._collide_triangles = make_collide_triangles(kinds)
        self._found, self._each, self._pool = TrianglePairs(), Touched(), Pool()
        self._each.total = wp.zeros(1, dtype=wp.int32, device=device)
        room = 256 * len(chosen) if room is None else max(room, 1)
        self.room = [0, 0]
        self._reserve(room, 2 * room)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that it launches."""
        return [list_triangles, self._collide_triangles, keep_triangles, add_triangle_losses]

    def reserve_pairs(self, pairs: int) -> None:
        """Make room for counts of so many pairs of shapes."""
        self._found.number = wp.zeros(pairs, dtype=wp.int32, device=self.device)
        self._found.end = wp.zeros(pairs, dtype=wp.int32, device=self.device)

    def _reserve(self, triangles: int, contacts: int) -> None:
        if triangles > self.room[0]:
            self.room[0] = triangles
            for holder, names in ((self._found, ("pair", "first", "second")), (self._each, ("number", "start", "end"))):
                for name in names:
                    setattr(holder, name, wp.zeros(triangles, dtype=wp.int32, device=self.device))
        if contacts > self.room[1]:
            self.room[1] = contacts
            for name, annotation in Pool.vars.items():
                setattr(self._pool, name, wp.zeros(contacts, dtype=annotation.type.dtype, device=self.device))

    def needed(self) -> tuple[int, int]:
        """Pairs of triangles that the last pass found, and contacts of those that there was room for. Reads the device."""
        return int(self._found.end[-1:].numpy()[0]), int(self._each.total.numpy()[0])

    def shortages(self) -> list[tuple[str, int, int]]:
        """Name, need in the last pass and room of every buffer. Reads the device."""
        return [(n, *pair) for n, pair in zip(("pairs of triangles", "contacts of triangles"),
                                              zip(self.needed(), self.room, strict=True), strict=True)]  # fmt: skip

    def grow(self) -> bool:
        """Make room for what the last pass found; whether it had too little. Reads the device."""
        triangles, contacts = self.needed()
        if triangles <= self.room[0] and contacts <= self.room[1]:
            return False
        self._reserve(
            int(ROOM * triangles) if triangles > self.room[0] else 0, int(ROOM * contacts) if contacts > self.room[1] else 0
        )
        return True

    def run(self, pairs: ShapePairs, shapes: Shapes, places: Places, filters: ShapeFilter, touched: Touched, pool: Pool,
            recorder: Any) -> None:  # fmt: skip
        """Add the contacts of all pairs with triangles to the common pool; launches only."""
        count, found, each = len(self._found.end), self._found, self._each
        recorder.alone(each.total.zero_)
        recorder.launch(list_triangles, count, [0, pairs, shapes, places, filters, self._surfaces], [found])
        recorder.alone(wp.utils.array_scan, found.number, found.end)
        recorder.launch(list_triangles, count, [1, pairs, shapes, places, filters, self._surfaces], [found])
        inputs = [pairs, found, shapes, places, self._surfaces]
        recorder.launch(self._collide_triangles, -(-self.room[0] // int(TRIANGLES)), inputs, [each, self._pool])
        inputs = [self._reduces, pairs, shapes, places, filters, self._surfaces, found, each, self._pool]
        recorder.launch(keep_triangles, count, inputs, [touched, pool])

    def count_losses(self, counters: wp.array, recorder: Any) -> None:
        """Add what the last pass had no room for to the third counter; launches only."""
        recorder.launch(add_triangle_losses, 1, [self._found, self._each, self._pool], [counters])

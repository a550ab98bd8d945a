"""Meshes and heightfields against other shapes: which triangles are near, the contacts of each, and the few that are kept.

Pairs of a triangle and a shape, or of two triangles, are counted by pair of shapes, summed and written, those of a pair in the order of
the triangles. Their contacts go to a pool of their own; for every pair of shapes, those that matter go from there to the common pool
(:mod:`hooke.collision.reduction`). An infinite plane is asked for the vertices below it instead.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.broad_phase import ShapePairs, sort_numbers
from hooke.collision.manifold import Manifold
from hooke.collision.narrow_phase import make_triangle_contact
from hooke.collision.places import Places, ShapeFilter
from hooke.collision.reduction import REDUCED, Reduction, is_kept, no_points, offer
from hooke.collision.rigid_rows import MESHES, Pool, Touched, geometry_of, ordered, pair_count, pair_reach, relative_pose, take_room
from hooke.collision.sheet_contact import exchanged, triangle_geometry
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.convex import SHEET, ShapeGeometry, Sheet
from hooke.geometry.kind import GeoType
from hooke.geometry.shapes import shape_kind
from hooke.geometry.sheet import sheet_normal
from hooke.model.tables import Shapes

__all__ = ["Midphase"]

MESH = wp.constant(int(GeoType.MESH))
HFIELD = wp.constant(int(GeoType.HFIELD))
PLANE = wp.constant(int(GeoType.PLANE))
BLOCK = wp.constant(4)
FACING = wp.constant(0.01)
"""Product of the normals of two sheets, less than which they look at each other."""
NEARER = wp.constant(0.7)
"""Part of the way out of a triangle: where another part of the mesh is nearer than that, it is the other's contact."""
ROOM = 1.5
DEEP = wp.constant(0.25)
"""Depth of a single point that is asked for other ways out, relative to the radius of the shape."""
ALIKE = wp.constant(1.0e-4)
"""Distance of two points, relative to the radius of the smaller shape, and 1 less the product of their normals, below which one goes."""


@wp.struct
class Surfaces:
    """Triangles across sides: ``opposite[first[s] + 3 t + e]`` is the vertex across side e of triangle t of shape s, -1 for none."""

    first: wp.array(dtype=wp.int32)
    opposite: wp.array(dtype=wp.int32)


@wp.struct
class TrianglePairs:
    """Pairs of triangles: of every pair of shapes the ``number``, with running sum ``end``; of each the pair of shapes, the triangle of
    the mesh (that of shape 0, of two) and the triangle of the other shape, -1 if it has none.
    """

    number: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    pair: wp.array(dtype=wp.int32)
    first: wp.array(dtype=wp.int32)
    second: wp.array(dtype=wp.int32)


@wp.func
def has_triangles(s: int, shapes: Shapes):
    return shapes.type[s] == MESH or shapes.type[s] == HFIELD


@wp.func
def mesh_first(a: int, b: int, shapes: Shapes):
    """Two shapes so that the first has triangles."""
    swap = not has_triangles(a, shapes)
    return wp.where(swap, b, a), wp.where(swap, a, b)


@wp.func
def box_in(lower: wp.vec3, upper: wp.vec3, pose: wp.transform, reach: float):
    """The box around a box that stands at a pose, with a reach around it."""
    half = 0.5 * (upper - lower)
    middle = wp.transform_point(pose, lower + half)
    turn = wp.quat_to_matrix(wp.transform_get_rotation(pose))
    extent = wp.vec3(reach)
    for k in range(3):
        extent[k] = extent[k] + wp.abs(turn[k, 0]) * half[0] + wp.abs(turn[k, 1]) * half[1] + wp.abs(turn[k, 2]) * half[2]
    return middle - extent, middle + extent


@wp.func
def query_boxes(s: int, low: wp.vec3, high: wp.vec3, shapes: Shapes):
    """A box in the frame of a shape, in the coordinates of the vertices of its mesh."""
    scale = shapes.scale[s]
    a = wp.cw_div(low, scale)
    b = wp.cw_div(high, scale)
    return wp.min(a, b), wp.max(a, b)


@wp.func
def vertex_of(s: int, i: int, shapes: Shapes):
    return wp.cw_mul(wp.mesh_get(shapes.source_ptr[s]).points[i], shapes.scale[s])


@wp.func
def is_mirrored(s: int, shapes: Shapes):
    scale = shapes.scale[s]
    return scale[0] * scale[1] * scale[2] < 0.0


@wp.func
def corner_index(s: int, t: int, k: int, shapes: Shapes):
    """Vertex ``k`` of a triangle, anticlockwise seen from outside: a mirrored mesh runs the other way round."""
    at = wp.where(is_mirrored(s, shapes), (3 - k) % 3, k)
    return wp.mesh_get(shapes.source_ptr[s]).indices[3 * t + at]


@wp.func
def triangle_of(s: int, t: int, shapes: Shapes):
    """A triangle of a shape in its frame."""
    p = vertex_of(s, corner_index(s, t, 0, shapes), shapes)
    q = vertex_of(s, corner_index(s, t, 1, shapes), shapes)
    r = vertex_of(s, corner_index(s, t, 2, shapes), shapes)
    return triangle_geometry(p, q, r)


@wp.func
def neighbours_of(s: int, t: int, g: ShapeGeometry, shapes: Shapes, surfaces: Surfaces):
    """The unit normals of the triangles across the sides; zero where there is none."""
    normals = Sheet()
    if t < 0:
        return normals
    mirrored = is_mirrored(s, shapes)
    for k in range(3):
        side = wp.where(mirrored, 2 - k, k)  # the way round is reversed, and with it the order of sides
        i = surfaces.opposite[surfaces.first[s] + 3 * t + side]
        if i >= 0:
            p = g.sheet[k]
            q = g.sheet[(k + 1) % 3]
            normals[k] = wp.normalize(wp.cross(p - q, vertex_of(s, i, shapes) - q))
    return normals


@wp.func
def list_triangle(k: int, p: int, first: int, second: int, found: TrianglePairs):
    if k < found.pair.shape[0]:
        found.pair[k] = p
        found.first[k] = first
        found.second[k] = second


@wp.func
def list_pair(p: int, writes: int, a: int, b: int, shapes: Shapes, places: Places, found: TrianglePairs):
    """The pairs of triangles of shapes ``a``, which has some, and ``b``: their number."""
    begin = found.end[p] - found.number[p]
    reach = pair_reach(a, b, shapes, places)
    pose = relative_pose(a, b, places)
    back = wp.transform_inverse(pose)
    low, high = box_in(shapes.collision_aabb_lower[b], shapes.collision_aabb_upper[b], pose, reach)
    low, high = query_boxes(a, low, high, shapes)
    count = int(0)
    t = int(0)
    query = wp.mesh_query_aabb(shapes.source_ptr[a], low, high)
    while wp.mesh_query_aabb_next(query, t):
        if has_triangles(b, shapes):
            g = triangle_of(a, t, shapes)
            lower = wp.min(g.sheet[0], wp.min(g.sheet[1], g.sheet[2]))
            upper = wp.max(g.sheet[0], wp.max(g.sheet[1], g.sheet[2]))
            lower, upper = box_in(lower, upper, back, reach)
            lower, upper = query_boxes(b, lower, upper, shapes)
            u = int(0)
            inner = wp.mesh_query_aabb(shapes.source_ptr[b], lower, upper)
            while wp.mesh_query_aabb_next(inner, u):
                if writes != 0:
                    list_triangle(begin + count, p, t, u, found)
                count += 1
        else:
            if writes != 0:
                list_triangle(begin + count, p, t, -1, found)
            count += 1
    return count


@wp.func
def is_endless(s: int, filters: ShapeFilter):
    return filters.infinite[s] != 0


@wp.kernel(enable_backward=False)
def list_triangles(
    work: Work, writes: int, pairs: ShapePairs, shapes: Shapes, places: Places, filters: ShapeFilter, found: TrianglePairs
):  # fmt: skip
    """The pairs of triangles of every pair of shapes: they are counted, or written."""
    p = first_item(work, wp.tid())
    while p >= 0:
        count = int(0)
        if p < pair_count(pairs):
            a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
            if (has_triangles(a, shapes) or has_triangles(b, shapes)) and not is_endless(a, filters):
                a, b = mesh_first(a, b, shapes)
                if writes == 0 or found.number[p] > 0:
                    count = list_pair(p, writes, a, b, shapes, places, found)
        if writes == 0:
            found.number[p] = count
        elif count > 0 and found.end[p] <= found.first.shape[0]:
            sort_triangles(found.end[p] - count, found.end[p], found)
        p = next_item(work, p)


@wp.func
def sort_triangles(begin: int, end: int, found: TrianglePairs):
    """The pairs of triangles of a pair of shapes in order."""
    if found.second[begin] < 0:
        sort_numbers(begin, end, found.first)
    else:
        sort_twins(begin, end, found)


@wp.func
def comes_before(i: int, j: int, found: TrianglePairs):
    return found.first[i] < found.first[j] or (found.first[i] == found.first[j] and found.second[i] < found.second[j])


@wp.func
def swap_twins(i: int, j: int, found: TrianglePairs):
    first = found.first[i]
    second = found.second[i]
    found.first[i] = found.first[j]
    found.second[i] = found.second[j]
    found.first[j] = first
    found.second[j] = second


@wp.func
def sift_twins(begin: int, count: int, root: int, found: TrianglePairs):
    at = root
    child = 2 * at + 1
    while child < count:
        if child + 1 < count and comes_before(begin + child, begin + child + 1, found):
            child += 1
        if comes_before(begin + at, begin + child, found):
            swap_twins(begin + at, begin + child, found)
            at = child
            child = 2 * at + 1
        else:
            child = count


@wp.func
def sort_twins(begin: int, end: int, found: TrianglePairs):
    """Pairs of triangles by the first, then the second: a heap."""
    count = end - begin
    for n in range(count // 2):
        sift_twins(begin, count, count // 2 - 1 - n, found)
    for n in range(count - 1):
        swap_twins(begin, begin + count - 1 - n, found)
        sift_twins(begin, count - 1 - n, 0, found)


@functools.cache
def make_collide_triangles(codes: tuple[int, ...]) -> Any:
    """The narrow phase of pairs of triangles, for the kinds of shapes of a scene.

    Of two sheets each is asked for the way out of its front: where a wall stands on a floor, the floor knows the shorter one.
    """
    kinds = tuple(shape_kind(code) for code in codes if code not in MESHES)
    contact = make_triangle_contact(kinds)

    @wp.kernel(module="unique", enable_backward=False)
    def collide_triangles(
        work: Work, pairs: ShapePairs, found: TrianglePairs, shapes: Shapes, places: Places, surfaces: Surfaces, touched: Touched,
        pool: Pool,
    ):  # fmt: skip
        block = first_item(work, wp.tid())
        while block >= 0:
            total = wp.min(found.end[found.end.shape[0] - 1], found.pair.shape[0])
            for c in range(BLOCK * block, wp.min(BLOCK * block + BLOCK, total)):
                p = found.pair[c]
                a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
                swapped = not has_triangles(a, shapes)
                a, b = mesh_first(a, b, shapes)
                pose = relative_pose(a, b, places)
                own = triangle_of(a, found.first[c], shapes)
                other = other_geometry(b, found.second[c], shapes)
                reach = pair_reach(a, b, shapes, places)
                manifold = Manifold()
                for turn in range(wp.where(other.type == SHEET, 2, 1)):
                    mine = either(turn, own, other)
                    way = either_pose(turn, pose)
                    neighbours = neighbours_of(wp.where(turn == 0, a, b), wp.where(turn == 0, found.first[c], found.second[c]), mine,
                                               shapes, surfaces)  # fmt: skip
                    theirs = either(turn, other, own)
                    sunk = float(0.0)
                    meets = bool(True)
                    if other.type == SHEET:
                        meets = faces(mine, theirs, way)
                        sunk = depth_below(mine, theirs, way)
                    if meets:
                        seen = sunk_again(mine, sunk, reach, contact(mine, theirs, lifted(mine, way, sunk), reach + sunk, neighbours))
                        if is_shortest(wp.where(turn == 0, a, b), seen, theirs.radius, shapes):
                            manifold = shallower(manifold, in_turn(turn, seen, way))
                touched.number[c] = pool_triangle(c, swapped, manifold, pose, found, touched, pool)
            block = next_item(work, block)

    return collide_triangles


@wp.func
def other_geometry(s: int, t: int, shapes: Shapes):
    """What a triangle meets: triangle ``t`` of a shape, or the shape, if that is -1. A finite plane is a sheet."""
    if t >= 0:
        return triangle_of(s, t, shapes)
    g = geometry_of(s, shapes)
    if g.type == PLANE:
        x = 0.5 * g.scale[0]
        y = 0.5 * g.scale[1]
        g.type = SHEET
        g.sheet[0] = wp.vec3(-x, -y, 0.0)
        g.sheet[1] = wp.vec3(x, -y, 0.0)
        g.sheet[2] = wp.vec3(x, y, 0.0)
        g.sheet[3] = wp.vec3(-x, y, 0.0)
    return g


@wp.func
def either(turn: int, own: ShapeGeometry, other: ShapeGeometry):
    if turn == 0:
        return own
    return other


@wp.func
def either_pose(turn: int, pose: wp.transform):
    if turn == 0:
        return pose
    return wp.transform_inverse(pose)


@wp.func
def in_turn(turn: int, m: Manifold, pose: wp.transform):
    """What was seen, as the first of both sees it."""
    if turn == 0:
        return m
    return exchanged(m, pose)


@wp.func
def faces(g: ShapeGeometry, other: ShapeGeometry, pose: wp.transform):
    """Whether another sheet looks at the front of a sheet. Where two surfaces touch, along whatever features, the normal is between the
    normals of the sheets around on one side, its reverse on the other: two of the sheets look at each other, and the rest may be left out.
    """
    return wp.dot(sheet_normal(g), wp.transform_vector(pose, sheet_normal(other))) < -FACING


@wp.func
def depth_below(g: ShapeGeometry, other: ShapeGeometry, pose: wp.transform):
    """How far another sheet has sunk below the front of a sheet."""
    depth = float(0.0)
    normal = sheet_normal(g)
    for k in range(4):
        depth = wp.max(depth, -wp.dot(wp.transform_point(pose, other.sheet[k]) - g.sheet[0], normal))
    return depth


@wp.func
def lifted(g: ShapeGeometry, pose: wp.transform, height: float):
    """A pose farther out of the front of a sheet."""
    if height == 0.0:
        return pose
    return wp.transform(wp.transform_get_translation(pose) + height * sheet_normal(g), wp.transform_get_rotation(pose))


@wp.func
def sunk_again(g: ShapeGeometry, depth: float, reach: float, m: Manifold):
    """The contacts of a sheet with another that was lifted, after that one is back."""
    if depth == 0.0:
        return m
    kept = Manifold()
    kept.normal = m.normal
    for k in range(m.count):
        distance = m.distance[k] - depth * wp.dot(m.normal, sheet_normal(g))
        if distance <= reach:
            kept.point0[kept.count] = m.point0[k]
            kept.point1[kept.count] = m.point1[k]
            kept.distance[kept.count] = distance
            kept.feature[kept.count] = m.feature[k]
            kept.count += 1
    return kept


@wp.func
def is_shortest(s: int, m: Manifold, size: float, shapes: Shapes):
    """Whether no other part of the surface of shape ``s`` is much nearer to what a triangle of it has found behind its front.

    Asked of the middle, and of two places on the way there, since what is far behind a thin solid is outside again. A single point is
    asked only where it is deep for a shape of radius ``size``: at the rim of a triangle, points lie on its neighbours, which may be the
    sides of an edge.
    """
    if not has_triangles(s, shapes) or m.count == 0:
        return True
    depth = float(0.0)
    surface = wp.vec3(0.0)
    for k in range(m.count):
        depth -= m.distance[k] / float(m.count)
        surface += m.point0[k] / float(m.count)
    if depth <= 0.0 or (m.count == 1 and depth < DEEP * size):
        return True
    scale = shapes.scale[s]
    least = wp.min(wp.abs(scale[0]), wp.min(wp.abs(scale[1]), wp.abs(scale[2])))
    part = float(1.0)
    shortest = bool(True)
    for _k in range(3):
        p = surface - part * depth * m.normal
        seen = wp.mesh_query_point_no_sign(shapes.source_ptr[s], wp.cw_div(p, scale), depth / least)
        if seen.result:
            nearest = wp.cw_mul(wp.mesh_eval_position(shapes.source_ptr[s], seen.face, seen.u, seen.v), scale)
            if wp.length(p - nearest) < NEARER * part * depth:
                shortest = False
        part *= 0.5
    return shortest


@wp.func
def depth_of(m: Manifold):
    """How deep the deepest point is."""
    depth = float(-1.0e30)
    for k in range(m.count):
        depth = wp.max(depth, -m.distance[k])
    return depth


@wp.func
def shallower(m: Manifold, n: Manifold):
    """The manifold to keep of two that tell how to part the same shapes; an empty one tells nothing."""
    if m.count == 0 or (n.count > 0 and depth_of(n) < depth_of(m)):
        return n
    return m


@wp.func
def pool_triangle(
    c: int, swapped: bool, m: Manifold, pose: wp.transform, found: TrianglePairs, touched: Touched, pool: Pool
):  # fmt: skip
    """Put the contacts of a pair of triangles into the pool; ``swapped`` if the mesh is shape 1. Their number, 0 where no room is."""
    if m.count == 0:
        return 0
    at = take_room(m.count, touched.total)
    touched.start[c] = at
    if at + m.count > pool.feature.shape[0]:
        return 0
    normal = m.normal
    if swapped:
        normal = -wp.transform_vector(wp.transform_inverse(pose), m.normal)
    for k in range(m.count):
        pool.normal[at + k] = normal
        pool.distance[at + k] = m.distance[k]
        pool.feature[at + k] = feature_of(found.first[c], found.second[c], m.feature[k])
        if swapped:
            pool.point0[at + k] = m.point1[k]
            pool.point1[at + k] = m.point0[k]
        else:
            pool.point0[at + k] = m.point0[k]
            pool.point1[at + k] = m.point1[k]
    return m.count


@wp.func
def feature_of(first: int, second: int, feature: int):
    """A number for a contact of a pair of triangles: mostly different for all of a pair of shapes."""
    mixed = wp.uint32(second + 1) * wp.uint32(40503) + wp.uint32(feature) * wp.uint32(1640531535)
    return ((first & 65535) << 15) | int(mixed >> wp.uint32(17))


# ---- few of many


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
    start = take_room(total, touched.total)
    touched.start[p] = start
    if start + total > pool.feature.shape[0]:
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
        x = wp.transform_point(pose, vertex_of(s, i, shapes))
        if x[2] < reach:
            if reduces != 0:
                best = offer(best, wp.vec3(x[0], x[1], 0.0), up, x[2], i)
            total += 1
    if total == 0:
        return 0
    if reduces != 0:
        total = wp.min(total, REDUCED)
    start = take_room(total, touched.total)
    touched.start[p] = start
    if start + total > pool.feature.shape[0]:
        return 0
    at = start
    for i in range(mesh.points.shape[0]):
        q = vertex_of(s, i, shapes)
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
    work: Work, reduces: int, pairs: ShapePairs, shapes: Shapes, places: Places, filters: ShapeFilter, found: TrianglePairs,
    each: Touched, source: Pool, touched: Touched, pool: Pool,
):  # fmt: skip
    p = first_item(work, wp.tid())
    while p >= 0:
        if p < pair_count(pairs):
            a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
            if is_endless(a, filters) and has_triangles(b, shapes):
                touched.number[p] = plane_contacts(p, reduces, a, b, shapes, places, touched, pool)
            elif found.number[p] > 0:
                alike = ALIKE * wp.min(shapes.collision_radius[a], shapes.collision_radius[b])
                touched.number[p] = keep_contacts(p, reduces, alike, found, each, source, touched, pool)
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
        self._surfaces = _make_surfaces(chosen, len(columns["type"]), sources, device)
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
        self._reserve(int(ROOM * triangles) if triangles > self.room[0] else 0, int(ROOM * contacts) if contacts > self.room[1] else 0)
        return True

    def run(self, pairs: ShapePairs, shapes: Shapes, places: Places, filters: ShapeFilter, touched: Touched, pool: Pool,
            recorder: Any) -> None:  # fmt: skip
        """Add the contacts of all pairs with triangles to the common pool; launches only."""
        count, found, each = len(self._found.end), self._found, self._each
        recorder.alone(each.total.zero_)
        recorder.launch(list_triangles, count, [0, pairs, shapes, places, filters], [found])
        recorder.alone(wp.utils.array_scan, found.number, found.end)
        recorder.launch(list_triangles, count, [1, pairs, shapes, places, filters], [found])
        inputs = [pairs, found, shapes, places, self._surfaces]
        recorder.launch(self._collide_triangles, -(-self.room[0] // int(BLOCK)), inputs, [each, self._pool])
        inputs = [self._reduces, pairs, shapes, places, filters, found, each, self._pool]
        recorder.launch(keep_triangles, count, inputs, [touched, pool])


    def count_losses(self, counters: wp.array, recorder: Any) -> None:
        """Add what the last pass had no room for to the third counter; launches only."""
        recorder.launch(add_triangle_losses, 1, [self._found, self._each, self._pool], [counters])


def _make_surfaces(chosen: np.ndarray, count: int, sources: list[Any], device: Any) -> Surfaces:
    """The vertices across the sides of the triangles of some shapes, once for every geometry object."""
    first, lists, total = np.full(count, -1, np.int32), [np.zeros(0, np.int32)], 0
    known: dict[int, int] = {}
    for s in chosen:
        source = sources[s]
        if id(source) not in known:
            known[id(source)] = total
            vertices, indices = source.triangles() if hasattr(source, "triangles") else (source.vertices, source.indices)
            lists.append(across_sides(np.asarray(vertices), np.asarray(indices).reshape(-1, 3)))
            total += len(lists[-1])
        first[s] = known[id(source)]
    surfaces = Surfaces()
    surfaces.first = wp.array(first, dtype=wp.int32, device=device)
    surfaces.opposite = wp.array(np.concatenate(lists), dtype=wp.int32, device=device)
    return surfaces


def across_sides(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The vertex across every side of every triangle, int32 (3 n,); -1 at a free side, and where three or more triangles meet.

    Vertices at one place count as one: meshes have them where normals or textures break.
    """
    _, place = np.unique(vertices, axis=0, return_inverse=True)
    place = place.reshape(-1)
    tail, head = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    opposite = np.roll(triangles, -2, axis=1).reshape(-1)
    low, high = np.minimum(place[tail], place[head]), np.maximum(place[tail], place[head])
    key = low.astype(np.int64) * (len(vertices) + 1) + high
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    a, b = order[starts[sizes == 2]], order[starts[sizes == 2] + 1]
    opposed = place[tail[a]] == place[head[b]]  # both run the same way round
    a, b = a[opposed], b[opposed]
    across = np.full(len(tail), -1, np.int32)
    across[a], across[b] = opposite[b], opposite[a]
    return across

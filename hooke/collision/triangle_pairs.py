"""Pairs of triangles: which triangles of a mesh or heightfield are near another shape, in the order of their numbers.

They are counted by pair of shapes, summed and written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.broad_phase import ShapePairs, sort_numbers
from hooke.collision.places import Places, ShapeFilter
from hooke.collision.rigid_rows import ordered, pair_count, pair_reach, relative_pose
from hooke.collision.sheet_contact import triangle_geometry
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.convex import ShapeGeometry, Sheet
from hooke.geometry.kind import GeoType
from hooke.geometry.sheet import sheet_normal
from hooke.model.tables import Shapes

__all__ = ["Surfaces", "TrianglePairs", "across_sides", "has_triangles", "is_endless", "list_triangles", "look_at_each_other",
           "make_surfaces", "mesh_first", "neighbours_of", "triangle_of"]  # fmt: skip

MESH = wp.constant(int(GeoType.MESH))
HFIELD = wp.constant(int(GeoType.HFIELD))
FEW = wp.constant(12)
"""Triangles within the reach of one that look at it, up to which it meets all of them."""
FACING = wp.constant(0.01)
"""Product of the normals of two sheets, less than which they look at each other."""


@wp.struct
class Surfaces:
    """Triangles across sides: ``opposite[first[s] + 3 t + e]`` is the corner across side e of triangle t of shape s (three for each
    triangle of it), -1 for none.

    ``closed`` is 1 where the surface has an inside, ``size`` [m] the mean length of its sides.
    """

    first: wp.array(dtype=wp.int32)
    closed: wp.array(dtype=wp.int32)
    size: wp.array(dtype=wp.float32)
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
def corner_of(s: int, i: int, shapes: Shapes):
    """Corner ``i`` of the triangles of a shape, three for each, in its frame."""
    return wp.cw_mul(wp.mesh_get_point(shapes.source_ptr[s], i), shapes.scale[s])


@wp.func
def is_mirrored(s: int, shapes: Shapes):
    scale = shapes.scale[s]
    return scale[0] * scale[1] * scale[2] < 0.0


@wp.func
def triangle_of(s: int, t: int, shapes: Shapes):
    """A triangle of a shape in its frame, anticlockwise seen from outside: a mirrored mesh runs the other way round."""
    turned = wp.where(is_mirrored(s, shapes), 1, 0)
    p = corner_of(s, 3 * t, shapes)
    q = corner_of(s, 3 * t + 1 + turned, shapes)
    r = corner_of(s, 3 * t + 2 - turned, shapes)
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
            normals[k] = wp.normalize(wp.cross(p - q, corner_of(s, i, shapes) - q))
    return normals


@wp.func
def list_triangle(k: int, p: int, first: int, second: int, found: TrianglePairs):
    if k < found.pair.shape[0]:
        found.pair[k] = p
        found.first[k] = first
        found.second[k] = second


@wp.func
def boxes_apart(low: wp.vec3, high: wp.vec3, lower: wp.vec3, upper: wp.vec3):
    return wp.max(wp.max(low - upper, lower - high)) > 0.0


@wp.func
def is_out_of_reach(g: ShapeGeometry, s: int, pose: wp.transform, reach: float, shapes: Shapes):
    """Whether the box around a shape without triangles, which stands at ``pose``, is beyond the reach of a triangle: seen along its axes,
    or along the normal of the triangle, from both sides.
    """
    lower = shapes.collision_aabb_lower[s]
    upper = shapes.collision_aabb_upper[s]
    back = wp.transform_inverse(pose)
    p = wp.transform_point(back, g.sheet[0])
    q = wp.transform_point(back, g.sheet[1])
    r = wp.transform_point(back, g.sheet[2])
    wide = wp.vec3(reach)
    if boxes_apart(lower - wide, upper + wide, wp.min(p, wp.min(q, r)), wp.max(p, wp.max(q, r))):
        return True
    normal = wp.normalize(wp.cross(q - p, r - p))
    half = 0.5 * (upper - lower)
    height = wp.dot(lower + half - p, normal)
    extent = wp.dot(half, wp.vec3(wp.abs(normal[0]), wp.abs(normal[1]), wp.abs(normal[2])))
    return height - extent > reach or height + extent < 0.0


@wp.func
def look_at_each_other(normal: wp.vec3, other: wp.vec3):
    """Whether two sheets do, by their normals. Where two surfaces touch, along whatever features, the normal is between the normals of
    the sheets around on one side, its reverse on the other: two of the sheets look at each other, and the rest may be left out.
    """
    return wp.dot(normal, other) < -FACING


@wp.func
def nearest_triangle(s: int, p: wp.vec3, reach: float, shapes: Shapes):
    """The triangle of a shape that is nearest to a point of its frame, by its unscaled mesh; -1 if none is within reach."""
    scale = shapes.scale[s]
    least = wp.min(wp.abs(scale[0]), wp.min(wp.abs(scale[1]), wp.abs(scale[2])))
    seen = wp.mesh_query_point_no_sign(shapes.source_ptr[s], wp.cw_div(p, scale), reach / least)
    return wp.where(seen.result, seen.face, -1)


@wp.func
def list_twins(
    begin: int, p: int, writes: int, a: int, t: int, b: int, swapped: bool, reach: float, back: wp.transform, shapes: Shapes,
    found: TrianglePairs,
):  # fmt: skip
    """The triangles of shape ``b`` that triangle ``t`` of shape ``a`` meets, ``a`` being the finer mesh (the other one, if ``swapped``).
    Of those that look at it all within reach if they are few, else those whose boxes meet, and the nearest to the corners and the
    middle of ``t``. So surfaces that overlap deeply, where they run alike or cross, cost a search and no more.
    """
    g = triangle_of(a, t, shapes)
    normal = wp.transform_vector(back, sheet_normal(g))
    x0 = wp.transform_point(back, g.sheet[0])
    x1 = wp.transform_point(back, g.sheet[1])
    x2 = wp.transform_point(back, g.sheet[2])
    lower = wp.min(x0, wp.min(x1, x2))
    upper = wp.max(x0, wp.max(x1, x2))
    wide = wp.vec3(reach)
    low, high = query_boxes(b, lower - wide, upper + wide, shapes)
    number = int(0)
    u = int(0)
    query = wp.mesh_query_aabb(shapes.source_ptr[b], low, high)
    while wp.mesh_query_aabb_next(query, u):
        if look_at_each_other(normal, sheet_normal(triangle_of(b, u, shapes))):
            number += 1
    if number == 0:
        return 0
    near = wp.vec4i(-1, -1, -1, -1)
    if number > FEW:
        near = wp.vec4i(
            nearest_triangle(b, x0, reach, shapes), nearest_triangle(b, x1, reach, shapes), nearest_triangle(b, x2, reach, shapes),
            nearest_triangle(b, (x0 + x1 + x2) / 3.0, reach, shapes),
        )  # fmt: skip
    count = int(0)
    again = wp.mesh_query_aabb(shapes.source_ptr[b], low, high)
    while wp.mesh_query_aabb_next(again, u):
        other = triangle_of(b, u, shapes)
        looks = look_at_each_other(normal, sheet_normal(other))
        chosen = bool(number <= FEW or u == near[0] or u == near[1] or u == near[2] or u == near[3])
        if looks and not chosen:
            y0 = wp.min(other.sheet[0], wp.min(other.sheet[1], other.sheet[2]))
            y1 = wp.max(other.sheet[0], wp.max(other.sheet[1], other.sheet[2]))
            chosen = not boxes_apart(lower, upper, y0, y1)
        if looks and chosen:
            if writes != 0:
                list_triangle(begin + count, p, wp.where(swapped, u, t), wp.where(swapped, t, u), found)
            count += 1
    return count


@wp.func
def list_pair(
    p: int, writes: int, a: int, b: int, shapes: Shapes, places: Places, surfaces: Surfaces, found: TrianglePairs
):  # fmt: skip
    """The pairs of triangles of shapes ``a``, which has some, and ``b``: their number."""
    begin = found.end[p] - found.number[p]
    reach = pair_reach(a, b, shapes, places)
    twins = has_triangles(b, shapes)
    swapped = bool(twins and surfaces.size[b] < surfaces.size[a])
    fine = wp.where(swapped, b, a)
    other = wp.where(swapped, a, b)
    pose = relative_pose(fine, other, places)
    back = wp.transform_inverse(pose)
    low, high = box_in(shapes.collision_aabb_lower[other], shapes.collision_aabb_upper[other], pose, reach)
    low, high = query_boxes(fine, low, high, shapes)
    count = int(0)
    t = int(0)
    query = wp.mesh_query_aabb(shapes.source_ptr[fine], low, high)
    while wp.mesh_query_aabb_next(query, t):
        if twins:
            count += list_twins(begin + count, p, writes, fine, t, other, swapped, reach, back, shapes, found)
        elif not is_out_of_reach(triangle_of(a, t, shapes), b, pose, reach, shapes):
            if writes != 0:
                list_triangle(begin + count, p, t, -1, found)
            count += 1
    return count


@wp.func
def is_endless(s: int, filters: ShapeFilter):
    return filters.infinite[s] != 0


@wp.kernel(enable_backward=False)
def list_triangles(
    work: Work, writes: int, pairs: ShapePairs, shapes: Shapes, places: Places, filters: ShapeFilter, surfaces: Surfaces,
    found: TrianglePairs,
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
                    count = list_pair(p, writes, a, b, shapes, places, surfaces, found)
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


def make_surfaces(chosen: np.ndarray, scales: np.ndarray, sources: list[Any], device: Any) -> Surfaces:
    """The vertices across the sides of the triangles of some shapes, once for every geometry object."""
    count = len(scales)
    first, lists, total, size = np.full(count, -1, np.int32), [np.zeros(0, np.int32)], 0, np.zeros(count)
    known: dict[int, int] = {}
    sides: dict[int, np.ndarray] = {}
    for s in chosen:
        source = sources[s]
        if id(source) not in known:
            known[id(source)] = total
            vertices, indices = source.triangles() if hasattr(source, "triangles") else (source.vertices, source.indices)
            lists.append(across_sides(np.asarray(vertices), np.asarray(indices).reshape(-1, 3)))
            total += len(lists[-1])
            corners = np.asarray(vertices, np.float64)[np.asarray(indices).reshape(-1, 3)]
            sides[id(source)] = np.abs(np.roll(corners, -1, axis=1) - corners).mean(axis=(0, 1))
        first[s] = known[id(source)]
        size[s] = np.linalg.norm(sides[id(source)] * scales[s])
    surfaces = Surfaces()
    closed = np.zeros(count, np.int32)
    closed[chosen] = [
        getattr(sources[s], "is_watertight", hasattr(sources[s], "triangles")) for s in chosen
    ]  # heightfields are solid
    surfaces.closed = wp.array(closed, dtype=wp.int32, device=device)
    surfaces.size = wp.array(size, dtype=wp.float32, device=device)
    surfaces.first = wp.array(first, dtype=wp.int32, device=device)
    surfaces.opposite = wp.array(np.concatenate(lists), dtype=wp.int32, device=device)
    return surfaces


def across_sides(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The corner across every side of every triangle, int32 (3 n,); -1 at a free side, and where three or more triangles meet.

    Vertices at one place count as one: meshes have them where normals or textures break.
    """
    _, place = np.unique(vertices, axis=0, return_inverse=True)
    place = place.reshape(-1)
    tail, head = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    low, high = np.minimum(place[tail], place[head]), np.maximum(place[tail], place[head])
    key = low.astype(np.int64) * (len(vertices) + 1) + high
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    a, b = order[starts[sizes == 2]], order[starts[sizes == 2] + 1]
    opposed = place[tail[a]] == place[head[b]]  # both run the same way round
    a, b = a[opposed], b[opposed]
    across = np.full(len(tail), -1, np.int32)
    for own, other in ((a, b), (b, a)):
        across[own] = 3 * (other // 3) + (other + 2 - 3 * (other // 3)) % 3
    return across

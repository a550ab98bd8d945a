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
from hooke.model.tables import Shapes

__all__ = ["Surfaces", "TrianglePairs", "across_sides", "has_triangles", "is_endless", "list_triangles", "make_surfaces", "mesh_first",
           "neighbours_of", "triangle_of", "vertex_of"]  # fmt: skip

MESH = wp.constant(int(GeoType.MESH))
HFIELD = wp.constant(int(GeoType.HFIELD))


@wp.struct
class Surfaces:
    """Triangles across sides: ``opposite[first[s] + 3 t + e]`` is the vertex across side e of triangle t of shape s, -1 for none.

    ``closed`` is 1 where the surface has an inside.
    """

    first: wp.array(dtype=wp.int32)
    closed: wp.array(dtype=wp.int32)
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


def make_surfaces(chosen: np.ndarray, count: int, sources: list[Any], device: Any) -> Surfaces:
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
    closed = np.zeros(count, np.int32)
    closed[chosen] = [
        getattr(sources[s], "is_watertight", hasattr(sources[s], "triangles")) for s in chosen
    ]  # heightfields are solid
    surfaces.closed = wp.array(closed, dtype=wp.int32, device=device)
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

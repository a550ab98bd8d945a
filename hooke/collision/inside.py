"""Shapes that are inside a mesh or below a heightfield, where no triangle sees them: one contact, along the shortest way out.

A convex shape is taken for the largest ball in the box around it.

Of two meshes some vertices of each are asked, evenly in their order, whether they are inside the other. The middle of those that are lies
in what the solids have in common: from there the shortest way to one surface, and the way back to the other, are how deep they are. Of
both surfaces the one counts that has the shorter way. If the middle is in neither, as of a ring in a ring, it is the way of the deepest
vertex. Meshes that are wholly inside are found like this, and those that overlap deeply: the parts of their surfaces that look at each
other are then far apart, and those that cross run alike.
"""

from __future__ import annotations

import warp as wp

from hooke.collision.places import Places
from hooke.collision.rigid_rows import Pool, Touched, relative_pose, start_in_pool
from hooke.collision.triangle_pairs import HFIELD, Surfaces
from hooke.geometry.profile import unit
from hooke.model.tables import Shapes

__all__ = ["inside_contact", "nested_contact"]

INSIDE = wp.constant(1 << 30)
"""Feature of such a contact."""
FAR = wp.constant(1.0e10)
SHALLOW = wp.constant(1.0e-4)
"""Depth of a vertex, relative to the radius of its shape, up to which it lies on the surface and has no way out."""
RAYS = wp.constant(3)
"""Rays that are asked on which side a point is."""
SAMPLES = wp.constant(128)
"""Most vertices of a mesh that are asked whether they are inside another one."""


@wp.func
def is_beside(s: int, p: wp.vec3, shapes: Shapes):
    """Whether a point is beside the grid of a heightfield."""
    mesh = wp.mesh_get(shapes.source_ptr[s])
    low = wp.cw_mul(mesh.points[0], shapes.scale[s])
    high = wp.cw_mul(mesh.points[mesh.points.shape[0] - 1], shapes.scale[s])
    return p[0] < low[0] or p[0] > high[0] or p[1] < low[1] or p[1] > high[1]


@wp.func
def nearest_place(mesh: int, p: wp.vec3, shapes: Shapes):
    """The place of a surface that is nearest to a point, and its side. Of closed meshes by what rays cross: the normal at the nearest place
    errs where that is an edge, far away.
    """
    if shapes.type[mesh] == HFIELD:
        return wp.mesh_query_point_sign_normal(shapes.source_ptr[mesh], p, FAR)
    return wp.mesh_query_point_sign_parity(shapes.source_ptr[mesh], p, FAR, RAYS)


@wp.func
def way_out(mesh: int, p: wp.vec3, shapes: Shapes, surfaces: Surfaces):
    """The nearest point of the surface of a shape that has an inside to a point ``p`` of its frame, and whether that is inside."""
    low = shapes.collision_aabb_lower[mesh]
    high = shapes.collision_aabb_upper[mesh]
    outside = bool(surfaces.closed[mesh] == 0)
    for k in range(3):
        if not (p[k] > low[k] and p[k] < high[k]):
            outside = True
    if outside or (shapes.type[mesh] == HFIELD and is_beside(mesh, p, shapes)):
        return p, False
    scale = shapes.scale[mesh]
    seen = nearest_place(mesh, wp.cw_div(p, scale), shapes)
    if not seen.result or seen.sign >= 0.0:
        return p, False
    return wp.cw_mul(wp.mesh_eval_position(shapes.source_ptr[mesh], seen.face, seen.u, seen.v), scale), True


@wp.func
def pool_inside(
    p: int, outer: wp.vec3, own: wp.vec3, normal: wp.vec3, swapped: bool, pose: wp.transform, touched: Touched, pool: Pool
):  # fmt: skip
    """Put the contact of a surface at the point ``outer`` with the point ``own`` inside of it into the pool, all in the frame of the
    surface; ``pose`` is that of the other shape, which is shape 0 if ``swapped``. Number of contacts, 0 where there is no room.
    """
    at = start_in_pool(p, 1, touched, pool)
    if at < 0:
        return 0
    back = wp.transform_inverse(pose)
    pool.distance[at] = wp.dot(own - outer, normal)
    pool.feature[at] = INSIDE
    if swapped:
        pool.point0[at] = wp.transform_point(back, own)
        pool.point1[at] = outer
        pool.normal[at] = -wp.transform_vector(back, normal)
    else:
        pool.point0[at] = outer
        pool.point1[at] = wp.transform_point(back, own)
        pool.normal[at] = normal
    return 1


@wp.func
def inside_contact(
    p: int, mesh: int, s: int, swapped: bool, shapes: Shapes, places: Places, surfaces: Surfaces, touched: Touched, pool: Pool
):  # fmt: skip
    """The contact of pair ``p`` of a surface with the convex shape ``s``, if the middle of that is inside; ``swapped`` if the surface is
    shape 1. Number of contacts, 0 where there is no room.
    """
    lower = shapes.collision_aabb_lower[s]
    upper = shapes.collision_aabb_upper[s]
    pose = relative_pose(mesh, s, places)
    middle = wp.transform_point(pose, 0.5 * (lower + upper))
    nearest, inside = way_out(mesh, middle, shapes, surfaces)
    if not inside:
        return 0
    normal = unit(nearest - middle, wp.vec3(0.0, 0.0, 1.0))
    size = 0.5 * wp.min(upper - lower)
    return pool_inside(p, nearest, middle - size * normal, normal, swapped, pose, touched, pool)


@wp.struct
class Sunk:
    """Of the vertices of a mesh that are inside another surface the ``number`` and the sum of the places, of the deepest one the place,
    where it leaves the surface, and the depth [m]. All in the frame of that surface.
    """

    number: wp.int32
    total: wp.vec3
    own: wp.vec3
    outer: wp.vec3
    depth: wp.float32


@wp.func
def sunk_vertices(mesh: int, s: int, pose: wp.transform, shapes: Shapes, surfaces: Surfaces):
    """What of shape ``s``, which stands at ``pose``, is inside a surface. Heightfields and open meshes never are."""
    inner = wp.mesh_get(shapes.source_ptr[s])
    asked = wp.min(inner.points.shape[0], SAMPLES)
    if surfaces.closed[s] == 0 or shapes.type[s] == HFIELD:
        asked = 0
    sunk = Sunk()
    for k in range(asked):
        i = int(wp.int64(k) * wp.int64(inner.points.shape[0]) / wp.int64(asked))
        x = wp.transform_point(pose, wp.cw_mul(inner.points[i], shapes.scale[s]))
        nearest, inside = way_out(mesh, x, shapes, surfaces)
        depth = wp.length(nearest - x)
        if inside and depth > SHALLOW * shapes.collision_radius[s]:
            sunk.number += 1
            sunk.total += x
            if depth > sunk.depth:
                sunk.own = x
                sunk.outer = nearest
                sunk.depth = depth
    return sunk


@wp.func
def way_through(mesh: int, s: int, middle: wp.vec3, pose: wp.transform, shapes: Shapes, surfaces: Surfaces):
    """The shortest way from a point out of a surface, and back to that of shape ``s``: both ends and the length, huge if it is outside."""
    nearest, inside = way_out(mesh, middle, shapes, surfaces)
    way = nearest - middle
    if not inside or wp.length_sq(way) == 0.0:
        return middle, nearest, FAR
    back = wp.transform_inverse(pose)
    start = wp.vec3(wp.cw_div(wp.transform_point(back, middle), shapes.scale[s]))
    along = wp.vec3(wp.cw_div(wp.transform_vector(back, -wp.normalize(way)), shapes.scale[s]))
    hit = wp.mesh_query_ray(shapes.source_ptr[s], start, wp.normalize(along), FAR)
    beyond = wp.where(hit.result, hit.t / wp.length(along), 0.0)
    return middle - beyond * wp.normalize(way), nearest, wp.length(way) + beyond


@wp.func
def nested_contact(
    p: int, a: int, b: int, shapes: Shapes, places: Places, surfaces: Surfaces, touched: Touched, pool: Pool
):  # fmt: skip
    """The contact of pair ``p`` of two shapes with triangles of which one has vertices inside the other. Number of contacts."""
    pose = relative_pose(a, b, places)
    back = wp.transform_inverse(pose)
    in_a = sunk_vertices(a, b, pose, shapes, surfaces)
    in_b = sunk_vertices(b, a, back, shapes, surfaces)
    number = in_a.number + in_b.number
    if number == 0:
        return 0
    share = float(in_b.number) * wp.transform_get_translation(pose) + wp.transform_vector(pose, in_b.total)
    middle = (in_a.total + share) / float(number)
    own, outer, depth = way_through(a, b, middle, pose, shapes, surfaces)
    own_of_a, outer_of_b, depth_of_a = way_through(b, a, wp.transform_point(back, middle), back, shapes, surfaces)
    if wp.min(depth, depth_of_a) >= FAR:
        own = in_a.own
        outer = in_a.outer
        depth = wp.where(in_a.number > 0, in_a.depth, FAR)
        own_of_a = in_b.own
        outer_of_b = in_b.outer
        depth_of_a = wp.where(in_b.number > 0, in_b.depth, FAR)
    if depth_of_a < depth:
        return pool_inside(p, outer_of_b, own_of_a, wp.normalize(outer_of_b - own_of_a), True, back, touched, pool)
    return pool_inside(p, outer, own, wp.normalize(outer - own), False, pose, touched, pool)

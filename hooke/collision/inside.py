"""Shapes that are wholly inside a mesh or below a heightfield, where no triangle sees them: one contact, along the shortest way out."""

from __future__ import annotations

import warp as wp

from hooke.collision.places import Places
from hooke.collision.rigid_rows import Pool, Touched, relative_pose, start_in_pool
from hooke.collision.triangle_pairs import HFIELD, Surfaces
from hooke.geometry.profile import unit
from hooke.model.tables import Shapes

__all__ = ["inside_contact"]

INSIDE = wp.constant(1 << 30)
"""Feature of such a contact."""
FAR = wp.constant(1.0e10)


@wp.func
def is_beside(s: int, p: wp.vec3, shapes: Shapes):
    """Whether a point is beside the grid of a heightfield."""
    mesh = wp.mesh_get(shapes.source_ptr[s])
    low = wp.cw_mul(mesh.points[0], shapes.scale[s])
    high = wp.cw_mul(mesh.points[mesh.points.shape[0] - 1], shapes.scale[s])
    return p[0] < low[0] or p[0] > high[0] or p[1] < low[1] or p[1] > high[1]


@wp.func
def inside_contact(
    p: int, mesh: int, s: int, swapped: bool, shapes: Shapes, places: Places, surfaces: Surfaces, touched: Touched, pool: Pool
):  # fmt: skip
    """The contact of pair ``p`` of a surface with the convex shape ``s``, if the middle of that is inside; ``swapped`` if the surface is
    shape 1. The shape is taken for the largest ball in the box around it. Number of contacts, 0 where there is no room.
    """
    lower = shapes.collision_aabb_lower[s]
    upper = shapes.collision_aabb_upper[s]
    pose = relative_pose(mesh, s, places)
    middle = wp.transform_point(pose, 0.5 * (lower + upper))
    low = shapes.collision_aabb_lower[mesh]
    high = shapes.collision_aabb_upper[mesh]
    outside = bool(surfaces.closed[mesh] == 0)
    for k in range(3):
        if not (middle[k] > low[k] and middle[k] < high[k]):
            outside = True
    if outside or (shapes.type[mesh] == HFIELD and is_beside(mesh, middle, shapes)):
        return 0
    scale = shapes.scale[mesh]
    q = wp.vec3(wp.cw_div(middle, scale))
    seen = wp.mesh_query_point_sign_normal(shapes.source_ptr[mesh], q, FAR)
    if not seen.result or seen.sign >= 0.0:
        return 0
    nearest = wp.cw_mul(wp.mesh_eval_position(shapes.source_ptr[mesh], seen.face, seen.u, seen.v), scale)
    normal = unit(nearest - middle, wp.vec3(0.0, 0.0, 1.0))
    size = 0.5 * wp.min(upper - lower)
    at = start_in_pool(p, 1, touched, pool)
    if at < 0:
        return 0
    back = wp.transform_inverse(pose)
    own = wp.transform_point(back, middle - size * normal)
    pool.distance[at] = -(wp.length(nearest - middle) + size)
    pool.feature[at] = INSIDE
    if swapped:
        pool.point0[at] = own
        pool.point1[at] = nearest
        pool.normal[at] = -wp.transform_vector(back, normal)
    else:
        pool.point0[at] = nearest
        pool.point1[at] = own
        pool.normal[at] = normal
    return 1

"""Round faces: the base of a cone, the ends of a cylinder."""

from __future__ import annotations

import warp as wp

from hooke.geometry.convex import CORNERS, RIM, Corners, Face, Ids


@wp.func
def rim_support(d: wp.vec3d, radius: wp.float64, height: wp.float64):
    """The point of a circle around Z, at some height, that is farthest along ``d``; on its +X side where all are as far."""
    across = wp.sqrt(d[0] * d[0] + d[1] * d[1])
    if across > wp.float64(0.0):
        return wp.vec3d(radius * d[0] / across, radius * d[1] / across, height)
    return wp.vec3d(radius, wp.float64(0.0), height)


@wp.func
def disc_face(n: wp.vec3, radius: float, height: float):
    """The disc at ``height`` on the Z axis as a polygon whose corners lie on its rim; it looks away from the origin.

    The first corner is the one farthest along ``n``, unless they are all nearly as far: then it is that on the +X axis.
    """
    s = wp.where(height < 0.0, -1.0, 1.0)
    across = wp.sqrt(n[0] * n[0] + n[1] * n[1])
    start = wp.vec2(1.0, 0.0)
    if across > RIM * wp.length(n):
        start = wp.vec2(n[0], n[1]) / across
    cosine = wp.cos(6.2831853 / float(CORNERS))
    sine = s * wp.sin(6.2831853 / float(CORNERS))
    corners = Corners()
    ids = Ids()
    count = int(CORNERS)
    for k in range(count):
        corners[k] = wp.vec3(radius * start[0], radius * start[1], height)
        ids[k] = wp.where(height < 0.0, 16, 0) + k
        start = wp.vec2(cosine * start[0] - sine * start[1], sine * start[0] + cosine * start[1])
    return Face(CORNERS, wp.vec3(0.0, 0.0, s), corners, ids)

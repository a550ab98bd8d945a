"""Two capsules: the nearest points of two segments, in the frame of the first, whose axis is Z.

With the second centre at t, its axis u, c = u_z, the points s e_z and t + r u of the lines are nearest at

    s = (t_z - c t . u) / (1 - c^2),    r = c s - t . u,                                               (1)

clamped to their halves one after the other (Ericson, Real-Time Collision Detection, 2005, 5.1.9). Nearly parallel ones touch in two
points, at both ends of what they have in common. Where the axes cross, the normal is perpendicular to both, and +X if they coincide.
"""

from __future__ import annotations

import warp as wp

from hooke.collision.clip import overlap_of_edges
from hooke.collision.manifold import Candidates, Manifold, choose, place_face, slack_of
from hooke.geometry.capsule import capsule_face
from hooke.geometry.convex import ShapeGeometry
from hooke.geometry.profile import sign, unit

__all__ = ["capsule_contact"]

CROSSED = wp.constant(1.0e-5)
"""Part of the sum of the radii below which the offset of the nearest points has no direction."""
PARALLEL = wp.constant(4.0e-4)
"""Squared sine of the angle up to which axes are parallel."""


@wp.func
def normal_of_axes(u: wp.vec3, t: wp.vec3):
    """Where axes meet: perpendicular to both."""
    n = wp.cross(wp.vec3(0.0, 0.0, 1.0), u)
    if wp.length_sq(n) < PARALLEL:
        return unit(wp.vec3(t[0], t[1], 0.0), wp.vec3(1.0, 0.0, 0.0))
    return sign(wp.dot(n, t)) * wp.normalize(n)


@wp.func
def capsule_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
    t = wp.transform_get_translation(relative)
    u = wp.quat_rotate(wp.transform_get_rotation(relative), wp.vec3(0.0, 0.0, 1.0))
    c = u[2]
    along = wp.dot(t, u)
    square = u[0] * u[0] + u[1] * u[1]
    s = wp.clamp((t[2] - c * along) / wp.max(square, 1.0e-9), -a.scale[1], a.scale[1])
    r = wp.clamp(c * s - along, -b.scale[1], b.scale[1])
    s = wp.clamp(t[2] + c * r, -a.scale[1], a.scale[1])
    p = wp.vec3(0.0, 0.0, s)
    offset = t + r * u - p
    apart = wp.length(offset)
    radii = wp.vec2(a.scale[0], b.scale[0])
    if apart - radii[0] - radii[1] > reach:
        return Manifold()
    normal = wp.vec3()
    crossing = square > PARALLEL and wp.abs(s) < a.scale[1] and wp.abs(r) < b.scale[1]
    if crossing or apart <= CROSSED * (radii[0] + radii[1]):
        normal = normal_of_axes(u, t)
    else:
        normal = offset / apart
    slack = slack_of(a, b)
    found = Candidates()
    if square < PARALLEL and wp.abs(normal[2]) < 0.02:
        e = capsule_face(normal, a)
        found = overlap_of_edges(e, place_face(capsule_face(normal, b), relative), normal)
    two = found.count == 2 and wp.length_sq(found.point[1] - found.point[0]) > 4.0 * slack * slack
    if not two:
        found.count = 1
        found.point[0] = p
        found.distance[0] = wp.dot(offset, normal)
        found.feature[0] = 0
    return choose(found, normal, relative, wp.vec3(reach, reach + slack, slack), radii)

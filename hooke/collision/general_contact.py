"""Any two convex shapes: their nearest points or the shortest way out, then all points of the faces and edges that meet there.

If a face of one shape looks along the normal, up to a tolerance of the distance and, of shapes that are apart, of the place of the
nearest points, its own normal is taken and the feature of the other shape is clipped against it, provided that the lowest point of that
shape lies above the face. Else two edges that are nearly
parallel touch along what they have in common, and everything else in a point.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.clip import clip_feature, overlap_of_edges
from hooke.collision.closest_cores import APART, FAR, OVERLAP, Closest, frame_of, make_closest, make_corner
from hooke.collision.core import Core
from hooke.collision.manifold import Candidates, Manifold, choose, place_face, slack_of
from hooke.collision.penetration import make_penetration
from hooke.collision.plane_contact import add_witness
from hooke.geometry.convex import CORNERS, Face, ShapeGeometry, vertex

__all__ = ["make_contact_along", "make_general_contact", "make_nearest", "preferred"]

ALONG = wp.constant(0.7)
"""Cosine between the normals of a face and of contact up to which the face may take its place."""
BULGE = wp.constant(0.0171)
"""Height of the arc above a side of a polygon of 12 corners, relative to the diameter."""
PRECISION = wp.constant(wp.float64(1.0e-9))
"""Part of their distance up to which shapes that are apart are known."""
BESIDE = wp.constant(1.2)
"""Part of the slack by which a point beside a face may be lower than those above it, for of a level face any corner may be the lowest."""
PARALLEL = wp.constant(0.02)
"""Sine of the angle up to which edges are parallel to each other, or perpendicular to the normal."""


@wp.func
def area_of(f: Face):
    """Twice the area of a face."""
    total = wp.vec3()
    for k in range(1, f.count - 1):
        total += wp.cross(f.corners[k] - f.corners[0], f.corners[k + 1] - f.corners[0])
    return wp.length(total)


@wp.func
def preferred(s0: float, s1: float, f0: Face, f1: Face, tie: float):
    """Whether the second face is the reference: the one with the larger separation, of nearly equal ones the clearly larger."""
    if wp.abs(s1 - s0) > tie:
        return s1 > s0
    return area_of(f1) > 1.01 * area_of(f0)


@wp.func
def bulge_of(f: Face):
    """How far a round face reaches beyond the sides between its corners."""
    if f.count < CORNERS:
        return float(0.0)
    return BULGE * wp.length(f.corners[0] - f.corners[6])


@wp.func
def depth_of(c: Candidates):
    """How deep the deepest point is; very little if there is none."""
    depth = float(-1.0e30)
    for k in range(c.count):
        depth = wp.max(depth, -c.distance[k])
    return depth


@wp.func
def along_normal(e: Face, normal: wp.vec3):
    """Whether an edge is nearly perpendicular to the normal."""
    along = e.corners[1] - e.corners[0]
    return e.count == 2 and wp.abs(wp.dot(along, normal)) <= PARALLEL * wp.length(along)


@functools.cache
def make_contact_along(core: Core) -> Any:
    """``contact_along(a, b, relative, c, reach) -> Manifold``: the points of two shapes whose nearest points and normal are known."""
    support, face, edge, radius_of = core.support, core.face, core.edge, core.radius

    @wp.func
    def nearest_to_face(f: Face, g: ShapeGeometry, pose: wp.transform):
        """The point of the core of a shape that is lowest above a face."""
        d = wp.transform_vector(wp.transform_inverse(pose), -f.normal)
        s = support(wp.vec3d(wp.float64(d[0]), wp.float64(d[1]), wp.float64(d[2])), g)
        return wp.transform_point(pose, wp.vec3(wp.float32(s[0]), wp.float32(s[1]), wp.float32(s[2])))

    @wp.func
    def points_on_face(f: Face, other: Face, lowest: wp.vec3, slack: float, flip: float):
        """Points of the other feature above a face; none if the lowest point of the other shape lies beside it and clearly lower."""
        found = clip_feature(f, other, slack, flip)
        below = clip_feature(f, vertex(lowest, f.normal, 63), slack + bulge_of(f), flip)
        if f.count == CORNERS:
            middle = 0.5 * (f.corners[0] + f.corners[6])
            radius = wp.length(f.corners[0] - middle)
            is_round = wp.abs(wp.length(f.corners[3] - middle) - radius) < 0.01 * radius
            offset = lowest - middle - wp.dot(lowest - middle, f.normal) * f.normal
            if is_round and wp.length(offset) > radius + slack:
                below.count = 0
        if below.count > 0:
            return add_witness(found, below.point[0], below.distance[0], 0.1 * slack)
        height = wp.dot(lowest - f.corners[0], f.normal)
        if depth_of(found) < -height - BESIDE * slack:
            found.count = 0
        return found

    @wp.func
    def edges_along(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, normal: wp.vec3):
        e = edge(normal, a)
        f = place_face(edge(wp.transform_vector(wp.transform_inverse(relative), -normal), b), relative)
        if along_normal(e, normal) and along_normal(f, normal):
            u = wp.normalize(e.corners[1] - e.corners[0])
            v = wp.normalize(f.corners[1] - f.corners[0])
            if wp.length(wp.cross(u, v)) <= PARALLEL:
                return overlap_of_edges(e, f, normal)
        return Candidates()

    @wp.func(inline=False)
    def contact_along(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, c: Closest, reach: float):
        normal = wp.vec3(wp.float32(c.normal[0]), wp.float32(c.normal[1]), wp.float32(c.normal[2]))
        p0 = wp.vec3(wp.float32(c.point0[0]), wp.float32(c.point0[1]), wp.float32(c.point0[2]))
        p1 = wp.vec3(wp.float32(c.point1[0]), wp.float32(c.point1[1]), wp.float32(c.point1[2]))
        slack = slack_of(a, b)
        s = wp.float32(c.distance)
        least = s - wp.min(slack, wp.where(c.state == OVERLAP, slack, 0.05 * s + 0.1 * slack))
        sideways = wp.where(c.state == OVERLAP, 1.0e30, slack)
        f0 = face(normal, a)
        f1 = place_face(face(wp.transform_vector(wp.transform_inverse(relative), -normal), b), relative)
        s0 = float(-1.0e30)
        s1 = float(-1.0e30)
        q0 = wp.vec3()
        q1 = wp.vec3()
        if f0.count > 2 and wp.dot(f0.normal, normal) > ALONG and s * wp.length(f0.normal - normal) < sideways:
            q1 = nearest_to_face(f0, b, relative)
            s0 = wp.dot(q1 - f0.corners[0], f0.normal)
        if f1.count > 2 and -wp.dot(f1.normal, normal) > ALONG and s * wp.length(f1.normal + normal) < sideways:
            q0 = nearest_to_face(f1, a, wp.transform_identity())
            s1 = wp.dot(q0 - f1.corners[0], f1.normal)
        found = Candidates()
        if wp.max(s0, s1) >= least:
            if s0 < least or (s1 >= least and preferred(s0, s1, f0, f1, slack)):
                found = points_on_face(f1, f0, q0, slack, -1.0)
                normal = wp.where(found.count > 0, -f1.normal, normal)
            else:
                found = points_on_face(f0, f1, q1, slack, 1.0)
                normal = wp.where(found.count > 0, f0.normal, normal)
        if found.count == 0:
            found = edges_along(a, b, relative, normal)
            found = add_witness(found, p0, wp.dot(p1 - p0, normal), 0.1 * slack)
        return choose(found, normal, relative, wp.vec3(reach, reach + slack, slack), wp.vec2(radius_of(a), radius_of(b)))

    return contact_along


@functools.cache
def make_nearest(core: Core) -> Any:
    """``nearest(a, b, relative, reach) -> Closest``: of cores, apart or not; ``reach`` [m] from surface to surface."""
    corner = make_corner(core)
    closest = make_closest(corner)
    penetration = make_penetration(corner, closest)
    radius_of = core.radius

    @wp.func(inline=False)
    def nearest(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        frame = frame_of(relative)
        limit = wp.float64(reach) + wp.float64(radius_of(a)) + wp.float64(radius_of(b))
        c = closest(a, b, frame, limit, frame.t, PRECISION)
        if c.state == OVERLAP:
            return penetration(a, b, frame, c)
        return c

    return nearest


@functools.cache
def make_general_contact(core: Core) -> Any:
    """``general_contact(a, b, relative, reach) -> Manifold`` of any two convex shapes."""
    nearest = make_nearest(core)
    contact_along = make_contact_along(core)

    @wp.func
    def general_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        c = nearest(a, b, relative, reach)
        if c.state == FAR:
            return Manifold()
        return contact_along(a, b, relative, c, reach)

    return general_contact

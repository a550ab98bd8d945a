"""Triangles of meshes and heightfields, and finite planes: flat sheets with a front, against any convex shape.

One-sided. A sheet pushes along its normal or around its sides, never backwards. A shape that reaches through it comes back to the front,
however deep, if its origin lies in front; else only if that is the shortest way, since the sheet may be the far side of a thin wall. What
is nearest to the back, or wholly behind the plane, has no contact. A finite plane is no wall, and lets go of a shape only when its
origin lies a tenth of its shorter size behind it, as it does of points.

Inner sides. A mesh is one surface, and a shape must not catch on the sides between its triangles. Let the nearest point lie on a side
whose outward direction in the plane is e, m the normal of the neighbour across, n the normal of contact, f that of the sheet, and n lean
over that side, n . e > 0.

    The side does not stand out, m . e <= 0: the surface goes on there. The contact is the part of the shape above the sheet, along f.
    It stands out, and n lies between f and m: the contact is that of the side.
    It stands out, and n lies beyond m, or is nearer to m than to f while it leans over another side as well or does not point to the
    front: it is the neighbour's.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.clip import clip_feature
from hooke.collision.closest_cores import FAR, OVERLAP
from hooke.collision.core import Core
from hooke.collision.general_contact import make_contact_along, make_nearest
from hooke.collision.manifold import Manifold, choose, one_point, place_face, slack_of
from hooke.collision.plane_contact import add_witness
from hooke.geometry.convex import SHEET, ShapeGeometry, Sheet
from hooke.geometry.sheet import sheet_count, sheet_face, sheet_normal

__all__ = ["exchanged", "make_sheet_contact", "triangle_geometry"]

TILTED = wp.constant(1.0e-3)
"""Sine of an angle between normals that counts."""
STRAIGHT = wp.constant(2.0e-3)
"""The same, up to which the normal of contact is that of the sheet."""
OWN = wp.constant(0)
FACE = wp.constant(1)
OTHER = wp.constant(2)


@wp.func
def triangle_geometry(p: wp.vec3, q: wp.vec3, r: wp.vec3):
    """A triangle as a shape in the frame of its corners, anticlockwise seen from its front."""
    g = ShapeGeometry()
    g.type = SHEET
    g.sheet[0] = p
    g.sheet[1] = q
    g.sheet[2] = r
    g.sheet[3] = r
    g.radius = wp.sqrt(wp.max(wp.length_sq(q - p), wp.max(wp.length_sq(r - q), wp.length_sq(p - r))))
    return g


@wp.func
def exchanged(m: Manifold, relative: wp.transform):
    """The same contact with the shapes in the other order; ``relative`` is the pose of shape 1 in the frame of shape 0 before that."""
    normal = wp.transform_vector(wp.transform_inverse(relative), -m.normal)
    return Manifold(m.count, normal, m.point1, m.point0, m.distance, m.feature)


@wp.func
def in_sheet(g: ShapeGeometry, normal: wp.vec3, p: wp.vec3, margin: float):
    """Whether the foot of a point lies inside a sheet, farther than ``margin`` from all sides."""
    inside = bool(True)
    count = sheet_count(g)
    for j in range(count):
        q = g.sheet[j]
        side = wp.normalize(wp.cross(g.sheet[(j + 1) % count] - q, normal))
        if wp.dot(p - q, side) > -margin:
            inside = False
    return inside


@wp.func
def owner_of(g: ShapeGeometry, front: wp.vec3, neighbours: Sheet, p: wp.vec3, n: wp.vec3, near: float):
    """Whose contact one with the normal ``n`` at the point ``p`` of the sheet is: see the head of this file."""
    owner = int(OWN)
    nearest = wp.dot(n, front)
    count = sheet_count(g)
    for j in range(count):
        q = g.sheet[j]
        way = wp.normalize(g.sheet[(j + 1) % count] - q)
        side = wp.cross(way, front)
        m = neighbours[j]
        if wp.length_sq(m) > 0.0 and wp.dot(p - q, side) > -near and wp.dot(n, side) > TILTED:
            if wp.dot(m, side) <= TILTED:
                owner = wp.max(owner, FACE)
            else:
                nearest = wp.max(nearest, wp.dot(n, m))
                if wp.dot(wp.cross(m, n), way) > TILTED * wp.length(n - wp.dot(n, way) * way):
                    owner = OTHER
    if nearest > wp.dot(n, front) + TILTED and (owner == FACE or wp.dot(n, front) <= TILTED):
        owner = OTHER
    return owner


@wp.func
def along_front(front: wp.vec3, p: wp.vec3, distance: float, relative: wp.transform):
    """A round shape whose lowest point is beside the sheet: at ``p``, as deep as the shortest way out."""
    return one_point(front, p, wp.transform_point(wp.transform_inverse(relative), p + distance * front), distance, 7 << 24)


def make_sheet_contact(core: Core) -> Any:
    """``sheet_contact(a, b, relative, reach, neighbours) -> Manifold``: ``a`` is the sheet.

    ``neighbours`` has, for the sides of the sheet in their order, the unit normals of the sheets across them, in the frame of ``a``;
    zero at a free side.
    """
    support, face, radius_of = core.support, core.face, core.radius
    nearest = make_nearest(core)
    contact_along = make_contact_along(core)

    @wp.func
    def reached(b: ShapeGeometry, relative: wp.transform, d: wp.vec3):
        """The point of the core of b that is farthest along d."""
        e = wp.transform_vector(wp.transform_inverse(relative), d)
        s = support(wp.vec3d(wp.float64(e[0]), wp.float64(e[1]), wp.float64(e[2])), b)
        return wp.transform_point(relative, wp.vec3(wp.float32(s[0]), wp.float32(s[1]), wp.float32(s[2])))

    @wp.func(inline=False)
    def contact_on_face(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, lowest: wp.vec3, limits: wp.vec3):
        """The part of b above or below the face, along its normal."""
        f = sheet_face(wp.vec3(), a)
        below = face(wp.transform_vector(wp.transform_inverse(relative), -f.normal), b)
        found = clip_feature(f, place_face(below, relative), limits[2], 1.0)
        if in_sheet(a, f.normal, lowest, -limits[2]):
            height = wp.dot(lowest - f.corners[0], f.normal)
            found = add_witness(found, lowest - height * f.normal, height, 0.1 * limits[2])
        return choose(found, f.normal, relative, limits, wp.vec2(0.0, radius_of(b)))

    @wp.func
    def sheet_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float, neighbours: Sheet):
        front = sheet_normal(a)
        lowest = reached(b, relative, -front)
        radius = radius_of(b)
        height = wp.dot(lowest - a.sheet[0], front)
        if wp.length_sq(front) < 0.5 or height - radius > reach:
            return Manifold()
        if wp.dot(reached(b, relative, front) - a.sheet[0], front) + radius < 0.0:
            return Manifold()
        slack = slack_of(a, b)
        limits = wp.vec3(reach, reach + slack, slack)
        before = wp.dot(wp.transform_get_translation(relative) - a.sheet[0], front) >= -a.scale[0]
        if before and in_sheet(a, front, lowest, wp.max(-height, 0.0)):
            return contact_on_face(a, b, relative, lowest, limits)
        c = nearest(a, b, relative, reach)
        if c.state == FAR:
            return Manifold()
        n = wp.vec3(wp.float32(c.normal[0]), wp.float32(c.normal[1]), wp.float32(c.normal[2]))
        p = wp.vec3(wp.float32(c.point0[0]), wp.float32(c.point0[1]), wp.float32(c.point0[2]))
        owner = owner_of(a, front, neighbours, p, n, 0.1 * slack)
        if owner == OTHER:
            return Manifold()
        if wp.dot(n, front) <= 0.0:
            found = Manifold()
            if before and c.state == OVERLAP:
                found = contact_on_face(a, b, relative, lowest, limits)
                if found.count == 0:
                    found = along_front(front, p, wp.float32(c.distance) - radius, relative)
            return found
        if b.type == SHEET:
            if wp.dot(wp.transform_vector(relative, sheet_normal(b)), n) > 0.0:
                return Manifold()
        if owner == FACE or wp.length(n - front) < STRAIGHT:
            found = contact_on_face(a, b, relative, lowest, limits)
            if owner == FACE or found.count > 0:
                return found
        return contact_along(a, b, relative, c, reach)

    return sheet_contact

"""A plane and any convex shape.

Infinite: the corners of the face that looks down are the points. The lowest point of a shape need not be one of them, where faces are
many and small: then it comes in addition.

Finite: a sheet (:mod:`hooke.collision.sheet_contact`) without neighbours.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.manifold import Candidates, Manifold, choose, is_round, place_face, slack_of
from hooke.geometry.convex import SHEET, ShapeGeometry, Sheet
from hooke.geometry.plane import DEPTH, INFINITE

__all__ = ["add_witness", "make_any_plane_contact", "make_finite_plane_contact", "make_plane_contact"]

WITNESS = wp.constant(4 << 24)


@wp.func
def add_witness(c: Candidates, point: wp.vec3, distance: float, tolerance: float):
    """The candidates with a point of known distance, unless one of them lies as deep."""
    more = c
    deepest = float(1.0e30)
    for k in range(c.count):
        deepest = wp.min(deepest, c.distance[k])
    if deepest > distance + tolerance:
        k = wp.min(c.count, 23)
        more.point[k] = point
        more.distance[k] = distance
        more.feature[k] = WITNESS
        more.count = k + 1
    return more


def make_plane_contact(core: Any) -> Any:
    """``plane_contact(a, b, relative, reach) -> Manifold``: ``a`` is the plane; ``core`` as in ``make_core``."""
    support, face, radius_of = core.support, core.face, core.radius

    @wp.func
    def plane_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        up = wp.vec3(0.0, 0.0, 1.0)
        down = -wp.transform_vector(wp.transform_inverse(relative), up)
        radius = radius_of(b)
        slack = slack_of(a, b)
        s = support(wp.vec3d(wp.float64(down[0]), wp.float64(down[1]), wp.float64(down[2])), b)
        lowest = wp.transform_point(relative, wp.vec3(wp.float32(s[0]), wp.float32(s[1]), wp.float32(s[2])))
        if lowest[2] - radius > reach:
            return Manifold()
        below = place_face(face(down, b), relative)
        c = Candidates()
        c.count = below.count
        c.round = is_round(below)
        for k in range(below.count):
            p = below.corners[k]
            c.point[k] = wp.vec3(p[0], p[1], 0.0)
            c.distance[k] = p[2]
            c.feature[k] = below.ids[k]
        c = add_witness(c, wp.vec3(lowest[0], lowest[1], 0.0), lowest[2], 0.1 * slack)
        return choose(c, up, relative, wp.vec3(reach, reach + slack, slack), wp.vec2(0.0, radius))

    return plane_contact


@wp.func
def is_finite(g: ShapeGeometry):
    return g.scale[0] > 0.0 or g.scale[1] > 0.0


@wp.func
def plane_sheet(g: ShapeGeometry, centre: wp.vec3, around: float):
    """The part of a finite plane within ``around`` of a point as a sheet: far corners would cost digits. Flat if there is none."""
    sheet = ShapeGeometry()
    sheet.type = SHEET
    low = wp.vec2()
    high = wp.vec2()
    for k in range(2):
        half = wp.where(g.scale[k] > 0.0, 0.5 * g.scale[k], INFINITE)
        low[k] = wp.max(-half, centre[k] - around)
        high[k] = wp.max(wp.min(half, centre[k] + around), low[k])
    sheet.sheet[0] = wp.vec3(low[0], low[1], 0.0)
    sheet.sheet[1] = wp.vec3(high[0], low[1], 0.0)
    sheet.sheet[2] = wp.vec3(high[0], high[1], 0.0)
    sheet.sheet[3] = wp.vec3(low[0], high[1], 0.0)
    sheet.radius = g.radius
    width = wp.where(g.scale[0] > 0.0, g.scale[0], INFINITE)
    length = wp.where(g.scale[1] > 0.0, g.scale[1], INFINITE)
    sheet.scale[0] = DEPTH * wp.min(width, length)
    return sheet


def make_finite_plane_contact(sheet_contact: Any) -> Any:
    """``finite_plane_contact(a, b, relative, reach) -> Manifold``: ``a`` is the plane; for ``sheet_contact`` see ``sheet_contact``."""

    @wp.func
    def finite_plane_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        centre = wp.transform_get_translation(relative)
        return sheet_contact(plane_sheet(a, centre, 2.0 * (b.radius + reach)), b, relative, reach, Sheet())

    return finite_plane_contact


def make_any_plane_contact(infinite: Any, finite: Any) -> Any:
    """``contact(a, b, relative, reach) -> Manifold`` of planes with and without end."""

    @wp.func
    def contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        if is_finite(a):
            return finite(a, b, relative, reach)
        return infinite(a, b, relative, reach)

    return contact

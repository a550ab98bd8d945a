"""Cone: scale = (radius r, half height h, 0), axis Z; the base at z = -h, the apex A at z = +h.

In the half plane q = (rho, z) the solid is a triangle. With l = sqrt(r^2 + 4 h^2), the slant side from A to the rim B = (r, -h) has
the direction u = (r, -2h) / l and the outward normal m = (2h, r) / l. The signed distances to the lines of side and base are

    s = m . (q - A),    b = -h - z,

inside (both <= 0) the larger one counts, as in any convex polygon; outside, the foot of the perpendicular decides whether the side,
the base, the apex or the rim is closest. On the axis the radial direction is +X.

    m = 2/3 pi r^2 h,    com = (0, 0, -h/2),    I_zz = 3/10 m r^2,    I_xx = 3/20 m (r^2 + h^2).

A wall of constant thickness t leaves a similar cone: shrinking about the centre of the inscribed ball (radius R = 2 r h / (r + l))
by 1 - t/R moves every face inward by t.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex, ShapeGeometry, segment, vertex
from hooke.geometry.disc import disc_face, rim_support
from hooke.geometry.inertia import MassProperties, solid_or_hollow
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint, sizes
from hooke.geometry.profile import radial, revolve, unit


@wp.func
def cone_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    r = scale[0]
    h = scale[1]
    slant = wp.sqrt(r * r + 4.0 * h * h)
    out = radial(p)
    rho = wp.dot(p, out)
    side_normal = (2.0 * h * out + wp.vec3(0.0, 0.0, r)) / slant
    s = (2.0 * h * rho + r * (p[2] - h)) / slant
    along = (r * rho - 2.0 * h * (p[2] - h)) / slant
    b = -h - p[2]
    down = wp.vec3(0.0, 0.0, -1.0)
    if s <= 0.0 and b <= 0.0:
        if s >= b:
            return SurfacePoint(s, side_normal, 1)
        return SurfacePoint(b, down, 1)
    if b > 0.0 and rho <= r:
        return SurfacePoint(b, down, 1)
    if b <= 0.0 and along >= 0.0 and along <= slant:
        return SurfacePoint(s, side_normal, 1)
    corner = wp.vec3(0.0, 0.0, h)
    if along > 0.0:
        corner = r * out - wp.vec3(0.0, 0.0, h)
    return SurfacePoint(wp.length(p - corner), unit(p - corner, side_normal), 1)


def bounds(scale, source=None):
    radius, height = sizes(scale, 2, "cone")
    half = np.array([radius, radius, height])
    return -half, half


def mass_properties(scale, source=None, density=1.0, thickness=None):
    radius, height = sizes(scale, 2, "cone")
    inscribed = 2.0 * radius * height / (radius + np.hypot(radius, 2.0 * height))

    def solid(inset: float) -> MassProperties:
        shrink = 1.0 - inset / inscribed
        r, h = shrink * radius, shrink * height
        base = -height + inset
        mass = 2.0 / 3.0 * np.pi * r**2 * h
        across = 0.15 * mass * (r**2 + h**2)
        return MassProperties(mass, np.array([0.0, 0.0, base + 0.5 * h]), np.diag((across, across, 0.3 * mass * r**2)))

    return solid_or_hollow(solid, inscribed, density, thickness)


def surface(scale, source=None, segments=32):
    radius, height = sizes(scale, 2, "cone")
    return revolve(np.array([[0.0, -height], [radius, -height], [0.0, height]]), segments)


@wp.func
def cone_support(d: wp.vec3d, g: ShapeGeometry):
    r = wp.float64(g.scale[0])
    h = wp.float64(g.scale[1])
    zero = wp.float64(0.0)
    if wp.float64(2.0) * h * d[2] > r * wp.sqrt(d[0] * d[0] + d[1] * d[1]):
        return wp.vec3d(zero, zero, h)
    return rim_support(d, r, -h)


@wp.func
def cone_face(n: wp.vec3, g: ShapeGeometry):
    """The base, or the line of the side below ``n``, whichever normal is nearer."""
    slant = wp.sqrt(g.scale[0] * g.scale[0] + 4.0 * g.scale[1] * g.scale[1])
    out = radial(n)
    side = (2.0 * g.scale[1] * out + wp.vec3(0.0, 0.0, g.scale[0])) / slant
    if -n[2] >= wp.dot(n, side):
        return disc_face(n, g.scale[0], -g.scale[1])
    return segment(g.scale[0] * out - wp.vec3(0.0, 0.0, g.scale[1]), wp.vec3(0.0, 0.0, g.scale[1]), side, 32)


@wp.func
def cone_edge(n: wp.vec3, g: ShapeGeometry):
    slant = wp.sqrt(g.scale[0] * g.scale[0] + 4.0 * g.scale[1] * g.scale[1])
    out = radial(n)
    side = (2.0 * g.scale[1] * out + wp.vec3(0.0, 0.0, g.scale[0])) / slant
    apex = wp.vec3(0.0, 0.0, g.scale[1])
    rim = g.scale[0] * out - apex
    if -n[2] >= wp.dot(n, side):
        return vertex(rim, n, 36)
    if wp.dot(n, apex) > wp.dot(n, rim):
        return segment(apex, rim, side, 33)
    return segment(rim, apex, side, 32)


CONE = ShapeKind(
    "cone",
    GeoType.CONE,
    cone_distance,
    bounds,
    mass_properties,
    surface,
    examples=((0.4, 0.5, 0.0), (0.5, 0.1, 0.0)),
    convex=Convex(cone_support, cone_face, cone_edge),
)

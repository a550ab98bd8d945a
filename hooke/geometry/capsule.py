"""Capsule: scale = (radius r, half height h without the caps, 0), axis Z, centred.

All points at distance r from the segment between (0, 0, -h) and (0, 0, h). With c its point closest to p:

    d = |p - c| - r,    n = (p - c) / |p - c|;    on the segment +X is taken.

Mass: a cylinder of height 2h, m_c = 2 pi r^2 h, and two half balls, together m_s = 4/3 pi r^3, whose centres of mass lie 3/8 r
beyond the ends:

    I_zz = m_c r^2/2 + 2/5 m_s r^2,    I_xx = m_c (r^2/4 + h^2/3) + m_s (2/5 r^2 + h^2 + 3/4 h r).
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex, ShapeGeometry, segment
from hooke.geometry.inertia import MassProperties, solid_or_hollow
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint, sizes
from hooke.geometry.profile import arc, revolve, unit


@wp.func
def capsule_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    offset = wp.vec3(p[0], p[1], p[2] - wp.clamp(p[2], -scale[1], scale[1]))
    return SurfacePoint(wp.length(offset) - scale[0], unit(offset, wp.vec3(1.0, 0.0, 0.0)), 1)


def bounds(scale, source=None):
    radius, height = sizes(scale, 2, "capsule")
    half = np.array([radius, radius, height + radius])
    return -half, half


def mass_properties(scale, source=None, density=1.0, thickness=None):
    radius, h = sizes(scale, 2, "capsule")

    def solid(inset: float) -> MassProperties:
        r = radius - inset
        cylinder = 2.0 * np.pi * r**2 * h
        ball = 4.0 / 3.0 * np.pi * r**3
        along = 0.5 * cylinder * r**2 + 0.4 * ball * r**2
        across = cylinder * (0.25 * r**2 + h**2 / 3.0) + ball * (0.4 * r**2 + h**2 + 0.75 * h * r)
        return MassProperties(cylinder + ball, np.zeros(3), np.diag((across, across, along)))

    return solid_or_hollow(solid, radius, density, thickness)


def surface(scale, source=None, segments=32):
    radius, height = sizes(scale, 2, "capsule")
    steps = max(segments // 4, 1)
    profile = (arc(radius, -height, -0.5 * np.pi, 0.0, steps), arc(radius, height, 0.0, 0.5 * np.pi, steps))
    return revolve(np.concatenate(profile), segments)


@wp.func
def capsule_support(d: wp.vec3d, g: ShapeGeometry):
    zero = wp.float64(0.0)
    return wp.vec3d(zero, zero, wp.where(d[2] < zero, -wp.float64(g.scale[1]), wp.float64(g.scale[1])))


@wp.func
def capsule_face(n: wp.vec3, g: ShapeGeometry):
    across = unit(wp.vec3(n[0], n[1], 0.0), wp.vec3(1.0, 0.0, 0.0))
    return segment(wp.vec3(0.0, 0.0, -g.scale[1]), wp.vec3(0.0, 0.0, g.scale[1]), across, 0)


CAPSULE = ShapeKind(
    "capsule",
    GeoType.CAPSULE,
    capsule_distance,
    bounds,
    mass_properties,
    surface,
    examples=((0.2, 0.5, 0.0), (0.4, 0.02, 0.0)),
    convex=Convex(capsule_support, capsule_face, capsule_face, rounded=True),
)

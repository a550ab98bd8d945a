"""Capsule: scale = (radius r, half height h without the caps, 0), axis Z, centred.

All points at distance r from the segment between (0, 0, -h) and (0, 0, h). With c its point closest to p:

    d = |p - c| - r,    n = (p - c) / |p - c|;    on the segment +X is taken.

Mass: a cylinder of height 2h, m_c = 2 pi r^2 h, and half balls, m_b = 2/3 pi r^3 each, whose centres of mass lie 3/8 r beyond the ends,

    cylinder    I_zz = m_c r^2/2,     I_xx = m_c (r^2/4 + h^2/3)
    half ball   I_zz = 2/5 m_b r^2,   I_xx = (2/5 - (3/8)^2) m_b r^2    about its own centre of mass.
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


def mass_properties(scale, source=None, density=1.0, thickness=None, caps=(True, True)):
    """As of every shape; ``caps`` says whether the half balls at -h and at h are there (segments of a rod share theirs)."""
    radius, h = sizes(scale, 2, "capsule")

    def solid(inset: float) -> MassProperties:
        r = radius - inset
        cylinder, ball = 2.0 * np.pi * r**2 * h, 2.0 / 3.0 * np.pi * r**3
        across = cylinder * (0.25 * r**2 + h**2 / 3.0)
        total = MassProperties(cylinder, np.zeros(3), np.diag((across, across, 0.5 * cylinder * r**2)))
        for side, there in zip((-1.0, 1.0), caps, strict=True):
            if there:
                moments = ball * r**2 * np.array([0.4 - 0.375**2, 0.4 - 0.375**2, 0.4])
                total = total + MassProperties(ball, np.array([0.0, 0.0, side * (h + 0.375 * r)]), np.diag(moments))
        return total

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

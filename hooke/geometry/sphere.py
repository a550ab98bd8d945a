"""Sphere: scale = (radius r, 0, 0), centred.

d = |p| - r,    n = p / |p|;    at the centre every direction is right, +Z is taken.
m = 4/3 pi r^3,    I = 2/5 m r^2.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex, ShapeGeometry, vertex
from hooke.geometry.inertia import MassProperties, solid_or_hollow
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint, sizes
from hooke.geometry.profile import arc, revolve, unit


@wp.func
def sphere_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    return SurfacePoint(wp.length(p) - scale[0], unit(p, wp.vec3(0.0, 0.0, 1.0)), 1)


def bounds(scale, source=None):
    half = np.full(3, sizes(scale, 1, "sphere")[0])
    return -half, half


def mass_properties(scale, source=None, density=1.0, thickness=None):
    (radius,) = sizes(scale, 1, "sphere")

    def solid(inset: float) -> MassProperties:
        r = radius - inset
        mass = 4.0 / 3.0 * np.pi * r**3
        return MassProperties(mass, np.zeros(3), 0.4 * mass * r**2 * np.eye(3))

    return solid_or_hollow(solid, radius, density, thickness)


def surface(scale, source=None, segments=32):
    (radius,) = sizes(scale, 1, "sphere")
    return revolve(arc(radius, 0.0, -0.5 * np.pi, 0.5 * np.pi, max(segments // 2, 2)), segments)


@wp.func
def sphere_support(d: wp.vec3d, g: ShapeGeometry):
    return wp.vec3d()


@wp.func
def sphere_face(n: wp.vec3, g: ShapeGeometry):
    return vertex(wp.vec3(), n, 0)


SPHERE = ShapeKind(
    "sphere",
    GeoType.SPHERE,
    sphere_distance,
    bounds,
    mass_properties,
    surface,
    examples=((0.5, 0.0, 0.0), (0.02, 0.0, 0.0)),
    convex=Convex(sphere_support, sphere_face, sphere_face, rounded=True),
)

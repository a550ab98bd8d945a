"""Cylinder: scale = (radius r, half height h, 0), axis Z, centred.

In the half plane (rho, z) it is a rectangle, and the distance is that of a box with q = (rho - r, |z| - h). On the axis the radial
direction is +X. A barrel (third size > 0) is not supported.

    m = 2 pi r^2 h,    I_zz = m r^2/2,    I_xx = m (r^2/4 + h^2/3).
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex, ShapeGeometry, segment, vertex
from hooke.geometry.disc import disc_face, rim_support
from hooke.geometry.inertia import MassProperties, solid_or_hollow
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint, sizes
from hooke.geometry.profile import TINY, radial, revolve, sign


@wp.func
def cylinder_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    side = radial(p)
    cap = wp.vec3(0.0, 0.0, sign(p[2]))
    q_rho = wp.dot(p, side) - scale[0]
    q_z = wp.abs(p[2]) - scale[1]
    outward = wp.max(q_rho, 0.0) * side + wp.max(q_z, 0.0) * cap
    d = wp.length(outward)
    if d > TINY:
        return SurfacePoint(d, outward / d, 1)
    if q_rho >= q_z:
        return SurfacePoint(q_rho, side, 1)
    return SurfacePoint(q_z, cap, 1)


def _sizes(scale) -> np.ndarray:
    values = np.asarray(scale, dtype=np.float64).reshape(-1)
    if len(values) > 2 and values[2] != 0.0:
        raise ValueError(f"cylinder: barrel_radius {values[2]:g} is not supported; set it to 0 or use a mesh or an ellipsoid")
    return sizes(values, 2, "cylinder")


def bounds(scale, source=None):
    radius, height = _sizes(scale)
    half = np.array([radius, radius, height])
    return -half, half


def mass_properties(scale, source=None, density=1.0, thickness=None):
    radius, height = _sizes(scale)

    def solid(inset: float) -> MassProperties:
        r, h = radius - inset, height - inset
        mass = 2.0 * np.pi * r**2 * h
        across = mass * (0.25 * r**2 + h**2 / 3.0)
        return MassProperties(mass, np.zeros(3), np.diag((across, across, 0.5 * mass * r**2)))

    return solid_or_hollow(solid, min(radius, height), density, thickness)


def surface(scale, source=None, segments=32):
    radius, height = _sizes(scale)
    return revolve(np.array([[0.0, -height], [radius, -height], [radius, height], [0.0, height]]), segments)


@wp.func
def cylinder_support(d: wp.vec3d, g: ShapeGeometry):
    return rim_support(d, wp.float64(g.scale[0]), wp.where(d[2] < wp.float64(0.0), -wp.float64(g.scale[1]), wp.float64(g.scale[1])))


@wp.func
def cylinder_face(n: wp.vec3, g: ShapeGeometry):
    """A round face where ``n`` is nearer to the axis than to the side, else the line of the side below it."""
    side = radial(n)
    if wp.abs(n[2]) >= wp.dot(n, side):
        return disc_face(n, g.scale[0], sign(n[2]) * g.scale[1])
    foot = g.scale[0] * side
    return segment(foot - wp.vec3(0.0, 0.0, g.scale[1]), foot + wp.vec3(0.0, 0.0, g.scale[1]), side, 32)


@wp.func
def cylinder_edge(n: wp.vec3, g: ShapeGeometry):
    side = radial(n)
    top = g.scale[0] * side + wp.vec3(0.0, 0.0, sign(n[2]) * g.scale[1])
    bottom = g.scale[0] * side - wp.vec3(0.0, 0.0, sign(n[2]) * g.scale[1])
    if wp.abs(n[2]) >= wp.dot(n, side):
        return vertex(top, n, 36)
    return segment(top, bottom, side, 32)


CYLINDER = ShapeKind(
    "cylinder",
    GeoType.CYLINDER,
    cylinder_distance,
    bounds,
    mass_properties,
    surface,
    examples=((0.3, 0.5, 0.0), (0.5, 0.05, 0.0)),
    convex=Convex(cylinder_support, cylinder_face, cylinder_edge),
)

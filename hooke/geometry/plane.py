"""Plane: scale = (width, length, 0) along X and Y, normal +Z, through the origin; a size of 0 is infinite, two are a half space.

Infinite: d = z, however deep. Finite: a sheet with one side. Above it d is the distance to the rectangle; below it d = z down to a
tenth of its shorter size, so that what has gone through comes back; what is deeper, or below and beside it, does not touch it.
Planes have no mass.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.inertia import MassProperties, check_thickness
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint
from hooke.geometry.profile import TINY, sign

DEPTH = wp.constant(0.1)
"""How deep a finite plane still acts, relative to the shorter of its sizes."""
INFINITE = wp.constant(1.0e30)


@wp.func
def plane_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    up = wp.vec3(0.0, 0.0, 1.0)
    width = wp.where(scale[0] > 0.0, scale[0], INFINITE)
    length = wp.where(scale[1] > 0.0, scale[1], INFINITE)
    beside = wp.vec3(
        wp.max(wp.abs(p[0]) - 0.5 * width, 0.0) * sign(p[0]), wp.max(wp.abs(p[1]) - 0.5 * length, 0.0) * sign(p[1]), 0.0
    )
    if wp.length(beside) > TINY:
        offset = beside + p[2] * up
        d = wp.length(offset)
        return SurfacePoint(d, offset / d, wp.where(p[2] < 0.0, 0, 1))
    return SurfacePoint(p[2], up, wp.where(p[2] < -DEPTH * wp.min(width, length), 0, 1))


def _extents(scale) -> np.ndarray:
    values = np.asarray(scale, dtype=np.float64).reshape(-1)
    if len(values) < 2 or not np.all(np.isfinite(values[:2])) or np.any(values[:2] < 0.0):
        raise ValueError(f"plane: expected width and length >= 0 (0 = infinite) in metres, found {values.tolist()}")
    return np.where(values[:2] > 0.0, values[:2], np.inf)


def bounds(scale, source=None):
    extents = _extents(scale)
    upper = np.append(0.5 * extents, 0.0)
    return np.append(-0.5 * extents, -float(DEPTH) * extents.min()), upper


def mass_properties(scale, source=None, density=1.0, thickness=None):
    check_thickness(thickness)
    return MassProperties.zero()


def surface(scale, source=None, segments=32):
    extents = _extents(scale)
    if not np.all(np.isfinite(extents)):
        return None
    x, y = 0.5 * extents
    vertices = np.array([[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]], dtype=np.float32)
    return vertices, np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


PLANE = ShapeKind(
    "plane",
    GeoType.PLANE,
    plane_distance,
    bounds,
    mass_properties,
    surface,
    examples=((2.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
)

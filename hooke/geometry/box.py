"""Box: scale = half extents h, centred.

With q = |p| - h (by component): outside, the closest point is reached by the positive part of q,

    d = |max(q, 0)|,    n = sign(p) max(q, 0) / d,

inside it lies on the nearest face, d = max_i q_i. On edges and at corners one of their faces is taken.

    m = 8 h_x h_y h_z,    I_xx = m (h_y^2 + h_z^2) / 3.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex, Corners, Face, Ids, ShapeGeometry, segment
from hooke.geometry.inertia import MassProperties, solid_or_hollow
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint, sizes
from hooke.geometry.profile import TINY, sign


@wp.func
def box_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    qx = wp.abs(p[0]) - scale[0]
    qy = wp.abs(p[1]) - scale[1]
    qz = wp.abs(p[2]) - scale[2]
    outward = wp.vec3(wp.max(qx, 0.0) * sign(p[0]), wp.max(qy, 0.0) * sign(p[1]), wp.max(qz, 0.0) * sign(p[2]))
    d = wp.length(outward)
    if d > TINY:
        return SurfacePoint(d, outward / d, 1)
    if qx >= qy and qx >= qz:
        return SurfacePoint(qx, wp.vec3(sign(p[0]), 0.0, 0.0), 1)
    if qy >= qz:
        return SurfacePoint(qy, wp.vec3(0.0, sign(p[1]), 0.0), 1)
    return SurfacePoint(qz, wp.vec3(0.0, 0.0, sign(p[2])), 1)


def bounds(scale, source=None):
    half = sizes(scale, 3, "box")
    return -half, half


def mass_properties(scale, source=None, density=1.0, thickness=None):
    half = sizes(scale, 3, "box")

    def solid(inset: float) -> MassProperties:
        squares = (half - inset) ** 2
        mass = 8.0 * float(np.prod(half - inset))
        return MassProperties(mass, np.zeros(3), np.diag(mass / 3.0 * (squares.sum() - squares)))

    return solid_or_hollow(solid, half.min(), density, thickness)


def surface(scale, source=None, segments=32):
    half = sizes(scale, 3, "box")
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) * half
    quads = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
    return corners.astype(np.float32), quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3).astype(np.int32)


@wp.func
def box_support(d: wp.vec3d, g: ShapeGeometry):
    h = wp.vec3d(wp.float64(g.scale[0]), wp.float64(g.scale[1]), wp.float64(g.scale[2]))
    zero = wp.float64(0.0)
    return wp.vec3d(wp.where(d[0] < zero, -h[0], h[0]), wp.where(d[1] < zero, -h[1], h[1]), wp.where(d[2] < zero, -h[2], h[2]))


@wp.func
def most_along(n: wp.vec3):
    """The axis that is nearest to parallel to ``n``; a later one only if it is so by more than rounding."""
    k = int(0)
    best = wp.abs(n[0])
    for j in range(1, 3):
        if wp.abs(n[j]) > best + 1.0e-6:
            k = j
            best = wp.abs(n[j])
    return k


@wp.func
def corner_id(p: wp.vec3):
    """A corner of a box by the signs of its coordinates, 0 to 7."""
    return wp.where(p[0] > 0.0, 1, 0) + wp.where(p[1] > 0.0, 2, 0) + wp.where(p[2] > 0.0, 4, 0)


@wp.func
def box_face(n: wp.vec3, g: ShapeGeometry):
    k = most_along(n)
    s = sign(n[k])
    i = (k + 1) % 3
    j = (k + 2) % 3
    normal = wp.vec3()
    normal[k] = s
    u = wp.vec3()
    u[i] = g.scale[i]
    v = wp.vec3()
    v[j] = s * g.scale[j]
    centre = g.scale[k] * normal
    corners = Corners()
    corners[0] = centre + u + v
    corners[1] = centre - u + v
    corners[2] = centre - u - v
    corners[3] = centre + u - v
    ids = Ids()
    for c in range(4):
        ids[c] = corner_id(corners[c])
    return Face(4, normal, corners, ids)


@wp.func
def box_edge(n: wp.vec3, g: ShapeGeometry):
    corner = wp.vec3(sign(n[0]) * g.scale[0], sign(n[1]) * g.scale[1], sign(n[2]) * g.scale[2])
    k = int(0)
    for j in range(1, 3):
        if wp.abs(n[j]) < wp.abs(n[k]):
            k = j
    other = corner
    other[k] = -corner[k]
    along = wp.vec3()
    along[k] = n[k]
    return segment(corner, other, wp.normalize(n - along), corner_id(corner))


BOX = ShapeKind(
    "box",
    GeoType.BOX,
    box_distance,
    bounds,
    mass_properties,
    surface,
    examples=((0.5, 0.4, 0.3), (1.0, 1.0, 0.01)),
    convex=Convex(box_support, box_face, box_edge),
)

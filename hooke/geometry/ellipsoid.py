"""Ellipsoid: scale = semi-axes e, centred.

The closest point x of p satisfies p - x = t grad(f)(x)/2 with f = sum (x_i/e_i)^2, so x_i = e_i^2 p_i / (e_i^2 + t). Let m be the
smallest semi-axis and

    z_i = |p_i| / e_i,  g_i = (e_i - m)(e_i + m) / m^2,  a_i = (1 + g_i) z_i,  u = 1 + t / m^2,  w_i = a_i / (u + g_i).    (1)

Then x_i = e_i w_i, and x is on the surface where |w(u)| = 1. The root with u > 0 is the closest point. 1/|w| is concave and,
near its pole, linear in u: Newton's method on 1/|w| = 1, started left of the root, converges monotonically in a few steps,

    u += |w|^2 (|w| - 1) / sum_i w_i^2 / (u + g_i),    u_0 = max_i (a_i - g_i).                                            (2)

With g_i computed as in (1) nothing cancels. A z_i of zero is raised to 1e-9, which gives a point on a plane of symmetry one of
its two equally close points, and the centre an end of the shortest axis. Outside and inside are the same formula: n is the
normal at x and d = n . (p - x).

    m = 4/3 pi e_x e_y e_z,    I_xx = m (e_y^2 + e_z^2) / 5.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex, ShapeGeometry, vertex
from hooke.geometry.inertia import MassProperties, solid_or_hollow
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint, sizes
from hooke.geometry.profile import arc, revolve, sign, unit

STEPS = wp.constant(24)
SMALLEST = wp.constant(1.0e-9)


@wp.func
def ellipsoid_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    e = scale
    m = wp.min(e)
    g = wp.vec3((e[0] - m) * (e[0] + m), (e[1] - m) * (e[1] + m), (e[2] - m) * (e[2] + m)) / (m * m)
    a = wp.vec3(
        (1.0 + g[0]) * wp.max(wp.abs(p[0]) / e[0], SMALLEST),
        (1.0 + g[1]) * wp.max(wp.abs(p[1]) / e[1], SMALLEST),
        (1.0 + g[2]) * wp.max(wp.abs(p[2]) / e[2], SMALLEST),
    )
    u = wp.max(a - g)
    w = wp.vec3(a[0] / (u + g[0]), a[1] / (u + g[1]), a[2] / (u + g[2]))
    for _ in range(STEPS):
        length = wp.length(w)
        if length < 1.0 + 1.0e-6:
            break
        slope = w[0] * w[0] / (u + g[0]) + w[1] * w[1] / (u + g[1]) + w[2] * w[2] / (u + g[2])
        u += length * length * (length - 1.0) / slope
        w = wp.vec3(a[0] / (u + g[0]), a[1] / (u + g[1]), a[2] / (u + g[2]))
    w = wp.normalize(w)
    w = wp.vec3(w[0] * sign(p[0]), w[1] * sign(p[1]), w[2] * sign(p[2]))
    normal = wp.normalize(m * wp.cw_div(w, e))
    return SurfacePoint(wp.dot(normal, p - wp.cw_mul(w, e)), normal, 1)


def bounds(scale, source=None):
    half = sizes(scale, 3, "ellipsoid")
    return -half, half


def mass_properties(scale, source=None, density=1.0, thickness=None):
    """A wall lies between this ellipsoid and the one whose semi-axes are shorter by ``thickness``: exact along the axes only."""
    axes = sizes(scale, 3, "ellipsoid")

    def solid(inset: float) -> MassProperties:
        squares = (axes - inset) ** 2
        mass = 4.0 / 3.0 * np.pi * float(np.prod(axes - inset))
        return MassProperties(mass, np.zeros(3), np.diag(0.2 * mass * (squares.sum() - squares)))

    return solid_or_hollow(solid, axes.min(), density, thickness)


def surface(scale, source=None, segments=32):
    axes = sizes(scale, 3, "ellipsoid")
    ball, indices = revolve(arc(1.0, 0.0, -0.5 * np.pi, 0.5 * np.pi, max(segments // 2, 2)), segments)
    return (ball * axes).astype(np.float32), indices


@wp.func
def ellipsoid_support(d: wp.vec3d, g: ShapeGeometry):
    """e_i^2 d_i / |e d|."""
    e = wp.vec3d(wp.float64(g.scale[0]), wp.float64(g.scale[1]), wp.float64(g.scale[2]))
    w = wp.cw_mul(e, d)
    length = wp.length(w)
    if length > wp.float64(0.0):
        return wp.cw_mul(e, w) / length
    return wp.vec3d(wp.float64(0.0), wp.float64(0.0), e[2])


@wp.func
def ellipsoid_face(n: wp.vec3, g: ShapeGeometry):
    w = wp.cw_mul(g.scale, n)
    return vertex(wp.cw_mul(g.scale, unit(w, wp.vec3(0.0, 0.0, 1.0))), n, 0)


ELLIPSOID = ShapeKind(
    "ellipsoid",
    GeoType.ELLIPSOID,
    ellipsoid_distance,
    bounds,
    mass_properties,
    surface,
    examples=((0.5, 0.4, 0.3), (0.1, 1.0, 0.5), (0.4, 0.4, 0.2)),
    convex=Convex(ellipsoid_support, ellipsoid_face, ellipsoid_face),
)

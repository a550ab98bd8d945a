"""Rotations, over float32 and float64: quaternions x y z w, rotation vectors and the angle about an axis.

With R = exp(k), the rotation by the angle |k| about k, and omega the angular velocity in the frame that R maps into,

    dk/dt = J^-1(k) omega,     J^-1(k) = I - [k]/2 + b [k]^2,     b = (1 - (a/2) cot(a/2)) / a^2,     a = |k|     (1)

where [k] is the matrix of the cross product with k; b is 1/12 at the identity.
"""

from typing import Any

import warp as wp

from hooke.math.algebra import vector

__all__ = [
    "dual_vector", "euler_angles", "inverse_jacobian", "near_hemisphere", "no_rotation", "rotation_vector", "skew", "turn_angle",
    "twist_angle",
]  # fmt: skip


@wp.func
def no_rotation(like: Any):
    """The identity quaternion over the kind of number of the scalar ``like``."""
    return wp.quaternion(type(like)(0.0), type(like)(0.0), type(like)(0.0), type(like)(1.0))


@wp.func
def near_hemisphere(q: Any):
    """The one of q and -q with w >= 0."""
    return wp.where(q[3] < type(q[3])(0.0), -q, q)


@wp.func
def rotation_vector(q: Any):
    """The rotation vector of a unit quaternion; its length is at most pi."""
    p = near_hemisphere(q)
    v = vector(p[0], p[1], p[2])
    inverse = type(p[3])(1.0) / p[3]
    s = wp.dot(v, v) * inverse * inverse  # the square of the tangent of half the angle
    one = type(s)(1.0)  # a literal 1/3 would be one of float32
    a = one / type(s)(13.0) - s * (one / type(s)(15.0))
    a = one / type(s)(9.0) - s * (one / type(s)(11.0) - s * a)
    a = one / type(s)(5.0) - s * (one / type(s)(7.0) - s * a)
    scale = type(s)(2.0) * inverse * (one - s * (one / type(s)(3.0) - s * a))
    if not (s < type(s)(0.01)):
        n = wp.length(v)
        scale = type(s)(2.0) * wp.atan2(n, p[3]) / n
    return scale * v


@wp.func
def twist_angle(q: Any, a: Any):
    """The angle in (-pi, pi] of the part of a rotation that is about the unit vector ``a``."""
    p = near_hemisphere(q)
    return type(p[3])(2.0) * wp.atan2(p[0] * a[0] + p[1] * a[1] + p[2] * a[2], p[3])


@wp.func
def turn_angle(a: Any, u: Any, v: Any):
    """The angle about the unit vector ``a`` that takes what of ``u`` is across it into the direction of that of ``v``.

    0 where one of them lies along ``a``, so that rounding decides nothing.
    """
    sine = wp.dot(a, wp.cross(u, v))
    cosine = wp.dot(u, v) - wp.dot(a, u) * wp.dot(a, v)
    angle = type(sine)(0.0)
    if wp.max(wp.abs(sine), wp.abs(cosine)) > type(sine)(1.0e-7):
        angle = wp.atan2(sine, cosine)
    return angle


@wp.func
def euler_angles(r: Any, a: Any, b: Any, c: Any):
    """Angles (q0, q1, q2) with R(a, q0) R(b, q1) R(c, q2) = r, for unit vectors with a, b and b, c not parallel.

    R c = R(a, q0) R(b, q1) c, so that s = R(b, q1) c = R(a, -q0) R c has known components along both axes:

        s . b = c . b,     s . a = R c . a,     s = x a + y b + z a x b,     |s x a| = |R c x a|.           (2)

    The sign of z is that at q1 = 0, or for a small q1 > 0 if z is 0 there (c is a again, the angles of Euler). Where
    s lies in the plane of a and b (gimbal lock) the split of the turn is arbitrary.
    """
    end = wp.quat_rotate(r, c)
    d = wp.dot(a, b)
    across = wp.cross(a, b)
    area = wp.dot(across, across)
    along_a, along_b = wp.dot(end, a), wp.dot(c, b)
    x = (along_a - d * along_b) / area
    y = (along_b - d * along_a) / area
    side_of_a = wp.cross(a, end)  # as long as that of s, and precise where it is small
    rest = wp.dot(side_of_a, side_of_a) - y * y * area
    z = wp.sqrt(wp.max(rest, type(d)(0.0)) / area)
    side = wp.dot(c, across)
    if wp.abs(side) < type(d)(1.0e-6):
        side = wp.dot(wp.cross(b, c), across)
    if side < type(d)(0.0):
        z = -z
    s = x * a + y * b + z * across
    first = turn_angle(a, s, end)
    second = turn_angle(b, c, s)
    both = wp.quat_from_axis_angle(a, first) * wp.quat_from_axis_angle(b, second)
    return vector(first, second, twist_angle(wp.quat_inverse(both) * r, c))


@wp.func
def skew(v: Any):
    """The matrix of the cross product with v."""
    zero = v[0] - v[0]
    return wp.matrix_from_rows(vector(zero, -v[2], v[1]), vector(v[2], zero, -v[0]), vector(-v[1], v[0], zero))


@wp.func
def inverse_jacobian(k: Any):
    """J^-1 of (1)."""
    s = wp.dot(k, k)
    b = type(s)(1.0 / 12.0) + s * (
        type(s)(1.0 / 720.0) + s * (type(s)(1.0 / 30240.0) + s * (type(s)(1.0 / 1209600.0) + s * type(s)(1.0 / 47900160.0)))
    )
    if s > type(s)(0.09):
        half = type(s)(0.5) * wp.sqrt(s)
        b = (type(s)(1.0) - half * wp.cos(half) / wp.sin(half)) / s
    x, y, z = b * k[0], b * k[1], b * k[2]
    half, one = type(s)(0.5), type(s)(1.0) - b * s  # [k]^2 = k k^T - s
    return wp.matrix_from_rows(
        vector(one + x * k[0], x * k[1] + half * k[2], x * k[2] - half * k[1]),
        vector(x * k[1] - half * k[2], one + y * k[1], y * k[2] + half * k[0]),
        vector(x * k[2] + half * k[1], y * k[2] - half * k[0], one + z * k[2]),
    )


@wp.func
def dual_vector(a: Any, b: Any, c: Any, count: int, k: int):
    """The vector d_k in the span of the first ``count`` of a, b, c with d_k . (that of number i) = 1 for i = k and else 0.

    Where they nearly lose their rank (gimbal lock) it stays finite.
    """
    first, second, third = a, b, c
    if k == 1:
        first, second, third = b, c, a
    if k == 2:
        first, second, third = c, a, b
    result = first / wp.dot(first, first)
    if count == 2:
        other = wp.where(k == 0, b, a)
        across = wp.cross(first, other)
        result = wp.cross(other, across) / wp.max(wp.dot(across, across), type(a[0])(1.0e-12))
    if count == 3:
        across = wp.cross(second, third)
        volume = wp.dot(first, across)
        result = across / wp.where(
            volume < type(a[0])(0.0), wp.min(volume, type(a[0])(-1.0e-6)), wp.max(volume, type(a[0])(1.0e-6))
        )
    return result

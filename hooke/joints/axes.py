"""Motion along and about axes: what all kinds with scalar coordinates share.

With linear axes l_i and angular axes a_i, unit vectors in the parent anchor frame,

    p = sum_i q_i l_i,     R = R(a_1, q_1) R(a_2, q_2) R(a_3, q_3),                                            (1)
    v = sum_i qd_i l_i,    omega = sum_i qd_i s_i,     s_1 = a_1,  s_2 = R(a_1, q_1) a_2,  s_3 = R(a_1, q_1) R(a_2, q_2) a_3.   (2)

Coordinates come first for the linear, then for the angular axes. The inverse of (1) is least squares for p and closed formulas for R
(:func:`hooke.joints.rotation.euler_angles`); that of (2) are the dual vectors of l_i and of s_i.
"""

from typing import Any

import warp as wp

from hooke.joints.kind import Place
from hooke.joints.rotation import dual_vector, euler_angles, no_rotation, turn_angle, twist_angle
from hooke.math.algebra import vector

__all__ = [
    "axes_of_axes", "coordinates_of_axes", "rates_of_axes", "rotation_about", "transform_of_axes", "translation_along",
]  # fmt: skip


@wp.func
def axis_or_none(axis: wp.array(dtype=Any), first: int, count: int, k: int):
    """Axis number k of ``count``, the zero vector behind the last."""
    zero = axis.dtype()
    if k < count:
        zero = axis[first + k]
    return zero


@wp.func
def translation_along(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """The translation of (1)."""
    p = axis.dtype()
    for k in range(place.linear):
        p += q[place.q + k] * axis[place.qd + k]
    return p


@wp.func
def rotation_about(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), count: int):
    """The product of the first ``count`` rotations of (1)."""
    r = no_rotation(q.dtype(0.0))
    for k in range(count):
        r = r * wp.quat_from_axis_angle(axis[place.qd + place.linear + k], q[place.q + place.linear + k])
    return r


@wp.func
def transform_of_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """J(q) by (1)."""
    return wp.transformation(translation_along(place, axis, q), rotation_about(place, axis, q, place.angular))


@wp.func
def coordinates_of_axes(place: Place, axis: wp.array(dtype=Any), x: Any):
    """The inverse of (1), linear coordinates first."""
    p, r = wp.transform_get_translation(x), wp.transform_get_rotation(x)
    zero = p[0] - p[0]
    c = wp.vector(zero, zero, zero, zero, zero, zero, zero)
    l0, l1 = axis_or_none(axis, place.qd, place.linear, 0), axis_or_none(axis, place.qd, place.linear, 1)
    l2 = axis_or_none(axis, place.qd, place.linear, 2)
    for k in range(place.linear):
        c[k] = wp.dot(dual_vector(l0, l1, l2, place.linear, k), p)
    first = place.qd + place.linear
    a0, a1 = axis_or_none(axis, first, place.angular, 0), axis_or_none(axis, first, place.angular, 1)
    angles = vector(zero, zero, zero)
    if place.angular == 1:
        angles = vector(twist_angle(r, a0), zero, zero)
    if place.angular == 2:
        turn = turn_angle(a0, a1, wp.quat_rotate(r, a1))
        angles = vector(turn, twist_angle(wp.quat_from_axis_angle(a0, -turn) * r, a1), zero)
    if place.angular == 3:
        angles = euler_angles(r, a0, a1, axis[first + 2])
    for k in range(place.angular):
        c[place.linear + k] = angles[k]
    return c


@wp.func
def axes_of_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """The motion of (2) for a unit of qd_k."""
    zero = axis.dtype()
    if k < place.linear:
        return axis[place.qd + k], zero
    return zero, wp.quat_rotate(rotation_about(place, axis, q, k - place.linear), axis[place.qd + k])


@wp.func
def rates_of_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """The wrench whose power in the motion (2) is qd_k."""
    zero = axis.dtype()
    if k < place.linear:
        l0, l1 = axis_or_none(axis, place.qd, place.linear, 0), axis_or_none(axis, place.qd, place.linear, 1)
        return dual_vector(l0, l1, axis_or_none(axis, place.qd, place.linear, 2), place.linear, k), zero
    first = place.qd + place.linear
    r1, r2 = rotation_about(place, axis, q, wp.min(place.angular, 1)), rotation_about(place, axis, q, wp.min(place.angular, 2))
    s0 = axis_or_none(axis, first, place.angular, 0)
    s1 = wp.quat_rotate(r1, axis_or_none(axis, first, place.angular, 1))
    s2 = wp.quat_rotate(r2, axis_or_none(axis, first, place.angular, 2))
    return zero, dual_vector(s0, s1, s2, place.angular, k - place.linear)

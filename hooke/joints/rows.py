"""Rows of a joint: how far a pair of anchors is from obeying it, and how that changes with the motion of the two bodies.

With X = P^-1 C = (p, R) the relative pose of the anchors, and L the basis whose first columns are the linear axes, a row is locked for
each axis that is not there:

    linear      c = L^T p                                                                                     (1)
    angular, by the number of angular axes
      none      c = k, the rotation vector of R,        c' = J^-1(k) omega                                    (2)
      one, a    c = A^T (a x R a),                      c' = A^T ((a . R a) omega - (a . omega) R a)          (3)
      two       c = a_1 . a_2 - a_1 . R a_2,            c' = (a_1 x R a_2) . omega                            (4)
      three     none

omega is the relative angular velocity in the axes of the parent anchor, A the basis whose first column is a. (3) is smooth for a hinge
that turns as often as it likes, where a component of (2) is not; (4) is exact, where a component of (2) is not even zero.

A motion of (v, omega) at a point x, relative to the parent, is that of a wrench pair (f, t) at x: f . v + t . omega is the rate, and

    J_child = (f, (x - com_child) x f + t),     J_parent = -(f, (x - com_parent) x f + t)                      (5)

times the twists (velocity of the centre of mass, angular velocity) the same. x is the child anchor for rows and for the rates of kinds
whose velocities are those of the anchor; levers from the anchor of the parent would be wrong by omega x p.
"""

from typing import Any

import warp as wp

from hooke.joints.axes import axis_or_none
from hooke.joints.kind import Place
from hooke.joints.rotation import inverse_jacobian, no_rotation, rotation_vector
from hooke.math.algebra import vector

__all__ = [
    "angular_rows", "axis_basis", "bases_of_joint", "is_locked", "linear_rows", "relative_pose", "relative_twist", "wrench_pair",
]  # fmt: skip


@wp.func
def relative_pose(parent: Any, child: Any):
    """X of two anchors in the world."""
    return wp.transform_inverse(parent) * child


@wp.func
def axis_basis(a: Any, b: Any, count: int):
    """The rotation whose first columns are the unit axes: a, and b made orthogonal to it; the identity for none.

    For one axis the second column is across the coordinate axis two behind the largest component of a.
    """
    basis = no_rotation(a[0])
    if count > 0:
        y = b - wp.dot(a, b) * a
        if count == 1:
            side = type(a)()
            large = int(0)
            if wp.abs(a[1]) > wp.abs(a[0]):
                large = 1
            if wp.abs(a[2]) > wp.abs(a[large]):
                large = 2
            side[(large + 2) % 3] = type(a[0])(1.0)
            y = wp.cross(side, a)
        y = wp.normalize(y)
        basis = wp.quat_from_matrix(wp.matrix_from_cols(a, y, wp.cross(a, y)))
    return basis


@wp.func
def bases_of_joint(place: Place, axis: wp.array(dtype=Any)):
    """Bases of the linear and of the angular axes in the axes of the parent anchor."""
    first = place.qd + place.linear
    l0, l1 = axis_or_none(axis, place.qd, place.linear, 0), axis_or_none(axis, place.qd, place.linear, 1)
    a0, a1 = axis_or_none(axis, first, place.angular, 0), axis_or_none(axis, first, place.angular, 1)
    return axis_basis(l0, l1, place.linear), axis_basis(a0, a1, place.angular)


@wp.func
def is_locked(place: Place, i: int):
    """Whether row i (0 to 2 linear, 3 to 5 angular) is one of the joint."""
    return (i < 3 and i >= place.linear) or (i >= 3 and i - 3 >= place.angular)


@wp.func
def linear_rows(basis: Any, p: Any):
    """The residuals (1), and the matrix whose rows map v to their rates."""
    x = wp.quat_rotate(basis, vector(type(p[0])(1.0), type(p[0])(0.0), type(p[0])(0.0)))
    y = wp.quat_rotate(basis, vector(type(p[0])(0.0), type(p[0])(1.0), type(p[0])(0.0)))
    m = wp.matrix_from_rows(x, y, wp.cross(x, y))
    return m * p, m


@wp.func
def angular_rows(place: Place, axis: wp.array(dtype=Any), basis: Any, r: Any):
    """The residuals (2) to (4) at the relative rotation r, and the matrix whose rows map omega to their rates."""
    k = rotation_vector(r)
    zero = k[0] - k[0]
    c, m = k, inverse_jacobian(k)
    first = place.qd + place.linear
    if place.angular == 1:
        a = axis[first]
        u = wp.quat_rotate(r, a)
        _value, side = linear_rows(basis, a)
        c = side * wp.cross(a, u)
        m = wp.dot(a, u) * side - wp.outer(side * u, a)
    if place.angular == 2:
        u = wp.quat_rotate(r, axis[first + 1])
        c = vector(zero, zero, wp.dot(axis[first], axis[first + 1]) - wp.dot(axis[first], u))
        m = wp.matrix_from_rows(axis[first], axis[first + 1], wp.cross(axis[first], u))
    return c, m


@wp.func
def wrench_pair(f: Any, t: Any, x: Any, com_parent: Any, com_child: Any):
    """(J_parent, J_child) of (5), six numbers each, in world axes."""
    m, n = wp.cross(x - com_parent, f) + t, wp.cross(x - com_child, f) + t
    return -wp.vector(f[0], f[1], f[2], m[0], m[1], m[2]), wp.vector(f[0], f[1], f[2], n[0], n[1], n[2])


@wp.func
def relative_twist(x: Any, com_parent: Any, parent: Any, com_child: Any, child: Any):
    """(v, omega) of the child relative to the parent at the point x, from their twists, in world axes."""
    vp, wp_ = vector(parent[0], parent[1], parent[2]), vector(parent[3], parent[4], parent[5])
    vc, wc = vector(child[0], child[1], child[2]), vector(child[3], child[4], child[5])
    return vc + wp.cross(wc, x - com_child) - vp - wp.cross(wp_, x - com_parent), wc - wp_

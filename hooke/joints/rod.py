"""The rod joint: an elastic connection of two segments along +Z of their anchors, with stretch, shear, bending and twisting apart.

Coordinates are those of the free joint. With the relative pose X = (p, R), R = (x, y, z, w) split into a swing about an axis across z
and then a twist about z,

    R = swing twist,     n^2 = z^2 + w^2,     tan(theta/2) of the swing = sqrt(x^2 + y^2) / n

the strains against the rest pose (p_0, R_0) are, all in the axes of the parent anchor,

    shear, stretch     u = p - p_0                          (components x, y and z)                             (1)
    bending            b = 2 (w x - y z, w y + x z) / n^2   (|b| = 2 tan(theta/2), the curvature times length)  (2)
    twisting           t = 2 atan2(z, w)                                                                        (3)

each minus its value at R_0. With d = R e_z and omega the relative angular velocity, d' = omega x d, and as b = 2 (-d_y, d_x) / (1 + d_z),

    b' = 2 (-d_y', d_x') / (1 + d_z) - b d_z' / (1 + d_z),     t' = (e_z + d) . omega / (1 + d_z).              (4)

(Bergou et al. 2008, Discrete Elastic Rods: the curvature binormal and the twist of a material frame.)
"""

from dataclasses import replace
from typing import Any

import warp as wp

from hooke.joints.free import FREE
from hooke.joints.kind import JointType
from hooke.joints.rotation import skew
from hooke.math.algebra import vector

__all__ = ["ROD", "bend_and_twist", "rod_strain"]

MOST_BEND = 20.0  # of |b|, at 169 degrees: beyond, (2) grows without bounds


@wp.func
def bend_and_twist(r: Any):
    """(2) and (3) of a relative rotation, and the matrix of (4) that maps omega to their rates."""
    n2 = wp.max(r[2] * r[2] + r[3] * r[3], type(r[0])(1.0e-12))
    bx = type(r[0])(2.0) * (r[3] * r[0] - r[1] * r[2]) / n2
    by = type(r[0])(2.0) * (r[3] * r[1] + r[0] * r[2]) / n2
    twist = type(r[0])(2.0) * wp.atan2(r[2], r[3])
    d = wp.quat_rotate(r, vector(type(r[0])(0.0), type(r[0])(0.0), type(r[0])(1.0)))
    turn = -skew(d)  # rows: the components of d' for omega
    scale = type(r[0])(0.5) / n2  # 1 / (1 + d_z)
    row_x = scale * (type(r[0])(-2.0) * turn[1] - bx * turn[2])
    row_y = scale * (type(r[0])(2.0) * turn[0] - by * turn[2])
    row_z = scale * vector(d[0], d[1], d[2] + type(r[0])(1.0))
    return vector(bx, by, twist), wp.matrix_from_rows(row_x, row_y, row_z)


@wp.func
def rod_strain(x: Any, rest: Any):
    """Strains (1) to (3) against the rest pose, linear and angular, and the matrix that maps omega to the rate of the latter."""
    strain, rate = bend_and_twist(wp.transform_get_rotation(x))
    size = wp.sqrt(strain[0] * strain[0] + strain[1] * strain[1])
    if size > type(strain[0])(MOST_BEND):
        strain = vector(strain[0] * type(strain[0])(MOST_BEND) / size, strain[1] * type(strain[0])(MOST_BEND) / size, strain[2])
    start, _rate = bend_and_twist(wp.transform_get_rotation(rest))
    k = strain - start
    turn = type(strain[0])(6.283185307179586)
    k = vector(k[0], k[1], k[2] - turn * wp.round(k[2] / turn))
    return wp.transform_get_translation(x) - wp.transform_get_translation(rest), k, rate


ROD = replace(
    FREE, name="rod", code=JointType.ROD, locked=(1, 1, 1, 1, 1, 1), constraints=False, material=(3, 3), strain=rod_strain,
)  # fmt: skip

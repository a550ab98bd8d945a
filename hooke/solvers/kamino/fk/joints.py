"""Residuals of joints at some poses, and how they change with the twists of their bodies.

A joint that has targets is a weld to the relative pose J(q) = (p_0, R_0), whatever its kind, so that no coordinate is singular:

    p - p_0,     k = the rotation vector of R R_0^-1,     k' = J^-1(k) omega                                       (1)

where (p, R) is the pose of the child anchor relative to that of the parent; others have the rows of :mod:`hooke.joints.rows`. Angles and
their rows are multiplied by a length.
"""

from typing import Any

import warp as wp

from hooke.joints.dispatch import joint_transform
from hooke.joints.kind import Place
from hooke.joints.layout import joint_place
from hooke.joints.rotation import inverse_jacobian, rotation_vector
from hooke.joints.rows import angular_rows, bases_of_joint, linear_rows
from hooke.model.tables import Bodies, Joints
from hooke.solvers.kamino.fk.data import FkSpace, Row, Rows
from hooke.solvers.kamino.fk.structure import TARGET, Chain

__all__ = ["Anchors", "anchors_of", "unit_quaternion", "update_joint", "widened"]

WELDED = wp.constant(TARGET)
vec3d: Any = wp.vec3d
quatd: Any = wp.quatd
transformd: Any = wp.transformd


@wp.struct
class Anchors:
    """Relative pose of the anchors of a joint, axes of the parent's, and the levers of the child's on both bodies."""

    x: transformd
    axes: quatd
    on_child: vec3d
    on_parent: vec3d
    coms: vec3d


@wp.func
def widened(v: wp.vec3):
    return vec3d(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))


@wp.func
def unit_quaternion(q: wp.quat):
    return wp.normalize(quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3])))


@wp.func
def anchors_of(joints: Joints, bodies: Bodies, com: wp.array(dtype=vec3d), rotation: wp.array(dtype=quatd), j: int):
    """The anchors of a joint."""
    f = Anchors()
    child, parent = joints.child[j], joints.parent[j]
    anchor, base = joints.X_c[j], joints.X_p[j]
    q = wp.float64(1.0) * rotation[child]
    f.on_child = wp.quat_rotate(q, widened(wp.transform_get_translation(anchor)) - widened(bodies.com[child]))
    end = q * unit_quaternion(wp.transform_get_rotation(anchor))
    local = widened(wp.transform_get_translation(base))
    f.axes = unit_quaternion(wp.transform_get_rotation(base))
    f.coms = wp.float64(1.0) * com[child]
    if parent >= 0:
        p = wp.float64(1.0) * rotation[parent]
        local = wp.quat_rotate(p, widened(wp.transform_get_translation(base)) - widened(bodies.com[parent]))
        f.axes = p * f.axes
        f.coms = f.coms - com[parent]
    gap = f.coms + (f.on_child - local)
    f.on_parent = local + gap
    f.x = wp.transformation(wp.quat_rotate_inv(f.axes, gap), wp.quat_inverse(f.axes) * end)
    return f


@wp.func
def write_row(
    j: int, i: int, anchors: Anchors, along: vec3d, about: vec3d, child: wp.array(dtype=Rows), parent: wp.array(dtype=Rows)
):
    """Row i of a joint, from its parts in the axes of the parent anchor."""
    f, torque = wp.quat_rotate(anchors.axes, along), wp.quat_rotate(anchors.axes, about)
    c, p = wp.cross(anchors.on_child, f) + torque, wp.cross(anchors.on_parent, f) + torque
    for k in range(3):
        child[j][i, k] = f[k]
        child[j][i, 3 + k] = c[k]
        parent[j][i, k] = -f[k]
        parent[j][i, 3 + k] = -p[k]


@wp.func
def update_joint(joints: Joints, bodies: Bodies, chain: Chain, space: FkSpace, j: int, length: wp.float64):
    """Write residuals and rows of a joint; the largest residual [m or rad], and the sum of their squares, angles times ``length``."""
    place, code = joint_place(chain.layout, j), joints.type[j]
    anchors = anchors_of(joints, bodies, space.com, space.rotation, j)
    linear, angular = 1 * place.linear, 1 * place.angular
    p, r = wp.transform_get_translation(anchors.x), wp.transform_get_rotation(anchors.x)
    one, zero = wp.float64(1.0), wp.float64(0.0)
    across = wp.mat33d(one, zero, zero, zero, one, zero, zero, zero, one)
    c, turn = vec3d(), wp.mat33d()
    if chain.kind[j] == WELDED:
        linear, angular = 0, 0
        goal = joint_transform(code, place, chain.axis, space.q)
        c = rotation_vector(r * wp.quat_inverse(wp.transform_get_rotation(goal)))
        turn = inverse_jacobian(c)
        p = p - wp.transform_get_translation(goal)
    else:
        along, about = bases_of_joint(place, chain.axis)
        p, across = linear_rows(along, p)
        c, turn = angular_rows(place, chain.axis, about, r)
    error, largest, total = Row(), wp.float64(0.0), wp.float64(0.0)
    row = int(0)
    for i in range(linear, 3):
        error[row] = p[i]
        largest = wp.max(largest, wp.abs(p[i]))
        total += p[i] * p[i]
        write_row(j, row, anchors, across[i], vec3d(), space.child, space.parent)
        row += 1
    for i in range(angular, 3):
        error[row] = length * c[i]
        largest = wp.max(largest, wp.abs(c[i]))
        total += length * length * c[i] * c[i]
        write_row(j, row, anchors, vec3d(), length * turn[i], space.child, space.parent)
        row += 1
    space.error[j] = error
    return largest, total

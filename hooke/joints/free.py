"""The free joint: no constraint; the coordinates are the pose of the child anchor, X = (p, R).

    q = (p, quaternion x y z w),     qd = (v, omega)

v is the velocity of the child's centre of mass relative to the parent, omega the relative angular velocity, both in the axes of the
parent anchor: for a parent that stands still, in the world's axes, that is ``body_qd``.
"""

from typing import Any

import warp as wp

from hooke.joints.kind import JointKind, JointType, Place
from hooke.math.algebra import vector

__all__ = ["FREE", "pose_axes", "pose_coordinates", "pose_transform"]


@wp.func
def pose_transform(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """The pose (p, R); the quaternion is normalised."""
    i = place.q
    r = wp.normalize(wp.quaternion(q[i + 3], q[i + 4], q[i + 5], q[i + 6]))
    return wp.transformation(vector(q[i], q[i + 1], q[i + 2]), r)


@wp.func
def pose_coordinates(place: Place, axis: wp.array(dtype=Any), x: Any):
    """The seven numbers of a pose."""
    p, r = wp.transform_get_translation(x), wp.transform_get_rotation(x)
    return wp.vector(p[0], p[1], p[2], r[0], r[1], r[2], r[3])


@wp.func
def pose_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """A unit of velocity or of angular velocity along one of the anchor's axes; rates are the same."""
    zero = axis.dtype()
    unit = axis.dtype()
    unit[k % 3] = q.dtype(1.0)
    if k < 3:
        return unit, zero
    return zero, unit


FREE = JointKind(
    name="free",
    code=JointType.FREE,
    locked=(0, 0, 0, 0, 0, 0),
    transform=pose_transform,
    coordinates=pose_coordinates,
    axes=pose_axes,
    rates=pose_axes,
    quaternion=True,
    at_com=True,
)

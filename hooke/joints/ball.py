"""The ball joint: the anchors' origins coincide, X = (0, R).

q = quaternion x y z w of R,     qd = omega, in the axes of the parent anchor.
"""

from typing import Any

import warp as wp

from hooke.joints.kind import JointKind, JointType, Place

__all__ = ["BALL"]


@wp.func
def ball_transform(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """J(q) = (0, R); the quaternion is normalised."""
    i = place.q
    return wp.transformation(axis.dtype(), wp.normalize(wp.quaternion(q[i], q[i + 1], q[i + 2], q[i + 3])))


@wp.func
def ball_coordinates(place: Place, axis: wp.array(dtype=Any), x: Any):
    """The quaternion."""
    r = wp.transform_get_rotation(x)
    zero = r[0] - r[0]
    return wp.vector(r[0], r[1], r[2], r[3], zero, zero, zero)


@wp.func
def ball_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """A unit of angular velocity about one of the anchor's axes; rates are the same."""
    unit = axis.dtype()
    unit[k] = q.dtype(1.0)
    return axis.dtype(), unit


BALL = JointKind(
    name="ball",
    code=JointType.BALL,
    locked=(1, 1, 1, 0, 0, 0),
    transform=ball_transform,
    coordinates=ball_coordinates,
    axes=ball_axes,
    rates=ball_axes,
    quaternion=True,
)

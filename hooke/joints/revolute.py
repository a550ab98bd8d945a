"""The revolute joint (hinge) about a unit axis a of the parent anchor:

    X = (0, R(a, q)),     omega = a qd,     q = angle in (-pi, pi] of the part of R that is about a.

Locked are the three translations and the two rotations across a, measured by the sine of the angle between the axes (rows.py), which is
smooth at every q.
"""

from typing import Any

import warp as wp

from hooke.joints.kind import JointKind, JointType, Place
from hooke.joints.rotation import twist_angle

__all__ = ["REVOLUTE"]


@wp.func
def revolute_transform(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """J(q) = (0, R(a, q))."""
    return wp.transformation(axis.dtype(), wp.quat_from_axis_angle(axis[place.qd], q[place.q]))


@wp.func
def revolute_coordinates(place: Place, axis: wp.array(dtype=Any), x: Any):
    """The angle about a."""
    zero = x[0] - x[0]
    angle = twist_angle(wp.transform_get_rotation(x), axis[place.qd])
    return wp.vector(angle, zero, zero, zero, zero, zero, zero)


@wp.func
def revolute_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """A unit of angular velocity about a; as a is a unit vector, this is the wrench as well."""
    return axis.dtype(), axis[place.qd]


REVOLUTE = JointKind(
    name="revolute",
    code=JointType.REVOLUTE,
    locked=(1, 1, 1, 0, 1, 1),
    transform=revolute_transform,
    coordinates=revolute_coordinates,
    axes=revolute_axes,
    rates=revolute_axes,
    examples=(((), ((0, 0, 1),)), ((), ((0.6, 0.0, -0.8),))),
)

"""The prismatic joint (slider) along a unit axis a of the parent anchor:

    X = (q a, 1),     v = a qd,     q = a . p.

Locked are the two translations across a and the three rotations.
"""

from typing import Any

import warp as wp

from hooke.joints.kind import JointKind, JointType, Place
from hooke.joints.rotation import no_rotation

__all__ = ["PRISMATIC"]


@wp.func
def prismatic_transform(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """J(q) = (q a, 1)."""
    return wp.transformation(q[place.q] * axis[place.qd], no_rotation(q[place.q]))


@wp.func
def prismatic_coordinates(place: Place, axis: wp.array(dtype=Any), x: Any):
    """The displacement along a."""
    zero = x[0] - x[0]
    return wp.vector(wp.dot(axis[place.qd], wp.transform_get_translation(x)), zero, zero, zero, zero, zero, zero)


@wp.func
def prismatic_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """A unit of velocity along a; as a is a unit vector, this is the wrench as well."""
    return axis[place.qd], axis.dtype()


PRISMATIC = JointKind(
    name="prismatic",
    code=JointType.PRISMATIC,
    locked=(0, 1, 1, 1, 1, 1),
    transform=prismatic_transform,
    coordinates=prismatic_coordinates,
    axes=prismatic_axes,
    rates=prismatic_axes,
    examples=((((1, 0, 0),), ()), (((0.0, 0.6, 0.8),), ())),
)

"""The fixed joint: the anchors coincide, X = 1. It has no coordinates; all six relative motions are locked."""

from typing import Any

import warp as wp

from hooke.joints.kind import JointKind, JointType, Place
from hooke.joints.rotation import no_rotation

__all__ = ["FIXED"]


@wp.func
def fixed_transform(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    """The identity."""
    return wp.transformation(axis.dtype(), no_rotation(q.dtype(0.0)))


@wp.func
def fixed_coordinates(place: Place, axis: wp.array(dtype=Any), x: Any):
    """None."""
    zero = x[0] - x[0]
    return wp.vector(zero, zero, zero, zero, zero, zero, zero)


@wp.func
def fixed_axes(place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    """None; there is no k to ask for."""
    return axis.dtype(), axis.dtype()


FIXED = JointKind(
    name="fixed",
    code=JointType.FIXED,
    locked=(1, 1, 1, 1, 1, 1),
    transform=fixed_transform,
    coordinates=fixed_coordinates,
    axes=fixed_axes,
    rates=fixed_axes,
)

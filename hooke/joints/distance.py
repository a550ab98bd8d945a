"""The distance joint: the anchors stay within a least and a largest distance; coordinates as those of the free joint.

    lower <= |p| <= upper,     d|p|/dt = n . v,     n = p / |p|                                                (1)

The limits are those of the first degree of freedom; a negative one given to the builder is none. The row (1) is one-sided.
"""

from dataclasses import replace
from typing import Any

import warp as wp

from hooke.joints.free import FREE
from hooke.joints.kind import JointType

__all__ = ["DISTANCE", "distance_row"]


@wp.func
def distance_row(p: Any):
    """|p| and its direction n by (1), in the axes of p; where the anchors coincide any direction is as good."""
    distance = wp.length(p)
    n = type(p)()
    n[0] = type(distance)(1.0)
    if distance > type(distance)(0.0):
        n = p / distance
    return distance, n


DISTANCE = replace(FREE, name="distance", code=JointType.DISTANCE, one_sided=True)

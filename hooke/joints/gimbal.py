"""The gimbal joint: turning about three orthogonal axes, one after the other, a case of D6 with three angles in place of a quaternion.

    X = (0, R(a_1, q_0) R(a_2, q_1) R(a_3, q_2)),     locked: the translations.

Two triples of angles give the same rotation: (q_0, q_1, q_2), and for orthogonal axes (q_0 + pi, pi - q_1, q_2 + pi), each up to full
turns. :func:`nearest_angles` picks the one next to where the joint was. At q_1 = +-pi/2 the first and the last axis coincide
(gimbal lock); rates stay finite there but miss the motion that no coordinate describes.
"""

from typing import Any

import warp as wp

from hooke.joints.d6 import case_of_d6
from hooke.math.algebra import vector

__all__ = ["GIMBAL", "nearest_angles", "nearest_turn"]


@wp.func
def nearest_turn(angle: Any, previous: Any):
    """``angle`` up to full turns, as near to ``previous`` as can be."""
    turn = type(angle)(6.283185307179586)
    return angle + turn * wp.round((previous - angle) / turn)


@wp.func
def nearest_angles(angles: Any, previous: Any):
    """The triple of the same rotation about orthogonal axes that is nearest to ``previous``."""
    half = type(angles[0])(3.141592653589793)
    a = vector(nearest_turn(angles[0], previous[0]), nearest_turn(angles[1], previous[1]), nearest_turn(angles[2], previous[2]))
    b = vector(
        nearest_turn(angles[0] + half, previous[0]),
        nearest_turn(half - angles[1], previous[1]),
        nearest_turn(angles[2] + half, previous[2]),
    )
    return wp.where(wp.length_sq(b - previous) < wp.length_sq(a - previous), b, a)


GIMBAL = case_of_d6(
    "gimbal",
    (1, 1, 1, 0, 0, 0),
    (((), ((1, 0, 0), (0, 1, 0), (0, 0, 1))), ((), ((1, 0, 0), (0, 1, 0), (0, 0, -1)))),  # right- and left-handed
)

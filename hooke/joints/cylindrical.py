"""The cylindrical joint: sliding along and turning about one axis a, a case of D6.

X = (q_0 a, R(a, q_1)),     locked: the translations and the rotations across a.
"""

from hooke.joints.d6 import case_of_d6

__all__ = ["CYLINDRICAL"]

CYLINDRICAL = case_of_d6(
    "cylindrical", (0, 1, 1, 0, 1, 1), ((((1, 0, 0),), ((1, 0, 0),)), (((0.0, 0.6, 0.8),), ((0.0, 0.6, 0.8),)))
)

"""The Cartesian joint: sliding along three axes without turning, a case of D6.

X = (q_0 l_1 + q_1 l_2 + q_2 l_3, 1),     locked: the rotations.
"""

from hooke.joints.d6 import case_of_d6

__all__ = ["CARTESIAN"]

CARTESIAN = case_of_d6("cartesian", (0, 0, 0, 1, 1, 1), ((((1, 0, 0), (0, 1, 0), (0, 0, 1)), ()),))

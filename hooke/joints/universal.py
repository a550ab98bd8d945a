"""The universal joint: turning about a_1 of the parent and a_2 of the child, orthogonal, a case of D6.

    X = (0, R(a_1, q_0) R(a_2, q_1)),     q_0 = angle about a_1 from a_2 to R a_2,     q_1 = angle of R(a_1, -q_0) R about a_2.

The locked rotation is no component of a rotation vector (for small angles the one along a_1 x a_2 is q_0 q_1 / 2). It is that the axes
stay orthogonal: a_1 . R a_2 = 0 (rows.py).
"""

from hooke.joints.d6 import case_of_d6

__all__ = ["UNIVERSAL"]

UNIVERSAL = case_of_d6("universal", (1, 1, 1, 0, 0, 1), (((), ((1, 0, 0), (0, 1, 0))), ((), ((0.6, 0.0, 0.8), (0.8, 0.0, -0.6)))))

"""Friction laws of a contact row, as a secant stiffness.

With the slip u in the tangent plane, the normal load N and the coefficient mu, a law gives c >= 0 such that

    f = -c u,     H = c (I - n n^T),     |f| <= mu N                                               (1)

which majorises the law: the block stays positive semidefinite, and a resting contact has a tangential stiffness.
"""

from typing import Any

import warp as wp

from hooke.math import constant, larger, select, smaller

__all__ = ["anchored_friction", "smoothed_friction"]


@wp.func
def smoothed_friction(slip: Any, load: Any, mu: Any, threshold: Any):
    """Coulomb's law smoothed over a slip distance ``threshold`` (= friction_epsilon dt); u is the slip since the start of the step.

    |f| = mu N (2 q - q^2) with q = |u| / threshold below 1, else mu N: continuously differentiable, holds only by creeping.
    """
    safe = larger(threshold, constant(1.0e-30, slip))
    ramp = (constant(2.0, slip) - slip / safe) / safe
    return mu * load * select(slip - safe, constant(1.0, slip) / larger(slip, safe), ramp)


@wp.func
def anchored_friction(stretch: Any, load: Any, mu: Any, stiffness: Any):
    """A spring to the point where the contact stuck, limited by Coulomb's cone; u is the stretch from that anchor.

    Below the limit the contact is at rest at a fixed point, so it does not creep; at the limit the anchor is dragged along.
    """
    return smaller(stiffness, mu * load / larger(stretch, constant(1.0e-30, stretch)))

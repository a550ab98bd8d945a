"""Friction laws of a contact row, as a secant stiffness.

With the slip u in the tangent plane, the normal load N and the coefficient mu, a law gives c >= 0 such that

    f = -c u,     H = c (I - n n^T),     |f| <= mu N                                               (1)

which majorises the law: the block stays positive semidefinite, and a resting contact has a tangential stiffness. Where a contact
slides, a step with (1) alone approaches the solution slowly: by tan/mu per iteration on a slope. The force there does not depend on
the slip, so Newton's method has the slope 0 along it. A step with that slope may overshoot into sticking or sliding backwards, so
the slope is the least one with which it ends no farther than the edge e where the contact begins to stick:

    slope = max(0, G/(|u| - e) - A)                                                                (2)

with the gradient G and the stiffness A of everything else along the slip. The next step then starts from where the contact sticks.
"""

from typing import Any

import warp as wp

from hooke.math import add, constant, div, larger, mul, neg, positive, select, smaller, sub, zero

__all__ = ["anchored_edge", "anchored_friction", "slope_correction", "smoothed_edge", "smoothed_friction"]


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


@wp.func
def smoothed_edge(load: Any, mu: Any, threshold: Any):
    """The slip at which the ramp of the smoothed law ends."""
    return threshold


@wp.func
def anchored_edge(load: Any, mu: Any, stiffness: Any):
    """The stretch at which the spring to the anchor reaches the cone."""
    return mu * load / stiffness


@wp.func
def slope_correction(slip: Any, edge: Any, secant: Any, gradient: Any, stiffness: Any):
    """What to add to the stiffness along the slip: the slope (2) less the secant where the contact slides, else nothing.

    ``gradient`` is that of everything along the slip, ``stiffness`` that of everything but this contact's friction.
    """
    room = slip - edge
    slope = positive(gradient / larger(room, constant(1.0e-30, room)) - stiffness)
    return select(room, slope - secant, zero(room))

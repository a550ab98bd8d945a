"""Contact of a particle with a surface: the normal law and a friction law put together.

The row is a plane through the surface point b with the unit normal n, fixed for the step. With the position x of the particle, R its
radius plus the margin, and the anchor a on the surface from which the slip is measured,

    p = R - n.(x - b),     w = n.(x - x_s - (b - b_s)),     u = (I - n n^T)(x - a)                 (1)

are penetration, normal motion over the step (s: start of the step) and slip. The gradient is minus the force on the particle.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.contact.coulomb import anchored_edge, anchored_friction, slope_correction, smoothed_edge, smoothed_friction
from hooke.contact.normal import normal_force
from hooke.math import add, apply, constant, div, dot, isotropic, larger, mul, neg, norm, outer, select, sub, zero

__all__ = ["FRICTION_LAWS", "make_particle_contact", "make_slip_correction", "penetration"]

FRICTION_LAWS = {"anchored": (anchored_friction, anchored_edge), "smoothed": (smoothed_friction, smoothed_edge)}
"""Secant and edge of a law by name. Their last argument is the row's ``grip``: a stiffness when anchored, a slip when smoothed."""


@wp.func
def penetration(offset: Any, normal: Any, radius: Any):
    """How deep the particle stands in the surface, p of (1); ``offset`` = x - b."""
    return radius - dot(normal, offset)


@functools.cache
def make_particle_contact(friction: str) -> Any:
    """The function of a contact with the friction law of that name."""
    law, _edge = FRICTION_LAWS[friction]

    @wp.func
    def particle_contact(
        offset: Any, motion: Any, reach: Any, normal: Any, radius: Any, stiffness: Any, damping_rate: Any, mu: Any, grip: Any
    ):
        """Gradient, Hessian, load and secant stiffness of friction.

        ``offset`` = x - b, ``motion`` = x - x_s - (b - b_s), ``reach`` = x - a, ``damping_rate`` = c/dt.
        """
        load, force, curvature = normal_force(
            penetration(offset, normal, radius), neg(dot(normal, motion)), stiffness, damping_rate
        )
        slip = reach - dot(normal, reach) * normal
        tangential = law(norm(slip), load, mu, grip)
        gradient = tangential * slip - force * normal
        return gradient, isotropic(tangential) + (curvature - tangential) * outer(normal), load, tangential

    return particle_contact


@functools.cache
def make_slip_correction(friction: str) -> Any:
    """The function that sharpens the block of a sliding contact with the friction law of that name."""
    _law, edge = FRICTION_LAWS[friction]

    @wp.func
    def slip_correction(reach: Any, normal: Any, load: Any, secant: Any, mu: Any, grip: Any, gradient: Any, hessian: Any):
        """The block to add to ``hessian``; it and ``gradient`` are the sums at the particle with all secants in them."""
        slip = reach - dot(normal, reach) * normal
        length = norm(slip)
        t = slip / larger(length, constant(1.0e-30, length))
        stiffness = dot(t, apply(hessian, t)) - secant
        slope = slope_correction(length, edge(load, mu, grip), secant, dot(t, gradient), stiffness)
        return select(load, slope, zero(load)) * outer(t)  # without load there is no friction

    return slip_correction

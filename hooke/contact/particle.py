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

from hooke.contact.coulomb import anchored_friction, smoothed_friction
from hooke.contact.normal import normal_force
from hooke.math import Block, add, div, dot, isotropic, mul, norm, outer, sub

__all__ = ["FRICTION_LAWS", "make_particle_contact"]

FRICTION_LAWS = {"anchored": anchored_friction, "smoothed": smoothed_friction}
"""Law by name. The last argument of a law is the row's ``grip``: a stiffness when anchored, a slip distance when smoothed."""


@functools.cache
def make_particle_contact(friction: str) -> Any:
    """The function of a contact with the friction law of that name."""
    law = FRICTION_LAWS[friction]

    @wp.func
    def particle_contact(
        offset: Any, motion: Any, reach: Any, normal: Any, radius: Any, stiffness: Any, damping_rate: Any, mu: Any, grip: Any
    ):
        """Gradient, Hessian, load and secant stiffness of friction.

        ``offset`` = x - b, ``motion`` = x - x_s - (b - b_s), ``reach`` = x - a, ``damping_rate`` = c/dt.
        """
        load, force, curvature = normal_force(radius - dot(normal, offset), -dot(normal, motion), stiffness, damping_rate)
        slip = reach - dot(normal, reach) * normal
        tangential = law(norm(slip), load, mu, grip)
        gradient = tangential * slip - force * normal
        return gradient, isotropic(tangential) + (curvature - tangential) * outer(normal), load, tangential

    return particle_contact

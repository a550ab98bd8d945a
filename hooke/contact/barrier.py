"""Contact of two features of a surface: a normal law that grows without bound, with smoothed friction.

With the distance d, the interaction distance r, tau = r/2 and the stiffness k, the energy is quadratic where features begin to
interact, logarithmic nearer, and its Taylor polynomial below d0 = min(1e-5 m, tau/2), where a logarithm would overflow:

    E = k/2 (r - d)^2                       tau <= d < r                                           (1)
    E = k tau^2 (1/2 + ln(tau/d))           d0 < d < tau                                           (2)
    -E' = k tau^2 (2 d0 - d)/d0^2           d <= d0                                                (3)

It has two continuous derivatives but for d = r, where it has one (Chen et al., Offset Geometric Contact, 2025). A damper acts on
approach only, friction is bounded by the elastic load. With the displacement u of the nearest points relative to each other since the
start of the step and the normal n, fixed for an iteration, d = d_s + n.u.
"""

from typing import Any

import warp as wp

from hooke.contact.coulomb import smoothed_friction
from hooke.math import add, constant, div, dot, isotropic, larger, mul, neg, norm, outer, positive, select, smaller, sub, zero

__all__ = ["barrier", "feature_contact"]


@wp.func
def barrier(distance: Any, radius: Any, tau: Any, stiffness: Any):
    """Force and derivative -E', E'' of (1) to (3); with ``tau`` 0 it is (1) at every distance."""
    least = smaller(constant(1.0e-5, tau), constant(0.5, tau) * tau)
    near = larger(distance, larger(least, constant(1.0e-20, least)))
    touching = radius - distance
    strength = stiffness * tau * tau
    deep = least - distance
    log_force = strength / near
    log_slope = log_force / near
    log_force = log_force + positive(deep) * log_slope
    inside = select(tau, tau - distance, zero(tau))
    force = select(inside, log_force, stiffness * positive(touching))
    slope = select(inside, log_slope, select(touching, stiffness, zero(stiffness)))
    return force, slope


@wp.func
def feature_contact(
    change: Any, motion: Any, distance: Any, normal: Any, radius: Any, tau: Any, stiffness: Any, damping_rate: Any, mu: Any,
    threshold: Any,
):  # fmt: skip
    """Derivatives by the displacement ``change`` of the nearest points: the gradient and a positive semidefinite block.

    ``distance`` is d_s where the other side has already moved by ``motion``, ``damping_rate`` = c/dt, ``threshold`` the slip distance
    that smooths friction.
    """
    load, slope = barrier(distance + dot(normal, change), radius, tau, stiffness)
    relative = change - motion
    along = dot(normal, relative)
    rate = select(load, select(neg(along), damping_rate, zero(damping_rate)), zero(damping_rate))
    slip = relative - along * normal
    tangential = smoothed_friction(norm(slip), load, mu, threshold)
    gradient = tangential * slip - (load - rate * along) * normal
    return gradient, isotropic(tangential) + (slope + rate - tangential) * outer(normal)

"""The sets of the problem: Coulomb's cone K = {|t| <= mu n}, its dual, and bounds; and De Saxce's term.

Vectors of a contact are (tangent, tangent, normal). For the projections see theory 5.4: the test for the polar cone comes first, so
that mu = 0 is a half-line and not a division by zero.
"""

from typing import Any

import warp as wp

__all__ = [
    "clamp_row", "complementarity_of_row", "de_saxce", "natural_map_of_contact", "natural_map_of_row", "project_cone",
    "project_dual_cone",
]  # fmt: skip


@wp.func
def project_cone(a: Any, mu: Any):
    """The point of K nearest to a."""
    t = wp.sqrt(a[0] * a[0] + a[1] * a[1])
    n = a[2]
    result = a
    if mu * t <= -n:
        result = a - a
    elif t > mu * n:
        n = (mu * t + n) / (mu * mu + type(mu)(1.0))
        shrink = mu * n / t
        result[0] = a[0] * shrink
        result[1] = a[1] * shrink
        result[2] = n
    return result


@wp.func
def project_dual_cone(a: Any, mu: Any):
    """The point of K* = {mu |t| <= n} nearest to a."""
    t = wp.sqrt(a[0] * a[0] + a[1] * a[1])
    n = a[2]
    result = a
    if mu * t > n:
        if t > -mu * n:
            beta = (t + mu * n) / (mu * mu + type(mu)(1.0))
            result[0] = a[0] * (beta / t)
            result[1] = a[1] * (beta / t)
            result[2] = mu * beta
        else:
            result = a - a
    return result


@wp.func
def clamp_row(a: Any, low: Any, high: Any):
    """The number of [low, high] nearest to a."""
    return wp.min(wp.max(a, low), high)


@wp.func
def de_saxce(v: Any, mu: Any):
    """The normal part of s(v), mu |v_t|, with which Coulomb's law is complementarity in K."""
    return mu * wp.sqrt(v[0] * v[0] + v[1] * v[1])


@wp.func
def complementarity_of_row(x: Any, z: Any, low: Any, high: Any):
    """(x - low) max(z, 0) + (high - x) max(-z, 0), |x z| where only l >= 0 is asked, 0 where nothing is."""
    zero = x - x
    bound = type(x)(1.0e30)
    result = zero
    if low > -bound and high < bound:
        result = (x - low) * wp.max(z, zero) + (high - x) * wp.max(-z, zero)
    elif low > -bound:
        result = wp.abs((x - low) * z)
    elif high < bound:
        result = wp.abs((high - x) * z)
    return result


@wp.func
def natural_map_of_row(x: Any, z: Any, low: Any, high: Any):
    """The natural map x - P(x - z) of a row."""
    return x - clamp_row(x - z, low, high)


@wp.func
def natural_map_of_contact(x: Any, v: Any, mu: Any):
    """The natural map x - P(x - v - s(v)) of a contact, of a velocity v without De Saxce's term."""
    a = x - v
    a[2] = a[2] - de_saxce(v, mu)
    return x - project_cone(a, mu)

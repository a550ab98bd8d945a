"""Normal law of a body-particle contact: quadratic penalty with a damper that acts on approach only.

With the penetration p > 0 and the relative normal motion w over the step (negative on approach), per unit normal:

    f = k p - min(0, w) c/dt,     H = k + [w < 0] c/dt                                             (1)

The load that bounds friction is the elastic part k p alone. Where k is ramped, it grows with the penetration between iterations,

    k <- min(k + beta max(0, p), k_max)                                                            (2)
"""

from typing import Any

import warp as wp

from hooke.math import add, constant, div, mul, neg, positive, select, smaller, sub, zero

__all__ = ["normal_force", "ramped_stiffness"]


@wp.func
def normal_force(penetration: Any, approach: Any, stiffness: Any, damping_rate: Any):
    """Elastic load, total force and derivative of (1); ``approach`` = -w, ``damping_rate`` = c/dt. All zero without penetration."""
    touching = select(penetration, constant(1.0, penetration), zero(penetration))
    load = stiffness * positive(penetration)
    rate = select(approach, damping_rate * touching, zero(approach))
    return load, load + rate * positive(approach), stiffness * touching + rate


@wp.func
def ramped_stiffness(stiffness: Any, penetration: Any, beta: Any, most: Any):
    """The stiffness of the next iteration, (2)."""
    return smaller(stiffness + beta * positive(penetration), most)

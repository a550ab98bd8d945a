"""Spring between two particles.

With l = |x_i - x_j|, u = (x_i - x_j)/l, rest length L and l_s the length at the start of the step,

    E = k/2 (l - L)^2 + c/(2 dt) (l - l_s)^2                                                        (1)
    dE/dx_i = (k (l - L) + c (l - l_s)/dt) u                                                        (2)
    d2E/dx_i2 = k u u^T + k max(0, 1 - L/l) (I - u u^T) + (c/dt) u u^T                              (3)

The transverse term of a compressed spring is negative and is dropped in (3); the damper is purely axial.
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements.element import Element
from hooke.elements.lanes import LaneRecords, LaneView, change, start
from hooke.math import add, constant, div, dot, isotropic, larger, mul, neg, norm, outer, positive, sub

SPRING_TABLE = Table(
    "spring",
    "spring_",
    (
        Column("indices", wp.int32, -1, width=2, flat=True, refers="particle", minimum=0, doc="The two particles of each spring."),
        Column("rest_length", wp.float32, 0.0, "m", "Length without force.", minimum=0.0),
        Column("stiffness", wp.float32, 100.0, "N/m", "Stiffness.", minimum=0.0),
        Column("damping", wp.float32, 0.0, "N s/m", "Axial damping.", minimum=0.0),
        Column("control", wp.float32, 0.0, "", "Value kept for actuators of the user.", kernel=False),
    ),
    doc="Springs between two particles.",
)
Springs = SPRING_TABLE.struct


@wp.func
def stretch_energy(d: Any, rest: Any, stiffness: Any):
    stretch = norm(d) - rest
    return constant(0.5, rest) * stiffness * stretch * stretch


@wp.func
def stretch_derivatives(d: Any, d_start: Any, rest: Any, stiffness: Any, damping_rate: Any):
    """Derivatives (2), (3) with respect to the particle that ``d`` points to; ``damping_rate`` = c/dt."""
    length = larger(norm(d), constant(1.0e-12, rest))
    u = d / length
    tension = stiffness * (length - rest) + damping_rate * (dot(d - d_start, d + d_start) / (length + norm(d_start)))
    transverse = positive(stiffness - stiffness * rest / length)
    hessian = isotropic(transverse) + (stiffness + damping_rate - transverse) * outer(u)
    return tension * u, hessian


@wp.func
def spring_energy(e: Springs, k: int, x: wp.array(dtype=wp.vec3)):
    return stretch_energy(x[e.indices[2 * k]] - x[e.indices[2 * k + 1]], e.rest_length[k], e.stiffness[k])


@wp.func
def spring_gradient_hessian(
    e: Springs, k: int, slots: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float
):
    slot = slots >> 1
    i = e.indices[2 * k + slot]
    j = e.indices[2 * k + 1 - slot]
    start = x_start[i] - x_start[j]
    return stretch_derivatives(start + (d[i] - d[j]), start, e.rest_length[k], e.stiffness[k], e.damping[k] / dt)


@wp.func
def spring_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    begin = start(r, k, 1)
    now = begin + (change(r, k, 1, d) - change(r, k, 0, d))
    return stretch_derivatives(now, begin, r.constant[k, 0], r.constant[k, 1], rate * r.constant[k, 2])


def spring_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    return np.stack([c[name][rows] for name in ("rest_length", "stiffness", "damping")], axis=1)


SPRING = Element(
    SPRING_TABLE,
    2,
    spring_energy,
    spring_gradient_hessian,
    acts=lambda c: (c["stiffness"] != 0) | (c["damping"] != 0),
    views=(LaneView({0: (1, 0), 1: (0, 1)}, spring_constants, spring_lanes),),
)

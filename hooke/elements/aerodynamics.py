"""Drag and lift of the air on triangles.

A triangle of area A and unit normal n, both as the step begins, moves with the mean velocity of its corners; u is that less the wind,
u_n = n . u and u_t = u - u_n n. Drag opposes u; lift is perpendicular to it, in the plane of u and n:

    - D A |u_n| u - L A u_n (|u| n - u_n u/|u|) = - (p u_n n + q u_t)                               (1)
    p = A (D |u_n| + L |u_t|^2/|u|),     q = A |u_n| (D - L |u_n|/|u|)                              (2)

Seen from the wind, at an angle of attack with sine |u_n|/|u|, drag is D A |u|^2 sin and lift L A |u|^2 sin cos; a front and its back are
alike. D = rho C_D/2 and L = rho C_L/2 [kg/m^3]: halves of the density of the air times numbers of order one. Where lift outweighs drag
a thin sheet has no edge to bear the suction that would pull it forward: q is max(0, q). So the air takes energy from every relative
motion, and any D and L are stable. A third of the force acts on each corner, evaluated at the end of the step; its potential is

    dt (A D |u_n|^3/3 + A L |u_t|^2/|u| u_n^2/2 + q |u_t|^2/2),  |u_t|^2/|u| and q frozen           (3)

where it is evaluated, with the positive semidefinite block ((p + A D |u_n|) n n^T + q (I - n n^T))/(9 dt) for a corner. The air is the
last corner of the element: a point behind the particles that moves with the wind.
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.elements.element import Element
from hooke.elements.lanes import LaneRecords, LaneView, change, keep, start
from hooke.elements.triangle import TRIANGLE_TABLE, Triangles
from hooke.math import add, constant, cross, div, dot, isotropic, larger, mul, neg, norm, outer, positive, sub


@wp.func
def air_derivatives(area: Any, u: Any, drag: Any, lift: Any):
    """Derivatives of (3)/dt with respect to u, for a triangle with the area vector A n."""
    tiny = constant(1.0e-30, drag)
    size = norm(area)
    n = area / larger(size, tiny)
    across = dot(n, u)
    along = u - across * n
    rate = larger(across, neg(across))
    speed = larger(norm(u), tiny)
    resistance = size * drag * rate
    p = resistance + size * lift * (dot(along, along) / speed)
    q = positive(resistance - size * lift * rate * (rate / speed))
    return p * across * n + q * along, isotropic(q) + (p + resistance - q) * outer(n)


@wp.func
def air_gradient_hessian(e: Triangles, k: int, slots: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float):
    i = e.indices[k, 0]
    j = e.indices[k, 1]
    m = e.indices[k, 2]
    area = 0.5 * cross(x_start[j] - x_start[i], x_start[m] - x_start[i])
    third = 1.0 / 3.0
    u = (third * (d[i] + d[j] + d[m]) - d[d.shape[0] - 1]) / dt
    gradient, hessian = air_derivatives(area, u, e.materials[k, 3], e.materials[k, 4])
    share = third * float((slots & 1) + ((slots >> 1) & 1) + ((slots >> 2) & 1)) - float(slots >> 3)
    return share * gradient, (share * share / dt) * hessian


@wp.func
def begin_air(r: LaneRecords, k: int):
    """The area vector, in the place of an edge it comes from."""
    normal = cross(start(r, k, 1), start(r, k, 2))
    keep(r, k, 1, constant(0.5, normal.x) * normal)


@wp.func
def air_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    drag = r.constant[k, 0]
    moved = constant(1.0 / 3.0, drag) * (change(r, k, 0, d) + change(r, k, 1, d) + change(r, k, 2, d)) - change(r, k, 3, d)
    gradient, hessian = air_derivatives(start(r, k, 1), constant(rate, drag) * moved, drag, r.constant[k, 1])
    share = r.constant[k, 2]
    return share * gradient, (rate * (share * share)) * hessian


def air_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Drag, lift, and the share of the mean velocity."""
    return np.column_stack([c["materials"][rows, 3:5], moves[:, :3].sum(axis=1) / 3.0])


AERODYNAMICS = Element(
    TRIANGLE_TABLE,
    4,
    None,
    air_gradient_hessian,
    acts=lambda c: (c["materials"][:, 3:] != 0).any(axis=1),
    views=(LaneView(dict.fromkeys(range(3), (0, 1, 2, 3)), air_constants, air_lanes, begin_air),),
    title="aerodynamics",
    point=lambda rows, count: np.full(len(rows), -1),
)

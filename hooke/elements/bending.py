"""Bending: a discrete hinge on the edge of two triangles.

A row is (o0, o1, v0, v1): the opposite vertices x0, x1 and the edge x2, x3; the triangles (o0, v0, v1) and (o1, v1, v0) are wound
counter-clockwise. With e = x3 - x2, n1 = (x2 - x0) x (x3 - x0) and n2 = (x3 - x1) x (x2 - x1) the angle is

    theta = atan2((n1 x n2) . e/|e|, n1 . n2)                                                      (1)

zero when flat, negative when both opposite vertices are lifted towards the common normal. Its gradient has two terms per vertex,

    dtheta/dx = p n1/|n1|^2 + q n2/|n2|^2                                                          (2)

with (p, q) = (-|e|, 0), (0, -|e|), ((x3-x0).e, (x3-x1).e)/|e|, -((x2-x0).e, (x2-x1).e)/|e| for the four slots; they sum to zero.
With the rest angle theta_0, L the rest length of the edge and theta_s the angle at the start of the step,

    E = k L/2 (theta - theta_0)^2 + c L/(2 dt) (theta - theta_s)^2                                 (3)

and the block is the Gauss-Newton one, L (k + c/dt) (dtheta/dx)(dtheta/dx)^T. Differences of angles are taken to (-pi, pi], the
elastic one through theta_s, so that a fold does not flip within a step. A hinge of vanishing height is regularised relative to
its edge: heights below 1e-4 |e| count as that.
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements.element import Element
from hooke.elements.lanes import LaneRecords, LaneView, change, place, start
from hooke.geometry.measure import cross as cross_rows
from hooke.math import (
    VectorL,
    add,
    angle,
    constant,
    cross,
    div,
    dot,
    exact_angle,
    larger,
    mul,
    neg,
    norm,
    outer,
    rounded,
    select,
    smaller,
    sub,
    unit_scale,
    zero,
)

BENDING_TABLE = Table(
    "edge",
    "edge_",
    (
        Column(
            "indices",
            wp.int32,
            -1,
            width=4,
            refers="particle",
            minimum=(-1, -1, 0, 0),
            doc="Opposite vertices (-1 at a boundary), then the edge.",
        ),
        Column("rest_angle", wp.float32, 0.0, "rad", "Dihedral angle without moment."),
        Column("rest_length", wp.float32, 0.0, "m", "Length of the edge at rest.", minimum=0.0),
        Column("bending_properties", wp.float32, 0.0, "", "ke [N], kd [N s].", width=2, minimum=0.0),
    ),
    doc="Edges of triangle meshes; those with two triangles bend as hinges.",
)
Edges = BENDING_TABLE.struct


def measure_hinges(x0: np.ndarray, x1: np.ndarray, x2: np.ndarray, x3: np.ndarray) -> np.ndarray:
    """Dihedral angles (1) of hinges, shape (n,) [rad], from the positions (n, 3) [m] of their four vertices.

    In float32 and in the order of :func:`hinge_angle`, so that a hinge at its rest angle has no moment left by rounding.
    """
    x0, x1, x2, x3 = (np.asarray(x, np.float32) for x in (x0, x1, x2, x3))
    x0, x1, x3, x2 = x0 - x2, x1 - x2, x3 - x2, np.zeros_like(x2)

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]

    e = x3 - x2
    n1 = cross_rows(x2 - x0, x3 - x0)
    n2 = cross_rows(x3 - x1, x2 - x1)
    length = np.maximum(np.sqrt(dot(e, e)), np.float32(1.0e-18))
    sine, cosine = dot(cross_rows(n1, n2), e) / length, dot(n1, n2)
    return np.arctan2(sine.astype(np.float64), cosine.astype(np.float64))  # rounded once, when the model is made


@wp.func
def wrap(a: Any):
    """An angle within (-2 pi, 2 pi) taken to (-pi, pi]."""
    pi = constant(3.14159265358979, a)
    turn = constant(6.28318530717959, a)
    return select(a - pi, a - turn, select(neg(a) - pi, a + turn, a))


@wp.func
def hinge_sides(x0: Any, x1: Any, x2: Any, x3: Any):
    """Sine and cosine of (1) up to one positive factor, and a number that is positive where both triangles have a height."""
    e = x3 - x2
    n1 = cross(x2 - x0, x3 - x0)
    n2 = cross(x3 - x1, x2 - x1)
    ee = dot(e, e)
    length = larger(norm(e), constant(1.0e-18, ee))
    height = smaller(dot(n1, n1), dot(n2, n2)) - constant(1.0e-8, ee) * ee * ee
    return dot(cross(n1, n2), e) / length, dot(n1, n2), height


@wp.func
def hinge_angle(x0: Any, x1: Any, x2: Any, x3: Any):
    """The angle (1), and a number that is positive where both triangles have a height."""
    sine, cosine, height = hinge_sides(x0, x1, x2, x3)
    return angle(sine, cosine), height


@wp.func
def hinge_gradient(x0: Any, x1: Any, x2: Any, x3: Any, slot: int):
    """The gradient (2) with respect to the vertex in ``slot``."""
    e = x3 - x2
    n1 = cross(x2 - x0, x3 - x0)
    n2 = cross(x3 - x1, x2 - x1)
    ee = dot(e, e)
    length = larger(norm(e), constant(1.0e-18, ee))
    least = constant(1.0e-8, ee) * ee * ee + constant(1.0e-36, ee)
    p = neg(length)
    q = zero(length)
    if slot == 1:
        p = zero(length)
        q = neg(length)
    if slot == 2:
        p = dot(x3 - x0, e) / length
        q = dot(x3 - x1, e) / length
    if slot == 3:
        p = dot(x0 - x2, e) / length
        q = dot(x1 - x2, e) / length
    return (p / larger(dot(n1, n1), least)) * n1 + (q / larger(dot(n2, n2), least)) * n2


@wp.func
def bending_moment(turned: Any, offset: Any, gradient: Any, stiffness: Any, damping_rate: Any):
    """Derivatives of (3) per length, from the turn over the step and the offset from rest at its start."""
    moment = stiffness * (offset + turned) + damping_rate * turned
    return moment * gradient, (stiffness + damping_rate) * outer(gradient)


@wp.func
def bending_derivatives(theta: Any, theta_start: Any, rest: Any, gradient: Any, stiffness: Any, damping_rate: Any):
    """Derivatives of (3) per length; ``damping_rate`` = c/dt."""
    return bending_moment(wrap(theta - theta_start), wrap(theta_start - rest), gradient, stiffness, damping_rate)


@wp.func
def bending_energy(e: Edges, k: int, x: wp.array(dtype=wp.vec3)):
    if e.indices[k, 0] < 0 or e.indices[k, 1] < 0:
        return float(0.0)
    theta, _valid = hinge_angle(x[e.indices[k, 0]], x[e.indices[k, 1]], x[e.indices[k, 2]], x[e.indices[k, 3]])
    difference = wrap(theta - e.rest_angle[k])
    return 0.5 * e.bending_properties[k, 0] * e.rest_length[k] * difference * difference


@wp.func
def bending_gradient_hessian(e: Edges, k: int, slots: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float):
    i = e.indices[k, 0]
    j = e.indices[k, 1]
    v = e.indices[k, 2]
    w = e.indices[k, 3]
    o = x_start[v]
    si = x_start[i] - o
    sj = x_start[j] - o
    sw = x_start[w] - o
    theta, _valid = hinge_angle(si + d[i], sj + d[j], d[v], sw + d[w])
    theta_start, valid = hinge_angle(si, sj, wp.vec3(0.0), sw)
    gradient = wp.vec3(0.0)
    for s in range(4):
        if (slots & (1 << s)) != 0:
            gradient += hinge_gradient(si + d[i], sj + d[j], d[v], sw + d[w], s)
    rate = select(valid, e.bending_properties[k, 1] / dt, 0.0)  # a folded-up start shape has no angle to measure a rate from
    rest = e.rest_angle[k]
    theta_start = select(valid, theta_start, rest)
    force, hessian = bending_derivatives(theta, theta_start, rest, gradient, e.bending_properties[k, 0], rate)
    length = e.rest_length[k]
    return length * force, length * hessian


@wp.func
def bending_lanes(r: LaneRecords, k: int, x0: VectorL, x1: VectorL, x2: VectorL, x3: VectorL, gradient: VectorL, rate: float):
    """The turn comes from the sine and cosine of the difference of angles, which vanishes exactly where nothing has moved."""
    sine, cosine, _height = hinge_sides(x0, x1, x2, x3)
    sine_start = r.constant[k, 4]
    cosine_start = r.constant[k, 5]
    turned = angle(rounded(sine * cosine_start) - rounded(cosine * sine_start), cosine * cosine_start + sine * sine_start)
    return bending_moment(turned, r.constant[k, 3], gradient, r.constant[k, 1], rate * r.constant[k, 6])


@wp.func
def slot_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float, slot: int):
    """A record lists (v0, o0, o1, v1): what is seen from the start of the edge loses no digits."""
    x0 = place(r, k, 1, d)
    x1 = place(r, k, 2, d)
    x2 = change(r, k, 0, d)
    x3 = place(r, k, 3, d)
    return bending_lanes(r, k, x0, x1, x2, x3, hinge_gradient(x0, x1, x2, x3, slot), rate)


@wp.func
def tip_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    return slot_lanes(r, k, d, rate, 0)


@wp.func
def rim_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    return slot_lanes(r, k, d, rate, 2)


@wp.func
def several_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    """Of two corners that move, or of one or three; the gradients of all four sum to zero."""
    x0 = place(r, k, 1, d)
    x1 = place(r, k, 2, d)
    x2 = change(r, k, 0, d)
    x3 = place(r, k, 3, d)
    gradient = r.constant[k, 7] * hinge_gradient(x0, x1, x2, x3, 0) + r.constant[k, 8] * hinge_gradient(x0, x1, x2, x3, 1)
    gradient = gradient + r.constant[k, 9] * hinge_gradient(x0, x1, x2, x3, 2)
    return bending_lanes(r, k, x0, x1, x2, x3, gradient, rate)


@wp.func
def begin_bending(r: LaneRecords, k: int):
    """The offset from rest, sine and cosine of the angle, and the damping at the start of the step.

    A start shape without height has no angle to measure from: the hinge is then at rest and not damped.
    """
    origin = start(r, k, 1) - start(r, k, 1)
    sine, cosine, height = hinge_sides(start(r, k, 1), start(r, k, 2), origin, start(r, k, 3))
    none = zero(height)
    one = constant(1.0, height)
    scale = unit_scale(larger(larger(sine, neg(sine)), larger(larger(cosine, neg(cosine)), constant(1.0e-30, height))))
    rest = r.constant[k, 0]
    r.constant[k, 3] = select(height, wrap(exact_angle(sine, cosine) - rest), none)
    r.constant[k, 4] = select(height, scale * sine, none)
    r.constant[k, 5] = select(height, scale * cosine, one)
    r.constant[k, 6] = select(height, r.constant[k, 2], none)


def bending_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Rest angle, stiffness and damping times the length, and room for what :func:`begin_bending` writes."""
    length = c["rest_length"][rows][:, None]
    extra = np.zeros((len(rows), 4), np.float32)
    return np.column_stack([c["rest_angle"][rows], length * c["bending_properties"][rows], extra])


def several_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The same, and what corners 0, 1 and 2 move more than corner 3 does."""
    return np.column_stack([bending_constants(c, rows, moves), moves[:, :3].astype(np.float32) - moves[:, 3:]])


# Turning the edge around and exchanging the sides leaves a hinge as it is, so two views serve four slots.
_SAME, _TURNED = (2, 0, 1, 3), (3, 1, 0, 2)

BENDING = Element(
    BENDING_TABLE,
    4,
    bending_energy,
    bending_gradient_hessian,
    acts=lambda c: (c["bending_properties"] != 0).any(axis=1),
    views=(
        LaneView({0: _SAME, 1: _TURNED}, bending_constants, tip_lanes, begin_bending),
        LaneView({2: _SAME, 3: _TURNED}, bending_constants, rim_lanes, begin_bending),
    ),
    patch_views=(LaneView(dict.fromkeys(range(4), _SAME), several_constants, several_lanes, begin_bending),),
)

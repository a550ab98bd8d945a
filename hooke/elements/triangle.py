"""Membrane: stable neo-Hookean sheet on triangles (after Smith, de Goes, Kim 2018, reduced to a surface).

Rest data: the edges q = x_1 - x_0, r = x_2 - x_0 in an orthonormal frame of the triangle form D; ``poses`` = D^-1, ``areas`` = det D / 2.
F = [f0 f1] = [x_1 - x_0, x_2 - x_0] D^-1, J = |f0 x f1|. With the Lame pair of the sheet mu = ke, lambda = ka [N/m], L = lambda + mu,

    psi = mu/2 (|f0|^2 + |f1|^2 - 2) - mu (J - 1) + L/2 (J - 1)^2,     E = A psi                   (1)

which is the stable energy mu/2 (|F|^2 - 2) + L/2 (J - 1 - mu/L)^2 less its value at rest, written without the division.
For a vertex with weights m = (a, b) = dF/dx (vertices that move together: the sum of theirs), with n = f0 x f1 / J, w = a f1 - b f0,
g = w x n = dJ/dx and s = L (J - 1) - mu:

    dE/dx = A (mu F m + s g) = A (a P0 + b P1),   P0 = mu f0 + s f1 x n,  P1 = mu f1 - s f0 x n     (2)
    d2E/dx2 = A (mu |m|^2 I + L g g^T + max(0, s)/J (|w|^2 I - w w^T - g g^T))                      (3)

The stress P of (2) is the same number for all three vertices, so their forces cancel up to the rounding of a small product, not of
the large terms in it. The last bracket of (3) is a projector, so the clamp leaves the tightest positive semidefinite block. Damping
acts on the rate of C = F^T F over the step, D = A c/(2 dt) |C - C_s|^2, with R = (C - C_s)/dt:

    dD/dx = 2 A c F R m,     d2D/dx2 = 2 A c/dt (|m|^2 F F^T + (F m)(F m)^T)                         (4)
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements.element import Element
from hooke.elements.lanes import LaneRecords, LaneView, change, keep, start
from hooke.geometry.measure import cross as cross_rows
from hooke.geometry.measure import lengths
from hooke.math import add, constant, cross, div, dot, isotropic, larger, mul, neg, outer, positive, root, sub

INF = float("inf")

TRIANGLE_TABLE = Table(
    "tri",
    "tri_",
    (
        Column("indices", wp.int32, -1, width=3, refers="particle", minimum=0, doc="The three particles of each triangle."),
        Column("poses", wp.mat22, ((0.0, 0.0), (0.0, 0.0)), "1/m", "Inverse of the rest edge matrix."),
        Column("areas", wp.float32, 0.0, "m^2", "Rest area.", minimum=0.0),
        Column("materials", wp.float32, 0.0, "", "ke, ka [N/m], kd [N s/m], drag, lift [kg/m^3].", width=5,
               minimum=(0.0, -INF, 0.0, 0.0, 0.0)),
        Column("activations", wp.float32, 0.0, "", "Value kept for actuators of the user.", kernel=False),
        Column("color", wp.vec3, (-1.0, -1.0, -1.0), "", "Colour for pictures, 0 to 1; negative is chosen.", kernel=False),
        Column("opacity", wp.float32, 1.0, "", "Opacity for viewers that draw it.", kernel=False),
    ),
    doc="Triangles: membranes, and surfaces for contact and aerodynamics.",
)  # fmt: skip
Triangles = TRIANGLE_TABLE.struct


def measure_triangles(q: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rest data of triangles from their edges.

    Args:
        q: Edges x_1 - x_0, shape (n, 3) [m].
        r: Edges x_2 - x_0, shape (n, 3) [m].

    Returns:
        ``poses`` (n, 2, 2) [1/m] and ``areas`` (n,) [m^2]; zeros where the area is below 1e-10 of the longest edge squared.
    """
    q, r = np.asarray(q, np.float64), np.asarray(r, np.float64)
    length = lengths(q)
    normal = cross_rows(q, r)
    double_area = lengths(normal)
    longest = np.maximum(length, np.maximum(lengths(r), lengths(r - q)))
    good = double_area > 1.0e-10 * longest**2
    safe_length = np.where(good, length, 1.0)
    along = np.einsum("ij,ij->i", q, r) / safe_length
    height = double_area / safe_length
    poses = np.zeros((len(q), 2, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        poses[:, 0, 0] = 1.0 / length
        poses[:, 0, 1] = -along / (length * height)
        poses[:, 1, 1] = 1.0 / height
    poses[~good] = 0.0
    return poses, np.where(good, 0.5 * double_area, 0.0)


@wp.func
def membrane_energy(f0: Any, f1: Any, mu: Any, lam: Any):
    """Energy density (1); ``lam`` is L = lambda + mu."""
    n = cross(f0, f1)
    j1 = root(dot(n, n)) - constant(1.0, mu)
    half = constant(0.5, mu)
    return half * mu * (dot(f0, f0) + dot(f1, f1) - constant(2.0, mu)) - mu * j1 + half * lam * j1 * j1


@wp.func
def membrane_derivatives(f0: Any, f1: Any, a: Any, b: Any, mu: Any, lam: Any):
    """Derivatives (2), (3) per area."""
    n = cross(f0, f1)
    j = root(larger(dot(n, n), constant(1.0e-20, mu)))
    n = n / j
    w = a * f1 - b * f0
    g = cross(w, n)
    s = lam * (j - constant(1.0, mu)) - mu
    bend = positive(s) / j
    gradient = a * (mu * f0 + s * cross(f1, n)) + b * (mu * f1 - s * cross(f0, n))
    hessian = isotropic(mu * (a * a + b * b) + bend * dot(w, w)) - bend * outer(w) + (lam - bend) * outer(g)
    return gradient, hessian


@wp.func
def membrane_damping(f0: Any, f1: Any, d0: Any, d1: Any, a: Any, b: Any, rate: Any):
    """Derivatives (4) per area; d0, d1 are the changes of the columns of F over the step, ``rate`` = c/dt.

    With F_s = F - D the change of C is D^T F + F_s^T D, without a difference of large numbers.
    """
    fm = a * f0 + b * f1
    dm = a * d0 + b * d1
    r0 = dot(d0, fm) + dot(f0 - d0, dm)
    r1 = dot(d1, fm) + dot(f1 - d1, dm)
    twice = rate + rate
    gradient = (twice * r0) * f0 + (twice * r1) * f1
    hessian = twice * ((a * a + b * b) * (outer(f0) + outer(f1)) + outer(fm))
    return gradient, hessian


@wp.func
def column(pose: wp.mat22, c: int, q: wp.vec3, r: wp.vec3):
    return pose[0, c] * q + pose[1, c] * r


@wp.func
def triangle_energy(e: Triangles, k: int, x: wp.array(dtype=wp.vec3)):
    q = x[e.indices[k, 1]] - x[e.indices[k, 0]]
    r = x[e.indices[k, 2]] - x[e.indices[k, 0]]
    mu = e.materials[k, 0]
    pose = e.poses[k]
    return e.areas[k] * membrane_energy(column(pose, 0, q, r), column(pose, 1, q, r), mu, e.materials[k, 1] + mu)


@wp.func
def triangle_gradient_hessian(
    e: Triangles, k: int, slots: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float
):
    i = e.indices[k, 0]
    j = e.indices[k, 1]
    m = e.indices[k, 2]
    pose = e.poses[k]
    area = e.areas[k]
    mu = e.materials[k, 0]
    weight = wp.vec2(0.0)
    if (slots & 1) != 0:
        weight -= pose[0] + pose[1]
    for s in range(2):
        if (slots & (2 << s)) != 0:
            weight += pose[s]
    a = weight[0]
    b = weight[1]
    dq = d[j] - d[i]
    dr = d[m] - d[i]
    q = (x_start[j] - x_start[i]) + dq
    r = (x_start[m] - x_start[i]) + dr
    f0 = column(pose, 0, q, r)
    f1 = column(pose, 1, q, r)
    gradient, hessian = membrane_derivatives(f0, f1, a, b, mu, e.materials[k, 1] + mu)
    damping = e.materials[k, 2]
    if damping > 0.0:
        dg, dh = membrane_damping(f0, f1, column(pose, 0, dq, dr), column(pose, 1, dq, dr), a, b, damping / dt)
        gradient = gradient + dg
        hessian = hessian + dh
    return area * gradient, area * hessian


@wp.func
def begin_triangles(r: LaneRecords, k: int):
    """F at the start of the step, in the place of the edges it comes from."""
    q = start(r, k, 1)
    p = start(r, k, 2)
    keep(r, k, 1, r.constant[k, 0] * q + r.constant[k, 2] * p)
    keep(r, k, 2, r.constant[k, 1] * q + r.constant[k, 3] * p)


@wp.func
def triangle_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    origin = change(r, k, 0, d)
    dq = change(r, k, 1, d) - origin
    dr = change(r, k, 2, d) - origin
    d0 = r.constant[k, 0] * dq + r.constant[k, 2] * dr
    d1 = r.constant[k, 1] * dq + r.constant[k, 3] * dr
    f0 = start(r, k, 1) + d0
    f1 = start(r, k, 2) + d1
    a = r.constant[k, 4]
    b = r.constant[k, 5]
    gradient, hessian = membrane_derivatives(f0, f1, a, b, r.constant[k, 6], r.constant[k, 7])
    dg, dh = membrane_damping(f0, f1, d0, d1, a, b, rate * r.constant[k, 8])
    return gradient + dg, hessian + dh


def triangle_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The pose, dF/dx of what moves, and mu, L, damping times the area."""
    pose, area, material = c["poses"][rows], c["areas"][rows], c["materials"][rows]
    weight = (moves[:, 1:, None] * pose).sum(axis=1) - moves[:, :1] * pose.sum(axis=1)
    mu, lam = material[:, 0], material[:, 0] + material[:, 1]
    return np.column_stack([pose.reshape(-1, 4), weight, area * mu, area * lam, area * material[:, 2]])


TRIANGLE = Element(
    TRIANGLE_TABLE,
    3,
    triangle_energy,
    triangle_gradient_hessian,
    acts=lambda c: (c["materials"][:, :3] != 0).any(axis=1),
    views=(LaneView(dict.fromkeys(range(3), (0, 1, 2)), triangle_constants, triangle_lanes, begin_triangles),),
)

"""Soft body: stable neo-Hookean tetrahedra (Smith, de Goes, Kim 2018, without the logarithm).

Rest data: ``poses`` = D^-1 of D = [x_1 - x_0, x_2 - x_0, x_3 - x_0]; the rest volume is V = det D / 6. F = [f0 f1 f2] = D_s D^-1,
J = det F, cof F = [f1 x f2, f2 x f0, f0 x f1]. With the Lame pair mu, lambda [Pa] and L = lambda + mu,

    psi = mu/2 (|F|^2 - 3) - mu (J - 1) + L/2 (J - 1)^2 + mu/4 max(0, K - |F|^2)^2,     E = V psi    (1)

The last term, with K = 3/2, acts only where the element is crushed in every direction (to 0.7 of its size and less). Without it a
point is a minimum of the energy: for s I with s (1 + s + s^2) < mu/L the material pulls itself together, and an element that a
fast grip or a bad start crushed that far never comes back. For a vertex with m = dF/dx (a row of D^-1, or minus their sum),
s = L (J - 1) - mu and k = mu max(0, K - |F|^2):

    dE/dx = V P m,   P = (mu - k) F + s cof F                                                      (2)
    d2E/dx2 = V (max(0, mu - k) |m|^2 I + L (cof F m)(cof F m)^T + [k > 0] 2 mu (F m)(F m)^T)        (3)

Up to the clamp the block is exact: the term with the second derivative of J contracts with m x m = 0. The stress P is the same
number for all four vertices, so that their forces cancel. Damping as for the membrane:

    dD/dx = 2 V c F R m,     d2D/dx2 = 2 V c/dt (|m|^2 F F^T + (F m)(F m)^T),     R = (C - C_s)/dt    (4)
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements.element import Element
from hooke.elements.lanes import LaneRecords, LaneView, change, keep, start
from hooke.geometry.measure import cross as cross_rows
from hooke.geometry.measure import lengths
from hooke.math import (
    VectorL,
    add,
    constant,
    cross,
    div,
    dot,
    isotropic,
    larger,
    mul,
    neg,
    outer,
    positive,
    select,
    smaller,
    sub,
    vector,
    zero,
)

TETRAHEDRON_TABLE = Table(
    "tet",
    "tet_",
    (
        Column("indices", wp.int32, -1, width=4, refers="particle", minimum=0, doc="The four particles, positively oriented."),
        Column("poses", wp.mat33, np.zeros((3, 3)), "1/m", "Inverse of the rest edge matrix."),
        Column("materials", wp.float32, 0.0, "", "k_mu, k_lambda [Pa], k_damp [Pa s].", width=3,
               minimum=(0.0, -float("inf"), 0.0)),
        Column("activations", wp.float32, 0.0, "", "Value kept for actuators of the user.", kernel=False),
    ),
    doc="Tetrahedra of soft bodies.",
)  # fmt: skip
Tetrahedra = TETRAHEDRON_TABLE.struct


def measure_tetrahedra(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rest data of tetrahedra with corners ``x`` (n, 4, 3) [m]: ``poses`` (n, 3, 3) [1/m] and signed volumes (n,) [m^3].

    The pose is zero where the volume is below 1e-12 of the longest edge cubed.
    """
    x = np.asarray(x, np.float64)
    d = x[:, 1:] - x[:, :1]
    cofactors = np.stack([cross_rows(d[:, 1], d[:, 2]), cross_rows(d[:, 2], d[:, 0]), cross_rows(d[:, 0], d[:, 1])], axis=1)
    determinant = np.einsum("ij,ij->i", d[:, 0], cofactors[:, 0])
    longest = lengths(d).max(axis=1, initial=0.0)
    good = np.abs(determinant) > 6.0e-12 * longest**3
    poses = cofactors * np.where(good, 1.0 / np.where(good, determinant, 1.0), 0.0)[:, None, None]
    return poses, determinant / 6.0


@wp.func
def crushing(square: Any, mu: Any):
    """The number k of (2) from |F|^2."""
    return mu * positive(constant(1.5, mu) - square)


@wp.func
def volume_energy(f0: Any, f1: Any, f2: Any, mu: Any, lam: Any):
    """Energy density (1); ``lam`` is L = lambda + mu."""
    half = constant(0.5, mu)
    j1 = dot(f0, cross(f1, f2)) - constant(1.0, mu)
    square = dot(f0, f0) + dot(f1, f1) + dot(f2, f2)
    crushed = half * crushing(square, mu) * (half * positive(constant(1.5, mu) - square))
    return half * mu * (square - constant(3.0, mu)) - mu * j1 + half * lam * j1 * j1 + crushed


@wp.func
def volume_derivatives(f0: Any, f1: Any, f2: Any, m: Any, mu: Any, lam: Any):
    """Derivatives (2), (3) per volume."""
    c0 = cross(f1, f2)
    c1 = cross(f2, f0)
    c2 = cross(f0, f1)
    s = lam * (dot(f0, c0) - constant(1.0, mu)) - mu
    k = crushing(dot(f0, f0) + dot(f1, f1) + dot(f2, f2), mu)
    shear = mu - k
    gradient = m.x * (shear * f0 + s * c0) + m.y * (shear * f1 + s * c1) + m.z * (shear * f2 + s * c2)
    cm = m.x * c0 + m.y * c1 + m.z * c2
    fm = m.x * f0 + m.y * f1 + m.z * f2
    stiff = select(k, constant(2.0, mu) * mu, zero(mu))
    return gradient, isotropic(larger(shear, smaller(mu, zero(mu))) * dot(m, m)) + lam * outer(cm) + stiff * outer(fm)


@wp.func
def volume_damping(f0: Any, f1: Any, f2: Any, d0: Any, d1: Any, d2: Any, m: Any, rate: Any):
    """Derivatives (4) per volume; d0, d1, d2 are the changes of the columns of F over the step, ``rate`` = c/dt.

    With F_s = F - D the change of C is D^T F + F_s^T D, without a difference of large numbers.
    """
    fm = m.x * f0 + m.y * f1 + m.z * f2
    dm = m.x * d0 + m.y * d1 + m.z * d2
    r0 = dot(d0, fm) + dot(f0 - d0, dm)
    r1 = dot(d1, fm) + dot(f1 - d1, dm)
    r2 = dot(d2, fm) + dot(f2 - d2, dm)
    twice = rate + rate
    gradient = (twice * r0) * f0 + (twice * r1) * f1 + (twice * r2) * f2
    hessian = dot(m, m) * (outer(f0) + outer(f1) + outer(f2)) + outer(fm)
    return gradient, twice * hessian


@wp.func
def edge_matrix(e: Tetrahedra, k: int, x: wp.array(dtype=wp.vec3)):
    o = x[e.indices[k, 0]]
    return wp.matrix_from_cols(x[e.indices[k, 1]] - o, x[e.indices[k, 2]] - o, x[e.indices[k, 3]] - o)


@wp.func
def matrix_column(a: wp.mat33, c: int):
    return wp.vec3(a[0, c], a[1, c], a[2, c])


@wp.func
def tetrahedron_energy(e: Tetrahedra, k: int, x: wp.array(dtype=wp.vec3)):
    pose = e.poses[k]
    f = edge_matrix(e, k, x) * pose
    mu = e.materials[k, 0]
    density = volume_energy(matrix_column(f, 0), matrix_column(f, 1), matrix_column(f, 2), mu, e.materials[k, 1] + mu)
    return density / (6.0 * wp.determinant(pose))


@wp.func
def tetrahedron_gradient_hessian(
    e: Tetrahedra, k: int, slots: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float
):
    pose = e.poses[k]
    volume = 1.0 / (6.0 * wp.determinant(pose))
    m = wp.vec3(0.0)
    if (slots & 1) != 0:
        m -= pose[0] + pose[1] + pose[2]
    for s in range(3):
        if (slots & (2 << s)) != 0:
            m += pose[s]
    mu = e.materials[k, 0]
    change = edge_matrix(e, k, d)
    f = (edge_matrix(e, k, x_start) + change) * pose
    f0 = matrix_column(f, 0)
    f1 = matrix_column(f, 1)
    f2 = matrix_column(f, 2)
    gradient, hessian = volume_derivatives(f0, f1, f2, m, mu, e.materials[k, 1] + mu)
    damping = e.materials[k, 2]
    if damping > 0.0:
        c = change * pose
        dg, dh = volume_damping(f0, f1, f2, matrix_column(c, 0), matrix_column(c, 1), matrix_column(c, 2), m, damping / dt)
        gradient = gradient + dg
        hessian = hessian + dh
    return volume * gradient, volume * hessian


@wp.func
def stretched(r: LaneRecords, k: int, c: int, u: VectorL, v: VectorL, w: VectorL):
    """Column ``c`` of the edges (u, v, w) times the pose."""
    return r.constant[k, c] * u + r.constant[k, 3 + c] * v + r.constant[k, 6 + c] * w


@wp.func
def begin_tetrahedra(r: LaneRecords, k: int):
    """F at the start of the step, in the place of the edges it comes from."""
    u = start(r, k, 1)
    v = start(r, k, 2)
    w = start(r, k, 3)
    for c in range(3):
        keep(r, k, 1 + c, stretched(r, k, c, u, v, w))


@wp.func
def tetrahedron_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    origin = change(r, k, 0, d)
    du = change(r, k, 1, d) - origin
    dv = change(r, k, 2, d) - origin
    dw = change(r, k, 3, d) - origin
    d0 = stretched(r, k, 0, du, dv, dw)
    d1 = stretched(r, k, 1, du, dv, dw)
    d2 = stretched(r, k, 2, du, dv, dw)
    f0 = start(r, k, 1) + d0
    f1 = start(r, k, 2) + d1
    f2 = start(r, k, 3) + d2
    m = vector(r.constant[k, 9], r.constant[k, 10], r.constant[k, 11])
    gradient, hessian = volume_derivatives(f0, f1, f2, m, r.constant[k, 12], r.constant[k, 13])
    dg, dh = volume_damping(f0, f1, f2, d0, d1, d2, m, rate * r.constant[k, 14])
    return gradient + dg, hessian + dh


def tetrahedron_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The pose, dF/dx of what moves, and mu, L, damping times the volume."""
    pose, material = c["poses"][rows].astype(np.float64), c["materials"][rows]
    volume = 1.0 / (6.0 * np.linalg.det(pose))
    weight = (moves[:, 1:, None] * pose).sum(axis=1) - moves[:, :1] * pose.sum(axis=1)
    mu, lam = material[:, 0], material[:, 0] + material[:, 1]
    return np.column_stack([pose.reshape(-1, 9), weight, volume * mu, volume * lam, volume * material[:, 2]])


TETRAHEDRON = Element(
    TETRAHEDRON_TABLE,
    4,
    tetrahedron_energy,
    tetrahedron_gradient_hessian,
    acts=lambda c: (c["materials"] != 0).any(axis=1),
    views=(LaneView(dict.fromkeys(range(4), (0, 1, 2, 3)), tetrahedron_constants, tetrahedron_lanes, begin_tetrahedra),),
)

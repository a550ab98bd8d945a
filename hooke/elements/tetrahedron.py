"""Soft body: stable neo-Hookean tetrahedra (Smith, de Goes, Kim 2018, without the logarithm).

Rest data: ``poses`` = D^-1 of D = [x_1 - x_0, x_2 - x_0, x_3 - x_0]; the rest volume is V = det D / 6. F = [f0 f1 f2] = D_s D^-1,
J = det F, cof F = [f1 x f2, f2 x f0, f0 x f1]. With the Lame pair mu, lambda [Pa] and L = lambda + mu,

    psi = mu/2 (|F|^2 - 3) - mu (J - 1) + L/2 (J - 1)^2,     E = V psi                             (1)

For a vertex with m = dF/dx (a row of D^-1, or minus their sum) and s = L (J - 1) - mu:

    dE/dx = V (mu F m + s (cof F) m),     d2E/dx2 = V (mu |m|^2 I + L (cof F m)(cof F m)^T)          (2)

The block is exact: the term with the second derivative of J contracts with m x m = 0. Damping as for the membrane:

    dD/dx = 2 V c F R m,     d2D/dx2 = 2 V c/dt (|m|^2 F F^T + (F m)(F m)^T),     R = (C - C_s)/dt    (3)
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements.element import Element
from hooke.math import add, constant, cross, div, dot, isotropic, mul, outer, sub

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
    d = np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)
    volume = np.linalg.det(d) / 6.0
    longest = np.linalg.norm(x[:, 1:] - x[:, :1], axis=2).max(axis=1, initial=0.0)
    good = np.abs(volume) > 1.0e-12 * longest**3
    poses = np.zeros((len(x), 3, 3))
    poses[good] = np.linalg.inv(d[good])
    return poses, volume


@wp.func
def volume_energy(f0: Any, f1: Any, f2: Any, mu: Any, lam: Any):
    """Energy density (1); ``lam`` is L = lambda + mu."""
    half = constant(0.5, mu)
    j1 = dot(f0, cross(f1, f2)) - constant(1.0, mu)
    square = dot(f0, f0) + dot(f1, f1) + dot(f2, f2) - constant(3.0, mu)
    return half * mu * square - mu * j1 + half * lam * j1 * j1


@wp.func
def volume_derivatives(f0: Any, f1: Any, f2: Any, m: Any, mu: Any, lam: Any):
    """Derivatives (2) per volume."""
    c0 = cross(f1, f2)
    cm = m.x * c0 + m.y * cross(f2, f0) + m.z * cross(f0, f1)
    fm = m.x * f0 + m.y * f1 + m.z * f2
    s = lam * (dot(f0, c0) - constant(1.0, mu)) - mu
    return mu * fm + s * cm, isotropic(mu * dot(m, m)) + lam * outer(cm)


@wp.func
def volume_damping(f0: Any, f1: Any, f2: Any, g0: Any, g1: Any, g2: Any, m: Any, rate: Any):
    """Derivatives (3) per volume; g0, g1, g2 are the columns of F at the start of the step, ``rate`` = c/dt."""
    d0 = f0 - g0
    d1 = f1 - g1
    d2 = f2 - g2
    r01 = dot(d0, f1) + dot(g0, d1)
    r02 = dot(d0, f2) + dot(g0, d2)
    r12 = dot(d1, f2) + dot(g1, d2)
    q0 = dot(d0, f0 + g0) * m.x + r01 * m.y + r02 * m.z
    q1 = r01 * m.x + dot(d1, f1 + g1) * m.y + r12 * m.z
    q2 = r02 * m.x + r12 * m.y + dot(d2, f2 + g2) * m.z
    double_rate = constant(2.0, rate) * rate
    fm = m.x * f0 + m.y * f1 + m.z * f2
    hessian = dot(m, m) * (outer(f0) + outer(f1) + outer(f2)) + outer(fm)
    return double_rate * (q0 * f0 + q1 * f1 + q2 * f2), double_rate * hessian


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
    e: Tetrahedra, k: int, slot: int, x: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float
):
    pose = e.poses[k]
    volume = 1.0 / (6.0 * wp.determinant(pose))
    m = -(pose[0] + pose[1] + pose[2])
    if slot > 0:
        m = pose[slot - 1]
    mu = e.materials[k, 0]
    f = edge_matrix(e, k, x) * pose
    f0 = matrix_column(f, 0)
    f1 = matrix_column(f, 1)
    f2 = matrix_column(f, 2)
    gradient, hessian = volume_derivatives(f0, f1, f2, m, mu, e.materials[k, 1] + mu)
    damping = e.materials[k, 2]
    if damping > 0.0:
        g = edge_matrix(e, k, x_start) * pose
        dg, dh = volume_damping(f0, f1, f2, matrix_column(g, 0), matrix_column(g, 1), matrix_column(g, 2), m, damping / dt)
        gradient = gradient + dg
        hessian = hessian + dh
    return volume * gradient, volume * hessian


TETRAHEDRON = Element(
    TETRAHEDRON_TABLE,
    4,
    tetrahedron_energy,
    tetrahedron_gradient_hessian,
    acts=lambda c: (c["materials"] != 0).any(axis=1),
)

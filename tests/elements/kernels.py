"""The physics functions of the elements as kernels over float32 or float64: all elements of a batch, every slot."""

from typing import Any

import numpy as np
import warp as wp

from hooke.elements.aerodynamics import air_derivatives
from hooke.elements.attachment import pull_derivatives, pull_energy
from hooke.elements.bending import bending_derivatives, hinge_angle, hinge_gradient
from hooke.elements.spring import stretch_derivatives, stretch_energy
from hooke.elements.tetrahedron import volume_damping, volume_derivatives, volume_energy
from hooke.elements.triangle import membrane_damping, membrane_derivatives, membrane_energy
from hooke.math import add, constant, cross, div, mul, neg, sub, vector, zero

FLOATS = {np.float32: (wp.float32, wp.vec3), np.float64: (wp.float64, wp.vec3d)}


@wp.func
def store(block: Any, k: int, slot: int, out: wp.array3d(dtype=Any)):
    out[k, slot, 0] = block.xx
    out[k, slot, 1] = block.yy
    out[k, slot, 2] = block.zz
    out[k, slot, 3] = block.xy
    out[k, slot, 4] = block.xz
    out[k, slot, 5] = block.yz


@wp.kernel(enable_backward=False)
def spring(
    x: wp.array2d(dtype=Any), start: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), energy: wp.array(dtype=Any),
    gradient: wp.array2d(dtype=Any), hessian: wp.array3d(dtype=Any),
):  # fmt: skip
    """``c``: rest length, stiffness, damping / dt."""
    k, slot = wp.tid()
    d = x[k, slot] - x[k, 1 - slot]
    energy[k] = stretch_energy(d, c[k, 0], c[k, 1])
    g, h = stretch_derivatives(d, start[k, slot] - start[k, 1 - slot], c[k, 0], c[k, 1], c[k, 2])
    gradient[k, slot] = g
    store(h, k, slot, hessian)


@wp.kernel(enable_backward=False)
def tri(
    x: wp.array2d(dtype=Any), start: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), energy: wp.array(dtype=Any),
    gradient: wp.array2d(dtype=Any), hessian: wp.array3d(dtype=Any),
):  # fmt: skip
    """``c``: the four entries of the pose, mu, lambda + mu, damping / dt. Per area."""
    k, slot = wp.tid()
    q = x[k, 1] - x[k, 0]
    r = x[k, 2] - x[k, 0]
    f0 = c[k, 0] * q + c[k, 2] * r
    f1 = c[k, 1] * q + c[k, 3] * r
    q = q - (start[k, 1] - start[k, 0])
    r = r - (start[k, 2] - start[k, 0])
    d0 = c[k, 0] * q + c[k, 2] * r
    d1 = c[k, 1] * q + c[k, 3] * r
    a = -(c[k, 0] + c[k, 2])
    b = -(c[k, 1] + c[k, 3])
    if slot > 0:
        a = c[k, 2 * slot - 2]
        b = c[k, 2 * slot - 1]
    energy[k] = membrane_energy(f0, f1, c[k, 4], c[k, 5])
    g, h = membrane_derivatives(f0, f1, a, b, c[k, 4], c[k, 5])
    dg, dh = membrane_damping(f0, f1, d0, d1, a, b, c[k, 6])
    gradient[k, slot] = g + dg
    store(h + dh, k, slot, hessian)


@wp.kernel(enable_backward=False)
def edge(
    x: wp.array2d(dtype=Any), start: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), energy: wp.array(dtype=Any),
    gradient: wp.array2d(dtype=Any), hessian: wp.array3d(dtype=Any),
):  # fmt: skip
    """``c``: rest angle, stiffness, damping / dt. Per length; the energy is the angle."""
    k, slot = wp.tid()
    theta, _valid = hinge_angle(x[k, 0], x[k, 1], x[k, 2], x[k, 3])
    theta_start, _valid_start = hinge_angle(start[k, 0], start[k, 1], start[k, 2], start[k, 3])
    slope = hinge_gradient(x[k, 0], x[k, 1], x[k, 2], x[k, 3], slot)
    g, h = bending_derivatives(theta, theta_start, c[k, 0], slope, c[k, 1], c[k, 2])
    energy[k] = theta
    gradient[k, slot] = g
    store(h, k, slot, hessian)


@wp.func
def edges_times(x: wp.array2d(dtype=Any), k: int, a: Any, b: Any, c: Any):
    """A column of F: the edges of the tetrahedron times a column of the pose."""
    o = x[k, 0]
    return a * (x[k, 1] - o) + b * (x[k, 2] - o) + c * (x[k, 3] - o)


@wp.kernel(enable_backward=False)
def tet(
    x: wp.array2d(dtype=Any), start: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), energy: wp.array(dtype=Any),
    gradient: wp.array2d(dtype=Any), hessian: wp.array3d(dtype=Any),
):  # fmt: skip
    """``c``: the nine entries of the pose, mu, lambda + mu, damping / dt. Per volume."""
    k, slot = wp.tid()
    f0 = edges_times(x, k, c[k, 0], c[k, 3], c[k, 6])
    f1 = edges_times(x, k, c[k, 1], c[k, 4], c[k, 7])
    f2 = edges_times(x, k, c[k, 2], c[k, 5], c[k, 8])
    g0 = edges_times(start, k, c[k, 0], c[k, 3], c[k, 6])
    g1 = edges_times(start, k, c[k, 1], c[k, 4], c[k, 7])
    g2 = edges_times(start, k, c[k, 2], c[k, 5], c[k, 8])
    m = vector(-(c[k, 0] + c[k, 3] + c[k, 6]), -(c[k, 1] + c[k, 4] + c[k, 7]), -(c[k, 2] + c[k, 5] + c[k, 8]))
    if slot > 0:
        m = vector(c[k, 3 * slot - 3], c[k, 3 * slot - 2], c[k, 3 * slot - 1])
    energy[k] = volume_energy(f0, f1, f2, c[k, 9], c[k, 10])
    g, h = volume_derivatives(f0, f1, f2, m, c[k, 9], c[k, 10])
    dg, dh = volume_damping(f0, f1, f2, f0 - g0, f1 - g1, f2 - g2, m, c[k, 11])
    gradient[k, slot] = g + dg
    store(h + dh, k, slot, hessian)


@wp.kernel(enable_backward=False)
def attachment(
    x: wp.array2d(dtype=Any), start: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), energy: wp.array(dtype=Any),
    gradient: wp.array2d(dtype=Any), hessian: wp.array3d(dtype=Any),
):  # fmt: skip
    """``c``: stiffness, damping / dt."""
    k, slot = wp.tid()
    reach = x[k, slot] - x[k, 1 - slot]
    energy[k] = pull_energy(reach, c[k, 0])
    g, h = pull_derivatives(reach, reach - (start[k, slot] - start[k, 1 - slot]), c[k, 0], c[k, 1])
    gradient[k, slot] = g
    store(h, k, slot, hessian)


@wp.kernel(enable_backward=False)
def air(
    x: wp.array2d(dtype=Any), start: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), energy: wp.array(dtype=Any),
    gradient: wp.array2d(dtype=Any), hessian: wp.array3d(dtype=Any),
):  # fmt: skip
    """``c``: lift, drag, dt."""
    k, slot = wp.tid()
    share = constant(1.0, c[k, 2]) / constant(3.0, c[k, 2])
    area = constant(0.5, share) * cross(start[k, 1] - start[k, 0], start[k, 2] - start[k, 0])
    moved = (x[k, 0] - start[k, 0]) + (x[k, 1] - start[k, 1]) + (x[k, 2] - start[k, 2])
    g, h = air_derivatives(area, (share * moved - (x[k, 3] - start[k, 3])) / c[k, 2], c[k, 1], c[k, 0])
    if slot == 3:
        share = neg(share / share)
    energy[k] = zero(share)
    gradient[k, slot] = share * g
    store((share * share / c[k, 2]) * h, k, slot, hessian)


KERNELS = {"spring": spring, "tri": tri, "edge": edge, "tet": tet, "attachment_particle_body": attachment, "aerodynamics": air}


def full(entries):
    """Symmetric matrices (..., 3, 3) from their six entries xx, yy, zz, xy, xz, yz."""
    h = np.zeros((*entries.shape[:-1], 3, 3))
    for n, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
        h[..., i, j] = h[..., j, i] = entries[..., n]
    return h


def evaluate(name, number, x, start, constants):
    """Energies (n,), gradients (n, size, 3) and blocks (n, size, 3, 3) of a batch in the kind of ``number``, per rest measure."""
    scalar, vec = FLOATS[number]
    n, size, _ = x.shape

    def array(values, dtype):
        return wp.array(np.ascontiguousarray(values, number), dtype=dtype, device="cpu")

    outputs = [wp.zeros(n, dtype=scalar, device="cpu"), wp.zeros((n, size), dtype=vec, device="cpu")]
    outputs.append(wp.zeros((n, size, 6), dtype=scalar, device="cpu"))
    inputs = [array(x, vec), array(start, vec), array(constants, scalar)]
    wp.launch(KERNELS[name], dim=(n, size), inputs=inputs, outputs=outputs, device="cpu")
    energy, gradient, hessian = (a.numpy().astype(np.float64) for a in outputs)
    return energy, gradient, full(hessian)

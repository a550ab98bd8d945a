"""Batches of elements, every one on particles of its own. A new kind of element is tested by giving it an entry in SAMPLES."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

import hooke
from hooke.elements import ELEMENTS
from tests.support import vectors

from .kernels import full

DT = 0.1


@dataclass(frozen=True)
class Sample:
    """How a kind is made: ``add(builder, particles, material)`` for particles (n, size) and material (n, columns).

    ``rest`` are the corners of a typical element, ``stiffness`` a typical material without its damping, which comes last. Forces of
    a strained shape grow with the ``power`` of its size, less one.
    """

    add: Any
    rest: tuple[tuple[float, float, float], ...]
    stiffness: tuple[float, ...]
    power: int = 2


def add_springs(builder, particles, material):
    for (i, j), (ke, kd) in zip(particles, material, strict=True):
        builder.add_spring(i, j, ke, kd)


def add_triangles(builder, particles, material):
    builder.add_triangles(*particles.T, tri_ke=material[:, 0], tri_ka=material[:, 1], tri_kd=material[:, 2])


def add_hinges(builder, particles, material):
    builder.add_edges(*particles.T, edge_ke=material[:, 0], edge_kd=material[:, 1])


def add_tetrahedra(builder, particles, material):
    for row, values in zip(particles, material, strict=True):
        builder.add_tetrahedron(*row, *values)


def add_attachments(builder, particles, material):
    for (i, _point), (ke, kd) in zip(particles, material, strict=True):
        builder.add_attachment_particle_body(i, -1, stiffness=ke, damping=kd)


def add_surfaces(builder, particles, material):
    """Lift, then drag, which stands for the damping."""
    none = {"tri_ke": 0.0, "tri_ka": 0.0, "tri_kd": 0.0}
    builder.add_triangles(*particles[:, :3].T, tri_lift=material[:, 0], tri_drag=material[:, 1], **none)


SAMPLES = {
    "spring": Sample(add_springs, ((0.0, 0.0, 0.0), (1.0, 0.2, 0.0)), (100.0,)),
    "tri": Sample(add_triangles, ((0.0, 0.0, 0.0), (1.0, 0.1, 0.0), (0.2, 0.9, 0.0)), (120.0, 80.0)),
    "edge": Sample(add_hinges, ((0.1, 0.8, 0.1), (-0.1, -0.9, 0.2), (-0.5, 0.0, 0.0), (0.5, 0.1, 0.0)), (50.0,), 1),
    "tet": Sample(add_tetrahedra, ((0.0, 0.0, 0.0), (1.0, 0.1, 0.0), (0.1, 0.9, 0.0), (0.2, 0.1, 1.1)), (100.0, 150.0), 3),
    "attachment_particle_body": Sample(add_attachments, ((0.4, 0.1, 0.2), (0.4, 0.1, 0.2)), (100.0,)),
    "aerodynamics": Sample(add_surfaces, ((0.0, 0.0, 0.0), (1.0, 0.1, 0.0), (0.2, 0.9, 0.0), (0.3, 0.3, 0.0)), (15.0,)),
}


@dataclass(frozen=True)
class Batch:
    """Elements in a model: its element kind, rest corners (n, size, 3) and material (n, columns) with the damping last."""

    element: Any
    table: Any
    rest: np.ndarray
    material: np.ndarray

    def evaluate(self, x, start=None, dt=DT):
        """Energies (n,), gradients (n, size, 3) and blocks (n, size, 3, 3) as the solver gets them, at corners (n, size, 3)."""
        start = x if start is None else start
        return self.evaluate_moved(start, x - start, dt)

    def evaluate_moved(self, start, d, dt=DT, slots=None):
        """The same at the corners ``start + d``; with ``slots`` for corners that move together, a bit for each, instead of every one."""
        n = len(start)
        slots = np.asarray([1 << s for s in range(self.element.size)] if slots is None else slots, np.int32)
        size = len(slots)
        shared = self.element.name == "aerodynamics"  # there is one air: elements that see it move differently go one by one
        value = wp.zeros(n, dtype=wp.float32, device="cpu")
        slope = wp.zeros((n, size), dtype=wp.vec3, device="cpu")
        block = wp.zeros((n, size, 6), dtype=wp.float32, device="cpu")
        for first in range(n if shared else 1):
            points = slice(first, first + 1) if shared else slice(None)
            arrays = [with_points(self.element, corners, points) for corners in (start + d, d, start)]
            inputs = [self.table.struct, *arrays, dt, first, wp.array(slots, dtype=wp.int32, device="cpu")]
            outputs = [value, slope, block]
            wp.launch(make_kernel(self.element), dim=(1 if shared else n, size), inputs=inputs, outputs=outputs, device="cpu")
        return value.numpy().astype(np.float64), slope.numpy().astype(np.float64), full(block.numpy().astype(np.float64))


def with_points(element, corners, points):
    """Corners (n, size, 3) as the arrays of a step: all of them, behind them the ``points`` that elements are tied to, then the air."""
    rows = corners.reshape(-1, 3)
    if element.point is not None:
        tied = corners[points, -1]
        rows = np.concatenate([rows, tied, np.zeros((1, 3))] if element.name != "aerodynamics" else [rows, tied])
    return vectors(rows)


@functools.cache
def make_kernel(element):
    Struct, energy, gradient_hessian = element.table.struct, element.energy, element.gradient_hessian

    def evaluate_elements(
        e: Struct, x: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), start: wp.array(dtype=wp.vec3), dt: float,
        first: int, slots: wp.array(dtype=wp.int32), value: wp.array(dtype=wp.float32), slope: wp.array2d(dtype=wp.vec3),
        block: wp.array3d(dtype=wp.float32),
    ):  # fmt: skip
        row, slot = wp.tid()
        k = first + row
        g, h = gradient_hessian(e, k, slots[slot], d, start, dt)
        slope[k, slot] = g
        block[k, slot, 0] = h.xx
        block[k, slot, 1] = h.yy
        block[k, slot, 2] = h.zz
        block[k, slot, 3] = h.xy
        block[k, slot, 4] = h.xz
        block[k, slot, 5] = h.yz
        if wp.static(energy is not None):
            if slot == 0:
                value[k] = energy(e, k, x)

    evaluate_elements.__annotations__["e"] = Struct
    return wp.kernel(evaluate_elements, module="unique", enable_backward=False)


def make_batch(element, rest, material):
    """A model of elements with the corners ``rest`` (n, size, 3) at rest, and ``material`` (n, columns)."""
    builder = hooke.ModelBuilder()
    n, size, _ = rest.shape
    builder.add_particles(rest.reshape(-1, 3), np.zeros((n * size, 3)), np.ones(n * size))
    SAMPLES[element.name].add(builder, np.arange(n * size).reshape(n, size), material)
    table = builder.finalize(device="cpu").tables[element.table.name]
    assert table.count == n
    return Batch(element, table, rest, material)


def random_batch(element, rng, count=100, stiffness=1.0, damping=0.0):
    """A batch of randomly deformed rest shapes of size about 1, turned every way."""
    sample = SAMPLES[element.name]
    rest = np.array(sample.rest) + rng.uniform(-0.1, 0.1, (count, element.size, 3))
    if element.name == "attachment_particle_body":
        rest[:, 1] = rest[:, 0]
    rest = single(turn(rng, rest))
    scale = rng.uniform(0.5, 2.0, (count, len(sample.stiffness)))
    material = np.column_stack([stiffness * scale * sample.stiffness, np.full(count, damping)])
    return make_batch(element, rest, single(material))


def single(values):
    """As float32 holds them, so that the reference sees the same numbers."""
    return np.asarray(values).astype(np.float32).astype(np.float64)


def turn(rng, x):
    """Every element of (n, size, 3) under a random rotation of its own."""
    return np.einsum("nij,nsj->nsi", random_rotations(rng, len(x)), x)


def random_rotations(rng, count):
    q, r = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    q = q * np.sign(np.einsum("nii->ni", r))[:, None, :]
    return q * np.linalg.det(q)[:, None, None]


def deformed(rng, batch, amount):
    """Corners of the batch moved at random and turned as a whole."""
    return single(turn(rng, batch.rest + rng.uniform(-amount, amount, batch.rest.shape)))


KINDS = {element.name: element for element in ELEMENTS}

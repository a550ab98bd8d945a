"""Vertex block descent (Chen, Liu, Yang, Yuksel 2024): one Newton step on the three coordinates of every particle of a colour.

    G(d) = sum_i m_i/(2 dt^2) |d_i - y_i|^2 + E(x_s + d)                                           (1)
    H_i = m_i/dt^2 I + sum_j d2E_j/dx_i2,     g_i = m_i/dt^2 (d_i - y_i) + sum_j dE_j/dx_i,     d_i -= H_i^-1 g_i     (2)

The unknown is the displacement d over the step, so that far from the origin nothing is lost to rounding. The kernels are made for
the kinds of elements that a model has; a kind is reached through a chain of structs, one link per kind.
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.contact.particle import make_slip_correction
from hooke.elements import ELEMENTS, Element
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.incidence import list_members
from hooke.math import Block, add, apply, dot, isotropic, norm, solve, sub
from hooke.model.tables import Particles
from hooke.solvers.vbd.contacts import make_row_contact
from hooke.solvers.vbd.features import FeatureContacts, add_features
from hooke.solvers.vbd.patches import Entries
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.workspace import ContactRows, VertexMotion

__all__ = ["ATTEMPTS", "active_elements", "make_chain", "make_struct", "make_vertex_kernels", "pack_chain", "take_color"]

ATTEMPTS = wp.constant(2)
"""Newton steps of a particle that may touch shapes, with the other forces linear in between. The first may lead into a shape, or out of
one; where the force that is left has grown by it, the second knows better."""


@wp.struct
class Incidence:
    """Elements that node i moves, ``element[start[i] : start[i + 1]]``, and which of their corners: bit s of ``slots`` for slot s."""

    start: wp.array(dtype=wp.int32)
    element: wp.array(dtype=wp.int32)
    slots: wp.array(dtype=wp.int32)


def make_struct(name: str, fields: dict[str, Any]) -> Any:
    """A Warp struct of some fields."""
    return wp.struct(type(name, (), {"__annotations__": fields, "__module__": __name__, "__qualname__": name}))


@functools.cache
def make_chain(elements: tuple[Element, ...]) -> tuple[Any, Any]:
    """The chain for some kinds of elements: its struct, and the function that sums their derivatives at a particle."""
    if not elements:
        End = make_struct("ChainEnd", {"nothing": wp.int32})

        @wp.func
        def sum_none(chain: End, i: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float):
            return wp.vec3(0.0), isotropic(float(0.0))

        return End, sum_none

    Rest, sum_rest = make_chain(elements[1:])
    head = elements[0]
    derivatives = head.gradient_hessian
    fields = {"elements": head.table.struct, "incidence": Incidence, "rest": Rest}
    Chain = make_struct("Chain_" + "_".join(element.name for element in elements), fields)

    @wp.func
    def sum_elements(chain: Chain, i: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float):
        gradient, hessian = sum_rest(chain.rest, i, d, x_start, dt)
        for k in range(chain.incidence.start[i], chain.incidence.start[i + 1]):
            g, h = derivatives(chain.elements, chain.incidence.element[k], chain.incidence.slots[k], d, x_start, dt)
            gradient = gradient + g
            hessian = hessian + h
        return gradient, hessian

    return Chain, sum_elements


@wp.kernel(enable_backward=False)
def take_color(work: Work, color: wp.array(dtype=wp.int32), found: wp.array(dtype=wp.vec3), displacement: wp.array(dtype=wp.vec3)):
    """The displacements of a colour, where its particles may not move before all of them have found theirs."""
    j = first_item(work, wp.tid())
    while j >= 0:
        displacement[color[j]] = found[color[j]]
        j = next_item(work, j)


@functools.cache
def make_vertex_kernels(elements: tuple[Element, ...], friction: str) -> tuple[Any, Any]:
    """The kernels (sweep, imbalance) for some kinds of elements and a friction law."""
    Chain, sum_elements = make_chain(elements)
    evaluate, slip_correction = make_row_contact(friction), make_slip_correction(friction)

    @wp.func
    def sum_rest(
        particles: Particles, chain: Chain, features: FeatureContacts, vertices: VertexMotion, i: int, dt: float
    ):  # fmt: skip
        """Gradient and block of all but contacts with shapes."""
        inertia = particles.mass[i] / (dt * dt)
        gradient, hessian = sum_elements(chain, i, vertices.displacement, vertices.start, dt)
        gradient = inertia * (vertices.displacement[i] - vertices.target[i]) + gradient
        return add_features(features, i, gradient, isotropic(inertia) + hessian)

    @wp.func
    def add_rows(rows: ContactRows, i: int, d: wp.vec3, dt: float, gradient: wp.vec3, hessian: Block):
        for r in range(rows.first[i], rows.first[i + 1]):
            g, h, _load, _secant = evaluate(rows, r, d, dt)
            gradient = gradient + g
            hessian = hessian + h
        return gradient, hessian

    @wp.func
    def moved(rows: ContactRows, i: int, before: wp.vec3, dt: float, gradient: wp.vec3, hessian: Block):
        """The displacement after the Newton steps (2); ``gradient`` and ``hessian`` are those of all but contacts, ``before``."""
        d = before
        least = float(-1.0)
        attempt = int(0)
        while attempt < ATTEMPTS:
            slope, sharp = add_rows(rows, i, d, dt, gradient + apply(hessian, d - before), hessian)
            for r in range(rows.first[i], rows.first[i + 1]):
                _g, _h, load, secant = evaluate(rows, r, d, dt)
                reach = rows.reach[r] + d
                sharp = sharp + slip_correction(reach, rows.normal[r], load, secant, rows.mu[r], rows.grip[r], slope, sharp)
            square = dot(slope, slope)
            if square > least:
                d = d - solve(sharp, slope)
            least = square
            attempt = wp.where(rows.first[i + 1] > rows.first[i], attempt + 1, ATTEMPTS)
        return d

    @wp.kernel(module="unique", enable_backward=False)
    def sweep_vertices(
        work: Work, color: wp.array(dtype=wp.int32), particles: Particles, chain: Chain, rows: ContactRows,
        features: FeatureContacts, done: wp.array(dtype=wp.int32), vertices: VertexMotion, dt: float,
        displacement: wp.array(dtype=wp.vec3),
    ):  # fmt: skip
        """Newton steps of the particles of a colour, in worlds that are not done."""
        j = first_item(work, wp.tid())
        while j >= 0:
            i = color[j]
            displacement[i] = vertices.displacement[i]
            if done[particles.world[i]] == 0 and not is_fixed(particles, i):
                gradient, hessian = sum_rest(particles, chain, features, vertices, i, dt)
                displacement[i] = moved(rows, i, vertices.displacement[i], dt, gradient, hessian)
            j = next_item(work, j)

    @wp.kernel(module="unique", enable_backward=False)
    def measure_imbalance(
        particles: Particles, chain: Chain, rows: ContactRows, features: FeatureContacts, vertices: VertexMotion, dt: float,
        imbalance: wp.array(dtype=wp.float32),
    ):  # fmt: skip
        i = wp.tid()
        imbalance[i] = 0.0
        if not is_fixed(particles, i):
            gradient, hessian = sum_rest(particles, chain, features, vertices, i, dt)
            gradient, _hessian = add_rows(rows, i, vertices.displacement[i], dt, gradient, hessian)
            imbalance[i] = norm(gradient)

    return sweep_vertices, measure_imbalance


def active_elements(tables: dict[str, Any]) -> list[tuple[Element, np.ndarray, np.ndarray]]:
    """The kinds of elements that act in a model, with the rows that do and their particles."""
    active = []
    for element in ELEMENTS:
        data = tables[element.table.name]
        if data.count:
            columns = {name: array.numpy() for name, array in data.arrays.items() if isinstance(array, wp.array)}
            rows, stencils = element.stencils(columns)
            if len(rows):
                active.append((element, rows, stencils))
    return active


def pack_chain(elements: list[tuple[Element, Entries]], tables: dict[str, Any], count: int, device: Any) -> Any:
    """The chain of ``count`` nodes, ready to be passed to the kernels."""
    chain = make_chain(())[0]()
    for n in reversed(range(len(elements))):
        element, entries = elements[n]
        link = make_chain(tuple(a[0] for a in elements[n:]))[0]()
        link.elements = tables[element.table.name].struct
        link.incidence = _list_entries(entries, count, device)
        link.rest = chain
        chain = link
    return chain


def _list_entries(entries: Entries, count: int, device: Any) -> Incidence:
    start, row, slot = list_members(entries.node, count)
    moves = entries.group[row] == entries.group[row, slot, None]
    incidence = Incidence()
    incidence.start = wp.array(start, dtype=wp.int32, device=device)
    incidence.element = wp.array(entries.rows[row], dtype=wp.int32, device=device)
    incidence.slots = wp.array(moves @ (1 << np.arange(moves.shape[1])), dtype=wp.int32, device=device)
    return incidence

"""What links (:mod:`hooke.solvers.vbd.links`) exert on bodies, and how far particles give way.

With the gradient G and block K of a link and the gradient r of everything at its particle, a body that moves its end of the link by v
moves the particle against the stiffness H of whatever else holds the particle. The force on the body then is

    G - K (K + H)^-1 r - K_eff v,     K_eff = H (K + H)^-1 K                                       (1)

the Newton step of both in series: it is G where the particle is in balance, and no stiffer than what gives way first. The particles
that press on a body or are attached to it move with it all at once. So H is that of all of them together: an element counts by those of
its corners that stay behind, as in patches (:mod:`hooke.solvers.vbd.patches`), in equal shares. A cloth that lies flat on a box
then weighs what it weighs, however stiff it is. The points of edges and faces, and further links of a particle, are not among them:
there H is that of the particles by themselves, for a point the inverse of the sum of w^2 H_c^-1
(docs/decisions/0022-particles-and-bodies.md).
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import Element
from hooke.elements.attachment import ATTACHMENT, Attachments, pull_derivatives
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.incidence import Incidence, build_incidence, list_members
from hooke.math import Block, add, apply, isotropic, mul, solve, symmetric
from hooke.model.tables import Particles
from hooke.solvers.vbd.contacts import make_row_contact
from hooke.solvers.vbd.features import ROW, FeatureContacts, contact_derivatives
from hooke.solvers.vbd.links import Links
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.vertices import make_struct
from hooke.solvers.vbd.workspace import ContactRows, VertexMotion

__all__ = ["HeldParticles", "hold_particles", "make_link_kernels", "make_push", "pack_neighbours"]


@wp.struct
class HeldParticles:
    """Attachments, and those of every particle."""

    attachments: Attachments
    incidence: Incidence


@wp.struct
class Neighbours:
    """Elements of every particle, ``element[start[i] : start[i + 1]]``, in which slot it is, and the row of their ``corners``."""

    start: wp.array(dtype=wp.int32)
    element: wp.array(dtype=wp.int32)
    slot: wp.array(dtype=wp.int32)
    row: wp.array(dtype=wp.int32)
    corners: wp.array2d(dtype=wp.int32)


def hold_particles(tables: dict[str, Any], device: Any) -> HeldParticles:
    """The attachments of all particles."""
    data, held = tables[ATTACHMENT.table.name], HeldParticles()
    particle = np.zeros((0, 1), np.int32)
    if data.count:
        particle = data.arrays["particle"].numpy().reshape(-1, 1)
    held.attachments = data.struct
    held.incidence = build_incidence(np.arange(len(particle), dtype=np.int32), particle, tables["particle"].count, device)
    return held


@functools.cache
def make_neighbour_chain(elements: tuple[Element, ...]) -> tuple[Any, Any]:
    """For some kinds of elements: their struct, and the function that sums gradient and block of a particle.

    If the particle has a ``mark``, the block is its share of that of all with the same.
    """
    if not elements:
        End = make_struct("NeighbourEnd", {"nothing": wp.int32})

        @wp.func
        def sum_none(chain: End, i: int, mark: int, marks: wp.array(dtype=wp.int32), vertices: VertexMotion, dt: float):
            return wp.vec3(0.0), isotropic(float(0.0))

        return End, sum_none

    Rest, sum_rest = make_neighbour_chain(elements[1:])
    derivatives = elements[0].gradient_hessian
    count, size = wp.constant(elements[0].particle_count), wp.constant(elements[0].size)
    fields = {"elements": elements[0].table.struct, "neighbours": Neighbours, "rest": Rest}
    Chain = make_struct("Neighbours_" + "_".join(element.name for element in elements), fields)

    @wp.func
    def sum_elements(chain: Chain, i: int, mark: int, marks: wp.array(dtype=wp.int32), vertices: VertexMotion, dt: float):
        gradient, block = sum_rest(chain.rest, i, mark, marks, vertices, dt)
        near = chain.neighbours
        for k in range(near.start[i], near.start[i + 1]):
            e, slot = near.element[k], near.slot[k]
            g, h = derivatives(chain.elements, e, 1 << slot, vertices.displacement, vertices.start, dt)
            gradient = gradient + g
            slots, number = 1 << slot, int(1)
            if mark >= 0:
                for c in range(count):
                    if c != slot and marks[near.corners[near.row[k], c]] == mark:
                        slots = slots | (1 << c)
                        number += 1
            if number == 1:
                block = block + h
            elif number < size:
                _g, h = derivatives(chain.elements, e, slots, vertices.displacement, vertices.start, dt)
                block = block + (1.0 / float(number)) * h
        return gradient, block

    return Chain, sum_elements


def pack_neighbours(active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], device: Any) -> tuple[Any, Any]:
    """The kinds of elements that act, without attachments, and the chain of their elements.

    Args:
        active: Kinds, with the rows that act and their particles.
        tables: Tables of the model.
        device: Where the arrays go.
    """
    found = [entry for entry in active if entry[0] is not ATTACHMENT]
    kinds = tuple(element for element, _rows, _stencils in found)
    chain = make_neighbour_chain(())[0]()
    for n in reversed(range(len(found))):
        element, rows, stencils = found[n]
        link, near = make_neighbour_chain(kinds[n:])[0](), Neighbours()
        start, row, slot = list_members(stencils, tables["particle"].count)
        arrays = {"start": start, "element": rows[row], "slot": slot, "row": row}
        for name, array in arrays.items():
            setattr(near, name, wp.array(np.ascontiguousarray(array, np.int32), dtype=wp.int32, device=device))
        near.corners = wp.array(np.ascontiguousarray(stencils, np.int32), dtype=wp.int32, ndim=2, device=device)
        link.elements, link.neighbours, link.rest = tables[element.table.name].struct, near, chain
        chain = link
    return kinds, chain


@wp.func
def matrix_of(b: Block):
    return wp.mat33(b.xx, b.xy, b.xz, b.xy, b.yy, b.yz, b.xz, b.yz, b.zz)


@wp.func
def block_from(c0: wp.vec3, c1: wp.vec3, c2: wp.vec3):
    """The symmetric part of a matrix given by its columns."""
    return symmetric(c0[0], c1[1], c2[2], 0.5 * (c0[1] + c1[0]), 0.5 * (c0[2] + c2[0]), 0.5 * (c1[2] + c2[1]))


@wp.func
def inverse_of(b: Block):
    return block_from(
        solve(b, wp.vec3(1.0, 0.0, 0.0)), solve(b, wp.vec3(0.0, 1.0, 0.0)), solve(b, wp.vec3(0.0, 0.0, 1.0))
    )  # fmt: skip


@wp.func
def in_series(k: Block, h: Block):
    """H (K + H)^-1 K."""
    both = k + h
    return block_from(
        apply(h, solve(both, wp.vec3(k.xx, k.xy, k.xz))), apply(h, solve(both, wp.vec3(k.xy, k.yy, k.yz))),
        apply(h, solve(both, wp.vec3(k.xz, k.yz, k.zz))),
    )  # fmt: skip


@wp.func
def pull_of(held: HeldParticles, a: int, vertices: VertexMotion, dt: float):
    """Gradient and block of an attachment."""
    e = held.attachments
    i = e.particle[a]
    p = vertices.start.shape[0] - 1 - e.particle.shape[0] + a
    moved = vertices.displacement[i] - vertices.displacement[p]
    return pull_derivatives((vertices.start[i] - vertices.start[p]) + moved, moved, e.stiffness[a], e.damping[a] / dt)


@functools.cache
def make_link_derivatives(friction: str) -> Any:
    """The function of gradient and block of a link by its point, for a friction law."""
    evaluate = make_row_contact(friction)

    @wp.func
    def link_derivatives(
        held: HeldParticles, rows: ContactRows, features: FeatureContacts, vertices: VertexMotion, links: Links, k: int, dt: float
    ):  # fmt: skip
        """Gradient and block of a link by its point."""
        gradient, block = wp.vec3(0.0), isotropic(float(0.0))
        if k < links.rows:
            g, h, _load, _secant = evaluate(rows, k, vertices.displacement[links.corner[k][0]], dt)
            gradient = g
            block = h
        elif k < links.rows + links.facets:
            g, h = contact_derivatives(features, k - links.rows)
            gradient = g
            block = h
        else:
            g, h = pull_of(held, k - links.rows - links.facets, vertices, dt)
            gradient = g
            block = h
        return gradient, block

    return link_derivatives


@functools.cache
def make_push(friction: str) -> Any:
    """The kernel by which links push bodies as they are now, as if no particle gave way."""
    link_derivatives = make_link_derivatives(friction)

    @wp.kernel(module="unique", enable_backward=False)
    def push_links(
        work: Work, held: HeldParticles, rows: ContactRows, features: FeatureContacts, vertices: VertexMotion, dt: float, links: Links
    ):  # fmt: skip
        """Gradient and block of every link."""
        k = first_item(work, wp.tid())
        while k >= 0:
            if links.body[k] >= 0:
                force, block = link_derivatives(held, rows, features, vertices, links, k, dt)
                links.pull[k] = force
                links.stiffness[k] = matrix_of(block)
            k = next_item(work, k)

    return push_links


@functools.cache
def make_link_kernels(elements: tuple[Element, ...], friction: str) -> tuple[Any, Any]:
    """The kernels (mark, judge) for some kinds of elements, without attachments, and a friction law."""
    Chain, sum_elements = make_neighbour_chain(elements)
    evaluate, link_derivatives = make_row_contact(friction), make_link_derivatives(friction)

    @wp.kernel(module="unique", enable_backward=False)
    def mark_particles(
        work: Work, particles: Particles, held: HeldParticles, rows: ContactRows, vertices: VertexMotion, dt: float, links: Links
    ):  # fmt: skip
        """Which particles move with a body: those that press on it, by their first row, and those that are attached to it."""
        i = first_item(work, wp.tid())
        while i >= 0:
            found = int(-1)
            if not is_fixed(particles, i):
                for r in range(rows.first[i], rows.first[i + 1]):
                    if found < 0 and links.body[r] >= 0:
                        _g, _h, load, _secant = evaluate(rows, r, vertices.displacement[i], dt)
                        if load > 0.0:
                            found = r
                for n in range(held.incidence.start[i], held.incidence.start[i + 1]):
                    k = links.rows + links.facets + held.incidence.element[n]
                    if found < 0 and links.body[k] >= 0:
                        found = k
            links.carrier[i] = found
            links.mark[i] = -1
            if found >= 0:
                links.mark[i] = links.body[found]
            i = next_item(work, i)

    @wp.func
    def derivatives_at(
        particles: Particles, chain: Chain, held: HeldParticles, rows: ContactRows, features: FeatureContacts,
        vertices: VertexMotion, i: int, skip: int, links: Links, dt: float,
    ):  # fmt: skip
        """Gradient of everything at a particle, and its block without link ``skip``."""
        inertia = particles.mass[i] / (dt * dt)
        mark = int(-1)
        if links.carrier[i] == skip:
            mark = links.mark[i]
        gradient, block = sum_elements(chain, i, mark, links.mark, vertices, dt)
        d = vertices.displacement[i]
        gradient = gradient + inertia * (d - vertices.target[i])
        block = block + isotropic(inertia)
        for r in range(rows.first[i], rows.first[i + 1]):
            g, h, _load, _secant = evaluate(rows, r, d, dt)
            gradient = gradient + g
            if r != skip:
                block = block + h
        for n in range(held.incidence.start[i], held.incidence.start[i + 1]):
            a = held.incidence.element[n]
            if held.attachments.enabled[a]:
                g, h = pull_of(held, a, vertices, dt)
                gradient = gradient + g
                if links.rows + links.facets + a != skip:
                    block = block + h
        if features.first.shape[0] > 0:
            p = features.place[i]
            for n in range(features.first[p], features.first[p + 1]):
                c, slot = features.entry[n] // 4, features.entry[n] % 4
                g, h = contact_derivatives(features, c)
                w = features.row[ROW * c + 4 + slot]
                gradient = gradient + w * g
                if c >= links.facets or links.rows + c != skip:
                    block = block + (w * w) * h
        return gradient, block

    @wp.kernel(module="unique", enable_backward=False)
    def judge_links(
        work: Work, particles: Particles, chain: Chain, held: HeldParticles, rows: ContactRows, features: FeatureContacts,
        vertices: VertexMotion, dt: float, links: Links,
    ):  # fmt: skip
        """(1) of every link."""
        k = first_item(work, wp.tid())
        while k >= 0:
            if links.body[k] >= 0:
                force, block = link_derivatives(held, rows, features, vertices, links, k, dt)
                links.pull[k] = force
                links.stiffness[k] = wp.mat33(0.0)
                if block.xx + block.yy + block.zz > 0.0:
                    way = wp.vec3(0.0)
                    yielding, stiff, free = isotropic(float(0.0)), isotropic(float(0.0)), int(0)
                    for c in range(3):
                        i = links.corner[k][c]
                        if i >= 0:
                            if not is_fixed(particles, i):
                                w = links.weight[k][c]
                                g, h = derivatives_at(particles, chain, held, rows, features, vertices, i, k, links, dt)
                                way = way - w * solve(h, g)
                                free += 1
                                stiff = h
                                if links.corner[k][1] >= 0:
                                    yielding = yielding + (w * w) * inverse_of(h)
                    if free > 0:
                        if links.corner[k][1] >= 0:
                            stiff = inverse_of(yielding)
                        block = in_series(block, stiff)
                        links.pull[k] = force + apply(block, way)
                    links.stiffness[k] = matrix_of(block)
            k = next_item(work, k)

    return mark_particles, judge_links

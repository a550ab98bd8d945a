"""What links (:mod:`hooke.solvers.vbd.links`) exert on bodies, and how far particles give way.

With the gradient G and block K of a link, and the gradient r of everything at its particle, a body that moves its end of the link by v
moves the particle against the block H of whatever else holds it. The force on the body then is

    G - K (K + H)^-1 r - K_eff v,     K_eff = H (K + H)^-1 K                                       (1)

the Newton step of both in series: it is G where the particle is in balance, and no stiffer than what gives way first. So a body and the
particles on it are solved as if particles did not know of each other, and the sweep that follows makes good for that. The point of an
edge or a face gives way like its corners: its block is the inverse of the sum of w^2 H_c^-1.
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import Element
from hooke.elements.attachment import ATTACHMENT, Attachments, pull_derivatives
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.incidence import Incidence, build_incidence
from hooke.math import Block, add, apply, isotropic, mul, solve, symmetric
from hooke.model.tables import Particles
from hooke.solvers.vbd.contacts import make_row_contact
from hooke.solvers.vbd.features import ROW, FeatureContacts, contact_derivatives
from hooke.solvers.vbd.links import Links
from hooke.solvers.vbd.patches import particle_entries
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.vertices import make_chain, pack_chain
from hooke.solvers.vbd.workspace import ContactRows, VertexMotion

__all__ = ["HeldParticles", "hold_particles", "make_link_kernel", "pack_others"]


@wp.struct
class HeldParticles:
    """Attachments, and those of every particle."""

    attachments: Attachments
    incidence: Incidence


def hold_particles(tables: dict[str, Any], device: Any) -> HeldParticles:
    """The attachments of all particles."""
    data, held = tables[ATTACHMENT.table.name], HeldParticles()
    particle = np.zeros((0, 1), np.int32)
    if data.count:
        particle = data.arrays["particle"].numpy().reshape(-1, 1)
    held.attachments = data.struct
    held.incidence = build_incidence(np.arange(len(particle), dtype=np.int32), particle, tables["particle"].count, device)
    return held


def pack_others(
    active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], points: int, device: Any
) -> tuple[Any, Any]:
    """The kinds of elements that act, without attachments, and the chain of their elements.

    Args:
        active: Kinds, with the rows that act and their particles.
        tables: Tables of the model.
        points: Number of points behind the particles.
        device: Where the arrays go.
    """
    count = tables["particle"].count
    others = [entry for entry in active if entry[0] is not ATTACHMENT]
    entries = []
    for element, rows, stencils in others:
        corners = element.corners(rows, stencils, tables[element.table.name].count, count + points)
        entries.append((element, particle_entries(element, rows, corners)))
    return tuple(element for element, _rows, _stencils in others), pack_chain(entries, tables, count, device)


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
def make_link_kernel(elements: tuple[Element, ...], friction: str) -> Any:
    """The kernel that judges links, for some kinds of elements, without attachments, and a friction law."""
    Chain, sum_elements = make_chain(elements)
    evaluate = make_row_contact(friction)

    @wp.func
    def derivatives_at(
        particles: Particles, chain: Chain, held: HeldParticles, rows: ContactRows, features: FeatureContacts,
        vertices: VertexMotion, i: int, skip: int, links: Links, dt: float,
    ):  # fmt: skip
        """Gradient of everything at a particle, and its block without link ``skip``."""
        inertia = particles.mass[i] / (dt * dt)
        gradient, block = sum_elements(chain, i, vertices.displacement, vertices.start, dt)
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

    return judge_links

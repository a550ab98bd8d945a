"""Contacts of particles with shapes: binding the rows of a collision pass to particles, and what is remembered of them.

Rows are gathered by particle and sorted by shape, whatever their order in the buffer, so every sum has one owner and one order. A
contact is recognised in the next step by its particle and shape; with anchored friction its anchor then stays where it was.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.contact.mixing import mix_damping, mix_friction, mix_stiffness
from hooke.contact.normal import ramped_stiffness
from hooke.contact.particle import make_particle_contact, penetration
from hooke.execution.work import Work, first_item, next_item
from hooke.math import IndexLanes, VectorL, add, gather_numbers, gather_vectors, mul, sub
from hooke.model.contacts import SoftRows
from hooke.model.tables import Particles, Shapes
from hooke.solvers.reset import is_selected
from hooke.solvers.vbd.workspace import ContactMemory, ContactRows, VertexMotion

__all__ = [
    "ContactMaterial", "bind_rows", "body_pose", "corners_of", "count_rows", "first_stiffness", "forget_bodies", "forget_particles",
    "has_facets", "has_rows", "list_rows", "make_contact_kernels", "make_lane_contact", "make_row_contact", "meet_bodies", "ramp_rows",
    "row_count",
]  # fmt: skip


@wp.struct
class ContactMaterial:
    """The particles' side of every contact, and the settings of friction and of the ramp.

    With anchored friction the grip of a row is the larger of its stiffness and ``hold`` m/dt^2; smoothed, it is ``slip`` dt. A step
    begins with a stiffness of at most ``start``, or, where ``kept`` is 1, with that which its row had, and with each iteration it grows by
    ``beta`` times the penetration.
    """

    ke: wp.float32
    kd: wp.float32
    mu: wp.float32
    hold: wp.float32
    slip: wp.float32
    start: wp.float32
    beta: wp.float32
    kept: wp.float32


@wp.func
def first_stiffness(material: ContactMaterial, stiffness: float, before: float):
    """The stiffness with which a row of a ``stiffness`` begins a step, if it had another ``before``."""
    return wp.clamp(material.kept * before, wp.min(stiffness, material.start), stiffness)


def has_rows(contacts: Any) -> bool:
    """Whether there may be any rows."""
    return contacts is not None and contacts.soft_contact_max > 0


def has_facets(contacts: Any) -> bool:
    """Whether there may be rows of edges and faces; a buffer of another package does not say."""
    return has_rows(contacts) and getattr(contacts, "soft_contact_surface", True)


@wp.func
def row_count(rows: SoftRows):
    return wp.min(rows.count[0], rows.particle.shape[0])


@wp.func
def corners_of(rows: SoftRows, r: int):
    """How many corners a row has."""
    return 1 + wp.where(rows.indices[r][1] < 0, 0, 1) + wp.where(rows.indices[r][2] < 0, 0, 1)


@wp.func
def particle_of(rows: SoftRows, r: int):
    """The particle of a row, -1 for rows of other kinds."""
    return wp.where(rows.indices[r][1] < 0, rows.indices[r][0], -1)


@wp.kernel(enable_backward=False)
def count_rows(work: Work, rows: SoftRows, number: wp.array(dtype=wp.int32)):
    r = first_item(work, wp.tid())
    while r >= 0 and r < row_count(rows):
        i = particle_of(rows, r)
        if i >= 0:
            wp.atomic_add(number, i + 1, 1)
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def list_rows(work: Work, rows: SoftRows, filled: wp.array(dtype=wp.int32), bound: ContactRows):
    r = first_item(work, wp.tid())
    while r >= 0 and r < row_count(rows):
        i = particle_of(rows, r)
        if i >= 0:
            slot = bound.first[i] + wp.atomic_add(filled, i, 1)
            bound.source[slot] = r
        r = next_item(work, r)


@wp.func
def sort_by_shape(rows: SoftRows, bound: ContactRows, first: int, last: int):
    for k in range(first + 1, last):
        r = bound.source[k]
        j = k - 1
        while j >= first and rows.shape[bound.source[j]] > rows.shape[r]:
            bound.source[j + 1] = bound.source[j]
            j -= 1
        bound.source[j + 1] = r


@wp.func
def body_pose(body: int, body_q: wp.array(dtype=wp.transform)):
    if body < 0:
        return wp.transform_identity()
    return body_q[body]


@wp.func
def find_anchor(memory: ContactMemory, i: int, shape: int):
    """The remembered row of a particle on a shape, -1 if there is none."""
    found = int(-1)
    for k in range(memory.first[i], memory.first[i + 1]):
        if memory.shape[k] == shape:
            found = k
    return found


@wp.kernel(enable_backward=False)
def bind_rows(
    work: Work,
    rows: SoftRows,
    particles: Particles,
    shapes: Shapes,
    vertices: VertexMotion,
    body_q: wp.array(dtype=wp.transform),
    body_q_prev: wp.array(dtype=wp.transform),
    memory: ContactMemory,
    material: ContactMaterial,
    dt: float,
    bound: ContactRows,
):
    """Fill the rows of every particle: geometry and material for the step, and the anchor from which slip is measured."""
    i = first_item(work, wp.tid())
    while i >= 0:
        first = bound.first[i]
        last = bound.first[i + 1]
        sort_by_shape(rows, bound, first, last)
        start = vertices.start[i]
        for k in range(first, last):
            r = bound.source[k]
            s = rows.shape[r]
            pose = body_pose(shapes.body[s], body_q)
            pose_start = body_pose(shapes.body[s], body_q_prev)
            point = wp.transform_point(pose, rows.body_pos[r])
            point_start = wp.transform_point(pose_start, rows.body_pos[r])
            n = rows.normal[r]
            anchor = start - wp.dot(n, start - point_start) * n  # the surface under the particle, when the step began
            local = wp.transform_point(wp.transform_inverse(pose_start), anchor)
            carried = dt * wp.transform_vector(pose, rows.body_vel[r])
            old = find_anchor(memory, i, s)
            if old >= 0 and vertices.seen[i] != 0:
                local = memory.anchor[old]
            bound.shape[k] = s
            bound.offset[k] = start - point
            bound.motion[k] = point - point_start + carried
            bound.reach[k] = start - wp.transform_point(pose, local) - carried
            bound.normal[k] = n
            bound.radius[k] = particles.radius[i] + shapes.margin[s]
            stiffness = mix_stiffness(material.ke, shapes.material_ke[s])
            bound.stiffness[k] = first_stiffness(material, stiffness, bound.stiffness[k])
            bound.damping[k] = mix_damping(material.kd, shapes.material_kd[s])
            bound.mu[k] = mix_friction(material.mu, shapes.material_mu[s])
            # The grip is not ramped: a contact that sticks hangs on its anchor by the same spring in every iteration and step.
            hold = wp.max(stiffness, particles.mass[i] / (dt * dt))
            bound.grip[k] = wp.where(material.hold > 0.0, material.hold * hold, material.slip * dt)
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def ramp_rows(work: Work, shapes: Shapes, vertices: VertexMotion, material: ContactMaterial, rows: ContactRows):
    """Between iterations: the stiffness of every row for the next one."""
    i = first_item(work, wp.tid())
    while i >= 0:
        for r in range(rows.first[i], rows.first[i + 1]):
            p = penetration(rows.offset[r] + vertices.displacement[i], rows.normal[r], rows.radius[r])
            most = mix_stiffness(material.ke, shapes.material_ke[rows.shape[r]])
            rows.stiffness[r] = ramped_stiffness(rows.stiffness[r], p, material.beta, most)
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def meet_bodies(body_q: wp.array(dtype=wp.transform), known: wp.array(dtype=wp.int32), body_q_prev: wp.array(dtype=wp.transform)):
    """A body that is seen for the first time, or after a reset, has not moved."""
    b = wp.tid()
    if known[b] == 0:
        known[b] = 1
        body_q_prev[b] = body_q[b]


@wp.kernel(enable_backward=False)
def forget_bodies(world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), known: wp.array(dtype=wp.int32)):
    """Forget the poses of the bodies of the selected worlds; the last entry of the mask is for those of none."""
    b = wp.tid()
    if is_selected(selected, world[b]):
        known[b] = 0


@wp.kernel(enable_backward=False)
def forget_particles(particles: Particles, selected: wp.array(dtype=wp.bool), vertices: VertexMotion, memory: ContactMemory):
    """Drop the anchors and the past of the particles of the selected worlds; the last entry of the mask is for those of none."""
    i = wp.tid()
    if is_selected(selected, particles.world[i]):
        vertices.seen[i] = 0
        for k in range(memory.first[i], memory.first[i + 1]):
            memory.shape[k] = -1


@functools.cache
def make_row_contact(friction: str) -> Any:
    """The function that evaluates a bound row at the displacement d of its particle (see ``particle_contact``)."""
    particle_contact = make_particle_contact(friction)

    @wp.func
    def evaluate(rows: ContactRows, r: int, d: wp.vec3, dt: float):
        return particle_contact(
            rows.offset[r] + d, d - rows.motion[r], rows.reach[r] + d, rows.normal[r], rows.radius[r], rows.stiffness[r],
            rows.damping[r] / dt, rows.mu[r], rows.grip[r],
        )  # fmt: skip

    return evaluate


@functools.cache
def make_lane_contact(friction: str) -> Any:
    """The same for the rows of 16 particles; ``rate`` = 1/dt."""
    particle_contact = make_particle_contact(friction)

    @wp.func
    def evaluate_lanes(rows: ContactRows, r: IndexLanes, d: VectorL, rate: float):
        return particle_contact(
            gather_vectors(rows.offset, r) + d, d - gather_vectors(rows.motion, r), gather_vectors(rows.reach, r) + d,
            gather_vectors(rows.normal, r), gather_numbers(rows.radius, r), gather_numbers(rows.stiffness, r),
            rate * gather_numbers(rows.damping, r), gather_numbers(rows.mu, r), gather_numbers(rows.grip, r),
        )  # fmt: skip

    return evaluate_lanes


@functools.cache
def make_contact_kernels(friction: str) -> tuple[Any, Any]:
    """The kernels (remember, forces) for a friction law."""
    evaluate = make_row_contact(friction)

    @wp.kernel(module="unique", enable_backward=False)
    def remember_contacts(
        work: Work, rows: ContactRows, shapes: Shapes, vertices: VertexMotion, body_q: wp.array(dtype=wp.transform), dt: float,
        memory: ContactMemory,
    ):  # fmt: skip
        """Keep the anchors, dragged along where the contact slid; a contact without load has none."""
        i = first_item(work, wp.tid())
        while i >= 0:
            memory.first[i] = rows.first[i]
            if i == memory.first.shape[0] - 2:
                memory.first[i + 1] = rows.first[i + 1]
            for r in range(rows.first[i], rows.first[i + 1]):
                d = vertices.displacement[i]
                _g, _h, load, tangential = evaluate(rows, r, d, dt)
                n = rows.normal[r]
                surface = vertices.start[i] + d - wp.dot(n, rows.offset[r] + d) * n
                slip = rows.reach[r] + d
                slip = slip - wp.dot(n, slip) * n
                held = tangential / rows.grip[r]
                inverse = wp.transform_inverse(body_pose(shapes.body[rows.shape[r]], body_q))
                memory.anchor[r] = wp.transform_point(inverse, surface - held * slip)
                memory.shape[r] = wp.where(load > 0.0, rows.shape[r], -1)
            i = next_item(work, i)

    @wp.kernel(module="unique", enable_backward=False)
    def write_contact_forces(
        rows: ContactRows, vertices: VertexMotion, dt: float, offset: int, force: wp.array(dtype=wp.spatial_vector)
    ):
        """The force on the particle and its torque about the origin, in the row of the buffer that the contact came from."""
        i = wp.tid()
        for r in range(rows.first[i], rows.first[i + 1]):
            d = vertices.displacement[i]
            gradient, _h, _load, _tangential = evaluate(rows, r, d, dt)
            n = rows.normal[r]
            surface = vertices.start[i] + d - wp.dot(n, rows.offset[r] + d) * n
            torque = wp.cross(surface, -gradient)
            force[offset + rows.source[r]] = wp.spatial_vector(-gradient, torque)

    return remember_contacts, write_contact_forces

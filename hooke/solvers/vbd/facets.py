"""Contacts of edges and faces with shapes: the rows of a collision pass that stand for a point between particles.

With the barycentric weights w of the corners, the point X = sum_c w_c x_c is in contact as a particle is, with the largest radius of
the corners, quadratic penalty and smoothed friction. Corner c takes w_c of the force and w_c^2 of the block. They are the first source
of the contacts of features; contact r is row r of the buffer, so rows of particles stand empty.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.contact.mixing import mix_damping, mix_friction, mix_stiffness
from hooke.contact.normal import ramped_stiffness
from hooke.execution.work import Work, first_item, next_item
from hooke.model.contacts import SoftRows
from hooke.model.tables import Particles, Shapes
from hooke.solvers.vbd.contacts import ContactMaterial, body_pose, corners_of, first_stiffness, row_count
from hooke.solvers.vbd.features import (
    ROW,
    FeatureContacts,
    Features,
    contact_change,
    contact_derivatives,
    count_features,
    find_free,
    list_features,
    sort_features,
)

__all__ = ["FacetContacts", "bind_facets", "ramp_facets", "write_facet_forces"]


@wp.func
def is_facet(rows: SoftRows, r: int):
    """Whether a row is one of an edge or a face."""
    return rows.indices[r][1] >= 0


@wp.func
def normal_of(contacts: FeatureContacts, k: int):
    return wp.vec3(contacts.row[ROW * k], contacts.row[ROW * k + 1], contacts.row[ROW * k + 2])


@wp.func
def distance_of(contacts: FeatureContacts, k: int):
    """The distance of contact ``k`` where the particles are now."""
    return contacts.row[ROW * k + 3] + wp.dot(normal_of(contacts, k), contact_change(contacts, k))


@wp.func
def facet_material(rows: SoftRows, r: int, particles: Particles, shapes: Shapes, material: ContactMaterial, before: float):
    """Stiffness, ``before`` this step another, damping, friction and radius of a row."""
    s = rows.shape[r]
    radius = float(0.0)
    for c in range(corners_of(rows, r)):
        radius = wp.max(radius, particles.radius[rows.indices[r][c]])
    stiffness = first_stiffness(material, mix_stiffness(material.ke, shapes.material_ke[s]), before)
    damping = mix_damping(material.kd, shapes.material_kd[s])
    return wp.vec4(stiffness, damping, mix_friction(material.mu, shapes.material_mu[s]), radius + shapes.margin[s])


@wp.kernel(enable_backward=False)
def bind_facets(
    work: Work, rows: SoftRows, particles: Particles, shapes: Shapes, start: wp.array(dtype=wp.vec3),
    body_q: wp.array(dtype=wp.transform), body_q_prev: wp.array(dtype=wp.transform), material: ContactMaterial, dt: float,
    end: wp.array(dtype=wp.int32), contacts: FeatureContacts,
):  # fmt: skip
    """The contacts of a step, one for every row; of nobody where the row is that of a particle."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if r == 0:
            end[0] = row_count(rows)
        if r < row_count(rows):
            for c in range(4):
                contacts.corner[4 * r + c] = contacts.first.shape[0] - 1
                contacts.row[ROW * r + 4 + c] = 0.0
            if is_facet(rows, r):
                body = shapes.body[rows.shape[r]]
                pose = body_pose(body, body_q)
                point = wp.transform_point(pose, rows.body_pos[r])
                motion = point - wp.transform_point(body_pose(body, body_q_prev), rows.body_pos[r])
                motion += dt * wp.transform_vector(pose, rows.body_vel[r])
                offset = wp.vec3(0.0)
                for c in range(corners_of(rows, r)):
                    i = rows.indices[r][c]
                    contacts.corner[4 * r + c] = contacts.place[i]
                    contacts.row[ROW * r + 4 + c] = rows.barycentric[r][c]
                    offset += rows.barycentric[r][c] * (start[i] - point)
                n = rows.normal[r]
                m = facet_material(rows, r, particles, shapes, material, contacts.row[ROW * r + 8])
                for k in range(3):
                    contacts.row[ROW * r + k] = n[k]
                    contacts.row[ROW * r + 13 + k] = motion[k]
                contacts.row[ROW * r + 3] = wp.dot(n, offset)
                contacts.row[ROW * r + 8] = m[0]
                contacts.row[ROW * r + 9] = m[1] / dt
                contacts.row[ROW * r + 10] = m[2]
                contacts.row[ROW * r + 11] = m[3]
                contacts.row[ROW * r + 12] = 0.0  # a quadratic penalty at every distance
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def ramp_facets(
    work: Work, rows: SoftRows, shapes: Shapes, material: ContactMaterial, end: wp.array(dtype=wp.int32), contacts: FeatureContacts
):  # fmt: skip
    """Between iterations: the stiffness of every contact for the next one."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if r < end[0] and is_facet(rows, r):
            penetration = contacts.row[ROW * r + 11] - distance_of(contacts, r)
            most = mix_stiffness(material.ke, shapes.material_ke[rows.shape[r]])
            stiffness = contacts.row[ROW * r + 8]
            contacts.row[ROW * r + 8] = ramped_stiffness(stiffness, penetration, material.beta, most)
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def write_facet_forces(
    rows: SoftRows, start: wp.array(dtype=wp.vec3), contacts: FeatureContacts, end: wp.array(dtype=wp.int32), offset: int,
    force: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """The force on the edge or face of every row and its torque about the origin."""
    r = wp.tid()
    if r < end[0] and is_facet(rows, r):
        gradient, _block = contact_derivatives(contacts, r)
        surface = -distance_of(contacts, r) * normal_of(contacts, r) + contact_change(contacts, r)
        for c in range(corners_of(rows, r)):
            surface += rows.barycentric[r][c] * start[rows.indices[r][c]]
        force[offset + r] = wp.spatial_vector(-gradient, wp.cross(surface, -gradient))


class FacetContacts:
    """The rows of edges and faces in a solver.

    Args:
        features: The contacts among which they are.
        listed: Whether self-contact makes the lists of the indices.
        tables: Tables of the model.
        start: Where the particles start the step.
        recorder: Launches the kernels.

    Attributes:
        room: Rows that there is room for.
    """

    def __init__(self, features: Features, listed: bool, tables: dict[str, Any], start: wp.array, recorder: Any):
        self.features, self.room = features, 0
        self._listed, self._start, self._recorder = listed, start, recorder
        self._particles, self._shapes = tables["particle"], tables["shape"]

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [bind_facets, ramp_facets, find_free, count_features, list_features, sort_features]

    @property
    def _end(self) -> wp.array:
        return self.features.ends[0]

    def reserve(self, rows: int) -> None:
        """Make room."""
        self.room = rows
        self.features.reserve(0, [rows])
        self._recorder.forget()

    def bind(self, rows: SoftRows | None, bodies: tuple[wp.array, wp.array], material: ContactMaterial, dt: float) -> None:
        """The contacts of a step; without ``rows`` there are none."""
        contacts, particles = self.features.contacts, self._particles
        if rows is None:
            self._recorder.alone(self._end.zero_)
        else:
            inputs = [rows, particles.struct, self._shapes.struct, self._start, *bodies, material, dt]
            self._recorder.launch(bind_facets, len(rows.particle), inputs, [self._end, contacts])
        if not self._listed:
            self._recorder.launch(find_free, particles.count, [particles.struct, contacts.place], [self.features.free])
            self.features.list()

    def ramp(self, rows: SoftRows, material: ContactMaterial) -> None:
        """Between two iterations: contacts that are deep become stiffer."""
        inputs = [rows, self._shapes.struct, material, self._end]
        self._recorder.launch(ramp_facets, len(rows.particle), inputs, [self.features.contacts])

    def write_forces(self, rows: SoftRows, offset: int, force: wp.array) -> None:
        """The force of every row into entry ``offset`` + row; not part of a step."""
        inputs = [rows, self._start, self.features.contacts, self._end, offset]
        wp.launch(write_facet_forces, dim=len(rows.particle), inputs=inputs, outputs=[force], device=self._recorder.device)

"""A view on contacts: how many selected shapes or bodies have, and the forces that others exert on each."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.compile import load_kernels
from hooke.execution.recorder import launch_directly
from hooke.execution.work import Work, first_item, next_item, whole_work
from hooke.model.contacts import Contacts
from hooke.model.model import model_tables
from hooke.model.selection import select

__all__ = ["ContactSensor"]


@wp.struct
class SensedRows:
    """Rows of a buffer: shapes of contacts of shapes, then of particles, and the forces of all of them, or no forces."""

    counters: wp.array(dtype=wp.int32)
    shape0: wp.array(dtype=wp.int32)
    shape1: wp.array(dtype=wp.int32)
    soft_shape: wp.array(dtype=wp.int32)
    force: wp.array(dtype=wp.spatial_vector)


@wp.struct
class Sensed:
    """Of every shape the object that senses it and its column as a counterpart (-1 is none); particles count if told so."""

    object: wp.array(dtype=wp.int32)
    counterpart: wp.array(dtype=wp.int32)
    particles: wp.int32


@wp.func
def force_of(rows: SensedRows, row: int):
    if rows.force.shape[0] == 0:
        return wp.spatial_vector()
    return rows.force[row]


@wp.func
def take_row(force: wp.spatial_vector, o: int, column: int, matrix: wp.array2d(dtype=wp.vec3)):
    """A row acts on an object."""
    if column < matrix.shape[1]:
        matrix[o, column] = matrix[o, column] + wp.spatial_top(force)


@wp.kernel(enable_backward=False)
def sum_contacts(
    work: Work, rows: SensedRows, sensed: Sensed, count: wp.array(dtype=wp.int32), total: wp.array(dtype=wp.spatial_vector),
    matrix: wp.array2d(dtype=wp.vec3),
):  # fmt: skip
    """One owner per sum, who goes through all rows in order, so that the sums are always the same."""
    o = first_item(work, wp.tid())
    while o >= 0:
        number = int(0)
        force = wp.spatial_vector()
        for c in range(matrix.shape[1]):
            matrix[o, c] = wp.vec3(0.0)
        for r in range(wp.min(rows.counters[0], rows.shape0.shape[0])):
            a, b = rows.shape0[r], rows.shape1[r]
            if a >= 0 and b >= 0:
                if sensed.object[a] == o and sensed.counterpart[b] >= 0:
                    number += 1
                    force -= force_of(rows, r)
                    take_row(-force_of(rows, r), o, sensed.counterpart[b], matrix)
                if sensed.object[b] == o and sensed.counterpart[a] >= 0:
                    number += 1
                    force += force_of(rows, r)
                    take_row(force_of(rows, r), o, sensed.counterpart[a], matrix)
        if sensed.particles != 0:
            for r in range(wp.min(rows.counters[1], rows.soft_shape.shape[0])):
                if sensed.object[rows.soft_shape[r]] == o:
                    number += 1
                    force -= force_of(rows, rows.shape0.shape[0] + r)
        count[o] = number
        total[o] = force
        o = next_item(work, o)


class ContactSensor:
    """Contacts of some shapes or bodies.

    Args:
        model: The model.
        shapes: Shapes to sense, each by itself: a pattern of labels, indices, or a list of both (:func:`hooke.selection.select`).
        bodies: Bodies to sense instead, each with all its shapes.
        counterparts: Shapes whose contacts count, each by itself, in the same way.
        counterpart_bodies: Bodies whose contacts count instead, each with all its shapes. Without either all shapes count, and particles.
        particles: Whether contacts with particles count; None is yes where no counterparts are given.

    Attributes:
        labels: Labels of what is sensed.
        counterparts: Labels of the counterparts that were asked for.
        count: Rows of every object in the buffer of the last :meth:`update`, int32 (objects,); a row may be ahead of the contact.
        force: Force [N] on every object and torque [N m] about the origin of the world, world axes, spatial_vector (objects,); zeros
            while the buffer has no forces.
        total_force: The forces alone, vec3 (objects,), a view.
        force_matrix: Force [N] of every counterpart on every object, world axes, vec3 (objects, counterparts); without those that are
            asked for it has no columns.

    Raises:
        ValueError: Both or neither of ``shapes`` and ``bodies`` are given, or both kinds of counterparts, or nothing has such a label.
    """

    def __init__(
        self, model: Any, *, shapes: Any = None, bodies: Any = None, counterparts: Any = None, counterpart_bodies: Any = None,
        particles: bool | None = None,
    ):  # fmt: skip
        if (shapes is None) == (bodies is None):
            raise ValueError("ContactSensor: expected shapes or bodies, one of them")
        if counterparts is not None and counterpart_bodies is not None:
            raise ValueError("ContactSensor: expected counterparts or counterpart_bodies, not both")
        self._model = model
        everyone = counterparts is None and counterpart_bodies is None
        objects, self.labels = self._choose(shapes, bodies)
        columns = np.zeros(len(objects), np.int32)
        self.counterparts: list[str] = []
        if not everyone:
            columns, self.counterparts = self._choose(counterparts, counterpart_bodies)
        device, number = model.device, len(self.labels)
        self._sensed = Sensed()
        self._sensed.object = wp.array(objects, dtype=wp.int32, device=device)
        self._sensed.counterpart = wp.array(columns, dtype=wp.int32, device=device)
        self._sensed.particles = int(everyone if particles is None else particles)
        self.count = wp.zeros(number, dtype=wp.int32, device=device)
        self.force = wp.zeros(number, dtype=wp.spatial_vector, device=device)
        stride = wp.types.type_size_in_bytes(wp.spatial_vector)
        self.total_force = wp.array(ptr=self.force.ptr, dtype=wp.vec3, shape=(number,), strides=(stride,), device=device)
        self.force_matrix = wp.zeros((number, len(self.counterparts)), dtype=wp.vec3, device=device)
        self._no_force = wp.zeros(0, dtype=wp.spatial_vector, device=device)
        load_kernels([sum_contacts], device)

    def _choose(self, shapes: Any, bodies: Any) -> tuple[np.ndarray, list[str]]:
        """Of every shape its place among those that a pattern selects, or -1, and the labels of these."""
        kind, pattern = ("shape", shapes) if bodies is None else ("body", bodies)
        tables = model_tables(self._model)
        labels, chosen = tables[kind].arrays["label"], select(self._model, kind, pattern)
        if not len(chosen):
            raise ValueError(f"ContactSensor: no {kind} has a label like {pattern!r}; there are {list(labels)[:5]}")
        owner = np.arange(tables["shape"].count) if kind == "shape" else tables["shape"].arrays["body"].numpy()
        place = np.full(tables[kind].count + 1, -1, np.int32)  # the last is of the world
        place[chosen] = np.arange(len(chosen))
        return place[owner], [labels[int(i)] for i in chosen]

    def update(self, contacts: Contacts) -> None:
        """Sum over the rows of a buffer; its forces are those of the last ``solver.update_contacts``. May be captured.

        Args:
            contacts: A buffer of the model; ``request_contact_attributes("force")`` gives it forces.
        """
        rows = SensedRows()
        rows.counters = contacts.contact_counters
        rows.shape0, rows.shape1 = contacts.rigid_contact_shape0, contacts.rigid_contact_shape1
        rows.soft_shape = contacts.soft_contact_shape
        force = getattr(contacts, "force", None)
        rows.force = self._no_force if force is None else force
        launch_directly(self._launch, rows)

    def _launch(self, rows: SensedRows) -> None:
        dim = 1 if self._model.device.is_cpu else len(self.count)
        inputs, outputs = [whole_work(0, len(self.count)), rows, self._sensed], [self.count, self.force, self.force_matrix]
        wp.launch(sum_contacts, dim=dim, inputs=inputs, outputs=outputs, device=self._model.device)

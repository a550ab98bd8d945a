"""Contacts of particles with shapes in a solver, and the poses of the bodies that the shapes belong to."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.execution.work import whole_work
from hooke.model.contacts import Contacts, soft_rows
from hooke.solvers.vbd.contacts import (
    ContactMaterial,
    bind_rows,
    count_rows,
    has_rows,
    list_rows,
    make_contact_kernels,
    meet_bodies,
    ramp_rows,
)
from hooke.solvers.vbd.workspace import Workspace

__all__ = ["BodyPoses", "ShapeContacts"]


class BodyPoses:
    """Where bodies are when a step starts and when it ends.

    Args:
        workspace: Remembers their poses.
        moved_by_another: Whether another solver moves them.
        recorder: Launches the kernels.
    """

    def __init__(self, workspace: Workspace, moved_by_another: bool, recorder: Any):
        self._workspace, self._moved_by_another, self._recorder = workspace, moved_by_another, recorder

    def begin(self, state_in: Any, state_out: Any) -> tuple[wp.array, wp.array]:
        """Poses for the contacts of this step, and at its start."""
        w = self._workspace
        if state_in.body_q is not None and not self._moved_by_another:
            self._recorder.alone(self._meet, state_in.body_q)
            return state_in.body_q, w.body_q_prev
        return self.now(state_in, state_out), w.no_body if state_in.body_q is None else state_in.body_q

    def _meet(self, body_q: wp.array) -> None:
        w = self._workspace
        if len(body_q):
            outputs = [w.body_known, w.body_q_prev]
            wp.launch(meet_bodies, dim=len(body_q), inputs=[body_q], outputs=outputs, device=body_q.device)

    def now(self, state_in: Any, state_out: Any) -> wp.array:
        """Poses for the contacts of this step."""
        if state_in.body_q is None:
            return self._workspace.no_body
        return state_out.body_q if self._moved_by_another else state_in.body_q

    def carry(self, state_in: Any, state_out: Any) -> None:
        """Kinematic bodies go through unchanged; their pose is remembered as the start of the next step."""
        if state_in.body_q is None or self._moved_by_another:
            return
        wp.copy(self._workspace.body_q_prev, state_in.body_q)
        if state_out is not state_in:
            wp.copy(state_out.body_q, state_in.body_q)
            wp.copy(state_out.body_qd, state_in.body_qd)


class ShapeContacts:
    """The rows of particles.

    Args:
        workspace: Holds them.
        tables: Tables of the model.
        friction: Name of the friction law.
        recorder: Launches the kernels.
    """

    def __init__(self, workspace: Workspace, tables: dict[str, Any], friction: str, recorder: Any):
        self._workspace, self._tables, self._recorder = workspace, tables, recorder
        self._anchored = friction == "anchored"
        self._remember, self._write_forces = make_contact_kernels(friction)

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        return [bind_rows, self._remember]

    @property
    def _shapes(self) -> Any:
        return self._tables["shape"].struct

    def material(self, model: Any, friction_epsilon: float, beta: float, k_start: float, kept: bool = False) -> ContactMaterial:
        """The particles' side of the contacts, with the ramp of their stiffness; ``kept`` goes on where the step before ended."""
        material = ContactMaterial()
        material.ke = float(model.soft_contact_ke)
        material.kd = float(model.soft_contact_kd)
        material.mu = float(model.soft_contact_mu)
        material.hold = 1.0 if self._anchored else 0.0
        material.slip = float(friction_epsilon)
        material.beta = float(beta)
        material.kept = float(kept)
        material.start = float(k_start) if beta else wp.inf
        return material

    def bind(self, contacts: Any, bodies: tuple[wp.array, wp.array], material: ContactMaterial, dt: float) -> None:
        """The rows of every particle, for a step."""
        w = self._workspace
        if not has_rows(contacts):
            self._recorder.alone(w.rows.first.zero_)
            return
        rows = soft_rows(contacts)
        self._recorder.alone(self._list_rows, rows, contacts.soft_contact_max)
        inputs = [rows, self._tables["particle"].struct, self._shapes, w.vertices, *bodies, w.memory, material, dt]
        self._recorder.launch(bind_rows, w.particles, inputs, [w.rows])

    def _list_rows(self, rows: Any, count: int) -> None:
        w, device = self._workspace, self._recorder.device
        w.number.zero_()
        w.filled.zero_()
        work, threads = whole_work(0, count), 1 if device.is_cpu else count
        wp.launch(count_rows, dim=threads, inputs=[work, rows], outputs=[w.number], device=device)
        wp.utils.array_scan(w.number, w.rows.first, inclusive=True)
        wp.launch(list_rows, dim=threads, inputs=[work, rows, w.filled], outputs=[w.rows], device=device)

    def ramp(self, material: ContactMaterial) -> None:
        """Between two iterations: rows that are deep become stiffer."""
        w = self._workspace
        self._recorder.launch(ramp_rows, w.particles, [self._shapes, w.vertices, material], [w.rows])

    def remember(self, body_q: wp.array, dt: float) -> None:
        """At the end of a step: where contacts stick."""
        if self._anchored:
            w = self._workspace
            self._recorder.launch(self._remember, w.particles, [w.rows, self._shapes, w.vertices, body_q, dt], [w.memory])

    def write_forces(self, contacts: Contacts, dt: float) -> None:
        """The forces of the last step into ``contacts.force``, which is made if it is missing."""
        w, device = self._workspace, self._recorder.device
        size = contacts.rigid_contact_max + contacts.soft_contact_max
        if getattr(contacts, "force", None) is None or len(contacts.force) != size:
            contacts.force = wp.zeros(size, dtype=wp.spatial_vector, device=device)
        contacts.force.zero_()
        if w.particles:
            inputs = [w.rows, w.vertices, dt, contacts.rigid_contact_max]
            wp.launch(self._write_forces, dim=w.particles, inputs=inputs, outputs=[contacts.force], device=device)

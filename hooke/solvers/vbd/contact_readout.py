"""Reading out what a step of SolverVBD did: the forces of contacts, and what is left of the balance of forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.recorder import captured_by_user, launch_directly
from hooke.execution.work import Work, first_item, next_item, whole_work
from hooke.model.contacts import Contacts, RigidRows, rigid_rows
from hooke.model.tables import Shapes
from hooke.solvers.vbd.body_contacts import live_count
from hooke.solvers.vbd.workspace import allocate

__all__ = ["ContactForces", "ContactReadout", "read_contacts", "write_wrenches"]


@wp.struct
class ContactReadout:
    """Of every row the bodies, the points [m] on their surfaces and the force [N] on body 1; -1 and zeros where there is no contact."""

    body0: wp.array(dtype=wp.int32)
    body1: wp.array(dtype=wp.int32)
    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    force: wp.array(dtype=wp.vec3)


@wp.func
def world_point(body_q: wp.array(dtype=wp.transform), b: int, point: wp.vec3):
    p = 1.0 * point
    if b >= 0:
        p = wp.transform_point(body_q[b], point)
    return p


@wp.kernel(enable_backward=False)
def read_contacts(
    work: Work,
    rows: RigidRows,
    shapes: Shapes,
    body_q: wp.array(dtype=wp.transform),
    load: wp.array(dtype=wp.vec3),
    found: ContactReadout,
):
    """Everything about all rows; ``load`` is the force on body 1."""
    r = first_item(work, wp.tid())
    while r >= 0:
        body0, body1 = int(-1), int(-1)
        point0, point1, force = wp.vec3(0.0), wp.vec3(0.0), wp.vec3(0.0)
        if r < live_count(rows):
            s, t = rows.shape0[r], rows.shape1[r]
            if s >= 0 and t >= 0:
                body0, body1 = 1 * shapes.body[s], 1 * shapes.body[t]
                point0 = world_point(body_q, body0, rows.point0[r]) + rows.margin0[r] * rows.normal[r]
                point1 = world_point(body_q, body1, rows.point1[r]) - rows.margin1[r] * rows.normal[r]
                force = 1.0 * load[r]
        found.body0[r] = body0
        found.body1[r] = body1
        found.point0[r] = point0
        found.point1[r] = point1
        found.force[r] = force
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def write_wrenches(
    work: Work,
    rows: RigidRows,
    load: wp.array(dtype=wp.vec3),
    point: wp.array(dtype=wp.vec3),
    wrench: wp.array(dtype=wp.spatial_vector),
):
    """Force and torque about the origin on shape 1."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if r < live_count(rows):
            f = load[r]
            t = wp.cross(point[r], f)
            wrench[r] = wp.spatial_vector(f[0], f[1], f[2], t[0], t[1], t[2])
        r = next_item(work, r)


class ContactForces:
    """The methods of SolverVBD about forces.

    What solves the contacts of bodies says by ``contact_loads(contacts, body_q, body_q_prev, dt)`` which force acts on body 1 of every row
    and where, two vec3 arrays with at least as many entries as the buffer has rows; None where it knows of none. Poses of None are those
    of the last step.
    """

    model: Any
    device: Any
    _tables: dict[str, Any]
    _rigid: Any
    _last_contacts: Any
    _steps: int
    _dt: float
    _shape_contacts: Any
    _surface_rows: Any
    _surface: Any
    _sweeps: Any
    workspace: Any
    _readout: Any = None

    @property
    def body_q_prev(self) -> wp.array:
        """Poses of bodies at the end of the last step, transform (bodies,); before the first those of the model. Not to be written.

        From these the documented formulation (``rigid_compliant_alm=False``) counts velocities, and both that of kinematic bodies; after a
        reset from the input of the next step. For :meth:`collect_rigid_contact_forces` clone it before the step, which advances it.
        """
        return self.workspace.body_q_prev

    def collect_rigid_contact_forces(
        self, body_q: wp.array, body_q_prev: wp.array | None, contacts: Contacts | None, dt: float
    ) -> tuple[wp.array, wp.array, wp.array, wp.array, wp.array, wp.array]:
        """The forces of contacts between bodies in the last step, and where they act.

        Arrays are those of the solver and of the buffer: they are overwritten by the next call, and replaced by longer ones when a buffer
        has more rows. May be captured, once a call before the capture has made room.

        Args:
            body_q: Poses at which the points are given, transform (bodies,): ``state_out.body_q`` after the step.
            body_q_prev: Poses at the start of the step. The default formulation does not read them, nor ``dt``: its forces are those that
                moved the bodies, not found anew from where these are.
            contacts: The buffer that the last step was given, as it was then.
            dt: Time step [s].

        Returns:
            ``(body0, body1, point0, point1, force, count)``: the bodies of every row, int32, -1 for the world; the points of contact on
            their surfaces [m], world axes, vec3; the force on body 1 [N], vec3 (``contacts.rigid_contact_force``; body 0 takes the
            opposite); and the number of rows, int32 (1,). Rows from there on, and those without shapes, have the bodies -1 and zeros. The
            number is 0 where no step has solved the contacts of this buffer (also where another solver moves the bodies) and for None.

        Raises:
            ValueError: ``body_q`` does not have the poses of all bodies.
            RuntimeError: There is too little room, and a capture is going on.
        """
        return launch_directly(self._collect, body_q, body_q_prev, contacts, dt)

    def _collect(self, body_q: wp.array, body_q_prev: wp.array | None, contacts: Any, dt: float) -> tuple[wp.array, ...]:
        if self._readout is None:
            self._no_count = wp.zeros(1, dtype=wp.int32, device=self.device)
            self._readout = self._make_readout(1)
        bodies = self._tables["body"].count
        loads = self._loads(contacts, body_q, body_q_prev, dt)
        if loads is not None:
            if body_q is None or len(body_q) != bodies:
                found = "None" if body_q is None else f"{len(body_q)} poses"
                raise ValueError(f"collect_rigid_contact_forces: expected the poses of {bodies} bodies in body_q, found {found}")
            self._make_room(contacts.rigid_contact_max)
        out = self._readout
        given = getattr(contacts, "rigid_contact_force", None)
        result = out.body0, out.body1, out.point0, out.point1, out.force if given is None else given
        for array, nothing in zip(result, (-1, -1, 0, 0, 0), strict=True):
            array.fill_(nothing)
        if loads is None:
            return *result, self._no_count
        view = ContactReadout()
        view.body0, view.body1, view.point0, view.point1, view.force = result
        inputs = [rigid_rows(contacts), self._tables["shape"].struct, body_q, loads[0]]
        self._launch_rows(read_contacts, contacts.rigid_contact_max, inputs, [view])
        return *result, contacts.rigid_contact_count

    def _make_readout(self, rows: int) -> ContactReadout:
        return allocate(ContactReadout, rows, self.device)

    def _make_room(self, rows: int) -> None:
        room = len(self._readout.body0)
        if rows > room:
            if captured_by_user(self.device):
                raise RuntimeError(
                    f"collect_rigid_contact_forces: these contacts have room for {rows} rows, the arrays of results for {room}, which "
                    "cannot grow during a capture; call it once before the capture"
                )
            self._readout = self._make_readout(rows)

    def _loads(self, contacts: Any, body_q: wp.array | None, body_q_prev: wp.array | None, dt: float) -> Any:
        """The forces on bodies 1 and where they act; None where no step has found them."""
        if contacts is None or contacts is not self._last_contacts or not contacts.rigid_contact_max or self._rigid is None:
            return None
        return self._rigid.contact_loads(contacts, body_q, body_q_prev, dt)

    def _launch_rows(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        dim = 1 if self.device.is_cpu else count
        wp.launch(kernel, dim=dim, inputs=[whole_work(0, count), *inputs], outputs=outputs, device=self.device)

    def update_contacts(self, contacts: Contacts, state: Any = None) -> None:
        """Write the forces of the last step to ``contacts.force`` (made if it was not requested).

        Of contacts between shapes the force on shape 1 and its torque about the origin of the world, of those with particles the force
        on the particle.

        Args:
            contacts: The buffer that the last step was given.
            state: Not needed; accepted since solvers share this call.

        Raises:
            ValueError: ``contacts`` is not what the last step was given.
        """
        if contacts is not self._last_contacts or self._steps == 0:
            raise ValueError("update_contacts: expected the contacts that the last step() was given; call it after that step")
        launch_directly(self._write_contacts, contacts)

    def _write_contacts(self, contacts: Contacts) -> None:
        self._shape_contacts.write_forces(contacts, self._dt)
        self._surface_rows.write_forces(contacts)
        loads = self._loads(contacts, None, None, self._dt)
        if loads is not None:
            self._launch_rows(write_wrenches, contacts.rigid_contact_max, [rigid_rows(contacts), *loads], [contacts.force])

    def _residual(self) -> float:
        residual = 0.0 if self._rigid is None else self._rigid.measure_imbalance(self._last_contacts, self._dt)
        if self.workspace.particles:
            if self._surface is not None:
                self._surface.refresh()
            rows, features = self.workspace.rows, self._surface_rows.features
            residual = float(
                np.maximum(residual, self._sweeps.measure_imbalance(rows, features, self._dt))
            )  # not a number stays so
        return residual

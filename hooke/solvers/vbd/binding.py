"""What SolverVBD takes from the model before it can launch a step: parts that act, room for contacts, kernels."""

from __future__ import annotations

from typing import Any

from hooke.collision.pipeline import soft_contact_default
from hooke.elements.attachment import ATTACHMENT_TABLE
from hooke.execution.compile import load_kernels
from hooke.execution.recorder import captured_by_user, launch_directly
from hooke.model.enums import ModelFlags
from hooke.solvers.vbd.bodies import RigidBodies
from hooke.solvers.vbd.check import check_notice
from hooke.solvers.vbd.check_bodies import check_bodies, meets_particles
from hooke.solvers.vbd.contacts import has_facets
from hooke.solvers.vbd.coupling import Coupling
from hooke.solvers.vbd.finish import finish_vertices
from hooke.solvers.vbd.page_solve import PageBodies
from hooke.solvers.vbd.predict import place_points, predict_vertices
from hooke.solvers.vbd.self_contact import SelfContact, SelfContactOptions, Stage
from hooke.solvers.vbd.shape_contacts import BodyPoses, ShapeContacts
from hooke.solvers.vbd.surface_rows import SurfaceRows
from hooke.solvers.vbd.sweeps import SweepOptions, Sweeps
from hooke.solvers.vbd.workspace import Workspace

__all__ = ["Binding"]

_OF_JOINTS = ModelFlags.JOINT_PROPERTIES | ModelFlags.JOINT_DOF_PROPERTIES | ModelFlags.CONSTRAINT_PROPERTIES


class Binding:
    """The methods of SolverVBD that bind it to its model, and to the sizes of the contacts that it is given."""

    model: Any
    device: Any
    particle_contact_friction: str
    particle_acceleration: str | None
    particle_tolerance: float
    integrate_with_external_rigid_solver: bool
    _tables: dict[str, Any]
    _given: dict[str, Any]
    _recorder: Any
    _moves_bodies: bool
    _self_contact: SelfContactOptions | None

    def notify_model_changed(self, flags: int) -> None:
        """Take over changes of the model that are not read in every step.

        Masses, flags, radii, gravity and the materials of contacts are read in every step, and an array that is re-bound is noticed.
        After changing the arrays of elements in place (materials, rest shapes) pass ``MODEL_PROPERTIES``: it re-reads them, which
        elements act, and the colours;
        ``BODY_PROPERTIES`` and ``BODY_INERTIAL_PROPERTIES`` find out anew which bodies are dynamic, ``JOINT_PROPERTIES`` and
        ``JOINT_DOF_PROPERTIES`` where joints are at rest, and with ``CONSTRAINT_PROPERTIES`` which follow others and by what coefficients,
        ``SHAPE_PROPERTIES`` whether any shape has restitution. Gains, limits, targets, anchors, ``joint_enabled`` and the parameters of
        hysteresis are read in every step.
        """
        flags = ModelFlags(int(flags) & int(ModelFlags.ALL))
        check_notice(flags, self.device)
        if flags & ModelFlags.MODEL_PROPERTIES:
            launch_directly(self._bind_elements)
        if flags & ModelFlags.SHAPE_PROPERTIES and self._rigid is not None:
            self._rigid.contacts.restitution.refresh(changed=True)
        if flags & (ModelFlags.BODY_PROPERTIES | ModelFlags.BODY_INERTIAL_PROPERTIES | ModelFlags.SHAPE_PROPERTIES):
            launch_directly(self._bind_bodies)
        elif flags & _OF_JOINTS and self._rigid is not None:
            launch_directly(self._rigid.bind)

    def _prepare(self, contacts: Any) -> None:
        """What the launches rely on and no graph may do: pack elements, make room for contacts."""
        if self._sweeps.versions != self._sweeps.packed_versions:
            launch_directly(self._bind_elements)
        rows = getattr(contacts, "soft_contact_max", 0)
        if rows > self.workspace.row_capacity:
            launch_directly(self._reserve_rows, rows)
        if self._surface_rows.lacks_room(contacts):
            launch_directly(self._reserve_surface_rows, contacts)
        if self._coupling is not None:
            room = self.workspace.row_capacity, self._surface_rows.facet_room
            if self._coupling.lacks_room(*room):
                launch_directly(self._coupling.reserve, *room)
        if self._rigid is not None:
            self._rigid.contacts.restitution.refresh()
        if self._rigid is not None and self._rigid.contacts.needs(contacts):
            self._check_growth(contacts.rigid_contact_max, self._rigid.contacts.room, " between bodies")
            launch_directly(self._rigid.contacts.reserve, contacts.rigid_contact_max)
        names = ("friction_epsilon", "rigid_avbd_linear_beta", "rigid_contact_k_start")
        self._given |= {name: getattr(self, name) for name in names}
        if self._rigid is not None:
            self._rigid.prepare(contacts)

    def _make_workspace(self) -> None:
        particles, bodies = self._tables["particle"].count, self._tables["body"].count
        points = self._tables[ATTACHMENT_TABLE.name].count + 1
        self.workspace = Workspace(particles, points, bodies, self.model.world_count, self.device)
        self.workspace.reserve(self._rows_in_advance())
        self._bodies = BodyPoses(self.workspace, self.integrate_with_external_rigid_solver, self._recorder)
        self._shape_contacts = ShapeContacts(self.workspace, self._tables, self.particle_contact_friction, self._recorder)
        self._expect_facets = bool(getattr(self.model, "soft_contact_surface", False))
        options = SweepOptions(self.particle_contact_friction, self.particle_acceleration, self.particle_tolerance)
        self._rigid = None
        if self._moves_bodies:
            self._rigid = self._make_bodies()
        self._sweeps = Sweeps(self.model, self._tables, self.workspace, options, self._recorder)
        self._bind_surface()
        self._bind_coupling()

    def _make_bodies(self) -> RigidBodies:
        kind = RigidBodies if self._given["rigid_compliant_alm"] else PageBodies
        return kind(self.model, self._tables, self.workspace, self._given, self._recorder)

    def _bind_bodies(self) -> None:
        """Which bodies move now, and which of them particles act on."""
        self._moves_bodies = check_bodies(self.model, self._tables, self.integrate_with_external_rigid_solver)
        if self._rigid is not None:
            self._rigid.bind()
        elif self._moves_bodies:
            self._rigid = self._make_bodies()
        self._bind_coupling()

    def _bind_coupling(self) -> None:
        """What lies between particles and bodies that move, None if they do not act on each other."""
        self._coupling: Coupling | None = None
        if self._rigid is not None and meets_particles(self._tables):
            shared = (self._tables, self.workspace, self._sweeps, self._rigid)
            self._coupling = Coupling(*shared, self.particle_contact_friction, self._recorder)
            self._coupling.reserve(self.workspace.row_capacity, self._surface_rows.facet_room)
            load_kernels(self._coupling.kernels, self.device)

    def _rows_in_advance(self) -> int:
        """Contact rows to make room for before any contacts are seen, so that the first step may be captured."""
        published = getattr(self.model, "soft_contact_max", None)
        particles = self._tables["particle"].count
        return published or soft_contact_default(particles, particles * self._tables["shape"].count)

    def _reserve_rows(self, rows: int) -> None:
        self._check_growth(rows, self.workspace.row_capacity)
        self.workspace.reserve(rows)

    def _reserve_surface_rows(self, contacts: Any) -> None:
        self._check_growth(contacts.soft_contact_max, self._surface_rows.facet_room, " of edges and faces")
        self._expect_facets |= has_facets(contacts)
        self._surface_rows.reserve(contacts.soft_contact_max, has_facets(contacts))

    def _check_growth(self, rows: int, room: int, what: str = "") -> None:
        if captured_by_user(self.device):
            raise RuntimeError(
                f"SolverVBD: these contacts have room for {rows} rows{what}, the solver for {max(0, room)}, which cannot grow "
                "during a capture; construct the CollisionPipeline before the solver, or take one step before the capture"
            )

    def _bind_elements(self) -> None:
        """Which elements act now. Never inside a capture: the lists come from the host, and a graph would copy from memory that is gone."""
        if captured_by_user(self.device):
            raise RuntimeError(
                "SolverVBD: an array of the model was re-bound during a capture; re-bind it before the capture begins"
            )
        self._recorder.forget()
        self._sweeps.bind()
        self._bind_surface()
        self._bind_coupling()

    def _bind_surface(self) -> None:
        """Self-contact, in the order in which the sweeps keep the particles."""
        motion, particle = self._sweeps.motion, self._sweeps.particle
        self._surface: SelfContact | None = None
        self._plans: dict[tuple[Any, ...], list[Stage]] = {}
        if self._self_contact is not None and self._tables["tri"].count:
            worlds, seen = self.model.world_count, self.workspace.vertices.seen
            self._surface = SelfContact(self._tables, worlds, self._self_contact, motion, particle, seen, self._recorder)
        start = self.workspace.vertices.start
        self._surface_rows = SurfaceRows(self._tables, self._surface, motion, particle, start, self._sweeps.lanes, self._recorder)
        if self._self_contact is not None:
            self._surface_rows.add_planes(self.workspace.row_capacity)
        if self._expect_facets:
            self._surface_rows.reserve(self.workspace.row_capacity, facets=True)

    def _kernels(self) -> list[Any]:
        """The kernels of a step."""
        rigid = [] if self._rigid is None else [*self._rigid.kernels, *self._recorder.kernels]
        if not self._tables["particle"].count:
            return rigid
        surface = self._surface_rows.kernels + ([] if self._surface is None else self._surface.kernels)
        step = [predict_vertices, place_points, *self._sweeps.kernels, *self._shape_contacts.kernels, finish_vertices]
        return [*step, *surface, *rigid, *self._recorder.kernels]

"""SolverVBD: implicit time integration by vertex block descent."""

from __future__ import annotations

import functools
import time
import warnings
from typing import Any

import warp as wp

from hooke.collision.pipeline import soft_contact_default
from hooke.elements.attachment import ATTACHMENT_TABLE
from hooke.execution.compile import load_kernels
from hooke.execution.recorder import Recorder, captured_by_user, launch_directly, pointers
from hooke.model.contacts import Contacts
from hooke.model.enums import BodyFlags, ModelFlags, StateFlags
from hooke.model.model import model_tables
from hooke.solvers.reset import restore, select_worlds
from hooke.solvers.solver import SolverBase, Status
from hooke.solvers.vbd.bodies import RigidBodies
from hooke.solvers.vbd.check import Swaps, check_arrays, check_notice, check_step
from hooke.solvers.vbd.check_bodies import check_bodies, meets_particles
from hooke.solvers.vbd.contact_readout import ContactForces
from hooke.solvers.vbd.contacts import ContactMaterial, forget_bodies, forget_particles, has_facets
from hooke.solvers.vbd.coupling import Coupling, rigid_part
from hooke.solvers.vbd.finish import finish_vertices
from hooke.solvers.vbd.history import ContactHistory
from hooke.solvers.vbd.joint_modes import JointModes
from hooke.solvers.vbd.options import check_options, read_filter_maps, warn_of_particle_pairs
from hooke.solvers.vbd.page_solve import PageBodies
from hooke.solvers.vbd.predict import place_points, predict_vertices
from hooke.solvers.vbd.self_contact import SelfContact, SelfContactOptions, Stage
from hooke.solvers.vbd.shape_contacts import BodyPoses, ShapeContacts
from hooke.solvers.vbd.surface_rows import SurfaceRows
from hooke.solvers.vbd.sweeps import SweepOptions, Sweeps
from hooke.solvers.vbd.workspace import Workspace

__all__ = ["SolverVBD"]

_OF_JOINTS = ModelFlags.JOINT_PROPERTIES | ModelFlags.JOINT_DOF_PROPERTIES | ModelFlags.CONSTRAINT_PROPERTIES
_PLANS = 16
"""Sets of arguments for which the stages of a step are kept."""


class SolverVBD(JointModes, ContactHistory, ContactForces, SolverBase):
    """An implicit solver for particles (cloth, soft bodies, springs) by vertex block descent, and for rigid bodies with joints.

    Every step minimises the incremental potential of backward Euler: by Newton steps on single particles, colour by colour, and on
    whole islands of bodies that joints connect, with an augmented Lagrangian for what joints lock (docs/guide/bodies.md).
    The caller moves a kinematic body by writing ``state_in.body_q``, and a fixed particle (inactive or without mass) by writing
    ``state_in.particle_q``: it moves over the step, and the velocity of the particle in the states stays 0.
    Bodies that touch take their Newton steps together; particles and bodies act on each other where they touch and by attachments.

    Particles that no element joins do not meet each other: there is no granular contact, and a model with settings for it
    (``particle_ke``, ``particle_mu``, ``particle_cohesion``, ``particle_grid`` and others) is warned of.

    Args:
        model: The model; its particles must be coloured (``ModelBuilder.color()``).
        iterations: Sweeps over all colours per step; 0 leaves the particles where inertia takes them.
        friction_epsilon: Speed [m/s] below which the smoothed friction law is ramped.
        integrate_with_external_rigid_solver: Bodies are moved by another solver: ``state_in.body_q`` holds the poses at the start of
            the step, ``state_out.body_q`` those at its end.
        particle_enable_self_contact: The triangles of the model meet each other and never pass through; nor do particles pass through
            shapes (docs/guide/self_contact.md). What follows up to ``particle_edge_parallel_epsilon`` is used with it only.
        particle_self_contact_radius: Distance [m] below which features of the surface push each other apart.
        particle_self_contact_margin: Distance [m] below which pairs are looked for; not less than the radius.
        particle_conservative_bound_relaxation: Part of the room between two features that may be used up before pairs are looked for
            again, between 0 and 1.
        particle_vertex_contact_buffer_size: Size to start with: 32 makes room for a vertex-triangle pair per vertex on average.
        particle_edge_contact_buffer_size: Size to start with: 64 makes room for an edge-edge pair per edge on average.
        particle_collision_detection_interval: 0: pairs are looked for once in a step, after its first guess; n >= 1: before
            iterations 0, n, 2 n ...; negative: at the start of the step. What leaves their neighbourhood is looked for anyway.
        particle_edge_parallel_epsilon: Squared sine of the angle at which edges count as parallel.
        particle_enable_tile_solve: Accepted; has no effect yet. On a CPU sixteen particles are swept at a time with every setting, on
            CUDA one thread solves one particle.
        particle_topological_contact_filter_threshold: With self-contact, pairs with vertices fewer edges apart exert no force.
        particle_rest_shape_contact_exclusion_radius: Nor do pairs that are nearer [m] in ``model.particle_q``; 0 is none.
        particle_external_vertex_contact_filtering_map: {vertex: triangles} that do not meet at all.
        particle_external_edge_contact_filtering_map: {edge: edges} that do not meet at all, either way.
        particle_contact_friction: ``"anchored"``: a contact below the Coulomb limit holds without creep. ``"smoothed"``: the law
            ramped over ``friction_epsilon``.
        particle_self_contact_ownership: ``"feature"``: one pair of those that touch in the same point exerts a force. ``"pair"``: all do.
        rigid_avbd_beta: Ramp of contacts with shapes [N/m^2]: their stiffness begins every step at ``rigid_contact_k_start`` and grows
            by ``beta`` times the penetration from each iteration to the next, up to that of the material. 0 is the stiffness of
            the material in all iterations. Damping is not ramped.
        rigid_avbd_linear_beta: The same; None takes ``rigid_avbd_beta``.
        rigid_contact_k_start: Stiffness [N/m] with which a ramp begins; without one it has no effect.
        particle_acceleration: ``"anderson"`` extrapolates from sweep to sweep, each world for itself, so that stiff materials need
            fewer of them; ``"multilevel"`` also sweeps over patches of particles that move together, on levels from coarse to fine
            (docs/guide/performance.md). None is the plain method.
        particle_tolerance: Sweeps of a world end when none of its particles moves by more than this [m] in one; 0 takes all
            ``iterations``. Displacements are float32: below 1e-7 of the way of a step it may never be met.
        rigid_avbd_alpha: Share of what a joint violates at the start of a step that is left to later steps, from 0 to 1.
        rigid_avbd_joint_alpha: The same; None takes ``rigid_avbd_alpha``.
        rigid_avbd_angular_beta: As ``rigid_avbd_linear_beta``, for the rotations of joints [N m/rad^2].
        rigid_avbd_gamma: Share of the multipliers and penalties of joints that a step takes over from the one before, from 0 to 1.
        rigid_joint_linear_ke: Stiffness [N/m] of soft translations of joints, and least penalty of hard ones; that of hard ones is at
            least 1e5 times the mass they connect, over the square of the time step.
        rigid_joint_angular_ke: The same for rotations [N m/rad], with inertia for mass.
        rigid_joint_linear_k_start: Stiffness [N/m] with which the ramp of a translation begins (``rigid_avbd_linear_beta``).
        rigid_joint_angular_k_start: The same for rotations [N m/rad].
        rigid_joint_linear_kd: Damping [N s/m] of the translations that joints lock; negative is 0.
        rigid_joint_angular_kd: Damping [N m s/rad] of the rotations that joints lock; negative is 0.
        rigid_body_particle_contact_buffer_size: Accepted; rows of particles on a body always have the room they need.
        rigid_compliant_alm: Bodies that hang together take Newton steps together. False takes the documented page's sweeps over
            single bodies with penalties of ``rigid_joint_linear_ke`` and ``_angular_ke`` (docs/guide/bodies.md).
        deterministic: A ``warp.DeterministicMode`` or None. Sums have one owner and one order anyway, so results repeat bitwise with
            every setting.
        rigid_avbd_contact_alpha: As ``rigid_avbd_alpha``, of what bodies have got into each other; None takes that.
        rigid_contact_hard: Bodies do not get into each other. False: their shapes give way as springs and dampers.
        rigid_contact_history: Of the documented formulation: contacts that are matched keep their forces. By default they always do.
        rigid_contact_stick_motion_eps: Slip [m] per step below which the documented formulation (and only it) takes contacts to stick.
        rigid_contact_stick_freeze_translation_eps: Motion [m] per step below which it holds bodies that stick where they were.
        rigid_contact_stick_freeze_angular_eps: The same of rotations [rad].
        rigid_body_contact_buffer_size: Accepted; lists of contacts have room for all.

    Raises:
        ValueError: An argument is out of range or of the wrong kind, particles or bodies have no colours, those of one colour share
            an element or a joint, or a dynamic body has no mass or inertia to move with.
        NotImplementedError: With ``rigid_compliant_alm=False`` the model has distance joints, rods or mimics, or particles that may act
            on dynamic bodies.

    References:
        Chen, Liu, Yang, Yuksel: Vertex Block Descent. ACM Trans. Graph. 43 (4), 2024. https://doi.org/10.1145/3658179
        Giles, Diaz, Yuksel: Augmented Vertex Block Descent. ACM Trans. Graph. 44 (4), 2025. https://doi.org/10.1145/3731195
    """

    def __init__(
        self, model: Any, *, iterations: int = 10, friction_epsilon: float = 1e-2,
        integrate_with_external_rigid_solver: bool = False, particle_enable_self_contact: bool = False,
        particle_self_contact_radius: float = 0.2, particle_self_contact_margin: float = 0.2,
        particle_conservative_bound_relaxation: float = 0.85, particle_vertex_contact_buffer_size: int = 32,
        particle_edge_contact_buffer_size: int = 64, particle_collision_detection_interval: int = 0,
        particle_edge_parallel_epsilon: float = 1e-5, particle_enable_tile_solve: bool = True,
        particle_topological_contact_filter_threshold: int = 2, particle_rest_shape_contact_exclusion_radius: float = 0.0,
        particle_external_vertex_contact_filtering_map: dict | None = None,
        particle_external_edge_contact_filtering_map: dict | None = None, particle_contact_friction: str = "anchored",
        particle_self_contact_ownership: str = "feature", particle_acceleration: str | None = None, particle_tolerance: float = 0.0,
        rigid_avbd_alpha: float = 0.95, rigid_avbd_joint_alpha: float | None = None,
        rigid_avbd_contact_alpha: float | None = None, rigid_avbd_beta: float = 0.0, rigid_avbd_linear_beta: float | None = None,
        rigid_avbd_angular_beta: float | None = None, rigid_avbd_gamma: float = 0.999, rigid_contact_hard: bool = True,
        rigid_contact_history: bool = False, rigid_contact_stick_motion_eps: float = 1.0e-4,
        rigid_contact_stick_freeze_translation_eps: float = 1.0e-4, rigid_contact_stick_freeze_angular_eps: float = 1.0e-4,
        rigid_contact_k_start: float = 1.0e2, rigid_body_contact_buffer_size: int = 64,
        rigid_body_particle_contact_buffer_size: int = 256, rigid_joint_linear_ke: float = 1.0e5,
        rigid_joint_angular_ke: float = 1.0e5, rigid_joint_linear_k_start: float = 1.0e2,
        rigid_joint_angular_k_start: float = 1.0e1, rigid_joint_linear_kd: float = 0.0, rigid_joint_angular_kd: float = 0.0,
        rigid_compliant_alm: bool = True, deterministic: Any = None,
    ):  # fmt: skip
        given = {k: v for k, v in locals().items() if k not in ("self", "model") and not k.startswith("__")}
        check_options(SolverVBD.__init__, given)
        super().__init__(model)
        self.iterations = int(iterations)
        self.friction_epsilon = friction_epsilon
        self.integrate_with_external_rigid_solver = integrate_with_external_rigid_solver
        self.particle_contact_friction = particle_contact_friction
        self.rigid_avbd_linear_beta = rigid_avbd_beta if rigid_avbd_linear_beta is None else rigid_avbd_linear_beta
        self.rigid_contact_k_start = rigid_contact_k_start
        self.particle_acceleration, self.particle_tolerance = particle_acceleration, float(particle_tolerance)
        self._tables = model_tables(model)
        barred = read_filter_maps(given, self._tables)
        self._self_contact = SelfContactOptions(given, barred) if particle_enable_self_contact else None
        warn_of_particle_pairs(model)
        self._given = given
        self._moves_bodies = check_bodies(model, self._tables, self.integrate_with_external_rigid_solver)
        self._recorder = Recorder(model.device, limit=256)  # a step with self-contact has many stages
        launch_directly(self._make_workspace)
        load_kernels(self._kernels(), model.device)
        self._steps = 0
        self._dt = 0.0
        self._swaps = Swaps()
        self._warned_overflow = False
        self._times: dict[str, float] | None = None
        self._last_contacts: Any = None

    # ---- the step

    def step(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """Advance particles and bodies by one time step.

        Args:
            state_in: State at the start; not written unless it is ``state_out``.
            state_out: State at the end.
            control: Efforts and targets of joints; None takes those of the model.
            contacts: Rows of ``CollisionPipeline.collide``, ``model.collide``; None means no contact.
            dt: Time step [s].

        Raises:
            ValueError: ``dt`` is not positive and finite, an array of a state has the wrong length or device, contacts are on another
                device, or ``model.soft_contact_ke``, ``_kd`` or ``_mu`` is negative or not finite.
            RuntimeError: ``rigid_contact_history`` is set and the contacts are not matched, or there are more during a capture than
                there is room for.
        """
        check_step(self, state_in, state_out, contacts, dt)
        if not captured_by_user(self.device):
            self._swaps.notice(functools.partial(self._motion, state_in), state_in, state_out)
        self._prepare(contacts)
        self._surface_rows.prepare(contacts, dt, self.friction_epsilon)
        key = self._key(state_in, state_out, control, contacts, dt)
        if self._surface is None:
            self._recorder.run(key, self._launch_step, state_in, state_out, control, contacts, dt)
        else:
            self._step_apart(key, self._surface, state_in, state_out, control, contacts, dt)
        self._last_contacts = contacts
        self._steps += 1
        self._dt = dt

    def _motion(self, state_in: Any) -> list[tuple[Any, Any, Any]]:
        """Where the last step began and ended, and where the input is now: of particles, and of centres of mass."""
        parts = []
        if self.workspace.particles:
            vertices, now = self.workspace.vertices, state_in.particle_q.numpy()
            parts.append((vertices.start.numpy()[: len(now)], vertices.x.numpy()[: len(now)], now))
        if self._rigid is not None:
            parts.append(self._rigid.motion(state_in.body_q))
        return parts

    def _launch_step(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """All launches of a step, and nothing else."""
        if self._tables["particle"].count:
            self._begin(state_in, state_out, control, contacts, dt)
            for number in range(self.iterations):
                self._iterate(number, contacts, dt)
            self._stay_outside(contacts)
        self._finish(state_in, state_out, control, contacts, dt)

    def _begin(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """The first guess, and the contacts with shapes."""
        self._predict(state_in, dt)
        if self._coupling is not None:
            self._coupling.enter(state_in, dt)
        bodies = self._bodies.begin(state_in, state_out)
        if self._coupling is not None:
            self._coupling.start(state_in.body_q)
        self._place_points(bodies, dt)
        self._shape_contacts.bind(contacts, bodies, self._material, dt)
        self._sweeps.begin(self.workspace.rows, dt)
        self._surface_rows.begin(contacts, bodies, self._material, dt, not self.integrate_with_external_rigid_solver)
        if self._coupling is not None:
            self._coupling.begin(state_in, control, contacts, self._surface_rows.features, dt)

    def _iterate(self, number: int, contacts: Any, dt: float) -> None:
        """A step of the bodies that particles act on, and a sweep over all colours."""
        if number and self.rigid_avbd_linear_beta and contacts is not None:
            self._ramp_contacts(contacts)
        if self._coupling is not None:
            self._coupling.iterate(number, self.iterations, contacts, self._surface_rows.features, dt)
        self._sweeps.iterate(number, number == self.iterations - 1, self.workspace.rows, self._surface_rows.features, dt)

    def _step_apart(
        self, key: tuple[Any, ...], surface: SelfContact, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float
    ) -> None:
        """A step that keeps the surface apart from itself, in stages between which searches may get more room."""
        surface.keep_sorted(self._steps, state_in.particle_q)
        surface.set_material(self.model, self.friction_epsilon, dt)
        if key not in self._plans:
            if len(self._plans) == _PLANS:
                self._plans.clear()
            self._plans[key] = self._plan(surface, state_in, state_out, control, contacts, dt)
        for stage in self._plans[key]:
            self._run_stage((stage.name, *key), stage)
            if stage.search is not None:
                surface.settle(stage.search)

    def _plan(self, surface: SelfContact, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> list[Stage]:
        begin = functools.partial(self._begin, state_in, state_out, control, contacts, dt)
        iterations = [functools.partial(self._iterate, number, contacts, dt) for number in range(self.iterations)]
        outside = functools.partial(self._stay_outside, contacts)
        finish = functools.partial(self._finish, state_in, state_out, control, contacts, dt)
        stages = surface.stages(begin, iterations, self._sweeps.take_limited, outside)
        return [*stages, Stage("end", (surface.certify, finish), None)]

    def _stay_outside(self, contacts: Any) -> None:
        """Ways of particles that lead through a shape end before it, where the bodies are now."""
        self._surface_rows.stay_outside(contacts, None if self._coupling is None else self._coupling.bodies.body_motion)

    def _run_stage(self, key: tuple[Any, ...], stage: Stage) -> None:
        if self._times is None:
            self._recorder.run(key, stage)
        else:
            stage.time(key, self._recorder, self._times)

    def _finish(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """Particles where they have come; then the bodies that they do not act on, in all their iterations."""
        if self._coupling is not None:
            self._coupling.bodies.finish((state_in, state_out), rigid_part(contacts), dt)
        if self._tables["particle"].count:
            self._finish_particles(state_in, state_out, dt)
        if self._rigid is None:
            self._recorder.alone(self._bodies.carry, state_in, state_out)
        elif self._coupling is None:
            self._rigid.launch(self.iterations, (state_in, state_out), control, rigid_part(contacts), dt)

    def _key(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> tuple[Any, ...]:
        """All that the launches of a step depend on, beside the contents of arrays."""
        versions = tuple(data.version for data in self._tables.values())
        material = (self.model.soft_contact_ke, self.model.soft_contact_kd, self.model.soft_contact_mu, self.friction_epsilon)
        ramp = (self.rigid_avbd_linear_beta, self.rigid_contact_k_start)
        sizes = (self.iterations, self.workspace.row_capacity, getattr(contacts, "soft_contact_max", 0), has_facets(contacts), dt)
        rigid = () if self._rigid is None else self._rigid.key(control)
        return versions, material, ramp, sizes, rigid, pointers(self.model.gravity, self._wind, state_in, state_out, contacts)

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

    def _predict(self, state: Any, dt: float) -> None:
        force = self.workspace.no_force if state.particle_f is None else state.particle_f
        inputs = [self._particles, self.model.gravity, state.particle_q, state.particle_qd, force, dt, int(self.iterations > 0)]
        self._recorder.launch(predict_vertices, self.workspace.particles, inputs, [self.workspace.vertices])

    def _place_points(self, bodies: tuple[wp.array, wp.array], dt: float) -> None:
        if self._sweeps.tied:
            inputs = [self._tables[ATTACHMENT_TABLE.name].struct, *bodies, self._wind, dt]
            self._recorder.launch(place_points, self.workspace.points, inputs, [self.workspace.vertices])

    def _ramp_contacts(self, contacts: Any) -> None:
        """Between two iterations: contacts that are deep become stiffer."""
        self._sweeps.store()
        self._shape_contacts.ramp(self._material)
        self._surface_rows.ramp(contacts, self._material)

    def _finish_particles(self, state_in: Any, state_out: Any, dt: float) -> None:
        w = self.workspace
        self._sweeps.store()
        at_end = self._bodies.now(state_in, state_out) if self._coupling is None else state_out.body_q
        self._shape_contacts.remember(at_end, dt)
        outputs = [w.vertices, state_out.particle_q, state_out.particle_qd]
        self._recorder.launch(finish_vertices, w.particles, [self._particles, dt], outputs)

    def _launch(self, kernel: Any, dim: int, inputs: list[Any], outputs: list[Any]) -> None:
        if dim:
            wp.launch(kernel, dim=dim, inputs=inputs, outputs=outputs, device=self.device)

    # ---- beside the step

    def time_phases(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> dict[str, float]:
        """What the parts of a step cost, by name [ms]; the arguments are those of :meth:`step`.

        Looking for pairs of self-contact ("detect"), keeping them apart ("truncate"), their normals and distances ("contact"), and
        all else ("sweep"). Thirteen steps are taken, to and fro between the states, the first of which record and try numbers of
        workers; the least of every part counts.
        """
        samples: list[dict[str, float]] = []
        states = state_in, state_out
        for _ in range(13):
            self._times = {}
            start = time.perf_counter()
            self.step(*states, control, contacts, dt)
            if self._surface is None:
                self._times["sweep"] = 1e3 * (time.perf_counter() - start)
            samples.append(self._times)
            states = states[1], states[0]
        self._times = None
        return {phase: min(sample[phase] for sample in samples) for phase in samples[0]}

    def reset(self, state: Any, world_mask: Any = None, flags: Any = None) -> None:
        """Bring selected worlds back to the model's initial state and forget their contacts.

        The next step then equals the first step of a new solver. Contacts are not detected here.

        Args:
            state: Changed in place; arrays that are None are skipped.
            world_mask: Bool array of length ``world_count``, or one more where the last entry is for what belongs to no world; None
                is everything.
            flags: StateFlags of the arrays to restore (PARTICLE_Q, PARTICLE_QD, BODY_Q, BODY_QD); None is all of them. With 0 the
                caller authors the state and only the solver's memory is cleared.

        Raises:
            TypeError: ``world_mask`` is not a Warp array of bool.
            ValueError: Its length or device is wrong, or those of an array of ``state``, or that is None; then nothing was changed.
        """
        wanted = StateFlags.ALL if flags is None else StateFlags(int(flags))
        if state is None:
            raise ValueError("SolverVBD.reset: expected a state, found None; flags=0 leaves it as it is")
        launch_directly(self._reset, state, world_mask, wanted)
        self._swaps.forget()

    def _reset(self, state: Any, world_mask: Any, wanted: StateFlags) -> None:
        restored = [("particle", "q", StateFlags.PARTICLE_Q), ("particle", "qd", StateFlags.PARTICLE_QD)]
        if not self.integrate_with_external_rigid_solver:
            restored += [("body", "q", StateFlags.BODY_Q), ("body", "qd", StateFlags.BODY_QD)]
        values = [
            (table, column, getattr(state, f"{table}_{column}"))
            for table, column, flag in restored
            if wanted & flag and getattr(state, f"{table}_{column}") is not None
        ]
        for table, column, _value in values:
            noun = "particles" if table == "particle" else "bodies"
            check_arrays("reset: state", state, (f"{table}_{column}",), self._tables[table].count, noun, self.device)
        selected = select_worlds(world_mask, self.model.world_count, self.workspace.everything, self.workspace.selected)
        for table, column, value in values:
            arrays = self._tables[table].arrays
            self._launch(restore, len(value), [arrays["world"], selected, arrays[column]], [value])
        w = self.workspace
        self._launch(forget_particles, w.particles, [self._particles, selected], [w.vertices, w.memory])
        if self._tables["body"].count:
            worlds = self._tables["body"].arrays["world"]
            self._launch(forget_bodies, self._tables["body"].count, [worlds, selected], [w.body_known])
        if self._rigid is not None:
            self._rigid.reset(selected)

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

    def rebuild_bvh(self, state: Any) -> None:
        """Build the trees of self-contact anew, for the positions of a state; without self-contact there are none to build.

        In every step the trees are fitted to the positions, but which features share a node stays. After strong deformation searches
        are faster if that is decided again; what is found does not depend on it.

        Args:
            state: Its ``particle_q`` is read.
        """
        if self._surface is not None:
            launch_directly(self._surface.trees.sort, state.particle_q)

    @property
    def status(self) -> Status:
        """How the last step went; reading it waits for the device."""
        overflow: dict[str, tuple[int, int]] = {}
        if self._last_contacts is not None:
            needed = int(self._last_contacts.soft_contact_count.numpy()[0])
            if needed > self._last_contacts.soft_contact_max:
                overflow["soft_contact"] = (needed, self._last_contacts.soft_contact_max)
            if self._rigid is not None and self._last_contacts.rigid_contact_max:
                needed = int(self._last_contacts.rigid_contact_count.numpy()[0])
                if needed > self._last_contacts.rigid_contact_max:
                    overflow["rigid_contact"] = (needed, self._last_contacts.rigid_contact_max)
        if self._surface is not None and self._steps:
            overflow |= self._surface.overflow()
        if overflow and not self._warned_overflow:
            self._warned_overflow = True
            warnings.warn(f"SolverVBD: contacts were lost: {overflow} (needed, available); make the buffers larger", stacklevel=2)
        measure = functools.partial(launch_directly, self._residual) if self._steps else None
        return Status(self._steps, overflow, self._iterations_taken() if self._steps else 0, measure)

    def _iterations_taken(self) -> int:
        taken = self._sweeps.taken
        if taken is None:
            return self.iterations if self.workspace.particles or self._rigid is not None else 0
        return taken

    @property
    def particle_q_prev(self) -> wp.array:
        """Positions at the start of the last step [m]."""
        return self.workspace.vertices.start[: self.workspace.particles]

    # ---- binding to the model

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
        if self._moves_bodies:
            meets_particles(self._tables, bool(self._given["rigid_compliant_alm"]))  # refuses before anything is changed
        if self._rigid is not None:
            self._rigid.bind()
        elif self._moves_bodies:
            self._rigid = self._make_bodies()
        self._bind_coupling()

    def _bind_coupling(self) -> None:
        """What lies between particles and bodies that move, None if they do not act on each other."""
        self._coupling: Coupling | None = None
        if self._rigid is not None and meets_particles(self._tables, bool(self._given["rigid_compliant_alm"])):
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

    @property
    def _particles(self) -> Any:
        return self._tables["particle"].struct

    @property
    def _wind(self) -> wp.array:
        wind = getattr(self.model, "wind", None)  # a foreign model has none
        return self.workspace.still_air if wind is None else wind

    @property
    def _material(self) -> ContactMaterial:
        options = (self.friction_epsilon, self.rigid_avbd_linear_beta, self.rigid_contact_k_start)
        return self._shape_contacts.material(self.model, *options)

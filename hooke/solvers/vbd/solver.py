"""SolverVBD: implicit time integration by vertex block descent."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import warp as wp

from hooke.elements.attachment import ATTACHMENT_TABLE
from hooke.execution.compile import load_kernels
from hooke.execution.recorder import Recorder, captured_by_user, launch_directly, pointers
from hooke.model.contacts import Contacts
from hooke.model.model import model_tables
from hooke.solvers.solver import SolverBase, Status
from hooke.solvers.vbd.binding import Binding
from hooke.solvers.vbd.check import Swaps, check_step
from hooke.solvers.vbd.check_bodies import check_bodies
from hooke.solvers.vbd.contact_readout import ContactForces
from hooke.solvers.vbd.contacts import ContactMaterial, has_facets
from hooke.solvers.vbd.coupling import rigid_part
from hooke.solvers.vbd.finish import finish_vertices
from hooke.solvers.vbd.history import ContactHistory
from hooke.solvers.vbd.joint_modes import JointModes
from hooke.solvers.vbd.options import check_options, read_filter_maps, warn_of_particle_pairs
from hooke.solvers.vbd.predict import place_points, predict_vertices
from hooke.solvers.vbd.self_contact import SelfContactOptions
from hooke.solvers.vbd.stages import StagedSteps
from hooke.solvers.vbd.world_reset import WorldReset

__all__ = ["SolverVBD"]


class SolverVBD(Binding, StagedSteps, WorldReset, JointModes, ContactHistory, ContactForces, SolverBase):
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
        NotImplementedError: With ``rigid_compliant_alm=False`` the model has distance joints, rods or mimics.

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
        if self._rigid is not None and isinstance(contacts, Contacts):
            contacts.rigid_lookahead = dt  # so that the next pass sees what bodies reach in a step
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
        ramps, late = self.rigid_avbd_linear_beta and contacts is not None, self._coupling is not None and self._coupling.documented
        if ramps and number and not late:
            self._ramp_contacts(contacts)
        if self._coupling is not None:
            self._coupling.iterate(number, self.iterations, contacts, self._surface_rows.features, dt)
        if ramps and late:  # with what bodies keep of their rows
            self._ramp_contacts(contacts)
        self._sweeps.iterate(number, number == self.iterations - 1, self.workspace.rows, self._surface_rows.features, dt)

    def _stay_outside(self, contacts: Any) -> None:
        """Ways of particles that lead through a shape end before it, where the bodies are now."""
        self._surface_rows.stay_outside(contacts, None if self._coupling is None else self._coupling.bodies.body_motion)

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

    def _predict(self, state: Any, dt: float) -> None:
        force = self.workspace.no_force if state.particle_f is None else state.particle_f
        inputs = [self._particles, self.model.gravity, state.particle_q, state.particle_qd, force, dt, int(self.iterations > 0)]
        self._recorder.launch(predict_vertices, self.workspace.particles, inputs, [self.workspace.vertices])

    def _place_points(self, bodies: tuple[wp.array, wp.array], dt: float) -> None:
        if self._sweeps.tied:
            inputs = [self._tables[ATTACHMENT_TABLE.name].struct, *bodies, self._wind, dt]
            self._recorder.launch(place_points, self.workspace.points, inputs, [self.workspace.vertices])

    def _ramp_contacts(self, contacts: Any) -> None:
        """Contacts that are deep become stiffer."""
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

    # ---- beside the step

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
        kept = self._rigid is not None and self._rigid.keeps_rows
        return self._shape_contacts.material(self.model, *options, kept)

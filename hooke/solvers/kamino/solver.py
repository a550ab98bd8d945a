"""SolverKamino: mechanisms with closed loops, limits, hard frictional contact and impacts in maximal coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.compile import load_kernels
from hooke.execution.recorder import Recorder, captured_by_user, launch_directly, pointers
from hooke.model.model import model_tables
from hooke.solvers.kamino.body_motion import make_body_kernels
from hooke.solvers.kamino.changes import check_change, what_to_reread
from hooke.solvers.kamino.check import check_model
from hooke.solvers.kamino.closing import Followers, make_close_worlds
from hooke.solvers.kamino.config.attributes import register_solver_attributes
from hooke.solvers.kamino.config.config import Config as KaminoConfig
from hooke.solvers.kamino.config.parts import CollisionDetectorConfig
from hooke.solvers.kamino.contacts.detector import Detector
from hooke.solvers.kamino.data import Step
from hooke.solvers.kamino.joint_rows import JointInputs, make_joint_kernels
from hooke.solvers.kamino.metrics import SolutionMetrics, SolverInfo, measure_solution, read_info
from hooke.solvers.kamino.mimic_rows import make_mimic_kernels
from hooke.solvers.kamino.problem_space import ProblemSpace
from hooke.solvers.kamino.readout import KaminoStatus, check_buffer, copy_rows, force_arrays
from hooke.solvers.kamino.reset.config import ResetConfig
from hooke.solvers.kamino.reset.reset import TARGETS, Resetting
from hooke.solvers.kamino.structure import make_structure
from hooke.solvers.kamino.workspace import Workspace
from hooke.solvers.kamino.world_solve import make_world_kernels
from hooke.solvers.reset import check_mask, select_worlds
from hooke.solvers.solver import SolverBase

__all__ = ["SolverKamino"]

_LAZY = {"body_f_total": ("body_count", wp.spatial_vector), "joint_q_prev": ("joint_coord_count", wp.float32),
         "joint_lambdas": ("joint_constraint_count", wp.float32)}  # fmt: skip
Callback = Callable[..., None]


class SolverKamino(SolverBase):
    """A solver for constrained multi-body systems with kinematic loops, limits, hard frictional contact and impacts.

    The twists at the end of a step and the impulses of all joints are the solution of one linear system, which is factored along the
    mechanism (docs/decisions/0025-kamino.md); what is left, limits, contacts, dry friction and drives with an effort limit, is a
    nonlinear complementarity problem. After the integration poses are corrected so that joints stay closed at any speed.

    Args:
        model: The model.
        config: Settings; None reads those of the model's custom attributes, ``Config.from_model(model)``.

    Raises:
        TypeError: ``config`` is not a Config.
        ValueError: A setting is not allowed, or the model has what cannot be simulated.

    References:
        Tsounis, Grandia, Bächer: On Solving the Dynamics of Constrained Rigid Multi-Body Systems with Kinematic Loops.
        arXiv:2504.19771, 2025.
        Carpentier, Le Lidec, Montaut: From Compliant to Rigid Contact Simulation: a Unified and Efficient Approach. RSS 20, 2024.
        Tasora, Mangoni, Benatti, Garziera: Solving variational inequalities and cone complementarity problems in nonsmooth dynamics
        using the alternating direction method of multipliers. Int. J. Numer. Methods Eng. 122 (16), 2021.
    """

    Config = KaminoConfig
    ResetConfig = ResetConfig

    def __init__(self, model: Any, config: KaminoConfig | None = None):
        super().__init__(model)
        self.config = KaminoConfig.from_model(model) if config is None else config
        if not isinstance(self.config, KaminoConfig):
            raise TypeError(f"SolverKamino: expected config as a SolverKamino.Config, found {config!r}")
        self.config.validate()
        self.config.warn_of_idle()
        self._tables = model_tables(model)
        self._structure = make_structure(model, self._tables)
        check_model(model, self._tables, self._structure, self.config.use_fk_solver)
        self._recorder = Recorder(self.device)
        self._scalar = self.config.dynamics.scalar(self.device)  # type: ignore[union-attr]
        eliminate = self.config.dynamics.eliminate_bilateral  # type: ignore[union-attr]
        self.workspace = launch_directly(Workspace, model, self._tables, self._structure, eliminate, self._scalar, self.device)
        self._problem = launch_directly(ProblemSpace, self._structure, self._tables, self.workspace, self.config, self._recorder)
        pairs = model.shape_contact_pairs
        self._may_touch = pairs is not None and len(pairs) > 0
        self._own_detector: Detector | None = None
        self._last_contacts: Any = None
        self._last: tuple[float, dict[str, Any]] | None = None
        self._resetting = launch_directly(
            Resetting, model, self._tables, self._structure, self.config, self._recorder, self._scalar
        )
        self._bodies, self._joints, self._worlds = (
            make(self._scalar) for make in (make_body_kernels, make_joint_kernels, make_world_kernels)
        )
        self._mimic_rows, self._close = make_mimic_kernels(self._scalar), make_close_worlds(self._scalar)
        if self.config.use_collision_detector:
            self._detector()
        load_kernels(self._kernels, self.device)
        self._steps = 0
        self._setting: tuple[float, ...] = ()
        self._step = Step()
        self._callbacks: dict[str, Callback | None] = dict.fromkeys(
            ("pre_step", "mid_step", "post_step", "pre_reset", "post_reset")
        )

    # ---- the step

    def step(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """Advance the bodies by one time step.

        Args:
            state_in: State at the start; not written unless it is ``state_out``.
            state_out: State at the end. Arrays ``body_f_total``, ``joint_q_prev`` and ``joint_lambdas`` are made where it has none.
            control: Efforts and targets of joints; None takes those of the model.
            contacts: Rows of ``model.collide``; a count of zero is no contact. None finds contacts by the solver's own detector,
                ``config.collision_detector``.
            dt: Time step [s].

        Raises:
            TypeError: ``dt`` is no number.
            ValueError: It is not positive and finite.
        """
        dt = check_time_step(dt)
        if self._structure.body_count:
            self._problem.reserve_workers()
            detects = contacts is None and self._may_touch
            rows = self._detector().contacts if detects else contacts
            if rows is not None and self._problem.take_contacts(rows):
                launch_directly(load_kernels, self._kernels, self.device)
            step, arrays = self._numbers(dt), self._arrays(state_in, state_out, control)
            versions = tuple(self._tables[name].version for name in ("body", "joint", "joint_dof", "constraint_mimic", "shape"))
            key = (self._setting, versions, pointers(*arrays.values(), rows))

            def run(stage: Callback) -> None:
                self._recorder.run((stage.__name__, *key), stage, step, arrays, rows)

            between = [self._callbacks[name] for name in ("pre_step", "mid_step")]
            if rows is None and not any(between):
                run(self._launch)
            else:
                if detects:
                    self._detect(state_in, run)
                run(self._prepare)
                self._make_room(rows)
                self._call("pre_step", state_in, state_out, control, contacts)
                if between[1] is None:
                    run(self._conclude)
                else:
                    run(self._solve)
                    self._call("mid_step", state_in, state_out, control, contacts)
                    run(self._finish)
            self._last_contacts, self._last = rows, (dt, arrays)
        self._steps += 1
        self._call("post_step", state_in, state_out, control, contacts)

    def _detect(self, state: Any, run: Callable[[Callback], None]) -> None:
        """Find contacts: at the poses of the state, or those in the middle of the step."""
        if self.config.integrator == "moreau":
            run(self._begin)
            state = SimpleNamespace(
                body_q=self.workspace.middle, body_qd=state.body_qd, particle_q=state.particle_q, particle_qd=state.particle_qd
            )
        self._detector().detect(state)

    def _make_room(self, contacts: Any) -> None:
        """Working memory for the rows of this step; in a capture it stays as it is, and :attr:`status` tells what did not fit."""
        if contacts is not None and not captured_by_user(self.device):
            most, room = self._problem.most_rows(), self._problem.room
            if most > room:
                launch_directly(self._problem.reserve_rows, max(most, room + room // 4))

    def _launch(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        self._prepare(step, arrays, contacts)
        self._conclude(step, arrays, contacts)

    def _prepare(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        self._begin(step, arrays, contacts)
        self._linearise(step, arrays, contacts)

    def _conclude(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        self._solve(step, arrays, contacts)
        self._finish(step, arrays, contacts)

    def _begin(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        """Bodies without joints and contacts."""
        w, bodies, launch, count = self.workspace, self._tables["body"].struct, self._recorder.launch, self._structure.body_count
        taken = [arrays["body_q"], arrays["body_qd"], arrays["body_f"]]
        launch(self._bodies.begin, count, [step, bodies, w.mechanism, self.model.gravity, *taken], [w.start])
        if contacts is not None and self.config.integrator == "moreau":
            launch(self._bodies.place, count, [bodies, w.start], [w.middle])

    def _linearise(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        """The rows of joints and contacts."""
        w, t, s = self.workspace, self._tables, self._structure
        joints = t["joint"].struct, t["joint_dof"].struct
        inputs = [step, *joints, t["body"].struct, w.mechanism, self._inputs(arrays), w.start]
        self._recorder.launch(self._joints.linearise, s.joint_count, inputs, [w.joints])
        if w.mimic_count:
            inputs = [step, *self._mimics, t["body"].struct, self._inputs(arrays), w.followed, w.start]
            self._recorder.launch(self._mimic_rows.linearise, w.mimic_count, inputs, [w.joints])
        self._problem.gather(step, joints, self._inputs(arrays), contacts, self._poses(arrays))

    def _solve(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        """Twists at the end, and impulses."""
        w, s = self.workspace, self._structure
        inputs = [w.patterns, w.mechanism, w.start, self._problem.problem.count]
        self._recorder.launch(self._worlds.solve, s.world_count, inputs, [w.joints, w.matrix])
        self._problem.solve(step, self._poses(arrays))

    def _poses(self, arrays: dict[str, Any]) -> wp.array:
        """The poses at which contacts are taken."""
        return self.workspace.middle if self.config.integrator == "moreau" else arrays["body_q"]

    def _finish(self, step: Step, arrays: dict[str, Any], contacts: Any) -> None:
        """Poses at the end, closed joints, and what goes into the state."""
        w, t, launch, s = self.workspace, self._tables, self._recorder.launch, self._structure
        bodies, joints, inputs = t["body"].struct, t["joint"].struct, self._inputs(arrays)
        launch(self._bodies.integrate, s.body_count, [step, w.mechanism, w.start, w.matrix.x], [w.end])
        if self.config.dynamics.eliminate_bilateral and s.acts.any():  # type: ignore[union-attr]
            given = [step, w.patterns, w.mechanism, self._followers(inputs), self._problem.problem.count]
            launch(self._close, s.world_count, given, [w.start, w.joints, w.matrix, w.end])
        given = [step, bodies, w.mechanism, w.start, w.end, arrays["body_q"], arrays["body_f"]]
        launch(self._bodies.finish, s.body_count, given, [arrays[name] for name in ("q_out", "qd_out", "total")])
        outputs = [w.joints, *(arrays[name] for name in ("joint_q", "joint_qd", "joint_q_prev", "joint_lambdas"))]
        launch(self._joints.finish, s.joint_count, [step, joints, bodies, inputs, self.model.joint_cts_start, w.end], outputs)

    # ---- what a step is given

    def _detector(self) -> Detector:
        """The solver's own detector, which is made when it is first needed."""
        if self._own_detector is None:
            config = self.config.collision_detector or CollisionDetectorConfig()
            self._own_detector = launch_directly(Detector, self.model, config)
            self._problem.contacts.materials.most = config.max_contacts_per_pair
        return self._own_detector

    def _numbers(self, dt: float) -> Step:
        """The numbers of the step; made anew when one of them has changed."""
        config: Any = self.config
        c = config.constraints
        setting = {
            "dt": dt, "half": 0.5 * dt if config.integrator == "moreau" else 0.0, "damping": config.angular_velocity_damping,
            "correction": int(config.joint_correction),
            "joint_rate": _rate(c.alpha, c.joint_recovery_time, dt), "joint_speed": c.joint_recovery_speed,
            "limit_rate": _rate(c.beta, c.limit_recovery_time, dt), "limit_speed": c.limit_recovery_speed,
            "limit_time": _or_own(c.limit_recovery_time), "limit_compliance": int(c.limit_compliance),
            "contact_rate": _rate(c.gamma, c.contact_recovery_time, dt), "contact_speed": c.contact_recovery_speed,
            "contact_time": _or_own(c.contact_recovery_time), "contact_compliance": int(c.contact_compliance), "dead_zone": c.delta,
        }  # fmt: skip
        if self._setting != tuple(setting.values()):
            self._setting, self._step = tuple(setting.values()), Step()
            for name, value in setting.items():
                setattr(self._step, name, value)
        return self._step

    def _arrays(self, state_in: Any, state_out: Any, control: Any) -> dict[str, Any]:
        """All arrays of a step, with ones of the solver for those that are missing."""
        w, source = self.workspace, self.model if control is None else control
        arrays = {"body_q": state_in.body_q, "body_qd": state_in.body_qd, "gravity": self.model.gravity}
        arrays["body_f"] = w.no_force if state_in.body_f is None else state_in.body_f
        arrays["q_out"], arrays["qd_out"] = state_out.body_q, state_out.body_qd
        arrays["total"] = self._lazy(state_out, "body_f_total")
        for name in ("joint_q_prev", "joint_lambdas"):
            arrays[name] = self._lazy(state_out, name)
        for name, frequency in (("joint_q", "joint_coord_count"), ("joint_qd", "joint_dof_count")):
            own = getattr(state_out, name)
            arrays[name] = self._spare(name, frequency, wp.float32) if own is None else own
        for name in ("joint_f", "joint_target_q", "joint_target_qd"):
            value = getattr(source, name, None)
            arrays[name] = getattr(self.model, name) if value is None else value
        return arrays

    def _lazy(self, state: Any, name: str) -> wp.array:
        """An array of a state that not every state has."""
        found = getattr(state, name, None)
        if found is None:
            frequency, dtype = _LAZY[name]
            if captured_by_user(self.device):
                return self._spare(name, frequency, dtype)
            found = launch_directly(self._zeros, frequency, dtype)
            setattr(state, name, found)
        return found

    def _zeros(self, frequency: str, dtype: Any) -> wp.array:
        return wp.zeros(int(getattr(self.model, frequency)), dtype=dtype, device=self.device)

    def _spare(self, name: str, frequency: str, dtype: Any) -> wp.array:
        if name not in self.workspace.spare:
            self.workspace.spare[name] = launch_directly(self._zeros, frequency, dtype)
        return self.workspace.spare[name]

    def _inputs(self, arrays: dict[str, Any]) -> JointInputs:
        inputs, t = self.workspace.inputs, self._tables["joint_coord"].arrays
        inputs.target_q, inputs.target_qd, inputs.force = (arrays[n] for n in ("joint_target_q", "joint_target_qd", "joint_f"))
        inputs.rest_q, inputs.initial = t["rest_q"], t["q"]
        return inputs

    @property
    def _mimics(self) -> tuple[Any, Any]:
        """Tables of joints and of mimic constraints."""
        return self._tables["joint"].struct, self._tables["constraint_mimic"].struct

    def _followers(self, inputs: JointInputs) -> Followers:
        followers = self.workspace.followers
        followers.joints, followers.mimics = self._mimics
        followers.bodies, followers.inputs, followers.followed = self._tables["body"].struct, inputs, self.workspace.followed
        return followers

    @property
    def _kernels(self) -> list[Any]:
        groups = [self._bodies, self._joints, self._worlds]
        if self.workspace.mimic_count:
            groups.append(self._mimic_rows)
        return [
            *(
                k
                for group in groups
                for k in vars(group).values()
                if k is not self._joints.measure or self.config.compute_solution_metrics
            ),
            self._close,
            *self._problem.kernels,
            *self._resetting.kernels,
            *self._recorder.kernels,
        ]

    # ---- beside the step

    @classmethod
    def register_custom_attributes(cls, builder: Any, *, fk_actuation_flags: Any = None) -> None:
        """Register the custom attributes of the solver, so that files are read and states made with them.

        Settings in the namespace ``kamino`` (:meth:`Config.register_custom_attributes`); of states ``body_f_total``, the wrench of all but
        gravity on every body [N, N m], ``joint_q_prev``, coordinates before the step, and ``joint_lambdas``, efforts of locked motions
        [N or N m]; of the model ``fk_actuation_flag``.

        Args:
            builder: The builder.
            fk_actuation_flags: Whether forward kinematics takes joints as actuated: 1 yes, 0 no, -1 as their target modes say; by index or
                label, or one for each joint. None is -1 for all.

        Raises:
            ValueError: A flag is not -1, 0 or 1, or is for a joint that does not exist.
        """
        register_solver_attributes(builder, fk_actuation_flags=fk_actuation_flags)

    def reset(  # type: ignore[override]
        self, state_out: Any, world_mask: Any = None, actuator_q: Any = None, actuator_u: Any = None, joint_q: Any = None,
        joint_u: Any = None, base_q: Any = None, base_u: Any = None, *, flags: Any = None, config: ResetConfig | None = None,
        success_mask: Any = None,
    ) -> None:  # fmt: skip
        """Bring selected worlds to a state, and forget what is remembered of them (docs/guide/kamino_reset.md).

        Without targets that is the model's initial state. With ``base_q`` or ``base_u`` only, what hangs on the base moves as one rigid
        body from where it is in ``state_out``; the one that is missing is the model's. With coordinates of joints, poses are found by
        forward kinematics, and bodies rest unless velocities are given. All coordinates of joints are then those of the poses.

        Args:
            state_out: Changed in place; arrays that are None are skipped.
            world_mask: Bool or int8 array of length ``world_count``, or one more, whose last entry is ignored; None is every world.
            actuator_q: Coordinates of actuated joints [m or rad], float32 (actuated coordinates,). StateFlags in its place are ``flags``.
            actuator_u: Velocities of actuated joints [m/s or rad/s], float32 (actuated degrees of freedom,).
            joint_q: Coordinates of all joints, float32 (joint coordinates,); those of passive joints in loops are not used.
            joint_u: Velocities of all joints, float32 (joint degrees of freedom,).
            base_q: Coordinates of the base joint, or pose of the base body of worlds without one, transform (worlds,).
            base_u: Velocity of the base joint, or twist of the base body, spatial_vector (worlds,).
            flags: StateFlags of the arrays to write; None is all of them.
            config: Where poses and velocities are taken from, in place of targets.
            success_mask: Bool array (worlds,); of selected worlds whether the targets were reached.

        Raises:
            TypeError: A mask or a target is not a Warp array of its type.
            ValueError: The length or device of one is wrong, targets of joints and actuators are mixed, or velocities are given without
                coordinates, or targets beside ``config``.
            RuntimeError: There are targets of joints, but ``config.use_fk_solver`` is False.
        """
        if isinstance(actuator_q, int):
            actuator_q, flags = None, actuator_q
        given = dict(zip(TARGETS, (actuator_q, actuator_u, joint_q, joint_u, base_q, base_u), strict=True))
        w, worlds = self.workspace, self._structure.world_count
        request = self._resetting.request(state_out, given, config, flags)
        if success_mask is not None:
            check_mask(success_mask, worlds, self.device, "success_mask")
        self._call("pre_reset", state_out)
        selected = launch_directly(select_worlds, world_mask, worlds, w.everything, w.selected)
        rows = self._problem.rows
        launch_directly(self._problem.contacts.forget, selected)
        kept = (w.joints.known, w.joints.q, rows.kept_impulse, rows.kept_velocity)
        self._resetting.reset(state_out, selected, request, flags, success_mask, kept)
        self._call("post_reset", state_out)

    @property
    def forward_kinematics(self) -> Any:
        """Forward kinematics of resets, with a report of the last ones (``forward_kinematics.status``); None without."""
        return self._resetting.kinematics if self.config.use_fk_solver else None

    def notify_model_changed(self, flags: int) -> None:
        """Take over changes of the model that are not read in every step.

        Args:
            flags: ModelFlags of what was changed.

        Raises:
            RuntimeError: What is fixed for the life of a solver has changed; nothing was taken over.
            ValueError: A value cannot be simulated.
        """
        reread = what_to_reread(flags, self.config.use_collision_detector)
        self._structure = check_change(self.model, self._tables, self._structure, flags, self.config.use_fk_solver)
        if not captured_by_user(self.device):
            launch_directly(self.workspace.read, self._structure)
            launch_directly(self._resetting.read)
            if reread.shapes and self._own_detector is not None:
                launch_directly(self._own_detector.read)

    def update_contacts(self, contacts: Any, state: Any) -> None:
        """Write what contacts did in the last step to a buffer: ``rigid_contact_force``, and ``force`` where it has that array.

        Forces [N] are those on the body of shape 1, torques [N m] those about the origin of the world. Rows without a contact have none.
        After a step that was given no contacts the rows of the solver's own detector are written too.

        Args:
            contacts: The buffer that the last step was given, or any that takes the rows of the own detector.
            state: The state at the end of that step.

        Raises:
            ValueError: ``contacts`` or ``state`` is missing, or the last step was given other contacts.
            TypeError: ``contacts`` is no buffer of contacts.
            RuntimeError: The buffer has too few rows.
        """
        rows = self._last_contacts
        own = self._own_detector is not None and rows is self._own_detector.contacts
        check_buffer(contacts, state, rows, own, captured_by_user(self.device))
        if rows is None:
            return
        if own:
            launch_directly(copy_rows, rows, contacts)
        launch_directly(self._problem.contacts.read, contacts, state.body_q, *force_arrays(contacts))

    @property
    def metrics(self) -> SolutionMetrics | None:
        """Residuals of the last step, measured when they are read; None unless ``config.compute_solution_metrics``, or before a step."""
        if not self.config.compute_solution_metrics or self._last is None:
            return None
        return launch_directly(self._measure, *self._last)  # type: ignore[no-any-return]

    def _measure(self, dt: float, arrays: dict[str, Any]) -> SolutionMetrics:
        w, t, c = self.workspace, self._tables, self.config
        given = [t["joint"].struct, t["body"].struct, self._inputs(arrays), w.end]
        self._recorder.launch(self._joints.measure, self._structure.joint_count, given, [w.joints])
        limits = t["joint_dof"].arrays["limit_lower"], t["joint_dof"].arrays["limit_upper"]
        return measure_solution(self._problem, w, self._structure, limits, dt, c.angular_velocity_damping)

    @property
    def info(self) -> SolverInfo | None:
        """The iterations of the last step; None unless ``config.collect_solver_info``, or before a step."""
        if not self.config.collect_solver_info or self._last is None:
            return None
        return read_info(self._problem, self._structure.world_count, self.config.padmm.max_iterations)  # type: ignore[union-attr]

    @property
    def status(self) -> KaminoStatus:
        """How the last step went; reading it waits for the device."""
        problem, rows, overflow = self._problem, self._last_contacts, {}
        worlds = problem.report.world.numpy()[
            slice(None) if problem.works else slice(0)
        ].copy()  # the array is that of the next step too
        if rows is not None and int(rows.rigid_contact_count.numpy()[0]) > rows.rigid_contact_max:
            overflow["rigid_contact"] = (int(rows.rigid_contact_count.numpy()[0]), rows.rigid_contact_max)
        if problem.works and problem.most_rows() > problem.room:
            overflow["rows of a problem"] = (problem.most_rows(), problem.room)
        iterations = int(worlds["iterations"].max(initial=0))
        return KaminoStatus(
            self._steps, overflow, iterations, measure=lambda: float(worlds["natural_map"].max(initial=0.0)), worlds=worlds
        )

    def _call(self, name: str, *arguments: Any) -> None:
        callback = self._callbacks[name]
        if callback is not None:
            callback(self, *arguments)

    def set_pre_step_callback(self, callback: Callback | None) -> None:
        """Call ``callback(solver, state_in, state_out, control, contacts)`` when the equations of a step are set up."""
        self._callbacks["pre_step"] = callback

    def set_mid_step_callback(self, callback: Callback | None) -> None:
        """Call it when they are solved."""
        self._callbacks["mid_step"] = callback

    def set_post_step_callback(self, callback: Callback | None) -> None:
        """Call it when ``state_out`` is written."""
        self._callbacks["post_step"] = callback

    def set_pre_reset_callback(self, callback: Callback | None) -> None:
        """Call ``callback(solver, state_out)`` before a reset."""
        self._callbacks["pre_reset"] = callback

    def set_post_reset_callback(self, callback: Callback | None) -> None:
        """Call it after a reset."""
        self._callbacks["post_reset"] = callback


def check_time_step(dt: Any) -> float:
    """A time step as a float."""
    value: Any = dt.item() if hasattr(dt, "item") else dt
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"SolverKamino.step: expected dt as a number [s], found {dt!r}")
    dt = value
    if not 0.0 < dt < math.inf:
        raise ValueError(f"SolverKamino.step: expected dt > 0 s, found {dt}")
    return float(dt)


def _or_own(time: float | None) -> float:
    """A time of recovery; -1 stands for that of damping and stiffness."""
    return -1.0 if time is None else time


def _rate(share: float, time: float | None, dt: float) -> float:
    """What of an error is taken back per second."""
    return share / dt if time is None else 1.0 / (dt + time)

"""The configuration of SolverKamino."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

from hooke.solvers.kamino.config.attributes import register_config_attributes
from hooke.solvers.kamino.config.parts import (
    DIRECT_SOLVERS,
    ITERATIVE_SOLVERS,
    CollisionDetectorConfig,
    ConstrainedDynamicsConfig,
    ConstraintStabilizationConfig,
    DVISolverConfig,
    ForwardKinematicsSolverConfig,
    LOXSolverConfig,
    MaterialManagerConfig,
    PADMMSolverConfig,
)
from hooke.solvers.kamino.config.rules import Rule, Section, choice, flag, number, read_attribute

__all__ = ["Config", "JointCorrectionMode"]


class JointCorrectionMode(IntEnum):
    """In which range the angles of joints are reported."""

    TWOPI = 0
    """Between -2 pi and 2 pi."""
    CONTINUOUS = 1
    """Turns are counted without end."""
    NONE = 2
    """From -pi to pi."""

    @classmethod
    def from_any(cls, value: JointCorrectionMode | str) -> JointCorrectionMode:
        """Read ``JointCorrectionMode.TWOPI`` or ``"twopi"``, in any case.

        Raises:
            ValueError: It is none of them.
        """
        if isinstance(value, cls):
            return value
        name = value.strip().upper() if isinstance(value, str) else None
        if name not in cls.__members__:
            raise ValueError(f"Config: expected rotation_correction as one of {[m.name.lower() for m in cls]}, found {value!r}")
        return cls[name]


_PARTS: dict[str, type[Section]] = {
    "collision_detector": CollisionDetectorConfig, "constraints": ConstraintStabilizationConfig, "dynamics": ConstrainedDynamicsConfig,
    "padmm": PADMMSolverConfig, "fk": ForwardKinematicsSolverConfig, "dvi": DVISolverConfig, "lox": LOXSolverConfig,
    "materials": MaterialManagerConfig,
}  # fmt: skip


@dataclass
class Config(Section):
    """All settings of SolverKamino. Values are checked when it is made and when a solver takes it.

    Attributes:
        sparse_jacobian: Rows are stored by the bodies they concern in any case; None is False, or True with "dvi" and "lox".
        sparse_dynamics: Has no effect, which a solver warns of: matrices are formed, of what touches alone. Needs ``sparse_jacobian``.
        use_collision_detector: Find contacts where ``step`` is given none. Contacts that are given always come first.
        use_fk_solver: Make the forward kinematics that resets from joint coordinates need.
        collision_detector: Settings of the detector; None is the defaults, where there is one.
        constraints: How errors of position are removed.
        dynamics: How the problem of a step is set up.
        padmm: How it is solved.
        fk: Settings of forward kinematics; None is the defaults, where there are.
        rotation_correction: In which range angles are reported: "twopi", "continuous" or "none", or a :class:`JointCorrectionMode`.
        integrator: "euler", semi-implicit, or "moreau", which takes contacts and joints where bodies are in the middle of the step.
        angular_velocity_damping: A step of dt takes this times dt of the angular velocity [1/s], from 0 to 1.
        collect_solver_info: Record residuals of every iteration in ``solver.info``, which takes time.
        compute_solution_metrics: Measure every step in ``solver.metrics``, which takes time.
        dynamics_solver: "padmm"; "dvi" and "lox" are solved by it too, with one warning.
        dvi: Settings of "dvi".
        lox: Settings of "lox".
        materials: How the materials of two shapes combine.

    Raises:
        TypeError: A value is of the wrong type.
        ValueError: A value is not allowed, or two do not go together.
    """

    sparse_jacobian: bool | None = False
    sparse_dynamics: bool = False
    use_collision_detector: bool = False
    use_fk_solver: bool = False
    collision_detector: CollisionDetectorConfig | None = None
    constraints: ConstraintStabilizationConfig | None = None
    dynamics: ConstrainedDynamicsConfig | None = None
    padmm: PADMMSolverConfig | None = None
    fk: ForwardKinematicsSolverConfig | None = None
    rotation_correction: Any = "twopi"
    integrator: str = "euler"
    angular_velocity_damping: float = 0.0
    collect_solver_info: bool = False
    compute_solution_metrics: bool = False
    dynamics_solver: str = field(default="padmm", kw_only=True)
    dvi: DVISolverConfig | None = field(default=None, kw_only=True)
    lox: LOXSolverConfig | None = field(default=None, kw_only=True)
    materials: MaterialManagerConfig | None = field(default=None, kw_only=True)
    _warned: bool = field(default=False, init=False, repr=False, compare=False)

    RULES: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(
            ("sparse_jacobian", "sparse_dynamics", "use_collision_detector", "use_fk_solver", "collect_solver_info",
             "compute_solution_metrics"),
            flag(),
        ),
        "integrator": choice("euler", "moreau"),
        "angular_velocity_damping": number("from 0 to 1", lambda value: 0.0 <= value <= 1.0),
        "dynamics_solver": choice("padmm", "dvi", "lox"),
    }  # fmt: skip

    def __post_init__(self) -> None:
        if self.sparse_jacobian is None:
            self.sparse_jacobian = self.dynamics_solver in ("dvi", "lox")
        if isinstance(self.dynamics, ConstrainedDynamicsConfig) and self.dynamics.linear_solver_type == "CRF":
            self.sparse_jacobian = self.sparse_dynamics = True
        self.dvi = DVISolverConfig() if self.dvi is None else self.dvi
        self.lox = LOXSolverConfig() if self.lox is None else self.lox
        self.materials = MaterialManagerConfig() if self.materials is None else self.materials
        self.constraints = ConstraintStabilizationConfig() if self.constraints is None else self.constraints
        self.dynamics = self._default_dynamics() if self.dynamics is None else self.dynamics
        self.padmm = self._default_padmm() if self.padmm is None else self.padmm
        self.validate()

    def _default_dynamics(self) -> ConstrainedDynamicsConfig:
        if self.dynamics_solver == "dvi":
            if self.sparse_dynamics:
                return ConstrainedDynamicsConfig(False, "CR", {"maxiter": 9})
            return ConstrainedDynamicsConfig(False, "LLTBRCM")
        return ConstrainedDynamicsConfig(linear_solver_type="CR" if self.sparse_dynamics else "LLTB")

    def _default_padmm(self) -> PADMMSolverConfig:
        if self.dynamics_solver != "dvi" or not isinstance(self.dvi, DVISolverConfig):
            return PADMMSolverConfig()
        dvi, tolerance = self.dvi, self.dvi.tolerance
        return PADMMSolverConfig(
            tolerance,
            tolerance,
            tolerance,
            warmstart_mode=dvi.warmstart_mode,
            contact_warmstart_method=dvi.contact_warmstart_method,
        )

    def validate(self) -> None:
        """Check the values that the configuration and its parts have now. A solver does so too.

        Parts of the detector and of forward kinematics that are needed and missing take their defaults.

        Raises:
            TypeError: A value is of the wrong type.
            ValueError: A value is not allowed, two do not go together, or ``constraints``, ``dynamics`` or ``padmm`` is None.
        """
        super().validate()
        self.rotation_correction = JointCorrectionMode.from_any(self.rotation_correction).name.lower()
        if self.use_collision_detector and self.collision_detector is None:
            self.collision_detector = CollisionDetectorConfig()
        if self.use_fk_solver and self.fk is None:
            self.fk = ForwardKinematicsSolverConfig()
        for name, kind in _PARTS.items():
            part = getattr(self, name)
            if part is None and name in ("constraints", "dynamics", "padmm"):
                raise ValueError(f"Config: {name} is missing; expected a {kind.__name__}, e.g. config.{name} = {kind.__name__}()")
            if part is not None and not isinstance(part, kind):
                raise TypeError(f"Config: expected {name} as a {kind.__name__}, found {part!r}")
            if part is not None:
                part.validate()
        if self.sparse_dynamics and not self.sparse_jacobian:
            raise ValueError("Config: sparse_dynamics=True needs sparse_jacobian=True, found False; set both, or neither")
        self._check_solvers()
        self._settle_linear_solver()

    def _check_solvers(self) -> None:
        """What the three methods demand of other settings; says that they are all solved by one."""
        if self.dynamics_solver == "dvi" and self.dynamics.preconditioning:  # type: ignore[union-attr]
            raise ValueError(
                "Config: dynamics_solver='dvi' needs dynamics.preconditioning=False, found True; leave dynamics None, or set it"
            )
        if self.lox is not None and self.lox.contact_compliance:
            if self.dynamics_solver != "lox":
                raise ValueError(
                    f"Config: lox.contact_compliance=True has no effect with dynamics_solver={self.dynamics_solver!r}; "
                    "set constraints.contact_compliance=True"
                )
            self.constraints = dataclasses.replace(self.constraints, contact_compliance=True)  # type: ignore[type-var]
        if self.dynamics_solver != "padmm" and not self._warned:
            self._warned = True
            warnings.warn(
                f"SolverKamino: dynamics_solver={self.dynamics_solver!r} is solved by proximal ADMM (config.padmm), which converges to the "
                f"same solution; settings of config.{self.dynamics_solver} beyond tolerance and warm start have no effect",
                stacklevel=4,
            )

    def _settle_linear_solver(self) -> None:
        """With an operator that is never formed, a direct method gives way to CR, and says so."""
        kind = self.dynamics.linear_solver_type  # type: ignore[union-attr]
        if self.sparse_dynamics and kind in DIRECT_SOLVERS:
            warnings.warn(
                f"SolverKamino: linear_solver_type={kind!r} needs the matrix that sparse_dynamics=True does not form; 'CR' is used",
                stacklevel=4,
            )
            self.dynamics = dataclasses.replace(self.dynamics, linear_solver_type="CR")  # type: ignore[type-var]

    def warn_of_idle(self) -> None:
        """Say which settings do nothing: those of iterative linear solvers, since matrices are formed and factored."""
        dynamics, padmm = self.dynamics, self.padmm
        assert dynamics is not None
        assert padmm is not None
        idle = ["sparse_dynamics=True"] if self.sparse_dynamics else []
        if dynamics.linear_solver_type in ITERATIVE_SOLVERS:
            idle.append(f"linear_solver_type={dynamics.linear_solver_type!r}")
        idle += ["linear_solver_kwargs"] if dynamics.linear_solver_kwargs else []
        idle += [name for name in ("linear_solver_tolerance", "linear_solver_tolerance_ratio") if getattr(padmm, name)]
        if idle:
            warnings.warn(
                f"SolverKamino: {', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect: what is left when joints are eliminated "
                "is small and dense, and factored directly, which solves the same problem",
                stacklevel=3,
            )

    @property
    def joint_correction(self) -> JointCorrectionMode:
        """``rotation_correction`` as an enumeration."""
        return JointCorrectionMode.from_any(self.rotation_correction)

    @staticmethod
    def from_model(model: Any, **kwargs: Any) -> Config:  # type: ignore[override]
        """Make a configuration from keyword arguments, then take what the model's custom attributes say, which comes before them.

        Args:
            model: The model; without attributes of the namespace ``kamino`` only the arguments count.
            **kwargs: Fields of :class:`Config`; parts are copied, not changed.

        Raises:
            TypeError: A value is of the wrong type, or there is no such field.
            ValueError: A value is not allowed.
        """
        config = Config(**kwargs)
        for name in ("constraints", "dynamics", "padmm"):
            part = getattr(config, name)
            setattr(config, name, type(part).from_model(model, **part.fields()))
        correction = read_attribute(model, "joint_correction")
        if correction is not None:
            config.rotation_correction = correction
        config.validate()
        return config

    @staticmethod
    def register_custom_attributes(builder: Any) -> None:
        """Register the custom attributes that :meth:`from_model` reads, once per model in the namespace ``kamino``.

        Args:
            builder: The builder.
        """
        register_config_attributes(builder)

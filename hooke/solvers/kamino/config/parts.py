"""The parts of the configuration of SolverKamino, one dataclass each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import warp as wp

from hooke.solvers.kamino.config.rules import Rule, Section, choice, flag, integer, mapping, number

__all__ = [
    "CollisionDetectorConfig", "ConstrainedDynamicsConfig", "ConstraintStabilizationConfig", "DVIAPGDConfig", "DVISolverConfig",
    "ForwardKinematicsSolverConfig", "LOXSolverConfig", "MaterialManagerConfig", "PADMMSolverConfig",
]  # fmt: skip

DIRECT_SOLVERS = ("LLTS", "LLTB", "LLTBRCM")
ITERATIVE_SOLVERS = ("CG", "CR", "CRF")
WARMSTART_METHODS = (
    "key_and_position", "geom_pair_net_force", "key_and_position_with_net_force_backup",
    "key_and_position_with_tangential_net_force", "key_and_position_with_net_force_backup_and_tangential_net_force",
)  # fmt: skip
NET_WRENCH_METHODS = ("geom_pair_net_wrench", "key_and_position_with_net_wrench_backup")
MIX_MODES = ("average", "multiply", "max", "min", "geometric_average")

_POSITIVE = number("> 0", lambda value: value > 0.0)
_NOT_NEGATIVE = number(">= 0", lambda value: value >= 0.0)
_FRACTION = number("from 0 to 1", lambda value: 0.0 <= value <= 1.0)
_ABOVE_ONE = number("> 1", lambda value: value > 1.0)
_TIME = number(">= 0 s", lambda value: value >= 0.0, optional=True)
_SPEED = number(">= 0; inf is none", lambda value: value >= 0.0, infinite=True)


@dataclass
class CollisionDetectorConfig(Section):
    """The solver's own collision detector.

    Attributes:
        pipeline: "unified": all shapes. "primitive": analytic pairs of primitive shapes only.
        broadphase: "explicit" (pairs that the model lists), "nxn" or "sap".
        bvtype: Bounding volumes of "primitive": "aabb" or "bs", spheres.
        max_contacts: Rows of contacts of the whole model, shared out over its worlds; None is by estimate.
        max_contacts_per_world: Rows of every world; comes before ``max_contacts``.
        max_contacts_per_pair: Contacts of a pair of shapes; None is 12.
        max_triangle_pairs: Pairs of triangles with shapes; None is 1,000,000.
        default_gap: Least distance at which contacts are found [m]; None is 1e-5.
    """

    pipeline: str = "unified"
    broadphase: str = "explicit"
    bvtype: str = "aabb"
    max_contacts: int | None = None
    max_contacts_per_world: int | None = None
    max_contacts_per_pair: int | None = None
    max_triangle_pairs: int | None = None
    default_gap: float | None = None

    RULES: ClassVar[dict[str, Rule]] = {
        "pipeline": choice("unified", "primitive"),
        "broadphase": choice("explicit", "nxn", "sap"),
        "bvtype": choice("aabb", "bs"),
        "max_contacts": integer(0, optional=True),
        "max_contacts_per_world": integer(0, optional=True),
        "max_contacts_per_pair": integer(0),
        "max_triangle_pairs": integer(0),
        "default_gap": number(">= 0 m", lambda value: value >= 0.0),
    }

    def __post_init__(self) -> None:
        self.max_contacts_per_pair = 12 if self.max_contacts_per_pair is None else self.max_contacts_per_pair
        self.max_triangle_pairs = 1_000_000 if self.max_triangle_pairs is None else self.max_triangle_pairs
        self.default_gap = 1.0e-5 if self.default_gap is None else self.default_gap
        super().__post_init__()


@dataclass
class ConstraintStabilizationConfig(Section):
    """How errors of position are removed (Baumgarte).

    A step removes the fraction alpha, beta or gamma of an error; with a recovery time T it is dt / (dt + T).

    Attributes:
        alpha: Fraction of joints, 0.01.
        beta: Fraction of limits, 0.01.
        gamma: Fraction of contacts, 0.01.
        delta: Penetration that is left as it is [m], 1e-6.
        joint_recovery_time: T of joints [s]; None is ``alpha``.
        limit_recovery_time: T of limits [s]; None is ``beta``.
        contact_recovery_time: T of contacts [s]; None is ``gamma``.
        joint_recovery_speed: Largest rate of recovery of joints [m/s or rad/s].
        limit_recovery_speed: That of limits.
        contact_recovery_speed: That of contacts [m/s].
        contact_compliance: Contacts are springs and dampers with the stiffness and damping of the shapes.
        limit_compliance: Limits are springs and dampers with ``joint_limit_ke`` and ``joint_limit_kd``.
    """

    alpha: float = 0.01
    beta: float = 0.01
    gamma: float = 0.01
    delta: float = 1.0e-6
    joint_recovery_time: float | None = field(default=None, kw_only=True)
    limit_recovery_time: float | None = field(default=None, kw_only=True)
    contact_recovery_time: float | None = field(default=None, kw_only=True)
    joint_recovery_speed: float = field(default=math.inf, kw_only=True)
    limit_recovery_speed: float = field(default=math.inf, kw_only=True)
    contact_recovery_speed: float = field(default=math.inf, kw_only=True)
    contact_compliance: bool = field(default=False, kw_only=True)
    limit_compliance: bool = field(default=False, kw_only=True)

    RULES: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(("alpha", "beta", "gamma"), _FRACTION),
        "delta": number(">= 0 m", lambda value: value >= 0.0),
        **dict.fromkeys(("joint_recovery_time", "limit_recovery_time", "contact_recovery_time"), _TIME),
        **dict.fromkeys(("joint_recovery_speed", "limit_recovery_speed", "contact_recovery_speed"), _SPEED),
        **dict.fromkeys(("contact_compliance", "limit_compliance"), flag()),
    }
    ATTRIBUTES: ClassVar[dict[str, str]] = {name: f"constraints_{name}" for name in ("alpha", "beta", "gamma")}


@dataclass
class ConstrainedDynamicsConfig(Section):
    """How the problem of a step is set up.

    Attributes:
        preconditioning: Scale the rows of the problem by the diagonal of its matrix.
        linear_solver_type: The direct solvers "LLTB", "LLTS" and "LLTBRCM" are one, a factorization in registers of eight numbers. The
            iterative ones "CR", "CG" and "CRF" give way to it, with a warning.
        linear_solver_kwargs: Keyword arguments of an iterative one; no effect, with a warning.
        cull_speculative_contacts: Contacts whose surfaces are apart by more than ``constraints.delta`` have no row.
        eliminate_bilateral: The rows of joints are eliminated by a factorization along the mechanism, and what is iterated on are
            limits, contacts and bounded rows. False iterates on all rows, as the paper does.
        precision: Numbers of the factorization and the problem: "float64", "float32", or "auto", which is float64 on a CPU and
            float32 on a GPU.
    """

    preconditioning: bool = True
    linear_solver_type: str = "LLTB"
    linear_solver_kwargs: dict[str, Any] = field(default_factory=dict)
    cull_speculative_contacts: bool = field(default=True, kw_only=True)
    eliminate_bilateral: bool = field(default=True, kw_only=True)
    precision: str = field(default="auto", kw_only=True)

    RULES: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(("preconditioning", "cull_speculative_contacts", "eliminate_bilateral"), flag()),
        "linear_solver_type": choice(*DIRECT_SOLVERS, *ITERATIVE_SOLVERS),
        "linear_solver_kwargs": mapping(),
        "precision": choice("auto", "float64", "float32"),
    }
    ATTRIBUTES: ClassVar[dict[str, str]] = {"preconditioning": "constraints_use_preconditioning"}

    def scalar(self, device: Any) -> Any:
        """The Warp type of the numbers on a device: ``wp.float64`` or ``wp.float32``."""
        double = not wp.get_device(device).is_cuda if self.precision == "auto" else self.precision == "float64"
        return wp.float64 if double else wp.float32


@dataclass
class PADMMSolverConfig(Section):
    """Proximal ADMM, the method that limits, contacts and bounded rows are solved by (Carpentier et al. 2024).

    Attributes:
        primal_tolerance: Largest primal residual of a solution [N s or N m s].
        dual_tolerance: Largest dual residual [m/s or rad/s].
        compl_tolerance: Largest complementarity [J].
        restart_tolerance: The acceleration begins anew unless the combined residual falls by this factor.
        eta: Proximal weight.
        rho_0: First penalty.
        rho_min: Least penalty.
        a_0: First weight of Nesterov's sequence.
        alpha: Ratio of primal and dual residuals beyond which the penalty changes.
        tau: Factor by which it changes.
        max_iterations: Most iterations of a step.
        penalty_update_freq: Iterations between two changes of the penalty; 0 is never.
        penalty_update_method: "fixed" stays at ``rho_0``; "balanced" keeps the two residuals within ``alpha`` of each other;
            "spectral" begins between the extreme eigenvalues of the matrix and follows the residuals from there.
        linear_solver_tolerance: Tolerance of an iterative linear solver; no effect, with a warning.
        linear_solver_tolerance_ratio: The same.
        use_acceleration: Nesterov's acceleration with restarts.
        use_graph_conditionals: Iterations of a world end when it is done, in a graph too; both values are the same.
        warmstart_mode: "none"; "internal": from the impulses of the same rows; "containers": contacts and limits are matched.
        warmstart_scale: Factor of the impulses that a step begins with, 0 to 1.
        contact_warmstart_method: How contacts are matched with those of the last step.
    """

    primal_tolerance: float = 1.0e-6
    dual_tolerance: float = 1.0e-6
    compl_tolerance: float = 1.0e-6
    restart_tolerance: float = 0.999
    eta: float = 1.0e-5
    rho_0: float = 1.0
    rho_min: float = 1.0e-5
    a_0: float = 1.0
    alpha: float = 10.0
    tau: float = 1.5
    max_iterations: int = 200
    penalty_update_freq: int = 1
    penalty_update_method: str = "fixed"
    linear_solver_tolerance: float = 0.0
    linear_solver_tolerance_ratio: float = 0.0
    use_acceleration: bool = True
    use_graph_conditionals: bool = True
    warmstart_mode: str = "containers"
    contact_warmstart_method: str = "key_and_position"
    warmstart_scale: float = field(default=0.9, kw_only=True)

    RULES: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(("primal_tolerance", "dual_tolerance", "compl_tolerance"), _NOT_NEGATIVE),
        "restart_tolerance": number("from 0 to below 1", lambda value: 0.0 <= value < 1.0),
        **dict.fromkeys(("eta", "rho_0", "rho_min", "a_0"), _POSITIVE),
        **dict.fromkeys(("alpha", "tau"), _ABOVE_ONE),
        "max_iterations": integer(1),
        "penalty_update_freq": integer(0),
        "penalty_update_method": choice("fixed", "balanced", "spectral"),
        **dict.fromkeys(("linear_solver_tolerance", "linear_solver_tolerance_ratio"), _NOT_NEGATIVE),
        **dict.fromkeys(("use_acceleration", "use_graph_conditionals"), flag()),
        "warmstart_mode": choice("none", "internal", "containers"),
        "contact_warmstart_method": choice(*WARMSTART_METHODS, *NET_WRENCH_METHODS),
        "warmstart_scale": _FRACTION,
    }
    ATTRIBUTES: ClassVar[dict[str, str]] = {
        "max_iterations": "max_solver_iterations", "primal_tolerance": "padmm_primal_tolerance",
        "dual_tolerance": "padmm_dual_tolerance", "compl_tolerance": "padmm_complementarity_tolerance",
        "use_acceleration": "padmm_use_acceleration", "warmstart_mode": "padmm_warmstarting",
    }  # fmt: skip

    def validate(self) -> None:
        """Check the values, see :meth:`Section.validate`.

        Raises:
            TypeError: A value is of the wrong type.
            ValueError: A value is not allowed.
            NotImplementedError: ``contact_warmstart_method`` is one of the net wrench of a pair.
        """
        super().validate()
        _refuse_net_wrench(self, self.contact_warmstart_method)

    @classmethod
    def read(cls, model: Any) -> dict[str, Any]:
        """The fields that attributes of a model set; ``max_solver_iterations`` of -1 sets none."""
        found = super().read(model)
        iterations = found.get("max_iterations", -1)
        if iterations < -1:
            raise ValueError(f"model.kamino.max_solver_iterations: expected an integer > 0, or -1 for none, found {iterations}")
        if iterations == -1:
            found.pop("max_iterations", None)
        if "warmstart_mode" in found:
            found["warmstart_mode"] = str(found["warmstart_mode"]).strip().lower()
        return found


@dataclass
class ForwardKinematicsSolverConfig(Section):
    """The solver of poses that satisfy all joints, for resets from joint coordinates.

    Attributes:
        tolerance: Largest residual of a joint [m or rad].
        max_newton_iterations: Most iterations of an increment of the targets.
        max_line_search_iterations: Most halvings of a step.
        reset_state: Begin at the model's poses and not at those of the state.
        add_axis_joints: A body between two ball joints, or several with drives between them, does not spin about the line between these.
        use_incremental_solve: Approach targets in steps.
        max_linear_incremental_step: Largest of them [m].
        max_angular_incremental_step: Largest of them [rad]; 10 degrees.
        use_regularization: Stay near the pose at the start.
        regularization_weight: How much.
        use_sparsity: Solve the linear systems by conjugate gradients.
        preconditioner: Of these: "none", "jacobi_diagonal" or "jacobi_block_diagonal".
        use_adaptive_cg_tolerance: Solve them the better, the smaller the residual.
    """

    tolerance: float = 1.0e-6
    max_newton_iterations: int = 30
    max_line_search_iterations: int = 20
    reset_state: bool = True
    add_axis_joints: bool = True
    use_incremental_solve: bool = True
    max_linear_incremental_step: float = 0.05
    max_angular_incremental_step: float = math.radians(10.0)
    use_regularization: bool = False
    regularization_weight: float = 1.0e-5
    use_sparsity: bool = False
    preconditioner: str = "jacobi_block_diagonal"
    use_adaptive_cg_tolerance: bool = True

    RULES: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(("tolerance", "max_linear_incremental_step", "max_angular_incremental_step"), _POSITIVE),
        **dict.fromkeys(("max_newton_iterations", "max_line_search_iterations"), integer(1)),
        **dict.fromkeys(
            ("reset_state", "add_axis_joints", "use_incremental_solve", "use_regularization", "use_sparsity", "use_adaptive_cg_tolerance"),
            flag(),
        ),
        "regularization_weight": _NOT_NEGATIVE,
        "preconditioner": choice("none", "jacobi_diagonal", "jacobi_block_diagonal"),
    }  # fmt: skip


@dataclass
class MaterialManagerConfig(Section):
    """How the materials of two shapes in contact combine: "average", "multiply", "max", "min" or "geometric_average".

    Attributes:
        friction_mix_mode: Of coefficients of friction.
        restitution_mix_mode: Of coefficients of restitution.
    """

    friction_mix_mode: str = "average"
    restitution_mix_mode: str = "min"

    RULES: ClassVar[dict[str, Rule]] = dict.fromkeys(("friction_mix_mode", "restitution_mix_mode"), choice(*MIX_MODES))


@dataclass
class DVIAPGDConfig(Section):
    """Settings of accelerated projected gradients in :class:`DVISolverConfig`; they have no effect."""

    max_iterations: int = 64
    max_backtracks: int = 24
    max_nonlinear_corrections: int = 1
    tolerance: float = 1.0e-5
    relaxation: float = 1.0

    RULES: ClassVar[dict[str, Rule]] = {
        "max_iterations": integer(1),
        **dict.fromkeys(("max_backtracks", "max_nonlinear_corrections"), integer(0)),
        "tolerance": _NOT_NEGATIVE,
        "relaxation": number("from above 0 to 1", lambda value: 0.0 < value <= 1.0),
    }


@dataclass
class DVISolverConfig(Section):
    """Settings of a differential variational inequality solver, of which this package has none.

    With ``dynamics_solver="dvi"`` steps are solved by proximal ADMM; of these settings ``tolerance``, ``warmstart_mode`` and
    ``contact_warmstart_method`` become its own, if it is given none.
    """

    unilateral_solver: str = "pgs"
    apgd: DVIAPGDConfig = field(default_factory=DVIAPGDConfig)
    tolerance: float = 1.0e-5
    regularization: float = 1.0e-6
    omega: float = 1.0
    max_alternating_iterations: int = 24
    inequality_sweeps_per_iteration: int = 2
    use_schur_complement: bool | None = None
    bilateral_solve_interval: int = 1
    tangential_warmstart_scale: float = 0.97
    bilateral_solver_type: str = "LLTB"
    bilateral_solver_kwargs: dict[str, Any] = field(default_factory=dict)
    warmstart_mode: str = "containers"
    contact_warmstart_method: str = "key_and_position_with_tangential_net_force"

    RULES: ClassVar[dict[str, Rule]] = {
        "unilateral_solver": choice("pgs", "apgd"),
        "apgd": Rule("a DVIAPGDConfig", lambda value: isinstance(value, DVIAPGDConfig)),
        "tolerance": _NOT_NEGATIVE,
        "regularization": _POSITIVE,
        "omega": number("from above 0 to 2", lambda value: 0.0 < value <= 2.0),
        **dict.fromkeys(("max_alternating_iterations", "inequality_sweeps_per_iteration", "bilateral_solve_interval"), integer(1)),
        "tangential_warmstart_scale": _FRACTION,
        "bilateral_solver_type": choice("LLTB", "LLTBRCM"),
        "bilateral_solver_kwargs": mapping(),
        "warmstart_mode": choice("none", "internal", "containers"),
        "contact_warmstart_method": choice(*WARMSTART_METHODS, *NET_WRENCH_METHODS),
    }  # fmt: skip

    def validate(self) -> None:
        """Check the values, see :meth:`PADMMSolverConfig.validate`."""
        super().validate()
        self.apgd.validate()
        if self.use_schur_complement is not None and not isinstance(self.use_schur_complement, bool):
            raise TypeError(
                f"DVISolverConfig: expected use_schur_complement as True, False or None, found {self.use_schur_complement!r}"
            )
        _refuse_net_wrench(self, self.contact_warmstart_method)


class LOXSolverConfig(Section):
    """Settings of a primal splitting solver, of which this package has none.

    With ``dynamics_solver="lox"`` steps are solved by proximal ADMM.

    Args:
        contact_compliance: Contacts are springs and dampers; becomes ``constraints.contact_compliance``.
        **options: Other settings, which are kept and have no effect.
    """

    RULES: ClassVar[dict[str, Rule]] = {"contact_compliance": flag()}

    def __init__(self, contact_compliance: bool = False, **options: Any):
        self.contact_compliance = contact_compliance
        vars(self).update(options)
        self.validate()

    def fields(self) -> dict[str, Any]:
        """The values by name."""
        return dict(vars(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LOXSolverConfig) and self.fields() == other.fields()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LOXSolverConfig({', '.join(f'{name}={value!r}' for name, value in self.fields().items())})"


def _refuse_net_wrench(owner: Any, method: str) -> None:
    if method in NET_WRENCH_METHODS:
        raise NotImplementedError(
            f"{type(owner).__name__}: contact_warmstart_method {method!r} is not available; expected one of {list(WARMSTART_METHODS)}"
        )

"""The configuration: defaults, what is refused, what a model says."""

import copy
import dataclasses
import math
import warnings

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder
from hooke.solvers.kamino.config.attributes import fk_actuation_flags_of, register_solver_attributes
from hooke.solvers.kamino.config.config import Config, JointCorrectionMode
from hooke.solvers.kamino.config.parts import (
    CollisionDetectorConfig,
    ConstrainedDynamicsConfig,
    ConstraintStabilizationConfig,
    DVIAPGDConfig,
    DVISolverConfig,
    ForwardKinematicsSolverConfig,
    LOXSolverConfig,
    MaterialManagerConfig,
    PADMMSolverConfig,
)
from hooke.solvers.kamino.solver import SolverKamino
from tests.kamino.mechanisms import build, cartpole

NAN, INF = math.nan, math.inf
PARTS = {
    CollisionDetectorConfig: {
        "pipeline": "unified", "broadphase": "explicit", "bvtype": "aabb", "max_contacts": None, "max_contacts_per_world": None,
        "max_contacts_per_pair": 12, "max_triangle_pairs": 1_000_000, "default_gap": 1e-5,
    },
    ConstraintStabilizationConfig: {
        "alpha": 0.01, "beta": 0.01, "gamma": 0.01, "delta": 1e-6, "joint_recovery_time": None, "limit_recovery_time": None,
        "contact_recovery_time": None, "joint_recovery_speed": INF, "limit_recovery_speed": INF, "contact_recovery_speed": INF,
        "contact_compliance": False, "limit_compliance": False,
    },
    ConstrainedDynamicsConfig: {
        "preconditioning": True, "linear_solver_type": "LLTB", "linear_solver_kwargs": {}, "cull_speculative_contacts": True,
        "eliminate_bilateral": True, "precision": "auto",
    },
    PADMMSolverConfig: {
        "primal_tolerance": 1e-6, "dual_tolerance": 1e-6, "compl_tolerance": 1e-6, "restart_tolerance": 0.999, "eta": 1e-5, "rho_0": 1.0,
        "rho_min": 1e-5, "a_0": 1.0, "alpha": 10.0, "tau": 1.5, "max_iterations": 200, "penalty_update_freq": 1,
        "penalty_update_method": "fixed", "linear_solver_tolerance": 0.0, "linear_solver_tolerance_ratio": 0.0, "use_acceleration": True,
        "use_graph_conditionals": True, "warmstart_mode": "containers", "contact_warmstart_method": "key_and_position",
        "warmstart_scale": 0.9,
    },
    ForwardKinematicsSolverConfig: {
        "tolerance": 1e-6, "max_newton_iterations": 30, "max_line_search_iterations": 20, "reset_state": True, "add_axis_joints": True,
        "use_incremental_solve": True, "max_linear_incremental_step": 0.05, "max_angular_incremental_step": math.radians(10.0),
        "use_regularization": False, "regularization_weight": 1e-5, "use_sparsity": False, "preconditioner": "jacobi_block_diagonal",
        "use_adaptive_cg_tolerance": True,
    },
    MaterialManagerConfig: {"friction_mix_mode": "average", "restitution_mix_mode": "min"},
    DVIAPGDConfig: {
        "max_iterations": 64, "max_backtracks": 24, "max_nonlinear_corrections": 1, "tolerance": 1e-5, "relaxation": 1.0,
    },
    DVISolverConfig: {
        "unilateral_solver": "pgs", "tolerance": 1e-5, "regularization": 1e-6, "omega": 1.0, "max_alternating_iterations": 24,
        "inequality_sweeps_per_iteration": 2, "use_schur_complement": None, "bilateral_solve_interval": 1,
        "tangential_warmstart_scale": 0.97, "bilateral_solver_type": "LLTB", "bilateral_solver_kwargs": {},
        "warmstart_mode": "containers", "contact_warmstart_method": "key_and_position_with_tangential_net_force",
        "apgd": DVIAPGDConfig(),
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_defaults_of_parts(kind):
    assert kind().fields() == PARTS[kind] and set(kind.RULES) | {"use_schur_complement"} >= set(PARTS[kind])


def test_defaults():
    c = Config()
    flat = {
        name: value
        for name, value in c.fields().items()
        if name not in ("constraints", "dynamics", "padmm", "dvi", "lox", "materials")
    }
    assert flat == {
        "sparse_jacobian": False, "sparse_dynamics": False, "use_collision_detector": False, "use_fk_solver": False,
        "collision_detector": None, "fk": None, "rotation_correction": "twopi", "integrator": "euler", "angular_velocity_damping": 0.0,
        "collect_solver_info": False, "compute_solution_metrics": False, "dynamics_solver": "padmm",
    }  # fmt: skip
    assert (
        c.constraints == ConstraintStabilizationConfig()
        and c.dynamics == ConstrainedDynamicsConfig()
        and c.padmm == PADMMSolverConfig()
    )
    assert c.dvi == DVISolverConfig() and c.lox == LOXSolverConfig() and c.materials == MaterialManagerConfig()
    assert c.joint_correction is JointCorrectionMode.TWOPI


def test_order_of_arguments_is_that_of_the_page():
    names = list(Config().fields())
    assert names[:14] == [
        "sparse_jacobian", "sparse_dynamics", "use_collision_detector", "use_fk_solver", "collision_detector", "constraints", "dynamics",
        "padmm", "fk", "rotation_correction", "integrator", "angular_velocity_damping", "collect_solver_info", "compute_solution_metrics",
    ]  # fmt: skip
    assert list(PADMMSolverConfig().fields())[:4] == ["primal_tolerance", "dual_tolerance", "compl_tolerance", "restart_tolerance"]


def cases(kind, error, **values):
    return [
        pytest.param(kind, error, name, value, id=f"{kind.__name__}.{name}={value!r}") for name, v in values.items() for value in v
    ]


REFUSED = [
    *cases(CollisionDetectorConfig, ValueError, pipeline=["fast", None], broadphase=["sweep"], bvtype=["obb"], max_contacts=[-1],
           max_contacts_per_world=[-1], max_contacts_per_pair=[-1], max_triangle_pairs=[-1], default_gap=[-1e-9, NAN, INF]),
    *cases(CollisionDetectorConfig, TypeError, max_contacts=[1.5, True, "3"], default_gap=["0"]),
    *cases(ConstraintStabilizationConfig, ValueError, alpha=[-0.1, 1.1, NAN, INF], beta=[-0.1, 1.1, NAN], gamma=[-0.1, 1.1, NAN],
           delta=[-1e-9, NAN, INF], joint_recovery_time=[-1.0, NAN, INF], limit_recovery_time=[-1.0], contact_recovery_time=[-1.0],
           joint_recovery_speed=[-1.0, NAN], limit_recovery_speed=[-1.0, NAN], contact_recovery_speed=[-1.0, NAN]),
    *cases(ConstraintStabilizationConfig, TypeError, contact_compliance=[1, None], limit_compliance=["yes"], alpha=["0.1", None]),
    *cases(ConstrainedDynamicsConfig, ValueError, linear_solver_type=["LU", None], precision=["half"]),
    *cases(ConstrainedDynamicsConfig, TypeError, preconditioning=[1], cull_speculative_contacts=[None], eliminate_bilateral=[0],
           linear_solver_kwargs=[[1], None]),
    *cases(PADMMSolverConfig, ValueError, primal_tolerance=[-1e-9, NAN], dual_tolerance=[-1e-9], compl_tolerance=[-1e-9],
           restart_tolerance=[-0.1, 1.0], eta=[0.0, -1.0], rho_0=[0.0, NAN], rho_min=[0.0], a_0=[0.0], alpha=[1.0], tau=[1.0],
           max_iterations=[0, -1], penalty_update_freq=[-1], penalty_update_method=["adaptive"], linear_solver_tolerance=[-1.0],
           linear_solver_tolerance_ratio=[-1.0], warmstart_mode=["hot", "Containers"], warmstart_scale=[-0.1, 1.1],
           contact_warmstart_method=["guess"]),
    *cases(PADMMSolverConfig, TypeError, max_iterations=[2.0], use_acceleration=[1], use_graph_conditionals=["no"], rho_0=[True]),
    *cases(PADMMSolverConfig, NotImplementedError,
           contact_warmstart_method=["geom_pair_net_wrench", "key_and_position_with_net_wrench_backup"]),
    *cases(ForwardKinematicsSolverConfig, ValueError, tolerance=[0.0], max_newton_iterations=[0], max_line_search_iterations=[0],
           max_linear_incremental_step=[0.0], max_angular_incremental_step=[0.0, -1.0], regularization_weight=[-1.0],
           preconditioner=["ilu"]),
    *cases(ForwardKinematicsSolverConfig, TypeError, reset_state=[1], add_axis_joints=[1], use_incremental_solve=[1],
           use_regularization=[1], use_sparsity=[1], use_adaptive_cg_tolerance=[1]),
    *cases(MaterialManagerConfig, ValueError, friction_mix_mode=["mean"], restitution_mix_mode=["mean"]),
    *cases(DVISolverConfig, ValueError, unilateral_solver=["sor"], regularization=[0.0], omega=[0.0, 2.1],
           max_alternating_iterations=[0], bilateral_solver_type=["CR"]),
    *cases(DVISolverConfig, TypeError, use_schur_complement=[1], apgd=[{}]),
    *cases(DVIAPGDConfig, ValueError, max_iterations=[0], max_backtracks=[-1], max_nonlinear_corrections=[-1], tolerance=[-1.0],
           relaxation=[0.0, 1.1]),
    *cases(LOXSolverConfig, TypeError, contact_compliance=[1]),
    *cases(Config, ValueError, rotation_correction=["pi", None, 7], integrator=["rk4"], angular_velocity_damping=[-0.1, 1.1, NAN],
           dynamics_solver=["pgs"]),
    *cases(Config, TypeError, sparse_jacobian=[1], sparse_dynamics=[None], use_collision_detector=[1], use_fk_solver=["yes"],
           collect_solver_info=[1], compute_solution_metrics=[1], padmm=[{}], constraints=[PADMMSolverConfig()],
           collision_detector=[MaterialManagerConfig()], fk=[0], materials=[{}], dvi=[1], lox=[1]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "error", "name", "value"), REFUSED)
def test_values_that_are_refused(kind, error, name, value):
    with pytest.raises(error, match=name):
        kind(**{name: value})
    if value is None and kind is Config:
        return
    made = kind()
    setattr(made, name, value)
    with pytest.raises(error, match=name):
        made.validate()


ACCEPTED = [
    *cases(CollisionDetectorConfig, None, pipeline=["primitive"], broadphase=["nxn", "sap"], bvtype=["bs"], max_contacts=[0, 7],
           default_gap=[0.0, 0.1, 0]),
    *cases(ConstraintStabilizationConfig, None, alpha=[0.0, 1.0, 1, np.float32(0.5)], delta=[0.0], joint_recovery_time=[0.0, None, 0.1],
           joint_recovery_speed=[0.0, INF], contact_compliance=[True]),
    *cases(ConstrainedDynamicsConfig, None, linear_solver_type=["LLTS", "LLTBRCM", "CG", "CR", "CRF"], precision=["float64", "float32"],
           eliminate_bilateral=[False], linear_solver_kwargs=[{"maxiter": 9}]),
    *cases(PADMMSolverConfig, None, penalty_update_method=["balanced", "spectral"], primal_tolerance=[0.0], restart_tolerance=[0.0],
           penalty_update_freq=[0], max_iterations=[1, np.int64(3)], warmstart_mode=["none", "internal"], warmstart_scale=[0.0, 1.0],
           contact_warmstart_method=["geom_pair_net_force", "key_and_position_with_net_force_backup",
                                     "key_and_position_with_tangential_net_force",
                                     "key_and_position_with_net_force_backup_and_tangential_net_force"]),
    *cases(ForwardKinematicsSolverConfig, None, preconditioner=["none", "jacobi_diagonal"], regularization_weight=[0.0]),
    *cases(MaterialManagerConfig, None, friction_mix_mode=["multiply", "max", "min", "geometric_average"]),
    *cases(Config, None, rotation_correction=["continuous", "none"], integrator=["moreau"], angular_velocity_damping=[1.0]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "error", "name", "value"), ACCEPTED)
def test_values_that_are_accepted(kind, error, name, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(kind(**{name: value}), name) == value


def test_names_that_do_not_exist_are_refused():
    for kind in (*PARTS, Config):
        with pytest.raises(TypeError):
            kind(no_such_field=1)


def test_what_none_means_to_the_detector():
    assert (
        CollisionDetectorConfig(max_contacts_per_pair=None, max_triangle_pairs=None, default_gap=None) == CollisionDetectorConfig()
    )
    c = CollisionDetectorConfig(max_contacts_per_pair=0, max_triangle_pairs=5, default_gap=0.0)
    assert (c.max_contacts_per_pair, c.max_triangle_pairs, c.default_gap) == (0, 5, 0.0)


def test_parts_come_with_what_needs_them():
    c = Config(use_collision_detector=True, use_fk_solver=True)
    assert c.collision_detector == CollisionDetectorConfig() and c.fk == ForwardKinematicsSolverConfig()
    c = Config()
    c.use_fk_solver = True
    c.validate()
    assert c.fk == ForwardKinematicsSolverConfig() and c.collision_detector is None


@pytest.mark.parametrize("name", ["constraints", "dynamics", "padmm"])
def test_a_missing_part_is_refused(name):
    c = Config()
    setattr(c, name, None)
    with pytest.raises(ValueError, match=f"{name} is missing"):
        c.validate()


def test_a_part_is_checked_with_the_whole():
    c = Config()
    c.padmm.rho_0 = -1.0
    with pytest.raises(ValueError, match="rho_0"):
        c.validate()


def test_sparse():
    with pytest.raises(ValueError, match="sparse_dynamics=True needs sparse_jacobian=True"):
        Config(sparse_dynamics=True)
    assert Config(sparse_jacobian=True, sparse_dynamics=True).dynamics.linear_solver_type == "CR"
    assert Config(sparse_jacobian=None).sparse_jacobian is False
    with pytest.warns(UserWarning, match="'CR' is used"):
        given = ConstrainedDynamicsConfig(linear_solver_type="LLTBRCM")
        c = Config(sparse_jacobian=True, sparse_dynamics=True, dynamics=given)
    assert c.dynamics.linear_solver_type == "CR" and given.linear_solver_type == "LLTBRCM"
    c = Config(dynamics=ConstrainedDynamicsConfig(linear_solver_type="CRF"))
    assert c.sparse_jacobian is True and c.sparse_dynamics is True


def test_moreau_and_penalties_need_nothing_else():
    """They work with given contacts and with every linear solver."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = Config(integrator="moreau", padmm=PADMMSolverConfig(penalty_update_method="balanced"))
    assert c.integrator == "moreau" and not c.sparse_dynamics


def test_rotation_correction():
    assert [int(m) for m in JointCorrectionMode] == [0, 1, 2]
    for mode in JointCorrectionMode:
        c = Config(rotation_correction=mode)
        assert c.rotation_correction == mode.name.lower() and c.joint_correction is mode


@pytest.mark.parametrize("solver", ["dvi", "lox"])
def test_other_solvers_are_solved_by_padmm_with_one_warning(solver):
    with pytest.warns(UserWarning, match="proximal ADMM") as caught:
        c = Config(dynamics_solver=solver, sparse_jacobian=None)
        c.validate()
        copy.deepcopy(c).validate()
    assert len(caught) == 1 and c.sparse_jacobian is True and isinstance(c.padmm, PADMMSolverConfig)


def test_dvi():
    with pytest.warns(UserWarning, match="dvi"):
        c = Config(dynamics_solver="dvi", dvi=DVISolverConfig(tolerance=1e-4, warmstart_mode="none", omega=1.2))
    assert c.dynamics == ConstrainedDynamicsConfig(False, "LLTBRCM")
    assert (
        c.padmm.primal_tolerance == c.padmm.dual_tolerance == c.padmm.compl_tolerance == 1e-4 and c.padmm.warmstart_mode == "none"
    )
    with pytest.warns(UserWarning, match="dvi"):
        c = Config(dynamics_solver="dvi", sparse_jacobian=True, sparse_dynamics=True, padmm=PADMMSolverConfig(eta=1e-4))
    assert c.dynamics == ConstrainedDynamicsConfig(False, "CR", {"maxiter": 9}) and c.padmm == PADMMSolverConfig(eta=1e-4)
    with pytest.raises(ValueError, match="needs dynamics.preconditioning=False"):
        Config(dynamics_solver="dvi", dynamics=ConstrainedDynamicsConfig())


def test_lox():
    lox = LOXSolverConfig(contact_compliance=True, some_setting=3)
    assert lox.fields() == {"contact_compliance": True, "some_setting": 3} and "some_setting=3" in repr(lox)
    assert lox.some_setting == 3
    with pytest.warns(UserWarning, match="lox"):
        assert Config(dynamics_solver="lox", lox=lox).constraints.contact_compliance is True
    for solver in ("padmm", "dvi"):
        with pytest.raises(ValueError, match="lox.contact_compliance"):
            Config(dynamics_solver=solver, lox=lox)


def test_numbers():
    assert ConstrainedDynamicsConfig().scalar("cpu") is wp.float64
    assert ConstrainedDynamicsConfig(precision="float32").scalar("cpu") is wp.float32
    assert ConstrainedDynamicsConfig(precision="float64").scalar("cpu") is wp.float64


# ---- custom attributes

ATTRIBUTES = {
    "max_solver_iterations": (wp.int32, -1, "newton:maxSolverIterations"),
    "padmm_primal_tolerance": (wp.float32, 1e-6, "newton:kamino:padmm:primalTolerance"),
    "padmm_dual_tolerance": (wp.float32, 1e-6, "newton:kamino:padmm:dualTolerance"),
    "padmm_complementarity_tolerance": (wp.float32, 1e-6, "newton:kamino:padmm:complementarityTolerance"),
    "padmm_use_acceleration": (wp.bool, True, "newton:kamino:padmm:useAcceleration"),
    "padmm_warmstarting": (str, "containers", "newton:kamino:padmm:warmstarting"),
    "constraints_alpha": (wp.float32, 0.01, "newton:kamino:constraints:alpha"),
    "constraints_beta": (wp.float32, 0.01, "newton:kamino:constraints:beta"),
    "constraints_gamma": (wp.float32, 0.01, "newton:kamino:constraints:gamma"),
    "constraints_use_preconditioning": (wp.bool, True, "newton:kamino:constraints:usePreconditioning"),
    "joint_correction": (str, "twopi", "newton:kamino:jointCorrection"),
}


def registered(**values):
    b = ModelBuilder()
    Config.register_custom_attributes(b)
    if values:
        b.add_custom_values(**{f"kamino:{name}": value for name, value in values.items()})
    return b


def test_attributes_as_registered():
    b = registered()
    assert {key.removeprefix("kamino:") for key in b.custom_attributes} == set(ATTRIBUTES)
    for name, (dtype, default, usd) in ATTRIBUTES.items():
        a = b.custom_attributes[f"kamino:{name}"]
        assert (a.dtype, a.default, a.usd_attribute_name) == (dtype, default, usd)
        assert int(a.frequency) == 0 and int(a.assignment) == 0 and a.namespace == "kamino"
    Config.register_custom_attributes(b)  # once more does nothing


def test_values_of_usd_files_are_read_and_checked():
    a = registered().custom_attributes
    assert a["kamino:padmm_warmstarting"].usd_value_transformer(" Internal ", {}) == "internal"
    assert a["kamino:joint_correction"].usd_value_transformer("CONTINUOUS") == "continuous"
    assert a["kamino:padmm_primal_tolerance"].usd_value_transformer(1e-10) == 1e-10
    for name, value in [
        ("padmm_warmstarting", "hot"), ("joint_correction", "pi"), ("padmm_primal_tolerance", 1e-11), ("padmm_dual_tolerance", 0.0),
        ("padmm_complementarity_tolerance", -1.0), ("constraints_alpha", 1.5), ("constraints_gamma", -0.1), ("max_solver_iterations", -2),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=ATTRIBUTES[name][2]):
            a[f"kamino:{name}"].usd_value_transformer(value)


def test_a_model_without_attributes_and_one_with_defaults_give_the_defaults():
    assert Config.from_model(build(ModelBuilder())) == Config() == Config.from_model(build(registered()))


def test_what_a_model_says_comes_before_arguments():
    values = {
        "max_solver_iterations": 7, "padmm_primal_tolerance": 1e-4, "padmm_dual_tolerance": 1e-3, "padmm_complementarity_tolerance": 1e-2,
        "padmm_use_acceleration": False, "padmm_warmstarting": " Internal", "constraints_alpha": 0.1, "constraints_beta": 0.2,
        "constraints_gamma": 0.3, "constraints_use_preconditioning": False, "joint_correction": "Continuous",
    }  # fmt: skip
    padmm = PADMMSolverConfig(max_iterations=50, eta=1e-3, use_acceleration=True)
    c = Config.from_model(
        build(registered(**values)), padmm=padmm, rotation_correction="none", integrator="moreau", use_fk_solver=True
    )
    assert c.padmm == PADMMSolverConfig(
        1e-4, 1e-3, 1e-2, eta=1e-3, max_iterations=7, use_acceleration=False, warmstart_mode="internal"
    )
    assert c.constraints == ConstraintStabilizationConfig(0.1, 0.2, 0.3) and c.dynamics == ConstrainedDynamicsConfig(False)
    assert c.rotation_correction == "continuous" and c.integrator == "moreau" and c.fk == ForwardKinematicsSolverConfig()
    assert padmm.max_iterations == 50  # the argument is not changed


def test_arguments_count_where_a_model_says_nothing():
    m = build(registered())
    assert Config.from_model(m, padmm=PADMMSolverConfig(max_iterations=50)).padmm.max_iterations == 50  # -1 says nothing
    assert Config.from_model(m, padmm=PADMMSolverConfig(primal_tolerance=1e-3)).padmm.primal_tolerance == 1e-6
    assert Config.from_model(build(ModelBuilder()), padmm=PADMMSolverConfig(primal_tolerance=1e-3)).padmm.primal_tolerance == 1e-3
    assert ConstraintStabilizationConfig.from_model(m, alpha=0.5, delta=1e-3) == ConstraintStabilizationConfig(delta=1e-3)
    assert ConstrainedDynamicsConfig.from_model(m, precision="float32").precision == "float32"
    assert MaterialManagerConfig.from_model(m, friction_mix_mode="max").friction_mix_mode == "max"


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("max_solver_iterations", -2, "max_solver_iterations"), ("max_solver_iterations", 0, "max_iterations"),
        ("padmm_warmstarting", "hot", "warmstart_mode"), ("joint_correction", "pi", "rotation_correction"),
        ("constraints_alpha", 1.5, "alpha"), ("padmm_primal_tolerance", -1.0, "primal_tolerance"),
    ],
)  # fmt: skip
def test_a_model_that_says_what_is_not_allowed(name, value, match):
    with pytest.raises(ValueError, match=match):
        Config.from_model(build(registered(**{name: value})))


def test_attributes_of_the_solver():
    b = cartpole()
    register_solver_attributes(b)
    m = build(b)
    state = m.state()
    assert (
        state.body_f_total.shape == (2,) and state.body_f_total.dtype is wp.spatial_vector and not state.body_f_total.numpy().any()
    )
    assert len(state.joint_q_prev) == 2 and len(state.joint_lambdas) == 10
    assert m.fk_actuation_flag.numpy().tolist() == [-1, -1] == fk_actuation_flags_of(m).tolist()
    assert Config.from_model(m) == Config() and fk_actuation_flags_of(build(cartpole())) is None


@pytest.mark.parametrize("given", [{1: 1}, {"pivot": 1}, [-1, 1], np.array([-1, 1])], ids=str)
def test_flags_of_forward_kinematics(given):
    b = cartpole()
    register_solver_attributes(b)
    register_solver_attributes(b, fk_actuation_flags=given)
    outer = ModelBuilder()
    outer.add_builder(b)
    assert build(outer).fk_actuation_flag.numpy().tolist() == [-1, 1]


@pytest.mark.parametrize("given", [{1: 2}, {"pivot": True}, {2: 1}, {-1: 1}, {"knee": 1}, [0], {0: 0.5}, {1.0: 1}], ids=str)
def test_flags_that_are_refused(given):
    b = cartpole()
    with pytest.raises(ValueError, match="fk_actuation_flags"):
        register_solver_attributes(b, fk_actuation_flags=given)
    assert not b.custom_attributes


def test_configurations_can_be_copied_and_compared():
    c = Config(padmm=PADMMSolverConfig(eta=1e-3))
    other = copy.deepcopy(c)
    assert c == other and dataclasses.replace(c) == c
    other.padmm.eta = 1e-4
    assert c != other


def test_the_classes_are_public():
    import hooke.solvers

    for kind in (*PARTS, LOXSolverConfig, JointCorrectionMode):
        assert getattr(hooke.solvers, kind.__name__) is kind and kind.__name__ in hooke.solvers.__all__
    assert hooke.solvers.SolverNotifyFlags.ACTUATOR_PROPERTIES == 256


def test_solvers_say_which_settings_do_nothing():
    model = build(cartpole())
    idle = SolverKamino.Config(dynamics=ConstrainedDynamicsConfig(linear_solver_type="CR", linear_solver_kwargs={"maxiter": 9}))
    with pytest.warns(UserWarning, match=r"linear_solver_type='CR', linear_solver_kwargs have no effect"):
        SolverKamino(model, idle)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SolverKamino(model, SolverKamino.Config(sparse_jacobian=True))

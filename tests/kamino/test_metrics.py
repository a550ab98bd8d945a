"""What SolverKamino measures and records of a step."""

import numpy as np
import pytest

import hooke
from hooke.solvers import SolverKamino
from tests.kamino import scenes
from tests.kamino.scenes import Run, at
from tests.support import finalize

RESIDUALS = (
    "r_eom", "r_kinematics", "r_cts_joints", "r_v_plus", "r_ncp_primal", "r_ncp_dual", "r_ncp_compl", "r_vi_natmap",
)  # fmt: skip


def measured(builder, steps=20, dt=1e-3, **config):
    return Run(finalize(builder), SolverKamino.Config(compute_solution_metrics=True, **config)).step(steps, dt)


def sliding_box():
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=hooke.ModelBuilder.ShapeConfig(mu=0.3))
    body = b.add_body(xform=at(0, 0, 0.1))
    b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=hooke.ModelBuilder.ShapeConfig(density=125.0, mu=0.3))
    b.body_qd[-1] = (1.0, 0.5, 0.0, 0.0, 0.0, 0.0)
    return b


@pytest.mark.parametrize("eliminate", [True, False])
@pytest.mark.parametrize("scene", [
    lambda: scenes.pendulum(angle=0.3),
    lambda: scenes.four_bar(True, limit=0.01),
    lambda: scenes.cartpole(friction=0.5, target_ke=100.0, target_kd=1.0, target_q=0.2, effort_limit=2.0),
    sliding_box,
])  # fmt: skip
def test_steps_that_are_solved_have_no_residuals(scene, eliminate):
    run = measured(scene(), dynamics=hooke.solvers.ConstrainedDynamicsConfig(eliminate_bilateral=eliminate))
    metrics = run.solver.metrics
    for name in RESIDUALS:
        assert getattr(metrics, name)[0] < (1e-6 if name == "r_cts_joints" else 1e-7), name
    assert metrics.r_cts_limits[0] < 0.01
    assert set(metrics.argmax) == {name for name in vars(metrics) if name.startswith("r_")}


def test_energies_of_a_sliding_box():
    """f_ccp = l . (v + v_f) / 2 with the problem's own rows; f_ncp has l . s more: friction coefficient times slip times normal impulse."""
    run = measured(sliding_box(), 1)
    metrics, dt = run.solver.metrics, 1e-3
    weight = float(run.model.body_mass.numpy()[0]) * 9.81
    slip = np.hypot(*run.qd[0, :2])
    assert metrics.f_ncp[0] - metrics.f_ccp[0] == pytest.approx(0.3 * slip * weight * dt, rel=1e-2)


def test_what_is_wrong_is_found():
    """A world that was not solved shows where: residuals are measured, not taken from the solver."""
    run = measured(sliding_box(), 1)
    problem = run.solver._problem.problem
    impulse = problem.impulse.numpy()
    impulse[2] = -1.0
    problem.impulse.assign(impulse)
    metrics = run.solver.metrics
    assert metrics.r_ncp_primal[0] == pytest.approx(1.0, rel=1e-3)
    assert metrics.argmax["r_ncp_primal"][0] == 2
    assert metrics.r_eom[0] > 0.5
    assert metrics.argmax["r_eom"][0] == 2


def test_penetration_and_violated_limits_are_measured():
    b = sliding_box()
    b.body_q[-1] = at(0, 0, 0.09)
    run = measured(b, 1)
    assert run.solver.metrics.r_cts_contacts[0] == pytest.approx(0.01, rel=1e-4)
    b = scenes.pendulum(angle=0.5, limit_lower=-0.2, limit_upper=0.2)
    run = measured(b, 1)
    assert run.solver.metrics.r_cts_limits[0] == pytest.approx(0.3 * 0.99, rel=1e-3)


def test_worlds_without_anything_have_zeros():
    b = hooke.ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    run = measured(b, 1)
    metrics = run.solver.metrics
    assert all(getattr(metrics, name)[0] < 1e-12 for name in RESIDUALS)
    assert metrics.argmax["r_ncp_primal"][0] == -1
    assert Run(run.model).step(1, 1e-3).solver.metrics is None


def test_iterations_are_recorded():
    padmm = hooke.solvers.PADMMSolverConfig(max_iterations=30)
    config = SolverKamino.Config(collect_solver_info=True, padmm=padmm)
    run = Run(finalize(sliding_box()), config).step(1, 1e-3)
    info = run.solver.info
    assert info.r_primal.shape == (1, 30)
    n = int(info.iterations[0])
    assert (info.norm_x[0, :n] > 0.0).all()
    assert (info.norm_x[0, n:] == 0.0).all()
    assert len(info.lambdas[0]) == len(info.v_plus[0]) == 12
    assert info.v_aug[0] == pytest.approx(info.v_plus[0] + info.s[0])
    with pytest.raises(AttributeError, match="history"):
        _ = info.nothing
    assert Run(run.model).step(1, 1e-3).solver.info is None

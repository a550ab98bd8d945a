"""Ways to run a mechanism that must not change its motion: numbers, formulations, captures, damping, integrators."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import ConstrainedDynamicsConfig, SolverKamino
from tests.kamino.scenes import Run, Y, builder_of, cartpole, finished, four_bar
from tests.kamino.test_closed_loops import crank_rocker, leg
from tests.kamino.test_mechanisms import gaps

MODES = hooke.JointTargetMode


def dynamics(**options):
    return SolverKamino.Config(dynamics=ConstrainedDynamicsConfig(**options))


@pytest.mark.slow
@pytest.mark.parametrize("build", [crank_rocker, lambda: four_bar(ground=True, limit=0.3, friction=0.001)])
def test_single_precision(build):
    """``precision="float32"`` is close to double, closes loops as well, and resets; velocities follow curvature only above rounding."""
    runs = []
    for precision in ("float64", "float32"):
        run = Run(finished(build()), dynamics(precision=precision))
        effort = np.zeros(run.model.joint_dof_count, np.float32)
        effort[0] = 0.05
        run.control.joint_f.assign(effort)
        runs.append(run.step(200, 1e-3))
    assert np.abs(runs[0].joint_q[0]) > 0.05
    assert runs[1].q == pytest.approx(runs[0].q, abs=5e-4)
    assert max(gaps(runs[1])) < 1e-6
    runs[1].solver.reset(runs[1].state)
    assert np.array_equal(runs[1].q, runs[1].model.body_q.numpy())


def test_single_precision_is_what_a_gpu_takes():
    config = ConstrainedDynamicsConfig()
    assert config.scalar("cpu") is wp.float64
    assert ConstrainedDynamicsConfig(precision="float32").scalar("cpu") is wp.float32


@pytest.mark.parametrize(
    "drive",
    [
        {},
        {"target_ke": 2.0, "target_kd": 0.1, "target_q": 0.3, "actuator_mode": MODES.POSITION, "armature": 0.01},
        {"target_ke": 2.0, "target_kd": 0.1, "target_q": 0.3, "actuator_mode": MODES.POSITION, "effort_limit": 0.3},
    ],
)
def test_the_formulation_of_the_paper_moves_a_cartpole_alike(drive):
    """Without elimination the energy of velocity-level constraints is lost, a little in so short a time."""
    runs = []
    for config in (None, dynamics(eliminate_bilateral=False)):
        run = Run(finished(cartpole(**drive)), config)
        run.control.joint_f.assign(np.asarray([0.3, 0.02], np.float32))
        runs.append(run.step(100, 1e-3))
    assert np.abs(runs[0].joint_q).min() > 1e-3
    assert runs[1].q == pytest.approx(runs[0].q, abs=1e-5)
    assert runs[1].joint_qd == pytest.approx(runs[0].joint_qd, abs=2e-3)


def test_a_capture_of_the_first_step_is_the_step():
    model = finished(cartpole(limit_lower=-4.0, limit_upper=4.0))
    plain, recorded = Run(model), Run(model)
    for run in (plain, recorded):
        run.control.joint_f.assign(np.asarray([0.5, 0.1], np.float32))
    with wp.ScopedCapture(device="cpu") as capture:
        for _ in range(2):
            recorded.solver.step(recorded.state, recorded.other, recorded.control, None, 1e-3)
            recorded.state, recorded.other = recorded.other, recorded.state
    for _ in range(25):
        wp.capture_launch(capture.graph)
    plain.step(50, 1e-3)
    assert np.array_equal(recorded.q, plain.q) and np.array_equal(recorded.joint_qd, plain.joint_qd)
    assert np.abs(plain.joint_q).max() > 1e-3


def test_damping_of_angular_velocities():
    """w (1 - x dt) in every step, of a wheel on a hinge and of a cartpole's pole, whose joints stay closed."""
    b = builder_of(0.0)
    wheel = b.add_link(mass=1.0, inertia=np.eye(3))
    b.add_joint_revolute(-1, wheel, axis=Y)
    b.body_qd[0] = (0.0, 0.0, 0.0, 0.0, 2.0, 0.0)
    run = Run(finished(b), SolverKamino.Config(angular_velocity_damping=0.5)).step(20, 1e-2)
    assert run.joint_qd[0] == pytest.approx(2.0 * (1.0 - 0.005) ** 20, rel=1e-6)
    swung = [Run(finished(crank_rocker()), SolverKamino.Config(angular_velocity_damping=x)).step(300, 1e-3) for x in (0.0, 1.0)]
    energies = [hooke.measure_energy(r.model, r.state).total for r in swung]
    assert energies[1] < energies[0] - 1e-4 and max(gaps(swung[1])) < 1e-6


@pytest.mark.parametrize("build", [crank_rocker, leg])
def test_both_integrators_converge_to_the_same_motion(build):
    ends = []
    for integrator in ("euler", "moreau"):
        run = Run(finished(build()), SolverKamino.Config(integrator=integrator)).step(800, 2.5e-4)
        ends.append(run.q)
        assert max(gaps(run)) < 1e-6
    assert np.abs(ends[0] - finished(build()).body_q.numpy()).max() > 1e-3
    assert ends[1] == pytest.approx(ends[0], abs=1e-3)

"""Bodies without joints: closed forms of flight and of rotation."""

import numpy as np
import pytest

from hooke.model.energy import measure_momentum
from hooke.solvers import SolverKamino
from tests.kamino.scenes import Run, at, builder_of, finished, link


def test_free_fall_is_that_of_semi_implicit_euler():
    b = builder_of()
    link(b, (0.0, 0.0, 2.0))
    b.body_qd[0] = (1.0, 0.0, 3.0, 0.0, 0.0, 0.0)
    steps, dt = 100, 1e-2
    run = Run(finished(b)).step(steps, dt)
    t = steps * dt
    assert run.q[0, :3] == pytest.approx([t, 0.0, 2.0 + 3.0 * t - 0.5 * 9.81 * t * (t + dt)], abs=2e-6)
    assert run.qd[0, 2] == pytest.approx(3.0 - 9.81 * t, abs=1e-5)


def test_midpoint_rule_falls_exactly_halfway():
    """Moreau's rule: the pose moves dt / 2 with the old and dt / 2 with the new velocity."""
    b = builder_of()
    link(b, (0.0, 0.0, 2.0))
    steps, dt = 100, 1e-2
    run = Run(finished(b), SolverKamino.Config(integrator="moreau", use_collision_detector=True)).step(steps, dt)
    assert run.q[0, 2] == pytest.approx(2.0 - 0.5 * 9.81 * (steps * dt) ** 2, abs=2e-6)


def test_wrenches_of_the_state_act_at_the_centre_of_mass():
    b = builder_of(0.0)
    b.add_link(xform=at(0, 0, 0), com=(0.2, 0.0, 0.0), mass=2.0, inertia=np.diag([0.3, 0.3, 0.4]))
    run = Run(finished(b))
    run.state.body_f.assign(np.asarray([[4.0, 0.0, 0.0, 0.0, 0.0, 0.8]], np.float32))
    run.step(1, 1e-2)
    assert run.qd[0] == pytest.approx([0.02, 0.0, 0.0, 0.0, 0.0, 0.02], abs=1e-7)
    assert run.state.body_f_total.numpy()[0] == pytest.approx([4.0, 0.0, 0.0, 0.0, 0.0, 0.8], abs=1e-5)


def test_angular_momentum_keeps_its_length():
    b = builder_of(0.0)
    b.add_link(mass=1.0, inertia=np.diag([1.5, 2.0, 3.0]))
    b.body_qd[0] = (0.0, 0.0, 0.0, 3.0, 2.0, -1.0)
    run = Run(finished(b))
    before = np.linalg.norm(measure_momentum(run.model, run.state).angular)
    run.step(50, 0.02)
    assert np.linalg.norm(run.q[0, 3:]) == pytest.approx(1.0, abs=1e-6)
    # the length of L after a step is that of I(q) w, at the start of the step
    assert np.linalg.norm(measure_momentum(run.model, run.state).angular) == pytest.approx(before, rel=5e-2)


def test_a_symmetric_body_precesses_at_the_rate_of_theory():
    """World precession |L| / I1 of a free symmetric top."""
    b = builder_of(0.0)
    i1, i3 = 1.0, 2.0
    b.add_link(mass=1.0, inertia=np.diag([i1, i1, i3]))
    w = np.array([0.5, 0.0, 4.0])
    b.body_qd[0] = (0.0, 0.0, 0.0, *w)
    momentum = np.array([i1, i1, i3]) * w
    steps, dt = 1000, 1e-3
    run = Run(finished(b))
    axis = momentum / np.linalg.norm(momentum)
    run.step(steps, dt)
    q = run.q[0, 3:]
    v, s = q[:3], q[3]
    top = np.array([0.0, 0.0, 1.0])
    top = top + 2.0 * np.cross(v, np.cross(v, top) + s * top)
    across = [x - axis * (axis @ x) for x in (np.array([0.0, 0.0, 1.0]), top)]
    turned = np.arctan2(axis @ np.cross(*across), across[0] @ across[1])
    expected = np.linalg.norm(momentum) / i1 * steps * dt
    assert abs((turned - expected + np.pi) % (2 * np.pi) - np.pi) < 0.02 * expected


def test_angular_velocity_damping():
    b = builder_of(0.0)
    b.add_link(mass=1.0, inertia=np.eye(3))
    b.body_qd[0] = (1.0, 0.0, 0.0, 0.0, 0.0, 2.0)
    run = Run(finished(b), SolverKamino.Config(angular_velocity_damping=0.5)).step(10, 1e-2)
    assert run.qd[0, 5] == pytest.approx(2.0 * (1.0 - 0.005) ** 10, rel=1e-6)
    assert run.qd[0, 0] == 1.0


def test_kinematic_bodies_stay_where_the_caller_puts_them():
    b = builder_of()
    link(b, (0.0, 0.0, 1.0), is_kinematic=True)
    b.body_qd[0] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    run = Run(finished(b))
    before = run.q.copy()
    run.step(3, 1e-2)
    assert np.array_equal(run.q, before) and run.qd[0, 0] == 1.0


def test_the_state_at_the_start_is_not_written():
    b = builder_of()
    link(b, (0.1, 0.2, 0.3), rotation=(0.1, 0.2, 0.3, 0.9273618))
    run = Run(finished(b))
    before = {n: v.numpy().copy() for n, v in vars(run.state).items() if hasattr(v, "numpy")}
    run.solver.step(run.state, run.other, None, None, 1e-2)
    assert all(np.array_equal(getattr(run.state, n).numpy(), v) for n, v in before.items())


@pytest.mark.parametrize("dt", [0.0, -1.0, float("nan"), float("inf")])
def test_time_steps(dt):
    b = builder_of()
    link(b, (0.0, 0.0, 0.0))
    run = Run(finished(b))
    with pytest.raises(ValueError, match="expected dt > 0 s"):
        run.step(1, dt)
    with pytest.raises(TypeError, match="expected dt as a number"):
        run.step(1, "0.1")

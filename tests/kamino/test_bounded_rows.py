"""Dry friction, drives with an effort limit and limits, against closed forms; and joints that are not eliminated."""

import numpy as np
import pytest

import hooke
from hooke.solvers import SolverKamino
from tests.kamino.scenes import Run, Y, builder_of, finished, four_bar

DT = 1e-2
MODES = hooke.JointTargetMode


def wheel(inertia=1.0, gravity=0.0, **options):
    b = builder_of(gravity)
    body = b.add_link(mass=1.0, inertia=np.diag([inertia] * 3))
    b.add_joint_revolute(-1, body, axis=Y, **options)
    return b


def spinning(builder, speed=0.0, effort=0.0, config=None):
    run = Run(finished(builder), config)
    run.state.body_qd.assign(np.asarray([[0, 0, 0, 0, speed, 0]], np.float32))
    run.control.joint_f.assign(np.asarray([effort], np.float32))
    return run


def test_dry_friction_takes_its_share_of_every_step():
    run = spinning(wheel(friction=2.0, armature=0.25), speed=3.0).step(10, DT)
    assert run.joint_qd[0] == pytest.approx(3.0 - 10 * DT * 2.0 / 1.25, abs=1e-5)


def test_dry_friction_stops_and_holds():
    run = spinning(wheel(friction=2.0), speed=0.05).step(20, DT)
    assert abs(run.joint_qd[0]) < 1e-6
    held = spinning(wheel(friction=2.0), effort=1.9).step(50, DT)
    slips = spinning(wheel(friction=2.0), effort=2.5).step(50, DT)
    assert abs(held.joint_q[0]) < 1e-6
    assert slips.joint_qd[0] == pytest.approx(50 * DT * 0.5, rel=1e-4)


def test_a_drive_saturates_at_its_effort_limit():
    drive = {"target_ke": 100.0, "target_kd": 1.0, "target_q": 1.0, "actuator_mode": MODES.POSITION}
    run = spinning(wheel(effort_limit=3.0, **drive)).step(1, DT)
    assert run.joint_qd[0] == pytest.approx(DT * 3.0, rel=1e-5)


def test_a_drive_within_its_limit_is_implicit():
    kp, kd, inertia = 10.0, 0.5, 1.0
    drive = {"target_ke": kp, "target_kd": kd, "target_q": 0.1, "actuator_mode": MODES.POSITION}
    run = spinning(wheel(effort_limit=50.0, **drive)).step(1, DT)
    effort = kp * 0.1 * inertia / (inertia + DT * kd + DT * DT * kp)
    assert run.joint_qd[0] == pytest.approx(DT * effort / inertia, rel=1e-5)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_limit_stops_without_rebound(side):
    run, seen = spinning(wheel(limit_lower=-0.1, limit_upper=0.1), speed=2.0 * side), []
    run.step(60, DT, lambda r: seen.append((r.joint_q[0], r.joint_qd[0])))
    q, qd = side * np.asarray(seen).T
    assert q.max() < 0.1 + 2.0 * DT and qd.min() > -0.05
    assert abs(qd[-1]) < 0.05


def test_limits_give_back_penetration_at_the_rate_of_beta():
    config = SolverKamino.Config(constraints=hooke.solvers.ConstraintStabilizationConfig(beta=0.2))
    run = spinning(wheel(limit_upper=0.1), speed=2.0, config=config)
    run.step(6, DT)
    excess = run.joint_q[0] - 0.1
    assert excess > 0.0
    run.step(1, DT)
    assert run.joint_qd[0] == pytest.approx(-0.2 * excess / DT, rel=1e-3)


def test_limits_that_give_way_are_springs_of_implicit_euler():
    config = SolverKamino.Config(constraints=hooke.solvers.ConstraintStabilizationConfig(limit_compliance=True))
    k, b = 200.0, 3.0
    run = spinning(wheel(limit_upper=0.0, limit_ke=k, limit_kd=b), speed=1.0, config=config)
    q, w = 0.0, 1.0
    for _ in range(8):
        run.step(1, DT)
        if q > 0.0:
            w = (w - DT * k * q) / (1.0 + DT * (b + DT * k))
        q += DT * w
        assert run.joint_qd[0] == pytest.approx(w, abs=2e-5)


def test_limits_of_a_loop_are_reached_together():
    """A square four-bar driven into limits of pi/4: one pair stops it, the loop stays closed."""
    run = Run(finished(four_bar(ground=True, gravity=0.0, limit=np.pi / 4)))
    run.control.joint_f.assign(np.asarray([0.05, 0, 0, 0], np.float32))
    run.step(1000, 1e-3)
    assert np.abs(run.joint_q) == pytest.approx(np.full(4, np.pi / 4), abs=5e-3)
    assert np.abs(run.joint_qd).max() < 0.05


def test_joints_as_rows_move_as_eliminated_ones():
    """The plain formulation of the paper; it has no projection of poses, so errors of some 1e-6 m are left."""
    plain = SolverKamino.Config(dynamics=hooke.solvers.ConstrainedDynamicsConfig(eliminate_bilateral=False))
    runs = []
    for config in (None, plain):
        run = Run(finished(four_bar(ground=True)), config)
        run.control.joint_f.assign(np.asarray([0.3, 0, 0, 0], np.float32))
        runs.append(run.step(50, 1e-3))
    assert np.abs(runs[0].joint_q[0]) > 0.01
    assert runs[1].q == pytest.approx(runs[0].q, abs=2e-5)


@pytest.mark.parametrize("workers", [1, 2])
def test_replicas_with_bounded_rows(workers, monkeypatch):
    monkeypatch.setattr(hooke.config, "workers", workers)
    runs = []
    for count in (1, 4):
        whole = hooke.ModelBuilder()
        whole.replicate(four_bar(ground=True, limit=0.2, friction=0.001), count)
        run = Run(finished(whole))
        run.control.joint_f.assign(np.tile(np.asarray([0.05, 0, 0, 0], np.float32), count))
        runs.append(run.step(60, 1e-3))
    assert np.array_equal(runs[1].q.reshape(4, -1), np.tile(runs[0].q.reshape(1, -1), (4, 1)))


def test_a_captured_step_is_the_step():
    import warp as wp

    model = finished(four_bar(ground=True, limit=0.2))
    plain, recorded = Run(model), Run(model)
    for run in (plain, recorded):
        run.control.joint_f.assign(np.asarray([0.05, 0, 0, 0], np.float32))
        run.step(2, 1e-3)
    with wp.ScopedCapture(device="cpu") as capture:
        for _ in range(2):
            recorded.solver.step(recorded.state, recorded.other, recorded.control, None, 1e-3)
            recorded.state, recorded.other = recorded.other, recorded.state
    for _ in range(30):
        wp.capture_launch(capture.graph)
    plain.step(60, 1e-3)
    assert np.array_equal(recorded.q, plain.q)

"""Degrees of freedom: armature, damping, springs and drives against the closed form of implicit Euler, and ranges of angles."""

import numpy as np
import pytest

import hooke
from hooke.solvers import SolverKamino
from tests.kamino.scenes import Run, Y, at, builder_of, finished

DT = 1e-2
MODES = hooke.JointTargetMode


def wheel(inertia=0.5, **options):
    """A wheel on a hinge about Y."""
    b = builder_of(0.0)
    body = b.add_link(mass=1.0, inertia=np.diag([inertia] * 3))
    b.add_joint_revolute(-1, body, axis=Y, **options)
    return b


def spinning(builder, speed=2.0, effort=0.0, config=None):
    run = Run(finished(builder), config)
    run.state.body_qd.assign(np.asarray([[0, 0, 0, 0, speed, 0]], np.float32))
    run.control.joint_f.assign(np.asarray([effort], np.float32))
    return run


CASES = {
    "effort": {},
    "armature": {"armature": 0.3},
    "damping": {"damping": 0.7},
    "spring": {"stiffness": 5.0, "rest_q": 0.2},
    "position": {"target_ke": 20.0, "target_kd": 0.3, "target_q": 0.5, "actuator_mode": MODES.POSITION, "effort_limit": np.inf},
    "velocity": {"target_kd": 0.3, "target_qd": 4.0, "actuator_mode": MODES.VELOCITY, "effort_limit": np.inf},
    "both": {
        "target_ke": 20.0, "target_kd": 0.3, "target_q": 0.5, "target_qd": 1.0, "actuator_mode": MODES.POSITION_VELOCITY,
        "armature": 0.1, "damping": 0.2, "effort_limit": np.inf,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_that_of_implicit_euler(name):
    given = CASES[name]
    a, d, k = (given.get(key, 0.0) for key in ("armature", "damping", "stiffness"))
    mode, kp, kd = (given.get(key, 0.0) for key in ("actuator_mode", "target_ke", "target_kd"))
    kd_ref = kd * given.get("target_qd", 0.0) if mode != MODES.POSITION else 0.0
    run, inertia, effort, w = spinning(wheel(**given), effort=0.4), 0.5, 0.4, 2.0
    q = 0.0
    for _ in range(20):
        torque = effort + k * (given.get("rest_q", 0.0) - q) + kp * (given.get("target_q", 0.0) - q) + kd_ref
        w = ((inertia + a) * w + DT * torque) / (inertia + a + DT * (d + kd) + DT * DT * (k + kp))
        q += DT * w
        run.step(1, DT)
    assert run.joint_qd[0] == pytest.approx(w, rel=1e-5)
    assert run.joint_q[0] == pytest.approx(q, rel=1e-5)


@pytest.mark.parametrize(
    ("correction", "low", "high"), [("twopi", -2 * np.pi, 2 * np.pi), ("none", -np.pi, np.pi), ("continuous", 0, 99)]
)
def test_ranges_of_angles(correction, low, high):
    run = spinning(wheel(), speed=10.0, config=SolverKamino.Config(rotation_correction=correction))
    seen = []
    run.step(200, DT, lambda r: seen.append(r.joint_q[0]))
    exact = 10.0 * DT * np.arange(1, 201)
    assert low - 1e-6 <= min(seen) and max(seen) <= high + 1e-6
    assert np.sin(seen) == pytest.approx(np.sin(exact), abs=2e-4)
    if correction == "continuous":
        assert seen[-1] == pytest.approx(20.0, abs=1e-3)
    if correction == "twopi":
        assert seen[60] == pytest.approx(6.1, abs=1e-3)
    assert run.state.joint_q_prev.numpy()[0] == pytest.approx(20.0 - 0.1, abs=1e-3)


def test_drives_follow_turns_whatever_is_reported():
    """A spring wound up by more than a turn pulls as much as it was wound up."""
    run = spinning(wheel(stiffness=1e-3), speed=10.0)
    run.step(100, DT)
    angle, speed = 10.0, run.joint_qd[0]
    run.step(1, DT)
    assert speed - run.joint_qd[0] == pytest.approx(DT * 1e-3 * angle / 0.5, rel=0.05)


def test_a_ball_joint_has_a_spring():
    b = builder_of(0.0)
    body = b.add_link(mass=1.0, inertia=np.diag([0.2] * 3))
    b.add_joint_ball(-1, body, parent_xform=at(0, 0, 0), armature=0.1)
    run = Run(finished(b))
    run.control.joint_f.assign(np.asarray([0.0, 0.3, 0.0], np.float32))
    run.step(10, DT)
    assert run.joint_qd == pytest.approx([0.0, 10 * DT * 0.3 / 0.3, 0.0], abs=1e-5)


def test_callbacks_come_in_order_and_change_nothing():
    plain, told = spinning(wheel(), effort=0.3), spinning(wheel(), effort=0.3)
    calls = []
    for name in ("pre_step", "mid_step", "post_step", "pre_reset", "post_reset"):
        getattr(told.solver, f"set_{name}_callback")(lambda *a, name=name: calls.append((name, len(a))))
    plain.step(5, DT)
    told.step(5, DT)
    assert np.array_equal(plain.q, told.q)
    assert calls == [("pre_step", 5), ("mid_step", 5), ("post_step", 5)] * 5
    told.solver.reset(told.state)
    assert calls[-2:] == [("pre_reset", 2), ("post_reset", 2)]


@pytest.mark.parametrize("extra", [0, 1])
def test_reset_restores_the_chosen_worlds(extra):
    import warp as wp

    whole = hooke.ModelBuilder()
    for _ in range(3):
        whole.add_world(wheel(armature=0.2))
    run = Run(finished(whole))
    run.control.joint_f.assign(np.full(3, 0.4, np.float32))
    run.step(30, DT)
    before = run.q.copy()
    mask = np.zeros(3 + extra, bool)
    mask[1] = True
    run.solver.reset(run.state, wp.array(mask, dtype=wp.bool, device="cpu"))
    assert np.array_equal(run.q[[0, 2]], before[[0, 2]])
    assert np.array_equal(run.q[1], run.model.body_q.numpy()[1]) and run.joint_q[1] == 0.0
    first = Run(run.model)
    first.control.joint_f.assign(np.full(3, 0.4, np.float32))
    first.step(5, DT)
    run.step(5, DT)
    assert np.array_equal(run.q[1], first.q[1])

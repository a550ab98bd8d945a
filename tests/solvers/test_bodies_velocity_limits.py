"""Velocity limits of joints: the rate of a coordinate stays within them, and below them nothing changes."""

import numpy as np
import pytest

from hooke.solvers import SolverVBD
from tests.support import GRAVITY

from .bodies import Dof, at, chain, coordinates, move, one_joint, spin_of
from .test_bodies_joints import PAIRS, pair

DT = 0.01
KINDS = {"prismatic": "axis", "revolute": "axis", "d6": "angular_axes"}


def limited(kind, limit, **options):
    """A joint with one degree of freedom along or about Z."""
    if kind == "d6":
        return one_joint("d6", angular_axes=[Dof(axis=2, velocity_limit=limit, **options)])
    return one_joint(kind, axis=2, velocity_limit=limit, **options)


def rates(model, steps, *, control=None, state=None, solver=None, **options):
    """Velocities over time of the coordinate along or about Z, and the run."""
    seen = []
    linear = model.joint_dof_dim.numpy()[0, 0] == 1
    row = 2 if linear else 5
    run = move(model, steps, DT, control=control, state=state, solver=solver,
               each=lambda n, s: seen.append(float(s.body_qd.numpy()[0, row])), **options)  # fmt: skip
    return np.array(seen), run


@pytest.mark.parametrize("stiffness", [10.0, 1e4, 1e12])
@pytest.mark.parametrize("kind", KINDS)
def test_a_drive_goes_at_the_limit_and_arrives(kind, stiffness):
    model = limited(kind, 0.5, target_ke=stiffness, target_kd=5.0 if stiffness < 100.0 else 10.0, target_q=1.0)
    v, run = rates(model, 400)
    assert np.abs(v).max() < 0.5 * (1.0 + 1e-4)
    assert coordinates(run)[0][0] == pytest.approx(1.0, abs=0.02 if stiffness < 100.0 else 1e-5)
    if stiffness > 100.0:
        assert np.allclose(v[:198], 0.5, rtol=1e-4) and np.abs(v[300:]).max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_below_the_limit_nothing_changes(kind):
    """A load that swings: while the rate is below, it is that of the free joint; at the limit it turns back with the load."""
    model, free = limited(kind, 0.3), limited(kind, 1e6)
    load, expected = np.zeros(1, np.float32), 0.0
    control, inertia = model.control(), 1.0 if kind == "prismatic" else 0.1
    solver, a, b = SolverVBD(model), model.state(), model.state()
    for n in range(300):
        load[0] = 2.0 * inertia * np.sin(0.05 * n)
        control.joint_f.assign(load)
        solver.step(a, b, control, None, DT)
        a, b = b, a
        expected = np.clip(expected + DT * load[0] / inertia, -0.3, 0.3)
        assert a.body_qd.numpy()[0, 2 if kind == "prismatic" else 5] == pytest.approx(expected, abs=2e-5)
    control = free.control()
    control.joint_f.assign([0.05 * inertia])
    found = [move(m, 100, DT, control=control).qd for m in (model, free)]
    assert np.array_equal(found[0], found[1])


def test_walls_are_reached_and_left_within_the_limit():
    """From outside the limits back in, at the speed that is allowed; then a wall stops what the velocity limit let through."""
    model = limited("prismatic", 0.5, limit_lower=-0.1, limit_upper=0.2, limit_ke=1e12)
    state = model.state()
    state.body_q.assign([at(0.0, 0.0, 1.0)])
    v, run = rates(model, 200, state=state)
    assert v.min() == pytest.approx(-0.5, rel=1e-4) and np.allclose(v[:150], -0.5, rtol=1e-4)
    control = model.control()
    control.joint_f.assign([-50.0])
    v, run = rates(model, 150, control=control, state=run.state, solver=run.solver)
    assert (
        v.min() > -0.5 * (1.0 + 1e-4) and coordinates(run)[0][0] == pytest.approx(-0.1, abs=1e-5) and np.abs(v[-20:]).max() < 1e-4
    )


def test_a_start_above_the_limit_is_braked_in_one_step():
    model = limited("revolute", 1.0, friction=0.01)
    model.body_qd.assign([(0.0, 0.0, 0.0, 0.0, 0.0, -9.0)])
    v, _run = rates(model, 20)
    assert (
        v[0] == pytest.approx(-1.0, rel=1e-5)
        and np.all(np.diff(v) > 0.0)
        and v[-1] == pytest.approx(-1.0 + 19 * DT * 0.1, abs=1e-4)
    )


def test_a_limit_of_zero_holds():
    model = limited("prismatic", 0.0)
    control = model.control()
    control.joint_f.assign([100.0])
    v, run = rates(model, 100, control=control)
    assert np.abs(v).max() < 1e-5 and abs(coordinates(run)[0][0]) < 1e-5


def test_a_limit_holds_a_long_chain_that_falls():
    """A hinge that lets twenty heavy links sink at its own pace."""
    model = chain(20, 0.1, mass=1.0, joint="revolute", axis=(0, 1, 0), gravity=-GRAVITY)
    limits = model.joint_velocity_limit.numpy()
    limits[0] = 0.2
    limits[1:] = 3.0
    model.joint_velocity_limit.assign(limits)
    seen = []
    state, other, solver = model.state(), model.state(), SolverVBD(model)
    for _ in range(100):
        solver.step(state, other, None, None, DT)
        state, other = other, state
        omega = state.body_qd.numpy()[:, 4]
        seen.append(np.diff(omega, prepend=0.0))
    seen = np.array(seen)
    assert np.abs(seen[:, 0]).max() < 0.2 * 1.001 and np.abs(seen[:, 1:]).max() < 3.0 * 1.001
    assert seen[-50:, 0].max() > 0.199


@pytest.mark.parametrize("name", ["hinge", "displaced slider"])
def test_limits_act_between_bodies(name):
    """What they brake on one body they push on the other."""
    kind, options = PAIRS[name]
    model = pair(kind, {**options, "velocity_limit": 0.3}, seed=3)
    motion = move(model, 2, 1.0 / 200.0)
    spin, linear = spin_of(motion)
    motion = move(model, 300, 1.0 / 200.0, state=motion.state, solver=motion.solver, each=lambda n, s: None)
    after = spin_of(motion)
    assert np.linalg.norm(after[0] - spin) < 1e-4 * np.linalg.norm(spin)
    assert np.linalg.norm(after[1] - linear) < 1e-4 * np.linalg.norm(linear)
    assert np.abs(coordinates(motion)[1][-1]) < 0.3 * 1.01


def test_limits_are_read_in_every_step():
    model = limited("revolute", 0.5, target_kd=100.0, target_qd=5.0)
    v, run = rates(model, 20)
    assert v[-1] == pytest.approx(0.5, rel=1e-4)
    model.joint_velocity_limit.assign([1.5])
    v, run = rates(model, 20, state=run.state, solver=run.solver)
    assert v[-1] == pytest.approx(1.5, rel=1e-4)
    model.joint_velocity_limit.assign([1e6])
    v, run = rates(model, 20, state=run.state, solver=run.solver)
    assert v[-1] == pytest.approx(5.0, rel=1e-3)


def test_kinds_without_limits_say_so():
    with pytest.warns(UserWarning, match="joint_velocity_limit of joint 'joint_1'"):
        model = one_joint("ball")
        model.joint_velocity_limit.fill_(1.0)
        SolverVBD(model)
    with pytest.warns(UserWarning, match="joint_velocity_limit do not act in the documented formulation"):
        SolverVBD(limited("revolute", 1.0), rigid_compliant_alm=False)


def test_a_bar_sinks_about_a_limited_hinge():
    """Two iterations are enough."""
    model = one_joint("revolute", axis=1, length=0.5, gravity=-GRAVITY, velocity_limit=0.4)
    for iterations in (2, 10):
        seen = []
        move(model, 200, DT, iterations=iterations, each=lambda n, s, seen=seen: seen.append(float(s.body_qd.numpy()[0, 4])))
        assert np.max(seen) < 0.4 * (1.0 + 1e-4) and seen[100] == pytest.approx(0.4, rel=1e-4)

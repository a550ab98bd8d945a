"""Restitution of contacts between bodies: heights, momentum, joints, friction, and when there is none."""

import warnings

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.model.energy import measure_momentum
from hooke.model.enums import ModelFlags
from hooke.solvers import SolverVBD
from tests.solvers.bodies import Motion, gaps
from tests.solvers.contacts import Material, Run, ball, crate, world
from tests.support import GRAVITY, UPRIGHT, finalize


def apex(run, bottom, seconds):
    """How high something comes after it first goes up [m]."""
    rises, highest = False, 0.0
    for _ in range(round(seconds / run.dt)):
        run.step()
        z, v = run.q[0, 2] - bottom, run.qd[0, 2]
        rises |= v > 0.5
        if rises:
            highest = max(highest, z)
            if v < -0.1:
                break
    return highest


@pytest.mark.parametrize("gap", [0.0, 0.001, 0.02])
@pytest.mark.parametrize("e", [0.5, 0.8])
@pytest.mark.parametrize("dt", [1e-3, 5e-4, 1 / 60])
def test_a_ball_comes_back_to_e_squared_of_its_height(e, dt, gap):
    """From one metre, within 0.1 %, whatever the time step and how early contacts appear; it is never turned back above the ground."""
    b = world(gap=gap, restitution=e)
    ball(b, (0.0, 0.0, 1.1))
    run = Run(finalize(b), dt)
    assert apex(run, 0.1, 1.0) == pytest.approx(e * e, rel=1e-3)


@pytest.mark.parametrize("ground", [0.2, 0.7])
def test_the_larger_restitution_counts(ground):
    """Of the two sides, whichever has it."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=Material(restitution=ground))
    b.default_shape_cfg = Material(restitution=0.9 - ground)
    ball(b, (0.0, 0.0, 0.6))
    assert apex(Run(finalize(b), 1 / 500), 0.1, 1.0) == pytest.approx(0.5 * 0.7**2, rel=2e-3)


def test_a_crate_lands_flat_and_comes_back_flat():
    """All four corners give back the same; it does not turn."""
    b = world(restitution=0.6)
    crate(b, (0.0, 0.0, 0.6))
    run = Run(finalize(b), 1 / 500)
    assert apex(run, 0.1, 1.0) == pytest.approx(0.5 * 0.36, rel=2e-3)
    np.testing.assert_allclose(run.q[0, 3:], UPRIGHT, atol=1e-5)


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_balls_in_space_keep_momentum_and_part_at_e_times_their_approach(e):
    """Off centre, one spinning, with friction: linear and angular momentum to rounding; along the normal of the impact e."""
    b = world(gravity=0.0, ground=False, restitution=e, mu=0.5)
    ball(b, (0.0, 0.0, 0.0))
    ball(b, (0.5, 0.05, 0.02), radius=0.15)
    run = Run(finalize(b), 1e-3)
    qd = np.zeros((2, 6), np.float32)
    qd[0] = (2.0, 0.0, 0.0, 0.0, 5.0, 3.0)
    run.state.body_qd.assign(qd)
    before = measure_momentum(run.model, run.state)
    while np.linalg.norm(run.q[1, :3] - run.q[0, :3]) > 0.25 + 0.005:
        run.step()
    run.step(10)
    after = measure_momentum(run.model, run.state)
    np.testing.assert_allclose(after.linear, before.linear, atol=1e-5 * np.abs(before.linear).max())
    np.testing.assert_allclose(after.angular, before.angular, atol=2e-4 * np.abs(before.angular).max())
    r = np.sqrt(0.25**2 - 0.05**2 - 0.02**2)
    n = np.array([r, 0.05, 0.02]) / 0.25
    parting = (run.qd[1, :3] - run.qd[0, :3]) @ n
    assert parting == pytest.approx(e * 2.0 * n[0], rel=0.01)


def test_what_spins_grips_in_both_phases():
    """A ball that spins and slips throughout: the friction impulse is mu m (1 + e) v."""
    b = world(restitution=0.8, mu=0.2)
    b.shape_material_mu[0] = 0.2
    ball(b, (0.0, 0.0, 0.3))
    run = Run(finalize(b), 1e-3)
    run.state.body_qd.assign(np.array([[0, 0, 0, 0, 100, 0]], np.float32))
    run.step(250)
    change = 0.2 * 1.8 * np.sqrt(2 * GRAVITY * 0.2)
    assert run.qd[0, 0] == pytest.approx(change, rel=5e-3)
    assert run.qd[0, 4] == pytest.approx(100.0 - change / (0.4 * 0.1), rel=1e-3)


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_hammer_comes_back_as_a_whole(e):
    """A head that is fixed to an arm on a hinge: the arm turns back with e of its speed, and the joints stay closed."""
    b = world(restitution=e, mu=0.0)
    arm = b.add_link(xform=(0.5, 0.0, 0.6, *UPRIGHT), mass=1.0, inertia=np.diag([0.01, 0.1, 0.1]))
    head = b.add_link(xform=(1.0, 0.0, 0.6, *UPRIGHT))
    b.add_shape_sphere(head, radius=0.1)
    ends = {"child_xform": (-0.5, 0.0, 0.0, *UPRIGHT)}
    hinge = b.add_joint_revolute(-1, arm, axis="Y", parent_xform=(0.0, 0.0, 0.6, *UPRIGHT), **ends)
    weld = b.add_joint_fixed(arm, head, parent_xform=(0.5, 0.0, 0.0, *UPRIGHT))
    b.add_articulation([hinge, weld])
    run = Run(finalize(b), 1e-3)
    rates, apart = [], 0.0
    for _ in range(500):
        run.step()
        rates.append(run.qd[0, 4])
        apart = max(apart, gaps(Motion(run.model, run.state, run.solver)).max())
    came = max(rates)
    assert min(rates) == pytest.approx(-e * came, rel=5e-3)
    assert apart < 1e-5


def test_a_paddle_gives_its_own_speed_too():
    """A kinematic plate at 1 m/s meets a ball at rest: 1 + e."""
    b = world(gravity=0.0, ground=False, restitution=0.5)
    paddle = b.add_body(xform=(0.0, 0.0, 0.0, *UPRIGHT), is_kinematic=True)
    b.add_shape_box(paddle, hx=0.5, hy=0.5, hz=0.05)
    ball(b, (0.0, 0.0, 0.2))
    run = Run(finalize(b), 1e-3)
    for n in range(120):
        q = run.state.body_q.numpy()
        q[0, 2] = run.dt * n
        run.state.body_q.assign(q)
        run.step()
    assert run.qd[1, 2] == pytest.approx(1.5, rel=1e-3)


@pytest.mark.parametrize("dt", [1 / 60, 1e-3])
def test_what_rests_stays_and_what_bounces_comes_to_rest(dt):
    """A stack with restitution 0.9 does not dance; a ball with 0.5 ends on the ground."""
    b = world(restitution=0.9)
    for i in range(3):
        crate(b, (0.0, 0.0, 0.1 + 0.2 * i), label=f"b{i}")
    run = Run(finalize(b), dt).step(100)
    assert np.abs(run.qd).max() < 1e-4
    b = world(restitution=0.5)
    ball(b, (0.0, 0.0, 0.2))
    run = Run(finalize(b), dt).step(round(1.2 / dt))
    assert np.abs(run.qd).max() < 1e-4 and run.q[0, 2] == pytest.approx(0.1, abs=1e-4)


def test_it_is_launched_only_for_shapes_that_have_it():
    """Switched on and off by the material; a model without it takes the same steps as before."""
    b = world(restitution=0.0)
    ball(b, (0.0, 0.0, 0.15))
    run = Run(finalize(b), 1e-3)
    bounces = run.solver._rigid.contacts.restitution
    assert not bounces.active and not bounces.kernels
    run.step(150)
    assert np.abs(run.qd).max() < 1e-4
    run.model.shape_material_restitution.fill_(0.6)
    run.solver.notify_model_changed(ModelFlags.SHAPE_PROPERTIES)
    assert bounces.active
    run.solver.reset(run.state)
    assert apex(run, 0.1, 1.0) == pytest.approx(0.05 * 0.36, rel=0.01)
    run.model.shape_material_restitution.zero_()
    run.solver.notify_model_changed(ModelFlags.SHAPE_PROPERTIES)
    run.solver.reset(run.state)
    run.step(300)
    assert not bounces.active and np.abs(run.qd).max() < 1e-4


@pytest.mark.parametrize("forget", ["reset", "no contacts"])
def test_a_bounce_that_is_interrupted_is_forgotten(forget):
    """Between the step of the impact and the next: a reset, or a step without contacts."""
    b = world(restitution=0.8)
    ball(b, (0.0, 0.0, 0.2))
    run = Run(finalize(b), 1e-3)
    owed = run.solver._rigid.contacts.restitution
    while not (run.step() and owed._bounces.owed.numpy()[0] > 0.0):
        pass
    if forget == "reset":
        run.solver.reset(run.state, flags=0)
    else:
        run.solver.step(run.state, run.other, None, None, run.dt)
        run.state, run.other = run.other, run.state
    run.state.body_q.assign(np.array([[0.0, 0.0, 0.1, *UPRIGHT]], np.float32))
    run.state.body_qd.zero_()
    run.step(3)
    assert np.abs(run.qd).max() < 1e-3


@pytest.mark.parametrize("option", [{"rigid_contact_hard": False}, {"rigid_compliant_alm": False}])
def test_where_it_does_not_act_it_says_so(option):
    b = world(restitution=0.5)
    ball(b, (0.0, 0.0, 0.2))
    model = finalize(b)
    with pytest.warns(UserWarning, match="restitution"):
        SolverVBD(model, **option)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SolverVBD(model)


def test_any_number_of_workers_does_the_same(monkeypatch):
    """A heap of balls that bounce off each other, bit by bit."""
    found = []
    for workers in (1, 2):
        monkeypatch.setattr(config, "workers", workers)
        b = world(restitution=0.7)
        for i in range(12):
            ball(b, (0.15 * (i % 3), 0.02 * i, 0.15 + 0.25 * (i // 3)))
        run = Run(finalize(b), 1 / 120).step(60)
        found.append(np.hstack([run.q, run.qd]))
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all() and np.abs(found[0]).max() < 20.0

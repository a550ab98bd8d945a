"""The documented formulation (``rigid_compliant_alm=False``): its closed forms, its scenarios and their bounds."""

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, finalize

from .bodies import at, bar, chain, coordinates, gaps, move, one_joint, same_bodies, spin_of

PAGE = {"rigid_compliant_alm": False}


@pytest.mark.parametrize("dt", [1.0 / 60.0, 1.0 / 600.0])
@pytest.mark.parametrize("mode", ["soft", "cold", "warm"])
def test_a_resting_body_violates_its_joint_by_the_closed_form(mode, dt):
    """r = M / (M + k): soft m g / k; hard g dt^2 (1 - a g) / (1 - a) r^n / (1 - r^n), cold with multipliers from zero in every step."""
    k, n, alpha = 2500.0, 10, 0.95
    gamma = 0.0 if mode == "cold" else 0.999
    model = one_joint("ball", gravity=-GRAVITY)
    solver = SolverVBD(model, rigid_joint_linear_ke=k, rigid_avbd_gamma=gamma, **PAGE)
    solver.set_joint_constraint_mode(0, mode != "soft")
    steps = {"soft": 4000, "cold": 300, "warm": 4000}[mode]
    depth = -move(model, steps, dt, solver=solver).q[0, 2]
    r = (1.0 / dt**2 / (1.0 / dt**2 + k)) ** n
    wanted = GRAVITY / k if mode == "soft" else GRAVITY * dt**2 * (1.0 - alpha * gamma) / (1.0 - alpha) * r / (1.0 - r)
    assert depth == pytest.approx(wanted, rel=1e-3, abs=1e-8)


def test_spin_is_lost_as_the_first_order_quaternion_does():
    """omega' = 2 / dt atan(omega dt / 2) in every step."""
    dt, omega = 1.0 / 600.0, 100.0
    b = hooke.ModelBuilder(gravity=0.0)
    b.add_body(mass=1.0, inertia=0.1 * np.eye(3))
    model = finalize(b)
    model.body_qd.assign([(0.0, 0.0, 0.0, 0.0, 0.0, omega)])
    found = move(model, 20, dt, **PAGE).qd[0, 5]
    for _ in range(20):
        omega = 2.0 / dt * np.arctan(omega * dt / 2.0)
    assert found == pytest.approx(omega, rel=1e-4)


def test_free_fall():
    b = hooke.ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    t, dt = 1.0, 1.0 / 60.0
    assert move(finalize(b), 60, dt, **PAGE).q[0, 2] == pytest.approx(-0.5 * GRAVITY * t * (t + dt), rel=1e-5)


def test_a_jump_without_a_reset_is_a_velocity():
    b = hooke.ModelBuilder(gravity=0.0)
    b.add_body(mass=1.0, inertia=np.eye(3))
    model = finalize(b)
    for reset, wanted in ((False, 10.0), (True, 0.0)):
        run = move(model, 2, 0.01, **PAGE)
        run.state.body_q.assign([at(0.1, 0.0, 0.0)])
        if reset:
            run.solver.reset(run.state, flags=0)
        run = move(model, 1, 0.01, state=run.state, solver=run.solver)
        assert run.qd[0, 0] == pytest.approx(wanted, abs=1e-3)
        run = move(model, 1, 0.01, state=run.state, solver=run.solver)  # the flag is used up
        assert run.qd[0, 0] == pytest.approx(wanted, abs=1e-3)


def driven(kind, **options):
    """Half a second at 60 frames of ten steps."""
    model = one_joint(kind, mass=1.0, inertia=(0.1, 0.1, 0.1), **options)
    return coordinates(move(model, 300, 1.0 / 600.0, **PAGE))[0][0]


def test_drives_and_limits():
    """Limits are springs that replace the drive: at the bound the offset is load over stiffness."""
    assert driven("revolute", axis=2, target_ke=2000.0, target_kd=100.0, target_q=0.4) == pytest.approx(0.4, abs=0.15)
    bound = {"limit_lower": -0.3, "limit_upper": 0.3, "limit_ke": 1e5, "limit_kd": 10.0}
    assert driven("revolute", axis=2, target_ke=2000.0, target_kd=100.0, target_q=1.5, **bound) <= 0.35
    assert driven("prismatic", axis=0, target_ke=5000.0, target_kd=200.0, target_q=0.1) == pytest.approx(0.1, abs=0.03)
    model = one_joint("prismatic", axis=0, limit_lower=-0.05, limit_upper=0.05, limit_ke=1e4, limit_kd=50.0)
    control = model.control()
    control.joint_f.assign([100.0])
    assert move(model, 400, 1.0 / 100.0, control=control, **PAGE).q[0, 0] == pytest.approx(0.05 + 100.0 / 1e4, rel=1e-3)
    model = one_joint("revolute", axis=2, target_ke=40.0, target_kd=2.0, target_q=-0.2)
    control = model.control()
    control.joint_f.assign([4.0])
    assert coordinates(move(model, 400, 0.01, control=control, **PAGE))[0][0] == pytest.approx(-0.1, abs=1e-4)


@pytest.mark.parametrize("kind", ["ball", "fixed", "revolute"])
def test_a_body_hangs_on_a_moving_hand(kind):
    """Amplitude 5 cm, 1.5 Hz: the anchors stay together to a millimetre."""
    b = hooke.ModelBuilder()
    hand = b.add_link(is_kinematic=True)
    link = bar(b, (0.2, 0.0, 0.0), 0.4, mass=0.5)
    options = {"axis": (0, 1, 0)} if kind == "revolute" else {}
    free = b.add_joint_free(hand)
    b.add_articulation([free, getattr(b, f"add_joint_{kind}")(hand, link, child_xform=at(-0.2, 0.0, 0.0), **options)])
    model = finalize(b)
    solver, state, other = SolverVBD(model, **PAGE), model.state(), model.state()
    for n in range(300):
        for s in (state, other):
            q = s.body_q.numpy()
            q[0, :3] = (0.05 * np.sin(2.0 * np.pi * 1.5 * n / 600.0), 0.0, 0.0)
            s.body_q.assign(q)
        solver.step(state, other, None, None, 1.0 / 600.0)
        state, other = other, state
    run = move(model, 0, 1.0, state=state, solver=solver)
    assert gaps(run)[1] < 1e-3
    turn = 2.0 * np.arccos(min(1.0, abs(run.q[1, 6])))
    assert turn < 0.02 if kind == "fixed" else turn > 0.1


def test_cables_bend_more_the_softer_they_are():
    tips = []
    for bend in (50.0, 500.0, 5000.0):
        model = chain(10, 0.2, mass=1.0, joint="cable", bend_stiffness=bend, bend_damping=0.05 * bend)
        tips.append(move(model, 600, 1.0 / 600.0, **PAGE).q[-1, 2])
    assert np.all(np.diff(tips) > 1e-3)


def test_displaced_sliders_keep_angular_momentum():
    """To what backward Euler loses; the parent's lever is that of the child's anchor."""
    b = hooke.ModelBuilder(gravity=0.0)
    first = b.add_link(mass=2.0, inertia=0.2 * np.eye(3))
    second = b.add_link(mass=1.0, inertia=0.1 * np.eye(3), xform=at(0.8, 0.0, 0.0))
    b.add_articulation([b.add_joint_prismatic(first, second, axis=0, target_ke=50.0, target_q=0.8)])
    model = finalize(b)
    model.body_qd.assign(np.array([[0.0] * 6, [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]], np.float32))
    run = move(model, 2, 1.0 / 600.0, **PAGE)
    before = spin_of(run)[0]
    run = move(model, 60, 1.0 / 600.0, state=run.state, solver=run.solver)
    assert np.linalg.norm(spin_of(run)[0] - before) < 5e-3 * np.linalg.norm(before)


def test_penalties_ramp_from_their_seeds():
    """With beta a soft start becomes as stiff as the joint: the violation shrinks."""
    model = one_joint("ball", gravity=-GRAVITY)
    found = []
    for beta, k_start in ((0.0, 1e2), (1e6, 1e2), (1e9, 1e2)):
        options = {"rigid_avbd_linear_beta": beta, "rigid_joint_linear_k_start": k_start, "rigid_avbd_gamma": 0.5}
        found.append(-move(model, 5, 1.0 / 60.0, iterations=4, **options, **PAGE).q[0, 2])
    assert found[1] > 10.0 * found[2] > 10.0 * found[0] > 0.0


def test_reset_workers_and_refusals():
    model = chain(4, 0.2, joint="cable", bend_stiffness=5.0)
    fresh = move(model, 10, 1.0 / 60.0, rigid_avbd_beta=1e4, **PAGE)
    again = move(model, 10, 1.0 / 60.0, rigid_avbd_beta=1e4, **PAGE)
    again.solver.reset(again.state)
    again = move(model, 10, 1.0 / 60.0, state=again.state, solver=again.solver)
    assert same_bodies(again.state, fresh.state)
    old = config.workers
    try:
        config.workers = 2
        assert same_bodies(move(model, 10, 1.0 / 60.0, rigid_avbd_beta=1e4, **PAGE).state, fresh.state)
    finally:
        config.workers = old
    with pytest.raises(NotImplementedError, match="distance joint or a rod"):
        SolverVBD(one_joint("distance"), **PAGE)
    with pytest.warns(UserWarning, match="joint_armature, joint_friction do not act"):
        SolverVBD(one_joint("revolute", axis=0, friction=1.0, armature=1.0), **PAGE)

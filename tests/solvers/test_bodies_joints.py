"""Joints of bodies in SolverVBD: what is locked, momentum, drives, limits, friction, armature, efforts, against known answers."""

import numpy as np
import pytest

import hooke
from hooke.model.energy import measure_energy
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, finalize

from .bodies import Dof, at, bar, coordinates, gaps, move, one_joint, same_bodies, spin_of

PLANE = [Dof(axis=0, target_ke=30.0), Dof(axis=1)]
PAIRS = {
    "ball": ("ball", {"stiffness": 2.0, "friction": 0.02}),
    "fixed": ("fixed", {}),
    "hinge": ("revolute", {"axis": (0.0, 0.6, 0.8), "friction": 0.05, "armature": 0.02, "target_ke": 5.0, "target_kd": 0.1}),
    "displaced slider": ("prismatic", {"axis": 0, "target_ke": 20.0, "target_kd": 0.1, "limit_lower": -0.4, "limit_upper": 0.4}),
    "d6": ("d6", {"linear_axes": PLANE, "angular_axes": [2, Dof(axis=0, target_ke=3.0)]}),
    "cable": ("cable", {"stretch_stiffness": 1e4, "bend_stiffness": 2.0}),
    "rod": ("rod", {}),
    "distance": ("distance", {"min_distance": 0.0, "max_distance": 0.1}),
}  # fmt: skip


def pair(kind, options, seed):
    """Two bodies that turn at random, joined by anchors away from their centres; nothing else holds them."""
    rng = np.random.default_rng(seed)
    b = hooke.ModelBuilder(gravity=0.0)
    first = b.add_link(mass=2.0, inertia=np.diag([0.1, 0.2, 0.25]), xform=at(0.0, 0.0, 0.0))
    second = b.add_link(mass=1.0, inertia=np.diag([0.05, 0.03, 0.06]), xform=at(0.6, 0.3, 0.1))
    ends = {"parent_xform": at(0.3, 0.1, 0.0), "child_xform": at(-0.3, -0.2, -0.1)}
    if kind == "rod":
        options = {"bend_stiffness": 2.0, "twist_stiffness": 1.0, "stretch_stiffness": 1e4, "shear_stiffness": 1e3}
    b.add_articulation([getattr(b, f"add_joint_{kind}")(first, second, **ends, **options)])
    model = finalize(b)
    qd = np.concatenate([0.5 * rng.normal(size=(2, 3)), 2.0 * rng.normal(size=(2, 3))], axis=1)
    model.body_qd.assign(qd.astype(np.float32))
    return model


@pytest.mark.parametrize("name", PAIRS)
def test_what_acts_between_bodies_changes_no_momentum(name):
    """Over a thousand steps, with drives, friction, armature and limits; relative to where the joint has begun to act."""
    model = pair(*PAIRS[name], seed=len(name))
    motion = move(model, 3, 1.0 / 200.0)
    spin, linear = spin_of(motion)
    motion = move(model, 1000, 1.0 / 200.0, state=motion.state, solver=motion.solver)
    after = spin_of(motion)
    assert np.linalg.norm(after[0] - spin) < 1e-4 * np.linalg.norm(spin)
    assert np.linalg.norm(after[1] - linear) < 1e-4 * np.linalg.norm(linear)


LOCKED = {
    "ball": {}, "fixed": {}, "revolute": {"axis": (0.0, 0.6, 0.8)}, "prismatic": {"axis": (0.0, 0.6, 0.8), "target_ke": 30.0},
    "d6": {"linear_axes": [1], "angular_axes": [1, 2]},
}  # fmt: skip


@pytest.mark.parametrize("kind", LOCKED)
def test_locked_motions_stay_locked(kind):
    """A heavy body on a joint that swings: where its coordinates put it is where it is."""
    model = one_joint(kind, gravity=-GRAVITY, mass=5.0, length=0.4, **LOCKED[kind])
    motion = move(model, 200, 1.0 / 100.0)
    state = model.state()
    hooke.eval_ik(model, motion.state, state.joint_q, state.joint_qd)
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    assert np.allclose(state.body_q.numpy()[0], motion.q[0], atol=3e-6)
    assert kind == "fixed" or np.abs(motion.qd).max() > 0.1


@pytest.mark.parametrize("degrees", [10.0, 30.0, 60.0, 90.0])
def test_a_pendulum_keeps_its_period(degrees):
    """A rod about its end; amplitudes decay by backward Euler's (1 + omega^2 dt^2)^(-1/2) per step."""
    angle, dt = np.radians(degrees), 1.0 / 1000.0
    b = hooke.ModelBuilder()
    link = bar(b, (0.5, 0.0, 0.0), 1.0, thick=0.05)
    b.add_articulation([b.add_joint_revolute(-1, link, axis=(0, 1, 0), child_xform=at(-0.5, 0.0, 0.0))])
    model = finalize(b)
    model.joint_q.assign([np.float32(np.pi / 2 - angle)])
    state = model.state()
    hooke.eval_fk(model, model.joint_q, model.joint_qd, state)
    x = []
    move(model, 2800, dt, state=state, each=lambda n, s: x.append(float(s.body_q.numpy()[0, 0])))
    x = np.array(x)
    cross = np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0))
    moment = float(model.body_inertia.numpy()[0, 1, 1]) + 0.25
    omega = np.sqrt(GRAVITY * 0.5 / moment)
    factor = {10.0: 1.001907, 30.0: 1.017409, 60.0: 1.073182, 90.0: 1.180341}[degrees]  # (2/pi) K(sin(angle/2))
    period = 2.0 * np.pi / omega * factor
    when = [dt * (k + x[k] / (x[k] - x[k + 1])) for k in cross[:2]]
    assert when[1] - when[0] == pytest.approx(period, rel=3e-3 if degrees < 20.0 else 0.01)  # a large swing becomes a smaller one
    if degrees < 20.0:
        half = 0.5 * period / dt
        swing = -x[cross[0] : cross[1]].min(), x[cross[0] : cross[1]].max()
        assert swing[1] / swing[0] == pytest.approx((1.0 + (omega * dt) ** 2) ** (-0.5 * half), rel=2e-3)


def test_a_double_pendulum_follows_the_equations_of_motion():
    """Two point-like bobs on massless arms, against a fine integration in float64."""
    b = hooke.ModelBuilder()
    one = b.add_link(xform=at(1.0, 0.0, 0.0), mass=1.0, inertia=1e-6 * np.eye(3))
    two = b.add_link(xform=at(2.0, 0.0, 0.0), mass=0.5, inertia=1e-6 * np.eye(3))
    arm = {"axis": (0, 1, 0), "child_xform": at(-1.0, 0.0, 0.0)}
    b.add_articulation([b.add_joint_revolute(-1, one, **arm), b.add_joint_revolute(one, two, **arm)])
    dt, n = 1.0 / 2000.0, 2000
    motion = move(finalize(b), n, dt)

    def rate(y):
        t1, t2, w1, w2 = y
        d = t1 - t2
        m = np.array([[1.5, 0.5 * np.cos(d)], [0.5 * np.cos(d), 0.5]])
        f = [-0.5 * w2**2 * np.sin(d) - 1.5 * GRAVITY * np.sin(t1), 0.5 * w1**2 * np.sin(d) - 0.5 * GRAVITY * np.sin(t2)]
        return np.array([w1, w2, *np.linalg.solve(m, f)])

    y = np.array([np.pi / 2, np.pi / 2, 0.0, 0.0])
    for _ in range(n):
        k1 = rate(y)
        k2 = rate(y + dt / 2 * k1)
        k3 = rate(y + dt / 2 * k2)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + dt * k3))
    first = np.array([np.sin(y[0]), 0.0, -np.cos(y[0])])
    assert np.allclose(motion.q[0, :3], first, atol=0.03)
    assert np.allclose(motion.q[1, :3], first + [np.sin(y[1]), 0.0, -np.cos(y[1])], atol=0.03)


def test_a_conical_pendulum_stays_on_its_cone():
    """cos(theta) = g / (omega^2 L)."""
    length, theta, dt = 1.0, 0.6, 1.0 / 1000.0
    omega = np.sqrt(GRAVITY / (length * np.cos(theta)))
    b = hooke.ModelBuilder()
    x = (length * np.sin(theta), 0.0, -length * np.cos(theta))
    link = b.add_link(xform=at(*x), mass=1.0, inertia=1e-5 * np.eye(3))
    b.add_articulation([b.add_joint_ball(-1, link, child_xform=at(*(-np.array(x))))])
    model = finalize(b)
    model.body_qd.assign(np.array([[0.0, omega * x[0], 0.0, 0.0, 0.0, omega]], np.float32))
    height = []
    move(model, int(2.0 * np.pi / omega / dt), dt, each=lambda n, s: height.append(float(s.body_q.numpy()[0, 2])))
    assert np.abs(np.array(height) - x[2]).max() < 0.01


def test_drives_hold_against_a_load():
    """The offset is the load over the stiffness; a damper gives the speed load over damping."""
    slider = one_joint("prismatic", axis=0, target_ke=1000.0, target_kd=50.0, target_q=0.3)
    hinge = one_joint("revolute", axis=2, target_ke=40.0, target_kd=2.0, target_q=-0.2)
    speed = one_joint("revolute", axis=2, target_kd=2.0, target_qd=1.5)
    for model, effort, index, wanted in ((slider, 20.0, 0, 0.32), (hinge, 4.0, 0, -0.1), (speed, 1.0, 1, 2.0)):
        control = model.control()
        control.joint_f.assign([effort])
        assert coordinates(move(model, 400, 1.0 / 100.0, control=control))[index][0] == pytest.approx(wanted, abs=2e-5)


def test_a_spring_damper_is_that_of_backward_euler():
    k, c, m, h = 50.0, 1.5, 2.0, 1.0 / 60.0
    model = one_joint("prismatic", mass=m, axis=(0, 0, 1), stiffness=k, damping=c, gravity=-GRAVITY, armature=0.5)
    found = []
    motion = move(model, 60, h, each=lambda n, s: found.append(float(s.body_q.numpy()[0, 2])))
    x, v = 0.0, 0.0
    for n in range(60):
        v = ((m + 0.5) * v + h * (-m * GRAVITY - k * x)) / (m + 0.5 + h * c + h * h * k)
        x += h * v
        assert found[n] == pytest.approx(x, abs=2e-6)
    assert motion.qd[0, 2] == pytest.approx(v, abs=1e-4)


def test_drives_stop_at_their_largest_effort():
    """A drive far from its target pushes with that effort; near it, it holds without chatter."""
    options = {"axis": 0, "target_ke": 1e5, "target_kd": 1e5, "target_q": 1.0, "effort_limit": 3.0, "mass": 2.0}
    model = one_joint("prismatic", **options)
    assert coordinates(move(model, 50, 0.01))[1][0] == pytest.approx(1.5 * 0.5, rel=1e-3)
    assert coordinates(move(model, 900, 0.01))[0][0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("kind", "offset"), [("prismatic", 0.2), ("revolute", 0.3)])
def test_limits_hold(kind, offset):
    """Stiff ones like a wall; soft ones give way by load over stiffness. A drive beyond does not get there."""
    for ke, depth in ((1e12, 0.0), (1e4, 100.0 / 1e4)):
        model = one_joint(kind, axis=2, limit_lower=-0.1, limit_upper=offset, limit_ke=ke, limit_kd=20.0)
        control = model.control()
        control.joint_f.assign([100.0])
        q = []

        def each(n, state, q=q):
            q.append(float(state.body_q.numpy()[0, 2]) if kind == "prismatic" else 2 * np.arcsin(state.body_q.numpy()[0, 5]))

        move(model, 300, 0.01, control=control, each=each)
        assert q[-1] == pytest.approx(offset + depth, abs=2e-5) and np.ptp(q[-20:]) < 1e-5
        assert max(q) < offset + depth + (2e-5 if ke > 1e6 else 0.1)
    model = one_joint(
        kind, axis=2, limit_lower=-0.1, limit_upper=offset, limit_ke=1e5, target_ke=500.0, target_kd=20.0, target_q=2.0
    )
    assert coordinates(move(model, 300, 0.01))[0][0] == pytest.approx(offset, abs=1e-4)


def test_angles_are_counted_over_turns():
    """A drive to three turns and a limit at minus four radians."""
    model = one_joint("revolute", axis=2, target_ke=100.0, target_kd=20.0, target_q=6.0 * np.pi)
    turns = []
    move(model, 600, 0.01, each=lambda n, s: turns.append(float(s.body_qd.numpy()[0, 5]) * 0.01))
    assert sum(turns) == pytest.approx(6.0 * np.pi, abs=0.02)
    model = one_joint("revolute", axis=2, limit_lower=-4.0, limit_upper=4.0, limit_ke=1e6)
    control = model.control()
    control.joint_f.assign([-1.0])
    turns.clear()
    move(model, 300, 0.01, control=control, each=lambda n, s: turns.append(float(s.body_qd.numpy()[0, 5]) * 0.01))
    assert sum(turns) == pytest.approx(-4.0, abs=1e-3)


def test_dry_friction_sticks_below_its_load_and_slides_above():
    for load, wanted in ((1.9, 0.0), (3.0, 0.5)):
        model = one_joint("prismatic", axis=0, friction=2.0, mass=2.0)
        control = model.control()
        control.joint_f.assign([load])
        motion = move(model, 100, 0.01, control=control)
        assert motion.qd[0, 0] == pytest.approx(wanted, abs=2e-3)
    control.joint_f.assign([0.0])
    motion = move(model, 60, 0.01, control=control, state=motion.state, solver=motion.solver)
    assert abs(motion.qd[0, 0]) < 1e-4  # it has come to rest, and stays


def test_efforts_are_conjugate_to_velocities():
    """The power of joint_f is the rate of the kinetic energy: on a slider, a hinge, a D6 and a ball, with a moving parent."""
    kinds = {
        "prismatic": {"axis": (0.6, 0.8, 0.0)}, "revolute": {"axis": (0.0, 0.6, 0.8)}, "ball": {},
        "d6": {"linear_axes": [0], "angular_axes": [1, 2]},
    }  # fmt: skip
    for kind, options in kinds.items():
        model = one_joint(kind, parent=True, length=0.3, inertia=(0.05, 0.1, 0.08), **options)
        control = model.control()
        control.joint_f.assign(np.linspace(1.0, 2.0, len(model.joint_f)).astype(np.float32))
        motion = move(model, 40, 1.0 / 2000.0, control=control)
        work, last, start = 0.0, None, 0.0
        for _ in range(100):
            before = coordinates(motion)[1]
            energy = measure_energy(model, motion.state).kinetic if last is None else last
            start = energy if last is None else start
            motion = move(model, 1, 1.0 / 2000.0, control=control, state=motion.state, solver=motion.solver)
            after = coordinates(motion)[1]
            work += control.joint_f.numpy() @ (before + after) / 4000.0
            last = measure_energy(model, motion.state).kinetic
        assert last - start == pytest.approx(work, rel=5e-3)


def test_joints_can_be_switched_off_and_on():
    model = one_joint("ball", gravity=-GRAVITY, length=0.3)
    motion = move(model, 20, 0.01)
    assert gaps(motion)[0] < 1e-5
    model.joint_enabled.assign([False])
    motion = move(model, 20, 0.01, state=motion.state, solver=motion.solver)
    off = gaps(motion)[0]
    assert off > 0.01
    model.joint_enabled.assign([True])
    motion = move(model, 200, 0.01, state=motion.state, solver=motion.solver)
    assert gaps(motion)[0] < 0.01 * off  # five per cent of an error are left to every step


def test_soft_slots_give_way_by_their_stiffness():
    """By attribute or at run time; hard ones do not, with one multiplier less the other way."""
    b = hooke.ModelBuilder()
    SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
    link = b.add_link(mass=2.0, inertia=0.1 * np.eye(3))
    b.add_articulation([b.add_joint_fixed(-1, link, custom_attributes={"vbd:joint_is_hard": 0})])
    model = finalize(b)
    options = {"rigid_joint_linear_ke": 1e4, "rigid_joint_linear_kd": 1e3}
    motion = move(model, 200, 0.01, **options)
    assert motion.q[0, 2] == pytest.approx(-2.0 * GRAVITY / 1e4, rel=1e-3)
    motion.solver.set_joint_constraint_mode(0, True)
    motion = move(model, 400, 0.01, state=motion.state, solver=motion.solver)
    assert abs(motion.q[0, 2]) < 1e-6
    motion.solver.set_joint_constraint_mode(0, False, SolverVBD.JointSlot.LINEAR)
    motion = move(model, 200, 0.01, state=motion.state, solver=motion.solver)
    assert motion.q[0, 2] == pytest.approx(-2.0 * GRAVITY / 1e4, rel=1e-3)


def test_wrong_slots_are_refused():
    model = one_joint("ball")
    solver = SolverVBD(model)
    for joint, slot in ((1, None), (-1, None), (0, SolverVBD.JointSlot.ANGULAR), (0, 2)):
        with pytest.raises(ValueError, match="set_joint_constraint_mode: "):
            solver.set_joint_constraint_mode(joint, False, slot)


def test_a_child_follows_a_spinning_kinematic_parent():
    b = hooke.ModelBuilder(gravity=0.0)
    hand = b.add_link(is_kinematic=True)
    b.add_joint_free(hand)
    link = b.add_link(xform=at(0.5, 0.0, 0.0), mass=3.0, inertia=0.1 * np.eye(3))
    b.add_articulation([0, b.add_joint_fixed(hand, link, parent_xform=at(0.5, 0.0, 0.0))])
    model = finalize(b)
    solver, state, other = SolverVBD(model), model.state(), model.state()
    for n in range(100):
        angle = 0.05 * n
        for s in (state, other):
            q = s.body_q.numpy()
            q[0] = (0.0, 0.0, 0.0, 0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2))
            s.body_q.assign(q)
        solver.step(state, other, None, None, 0.01)
        state, other = other, state
    x = state.body_q.numpy()[1, :3]
    assert np.allclose(x, (0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.0), atol=1e-5)
    assert np.allclose(state.body_qd.numpy()[1, 3:], (0.0, 0.0, 5.0), atol=1e-3)


@pytest.mark.filterwarnings("ignore:SolverVBD")
@pytest.mark.parametrize("alm", [True, False], ids=["default", "page"])
def test_states_in_are_never_written(alm):
    model = pair(*PAIRS["hinge"], seed=1)
    state, other = model.state(), model.state()
    twin = state.clone()
    SolverVBD(model, rigid_compliant_alm=alm).step(state, other, None, None, 0.01)
    assert same_bodies(state, twin) and not same_bodies(state, other)


def test_a_ball_is_driven_to_an_orientation_and_sprung_to_its_rest():
    half = np.sqrt(0.5)
    for ke, stiffness, wanted in ((200.0, 0.0, (half, 0.0, 0.0, half)), (0.0, 50.0, (0.0, half, 0.0, half))):
        model = one_joint("ball", stiffness=stiffness, damping=20.0)
        model.joint_target_ke.fill_(ke)
        model.joint_target_q.assign([half, 0.0, 0.0, half])
        model.joint_rest_q.assign([0.0, half, 0.0, half])
        assert np.allclose(move(model, 300, 0.01).q[0, 3:], wanted, atol=1e-3)


def test_a_bearing_without_motion_of_its_own_takes_what_is_left():
    """A stuck hinge that also rests on its limit, and a drive that is saturated against both."""
    model = one_joint("revolute", axis=2, limit_lower=-1.0, limit_upper=0.0, limit_ke=1e8, friction=5.0, target_ke=1e6, target_q=3.0,
                      effort_limit=20.0)  # fmt: skip
    control = model.control()
    control.joint_f.assign([30.0])
    turns = []
    run = move(model, 50, 0.01, control=control, each=lambda n, s: turns.append(float(s.body_q.numpy()[0, 5])))
    assert np.abs(turns).max() < 1e-5
    control.joint_f.assign(
        [-22.0]
    )  # the friction and nothing else holds now: the drive stays at its limit, aimed at the upper bound
    run = move(model, 50, 0.01, control=control, state=run.state, solver=run.solver)
    assert coordinates(run)[0][0] > -2e-4

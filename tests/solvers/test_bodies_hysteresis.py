"""Dahl hysteresis of cables and rods: its closed forms, in any plane, and what clears it."""

import numpy as np
import pytest

import hooke
from hooke.model.energy import measure_energy
from hooke.solvers import SolverVBD
from tests.support import finalize

from .bodies import at, bar, move, same_bodies, spin_of

KE, EPS, TAU = 2.0, 0.3, 0.2
MOST = KE * EPS
PAGE = {"rigid_compliant_alm": False}


def wire(kind="cable", eps=EPS, tau=TAU, drive=None, inertia=1e-4, **options):
    """A body held at its centre by a cable (or rod) to the world, and by a hinge about Y with a drive of stiffness ``drive``."""
    b = hooke.ModelBuilder(gravity=0.0)
    SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
    link = b.add_link(mass=1.0, inertia=inertia * np.eye(3))
    given = {"custom_attributes": {"vbd:dahl_eps_max": eps, "vbd:dahl_tau": tau}, "bend_stiffness": KE, **options}
    if kind == "rod":
        given |= {"twist_stiffness": KE, "stretch_stiffness": 1e5, "shear_stiffness": 1e5}
    b.add_articulation([getattr(b, f"add_joint_{kind}")(-1, link, **given)])
    if drive:
        b.add_joint_revolute(-1, link, axis=(0, 1, 0), target_ke=drive, target_kd=0.01 * drive)
    return finalize(b)


def angle(q):
    """The rotation vector of a pose."""
    v, w = q[3:6].astype(np.float64) * np.copysign(1.0, q[6]), abs(float(q[6]))
    size = np.linalg.norm(v)
    return 2.0 * np.arctan2(size, w) * v / max(size, 1e-30)


def branch(k, k0, s0, most=MOST):
    """The stress after a straight way from k0."""
    side = np.sign(k - k0)
    return side * most - (side * most - s0) * np.exp(-np.abs(k - k0) / TAU)


@pytest.mark.parametrize("steps", [400, 60])
@pytest.mark.parametrize("kind", ["cable", "rod"])
def test_a_loop_has_its_height_and_its_work(kind, steps):
    """At an amplitude A the stress is sigma_max tanh(A / tau), the work of a cycle 4 sigma_max (A - tau tanh(A / tau))."""
    drive, model = 20.0, wire(kind, drive=20.0)
    control, solver, state, other = model.control(), SolverVBD(model), model.state(), model.state()
    k, moment = [], []
    for n in range(3 * steps + 1):
        target = 0.6 * np.sin(2.0 * np.pi * n / steps)
        control.joint_target_q.assign([*np.zeros(len(control.joint_target_q) - 1), target])
        solver.step(state, other, control, None, 0.1)
        state, other = other, state
        found = angle(state.body_q.numpy()[0])[1]
        speed = 0.0 if not k else (found - k[-1]) / 0.1
        k.append(found)
        moment.append(drive * (target - found) - 0.01 * drive * speed)
    strain = np.array(k) if kind == "cable" else 2.0 * np.tan(np.array(k) / 2.0)
    stretch = np.ones(len(k)) if kind == "cable" else 1.0 / np.cos(np.array(k) / 2.0) ** 2  # of the strain by the angle
    stress = np.array(moment) / stretch - KE * strain
    a = np.ptp(strain[2 * steps :]) / 2.0
    assert stress[2 * steps :].max() == pytest.approx(MOST * np.tanh(a / TAU), rel=5e-3)
    cycle = slice(2 * steps, 3 * steps + 1)
    inside = 0.5 * (stress[cycle][1:] + stress[cycle][:-1]) @ np.diff(strain[cycle])
    assert inside == pytest.approx(4.0 * MOST * (a - TAU * np.tanh(a / TAU)), rel=2e-3 if steps > 100 else 0.03)
    turn = int(np.argmax(strain[: steps // 2]))  # the first branch, and the one that unloads, point by point
    assert np.allclose(stress[2:turn], branch(strain[2:turn], 0.0, 0.0), atol=2e-3 * MOST)
    back = slice(turn + 1, turn + steps // 2)
    assert np.allclose(stress[back], branch(strain[back], strain[turn], branch(strain[turn], 0.0, 0.0)), atol=4e-3 * MOST)


def twisted(kind, axis, load=1.0, **options):
    """Strains under a moment that grows about an axis, turns round and vanishes; with their stress."""
    model = wire(kind, bend_damping=0.5, inertia=2e-2)
    solver, state, other = SolverVBD(model, **options), model.state(), model.state()
    axis = np.asarray(axis, np.float64) / np.linalg.norm(axis)
    found = []
    for n in range(240):
        size = load * (n / 100.0 if n < 100 else max(0.0, 2.0 - n / 100.0))
        for s in (state, other):
            s.body_f.assign([(0.0, 0.0, 0.0, *(size * axis))])
        solver.step(state, other, None, None, 0.05)
        state, other = other, state
        found.append(angle(state.body_q.numpy()[0]))
    return np.array(found), axis


@pytest.mark.parametrize("options", [{}, PAGE], ids=["default", "page"])
def test_what_is_left_after_unloading(options):
    """K k + sigma(k) = 0; the page's form lags by a step."""
    found, axis = twisted("cable", (1.0, 0.0, 0.0), **options)
    k = found @ axis
    most, left = k.max(), k[-1]
    assert most > 0.2
    assert KE * left + branch(left, most, branch(most, 0.0, 0.0)) == pytest.approx(0.0, abs=0.01 if options else 1e-3)
    assert left > 0.02


@pytest.mark.parametrize(("kind", "twists"), [("cable", True), ("rod", False)])
def test_planes_of_bending_are_alike(kind, twists):
    """Hysteresis does not know the axes of the cross-section; that of a rod leaves twisting alone."""
    first = np.linalg.norm(twisted(kind, (1.0, 0.0, 0.0))[0], axis=1)
    for axis in ((1.0, 1.0, 0.0), (0.3, -0.9, 0.0)):
        found, axis = twisted(kind, axis)
        assert np.allclose(found @ axis, np.linalg.norm(found, axis=1), atol=1e-4)
        assert np.allclose(np.linalg.norm(found, axis=1), first, atol=1e-4)
    twist = twisted(kind, (0.0, 0.0, 1.0))[0][:, 2]
    assert np.allclose(twist, first, atol=1e-4) if twists else twist[-1] == pytest.approx(0.0, abs=1e-3)


def test_the_page_is_explicit():
    """One angle, step by step: the moment of a step is the stress at its start, which follows exactly afterwards."""
    dt, inertia, kd = 0.02, 2e-2, 0.05
    model = wire(bend_damping=kd, inertia=inertia)
    solver, state, other = SolverVBD(model, iterations=40, **PAGE), model.state(), model.state()
    k, before, rate, stress, side = 0.0, 0.0, 0.0, 0.0, 1.0
    for n in range(200):
        load = 1.5 * np.sin(0.15 * n)
        for s in (state, other):
            s.body_f.assign([(0.0, 0.0, 0.0, 0.0, load, 0.0)])
        solver.step(state, other, None, None, dt)
        state, other = other, state
        target = k + 2.0 * np.arctan(0.5 * dt * (rate + dt * load / inertia))
        before, held = k, np.clip(stress, -MOST, MOST)
        k = (inertia / dt**2 * target - held + kd / dt * before) / (inertia / dt**2 + KE + kd / dt)
        side = np.sign(k - before) if abs(k - before) > 1e-6 else side
        fade = np.exp(-side * (k - before) / TAU)
        stress = side * MOST * (1.0 - fade) + stress * fade
        rate = (k - before) / dt
        assert angle(state.body_q.numpy()[0])[1] == pytest.approx(k, abs=2e-5)
    assert abs(k) < 1.5


def test_the_page_differs_between_planes():
    """Component by component: of a bend at 45 degrees each component has its own limit."""
    first = twisted("cable", (1.0, 0.0, 0.0), **PAGE)[0]
    other = twisted("cable", (1.0, 1.0, 0.0), **PAGE)[0]
    assert abs(np.linalg.norm(other[99]) - np.linalg.norm(first[99])) > 0.01


def bent(model, **options):
    """A run that ends bent, with stress in it."""
    motion = move(model, 60, 0.05, body_f=[(0.0, 0.0, 0.0, 0.5, 1.0, 0.0)], **options)
    motion.state.body_f.zero_()
    motion.state.body_qd.zero_()
    return motion


def first_step(model, state, **options):
    """The step of a solver that has seen nothing."""
    start = state.clone()
    return move(model, 1, 0.05, state=start, **options).state


@pytest.mark.parametrize("options", [{}, PAGE], ids=["default", "page"])
@pytest.mark.parametrize("how", ["nothing", "reset", "disabled", "hard"])
def test_what_clears_the_stress(how, options):
    """After a reset the pose at the start of the next step is where it is measured from."""
    model = wire(bend_damping=0.5, inertia=2e-2)
    run = bent(model, **options)
    if how == "reset":
        run.solver.reset(run.state, flags=0)
    if how == "disabled":
        model.joint_enabled.assign([False])
        run = move(model, 1, 0.05, state=run.state, solver=run.solver)
        model.joint_enabled.assign([True])
    if how == "hard":
        run.solver.set_joint_constraint_mode(0, True, SolverVBD.JointSlot.BEND)
        run = move(model, 1, 0.05, state=run.state, solver=run.solver)
        run.solver.set_joint_constraint_mode(0, False, SolverVBD.JointSlot.BEND)
        run.state.body_qd.zero_()
    fresh = first_step(model, run.state, **options)
    went_on = move(model, 1, 0.05, state=run.state, solver=run.solver).state
    gap = np.abs(fresh.body_q.numpy() - went_on.body_q.numpy()).max()
    assert gap > 1e-3 if how == "nothing" else gap < 1e-6


def test_a_reset_moves_the_rest_of_the_stress_to_the_next_pose():
    """Edits between a reset and the step count: turned by a radian about Z, the wire starts there without stress."""
    model = wire(bend_damping=0.5, inertia=2e-2)
    run = bent(model)
    run.solver.reset(run.state)
    run.state.body_q.assign([(0.0, 0.0, 0.0, 0.0, 0.0, np.sin(0.5), np.cos(0.5))])
    expected = first_step(model, run.state)
    assert same_bodies(move(model, 1, 0.05, state=run.state, solver=run.solver).state, expected)


def swinging(eps, tau, **options):
    """Energy over time of ten links on cables that swing, and their largest strain of all steps."""
    b = hooke.ModelBuilder(gravity=-9.81)
    SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
    joints, parent = [], -1
    for i in range(10):
        link = bar(b, ((i + 0.5) * 0.1, 0.0, 0.0), 0.1, 0.05, 0.02)
        ends = {"parent_xform": at(0.05 if i else 0.0, 0.0, 0.0), "child_xform": at(-0.05, 0.0, 0.0)}
        given = {"vbd:dahl_eps_max": eps, "vbd:dahl_tau": tau}
        joints.append(b.add_joint_cable(parent, link, bend_stiffness=1.0, stretch_stiffness=1e6, custom_attributes=given, **ends))
        parent = link
    b.add_articulation(joints)
    model = finalize(b)
    heights = []
    motion = move(model, 240, 1.0 / 120.0, each=lambda n, s: heights.append(float(s.body_q.numpy()[-1, 2])), **options)
    return np.array(heights), measure_energy(model, motion.state).kinetic


@pytest.mark.parametrize(("eps", "tau"), [(1.0, 0.1), (2.0, 0.1), (2.0, 1e-3)])
def test_hysteresis_brings_a_swing_to_rest(eps, tau):
    """However stiff it is, and it holds the cable up: a stiff one nearly where it began."""
    free, kinetic = swinging(0.0, 1.0)
    height, rest = swinging(eps, tau)
    assert np.isfinite(height).all() and height.min() > free.min()
    assert rest < 0.1 * kinetic and (eps < 2.0 or height[-1] > free[-1] + 0.05)


@pytest.mark.parametrize("kind", ["cable", "rod"])
def test_hysteresis_changes_no_momentum(kind):
    """Between two bodies that tumble freely; and it takes energy."""
    energy = []
    for eps in (0.0, 0.5):
        b = hooke.ModelBuilder(gravity=0.0)
        SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
        links = [bar(b, (0.5 + i, 0.0, 0.0), 1.0) for i in range(2)]
        given = {
            "custom_attributes": {"vbd:dahl_eps_max": eps, "vbd:dahl_tau": 0.2},
            "bend_stiffness": 3.0,
            "stretch_stiffness": 1e5,
        }
        given |= {"twist_stiffness": 1.0, "shear_stiffness": 1e5} if kind == "rod" else {}
        ends = {"parent_xform": at(0.5, 0.0, 0.0), "child_xform": at(-0.5, 0.0, 0.0)}
        b.add_articulation([getattr(b, f"add_joint_{kind}")(*links, **ends, **given)])
        model = finalize(b)
        model.body_qd.assign([(0.5, -0.1, 0.0, 0.3, -1.0, 0.2), (0.5, 0.1, 0.0, 0.3, 1.0, 0.2)])
        motion = move(model, 3, 1.0 / 200.0)
        spin, linear = spin_of(motion)
        motion = move(model, 400, 1.0 / 200.0, state=motion.state, solver=motion.solver)
        after = spin_of(motion)
        assert np.linalg.norm(after[0] - spin) < 1e-4 * np.linalg.norm(spin)
        assert np.linalg.norm(after[1] - linear) < 1e-4 * np.linalg.norm(linear)
        energy.append(measure_energy(model, motion.state).kinetic)
    assert energy[1] - 0.25 < 0.9 * (energy[0] - 0.25)  # less that of the motion as a whole


def test_a_loaded_joint_at_rest_does_not_creep():
    """Noise below the deadband does not unload it."""
    model = wire(bend_damping=0.5, inertia=1e-2)
    run = move(model, 300, 0.02, body_f=[(0.0, 0.0, 0.0, 0.8, 0.3, 0.0)])
    before = run.q[0].copy()
    run = move(model, 2000, 0.02, state=run.state, solver=run.solver, body_f=[(0.0, 0.0, 0.0, 0.8, 0.3, 0.0)])
    assert np.abs(run.q[0] - before).max() < 2e-5


def test_values_are_checked_and_those_without_effect_change_nothing():
    with pytest.raises(ValueError, match=r"vbd:dahl_tau >= 0 and finite, found -1.0 at joint 'joint_1' \(index 0\)"):
        SolverVBD(wire(tau=-1.0))
    assert same_bodies(bent(wire(eps=0.0)).state, bent(wire(tau=0.0)).state)
    assert not same_bodies(bent(wire()).state, bent(wire(tau=0.0)).state)


def test_values_are_read_in_every_step():
    """Switched on in place, it acts from there: the strain so far left no stress."""
    found = []
    for eps in (EPS, 0.0):
        model = wire(eps=0.0, bend_damping=0.5, inertia=2e-2)
        run = bent(model)
        model.vbd.dahl_eps_max.fill_(eps)
        found.append(move(model, 300, 0.05, state=run.state, solver=run.solver).q[0])
    assert np.linalg.norm(found[1][3:6]) < 1e-5 and np.linalg.norm(found[0][3:6]) > 0.02

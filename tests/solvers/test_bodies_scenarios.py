"""Scenarios of joints with the bounds of section 10.2 of the notes on augmented VBD, in both formulations; and steps to the letter."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import quat_rotate
from hooke.solvers import SolverVBD
from tests.support import finalize

from .bodies import Dof, at, bar, coordinates, gaps, move, spin_of

DT = 1.0 / 600.0
FORMULATIONS = pytest.mark.parametrize("options", [{}, {"rigid_compliant_alm": False}], ids=["default", "page"])
HELD = {
    "ball": ("ball", {}), "fixed": ("fixed", {}), "revolute": ("revolute", {"axis": (0, 1, 0)}),
    "prismatic": ("prismatic", {"axis": (0, 0, 1), "target_ke": 500.0, "target_kd": 20.0}), "d6 locked": ("d6", {}),
    "d6 free along z": ("d6", {"linear_axes": [Dof(axis=2, target_ke=500.0, target_kd=20.0)]}),
}  # fmt: skip


def held(name, path, steps, options, length=0.2, **more):
    """A bar on a joint to a hand that moves as ``path(t)`` says; returns the last motion."""
    kind, settings = HELD[name]
    b = hooke.ModelBuilder()
    hand = b.add_link(is_kinematic=True)
    link = bar(b, (length, 0.0, 0.0), 2.0 * length, mass=0.5)
    free = b.add_joint_free(hand)
    b.add_articulation([free, getattr(b, f"add_joint_{kind}")(hand, link, child_xform=at(-length, 0.0, 0.0), **settings)])
    model = finalize(b)
    solver, state, other = SolverVBD(model, **options, **more), model.state(), model.state()
    for n in range(steps):
        q = state.body_q.numpy()
        q[0] = path((n + 1) * DT)
        state.body_q.assign(q)
        solver.step(state, other, None, None, DT)
        state, other = other, state
    return move(model, 0, 1.0, state=state, solver=solver)


def relative(motion):
    """Where the end of the bar is, seen from the hand, and the angle [rad] between both."""
    q = motion.q
    end = q[1, :3] + quat_rotate(q[1:2, 3:], np.array([[-0.2, 0.0, 0.0]]))[0] - q[0, :3]
    back = quat_rotate(q[0:1, 3:] * (-1.0, -1.0, -1.0, 1.0), end[None])[0]
    return back, 2.0 * np.arccos(min(1.0, abs(float(q[0, 3:] @ q[1, 3:]))))


@FORMULATIONS
@pytest.mark.parametrize("name", HELD)
def test_what_hangs_on_a_hand_that_is_shaken(name, options):
    """5 cm at 1.5 Hz: anchors to 1 mm (across the axis of a slider 2 mm), rotations that are locked to 0.02 (0.05 of a slider)."""
    end, angle = relative(held(name, lambda t: at(0.05 * np.sin(3.0 * np.pi * t), 0.0, 0.0), 300, options))
    slides = name in ("prismatic", "d6 free along z")
    assert np.linalg.norm(end[:2] if slides else end) < (2e-3 if slides else 1e-3)
    assert angle > 0.1 if name in ("ball", "revolute") else angle < (0.05 if slides else 0.02)
    assert not slides or -0.1 < end[2] < -1e-3


@FORMULATIONS
def test_what_is_fixed_to_a_hand_that_goes_and_turns(options):
    """0.3 m/s and 1 rad/s, 20 iterations: 1.5 cm and 0.05 rad."""
    end, angle = relative(
        held("fixed", lambda t: (0.3 * t, 0.0, 0.0, 0.0, 0.0, np.sin(t / 2), np.cos(t / 2)), 600, options, iterations=20)
    )
    assert np.linalg.norm(end) < 1.5e-2 and angle < 0.05


def axes(linear, angular):
    """A body on a D6 joint with a slide along x and a hinge about z."""
    b = hooke.ModelBuilder(gravity=0.0)
    link = b.add_link(mass=1.0, inertia=0.1 * np.eye(3))
    b.add_articulation([b.add_joint_d6(-1, link, linear_axes=[Dof(axis=0, **linear)], angular_axes=[Dof(axis=2, **angular)])])
    return finalize(b)


@FORMULATIONS
def test_both_axes_of_a_d6_joint_are_driven_and_stopped(options):
    """To 0.1 m within 0.03 and 0.4 rad within 0.15; beyond limits of 0.05 m and 0.3 rad to at most 0.07 and 0.35."""
    slide, hinge = {"target_ke": 5000.0, "target_kd": 200.0}, {"target_ke": 2000.0, "target_kd": 100.0}
    x, angle = coordinates(move(axes({**slide, "target_q": 0.1}, {**hinge, "target_q": 0.4}), 300, DT, **options))[0]
    assert x == pytest.approx(0.1, abs=0.03) and angle == pytest.approx(0.4, abs=0.15)
    slide |= {"target_q": 0.1, "limit_lower": -0.05, "limit_upper": 0.05, "limit_ke": 1e5, "limit_kd": 10.0}
    hinge |= {"target_q": 1.5, "limit_lower": -0.3, "limit_upper": 0.3, "limit_ke": 1e5, "limit_kd": 10.0}
    x, angle = coordinates(move(axes(slide, hinge), 300, DT, **options))[0]
    assert 0.04 < x < 0.07 and 0.25 < angle < 0.35


def test_three_driven_axes_of_a_d6_joint_come_to_balance():
    """Under torques about the axes of the joint: target + effort / ke for every coordinate of ``eval_ik``, to 1e-4 rad."""
    b = hooke.ModelBuilder(gravity=0.0)
    link = b.add_link(mass=1.0, inertia=np.diag([0.1, 0.15, 0.2]))
    goals, ke = np.array([0.6, -0.4, 0.8]), np.array([40.0, 60.0, 80.0])
    angular = [Dof(axis=k, target_ke=ke[k], target_kd=8.0, target_q=goals[k]) for k in range(3)]
    b.add_articulation([b.add_joint_d6(-1, link, angular_axes=angular)])
    model = finalize(b)
    control, effort = model.control(), np.array([2.0, -3.0, 4.0])
    control.joint_f.assign(effort.astype(np.float32))
    found = coordinates(move(model, 600, 0.01, control=control))[0]
    assert np.allclose(found, goals + effort / ke, atol=1e-4)


def test_the_page_predicts_a_tumbling_body_to_the_letter():
    """omega' = R (omega_B + h I^-1 (tau_B - omega_B x I omega_B)), q' = normalise(q + h/2 (omega', 0) q), and then what the way says."""
    inertia, dt = np.diag([0.03, 0.05, 0.06]), 0.01
    b = hooke.ModelBuilder(gravity=0.0)
    q0 = np.array([0.1, -0.3, 0.2, 0.9])
    q0 /= np.linalg.norm(q0)
    b.add_body(mass=2.0, inertia=inertia, xform=(0.0, 0.0, 0.0, *q0))
    model, omega, tau = finalize(b), np.array([3.0, -4.0, 5.0]), np.array([0.2, 0.1, -0.3])
    model.body_qd.assign([(0.0, 0.0, 0.0, *omega)])
    found = move(model, 1, dt, body_f=[(0.0, 0.0, 0.0, *tau)], rigid_compliant_alm=False)
    rotation = quat_rotate(np.tile(q0, (3, 1)), np.eye(3)).T
    local = rotation.T @ omega
    rate = rotation @ (local + dt * np.linalg.solve(inertia, rotation.T @ tau - np.cross(local, inertia @ local)))
    q1 = q0 + 0.5 * dt * np.concatenate([rate * q0[3] + np.cross(rate, q0[:3]), [-rate @ q0[:3]]])
    q1 /= np.linalg.norm(q1)
    assert np.allclose(found.q[0, 3:], q1, atol=1e-6)
    size = np.linalg.norm(rate)
    assert np.allclose(found.qd[0, 3:], rate * 2.0 / (size * dt) * np.arctan(0.5 * dt * size), rtol=1e-4)


@pytest.mark.parametrize("count", [1, 10])
def test_no_joint_of_the_page_makes_momentum(count):
    """Chains in space of one and ten joints that turn at random: of what a soft or hard joint exchanges nothing is lost; 200 steps."""
    rng = np.random.default_rng(count)
    b = hooke.ModelBuilder(gravity=0.0)
    links = [bar(b, (0.4 * i, 0.0, 0.0), 0.4) for i in range(count + 1)]
    ends = {"parent_xform": at(0.2, 0.0, 0.0), "child_xform": at(-0.2, 0.0, 0.0)}
    kinds = ["ball", "revolute", "fixed", "cable"]
    joints = [b.add_joint_free(links[0])]
    joints += [getattr(b, f"add_joint_{kinds[i % 4]}")(links[i], links[i + 1], **ends) for i in range(count)]
    b.add_articulation(joints)
    model = finalize(b)
    model.body_qd.assign((0.3 * rng.normal(size=(count + 1, 6))).astype(np.float32))
    before = (model.body_mass.numpy()[:, None] * model.body_qd.numpy()[:, :3]).sum(axis=0)
    motion = move(model, 200, DT, rigid_compliant_alm=False, iterations=40)
    after = (model.body_mass.numpy()[:, None] * motion.qd[:, :3]).sum(axis=0)
    assert np.abs(after - before).max() < 2e-3 * np.abs(model.body_qd.numpy()[:, :3]).sum() and gaps(motion)[1:].max() < 5e-3


@FORMULATIONS
def test_a_joint_that_is_switched_on_again_closes(options):
    """Below 1 mm while it is on, above 5 mm when it was off, and closing after that."""
    b = hooke.ModelBuilder()
    b.add_articulation([b.add_joint_ball(-1, bar(b, (0.3, 0.0, 0.0), 0.6, mass=0.5), child_xform=at(-0.3, 0.0, 0.0))])
    model, run, found = finalize(b), None, []
    for enabled in (True, False, True):
        model.joint_enabled.assign([enabled])
        more = {} if run is None else {"state": run.state, "solver": run.solver}
        run = move(model, 60, DT, **more, **options)
        found.append(gaps(run)[0])
    assert found[0] < 1e-3 and found[1] > 5e-3 and found[2] < 0.5 * found[1]


@FORMULATIONS
def test_drives_count_from_where_the_coordinates_are(options):
    """A hinge that begins at 0.5 rad and is driven to 0.8 rad ends there."""
    b = hooke.ModelBuilder(gravity=0.0)
    link = bar(b, (0.3, 0.0, 0.0), 0.6)
    b.add_articulation([b.add_joint_revolute(-1, link, axis=2, child_xform=at(-0.3, 0.0, 0.0), target_ke=200.0, target_kd=20.0)])
    model = finalize(b)
    model.joint_q.assign([0.5])
    hooke.eval_fk(model, model.joint_q, model.joint_qd, model)
    model.joint_target_q.assign([0.8])
    run = move(model, 600, DT, **options)
    assert coordinates(run)[0][0] == pytest.approx(0.8, abs=1e-3)


@FORMULATIONS
def test_the_effort_of_a_free_joint_acts_on_its_parent(options):
    """Force and torque between the centres of mass of two bodies: what one gets the other loses, also of angular momentum."""
    b = hooke.ModelBuilder(gravity=0.0)
    first = b.add_link(mass=2.0, inertia=0.2 * np.eye(3), com=(0.1, 0.0, 0.0))
    second = b.add_link(xform=at(1.0, 0.5, 0.0), mass=1.0, inertia=0.1 * np.eye(3), com=(0.0, 0.2, 0.0))
    b.add_articulation([b.add_joint_free(first), b.add_joint_free(second, parent=first)])
    model = finalize(b)
    control = model.control()
    effort = np.array([0.0] * 6 + [1.0, -2.0, 0.5, 0.3, 0.2, -0.4], np.float32)
    control.joint_f.assign(effort)
    run = move(model, 20, DT, control=control, **options)
    assert np.allclose(run.qd[1, :3], 20 * DT * effort[6:9], atol=1e-3) and np.abs(run.qd[1, 3:]).max() > 0.05
    spin, linear = spin_of(run)
    assert np.abs(linear).max() < 5e-4 and np.abs(spin).max() < 5e-4  # velocities of the page are differences of positions

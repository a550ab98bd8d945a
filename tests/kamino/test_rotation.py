"""Gyroscopic motion, and pendulums over long times."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import quat_rotate
from hooke.solvers import SolverKamino
from tests.kamino.scenes import Run, at, builder_of, finished, pendulum

G = 9.81


def spinner(inertia, rates):
    b = builder_of(0.0)
    b.add_link(mass=1.0, inertia=np.diag(inertia))
    b.body_qd[0] = (0.0, 0.0, 0.0, *rates)
    return Run(finished(b))


def test_a_step_keeps_the_length_of_the_angular_momentum():
    """|I w| after a step is that before it, for the inertia in the world's axes that the step is taken with."""
    inertia = np.array([2.0, 3.0, 4.0])
    run = spinner(inertia, (3.0, 2.0, -1.0))
    before = inertia * run.qd[0, 3:]
    run.step(1, 0.02)
    after = inertia * run.qd[0, 3:]
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before), rel=1e-6)
    turned = before - 0.02 * np.cross([3.0, 2.0, -1.0], before)
    assert after / np.linalg.norm(after) == pytest.approx(turned / np.linalg.norm(turned), abs=1e-3)


def test_a_body_tumbles_about_its_middle_axis():
    """Dzhanibekov's: it turns over and over; energy within 1 per cent, no drift of the centre of mass."""
    inertia = np.array([1.0, 2.0, 3.0])
    run, seen = spinner(inertia, (0.01, 5.0, 0.01)), []

    def look(r):
        q = r.q[0, 3:]
        w = quat_rotate(q * [-1, -1, -1, 1], r.qd[0, 3:])
        seen.append((0.5 * inertia @ (w * w), w[1], np.linalg.norm(inertia * w)))

    run.step(10000, 1e-3, look)
    energy, middle, momentum = np.asarray(seen).T
    assert middle.min() < -4.9 and middle.max() > 4.9
    assert np.abs(energy / energy[0] - 1.0).max() < 0.01
    assert np.abs(momentum / momentum[0] - 1.0).max() < 0.01
    assert np.abs(run.q[0, :3]).max() < 1e-6


def top(tilt, spin, dt, seconds):
    """A disk on a stick with its tip in a ball joint at the origin, set going in steady precession; its mean rate."""
    mass, reach, i1, i3 = 1.0, 0.2, 0.01, 0.02
    about = i1 + mass * reach**2
    # exact: about cos(tilt) W^2 - i3 w3 W + m g l = 0
    a, b, c = about * np.cos(tilt), -i3 * spin, mass * G * reach
    rate = (-b - np.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    w = rate * np.array([0, 0, 1.0]) + (spin - rate * np.cos(tilt)) * axis
    b = builder_of()
    center = reach * axis
    body = b.add_link(xform=(*center, 0, np.sin(tilt / 2), 0, np.cos(tilt / 2)), mass=mass, inertia=np.diag([i1, i1, i3]))
    b.add_joint_ball(-1, body, parent_xform=at(0, 0, 0), child_xform=at(0, 0, -reach))
    b.body_qd[0] = (*np.cross(w, center), *w)
    run = Run(finished(b)).step(round(seconds / dt), dt)
    x = run.q[0]
    return np.arctan2(x[1], x[0]) / seconds, rate, np.hypot(x[0], x[1]) / reach


def test_a_top_precesses_at_the_rate_of_theory():
    """Within 1 per cent in steps of 1 ms, and better with smaller ones, in proportion."""
    errors = []
    for dt in (1e-3, 5e-4):
        found, expected, width = top(0.5, 100.0, dt, 1.0)
        errors.append(abs(found / expected - 1.0))
        assert width == pytest.approx(np.sin(0.5), rel=0.03)
    assert 0.5 < expected < 2.0
    assert errors[0] < 0.01 and errors[1] < 0.6 * errors[0] + 1e-4


def test_the_period_of_small_swings():
    """2 pi sqrt(2 L / (3 g)) for a rod."""
    length, dt = 1.0, 1e-3
    run, angles = Run(finished(pendulum(length, 1.0, angle=0.5 * np.pi - 0.02))), []
    run.step(6000, dt, lambda r: angles.append(r.joint_q[0] - 0.5 * np.pi))
    a = np.asarray(angles)
    rising = np.flatnonzero((a[:-1] < 0.0) & (a[1:] >= 0.0))
    times = (rising + a[rising] / (a[rising] - a[rising + 1])) * dt
    period = 2.0 * np.pi * np.sqrt(2.0 * length / (3.0 * G))
    assert np.diff(times).mean() == pytest.approx(period, rel=1e-3)
    assert np.abs(a).max() < 0.0205 and np.abs(a[-1700:]).max() > 0.0195  # neither grows nor fades


@pytest.mark.parametrize(("integrator", "share"), [("euler", 0.02), ("moreau", 0.002)])
def test_a_swinging_rod_keeps_its_energy(integrator, share):
    """Large swings, 10 s; semi-implicit Euler errs by dt, the midpoint rule by less."""
    model = finished(pendulum(1.0, 2.0))
    run, energies = Run(model, SolverKamino.Config(integrator=integrator)), []
    run.step(5000, 2e-3, lambda r: energies.append(hooke.measure_energy(model, r.state).total))
    scale = 2.0 * G * 0.5
    assert np.abs(energies).max() < share * scale
    assert np.abs(run.q[0, 1]) < 1e-5 and abs(np.linalg.norm(run.q[0, :3]) - 0.5) < 1e-6

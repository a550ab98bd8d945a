"""Bodies against known answers that need many slopes, sizes or time steps at once: one world for each, with a ground of its own.

Numbers in brackets are those of the notes on augmented VBD, section 10.1; "field report" those of the design's list.
"""

from itertools import pairwise

import numpy as np
import pytest

import hooke
from tests.solvers.bodies import at, bar, gaps, move
from tests.solvers.test_bodies_contacts import Run
from tests.support import GRAVITY, finalize, tilted

Shape = hooke.ModelBuilder.ShapeConfig


def boxes_on_slopes(cases, half=(0.2, 0.2, 0.05), density=1000.0, gravity=tilted):
    """A model with one box at rest for every case (mu, angle of the slope)."""
    b = hooke.ModelBuilder()
    for mu, angle in cases:
        b.begin_world(gravity=gravity(angle))
        b.add_ground_plane(cfg=Shape(mu=mu))
        body = b.add_body(xform=at(0.0, 0.0, half[2]))
        b.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=Shape(mu=mu, density=density))
        b.end_world()
    return finalize(b)


def check_slopes(cases, before, after, seconds, hold=1e-5):
    """It holds if and only if tan < mu, and else speeds up by g (sin - mu cos), 2 %."""
    for (mu, angle), early, late in zip(cases, before, after, strict=True):
        wanted = GRAVITY * (np.sin(angle) - mu * np.cos(angle))
        if wanted < 0.0:
            assert abs(late) < hold, (mu, np.degrees(angle))
        else:
            assert late - early == pytest.approx(wanted * seconds, rel=0.02), (mu, np.degrees(angle))


def test_the_whole_grid_of_slopes():
    """(A6; field report "friction that slides") mu 0.1 ... 0.8 and 1 by 5 ... 45 and 3, 10, 20, 30, 40 degrees, default settings."""
    cases = [(mu, np.radians(a)) for mu in (*(0.1 * np.arange(1, 9)), 1.0) for a in (3, *range(5, 50, 5))]
    cases = [(mu, angle) for mu, angle in cases if abs(np.tan(angle) / mu - 1.0) > 0.01]
    run = Run(boxes_on_slopes(cases)).step(30)
    before = run.qd[:, 0]
    check_slopes(cases, before, run.step(30).qd[:, 0], 0.5)


@pytest.mark.parametrize("dt", [1.0 / 30.0, 1.0 / 240.0, 1e-3])
def test_the_limit_of_friction_does_not_depend_on_the_step(dt):
    """(A29) Two per cent below it a box holds, two per cent above it slides."""
    cases = [(mu, np.arctan(share * mu)) for mu in (0.2, 0.8) for share in (0.98, 1.02)]
    run = Run(boxes_on_slopes(cases), dt).step(round(0.2 / dt))
    before = run.qd[:, 0]
    check_slopes(cases, before, run.step(round(0.2 / dt)).qd[:, 0], round(0.2 / dt) * dt)


@pytest.mark.parametrize(("dt", "iterations", "epsilon"), [(1 / 60, 10, 1e-2), (1 / 100, 5, 1.0), (1 / 200, 10, 1e-4)])
def test_blocks_hold_for_ten_seconds(dt, iterations, epsilon):
    """Field report: blocks of 0.1 kg at tan = 0.5 mu and 0.95 mu drift by less than 1e-5 m in the last second, whatever the settings."""
    cases = [(mu, np.arctan(share * mu)) for mu in (0.5, 1.0) for share in (0.5, 0.95)]
    model = boxes_on_slopes(cases, (0.025, 0.025, 0.025), 800.0)
    assert np.allclose(model.body_mass.numpy(), 0.1)
    run = Run(model, dt, iterations=iterations, friction_epsilon=epsilon).step(round(9.0 / dt))
    before = run.q[:, :3]
    assert np.abs(run.step(round(1.0 / dt)).q[:, :3] - before).max() < 1e-5


def test_boxes_that_slide_stop():
    """(A7; field report) 2 m/s and mu 0.2 ... 0.8: after v^2 / (2 mu g) less the v dt / 2 that a step of backward Euler takes off,
    2 %, and then not at all any more."""
    cases = [(mu, 0.0) for mu in (0.2, 0.4, 0.5, 0.7, 0.8)]
    run = Run(boxes_on_slopes(cases, (0.25, 0.25, 0.25)), 1.0 / 240.0, qd=[[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 5).step(300)
    for (mu, _angle), x in zip(cases, run.q[:, 0], strict=True):
        assert x == pytest.approx(4.0 / (2.0 * mu * GRAVITY), rel=0.02)
    assert np.abs(run.qd).max() < 1e-6


def test_a_sphere_that_slides_begins_to_roll_in_time():
    """(A8) At 2 v / (7 mu g) with 5/7 of its speed: until then it loses mu g, afterwards nothing."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=Shape(mu=0.3))
    b.add_shape_sphere(b.add_body(xform=at(0.0, 0.0, 0.1)), radius=0.1, cfg=Shape(mu=0.3))
    dt, speeds = 1e-3, []
    run = Run(finalize(b), dt, qd=[[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    run.step(300, lambda _n: speeds.append(run.qd[0, 0]))
    when = dt * (1 + np.flatnonzero(np.array(speeds) < 2.0 * 5.0 / 7.0 + 1e-3)[0])
    assert when == pytest.approx(4.0 / (7.0 * 0.3 * GRAVITY), rel=0.01)
    assert speeds[100] == pytest.approx(2.0 - 0.3 * GRAVITY * 101 * dt, rel=1e-3) and speeds[-1] == pytest.approx(
        10.0 / 7.0, rel=2e-3
    )


def test_boxes_twice_as_large_on_each_other():
    """(A23) Five boxes, each with eight times the mass of the one below: at rest from the first step on, every contact as it must be."""
    b = hooke.ModelBuilder()
    b.add_ground_plane()
    half, z = 0.05 * 2.0 ** np.arange(5), 0.0
    for h in half:
        b.add_shape_box(b.add_body(xform=at(0.0, 0.0, z + h)), hx=h, hy=h, hz=h)
        z += 2.0 * h
    run = Run(finalize(b))
    start, mass = run.q, run.model.body_mass.numpy().astype(np.float64)
    assert np.allclose(mass[1:] / mass[:-1], 8.0)
    assert np.abs(run.step(1).qd).max() < 1e-4
    run.step(60)
    assert np.abs(run.q - start).max() < 1e-5 and np.abs(run.qd).max() < 1e-4
    body0, body1, _p0, _p1, force, count = run.solver.collect_rigid_contact_forces(run.state.body_q, None, run.contacts, run.dt)
    n = int(count.numpy()[0])
    pair, load = np.stack([body0.numpy(), body1.numpy()], axis=1)[:n], np.abs(force.numpy()[:n, 2])
    for i in range(5):
        assert load[(np.sort(pair, axis=1) == (i - 1, i)).all(axis=1)].sum() == pytest.approx(mass[i:].sum() * GRAVITY, rel=0.02)


@pytest.mark.parametrize("options", [{}, {"rigid_compliant_alm": False}], ids=["default", "page"])
def test_what_is_swung_around_pulls(options):
    """(A26) A body on a soft fixed joint to a hand that spins: m omega^2 r stretches the joint by that over its stiffness."""
    ke, mass, omega, radius, dt = 2e4, 3.0, 5.0, 0.5, 1e-3
    b = hooke.ModelBuilder(gravity=0.0)
    hand = b.add_link(is_kinematic=True)
    link = b.add_link(xform=at(radius, 0.0, 0.0), mass=mass, inertia=0.1 * np.eye(3))
    b.add_articulation([b.add_joint_free(hand), b.add_joint_fixed(hand, link, parent_xform=at(radius, 0.0, 0.0))])
    model = finalize(b)
    model.body_qd.assign(np.array([[0.0] * 6, [0.0, omega * radius, 0.0, 0.0, 0.0, omega]], np.float32))
    solver = hooke.solvers.SolverVBD(model, rigid_joint_linear_ke=ke, rigid_joint_linear_kd=300.0, **options)
    solver.set_joint_constraint_mode(1, False)
    state, other = model.state(), model.state()
    for n in range(1000):
        q, angle = state.body_q.numpy(), omega * dt * (n + 1)
        q[0, 3:] = (0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2))
        state.body_q.assign(q)
        solver.step(state, other, None, None, dt)
        state, other = other, state
    found = np.linalg.norm(state.body_q.numpy()[1, :3])
    assert ke * (found - radius) == pytest.approx(mass * omega**2 * found, rel=0.02)
    angle = np.arctan2(*state.body_q.numpy()[1, 1::-1])
    assert np.angle(np.exp(1j * (angle - omega))) == pytest.approx(0.0, abs=0.02)


def test_errors_halve_with_the_step():
    """(A29) A swing of 90 degrees, half a second, against a fine integration: first order in the step."""
    y, n = np.array([0.5 * np.pi, 0.0]), 20000
    for _ in range(n):  # midpoint rule
        middle = y + 0.25 / n * np.array([y[1], -1.5 * GRAVITY / 1.0025 * np.sin(y[0])])
        y = y + 0.5 / n * np.array([middle[1], -1.5 * GRAVITY / 1.0025 * np.sin(middle[0])])
    errors = []
    for steps in (60, 120, 240):
        b = hooke.ModelBuilder()
        link = bar(b, (0.5, 0.0, 0.0), 1.0, thick=0.1)
        b.add_articulation([b.add_joint_ball(-1, link, child_xform=at(-0.5, 0.0, 0.0))])
        found = move(finalize(b), steps, 0.5 / steps)
        assert gaps(found).max() < 1e-5
        errors.append(np.hypot(found.q[0, 0] - 0.5 * np.sin(y[0]), found.q[0, 2] + 0.5 * np.cos(y[0])))
    assert np.allclose(np.array(errors[:-1]) / errors[1:], 2.0, atol=0.15)


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_a_rod_pushed_over_a_rough_floor_makes_no_energy(mu):
    """(A25) Painleve's rod: tilted against its motion, where rigid friction has no answer, it jams, hops and falls over."""
    b = hooke.ModelBuilder()
    for k, tilt in enumerate(np.radians([20.0, 35.0, 50.0, 65.0])):
        b.begin_world()
        b.add_ground_plane(cfg=Shape(mu=mu))
        rotation = (0.0, np.sin(-tilt / 2), 0.0, np.cos(-tilt / 2))
        body = b.add_body(xform=(0.0, 0.0, 0.5 * np.cos(tilt) + 0.02, *rotation))
        b.add_shape_capsule(body, radius=0.02, half_height=0.5, cfg=Shape(mu=mu))
        b.body_qd[body] = (2.0 + k, 0.0, 0.0, 0.0, 0.0, 0.0)
        b.end_world()
    run = Run(finalize(b), 1.0 / 240.0)
    mass, inertia = run.model.body_mass.numpy().astype(np.float64), run.model.body_inertia.numpy().astype(np.float64)

    def energy():
        spin = 0.5 * inertia[:, 0, 0] * (run.qd[:, 3:] ** 2).sum(axis=1)
        return mass * GRAVITY * run.q[:, 2] + 0.5 * mass * (run.qd[:, :3] ** 2).sum(axis=1) + spin

    found = [energy()]
    run.step(480, lambda _n: found.append(energy()))
    found = np.array(found)
    assert np.isfinite(found).all() and (np.diff(found, axis=0).max(axis=0) < 1e-3 * found[0]).all()
    assert np.abs(run.q[:, 2] - 0.02).max() < 5e-3  # they lie


@pytest.mark.parametrize("options", [{}, {"rigid_compliant_alm": False, "rigid_contact_history": True}], ids=["default", "page"])
def test_a_cable_without_friction_comes_to_rest(options):
    """(10.2) Dropped with a yaw: kinetic energy below 1e-3 J."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=Shape(mu=0.0))
    s, angle = 0.05 * np.arange(11), np.radians(10.0)
    points = np.stack([np.cos(angle) * s, np.sin(angle) * s, np.full(11, 0.03)], axis=1)
    b.add_rod(points, radius=0.012, cfg=Shape(mu=0.0), bend_stiffness=0.5, bend_damping=0.02, stretch_stiffness=1e5)
    model = finalize(b)
    pipeline = hooke.CollisionPipeline(model, contact_matching="latest")
    solver = hooke.solvers.SolverVBD(model, **options)
    state, other, contacts, late = model.state(), model.state(), pipeline.contacts(), []
    mass = model.body_mass.numpy().astype(np.float64)
    for n in range(400):
        pipeline.collide(state, contacts)
        solver.step(state, other, None, contacts, 1.0 / 300.0)
        state, other = other, state
        if n >= 300:
            late.append(0.5 * (mass * (state.body_qd.numpy()[:, :3] ** 2).sum(axis=1)).sum())
    assert max(late) < 1e-3 and state.body_q.numpy()[:, 2].min() > 0.012 - 2e-3


def wedge(start, end, inner, outer, half):
    """The hull of a stone between two angles of an arch in the plane y = 0."""
    directions = [np.array([np.cos(a), 0.0, np.sin(a)]) for a in (start, end)]
    return np.array([r * d + y for y in ((0.0, -half, 0.0), (0.0, half, 0.0)) for r in (inner, outer) for d in directions])


@pytest.mark.parametrize(("thickness", "stands"), [(0.3, True), (0.06, False)])
def test_an_arch_stands_if_it_is_thick_enough(thickness, stands):
    """(A25) Nine dry stones in half a circle on two springers: it stands from 0.107 of its mean radius on (Couplet, Heyman)."""
    b, edges = hooke.ModelBuilder(), np.linspace(0.0, np.pi, 10)
    b.default_shape_cfg = Shape(mu=1.0, gap=0.01)
    for x in (-1.0, 1.0):
        b.add_shape_box(-1, xform=at(x, 0.0, -0.1), hx=0.4, hy=0.3, hz=0.1)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [triangle for i, j, k, m in sides for triangle in ((i, j, k), (i, k, m))]
    for start, end in pairwise(edges):
        corners = wedge(start, end, 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness, 0.2)
        middle = corners.mean(axis=0)
        stone = b.add_body(xform=at(*middle))
        b.add_shape_convex_hull(stone, mesh=hooke.Mesh(corners - middle, np.array(faces)))
    run = Run(finalize(b), 1.0 / 120.0)
    start = run.q
    run.step(240)
    moved = np.linalg.norm(run.q[:, :3] - start[:, :3], axis=1).max()
    assert moved < 2e-3 if stands else moved > 0.2

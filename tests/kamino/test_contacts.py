"""Contacts of SolverKamino: closed forms of rest, friction, rolling, impact, compliance; what is read out."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import SolverKamino
from tests.kamino.scenes import Run, at
from tests.support import finalize

Config = SolverKamino.Config
G = 9.81


def material(mu=0.5, e=0.0, density=1000.0, **options):
    return hooke.ModelBuilder.ShapeConfig(mu=mu, restitution=e, density=density, **options)


def ground(mu=0.5, e=0.0, **options):
    """A plane z = 0."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=material(mu, e, **options))
    return b


def model_of(b, tilt=0.0):
    model = finalize(b)
    if tilt:
        model.set_gravity((G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    return model


def with_box(mu=0.5, e=0.0, z=0.1, half=(0.1, 0.1, 0.1), velocity=(0, 0, 0, 0, 0, 0), **options):
    b = ground(mu, e, **options)
    body = b.add_body(xform=at(0, 0, z))
    b.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=material(mu, e, 125.0, **options))
    b.body_qd[-1] = velocity
    return b


def with_sphere(mu=0.5, e=0.0, z=0.1, velocity=(0, 0, 0, 0, 0, 0), **options):
    b = ground(mu, e, **options)
    body = b.add_body(xform=at(0, 0, z))
    b.add_shape_sphere(body, radius=0.1, cfg=material(mu, e, **options))
    b.body_qd[-1] = velocity
    return b


def test_a_box_rests_and_its_forces_carry_it():
    model = finalize(with_box())
    solver, state, other = SolverKamino(model), model.state(), model.state()
    contacts = hooke.Contacts(20, 0, device=model.device, requested_attributes=["force"])
    for _ in range(20):
        model.collide(state, contacts)
        solver.step(state, other, None, contacts, 1e-3)
        state, other = other, state
    assert state.body_q.numpy()[0, :3] == pytest.approx([0, 0, 0.1], abs=1e-7)
    assert abs(state.body_qd.numpy()).max() < 1e-9
    assert solver.status.ok and solver.status.converged and solver.status.residual < 1e-9
    solver.update_contacts(contacts, state)
    count = int(contacts.rigid_contact_count.numpy()[0])
    weight = float(model.body_mass.numpy()[0]) * G
    total = contacts.force.numpy()[:count].sum(axis=0)
    sign = 1.0 if int(contacts.rigid_contact_shape1.numpy()[0]) == 1 else -1.0
    assert sign * total == pytest.approx([0, 0, weight, 0, 0, 0], abs=2e-4 * weight)
    assert state.body_f_total.numpy()[0] == pytest.approx([0, 0, weight, 0, 0, 0], abs=1e-4 * weight)


@pytest.mark.parametrize("angle", [0.0, 45.0])
def test_a_box_slides_its_stopping_distance_in_every_direction(angle):
    """v0^2 / (2 mu g), by semi-implicit Euler v0 dt / 2 less; the cone is round."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    run = Run(finalize(with_box(mu=0.5, velocity=(c, s, 0, 0, 0, 0)))).step(300, 1e-3)
    distance = np.hypot(*run.q[0, :2])
    assert distance == pytest.approx(1.0 / (2 * 0.5 * G) - 0.5e-3, abs=1e-4)
    assert run.q[0, :2] == pytest.approx([distance * c, distance * s], abs=1e-5)
    assert abs(run.qd).max() < 1e-9


@pytest.mark.parametrize("mu", [0.2, 0.6])
@pytest.mark.parametrize("degrees", [5.0, 11.0, 12.0, 30.0, 31.5])
def test_a_box_on_an_incline_holds_or_slides(mu, degrees):
    theta, t = np.radians(degrees), 0.2
    run = Run(model_of(with_box(mu=mu), theta)).step(200, 1e-3)
    if np.tan(theta) <= mu:
        assert abs(run.qd).max() < 1e-8
        assert abs(run.q[0, 0]) < 1e-8
    else:
        assert run.qd[0, 0] == pytest.approx(G * t * (np.sin(theta) - mu * np.cos(theta)), rel=1e-5)


def test_a_sliding_sphere_comes_to_roll():
    """At 2 v0 / (7 mu g), with 5/7 v0."""
    run = Run(finalize(with_sphere(mu=0.3, velocity=(1, 0, 0, 0, 0, 0)))).step(300, 1e-3)
    assert run.qd[0, 0] == pytest.approx(5 / 7, abs=2e-3)
    assert run.qd[0, 4] == pytest.approx(run.qd[0, 0] / 0.1, rel=1e-4)


def test_a_sphere_rolls_down_where_friction_suffices():
    theta = np.radians(25.0)
    assert np.tan(theta) < 3.5 * 0.3
    run = Run(model_of(with_sphere(mu=0.3), theta)).step(200, 1e-3)
    assert run.qd[0, 0] == pytest.approx(5 / 7 * G * np.sin(theta) * 0.2, rel=1e-4)


@pytest.mark.parametrize(("e", "after"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_impacts_reverse_the_velocity_by_the_coefficient_of_restitution(e, after):
    b = with_sphere(e=e, z=0.0999, velocity=(0, 0, -1, 0, 0, 0))
    run = Run(finalize(b)).step(1, 1e-3)
    assert run.qd[0, 2] == pytest.approx(max(after, 0.01 * (1e-4 - 1e-6) / 1e-3 if e < 1 else after), abs=1e-6)


def test_bounces_reach_what_restitution_says():
    """Apex ratio e^2; with e = 1 no energy is gained."""
    for e in (0.6, 1.0):
        run, height, apex = Run(finalize(with_sphere(e=e, z=0.6))), [], 0.5
        run.step(1700, 5e-4, lambda r, height=height: height.append(r.q[0, 2] - 0.1))
        height = np.asarray(height)
        peaks = [h for a, h, c in zip(height[:-2], height[1:-1], height[2:], strict=True) if h > a and h >= c]
        assert peaks[0] == pytest.approx(e * e * apex, rel=0.02)
        assert peaks[0] <= e * e * apex * 1.003
        if e < 1.0:
            assert peaks[1] == pytest.approx(e**4 * apex, rel=0.04)


def test_penetration_recovers_by_its_fraction():
    """v = gamma (|d| - delta) / dt, at most the recovery speed; no kinetic energy beyond."""
    options = hooke.solvers.ConstraintStabilizationConfig
    b = with_sphere(z=0.09)
    run = Run(finalize(b), Config(constraints=options(gamma=0.1))).step(1, 1e-3)
    assert run.qd[0, 2] == pytest.approx(0.1 * (0.01 - 1e-6) / 1e-3, rel=1e-4)
    run = Run(finalize(b), Config(constraints=options(contact_recovery_time=0.05))).step(1, 1e-3)
    assert run.qd[0, 2] == pytest.approx((0.01 - 1e-6) / 0.051, rel=1e-4)
    run = Run(finalize(b), Config(constraints=options(gamma=0.1, contact_recovery_speed=0.1))).step(1, 1e-3)
    assert run.qd[0, 2] == pytest.approx(0.1, rel=1e-5)


def test_contacts_that_do_not_touch_yet():
    """With speculative contacts surfaces may meet within the step, but not pass; culled ones do nothing."""
    dynamics = hooke.solvers.ConstrainedDynamicsConfig(cull_speculative_contacts=False)
    for speed, after in ((-0.2, -0.2), (-5.0, -1.0)):
        b = with_sphere(z=0.101, velocity=(0, 0, speed, 0, 0, 0), gap=0.01)
        model = finalize(b)
        model.set_gravity((0.0, 0.0, 0.0))
        run = Run(model, Config(dynamics=dynamics)).step(1, 1e-3)
        assert run.qd[0, 2] == pytest.approx(after, abs=1.1e-3)
        assert Run(model).step(1, 1e-3).qd[0, 2] == pytest.approx(speed, abs=1e-6)


@pytest.mark.parametrize("damping", [0.0, 200.0])
def test_soft_contacts_are_springs_and_dampers(damping):
    """v = (v + dt g - dt k d / m) / (1 + dt (k dt + b) / m), and at rest m g / k."""
    k, dt = 2000.0, 1e-3
    b = with_sphere(z=0.0995, velocity=(0, 0, -0.3, 0, 0, 0), ke=k, kd=damping)
    model = finalize(b)
    m = float(model.body_mass.numpy()[0])
    soft = hooke.solvers.ConstraintStabilizationConfig(contact_compliance=True, delta=0.0)
    run = Run(model, Config(constraints=soft)).step(1, dt)
    expected = (-0.3 - dt * G + dt * k * 5e-4 / m) / (1 + dt * (k * dt + damping) / m)
    assert run.qd[0, 2] == pytest.approx(expected, abs=2e-5)
    if damping:
        run.step(1500, dt)
        assert 0.1 - run.q[0, 2] == pytest.approx(m * G / k, rel=1e-3)


def test_a_rod_in_painleves_paradox_comes_to_rest_without_gaining_energy():
    """A thin rod that slides on its end, mu > 4/3, tan theta = 2: rigid contact has no solution with bounded forces, in impulses it has."""
    theta, half = np.arctan(2.0), 0.5
    b = ground(mu=1.8)
    up = (np.sin(theta), np.cos(theta))
    inertia = np.diag([1e-5, 1.0 / 3.0 * half**2, 1.0 / 3.0 * half**2])
    tilt = -(np.pi / 2 - theta) + np.pi / 2
    body = b.add_body(
        xform=(0.0, 0.0, half * up[0] + 0.01, 0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)), mass=1.0, inertia=inertia
    )
    for end in (-half, half):
        b.add_shape_sphere(body, xform=at(end, 0, 0), radius=0.01, cfg=material(1.8, density=0.0))
    b.body_qd[-1] = (-2.0, 0, 0, 0, 0, 0)
    run, energies = Run(finalize(b)), []

    def note(r):
        u, q = r.qd[0], r.q[0]
        energies.append(0.5 * (u[:3] @ u[:3]) + 0.5 * inertia[1, 1] * u[4] ** 2 + G * q[2])
        assert r.solver.status.residual <= 1e-5

    run.step(150, 1e-3, note)
    assert np.isfinite(run.q).all()
    assert np.diff(energies).max() < 1e-5
    assert run.q[0, 2] < half * up[0] + 0.011


def test_a_stack_of_mass_ratio_1000_stands():
    b, heights = ground(mu=0.5), 0.1 + 0.2 * np.arange(10)
    for i, z in enumerate(heights):
        body = b.add_body(xform=at(0, 0, z))
        b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=material(0.5, density=100.0 * (1000.0 if i == 9 else 1.0)))
    model = finalize(b)
    run = Run(model).step(100, 2e-3)
    assert run.q[:, 2] == pytest.approx(heights, abs=2e-5)
    assert abs(run.q[:, :2]).max() < 1e-6
    assert run.solver.status.converged
    assert run.state.body_f_total.numpy()[0, 2] == pytest.approx(float(model.body_mass.numpy()[0]) * G, rel=1e-2)


def test_three_balls_of_a_cradle_that_touch():
    """Newton's law for all impacts at once: -1/3, 2/3, 2/3 of the speed; momentum and energy are kept."""
    b = hooke.ModelBuilder(gravity=0.0)
    for k in range(3):
        body = b.add_body(xform=at(0.2 * k * 0.99999, 0, 0))
        b.add_shape_sphere(body, radius=0.1, cfg=material(0.0, 1.0))
    b.body_qd[0] = (1.0, 0, 0, 0, 0, 0)
    run = Run(finalize(b)).step(1, 1e-3)
    assert run.qd[:, 0] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-5)


def test_a_conveyor_takes_a_box_to_its_speed():
    b = hooke.ModelBuilder()
    belt = b.add_body(xform=at(0, 0, -0.05), is_kinematic=True)
    b.add_shape_box(belt, hx=5.0, hy=1.0, hz=0.05, cfg=material(0.4))
    body = b.add_body(xform=at(0, 0, 0.1))
    b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=material(0.4))
    b.body_qd[0] = (0.5, 0, 0, 0, 0, 0)
    run = Run(finalize(b)).step(50, 1e-3)
    assert run.qd[1, 0] == pytest.approx(0.4 * G * 0.05, rel=1e-3)
    run.step(150, 1e-3)
    assert run.qd[1, 0] == pytest.approx(0.5, abs=1e-6)


def test_a_box_that_is_pushed_slides_or_tips():
    """A push at height h against a box of width b: it tips where mu > b / (2 h) ... and slides below."""
    for mu, tips in ((0.3, False), (0.9, True)):
        b = with_box(mu=mu, half=(0.1, 0.1, 0.2), z=0.2)
        model = finalize(b)
        weight = float(model.body_mass.numpy()[0]) * G
        run = Run(model)
        run.state.body_f.assign(np.asarray([[0.6 * weight, 0, 0, 0, 0, 0]], np.float32))
        run.step(100, 1e-3)
        assert (abs(run.q[0, 4]) > 1e-3) == tips
        assert (abs(run.qd[0, 0] - (0.6 - mu) * G * 0.1) < 1e-3) == (not tips)


def test_midpoint_contacts_are_found_halfway():
    """A sphere 0.3 m above the plane at 7 m/s and steps of 0.1 s: it is below it in the middle of the step."""
    b = with_sphere(z=0.4, velocity=(0, 0, -7, 0, 0, 0))
    run = Run(finalize(b), Config(integrator="moreau", use_collision_detector=True)).step(1, 0.1)
    assert run.qd[0, 2] >= 0.0


def test_given_contacts_come_before_the_own_detector():
    model = finalize(with_sphere(z=0.099))
    run, empty = Run(model, Config(use_collision_detector=True)), model.contacts()
    run.solver.step(run.state, run.other, run.control, empty, 1e-3)
    assert run.other.body_qd.numpy()[0, 2] == pytest.approx(-G * 1e-3, rel=1e-5)


def test_surfaces_with_margins_rest_apart():
    b = ground(margin=0.01, gap=0.02)
    body = b.add_body(xform=at(0, 0, 0.1205))
    b.add_shape_sphere(body, radius=0.1, cfg=material(margin=0.01, gap=0.02))
    run = Run(finalize(b)).step(100, 1e-3)
    assert run.q[0, 2] == pytest.approx(0.12, abs=2e-4)


def worlds_of_boxes(count):
    one = hooke.ModelBuilder()
    for k in range(3):
        body = one.add_body(xform=(0.03 * k, 0.0, 0.11 + 0.21 * k, 0.0, 0.0, np.sin(0.1 * k), np.cos(0.1 * k)))
        one.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=material(0.5))
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=material(0.5))
    b.replicate(one, count)
    return finalize(b)


def test_replicas_equal_one_world_bitwise():
    alone, many = Run(worlds_of_boxes(1)).step(150, 2e-3), Run(worlds_of_boxes(5)).step(150, 2e-3)
    assert (many.state.body_q.numpy().reshape(5, 3, 7) == alone.state.body_q.numpy()).all()
    assert alone.q[2, 2] < 0.51


@pytest.mark.parametrize("own", [False, True])
def test_captured_steps_are_those_that_are_not(own):
    """Boxes that do not touch anything yet when the step is captured."""
    model, ends = worlds_of_boxes(2), []
    for captured in (False, True):
        solver, a, b = SolverKamino(model), model.state(), model.state()
        contacts = None if own else model.contacts()

        def two_steps(solver=solver, a=a, b=b, contacts=contacts):
            for x, y in ((a, b), (b, a)):
                if contacts is not None:
                    model.collide(x, contacts)
                solver.step(x, y, None, contacts, 2e-3)

        two_steps()
        if captured:
            with wp.ScopedCapture(device="cpu") as capture:
                two_steps()
            for _ in range(40):
                wp.capture_launch(capture.graph)
        else:
            for _ in range(40):
                two_steps()
        assert solver.status.ok
        ends.append(a.body_q.numpy().copy())
    assert (ends[0] == ends[1]).all()


def test_what_a_capture_has_no_room_for_is_reported():
    model = worlds_of_boxes(1)
    run = Run(model).step(100, 2e-3)
    assert run.solver.status.ok
    run.solver._problem.room = 8
    assert run.solver.status.overflow == {"rows of a problem": (run.solver._problem.most_rows(), 8)}
    assert not run.solver.status.ok


def piles(count, joined=False, info=False):
    """Piles of two boxes beside each other in one world; ``joined`` by a plank that lies on the first two."""
    b = ground()
    for k in range(count):
        for i in range(2):
            body = b.add_body(xform=at(0.5 * k, 0.01 * i, 0.1 + 0.2 * i))
            b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=material(0.5, density=100.0))
    if joined:
        plank = b.add_body(xform=at(0.25, 0, 0.42))
        b.add_shape_box(plank, hx=0.4, hy=0.1, hz=0.02, cfg=material(0.5, density=100.0))
    model = finalize(b)
    return Run(model, Config(collect_solver_info=info)).step(20, 2e-3)


def test_what_does_not_touch_is_solved_by_itself():
    alone, three = piles(1), piles(3)
    assert three.solver._problem.most_rows() == alone.solver._problem.most_rows() == 24
    moved = three.state.body_q.numpy().reshape(3, 2, 7) - [
        [[0, 0, 0, 0, 0, 0, 0]],
        [[0.5, 0, 0, 0, 0, 0, 0]],
        [[1, 0, 0, 0, 0, 0, 0]],
    ]
    assert moved == pytest.approx(np.broadcast_to(alone.q, (3, 2, 7)), abs=1e-6)
    assert three.solver.status.converged
    joined = piles(3, joined=True)
    assert joined.solver._problem.most_rows() == 24 + 24 + 24
    assert joined.q[6, 2] == pytest.approx(0.42, abs=2e-5)


def test_problems_one_by_one_or_as_one_are_the_same():
    apart, whole = piles(3, joined=True), piles(3, joined=True, info=True)
    assert whole.solver._problem.most_rows() > apart.solver._problem.most_rows()
    assert apart.q == pytest.approx(whole.q, abs=1e-6)


def test_contacts_of_the_own_detector_can_be_read():
    model = finalize(with_box())
    run = Run(model).step(10, 1e-3)
    contacts = hooke.Contacts(20, 0, device=model.device, requested_attributes=["force"])
    run.solver.update_contacts(contacts, run.state)
    count = int(contacts.rigid_contact_count.numpy()[0])
    assert count == 4
    assert abs(contacts.force.numpy()[:count, 2].sum()) == pytest.approx(float(model.body_mass.numpy()[0]) * G, rel=1e-4)
    small = hooke.Contacts(1, 0, device=model.device)
    with pytest.raises(RuntimeError, match="rows"):
        run.solver.update_contacts(small, run.state)
    with pytest.raises(ValueError, match="contacts"):
        run.solver.update_contacts(None, run.state)
    with pytest.raises(TypeError, match="Contacts"):
        run.solver.update_contacts(3, run.state)


def test_a_status_stays_that_of_its_step():
    run = Run(finalize(with_box(velocity=(1, 0, 0, 0, 0, 0)))).step(1, 1e-3)
    status = run.solver.status
    before = status.worlds.copy()
    run.step(200, 1e-3)
    assert (status.worlds == before).all()
    assert (run.solver.status.worlds != before).any()


def test_the_own_detector_takes_over_gaps_that_change():
    model = finalize(with_sphere(z=0.12, gap=0.0))
    run = Run(model).step(1, 1e-3)
    detector = run.solver._detector()
    assert int(detector.contacts.rigid_contact_count.numpy()[0]) == 0
    model.shape_gap.fill_(0.05)
    run.solver.notify_model_changed(hooke.ModelFlags.SHAPE_PROPERTIES)
    run.step(1, 1e-3)
    assert int(detector.contacts.rigid_contact_count.numpy()[0]) == 1

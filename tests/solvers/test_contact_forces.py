"""Forces of contacts between bodies, as the solver and the sensor report them."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import SolverVBD
from tests.solvers.bodies import chain, move
from tests.solvers.contacts import Run, ball, crate, world
from tests.solvers.test_bodies_mimics import HINGES, loaded, two_joints
from tests.support import GRAVITY, UPRIGHT, finalize


def weights(model):
    return GRAVITY * model.body_mass.numpy().astype(np.float64)


@pytest.mark.parametrize("dt", [1 / 60, 1 / 240, 1 / 1000])
@pytest.mark.parametrize("add", [crate, ball])
def test_what_rests_reports_its_weight_in_every_step(add, dt):
    """Within 1e-4 from the second step on, also as a torque; forces are in balance."""
    b = world()
    add(b, (0.3, -0.2, 0.1))
    run = Run(finalize(b), dt)
    sensor = hooke.ContactSensor(run.model, bodies="*")
    weight = weights(run.model)[0]
    for n in range(40):
        run.step()
        run.solver.update_contacts(run.contacts)
        sensor.update(run.contacts)
        if n:
            total = run.forces()[4].sum(axis=0)
            np.testing.assert_allclose(total, (0.0, 0.0, weight), atol=1e-4 * weight)
            expected = (0.0, 0.0, weight, -0.2 * weight, -0.3 * weight, 0.0)
            np.testing.assert_allclose(sensor.force.numpy()[0], expected, atol=1e-4 * weight)
            assert run.solver.status.residual < 1e-4 * weight


@pytest.mark.parametrize("dt", [1 / 60, 1 / 1000])
def test_the_forces_within_a_stack_are_the_weights_above(dt):
    """The matrix of every body by every other and the ground, over 50 steps."""
    b = world()
    for i in range(3):
        crate(b, (0.0, 0.0, 0.1 + 0.2 * i), label=f"b{i}")
    run = Run(finalize(b), dt)
    sensor = hooke.ContactSensor(run.model, bodies="b*", counterparts=["ground", "b*/box"])
    assert (sensor.labels, sensor.counterparts) == (["b0", "b1", "b2"], ["ground", "b0/box", "b1/box", "b2/box"])
    w = weights(run.model)
    carried = [w.sum(), w[1:].sum(), w[2]]
    expected = np.zeros((3, 4, 3))
    expected[0, 0, 2], expected[1, 1, 2], expected[2, 2, 2] = carried
    expected[0, 2, 2], expected[1, 3, 2] = -carried[1], -carried[2]
    run.step(10)
    for _ in range(50):
        run.step()
        run.solver.update_contacts(run.contacts)
        sensor.update(run.contacts)
        np.testing.assert_allclose(sensor.force_matrix.numpy(), expected, atol=0.01 * w[0])
        np.testing.assert_allclose(sensor.total_force.numpy(), expected.sum(axis=1), atol=0.01 * w[0])
        np.testing.assert_array_equal(sensor.total_force.numpy(), sensor.force.numpy()[:, :3])


def test_counterparts_may_be_bodies():
    """Two shapes of a body are one column; a sensor hears only the counterparts it was given."""
    b = world()
    low = crate(b, (0.0, 0.0, 0.1), label="low")
    b.add_shape_sphere(low, xform=(5.0, 0.0, 0.0, *UPRIGHT), radius=0.1)
    crate(b, (0.0, 0.0, 0.3), label="high")
    run = Run(finalize(b), 1 / 100).step(3)
    run.solver.update_contacts(run.contacts)
    sensor = hooke.ContactSensor(run.model, bodies=["low", "high"], counterpart_bodies="low")
    sensor.update(run.contacts)
    assert sensor.counterparts == ["low"] and sensor.force_matrix.shape == (2, 1)
    np.testing.assert_allclose(sensor.force_matrix.numpy()[:, 0, 2], (0.0, weights(run.model)[1]), rtol=1e-3)
    with pytest.raises(ValueError, match="counterpart"):
        hooke.ContactSensor(run.model, bodies="*", counterparts="ground", counterpart_bodies="low")


def test_rows_name_bodies_and_points():
    """World first, points on both surfaces at the poses that are given, nothing beyond the count."""
    b = world()
    crate(b, (0.5, 0.0, 0.1))
    run = Run(finalize(b), 1 / 100).step(2)
    body0, body1, point0, point1, force = run.forces()
    assert body0.tolist() == [-1] * 4 and body1.tolist() == [0] * 4
    corners = [[x, y, 0.0] for x in (0.4, 0.6) for y in (-0.1, 0.1)]
    for point in (point0, point1):
        np.testing.assert_allclose(sorted(point.tolist()), corners, atol=1e-5)
    assert (force[:, 2] > 0.0).all()
    found = run.solver.collect_rigid_contact_forces(run.state.body_q, run.state.body_q, run.contacts, run.dt)
    assert found[4] is run.contacts.rigid_contact_force and found[5] is run.contacts.rigid_contact_count
    assert (found[0].numpy()[4:] == -1).all() and (found[1].numpy()[4:] == -1).all()
    assert all((array.numpy()[4:] == 0.0).all() for array in found[2:5])
    moved = run.state.body_q.numpy() + np.array([0, 0, 1, 0, 0, 0, 0], np.float32)
    poses = wp.array(moved, dtype=wp.transform, device="cpu")
    lifted = run.solver.collect_rigid_contact_forces(poses, None, run.contacts, run.dt)
    np.testing.assert_allclose(lifted[3].numpy()[:4, 2], 1.0, atol=1e-5)
    np.testing.assert_allclose(lifted[2].numpy()[:4, 2], 0.0, atol=1e-5)


def test_where_nothing_was_solved_there_is_nothing_to_report():
    """Before a step, without contacts, of another buffer, or where another solver moves the bodies."""
    b = world()
    crate(b, (0.0, 0.0, 0.1))
    run = Run(finalize(b), 1 / 100)
    run.model.collide(run.state, run.contacts)

    def count(solver, contacts):
        found = solver.collect_rigid_contact_forces(run.state.body_q, None, contacts, run.dt)
        assert all((array.numpy() == -1).all() for array in found[:2]) and all((array.numpy() == 0.0).all() for array in found[2:5])
        return int(found[5].numpy()[0])

    assert count(run.solver, run.contacts) == 0 and count(run.solver, None) == 0
    run.step(2)
    assert len(run.forces()[0]) == 4
    assert count(run.solver, None) == 0 and count(run.solver, run.model.contacts()) == 0
    assert count(run.solver, hooke.Contacts(0, 0, device="cpu")) == 0
    assert len(run.forces()[0]) == 4
    outer = SolverVBD(run.model, integrate_with_external_rigid_solver=True)
    outer.step(run.state, run.other, None, run.contacts, run.dt)
    assert count(outer, run.contacts) == 0
    with pytest.raises(ValueError, match="body_q"):
        run.solver.collect_rigid_contact_forces(None, None, run.contacts, run.dt)


def test_arrays_of_results_only_grow():
    """Not in a capture, where too little room is an error, and after one call there is enough."""
    b = world()
    crate(b, (0.0, 0.0, 0.1))
    run = Run(finalize(b), 1 / 100)
    solver, state = run.solver, run.state

    def step(rows):
        pipeline = hooke.CollisionPipeline(run.model, rigid_contact_max=rows)
        contacts = pipeline.contacts()
        pipeline.collide(state, contacts)
        solver.step(state, run.other, None, contacts, run.dt)
        return contacts

    few, many = step(20), step(60)
    solver.step(state, run.other, None, few, run.dt)
    short = solver.collect_rigid_contact_forces(state.body_q, None, few, run.dt)
    solver.step(state, run.other, None, many, run.dt)
    with pytest.raises(RuntimeError, match="capture"), wp.ScopedCapture(device="cpu"):
        solver.collect_rigid_contact_forces(state.body_q, None, many, run.dt)
    long = solver.collect_rigid_contact_forces(state.body_q, None, many, run.dt)
    assert (len(short[0]), len(long[0])) == (20, 60)
    with wp.ScopedCapture(device="cpu") as capture:
        solver.collect_rigid_contact_forces(state.body_q, None, many, run.dt)
    long[4].zero_()
    wp.capture_launch(capture.graph)
    assert long[4].numpy()[:4, 2].sum() == pytest.approx(weights(run.model)[0], rel=1e-3)
    solver.step(state, run.other, None, few, run.dt)
    assert len(solver.collect_rigid_contact_forces(state.body_q, None, few, run.dt)[0]) == 60


def test_a_kinematic_body_feels_what_it_carries():
    """A lift that moves down at constant speed: the weight on it, every step; it is no part of the balance."""
    b = world(ground=False)
    lift = b.add_body(xform=(0.0, 0.0, 0.0, *UPRIGHT), is_kinematic=True, label="lift")
    b.add_shape_box(lift, hx=0.5, hy=0.5, hz=0.1)
    ball(b, (0.1, 0.0, 0.2), label="load")
    run = Run(finalize(b), 1 / 200)
    run.state.body_qd.assign(np.array([[0, 0, -0.1, 0, 0, 0]] * 2, np.float32))
    sensor = hooke.ContactSensor(run.model, bodies="lift", counterpart_bodies="load")
    weight = weights(run.model)[1]
    for n in range(30):
        q = run.state.body_q.numpy()
        q[0, 2] = -0.1 * run.dt * (n + 1)
        run.state.body_q.assign(q)
        run.step()
        if n > 3:
            run.solver.update_contacts(run.contacts)
            sensor.update(run.contacts)
            np.testing.assert_allclose(sensor.force_matrix.numpy()[0, 0], (0.0, 0.0, -weight), atol=0.01 * weight)


def test_forces_of_joints_are_in_the_balance():
    """A bar on a hinge that leans on a post: residual 0, and the post carries the share of the lever."""
    b = world(ground=False)
    bar = b.add_link(xform=(0.5, 0.0, 0.0, *UPRIGHT), mass=2.0, inertia=np.diag([0.01, 0.2, 0.2]))
    b.add_shape_sphere(bar, xform=(0.3, 0.0, 0.0, *UPRIGHT), radius=0.05, cfg=hooke.ModelBuilder.ShapeConfig(density=0.0))
    b.add_shape_box(-1, xform=(0.8, 0.0, -0.15, *UPRIGHT), hx=0.1, hy=0.1, hz=0.1, label="post")
    hinge = b.add_joint_revolute(-1, bar, axis="Y", child_xform=(-0.5, 0.0, 0.0, *UPRIGHT))
    b.add_articulation([hinge])
    run = Run(finalize(b), 1 / 100).step(50)
    weight = weights(run.model)[0]
    assert run.solver.status.residual < 1e-3 * weight
    np.testing.assert_allclose(run.forces()[4].sum(axis=0) * [0, 0, 1], (0.0, 0.0, -weight * 0.5 / 0.8), rtol=5e-3)


@pytest.mark.parametrize("joint", ["ball", "revolute"])
def test_the_residual_says_whether_iterations_were_enough(joint):
    """A chain that falls: balanced with ten iterations, and one of balls not with one."""
    model = chain(6, 0.2, joint=joint)
    weight = weights(model)[0]
    assert move(model, 20, 1 / 100).solver.status.residual < 1e-4 * weight
    if joint == "ball":
        assert move(model, 20, 1 / 100, iterations=1).solver.status.residual > 1e-3 * weight


def test_mimics_are_in_the_balance():
    """A geared pair of hinges under a torque."""
    model = two_joints(("revolute", "revolute"), (0.0, -2.0), options=HINGES)
    assert loaded(model, [0.0, 3.0], 5).solver.status.residual < 1e-4


def test_what_slides_after_an_impact_felt_what_is_reported():
    """A tilted crate falls on its corner: force times dt is the change of its momentum, in every step."""
    b = world(mu=0.4)
    crate(b, (0.0, 0.0, 0.25), rotation=(0.27, 0.08, 0.0, 0.9595))
    run = Run(finalize(b), 1e-3)
    weight, hardest = weights(run.model)[0], 0.0
    for _ in range(150):
        before = run.qd[0, :3]
        run.step()
        felt = (run.qd[0, :3] - before) * weight / GRAVITY / run.dt + (0.0, 0.0, weight)
        hardest = max(hardest, np.abs(felt).max())
        np.testing.assert_allclose(run.forces()[4].sum(axis=0), felt, atol=0.02 * weight)
    assert hardest > 10.0 * weight


def test_the_documented_formulation_reports_through_the_same_calls():
    """A crate at rest: its weight, collected and as a wrench."""
    b = world()
    crate(b, (0.3, 0.0, 0.1))
    run = Run(finalize(b), 1 / 240, rigid_compliant_alm=False, iterations=20).step(240)
    weight = weights(run.model)[0]
    assert run.forces()[4][:, 2].sum() == pytest.approx(weight, rel=0.02)
    run.solver.update_contacts(run.contacts)
    count = len(run.forces()[4])
    np.testing.assert_allclose(run.contacts.force.numpy()[:count, :3], run.forces()[4], rtol=0.02, atol=0.02 * weight)

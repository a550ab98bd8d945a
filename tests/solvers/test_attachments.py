"""Attachments: particles held by points of the world and of moving bodies, on lanes and one by one."""

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate


@pytest.fixture(params=[True, False], ids=["lanes", "single"], autouse=True)
def lanes(request, monkeypatch):
    monkeypatch.setattr(config, "lanes", request.param)


def held(body_pose=None, mass=0.5, gravity=None, velocity=(0.0, 0.0, 0.0), position=(0.0, 0.0, 1.0), **attachment):
    """One particle, held where it is by the world, or by a kinematic body."""
    builder = hooke.ModelBuilder(gravity=gravity)
    body = -1 if body_pose is None else builder.add_body(xform=body_pose, is_kinematic=True)
    add_points(builder, [position], mass, velocity)
    builder.add_attachment_particle_body(0, body, **attachment)
    return finalize(builder)


def follow(path):
    """Put the only body at ``path(n) -> pose`` before step n + 1."""
    return lambda n, state: state.body_q.assign(np.array([path(n)], np.float32))


def test_hanging_particle_sags_by_weight_over_stiffness():
    """m g/k = 0.5 * 9.81/200 m, to float32; the attachment stores (m g)^2/(2 k)."""
    model = held(stiffness=200.0, damping=20.0)
    run = simulate(model, steps=200, dt=0.01)
    assert (run.solver._sweeps.lanes is not None) == config.lanes
    assert np.abs(run.q[0] - (0.0, 0.0, 1.0 - 0.5 * GRAVITY / 200.0)).max() < 1e-6
    assert hooke.measure_energy(model, run.state).elastic == pytest.approx(
        {"attachment_particle_body": (0.5 * GRAVITY) ** 2 / 400.0}, rel=1e-4
    )
    assert run.solver.status.residual < 1e-4


def test_damping_is_that_of_backward_euler():
    """Without stiffness v1 = v0/(1 + c h/m), step by step, in every direction."""
    run = simulate(held(gravity=0.0, velocity=(1.0, -2.0, 3.0), stiffness=0.0, damping=4.0), steps=5, dt=0.01)
    assert np.allclose(run.qd[0], np.array([1.0, -2.0, 3.0]) / (1.0 + 4.0 * 0.01 / 0.5) ** 5, rtol=1e-5)


def test_damping_is_relative_to_the_point():
    """A particle that moves with its point is not held back, whatever the damping: 0.01 m in every step, bitwise no resistance."""
    speed, dt = 1.0, 0.01
    model = held((0.0, 0.0, 0.0, *UPRIGHT), gravity=0.0, velocity=(speed, 0.0, 0.0), stiffness=0.0, damping=1e3)
    state = model.state()
    path = follow(lambda n: (speed * dt * (n + 2), 0.0, 0.0, *UPRIGHT))
    solver, other = SolverVBD(model), model.state()
    solver.step(state, other, None, None, dt)  # the first step sees the body for the first time: it has not moved
    start = other.particle_q.numpy()[0].copy()
    state, other = other, state
    velocity = np.array([[speed, 0.0, 0.0]], np.float32)
    state.particle_qd.assign(velocity)
    for n in range(20):
        path(n, state)
        solver.step(state, other, None, None, dt)
        state, other = other, state
    assert np.abs(state.particle_q.numpy()[0] - start - (0.2 + dt, 0.0, 0.0)).max() < 0.011  # the first move was of two steps
    assert np.abs(state.particle_qd.numpy() - velocity).max() < 1e-4


def test_lag_behind_an_accelerating_body():
    """With x = a t^2/2 the particle follows with the acceleration a, m a/k behind, once the damper has spent the transient."""
    acceleration, dt, mass, stiffness = 2.0, 0.01, 0.5, 100.0
    model = held((0.0, 0.0, 0.0, *UPRIGHT), mass=mass, gravity=0.0, stiffness=stiffness, damping=15.0)
    x = [0.5 * acceleration * (n * dt) ** 2 for n in range(402)]
    state = model.state()
    run = simulate(model, steps=400, dt=dt, state=state, each=follow(lambda n: (x[n + 1], 0.0, 0.0, *UPRIGHT)))
    # the last step saw the body at x[399]
    assert x[399] - run.q[0, 0] == pytest.approx(mass * acceleration / stiffness, rel=2e-3)


def test_body_turns_and_takes_the_point_along():
    """A point at (0.3, 0, 0) in the frame of a body that is turned by a quarter about z at (1, 2, 3)."""
    model = held((1.0, 2.0, 3.0, *UPRIGHT), gravity=0.0, position=(1.3, 2.0, 3.0), stiffness=500.0, damping=20.0)
    np.testing.assert_allclose(model.attachment_particle_body_body_point.numpy(), [(0.3, 0.0, 0.0)], atol=1e-6)
    half = np.sqrt(0.5)
    run = simulate(model, steps=300, dt=0.01, each=follow(lambda n: (1.0, 2.0, 3.0, 0.0, 0.0, half, half)))
    assert np.abs(run.q[0] - (1.0, 2.3, 3.0)).max() < 1e-5
    assert hooke.measure_energy(model, run.state).elastic["attachment_particle_body"] < 1e-6


def test_bodies_of_another_solver():
    """``integrate_with_external_rigid_solver``: the point moves from the pose of state_in to that of state_out, within the step."""
    builder = hooke.ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=1.0, inertia=np.eye(3))
    add_points(builder, [(0.0, 0.0, 0.0)], 1.0)
    builder.add_attachment_particle_body(0, body, stiffness=0.0, damping=1.0)
    model = finalize(builder)
    solver, a, b = SolverVBD(model, integrate_with_external_rigid_solver=True), model.state(), model.state()
    b.body_q.assign(np.array([(0.1, 0.0, 0.0, *UPRIGHT)], np.float32))
    solver.step(a, b, None, None, 0.1)
    # m v = c (u - v) h with u = 1: v = 0.1/1.1
    assert b.particle_qd.numpy()[0] == pytest.approx((0.1 / 1.1, 0.0, 0.0), rel=1e-5)


def test_impulse_of_attachments_is_the_change_of_momentum():
    """Springs between the particles add nothing: every step changes the momentum by h times the pull of the attachments."""
    builder = hooke.ModelBuilder(gravity=0.0)
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 3))
    add_points(builder, points, 0.3)
    for i in range(5):
        builder.add_spring(i, i + 1, 50.0, 0.1)
    anchors = {1: (0.5, 0.0, 0.0), 4: (0.0, 0.0, 1.0)}
    for i, point in anchors.items():
        builder.add_attachment_particle_body(i, -1, body_point=point, stiffness=80.0, damping=0.2)
    model, dt, momenta, pulls = finalize(builder), 0.01, [], []

    def note(n, state):
        momenta.append(0.3 * state.particle_qd.numpy().astype(float).sum(axis=0))
        q, v = state.particle_q.numpy().astype(float), state.particle_qd.numpy().astype(float)
        pulls.append(sum(-80.0 * (q[i] - anchors[i]) - 0.2 * v[i] for i in anchors))

    simulate(model, steps=20, dt=dt, each=note, iterations=100)
    change = np.diff([np.zeros(3), *momenta], axis=0)
    assert np.abs(change - dt * np.array(pulls)).max() < 1e-5 * np.abs(change).max() + 1e-6


def test_soft_cube_hangs_by_its_top():
    """Nine attachments carry the cube: the sum of their pulls is its weight, to 0.1 %."""
    builder = hooke.ModelBuilder()
    builder.add_soft_grid(
        pos=(0.0, 0.0, 0.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=2, dim_y=2, dim_z=2, cell_x=0.1, cell_y=0.1, cell_z=0.1,
        density=300.0, k_mu=2e4, k_lambda=2e4, k_damp=50.0,
    )  # fmt: skip
    top = np.flatnonzero(builder.particle_q.array[:, 2] > 0.19)
    assert len(top) == 9
    for i in top:
        builder.add_attachment_particle_body(int(i), -1, stiffness=1e3, damping=5.0)
    model = finalize(builder)
    q0, mass = model.particle_q.numpy()[top], model.particle_mass.numpy().sum()
    run = simulate(model, steps=600, dt=0.01, iterations=30)
    pull = 1e3 * (q0 - run.q[top]).sum(axis=0)
    assert np.abs(pull - (0.0, 0.0, mass * GRAVITY)).max() < 1e-3 * mass * GRAVITY
    assert np.abs(run.qd).max() < 1e-3


def test_several_on_one_particle_add_up():
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 1.0)], 0.5)
    for stiffness in (50.0, 150.0):
        builder.add_attachment_particle_body(0, -1, stiffness=stiffness, damping=10.0)
    builder.add_attachment_particle_body(0, -1, body_point=(9.0, 9.0, 9.0), enabled=False)
    model = finalize(builder)
    run = simulate(model, steps=300, dt=0.01)
    assert np.abs(run.q[0] - (0.0, 0.0, 1.0 - 0.5 * GRAVITY / 200.0)).max() < 1e-6
    assert hooke.measure_energy(model, run.state).elastic["attachment_particle_body"] == pytest.approx(
        (0.5 * GRAVITY) ** 2 / 400.0, rel=1e-3
    )


def test_worlds_do_the_same_and_points_move_with_them():
    inner = hooke.ModelBuilder()
    body = inner.add_body(xform=(0.0, 0.0, 1.0, *UPRIGHT), is_kinematic=True)
    add_points(inner, [(0.0, 0.0, 0.9), (0.1, 0.0, 0.9)], 0.2)
    inner.add_spring(0, 1, 100.0, 0.1)
    inner.add_attachment_particle_body(0, body, stiffness=300.0)
    inner.add_attachment_particle_body(1, -1, stiffness=100.0, damping=1.0)
    builder = hooke.ModelBuilder()
    builder.replicate(inner, 3, spacing=(2.0, 0.0, 0.0))
    model = finalize(builder)
    assert model.attachment_particle_body_particle.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert model.attachment_particle_body_body.numpy().tolist() == [0, -1, 1, -1, 2, -1]
    shift = model.particle_q.numpy() - np.tile(inner.particle_q.array, (3, 1))
    run = simulate(model, steps=100, dt=0.01)
    relative = run.q - shift
    assert np.abs(relative[2:4] - relative[:2]).max() < 1e-5 and np.abs(relative[4:] - relative[:2]).max() < 1e-5
    assert np.abs(relative[:2] - inner.particle_q.array).max() > 5e-3


def test_reset_forgets_where_the_body_was():
    """After a reset the body has not moved: no damper pulls the particle after it."""
    model = held((0.0, 0.0, 0.0, *UPRIGHT), gravity=0.0, stiffness=0.0, damping=100.0)
    solver, a, b = SolverVBD(model), model.state(), model.state()
    a.body_q.assign(np.array([(5.0, 0.0, 0.0, *UPRIGHT)], np.float32))
    solver.step(a, b, None, None, 0.01)
    solver.reset(b)
    solver.step(b, a, None, None, 0.01)
    assert np.abs(a.particle_qd.numpy()).max() == 0.0


def test_materials_and_switches_change_after_a_notice():
    model = held(stiffness=200.0, damping=20.0)
    run = simulate(model, steps=200, dt=0.01)
    model.attachment_particle_body_enabled.assign([False])
    run.solver.notify_model_changed(hooke.ModelFlags.MODEL_PROPERTIES)
    before = run.q[0, 2]
    run = simulate(model, steps=10, dt=0.01, state=run.state, solver=run.solver)
    assert run.q[0, 2] < before - 0.04


def test_what_does_not_fit_is_refused():
    builder = hooke.ModelBuilder()
    builder.begin_world()
    add_points(builder, [(0.0, 0.0, 0.0)], 1.0)
    builder.end_world()
    builder.begin_world()
    arm = builder.add_body(label="arm", is_kinematic=True)
    builder.end_world()
    with pytest.raises(ValueError, match="attachment particle body 0: expected a particle from 0 to 0, found 7"):
        builder.add_attachment_particle_body(7, -1)
    with pytest.raises(ValueError, match="expected a body from -1 to 0, found -2"):
        builder.add_attachment_particle_body(0, -2)
    with pytest.raises(ValueError, match=r"particle 0 is in world 0, body 'arm' \(index 0\) in world 1"):
        builder.add_attachment_particle_body(0, arm)
    builder.add_attachment_particle_body(0, -1, stiffness=-1.0)
    with pytest.raises(ValueError, match=r"attachment particle body 0: attachment_particle_body_stiffness is -1\.0 N/m"):
        builder.finalize(device="cpu")

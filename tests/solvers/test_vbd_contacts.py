"""Contact rows: their order, their room, and shapes that move."""

import numpy as np
import pytest

import hooke
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, add_points, finalize, simulate, surface, tilted

from .scenes import add_cloth, cloth_on_slope, same


def test_order_of_rows_does_not_matter():
    """Rows shuffled before every step give the same bits: the sums of a particle have an order of their own."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    for slope in ((0.02, 0.0), (-0.02, 0.0), (0.0, 0.03), (0.01, -0.02)):  # up to five loaded rows per particle
        builder.add_shape_plane((*slope, 1.0, 0.0), width=0.0, length=0.0, cfg=surface(mu=0.3))
    add_cloth(builder, 0.012)
    model = finalize(builder)
    wanted = simulate(model, steps=30, dt=0.01).state
    rng = np.random.default_rng(41)
    solver, state, other, contacts = SolverVBD(model), model.state(), model.state(), model.contacts()
    most = 0
    for _ in range(30):
        model.collide(state, contacts)
        count = int(contacts.soft_contact_count.numpy()[0])
        most = max(most, count)
        order = rng.permutation(count)
        for name in ("particle", "indices", "barycentric", "shape", "body_pos", "body_vel", "normal", "tids"):
            array = getattr(contacts, f"soft_contact_{name}")
            rows = array.numpy().copy()
            rows[:count] = rows[order]
            array.assign(rows)
        solver.step(state, other, None, contacts, 0.01)
        state, other = other, state
    assert most >= 4 * model.particle_count
    assert same(state, wanted)


def test_forces_are_written_to_the_rows_they_belong_to():
    """The same in another order of rows: every row's force goes with its particle and shape."""
    model = cloth_on_slope(height=0.015)
    contacts = model.collide(model.state())
    count = int(contacts.soft_contact_count.numpy()[0])
    forces = []
    for backwards in (False, True):
        solver = SolverVBD(model)
        if backwards:
            for name in ("particle", "indices", "barycentric", "shape", "body_pos", "body_vel", "normal", "tids"):
                array = getattr(contacts, f"soft_contact_{name}")
                rows = array.numpy().copy()
                rows[:count] = rows[:count][::-1]
                array.assign(rows)
        solver.step(model.state(), model.state(), None, contacts, 0.01)
        solver.update_contacts(contacts)
        forces.append(contacts.force.numpy()[:count].copy())
    assert np.abs(forces[0]).max() > 0.1
    assert np.array_equal(forces[0], forces[1][::-1])


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_small_buffers_grow(rows):
    """Field report "nothing dropped": a buffer of 1, 2 or 4 rows gives the same bits as a large one, and keeps its anchors as it grows
    (the cloth lands corner first, so contacts stick while others are added)."""

    def landing():
        builder = hooke.ModelBuilder(gravity=tilted(0.2))
        builder.add_ground_plane(cfg=surface(mu=0.5))
        add_cloth(builder, 0.075, rot=(0.05, 0.1, 0.0, np.sqrt(1.0 - 0.0125)))
        return finalize(builder)

    wanted = simulate(landing(), steps=40, dt=0.01).state
    model = landing()
    pipeline = hooke.CollisionPipeline(model, soft_contact_max=rows)
    contacts, solver = pipeline.contacts(), SolverVBD(model)
    assert contacts.soft_contact_max == rows
    state, other = model.state(), model.state()
    sizes = set()
    for _ in range(40):
        pipeline.collide(state, contacts)
        sizes.add(contacts.soft_contact_max)
        solver.step(state, other, None, contacts, 0.01)
        state, other = other, state
    assert len(sizes) > 2  # grew more than once
    assert solver.status.ok
    assert same(state, wanted)


def test_no_contacts_and_empty_contacts():
    """None, a cleared buffer and a buffer without rows all mean free fall, also after a step with contacts."""
    model = cloth_on_slope(height=0.01)
    contacts = model.collide(model.state())
    touching = model.collide(model.state())
    contacts.clear()
    results = []
    for given in (None, contacts, hooke.Contacts(0, 0, device="cpu")):
        solver, out = SolverVBD(model), model.state()
        solver.step(model.state(), model.state(), None, touching, 0.01)
        solver.step(model.state(), out, None, given, 0.01)
        results.append(out)
    assert same(results[0], results[1]) and same(results[0], results[2])
    assert np.allclose(results[0].particle_qd.numpy()[:, 2], -0.01 * GRAVITY * np.cos(0.2), rtol=1e-3)


def particle_on_table():
    """A particle at rest on a kinematic box whose top is at z = 0, 0.3 m from its middle; and the box's pose."""
    builder = hooke.ModelBuilder()
    body = builder.add_body(xform=(0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0), is_kinematic=True)
    builder.add_shape_box(body, hx=1.0, hy=1.0, hz=0.5, cfg=surface(mu=0.5))
    add_points(builder, [(0.3, 0.0, 0.05 - 0.1 * GRAVITY / 1750.0)], 0.1, radius=0.05)
    return finalize(builder)


def drive(model, pose, steps, dt, external=False):
    """Move the body along ``pose(t)``; returns the last state."""
    solver = SolverVBD(model, integrate_with_external_rigid_solver=external)
    state, other, contacts = model.state(), model.state(), model.contacts()
    for n in range(steps):
        if external:  # state_in holds the pose at the start of the step, state_out the one at its end
            state.body_q.assign([pose(n * dt)])
            model.collide(state, contacts)
            other.body_q.assign([pose((n + 1) * dt)])
        else:
            state.body_q.assign([pose((n + 1) * dt)])
            model.collide(state, contacts)
        solver.step(state, other, None, contacts, dt)
        state, other = other, state
    return state


@pytest.mark.parametrize("external", [False, True])
def test_moving_table_carries_a_particle(external):
    """A table at 0.2 m/s takes a particle along by friction: it slides for v / (mu g) and then moves with the table, so it lags by
    v^2 / (2 mu g) = 4.08 mm (within what a step moves); at the end its velocity is the table's."""
    model, dt, v = particle_on_table(), 1 / 200, 0.2
    state = drive(model, lambda t: (v * t, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0), 200, dt, external)
    lag = 0.3 + v * 200 * dt - float(state.particle_q.numpy()[0, 0])
    assert abs(lag - v * v / (2.0 * 0.5 * GRAVITY)) < 1.1 * v * dt
    assert np.allclose(state.particle_qd.numpy()[0], (v, 0.0, 0.0), atol=1e-4)


def test_turning_table_carries_a_particle_round():
    """A table that turns at 1 rad/s: the particle goes round with it, at a radius of 0.3 m, for half a turn; 1 %."""
    model, dt = particle_on_table(), 1 / 200
    steps = round(np.pi / dt)

    def pose(t):
        return (0.0, 0.0, -0.5, 0.0, 0.0, np.sin(0.5 * t), np.cos(0.5 * t))

    x, y, _ = drive(model, pose, steps, dt).particle_q.numpy()[0]
    assert abs(np.hypot(x, y) - 0.3) < 3e-3
    assert abs(np.arctan2(y, -x)) < 0.06  # the start costs v / (mu g) / 2 = 31 ms


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("speed", [0.5, -0.3])
def test_lifting_table_carries_a_particle(speed, external):
    """Up or down, the particle keeps its height above the table: its damper does not brake what moves with the table."""
    model = particle_on_table()
    state = drive(model, lambda t: (0.0, 0.0, -0.5 + speed * t, 0.0, 0.0, 0.0, 1.0), 200, 1 / 200, external)
    wanted = (0.3, 0.0, speed + 0.05 - 0.1 * GRAVITY / 1750.0)
    assert np.abs(state.particle_q.numpy()[0] - wanted).max() < 1e-4
    assert abs(state.particle_qd.numpy()[0, 2] - speed) < 1e-3


def test_conveyor_belt():
    """A surface that runs along itself (soft_contact_body_vel) at 0.2 m/s takes a particle along, which lags by v^2 / (2 mu g)."""
    model, dt, v = particle_on_table(), 1 / 200, 0.2
    solver, state, other, contacts = SolverVBD(model), model.state(), model.state(), model.contacts()
    for _ in range(200):
        model.collide(state, contacts)
        contacts.soft_contact_body_vel.assign(np.tile((v, 0.0, 0.0), (contacts.soft_contact_max, 1)))
        solver.step(state, other, None, contacts, dt)
        state, other = other, state
    lag = 0.3 + v - float(state.particle_q.numpy()[0, 0])
    assert abs(lag - v * v / (2.0 * 0.5 * GRAVITY)) < 1.1 * v * dt
    assert np.allclose(state.particle_qd.numpy()[0], (v, 0.0, 0.0), atol=1e-4)


def test_kinematic_sphere_pushes_a_cloth():
    """A sphere of 0.1 m rises by 0.3 m through the place of a free cloth: no particle is inside it by more than 2 mm at any time, and
    the cloth is carried up."""
    builder = hooke.ModelBuilder(gravity=-1.0)
    body = builder.add_body(xform=(0.15, 0.15, -0.15, 0.0, 0.0, 0.0, 1.0), is_kinematic=True)
    builder.add_shape_sphere(body, radius=0.1, cfg=surface(ke=1e4, kd=0.0))
    add_cloth(builder, 0.0, cells=6, tri_ke=2e3, tri_ka=2e3)
    for i in range(builder.particle_count):  # 6 x 6 cells of 5 cm over the sphere
        x, y, z = builder.particle_q[i]
        builder.particle_q[i] = (0.5 * x, 0.5 * y, z)
    model = finalize(builder, ke=1e4, kd=0.0)
    solver, state, other, contacts = SolverVBD(model), model.state(), model.state(), model.contacts()
    deepest, centre = 0.0, np.array([0.15, 0.15, -0.15])
    for _ in range(150):
        centre[2] += 0.002
        state.body_q.assign([(*centre, 0.0, 0.0, 0.0, 1.0)])
        model.collide(state, contacts)
        solver.step(state, other, None, contacts, 0.005)
        state, other = other, state
        distance = np.linalg.norm(state.particle_q.numpy() - centre, axis=1)
        deepest = max(deepest, float((0.12 - distance).max()))
    assert 0.0 < deepest < 2e-3
    assert state.particle_q.numpy()[:, 2].max() > 0.2
    assert np.array_equal(state.body_q.numpy()[0, :3], centre.astype(np.float32))


def test_reset_of_a_moved_body():
    """After a reset the first step has no motion of bodies: where they were before is forgotten, and the result is a new solver's."""
    model = particle_on_table()
    solver, state, other, contacts = SolverVBD(model), model.state(), model.state(), model.contacts()
    for n in range(20):
        state.body_q.assign([(0.01 * n, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0)])
        model.collide(state, contacts)
        solver.step(state, other, None, contacts, 0.01)
        state, other = other, state
    solver.reset(state)
    assert np.array_equal(state.body_q.numpy(), model.body_q.numpy())
    run = simulate(model, steps=3, dt=0.01, solver=solver, state=state)
    fresh = simulate(model, steps=3, dt=0.01)
    assert same(run.state, fresh.state)

"""Particles and dynamic bodies act on each other in SolverVBD: momentum, weight, grip, nothing dropped, reset, workers."""

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.model.energy import measure_momentum
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, surface

DT = 1 / 120
INERTIA = np.diag([0.01, 0.016, 0.02])


def at(*p):
    return (*p, *UPRIGHT)


def add_box(builder, half, mass=1.0, xform=None, inertia=INERTIA, **more):
    xform = at(0.0, 0.0, 0.0) if xform is None else xform
    body = builder.add_body(xform=xform, mass=mass, inertia=inertia, **more)
    builder.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=surface(mu=0.5))
    return body


def take(model, steps, dt=DT, *, state=None, solver=None, control=None, each=None, pipeline=None, **options):
    """The documented loop; returns the last state, the solver and the contacts. ``each(n, state)`` is called before step n."""
    solver = SolverVBD(model, **options) if solver is None else solver
    state, other = model.state() if state is None else state, model.state()
    finds = model if pipeline is None else pipeline
    contacts = finds.contacts() if model.shape_count else None
    for n in range(steps):
        if each is not None:
            each(n, state)
        if contacts is not None:
            finds.collide(state, contacts)
        solver.step(state, other, control, contacts, dt)
        state, other = other, state
    return state, solver, contacts


def arrays_of(state):
    return [getattr(state, name).numpy().copy() for name in ("particle_q", "particle_qd", "body_q", "body_qd")]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(arrays_of(a), arrays_of(b), strict=True))


def grid(builder, cells, size, height, mass, *, pinned=False, **more):
    """A square cloth around the origin; with ``pinned`` its border is fixed."""
    first = builder.particle_count
    options = {"tri_ke": 1.0e3, "tri_ka": 1.0e3, "tri_kd": 5.0, "edge_ke": 0.1, "edge_kd": 1e-2, "particle_radius": 0.01, **more}
    builder.add_cloth_grid(
        pos=(-size / 2, -size / 2, height), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=cells, dim_y=cells, cell_x=size / cells,
        cell_y=size / cells, mass=mass, **options,
    )  # fmt: skip
    q = np.array(builder.particle_q, np.float64).reshape(-1, 3)[first:]
    for i in np.flatnonzero(np.abs(q[:, :2]).max(axis=1) > 0.499 * size) if pinned else ():
        builder.particle_mass[first + i] = 0.0


# ---- momentum


@pytest.mark.parametrize(("ke", "friction"), [(1.0e3, "anchored"), (1.0e3, "smoothed"), (2.0e4, "anchored")])
def test_a_particle_and_a_free_box_keep_their_momentum(ke, friction):
    """Off the centre, sliding, onto a box that spins and whose centre of mass is not its origin: to 1e-5 of what they exchange."""
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.2, 0.15, 0.1), com=(0.03, -0.02, 0.01))
    add_points(b, [(0.12, 0.05, 0.15)], 0.3, velocity=(0.5, 0.2, -1.0), radius=0.02)
    model = finalize(b, ke=ke)
    state = model.state()
    state.body_qd.assign([(0.1, 0.0, 0.2, 0.5, -0.3, 0.8)])
    start = measure_momentum(model, state)
    before = state.particle_qd.numpy()[0].astype(np.float64)
    state, _, _ = take(model, 30, state=state, iterations=20, particle_contact_friction=friction)
    exchanged = 0.3 * np.linalg.norm(state.particle_qd.numpy()[0] - before)
    end = measure_momentum(model, state)
    assert exchanged > 0.2 and abs(state.body_qd.numpy()[0, 2] - 0.2) > 0.05
    assert np.abs(end.linear - start.linear).max() < 1e-5 * exchanged
    assert np.abs(end.angular - start.angular).max() < 1e-5 * exchanged * 0.15


def test_a_face_and_a_free_box_keep_their_momentum():
    """A small box under the middle of a large triangle, none of whose corners is near it."""
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.05, 0.05, 0.05), xform=at(0.02, 0.01, 0.0))
    add_points(b, [(-0.5, -0.4, 0.08), (0.5, -0.4, 0.08), (0.0, 0.6, 0.08)], 0.1, velocity=(0.2, 0.0, -1.0), radius=0.01)
    b.add_triangle(0, 1, 2, tri_ke=1.0e3, tri_ka=1.0e3, tri_kd=0.0)
    model = finalize(b, ke=2.0e3)
    pipeline = hooke.CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True)
    start = measure_momentum(model, model.state())
    state, _, _ = take(model, 20, pipeline=pipeline, iterations=30)
    end = measure_momentum(model, state)
    pushed = float(model.body_mass.numpy()[0]) * np.linalg.norm(state.body_qd.numpy()[0, :3])
    assert pushed > 0.05
    assert np.abs(end.linear - start.linear).max() < 1e-5 * pushed
    assert np.abs(end.angular - start.angular).max() < 2e-3 * pushed  # the triangle itself turns, which backward Euler damps


def test_a_particle_held_by_a_spinning_body_keeps_both_turning():
    """Attached off the centre, 200 steps: linear and angular momentum to rounding, and it stays where it is held."""
    b = hooke.ModelBuilder(gravity=0.0)
    body = b.add_body(xform=at(0.0, 0.0, 0.0), mass=1.0, inertia=INERTIA)
    add_points(b, [(0.3, 0.1, 0.0)], 0.4)
    b.add_attachment_particle_body(0, body, body_point=(0.3, 0.1, 0.0), stiffness=1.0e4)
    model = finalize(b)
    state = model.state()
    state.body_qd.assign([(0.0, 0.0, 0.0, 0.5, 0.3, 2.0)])
    state.particle_qd.assign([np.cross((0.5, 0.3, 2.0), (0.3, 0.1, 0.0))])
    start = measure_momentum(model, state)
    state, _, _ = take(model, 200, state=state)
    end = measure_momentum(model, state)
    assert np.abs(end.linear - start.linear).max() < 1e-5
    assert np.abs(end.angular - start.angular).max() < 1e-5 * np.linalg.norm(start.angular)
    distance = np.linalg.norm(state.particle_q.numpy()[0] - state.body_q.numpy()[0, :3])
    assert distance == pytest.approx(np.hypot(0.3, 0.1), abs=1e-3)


def test_a_chain_of_particles_swings_a_body():
    """A body hangs from springs whose last particle is attached to it: it is carried with its weight, and swings as a pendulum does."""
    b = hooke.ModelBuilder()
    count, length = 4, 0.1
    add_points(b, [(0.0, 0.0, -length * i) for i in range(count)], [0.0] + [0.01] * (count - 1), radius=0.01)
    for i in range(count - 1):
        b.add_spring(i, i + 1, 2.0e4, 1.0)
    body = b.add_body(xform=at(0.0, 0.0, -length * count), mass=2.0, inertia=0.002 * np.eye(3))
    b.add_attachment_particle_body(count - 1, body, body_point=(0.0, 0.0, length), stiffness=2.0e4)
    model = finalize(b)
    state = model.state()
    state.body_qd.assign([(0.2, 0.0, 0.0, 0.0, -0.5, 0.0)])
    passes, last = [], [0.2]

    def each(n, state):
        v = float(state.body_qd.numpy()[0, 0])
        if v * last[0] < 0.0:
            passes.append(n)
        last[0] = v

    state, _, _ = take(model, 240, 1 / 240, state=state, each=each, iterations=20)
    stretch = model.body_mass.numpy()[0] * GRAVITY / 2.0e4 * 4
    assert state.body_q.numpy()[0, 2] == pytest.approx(-length * count - stretch, abs=6e-3)  # swings up by up to 5 mm
    quarter = 0.5 * np.pi * np.sqrt((length * count + stretch) / GRAVITY)
    assert passes[0] / 240 == pytest.approx(quarter, rel=0.1)


# ---- weight


def test_a_pinned_cloth_carries_the_weight_of_a_box():
    b = hooke.ModelBuilder()
    grid(b, 6, 0.6, 0.0, 0.01, pinned=True)
    add_box(b, (0.12, 0.12, 0.05), 1.0, at(0.0, 0.0, 0.06))
    model = finalize(b, ke=1.0e4)
    state, solver, contacts = take(model, 240, 1 / 60, iterations=20)
    solver.update_contacts(contacts)
    carried = -contacts.force.numpy()[:, 2].sum()
    assert carried == pytest.approx(GRAVITY, rel=0.01)
    assert np.abs(state.body_qd.numpy()[0]).max() < 2e-2
    assert state.body_q.numpy()[0, 2] < 0.05
    assert np.abs(state.body_q.numpy()[0, :2]).max() < 1e-3


def test_a_cloth_lies_on_a_box_that_stands_on_the_ground():
    """The cloth rests on the box, the box on the ground carries both: rigid contacts and those of particles in one solve."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=surface())
    add_box(b, (0.2, 0.2, 0.1), 2.0, at(0.0, 0.0, 0.1), inertia=0.03 * np.eye(3))
    grid(b, 6, 0.36, 0.215, 0.02)
    model = finalize(b, ke=1.0e4)
    state, _, _ = take(model, 90, 1 / 60)
    assert np.abs(state.body_q.numpy()[0, :3] - (0.0, 0.0, 0.1)).max() < 2e-3
    assert np.abs(state.body_qd.numpy()[0]).max() < 1e-3
    q = state.particle_q.numpy()
    assert q[:, 2].min() > 0.207 and q[:, 2].max() < 0.212
    assert np.abs(state.particle_qd.numpy()).max() < 1e-2


# ---- nothing dropped


def cloth_on_a_free_box():
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.15, 0.15, 0.05))
    grid(b, 5, 0.25, 0.09, 0.01)
    model = finalize(b)
    state = model.state()
    state.particle_qd.assign(np.tile((0.3, 0.1, -1.0), (model.particle_count, 1)).astype(np.float32))
    return model, state


def test_sizes_of_buffers_change_nothing():
    results = []
    for size in (1, 2, 4, 256):
        model, state = cloth_on_a_free_box()
        pipeline = hooke.CollisionPipeline(model, soft_contact_max=size)
        state, solver, _ = take(model, 12, state=state, pipeline=pipeline, rigid_body_particle_contact_buffer_size=size)
        assert not solver.status.overflow
        results.append(state)
    assert np.linalg.norm(results[0].body_qd.numpy()[0, :3]) > 0.1
    assert all(same(result, results[0]) for result in results[1:])


def test_a_cloth_and_a_free_box_keep_their_momentum():
    model, state = cloth_on_a_free_box()
    start = measure_momentum(model, state)
    state, _, _ = take(model, 12, state=state, iterations=40, particle_acceleration="anderson")
    end = measure_momentum(model, state)
    pushed = float(model.body_mass.numpy()[0]) * np.linalg.norm(state.body_qd.numpy()[0, :3])
    assert np.abs(end.linear - start.linear).max() < 5e-5 * pushed


@pytest.mark.parametrize("acceleration", [None, "anderson", "multilevel"])
def test_workers_graphs_and_resets_make_no_difference(monkeypatch, acceleration):
    results = []
    for graphs, workers in ((False, 1), (True, 1), (True, 2)):
        monkeypatch.setattr(config, "graphs", graphs)
        monkeypatch.setattr(config, "workers", workers)
        model, state = cloth_on_a_free_box()
        begin = arrays_of(state)
        state, solver, _ = take(model, 8, state=state, particle_acceleration=acceleration)
        results.append(state)
        again = model.state()
        solver.reset(again)
        for name, value in zip(("particle_q", "particle_qd", "body_q", "body_qd"), begin, strict=True):
            getattr(again, name).assign(value)
        results.append(take(model, 8, state=again, solver=solver)[0])
    assert all(same(result, results[0]) for result in results[1:])


def test_lanes_do_what_single_particles_do(monkeypatch):
    results = []
    for lanes in (True, False):
        monkeypatch.setattr(config, "lanes", lanes)
        model, state = cloth_on_a_free_box()
        results.append(take(model, 12, state=state)[0])
    for a, b in zip(*map(arrays_of, results), strict=True):
        assert np.allclose(a, b, atol=2e-4)


# ---- grip


def gripper(stiffness=2.0e4):
    """A soft cube between two fingers on sliders at a wrist that a slider lifts."""
    b = hooke.ModelBuilder()
    size, cells, young = 0.1, 3, 5.0e4
    b.add_soft_grid(
        pos=(-size / 2,) * 3, rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=cells, dim_y=cells, dim_z=cells, cell_x=size / cells,
        cell_y=size / cells, cell_z=size / cells, density=300.0, k_mu=young / 2.6, k_lambda=young * 0.3 / 0.52, k_damp=5.0,
        particle_radius=0.005,
    )  # fmt: skip
    wrist = b.add_link(xform=at(0.0, 0.0, 0.15), mass=1.0, inertia=0.01 * np.eye(3))
    options = {"target_ke": stiffness, "target_kd": 400.0}
    joints = [b.add_joint_prismatic(-1, wrist, axis="Z", parent_xform=at(0.0, 0.0, 0.15), **options)]
    for x in (-0.075, 0.075):
        finger = b.add_link(xform=at(x, 0.0, 0.0), mass=0.2, inertia=0.001 * np.eye(3))
        b.add_shape_box(finger, hx=0.015, hy=0.06, hz=0.06, cfg=surface(mu=0.8, ke=2.0e4, kd=10.0))
        where = {"axis": "X", "parent_xform": at(x, 0.0, -0.15)}
        joints.append(b.add_joint_prismatic(wrist, finger, target_ke=1.0e3, target_kd=40.0, **where))
    b.add_articulation(joints)
    return finalize(b, ke=2.0e4, kd=10.0, mu=0.8)


def test_a_soft_cube_is_gripped_and_lifted():
    """Closed without gravity, lifted by 10 cm with it: the cube comes along without slip, the wrist carries the weight of all."""
    model = gripper()
    control = model.control()
    gravity = model.gravity.numpy().copy()
    heights = []

    def each(n, state):
        model.gravity.assign(gravity if n >= 30 else np.zeros_like(gravity))
        close, up = 0.035 * min(n / 18, 1.0), 0.1 * min(max((n - 36) / 30, 0.0), 1.0)
        control.joint_target_q.assign(np.array([up, close, -close], np.float32))
        heights.append(state.particle_q.numpy()[:, 2].mean() - state.body_q.numpy()[1:, 2].mean())

    state, _, _ = take(model, 150, 1 / 60, control=control, each=each)
    assert state.body_q.numpy()[0, 2] > 0.24
    assert np.ptp(heights[60:]) < 5e-4  # no slip, no creep
    assert abs(heights[-1] - heights[-30]) < 2e-5
    weight = GRAVITY * (model.particle_mass.numpy().sum() + model.body_mass.numpy().sum())
    sag = 0.15 + 0.1 - state.body_q.numpy()[0, 2]
    assert 2.0e4 * sag == pytest.approx(weight, rel=0.01)
    assert np.allclose(state.body_q.numpy()[1:, 0], (-0.0675, 0.0675), atol=1e-3)


# ---- self-contact, refusals, changes


def test_a_cloth_with_self_contact_pushes_a_box():
    """A cloth that falls on a free box: nothing passes, and the momentum of all is kept."""
    model, state = cloth_on_a_free_box()
    start = measure_momentum(model, state)
    options = {"particle_self_contact_radius": 0.005, "particle_self_contact_margin": 0.01}
    options |= {"iterations": 40, "particle_acceleration": "anderson"}
    state, _, _ = take(model, 12, state=state, particle_enable_self_contact=True, **options)
    end = measure_momentum(model, state)
    pushed = float(model.body_mass.numpy()[0]) * np.linalg.norm(state.body_qd.numpy()[0, :3])
    assert pushed > 0.1
    assert np.abs(end.linear - start.linear).max() < 1e-4 * pushed
    assert (state.particle_q.numpy()[:, 2] - state.body_q.numpy()[0, 2]).min() > 0.05


def test_the_documented_formulation_refuses():
    b = hooke.ModelBuilder()
    add_box(b, (0.1, 0.1, 0.1), label="crate")
    add_points(b, [(0.0, 0.0, 1.0)])
    model = finalize(b)
    with pytest.raises(NotImplementedError, match=r"rigid_compliant_alm=False.*'crate' \(index 0\).*touch its shapes"):
        SolverVBD(model, rigid_compliant_alm=False)
    b.shape_flags[0] &= ~int(hooke.ShapeFlags.COLLIDE_PARTICLES)
    SolverVBD(finalize(b), rigid_compliant_alm=False)


def test_a_body_that_becomes_kinematic_is_pushed_no_longer():
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.2, 0.2, 0.1))
    add_points(b, [(0.0, 0.0, 0.12)], 0.5, velocity=(0.0, 0.0, -1.0), radius=0.02)
    add_box(b, (0.2, 0.2, 0.1), xform=at(3.0, 0.0, 0.0))
    model = finalize(b)
    solver = SolverVBD(model)
    state, _, _ = take(model, 3, solver=solver)
    assert state.body_qd.numpy()[0, 2] < -0.01
    model.body_flags.assign([int(hooke.BodyFlags.KINEMATIC), int(hooke.BodyFlags.DYNAMIC)])
    solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    held = state.body_q.numpy()[0].copy()
    state, _, _ = take(model, 20, state=state, solver=solver)
    assert np.array_equal(state.body_q.numpy()[0], held)
    assert state.particle_qd.numpy()[0, 2] > -0.1

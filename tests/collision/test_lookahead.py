"""Contacts.lookahead: what approaches fast is seen in time, and a body that has been moved from where it comes from."""

import numpy as np
import warp as wp

import hooke
from tests.support import UPRIGHT, add_points, finalize, surface

DT = 1.0 / 60.0


def detect(model, lookahead, state=None, surface=False, repeat=1):
    pipeline = hooke.CollisionPipeline(model, enable_rigid_soft_full_surface_contact=surface)
    contacts, state = pipeline.contacts(), model.state() if state is None else state
    for value in np.broadcast_to(lookahead, repeat):
        contacts.lookahead = float(value)
        pipeline.collide(state, contacts)
    return contacts


def count(contacts):
    return int(contacts.soft_contact_count.numpy()[0])


def sphere(place, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), kinematic=True, offset=(0.0, 0.0, 0.0)):
    """A sphere of 0.1 m on a body, and a particle at the origin."""
    builder = hooke.ModelBuilder(gravity=0.0)
    body = builder.add_body(xform=(*place, *UPRIGHT), is_kinematic=kinematic, mass=1.0, inertia=np.eye(3))
    builder.add_shape_sphere(body, xform=(*offset, *UPRIGHT), radius=0.1, cfg=surface())
    add_points(builder, [(0.0, 0.0, 0.0)], 0.1, radius=0.01)
    model = finalize(builder)
    state = model.state()
    state.body_qd.assign(np.array([(*velocity, *spin)], np.float32))
    return model, state


def test_particles_are_seen_by_the_way_they_go():
    """A row within radius + gap + time x speed = 0.01 + 0.01 + 0.5 m of the ground, to 1 mm."""
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_ground_plane()
    for height in (0.019, 0.021, 0.519, 0.521):
        for speed in (-30.0, 0.0):
            add_points(builder, [(0.0, 0.0, height)], 0.1, velocity=(0.0, 0.0, speed), radius=0.01)
    model = finalize(builder)
    assert sorted(detect(model, 0.0).soft_contact_particle.numpy()[:2]) == [0, 1]
    contacts = detect(model, DT)
    assert sorted(contacts.soft_contact_particle.numpy()[: count(contacts)]) == [0, 1, 2, 4]


def test_edges_and_faces_are_seen_by_their_fastest_corner():
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_shape_sphere(-1, xform=(0.3, 0.3, 0.0, *UPRIGHT), radius=0.05, cfg=surface())
    add_points(builder, [(0.0, 0.0, 0.3), (1.0, 0.0, 0.3), (0.0, 1.0, 0.3)], 0.1, radius=0.01)
    builder.add_triangle(0, 1, 2)
    model = finalize(builder)
    assert count(detect(model, DT, surface=True)) == 0
    state = model.state()
    state.particle_qd.assign(np.array([(0, 0, 0), (0, 0, 0), (0, 0, -15.0)], np.float32))
    contacts = detect(model, DT, state, surface=True)
    rows = contacts.soft_contact_indices.numpy()[: count(contacts)].tolist()
    assert [0, 1, 2] in rows
    assert count(detect(model, 0.0, state, surface=True)) == 0


def test_bodies_are_seen_by_the_way_they_go():
    """A sphere 0.5 m away that moves at 30 m/s, or whose arm of 0.5 m turns at 60 rad/s; and a particle that flies along is not near."""
    for place, velocity, spin, offset in (
        ((0.0, 0.0, 0.5), (0.0, 0.0, -30.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((0.5, 0.0, 0.5), (0.0, 0.0, 0.0), (0.0, 60.0, 0.0), (-0.5, 0.0, 0.0)),
    ):
        model, state = sphere(place, velocity, spin, False, offset)
        assert count(detect(model, 0.0, state)) == 0
        assert count(detect(model, DT, state)) == 1
    model, state = sphere((0.0, 0.0, 0.5), (0.0, 0.0, -30.0), kinematic=False)
    state.particle_qd.assign(np.array([(0.0, 0.0, -30.0)], np.float32))
    assert count(detect(model, DT, state)) == 0


def test_a_kinematic_body_is_seen_from_where_it_comes():
    """Moved by 0.5 m past the particle: the point is the one that met it, with its normal, on the body where it is now."""
    model, state = sphere((0.0, 0.0, -0.3), (0.0, 0.0, -30.0))
    contacts = detect(model, DT, state)
    assert np.allclose(contacts.soft_contact_normal.numpy()[0], (0.0, 0.0, -1.0), atol=1e-6)
    assert np.allclose(contacts.soft_contact_body_pos.numpy()[0], (0.0, 0.0, -0.1), atol=1e-6)
    model, state = sphere((0.0, 0.0, -0.3), (0.0, 0.0, -30.0), kinematic=False)  # stands where its step begins
    assert np.allclose(detect(model, DT, state).soft_contact_normal.numpy()[0], (0.0, 0.0, 1.0), atol=1e-6)


def test_a_turning_body_is_seen_from_where_it_comes():
    """An arm of 0.5 m about its centre of mass, turned by 1 rad: point and normal turn with it."""
    rate, arm = 60.0, np.array([0.5, 0.0, 0.0])
    builder = hooke.ModelBuilder(gravity=0.0)
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.4)
    body = builder.add_body(xform=(0.0, 0.0, 0.0, *turn), is_kinematic=True)
    builder.add_shape_sphere(body, xform=(*arm, *UPRIGHT), radius=0.1, cfg=surface())
    add_points(builder, [(0.5, 0.0, 0.0)], 0.1, radius=0.01)
    model = finalize(builder)
    model.body_com.zero_()
    state = model.state()
    state.body_qd.assign(np.array([(0.0, 0.0, 0.0, 0.0, rate, 0.0)], np.float32))
    contacts = detect(model, DT, state)
    before = 0.4 - rate * DT
    seen = np.array([0.5, 0.0, 0.0])  # the particle in the frame of the body before
    c, s = np.cos(-before), np.sin(-before)
    local = np.array([c * seen[0] + s * seen[2], 0.0, -s * seen[0] + c * seen[2]]) - arm
    n = local / np.linalg.norm(local)
    c, s = np.cos(0.4), np.sin(0.4)
    assert np.allclose(contacts.soft_contact_body_pos.numpy()[0], arm + 0.1 * n, atol=1e-5)
    assert np.allclose(contacts.soft_contact_normal.numpy()[0], (c * n[0] + s * n[2], 0.0, -s * n[0] + c * n[2]), atol=1e-5)


def test_graphs_know_the_time():
    """Replayed passes with other times, in turns."""
    model, state = sphere((0.0, 0.0, 0.5), (0.0, 0.0, -30.0), kinematic=False)
    pipeline = hooke.CollisionPipeline(model)
    contacts = pipeline.contacts()
    for _ in range(4):
        for lookahead, rows in ((0.0, 0), (DT, 1), (0.5 * DT, 0)):
            contacts.lookahead = lookahead
            pipeline.collide(state, contacts)
            assert count(contacts) == rows


def test_blocks_of_particles_are_not_passed_over():
    """Thousands of particles, of which some are fast: the same rows as one by one."""
    rng = np.random.default_rng(5)
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_shape_box(-1, xform=(0.0, 0.0, 0.0, *UPRIGHT), hx=0.2, hy=0.2, hz=0.2, cfg=surface())
    places = rng.uniform(-2.0, 2.0, (1000, 3))
    for place in places:
        add_points(builder, [place], 0.1, velocity=rng.normal(size=3) * 20.0 * (rng.random() < 0.3), radius=0.01)
    model = finalize(builder)
    contacts = detect(model, DT)
    distance = np.linalg.norm(np.maximum(np.abs(places) - 0.2, 0.0), axis=1)
    speed = np.linalg.norm(model.particle_qd.numpy(), axis=1)
    wanted = np.flatnonzero((distance < 0.02 + speed * DT) & (distance > 0.0))
    found = contacts.soft_contact_particle.numpy()[: count(contacts)]
    assert set(wanted) <= set(found) and set(found) <= set(np.flatnonzero(distance < 0.02 + speed * DT + 1e-6))

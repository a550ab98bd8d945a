"""What detection leaves out must be out of reach: blocks of particles, and points far from the surface of a mesh."""

import numpy as np
import pytest
import warp as wp

from hooke import CollisionPipeline, Mesh, ModelBuilder, ShapeConfig
from hooke.collision import pipeline as pipeline_module

FIELDS = ("particle", "shape", "body_pos", "normal", "tids")


def rows_of(model, state=None):
    pipeline = CollisionPipeline(model)
    contacts = pipeline.contacts()
    pipeline.collide(model.state() if state is None else state, contacts)
    count = int(contacts.soft_contact_count.numpy()[0])
    return {name: getattr(contacts, f"soft_contact_{name}").numpy()[:count] for name in FIELDS}


def cloud(builder, points, radius=0.02):
    n = len(points)
    builder.add_particles(points, np.zeros((n, 3)), np.ones(n), np.full(n, radius))


def clusters(rng, count, spread=0.3, size=70):
    """Particles in clusters, so that many blocks of neighbours lie far from everything."""
    middles = rng.uniform(-3.0, 3.0, size=(count, 1, 3))
    return (middles + rng.normal(scale=spread, size=(count, size, 3))).reshape(-1, 3)


def turned_shapes(builder, rng, count):
    for n in range(count):
        axis = rng.normal(size=3)
        pose = wp.transform(wp.vec3(*rng.uniform(-2, 2, 3)), wp.quat_from_axis_angle(wp.normalize(wp.vec3(*axis)), float(n)))
        cfg = ShapeConfig(margin=0.03 * n)
        add = (builder.add_shape_box, builder.add_shape_sphere, builder.add_shape_capsule, builder.add_shape_cone)[n % 4]
        add(-1, xform=pose, cfg=cfg)


@pytest.mark.parametrize("worlds", [0, 3])
def test_blocks_lose_no_contact(worlds, monkeypatch):
    rng = np.random.default_rng(worlds)
    b = ModelBuilder()
    turned_shapes(b, rng, 12)
    for _ in range(worlds):
        b.begin_world()
        turned_shapes(b, rng, 2)
        cloud(b, clusters(rng, 9))
        b.end_world()
    cloud(b, clusters(rng, 12))
    model = b.finalize(device="cpu")
    state = model.state()
    q = state.particle_q.numpy()
    q[130], q[200], q[-3] = np.nan, np.inf, -np.inf
    state.particle_q.assign(q)
    blocks = rows_of(model, state)
    monkeypatch.setattr(pipeline_module, "_BLOCK", 1)
    single = rows_of(model, state)
    assert 50 < len(single["particle"]) < model.particle_count
    for name in FIELDS:
        np.testing.assert_array_equal(blocks[name], single[name])


def rings():
    """Two tori through each other, as one mesh whose parts overlap: closed, and not star-shaped."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 40, endpoint=False), np.linspace(0, 2 * np.pi, 16, endpoint=False), indexing="ij")
    ring = np.stack(((1 + 0.3 * np.cos(v)) * np.cos(u), (1 + 0.3 * np.cos(v)) * np.sin(u), 0.3 * np.sin(v)), axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(40), np.arange(16), indexing="ij")
    a, b, c, d = ((i + di) % 40 * 16 + (j + dj) % 16 for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)))
    triangles = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    other = ring[:, [0, 2, 1]] * np.array([1.0, 1.0, -1.0]) + np.array([1.0, 0.0, 0.0])
    return Mesh(np.concatenate([ring, other]), np.concatenate([triangles, triangles + len(ring)]))


def in_ring(points):
    """Depth [m] in the deeper of the two tori; negative outside."""
    near = np.stack([np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1.0, points[:, 2]),
                     np.hypot(np.hypot(points[:, 0] - 1.0, points[:, 2]) - 1.0, points[:, 1])])  # fmt: skip
    return 0.3 - near.min(axis=0)


def test_what_is_deep_in_a_mesh_is_found_and_what_is_far_outside_is_not():
    mesh = rings()
    assert mesh.is_watertight
    b = ModelBuilder()
    b.add_shape_mesh(-1, mesh=mesh)
    points = np.random.default_rng(1).uniform((-1.4, -1.4, -1.4), (2.4, 1.4, 1.4), size=(20000, 3))
    cloud(b, points, radius=0.01)
    found = np.zeros(len(points), bool)
    found[rows_of(b.finalize(device="cpu"))["particle"]] = True
    depth = in_ring(points)
    assert (depth > 0.2).sum() > 200
    assert found[depth > 0.0].all()
    assert not found[depth < -0.05].any()


def test_what_is_far_behind_an_open_mesh_is_found():
    """A sheet with a rim: behind it everything within its bounds is inside."""
    sheet = Mesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, -1)], [0, 1, 2, 0, 2, 3, 0, 4, 1])
    assert not sheet.is_watertight
    b = ModelBuilder()
    b.add_shape_mesh(-1, mesh=sheet)
    points = np.array([(0.5, 0.5, -0.7), (0.4, 0.6, -0.2), (0.5, 0.5, 0.02), (0.5, 0.5, 0.5)])
    cloud(b, points, radius=0.02)
    assert rows_of(b.finalize(device="cpu"))["particle"].tolist() == [0, 1, 2]

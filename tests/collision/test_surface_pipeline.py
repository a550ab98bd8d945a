"""Contacts of edges and faces: scenes whose contacts are known, who meets whom, order, buffers and workers."""

import numpy as np
import pytest
import warp as wp

from hooke import CollisionPipeline, Heightfield, Mesh, ModelBuilder, ParticleFlags, ShapeConfig, config
from hooke.collision import pipeline as pipeline_module
from hooke.collision.measure import measure_penetration

FIELDS = ("particle", "indices", "barycentric", "shape", "body_pos", "body_vel", "normal", "tids")
LARGE = np.array([(-1, -1, 0), (1, -1, 0), (0, 2, 0)], float)  # centre at the origin
RADIUS = 0.01


def at(x, y, z, axis=(0, 0, 1), angle=0.0):
    return wp.transform(wp.vec3(x, y, z), wp.quat_from_axis_angle(wp.vec3(*axis), angle))


LYING = {"axis": (0, 1, 0), "angle": np.pi / 2}  # a Z axis along X


def add_triangles(b, points, triangles=((0, 1, 2),), radius=RADIUS, **options):
    first = b.particle_count
    n = len(points)
    b.add_particles(np.asarray(points, float), np.zeros((n, 3)), np.ones(n), np.full(n, radius), **options)
    for triangle in triangles:
        b.add_triangle(*(first + np.array(triangle)).tolist())


def model_of(add_shapes, points=LARGE, triangles=((0, 1, 2),), **options):
    b = ModelBuilder()
    add_shapes(b)
    add_triangles(b, points, triangles, **options)
    return b.finalize(device="cpu")


def rows_of(contacts):
    n = min(int(contacts.soft_contact_count.numpy()[0]), contacts.soft_contact_max)
    return {name: getattr(contacts, f"soft_contact_{name}").numpy()[:n].copy() for name in FIELDS}


def detect(model, state=None, surface=True, **options):
    pipeline = CollisionPipeline(model, enable_rigid_soft_full_surface_contact=surface, **options)
    contacts = pipeline.contacts()
    pipeline.collide(model.state() if state is None else state, contacts)
    return rows_of(contacts)


def equal(one, two):
    for name in FIELDS:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def points_of(model, rows):
    corners = rows["indices"]
    return np.einsum("rc,rcd->rd", rows["barycentric"], model.particle_q.numpy()[corners])


# ---- what is between the particles


def _box(x, y, z):
    corners = np.array([[i, j, k] for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)]) * np.array([x, y, z])
    quads = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
    return corners, quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1)


POSTS = {
    "sphere": lambda b, z: b.add_shape_sphere(-1, xform=at(0, 0, z - 0.005), radius=0.005),
    "capsule": lambda b, z: b.add_shape_capsule(-1, xform=at(0, 0, z - 0.505), radius=0.005, half_height=0.5),
    "ellipsoid": lambda b, z: b.add_shape_ellipsoid(-1, xform=at(0, 0, z - 0.1), rx=0.02, ry=0.02, rz=0.1),
    "cone": lambda b, z: b.add_shape_cone(-1, xform=at(0, 0, z - 0.5), radius=0.05, half_height=0.5),
    "mesh peak": lambda b, z: b.add_shape_mesh(
        -1, xform=at(0, 0, z), mesh=Mesh([(0, 0, 0), (0.1, 0, -0.5), (-0.1, 0.1, -0.5), (-0.1, -0.1, -0.5)],
                                         [0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2])),
    "height field": lambda b, z: b.add_shape_heightfield(
        heightfield=Heightfield(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]]), 3, 3, hx=1.5, hy=2.5, min_z=z - 0.4, max_z=z)),
}  # fmt: skip


BLUNT = ("sphere", "capsule", "ellipsoid")  # inside a sharp tip another side of it is nearer


@pytest.mark.parametrize(("name", "depth"), [(name, -0.004) for name in POSTS] + [(name, 0.002) for name in BLUNT])
def test_a_post_under_the_middle_of_a_triangle(name, depth):
    """A row of the face alone, at its centre and with its normal up."""
    model = model_of(lambda b: POSTS[name](b, depth))
    rows = detect(model)
    assert rows["indices"].tolist() == [[0, 1, 2]] and rows["particle"].tolist() == [-1]
    np.testing.assert_allclose(rows["barycentric"][0], 1 / 3, atol=1e-3)
    np.testing.assert_allclose(rows["normal"][0], (0, 0, 1), atol=0.03)
    np.testing.assert_allclose(rows["body_pos"][0], (0, 0, depth), atol=3e-4)
    assert rows["normal"][0] @ (points_of(model, rows)[0] - rows["body_pos"][0]) == pytest.approx(-depth, abs=1e-5)


def test_the_corner_of_a_box_under_a_triangle():
    tilt = wp.quat_rpy(np.pi / 4, float(np.arctan(np.sqrt(0.5))), 0.0)  # stands on a corner
    height = 0.1 * np.sqrt(3)
    add = lambda b: b.add_shape_box(-1, xform=wp.transform(wp.vec3(0.2, 0.1, -height - 0.003), tilt), hx=0.1, hy=0.1, hz=0.1)
    rows = detect(model_of(add))
    assert rows["indices"].tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(rows["normal"][0], (0, 0, 1), atol=0.02)
    np.testing.assert_allclose(rows["body_pos"][0], (0.2, 0.1, -0.003), atol=1e-4)


@pytest.mark.parametrize("as_mesh", [False, True])
def test_a_thin_rod_across_two_edges(as_mesh):
    """It touches the triangle all along: a row where it crosses each of the two edges, and none of the face."""

    def add(b):
        if as_mesh:
            corners, indices = _box(5.0, 0.005, 0.005)
            b.add_shape_mesh(-1, xform=at(0, -0.4, -0.006), mesh=Mesh(corners + [0.7, 0, 0], indices))
        else:
            b.add_shape_capsule(-1, xform=at(0, -0.4, -0.006, **LYING), radius=0.005, half_height=5.0)

    model = model_of(add)
    rows = detect(model)
    assert sorted(map(sorted, rows["indices"].tolist())) == [[-1, 0, 2], [-1, 1, 2]]
    x = points_of(model, rows)
    np.testing.assert_allclose(x[:, 1], -0.4, atol=6e-3 if as_mesh else 1e-3)
    np.testing.assert_allclose(np.abs(x[:, 0]), 0.8, atol=3e-3)
    np.testing.assert_allclose(rows["normal"], [(0, 0, 1)] * 2, atol=0.02)
    np.testing.assert_allclose(rows["body_pos"][:, 2], -0.001, atol=1e-5)


def test_a_short_rod_under_a_face():
    """All along it the face is as near: one row, somewhere along the rod."""
    rows = detect(model_of(lambda b: b.add_shape_capsule(-1, xform=at(0, 0, -0.006, **LYING), radius=0.005, half_height=0.1)))
    assert rows["indices"].tolist() == [[0, 1, 2]]
    assert abs(rows["body_pos"][0][0]) <= 0.1 + 1e-3
    np.testing.assert_allclose(rows["body_pos"][0][1:], (0, -0.001), atol=1e-3)
    np.testing.assert_allclose(rows["normal"][0], (0, 0, 1), atol=0.03)


@pytest.mark.parametrize("as_mesh", [False, True])
def test_the_rim_of_a_box_under_a_triangle(as_mesh):
    """A corner rests on the box 1 mm above it, the two others hang down beside it: its rim holds the two edges that cross it."""

    def add(b):
        if as_mesh:
            b.add_shape_mesh(-1, xform=at(-1, 0, -0.5), mesh=Mesh(*_box(1, 1, 0.5)))
        else:
            b.add_shape_box(-1, xform=at(-1, 0, -0.5), hx=1, hy=1, hz=0.5)

    model = model_of(add, [(-0.5, 0, 0.25), (0.5, -0.4, -0.25 + 0.002), (0.5, 0.4, -0.25 + 0.002)])
    rows = detect(model)
    assert sorted(map(sorted, rows["indices"].tolist())) == [[-1, 0, 1], [-1, 0, 2]]
    across = np.array([0.498, 1.0, 0]) / np.linalg.norm(
        [0.498, 1.0]
    )  # of a section along x: the normal of the plane of the triangle
    np.testing.assert_allclose(rows["body_pos"], [(0, -0.2, 0), (0, 0.2, 0)], atol=2e-3)
    np.testing.assert_allclose(rows["normal"][:, [0, 2]], [across[:2]] * 2, atol=0.02)


@pytest.mark.parametrize("surface", ["plane", "box", "mesh"])
def test_a_flat_cloth_on_a_flat_shape_needs_no_more_than_its_particles(surface):
    b = ModelBuilder()
    if surface == "plane":
        b.add_ground_plane()
    elif surface == "box":
        b.add_shape_box(-1, xform=at(0, 0, -0.5), hx=1, hy=1, hz=0.5)
    else:
        vertices = [(x, y, 0.0) for y in np.linspace(-1, 1, 9) for x in np.linspace(-1, 1, 8)]
        quads = np.array([(8 * j + i, 8 * j + i + 1, 8 * j + i + 9, 8 * j + i + 8) for j in range(8) for i in range(7)])
        b.add_shape_mesh(-1, mesh=Mesh(vertices, quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1)))
    b.add_cloth_grid(
        pos=wp.vec3(-0.5, -0.5, 0.012), rot=wp.quat_from_axis_angle(wp.vec3(0, 0, 1), 0.3), vel=wp.vec3(0.0), dim_x=6, dim_y=5,
        cell_x=0.1, cell_y=0.1, mass=0.1, particle_radius=RADIUS,
    )  # fmt: skip
    model = b.finalize(device="cpu")
    plain = detect(model, surface=False)
    assert len(plain["particle"]) == 42
    equal(detect(model), plain)


def test_a_shape_on_a_body_that_moved():
    """The point is given in the frame of the body."""
    b = ModelBuilder()
    body = b.add_body(xform=at(5, 5, 5), is_kinematic=True, mass=1.0, inertia=np.eye(3))
    b.add_shape_sphere(body, xform=at(0.3, 0, 0), radius=0.1, cfg=ShapeConfig(density=0.0, margin=0.02))
    add_triangles(b, LARGE)
    model = b.finalize(device="cpu")
    state = model.state()
    state.body_q.assign(np.array([[0.1, 0.2, 0.175, 0, np.sin(np.pi / 4), 0, np.cos(np.pi / 4)]], np.float32))
    rows = detect(model, state)  # the sphere is at (0.1, 0.2, -0.125)
    assert rows["indices"].tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(points_of(model, rows)[0], (0.1, 0.2, 0), atol=1e-3)
    np.testing.assert_allclose(rows["normal"][0], (0, 0, 1), atol=0.01)
    np.testing.assert_allclose(rows["body_pos"][0], (0.2, 0, 0), atol=1e-3)


# ---- who meets whom


def draped(b, **options):
    """A cloth over spheres, a box and a rod, with all kinds of rows."""
    b.add_shape_sphere(-1, xform=at(0.3, 0.3, -0.2), radius=0.2)
    b.add_shape_box(-1, xform=at(0.75, 0.7, -0.1, axis=(1, 1, 0), angle=0.6), hx=0.1, hy=0.1, hz=0.1)
    b.add_shape_capsule(-1, xform=at(0.5, 0.5, -0.01, **LYING), radius=0.005, half_height=0.6)
    for k in range(6):
        b.add_shape_sphere(-1, xform=at(0.083 * (k + 0.36), 0.09 * (k + 4.7), -0.012), radius=0.01)
    b.add_cloth_grid(
        pos=wp.vec3(0.0, 0.0, -0.003), rot=wp.quat_identity(), vel=wp.vec3(0.0), dim_x=12, dim_y=11, cell_x=0.083, cell_y=0.09,
        mass=0.1, particle_radius=RADIUS, **options,
    )  # fmt: skip


def kinds(rows):
    """0 for rows of particles, 1 of edges, 2 of faces."""
    return (rows["indices"] >= 0).sum(axis=1) - 1


def draped_model():
    b = ModelBuilder()
    draped(b)
    return b.finalize(device="cpu")


def test_rows_of_particles_come_first_and_stay_as_they_are():
    model = draped_model()
    plain, rows = detect(model, surface=False), detect(model)
    kind = kinds(rows)
    assert (np.bincount(kind) > 3).all() and len(np.bincount(kind)) == 3
    assert (np.diff(kind) >= 0).all()
    equal({name: rows[name][kind == 0] for name in FIELDS}, plain)
    pairs = [(*sorted(i), s) for i, s in zip(rows["indices"].tolist(), rows["shape"].tolist())]
    assert len(set(pairs)) == len(pairs)
    equal(detect(model), rows)
    default = CollisionPipeline(model)
    contacts = default.contacts()
    default.collide(model.state(), contacts)
    equal(rows_of(contacts), plain)


def test_a_point_inside_is_nearer_than_the_border():
    model = draped_model()
    rows = detect(model)
    inside = rows["barycentric"][kinds(rows) == 2]
    assert (inside > 0).all() and (rows["barycentric"][kinds(rows) == 1][:, :2] > 0).all()
    x = points_of(model, rows)
    np.testing.assert_allclose(rows["barycentric"].sum(axis=1), 1.0, atol=1e-6)
    gap = np.einsum("rd,rd->r", rows["normal"], x - rows["body_pos"])
    np.testing.assert_allclose(rows["body_pos"] + gap[:, None] * rows["normal"], x, atol=1e-5)


def test_worlds():
    """A shared sphere, one in each of two worlds, all at one place; a triangle in each world and a shared one."""
    b = ModelBuilder()
    sphere = lambda: b.add_shape_sphere(-1, xform=at(0, 0, -0.1), radius=0.1)
    sphere()
    for _ in range(2):
        b.begin_world()
        sphere()
        add_triangles(b, LARGE)
        b.end_world()
    add_triangles(b, LARGE)
    model = b.finalize(device="cpu")
    rows = detect(model)
    met = list(zip(rows["indices"][:, 0].tolist(), rows["shape"].tolist()))
    assert met == [(0, 0), (0, 1), (3, 0), (3, 2), (6, 0), (6, 1), (6, 2)]
    pipeline = CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True)
    assert pipeline.soft_contact_pair_count == (3 + 3 + 1) * (2 + 2 + 3)  # 3 particles, 3 edges and a face each


def test_a_facet_of_a_world_and_of_shared_particles_is_of_the_world():
    b = ModelBuilder()
    for _ in range(2):
        b.begin_world()
        b.add_shape_sphere(-1, xform=at(0, 0, -0.1), radius=0.1)
        b.add_particle(LARGE[0].tolist(), (0, 0, 0), 1.0, RADIUS)
        b.end_world()
    b.add_particles(LARGE[1:], np.zeros((2, 3)), np.ones(2), np.full(2, RADIUS))
    b.add_triangle(1, 2, 3)
    rows = detect(b.finalize(device="cpu"))
    assert rows["indices"].tolist() == [[1, 2, 3]] and rows["shape"].tolist() == [1]


def test_one_active_corner_is_enough():
    add = lambda b: b.add_shape_sphere(-1, xform=at(0, 0, -0.1), radius=0.1)
    on, off = int(ParticleFlags.ACTIVE), 0
    assert len(detect(model_of(add, flags=[off, off, on]))["shape"]) == 1
    assert len(detect(model_of(add, flags=[off, off, off]))["shape"]) == 0
    assert len(detect(model_of(add, flags=[on, on, on]))["shape"]) == 1


def test_shapes_that_do_not_meet_particles():
    off = ShapeConfig(has_particle_collision=False)
    assert len(detect(model_of(lambda b: b.add_shape_sphere(-1, xform=at(0, 0, -0.1), radius=0.1, cfg=off)))["shape"]) == 0


def test_radius_margin_and_gap():
    """The largest radius of the corners counts."""
    b = ModelBuilder()
    b.add_shape_sphere(-1, xform=at(0, 0, -0.2), radius=0.1, cfg=ShapeConfig(margin=0.03))
    b.add_particles(LARGE, np.zeros((3, 3)), np.ones(3), [0.01, 0.05, 0.02])
    b.add_triangle(0, 1, 2)
    model = b.finalize(device="cpu")
    assert len(detect(model, soft_contact_gap=0.0201)["shape"]) == 1
    assert len(detect(model, soft_contact_gap=0.0199)["shape"]) == 0


def test_facets_without_extent_or_place():
    """A triangle without area has edges but no face; one with a corner that is no number has nothing, and disturbs no other."""
    add = lambda b: b.add_shape_sphere(-1, xform=at(0, 0, -0.1), radius=0.1)
    points = np.concatenate([LARGE, LARGE])
    model, state = model_of(add, points, [(0, 1, 2), (3, 4, 5)]), None
    for change, found in (([(-1, 0, 0), (0.5, 0, 0), (1, 0, 0)], [[0, 1, -1], [2, 0, -1]]), ([(0, 0, 9)] * 3, []),
                          ([(np.nan, 0, 0), (0, 1, 0), (1, 0, 0)], [])):  # fmt: skip
        state = model.state()
        points[:3] = change
        state.particle_q.assign(points.astype(np.float32))
        assert detect(model, state)["indices"].tolist() == [*found, [3, 4, 5]]


def test_a_soft_body_has_its_surface():
    b = ModelBuilder()
    b.add_shape_sphere(-1, xform=at(0.055, 0.03, -0.0105), radius=0.01)
    b.add_soft_grid(
        pos=wp.vec3(0.0), rot=wp.quat_identity(), vel=wp.vec3(0.0), dim_x=1, dim_y=1, dim_z=1, cell_x=0.11, cell_y=0.12, cell_z=0.1,
        density=100.0, k_mu=1e4, k_lambda=1e4, k_damp=0.0, particle_radius=0.002,
    )  # fmt: skip
    rows = detect(b.finalize(device="cpu"), soft_contact_gap=0.005)
    assert kinds(rows).tolist() == [2]
    np.testing.assert_allclose(rows["normal"], [(0, 0, 1)], atol=0.05)


def test_no_triangles_no_facets():
    b = ModelBuilder()
    b.add_shape_sphere(-1, radius=0.1)
    b.add_particle((0, 0, 0.1), (0, 0, 0), 1.0, RADIUS)
    model = b.finalize(device="cpu")
    equal(detect(model), detect(model, surface=False))
    assert len(detect(model)["shape"]) == 1


# ---- buffers, blocks, workers


@pytest.mark.parametrize("size", [0, 1, 20])
def test_a_buffer_that_is_too_small_grows(size):
    model = draped_model()
    rows = detect(model)
    assert len(rows["shape"]) > size
    equal(detect(model, soft_contact_max=size), rows)


def test_blocks_lose_no_contact(monkeypatch):
    model = draped_model()
    rows = detect(model)
    monkeypatch.setattr(pipeline_module, "_BLOCK", 1)
    equal(detect(model), rows)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_find_the_same(workers, monkeypatch):
    model = draped_model()
    expected = detect(model)
    monkeypatch.setattr(config, "workers", workers)
    pipeline = CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True, soft_contact_max=5)
    contacts, state = pipeline.contacts(), model.state()
    for _ in range(6):  # at first it grows, then it is recorded, then replayed
        pipeline.collide(state, contacts)
        equal(rows_of(contacts), expected)


def test_the_depth_of_facets_is_measured():
    model = model_of(lambda b: b.add_shape_sphere(-1, xform=at(0, 0, -0.1), radius=0.104, cfg=ShapeConfig(margin=0.002)))
    pipeline = CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True)
    contacts, state = pipeline.contacts(), model.state()
    pipeline.collide(state, contacts)
    assert measure_penetration(model, state, contacts) == pytest.approx(RADIUS + 0.002 + 0.004, abs=1e-5)

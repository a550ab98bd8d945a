"""Contacts of meshes and heightfields: those of the solids they look like, without the sides between triangles."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import CollisionPipeline, Heightfield, Mesh, ModelBuilder
from hooke.collision.triangle_pairs import across_sides
from tests.collision.test_rigid_rows import in_world, rows_of, same, separation
from tests.support import UPRIGHT

DEPTH = 1.0e-3
HALF = 0.1
FAR = (0.0, 0.0, -100.0, *UPRIGHT)


def grid_mesh(cells=8, half=1.0, height=lambda x, y: 0.0 * x):
    """A sheet over [-half, half]^2 that looks up."""
    x, y = np.meshgrid(np.linspace(-half, half, cells + 1), np.linspace(-half, half, cells + 1))
    vertices = np.stack([x, y, height(x, y)], axis=-1).reshape(-1, 3)
    a = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).reshape(-1)
    triangles = np.stack([a, a + 1, a + cells + 2, a, a + cells + 2, a + cells + 1], axis=-1)
    return Mesh(vertices, triangles.reshape(-1), compute_inertia=False)


def box_mesh(half=1.0):
    """A box with 8 vertices, wound outward."""
    return Mesh.create_box(half, half, half)


BOX, GRID = box_mesh(), grid_mesh()


def builder(gap=0.005):
    """With one shape of every kind that the tests use, far below: all of them share one set of kernels."""
    b = ModelBuilder()
    b.rigid_gap = gap
    b.add_shape_sphere(-1, radius=0.1, xform=FAR)
    b.add_shape_box(-1, xform=FAR)
    b.add_shape_mesh(-1, mesh=BOX, xform=FAR)
    b.add_shape_heightfield(heightfield=Heightfield(np.zeros((2, 2)), 2, 2, 1.0, 1.0), xform=FAR)
    b.add_shape_plane(xform=FAR, width=1.0, length=1.0)
    return b


def detect(b, **options):
    model = b.finalize(device="cpu")
    pipeline = CollisionPipeline(model, **options)
    contacts = pipeline.contacts()
    state = model.state()
    pipeline.collide(state, contacts)
    rows = rows_of(contacts)
    return model, state, rows, pipeline


GROUNDS = {
    "plane": lambda b: b.add_ground_plane(),
    "finite plane": lambda b: b.add_shape_plane(width=2.0, length=2.0),
    "mesh": lambda b: b.add_shape_mesh(-1, mesh=GRID),
    "large triangles": lambda b: b.add_shape_mesh(-1, mesh=grid_mesh(1)),
    "heightfield": lambda b: b.add_shape_heightfield(heightfield=Heightfield(np.zeros((9, 9)), 9, 9, 1.0, 1.0)),
    "box": lambda b: b.add_shape_box(-1, hx=1.0, hy=1.0, hz=0.5, xform=(0.0, 0.0, -0.5, *UPRIGHT)),
    "box mesh": lambda b: b.add_shape_mesh(-1, mesh=BOX, scale=(1.0, 1.0, 0.5), xform=(0.0, 0.0, -0.5, *UPRIGHT)),
}
THINGS = {
    "box": lambda b, body: b.add_shape_box(body, hx=HALF, hy=HALF, hz=HALF),
    "box mesh": lambda b, body: b.add_shape_mesh(body, mesh=BOX, scale=(HALF, HALF, HALF)),
    "mirrored": lambda b, body: b.add_shape_mesh(body, mesh=BOX, scale=(HALF, -HALF, HALF)),
}


@pytest.mark.parametrize("first", ["ground", "thing"])
@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("height", [-DEPTH, 0.002])
def test_a_box_on_the_ground(ground, thing, first, height):
    """Whatever both are made of and in whichever order: contacts at the four corners, all upward, of the right depth, few others."""
    b = builder()
    for what in (first, "thing" if first == "ground" else "ground"):
        if what == "ground":
            GROUNDS[ground](b)
        else:
            THINGS[thing](b, b.add_body(xform=(0.03, 0.02, HALF + height, *UPRIGHT)))
    model, state, rows, _ = detect(b)
    assert 4 <= len(rows["shape0"]) <= 9
    up = np.where(model.shape_body.numpy()[rows["shape1"]] >= 0, 1.0, -1.0)
    np.testing.assert_allclose(rows["normal"] * up[:, None], np.tile([0.0, 0.0, 1.0], (len(up), 1)), atol=1e-5)
    np.testing.assert_allclose(separation(model, state, rows), height, atol=2e-6)
    points = in_world(model, state, rows["shape1"], rows["point1"])[:, :2] - (0.03, 0.02)
    for corner in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        assert np.linalg.norm(points - HALF * np.array(corner), axis=1).min() < 0.012, corner  # of a triangle four points are kept


@pytest.mark.parametrize("ground", ["mesh", "large triangles", "heightfield"])
def test_a_sphere_sees_no_sides_between_triangles(ground):
    """Spheres everywhere on flat ground, also right above sides and corners of triangles: one contact each, straight up."""
    b = builder()
    GROUNDS[ground](b)
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.7, 0.7, (60, 2))
    places[:20] = 0.25 * np.round(places[:20] / 0.25)
    places[20:40, 0] = places[20:40, 1]
    for x, y in places:
        b.add_shape_sphere(b.add_body(xform=(x, y, HALF - DEPTH, *UPRIGHT)), radius=HALF, cfg=hooke.ShapeConfig(collision_group=-1))
    b.shape_collision_group[5] = 1
    model, state, rows, _ = detect(b)
    assert len(rows["shape0"]) == 60
    np.testing.assert_allclose(np.abs(rows["normal"][:, 2]), 1.0, atol=1e-5)
    np.testing.assert_allclose(separation(model, state, rows), -DEPTH, atol=2e-6)


def test_a_sphere_in_a_groove_touches_both_sides():
    b = builder()
    b.add_shape_mesh(-1, mesh=grid_mesh(8, height=lambda x, y: np.abs(x)))
    b.add_shape_sphere(b.add_body(xform=(0.0, 0.1, np.sqrt(2.0) * (HALF - DEPTH), *UPRIGHT)), radius=HALF)
    model, state, rows, _ = detect(b)
    assert len(rows["shape0"]) == 2
    np.testing.assert_allclose(np.sort(rows["normal"][:, 0]), [-np.sqrt(0.5), np.sqrt(0.5)], atol=1e-5)
    np.testing.assert_allclose(separation(model, state, rows), -DEPTH, atol=2e-6)


@pytest.mark.parametrize("first", ["ground", "thing"])
@pytest.mark.parametrize("ground", ["box mesh", "heightfield", "mesh"])
def test_what_is_wholly_inside_comes_out(ground, first):
    """A small sphere and a small box 0.2 m below the surface, out of sight of every triangle; an open mesh has no inside."""
    b = builder()
    for what in (first, "thing" if first == "ground" else "ground"):
        if what == "ground":
            GROUNDS[ground](b)
        else:
            b.add_shape_sphere(b.add_body(xform=(0.3, 0.1, -0.2, *UPRIGHT)), radius=0.05)
            b.add_shape_box(b.add_body(xform=(-0.3, 0.1, -0.2, *UPRIGHT)), hx=0.05, hy=0.05, hz=0.05)
    model, state, rows, _ = detect(b)
    assert len(rows["shape0"]) == (0 if ground == "mesh" else 2)
    if len(rows["shape0"]):
        moving = model.shape_body.numpy()[rows["shape1"]] >= 0
        np.testing.assert_allclose(rows["normal"][:, 2], np.where(moving, 1.0, -1.0), atol=1e-5)
        np.testing.assert_allclose(separation(model, state, rows), -0.25, atol=1e-5)


def torus_mesh(radius=1.0, tube=0.3, around=24, across=12):
    """A closed ring around the z axis."""
    u, v = np.meshgrid(2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across, indexing="ij")
    distance = radius + tube * np.cos(v)
    vertices = np.stack([distance * np.cos(u), distance * np.sin(u), tube * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = (x.reshape(-1) for x in np.meshgrid(np.arange(around), np.arange(across), indexing="ij"))
    k, m = (i + 1) % around, (j + 1) % across
    triangles = np.stack([i * across + j, k * across + j, k * across + m, i * across + j, k * across + m, i * across + m], axis=-1)
    return Mesh(vertices, triangles.reshape(-1))


BALL = Mesh.create_sphere(1.0, num_latitudes=24, num_longitudes=48)
RING = torus_mesh()


def two_meshes(first, place, own, other, gap=0.005):
    """The second mesh at a place beside the first, which is at the origin, in either order; which of both is shape 0."""
    b = builder(gap)
    for what in (first, 1 - first):
        mesh, scale = (own, other)[what]
        b.add_shape_mesh(b.add_body(xform=(0.0, 0.0, 0.0, *UPRIGHT) if what == 0 else place), mesh=mesh, scale=(scale,) * 3)
    return b


def rows_of_two(first, *scene):
    """Separations, and normals from the first of :func:`two_meshes` to the second."""
    model, state, rows, _ = detect(two_meshes(first, *scene))
    return separation(model, state, rows), rows["normal"] * (1.0 if first == 0 else -1.0)


@pytest.mark.parametrize("first", [0, 1])
def test_a_mesh_inside_a_mesh_comes_out(first):
    """A small cube and a small ball inside of a large cube and a large ball: up to its far side."""
    turn = wp.quat_rpy(0.3, 0.2, 0.1)
    for outer, inner in ((BOX, BOX), (BOX, BALL), (BALL, BOX)):
        depths, normals = rows_of_two(first, (0.05, -0.05, 0.6, *UPRIGHT), (outer, 1.0), (inner, 0.1))
        assert len(depths) == 1
        assert depths[0] == pytest.approx(-0.5, abs=0.02)
        assert normals[0][2] > 0.98
        depths, normals = rows_of_two(first, (-0.6, 0.0, 0.0, *turn), (outer, 1.0), (inner, 0.1))
        assert len(depths) == 1 and normals[0][0] < -0.95
        assert -0.6 < depths[0] < -0.48


@pytest.mark.parametrize("first", [0, 1])
def test_meshes_that_overlap_deeply(first):
    """Balls and cubes whose surfaces cross, but see each other nowhere: one contact, along the shortest way out."""
    for own, other, place, depth in (
        (BALL, BALL, (0.1, 0.0, 0.5, *wp.quat_rpy(0.3, 0.2, 0.1)), 1.49),
        (BOX, BOX, (0.1, 0.2, 0.9, *UPRIGHT), 1.1),
    ):
        depths, normals = rows_of_two(first, place, (own, 1.0), (other, 1.0))
        assert len(depths) == 1
        assert depths[0] == pytest.approx(-depth, abs=0.03)
        assert normals[0][2] > 0.9


@pytest.mark.parametrize("first", [0, 1])
def test_what_surrounds_a_mesh_is_not_inside(first):
    """A ring around a ball, and a ball inside the tube of a ring; an open mesh inside of a closed one."""
    turn = wp.quat_rpy(0.3, 0.2, 0.1)
    assert len(rows_of_two(first, (0.0, 0.0, 0.0, *turn), (RING, 1.0), (BALL, 0.5))[0]) == 0
    assert len(rows_of_two(first, (0.0, 0.0, 0.0, *turn), (BOX, 1.0), (GRID, 0.2))[0]) == 0
    depths, normals = rows_of_two(first, (1.1, 0.0, 0.0, *UPRIGHT), (RING, 1.0), (BALL, 0.1))
    assert len(depths) == 1 and normals[0][0] > 0.9
    assert depths[0] == pytest.approx(-0.3, abs=0.03)
    depths, normals = rows_of_two(first, (0.0, 0.0, 0.1, *UPRIGHT), (RING, 1.0), (torus_mesh(1.0, 0.05), 1.0))
    assert len(depths) == 1 and normals[0][2] > 0.9  # the middle of the smaller ring is in neither
    assert -0.28 < depths[0] < -0.1


def test_fine_meshes_that_run_alike_are_no_pairs():
    """Of triangles within reach only those that look at each other are listed: two balls at nearly one place have none."""
    _, _, rows, pipeline = detect(two_meshes(0, (0.01, 0.0, 0.0, *UPRIGHT), (BALL, 1.0), (BALL, 1.0)))
    assert pipeline.rigid.midphase.needed()[0] == 0
    assert len(rows["shape0"]) == 1


def test_scaled_vertices_and_scaled_shapes_are_the_same():
    """Uneven and mirrored scales of a bumpy mesh against the mesh with scaled vertices."""
    mesh = grid_mesh(6, height=lambda x, y: 0.1 * np.sin(3 * x) * np.cos(2 * y))
    triangles = np.asarray(mesh.indices).reshape(-1, 3)
    rng = np.random.default_rng(1)
    places = rng.uniform(-0.4, 0.4, (20, 2))
    for scale in ((1.0, 0.5, 1.5), (-1.0, 0.8, 1.2)):
        found = []
        for baked in (False, True):
            b = builder(0.05)
            if baked:
                turned = triangles[:, ::-1] if np.prod(scale) < 0 else triangles
                b.add_shape_mesh(-1, mesh=Mesh(np.asarray(mesh.vertices) * scale, turned.reshape(-1), compute_inertia=False))
            else:
                b.add_shape_mesh(-1, mesh=mesh, scale=scale)
            for x, y in places:
                b.add_shape_sphere(b.add_body(xform=(x, y, 0.15, *UPRIGHT)), radius=HALF, cfg=hooke.ShapeConfig(collision_group=-1))
            b.shape_collision_group[5] = 1
            found.append(detect(b))
        (model, state, rows, _), (other_model, other_state, others, _) = found
        assert len(rows["shape0"]) == len(others["shape0"]) >= 15
        for name in ("shape0", "shape1"):
            np.testing.assert_array_equal(rows[name], others[name])
        np.testing.assert_allclose(
            np.sort(separation(model, state, rows)), np.sort(separation(other_model, other_state, others)), atol=1e-5
        )
        np.testing.assert_allclose(np.sort(rows["normal"], axis=0), np.sort(others["normal"], axis=0), atol=1e-4)


def plate_scene(gap=0.02):
    """A fine plate on bumpy ground: hundreds of contacts."""
    b = builder(gap)
    b.add_shape_mesh(-1, mesh=grid_mesh(16, height=lambda x, y: 0.01 * np.sin(9 * x) * np.cos(7 * y)))
    b.add_shape_box(b.add_body(xform=(0.0, 0.0, 0.055, *UPRIGHT)), hx=0.6, hy=0.6, hz=0.05)
    b.add_shape_mesh(b.add_body(xform=(0.0, 0.0, 0.16, *UPRIGHT)), mesh=BOX, scale=(0.5, 0.5, 0.05))
    return b


def test_reduction_keeps_few_and_the_deepest():
    model, state, few, _ = detect(plate_scene())
    _, _, all_rows, _ = detect(plate_scene(), reduce_contacts=False)
    for a in (5,):
        mine, every = (
            {name: values[(r["shape0"] == a) | (r["shape1"] == a)] for name, values in r.items()} for r in (few, all_rows)
        )
        assert 4 <= len(mine["shape0"]) <= 30 < len(every["shape0"])
        depths = separation(model, state, mine), separation(model, state, every)
        assert depths[0].min() == pytest.approx(depths[1].min(), abs=1e-7)
        keys = {tuple(np.round(p, 5)) for p in every["point0"].tolist()}
        assert {tuple(np.round(p, 5)) for p in mine["point0"].tolist()} <= keys


def test_the_same_for_any_number_of_workers(monkeypatch):
    model = plate_scene().finalize(device="cpu")
    found = []
    for broad_phase in ("nxn", "sap"):
        pipeline = CollisionPipeline(model, broad_phase=broad_phase)
        contacts = pipeline.contacts()
        for workers in (1, 2, 3):
            monkeypatch.setattr(hooke.config, "workers", workers)
            for _ in range(3):
                pipeline.collide(model.state(), contacts)
            found.append(rows_of(contacts))
    assert len(found[0]["shape0"]) >= 8
    assert all(same(found[0], other) for other in found[1:])


@pytest.mark.parametrize("reduces", [True, False])
def test_buffers_grow(reduces):
    _, _, expected, _ = detect(plate_scene(), reduce_contacts=reduces)
    _, _, rows, pipeline = detect(
        plate_scene(), reduce_contacts=reduces, max_triangle_pairs=1, rigid_contact_max=1, shape_pairs_max=1
    )
    assert same(rows, expected)
    assert pipeline.rigid.midphase.needed()[0] <= pipeline.rigid.midphase.room[0]


def test_captures():
    """Equal to the eager pass; what there was no room for is counted."""
    model = plate_scene().finalize(device="cpu")
    _, _, expected, _ = detect(plate_scene())
    for room, lost in ((None, False), (1, True)):
        pipeline = CollisionPipeline(model, max_triangle_pairs=room)
        contacts = pipeline.contacts()
        with wp.ScopedCapture(device="cpu") as capture:
            pipeline.collide(model.state(), contacts)
        for _ in range(2):
            wp.capture_launch(capture.graph)
        assert (contacts.contact_counters.numpy()[2] > 0) == lost
        if lost:
            with pytest.warns(UserWarning, match="pairs of triangles"):
                pipeline.collide(model.state(), contacts)
        assert same(rows_of(contacts), expected)


def test_corners_across_sides():
    """Of two triangles with a common side, also where the vertices are doubled; none at a free side or where three meet."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)

    def across(vertices, triangles):
        corners = across_sides(vertices, np.array(triangles))
        return np.where(corners >= 0, np.array(triangles).reshape(-1)[corners], -1).tolist()

    assert across(vertices, [[0, 1, 2], [0, 2, 3]]) == [-1, -1, 3, 1, -1, -1]
    assert across(np.concatenate([vertices, vertices]), [[0, 1, 2], [4, 6, 7]]) == [-1, -1, 7, 1, -1, -1]
    fan = across(vertices, [[0, 1, 2], [1, 0, 3], [0, 1, 3]])
    assert [fan[0], fan[3], fan[6]] == [-1, -1, -1]
    assert across(vertices, [[0, 1, 2], [0, 3, 2]])[2] == -1  # runs the other way round: no neighbour
    cube = np.asarray(BOX.indices).reshape(-1, 3)
    found = across_sides(np.asarray(BOX.vertices), cube)
    assert (found >= 0).all()
    own, other = cube[np.arange(len(found)) // 3], cube[found // 3]
    assert [len(set(a) & set(b)) for a, b in zip(own.tolist(), other.tolist(), strict=True)] == [2] * len(found)
    assert all(corner not in face for corner, face in zip(cube.reshape(-1)[found].tolist(), own.tolist(), strict=True))

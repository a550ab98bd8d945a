"""Triangles and finite planes: one front, no catching on inner sides, and few points of many."""

import numpy as np
import pytest
import warp as wp

from hooke.collision.manifold import Manifold
from hooke.collision.reduction import REDUCED, is_kept, no_points, offer
from hooke.geometry import GeoType
from hooke.geometry.convex import ShapeGeometry

from .convex_reference import rotation
from .narrow import SCALES, ask, geometry, meet_triangles, random_poses, shape

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
every_shape = pytest.mark.parametrize("code", SCALES, ids=lambda code: code.name.lower())


@wp.kernel(module="unique", enable_backward=False)
def reduce_points(
    order: wp.array2d(dtype=int),
    point: wp.array(dtype=wp.vec3),
    normal: wp.array(dtype=wp.vec3),
    distance: wp.array(dtype=float),
    kept: wp.array2d(dtype=int),
):
    i = wp.tid()
    r = no_points()
    for k in range(order.shape[1]):
        j = order[i, k]
        r = offer(r, point[j], normal[j], distance[j], j)
    for j in range(kept.shape[1]):
        kept[i, j] = int(is_kept(r, j))


def neighbours_of(vertices, triangles):
    """Normals across the sides of all triangles (m, 3, 3), zero at free ones."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    owner = {(int(t[k]), int(t[(k + 1) % 3])): f for f, t in enumerate(triangles) for k in range(3)}
    across = np.zeros((len(triangles), 3, 3))
    for (i, j), f in owner.items():
        k = list(triangles[f]).index(i)
        if (j, i) in owner:
            across[f, k] = normal[owner[j, i]]
    return across


def ask_triangles(vertices, triangles, b, poses, reach):
    """Manifolds (poses, triangles) of a mesh with shapes ``b``."""
    vertices = np.asarray(vertices, np.float64)
    arrays = [
        wp.array(vertices[triangles].astype(np.float32), dtype=wp.vec3, device="cpu"),
        wp.array(neighbours_of(vertices, triangles).astype(np.float32), dtype=wp.vec3, device="cpu"),
        wp.array(np.broadcast_to(b, len(poses)), dtype=ShapeGeometry, device="cpu"),
        wp.array(np.ascontiguousarray(poses, np.float32), dtype=wp.transform, device="cpu"),
    ]
    found = wp.zeros((len(poses), len(triangles)), dtype=Manifold, device="cpu")
    wp.launch(meet_triangles, found.shape, inputs=[*arrays, reach], outputs=[found], device="cpu")
    return found.numpy()


def distances(found):
    there = np.arange(8) < found["count"][..., None]
    return np.where(there, found["distance"], np.inf)


def flat_grid(n=6, size=0.5):
    x = np.arange(n + 1) * size - 0.5 * n * size
    vertices = np.stack([*np.meshgrid(x, x, indexing="ij"), np.zeros((n + 1, n + 1))], axis=-1).reshape(-1, 3)
    a = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    return vertices, np.concatenate((np.stack((a, a + n + 1, a + n + 2), 1), np.stack((a, a + n + 2, a + 1), 1)))


@every_shape
@pytest.mark.parametrize("height", [2.0e-3, -2.0e-3, -0.05])
def test_flat_mesh_pushes_straight_up(code, height):
    """Anywhere on a flat mesh, also above its inner sides and corners, the contact is that of a plane."""
    b, body = shape(code)
    poses = random_poses(300, 0.3, 7).astype(float)
    poses[:50, :2] = np.round(poses[:50, :2] / 0.5) * 0.5  # above corners
    poses[50:100, 0] = 0.25  # above sides
    r = rotation(poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True))
    down = -r[:, 2]
    poses[:, 2] = height + np.einsum("mi,mi->m", down, body.support(down))
    found = ask_triangles(*flat_grid(), b, poses, 0.01)
    d = distances(found)
    hit = found["count"] > 0
    assert hit.any(axis=1).all()
    assert np.abs(found["normal"][hit] - (0.0, 0.0, 1.0)).max() < 1e-5
    assert np.abs(d.min(axis=(1, 2)) - height).max() < 2e-4


def box_mesh(half):
    x, y, z = half
    vertices = np.array([(sx * x, sy * y, sz * z) for sz in (-1, 1) for sy in (-1, 1) for sx in (-1, 1)])
    quads = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
    return vertices, quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)


@every_shape
def test_closed_mesh_is_its_solid(code):
    """A box of triangles has the distance of a box, from outside and a little inside, and normals that part the two."""
    half = (1.0, 0.8, 0.7)
    b = shape(code)[0]
    poses = random_poses(1500, 2.0, 11).astype(float)
    solid = geometry(GeoType.BOX, half)
    first, second, pose = (b, solid, inverted(poses)) if code < GeoType.BOX else (solid, b, poses)
    expected = ask(first, second, pose, 0.1)
    true = distances(expected).min(axis=1)
    near = (true > -0.02) & (true < 0.05)
    assert near.sum() > 20
    found = ask_triangles(*box_mesh(half), b, poses[near], 0.1)
    d = distances(found).min(axis=(1, 2))
    apart = true[near] > 0.0
    assert np.abs(d - true[near])[apart].max() < 1.5e-3
    assert np.abs(d - true[near])[~apart].max() < 6e-3
    k = distances(found).min(axis=2).argmin(axis=1)
    n = found["normal"][np.arange(len(k)), k].astype(float)
    other = expected["normal"][near].astype(float)
    if code < GeoType.BOX:
        other = -np.einsum("mij,mj->mi", rotation(poses[near][:, 3:]), other)
    assert np.quantile(np.einsum("mi,mi->m", n, other)[apart], 0.05) > 0.999


def inverted(poses):
    r = np.swapaxes(rotation(poses[:, 3:]), 1, 2)
    return np.concatenate((-np.einsum("mij,mj->mi", r, poses[:, :3]), poses[:, 3:] * (-1.0, -1.0, -1.0, 1.0)), axis=1)


@every_shape
def test_triangles_have_one_side(code):
    """What reaches through comes back to the front while its origin is there; what is behind is left alone."""
    b, _ = shape(code)
    vertices, triangles = [(-3.0, -3.0, 0.0), (3.0, -3.0, 0.0), (0.0, 4.0, 0.0)], np.array([[0, 1, 2]])
    poses = [(0.0, 0.0, z, 0.1, 0.2, 0.3, 0.9273618495) for z in (-1.0, -0.1, 0.0, 0.1, 1.0)]
    m = ask_triangles(vertices, triangles, b, poses, 0.01)[:, 0]
    assert list(m["count"] > 0) == [False, False, True, True, False]
    assert np.allclose(m["normal"][2:4], (0.0, 0.0, 1.0), atol=1e-5)
    d = distances(m).min(axis=1)
    assert abs(d[3] - d[2] - 0.1) < 1e-4  # higher by as much
    assert d[3] < 0.0


@every_shape
def test_thin_wall(code):
    """A shape that reaches through both faces of a wall is pushed back to the side where it is."""
    b, body = shape(code)
    poses = random_poses(200, 0.2, 5).astype(float)
    down = -rotation(poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True))[:, 2]
    poses[:, 2] = 0.005 + np.einsum("mi,mi->m", down, body.support(down)) - 0.02
    found = ask_triangles(*box_mesh((1.5, 1.5, 0.005)), b, poses, 0.01)
    hit = found["count"] > 0
    assert hit.any(axis=1).all()
    assert found["normal"][hit][:, 2].min() > 0.99
    assert np.abs(distances(found).min(axis=(1, 2)) + 0.02).max() < 1e-3


def test_ridge_has_normals_between_its_faces():
    vertices = np.array([(-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, -1.0), (0.0, -1.0, -1.0)])
    triangles = np.array([[0, 1, 2], [1, 0, 3]])
    b = geometry(GeoType.SPHERE, (0.1, 0.0, 0.0))
    angles = np.radians(np.linspace(-40.0, 40.0, 9))
    poses = [(0.05, 0.11 * np.sin(t), 0.11 * np.cos(t), *UPRIGHT) for t in angles]
    m = ask_triangles(vertices, triangles, b, poses, 0.05)
    for i, t in enumerate(angles):
        hit = m["count"][i] > 0
        assert hit.any()
        expected = np.broadcast_to((0.0, np.sin(t), np.cos(t)), (hit.sum(), 3))
        assert np.abs(m["normal"][i][hit] - expected).max() < 1e-4
        assert np.abs(m["distance"][i][hit][:, 0] - 0.01).max() < 1e-5


@every_shape
def test_valley_has_the_normals_of_its_faces(code):
    """Where a mesh turns inward, both faces push, and the side between them never does."""
    vertices = np.array([(-3.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.0, 3.0, 3.0), (0.0, -3.0, 3.0)])
    triangles = np.array([[0, 1, 2], [1, 0, 3]])
    b, body = shape(code)
    fronts = np.array([(0.0, -1.0, 1.0), (0.0, 1.0, 1.0)]) / np.sqrt(2.0)
    poses = random_poses(200, 0.3, 17).astype(float)
    r = rotation(poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True))
    reached = np.stack([np.einsum("mi,mi->m", -(f @ r), body.support(-(f @ r))) for f in fronts], axis=1)
    poses[:, 2] = np.sqrt(0.5) * reached.sum(axis=1)  # resting in it
    poses[:, 1] = np.sqrt(0.5) * (reached[:, 1] - reached[:, 0])
    poses[:, 2] -= 1.0e-3
    found = ask_triangles(vertices, triangles, b, poses, 0.01)
    assert (found["count"] > 0).all()
    assert np.abs(found["normal"] - fronts).max() < 2e-5
    assert np.abs(distances(found).min(axis=2) + 1e-3 * np.sqrt(0.5)).max() < 8.4e-4


def test_sliver_and_flat_triangles():
    """Triangles without area have no contact, slivers have no NaN."""
    vertices = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (1.0, 1.0e-6, 0.0)])
    for code in SCALES:
        b, _ = shape(code)
        m = ask_triangles(vertices, np.array([[0, 1, 3], [0, 1, 1]]), b, random_poses(200, 0.8, 3), 0.05)
        for name in ("normal", "distance", "point0", "point1"):
            assert np.isfinite(m[name]).all()
        assert (m["count"][:, 1] == 0).all()


def fuzz_triangles(count, seed):
    rng = np.random.default_rng(seed)
    for code in SCALES:
        size = 10.0 ** rng.uniform(-3.0, 2.0)
        scale = np.asarray(SCALES[code]) * size * (10.0 ** rng.uniform(-3.0, 0.0, 3) if code != GeoType.CONVEX_MESH else 1.0)
        b, _ = shape(code, scale)
        vertices = rng.normal(size=(24, 3)) * 10.0 ** rng.uniform(-3.0, 2.0, (24, 1))
        vertices[:8] = np.round(vertices[:8])
        triangles = rng.integers(0, 24, (10, 3))  # with slivers and corners that coincide
        poses = random_poses(count, 1.0, seed).astype(float)
        poses[:, :3] *= size
        poses[::3, :3] = vertices[rng.integers(0, 24, len(poses[::3]))]  # the origin on a corner
        poses[::5, 3:] = UPRIGHT
        m = ask_triangles(vertices, triangles, b, poses, 1e-3)
        for name in ("normal", "distance", "point0", "point1"):
            assert np.isfinite(m[name]).all()
        hit = m["count"] > 0
        assert np.abs(np.linalg.norm(m["normal"][hit], axis=1) - 1.0).max(initial=0.0) < 1e-4


def test_fuzz_of_triangles():
    fuzz_triangles(100, 0)


@pytest.mark.slow
def test_long_fuzz_of_triangles():
    for seed in range(20):
        fuzz_triangles(500, seed + 1)


@every_shape
def test_finite_plane(code):
    """Within its sides it is the infinite plane; beside and behind it there is nothing."""
    b, _ = shape(code)
    poses = random_poses(1000, 0.8, 21).astype(float)
    finite = ask(geometry(GeoType.PLANE, (4.0, 3.0, 0.0)), b, poses, 0.05)
    infinite = ask(geometry(GeoType.PLANE, (0.0, 0.0, 0.0)), b, poses, 0.05)
    through = poses[:, 2] > -0.1  # deeper, a finite plane has let go
    assert np.array_equal((finite["count"] > 0)[through], (infinite["count"] > 0)[through])
    hit = (infinite["count"] > 0) & through
    assert np.abs(distances(finite).min(axis=1)[hit] - distances(infinite).min(axis=1)[hit]).max() < 1e-3
    poses[:, 0] += 4.0
    assert not ask(geometry(GeoType.PLANE, (4.0, 3.0, 0.0)), b, poses, 0.05)["count"].any()
    assert ask(geometry(GeoType.PLANE, (0.0, 3.0, 0.0)), b, poses, 0.05)["count"].any()


# Few points of many


def kept_of(points, normals, depth, orders):
    n = len(points)
    arrays = [wp.array(orders, dtype=int, device="cpu")]
    arrays += [wp.array(np.asarray(v, np.float32), dtype=wp.vec3, device="cpu") for v in (points, normals)]
    arrays.append(wp.array(np.asarray(depth, np.float32), dtype=float, device="cpu"))
    kept = wp.zeros((len(orders), n), dtype=int, device="cpu")
    wp.launch(reduce_points, len(orders), inputs=arrays, outputs=[kept], device="cpu")
    return kept.numpy() > 0


def test_reduction_does_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (200, 3)).round(1)  # with equal scores
    normals = rng.normal(size=(200, 3))
    depth = rng.uniform(-0.01, 0.01, 200).round(3)
    kept = kept_of(points, normals, depth, np.stack([rng.permutation(200) for _ in range(50)]))
    assert (kept == kept[0]).all()
    assert 6 <= kept[0].sum() <= int(REDUCED)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            own = (np.abs(normals).argmax(axis=1) == axis) & (np.sign(normals[:, axis]) == sign)
            assert depth[own].min() == depth[own & kept[0]].min()


def test_reduction_of_a_flat_contact_keeps_its_extent():
    rng = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    points = np.concatenate((grid, np.zeros((144, 1))), axis=1)
    kept = kept_of(points, np.tile((0.0, 0.0, 1.0), (144, 1)), rng.uniform(-1e-3, 0.0, 144), [rng.permutation(144)])[0]
    assert kept.sum() <= 5
    span = np.ptp(points[kept], axis=0)
    assert span[0] == 11.0 and span[1] == 11.0

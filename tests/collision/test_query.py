"""Rays, nearest points and balls against closed forms, for one shape of every kind, bodies that move, and worlds."""

import numpy as np
import pytest

from hooke import Heightfield, Mesh, ModelBuilder, ShapeConfig
from hooke.collision.query import ShapeQuery
from tests.support import UPRIGHT

TURN = (0.3, -0.2, 0.5, np.sqrt(1.0 - 0.38))
UP = (0.0, 0.0, 1.0)


def scene():
    """Shapes in a row along x, 3 m apart; every other one on a body. Number k stands at x = 3 k."""
    b = ModelBuilder()
    adders = [
        lambda i, at: b.add_shape_sphere(i, radius=0.5, xform=at),
        lambda i, at: b.add_shape_box(i, hx=0.5, hy=0.4, hz=0.3, xform=at),
        lambda i, at: b.add_shape_capsule(i, radius=0.2, half_height=0.4, xform=at),
        lambda i, at: b.add_shape_cylinder(i, radius=0.4, half_height=0.3, xform=at),
        lambda i, at: b.add_shape_cone(i, radius=0.4, half_height=0.5, xform=at),
        lambda i, at: b.add_shape_ellipsoid(i, rx=0.5, ry=0.4, rz=0.3, xform=at),
        lambda i, at: b.add_shape_mesh(i, mesh=Mesh.create_box(1.0, 1.0, 1.0), scale=(0.5, -0.4, 0.3), xform=at),
        lambda i, at: b.add_shape_heightfield(heightfield=Heightfield(np.full((4, 4), 0.25), 4, 4, 0.5, 0.5), xform=at),
        lambda i, at: b.add_shape_plane(width=1.0, length=1.0, xform=at),
    ]
    for k, add in enumerate(adders):
        at = (3.0 * k, 0.0, 0.0, *UPRIGHT)
        carried = k % 2 == 1 and k != 7
        add(b.add_body(xform=at) if carried else -1, None if carried else at)
    b.add_shape_sphere(-1, radius=50.0, cfg=ShapeConfig(has_shape_collision=False))  # not seen
    return b.finalize(device="cpu")


TOPS = [0.5, 0.3, 0.6, 0.3, 0.5, 0.3, 0.3, 0.25, 0.0]


def test_rays_from_above():
    model = scene()
    query = ShapeQuery(model)
    starts = [(3.0 * k, 0.01, 2.0) for k in range(9)]
    hits = query.raycast(starts, [(0.0, 0.0, -3.0)] * 9)
    assert hits.shape.numpy().tolist() == list(range(9))
    expected = 2.0 - np.array(TOPS)
    expected[[0, 2, 5]] += [0.5 - np.sqrt(0.25 - 1e-4), 0.2 - np.sqrt(0.04 - 1e-4), 0.3 * (1 - np.sqrt(1 - (0.01 / 0.4) ** 2))]
    expected[4] += 0.01 / 0.4 * 1.0  # the cone falls by its height over its radius
    np.testing.assert_allclose(hits.distance.numpy(), expected, atol=2e-5)
    np.testing.assert_allclose(hits.point.numpy()[:, 2], 2.0 - expected, atol=2e-5)
    flat = [1, 3, 6, 7, 8]
    np.testing.assert_allclose(hits.normal.numpy()[flat], [UP] * 5, atol=1e-5)
    np.testing.assert_allclose(hits.normal.numpy()[0], np.array([0.0, 0.01, np.sqrt(0.25 - 1e-4)]) / 0.5, atol=1e-4)


def test_rays_that_miss_and_rays_that_end():
    query = ShapeQuery(scene())
    hits = query.raycast([(0.0, 0.0, 2.0)] * 3, [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)], max_distance=1.4)
    assert hits.shape.numpy().tolist() == [-1, -1, -1]
    np.testing.assert_allclose(hits.distance.numpy(), 1.4, rtol=1e-6)
    hits = query.raycast([(-2.0, 0.0, 0.0), (0.1, 0.0, 0.0)], [(1.0, 0.0, 0.0), (1.0, 0.0, 0.0)])
    assert hits.shape.numpy().tolist() == [0, 0]
    np.testing.assert_allclose(hits.distance.numpy(), [1.5, 0.0], atol=1e-5)  # the second begins inside


def test_grazing_rays_of_a_sphere():
    """Against the quadratic equation in float64."""
    b = ModelBuilder()
    b.add_shape_sphere(b.add_body(xform=(0.2, -0.1, 0.3, *TURN)), radius=0.7, xform=(0.1, 0.0, 0.0, *UPRIGHT))
    model = b.finalize(device="cpu")
    centre = ShapeQuery(model).closest_point([(50.0, 0.0, 0.0)])
    x = centre.point.numpy()[0].astype(np.float64) - 0.7 * centre.normal.numpy()[0]
    rng = np.random.default_rng(0)
    origins, aims = rng.uniform(-3, 3, (400, 3)), rng.uniform(-1, 1, (400, 3))
    origins = origins[np.linalg.norm(origins - x, axis=1) > 0.8][:300]
    ways = aims[: len(origins)] - origins
    unit = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    away = origins - x
    half, rest = np.einsum("ij,ij->i", unit, away), np.einsum("ij,ij->i", away, away) - 0.49
    inner = half**2 - rest
    hit = (inner > 0) & (half < 0)
    found = ShapeQuery(model).raycast(origins, ways)
    clear = np.abs(inner) > 1e-4
    np.testing.assert_array_equal((found.shape.numpy() == 0)[clear], hit[clear])
    sure = hit & clear
    expected = -half - np.sqrt(np.where(inner > 0, inner, 0))
    np.testing.assert_allclose(found.distance.numpy()[sure], expected[sure], atol=2e-3)
    assert np.median(np.abs(found.distance.numpy()[sure] - expected[sure])) < 1e-5


def test_closest_points():
    query = ShapeQuery(scene())
    hits = query.closest_point([(3.0 * k, 0.0, top + 0.2) for k, top in enumerate(TOPS)])
    assert hits.shape.numpy().tolist() == list(range(9))
    np.testing.assert_allclose(hits.distance.numpy(), 0.2, atol=1e-5)
    np.testing.assert_allclose(hits.point.numpy()[:, 2], TOPS, atol=1e-5)
    np.testing.assert_allclose(hits.normal.numpy(), [UP] * 9, atol=1e-4)
    inside = query.closest_point([(0.1, 0.0, 0.0)], max_distance=0.1)
    assert inside.distance.numpy()[0] == pytest.approx(-0.4, abs=1e-6)
    far = query.closest_point([(0.0, 10.0, 0.0)], max_distance=0.5)
    assert (far.shape.numpy()[0], far.distance.numpy()[0]) == (-1, 0.5)


def test_balls():
    query = ShapeQuery(scene())
    assert query.overlap([(1.5, 0.0, 0.0), (1.5, 0.0, 0.0), (0.0, 0.0, 0.0)], 0.9) == [[], [], [0]]
    assert query.overlap([(1.5, 0.0, 0.0)], 1.01) == [[0, 1]]
    assert query.overlap([(1.5, 0.0, 0.0)], 4.6)[0] == [0, 1, 2]


def test_bodies_move_and_planes_without_end():
    b = ModelBuilder()
    b.add_ground_plane()
    b.add_shape_box(b.add_body(xform=(0.0, 0.0, 5.0, *UPRIGHT)), hx=0.5, hy=0.5, hz=0.5)
    model = b.finalize(device="cpu")
    query, state = ShapeQuery(model), model.state()
    down = [(0.0, 0.0, -1.0)]
    assert query.raycast([(0.0, 0.0, 9.0)], down).distance.numpy()[0] == pytest.approx(3.5, abs=1e-5)
    state.body_q.assign(np.array([[100.0, 0.0, 5.0, *TURN]]))
    query.update(state)
    hit = query.raycast([(0.0, 0.0, 9.0)], down)
    assert (hit.shape.numpy()[0], hit.distance.numpy()[0]) == (0, pytest.approx(9.0, abs=1e-5))
    assert query.closest_point([(3.0, 0.0, 0.4)]).distance.numpy()[0] == pytest.approx(0.4, abs=1e-6)


def test_worlds():
    part, b = ModelBuilder(), ModelBuilder()
    part.add_shape_sphere(part.add_body(), radius=0.5)
    b.replicate(part, 2)
    b.add_shape_sphere(-1, radius=0.4, xform=(0.0, 0.0, -3.0, *UPRIGHT))
    query = ShapeQuery(b.finalize(device="cpu"))
    hits = query.raycast([(0.0, 0.0, 2.0)] * 3, [(0.0, 0.0, -1.0)] * 3, worlds=[0, 1, -1])
    assert hits.shape.numpy().tolist() == [0, 1, 0]
    assert query.overlap([(0.0, 0.0, 0.0)] * 3, 3.0, worlds=[0, 1, -1]) == [[0, 2], [1, 2], [0, 1, 2]]
    assert query.overlap([(0.0, 0.0, 0.0)], 1.0) == [[0, 1]]


def test_arguments():
    query = ShapeQuery(scene())
    with pytest.raises(ValueError, match="direction 1 is zero"):
        query.raycast([(0, 0, 0)] * 2, [(1, 0, 0), (0, 0, 0)])
    with pytest.raises(ValueError, match="as many directions"):
        query.raycast([(0, 0, 0)] * 2, [(1, 0, 0)])
    with pytest.raises(ValueError, match="shape"):
        query.closest_point([0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="worlds"):
        query.closest_point([(0, 0, 0)], worlds=1)
    with pytest.raises(ValueError, match="distance"):
        query.overlap([(0, 0, 0)], -1.0)
    empty = ShapeQuery(ModelBuilder().finalize(device="cpu"))
    assert empty.closest_point([(0, 0, 0)]).shape.numpy().tolist() == [-1]

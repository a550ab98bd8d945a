"""Edges and faces, areas and volumes of meshes against loops over single elements."""

import numpy as np
import pytest

from hooke.data.chunks import map_rows
from hooke.geometry.measure import cross, lengths, signed_volumes, triangle_areas
from hooke.geometry.topology import group_rows, mesh_edges, surface_triangles

RNG = np.random.default_rng(5)


def edges_by_loop(triangles):
    found = {}
    for a, b, c in triangles.tolist():
        for tail, head, opposite in ((a, b, c), (b, c, a), (c, a, b)):
            found.setdefault(frozenset((tail, head)), []).append((tail, head, opposite))
    rows = [(u[0][2], u[1][2] if len(u) == 2 else -1, *u[0][:2]) for u in found.values()]
    return rows, sum(len(u) > 2 for u in found.values())


def fan(count):
    """Triangles around one vertex that is in all of them."""
    rim = np.arange(1, count + 1)
    return np.stack([np.zeros(count, int), rim, np.roll(rim, -1)], axis=1)


MESHES = {
    "one": np.array([(0, 1, 2)]),
    "two": np.array([(0, 1, 2), (1, 3, 2)]),
    "turned": np.array([(0, 1, 2), (1, 2, 3)]),
    "book": np.array([(0, 1, 2), (1, 0, 3), (0, 1, 4), (5, 1, 0)]),
    "repeated": np.array([(0, 1, 2), (0, 1, 2)]),
    "fan": fan(300),
    "random": RNG.integers(0, 30, size=(400, 3)),
}


@pytest.mark.parametrize("name", MESHES)
def test_edges_equal_those_of_a_loop(name):
    triangles = MESHES[name][(np.diff(np.sort(MESHES[name], axis=1), axis=1) > 0).all(axis=1)]
    rows, crowded = mesh_edges(triangles)
    assert rows.dtype == np.int32
    assert (list(map(tuple, rows.tolist())), crowded) == edges_by_loop(triangles)


def test_faces_equal_those_of_a_loop():
    tetrahedra = np.array([RNG.choice(12, 4, replace=False) for _ in range(60)])
    found = {}
    for a, b, c, d in tetrahedra.tolist():
        for face in ((a, c, b), (a, b, d), (a, d, c), (b, c, d)):
            found.setdefault(frozenset(face), []).append(face)
    assert list(map(tuple, surface_triangles(tetrahedra).tolist())) == [f[0] for f in found.values() if len(f) == 1]


def test_nothing():
    assert mesh_edges(np.empty((0, 3), int))[0].shape == (0, 4)
    assert surface_triangles(np.empty((0, 4), int)).shape == (0, 3)


def test_groups():
    first, times, last = group_rows(np.array([(3, 1), (0, 2), (1, 3), (2, 0), (1, 3), (4, 4)]))
    assert [first.tolist(), times.tolist(), last.tolist()] == [[0, 1, 5], [3, 2, 1], [4, 3, 5]]


def test_measures():
    x = RNG.normal(size=(50, 3))
    triangles, tetrahedra = RNG.integers(0, 50, size=(70, 3)), RNG.integers(0, 50, size=(70, 4))
    a, b, c = (x[triangles[:, k]] for k in range(3))
    np.testing.assert_allclose(cross(a, b), np.cross(a, b), atol=1e-15)
    np.testing.assert_allclose(lengths(a), np.linalg.norm(a, axis=1), rtol=1e-15)
    np.testing.assert_allclose(triangle_areas(x, triangles), 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1), atol=1e-15)
    corners = x[tetrahedra]
    np.testing.assert_allclose(
        signed_volumes(x, tetrahedra), np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0, rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("count", [0, 1, 16384, 16385, 40000])
def test_pieces_join_to_the_whole(count):
    rows = RNG.normal(size=(count, 2))
    whole = map_rows(lambda r: (r.sum(axis=1), r[:, :1] > 0), rows)
    np.testing.assert_array_equal(whole[0], rows.sum(axis=1))
    np.testing.assert_array_equal(whole[1], rows[:, :1] > 0)
    np.testing.assert_array_equal(map_rows(lambda r: 2.0 * r, rows), 2.0 * rows)

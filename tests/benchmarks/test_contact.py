"""Self-contact of final states: distances against a search over points of both elements, and who counts."""

import numpy as np
import pytest

from benchmarks.contact import _point_triangle, _segment_segment, measure_self_contact


def closest(first, second):
    """Distances of polygons (n, k, 3) from each other, by projected gradient steps on their barycentric coordinates."""

    def simplex(w):
        ordered = -np.sort(-w, axis=1)
        excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, w.shape[1] + 1)
        last = (ordered > excess).sum(axis=1, keepdims=True) - 1
        return np.maximum(w - np.take_along_axis(excess, last, axis=1), 0.0)

    u, v = (np.full(s.shape[:2], 1.0 / s.shape[1]) for s in (first, second))
    size = sum((s**2).sum(axis=(1, 2)) for s in (first, second))[:, None]
    for _ in range(5000):
        gap = np.einsum("nk,nki->ni", u, first) - np.einsum("nk,nki->ni", v, second)
        u = simplex(u - np.einsum("nki,ni->nk", first, gap) / size)
        v = simplex(v + np.einsum("nki,ni->nk", second, gap) / size)
    return np.linalg.norm(gap, axis=1)


@pytest.mark.parametrize("measure, sizes", [(_point_triangle, (1, 3)), (_segment_segment, (2, 2))])
def test_distances(measure, sizes):
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(80, sizes[0], 3)), rng.normal(size=(80, sizes[1], 3))
    assert np.allclose(measure(first, second), closest(first, second), atol=1e-3)


def test_two_sheets_above_each_other():
    lower = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (2, 0, 0), (2, 1, 0)], float)
    x = np.concatenate([lower, 0.6 * lower[:4] + (0.25, 0.3, 0.1)])
    triangles = np.array([(0, 1, 2), (1, 3, 2), (1, 4, 3), (4, 5, 3), (6, 7, 8), (7, 9, 8)])
    far = measure_self_contact(triangles, x, 0.09)
    assert (far.intersections, far.pairs, far.near.any()) == (0, 0, False)
    near = measure_self_contact(triangles, x, 0.11)
    assert near.intersections == 0 and near.near[[6, 9, 3]].all() and not near.near[[4, 5]].any()
    assert near.vertex_demand == 1 and near.edge_demand >= 2
    x[9, 2] = -0.2
    crossing = measure_self_contact(triangles, x, 0.01)
    assert crossing.far_intersections == crossing.intersections > 0
    joined = measure_self_contact(np.concatenate([triangles, [(3, 9, 5)]]), x, 0.01)  # an edge from one sheet to the other
    assert 0 <= joined.far_intersections < joined.intersections

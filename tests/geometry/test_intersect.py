"""Exact intersection of triangles: known cases, every pair of small random ones, and what may not change the answer."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hooke.geometry import intersecting_triangles, piercing_edges
from hooke.geometry.box_pairs import box_pairs
from hooke.geometry.predicates import orient2d, orient3d

BASE = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
SMALLEST = float(np.spacing(np.float32(0.25)))


def meet(a, b):
    """Whether two triangles of their own particles intersect."""
    pairs = intersecting_triangles(np.array([*a, *b], np.float32), [[0, 1, 2], [3, 4, 5]])
    assert pairs.tolist() in ([], [[0, 1]])
    return len(pairs) == 1


@pytest.mark.parametrize(
    "other, expected",
    [
        ([(0.2, 0.2, -1), (0.2, 0.2, 1), (2, 2, 0.5)], True),  # pierced
        ([(2, 2, -1), (2, 2, 1), (3, 3, 0)], False),
        ([(0.2, 0.2, 0), (0.2, 0.2, 1), (0.3, 0.2, 1)], True),  # a corner on the face
        ([(0.2, 0.2, 1e-30), (0.2, 0.2, 1), (0.3, 0.2, 1)], False),  # just above
        ([(0.25, 0.75, 0), (1, 1, 1), (1, 1, -1)], True),  # a corner on the slanted edge
        ([(0.25 + SMALLEST, 0.75, 0), (1, 1, 1), (1, 1, -1)], False),  # next to it
        ([(0, 0, 0), (-1, 0, 0), (0, -1, 1)], True),  # a corner at a corner, by position alone
        ([(0.5, -1, -1), (0.5, -1, 1), (0.5, 1, 0)], True),  # across an edge
        ([(0.1, 0.1, 0), (0.2, 0.1, 0), (0.1, 0.2, 0)], True),  # coplanar, inside
        ([(-5, -5, 0), (9, -5, 0), (-5, 9, 0)], True),  # coplanar, around
        ([(0.25, 0.75, 0), (1, 1, 0), (1, 0.5, 0)], True),  # coplanar, touching
        ([(0.25 + SMALLEST, 0.75, 0), (1, 1, 0), (1, 0.5, 0)], False),  # coplanar, not touching
        ([(1, 0, 0), (2, 0, 0), (2, 0, 0)], True),  # no area: a segment along an edge, from its end
        ([(1.5, 0, 0), (2, 0, 0), (2, 0, 0)], False),
        ([(0.2, 0.2, 0), (0.2, 0.2, 0), (0.2, 0.2, 0)], True),  # a point
        ([(0.2, 0.2, SMALLEST), (0.2, 0.2, SMALLEST), (0.2, 0.2, SMALLEST)], False),
        (BASE, True),
        ([(x, y, 1e-38) for x, y, _ in BASE], False),  # parallel
    ],
)
def test_known_pairs(other, expected):
    for turn in range(3):
        a, b = BASE[turn:] + BASE[:turn], other[turn:] + other[:turn]
        assert meet(a, b) == meet(b, a) == meet(a[::-1], b) == expected


def separated(a, b):
    """Whether a plane lies strictly between two sets of three points with small whole coordinates; every direction it can have is tried."""
    spans = [p - q for t in (a, b) for p, q in itertools.combinations(t, 2)]
    spans += [p - q for p in a for q in b]
    spans = np.unique(np.array(spans), axis=0)
    i, j = np.triu_indices(len(spans), 1)
    normals = np.unique(np.cross(spans[i], spans[j]), axis=0)
    directions = np.concatenate([spans, normals, np.cross(normals[:, None], spans[None]).reshape(-1, 3)])
    u, v = directions @ a.T, directions @ b.T
    return bool(((u.min(1) > v.max(1)) | (v.min(1) > u.max(1))).any())


def test_small_whole_coordinates_agree_with_every_separating_plane():
    """Coordinates of 0, 1, 2: touching, coplanar and flat triangles are common."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, (2, 400, 3, 3))
    found = [meet(p, q) for p, q in zip(a, b, strict=True)]
    assert found == [not separated(p, q) for p, q in zip(a, b, strict=True)]
    assert 100 < sum(found) < 390


def whole_soup(count=60, seed=7):
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 9, (count, 1, 3)) + rng.integers(-2, 3, (count, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def test_a_soup_agrees_with_brute_force():
    points, triangles = whole_soup()
    corners = points[triangles]
    expected = [[i, j] for i, j in itertools.combinations(range(len(triangles)), 2) if not separated(corners[i], corners[j])]
    found = intersecting_triangles(points.astype(np.float32), triangles)
    assert found.tolist() == expected
    assert found.dtype == np.int32
    assert len(expected) > 20


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**-20, 2.0**60])
def test_scale_does_not_matter(scale):
    points, triangles = whole_soup(200)
    expected = intersecting_triangles(points.astype(np.float32), triangles)
    assert (intersecting_triangles((points * scale).astype(np.float32), triangles) == expected).all()
    assert (intersecting_triangles(points.astype(np.float32), triangles[:, [1, 2, 0]]) == expected).all()


def test_place_does_not_matter():
    points, triangles = whole_soup(200)
    expected = intersecting_triangles(points.astype(np.float32), triangles)
    for shift in ((1000.0, -2000.0, 500.0), (2.0**23, 0.0, 2.0**20)):
        assert (intersecting_triangles((points + shift).astype(np.float32), triangles) == expected).all()
    mirrored = points[:, [2, 0, 1]] * (-1, 1, 1)
    assert (intersecting_triangles(mirrored.astype(np.float32), triangles) == expected).all()


def test_sizes_may_differ_by_any_factor():
    rng = np.random.default_rng(5)
    corners = 0.1 * rng.normal(size=(36, 1, 3)) + 10.0 ** rng.uniform(-3, 1, (36, 1, 1)) * rng.normal(size=(36, 3, 3))
    points, triangles = corners.reshape(-1, 3).astype(np.float32), np.arange(108).reshape(-1, 3)
    found = {tuple(pair) for pair in intersecting_triangles(points, triangles).tolist()}
    x = points[triangles]
    assert found == {(i, j) for i, j in itertools.combinations(range(36), 2) if meet(x[i], x[j])}
    assert len(found) > 15


def test_pairs_that_share_particles():
    """Two triangles with a common corner may pass through each other; two with a common edge can only lie on each other."""
    x = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.3, 0.3, -1), (0.3, 0.3, 1), (-1, 0, 0), (-1, -1, 0.5)], np.float32)
    crossing, beside, folded = [[0, 1, 2], [0, 3, 4]], [[0, 1, 2], [0, 5, 6]], [[0, 1, 2], [2, 1, 3]]
    for mesh, found in ((crossing, [[0, 1]]), (beside, []), (folded, [])):
        assert len(intersecting_triangles(x, mesh)) == 0
        for turn in itertools.product(range(3), repeat=2):
            turned = [np.roll(row, k) for row, k in zip(mesh, turn, strict=True)]
            assert intersecting_triangles(x, turned, ignore_shared=False).tolist() == found
            assert intersecting_triangles(x, turned[::-1], ignore_shared=False).tolist() == found
    flat = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.5, 0.1, 0), (0.1, 0.5, 0)], np.float32)
    assert intersecting_triangles(flat, [[0, 1, 2], [0, 3, 4]], ignore_shared=False).tolist() == [[0, 1]]


def sheet(n):
    i, j = (a.reshape(-1) for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    corner = i * (n + 1) + j
    triangles = np.concatenate(
        [np.stack([corner, corner + n + 1, corner + 1], 1), np.stack([corner + n + 1, corner + n + 2, corner + 1], 1)]
    )
    u, v = (a.reshape(-1) / n for a in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
    return u, v, triangles


def test_a_tilted_flat_sheet_does_not_intersect_itself():
    u, v, triangles = sheet(20)
    x = np.stack([u, v, 0.3 * u + 0.1 * v], axis=1).astype(np.float32)
    assert len(intersecting_triangles(x, triangles, ignore_shared=False)) == 0


def test_a_curled_sheet_intersects_where_it_passes_through_itself():
    u, v, triangles = sheet(30)
    angle = 2.0 * np.pi * 1.2 * u
    x = np.stack([np.cos(angle), np.sin(angle), v + 0.05 * np.sin(20.0 * u)], axis=1).astype(np.float32)
    found = intersecting_triangles(x, triangles)
    again = intersecting_triangles(x.astype(np.float64), triangles, ignore_shared=False)
    assert len(found) > 100
    assert {tuple(p) for p in found.tolist()} <= {tuple(p) for p in again.tolist()}
    spiral = (1.0 + 0.3 * u)[:, None] * x
    assert len(intersecting_triangles(spiral * (1, 1, 0) + (0, 0, 1) * x, triangles)) == 0


def test_piercing_edges_are_those_of_the_triangles():
    points, triangles = whole_soup(120)
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    found = piercing_edges(points.astype(np.float32), edges, triangles)
    pairs = np.unique(np.sort(np.stack([found[:, 0] // 3, found[:, 1]], axis=1), axis=1), axis=0)
    assert pairs.tolist() == intersecting_triangles(points.astype(np.float32), triangles).tolist()
    x = np.array([*BASE, (0.2, 0.2, -1), (0.2, 0.2, 1), (3, 3, 3)], np.float32)
    assert piercing_edges(x, [[3, 4], [3, 5], [0, 4]], [[0, 1, 2]]).tolist() == [[0, 0]]


def test_errors_name_what_is_wrong():
    x = np.zeros((4, 3), np.float32)
    with pytest.raises(ValueError, match="triangle 0 is .*4 vertices"):
        intersecting_triangles(x, [[0, 1, 4]])
    with pytest.raises(ValueError, match="edges"):
        piercing_edges(x, [[0, 9]], [[0, 1, 2]])
    x[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"1 of 4 are not finite \(first: 2\)"):
        intersecting_triangles(x, [[0, 1, 2]])
    assert intersecting_triangles(np.zeros((0, 3)), np.zeros((0, 3), int)).shape == (0, 2)


def exact(points):
    rows = [[Fraction(x) for x in p] for p in points.tolist()]
    d = [[x - y for x, y in zip(p, rows[-1], strict=True)] for p in rows[:-1]]
    if len(d) == 2:
        value = d[0][0] * d[1][1] - d[0][1] * d[1][0]
    else:
        (a, b, c), (e, f, g), (h, i, j) = d
        value = a * (f * j - g * i) - b * (e * j - g * h) + c * (e * i - f * h)
    return (value > 0) - (value < 0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_signs_are_exact(dimension):
    """Points that are coplanar (collinear) up to rounding, of like and of very different magnitudes."""
    rng = np.random.default_rng(11)
    basis = rng.normal(size=(500, dimension - 1, dimension))
    points = np.einsum("npk,nkd->npd", rng.integers(-9, 9, (500, dimension + 1, dimension - 1)) / 8.0, basis)
    points[100:] += rng.normal(size=(400, 1, dimension))
    points[200:300] *= 1.0e-30
    points[300:400, 0, 0] *= 1.0e-12
    points[400:] = np.round(points[400:])
    for array in (points.astype(np.float32), points):
        found = orient2d(*np.moveaxis(array, 1, 0)) if dimension == 2 else orient3d(*np.moveaxis(array, 1, 0))
        assert found.tolist() == [exact(p) for p in array]
        assert {-1, 0, 1} <= set(found.tolist())


def test_boxes_between_two_sets():
    rng = np.random.default_rng(2)

    def boxes(count):
        middle, half = rng.uniform(-3, 3, (count, 3)), 10.0 ** rng.uniform(-3, 0.5, (count, 3))
        return np.stack([middle - half, middle + half])

    a, b = boxes(150), boxes(90)
    b[:, :10] = b[:1, :10]  # points

    def overlap(p, q):
        return ((p[0][:, None] <= q[1][None]) & (q[0][None] <= p[1][:, None])).all(2)

    pairs = np.concatenate(list(box_pairs(a, b)))
    assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, np.argwhere(overlap(a, b)).tolist()))
    pairs = np.concatenate(list(box_pairs(a)))
    assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, np.argwhere(np.triu(overlap(a, a), 1)).tolist()))

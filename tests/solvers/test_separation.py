"""No step takes a feature of a surface through another: by how much ways are scaled, and random pairs of triangles.

Every pair has a world of its own, its particles no springs, and the step no sweep: they end where the search along their ways lets
them.
"""

import numpy as np
import pytest

import hooke
from hooke.geometry.intersect import _triangles_meet
from hooke.solvers import SolverVBD
from tests.support import add_points, finalize

from .surfaces import OPTIONS

BASE = [(-2.0, -2.0, 0.0), (4.0, -2.0, 0.0), (-2.0, 4.0, 0.0)]
OTHERS = [(3.0, 0.1, 6.0), (0.1, 3.0, 6.0)]
BAND = 1e-6


def triangles_in_worlds(corners, mass=1.0):
    """A model of pairs of triangles, shape (n, 6, 3), one pair a world; the mass may be one per corner."""
    builder = hooke.ModelBuilder(gravity=0.0)
    for six in np.asarray(corners, np.float64).reshape(-1, 6, 3):
        builder.begin_world()
        first = int(add_points(builder, six, mass)[0])
        for k in (first, first + 3):
            builder.add_triangle(k, k + 1, k + 2, tri_ke=0.0, tri_ka=0.0, tri_kd=0.0)
        builder.end_world()
    return finalize(builder, ke=0.0, kd=0.0, mu=0.0)


def stepped(model, ways, iterations=0, **options):
    """Where the particles start and end that fly ``ways`` in a step of 1 s."""
    start, end = model.state(), model.state()
    start.particle_qd.assign(np.asarray(ways, np.float32).reshape(-1, 3))
    SolverVBD(model, iterations=iterations, **{**OPTIONS, **options}).step(start, end, None, None, 1.0)
    shape = (-1, 6, 3)
    return start.particle_q.numpy().reshape(shape), end.particle_q.numpy().reshape(shape)


def scales(corners, ways):
    """The part of its way that every corner goes, 1 for those that stand still; corners and ways have shape (6, 3)."""
    before, after = stepped(triangles_in_worlds([corners]), ways)
    length = np.linalg.norm(ways, axis=1)
    gone = np.linalg.norm((after - before)[0].astype(np.float64), axis=1)
    return np.where(length > 0.0, gone / np.maximum(length, 1e-30), 1.0)


def still(**moved):
    """Ways of six corners; ``c3=(0, 0, 1)`` moves corner 3."""
    ways = np.zeros((6, 3))
    for name, way in moved.items():
        ways[int(name[1:])] = way
    return ways


def test_vertex_that_falls_on_a_triangle():
    """Theory notes, case 13: at 1 m over a still triangle, on a way of 2 m: 0.85 (0.95 - 1e-6)/2 = 0.403750; and the triangle that
    rises to it: the same for its three corners."""
    corners = [(0.1, 0.1, 1.0), *OTHERS, *BASE]
    wanted = 0.85 * (0.95 - BAND) / 2.0
    t = scales(corners, still(c0=(0, 0, -2)))
    assert abs(t[0] - wanted) < 2e-6
    t = scales(corners, still(c3=(0, 0, 2), c4=(0, 0, 2), c5=(0, 0, 2)))
    assert np.abs(t[3:] - wanted).max() < 2e-6


def test_edges_that_approach():
    """Case 13: parallel edges at z = +-0.5 that approach by 1 each: 0.85 (0.5 - 1e-6) = 0.424999 on all four ends."""
    for turned in (False, True):
        far = [(-1.0, 0.0, -0.5), (1.0, 0.0, -0.5)] if not turned else [(0.0, -1.0, -0.5), (0.0, 1.0, -0.5)]
        corners = [(-1.0, 0.0, 0.5), (1.0, 0.0, 0.5), (0.0, 0.0, 2.0), *far, (0.0, 0.0, -2.0)]
        t = scales(corners, still(c0=(0, 0, -1), c1=(0, 0, -1), c3=(0, 0, 1), c4=(0, 0, 1)))
        assert np.abs(t[[0, 1, 3, 4]] - 0.424999).max() < 2e-6


def test_the_gap_is_divided_by_approach():
    """A vertex that falls 3 m and a triangle that rises 1 m: the plane stands a quarter above the triangle."""
    corners = [(0.1, 0.1, 1.0), *OTHERS, *BASE]
    t = scales(corners, still(c0=(0, 0, -3), c3=(0, 0, 1), c4=(0, 0, 1), c5=(0, 0, 1)))
    assert np.allclose(t[[0, 3, 4, 5]], [0.85 * 0.75 / 3.0, *[0.85 * 0.25] * 3], atol=3e-6)


def test_what_touches_is_not_held():
    """Case 13: a vertex in a triangle, and edges that cross, have nothing that separates them."""
    t = scales([(0.1, 0.1, 0.0), *OTHERS, *BASE], still(c0=(0, 0, 0.5)))
    assert np.allclose(t, 1.0)
    t = scales([(-1, 0, 0), (1, 0, 0), (0, 0, 9), (0, -1, 0), (0, 1, 0), (0, 0, -9)], still(c0=(0, 0, 0.25), c1=(0, 0, 0.25)))
    assert np.allclose(t, 1.0)


def test_a_gap_of_one_rounding_is_kept():
    """Case 13: at coordinate 1000 a vertex 61 um above a triangle on a way of 1 m down stays where it is. Sideways too,
    as rounding could take a part of the gap in every step; up it is free."""
    z = np.float32(1000.0)
    corners = [(0.1, 0.1, np.nextafter(z, np.float32(2e3))), (3.0, 0.1, 1006.0), (0.1, 3.0, 1006.0)]
    corners += [(x, y, z) for x, y, _ in BASE]
    model = triangles_in_worlds([corners] * 3)
    ways = np.stack([still(c0=way) for way in ((0, 0, -1), (0, 0, 1), (1, 0, 0))])
    before, after = stepped(model, ways)
    assert np.array_equal(after[[0, 2]], before[[0, 2]])
    assert np.allclose((after - before)[1, 0], (0, 0, 1), atol=1e-4)


def test_small_gaps_are_divided():
    """Case 13: a gap of 8 um and a way of 10 um: 0 < t < 1, and a way of 1 um is free."""
    corners = [(0.1, 0.1, 8e-6), *OTHERS, *BASE]
    t = scales(corners, still(c0=(0, 0, -1e-5)))[0]
    assert 0.2 < t < 1.0
    assert abs(scales(corners, still(c0=(0, 0, -1e-6)))[0] - 1.0) < 1e-3


def test_what_is_not_in_the_way_is_free():
    """Away from a triangle, along it, and past it."""
    corners = [(0.1, 0.1, 0.01), (3.0, 0.1, 6.0), (0.1, 3.0, 6.0), *BASE]
    for way in ((0, 0, 3), (0.5, 0, 0), (0, -0.7, 1e-3)):
        assert np.allclose(scales(corners, still(c0=way)), 1.0, atol=1e-6)


def random_pairs(rng, count, size, offset=0.0):
    """Pairs of triangles that do not intersect in float32, as float64 (count, 6, 3); some of them slivers, some flat on each other."""
    found = np.empty((0, 6, 3))
    while len(found) < count:
        corners = rng.uniform(-1.0, 1.0, (2 * count, 6, 3)) * size
        corners[::5, 2] = (
            corners[::5, 0] + 0.5 * (corners[::5, 1] - corners[::5, 0]) + 1e-4 * size * rng.normal(size=(len(corners[::5]), 3))
        )
        corners[1::5, 3:] = corners[1::5, :3] + (0.0, 0.0, 1e-2 * size)
        corners[2::5, :, 2] *= 1e-3
        corners = (corners + offset).astype(np.float32).astype(np.float64)
        found = np.concatenate([found, np.delete(corners, crossed(corners), axis=0)])
    return found[:count]


def crossed(corners):
    """Which pairs of shape (n, 6, 3) intersect, exactly."""
    x = np.asarray(corners, np.float64)
    return np.flatnonzero(_triangles_meet(x[:, :3], x[:, 3:]))


@pytest.mark.parametrize("iterations", [0, 2])
@pytest.mark.parametrize("interval", [-1, 0])
@pytest.mark.parametrize(("size", "offset"), [(1.0, 0.0), (1e-3, 0.3), (1.0, 1000.0)])
def test_random_pairs_never_cross(size, offset, interval, iterations):
    """300 pairs a case, ways from a tenth to ten times their size, eight steps with new ways."""
    rng = np.random.default_rng(int(offset) + iterations + 7 * (interval + 1))
    corners = random_pairs(rng, 300, size, offset)
    model = triangles_in_worlds(corners)
    options = {"particle_collision_detection_interval": interval}
    solver = SolverVBD(model, iterations=iterations, **{**OPTIONS, **options})
    state, other = model.state(), model.state()
    for _ in range(8):
        ways = rng.normal(size=(300, 6, 3)) * size * 10.0 ** rng.uniform(-1.0, 1.0, (300, 1, 1))
        state.particle_qd.assign(ways.reshape(-1, 3).astype(np.float32))
        solver.step(state, other, None, None, 1.0)
        state, other = other, state
        assert crossed(state.particle_q.numpy().reshape(-1, 6, 3)).tolist() == []
    assert solver.status.overflow == {}


def test_what_the_caller_moves_is_not_crossed():
    """200 free triangles in the way of fixed ones: those go all of their way, as far as the gap reaches; the free ones stay aside."""
    rng = np.random.default_rng(3)
    corners = random_pairs(rng, 200, 1.0)
    mass = np.repeat([1.0, 0.0], 3)
    model = triangles_in_worlds(corners, mass)
    solver, state, other = SolverVBD(model, iterations=0, **OPTIONS), model.state(), model.state()
    solver.step(state, other, None, None, 1.0)
    state, other = other, state
    for _ in range(5):
        q = state.particle_q.numpy().reshape(-1, 6, 3)
        gap = least_gaps(q)
        direction = rng.normal(size=(200, 1, 3))
        direction /= np.linalg.norm(direction, axis=2, keepdims=True)
        goal = q.copy()
        goal[:, 3:] += 0.45 * gap[:, None, None] * direction
        ways = np.zeros((200, 6, 3))
        ways[:, :3] = rng.normal(size=(200, 3, 3))
        state.particle_q.assign(goal.reshape(-1, 3))
        state.particle_qd.assign(ways.reshape(-1, 3))
        solver.step(state, other, None, None, 1.0)
        state, other = other, state
        after = state.particle_q.numpy().reshape(-1, 6, 3)
        assert np.array_equal(after[:, 3:], goal[:, 3:])
        assert crossed(after).tolist() == []


def least_gaps(corners):
    """A lower bound of the distances of pairs of triangles: over the axes of coordinates and the normals."""
    x = np.asarray(corners, np.float64)
    edges = np.stack([x[:, k] - x[:, k - 1] for k in range(6) if k % 3], axis=1)
    axes = [np.broadcast_to(np.eye(3)[k], (len(x), 3)) for k in range(3)]
    axes += [np.cross(edges[:, i], edges[:, j]) for i in range(4) for j in range(i)]
    best = np.zeros(len(x))
    for axis in axes:
        unit = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-300)
        p = np.einsum("nij,nj->ni", x, unit)
        best = np.maximum(best, np.maximum(p[:, :3].min(1) - p[:, 3:].max(1), p[:, 3:].min(1) - p[:, :3].max(1)))
    return best

"""Pairs of vertices and triangles and of edges: which are found, against all of them in float64, and which are left out."""

from pathlib import Path

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.collision.surface import Surface
from hooke.geometry.box_pairs import box_pairs, triangle_boxes
from hooke.importers.mesh_file import load_mesh
from hooke.solvers import SolverVBD
from tests.geometry.closest_reference import point_triangle, segment_segment
from tests.support import UPRIGHT, add_points, finalize

from .pairs import NONE, Finder, check

FLAT = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], float)
SHIFTED = np.array([(0.2, 0.2, 0.01), (1.2, 0.2, 0.01), (0.2, 1.2, 0.01)])
SMALL = np.array([(0.5, -0.1, 0), (0.5, 0.1, 0), (0.6, 0, 0)])


def grid(n, cell=1.0):
    """Positions and triangles of n x n cells."""
    x = np.stack(np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), [0.0], indexing="ij"), axis=-1).reshape(-1, 3) * cell
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1)
    lower = np.stack([corner, corner + n + 1, corner + n + 2], axis=1)
    upper = np.stack([corner, corner + n + 2, corner + 1], axis=1)
    return x, np.concatenate([lower, upper])


def copies(parts, worlds=None):
    """Several meshes of one triangle each as positions, triangles and worlds."""
    x = np.concatenate(parts)
    world = np.repeat(np.zeros(len(parts), int) if worlds is None else worlds, [len(p) for p in parts])
    return {"triangles": np.arange(len(x)).reshape(-1, 3), "x": x, "world": world}


def crumpled(n=14, seed=0):
    """A grid folded so that many of its parts are near each other."""
    x, triangles = grid(n, 0.05)
    rng = np.random.default_rng(seed)
    u, v = x[:, 0] / (0.05 * n), x[:, 1] / (0.05 * n)
    z = 0.06 * np.sin(9.0 * u) * np.cos(7.0 * v)
    folded = np.stack([0.25 * np.abs(np.sin(5.0 * u)), 0.3 * v + 0.05 * np.sin(11.0 * u), z], axis=1)
    return folded + 0.004 * rng.normal(size=folded.shape), triangles


# ---- theory notes, case 14


def test_a_triangle_over_another():
    """One vertex over a triangle; in two worlds two; none between worlds."""
    for parts, worlds, wanted in (([FLAT, SHIFTED], None, 1), ([FLAT, SHIFTED] * 2, [0, 0, 1, 1], 2), ([FLAT, SHIFTED], [0, 1], 0)):
        finder = Finder(**copies(parts, worlds))
        assert len(finder.find(0.05)[0]) == wanted
        finder.trees.sort(wp.array(np.random.default_rng(0).normal(size=(len(finder.x), 3)).astype(np.float32), dtype=wp.vec3))
        assert len(finder.find(0.05)[0]) == wanted


def test_edges_in_a_plane():
    """The peer counts 6 in one world and 12 in two, each pair from both sides."""
    for parts, worlds, wanted in (([FLAT, SMALL], None, 3), ([FLAT, SMALL] * 2, [0, 0, 1, 1], 6), ([FLAT, SMALL], [0, 1], 0)):
        finder = Finder(**copies(parts, worlds))
        found = finder.find(0.05)[1]
        assert check(found, finder.all_pairs()[1], 0.05) == len(found)
        assert len(found) == wanted


def test_what_belongs_to_no_world_meets_all():
    """A mesh of no world and two worlds of it, all pairs of worlds that meet, the same after sorting anew."""
    x, triangles = crumpled(6)
    parts = [x, x + (0.003, 0.002, 0.004), x + (-0.002, 0.003, -0.003)]
    world = np.repeat([-1, 0, 1], len(x))
    finder = Finder(np.concatenate([triangles + n * len(x) for n in range(3)]), np.concatenate(parts), world)
    first = finder.find(0.01)
    for found, wanted in zip(first, finder.all_pairs(), strict=True):
        assert check(found, wanted, 0.01) > 100
    for q, t in first[0]:
        assert -1 in (u := {int(world[q]), int(world[finder.surface.triangles[t, 0]])}) or len(u) == 1
    finder.trees.sort(wp.array(finder.x[::-1].copy(), dtype=wp.vec3, device="cpu"))
    assert [set(found) for found in finder.find(0.01)] == [set(found) for found in first]


# ---- all pairs


@pytest.mark.parametrize("distance", [0.003, 0.01, 0.03, 0.1])
def test_all_pairs_of_a_crumpled_sheet(distance):
    x, triangles = crumpled()
    finder = Finder(triangles, x)
    for found, wanted in zip(finder.find(distance), finder.all_pairs(), strict=True):
        assert check(found, wanted, distance) > 30


def test_garments_in_metres():
    """Triangles of 0.5 mm, 1 m from the origin, 0.1 mm apart: edges of this size are no points."""
    x, triangles = crumpled(10)
    finder = Finder(triangles, x * 0.01 + 1.0)
    for found, wanted in zip(finder.find(1e-4), finder.all_pairs(), strict=True):
        assert check(found, wanted, 1e-4, slack=2e-8) > 30


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1e-2, 2e-2, 5e-2, 1e-1])
def test_all_pairs_of_a_bunny(distance):
    """Theory notes, case 15; triangles of 4 to 8 cm."""
    pytest.importorskip("pxr")
    path = Path(wp.__file__).parent / "examples" / "assets" / "bunny.usd"
    mesh = load_mesh(path, up_axis=None)
    x, triangles = np.asarray(mesh.vertices), np.asarray(mesh.indices).reshape(-1, 3)
    finder = Finder(triangles, x)
    for found, wanted in zip(finder.find(distance), near_pairs(finder, distance + 1e-5), strict=True):
        assert check(found, wanted, distance) > 100


def near_pairs(finder, distance):
    """As ``finder.all_pairs()``, of those that are near, a block of boxes that meet at a time."""
    x, s = finder.x.astype(np.float64), finder.surface

    def near(one, other, measure):
        blocks = []
        for pairs in box_pairs(*(triangle_boxes(x[c]) + 0.5 * distance * np.array([-1, 1])[:, None, None] for c in (one, other))):
            pairs = pairs[pairs[:, 0] < pairs[:, 1]] if one is other else pairs
            a, b = one[pairs[:, 0]], other[pairs[:, 1]]
            apart = ~(a[:, :, None] == b[:, None, :]).any(axis=(1, 2))
            pairs, a, b = pairs[apart], a[apart], b[apart]
            d = measure(*(x[c[:, k]] for c in (a, b) for k in range(c.shape[1])))
            blocks.append(np.column_stack([pairs, d])[d < distance])
        first, second, d = np.concatenate(blocks).T
        return first.astype(int), second.astype(int), d

    v, t, d = near(s.vertices, s.triangles, point_triangle)
    return (s.vertices[v, 0], t, d), near(s.edges, s.edges, segment_segment)


# ---- what is left out


def ring_distances(edges, count):
    """Number of edges between any two vertices, by breadth-first search; -1 if there is no way."""
    near = [set() for _ in range(count)]
    for i, j in edges:
        near[i].add(int(j))
        near[j].add(int(i))
    far = np.full((count, count), -1)
    for start in range(count):
        far[start, start], front, steps = 0, {start}, 0
        while front:
            steps += 1
            front = {j for i in front for j in near[i] if far[start, j] < 0}
            for j in front:
                far[start, j] = steps
    return far


@pytest.mark.parametrize("ring", [0, 1, 2, 3, 4])
def test_rings(ring):
    """Case 15: pairs with vertices fewer than T edges apart exert no force but are found; all others act. Symmetric for edges."""
    x, triangles = grid(4)
    finder = Finder(triangles, x, ring=ring)
    pairs, far = finder.find(20.0), ring_distances(finder.surface.edges, len(x))
    for found, wanted in zip(pairs, finder.all_pairs(), strict=True):
        assert check(found, wanted, 20.0) == len(wanted[0])
    s = finder.surface
    for (v, t), (_, acts) in pairs[0].items():
        assert acts == (far[v, s.triangles[t]].min() >= max(ring, 1))
    for (e, f), (_, acts) in pairs[1].items():
        assert acts == (far[np.ix_(s.edges[e], s.edges[f])].min() >= max(ring, 1))


def test_what_is_near_in_the_rest_shape_exerts_no_force():
    """Case 15: exclusion 0.05 on a mesh scaled by 1.5 leaves the pairs with a rest distance of at least that; 1e3 none."""
    x, triangles = crumpled(8)
    for exclusion in (0.05, 1e3):
        finder = Finder(triangles, 1.5 * x, rest=x, exclusion=exclusion)
        rest = Finder(triangles, x).all_pairs()
        for found, (a, b, d) in zip(finder.find(0.15), rest, strict=True):
            known = {(int(i), int(j)): e for i, j, e in zip(a, b, d, strict=True)}
            assert all(
                acts == (known[pair] >= exclusion) for pair, (_, acts) in found.items() if abs(known[pair] - exclusion) > 1e-6
            )
            assert len({acts for _, acts in found.values()}) == (2 if exclusion < 1.0 else 1)


def test_barred_pairs_are_not_found_in_whichever_order():
    x, triangles = crumpled(8)
    free = Finder(triangles, x).find(0.03)
    vertex_triangle = np.array(sorted(free[0])[::3], np.int32)
    edges = np.array(sorted(free[1])[::3], np.int32)
    barred = Finder(triangles, x, barred=(vertex_triangle, edges[:, ::-1])).find(0.03)
    for found, everything, left_out in zip(barred, free, (vertex_triangle, edges), strict=True):
        assert set(found) == set(everything) - {tuple(pair) for pair in left_out.tolist()}
    only = Finder(triangles, x, barred=(NONE, edges)).find(0.03)
    assert set(only[0]) == set(free[0]) and set(only[1]) == set(barred[1])


def test_edges_of_the_model_keep_their_numbers():
    """Rows of the table first, in whichever direction; then the sides without a row, each once."""
    rows = np.array([(-1, -1, 4, 1), (-1, -1, 0, 1)], np.int32)
    surface = Surface(np.array([(0, 1, 4), (1, 4, 5)]), rows, np.zeros(6, np.int32))
    assert surface.edges[:2].tolist() == [[4, 1], [0, 1]]
    sides = {tuple(sorted(edge)) for edge in surface.edges.tolist()}
    assert len(surface.edges) == len(sides) == 5
    assert surface.vertices[:, 0].tolist() == [0, 1, 4, 5]


def test_only_the_surface_takes_part():
    """Of a body of tetrahedra the outside; loose particles and springs have none."""
    builder = hooke.ModelBuilder()
    add_points(builder, [(5.0, 5.0, 5.0)])
    builder.add_soft_grid(
        pos=(0.0, 0.0, 0.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=3, dim_y=3, dim_z=3, cell_x=0.1, cell_y=0.1, cell_z=0.1,
        density=100.0, k_mu=1e3, k_lambda=1e3, k_damp=0.0,
    )  # fmt: skip
    solver = SolverVBD(finalize(builder), particle_enable_self_contact=True)
    q = builder.particle_q.array[solver._surface.surface.vertices[:, 0]]
    assert len(q) == 4**3 - 2**3
    assert (np.isclose(q, 0.0, atol=1e-6) | np.isclose(q, 0.3, atol=1e-6)).any(axis=1).all()


# ---- buffers


def test_buffers_grow_to_what_is_needed():
    """From room for 16 pairs: what is found is what large buffers hold, in the same order."""
    x, triangles = crumpled(10)
    small, large = Finder(triangles, x, room=(1, 1)), Finder(triangles, x, room=(100_000, 100_000))
    found = [finder.find(0.05) for finder in (small, large)]
    assert found[0] == found[1] and small.grown > 0 and large.grown == 0
    for one, other in zip(small.search.pools, large.search.pools, strict=True):
        count = one.needed()[1]
        assert one.needed() == other.needed() and one.room >= count
        for name in ("query", "target", "acts", "distance"):
            assert np.array_equal(getattr(one.pairs, name).numpy()[:count], getattr(other.pairs, name).numpy()[:count])
    assert small.find(0.05) == found[0]

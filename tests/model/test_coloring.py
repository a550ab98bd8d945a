"""Colouring: groups are disjoint and complete, no element has two particles of one colour, and it always ends (case 16); lists of
elements per particle are in the order of the elements (case 17)."""

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from hooke import ColoringAlgorithm, ModelBuilder
from hooke.elements import ELEMENTS
from hooke.geometry.coloring import color_graph, color_worlds, find_conflict, merge_groups
from hooke.geometry.graph import Graph
from hooke.geometry.incidence import build_incidence
from hooke.geometry.topology import mesh_edges

PLACE = {"pos": wp.vec3(0.0), "rot": wp.quat_identity(), "vel": wp.vec3(0.0)}
ALGORITHMS = pytest.mark.parametrize("algorithm", ColoringAlgorithm, ids=lambda a: a.name)
BENDING = pytest.mark.parametrize("bending", [False, True], ids=["", "bending"])
BALANCE = pytest.mark.parametrize("balance", [False, True], ids=["", "balanced"])


def cloth(dim_x, dim_y, **options):
    b = ModelBuilder()
    b.add_cloth_grid(**PLACE, dim_x=dim_x, dim_y=dim_y, cell_x=0.1, cell_y=0.1, mass=0.1, **options)
    return b


def soft(*dims, mu=1.0, lam=1.0):
    b = ModelBuilder()
    b.add_soft_grid(**PLACE, dim_x=dims[0], dim_y=dims[1], dim_z=dims[2], cell_x=0.1, cell_y=0.1, cell_z=0.1, density=1.0,
                    k_mu=mu, k_lambda=lam, k_damp=0.0)  # fmt: skip
    return b


def bunny():
    importers = pytest.importorskip("hooke.importers.mesh_file")
    pytest.importorskip("pxr")
    path = Path(wp.__file__).parent / "examples" / "assets" / "bunny.usd"
    if not path.exists():
        pytest.skip("this build of Warp has no example assets")
    mesh = importers.load_mesh(path)
    b = ModelBuilder()
    b.add_cloth_mesh(**PLACE, scale=1.0, vertices=mesh.vertices, indices=mesh.indices, density=0.2)
    return b


def springs():
    rng = np.random.default_rng(0)
    b = ModelBuilder()
    b.add_particles(rng.normal(size=(200, 3)), np.zeros((200, 3)), np.ones(200))
    for i, j in rng.integers(0, 200, size=(600, 2)):
        if i != j:
            b.add_spring(int(i), int(j))
    return b


def colors_of(groups, count):
    """Checks that the groups are disjoint and complete."""
    together = np.concatenate([np.asarray(g) for g in groups])
    np.testing.assert_array_equal(np.sort(together), np.arange(count))
    colors = np.empty(count, int)
    for c, group in enumerate(groups):
        colors[np.asarray(group)] = c
    return colors


def monochrome(colors, stencils):
    """Number of stencils in which two different particles (-1 = none) have one colour."""
    found = np.zeros(len(stencils), bool)
    for a in range(stencils.shape[1]):
        for b in range(a):
            i, j = stencils[:, a], stencils[:, b]
            found |= (i >= 0) & (j >= 0) & (i != j) & (colors[i] == colors[j])
    return int(found.sum())


def check(b, bending=False):
    """No spring, triangle, tetrahedron or hinge with a stiffness, and with ``bending`` no hinge at all, is monochrome."""
    colors = colors_of(b.particle_color_groups, b.particle_count)
    for element in ELEMENTS:
        indices = getattr(b, element.table.prefix + element.particles).array.reshape(-1, element.particle_count)
        if element.name == "aerodynamics":
            indices = indices[(b.tri_materials.array[:, 3:] != 0).any(axis=1)]
        if element.name == "edge" and not bending:
            indices = indices[(b.edge_bending_properties.array != 0).any(axis=1)]
            indices = indices[(indices >= 0).all(axis=1)]
        assert monochrome(colors, indices) == 0, element.name


SCENES = {
    "bunny": bunny,
    "grid 50x100": lambda: cloth(50, 100, edge_ke=0.0),
    "stiff grid": lambda: cloth(20, 20, edge_ke=1.0),
    "soft": lambda: soft(5, 4, 6),
    "springs": springs,
}


@ALGORITHMS
@BENDING
@BALANCE
@pytest.mark.parametrize("scene", SCENES)
def test_no_element_is_monochrome(scene, algorithm, bending, balance):
    b = SCENES[scene]()
    b.color(include_bending=bending, balance_colors=balance, coloring_algorithm=algorithm)
    check(b, bending)
    m = b.finalize(device="cpu")
    assert len(m.particle_color_groups) == len(b.particle_color_groups)
    colors = m.particle_colors.numpy()
    for c, group in enumerate(m.particle_color_groups):
        assert group.dtype is wp.int32
        assert (colors[group.numpy()] == c).all()


def test_few_colours():
    """A grid needs 3 colours and with its hinges 4 or a few more; every colour costs a launch."""
    plain, bent = cloth(20, 20, edge_ke=0.0), cloth(20, 20, edge_ke=0.0)
    plain.color()
    bent.color(include_bending=True)
    assert 3 <= len(plain.particle_color_groups) <= 5
    assert 4 <= len(bent.particle_color_groups) <= 8
    s = soft(4, 4, 4)
    s.color()
    assert 4 <= len(s.particle_color_groups) <= 10


def test_balanced_groups():
    b = cloth(40, 40, edge_ke=0.0)
    b.color(balance_colors=False)
    uneven = [len(g) for g in b.particle_color_groups]
    b.color()
    even = [len(g) for g in b.particle_color_groups]
    assert max(even) <= 1.2 * min(even)
    assert max(even) / min(even) <= max(uneven) / min(uneven)


@ALGORITHMS
@pytest.mark.parametrize("mu, lam", [(1.0, 0.0), (0.0, 1.0)])
def test_elements_with_one_zero_lame_parameter_are_separated(mu, lam, algorithm):
    for b in (cloth(20, 20, tri_ke=mu, tri_ka=lam, tri_kd=0.0, edge_ke=0.0), soft(4, 4, 4, mu=mu, lam=lam)):
        b.color(coloring_algorithm=algorithm)
        check(b)


@pytest.mark.parametrize("kind", ["spring", "triangle", "edge", "tetrahedron"])
def test_elements_with_damping_alone_are_separated(kind):
    b = ModelBuilder()
    b.add_particles([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.zeros((4, 3)), np.ones(4))
    add = {
        "spring": lambda: b.add_spring(0, 1, 0.0, 1.0),
        "triangle": lambda: b.add_triangle(0, 1, 2, tri_ke=0.0, tri_ka=0.0, tri_kd=1.0),
        "edge": lambda: b.add_edge(0, 3, 1, 2, edge_ke=0.0, edge_kd=1.0),
        "tetrahedron": lambda: b.add_tetrahedron(0, 1, 2, 3, 0.0, 0.0, 1.0),
    }
    add[kind]()
    b.color()
    check(b)


def test_a_lattice_of_springs_and_hinges_ends():
    """100 x 100 cells with bending: balancing must not go round in circles."""
    b = cloth(100, 100, edge_ke=1.0)
    for algorithm in ColoringAlgorithm:
        b.color(include_bending=True, coloring_algorithm=algorithm, target_max_min_color_ratio=1.0)
        check(b, bending=True)


def test_what_does_not_act_needs_no_colour_of_its_own():
    b = cloth(5, 5, tri_ke=0.0, tri_ka=0.0, tri_kd=0.0, edge_ke=0.0)
    b.color()
    assert [len(g) for g in b.particle_color_groups] == [36]
    empty = ModelBuilder()
    empty.color()
    assert empty.particle_color_groups == [] == empty.body_color_groups
    empty.add_body(mass=1.0)
    empty.color()
    assert [g.tolist() for g in empty.body_color_groups] == [[0]]


def test_joined_bodies_are_separated():
    b = ModelBuilder()
    for _ in range(6):
        b.add_body(mass=1.0)
    for j in range(1, 6):
        b.joint_parent[j] = j - 1
    b.color()
    colors = colors_of(b.body_color_groups, 6)
    assert (np.diff(colors) != 0).all()


def test_merged_colourings_stay_valid():
    parts = [cloth(4, 7), soft(2, 2, 2), springs(), cloth(1, 1)]
    for part in parts:
        part.color()
    b = ModelBuilder()
    for part in parts:
        b.add_builder(part)
    check(b)
    assert len(b.particle_color_groups) == max(len(part.particle_color_groups) for part in parts)
    b.finalize(device="cpu")


def test_replicated_worlds_stay_valid_and_even():
    part = cloth(7, 5)
    part.color()
    b = ModelBuilder()
    b.replicate(part, 5, (1, 0, 0))
    check(b)
    assert len(b.particle_color_groups) == len(part.particle_color_groups)
    sizes = [len(g) for g in b.particle_color_groups]
    assert max(sizes) - min(sizes) <= max(len(g) for g in part.particle_color_groups)
    b.finalize(device="cpu")


def test_a_builder_without_colours_is_not_covered_by_one_with():
    one, two = cloth(2, 2), cloth(2, 2)
    one.color()
    b = ModelBuilder()
    b.add_builder(one)
    b.add_builder(two)
    with pytest.raises(ValueError, match=r"9 of 18.*color\(\)"):
        b.finalize(device="cpu")


# ---- the graph itself


@ALGORITHMS
@BALANCE
def test_random_graphs(algorithm, balance):
    rng = np.random.default_rng(2)
    for count, edges in ((1, 0), (2, 1), (10, 45), (50, 100), (200, 3000)):
        pairs = rng.integers(0, count, size=(edges, 2))  # with loops and repetitions
        groups = color_graph(count, [pairs], balance, 1.1, algorithm)
        assert monochrome(colors_of(groups, count), pairs) == 0
        assert all(g.dtype == np.int32 and (np.diff(g) > 0).all() for g in groups)


def test_special_graphs():
    assert color_graph(0, []) == []
    assert [g.tolist() for g in color_graph(3, [])] == [[0, 1, 2]]
    assert [g.tolist() for g in color_graph(3, [np.array([(0, 0), (-1, 2)])])] == [[0, 1, 2]]
    assert len(color_graph(7, [np.arange(7)[None]])) == 7  # all with all


def irregular_sheet(size, seed=0):
    """A grid whose cells are cut along either diagonal at random, its vertices renumbered; with a third triangle at some edges."""
    rng = np.random.default_rng(seed)
    x, y = (a.reshape(-1) for a in np.meshgrid(np.arange(size), np.arange(size)))
    v = np.stack([y * (size + 1) + x + k for k in (0, 1, size + 1, size + 2)], axis=1)
    cut = rng.random(len(v)) < 0.5
    triangles = np.where(cut[:, None], v[:, [0, 1, 2, 1, 3, 2]], v[:, [0, 1, 3, 0, 3, 2]]).reshape(-1, 3)
    count = (size + 1) ** 2
    flaps = triangles[rng.integers(0, len(triangles), 20)]
    flaps[:, 2] = count + np.arange(20)
    return count + 20, rng.permutation(count + 20)[np.concatenate([triangles, flaps])]


def test_irregular_sheets_with_bending():
    count, triangles = irregular_sheet(60)
    edges, crowded = mesh_edges(triangles)
    assert crowded > 0
    for algorithm in ColoringAlgorithm:
        groups = color_graph(count, [triangles, edges], algorithm=algorithm)
        colors = colors_of(groups, count)
        assert monochrome(colors, triangles) == 0 == monochrome(colors, edges)
        sizes = [len(g) for g in groups]
        assert len(groups) <= 8 and max(sizes) <= 1.1 * min(sizes)
        again = color_graph(count, [triangles, edges], algorithm=algorithm)
        assert all(np.array_equal(a, b) for a, b in zip(groups, again, strict=True))


def test_a_planar_sheet_needs_four_colours():
    count, triangles = irregular_sheet(60, seed=1)
    assert len(color_graph(count, [triangles])) <= 4


def test_worlds_of_irregular_sheets():
    count, triangles = irregular_sheet(9)
    part = ModelBuilder()
    x = np.random.default_rng(3).normal(size=(count, 3))
    with pytest.warns(UserWarning, match="more than two triangles"):
        part.add_cloth_mesh(**PLACE, scale=1.0, vertices=x, indices=triangles.reshape(-1), density=1.0, edge_ke=1.0)
    b = ModelBuilder()
    b.replicate(part, 4)
    b.color(include_bending=True)
    check(b, bending=True)
    assert len(b.particle_color_groups) <= 9
    b.finalize(device="cpu")


def test_neighbours_are_listed_once():
    rng = np.random.default_rng(4)
    stencils = [rng.integers(-1, 40, size=(30, 4)), rng.integers(-1, 40, size=(50, 2))]
    graph = Graph.of_stencils(40, stencils)
    expected = [set() for _ in range(40)]
    for rows in stencils:
        for row in rows.tolist():
            for i in row:
                expected[i] |= {j for j in row if j not in (i, -1)} if i >= 0 else set()
    for i in range(40):
        mine = graph.neighbor[graph.start[i] : graph.start[i + 1]].tolist()
        assert len(mine) == len(set(mine)) and set(mine) == expected[i]


def test_conflicts():
    stencils = np.array([[0, 1, 2], [2, 3, 4]])
    assert find_conflict(np.array([0, 1, 2, 0, 1]), stencils) is None
    row, i, j = find_conflict(np.array([0, 1, 2, 0, 2]), stencils)
    assert row == 1 and {i, j} == {2, 4}


def test_merge_pairs_large_groups_with_small_ones():
    merged = merge_groups([np.arange(1), np.arange(5)], [np.arange(10, 16), np.arange(20, 22), np.arange(30, 31)])
    assert sorted(len(g) for g in merged) == [1 + 2, 5 + 1, 6]
    assert sorted(np.concatenate(merged).tolist()) == sorted([0, *range(5), *range(10, 16), 20, 21, 30])


# ---- elements of every particle (case 17)


@pytest.mark.parametrize("scene", ["soft", "springs", "stiff grid"])
def test_incidence_lists_elements_in_order(scene):
    b = SCENES[scene]()
    for element in ELEMENTS:
        columns = {name: data.array for name, data in b._tables[element.table.name].columns.items()}
        rows, stencils = element.stencils(columns)
        if len(rows) == 0:
            continue
        lists = build_incidence(rows, stencils, b.particle_count, "cpu")
        start, found, slot = (getattr(lists, n).numpy() for n in ("start", "element", "slot"))
        indices = columns[element.particles].reshape(-1, element.particle_count)
        assert start[0] == 0 and start[-1] == len(found) == stencils.size
        for p in range(b.particle_count):
            mine = found[start[p] : start[p + 1]]
            assert (np.diff(mine) > 0).all()
            np.testing.assert_array_equal(indices[mine, slot[start[p] : start[p + 1]]], p)
            np.testing.assert_array_equal(mine, rows[(stencils == p).any(axis=1)])


def test_incidence_of_nothing():
    lists = build_incidence(np.empty(0, int), np.empty((0, 3), int), 4, "cpu")
    assert lists.start.numpy().tolist() == [0] * 5 and lists.element.shape == lists.slot.shape == (0,)


def test_equal_worlds_are_coloured_equally():
    """Three copies of an irregular sheet and one other world: the copies have the same colours, and no stencil has two of one."""
    rng = np.random.default_rng(3)
    sheet = rng.integers(0, 60, size=(150, 3))
    other = rng.integers(0, 40, size=(70, 3))
    world = np.repeat([-1, 0, 1, 2, 3], [5, 60, 60, 40, 60])
    stencils = np.concatenate([sheet + 5, other + 125, sheet + 65, sheet + 165])
    groups = color_worlds(world, [stencils])
    colors = np.empty(len(world), int)
    for number, group in enumerate(groups):
        colors[group] = number
    assert sorted(np.concatenate(groups)) == list(range(len(world))) and find_conflict(colors, stencils) is None
    assert (colors[5:65] == colors[65:125]).all() and (colors[5:65] == colors[165:]).all()


def test_a_stencil_that_joins_two_worlds_is_respected():
    stencils = np.array([[0, 1], [1, 2], [2, 3]])
    groups = color_worlds(np.array([0, 0, 1, 1]), [stencils])
    colors = np.empty(4, int)
    for number, group in enumerate(groups):
        colors[group] = number
    assert find_conflict(colors, stencils) is None

"""add_cloth_grid and add_cloth_mesh: the layout of the grid, lumped masses, and meshes with something wrong."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder

ZERO, UPRIGHT = wp.vec3(0.0), wp.quat_identity()
PLACE = {"pos": ZERO, "rot": UPRIGHT, "vel": ZERO}
SQUARE = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], float)
SQUARE_TRIANGLES = [0, 1, 2, 1, 3, 2]


def grid(dim_x=1, dim_y=1, **options):
    b = ModelBuilder()
    b.add_cloth_grid(**{**PLACE, "dim_x": dim_x, "dim_y": dim_y, "cell_x": 0.1, "cell_y": 0.2, "mass": 0.5, **options})
    return b


def mesh(vertices=SQUARE, indices=SQUARE_TRIANGLES, **options):
    b = ModelBuilder()
    b.add_cloth_mesh(**{**PLACE, "scale": 1.0, "vertices": vertices, "indices": indices, "density": 0.3, **options})
    return b


def test_one_cell():
    b = grid()
    assert b.particle_count == 4
    np.testing.assert_allclose(b.particle_q.array, [(0, 0, 0), (0.1, 0, 0), (0, 0.2, 0), (0.1, 0.2, 0)])
    assert list(b.particle_mass) == [0.5] * 4
    assert b.tri_indices == [(0, 1, 2), (1, 3, 2)]
    edges = b.edge_indices.array
    assert len(edges) == 5
    boundary = (edges[:, :2] == -1).any(axis=1)
    assert boundary.sum() == 4
    o0, o1, v0, v1 = edges[~boundary][0]
    assert {v0, v1} == {1, 2} and {o0, o1} == {0, 3}
    assert {frozenset(e) for e in edges[:, 2:].tolist()} == {frozenset(p) for p in [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)]}


def test_hinges_run_along_their_triangles():
    """In a row (o0, o1, v0, v1) the triangles are wound (o0, v0, v1) and (o1, v1, v0)."""
    b = grid(3, 2)
    triangles = {tuple(np.roll(t, k)) for t in b.tri_indices.array.tolist() for k in range(3)}
    inner = 0
    for o0, o1, v0, v1 in b.edge_indices.array.tolist():
        assert (o0, v0, v1) in triangles
        if o1 >= 0:
            assert (o1, v1, v0) in triangles
            inner += 1
    assert b.edge_count == 3 * 3 + 4 * 2 + 3 * 2 and inner == b.edge_count - 10


def test_larger_grid():
    b = grid(3, 2)
    assert (b.particle_count, b.tri_count) == (12, 12)
    np.testing.assert_allclose(b.particle_q.array[5], (0.1, 0.2, 0))  # x fastest
    cell = 2 * (1 * 3 + 2)
    assert b.tri_indices[cell : cell + 2] == [(6, 7, 10), (7, 11, 10)]
    normals = np.cross(
        *(b.particle_q.array[b.tri_indices.array[:, k]] - b.particle_q.array[b.tri_indices.array[:, 0]] for k in (1, 2))
    )
    assert (normals[:, 2] > 0).all()
    assert sum(b.tri_areas) == pytest.approx(0.3 * 0.4)


def test_reversed_winding():
    b = grid(3, 2, reverse_winding=True)
    corners = b.particle_q.array[b.tri_indices.array]
    assert (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] < 0).all()
    assert sum(b.tri_areas) == pytest.approx(0.3 * 0.4)


@pytest.mark.parametrize("side, where", [("left", (0, 0)), ("right", (0, 0.3)), ("bottom", (1, 0)), ("top", (1, 0.4))])
def test_fixed_sides(side, where):
    b = grid(3, 2, **{f"fix_{side}": True})
    axis, value = where
    fixed = np.isclose(b.particle_q.array[:, axis], value)
    assert 0 < fixed.sum() < 12
    np.testing.assert_array_equal(b.particle_mass.array == 0.0, fixed)
    np.testing.assert_array_equal((b.particle_flags.array & 1) == 0, fixed)


def test_placement_and_velocity():
    turn = wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), float(np.pi / 2))
    b = grid(pos=(1, 2, 3), rot=turn, vel=(4, 5, 6))
    np.testing.assert_allclose(b.particle_q.array[[1, 2]], [(1.1, 2, 3), (1, 2, 3.2)], atol=1e-6)
    np.testing.assert_array_equal(b.particle_qd.array, [(4, 5, 6)] * 4)
    b = mesh(pos=(1, 2, 3), rot=turn, scale=2.0)
    np.testing.assert_allclose(b.particle_q.array[[1, 2]], [(3, 2, 3), (1, 2, 5)], atol=1e-6)


def test_materials_springs_and_radius():
    b = grid(2, 2, tri_ke=1, tri_ka=2, tri_kd=3, tri_drag=4, tri_lift=5, edge_ke=6, edge_kd=7, particle_radius=0.03)
    assert set(b.tri_materials) == {(1, 2, 3, 4, 5)}
    assert set(b.edge_bending_properties) == {(6, 7)}
    assert set(b.particle_radius) == {0.03}
    assert b.spring_count == 0
    b = grid(2, 2, add_springs=True, spring_ke=8, spring_kd=9)
    assert b.spring_count == b.edge_count
    assert {frozenset(p) for p in b.spring_indices.array.tolist()} == {frozenset(p) for p in b.edge_indices.array[:, 2:].tolist()}
    assert set(b.spring_stiffness) == {8} and set(b.spring_damping) == {9}
    b = grid()
    assert set(b.tri_materials) == {(100, 100, 10, 0, 0)} and set(b.edge_bending_properties) == {(100, 0)}
    assert set(b.particle_radius) == {0.1}


@pytest.mark.parametrize("dims", [(0, 1), (1, -2)])
def test_a_grid_without_cells_is_refused(dims):
    with pytest.raises(ValueError, match=f"add_cloth_grid.*{dims[0]} x {dims[1]}"):
        grid(*dims)


@pytest.mark.parametrize("cell", [0.0, -0.1, np.nan])
def test_cells_without_size_are_refused(cell):
    """As add_soft_grid does: it names the call and the sizes, adds nothing, and leaves no cloth of fixed points behind."""
    b = ModelBuilder()
    with pytest.raises(ValueError, match="add_cloth_grid"):
        b.add_cloth_grid(**PLACE, dim_x=2, dim_y=2, cell_x=cell, cell_y=0.1, mass=0.1)
    assert b.particle_count == 0


def test_lumped_mass():
    """A third of each triangle's mass at its corners: 0.3 kg/m^2 on a unit square."""
    b = mesh()
    assert list(b.particle_mass) == pytest.approx([0.05, 0.1, 0.1, 0.05])
    assert sum(mesh(scale=3.0).particle_mass) == pytest.approx(0.3 * 9)
    rng = np.random.default_rng(0)
    vertices, triangles = rng.normal(size=(6, 3)), np.array([(0, 1, 2), (2, 1, 3), (3, 4, 5)])
    b = mesh(vertices, triangles)
    expected = np.zeros(6)
    for t in triangles:
        x = vertices[t]
        expected[t] += 0.3 / 3 * 0.5 * np.linalg.norm(np.cross(x[1] - x[0], x[2] - x[0]))
    np.testing.assert_allclose(b.particle_mass.array, expected, rtol=1e-12)
    assert b.tri_indices == [tuple(t) for t in triangles.tolist()]


def test_indices_count_from_the_particles_that_exist():
    b = mesh()
    b.add_cloth_mesh(**PLACE, scale=1.0, vertices=SQUARE, indices=SQUARE_TRIANGLES, density=1.0, add_springs=True)
    assert b.tri_indices[2:] == [(4, 5, 6), (5, 7, 6)]
    assert b.edge_indices.array[5:, 2:].min() == 4
    assert (b.edge_indices.array[5:, 1] == -1).sum() == 4
    assert b.spring_indices.array.min() == 4


# ---- meshes with something wrong


def test_nan_vertex():
    vertices = SQUARE.copy()
    vertices[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"add_cloth_mesh\(shirt\).*vertex 2.*nan"):
        mesh(vertices, label="shirt")


def test_index_out_of_range():
    with pytest.raises(ValueError, match=r"add_cloth_mesh\(shirt\).*element 1.*\[1, 4, 2\].*0 to 3"):
        mesh(SQUARE, [0, 1, 2, 1, 4, 2], label="shirt")
    with pytest.raises(ValueError, match=r"element 0.*\[-1, 1, 2\]"):
        mesh(SQUARE, [-1, 1, 2])


def test_wrong_number_of_indices():
    with pytest.raises(ValueError, match=r"shirt.*multiple of 3.*5"):
        mesh(SQUARE, [0, 1, 2, 1, 3], label="shirt")


def test_indices_that_are_not_whole_numbers():
    with pytest.raises(ValueError, match="shirt"):
        mesh(SQUARE, [0.0, 1.0, 2.5], label="shirt")


@pytest.mark.parametrize("vertices, indices", [(np.zeros((0, 3)), []), (SQUARE, []), (np.zeros((0, 3)), [0, 1, 2])])
def test_empty_mesh(vertices, indices):
    with pytest.raises(ValueError, match=r"shirt.*empty"):
        mesh(vertices, indices, label="shirt")


def test_zero_area_triangles_are_dropped_with_a_count():
    vertices = np.concatenate([SQUARE, [(2, 0, 0)]])
    with pytest.warns(UserWarning, match="2 triangles have no area") as caught:
        b = mesh(vertices, [*SQUARE_TRIANGLES, 0, 1, 4, 3, 3, 1, 4, 3, 1])
    assert len(caught) == 1
    assert b.tri_count == 3
    assert (b.particle_mass.array > 0).all()
    assert b.edge_count == 7  # no hinge of a dropped triangle
    b.color()
    b.finalize(device="cpu")


def test_unused_vertices_become_fixed_with_a_count():
    vertices = np.concatenate([SQUARE, [(2, 0, 0), (3, 0, 0)]])
    with pytest.warns(UserWarning, match=r"shirt.*2 vertices.*the first is 4.*fixed"):
        b = mesh(vertices, label="shirt")
    assert b.particle_count == 6
    assert list(b.particle_mass[4:]) == [0.0, 0.0]


def test_a_vertex_of_flat_triangles_only_is_counted_as_unused():
    vertices = np.concatenate([SQUARE, [(2, 0, 0)]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        b = mesh(vertices, [*SQUARE_TRIANGLES, 0, 1, 4])
    assert b.particle_mass[4] == 0.0
    messages = [str(w.message) for w in caught]
    assert any("1 triangles have no area" in m for m in messages)
    assert any("1 vertices" in m and "the first is 4" in m for m in messages), messages


def test_edges_of_three_triangles_do_not_bend_and_are_counted():
    vertices = np.concatenate([SQUARE, [(0, 0, 1)]])
    with pytest.warns(UserWarning, match="1 edges join more than two triangles"):
        b = mesh(vertices, [*SQUARE_TRIANGLES, 1, 2, 4])
    row = next(e for e in b.edge_indices if set(e[2:]) == {1, 2})
    assert row[1] == -1
    assert b.tri_count == 3 and b.edge_count == 7


def test_a_good_mesh_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh()
        grid(3, 3, add_springs=True)

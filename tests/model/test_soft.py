"""add_soft_grid and add_soft_mesh: a conforming mesh of the exact volume, masses, and meshes with something wrong."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder, TetMesh

PLACE = {"pos": wp.vec3(0.0), "rot": wp.quat_identity(), "vel": wp.vec3(0.0)}
CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)], float)
TWO_TETS = [0, 1, 2, 3, 1, 2, 3, 4]
FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])


def grid(dims=(2, 3, 4), cell=(0.1, 0.2, 0.3), **options):
    b = ModelBuilder()
    given = dict(zip(("dim_x", "dim_y", "dim_z"), dims)) | dict(zip(("cell_x", "cell_y", "cell_z"), cell))
    b.add_soft_grid(**{**PLACE, **given, "density": 500.0, "k_mu": 1.0, "k_lambda": 2.0, "k_damp": 3.0, **options})
    return b


def mesh(vertices=CORNERS, indices=TWO_TETS, **options):
    b = ModelBuilder()
    b.add_soft_mesh(**{**PLACE, "scale": 1.0, "vertices": vertices, "indices": indices, "density": 600.0, **options})
    return b


def volumes(b):
    corners = b.particle_q.array[b.tet_indices.array]
    return np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0


def face_counts(tets):
    faces = np.sort(tets[:, FACES].reshape(-1, 3), axis=1)
    return np.unique(faces, axis=0, return_counts=True)


@pytest.mark.parametrize("dims", [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 3, 4), (3, 3, 3)])
def test_five_tetrahedra_per_cell_fill_the_block(dims):
    b = grid(dims)
    cells = int(np.prod(dims))
    assert b.tet_count == 5 * cells
    assert b.particle_count == np.prod(np.array(dims) + 1)
    v = volumes(b)
    assert (v > 0).all()
    assert v.sum() == pytest.approx(cells * 0.006, rel=1e-12)
    np.testing.assert_allclose(np.unique(np.round(v / 0.001, 9)), (1.0, 2.0))  # a sixth and a third of the cell
    _, counts = face_counts(b.tet_indices.array)
    assert counts.max() <= 2
    boundary = 4 * (dims[0] * dims[1] + dims[1] * dims[2] + dims[2] * dims[0])
    assert (counts == 1).sum() == boundary == b.tri_count


def test_inner_faces_conform():
    """Every face that is not on the surface of the block belongs to two tetrahedra."""
    b = grid((3, 2, 4))
    faces, counts = face_counts(b.tet_indices.array)
    x = b.particle_q.array / np.array([0.3, 0.4, 1.2])
    for face, count in zip(faces, counts):
        corners = x[face]
        outer = any(np.allclose(corners[:, a], v) for a in range(3) for v in (0.0, 1.0))
        assert count == (1 if outer else 2)


def test_layout_and_masses():
    b = grid((2, 3, 4))
    np.testing.assert_allclose(b.particle_q.array[1], (0.1, 0, 0))  # x fastest, then y, then z
    np.testing.assert_allclose(b.particle_q.array[3], (0, 0.2, 0))
    np.testing.assert_allclose(b.particle_q.array[12], (0, 0, 0.3))
    np.testing.assert_allclose(b.particle_mass.array, 500.0 * 0.006)  # that of a full cell each
    assert set(b.tet_materials) == {(1.0, 2.0, 3.0)}


def test_surface():
    b = grid((2, 2, 2))
    centre = np.array([0.1, 0.2, 0.3])
    corners = b.particle_q.array[b.tri_indices.array]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", normals, corners.mean(axis=1) - centre) > 0).all()
    assert sum(b.tri_areas) == pytest.approx(2 * (0.2 * 0.4 + 0.4 * 0.6 + 0.6 * 0.2))
    assert set(b.tri_materials) == {(0.0,) * 5}
    assert b.edge_count == 3 * b.tri_count // 2 and set(b.edge_bending_properties) == {(0.0, 0.0)}
    assert (b.edge_indices.array >= 0).all()
    assert grid(add_surface_mesh_edges=False).edge_count == 0
    b = grid(tri_ke=1, tri_ka=2, tri_kd=3, tri_drag=4, tri_lift=5, edge_ke=6, edge_kd=7, particle_radius=0.02)
    assert set(b.tri_materials) == {(1, 2, 3, 4, 5)} and set(b.edge_bending_properties) == {(6, 7)}
    assert set(b.particle_radius) == {0.02}


@pytest.mark.parametrize("side, axis, value", [("left", 0, 0), ("right", 0, 0.2), ("bottom", 1, 0), ("top", 1, 0.6)])
def test_fixed_sides(side, axis, value):
    b = grid(**{f"fix_{side}": True})
    fixed = np.isclose(b.particle_q.array[:, axis], value)
    assert 0 < fixed.sum() < len(fixed)
    np.testing.assert_array_equal(b.particle_mass.array == 0.0, fixed)


def test_placement():
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), float(np.pi / 2))
    b = grid((1, 1, 1), pos=(1, 2, 3), rot=turn, vel=(4, 5, 6))
    np.testing.assert_allclose(b.particle_q.array[[1, 2, 4]], [(1, 2.1, 3), (0.8, 2, 3), (1, 2, 3.3)], atol=1e-6)
    np.testing.assert_array_equal(b.particle_qd.array, [(4, 5, 6)] * 8)
    assert (volumes(b) > 0).all()


@pytest.mark.parametrize("wrong", [{"dims": (0, 1, 1)}, {"cell": (0.1, 0.0, 0.1)}, {"cell": (0.1, np.nan, 0.1)}])
def test_a_grid_without_volume_is_refused(wrong):
    with pytest.raises(ValueError, match="add_soft_grid"):
        grid(**wrong)


def test_mesh_masses():
    """A quarter of each tetrahedron's mass at its corners."""
    b = mesh()
    v = np.array([1 / 6, 1 / 3])
    np.testing.assert_allclose(volumes(b), v)
    expected = 600.0 / 4 * np.array([v[0], v.sum(), v.sum(), v.sum(), v[1]])
    np.testing.assert_allclose(b.particle_mass.array, expected)
    assert sum(mesh(scale=2.0).particle_mass) == pytest.approx(600.0 * 0.5 * 8)
    assert b.tri_count == 6
    m = b.finalize(device="cpu")
    np.testing.assert_allclose(m.tet_poses.numpy()[0], np.eye(3), atol=1e-6)


def test_defaults_of_the_material():
    b = ModelBuilder()
    b.default_tet_k_mu, b.default_tet_density = 7.0, 8.0
    b.add_soft_mesh(**PLACE, scale=1.0, vertices=CORNERS, indices=TWO_TETS)
    assert set(b.tet_materials) == {(7.0, 1000.0, 0.0)}
    assert sum(b.particle_mass) == pytest.approx(8.0 * 0.5)


def test_tet_mesh_object():
    tets = TetMesh(CORNERS, TWO_TETS, k_mu=[1.0, 2.0], k_lambda=3.0, density=100.0)
    b = ModelBuilder()
    b.add_soft_mesh(**PLACE, scale=1.0, mesh=tets, k_damp=0.5)
    assert b.tet_materials == [(1.0, 3.0, 0.5), (2.0, 3.0, 0.5)]
    assert sum(b.particle_mass) == pytest.approx(50.0)
    b.add_soft_mesh(**PLACE, scale=1.0, mesh=tets, k_mu=9.0, density=1.0)  # what is given beside it wins
    assert b.tet_materials[2:] == [(9.0, 3.0, 0.0)] * 2
    for wrong in ({}, {"mesh": tets, "vertices": CORNERS, "indices": TWO_TETS}, {"vertices": CORNERS}):
        with pytest.raises(ValueError, match="either mesh, or vertices and indices"):
            ModelBuilder().add_soft_mesh(**PLACE, scale=1.0, **wrong)


# ---- meshes with something wrong


def test_inverted_tetrahedra_are_turned_with_a_count():
    with pytest.warns(UserWarning, match=r"jelly.*1 of 2 tetrahedra are inverted \(the first is 1\)"):
        b = mesh(CORNERS, [0, 1, 2, 3, 2, 1, 3, 4], label="jelly")
    np.testing.assert_allclose(volumes(b), (1 / 6, 1 / 3))
    assert b.tet_count == 2
    assert sum(b.particle_mass) == pytest.approx(300.0)
    with pytest.warns(UserWarning, match="2 of 2 tetrahedra are inverted"):
        b = mesh(scale=-1.0)  # mirrored
    assert (volumes(b) > 0).all()


def test_flat_tetrahedra_are_dropped_with_a_count():
    vertices = np.concatenate([CORNERS, [(1, 1, 0)]])
    with pytest.warns(UserWarning, match="1 tetrahedra are flat"):
        b = mesh(vertices, [*TWO_TETS, 0, 1, 2, 5, 5, 2, 1, 4])
    assert b.tet_count == 3
    assert (b.particle_mass.array > 0).all()
    b.color()
    b.finalize(device="cpu")


def test_a_vertex_of_flat_tetrahedra_only_is_counted_as_unused():
    vertices = np.concatenate([CORNERS, [(1, 1, 0)]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        b = mesh(vertices, [*TWO_TETS, 0, 1, 2, 5])
    assert b.particle_mass[5] == 0.0
    messages = [str(w.message) for w in caught]
    assert any("1 vertices" in m and "the first is 5" in m for m in messages), messages


def test_unused_vertices_become_fixed_with_a_count():
    with pytest.warns(UserWarning, match=r"jelly.*1 vertices.*the first is 5.*fixed"):
        b = mesh(np.concatenate([CORNERS, [(9, 9, 9)]]), label="jelly")
    assert b.particle_mass[5] == 0.0


def test_nan_vertex():
    vertices = CORNERS.copy()
    vertices[4, 0] = np.inf
    with pytest.raises(ValueError, match=r"add_soft_mesh\(jelly\).*vertex 4.*inf"):
        mesh(vertices, label="jelly")


def test_index_out_of_range():
    with pytest.raises(ValueError, match=r"jelly.*element 1.*\[1, 2, 3, 5\].*0 to 4"):
        mesh(CORNERS, [0, 1, 2, 3, 1, 2, 3, 5], label="jelly")


def test_wrong_number_of_indices():
    with pytest.raises(ValueError, match=r"jelly.*multiple of 4.*7"):
        mesh(CORNERS, TWO_TETS[:7], label="jelly")


def test_empty_mesh():
    for vertices, indices in ((np.zeros((0, 3)), []), (CORNERS, [])):
        with pytest.raises(ValueError, match=r"jelly.*empty"):
            mesh(vertices, indices, label="jelly")


def test_a_good_mesh_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh()
        grid()

import numpy as np
import pytest

from hooke.geometry import Mesh, TetMesh

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
CUBE = np.array([[0, a, a + b, 7] for a, b in ((4, 2), (4, 1), (2, 4), (2, 1), (1, 4), (1, 2))])
"""The unit cube in six tetrahedra, three of them inside out."""


def test_cube():
    mesh = TetMesh(CORNERS, CUBE, k_mu=1.0e3, density=700.0)
    assert mesh.volume == pytest.approx(1.0) and mesh.turned == 3
    assert mesh.vertex_count == 8 and mesh.tet_count == 6
    assert mesh.tet_indices.shape == (24,) and mesh.tet_indices.dtype == np.int32
    assert np.allclose(mesh.k_mu, 1.0e3) and len(mesh.k_mu) == 6 and mesh.k_lambda is None
    corners = mesh.vertices[mesh.tet_indices.reshape(-1, 4)].astype(float)
    assert np.all(np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0.0)
    assert mesh.mass_properties().mass == pytest.approx(700.0)


def test_surface_is_closed_and_faces_outward():
    mesh = TetMesh(CORNERS, CUBE)
    assert mesh.surface_tri_indices.shape == (36,) and mesh.surface_tri_indices.dtype == np.int32
    surface = Mesh(mesh.vertices, mesh.surface_tri_indices)
    assert surface.is_watertight and surface.faces_outward and surface.mass == pytest.approx(1.0)
    assert np.array_equal(TetMesh.compute_surface_triangles(mesh.tet_indices), mesh.surface_tri_indices)


@pytest.mark.parametrize(
    "vertices, tets, options, words",
    [
        (CORNERS, [[0, 1, 2, 3]], {}, r"no volume \(first: 0"),
        (CORNERS * 1.0e-4, [[0, 4, 6, 7], [0, 1, 4, 5]], {}, r"1 of 2 tetrahedra have no volume \(first: 1"),
        (CORNERS, [[0, 4, 6, 8]], {}, "tetrahedron 0"),
        (CORNERS, [[0, 4, 6]], {}, "expected 4 indices"),
        (CORNERS, [], {}, "at least one"),
        (CORNERS * np.nan, CUBE, {}, "not finite"),
        (CORNERS, CUBE, {"k_mu": [1.0, 2.0]}, "k_mu as 1 or 6"),
        (CORNERS, CUBE, {"k_lambda": -1.0}, "k_lambda"),
        (CORNERS, CUBE, {"density": 0.0}, "density"),
    ],
)
def test_wrong_input_is_refused(vertices, tets, options, words):
    with pytest.raises(ValueError, match=words):
        TetMesh(vertices, tets, **options)

import numpy as np
import pytest

from hooke.geometry import Mesh, check_triangles, repair, weld
from hooke.geometry.repair import as_triangles, as_vertices


def broken():
    """A square of two triangles with one of everything wrong."""
    vertices = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [9, 9, 9], [0.5, 0, 0], [0.5, 0.5, 1], [0.2, 0.2, -1]], dtype=float
    )
    triangles = np.array(
        [
            [0, 1, 2],
            [0, 2, 3],
            [1, 2, 0],  # again
            [0, 5, 1],  # on a line
            [0, 2, 6],  # third one on the edge (0, 2)
            [2, 2, 3],  # twice the same corner
        ]
    )
    return vertices, triangles


def test_every_defect_is_found_and_named():
    vertices, triangles = broken()
    vertices[7, 1] = np.nan
    report = check_triangles(vertices, np.concatenate((triangles, [[0, 1, 42], [-1, 0, 1]])), "sheet")
    assert report.nonfinite_vertices.tolist() == [7]
    assert report.out_of_range.tolist() == [6, 7]
    assert report.zero_area.tolist() == [3, 5]
    assert report.duplicates.tolist() == [2]
    assert report.unused_vertices.tolist() == [4, 7]
    assert [0, 2] in report.nonmanifold_edges.tolist()
    assert not report.watertight
    text = "\n".join(report.defects())
    for words in ("1 non-finite", "2 triangles that name", "2 triangles without area: 3, 5", "1 duplicate", "2 unused"):
        assert words in text


def test_a_sound_mesh_has_no_defects():
    cube = Mesh.create_box(1.0)
    report = check_triangles(cube.vertices, cube.indices)
    assert report.watertight and report.defects() == []
    sheet = check_triangles(*square())
    assert not sheet.watertight and sheet.defects() == [] and len(sheet.boundary_edges) == 4


def square():
    return np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float), np.array([[0, 1, 2], [0, 2, 3]])


def test_winding():
    vertices, triangles = square()
    triangles[1] = triangles[1, ::-1]
    report = check_triangles(vertices, triangles)
    assert report.inconsistent_edges.tolist() == [[0, 2]]
    assert "opposite winding" in report.defects()[0]


@pytest.mark.parametrize("size", [1.0e-4, 1.0, 1.0e4])
def test_area_is_judged_by_the_size_of_the_triangle(size):
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0.5, 0.01, 0], [0.5, 1.0e-7, 0]]) * size
    report = check_triangles(vertices, [[0, 1, 2], [0, 1, 3]])
    assert report.zero_area.tolist() == [1]


def test_repair_drops_and_maps():
    vertices, triangles = broken()
    fixed = repair(vertices, triangles, "sheet")
    assert (fixed.zero_area, fixed.duplicates, fixed.unused_vertices) == (2, 1, 3)
    assert fixed.triangle_map.tolist() == [0, 1, 4]
    assert fixed.vertex_map.tolist() == [0, 1, 2, 3, -1, -1, 4, -1]
    assert np.array_equal(fixed.vertices, vertices[[0, 1, 2, 3, 6]].astype(np.float32))
    kept = triangles[fixed.triangle_map]
    assert np.array_equal(fixed.vertices[fixed.indices.reshape(-1, 3)], vertices[kept].astype(np.float32))
    again = repair(fixed.vertices, fixed.indices)
    assert np.array_equal(again.indices, fixed.indices) and again.unused_vertices == 0


def test_repair_does_not_guess():
    vertices, triangles = broken()
    vertices[4, 0] = np.inf
    with pytest.raises(ValueError, match=r"sheet: 1 of 8 vertices are not finite \(first: 4\)"):
        repair(vertices, triangles, "sheet")
    vertices[4, 0] = 0.0
    with pytest.raises(ValueError, match=r"triangle 0 is \[0, 1, 8\], but there are 8 vertices"):
        repair(vertices, [[0, 1, 8]], "sheet")
    assert len(repair(vertices, np.zeros((0, 3), dtype=int)).indices) == 0


def test_weld_keeps_the_order_of_appearance():
    vertices = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 0], [-0.0, 0, 0], [2, 0, 0]], dtype=np.float32)
    welded, triangles, where = weld(vertices, np.array([[0, 1, 4], [2, 3, 4]]))
    assert np.array_equal(welded, [[1, 0, 0], [0, 0, 0], [2, 0, 0]])
    assert triangles.tolist() == [[0, 1, 2], [0, 1, 2]] and where.tolist() == [0, 1, 0, 1, 2]


def test_shapes_of_arrays_are_checked():
    with pytest.raises(ValueError, match=r"expected vertices of shape \(n, 3\), found \(4, 2\)"):
        as_vertices(np.zeros((4, 2)), "m")
    with pytest.raises(ValueError, match="whole numbers"):
        as_triangles([0.0, 1.0, 2.0], 3, "m")
    with pytest.raises(ValueError, match="split larger faces"):
        as_triangles([[0, 1, 2, 3]], 4, "m")
    with pytest.raises(ValueError, match="expected 3 indices"):
        as_triangles([0, 1, 2, 0], 4, "m")
    assert as_triangles([], 0, "m").shape == (0, 3)
    assert as_vertices([0, 0, 0, 1, 1, 1], "m").shape == (2, 3)

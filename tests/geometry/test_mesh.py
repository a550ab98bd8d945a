import numpy as np
import pytest

from hooke.geometry import Heightfield, Mesh

from .reference import wedge

PRIMITIVES = {
    "box": (lambda **k: Mesh.create_box(0.5, 0.4, 0.3, **k), (0.5, 0.4, 0.3)),
    "sphere": (lambda **k: Mesh.create_sphere(0.5, **k), (0.5, 0.5, 0.5)),
    "ellipsoid": (lambda **k: Mesh.create_ellipsoid(0.5, 0.4, 0.3, **k), (0.5, 0.4, 0.3)),
    "capsule": (lambda **k: Mesh.create_capsule(0.2, 0.5, **k), (0.2, 0.7, 0.2)),
    "cylinder": (lambda **k: Mesh.create_cylinder(0.2, 0.5, **k), (0.2, 0.5, 0.2)),
    "tapered": (lambda **k: Mesh.create_cylinder(0.2, 0.5, top_radius=0.1, **k), (0.2, 0.5, 0.2)),
    "cone": (lambda **k: Mesh.create_cone(0.2, 0.5, **k), (0.2, 0.5, 0.2)),
}


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_are_closed_and_stand_on_y(name):
    create, half = PRIMITIVES[name]
    mesh = create()
    assert mesh.is_watertight and mesh.faces_outward and mesh.mass > 0.0
    assert np.allclose(mesh.vertices.max(axis=0), half, atol=0.01 * max(half))
    assert np.allclose(mesh.vertices.min(axis=0), -np.array(half), atol=0.01 * max(half))
    assert mesh.vertices.dtype == np.float32 and mesh.indices.dtype == np.int32 and mesh.indices.ndim == 1
    assert create(compute_inertia=False).mass == 0.0
    with pytest.raises(TypeError, match="colour"):
        create(colour=True)
    normals = create(compute_normals=True, compute_uvs=False).normals
    assert np.allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1.0e-5)


@pytest.mark.parametrize("axis, direction", [(0, 0), ("y", 1), ("Z", 2)])
def test_cone_points_up(axis, direction):
    mesh = Mesh.create_cone(0.2, 0.5, up_axis=axis)
    up = np.eye(3)[direction]
    apex = mesh.vertices[np.argmax(mesh.vertices @ up)]
    assert np.allclose(apex, 0.5 * up)
    assert np.allclose(mesh.com, -0.25 * up, atol=1.0e-6)
    assert mesh.is_watertight and mesh.faces_outward


def test_wrong_primitives_are_refused():
    with pytest.raises(ValueError, match="up_axis"):
        Mesh.create_cone(0.2, 0.5, up_axis="w")
    with pytest.raises(ValueError, match="sphere"):
        Mesh.create_sphere(-1.0)
    with pytest.raises(ValueError, match="width and length"):
        Mesh.create_plane(0.0, 1.0)
    with pytest.raises(ValueError, match="at least 3 divisions"):
        Mesh.create_capsule(0.2, 0.5, segments=2)


def test_inside_out_and_flat():
    assert not Mesh.create_sphere(0.5, reverse_winding=True).faces_outward
    plane = Mesh.create_plane(2.0, 1.0)
    assert not plane.is_watertight and plane.mass == 0.0
    assert np.allclose(np.ptp(plane.vertices, axis=0), [2.0, 1.0, 0.0])


def test_terrain_mesh_is_a_solid():
    heights = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])  # 2 along x, 3 along y
    mesh = Mesh.create_heightfield(heights, 4.0, 2.0, center_x=10.0, ground_z=-1.0)
    assert mesh.is_watertight and mesh.faces_outward
    assert np.allclose(mesh.vertices.min(axis=0), [8.0, -1.0, -1.0]) and np.allclose(mesh.vertices.max(axis=0), [12.0, 1.0, 5.0])
    assert mesh.mass == pytest.approx(8.0 * 3.5)
    assert [12.0, 1.0, 5.0] in mesh.vertices.tolist() and [8.0, 0.0, 1.0] in mesh.vertices.tolist()
    field = Heightfield(heights.T, 3, 2, hx=2.0, hy=1.0)
    assert Mesh.create_heightfield(field, ground_z=-1.0).mass == pytest.approx(mesh.mass)
    with pytest.raises(ValueError, match="lower ground_z"):
        Mesh.create_heightfield(field)
    with pytest.raises(ValueError, match="extent_x"):
        Mesh.create_heightfield(heights)


def test_heightfield_values():
    field = Heightfield([[1.0, 3.0], [2.0, 5.0]], 2, 2, hx=2.0, hy=1.0, min_z=-1.0, max_z=1.0)
    assert np.allclose(field.data, [[0.0, 0.5], [0.25, 1.0]])
    assert np.allclose(field.heights(), [[-1.0, 0.0], [-0.5, 1.0]])
    vertices, _ = field.triangles()
    assert np.allclose(vertices, [[-2, -1, -1], [2, -1, 0], [-2, 1, -0.5], [2, 1, 1]])
    assert np.allclose(Heightfield(np.full(6, 7.0), 2, 3).heights(), 7.0)
    for arguments, words in (
        (([[1.0, 2.0]], 1, 2), "at least 2 x 2"),
        (([1.0, 2.0, 3.0], 2, 2), "expected 2 x 2"),
        (([[1.0, np.nan], [0.0, 0.0]], 2, 2), "not finite"),
        (([[1.0, 2.0], [0.0, 0.0]], 2, 2, -1.0), "half extents"),
        (([[1.0, 2.0], [0.0, 0.0]], 2, 2, 1.0, 1.0, 3.0, 2.0), "min_z <= max_z"),
    ):
        with pytest.raises(ValueError, match=words):
            Heightfield(*arguments)


def test_hollow_mesh_is_a_wall():
    hollow = Mesh(*(lambda m: (m.vertices, m.indices))(Mesh.create_box(0.5)), is_solid=False)
    assert hollow.mass == pytest.approx(6.0 * 0.002)


def test_a_box_of_separate_faces_is_watertight():
    cube = Mesh.create_box(0.5)
    loose = Mesh(cube.vertices[cube.indices], np.arange(len(cube.indices)))
    assert len(loose.vertices) == 36 and loose.is_watertight
    open_box = Mesh(cube.vertices, cube.indices[:-3])
    assert not open_box.is_watertight


@pytest.mark.parametrize(
    "vertices, indices, words",
    [
        (np.zeros((3, 2)), [0, 1, 2], r"shape \(n, 3\)"),
        ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [0, 1, 2], "not finite"),
        (np.eye(3), [0, 1, 3], "triangle 0"),
        (np.eye(3), [0, 1, -1], "triangle 0"),
        (np.eye(3), [0, 1], "3 indices"),
        (np.eye(3), [0.5, 1, 2], "whole numbers"),
    ],
)
def test_damaged_arrays_are_refused(vertices, indices, words):
    with pytest.raises(ValueError, match=words):
        Mesh(vertices, indices)


def test_appearance_is_checked():
    with pytest.raises(ValueError, match="expected uvs for 3 vertices, found 2"):
        Mesh(np.eye(3), [0, 1, 2], uvs=[[0, 0], [1, 1]])
    mesh = Mesh(np.eye(3), [0, 1, 2], uvs=np.zeros((3, 2)), normals=np.eye(3), color=[1, 0, 0])
    copy = mesh.copy()
    assert copy.color == (1.0, 0.0, 0.0) and np.array_equal(copy.normals, np.eye(3))


def test_copies_are_independent():
    mesh = wedge()
    other = mesh.copy()
    other.vertices = other.vertices * 2.0
    assert np.allclose(mesh.vertices * 2.0, other.vertices) and other.mass == mesh.mass
    assert mesh.copy(vertices=mesh.vertices * 2.0, recompute_inertia=True).mass == pytest.approx(8.0 * mesh.mass, rel=1.0e-5)


def test_handles_follow_the_data():
    mesh = wedge()
    handle = mesh.finalize("cpu")
    assert handle != 0 and mesh.finalize("cpu") == handle
    watertight = mesh.is_watertight
    mesh.indices = mesh.indices[:-3]
    assert watertight and not mesh.is_watertight
    with pytest.raises(ValueError, match="triangle"):
        mesh.vertices = mesh.vertices[:4]
    with pytest.raises(ValueError, match="without triangles"):
        Mesh(np.zeros((3, 3)), []).finalize("cpu")


def test_convex_hull():
    mesh = wedge()
    hull = mesh.compute_convex_hull()
    assert hull.is_watertight and hull.faces_outward and len(hull.vertices) == 10
    assert hull.mass == pytest.approx((1.0 - 0.5 * 0.6 * 0.6) * 0.6, rel=1.0e-5)
    assert mesh.compute_convex_hull(replace=True) is mesh and mesh.mass == pytest.approx(hull.mass)

    ball = Mesh.create_sphere(1.0, num_latitudes=24, num_longitudes=24)
    ball.maxhullvert = 32
    coarse = ball.compute_convex_hull()
    assert len(coarse.vertices) == 32 and coarse.is_watertight and coarse.faces_outward
    assert 0.75 * ball.mass < coarse.mass < ball.mass
    for flat in (Mesh.create_plane(1.0, 1.0), Mesh(np.eye(3), [0, 1, 2])):
        with pytest.raises(ValueError, match="in a plane"):
            flat.compute_convex_hull()
    with pytest.raises(ValueError, match="at least 4"):
        Mesh(np.eye(3), [0, 1, 2], maxhullvert=3)

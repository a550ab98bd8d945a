"""Particles, springs, triangles, hinges and tetrahedra added one by one or in bulk, and the mistakes that are refused."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder, ParticleFlags

ZERO = (0.0, 0.0, 0.0)


def builder(points, mass=1.0):
    b = ModelBuilder()
    b.add_particles(points, [ZERO] * len(points), [mass] * len(points))
    return b


CORNERS = [(0, 0, 0), (3, 0, 0), (0, 4, 0), (0, 0, 2), (3, 4, 0)]


def test_particles():
    b = ModelBuilder()
    b.default_particle_radius = 0.3
    assert b.add_particle((1, 2, 3), (4, 5, 6), 0.5) == 0
    assert b.add_particle(wp.vec3(1.0), wp.vec3(0.0), 0.0, radius=0.25, flags=0) == 1
    assert b.add_particles(np.zeros((2, 3)), np.ones((2, 3)), [1.0, 2.0], [0.1, 0.2]) == range(2, 4)
    assert b.add_particles(np.zeros((0, 3)), np.zeros((0, 3)), []) == range(4, 4)
    assert list(b.particle_mass) == [0.5, 0.0, 1.0, 2.0]
    assert list(b.particle_radius) == [0.3, 0.25, 0.1, 0.2]
    assert list(b.particle_flags) == [ParticleFlags.ACTIVE, 0, 1, 1]
    assert list(b.particle_world) == [-1] * 4
    m = b.finalize(device="cpu")
    np.testing.assert_array_equal(m.particle_q.numpy()[0], (1, 2, 3))
    np.testing.assert_array_equal(m.particle_qd.numpy()[0], (4, 5, 6))
    np.testing.assert_array_equal(m.particle_inv_mass.numpy(), [2.0, 0.0, 1.0, 0.5])


@pytest.mark.parametrize("name", ["vel", "mass", "radius", "flags"])
def test_particles_of_different_lengths(name):
    given = {"pos": np.zeros((3, 3)), "vel": np.zeros((3, 3)), "mass": [1.0] * 3, "radius": [0.1] * 3, "flags": [1] * 3}
    given[name] = given[name][:2]
    b = ModelBuilder()
    with pytest.raises(ValueError, match=r"expected 3 .* found 2"):
        b.add_particles(**given)
    assert b.particle_count == 0


def test_springs():
    b = builder(CORNERS)
    b.default_spring_ke = 7.0
    assert b.add_spring(1, 2, 10.0, 0.5, 0.25) == 0
    assert b.add_spring(0, 3) == 1
    m = b.finalize(device="cpu")
    assert m.spring_indices.shape == (4,)
    assert m.spring_indices.numpy().tolist() == [1, 2, 0, 3]
    assert m.spring_rest_length.numpy().tolist() == [5.0, 2.0]
    assert m.spring_stiffness.numpy().tolist() == [10.0, 7.0]
    assert m.spring_damping.numpy().tolist() == [0.5, 0.0]
    assert m.spring_control.numpy().tolist() == [0.25, 0.0]


def test_triangle_rest_shape():
    """``poses`` is the inverse of the rest edge matrix: it gives the edges back, up to a rotation in the plane."""
    b = builder(CORNERS)
    assert b.add_triangle(1, 2, 3, tri_ke=1, tri_ka=2, tri_kd=3, tri_drag=4, tri_lift=5) == pytest.approx(
        0.5 * np.linalg.norm(np.cross([-3, 4, 0], [-3, 0, 2]))
    )
    areas = b.add_triangles([0, 0], [1, 2], [2, 4], tri_ke=[10.0, 20.0])
    assert areas == pytest.approx([6.0, 6.0])
    m = b.finalize(device="cpu")
    for k, (i, j, l) in enumerate(m.tri_indices.numpy()):
        d = np.linalg.inv(m.tri_poses.numpy()[k].astype(float))
        x = np.array(CORNERS, float)
        edges = np.stack([x[j] - x[i], x[l] - x[i]], axis=1)
        np.testing.assert_allclose(d.T @ d, edges.T @ edges, rtol=1e-5, atol=1e-5)
        assert np.linalg.det(d) == pytest.approx(2 * m.tri_areas.numpy()[k], rel=1e-5)
    np.testing.assert_array_equal(m.tri_materials.numpy(), [(1, 2, 3, 4, 5), (10, 100, 10, 0, 0), (20, 100, 10, 0, 0)])


def test_hinges():
    b = builder([(0, 1, 0.2), (0, -1, 0.2), (-0.5, 0, 0), (0.5, 0, 0)])
    b.add_edge(0, 1, 2, 3, edge_ke=2.0, edge_kd=0.5)
    b.add_edges([0, -1], [-1, -1], [2, 0], [3, 2], rest=0.3)
    m = b.finalize(device="cpu")
    np.testing.assert_array_equal(m.edge_indices.numpy(), [(0, 1, 2, 3), (0, -1, 2, 3), (-1, -1, 0, 2)])
    np.testing.assert_allclose(m.edge_rest_angle.numpy(), [-2 * np.arctan(0.2), 0.3, 0.3], rtol=1e-6)
    np.testing.assert_allclose(m.edge_rest_length.numpy(), [1, 1, np.sqrt(1 + 0.25 + 0.04)], rtol=1e-6)
    np.testing.assert_array_equal(m.edge_bending_properties.numpy(), [(2, 0.5), (100, 0), (100, 0)])


def test_tetrahedra():
    b = builder(CORNERS)
    assert b.add_tetrahedron(0, 1, 2, 3) == pytest.approx(4.0)
    m = b.finalize(device="cpu")
    np.testing.assert_allclose(m.tet_poses.numpy()[0], np.diag([1 / 3, 1 / 4, 1 / 2]), rtol=1e-6)
    np.testing.assert_array_equal(m.tet_materials.numpy(), [(1000, 1000, 0)])


@pytest.mark.parametrize(
    "name, add",
    [
        ("spring", lambda b, *i: b.add_spring(i[0], i[1])),
        ("triangle", lambda b, *i: b.add_triangle(*i[:3])),
        ("edge", lambda b, *i: b.add_edge(2, 3, i[0], i[1])),
        ("tetrahedron", lambda b, *i: b.add_tetrahedron(*i)),
    ],
)
def test_particles_that_do_not_exist(name, add):
    b = builder(CORNERS)
    for wrong in (5, -1, 10**6):
        with pytest.raises(ValueError, match=rf"{name} 0.*{wrong}.*0 to 4"):
            add(b, 0, wrong, 2, 3)
    assert b.spring_count + b.tri_count + b.edge_count + b.tet_count == 0


def test_the_wrong_one_of_many_is_named():
    b = builder(CORNERS)
    with pytest.raises(ValueError, match=r"triangle 1 of 3.*\[0, 1, 9\]"):
        b.add_triangles([0, 0, 0], [1, 1, 2], [2, 9, 4])


def test_repeated_particles():
    b = builder(CORNERS)
    with pytest.raises(ValueError, match=r"spring.*\[1, 1\] repeat"):
        b.add_spring(1, 1)
    with pytest.raises(ValueError, match=r"edge.*\[0, 1, 2, 2\] repeat"):
        b.add_edge(0, 1, 2, 2)
    with pytest.raises(ValueError, match=r"edge.*\[0, 0, 1, 2\] repeat"):
        b.add_edge(0, 0, 1, 2)
    with pytest.raises(ValueError, match=r"tetrahedron.*\[0, 1, 2, 0\] repeat"):
        b.add_tetrahedron(0, 1, 2, 0)


def test_triangles_without_area_are_dropped_and_counted():
    b = builder([(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 0, 0)])
    with pytest.warns(UserWarning, match=r"2 triangles have no area.*\[0, 1, 3\]"):
        areas = b.add_triangles([0, 0, 2], [1, 1, 2], [2, 3, 1])
    assert areas == pytest.approx([0.5, 0.0, 0.0])
    assert b.tri_indices == [(0, 1, 2)]
    with pytest.warns(UserWarning, match="1 triangles"):
        assert b.add_triangle(0, 1, 3) == 0.0


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_small_and_large_elements_are_not_taken_for_flat_ones(size):
    b = builder(size * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1e-3, 0)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert b.add_triangle(0, 1, 4) == pytest.approx(0.5e-3 * size**2)
        assert b.add_tetrahedron(0, 1, 2, 3) == pytest.approx(size**3 / 6)


def test_flat_and_inverted_tetrahedra_are_dropped_and_counted():
    b = builder(CORNERS)
    with pytest.warns(UserWarning, match=r"1 tetrahedra are flat or inverted.*\[0, 1, 2, 4\]"):
        assert b.add_tetrahedron(0, 1, 2, 4) == 0.0
    with pytest.warns(UserWarning, match=r"1 tetrahedra are flat or inverted.*\[1, 0, 2, 3\]"):
        assert b.add_tetrahedron(1, 0, 2, 3) == 0.0
    assert b.tet_count == 0


def test_columns_can_be_written_until_finalize():
    b = builder(CORNERS)
    b.add_spring(0, 1)
    b.particle_mass[1] = 5.0
    b.particle_qd[2] = wp.vec3(1.0, 2.0, 3.0)
    b.particle_radius = [0.5] * 5
    b.spring_rest_length[:] = [2.0]
    b.spring_indices[1] = 4
    b.particle_flags[-1] &= ~int(ParticleFlags.ACTIVE)
    m = b.finalize(device="cpu")
    assert m.particle_mass.numpy().tolist() == [1, 5, 1, 1, 1]
    assert m.particle_qd.numpy()[2].tolist() == [1, 2, 3]
    assert m.particle_radius.numpy().tolist() == [0.5] * 5
    assert m.spring_rest_length.numpy().tolist() == [2.0]
    assert m.spring_indices.numpy().tolist() == [0, 4]
    assert m.particle_flags.numpy().tolist() == [1, 1, 1, 1, 0]
    with pytest.raises(AttributeError, match="particle_inv_mass"):
        b.particle_inv_mass
    with pytest.raises(AttributeError, match="particle_colour"):
        b.particle_colour
    assert {"particle_q", "tri_indices", "joint_q", "shape_margin", "body_count", "add_body"} <= set(dir(b))

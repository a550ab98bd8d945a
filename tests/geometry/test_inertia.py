import re

import numpy as np
import pytest
import warp as wp

from hooke.geometry import MassProperties, Mesh, validate_inertia
from hooke.geometry.inertia import (
    mesh_mass_properties,
    rotation_matrix,
    shell_mass_properties,
    tetrahedra_mass_properties,
)

from .reference import wedge

CUBE = Mesh.create_box(0.5)


def box_inertia(mass, x, y, z):
    return mass / 12.0 * np.diag((y * y + z * z, x * x + z * z, x * x + y * y))


def test_cube_of_water():
    body = mesh_mass_properties(CUBE.vertices, CUBE.indices, 1000.0)
    assert body.mass == pytest.approx(1000.0)
    assert np.allclose(body.inertia, 1000.0 / 6.0 * np.eye(3))
    turned = mesh_mass_properties(CUBE.vertices, CUBE.indices.reshape(-1, 3)[:, ::-1], 1000.0)
    assert turned.mass == pytest.approx(1000.0) and np.allclose(turned.inertia, body.inertia)


def test_a_mesh_far_away_loses_no_digits():
    vertices = CUBE.vertices.astype(np.float64) + np.array([1.0e5, -3.0e4, 2.0e3])
    body = mesh_mass_properties(vertices, CUBE.indices)
    assert body.mass == pytest.approx(1.0, rel=1.0e-9)
    assert np.allclose(body.com, [1.0e5, -3.0e4, 2.0e3])
    assert np.allclose(body.inertia, np.eye(3) / 6.0, atol=1.0e-8)


def test_notched_solid_is_two_boxes():
    body = wedge().mass_properties(2.0)
    lower = MassProperties(2.0 * 1.0 * 0.4 * 0.6, np.array([0.1, -0.2, 0.0]), box_inertia(0.48, 1.0, 0.4, 0.6))
    upper = MassProperties(2.0 * 0.4 * 0.6 * 0.6, np.array([-0.2, 0.3, 0.0]), box_inertia(0.288, 0.4, 0.6, 0.6))
    both = lower + upper
    assert body.mass == pytest.approx(both.mass, rel=1.0e-6)
    assert np.allclose(body.com, both.com, atol=1.0e-7)
    assert np.allclose(body.inertia, both.inertia, atol=1.0e-7)


def test_sheets_and_nothing_have_no_volume():
    flat = Mesh.create_plane(3.0, 2.0)
    for vertices, indices in ((flat.vertices + 5.0, flat.indices), (flat.vertices, []), (np.zeros((0, 3)), [])):
        body = mesh_mass_properties(vertices, indices)
        assert body.mass == 0.0 and not body.inertia.any() and np.isfinite(body.com).all()


def test_shell_of_a_rectangle():
    flat = Mesh.create_plane(3.0, 2.0)
    body = shell_mass_properties(flat.vertices + np.array([1.0, 0.0, 0.0]), flat.indices, 500.0, 0.01)
    assert body.mass == pytest.approx(30.0)
    assert np.allclose(body.com, [1.0, 0.0, 0.0])
    assert np.allclose(body.inertia, box_inertia(30.0, 3.0, 2.0, 0.0))


def test_tetrahedra_fill_the_cube():
    """A cube cut into the six tetrahedra along a diagonal, half of them inside out."""
    corners = np.array([[x, y, z] for x in (0.0, 2.0) for y in (0.0, 1.0) for z in (0.0, 3.0)])
    paths = [(4, 2), (4, 1), (2, 4), (2, 1), (1, 4), (1, 2)]
    tets = np.array([[0, a, a + b, 7] for a, b in paths])
    body = tetrahedra_mass_properties(corners, tets, 10.0)
    assert body.mass == pytest.approx(60.0)
    assert np.allclose(body.com, [1.0, 0.5, 1.5])
    assert np.allclose(body.inertia, box_inertia(60.0, 2.0, 1.0, 3.0))


def test_moved_and_joined_bodies():
    pose = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.normalize(wp.vec3(1.0, 2.0, -1.0)), 0.7))
    mesh = Mesh.create_box(0.5, 0.3, 0.1)
    rotation = rotation_matrix(np.array(pose)[3:])
    assert np.allclose(rotation @ [1.0, 0.0, 0.0], wp.quat_rotate(pose.q, wp.vec3(1.0, 0.0, 0.0)), atol=1.0e-6)
    moved = mesh_mass_properties(mesh.vertices @ rotation.T + np.array(pose)[:3], mesh.indices)
    expected = mesh.mass_properties().transformed(pose)
    assert np.allclose(moved.com, expected.com, atol=1.0e-6) and np.allclose(moved.inertia, expected.inertia, atol=1.0e-6)

    left = MassProperties(1.0, np.array([-0.5, 0.0, 0.0]), box_inertia(1.0, 1.0, 1.0, 1.0))
    right = MassProperties(1.0, np.array([0.5, 0.0, 0.0]), box_inertia(1.0, 1.0, 1.0, 1.0))
    both = left + right
    assert both.mass == 2.0 and np.allclose(both.com, 0.0) and np.allclose(both.inertia, box_inertia(2.0, 2.0, 1.0, 1.0))
    assert np.allclose((both + right.scaled(-1.0)).inertia, left.inertia)
    assert np.allclose((MassProperties.zero() + right).com, right.com)
    assert (MassProperties.zero() + MassProperties.zero()).mass == 0.0
    with pytest.raises(ValueError, match="quaternion"):
        left.transformed([0, 0, 0, 0, 0, 0, 0])


def test_a_right_inertia_is_left_alone():
    for inertia in (np.diag((1.0, 2.0, 2.5)), np.diag((1.0, 1.0, 2.0)), np.eye(3) * 1.0e-9):
        kept, message = validate_inertia(1.0, inertia, "body 'a'")
        assert message is None and np.array_equal(kept, inertia)
    kept, message = validate_inertia(0.0, np.zeros((3, 3)), "body 'a'")
    assert message is None and not kept.any()


@pytest.mark.parametrize(
    "mass, inertia, words",
    [
        (1.0, np.diag((1.0, 1.0, 5.0)), r"a \+ b >= c"),
        (1.0, np.diag((-1.0, 2.0, 2.0)), "positive"),
        (1.0, np.diag((0.0, 2.0, 2.0)), "positive"),
        (1.0, np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), "symmetric"),
        (2.0, np.zeros((3, 3)), "no inertia"),
    ],
)
def test_a_wrong_inertia_is_corrected(mass, inertia, words):
    fixed, message = validate_inertia(mass, inertia, "body 'wheel'")
    assert message.startswith("body 'wheel'")
    assert pytest.approx(fixed) == fixed.T
    moments = np.linalg.eigvalsh(fixed)
    assert moments[0] > 0.0 and moments[0] + moments[1] >= moments[2] * (1.0 - 1.0e-9)
    assert re.search(words, message)
    again, silent = validate_inertia(mass, fixed, "body 'wheel'")
    assert silent is None and np.allclose(again, fixed)


def test_impossible_bodies_are_refused():
    for mass, inertia in ((-1.0, np.eye(3)), (np.nan, np.eye(3)), (1.0, np.diag((1.0, np.inf, 1.0)))):
        with pytest.raises(ValueError, match="body 7"):
            validate_inertia(mass, inertia, "body 7")
    dropped, message = validate_inertia(0.0, np.eye(3), "body 7")
    assert not dropped.any() and "without mass" in message

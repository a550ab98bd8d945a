"""Rotations: rotation vectors, angles about axes, and their derivatives."""

import numpy as np
import pytest

from tests.joints.kernels import rotations
from tests.joints.poses import exponential, logarithm, quat_multiply

SMALL = 1.0e-6


def about(axis, angle):
    return exponential(np.asarray(axis, float) * angle)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-5, 0.1, 0.29, 0.31, 2.0, 3.1])
def test_rotation_vector_and_its_derivative(size):
    rng = np.random.default_rng(1)
    for _ in range(5):
        axis = rng.normal(size=3)
        k = size * axis / np.linalg.norm(axis)
        for sign in (1.0, -1.0):
            np.testing.assert_allclose(rotations(sign * exponential(k))[0][0], k, atol=1e-14, rtol=1e-12)
        matrix = rotations(exponential(k))[1][0]
        for omega in np.eye(3):
            ahead, behind = (logarithm(quat_multiply(exponential(dt * omega), exponential(k))) for dt in (SMALL, -SMALL))
            np.testing.assert_allclose(matrix @ omega, (ahead - behind) / (2 * SMALL), atol=2e-8)


TRIADS = {
    "x y z": np.eye(3), "z y x": np.eye(3)[::-1], "left": np.diag([1.0, 1.0, -1.0]), "z x z": np.eye(3)[[2, 0, 2]],
    "oblique": np.array([(1, 0, 0), (0.6, 0.8, 0), (0.0, 0.6, 0.8)]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRIADS)
def test_angles_about_three_axes_give_the_rotation_back(name):
    """Whatever the rotation: three axes of which neighbours are orthogonal reach all; oblique ones some."""
    axes = TRIADS[name]
    rng = np.random.default_rng(2)
    for _ in range(50):
        if name == "oblique":
            given = rng.uniform(-0.7, 0.7, 3)
            r = quat_multiply(quat_multiply(about(axes[0], given[0]), about(axes[1], given[1])), about(axes[2], given[2]))
        else:
            r = rng.normal(size=4)
            r /= np.linalg.norm(r)
        found = rotations(r, axes)[2][0]
        again = quat_multiply(quat_multiply(about(axes[0], found[0]), about(axes[1], found[1])), about(axes[2], found[2]))
        assert min(np.abs(again - r).max(), np.abs(again + r).max()) < 1e-7


def test_nearest_angles_follow_a_motion_through_a_full_turn():
    previous = np.zeros(3)
    for t in np.linspace(0.0, 1.0, 200):
        given = np.array([7.0 * t, 4.0 * t, -9.0 * t])
        r = quat_multiply(quat_multiply(about((1, 0, 0), given[0]), about((0, 1, 0), given[1])), about((0, 0, 1), given[2]))
        previous = rotations(r, previous=previous)[3][0]
        np.testing.assert_allclose(previous, given, atol=1e-6)
    assert rotations(about((1, 0, 0), 0.1), previous=(40.0, 0.0, 0.0))[3][1][0] == pytest.approx(0.1 + 12.0 * np.pi)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_dual_vectors(count):
    rng = np.random.default_rng(3)
    axes = rng.normal(size=(3, 3))
    dual = rotations((0, 0, 0, 1), axes, count=count)[4][:count]
    np.testing.assert_allclose(dual @ axes[:count].T, np.eye(count), atol=1e-12)
    span = np.linalg.matrix_rank(np.concatenate([dual, axes[:count]]), tol=1e-9)
    assert span == count

"""Poses and rotations in NumPy."""

import numpy as np

from hooke.model.motion import compose, inverse_pose, quat_multiply, quat_rotate


def exponential(v):
    """Quaternion of a rotation vector."""
    v = np.asarray(v, float)
    angle = np.linalg.norm(v)
    return np.append(np.sinc(angle / (2 * np.pi)) * 0.5 * v, np.cos(0.5 * angle))


def logarithm(q):
    q = np.asarray(q) if q[3] >= 0 else -np.asarray(q)
    n = np.linalg.norm(q[:3])
    return 2 * np.arctan2(n, q[3]) / n * q[:3] if n > 0 else 2 * q[:3]


def random_pose(rng, size=1.0):
    q = rng.normal(size=4)
    return np.concatenate([rng.uniform(-size, size, 3), q / np.linalg.norm(q)])


def moved_by(pose, twist, com=(0, 0, 0), dt=1.0):
    """A pose after the motion of a twist (velocity of the centre of mass, angular velocity, world axes) for a short time."""
    q = quat_multiply(exponential(dt * np.asarray(twist[3:])), pose[3:])
    centre = pose[:3] + quat_rotate(pose[3:], np.asarray(com, float)) + dt * np.asarray(twist[:3])
    return np.concatenate([centre - quat_rotate(q, np.asarray(com, float)), q])


def same_pose(a, b, tolerance):
    np.testing.assert_allclose(a[:3], b[:3], atol=tolerance)
    assert min(np.abs(a[3:] - b[3:]).max(), np.abs(a[3:] + b[3:]).max()) < tolerance


__all__ = [
    "compose",
    "exponential",
    "inverse_pose",
    "logarithm",
    "moved_by",
    "quat_multiply",
    "quat_rotate",
    "random_pose",
    "same_pose",
]

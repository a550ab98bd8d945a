"""Rigid motions of rows of a builder (NumPy, float64)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.data.chunks import map_rows
from hooke.geometry.measure import cross

__all__ = ["RigidMotion", "compose", "inverse_pose", "named_pose", "quat_multiply", "quat_rotate"]


def quat_rotate(q: Any, v: Any) -> np.ndarray:
    """Rotate vectors ``v`` (..., 3) by quaternions ``q`` (..., 4), x y z w."""
    q, v = np.asarray(q, np.float64), np.asarray(v, np.float64)
    t = 2.0 * cross(q[..., :3], v)
    return v + q[..., 3:] * t + cross(q[..., :3], t)


def quat_multiply(a: Any, b: Any) -> np.ndarray:
    """Product of quaternions (..., 4), x y z w: first ``b``, then ``a``."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    xyz = a[..., 3:] * b[..., :3] + b[..., 3:] * a[..., :3] + cross(a[..., :3], b[..., :3])
    w = a[..., 3:] * b[..., 3:] - (a[..., :3] * b[..., :3]).sum(-1, keepdims=True)
    return np.concatenate([xyz, w], axis=-1)


def compose(a: Any, b: Any) -> np.ndarray:
    """Product of poses (..., 7)."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    p = a[..., :3] + quat_rotate(a[..., 3:], b[..., :3])
    return np.concatenate([p, np.broadcast_to(quat_multiply(a[..., 3:], b[..., 3:]), (*p.shape[:-1], 4))], axis=-1)


def _seven(pose: Any) -> np.ndarray:
    parts = [np.asarray(part, np.float64).reshape(-1) for part in pose]
    values = np.concatenate(parts) if parts else np.empty(0)
    if len(values) != 7:
        raise ValueError(f"transform: expected a position and a quaternion x y z w, seven numbers in all, found {pose!r}")
    return values


class RigidMotion:
    """A pose that acts on columns according to their ``moves``.

    Args:
        pose: Seven numbers, a pair (position, quaternion), a Warp transform, or None for the identity.

    Raises:
        ValueError: Not a pose, or a value is not finite.
    """

    def __init__(self, pose: Any = None):
        self.pose = np.array([0, 0, 0, 0, 0, 0, 1.0]) if pose is None else _seven(pose)
        length = np.linalg.norm(self.pose[3:])
        if not np.isfinite(self.pose).all() or length < 1.0e-9:
            raise ValueError(f"transform: expected a finite position and a rotation, found {self.pose.tolist()}")
        self.pose[3:] /= length

    def apply(self, moves: str, rows: np.ndarray) -> np.ndarray:
        if len(rows) == 0:
            return rows
        q = self.pose[3:]
        if moves == "point":
            return map_rows(lambda x: self.pose[:3] + quat_rotate(q, x), rows)
        if moves == "vector":
            return map_rows(lambda x: quat_rotate(q, x), rows)
        if moves == "twist":
            return np.concatenate([quat_rotate(q, rows[:, :3]), quat_rotate(q, rows[:, 3:])], axis=1)
        return compose(self.pose, rows)


def inverse_pose(a: Any) -> np.ndarray:
    """Inverse of poses (..., 7)."""
    a = np.asarray(a, np.float64)
    back = a[..., 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
    return np.concatenate([-quat_rotate(back, a[..., :3]), back], axis=-1)


def named_pose(xform: Any, what: str) -> np.ndarray:
    """Seven numbers of a transform argument; ``what`` is how an error calls it."""
    try:
        return RigidMotion(xform).pose
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error

"""Small readers of USD prims: authored values, vectors, poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.importers.description import pose_of
from hooke.importers.error import FileError
from hooke.importers.usd_mesh import _world

__all__ = ["authored", "first_authored", "placed", "quaternion", "vector"]


def authored(prim: Any, name: str) -> Any:
    """Value that a prim authors, None if it does not or if it is -inf, which these schemas write for "not set"."""
    attribute = prim.GetAttribute(name) if prim else None
    if not attribute or not attribute.HasAuthoredValue():
        return None
    value = attribute.Get()
    return None if isinstance(value, float) and value == -np.inf else value


def first_authored(prim: Any, *names: str) -> Any:
    """The value of the first of some attributes that a prim authors."""
    return next((value for value in (authored(prim, name) for name in names) if value is not None), None)


def vector(value: Any) -> np.ndarray:
    """Three numbers of a Gf.Vec3."""
    return np.array([float(x) for x in value])


def quaternion(value: Any) -> np.ndarray:
    """X y z w of a Gf.Quat."""
    return np.array([*map(float, value.GetImaginary()), float(value.GetReal())])


def placed(scene: Any, prim: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pose of a prim in the world [m] and the scale of its axes (the first negative if it is mirrored).

    Raises:
        FileError: An axis has no length, or a number is not finite.
    """
    matrix = _world(prim)
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if not np.isfinite(matrix).all() or scale.min() <= 0.0:
        raise FileError(
            scene.path, f"prim {prim.GetPath()}: its transform is not finite or flattens an axis (scale {scale.tolist()})"
        )
    if np.linalg.det(matrix[:3, :3]) < 0.0:
        scale[0] = -scale[0]
    u, _, vt = np.linalg.svd(matrix[:3, :3] / scale)
    return pose_of(matrix[:3, 3] * scene.length, _of_matrix(u @ vt)), scale


def _of_matrix(r: np.ndarray) -> np.ndarray:
    """Quaternion x y z w of a rotation matrix: the eigenvector of K(r) with the largest eigenvalue (Bar-Itzhack 2000)."""
    k = np.empty((4, 4))
    k[:3, :3] = r + r.T - np.trace(r) * np.eye(3)
    k[3, :3] = k[:3, 3] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k[3, 3] = np.trace(r)
    q = np.linalg.eigh(k)[1][:, -1]
    return q if q[3] >= 0.0 else -q

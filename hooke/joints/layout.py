"""How many coordinates, velocities and constraints a joint has, and where they lie."""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.joints import FREE, JOINTS
from hooke.joints.kind import Place

__all__ = [
    "JointLayout", "constraint_counts", "coordinate_counts", "coordinate_starts", "joint_place", "moves_freely", "velocity_counts",
    "velocity_starts",
]  # fmt: skip

_QUATERNION = [int(kind.code) for kind in JOINTS if kind.quaternion]
_UNCONSTRAINED = [int(kind.code) for kind in JOINTS if not kind.constraints]


@wp.struct
class JointLayout:
    """First coordinate and first velocity of every joint, then the total."""

    q: wp.array(dtype=wp.int32)
    qd: wp.array(dtype=wp.int32)
    dim: wp.array2d(dtype=wp.int32)


@wp.func
def joint_place(layout: JointLayout, j: int):
    """Where the numbers of joint ``j`` are."""
    return Place(layout.q[j], layout.qd[j], layout.dim[j, 0], layout.dim[j, 1])


def moves_freely(types: np.ndarray) -> np.ndarray:
    """Whether joints leave their child free; their anchors are no points of the scene."""
    return np.asarray(types) == int(FREE.code)


def velocity_counts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """Degrees of freedom of every joint of some types (n,) and numbers of axes (n, 2)."""
    return np.asarray(dof_dim).reshape(-1, 2).sum(axis=1)


def coordinate_counts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """Coordinates of every joint: one more than velocities where the rotation is a quaternion."""
    return velocity_counts(types, dof_dim) + np.isin(types, _QUATERNION)


def constraint_counts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """Rows that lock the relative motion of every joint; none of elastic ones."""
    return np.where(np.isin(types, _UNCONSTRAINED), 0, 6 - velocity_counts(types, dof_dim))


def coordinate_starts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """First coordinate of every joint, then the total; shape (n + 1,)."""
    return np.concatenate([[0], np.cumsum(coordinate_counts(types, dof_dim))]).astype(np.int32)


def velocity_starts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """First velocity of every joint, then the total; shape (n + 1,)."""
    return np.concatenate([[0], np.cumsum(velocity_counts(types, dof_dim))]).astype(np.int32)

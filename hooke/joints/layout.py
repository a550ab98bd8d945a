"""How many coordinates and velocities a joint has."""

from __future__ import annotations

import numpy as np

__all__ = ["coordinate_starts", "velocity_starts"]

# Kinds whose orientation is a quaternion or that have no coordinates: (coordinates, velocities) by the value of JointType.
_FIXED_LAYOUT = {2: (4, 3), 3: (0, 0), 4: (7, 6), 5: (7, 6), 8: (7, 6)}


def _starts(types: np.ndarray, dof_dim: np.ndarray, which: int) -> np.ndarray:
    counts = dof_dim.sum(axis=1)
    for code, layout in _FIXED_LAYOUT.items():
        counts = np.where(types == code, layout[which], counts)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def coordinate_starts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """First coordinate of every joint, then the total; shape (n + 1,)."""
    return _starts(types, dof_dim, 0)


def velocity_starts(types: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """First velocity of every joint, then the total; shape (n + 1,)."""
    return _starts(types, dof_dim, 1)

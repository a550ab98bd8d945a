"""Which kind of relative motion a joint allows: cases of D6 by their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hooke.joints import (
    BALL,
    CARTESIAN,
    CYLINDRICAL,
    D6,
    FIXED,
    FREE,
    GIMBAL,
    PRISMATIC,
    REVOLUTE,
    UNIVERSAL,
    JointKind,
    joint_kind,
)

__all__ = ["MOTIONS", "is_left_handed", "relative_motion"]

_ANGLE = 1.0e-6  # to which axes coincide or are orthogonal [rad]
_CASES = {
    (0, 0): FIXED, (1, 0): PRISMATIC, (0, 1): REVOLUTE, (1, 1): CYLINDRICAL, (0, 2): UNIVERSAL, (3, 0): CARTESIAN, (0, 3): GIMBAL,
}  # fmt: skip


def relative_motion(code: int, dof_dim: Sequence[int], axes: Any) -> JointKind:
    """The kind of relative motion of a joint.

    Args:
        code: Its JointType.
        dof_dim: Numbers of linear and angular axes.
        axes: Its unit axes, shape (n, 3).

    Returns:
        The kind: for D6 the one that its axes make (fixed, prismatic, revolute, cylindrical, universal, Cartesian, gimbal), or D6
        itself where they make none: other numbers of axes, a cylindrical joint with two axes, angular axes that are not orthogonal.
    """
    kind = joint_kind(code)
    if kind is not D6:
        return kind
    case = _CASES.get((int(dof_dim[0]), int(dof_dim[1])), D6)
    a = np.asarray(axes, np.float64).reshape(-1, 3)
    if case is CYLINDRICAL and np.linalg.norm(a[0] - a[1]) > _ANGLE:
        return D6
    if case in (UNIVERSAL, GIMBAL) and np.abs(np.triu(a @ a.T, 1)).max() > _ANGLE:
        return D6
    return case


def is_left_handed(axes: Any) -> bool:
    """Whether three orthogonal axes are a left-handed triad."""
    return bool(np.linalg.det(np.asarray(axes, np.float64).reshape(3, 3)) < 0.0)


MOTIONS = (FREE, REVOLUTE, PRISMATIC, CYLINDRICAL, UNIVERSAL, BALL, CARTESIAN, FIXED, GIMBAL)
"""All kinds that a mechanism in maximal coordinates is made of."""

"""Control: the inputs of a step."""

from __future__ import annotations

from typing import ClassVar

import warp as wp

__all__ = ["Control", "old_targets"]


class Control:
    """Inputs that a caller may change before every step. Arrays of kinds that a model lacks are None.

    Attributes:
        joint_f: Efforts conjugate to ``joint_qd`` [N or N m], float (degrees of freedom,).
        joint_target_q: Position targets of drives [m or rad], float (coordinates,).
        joint_target_qd: Velocity targets of drives [m/s or rad/s], float (degrees of freedom,).
        joint_act: Inputs of actuators, float (degrees of freedom,).
        tri_activations: Values kept for actuators of the user, float (triangles,).
        tet_activations: Values kept for actuators of the user, float (tetrahedra,).
    """

    SOURCES: ClassVar[dict[str, str]] = {
        "joint_f": "joint_f",
        "joint_target_q": "joint_target_q",
        "joint_target_qd": "joint_target_qd",
        "joint_act": "joint_act",
        "tri_activations": "tri_activations",
        "tet_activations": "tet_activations",
    }

    def __init__(self):
        self.joint_f: wp.array | None = None
        self.joint_target_q: wp.array | None = None
        self.joint_target_qd: wp.array | None = None
        self.joint_act: wp.array | None = None
        self.tri_activations: wp.array | None = None
        self.tet_activations: wp.array | None = None

    @property
    def joint_target_pos(self) -> wp.array | None:
        """Other name of ``joint_target_q``, where there are as many coordinates as degrees of freedom."""
        return old_targets(self.joint_target_q, self.joint_target_qd)

    @property
    def joint_target_vel(self) -> wp.array | None:
        """Other name of ``joint_target_qd``."""
        return self.joint_target_qd

    def clear(self, model=None) -> None:
        """Set all inputs to zero, or to the defaults of ``model``."""
        for field, name in self.SOURCES.items():
            array = getattr(self, field)
            if array is None:
                continue
            if model is None:
                array.zero_()
            else:
                wp.copy(array, getattr(model, name))


def old_targets(q: wp.array | None, qd: wp.array | None) -> wp.array | None:
    """The position targets under a name that stands for one value per degree of freedom.

    Raises:
        AttributeError: A joint has a quaternion, so that there are more coordinates.
    """
    if q is not None and qd is not None and len(q) != len(qd):
        raise AttributeError(
            f"joint_target_pos has one value per degree of freedom ({len(qd)}), but there are {len(q)} coordinates; use joint_target_q"
        )
    return q

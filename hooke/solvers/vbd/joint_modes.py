"""Hard and soft slots of joints: their names, the attributes that author them, and switching at run time."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import warp as wp

from hooke.execution.recorder import captured_by_user, launch_directly
from hooke.joints import joint_kind
from hooke.model.custom import AttributeFrequency, CustomAttribute

__all__ = ["JointModes", "JointSlot"]


class JointSlot:
    """Slots of :meth:`SolverVBD.set_joint_constraint_mode`: translations and rotations; of a cable also by what they resist."""

    LINEAR = 0
    ANGULAR = 1
    STRETCH = 0
    BEND = 1


class JointModes:
    """The methods of SolverVBD about slots of joints."""

    JointSlot = JointSlot
    model: Any
    device: Any
    _tables: dict[str, Any]
    _rigid: Any

    @classmethod
    def register_custom_attributes(cls, builder: Any, *, dahl_defaults_enabled: bool = True) -> None:
        """Register the attributes of joints that this solver reads, in the namespace ``vbd``.

        ``vbd:joint_is_hard`` (1): 0 makes the structural slots of a joint soft. ``vbd:dahl_eps_max`` and ``vbd:dahl_tau`` [rad]: the
        hysteresis of bending of cables and rods, where both are positive: the largest stress, over the stiffness, and the strain over
        which it is built up (docs/guide/bodies.md).

        Args:
            builder: The builder, before its joints are added.
            dahl_defaults_enabled: Deprecated; True gives the Dahl attributes the defaults 0.5 and 1, False 0.
        """
        if dahl_defaults_enabled:
            warnings.warn(
                "SolverVBD.register_custom_attributes: positive defaults of Dahl friction are deprecated; pass "
                "dahl_defaults_enabled=False",
                DeprecationWarning,
                stacklevel=2,
            )
        scale = 1.0 if dahl_defaults_enabled else 0.0
        for name, dtype, default in (
            ("joint_is_hard", wp.int32, 1), ("dahl_eps_max", wp.float32, 0.5 * scale), ("dahl_tau", wp.float32, scale),
        ):  # fmt: skip
            builder.add_custom_attribute(
                CustomAttribute(name=name, frequency=AttributeFrequency.JOINT, dtype=dtype, default=default, namespace="vbd")
            )

    def set_joint_constraint_mode(self, joint_index: int, hard: bool, slot: int | None = None) -> None:
        """Make structural slots of a joint hard (multipliers: the constraint is met) or soft (a spring of its stiffness).

        From the next step on, in place: recorded steps and graphs stay valid. Not to be called during a capture.

        Args:
            joint_index: The joint.
            hard: True for hard.
            slot: JointSlot; None is all that the joint has.

        Raises:
            ValueError: The joint does not exist or has no such slot.
            RuntimeError: Called during a capture.
        """
        count = self._tables["joint"].count
        if not _is_index(joint_index) or not 0 <= joint_index < count:
            raise ValueError(f"set_joint_constraint_mode: expected a joint from 0 to {count - 1}, found {joint_index!r}")
        arrays = self._tables["joint"].arrays
        kind = joint_kind(arrays["type"].numpy()[joint_index])
        has = _structural_slots(kind, arrays["dof_dim"].numpy()[joint_index])
        if slot is not None and (not _is_index(slot) or slot not in has):
            name = arrays["label"][joint_index]
            raise ValueError(
                f"set_joint_constraint_mode: joint {name!r} (index {joint_index}, {kind.name}) has the structural slots {has}, "
                f"found {slot!r}"
            )
        if captured_by_user(self.device):
            raise RuntimeError("set_joint_constraint_mode: called during a capture; call it before")
        if self._rigid is not None:
            launch_directly(self._rigid.set_hardness, joint_index, has if slot is None else [slot], bool(hard))


def _is_index(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _structural_slots(kind: Any, dim: Any) -> list[int]:
    """Slots (0 linear, 1 angular) in which a joint locks or resists something."""
    if not kind.constraints:
        return [0, 1]
    if kind.at_com:
        return []
    return [k for k in (0, 1) if dim[k] < 3]

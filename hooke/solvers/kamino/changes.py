"""What a change of a model means for a solver that lives: what it has to read again, and what it cannot take over."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from hooke.execution.recorder import captured_by_user
from hooke.joints.relative_motion import MOTIONS
from hooke.model.enums import ModelFlags
from hooke.solvers.kamino.check import body_name, check_model, joint_name, listed
from hooke.solvers.kamino.structure import Actuation, Structure, make_structure

__all__ = ["Reread", "check_change", "what_to_reread"]

_DOFS = (
    ModelFlags.JOINT_DOF_PROPERTIES | ModelFlags.JOINT_DOF_FORCE_PROPERTIES | ModelFlags.JOINT_DOF_INERTIAL_PROPERTIES
    | ModelFlags.ACTUATOR_PROPERTIES
)  # fmt: skip
_BODIES = ModelFlags.BODY_PROPERTIES | ModelFlags.BODY_INERTIAL_PROPERTIES
_FRAMES = ModelFlags.BODY_INERTIAL_PROPERTIES | ModelFlags.JOINT_PROPERTIES | ModelFlags.JOINT_DOF_PROPERTIES
_SHAPES = ModelFlags.BODY_INERTIAL_PROPERTIES | ModelFlags.SHAPE_PROPERTIES | ModelFlags.SHAPE_TYPE_AND_SOURCE
_STRUCTURAL = _DOFS | _BODIES | _FRAMES | ModelFlags.CONSTRAINT_PROPERTIES


@dataclass(frozen=True)
class Reread:
    """What a solver reads again; what it reads in every step anyway (gains, limits, gravity, materials, anchors) is not among it.

    Attributes:
        dofs: Modes of degrees of freedom.
        bodies: Poses at the start, masses and inertias as the solver keeps them.
        frames: Anchors relative to centres of mass.
        shapes: Places and bounds of shapes.
        materials: Materials, where the solver's own detector keeps them.
    """

    dofs: bool = False
    bodies: bool = False
    frames: bool = False
    shapes: bool = False
    materials: bool = False


def what_to_reread(flags: int, own_detector: bool = False) -> Reread:
    """What flags of a change concern. Bits that mean nothing are warned of, once for each call.

    Args:
        flags: ModelFlags.
        own_detector: Whether the solver finds contacts itself.
    """
    unknown = int(flags) & ~int(ModelFlags.ALL)
    if unknown:
        warnings.warn(f"SolverKamino.notify_model_changed: flags {unknown:#x} are not known and have no effect", stacklevel=3)
    given = ModelFlags(int(flags) & int(ModelFlags.ALL))
    return Reread(
        dofs=bool(given & _DOFS), bodies=bool(given & _BODIES), frames=bool(given & _FRAMES), shapes=bool(given & _SHAPES),
        materials=own_detector and bool(given & ModelFlags.SHAPE_PROPERTIES),
    )  # fmt: skip


def check_change(model: Any, tables: dict[str, Any], old: Structure, flags: int, use_fk: bool = False) -> Structure:
    """The structure after a change, which has the rows of the old one. Nothing is changed when this raises.

    Not read from the device, and so not checked, are changes that cannot concern it, and in a capture those of anchors alone
    (``JOINT_PROPERTIES``).

    Args:
        model: The model as it is now.
        tables: Its tables.
        old: The structure that the solver was made for.
        flags: ModelFlags.
        use_fk: Whether the solver has forward kinematics.

    Raises:
        ValueError: The model is one that is refused (:func:`hooke.solvers.kamino.check.check_model`), or three axes of a joint
            changed from a right- to a left-handed triad or back.
        RuntimeError: Rows, kinds of joints or bodies that move are others than before, so that the solver has to be made anew; or
            the change would have to be read during a capture.
    """
    given = ModelFlags(int(flags) & int(ModelFlags.ALL)) & _STRUCTURAL
    if not given:
        return old
    if captured_by_user(model.device):
        if given == ModelFlags.JOINT_PROPERTIES:
            return old
        raise RuntimeError(
            f"SolverKamino.notify_model_changed: {given!r} has to read the model, which a capture does not allow; call it before"
        )
    new = make_structure(model, tables)
    idle = (
        new.mode >= Actuation.POSITION
    ) & ~new.drive  # refused below, unless a row is gone with the gains: that is the wider reason
    if (idle & ((old.effort & ~new.effort) | (old.dynamic & ~new.dynamic))).any():
        _refuse(_differences(tables, old, new))
    check_model(model, tables, new, use_fk)
    turned = np.flatnonzero(old.left_handed != new.left_handed)
    if len(turned):
        raise ValueError(
            f"SolverKamino: {listed(turned, lambda row: joint_name(tables, row))}: gimbal axes must preserve the solver's original "
            "handedness; exchange two of them, or recreate SolverKamino"
        )
    _refuse(_differences(tables, old, new))
    return dataclasses.replace(new, friction=old.friction)


def _refuse(reasons: list[str]) -> None:
    if reasons:
        raise RuntimeError(
            "SolverKamino.notify_model_changed: what is fixed for the life of a solver has changed; recreate SolverKamino:\n"
            + "\n".join(f"  - {reason}" for reason in reasons)
        )


def _differences(tables: dict[str, Any], old: Structure, new: Structure) -> list[str]:
    """What differs and may not, a sentence each."""
    reasons = []
    for what, before, after in (
        ("joint dynamics allocation (armature, damping, stiffness, drive without effort limit)", old.dynamic, new.dynamic),
        ("effort-limit allocation (drive with an effort limit below 1e6)", old.effort, new.effort),
        ("joint friction allocation", old.friction, old.friction | new.friction),  # a row whose friction is zero does no harm
        ("joint limit allocation (a finite limit, lower or upper)", old.limited, new.limited),
    ):
        changed = np.flatnonzero(before != after)
        if len(changed):
            reasons.append(f"{what}: {listed(changed, lambda dof, now=after: _row(tables, old, dof, now[dof]))}")
    for what, before, after in (
        ("kind of joint", old.kind, new.kind), ("parent", old.parent, new.parent), ("child", old.child, new.child),
        ("joint_enabled", old.enabled, new.enabled), ("passive and actuated joints", old.actuated, new.actuated),
    ):  # fmt: skip
        changed = np.flatnonzero(before != after)
        if len(changed):
            shown = _name_of_kind if what == "kind of joint" else str

            def name(row: int, before: Any = before, after: Any = after, shown: Any = shown) -> str:
                return f"{joint_name(tables, row)} from {shown(before[row])} to {shown(after[row])}"

            reasons.append(f"{what}: {listed(changed, name)}")
    moved = np.flatnonzero(old.immovable != new.immovable)
    if len(moved):
        names = listed(moved, lambda row: f"{body_name(tables, row)} is {'immovable' if new.immovable[row] else 'movable'} now")
        reasons.append(f"immovability: {names}")
    same = (
        np.array_equal(getattr(old, name), getattr(new, name)) for name in ("mimic_follower", "mimic_leader", "mimic_constraint")
    )
    if not all(same):
        reasons.append(f"mimics: {len(old.mimic_follower)} acted, {len(new.mimic_follower)} do now, or they are of other joints")
    return reasons


def _row(tables: dict[str, Any], s: Structure, dof: int, has: bool) -> str:
    joint = int(s.dof_joint[dof])
    found = "needs a row that it has not" if has else "has a row and needs none"
    return f"{joint_name(tables, joint)}, DoF={dof - int(s.joint_dof[joint])}, {found}"


def _name_of_kind(kind: int) -> str:
    return MOTIONS[kind].name if kind >= 0 else "an unsupported one"

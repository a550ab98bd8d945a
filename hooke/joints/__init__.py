"""Joints, one file per kind."""

from hooke.joints.ball import BALL
from hooke.joints.cable import CABLE
from hooke.joints.cartesian import CARTESIAN
from hooke.joints.cylindrical import CYLINDRICAL
from hooke.joints.d6 import D6
from hooke.joints.distance import DISTANCE
from hooke.joints.fixed import FIXED
from hooke.joints.free import FREE
from hooke.joints.gimbal import GIMBAL
from hooke.joints.kind import JointKind, JointType
from hooke.joints.prismatic import PRISMATIC
from hooke.joints.revolute import REVOLUTE
from hooke.joints.rod import ROD
from hooke.joints.universal import UNIVERSAL

__all__ = ["CASES_OF_D6", "JOINTS", "JointKind", "JointType", "joint_kind"]

JOINTS: tuple[JointKind, ...] = (PRISMATIC, REVOLUTE, BALL, FIXED, FREE, DISTANCE, D6, CABLE, ROD)
"""The kinds that ``joint_type`` tells apart. A new one is a file and an entry here."""

CASES_OF_D6: tuple[JointKind, ...] = (CYLINDRICAL, UNIVERSAL, CARTESIAN, GIMBAL)
"""Kinds that are stored as D6 and told apart by their axes (:func:`hooke.joints.relative_motion.relative_motion`)."""

_BY_CODE = {int(kind.code): kind for kind in JOINTS}


def joint_kind(code: int) -> JointKind:
    """The record of a kind of joint.

    Raises:
        ValueError: If no kind has this code.
    """
    try:
        return _BY_CODE[int(code)]
    except KeyError:
        known = ", ".join(f"{JointType(kind.code).name} {int(kind.code)}" for kind in JOINTS)
        raise ValueError(f"joint type {code!r}: expected one of {known}") from None

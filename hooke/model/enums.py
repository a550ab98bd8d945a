"""Enumerations of the data model, with the documented values."""

from enum import IntEnum, IntFlag

from hooke.joints.kind import JointType

__all__ = [
    "Axis",
    "BodyFlags",
    "JointTargetMode",
    "JointType",
    "ModelFlags",
    "ParticleFlags",
    "ShapeFlags",
    "StateFlags",
]


class Axis(IntEnum):
    """A coordinate axis."""

    X = 0
    Y = 1
    Z = 2

    @classmethod
    def from_any(cls, value: "Axis | int | str") -> "Axis":
        """Read ``Axis.Z``, ``2``, ``"Z"`` or ``"z"``."""
        if isinstance(value, str):
            try:
                return cls[value.strip().upper()]
            except KeyError:
                raise ValueError(f"axis {value!r}: expected X, Y or Z") from None
        return cls(value)

    def to_vector(self) -> tuple[float, float, float]:
        return tuple(1.0 if i == self else 0.0 for i in range(3))  # type: ignore[return-value]


class JointTargetMode(IntEnum):
    """What the drive of a degree of freedom follows."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    POSITION_VELOCITY = 3
    EFFORT = 4

    @staticmethod
    def from_gains(ke: float, kd: float, force_position_velocity: bool = False, has_drive: bool = False) -> "JointTargetMode":
        """The mode that a pair of gains means when none is named."""
        if force_position_velocity and (ke != 0.0 or kd != 0.0):
            return JointTargetMode.POSITION_VELOCITY
        if ke != 0.0:
            return JointTargetMode.POSITION
        if kd != 0.0:
            return JointTargetMode.VELOCITY
        return JointTargetMode.EFFORT if has_drive else JointTargetMode.NONE


class BodyFlags(IntFlag):
    """Flags of a body; a stored body has exactly one of DYNAMIC and KINEMATIC."""

    DYNAMIC = 1
    KINEMATIC = 2
    PROXY = 4
    ALL = 7


class ShapeFlags(IntFlag):
    """Flags of a shape."""

    VISIBLE = 1
    COLLIDE_SHAPES = 2
    COLLIDE_PARTICLES = 4
    SITE = 8
    HYDROELASTIC = 16


class ParticleFlags(IntFlag):
    """Flags of a particle."""

    ACTIVE = 1
    PROXY = 2


class StateFlags(IntFlag):
    """Which arrays of a state a call concerns."""

    NONE = 0
    JOINT_Q = 1
    JOINT_QD = 2
    BODY_Q = 4
    BODY_QD = 8
    PARTICLE_Q = 16
    PARTICLE_QD = 32
    BODY_F = 64
    PARTICLE_F = 128
    JOINT_F = 256
    JOINT = 3
    BODY = 12
    PARTICLE = 48
    FORCE = 448
    ALL = 511


class ModelFlags(IntFlag):
    """Which properties of a model have changed (``solver.notify_model_changed``)."""

    JOINT_PROPERTIES = 1
    JOINT_DOF_PROPERTIES = 2
    BODY_PROPERTIES = 4
    BODY_INERTIAL_PROPERTIES = 8
    SHAPE_PROPERTIES = 16
    MODEL_PROPERTIES = 32
    CONSTRAINT_PROPERTIES = 64
    TENDON_PROPERTIES = 128
    ACTUATOR_PROPERTIES = 256
    JOINT_DOF_FORCE_PROPERTIES = 512
    JOINT_DOF_INERTIAL_PROPERTIES = 1024
    JOINT_REFERENCE_POSE_PROPERTIES = 2048
    SHAPE_TYPE_AND_SOURCE = 4096
    ALL = 8191

"""Where a reset takes poses and velocities from, and what that means for kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request", "ResetConfig", "request_of_arguments", "request_of_config"]


@dataclass(frozen=True)
class ToDefault:
    """Poses of the model; no velocity."""


@dataclass(frozen=True)
class Preserve:
    """Those of the state. Velocities are kept as rates of joints where poses change."""


@dataclass(frozen=True)
class FromJointQ:
    """From ``state.joint_q``; of the base, the coordinates of its joint."""


@dataclass(frozen=True)
class FromJointU:
    """From ``state.joint_qd``; of the base, the velocities of its joint."""


@dataclass(frozen=True, eq=False)
class FromActuatorQ:
    """From coordinates of actuated joints, as ``actuator_q`` of ``reset``."""

    actuator_q: Any


@dataclass(frozen=True, eq=False)
class FromActuatorU:
    """From velocities of actuated joints, as ``actuator_u`` of ``reset``."""

    actuator_u: Any


@dataclass(frozen=True, eq=False)
class FromBaseQ:
    """From coordinates of base joints, as ``base_q`` of ``reset``."""

    base_q: Any


@dataclass(frozen=True, eq=False)
class FromBaseU:
    """From velocities of base joints, as ``base_u`` of ``reset``."""

    base_u: Any


_ALLOWED: dict[str, tuple[type, ...]] = {
    "body_poses": (ToDefault, Preserve, FromJointQ, FromActuatorQ),
    "body_velocities": (ToDefault, Preserve, FromJointU, FromActuatorU),
    "base_pose": (ToDefault, Preserve, FromJointQ, FromBaseQ),
    "base_velocity": (ToDefault, Preserve, FromJointU, FromBaseU),
}


@dataclass
class ResetConfig:
    """Where ``SolverKamino.reset(state, config=...)`` takes poses and velocities from.

    Attributes:
        body_poses: ``ToDefault()``, ``Preserve()``, ``FromJointQ()`` or ``FromActuatorQ(array)``.
        body_velocities: ``ToDefault()``, ``Preserve()``, ``FromJointU()`` or ``FromActuatorU(array)``.
        base_pose: ``ToDefault()``, ``Preserve()``, ``FromJointQ()`` or ``FromBaseQ(array)``.
        base_velocity: ``ToDefault()``, ``Preserve()``, ``FromJointU()`` or ``FromBaseU(array)``.

    Raises:
        TypeError: A field is none of these.
    """

    body_poses: Any = field(default_factory=ToDefault)
    body_velocities: Any = field(default_factory=ToDefault)
    base_pose: Any = field(default_factory=ToDefault)
    base_velocity: Any = field(default_factory=ToDefault)

    ToDefault, Preserve, FromJointQ, FromJointU = ToDefault, Preserve, FromJointQ, FromJointU
    FromActuatorQ, FromActuatorU, FromBaseQ, FromBaseU = FromActuatorQ, FromActuatorU, FromBaseQ, FromBaseU

    def __post_init__(self) -> None:
        for name, kinds in _ALLOWED.items():
            value = getattr(self, name)
            if not isinstance(value, kinds):
                names = ", ".join(kind.__name__ for kind in kinds)
                raise TypeError(f"ResetConfig: expected {name} as one of {names}, found {value!r}")

    @classmethod
    def to_default(cls) -> ResetConfig:
        """The model's poses, at rest."""
        return cls()

    @classmethod
    def preserve(cls) -> ResetConfig:
        """Poses and velocities of the state; what the solver remembers is forgotten."""
        return cls(Preserve(), Preserve(), Preserve(), Preserve())

    @classmethod
    def from_joints(cls) -> ResetConfig:
        """Coordinates and velocities of joints of the state, those of base joints included."""
        return cls(FromJointQ(), FromJointU(), FromJointQ(), FromJointU())


@dataclass
class Request:
    """A reset that is no return to the initial state.

    Attributes:
        given: Arrays by the names of the arguments of ``reset``.
        joints: 0 where no joint is solved for, 1 for targets of joints, 2 where joints hold their coordinates.
        from_state: Whether bodies begin where the state has them; None is as ``config.fk.reset_state`` says.
        base_from_state: Whether bases that nothing is said of are those of the state.
        base_of_q: Whether the base is where its joint's coordinates in ``joint_q`` say.
        base_of_u: The same of velocities.
        twist: Velocity of bases that nothing is said of: "rest", "model" or "state".
        velocities: Whether joints have rates to find.
        whole: Whether all bodies are written, or those of the base.
        nothing: Whether poses and velocities stay as they are.
    """

    given: dict[str, Any]
    joints: int = 0
    from_state: bool | None = None
    base_from_state: bool = False
    base_of_q: bool = True
    base_of_u: bool = True
    twist: str = "rest"
    velocities: bool = False
    whole: bool = True
    nothing: bool = False


def request_of_arguments(given: dict[str, Any]) -> Request:
    """What targets ask for."""
    joints = int(given.get("actuator_q") is not None or given.get("joint_q") is not None)
    return Request(
        given, joints, None if joints else True, twist="rest" if joints else "model", whole=joints != 0,
        velocities=given.get("joint_u") is not None or given.get("actuator_u") is not None,
    )  # fmt: skip


def request_of_config(config: ResetConfig, state: Any) -> Request:
    """What a configuration asks for.

    Args:
        config: The configuration.
        state: Where coordinates and velocities of joints are taken from.
    """
    poses, velocities, base, base_velocity = config.body_poses, config.body_velocities, config.base_pose, config.base_velocity
    everything = (poses, velocities, base, base_velocity)
    given: dict[str, Any] = {}
    if isinstance(poses, FromActuatorQ):
        given["actuator_q"] = poses.actuator_q
    if any(isinstance(part, FromJointQ) for part in (poses, base)):
        given["joint_q"] = state.joint_q
    if isinstance(velocities, FromActuatorU):
        given["actuator_u"] = velocities.actuator_u
    if any(isinstance(part, (FromJointU, Preserve)) for part in (velocities,)) or isinstance(base_velocity, FromJointU):
        given["joint_u"] = state.joint_qd
    if isinstance(base, FromBaseQ):
        given["base_q"] = base.base_q
    if isinstance(base_velocity, FromBaseU):
        given["base_u"] = base_velocity.base_u
    solves, rates = isinstance(poses, (FromJointQ, FromActuatorQ)), not isinstance(velocities, ToDefault)
    return Request(
        given, 1 if solves else 2 if rates else 0, None if solves else isinstance(poses, Preserve), isinstance(base, Preserve),
        isinstance(base, FromJointQ), isinstance(base_velocity, FromJointU), "state" if isinstance(base_velocity, Preserve) else "rest",
        rates, nothing=all(isinstance(part, Preserve) for part in everything),
    )  # fmt: skip

"""State: what changes in a step."""

from __future__ import annotations

from typing import Any, ClassVar

import warp as wp

__all__ = ["State"]


class State:
    """Positions, velocities and forces at one time. Arrays of kinds that a model lacks are None.

    Attributes:
        particle_q: Positions [m], vec3 (particles,).
        particle_qd: Velocities [m/s], vec3 (particles,).
        particle_f: External forces [N], vec3 (particles,); solvers read it, the caller clears it.
        body_q: Poses of the body frames, transform (bodies,).
        body_qd: Velocity of the centre of mass [m/s], then angular velocity [rad/s], in world axes, spatial_vector (bodies,).
        body_f: External force [N], then torque about the centre of mass [N m], in world axes, spatial_vector (bodies,).
        joint_q: Joint coordinates, float (coordinates,).
        joint_qd: Joint velocities, float (degrees of freedom,).
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        "particle_q", "particle_qd", "particle_f", "body_q", "body_qd", "body_f", "joint_q", "joint_qd",
    )  # fmt: skip

    def __init__(self):
        self.particle_q: wp.array | None = None
        self.particle_qd: wp.array | None = None
        self.particle_f: wp.array | None = None
        self.body_q: wp.array | None = None
        self.body_qd: wp.array | None = None
        self.body_f: wp.array | None = None
        self.joint_q: wp.array | None = None
        self.joint_qd: wp.array | None = None

    @property
    def requires_grad(self) -> bool:
        return False

    @property
    def particle_count(self) -> int:
        return 0 if self.particle_q is None else len(self.particle_q)

    @property
    def body_count(self) -> int:
        return 0 if self.body_q is None else len(self.body_q)

    @property
    def joint_coord_count(self) -> int:
        return 0 if self.joint_q is None else len(self.joint_q)

    @property
    def joint_dof_count(self) -> int:
        return 0 if self.joint_qd is None else len(self.joint_qd)

    def clear_forces(self) -> None:
        """Set ``particle_f`` and ``body_f`` to zero."""
        for force in (self.particle_f, self.body_f):
            if force is not None:
                force.zero_()

    def assign(self, other: State) -> None:
        """Copy all arrays of another state into this one's.

        Raises:
            ValueError: The states are not of the same model.
        """
        for name, value in _arrays(other):
            mine = _get(self, name)
            if (mine is None) != (value is None) or (value is not None and mine.shape != value.shape):
                raise ValueError(f"State.assign: {name} differs in shape; both states must be of the same model")
        for name, value in _arrays(other):
            if value is not None:
                wp.copy(_get(self, name), value)

    def clone(self) -> State:
        """A copy that shares no array."""
        twin = State()
        for name, value in vars(self).items():
            if isinstance(value, wp.array):
                value = wp.clone(value)
            elif hasattr(value, "__dict__"):
                holder = type(value)(name)
                for key, array in vars(value).items():
                    setattr(holder, key, wp.clone(array) if isinstance(array, wp.array) else array)
                value = holder
            setattr(twin, name, value)
        return twin


def _arrays(state: State) -> list[tuple[str, Any]]:
    """All arrays by dotted name, those of custom namespaces included."""
    found = []
    for name, value in vars(state).items():
        if value is None or isinstance(value, wp.array):
            found.append((name, value))
        elif hasattr(value, "__dict__"):
            found += [(f"{name}.{k}", v) for k, v in vars(value).items() if isinstance(v, wp.array)]
    return found


def _get(state: State, name: str) -> Any:
    for part in name.split("."):
        state = getattr(state, part)
    return state

"""Default values that the adders of a builder share."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from hooke.geometry.kind import GeoType
from hooke.model.enums import Axis, JointTargetMode, ShapeFlags
from hooke.model.tables import UNLIMITED

__all__ = ["JointDofConfig", "ShapeConfig"]


@dataclass(kw_only=True)
class ShapeConfig:
    """Material and collision settings of a shape.

    Args:
        density: Density [kg/m^3] of the solid; 0 adds no mass.
        ke: Contact stiffness [N/m].
        kd: Contact damping [N s/m].
        kf: Friction damping [N s/m], kept for other solvers.
        ka: Adhesion distance [m], kept for other solvers.
        mu: Coefficient of friction.
        restitution: Coefficient of restitution.
        mu_torsional: Torsional friction [m].
        mu_rolling: Rolling friction [m].
        margin: Outward offset of the surface [m].
        gap: Detection distance beyond the margin [m]; None takes ``builder.rigid_gap``.
        is_solid: Solid, or a hollow shell of thickness ``margin``.
        collision_group: 0 never collides; equal positive groups and any negative group do.
        collision_filter_parent: Do not collide with the shapes of the parent body of a joint, unless the joint says otherwise.
        has_shape_collision: Collides with shapes.
        has_particle_collision: Collides with particles.
        is_visible: Drawn in pictures.
        is_site: A marker without collision or mass.
    """

    density: float = 1000.0
    ke: float = 2.5e3
    kd: float = 100.0
    kf: float = 1000.0
    ka: float = 0.0
    mu: float = 1.0
    restitution: float = 0.0
    mu_torsional: float = 0.005
    mu_rolling: float = 1.0e-4
    margin: float = 0.0
    gap: float | None = None
    is_solid: bool = True
    collision_group: int = 1
    collision_filter_parent: bool = True
    has_shape_collision: bool = True
    has_particle_collision: bool = True
    is_visible: bool = True
    is_site: bool = False

    def copy(self) -> ShapeConfig:
        """An independent copy."""
        return copy.copy(self)

    def mark_as_site(self) -> None:
        """Make the shape a marker: no collision, no mass."""
        self.is_site = True
        self.has_shape_collision = self.has_particle_collision = False
        self.density = 0.0
        self.collision_group = 0

    @property
    def flags(self) -> int:
        """The settings as ShapeFlags; assigning sets them."""
        flags = ShapeFlags.VISIBLE if self.is_visible else ShapeFlags(0)
        if self.is_site:
            return int(flags | ShapeFlags.SITE)
        if self.has_shape_collision:
            flags |= ShapeFlags.COLLIDE_SHAPES
        if self.has_particle_collision:
            flags |= ShapeFlags.COLLIDE_PARTICLES
        return int(flags)

    @flags.setter
    def flags(self, value: int) -> None:
        self.is_visible = bool(value & ShapeFlags.VISIBLE)
        self.is_site = bool(value & ShapeFlags.SITE)
        self.has_shape_collision = bool(value & ShapeFlags.COLLIDE_SHAPES)
        self.has_particle_collision = bool(value & ShapeFlags.COLLIDE_PARTICLES)

    def validate(self, shape_type: GeoType | None = None) -> None:
        """Raise ValueError for a value outside its range."""
        for name in ("density", "ke", "kd", "kf", "mu", "mu_torsional", "mu_rolling"):
            value = getattr(self, name)
            if not 0.0 <= value < float("inf"):
                raise ValueError(f"ShapeConfig.{name}: expected a finite value >= 0, found {value}")
        if not 0.0 <= self.restitution <= 1.0:
            raise ValueError(f"ShapeConfig.restitution: expected a value from 0 to 1, found {self.restitution}")
        if not self.is_solid and self.margin <= 0.0 and self.density > 0.0 and shape_type not in (None, GeoType.PLANE):
            raise ValueError("ShapeConfig.is_solid=False: a hollow shape needs margin > 0, which is the thickness of its shell")


def axis_vector(axis: Any) -> np.ndarray:
    """A unit vector from an Axis, its name or index, or a vector.

    Raises:
        ValueError: The vector is zero or not finite.
    """
    if isinstance(axis, (str, int, np.integer)):
        return np.eye(3)[Axis.from_any(axis if isinstance(axis, str) else int(axis))]
    vector = np.asarray(axis, np.float64).reshape(-1)
    length = np.linalg.norm(vector) if vector.shape == (3,) else np.nan
    if not 1.0e-9 < length < np.inf:
        raise ValueError(f"axis: expected X, Y, Z or a finite vector of three that is not zero, found {axis!r}")
    return vector / length


@dataclass(kw_only=True)
class JointDofConfig:
    """A degree of freedom of a joint: its axis, limits, drive and passive forces. N, m for linear, N m, rad for angular axes.

    Args:
        axis: Axis, its name, or a vector in the parent anchor frame; made a unit vector.
        limit_lower: Lower limit [m or rad]; -1e10 or less is none.
        limit_upper: Upper limit [m or rad]; 1e10 or more is none.
        limit_ke: Stiffness of the limits.
        limit_kd: Damping of the limits.
        target_q: Position target [m or rad]; None is 0.
        target_qd: Velocity target [m/s or rad/s]; None is 0.
        target_ke: Stiffness of the drive.
        target_kd: Damping of the drive.
        damping: Passive damping.
        stiffness: Passive spring towards ``rest_q``.
        rest_q: Coordinate where the passive spring is at rest [m or rad]; None is 0.
        armature: Inertia added to the axis [kg or kg m^2].
        effort_limit: Largest effort of the drive.
        velocity_limit: Largest velocity [m/s or rad/s].
        friction: Dry friction.
        actuator_mode: JointTargetMode; None follows from the gains (:meth:`JointTargetMode.from_gains`).
        target_pos: Other name of ``target_q``.
        target_vel: Other name of ``target_qd``.

    Raises:
        ValueError: The axis is zero, or a target is given under both names with different values.
    """

    axis: Any = Axis.X
    limit_lower: float = -UNLIMITED
    limit_upper: float = UNLIMITED
    limit_ke: float = 1.0e4
    limit_kd: float = 10.0
    target_q: Any = None
    target_qd: Any = None
    target_ke: float = 0.0
    target_kd: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    rest_q: float | None = None
    armature: float = 0.0
    effort_limit: float = 1.0e6
    velocity_limit: float = 1.0e6
    friction: float = 0.0
    actuator_mode: JointTargetMode | int | None = None
    target_pos: Any = None
    target_vel: Any = None

    def __post_init__(self):
        self.axis = axis_vector(self.axis)
        self.target_q = one_spelling("target_q", self.target_q, "target_pos", self.target_pos, 0.0)
        self.target_qd = one_spelling("target_qd", self.target_qd, "target_vel", self.target_vel, 0.0)
        self.target_pos, self.target_vel = self.target_q, self.target_qd

    @classmethod
    def create_unlimited(cls, axis: Any) -> JointDofConfig:
        """An axis without limits, drive, armature or friction."""
        return cls(axis=axis, limit_ke=0.0, limit_kd=0.0)

    @property
    def target_mode(self) -> JointTargetMode:
        """``actuator_mode``, or what the gains mean."""
        if self.actuator_mode is not None:
            return JointTargetMode(self.actuator_mode)
        return JointTargetMode.from_gains(self.target_ke, self.target_kd)

    def row(self) -> dict[str, Any]:
        """The values of its row of the table of degrees of freedom; infinite limits become the largest of the model."""
        names = ("limit_ke", "limit_kd", "target_ke", "target_kd", "damping", "stiffness", "armature", "friction")
        bounds = ("limit_lower", "limit_upper", "effort_limit", "velocity_limit")
        values = {name: getattr(self, name) for name in names}
        values |= {name: float(min(max(getattr(self, name), -UNLIMITED), UNLIMITED)) for name in bounds}
        return values | {"axis": self.axis, "target_qd": self.target_qd, "target_mode": int(self.target_mode)}


def one_spelling(name: str, value: Any, other: str, alias: Any, default: Any) -> Any:
    """The value of an argument that has two names.

    Raises:
        ValueError: Both are given and differ.
    """
    if value is not None and alias is not None and value != alias:
        raise ValueError(f"{other} is another name of {name}: expected one of them, found {other}={alias} and {name}={value}")
    return default if value is None and alias is None else alias if value is None else value

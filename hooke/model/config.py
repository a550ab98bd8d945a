"""Default values that the adders of a builder share."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from hooke.geometry.kind import GeoType
from hooke.model.enums import ShapeFlags

__all__ = ["ShapeConfig"]


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
        collision_filter_parent: Do not collide with the shapes of the body at the other end of a joint.
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

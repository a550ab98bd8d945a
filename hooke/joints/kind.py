"""What a kind of joint is: one record of functions, one file per kind, all of them listed in :mod:`hooke.joints`.

A joint connects an anchor on its parent with one on its child. With P and C their poses, the joint is a rule for the relative pose
X = P^-1 C = (p, R) and for the relative motion, both in the axes of the parent anchor:

    X = J(q),     (v, omega) = sum_k axes_k(q) qd_k,     qd_k = rates_k(q) . (v, omega),     rates_i . axes_j = [i = j]       (1)

v is the velocity of the child anchor relative to the parent, or of the child's centre of mass for kinds whose ``at_com`` is set;
omega the relative angular velocity. An effort f_k conjugate to qd_k is the wrench rates_k f_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import warp as wp

__all__ = ["JointKind", "JointType", "Place"]


class JointType(IntEnum):
    """Kinds of joints."""

    PRISMATIC = 0
    REVOLUTE = 1
    BALL = 2
    FIXED = 3
    FREE = 4
    DISTANCE = 5
    D6 = 6
    CABLE = 7
    ROD = 8


@wp.struct
class Place:
    """Where a joint's numbers are: its first coordinate, its first degree of freedom, and how many linear and angular axes it has."""

    q: wp.int32
    qd: wp.int32
    linear: wp.int32
    angular: wp.int32


@dataclass(frozen=True, eq=False)
class JointKind:
    """A kind of joint. The functions are over float32 and float64; ``axis`` and ``q`` are the arrays of all joints.

    Attributes:
        name: Lower-case name.
        code: Its :class:`JointType`; kinds that are cases of D6 have that of D6.
        locked: Which of the six relative motions (three along, three about its axes x, y, z) it forbids; None where the number of
            axes decides (D6).
        transform: ``@wp.func (place, axis, q) -> transform``: J(q); None for a kind that has no such rule.
        coordinates: ``@wp.func (place, axis, x) -> vector of 7``: coordinates of a relative pose, zeros behind the last.
        axes: ``@wp.func (place, axis, q, k) -> (vec3, vec3)``: relative motion for a unit of qd_k, linear and angular.
        rates: ``@wp.func (place, axis, q, k) -> (vec3, vec3)``: the wrench whose power is qd_k.
        quaternion: Whether its rotation is a quaternion; then it has (7, 6) or (4, 3) coordinates and velocities.
        at_com: Whether linear velocities are those of the child's centre of mass rather than of its anchor.
        constraints: Whether the locked motions are rows of a solver (and not the strains of an elastic joint).
        material: Linear and angular axes that an elastic joint has for its material.
        strain: Of an elastic joint, ``@wp.func (x, rest) -> (vec3, vec3, mat33)``: linear and angular strains at the relative pose x,
            and the matrix that maps the relative angular velocity to the rates of the latter.
        one_sided: Whether it limits the distance of its anchors, and nothing else.
        examples: Unit axes (linear, angular) of typical joints. Every test of kinds runs over them.
    """

    name: str
    code: JointType
    locked: tuple[int, int, int, int, int, int] | None
    transform: Any
    coordinates: Any
    axes: Any
    rates: Any
    quaternion: bool = False
    at_com: bool = False
    constraints: bool = True
    material: tuple[int, int] = (0, 0)
    strain: Any = None
    one_sided: bool = False
    examples: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (((), ()),)

    @property
    def dof_dim(self) -> tuple[int, int] | None:
        """Numbers of linear and angular axes; None where each joint has its own."""
        if self.locked is None:
            return None
        if not self.constraints:
            return self.material
        return 3 - sum(self.locked[:3]), 3 - sum(self.locked[3:])

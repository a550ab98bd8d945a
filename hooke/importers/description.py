"""What a file says of robots and scenes, in one form for all formats: metres, kilograms, seconds, radians.

Readers make a :class:`Description`; :func:`hooke.importers.emit.emit` writes it to a builder. Poses are seven numbers, position and
quaternion x y z w.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hooke.geometry.kind import GeoType
from hooke.importers.error import FileError
from hooke.joints.kind import JointType
from hooke.model.config import JointDofConfig

__all__ = ["Body", "Description", "Joint", "Options", "Shape", "identity", "pose_of"]

_HUGE = 1.0e3
"""Size of a mesh [m] from which on its unit is doubted."""


def identity() -> np.ndarray:
    """The pose that moves nothing."""
    return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def pose_of(position: Any, quaternion: Any = (0.0, 0.0, 0.0, 1.0)) -> np.ndarray:
    """Seven numbers of a position and a quaternion x y z w, which is made a unit one."""
    q = np.asarray(quaternion, np.float64)
    length = np.linalg.norm(q)
    return np.concatenate([np.asarray(position, np.float64), q / length if length > 0.0 else q])


@dataclass
class Body:
    """A rigid body. ``mass`` None means: from the densities of its shapes; ``where`` is how messages call it."""

    name: str
    where: str
    pose: np.ndarray = field(default_factory=identity)
    mass: float | None = None
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    kinematic: bool = False
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(6))
    custom: dict[str, Any] = field(default_factory=dict)


@dataclass
class Shape:
    """A shape on a body (-1 is static). ``settings`` are fields of ShapeConfig that differ from the builder's default."""

    name: str
    where: str
    body: int
    kind: GeoType
    size: Any
    pose: np.ndarray = field(default_factory=identity)
    source: Any = None
    collides: bool = True
    visible: bool = True
    site: bool = False
    adds_mass: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    color: Any = None
    opacity: float | None = None
    custom: dict[str, Any] = field(default_factory=dict)


@dataclass
class Joint:
    """A joint between bodies; ``parent`` -1 is the world. ``loop`` keeps it outside of articulations."""

    name: str
    where: str
    kind: JointType
    parent: int
    child: int
    parent_pose: np.ndarray = field(default_factory=identity)
    child_pose: np.ndarray = field(default_factory=identity)
    linear: list[JointDofConfig] = field(default_factory=list)
    angular: list[JointDofConfig] = field(default_factory=list)
    q: list[float] | None = None
    enabled: bool = True
    loop: bool = False
    filter_parent: bool | None = None
    mimic: tuple[str, float, float] | None = None
    custom: dict[str, Any] = field(default_factory=dict)


@dataclass
class Description:
    """All of a file. ``gravity`` is a vector [m/s^2] in the axes of the file, or None where it does not say."""

    path: str
    name: str
    bodies: list[Body] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    filters: set[tuple[int, int]] = field(default_factory=set)
    gravity: np.ndarray | None = None
    up_axis: int = 2
    roots_float: bool = False
    custom: dict[str, Any] = field(default_factory=dict)

    def check(self) -> list[str]:
        """Refuse what no model can hold; return what is only odd.

        Raises:
            FileError: A number is not finite, a mass or an inertia impossible, or a name is given twice.
        """
        for body in self.bodies:
            self._finite(body.where, pose=body.pose, velocity=body.velocity)
            if body.mass is None:
                continue
            self._finite(body.where, mass=body.mass, com=body.com, inertia=body.inertia)
            least = np.linalg.eigvalsh(body.inertia).min()
            if body.mass < 0.0 or least < -1.0e-9 * max(1.0, np.abs(body.inertia).max()):
                raise FileError(
                    self.path, f"{body.where}: expected a mass and principal moments >= 0, found {body.mass} and {least:.3g}"
                )
        odd = []
        for shape in self.shapes:
            self._finite(shape.where, pose=shape.pose, size=shape.size)
            if shape.kind in (GeoType.MESH, GeoType.CONVEX_MESH):
                size = float(np.ptp(shape.source.vertices, axis=0).max())
                if size > _HUGE:
                    odd.append(f"{shape.where}: the mesh is {size:.3g} m across; is its unit right? (give scale)")
        for joint in self.joints:
            self._finite(joint.where, parent_pose=joint.parent_pose, child_pose=joint.child_pose)
        self._unique("body", (body.name for body in self.bodies))
        self._unique("joint", (joint.name for joint in self.joints))
        return odd

    def _finite(self, where: str, **values: Any) -> None:
        for name, value in values.items():
            if not np.isfinite(np.asarray(value, np.float64)).all():
                raise FileError(
                    self.path, f"{where}: {name} is not finite ({np.asarray(value).tolist()}); correct the file or export it again"
                )

    def _unique(self, what: str, names: Iterable[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise FileError(self.path, f"two of the {what} elements are called {name!r}; give each its own name")
            seen.add(name)


@dataclass(kw_only=True)
class Options:
    """Where and how a description enters a builder; the fields are arguments of ``ModelBuilder.add_urdf`` and its like."""

    xform: Any = None
    floating: bool | None = None
    base_joint: dict[str, Any] | None = None
    parent_body: int = -1
    up_axis: Any = None
    hide_visuals: bool = False
    parse_visuals_as_colliders: bool = False
    force_show_colliders: bool = False
    enable_self_collisions: bool = True
    ignore_inertial_definitions: bool = False
    joint_ordering: str | None = "dfs"
    bodies_follow_joint_ordering: bool = True
    collapse_fixed_joints: bool = False
    collapse_massless_fixed_root: bool = False
    override_root_xform: bool = False
    take_gravity: bool = False
    verbose: bool = False

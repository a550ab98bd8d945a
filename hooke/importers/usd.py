"""USD scenes by usd-core's own physics parser: bodies, shapes, joints, materials, groups, articulations.

The parser says which prim is what, which body carries a shape, and where joints hold their bodies; masses, sizes and the attributes of
newton's schemas are read here from the prims.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hooke.importers.description import Body, Description
from hooke.importers.error import FileError
from hooke.importers.usd_joints import merge_parallel, read_joint
from hooke.importers.usd_mass import set_masses
from hooke.importers.usd_mesh import _open, _pxr
from hooke.importers.usd_shapes import read_shapes
from hooke.importers.usd_values import authored, placed, vector

__all__ = ["Scene", "UsdOptions", "read_usd_scene"]


@dataclass(kw_only=True)
class UsdOptions:
    """What of a stage is read and how; the fields are arguments of ``ModelBuilder.add_usd``."""

    joint_default: Any
    custom_attributes: dict[str, Any]
    only_load_enabled_rigid_bodies: bool = False
    only_load_enabled_joints: bool = True
    joint_drive_gains_scaling: float = 1.0
    ignore_paths: Sequence[str] | None = None
    root_path: str = "/"
    skip_mesh_approximation: bool = False
    load_sites: bool = True
    load_visual_shapes: bool = True
    load_static_visual_shapes: bool = True
    hide_collision_shapes: bool = False
    mesh_maxhullvert: int | None = None
    force_position_velocity_actuation: bool = False


@dataclass
class Scene:
    """A stage while it is read: units (metres, kilograms), what the physics parser found, and numbers by path of prim."""

    path: str
    stage: Any
    options: UsdOptions
    length: float
    mass: float
    parsed: dict[str, list[tuple[str, Any]]]
    bodies: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)

    def prim(self, path: str) -> Any:
        """The prim of a path."""
        return self.stage.GetPrimAtPath(path)

    def found(self, *kinds: str) -> list[tuple[str, Any]]:
        """Paths and descriptors of some kinds of object, in the order of the stage, without what is to be ignored."""
        patterns = self.options.ignore_paths or ()
        rows = [row for kind in kinds for row in self.parsed.get(kind, ()) if not any(re.match(p, row[0]) for p in patterns)]
        return sorted(rows, key=lambda row: self.order[row[0]])

    def __post_init__(self):
        usd, _ = _pxr()
        prims = usd.PrimRange(self.stage.GetPseudoRoot(), usd.TraverseInstanceProxies())
        self.order = {str(prim.GetPath()): k for k, prim in enumerate(prims)}

    def custom(self, frequency: str, prim: Any) -> dict[str, Any]:
        """Values of registered custom attributes of a frequency that a prim authors."""
        values = {}
        for key, attribute in self.options.custom_attributes.items():
            if getattr(attribute.frequency, "name", "").lower() != frequency:
                continue
            value = authored(prim, attribute.usd_attribute_name)
            if value is not None:
                values[key] = self._transformed(prim, attribute, value)
        return values

    def _transformed(self, prim: Any, attribute: Any, value: Any) -> Any:
        read = attribute.usd_value_transformer
        try:
            return value if read is None else read(value, {"prim": prim})
        except ValueError as error:
            raise FileError(self.path, f"prim {prim.GetPath()}: {error}") from error


def read_usd_scene(source: Any, options: UsdOptions) -> tuple[Description, Scene]:
    """Read a USD file or an open stage.

    Raises:
        FileError: The file is damaged or says what no model can hold; the message names the prim.
        ImportError: usd-core is not installed.
    """
    usd, geom = _pxr()
    stage = source if isinstance(source, usd.Stage) else _open(_existing(source))
    path = stage.GetRootLayer().realPath or stage.GetRootLayer().identifier
    if not stage.GetPrimAtPath(options.root_path):
        raise FileError(path, f"root_path: there is no prim {options.root_path}")
    scene = Scene(path, stage, options, *_units(path, stage), _parse(stage, options.root_path))
    what = Description(path, stage.GetRootLayer().GetDisplayName(), roots_float=True)
    what.up_axis = "XYZ".index(str(geom.GetStageUpAxis(stage)).upper())
    _read_scene(scene, what)
    _read_bodies(scene, what)
    read_shapes(scene, what)
    set_masses(scene, what)
    for name, desc in scene.found(*(f"{kind}Joint" for kind in ("Fixed", "Revolute", "Prismatic", "Spherical", "Distance", "D6"))):
        joint = read_joint(scene, name, desc)
        if joint is not None:
            what.joints.append(joint)
    what.joints, scene.merged = merge_parallel(scene, what.joints)
    for name, _ in scene.found("CustomJoint"):
        scene.left_out.append(f"{name} (a joint of an unknown type)")
    _filter(scene, what)
    if scene.left_out:
        shown = scene.left_out[:8]
        more = f"; and {len(scene.left_out) - 8} more" if len(scene.left_out) > 8 else ""
        warnings.warn(f"{path}: left out: {'; '.join(shown)}{more}", stacklevel=4)
    return what, scene


def _existing(source: Any) -> str:
    path = os.fspath(source)
    if not os.path.isfile(path):
        raise FileError(path, "there is no such file; check the path")
    return path


def _units(path: str, stage: Any) -> tuple[float, float]:
    from pxr import UsdGeom, UsdPhysics

    length, mass = float(UsdGeom.GetStageMetersPerUnit(stage)), float(UsdPhysics.GetStageKilogramsPerUnit(stage))
    if not (np.isfinite([length, mass]).all() and min(length, mass) > 0.0):
        raise FileError(path, f"expected positive metersPerUnit and kilogramsPerUnit, found {length} and {mass}")
    return length, mass


def _parse(stage: Any, root: str) -> dict[str, list[tuple[str, Any]]]:
    """Paths and descriptors of the physics parser by kind of object."""
    from pxr import UsdPhysics

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = UsdPhysics.LoadUsdPhysicsFromRange(stage, [root])
    return {
        str(kind).rpartition(".")[2]: [(str(path), desc) for path, desc in zip(paths, descs, strict=True) if desc.isValid]
        for kind, (paths, descs) in found.items()
    }


def _read_scene(scene: Scene, what: Description) -> None:
    """Gravity, and what the prims of scenes author for solvers."""
    rows = scene.found("Scene")
    if len(rows) > 1:
        scene.left_out.append(f"{len(rows) - 1} more physics scenes than {rows[0][0]}")
    for path, desc in rows[:1]:
        prim = scene.prim(path)
        direction, size = vector(desc.gravityDirection), float(desc.gravityMagnitude)
        length = np.linalg.norm(direction)
        direction = -np.eye(3)[what.up_axis] if not length > 0.0 else direction / length
        size = 9.81 if not np.isfinite(size) or size < 0.0 else size * scene.length
        if authored(prim, "newton:gravityEnabled") is False:
            size = 0.0
        what.gravity = direction * size
        what.custom = scene.custom("once", prim)
        for attribute in prim.GetAuthoredAttributes():
            if ":" in attribute.GetName() and not attribute.GetName().startswith("physics:"):
                scene.attributes[attribute.GetName()] = attribute.Get()


def _read_bodies(scene: Scene, what: Description) -> None:
    only_enabled = scene.options.only_load_enabled_rigid_bodies
    for path, desc in scene.found("RigidBody"):
        if only_enabled and not desc.rigidBodyEnabled:
            continue
        prim = scene.prim(path)
        pose, _ = placed(scene, prim)
        velocity = np.concatenate([vector(desc.linearVelocity) * scene.length, np.radians(vector(desc.angularVelocity))])
        scene.bodies[path] = len(what.bodies)
        what.bodies.append(
            Body(
                path, f"prim {path}", pose, kinematic=bool(desc.kinematicBody), velocity=velocity, custom=scene.custom("body", prim)
            )
        )


def _filter(scene: Scene, what: Description) -> None:
    """Filtered pairs of shapes, bodies and articulations, collision groups, and articulations whose links do not meet."""
    below: dict[str, list[int]] = {}
    for path, shape in scene.shapes.items():
        below.setdefault(path, []).append(shape)
        owner = what.shapes[shape].body
        if owner >= 0:
            below.setdefault(what.bodies[owner].name, []).append(shape)
    groups: dict[str, list[int]] = {}
    for path, desc in scene.found(*_SHAPES):
        for other in desc.filteredCollisions:
            _pairs(what, below.get(path, []), _at(below, str(other)))
        for group in desc.collisionGroups:
            groups.setdefault(str(group), []).extend(below.get(path, []))
    for path, desc in scene.found("RigidBody", "Articulation"):
        for other in desc.filteredCollisions:
            _pairs(what, _at(below, path), _at(below, str(other)))
    for path, desc in scene.found("CollisionGroup"):
        named = {str(group) for group in desc.filteredGroups}
        others = set(groups) - named if desc.invertFilteredGroups else named
        for other in others:
            _pairs(what, groups.get(path, []), groups.get(other, []))
    for path, desc in scene.found("Articulation"):
        prim = scene.prim(path)
        answers = [authored(prim, n) for n in ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")]
        if next((a for a in answers if a is not None), True) is False:
            own = [s for body in desc.articulatedBodies for s in below.get(str(body), [])]
            _pairs(what, own, own)


def _at(below: dict[str, list[int]], path: str) -> list[int]:
    return below[path] if path in below else [s for p, shapes in below.items() if p.startswith(path + "/") for s in shapes]


def _pairs(what: Description, first: list[int], second: list[int]) -> None:
    for a in first:
        for b in second:
            if a != b and what.shapes[a].collides and what.shapes[b].collides and what.shapes[a].body != what.shapes[b].body:
                what.filters.add((min(a, b), max(a, b)))


_SHAPES = tuple(
    f"{kind}Shape" for kind in ("Sphere", "Cube", "Capsule", "Cylinder", "Cone", "Mesh", "Plane", "Custom", "SpherePoints")
) + ("Capsule1Shape", "Cylinder1Shape")

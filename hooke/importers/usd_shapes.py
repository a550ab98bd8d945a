"""Shapes of USD stages: what collides, and what is only seen."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hooke.geometry.kind import GeoType
from hooke.geometry.mesh import Mesh
from hooke.importers.description import Description, Shape, identity, pose_of
from hooke.importers.error import FileError
from hooke.importers.usd_mesh import _pxr, _read_mesh, _world
from hooke.importers.usd_values import authored, placed
from hooke.model.motion import compose, inverse_pose, quat_rotate

__all__ = ["read_shapes", "surface_density"]

_KINDS = ("Cube", "Sphere", "Capsule", "Cylinder", "Cone", "Plane", "Mesh")
_TURN = {  # takes +Z to the axis of the prim
    "X": (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)), "Y": (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), "Z": (0.0, 0.0, 0.0, 1.0),
}  # fmt: skip


def read_shapes(scene: Any, what: Description) -> None:
    """Collision shapes in the order of the stage, then shapes that are only seen."""
    kinds = [f"{kind}Shape" for kind in (*_KINDS, "Capsule1", "Cylinder1", "Custom", "SpherePoints")]
    colliding = set()
    materials = dict(scene.parsed.get("RigidBodyMaterial", ()))
    for path, desc in scene.found(*kinds):
        colliding.add(path)
        body = scene.bodies.get(str(desc.rigidBody), -1)
        shape = _read(scene, what, path, body, True)
        if shape is None:
            continue
        shape.collides = bool(desc.collisionEnabled)
        shape.settings = _settings(scene, path, desc, materials)
        shape.visible = not scene.options.hide_collision_shapes and _seen(scene.prim(path))
        scene.shapes[path] = len(what.shapes)
        what.shapes.append(shape)
    _read_visuals(scene, what, colliding)


def _read_visuals(scene: Any, what: Description, colliding: set[str]) -> None:
    usd, geom = _pxr()
    options = scene.options
    patterns = [str(p) for p in options.ignore_paths or ()]
    for prim in usd.PrimRange(scene.prim(options.root_path), usd.TraverseInstanceProxies()):
        path = str(prim.GetPath())
        if path in colliding or not prim.IsA(geom.Gprim) or any(re.match(p, path) for p in patterns):
            continue
        site = any(str(schema) in ("NewtonSiteAPI", "MjcSiteAPI") for schema in prim.GetAppliedSchemas())
        if prim.GetTypeName() not in _KINDS or (site and not options.load_sites):
            continue
        if not site and geom.Imageable(prim).ComputePurpose() == "guide":
            continue
        body = _owner(scene, prim)
        wanted = site or options.load_visual_shapes if body >= 0 else options.load_static_visual_shapes
        shape = _read(scene, what, path, body, False) if wanted else None
        if shape is not None:
            shape.collides, shape.adds_mass, shape.site = False, False, site
            shape.visible = _seen(prim)
            what.shapes.append(shape)


def _seen(prim: Any) -> bool:
    _, geom = _pxr()
    image = geom.Imageable(prim)
    return image.ComputeVisibility() != "invisible" and image.ComputePurpose() != "guide"


def _owner(scene: Any, prim: Any) -> int:
    while prim and not prim.IsPseudoRoot():
        if str(prim.GetPath()) in scene.bodies:
            return scene.bodies[str(prim.GetPath())]
        prim = prim.GetParent()
    return -1


def _read(scene: Any, what: Description, path: str, body: int, collides: bool) -> Shape | None:
    prim = scene.prim(path)
    kind_name = str(prim.GetTypeName())
    if kind_name not in _KINDS:
        scene.left_out.append(f"{path} (a shape of type {kind_name or 'unknown'})")
        return None
    world, scale = placed(scene, prim)
    base = what.bodies[body].pose if body >= 0 else identity()
    local = compose(inverse_pose(base), world)
    kind, size, turn, source = (
        _mesh(scene, prim, world, collides) if kind_name == "Mesh" else _simple(scene, prim, kind_name, scale)
    )
    color = authored(prim, "primvars:displayColor")
    return Shape(
        path, f"prim {path}", body, kind, size, compose(local, turn), source, custom=scene.custom("shape", prim),
        color=None if color is None or len(color) == 0 else np.clip([float(c) for c in color[0]], 0.0, 1.0),
    )  # fmt: skip


def _simple(scene: Any, prim: Any, name: str, scale: np.ndarray) -> tuple[GeoType, np.ndarray, np.ndarray, Any]:
    """Kind, size [m], turn in the frame of the prim, source."""
    get = lambda key: prim.GetAttribute(key).Get()
    s = np.abs(scale) * scene.length
    if name == "Cube":
        return GeoType.BOX, 0.5 * float(get("size")) * s, identity(), None
    if name == "Sphere":
        radii = float(get("radius")) * s
        if np.ptp(radii) <= 1.0e-5 * radii.max():
            return GeoType.SPHERE, np.array([radii[0], 0.0, 0.0]), identity(), None
        return GeoType.ELLIPSOID, radii, identity(), None
    axis = str(get("axis") or "Z")
    k = "XYZ".index(axis)
    turn = pose_of(np.zeros(3), _TURN[axis])
    if name == "Plane":
        across = {"X": (2, 1), "Y": (0, 2), "Z": (0, 1)}[axis]
        width, length = (float(get(key)) * s[i] for key, i in zip(("width", "length"), across, strict=True))
        if not (authored(prim, "width") or authored(prim, "length")):
            width = length = 0.0  # the physics of USD takes planes as infinite
        return GeoType.PLANE, np.array([width, length, 0.0]), turn, None
    sides = np.delete(s, k)
    if np.ptp(sides) > 1.0e-4 * sides.max():
        scene.left_out.append(f"{prim.GetPath()} (its scale {scale.tolist()} makes it elliptic: the larger radius is taken)")
    radius, half = float(get("radius")) * sides.max(), 0.5 * float(get("height")) * s[k]
    if scale[k] < 0.0 and name == "Cone":
        turn = compose(turn, pose_of(np.zeros(3), (1.0, 0.0, 0.0, 0.0)))
    return GeoType[name.upper()], np.array([radius, half, 0.0]), turn, None


def _mesh(scene: Any, prim: Any, world: np.ndarray, collides: bool) -> tuple[GeoType, np.ndarray, np.ndarray, Any]:
    """The triangles in the frame of the prim without its scale, or what ``physics:approximation`` makes of them."""
    part = _read_mesh(scene.path, prim, _world(prim))
    inverse = inverse_pose(world)
    points = inverse[:3] + quat_rotate(inverse[3:], part.vertices * scene.length)
    approximation = str(authored(prim, "physics:approximation") or "none") if collides else "none"
    if scene.options.skip_mesh_approximation:
        approximation = "none"
    low, high = points.min(axis=0), points.max(axis=0)
    if approximation == "boundingCube":
        return GeoType.BOX, 0.5 * (high - low), pose_of(0.5 * (high + low)), None
    if approximation == "boundingSphere":
        centre = 0.5 * (high + low)
        return GeoType.SPHERE, np.array([np.linalg.norm(points - centre, axis=1).max(), 0, 0]), pose_of(centre), None
    try:
        most = authored(prim, "newton:maxHullVertices")
        most = scene.options.mesh_maxhullvert if most is None or most < 0 else int(most)
        mesh = Mesh(points, part.elements, maxhullvert=most)
        if approximation == "convexHull":
            return GeoType.CONVEX_MESH, np.ones(3), identity(), mesh.compute_convex_hull()
    except ValueError as error:
        raise FileError(scene.path, f"prim {prim.GetPath()}: {error}") from error
    if approximation not in ("none", "meshSimplification"):
        scene.left_out.append(f"{prim.GetPath()} (approximation {approximation!r}: its triangles are taken)")
    return GeoType.MESH, np.ones(3), identity(), mesh


def _settings(scene: Any, path: str, desc: Any, materials: dict[str, Any]) -> dict[str, Any]:
    """Material and contact attributes."""
    prim, settings = scene.prim(path), {}
    for name, key, unit in (("newton:contactMargin", "margin", scene.length), ("newton:contactGap", "gap", scene.length)):
        value = authored(prim, name)
        if value is not None:
            settings[key] = float(value) * unit
    bound = [str(m) for m in desc.materials if str(m) in materials]
    if bound:
        material, owner = materials[bound[0]], scene.prim(bound[0])
        settings |= {"mu": float(material.dynamicFriction), "restitution": float(material.restitution)}
        stiff = scene.mass
        for name, key, unit in (
            ("newton:torsionalFriction", "mu_torsional", scene.length), ("newton:rollingFriction", "mu_rolling", scene.length),
            ("newton:contactStiffness", "ke", stiff), ("newton:contactDamping", "kd", stiff),
        ):  # fmt: skip
            value = authored(owner, name)
            if value is not None:
                settings[key] = float(value) * unit
    return settings


def surface_density(scene: Any, path: str, desc: Any) -> float:
    """Density [kg/m^3] of a shape: its own, that of its body, that of its material, else that of water."""
    unit = scene.mass / scene.length**3
    body = scene.prim(str(desc.rigidBody)) if str(desc.rigidBody) in scene.bodies else None
    materials = dict(scene.parsed.get("RigidBodyMaterial", ()))
    choices = [authored(scene.prim(path), "physics:density"), authored(body, "physics:density")]
    choices += [materials[str(m)].density for m in desc.materials if str(m) in materials]
    return next((float(c) * unit for c in choices if c is not None and float(c) > 0.0), 1000.0)

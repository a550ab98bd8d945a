"""Mass properties of USD bodies: what MassAPI authors, else what shapes and densities give."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.geometry.inertia import MassProperties, rotation_matrix
from hooke.geometry.shapes import shape_kind
from hooke.importers.description import Body, Description
from hooke.importers.usd_shapes import surface_density
from hooke.importers.usd_values import authored, placed, quaternion, vector

__all__ = ["set_masses"]


def set_masses(scene: Any, what: Description) -> None:
    """Set mass, centre of mass and inertia of all bodies."""
    shapes = scene.found(*(kind for kind in scene.parsed if kind.endswith("Shape")))
    carried: dict[str, list[tuple[str, Any]]] = {}
    for path, desc in shapes:
        carried.setdefault(str(desc.rigidBody), []).append((path, desc))
    for body in what.bodies:
        _set_mass(scene, what, body, carried.get(body.name, []))


def _set_mass(scene: Any, what: Description, body: Body, shapes: list[tuple[str, Any]]) -> None:
    """An authored mass scales what the shapes give; an authored inertia or centre replaces it."""
    prim = scene.prim(body.name)
    number = scene.bodies[body.name]
    total = MassProperties.zero()
    for path, desc in shapes:
        index = scene.shapes.get(path)
        if index is not None and what.shapes[index].body == number:
            total = total + _of_shape(scene, path, desc, what.shapes[index])
    mass = authored(prim, "physics:mass")
    if mass is not None and mass > 0.0:
        wanted = float(mass) * scene.mass
        total = total.scaled(wanted / total.mass) if total.mass > 0.0 else MassProperties(wanted, np.zeros(3), np.zeros((3, 3)))
    com, moments = authored(prim, "physics:centerOfMass"), authored(prim, "physics:diagonalInertia")
    body.mass, body.com, body.inertia = total.mass, total.com, total.inertia
    if com is not None and np.isfinite(vector(com)).all():
        body.com = vector(com) * _scale(scene, prim)
    tensor = authored(prim, "newton:inertia")
    if tensor is not None and len(tensor) == 6:
        xx, yy, zz, xy, xz, yz = (float(x) * scene.mass * scene.length**2 for x in tensor)
        body.inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif moments is not None and vector(moments).any():
        axes = authored(prim, "physics:principalAxes")
        q = quaternion(axes) if axes is not None else np.zeros(4)
        turn = rotation_matrix(q) if np.linalg.norm(q) > 1.0e-9 else np.eye(3)  # (0, 0, 0, 0) means "not set"
        body.inertia = turn @ np.diag(vector(moments)) @ turn.T * scene.mass * scene.length**2
    elif body.mass > 0.0 and not body.inertia.any():
        radius = (body.mass / (1000.0 * 4.0 / 3.0 * np.pi)) ** (1.0 / 3.0)
        body.inertia = np.eye(3) * 0.4 * body.mass * radius**2
        scene.left_out.append(f"the inertia of {body.name}, which neither it nor its shapes give: a ball of water is taken")


def _of_shape(scene: Any, path: str, desc: Any, shape: Any) -> MassProperties:
    density = surface_density(scene, path, desc)
    own = shape_kind(shape.kind).mass_properties(np.asarray(shape.size, np.float64), shape.source, density, None)
    mass = authored(scene.prim(path), "physics:mass")
    if mass is not None and mass > 0.0 and own.mass > 0.0:
        own = own.scaled(float(mass) * scene.mass / own.mass)
    return own.transformed(shape.pose)


def _scale(scene: Any, prim: Any) -> np.ndarray:
    return np.abs(placed(scene, prim)[1]) * scene.length

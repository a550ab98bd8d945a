"""MJCF through ``mujoco.MjSpec``: its compiler resolves classes, angles, frames and inertias; this file reads the result."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hooke.geometry.heightfield import Heightfield
from hooke.geometry.inertia import rotation_matrix
from hooke.geometry.kind import GeoType
from hooke.geometry.mesh import Mesh
from hooke.geometry.shapes import shape_kind
from hooke.importers.description import Body, Description, Shape, pose_of
from hooke.importers.error import FileError
from hooke.importers.mjcf_joints import read_actuators, read_equalities, read_joints

__all__ = ["MjcfOptions", "read_mjcf"]


@dataclass(kw_only=True)
class MjcfOptions:
    """What of a file is read and how; the fields are arguments of ``ModelBuilder.add_mjcf``."""

    joint_default: Any
    scale: float = 1.0
    armature_scale: float = 1.0
    up_axis: int = 2
    parse_meshes: bool = True
    parse_sites: bool = True
    parse_visuals: bool = True
    ignore_names: Sequence[str] = ()
    ignore_classes: Sequence[str] = ()
    visual_classes: Sequence[str] = ("visual",)
    collider_classes: Sequence[str] = ("collision",)
    no_class_as_colliders: bool = True
    skip_equality_constraints: bool = False
    convert_3d_hinge_to_ball_joints: bool = False
    mesh_maxhullvert: int | None = None
    ctrl_direct: bool = False


@dataclass
class Compiled:
    """A compiled file: mujoco's model ``m``, its specification, the poses of bodies, and the numbers of those that are read."""

    path: str
    mujoco: Any
    spec: Any
    m: Any
    options: MjcfOptions
    poses: np.ndarray
    numbers: dict[int, int] = field(default_factory=lambda: {0: -1})
    left_out: list[str] = field(default_factory=list)

    def name(self, kind: str, index: int) -> str:
        """Name of an element, ``kind_index`` if it has none."""
        found = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), index)
        return found or f"{kind}_{index}"


def read_mjcf(source: Any, options: MjcfOptions) -> Description:
    """Read an MJCF file or text.

    Raises:
        FileError: mujoco refuses it, for the reason that the message gives, or it holds what no joint here can do.
        ImportError: mujoco is not installed.
    """
    if not (np.isfinite(options.scale) and options.scale > 0.0):
        raise ValueError(f"scale: expected a positive factor, found {options.scale}")
    path, spec, mujoco = _load(source)
    c = _compile(path, spec, mujoco, options)
    what = Description(path, spec.modelname or "mjcf", up_axis=options.up_axis)
    what.gravity = np.array(c.m.opt.gravity)
    _read_bodies(c, what)
    _read_geoms(c, what)
    read_joints(c, what)
    read_actuators(c, what)
    if not options.skip_equality_constraints:
        read_equalities(c, what)
    _note(c)
    if c.left_out:
        warnings.warn(f"{path}: left out: {'; '.join(dict.fromkeys(c.left_out))}", stacklevel=4)
    return what


def _load(source: Any) -> tuple[str, Any, Any]:
    try:
        import mujoco
    except ImportError as error:
        raise ImportError('reading MJCF needs mujoco: pip install "hooke[mjcf]"') from error
    text = isinstance(source, str) and source.lstrip().startswith("<")
    path = "<text>" if text else os.fspath(source)
    if not text and not os.path.isfile(path):
        raise FileError(path, "there is no such file; check the path")
    try:
        spec = mujoco.MjSpec.from_string(source) if text else mujoco.MjSpec.from_file(path)
    except Exception as error:  # mujoco raises ValueError, RuntimeError and its own kinds, all about the content of the file
        raise FileError(path, f"not readable MJCF: {_one_line(error)}") from error
    return path, spec, mujoco


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _compile(path: str, spec: Any, mujoco: Any, options: MjcfOptions) -> Compiled:
    """Compile; what only measures or colours is left out if it is what the compiler stumbles over."""
    spec.compiler.fusestatic, spec.compiler.discardvisual = False, False
    if not options.parse_meshes:
        for geom in [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_MESH]:
            spec.delete(geom)
    trouble: list[str] = []
    for ease in (_nothing, _drop_sensors, _drop_textures):
        ease(spec)
        try:
            model = spec.compile()
            break
        except Exception as error:
            trouble.append(_one_line(error))
    else:
        raise FileError(path, f"mujoco does not compile it: {trouble[-1]}")
    if trouble:
        warnings.warn(f"{path}: sensors or textures left out, since mujoco says: {'; '.join(trouble)}", stacklevel=5)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    poses = np.array([pose_of(p * options.scale, q[[1, 2, 3, 0]]) for p, q in zip(data.xpos, data.xquat, strict=True)])
    return Compiled(path, mujoco, spec, model, options, poses)


def _nothing(_spec: Any) -> None:
    pass


def _drop_sensors(spec: Any) -> None:
    for sensor in list(spec.sensors):
        spec.delete(sensor)


def _drop_textures(spec: Any) -> None:
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)


def _matches(patterns: Sequence[str], name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _read_bodies(c: Compiled, what: Description) -> None:
    m, scale = c.m, c.options.scale
    for index in range(1, m.nbody):
        name, parent = c.name("body", index), int(m.body_parentid[index])
        if parent not in c.numbers or _matches(c.options.ignore_names, name):
            continue  # with all below it
        own = pose_of(m.body_ipos[index] * scale, m.body_iquat[index][[1, 2, 3, 0]])
        turn = rotation_matrix(own[3:])
        c.numbers[index] = len(what.bodies)
        what.bodies.append(
            Body(
                name, f"body {name!r}", c.poses[index], float(m.body_mass[index]), own[:3],
                turn @ np.diag(m.body_inertia[index]) @ turn.T * scale**2, kinematic=int(m.body_mocapid[index]) >= 0,
            )
        )  # fmt: skip


def _read_geoms(c: Compiled, what: Description) -> None:
    m = c.m
    shapes: dict[int, int] = {}
    for geom in c.spec.geoms:
        shape = _read_geom(c, geom)
        if shape is not None:
            shapes[geom.id] = len(what.shapes)
            what.shapes.append(shape)
    if c.options.parse_sites:
        _read_sites(c, what)
    _filter(c, what, shapes)
    if m.npair:
        c.left_out.append(f"{m.npair} <pair> elements (their materials; all shapes that may collide do)")


def _read_geom(c: Compiled, geom: Any) -> Shape | None:
    m, options, index = c.m, c.options, geom.id
    body, name, class_ = int(m.geom_bodyid[index]), c.name("geom", index), geom.classname.name
    if body not in c.numbers or _matches(options.ignore_names, name) or _matches(options.ignore_classes, class_):
        return None
    touches = bool(m.geom_contype[index] or m.geom_conaffinity[index])
    collides = touches and options.no_class_as_colliders
    if _matches(options.visual_classes, class_):
        collides = False
    elif _matches(options.collider_classes, class_):
        collides = True
    if not collides and not options.parse_visuals:
        return None
    form = _form(c, index)
    if form is None:
        c.left_out.append(f"geom {name!r} (a kind of shape that does not exist here)")
        return None
    kind, size, source = form
    settings = {"mu": float(m.geom_friction[index, 0]), "margin": max(float(m.geom_margin[index]) - float(m.geom_gap[index]), 0.0)}
    settings |= {"mu_torsional": float(m.geom_friction[index, 1]), "mu_rolling": float(m.geom_friction[index, 2])}
    settings["margin"] *= options.scale
    settings["density"] = _density(geom, kind, size, source)
    rgba = m.geom_rgba[index] if m.geom_matid[index] < 0 else m.mat_rgba[m.geom_matid[index]]
    pose = pose_of(m.geom_pos[index] * options.scale, m.geom_quat[index][[1, 2, 3, 0]])
    return Shape(
        name, f"geom {name!r}", c.numbers[body], kind, size, pose, source, collides=collides, settings=settings, adds_mass=True,
        color=np.clip(rgba[:3], 0.0, 1.0), opacity=float(rgba[3]),
    )  # fmt: skip


def _density(geom: Any, kind: GeoType, size: np.ndarray, source: Any) -> float:
    """Density [kg/m^3] that a geom states, or that gives it the mass that it states."""
    if kind in (GeoType.PLANE, GeoType.HFIELD):
        return 0.0
    if np.isnan(geom.mass):
        return float(geom.density)
    volume = shape_kind(kind).mass_properties(size, source, 1.0, None).mass
    return float(geom.mass) / volume if volume > 0.0 else 0.0


def _form(c: Compiled, index: int) -> tuple[GeoType, np.ndarray, Any] | None:
    """Kind, size and source of a geom; None for one that does not exist here."""
    m, kinds, scale = c.m, c.mujoco.mjtGeom, c.options.scale
    type_ = int(m.geom_type[index])
    if type_ == kinds.mjGEOM_MESH:
        mesh = int(m.geom_dataid[index])
        v, f = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
        points = m.mesh_vert[v : v + m.mesh_vertnum[mesh]]
        source: Any = Mesh(points, m.mesh_face[f : f + m.mesh_facenum[mesh]], maxhullvert=c.options.mesh_maxhullvert)
        return GeoType.MESH, np.full(3, scale), source
    if type_ == kinds.mjGEOM_HFIELD:
        field_ = int(m.geom_dataid[index])
        rows, columns, start = int(m.hfield_nrow[field_]), int(m.hfield_ncol[field_]), int(m.hfield_adr[field_])
        heights = m.hfield_data[start : start + rows * columns].reshape(rows, columns) * m.hfield_size[field_, 2] * scale
        hx, hy = m.hfield_size[field_, :2] * scale
        return GeoType.HFIELD, np.ones(3), Heightfield(heights, rows, columns, float(hx), float(hy))
    return _simple(c, type_, m.geom_size[index] * scale)


def _simple(c: Compiled, type_: int, size: np.ndarray) -> tuple[GeoType, np.ndarray, Any] | None:
    """Kind, size and source of a shape without data; planes are infinite for mujoco whatever their size."""
    kinds, (x, y, z) = c.mujoco.mjtGeom, size
    simple = {
        kinds.mjGEOM_PLANE: (GeoType.PLANE, (0.0, 0.0, 0.0)), kinds.mjGEOM_SPHERE: (GeoType.SPHERE, (x, 0.0, 0.0)),
        kinds.mjGEOM_CAPSULE: (GeoType.CAPSULE, (x, y, 0.0)), kinds.mjGEOM_CYLINDER: (GeoType.CYLINDER, (x, y, 0.0)),
        kinds.mjGEOM_ELLIPSOID: (GeoType.ELLIPSOID, (x, y, z)), kinds.mjGEOM_BOX: (GeoType.BOX, (x, y, z)),
    }  # fmt: skip
    found = next((value for kind, value in simple.items() if int(kind) == type_), None)
    return None if found is None else (found[0], np.array(found[1]), None)


def _read_sites(c: Compiled, what: Description) -> None:
    m, scale = c.m, c.options.scale
    for index in range(m.nsite):
        body = int(m.site_bodyid[index])
        name = c.name("site", index)
        if body in c.numbers and not _matches(c.options.ignore_names, name):
            pose = pose_of(m.site_pos[index] * scale, m.site_quat[index][[1, 2, 3, 0]])
            form = _simple(c, int(m.site_type[index]), m.site_size[index] * scale)
            if form is not None:
                what.shapes.append(
                    Shape(
                        name, f"site {name!r}", c.numbers[body], form[0], form[1], pose, collides=False, site=True, adds_mass=False
                    )
                )


def _filter(c: Compiled, what: Description, shapes: dict[int, int]) -> None:
    """Pairs whose masks do not meet, and those of bodies that are excluded."""
    m = c.m
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
    indices = [g for g, shape in shapes.items() if what.shapes[shape].collides]
    for k, a in enumerate(indices):
        for b in indices[k + 1 :]:
            bodies = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
            meets = m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]
            if bodies[0] != bodies[1] and (not meets or bodies in excluded or bodies[::-1] in excluded):
                what.filters.add((min(shapes[a], shapes[b]), max(shapes[a], shapes[b])))


def _note(c: Compiled) -> None:
    m = c.m
    for count, name in ((m.ntendon, "tendons"), (getattr(m, "nflex", 0), "flexes"), (m.nplugin, "plugins")):
        if count:
            c.left_out.append(f"{count} {name}")

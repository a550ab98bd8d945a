"""URDF: robots as trees of links and joints."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hooke.geometry.inertia import rotation_matrix
from hooke.geometry.kind import GeoType
from hooke.geometry.mesh import Mesh
from hooke.importers.description import Body, Description, Joint, Shape, identity, pose_of
from hooke.importers.error import FileError
from hooke.importers.mesh_file import load_mesh
from hooke.importers.xml_node import Node, parse_xml
from hooke.joints.kind import JointType
from hooke.model.config import JointDofConfig
from hooke.model.enums import JointTargetMode
from hooke.model.motion import compose, quat_multiply

__all__ = ["read_urdf"]

_KINDS = {
    "revolute": JointType.REVOLUTE, "continuous": JointType.REVOLUTE, "prismatic": JointType.PRISMATIC, "fixed": JointType.FIXED,
    "floating": JointType.FREE, "planar": JointType.D6,
}  # fmt: skip
_KNOWN = {
    "robot": {"link", "joint", "material"},
    "link": {"inertial", "visual", "collision"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"},
}
_PASSED_OVER = {"transmission", "gazebo", "mujoco", "sensor", "drake", "verbose", "contact", "hardwareInterface"}


@dataclass
class _Reader:
    """What holds for a whole file."""

    path: str
    scale: float
    package_dirs: Sequence[str]
    default: JointDofConfig
    max_hull: int | None
    position_velocity: bool
    materials: dict[str, Any] = field(default_factory=dict)
    meshes: dict[str, Mesh | None] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)


def read_urdf(
    source: Any, *, scale: float = 1.0, package_dirs: Any = None, joint_default: JointDofConfig, mesh_maxhullvert: int | None = None,
    force_position_velocity_actuation: bool = False,
) -> Description:  # fmt: skip
    """Read a URDF file or text.

    Raises:
        FileError: The text is damaged; the message names line and element.
    """
    if not (np.isfinite(scale) and scale > 0.0):
        raise ValueError(f"scale: expected a positive factor, found {scale}")
    path, text = _text(source)
    root = parse_xml(path, text)
    if root.tag != "robot":
        raise root.fail("expected the element <robot> of a URDF file")
    dirs = [os.fspath(package_dirs)] if isinstance(package_dirs, (str, os.PathLike)) else [os.fspath(d) for d in package_dirs or ()]
    reader = _Reader(path, scale, dirs, joint_default, mesh_maxhullvert, force_position_velocity_actuation)
    description = Description(path, root.values.get("name", "robot"))
    _note_unknown(reader, root)
    for node in root.all("material"):
        _color(reader, node)
    links = list(root.all("link"))
    if not links:
        raise root.fail("there is no <link>")
    numbers: dict[str, int] = {}
    for node in links:
        name = node.need("name")
        if name in numbers:
            raise node.fail(f"there is another link {name!r}")
        numbers[name] = len(description.bodies)
        _read_link(reader, description, node)
    for node in root.all("joint"):
        description.joints.append(_read_joint(reader, node, numbers))
    _place(description, root)
    _report(reader)
    return description


def _text(source: Any) -> tuple[str, bytes | str]:
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return "<text>", source
    path = os.fspath(source)
    if not os.path.isfile(path):
        raise FileError(path, "there is no such file; check the path")
    return path, Path(path).read_bytes()


def _note_unknown(reader: _Reader, node: Node) -> None:
    for child in node.children:
        if child.tag not in _KNOWN[node.tag] and child.tag not in _PASSED_OVER:
            reader.unknown.add(f"<{child.tag}> in line {child.line}")


def _report(reader: _Reader) -> None:
    if reader.missing:
        warnings.warn(f"{reader.path}: meshes left out: {'; '.join(dict.fromkeys(reader.missing))}", stacklevel=4)
    if reader.unknown:
        warnings.warn(f"{reader.path}: unknown elements left out: {', '.join(sorted(reader.unknown))}", stacklevel=4)


def _read_link(reader: _Reader, description: Description, node: Node) -> None:
    _note_unknown(reader, node)
    body = Body(node.need("name"), node.where)
    inertial = node.one("inertial")
    if inertial is not None:
        pose = _origin(reader, inertial)
        tensor = inertial.child("inertia")
        xx, xy, xz, yy, yz, zz = (tensor.number(key, 0.0 if key in ("ixy", "ixz", "iyz") else None) for key in
                                  ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))  # fmt: skip
        turn = rotation_matrix(pose[3:])
        body.mass, body.com = inertial.child("mass").number("value"), pose[:3]
        body.inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T * reader.scale**2
        if body.mass < 0.0 or np.linalg.eigvalsh(body.inertia).min() < -1.0e-9 * np.abs(body.inertia).max():
            raise inertial.fail(
                f"expected a mass and principal moments >= 0, found mass {body.mass} and the inertia {tensor.values}"
            )
    number = len(description.bodies)
    description.bodies.append(body)
    for child in node.all("visual", "collision"):
        shape = _read_shape(reader, child, body.name, number)
        if shape is not None:
            description.shapes.append(shape)


def _read_shape(reader: _Reader, node: Node, link: str, body: int) -> Shape | None:
    geometry = node.child("geometry")
    if len(geometry.children) != 1:
        raise geometry.fail(f"expected one shape, found {len(geometry.children)}")
    form, scale = geometry.children[0], reader.scale
    source, size = None, np.ones(3)
    if form.tag == "box":
        kind, size = GeoType.BOX, 0.5 * scale * form.numbers("size", 3)
    elif form.tag == "sphere":
        kind, size = GeoType.SPHERE, scale * np.array([form.number("radius"), 0.0, 0.0])
    elif form.tag in ("cylinder", "capsule"):
        kind = GeoType[form.tag.upper()]
        size = scale * np.array([form.number("radius"), 0.5 * form.number("length"), 0.0])
    elif form.tag == "mesh":
        kind, size = GeoType.MESH, scale * form.numbers("scale", 3, np.ones(3))
        source = _mesh(reader, form)
        if source is None:
            return None
    else:
        raise form.fail("unknown shape; expected box, sphere, cylinder, capsule or mesh")
    if (size < 0.0).any() and form.tag != "mesh":
        raise form.fail(f"expected dimensions >= 0, found {form.values}")
    collides = node.tag == "collision"
    color = _color(reader, node.one("material"))
    return Shape(
        node.values.get("name") or f"{link}_{node.tag}_line_{node.line}", node.where, body, kind, size, _origin(reader, node), source,
        collides=collides, visible=not collides, adds_mass=collides, color=None if color is None else color[:3],
        opacity=None if color is None else color[3],
    )  # fmt: skip


def _mesh(reader: _Reader, node: Node) -> Mesh | None:
    """The mesh of a file, or None if there is none that can be read, which is reported when all is read."""
    name = node.need("filename")
    if name not in reader.meshes:
        reader.meshes[name] = None
        path = _resolve(reader, name)
        if path is None:
            reader.missing.append(f"{name} (line {node.line}: no such file; give package_dirs)")
            return None
        try:
            data = load_mesh(path, up_axis=None)
        except ImportError as error:
            reader.missing.append(f"{name} (line {node.line}: {error})")
            return None
        except FileError as error:
            if "unknown ending" not in str(error):
                raise node.fail(str(error)) from error
            reader.missing.append(f"{name} (line {node.line}: this format needs another package, for .dae pycollada)")
            return None
        reader.meshes[name] = Mesh(data.vertices, data.indices, maxhullvert=reader.max_hull)
    return reader.meshes[name]


def _resolve(reader: _Reader, name: str) -> str | None:
    """The path of ``package://name/rest``, ``file:///path`` or a path beside the file."""
    folder = Path(reader.path).resolve().parent
    if name.startswith("file://"):
        places = [Path(name[len("file://") :])]
    elif name.startswith(("package://", "model://")):
        package, _, rest = name.partition("://")[2].partition("/")
        places = []
        for parent in (*map(Path, reader.package_dirs), folder, *folder.parents):
            places += [parent / package / rest, parent / rest]
    else:
        places = [folder / name, *(Path(d) / name for d in reader.package_dirs)]
    return next((str(place) for place in places if place.is_file()), None)


def _color(reader: _Reader, node: Node | None) -> np.ndarray | None:
    """RGBA of a material; the first that gives a colour under a name holds for all."""
    if node is None:
        return None
    name, color = node.values.get("name", ""), node.one("color")
    if color is not None:
        value = color.numbers("rgba", 4)
        if name:
            reader.materials.setdefault(name, value)
        return value
    return reader.materials.get(name)


def _origin(reader: _Reader, node: Node) -> np.ndarray:
    origin = node.one("origin")
    if origin is None:
        return identity()
    roll, pitch, yaw = 0.5 * origin.numbers("rpy", 3, np.zeros(3))  # fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll)
    about = lambda k, half: np.array([*(np.sin(half) * np.eye(3)[k]), np.cos(half)])
    q = quat_multiply(about(2, yaw), quat_multiply(about(1, pitch), about(0, roll)))
    return pose_of(reader.scale * origin.numbers("xyz", 3, np.zeros(3)), q)


def _read_joint(reader: _Reader, node: Node, numbers: dict[str, int]) -> Joint:
    _note_unknown(reader, node)
    kind = node.need("type")
    if kind not in _KINDS:
        raise node.fail(f"unknown type {kind!r}; expected one of {', '.join(_KINDS)}")
    ends = []
    for tag in ("parent", "child"):
        link = node.child(tag).need("link")
        if link not in numbers:
            raise node.fail(f"its {tag} link {link!r} does not exist")
        ends.append(numbers[link])
    joint = Joint(node.need("name"), node.where, _KINDS[kind], ends[0], ends[1], parent_pose=_origin(reader, node))
    if kind in ("fixed", "floating"):
        return joint
    axis_node = node.one("axis")
    axis = np.array([1.0, 0.0, 0.0]) if axis_node is None else axis_node.numbers("xyz", 3)
    if not np.linalg.norm(axis) > 1.0e-9:
        raise node.fail(f"its axis is {axis.tolist()}; expected one that is not zero")
    if kind == "planar":
        normal = axis / np.linalg.norm(axis)
        first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
        dof = replace(reader.default, axis=first)
        joint.linear = [dof, replace(dof, axis=np.cross(normal, first))]
        joint.angular = [replace(dof, axis=normal)]
        return joint
    _read_dof(reader, node, joint, axis, kind)
    mimic = node.one("mimic")
    if mimic is not None:
        unit = reader.scale if kind == "prismatic" else 1.0
        joint.mimic = (mimic.need("joint"), unit * mimic.number("offset", 0.0), mimic.number("multiplier", 1.0))
    return joint


def _read_dof(reader: _Reader, node: Node, joint: Joint, axis: np.ndarray, kind: str) -> None:
    dof = replace(reader.default, axis=axis)
    unit = reader.scale if kind == "prismatic" else 1.0
    limit = node.one("limit")
    if limit is not None:
        if kind != "continuous" and ("lower" in limit.values or "upper" in limit.values):
            dof.limit_lower, dof.limit_upper = unit * limit.number("lower", 0.0), unit * limit.number("upper", 0.0)
            if dof.limit_lower > dof.limit_upper:
                raise limit.fail(f"lower {dof.limit_lower} is above upper {dof.limit_upper}")
        dof.effort_limit = limit.number("effort", dof.effort_limit)
        dof.velocity_limit = unit * limit.number("velocity", dof.velocity_limit / unit)
        if "effort" in limit.values and dof.effort_limit == 0.0:
            dof.effort_limit = reader.default.effort_limit  # many exporters write 0 for "not known"
        if "velocity" in limit.values and dof.velocity_limit == 0.0:
            dof.velocity_limit = reader.default.velocity_limit
    dynamics = node.one("dynamics")
    if dynamics is not None:
        dof.damping, dof.friction = dynamics.number("damping", dof.damping), dynamics.number("friction", dof.friction)
    dof.actuator_mode = JointTargetMode.POSITION_VELOCITY if reader.position_velocity else JointTargetMode.POSITION
    (joint.linear if kind == "prismatic" else joint.angular).append(dof)


def _place(description: Description, root: Node) -> None:
    """Poses of all links where all coordinates are zero; every link has one parent at most, and none is its own ancestor."""
    held: dict[int, Joint] = {}
    names = [body.name for body in description.bodies]
    for joint in description.joints:
        if joint.child in held:
            raise FileError(
                description.path,
                f"{joint.where}: link {names[joint.child]!r} is the child of joint {held[joint.child].name!r} already; a URDF is a tree",
            )
        held[joint.child] = joint
    done: dict[int, np.ndarray] = {}
    for start in range(len(names)):
        chain: list[int] = []
        body = start
        while body not in done and body in held:
            if body in chain:
                loop = " -> ".join(names[b] for b in reversed([*chain[chain.index(body) :], body]))
                raise FileError(description.path, f"{held[body].where}: the joints form a cycle: {loop}; a URDF is a tree")
            chain.append(body)
            body = held[body].parent
        done.setdefault(body, identity())
        for link in reversed(chain):
            done[link] = compose(done[held[link].parent], held[link].parent_pose)
    for index, pose in done.items():
        description.bodies[index].pose = pose

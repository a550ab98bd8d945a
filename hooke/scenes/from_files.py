"""A scene of meshes from files: cloth, soft bodies, rigid bodies and obstacles, scaled, turned and placed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hooke.geometry.grid import fill_surface
from hooke.geometry.mesh import Mesh
from hooke.geometry.repair import Repaired, repair
from hooke.geometry.topology import mesh_edges
from hooke.importers import FileError, load_mesh, load_tetmesh
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import parse_material
from hooke.model.motion import quat_multiply, quat_rotate
from hooke.scenes.scene import Scene

__all__ = ["ROLES", "Part", "parse_part", "pin_particles", "scene_from_files"]

ROLES = ("cloth", "soft", "rigid", "obstacle")


@dataclass
class Part:
    """A file and what becomes of it.

    Args:
        path: Mesh file.
        role: ``"cloth"``, ``"soft"``, ``"rigid"`` or ``"obstacle"``.
        scale: Factor, or ``"fit"``: an obstacle becomes 1 m large; a cloth 1.6 times as wide as the obstacles, above them.
        rotate: Rotations about x, y, z [degrees], in this order, about the middle of the mesh.
        place: Where the middle of the mesh goes [m]; None leaves it where the file has it (or where fit puts it).
        up: Up axis of the file where it does not say.
        units: Unit of the file where it does not say.
        resolution: Cells along the longest side, for ``"soft"`` from a surface.
        hull: A ``"rigid"`` body takes the convex hull of its mesh.
    """

    path: Path
    role: str
    scale: float | str = 1.0
    rotate: tuple[float, float, float] = (0.0, 0.0, 0.0)
    place: tuple[float, float, float] | None = None
    up: str | None = None
    units: str | None = None
    resolution: int = 14
    hull: bool = False

    def __post_init__(self):
        self.path = Path(self.path)
        if self.role not in ROLES:
            raise ValueError(f"{self.path}: unknown role {self.role!r}; expected one of {', '.join(ROLES)}")
        if self.scale != "fit" and not (isinstance(self.scale, (int, float)) and 0.0 < self.scale < float("inf")):
            raise ValueError(f"{self.path}: expected scale as a number > 0 or 'fit', found {self.scale!r}")


def parse_part(text: str) -> Part:
    """Read ``FILE:ROLE``."""
    path, colon, role = text.rpartition(":")
    if not colon or role not in ROLES:
        raise ValueError(f"{text!r}: expected FILE:ROLE with a role of {', '.join(ROLES)}")
    return Part(Path(path), role)


def scene_from_files(
    parts: Sequence[Part], *, material: str | None = None, pins: Sequence[str] = (), ground: float | str | None = "auto",
    name: str | None = None,
) -> Scene:  # fmt: skip
    """Build a scene.

    Args:
        parts: Files with their roles.
        material: Material of what moves, as :func:`hooke.model.material.parse_material` reads it.
        pins: Regions whose particles are fixed, see :func:`pin_particles`.
        ground: Height of the ground [m]; ``"auto"`` is the lowest point of the obstacles; None is no ground.
        name: Name of the scene; None is made of the files' names.

    Raises:
        FileError: A file cannot be read or holds no usable mesh.
        ValueError: A setting is out of range, nothing moves, or a pin holds no particle.
    """
    if not any(part.role != "obstacle" for part in parts):
        raise ValueError("nothing moves in this scene: give at least one FILE:cloth, FILE:soft or FILE:rigid")
    builder = ModelBuilder()
    size, lowest = _Extent(), []
    for part in sorted(parts, key=lambda p: p.role != "obstacle"):
        vertices, elements = _read(part)
        vertices = _place(part, vertices, size)
        if part.role == "obstacle":
            mu = max(parse_material(material, p.role).mu for p in parts if p.role != "obstacle")
            mesh = Mesh(vertices.astype(np.float32), elements.reshape(-1), compute_inertia=False)
            builder.add_shape_mesh(-1, mesh=mesh, cfg=ShapeConfig(mu=mu), label=part.path.stem)
            size.add(vertices)
        elif part.role == "rigid":
            _add_rigid(builder, part, vertices, elements, material)
            lowest.append(float(vertices[:, 2].min()))
        else:
            _add_deformable(builder, part, vertices, elements, material)
    if builder.particle_count:
        lowest.append(float(builder.particle_q.array[:, 2].min() - builder.particle_radius.array.mean()))
    if ground == "auto":
        ground = size.lower[2] if size.known else min(lowest)
    if ground is not None:
        builder.add_ground_plane(height=float(ground), cfg=ShapeConfig(mu=0.6))
    pinned = [pin_particles(builder, text) for text in pins]
    label = name or "_on_".join(part.path.stem for part in parts)
    mu = parse_material(material, next(p.role for p in parts if p.role != "obstacle")).mu
    scene = Scene(label, builder, substeps=10 if builder.particle_count else 2, camera={"azimuth": -60.0, "elevation": 20.0})
    if builder.particle_count:
        scene.soft_contact = {"mu": mu, "kd": 1.0e-2, "ke": _contact_stiffness(builder)}
    if pinned and sum(pinned) == builder.particle_count:
        raise ValueError("the pins hold every particle, so nothing moves")
    return scene


class _Extent:
    """Bounds of the obstacles."""

    def __init__(self):
        self.lower, self.upper = np.full(3, np.inf), np.full(3, -np.inf)

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.lower).all())

    def add(self, vertices: np.ndarray) -> None:
        self.lower = np.minimum(self.lower, vertices.min(axis=0))
        self.upper = np.maximum(self.upper, vertices.max(axis=0))


def _read(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in metres with Z up, and triangles or tetrahedra, cleaned with a warning that counts what was dropped."""
    options: dict[str, Any] = {"file_up_axis": part.up, "units": part.units}
    if part.role == "soft":
        tetrahedral = _read_tetrahedra(part, options)
        if tetrahedral is not None:
            return tetrahedral
    mesh = load_mesh(part.path, **options)
    try:
        clean = repair(mesh.vertices, mesh.indices, part.path.name)
    except ValueError as error:
        raise FileError(part.path, str(error)) from error
    _warn_repaired(part.path, clean)
    if len(clean.indices) == 0:
        raise FileError(part.path, "no triangle with an area is left")
    return clean.vertices.astype(np.float64), clean.indices.reshape(-1, 3)


def _read_tetrahedra(part: Part, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """The tetrahedra of a USD file, or None where it holds a surface only."""
    if part.path.suffix.lower() not in (".usd", ".usda", ".usdc", ".usdz"):
        return None
    try:
        mesh = load_tetmesh(part.path, **options)
    except FileError:
        return None
    return np.asarray(mesh.vertices, np.float64), np.asarray(mesh.tet_indices).reshape(-1, 4)


def _warn_repaired(path: Path, clean: Repaired) -> None:
    dropped = {
        "triangles without area": clean.zero_area,
        "repeated triangles": clean.duplicates,
        "unused vertices": clean.unused_vertices,
    }
    found = ", ".join(f"{count} {what}" for what, count in dropped.items() if count)
    if found:
        warnings.warn(f"{path}: dropped {found}", stacklevel=5)


def _place(part: Part, vertices: np.ndarray, size: _Extent) -> np.ndarray:
    """Scale and turn about the middle, then move."""
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    middle, extent = 0.5 * (lower + upper), float((upper - lower).max())
    factor = part.scale
    if factor == "fit":
        wanted = 1.6 * float((size.upper - size.lower)[:2].max()) if part.role != "obstacle" and size.known else 1.0
        factor = wanted / extent
    local = (vertices - middle) * float(factor)
    q = np.array([0.0, 0.0, 0.0, 1.0])
    for axis, angle in enumerate(np.radians(part.rotate)):
        turn = np.array([0.0, 0.0, 0.0, np.cos(0.5 * angle)])
        turn[axis] = np.sin(0.5 * angle)
        q = quat_multiply(turn, q)
    local = quat_rotate(q, local)
    if part.place is not None:
        return local + np.asarray(part.place, np.float64)
    if part.scale == "fit" and part.role != "obstacle" and size.known:
        above = 0.5 * (size.lower + size.upper)
        above[2] = size.upper[2] - local[:, 2].min() + 0.05 * float((size.upper - size.lower)[2])
        return local + above
    return local + middle * float(factor)


def _add_deformable(builder: ModelBuilder, part: Part, vertices: np.ndarray, elements: np.ndarray, material: str | None) -> None:
    given: dict[str, Any] = {
        "pos": (0.0, 0.0, 0.0),
        "rot": (0.0, 0.0, 0.0, 1.0),
        "scale": 1.0,
        "vel": (0.0, 0.0, 0.0),
        "label": part.path.stem,
    }
    chosen: Any = parse_material(material, part.role)
    if part.role == "cloth":
        edges, _ = mesh_edges(elements)
        length = float(np.linalg.norm(vertices[edges[:, 3]] - vertices[edges[:, 2]], axis=1).mean())
        corners = vertices[elements]
        area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        constants = chosen.elements(spacing=2.0 * float(area.mean()) / length)
        builder.add_cloth_mesh(vertices=vertices, indices=elements.reshape(-1), particle_radius=0.5 * length, **constants, **given)
        return
    if elements.shape[1] == 3:
        try:
            vertices, elements = fill_surface(vertices, elements, part.resolution)
        except ValueError as error:
            raise FileError(part.path, str(error)) from error
    edge = float(np.linalg.norm(vertices[elements[:, 1]] - vertices[elements[:, 0]], axis=1).mean())
    builder.add_soft_mesh(vertices=vertices, indices=elements, particle_radius=0.1 * edge, **chosen.elements(), **given)


def _add_rigid(builder: ModelBuilder, part: Part, vertices: np.ndarray, triangles: np.ndarray, material: str | None) -> None:
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    mesh = Mesh((vertices - middle).astype(np.float32), triangles.reshape(-1), compute_inertia=False)
    if not (part.hull or mesh.is_watertight):
        raise FileError(
            part.path, "the surface is not closed, so a rigid body has no volume; take its convex hull (hull=True, --hull)"
        )
    chosen: Any = parse_material(material, "rigid")
    body = builder.add_body(xform=(*middle, 0.0, 0.0, 0.0, 1.0), label=part.path.stem)
    add = builder.add_shape_convex_hull if part.hull else builder.add_shape_mesh
    add(body, mesh=mesh, cfg=ShapeConfig(**chosen.elements()), label=part.path.stem)


def _contact_stiffness(builder: ModelBuilder) -> float:
    """Stiffness [N/m] at which a pile of twenty particles presses the lowest into a surface by a tenth of its radius."""
    weight = 20.0 * 9.81 * float(builder.particle_mass.array.max())
    return max(1.0e3, weight / (0.1 * float(builder.particle_radius.array.mean())))


def pin_particles(builder: ModelBuilder, text: str) -> int:
    """Fix the particles in a region (mass 0).

    Args:
        builder: Changed in place.
        text: ``"box:x0,y0,z0,x1,y1,z1"``, or ``"plane:a,b,c,d"`` for the side a x + b y + c z + d >= 0 [m].

    Returns:
        How many particles are fixed.

    Raises:
        ValueError: The text is not understood, or the region holds no particle.
    """
    kind, _, numbers = text.partition(":")
    try:
        values = np.array([float(word) for word in numbers.split(",")])
    except ValueError:
        values = np.empty(0)
    x = builder.particle_q.array
    if kind == "box" and len(values) == 6:
        low, high = np.minimum(values[:3], values[3:]), np.maximum(values[:3], values[3:])
        held = ((x >= low) & (x <= high)).all(axis=1)
    elif kind == "plane" and len(values) == 4:
        held = x @ values[:3] + values[3] >= 0.0
    else:
        raise ValueError(f"pin {text!r}: expected box:x0,y0,z0,x1,y1,z1 or plane:a,b,c,d")
    if not held.any():
        bounds = f"{x.min(axis=0).round(3).tolist()} to {x.max(axis=0).round(3).tolist()}"
        raise ValueError(f"pin {text!r} holds no particle; they are within {bounds} m")
    builder.particle_mass.array[held] = 0.0
    return int(held.sum())

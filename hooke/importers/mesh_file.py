"""Meshes of files, in metres and with the wanted up axis.

USD states its units and its up axis; glTF is in metres with Y up; OBJ, STL, PLY and OFF say nothing, and are taken as they are
unless the caller knows better.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hooke.geometry.repair import check_triangles, weld
from hooke.geometry.tetmesh import TetMesh
from hooke.importers.error import FileError
from hooke.importers.part import Part, Parts, check_part
from hooke.importers.usd_mesh import SUFFIXES as USD_SUFFIXES
from hooke.importers.usd_mesh import only_one, read_usd

__all__ = ["MeshFile", "describe", "load_mesh", "load_tetmesh"]

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "km": 1000.0, "in": 0.0254, "ft": 0.3048}
"""Metres per unit."""

STATED = {".glb": ("y", 1.0), ".gltf": ("y", 1.0)}
"""Up axis and metres per unit that a format fixes."""


@dataclass(frozen=True)
class MeshFile:
    """Triangle mesh read from a file.

    Attributes:
        vertices: float32 (n, 3) [m].
        indices: Triangles, int32, flat (3 m), wound outward if the file's are.
        parts: Names of the meshes that were joined.
        triangle_counts: Number of triangles of each part; they follow each other in ``indices``.
        up_axis: "x", "y" or "z": the up axis of ``vertices``.
        meters_per_unit: Factor that took the numbers of the file to metres.
        path: The file.
    """

    vertices: np.ndarray
    indices: np.ndarray
    parts: list[str]
    triangle_counts: list[int]
    up_axis: str
    meters_per_unit: float
    path: str


def load_mesh(
    path: str | os.PathLike[str],
    *,
    prim: str | None = None,
    scale: float = 1.0,
    up_axis: Any = "z",
    file_up_axis: Any = None,
    units: float | str | None = None,
    weld_vertices: bool = True,
) -> MeshFile:
    """Read triangles: USD files with usd-core, all others (OBJ, STL, PLY, OFF, glTF, ...) with trimesh.

    All meshes of the file are joined, each at its place in the world of the file. Polygons become fans of triangles. Left-handed
    and mirrored USD meshes are turned, so that they face outward.

    Args:
        path: File.
        prim: Read only what is at or below this prim of a USD file, or only the part of this name of another file.
        scale: Extra factor.
        up_axis: Up axis of the result ("x", "y", "z" or 0, 1, 2); None leaves the axes of the file.
        file_up_axis: Up axis of the file, where it does not say or is wrong; default what it says, else ``up_axis``.
        units: Unit of the file, in metres or by name ("mm", "cm", "m", "in", ...), where it does not say or is wrong; default
            what it says, else metres. ``units="m"`` ignores a USD file's metersPerUnit.
        weld_vertices: Make one of vertices at exactly the same place in files other than USD (STL has three for every triangle, OBJ
            one for every texture coordinate).

    Raises:
        FileError: If the file is missing, of an unknown kind or damaged, or holds no (such) mesh.
        ImportError: If the package that reads it is missing.
    """
    parts = _read(path, prim, weld_vertices)
    matrix, up, meters = _placement(parts, scale, up_axis, file_up_axis, units)
    return joined(path, parts.parts, matrix, up, meters)


def load_tetmesh(
    path: str | os.PathLike[str],
    *,
    prim: str | None = None,
    scale: float = 1.0,
    up_axis: Any = "z",
    file_up_axis: Any = None,
    units: float | str | None = None,
) -> TetMesh:
    """Read the tetrahedra of a UsdGeom.TetMesh.

    Args:
        path: USD file.
        prim: Prim to read; default the only one there.
        scale: See :func:`load_mesh`.
        up_axis: See :func:`load_mesh`.
        file_up_axis: See :func:`load_mesh`.
        units: See :func:`load_mesh`.

    Raises:
        FileError: If the file is missing, damaged, not USD, or holds no (such) tetrahedral mesh.
        ImportError: If usd-core is missing.
    """
    suffix = _suffix(path)
    if suffix not in USD_SUFFIXES:
        raise FileError(path, f"cannot read tetrahedra from {suffix or 'a file without ending'}; use {', '.join(USD_SUFFIXES)}")
    parts = read_usd(path, prim, "TetMesh")
    part = only_one(path, parts)
    matrix, _, _ = _placement(parts, scale, up_axis, file_up_axis, units)
    try:
        return TetMesh(part.vertices @ matrix.T, part.elements)
    except ValueError as error:
        raise FileError(path, f"mesh {part.name!r}: {error}") from error


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a mesh file, in metres, along the axes of the file.

    Returns:
        ``path``, ``format``, ``up_axis`` and ``meters_per_unit`` (None where the file does not say), ``vertices``,
        ``triangles``, ``bounds`` ((lower, upper) [m]), ``watertight`` (all parts), and ``parts``: a list of dictionaries of
        ``name``, ``vertices``, ``triangles``, ``bounds``, ``watertight``, ``open_edges`` and ``defects`` (lines of text).

    Raises:
        FileError: If the file is missing, of an unknown kind or damaged, or holds no mesh.
    """
    found = _read(path, None, True)
    meters = 1.0 if found.meters_per_unit is None else found.meters_per_unit
    parts = [_described(part, meters) for part in found.parts]
    lower = np.min([part["bounds"][0] for part in parts], axis=0)
    upper = np.max([part["bounds"][1] for part in parts], axis=0)
    return {
        "path": os.fspath(path),
        "format": _suffix(path)[1:],
        "up_axis": found.up_axis,
        "meters_per_unit": found.meters_per_unit,
        "vertices": sum(part["vertices"] for part in parts),
        "triangles": sum(part["triangles"] for part in parts),
        "bounds": (lower.tolist(), upper.tolist()),
        "watertight": all(part["watertight"] for part in parts),
        "parts": parts,
    }


def joined(path: Any, parts: list[Part], matrix: np.ndarray, up_axis: str | None, meters_per_unit: float) -> MeshFile:
    """All parts as one mesh, their vertices moved by ``matrix``, float64 (3, 3)."""
    offsets = np.cumsum([0] + [len(part.vertices) for part in parts])
    vertices = np.concatenate([part.vertices for part in parts]) @ matrix.T
    indices = np.concatenate([part.elements + offset for part, offset in zip(parts, offsets)])
    return MeshFile(
        vertices=np.ascontiguousarray(vertices, dtype=np.float32),
        indices=np.ascontiguousarray(indices, dtype=np.int32).reshape(-1),
        parts=[part.name for part in parts],
        triangle_counts=[len(part.elements) for part in parts],
        up_axis=up_axis or "z",
        meters_per_unit=meters_per_unit,
        path=str(path),
    )


def _described(part: Part, meters: float) -> dict[str, Any]:
    vertices = part.vertices * meters
    report = check_triangles(vertices, part.elements, part.name)
    welded, triangles, _ = weld(vertices, part.elements)
    return {
        "name": part.name,
        "vertices": len(vertices),
        "triangles": len(part.elements),
        "bounds": (vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()),
        "watertight": check_triangles(welded, triangles, part.name).watertight,
        "open_edges": len(report.boundary_edges),
        "defects": report.defects(),
    }


def _suffix(path: Any) -> str:
    return Path(path).suffix.lower()


def _read(path: Any, prim: str | None, weld_vertices: bool) -> Parts:
    if not os.path.isfile(path):
        raise FileError(path, "there is no such file; check the path")
    if os.path.getsize(path) == 0:
        raise FileError(path, "the file is empty; export it again")
    if _suffix(path) in USD_SUFFIXES:
        return read_usd(path, prim)
    return _read_trimesh(path, prim, weld_vertices)


def _read_trimesh(path: Any, name: str | None, weld_vertices: bool) -> Parts:
    """Meshes of a file that trimesh reads, at their places in its scene."""
    suffix = _suffix(path)
    try:
        import trimesh
    except ImportError as error:
        raise ImportError(f'reading {suffix or "this file"} needs trimesh: pip install "hooke[mesh]"') from error
    known = set(trimesh.available_formats())
    if suffix[1:] not in known:
        common = [ending for ending in ("obj", "stl", "ply", "off", "glb", "gltf", "3mf", "dae") if ending in known]
        raise FileError(
            path, f"unknown ending {suffix!r}; use one of {', '.join(USD_SUFFIXES)}, {', '.join('.' + ending for ending in common)}"
        )
    try:
        scene = trimesh.load_scene(os.fspath(path), process=False)
        meshes = [mesh for mesh in scene.dump() if isinstance(mesh, trimesh.Trimesh)]
    except ImportError:
        raise
    except Exception as error:  # a damaged file makes a reader raise almost anything
        raise FileError(
            path, f"not a readable {suffix[1:].upper()} file ({type(error).__name__}: {error}); export it again"
        ) from error
    if not meshes:
        raise FileError(path, "no triangle mesh in the file (points, lines or nothing at all); export it again with faces")
    parts = []
    for number, mesh in enumerate(meshes):
        label = str(mesh.metadata.get("name") or f"mesh_{number}")
        vertices, triangles = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
        part = check_part(path, Part(label, vertices, triangles))
        if weld_vertices:
            part.vertices, part.elements, _ = weld(part.vertices, part.elements)
        parts.append(part)
    if name is not None:
        chosen = [part for part in parts if part.name == name]
        if not chosen:
            raise FileError(path, f"there is no part {name!r}; its parts are {', '.join(part.name for part in parts)}")
        parts = chosen
    up_axis, meters = STATED.get(suffix, (None, None))
    return Parts(parts, up_axis, meters)


def _placement(parts: Parts, scale: float, up_axis: Any, file_up_axis: Any, units: Any) -> tuple[np.ndarray, str, float]:
    """Matrix, float64 (3, 3), from file numbers to metres along the wanted axes; the up axis; metres per unit."""
    if not np.isfinite(scale) or scale <= 0.0:
        raise ValueError(f"scale: expected a positive factor, found {scale}; mirror the vertices afterwards if you need to")
    meters = _meters(units, parts.meters_per_unit)
    wanted = axis_name(up_axis)
    own = axis_name(file_up_axis) or parts.up_axis or wanted or "z"
    wanted = wanted or own
    return rotation_between(own, wanted) * (scale * meters), wanted, meters


def axis_name(axis: Any) -> str | None:
    """Lower-case letter of an axis given by name or number; None stays None."""
    if axis is None:
        return None
    name = axis.lower() if isinstance(axis, str) else {0: "x", 1: "y", 2: "z"}.get(int(axis))
    if name not in ("x", "y", "z"):
        raise ValueError(f'up axis: expected "x", "y" or "z" (0, 1, 2), found {axis!r}')
    return name


def rotation_between(source: str, target: str) -> np.ndarray:
    """Quarter turn, float64 (3, 3), that takes one coordinate axis to another and leaves the third one alone."""
    a, b = "xyz".index(source), "xyz".index(target)
    matrix = np.eye(3)
    if a != b:
        matrix[[a, b], [a, b]] = 0.0
        matrix[b, a], matrix[a, b] = 1.0, -1.0
    return matrix


def _meters(units: Any, stated: float | None) -> float:
    if units is None:
        meters = 1.0 if stated is None else stated
    elif isinstance(units, str):
        if units not in UNITS:
            raise ValueError(f"units: expected metres per unit or one of {', '.join(UNITS)}, found {units!r}")
        meters = UNITS[units]
    else:
        meters = float(units)
    if not np.isfinite(meters) or meters <= 0.0:
        raise ValueError(f"units: expected a positive number of metres per unit, found {meters}; give units=... yourself")
    return meters

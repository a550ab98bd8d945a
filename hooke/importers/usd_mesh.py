"""Meshes of USD files: UsdGeom.Mesh and UsdGeom.TetMesh."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from hooke.importers.error import FileError
from hooke.importers.part import Part, Parts, check_part, fan

SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")


def read_usd(path: Any, prim: str | None = None, kind: str = "Mesh") -> Parts:
    """All meshes of a file at or below a prim (default: all), in world coordinates of the stage.

    Args:
        path: File.
        prim: Path of a prim, such as ``"/root/bunny"``.
        kind: ``"Mesh"`` for triangles or ``"TetMesh"`` for tetrahedra.

    Raises:
        FileError: If the file cannot be read, the prim does not exist, or there is no mesh.
    """
    stage = _open(path)
    root = stage.GetPseudoRoot() if prim is None else stage.GetPrimAtPath(_prim_path(path, prim))
    if not root:
        raise FileError(path, f"there is no prim {prim}; {_offer(stage, kind)}")
    return _read_below(path, root, np.eye(4), kind)


def read_prim(source: Any, prim: Any, apply_stage_units: bool) -> Any:
    """Meshes at or below a prim, in the frame of that prim [m], as a :class:`~hooke.importers.mesh_file.MeshFile`."""
    from hooke.importers.mesh_file import joined

    label, parts = _in_own_frame(source, prim, "Mesh")
    meters = (parts.meters_per_unit or 1.0) if apply_stage_units else 1.0
    return joined(label, parts.parts, np.eye(3) * meters, parts.up_axis, parts.meters_per_unit or 1.0)


def read_tet_prim(source: Any, prim: Any, apply_stage_units: bool) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] and tetrahedra (t, 4) of a UsdGeom.TetMesh, in the frame of its prim."""
    label, parts = _in_own_frame(source, prim, "TetMesh", own=True)
    part = only_one(label, parts)
    meters = (parts.meters_per_unit or 1.0) if apply_stage_units else 1.0
    return part.vertices * meters, part.elements


def only_one(path: Any, parts: Parts) -> Part:
    """The only part there is.

    Raises:
        FileError: If there are more.
    """
    if len(parts.parts) > 1:
        names = ", ".join(part.name for part in parts.parts[:6])
        raise FileError(path, f"expected one mesh, found {len(parts.parts)} ({names}); name one with prim=...")
    return parts.parts[0]


def _pxr() -> Any:
    try:
        from pxr import Usd, UsdGeom
    except ImportError as error:
        raise ImportError('reading USD needs usd-core: pip install "hooke[usd]"') from error
    return Usd, UsdGeom


def _open(path: Any) -> Any:
    usd, _ = _pxr()
    try:
        stage = usd.Stage.Open(os.fspath(path))
    except Exception as error:  # pxr raises its own kinds, all about the content of the file
        place = re.search(r":(\d+):\d+: ([^\n]*)", str(error))
        reason = str(error).strip().rpartition(" : ")[2]  # without the place in the source of pxr
        reason = f"line {place[1]}: {place[2]}" if place else reason
        raise FileError(path, f"not a readable USD file ({reason}); export it again") from error
    if stage is None:
        raise FileError(path, "not a readable USD file; export it again")
    return stage


def _prim_path(path: Any, prim: Any) -> Any:
    from pxr import Sdf

    if not Sdf.Path.IsValidPathString(str(prim)) or not str(prim).startswith("/"):
        raise FileError(path, f"{str(prim)!r} is not the path of a prim; give an absolute one such as '/root/mesh'")
    return Sdf.Path(str(prim))


def _in_own_frame(source: Any, prim: Any, kind: str, own: bool = False) -> tuple[Any, Parts]:
    """Resolve (source, prim) to a prim and read what is below it, relative to it (``own``: to the mesh itself)."""
    usd, geom = _pxr()
    if isinstance(source, usd.Prim) and prim is None:
        source, prim = None, source
    if isinstance(prim, usd.Prim):
        root = prim
    elif source is None:
        raise TypeError("expected a Usd.Prim, or a Usd.Stage or file with the path of a prim; found neither")
    else:
        stage = source if isinstance(source, usd.Stage) else _open(_existing(source))
        label = stage.GetRootLayer().identifier
        root = stage.GetPseudoRoot() if prim is None else stage.GetPrimAtPath(_prim_path(label, prim))
        if not root:
            raise FileError(label, f"there is no prim {prim}; {_offer(stage, kind)}")
    if not root.IsValid():
        raise TypeError(f"expected a valid Usd.Prim, found {root}; is its stage still open?")
    label = root.GetStage().GetRootLayer().identifier
    if own:
        found = [p for p in _below(root) if p.IsA(getattr(geom, kind))]
        if len(found) == 1:
            root = found[0]
    return label, _read_below(label, root, np.linalg.inv(_world(root)), kind)


def _existing(path: Any) -> Any:
    if not os.path.isfile(path):
        raise FileError(path, "there is no such file; check the path")
    return path


def _below(root: Any) -> Any:
    usd, _ = _pxr()
    return usd.PrimRange(root, usd.TraverseInstanceProxies())


def _world(prim: Any) -> np.ndarray:
    """Matrix, float64 (4, 4), that takes points of a prim (as columns) to the world."""
    usd, geom = _pxr()
    if prim.IsPseudoRoot():
        return np.eye(4)
    return np.array(geom.XformCache(usd.TimeCode.EarliestTime()).GetLocalToWorldTransform(prim)).T


def _offer(stage: Any, kind: str) -> str:
    _, geom = _pxr()
    names = [str(p.GetPath()) for p in _below(stage.GetPseudoRoot()) if p.IsA(getattr(geom, kind))]
    if not names:
        return f"the file holds no UsdGeom.{kind} at all"
    more = ", ..." if len(names) > 6 else ""
    return f"its meshes are {', '.join(names[:6])}{more}"


def _read_below(path: Any, root: Any, frame: np.ndarray, kind: str) -> Parts:
    _, geom = _pxr()
    stage = root.GetStage()
    read = {"Mesh": _read_mesh, "TetMesh": _read_tetmesh}[kind]
    parts = [read(path, prim, frame @ _world(prim)) for prim in _below(root) if prim.IsA(getattr(geom, kind))]
    if not parts:
        place = "" if root.IsPseudoRoot() else f" at or below {root.GetPath()}"
        raise FileError(path, f"no UsdGeom.{kind}{place}; {_offer(stage, kind)}")
    return Parts(parts, str(geom.GetStageUpAxis(stage)).lower(), float(geom.GetStageMetersPerUnit(stage)))


def _read_mesh(path: Any, prim: Any, matrix: np.ndarray) -> Part:
    _, geom = _pxr()
    mesh = geom.Mesh(prim)
    name = str(prim.GetPath())
    counts = _values(mesh.GetFaceVertexCountsAttr(), np.int64, 1)
    corners = _values(mesh.GetFaceVertexIndicesAttr(), np.int64, 1)
    if np.any(counts < 0) or counts.sum() != len(corners):
        raise FileError(
            path, f"mesh {name!r}: its faces need {counts.sum()} corners, but it lists {len(corners)}; the file is damaged"
        )
    left_handed = mesh.GetOrientationAttr().Get() == geom.Tokens.leftHanded
    mirrored = np.linalg.det(matrix[:3, :3]) < 0.0
    triangles = fan(counts, corners, bool(left_handed) != bool(mirrored))
    return check_part(path, Part(name, _moved(mesh, matrix), triangles))


def _read_tetmesh(path: Any, prim: Any, matrix: np.ndarray) -> Part:
    _, geom = _pxr()
    mesh = geom.TetMesh(prim)
    tets = _values(mesh.GetTetVertexIndicesAttr(), np.int64, 4)
    return check_part(path, Part(str(prim.GetPath()), _moved(mesh, matrix), tets))


def _moved(mesh: Any, matrix: np.ndarray) -> np.ndarray:
    return _values(mesh.GetPointsAttr(), np.float64, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def _values(attribute: Any, dtype: Any, width: int) -> np.ndarray:
    usd, _ = _pxr()
    values = attribute.Get(usd.TimeCode.EarliestTime())
    array = np.zeros(0, dtype=dtype) if values is None else np.asarray(values, dtype=dtype)
    return array.reshape(-1) if width == 1 else array.reshape(-1, width)

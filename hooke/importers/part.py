"""What every reader of meshes returns: named parts in the numbers of the file, with the facts that the file states about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hooke.importers.error import FileError


@dataclass
class Part:
    """One mesh of a file: vertices, float64 (n, 3), and elements, int (m, 3) or (m, 4), in file coordinates."""

    name: str
    vertices: np.ndarray
    elements: np.ndarray


@dataclass
class Parts:
    """All meshes of a file. ``up_axis`` and ``meters_per_unit`` are None where the format does not say."""

    parts: list[Part] = field(default_factory=list)
    up_axis: str | None = None
    meters_per_unit: float | None = None


def check_part(path: Any, part: Part) -> Part:
    """Return the part.

    Raises:
        FileError: If it is empty, a number is not finite, or an index names a vertex that does not exist.
    """
    count = len(part.vertices)
    if count == 0 or len(part.elements) == 0:
        raise FileError(path, f"mesh {part.name!r} is empty ({count} vertices, {len(part.elements)} faces); export it again")
    bad = np.flatnonzero(~np.isfinite(part.vertices).all(axis=1))
    if len(bad):
        raise FileError(path, f"mesh {part.name!r}: vertex {bad[0]} is not finite ({len(bad)} such); export it again")
    wrong = np.flatnonzero(((part.elements < 0) | (part.elements >= count)).any(axis=1))
    if len(wrong):
        raise FileError(
            path,
            f"mesh {part.name!r}: a face names vertices {part.elements[wrong[0]].tolist()}, but there are {count} "
            f"(0 to {count - 1}); the file is damaged, export it again",
        )
    return part


def fan(counts: np.ndarray, corners: np.ndarray, flip: bool) -> np.ndarray:
    """Triangles (m, 3) of polygons: a fan around the first corner of each. Faces of less than three corners vanish.

    Args:
        counts: Number of corners of every face.
        corners: Vertices of all faces, one after the other.
        flip: Turn every face over.
    """
    starts = np.cumsum(counts) - counts
    triangles_of = np.maximum(counts - 2, 0)
    total = int(triangles_of.sum())
    first = np.repeat(starts, triangles_of)
    step = np.arange(total) - np.repeat(np.cumsum(triangles_of) - triangles_of, triangles_of)
    order = (0, 2, 1) if flip else (0, 1, 2)
    offsets = np.stack((np.zeros(total, dtype=np.int64), step + 1, step + 2), axis=1)[:, order]
    return corners[first[:, None] + offsets]

"""Find what is wrong with a triangle mesh, and mend what can be mended without guessing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Repaired", "TriangleReport", "as_triangles", "as_vertices", "check_triangles", "repair", "weld"]

FLAT = 1.0e-6
"""A triangle whose height is below this part of its longest edge has no area."""


@dataclass(frozen=True)
class TriangleReport:
    """Defects of a triangle mesh, by index. Edges are pairs of vertices, shape (k, 2).

    Attributes:
        label: Name of the mesh.
        vertex_count: Number of vertices.
        triangle_count: Number of triangles.
        nonfinite_vertices: Vertices with a NaN or infinite coordinate.
        out_of_range: Triangles that name a vertex that does not exist. They are left out of all that follows.
        zero_area: Triangles without area (relative to their longest edge).
        duplicates: Triangles on the same three vertices as an earlier one, in any order.
        unused_vertices: Vertices of no triangle.
        nonmanifold_edges: Edges of more than two triangles.
        boundary_edges: Edges of one triangle.
        inconsistent_edges: Edges that two triangles run along in the same direction: one of them faces the wrong way.
    """

    label: str
    vertex_count: int
    triangle_count: int
    nonfinite_vertices: np.ndarray
    out_of_range: np.ndarray
    zero_area: np.ndarray
    duplicates: np.ndarray
    unused_vertices: np.ndarray
    nonmanifold_edges: np.ndarray
    boundary_edges: np.ndarray
    inconsistent_edges: np.ndarray

    @property
    def watertight(self) -> bool:
        """Whether the triangles enclose a volume: every edge has two triangles, wound alike."""
        open_or_wrong = (self.out_of_range, self.nonmanifold_edges, self.boundary_edges, self.inconsistent_edges)
        return self.triangle_count > 0 and not any(len(found) for found in open_or_wrong)

    def defects(self) -> list[str]:
        """One line for every kind of defect that was found, with the first few indices. A boundary is not a defect."""
        kinds = (
            ("non-finite vertices", self.nonfinite_vertices),
            ("triangles that name a missing vertex", self.out_of_range),
            ("triangles without area", self.zero_area),
            ("duplicate triangles", self.duplicates),
            ("unused vertices", self.unused_vertices),
            ("edges of more than two triangles", self.nonmanifold_edges),
            ("edges between triangles of opposite winding", self.inconsistent_edges),
        )
        return [f"{len(found)} {kind}: {listed(found)}" for kind, found in kinds if len(found)]


@dataclass(frozen=True)
class Repaired:
    """A mended triangle mesh.

    Attributes:
        vertices: float32 (n, 3) [m].
        indices: int32, flat.
        vertex_map: For every old vertex its new index, -1 where dropped.
        triangle_map: For every new triangle its old index.
        zero_area: Number of triangles dropped for having no area.
        duplicates: Number of triangles dropped for being there already.
        unused_vertices: Number of vertices dropped.
    """

    vertices: np.ndarray
    indices: np.ndarray
    vertex_map: np.ndarray
    triangle_map: np.ndarray
    zero_area: int
    duplicates: int
    unused_vertices: int


def listed(indices: np.ndarray, count: int = 5) -> str:
    """The first few of some indices, for a message."""
    more = ", ..." if len(indices) > count else ""
    return ", ".join(str(i) for i in np.asarray(indices)[:count].tolist()) + more


def as_vertices(vertices: Any, label: str) -> np.ndarray:
    """Vertices as float32 (n, 3).

    Raises:
        ValueError: If the shape is another, or a coordinate is not finite.
    """
    array = np.asarray(vertices, dtype=np.float32)
    if array.ndim == 1 and array.size % 3 == 0:
        array = array.reshape(-1, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{label}: expected vertices of shape (n, 3), found {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{label}: {len(bad)} of {len(array)} vertices are not finite (first: {listed(bad)}); remove them or their triangles"
        )
    return np.ascontiguousarray(array)


def as_triangles(indices: Any, vertex_count: int, label: str, corners: int = 3) -> np.ndarray:
    """Elements as int32 (m, corners), every index within the vertices.

    Raises:
        ValueError: If the numbers are not whole, do not come in groups of ``corners``, or name a vertex that does not exist.
    """
    name = {3: "triangle", 4: "tetrahedron"}[corners]
    array = np.asarray(indices)
    if array.size == 0:
        return np.zeros((0, corners), dtype=np.int32)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{label}: expected whole numbers as {name} indices, found {array.dtype}; convert them to int32")
    if array.size % corners or (array.ndim > 1 and array.shape[-1] != corners):
        raise ValueError(
            f"{label}: expected {corners} indices for every {name}, found an array of shape {array.shape}; split larger faces first"
        )
    elements = array.reshape(-1, corners)
    bad = np.flatnonzero(((elements < 0) | (elements >= vertex_count)).any(axis=1))
    if len(bad):
        raise ValueError(
            f"{label}: {name} {bad[0]} is {elements[bad[0]].tolist()}, but there are {vertex_count} vertices "
            f"(0 to {vertex_count - 1}); {len(bad)} such; correct the indices"
        )
    return np.ascontiguousarray(elements, dtype=np.int32)


def check_triangles(vertices: Any, indices: Any, label: str = "mesh") -> TriangleReport:
    """Look for every defect that matters to a simulation; never raises for a defect.

    Args:
        vertices: Shape (n, 3) [m].
        indices: Triangles, shape (m, 3) or flat.
        label: Name of the mesh in messages.
    """
    points = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    triangles = np.asarray(indices, dtype=np.int64).reshape(-1, 3)
    in_range = ((triangles >= 0) & (triangles < len(points))).all(axis=1)
    kept = np.flatnonzero(in_range)
    used = np.zeros(len(points), dtype=bool)
    used[triangles[kept]] = True
    nonmanifold, boundary, inconsistent = _edges(triangles[kept])
    return TriangleReport(
        label=label,
        vertex_count=len(points),
        triangle_count=len(triangles),
        nonfinite_vertices=np.flatnonzero(~np.isfinite(points).all(axis=1)),
        out_of_range=np.flatnonzero(~in_range),
        zero_area=kept[_without_area(points, triangles[kept])],
        duplicates=kept[_repeated(triangles[kept])],
        unused_vertices=np.flatnonzero(~used),
        nonmanifold_edges=nonmanifold,
        boundary_edges=boundary,
        inconsistent_edges=inconsistent,
    )


def repair(vertices: Any, indices: Any, label: str = "mesh") -> Repaired:
    """Drop triangles without area, repeated triangles and then the vertices of no triangle.

    Args:
        vertices: Shape (n, 3) [m].
        indices: Triangles, shape (m, 3) or flat.
        label: Name of the mesh in messages.

    Raises:
        ValueError: If a vertex is not finite or an index out of range: what they should have been cannot be guessed.
    """
    points = as_vertices(vertices, label)
    triangles = as_triangles(indices, len(points), label)
    flat = np.zeros(len(triangles), dtype=bool)
    flat[_without_area(points.astype(np.float64), triangles)] = True
    solid = np.flatnonzero(~flat)
    repeated = np.zeros(len(solid), dtype=bool)
    repeated[_repeated(triangles[solid])] = True
    triangle_map = solid[~repeated]
    kept = triangles[triangle_map]
    used = np.zeros(len(points), dtype=bool)
    used[kept] = True
    vertex_map = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    return Repaired(
        vertices=points[used],
        indices=vertex_map[kept].reshape(-1),
        vertex_map=vertex_map,
        triangle_map=triangle_map.astype(np.int32),
        zero_area=int(flat.sum()),
        duplicates=int(repeated.sum()),
        unused_vertices=int((~used).sum()),
    )


def weld(vertices: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make one vertex of all vertices at exactly the same place; the order of first appearance stays.

    Args:
        vertices: Shape (n, 3).
        indices: Shape (m, k).

    Returns:
        Vertices, indices, and for every old vertex its new index.
    """
    _, first, inverse = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)  # -0.0 becomes 0.0
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    vertex_map = rank[np.asarray(inverse).reshape(-1)]
    return vertices[first[order]], vertex_map[indices], vertex_map


def _without_area(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    longest = np.max([((b - a) ** 2).sum(1), ((c - b) ** 2).sum(1), ((a - c) ** 2).sum(1)], axis=0, initial=0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        double_area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return np.flatnonzero(double_area <= FLAT * longest)


def _repeated(triangles: np.ndarray) -> np.ndarray:
    if len(triangles) == 0:
        return np.zeros(0, dtype=np.int64)
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(triangles)), first)


def _edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of more than two triangles, of one, and of two that are wound differently."""
    directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    directed = directed[directed[:, 0] != directed[:, 1]]
    if len(directed) == 0:
        return (np.zeros((0, 2), dtype=np.int64),) * 3
    forward = directed[:, 0] < directed[:, 1]
    edges, inverse, count = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True)
    along = np.bincount(np.asarray(inverse).reshape(-1), weights=forward)
    return edges[count > 2], edges[count == 1], edges[(count == 2) & (along != 1)]

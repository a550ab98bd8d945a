"""Edges of triangle meshes and surfaces of tetrahedral meshes."""

from __future__ import annotations

import numpy as np

__all__ = ["mesh_edges", "surface_triangles"]


def mesh_edges(triangles: np.ndarray) -> tuple[np.ndarray, int]:
    """All edges of a triangle mesh, in the order in which they first appear.

    Args:
        triangles: Shape (n, 3).

    Returns:
        Rows (o0, o1, v0, v1) of shape (m, 4): opposite vertices, then the edge as the first triangle runs along it; o1 is -1 at a
        boundary, and where more than two triangles meet, since no hinge is defined there. The second value counts the latter.
    """
    triangles = np.asarray(triangles, np.int64).reshape(-1, 3)
    if len(triangles) == 0:
        return np.empty((0, 4), np.int32), 0
    tail = triangles[:, [0, 1, 2]].reshape(-1)
    head = triangles[:, [1, 2, 0]].reshape(-1)
    opposite = triangles[:, [2, 0, 1]].reshape(-1)
    key = np.minimum(tail, head) * (int(triangles.max()) + 1) + np.maximum(tail, head)
    _, first, inverse, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    second = np.full(len(first), -1, np.int64)
    later = np.flatnonzero(first[inverse] != np.arange(len(key)))
    second[inverse[later]] = opposite[later]
    crowded = counts > 2
    second[crowded] = -1
    order = np.argsort(first, kind="stable")
    rows = np.stack([opposite[first], second, tail[first], head[first]], axis=1)[order]
    return rows.astype(np.int32), int(crowded.sum())


def surface_triangles(tetrahedra: np.ndarray) -> np.ndarray:
    """Outward triangles (m, 3) of positively oriented tetrahedra (n, 4): the faces that only one of them has."""
    tetrahedra = np.asarray(tetrahedra, np.int64).reshape(-1, 4)
    if len(tetrahedra) == 0:
        return np.empty((0, 3), np.int32)
    faces = tetrahedra[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3)
    ordered = np.sort(faces, axis=1)
    _, first, counts = np.unique(ordered, axis=0, return_index=True, return_counts=True)
    return faces[np.sort(first[counts == 1])].astype(np.int32)

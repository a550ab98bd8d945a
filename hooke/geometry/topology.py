"""Edges of triangle meshes and surfaces of tetrahedral meshes."""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.incidence import run_sequential

__all__ = ["group_rows", "mesh_edges", "surface_triangles"]


def mesh_edges(triangles: np.ndarray) -> tuple[np.ndarray, int]:
    """All edges of a triangle mesh, in the order in which they first appear.

    Args:
        triangles: Shape (n, 3).

    Returns:
        Rows (o0, o1, v0, v1) of shape (m, 4): opposite vertices, then the edge as the first triangle runs along it; o1 is -1 at a
        boundary, and where more than two triangles meet, since no hinge is defined there. The second value counts the latter.
    """
    triangles = np.asarray(triangles, np.int32).reshape(-1, 3)
    tail = triangles[:, [0, 1, 2]].reshape(-1)
    head = triangles[:, [1, 2, 0]].reshape(-1)
    opposite = triangles[:, [2, 0, 1]].reshape(-1)
    first, times, last = group_rows(np.stack([tail, head], axis=1))
    rows = np.stack([opposite[first], np.where(times == 2, opposite[last], -1), tail[first], head[first]], axis=1)
    return rows, int((times > 2).sum())


def surface_triangles(tetrahedra: np.ndarray) -> np.ndarray:
    """Outward triangles (m, 3) of positively oriented tetrahedra (n, 4): the faces that only one of them has."""
    tetrahedra = np.asarray(tetrahedra, np.int32).reshape(-1, 4)
    faces = tetrahedra[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3)
    first, times, _last = group_rows(faces)
    return faces[first[times == 1]]


def group_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of rows (n, size) that hold the same nodes in any order, in the order in which they first appear.

    Returns:
        First row, number of rows and last row of every group, int32 (groups,).
    """
    if len(rows) == 0:
        return (np.empty(0, np.int32),) * 3
    rows = np.sort(np.asarray(rows, np.int32), axis=1)
    crowd = np.bincount(rows.reshape(-1)).astype(np.int32)
    head = np.full(len(crowd), -1, np.int32)
    after, first, times, last = (np.empty(len(rows), np.int32) for _ in range(4))
    found = np.zeros(1, np.int32)
    run_sequential(find_groups, rows, crowd, head, after, first, times, last, found)
    return first[: found[0]], times[: found[0]], last[: found[0]]


@wp.func
def same_row(rows: wp.array2d(dtype=wp.int32), a: int, b: int):
    same = bool(True)
    for s in range(rows.shape[1]):
        same = same and rows[a, s] == rows[b, s]
    return same


@wp.kernel(enable_backward=False)
def find_groups(
    rows: wp.array2d(dtype=wp.int32), crowd: wp.array(dtype=wp.int32), head: wp.array(dtype=wp.int32),
    after: wp.array(dtype=wp.int32), first: wp.array(dtype=wp.int32), times: wp.array(dtype=wp.int32),
    last: wp.array(dtype=wp.int32), found: wp.array(dtype=wp.int32),
):  # fmt: skip
    """One thread walks through all rows; the groups stand in lists at the node that is in the fewest rows (``crowd``)."""
    count = int(0)
    for k in range(rows.shape[0]):
        owner = rows[k, 0]
        for s in range(1, rows.shape[1]):
            if crowd[rows[k, s]] < crowd[owner]:
                owner = rows[k, s]
        g = head[owner]
        while g >= 0:
            if same_row(rows, first[g], k):
                break
            g = after[g]
        if g < 0:
            g = count
            count += 1
            first[g] = k
            times[g] = 0
            after[g] = head[owner]
            head[owner] = g
        times[g] += 1
        last[g] = k
    found[0] = count

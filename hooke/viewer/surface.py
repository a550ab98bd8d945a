"""Triangle topology for pictures: surfaces of tetrahedra, connected pieces, and which faces share a smooth normal."""

import numpy as np

__all__ = ["connected_pieces", "smooth_corners", "tetrahedra_surface", "weld"]

TETRAHEDRON_FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # outward for a positive volume


def tetrahedra_surface(tetrahedra: np.ndarray, position: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Boundary faces of tetrahedra that are not among the given triangles.

    Args:
        tetrahedra: Vertex indices, shape (K, 4).
        position: Vertex positions at rest, shape (N, 3); they decide which side is outside.
        triangles: Triangles that exist already, shape (T, 3).

    Returns:
        Vertex indices, int32, shape (S, 3).
    """
    if not len(tetrahedra):
        return np.zeros((0, 3), np.int32)
    a, b, c, d = (position[tetrahedra[:, i]].astype(np.float64) for i in range(4))
    volume = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a)
    oriented = np.where(volume[:, None] < 0, tetrahedra[:, [0, 2, 1, 3]], tetrahedra)
    faces = np.concatenate([oriented[:, TETRAHEDRON_FACES].reshape(-1, 3), triangles])
    _, inverse, count = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    single = count[inverse.ravel()] == 1
    return faces[: 4 * len(tetrahedra)][single[: 4 * len(tetrahedra)]].astype(np.int32)


def connected_pieces(triangles: np.ndarray, count: int) -> np.ndarray:
    """Number the connected pieces of a triangle mesh.

    Args:
        triangles: Vertex indices, shape (T, 3).
        count: Number of vertices.

    Returns:
        Piece of every triangle, numbered from 0 in the order of the smallest vertex, shape (T,).
    """
    label = np.arange(count)
    corners = triangles.ravel()
    while len(triangles):
        smallest = label[triangles].min(axis=1)
        lower = label.copy()
        np.minimum.at(lower, label[corners], np.repeat(smallest, 3))  # hook roots together, not only vertices
        lower = lower[lower]
        while not np.array_equal(lower, lower[lower]):
            lower = lower[lower]
        lower = lower[label]
        if np.array_equal(lower, label):
            break
        label = lower
    return np.unique(label[triangles[:, 0]], return_inverse=True)[1].ravel()


def weld(vertices: np.ndarray) -> np.ndarray:
    """For every vertex, shape (V, 3), the index of the first one at the same place, shape (V,)."""
    if not len(vertices):
        return np.zeros(0, np.int64)
    step = max(float(np.ptp(vertices, axis=0).max()), 1e-30) * 1e-6
    _, first, inverse = np.unique(np.round(vertices / step), axis=0, return_index=True, return_inverse=True)
    return first[inverse.ravel()]


def smooth_corners(position: np.ndarray, triangles: np.ndarray, crease: float) -> tuple[np.ndarray, np.ndarray]:
    """For every corner of every triangle, the faces around its vertex that meet its own face without a crease.

    Args:
        position: Vertex positions that decide what is a crease, shape (V, 3).
        triangles: Vertex indices, shape (T, 3).
        crease: Largest angle [rad] between the normals of two faces that are shaded as one surface.

    Returns:
        ``start``, shape (3 T + 1,), and ``faces``: those of corner c are ``faces[start[c]:start[c + 1]]``, its own with
        them.
    """
    p = position.astype(np.float64)[triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)

    vertex = triangles.ravel()
    order = np.argsort(vertex, kind="stable")
    degree = np.bincount(vertex, minlength=len(position))
    first = np.cumsum(degree) - degree
    repeat = degree[vertex]
    corner = np.repeat(np.arange(len(vertex)), repeat)
    within = np.arange(len(corner)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    own, other = corner // 3, order[first[vertex[corner]] + within] // 3
    keep = (np.einsum("ij,ij->i", normal[own], normal[other]) >= np.cos(crease)) | (own == other)
    start = np.concatenate([[0], np.cumsum(np.bincount(corner[keep], minlength=len(vertex)))])
    return start.astype(np.int32), other[keep].astype(np.int32)

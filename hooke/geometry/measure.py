"""Areas of triangles and volumes of tetrahedra, from their corners (NumPy)."""

from __future__ import annotations

import numpy as np

from hooke.data.chunks import map_rows

__all__ = ["cross", "lengths", "signed_volumes", "triangle_areas"]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of vectors (..., 3); like ``np.cross``, which is slower."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    x = a1 * b2 - a2 * b1
    product = np.empty((*x.shape, 3), x.dtype)
    product[..., 0] = x
    product[..., 1] = a2 * b0 - a0 * b2
    product[..., 2] = a0 * b1 - a1 * b0
    return product


def lengths(a: np.ndarray) -> np.ndarray:
    """Lengths (...) of vectors (..., 3); like ``np.linalg.norm``, which is slower."""
    return np.sqrt(np.einsum("...i,...i->...", a, a))


def triangle_areas(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Areas (n,) [m^2] of ``triangles`` (n, 3) of ``vertices`` (m, 3) [m]."""

    def areas(rows: np.ndarray) -> np.ndarray:
        a, b, c = (vertices[rows[:, k]] for k in range(3))
        return 0.5 * lengths(cross(b - a, c - a))

    return map_rows(areas, triangles)


def signed_volumes(vertices: np.ndarray, tetrahedra: np.ndarray) -> np.ndarray:
    """Volumes (n,) [m^3] of ``tetrahedra`` (n, 4) of ``vertices`` (m, 3) [m]; negative where inverted."""

    def volumes(rows: np.ndarray) -> np.ndarray:
        a, b, c, d = (vertices[rows[:, k]] for k in range(4))
        return np.einsum("ij,ij->i", b - a, cross(c - a, d - a)) / 6.0

    return map_rows(volumes, tetrahedra)

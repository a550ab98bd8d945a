"""Which triangles of a mesh intersect, and which edges pierce a triangle: exact, in NumPy, and independent of any solver.

Triangles are closed sets: touching counts. Boxes that overlap give candidates, a separating direction that rounding cannot undo dismisses
most of them, and what is left is decided by exact signs (:mod:`hooke.geometry.predicates`). Two triangles meet where an edge of one meets
the other, so one test is enough: that of a segment and a triangle. Triangles without area are treated as the segments or points they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.geometry.box_pairs import box_pairs, triangle_boxes
from hooke.geometry.measure import cross
from hooke.geometry.predicates import orient2d, orient3d
from hooke.geometry.repair import as_triangles, listed

__all__ = ["intersecting_triangles", "piercing_edges"]

_ROUNDING = 2.0**-48
"""Of a projection on a direction, over the sum of the direction's components times the size of what is projected, with room to spare."""


def intersecting_triangles(positions: Any, triangles: Any, *, ignore_shared: bool = True) -> np.ndarray:
    """Pairs of triangles that have a point in common.

    Args:
        positions: Particles, shape (n, 3) [m], float32 or float64.
        triangles: Their triangles, shape (m, 3).
        ignore_shared: Whether pairs that share a particle are left out. If not, a pair with one common particle counts when the triangles
            meet anywhere else too. Pairs with a common edge never count: they could only lie flat on each other.

    Returns:
        Pairs i < j, int32 (k, 2), in ascending order.

    Raises:
        ValueError: A position is not finite, or a triangle names a particle that does not exist.
    """
    x = _points(positions)
    triangles = as_triangles(triangles, len(x), "intersecting_triangles")
    corners = x[triangles]
    found = [np.zeros((0, 2), np.int64)]
    for pairs in box_pairs(triangle_boxes(corners)):
        alike = triangles[pairs[:, 0], :, None] == triangles[pairs[:, 1], None, :]
        shared = alike.sum(axis=(1, 2))
        apart = pairs[shared == 0]
        found.append(apart[_triangles_meet(corners[apart[:, 0]], corners[apart[:, 1]])])
        if not ignore_shared:
            at_one = shared == 1
            found.append(pairs[at_one][_meet_elsewhere(corners, pairs[at_one], alike[at_one])])
    return _sorted_pairs(found)


def piercing_edges(positions: Any, edges: Any, triangles: Any) -> np.ndarray:
    """Edges that meet a triangle of which they are no part; their number is a cheap measure of how entangled a mesh is.

    Args:
        positions: Particles, shape (n, 3) [m], float32 or float64.
        edges: Pairs of particles, shape (e, 2), as the last two columns of ``model.edge_indices``.
        triangles: Triangles, shape (m, 3). Those that share a particle with an edge are not asked about it.

    Returns:
        Pairs (edge, triangle), int32 (k, 2), in ascending order.

    Raises:
        ValueError: A position is not finite, or an edge or triangle names a particle that does not exist.
    """
    x = _points(positions)
    edges = np.asarray(edges).reshape(-1, 2)
    edges = as_triangles(edges[:, [0, 1, 1]], len(x), "piercing_edges, edges")
    triangles = as_triangles(triangles, len(x), "piercing_edges")
    segments, corners = x[edges], x[triangles]
    found = [np.zeros((0, 2), np.int64)]
    for pairs in box_pairs(triangle_boxes(segments), triangle_boxes(corners)):
        shared = (edges[pairs[:, 0], :, None] == triangles[pairs[:, 1], None, :]).any(axis=(1, 2))
        pairs = pairs[~shared]
        found.append(pairs[_segments_meet(segments[pairs[:, 0]], corners[pairs[:, 1]])])
    return _sorted_pairs(found)


def _points(positions: Any) -> np.ndarray:
    x = np.asarray(positions, np.float64).reshape(-1, 3)
    bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if len(bad):
        raise ValueError(f"positions: {len(bad)} of {len(x)} are not finite (first: {listed(bad)})")
    return x


def _sorted_pairs(found: list[np.ndarray]) -> np.ndarray:
    pairs = np.concatenate(found)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int32)


def _triangles_meet(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether triangles (n, 3, 3) have a point in common, row by row."""
    result = np.zeros(len(a), bool)
    rows = _not_separated(a, b)
    for corner in range(3):
        for one, other in ((a, b), (b, a)):
            hit = _segment_hits(one[rows, corner], one[rows, corner - 1], other[rows])
            result[rows[hit]] = True
            rows = rows[~hit]
    return result


def _segments_meet(segments: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Whether segments, given as triangles (n, 3, 3) whose last two corners are the same, meet triangles, row by row."""
    result = np.zeros(len(segments), bool)
    rows = _not_separated(segments, triangles)
    result[rows] = _segment_hits(segments[rows, 0], segments[rows, 1], triangles[rows])
    return result


def _meet_elsewhere(corners: np.ndarray, pairs: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """Whether triangles with one corner in common meet outside it too.

    What both cover is convex and holds the corner; if there is more, it reaches to the edge of one of them opposite that corner.
    """
    result = np.zeros(len(pairs), bool)
    for side in (0, 1):
        common = alike.any(axis=2 - side).argmax(axis=1)
        opposite = (common[:, None] + (1, 2, 2)) % 3
        segments = np.take_along_axis(corners[pairs[:, side]], opposite[:, :, None], axis=1)
        result |= _segments_meet(segments, corners[pairs[:, 1 - side]])
    return result


def _not_separated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rows for which no normal, edge normal or product of edges separates triangles ``a`` from ``b`` beyond all rounding."""
    rows = np.arange(len(a))
    for axis in range(17):
        if not len(rows):
            break
        p, q = a[rows], b[rows]
        origin = p[:, :1]
        p, q = p - origin, q - origin
        direction = _direction(p, q, axis)
        size = np.abs(direction).sum(axis=1) * np.maximum(np.abs(p).max(axis=(1, 2)), np.abs(q).max(axis=(1, 2)))
        u, v = np.einsum("nij,nj->ni", p, direction), np.einsum("nij,nj->ni", q, direction)
        gap = np.maximum(u.min(axis=1) - v.max(axis=1), v.min(axis=1) - u.max(axis=1))
        rows = rows[~(gap > _ROUNDING * size)]
    return rows


def _direction(p: np.ndarray, q: np.ndarray, axis: int) -> np.ndarray:
    """The normals (0, 1), the normals of edges in their planes (2 to 7), the products of edges (8 to 16)."""

    def edge(t: np.ndarray, k: int) -> np.ndarray:
        return t[:, (k + 1) % 3] - t[:, k]

    if axis < 8:
        t = (p, q)[axis % 2]
        normal = cross(edge(t, 0), edge(t, 1))
        return normal if axis < 2 else cross(normal, edge(t, axis // 2 - 1))
    return cross(edge(p, (axis - 8) // 3), edge(q, (axis - 8) % 3))


def _segment_hits(p: np.ndarray, q: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Whether segments ``p`` to ``q`` (n, 3) meet triangles (n, 3, 3), by exact signs, row by row."""
    result = np.zeros(len(p), bool)
    a, b, c = (triangles[:, k] for k in range(3))
    below, above = orient3d(a, b, c, p), orient3d(a, b, c, q)
    rows = np.flatnonzero(below * above <= 0)  # the ends are not on the same side of the plane
    p, q, a, b, c = p[rows], q[rows], a[rows], b[rows], c[rows]
    around = np.stack([orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)], axis=1)
    inside = (around >= 0).all(axis=1) | (around <= 0).all(axis=1)
    in_plane = (below[rows] == 0) & (above[rows] == 0)
    result[rows] = inside & ~in_plane
    flat = np.flatnonzero(in_plane & (around == 0).all(axis=1))  # or the triangle has no area and the segment is coplanar with it
    if len(flat):
        result[rows[flat]] = _coplanar_hits(p[flat], q[flat], [a[flat], b[flat], c[flat]])
    return result


def _coplanar_hits(p: np.ndarray, q: np.ndarray, corners: list[np.ndarray]) -> np.ndarray:
    """The same in one plane: at least one projection along an axis maps it one to one, and a common point is one in every projection."""
    result = np.ones(len(p), bool)
    for axis in range(3):
        kept = [k for k in range(3) if k != axis]
        u, v = p[:, kept], q[:, kept]
        t = [corner[:, kept] for corner in corners]
        around = np.stack([orient2d(t[k], t[(k + 1) % 3], u) for k in range(3)], axis=1)
        hit = ((around >= 0).all(axis=1) | (around <= 0).all(axis=1)) & around.any(axis=1)
        for k in range(3):
            hit |= _segments_cross(u, v, t[k], t[(k + 1) % 3])
        result &= hit
    return result


def _segments_cross(p: np.ndarray, q: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether segments p to q and a to b have a point in common, all (n, 2)."""
    sides = np.stack([orient2d(p, q, a), orient2d(p, q, b), orient2d(a, b, p), orient2d(a, b, q)], axis=1)
    straddle = (sides[:, 0] * sides[:, 1] <= 0) & (sides[:, 2] * sides[:, 3] <= 0)
    overlap = (np.maximum(np.minimum(p, q), np.minimum(a, b)) <= np.minimum(np.maximum(p, q), np.maximum(a, b))).all(axis=1)
    return straddle & (sides.any(axis=1) | overlap)

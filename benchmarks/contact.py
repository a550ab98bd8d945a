"""Self-contact of a final state, measured from positions alone and the same for every engine: triangles that intersect, and who is near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hooke.geometry import intersecting_triangles
from hooke.geometry.box_pairs import box_pairs, triangle_boxes

__all__ = ["SelfContact", "measure_self_contact"]


@dataclass(frozen=True)
class SelfContact:
    """Contacts of a mesh with itself.

    Attributes:
        intersections: Pairs of triangles that intersect and share no particle.
        far_intersections: Those of them that no edge joins: newton, by default, leaves contacts within one edge out.
        near: Which particles belong to a pair, bool (n,).
        pairs: Particles with triangles, and edges with edges, of no common particle, that are nearer than asked.
        vertex_demand: Largest number of triangles near one particle.
        edge_demand: Largest number of edges near one edge.
    """

    intersections: int
    far_intersections: int
    near: np.ndarray
    pairs: int
    vertex_demand: int
    edge_demand: int


def measure_self_contact(triangles: np.ndarray, x: np.ndarray, distance: float) -> SelfContact:
    """Contacts nearer than ``distance`` [m] of ``triangles`` (m, 3) with particles at ``x`` (n, 3) [m]."""
    x = x.astype(np.float64)
    triangles = np.asarray(triangles)
    edges = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    points = np.unique(triangles)[:, None]
    with_triangles = _near(x, points, triangles, _point_triangle, distance)
    with_edges = _near(x, edges, None, _segment_segment, distance)
    near = np.zeros(len(x), bool)
    near[points[with_triangles[:, 0], 0]] = True
    near[triangles[with_triangles[:, 1]]] = True
    near[edges[with_edges]] = True
    crossing = triangles[intersecting_triangles(x, triangles)]
    joined = _edge_joins(crossing, edges, len(x))
    return SelfContact(
        len(crossing), int((~joined).sum()), near, len(with_triangles) + len(with_edges),
        int(np.bincount(with_triangles[:, 0], minlength=1).max()), int(np.bincount(with_edges.reshape(-1), minlength=1).max()),
    )  # fmt: skip


def _edge_joins(pairs: np.ndarray, edges: np.ndarray, count: int) -> np.ndarray:
    """Whether an edge joins two triangles, for pairs of triangles (k, 2, 3) that share no particle."""
    a, b = np.broadcast_arrays(pairs[:, 0, :, None], pairs[:, 1, None, :])
    keys = np.minimum(a, b).astype(np.int64) * count + np.maximum(a, b)
    known = np.isin(keys, edges[:, 0].astype(np.int64) * count + edges[:, 1])
    return np.any(known.reshape(len(pairs), 9), axis=1)


def _near(x: np.ndarray, first: np.ndarray, second: np.ndarray | None, measure, distance: float) -> np.ndarray:
    """Pairs of elements, of no common particle, that are nearer than ``distance``."""
    widened = triangle_boxes(x[first]) + np.array([-1.0, 1.0])[:, None, None] * (distance if second is not None else 0.5 * distance)
    other = first if second is None else second
    found = [np.zeros((0, 2), np.int64)]
    for pairs in box_pairs(widened, None if second is None else triangle_boxes(x[second])):
        a, b = first[pairs[:, 0]], other[pairs[:, 1]]
        apart = ~(a[:, :, None] == b[:, None, :]).any(axis=(1, 2))
        a, b, pairs = a[apart], b[apart], pairs[apart]
        found.append(pairs[measure(x[a], x[b]) < distance])
    return np.concatenate(found)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", a, b)


def _point_segment(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    way = b - a
    t = np.clip(_dot(p - a, way) / np.maximum(_dot(way, way), 1e-300), 0.0, 1.0)
    return np.linalg.norm(p - a - t[:, None] * way, axis=1)


def _point_triangle(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distances of points (n, 1, 3) from triangles (n, 3, 3)."""
    p, corner = points[:, 0], [triangles[:, k] for k in range(3)]
    result = np.min([_point_segment(p, corner[k], corner[k - 1]) for k in range(3)], axis=0)
    normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
    size = np.linalg.norm(normal, axis=1)
    sides = [_dot(np.cross(corner[(k + 1) % 3] - corner[k], p - corner[k]), normal) for k in range(3)]
    above = (np.min(sides, axis=0) >= 0.0) & (size > 0.0)
    height = np.abs(_dot(p - corner[0], normal)) / np.where(size > 0.0, size, 1.0)
    return np.where(above, height, result)


def _segment_segment(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distances of segments (n, 2, 3) from each other."""
    (p, q), (a, b) = (np.moveaxis(s, 1, 0) for s in (first, second))
    ends = [_point_segment(p, a, b), _point_segment(q, a, b), _point_segment(a, p, q), _point_segment(b, p, q)]
    result = np.min(ends, axis=0)
    u, v, w = q - p, b - a, a - p
    uu, uv, vv, uw, vw = _dot(u, u), _dot(u, v), _dot(v, v), _dot(u, w), _dot(v, w)
    crossing = uu * vv - uv * uv
    regular = crossing > 1e-12 * uu * vv
    crossing = np.where(regular, crossing, 1.0)
    s, t = (uw * vv - uv * vw) / crossing, (uw * uv - uu * vw) / crossing
    inside = regular & (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    between = np.linalg.norm(w + t[:, None] * v - s[:, None] * u, axis=1)
    return np.where(inside, between, result)

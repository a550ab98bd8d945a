"""Convex hull of points."""

from __future__ import annotations

import numpy as np


def convex_hull(points: np.ndarray, max_vertices: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Convex hull as a triangle mesh, wound outward.

    Args:
        points: Shape (n, 3) [m].
        max_vertices: Stop at this number of vertices, those that stand out most. The hull then lies inside the full one.

    Returns:
        Vertices, float32 (k, 3) [m], a subset of the points in their order, and triangles, int32 (m, 3).

    Raises:
        ValueError: If the points do not span a volume.
        ImportError: If scipy is missing.
    """
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ImportError as error:
        raise ImportError('a convex hull needs scipy: pip install "hooke[mesh]"') from error
    cloud = np.asarray(points, dtype=np.float64)
    extent = float(np.ptp(cloud, axis=0).max()) if len(cloud) else 0.0
    try:
        hull = ConvexHull(cloud)
        if max_vertices is not None and len(hull.vertices) > max_vertices:
            hull = _outstanding(cloud[np.sort(hull.vertices)], max_vertices, ConvexHull)
    except (QhullError, ValueError) as error:
        raise ValueError(
            f"convex hull: the {len(cloud)} points (extent {extent:g} m) lie in a plane or there are fewer than 4; "
            "give the shape some thickness"
        ) from error
    chosen = np.sort(hull.vertices)
    triangles = np.searchsorted(chosen, hull.simplices)
    corners = hull.points[chosen][triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normal, hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    return hull.points[chosen].astype(np.float32), triangles.astype(np.int32)


def _outstanding(points: np.ndarray, count: int, hull_of):
    """Hull of ``count`` points: a wide tetrahedron, then again and again the point farthest outside of what there is."""
    first = int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))
    chosen = [first]
    offset = points - points[first]
    for _ in range(3):  # farthest from the point, the line, the plane through those before
        chosen.append(int(np.argmax(np.linalg.norm(offset, axis=1))))
        direction = offset[chosen[-1]] / np.linalg.norm(offset[chosen[-1]])
        offset = offset - np.outer(offset @ direction, direction)
    while len(chosen) < count:
        hull = hull_of(points[chosen])
        outside = (points @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
        outside[chosen] = -np.inf
        chosen.append(int(np.argmax(outside)))
    return hull_of(points[sorted(chosen)])

"""Slow and certain answers in float64, and the one kernel that asks all shapes."""

import numpy as np
import pytest
import warp as wp

from hooke.geometry import SHAPES, GeoType, Heightfield, Mesh, shape_distance

SHEETS = (GeoType.PLANE, GeoType.HFIELD)


@wp.kernel(enable_backward=False)
def ask_shapes(
    code: int,
    scale: wp.vec3,
    source: wp.uint64,
    reach: float,
    points: wp.array(dtype=wp.vec3),
    distance: wp.array(dtype=float),
    normal: wp.array(dtype=wp.vec3),
    found: wp.array(dtype=int),
):
    i = wp.tid()
    answer = shape_distance(code, points[i], scale, source, reach)
    distance[i] = answer.distance
    normal[i] = answer.normal
    found[i] = answer.found


def ask(code, scale, source, points, reach=1.0e6):
    """Distances (n,), normals (n, 3) and found (n,) as the kernel sees them."""
    points = np.ascontiguousarray(points, dtype=np.float32)
    handle = 0 if source is None else source.finalize("cpu")
    outputs = [wp.zeros(len(points), dtype=t, device="cpu") for t in (float, wp.vec3, int)]
    inputs = [int(code), wp.vec3(*scale), wp.uint64(handle), reach, wp.array(points, dtype=wp.vec3, device="cpu")]
    wp.launch(ask_shapes, len(points), inputs=inputs, outputs=outputs, device="cpu")
    return tuple(output.numpy() for output in outputs)


def wedge() -> Mesh:
    """A closed mesh with a notch: a prism over an L."""
    outline = np.array([[0, 0], [1, 0], [1, 0.4], [0.4, 0.4], [0.4, 1], [0, 1]]) - 0.4
    vertices = np.concatenate([np.c_[outline, np.full(6, z)] for z in (-0.3, 0.3)])
    top = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    i = np.arange(6)
    j = (i + 1) % 6
    sides = np.concatenate((np.c_[i, j, j + 6], np.c_[i, j + 6, i + 6]))
    return Mesh(vertices, np.concatenate((top[:, ::-1], top + 6, sides)))


def terrain() -> Heightfield:
    heights = np.random.default_rng(3).random((6, 7))
    return Heightfield(heights, 6, 7, hx=1.0, hy=0.8, min_z=-0.1, max_z=0.2)


SOURCES = {
    GeoType.MESH: wedge,
    GeoType.CONVEX_MESH: lambda: Mesh.create_cylinder(0.4, 0.3, segments=7, up_axis=0),
    GeoType.HFIELD: terrain,
}

CASES = [
    pytest.param(kind, scale, SOURCES.get(kind.code, lambda: None)(), id=f"{kind.name}-{i}")
    for kind in SHAPES
    for i, scale in enumerate(kind.examples)
]


def surface_of(kind, scale, source, segments=72):
    """A fine surface, float64; the infinite sides of a plane are cut off far away."""
    if kind.code == GeoType.PLANE:
        scale = [100.0 if size == 0.0 else size for size in scale[:2]] + [0.0]
    vertices, triangles = kind.surface(scale, source, segments)
    return vertices.astype(np.float64), triangles


def size_of(kind, scale, source):
    vertices, _ = surface_of(kind, scale, source, 8)
    return min(float(np.ptp(vertices, axis=0).max()), 4.0)


def closest_points(points, vertices, triangles, chunk=64):
    """Closest points (n, 3) of a triangle mesh, by the foot of the perpendicular, the three edges and nothing clever."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    result = []
    for start in range(0, len(points), chunk):
        p = points[start : start + chunk, None]
        candidates = [p - np.einsum("nmi,mi->nm", p - a, normal)[..., None] * normal]
        inside = np.ones(candidates[0].shape[:2], dtype=bool)
        for u, v in ((a, b), (b, c), (c, a)):
            edge = v - u
            inside &= np.einsum("mi,nmi->nm", np.cross(normal, edge), candidates[0] - u) >= 0.0
            t = np.clip(np.einsum("nmi,mi->nm", p - u, edge) / (edge**2).sum(1), 0.0, 1.0)
            candidates.append(u + t[..., None] * edge)
        distances = np.stack([np.linalg.norm(p - q, axis=2) for q in candidates])
        distances[0][~inside] = np.inf
        best = np.argmin(distances.min(axis=0), axis=1)
        rows = np.arange(len(best))
        which = np.argmin(distances[:, rows, best], axis=0)
        result.append(np.stack(candidates)[which, rows, best])
    return np.concatenate(result)


def winding(points, vertices, triangles, chunk=64):
    """Winding number (n,) of a closed mesh around points: 1 inside, 0 outside."""
    result = []
    for start in range(0, len(points), chunk):
        a, b, c = (vertices[triangles[:, k]] - points[start : start + chunk, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
        dot = lambda u, v: np.einsum("nmi,nmi->nm", u, v)
        angle = np.arctan2(dot(a, np.cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)
        result.append(angle.sum(axis=1) / (2.0 * np.pi))
    return np.concatenate(result)


def box_points(kind, scale, source, count, seed=0, margin=0.3):
    """Points in the box of the surface and around it."""
    vertices, _ = surface_of(kind, scale, source)
    lower, upper = np.maximum(vertices.min(axis=0), -2.0), np.minimum(vertices.max(axis=0), 2.0)
    extra = margin * max((upper - lower).max(), 1.0e-3)
    return np.random.default_rng(seed).uniform(lower - extra, upper + extra, (count, 3)).astype(np.float32).astype(np.float64)


def surface_points(kind, scale, source, count, seed=0):
    """Points on the faces of a surface and the normals there."""
    vertices, triangles = surface_of(kind, scale, source)
    rng = np.random.default_rng(seed)
    corners = vertices[triangles[rng.integers(0, len(triangles), count)]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    points = np.einsum("nk,nki->ni", rng.dirichlet((1.0, 1.0, 1.0), count), corners)
    return points, normal / np.linalg.norm(normal, axis=1, keepdims=True)

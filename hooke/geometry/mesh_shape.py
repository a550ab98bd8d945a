"""Triangle mesh: scale = factors of the vertices, source = the mesh; a convex mesh is its own hull.

The nearest triangle comes from the bounding volume hierarchy of ``wp.Mesh``. The mesh is stored unscaled and its scale is uniform
(a mirrored or uneven one is baked into the vertices before), so the query happens at p / s.

Sign: where p - c stands upright on the face of the closest point c, the side of that face. Else c lies on an edge or a vertex, and
the side of the angle-weighted normal of the faces around it counts. That sum alone would be wrong near the middle of a solid, where
faces on opposite sides are equally close and cancel.

The normal is (p - c) / d, turned outward. Where d has no digits left, below 1e-4 of |p|, it is the normal of the face.

The search ends at the reach, except where the point may be deep inside: a ray from it to the outside of a closed mesh meets a face.
That a ray meets none is proof of being outside, also for meshes of parts that overlap; that it meets one proves nothing, and the
search goes on. The ray leaves askew, away from the origin, where most points outside see nothing.

The mesh should be closed. Behind an open one everything is inside, however far: whoever asks culls by its bounds first, and asks with
an unlimited reach.

Solid: signed tetrahedra (see :mod:`hooke.geometry.inertia`). Shell: area times thickness.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex
from hooke.geometry.hull_shape import hull_edge, hull_face, hull_support
from hooke.geometry.inertia import check_thickness, mesh_mass_properties, shell_mass_properties
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint
from hooke.geometry.profile import sign, unit

FAR = wp.constant(1.0e10)
"""A reach without limit."""
NEAR = wp.constant(1.0e-4)
UPRIGHT = wp.constant(0.98)
"""Cosine of the angle (11 degrees) within which an offset is taken to be normal to a face. Blades are at least twice as blunt."""


@wp.func
def mesh_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    up = wp.vec3(0.0, 0.0, 1.0)
    q = p / scale[0]
    limit = wp.min(1.001 * reach / scale[0], FAR)
    if limit < FAR:
        away = wp.vec3(0.3217 * sign(q[0]), 0.4831 * sign(q[1]), 0.8139 * sign(q[2]))
        if wp.mesh_query_ray_anyhit(source, q, away, FAR):
            limit = FAR
    hit = wp.mesh_query_point_sign_normal(source, q, limit)
    if not hit.result:
        return SurfacePoint(FAR, up, 0)
    c = wp.mesh_eval_position(source, hit.face, hit.u, hit.v)
    offset = q - c
    d = wp.length(offset)
    face = unit(wp.mesh_eval_face_normal(source, hit.face), up)
    height = wp.dot(offset, face)
    side = sign(wp.where(wp.abs(height) > UPRIGHT * d, height, hit.sign))
    normal = face
    if d > NEAR * wp.length(q):
        normal = unit(side * offset, face)
    return SurfacePoint(side * d * scale[0], normal, 1)


def scaled_triangles(scale: Any, source: Any, kind: str = "mesh") -> tuple[np.ndarray, np.ndarray]:
    """Vertices, float64 (n, 3) [m], and triangles, int32 (m, 3), of a mesh at some scale; a mirrored one keeps facing outward."""
    if not hasattr(source, "vertices") or not hasattr(source, "indices"):
        raise ValueError(f"{kind} shape: expected a Mesh as its source, found {type(source).__name__}")
    factors = np.asarray(scale, dtype=np.float64).reshape(-1)[:3]
    if len(factors) != 3 or not np.all(np.isfinite(factors)) or np.any(factors == 0.0):
        raise ValueError(f"{kind}: expected three scale factors other than zero, found {factors.tolist()}")
    indices = np.asarray(source.indices, dtype=np.int32).reshape(-1, 3)
    if len(indices) == 0:
        raise ValueError(f"{kind}: the mesh has no triangles; give it some or leave the shape out")
    return np.asarray(source.vertices, dtype=np.float64) * factors, indices[:, ::-1] if np.prod(factors) < 0.0 else indices


def bounds(scale, source=None):
    vertices, indices = scaled_triangles(scale, source)
    used = vertices[np.unique(indices)]
    return used.min(axis=0), used.max(axis=0)


def mass_properties(scale, source=None, density=1.0, thickness=None):
    check_thickness(thickness)
    vertices, indices = scaled_triangles(scale, source)
    if thickness is not None:
        return shell_mass_properties(vertices, indices, density, thickness)
    return mesh_mass_properties(vertices, indices, density)


def surface(scale, source=None, segments=32):
    vertices, indices = scaled_triangles(scale, source)
    return vertices.astype(np.float32), np.ascontiguousarray(indices)


_EXAMPLES = ((1.0, 1.0, 1.0), (0.5, 0.5, 0.5))

MESH = ShapeKind("mesh", GeoType.MESH, mesh_distance, bounds, mass_properties, surface, examples=_EXAMPLES)
CONVEX_MESH = ShapeKind(
    "convex mesh",
    GeoType.CONVEX_MESH,
    mesh_distance,
    bounds,
    mass_properties,
    surface,
    examples=_EXAMPLES,
    convex=Convex(hull_support, hull_face, hull_edge),
)

"""Meshes of shapes as they are asked for the nearest point: a mirrored or uneven scale goes into the vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import TableData
from hooke.geometry.kind import GeoType
from hooke.geometry.mesh import Mesh

__all__ = ["bake_meshes"]

_MESHES = (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD)


def bake_meshes(shapes: TableData, device: Any) -> tuple[wp.array, wp.array, list[Mesh]]:
    """Handles and scales of all shapes, and the meshes that were made for them, to be kept as long as the handles.

    A mirrored or uneven scale of a mesh changes which point is nearest; such a shape gets a mesh of its own and the scale 1.
    """
    arrays, made = shapes.arrays, []
    if not shapes.count:
        return wp.zeros(0, dtype=wp.uint64, device=device), wp.zeros(0, dtype=wp.vec3, device=device), []
    types, sources = arrays["type"].numpy(), arrays["source"]
    handles, scales = arrays["source_ptr"].numpy().copy(), arrays["scale"].numpy().copy()
    known: dict[tuple[Any, ...], Mesh] = {}
    for i in np.flatnonzero(np.isin(types, _MESHES)):
        scale = scales[i].copy()
        if scale[0] > 0.0 and (scale == scale[0]).all():
            continue
        key = (id(sources[i]), *scale)
        if key not in known:
            known[key] = _scaled(sources[i], scale)
            made.append(known[key])
        handles[i], scales[i] = known[key].finalize(device), 1.0
    return wp.array(handles, dtype=wp.uint64, device=device), wp.array(scales, dtype=wp.vec3, device=device), made


def _scaled(source: Any, scale: np.ndarray) -> Mesh:
    vertices, indices = source.triangles() if hasattr(source, "triangles") else (source.vertices, source.indices)
    triangles = np.asarray(indices).reshape(-1, 3)
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]
    return Mesh(np.asarray(vertices) * scale, triangles.reshape(-1), compute_inertia=False)

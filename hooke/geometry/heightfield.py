"""Height field: a grid of heights over x in [-hx, hx] and y in [-hy, hy], solid below.

Row i lies at y_i = -hy + 2 hy i / (nrow - 1), column j at x_j = -hx + 2 hx j / (ncol - 1), and

    z_ij = min_z + data_ij (max_z - min_z),    data_ij in [0, 1].

Between the nodes the surface is that of two triangles a cell, the same ones for distance, bounds and pictures. Below the grid a
point is inside however deep; beside the grid it is outside if the edge of the grid lies below it, and else not found. Static,
without mass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.geometry.inertia import MassProperties, check_thickness
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint
from hooke.geometry.mesh_shape import FAR, mesh_distance

__all__ = ["HFIELD", "Heightfield", "hfield_distance"]


class Heightfield:
    """Terrain given by heights on a regular grid.

    Args:
        data: Heights of any scale, shape (nrow, ncol) or flat in rows. They are normalised: the lowest becomes ``min_z`` and the
            highest ``max_z``.
        nrow: Number of rows (along y), at least 2.
        ncol: Number of columns (along x), at least 2.
        hx: Half extent along x [m].
        hy: Half extent along y [m].
        min_z: Height of the lowest node [m]; default the smallest number of ``data``.
        max_z: Height of the highest node [m]; default the largest number of ``data``.

    Attributes:
        data: Normalised heights in [0, 1], float32 (nrow, ncol).

    Raises:
        ValueError: If the sizes do not agree, a number is not finite, an extent is not positive or ``max_z < min_z``.
    """

    def __init__(
        self,
        data: Any,
        nrow: int,
        ncol: int,
        hx: float = 1.0,
        hy: float = 1.0,
        min_z: float | None = None,
        max_z: float | None = None,
    ):
        heights = np.asarray(data, dtype=np.float64)
        if nrow < 2 or ncol < 2 or heights.size != nrow * ncol or (heights.ndim == 2 and heights.shape != (nrow, ncol)):
            raise ValueError(
                f"heightfield: expected {nrow} x {ncol} heights (at least 2 x 2), found an array of shape {heights.shape}"
            )
        if not np.all(np.isfinite(heights)):
            raise ValueError(f"heightfield: {int((~np.isfinite(heights)).sum())} heights are not finite; fill the holes first")
        if not (np.isfinite(hx) and np.isfinite(hy) and hx > 0.0 and hy > 0.0):
            raise ValueError(f"heightfield: expected positive half extents hx, hy in metres, found {hx} and {hy}")
        low, high = float(heights.min()), float(heights.max())
        self.nrow, self.ncol = int(nrow), int(ncol)
        self.hx, self.hy = float(hx), float(hy)
        self.min_z = low if min_z is None else float(min_z)
        self.max_z = high if max_z is None else float(max_z)
        if not (np.isfinite(self.min_z) and np.isfinite(self.max_z)) or self.max_z < self.min_z:
            raise ValueError(f"heightfield: expected finite min_z <= max_z in metres, found {self.min_z} and {self.max_z}")
        normalised = (heights - low) / (high - low) if high > low else np.zeros_like(heights)
        self.data = normalised.reshape(nrow, ncol).astype(np.float32)
        self._handles: dict[str, wp.Mesh] = {}

    def heights(self) -> np.ndarray:
        """Heights of the nodes, float64 (nrow, ncol) [m]."""
        return self.min_z + self.data.astype(np.float64) * (self.max_z - self.min_z)

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """The surface: vertices, float32 (nrow * ncol, 3) [m], in rows, and triangles facing up, int32 (m, 3)."""
        x, y = np.meshgrid(np.linspace(-self.hx, self.hx, self.ncol), np.linspace(-self.hy, self.hy, self.nrow))
        vertices = np.stack((x, y, self.heights()), axis=-1).reshape(-1, 3).astype(np.float32)
        a = (np.arange(self.nrow - 1)[:, None] * self.ncol + np.arange(self.ncol - 1)).reshape(-1)
        b, c, d = a + 1, a + self.ncol + 1, a + self.ncol
        return vertices, np.stack((a, b, c, a, c, d), axis=-1).reshape(-1, 3).astype(np.int32)

    def finalize(self, device: Any = None) -> int:
        """Id of the ``wp.Mesh`` of the surface on a device; it lives as long as this object."""
        device = wp.get_device(device)
        if device.alias not in self._handles:
            vertices, indices = self.triangles()
            points = wp.array(vertices, dtype=wp.vec3, device=device)
            self._handles[device.alias] = wp.Mesh(points, wp.array(indices.reshape(-1), dtype=wp.int32, device=device))
        return int(self._handles[device.alias].id)

    def __repr__(self) -> str:
        return f"Heightfield({self.nrow} x {self.ncol}, hx={self.hx:g}, hy={self.hy:g}, z={self.min_z:g}..{self.max_z:g})"


@wp.func
def hfield_distance(p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    near = mesh_distance(p, scale, source, FAR)  # it is open
    mesh = wp.mesh_get(source)
    low = scale[0] * mesh.points[0]
    high = scale[0] * mesh.points[mesh.points.shape[0] - 1]
    beside = p[0] < low[0] or p[0] > high[0] or p[1] < low[1] or p[1] > high[1]
    if beside and near.distance < 0.0:
        near.found = 0
    return near


def _surface(scale: Any, source: Heightfield | None) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(source, Heightfield):
        raise ValueError(f"heightfield shape: expected a Heightfield as its source, found {type(source).__name__}")
    values = np.asarray(scale, dtype=np.float64).reshape(-1)[:3]
    if len(values) != 3 or not np.all(np.isfinite(values)) or np.any(values <= 0.0):
        raise ValueError(f"heightfield: expected three positive scale factors, found {values.tolist()}")
    vertices, indices = source.triangles()
    return vertices * values, indices


def bounds(scale, source=None):
    """Down to the larger side of the grid below its lowest point: what fell through is found, and the box stays finite."""
    vertices, _ = _surface(scale, source)
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    return lower - np.array([0.0, 0.0, np.max((upper - lower)[:2])]), upper


def mass_properties(scale, source=None, density=1.0, thickness=None):
    check_thickness(thickness)
    return MassProperties.zero()


def surface(scale, source=None, segments=32):
    vertices, indices = _surface(scale, source)
    return vertices.astype(np.float32), indices


HFIELD = ShapeKind(
    "heightfield",
    GeoType.HFIELD,
    hfield_distance,
    bounds,
    mass_properties,
    surface,
    examples=((1.0, 1.0, 1.0), (0.5, 0.5, 0.5)),
)

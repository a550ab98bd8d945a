"""What a kind of shape is: one record of functions, one file per kind, all of them listed in :mod:`hooke.geometry.shapes`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from hooke.geometry.convex import Convex

__all__ = ["GeoType", "ShapeKind", "SurfacePoint", "sizes"]


class GeoType(IntEnum):
    """Code of a shape, as it is stored in ``shape_type``."""

    NONE = 0
    PLANE = 1
    HFIELD = 2
    SPHERE = 3
    CAPSULE = 4
    ELLIPSOID = 5
    CYLINDER = 6
    BOX = 7
    MESH = 8
    CONE = 9
    CONVEX_MESH = 10
    GAUSSIAN = 11


@wp.struct
class SurfacePoint:
    """Answer to "where is the surface, seen from p?", in the frame of the shape.

    The closest surface point is ``p - distance * normal``. ``distance`` [m] is negative inside; ``normal`` has unit length and
    points out of the shape; ``found`` is 0 where the shape has nothing to say about p (too far away, or behind a sheet), else 1.
    """

    distance: wp.float32
    normal: wp.vec3
    found: wp.int32

    if TYPE_CHECKING:

        def __init__(self, distance: Any = 0.0, normal: Any = None, found: Any = 0): ...


@dataclass(frozen=True)
class ShapeKind:
    """A kind of shape.

    Attributes:
        name: Lower-case name.
        code: Its :class:`GeoType`.
        distance: ``@wp.func (p: vec3, scale: vec3, source: uint64, reach: float) -> SurfacePoint``. Never NaN; points inside are
            found however deep; outside, a point farther than ``reach`` [m] need not be found.
        bounds: ``(scale, source=None) -> (lower, upper)``, float64 of shape (3,) [m]; infinite where the shape is.
        mass_properties: ``(scale, source=None, density=1.0, thickness=None) -> MassProperties`` [kg, m, kg m^2]; a ``thickness``
            [m] makes the shape a shell that lies inside its surface.
        surface: ``(scale, source=None, segments=32) -> (vertices, indices)``, float32 (n, 3) and int32 (m, 3), wound outward; None
            for a surface that does not end.
        examples: Typical values of ``scale``. Every test of shapes runs over them.
        convex: What contacts between convex shapes ask of it; None for planes and what is not convex.
    """

    name: str
    code: GeoType
    distance: Any
    bounds: Callable[..., tuple[np.ndarray, np.ndarray]]
    mass_properties: Callable[..., Any]
    surface: Callable[..., tuple[np.ndarray, np.ndarray] | None]
    examples: tuple[tuple[float, float, float], ...]
    convex: Convex | None = None


def sizes(scale: Any, count: int, kind: str) -> np.ndarray:
    """The first ``count`` entries of a shape's scale as float64.

    Raises:
        ValueError: If one of them is missing, not finite or not positive.
    """
    values = np.asarray(scale, dtype=np.float64).reshape(-1)
    if len(values) < count or not np.all(np.isfinite(values[:count])) or np.any(values[:count] <= 0.0):
        raise ValueError(
            f"{kind}: expected {count} positive, finite size(s) in metres, found {values.tolist()}; give each a positive value"
        )
    return values[:count]

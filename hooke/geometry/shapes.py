"""All kinds of shapes, and the one place that tells them apart inside a kernel.

A new kind is one file and one line here.
"""

from __future__ import annotations

from functools import reduce

import warp as wp

from hooke.geometry.box import BOX
from hooke.geometry.capsule import CAPSULE
from hooke.geometry.cone import CONE
from hooke.geometry.cylinder import CYLINDER
from hooke.geometry.ellipsoid import ELLIPSOID
from hooke.geometry.heightfield import HFIELD
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint
from hooke.geometry.mesh_shape import CONVEX_MESH, MESH
from hooke.geometry.plane import PLANE
from hooke.geometry.sphere import SPHERE

__all__ = ["SHAPES", "shape_distance", "shape_distance_of", "shape_kind"]

SHAPES: tuple[ShapeKind, ...] = (PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, CONE, CONVEX_MESH)

_BY_CODE = {kind.code: kind for kind in SHAPES}


def shape_kind(code: int) -> ShapeKind:
    """The record of a kind of shape.

    Raises:
        ValueError: If no shape has this code.
    """
    try:
        return _BY_CODE[GeoType(code)]
    except (KeyError, ValueError):
        known = ", ".join(f"{kind.code.name} {int(kind.code)}" for kind in SHAPES)
        raise ValueError(f"shape type {code!r}: expected one of {known}; this kind of shape is not supported") from None


@wp.func
def _no_shape(code: int, p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
    return SurfacePoint(0.0, wp.vec3(0.0, 0.0, 1.0), 0)


def _one_of(kind: ShapeKind, others):
    """``kind`` or one of the others.

    A chain of closures and not a loop over ``wp.static``: Warp 1.19 leaves functions that such a loop calls out of the hash of a
    kernel in another module, which would then keep running an old version from the cache.
    """
    own = int(kind.code)
    distance = kind.distance

    @wp.func
    def chosen(code: int, p: wp.vec3, scale: wp.vec3, source: wp.uint64, reach: float):
        if code == own:
            return distance(p, scale, source, reach)
        return others(code, p, scale, source, reach)

    return chosen


def shape_distance_of(kinds: tuple[ShapeKind, ...]):
    """A ``@wp.func`` like :func:`shape_distance` that knows some kinds only: less to compile."""
    return reduce(lambda others, kind: _one_of(kind, others), reversed(kinds), _no_shape)


shape_distance = shape_distance_of(SHAPES)
"""``@wp.func (code: int, p: vec3, scale: vec3, source: uint64, reach: float) -> SurfacePoint``: closest surface point of any shape
(see :class:`~hooke.geometry.kind.ShapeKind`); not found for a code that is no shape."""

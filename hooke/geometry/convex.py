"""What the contact of two convex shapes asks of each: a point farthest along a direction, and a face or an edge that looks along one.

A sphere is a point and a capsule a segment, both with a radius around them: the *core*. Of all other kinds the core is the shape, and
the radius is zero. Distances and contacts are found between cores, and the radii are added at the end.

    support(d)   the point x of the core with the largest d . x                                        (1)
    face(n)      the flat face whose outward normal is nearest to n, or the edge on a curved side, or a point
    edge(n)      the straight edge through support(n) that is nearest to perpendicular to n, or a point

Corners of faces have fixed places on the shape, so that contacts between the same corners keep their number while the shapes move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

__all__ = ["CORNERS", "RIM", "SHEET", "Convex", "Corners", "Face", "Ids", "ShapeGeometry", "Sheet", "segment", "vertex"]

CORNERS = wp.constant(12)
"""Most corners of a face; round ones have so many."""
SHEET = wp.constant(1000)
"""Type of a flat convex polygon of three or four corners: a triangle of a mesh, or a finite plane. No shape of a scene has it."""
RIM = wp.constant(2.0e-3)
"""Sine of the tilt below which a round face has its corners at fixed places; beyond it the first one is the lowest."""

Corners = wp.types.matrix(shape=(12, 3), dtype=wp.float32)
Ids = wp.types.vector(length=12, dtype=wp.int32)
Sheet = wp.types.matrix(shape=(4, 3), dtype=wp.float32)


@wp.struct
class ShapeGeometry:
    """One shape, as the contact of a pair sees it.

    ``type`` is its :class:`~hooke.geometry.kind.GeoType`, ``scale`` as in ``shape_scale`` [m], ``source`` the handle of the mesh of
    a convex hull, else 0. ``radius`` [m], of a ball around its origin that holds it, scales tolerances. A sheet has its corners in
    ``sheet``, anticlockwise seen from its front, a triangle the last one twice, and in ``scale[0]`` how far behind its plane the origin
    of a shape that it pushes to the front may lie [m].
    """

    type: wp.int32
    scale: wp.vec3
    source: wp.uint64
    radius: wp.float32
    sheet: Sheet


@wp.struct
class Face:
    """A face (3 or more corners, anticlockwise seen from outside), an edge (2) or a point (1) of the core of a shape.

    ``normal`` is the outward normal of a face; of an edge or a point, one that it may have. ``ids`` tells the corners of a shape apart.
    """

    count: wp.int32
    normal: wp.vec3
    corners: Corners
    ids: Ids


@dataclass(frozen=True)
class Convex:
    """Functions of a convex kind of shape, see the head of this file.

    Attributes:
        support: ``@wp.func (d: vec3d, g: ShapeGeometry) -> vec3d``; any length of ``d``. In doubles, since searches for the closest
            points of two shapes stop where the numbers do.
        face: ``@wp.func (n: vec3, g: ShapeGeometry) -> Face``.
        edge: ``@wp.func (n: vec3, g: ShapeGeometry) -> Face`` of 1 or 2 corners.
        rounded: Whether ``scale[0]`` is a radius around the core.
    """

    support: Any
    face: Any
    edge: Any
    rounded: bool = False


@wp.func
def vertex(p: wp.vec3, normal: wp.vec3, id: int):
    corners = Corners()
    corners[0] = p
    ids = Ids()
    ids[0] = id
    return Face(1, normal, corners, ids)


@wp.func
def segment(p: wp.vec3, q: wp.vec3, normal: wp.vec3, id: int):
    corners = Corners()
    corners[0] = p
    corners[1] = q
    ids = Ids()
    ids[0] = id
    ids[1] = id + 1
    return Face(2, normal, corners, ids)

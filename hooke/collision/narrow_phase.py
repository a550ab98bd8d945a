"""The contact of one pair of convex shapes, by the kinds of both: a closed form where there is one, else the general search.

Shape 0 has the smaller type. Everything happens in its frame, so a pair far from the origin is as exact as one at it.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.box_contact import make_box_contact
from hooke.collision.core import make_core
from hooke.collision.manifold import Manifold
from hooke.collision.plane_contact import make_plane_contact
from hooke.collision.sphere_contact import make_contact_with_sphere, make_sphere_contact
from hooke.geometry.convex import ShapeGeometry
from hooke.geometry.kind import GeoType, ShapeKind
from hooke.geometry.shapes import shape_distance_of

__all__ = ["make_pair_contact"]

PLANE = wp.constant(int(GeoType.PLANE))
SPHERE = wp.constant(int(GeoType.SPHERE))
BOX = wp.constant(int(GeoType.BOX))


@wp.func
def no_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
    return Manifold()


@functools.cache
def make_pair_contact(kinds: tuple[ShapeKind, ...]) -> Any:
    """``pair_contact(a, b, relative, reach) -> Manifold`` for the pairs of some kinds of shapes.

    ``a`` and ``b`` are :class:`~hooke.geometry.convex.ShapeGeometry`, ``a.type <= b.type``; ``relative`` is the pose of b in the frame
    of a; two shapes farther apart than ``reach`` [m] have no contact.
    """
    codes = {kind.code for kind in kinds}
    core = make_core(kinds)
    contact = no_contact
    if {GeoType.BOX} <= codes:
        contact = _for_pair(int(GeoType.BOX), int(GeoType.BOX), make_box_contact(contact), contact)
    if {GeoType.PLANE} <= codes:
        contact = _for_first(int(GeoType.PLANE), make_plane_contact(core), contact)
    if {GeoType.SPHERE} <= codes:
        distance = shape_distance_of(kinds)
        contact = _for_first(int(GeoType.SPHERE), make_sphere_contact(distance), contact)
        contact = _for_pair(int(GeoType.PLANE), int(GeoType.SPHERE), make_contact_with_sphere(distance), contact)
    return contact


def _for_pair(first: int, second: int, own: Any, others: Any) -> Any:
    @wp.func
    def contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        if a.type == first and b.type == second:
            return own(a, b, relative, reach)
        return others(a, b, relative, reach)

    return contact


def _for_first(first: int, own: Any, others: Any) -> Any:
    @wp.func
    def contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        if a.type == first:
            return own(a, b, relative, reach)
        return others(a, b, relative, reach)

    return contact

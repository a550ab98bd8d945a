"""The contact of one pair of convex shapes, by the kinds of both: a closed form where there is one, else the general search.

Shape 0 has the smaller type. Everything happens in its frame, so a pair far from the origin is as exact as one at it.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.box_contact import make_box_contact
from hooke.collision.capsule_contact import capsule_contact
from hooke.collision.core import make_core
from hooke.collision.general_contact import make_general_contact
from hooke.collision.manifold import Manifold
from hooke.collision.plane_contact import make_any_plane_contact, make_finite_plane_contact, make_plane_contact
from hooke.collision.sheet_contact import make_sheet_contact
from hooke.collision.sphere_contact import make_contact_with_sphere, make_sphere_contact
from hooke.geometry.convex import ShapeGeometry
from hooke.geometry.kind import GeoType, ShapeKind
from hooke.geometry.shapes import shape_distance_of

__all__ = ["make_pair_contact", "make_triangle_contact"]


@wp.func
def no_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
    return Manifold()


@functools.cache
def make_pair_contact(kinds: tuple[ShapeKind, ...], finite_planes: bool = True) -> Any:
    """``pair_contact(a, b, relative, reach) -> Manifold`` for the pairs of some kinds of shapes.

    ``a`` and ``b`` are :class:`~hooke.geometry.convex.ShapeGeometry`, ``a.type <= b.type``; ``relative`` is the pose of b in the frame
    of a; two shapes farther apart than ``reach`` [m] have no contact. Kinds that are neither convex nor planes have none. Without
    ``finite_planes`` all planes count as infinite: less to compile, and much less if there are only spheres and capsules besides.
    """
    codes = {kind.code for kind in kinds}
    planes = GeoType.PLANE in codes
    solid = {kind.code for kind in kinds if kind.convex is not None} - {GeoType.SPHERE}
    core = make_core(kinds, sheets=planes and finite_planes)
    distance = shape_distance_of(kinds)
    contact = make_general_contact(core) if solid - {GeoType.CAPSULE} else no_contact
    if GeoType.BOX in codes:
        contact = _for_pair(GeoType.BOX, GeoType.BOX, make_box_contact(contact), contact)
    if GeoType.CAPSULE in codes:
        contact = _for_pair(GeoType.CAPSULE, GeoType.CAPSULE, capsule_contact, contact)
    if GeoType.SPHERE in codes:
        contact = _for_first(GeoType.SPHERE, make_sphere_contact(distance), contact)
    if planes and solid:
        plane_contact = make_plane_contact(core)
        if finite_planes:
            plane_contact = make_any_plane_contact(plane_contact, make_finite_plane_contact(make_sheet_contact(core)))
        contact = _for_first(GeoType.PLANE, plane_contact, contact)
    if planes:
        contact = _for_pair(GeoType.PLANE, GeoType.PLANE, no_contact, contact)
    if planes and GeoType.SPHERE in codes:
        contact = _for_pair(GeoType.PLANE, GeoType.SPHERE, make_contact_with_sphere(distance), contact)
    return contact


@functools.cache
def make_triangle_contact(kinds: tuple[ShapeKind, ...]) -> Any:
    """``triangle_contact(a, b, relative, reach, neighbours) -> Manifold``, where ``a`` is a triangle, in the frame of its mesh.

    ``a`` comes from :func:`~hooke.collision.sheet_contact.triangle_geometry`; ``b`` is of one of the kinds, convex, or a triangle as
    well. For ``neighbours`` and what a triangle does see :mod:`hooke.collision.sheet_contact`.
    """
    return make_sheet_contact(make_core(kinds, sheets=True))


def _for_pair(first: int, second: int, own: Any, others: Any) -> Any:
    first, second = int(first), int(second)

    @wp.func
    def contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        if a.type == first and b.type == second:
            return own(a, b, relative, reach)
        return others(a, b, relative, reach)

    return contact


def _for_first(first: int, own: Any, others: Any) -> Any:
    first = int(first)

    @wp.func
    def contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        if a.type == first:
            return own(a, b, relative, reach)
        return others(a, b, relative, reach)

    return contact

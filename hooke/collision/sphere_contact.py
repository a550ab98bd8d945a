"""Spheres and anything: the signed distance from the centre, exact wherever it is (see the files of ``hooke/geometry``)."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.manifold import Manifold, one_point
from hooke.geometry.convex import ShapeGeometry

__all__ = ["make_contact_with_sphere", "make_sphere_contact"]


def make_sphere_contact(distance: Any) -> Any:
    """``sphere_contact(a, b, relative, reach) -> Manifold``: ``a`` is the sphere; ``distance`` as in ``shape_distance_of``."""

    @wp.func
    def sphere_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        centre = wp.transform_point(wp.transform_inverse(relative), wp.vec3())
        seen = distance(b.type, centre, b.scale, b.source, reach + a.scale[0])
        apart = seen.distance - a.scale[0]
        if seen.found == 0 or apart > reach:
            return Manifold()
        normal = -wp.transform_vector(relative, seen.normal)
        return one_point(normal, a.scale[0] * normal, centre - seen.distance * seen.normal, apart, 0)

    return sphere_contact


def make_contact_with_sphere(distance: Any) -> Any:
    """``contact_with_sphere(a, b, relative, reach) -> Manifold``: ``b`` is the sphere."""

    @wp.func
    def contact_with_sphere(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        centre = wp.transform_get_translation(relative)
        seen = distance(a.type, centre, a.scale, a.source, reach + b.scale[0])
        apart = seen.distance - b.scale[0]
        if seen.found == 0 or apart > reach:
            return Manifold()
        inward = -b.scale[0] * wp.transform_vector(wp.transform_inverse(relative), seen.normal)
        return one_point(seen.normal, centre - seen.distance * seen.normal, inward, apart, 0)

    return contact_with_sphere

"""The point of a facet nearest to a shape; on a triangle mesh the search starts from the features of the mesh around the facet.

The distance to a mesh has many minima. Where a facet does not cut the surface, a lowest point inside a triangle is the foot of a vertex
of the mesh, and one inside an edge the point nearest to an edge of the mesh: these pairs are gone through, and what looks lower than
the lowest sample so far, by the side of the mesh's triangle, is looked at. Where the facet cuts the surface, a few more points are
looked at, and around the lowest of all the deepest is searched as on a convex shape (see :mod:`hooke.collision.facet`): a hollow that
lies between the samples may be missed.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.facet import HFIELD, Facet, Sample, corner_weights, lower_of, point_at
from hooke.geometry.kind import GeoType
from hooke.geometry.profile import sign

__all__ = ["is_mesh", "make_on_edge", "make_on_face"]

MESH = wp.constant(int(GeoType.MESH))
CONVEX_MESH = wp.constant(int(GeoType.CONVEX_MESH))
SHORT = wp.constant(1.0e-14)
"""Squared length of an edge without direction [m^2]."""
PARTS = wp.constant(6)
"""Parts of an edge between the samples of a facet that cuts the surface."""


@wp.func
def is_convex(code: int):
    return code != MESH and code != HFIELD


@wp.func
def is_mesh(code: int):
    return not is_convex(code) or code == CONVEX_MESH


def _make_nearest_mesh_edge(look: Any) -> Any:
    """``nearest_mesh_edge(facet, start) -> Sample``: the lowest point of an edge beside an edge of the mesh."""

    @wp.func
    def nearest_mesh_edge(facet: Facet, start: Sample):
        best = start
        size = facet.scale[0]
        lower = wp.min(facet.x0, facet.x1) - wp.vec3(facet.reach)
        upper = wp.max(facet.x0, facet.x1) + wp.vec3(facet.reach)
        query = wp.mesh_query_aabb(facet.mesh, lower / size, upper / size)
        triangle = int(0)
        corners = int(3)  # a variable: Warp would unroll a loop over a constant
        while wp.mesh_query_aabb_next(query, triangle):
            outward = wp.mesh_eval_face_normal(facet.mesh, triangle)
            for k in range(corners):
                begin = size * wp.mesh_get_point(facet.mesh, 3 * triangle + k)
                end = size * wp.mesh_get_point(facet.mesh, 3 * triangle + (k + 1) % 3)
                pair = wp.closest_point_edge_edge(facet.x0, facet.x1, begin, end, SHORT)
                t = pair[0]
                offset = facet.x0 + t * (facet.x1 - facet.x0) - (begin + pair[1] * (end - begin))
                if t > 0.0 and t < 1.0 and pair[2] * sign(wp.dot(offset, outward)) < best.distance - facet.tolerance:
                    best = lower_of(best, look(facet, wp.vec3(1.0 - t, t, 0.0)))
        return best

    return nearest_mesh_edge


def make_on_edge(look: Any, least_between: Any) -> Any:
    """``on_edge(facet, a, b, start) -> Sample``: the lowest point of an edge, given samples of its ends and another to start from."""
    nearest_mesh_edge = _make_nearest_mesh_edge(look)

    @wp.func
    def on_edge(facet: Facet, a: Sample, b: Sample, start: Sample):
        best = lower_of(a, b)
        left = a
        right = b
        if is_mesh(facet.code):
            cut = best.distance < 0.0
            best = nearest_mesh_edge(facet, start)
            if cut or best.distance < 0.0:
                parts = int(PARTS)
                step = 1.0 / float(parts)
                for k in range(1, parts + 2):  # then to the left and to the right of the lowest
                    t = step * float(k)
                    if k >= parts:
                        t = wp.clamp(best.w[1] + wp.where(k == parts, -step, step), 0.0, 1.0)
                    seen = look(facet, wp.vec3(1.0 - t, t, 0.0))
                    if k < parts:
                        best = lower_of(best, seen)
                    elif k == parts:
                        left = seen
                    else:
                        right = seen
            if wp.dot(best.normal, facet.x1 - facet.x0) < 0.0:  # level on a feature outside: nothing is left to do there
                left = best
            else:
                right = best
        return lower_of(best, least_between(facet, left, right).best)

    return on_edge


@wp.struct
class Foot:
    """A point seen from a triangle: barycentric weights of its projection, and its height along the normal [m]."""

    w: wp.vec3
    height: wp.float32


@wp.func
def foot_of(facet: Facet, p: wp.vec3, normal: wp.vec3, twice_area: float):
    offset = p - facet.x0
    w1 = wp.dot(wp.cross(offset, facet.x2 - facet.x0), normal) / twice_area
    w2 = wp.dot(wp.cross(facet.x1 - facet.x0, offset), normal) / twice_area
    return Foot(wp.vec3(1.0 - w1 - w2, w1, w2), wp.dot(offset, normal))


@wp.func
def piercing(a: Foot, b: Foot):
    """Weights of the point where the segment between two points goes through the plane of the triangle; negative if it does not."""
    if a.height * b.height >= 0.0:
        return wp.vec3(-1.0)
    t = a.height / (a.height - b.height)
    return (1.0 - t) * a.w + t * b.w


@wp.func
def border_cuts(facet: Facet):
    """Whether an edge of the triangle meets the mesh."""
    size = facet.scale[0]
    corners = int(3)
    for k in range(corners):
        start = point_at(facet, corner_weights(k))
        edge = point_at(facet, corner_weights((k + 1) % 3)) - start
        length = wp.length(edge)
        if wp.mesh_query_ray_anyhit(facet.mesh, start / size, edge / length, length / size):
            return bool(True)
    return bool(False)


def _make_nearest_mesh_vertex(look: Any) -> Any:
    """``nearest_mesh_vertex(facet, start) -> Sample``: the lowest foot of a vertex, or where an edge of the mesh goes through."""

    @wp.func
    def nearest_mesh_vertex(facet: Facet, start: Sample):
        best = start
        size = facet.scale[0]
        normal = wp.cross(facet.x1 - facet.x0, facet.x2 - facet.x0)
        twice_area = wp.length(normal)
        normal = normal / twice_area
        lower = wp.min(wp.min(facet.x0, facet.x1), facet.x2) - wp.vec3(facet.reach)
        upper = wp.max(wp.max(facet.x0, facet.x1), facet.x2) + wp.vec3(facet.reach)
        query = wp.mesh_query_aabb(facet.mesh, lower / size, upper / size)
        triangle = int(0)
        corners = int(3)
        while wp.mesh_query_aabb_next(query, triangle):
            side = wp.dot(normal, wp.mesh_eval_face_normal(facet.mesh, triangle))
            before = foot_of(facet, size * wp.mesh_get_point(facet.mesh, 3 * triangle + 2), normal, twice_area)
            for k in range(corners):
                foot = foot_of(facet, size * wp.mesh_get_point(facet.mesh, 3 * triangle + k), normal, twice_area)
                w = foot.w
                estimate = -wp.abs(foot.height) * sign(foot.height * side)
                through = piercing(before, foot)
                if wp.min(through) > 0.0 and best.distance > facet.tolerance:
                    w = through
                    estimate = 0.0
                if wp.min(w) > 0.0 and estimate < best.distance - facet.tolerance:
                    best = lower_of(best, look(facet, w))
                before = foot
        return best

    return nearest_mesh_vertex


@wp.func
def part_weights(w: wp.vec3, part: float):
    """The lowest corner of a triangle ``part`` as large, inside the whole one and around ``w``: weights of its corners less ``part``."""
    above = wp.max(w - wp.vec3(part / 3.0), wp.vec3(0.0))
    return (1.0 - part) / (above[0] + above[1] + above[2]) * above


def make_on_face(look: Any, least_on_face: Any) -> Any:
    """``on_face(facet, s0, s1, s2, start) -> Sample``: the lowest point of a triangle in the same way."""
    nearest_mesh_vertex = _make_nearest_mesh_vertex(look)

    @wp.func
    def on_face(facet: Facet, s0: Sample, s1: Sample, s2: Sample, start: Sample):
        best = lower_of(lower_of(s0, s1), s2)
        first = s0
        second = s1
        third = s2
        if is_mesh(facet.code):
            best = nearest_mesh_vertex(facet, lower_of(best, start))
            if best.distance > facet.tolerance:
                if not border_cuts(facet):
                    return best
        if not is_convex(facet.code):
            parts = int(PARTS)
            step = 1.0 / float(parts)
            for i in range(1, parts):
                for j in range(1, parts - i):
                    best = lower_of(best, look(facet, step * wp.vec3(float(parts - i - j), float(i), float(j))))
            part = 3.0 * step
            rest = part_weights(best.w, part)
            corners = int(3)
            for k in range(corners):
                seen = look(facet, rest + part * corner_weights(k))
                if k == 0:
                    first = seen
                elif k == 1:
                    second = seen
                else:
                    third = seen
        return lower_of(best, least_on_face(facet, first, second, third))

    return on_face

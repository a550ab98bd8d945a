"""Contacts of the edges and faces of cloth and soft bodies with shapes: rows where the interior of one is nearest.

A row stands for the point of an edge or a face (a facet) that is nearest to the shape. Where that is a corner, the row of the particle
says the same, and where it lies on the border of a face, that of the edge: so a row is made only for a point inside, and only where it
is nearer than the border. Passes, places of rows and memory are those of :mod:`hooke.collision.soft`: facets follow the particles.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.facet import (
    HFIELD,
    Facet,
    Sample,
    corner_weights,
    lower_of,
    make_least_between,
    make_least_on_face,
    make_look,
    make_on_convex,
)
from hooke.collision.facet_mesh import make_on_edge, make_on_face
from hooke.collision.soft import (
    ACTIVE,
    COLLIDE_PARTICLES,
    UNLIMITED,
    Candidates,
    Pass,
    Poses,
    Sightings,
    out_of_reach,
    shapes_of_world,
    way_ahead,
    way_of,
    write_row,
)
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.kind import GeoType, SurfacePoint
from hooke.geometry.shapes import shape_distance_of, shape_kind
from hooke.geometry.topology import mesh_edges
from hooke.model.contacts import SoftRows
from hooke.model.tables import Particles, Shapes

__all__ = ["Facets", "list_facets", "make_surface_detection"]

MESHES = {GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD}
INSIDE = wp.constant(1.0e-3)
"""Least weight of every corner of a point that counts as inside."""
EXACT = wp.constant(2.0e-6)
"""Tolerance of a distance relative to the size of the facet."""
ROUNDING = wp.constant(5.0e-7)
"""The same relative to the distance from the origin of the shape."""
TIE = wp.constant(4.0)
"""Tolerances by which a point inside must be nearer than the border."""
SLIVER = wp.constant(1.0e-6)
"""Height of a face relative to its size below which it is an edge."""


@wp.struct
class Facets:
    """Particles of every edge (v0, v1, -1), then of every face (v0, v1, v2)."""

    corners: wp.array(dtype=wp.vec3i)


def list_facets(triangles: np.ndarray) -> np.ndarray:
    """Corners of all edges of some triangles (n, 3), each once, then of all triangles; int32 (m, 3)."""
    triangles = np.asarray(triangles, np.int32).reshape(-1, 3)
    edges = mesh_edges(triangles)[0][:, 2:] if len(triangles) else np.empty((0, 2), np.int32)
    return np.concatenate([np.pad(edges, ((0, 0), (0, 1)), constant_values=-1), triangles])


@wp.func
def twice(v: wp.vec3i):
    """The corners of a facet, an edge having its second one twice."""
    return wp.vec3i(v[0], v[1], wp.where(v[2] < 0, v[1], v[2]))


@wp.func
def world_of(v: wp.vec3i, particles: Particles):
    """The world of the corners that are not shared; -1 if all are."""
    return wp.max(wp.max(particles.world[v[0]], particles.world[v[1]]), particles.world[v[2]])


@wp.func
def radius_of(v: wp.vec3i, particles: Particles):
    return wp.max(wp.max(particles.radius[v[0]], particles.radius[v[1]]), particles.radius[v[2]])


@wp.func
def is_far(facet: Facet, lower: wp.vec3, upper: wp.vec3):
    """Whether a facet is out of reach of the bounds of its shape, or a coordinate is no number."""
    least = wp.min(wp.min(facet.x0, facet.x1), facet.x2)
    most = wp.max(wp.max(facet.x0, facet.x1), facet.x2)
    near = wp.isfinite(facet.x0) and wp.isfinite(facet.x1) and wp.isfinite(facet.x2)
    for k in range(3):
        near = near and least[k] <= upper[k] + facet.reach and most[k] >= lower[k] - facet.reach
    return not near


@wp.func
def size_of(facet: Facet, c: wp.vec3):
    """Radius about ``c`` that holds all corners."""
    return wp.max(wp.max(wp.length(facet.x0 - c), wp.length(facet.x1 - c)), wp.length(facet.x2 - c))


@wp.func
def is_active(v: wp.vec3i, particles: Particles):
    """Whether a corner moves."""
    return ((particles.flags[v[0]] | particles.flags[v[1]] | particles.flags[v[2]]) & ACTIVE) != 0


@wp.func
def is_degenerate(facet: Facet, is_edge: bool):
    """Whether an edge has no length, or a face no area."""
    first = wp.length(facet.x1 - facet.x0)
    if is_edge:
        return first == 0.0
    second = wp.length(facet.x2 - facet.x0)
    third = wp.length(facet.x2 - facet.x1)
    size = wp.max(wp.max(first, second), third)
    return wp.length(wp.cross(facet.x1 - facet.x0, facet.x2 - facet.x0)) <= SLIVER * size * size


@wp.func
def weighted(x: wp.array(dtype=wp.vec3), v: wp.vec3i, w: wp.vec3):
    return w[0] * x[v[0]] + w[1] * x[v[1]] + w[2] * x[v[2]]


@wp.func
def at_corner(k: int, s: Sample):
    """A sample as that of another corner."""
    return Sample(corner_weights(k), s.distance, s.normal, s.found)


@wp.func
def remembered(k: int, i: int, s: int, candidates: Candidates, seen: Sightings):
    """What particle ``i`` in corner ``k`` saw of shape ``s``; not found where it saw another one last, or nothing."""
    kept = seen.answer[i]
    known = wp.where(seen.number[i] > 0 and candidates.shape[seen.candidate[i]] == s, 1, 0)
    return Sample(corner_weights(k), kept.distance, kept.normal, known)


@wp.func
def is_row(facet: Facet, s: Sample, weight: float, border: float):
    """Whether a sample with a least ``weight`` is in reach, inside, and nearer than the border."""
    return s.found != 0 and s.distance < facet.reach and weight > INSIDE and s.distance < border - TIE * facet.tolerance


@wp.func
def sample_weights(k: int, is_edge: bool):
    """The middle of a facet, then its corners."""
    if k > 0:
        return corner_weights(k - 1)
    return wp.where(is_edge, wp.vec3(0.5, 0.5, 0.0), wp.vec3(1.0, 1.0, 1.0) / 3.0)


@wp.func
def turned(facet: Facet):
    """The same facet, counted from its second corner."""
    other = facet
    other.x0 = facet.x1
    other.x1 = facet.x2
    other.x2 = facet.x0
    return other


def _make_lowest_inside(codes: tuple[int, ...]) -> Any:
    """``lowest_inside(facet, is_edge, size, s0, s1, s2) -> Sample``: the lowest point of a facet, given samples of the corners where
    they are known; not found on its border or out of reach.

    Functions that look have few places where they are called, since the compiler inlines all of them: hence the loops.
    """
    look = make_look(shape_distance_of(tuple(shape_kind(code) for code in codes)))
    least_between = make_least_between(look)
    least_on_face = make_least_on_face(look, least_between)
    on_edge, on_face = make_on_convex(least_between, least_on_face)
    if set(codes) & MESHES:
        on_edge, on_face = make_on_edge(look, least_between), make_on_face(look, least_on_face)

    @wp.func
    def look_around(facet: Facet, is_edge: bool, size: float, s0: Sample, s1: Sample, s2: Sample):
        """A sample to start from, those of the corners, and whether the facet may be in reach, which its middle tells.

        Corners that particles have seen are within reach: the middle is not asked then.
        """
        start = Sample()
        near = bool(True)
        samples = int(wp.where(is_edge, 3, 4))
        first = int(wp.where(s0.found + s1.found + s2.found != 0, 1, 0))
        for k in range(first, samples):
            seen = start
            if k == 1:
                seen = s0
            elif k == 2:
                seen = s1
            elif k == 3:
                seen = s2
            if near and seen.found == 0:
                seen = look(facet, sample_weights(k, is_edge))
            if k == 0:
                start = seen
                near = start.distance - size < facet.reach or (start.found == 0 and facet.code == HFIELD)
            elif k == 1:
                s0 = seen
            elif k == 2:
                s1 = seen
            else:
                s2 = seen
        if first == 1:
            start = lower_of(s0, s1)
        return start, s0, s1, s2, near

    @wp.func
    def lowest_inside(facet: Facet, is_edge: bool, size: float, seen_0: Sample, seen_1: Sample, seen_2: Sample):
        best, s0, s1, s2, near = look_around(facet, is_edge, size, seen_0, seen_1, seen_2)
        border = wp.min(s0.distance, s1.distance)
        edges = int(1)
        if not near:
            edges = 0
        elif not is_edge:
            border = wp.min(border, s2.distance)
            best = on_face(facet, s0, s1, s2, best)
            edges = wp.where(is_row(facet, best, wp.min(best.w), border), 3, 0)
        side = facet
        for _ in range(edges):
            a = at_corner(0, s0)
            b = at_corner(1, s1)
            start = lower_of(a, b)
            if is_edge:
                start = best
            lowest = on_edge(side, a, b, start)
            if is_edge:
                best = lowest
            else:
                border = wp.min(border, lowest.distance)
            side = turned(side)
            s0 = s1
            s1 = s2
            s2 = at_corner(2, a)
        weight = wp.where(is_edge, wp.min(best.w[0], best.w[1]), wp.min(best.w))
        if edges == 0 or not is_row(facet, best, weight, border):
            best.found = 0
        return best

    return lowest_inside


def _make_nearest(codes: tuple[int, ...]) -> Any:
    """``nearest(v, s, todo, particles, shapes, candidates, poses, seen) -> Sample``: what the inside of facet ``v`` sees of shape ``s``."""
    lowest_inside = _make_lowest_inside(codes)

    @wp.func
    def nearest(
        v: wp.vec3i, s: int, todo: Pass, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses,
        seen: Sightings,
    ):  # fmt: skip
        t = twice(v)
        facet = Facet()
        facet.x0 = wp.transform_point(poses.inverse[s], todo.x[t[0]])
        facet.x1 = wp.transform_point(poses.inverse[s], todo.x[t[1]])
        facet.x2 = wp.transform_point(poses.inverse[s], todo.x[t[2]])
        facet.reach = radius_of(t, particles) + todo.gap + shapes.margin[s]
        if todo.lookahead > 0.0:
            way = wp.max(way_ahead(t[0], s, todo, poses), way_ahead(t[1], s, todo, poses))
            facet.reach += wp.max(way, way_ahead(t[2], s, todo, poses))
        lowest = Sample(wp.vec3(0.0), 0.0, wp.vec3(0.0, 0.0, 1.0), 0)
        if (shapes.flags[s] & COLLIDE_PARTICLES) == 0 or is_far(
            facet, shapes.collision_aabb_lower[s], shapes.collision_aabb_upper[s]
        ):
            return lowest
        middle = 0.5 * (facet.x0 + facet.x1)
        if v[2] >= 0:
            middle = (facet.x0 + facet.x1 + facet.x2) / 3.0
        size = size_of(facet, middle)
        facet.code = shapes.type[s]
        facet.scale = candidates.mesh_scale[s]
        facet.mesh = candidates.mesh[s]
        facet.sight = wp.where(candidates.is_open[s] != 0, UNLIMITED, facet.reach + 2.0 * size)
        facet.tolerance = EXACT * size + ROUNDING * wp.length(middle)
        if not is_degenerate(facet, v[2] < 0):
            s0 = remembered(0, t[0], s, candidates, seen)
            s1 = remembered(1, t[1], s, candidates, seen)
            s2 = remembered(2, t[2], s, candidates, seen)
            lowest = lowest_inside(facet, v[2] < 0, size, s0, s1, s2)
        return lowest

    return nearest


@functools.cache
def make_surface_detection(codes: tuple[int, ...]) -> Any:
    """The kernel of both passes over facets, for the kinds of shapes of a scene."""
    nearest = _make_nearest(codes)

    @wp.func
    def detect(
        f: int, known: int, todo: Pass, facets: Facets, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses,
        rows: SoftRows, seen: Sightings,
    ):  # fmt: skip
        """Number of rows of facet ``f``; ``known`` when they are written, and -1 when they are counted."""
        v = facets.corners[f]
        i = particles.flags.shape[0] + f
        found = int(0)
        first = int(0)
        last = int(0)
        if is_active(twice(v), particles):
            w = world_of(twice(v), particles)
            first, last = shapes_of_world(candidates, w)
        if known == 1:
            first = seen.candidate[i]
            last = first + 1
        for c in range(first, last):
            s = candidates.shape[c]
            kept = seen.answer[i]
            lowest = Sample(seen.weights[f], kept.distance, kept.normal, kept.found)
            if known != 1:
                lowest = nearest(v, s, todo, particles, shapes, candidates, poses, seen)
            if lowest.found != 0:
                answer = SurfacePoint(lowest.distance, lowest.normal, lowest.found)
                if known < 0:
                    seen.candidate[i] = c
                    seen.answer[i] = answer
                    seen.weights[f] = lowest.w
                else:
                    x = weighted(todo.x, twice(v), lowest.w)
                    p = wp.transform_point(poses.inverse[s], x)
                    r = todo.end[i] - known + found
                    write_row(r, -1, v, lowest.w, c, s, p, poses.pose[s], answer, shapes, rows)
                found += 1
        return found

    @wp.kernel(module="unique", enable_backward=False)
    def detect_surface_contacts(
        work: Work, todo: Pass, facets: Facets, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses,
        rows: SoftRows, seen: Sightings,
    ):  # fmt: skip
        block = first_item(work, wp.tid())
        while block >= 0:
            begin = block * todo.block
            end = wp.min(begin + todo.block, facets.corners.shape[0])
            clear = int(0)
            if todo.writes == 0 and todo.block > 1:
                clear = is_clear(begin, end, todo, facets, particles, shapes, candidates, poses)
            for f in range(begin, end):
                i = particles.flags.shape[0] + f
                known = int(-1)
                if todo.writes != 0:
                    known = seen.number[i]
                if clear != 0:
                    seen.number[i] = 0
                elif known != 0:
                    seen.number[i] = detect(f, known, todo, facets, particles, shapes, candidates, poses, rows, seen)
            block = next_item(work, block)

    return detect_surface_contacts


@wp.func
def is_clear(
    begin: int, end: int, todo: Pass, facets: Facets, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses
):  # fmt: skip
    """1 if the box around some facets of one world is out of reach of all its shapes; 0 if it is not, or a coordinate is no number."""
    first = twice(facets.corners[begin])
    w = world_of(first, particles)
    lower = todo.x[first[0]]
    upper = lower
    size = float(0.0)
    ahead = float(0.0)
    spoilt = float(0.0)
    for f in range(begin, end):
        v = twice(facets.corners[f])
        size = wp.max(size, radius_of(v, particles))
        if todo.lookahead > 0.0:
            ahead = wp.max(ahead, wp.max(wp.max(way_of(v[0], todo), way_of(v[1], todo)), way_of(v[2], todo)))
        if world_of(v, particles) != w:
            return 0
        for k in range(3):
            x = todo.x[v[k]]
            lower = wp.min(lower, x)
            upper = wp.max(upper, x)
            spoilt += 0.0 * (x[0] + x[1] + x[2])  # becomes nan
    if spoilt != 0.0:
        return 0
    return out_of_reach(w, lower, upper, size + ahead, todo, shapes, candidates, poses)

"""The contact of a triangle of a mesh with another shape, or of two triangles, as part of the surfaces that they belong to.

A triangle is a sheet (:mod:`hooke.collision.sheet_contact`), and knows only the way out of its own front. What it has found behind
itself counts where that is the way out of the whole surface. Of two triangles, those that look at each other are asked, each about
the other, and the shorter way counts.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.broad_phase import ShapePairs
from hooke.collision.manifold import Manifold
from hooke.collision.narrow_phase import make_triangle_contact
from hooke.collision.places import Places
from hooke.collision.rigid_rows import MESHES, Pool, Touched, geometry_of, ordered, pair_reach, relative_pose, start_in_pool
from hooke.collision.sheet_contact import exchanged
from hooke.collision.triangle_pairs import (
    Surfaces,
    TrianglePairs,
    has_triangles,
    look_at_each_other,
    mesh_first,
    neighbours_of,
    triangle_of,
)
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.convex import SHEET, ShapeGeometry
from hooke.geometry.kind import GeoType
from hooke.geometry.shapes import shape_kind
from hooke.geometry.sheet import sheet_normal
from hooke.model.tables import Shapes

__all__ = ["TRIANGLES", "make_collide_triangles"]

PLANE = wp.constant(int(GeoType.PLANE))
TRIANGLES = wp.constant(4)
"""Pairs of triangles that a thread of a CPU does at a time."""
NEARER = wp.constant(0.7)
"""Part of the way out of a triangle: where another part of the mesh is nearer than that, it is the other's contact."""
DEEP = wp.constant(0.25)
"""Depth of a single point that is asked for other ways out, relative to the radius of the shape."""


@functools.cache
def make_collide_triangles(codes: tuple[int, ...]) -> Any:
    """The narrow phase of pairs of triangles, for the kinds of shapes of a scene.

    Of two sheets each is asked for the way out of its front: where a wall stands on a floor, the floor knows the shorter one.
    """
    kinds = tuple(shape_kind(code) for code in codes if code not in MESHES)
    contact = make_triangle_contact(kinds)

    @wp.kernel(module="unique", enable_backward=False)
    def collide_triangles(
        work: Work, pairs: ShapePairs, found: TrianglePairs, shapes: Shapes, places: Places, surfaces: Surfaces, touched: Touched,
        pool: Pool,
    ):  # fmt: skip
        block = first_item(work, wp.tid())
        while block >= 0:
            total = wp.min(found.end[found.end.shape[0] - 1], found.pair.shape[0])
            for c in range(TRIANGLES * block, wp.min(TRIANGLES * block + TRIANGLES, total)):
                p = found.pair[c]
                a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
                swapped = not has_triangles(a, shapes)
                a, b = mesh_first(a, b, shapes)
                pose = relative_pose(a, b, places)
                own = triangle_of(a, found.first[c], shapes)
                other = other_geometry(b, found.second[c], shapes)
                reach = pair_reach(a, b, shapes, places)
                manifold = Manifold()
                for turn in range(wp.where(other.type == SHEET, 2, 1)):
                    mine = either(turn, own, other)
                    way = either_pose(turn, pose)
                    theirs = either(turn, other, own)
                    sunk = float(0.0)
                    meets = bool(True)
                    if other.type == SHEET:
                        surface = wp.where(turn == 0, a, b)
                        meets = may_meet(mine, theirs, way, reach) and not is_buried(surface, mine, theirs, way, shapes)
                        sunk = depth_below(mine, theirs, way)
                    if meets:
                        neighbours = neighbours_of(wp.where(turn == 0, a, b), wp.where(turn == 0, found.first[c], found.second[c]), mine,
                                                   shapes, surfaces)  # fmt: skip
                        seen = sunk_again(
                            mine, sunk, reach, contact(mine, theirs, lifted(mine, way, sunk), reach + sunk, neighbours)
                        )
                        if is_shortest(wp.where(turn == 0, a, b), seen, theirs.radius, shapes):
                            manifold = shallower(manifold, in_turn(turn, seen, way))
                touched.number[c] = pool_triangle(c, swapped, manifold, pose, found, touched, pool)
            block = next_item(work, block)

    return collide_triangles


@wp.func
def other_geometry(s: int, t: int, shapes: Shapes):
    """What a triangle meets: triangle ``t`` of a shape, or the shape, if that is -1. A finite plane is a sheet."""
    if t >= 0:
        return triangle_of(s, t, shapes)
    g = geometry_of(s, shapes)
    if g.type == PLANE:
        x = 0.5 * g.scale[0]
        y = 0.5 * g.scale[1]
        g.type = SHEET
        g.sheet[0] = wp.vec3(-x, -y, 0.0)
        g.sheet[1] = wp.vec3(x, -y, 0.0)
        g.sheet[2] = wp.vec3(x, y, 0.0)
        g.sheet[3] = wp.vec3(-x, y, 0.0)
    return g


@wp.func
def either(turn: int, own: ShapeGeometry, other: ShapeGeometry):
    if turn == 0:
        return own
    return other


@wp.func
def either_pose(turn: int, pose: wp.transform):
    if turn == 0:
        return pose
    return wp.transform_inverse(pose)


@wp.func
def in_turn(turn: int, m: Manifold, pose: wp.transform):
    """What was seen, as the first of both sees it."""
    if turn == 0:
        return m
    return exchanged(m, pose)


@wp.func
def may_meet(g: ShapeGeometry, other: ShapeGeometry, pose: wp.transform, reach: float):
    """Whether another sheet looks at the front of a sheet and is not beyond the reach of its plane or of one of its sides."""
    normal = sheet_normal(g)
    if not look_at_each_other(normal, wp.transform_vector(pose, sheet_normal(other))):
        return False
    lowest = float(1.0e30)
    beside = wp.vec4(1.0e30)
    for k in range(4):
        p = wp.transform_point(pose, other.sheet[k])
        lowest = wp.min(lowest, wp.dot(p - g.sheet[0], normal))
        for j in range(4):
            q = g.sheet[j]
            side = wp.cross(g.sheet[(j + 1) % 4] - q, normal)  # zero for the side that a triangle lacks
            beside[j] = wp.min(beside[j], wp.dot(p - q, wp.normalize(side)))
    return lowest <= reach and wp.max(beside) <= reach


@wp.func
def is_buried(s: int, g: ShapeGeometry, other: ShapeGeometry, pose: wp.transform, shapes: Shapes):
    """Whether another sheet is so far behind a triangle of shape ``s`` that it is small, seen from there, and another part of the
    surface is much nearer to it.
    """
    normal = sheet_normal(g)
    shallowest = float(1.0e30)
    middle = wp.vec3(0.0)
    for k in range(3):
        p = wp.transform_point(pose, other.sheet[k])
        shallowest = wp.min(shallowest, -wp.dot(p - g.sheet[0], normal))
        middle += p / 3.0
    if not has_triangles(s, shapes) or other.radius > 0.5 * shallowest:
        return False
    scale = shapes.scale[s]
    least = wp.min(wp.abs(scale[0]), wp.min(wp.abs(scale[1]), wp.abs(scale[2])))
    reach = (NEARER - 0.2) * shallowest  # so that it is for every point of the other
    seen = wp.mesh_query_point_no_sign(shapes.source_ptr[s], wp.cw_div(middle, scale), reach / least)
    if not seen.result:
        return False
    nearest = wp.cw_mul(wp.mesh_eval_position(shapes.source_ptr[s], seen.face, seen.u, seen.v), scale)
    return wp.length(middle - nearest) < reach


@wp.func
def depth_below(g: ShapeGeometry, other: ShapeGeometry, pose: wp.transform):
    """How far another sheet has sunk below the front of a sheet."""
    depth = float(0.0)
    normal = sheet_normal(g)
    for k in range(4):
        depth = wp.max(depth, -wp.dot(wp.transform_point(pose, other.sheet[k]) - g.sheet[0], normal))
    return depth


@wp.func
def lifted(g: ShapeGeometry, pose: wp.transform, height: float):
    """A pose farther out of the front of a sheet."""
    if height == 0.0:
        return pose
    return wp.transform(wp.transform_get_translation(pose) + height * sheet_normal(g), wp.transform_get_rotation(pose))


@wp.func
def sunk_again(g: ShapeGeometry, depth: float, reach: float, m: Manifold):
    """The contacts of a sheet with another that was lifted, after that one is back."""
    if depth == 0.0:
        return m
    kept = Manifold()
    kept.normal = m.normal
    for k in range(m.count):
        distance = m.distance[k] - depth * wp.dot(m.normal, sheet_normal(g))
        if distance <= reach:
            kept.point0[kept.count] = m.point0[k]
            kept.point1[kept.count] = m.point1[k]
            kept.distance[kept.count] = distance
            kept.feature[kept.count] = m.feature[k]
            kept.count += 1
    return kept


@wp.func
def is_shortest(s: int, m: Manifold, size: float, shapes: Shapes):
    """Whether no other part of the surface of shape ``s`` is much nearer to what a triangle of it has found behind its front.

    Asked of the middle, and of two places on the way there, since what is far behind a thin solid is outside again. A single point is
    asked only where it is deep for a shape of radius ``size``: at the rim of a triangle, points lie on its neighbours, which may be the
    sides of an edge.
    """
    if not has_triangles(s, shapes) or m.count == 0:
        return True
    depth = float(0.0)
    surface = wp.vec3(0.0)
    for k in range(m.count):
        depth -= m.distance[k] / float(m.count)
        surface += m.point0[k] / float(m.count)
    if depth <= 0.0 or (m.count == 1 and depth < DEEP * size):
        return True
    scale = shapes.scale[s]
    least = wp.min(wp.abs(scale[0]), wp.min(wp.abs(scale[1]), wp.abs(scale[2])))
    part = float(1.0)
    shortest = bool(True)
    for _k in range(3):
        p = surface - part * depth * m.normal
        seen = wp.mesh_query_point_no_sign(shapes.source_ptr[s], wp.cw_div(p, scale), depth / least)
        if seen.result:
            nearest = wp.cw_mul(wp.mesh_eval_position(shapes.source_ptr[s], seen.face, seen.u, seen.v), scale)
            if wp.length(p - nearest) < NEARER * part * depth:
                shortest = False
        part *= 0.5
    return shortest


@wp.func
def depth_of(m: Manifold):
    """How deep the deepest point is."""
    depth = float(-1.0e30)
    for k in range(m.count):
        depth = wp.max(depth, -m.distance[k])
    return depth


@wp.func
def shallower(m: Manifold, n: Manifold):
    """The manifold to keep of two that tell how to part the same shapes; an empty one tells nothing."""
    if m.count == 0 or (n.count > 0 and depth_of(n) < depth_of(m)):
        return n
    return m


@wp.func
def pool_triangle(
    c: int, swapped: bool, m: Manifold, pose: wp.transform, found: TrianglePairs, touched: Touched, pool: Pool
):  # fmt: skip
    """Put the contacts of a pair of triangles into the pool; ``swapped`` if the mesh is shape 1. Their number, 0 where no room is."""
    if m.count == 0:
        return 0
    at = start_in_pool(c, m.count, touched, pool)
    if at < 0:
        return 0
    normal = m.normal
    if swapped:
        normal = -wp.transform_vector(wp.transform_inverse(pose), m.normal)
    for k in range(m.count):
        pool.normal[at + k] = normal
        pool.distance[at + k] = m.distance[k]
        pool.feature[at + k] = feature_of(found.first[c], found.second[c], m.feature[k])
        if swapped:
            pool.point0[at + k] = m.point1[k]
            pool.point1[at + k] = m.point0[k]
        else:
            pool.point0[at + k] = m.point0[k]
            pool.point1[at + k] = m.point1[k]
    return m.count


@wp.func
def feature_of(first: int, second: int, feature: int):
    """A number for a contact of a pair of triangles: mostly different for all of a pair of shapes."""
    mixed = wp.uint32(second + 1) * wp.uint32(40503) + wp.uint32(feature) * wp.uint32(1640531535)
    return ((first & 65535) << 15) | int(mixed >> wp.uint32(17))

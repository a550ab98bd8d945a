"""Convex hulls as the contact of two shapes asks them: the corners and triangles of a ``wp.Mesh``, all of them every time.

A face of a hull is the plane of that triangle around the farthest corner whose normal is nearest to the direction asked for, with all
corners that lie in it. Its outline is wound like a gift: from each corner to the one that leaves all others on the left.
"""

from __future__ import annotations

import warp as wp

from hooke.geometry.convex import CORNERS, Corners, Face, Ids, ShapeGeometry, segment
from hooke.geometry.profile import unit

FLAT = wp.constant(1.0e-4)
"""Part of the radius of a hull by which corners may lie off the plane of a face."""

LEVEL = wp.constant(64)
"""Most corners that are looked at in the plane of a face."""
Level = wp.types.vector(length=65, dtype=wp.int32)


@wp.func
def hull_point(g: ShapeGeometry, i: int):
    mesh = wp.mesh_get(g.source)
    return wp.cw_mul(g.scale, mesh.points[i])


@wp.func
def farthest(d: wp.vec3d, g: ShapeGeometry):
    """Index of the corner that is farthest along ``d``."""
    mesh = wp.mesh_get(g.source)
    e = wp.vec3d(wp.float64(g.scale[0]) * d[0], wp.float64(g.scale[1]) * d[1], wp.float64(g.scale[2]) * d[2])
    best = int(0)
    most = wp.float64(-1.0e300)
    for i in range(mesh.points.shape[0]):
        p = mesh.points[i]
        height = e[0] * wp.float64(p[0]) + e[1] * wp.float64(p[1]) + e[2] * wp.float64(p[2])
        if height > most:
            most = height
            best = i
    return best


@wp.func
def hull_support(d: wp.vec3d, g: ShapeGeometry):
    p = hull_point(g, farthest(d, g))
    return wp.vec3d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2]))


@wp.func
def triangle_normal(g: ShapeGeometry, f: int):
    mesh = wp.mesh_get(g.source)
    a = hull_point(g, mesh.indices[3 * f])
    n = wp.cross(hull_point(g, mesh.indices[3 * f + 1]) - a, hull_point(g, mesh.indices[3 * f + 2]) - a)
    return unit(wp.where(g.scale[0] * g.scale[1] * g.scale[2] < 0.0, -1.0, 1.0) * n, wp.vec3())


@wp.func
def touches(g: ShapeGeometry, f: int, p: wp.vec3, tolerance: float):
    """Whether a triangle has a corner at ``p``; corners may have copies."""
    mesh = wp.mesh_get(g.source)
    found = bool(False)
    for k in range(3):
        if wp.length_sq(hull_point(g, mesh.indices[3 * f + k]) - p) <= tolerance * tolerance:
            found = True
    return found


@wp.func
def in_plane(g: ShapeGeometry, normal: wp.vec3, height: float, tolerance: float):
    """Corners that lie in a plane, their number last."""
    mesh = wp.mesh_get(g.source)
    found = Level()
    count = int(0)
    for i in range(mesh.points.shape[0]):
        if wp.dot(normal, hull_point(g, i)) >= height - tolerance and count < LEVEL:
            found[count] = i
            count += 1
    found[LEVEL] = count
    return found


@wp.func
def next_corner(g: ShapeGeometry, normal: wp.vec3, level: Level, tolerance: float, current: int):
    """The corner in the plane after ``current``, anticlockwise: all others lie left of the way to it."""
    here = hull_point(g, current)
    best = current
    side = wp.vec3()
    for k in range(level[LEVEL]):
        offset = hull_point(g, level[k]) - here
        if wp.length_sq(offset) > tolerance * tolerance:
            turn = wp.dot(normal, wp.cross(side, offset))
            straight = wp.abs(turn) <= 1.0e-6 * wp.length(side) * wp.length(offset)
            farther = straight and wp.length_sq(offset) > wp.length_sq(side)
            if best == current or farther or (turn < 0.0 and not straight):
                best = level[k]
                side = offset
    return best


@wp.func
def hull_face(n: wp.vec3, g: ShapeGeometry):
    mesh = wp.mesh_get(g.source)
    normal = wp.vec3()
    first = int(0)
    best = float(-2.0)
    tolerance = FLAT * g.radius
    p = hull_point(g, farthest(wp.vec3d(wp.float64(n[0]), wp.float64(n[1]), wp.float64(n[2])), g))
    for f in range(mesh.indices.shape[0] / 3):
        if touches(g, f, p, tolerance):
            candidate = triangle_normal(g, f)
            if wp.dot(candidate, n) > best + 1.0e-6:
                best = wp.dot(candidate, n)
                normal = candidate
                first = f
    level = in_plane(g, normal, wp.dot(normal, hull_point(g, mesh.indices[3 * first])), tolerance)
    start = mesh.indices[3 * first]
    across = wp.normalize(hull_point(g, mesh.indices[3 * first + 1]) - hull_point(g, start))
    for k in range(level[LEVEL]):  # farthest along a side, so that it is a corner of the outline
        if wp.dot(across, hull_point(g, level[k]) - hull_point(g, start)) > tolerance:
            start = level[k]
    corners = Corners()
    ids = Ids()
    count = int(0)
    current = start
    while count < CORNERS:
        corners[count] = hull_point(g, current)
        ids[count] = current
        count += 1
        current = next_corner(g, normal, level, tolerance, current)
        if current == start:
            break
    return Face(count, normal, corners, ids)


@wp.func
def hull_edge(n: wp.vec3, g: ShapeGeometry):
    """Of the sides of triangles around the farthest corner, the one nearest to perpendicular to ``n``."""
    mesh = wp.mesh_get(g.source)
    corner = farthest(wp.vec3d(wp.float64(n[0]), wp.float64(n[1]), wp.float64(n[2])), g)
    p = hull_point(g, corner)
    other = corner
    best = float(2.0)
    for k in range(mesh.indices.shape[0]):
        f = k / 3
        if wp.length_sq(hull_point(g, mesh.indices[k]) - p) <= FLAT * FLAT * g.radius * g.radius:
            for j in range(1, 3):
                i = mesh.indices[3 * f + (k + j) % 3]
                drop = wp.abs(wp.dot(n, unit(hull_point(g, i) - p, n)))
                if drop < best:
                    best = drop
                    other = i
    along = unit(hull_point(g, other) - p, wp.vec3())
    edge = segment(p, hull_point(g, other), unit(n - wp.dot(n, along) * along, n), corner)
    edge.ids[1] = other
    return edge

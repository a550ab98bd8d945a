"""Flat convex polygons of three or four corners, as the contact of two shapes asks them: triangles of meshes, finite planes."""

from __future__ import annotations

import warp as wp

from hooke.geometry.convex import Corners, Face, Ids, ShapeGeometry, segment
from hooke.geometry.profile import unit


@wp.func
def sheet_normal(g: ShapeGeometry):
    """Of unit length, towards the side from which the corners are anticlockwise; of a polygon without area zero."""
    return unit(wp.cross(g.sheet[1] - g.sheet[0], g.sheet[2] - g.sheet[0]), wp.vec3())


@wp.func
def sheet_support(d: wp.vec3d, g: ShapeGeometry):
    best = wp.vec3d()
    most = wp.float64(-1.0e300)
    for k in range(4):
        p = wp.vec3d(wp.float64(g.sheet[k, 0]), wp.float64(g.sheet[k, 1]), wp.float64(g.sheet[k, 2]))
        height = wp.dot(d, p)
        if height > most:
            most = height
            best = p
    return best


@wp.func
def sheet_count(g: ShapeGeometry):
    return wp.where(wp.length_sq(g.sheet[3] - g.sheet[2]) > 0.0, 4, 3)


@wp.func
def sheet_face(n: wp.vec3, g: ShapeGeometry):
    """The front, whatever ``n`` is: a sheet has one side."""
    corners = Corners()
    ids = Ids()
    for k in range(4):
        corners[k] = g.sheet[k]
        ids[k] = k
    return Face(sheet_count(g), sheet_normal(g), corners, ids)


@wp.func
def sheet_edge(n: wp.vec3, g: ShapeGeometry):
    """Of the two sides at the corner farthest along ``n``, the one nearest to perpendicular to it."""
    count = sheet_count(g)
    k = int(0)
    for j in range(1, count):
        if wp.dot(n, g.sheet[j]) > wp.dot(n, g.sheet[k]):
            k = j
    after = (k + 1) % count
    before = (k + count - 1) % count
    to_after = unit(g.sheet[after] - g.sheet[k], n)
    to_before = unit(g.sheet[before] - g.sheet[k], n)
    other = wp.where(wp.abs(wp.dot(n, to_after)) <= wp.abs(wp.dot(n, to_before)), after, before)
    along = unit(g.sheet[other] - g.sheet[k], wp.vec3())
    edge = segment(g.sheet[k], g.sheet[other], unit(n - wp.dot(n, along) * along, n), k)
    edge.ids[1] = other
    return edge

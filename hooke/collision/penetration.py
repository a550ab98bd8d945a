"""The shortest way out of two overlapping convex cores (van den Bergen, Proximity queries and penetration depth computation on 3D game
objects, 2001), in doubles.

Moving the second shape along a unit vector n by h(n) = n . w(n) (:mod:`hooke.collision.closest_cores`, equation 1) parts the two; the
smallest h is the depth. The difference of the cores is approached from inside by a polyhedron that starts as a tetrahedron and grows by
the farthest point beyond its face nearest to the origin. The distance of that face is a lower bound of the depth, the smallest h
so far an upper one; the search ends when they meet.

Distances of faces have a sign, so that the tetrahedron need not contain the origin: faces that have it outside come first.

A flat difference, of a segment and a sheet in one plane, say, has the depth zero along its normal.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.closest_cores import OVERLAP, Closest, Corner, Frame, on_triangle
from hooke.geometry.convex import ShapeGeometry

__all__ = ["make_penetration"]

CORNERS = wp.constant(56)
FACES = wp.constant(108)
SIDES = wp.constant(59)
"""Most sides of an outline."""
NONE = wp.constant(wp.float64(1.0e300))
CLOSE = wp.constant(wp.float64(1.0e-6))
"""Part of the radius of the smaller shape up to which the depth is found."""

Hull = wp.types.matrix(shape=(56, 3), dtype=wp.float64)
Normals = wp.types.matrix(shape=(108, 3), dtype=wp.float64)
Heights = wp.types.vector(length=108, dtype=wp.float64)
Indices = wp.types.vector(length=108, dtype=wp.int32)
Edges = wp.types.vector(length=60, dtype=wp.int32)
Simplex = wp.types.matrix(shape=(4, 3), dtype=wp.float64)


@wp.struct
class Start:
    """A tetrahedron inside the difference; ``flat`` is 1 if there is none, and then ``normal`` is that of the plane."""

    w: Simplex
    p: Simplex
    flat: wp.int32
    normal: wp.vec3d


@wp.func
def across(e: wp.vec3d):
    """A vector perpendicular to e."""
    x = wp.abs(e[0])
    y = wp.abs(e[1])
    z = wp.abs(e[2])
    zero = wp.float64(0.0)
    if x <= y and x <= z:
        return wp.vec3d(zero, -e[2], e[1])
    if y <= z:
        return wp.vec3d(-e[2], zero, e[0])
    return wp.vec3d(-e[1], e[0], zero)


def make_start(corner: Any) -> Any:
    @wp.func
    def start(a: ShapeGeometry, b: ShapeGeometry, frame: Frame):
        s = Start()
        one = wp.float64(1.0)
        width = wp.float64(-1.0)
        for k in range(3):
            d = wp.vec3d()
            d[k] = one
            high = corner(a, b, frame, d)
            low = corner(a, b, frame, -d)
            if wp.length(high.w - low.w) > width:
                width = wp.length(high.w - low.w)
                s.w[0] = high.w
                s.p[0] = high.p
                s.w[1] = low.w
                s.p[1] = low.p
        e = s.w[1] - s.w[0]
        u = across(e)
        area = wp.float64(-1.0)
        for k in range(4):
            turned = wp.where(k < 2, u, wp.cross(e, u) / wp.max(wp.length(e), wp.float64(1.0e-300)))
            found = corner(a, b, frame, wp.where(k % 2 == 0, one, -one) * turned)
            if wp.length_sq(wp.cross(e, found.w - s.w[0])) > area:
                area = wp.length_sq(wp.cross(e, found.w - s.w[0]))
                s.w[2] = found.w
                s.p[2] = found.p
        n = wp.cross(e, s.w[2] - s.w[0])
        if area <= wp.float64(1.0e-24) * width * width * width * width:
            n = u
        n = n / wp.max(wp.length(n), wp.float64(1.0e-300))
        if wp.length_sq(n) < wp.float64(0.5):
            n = wp.vec3d(wp.float64(0.0), wp.float64(0.0), one)
        s.normal = n
        high = corner(a, b, frame, n)
        low = corner(a, b, frame, -n)
        up = wp.dot(n, high.w - s.w[0])
        down = wp.dot(n, s.w[0] - low.w)
        s.w[3] = high.w
        s.p[3] = high.p
        if down > up:  # the fourth corner lies on the side that the first three are seen anticlockwise from
            s.w[3] = low.w
            s.p[3] = low.p
            s.normal = -n
        s.flat = wp.where(wp.max(up, down) <= wp.float64(1.0e-10) * width, 1, 0)
        return s

    return start


@wp.func
def plane_of(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d):
    """Unit normal and distance of a face; beyond all others where it has no area."""
    n = wp.cross(b - a, c - a)
    length = wp.length(n)
    if length <= wp.float64(1.0e-150):
        return wp.vec4d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), NONE)
    n = n / length
    return wp.vec4d(n[0], n[1], n[2], wp.dot(n, a))


@wp.func
def with_edge(edges: Edges, i: int, j: int):
    """An outline with the side from i to j added, or without that from j to i."""
    count = edges[SIDES]
    changed = edges
    for k in range(count):
        if edges[k] == (j | (i << 8)):
            changed[k] = edges[count - 1]
            changed[SIDES] = count - 1
            return changed
    if count < SIDES:
        changed[count] = i | (j << 8)
        changed[SIDES] = count + 1
    return changed


@wp.func
def least_of(d: Heights, count: int):
    best = int(0)
    for f in range(count):
        if d[f] < d[best]:
            best = f
    return best


@wp.struct
class Polyhedron:
    """Corners of the difference with their points of the first core, and faces with outward unit normals and signed distances.

    A face has the indices of its corners, anticlockwise seen from outside, in 8 bits each. Removed ones have the distance ``NONE``.
    """

    corners: wp.int32
    w: Hull
    p: Hull
    faces: wp.int32
    index: Indices
    normal: Normals
    height: Heights


@wp.func
def tetrahedron_of(s: Start):
    w = Hull()
    p = Hull()
    for k in range(4):
        w[k] = s.w[k]
        p[k] = s.p[k]
    swap = wp.dot(wp.cross(w[1] - w[0], w[2] - w[0]), w[3] - w[0]) > wp.float64(0.0)
    i = wp.where(swap, 2, 1)
    j = wp.where(swap, 1, 2)
    index = Indices()
    index[0] = (i << 8) | (j << 16)
    index[1] = j | (i << 8) | (3 << 16)
    index[2] = i | (3 << 16)
    index[3] = (j << 8) | (3 << 16)
    normal = Normals()
    height = Heights()
    for f in range(4):
        plane = plane_of(w[index[f] & 255], w[(index[f] >> 8) & 255], w[index[f] >> 16])
        normal[f] = wp.vec3d(plane[0], plane[1], plane[2])
        height[f] = plane[3]
    return Polyhedron(4, w, p, 4, index, normal, height)


@wp.func
def outline_of(faces: int, height: Heights, index: Indices):
    """Sides of the faces to remove (distance above ``NONE``) towards those that stay; their number is behind the last."""
    edges = Edges()
    for g in range(faces):
        if height[g] > NONE:
            i = index[g] & 255
            j = (index[g] >> 8) & 255
            k = index[g] >> 16
            edges = with_edge(edges, i, j)
            edges = with_edge(edges, j, k)
            edges = with_edge(edges, k, i)
    return edges


@wp.func
def first_point(s: Polyhedron, n: wp.vec3d, foot: wp.vec3d):
    """The point of the first core that belongs to the point of the polyhedron nearest to ``foot``, which lies along n."""
    point = wp.vec3d()
    nearest = NONE
    for f in range(s.faces):
        if s.height[f] < NONE and wp.dot(s.normal[f], n) > wp.float64(0.5) and nearest > wp.float64(0.0):
            i = s.index[f] & 255
            j = (s.index[f] >> 8) & 255
            k = s.index[f] >> 16
            u = on_triangle(s.w[i] - foot, s.w[j] - foot, s.w[k] - foot)
            d = wp.length_sq(u[0] * s.w[i] + u[1] * s.w[j] + u[2] * s.w[k] - foot)
            if d < nearest:
                nearest = d
                point = u[0] * s.p[i] + u[1] * s.p[j] + u[2] * s.p[k]
    return point


def make_expand(corner: Any) -> Any:
    @wp.func
    def expand(a: ShapeGeometry, b: ShapeGeometry, frame: Frame, start: Polyhedron):
        w = start.w
        p = start.p
        index = start.index
        normal = start.normal
        height = start.height
        faces = start.faces
        close = CLOSE * wp.float64(wp.min(a.radius, b.radius))
        best = NONE
        n = normal[0]
        for corners in range(4, CORNERS):
            f = least_of(height, faces)
            if height[f] >= NONE:
                break
            top = corner(a, b, frame, normal[f])
            h = wp.dot(normal[f], top.w)
            if h < best:
                best = h
                n = normal[f]
            if best - height[f] <= close:
                break
            for g in range(faces):
                if height[g] < NONE and wp.dot(normal[g], top.w) - height[g] > wp.float64(1.0e-3) * close:
                    height[g] = wp.float64(2.0) * NONE
            edges = outline_of(faces, height, index)
            w[corners] = top.w
            p[corners] = top.p
            free = int(0)
            for e in range(edges[SIDES]):
                while free < faces and height[free] < NONE:
                    free += 1
                if free < FACES:
                    plane = plane_of(w[edges[e] & 255], w[edges[e] >> 8], top.w)
                    index[free] = edges[e] | (corners << 16)
                    normal[free] = wp.vec3d(plane[0], plane[1], plane[2])
                    height[free] = plane[3]
                    faces = wp.max(faces, free + 1)
            for g in range(faces):
                height[g] = wp.min(height[g], NONE)
        point = first_point(Polyhedron(CORNERS, w, p, faces, index, normal, height), n, best * n)
        return Closest(OVERLAP, -best, n, point, point - best * n)

    return expand


def make_penetration(corner: Any) -> Any:
    """``penetration(a, b, frame) -> Closest`` of overlapping cores: the distance is negative. ``corner``: see ``closest_cores``."""
    start = make_start(corner)
    expand = make_expand(corner)

    @wp.func
    def penetration(a: ShapeGeometry, b: ShapeGeometry, frame: Frame):
        s = start(a, b, frame)
        if s.flat == 1:
            n = wp.where(wp.dot(s.normal, frame.t) < wp.float64(0.0), -s.normal, s.normal)
            top = corner(a, b, frame, n)
            return Closest(OVERLAP, -wp.dot(n, top.w), n, top.p, top.p - wp.dot(n, top.w) * n)
        return expand(a, b, frame, tetrahedron_of(s))

    return penetration

"""The shortest way out of two overlapping convex cores, in doubles.

Moving the second shape along a unit vector n by h(n) = n . w(n) (:mod:`hooke.collision.closest_cores`, equation 1) parts the two; the
smallest h is the depth.

1. Where (van den Bergen, Proximity queries and penetration depth computation on 3D game objects, 2001). The difference of the cores is
approached from inside by a polyhedron that starts as a tetrahedron, that of the search for the nearest points if it has one, and grows
by the farthest point beyond its face nearest to the origin. The distance of that face is a lower bound of the depth, the smallest h so
far an upper one; the search ends when they nearly meet. Distances of faces have a sign, so that the tetrahedron need not contain the
origin: faces that have it outside come first.

2. Exactly. Move the second shape out along n by c > h(n), and let m be the normal between the nearest points then, at the distance d.
Since d is the largest of c n . m - h(m) over all m, and c - h(n) is among those,

    h(m) = c n . m - d <= h(n) - c (1 - n . m) <= h(n):                                                (1)

m is a shorter way, unless m = n. A few repetitions find the minimum near n, and the nearest points are those of contact.

A flat difference, of a segment and a sheet in one plane, say, has the depth zero along its normal.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.closest_cores import APART, OVERLAP, Closest, Frame, Simplex
from hooke.geometry.convex import ShapeGeometry

__all__ = ["make_penetration"]

CORNERS = wp.constant(40)
FACES = wp.constant(76)
SIDES = wp.constant(47)
"""Most sides of an outline."""
NONE = wp.constant(wp.float64(1.0e300))
CLOSE = wp.constant(wp.float64(1.0e-3))
"""Part of the radius of the smaller shape up to which the depth is found before it is made exact."""
REPEATS = wp.constant(3)
PRECISION = wp.constant(wp.float64(1.0e-6))
"""Part of their distance, about a hundredth of their size, up to which moved shapes have to be known."""
SAME = wp.constant(wp.float64(5.0e-9))
"""1 - cos of the angle up to which two normals are the same, half a square of 1e-4."""

Hull = wp.types.matrix(shape=(40, 3), dtype=wp.float64)
Normals = wp.types.matrix(shape=(76, 3), dtype=wp.float64)
Heights = wp.types.vector(length=76, dtype=wp.float64)
Indices = wp.types.vector(length=76, dtype=wp.int32)
Edges = wp.types.vector(length=48, dtype=wp.int32)


@wp.struct
class Start:
    """A tetrahedron inside the difference; ``flat`` is 1 if there is none, and then ``normal`` is that of the plane."""

    w: Simplex
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
        axes = int(3)  # a number that is not constant: one copy of the loop, not three
        for k in range(axes):
            d = wp.vec3d()
            d[k] = one
            high = corner(a, b, frame, d)
            low = corner(a, b, frame, -d)
            if wp.length(high.w - low.w) > width:
                width = wp.length(high.w - low.w)
                s.w[0] = high.w
                s.w[1] = low.w
        e = s.w[1] - s.w[0]
        u = across(e)
        area = wp.float64(-1.0)
        sides = int(4)
        for k in range(sides):
            turned = wp.where(k < 2, u, wp.cross(e, u) / wp.max(wp.length(e), wp.float64(1.0e-300)))
            found = corner(a, b, frame, wp.where(k % 2 == 0, one, -one) * turned)
            if wp.length_sq(wp.cross(e, found.w - s.w[0])) > area:
                area = wp.length_sq(wp.cross(e, found.w - s.w[0]))
                s.w[2] = found.w
        n = wp.cross(e, s.w[2] - s.w[0])
        if area <= wp.float64(1.0e-24) * width * width * width * width:
            n = u
        n = n / wp.max(wp.length(n), wp.float64(1.0e-300))
        if wp.length_sq(n) < wp.float64(0.5):
            n = wp.vec3d(wp.float64(0.0), wp.float64(0.0), one)  # type: ignore[assignment]
        s.normal = n
        high = corner(a, b, frame, n)
        low = corner(a, b, frame, -n)
        up = wp.dot(n, high.w - s.w[0])
        down = wp.dot(n, s.w[0] - low.w)
        s.w[3] = high.w
        if down > up:  # the fourth corner lies on the side that the first three are seen anticlockwise from
            s.w[3] = low.w
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
def least_of(d: Heights, count: int):
    best = int(0)
    for f in range(count):
        if d[f] < d[best]:
            best = f
    return best


@wp.func
def outline_of(removed: Edges, count: int, index: Indices):
    """Sides between the removed faces and those that stay; their number is behind the last."""
    edges = Edges()
    sides = int(0)
    for r in range(count):
        face = index[removed[r]]
        three = int(3)
        for c in range(three):
            i = (face >> (8 * c)) & 255
            j = (face >> (8 * ((c + 1) % 3))) & 255
            twin = int(-1)
            for k in range(sides):
                if edges[k] == (j | (i << 8)):
                    twin = k
            if twin >= 0:
                sides -= 1
                edges[twin] = edges[sides]
            elif sides < SIDES:
                edges[sides] = i | (j << 8)
                sides += 1
    edges[SIDES] = sides
    return edges


@wp.struct
class Polyhedron:
    """Corners of the difference, and faces with outward unit normals and signed distances.

    A face has the indices of its corners, anticlockwise seen from outside, in 8 bits each. Removed ones have the distance ``NONE``.
    """

    w: Hull
    index: Indices
    normal: Normals
    height: Heights


@wp.func
def tetrahedron_of(s: Simplex):
    w = Hull()
    for k in range(4):
        w[k] = s[k]
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
    return Polyhedron(w, index, normal, height)


def make_way_out(corner: Any) -> Any:
    @wp.func
    def way_out(a: ShapeGeometry, b: ShapeGeometry, frame: Frame, start: Simplex):
        """Part 1: the direction, and how far."""
        s = tetrahedron_of(start)
        faces = int(4)
        close = CLOSE * wp.float64(wp.min(a.radius, b.radius))
        best = NONE
        n = s.normal[0]
        for corners in range(4, CORNERS):
            f = least_of(s.height, faces)
            if s.height[f] >= NONE:
                break
            top = corner(a, b, frame, s.normal[f])
            h = wp.dot(s.normal[f], top.w)
            if h < best:
                best = h
                n = s.normal[f]
            if best - s.height[f] <= close:
                break
            removed = Edges()
            count = int(0)
            for g in range(faces):
                if s.height[g] < NONE and wp.dot(s.normal[g], top.w) - s.height[g] > wp.float64(1.0e-3) * close and count < SIDES:
                    s.height[g] = NONE
                    removed[count] = g
                    count += 1
            edges = outline_of(removed, count, s.index)
            s.w[corners] = top.w
            for e in range(edges[SIDES]):
                g = faces
                if e < count:
                    g = removed[e]
                elif faces < FACES:
                    faces += 1
                if g < FACES:
                    plane = plane_of(s.w[edges[e] & 255], s.w[edges[e] >> 8], top.w)
                    s.index[g] = edges[e] | (corners << 16)
                    s.normal[g] = wp.vec3d(plane[0], plane[1], plane[2])
                    s.height[g] = plane[3]
        return wp.vec4d(n[0], n[1], n[2], best)

    return way_out


def make_penetration(corner: Any, closest: Any) -> Any:
    """``penetration(a, b, frame, c) -> Closest`` of overlapping cores: the distance is negative.

    ``corner`` and ``closest`` are those of ``closest_cores``, and ``c`` is what the latter answered.
    """
    start = make_start(corner)
    way_out = make_way_out(corner)

    @wp.func
    def shorten(a: ShapeGeometry, b: ShapeGeometry, frame: Frame, way: wp.vec4d):
        """Part 2."""
        n = wp.vec3d(way[0], way[1], way[2])
        h = way[3]
        size = wp.float64(wp.min(a.radius, b.radius))
        top = corner(a, b, frame, n)
        point0 = top.p
        point1 = top.p - h * n
        repeats = int(REPEATS)
        for _ in range(repeats):
            out = h + wp.max(wp.float64(0.1) * h, wp.float64(1.0e-2) * size)
            c = closest(a, b, Frame(frame.r, frame.t + out * n), NONE, n, PRECISION)
            if c.state != APART:
                break
            point0 = c.point0
            point1 = c.point1 - out * n
            shorter = wp.dot(c.normal, corner(a, b, frame, c.normal).w)
            turned = wp.float64(1.0) - wp.dot(n, c.normal)
            if shorter > h:  # up to the precision of the nearest points n is best
                break
            n = c.normal
            h = shorter
            if turned * out * out <= SAME * size * size:  # the next turn is about as much smaller as the way out is than the shapes
                break
        return Closest(OVERLAP, -h, n, point0, point1, Simplex(), 0)

    @wp.func
    def penetration(a: ShapeGeometry, b: ShapeGeometry, frame: Frame, c: Closest):
        tetrahedron = c.simplex
        flat = int(0)
        way = wp.vec4d()
        if c.corners < 4:
            s = start(a, b, frame)
            tetrahedron = s.w
            flat = s.flat
            n = wp.where(wp.dot(s.normal, frame.t) < wp.float64(0.0), -s.normal, s.normal)
            way = wp.vec4d(n[0], n[1], n[2], wp.dot(n, corner(a, b, frame, n).w))
        if flat == 0:
            way = way_out(a, b, frame, tetrahedron)
        return shorten(a, b, frame, way)

    return penetration

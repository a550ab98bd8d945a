"""The nearest points of two convex cores that are apart (Gilbert, Johnson, Keerthi, A fast procedure for computing the distance between
complex objects, 1988), in doubles.

The difference of two convex sets, all x - y with x in the first and y in the second, is convex, and its point nearest to the origin is
their distance. It is sought on simplices of at most four of its points,

    w(d) = support_0(d) - R support_1(-R^T d) - t.                                                     (1)

With v the point of a simplex nearest to the origin, no point of the difference is nearer than v . w(-v) / |v|: that ends the search,
or shows that the shapes are too far apart to matter. The nearest point of a simplex comes from the regions of its corners, edges and
faces (Ericson, Real-Time Collision Detection, 2005, 5.1).
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.core import Core
from hooke.geometry.convex import ShapeGeometry

__all__ = ["APART", "FAR", "OVERLAP", "Closest", "Corner", "Frame", "frame_of", "make_closest", "make_corner"]

APART = wp.constant(0)
OVERLAP = wp.constant(1)
FAR = wp.constant(2)
STEPS = wp.constant(64)

Simplex = wp.types.matrix(shape=(4, 3), dtype=wp.float64)


@wp.struct
class Closest:
    """Where two cores are nearest, in the frame of the first: the ``state`` (apart, overlapping or too far), signed distance [m], unit
    ``normal`` from the first to the second, and a point on each. Where they overlap, the last simplex of the search as well.
    """

    state: wp.int32
    distance: wp.float64
    normal: wp.vec3d
    point0: wp.vec3d
    point1: wp.vec3d
    simplex: Simplex
    corners: wp.int32


@wp.struct
class Frame:
    """Pose of shape 1 in the frame of shape 0."""

    r: wp.mat33d
    t: wp.vec3d


@wp.struct
class Corner:
    """A point ``w`` of the difference of two cores, and its point ``p`` of the first."""

    w: wp.vec3d
    p: wp.vec3d


@wp.func
def frame_of(relative: wp.transform):
    q = wp.transform_get_rotation(relative)
    t = wp.transform_get_translation(relative)
    turn = wp.normalize(wp.quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3])))
    return Frame(wp.quat_to_matrix(turn), wp.vec3d(wp.float64(t[0]), wp.float64(t[1]), wp.float64(t[2])))


def make_corner(core: Core) -> Any:
    """``corner(a, b, frame, d) -> Corner``: equation (1)."""
    support = core.support

    @wp.func
    def corner(a: ShapeGeometry, b: ShapeGeometry, frame: Frame, d: wp.vec3d):
        p = support(d, a)
        q = frame.r @ support(-wp.mul(d, frame.r), b) + frame.t
        return Corner(p - q, p)

    return corner


@wp.func
def on_segment(a: wp.vec3d, b: wp.vec3d):
    """Weights of the corners for the point that is nearest to the origin."""
    e = b - a
    square = wp.dot(e, e)
    t = wp.float64(0.0)
    if square > wp.float64(0.0):
        t = wp.clamp(-wp.dot(a, e) / square, wp.float64(0.0), wp.float64(1.0))
    return wp.vec3d(wp.float64(1.0) - t, t, wp.float64(0.0))


@wp.func
def on_triangle(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d):
    """Weights of the corners for the point that is nearest to the origin."""
    zero = wp.float64(0.0)
    n = wp.cross(b - a, c - a)
    square = wp.dot(n, n)
    u = wp.dot(wp.cross(b, c), n)  # type: ignore[arg-type]
    v = wp.dot(wp.cross(c, a), n)  # type: ignore[arg-type]
    w = wp.dot(wp.cross(a, b), n)  # type: ignore[arg-type]
    if square > zero and u >= zero and v >= zero and w >= zero:
        return wp.vec3d(u, v, w) / (u + v + w)
    best = on_segment(a, b)
    nearest = wp.length_sq(best[0] * a + best[1] * b)
    side = on_segment(b, c)
    d = wp.length_sq(side[0] * b + side[1] * c)
    if d < nearest:
        nearest = d
        best = wp.vec3d(zero, side[0], side[1])
    side = on_segment(c, a)
    if wp.length_sq(side[0] * c + side[1] * a) < nearest:
        best = wp.vec3d(side[1], zero, side[0])
    return best


@wp.func
def on_tetrahedron(s: Simplex):
    """Weights as above; all positive if the origin is inside."""
    best = wp.vec4d()
    nearest = wp.float64(1.0e300)
    outside = int(0)
    faces = int(4)  # a number that is not constant: one copy of the loop, not four
    for k in range(faces):  # the face opposite to corner k
        i = (k + 1) % 4
        j = (k + 2) % 4
        m = (k + 3) % 4
        n = wp.cross(s[j] - s[i], s[m] - s[i])
        if wp.dot(n, s[i]) * wp.dot(n, s[i] - s[k]) <= wp.float64(0.0):
            outside = 1
            u = on_triangle(s[i], s[j], s[m])
            d = wp.length_sq(u[0] * s[i] + u[1] * s[j] + u[2] * s[m])
            if d < nearest:
                nearest = d
                best = wp.vec4d()
                best[i] = u[0]
                best[j] = u[1]
                best[m] = u[2]
    if outside == 0:
        return wp.vec4d(wp.float64(0.25), wp.float64(0.25), wp.float64(0.25), wp.float64(0.25))
    return best


@wp.func
def nearest_weights(s: Simplex, count: int):
    zero = wp.float64(0.0)
    if count == 1:
        return wp.vec4d(wp.float64(1.0), zero, zero, zero)
    if count == 2:
        u = on_segment(s[0], s[1])
        return wp.vec4d(u[0], u[1], zero, zero)
    if count == 3:
        u = on_triangle(s[0], s[1], s[2])
        return wp.vec4d(u[0], u[1], u[2], zero)
    return on_tetrahedron(s)


@wp.func
def known(s: Simplex, count: int, w: wp.vec3d):
    found = bool(False)
    for k in range(count):
        if wp.length_sq(s[k] - w) == wp.float64(0.0):
            found = True
    return found


def make_closest(corner: Any) -> Any:
    """``closest(a, b, frame, limit, guess, precision) -> Closest``: where cores nearer than ``limit`` [m] are nearest.

    ``corner``: :func:`make_corner`. ``guess`` is a likely direction from the first to the second, of any length but zero, and
    ``precision`` the part of the distance up to which it is found.
    """

    @wp.func
    def closest(a: ShapeGeometry, b: ShapeGeometry, frame: Frame, limit: wp.float64, guess: wp.vec3d, precision: wp.float64):
        first = corner(a, b, frame, guess)
        s = Simplex()
        p = Simplex()
        s[0] = first.w
        p[0] = first.p
        count = int(1)
        v = first.w
        point = first.p
        size = wp.length(v)
        state = APART
        parted = bool(False)
        for _ in range(STEPS):
            length = wp.length(v)
            if length <= wp.float64(1.0e-9) * size:
                state = OVERLAP
                break
            found = corner(a, b, frame, -v)
            size = wp.max(size, wp.length(found.w))
            least = wp.dot(v, found.w)
            parted = parted or least > wp.float64(1.0e-14) * length * size
            if least > limit * length:
                state = FAR
                break
            if length * length - least <= length * (precision * length + wp.float64(1.0e-15) * size):
                break
            if known(s, count, found.w):
                break
            s[count] = found.w
            p[count] = found.p
            count += 1
            weights = nearest_weights(s, count)
            if count == 4 and wp.min(weights) > wp.float64(0.0):
                if not parted:  # else a tetrahedron without volume
                    state = OVERLAP
                break
            kept = int(0)
            nearer = wp.vec3d()
            on_first = wp.vec3d()
            for k in range(count):
                if weights[k] > wp.float64(0.0):
                    nearer += weights[k] * s[k]
                    on_first += weights[k] * p[k]
                    s[kept] = s[k]
                    p[kept] = p[k]
                    kept += 1
            count = kept
            if wp.length_sq(nearer) >= length * length:  # rounding: no nearer
                break
            v = nearer
            point = on_first
        distance = wp.length(v)
        normal = -v / wp.max(distance, wp.float64(1.0e-300))
        return Closest(state, distance, normal, point, point - v, s, count)

    return closest

"""The point of a facet, an edge or a triangle, that lies deepest in a shape or nearest to it: the minimum of the signed distance phi.

phi of a convex shape is convex, and a sample at x with normal n (a subgradient of phi) bounds it from below:

    phi(y) >= phi(x) + n . (y - x)                                                                 (1)

On a segment between a and b, with slopes n_a . e < 0 < n_b . e along e = b - a, the minimum lies between them, above the crossing of
the two tangents. Trials take turns: that crossing, which finds a kink at once, and the zero of the slope that is linear between a and
b, which finds the minimum of a parabola at once. The end whose slope has the sign of the new one moves there, until the lowest sample
is within a tolerance of the bound. The combination of both normals

    G = (n_b . e) n_a - (n_a . e) n_b, over (n_b - n_a) . e,      G . e = 0                            (2)

is a subgradient at the minimum too, also in a kink: (1) holds for it with the value at the crossing.

On a triangle, let h(u) be the minimum over the segment from (1-u) x_0 + u x_1 to (1-u) x_2 + u x_1. h is convex, its slope at the
point t of the segment is G . ((1-t)(x_1 - x_0) + t (x_1 - x_2)), and so the same search finds its minimum.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.soft import UNLIMITED
from hooke.geometry.kind import GeoType

__all__ = [
    "Facet",
    "Sample",
    "corner_weights",
    "lower_of",
    "make_least_between",
    "make_least_on_face",
    "make_look",
    "make_on_convex",
    "point_at",
]

HFIELD = wp.constant(int(GeoType.HFIELD))
STEPS = wp.constant(20)
"""Most trials of a search; more than 16, or Warp unrolls the loop."""


@wp.struct
class Facet:
    """Corners in the frame of a shape, and the shape: what :class:`~hooke.geometry.kind.ShapeKind` needs to tell the distance.

    An edge has its second corner twice. A distance of ``reach`` or more is no contact, one beyond ``sight`` need not be known, and
    one within ``tolerance`` of the minimum is the minimum [m].
    """

    x0: wp.vec3
    x1: wp.vec3
    x2: wp.vec3
    code: wp.int32
    scale: wp.vec3
    mesh: wp.uint64
    reach: wp.float32
    sight: wp.float32
    tolerance: wp.float32


@wp.struct
class Sample:
    """The surface of the shape seen from the point of a facet with the barycentric weights ``w``."""

    w: wp.vec3
    distance: wp.float32
    normal: wp.vec3
    found: wp.int32


@wp.struct
class Least:
    """The lowest sample of a search and its place ``t`` in [0, 1], a lower bound of all distances, and the subgradient of (2)."""

    best: Sample
    t: wp.float32
    bound: wp.float32
    gradient: wp.vec3


@wp.struct
class Bracket:
    """A convex function between ``a`` and ``b``: its values there, and its slopes, the first negative and the second not."""

    a: wp.float32
    value_a: wp.float32
    slope_a: wp.float32
    b: wp.float32
    value_b: wp.float32
    slope_b: wp.float32


@wp.func
def crossing(s: Bracket):
    """Where the tangents at both ends meet."""
    t = (s.value_a - s.value_b + s.slope_b * s.b - s.slope_a * s.a) / (s.slope_b - s.slope_a)
    return wp.clamp(t, s.a, s.b)


@wp.func
def bound_of(s: Bracket):
    return s.value_a + s.slope_a * (crossing(s) - s.a)


@wp.func
def trial(s: Bracket, k: int):
    """Where to look next, in turn ``k``."""
    if k % 2 == 0:
        return s.a - s.slope_a * (s.b - s.a) / (s.slope_b - s.slope_a)
    return crossing(s)


@wp.func
def shrink(s: Bracket, t: float, value: float, slope: float):
    if slope < 0.0:
        return Bracket(t, value, slope, s.b, s.value_b, s.slope_b)
    return Bracket(s.a, s.value_a, s.slope_a, t, value, slope)


@wp.func
def lower_of(a: Sample, b: Sample):
    if b.distance < a.distance:
        return b
    return a


@wp.func
def corner_weights(k: int):
    return wp.vec3(wp.where(k == 0, 1.0, 0.0), wp.where(k == 1, 1.0, 0.0), wp.where(k == 2, 1.0, 0.0))


@wp.func
def point_at(facet: Facet, w: wp.vec3):
    return w[0] * facet.x0 + w[1] * facet.x1 + w[2] * facet.x2


def make_look(distance: Any) -> Any:
    """``look(facet, w) -> Sample`` for a function like :func:`~hooke.geometry.shapes.shape_distance`."""

    @wp.func
    def look(facet: Facet, w: wp.vec3):
        answer = distance(facet.code, point_at(facet, w), facet.scale, facet.mesh, facet.sight)
        if answer.found == 0 and facet.code == HFIELD:  # below its level, but beside it
            return Sample(w, UNLIMITED, answer.normal, 0)
        return Sample(w, answer.distance, answer.normal, answer.found)

    return look


def make_least_between(look: Any) -> Any:
    """``least_between(facet, a, b) -> Least``: search on the segment between two samples."""

    @wp.func
    def least_between(facet: Facet, a: Sample, b: Sample):
        best = lower_of(a, b)
        place = wp.where(b.distance < a.distance, 1.0, 0.0)
        e = point_at(facet, b.w - a.w)
        s = Bracket(0.0, a.distance, wp.dot(a.normal, e), 1.0, b.distance, wp.dot(b.normal, e))
        if s.slope_a >= -facet.tolerance or s.slope_b <= facet.tolerance:  # no point between is lower by more than that
            return Least(best, place, best.distance, best.normal)
        normal_a = a.normal
        normal_b = b.normal
        for k in range(STEPS):
            if wp.abs(best.distance - bound_of(s)) <= facet.tolerance:
                break
            t = trial(s, k)
            seen = look(facet, (1.0 - t) * a.w + t * b.w)
            place = wp.where(seen.distance < best.distance, t, place)
            best = lower_of(best, seen)
            slope = wp.dot(seen.normal, e)
            if slope < 0.0:
                normal_a = seen.normal
            else:
                normal_b = seen.normal
            s = shrink(s, t, seen.distance, slope)
        gradient = (s.slope_b * normal_a - s.slope_a * normal_b) / (s.slope_b - s.slope_a)
        return Least(best, place, bound_of(s), gradient)

    return least_between


def make_least_on_face(look: Any, least_between: Any) -> Any:
    """``least_on_face(facet, s0, s1, s2) -> Sample``: search on the triangle between three samples."""

    @wp.func
    def least_on_face(facet: Facet, s0: Sample, s1: Sample, s2: Sample):
        from_0 = point_at(facet, s1.w - s0.w)
        from_2 = point_at(facet, s1.w - s2.w)
        slope_1 = wp.max(wp.dot(s1.normal, from_0), wp.dot(s1.normal, from_2))
        best = s1
        s = Bracket()
        first = s0
        last = s2
        u = float(0.0)
        for k in range(STEPS):  # the first segment is the side opposite to corner 1
            line = least_between(facet, first, last)
            best = lower_of(best, line.best)
            slope = wp.dot(line.gradient, (1.0 - line.t) * from_0 + line.t * from_2)
            if k == 0:
                s = Bracket(0.0, line.bound, slope, 1.0, s1.distance, slope_1)
                if slope >= -facet.tolerance or slope_1 <= facet.tolerance:
                    break
            else:
                s = shrink(s, u, line.bound, slope)
            if wp.abs(best.distance - bound_of(s)) <= 2.0 * facet.tolerance:  # the bounds of segments have a tolerance as well
                break
            u = trial(s, k)
            first = look(facet, (1.0 - u) * s0.w + u * s1.w)
            last = look(facet, (1.0 - u) * s2.w + u * s1.w)
        return best

    return least_on_face


def make_on_convex(least_between: Any, least_on_face: Any) -> tuple[Any, Any]:
    """``on_edge(facet, a, b, start) -> Sample`` and ``on_face(facet, s0, s1, s2, start) -> Sample``, which need no start."""

    @wp.func
    def on_edge(facet: Facet, a: Sample, b: Sample, start: Sample):
        return least_between(facet, a, b).best

    @wp.func
    def on_face(facet: Facet, s0: Sample, s1: Sample, s2: Sample, start: Sample):
        return least_on_face(facet, s0, s1, s2)

    return on_edge, on_face

"""Nearest points of a triangle to a point, and of two segments, without branches.

Written over the algebra, so that sixteen pairs are done at a time on a CPU. All vectors are differences to a corner of the pair: far
from the origin nothing is lost. Barycentric coordinates come from cross products, which stay exact to rounding for slivers, where the
Gram determinant cancels.
"""

from typing import Any

import warp as wp

from hooke.math import add, constant, cross, div, dot, larger, mul, select, smaller, sub, zero

__all__ = ["clamp01", "crossing", "nearest_on_segments", "nearest_on_triangle"]

TINY = wp.constant(1.0e-30)


@wp.func
def clamp01(t: Any):
    return smaller(larger(t, zero(t)), constant(1.0, t))


@wp.func
def along(offset: Any, side: Any):
    """The place on a segment from the origin along ``side`` that is nearest to ``offset``, in [0, 1]."""
    square = dot(side, side)
    return clamp01(dot(offset, side) / larger(square, constant(TINY, square)))


@wp.func
def squared(v: Any):
    return dot(v, v)


@wp.func
def nearest_on_triangle(p: Any, b: Any, c: Any):
    """Weights (of b, of c) of the point of the triangle (0, b, c) that is nearest to p; the rest is the weight of the origin."""
    n = cross(b, c)
    square = larger(dot(n, n), constant(TINY, p.x))
    v = dot(cross(p, c), n)
    w = dot(cross(b, p), n)
    inside = smaller(smaller(v, w), square - v - w)
    far = c - b
    tb = along(p, b)
    tc = along(p, c)
    td = along(p - b, far)
    to_b = squared(p - tb * b)
    to_c = squared(p - tc * c)
    to_d = squared(p - b - td * far)
    one = constant(1.0, tb)
    wb = select(to_c - to_b, tb, zero(tb))  # the nearer of the sides at the origin
    wc = select(to_c - to_b, zero(tc), tc)
    third = smaller(to_b, to_c) - to_d
    wb = select(third, one - td, wb)
    wc = select(third, td, wc)
    return select(inside, v / square, wb), select(inside, w / square, wc)


@wp.func
def crossing(r: Any, a: Any, b: Any, parallel: Any):
    """Where the lines r + s a and t b are nearest, and a number that is positive if both lie inside their segments.

    ``parallel``: the squared sine of their angle at which lines count as parallel, and have no such place.
    """
    n = cross(a, b)
    square = dot(n, n)
    safe = larger(square, constant(TINY, square))
    s = dot(cross(b, r), n)
    t = dot(cross(a, r), n)
    inside = smaller(smaller(s, square - s), smaller(t, square - t))
    inside = select(square - parallel * dot(a, a) * dot(b, b), inside, zero(inside))
    return s / safe, t / safe, inside


@wp.func
def nearest_on_segments(r: Any, a: Any, b: Any, parallel: Any):
    """Places (s, t) in [0, 1] at which the segments r + s a and t b are nearest; ``parallel`` as in :func:`crossing`.

    Where lines do not cross inside, an end of one segment is nearest; on parallel ones one of several such ends is taken.
    """
    one = constant(1.0, r.x)
    nothing = zero(one)
    s, t, inside = crossing(r, a, b, parallel)
    end = r + a
    back = r - b
    t0 = along(r, b)
    t1 = along(end, b)
    s0 = along(nothing * r - r, a)
    s1 = along(nothing * r - back, a)
    best = squared(r - t0 * b)
    s_best, t_best = nothing, t0
    d = squared(end - t1 * b)
    s_best, t_best, best = select(best - d, one, s_best), select(best - d, t1, t_best), smaller(best, d)
    d = squared(r + s0 * a)
    s_best, t_best, best = select(best - d, s0, s_best), select(best - d, nothing, t_best), smaller(best, d)
    d = squared(back + s1 * a)
    s_best, t_best = select(best - d, s1, s_best), select(best - d, one, t_best)
    return select(inside, s, s_best), select(inside, t, t_best)

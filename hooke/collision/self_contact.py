"""Pairs of a surface's features that are near each other: vertices with triangles, and edges with edges.

Every index (a particle, in whatever order the caller keeps them) has a box around all places that it may take. A pair of features
whose boxes around their corners do not meet cannot touch, wherever within its box each corner goes. The others are candidates; those
whose distance is less than the sum of the radii of both sides are pairs. Pairs are counted, summed and then written, so that a pair has
a place that depends on nothing but the data, and the number needed is known when there is no room.

A feature has four corners in all, of which the first (a vertex) or the first two (an edge) are its A side, the others its B side.
Between the sides of a pair stands a separator: the direction n from B to A in which they are ``gap`` apart,

    gap = min_A n.x - max_B n.x                                                                     (1)

certified by this projection, whatever rounding did to n. It is the direction between the nearest points; where these are too near for
single precision to tell a direction, it is found in double precision.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

from hooke.collision.surface import PairFilter
from hooke.execution.flags import lane_options
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.box_tree import TreeView, visit_tree
from hooke.geometry.closest import nearest_on_segments, nearest_on_triangle
from hooke.math import (
    LANES,
    IndexLanes,
    Lanes,
    VectorL,
    add,
    cross,
    div,
    dot,
    gather_indices,
    gather_numbers,
    gather_vectors,
    highest,
    larger,
    load_indices,
    lowest,
    mul,
    neg,
    norm,
    select,
    smaller,
    spread,
    store_numbers,
    sub,
    take_number,
    zero,
)

__all__ = [
    "EDGE_EDGE",
    "VERTEX_TRIANGLE",
    "Candidates",
    "PairKind",
    "Pairs",
    "Reach",
    "make_pair_kernels",
    "pair_corners",
    "pair_count",
]

COARSE = wp.constant(4.0 / 2.0**23)
"""Rounding of a coordinate that a separator allows for, as a part of the coordinate."""
FINE = wp.constant(1.0e-6)
"""The least that it allows for [m]."""
EXACT = wp.constant(0.9)
"""Part of the distance that a separator must reach in single precision."""


@wp.struct
class Reach:
    """Where the indices are when pairs are looked for: at ``start + shift``.

    ``low`` and ``high`` are the box of places that each may take, ``radius`` [m] the longest way there. ``mover`` is 1 where pairs are
    looked for; a pair has at least one such corner. Pairs with a corner of which it is -1 have no separator: nothing is known of them.
    """

    start: wp.array(dtype=wp.vec3)
    shift: wp.array(dtype=wp.vec3)
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    radius: wp.array(dtype=wp.float32)
    mover: wp.array(dtype=wp.float32)


@wp.struct
class Candidates:
    """Slots of features whose boxes meet: those of leaf g from ``start[g]`` on, ``total`` in all.

    The first ``kept[g]`` of a leaf are pairs; ``acts`` says whether each exerts a force. ``number`` of every asking feature counts its
    pairs, with running sum ``end``; ``filled`` counts those that have their place.
    """

    query: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    acts: wp.array(dtype=wp.int32)
    start: wp.array(dtype=wp.int32)
    kept: wp.array(dtype=wp.int32)
    total: wp.array(dtype=wp.int32)
    number: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    filled: wp.array(dtype=wp.int32)


@wp.struct
class Pairs:
    """Pairs and their separators, in groups of 16.

    ``query`` and ``target``: the features, by their numbers on the surface. ``acts``: whether the pair exerts a force. ``corner``:
    index of corner c of pair k at ``(4 (k // 16) + c) 16 + k % 16``. By group: ``normal`` (3), ``gap`` (negative where nothing
    separates the sides), ``offset`` (4): how far each corner is behind the foremost of its side, ``shift`` (4): that of each corner
    along the normal, ``band``: the rounding allowed for, ``distance`` of the nearest points, ``weight`` (2 rows of 16): of the last
    two corners of a triangle, or the places on both edges.
    """

    query: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    acts: wp.array(dtype=wp.int32)
    corner: wp.array(dtype=wp.int32)
    normal: wp.array2d(dtype=Lanes)
    gap: wp.array(dtype=Lanes)
    offset: wp.array2d(dtype=Lanes)
    shift: wp.array2d(dtype=Lanes)
    band: wp.array(dtype=Lanes)
    distance: wp.array(dtype=wp.float32)
    weight: wp.array(dtype=wp.float32)


@wp.func
def nearest_vertex_triangle(b: Any, c: Any, d: Any, parallel: Any):
    """From the nearest point of the triangle to the vertex, and the weights of the triangle's last two corners.

    Corners are seen from the first one.
    """
    v, w = nearest_on_triangle(neg(b), c - b, d - b)
    return neg(b + v * (c - b) + w * (d - b)), v, w


@wp.func
def nearest_edge_edge(b: Any, c: Any, d: Any, parallel: Any):
    """From the nearest point of the second edge to that of the first, and the places on both."""
    s, t = nearest_on_segments(neg(c), b, d - c, parallel)
    return s * b - c - t * (d - c), s, t


@wp.func
def normal_vertex_triangle(b: Any, c: Any, d: Any):
    return cross(c - b, d - b)


@wp.func
def normal_edge_edge(b: Any, c: Any, d: Any):
    return cross(b, d - c)


@wp.func
def foremost_vertex_triangle(b: Any, c: Any, d: Any):
    """Of the projections of the corners: the least of side A and the largest of side B."""
    return zero(b), larger(b, larger(c, d))


@wp.func
def foremost_edge_edge(b: Any, c: Any, d: Any):
    return smaller(zero(b), b), larger(c, d)


@wp.func
def barred_vertex_triangle(pair_filter: PairFilter, i: int, query: int, target: int):
    """Whether a pair is not to meet; ``i`` is the index of the vertex."""
    p = pair_filter.particle[i]
    return contains(
        pair_filter.barred_triangle, pair_filter.barred_triangle_start[p], pair_filter.barred_triangle_start[p + 1], target
    )


@wp.func
def barred_edge_edge(pair_filter: PairFilter, i: int, query: int, target: int):
    first = pair_filter.barred_edge_start[query]
    return contains(pair_filter.barred_edge, first, pair_filter.barred_edge_start[query + 1], target)


@dataclass(frozen=True, eq=False)
class PairKind:
    """A kind of pair.

    Args:
        name: For messages.
        first: Corners of its A side.
        nearest: ``nearest(b, c, d, parallel) -> (separation, weight, weight)``.
        normal: A direction for sides that touch.
        foremost: Extreme projections of the sides, from those of the corners.
        barred: Whether a filter bars a pair.
    """

    name: str
    first: int
    nearest: Any
    normal: Any
    foremost: Any
    barred: Any


VERTEX_TRIANGLE = PairKind(
    "vertex-triangle", 1, nearest_vertex_triangle, normal_vertex_triangle, foremost_vertex_triangle, barred_vertex_triangle
)
EDGE_EDGE = PairKind("edge-edge", 2, nearest_edge_edge, normal_edge_edge, foremost_edge_edge, barred_edge_edge)


@wp.func
def contains(values: wp.array(dtype=wp.int32), first: int, end: int, value: int):
    """Whether a sorted list has an entry."""
    low = first
    high = end
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < end and values[low] == value


@wp.func
def in_ring(pair_filter: PairFilter, i: int, j: int):
    return contains(pair_filter.ring, pair_filter.ring_start[i], pair_filter.ring_start[i + 1], j)


@wp.func
def corners_at(x: wp.array(dtype=wp.vec3), a: IndexLanes, b: IndexLanes, c: IndexLanes, d: IndexLanes):
    origin = gather_vectors(x, a)
    return gather_vectors(x, b) - origin, gather_vectors(x, c) - origin, gather_vectors(x, d) - origin


@wp.func
def moved_corners(
    start: wp.array(dtype=wp.vec3), shift: wp.array(dtype=wp.vec3), a: IndexLanes, b: IndexLanes, c: IndexLanes, d: IndexLanes
):  # fmt: skip
    """Corners at ``start + shift`` as seen from the first: differences first, so that far from the origin nothing is lost."""
    xb, xc, xd = corners_at(start, a, b, c, d)
    db, dc, dd = corners_at(shift, a, b, c, d)
    return xb + db, xc + dc, xd + dd


@wp.func
def moved_corner(reach: Reach, a: int, i: int):
    """The same for one corner, exactly."""
    start = wp.vec3d(reach.start[i]) - wp.vec3d(reach.start[a])
    return start + (wp.vec3d(reach.shift[i]) - wp.vec3d(reach.shift[a]))


@wp.struct
class Separator:
    """A separator of one pair, see :class:`Pairs`."""

    normal: wp.vec3
    gap: wp.float32
    a: wp.float32
    b: wp.float32
    c: wp.float32
    d: wp.float32


@wp.func
def pair_corners(pairs: Pairs, group: int):
    """Indices of the four corners of 16 pairs."""
    first = 4 * LANES * group
    return (
        load_indices(pairs.corner, first),
        load_indices(pairs.corner, first + LANES),
        load_indices(pairs.corner, first + 2 * LANES),
        load_indices(pairs.corner, first + 3 * LANES),
    )


@wp.func
def pair_count(candidates: Candidates, pairs: Pairs):
    return wp.min(candidates.end[candidates.end.shape[0] - 1], pairs.query.shape[0])


@functools.cache
def make_pair_kernels(kind: PairKind) -> tuple[Any, Any, Any, Any]:
    """The kernels (find, place, sort, separate) of a kind of pair."""
    nearest, foremost, face_normal, barred = kind.nearest, kind.foremost, kind.normal, kind.barred
    one_sided = int(kind.first == 1)

    @wp.func
    def corner_lanes(tree: TreeView, slots: IndexLanes, c: int):
        return gather_indices(tree.corner, slots, tree.corners, c)

    @wp.func
    def widest(x: wp.array(dtype=wp.float32), a: IndexLanes, b: IndexLanes, c: IndexLanes, d: IndexLanes):
        """The largest of a quantity on each side."""
        own = gather_numbers(x, a)
        other = larger(gather_numbers(x, c), gather_numbers(x, d))
        if one_sided != 0:
            return own, larger(other, gather_numbers(x, b))
        return larger(own, gather_numbers(x, b)), other

    @wp.func
    def corner_of(query: TreeView, target: TreeView, q: int, t: int, c: int):
        if c < query.corners:
            return query.corner[q * query.corners + c]
        return target.corner[t * target.corners + c - query.corners]

    @wp.func
    def may_act(query: TreeView, target: TreeView, q: int, t: int, pair_filter: PairFilter):
        """Whether no two corners of the sides are near each other along the edges."""
        for a in range(query.corners):
            i = query.corner[q * query.corners + a]
            for b in range(target.corners):
                if in_ring(pair_filter, i, target.corner[t * target.corners + b]):
                    return False
        return True

    @wp.func
    def at_rest(query: TreeView, target: TreeView, q: int, t: int, pair_filter: PairFilter, parallel: float):
        """Distance of a pair in the rest shape."""
        x0 = pair_filter.rest[pair_filter.particle[corner_of(query, target, q, t, 0)]]
        x1 = pair_filter.rest[pair_filter.particle[corner_of(query, target, q, t, 1)]] - x0
        x2 = pair_filter.rest[pair_filter.particle[corner_of(query, target, q, t, 2)]] - x0
        x3 = pair_filter.rest[pair_filter.particle[corner_of(query, target, q, t, 3)]] - x0
        separation, _v, _w = nearest(x1, x2, x3, parallel)
        return wp.length(separation)

    @wp.func
    def nearness(query: TreeView, target: TreeView, q: IndexLanes, t: IndexLanes, reach: Reach, parallel: float):
        """By how much 16 candidates are nearer than the sum of the radii of their sides; negative too where nothing moves."""
        a = corner_lanes(query, q, 0)
        b = corner_lanes(target, t, 0)
        if one_sided == 0:
            b = corner_lanes(query, q, 1)
        c = corner_lanes(target, t, target.corners - 2)
        d = corner_lanes(target, t, target.corners - 1)
        xb, xc, xd = moved_corners(reach.start, reach.shift, a, b, c, d)
        separation, _v, _w = nearest(xb, xc, xd, spread(parallel))
        own, other = widest(reach.radius, a, b, c, d)
        moving, meeting = widest(reach.mover, a, b, c, d)
        return select(larger(moving, meeting), own + other - norm(separation), spread(-1.0))

    @wp.func
    def exerts(query: TreeView, target: TreeView, q: int, t: int, pair_filter: PairFilter, parallel: float):
        """Whether a pair exerts a force: it is neither near along the edges nor in the rest shape."""
        if pair_filter.exclusion > 0.0 and at_rest(query, target, q, t, pair_filter, parallel) < pair_filter.exclusion:
            return False
        return may_act(query, target, q, t, pair_filter)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def find_pairs(
        work: Work, query: TreeView, target: TreeView, same: int, reach: Reach, pair_filter: PairFilter, parallel: float,
        any_mover: wp.array(dtype=wp.int32), candidates: Candidates,
    ):  # fmt: skip
        """The pairs of every leaf, put in front of its candidates; of two edges the one with the lower number asks."""
        g = first_item(work, wp.tid())
        while g >= 0:
            kept = int(0)
            if any_mover[0] != 0:
                count = visit_tree(
                    query, g, target, same, candidates.start, candidates.total, candidates.query, candidates.target
                )  # fmt: skip
                start = candidates.start[g]
                for first in range(0, count, LANES):
                    q = load_indices(candidates.query, start + first)
                    t = load_indices(candidates.target, start + first)
                    near = nearness(query, target, q, t, reach, parallel)
                    some = wp.min(count - first, LANES)
                    if highest(near) <= 0.0:
                        some = 0
                    for lane in range(some):
                        if near[lane] > 0.0:
                            a = q[lane]
                            b = t[lane]
                            if one_sided == 0 and query.member[a] > target.member[b]:
                                a = t[lane]
                                b = q[lane]
                            feature = query.member[a]
                            if not barred(pair_filter, query.corner[a * query.corners], feature, target.member[b]):
                                candidates.query[start + kept] = a
                                candidates.target[start + kept] = b
                                candidates.acts[start + kept] = int(exerts(query, target, a, b, pair_filter, parallel))
                                take_number(feature, candidates.number)
                                kept += 1
            candidates.kept[g] = kept
            g = next_item(work, g)

    @wp.kernel(module="unique", enable_backward=False)
    def place_pairs(work: Work, query: TreeView, target: TreeView, candidates: Candidates, pairs: Pairs):
        """The pairs of every asking feature behind each other, in no order yet."""
        g = first_item(work, wp.tid())
        while g >= 0:
            for n in range(candidates.start[g], candidates.start[g] + candidates.kept[g]):
                feature = query.member[candidates.query[n]]
                k = candidates.end[feature] - candidates.number[feature] + take_number(feature, candidates.filled)
                if k < pairs.query.shape[0]:
                    pairs.query[k] = feature
                    pairs.target[k] = target.member[candidates.target[n]]
                    pairs.acts[k] = candidates.acts[n]
            g = next_item(work, g)

    @wp.kernel(module="unique", enable_backward=False)
    def sort_pairs(work: Work, query: TreeView, target: TreeView, candidates: Candidates, pairs: Pairs):
        """The pairs of every feature in the order of what they meet, however the trees are sorted; and their corners."""
        feature = first_item(work, wp.tid())
        while feature >= 0:
            end = wp.min(candidates.end[feature], pairs.query.shape[0])
            begin = candidates.end[feature] - candidates.number[feature]
            for n in range(begin, end):
                other = pairs.target[n]
                acts = pairs.acts[n]
                k = n - 1
                while k >= begin and pairs.target[wp.max(k, 0)] > other:
                    pairs.target[k + 1] = pairs.target[k]
                    pairs.acts[k + 1] = pairs.acts[k]
                    k -= 1
                pairs.target[k + 1] = other
                pairs.acts[k + 1] = acts
            for k in range(begin, end):
                place = 4 * (k // LANES) * LANES + k % LANES
                for c in range(query.corners):
                    pairs.corner[place + c * LANES] = query.index[feature, c]
                for c in range(target.corners):
                    pairs.corner[place + (query.corners + c) * LANES] = target.index[pairs.target[k], c]
            feature = next_item(work, feature)

    @wp.func
    def support(n: Any, b: Any, c: Any, d: Any):
        """The gap (1) along a direction, and how far each corner is behind the foremost of its side."""
        pb = dot(n, b)
        pc = dot(n, c)
        pd = dot(n, d)
        back, front = foremost(pb, pc, pd)
        ob = front - pb
        if one_sided == 0:
            ob = pb - back
        return back - front, neg(back), ob, front - pc, front - pd

    @wp.func
    def along(direction: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d):
        """The separator along a direction, certified for the direction as it is stored."""
        length = wp.length(direction)
        n = wp.vec3(0.0)
        if length > wp.float64(0.0):
            n = wp.vec3(direction / length)
        gap, oa, ob, oc, od = support(wp.vec3d(n), b, c, d)
        return Separator(n, wp.float32(gap), wp.float32(oa), wp.float32(ob), wp.float32(oc), wp.float32(od))

    @wp.func
    def separate_exactly(pairs: Pairs, k: int, reach: Reach, parallel: float):
        """The separator of pair ``k`` in double precision."""
        i = pairs.corner[(4 * (k // LANES)) * LANES + k % LANES]
        b = moved_corner(reach, i, pairs.corner[(4 * (k // LANES) + 1) * LANES + k % LANES])
        c = moved_corner(reach, i, pairs.corner[(4 * (k // LANES) + 2) * LANES + k % LANES])
        d = moved_corner(reach, i, pairs.corner[(4 * (k // LANES) + 3) * LANES + k % LANES])
        separation, _v, _w = nearest(b, c, d, wp.float64(parallel))
        best = along(separation, b, c, d)
        upright = face_normal(b, c, d)
        if best.gap <= 0.0:
            best = along(upright, b, c, d)
        if best.gap <= 0.0:
            best = along(-upright, b, c, d)
        return best

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def separate_pairs(work: Work, candidates: Candidates, reach: Reach, parallel: float, pairs: Pairs):
        """The separators of 16 pairs, and their nearest points."""
        group = first_item(work, wp.tid())
        while group >= 0:
            count = pair_count(candidates, pairs) - LANES * group
            if count > 0:
                a, b, c, d = pair_corners(pairs, group)
                xb, xc, xd = moved_corners(reach.start, reach.shift, a, b, c, d)
                separation, v, w = nearest(xb, xc, xd, spread(parallel))
                distance = norm(separation)
                n = separation / larger(distance, spread(1.0e-30))
                gap, oa, ob, oc, od = support(n, xb, xc, xd)
                nx = n.x
                ny = n.y
                nz = n.z
                if lowest(gap - EXACT * distance) < 0.0:
                    for lane in range(LANES):
                        if lane < count and gap[lane] < EXACT * distance[lane]:
                            s = separate_exactly(pairs, LANES * group + lane, reach, parallel)
                            nx[lane] = s.normal[0]
                            ny[lane] = s.normal[1]
                            nz[lane] = s.normal[2]
                            gap[lane] = s.gap
                            oa[lane] = s.a
                            ob[lane] = s.b
                            oc[lane] = s.c
                            od[lane] = s.d
                least = smaller(gather_numbers(reach.mover, a), gather_numbers(reach.mover, b))
                least = smaller(least, smaller(gather_numbers(reach.mover, c), gather_numbers(reach.mover, d)))
                gap = select(neg(least), spread(-1.0), gap)
                for lane in range(count, LANES):
                    gap[lane] = -1.0
                far = spread(1.0)
                for corner in range(4):
                    i = load_indices(pairs.corner, (4 * group + corner) * LANES)
                    shift = gather_vectors(reach.shift, i)
                    pairs.shift[group, corner] = nx * shift.x + ny * shift.y + nz * shift.z
                    place = gather_vectors(reach.start, i)
                    far = larger(far, larger(larger(place.x, neg(place.x)), larger(place.y, neg(place.y))))
                    far = larger(far, larger(place.z, neg(place.z)))
                pairs.normal[group, 0] = nx
                pairs.normal[group, 1] = ny
                pairs.normal[group, 2] = nz
                pairs.gap[group] = gap
                pairs.offset[group, 0] = oa
                pairs.offset[group, 1] = ob
                pairs.offset[group, 2] = oc
                pairs.offset[group, 3] = od
                pairs.band[group] = larger(spread(FINE), COARSE * far)
                store_numbers(distance, LANES * group, pairs.distance)
                store_numbers(v, 2 * LANES * group, pairs.weight)
                store_numbers(w, (2 * group + 1) * LANES, pairs.weight)
            group = next_item(work, group)

    return find_pairs, place_pairs, sort_pairs, separate_pairs

"""Pairs of a surface's features that are near each other: vertices with triangles, and edges with edges.

Every index (a particle, in whatever order the caller keeps them) has a box around all places that it may take. A pair of features
whose boxes around their corners do not meet cannot touch, wherever within its box each corner goes. The others are candidates; those
whose distance is less than the sum of the radii of both sides are pairs. Candidates and pairs are counted, summed and then written, so
that a pair has a place that depends on nothing but the data, and the number needed is known when there is no room.

A feature has four corners in all, of which the first (a vertex) or the first two (an edge) are its A side, the others its B side.
Between the sides of a pair stands a separator: the direction n from B to A in which they are ``gap`` apart,

    gap = min_A n.x - max_B n.x                                                                     (1)

certified by this projection, whatever rounding did to n. It is the direction between the nearest points, or the normal of the triangle
or of both edges where those are too near for a direction.
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
    vector,
)

__all__ = ["EDGE_EDGE", "VERTEX_TRIANGLE", "Candidates", "PairKind", "Pairs", "Reach", "make_pair_kernels"]

COARSE = wp.constant(4.0 / 2.0**23)
"""Rounding of a coordinate that a separator allows for, as a part of the coordinate."""
FINE = wp.constant(1.0e-6)
"""The least that it allows for [m]."""


@wp.struct
class Reach:
    """Where the indices are when pairs are looked for: at ``start + shift``.

    ``low`` and ``high`` are the box of places that each may take, ``radius`` [m] the longest way there. ``mover`` is 1 where pairs are
    looked for; a pair has at least one such corner.
    """

    start: wp.array(dtype=wp.vec3)
    shift: wp.array(dtype=wp.vec3)
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    radius: wp.array(dtype=wp.float32)
    mover: wp.array(dtype=wp.float32)


@wp.struct
class Candidates:
    """Slots of features whose boxes meet: found by leaf ``number``, with running sum ``end``.

    Of every 16 of them ``kept`` is a bit for each that is a pair, ``acts`` a bit for each that exerts a force; ``kept_number`` and
    ``kept_end`` count the former.
    """

    query: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    number: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    kept: wp.array(dtype=wp.int32)
    acts: wp.array(dtype=wp.int32)
    kept_number: wp.array(dtype=wp.int32)
    kept_end: wp.array(dtype=wp.int32)


@wp.struct
class Pairs:
    """Pairs and their separators, in groups of 16.

    ``query`` and ``target``: the features, by their numbers on the surface. ``acts``: whether the pair exerts a force. ``corner``:
    index of corner c of pair k at ``(4 (k // 16) + c) 16 + k % 16``. By group: ``normal`` (3), ``gap`` (negative where nothing
    separates the sides), ``offset`` (4): how far each corner is behind the foremost of its side, ``band``: the rounding allowed for,
    ``distance`` of the nearest points, ``weight`` (2 rows of 16): of the last two corners of a triangle, or the places on both edges.
    """

    query: wp.array(dtype=wp.int32)
    target: wp.array(dtype=wp.int32)
    acts: wp.array(dtype=wp.int32)
    corner: wp.array(dtype=wp.int32)
    normal: wp.array2d(dtype=Lanes)
    gap: wp.array(dtype=Lanes)
    offset: wp.array2d(dtype=Lanes)
    band: wp.array(dtype=Lanes)
    distance: wp.array(dtype=wp.float32)
    weight: wp.array(dtype=wp.float32)


@wp.struct
class Corners:
    """Corners of 16 pairs as seen from the first."""

    b: VectorL
    c: VectorL
    d: VectorL


@wp.func
def nearest_vertex_triangle(at: Corners, parallel: Lanes):
    """From the nearest point of the triangle to the vertex, and the weights of the triangle's last two corners."""
    wc, wd = nearest_on_triangle(neg(at.b), at.c - at.b, at.d - at.b)
    return neg(at.b + wc * (at.c - at.b) + wd * (at.d - at.b)), wc, wd


@wp.func
def nearest_edge_edge(at: Corners, parallel: Lanes):
    """From the nearest point of the second edge to that of the first, and the places on both."""
    s, t = nearest_on_segments(neg(at.c), at.b, at.d - at.c, parallel)
    return s * at.b - at.c - t * (at.d - at.c), s, t


@wp.func
def normal_vertex_triangle(at: Corners):
    return cross(at.c - at.b, at.d - at.b)


@wp.func
def normal_edge_edge(at: Corners):
    return cross(at.b, at.d - at.c)


@wp.func
def foremost_vertex_triangle(b: Lanes, c: Lanes, d: Lanes):
    """Of the projections of the corners: the least of side A and the largest of side B."""
    return spread(0.0), larger(b, larger(c, d))


@wp.func
def foremost_edge_edge(b: Lanes, c: Lanes, d: Lanes):
    return smaller(spread(0.0), b), larger(c, d)


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
        nearest: ``nearest(corners, parallel) -> (separation, weight, weight)`` on lanes.
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
    return Corners(gather_vectors(x, b) - origin, gather_vectors(x, c) - origin, gather_vectors(x, d) - origin)


@wp.func
def moved_corners(
    start: wp.array(dtype=wp.vec3), shift: wp.array(dtype=wp.vec3), a: IndexLanes, b: IndexLanes, c: IndexLanes, d: IndexLanes
):  # fmt: skip
    """Corners at ``start + shift``: differences first, so that far from the origin nothing is lost."""
    at = corners_at(start, a, b, c, d)
    moved = corners_at(shift, a, b, c, d)
    return Corners(at.b + moved.b, at.c + moved.c, at.d + moved.d)


@wp.kernel(enable_backward=False)
def find_candidates(work: Work, query: TreeView, target: TreeView, same: int, writes: int, any_mover: wp.array(dtype=wp.int32),
                    candidates: Candidates):  # fmt: skip
    """Count the candidates of every leaf, or write them."""
    g = first_item(work, wp.tid())
    while g >= 0:
        at = int(-1)
        if writes != 0:
            at = candidates.end[g] - candidates.number[g]
        if any_mover[0] == 0:
            candidates.number[g] = 0
        elif writes == 0 or candidates.number[g] > 0:
            capacity = candidates.query.shape[0]
            candidates.number[g] = visit_tree(query, g, target, same, at, capacity, candidates.query, candidates.target)
        g = next_item(work, g)


@wp.func
def candidate_count(candidates: Candidates):
    return wp.min(candidates.end[candidates.end.shape[0] - 1], candidates.query.shape[0])


@wp.func
def pair_count(candidates: Candidates, pairs: Pairs):
    return wp.min(candidates.kept_end[candidates.kept_end.shape[0] - 1], pairs.query.shape[0])


@functools.cache
def make_pair_kernels(kind: PairKind) -> tuple[Any, Any, Any]:
    """The kernels (choose, write, separate) of a kind of pair."""
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
        if one_sided != 0:
            v, w = nearest_on_triangle(-x1, x2 - x1, x3 - x1)
            return wp.length(x1 + v * (x2 - x1) + w * (x3 - x1))
        s, t_ = nearest_on_segments(-x2, x1, x3 - x2, parallel)
        return wp.length(s * x1 - x2 - t_ * (x3 - x2))

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def choose_pairs(
        work: Work, query: TreeView, target: TreeView, reach: Reach, pair_filter: PairFilter, parallel: float,
        candidates: Candidates,
    ):  # fmt: skip
        """Which candidates are near enough, and which of those exert a force."""
        group = first_item(work, wp.tid())
        while group >= 0:
            kept = int(0)
            acts = int(0)
            number = int(0)
            count = candidate_count(candidates) - LANES * group
            if count > 0:
                q = load_indices(candidates.query, LANES * group)
                t = load_indices(candidates.target, LANES * group)
                a = corner_lanes(query, q, 0)
                c = corner_lanes(target, t, target.corners - 2)
                d = corner_lanes(target, t, target.corners - 1)
                b = corner_lanes(target, t, 0)
                if one_sided == 0:
                    b = corner_lanes(query, q, 1)
                separation, _v, _w = nearest(moved_corners(reach.start, reach.shift, a, b, c, d), spread(parallel))
                own, other = widest(reach.radius, a, b, c, d)
                moving, meeting = widest(reach.mover, a, b, c, d)
                near = select(larger(moving, meeting), own + other - norm(separation), spread(-1.0))
                for lane in range(wp.min(count, LANES)):
                    if near[lane] > 0.0:
                        feature = query.member[q[lane]]
                        if not barred(pair_filter, a[lane], feature, target.member[t[lane]]):
                            kept = kept | (1 << lane)
                            number += 1
                            near_rest = pair_filter.exclusion > 0.0
                            if near_rest:
                                rest = at_rest(query, target, q[lane], t[lane], pair_filter, parallel)
                                near_rest = rest < pair_filter.exclusion
                            if not near_rest and may_act(query, target, q[lane], t[lane], pair_filter):
                                acts = acts | (1 << lane)
            candidates.kept[group] = kept
            candidates.acts[group] = acts
            candidates.kept_number[group] = number
            group = next_item(work, group)

    @wp.kernel(module="unique", enable_backward=False)
    def write_pairs(work: Work, query: TreeView, target: TreeView, candidates: Candidates, pairs: Pairs):
        group = first_item(work, wp.tid())
        while group >= 0:
            k = candidates.kept_end[group] - candidates.kept_number[group]
            kept = candidates.kept[group]
            for lane in range(LANES):
                if ((kept >> lane) & 1) != 0:
                    if k < pairs.query.shape[0]:
                        q = candidates.query[LANES * group + lane]
                        t = candidates.target[LANES * group + lane]
                        pairs.query[k] = query.member[q]
                        pairs.target[k] = target.member[t]
                        pairs.acts[k] = (candidates.acts[group] >> lane) & 1
                        for c in range(4):
                            pairs.corner[(4 * (k // LANES) + c) * LANES + k % LANES] = corner_of(query, target, q, t, c)
                    k += 1
            group = next_item(work, group)

    @wp.func
    def support(n: VectorL, at: Corners):
        """The gap (1) along a direction, and the projections it is made from."""
        b = dot(n, at.b)
        c = dot(n, at.c)
        d = dot(n, at.d)
        back, front = foremost(b, c, d)
        return back - front, back, front, b, c, d

    @wp.func
    def unit(v: VectorL):
        return v / larger(norm(v), spread(1.0e-30))

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def separate_pairs(work: Work, candidates: Candidates, reach: Reach, parallel: float, pairs: Pairs):
        """The separators of 16 pairs, and their nearest points."""
        group = first_item(work, wp.tid())
        while group >= 0:
            count = pair_count(candidates, pairs) - LANES * group
            if count > 0:
                a = load_indices(pairs.corner, 4 * LANES * group)
                b = load_indices(pairs.corner, (4 * group + 1) * LANES)
                c = load_indices(pairs.corner, (4 * group + 2) * LANES)
                d = load_indices(pairs.corner, (4 * group + 3) * LANES)
                at = moved_corners(reach.start, reach.shift, a, b, c, d)
                separation, v, w = nearest(at, spread(parallel))
                far = spread(1.0)
                for corner in range(4):
                    i = load_indices(pairs.corner, (4 * group + corner) * LANES)
                    place = gather_vectors(reach.start, i)
                    far = larger(far, larger(larger(place.x, neg(place.x)), larger(place.y, neg(place.y))))
                    far = larger(far, larger(place.z, neg(place.z)))
                band = larger(spread(FINE), COARSE * far)
                n = unit(separation)
                gap, _back, _front, _b, _c, _d = support(n, at)
                if lowest(gap - 2.0 * band) < 0.0:
                    upright = unit(face_normal(at))
                    for _side in range(2):
                        other, _e, _f, _g, _h, _i = support(upright, at)
                        better = select(2.0 * band - gap, other - gap, spread(-1.0))
                        n = vector(
                            select(better, upright.x, n.x), select(better, upright.y, n.y), select(better, upright.z, n.z)
                        )  # fmt: skip
                        gap = select(better, other, gap)
                        upright = neg(upright)
                gap, back, front, pb, pc, pd = support(n, at)
                for lane in range(LANES):
                    if lane >= count:
                        gap[lane] = -1.0
                pairs.normal[group, 0] = n.x
                pairs.normal[group, 1] = n.y
                pairs.normal[group, 2] = n.z
                pairs.gap[group] = gap
                pairs.offset[group, 0] = neg(back)
                pairs.offset[group, 1] = front - pb
                if one_sided == 0:
                    pairs.offset[group, 1] = pb - back
                pairs.offset[group, 2] = front - pc
                pairs.offset[group, 3] = front - pd
                pairs.band[group] = band
                store_numbers(norm(separation), LANES * group, pairs.distance)
                store_numbers(v, 2 * LANES * group, pairs.weight)
                store_numbers(w, (2 * group + 1) * LANES, pairs.weight)
            group = next_item(work, group)

    return choose_pairs, write_pairs, separate_pairs

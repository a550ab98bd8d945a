"""Keeping features of a surface apart: no step takes one through another (Divide and Truncate: Chen, Hsu, Ayman, Macklin 2026).

Between the sides A and B of a pair, ``gap`` apart along n at the reference, stands a plane at the part lambda of the gap above B. With
the way d of a corner since the reference, its distance from the plane is s0 there and s1 = s0 +- n.d now, and its way is scaled by

    t = gamma s0/(s0 - s1)    where s1 < 0 <= s0                                                   (1)

the least over all its pairs. The sides of the plane are convex and hold the reference, so scaling keeps every feature on its side. The
plane divides the gap in proportion to the approach of both sides; what the caller moves goes all the way, as far as the gap reaches.

Pairs are looked for in two ways. At a reference, all those nearer than twice a radius: corners that stay within that radius meet
nobody else. And along the ways that are known: for the first guess, and in the end for corners that left that radius. So no corner is
held back for anything but a feature in its way.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.self_contact import COARSE, FINE, Candidates, PairKind, Pairs, Reach, pair_count
from hooke.execution.flags import lane_options
from hooke.execution.work import Work, first_item, next_item
from hooke.math import (
    LANES,
    IndexLanes,
    Lanes,
    VectorL,
    add,
    div,
    dot,
    gather_numbers,
    gather_vectors,
    larger,
    load_indices,
    lowest,
    mul,
    neg,
    positive,
    scatter_least,
    select,
    smaller,
    spread,
    sub,
    vector,
)
from hooke.model.tables import Particles
from hooke.solvers.vbd.predict import is_fixed

__all__ = ["Limits", "apply_limits", "begin_limits", "make_limit_kernel", "reach_along", "reach_around"]

ULP = wp.constant(2.0**-22)
"""By how much of a coordinate boxes are larger than what they hold."""
ROUNDING = wp.constant(0.25)
"""The part of the band that the rounding of a position may take along any direction."""


@wp.struct
class Limits:
    """By how much the way of every index is to be scaled, and whether forces move it (1) or the caller (0)."""

    scale: wp.array(dtype=wp.float32)
    free: wp.array(dtype=wp.float32)


@wp.kernel(enable_backward=False)
def begin_limits(work: Work, particle: wp.array(dtype=wp.int32), particles: Particles, limits: Limits, reach: Reach):
    """As a step begins: the reference is its start."""
    i = first_item(work, wp.tid())
    while i >= 0:
        limits.scale[i] = 1.0
        limits.free[i] = 0.0
        reach.shift[i] = wp.vec3(0.0)
        if particle[i] < particles.mass.shape[0]:
            limits.free[i] = wp.where(is_fixed(particles, particle[i]), 0.0, 1.0)
        i = next_item(work, i)


@wp.func
def widen(x: wp.vec3):
    return ULP * wp.vec3(wp.abs(x[0]), wp.abs(x[1]), wp.abs(x[2]))


@wp.func
def band_at(x: wp.vec3):
    """The gap that a separator keeps on either side, see :mod:`hooke.collision.self_contact`."""
    return wp.max(FINE, COARSE * wp.max(wp.max(wp.abs(x[0]), wp.abs(x[1])), wp.abs(x[2])))


@wp.kernel(enable_backward=False)
def reach_around(
    work: Work, particle: wp.array(dtype=wp.int32), count: int, displacement: wp.array(dtype=wp.vec3), radius: float, reach: Reach
):  # fmt: skip
    """A new reference: where the indices are now, with as much room around everyone."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if particle[i] < count:
            d = displacement[i]
            x = reach.start[i] + d
            room = wp.vec3(radius) + widen(x)
            reach.shift[i] = d
            reach.low[i] = x - room
            reach.high[i] = x + room
            reach.radius[i] = radius
            reach.mover[i] = 1.0
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def reach_along(
    work: Work, particle: wp.array(dtype=wp.int32), count: int, displacement: wp.array(dtype=wp.vec3), radius: float, reach: Reach,
    any_mover: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The ways since the reference, of those that have left the radius in which all pairs are known."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if particle[i] < count:
            x = reach.start[i] + reach.shift[i]
            y = reach.start[i] + displacement[i]
            way = wp.length(displacement[i] - reach.shift[i])
            moves = way > 0.999 * radius
            band = band_at(x)  # pairs that come nearer than that are held, so they are to be found
            room = wp.vec3(radius + band) + widen(x)
            reach.low[i] = x - room
            reach.high[i] = x + room
            reach.radius[i] = radius + band
            reach.mover[i] = 0.0
            if moves:
                reach.low[i] = wp.min(x, y) - wp.vec3(band) - widen(x) - widen(y)
                reach.high[i] = wp.max(x, y) + wp.vec3(band) + widen(x) + widen(y)
                reach.radius[i] = way + band
                reach.mover[i] = 1.0
                any_mover[0] = 1
        i = next_item(work, i)


@functools.cache
def make_limit_kernel(kind: PairKind) -> Any:
    """The kernel that finds the scales for the pairs of a kind."""
    one_sided = int(kind.first == 1)

    @wp.func
    def way(displacement: wp.array(dtype=wp.vec3), shift: wp.array(dtype=wp.vec3), i: IndexLanes, n: VectorL):
        return dot(n, gather_vectors(displacement, i) - gather_vectors(shift, i))

    @wp.func
    def scale(height: Lanes, rise: Lanes, band: Lanes, relaxation: float):
        """(1) for a corner at ``height`` above its plane that rises by so much."""
        # No room at all: only away, and by more than positions are rounded by, or step by step that would take the gap away.
        held = select(rise - ROUNDING * band, spread(1.0), spread(0.0))
        drop = larger(height - (height + rise), spread(1.0e-30))
        inside = select(neg(height + rise), smaller(relaxation * height / drop, spread(1.0)), spread(1.0))
        return select(neg(height), held, inside)

    @wp.func
    def to_fixed(free: Lanes, bound: Lanes, otherwise: Lanes):
        return select(free, otherwise, bound)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def limit_pairs(
        work: Work, candidates: Candidates, pairs: Pairs, displacement: wp.array(dtype=wp.vec3), reach: Reach, relaxation: float,
        limits: Limits,
    ):  # fmt: skip
        group = first_item(work, wp.tid())
        while group >= 0:
            if pair_count(candidates, pairs) > LANES * group:
                n = vector(pairs.normal[group, 0], pairs.normal[group, 1], pairs.normal[group, 2])
                ia = load_indices(pairs.corner, 4 * LANES * group)
                ib = load_indices(pairs.corner, (4 * group + 1) * LANES)
                ic = load_indices(pairs.corner, (4 * group + 2) * LANES)
                id = load_indices(pairs.corner, (4 * group + 3) * LANES)
                a = way(displacement, reach.shift, ia, n)
                b = way(displacement, reach.shift, ib, n)
                c = way(displacement, reach.shift, ic, n)
                d = way(displacement, reach.shift, id, n)
                gap = pairs.gap[group]
                band = pairs.band[group]
                oa = pairs.offset[group, 0]
                ob = pairs.offset[group, 1]
                oc = pairs.offset[group, 2]
                od = pairs.offset[group, 3]
                none = spread(0.0)
                most = larger(gap, band)
                # Approach of both sides, and how far above B the plane must be for what the caller moves there, or below for A.
                fall = positive(neg(a))
                climb = positive(larger(c, d))
                above = larger(to_fixed(gather_numbers(limits.free, ic), c - oc + band, none), none)
                above = larger(to_fixed(gather_numbers(limits.free, id), d - od + band, none), above)
                below = to_fixed(gather_numbers(limits.free, ia), gap + oa + a - band, most)
                free_b = gather_numbers(limits.free, ib)
                if one_sided != 0:
                    climb = larger(climb, b)
                    above = larger(to_fixed(free_b, b - ob + band, none), above)
                else:
                    fall = larger(fall, neg(b))
                    below = smaller(to_fixed(free_b, gap + ob + b - band, most), below)
                total = fall + climb
                part = select(total, climb / larger(total, spread(1.0e-30)), spread(0.5))
                edge = smaller(larger(spread(0.05), band / most), spread(0.5))
                part = smaller(larger(part, edge), spread(1.0) - edge)
                plane = larger(smaller(part * gap, smaller(below, most)), smaller(above, most))
                up = gap - plane - band
                down = plane - band
                ha = up + oa
                hb = up + ob
                if one_sided != 0:
                    hb = down + ob
                    b = neg(b)
                hc = down + oc
                hd = down + od
                one = spread(1.0)
                ta = select(gap, scale(ha, a, band, relaxation), one)
                tb = select(gap, scale(hb, b, band, relaxation), one)
                tc = select(gap, scale(hc, neg(c), band, relaxation), one)
                td = select(gap, scale(hd, neg(d), band, relaxation), one)
                if lowest(smaller(smaller(ta, tb), smaller(tc, td))) < 1.0:
                    scatter_least(ta, ia, limits.scale)
                    scatter_least(tb, ib, limits.scale)
                    scatter_least(tc, ic, limits.scale)
                    scatter_least(td, id, limits.scale)
            group = next_item(work, group)

    return limit_pairs


@wp.kernel(enable_backward=False)
def apply_limits(work: Work, reach: Reach, limits: Limits, displacement: wp.array(dtype=wp.vec3)):
    """Scale the ways that go too far."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if limits.scale[i] < 1.0 and limits.free[i] > 0.0:
            displacement[i] = reach.shift[i] + limits.scale[i] * (displacement[i] - reach.shift[i])
        limits.scale[i] = 1.0
        i = next_item(work, i)

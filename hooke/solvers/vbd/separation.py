"""Keeping features of a surface apart: no step takes one through another (Divide and Truncate: Chen, Hsu, Ayman, Macklin 2026).

Between the sides A and B of a pair, ``gap`` apart along n at the reference, stands a plane at the part lambda of the gap above B. With
the way d of a corner since the reference, its distance from the plane is s0 there and s1 = s0 +- n.d now, and its way is scaled by

    t = gamma s0/(s0 - s1)    where s1 < 0 <= s0                                                   (1)

the least over all its pairs. The sides of the plane are convex and hold the reference, so scaling keeps every feature on its side. The
plane divides the gap in proportion to the approach of both sides; what the caller moves goes all the way, as far as the gap reaches.

Pairs that move together need none of it. With all ways so far scaled, the gap along n is a concave function of the part of the ways that
is gone: where it is positive at both ends, the sides never met in between. So rounds are made in which only pairs that would lose too
much of their gap are scaled, until no round scales any more; should that not come to an end, a last round takes (1) for all.

Pairs are looked for in two ways. At a reference, all those nearer than twice a radius: corners that stay within that radius meet
nobody else, in this step and the next. And along ways that are known: that of the first guess, where it leaves the radius of the last
reference, and in the end those of corners that left the radius. So no corner is held back for anything but a feature in its way.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.self_contact import COARSE, FINE, Candidates, PairKind, Pairs, Reach, pair_corners, pair_count
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
    highest,
    larger,
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

__all__ = [
    "Limits",
    "Searched",
    "apply_limits",
    "begin_limits",
    "keep_known",
    "make_limit_kernel",
    "reach_along",
    "reach_around",
    "settle_scales",
]

ULP = wp.constant(2.0**-22)
"""By how much of a coordinate boxes are larger than what they hold."""
ROUNDING = wp.constant(0.25)
"""The part of the band that the rounding of a position may take along any direction."""


@wp.struct
class Limits:
    """By how much the way of every index is to be scaled, and whether forces move it (1) or the caller (0).

    ``settled`` is the scale that the round before ended with: while a round lowers scales it reads none of them, so it does not matter
    who is first. ``changed``: which rounds have scaled more than those before; the last of them takes all pairs by (1).
    """

    scale: wp.array(dtype=wp.float32)
    settled: wp.array(dtype=wp.float32)
    free: wp.array(dtype=wp.float32)
    changed: wp.array(dtype=wp.int32)


@wp.struct
class Searched:
    """Where the indices were when all pairs around them were looked for: at ``start + shift``."""

    start: wp.array(dtype=wp.vec3)
    shift: wp.array(dtype=wp.vec3)


@wp.kernel(enable_backward=False)
def begin_limits(
    work: Work, particle: wp.array(dtype=wp.int32), particles: Particles, seen: wp.array(dtype=wp.int32),
    displacement: wp.array(dtype=wp.vec3), searched: Searched, radius: float, limits: Limits, reach: Reach,
    anew: wp.array(dtype=wp.int32),
):  # fmt: skip
    """As a step begins its start is the reference. ``anew`` of a world becomes 1 if someone leaves the radius where pairs are known."""
    i = first_item(work, wp.tid())
    while i >= 0:
        p = particle[i]
        limits.scale[i] = 1.0
        limits.settled[i] = 1.0
        limits.free[i] = 0.0
        if p < particles.mass.shape[0]:
            limits.free[i] = wp.where(is_fixed(particles, p), 0.0, 1.0)
            x = reach.start[i]
            way = (x - searched.start[i]) - searched.shift[i]
            reach.shift[i] = wp.vec3(0.0)
            farthest = wp.max(wp.length(way), wp.length(way + displacement[i]))
            if seen[p] == 0 or not farthest < 0.999 * radius:
                anew[world_of(particles, p, anew)] = 1
        i = next_item(work, i)


@wp.func
def world_of(particles: Particles, p: int, worlds: wp.array(dtype=wp.int32)):
    """The world of a particle, the last one for none."""
    return wp.where(particles.world[p] < 0, worlds.shape[0] - 1, particles.world[p])


@wp.kernel(enable_backward=False)
def keep_known(
    work: Work, particle: wp.array(dtype=wp.int32), particles: Particles, anew: wp.array(dtype=wp.int32), reach: Reach
):  # fmt: skip
    """The pairs of the last reference hold in the worlds where they are all there are."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if particle[i] < particles.mass.shape[0]:
            reach.mover[i] = wp.where(anew[world_of(particles, particle[i], anew)] == 0, 1.0, -1.0)
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
    work: Work, particle: wp.array(dtype=wp.int32), count: int, displacement: wp.array(dtype=wp.vec3), radius: float, reach: Reach,
    searched: Searched,
):  # fmt: skip
    """A new reference: where the indices are now, with as much room around everyone."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if particle[i] < count:
            d = displacement[i]
            x = reach.start[i] + d
            room = wp.vec3(radius) + widen(x)
            reach.shift[i] = d
            searched.start[i] = reach.start[i]
            searched.shift[i] = d
            reach.low[i] = x - room
            reach.high[i] = x + room
            reach.radius[i] = radius
            reach.mover[i] = 1.0
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def reach_along(
    work: Work, particle: wp.array(dtype=wp.int32), particles: Particles, displacement: wp.array(dtype=wp.vec3), radius: float,
    wanted: wp.array(dtype=wp.int32), reach: Reach, any_mover: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The ways since the reference; movers are those that leave the radius in which all pairs are known, in the ``wanted`` worlds."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if particle[i] < particles.mass.shape[0]:
            x = reach.start[i] + reach.shift[i]
            y = reach.start[i] + displacement[i]
            way = wp.length(displacement[i] - reach.shift[i])
            band = band_at(x)  # pairs that come nearer than that are held, so they are to be found
            room = widen(x) + widen(y) + wp.vec3(band)
            reach.low[i] = wp.min(x, y) - room
            reach.high[i] = wp.max(x, y) + room
            reach.radius[i] = way + band
            reach.mover[i] = 0.0
            if not way <= 0.999 * radius and wanted[world_of(particles, particle[i], wanted)] != 0:
                reach.mover[i] = 1.0
                any_mover[0] = 1
        i = next_item(work, i)


@functools.cache
def make_limit_kernel(kind: PairKind) -> Any:
    """The kernel that finds the scales for the pairs of a kind."""
    one_sided = int(kind.first == 1)

    @wp.func
    def way(displacement: wp.array(dtype=wp.vec3), i: IndexLanes, n: VectorL, shift: Lanes):
        """How far 16 corners have moved along the normal since the reference."""
        return dot(n, gather_vectors(displacement, i)) - shift

    @wp.func
    def scale(height: Lanes, rise: Lanes, band: Lanes, relaxation: float):
        """(1) for a corner at ``height`` above its plane that rises by so much."""
        least = select(
            neg(height + 0.5 * band), ROUNDING * band, spread(0.0)
        )  # without any room, rounding must not bring them nearer
        held = select(least - rise, spread(0.0), spread(1.0))
        drop = larger(neg(rise), spread(1.0e-30))
        inside = select(neg(height + rise), smaller(relaxation * height / drop, spread(1.0)), spread(1.0))
        return select(neg(height), held, inside)

    @wp.func
    def to_fixed(free: Lanes, bound: Lanes, otherwise: Lanes):
        return select(free, otherwise, bound)

    @wp.func
    def scaled(limits: Limits, i: IndexLanes):
        """By how much the ways of 16 corners were scaled before this round."""
        return select(gather_numbers(limits.free, i), gather_numbers(limits.settled, i), spread(1.0))

    @wp.func
    def limit_group(
        group: int, pairs: Pairs, fails: Lanes, a: Lanes, b: Lanes, c: Lanes, d: Lanes, relaxation: float, number: int, limits: Limits
    ):  # fmt: skip
        """(1) for the pairs of a group that fail."""
        ia, ib, ic, id = pair_corners(pairs, group)
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
        one = spread(1.0)
        ta = select(fails, scale(up + oa, a, band, relaxation), one)
        tb = scale(up + ob, b, band, relaxation)
        if one_sided != 0:
            tb = scale(down + ob, neg(b), band, relaxation)
        tb = select(fails, tb, one)
        tc = select(fails, scale(down + oc, neg(c), band, relaxation), one)
        td = select(fails, scale(down + od, neg(d), band, relaxation), one)
        less = smaller(
            smaller(ta - scaled(limits, ia), tb - scaled(limits, ib)), smaller(tc - scaled(limits, ic), td - scaled(limits, id))
        )
        if lowest(less) < 0.0:
            limits.changed[number] = 1
            scatter_least(ta, ia, limits.scale)
            scatter_least(tb, ib, limits.scale)
            scatter_least(tc, ic, limits.scale)
            scatter_least(td, id, limits.scale)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def limit_pairs(
        work: Work, candidates: Candidates, pairs: Pairs, displacement: wp.array(dtype=wp.vec3), relaxation: float, number: int,
        limits: Limits,
    ):  # fmt: skip
        """Scale the ways of pairs that would meet; in round ``number``, if the one before has scaled any."""
        group = first_item(work, wp.tid())
        while group >= 0:
            if pair_count(candidates, pairs) > LANES * group and (number == 0 or limits.changed[wp.max(number - 1, 0)] != 0):
                n = vector(pairs.normal[group, 0], pairs.normal[group, 1], pairs.normal[group, 2])
                ia, ib, ic, id = pair_corners(pairs, group)
                a = way(displacement, ia, n, pairs.shift[group, 0])
                b = way(displacement, ib, n, pairs.shift[group, 1])
                c = way(displacement, ic, n, pairs.shift[group, 2])
                d = way(displacement, id, n, pairs.shift[group, 3])
                sa = a
                sb = b
                sc = c
                sd = d
                if number > 0:
                    sa = scaled(limits, ia) * a
                    sb = scaled(limits, ib) * b
                    sc = scaled(limits, ic) * c
                    sd = scaled(limits, id) * d
                low = pairs.offset[group, 0] + sa
                high = larger(sc - pairs.offset[group, 2], sd - pairs.offset[group, 3])
                if one_sided != 0:
                    high = larger(high, sb - pairs.offset[group, 1])
                else:
                    low = smaller(low, pairs.offset[group, 1] + sb)
                gap = pairs.gap[group]
                band = pairs.band[group]
                needed = smaller(larger((1.0 - relaxation) * gap, 2.0 * band), gap)
                needed = needed + select(band - gap, ROUNDING * band, spread(0.0))
                fails = needed - (gap + low - high)
                if number == limits.changed.shape[0] - 1:
                    fails = spread(1.0)
                fails = select(gap, fails, spread(-1.0))
                if highest(fails) > 0.0:
                    limit_group(group, pairs, fails, a, b, c, d, relaxation, number, limits)
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
        limits.settled[i] = 1.0
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def settle_scales(work: Work, number: int, limits: Limits):
    """Before round ``number``: what the one before has scaled."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if limits.changed[number - 1] != 0:
            limits.settled[i] = limits.scale[i]
        i = next_item(work, i)

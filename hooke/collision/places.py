"""Where the shapes of a model stand in a pass, the boxes around them, and which of them may collide at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.kind import GeoType
from hooke.model.enums import BodyFlags, ShapeFlags
from hooke.model.shape_pairs import world_lists
from hooke.model.tables import Bodies, Shapes

__all__ = ["Moving", "Places", "ShapeFilter", "boxes_meet", "is_idle", "make_filter", "make_places", "may_collide", "owner_of",
           "place_shapes", "plane_meets"]  # fmt: skip

COLLIDE_SHAPES = wp.constant(int(ShapeFlags.COLLIDE_SHAPES))
KINEMATIC = wp.constant(int(BodyFlags.KINEMATIC))
FAR = wp.constant(3.0e37)
WHIP = wp.constant(1.5)
"""Speed of the far end of a thin rod after its other end was stopped, relative to that before: the most that an impact makes of it."""
ROUNDING = wp.constant(4.0 / 2.0**23)
"""Part of its distance from the origin by which a box is made larger."""


@wp.struct
class Moving:
    """Where bodies are, and how far a pass looks ahead: to where shapes may be after the time ``dt`` [s], read with velocities and
    ``gravity`` only if it is positive. With a positive ``most`` [m] gaps grow by that way, at most so far; else to that way, if they
    are smaller.
    """

    body_q: wp.array(dtype=wp.transform)
    body_qd: wp.array(dtype=wp.spatial_vector)
    gravity: wp.array(dtype=wp.vec3)
    dt: wp.float32
    most: wp.float32


@wp.struct
class Places:
    """Where shapes stand: at ``base + arm``, turned by ``rotation``; the base is the origin of the body (of the shape, when static).

    Differences of bases are taken before arms are added, so that far from the origin nothing is lost. ``low`` and ``high`` are the
    boxes around the surface with margin, gap and ``ahead``, what a shape may move in a pass that looks ahead; empty for a shape that
    does not collide, an infinite plane, and, after the last shape, nobody. ``core`` is the radius of a sphere or capsule, else 0.
    """

    base: wp.array(dtype=wp.vec3)
    arm: wp.array(dtype=wp.vec3)
    rotation: wp.array(dtype=wp.quat)
    center: wp.array(dtype=wp.vec3)
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    ahead: wp.array(dtype=wp.float32)
    core: wp.array(dtype=wp.float32)


@wp.struct
class ShapeFilter:
    """Which shapes may collide.

    ``partner[start[i] : start[i + 1]]``, sorted: shapes that a filter keeps from ``i``. ``infinite`` is 1 for a plane without end.
    ``met`` lists by world, from ``met_start[w]`` on, the shapes with a box that meet it, ``plane`` from ``plane_start[w]`` on the
    infinite planes; the last world is that of what belongs to none. With ``idle`` 0, two shapes of which neither is on a dynamic body
    do not collide.
    """

    start: wp.array(dtype=wp.int32)
    partner: wp.array(dtype=wp.int32)
    infinite: wp.array(dtype=wp.int32)
    met_start: wp.array(dtype=wp.int32)
    met: wp.array(dtype=wp.int32)
    plane_start: wp.array(dtype=wp.int32)
    plane: wp.array(dtype=wp.int32)
    idle: wp.int32


def make_places(types: np.ndarray, scales: np.ndarray, device: Any) -> Places:
    """Room for the places of shapes of some types and scales."""
    count = len(types)
    places = Places()
    for name, annotation in Places.vars.items():
        length = count + 2 if name in ("low", "high") else count  # nobody, and what a load of vectors reads beyond
        setattr(places, name, wp.zeros(length, dtype=annotation.type.dtype, device=device))
    places.low.fill_(wp.vec3(FAR))
    places.high.fill_(wp.vec3(-FAR))
    rounded = np.isin(types, (GeoType.SPHERE, GeoType.CAPSULE))
    places.core = wp.array(np.where(rounded, scales[:, 0], 0.0), dtype=wp.float32, device=device)
    return places


def make_filter(
    types: np.ndarray, scales: np.ndarray, world: np.ndarray, worlds: int, pairs: Any, idle: bool, device: Any
) -> ShapeFilter:
    """The filter of a scene: ``pairs`` (i, j) of shapes never collide."""
    count = len(types)
    infinite = (types == GeoType.PLANE) & ((scales[:, 0] == 0.0) | (scales[:, 1] == 0.0))
    barred = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    barred = np.concatenate([barred, barred[:, ::-1]])
    barred = barred[np.lexsort((barred[:, 1], barred[:, 0]))]
    made = ShapeFilter()
    made.idle = int(idle)
    lists = {
        "start": np.searchsorted(barred[:, 0], np.arange(count + 1)), "partner": barred[:, 1], "infinite": infinite,
    }  # fmt: skip
    for name, chosen in (("met", np.flatnonzero(~infinite)), ("plane", np.flatnonzero(infinite))):
        start, entries = world_lists(world[chosen], worlds)
        lists |= {f"{name}_start": start, name: chosen[entries]}
    for name, values in lists.items():
        setattr(made, name, wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device=device))
    return made


@wp.func
def rank_of(s: int, shapes: Shapes, pairs: ShapeFilter):
    if shapes.body[s] < 0:
        return 2
    return pairs.infinite[s]


@wp.func
def owner_of(i: int, j: int, shapes: Shapes, pairs: ShapeFilter):
    """Of two shapes the one that lists the pair: what moves before what does not, shapes before planes, the smaller index first."""
    a = rank_of(i, shapes, pairs)
    b = rank_of(j, shapes, pairs)
    if a == b:
        return wp.min(i, j)
    return wp.where(a < b, i, j)


@wp.func
def is_barred(i: int, j: int, pairs: ShapeFilter):
    low = pairs.start[i]
    end = pairs.start[i + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if pairs.partner[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low < end and pairs.partner[low] == j


@wp.func
def is_idle(s: int, shapes: Shapes, bodies: Bodies):
    b = shapes.body[s]
    return b < 0 or (bodies.flags[b] & KINEMATIC) != 0


@wp.func
def may_collide(i: int, j: int, shapes: Shapes, bodies: Bodies, pairs: ShapeFilter):
    """Whether two shapes are ever asked for contacts, wherever they are. Those without COLLIDE_SHAPES have an empty box already."""
    if shapes.body[i] == shapes.body[j]:  # of one body, or both static
        return False
    if shapes.world[i] != shapes.world[j] and shapes.world[i] >= 0 and shapes.world[j] >= 0:
        return False
    a = shapes.collision_group[i]
    b = shapes.collision_group[j]
    if a == 0 or b == 0:
        return False
    if (a > 0 and b > 0 and a != b) or (a < 0 and a == b):
        return False
    if pairs.idle == 0 and is_idle(i, shapes, bodies) and is_idle(j, shapes, bodies):
        return False
    return not is_barred(i, j, pairs)


@wp.func
def boxes_meet(i: int, j: int, places: Places):
    a = places.low[i]
    b = places.high[j]
    c = places.low[j]
    d = places.high[i]
    return a[0] <= b[0] and a[1] <= b[1] and a[2] <= b[2] and c[0] <= d[0] and c[1] <= d[1] and c[2] <= d[2]


@wp.func
def plane_meets(p: int, s: int, shapes: Shapes, places: Places):
    """Whether the box of shape ``s`` reaches an infinite plane."""
    if places.high[s][0] < places.low[s][0] or (shapes.flags[p] & COLLIDE_SHAPES) == 0:
        return False
    n = wp.quat_rotate(places.rotation[p], wp.vec3(0.0, 0.0, 1.0))
    half = 0.5 * (places.high[s] - places.low[s])
    middle = (places.low[s] + half - places.base[p]) - places.arm[p]
    lowest = wp.dot(n, middle) - wp.dot(wp.vec3(wp.abs(n[0]), wp.abs(n[1]), wp.abs(n[2])), half)
    return lowest <= shapes.margin[p] + shapes.gap[p] + places.ahead[p]


@wp.func
def world_of(world: int, count: int):
    """Where the entry of a world is in an array over worlds, of which the last of ``count`` is for what belongs to none."""
    return wp.where(world < 0, count - 1, world)


@wp.func
def way_of(s: int, b: int, moving: Moving, shapes: Shapes, bodies: Bodies):
    """How much farther than its gap a pass looks from a shape on body ``b``, of which no point is faster than what is taken here."""
    twist = moving.body_qd[b]
    arm = wp.transform_get_translation(shapes.transform[s]) - bodies.com[b]
    fastest = wp.length(wp.spatial_top(twist)) + wp.length(wp.spatial_bottom(twist)) * (wp.length(arm) + shapes.collision_radius[s])
    way = moving.dt * fastest
    if moving.most > 0.0:
        return wp.min(moving.most, way)
    if bodies.inv_mass[b] > 0.0:
        way = WHIP * way + moving.dt * moving.dt * wp.length(moving.gravity[world_of(bodies.world[b], moving.gravity.shape[0])])
    return wp.max(way - shapes.gap[s], 0.0)


@wp.kernel(enable_backward=False)
def place_shapes(work: Work, shapes: Shapes, bodies: Bodies, pairs: ShapeFilter, moving: Moving, places: Places):
    s = first_item(work, wp.tid())
    while s >= 0:
        b = shapes.body[s]
        base = wp.transform_get_translation(shapes.transform[s])
        rotation = wp.transform_get_rotation(shapes.transform[s])
        arm = wp.vec3(0.0)
        ahead = float(0.0)
        if b >= 0:
            arm = wp.quat_rotate(wp.transform_get_rotation(moving.body_q[b]), base)
            base = wp.transform_get_translation(moving.body_q[b])
            rotation = wp.transform_get_rotation(moving.body_q[b]) * rotation
            if moving.dt > 0.0:
                ahead = way_of(s, b, moving, shapes, bodies)
        places.base[s] = base
        places.arm[s] = arm
        places.rotation[s] = rotation
        places.ahead[s] = ahead
        half = 0.5 * (shapes.collision_aabb_upper[s] - shapes.collision_aabb_lower[s])
        middle = wp.quat_rotate(rotation, shapes.collision_aabb_lower[s] + half) + arm
        turn = wp.quat_to_matrix(rotation)
        extent = wp.vec3(places.core[s])
        half = half - extent
        reach = shapes.margin[s] + shapes.gap[s] + ahead
        for k in range(3):
            extent[k] = (
                extent[k] + reach + wp.abs(turn[k, 0]) * half[0] + wp.abs(turn[k, 1]) * half[1] + wp.abs(turn[k, 2]) * half[2]
            )
            extent[k] = extent[k] + ROUNDING * (wp.abs(base[k]) + wp.abs(middle[k]) + extent[k])
        center = base + middle
        places.center[s] = center
        places.low[s] = center - extent
        places.high[s] = center + extent
        if (shapes.flags[s] & COLLIDE_SHAPES) == 0 or pairs.infinite[s] != 0:
            places.low[s] = wp.vec3(FAR)
            places.high[s] = wp.vec3(-FAR)
        s = next_item(work, s)

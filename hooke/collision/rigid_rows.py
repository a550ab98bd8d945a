"""From pairs of shapes to rows of contacts: what is found goes to a pool, and from there to rows in the order of the pairs."""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.collision.broad_phase import ShapePairs
from hooke.collision.manifold import Manifold
from hooke.collision.matching import Memory, match_pair
from hooke.collision.narrow_phase import make_pair_contact
from hooke.collision.places import Places
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.convex import ShapeGeometry
from hooke.geometry.kind import GeoType
from hooke.geometry.shapes import shape_kind
from hooke.model.contacts import RigidRows
from hooke.model.tables import Shapes

__all__ = ["BLOCK", "MESHES", "PairOrder", "Pool", "Touched", "count_losses", "make_collide_pairs", "ordered", "pair_count", "pair_reach",
           "relative_pose", "start_in_pool", "write_kinds", "write_rigid_rows"]  # fmt: skip

BLOCK = wp.constant(16)
"""Pairs that a thread of a CPU does at a time."""
SURELY = wp.constant(1.0001)
"""Square of a distance of origins, relative to that of balls that touch, beyond which shapes are apart in spite of rounding."""
LAST_KIND = wp.constant(1 << 20)
MESHES = (GeoType.MESH, GeoType.HFIELD)
"""Shapes that are looked at triangle by triangle."""


@wp.struct
class Touched:
    """Of every pair: the ``number`` of contacts, with running sum ``end``, and where in the pool they begin. ``total`` counts all, also
    those that the pool had no room for.
    """

    number: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    start: wp.array(dtype=wp.int32)
    total: wp.array(dtype=wp.int32)


@wp.struct
class PairOrder:
    """The order in which pairs are treated: by the types of their shapes, so that neighbouring threads do the same. Both arrays are twice
    as long as there is room for pairs, for sorting; empty ones leave the pairs as they are.
    """

    kind: wp.array(dtype=wp.int32)
    pair: wp.array(dtype=wp.int32)


@wp.struct
class Pool:
    """Contacts in no order: the points on the true surfaces in the frames of both shapes, the unit normal from shape 0 to shape 1 in the
    frame of shape 0, the distance along it, and which feature of the pair it is.
    """

    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    distance: wp.array(dtype=wp.float32)
    feature: wp.array(dtype=wp.int32)


@wp.func
def ordered(i: int, j: int, shapes: Shapes):
    """Two shapes as a row has them: the smaller GeoType first, of two alike the smaller index."""
    swap = shapes.type[j] < shapes.type[i] or (shapes.type[j] == shapes.type[i] and j < i)
    return wp.where(swap, j, i), wp.where(swap, i, j)


@wp.func
def relative_pose(a: int, b: int, places: Places):
    """The pose of shape ``b`` in the frame of shape ``a``."""
    inverse = wp.quat_inverse(places.rotation[a])
    between = (places.base[b] - places.base[a]) + (places.arm[b] - places.arm[a])
    return wp.transform(wp.quat_rotate(inverse, between), inverse * places.rotation[b])


@wp.func
def pair_reach(a: int, b: int, shapes: Shapes, places: Places):
    """Distance of the true surfaces below which a contact is a row."""
    return shapes.margin[a] + shapes.margin[b] + shapes.gap[a] + shapes.gap[b] + places.ahead[a] + places.ahead[b]


@wp.func
def pair_count(pairs: ShapePairs):
    """Number of pairs, those without room left out."""
    return wp.min(pairs.end[pairs.end.shape[0] - 1], pairs.owner.shape[0])


@wp.func
def geometry_of(s: int, shapes: Shapes):
    geometry = ShapeGeometry()
    geometry.type = shapes.type[s]
    geometry.scale = shapes.scale[s]
    geometry.source = shapes.source_ptr[s]
    geometry.radius = shapes.collision_radius[s]
    return geometry


@wp.func_native("""
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    return atomicAdd(x.data, n);
#else
    return __atomic_fetch_add(x.data, n, __ATOMIC_RELAXED);
#endif
""")
def take_room(n: int, x: wp.array(dtype=wp.int32)) -> int:
    """Count up by ``n``, from several threads; the value before."""


@wp.func
def start_in_pool(p: int, n: int, touched: Touched, pool: Pool):
    """Where the ``n`` contacts of pair ``p`` go, -1 where there is no room; they count either way."""
    start = take_room(n, touched.total)
    touched.start[p] = start
    return wp.where(start + n > pool.feature.shape[0], -1, start)


@wp.func
def pool_manifold(p: int, found: Manifold, touched: Touched, pool: Pool):
    """Put the contacts of pair ``p`` into the pool, sorted by feature; their number, 0 where there is no room."""
    if found.count == 0:
        return 0
    at = start_in_pool(p, found.count, touched, pool)
    if at < 0:
        return 0
    for k in range(found.count):
        rank = at
        for other in range(found.count):
            before = found.feature[other] < found.feature[k] or (found.feature[other] == found.feature[k] and other < k)
            rank += wp.where(before, 1, 0)
        pool.point0[rank] = found.point0[k]
        pool.point1[rank] = found.point1[k]
        pool.normal[rank] = found.normal
        pool.distance[rank] = found.distance[k]
        pool.feature[rank] = found.feature[k]
    return found.count


@wp.kernel(enable_backward=False)
def write_kinds(work: Work, pairs: ShapePairs, shapes: Shapes, order: PairOrder):
    """Every pair with a number for the types of both shapes; what is no pair comes last."""
    p = first_item(work, wp.tid())
    while p >= 0:
        order.pair[p] = p
        order.kind[p] = LAST_KIND
        if p < pair_count(pairs):
            a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
            order.kind[p] = shapes.type[a] * 16 + shapes.type[b]
        p = next_item(work, p)


@functools.cache
def make_collide_pairs(codes: tuple[int, ...]) -> Any:
    """The narrow phase of convex shapes, for the kinds of a scene."""
    contact = make_pair_contact(tuple(shape_kind(code) for code in codes if code not in MESHES))
    mesh, hfield = int(GeoType.MESH), int(GeoType.HFIELD)

    @wp.kernel(module="unique", enable_backward=False)
    def collide_pairs(
        work: Work, pairs: ShapePairs, order: PairOrder, shapes: Shapes, places: Places, touched: Touched, pool: Pool
    ):  # fmt: skip
        block = first_item(work, wp.tid())
        while block >= 0:
            count = pair_count(pairs)
            for n in range(BLOCK * block, wp.min(BLOCK * block + BLOCK, pairs.owner.shape[0])):
                p = n
                if order.pair.shape[0] > 0:
                    p = order.pair[n]
                kept = int(0)
                if p < count:
                    a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
                    by_triangle = shapes.type[a] == hfield or shapes.type[a] == mesh or shapes.type[b] == mesh
                    if not by_triangle:
                        reach = pair_reach(a, b, shapes, places)
                        pose = relative_pose(a, b, places)
                        away = reach + shapes.collision_radius[a] + shapes.collision_radius[b]
                        if wp.length_sq(wp.transform_get_translation(pose)) < SURELY * away * away:
                            found = contact(geometry_of(a, shapes), geometry_of(b, shapes), pose, reach)
                            kept = pool_manifold(p, found, touched, pool)
                touched.number[p] = kept
            block = next_item(work, block)

    return collide_pairs


@wp.func
def write_rigid_row(r: int, p: int, n: int, a: int, b: int, shapes: Shapes, places: Places, pool: Pool, rows: RigidRows):
    """Row ``r``: contact ``n`` of the pool, of pair ``p`` of the shapes ``a`` and ``b``."""
    normal0 = pool.normal[n]
    normal = wp.quat_rotate(places.rotation[a], normal0)
    normal1 = wp.quat_rotate_inv(places.rotation[b], normal)
    margin0 = places.core[a] + shapes.margin[a]
    margin1 = places.core[b] + shapes.margin[b]
    rows.shape0[r] = a
    rows.shape1[r] = b
    rows.point0[r] = wp.transform_point(shapes.transform[a], pool.point0[n] - places.core[a] * normal0)
    rows.point1[r] = wp.transform_point(shapes.transform[b], pool.point1[n] + places.core[b] * normal1)
    rows.normal[r] = normal
    rows.offset0[r] = margin0 * wp.transform_vector(shapes.transform[a], normal0)
    rows.offset1[r] = -margin1 * wp.transform_vector(shapes.transform[b], normal1)
    rows.margin0[r] = margin0
    rows.margin1[r] = margin1
    rows.point_id[r] = pool.feature[n]
    rows.tids[r] = p


@wp.kernel(enable_backward=False)
def write_rigid_rows(
    work: Work, pairs: ShapePairs, shapes: Shapes, places: Places, touched: Touched, pool: Pool, memory: Memory, rows: RigidRows
):  # fmt: skip
    """The rows of all pairs, in the order of pairs and features."""
    block = first_item(work, wp.tid())
    while block >= 0:
        for p in range(BLOCK * block, wp.min(BLOCK * block + BLOCK, pair_count(pairs))):
            number = touched.number[p]
            if number > 0:
                start = touched.start[p]
                first = touched.end[p] - number
                a, b = ordered(pairs.owner[p], pairs.other[p], shapes)
                for k in range(wp.min(number, rows.shape0.shape[0] - first)):
                    write_rigid_row(first + k, p, start + k, a, b, shapes, places, pool, rows)
                if memory.mode > 0:
                    last = wp.min(touched.end[p], rows.shape0.shape[0])
                    match_pair(pairs.owner[p], pairs.other[p], first, last, shapes, places, memory, rows)
        block = next_item(work, block)


@wp.kernel(enable_backward=False)
def count_losses(
    work: Work, pairs: ShapePairs, boxes: wp.array(dtype=wp.int32), room: int, touched: Touched, pool: Pool,
    counters: wp.array(dtype=wp.int32),
):  # fmt: skip
    """What a pass had no room for inside the pipeline: pairs of boxes (of ``room``), pairs of shapes and contacts."""
    one = first_item(work, wp.tid())
    while one >= 0:
        lost = wp.max(boxes[0] - room, 0) + wp.max(pairs.end[pairs.end.shape[0] - 1] - pairs.owner.shape[0], 0)
        counters[2] = lost + wp.max(touched.total[0] - pool.feature.shape[0], 0)
        one = next_item(work, one)

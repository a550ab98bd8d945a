"""Contacts between particles and shapes: for every particle, the shapes of its world and the shared ones.

Rows are found in two passes of one kernel: the first counts per particle, the second writes behind the running sum. A row thus
has a place that depends on nothing but the data, rows of a particle are adjacent, and the number needed is known exactly. The first
pass remembers what it saw, so that the second asks again only where a particle meets several shapes.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.kind import SurfacePoint
from hooke.geometry.shapes import shape_distance_of, shape_kind
from hooke.model.contacts import SoftRows
from hooke.model.enums import BodyFlags, ParticleFlags, ShapeFlags
from hooke.model.tables import Bodies, Particles, Shapes

__all__ = ["Candidates", "Pass", "Poses", "Sightings", "make_detection", "make_sightings",
           "out_of_reach", "place_moving_shapes", "place_shapes", "way_ahead", "way_of", "write_row"]  # fmt: skip

ACTIVE = wp.constant(int(ParticleFlags.ACTIVE))
ROUNDING = wp.constant(1.0e-5)
"""Part of its distance from the origin by which a box is made larger."""
UNLIMITED = wp.constant(1.0e10)
KINEMATIC = wp.constant(int(BodyFlags.KINEMATIC))
COLLIDE_PARTICLES = wp.constant(int(ShapeFlags.COLLIDE_PARTICLES))


@wp.struct
class Candidates:
    """Shapes that the particles of a world may meet: ``shape[start[w] : start[w + 1]]``, the last world being "none".

    ``mesh`` is the handle of each shape's geometry, ``mesh_scale`` the scale at which it is to be asked, and ``is_open`` 1 where it is
    a mesh with holes, which is to be asked however far it is.
    """

    start: wp.array(dtype=wp.int32)
    shape: wp.array(dtype=wp.int32)
    mesh: wp.array(dtype=wp.uint64)
    mesh_scale: wp.array(dtype=wp.vec3)
    is_open: wp.array(dtype=wp.int32)


@wp.struct
class Pass:
    """A pass over particles at ``x``: it counts their rows, or it ``writes`` them up to ``end`` of every particle.

    ``gap`` [m] beyond the contact distance makes a row, and so does what a particle with velocity ``v`` and a shape may approach each
    other in the time ``lookahead`` [s]; without that ``v`` is not read. A thread does ``block`` particles, since a CPU copies all
    arguments for every thread.
    """

    gap: wp.float32
    lookahead: wp.float32
    writes: wp.int32
    block: wp.int32
    x: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)
    end: wp.array(dtype=wp.int32)


@wp.struct
class Poses:
    """World poses of all shapes, and the inverses of those at which they are looked at.

    With a lookahead also the ``velocity`` of their origins, and by how much that of their other points differs at most, ``spin``.
    """

    pose: wp.array(dtype=wp.transform)
    inverse: wp.array(dtype=wp.transform)
    velocity: wp.array(dtype=wp.vec3)
    spin: wp.array(dtype=wp.float32)


@wp.struct
class Sightings:
    """What particles see, then edges, then faces: the ``number`` of surfaces, and of the last one the pair (an index into
    ``Candidates.shape``) and the point; of edges and faces, counted from 0, also the ``weights`` of the corners.
    """

    number: wp.array(dtype=wp.int32)
    candidate: wp.array(dtype=wp.int32)
    answer: wp.array(dtype=SurfacePoint)
    weights: wp.array(dtype=wp.vec3)


def make_sightings(particles: int, facets: int, device: Any) -> Sightings:
    """Room for what some particles, edges and faces see."""
    seen = Sightings()
    seen.number = wp.zeros(particles + facets, dtype=wp.int32, device=device)
    seen.candidate = wp.zeros(particles + facets, dtype=wp.int32, device=device)
    seen.answer = wp.zeros(particles + facets, dtype=SurfacePoint, device=device)
    seen.weights = wp.zeros(facets, dtype=wp.vec3, device=device)
    return seen


@wp.func
def way_ahead(i: int, s: int, todo: Pass, poses: Poses):
    """How far particle ``i`` and shape ``s`` may approach each other in the time to look ahead."""
    way = float(0.0)
    if todo.lookahead > 0.0:
        way = todo.lookahead * (wp.length(todo.v[i] - poses.velocity[s]) + poses.spin[s])
    return way


@wp.func
def shapes_of_world(candidates: Candidates, world: int):
    """The range of a world in ``candidates.shape``; the last world is that of what belongs to none."""
    w = wp.where(world < 0, candidates.start.shape[0] - 2, world)
    return candidates.start[w], candidates.start[w + 1]


@functools.cache
def make_detection(codes: tuple[int, ...]) -> Any:
    """The kernel of both passes, for the kinds of shapes of a scene."""
    distance = shape_distance_of(tuple(shape_kind(code) for code in codes))

    @wp.func
    def nearest(s: int, p: wp.vec3, reach: float, shapes: Shapes, candidates: Candidates):
        """The surface of shape ``s`` seen from ``p`` in its frame; not found beyond the reach of contact."""
        lower = shapes.collision_aabb_lower[s] - wp.vec3(reach)
        upper = shapes.collision_aabb_upper[s] + wp.vec3(reach)
        inside = p[0] >= lower[0] and p[1] >= lower[1] and p[2] >= lower[2]  # false where a coordinate is not a number
        inside = inside and p[0] <= upper[0] and p[1] <= upper[1] and p[2] <= upper[2]
        answer = SurfacePoint(0.0, wp.vec3(0.0, 0.0, 1.0), 0)
        if inside and (shapes.flags[s] & COLLIDE_PARTICLES) != 0 and wp.isfinite(p):
            sight = wp.where(candidates.is_open[s] != 0, UNLIMITED, reach)
            answer = distance(shapes.type[s], p, candidates.mesh_scale[s], candidates.mesh[s], sight)
            if answer.distance >= reach:
                answer.found = 0
        return answer

    @wp.func
    def detect(
        i: int, known: int, todo: Pass, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses, rows: SoftRows,
        seen: Sightings,
    ):  # fmt: skip
        """Number of rows of particle ``i``; ``known`` when they are written, and -1 when they are counted."""
        found = int(0)
        first = int(0)
        last = int(0)
        if (particles.flags[i] & ACTIVE) != 0:
            w = particles.world[i]
            first, last = shapes_of_world(candidates, w)
        if known == 1:
            first = seen.candidate[i]
            last = first + 1
        for c in range(first, last):
            s = candidates.shape[c]
            p = wp.transform_point(poses.inverse[s], todo.x[i])
            answer = seen.answer[i]
            if known != 1:
                reach = particles.radius[i] + todo.gap + shapes.margin[s] + way_ahead(i, s, todo, poses)
                answer = nearest(s, p, reach, shapes, candidates)
            if answer.found != 0:
                if known < 0:
                    seen.candidate[i] = c
                    seen.answer[i] = answer
                else:
                    corner = wp.vec3i(i, -1, -1)
                    whole = wp.vec3(1.0, 0.0, 0.0)
                    r = todo.end[i] - known + found
                    write_row(r, i, corner, whole, c, s, p, poses.pose[s], answer, shapes, rows)
                found += 1
        return found

    # All arrays are in structs: Warp compiles a kernel that is given arrays of one dimension twice.
    @wp.kernel(module="unique", enable_backward=False)
    def detect_soft_contacts(
        work: Work, todo: Pass, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses, rows: SoftRows,
        seen: Sightings,
    ):  # fmt: skip
        block = first_item(work, wp.tid())
        while block >= 0:
            begin = block * todo.block
            end = wp.min(begin + todo.block, particles.flags.shape[0])
            clear = int(0)
            if todo.writes == 0 and todo.block > 1:
                clear = is_clear(begin, end, todo, particles, shapes, candidates, poses)
            for i in range(begin, end):
                known = int(-1)
                if todo.writes != 0:
                    known = seen.number[i]
                if clear != 0:
                    seen.number[i] = 0
                elif known != 0:
                    seen.number[i] = detect(i, known, todo, particles, shapes, candidates, poses, rows, seen)
            block = next_item(work, block)

    return detect_soft_contacts


@wp.func
def way_of(i: int, todo: Pass):
    """How far a particle moves in the time to look ahead."""
    return todo.lookahead * wp.length(todo.v[i])


@wp.func
def is_clear(
    begin: int, end: int, todo: Pass, particles: Particles, shapes: Shapes, candidates: Candidates, poses: Poses
):  # fmt: skip
    """1 if the box around some particles of one world is out of reach of all its shapes; 0 if it is not, or a coordinate is no number."""
    w = particles.world[begin]
    lower = todo.x[begin]
    upper = lower
    size = float(0.0)
    ahead = float(0.0)
    spoilt = float(0.0)
    for i in range(begin, end):
        x = todo.x[i]
        lower = wp.min(lower, x)
        upper = wp.max(upper, x)
        size = wp.max(size, particles.radius[i])
        if todo.lookahead > 0.0:
            ahead = wp.max(ahead, way_of(i, todo))
        spoilt += 0.0 * (x[0] + x[1] + x[2])  # becomes nan
        if particles.world[i] != w:
            return 0
    if spoilt != 0.0:
        return 0
    return out_of_reach(w, lower, upper, size + ahead, todo, shapes, candidates, poses)


@wp.func
def out_of_reach(
    world: int, lower: wp.vec3, upper: wp.vec3, size: float, todo: Pass, shapes: Shapes, candidates: Candidates, poses: Poses
):  # fmt: skip
    """1 if a box is out of reach of all shapes of a world, for particles of radius ``size``."""
    first, last = shapes_of_world(candidates, world)
    for c in range(first, last):
        s = candidates.shape[c]
        half = 0.5 * (upper - lower)
        inverse = poses.inverse[s]
        middle = wp.transform_point(inverse, lower + half)
        turn = wp.quat_to_matrix(wp.transform_get_rotation(inverse))
        rounding = ROUNDING * (wp.length(lower) + wp.length(upper) + wp.length(wp.transform_get_translation(inverse)))
        reach = size + todo.gap + shapes.margin[s] + rounding
        if todo.lookahead > 0.0:
            reach += todo.lookahead * (wp.length(poses.velocity[s]) + poses.spin[s])
        apart = int(0)
        for k in range(3):
            extent = reach + wp.abs(turn[k, 0]) * half[0] + wp.abs(turn[k, 1]) * half[1] + wp.abs(turn[k, 2]) * half[2]
            if middle[k] - extent > shapes.collision_aabb_upper[s][k] or middle[k] + extent < shapes.collision_aabb_lower[s][k]:
                apart = 1
        if apart == 0:
            return 0
    return 1


@wp.func
def write_row(
    r: int, i: int, corners: wp.vec3i, weights: wp.vec3, c: int, s: int, p: wp.vec3, pose: wp.transform, answer: SurfacePoint,
    shapes: Shapes, rows: SoftRows,
):  # fmt: skip
    """Row ``r``: the point ``p`` of particle ``i`` (-1 for a point between the ``corners``) in the frame of shape ``s``, which stands
    at ``pose``; dropped where there is no room.
    """
    if r >= rows.particle.shape[0]:
        return
    rows.particle[r] = i
    rows.indices[r] = corners
    rows.barycentric[r] = weights
    rows.shape[r] = s
    rows.body_pos[r] = wp.transform_point(shapes.transform[s], p - answer.distance * answer.normal)
    rows.body_vel[r] = wp.vec3(0.0)
    rows.normal[r] = wp.transform_vector(pose, answer.normal)
    rows.tids[r] = c


@wp.kernel(enable_backward=False)
def place_shapes(work: Work, shapes: Shapes, body_q: wp.array(dtype=wp.transform), poses: Poses):
    s = first_item(work, wp.tid())
    while s >= 0:
        pose = shapes.transform[s]
        if shapes.body[s] >= 0:
            pose = body_q[shapes.body[s]] * pose
        poses.pose[s] = pose
        poses.inverse[s] = wp.transform_inverse(pose)
        s = next_item(work, s)


@wp.kernel(enable_backward=False)
def place_moving_shapes(
    work: Work, shapes: Shapes, bodies: Bodies, body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector),
    lookahead: float, poses: Poses,
):  # fmt: skip
    """The same with velocities. Kinematic bodies have been moved already: they are looked at where they come from."""
    s = first_item(work, wp.tid())
    while s >= 0:
        b = shapes.body[s]
        pose = shapes.transform[s]
        poses.velocity[s] = wp.vec3(0.0)
        poses.spin[s] = 0.0
        before = pose
        if b >= 0:
            pose = body_q[b] * pose
            before = pose
            spin = wp.spatial_bottom(body_qd[b])
            origin = wp.transform_get_translation(pose)
            arm = origin - wp.transform_point(body_q[b], bodies.com[b])
            poses.velocity[s] = wp.spatial_top(body_qd[b]) + wp.cross(spin, arm)
            rate = wp.length(spin)
            if rate > 0.0:
                size = wp.max(-shapes.collision_aabb_lower[s], shapes.collision_aabb_upper[s])
                poses.spin[s] = rate * wp.length(wp.max(size, wp.vec3(0.0)))
            if (bodies.flags[b] & KINEMATIC) != 0:
                turn = wp.quat_from_axis_angle(spin / wp.max(rate, 1.0e-30), -lookahead * rate)
                center = origin - arm - lookahead * wp.spatial_top(body_qd[b])
                before = wp.transform(center + wp.quat_rotate(turn, arm), turn * wp.transform_get_rotation(pose))
        poses.pose[s] = pose
        poses.inverse[s] = wp.transform_inverse(before)
        s = next_item(work, s)

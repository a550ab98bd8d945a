"""Contacts between particles and shapes: for every particle, the shapes of its world and the shared ones.

Rows are found in two passes of one function: the first counts per particle, the second writes behind the running sum. A row thus
has a place that depends on nothing but the data, rows of a particle are adjacent, and the number needed is known exactly.
"""

from __future__ import annotations

import functools
from typing import Any

import warp as wp

from hooke.geometry.kind import SurfacePoint
from hooke.geometry.shapes import shape_distance_of, shape_kind
from hooke.model.contacts import SoftRows
from hooke.model.enums import ParticleFlags, ShapeFlags
from hooke.model.tables import Particles, Shapes

__all__ = ["Candidates", "finish_count", "make_detection"]

ACTIVE = wp.constant(int(ParticleFlags.ACTIVE))
COLLIDE_PARTICLES = wp.constant(int(ShapeFlags.COLLIDE_PARTICLES))


@wp.struct
class Candidates:
    """Shapes that the particles of a world may meet: ``shape[start[w] : start[w + 1]]``, the last world being "none".

    ``mesh`` is the handle of each shape's geometry, and ``mesh_scale`` the scale at which it is to be asked.
    """

    start: wp.array(dtype=wp.int32)
    shape: wp.array(dtype=wp.int32)
    mesh: wp.array(dtype=wp.uint64)
    mesh_scale: wp.array(dtype=wp.vec3)


@functools.cache
def make_detection(codes: tuple[int, ...]) -> tuple[Any, Any]:
    """The kernels (count, write) for the kinds of shapes of a scene."""
    distance = shape_distance_of(tuple(shape_kind(code) for code in codes))

    @wp.func
    def nearest(
        s: int, x: wp.vec3, radius: float, gap: float, shapes: Shapes, candidates: Candidates,
        body_q: wp.array(dtype=wp.transform),
    ):  # fmt: skip
        """The surface of shape ``s`` seen from ``x``, and the pose of the shape; not found beyond the reach of contact."""
        pose = shapes.transform[s]
        if shapes.body[s] >= 0:
            pose = body_q[shapes.body[s]] * pose
        reach = radius + gap + shapes.margin[s]
        p = wp.transform_point(wp.transform_inverse(pose), x)
        lower = shapes.collision_aabb_lower[s] - wp.vec3(reach)
        upper = shapes.collision_aabb_upper[s] + wp.vec3(reach)
        inside = p[0] >= lower[0] and p[1] >= lower[1] and p[2] >= lower[2]  # false where a coordinate is not a number
        inside = inside and p[0] <= upper[0] and p[1] <= upper[1] and p[2] <= upper[2]
        answer = SurfacePoint(0.0, wp.vec3(0.0, 0.0, 1.0), 0)
        if (shapes.flags[s] & COLLIDE_PARTICLES) != 0 and inside and wp.isfinite(x):
            answer = distance(shapes.type[s], p, candidates.mesh_scale[s], candidates.mesh[s], reach)
            if answer.distance >= reach:
                answer.found = 0
        return answer, pose, p

    @wp.func
    def world_of(particles: Particles, candidates: Candidates, i: int):
        w = particles.world[i]
        return wp.where(w < 0, candidates.start.shape[0] - 2, w)

    @wp.kernel(module="unique", enable_backward=False)
    def count_soft_contacts(
        particles: Particles, shapes: Shapes, candidates: Candidates, gap: float, x: wp.array(dtype=wp.vec3),
        body_q: wp.array(dtype=wp.transform), number: wp.array(dtype=wp.int32),
    ):  # fmt: skip
        i = wp.tid()
        found = int(0)
        if (particles.flags[i] & ACTIVE) != 0:
            w = world_of(particles, candidates, i)
            for c in range(candidates.start[w], candidates.start[w + 1]):
                answer, _pose, _p = nearest(candidates.shape[c], x[i], particles.radius[i], gap, shapes, candidates, body_q)
                found += answer.found
        number[i] = found

    @wp.kernel(module="unique", enable_backward=False)
    def write_soft_contacts(
        particles: Particles, shapes: Shapes, candidates: Candidates, gap: float, x: wp.array(dtype=wp.vec3),
        body_q: wp.array(dtype=wp.transform), end: wp.array(dtype=wp.int32), number: wp.array(dtype=wp.int32), rows: SoftRows,
    ):  # fmt: skip
        i = wp.tid()
        if number[i] == 0:
            return
        r = end[i] - number[i]
        w = world_of(particles, candidates, i)
        for c in range(candidates.start[w], candidates.start[w + 1]):
            s = candidates.shape[c]
            answer, pose, p = nearest(s, x[i], particles.radius[i], gap, shapes, candidates, body_q)
            if answer.found != 0 and r < rows.particle.shape[0]:
                point = p - answer.distance * answer.normal
                rows.particle[r] = i
                rows.indices[r] = wp.vec3i(i, -1, -1)
                rows.barycentric[r] = wp.vec3(1.0, 0.0, 0.0)
                rows.shape[r] = s
                rows.body_pos[r] = wp.transform_point(shapes.transform[s], point)
                rows.body_vel[r] = wp.vec3(0.0)
                rows.normal[r] = wp.transform_vector(pose, answer.normal)
                rows.tids[r] = c
                r += 1

    return count_soft_contacts, write_soft_contacts


@wp.kernel(enable_backward=False)
def finish_count(end: wp.array(dtype=wp.int32), generation: wp.array(dtype=wp.int32), counters: wp.array(dtype=wp.int32)):
    counters[0] = 0
    counters[1] = 0
    if end.shape[0] > 0:
        counters[1] = end[end.shape[0] - 1]
    generation[0] = wp.where(generation[0] == wp.int32(2147483647), 0, generation[0] + 1)

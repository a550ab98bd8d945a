"""What is kept of contacts from step to step, and what they did to bodies.

A contact is found again by its pair of shapes and its feature; where rows have none, or the feature is gone, by the nearest point on
the same pair: points are kept in the frame of body B, so that its motion does not matter. The force of the step before, turned with the
normal, is the first guess of the next.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.flags import lane_options
from hooke.execution.work import Work, first_item, next_item
from hooke.model.contacts import RigidRows
from hooke.model.tables import Bodies
from hooke.solvers.kamino.contacts.points import contact_frame, make_points
from hooke.solvers.kamino.ncp.problem import make_problem

__all__ = ["WARM_STARTS", "make_memory", "make_memory_kernels"]

BY_POSITION, BY_NET_FORCE, TANGENTIAL, BY_ORDER = (wp.constant(k) for k in (1, 2, 4, 8))
WARM_STARTS = {
    "internal": 8,
    "key_and_position": 1,
    "geom_pair_net_force": 2,
    "key_and_position_with_net_force_backup": 1 | 2,
    "key_and_position_with_tangential_net_force": 1 | 4,
    "key_and_position_with_net_force_backup_and_tangential_net_force": 1 | 2 | 4,
}
"""Ways to find the first guess of a contact by name: the contact of the same number, the contact itself, a share of the force of its pair,
and of its tangential part."""

REACH = wp.constant(0.02)  # distance within which a point is the same [m]
ALIKE = wp.constant(0.9)  # least product of the normals of the same contact


@cache
def make_memory(scalar: Any) -> Any:
    """The struct ``ContactMemory`` over a type of numbers, wp.float64 or wp.float32."""
    vec3 = wp.types.vector(length=3, dtype=scalar)

    class ContactMemory:
        first: wp.array(dtype=wp.int32)
        last: wp.array(dtype=wp.int32)
        shapes: wp.array(dtype=wp.vec2i)
        feature: wp.array(dtype=wp.int32)
        point: wp.array(dtype=wp.vec3)
        normal: wp.array(dtype=vec3)
        force: wp.array(dtype=vec3)
        velocity: wp.array(dtype=vec3)

    ContactMemory.__doc__ = """Contacts of the last step.

    Attributes:
        first: First contact of every world (W,).
        last: One behind its last; equal where nothing is remembered (W,).
        shapes: Shapes of sides A and B.
        feature: Feature of the pair, -1 for none.
        point: On the surface of B, in the frame of its body [m].
        normal: From A to B, world axes.
        force: On B [N], world axes.
        velocity: Of B relative to A with what stabilises it [m/s], world axes.
    """
    ContactMemory.__qualname__ = f"ContactMemory_{scalar.__name__}"
    return wp.struct(ContactMemory)


@cache
def make_memory_kernels(scalar: Any) -> SimpleNamespace:
    """The kernels over a type of numbers.

    Returns:
        ``recall`` (first guesses), ``remember`` (after a solve) and ``read_forces`` (into the buffer of the user). Of world w the rows of
        contacts begin at ``start[w]``.
    """
    Points, Problem, Memory = make_points(scalar), make_problem(scalar), make_memory(scalar)
    vec3 = wp.types.vector(length=3, dtype=scalar)
    options = {"module": "unique", "enable_backward": False, "module_options": lane_options()}

    @wp.func
    def same_pair(points: Points, k: int, memory: Memory, i: int):
        return memory.shapes[i][0] == points.shapes[k][0] and memory.shapes[i][1] == points.shapes[k][1]

    @wp.func
    def place_on(b: int, arm: vec3, bodies: Bodies, body_q: wp.array(dtype=wp.transform)):
        """A point of body b in its frame."""
        lever = wp.vec3(float(arm[0]), float(arm[1]), float(arm[2]))
        return wp.quat_rotate_inv(wp.transform_get_rotation(body_q[b]), lever) + bodies.com[b]

    @wp.func
    def find_again(points: Points, k: int, point: wp.vec3, memory: Memory):
        """The same contact, -1 for none; looked for from where it would be if nothing had changed."""
        w = points.world[k]
        first, last = 1 * memory.first[w], 1 * memory.last[w]
        guess = wp.clamp(first + k - points.first[w], first, wp.max(first, last - 1))
        found, nearest = int(-1), float(REACH)
        step, steps = int(0), 2 * (last - first)
        while step < steps and nearest >= 0.0:
            i = guess + wp.where(step % 2 == 0, step // 2, -1 - step // 2)
            step += 1
            if i >= first and i < last:
                if same_pair(points, k, memory, i) and wp.dot(memory.normal[i], points.normal[k]) > scalar(ALIKE):
                    away = wp.length(memory.point[i] - point)
                    if points.feature[k] >= 0 and memory.feature[i] == points.feature[k]:
                        away = -1.0
                    if away < nearest:
                        found, nearest = i, away
        return found

    @wp.func
    def turned(force: vec3, before: vec3, n: vec3):
        """A force whose normal was ``before``: the same parts along and across n."""
        along = wp.dot(force, before)
        across = force - along * before
        return along * n + (across - wp.dot(across, n) * n)

    @wp.func
    def net_force(points: Points, k: int, memory: Memory):
        """A share of the force of the pair: by the number of its contacts."""
        w = points.world[k]
        total, n = vec3(), points.normal[k]
        for i in range(memory.first[w], memory.last[w]):
            if same_pair(points, k, memory, i):
                total += turned(memory.force[i], memory.normal[i], n)
        number = int(0)
        for i in range(points.first[w], points.first[w + 1]):
            if points.shapes[i][0] == points.shapes[k][0] and points.shapes[i][1] == points.shapes[k][1]:
                number += 1
        return total / scalar(float(number))

    @wp.kernel(**options)
    def recall(
        work: Work,
        points: Points,
        bodies: Bodies,
        body_q: wp.array(dtype=wp.transform),
        memory: Memory,
        start: wp.array(dtype=wp.int32),
        way: int,
        scale: scalar,
        problem: Problem,
    ):
        """First guesses of impulses and velocities; ``scale`` is the share of the force that is kept, times the time step."""
        k = first_item(work, wp.tid())
        while k >= 0:
            if k < points.first[points.first.shape[0] - 1]:
                w = points.world[k]
                n = points.normal[k]
                old, force, velocity = int(-1), vec3(), vec3()
                if (way & BY_POSITION) != 0:
                    old = find_again(points, k, place_on(points.body_b[k], points.arm_b[k], bodies, body_q), memory)
                if (way & BY_ORDER) != 0:
                    i = memory.first[w] + k - points.first[w]
                    if i < memory.last[w]:
                        if same_pair(points, k, memory, i):
                            old = i
                if old >= 0:
                    force = turned(memory.force[old], memory.normal[old], n)
                    velocity = turned(memory.velocity[old], memory.normal[old], n)
                if (way & BY_NET_FORCE) != 0 and old < 0:
                    force = net_force(points, k, memory)
                if (way & TANGENTIAL) != 0:
                    shared = net_force(points, k, memory)
                    force = wp.dot(force, n) * n + (shared - wp.dot(shared, n) * n)
                t, o = contact_frame(n)
                along = wp.max(wp.dot(force, n), scalar(0.0))
                x, y = wp.dot(force, t), wp.dot(force, o)
                most, length = points.friction[k] * along, wp.sqrt(x * x + y * y)
                share = wp.where(length > most, most / wp.max(length, scalar(1.0e-30)), scalar(1.0))
                r = start[w] + 3 * (k - points.first[w])
                problem.impulse[r] = scale * share * x
                problem.impulse[r + 1] = scale * share * y
                problem.impulse[r + 2] = scale * along
                problem.velocity[r] = wp.dot(velocity, t)
                problem.velocity[r + 1] = wp.dot(velocity, o)
                problem.velocity[r + 2] = wp.max(wp.dot(velocity, n), scalar(0.0))
            k = next_item(work, k)

    @wp.kernel(**options)
    def remember(
        work: Work,
        points: Points,
        bodies: Bodies,
        body_q: wp.array(dtype=wp.transform),
        problem: Problem,
        start: wp.array(dtype=wp.int32),
        dt: scalar,
        memory: Memory,
    ):
        """The contacts of this step, for the next; ``body_q`` are the poses that the contacts were found at."""
        k = first_item(work, wp.tid())
        while k >= 0:
            if k == 0:
                for w in range(memory.first.shape[0]):
                    memory.first[w] = points.first[w]
                    memory.last[w] = points.first[w + 1]
            if k < points.first[points.first.shape[0] - 1]:
                w = points.world[k]
                n = points.normal[k]
                t, o = contact_frame(n)
                r = start[w] + 3 * (k - points.first[w])
                impulse = problem.impulse[r] * t + problem.impulse[r + 1] * o + problem.impulse[r + 2] * n
                memory.shapes[k] = points.shapes[k]
                memory.feature[k] = points.feature[k]
                memory.point[k] = place_on(points.body_b[k], points.arm_b[k], bodies, body_q)
                memory.normal[k] = n
                memory.force[k] = impulse / dt
                memory.velocity[k] = problem.velocity[r] * t + problem.velocity[r + 1] * o + problem.velocity[r + 2] * n
            k = next_item(work, k)

    @wp.kernel(**options)
    def read_forces(
        work: Work,
        rows: RigidRows,
        points: Points,
        memory: Memory,
        bodies: Bodies,
        body_q: wp.array(dtype=wp.transform),
        force: wp.array(dtype=wp.vec3),
        wrench: wp.array(dtype=wp.spatial_vector),
    ):
        """Force on the body of shape 1, and where there is room also force and torque about the origin; 0 of rows that are no contact."""
        r = first_item(work, wp.tid())
        while r >= 0:
            f, torque = wp.vec3(0.0), wp.vec3(0.0)
            k = int(-1)
            if r < wp.min(rows.count[0], points.slot.shape[0]):
                k = 1 * points.slot[r]
            if k >= 0:
                b = points.body_b[k]
                on_b = memory.force[k]
                sign = wp.where(memory.shapes[k][1] == rows.shape1[r], 1.0, -1.0)
                f = sign * wp.vec3(float(on_b[0]), float(on_b[1]), float(on_b[2]))
                torque = wp.cross(wp.transform_point(body_q[b], memory.point[k]), f)
            force[r] = f
            if r < wrench.shape[0]:
                wrench[r] = wp.spatial_vector(f[0], f[1], f[2], torque[0], torque[1], torque[2])
            r = next_item(work, r)

    return SimpleNamespace(recall=recall, remember=remember, read_forces=read_forces)

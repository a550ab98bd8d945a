"""Where inertia takes the particles: the minimiser of the kinetic part of the step, and the first guess.

The guess is that of the paper of vertex block descent. With the push p = g + f/m, its direction e and the acceleration a that the
particle had in the step before,

    d = h v + h^2 clamp(a . e, 0, |p|) e                                                           (1)

A particle in free fall starts where inertia takes it, a resting one where it rests: few sweeps then suffice for both.

A fixed particle stands where the caller has put it. If it came out of a step, it has moved from there over this one, so that dampers
and friction see it move; else it has always been there.
"""

import warp as wp

from hooke.elements.attachment import Attachments, held_point
from hooke.execution.work import Work, first_item, next_item
from hooke.model.enums import ParticleFlags
from hooke.model.tables import Particles
from hooke.solvers.vbd.workspace import VertexMotion

__all__ = ["is_fixed", "place_points", "predict_vertices"]

ACTIVE = wp.constant(int(ParticleFlags.ACTIVE))
MOVED = wp.constant(1.0e-3)  # a move between steps by less than this share of the radius leaves a contact what it is


@wp.func
def is_fixed(particles: Particles, i: int):
    """A particle that forces do not move. Flags and masses are read in every step, so users pin and unpin as they like."""
    return (particles.flags[i] & ACTIVE) == 0 or particles.mass[i] == 0.0 or particles.inv_mass[i] == 0.0


@wp.func
def first_guess(velocity: wp.vec3, old_velocity: wp.vec3, push: wp.vec3, dt: float):
    """The way to start from: (1), with the share of the push that the particle gave way to in the step before."""
    strength = wp.length(push)
    if strength == 0.0:
        return dt * velocity
    along = push / strength
    share = wp.clamp(wp.dot(velocity - old_velocity, along) / dt, 0.0, strength)
    return dt * velocity + dt * dt * share * along


@wp.kernel(enable_backward=False)
def predict_vertices(
    work: Work,
    particles: Particles,
    gravity: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.vec3),
    qd: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    dt: float,
    adaptive: int,
    vertices: VertexMotion,
):
    i = first_item(work, wp.tid())
    while i >= 0:
        start = q[i]
        target = wp.vec3(0.0)
        guess = wp.vec3(0.0)
        if is_fixed(particles, i):
            if vertices.seen[i] != 0:
                start = vertices.x[i]
                target = q[i] - start
                guess = target
        else:
            if wp.length(q[i] - vertices.x[i]) > MOVED * particles.radius[i]:
                vertices.seen[i] = 0  # the caller has put it elsewhere
            w = particles.world[i]
            push = gravity[wp.where(w < 0, gravity.shape[0] - 1, w)] + particles.inv_mass[i] * f[i]
            target = dt * (qd[i] + dt * push)
            guess = target
            if adaptive != 0 and vertices.seen[i] != 0:
                guess = first_guess(qd[i], vertices.velocity[i], push, dt)
        vertices.velocity[i] = qd[i]
        vertices.start[i] = start
        vertices.x[i] = q[i]
        vertices.target[i] = target
        vertices.displacement[i] = guess
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def place_points(
    work: Work, attachments: Attachments, body_q: wp.array(dtype=wp.transform), body_q_prev: wp.array(dtype=wp.transform),
    wind: wp.array(dtype=wp.vec3), dt: float, vertices: VertexMotion,
):  # fmt: skip
    """What elements are tied to, behind the particles: where bodies take the points of attachments, and the wind the air."""
    k = first_item(work, wp.tid())
    while k >= 0:
        p = vertices.start.shape[0] - 1 - attachments.particle.shape[0] + k
        if k < attachments.particle.shape[0]:
            start = held_point(attachments, k, body_q_prev)
            vertices.start[p] = start
            vertices.displacement[p] = held_point(attachments, k, body_q) - start
        else:
            vertices.displacement[p] = dt * wind[0]
        k = next_item(work, k)

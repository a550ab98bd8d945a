"""Where inertia takes the particles: the minimiser of the kinetic part of the step, and the first guess."""

import warp as wp

from hooke.model.enums import ParticleFlags
from hooke.model.tables import Particles
from hooke.solvers.vbd.workspace import VertexMotion

__all__ = ["is_fixed", "predict_vertices"]

ACTIVE = wp.constant(int(ParticleFlags.ACTIVE))


@wp.func
def is_fixed(particles: Particles, i: int):
    """A particle that forces do not move. Flags and masses are read in every step, so users pin and unpin as they like."""
    return (particles.flags[i] & ACTIVE) == 0 or particles.mass[i] == 0.0 or particles.inv_mass[i] == 0.0


@wp.kernel(enable_backward=False)
def predict_vertices(
    particles: Particles,
    gravity: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.vec3),
    qd: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    dt: float,
    vertices: VertexMotion,
):
    i = wp.tid()
    way = wp.vec3(0.0)
    if not is_fixed(particles, i):
        w = particles.world[i]
        g = gravity[wp.where(w < 0, gravity.shape[0] - 1, w)]
        way = dt * (qd[i] + dt * (g + particles.inv_mass[i] * f[i]))
    vertices.start[i] = q[i]
    vertices.target[i] = way
    vertices.displacement[i] = way
    vertices.x[i] = q[i] + way

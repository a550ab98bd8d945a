"""The end of a step: positions, and velocities by backward differences."""

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.model.tables import Particles
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.workspace import VertexMotion

__all__ = ["finish_vertices"]


@wp.kernel(enable_backward=False)
def finish_vertices(
    work: Work, particles: Particles, dt: float, vertices: VertexMotion, q: wp.array(dtype=wp.vec3), qd: wp.array(dtype=wp.vec3)
):
    i = first_item(work, wp.tid())
    while i >= 0:
        vertices.seen[i] = 1
        velocity = wp.vec3(0.0)
        if not is_fixed(particles, i):
            vertices.x[i] = vertices.start[i] + vertices.displacement[i]
            velocity = vertices.displacement[i] / dt
        q[i] = vertices.x[i]  # of a fixed particle what the caller wrote, bit by bit
        qd[i] = velocity
        i = next_item(work, i)

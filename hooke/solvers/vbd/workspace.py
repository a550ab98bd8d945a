"""What SolverVBD keeps between and within steps. Allocated once; only contact rows grow."""

from __future__ import annotations

from typing import Any

import warp as wp

__all__ = ["NOBODY", "ContactMemory", "ContactRows", "VertexMotion", "Workspace", "allocate"]


NOBODY = wp.constant(2)
"""Rows behind the last contact: one that touches nobody, and one that is read in passing."""


@wp.struct
class VertexMotion:
    """Particles within a step: where they started, where inertia takes them, and the way found so far.

    Behind them stand the points that elements are tied to (:func:`~hooke.solvers.vbd.predict.place_points`).

    ``x`` is where the caller has put them, and then where the step ended; ``velocity`` is that at the start of the step; ``seen`` is 0
    for a particle that did not come out of a step where this one starts: before its first step, after a reset, or, if it is free,
    moved by the caller.
    """

    seen: wp.array(dtype=wp.int32)
    velocity: wp.array(dtype=wp.vec3)
    start: wp.array(dtype=wp.vec3)
    target: wp.array(dtype=wp.vec3)
    displacement: wp.array(dtype=wp.vec3)
    x: wp.array(dtype=wp.vec3)


@wp.struct
class ContactRows:
    """Contacts of this step, gathered by particle: those of particle i are ``first[i] ... first[i + 1]``, by increasing shape.

    ``offset`` and ``reach`` are the ways from the surface point and from the anchor to where the particle started: small numbers,
    to which the displacement is added.
    """

    first: wp.array(dtype=wp.int32)
    source: wp.array(dtype=wp.int32)
    shape: wp.array(dtype=wp.int32)
    offset: wp.array(dtype=wp.vec3)
    motion: wp.array(dtype=wp.vec3)
    reach: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    radius: wp.array(dtype=wp.float32)
    stiffness: wp.array(dtype=wp.float32)
    damping: wp.array(dtype=wp.float32)
    mu: wp.array(dtype=wp.float32)
    grip: wp.array(dtype=wp.float32)


@wp.struct
class ContactMemory:
    """Contacts of the last step: where each stuck, in the frame of the shape's body. Shape -1 is a contact without load."""

    first: wp.array(dtype=wp.int32)
    shape: wp.array(dtype=wp.int32)
    anchor: wp.array(dtype=wp.vec3)


def allocate(struct: Any, length: int, device: Any, **given: Any) -> Any:
    """An instance of a struct of arrays, all of ``length``, except those that are given."""
    instance = struct()
    for name, annotation in struct.vars.items():
        array = given.get(name)
        setattr(instance, name, wp.zeros(length, dtype=annotation.type.dtype, device=device) if array is None else array)
    return instance


class Workspace:
    """Arrays of a solver for some numbers of particles, points behind them, bodies and worlds."""

    def __init__(self, particles: int, points: int, bodies: int, worlds: int, device: Any):
        self.device = device
        self.everything = wp.full(worlds + 1, True, dtype=wp.bool, device=device)
        self.selected = wp.zeros(worlds + 1, dtype=wp.bool, device=device)
        self.no_world_done = wp.zeros(worlds + 1, dtype=wp.int32, device=device)
        self.rows: Any = None
        self.memory: Any = None
        self.particles = particles
        self.points = points
        self.vertices = allocate(VertexMotion, particles + points, device)
        self.still_air = wp.zeros(1, dtype=wp.vec3, device=device)
        self.found = wp.zeros(particles, dtype=wp.vec3, device=device)
        self.no_force = wp.zeros(particles, dtype=wp.vec3, device=device)
        self.no_body = wp.zeros(0, dtype=wp.transform, device=device)
        self.body_q_prev = wp.zeros(bodies, dtype=wp.transform, device=device)
        self.body_known = wp.zeros(bodies, dtype=wp.int32, device=device)
        self.number = wp.zeros(particles + 1, dtype=wp.int32, device=device)
        self.filled = wp.zeros(particles, dtype=wp.int32, device=device)
        self.imbalance = wp.zeros(particles, dtype=wp.float32, device=device)
        self.reserve(0)

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` contacts; what is remembered of them is kept."""
        old = self.memory
        first = wp.zeros(self.particles + 1, dtype=wp.int32, device=self.device)
        self.row_capacity = rows
        self.rows = allocate(ContactRows, rows + NOBODY, self.device, first=first)
        self.rows.grip.fill_(1.0)  # divides the slip of nobody
        self.memory = allocate(ContactMemory, rows, self.device, first=wp.zeros_like(first))
        if old is not None:
            wp.copy(self.memory.first, old.first)
            if len(old.shape):
                wp.copy(self.memory.shape, old.shape, count=len(old.shape))
                wp.copy(self.memory.anchor, old.anchor, count=len(old.shape))

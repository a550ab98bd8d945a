"""A cloth whose ends turn against each other until it is a rope."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.enums import ParticleFlags
from hooke.scenes.scene import Scene, self_contact, write_rows

__all__ = ["Twist", "cloth_twist"]


class Twist:
    """Turns the held particles about the X axis through their middle: those of the left half one way, those of the right the other.

    Args:
        count: Particles of one world.
        held: Which of them are held.
        rate: Angular speed of each end [rad/s].
        seconds: When the ends stop [s].
    """

    def __init__(self, count: int, held: np.ndarray, rate: float, seconds: float):
        self.count, self.held, self.rate, self.seconds = count, held, rate, seconds
        self.model: Any = None

    def __call__(self, model: Any, state: Any, time: float) -> None:
        if model is not self.model:
            self._bind(model)
        angle = self.rate * min(time, self.seconds) * self.side
        c, s = np.cos(angle), np.sin(angle)
        y, z = self.arm[:, 1], self.arm[:, 2]
        turned = np.stack([self.arm[:, 0], c * y - s * z, s * y + c * z], axis=1)
        write_rows(state.particle_q, self.rows, self.middle + turned)

    def _bind(self, model: Any) -> None:
        """The held particles of every world, from where the model has them."""
        worlds = model.particle_count // self.count
        held = np.arange(worlds)[:, None] * self.count + self.held
        x = model.particle_q.numpy()[held].astype(np.float64)
        middle = np.broadcast_to(0.5 * (x.min(axis=1, keepdims=True) + x.max(axis=1, keepdims=True)), x.shape)
        self.model, self.rows = model, held.reshape(-1)
        self.middle, self.arm = middle.reshape(-1, 3), (x - middle).reshape(-1, 3)
        self.side = np.sign(self.arm[:, 0])


def cloth_twist(n: int = 50, size: float = 1.0, turns: float = 2.0, rate: float = np.pi / 3.0, self_contacts: bool = True) -> Scene:
    """A cloth of n x n particles, held at both ends, which turn against each other and then stop.

    Args:
        n: Particles along each side.
        size: Length of a side [m].
        turns: Turns of one end relative to the other.
        rate: Angular speed of each end [rad/s].
        self_contacts: Whether the cloth feels itself.
    """
    builder = ModelBuilder()
    cell = size / (n - 1)
    builder.add_cloth_grid(
        pos=(-0.5 * size, -0.5 * size, size), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n - 1, dim_y=n - 1,
        cell_x=cell, cell_y=cell, mass=0.2 * cell * cell, fix_left=True, fix_right=True, tri_ke=1.0e3, tri_ka=1.0e3, tri_kd=2.0e-4,
        edge_ke=1.0e-3, edge_kd=1.0e-2, particle_radius=0.4 * cell,
    )  # fmt: skip
    held = np.flatnonzero((builder.particle_flags.array & ParticleFlags.ACTIVE) == 0)
    seconds = np.pi * turns / rate
    return Scene(
        "cloth_twist", builder, seconds=seconds + 0.5, iterations=4, solver=self_contact(self_contacts, 0.1 * size / n),
        soft_contact={"ke": 1.0e3, "kd": 0.1, "mu": 0.2}, drive=Twist(n * n, held, rate, seconds),
        camera={"azimuth": -75.0, "elevation": 30.0},
    )  # fmt: skip

"""Turning rollers that carry a cloth along and drop it in folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import CLOTH_PRESETS
from hooke.model.motion import quat_multiply
from hooke.scenes.scene import Scene, self_contact, write_rows

__all__ = ["Spin", "cloth_on_rollers"]

ALONG_Y = (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
"""Turns the Z axis, along which cylinders lie, to the Y axis."""


class Spin:
    """Turns all kinematic bodies about the Y axis of the world at ``rate`` [rad/s]."""

    def __init__(self, rate: float):
        self.rate = rate
        self.model: Any = None

    def __call__(self, model: Any, state: Any, time: float) -> None:
        if model is not self.model:
            self.model, self.pose = model, model.body_q.numpy().astype(np.float64)
        half = 0.5 * self.rate * time
        turned = quat_multiply((0.0, np.sin(half), 0.0, np.cos(half)), self.pose[:, 3:])
        write_rows(state.body_q, np.arange(len(turned)), np.concatenate([self.pose[:, :3], turned], axis=1))


def cloth_on_rollers(
    n: int = 20, rollers: int = 4, speed: float = 0.4, material: str = "denim", self_contacts: bool = True
) -> Scene:
    """A band of 3 n x n cells that lies on rollers; they carry it to one side, where it falls on the ground in folds.

    Args:
        n: Cells across, three times as many along.
        rollers: Number of rollers.
        speed: Of their surfaces [m/s].
        material: Name of a cloth preset.
        self_contacts: Whether the cloth feels itself.
    """
    builder = ModelBuilder()
    preset = CLOTH_PRESETS[material]
    width, height, thick, gap = 0.3, 0.3, 0.08, 0.165
    cell = width / n
    radius = 0.25 * cell
    contact: dict[str, Any] = {"ke": 1.0e3, "kd": 0.1, "mu": 0.9}
    for k in range(rollers):
        axis = (gap * (k - rollers + 1), 0.0, height, *ALONG_Y)
        body = builder.add_body(xform=axis, is_kinematic=True, label=f"roller_{k}")
        builder.add_shape_cylinder(
            body, radius=thick, half_height=0.7 * width, cfg=ShapeConfig(density=0.0, **contact), color=(0.5, 0.5, 0.55)
        )
    elements = preset.elements(cell)
    mass = elements.pop("density") * cell * cell
    start = 0.15 - 3.0 * width  # a part hangs down in front and pulls the rest straight
    builder.add_cloth_grid(
        pos=(start, -0.5 * width, height + thick + 2.0 * radius), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=3 * n, dim_y=n,
        cell_x=cell, cell_y=cell, mass=mass, particle_radius=radius, **elements,
    )  # fmt: skip
    builder.add_ground_plane(cfg=ShapeConfig(**contact))
    return Scene(
        "cloth_on_rollers", builder, seconds=4.0, solver=self_contact(self_contacts, radius),
        soft_contact=contact, drive=Spin(speed / thick), camera={"azimuth": -60.0, "elevation": 15.0},
    )  # fmt: skip

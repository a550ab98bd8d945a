"""A hammock of cloth that carries boxes."""

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import ClothMaterial
from hooke.scenes.bodies import PALETTE, about, add_box
from hooke.scenes.scene import Scene

__all__ = ["cloth_bag_of_boxes"]


def cloth_bag_of_boxes(
    n: int = 20, size: float = 1.0, boxes: int = 4, mass: float = 1.0, stretch: float = 2.0e4, slack: float = 0.15
) -> Scene:
    """A canvas that is held along its border sags to a bag; boxes fall into it, touch each other in it and stay.

    Args:
        n: Cells along each side of the cloth.
        size: Length of a side of the border [m].
        boxes: Number of boxes.
        mass: Of a box [kg].
        stretch: Young's modulus of the cloth times its thickness [N/m].
        slack: Depth of the bag at the start over ``size``.
    """
    builder = ModelBuilder()
    contact: dict[str, Any] = {"ke": 2.0e4, "kd": 20.0, "mu": 0.5}
    cell, height = size / n, 0.8
    elements = ClothMaterial(weight=0.4, stretch=stretch, bending=1.0e-4, damping=5.0e-3).elements(cell)
    y, x = (a.reshape(-1) for a in np.meshgrid(*(np.linspace(-1.0, 1.0, n + 1),) * 2, indexing="ij"))
    z = -slack * size * (1.0 - x * x) * (1.0 - y * y)
    row, column = (a.reshape(-1) for a in np.meshgrid(*(np.arange(n),) * 2, indexing="ij"))
    a = row * (n + 1) + column
    b, c, d = a + 1, a + n + 2, a + n + 1
    even = ((row + column) % 2 == 0)[:, None, None]
    triangles = np.where(even, np.stack([a, b, c, a, c, d], 1).reshape(-1, 2, 3), np.stack([a, b, d, b, c, d], 1).reshape(-1, 2, 3))
    builder.add_cloth_mesh(
        pos=(0.0, 0.0, height), rot=(0.0, 0.0, 0.0, 1.0), scale=1.0, vel=(0.0, 0.0, 0.0),
        vertices=np.stack([0.5 * size * x, 0.5 * size * y, z], axis=1), indices=triangles.reshape(-1), particle_radius=0.2 * cell,
        **elements,
    )  # fmt: skip
    for i in np.flatnonzero(np.maximum(np.abs(x), np.abs(y)) > 1.0 - 1e-9):
        builder.particle_mass[i] = 0.0
    edge = 0.16 * size
    cfg = ShapeConfig(density=mass / edge**3, **contact)
    for k in range(boxes):
        place = ((k % 2 - 0.5) * 1.3 * edge, (k // 2 % 2 - 0.5) * 1.3 * edge, height + edge * (0.4 + 1.4 * (k // 4)))
        add_box(builder, place, (edge,) * 3, turn=about(2, 0.3 * k), cfg=cfg, color=PALETTE[k % 5], label=f"box_{k}")
    builder.add_ground_plane(cfg=ShapeConfig(**contact))
    return Scene(
        "cloth_bag_of_boxes", builder, seconds=4.0, substeps=1, solver={"particle_acceleration": "multilevel"}, soft_contact=contact,
        camera={"azimuth": -60.0, "elevation": 28.0},
    )  # fmt: skip

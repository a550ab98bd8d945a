"""A cloth whose corners are lifted with boxes on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import ClothMaterial
from hooke.scenes.bodies import PALETTE, about, add_box
from hooke.scenes.scene import Scene, write_rows

__all__ = ["LiftCorners", "cloth_bag_of_boxes"]


class LiftCorners:
    """Moves the held particles up and towards the middle of each world, smoothly, and keeps them there.

    Args:
        count: Particles of one world.
        held: Which of them are held.
        lift: Way up [m].
        inward: Share of the way to the middle.
        seconds: How long it takes [s].
    """

    def __init__(self, count: int, held: np.ndarray, lift: float, inward: float, seconds: float):
        self.count, self.held, self.lift, self.inward, self.seconds = count, held, lift, inward, seconds
        self.model: Any = None

    def __call__(self, model: Any, state: Any, time: float) -> None:
        if model is not self.model:
            held = np.arange(model.particle_count // self.count)[:, None] * self.count + self.held
            self.model, self.rows = model, held.reshape(-1)
            x = model.particle_q.numpy()[held].astype(np.float64)
            self.start = x.reshape(-1, 3)
            self.way = (self.inward * (x.mean(axis=1, keepdims=True) - x) + (0.0, 0.0, self.lift)).reshape(-1, 3)
        share = np.clip(time / self.seconds, 0.0, 1.0)
        write_rows(state.particle_q, self.rows, self.start + share * share * (3.0 - 2.0 * share) * self.way)


def cloth_bag_of_boxes(
    n: int = 24,
    size: float = 1.2,
    boxes: int = 5,
    mass: float = 0.5,
    stretch: float = 3.0e3,
    lift: float = 1.0,
    inward: float = 0.5,
) -> Scene:
    """Boxes lie on a cloth on the ground; its corners rise and come together until it hangs as a bag that carries the boxes.

    Args:
        n: Cells along each side of the cloth.
        size: Length of a side [m].
        boxes: Number of boxes, up to five in a layer.
        mass: Of a box [kg].
        stretch: Young's modulus of the cloth times its thickness [N/m].
        lift: Way of the corners up [m].
        inward: Share of their way to the middle.
    """
    builder = ModelBuilder()
    contact: dict[str, Any] = {"ke": 1.0e4, "kd": 10.0, "mu": 0.5}
    cell, edge = size / n, 0.14
    radius = 0.2 * cell
    elements = ClothMaterial(weight=0.3, stretch=stretch, bending=1.0e-4, damping=5.0e-3).elements(cell)
    builder.add_ground_plane(cfg=ShapeConfig(**contact))
    builder.add_cloth_grid(
        pos=(-0.5 * size, -0.5 * size, radius), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, cell_x=cell,
        cell_y=cell, mass=0.3 * cell * cell, particle_radius=radius,
        **{k: v for k, v in elements.items() if k in ("tri_ke", "tri_ka", "tri_kd", "edge_ke", "edge_kd")},
    )  # fmt: skip
    held = np.array([0, n, n * (n + 1), n * (n + 2)])
    for i in held:
        builder.particle_mass[int(i)] = 0.0
    cfg = ShapeConfig(density=mass / edge**3, **contact)
    places = np.array([(0.0, 0.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)])
    for k in range(boxes):
        place = (*(1.05 * edge * places[k % 5]), 2.0 * radius + edge * (0.5 + 1.5 * (k // 5)))
        add_box(builder, place, (edge,) * 3, turn=about(2, 0.3 * (k // 5)), cfg=cfg, color=PALETTE[k % 5], label=f"box_{k}")
    return Scene(
        "cloth_bag_of_boxes", builder, seconds=4.0, substeps=1, solver={"particle_acceleration": "multilevel"}, soft_contact=contact,
        drive=LiftCorners((n + 1) ** 2, held, lift, inward, 2.0), camera={"azimuth": -60.0, "elevation": 36.0},
    )  # fmt: skip

"""Soft blocks and balls that fall on each other in a box."""

from typing import Any

import numpy as np

from hooke.geometry.grid import grid_tetrahedra
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import SOFT_PRESETS
from hooke.scenes.scene import Scene, self_contact

__all__ = ["round_block", "soft_pile"]


def round_block(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A block of n^3 cells of five tetrahedra, rounded towards a ball as far as the cells at its edges stay well shaped.

    Returns:
        Vertices ((n + 1)^3, 3), at most about 1 from the middle, and tetrahedra (5 n^3, 4).
    """
    z, y, x = (a.reshape(-1) for a in np.meshgrid(*(np.linspace(-1.0, 1.0, n + 1),) * 3, indexing="ij"))
    xx, yy, zz = x * x, y * y, z * z
    ball = np.stack([
        x * np.sqrt(1.0 - yy / 2.0 - zz / 2.0 + yy * zz / 3.0), y * np.sqrt(1.0 - zz / 2.0 - xx / 2.0 + zz * xx / 3.0),
        z * np.sqrt(1.0 - xx / 2.0 - yy / 2.0 + xx * yy / 3.0),
    ], axis=1)  # fmt: skip
    return 0.8 * ball + 0.15 * np.stack([x, y, z], axis=1), grid_tetrahedra(n, n, n)


def soft_pile(count: int = 8, n: int = 4, size: float = 0.2, material: str = "muscle", self_contacts: bool = True) -> Scene:
    """Cubes and balls, in turn, that fall into an open box; their surfaces collide.

    Args:
        count: Number of bodies.
        n: Cells along a side of a cube and across a ball.
        size: That length [m].
        material: Name of a soft preset.
        self_contacts: Whether the bodies feel each other.
    """
    builder = ModelBuilder()
    preset = SOFT_PRESETS[material]
    cell = size / n
    radius = 0.1 * cell
    given = {"vel": (0.0, 0.0, 0.0), "particle_radius": radius, **preset.elements()}
    vertices, tetrahedra = round_block(n)
    rng = np.random.default_rng(4)
    for k in range(count):
        layer, place = divmod(k, 4)
        middle = np.array([(place % 2 - 0.5) * 1.25, (place // 2 - 0.5) * 1.25, 0.7 + 1.3 * layer]) * size
        middle[:2] += 0.06 * size * rng.normal(size=2)
        color = (0.4 + 0.5 * (k % 2), 0.6 - 0.1 * layer, 0.8 - 0.5 * (k % 2))
        if k % 2:
            builder.add_soft_mesh(
                pos=middle, rot=(0.0, 0.0, 0.0, 1.0), scale=0.5 * size, vertices=vertices, indices=tetrahedra.reshape(-1), color=color,
                **given,
            )  # fmt: skip
            continue
        builder.add_soft_grid(
            pos=middle - 0.5 * size, rot=(0.0, 0.0, 0.0, 1.0), dim_x=n, dim_y=n, dim_z=n, cell_x=cell, cell_y=cell, cell_z=cell,
            color=color, **given,
        )  # fmt: skip
    contact: dict[str, Any] = {"ke": 2.0e4, "kd": 10.0, "mu": preset.mu}
    floor = ShapeConfig(**contact)
    builder.add_ground_plane(cfg=floor)
    inner, wall = 1.5 * size, 0.05 * size
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        half = (wall, inner + 2.0 * wall) if x else (inner + 2.0 * wall, wall)
        pose = (x * (inner + wall), y * (inner + wall), 0.7 * size, 0.0, 0.0, 0.0, 1.0)
        builder.add_shape_box(-1, xform=pose, hx=half[0], hy=half[1], hz=0.7 * size, cfg=floor, color=(0.5, 0.5, 0.55))
    solver = self_contact(self_contacts, radius, 2.0)
    return Scene(
        "soft_pile", builder, seconds=3.0, solver=solver, soft_contact=contact, camera={"azimuth": -55.0, "elevation": 38.0}
    )

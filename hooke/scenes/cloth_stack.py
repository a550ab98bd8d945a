"""Cards of cloth dropped on a pile."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import CLOTH_PRESETS
from hooke.model.motion import quat_multiply, quat_rotate
from hooke.scenes.scene import Scene, self_contact

__all__ = ["cloth_stack"]


def cloth_stack(cards: int = 20, n: int = 8, size: float = 0.25, material: str = "leather", self_contacts: bool = True) -> Scene:
    """Square cards of n x n cells that fall on each other, each turned and tilted a little.

    Args:
        cards: Number of cards.
        n: Cells along each side.
        size: Length of a side [m].
        material: Name of a cloth preset.
        self_contacts: Whether the cards feel each other.
    """
    builder = ModelBuilder()
    preset = CLOTH_PRESETS[material]
    cell, radius = size / n, 0.1 * size / n
    elements = preset.elements(cell)
    mass = elements.pop("density") * cell * cell
    rng = np.random.default_rng(1)
    for card in range(cards):
        turn, tilt = rng.uniform(-0.5, 0.5), rng.uniform(-0.03, 0.03)
        rot = quat_multiply((0.0, 0.0, np.sin(turn), np.cos(turn)), (np.sin(tilt), 0.0, 0.0, np.cos(tilt)))
        middle = (*(0.05 * size * rng.normal(size=2)), 0.1 * size * (card + 1))
        corner = middle - quat_rotate(rot, (0.5 * size, 0.5 * size, 0.0))
        builder.add_cloth_grid(
            pos=corner, rot=rot, vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, cell_x=cell, cell_y=cell, mass=mass, particle_radius=radius,
            color=(0.25 + 0.6 * card / cards, 0.3 + 0.35 * (card % 2), 0.65 - 0.45 * card / cards), **elements,
        )  # fmt: skip
    contact = {"ke": 2.0e3, "kd": 1.0e-2, "mu": preset.mu}
    builder.add_ground_plane(cfg=ShapeConfig(ke=2.5e3, kd=100.0, mu=preset.mu))  # it takes the bounce out of the pile
    solver = self_contact(self_contacts, radius)
    return Scene(
        "cloth_stack", builder, seconds=3.0, solver=solver, soft_contact=contact, camera={"azimuth": -50.0, "elevation": 25.0}
    )

"""A tower of cards and boards."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import about, add_box
from hooke.scenes.scene import Scene

__all__ = ["card_tower"]


def card_tower(storeys: int = 20, lean: float = 8.0, mu: float = 0.8, thickness: float = 3.0e-4) -> Scene:
    """Storeys of two pairs of leaning playing cards under one board each, as high as wanted; all of it touches exactly.

    A scene of Giles, Diaz, Yuksel, Augmented Vertex Block Descent, 2025.

    Args:
        storeys: Number of storeys, 85 mm each.
        lean: Angle of the leaning cards against the vertical [degrees].
        mu: Friction of cards and boards; the tower stands as long as it exceeds the tangent of ``lean``.
        thickness: Of a card [m]; it is 88 mm long and 63 mm wide. A board is 210 x 63 x 2 mm and as light as three cards.
    """
    builder = ModelBuilder()
    length, width, board, angle = 0.088, 0.063, 2.0e-3, np.radians(lean)
    card = ShapeConfig(density=1.8e-3 / (length * width * 3.0e-4), mu=mu)  # a card of 0.3 mm weighs 1.8 g
    plank = ShapeConfig(density=5.4e-3 / (0.21 * width * board), mu=mu)
    builder.rigid_gap = 2.0e-3
    builder.add_ground_plane(cfg=card)
    reach = 0.5 * (length * np.sin(angle) + thickness * np.cos(angle))
    rise = 0.5 * (length * np.cos(angle) + thickness * np.sin(angle))
    floor = 0.0
    for _ in range(storeys):
        for x in (-0.05, 0.05):
            for side in (-1.0, 1.0):
                place = (x + side * reach, 0.0, floor + rise)
                add_box(builder, place, (thickness, width, length), turn=about(1, -side * angle), cfg=card, color=(0.9, 0.87, 0.8))
        floor += 2.0 * rise
        add_box(builder, (0.0, 0.0, floor + 0.5 * board), (0.21, width, board), cfg=plank, color=(0.75, 0.25, 0.22))
        floor += board
    return Scene("card_tower", builder, seconds=10.0, substeps=1, camera={"azimuth": -65.0, "elevation": 8.0})

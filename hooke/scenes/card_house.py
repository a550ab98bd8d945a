"""A house of cards."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import about, add_box
from hooke.scenes.scene import Scene

__all__ = ["card_house"]


def card_house(levels: int = 5, lean: float = 20.0, mu: float = 0.8, thickness: float = 3.0e-4) -> Scene:
    """Pairs of leaning playing cards, a lying card from top to top of neighbours, and a pair less on that, up to a single one.

    A leaning card stands on one edge, meets its partner with another and carries what is above on a third; all of them touch exactly.
    The house stands as long as the friction exceeds the tangent of ``lean``.

    Args:
        levels: Number of levels, and of pairs in the lowest.
        lean: Angle of the leaning cards against the vertical [degrees].
        mu: Friction of the cards.
        thickness: Of a card [m]; it is 88 mm long and 63 mm wide.
    """
    builder = ModelBuilder()
    card = ShapeConfig(density=1.8e-3 / (0.088 * 0.063 * 3.0e-4), mu=mu)  # a card of 0.3 mm weighs 1.8 g
    builder.rigid_gap = 2.0e-3
    builder.add_ground_plane(cfg=card)
    length, width, angle = 0.088, 0.063, np.radians(lean)
    reach = 0.5 * (length * np.sin(angle) + thickness * np.cos(angle))  # half the width and height that a leaning card takes
    rise = 0.5 * (length * np.cos(angle) + thickness * np.sin(angle))
    ledge = thickness * np.cos(angle)  # from the middle of a pair's top to either of its two edges
    floor = 0.0
    for level in range(levels):
        tops = _tops(levels - level, length, ledge)
        for x in tops:
            for side in (-1.0, 1.0):
                place = (x + side * reach, 0.0, floor + rise)
                add_box(builder, place, (thickness, width, length), turn=about(1, -side * angle), cfg=card, color=(0.9, 0.87, 0.8))
        floor += 2.0 * rise
        lying = 0.5 * (tops[1:] + tops[:-1])
        if len(lying) > 1:  # the outermost cover both edges of the outermost pairs
            lying[[0, -1]] += (-ledge, ledge)
        for x in lying:
            add_box(builder, (x, 0.0, floor + 0.5 * thickness), (length, width, thickness), cfg=card, color=(0.75, 0.25, 0.22))
        floor += thickness
    return Scene("card_house", builder, seconds=10.0, substeps=1, camera={"azimuth": -65.0, "elevation": 12.0})


def _tops(pairs: int, length: float, ledge: float) -> np.ndarray:
    """Where the tops of the pairs of a level are [m]: lying cards meet above the inner ones and reach over the outermost."""
    spans = np.full(max(pairs - 1, 0), length + 0.2 * ledge)
    spans[:1] -= 2.0 * ledge
    spans[-1:] -= 2.0 * ledge
    tops = np.concatenate([[0.0], np.cumsum(spans)])
    return tops - 0.5 * tops[-1]

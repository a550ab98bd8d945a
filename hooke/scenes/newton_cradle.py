"""Balls on strings that hand on their momentum."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import STEEL, about
from hooke.scenes.linkage import BARE, add_hinge
from hooke.scenes.scene import Scene

__all__ = ["newton_cradle"]


def newton_cradle(
    balls: int = 5, lifted: int = 1, angle: float = 35.0, radius: float = 0.05, length: float = 0.5, gap: float = 2.0e-4
) -> Scene:
    """Elastic balls in a row: as many swing out on one side as fall in on the other.

    Impacts of balls that touch happen all at once in a step, and would spread; a gap hands them on one after the other.

    Args:
        balls: In the row.
        lifted: How many of them are let go.
        angle: To which these are lifted [degrees].
        radius: Of a ball [m].
        length: Of the pendulums [m].
        gap: Between balls at rest [m].
    """
    builder = ModelBuilder()
    elastic, string = STEEL.copy(), BARE.copy()
    elastic.restitution, elastic.mu, elastic.gap, string.density = 1.0, 0.0, 0.01, 0.0
    step, height = 2.0 * radius + gap, length + 2.0 * radius
    wide = 0.5 * balls * step + radius
    for side in (-1.0, 1.0):
        beam = (0.0, side * 0.6 * length, height, *about(1, 0.5 * np.pi))
        builder.add_shape_cylinder(-1, xform=beam, radius=0.012, half_height=wide, cfg=BARE, color=(0.3, 0.3, 0.33))
    for k in range(balls):
        tilt = np.radians(angle) if k < lifted else 0.0
        hinge = np.array([(k - 0.5 * (balls - 1)) * step, 0.0, height])
        place = hinge + length * np.array([-np.sin(tilt), 0.0, -np.cos(tilt)])
        ball = builder.add_link(xform=(*place, *about(1, tilt)), label=f"ball_{k}")
        builder.add_shape_sphere(ball, radius=radius, cfg=elastic, color=(0.7, 0.72, 0.75))
        for side in (-1.0, 1.0):
            lean = np.arctan(side * 0.6)
            middle = (0.0, 0.5 * side * 0.6 * length, 0.5 * length, *about(0, -lean))
            half = 0.5 * length / np.cos(lean)
            builder.add_shape_capsule(ball, xform=middle, radius=0.002, half_height=half, cfg=string, color=(0.2, 0.2, 0.2))
        builder.add_articulation([add_hinge(builder, -1, ball, hinge, label=f"string_{k}")], label=f"pendulum_{k}")
    return Scene("newton_cradle", builder, seconds=4.0, substeps=20, method="kamino", camera={"azimuth": -75.0, "elevation": 10.0})

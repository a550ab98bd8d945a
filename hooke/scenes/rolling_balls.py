"""Balls that roll or slide down a slope."""

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import OAK, PALETTE, about
from hooke.scenes.scene import Scene

__all__ = ["rolling_balls"]


def rolling_balls(
    frictions: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4), slope: float = 25.0, radius: float = 0.08, length: float = 3.0
) -> Scene:
    """Balls on lanes of a slope: where friction is above two sevenths of its tangent they roll without slip.

    Such a ball goes with 5/7 g sin(slope); another with g (sin(slope) - mu cos(slope)).

    Args:
        frictions: Coefficient of each ball and its lane.
        slope: Angle of the slope [degrees].
        radius: Of a ball [m].
        length: Of the slope [m].
    """
    builder = ModelBuilder()
    angle = np.radians(slope)
    turn, wide, thick = about(1, angle), 3.0 * radius, 0.03
    down, up = np.array([np.cos(angle), 0.0, -np.sin(angle)]), np.array([np.sin(angle), 0.0, np.cos(angle)])
    for k, friction in enumerate(frictions):
        cfg = OAK.copy()
        cfg.mu = friction
        middle = np.array([0.0, (k - 0.5 * (len(frictions) - 1)) * wide, 0.5 * length * np.sin(angle) + 0.1])
        half: dict[str, Any] = {"hx": 0.5 * length, "hy": 0.49 * wide, "hz": thick}
        builder.add_shape_box(-1, xform=(*(middle - thick * up), *turn), cfg=cfg, color=(0.5, 0.5, 0.55), **half)
        place = middle - (0.5 * length - 1.5 * radius) * down + radius * up
        ball = builder.add_body(xform=(*place, *turn), label=f"ball_{k}")
        builder.add_shape_sphere(ball, radius=radius, cfg=cfg, color=PALETTE[k % len(PALETTE)])
        stripe = cfg.copy()
        stripe.density, stripe.has_shape_collision = 0.0, False
        band: dict[str, Any] = {"radius": 1.005 * radius, "half_height": 0.12 * radius, "color": (0.95, 0.95, 0.9)}
        builder.add_shape_cylinder(ball, xform=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), cfg=stripe, **band)
    return Scene("rolling_balls", builder, seconds=1.1, substeps=10, method="kamino", camera={"azimuth": -50.0, "elevation": 20.0})

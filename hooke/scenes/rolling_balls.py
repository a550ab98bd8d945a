"""Balls that roll or slide down a slope."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import OAK, PALETTE, about
from hooke.scenes.scene import Scene

__all__ = ["rolling_balls"]


def rolling_balls(
    frictions: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4), slope: float = 25.0, radius: float = 0.08, length: float = 3.0
) -> Scene:
    """Balls of different friction on a slope: above two sevenths of its tangent they roll without slip, with five sevenths of its pull.

    Args:
        frictions: Coefficient of each ball against the slope.
        slope: Angle of the slope [degrees].
        radius: Of a ball [m].
        length: Of the slope [m].
    """
    builder = ModelBuilder()
    angle = np.radians(slope)
    down, up = np.array([np.cos(angle), 0.0, -np.sin(angle)]), np.array([np.sin(angle), 0.0, np.cos(angle)])
    wide = 3.0 * radius * len(frictions)
    smooth = OAK.copy()
    smooth.mu = 0.0
    middle = np.array([0.0, 0.0, 0.5 * length * np.sin(angle) + 0.1])
    builder.add_shape_box(
        -1, xform=(*(middle - 0.03 * up), *about(1, angle)), hx=0.5 * length, hy=0.5 * wide, hz=0.03, cfg=smooth, color=(0.5, 0.5, 0.55)
    )
    for k, friction in enumerate(frictions):
        cfg = OAK.copy()
        cfg.mu = 2.0 * friction  # of two materials the mean counts
        side = (k - 0.5 * (len(frictions) - 1)) * 3.0 * radius
        place = middle - (0.5 * length - 1.5 * radius) * down + radius * up + (0.0, side, 0.0)
        ball = builder.add_body(xform=(*place, *about(1, angle)), label=f"ball_{k}")
        builder.add_shape_sphere(ball, radius=radius, cfg=cfg, color=PALETTE[k % len(PALETTE)])
        stripe = cfg.copy()
        stripe.density, stripe.has_shape_collision = 0.0, False
        builder.add_shape_cylinder(
            ball, xform=(0, 0, 0, *about(0, 0.5 * np.pi)), radius=1.005 * radius, half_height=0.12 * radius, cfg=stripe, color=(0.95, 0.95, 0.9)
        )
    return Scene("rolling_balls", builder, seconds=1.2, substeps=10, method="kamino", camera={"azimuth": -50.0, "elevation": 20.0})

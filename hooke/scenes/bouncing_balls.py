"""Balls of different restitution."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, RUBBER
from hooke.scenes.scene import Scene

__all__ = ["bouncing_balls"]


def bouncing_balls(restitutions: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0), height: float = 1.0, radius: float = 0.08) -> Scene:
    """Balls fall from one height, and each comes back to the square of its restitution of it.

    Args:
        restitutions: Of the balls.
        height: Of fall [m].
        radius: Of a ball [m].
    """
    builder = ModelBuilder()
    ground = RUBBER.copy()
    ground.restitution = 1.0  # of two materials the smaller counts
    builder.add_ground_plane(cfg=ground)
    for k, e in enumerate(restitutions):
        cfg = RUBBER.copy()
        cfg.restitution = e
        place = ((k - 0.5 * (len(restitutions) - 1)) * 4.0 * radius, 0.0, height + radius)
        ball = builder.add_body(xform=(*place, 0.0, 0.0, 0.0, 1.0), label=f"ball_{k}")
        builder.add_shape_sphere(ball, radius=radius, cfg=cfg, color=tuple(np.asarray(PALETTE[k % len(PALETTE)])))
    return Scene("bouncing_balls", builder, seconds=2.0, substeps=20, method="kamino", camera={"azimuth": -80.0, "elevation": 8.0})

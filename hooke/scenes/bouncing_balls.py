"""Balls of different restitution."""

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, RUBBER
from hooke.scenes.linkage import BARE
from hooke.scenes.scene import Scene

__all__ = ["bouncing_balls"]


def bouncing_balls(
    restitutions: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0), height: float = 1.0, radius: float = 0.08
) -> Scene:
    """Balls fall from one height, and each comes back to the square of its restitution of it.

    Args:
        restitutions: Of the balls and the plates under them.
        height: Of fall [m].
        radius: Of a ball [m].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(height=-0.04, cfg=BARE)
    for k, e in enumerate(restitutions):
        cfg = RUBBER.copy()
        cfg.restitution = e
        x, color = (k - 0.5 * (len(restitutions) - 1)) * 4.0 * radius, PALETTE[k % len(PALETTE)]
        builder.add_shape_box(
            -1, xform=(x, 0.0, -0.02, 0.0, 0.0, 0.0, 1.0), hx=0.12, hy=0.12, hz=0.02, cfg=cfg, color=(0.5, 0.5, 0.55)
        )
        ball = builder.add_body(xform=(x, 0.0, height + radius, 0.0, 0.0, 0.0, 1.0), label=f"ball_{k}")
        builder.add_shape_sphere(ball, radius=radius, cfg=cfg, color=color)
    return Scene("bouncing_balls", builder, seconds=2.0, substeps=20, method="kamino", camera={"azimuth": -80.0, "elevation": 8.0})

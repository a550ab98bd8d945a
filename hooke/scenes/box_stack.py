"""A tower of boxes."""

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import OAK, PALETTE, add_box
from hooke.scenes.scene import Scene

__all__ = ["box_stack"]


def box_stack(count: int = 10, size: float = 0.2, ratio: float = 1.0) -> Scene:
    """Boxes of oak on each other, each ``ratio`` times as dense as the one below; they stand.

    Args:
        count: Number of boxes.
        size: Their edges [m].
        ratio: Density of a box over that of the box below it.
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=OAK)
    for k in range(count):
        cfg = ShapeConfig(density=OAK.density * ratio**k, mu=OAK.mu)
        add_box(builder, (0.0, 0.0, (k + 0.5) * size), (size,) * 3, cfg=cfg, color=PALETTE[k % 3])
    return Scene("box_stack", builder, seconds=3.0, substeps=1, camera={"azimuth": -60.0, "elevation": 12.0})

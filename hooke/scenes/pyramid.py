"""A wall of boxes in the shape of a pyramid."""

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import OAK, PALETTE, add_box
from hooke.scenes.scene import Scene

__all__ = ["pyramid"]


def pyramid(rows: int = 14, size: float = 0.2, gap: float = 0.01) -> Scene:
    """Rows of boxes of oak, each with one box less than the row below and resting on it.

    Args:
        rows: Number of rows, and of boxes in the lowest.
        size: Edges of the boxes [m].
        gap: Between the boxes of a row [m].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=OAK)
    for row in range(rows):
        boxes = rows - row
        for k in range(boxes):
            x = (k - 0.5 * (boxes - 1)) * (size + gap)
            add_box(builder, (x, 0.0, (row + 0.5) * size), (size,) * 3, color=PALETTE[row % 3])
    return Scene("pyramid", builder, seconds=3.0, substeps=1, camera={"azimuth": -75.0, "elevation": 12.0})

"""A soft block that falls on the ground."""

from hooke.model.builder import ModelBuilder
from hooke.model.material import SOFT_PRESETS
from hooke.model.motion import quat_multiply
from hooke.scenes.scene import Scene

__all__ = ["soft_drop"]


def soft_drop(n: int = 6, size: float = 0.4, material: str = "jelly") -> Scene:
    """A soft cube of n^3 cells that falls on its edge.

    Args:
        n: Cells along each side.
        size: Length of a side [m].
        material: Name of a soft preset.
    """
    builder = ModelBuilder()
    cell = size / n
    turn = quat_multiply((0.0, 0.38268343, 0.0, 0.92387953), (0.13052619, 0.0, 0.0, 0.99144486))
    builder.add_soft_grid(
        pos=(-0.3 * size, -0.5 * size, 1.6 * size), rot=turn, vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, dim_z=n, cell_x=cell,
        cell_y=cell, cell_z=cell, particle_radius=0.15 * cell, **SOFT_PRESETS[material].elements(),
    )  # fmt: skip
    builder.add_ground_plane()
    contact = {"ke": 1.0e5, "kd": 1.0, "mu": 0.6}
    return Scene("soft_drop", builder, seconds=2.0, soft_contact=contact, camera={"azimuth": -55.0, "elevation": 12.0})

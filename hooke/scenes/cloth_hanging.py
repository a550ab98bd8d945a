"""A square cloth that hangs from one edge and swings down."""

from hooke.model.builder import ModelBuilder
from hooke.model.material import CLOTH_PRESETS
from hooke.scenes.scene import Scene

__all__ = ["cloth_hanging"]


def cloth_hanging(n: int = 32, size: float = 1.0, material: str = "cotton") -> Scene:
    """A cloth of n x n cells, held along one edge, starting horizontal.

    Args:
        n: Cells along each side.
        size: Length of a side [m].
        material: Name of a cloth preset.
    """
    builder = ModelBuilder()
    cell = size / n
    elements = CLOTH_PRESETS[material].elements(cell)
    mass = elements.pop("density") * cell * cell
    builder.add_cloth_grid(
        pos=(-0.5 * size, -0.5 * size, 1.3 * size), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, cell_x=cell,
        cell_y=cell, mass=mass, fix_left=True, particle_radius=0.4 * cell, **elements,
    )  # fmt: skip
    builder.add_ground_plane()
    return Scene("cloth_hanging", builder, camera={"azimuth": -60.0, "elevation": 15.0})

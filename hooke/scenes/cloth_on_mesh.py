"""A cloth that falls on a mesh and drapes."""

import numpy as np

from hooke.geometry.mesh import Mesh
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import CLOTH_PRESETS
from hooke.scenes.scene import Scene

__all__ = ["cloth_on_mesh"]


def pebble(radius: float = 0.35) -> Mesh:
    """A sphere with bumps."""
    sphere = Mesh.create_sphere(radius)
    x = np.asarray(sphere.vertices, np.float64)
    bumps = 1.0 + 0.12 * np.sin(3.0 * x[:, 0] / radius + 1.0) * np.sin(4.0 * x[:, 1] / radius) * np.cos(3.0 * x[:, 2] / radius)
    return Mesh(x * bumps[:, None], sphere.indices)


def cloth_on_mesh(n: int = 48, size: float = 1.4, material: str = "silk") -> Scene:
    """A cloth of n x n cells that falls on a pebble.

    Args:
        n: Cells along each side.
        size: Length of a side [m].
        material: Name of a cloth preset.
    """
    builder = ModelBuilder()
    preset = CLOTH_PRESETS[material]
    builder.default_shape_cfg = ShapeConfig(mu=preset.mu)
    cell = size / n
    elements = preset.elements(cell)
    mass = elements.pop("density") * cell * cell
    builder.add_cloth_grid(
        pos=(-0.5 * size, -0.5 * size, 0.9), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, cell_x=cell,
        cell_y=cell, mass=mass, particle_radius=0.4 * cell, **elements,
    )  # fmt: skip
    pose = (0.05, 0.0, 0.36, 0.0, 0.0, 0.0, 1.0)
    builder.add_shape_mesh(-1, xform=pose, mesh=pebble(), color=(0.55, 0.56, 0.6), label="pebble")
    builder.add_ground_plane()
    contact = {"mu": preset.mu, "kd": 1.0e-2}
    return Scene("cloth_on_mesh", builder, soft_contact=contact, camera={"azimuth": -50.0, "elevation": 22.0})

"""Soft blocks and balls that fall on each other in a box."""

import numpy as np

from hooke.geometry.grid import fill_surface
from hooke.geometry.mesh import Mesh
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import SOFT_PRESETS
from hooke.scenes.scene import Scene, self_contact

__all__ = ["soft_pile"]


def soft_pile(count: int = 9, n: int = 4, size: float = 0.2, material: str = "jelly", self_contacts: bool = True) -> Scene:
    """Blocks of n^3 cells and balls of n cells across, in turn, that fall into an open box; their surfaces collide.

    Args:
        count: Number of bodies.
        n: Cells along a side of a block or across a ball.
        size: That length [m].
        material: Name of a soft preset.
        self_contacts: Whether the bodies feel each other.
    """
    builder = ModelBuilder()
    preset = SOFT_PRESETS[material]
    cell = size / n
    radius = 0.1 * cell
    given = {"vel": (0.0, 0.0, 0.0), "particle_radius": radius, **preset.elements()}
    ball = Mesh.create_sphere(0.5 * size, num_latitudes=12, num_longitudes=16)
    vertices, tetrahedra = fill_surface(ball.vertices, np.asarray(ball.indices).reshape(-1, 3), n)
    rng = np.random.default_rng(4)
    for k in range(count):
        layer, place = divmod(k, 4)
        middle = np.array([(place % 2 - 0.5) * 1.25, (place // 2 - 0.5) * 1.25, 0.7 + 1.3 * layer]) * size
        middle[:2] += 0.06 * size * rng.normal(size=2)
        color = (0.4 + 0.5 * (k % 2), 0.6 - 0.1 * layer, 0.8 - 0.5 * (k % 2))
        if k % 2:
            builder.add_soft_mesh(
                pos=middle, rot=(0.0, 0.0, 0.0, 1.0), scale=1.0, vertices=vertices, indices=tetrahedra, color=color, **given
            )
            continue
        builder.add_soft_grid(
            pos=middle - 0.5 * size, rot=(0.0, 0.0, 0.0, 1.0), dim_x=n, dim_y=n, dim_z=n, cell_x=cell, cell_y=cell, cell_z=cell,
            color=color, **given,
        )  # fmt: skip
    floor = ShapeConfig(mu=preset.mu, ke=1.0e4)
    builder.add_ground_plane(cfg=floor)
    inner, wall = 1.4 * size, 0.05 * size
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        half = (wall, inner + 2.0 * wall) if x else (inner + 2.0 * wall, wall)
        pose = (x * (inner + wall), y * (inner + wall), 0.8 * size, 0.0, 0.0, 0.0, 1.0)
        builder.add_shape_box(-1, xform=pose, hx=half[0], hy=half[1], hz=0.8 * size, cfg=floor, color=(0.5, 0.5, 0.55), opacity=0.3)
    contact = {"ke": 1.0e4, "kd": 1.0, "mu": preset.mu}
    solver = self_contact(self_contacts, radius, 2.0)
    return Scene(
        "soft_pile", builder, seconds=2.0, solver=solver, soft_contact=contact, camera={"azimuth": -55.0, "elevation": 25.0}
    )

"""A net of tapes that is thrown over a cloth on a ball."""

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import CLOTH_PRESETS
from hooke.scenes.scene import Scene, self_contact

__all__ = ["net_mesh", "rope_net"]

AIR = 0.7
"""Drag of a flat piece: half the density of air times a coefficient of 1.2 [kg/m^3]."""


def net_mesh(meshes: int, links: int) -> tuple[np.ndarray, np.ndarray]:
    """A square net of crossing tapes: a grid of cells with holes.

    Args:
        meshes: Holes along each side.
        links: Cells from tape to tape; tapes are one cell wide.

    Returns:
        Places of the vertices, in cells, (k, 2), and triangles (m, 3).
    """
    side = meshes * links + 2  # vertices
    x, y = (a.reshape(-1) for a in np.meshgrid(np.arange(side - 1), np.arange(side - 1), indexing="ij"))
    taped = (x % links == 0) | (y % links == 0)
    x, y = x[taped], y[taped]
    corner = x * side + y
    right, above, across = corner + side, corner + 1, corner + side + 1
    turned = ((x + y) % 2 == 1)[:, None]  # diagonals alternate
    one = np.where(turned, np.stack([corner, right, above], 1), np.stack([corner, right, across], 1))
    two = np.where(turned, np.stack([right, across, above], 1), np.stack([corner, across, above], 1))
    used, triangles = np.unique(np.concatenate([one, two]), return_inverse=True)
    return np.stack(np.divmod(used, side), axis=1), triangles.reshape(-1, 3)


def rope_net(meshes: int = 9, links: int = 4, n: int = 32, size: float = 1.2, self_contacts: bool = True) -> Scene:
    """A net that flies over a ball on which a cloth of n x n cells comes to lie.

    Its ropes are tapes of triangles: contact between soft things is that of surfaces, springs and loose particles have none.

    Args:
        meshes: Holes along each side of the net.
        links: Cells from tape to tape.
        n: Cells along each side of the cloth; 0 leaves it out.
        size: Length of a side of the net and the cloth [m].
        self_contacts: Whether net and cloth feel each other.
    """
    builder = ModelBuilder()
    silk, tape = CLOTH_PRESETS["silk"], CLOTH_PRESETS["denim"]
    step = size / (meshes * links + 1)
    radius = 0.2 * size / max(n, 24)
    contact: dict[str, Any] = {"ke": 1.0e3, "kd": 0.1, "mu": 0.4}
    builder.add_shape_sphere(-1, xform=(0.0, 0.0, 0.35, 0.0, 0.0, 0.0, 1.0), radius=0.35, cfg=ShapeConfig(**contact), label="ball")
    builder.add_ground_plane(cfg=ShapeConfig(**contact))
    if n:
        cell = size / n
        elements = silk.elements(cell)
        mass = elements.pop("density") * cell * cell
        builder.add_cloth_grid(
            pos=(-0.5 * size, -0.5 * size, 0.72), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, cell_x=cell,
            cell_y=cell, mass=mass, particle_radius=radius, color=(0.75, 0.3, 0.3), tri_drag=AIR, **elements,
        )  # fmt: skip
    places, triangles = net_mesh(meshes, links)
    x, y = places.T * step
    builder.add_cloth_mesh(
        pos=(-size, -0.5 * size, 1.0), rot=(0.0, 0.0, 0.0, 1.0), scale=1.0, vel=(1.4, 0.0, 0.8),
        vertices=np.stack([x, y, 0.1 * x], axis=1), indices=triangles.reshape(-1), particle_radius=radius, color=(0.85, 0.75, 0.45),
        tri_drag=AIR, **tape.elements(step),
    )  # fmt: skip
    return Scene(
        "rope_net", builder, seconds=2.5, solver=self_contact(self_contacts, radius), soft_contact=contact,
        camera={"azimuth": -60.0, "elevation": 22.0},
    )  # fmt: skip

"""Cables that fall on each other."""

import numpy as np

from hooke.geometry.rod import Rod
from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, RUBBER
from hooke.scenes.scene import Scene

__all__ = ["cable_pile"]


def cable_pile(layers: int = 4, cables: int = 4, segments: int = 16, length: float = 0.8, radius: float = 0.008) -> Scene:
    """Layers of wavy rubber cables, crosswise above each other, that fall in a heap.

    Args:
        layers: Number of layers.
        cables: Cables of a layer.
        segments: Of a cable.
        length: Of a cable [m].
        radius: Of a cable [m].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=RUBBER)
    along = np.linspace(-0.5, 0.5, segments + 1) * length
    rng = np.random.default_rng(7)
    for layer in range(layers):
        for k in range(cables):
            across = (k - 0.5 * (cables - 1)) * 7.0 * radius + 1.5 * radius * np.sin(12.0 * along / length + 6.0 * rng.random())
            x, y = (along, across) if layer % 2 else (across, along)
            points = np.stack([x, y, np.full_like(x, (2.0 + 5.0 * layer) * radius)], axis=1)
            rod = Rod(points, radius=radius, youngs_modulus=2.0e6, poissons_ratio=0.45)
            builder.add_rod(rod=rod, cfg=RUBBER, bend_damping=1.0e-4, color=PALETTE[(layer + k) % 5], label=f"cable_{layer}_{k}")
    return Scene("cable_pile", builder, seconds=3.0, substeps=1, camera={"azimuth": -60.0, "elevation": 30.0})

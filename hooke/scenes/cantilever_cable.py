"""Cables that are clamped at one end."""

import numpy as np

from hooke.geometry.rod import Rod
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import PALETTE, STEEL
from hooke.scenes.scene import Scene

__all__ = ["cantilever_cable"]


def cantilever_cable(radii: tuple[float, ...] = (0.001, 0.002, 0.004), segments: int = 20, length: float = 0.5) -> Scene:
    """Nylon cables of several radii that start level, held at one end, and sink to where bending carries them.

    The middle of the first segment is in the wall, so that half a segment bends with every joint.

    Args:
        radii: Of the cables [m].
        segments: Of a cable.
        length: That is free [m].
    """
    builder = ModelBuilder()
    builder.add_shape_box(
        -1, xform=(-0.03, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0), hx=0.03, hy=0.15, hz=0.4, cfg=STEEL, color=(0.5, 0.5, 0.55)
    )
    nylon = ShapeConfig(density=1140.0, mu=0.3, collision_group=0)
    step = length / (segments - 0.5)
    along = (np.arange(segments + 1) - 0.5) * step
    for k, radius in enumerate(radii):
        y = 0.08 * (k - 0.5 * (len(radii) - 1))
        points = np.stack([along, np.full_like(along, y), np.full_like(along, 0.6)], axis=1)
        rod = Rod(points, radius=radius, youngs_modulus=2.5e9, poissons_ratio=0.4)
        bodies, _ = builder.add_rod(rod=rod, cfg=nylon, color=PALETTE[k % 5], label=f"cable_{k}")
        builder.add_joint_fixed(-1, bodies[0], parent_xform=builder.body_q.array[bodies[0]])
    return Scene("cantilever_cable", builder, seconds=3.0, substeps=1, camera={"azimuth": -60.0, "elevation": 20.0})

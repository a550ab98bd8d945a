"""Cables that are clamped at one end."""

import numpy as np

from hooke.geometry.rod import Rod
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import PALETTE, STEEL, anchors
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
    clamp = builder.add_body(xform=(-0.02, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0), is_kinematic=True, label="clamp")
    builder.add_shape_box(clamp, hx=0.02, hy=0.13, hz=0.04, cfg=STEEL, color=(0.5, 0.5, 0.55))
    step = length / (segments - 0.5)
    along = (np.arange(segments + 1) - 0.5) * step
    for k, radius in enumerate(radii):
        nylon = ShapeConfig(density=1140.0, mu=0.3, collision_group=0)
        y = 0.08 * (k - 0.5 * (len(radii) - 1))
        points = np.stack([along, np.full_like(along, y), np.full_like(along, 0.6)], axis=1)
        rod = Rod(points, radius=radius, youngs_modulus=2.5e9, poissons_ratio=0.4)
        bodies, _ = builder.add_rod(rod=rod, cfg=nylon, color=PALETTE[k % 5], label=f"cable_{k}")
        builder.add_joint_fixed(clamp, bodies[0], **anchors(builder, clamp, bodies[0], (0.0, y, 0.6)))
    return Scene("cantilever_cable", builder, seconds=3.0, substeps=1, camera={"azimuth": -60.0, "elevation": 20.0})

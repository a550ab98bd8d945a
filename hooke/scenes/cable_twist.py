"""Cables that are laid to a rope."""

import numpy as np

from hooke.geometry.rod import Rod
from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, RUBBER, STEEL, TurnEnds, about, anchors
from hooke.scenes.scene import Scene

__all__ = ["cable_twist"]


def cable_twist(cables: int = 4, segments: int = 40, turns: float = 1.5, rate: float = np.pi / 2.0) -> Scene:
    """Parallel cables between two discs that turn against each other, come closer and stop; the cables lie around each other.

    Args:
        cables: Number of cables, on a circle.
        segments: Of a cable.
        turns: Turns of one disc relative to the other.
        rate: Angular speed of each disc [rad/s].
    """
    builder = ModelBuilder(gravity=0.0)
    length, radius, circle, height = 0.8, 0.008, 0.02, 0.3
    discs: list[int] = []
    for side in (-1.0, 1.0):
        x = side * (0.5 * length + 0.01)
        disc = builder.add_body(xform=(x, 0.0, height, *about(1, 0.5 * np.pi)), is_kinematic=True, label=f"disc_{len(discs)}")
        builder.add_shape_cylinder(disc, radius=0.05, half_height=0.008, cfg=STEEL, color=(0.5, 0.5, 0.55))
        discs.append(disc)
    for k in range(cables):
        angle = 2.0 * np.pi * k / cables
        y, z = circle * np.cos(angle), height + circle * np.sin(angle)
        rod = Rod.create_straight(
            (-0.5 * length, y, z), (1.0, 0.0, 0.0), length, segment_count=segments, radius=radius, youngs_modulus=2.0e6,
            poissons_ratio=0.45,
        )  # fmt: skip
        bodies, _ = builder.add_rod(rod=rod, cfg=RUBBER, bend_damping=1.0e-4, color=PALETTE[k % 5], label=f"cable_{k}")
        for disc, body in zip(discs, (bodies[0], bodies[-1]), strict=True):
            builder.add_joint_fixed(disc, body, **anchors(builder, disc, body, builder.body_q.array[disc, :3]))
    turning = np.pi * turns / rate
    return Scene(
        "cable_twist", builder, seconds=turning + 0.5, substeps=1, drive=TurnEnds(rate, turning),
        camera={"azimuth": -75.0, "elevation": 20.0},
    )  # fmt: skip

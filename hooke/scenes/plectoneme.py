"""A twisted rod that coils up."""

import numpy as np

from hooke.geometry.rod import Rod
from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import RUBBER, STEEL, TurnEnds, about, anchors
from hooke.scenes.scene import Scene

__all__ = ["plectoneme"]


def plectoneme(segments: int = 48, turns: float = 8.0, slack: float = 0.45, rate: float = 2.0 * np.pi) -> Scene:
    """A rubber rod whose ends are twisted against each other and then brought together: it winds around itself.

    Args:
        segments: Of the rod.
        turns: Turns of one end relative to the other.
        slack: By how much of the rod's length the ends come together.
        rate: Angular speed of each end [rad/s].
    """
    builder = ModelBuilder(gravity=0.0)
    length, radius, height, speed = 1.0, 0.006, 0.4, 0.1
    along = np.linspace(-0.5, 0.5, segments + 1) * length
    bow = height + 0.004 * np.cos(np.pi * along / length)  # says to which side it gives way
    rod = Rod(
        np.stack([along, np.zeros_like(along), bow], axis=1), rest_straight=True, radius=radius, youngs_modulus=2.0e6,
        poissons_ratio=0.45,
    )  # fmt: skip
    bodies, _ = builder.add_rod(
        rod=rod, cfg=RUBBER, bend_damping=1.0e-4, twist_damping=1.0e-4, color=(0.85, 0.4, 0.25), label="rod"
    )
    for side, body in ((-1.0, bodies[0]), (1.0, bodies[-1])):
        place = (side * (0.5 * length + 0.02), 0.0, height)
        jaw = builder.add_body(xform=(*place, *about(1, 0.5 * np.pi)), is_kinematic=True)
        builder.add_shape_cylinder(jaw, radius=0.03, half_height=0.02, cfg=STEEL, color=(0.5, 0.5, 0.55))
        builder.add_joint_fixed(jaw, body, **anchors(builder, jaw, body, place))
    turning, moving = np.pi * turns / rate, 0.5 * slack * length / speed
    return Scene(
        "plectoneme", builder, seconds=turning + moving + 1.0, substeps=4, drive=TurnEnds(rate, turning, speed, moving),
        camera={"azimuth": -75.0, "elevation": 20.0},
    )  # fmt: skip

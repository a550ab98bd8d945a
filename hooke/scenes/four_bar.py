"""A crank and a rocker, coupled by a bar."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE
from hooke.scenes.linkage import add_bar, add_hinge, add_peg, at_distances, drive_speed
from hooke.scenes.scene import Scene

__all__ = ["four_bar"]


def four_bar(
    crank: float = 0.1, coupler: float = 0.3, rocker: float = 0.25, ground: float = 0.3, rate: float = 6.0, angle: float = 90.0
) -> Scene:
    """A four-bar linkage whose crank turns at a given rate.

    The crank turns all the way round where it and the longest bar are together no longer than the other two (Grashof).

    Args:
        crank: Length of the driven bar [m].
        coupler: Length of the bar between crank and rocker [m].
        rocker: Length of the third bar [m].
        ground: Distance of the two hinges on the ground [m].
        rate: Speed of the crank [rad/s].
        angle: Of the crank to the ground at the start [degrees].
    """
    builder = ModelBuilder()
    turn = np.radians(angle)
    a, d = np.array([0.0, 0.0, 0.3]), np.array([ground, 0.0, 0.3])
    b = a + crank * np.array([np.cos(turn), 0.0, np.sin(turn)])
    c = at_distances(b, d, coupler, rocker)
    add_peg(builder, a)
    add_peg(builder, d)
    bars = [
        add_bar(builder, start, end, label=label, color=PALETTE[k])
        for k, (start, end, label) in enumerate([(a, b, "crank"), (b, c, "coupler"), (c, d, "rocker")])
    ]
    joints = [
        add_hinge(builder, -1, bars[0], a, label="motor", **drive_speed(-rate)),
        add_hinge(builder, bars[0], bars[1], b, label="crank_pin"),
        add_hinge(builder, bars[1], bars[2], c, label="rocker_pin"),
    ]
    builder.add_articulation(joints, label="linkage")
    add_hinge(builder, -1, bars[2], d, label="ground_pin")
    return Scene("four_bar", builder, seconds=4.0, substeps=10, method="kamino", camera={"azimuth": -90.0, "elevation": 5.0})

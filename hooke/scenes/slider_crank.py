"""A crank that moves a piston."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, anchors
from hooke.scenes.linkage import BARE, add_bar, add_hinge, add_peg, drive_speed
from hooke.scenes.scene import Scene

__all__ = ["slider_crank"]


def slider_crank(crank: float = 0.1, rod: float = 0.3, rate: float = 10.0, angle: float = 90.0) -> Scene:
    """A slider-crank: the piston is at x = r cos t + sqrt(l^2 - r^2 sin^2 t) when the crank is at the angle t.

    Args:
        crank: r, length of the crank [m].
        rod: l, length of the rod [m], longer than the crank.
        rate: Speed of the crank [rad/s].
        angle: Of the crank at the start [degrees].
    """
    builder = ModelBuilder()
    turn = np.radians(angle)
    a = np.array([0.0, 0.0, 0.3])
    b = a + crank * np.array([np.cos(turn), 0.0, np.sin(turn)])
    c = a + (crank * np.cos(turn) + np.sqrt(rod**2 - (crank * np.sin(turn)) ** 2), 0.0, 0.0)
    add_peg(builder, a)
    bars = [add_bar(builder, a, b, label="crank"), add_bar(builder, b, c, label="rod", color=PALETTE[2])]
    piston = builder.add_link(xform=(*c, 0.0, 0.0, 0.0, 1.0), label="piston")
    builder.add_shape_box(piston, hx=0.04, hy=0.03, hz=0.03, cfg=BARE, color=PALETTE[0])
    joints = [
        add_hinge(builder, -1, bars[0], a, label="motor", **drive_speed(-rate)),
        add_hinge(builder, bars[0], bars[1], b, label="crank_pin"),
        add_hinge(builder, bars[1], piston, c, label="piston_pin"),
    ]
    builder.add_articulation(joints, label="engine")
    builder.add_joint_prismatic(-1, piston, axis="X", label="cylinder", **anchors(builder, -1, piston, c))
    return Scene("slider_crank", builder, seconds=3.0, substeps=10, method="kamino", camera={"azimuth": -90.0, "elevation": 5.0})

"""A box that swings on a hinge."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, about
from hooke.scenes.linkage import BARE, add_hinge, add_peg
from hooke.scenes.scene import Scene

__all__ = ["box_pendulum"]


def box_pendulum(size: tuple[float, float, float] = (0.1, 0.1, 0.5), angle: float = 90.0, arm: float = 0.3) -> Scene:
    """A box on a hinge swings freely; it is a physical pendulum.

    Args:
        size: Edges of the box [m].
        angle: To the vertical at the start [degrees].
        arm: Distance of its middle from the hinge [m].
    """
    builder = ModelBuilder()
    hinge, tilt = np.array([0.0, 0.0, 1.0]), np.radians(angle)
    place = hinge + arm * np.array([-np.sin(tilt), 0.0, -np.cos(tilt)])
    box = builder.add_link(xform=(*place, *about(1, tilt)), label="box")
    hx, hy, hz = 0.5 * np.asarray(size)
    builder.add_shape_box(box, hx=hx, hy=hy, hz=hz, cfg=BARE, color=PALETTE[0])
    thin = BARE.copy()
    thin.density = 0.0
    builder.add_shape_box(box, xform=(0, 0, 0.5 * (arm + hz), 0, 0, 0, 1), hx=0.01, hy=0.01, hz=0.5 * abs(arm - hz), cfg=thin)
    add_peg(builder, hinge, radius=0.025)
    builder.add_articulation([add_hinge(builder, -1, box, hinge, label="hinge")], label="pendulum")
    return Scene("box_pendulum", builder, seconds=4.0, substeps=40, method="kamino", camera={"azimuth": -90.0, "elevation": 5.0})

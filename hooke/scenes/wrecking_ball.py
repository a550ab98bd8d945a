"""A heavy ball on a light chain that hits a wall."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import CONCRETE, PALETTE, STEEL, about, add_box, anchors
from hooke.scenes.scene import Scene

__all__ = ["wrecking_ball"]


def wrecking_ball(links: int = 20, wide: int = 6, high: int = 8, angle: float = 60.0) -> Scene:
    """A steel ball of five tons on a chain whose links weigh 0.1 kg, a fifty-thousandth, swings into a wall of concrete blocks.

    Args:
        links: Of the chain, 0.25 m each.
        wide: Blocks along the wall.
        high: Rows of blocks.
        angle: Between the chain and the vertical at the start [degrees].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=CONCRETE)
    step, thick, ball = 0.25, 0.004, 0.534
    tilt = np.radians(angle)
    along = np.array([-np.sin(tilt), 0.0, -np.cos(tilt)])
    top = np.array([-ball - 0.15, 0.0, links * step + 2.0 * ball + 0.3])
    turn = about(1, tilt)
    joints, parent = [], -1
    for k in range(links + 1):
        last = k == links
        reach = k * step + (ball if last else 0.5 * step)
        body = builder.add_link(xform=(*(top + reach * along), *turn), label="ball" if last else f"link_{k}")
        if last:
            builder.add_shape_sphere(body, radius=ball, cfg=STEEL, color=(0.25, 0.25, 0.28))
        else:
            builder.add_shape_capsule(body, radius=thick, half_height=0.5 * step - thick, cfg=STEEL, color=(0.5, 0.5, 0.55))
        joints.append(builder.add_joint_ball(parent, body, **anchors(builder, parent, body, top + k * step * along)))
        parent = body
    builder.add_articulation(joints, label="chain")
    length, height = 0.5, 0.25
    for row in range(high):
        for k in range(wide):
            y = (k - 0.5 * (wide - 1) + 0.5 * (row % 2) - 0.25) * length
            add_box(
                builder, (0.0, y, (row + 0.5) * height), (0.25, 0.998 * length, height), cfg=CONCRETE, color=PALETTE[(row + k) % 2]
            )
    return Scene("wrecking_ball", builder, seconds=3.0, substeps=8, camera={"azimuth": -50.0, "elevation": 15.0})

"""A hanging bridge of planks."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import CONCRETE, OAK, PALETTE, about, add_box, anchors
from hooke.scenes.scene import Scene

__all__ = ["plank_bridge"]


def plank_bridge(planks: int = 20, bend: float = 2.0, crates: int = 4) -> Scene:
    """Planks that are hinged to each other and at both banks, and crates that fall on them.

    Args:
        planks: Number of planks, 1.2 m long and 0.25 m wide.
        bend: Angle between neighbours at the start [degrees].
        crates: Number of crates, of 30 kg and more.
    """
    builder = ModelBuilder()
    pitch, gap, width, thick, height = 0.27, 0.02, 1.2, 0.04, 2.0
    slope = np.radians(bend) * (np.arange(planks) - 0.5 * (planks - 1))
    steps = pitch * np.stack([np.cos(slope), np.zeros(planks), np.sin(slope)], axis=1)
    ends = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    ends += (-0.5 * ends[-1, 0], 0.0, height)
    joints, parent = [], -1
    for k in range(planks):
        body = builder.add_link(xform=(*(0.5 * (ends[k] + ends[k + 1])), *about(1, -slope[k])), label=f"plank_{k}")
        builder.add_shape_box(
            body, hx=0.5 * (pitch - gap), hy=0.5 * width, hz=0.5 * thick, cfg=OAK, color=PALETTE[0 if k % 2 else 2]
        )
        joints.append(builder.add_joint_revolute(parent, body, axis="Y", damping=0.5, **anchors(builder, parent, body, ends[k])))
        parent = body
    builder.add_articulation(joints, label="bridge")
    builder.add_joint_revolute(-1, parent, axis="Y", damping=0.5, **anchors(builder, -1, parent, ends[-1]), label="far_bank")
    for x in (ends[0, 0] - 0.51, ends[-1, 0] + 0.51):
        bank = (x, 0.0, 0.5 * height, 0.0, 0.0, 0.0, 1.0)
        builder.add_shape_box(-1, xform=bank, hx=0.5, hy=0.8, hz=0.5 * height, cfg=CONCRETE, color=(0.5, 0.5, 0.55))
    builder.add_ground_plane(cfg=CONCRETE)
    for k in range(crates):
        size = 0.35 + 0.05 * (k % 3)
        place = (0.9 * (k - 0.5 * (crates - 1)), 0.15 * (-1.0) ** k, height + 0.5 + 0.3 * k)
        add_box(builder, place, (size,) * 3, turn=about(2, 0.4 * k), color=PALETTE[1 + k % 4])
    return Scene("plank_bridge", builder, seconds=4.0, substeps=1, camera={"azimuth": -65.0, "elevation": 15.0})

"""Two sticks and a link between them that fall on the ground."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import OAK, PALETTE, STEEL, anchors
from hooke.scenes.linkage import add_bar
from hooke.scenes.scene import Scene

__all__ = ["nunchaku"]


def nunchaku(length: float = 0.3, link: float = 0.06, height: float = 0.35, angle: float = 35.0) -> Scene:
    """Two sticks with a short link and two ball joints between them fall on the ground, roll apart and lie.

    Args:
        length: Of a stick [m].
        link: Of the link [m].
        height: Of the link above the ground [m].
        angle: Of the sticks to the horizontal at the start, one up and one down [degrees].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=OAK)
    radius, slope = 0.015, np.radians(angle)
    left, right = np.array([-0.5 * link, 0.0, height]), np.array([0.5 * link, 0.0, height])
    a = left + length * np.array([-np.cos(slope), 0.2, np.sin(slope)])
    c = right + length * np.array([np.cos(slope), 0.2, -0.3 * np.sin(slope)])
    parts = [
        add_bar(builder, a, left, radius=radius, label="stick_a", color=PALETTE[0], cfg=OAK),
        add_bar(builder, left, right, radius=0.4 * radius, label="link", color=(0.4, 0.4, 0.45), cfg=STEEL),
        add_bar(builder, right, c, radius=radius, label="stick_b", color=PALETTE[0], cfg=OAK),
    ]
    joints = [builder.add_joint_free(parts[0], label="root")]
    for k, place in enumerate((left, right)):
        joints.append(
            builder.add_joint_ball(parts[k], parts[k + 1], label=f"ball_{k}", **anchors(builder, parts[k], parts[k + 1], place))
        )
    builder.add_articulation(joints, label="nunchaku")
    builder.add_shape_collision_filter_pair(*(builder.body_shapes[part][0] for part in (parts[0], parts[2])))
    return Scene("nunchaku", builder, seconds=3.0, substeps=10, method="kamino", camera={"azimuth": -70.0, "elevation": 20.0})

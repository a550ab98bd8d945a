"""A plate on six legs that change their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.motion import quat_multiply, quat_rotate
from hooke.scenes.bodies import PALETTE, about, anchors
from hooke.scenes.linkage import BARE, Follow, add_bar, add_peg, ramp
from hooke.scenes.scene import Scene

__all__ = ["LegLengths", "stewart_platform"]


class LegLengths:
    """By how much the legs are longer than at the start [m] where the plate is on its way; ``path(time)``.

    Args:
        feet: Ends of the legs on the ground [m], (6, 3).
        heads: Their ends at the plate at the start [m], (6, 3).
        middle: Of the plate at the start [m].
        sway: How far it goes to the sides [m].
        heave: How far it goes up and down [m].
        tilt: By how much it leans [rad].
        rate: Of its turns [rad/s].
    """

    def __init__(self, feet: Any, heads: Any, middle: Any, sway: float, heave: float, tilt: float, rate: float):
        self.feet, self.middle = feet, middle
        self.arms = heads - middle
        self.sway, self.heave, self.tilt, self.rate = sway, heave, tilt, rate
        self.length = np.linalg.norm(heads - feet, axis=1)

    def pose(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the middle of the plate should be [m], and its orientation."""
        phase, share = self.rate * time, ramp(time)
        way = np.array([self.sway * np.sin(phase), self.sway * (1.0 - np.cos(phase)), self.heave * np.sin(2.0 * phase)])
        turn = quat_multiply(about(0, share * self.tilt * np.sin(phase)), about(1, share * self.tilt * np.sin(1.5 * phase)))
        return self.middle + share * way, np.asarray(turn)

    def __call__(self, time: float) -> np.ndarray:
        middle, turn = self.pose(time)
        heads = middle + quat_rotate(turn, self.arms)
        return np.linalg.norm(heads - self.feet, axis=1) - self.length


def stewart_platform(
    height: float = 0.7, sway: float = 0.08, heave: float = 0.06, tilt: float = 12.0, rate: float = 3.0, stiffness: float = 1.0e6
) -> Scene:
    """Six legs, each with a universal joint on the ground, a driven slider and a ball joint at the plate: it has six ways to move.

    Args:
        height: Of the plate above the joints on the ground [m].
        sway: How far the plate goes to the sides [m].
        heave: How far it goes up and down [m].
        tilt: By how much it leans [degrees].
        rate: Of its motion [rad/s].
        stiffness: Of the drives of the legs [N/m].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=BARE)
    middle = np.array([0.0, 0.0, 0.05 + height])
    plate = builder.add_link(xform=(*middle, 0.0, 0.0, 0.0, 1.0), label="plate")
    builder.add_shape_cylinder(plate, radius=0.34, half_height=0.015, cfg=BARE, color=PALETTE[0])
    sides = np.repeat([0.0, 120.0, 240.0], 2)
    feet = _around(0.55, sides + np.tile([-12.0, 12.0], 3), 0.05)
    heads = _around(0.32, sides + np.tile([-48.0, 48.0], 3), middle[2] - 0.03)
    joints, sliders, bodies = [], [], []
    for k, (foot, head) in enumerate(zip(feet, heads, strict=True)):
        along = (head - foot) / np.linalg.norm(head - foot)
        add_peg(builder, foot, radius=0.03)
        tube = add_bar(builder, foot, foot + 0.55 * (head - foot), radius=0.022, label=f"tube_{k}", color=PALETTE[1])
        rod = add_bar(builder, foot + 0.4 * (head - foot), head, radius=0.012, label=f"rod_{k}", color=PALETTE[2])
        bodies.append(rod)
        universal: dict[str, Any] = {"angular_axes": ["X", "Y"], "label": f"foot_{k}"}
        joints.append(builder.add_joint_d6(-1, tube, **universal, **anchors(builder, -1, tube, foot)))
        drive: dict[str, Any] = {
            "actuator_mode": 3,
            "target_ke": stiffness,
            "target_kd": 1.0e-2 * stiffness,
            "label": f"slider_{k}",
        }
        sliders.append(builder.add_joint_prismatic(tube, rod, axis=along, **drive, **anchors(builder, tube, rod, head)))
        joints.append(sliders[-1])
    joints.append(builder.add_joint_ball(bodies[0], plate, label="head_0", **anchors(builder, bodies[0], plate, heads[0])))
    builder.add_articulation(joints, label="platform")
    for k in range(1, 6):
        builder.add_joint_ball(bodies[k], plate, label=f"head_{k}", **anchors(builder, bodies[k], plate, heads[k]))
    path = LegLengths(feet, heads, middle, sway, heave, np.radians(tilt), rate)
    return Scene(
        "stewart_platform", builder, seconds=6.0, substeps=10, method="kamino", command=Follow(builder, sliders, path),
        camera={"azimuth": -70.0, "elevation": 18.0},
    )  # fmt: skip


def _around(radius: float, angles: np.ndarray, height: float) -> np.ndarray:
    """Points on a circle around the Z axis, angles in degrees."""
    turn = np.radians(angles)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), np.full(len(turn), height)], axis=1)

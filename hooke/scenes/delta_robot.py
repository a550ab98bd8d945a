"""A plate that three arms above it move about without turning it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, anchors
from hooke.scenes.linkage import BARE, Follow, add_bar, add_hinge, add_peg, ramp
from hooke.scenes.scene import Scene

__all__ = ["ArmAngles", "delta_robot"]

SIDES = np.radians([0.0, 120.0, 240.0])


class ArmAngles:
    """Angles of the arms from where they are at the start [rad] that bring the plate to where it should be; ``path(time)``.

    Args:
        base: Distance of the shoulders from the axis [m].
        plate: Distance of the wrists from the middle of the plate [m].
        arm: Length of an arm [m].
        forearm: Length of a forearm [m].
        depth: Of the plate below the shoulders at the start [m].
        radius: Of its circle [m].
        rate: At which it goes round [rad/s].
    """

    def __init__(self, base: float, plate: float, arm: float, forearm: float, depth: float, radius: float, rate: float):
        self.base, self.plate, self.arm, self.forearm, self.depth = base, plate, arm, forearm, depth
        self.radius, self.rate = radius, rate
        self.start = self.angles(np.array([0.0, 0.0, -depth]))

    def place(self, time: float) -> np.ndarray:
        """Where the middle of the plate should be [m] from the middle of the shoulders."""
        phase, share = self.rate * time, ramp(time)
        return np.array([
            share * self.radius * np.sin(phase), share * self.radius * np.cos(phase),
            -self.depth + 0.4 * share * self.radius * np.sin(3.0 * phase),
        ])  # fmt: skip

    def angles(self, place: np.ndarray) -> np.ndarray:
        """Angles of the arms below the horizontal [rad], elbows outside.

        Raises:
            ValueError: The place is out of reach.
        """
        out = np.stack([np.cos(SIDES), np.sin(SIDES)], axis=1) @ place[:2] + self.plate - self.base
        side = np.stack([-np.sin(SIDES), np.cos(SIDES)], axis=1) @ place[:2]
        down = -place[2]
        square = out**2 + down**2
        share = (square + side**2 + self.arm**2 - self.forearm**2) / (2.0 * self.arm * np.sqrt(square))
        if (np.abs(share) > 1.0).any():
            raise ValueError(f"delta_robot: the plate cannot be {place.tolist()} m from the middle of the shoulders")
        return np.asarray(np.arctan2(down, out) - np.arccos(share))

    def __call__(self, time: float) -> np.ndarray:
        return self.angles(self.place(time)) - self.start


def delta_robot(
    base: float = 0.2, plate: float = 0.07, arm: float = 0.3, forearm: float = 0.65, depth: float = 0.62, radius: float = 0.16,
    rate: float = 4.0, stiffness: float = 2.0e4,
) -> Scene:  # fmt: skip
    """Three driven arms and two parallel forearms on each, with universal joints above and ball joints below: the plate never turns.

    Args:
        base: Distance of the shoulders from the axis [m].
        plate: Distance of the wrists from the middle of the plate [m].
        arm: Length of an arm [m].
        forearm: Length of a forearm [m].
        depth: Of the plate below the shoulders at the start [m].
        radius: Of the circle that it is led on [m].
        rate: At which it goes round [rad/s].
        stiffness: Of the drives of the shoulders [N m/rad].
    """
    builder = ModelBuilder()
    path = ArmAngles(base, plate, arm, forearm, depth, radius, rate)
    height, half = depth + 0.35, 0.05
    top = np.array([0.0, 0.0, height])
    builder.add_shape_cylinder(
        -1, xform=(*(top + (0, 0, 0.03)), 0, 0, 0, 1), radius=base, half_height=0.015, cfg=BARE, color=(0.3, 0.3, 0.33)
    )
    bottom = builder.add_link(xform=(0.0, 0.0, height - depth, 0.0, 0.0, 0.0, 1.0), label="plate")
    builder.add_shape_cylinder(bottom, radius=plate + 0.02, half_height=0.01, cfg=BARE, color=PALETTE[0])
    joints, shoulders, wrists = [], [], []
    for k, (turn, angle) in enumerate(zip(SIDES, path.start, strict=True)):
        out, side = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([-np.sin(turn), np.cos(turn), 0.0])
        shoulder = top + base * out
        elbow = shoulder + arm * (np.cos(angle) * out - np.sin(angle) * np.array([0.0, 0.0, 1.0]))
        add_peg(builder, shoulder, radius=0.025)
        upper = add_bar(builder, shoulder, elbow, radius=0.016, label=f"arm_{k}", color=PALETTE[1])
        drive: dict[str, Any] = {
            "actuator_mode": 3,
            "target_ke": stiffness,
            "target_kd": 1.0e-2 * stiffness,
            "label": f"shoulder_{k}",
        }
        shoulders.append(add_hinge(builder, -1, upper, shoulder, side, **drive))
        joints.append(shoulders[-1])
        for sign in (-1, 1):
            above, below = elbow + sign * half * side, np.array([0, 0, height - depth]) + plate * out + sign * half * side
            rod = add_bar(builder, above, below, radius=0.007, label=f"forearm_{k}_{'ab'[sign > 0]}", color=PALETTE[2])
            across = np.cross(below - above, side)
            universal: dict[str, Any] = {
                "angular_axes": [side, across / np.linalg.norm(across)],
                "label": f"elbow_{k}_{'ab'[sign > 0]}",
            }
            joints.append(builder.add_joint_d6(upper, rod, **universal, **anchors(builder, upper, rod, above)))
            wrists.append((rod, below, f"wrist_{k}_{'ab'[sign > 0]}"))
    first, *others = wrists
    joints.append(builder.add_joint_ball(first[0], bottom, label=first[2], **anchors(builder, first[0], bottom, first[1])))
    builder.add_articulation(joints, label="robot")
    for rod, place, label in others:
        builder.add_joint_ball(rod, bottom, label=label, **anchors(builder, rod, bottom, place))
    return Scene(
        "delta_robot", builder, seconds=5.0, substeps=10, method="kamino", command=Follow(builder, shoulders, path),
        camera={"azimuth": -75.0, "elevation": 8.0},
    )  # fmt: skip

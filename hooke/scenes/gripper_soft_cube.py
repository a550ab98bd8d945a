"""A soft cube that driven fingers grip, lift and hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import SOFT_PRESETS
from hooke.scenes.scene import Scene

__all__ = ["Grip", "gripper_soft_cube"]

CLOSED, LIFTED = 0.6, 1.6
"""When the fingers have closed and when they have been lifted [s]."""


class Grip:
    """Targets of the wrist and the fingers: closed first, then lifted, then held.

    Args:
        close: Way of each finger [m].
        lift: Way of the wrist [m].
    """

    def __init__(self, close: float, lift: float):
        self.close, self.lift = close, lift

    def __call__(self, model: Any, control: Any, time: float) -> None:
        close = self.close * np.clip(time / (CLOSED - 0.1), 0.0, 1.0)
        share = np.clip((time - CLOSED) / (LIFTED - CLOSED), 0.0, 1.0)
        up = self.lift * share * share * (3.0 - 2.0 * share)
        worlds = len(control.joint_target_q) // 3
        control.joint_target_q.assign(np.tile((up, close, -close), worlds).astype(np.float32))


def gripper_soft_cube(
    n: int = 4, size: float = 0.1, material: str = "rubber", mu: float = 0.8, squeeze: float = 0.012, lift: float = 0.15,
    stiffness: float = 4.0e3,
) -> Scene:  # fmt: skip
    """Two fingers on sliders at a wrist close on a soft cube that stands on the ground; the wrist lifts it and holds it.

    A cube of mass m is held as long as 2 mu F exceeds m g, F the force of a finger: ``stiffness`` times what it lacks to its target.

    Args:
        n: Cells along each side of the cube.
        size: Length of a side [m].
        material: Name of a soft preset.
        mu: Friction between cube and fingers.
        squeeze: How far the target of each finger lies inside the cube [m].
        lift: Way of the wrist [m].
        stiffness: Of the drives of the fingers [N/m]; that of the wrist is twenty times as much.
    """
    builder = ModelBuilder()
    cell, radius, thick, room = size / n, 0.05 * size, 0.12 * size, 0.2 * size
    contact: dict[str, Any] = {"ke": 2.0e4, "kd": 10.0, "mu": mu}
    floor = ShapeConfig(**contact)
    builder.add_ground_plane(cfg=floor)
    builder.add_soft_grid(
        pos=(-0.5 * size, -0.5 * size, radius), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, dim_z=n, cell_x=cell,
        cell_y=cell, cell_z=cell, particle_radius=radius, color=(0.85, 0.45, 0.3), **SOFT_PRESETS[material].elements(),
    )  # fmt: skip
    middle, high = 0.55 * size + radius, 1.6 * size
    steel = ShapeConfig(density=2000.0, **contact)
    bare = ShapeConfig(density=0.0, has_shape_collision=False)
    wrist = builder.add_link(xform=(0.0, 0.0, high, 0.0, 0.0, 0.0, 1.0), label="wrist")
    builder.add_shape_box(wrist, hx=1.1 * size, hy=0.25 * size, hz=0.12 * size, cfg=steel, color=(0.35, 0.38, 0.42))
    joints = [
        builder.add_joint_prismatic(
            -1, wrist, axis="Z", parent_xform=(0.0, 0.0, high, 0.0, 0.0, 0.0, 1.0), target_ke=20.0 * stiffness,
            target_kd=0.5 * stiffness, label="lift",
        )
    ]  # fmt: skip
    start = 0.5 * size + radius + room + thick
    for side, label in ((-1.0, "left"), (1.0, "right")):
        finger = builder.add_link(xform=(side * start, 0.0, middle, 0.0, 0.0, 0.0, 1.0), label=label)
        builder.add_shape_box(finger, hx=thick, hy=0.4 * size, hz=0.4 * size, cfg=steel, color=(0.35, 0.55, 0.75))
        arm = (side * thick, 0.0, 0.5 * (high - middle) + 0.2 * size, 0.0, 0.0, 0.0, 1.0)  # for the eye only
        builder.add_shape_box(
            finger, xform=arm, hx=0.3 * thick, hy=0.15 * size, hz=0.5 * (high - middle) - 0.2 * size, cfg=bare, color=(0.35, 0.38, 0.42)
        )  # fmt: skip
        joints.append(
            builder.add_joint_prismatic(
                wrist, finger, axis="X", parent_xform=(side * start, 0.0, middle - high, 0.0, 0.0, 0.0, 1.0), target_ke=stiffness,
                target_kd=0.05 * stiffness, label=label,
            )
        )  # fmt: skip
    builder.add_articulation(joints, label="gripper")
    return Scene(
        "gripper_soft_cube", builder, seconds=3.0, substeps=1, soft_contact=contact, command=Grip(room + squeeze, lift),
        solver={"particle_acceleration": "multilevel"}, camera={"azimuth": -60.0, "elevation": 15.0},
    )  # fmt: skip

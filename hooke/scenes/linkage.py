"""Parts of mechanisms: bars between points, plates, drives, and points that lie at given distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, STEEL, anchors
from hooke.scenes.scene import write_rows

__all__ = ["BARE", "Follow", "add_bar", "add_hinge", "add_peg", "add_plate", "at_distances", "drive_speed", "ramp", "turn_to"]

BARE = replace(STEEL, has_shape_collision=False, has_particle_collision=False)
"""Steel that touches nothing: parts of a mechanism may pass each other."""


def turn_to(direction: Any) -> tuple[float, ...]:
    """The least rotation (quaternion) from the Z axis to a direction."""
    d = np.asarray(direction, np.float64) / np.linalg.norm(direction)
    if d[2] < -1.0 + 1.0e-12:
        return (1.0, 0.0, 0.0, 0.0)
    q = np.array([-d[1], d[0], 0.0, 1.0 + d[2]])
    return tuple(q / np.linalg.norm(q))


def add_bar(
    builder: ModelBuilder, a: Any, b: Any, *, radius: float = 0.008, label: str | None = None, color: Any = PALETTE[1], cfg: Any = BARE,
    **options: Any,
) -> int:  # fmt: skip
    """A round bar from ``a`` to ``b`` [m], along Z of its body, whose origin is in the middle."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    body = builder.add_link(xform=(*(0.5 * (a + b)), *turn_to(b - a)), label=label, **options)
    builder.add_shape_capsule(body, radius=radius, half_height=0.5 * float(np.linalg.norm(b - a)), cfg=cfg, color=color)
    return body


def add_plate(
    builder: ModelBuilder, points: Sequence[Any], *, radius: float = 0.008, label: str | None = None, color: Any = PALETTE[0]
) -> int:  # fmt: skip
    """A frame of bars around points [m], one body with its origin in their middle and the axes of the world."""
    corners = np.asarray(points, np.float64)
    middle = corners.mean(axis=0)
    body = builder.add_link(xform=(*middle, 0.0, 0.0, 0.0, 1.0), label=label)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        place = (*(0.5 * (a + b) - middle), *turn_to(b - a))
        half = 0.5 * float(np.linalg.norm(b - a))
        builder.add_shape_capsule(body, xform=place, radius=radius, half_height=half, cfg=BARE, color=color)
    return body


def add_hinge(builder: ModelBuilder, parent: int, child: int, place: Any, axis: Any = "Y", **options: Any) -> int:
    """A hinge at a point of the world [m] about one of its axes."""
    return int(builder.add_joint_revolute(parent, child, axis=axis, **anchors(builder, parent, child, place), **options))


def drive_speed(rate: float, gain: float = 1.0e3) -> dict[str, Any]:
    """Keywords of a joint that is driven at ``rate`` [rad/s or m/s]."""
    return {"target_qd": rate, "target_kd": gain, "actuator_mode": 2}


def at_distances(a: Any, b: Any, from_a: float, from_b: float) -> np.ndarray:
    """The point of the XZ plane at distances from two of its points that lies to the left of the way from ``a`` to ``b``.

    Raises:
        ValueError: There is none.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    way = b - a
    length = float(np.hypot(way[0], way[2]))
    along = (from_a**2 - from_b**2 + length**2) / (2.0 * length)
    square = from_a**2 - along**2
    if square < 0.0:
        raise ValueError(f"no point is {from_a} m from {a} and {from_b} m from {b}: they are {length} m apart")
    unit = way / length
    return np.asarray(a + along * unit + np.sqrt(square) * np.array([-unit[2], 0.0, unit[0]]))


def add_peg(builder: ModelBuilder, place: Any, radius: float = 0.014) -> None:
    """A ball in the world where a mechanism is held [m], for the picture."""
    builder.add_shape_sphere(
        -1, xform=(*np.asarray(place, np.float64), 0.0, 0.0, 0.0, 1.0), radius=radius, cfg=BARE, color=(0.3, 0.3, 0.33)
    )


def ramp(time: float, length: float = 1.0) -> float:
    """From 0 at the start to 1 after ``length`` [s], with no jump of its rate."""
    share = min(max(time / length, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


class Follow:
    """Gives joints their targets: a scene's ``command``.

    Args:
        builder: What is in the scene; with several worlds, in each of them.
        joints: Joints with one degree of freedom.
        path: Targets of these [m or rad] at a time [s]; their rates follow.
    """

    def __init__(self, builder: ModelBuilder, joints: Sequence[int], path: Callable[[float], np.ndarray]):
        self.count, self.joints, self.path = builder.joint_count, np.asarray(joints), path
        self.model: Any = None

    def __call__(self, model: Any, control: Any, time: float) -> None:
        if model is not self.model:
            self.model, self.worlds = model, model.joint_count // self.count
            rows = (self.count * np.arange(self.worlds)[:, None] + self.joints).reshape(-1)
            self.coords, self.dofs = model.joint_q_start.numpy()[rows], model.joint_qd_start.numpy()[rows]
        target = self.path(time)
        rate = (self.path(time + 1.0e-4) - target) / 1.0e-4
        write_rows(control.joint_target_q, self.coords, np.tile(target, self.worlds))
        write_rows(control.joint_target_qd, self.dofs, np.tile(rate, self.worlds))

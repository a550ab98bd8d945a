"""What several scenes of rigid bodies share: shapes, materials and placed bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.enums import BodyFlags
from hooke.model.material import RIGID_PRESETS
from hooke.model.motion import compose, inverse_pose, quat_multiply
from hooke.scenes.scene import write_rows

__all__ = ["CONCRETE", "OAK", "PALETTE", "RUBBER", "STEEL", "TurnEnds", "about", "add_box", "anchors"]

OAK, CONCRETE, STEEL, RUBBER = (ShapeConfig(**RIGID_PRESETS[name].elements()) for name in ("oak", "concrete", "steel", "rubber"))
PALETTE = ((0.80, 0.45, 0.25), (0.30, 0.55, 0.75), (0.85, 0.72, 0.40), (0.45, 0.62, 0.38), (0.62, 0.38, 0.50))


def about(axis: int, angle: float) -> tuple[float, ...]:
    """Quaternion of a rotation about X, Y or Z (0, 1, 2) by an angle [rad]."""
    turn = np.zeros(4)
    turn[axis], turn[3] = np.sin(0.5 * angle), np.cos(0.5 * angle)
    return tuple(turn)


def add_box(
    builder: ModelBuilder, place: Any, size: Any, *, turn: Any = (0.0, 0.0, 0.0, 1.0), cfg: ShapeConfig = OAK, color: Any = None,
    label: str | None = None, **options: Any,
) -> int:  # fmt: skip
    """Add a free box with its middle at ``place`` [m], edges ``size`` [m] and orientation ``turn``; ``options`` go to the body."""
    body = builder.add_body(xform=(*place, *turn), label=label, **options)
    hx, hy, hz = 0.5 * np.asarray(size, np.float64)
    builder.add_shape_box(body, hx=hx, hy=hy, hz=hz, cfg=cfg, color=color)
    return body


def anchors(builder: ModelBuilder, parent: int, child: int, place: Any) -> dict[str, Any]:
    """Anchors of a joint at ``place`` in the world [m], its axes those of the world, between bodies where they are now."""
    pose = np.array([*place, 0.0, 0.0, 0.0, 1.0])
    own = compose(inverse_pose(builder.body_q.array[child]), pose)
    return {"parent_xform": pose if parent < 0 else compose(inverse_pose(builder.body_q.array[parent]), pose), "child_xform": own}


class TurnEnds:
    """Moves the kinematic bodies: turns those at x < 0 one way about X, the others the other way, and brings them together.

    Args:
        rate: Angular speed of each end [rad/s].
        turning: When they stop turning [s].
        speed: At which each end then goes towards the other [m/s].
        moving: How long it does [s].
    """

    def __init__(self, rate: float, turning: float, speed: float = 0.0, moving: float = 0.0):
        self.rate, self.turning, self.speed, self.moving = rate, turning, speed, moving
        self.model: Any = None

    def __call__(self, model: Any, state: Any, time: float) -> None:
        if model is not self.model:
            self.model, self.rows = model, np.flatnonzero(model.body_flags.numpy() & BodyFlags.KINEMATIC)
            self.pose = model.body_q.numpy()[self.rows].astype(np.float64)
            self.side = np.sign(self.pose[:, 0])
        angle = 0.5 * self.rate * min(time, self.turning) * self.side
        turn = np.stack([np.sin(angle), np.zeros_like(angle), np.zeros_like(angle), np.cos(angle)], axis=1)
        pose = self.pose.copy()
        pose[:, 0] -= self.side * self.speed * min(max(time - self.turning, 0.0), self.moving)
        pose[:, 3:] = [quat_multiply(a, b) for a, b in zip(turn, self.pose[:, 3:], strict=True)]
        write_rows(state.body_q, self.rows, pose)

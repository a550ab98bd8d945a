"""A machine with four legs that trots over uneven ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.geometry import Heightfield
from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import PALETTE, RUBBER
from hooke.scenes.linkage import BARE, Follow, add_bar, add_hinge, ramp
from hooke.scenes.scene import Scene

__all__ = ["Trot", "add_quadruped", "quadruped", "terrain"]

LEGS = ("front_left", "front_right", "hind_left", "hind_right")
HIPS = np.array([[0.26, 0.13], [0.26, -0.13], [-0.26, 0.13], [-0.26, -0.13]])
SEGMENT, ASIDE = 0.24, 0.07
"""Length of a thigh and of a shank, and how far they are outside of the hip [m]."""


class Trot:
    """Angles of the hinges from where they are at the start [rad], hip, thigh and knee of every leg; ``path(time)``.

    Two legs across from each other lift while the other two push.

    Args:
        height: Of the hips above the feet [m].
        speed: Of the trunk [m/s].
        period: Of a leg's motion [s].
        lift: Of a foot [m].
        pause: How long it stands before [s].
    """

    def __init__(self, height: float, speed: float, period: float, lift: float, pause: float = 0.5):
        self.height, self.speed, self.period, self.lift, self.pause = height, speed, period, lift, pause
        self.start = self.angles(np.zeros(4), np.full(4, height))

    def angles(self, ahead: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Angles of thighs and knees (4, 2) that bring feet so far ahead of and below the hips [m]."""
        bend = np.arccos(np.clip(np.hypot(ahead, down) / (2.0 * SEGMENT), -1.0, 1.0))
        return np.stack([np.arctan2(-ahead, down) + bend, -2.0 * bend], axis=1)

    def feet(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """How far the feet are ahead of and below the hips [m]."""
        since = max(time - self.pause, 0.0)
        phase = (since / self.period + np.array([0.0, 0.5, 0.5, 0.0])) % 1.0
        share, half = ramp(since, 2.0 * self.period), 0.25 * self.speed * self.period
        swings = phase < 0.5
        ahead = np.where(swings, -half * np.cos(2.0 * np.pi * phase), half * (3.0 - 4.0 * phase))
        return share * ahead, self.height - share * self.lift * np.where(swings, np.sin(2.0 * np.pi * phase), 0.0)

    def __call__(self, time: float) -> np.ndarray:
        turned = np.zeros((4, 3))
        turned[:, 1:] = self.angles(*self.feet(time)) - self.start
        return turned.reshape(-1)


def add_quadruped(
    builder: ModelBuilder,
    place: Any = (0.0, 0.0, 0.0),
    *,
    height: float = 0.36,
    ke: float = 150.0,
    kd: float = 5.0,
    mu: float = 0.8,
) -> list[int]:
    """Add a trunk and four legs of three links: thirteen bodies, a free joint and twelve driven hinges.

    Args:
        builder: The builder.
        place: Of the middle of the feet [m].
        height: Of the hips above the feet [m].
        ke: Stiffness of the drives [N m/rad].
        kd: Damping of the drives [N m s/rad].
        mu: Friction of the feet.

    Returns:
        The hinges: hip, thigh and knee of every leg.
    """
    thick, foot = 0.02, 0.025
    solid, sole = BARE.copy(), RUBBER.copy()
    solid.density, sole.mu, sole.gap = 1000.0, mu, 0.02
    origin = np.asarray(place, np.float64) + (0.0, 0.0, height + foot)
    trunk = builder.add_link(xform=(*origin, 0.0, 0.0, 0.0, 1.0), label="trunk")
    light = solid.copy()
    light.density = 700.0
    builder.add_shape_box(trunk, hx=0.28, hy=0.09, hz=0.05, cfg=light, color=PALETTE[1])
    builder.add_shape_box(trunk, xform=(0.3, 0, 0.06, 0, 0, 0, 1), hx=0.07, hy=0.05, hz=0.04, cfg=light, color=PALETTE[0])
    joints, hinges = [builder.add_joint_free(trunk, label="root")], []
    bend = float(np.arccos(height / (2.0 * SEGMENT)))
    for name, (x, y) in zip(LEGS, HIPS, strict=True):
        hip = origin + (x, y, 0.0)
        top = hip + (0.0, np.sign(y) * ASIDE, 0.0)
        knee = top + SEGMENT * np.array([-np.sin(bend), 0.0, -np.cos(bend)])
        end = top - (0.0, 0.0, height)
        parts = [
            add_bar(builder, hip, top, radius=1.6 * thick, label=f"{name}_hip", color=PALETTE[0], cfg=solid),
            add_bar(builder, top, knee, radius=1.2 * thick, label=f"{name}_thigh", color=PALETTE[2], cfg=solid),
            add_bar(builder, knee, end, radius=0.8 * thick, label=f"{name}_shank", color=PALETTE[3], cfg=solid),
        ]
        builder.add_shape_sphere(
            parts[2], xform=(0.0, 0.0, 0.5 * SEGMENT, 0.0, 0.0, 0.0, 1.0), radius=foot, cfg=sole, color=(0.15, 0.15, 0.15)
        )
        parents, places = [trunk, *parts[:2]], [hip, top, knee]
        for what, axis, parent, part, where in zip(("hip", "thigh", "knee"), "XYY", parents, parts, places, strict=True):
            drive: dict[str, Any] = {"actuator_mode": 3, "target_ke": ke, "target_kd": kd, "label": f"{name}_{what}_hinge"}
            hinges.append(add_hinge(builder, parent, part, where, axis, **drive))
    builder.add_articulation(joints + hinges, label="quadruped")
    return hinges


def terrain(rough: float, size: tuple[float, float] = (8.0, 4.0), cell: float = 0.1, seed: int = 4) -> Heightfield:
    """Uneven ground, level within 0.6 m of its middle.

    Args:
        rough: Its highest above its lowest place [m].
        size: Along x and y [m].
        cell: Distance of its nodes [m].
        seed: Of the random numbers.
    """
    columns, rows = (int(round(s / cell)) + 1 for s in size)
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, columns) * size[0], np.linspace(-0.5, 0.5, rows) * size[1])
    random, heights = np.random.default_rng(seed), np.zeros((rows, columns))
    for _ in range(24):
        wave, phase = random.normal(scale=4.0, size=2), random.uniform(0.0, 2.0 * np.pi)
        heights += np.sin(wave[0] * x + wave[1] * y + phase)
    heights = 0.5 + 0.5 * heights / np.abs(heights).max()
    heights = rough * heights * np.clip(np.hypot(x, y) / 0.6 - 1.0, 0.0, 1.0)
    return Heightfield(heights, rows, columns, 0.5 * size[0], 0.5 * size[1])


def quadruped(speed: float = 0.5, rough: float = 0.04, ke: float = 150.0, kd: float = 5.0, height: float = 0.36) -> Scene:
    """A trunk and four legs, thirteen bodies and twelve hinges with implicit drives, trots over uneven ground.

    Args:
        speed: At which it trots [m/s]; 0 lets it stand.
        rough: Differences in height of the ground [m]; 0 is a plane.
        ke: Stiffness of the drives [N m/rad].
        kd: Damping of the drives [N m s/rad].
        height: Of the hips above the feet [m].
    """
    builder = ModelBuilder()
    ground = RUBBER.copy()
    ground.mu, ground.gap = 0.8, 0.02
    if rough > 0.0:
        builder.add_shape_heightfield(heightfield=terrain(rough), cfg=ground, color=(0.45, 0.5, 0.4))
    else:
        builder.add_ground_plane(cfg=ground)
    hinges = add_quadruped(builder, height=height, ke=ke, kd=kd)
    gait = Trot(height, speed, 0.45, 0.06 if speed else 0.0)
    return Scene(
        "quadruped", builder, seconds=6.0, substeps=10, method="kamino", command=Follow(builder, hinges, gait),
        camera={"azimuth": -60.0, "elevation": 15.0},
    )  # fmt: skip

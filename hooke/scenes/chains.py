"""Chains of light links that carry heavy things: a pendulum and two balls."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import STEEL, about, anchors
from hooke.scenes.scene import Scene

__all__ = ["heavy_pendulum", "two_balls"]


def _hang(
    links: int, balls: dict[int, tuple[float, float]], angle: float, length: float, weight: float, top: float
) -> ModelBuilder:
    """A chain from the world with ``links`` links; ``balls`` gives mass and radius of those that follow a link.

    Bodies are joined by ball joints, in one line at ``angle`` [degrees] to the vertical. A ball follows its link in the chain, joined at
    the upper end of its diameter; what follows begins at the lower end.
    """
    builder = ModelBuilder()
    tilt = np.radians(angle)
    along, turn, at = np.array([np.sin(tilt), 0.0, -np.cos(tilt)]), about(1, -tilt), np.array([0.0, 0.0, top])
    joints, parent = [], -1

    def hang(reach: float, label: str) -> int:
        return builder.add_link(xform=(*(at + 0.5 * reach * along), *turn), label=label)

    def join(body: int, reach: float) -> None:
        nonlocal parent, at
        joints.append(builder.add_joint_ball(parent, body, **anchors(builder, parent, body, at)))
        parent, at = body, at + reach * along

    thick = 0.35 * length
    cfg = ShapeConfig(density=weight / (thick * thick * length), has_shape_collision=False)
    for k in range(links):
        body = hang(length, f"link_{k}")
        builder.add_shape_box(
            body, hx=0.5 * thick, hy=0.5 * thick, hz=0.5 * length, cfg=cfg, color=(0.5, 0.5 + 0.2 * (k % 2), 0.75)
        )
        join(body, length)
        if k in balls:
            mass, radius = balls[k]
            body = hang(2.0 * radius, f"ball_{k}")
            ball = ShapeConfig(density=mass / (4.0 / 3.0 * np.pi * radius**3), mu=STEEL.mu)
            builder.add_shape_sphere(body, radius=radius, cfg=ball, color=(0.75, 0.3, 0.25))
            join(body, 2.0 * radius)
    builder.add_articulation(joints, label="chain")
    builder.add_ground_plane()
    return builder


def heavy_pendulum(bodies: int = 50, ratio: float = 5.0e4, angle: float = 90.0) -> Scene:
    """A chain of bodies whose last one is ``ratio`` times as heavy as any other swings from ``angle``; only joints hold it.

    A scene of Giles, Diaz, Yuksel, Augmented Vertex Block Descent, 2025.

    Args:
        bodies: Number of bodies, the ball at the tip included.
        ratio: Mass of the tip over that of a link, 0.1 kg.
        angle: Between the chain and the vertical at the start [degrees].
    """
    mass = 0.1 * ratio
    radius = (mass / (4.0 / 3.0 * np.pi * 7850.0)) ** (1.0 / 3.0)
    builder = _hang(bodies - 1, {bodies - 2: (mass, radius)}, angle, 0.2, 0.1, 0.2 * bodies + 2.0 * radius + 0.5)
    return Scene("heavy_pendulum", builder, seconds=10.0, substeps=1, camera={"azimuth": -80.0, "elevation": 8.0})


def two_balls(links: int = 40, ratio: float = 1.0e4, second: float = 1.0, angle: float = 60.0) -> Scene:
    """A light chain with one heavy ball in its middle and another at its end swings as a double pendulum; only joints hold it.

    Args:
        links: Links in all, 0.1 kg each, half of them above the upper ball.
        ratio: Mass of the upper ball over that of a link.
        second: Mass of the lower ball over that of the upper.
        angle: Between the chain and the vertical at the start [degrees].
    """
    masses = 0.1 * ratio, 0.1 * ratio * second
    radii = [(mass / (4.0 / 3.0 * np.pi * 7850.0)) ** (1.0 / 3.0) for mass in masses]
    balls = dict(zip((links // 2 - 1, links - 1), zip(masses, radii, strict=True), strict=True))
    builder = _hang(links, balls, angle, 0.2, 0.1, 0.2 * links + 2.0 * sum(radii) + 0.5)
    return Scene("two_balls", builder, seconds=10.0, substeps=1, camera={"azimuth": -80.0, "elevation": 8.0})

"""Belts that carry crates."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.scenes.bodies import OAK, PALETTE, RUBBER, about, add_box
from hooke.scenes.linkage import BARE
from hooke.scenes.scene import Scene

__all__ = ["add_belt", "conveyor"]


def add_belt(builder: ModelBuilder, start: Any, end: Any, width: float, speed: float, label: str | None = None) -> int:
    """A belt that carries what lies on it from ``start`` to ``end`` [m], points of one height on its surface.

    It is a kinematic body with a velocity [m/s]; SolverKamino leaves its pose as it is.
    """
    start, end = np.asarray(start, np.float64), np.asarray(end, np.float64)
    length, thick = float(np.linalg.norm(end - start)), 0.03
    along = (end - start) / length
    turn = about(2, float(np.arctan2(along[1], along[0])))
    middle = 0.5 * (start + end) - (0.0, 0.0, thick)
    belt = builder.add_body(xform=(*middle, *turn), is_kinematic=True, label=label)
    builder.add_shape_box(belt, hx=0.5 * length, hy=0.5 * width, hz=thick, cfg=RUBBER, color=(0.22, 0.22, 0.24))
    for end_x in (-0.5 * length, 0.5 * length):
        roller = (end_x, 0.0, 0.0, *about(0, 0.5 * np.pi))
        builder.add_shape_cylinder(belt, xform=roller, radius=thick, half_height=0.51 * width, cfg=BARE, color=(0.45, 0.45, 0.5))
    builder.body_qd.array[belt] = (*(speed * along), 0.0, 0.0, 0.0)
    return belt


def conveyor(crates: int = 4, speed: float = 0.6, size: float = 0.2) -> Scene:
    """Crates on a belt, which drops them on a second one that runs across.

    Args:
        crates: On the belt.
        speed: Of both belts [m/s].
        size: Edge of a crate [m].
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=OAK)
    length = 0.4 + 0.45 * crates
    add_belt(builder, (-length, 0.0, 0.5), (0.0, 0.0, 0.5), 0.4, speed, "upper_belt")
    add_belt(builder, (0.22, -0.35, 0.3), (0.22, 1.8, 0.3), 0.5, speed, "lower_belt")
    for k in range(crates):
        place = (-0.25 - 0.45 * k, 0.0, 0.5 + 0.5 * size)
        add_box(
            builder, place, (size, size, size), turn=about(2, 0.3 * k), cfg=OAK, color=PALETTE[k % len(PALETTE)], label=f"crate_{k}"
        )
    return Scene("conveyor", builder, seconds=5.0, substeps=10, method="kamino", camera={"azimuth": -125.0, "elevation": 30.0})

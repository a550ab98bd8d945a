"""A tunic of two panels, sewn together on a mannequin by springs along its seams. Panels and mannequin are made here, from no file."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.geometry.mesh import Mesh
from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import CLOTH_PRESETS
from hooke.scenes.scene import Scene, self_contact

__all__ = ["garment", "mannequin", "tunic_panel"]

TORSO = np.array([
    (0.70, 0.150, 0.100), (0.72, 0.165, 0.115), (0.85, 0.180, 0.125), (1.00, 0.145, 0.105), (1.10, 0.140, 0.100), (1.25, 0.165, 0.115),
    (1.36, 0.165, 0.100), (1.42, 0.130, 0.080), (1.46, 0.070, 0.060), (1.52, 0.055, 0.055), (1.55, 0.070, 0.080), (1.65, 0.080, 0.100),
    (1.73, 0.055, 0.070), (1.75, 0.020, 0.030),
])  # fmt: skip
"""Height and half axes along X and Y [m] of the ellipses of the mannequin, from the hips to the crown of the head."""

ARM = ((0.17, 0.0, 1.37), (0.42, 0.0, 1.08), 0.042)
"""Shoulder and hand [m] of the arm on the side of +X, and its radius."""


def mannequin(segments: int = 32) -> Mesh:
    """Torso and head of a mannequin that stands at z = 0.7 m and looks along -Y: ellipses joined by triangles, closed at both ends."""
    levels = np.linspace(TORSO[0, 0], TORSO[-1, 0], 43)
    half = np.stack([np.interp(levels, TORSO[:, 0], TORSO[:, k]) for k in (1, 2)], axis=1)
    turn = 2.0 * np.pi * np.arange(segments) / segments
    rings = np.empty((len(levels), segments, 3))
    rings[..., :2] = half[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings[..., 2] = levels[:, None]
    this, after = np.arange(segments), (np.arange(segments) + 1) % segments
    low = segments * np.arange(len(levels) - 1)[:, None]
    a, b, c, d = low + this, low + after, low + after + segments, low + this + segments
    bottom, top, last = rings.shape[0] * segments, rings.shape[0] * segments + 1, segments * (len(levels) - 1)
    ends = [np.stack([np.full(segments, bottom), after, this], 1), np.stack([np.full(segments, top), last + this, last + after], 1)]
    triangles = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3), *ends])
    vertices = np.concatenate([rings.reshape(-1, 3), [(0.0, 0.0, levels[0]), (0.0, 0.0, levels[-1])]])
    return Mesh(vertices.astype(np.float32), triangles.reshape(-1), compute_inertia=False)


def tunic_panel(n: int, depth: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One half of the tunic, flat, in the plane y = 0.

    Args:
        n: Cells across; the panel is 2 n cells high.
        depth: Of the neckline [m].

    Returns:
        Vertices ((2 n + 1)(n + 1), 3) [m], triangles, and the vertices of its seams: the sides below the armholes and the shoulders.
    """
    row, column = (a.reshape(-1) for a in np.meshgrid(np.arange(2 * n + 1), np.arange(n + 1), indexing="ij"))
    across, up = column / n - 0.5, row / (2 * n)
    width = 0.80 - 0.34 * np.minimum(1.0, up / 0.55)
    top = 1.56 - 0.20 * np.maximum(np.abs(across) * 0.46 - 0.09, 0.0)  # shoulders slope beside the neck
    top = top - depth * np.maximum(0.0, 1.0 - (across * 0.46 / 0.09) ** 2)
    vertices = np.stack([across * width, 0.0 * up, 0.55 + up * (top - 0.55)], axis=1)
    corner = (row * (n + 1) + column)[(row < 2 * n) & (column < n)]
    right, above = corner + 1, corner + n + 1
    turned = ((corner // (n + 1) + corner % (n + 1)) % 2 == 1)[:, None]  # diagonals alternate
    one = np.where(turned, np.stack([corner, right, above], 1), np.stack([corner, right, above + 1], 1))
    two = np.where(turned, np.stack([right, above + 1, above], 1), np.stack([corner, above + 1, above], 1))
    side = ((column == 0) | (column == n)) & (up < 0.72)
    shoulder = (row == 2 * n) & (np.abs(across) * 0.46 > 0.095)
    return vertices, np.concatenate([one, two]), np.flatnonzero(side | shoulder)


def garment(n: int = 26, material: str = "cotton", self_contacts: bool = True) -> Scene:
    """Two panels of n x 2 n cells, before and behind a mannequin, that springs along the seams draw together into a tunic.

    Args:
        n: Cells across a panel.
        material: Name of a cloth preset.
        self_contacts: Whether the cloth feels itself.
    """
    builder = ModelBuilder()
    preset = CLOTH_PRESETS[material]
    contact: dict[str, Any] = {"ke": 2.0e3, "kd": 0.1, "mu": preset.mu}
    skin = ShapeConfig(**contact)
    builder.add_shape_mesh(-1, mesh=mannequin(), cfg=skin, color=(0.8, 0.68, 0.6), label="mannequin")
    for side in (-1.0, 1.0):
        _add_limb(builder, np.multiply(ARM[0], (side, 1.0, 1.0)), np.multiply(ARM[1], (side, 1.0, 1.0)), ARM[2], skin)
        _add_limb(builder, np.array((0.09 * side, 0.0, 0.74)), np.array((0.10 * side, 0.0, 0.05)), 0.075, skin)
    builder.add_ground_plane(cfg=skin)
    cell = 0.5 / n
    radius = 0.2 * cell
    elements = preset.elements(cell)
    seams = []
    for y, depth, color in ((-0.16, 0.10, (0.20, 0.42, 0.62)), (0.16, 0.03, (0.27, 0.52, 0.72))):
        vertices, triangles, seam = tunic_panel(n, depth)
        triangles = triangles if y < 0.0 else triangles[:, ::-1]  # outsides of both look away from the body
        seams.append(builder.particle_count + seam)
        builder.add_cloth_mesh(
            pos=(0.0, y, 0.0), rot=(0.0, 0.0, 0.0, 1.0), scale=1.0, vel=(0.0, 0.0, 0.0), vertices=vertices,
            indices=triangles.reshape(-1), particle_radius=2.0 * radius, color=color, **elements,
        )  # fmt: skip
    for i, j in zip(*seams, strict=True):
        builder.add_spring(int(i), int(j), 100.0, 5.0)  # shut within a tenth of a second, by the damper
    builder.spring_rest_length.array[:] = radius
    solver = self_contact(self_contacts, radius)
    return Scene("garment", builder, seconds=3.0, solver=solver, soft_contact=contact, camera={"azimuth": -72.0, "elevation": 10.0})


def _add_limb(builder: ModelBuilder, start: np.ndarray, end: np.ndarray, radius: float, cfg: ShapeConfig) -> None:
    """A capsule between two points [m]."""
    way = end - start
    length = float(np.linalg.norm(way))
    axis = way / length
    turn = np.array([-axis[1], axis[0], 0.0, 1.0 + axis[2]])
    if turn[3] < 1.0e-6:
        turn = np.array([1.0, 0.0, 0.0, 0.0])
    pose = (*(0.5 * (start + end)), *(turn / np.linalg.norm(turn)))
    builder.add_shape_capsule(-1, xform=pose, radius=radius, half_height=0.5 * length, cfg=cfg, color=(0.8, 0.68, 0.6))

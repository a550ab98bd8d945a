"""Shapes of revolution: everything about them happens in the half plane (rho, z), rho being the distance from the Z axis."""

from __future__ import annotations

import numpy as np
import warp as wp

TINY = wp.constant(1.0e-18)
"""Lengths below this have no direction: their squares vanish in float32."""


@wp.func
def unit(v: wp.vec3, fallback: wp.vec3):
    """``v`` at unit length; ``fallback`` where ``v`` has no direction."""
    length = wp.length(v)
    if length > TINY:
        return v / length
    return fallback


@wp.func
def sign(x: float):
    """-1 or +1; +1 at zero."""
    return wp.where(x < 0.0, -1.0, 1.0)


@wp.func
def radial(p: wp.vec3):
    """Unit vector from the Z axis to ``p``; +X on the axis."""
    return unit(wp.vec3(p[0], p[1], 0.0), wp.vec3(1.0, 0.0, 0.0))


def revolve(profile: np.ndarray, segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Turn a profile around Z.

    Args:
        profile: Points (rho, z) from the bottom of the axis to its top, shape (n, 2) [m]. The first and the last lie on the axis.
        segments: Number of divisions around the axis, at least 3.

    Returns:
        Vertices, float32 (v, 3), and triangles, int32 (m, 3), of a closed surface, wound outward.
    """
    if segments < 3:
        raise ValueError(f"segments: expected at least 3 divisions around the axis, found {segments}")
    rings = np.asarray(profile, dtype=np.float64)[1:-1]
    count = len(rings)
    turn = np.arange(segments) * (2.0 * np.pi / segments)
    circle = np.stack((np.cos(turn), np.sin(turn)), axis=1)
    body = np.empty((count, segments, 3))
    body[..., :2] = rings[:, None, :1] * circle
    body[..., 2] = rings[:, 1:]
    bottom, top = count * segments, count * segments + 1
    poles = [[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]]
    vertices = np.concatenate((body.reshape(-1, 3), poles))

    this = np.arange(segments)
    following = (this + 1) % segments
    low = (np.arange(count - 1) * segments)[:, None]
    a, b = low + this, low + following
    c, d = b + segments, a + segments
    sides = np.stack((a, b, c, a, c, d), axis=-1).reshape(-1, 3)
    last = (count - 1) * segments
    base = np.stack((np.full(segments, bottom), following, this), axis=-1)
    crown = np.stack((np.full(segments, top), last + this, last + following), axis=-1)
    return vertices.astype(np.float32), np.concatenate((sides, base, crown)).astype(np.int32)


def arc(radius: float, center: float, start: float, stop: float, count: int) -> np.ndarray:
    """Points (rho, z) of a circle around (0, ``center``) from latitude ``start`` to ``stop`` [rad], shape (count + 1, 2) [m]."""
    latitude = np.linspace(start, stop, count + 1)
    points = np.stack((radius * np.cos(latitude), center + radius * np.sin(latitude)), axis=1)
    points[np.abs(np.abs(latitude) - 0.5 * np.pi) < 1.0e-9, 0] = 0.0
    return points

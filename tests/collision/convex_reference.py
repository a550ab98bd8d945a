"""Signed distances of convex shapes by brute force: float64, support functions and thousands of directions, nothing else.

The signed distance of two convex sets is the largest separation over all directions, whether they overlap or not.
"""

from __future__ import annotations

import numpy as np

from hooke.geometry import GeoType

STEPS = 40
AROUND = 16


def unit(v):
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)


def sphere_of_directions(count):
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    turn = np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z * z)
    return np.stack((r * np.cos(turn), r * np.sin(turn), z), axis=1)


DIRECTIONS = sphere_of_directions(800)


class Body:
    """A convex shape: ``support(d)`` for directions (..., 3), and directions in which its separation may have a maximum."""

    def __init__(self, code, scale, vertices=None):
        self.code, self.scale, self.vertices = GeoType(code), np.asarray(scale, float), vertices

    def support(self, d):
        s, (x, y, z) = self.scale, np.moveaxis(d, -1, 0)
        flat = np.hypot(x, y)
        safe = np.where(flat > 0.0, flat, 1.0)
        if self.code == GeoType.SPHERE:
            return s[0] * unit(d)
        if self.code == GeoType.CAPSULE:
            ball = s[0] * unit(d)
            return ball + np.stack((0.0 * z, 0.0 * z, np.where(z < 0.0, -s[1], s[1])), axis=-1)
        if self.code == GeoType.ELLIPSOID:
            return s * unit(s * d)
        if self.code == GeoType.BOX:
            return np.where(d < 0.0, -s, s)
        rim = np.stack((s[0] * x / safe, s[0] * y / safe, np.where(z < 0.0, -s[1], s[1])), axis=-1)
        if self.code == GeoType.CYLINDER:
            return rim
        if self.code == GeoType.CONE:
            rim[..., 2] = -s[1]
            return np.where((2.0 * s[1] * z > s[0] * flat)[..., None], np.array([0.0, 0.0, s[1]]), rim)
        return self.vertices[np.argmax(d @ self.vertices.T, axis=-1)]


def rotation(q):
    x, y, z, w = np.moveaxis(np.asarray(q, float), -1, 0)
    r = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(r), (0, 1), (-2, -1))


def separation(a, b, r, t, n):
    """How far b, at rotation r (m, 3, 3) and offset t (m, 3), is from a along directions n (m, k, 3): (m, k)."""
    back = np.einsum("mij,mki->mkj", r, n)
    q = np.einsum("mij,mkj->mki", r, b.support(-back)) + t[:, None]
    return np.einsum("mki,mki->mk", n, q - a.support(n))


def special_directions(a, b, r, t):
    """Normals of faces of boxes and ends of cylinders, cross products of axes, and the line of centres: (m, k, 3)."""
    m = len(t)
    own = np.broadcast_to(np.eye(3), (m, 3, 3))
    other = np.swapaxes(r, 1, 2)
    cross = np.cross(own[:, :, None], other[:, None]).reshape(m, 9, 3)
    found = [own, other, cross, t[:, None]]
    for body, pose in ((a, None), (b, r)):
        if body.vertices is not None:
            from scipy.spatial import ConvexHull

            normals = np.broadcast_to(
                ConvexHull(body.vertices).equations[:, :3], (m, *ConvexHull(body.vertices).equations[:, :3].shape)
            )
            found.append(normals if pose is None else np.einsum("mij,mkj->mki", pose, normals))
    n = np.concatenate(found, axis=1)
    length = np.linalg.norm(n, axis=2, keepdims=True)
    n = np.where(length > 1e-6, n / np.maximum(length, 1e-300), np.array([0.0, 0.0, 1.0]))
    return np.concatenate((n, -n), axis=1)


def signed_distance(a, b, q, t, seed=0, starts=3):
    """Signed distances (m,) of b at poses (q, t) from a, and the directions (m, 3)."""
    rng = np.random.default_rng(seed)
    r = rotation(q)
    m = len(t)
    n = np.concatenate((np.broadcast_to(DIRECTIONS, (m, *DIRECTIONS.shape)), special_directions(a, b, r, t)), axis=1)
    s = separation(a, b, r, t, n)
    best = np.argsort(-s, axis=1)[:, :starts]
    n = np.take_along_axis(n, best[:, :, None], axis=1)
    s = np.take_along_axis(s, best, axis=1)
    width = 0.1
    for _ in range(STEPS):
        trial = unit(n[:, :, None] + width * rng.normal(size=(m, starts, AROUND, 3)))
        value = separation(a, b, r, t, trial.reshape(m, -1, 3)).reshape(m, starts, AROUND)
        k = value.argmax(axis=2)[:, :, None]
        better = np.take_along_axis(value, k, axis=2)[:, :, 0]
        direction = np.take_along_axis(trial, k[..., None], axis=2)[:, :, 0]
        n = np.where((better > s)[..., None], direction, n)
        s = np.maximum(s, better)
        width *= 0.7
    k = s.argmax(axis=1)
    return s[np.arange(m), k], n[np.arange(m), k]

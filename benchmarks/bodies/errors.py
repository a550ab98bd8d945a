"""Errors of a state of bodies, from poses alone, in float64, by the same formulas for every engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.bodies.cases import BodyScene

__all__ = ["BodyErrors", "measure_errors"]

BLOCK = 20_000


@dataclass(frozen=True)
class BodyErrors:
    """What is wrong with a state.

    Attributes:
        penetration: Largest overlap of two bodies, or of one with the ground [m]; neighbours of a cable do not count.
        joint_gap: Largest distance of the anchors of a joint [m].
        joint_gap_rms: Root mean square of the same.
        speed: Of the fastest body [m/s], held ones left out.
        drift: Largest motion of a centre away from where it started, along the ground [m].
    """

    penetration: float
    joint_gap: float
    joint_gap_rms: float
    speed: float
    drift: float


def rotation(q: np.ndarray) -> np.ndarray:
    """Matrices of quaternions x y z w, (n, 3, 3)."""
    x, y, z, w = (q / np.linalg.norm(q, axis=-1, keepdims=True)).T
    m = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(m), 2, 0)


def near_pairs(center: np.ndarray, reach: float) -> np.ndarray:
    """Pairs of points within a distance, i < j, (p, 2): by cells of that size."""
    cell = np.floor(center / reach).astype(np.int64)
    cell -= cell.min(axis=0) - 1
    size = cell.max(axis=0) + 2
    code = (cell[:, 0] * size[1] + cell[:, 1]) * size[2] + cell[:, 2]
    order = np.argsort(code, kind="stable")
    pairs = []
    for x in (-1, 0, 1):
        for y in (-1, 0, 1):
            for z in (-1, 0, 1):
                other = code + (x * size[1] + y) * size[2] + z
                first, last = (np.searchsorted(code[order], other, side) for side in ("left", "right"))
                count = last - first
                i = np.repeat(np.arange(len(center)), count)
                j = order[np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)]
                pairs.append(np.stack([i, j], axis=1)[i < j])
    found = np.concatenate(pairs)
    return found[np.linalg.norm(center[found[:, 0]] - center[found[:, 1]], axis=1) < reach]


def box_overlap(a: np.ndarray, b: np.ndarray, between: np.ndarray, half: np.ndarray) -> np.ndarray:
    """How deep pairs of equal boxes overlap, by the fifteen axes that can separate them; negative where they are apart."""
    normals = np.concatenate([np.moveaxis(a, 2, 1), np.moveaxis(b, 2, 1)], axis=1)
    crosses = np.cross(np.moveaxis(a, 2, 1)[:, :, None], np.moveaxis(b, 2, 1)[:, None]).reshape(-1, 9, 3)
    size = np.linalg.norm(crosses, axis=2, keepdims=True)
    axes = np.concatenate([normals, crosses / np.maximum(size, 1e-12)], axis=1)
    reach = sum(np.abs(np.einsum("pkc,pci->pki", axes, r)) @ half for r in (a, b))
    overlap = reach - np.abs(np.einsum("pkc,pc->pk", axes, between))
    overlap[:, 6:][size[:, :, 0] < 1e-6] = np.inf
    return overlap.min(axis=1)


def segment_distance(p: np.ndarray, d: np.ndarray, q: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Distance of segments p + s d and q + t e with s, t in (-1, 1)."""
    r = p - q
    dd, ee, de, dr, er = (np.einsum("ij,ij->i", x, y) for x, y in ((d, d), (e, e), (d, e), (d, r), (e, r)))
    det = dd * ee - de * de
    s = np.clip(np.where(det > 1e-12 * dd * ee, (de * er - ee * dr) / np.maximum(det, 1e-30), 0.0), -1.0, 1.0)
    t = np.clip((de * s + er) / ee, -1.0, 1.0)
    s = np.clip((de * t - dr) / dd, -1.0, 1.0)
    return np.linalg.norm(r + s[:, None] * d - t[:, None] * e, axis=1)


def measure_errors(scene: BodyScene, pose: np.ndarray, velocity: np.ndarray) -> BodyErrors:
    """Errors of a state: poses (n, 7), linear velocities (n, 3) [m/s]."""
    pose, place = np.asarray(pose, np.float64), np.asarray(pose[:, :3], np.float64)
    turn = rotation(pose[:, 3:])
    radius, half_height = scene.capsule or (0.0, 0.0)
    half = np.array(scene.box or (0.0, 0.0, half_height))
    deepest = float((np.abs(turn[:, 2]) @ half + radius - place[:, 2]).max())
    reach = 2.0 * (float(np.linalg.norm(half)) + radius)
    pairs = near_pairs(place, reach)
    if len(scene.joint):
        linked = set(map(tuple, np.sort(scene.joint, axis=1).tolist()))
        pairs = pairs[[tuple(pair) not in linked for pair in pairs.tolist()]]
    for k in range(0, len(pairs), BLOCK):
        i, j = pairs[k : k + BLOCK].T
        if scene.box:
            overlap = box_overlap(turn[i], turn[j], place[j] - place[i], half)
        else:
            overlap = 2.0 * radius - segment_distance(place[i], half[2] * turn[i, :, 2], place[j], half[2] * turn[j, :, 2])
        deepest = max(deepest, float(overlap.max(initial=-np.inf)))
    gap = np.zeros(1)
    if len(scene.joint):
        p, c = scene.joint.T
        gap = np.linalg.norm(place[p] + half[2] * turn[p, :, 2] - place[c] + half[2] * turn[c, :, 2], axis=1)
    free = np.setdiff1d(np.arange(len(place)), scene.held)
    speed = float(np.linalg.norm(velocity[free], axis=1).max())
    drift = float(np.linalg.norm((place - scene.pose[:, :3])[:, :2], axis=1).max())
    return BodyErrors(max(deepest, 0.0), float(gap.max()), float(np.sqrt(np.mean(gap**2))), speed, drift)

"""Few contact points of many, for one pair of shapes that meet in many triangles.

Points are sorted into six bins by the largest component of their normal and its sign. A bin keeps the deepest point, and the farthest
in each of four directions across it; what is deeper counts as farther. At most 30 points remain, of a flat contact at most five.

Every place of a bin holds the best point so far by its score, and of equal ones that with the smaller key: what remains depends on the
points alone, not on their order.
"""

from __future__ import annotations

import warp as wp

__all__ = ["REDUCED", "Reduction", "is_kept", "no_points", "offer"]

BINS = wp.constant(6)
PLACES = wp.constant(5)
REDUCED = wp.constant(30)
"""Most points that are kept of a pair of shapes."""
DEEPER = wp.constant(2.0)
"""How many metres across a metre of depth is worth."""

Scores = wp.types.vector(length=30, dtype=wp.float32)
Keys = wp.types.vector(length=30, dtype=wp.int32)


@wp.struct
class Reduction:
    """The best score of every place and the key of the point that has it; -1 for none."""

    score: Scores
    key: Keys


@wp.func
def no_points():
    r = Reduction()
    for k in range(REDUCED):
        r.score[k] = -1.0e30
        r.key[k] = -1
    return r


@wp.func
def bin_of(normal: wp.vec3):
    x = wp.abs(normal[0])
    y = wp.abs(normal[1])
    z = wp.abs(normal[2])
    if x >= y and x >= z:
        return wp.where(normal[0] < 0.0, 1, 0)
    if y >= z:
        return wp.where(normal[1] < 0.0, 3, 2)
    return wp.where(normal[2] < 0.0, 5, 4)


@wp.func
def score_of(place: int, axis: int, point: wp.vec3, distance: float):
    """By depth, or by the way along one of four directions across the axis."""
    if place == 0:
        return -distance
    u = point[(axis + 1) % 3]
    v = point[(axis + 2) % 3]
    across = wp.where(place < 3, u + 0.25 * v, v - 0.25 * u)
    return wp.where(place % 2 == 1, across, -across) - DEEPER * distance


@wp.func
def offer(r: Reduction, point: wp.vec3, normal: wp.vec3, distance: float, key: int):
    """The reduction with one more point, in the frame of one of the shapes; ``key`` >= 0 is unique and the same every time."""
    better = r
    bin = bin_of(normal)
    for place in range(PLACES):
        k = bin * PLACES + place
        score = score_of(place, bin / 2, point, distance)
        if score > r.score[k] or (score == r.score[k] and key < r.key[k]):
            better.score[k] = score
            better.key[k] = key
    return better


@wp.func
def is_kept(r: Reduction, key: int):
    kept = bool(False)
    for k in range(REDUCED):
        if r.key[k] == key:
            kept = True
    return kept

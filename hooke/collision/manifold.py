"""The contact of one pair of shapes: at most four points with one normal, chosen from those that clipping leaves.

Choice. Points that lie beyond the reach by more than a tolerance are dropped; if more than four remain, the first is the deepest (of
those that are equally deep to a tolerance, the first in the fixed order of corners), the second the farthest from it, the third and
the fourth span the largest triangles on both sides of the line between them. All comparisons have a tolerance in proportion to the
size of the smaller shape, so that motions below it change neither their number nor, mostly, their choice.
"""

from __future__ import annotations

import warp as wp

from hooke.geometry.convex import Face, ShapeGeometry

__all__ = ["BUFFER", "MOST", "SLACK", "Candidates", "Fours", "Manifold", "Points", "choose", "one_point", "place_face", "slack_of"]

MOST = wp.constant(4)
"""Most points of a manifold."""
SLACK = wp.constant(1.0e-3)
"""Tolerance of choices, relative to the radius of the smaller shape."""
BUFFER = wp.constant(24)
"""Most points before the choice: as many as two round faces have corners."""

Points = wp.types.matrix(shape=(4, 3), dtype=wp.float32)
Fours = wp.types.vector(length=4, dtype=wp.int32)
BufferPoints = wp.types.matrix(shape=(24, 3), dtype=wp.float32)
BufferNumbers = wp.types.vector(length=24, dtype=wp.float32)
BufferIds = wp.types.vector(length=24, dtype=wp.int32)


@wp.struct
class Manifold:
    """Contact of a pair of shapes: ``count`` points, 0 to 4, with one ``normal``, unit, from shape 0 to shape 1, in the frame of shape 0.

    Of every point: its place on the surface of shape 0 in the frame of shape 0 and on that of shape 1 in the frame of shape 1 [m],
    the ``distance`` along the normal [m], negative where the shapes overlap, and the ``feature``, a number that stays the same while
    the same corners and edges meet.
    """

    count: wp.int32
    normal: wp.vec3
    point0: Points
    point1: Points
    distance: wp.vec4
    feature: Fours


@wp.struct
class Candidates:
    """Points on shape 0 in its frame, their distances along the normal and their features; on shape 1 they are ``distance`` farther."""

    count: wp.int32
    point: BufferPoints
    distance: BufferNumbers
    feature: BufferIds


@wp.func
def slack_of(a: ShapeGeometry, b: ShapeGeometry):
    """Tolerance of choices [m] of a pair."""
    return SLACK * wp.min(a.radius, b.radius)


@wp.func
def place_face(f: Face, pose: wp.transform):
    """A face in the frame that ``pose`` leads to."""
    corners = f.corners
    for k in range(f.count):
        corners[k] = wp.transform_point(pose, f.corners[k])
    return Face(f.count, wp.transform_vector(pose, f.normal), corners, f.ids)


@wp.func
def one_point(normal: wp.vec3, point0: wp.vec3, point1: wp.vec3, distance: float, feature: int):
    points0 = Points()
    points0[0] = point0
    points1 = Points()
    points1[0] = point1
    return Manifold(1, normal, points0, points1, wp.vec4(distance, 0.0, 0.0, 0.0), Fours(feature, 0, 0, 0))


@wp.func
def area(p: wp.vec3, q: wp.vec3, r: wp.vec3, normal: wp.vec3):
    return wp.dot(wp.cross(q - p, r - p), normal)


@wp.func
def spread(c: Candidates, normal: wp.vec3, limit: float, slack: float):
    """Indices of the points to keep; -1 for none."""
    kept = Fours(-1, -1, -1, -1)
    deepest = float(1.0e30)
    for k in range(c.count):
        deepest = wp.min(deepest, c.distance[k])
    i = int(-1)
    for k in range(c.count):
        if i < 0 and c.distance[k] <= deepest + slack:
            i = k
    j = i
    best = slack * slack
    for k in range(c.count):
        span = wp.length_sq(c.point[k] - c.point[i])
        if c.distance[k] <= limit and span > best + slack * wp.sqrt(best):
            j = k
            best = span
    kept[0] = i
    if j == i:
        return kept
    kept[1] = j
    tolerance = slack * wp.sqrt(best)
    left = tolerance
    right = tolerance
    for k in range(c.count):
        if c.distance[k] <= limit:
            turn = area(c.point[i], c.point[j], c.point[k], normal)
            if turn > left + tolerance:
                left = turn
                kept[2] = k
            if -turn > right + tolerance:
                right = -turn
                kept[3] = k
    return kept


@wp.func
def choose(c: Candidates, normal: wp.vec3, relative: wp.transform, limits: wp.vec3, radii: wp.vec2):
    """The manifold of at most four of the candidates.

    ``limits``: no contact unless a distance is below the first, no point farther than the second, tolerance (all [m]). The
    distances of the candidates are between cores; ``radii`` are those around them.
    """
    points0 = Points()
    points1 = Points()
    distances = wp.vec4()
    features = Fours()
    count = int(0)
    reach = limits[0] + radii[0] + radii[1]
    limit = limits[1] + radii[0] + radii[1]
    near = int(0)
    nearest = float(1.0e30)
    for k in range(c.count):
        nearest = wp.min(nearest, c.distance[k])
        near += wp.where(c.distance[k] <= limit, 1, 0)
    if nearest > reach:
        return Manifold(0, normal, points0, points1, distances, features)
    kept = Fours()
    if near > MOST:
        kept = spread(c, normal, limit, limits[2])
    else:
        m = int(0)
        for k in range(c.count):
            if c.distance[k] <= limit:
                kept[m] = k
                m += 1
        for k in range(m, MOST):
            kept[k] = -1
    back = wp.transform_inverse(relative)
    for m in range(MOST):
        k = kept[m]
        if k >= 0:
            points0[count] = c.point[k] + radii[0] * normal
            points1[count] = wp.transform_point(back, c.point[k] + (c.distance[k] - radii[1]) * normal)
            distances[count] = c.distance[k] - radii[0] - radii[1]
            features[count] = c.feature[k]
            count += 1
    return Manifold(count, normal, points0, points1, distances, features)

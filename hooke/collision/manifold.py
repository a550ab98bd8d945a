"""The contact of one pair of shapes: at most eight points with one normal, chosen from those that clipping leaves.

Choice. Points that lie beyond the reach by more than a tolerance are dropped. Of more than four that remain,

* where flat faces meet, the corners of what they have in common are kept: as long as there are more than eight, or one takes less than a
  hundredth of the area away, the one that takes the least goes (Visvalingam and Whyatt, 1993), but never the only one of the deepest.
  So faces that are turned against each other by less than about four degrees have four points, and no more of them come and go;
* where one of the faces is round, four: the deepest (of those that are equally deep to a tolerance, the first in the fixed order of
  corners), the farthest from it, and two that span the largest triangles on both sides of the line between them.

All comparisons have a tolerance in proportion to the size of the smaller shape, or of the face, so that motions below it change neither
the number of points nor, mostly, their choice.

Compiling. What has many points, and the search for the nearest ones of two shapes, is compiled once and called (``inline=False``): where
several kinds of pairs use it, compilers for GPUs would take ten times as long for the copies.
"""

from __future__ import annotations

import warp as wp

from hooke.geometry.convex import CORNERS, Face, ShapeGeometry

__all__ = ["BUFFER", "MOST", "SLACK", "Candidates", "Manifold", "choose", "is_round", "one_point", "place_face", "slack_of"]

MOST = wp.constant(8)
"""Most points of a manifold."""
FEW = wp.constant(4)
"""Points that are all kept, and as many as a round face has."""
THIN = wp.constant(0.01)
"""Part of the area of a polygon that a corner must add to be kept."""
TIE = wp.constant(1.0e-3)
"""Part of the area up to which two corners add the same."""
SLACK = wp.constant(1.0e-3)
"""Tolerance of choices, relative to the radius of the smaller shape."""
BUFFER = wp.constant(24)
"""Most points before the choice: as many as two round faces have corners."""

Points = wp.types.matrix(shape=(8, 3), dtype=wp.float32)
Numbers = wp.types.vector(length=8, dtype=wp.float32)
Ids = wp.types.vector(length=8, dtype=wp.int32)
BufferPoints = wp.types.matrix(shape=(24, 3), dtype=wp.float32)
BufferNumbers = wp.types.vector(length=24, dtype=wp.float32)
BufferIds = wp.types.vector(length=24, dtype=wp.int32)


@wp.struct
class Manifold:
    """Contact of a pair of shapes: ``count`` points, 0 to 8, with one ``normal``, unit, from shape 0 to shape 1, in the frame of shape 0.

    Of every point: its place on the surface of shape 0 in the frame of shape 0 and on that of shape 1 in the frame of shape 1 [m],
    the ``distance`` along the normal [m], negative where the shapes overlap, and the ``feature``, a number that stays the same while
    the same corners and edges meet.
    """

    count: wp.int32
    normal: wp.vec3
    point0: Points
    point1: Points
    distance: Numbers
    feature: Ids


@wp.struct
class Candidates:
    """Points on shape 0 in its frame, their distances along the normal and their features; on shape 1 they are ``distance`` farther.

    Those of two faces are the corners of a polygon in their order; ``round`` is 1 if one of the faces is.
    """

    count: wp.int32
    round: wp.int32
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
def is_round(f: Face):
    """Whether a face has as many corners as the faces of round shapes."""
    return wp.where(f.count == CORNERS, 1, 0)


@wp.func
def one_point(normal: wp.vec3, point0: wp.vec3, point1: wp.vec3, distance: float, feature: int):
    m = Manifold()
    m.count = 1
    m.normal = normal
    m.point0[0] = point0
    m.point1[0] = point1
    m.distance[0] = distance
    m.feature[0] = feature
    return m


@wp.func
def area(p: wp.vec3, q: wp.vec3, r: wp.vec3, normal: wp.vec3):
    """Twice the area of a triangle, seen along the normal; positive if it is anticlockwise."""
    return wp.dot(wp.cross(q - p, r - p), normal)


@wp.func
def spread_out(points: BufferPoints, near: BufferIds, count: int, first: int, normal: wp.vec3, slack: float):
    """Four of ``count`` points, which are well spread: the ``first``, and three more. Indices and their number."""
    kept = near
    origin = points[first]
    farthest = origin
    best = slack * slack
    n = int(1)
    kept[0] = first
    for m in range(count):
        p = points[near[m]]
        span = wp.length_sq(p - origin)
        if span > best + slack * wp.sqrt(best):
            best = span
            farthest = p
            kept[1] = near[m]
            n = 2
    tolerance = slack * wp.sqrt(best)
    left = tolerance
    right = tolerance
    second = int(-1)
    third = int(-1)
    for m in range(count):
        turn = area(origin, farthest, points[near[m]], normal)
        if turn > left + tolerance:
            left = turn
            second = near[m]
        if -turn > right + tolerance:
            right = -turn
            third = near[m]
    if second >= 0:
        kept[n] = second
        n += 1
    if third >= 0:
        kept[n] = third
        n += 1
    return kept, n


@wp.func
def thin_out(points: BufferPoints, distances: BufferNumbers, near: BufferIds, count: int, normal: wp.vec3, deep: float):
    """The corners of a polygon without those that add little, four to eight, one of those up to the distance ``deep`` among them.
    Indices and their number.
    """
    kept = near
    n = count
    deepest = int(0)
    origin = points[near[0]]
    total = float(0.0)
    for m in range(count):
        deepest += wp.where(distances[near[m]] <= deep, 1, 0)
        if m > 1:
            total += area(origin, points[near[m - 1]], points[near[m]], normal)
    total = wp.abs(total)
    while n > FEW:
        least = float(1.0e30)
        at = int(0)
        before = points[kept[n - 1]]
        here = points[kept[0]]
        for m in range(n):
            after = points[kept[wp.where(m + 1 < n, m + 1, 0)]]
            adds = wp.abs(area(before, here, after, normal))
            if adds < least - TIE * total and (deepest > 1 or distances[kept[m]] > deep):
                least = adds
                at = m
            before = here
            here = after
        if n <= MOST and least > THIN * total:
            break
        if distances[kept[at]] <= deep:
            deepest -= 1
        n -= 1
        for m in range(at, n):
            kept[m] = kept[m + 1]
    return kept, n


@wp.func(inline=False)
def choose(c: Candidates, normal: wp.vec3, relative: wp.transform, limits: wp.vec3, radii: wp.vec2):
    """The manifold of at most eight of the candidates.

    ``limits``: no contact unless a distance is below the first, no point farther than the second, tolerance (all [m]). The
    distances of the candidates are between cores; ``radii`` are those around them.
    """
    found = Manifold()
    found.normal = normal
    points = c.point
    distances = c.distance
    features = c.feature
    reach = limits[0] + radii[0] + radii[1]
    limit = limits[1] + radii[0] + radii[1]
    kept = BufferIds()
    count = int(0)
    nearest = float(1.0e30)
    for k in range(c.count):
        nearest = wp.min(nearest, distances[k])
        if distances[k] <= limit:
            kept[count] = k
            count += 1
    if nearest > reach:
        return found
    if count > FEW:
        if c.round != 0:
            first = int(-1)
            for k in range(c.count):
                if first < 0 and distances[k] <= nearest + limits[2]:
                    first = k
            kept, count = spread_out(points, kept, count, first, normal, limits[2])
        else:
            kept, count = thin_out(points, distances, kept, count, normal, nearest + limits[2])
    back = wp.transform_inverse(relative)
    for m in range(count):
        k = kept[m]
        found.point0[m] = points[k] + radii[0] * normal
        found.point1[m] = wp.transform_point(back, points[k] + (distances[k] - radii[1]) * normal)
        found.distance[m] = distances[k] - radii[0] - radii[1]
        found.feature[m] = features[k]
    found.count = count
    return found

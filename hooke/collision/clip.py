"""Contact points of two flat features along a normal: a face, an edge or a point, clipped against a face.

The incident feature is cut by the planes through the sides of the reference face that contain its normal (Sutherland and Hodgman,
1974). A corner counts as inside up to a tolerance beyond them, so that corners above corners stay themselves, and a cut nearer than
twice that to such a corner is left out. What remains lies above the reference face; its height there is the distance.

A corner of the incident feature keeps its number, and a place where its side crosses a side of the reference has the numbers of
both, so points are known again from step to step.
"""

from __future__ import annotations

import warp as wp

from hooke.collision.manifold import BUFFER, BufferIds, BufferNumbers, BufferPoints, Candidates, is_round
from hooke.geometry.convex import Face

__all__ = ["clip_feature", "overlap_of_edges"]


@wp.func
def crossing_id(a: int, b: int, side: int):
    """Number of the place where the way from corner ``a`` to ``b`` crosses a side of the reference face."""
    low = wp.min(a, b) & 255
    high = wp.max(a, b) & 255
    return low | (high << 8) | (((side & 255) + 1) << 16)


@wp.func(inline=False)
def clip_feature(reference: Face, incident: Face, slack: float, flip: float):
    """Points of ``incident`` above ``reference``, both in the frame of shape 0, whose face it is if ``flip`` is 1, else -1."""
    point = BufferPoints()
    ids = BufferIds()
    corners = reference.corners
    count = incident.count
    for k in range(count):
        point[k] = incident.corners[k]
        ids[k] = incident.ids[k] & 255
    for j in range(reference.count):
        if count > 0:
            q = corners[j]
            following = wp.where(j + 1 < reference.count, j + 1, 0)
            side = wp.normalize(wp.cross(corners[following] - q, reference.normal))
            height = BufferNumbers()
            highest = float(-1.0)
            for k in range(count):
                height[k] = wp.dot(point[k] - q, side) - slack
                highest = wp.max(highest, height[k])
            if highest > 0.0:  # else all of them lie inside
                old = point
                old_ids = ids
                n = count
                count = int(0)
                for k in range(n):
                    m = wp.where(k + 1 < n, k + 1, 0)
                    if height[k] <= 0.0 and count < BUFFER:
                        point[count] = old[k]
                        ids[count] = old_ids[k]
                        count += 1
                    once = n > 2 or k + 1 < n  # the side of an edge is not its way back
                    if once and (height[k] <= 0.0) != (height[m] <= 0.0) and count < BUFFER:
                        t = wp.clamp((height[k] + slack) / (height[k] - height[m]), 0.0, 1.0)  # at the side itself
                        cut = old[k] + t * (old[m] - old[k])
                        inner = wp.where(height[k] <= 0.0, old[k], old[m])
                        if wp.length_sq(cut - inner) > 4.0 * slack * slack:  # else the corner stands for it
                            point[count] = cut
                            ids[count] = crossing_id(old_ids[k], old_ids[m], reference.ids[j])
                            count += 1
    distance = BufferNumbers()
    mark = wp.where(flip > 0.0, 1 << 24, 2 << 24)
    for k in range(count):
        distance[k] = wp.dot(point[k] - corners[0], reference.normal)
        if flip > 0.0:
            point[k] = point[k] - distance[k] * reference.normal
        ids[k] = ids[k] | mark
    return Candidates(count, wp.max(is_round(reference), is_round(incident)), point, distance, ids)


@wp.func
def overlap_of_edges(a: Face, b: Face, normal: wp.vec3):
    """Both ends of what two nearly parallel edges have in common, seen along the normal; none if that is nothing."""
    found = Candidates()
    along = wp.normalize(a.corners[1] - a.corners[0])
    middle = 0.5 * (a.corners[0] + a.corners[1])
    half = 0.5 * wp.length(a.corners[1] - a.corners[0])
    s0 = wp.dot(b.corners[0] - middle, along)
    s1 = wp.dot(b.corners[1] - middle, along)
    low = wp.max(-half, wp.min(s0, s1))
    high = wp.min(half, wp.max(s0, s1))
    if low > high or s0 == s1:
        return found
    for k in range(2):
        s = wp.where(k == 0, low, high)
        p = middle + s * along
        q = b.corners[0] + (s - s0) / (s1 - s0) * (b.corners[1] - b.corners[0])
        d = wp.dot(q - p, normal)
        found.point[k] = 0.5 * (p + q - d * normal)
        found.distance[k] = d
        found.feature[k] = (3 << 24) | ((a.ids[0] & 255) << 1) | k
    found.count = 2
    return found

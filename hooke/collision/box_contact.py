"""Two boxes, by the axes that can separate them (Gottschalk, Lin, Manocha, OBBTree, 1996), in the frame of the first.

With half extents h, k, rotation R and offset t of the second box, and l a unit vector, the boxes are apart along l by

    s(l) = |t . l| - sum_i h_i |l_i| - sum_j k_j |(R^T l)_j|.                                          (1)

Overlapping boxes are separated by the shortest way along one of the three normals of each and the nine l = e_i x R e_j. A normal of
a face is preferred unless an l of the nine is better by more than a tolerance, for only faces have several points.

Boxes that are apart are as far apart as the largest s says if the points that belong to it see each other; else corners or edges
beyond faces are nearest, and the general search is asked.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.collision.clip import clip_feature
from hooke.collision.manifold import Candidates, Manifold, choose, place_face, slack_of
from hooke.geometry.box import box_face
from hooke.geometry.convex import ShapeGeometry
from hooke.geometry.profile import sign

__all__ = ["make_box_contact"]

SINE = wp.constant(1.0e-6)
"""Squared sine of an angle between edges below which their cross product is not asked."""


@wp.struct
class Axes:
    """The best of the normals of faces of each box and of the cross products of edges: their separations and which they are."""

    face0: wp.float32
    axis0: wp.int32
    face1: wp.float32
    axis1: wp.int32
    edge: wp.float32
    normal: wp.vec3
    edge0: wp.int32
    edge1: wp.int32


@wp.func
def separations(h: wp.vec3, k: wp.vec3, r: wp.mat33, t: wp.vec3, reach: float):
    best = Axes(-1.0e30, 0, -1.0e30, 0, -1.0e30, wp.vec3(), 0, 0)
    for i in range(3):
        s = wp.abs(t[i]) - h[i] - (wp.abs(r[i, 0]) * k[0] + wp.abs(r[i, 1]) * k[1] + wp.abs(r[i, 2]) * k[2])
        if s > best.face0:
            best.face0 = s
            best.axis0 = i
    for j in range(3):
        along = r[0, j] * t[0] + r[1, j] * t[1] + r[2, j] * t[2]
        s = wp.abs(along) - k[j] - (wp.abs(r[0, j]) * h[0] + wp.abs(r[1, j]) * h[1] + wp.abs(r[2, j]) * h[2])
        if s > best.face1:
            best.face1 = s
            best.axis1 = j
    if best.face0 > reach or best.face1 > reach:
        return best
    for i in range(3):
        u = (i + 1) % 3
        v = (i + 2) % 3
        for j in range(3):
            square = r[u, j] * r[u, j] + r[v, j] * r[v, j]
            if square > SINE:
                m = (j + 1) % 3
                n = (j + 2) % 3
                reached = h[u] * wp.abs(r[v, j]) + h[v] * wp.abs(r[u, j]) + k[m] * wp.abs(r[i, n]) + k[n] * wp.abs(r[i, m])
                s = (wp.abs(t[v] * r[u, j] - t[u] * r[v, j]) - reached) / wp.sqrt(square)
                if s > best.edge:
                    best.edge = s
                    best.edge0 = i
                    best.edge1 = j
    return best


@wp.func
def edges_meet(h: wp.vec3, k: wp.vec3, r: wp.mat33, t: wp.vec3, best: Axes):
    """The nearest points of the two edges; none where they lie beyond their ends."""
    found = Candidates()
    i = best.edge0
    j = best.edge1
    e = wp.vec3()
    e[i] = 1.0
    f = wp.vec3(r[0, j], r[1, j], r[2, j])
    normal = best.normal
    q = -wp.mul(normal, r)
    p0 = wp.vec3(sign(normal[0]) * h[0], sign(normal[1]) * h[1], sign(normal[2]) * h[2])
    p0[i] = 0.0
    p1 = wp.vec3(sign(q[0]) * k[0], sign(q[1]) * k[1], sign(q[2]) * k[2])
    p1[j] = 0.0
    id0 = wp.where(p0[0] > 0.0, 1, 0) + wp.where(p0[1] > 0.0, 2, 0) + wp.where(p0[2] > 0.0, 4, 0) + 8 * i
    id1 = wp.where(p1[0] > 0.0, 1, 0) + wp.where(p1[1] > 0.0, 2, 0) + wp.where(p1[2] > 0.0, 4, 0) + 8 * j
    d = t + r @ p1 - p0
    c = wp.dot(e, f)
    a = wp.dot(d, e)
    b = wp.dot(d, f)
    w = 1.0 - c * c
    s = (a - c * b) / w
    u = (c * a - b) / w
    if wp.abs(s) > h[i] * (1.0 + 1.0e-5) or wp.abs(u) > k[j] * (1.0 + 1.0e-5):
        return found
    found.count = 1
    found.point[0] = p0 + s * e
    found.distance[0] = wp.dot(d + u * f - s * e, normal)
    found.feature[0] = (5 << 24) | id0 | (id1 << 8)
    return found


@wp.func
def normal_of_edges(r: wp.mat33, t: wp.vec3, best: Axes):
    e = wp.vec3()
    e[best.edge0] = 1.0
    n = wp.normalize(wp.cross(e, wp.vec3(r[0, best.edge1], r[1, best.edge1], r[2, best.edge1])))
    return sign(wp.dot(n, t)) * n


@wp.func
def prefers_second(h: wp.vec3, k: wp.vec3, best: Axes, slack: float):
    """Whether the face of the second box is the reference: the one with the larger separation, of nearly equal ones the larger."""
    if wp.abs(best.face1 - best.face0) > slack:
        return best.face1 > best.face0
    size0 = h[(best.axis0 + 1) % 3] * h[(best.axis0 + 2) % 3]
    size1 = k[(best.axis1 + 1) % 3] * k[(best.axis1 + 2) % 3]
    return size1 > 1.01 * size0


def make_box_contact(general: Any) -> Any:
    """``box_contact(a, b, relative, reach) -> Manifold``; ``general`` is such a function for any two convex shapes."""

    @wp.func
    def box_contact(a: ShapeGeometry, b: ShapeGeometry, relative: wp.transform, reach: float):
        h = a.scale
        k = b.scale
        t = wp.transform_get_translation(relative)
        r = wp.quat_to_matrix(wp.transform_get_rotation(relative))
        slack = slack_of(a, b)
        best = separations(h, k, r, t, reach)
        faces = wp.max(best.face0, best.face1)
        apart = wp.max(faces, best.edge)
        if apart > reach:
            return Manifold()
        limits = wp.vec3(reach, reach + slack, slack)
        found = Candidates()
        normal = wp.vec3()
        if best.edge > faces + wp.min(slack, wp.where(apart > 0.0, 0.05 * apart + 0.1 * slack, slack)):
            best.normal = normal_of_edges(r, t, best)
            normal = best.normal
            found = edges_meet(h, k, r, t, best)
        elif prefers_second(h, k, best, wp.where(apart > 0.0, 0.1 * slack, slack)):
            outward = wp.vec3()
            outward[best.axis1] = -sign(r[0, best.axis1] * t[0] + r[1, best.axis1] * t[1] + r[2, best.axis1] * t[2])
            reference = place_face(box_face(outward, b), relative)
            normal = -reference.normal
            found = clip_feature(reference, box_face(normal, a), slack, -1.0)
        else:
            normal[best.axis0] = sign(t[best.axis0])
            incident = place_face(box_face(-wp.mul(normal, r), b), relative)
            found = clip_feature(box_face(normal, a), incident, slack, 1.0)
        nearest = float(1.0e30)
        for i in range(found.count):
            nearest = wp.min(nearest, found.distance[i])
        if found.count == 0 or (apart > 0.0 and nearest > apart + 0.1 * slack):
            return general(a, b, relative, reach)
        return choose(found, normal, relative, limits, wp.vec2())

    return box_contact

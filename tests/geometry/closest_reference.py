"""Distances of points, segments and triangles in float64, row by row, by trying every feature."""

import numpy as np


def dot(a, b):
    return np.einsum("...i,...i->...", a, b)


def norm(a):
    return np.sqrt(dot(a, a))


def point_segment(p, a, b):
    side = b - a
    square = dot(side, side)
    t = np.clip(dot(p - a, side) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    return norm(p - a - t[..., None] * side)


def point_triangle(p, a, b, c):
    """Distance to the plane if the foot is inside, else to the sides."""
    best = np.minimum(np.minimum(point_segment(p, a, b), point_segment(p, b, c)), point_segment(p, c, a))
    n = np.cross(b - a, c - a)
    square = dot(n, n)
    safe = np.where(square > 0.0, square, 1.0)
    v, w = dot(np.cross(p - a, c - a), n) / safe, dot(np.cross(b - a, p - a), n) / safe
    inside = (square > 0.0) & (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    return np.where(inside, np.minimum(best, np.abs(dot(p - a, n)) / np.sqrt(safe)), best)


def segment_segment(a, b, c, d):
    """Distance of the lines if they come nearest inside of both, else that of an end."""
    best = np.minimum(
        np.minimum(point_segment(a, c, d), point_segment(b, c, d)), np.minimum(point_segment(c, a, b), point_segment(d, a, b))
    )  # fmt: skip
    n = np.cross(b - a, d - c)
    square = dot(n, n)
    safe = np.where(square > 0.0, square, 1.0)
    s, t = dot(np.cross(c - a, d - c), n) / safe, dot(np.cross(c - a, b - a), n) / safe
    inside = (square > 0.0) & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    return np.where(inside, np.minimum(best, np.abs(dot(c - a, n)) / np.sqrt(safe)), best)

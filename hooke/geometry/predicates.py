"""Exact signs of orientation determinants (NumPy): a float64 filter, then integers, then fractions for the few rows that need them.

A determinant of differences is a polynomial; evaluated in float64 it errs by less than :data:`BOUND` times the same polynomial of absolute
values, all signs taken positive (Shewchuk 1997). What the filter leaves undecided is small, so that its value modulo 2^64 is its value: the
coordinates of a row, taken in units of their lowest bit, are integers, and int64 arithmetic wraps around. Only rows whose coordinates
differ by more than 36 bits go through fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["orient2d", "orient3d"]

BOUND = 2.0**-50
"""Rounding of a determinant of at most three rows over its permanent: eight units of 2^-53."""

TINY = 1.0e-270
"""Below this permanent products may have underflowed."""

SPAN = 2.0**36
"""Differences in units of their lowest bit up to which 16 roundings of the permanent stay below 2^63."""

Polynomial = Callable[[Any, Any], Any]


def orient3d(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """On which side of planes points lie, exactly.

    Args:
        a: First points of the planes, shape (n, 3), float32 or float64, finite.
        b: Second points.
        c: Third points.
        d: The points asked for.

    Returns:
        int8 (n,): the sign of det [a - d, b - d, c - d]; 0 where the four points are coplanar.
    """
    return _signs(np.stack([a, b, c, d], axis=1), _volume)


def orient2d(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The sense of rotation of triangles in the plane, exactly.

    Args:
        a: First corners, shape (n, 2), float32 or float64, finite.
        b: Second corners.
        c: Third corners.

    Returns:
        int8 (n,): 1 counterclockwise, -1 clockwise, 0 where the three points are collinear.
    """
    return _signs(np.stack([a, b, c], axis=1), _area)


def _volume(d: Any, minus: Any) -> Any:
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = d
    return az * minus(bx * cy, cx * by) + bz * minus(cx * ay, ax * cy) + cz * minus(ax * by, bx * ay)


def _area(d: Any, minus: Any) -> Any:
    (ax, ay), (bx, by) = d
    return minus(ax * by, ay * bx)


def _differences(points: np.ndarray) -> list[Any]:
    """Differences from the last point (n, p, d), as a list by point and coordinate."""
    return list(np.moveaxis(points[:, :-1] - points[:, -1:], 0, -1))


def _filtered(points: np.ndarray, polynomial: Polynomial) -> tuple[np.ndarray, np.ndarray]:
    """Signs, and which of them are certain."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        d = _differences(points)
        value, permanent = polynomial(d, np.subtract), polynomial(np.abs(d), np.add)
        return np.sign(value), (np.abs(value) > BOUND * permanent) & (permanent > TINY)


def _signs(points: np.ndarray, polynomial: Polynomial) -> np.ndarray:
    points = points.astype(np.float64, copy=False)
    found, certain = _filtered(points, polynomial)
    result = np.zeros(len(points), np.int8)
    result[certain] = found[certain]
    rest = np.flatnonzero(~certain)
    if len(rest):
        result[rest] = _exact(points[rest], polynomial)
    return result


def _exact(points: np.ndarray, polynomial: Polynomial) -> np.ndarray:
    units = _in_lowest_bits(points)
    with np.errstate(over="ignore", invalid="ignore"):
        span = np.abs(units[:, :-1] - units[:, -1:]).max(axis=(1, 2))
        fits = (span < SPAN) & (np.abs(units).max(axis=(1, 2)) < 2.0**60)
    result = np.zeros(len(points), np.int8)
    rows = units[fits]
    found, certain = _filtered(rows, polynomial)
    wrapped = np.sign(polynomial(_differences(rows.astype(np.int64)), np.subtract))
    result[fits] = np.where(certain, found, wrapped)
    for k in np.flatnonzero(~fits):
        row = [[Fraction(x) for x in point] for point in points[k].tolist()]
        value = polynomial([[x - y for x, y in zip(point, row[-1], strict=True)] for point in row[:-1]], lambda x, y: x - y)
        result[k] = (value > 0) - (value < 0)
    return result


def _in_lowest_bits(points: np.ndarray) -> np.ndarray:
    """Coordinates (n, p, d) divided by the largest power of two, one for every row, that makes all of them whole."""
    mantissa, exponent = np.frexp(points)
    bits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.frexp((bits & -bits).astype(np.float64))[1] - 1 + exponent - 53
    unit = np.where(bits != 0, lowest, 1100).min(axis=(1, 2))
    with np.errstate(over="ignore"):
        return np.ldexp(points, -unit[:, None, None])

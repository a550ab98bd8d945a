"""Centrelines of rods and cables: points, frames of the segments, and stiffness from the material.

A segment's frame has +Z along it. Frames of a chain are carried from segment to segment by the smallest rotation (parallel transport),
so that a chain without twist has none. A solid circular section of radius r with Young's modulus E and shear modulus G = E / (2 (1 + nu))
has the rigidities

    EA = E pi r^2,     kGA = 0.9 G pi r^2,     EI = E pi r^4 / 4,     GJ = G pi r^4 / 2                          (1)

and a joint between two segments the stiffness rigidity / l, with l the mean of their lengths.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

__all__ = [
    "Rod", "create_cable_stiffness_from_elastic_moduli", "create_parallel_transport_cable_quaternions", "create_straight_cable_points",
    "create_straight_cable_points_and_quaternions", "frames_along", "transport",
]  # fmt: skip

_SHORTEST = 1.0e-9  # [m]


def _points(points: Any, what: str) -> np.ndarray:
    values = np.array([np.asarray(p, np.float64) for p in points], np.float64)
    if values.ndim != 2 or values.shape[1] != 3 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(f"{what}: expected two or more finite points of three numbers, found an array of shape {values.shape}")
    return values


def _positive(what: str, **values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < np.inf:
            raise ValueError(f"{what}: expected {name} > 0 and finite, found {value}")


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    xyz = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(xyz, a[3] * b[3] - a[:3] @ b[:3])


def transport(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The smallest rotation that takes the unit vector ``u`` to ``v``, quaternion x y z w; about any axis across if they are opposite."""
    if u @ v < -1.0 + 1.0e-12:
        axis = np.cross(u, np.eye(3)[np.argmin(np.abs(u))])
        return np.append(axis / np.linalg.norm(axis), 0.0)
    q = np.append(np.cross(u, v), 1.0 + u @ v)
    return q / np.linalg.norm(q)


def _tangents(points: np.ndarray, edges: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Directions and lengths of segments."""
    along = points[edges[:, 1]] - points[edges[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    if (lengths <= _SHORTEST).any():
        bad = int(np.argmin(lengths))
        raise ValueError(f"{what}: segment {bad} has length {lengths[bad]} m; expected more than {_SHORTEST}")
    return along / lengths[:, None], lengths


def frames_along(tangents: np.ndarray, twist_total: float = 0.0, chain: bool = True) -> np.ndarray:
    """Frames (n, 4) of segments: parallel transport along a chain, else each by the smallest rotation from +Z.

    ``twist_total`` [rad] is added in equal parts, the first segment's included.
    """
    frames, z = [], np.array([0.0, 0.0, 1.0])
    for k, tangent in enumerate(tangents):
        if k == 0 or not chain:
            frames.append(transport(z, tangent))
        else:
            frames.append(_multiply(transport(tangents[k - 1], tangent), frames[-1]))
    if twist_total:
        for k, tangent in enumerate(tangents):
            half = 0.5 * twist_total * (k + 1) / len(tangents)
            frames[k] = _multiply(np.append(np.sin(half) * tangent, np.cos(half)), frames[k])
    return np.array([q / np.linalg.norm(q) for q in frames])


def create_straight_cable_points(start: Any, direction: Any, length: float, num_segments: int) -> list[wp.vec3]:
    """The ``num_segments`` + 1 points of a straight cable.

    Args:
        start: First point [m].
        direction: Direction, of any length.
        length: Length [m].
        num_segments: Number of segments.

    Raises:
        ValueError: The direction is zero, the length is not positive, or there is no segment.
    """
    along = np.asarray(direction, np.float64)
    size = np.linalg.norm(along)
    _positive("create_straight_cable_points", length=length, num_segments=num_segments, direction=float(size))
    steps = np.linspace(0.0, length, int(num_segments) + 1)[:, None]
    return [wp.vec3(*p) for p in np.asarray(start, np.float64) + steps * along / size]


def create_parallel_transport_cable_quaternions(points: Sequence[Any], *, twist_total: float = 0.0) -> list[wp.quat]:
    """Frames of the segments between points.

    Args:
        points: Points of the cable [m].
        twist_total: Twist of the last frame against one without twist [rad], in equal parts from the first segment on.

    Raises:
        ValueError: There are fewer than two points, or two that follow each other coincide.
    """
    values = _points(points, "create_parallel_transport_cable_quaternions")
    edges = np.column_stack([np.arange(len(values) - 1), np.arange(1, len(values))])
    tangents, _ = _tangents(values, edges, "create_parallel_transport_cable_quaternions")
    return [wp.quat(*q) for q in frames_along(tangents, twist_total)]


def create_straight_cable_points_and_quaternions(
    start: Any, direction: Any, length: float, num_segments: int, *, twist_total: float = 0.0
) -> tuple[list[wp.vec3], list[wp.quat]]:
    """Points of a straight cable and frames of its segments; arguments as the two functions for each."""
    points = create_straight_cable_points(start, direction, length, num_segments)
    return points, create_parallel_transport_cable_quaternions(points, twist_total=twist_total)


def create_cable_stiffness_from_elastic_moduli(youngs_modulus: float, radius: float, segment_length: float) -> tuple[float, float]:
    """Stretch [N/m] and bend [N m/rad] stiffness of a joint, EA / l and EI / l of (1).

    Args:
        youngs_modulus: E [Pa].
        radius: Radius of the section [m].
        segment_length: Length of a segment [m].

    Raises:
        ValueError: A value is not finite and positive.
    """
    _positive(
        "create_cable_stiffness_from_elastic_moduli", youngs_modulus=youngs_modulus, radius=radius, segment_length=segment_length
    )
    area = np.pi * radius**2
    return float(youngs_modulus * area / segment_length), float(youngs_modulus * area * radius**2 / 4.0 / segment_length)


class Rod:
    """A rod for :meth:`ModelBuilder.add_rod`: points, segments, their frames, and the material.

    Args:
        points: Points of the centreline [m], shape (n, 3).
        edges: Segments as pairs of points, shape (m, 2), +Z from the first to the second; None joins the points in their order.
        quaternions: Frame of every segment, shape (m, 4), with +Z along it; None makes frames (:meth:`compute_frames`).
        rest_points: Points at rest [m]; None are ``points``. Lengths, masses and stiffness follow from them.
        rest_quaternions: Frames at rest; None turns the frames to the segments at rest.
        rest_straight: The rod is straight and without twist at rest; for a chain without the two above.
        closed: The last point is the first, and a joint connects the last segment with the first; without ``edges`` only.
        radius: Radius of the section [m]; None is 0.1 for the shapes.
        youngs_modulus: E [Pa]; needs the radius and one of the next two.
        poissons_ratio: Poisson's ratio.
        shear_modulus: G [Pa].
        stretch_rigidity: EA [N]; the four rigidities come together, in place of the moduli.
        shear_rigidity: kGA [N].
        bend_rigidity: EI [N m^2].
        twist_rigidity: GJ [N m^2].

    Attributes:
        ordered: Whether the segments are a chain in the order of the points.

    Raises:
        ValueError: Points, segments, frames or material are not valid or do not belong together.
    """

    def __init__(
        self, points: Any, *, edges: Any = None, quaternions: Any = None, rest_points: Any = None, rest_quaternions: Any = None,
        rest_straight: bool = False, closed: bool = False, radius: float | None = None, youngs_modulus: float | None = None,
        poissons_ratio: float | None = None, shear_modulus: float | None = None, stretch_rigidity: float | None = None,
        shear_rigidity: float | None = None, bend_rigidity: float | None = None, twist_rigidity: float | None = None,
    ):  # fmt: skip
        self.points = _points(points, "Rod")
        self.ordered = edges is None
        count = len(self.points)
        chain = np.column_stack([np.arange(count - 1), np.arange(1, count)])
        self.edges = chain if edges is None else np.asarray(edges, np.int64).reshape(-1, 2)
        self.closed = closed
        self._check_edges()
        self.rest_points = None if rest_points is None else _points(rest_points, "Rod rest_points")
        self.rest_straight = rest_straight
        self._check_rest(rest_quaternions)
        tangents = _tangents(self.points, self.edges, "Rod")[0]
        self.quaternions = (
            frames_along(tangents, 0.0, self.ordered) if quaternions is None else _aligned(quaternions, tangents, "Rod")
        )
        rest_tangents, _ = _tangents(self._rest_points(), self.edges, "Rod at rest")
        self.rest_quaternions = None if rest_quaternions is None else _aligned(rest_quaternions, rest_tangents, "Rod at rest")
        self.radius = radius
        if radius is not None:
            _positive("Rod", radius=radius)
        self.youngs_modulus, self.poissons_ratio, self.shear_modulus = youngs_modulus, poissons_ratio, shear_modulus
        self.stretch_rigidity, self.shear_rigidity = stretch_rigidity, shear_rigidity
        self.bend_rigidity, self.twist_rigidity = bend_rigidity, twist_rigidity
        self.rigidities()

    def _check_edges(self) -> None:
        edges, count = self.edges, len(self.points)
        if len(edges) < 1 or edges.min() < 0 or edges.max() >= count:
            raise ValueError(f"Rod: expected one or more edges of points from 0 to {count - 1}, found {edges.tolist()[:8]}")
        same = edges[:, 0] == edges[:, 1]
        if same.any():
            raise ValueError(f"Rod: edge {int(np.argmax(same))} joins point {edges[np.argmax(same), 0]} with itself")
        if len(np.unique(np.sort(edges, axis=1), axis=0)) != len(edges):
            raise ValueError("Rod: two edges join the same points; expected each pair once")
        if self.closed and (not self.ordered or len(edges) < 2):
            raise ValueError("Rod: closed=True is for a chain (edges=None) of two or more segments")

    def _check_rest(self, rest_quaternions: Any) -> None:
        if self.rest_points is not None and len(self.rest_points) != len(self.points):
            raise ValueError(f"Rod: expected {len(self.points)} rest_points like points, found {len(self.rest_points)}")
        if self.rest_straight and (
            not self.ordered or len(self.edges) < 2 or self.rest_points is not None or rest_quaternions is not None
        ):
            raise ValueError(
                "Rod: rest_straight=True is for a chain of two or more segments without edges, rest_points and rest_quaternions"
            )
        ends = self._rest_points()[[0, -1]]
        if self.closed and np.linalg.norm(ends[1] - ends[0]) > 1.0e-6 * max(1.0, np.abs(ends).max()):
            raise ValueError(
                f"Rod: closed=True expects the last point to be the first, found {ends[1].tolist()} and {ends[0].tolist()}"
            )

    def _rest_points(self) -> np.ndarray:
        return self.points if self.rest_points is None else self.rest_points

    @classmethod
    def create_straight(
        cls, start: Any, direction: Any, length: float, *, segment_count: int, twist_total: float = 0.0, **options: Any
    ) -> Rod:
        """A rod with a straight centreline.

        Args:
            start: First point [m].
            direction: Direction, of any length.
            length: Length [m].
            segment_count: Number of segments, all of the same length.
            twist_total: As :meth:`compute_frames`.
            **options: As :class:`Rod`, but for points, edges, frames and ``closed``.
        """
        unknown = {"edges", "quaternions", "closed"} & set(options)
        if unknown:
            raise TypeError(f"Rod.create_straight: unexpected argument {sorted(unknown)[0]!r}")
        rod = cls(create_straight_cable_points(start, direction, length, segment_count), **options)
        rod.compute_frames(twist_total=twist_total)
        return rod

    @property
    def point_count(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return len(self.edges)

    @property
    def segment_lengths(self) -> np.ndarray:
        """Length of every segment [m], not at rest."""
        return _tangents(self.points, self.edges, "Rod")[1]

    @property
    def rest_lengths(self) -> np.ndarray:
        """Length of every segment at rest [m]."""
        return _tangents(self._rest_points(), self.edges, "Rod at rest")[1]

    def compute_frames(self, *, twist_total: float = 0.0) -> None:
        """Make the frames from the points.

        Args:
            twist_total: Twist of the last frame against one without twist [rad], in equal parts; for a chain.
        """
        if twist_total and not self.ordered:
            raise ValueError("Rod.compute_frames: twist_total is for a chain, whose edges follow each other")
        self.quaternions = frames_along(_tangents(self.points, self.edges, "Rod")[0], twist_total, self.ordered)

    def copy(self) -> Rod:
        """An independent copy."""
        return copy.deepcopy(self)

    def rest_frames(self) -> np.ndarray:
        """Frames of the segments at rest, shape (m, 4)."""
        if self.rest_straight:
            return np.tile([0.0, 0.0, 0.0, 1.0], (len(self.edges), 1))
        if self.rest_quaternions is not None:
            return self.rest_quaternions
        if self.rest_points is None:
            return self.quaternions
        now = _tangents(self.points, self.edges, "Rod")[0]
        rest = _tangents(self.rest_points, self.edges, "Rod at rest")[0]
        return np.array([_multiply(transport(u, v), q) for u, v, q in zip(now, rest, self.quaternions, strict=True)])

    def rigidities(self) -> tuple[float, float, float, float] | None:
        """(EA, kGA, EI, GJ) of (1) or as they were given; None without a material.

        Raises:
            ValueError: The material is incomplete, given twice or not positive.
        """
        given = (self.stretch_rigidity, self.shear_rigidity, self.bend_rigidity, self.twist_rigidity)
        moduli = (self.youngs_modulus, self.poissons_ratio, self.shear_modulus)
        if all(v is None for v in (*given, *moduli)):
            return None
        if all(v is None for v in moduli):
            if any(v is None for v in given):
                raise ValueError("Rod: expected all of stretch_, shear_, bend_ and twist_rigidity, or none of them")
            if not all(0.0 <= v < np.inf for v in given):  # type: ignore[operator]
                raise ValueError(f"Rod: expected rigidities that are finite and >= 0, found {given}")
            return given  # type: ignore[return-value]
        if any(v is not None for v in given):
            raise ValueError("Rod: expected elastic moduli or rigidities, found both")
        if self.youngs_modulus is None or self.radius is None or (self.poissons_ratio is None) == (self.shear_modulus is None):
            raise ValueError("Rod: expected youngs_modulus, radius, and one of poissons_ratio and shear_modulus")
        e, r = self.youngs_modulus, self.radius
        if self.poissons_ratio is not None and not -1.0 < self.poissons_ratio <= 0.5:
            raise ValueError(f"Rod: expected poissons_ratio from -1 to 0.5, found {self.poissons_ratio}")
        g = self.shear_modulus if self.poissons_ratio is None else e / (2.0 * (1.0 + self.poissons_ratio))
        _positive("Rod", youngs_modulus=e, shear_modulus=g)  # type: ignore[arg-type]
        area = np.pi * r**2
        return e * area, 0.9 * g * area, e * area * r**2 / 4.0, g * area * r**2 / 2.0  # type: ignore[operator]


def _aligned(quaternions: Any, tangents: np.ndarray, what: str) -> np.ndarray:
    """Given frames as unit quaternions, turned the little that their +Z is off the segment."""
    values = np.array([np.asarray(q, np.float64) for q in quaternions], np.float64)
    if values.shape != (len(tangents), 4) or not np.isfinite(values).all():
        raise ValueError(f"{what}: expected {len(tangents)} finite quaternions, one for each segment, found shape {values.shape}")
    sizes = np.linalg.norm(values, axis=1)
    if (sizes < 1.0e-9).any():
        raise ValueError(f"{what}: the quaternion of segment {int(np.argmin(sizes))} is zero")
    values /= sizes[:, None]
    x, y, z, w = values.T
    ends = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    aligned = (ends * tangents).sum(axis=1)
    if (aligned < 0.999).any():
        bad = int(np.argmin(aligned))
        raise ValueError(f"{what}: the +Z axis of frame {bad} is not along its segment (cosine {aligned[bad]:.4f}, expected 0.999)")
    return np.array([_multiply(transport(e / np.linalg.norm(e), t), q) for e, t, q in zip(ends, tangents, values, strict=True)])

"""Pinhole camera, and the one that shows all of a recording."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hooke.viewer.record import Trajectory

__all__ = ["Camera", "extent"]

MANY = 400_000  # points are enough to judge what a picture should show
MARGIN = 1.08  # room around what is shown
OBSTACLE_REACH = 1.0  # obstacles are shown up to this many sizes of what moves around it


@dataclass(frozen=True)
class Camera:
    """A perspective camera.

    Attributes:
        position: Where the eye is [m].
        target: Point in the middle of the picture [m].
        up: Direction that is up in the picture.
        fov: Vertical angle of view [degrees].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    fov: float = 35.0

    def axes(self) -> np.ndarray:
        """Unit vectors to the right, up and forward of the picture, float64, shape (3, 3).

        Raises:
            ValueError: The camera sits on its target.
        """
        forward = np.subtract(self.target, self.position).astype(np.float64)
        if not np.linalg.norm(forward) > 0:
            raise ValueError(f"the camera at {self.position} looks at its own position; move it or its target")
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, self.up)
        if np.linalg.norm(right) < 1e-6:  # straight up or down: any direction will do
            right = np.cross(forward, np.roll(self.up, 1))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def project(self, points: np.ndarray, width: int, height: int) -> np.ndarray:
        """Pixel coordinates (x to the right, y down, from the top left) and depth [m] of points, shape (n, 3)."""
        local = (np.asarray(points, np.float64).reshape(-1, 3) - self.position) @ self.axes().T
        scale = 0.5 * height / np.tan(0.5 * np.radians(self.fov)) / local[:, 2]
        return np.stack([0.5 * width + scale * local[:, 0], 0.5 * height - scale * local[:, 1], local[:, 2]], axis=1)

    @classmethod
    def framing(
        cls,
        what: Any,
        *,
        azimuth: float = -60.0,
        elevation: float = 20.0,
        zoom: float = 1.0,
        fov: float = 35.0,
        aspect: float = 16.0 / 9.0,
        up_axis: int = 2,
    ) -> "Camera":
        """The nearest camera in a given direction that sees everything.

        Args:
            what: A Trajectory (all that moves in it and the obstacles around), lower and upper bounds, shape (2, 3), or
                points [m], shape (n, 3).
            azimuth: Direction of the camera around the up axis, from the axis that follows it [degrees].
            elevation: Height of the camera above the horizon [degrees], from -90 to 90.
            zoom: 1 leaves a narrow margin, larger values come closer.
            fov: Vertical angle of view [degrees].
            aspect: Width of the picture divided by its height.
            up_axis: 0, 1 or 2 for X, Y or Z; that of a Trajectory rules.

        Returns:
            The camera.
        """
        if isinstance(what, Trajectory):
            points, up_axis = extent(what), what.up_axis
        else:
            points = np.asarray(what, np.float64).reshape(-1, 3)
        if len(points) == 2:
            points = box_corners(points[0], points[1])
        phi, theta = np.radians(azimuth), np.radians(np.clip(elevation, -89.9, 89.9))
        backward = np.array([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), np.sin(theta)])
        backward = np.roll(backward, up_axis - 2)
        up = np.roll([0.0, 0.0, 1.0], up_axis - 2)

        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        direction = cls(tuple((middle + backward).tolist()), tuple(middle.tolist()), tuple(up.tolist()), fov)
        local = (points - middle) @ direction.axes().T
        tangent = np.tan(0.5 * np.radians(fov)) / MARGIN
        distance = max(fit(local, 0, tangent * aspect)[0], fit(local, 1, tangent)[0], 1e-3)
        shift = [centered(local, 0, tangent * aspect, distance), centered(local, 1, tangent, distance)]
        distance /= zoom
        right, above, forward = direction.axes()
        target = middle + shift[0] * right + shift[1] * above
        return replace(direction, position=tuple((target - distance * forward).tolist()), target=tuple(target.tolist()))


def fit(local: np.ndarray, axis: int, slope: float) -> tuple[float, float]:
    """Distance and sideways shift of the nearest camera that sees points between two sides of a slope.

    A point is between them when |x - c| <= s (z + D). The extreme points of both sides give the distance D and shift c.
    """
    high = np.max(local[:, axis] - slope * local[:, 2])
    low = np.max(-local[:, axis] - slope * local[:, 2])
    return (high + low) / (2.0 * slope), 0.5 * (high - low)


def centered(local: np.ndarray, axis: int, slope: float, distance: float) -> float:
    """Shift that leaves equal room on both sides at a distance: that of the narrowest sides which still fit."""
    narrow, wide = 0.0, slope
    for _ in range(20):
        middle = 0.5 * (narrow + wide)
        if fit(local, axis, middle)[0] > distance:
            narrow = middle
        else:
            wide = middle
    return fit(local, axis, wide)[1]


def extent(trajectory: Trajectory) -> np.ndarray:
    """Points that a picture of a recording should show, [m], shape (n, 3).

    Everything that moves, over a selection of the frames; obstacles as far as they are not much larger than that.
    """
    frames = min(40, trajectory.frame_count, max(2, MANY // max(len(trajectory.particle_radius), 1)))
    shown = np.linspace(0, trajectory.frame_count - 1, frames).astype(int)
    moving = []
    drawn = np.unique(np.concatenate([trajectory.triangles.ravel(), trajectory.springs.ravel()]))
    loose = trajectory.points
    margin = trajectory.particle_radius[loose][:, None]
    for f in shown:
        q = trajectory.particle_q[f]
        moving += [q[drawn], q[loose] - margin, q[loose] + margin]
    obstacles = []
    for shape in trajectory.shapes:
        if shape.body < 0:
            obstacles.append(moved(shape.vertices, shape.transform))
        else:
            corners = moved(box_corners(shape.vertices.min(axis=0), shape.vertices.max(axis=0)), shape.transform)
            moving.append(moved(corners, trajectory.body_q[shown, shape.body]).reshape(-1, 3))
    points, still = finite(moving), finite(obstacles)
    if not len(points):
        points = still if len(still) else np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
    elif len(still):
        reach = OBSTACLE_REACH * max(float(np.ptp(points, axis=0).max()), 1e-6)
        points = np.concatenate([points, np.clip(still, points.min(axis=0) - reach, points.max(axis=0) + reach)])
    return box_corners(points[0], points[1]) if len(points) == 2 else points


def finite(parts: list) -> np.ndarray:
    points = np.concatenate([np.zeros((0, 3)), *parts])
    return points[np.isfinite(points).all(axis=1)]


def moved(points: Any, transform: np.ndarray) -> np.ndarray:
    """Points, shape (n, 3), turned by the quaternion and shifted by the position of transforms, shape (..., 7)."""
    transform = np.asarray(transform, np.float64)[..., None, :]
    axis, w = transform[..., 3:6], transform[..., 6:]
    twice = 2.0 * np.cross(axis, points)
    return np.asarray(points) + w * twice + np.cross(axis, twice) + transform[..., :3]


def box_corners(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The eight corners of a box."""
    return np.array(np.meshgrid(*zip(lower, upper)), np.float64).reshape(3, 8).T

"""Mass, centre of mass and inertia of bodies, in float64 on the host.

A simplex of dimension d with corners v_0 ... v_d and measure w (its volume, or area times thickness) has the moments

    int x dm      = w  sum_i v_i / (d + 1)
    int x x^T dm  = w (sum_i v_i v_i^T + s s^T) / ((d + 1)(d + 2)),      s = sum_i v_i                                         (1)

A tetrahedral mesh is a sum of such simplices, a shell a sum of triangles; and by the divergence theorem a closed triangle mesh is
the sum of the signed tetrahedra between its triangles and any one point. The inertia follows from the second moments about the
centre of mass, I = tr(C) 1 - C.                                                                                               (2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "MassProperties", "mesh_mass_properties", "shell_mass_properties", "solid_or_hollow", "tetrahedra_mass_properties",
    "validate_inertia",
]  # fmt: skip

RELATIVE_FLOOR = 1.0e-6
"""The smallest principal moment that :func:`validate_inertia` leaves, relative to the largest one."""

NO_VOLUME = 1.0e-12
"""A mesh whose volume is below this part of its area times its size is a sheet, and its volume rounding."""


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass [kg], centre of mass, float64 (3,) [m], and inertia about the centre of mass, float64 (3, 3) [kg m^2]."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    @staticmethod
    def zero() -> MassProperties:
        """Those of something without mass."""
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))

    def transformed(self, pose: Any) -> MassProperties:
        """The same body, moved.

        Args:
            pose: Where the body frame goes: 7 numbers, position [m] and quaternion (x, y, z, w), as in ``wp.transform``.
        """
        values = np.asarray(pose, dtype=np.float64).reshape(7)
        rotation = rotation_matrix(values[3:])
        return MassProperties(self.mass, rotation @ self.com + values[:3], rotation @ self.inertia @ rotation.T)

    def scaled(self, factor: float) -> MassProperties:
        """The same body at ``factor`` times the density."""
        return MassProperties(self.mass * factor, self.com, self.inertia * factor)

    def __add__(self, other: MassProperties) -> MassProperties:
        """Both bodies as one (parallel axes theorem)."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return MassProperties(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        return MassProperties(mass, com, _about(self, com) + _about(other, com))


def rotation_matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrix, float64 (3, 3), of a quaternion (x, y, z, w) of any positive length."""
    length = np.linalg.norm(q)
    if not np.isfinite(length) or length == 0.0:
        raise ValueError(f"rotation: expected a quaternion (x, y, z, w) of positive length, found {np.asarray(q).tolist()}")
    x, y, z, w = q / length
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def mesh_mass_properties(vertices: np.ndarray, indices: np.ndarray, density: float = 1.0) -> MassProperties:
    """Solid inside a closed triangle mesh, exact for either winding; no mass for a flat sheet.

    Holes count as closed by the triangles between their border and the middle of the mesh.

    Args:
        vertices: Shape (n, 3) [m].
        indices: Triangles, shape (m, 3) or flat.
        density: [kg/m^3].
    """
    corners, origin = _corners(vertices, indices, 3)
    volumes = np.linalg.det(corners) / 6.0
    size = np.abs(corners).max(initial=0.0)
    if abs(volumes.sum()) <= NO_VOLUME * size * _areas(corners).sum():
        return MassProperties(0.0, origin, np.zeros((3, 3)))
    apex = np.zeros((len(corners), 1, 3))
    result = _sum_of_simplices(np.concatenate((apex, corners), axis=1), volumes, origin)
    return result.scaled(-density if result.mass < 0.0 else density)


def tetrahedra_mass_properties(vertices: np.ndarray, indices: np.ndarray, density: float = 1.0) -> MassProperties:
    """Sum over tetrahedra, whatever their orientation.

    Args:
        vertices: Shape (n, 3) [m].
        indices: Tetrahedra, shape (m, 4) or flat.
        density: [kg/m^3].
    """
    corners, origin = _corners(vertices, indices, 4)
    volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 6.0
    return _sum_of_simplices(corners, volumes * density, origin)


def shell_mass_properties(
    vertices: np.ndarray, indices: np.ndarray, density: float = 1.0, thickness: float = 1.0
) -> MassProperties:
    """Thin sheet of constant thickness along a triangle mesh.

    Args:
        vertices: Shape (n, 3) [m].
        indices: Triangles, shape (m, 3) or flat.
        density: [kg/m^3].
        thickness: [m].
    """
    corners, origin = _corners(vertices, indices, 3)
    return _sum_of_simplices(corners, _areas(corners) * (density * thickness), origin)


def solid_or_hollow(
    solid: Callable[[float], MassProperties], smallest: float, density: float, thickness: float | None
) -> MassProperties:
    """A primitive of the given density, less the one inside it if it is a shell.

    Args:
        solid: ``inset -> MassProperties`` at density 1 of the primitive whose surface has moved inward by ``inset`` [m].
        smallest: The inset at which nothing is left [m].
        density: [kg/m^3].
        thickness: Thickness of the wall [m]; None for a solid body.
    """
    check_thickness(thickness)
    outer = solid(0.0)
    if thickness is not None and thickness < smallest:
        outer = outer + solid(thickness).scaled(-1.0)
    return outer.scaled(density)


def check_thickness(thickness: float | None) -> None:
    """Raise ValueError unless ``thickness`` is None or a positive length."""
    if thickness is not None and not (np.isfinite(thickness) and thickness > 0.0):
        raise ValueError(f"thickness: expected a positive length in metres or None for a solid shape, found {thickness}")


def validate_inertia(mass: float, inertia: Any, label: str) -> tuple[np.ndarray, str | None]:
    """Make an inertia one that a rigid body can have: symmetric, positive definite, and a + b >= c for its principal moments.

    Args:
        mass: [kg], not negative. A body without mass keeps no inertia.
        inertia: About the centre of mass, shape (3, 3) [kg m^2].
        label: Name of the body in messages.

    Returns:
        The inertia, float64 (3, 3), and what was corrected, or None.

    Raises:
        ValueError: If the mass is negative or a number is not finite.
    """
    given = np.asarray(inertia, dtype=np.float64).reshape(3, 3)
    if not np.isfinite(mass) or mass < 0.0 or not np.all(np.isfinite(given)):
        raise ValueError(
            f"{label}: expected a mass >= 0 and a finite inertia, found mass {mass} and inertia {given.tolist()}; "
            "correct the mass, the density or the shapes of this body"
        )
    if mass == 0.0:
        message = f"{label}: inertia without mass set to zero; give the body a mass" if np.any(given) else None
        return np.zeros((3, 3)), message
    if not np.any(given):
        radius = (3.0 * mass / (4.0e3 * np.pi)) ** (1.0 / 3.0)
        message = f"{label}: no inertia for mass {mass:g} kg; took that of a ball of water of this mass"
        return 0.4 * mass * radius**2 * np.eye(3), message

    corrections = []
    symmetric = 0.5 * (given + given.T)
    if np.abs(given - given.T).max() > 1.0e-5 * np.abs(given).max():
        corrections.append("made symmetric")
    moments, axes = np.linalg.eigh(symmetric)
    floor = RELATIVE_FLOOR * np.abs(moments).max()
    if moments[0] < floor * (1.0 - 1.0e-3):
        corrections.append(f"principal moments {_listed(moments)} raised to be positive")
        moments = np.maximum(moments, floor)
    lacking = moments[2] - moments[0] - moments[1]
    if lacking > 1.0e-5 * moments[2]:
        corrections.append(f"principal moments {_listed(moments)} raised by {lacking:.3g} to satisfy a + b >= c")
        moments = moments + lacking
    if not corrections:
        return symmetric, None
    return (axes * moments) @ axes.T, f"{label}: inertia corrected: {'; '.join(corrections)}"


def _listed(moments: np.ndarray) -> str:
    return "(" + ", ".join(f"{m:.3g}" for m in moments) + ") kg m^2"


def _about(body: MassProperties, point: np.ndarray) -> np.ndarray:
    r = body.com - point
    return body.inertia + body.mass * (np.dot(r, r) * np.eye(3) - np.outer(r, r))


def _corners(vertices: np.ndarray, indices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners of every simplex relative to the middle of the vertices in use: far from the origin no digit is lost."""
    points = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    elements = np.asarray(indices).reshape(-1, count)
    if len(elements) == 0:
        return np.zeros((0, count, 3)), np.zeros(3)
    corners = points[elements]
    origin = corners.mean(axis=(0, 1))
    return corners - origin, origin


def _areas(corners: np.ndarray) -> np.ndarray:
    return 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)


def _sum_of_simplices(corners: np.ndarray, measures: np.ndarray, origin: np.ndarray) -> MassProperties:
    """Eqs. (1) and (2) over simplices of shape (n, d + 1, 3)."""
    count = corners.shape[1]
    mass = float(measures.sum())
    if mass == 0.0:
        return MassProperties(0.0, origin, np.zeros((3, 3)))
    sums = corners.sum(axis=1)
    offset = (measures @ sums) / (count * mass)
    second = np.einsum("n,nia,nib->ab", measures, corners, corners) + np.einsum("n,na,nb->ab", measures, sums, sums)
    second = second / (count * (count + 1)) - mass * np.outer(offset, offset)
    return MassProperties(mass, origin + offset, np.trace(second) * np.eye(3) - second)

"""What makes a kind of deformable element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hooke.data.table import Table
from hooke.elements.lanes import LaneView

__all__ = ["Element"]


@dataclass(frozen=True, eq=False)
class Element:
    """A kind of element: a term of the energy that few particles share.

    An element may be tied to a point that no force moves, its last corner: a point of a body, or the air. Behind the particles, the
    arrays of positions and displacements of a step have one point per attachment, then the air.

    Args:
        table: Its data.
        size: Corners of one element: particles, and the point if there is one.
        energy: ``energy(e, k, x) -> float``: elastic energy [J] of element ``k`` at the positions ``x``, zero at rest; None if it
            stores none.
        gradient_hessian: ``gradient_hessian(e, k, slots, d, x_start, dt) -> (vec3, Block)``: derivatives of the elastic energy and
            of the dissipation over the step with respect to a translation of some corners, at the positions ``x_start + d``; bit s
            of ``slots`` is set if that in slot s moves, and not all are. The block is positive semidefinite. Differences are taken
            of ``x_start`` and of ``d`` apart: digits that a sum in world coordinates rounds away.
        views: How it looks from its slots on SIMD lanes, where one corner moves.
        patch_views: The same where several corners move, for the first of them; ``views`` where these do that too.
        acts: ``acts(columns) -> bool array``: which elements have a stiffness or a damping (columns by name, NumPy).
        particles: Column that holds the particles (-1 = none).
        title: Name of the kind, that of the table if empty.
        point: ``point(rows, count) -> places`` of the points of the elements ``rows`` of ``count``, from the end of the arrays (-1 is
            the last); None if they have no point.
    """

    table: Table
    size: int
    energy: Any
    gradient_hessian: Any
    acts: Callable[[dict[str, np.ndarray]], np.ndarray]
    views: tuple[LaneView, ...] = ()
    patch_views: tuple[LaneView, ...] = ()
    particles: str = "indices"
    title: str = ""
    point: Callable[[np.ndarray, int], np.ndarray] | None = None

    @property
    def name(self) -> str:
        return self.title or self.table.name

    @property
    def particle_count(self) -> int:
        """Particles of one element."""
        return self.size if self.point is None else self.size - 1

    def stencils(self, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Elements that act and have all their particles: their rows, and their particles (rows, particle_count)."""
        indices = columns[self.particles].reshape(-1, self.particle_count)
        rows = np.flatnonzero(self.acts(columns) & (indices >= 0).all(axis=1))
        return rows, indices[rows]

    def corners(self, rows: np.ndarray, stencils: np.ndarray, count: int, length: int) -> np.ndarray:
        """Corners (rows, size) of the elements ``rows`` of ``count`` with the particles ``stencils``, in arrays of ``length``."""
        if self.point is None:
            return stencils
        return np.column_stack([stencils, length + self.point(rows, count)])

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

    Args:
        table: Its data; the column ``indices`` holds its particles (-1 = none).
        size: Particles of one element.
        energy: ``energy(e, k, x) -> float``: elastic energy [J] of element ``k`` at the positions ``x``, zero at rest.
        gradient_hessian: ``gradient_hessian(e, k, slot, d, x_start, dt) -> (vec3, Block)``: derivatives of the elastic energy and
            of the dissipation over the step with respect to the particle in ``slot``, at the positions ``x_start + d``; the block
            is positive semidefinite. Differences are taken of ``x_start`` and of ``d`` apart: digits that a sum in world coordinates
            rounds away.
        views: How it looks from its slots on SIMD lanes.
        acts: ``acts(columns) -> bool array``: which elements have a stiffness or a damping (columns by name, NumPy).
    """

    table: Table
    size: int
    energy: Any
    gradient_hessian: Any
    acts: Callable[[dict[str, np.ndarray]], np.ndarray]
    views: tuple[LaneView, ...] = ()

    @property
    def name(self) -> str:
        return self.table.name

    def stencils(self, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Elements that act and have all their particles: their rows, and their particles (rows, size)."""
        indices = columns["indices"].reshape(-1, self.size)
        rows = np.flatnonzero(self.acts(columns) & (indices >= 0).all(axis=1))
        return rows, indices[rows]

"""What SolverKamino tells of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hooke.solvers.solver import Status

__all__ = ["KaminoStatus"]


@dataclass(frozen=True)
class KaminoStatus(Status):
    """How the last step went. ``residual`` is the largest natural map of any world [N s or m/s].

    Attributes:
        worlds: Of every world the fields of :class:`~hooke.solvers.kamino.options.WorldStatus`, a structured array (W,); empty where no
            world can have rows that are iterated on.
    """

    worlds: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def converged(self) -> bool:
        """Whether all worlds met their tolerances."""
        return not len(self.worlds) or bool(self.worlds["converged"].all())

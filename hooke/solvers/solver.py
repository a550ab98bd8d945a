"""What every solver offers."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SolverBase", "Status"]


@dataclass(frozen=True)
class Status:
    """How the last step went. Reading it waits for the device.

    Attributes:
        steps: Steps taken since construction.
        overflow: Buffers that were too small, as {name: (needed, available)}; empty when nothing was lost.
        iterations: Sweeps that the step took, the most of any world; fewer than the solver's ``iterations`` where a tolerance was met.
        measure: Measures the residual when it is asked for.
    """

    steps: int
    overflow: dict[str, tuple[int, int]] = field(default_factory=dict)
    iterations: int = 0
    measure: Callable[[], float] | None = field(default=None, repr=False, compare=False)

    @functools.cached_property
    def residual(self) -> float | None:
        """Largest force imbalance of a particle or body at the end of the step [N]; 0 is converged, None before the first step.

        Of a body the larger of what is left of the sum of forces (inertia, contacts, joints), and of the sum of torques about its centre
        of mass over its radius of gyration, sqrt(tr I / (2 m)).
        Measured when it is first read, which must be before the next step.
        """
        return None if self.measure is None else self.measure()

    @property
    def ok(self) -> bool:
        """Nothing was lost and the residual is finite."""
        return not self.overflow and (self.residual is None or self.residual < float("inf"))


class SolverBase(ABC):
    """A method that advances a model by one time step.

    Args:
        model: The model that every later call is about.
    """

    def __init__(self, model: Any):
        self.model = model

    @property
    def device(self) -> Any:
        return self.model.device

    @abstractmethod
    def step(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """Advance ``state_in`` by ``dt`` [s] into ``state_out``; ``state_in`` is not written unless it is the same object."""

    @abstractmethod
    def reset(self, state: Any, world_mask: Any = None, flags: Any = None) -> None:
        """Bring the selected worlds back to the model's initial state, and forget what the solver remembers of them."""

    @abstractmethod
    def notify_model_changed(self, flags: int) -> None:
        """Tell the solver which properties of the model were changed (ModelFlags)."""

    @property
    @abstractmethod
    def status(self) -> Status:
        """How the last step went."""

    @classmethod
    def register_custom_attributes(cls, builder: Any) -> None:
        """Register the custom attributes that this solver reads; none by default."""
        return

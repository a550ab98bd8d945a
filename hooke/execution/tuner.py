"""How many workers a repeated call gets: what was fastest so far, asked again from time to time."""

from __future__ import annotations

from collections import deque

from hooke import config

__all__ = ["Tuner"]

WORTHWHILE = 2.0e-4
"""Seconds that a call must take alone before it is shared; waking a thread costs a tenth of that."""

_TRIALS = 4
_PATIENCE = 100  # calls between two trials of the other choice


class Tuner:
    """Chooses between one worker and all, by the medians of the last times of each.

    With a busy neighbour on every core, workers wait for each other and one alone is faster; the choice follows within some calls.
    ``config.workers`` overrides it.

    Args:
        limit: Largest number of workers.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self._times: dict[int, deque[float]] = {}
        self._calls = 0

    def workers(self) -> int:
        """Workers for the next call."""
        if config.workers is not None:
            return max(1, min(config.workers, self.limit) if self.limit == 1 else config.workers)
        if self.limit == 1:
            return 1
        alone, shared = self._median(1), self._median(self.limit)
        if alone is None:
            return 1
        if alone < WORTHWHILE:
            return 1
        if shared is None:
            return self.limit
        better, other = (1, self.limit) if alone < shared else (self.limit, 1)
        return other if self._calls % _PATIENCE < _TRIALS else better

    def measured(self, workers: int, seconds: float) -> None:
        """Take down how long a call took."""
        self._calls += 1
        self._times.setdefault(workers, deque(maxlen=_TRIALS)).append(seconds)

    def _median(self, workers: int) -> float | None:
        """The median of the last times; None while there are too few."""
        times = self._times.get(workers, ())
        return sorted(times)[len(times) // 2] if len(times) == _TRIALS else None

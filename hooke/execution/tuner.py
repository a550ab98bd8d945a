"""How many workers a repeated call gets: what was fastest so far, asked again from time to time."""

from __future__ import annotations

import operator
from collections import deque

from hooke import config

__all__ = ["MOST", "Tuner"]

MOST = 256
"""Largest number of workers that can be asked for."""

SHARE = 1.0e-4
"""Seconds of work that every worker must have; waking a thread costs a fourth of that."""

_AUTOMATIC = 16  # a barrier looks at every worker, and memory feeds no more of them
_WINDOW = 5  # calls that make a mean
_GAP = 16  # calls between two trials
_WORTH = 0.95  # a trial is won below this part of the time of the present choice
_CHANGE = 1.5  # by this factor the time of a call must change to be asked about soon


class Tuner:
    """Tries other powers of two for some calls, and keeps what is faster.

    With a busy neighbour on every core, workers wait for each other and one alone is faster. A trial ends as soon as it cannot be won
    any more, so a bad one costs a call or two. Trials come less and less often while they are lost, but soon when the time of a call
    changes. ``config.workers`` overrides all this.

    Args:
        limit: Most workers that are chosen: the cores that may be used.
        most: Most workers that ``config.workers`` can ask for.
    """

    def __init__(self, limit: int, most: int = MOST):
        self.limit, self.most = min(limit, most), most
        self._choice = 1
        self._trial: int | None = None
        self._trial_times: list[float] = []
        self._times: deque[float] = deque(maxlen=_WINDOW)
        self._usual = 0.0  # time of a call when a trial was last decided
        self._alone = 0.0  # time of a call with one worker
        self._since = 0  # calls since then
        self._trials = self._lost = 0

    def workers(self) -> int:
        """Workers for the next call.

        Raises:
            ValueError: ``config.workers`` is no number of workers.
        """
        if config.workers is None:
            return self._trial or self._choice
        try:
            forced = operator.index(config.workers)
        except TypeError:
            forced = 0
        if forced < 1:
            raise ValueError(f"hooke.config.workers: expected a whole number of at least 1, or None, found {config.workers!r}")
        return min(forced, self.most)

    def measured(self, workers: int, seconds: float) -> None:
        """Take down how long a call took."""
        if self.limit == 1 or config.workers is not None:
            return
        if self._trial is not None:
            if workers == self._trial:
                self._trial_times.append(seconds)
                self._judge()
        elif workers == self._choice:
            self._times.append(seconds)
            self._since += 1
            if len(self._times) == _WINDOW and self._since >= self._gap():
                self._begin()

    def _gap(self) -> int:
        """Calls from the last trial to the next."""
        if self._trials == 0:
            return 0
        gap = _GAP << min(5, self._lost)
        if gap > 2 * _GAP and not self._usual / _CHANGE < self._mean() < self._usual * _CHANGE:
            return 2 * _GAP
        return gap

    def _mean(self) -> float:
        """The mean of the last calls without the longest: whatever stops a process once does not count."""
        return (sum(self._times) - max(self._times)) / (_WINDOW - 1)

    def _begin(self) -> None:
        self._usual, self._since = self._mean(), 0
        if self._choice == 1:
            self._alone = self._usual
        options = self._options()
        if options:
            self._trial, self._trial_times = options[self._trials % len(options)], []
            self._trials += 1

    def _options(self) -> list[int]:
        """What to try instead of the present choice: one worker, half as many, twice as many, as many as have enough to do."""
        most = max(1, min(self.limit, _AUTOMATIC, int(self._alone / SHARE)))
        most = 1 << (most.bit_length() - 1)
        if self._choice == 1:
            return sorted({most, min(most, 2)} - {1}, reverse=True)
        near = {self._choice // 2, min(most, 2 * self._choice)}
        return [1, *sorted(near - {1, self._choice})]

    def _judge(self) -> None:
        """Go on with a trial, or decide it."""
        budget = _WORTH * self._usual * _WINDOW
        won = sum(self._trial_times) < budget
        if won and len(self._trial_times) < _WINDOW:
            return
        if won and self._trial is not None:
            self._choice, self._lost = self._trial, 0
            self._usual = sum(self._trial_times) / _WINDOW
            self._times.clear()
        else:
            self._lost += 1
        self._trial = None

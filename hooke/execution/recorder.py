"""Recording: the launches of a function go into graphs the second time it is called with the same arguments, and are replayed then.

A launch from Python costs 10 to 30 microseconds, one in a graph a tenth of one; a step has a hundred of them. The first call runs as
it is: it loads modules and grows buffers, which no graph may do. On a CPU there is one graph for every worker thread, see
:mod:`hooke.execution.work`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import warp as wp

from hooke import config
from hooke.execution.pool import cores, pool
from hooke.execution.tuner import Tuner
from hooke.execution.work import Counting, enter_phase, leave_phase, whole_work, yield_address

__all__ = ["Recorder", "pointers"]

_launching = threading.RLock()  # a capture takes down what any thread launches, so only one thread launches while there is one


def pointers(*owners: Any) -> tuple[int, ...]:
    """Addresses of arrays, and of all arrays that objects hold; 0 for None. What a graph has baked in."""
    found: list[int] = []
    for owner in owners:
        if owner is None:
            found.append(0)
        elif isinstance(owner, wp.array):
            found.append(owner.ptr or 0)
        else:
            found += [array.ptr or 0 for array in vars(owner).values() if isinstance(array, wp.array)]
    return tuple(found)


class _Recorded:
    """The graphs of one set of arguments, one per worker."""

    def __init__(self, graphs: list[Any], counting: Counting | None):
        self.graphs = graphs
        self._counting = counting

    def begin(self) -> None:
        if self._counting is not None:
            self._counting.begin()


class Recorder:
    """Graphs of one function by the arguments they were recorded with.

    The function launches kernels by :meth:`launch` and everything else inside :meth:`alone`.

    Args:
        device: Device that the function launches on.
        limit: Sets of arguments to keep; the one that was used longest ago is dropped.
    """

    def __init__(self, device: Any, limit: int = 16):
        self.device = device
        self.limit = limit
        self._recorded: OrderedDict[Hashable, dict[int, _Recorded]] = OrderedDict()
        self._counting: Counting | None = None  # while the graph of one of several workers is recorded
        self._tuner = Tuner(cores() if yield_address() else 1)

    @property
    def kernels(self) -> list[Any]:
        """Kernels of its own that it may launch."""
        return [enter_phase, leave_phase] if self.device.is_cpu else []

    def run(self, key: Hashable, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function``, or replay what it launched before.

        Args:
            key: Everything that the launches depend on beside the contents of arrays: addresses, numbers, sizes.
            function: Launches only; it must not read the host.
            *arguments: Its arguments.
        """
        if not config.graphs or key not in self._recorded:
            with _launching:
                capturing = self.device.is_capturing
                function(*arguments)
            if config.graphs and not capturing:
                self._recorded[key] = {}
                if len(self._recorded) > self.limit:
                    self._recorded.popitem(last=False)
            return
        if self.device.is_capturing:
            with _launching:
                if self.device.is_capturing:  # not by another thread that records
                    function(*arguments)
                    return
        self._recorded.move_to_end(key)
        self._replay(self._recorded[key], function, arguments)

    def _replay(self, recorded: dict[int, _Recorded], function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        workers = self._tuner.workers() if self.device.is_cpu else 1
        if workers not in recorded:
            with _launching:
                recorded[workers] = self._record(workers, function, arguments)
        start = time.perf_counter()
        pool.replay(recorded[workers])
        self._tuner.measured(workers, time.perf_counter() - start)

    def _record(self, workers: int, function: Callable[..., None], arguments: tuple[Any, ...]) -> _Recorded:
        if workers == 1:
            return _Recorded([self._capture(function, arguments)], None)
        self._counting = Counting(self._count_phases(function, arguments), workers)
        try:
            graphs = []
            for worker in range(workers):
                self._counting.restart(worker)
                graphs.append(self._capture(function, arguments))
            return _Recorded(graphs, self._counting)
        finally:
            self._counting = None

    def _count_phases(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> int:
        """Record once without keeping it."""
        self._counting = Counting(0, 1)
        self._capture(function, arguments)
        return self._counting.phase

    def _capture(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> Any:
        with wp.ScopedCapture(device=self.device) as capture:
            function(*arguments)
            if self._counting is not None:
                wp.launch(enter_phase, dim=1, inputs=[self._counting.next_phase(0, 1)], device=self.device)
        return capture.graph

    def launch(self, kernel: Any, count: int, inputs: Sequence[Any], outputs: Sequence[Any] = (), first: int = 0) -> None:
        """Launch a kernel whose first argument is a :class:`~hooke.execution.work.Work` for the items ``first ... first + count``."""
        if count == 0:
            return
        work = whole_work(first, count) if self._counting is None else self._counting.next_phase(first, count)
        dim = 1 if self.device.is_cpu else count
        wp.launch(kernel, dim=dim, inputs=[work, *inputs], outputs=list(outputs), device=self.device)

    def alone(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function that launches by itself, while no worker does anything else."""
        if self._counting is None:
            function(*arguments)
            return
        work = self._counting.next_phase(0, 1)
        if self._counting.worker == 0:
            wp.launch(enter_phase, dim=1, inputs=[work], device=self.device)
            function(*arguments)
            wp.launch(leave_phase, dim=1, inputs=[work], device=self.device)

    def forget(self) -> None:
        """Drop all graphs, after something changed that no key shows."""
        self._recorded.clear()

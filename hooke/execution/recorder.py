"""Recording: the launches of a function go into graphs the second time it is called with the same arguments, and are replayed then.

A launch from Python costs 10 to 30 microseconds, one in a graph a tenth of one; a step has a hundred of them. The first call runs as
it is: it loads modules and grows buffers, which no graph may do. On a CPU there is one graph for every worker thread, see
:mod:`hooke.execution.work`.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakSet

import warp as wp

from hooke import config
from hooke.execution.pool import cores, pool
from hooke.execution.tuner import MOST, Tuner
from hooke.execution.work import GRAIN, Counting, begin_run, enter_phase, leave_phase, whole_work, yield_address

__all__ = ["Recorder", "captured_by_user", "launch_directly", "pointers"]

_launching = threading.RLock()  # a capture takes down what any thread launches, so only one thread launches while there is one


def captured_by_user(device: Any) -> bool:
    """Whether the launches on a device go into a graph of the user; a recording in another thread is waited for."""
    if not device.is_capturing:
        return False
    with _launching:
        return bool(device.is_capturing)


def launch_directly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that makes arrays or launches outside :meth:`Recorder.run`, while no other thread records."""
    with _launching:
        return function(*arguments)


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
    """The graphs of one set of arguments, one per worker, and what a worker raised."""

    def __init__(self, graphs: list[Any], counting: Counting | None):
        self.graphs = graphs
        self.error: BaseException | None = None
        self._counting = counting

    def abandon(self) -> None:
        """After a replay that was left before its end: let its workers go."""
        if self._counting is not None:
            self._counting.abandon()


class Recorder:
    """Graphs of one function by the arguments they were recorded with.

    The function launches kernels by :meth:`launch` and everything else inside :meth:`alone`.

    Args:
        device: Device that the function launches on.
        limit: Sets of arguments to keep; the one that was used longest ago is dropped.

    Attributes:
        lock: Held by :meth:`run`; to be held around several runs that belong together.
    """

    def __init__(self, device: Any, limit: int = 16):
        self.device = device
        self.limit = limit
        self.lock = threading.RLock()
        self._recorded: OrderedDict[Hashable, dict[int, _Recorded]] = OrderedDict()
        self._counting: Counting | None = None  # while the graph of one of several workers is recorded
        self._tuners: dict[str, Tuner] = {}
        _recorders.add(self)

    @property
    def kernels(self) -> list[Any]:
        """Kernels of its own that it may launch."""
        return [begin_run, enter_phase, leave_phase] if self.device.is_cpu else []

    def run(self, key: Hashable, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function``, or replay what it launched before.

        Args:
            key: Everything that the launches depend on beside the contents of arrays: addresses, numbers, sizes.
            function: Launches only; it must not read the host.
            *arguments: Its arguments.

        Raises:
            RuntimeError: A worker failed in an earlier run of the same launches. That run was complete; this one has not begun.
        """
        with self.lock:
            if not config.graphs or key not in self._recorded:
                if not self._launch(function, arguments) and config.graphs:
                    self._recorded[key] = {}
                    if len(self._recorded) > self.limit:
                        self._recorded.popitem(last=False)
            elif captured_by_user(self.device):
                self._launch(function, arguments)
            else:
                self._recorded.move_to_end(key)
                self._replay(self._recorded[key], function, arguments)

    def _launch(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> bool:
        """Call a function; whether its launches went into a graph of the user."""
        with _launching:
            capturing = bool(self.device.is_capturing)
            function(*arguments)
        return capturing

    def _replay(self, recorded: dict[int, _Recorded], function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        tuner = self._tuner(function)
        workers = tuner.workers() if self.device.is_cpu else 1
        if workers not in recorded:
            with _launching:
                if self.device.is_capturing:  # the user, in another thread, since we looked
                    function(*arguments)
                    return
                recorded[workers] = self._record(workers, function, arguments)
        run = recorded[workers]
        if run.error is not None:
            del recorded[workers]
            raise RuntimeError(
                f"a worker thread failed in an earlier step ({run.error}); the others did its share, so that step is complete. "
                "This one has not begun; it may be tried again"
            ) from run.error
        start = time.perf_counter()
        try:
            pool.replay(run)
        except BaseException:
            del recorded[workers]
            run.abandon()
            raise
        tuner.measured(workers, time.perf_counter() - start)

    def _tuner(self, function: Callable[..., None]) -> Tuner:
        """Functions that share a recorder differ in what they cost."""
        name = getattr(function, "__name__", "")
        if name not in self._tuners:
            self._tuners[name] = Tuner(cores(), MOST if yield_address() else 1)
        return self._tuners[name]

    def _record(self, workers: int, function: Callable[..., None], arguments: tuple[Any, ...]) -> _Recorded:
        if workers == 1:
            return _Recorded([self._capture(function, arguments)], None)
        try:
            self._counting = Counting(self._count_phases(function, arguments), workers)
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
            if self._counting is not None and self._counting.worker == 0:
                wp.launch(begin_run, dim=1, inputs=[self._counting.whole], device=self.device)
            function(*arguments)
            if self._counting is not None:
                wp.launch(enter_phase, dim=1, inputs=[self._counting.next_phase(0, 1)], device=self.device)
        return capture.graph

    def launch(
        self, kernel: Any, count: int, inputs: Sequence[Any], outputs: Sequence[Any] = (), first: int = 0, grain: int = GRAIN
    ) -> None:
        """Launch a kernel whose first argument is a :class:`~hooke.execution.work.Work` for the items ``first ... first + count``.

        ``grain`` is the least number of chunks for each worker (:meth:`~hooke.execution.work.Counting.next_phase`).
        """
        if count == 0:
            return
        work = whole_work(first, count) if self._counting is None else self._counting.next_phase(first, count, grain)
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


_recorders: WeakSet[Recorder] = WeakSet()


def _after_fork() -> None:
    """In a forked process other threads are gone, in the middle of a run or not."""
    _launching.release()
    for recorder in list(_recorders):
        recorder.lock = threading.RLock()
        if recorder.device.is_cpu:
            recorder.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_launching.acquire, after_in_parent=_launching.release, after_in_child=_after_fork)

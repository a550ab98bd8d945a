"""The worker threads of the process: they replay graphs beside the thread that steps."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import time
from _thread import allocate_lock
from collections import deque
from pathlib import Path
from typing import Any, Protocol

import warp as wp

__all__ = ["cores", "pool"]

_FAREWELL = 5.0  # seconds that workers get to finish at the exit of the interpreter


def cores() -> int:
    """Cores that this process may use: those it may run on, or fewer where a container has a share of them."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(len(os.sched_getaffinity(0)), _quota()))
    return os.cpu_count() or 1


def _quota(folder: str = "/sys/fs/cgroup") -> int:
    """Whole cores' worth of time that the control group grants."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = (Path(folder) / "cpu.max").read_text().split()
        return int(quota) // int(period)
    with contextlib.suppress(OSError, ValueError):
        quota, period = ((Path(folder) / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        if int(quota) > 0:
            return int(quota) // int(period)
    return 1 << 16


_GET_CORE = getattr(ctypes.CDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None


def _this_core() -> int:
    """The core that the calling thread is on, -1 where the system does not tell."""
    return -1 if _GET_CORE is None else int(_GET_CORE())


class Run(Protocol):
    """Launches that were recorded, once for every worker; the graph of worker 0 begins the run and waits for its end.

    ``error`` is what a worker raised. Nothing is missing then, since the others did its share.
    """

    graphs: list[Any]
    error: BaseException | None


class _Worker:
    """A thread that replays its graph of the run it was given last, whenever it is woken.

    The thread that steps does not wait for it: a graph that is replayed late finds its work done.

    Raises:
        RuntimeError: The system has no more threads, or the interpreter exits.
    """

    def __init__(self, number: int):
        self.number = number
        self.avoided = -1
        self.runs: deque[Any] = deque(maxlen=1)
        self.idle = True
        self.stopping = False
        self.sleeping = allocate_lock()
        self.sleeping.acquire()
        self.thread = threading.Thread(target=self._work, name=f"hooke-{number}", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while True:
            self.idle = True
            self.sleeping.acquire()
            self.idle = False
            if self.stopping:
                return
            if self.runs:
                run = self.runs.pop()
                try:
                    wp.capture_launch(run.graphs[self.number])
                except BaseException as error:
                    run.error = error
                del run  # its graphs and counters live as long as anybody needs them

    def avoid(self, core: int) -> None:
        """Keep off a core: a thread that is woken for a millisecond is put beside the one that wakes it."""
        if core == self.avoided or self.thread.native_id is None:
            return
        self.avoided = core
        others = os.sched_getaffinity(0) - {core}
        if others:
            with contextlib.suppress(OSError):  # a cpuset that has just changed
                os.sched_setaffinity(self.thread.native_id, others)

    def wake(self) -> None:
        if self.sleeping.locked():
            with contextlib.suppress(RuntimeError):  # another woke it between the two lines
                self.sleeping.release()


class Pool:
    """Worker threads, made when they are first needed."""

    def __init__(self) -> None:
        self._closed = False
        self.forget()

    def replay(self, run: Run) -> None:
        """Replay the graphs of a run side by side, the first in this thread; returns when all is done.

        While another thread has the workers, only the first is replayed: any of the others may be missing.
        """
        helpers = len(run.graphs) - 1
        if helpers == 0 or not self._busy.acquire(blocking=False):
            wp.capture_launch(run.graphs[0])
            return
        try:
            self._hire(helpers)
            core = _this_core()
            for worker in self._workers[:helpers]:
                worker.avoid(core)
                worker.runs.append(run)
                worker.wake()
            wp.capture_launch(run.graphs[0])
        finally:
            self._busy.release()

    def _hire(self, helpers: int) -> None:
        """Make workers until there are enough, or the system refuses."""
        with contextlib.suppress(RuntimeError):
            while len(self._workers) < helpers and not self._closed:
                self._workers.append(_Worker(len(self._workers) + 1))

    def forget(self) -> None:
        """After a fork the threads are gone."""
        self._busy = threading.Lock()
        self._workers: list[_Worker] = []

    def close(self) -> None:
        """End the threads before the interpreter does away with what they use; steps go on without them."""
        self._closed = True
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.stopping = True
            worker.wake()
        end = time.monotonic() + _FAREWELL
        for worker in workers:
            worker.thread.join(max(0.0, end - time.monotonic()))


pool = Pool()
atexit.register(pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.forget)

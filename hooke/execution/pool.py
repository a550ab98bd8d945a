"""The worker threads of the process: they replay graphs beside the thread that steps."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from _thread import allocate_lock
from typing import Any, Protocol

import warp as wp

__all__ = ["cores", "pool"]


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _this_core() -> int:
    """The core that the calling thread is on, -1 where the system does not tell."""
    get = getattr(ctypes.CDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None
    return -1 if get is None else int(get())


def _avoid_core(core: int) -> None:
    """Keep the calling thread off a core: a thread that is woken for a millisecond is put beside the one that wakes it."""
    if core >= 0:
        others = os.sched_getaffinity(0) - {core}
        if others:
            os.sched_setaffinity(0, others)


class Run(Protocol):
    """Launches that were recorded, once for every worker."""

    graphs: list[Any]

    def begin(self) -> None:
        """Called before the graphs are replayed."""


class _Worker:
    """A thread that replays its graph of the run it was given last, whenever it is woken.

    The thread that steps does not wait for it: a graph that is replayed late finds its work done.
    """

    def __init__(self, number: int):
        self.number = number
        self.core = _this_core()
        self.run: Any = None
        self.error: BaseException | None = None
        self.sleeping = allocate_lock()
        self.sleeping.acquire()
        threading.Thread(target=self._work, name=f"hooke-{number}", daemon=True).start()

    def _work(self) -> None:
        _avoid_core(self.core)
        while True:
            self.sleeping.acquire()
            run, self.run = self.run, None
            try:
                if run is not None:
                    wp.capture_launch(run.graphs[self.number])
            except BaseException as error:
                self.error = error
            del run  # its counters are needed no longer

    def wake(self, run: Any) -> None:
        self.run = run
        if self.sleeping.locked():
            with contextlib.suppress(RuntimeError):  # it woke between the two lines
                self.sleeping.release()


class Pool:
    """Worker threads, made when they are first needed."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._workers: list[_Worker] = []

    def replay(self, run: Run) -> None:
        """Replay the graphs of a run side by side, the first in this thread; returns when all is done.

        While another thread has the workers, only the first is replayed: any of the others may be missing.

        Raises:
            BaseException: What a worker raised since the last run.
        """
        run.begin()
        if len(run.graphs) == 1 or not self._busy.acquire(blocking=False):
            wp.capture_launch(run.graphs[0])
            return
        try:
            while len(self._workers) < len(run.graphs) - 1:
                self._workers.append(_Worker(len(self._workers) + 1))
            for worker in self._workers[: len(run.graphs) - 1]:
                worker.wake(run)
            wp.capture_launch(run.graphs[0])
            for worker in self._workers:
                error, worker.error = worker.error, None
                if error is not None:
                    raise error
        finally:
            self._busy.release()

    def forget(self) -> None:
        """After a fork the threads are gone."""
        self._busy = threading.Lock()
        self._workers = []


pool = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.forget)

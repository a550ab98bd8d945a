"""Shares of work: how one kernel loops over its items on a CPU, alone or beside other workers, and takes one item per thread on CUDA.

A kernel of a step is written as a loop over the items it is given:

    i = first_item(work, wp.tid())
    while i >= 0:
        ...
        i = next_item(work, i)

On a CPU it is launched once by every worker. The items of a phase (one kernel within a step) lie in chunks, and every worker has a
share of the chunks: it claims those of its own share, one at a time, then what is left of the others'. A phase is entered when all
chunks of the phase before are done. What is computed does not depend on who claims what, and a worker that comes late, or not at all,
holds up nobody unless it stops in the middle of a chunk.

Counters are never reset: each holds the number of the run it belongs to (the epoch), so that a worker that is still in an old run
cannot claim anything of a new one. Row p + 1 of the counters belongs to phase p. A worker has 8 of them, a cache line that others
touch only when they wait or steal: what was claimed of its share, and the number of chunks it has done since the beginning. Row 0
holds the epoch. Worker 0 begins a run, as the first thing in its graph: whoever sees the new epoch sees all that was written before,
and nothing can interrupt a run between its beginning and its end. A worker that comes before that finds nothing to do.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import warp as wp

__all__ = [
    "FEW",
    "GRAIN",
    "SOME",
    "Counting",
    "Work",
    "begin_run",
    "enter_phase",
    "first_item",
    "leave_phase",
    "next_item",
    "whole_work",
    "yield_address",
]


GRAIN = 64
"""Chunks of a phase for each worker, unless its kernel asks for others."""

SOME, FEW = 16, 4
"""Chunks where many items have nothing to do, and where all take nanoseconds."""


@wp.struct
class Work:
    """The items ``first ... last`` of a phase, in chunks of a power of two.

    ``before`` is the number of chunks of the phase before, ``workers`` 0 for one worker that does not count.
    """

    counters: wp.array2d(dtype=wp.int64)
    phase: wp.int32
    before: wp.int32
    first: wp.int32
    last: wp.int32
    chunk: wp.int32
    worker: wp.int32
    workers: wp.int32
    yield_address: wp.int64


def yield_address() -> int:
    """Address of the function that gives up the rest of a time slice; 0 where there is none, and then there is one worker."""
    if sys.platform == "win32":
        function: Any = ctypes.windll.kernel32.SwitchToThread
    else:
        function = getattr(ctypes.CDLL(None), "sched_yield", None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def whole_work(first: int, count: int) -> Work:
    """All items for one worker, or for a thread each."""
    work = Work()
    work.first, work.last, work.chunk = first, first + count, 1
    return work


class Counting:
    """The counters of a list of phases, and the phases as a worker sees them, one after the other.

    Args:
        phases: Their number.
        workers: Workers that share them.
    """

    def __init__(self, phases: int, workers: int):
        self.workers = workers
        self.counters = wp.zeros((phases + 1, 8 * workers), dtype=wp.int64, device="cpu")  # a cache line for each worker
        self._yield_address = yield_address()
        self.restart(0)

    def restart(self, worker: int) -> None:
        """Go through the phases again, as another worker."""
        self.worker, self.phase, self._before = worker, 0, 0

    @property
    def whole(self) -> Work:
        """No work of a phase, but the counters of all."""
        work = whole_work(0, 1)
        work.counters = self.counters
        return work

    def next_phase(self, first: int, count: int, grain: int = GRAIN) -> Work:
        """The work of the next phase; chunks are small, so that nobody waits long for another's last one.

        Args:
            first: First item.
            count: Number of items.
            grain: Chunks for each worker, at least; few where items take so little that claims count.
        """
        work = whole_work(first, count)
        work.chunk = 1 << max(0, (count // (grain * self.workers)).bit_length() - 1)
        work.counters, work.phase, work.before = self.counters, self.phase, self._before
        work.worker, work.workers, work.yield_address = self.worker, self.workers, self._yield_address
        self.phase += 1
        self._before = -(-count // work.chunk)
        return work

    def abandon(self) -> None:
        """Give up a run that was left before its end, and all later ones: nobody waits any more, and nothing is left to claim."""
        counters = self.counters.numpy()
        counters[1:, ::8] = 1 << 62
        counters[1:, 1] = 1 << 62


# Wait until the phase before is done. Spinning alone would take the time of a program that shares the core.
_WAIT = """
    typedef int result_t;
    typedef result_t (*yield_t)(void);
    auto yield_thread = reinterpret_cast<yield_t>(yield_address);
    auto row = counters.data + (long long)phase * counters.shape[1];
    auto epoch = __atomic_load_n(counters.data, __ATOMIC_ACQUIRE);
    auto spins = 0;
    while (before > 0) {
        wp::int64 done = 0;
        for (auto share = 0; share < workers; share++) done += __atomic_load_n(row + 8 * share + 1, __ATOMIC_ACQUIRE);
        if (done >= epoch * before) break;
        if (++spins > 200) yield_thread();
    }
    return epoch;
"""

# A claim holds the epoch and, in its last 20 bits, how many chunks of the share were taken.
_CLAIM = """
    if (epoch == 0) return -1;
    auto row = counters.data + (long long)(phase + 1) * counters.shape[1];
    for (auto k = 0; k < workers; k++) {
        auto share = (worker + k) % workers;
        long long begin = (long long)chunks * share / workers, length = (long long)chunks * (share + 1) / workers - begin;
        auto value = __atomic_load_n(row + 8 * share, __ATOMIC_RELAXED);
        while (1) {
            long long owner = value >> 20, taken = owner == epoch ? (value & 0xfffff) : 0;
            if (owner > epoch || taken >= length) break;
            long long claimed = (epoch << 20) | (taken + 1);
            if (__atomic_compare_exchange_n(row + 8 * share, &value, (wp::int64)claimed, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return begin + taken;
        }
    }
    return -1;
"""

_BEGIN = """
    __atomic_store_n(counters.data, *counters.data + 1, __ATOMIC_RELEASE);
    return 0;
"""

_DONE = """
    auto done = counters.data + (long long)(phase + 1) * counters.shape[1] + 8 * worker + 1;
    __atomic_store_n(done, *done + 1, __ATOMIC_RELEASE);
    return 0;
"""


def _on_cpu(code: str, elsewhere: str = "-1") -> str:
    return f"#if defined(__CUDA_ARCH__) || defined(__CUDACC__)\n    return {elsewhere};\n#else\n{code}\n#endif\n"


@wp.func_native(_on_cpu(_WAIT))
def wait_for_phase(
    counters: wp.array2d(dtype=wp.int64), phase: int, before: int, workers: int, yield_address: wp.int64
) -> wp.int64: ...


@wp.func_native(_on_cpu(_CLAIM))
def claim_chunk(
    counters: wp.array2d(dtype=wp.int64), phase: int, epoch: wp.int64, chunks: int, worker: int, workers: int
) -> int: ...


@wp.func_native(_on_cpu(_BEGIN))
def begin_epoch(counters: wp.array2d(dtype=wp.int64)) -> int: ...


@wp.func_native(_on_cpu(_DONE))
def finish_chunk(counters: wp.array2d(dtype=wp.int64), phase: int, worker: int) -> int: ...


@wp.func_native(_on_cpu("    return 1;", "0"))
def loops() -> int: ...


@wp.func
def claim_items(work: Work, epoch: wp.int64):
    chunks = (work.last - work.first + work.chunk - 1) // work.chunk
    claimed = claim_chunk(work.counters, work.phase, epoch, chunks, work.worker, work.workers)
    return wp.where(claimed < 0, -1, work.first + claimed * work.chunk)


@wp.func
def first_item(work: Work, thread: int):
    """The first item to work on, -1 if there is none."""
    i = work.first + thread
    if work.workers > 0:  # what is claimed must belong to the run that was waited for: the next may begin in between
        epoch = wait_for_phase(work.counters, work.phase, work.before, work.workers, work.yield_address)
        i = claim_items(work, epoch)
    return wp.where(i < work.last, i, -1)


@wp.func
def next_item(work: Work, i: int):
    """The item after ``i``, -1 if there is none."""
    following = i + 1
    if loops() == 0:
        return -1
    if work.workers == 0:
        return wp.where(following < work.last, following, -1)
    if following == work.last or ((following - work.first) & (work.chunk - 1)) == 0:
        following = claim_items(work, work.counters[0, 0])  # this chunk is not done yet, so the run is still the same
        finish_chunk(work.counters, work.phase, work.worker)
    return following


@wp.kernel(enable_backward=False)
def begin_run(work: Work):
    """A new run: every chunk may be claimed once more."""
    begin_epoch(work.counters)


@wp.kernel(enable_backward=False)
def enter_phase(work: Work):
    """Wait for the phase before: what one worker does while nobody else does anything, or the end of a run."""
    wait_for_phase(work.counters, work.phase, work.before, work.workers, work.yield_address)


@wp.kernel(enable_backward=False)
def leave_phase(work: Work):
    """The end of a phase that one worker entered alone."""
    finish_chunk(work.counters, work.phase, work.worker)

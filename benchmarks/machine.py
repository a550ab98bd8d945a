"""What the machine can do: peak float32 flops and the bandwidth of reading, of one core and of several threads.

Both are Warp kernels over the compiler's own vectors of 16 floats, with the flags of hooke's lane kernels and fused multiply-add.
Flops: ten vectors in registers, each replaced by x a + b again and again, which is 32 flops. Bandwidth: the sum of an array, ten vectors
at a time. Several threads launch the recorded kernel at once, each on an array of its own; the best of a few trials counts.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import warp as wp

from hooke.execution.flags import lane_options

__all__ = ["machine_name", "measure_bandwidth", "measure_flops", "processor_model"]

LANES = 16
CHAINS = 10
ROUNDS = 200_000
LARGE = 256 << 20
"""Bytes per thread that no cache of its own holds."""

_VECTOR = f"typedef float V __attribute__((ext_vector_type({LANES}), aligned(4)));"


def _each(text: str) -> str:
    """The text once per chain, its ``#`` replaced by the number of the chain."""
    return " ".join(text.replace("#", str(c)) for c in range(CHAINS))


_SUM = f"V s = {' + '.join(f'x{c}' for c in range(CHAINS))}; float r = 0; for (auto l = 0; l < {LANES}; l++) r += s[l]; return r;"


@wp.func_native(
    f"{_VECTOR} {_each('V x# = V(seed + #);')} for (auto k = 0; k < rounds; k++) {{ {_each('x# = x# * a + seed;')} }} {_SUM}"
)
def fused_chain(seed: float, a: float, rounds: int) -> float: ...


@wp.func_native(
    f"{_VECTOR} auto p = reinterpret_cast<const V*>(x.data); {_each('V x# = V(0.0f);')} "
    f"for (auto k = 0; k < vectors; k += {CHAINS}) {{ {_each('x# += p[k + #];')} }} {_SUM}"
)
def sum_vectors(x: wp.array(dtype=wp.float32), vectors: int) -> float: ...


def compute_flops(rounds: int, seed: float, out: wp.array(dtype=wp.float32)):  # type: ignore[valid-type]
    """A thread's chains of fused operations."""
    i = wp.tid()
    out[i] = fused_chain(seed, seed * 0.5, rounds)


def read_array(x: wp.array(dtype=wp.float32), vectors: int, out: wp.array(dtype=wp.float32)):  # type: ignore[valid-type]
    """A thread's sum of an array."""
    i = wp.tid()
    out[i] = sum_vectors(x, vectors)


@functools.cache
def _kernel(function: Any) -> Any:
    options = lane_options()
    options["cpu_compiler_flags"] = str(options["cpu_compiler_flags"]).replace("-ffp-contract=off", "-ffp-contract=fast")
    return wp.kernel(function, module="unique", enable_backward=False, module_options=options)


def _best_rate(commands: list[Any], work: float, trials: int = 5) -> float:
    """``work`` per second when all recorded launches run at once, one per thread."""
    with ThreadPoolExecutor(len(commands)) as pool:
        times = []
        for _ in range(trials):
            begin = time.perf_counter()
            list(pool.map(lambda command: command.launch(), commands))
            times.append(time.perf_counter() - begin)
    return work / min(times)


def measure_flops(threads: int = 1) -> float:
    """Peak float32 operations per second of ``threads`` threads together."""
    out = [wp.zeros(1, dtype=wp.float32, device="cpu") for _ in range(threads)]
    commands = [
        wp.launch(_kernel(compute_flops), dim=1, inputs=[ROUNDS, 0.5], outputs=[o], device="cpu", record_cmd=True) for o in out
    ]
    return _best_rate(commands, 2.0 * LANES * CHAINS * ROUNDS * threads)


def measure_bandwidth(size: int = 0, threads: int = 1) -> float:
    """Bytes per second that ``threads`` threads together read.

    Args:
        size: Bytes that are read again and again by all of them together, so that a small set stays in a cache; 0 is 256 MiB each.
        threads: Threads.
    """
    each = min(size // threads, LARGE) if size else LARGE
    vectors = max(each // (4 * LANES * CHAINS), 1) * CHAINS
    read = 4 * LANES * vectors
    arrays = [wp.zeros(LANES * vectors, dtype=wp.float32, device="cpu") for _ in range(threads)]
    out = [wp.zeros(max((64 << 20) // read, 1), dtype=wp.float32, device="cpu") for _ in range(threads)]
    commands = [
        wp.launch(_kernel(read_array), dim=len(o), inputs=[x, vectors], outputs=[o], device="cpu", record_cmd=True)
        for x, o in zip(arrays, out, strict=True)
    ]
    return _best_rate(commands, float(read) * sum(len(o) for o in out))


def processor_model() -> str:
    """The processor's name as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()


def machine_name() -> str:
    """A name for files: the processor's, and the number of cores."""
    slug = re.sub(r"[^a-z0-9]+", "-", processor_model().lower()).strip("-")
    return f"{slug}-{os.cpu_count()}-cores"


if __name__ == "__main__":
    cores = os.cpu_count() or 1
    print(machine_name())
    for n in sorted({1, cores}):
        rates = [measure_bandwidth(size, n) / 1e9 for size in (1 << 18, 1 << 22, 1 << 25, 0)]
        print(f"{n} threads: {measure_flops(n) / 1e9:.0f} Gflop/s; reading 256 KiB, 4 MiB, 32 MiB, 256 MiB each:", end=" ")
        print(", ".join(f"{rate:.0f}" for rate in rates), "GB/s")

"""The process that runs one case in one engine and writes what it measured; started by :mod:`benchmarks.launch`.

It imports the standard library, NumPy and that engine, so it may run in an interpreter that has no hooke.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.engines import Engine, build_engine
from benchmarks.memory import peak_memory, reset_peak, resident_memory

__all__ = ["measure"]


def time_steps(engine: Engine, case: Case) -> list[float]:
    """Milliseconds per step, one number per repeat."""
    result = []
    for _ in range(case.repeats):
        begin = time.perf_counter()
        for _ in range(case.steps):
            engine.step()
        result.append(1e3 * (time.perf_counter() - begin) / case.steps)
    return result


def warm_up(name: str, case: Case) -> None:
    """Load the engine and its kernels with the smallest version of the case, so that memory and build time are the case's own."""
    tiny = build_engine(name, dataclasses.replace(case, n=3, start=""))
    for _ in range(3):
        tiny.step()
    del tiny
    gc.collect()


def measure(name: str, case: Case, way: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Build, warm up, time, and take one more step for the residual.

    Returns:
        Numbers: ``ms`` per repeat, ``build_s``, ``peak_bytes`` of the process, ``case_bytes`` of them that came with the case,
        ``overflow``, ``version``, ``threads``, ``facts``.
        Arrays: the model's (``model_...``), and ``x_before``, ``v_before``, ``x_after``, ``v_after`` of the last step.
    """
    warm_up(name, case)
    reset_peak()
    base = resident_memory()
    begin = time.perf_counter()
    engine = build_engine(name, case)
    build = time.perf_counter() - begin
    for _ in range(case.warmup):
        engine.step()
    if way == "graph":
        engine.start_graph()
    ms = time_steps(engine, case)
    peak = peak_memory()
    before = engine.step_start()
    engine.step()
    after = engine.state()
    arrays = {f"model_{key}": value for key, value in engine.export().items()}
    arrays |= {"x_before": before[0], "v_before": before[1], "x_after": after[0], "v_after": after[1]}
    numbers = {
        "ms": ms, "build_s": build, "peak_bytes": peak, "case_bytes": max(peak - base, 0), "overflow": engine.overflow(),
        "version": engine.version, "threads": engine.threads, "facts": engine.facts(),
    }  # fmt: skip
    return numbers, arrays


def main() -> None:
    """``python -m benchmarks.child ENGINE WAY CASE_JSON FOLDER``: writes numbers.json and arrays.npz into the folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name in ("engine", "way", "case", "folder"):
        parser.add_argument(name)
    given = parser.parse_args()
    numbers, arrays = measure(given.engine, Case(**json.loads(given.case)), given.way)
    np.savez(Path(given.folder) / "arrays.npz", **arrays)  # type: ignore[arg-type]
    (Path(given.folder) / "numbers.json").write_text(json.dumps(numbers, default=str))


if __name__ == "__main__":
    main()

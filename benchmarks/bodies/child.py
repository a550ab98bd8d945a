"""The process that runs one case of bodies in one engine and writes what it measured; started by :mod:`benchmarks.bodies.launch`."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bodies.cases import BodyCase
from benchmarks.bodies.engines import build_bodies
from benchmarks.memory import peak_memory, reset_peak, resident_memory

__all__ = ["measure"]


def measure(name: str, case: BodyCase, way: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Build, warm up and time.

    Returns:
        Numbers as :func:`benchmarks.child.measure` has them; and the final state: ``pose`` and ``velocity``.
    """
    tiny = build_bodies(name, dataclasses.replace(case, count=2, lanes=min(case.lanes, 2), segments=min(case.segments, 4)))
    for _ in range(3):
        tiny.step()
    del tiny
    gc.collect()
    reset_peak()
    base, begin = resident_memory(), time.perf_counter()
    engine = build_bodies(name, case)
    build = time.perf_counter() - begin
    for _ in range(case.warmup):
        engine.step()
    if way == "graph":
        engine.start_graph()
    ms = []
    for _ in range(case.repeats):
        begin = time.perf_counter()
        for _ in range(case.steps):
            engine.step()
        ms.append(1e3 * (time.perf_counter() - begin) / case.steps)
    peak = peak_memory()
    pose, velocity = engine.state()
    numbers = {
        "ms": ms, "build_s": build, "peak_bytes": peak, "case_bytes": max(peak - base, 0), "overflow": engine.overflow(),
        "version": engine.version, "threads": engine.threads, "facts": engine.facts(),
    }  # fmt: skip
    return numbers, {"pose": pose, "velocity": velocity}


def main() -> None:
    """``python -m benchmarks.bodies.child ENGINE WAY CASE_JSON FOLDER``: writes numbers.json and arrays.npz into the folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name in ("engine", "way", "case", "folder"):
        parser.add_argument(name)
    given = parser.parse_args()
    numbers, arrays = measure(given.engine, BodyCase(**json.loads(given.case)), given.way)
    np.savez(Path(given.folder) / "arrays.npz", **arrays)  # type: ignore[arg-type]
    (Path(given.folder) / "numbers.json").write_text(json.dumps(numbers, default=str))


if __name__ == "__main__":
    main()

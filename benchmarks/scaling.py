"""``python -m benchmarks.scaling [cloth|cloth_self|soft|bodies]``: how time, memory and building grow with the size of a scene."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.bodies.cases import BODY_SCALING
from benchmarks.bodies.launch import run_bodies
from benchmarks.cases import SCALING
from benchmarks.launch import Refused, run_case
from benchmarks.report import format_table

__all__ = ["fit_exponent", "main"]

BODY_HEAD = (
    "case", "bodies", "contacts", "ms/step", "ns/body/it", "build s", "MB of the case", "B/body", "penetration", "speed", "unbalanced N",
)  # fmt: skip
HEAD = ("case", "vertices", "ms/step", "ns/vertex/it", "build s", "MB of the case", "B/vertex", "residual")


FAMILIES = (*SCALING, "bodies")


def fit_exponent(size: Sequence[float], value: Sequence[float]) -> float:
    """The exponent p of value = c size^p, by least squares of the logarithms.

    Raises:
        ValueError: There are fewer than two sizes, or a number is not positive.
    """
    if len(size) < 2 or min(size) <= 0.0 or min(value) <= 0.0:
        raise ValueError(f"fit_exponent: expected two or more positive pairs, found {list(zip(size, value, strict=True))}")
    return float(np.polyfit(np.log(size), np.log(value), 1)[0])


def scale(family: str, workers: int | None, limit: int) -> None:
    """Run a family up to ``limit`` vertices and print its table and exponents.

    Raises:
        Refused: A run may not be reported.
    """
    rows: list[list[object]] = []
    size: list[float] = []
    fits: dict[str, list[float]] = {"time per step": [], "memory": [], "building": []}
    for case in SCALING[family]:
        if case.vertices > limit:
            continue
        run = run_case(case, "hooke", workers=workers)
        assert run.residual is not None  # hooke minimises an energy that is known
        per_vertex = 1e6 * run.median_ms / case.vertices / case.iterations
        rows.append([
            case.name, case.vertices, run.median_ms, per_vertex, run.build_s, run.case_bytes / 1e6, run.case_bytes / case.vertices,
            run.residual.largest,
        ])  # fmt: skip
        size.append(case.vertices)
        for name, value in zip(fits, (run.median_ms, max(run.case_bytes, 1), run.build_s), strict=True):
            fits[name].append(value)
    print(format_table(HEAD, rows))
    if len(size) > 1:
        print(f"{family}, exponents:", ", ".join(f"{name} {fit_exponent(size, value):.2f}" for name, value in fits.items()))


def scale_bodies(workers: int | None, limit: int) -> None:
    """Run the piles of bricks up to ``limit`` bodies and print their table and exponents.

    Raises:
        Refused: A run may not be reported.
    """
    rows: list[list[object]] = []
    size: list[float] = []
    fits: dict[str, list[float]] = {"time per step": [], "time per contact": [], "memory": [], "building": []}
    for case in BODY_SCALING:
        if case.bodies > limit:
            continue
        run = run_bodies(case, "hooke", workers=workers)
        rows.append([
            case.name, case.bodies, run.contacts, run.median_ms, 1e6 * run.median_ms / case.bodies / case.iterations, run.build_s,
            run.case_bytes / 1e6, run.case_bytes / case.bodies, run.errors.penetration, run.errors.speed, run.residual,
        ])  # fmt: skip
        size.append(case.bodies)
        values = (run.median_ms, run.median_ms / run.contacts, max(run.case_bytes, 1), run.build_s)
        for name, value in zip(fits, values, strict=True):
            fits[name].append(value)
    print(format_table(BODY_HEAD, rows))
    if len(size) > 1:
        print("bodies, exponents:", ", ".join(f"{name} {fit_exponent(size, value):.2f}" for name, value in fits.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run some families or all; 1 if a run is refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description="How hooke grows with the scene.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(FAMILIES)}; all if none is given")
    parser.add_argument("--workers", type=int, help="HOOKE_WORKERS of the process that is timed")
    parser.add_argument("--limit", type=int, default=2_000_000, help="largest number of vertices or bodies")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.families if name not in FAMILIES]
    if unknown:
        parser.error(f"no family {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    try:
        for family in given.families or FAMILIES:
            if family == "bodies":
                scale_bodies(given.workers, given.limit)
            else:
                scale(family, given.workers, given.limit)
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

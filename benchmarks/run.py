"""``python -m benchmarks.run [CASE...]``: hooke alone."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence

import warp as wp

from benchmarks.bodies.cases import BODY_CASES, BodyCase
from benchmarks.bodies.launch import BodyRun, run_bodies
from benchmarks.cases import CASES, Case
from benchmarks.launch import Refused, Run, run_case
from benchmarks.report import count_intersections, format_table, measure_roofline, phase_share

__all__ = ["chosen_cases", "main"]

HEAD = (
    "case", "vertices", "workers", "ms/step", "ns/vertex/it", "residual", "rms", "strain", "build s", "MB", "B/vertex", "compute",
    "bandwidth", "roofline", "crossing", "detect", "truncate",
)  # fmt: skip


BODY_HEAD = (
    "case", "bodies", "workers", "ms/step", "ns/body/it", "contacts", "unbalanced N", "penetration", "joint gap", "speed", "drift",
    "build s", "MB", "B/body",
)  # fmt: skip


def chosen_cases(names: Sequence[str], steps: int | None) -> list[Case | BodyCase]:
    """The cases of some names, all when there are none, with another number of steps per timing if given.

    Raises:
        SystemExit: A name is unknown (code 2).
    """
    known: dict[str, Case | BodyCase] = {**CASES, **BODY_CASES}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no case {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        raise SystemExit(2)
    cases = [known[name] for name in names] or list(known.values())
    return cases if steps is None else [dataclasses.replace(case, steps=steps) for case in cases]


def describe(case: Case, run: Run) -> list[object]:
    """The line of a run."""
    ms = run.median_ms
    roof = measure_roofline(case, run, ms)
    residual = (None, None) if run.residual is None else (run.residual.largest, run.residual.rms)
    return [
        case.name, case.vertices, run.threads, ms, 1e6 * ms / case.vertices / case.iterations, *residual,
        run.strain.largest, run.build_s, run.peak_bytes / 1e6, run.case_bytes / case.vertices, roof.compute_share,
        roof.bandwidth_share, roof.share, count_intersections(run), phase_share(run, "detect"), phase_share(run, "truncate"),
    ]  # fmt: skip


def describe_bodies(case: BodyCase, run: BodyRun) -> list[object]:
    """The line of a run of bodies."""
    errors = run.errors
    return [
        case.name, case.bodies, run.threads, run.median_ms, 1e6 * run.median_ms / case.bodies / case.iterations, run.contacts,
        run.residual, errors.penetration, errors.joint_gap, errors.speed, errors.drift, run.build_s, run.peak_bytes / 1e6,
        run.case_bytes / case.bodies,
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cases with hooke and print a table; 1 if a run is refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Time hooke alone.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join([*CASES, *BODY_CASES])}; all if none is given")
    parser.add_argument("--workers", type=int, help="HOOKE_WORKERS of the process that is timed")
    parser.add_argument("--steps", type=int, help="steps of one timing")
    given = parser.parse_args(arguments)
    wp.config.log_level = wp.LOG_ERROR
    rows: list[list[object]] = []
    bodies: list[list[object]] = []
    for case in chosen_cases(given.cases, given.steps):
        try:
            if isinstance(case, BodyCase):
                bodies.append(describe_bodies(case, run_bodies(case, "hooke", workers=given.workers)))
                continue
            rows.append(describe(case, run_case(case, "hooke", workers=given.workers)))
        except Refused as error:
            print(f"refused: {error}", file=sys.stderr)
            return 1
    for head, lines in ((HEAD, rows), (BODY_HEAD, bodies)):
        if lines:
            print(format_table(head, lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

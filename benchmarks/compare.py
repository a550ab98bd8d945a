"""``python -m benchmarks.compare --peer newton [CASE...]``: hooke and a peer in turn, each run in a process of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import warp as wp

from benchmarks.bodies.cases import BODY_CASES, BodyCase
from benchmarks.bodies.launch import BodyRun, run_bodies
from benchmarks.cases import CASES, Case
from benchmarks.engines import WAYS
from benchmarks.launch import Refused, Run, run_case
from benchmarks.report import RESULTS, Row, compare_bodies, compare_runs, format_table, save_rows
from benchmarks.residual import ENERGIES
from benchmarks.run import chosen_cases

__all__ = ["compare_case", "main"]

PEERS = tuple(name for name in WAYS if name != "hooke")

HEAD = {
    "case": "case", "workers": "workers", "hooke_ms": "hooke ms", "peer_ms": "peer ms", "peer_way": "way", "ratio": "ratio",
    "hooke_residual": "residual", "peer_residual": "peer", "hooke_residual_rms": "rms", "peer_residual_rms": "peer",
    "hooke_strain": "strain", "peer_strain": "peer", "hooke_strain_rms": "rms", "peer_strain_rms": "peer",
    "hooke_overflow": "overflow", "peer_overflow": "peer", "hooke_peak_mb": "MB", "peer_peak_mb": "peer",
    "hooke_vertex_bytes": "B/vertex", "peer_vertex_bytes": "peer", "roofline_share": "roofline",
    "hooke_intersections": "crossing", "peer_intersections": "peer", "hooke_far_intersections": "far",
    "peer_far_intersections": "peer", "detect_share": "detect", "truncate_share": "truncate",
}  # fmt: skip


BODY_HEAD = {
    "case": "case", "bodies": "bodies", "workers": "workers", "hooke_ms": "hooke ms", "peer_ms": "peer ms", "peer_way": "way",
    "ratio": "ratio", "hooke_contacts": "contacts", "peer_contacts": "peer", "hooke_penetration": "penetration",
    "peer_penetration": "peer", "hooke_joint_gap": "joint gap", "peer_joint_gap": "peer", "hooke_speed": "speed", "peer_speed": "peer",
    "hooke_drift": "drift", "peer_drift": "peer", "hooke_unbalanced": "unbalanced", "hooke_overflow": "overflow", "peer_overflow": "peer",
    "hooke_peak_mb": "MB", "peer_peak_mb": "peer", "hooke_body_bytes": "B/body", "peer_body_bytes": "peer",
}  # fmt: skip


def compare_case(case: Case | BodyCase, peer: str, python: str | None, rounds: int, workers: int | None) -> Row:
    """Run hooke and every way of the peer in turn, ``rounds`` times.

    Raises:
        Refused: A run may not be reported.
    """
    if isinstance(case, BodyCase):
        bodies: list[BodyRun] = []
        others: list[BodyRun] = []
        for _ in range(rounds):
            bodies.append(run_bodies(case, "hooke", workers=workers))
            others += [run_bodies(case, peer, way, python) for way in WAYS[peer]]
        return compare_bodies(case, bodies, others)
    mine: list[Run] = []
    other: list[Run] = []
    for _ in range(rounds):
        mine.append(run_case(case, "hooke", workers=workers))
        other += [run_case(case, peer, way, python) for way in WAYS[peer]]
    return compare_runs(case, mine, other)


def explain(peer: str) -> str:
    """What the residuals of a comparison are, for particles."""
    residual = "residual: largest component of the gradient of each engine's own step potential over the rms weight of a particle"
    if peer in ENERGIES:
        return f"{residual}\n  hooke: {ENERGIES['hooke']}\n  {peer}: {ENERGIES[peer]}"
    return f"{residual}; of {peer} not comparable: other physics, accuracy not matched. Compare the strain of edges instead"


BODY_ERRORS = """bodies: same arrays of poses, shapes, joints and materials, same iterations and time step; errors of the final state, from
  poses in float64: penetration [m] of two bodies or of one with the ground, joint gap [m] between anchors, speed [m/s] of the fastest body,
  drift [m] along the ground since the start; unbalanced [N]: largest force on a body that nothing balances, which no peer tells"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print a table; write the CSV of the machine. 1 if a run is refused: then its case has no row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description="Time hooke and a peer in turn.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join([*CASES, *BODY_CASES])}; all if none is given")
    parser.add_argument("--peer", choices=PEERS, required=True)
    parser.add_argument("--peer-python", help="interpreter that has the peer; this one if not given")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--workers", type=int, help="HOOKE_WORKERS of hooke's process")
    parser.add_argument("--steps", type=int, help="steps of one timing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV")
    given = parser.parse_args(arguments)
    wp.config.log_level = wp.LOG_ERROR
    rows, refused = [], False
    for case in chosen_cases(given.cases, given.steps):
        if isinstance(case, BodyCase) and given.peer not in case.peers:
            print(f"{case.name} is not compared with {given.peer}", file=sys.stderr)
            continue
        try:
            rows.append(compare_case(case, given.peer, given.peer_python, given.rounds, given.workers))
        except Refused as error:
            print(f"refused: {error}", file=sys.stderr)
            refused = True
    if rows:
        for head, text, kind in ((HEAD, explain(given.peer), False), (BODY_HEAD, BODY_ERRORS, True)):
            lines = [[getattr(row, name) for name in head] for row in rows if (row.bodies is not None) is kind]
            if lines:
                print(text)
                print(format_table(list(head.values()), lines))
        print(f"written to {save_rows(rows, given.results)}")
    return int(refused)


if __name__ == "__main__":
    raise SystemExit(main())

"""From runs to rows, and from rows to tables and to the CSV of the machine."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.bodies.cases import BodyCase
from benchmarks.bodies.launch import BodyRun
from benchmarks.cases import Case
from benchmarks.launch import Run
from benchmarks.machine import machine_name, measure_bandwidth, measure_flops, processor_model
from benchmarks.roofline import Roofline, count_flops

__all__ = ["KEY", "RESULTS", "Row", "compare_bodies", "compare_runs", "count_intersections", "format_table", "measure_roofline",
           "phase_share", "save_rows"]  # fmt: skip

RESULTS = Path(__file__).parent / "results"
KEY = ("case", "peer", "workers")
"""Columns that tell rows of one machine apart; a new row replaces the one of the same key."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A case side by side with a peer, both measured in one call. Times are medians over all rounds [ms per step].

    Attributes:
        case: Name of the case.
        vertices: Particles.
        iterations: Sweeps per step.
        workers: Threads of hooke.
        hooke_version: Version of hooke.
        peer: The other engine.
        peer_version: Its version.
        peer_way: Its faster way: ``plain`` or ``graph``.
        hooke_ms: hooke's plain call.
        peer_ms: The peer's faster way.
        ratio: ``peer_ms / hooke_ms``.
        hooke_residual: Infinity norm of hooke's residual.
        peer_residual: The peer's, each by the energy it minimises; empty: not comparable.
        hooke_residual_rms: Root mean square of the same.
        peer_residual_rms: Root mean square of the same.
        hooke_strain: Largest edge strain of the final state.
        peer_strain: The peer's.
        hooke_strain_rms: Root mean square of the same.
        peer_strain_rms: Root mean square of the same.
        hooke_overflow: Buffers of hooke that were too small; a row has 0, else it is refused.
        peer_overflow: The peer's.
        hooke_peak_mb: Largest resident memory of hooke's process [MB].
        peer_peak_mb: The peer's.
        hooke_vertex_bytes: Memory that came with the case, per vertex [B].
        peer_vertex_bytes: The peer's.
        hooke_build_s: Time to build model and solver [s].
        peer_build_s: The peer's.
        vertex_flops: Flops of a vertex in one iteration of hooke.
        vertex_bytes: Bytes of a vertex in one iteration of hooke.
        compute_share: hooke's flops per second over the machine's peak with as many threads.
        bandwidth_share: hooke's bytes per second over the machine's reading of a set of this size.
        roofline_share: The larger of the two.
        hooke_intersections: Pairs of triangles that intersect in the final state; empty: no self-contact.
        peer_intersections: The peer's.
        hooke_far_intersections: Those of them that no edge of the mesh joins.
        peer_far_intersections: The peer's.
        detect_share: Part of hooke's step that finds the contacts of the cloth with itself; empty: the solver does not tell.
        truncate_share: Part that keeps motions from passing through.
        bodies: Rigid bodies; empty for a case of particles, whose columns the cases of bodies leave empty.
        hooke_body_bytes: Memory that came with the case, per body [B].
        peer_body_bytes: The peer's.
        hooke_contacts: Rows of contacts in the last step.
        peer_contacts: The peer's.
        hooke_unbalanced: Largest force on a body that nothing balances in the last step [N]; no peer tells.
        hooke_penetration: Largest overlap of two bodies, or of one with the ground, in the final state [m].
        peer_penetration: The peer's.
        hooke_joint_gap: Largest distance of the anchors of a joint [m].
        peer_joint_gap: The peer's.
        hooke_speed: Of the fastest body [m/s].
        peer_speed: The peer's.
        hooke_drift: Largest way of a body along the ground since the start [m].
        peer_drift: The peer's.
        processor: Name of the processor.
        cores: Its cores.
    """

    case: str
    iterations: int
    workers: int
    hooke_version: str
    peer: str
    peer_version: str
    peer_way: str
    hooke_ms: float
    peer_ms: float
    ratio: float
    vertices: int | None = None
    hooke_residual: float | None = None
    peer_residual: float | None = None
    hooke_residual_rms: float | None = None
    peer_residual_rms: float | None = None
    hooke_strain: float | None = None
    peer_strain: float | None = None
    hooke_strain_rms: float | None = None
    peer_strain_rms: float | None = None
    hooke_overflow: int
    peer_overflow: int
    hooke_peak_mb: float
    peer_peak_mb: float
    hooke_vertex_bytes: float | None = None
    peer_vertex_bytes: float | None = None
    hooke_build_s: float
    peer_build_s: float
    vertex_flops: float | None = None
    vertex_bytes: float | None = None
    compute_share: float | None = None
    bandwidth_share: float | None = None
    roofline_share: float | None = None
    hooke_intersections: int | None = None
    peer_intersections: int | None = None
    hooke_far_intersections: int | None = None
    peer_far_intersections: int | None = None
    detect_share: float | None = None
    truncate_share: float | None = None
    bodies: int | None = None
    hooke_body_bytes: float | None = None
    peer_body_bytes: float | None = None
    hooke_contacts: int | None = None
    peer_contacts: int | None = None
    hooke_unbalanced: float | None = None
    hooke_penetration: float | None = None
    peer_penetration: float | None = None
    hooke_joint_gap: float | None = None
    peer_joint_gap: float | None = None
    hooke_speed: float | None = None
    peer_speed: float | None = None
    hooke_drift: float | None = None
    peer_drift: float | None = None
    processor: str
    cores: int


def compare_runs(case: Case, hooke: Sequence[Run], peer: Sequence[Run]) -> Row:
    """The row of a case from the runs of all rounds, the peer's in every way it has."""
    ways = {run.way for run in peer}
    peer_ms, way = min((_median_ms(run for run in peer if run.way == way), way) for way in ways)
    mine, other = hooke[-1], next(run for run in reversed(peer) if run.way == way)
    hooke_ms = _median_ms(hooke)
    roof = measure_roofline(case, mine, hooke_ms)
    per_vertex = case.iterations * case.vertices
    return Row(
        case=case.name, vertices=case.vertices, iterations=case.iterations, workers=mine.threads, hooke_version=mine.version,
        peer=other.engine, peer_version=other.version, peer_way=way, hooke_ms=hooke_ms, peer_ms=peer_ms, ratio=peer_ms / hooke_ms,
        hooke_residual=_norm(mine), peer_residual=_norm(other), hooke_residual_rms=_norm(mine, "rms"),
        peer_residual_rms=_norm(other, "rms"), hooke_strain=mine.strain.largest, peer_strain=other.strain.largest,
        hooke_strain_rms=mine.strain.rms, peer_strain_rms=other.strain.rms, hooke_overflow=len(mine.overflow),
        peer_overflow=len(other.overflow), hooke_peak_mb=mine.peak_bytes / 1e6, peer_peak_mb=other.peak_bytes / 1e6,
        hooke_vertex_bytes=mine.case_bytes / case.vertices, peer_vertex_bytes=other.case_bytes / case.vertices,
        hooke_build_s=mine.build_s, peer_build_s=other.build_s, vertex_flops=roof.flops / per_vertex,
        vertex_bytes=roof.bytes / per_vertex, compute_share=roof.compute_share, bandwidth_share=roof.bandwidth_share,
        roofline_share=roof.share, hooke_intersections=count_intersections(mine), peer_intersections=count_intersections(other),
        hooke_far_intersections=count_intersections(mine, "far_intersections"),
        peer_far_intersections=count_intersections(other, "far_intersections"),
        detect_share=phase_share(mine, "detect"), truncate_share=phase_share(mine, "truncate"),
        processor=processor_model(), cores=os.cpu_count() or 1,
    )  # fmt: skip


def compare_bodies(case: BodyCase, hooke: Sequence[BodyRun], peer: Sequence[BodyRun]) -> Row:
    """The same for a case of bodies."""
    ways = {run.way for run in peer}
    peer_ms, way = min((_median_ms(run for run in peer if run.way == way), way) for way in ways)
    mine, other = hooke[-1], next(run for run in reversed(peer) if run.way == way)
    hooke_ms, linked = _median_ms(hooke), mine.errors.joint_gap > 0.0
    return Row(
        case=case.name, iterations=case.iterations, workers=mine.threads, hooke_version=mine.version, peer=other.engine,
        peer_version=other.version, peer_way=way, hooke_ms=hooke_ms, peer_ms=peer_ms, ratio=peer_ms / hooke_ms,
        hooke_overflow=len(mine.overflow), peer_overflow=len(other.overflow), hooke_peak_mb=mine.peak_bytes / 1e6,
        peer_peak_mb=other.peak_bytes / 1e6, hooke_build_s=mine.build_s, peer_build_s=other.build_s, bodies=case.bodies,
        hooke_body_bytes=mine.case_bytes / case.bodies, peer_body_bytes=other.case_bytes / case.bodies, hooke_contacts=mine.contacts,
        peer_contacts=other.contacts, hooke_unbalanced=mine.residual, hooke_penetration=mine.errors.penetration,
        peer_penetration=other.errors.penetration, hooke_joint_gap=mine.errors.joint_gap if linked else None,
        peer_joint_gap=other.errors.joint_gap if linked else None, hooke_speed=mine.errors.speed, peer_speed=other.errors.speed,
        hooke_drift=mine.errors.drift, peer_drift=other.errors.drift, processor=processor_model(), cores=os.cpu_count() or 1,
    )  # fmt: skip


def count_intersections(run: Run, name: str = "intersections") -> int | None:
    """Pairs of triangles that intersect in the final state; None for a case without self-contact."""
    return None if run.contact is None else int(getattr(run.contact, name))


def phase_share(run: Run, name: str) -> float | None:
    """The part of a step that a phase takes; None where the engine does not tell."""
    phases = run.facts.get("phases") or {}
    return float(phases[name] / sum(phases.values())) if name in phases else None


def measure_roofline(case: Case, run: Run, ms: float) -> Roofline:
    """How near a step of hooke, of ``ms`` milliseconds, comes to what this machine can do with as many threads."""
    size = int(run.facts["sweep_bytes"])
    peak = _peak_flops(run.threads)
    bandwidth = _bandwidth(size, run.threads)
    return Roofline(case.iterations * count_flops(run.model), case.iterations * size, 1e-3 * ms, peak, bandwidth)


@functools.cache
def _peak_flops(threads: int) -> float:
    return measure_flops(threads)


@functools.cache
def _bandwidth(size: int, threads: int) -> float:
    return measure_bandwidth(size, threads)


def _median_ms(runs: Iterable[Run | BodyRun]) -> float:
    return float(np.median([ms for run in runs for ms in run.ms]))


def _norm(run: Run, name: str = "largest") -> float | None:
    return None if run.residual is None else float(getattr(run.residual, name))


def save_rows(rows: Sequence[Row], folder: Path = RESULTS) -> Path:
    """Write rows into the CSV of this machine; those of other keys stay. Times of different rows are never to be compared.

    Returns:
        The file.
    """
    path = folder / f"{machine_name()}.csv"
    names = [field.name for field in fields(Row)]
    kept: dict[tuple[str, ...], dict[str, str]] = {}
    if path.exists():
        with path.open(newline="") as file:
            old_rows = [old for old in csv.DictReader(file) if set(old) <= set(names)]
        kept = {tuple(old[name] for name in KEY): dict.fromkeys(names, "") | old for old in old_rows}
    for row in rows:
        text = {name: _written(getattr(row, name)) for name in names}
        kept[tuple(text[name] for name in KEY)] = text
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept[key] for key in sorted(kept))
    return path


def _written(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def format_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of right-aligned columns, the first left-aligned; floats with three digits, None as ``-``."""
    cells = [list(head)] + [["-" if v is None else f"{v:.3g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    width = [max(len(row[c]) for row in cells) for c in range(len(head))]
    lines = [" ".join([row[0].ljust(width[0]), *(v.rjust(w) for v, w in zip(row[1:], width[1:], strict=True))]) for row in cells]
    return "\n".join(line.rstrip() for line in lines)

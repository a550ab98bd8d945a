"""Running a case in a process of its own, and judging what came back."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.contact import SelfContact, measure_self_contact
from benchmarks.residual import ENERGIES, Residual, measure_residual
from benchmarks.strain import Strain, clearance, measure_strain

__all__ = ["Refused", "Run", "judge", "run_case", "run_process"]

ROOT = Path(__file__).resolve().parents[1]


class Refused(Exception):
    """A run that may not be reported: it failed, lost something, or blew up."""


@dataclass(frozen=True)
class Run:
    """One run of a case in one engine.

    Attributes:
        engine: Name of the engine.
        way: How it was stepped: ``plain``, or ``graph``.
        ms: Milliseconds per step, one number per repeat.
        build_s: Time to build model and solver [s].
        peak_bytes: Largest resident memory of the process.
        case_bytes: The part of it that came with the case.
        version: Of the engine.
        threads: Threads of a step.
        overflow: Buffers that were too small, and warnings.
        facts: Further numbers of the engine.
        model: Arrays of its model.
        residual: Of the last step; None where nothing comparable is minimised, or every particle is in contact with another part.
        strain: Of the final state.
        clearance: Height of the final state above the ground [m].
        contact: Contacts of the final state with itself; None for a case without self-contact.
    """

    engine: str
    way: str
    ms: tuple[float, ...]
    build_s: float
    peak_bytes: int
    case_bytes: int
    version: str
    threads: int
    overflow: dict[str, Any]
    facts: dict[str, Any]
    model: dict[str, np.ndarray]
    residual: Residual | None
    strain: Strain
    clearance: float
    contact: SelfContact | None = None

    @property
    def median_ms(self) -> float:
        """Median over the repeats of milliseconds per step."""
        return float(np.median(self.ms))


def run_case(case: Case, engine: str, way: str = "plain", python: str | None = None, workers: int | None = None) -> Run:
    """Run a case in a new process.

    Args:
        case: The case.
        engine: ``hooke``, ``newton`` or ``mujoco``.
        way: ``plain`` or ``graph``.
        python: Interpreter that has the engine; this one if None.
        workers: Value of ``HOOKE_WORKERS`` there; not set if None.

    Raises:
        Refused: The process failed, a buffer overflowed, or the simulation blew up.
    """
    numbers, arrays = run_process("benchmarks.child", case.name, engine, way, dataclasses.asdict(case), python, workers)
    return judge(case, engine, way, numbers, arrays)


def run_process(
    module: str, name: str, engine: str, way: str, case: dict[str, Any], python: str | None, workers: int | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The numbers and arrays that a new process of a module writes, which is given an engine, a way and a case.

    Raises:
        Refused: The process failed.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))}
    if workers is not None:
        environment["HOOKE_WORKERS"] = str(workers)
    with tempfile.TemporaryDirectory() as folder:
        command = [python or sys.executable, "-m", module, engine, way, json.dumps(case), folder]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            raise Refused(f"{name}: the process of {engine} ended with code {done.returncode}: {last}")
        numbers = json.loads((Path(folder) / "numbers.json").read_text())
        with np.load(Path(folder) / "arrays.npz") as stored:
            return numbers, dict(stored)


def judge(case: Case, engine: str, way: str, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Run:
    """A run from what its process wrote, or a refusal.

    Raises:
        Refused: A buffer overflowed, a position is not finite, an edge is strained beyond the case's bound, or a particle has
            come near the ground, where the residual would lack its contact.
    """
    what = f"{case.name} in {engine} ({way})"
    if numbers["overflow"]:
        lost = ", ".join(f"{name}: needed {needed}, had {room}" for name, (needed, room) in numbers["overflow"].items())
        raise Refused(f"{what}: something was lost or unstable, so its time means nothing ({lost})")
    model = {name.removeprefix("model_"): array for name, array in arrays.items() if name.startswith("model_")}
    x = arrays["x_after"]
    strain = measure_strain(model, x)
    if not strain.largest <= case.strain_bound:
        raise Refused(f"{what}: it blew up (largest edge strain {strain.largest:.3g}, bound {case.strain_bound:g})")
    height = clearance(model, x)
    if height <= 0.0:
        raise Refused(f"{what}: a particle has reached the ground ({height:.3g} m); take fewer steps")
    before, after = (arrays["x_before"], arrays["v_before"]), (x, arrays["v_after"])
    contact, left_out = judge_contact(case, what, model, (before[0], x), numbers["facts"].get("contact_buffers", {}))
    residual = None
    if engine in ENERGIES and (left_out is None or not left_out[model["particle_mass"] > 0.0].all()):
        residual = measure_residual(engine, model, before, after, case.dt, left_out)
    if residual is not None and not np.isfinite(residual.largest):
        raise Refused(f"{what}: its residual is not finite")
    kept = ("build_s", "peak_bytes", "case_bytes", "version", "threads", "overflow", "facts")
    given = {name: numbers[name] for name in kept}
    return Run(
        engine, way, tuple(numbers["ms"]), model=model, residual=residual, strain=strain, clearance=height, contact=contact, **given
    )


def judge_contact(case: Case, what: str, model: dict[str, np.ndarray], states: tuple[np.ndarray, np.ndarray],
                  buffers: dict[str, int]) -> tuple[SelfContact | None, np.ndarray | None]:  # fmt: skip
    """Self-contact of the last state of two, and the particles that are near another part in either.

    Args:
        case: The case.
        what: Names the run in a refusal.
        model: Arrays of the model.
        states: Positions before and after the last step.
        buffers: Room for the triangles near a ``vertex`` and the edges near an ``edge``, of an engine whose lists do not grow.

    Raises:
        Refused: A list of an engine is shorter than the pairs that are near.
    """
    if not case.contact_distance:
        return None, None
    before, after = (measure_self_contact(model["tri_indices"], x, case.reach) for x in states)
    for name, room in buffers.items():
        needed = getattr(after, f"{name}_demand")
        if needed > room:
            raise Refused(
                f"{what}: something was lost, so its time means nothing (contacts of one {name}: needed {needed}, had {room})"
            )
    return after, before.near | after.near

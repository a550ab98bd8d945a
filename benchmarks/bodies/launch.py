"""Running a case of bodies in a process of its own, and judging what came back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.bodies.cases import BodyCase, make_scene
from benchmarks.bodies.errors import BodyErrors, measure_errors
from benchmarks.launch import Refused, run_process

__all__ = ["BodyRun", "judge_bodies", "run_bodies"]


@dataclass(frozen=True)
class BodyRun:
    """One run of a case of bodies in one engine; times, memory and versions as in :class:`benchmarks.launch.Run`.

    Attributes:
        errors: Of the final state.
        contacts: Rows of the last step.
        residual: Largest force that nothing balances in the last step [N]; None where the engine does not tell.
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
    errors: BodyErrors
    contacts: int
    residual: float | None

    @property
    def median_ms(self) -> float:
        """Median over the repeats of milliseconds per step."""
        return float(np.median(self.ms))


def run_bodies(case: BodyCase, engine: str, way: str = "plain", python: str | None = None, workers: int | None = None) -> BodyRun:
    """Run a case in a new process; arguments as :func:`benchmarks.launch.run_case`.

    Raises:
        Refused: The process failed, a buffer overflowed, or the simulation blew up.
    """
    numbers, arrays = run_process("benchmarks.bodies.child", case.name, engine, way, dataclasses.asdict(case), python, workers)
    return judge_bodies(case, engine, way, numbers, arrays)


def judge_bodies(case: BodyCase, engine: str, way: str, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> BodyRun:
    """A run from what its process wrote, or a refusal.

    Raises:
        Refused: A buffer overflowed, a pose is not finite, or bodies overlap or joints part by more than the bounds of the case.
    """
    what = f"{case.name} in {engine} ({way})"
    if numbers["overflow"]:
        lost = ", ".join(f"{name}: needed {needed}, had {room}" for name, (needed, room) in numbers["overflow"].items())
        raise Refused(f"{what}: something was lost or unstable, so its time means nothing ({lost})")
    if not (np.isfinite(arrays["pose"]).all() and np.isfinite(arrays["velocity"]).all()):
        raise Refused(f"{what}: it blew up (a pose or velocity is not finite)")
    errors = measure_errors(make_scene(case), arrays["pose"], arrays["velocity"])
    for name, bound in (("penetration", case.contact_bound), ("joint_gap", case.joint_bound)):
        value = getattr(errors, name)
        if not value <= bound:
            raise Refused(f"{what}: it blew up ({name.replace('_', ' ')} {value:.3g} m, bound {bound:g})")
    given = {name: numbers[name] for name in ("build_s", "peak_bytes", "case_bytes", "version", "threads", "overflow")}
    facts = numbers["facts"]
    return BodyRun(
        engine, way, tuple(numbers["ms"]), errors=errors, contacts=facts["contacts"], residual=facts.get("residual"), **given
    )

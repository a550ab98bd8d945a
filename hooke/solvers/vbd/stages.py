"""Steps of SolverVBD in stages: with self-contact searches get more room between them, and what parts of a step cost is timed."""

from __future__ import annotations

import functools
import time
from typing import Any

from hooke.solvers.vbd.self_contact import SelfContact, Stage

__all__ = ["StagedSteps"]

_PLANS = 16
"""Sets of arguments for which the stages of a step are kept."""


class StagedSteps:
    """The methods of SolverVBD about steps in stages."""

    model: Any
    iterations: int
    friction_epsilon: float
    _steps: int
    _plans: dict[tuple[Any, ...], list[Stage]]
    _times: dict[str, float] | None
    _surface: SelfContact | None
    _sweeps: Any
    _recorder: Any
    step: Any
    _begin: Any
    _iterate: Any
    _stay_outside: Any
    _finish: Any

    def _step_apart(
        self, key: tuple[Any, ...], surface: SelfContact, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float
    ) -> None:
        """A step that keeps the surface apart from itself, in stages between which searches may get more room."""
        surface.keep_sorted(self._steps, state_in.particle_q)
        surface.set_material(self.model, self.friction_epsilon, dt)
        if key not in self._plans:
            if len(self._plans) == _PLANS:
                self._plans.clear()
            self._plans[key] = self._plan(surface, state_in, state_out, control, contacts, dt)
        for stage in self._plans[key]:
            self._run_stage((stage.name, *key), stage)
            if stage.search is not None:
                surface.settle(stage.search)

    def _plan(self, surface: SelfContact, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> list[Stage]:
        begin = functools.partial(self._begin, state_in, state_out, control, contacts, dt)
        iterations = [functools.partial(self._iterate, number, contacts, dt) for number in range(self.iterations)]
        outside = functools.partial(self._stay_outside, contacts)
        finish = functools.partial(self._finish, state_in, state_out, control, contacts, dt)
        stages = surface.stages(begin, iterations, self._sweeps.take_limited, outside)
        return [*stages, Stage("end", (surface.certify, finish), None)]

    def _run_stage(self, key: tuple[Any, ...], stage: Stage) -> None:
        if self._times is None:
            self._recorder.run(key, stage)
        else:
            stage.time(key, self._recorder, self._times)

    def time_phases(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> dict[str, float]:
        """What the parts of a step cost, by name [ms]; the arguments are those of :meth:`step`.

        Looking for pairs of self-contact ("detect"), keeping them apart ("truncate"), their normals and distances ("contact"), and
        all else ("sweep"). Thirteen steps are taken, to and fro between the states, the first of which record and try numbers of
        workers; the least of every part counts.
        """
        samples: list[dict[str, float]] = []
        states = state_in, state_out
        for _ in range(13):
            self._times = {}
            start = time.perf_counter()
            self.step(*states, control, contacts, dt)
            if self._surface is None:
                self._times["sweep"] = 1e3 * (time.perf_counter() - start)
            samples.append(self._times)
            states = states[1], states[0]
        self._times = None
        return {phase: min(sample[phase] for sample in samples) for phase in samples[0]}

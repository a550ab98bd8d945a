"""``run``: the loop of frames and steps over a scene. The command line, tests and benchmarks use it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.counters import finish_count
from hooke.collision.measure import measure_overlap, measure_penetration
from hooke.collision.pipeline import CollisionPipeline
from hooke.execution.compile import start_loading
from hooke.model.builder import ModelBuilder
from hooke.model.energy import energy_kernels, measure_energy
from hooke.scenes import SCENES, Scene
from hooke.solvers import SolverKamino, SolverVBD
from hooke.solvers.vbd.finish import finish_vertices
from hooke.viewer.record import Trajectory

__all__ = ["METHODS", "RunResult", "SimulationError", "prepare", "run"]

METHODS = ("vbd", "kamino")
"""Names of the solvers that a scene may be simulated with."""


class SimulationError(RuntimeError):
    """A simulation produced values that are not finite. ``result`` holds what was simulated before."""

    def __init__(self, message: str, result: RunResult):
        super().__init__(message)
        self.result = result


@dataclass
class RunResult:
    """What a run leaves.

    Attributes:
        scene: The scene.
        model: Its model.
        state: The last state.
        trajectory: The recording.
        summary: Figures of the run by name: steps, times [s], penetration [m], energies [J], contacts, overflow.
        interrupted: Whether the run was stopped before its end.
        files: What was written.
    """

    scene: Scene
    model: Any
    state: Any
    trajectory: Trajectory
    summary: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    files: list[Path] = field(default_factory=list)

    def save(self, path: str | Path) -> Path:
        """Write the recording to an ``.npz`` or a USD file, complete or not at all."""
        path = Path(path)
        if path.suffix.lower() in (".usd", ".usda", ".usdc"):
            from hooke.viewer.usd import write_usd

            write_usd(self.trajectory, path)
        else:
            self.trajectory.save(path)
        self.files.append(path)
        return path


def prepare(device: Any = None) -> None:
    """Begin to compile what every scene needs, so that the compiler is at work while a scene is being read and built.

    Args:
        device: Warp device; None is the current one.
    """
    start_loading([finish_count, finish_vertices], device)


def run(
    scene: Scene | str | Callable[..., Scene], *, seconds: float | None = None, fps: float | None = None, substeps: int | None = None,
    iterations: int | None = None, device: Any = None, worlds: int = 1, spacing: tuple[float, float, float] | None = None,
    output: str | Path | list[str | Path] | None = None, progress: Callable[[int, int, float], None] | None = None,
    method: str | None = None,
) -> RunResult:  # fmt: skip
    """Simulate a scene and record it.

    Args:
        scene: A Scene, the name of a built-in one, or a function that returns one.
        seconds: Simulated time [s]; None takes the scene's, like the next three.
        fps: Recorded frames per second.
        substeps: Steps per frame.
        iterations: Sweeps per step; of SolverKamino the most iterations, of which the scene says nothing.
        device: Warp device; None is the current one.
        worlds: Copies of the scene, each a world of its own.
        spacing: Distance between copies along each axis [m]; None sets them side by side.
        output: Files to write at the end: ``.npz``, ``.usd``, ``.usda`` or ``.usdc``.
        progress: Called after every frame with frames done, frames in all and simulated seconds.
        method: The solver, "vbd" or "kamino"; None takes the scene's. With another than that, ``scene.solver`` does not count.

    Returns:
        The recording, the last state and figures. Interrupting (Ctrl-C) returns what was simulated so far.

    Raises:
        ValueError: A setting is out of range.
        SimulationError: A position is no longer finite.
    """
    began = time.perf_counter()
    scene = _resolve(scene)
    seconds = scene.seconds if seconds is None else seconds
    fps = scene.fps if fps is None else fps
    substeps = scene.substeps if substeps is None else substeps
    for name, value in (("seconds", seconds), ("fps", fps), ("substeps", substeps), ("worlds", worlds)):
        if not 0.0 < value < float("inf"):
            raise ValueError(f"run: expected {name} > 0, found {value}")
    frames = max(1, round(seconds * fps))
    dt = 1.0 / (fps * substeps)
    model = _model(scene, worlds, spacing, device)
    pipeline = CollisionPipeline(model)  # its kernels compile beside those of the solver
    solver, iterations = _solver(scene, scene.method if method is None else method, model, iterations)
    loop = _Loop(scene, model, pipeline, solver, dt)
    settings = {"scene": scene.name, "solver": type(solver).__name__, "dt": dt, "substeps": substeps, "iterations": iterations,
                "device": str(model.device), "worlds": worlds, "camera": scene.camera}  # fmt: skip
    trajectory = Trajectory.from_model(model, fps=fps, info=settings, frames=frames + 1)
    result = RunResult(scene, model, loop.state, trajectory)
    trajectory.append(loop.state, 0.0)
    initial = model.state()
    start_loading(energy_kernels(model), model.device)  # for the figures at the end
    timing = _Timing(began)
    try:
        for frame in range(frames):
            for _ in range(substeps):
                loop.step()
            wp.synchronize_device(model.device)
            timing.frame()
            loop.check(frame, result)
            trajectory.append(loop.state, loop.time)
            if progress is not None:
                progress(frame + 1, frames, loop.time)
    except KeyboardInterrupt:
        result.interrupted = True
    finally:
        result.state = loop.state
        result.summary = loop.summary(timing, initial)
        trajectory.info["summary"] = result.summary
    for path in [output] if isinstance(output, (str, Path)) else output or []:
        result.save(path)
    return result


def _resolve(scene: Any) -> Scene:
    if isinstance(scene, str):
        if scene not in SCENES:
            raise ValueError(f"unknown scene {scene!r}; built-in scenes: {', '.join(SCENES)}")
        scene = SCENES[scene]
    scene = scene() if callable(scene) else scene
    if not isinstance(scene, Scene):
        raise TypeError(f"run: expected a Scene, the name of one or a function that returns one, found {type(scene).__name__}")
    return scene


def _model(scene: Scene, worlds: int, spacing: Any, device: Any) -> Any:
    builder = scene.builder
    if not builder.particle_color_groups:
        builder.color()
    if worlds > 1:
        many = ModelBuilder(builder.up_axis, builder.gravity)
        if spacing is None:
            places = np.concatenate([builder.particle_q.array.reshape(-1, 3), builder.body_q.array.reshape(-1, 7)[:, :3]])
            size = np.ptp(places, axis=0) if len(places) else np.ones(3)
            spacing = np.where(np.arange(3) == int(builder.up_axis), 0.0, 1.5 * size + 0.1)
        many.replicate(builder, worlds, spacing)
        builder = many
    model = builder.finalize(device=device)
    for name, value in scene.soft_contact.items():
        setattr(model, f"soft_contact_{name}", value)
    return model


def _solver(scene: Scene, method: str, model: Any, iterations: int | None) -> tuple[Any, int]:
    """The solver of a run, and its iterations."""
    if method not in METHODS:
        raise ValueError(f"unknown solver {method!r}; expected one of {', '.join(METHODS)}")
    options = scene.solver if method == scene.method else {}
    if method == "vbd":
        iterations = scene.iterations if iterations is None else iterations
        return SolverVBD(model, iterations=iterations, **options), iterations
    config = SolverKamino.Config.from_model(model, **options)
    padmm: Any = config.padmm
    if iterations is not None:
        padmm.max_iterations = iterations
    return SolverKamino(model, config), padmm.max_iterations


class _Timing:
    """Wall-clock times of a run."""

    def __init__(self, began: float):
        self.began = self.first = self.last = began
        self.frames: list[float] = []

    def frame(self) -> None:
        now = time.perf_counter()
        if not self.frames:
            self.first = now
        self.frames.append(now - self.last)
        self.last = now


class _Loop:
    """States, contacts and time of a run."""

    def __init__(self, scene: Scene, model: Any, pipeline: CollisionPipeline, solver: Any, dt: float):
        self.scene, self.model, self.pipeline, self.solver, self.dt = scene, model, pipeline, solver, dt
        self.contacts = self.pipeline.contacts()
        pairs = model.shape_contact_pairs
        self.touches = isinstance(solver, SolverVBD) or (pairs is not None and len(pairs) > 0)
        self.state, self.other = model.state(), model.state()
        self.control = model.control()
        self.steps = 0
        self.penetration, self.most_contacts = 0.0, 0
        self.overflow: dict[str, tuple[int, int]] = {}

    @property
    def time(self) -> float:
        return self.steps * self.dt

    def step(self) -> None:
        if self.scene.drive is not None:
            self.scene.drive(self.model, self.state, self.time)
        if self.scene.command is not None:
            self.scene.command(self.model, self.control, self.time)
        if self.touches:
            self.pipeline.collide(self.state, self.contacts)
        self.solver.step(self.state, self.other, self.control, self.contacts if self.touches else None, self.dt)
        self.state, self.other = self.other, self.state
        self.steps += 1

    def check(self, frame: int, result: RunResult) -> None:
        """Refuse positions that are not finite; measure what the table at the end reports."""
        moved = {"particles": self.state.particle_q, "bodies": self.state.body_q}
        for what, array in moved.items():
            bad = np.flatnonzero(~np.isfinite(array.numpy()).all(axis=1)) if array is not None and len(array) else ()
            if len(bad):
                raise SimulationError(
                    f"{self.scene.name}: {len(bad)} {what} are not finite after frame {frame + 1} (the first is {bad[0]}); use more "
                    "substeps or iterations, or a softer material",
                    result,
                )
        for measure in (measure_penetration, measure_overlap):
            self.penetration = max(self.penetration, measure(self.model, self.state, self.contacts))
        self.most_contacts = max(self.most_contacts, int(self.contacts.contact_counters.numpy()[:2].sum()))
        self.overflow |= self.solver.status.overflow

    def _residuals(self) -> dict[str, Any]:
        """How well the last step was solved, in the measure of the solver; how far joints have come apart."""
        status = self.solver.status if self.steps else None
        residual = None if status is None else status.residual
        if isinstance(self.solver, SolverVBD):
            return {"residual_N": residual}
        converged = None if status is None else status.converged
        return {"residual_N": None, "natural_map": residual, "converged": converged}

    def summary(self, timing: _Timing, initial: Any) -> dict[str, Any]:
        after_first = timing.frames[1:] or timing.frames
        wall = float(sum(after_first))
        simulated = len(after_first) * self.steps / max(1, len(timing.frames)) * self.dt
        start_energy, energy = measure_energy(self.model, initial), measure_energy(self.model, self.state)
        return {
            "frames": len(timing.frames), "steps": self.steps, "simulated_s": self.time,
            "first_frame_s": timing.first - timing.began if timing.frames else None,
            "wall_s": timing.last - timing.began,
            "step_ms": 1.0e3 * wall / max(1, len(after_first)) * len(timing.frames) / max(1, self.steps),
            "real_time_factor": simulated / wall if wall > 0.0 else None,
            "max_penetration_m": self.penetration, "contacts": self.most_contacts,
            "overflow": {k: list(v) for k, v in self.overflow.items()},
            **self._residuals(),
            "energy_start_J": start_energy.total, "energy_end_J": energy.total, "kinetic_end_J": energy.kinetic,
        }  # fmt: skip

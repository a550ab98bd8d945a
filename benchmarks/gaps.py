"""How well the constraints of heavy chains and stiff stacks are met, step by step: what the picture in docs/guide/gallery.md shows.

``python -m benchmarks.gaps [PICTURE]`` simulates the scenes at 1/60 s with ten iterations and draws the curves; it needs matplotlib
(``pip install hooke[plot]``). Errors are

    chain    the largest distance of the two anchors of a joint                                      (1)
    stack    the largest distance of a box from where float64 backward Euler has it,
             (m/h^2 + D/h + K) x_n = m/h^2 (x_n-1 + h v_n-1) + D/h x_n-1 - m g                        (2)

The dashed curves are those of the documented formulation, ``rigid_compliant_alm=False``: coloured sweeps with multipliers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import hooke
from hooke.model.motion import compose
from hooke.scenes import Scene, heavy_pendulum, stiffness_stack, two_balls
from hooke.solvers import SolverVBD

__all__ = ["joint_gap", "measure_chain", "measure_stack", "solve_stack"]

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "constraint_error.png"
GRAVITY = 9.81


def joint_gap(model: Any, pose: np.ndarray) -> float:
    """The largest distance [m] of the two anchors of a joint that holds something, at poses (n, 7) of the bodies."""
    world = np.vstack([pose.astype(np.float64), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)])
    sides: Any = ((model.joint_parent, model.joint_X_p), (model.joint_child, model.joint_X_c))
    ends = [compose(world[body.numpy()], anchor.numpy().astype(np.float64))[:, :3] for body, anchor in sides]
    held = model.joint_type.numpy() != int(hooke.JointType.FREE)
    return float(np.linalg.norm(ends[0] - ends[1], axis=1)[held].max())


def _poses(scene: Scene, seconds: float, options: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """The model of a scene without contacts, and the poses (steps + 1, n, 7) of its bodies."""
    scene.builder.color()
    model = scene.builder.finalize(device="cpu")
    solver = SolverVBD(model, iterations=scene.iterations, **options)
    state: Any = model.state()
    other: Any = model.state()
    poses = [state.body_q.numpy().copy()]
    for _ in range(round(seconds * scene.fps)):
        solver.step(state, other, None, None, 1.0 / scene.fps)
        state, other = other, state
        poses.append(state.body_q.numpy().copy())
    return model, np.array(poses)


def measure_chain(scene: Scene, seconds: float, **options: Any) -> np.ndarray:
    """The error (1) at the start and after every step; ``options`` go to the solver."""
    model, poses = _poses(scene, seconds, options)
    return np.array([joint_gap(model, pose) for pose in poses])


def solve_stack(stiffness: np.ndarray, mass: float, damping: float, dt: float, steps: int) -> np.ndarray:
    """Ways down (steps + 1, n) of a stack from rest, by (2); spring k is between boxes k - 1 and k, its damper ``damping`` times it."""
    n = len(stiffness)
    between = np.eye(n) - np.eye(n, k=-1)
    spring = between.T @ np.diag(stiffness) @ between
    inertia = mass / dt**2 * np.eye(n)
    matrix = inertia + (1.0 + damping / dt) * spring
    x, v = np.zeros((steps + 1, n)), np.zeros(n)
    for k in range(steps):
        right = inertia @ (x[k] + dt * v) + damping / dt * spring @ x[k] - mass * GRAVITY
        x[k + 1] = np.linalg.solve(matrix, right)
        v = (x[k + 1] - x[k]) / dt
    return x


def measure_stack(count: int, seconds: float, soft: float = 2.0e3, hard: float = 2.0e8, **options: Any) -> np.ndarray:
    """The error (2) of ``stiffness_stack`` at the start and after every step; ``options`` go to the solver."""
    scene = stiffness_stack(count=count, soft=soft, hard=hard)
    _model, poses = _poses(scene, seconds, options)
    ways = poses[:, :, 2].astype(np.float64) - poses[0, :, 2]
    stiffness = np.where(np.arange(count) % 2 == 0, soft, hard)
    return np.abs(ways - solve_stack(stiffness, 1.0, 0.05, 1.0 / scene.fps, len(poses) - 1)).max(axis=1)


def draw(path: Path, seconds: float = 10.0) -> None:
    """Measure all and draw the curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.0, 4.2), dpi=100)
    old = {"rigid_compliant_alm": False}
    curves = {
        "pendulum of 50, tip 50,000 : 1": ("C0", lambda **o: measure_chain(heavy_pendulum(), seconds, **o)),
        "two balls, 10,000 : 1": ("C1", lambda **o: measure_chain(two_balls(), seconds, **o)),
        "stack of 10, stiffness 1 : 100,000": ("C2", lambda **o: measure_stack(10, seconds, **o)),
    }
    for label, (color, measure) in curves.items():
        for options, style in (({}, "-"), (old, "--")):
            if label.startswith("stack") and options:
                continue  # passive springs do not act in it
            error = measure(**options)
            print(f"{label} {options}: largest {error.max():.2e} m, last {error[-1]:.2e} m")
            axes.semilogy(
                np.arange(len(error)) / 60.0,
                np.clip(error, 1.0e-9, 1.0e3),
                style,
                color=color,
                lw=1.0,
                label=None if options else label,
            )
    axes.plot([], [], "--", color="gray", label="coloured sweeps (rigid_compliant_alm=False)")
    axes.set(xlabel="time [s]", ylabel="constraint error [m]", xlim=(0.0, seconds), ylim=(1.0e-8, 1.0e2))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="upper right")
    figure.tight_layout()
    figure.savefig(path, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)

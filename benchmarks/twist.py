"""The twisted cloth: how its ends move, and the state that it is timed from.

``python -m benchmarks.twist ENGINE [FRAMES]`` twists the cloth from rest with an engine and stores the last state, so that every engine is
timed from the same shape, late in the twist, without twisting for minutes first.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np

from benchmarks.cases import Case, find_case

__all__ = ["Twist", "load_start", "store_start"]

FOLDER = Path(__file__).parent / "data"
RATE = np.pi / 3.0
"""Angular speed of each end [rad/s]."""


class Twist:
    """The held particles of the cloth, which turn about the X axis through the middle: the left ones one way, the right ones the other.

    Args:
        x: Positions at rest (n, 3) [m].
        held: Which particles are held, bool (n,).
        steps: Steps that were taken from rest.
        dt: Time step [s].
    """

    def __init__(self, x: np.ndarray, held: np.ndarray, steps: int, dt: float):
        self.rows = np.flatnonzero(held)
        middle = 0.5 * (x.min(axis=0) + x.max(axis=0)).astype(np.float64)
        self.middle, self.arm = middle, x[held] - middle
        self.side = np.sign(self.arm[:, 0])
        self.steps, self.dt = steps, dt

    def move(self, q: np.ndarray) -> None:
        """Write the positions of the next step into ``q`` (n, 3)."""
        angle = RATE * self.steps * self.dt * self.side
        c, s = np.cos(angle), np.sin(angle)
        x, y, z = self.arm.T
        q[self.rows] = self.middle + np.stack([x, c * y - s * z, s * y + c * z], axis=1)


def load_start(case: Case) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Positions [m], velocities [m/s] and steps from rest of the state that a case starts from; None is the rest state."""
    if not case.start:
        return None
    path = FOLDER / f"{case.start}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path.name} is not there; make it: python -m benchmarks.twist hooke")
    with np.load(path) as stored:
        return stored["x"], stored["v"], int(stored["steps"])


def store_start(engine_name: str, frames: int = 250) -> Path:
    """Twist the cloth from rest and store where it is; returns the file."""
    from benchmarks.engines import build_engine

    case = find_case("cloth_twist")
    steps = 10 * frames
    engine = build_engine(engine_name, dataclasses.replace(case, start=""))
    for _ in range(steps):
        engine.step()
    x, v = engine.state()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{case.start}.npz"
    np.savez_compressed(path, x=x.astype(np.float32), v=v.astype(np.float32), steps=steps)
    return path


if __name__ == "__main__":
    print(store_start(sys.argv[1], *map(int, sys.argv[2:3])))

"""``python -m benchmarks.detect [CASE...] [--peer-python PYTHON]``: contacts between shapes, broad plus narrow phase, of one state.

With a peer, newton 1.8.0 with its default pipeline and with its quickest broad phase, both engines take turns in processes of their own
on the same poses, and the number of rows and their mean separation are printed beside the times, which are minima. ``--scaling`` runs
hooke alone over sizes and prints the exponent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PILES", "Pile", "main"]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Pile:
    """Bodies of one shape, close together above a ground plane.

    Args:
        name: What the command line calls it.
        shape: ``"sphere"`` (radius 0.1 m, nearly a lattice) or ``"capsule"`` (radius 0.05 m, half height 0.1 m, turned at random).
        count: Bodies.
        gap: Detection distance of every shape [m].
        passes: Passes that are timed; the quickest counts.
    """

    name: str
    shape: str
    count: int
    gap: float = 0.01
    passes: int = 40

    def poses(self) -> np.ndarray:
        """Poses of the bodies, (count, 7)."""
        rng = np.random.default_rng(7)
        if self.shape == "sphere":
            side = int(np.ceil(self.count ** (1.0 / 3.0)))
            cell = np.stack(np.unravel_index(np.arange(self.count), (side, side, side)), axis=1)
            place = 0.194 * (cell + (0.0, 0.0, 0.5)) + rng.uniform(-0.01, 0.01, (self.count, 3))
        else:
            side = int(np.ceil((self.count / 2) ** (1.0 / 3.0)))
            layer, rest = np.divmod(np.arange(self.count), side * side)
            cell = np.stack([*np.divmod(rest, side), layer], axis=1)
            place = cell * (0.24, 0.24, 0.12) + (0.0, 0.0, 0.1) + rng.uniform(-0.02, 0.02, (self.count, 3))
        turn = rng.normal(size=(self.count, 4))
        return np.concatenate([place, turn / np.linalg.norm(turn, axis=1, keepdims=True)], axis=1)


PILES = {pile.name: pile for pile in (Pile("spheres_10000", "sphere", 10_000), Pile("capsules_4000", "capsule", 4_000))}
SIZES = (1_000, 3_162, 10_000, 31_623, 100_000)


def detect(engine: str, broad_phase: str | None, pile: Pile) -> dict[str, Any]:
    """Time an engine, in this process: milliseconds of the quickest pass, rows, and their mean signed separation [m]."""
    import importlib

    import warp as wp

    wp.config.quiet = True
    module = importlib.import_module(engine)
    builder = module.ModelBuilder()
    builder.rigid_gap = pile.gap
    builder.add_ground_plane()
    for pose in pile.poses().tolist():
        body = builder.add_body(xform=wp.transform(wp.vec3(*pose[:3]), wp.quat(*pose[3:])))
        if pile.shape == "sphere":
            builder.add_shape_sphere(body, radius=0.1)
        else:
            builder.add_shape_capsule(body, radius=0.05, half_height=0.1)
    model = builder.finalize(device="cpu")
    chosen = {} if broad_phase is None else {"broad_phase": broad_phase}
    pipeline = module.CollisionPipeline(model, rigid_contact_max=20 * pile.count, **chosen)
    contacts, state = pipeline.contacts(), model.state()
    times = []
    for _ in range(pile.passes):
        begin = time.perf_counter()
        pipeline.collide(state, contacts)
        times.append(time.perf_counter() - begin)
    rows = int(contacts.rigid_contact_count.numpy()[0])
    return {
        "ms": 1e3 * min(times),
        "rows": rows,
        "separation": _separation(model, state, contacts, rows),
        "version": module.__version__,
    }


def _separation(model: Any, state: Any, contacts: Any, rows: int) -> float:
    """Mean over rows of n . (p1 - p0) less the margins, by the documented convention."""
    pose, body = state.body_q.numpy().astype(np.float64), model.shape_body.numpy()
    column = {k: getattr(contacts, f"rigid_contact_{k}").numpy()[:rows] for k in ("shape0", "shape1", "point0", "point1", "normal",
                                                                               "margin0", "margin1")}  # fmt: skip
    places = []
    for k in (0, 1):
        owner, point = body[column[f"shape{k}"]], column[f"point{k}"].astype(np.float64)
        v, w = pose[owner, 3:6], pose[owner, 6:]
        turned = point + 2.0 * np.cross(v, np.cross(v, point) + w * point)
        places.append(np.where(owner[:, None] >= 0, pose[owner, :3] + turned, point))
    away = np.einsum("ij,ij->i", column["normal"], places[1] - places[0])
    return float((away - column["margin0"] - column["margin1"]).mean())


def run_apart(engine: str, broad_phase: str | None, pile: Pile, python: str | None, workers: int | None) -> dict[str, Any]:
    """Time an engine in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))}
    if workers is not None:
        environment["HOOKE_WORKERS"] = str(workers)
    words = [engine, broad_phase or "default", json.dumps(dataclasses.asdict(pile))]
    command = [python or sys.executable, "-m", "benchmarks.detect", "--child", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{pile.name}: the process of {engine} ended with code {done.returncode}: {done.stderr[-400:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def compare(pile: Pile, python: str, workers: int | None, rounds: int) -> None:
    """Print the times of hooke and of newton in turn."""
    ways = [("hooke", None), ("newton", None), ("newton", "sap")]
    runs: dict[tuple[str, str | None], list[dict[str, Any]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for engine, broad_phase in ways:
            runs[engine, broad_phase].append(run_apart(engine, broad_phase, pile, python if engine == "newton" else None, workers))
    best = {way: min(results, key=lambda r: r["ms"]) for way, results in runs.items()}
    own = best["hooke", None]["ms"]
    for (engine, broad_phase), result in best.items():
        name = f"{engine} {result['version']}{'' if broad_phase is None else ', ' + broad_phase}"
        print(f"{pile.name:16} {name:20} {result['ms']:9.2f} ms {result['ms'] / own:7.1f}x  {result['rows']:7} rows "
              f"{1e3 * result['separation']:8.4f} mm")  # fmt: skip


def scale(pile: Pile, workers: int | None) -> None:
    """Print how hooke's time grows with the number of bodies."""
    times = []
    for count in SIZES:
        sized = dataclasses.replace(pile, count=count, passes=20)
        result = run_apart("hooke", None, sized, None, workers)
        times.append(result["ms"])
        print(f"{pile.shape:8} {count:7} bodies {result['ms']:9.3f} ms {result['rows']:8} rows")
    exponent = np.polyfit(np.log(SIZES), np.log(times), 1)[0]
    print(f"{pile.shape:8} exponent {exponent:.2f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detect", description="Contacts between shapes of one state.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(PILES)}; all if none is given")
    parser.add_argument("--child", nargs=3, metavar=("ENGINE", "BROAD_PHASE", "PILE"), help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", help="interpreter that has newton; without it hooke runs alone")
    parser.add_argument("--workers", type=int, help="HOOKE_WORKERS of the processes")
    parser.add_argument("--rounds", type=int, default=3, help="how often the engines take turns")
    parser.add_argument("--scaling", action="store_true", help="over sizes from 1,000 to 100,000 bodies")
    given = parser.parse_args(arguments)
    if given.child:
        engine, broad_phase, pile = given.child
        print(json.dumps(detect(engine, None if broad_phase == "default" else broad_phase, Pile(**json.loads(pile)))))
        return 0
    unknown = [name for name in given.cases if name not in PILES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(PILES)}")
    for name in given.cases or PILES:
        if given.scaling:
            scale(PILES[name], given.workers)
        elif given.peer_python:
            compare(PILES[name], given.peer_python, given.workers, given.rounds)
        else:
            result = run_apart("hooke", None, PILES[name], None, given.workers)
            print(f"{name:16} {result['ms']:9.2f} ms {result['rows']:8} rows {1e3 * result['separation']:8.4f} mm")
    return 0


if __name__ == "__main__":
    sys.exit(main())

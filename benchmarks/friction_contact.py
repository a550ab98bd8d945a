"""Solve the friction-contact problems that were recorded from other simulators: a row of a table for each.

    python -m benchmarks.friction_contact [FOLDER]

The problems are those of the Siconos project, as files of NumPy with ``W``, ``q`` and ``mu``: see docs/guide/ncp.md. Without a folder
``shared/data/friction_contact`` of the checkout or of a folder above it is taken. Times are processor time of the kernel
alone, on one core: the least of several runs, each of as many copies of the problem as take long enough to be timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.compile import load_kernels
from hooke.execution.work import whole_work
from hooke.solvers.kamino.ncp.options import Options, make_options
from hooke.solvers.kamino.ncp.solve import make_solve_worlds, problem_of, solve_ncp

__all__ = ["NAMES", "folder", "main", "read_problem", "time_solve"]

NAMES = (
    "FrictionContact3D_1c", "Rover11035", "Rover4396", "FC3D_Example1", "Rover1039", "Rover4493", "Confeti-ex13-4contact-Fc3D-SBM",
    "Rover1040", "Rover3865", "Rover4609", "NESpheres_10_1", "OneObject-i1028-138", "Confeti-ex13-Fc3D-SBM", "Capsules-i100-889",
)  # fmt: skip
"""The problems, by size."""


def folder() -> Path | None:
    """Where the problems are, if they are anywhere."""
    here = Path(__file__).resolve()
    found = (above / "shared" / "data" / "friction_contact" for above in here.parents)
    return next((path for path in found if path.is_dir()), None)


def read_problem(name: str, where: Path | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(W, q, mu) of a problem."""
    place = where or folder()
    if place is None:
        raise FileNotFoundError(f"{name}: there is no folder shared/data/friction_contact; name the folder of the problems")
    with np.load(place / f"{name}.npz") as data:
        return data["W"], data["q"], data["mu"]


def time_solve(W: np.ndarray, q: np.ndarray, mu: np.ndarray, guess: Any = None, **options: Any) -> float:
    """Seconds of the solve of one problem."""
    given = problem_of(W, q, mu, guess, copies=max(1, min(1000, int(3e6 / max(1, len(q)) ** 2))))
    told = wp.array([make_options(warm_start=guess is not None, **options)], dtype=Options, device="cpu")
    kernel, copies = make_solve_worlds(wp.float64), given.problem.count.shape[0]
    load_kernels([kernel], wp.get_device("cpu"))
    first, times = (given.problem.impulse.numpy().copy(), given.problem.velocity.numpy().copy()), []
    for _ in range(5):
        given.problem.impulse.assign(first[0])
        given.problem.velocity.assign(first[1])
        begin = time.thread_time()
        wp.launch(kernel, dim=1, inputs=[whole_work(0, copies), told, given.problem, given.space, given.report], device="cpu")
        times.append(time.thread_time() - begin)
    return min(times) / copies


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path)
    where = parser.parse_args(arguments).folder
    print("| problem | rows | Newton steps | ADMM iterations | natural map | from zero | 1 % off |")
    print("|---|---|---|---|---|---|---|")
    for name in NAMES:
        W, q, mu = read_problem(name, where)
        found = solve_ncp(W, q, mu)
        cold = time_solve(W, q, mu, **_SETTINGS)
        shift = 0.01 * np.random.default_rng(0).normal(size=len(q)) * np.abs(found.impulses).max()
        warm = time_solve(W, q + W @ shift, mu, found.impulses, **_SETTINGS)
        status = found.status
        counts = f"{status['newton_steps']} | {status['iterations']} | {found.residual:.0e}"
        print(f"| {name} | {len(q)} | {counts} | {_in_words(cold)} | {_in_words(warm)} |", flush=True)


_SETTINGS = {"penalty_update_method": 2, "primal_tolerance": 1e-9, "dual_tolerance": 1e-9, "compl_tolerance": 1e-9}


def _in_words(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


if __name__ == "__main__":
    main()

"""The robot and scene files of the installed warp-lang and newton wheels: what of them loads and runs. Prints the table of the guide."""

import importlib.util
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import hooke

SUFFIXES = {".urdf": "add_urdf", ".xml": "add_mjcf", ".usd": "add_usd", ".usda": "add_usd", ".usdc": "add_usd", ".usdz": "add_usd"}


def folders():
    """Folders of the wheels; HOOKE_ASSETS names more, separated as in PATH."""
    found = [Path(p) for p in os.environ.get("HOOKE_ASSETS", "").split(os.pathsep) if p]
    for name in ("warp", "newton"):
        spec = importlib.util.find_spec(name)
        found += [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    return found


def assets():
    """(short name, path) of every file."""
    rows = {}
    for folder in folders():
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and (path.suffix != ".xml" or "<mujoco" in path.read_text()[:20000]):
                rows[f"{folder.name}/{path.relative_to(folder).as_posix()}"] = path
    return sorted(rows.items())


def load(path):
    builder = hooke.ModelBuilder()
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        getattr(builder, SUFFIXES[path.suffix])(str(path))
    return builder, [str(note.message) for note in notes]


def run(builder, steps=100, dt=1.0e-3):
    """Steps with SolverKamino, or with SolverVBD where that refuses; the name of the solver and whether all is finite."""
    from hooke.solvers import SolverKamino, SolverVBD

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.color()
        model = builder.finalize(device="cpu")
        if model.body_count == 0:
            return "no bodies", True
        try:
            solver = SolverKamino(model)
        except (ValueError, NotImplementedError):
            try:
                solver = SolverVBD(model)
            except ValueError as error:
                if "no mass" not in str(error):
                    raise
                return "none: links without mass between hinges", True
        state, other, control = model.state(), model.state(), model.control()
        for _ in range(steps):
            contacts = None if isinstance(solver, SolverKamino) else model.collide(state)
            solver.step(state, other, control, contacts, dt)
            state, other = other, state
    return type(solver).__name__, bool(np.isfinite(state.body_q.numpy()).all() and np.isfinite(state.body_qd.numpy()).all())


if __name__ == "__main__":
    for name, path in assets():
        start = time.perf_counter()
        try:
            builder, notes = load(path)
            mass = float(np.sum(builder.body_mass.array))
            counts = f"{builder.body_count} | {builder.joint_count} | {builder.shape_count} | {mass:.4g}"
            solver, finite = run(builder) if builder.body_count <= int(sys.argv[1]) else ("not run", True)
            print(f"| `{name}` | {counts} | {solver}{'' if finite else ', NOT FINITE'} |", flush=True)
        except Exception as error:
            print(f"| `{name}` | FAILS: {type(error).__name__}: {error}", flush=True)
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)

"""``python -m benchmarks.mechanisms``: time per step of mechanisms without contacts, beside other engines, and how it grows.

    python -m benchmarks.mechanisms [ratios|worlds|chain ...] [--newton PYTHON] [--mujoco PYTHON] [--workers N]

``ratios``: a four-bar linkage with limits, alone and 512 times, and 512 cartpoles, in SolverKamino, in newton's SolverKamino and in MuJoCo
(its rollout on as many threads, implicit integrator, the loop closed by a soft constraint). ``worlds``: cartpoles, more and more.
``chain``: one chain of hinges, longer and longer. Every run is a process of its own with the defaults of its engine and steps of 1 ms. The
gap is the largest distance of two anchors of one joint after it [m].
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["CASES", "main", "measure"]

DT = 1.0e-3
SIDE = 0.112
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
Y, X = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def box_inertia(mass: float, half: Sequence[float]) -> np.ndarray:
    x, y, z = (h * h for h in half)
    return np.diag([y + z, x + z, x + y]) * mass / 3.0


class Parts:
    """What hooke's and newton's builders have in common."""

    def __init__(self, builder: Any, vectors: bool):
        import warp as wp

        self.builder = builder
        self.pose = (lambda p: wp.transform(wp.vec3(*p[:3]), wp.quat(*p[3:]))) if vectors else (lambda p: p)
        self.inertia = (lambda m: wp.mat33(*m.ravel())) if vectors else (lambda m: m)

    def link(self, place: Sequence[float], mass: float, half: Sequence[float]) -> int:
        pose, inertia = self.pose((*place, *UPRIGHT)), self.inertia(box_inertia(mass, half))
        return int(self.builder.add_link(xform=pose, mass=mass, inertia=inertia))

    def joint(self, kind: str, parent: int, child: int, at: Sequence[float], on: Sequence[float], **options: Any) -> int:
        frames = {"parent_xform": self.pose((*at, *UPRIGHT)), "child_xform": self.pose((*on, *UPRIGHT))}
        return int(getattr(self.builder, f"add_joint_{kind}")(parent=parent, child=child, **frames, **options))


def four_bar(parts: Parts) -> None:
    """Four bars around a square, the first welded to the world, hinges with limits of a quarter of pi."""
    h, limit = 0.5 * SIDE, 0.25 * math.pi
    places = [(0.0, 0.0, -h), (h, 0.0, 0.0), (0.0, 0.0, h), (-h, 0.0, 0.0)]
    bars = [parts.link(p, 1.0, (0.05, 0.005, 0.005) if k % 2 == 0 else (0.005, 0.005, 0.05)) for k, p in enumerate(places)]
    joints = [parts.joint("fixed", -1, bars[0], places[0], (0.0, 0.0, 0.0))]
    for k, (x, z) in enumerate([(h, -h), (h, h), (-h, h), (-h, -h)]):
        a, c = k, (k + 1) % 4
        at, on = [(x - places[i][0], 0.0, z - places[i][2]) for i in (a, c)]
        joints.append(parts.joint("revolute", bars[a], bars[c], at, on, axis=Y, limit_lower=-limit, limit_upper=limit))
    parts.builder.add_articulation(joints[:4])


def cartpole(parts: Parts) -> None:
    """A cart on a rail of 8 m, and a pole on it."""
    cart = parts.link((0.0, 0.0, 0.0), 1.0, (0.1, 0.25, 0.1))
    pole = parts.link((0.0, 0.0, 0.375), 0.2, (0.025, 0.025, 0.375))
    origin = (0.0, 0.0, 0.0)
    rail = parts.joint("prismatic", -1, cart, origin, origin, axis=Y, limit_lower=-4.0, limit_upper=4.0)
    parts.builder.add_articulation([rail, parts.joint("revolute", cart, pole, origin, (0.0, 0.0, -0.375), axis=X)])


def chain(parts: Parts, count: int) -> None:
    """Bars of 0.1 m on hinges, level at the start."""
    joints, above = [], -1
    for k in range(count):
        bar = parts.link((0.1 * k + 0.05, 0.0, 0.0), 1.0, (0.05, 0.01, 0.01))
        joints.append(parts.joint("revolute", above, bar, (0.05 if k else 0.0, 0.0, 0.0), (-0.05, 0.0, 0.0), axis=Y))
        above = bar
    parts.builder.add_articulation(joints)


CASES: dict[str, tuple[Callable[..., None], float]] = {
    "four_bar": (four_bar, 0.05),
    "cartpole": (cartpole, 0.5),
    "chain": (chain, 0.0),
}
"""Mechanisms, and the effort on their first degree of freedom [N or N m]."""


def gap(model: Any, body_q: np.ndarray) -> float:
    """The largest distance of two anchors of a joint."""
    parents, children = model.joint_parent.numpy(), model.joint_child.numpy()
    anchors = [model.joint_X_p.numpy().astype(float), model.joint_X_c.numpy().astype(float)]
    sides = []
    for bodies, anchor in zip((parents, children), anchors, strict=True):
        pose = np.where((bodies >= 0)[:, None], body_q[bodies], np.array([0.0, 0, 0, 0, 0, 0, 1]))
        v, s, p = pose[:, 3:6], pose[:, 6:7], anchor[:, :3]
        sides.append(pose[:, :3] + p + 2.0 * np.cross(v, np.cross(v, p) + s * p))
    apart = sides[1] - sides[0]
    slides = model.joint_type.numpy() == int(_prismatic(model))
    return float(np.linalg.norm(np.where(slides[:, None], apart * np.array([1.0, 0.0, 1.0]), apart), axis=1).max())


def _prismatic(model: Any) -> Any:
    module = type(model).__module__.split(".")[0]
    return sys.modules[module].JointType.PRISMATIC


def measure(
    engine: str, case: str, worlds: int, size: int, seconds: float, workers: int | None, clock: Callable[[], float]
) -> dict[str, Any]:
    """Time steps in this process.

    Returns:
        ``ms`` per step, least of five, ``gap`` after them [m], and the version.
    """
    run = (mujoco_run if engine == "mujoco" else builder_run)(engine, case, worlds, size, workers)
    step, end, version = run
    step(20)
    start = clock()
    step(3)
    count = max(3, int(seconds / 5.0 / (clock() - start) * 3.0))
    times = []
    for _ in range(5):
        start = clock()
        step(count)
        times.append((clock() - start) / count * 1.0e3)
    return {"ms": min(times), "gap": end(), "version": version}


def builder_run(engine: str, case: str, worlds: int, size: int, workers: int | None) -> tuple[Any, Any, str]:
    """The engines with a builder, hooke and newton."""
    if engine == "hooke":
        import hooke as package
        from hooke import config

        config.workers = workers or config.workers
    else:
        import newton as package  # type: ignore[no-redef]
    make, effort = CASES[case]
    one = package.ModelBuilder()
    make(Parts(one, engine == "newton"), *([size] if case == "chain" else []))
    whole = package.ModelBuilder()
    whole.replicate(one, worlds)
    model = whole.finalize(device="cpu")
    solver = package.solvers.SolverKamino(model)
    states, control = [model.state(), model.state()], model.control()
    efforts = np.zeros((worlds, model.joint_dof_count // worlds), np.float32)
    efforts[:, 0] = effort
    control.joint_f.assign(efforts.ravel())

    def step(count: int) -> None:
        for _ in range(count):
            solver.step(states[0], states[1], control, None, DT)
            states.reverse()

    return step, lambda: gap(model, states[0].body_q.numpy().astype(float)), package.__version__


def _mjcf(case: str, size: int) -> str:
    def body(name: str, place: Sequence[float], mass: float, half: Sequence[float], joint: str, inner: str = "") -> str:
        i = np.diag(box_inertia(mass, half))
        return (
            f'<body name="{name}" pos="{place[0]} {place[1]} {place[2]}">{joint}'
            f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{i[0]} {i[1]} {i[2]}"/>{inner}</body>'
        )

    h, limit, equality = 0.5 * SIDE, 0.25 * math.pi, ""
    if case == "four_bar":
        flat, tall, bounds = (0.05, 0.005, 0.005), (0.005, 0.005, 0.05), f'range="{-limit} {limit}" limited="true"'
        hinge = '<joint type="hinge" axis="0 1 0" pos="{} 0 {}" ' + bounds + "/>"
        left = body("left", (-h, 0, -h), 1.0, tall, hinge.format(0, h))
        top = body("top", (-h, 0, h), 1.0, flat, hinge.format(h, 0), left)
        world = body("bottom", (0, 0, -h), 1.0, flat, "", body("right", (h, 0, h), 1.0, tall, hinge.format(0, -h), top))
        equality = f'<equality><connect body1="left" body2="bottom" anchor="0 0 {-h}"/></equality>'
    elif case == "cartpole":
        pole = body("pole", (0, 0, 0.375), 0.2, (0.025, 0.025, 0.375), '<joint type="hinge" axis="1 0 0" pos="0 0 -0.375"/>')
        rail = '<joint type="slide" axis="0 1 0" range="-4 4" limited="true"/>'
        world = body("cart", (0, 0, 0), 1.0, (0.1, 0.25, 0.1), rail, pole)
    else:
        world = ""
        for k in reversed(range(size)):
            place = (0.1 if k else 0.05, 0, 0)
            world = body(f"bar{k}", place, 1.0, (0.05, 0.01, 0.01), '<joint type="hinge" axis="0 1 0" pos="-0.05 0 0"/>', world)
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{DT}" gravity="0 0 -9.81" integrator="implicitfast"/>'
        f"<worldbody>{world}</worldbody>{equality}</mujoco>"
    )


def mujoco_run(engine: str, case: str, worlds: int, size: int, workers: int | None) -> tuple[Any, Any, str]:
    """MuJoCo: one world by steps, several by its rollout."""
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_string(_mjcf(case, size))
    threads = workers or 2
    datas = [mujoco.MjData(model) for _ in range(threads)]
    first = mujoco.MjData(model)
    first.qfrc_applied[0] = CASES[case][1]
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((worlds, mujoco.mj_stateSize(model, kind)))
    mujoco.mj_getState(model, first, state[0], kind)
    state[:] = state[0]
    applied = np.zeros(model.nv)
    applied[0] = CASES[case][1]

    def step(count: int) -> None:
        if worlds == 1:
            for _ in range(count):
                mujoco.mj_step(model, first)
            return
        control = np.broadcast_to(applied, (worlds, count, model.nv)).copy()
        spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        found, _ = rollout.rollout(model, datas, state, control, control_spec=spec, persistent_pool=True)
        state[:] = found[:, -1]

    def end() -> float:
        if worlds > 1:
            mujoco.mj_setState(model, first, state[0], kind)
        mujoco.mj_forward(model, first)
        return float(np.linalg.norm(first.efc_pos[:3])) if model.neq else 0.0

    return step, end, mujoco.__version__


# ---- the parent


def run(engine: str, case: str, worlds: int, size: int, given: argparse.Namespace) -> dict[str, Any] | None:
    """A run in a process of its own; None where the engine is not there."""
    python = {"hooke": sys.executable, "newton": given.newton, "mujoco": given.mujoco}[engine]
    if not python:
        return None
    command = [python, "-m", "benchmarks.mechanisms", "--child", engine, case, str(worlds), str(size), str(given.seconds)]
    command += ["--workers", str(given.workers)] if given.workers else []
    command += ["--cpu"] if given.cpu else []
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).resolve().parents[1], timeout=1800, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{engine} {case} x {worlds}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def show(case: str, worlds: int, size: int, engines: Sequence[str], given: argparse.Namespace) -> None:
    """A row for every engine."""
    found = {engine: run(engine, case, worlds, size, given) for engine in engines}
    base = found["hooke"]
    for engine, result in found.items():
        if result is not None and base is not None:
            name = f"{case} {size}" if case == "chain" else case
            print(
                f"{name:12s} x {worlds:<5d} {engine:8s} {result['version']:8s} {result['ms']:10.4f} ms/step "
                f"{1e3 * result['ms'] / worlds:9.2f} us/world  gap {result['gap']:.1e} m  {result['ms'] / base['ms']:8.1f} x",
                flush=True,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description="Time per step of mechanisms.")
    parser.add_argument("parts", nargs="*", help="ratios, worlds, chain; all if none is given")
    parser.add_argument("--newton", help="Python that has newton")
    parser.add_argument("--mujoco", help="Python that has MuJoCo")
    parser.add_argument("--workers", type=int, help="threads of hooke and of MuJoCo's rollout")
    parser.add_argument("--seconds", type=float, default=3.0, help="time of a run")
    parser.add_argument("--cpu", action="store_true", help="time of the processor, on a machine that others use; with --workers 1")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child:
        engine, case, worlds, size, seconds = given.child
        clock = time.process_time if given.cpu else time.perf_counter
        print(json.dumps(measure(engine, case, int(worlds), int(size), float(seconds), given.workers, clock)))
        return 0
    parts = given.parts or ["ratios", "worlds", "chain"]
    if "ratios" in parts:
        for case, worlds in (("four_bar", 1), ("four_bar", 512), ("cartpole", 1), ("cartpole", 512)):
            show(case, worlds, 0, ("hooke", "newton", "mujoco"), given)
    if "worlds" in parts:
        for worlds in (64, 256, 1024, 4096):
            show("cartpole", worlds, 0, ("hooke",), given)
    if "chain" in parts:
        for size in (5, 10, 20, 50, 100):
            show("chain", 1, size, ("hooke", "mujoco"), given)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The cases of rigid bodies, as data, and their scenes as arrays: what every engine is given. It needs only NumPy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

__all__ = ["BODY_CASES", "BODY_SCALING", "BodyCase", "BodyScene", "about", "make_scene"]


@dataclass(frozen=True)
class BodyCase:
    """Bodies that stand, fall on each other, or are turned.

    Args:
        name: What the command line calls it.
        kind: ``"pyramid"`` (``count`` rows of boxes), ``"brick_pile"`` (``count`` bricks poured over each other), ``"cable_pile"`` (layers
            of ``lanes`` cables of ``segments`` bodies, ``count`` layers) or ``"cable_twist"`` (``count`` zigzag cables of ``segments``
            bodies, the first of which turns).
        count: Size.
        lanes: Cables of a layer.
        segments: Bodies of a cable.
        iterations: Sweeps of the solver per step.
        warmup: Steps before the clock runs.
        steps: Steps of one timing.
        repeats: Timings, one after the other.
        dt: Time step [s].
        contact_bound: Penetration [m] beyond which a run counts as blown up.
        joint_bound: Distance [m] of anchors beyond which it does.
        buffer: Contacts that newton makes room for at every body.
        peers: Engines that the case is compared with.
    """

    name: str
    kind: str
    count: int
    lanes: int = 0
    segments: int = 0
    iterations: int = 10
    warmup: int = 240
    steps: int = 40
    repeats: int = 5
    dt: float = 1.0 / 300.0
    contact_bound: float = 0.01
    joint_bound: float = 0.01
    buffer: int = 64
    peers: tuple[str, ...] = ("newton",)

    @property
    def bodies(self) -> int:
        """Bodies."""
        if self.kind == "pyramid":
            return self.count * (self.count + 1) // 2
        return self.count * max(self.lanes, 1) * max(self.segments, 1)


@dataclass
class BodyScene:
    """A scene as arrays, above the ground plane z = 0, with gravity -9.81 m/s^2 along Z.

    Attributes:
        pose: Poses of the bodies, x y z and quaternion x y z w, (n, 7).
        box: Half extents [m], (3,), of bodies that are boxes; else None.
        capsule: Radius and half height [m] of bodies that are capsules along their z; else None.
        density: [kg/m^3].
        mu: Friction.
        ke: Stiffness of contacts [N/m].
        kd: Their damping.
        gap: Distance [m] of a shape within which contacts are looked for; two shapes add theirs.
        joint: Parent and child of every joint, (m, 2): the parent's anchor is its end at +z, the child's its end at -z.
        stretch: Stiffness of joints against stretching and shearing [N/m].
        bend: Against bending and twisting [N m/rad].
        bend_damping: [N m s/rad].
        held: Bodies that are moved.
        rate: Their angular speed about their own z [rad/s].
    """

    pose: np.ndarray
    box: tuple[float, float, float] | None = None
    capsule: tuple[float, float] | None = None
    density: float = 1000.0
    mu: float = 0.6
    ke: float = 1.0e5
    kd: float = 0.0
    gap: float = 0.005
    joint: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    stretch: float = 0.0
    bend: float = 0.0
    bend_damping: float = 0.0
    held: tuple[int, ...] = ()
    rate: float = 0.0


def about(axis: int, angle: float) -> np.ndarray:
    """A rotation about an axis as x y z w."""
    q = np.zeros(4)
    q[axis], q[3] = np.sin(0.5 * angle), np.cos(0.5 * angle)
    return q


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """First q, then p."""
    v = p[3] * q[:3] + q[3] * p[:3] + np.cross(p[:3], q[:3])
    return np.append(v, p[3] * q[3] - p[:3] @ q[:3])


def _pyramid(rows: int) -> BodyScene:
    """Boxes of 0.2 m, 0.01 m apart sideways, every row on the one below."""
    pose = [
        [0.21 * (i - 0.5 * (rows - r - 1)), 0.0, 0.1 + 0.2 * r, 0.0, 0.0, 0.0, 1.0] for r in range(rows) for i in range(rows - r)
    ]
    return BodyScene(np.array(pose), box=(0.1, 0.1, 0.1))


def _brick_pile(count: int) -> BodyScene:
    """Bricks in layers of any turn, four deep, which fall on each other; wider for more of them."""
    rng = np.random.default_rng(11)
    side = max(2, round((count / 4) ** 0.5))
    layer, rest = np.divmod(np.arange(count), side * side)
    place = 0.36 * np.stack([rest % side, rest // side, layer], axis=1) + (0.0, 0.0, 0.25) + rng.uniform(-0.03, 0.03, (count, 3))
    turn = rng.normal(size=(count, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    return BodyScene(np.concatenate([place, turn], axis=1), box=(0.15, 0.1, 0.075))


def _chain(points: np.ndarray) -> list[np.ndarray]:
    """Poses of segments from point to point, their z along them."""
    poses = []
    for a, b in itertools.pairwise(points):
        d = (b - a) / np.linalg.norm(b - a)
        q = product(about(2, np.arctan2(d[1], d[0])), about(1, np.arccos(np.clip(d[2], -1.0, 1.0))))
        poses.append(np.concatenate([0.5 * (a + b), q]))
    return poses


def _cables(paths: list[np.ndarray], radius: float, **given: float) -> BodyScene:
    pose: list[np.ndarray] = []
    joint: list[tuple[int, int]] = []
    for points in paths:
        chain = _chain(points)
        joint += [(len(pose) + k, len(pose) + k + 1) for k in range(len(chain) - 1)]
        pose += chain
    half = 0.5 * float(np.linalg.norm(paths[0][1] - paths[0][0]))
    return BodyScene(np.array(pose), capsule=(radius, half), joint=np.array(joint), **given)  # type: ignore[arg-type]


def _cable_pile(layers: int, lanes: int, segments: int) -> BodyScene:
    """Layers of straight cables, crosswise, which fall on each other."""
    length, paths = 0.05, []
    for layer in range(layers):
        for lane in range(lanes):
            along = length * (np.arange(segments + 1) - 0.5 * segments)
            across = np.full(segments + 1, 0.08 * (lane - 0.5 * (lanes - 1)))
            height = np.full(segments + 1, 0.03 + 0.03 * layer)
            paths.append(np.stack([along, across, height] if layer % 2 == 0 else [across, along, height], axis=1))
    return _cables(paths, 0.012, mu=0.5, stretch=1.0e6, bend=0.1, bend_damping=1.0e-3)


def _cable_twist(cables: int, segments: int) -> BodyScene:
    """Zigzag cables on the ground, beside each other, whose first body turns about its own axis."""
    length, paths = 0.05, []
    for k in range(cables):
        step = np.where((np.arange(segments) // 8 % 2 == 0)[:, None], (1.0, 0.0, 0.0), (0.5, np.sqrt(0.75), 0.0))
        start = np.array([0.0, 1.4 * k, 0.013])
        paths.append(start + length * np.concatenate([np.zeros((1, 3)), np.cumsum(step, axis=0)]))
    scene = _cables(paths, 0.012, mu=0.5, stretch=1.0e6, bend=1.0, bend_damping=1.0e-2)
    scene.held, scene.rate = tuple(range(0, cables * segments, segments)), 0.5 * np.pi
    return scene


def make_scene(case: BodyCase) -> BodyScene:
    """The scene of a case."""
    if case.kind == "cable_pile":
        return _cable_pile(case.count, case.lanes, case.segments)
    if case.kind == "cable_twist":
        return _cable_twist(case.count, case.segments)
    return (_pyramid if case.kind == "pyramid" else _brick_pile)(case.count)


BODY_CASES: dict[str, BodyCase] = {
    case.name: case
    for case in (
        BodyCase("pyramid", "pyramid", 14, peers=("newton", "mujoco")),
        BodyCase("cable_pile", "cable_pile", 4, lanes=20, segments=50, warmup=120, steps=10, dt=1.0 / 600.0),
        BodyCase("cable_twist", "cable_twist", 4, segments=48, warmup=240, dt=1.0 / 600.0),
    )
}

BODY_SCALING: tuple[BodyCase, ...] = tuple(
    BodyCase(f"brick_pile_{n}", "brick_pile", n, warmup=360, steps=10, repeats=3, contact_bound=0.02)
    for n in (1_000, 2_000, 5_000, 10_000)
)
"""The piles over which time per step is fitted; they have come to rest nearly when they are timed."""

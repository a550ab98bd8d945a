"""Jointed dolls that fall in a heap."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import JointDofConfig, ShapeConfig
from hooke.model.motion import compose
from hooke.scenes.bodies import PALETTE, about, anchors
from hooke.scenes.scene import Scene

__all__ = ["add_ragdoll", "ragdoll_pile"]

FLESH = ShapeConfig(density=985.0, mu=0.5)
PARTS = {  # a capsule from one point to another and its radius [m], of a doll that stands with its hands down and looks along +X
    "pelvis": ((0.0, -0.08, 0.95), (0.0, 0.08, 0.95), 0.11),
    "chest": ((0.0, -0.07, 1.30), (0.0, 0.07, 1.30), 0.14),
    "head": ((0.0, 0.0, 1.58), (0.0, 0.0, 1.66), 0.09),
}
LIMBS = {  # of one side; the other is its mirror image
    "upper_arm": ((0.0, 0.27, 1.36), (0.0, 0.27, 1.12), 0.045),
    "forearm": ((0.0, 0.27, 1.03), (0.0, 0.27, 0.82), 0.04),
    "thigh": ((0.0, 0.10, 0.80), (0.0, 0.10, 0.56), 0.07),
    "shin": ((0.0, 0.10, 0.42), (0.0, 0.10, 0.10), 0.055),
}
JOINTS = {  # the part that it hangs on, where [m], and its least and largest angles about Y, X and Z [rad]; elbow and knee are hinges
    "chest": ("pelvis", (0.0, 0.0, 1.10), ((-0.3, 0.8), (-0.4, 0.4), (-0.4, 0.4))),
    "head": ("chest", (0.0, 0.0, 1.47), ((-0.6, 0.6), (-0.5, 0.5), (-0.9, 0.9))),
    "upper_arm": ("chest", (0.0, 0.25, 1.40), ((-2.5, 0.9), (-0.1, 1.3), (-0.8, 0.8))),
    "forearm": ("upper_arm", (0.0, 0.27, 1.075), ((-2.3, 0.0),)),
    "thigh": ("pelvis", (0.0, 0.10, 0.89), ((-2.0, 0.4), (-0.2, 0.8), (-0.5, 0.5))),
    "shin": ("thigh", (0.0, 0.10, 0.49), ((0.0, 2.3),)),
}


def add_ragdoll(builder: ModelBuilder, pose: Any, color: Any = None, label: str = "doll") -> None:
    """Add a doll 1.75 m tall of eleven parts and ten joints; ``pose`` is that of the point between its feet."""
    bodies: dict[str, int] = {}
    joints: list[int] = []
    for name in (*PARTS, *(f"{limb}_{side}" for limb in LIMBS for side in ("left", "right"))):
        kind, _, side = name.rpartition("_") if name not in PARTS else (name, "", "")
        mirror = np.array([1.0, -1.0 if side == "right" else 1.0, 1.0])
        start, end, radius = PARTS.get(kind) or LIMBS[kind]
        bodies[name] = _add_part(builder, pose, mirror * start, mirror * end, radius, color, f"{label}/{name}")
        if name == "pelvis":
            joints.append(builder.add_joint_free(bodies[name], label=f"{label}/free"))
            continue
        on, place, ranges = JOINTS[kind]
        parent = bodies[on if on in PARTS else f"{on}_{side}"]
        axes = [
            JointDofConfig(axis=axis, limit_lower=low, limit_upper=high, limit_ke=300.0, limit_kd=3.0, damping=1.0)
            for axis, (low, high) in zip("YXZ", [r if side != "right" or k == 0 else (-r[1], -r[0]) for k, r in enumerate(ranges)])
        ]
        ends = anchors(builder, parent, bodies[name], compose(pose, (*(mirror * place), 0.0, 0.0, 0.0, 1.0))[:3])
        joints.append(builder.add_joint_d6(parent, bodies[name], angular_axes=axes, label=f"{label}/to_{name}", **ends))
    builder.add_articulation(joints, label=label)


def _add_part(builder: ModelBuilder, pose: Any, start: Any, end: Any, radius: float, color: Any, label: str) -> int:
    """A capsule between two points, given in the frame ``pose``; the body's axes are those of ``pose``."""
    middle, half = 0.5 * (start + end), 0.5 * float(np.linalg.norm(end - start))
    body = builder.add_link(xform=compose(pose, (*middle, 0.0, 0.0, 0.0, 1.0)), label=label)
    turn = about(0, 0.5 * np.pi) if start[1] != end[1] else (0.0, 0.0, 0.0, 1.0)
    builder.add_shape_capsule(body, xform=(0.0, 0.0, 0.0, *turn), radius=radius, half_height=half, cfg=FLESH, color=color)
    return body


def ragdoll_pile(count: int = 8, seed: int = 3) -> Scene:
    """Dolls that fall on each other, each turned another way.

    Args:
        count: Number of dolls.
        seed: Of their orientations.
    """
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=FLESH)
    rng = np.random.default_rng(seed)
    for k in range(count):
        q = rng.normal(size=4)
        middle = compose((0.0, 0.0, 0.0, *(q / np.linalg.norm(q))), (0.0, 0.0, -0.9, 0.0, 0.0, 0.0, 1.0))
        middle[:3] += (*rng.normal(scale=0.1, size=2), 1.2 + 0.9 * k)
        add_ragdoll(builder, middle, PALETTE[k % 5], f"doll_{k}")
    return Scene("ragdoll_pile", builder, seconds=4.0, substeps=1, camera={"azimuth": -60.0, "elevation": 25.0})

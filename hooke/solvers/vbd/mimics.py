"""Joints that follow others: rows between the coordinates of two joints, and so between up to four bodies.

For every axis of the joint a that follows b,

    c = q_a - (coef_0 + coef_1 q_b),     J = J_a - coef_1 J_b,                                                 (1)

with the rates J of the two coordinates on the bodies of their joints; a body of both gets the sum. The row is hard, like the locked
motions of :mod:`hooke.solvers.vbd.joint_rows`: penalty HARD / (h^2 (w_a + coef_1^2 w_b)), a multiplier, and the part alpha of an error
at the start left to later steps. The multiplier is an effort along q_a, and -coef_1 times it one along q_b: what acts between the bodies
of a joint changes no momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints import joint_kind
from hooke.joints.dispatch import joint_rates
from hooke.joints.kind import Place
from hooke.joints.layout import joint_place
from hooke.math.blocks import Rows, clear_block
from hooke.model.tables import JointDofs, Joints
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.joint_frames import (
    JointInputs,
    JointMemory,
    JointOptions,
    JointPose,
    freedoms,
    joint_pose,
    six,
    slot,
    wrench_of,
)

__all__ = ["MimicList", "Mimics", "find_mimics", "forget_mimics", "linearise_mimics", "make_mimics"]

NO_BODY = wp.constant(-2)


@wp.struct
class Mimics:
    """Arrays over mimics; of ``body`` (-1 the world, -2 none), ``end`` and ``rates`` four for each.

    ``end`` says in which of the four the child and the parent of the follower, then those of the leader are.
    """

    follower: wp.array(dtype=wp.int32)
    leader: wp.array(dtype=wp.int32)
    coeffs: wp.array(dtype=wp.vec2)
    body: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)
    rates: wp.array(dtype=Rows)
    residual: wp.array(dtype=wp.spatial_vector)
    slack: wp.array(dtype=wp.spatial_vector)
    multiplier: wp.array(dtype=wp.spatial_vector)


@wp.func
def row_of(place: Place, k: int):
    """The row of a joint that its axis ``k`` is in."""
    return wp.where(k < place.linear, k, 3 + k - place.linear)


@wp.func
def add_rates(
    mimics: Mimics, dofs: JointDofs, memory: JointMemory, code: int, place: Place, pose: JointPose, first: int, m: int, k: int,
    factor: float,
):  # fmt: skip
    """Add the rates of coordinate ``k`` of a joint to the ends of its bodies, ``first`` and the next."""
    f, t = joint_rates(code, place, dofs.axis, memory.coordinates, k)
    on_child, on_parent = wrench_of(pose, factor * f, factor * t)
    child, parent = 4 * m + mimics.end[4 * m + first], 4 * m + mimics.end[4 * m + first + 1]
    for i in range(6):
        mimics.rates[child][k, i] += on_child[i]
        mimics.rates[parent][k, i] += on_parent[i]


@wp.kernel(enable_backward=False)
def linearise_mimics(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, motion: BodyMotion, inputs: JointInputs, number: int,
    memory: JointMemory, mimics: Mimics,
):  # fmt: skip
    """The rows (1) where the bodies are now; empty ones of a joint that is switched off."""
    m = first_item(work, wp.tid())
    while m >= 0:
        a, b = mimics.follower[m], mimics.leader[m]
        for k in range(4):
            clear_block(4 * m + k, mimics.rates)
        residual, slack, multiplier = wp.spatial_vector(), six(wp.vec3(1.0), wp.vec3(1.0)), 1.0 * mimics.multiplier[m]
        if number == 0:
            multiplier = options.gamma * multiplier
        pose_a = joint_pose(joints, motion, memory, a, False)
        pose_b = joint_pose(joints, motion, memory, b, False)
        if joints.enabled[a] and joints.enabled[b] and pose_a.joined + pose_b.joined > 0:
            code_a, place_a = joints.type[a], joint_place(inputs.layout, a)
            code_b, place_b = joints.type[b], joint_place(inputs.layout, b)
            x_a = freedoms(code_a, place_a, dofs, pose_a, memory, a, memory.start[a])
            x_b = freedoms(code_b, place_b, dofs, pose_b, memory, b, memory.start[b])
            offset, factor = mimics.coeffs[m][0], mimics.coeffs[m][1]
            for k in range(place_a.linear + place_a.angular):
                i_a, i_b = row_of(place_a, k), row_of(place_b, k)
                start = memory.start[a][i_a] - offset - factor * memory.start[b][i_b]
                residual[k] = x_a[i_a] - offset - factor * x_b[i_b] - options.alpha * start
                slack[k] = 1.0 / pose_a.scale[slot(i_a)] + factor * factor / pose_b.scale[slot(i_b)]
                add_rates(mimics, dofs, memory, code_a, place_a, pose_a, 0, m, k, 1.0)
                add_rates(mimics, dofs, memory, code_b, place_b, pose_b, 2, m, k, -factor)
        else:
            multiplier = wp.spatial_vector()
        mimics.residual[m] = residual
        mimics.slack[m] = slack
        mimics.multiplier[m] = multiplier
        m = next_item(work, m)


@wp.kernel(enable_backward=False)
def forget_mimics(work: Work, world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), mimics: Mimics):
    """Mimics whose follower is in a selected world begin anew."""
    m = first_item(work, wp.tid())
    while m >= 0:
        w = world[mimics.follower[m]]
        if selected[wp.where(w < 0, selected.shape[0] - 1, w)]:
            mimics.multiplier[m] = wp.spatial_vector()
        m = next_item(work, m)


@dataclass(frozen=True)
class MimicList:
    """Joints that follow others: ``follower`` and ``leader`` (n,), ``coeffs`` (n, 2)."""

    follower: np.ndarray
    leader: np.ndarray
    coeffs: np.ndarray


def find_mimics(tables: dict[str, Any]) -> MimicList:
    """The mimics of a model: ``joint_mimic_joint`` first, then the mimic constraints that are enabled.

    Raises:
        ValueError: A joint has no scalar coordinates, or the two do not have as many.
    """
    joints, rows = tables["joint"], tables["constraint_mimic"]
    follower, leader, coeffs = [], [], []
    if joints.count:
        other = joints.arrays["mimic_joint"].numpy()
        follower.append(np.flatnonzero(other >= 0))
        leader.append(other[other >= 0])
        coeffs.append(joints.arrays["mimic_coeffs"].numpy().reshape(-1, 2)[other >= 0])
    if rows.count:
        values = {name: array.numpy() for name, array in rows.arrays.items() if isinstance(array, wp.array)}
        acts = values["enabled"].astype(bool)
        follower.append(values["joint0"][acts])
        leader.append(values["joint1"][acts])
        coeffs.append(np.stack([values["coef0"], values["coef1"]], axis=1)[acts])
    if not follower:
        return MimicList(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 2), np.float32))
    found = MimicList(*(np.concatenate(part) for part in (follower, leader, coeffs)))
    for a, b in zip(found.follower.tolist(), found.leader.tolist(), strict=True):
        _check_pair(joints, a, b)
    return found


def _check_pair(joints: Any, a: int, b: int) -> None:
    axes = []
    for j in (a, b):
        kind = joint_kind(joints.arrays["type"].numpy()[j])
        axes.append(int(joints.arrays["dof_dim"].numpy()[j].sum()))
        if kind.quaternion or not kind.constraints or axes[-1] == 0:
            raise ValueError(
                f"SolverVBD: joint {joints.arrays['label'][j]!r} (index {j}) of a mimic is {kind.name}; expected a prismatic, revolute "
                "or D6 joint"
            )
    if axes[0] != axes[1]:
        label = joints.arrays["label"]
        raise ValueError(
            f"SolverVBD: joint {label[a]!r} (index {a}) has {axes[0]} axes and follows joint {label[b]!r} (index {b}), which has {axes[1]}"
        )


def make_mimics(found: MimicList, parent: np.ndarray, child: np.ndarray, device: Any) -> tuple[Mimics, list[list[int]]]:
    """The mimics in memory, and for each its four bodies, where it acts on them, else -1.

    Args:
        found: The mimics.
        parent: Parent body of every joint.
        child: Child body of every joint.
        device: Where the arrays go.
    """
    count = len(found.follower)
    body, end = np.full((count, 4), -2, np.int32), np.zeros((count, 4), np.int32)
    ends: list[list[int]] = []
    for m in range(count):
        a, b = int(found.follower[m]), int(found.leader[m])
        four = [int(x) for x in (child[a], parent[a], child[b], parent[b])]
        unique = list(dict.fromkeys(four))
        body[m, : len(unique)] = unique
        end[m] = [unique.index(x) for x in four]
        acts = set(four if found.coeffs[m, 1] != 0.0 else four[:2])
        ends.append([x if x in acts else -1 for x in unique])
    mimics = Mimics()
    mimics.follower, mimics.leader = (wp.array(x, dtype=wp.int32, device=device) for x in (found.follower, found.leader))
    mimics.coeffs = wp.array(found.coeffs, dtype=wp.vec2, device=device)
    mimics.body, mimics.end = (wp.array(x.reshape(-1), dtype=wp.int32, device=device) for x in (body, end))
    mimics.rates = wp.zeros(4 * count, dtype=Rows, device=device)
    for name in ("residual", "slack", "multiplier"):
        setattr(mimics, name, wp.zeros(count, dtype=wp.spatial_vector, device=device))
    return mimics, ends

"""What forward kinematics knows of a model beforehand: which bodies are set, which are found, and which joints have targets.

Roots are bodies that are set and not found: the base of a world, and every child of a free joint with the world. What hangs on a root is
its component, and moves with it before anything is solved for. A joint has targets if it is actuated, and also if it is a bridge, the
only connection of two parts, for then nothing else says what its coordinates are. The others are in loops, which close themselves.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.joints.layout import JointLayout
from hooke.solvers.kamino.structure import Structure

__all__ = ["LOCKED", "TARGET", "Chain", "FkStructure", "make_chain", "make_fk_structure"]

IDLE, LOCKED, TARGET = 0, 1, 2
NONE = -1


@dataclass(frozen=True, eq=False)
class FkStructure:
    """B bodies, J joints, C coordinates, D degrees of freedom, W worlds.

    Attributes:
        structure: That of the model, but with roots that do not move and joints that act where one of their bodies is found.
        kind: What joints do: 0 nothing, 1 their locked motions, 2 all six; int32 (J,).
        root: Root of every body's component, its own number of a root, -1 of none (B,).
        root_joint: Free joint that says where a root is, -1 of none (B,).
        tie: Of a body whose part could spin between two ball joints these, twice and one more where the part is the child; -1 of
            others (B, 2).
        coord_of: Place of every coordinate among those of actuated joints, -1 of none (C,).
        dof_of: The same of every degree of freedom (D,).
        leader: Joint with targets that a joint with targets follows, -1 of none (J,).
        mimic: Row of its coefficients, as in the structure (J,).
    """

    structure: Structure
    kind: np.ndarray
    root: np.ndarray
    root_joint: np.ndarray
    tie: np.ndarray
    coord_of: np.ndarray
    dof_of: np.ndarray
    leader: np.ndarray
    mimic: np.ndarray


def make_fk_structure(s: Structure, actuated: np.ndarray) -> FkStructure:
    """The structure for forward kinematics.

    Args:
        s: Structure of the model.
        actuated: Which joints count as actuated, bool (J,).
    """
    actuated = actuated & ~s.free
    roots = s.free & s.enabled & (s.parent < 0)
    root_joint = np.full(s.body_count, NONE, np.int32)
    for j in np.flatnonzero(roots)[::-1].tolist():
        root_joint[s.child[j]] = j
    based = s.base_body >= 0
    root_joint[s.base_body[based]] = s.base_joint[based]
    is_root = root_joint >= 0
    is_root[s.base_body[based]] = True
    moves = np.append(~s.immovable & ~is_root, False)
    acts = s.enabled & (s.kind >= 0) & ~s.free & (moves[s.child] | moves[s.parent])
    kind, root = np.zeros(s.joint_count, np.int32), np.full(s.body_count, NONE, np.int32)
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for w in range(s.world_count):
        bodies, joints = slice(*s.body_start[w : w + 2]), slice(*s.joint_start[w : w + 2])
        first = int(s.body_start[w])
        ends = [np.where(body[joints] < 0, NONE, body[joints] - first) for body in (s.parent, s.child)]
        base = int(s.base_body[w]) - first if s.base_body[w] >= 0 else NONE
        parts = (s.immovable[bodies], is_root[bodies], acts[joints], *ends, np.asarray([base]))
        key = b"|".join(part.tobytes() for part in parts)
        if key not in known:
            known[key] = _look_at(*parts)
        bridges, own = known[key]
        kind[joints] = np.where(acts[joints], np.where(actuated[joints] | bridges, TARGET, LOCKED), IDLE)
        root[bodies] = np.where(own >= 0, own + first, NONE)
    leader, mimic = _follow(s, kind)
    inner = dataclasses.replace(s, immovable=s.immovable | is_root, acts=acts)
    return FkStructure(
        structure=inner, kind=kind, root=root, root_joint=root_joint, tie=_ties(s, kind, acts, moves[:-1]), coord_of=_places(s.joint_coord,
        actuated), dof_of=_places(s.joint_dof, actuated), leader=leader, mimic=mimic,
    )  # fmt: skip


def _places(start: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Places of the entries of chosen joints among themselves, -1 of the others."""
    has = np.repeat(chosen, np.diff(start))
    return np.where(has, np.cumsum(has) - 1, NONE).astype(np.int32)


def _look_at(
    immovable: np.ndarray, is_root: np.ndarray, acts: np.ndarray, parent: np.ndarray, child: np.ndarray, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Of a world: which joints are bridges, and the root of every body."""
    count = len(immovable)
    fixed = np.append(immovable | is_root, True)
    node = np.where(fixed, count, np.arange(count + 1))  # all that is set is one node
    edges = [(int(node[parent[j]]), int(node[child[j]]), int(j)) for j in np.flatnonzero(acts)]
    bridges = np.zeros(len(acts), bool)
    bridges[_bridges(count + 1, edges)] = True
    root = np.full(count, NONE)
    around: list[list[int]] = [[] for _ in range(count)]
    for j in np.flatnonzero(acts):
        p, c = int(parent[j]), int(child[j])
        if p >= 0 and not immovable[p] and not immovable[c]:
            around[p].append(c)
            around[c].append(p)
    roots = np.flatnonzero(is_root).tolist()
    for first in [r for r in base.tolist() if r >= 0] + roots:
        if root[first] == NONE:
            root[first] = first
            waiting = [first]
            while waiting:
                for other in around[waiting.pop()]:
                    if root[other] == NONE and not is_root[other]:
                        root[other] = first
                        waiting.append(other)
    return bridges, root


def _bridges(count: int, edges: list[tuple[int, int, int]]) -> list[int]:
    """Names of the edges (node, node, name) of a graph that are in no cycle."""
    around: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for a, b, name in edges:
        around[a].append((b, name))
        around[b].append((a, name))
    found, order, low = [], [-1] * count, [0] * count
    number = 0
    for start in range(count):
        if order[start] >= 0:
            continue
        stack: list[tuple[int, int, int]] = [(start, -1, 0)]  # node, the edge that it was come by, its next neighbour
        while stack:
            node, by, k = stack.pop()
            if k == 0:
                order[node] = low[node] = number
                number += 1
            if k < len(around[node]):
                stack.append((node, by, k + 1))
                other, name = around[node][k]
                if name == by:
                    continue
                if order[other] < 0:
                    stack.append((other, name, 0))
                else:
                    low[node] = min(low[node], order[other])
            elif stack:
                above = stack[-1][0]
                low[above] = min(low[above], low[node])
                if low[node] > order[above]:
                    found.append(by)
    return found


def _ties(s: Structure, kind: np.ndarray, acts: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Bodies of parts that could spin: parts, held together by joints with targets, that two ball joints without hold and nothing else."""
    tie = np.full((s.body_count, 2), NONE, np.int32)
    moves = np.append(moves, False)
    inner = acts & (kind == TARGET) & moves[s.parent] & moves[s.child]
    part = list(range(s.body_count))

    def part_of(body: int) -> int:
        while part[body] != body:
            part[body] = part[part[body]]
            body = part[body]
        return body

    for j in np.flatnonzero(inner).tolist():
        part[part_of(int(s.child[j]))] = part_of(int(s.parent[j]))
    ball = (kind == LOCKED) & (s.linear == 0) & (np.diff(s.joint_dof) == 3)
    held: dict[int, list[tuple[int, int]]] = {}  # of every part the joints that hold it, and the side they have it on
    for j in np.flatnonzero(acts & ~inner).tolist():
        for side, body in enumerate((int(s.parent[j]), int(s.child[j]))):
            if moves[body]:
                held.setdefault(part_of(body), []).append((j, side))
    for joints in held.values():
        if len(joints) == 2 and all(ball[j] for j, _ in joints) and joints[0][0] != joints[1][0]:
            first, side = joints[0]
            tie[s.child[first] if side else s.parent[first]] = [2 * j + side for j, side in joints]
    return tie


def _follow(s: Structure, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leaders of joints with targets; a follower of one that has targets has them too."""
    leader, mimic = np.full(s.joint_count, NONE, np.int32), np.full(s.joint_count, NONE, np.int32)
    for follower, led, row in zip(s.mimic_follower.tolist(), s.mimic_leader.tolist(), s.mimic_constraint.tolist(), strict=True):
        if kind[led] == TARGET and kind[follower] != IDLE:
            kind[follower], leader[follower], mimic[follower] = TARGET, led, row
    return leader, mimic


@wp.struct
class Chain:
    """The arrays of :class:`FkStructure` on a device, and what else is fixed.

    ``length`` is the length of every world by which angles are measured [m], ``base`` its base body and ``base_joint`` the joint of
    that; ``follow`` are a and b of q = a + b q of the leader.
    """

    layout: JointLayout
    axis: wp.array(dtype=wp.vec3d)
    kind: wp.array(dtype=wp.int32)
    root: wp.array(dtype=wp.int32)
    root_joint: wp.array(dtype=wp.int32)
    tie: wp.array(dtype=wp.vec2i)
    coord_of: wp.array(dtype=wp.int32)
    dof_of: wp.array(dtype=wp.int32)
    leader: wp.array(dtype=wp.int32)
    follow: wp.array(dtype=wp.vec2d)
    length: wp.array(dtype=wp.float64)
    base: wp.array(dtype=wp.int32)
    base_joint: wp.array(dtype=wp.int32)
    body_world: wp.array(dtype=wp.int32)
    joint_world: wp.array(dtype=wp.int32)
    first: wp.array(dtype=wp.int32)


def make_chain(model: Any, tables: dict[str, Any], f: FkStructure, device: Any) -> Chain:
    """The arrays of a model on a device.

    Args:
        model: The model.
        tables: Its tables.
        f: Its structure.
        device: Where they go.
    """
    s, chain = f.structure, Chain()
    layout = JointLayout()
    layout.q, layout.qd, layout.dim = model.joint_q_start, model.joint_qd_start, tables["joint"].arrays["dof_dim"]
    chain.layout = layout
    axis = _host(tables, "joint_dof", "axis").reshape(-1, 3).astype(np.float64)
    values = {
        "axis": (axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1.0e-30), wp.vec3d), "tie": (f.tie, wp.vec2i),
        "length": (_lengths(tables, s), wp.float64), "follow": (_coefficients(tables, f), wp.vec2d), "base": (s.base_body, wp.int32),
        "base_joint": (s.base_joint, wp.int32), "body_world": (s.body_world, wp.int32), "joint_world": (s.joint_world, wp.int32),
        "first": (s.body_start, wp.int32),
    }  # fmt: skip
    for name in ("kind", "root", "root_joint", "coord_of", "dof_of", "leader"):
        values[name] = (getattr(f, name), wp.int32)
    for name, (array, dtype) in values.items():
        setattr(chain, name, wp.array(array, dtype=dtype, device=device))
    return chain


def _host(tables: dict[str, Any], table: str, name: str) -> np.ndarray:
    return np.asarray(tables[table].arrays[name].numpy())


def _lengths(tables: dict[str, Any], s: Structure) -> np.ndarray:
    """The mean distance of anchors from the centres of mass of every world, 1 m where there is none."""
    length = np.ones(s.world_count)
    if not s.joint_count:
        return length
    com = np.append(_host(tables, "body", "com").reshape(-1, 3), np.zeros((1, 3), np.float32), axis=0)
    total, count = np.zeros(s.world_count), np.zeros(s.world_count)
    for anchor, body in (("X_c", s.child), ("X_p", s.parent)):
        arm = np.linalg.norm(_host(tables, "joint", anchor)[:, :3] - com[body], axis=1)
        counts = s.acts & (body >= 0) & (arm > 0.0)
        np.add.at(total, s.joint_world[counts], arm[counts])
        np.add.at(count, s.joint_world[counts], 1.0)
    has = count > 0
    length[has] = np.maximum(total[has] / count[has], 1.0e-4)
    return length


def _coefficients(tables: dict[str, Any], f: FkStructure) -> np.ndarray:
    """Offset and factor of every follower."""
    found = np.zeros((len(f.kind), 2))
    for j in np.flatnonzero(f.leader >= 0).tolist():
        if f.mimic[j] < 0:
            found[j] = _host(tables, "joint", "mimic_coeffs")[j]
        else:
            found[j] = [_host(tables, "constraint_mimic", name)[f.mimic[j]] for name in ("coef0", "coef1")]
    return found

"""What of the matrix of a step does not change: nodes, the order of their elimination, and where the blocks of joints go.

A node is a body that moves, a joint with rows, or a mimic: a joint that follows another. Worlds that are alike share one elimination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.linalg.elimination import Elimination, Patterns, find_elimination, make_patterns
from hooke.solvers.kamino.structure import Structure

__all__ = ["NOWHERE", "Mechanism", "MimicEnds", "find_mimic_ends", "make_mechanism"]

NOWHERE = -1


@wp.struct
class Mechanism:
    """Nodes and blocks of the matrices of all worlds; places and blocks are counted from the beginning of the world's.

    World w has the bodies from ``body[w]`` and the joints from ``joint[w]`` on. A node of kind k is ``item``, from that kind's first place
    on: body i of the world as i, joint j as -1 - j; ``component`` is the first place of those that joints connect it with, ``parts`` of
    every kind how many such components have bodies. Of joint j of the world, from ``of_joint[k]`` on, ``place`` is its place, ``child``
    and ``parent`` are those of its bodies, and ``child_block`` and ``parent_block`` are twice the block that couples them, plus 1 where
    the block's column is the body's. -1 is none. ``moves`` is of every body whether it has a node, ``node`` which.

    World w has the mimics from ``mimic[w]`` on; beside n joints a mimic m is the item -1 - n - m. From ``of_mimic[k]`` on ``mimic_place``
    is its place, and four times as many ``mimic_body`` and ``mimic_block`` are of its bodies what ``child`` and ``child_block`` are.
    """

    body: wp.array(dtype=wp.int32)
    joint: wp.array(dtype=wp.int32)
    item: wp.array(dtype=wp.int32)
    component: wp.array(dtype=wp.int32)
    parts: wp.array(dtype=wp.int32)
    of_joint: wp.array(dtype=wp.int32)
    place: wp.array(dtype=wp.int32)
    child: wp.array(dtype=wp.int32)
    parent: wp.array(dtype=wp.int32)
    child_block: wp.array(dtype=wp.int32)
    parent_block: wp.array(dtype=wp.int32)
    moves: wp.array(dtype=wp.int32)
    node: wp.array(dtype=wp.int32)
    mimic: wp.array(dtype=wp.int32)
    of_mimic: wp.array(dtype=wp.int32)
    mimic_place: wp.array(dtype=wp.int32)
    mimic_body: wp.array(dtype=wp.int32)
    mimic_block: wp.array(dtype=wp.int32)


@dataclass(frozen=True, eq=False)
class MimicEnds:
    """The bodies of mimics, in the order of their worlds.

    Attributes:
        order: Which of the structure's mimics each is, int32 (M,).
        start: First mimic of every world, then M (W + 1,).
        body: Up to four different bodies that move; -1 is none (M, 4).
        slot: Which of these is the follower's child, its parent, the leader's child, its parent; -1 where that does not move (M, 4).
    """

    order: np.ndarray
    start: np.ndarray
    body: np.ndarray
    slot: np.ndarray


def find_mimic_ends(structure: Structure, any_at_all: bool = True) -> MimicEnds:
    """The bodies of the mimics of a model, or of none."""
    s = structure
    world = s.joint_world[s.mimic_follower] if any_at_all else np.zeros(0, np.int32)
    order = np.argsort(world, kind="stable").astype(np.int32)
    joints = np.stack([s.mimic_follower, s.mimic_leader], axis=1)[order]
    ends = np.stack([s.child[joints], s.parent[joints]], axis=2).reshape(-1, 4)
    body, slot = np.full(ends.shape, NOWHERE, np.int32), np.full(ends.shape, NOWHERE, np.int32)
    for m, row in enumerate(ends.tolist()):
        found: list[int] = []
        for end, b in enumerate(row):
            if b >= 0 and not s.immovable[b]:
                if b not in found:
                    found.append(b)
                slot[m, end] = found.index(b)
        body[m, : len(found)] = found
    return MimicEnds(order, np.searchsorted(world[order], np.arange(s.world_count + 1)).astype(np.int32), body, slot)


def make_mechanism(structure: Structure, eliminate: bool, device: Any, mimics: bool = True) -> tuple[Mechanism, Patterns]:
    """The mechanism of a model.

    Args:
        structure: Its structure.
        eliminate: Whether joints have nodes.
        device: Where the arrays go.
        mimics: Whether mimics have nodes.
    """
    s = structure
    has_rows = s.acts & ((s.locked > 0) | (s.per_joint(s.dynamic) > 0)) & eliminate
    mimic = find_mimic_ends(s, mimics)
    kinds: dict[bytes, int] = {}
    made: list[tuple[Elimination, dict[str, np.ndarray]]] = []
    kind = np.zeros(s.world_count, np.int32)
    for w in range(s.world_count):
        bodies, joints = slice(*s.body_start[w : w + 2]), slice(*s.joint_start[w : w + 2])
        first = int(s.body_start[w])
        ends = [np.where(body[joints] < 0, NOWHERE, body[joints] - first).astype(np.int32) for body in (s.parent, s.child)]
        followed = mimic.body[slice(*mimic.start[w : w + 2])]
        followed = np.where(followed < 0, NOWHERE, followed - first).astype(np.int32)
        parts = (~s.immovable[bodies], has_rows[joints], *ends, followed)
        key = b"|".join(part.tobytes() for part in parts)
        if key not in kinds:
            kinds[key] = len(made)
            made.append(_eliminate(*parts))
        kind[w] = kinds[key]
    patterns = make_patterns([elimination for elimination, _ in made], kind, device)
    names = (
        "item",
        "component",
        "place",
        "child",
        "parent",
        "child_block",
        "parent_block",
        "mimic_place",
        "mimic_body",
        "mimic_block",
    )
    lists = {name: np.concatenate([np.zeros(0, np.int32), *[tables[name] for _, tables in made]]) for name in names}
    for name, of in (("of_joint", "place"), ("of_mimic", "mimic_place")):
        lists[name] = np.concatenate([[0], np.cumsum([len(tables[of]) for _, tables in made])])
    lists["body"], lists["joint"], lists["mimic"], lists["moves"] = s.body_start, s.joint_start, mimic.start, ~s.immovable
    lists["parts"] = np.asarray([len(np.unique(tables["component"][tables["item"] >= 0])) for _, tables in made])
    lists["node"] = _nodes(s, made, kind)
    mechanism = Mechanism()
    for name, values in lists.items():
        setattr(mechanism, name, wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=device))
    return mechanism, patterns


def _eliminate(
    moves: np.ndarray, has_rows: np.ndarray, parent: np.ndarray, child: np.ndarray, mimics: np.ndarray
) -> tuple[Elimination, dict[str, np.ndarray]]:
    """The elimination of a world, and its tables."""
    bodies, joints = np.flatnonzero(moves), np.flatnonzero(has_rows)
    number = np.full(len(moves) + 1, NOWHERE)
    number[bodies] = np.arange(len(bodies))
    ends = {"child": number[child], "parent": np.where(parent < 0, NOWHERE, number[parent])}
    of_joint = np.full(len(has_rows), NOWHERE)
    of_joint[joints] = len(bodies) + np.arange(len(joints))
    couplings = [(int(ends[end][j]), int(of_joint[j])) for j in joints for end in ends if ends[end][j] >= 0]
    first_mimic = len(bodies) + len(joints)
    mimic_ends = np.where(mimics < 0, NOWHERE, number[mimics])
    couplings += [(int(node), first_mimic + m) for m, nodes in enumerate(mimic_ends) for node in nodes if node >= 0]
    constraints = np.concatenate([of_joint[joints], first_mimic + np.arange(len(mimics))]).astype(int)
    elimination = find_elimination(first_mimic + len(mimics), couplings, constraints.tolist())
    names = np.concatenate([bodies, -1 - joints, -1 - len(has_rows) - np.arange(len(mimics))]).astype(np.int32)
    tables = {"item": names[elimination.order], "place": np.full(len(has_rows), NOWHERE, np.int32)}
    tables["mimic_place"] = elimination.place[first_mimic:]
    tables["mimic_body"], tables["mimic_block"] = np.full((2, 4 * len(mimics)), NOWHERE, np.int32)
    for m, nodes in enumerate(mimic_ends):
        for k in np.flatnonzero(nodes >= 0):
            block, of_body = elimination.block(first_mimic + m, int(nodes[k]))
            tables["mimic_body"][4 * m + k] = elimination.place[nodes[k]]
            tables["mimic_block"][4 * m + k] = 2 * block + int(of_body)
    component = np.arange(len(names))
    linked = [[of_joint[joint], *(n[joint] for n in ends.values() if n[joint] >= 0)] for joint in joints]
    linked += [[first_mimic + m, *nodes[nodes >= 0]] for m, nodes in enumerate(mimic_ends)]
    for nodes in linked:
        roots = component[elimination.place[nodes]].tolist()
        np.putmask(component, np.isin(component, roots), min(roots))
    tables["component"] = component.astype(np.int32)
    for end in ends:
        tables[end] = np.full(len(has_rows), NOWHERE, np.int32)
        tables[f"{end}_block"] = np.full(len(has_rows), NOWHERE, np.int32)
    for j in range(len(has_rows)):
        if of_joint[j] >= 0:
            tables["place"][j] = elimination.place[of_joint[j]]
        for end, node in ends.items():
            if node[j] >= 0:
                tables[end][j] = elimination.place[node[j]]
                if of_joint[j] >= 0:
                    block, of_body = elimination.block(int(of_joint[j]), int(node[j]))
                    tables[f"{end}_block"][j] = 2 * block + int(of_body)
    return elimination, tables


def _nodes(s: Structure, made: list[tuple[Elimination, dict[str, np.ndarray]]], kind: np.ndarray) -> np.ndarray:
    """The node of every body among those of all worlds."""
    nodes, start = np.full(s.body_count, NOWHERE, np.int32), 0
    for w, k in enumerate(kind.tolist()):
        item = made[k][1]["item"]
        places = np.flatnonzero(item >= 0)
        nodes[s.body_start[w] + item[places]] = start + places
        start += len(item)
    return nodes

"""What of the matrix of a step does not change: nodes, the order of their elimination, and where the blocks of joints go.

A node is a body that moves or a joint with rows. Worlds that are alike share one elimination.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.linalg.elimination import Elimination, Patterns, find_elimination, make_patterns
from hooke.solvers.kamino.structure import Structure

__all__ = ["NOWHERE", "Mechanism", "make_mechanism"]

NOWHERE = -1


@wp.struct
class Mechanism:
    """Nodes and blocks of the matrices of all worlds; places and blocks are counted from the beginning of the world's.

    World w has the bodies from ``body[w]`` and the joints from ``joint[w]`` on. A node of kind k is ``item``, from that kind's first place
    on: body i of the world as i, joint j as -1 - j; ``component`` is the first place of those that joints connect it with, ``parts`` of
    every kind how many such components have bodies. Of joint j of the world, from ``of_joint[k]`` on, ``place`` is its place, ``child``
    and ``parent`` are those of its bodies, and ``child_block`` and ``parent_block`` are twice the block that couples them, plus 1 where
    the block's column is the body's. -1 is none. ``moves`` is of every body whether it has a node, ``node`` which.
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


def make_mechanism(structure: Structure, eliminate: bool, device: Any) -> tuple[Mechanism, Patterns]:
    """The mechanism of a model.

    Args:
        structure: Its structure.
        eliminate: Whether joints have nodes.
        device: Where the arrays go.
    """
    s = structure
    has_rows = s.acts & ((s.locked > 0) | (s.per_joint(s.dynamic) > 0)) & eliminate
    kinds: dict[bytes, int] = {}
    made: list[tuple[Elimination, dict[str, np.ndarray]]] = []
    kind = np.zeros(s.world_count, np.int32)
    for w in range(s.world_count):
        bodies, joints = slice(*s.body_start[w : w + 2]), slice(*s.joint_start[w : w + 2])
        first = int(s.body_start[w])
        ends = [np.where(body[joints] < 0, NOWHERE, body[joints] - first).astype(np.int32) for body in (s.parent, s.child)]
        parts = (~s.immovable[bodies], has_rows[joints], *ends)
        key = b"|".join(part.tobytes() for part in parts)
        if key not in kinds:
            kinds[key] = len(made)
            made.append(_eliminate(*parts))
        kind[w] = kinds[key]
    patterns = make_patterns([elimination for elimination, _ in made], kind, device)
    names = ("item", "component", "place", "child", "parent", "child_block", "parent_block")
    lists = {name: np.concatenate([np.zeros(0, np.int32), *[tables[name] for _, tables in made]]) for name in names}
    counts = [len(tables["place"]) for _, tables in made]
    lists["parts"] = np.asarray([len(np.unique(tables["component"][tables["item"] >= 0])) for _, tables in made])
    lists["of_joint"] = np.concatenate([[0], np.cumsum(counts)])
    lists["body"], lists["joint"], lists["moves"] = s.body_start, s.joint_start, ~s.immovable
    lists["node"] = _nodes(s, made, kind)
    mechanism = Mechanism()
    for name, values in lists.items():
        setattr(mechanism, name, wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=device))
    return mechanism, patterns


def _eliminate(
    moves: np.ndarray, has_rows: np.ndarray, parent: np.ndarray, child: np.ndarray
) -> tuple[Elimination, dict[str, np.ndarray]]:
    """The elimination of a world, and its tables."""
    bodies, joints = np.flatnonzero(moves), np.flatnonzero(has_rows)
    number = np.full(len(moves) + 1, NOWHERE)
    number[bodies] = np.arange(len(bodies))
    ends = {"child": number[child], "parent": np.where(parent < 0, NOWHERE, number[parent])}
    of_joint = np.full(len(has_rows), NOWHERE)
    of_joint[joints] = len(bodies) + np.arange(len(joints))
    couplings = [(int(ends[end][j]), int(of_joint[j])) for j in joints for end in ends if ends[end][j] >= 0]
    elimination = find_elimination(len(bodies) + len(joints), couplings, of_joint[joints].tolist())
    names = np.concatenate([bodies, -1 - joints]).astype(np.int32)
    tables = {"item": names[elimination.order], "place": np.full(len(has_rows), NOWHERE, np.int32)}
    component = np.arange(len(names))
    for joint in joints:
        linked = [elimination.place[of_joint[joint]], *(elimination.place[n[joint]] for n in ends.values() if n[joint] >= 0)]
        roots = component[linked].tolist()
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

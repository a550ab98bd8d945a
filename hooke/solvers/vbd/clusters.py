"""Groups of islands that touch, and the elimination of their equations: made anew in every step, on the device.

One by one, bodies in contact pass forces on by one body in a sweep, and multipliers that follow such sweeps swing. So bodies that touch
are solved together: islands are joined, in the order of the rows of contacts, as long as their graph stays small or nearly a tree

    n <= dense    or    n <= MOST and edges <= n + LOOPS                                                            (1)

(n bodies and joints, edges: their joints' ends, and pairs of bodies that touch; ``dense`` is MOST in small worlds and DENSE in large
ones). With (1) the elimination by least degree fills in at most dense / 2 blocks for each node, so the room for it is known beforehand:
a graph with LOOPS edges more than nodes has at most 2 LOOPS - 2 nodes with more than two neighbours. What is not joined is within one
group of a second grouping, which begins with the pairs that the first keeps apart, and the iterations take turns between the two. Groups
that nothing outside touches are the same in both.

Whatever of a world touches, up to WHOLE nodes, is one group without regard to (1) if its elimination costs no more than a share for each
node: a wall of boxes or a house of cards is nearly plane, and hardly fills in. This is known when its order has been found; if it costs
more, the groups are formed again.

Groups are not coloured: all take their steps at once. The stiffness of a row between two groups counts twice on both sides, which
bounds what the other one does, since k (a - b)^2 / 2 <= k (a^2 + b^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.math.blocks import Rows
from hooke.model.contacts import RigidRows
from hooke.model.tables import Bodies
from hooke.solvers.vbd.body_contacts import BOTH, NEAR, BodyContacts, live_count, may_move
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.elimination_order import OrderRoom, make_order_room
from hooke.solvers.vbd.islands import Islands

__all__ = ["Groups", "find_lone_groups", "form_groups", "is_small", "make_groups", "make_room", "order_room"]

DENSE, MOST, LOOPS, WHOLE = 32, 128, 16, 1024
COST = 400
"""Pairs of blocks for each node of a group that is all that touches: 0.2 MFLOP of an elimination."""
SMALL, ROOM = 600, 2**29
"""Nodes up to which a world is small, and bytes that groups may take for that."""


@wp.struct
class Groups:
    """Small islands, and the group that each is in. The nodes of island i are ``item[first[i]] ...``, as in :class:`Islands`.

    ``of_body`` is the island of a body, -1 of one that does not move or is in a large island. ``dense``, ``most`` and ``loops`` are those
    of (1), ``whole`` is the largest number of nodes of a group that is all that touches, ``largest`` that of an island. ``root``,
    ``nodes`` and ``edges`` belong to the forest of islands that are joined; ``open`` is 0 of an island in such a group, 1 where (1)
    limits it, 2 where a row leads out of the group. ``failed`` tells which groups cost too much, and ``failed[-1]`` whether one does.
    """

    first: wp.array(dtype=wp.int32)
    item: wp.array(dtype=wp.int32)
    edge: wp.array(dtype=wp.int32)
    of_body: wp.array(dtype=wp.int32)
    dense: wp.int32
    most: wp.int32
    loops: wp.int32
    whole: wp.int32
    largest: wp.int32
    root: wp.array(dtype=wp.int32)
    nodes: wp.array(dtype=wp.int32)
    edges: wp.array(dtype=wp.int32)
    group: wp.array(dtype=wp.int32)
    open: wp.array(dtype=wp.int32)
    failed: wp.array(dtype=wp.int32)


def is_small(nodes: int, edges: int) -> bool:
    """Whether an island can be in a group: nearly a tree, it hardly fills in."""
    return nodes <= DENSE or (nodes <= WHOLE and edges <= nodes + LOOPS)


def dense_limit(sizes: np.ndarray) -> int:
    """``dense`` of (1) for worlds with some numbers of nodes: that of a world by itself, as far as memory allows."""
    most = int(sizes.max(initial=1))
    dense = min(most, MOST) if most <= SMALL else DENSE
    while dense > DENSE and 384 * (dense // 2) * int(sizes.sum()) > ROOM:
        dense = max(DENSE, dense // 2)
    return dense


def order_room(groups: Groups, device: Any) -> OrderRoom:
    """Room for the orders of groups; blocks and pairs of nearly trees fit into 16 and 156 for each node."""
    nodes, dense, whole = len(groups.item), int(groups.dense), int(groups.whole)
    blocks, pairs = max(16, dense // 2), max(156, dense * dense // 6 + 1)
    if whole > 0 and 384 * 32 * nodes <= ROOM:
        blocks, pairs = max(blocks, 32), max(pairs, COST)
    largest = max(whole, int(groups.largest), MOST)
    return make_order_room(nodes, largest, {"blocks": blocks, "pairs": pairs, "dense": dense, "cost": COST}, device)


def make_groups(islands: list[tuple[list[int], int]], worlds: np.ndarray, device: Any) -> Groups:
    """The small islands of a model.

    Args:
        islands: Of every one its nodes in the order of elimination, and the number of its edges.
        worlds: World of every body.
        device: Where the arrays go.
    """
    bodies = len(worlds)
    of_island = np.array([worlds[max(nodes)] for nodes, _edges in islands], np.int32)
    sizes = np.bincount(of_island + 1, [len(nodes) for nodes, _edges in islands]) if len(islands) else np.zeros(1)
    first = np.concatenate([[0], np.cumsum([len(nodes) for nodes, _edges in islands])]).astype(np.int32)
    item = np.asarray([node for nodes, _edges in islands for node in nodes], np.int32)
    of_body = np.full(bodies, -1, np.int32)
    for i, (nodes, _edges) in enumerate(islands):
        of_body[[node for node in nodes if node >= 0]] = i
    groups = Groups()
    values = {"first": first, "item": item, "edge": np.asarray([edges for _nodes, edges in islands], np.int32), "of_body": of_body}
    groups.dense, groups.most, groups.loops = dense_limit(sizes), MOST, LOOPS
    largest = int(sizes.max(initial=1))
    groups.whole = min(WHOLE, largest) if largest > groups.dense else 0
    groups.largest = max((len(nodes) for nodes, _edges in islands), default=1)
    for name in ("root", "nodes", "edges", "group", "open"):
        values[name] = np.zeros(len(islands), np.int32)
    values["failed"] = np.zeros(len(islands) + 1, np.int32)
    for name, value in values.items():
        setattr(groups, name, wp.array(value, dtype=wp.int32, device=device))
    return groups


def make_room(groups: Groups, order: OrderRoom, like: Islands, shared: Islands | None, device: Any) -> Islands:
    """Room for the elimination of all groups of some islands ``like`` these.

    The numbers themselves may be those of another grouping, ``shared``.
    """
    nodes, islands = len(groups.item), len(groups.group)
    blocks, pairs, bodies = int(order.blocks), int(order.pairs), len(groups.of_body)
    sizes = {
        "first": islands + 1, "item": nodes, "block": nodes, "block_end": nodes, "pair": nodes, "row": blocks * nodes,
        "target": pairs * nodes, "child": len(like.child), "parent": len(like.parent), "mimic": len(like.mimic),
        "node_of_body": bodies, "count": 1, "fill": blocks * nodes, "fill_end": nodes, "given": nodes, "order": nodes,
        "place": nodes,
    }  # fmt: skip
    room = Islands()
    room.first_end, room.end = like.first_end, like.end
    for name, size in sizes.items():
        setattr(room, name, wp.full(size, -1, dtype=wp.int32, device=device))
    room.around = wp.zeros(nodes * int(order.words), dtype=wp.uint64, device=device)
    numbers: tuple[tuple[str, Any, int], ...] = (
        ("diagonal", Rows, nodes), ("lower", Rows, blocks * nodes), ("scaled", Rows, blocks * nodes),
        ("solution", wp.spatial_vector, nodes), ("gradient", wp.spatial_vector, nodes),
    )  # fmt: skip
    for name, dtype, size in numbers:
        setattr(room, name, wp.zeros(size, dtype=dtype, device=device) if shared is None else getattr(shared, name))
    return room


@wp.func
def root_of(groups: Groups, i: int):
    """The island that stands for the group of island ``i`` so far; shortens the way to it."""
    at = int(i)
    while groups.root[at] != at:
        groups.root[at] = groups.root[groups.root[at]]
        at = groups.root[at]
    return at


@wp.func
def join(groups: Groups, i: int, k: int, limited: int):
    """Put a pair of bodies of two islands into one group; 0 where (1) does not allow it."""
    a, b = root_of(groups, i), root_of(groups, k)
    n, edges, most = 1 * groups.nodes[a], groups.edges[a] + 1, 1 * groups.most
    if a != b:
        n += groups.nodes[b]
        edges += groups.edges[b]
    else:
        most = n
    if limited != 0 and n > groups.dense and (n > most or edges > n + groups.loops):
        return 0
    low, high = wp.min(a, b), wp.max(a, b)
    groups.root[high] = low
    groups.nodes[low] = n
    groups.edges[low] = edges
    return 1


@wp.func
def part_islands(groups: Groups):
    """Every island by itself."""
    for i in range(groups.root.shape[0]):
        groups.root[i] = i
        groups.nodes[i] = groups.first[i + 1] - groups.first[i]
        groups.edges[i] = groups.edge[i]


@wp.func
def islands_of(groups: Groups, contacts: BodyContacts, motion: BodyMotion, r: int):
    """The islands that a row connects, -1 of one that does not move or is large, or of a row that stays open."""
    pair, found = contacts.body[r], wp.vec2i(-1, -1)
    if (contacts.inside[r] & NEAR) != 0:
        for side in range(2):
            if may_move(motion, pair[side]):
                found[side] = groups.of_body[pair[side]]
    return found


@wp.func
def join_rows(groups: Groups, contacts: BodyContacts, motion: BodyMotion, count: int, bit: int, skip: int):
    """Join what touches, in the order of rows, and mark the rows within groups; rows with a bit of ``skip`` are left out."""
    before, decided = wp.vec2i(-1, -1), int(0)
    for r in range(count):
        pair, inside = contacts.body[r], contacts.inside[r]
        if pair[0] >= 0 and pair[1] >= 0 and (inside & (skip | bit)) == 0:
            ends = islands_of(groups, contacts, motion, r)
            if ends[0] >= 0 and ends[1] >= 0:
                if pair[0] != before[0] or pair[1] != before[1]:
                    decided = join(groups, ends[0], ends[1], groups.open[ends[0]])
                    before = pair
                if decided != 0 and bit != 0:
                    contacts.inside[r] = inside | bit


@wp.func
def find_wholes(groups: Groups, contacts: BodyContacts, motion: BodyMotion, count: int, again: int):
    """Which islands are part of something that touches and may be one group: all that touches, if it does not cost too much."""
    for i in range(groups.root.shape[0]):
        groups.open[i] = wp.where(groups.whole > 0, 0, 1)
    if groups.whole > 0:
        part_islands(groups)
        join_rows(groups, contacts, motion, count, 0, 0)
        for i in range(groups.root.shape[0]):
            root = root_of(groups, i)
            fails = int(0)
            if again != 0:
                fails = groups.failed[groups.group[root]]
            if groups.nodes[root] > groups.whole or fails != 0:
                groups.open[i] = 1


@wp.func
def find_open_groups(groups: Groups, contacts: BodyContacts, motion: BodyMotion, count: int):
    """Groups that rows lead out of; rows within others are within groups of both groupings."""
    for r in range(count):
        if (contacts.inside[r] & 1) == 0:
            ends = islands_of(groups, contacts, motion, r)
            for side in range(2):
                if ends[side] >= 0:
                    groups.open[root_of(groups, ends[side])] = 2
    for i in range(groups.root.shape[0]):
        if groups.open[root_of(groups, i)] == 2:
            groups.open[i] = 2
    for r in range(count):
        if (contacts.inside[r] & BOTH) == 1:
            ends = islands_of(groups, contacts, motion, r)
            if ends[0] >= 0 and groups.open[wp.max(ends[0], 0)] != 2:
                contacts.inside[r] = contacts.inside[r] | BOTH


@wp.func
def number_groups(groups: Groups, islands: Islands, least: int):
    """Give every group a number and a range of nodes, and put its bodies and joints there; if it is as open as ``least``."""
    count, total = int(0), int(0)
    for i in range(groups.root.shape[0]):
        root = root_of(groups, i)
        used = groups.open[i] >= least
        if root == i and used:
            if least == 0:
                groups.group[i] = count
            islands.first[count] = total
            groups.edges[i] = total  # from here on: where the next node goes
            total += groups.nodes[i]
            count += 1
        at = 1 * groups.edges[root]
        for n in range(groups.first[i], groups.first[i + 1]):
            node = groups.item[n]
            if used:
                islands.item[at] = node
            if node >= 0:
                islands.node_of_body[node] = wp.where(used, at, -1)
            at += 1
        groups.edges[root] = at
    islands.first[count] = total
    islands.count[0] = count
    for n in range(total, islands.place.shape[0]):
        islands.place[n] = 0  # nothing is known of it in the next step


@wp.func
def forget_groups(groups: Groups, contacts: BodyContacts, motion: BodyMotion, count: int):
    """Before groups are formed again: what the rows know of them."""
    for r in range(count):
        pair = contacts.body[r]
        if may_move(motion, pair[0]) and may_move(motion, pair[1]):
            contacts.inside[r] = contacts.inside[r] & NEAR


@wp.kernel(enable_backward=False)
def form_groups(
    work: Work, rows: RigidRows, motion: BodyMotion, again: int, groups: Groups, contacts: BodyContacts, first: Islands, second: Islands
):  # fmt: skip
    """Both groupings; one thread, so that they do not depend on who is quicker. ``again`` if a group costs too much."""
    one = first_item(work, wp.tid())
    last = groups.failed.shape[0] - 1
    while one >= 0:
        if again == 0 or groups.failed[last] != 0:
            count = live_count(rows)
            if again != 0:
                forget_groups(groups, contacts, motion, count)
            find_wholes(groups, contacts, motion, count, again)
            part_islands(groups)
            join_rows(groups, contacts, motion, count, 1, 0)
            find_open_groups(groups, contacts, motion, count)
            number_groups(groups, first, 0)
            part_islands(groups)
            join_rows(groups, contacts, motion, count, 2, 1)
            join_rows(groups, contacts, motion, count, 2, 0)
            number_groups(groups, second, 2)
            for k in range(groups.failed.shape[0] - 1):
                groups.failed[k] = 0
            groups.failed[last] = again
        one = next_item(work, one)


@wp.kernel(enable_backward=False)
def find_lone_groups(work: Work, bodies: Bodies, islands: Islands, contacts: BodyContacts):
    """Mark the bodies of groups that no row connects to others: the multipliers of these may follow every solve."""
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < islands.count[0]:
            alone, mass = int(1), float(0.0)
            for n in range(islands.first[k], islands.first[k + 1]):
                b = islands.item[n]
                if b >= 0:
                    mass += bodies.mass[b]
                    for e in range(contacts.first[b], contacts.first[b + 1]):
                        inside = contacts.inside[contacts.row[e]]
                        if (inside & NEAR) != 0 and (inside & 1) == 0:
                            alone = 0
            for n in range(islands.first[k], islands.first[k + 1]):
                if islands.item[n] >= 0:
                    contacts.lone[islands.item[n]] = alone
                    contacts.total[islands.item[n]] = mass
        k = next_item(work, k)

"""Groups of islands that touch, and the elimination of their equations: made anew in every step, on the device.

One by one, bodies in contact pass forces on by one body in a sweep, and multipliers that follow such sweeps swing. So bodies that touch
are solved together: islands are joined, in the order of the rows of contacts, as long as their graph stays small or nearly a tree

    n <= dense    or    n <= MOST and edges <= n + LOOPS                                                            (1)

(n bodies and joints, edges: their joints' ends, and pairs of bodies that touch; ``dense`` is MOST in small worlds and DENSE in large
ones). With (1) the elimination by least degree fills in at most dense / 2 blocks for each node, so the room for it is known beforehand:
a graph with LOOPS edges more than nodes has at most 2 LOOPS - 2 nodes with more than two neighbours. What is not joined is within one
group of a second grouping, which begins with the pairs that the first keeps apart, and the iterations take turns between the two.

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
from hooke.model.tables import Bodies, Joints
from hooke.solvers.vbd.body_contacts import NEAR, BodyContacts, live_count, may_move
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.mimics import Mimics

__all__ = ["Groups", "find_lone_groups", "form_groups", "is_small", "make_groups", "make_room", "order_groups", "room_of"]

DENSE, MOST, LOOPS = 32, 128, 16
SMALL, ROOM = 600, 2**29
"""Nodes up to which a world is small, and bytes that groups may take for that."""


@wp.struct
class Groups:
    """Small islands, and the group that each is in. The nodes of island i are ``item[first[i]] ...``, as in :class:`Islands`.

    ``of_body`` is the island of a body, -1 of one that does not move or is in a large island. ``dense``, ``most`` and ``loops`` are those
    of (1). ``root``, ``nodes`` and ``edges`` belong to the forest of islands that are joined.
    """

    first: wp.array(dtype=wp.int32)
    item: wp.array(dtype=wp.int32)
    edge: wp.array(dtype=wp.int32)
    of_body: wp.array(dtype=wp.int32)
    dense: wp.int32
    most: wp.int32
    loops: wp.int32
    root: wp.array(dtype=wp.int32)
    nodes: wp.array(dtype=wp.int32)
    edges: wp.array(dtype=wp.int32)
    group: wp.array(dtype=wp.int32)


def is_small(nodes: int, edges: int) -> bool:
    """Whether an island can be in a group, (1)."""
    return nodes <= DENSE or (nodes <= MOST and edges <= nodes + LOOPS)


def room_of(groups: Groups) -> tuple[int, int]:
    """Blocks, and pairs of blocks, for each node of a group, at most; those of nearly trees fit into 16 and 156."""
    return max(16, groups.dense // 2), max(156, groups.dense * groups.dense // 6 + 1)


def dense_limit(sizes: np.ndarray) -> int:
    """``dense`` of (1) for worlds with some numbers of nodes: that of a world by itself, as far as memory allows."""
    most = int(sizes.max(initial=1))
    dense = min(most, MOST) if most <= SMALL else DENSE
    while dense > DENSE and 384 * (dense // 2) * int(sizes.sum()) > ROOM:
        dense = max(DENSE, dense // 2)
    return dense


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
    for name in ("root", "nodes", "edges", "group"):
        values[name] = np.zeros(len(islands), np.int32)
    for name, value in values.items():
        setattr(groups, name, wp.array(value, dtype=wp.int32, device=device))
    return groups


def make_room(groups: Groups, bodies: int, like: Islands, shared: Islands | None, device: Any) -> Islands:
    """Room for the elimination of all groups of some islands ``like`` these.

    The numbers themselves may be those of another grouping, ``shared``.
    """
    nodes, islands = len(groups.item), len(groups.group)
    blocks, pairs = room_of(groups)
    sizes = {
        "first": islands + 1, "item": nodes, "block": nodes, "block_end": nodes, "pair": nodes, "row": blocks * nodes,
        "target": pairs * nodes, "child": len(like.child), "parent": len(like.parent), "mimic": len(like.mimic),
        "node_of_body": bodies, "count": 1, "fill": 0, "given": nodes, "order": nodes, "place": nodes,
    }  # fmt: skip
    room = Islands()
    room.first_end, room.end = like.first_end, like.end
    for name, size in sizes.items():
        setattr(room, name, wp.full(size, -1, dtype=wp.int32, device=device))
    room.around = wp.zeros(2 * nodes, dtype=wp.uint64, device=device)
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
def join(groups: Groups, i: int, k: int):
    """Put a pair of bodies of two islands into one group; 0 where (1) does not allow it."""
    a, b = root_of(groups, i), root_of(groups, k)
    n, edges = 1 * groups.nodes[a], groups.edges[a] + 1
    if a != b:
        n += groups.nodes[b]
        edges += groups.edges[b]
    if n > groups.dense and (n > groups.most or edges > n + groups.loops):
        return 0
    low, high = wp.min(a, b), wp.max(a, b)
    groups.root[high] = low
    groups.nodes[low] = n
    groups.edges[low] = edges
    return 1


@wp.func
def join_rows(groups: Groups, contacts: BodyContacts, motion: BodyMotion, count: int, bit: int, skip: int):
    """Join what touches, in the order of rows, and mark the rows within groups; rows with a bit of ``skip`` are left out."""
    before, decided = wp.vec2i(-1, -1), int(0)
    for r in range(count):
        pair, inside = contacts.body[r], contacts.inside[r]
        if may_move(motion, pair[0]) and may_move(motion, pair[1]) and (inside & NEAR) != 0 and (inside & (skip | bit)) == 0:
            i, k = groups.of_body[pair[0]], groups.of_body[pair[1]]
            if i >= 0 and k >= 0:
                if pair[0] != before[0] or pair[1] != before[1]:
                    decided = join(groups, i, k)
                    before = pair
                if decided != 0:
                    contacts.inside[r] = inside | bit


@wp.func
def number_groups(groups: Groups, islands: Islands):
    """Give every group a number and a range of nodes, and put its bodies and joints there."""
    count, total = int(0), int(0)
    for i in range(groups.root.shape[0]):
        root = root_of(groups, i)
        if root == i:
            groups.group[i] = count
            islands.first[count] = total
            groups.edges[i] = total  # from here on: where the next node goes
            total += groups.nodes[i]
            count += 1
        at = 1 * groups.edges[root]
        for n in range(groups.first[i], groups.first[i + 1]):
            node = groups.item[n]
            islands.item[at] = node
            if node >= 0:
                islands.node_of_body[node] = at
            at += 1
        groups.edges[root] = at
    islands.first[count] = total
    islands.count[0] = count


@wp.kernel(enable_backward=False)
def form_groups(
    work: Work, rows: RigidRows, motion: BodyMotion, groups: Groups, contacts: BodyContacts, first: Islands, second: Islands
):  # fmt: skip
    """Both groupings; one thread, so that they do not depend on who is quicker."""
    one = first_item(work, wp.tid())
    while one >= 0:
        count = live_count(rows)
        for grouping in range(2):
            for i in range(groups.root.shape[0]):
                groups.root[i] = i
                groups.nodes[i] = groups.first[i + 1] - groups.first[i]
                groups.edges[i] = groups.edge[i]
            if grouping == 0:
                join_rows(groups, contacts, motion, count, 1, 0)
                number_groups(groups, first)
            else:
                join_rows(groups, contacts, motion, count, 2, 1)
                join_rows(groups, contacts, motion, count, 2, 0)
                number_groups(groups, second)
        one = next_item(work, one)


# The graph of a group as bits: of every node those it still couples with.
_ORDER = """
    typedef unsigned long long word_t;
    struct bits_t { word_t low, high; };
    wp::int32 items[128], order[128], place[128];
    bits_t around[128], later[128];
    auto n = last - first;
    auto joints = child_block.shape[0];
    auto has = [](const bits_t& x, wp::int32 k) { return k < 64 ? (x.low >> k) & 1 : (x.high >> (k - 64)) & 1; };
    auto put = [](bits_t& x, wp::int32 k) { if (k < 64) x.low |= word_t(1) << k; else x.high |= word_t(1) << (k - 64); };
    auto drop = [](bits_t& x, wp::int32 k) { if (k < 64) x.low &= ~(word_t(1) << k); else x.high &= ~(word_t(1) << (k - 64)); };
    auto count = [](word_t x) {
        x -= (x >> 1) & 0x5555555555555555ull;
        x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
        return wp::int32((((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull) >> 56);
    };
    auto both = [&](const bits_t& x, const bits_t& y) { return count(x.low & y.low) + count(x.high & y.high); };
    auto below = [&](const bits_t& x, wp::int32 k) {
        if (k < 64) return count(x.low & ((word_t(1) << k) - 1));
        return count(x.low) + count(x.high & ((word_t(1) << (k - 64)) - 1));
    };
    auto local = [&](wp::int32 b) {
        if (b < 0) return wp::int32(-1);
        auto m = node_of_body.data[b] - first;
        return m >= 0 && m < n && items[m] == b ? m : wp::int32(-1);
    };
    for (auto l = 0; l < n; l++) { items[l] = item.data[first + l]; around[l] = bits_t{0, 0}; }
    auto couple = [&](wp::int32 l, wp::int32 m) { if (m >= 0 && m != l) { put(around[l], m); put(around[m], l); } };
    bits_t ready = {0, 0}, alive = {0, 0};
    for (auto l = 0; l < n; l++) {
        put(alive, l);
        auto node = items[l];
        if (node < -joints) {
            for (auto k = 0; k < 4; k++) couple(l, local(mimic_body.data[4 * (-1 - node - joints) + k]));
            continue;
        }
        if (node < 0) {
            couple(l, local(child.data[-1 - node]));
            couple(l, local(parent.data[-1 - node]));
            continue;
        }
        put(ready, l);
        for (auto k = contact.data[node]; k < contact.data[node + 1]; k++) {
            auto r = contact_row.data[k];
            auto pair = pair_of_row.data[r];
            if (inside.data[r] & part) couple(l, local(pair.c[0] == node ? pair.c[1] : pair.c[0]));
        }
    }
    auto same = true;
    for (auto l = 0; l < n; l++) {
        auto& a = known_around.data[2 * (first + l)];
        auto& b = known_around.data[2 * (first + l) + 1];
        auto at = l == 0 ? n : -l;
        same = same && known_place.data[first + l] == at && given.data[first + l] == items[l] && a == around[l].low && b == around[l].high;
        known_place.data[first + l] = at;
        given.data[first + l] = items[l];
        a = around[l].low;
        b = around[l].high;
    }
    if (same) {
        for (auto k = 0; k < n; k++) {
            auto node = items[known_order.data[first + k]];
            item.data[first + k] = node;
            if (node >= 0) node_of_body.data[node] = first + k;
        }
        return 0;
    }
    for (auto k = 0; k < n; k++) {
        wp::int32 best = -1, least = 1000;
        for (auto l = 0; l < n; l++) {
            if (!has(alive, l) || !has(ready, l)) continue;
            auto degree = items[l] < 0 ? -1 : both(around[l], alive);
            if (degree < least) { least = degree; best = l; }
        }
        for (auto l = 0; best < 0 && l < n; l++) if (has(alive, l)) best = l;
        drop(alive, best);
        bits_t left = {around[best].low & alive.low, around[best].high & alive.high};
        later[k] = left;
        order[k] = best;
        known_order.data[first + k] = best;
        place[best] = k;
        for (auto l = 0; l < n; l++)
            if (has(left, l)) {
                around[l].low |= left.low;
                around[l].high |= left.high;
                drop(around[l], l);
                if (items[best] >= 0 && items[l] < 0) put(ready, l);
            }
    }
    auto e = blocks_per_node * first, t = pairs_per_node * first;
    for (auto k = 0; k < n; k++) {
        bits_t rows = {0, 0};
        for (auto l = 0; l < n; l++) if (has(later[k], l)) put(rows, place[l]);
        later[k] = rows;
        block.data[first + k] = e;
        for (auto m = 0; m < n; m++) if (has(rows, m)) row.data[e++] = first + m;
        block_end.data[first + k] = e;
    }
    auto block_of = [&](wp::int32 a, wp::int32 b) { return block.data[first + a] + below(later[a], b); };
    for (auto k = 0; k < n; k++) {
        pair.data[first + k] = t;
        for (auto f = block.data[first + k]; f < block_end.data[first + k]; f++)
            for (auto g = block.data[first + k]; g < f; g++)
                target.data[t++] = block_of(row.data[g] - first, row.data[f] - first);
        auto node = items[order[k]];
        item.data[first + k] = node;
        if (node >= 0) node_of_body.data[node] = first + k;
    }
    for (auto k = 0; k < n; k++) {
        auto node = item.data[first + k];
        if (node >= 0) continue;
        auto start = [&](wp::int32 b) {
            auto m = b < 0 ? -1 : node_of_body.data[b] - first;
            if (m < 0 || m >= n || item.data[first + m] != b) return wp::int32(-1);
            return m < k ? block_of(m, k) : -2 - block_of(k, m);
        };
        if (node < -joints) {
            for (auto end = 4 * (-1 - node - joints), last_end = end + 4; end < last_end; end++)
                mimic_block.data[end] = start(mimic_body.data[end]);
        } else {
            child_block.data[-1 - node] = start(child.data[-1 - node]);
            parent_block.data[-1 - node] = start(parent.data[-1 - node]);
        }
    }
    return 0;
"""


@wp.func_native(_ORDER)
def order_group(
    first: int,
    last: int,
    part: int,
    blocks_per_node: int,
    pairs_per_node: int,
    child: wp.array(dtype=wp.int32),
    parent: wp.array(dtype=wp.int32),
    mimic_body: wp.array(dtype=wp.int32),
    contact: wp.array(dtype=wp.int32),
    contact_row: wp.array(dtype=wp.int32),
    pair_of_row: wp.array(dtype=wp.vec2i),
    inside: wp.array(dtype=wp.int32),
    item: wp.array(dtype=wp.int32),
    node_of_body: wp.array(dtype=wp.int32),
    block: wp.array(dtype=wp.int32),
    block_end: wp.array(dtype=wp.int32),
    row: wp.array(dtype=wp.int32),
    pair: wp.array(dtype=wp.int32),
    target: wp.array(dtype=wp.int32),
    child_block: wp.array(dtype=wp.int32),
    parent_block: wp.array(dtype=wp.int32),
    mimic_block: wp.array(dtype=wp.int32),
    known_place: wp.array(dtype=wp.int32),
    given: wp.array(dtype=wp.int32),
    known_around: wp.array(dtype=wp.uint64),
    known_order: wp.array(dtype=wp.int32),
) -> int:
    """Put the nodes ``first ... last`` of a group in the order of least degree, a joint right after its first body, and list its blocks.

    A group of the same nodes in the same places, with the same neighbours, as in the step before keeps what was found then.
    """


@wp.kernel(enable_backward=False)
def order_groups(
    work: Work, joints: Joints, mimics: Mimics, contacts: BodyContacts, part: int, blocks: int, pairs: int, islands: Islands
):  # fmt: skip
    """The elimination of every group of a grouping."""
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < islands.count[0]:
            order_group(
                islands.first[k], islands.first[k + 1], part, blocks, pairs, joints.child, joints.parent, mimics.body, contacts.first,
                contacts.row, contacts.body, contacts.inside, islands.item, islands.node_of_body, islands.block,
                islands.block_end, islands.row, islands.pair, islands.target, islands.child, islands.parent, islands.mimic,
                islands.place, islands.given, islands.around, islands.order,
            )  # fmt: skip
        k = next_item(work, k)


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

"""The elimination of a group of islands that touch: the order of least degree, and the blocks that it fills in.

Graphs are rows of bits, one row of ``words`` words for every node: ``around`` are those that a node still couples with. Elimination of a
node joins its row to those of its neighbours, so degrees are counts of bits. A joint is eliminated right after the first of its bodies,
when it has a pivot. An order that fills in more than there is room for, or that costs more than it may, is given up. A group of the same
nodes in the same places, with the same neighbours, as in the step before keeps the order and the blocks that were found then.
"""

from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.model.tables import Joints
from hooke.solvers.vbd.body_contacts import BodyContacts
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.mimics import Mimics

__all__ = ["OrderRoom", "make_order_room", "order_groups"]


@wp.struct
class OrderRoom:
    """Room for the orders of all groups, in the ranges of their nodes.

    ``around`` and ``later`` are ``words`` words of bits for every node; ``items`` its item before it was ordered, ``order`` and ``place``
    the permutation and its inverse, ``degree`` the number of its neighbours. There is room for ``blocks`` n blocks and ``pairs`` n pairs
    of them in a group of n nodes; of more than ``dense`` nodes it may have ``cost`` n pairs.
    """

    words: wp.int32
    blocks: wp.int32
    pairs: wp.int32
    dense: wp.int32
    cost: wp.int32
    around: wp.array(dtype=wp.uint64)
    later: wp.array(dtype=wp.uint64)
    items: wp.array(dtype=wp.int32)
    order: wp.array(dtype=wp.int32)
    place: wp.array(dtype=wp.int32)
    degree: wp.array(dtype=wp.int32)


_BITS = """
    typedef unsigned long long word_t;
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    auto count = [](word_t x) { return wp::int32(__popcll(x)); };
    auto lowest = [](word_t x) { return wp::int32(__ffsll(x) - 1); };
#else
    auto count = [](word_t x) { return wp::int32(__builtin_popcountll(x)); };
    auto lowest = [](word_t x) { return wp::int32(__builtin_ctzll(x)); };
#endif
    const auto n = last - first, words = (n + 63) / 64;
    auto row_of = [&](auto& bits, wp::int32 l) { return reinterpret_cast<word_t*>(bits.data) + word_t(first + l) * room.words; };
    auto put = [](word_t* x, wp::int32 k) { x[k / 64] |= word_t(1) << (k % 64); };
    auto drop = [](word_t* x, wp::int32 k) { x[k / 64] &= ~(word_t(1) << (k % 64)); };
    auto size = [&](const word_t* x) {
        wp::int32 s = 0;
        for (auto w = 0; w < words; w++) s += count(x[w]);
        return s;
    };
    auto below = [&](const word_t* x, wp::int32 k) {
        wp::int32 s = 0;
        for (auto w = 0; w < k / 64; w++) s += count(x[w]);
        return s + count(x[k / 64] & ((word_t(1) << (k % 64)) - 1));
    };
"""

_GRAPH = f"""
    {_BITS}
    auto items = room.items.data + first;
    auto joints = islands.child.shape[0];
    auto local = [&](wp::int32 b) {{
        if (b < 0) return wp::int32(-1);
        auto m = islands.node_of_body.data[b] - first;
        return m >= 0 && m < n && items[m] == b ? m : wp::int32(-1);
    }};
    for (auto l = 0; l < n; l++) {{
        items[l] = islands.item.data[first + l];
        for (auto w = 0; w < words; w++) row_of(room.around, l)[w] = 0;
    }}
    auto couple = [&](wp::int32 l, wp::int32 m) {{
        if (m >= 0 && m != l) {{ put(row_of(room.around, l), m); put(row_of(room.around, m), l); }}
    }};
    for (auto l = 0; l < n; l++) {{
        auto node = items[l];
        if (node < -joints) {{
            for (auto k = 0; k < 4; k++) couple(l, local(mimic_body.data[4 * (-1 - node - joints) + k]));
        }} else if (node < 0) {{
            couple(l, local(child.data[-1 - node]));
            couple(l, local(parent.data[-1 - node]));
        }} else {{
            for (auto k = contact.data[node]; k < contact.data[node + 1]; k++) {{
                auto r = contact_row.data[k];
                auto pair = pair_of_row.data[r];
                if (inside.data[r] & part) couple(l, local(pair.c[0] == node ? pair.c[1] : pair.c[0]));
            }}
        }}
    }}
    return 0;
"""

_RECALL = f"""
    {_BITS}
    auto items = room.items.data + first, given = islands.given.data + first, place = islands.place.data + first;
    auto same = true;
    for (auto l = 0; l < n; l++) {{
        auto at = l == 0 ? n : -l;
        same = same && place[l] == at && given[l] == items[l];
        place[l] = at;
        given[l] = items[l];
        auto now = row_of(room.around, l), before = row_of(islands.around, l);
        for (auto w = 0; w < words; w++) {{
            same = same && before[w] == now[w];
            before[w] = now[w];
        }}
    }}
    if (!same) return 0;
    for (auto k = 0; k < n; k++) {{
        auto node = items[islands.order.data[first + k]];
        islands.item.data[first + k] = node;
        if (node >= 0) islands.node_of_body.data[node] = first + k;
    }}
    return 1;
"""

# Degrees of joints: 0 where they have a pivot, WAITS before; LEFT out of the order are those that are in it already.
_PERMUTE = f"""
    {_BITS}
    const wp::int32 WAITS = 1 << 20, LEFT = 1 << 30;
    auto items = room.items.data + first, degree = room.degree.data + first;
    for (auto l = 0; l < n; l++) degree[l] = items[l] < 0 ? WAITS : 1 + size(row_of(room.around, l));
    word_t blocks = 0, pairs = 0, most = word_t(n) * (n > room.dense && room.cost < room.pairs ? room.cost : room.pairs);
    for (auto k = 0; k < n; k++) {{
        wp::int32 best = 0;
        for (auto l = 1; l < n; l++) if (degree[l] < degree[best]) best = l;
        degree[best] = LEFT;
        room.order.data[first + k] = best;
        room.place.data[first + best] = k;
        auto left = row_of(room.around, best);
        auto d = word_t(size(left));
        blocks += d;
        pairs += d * (d - 1) / 2;
        if (blocks > word_t(room.blocks) * n || pairs > most) return 0;
        for (auto w = 0; w < words; w++)
            for (auto rest = left[w]; rest; rest &= rest - 1) {{
                auto l = 64 * w + lowest(rest);
                auto other = row_of(room.around, l);
                for (auto v = 0; v < words; v++) other[v] |= left[v];
                drop(other, l);
                drop(other, best);
                if (items[l] >= 0) degree[l] = 1 + size(other);
                else if (items[best] >= 0) degree[l] = 0;
            }}
    }}
    return 1;
"""

_LIST = f"""
    {_BITS}
    auto items = room.items.data + first;
    auto e = room.blocks * first, t = room.pairs * first;
    auto joints = islands.child.shape[0];
    for (auto k = 0; k < n; k++) {{
        auto left = row_of(room.around, room.order.data[first + k]), rows = row_of(room.later, k);
        for (auto w = 0; w < words; w++) rows[w] = 0;
        for (auto w = 0; w < words; w++)
            for (auto rest = left[w]; rest; rest &= rest - 1) put(rows, room.place.data[first + 64 * w + lowest(rest)]);
        islands.block.data[first + k] = e;
        for (auto w = 0; w < words; w++)
            for (auto rest = rows[w]; rest; rest &= rest - 1) islands.row.data[e++] = first + 64 * w + lowest(rest);
        islands.block_end.data[first + k] = e;
    }}
    auto block_of = [&](wp::int32 a, wp::int32 b) {{ return islands.block.data[first + a] + below(row_of(room.later, a), b); }};
    for (auto k = 0; k < n; k++) {{
        islands.pair.data[first + k] = t;
        for (auto f = islands.block.data[first + k]; f < islands.block_end.data[first + k]; f++)
            for (auto g = islands.block.data[first + k]; g < f; g++)
                islands.target.data[t++] = block_of(islands.row.data[g] - first, islands.row.data[f] - first);
        auto node = items[room.order.data[first + k]];
        islands.order.data[first + k] = room.order.data[first + k];
        islands.item.data[first + k] = node;
        if (node >= 0) islands.node_of_body.data[node] = first + k;
    }}
    auto fill = islands.fill.data + room.blocks * first;  // first all blocks, then those that no joint begins
    for (auto k = 0, blocks = e - room.blocks * first; k < blocks; k++) fill[k] = room.blocks * first + k;
    auto written = [&](wp::int32 start) {{
        if (start != -1) fill[(start >= 0 ? start : -2 - start) - room.blocks * first] = -1;
        return start;
    }};
    for (auto k = 0; k < n; k++) {{
        auto node = islands.item.data[first + k];
        if (node >= 0) continue;
        auto start = [&](wp::int32 b) {{
            auto m = b < 0 ? -1 : islands.node_of_body.data[b] - first;
            if (m < 0 || m >= n || islands.item.data[first + m] != b) return wp::int32(-1);
            return m < k ? block_of(m, k) : -2 - block_of(k, m);
        }};
        if (node < -joints) {{
            for (auto end = 4 * (-1 - node - joints), last_end = end + 4; end < last_end; end++)
                islands.mimic.data[end] = written(start(mimic_body.data[end]));
        }} else {{
            islands.child.data[-1 - node] = written(start(child.data[-1 - node]));
            islands.parent.data[-1 - node] = written(start(parent.data[-1 - node]));
        }}
    }}
    wp::int32 filled = 0;
    for (auto k = 0, blocks = e - room.blocks * first; k < blocks; k++) if (fill[k] >= 0) fill[filled++] = fill[k];
    islands.fill_end.data[first] = room.blocks * first + filled;
    return 0;
"""


@wp.func_native(_GRAPH)
def find_graph(
    first: int,
    last: int,
    part: int,
    child: wp.array(dtype=wp.int32),
    parent: wp.array(dtype=wp.int32),
    mimic_body: wp.array(dtype=wp.int32),
    contact: wp.array(dtype=wp.int32),
    contact_row: wp.array(dtype=wp.int32),
    pair_of_row: wp.array(dtype=wp.vec2i),
    inside: wp.array(dtype=wp.int32),
    islands: Islands,
    room: OrderRoom,
) -> int:
    """Which nodes of a group couple."""


@wp.func_native(_RECALL)
def recall_order(first: int, last: int, islands: Islands, room: OrderRoom) -> int:
    """Put the nodes of a group in the order of the step before; 0 where it was another group. Its graph is kept for the next step."""


@wp.func_native(_PERMUTE)
def permute_group(first: int, last: int, room: OrderRoom) -> int:
    """The order of least degree; 0 where it has more blocks or pairs than it may."""


@wp.func_native(_LIST)
def list_blocks(
    first: int,
    last: int,
    child: wp.array(dtype=wp.int32),
    parent: wp.array(dtype=wp.int32),
    mimic_body: wp.array(dtype=wp.int32),
    islands: Islands,
    room: OrderRoom,
) -> int:
    """Put the nodes of a group in their order, and list its blocks."""


def make_order_room(nodes: int, largest: int, limits: dict[str, int], device: Any) -> OrderRoom:
    """Room for the orders of groups.

    Args:
        nodes: Of all groups.
        largest: Nodes that a group may have.
        limits: ``blocks``, ``pairs``, ``dense`` and ``cost`` of an :class:`OrderRoom`.
        device: Where the arrays go.
    """
    room = OrderRoom()
    room.words = max(1, -(-largest // 64))
    for name, value in limits.items():
        setattr(room, name, value)
    for name in ("around", "later"):
        setattr(room, name, wp.zeros(nodes * int(room.words), dtype=wp.uint64, device=device))
    for name in ("items", "order", "place", "degree"):
        setattr(room, name, wp.zeros(nodes, dtype=wp.int32, device=device))
    return room


@wp.kernel(enable_backward=False)
def order_groups(
    work: Work, joints: Joints, mimics: Mimics, contacts: BodyContacts, part: int, again: int, room: OrderRoom, islands: Islands,
    failed: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The elimination of every group of a grouping, or which of them cost too much; ``again`` only if any did."""
    k = first_item(work, wp.tid())
    some = failed.shape[0] - 1
    while k >= 0:
        if k < islands.count[0] and (again == 0 or failed[some] != 0):
            first, last = islands.first[k], islands.first[k + 1]
            find_graph(
                first, last, part, joints.child, joints.parent, mimics.body, contacts.first, contacts.row, contacts.body, contacts.inside,
                islands, room,
            )  # fmt: skip
            if recall_order(first, last, islands, room) == 0:
                if permute_group(first, last, room) != 0:
                    list_blocks(first, last, joints.child, joints.parent, mimics.body, islands, room)
                else:
                    islands.place[first] = 0
                    failed[k] = 1
                    if again == 0:
                        failed[some] = 1
        k = next_item(work, k)

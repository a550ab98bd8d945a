"""Trees of bounding boxes with sixteen children per node: one comparison of lanes tests a box against all of them.

A leaf node holds the boxes of 16 primitives, a node above it the boxes of 16 nodes. Every world has a tree of its own, and what
belongs to no world has one more. Where a node stands depends on the numbers of primitives alone, so fitting the boxes to new positions
is one pass per level, and sorting the primitives anew (along a space-filling curve, within their world) changes no layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.flags import lane_options
from hooke.execution.work import FEW, Work, first_item, next_item
from hooke.math import LANES, Lanes, VectorL, gather_vectors, larger, smaller, strided_indices, vector

__all__ = ["BoxTree", "TreeView", "fit_leaves", "merge_boxes", "visit_tree"]

FAR = 3.0e37
"""Faces of the box of nothing: the lower ones here, the upper ones at minus this."""


@wp.struct
class TreeView:
    """A tree as kernels see it.

    ``box`` (nodes, 6): lower and upper faces (x, y, z) of the 16 children. ``child``: first child of a node, -1 for a leaf; children
    follow each other. ``member``: the primitive in every slot, 16 per leaf, -1 for none. ``corner``: indices of its ``corners`` corners,
    that of nobody in an empty slot; ``index`` the same by primitive. ``world`` of every leaf, as an index into ``root``; ``root`` has
    -1 for an empty world.
    """

    box: wp.array2d(dtype=Lanes)
    child: wp.array(dtype=wp.int32)
    member: wp.array(dtype=wp.int32)
    corner: wp.array(dtype=wp.int32)
    corners: wp.int32
    index: wp.array2d(dtype=wp.int32)
    world: wp.array(dtype=wp.int32)
    root: wp.array(dtype=wp.int32)


# The boxes of leaf g of one tree against another tree: the leaves that the box around all of g meets, of each those boxes that meet it,
# and each of them against the 16 of g at once. What is found goes to a list of the thread, and from there to as many places in a row of
# the common one. Which places these are depends on who comes first; what is in them does not. Where the list of the thread is too short,
# the search is done again into those places.
_VISIT = f"""
    typedef int result_t;
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    constexpr result_t most_pairs = 64;
    auto meets = [](const float* node, const float* q) {{
        unsigned bits = 0;
        for (auto l = 0; l < {LANES}; l++) {{
            bool hit = node[l] <= q[3] && node[{LANES} + l] <= q[4] && node[{2 * LANES} + l] <= q[5];
            hit = hit && node[{3 * LANES} + l] >= q[0] && node[{4 * LANES} + l] >= q[1] && node[{5 * LANES} + l] >= q[2];
            bits |= (hit ? 1u : 0u) << l;
        }}
        return bits;
    }};
    auto equals = [](const result_t* corners, result_t corner) {{
        unsigned bits = 0;
        for (auto l = 0; l < {LANES}; l++) bits |= (corners[l] == corner ? 1u : 0u) << l;
        return bits;
    }};
    auto lowest_bit = [](unsigned bits) {{ return __ffs((result_t)bits) - 1; }};
    auto take = [&](result_t n) {{ return atomicAdd(total.data, n); }};
#else
    constexpr result_t most_pairs = 1024;
    typedef float lanes_t __attribute__((ext_vector_type({LANES}), aligned(4)));
    typedef bool bits_t __attribute__((ext_vector_type({LANES})));
    auto meets = [](const float* node, const float* q) {{
        auto v = reinterpret_cast<const lanes_t*>(node);
        auto hit = (v[0] <= q[3]) & (v[1] <= q[4]) & (v[2] <= q[5]) & (v[3] >= q[0]) & (v[4] >= q[1]) & (v[5] >= q[2]);
        bits_t narrow = __builtin_convertvector(hit, bits_t);
        unsigned short bits;
        __builtin_memcpy(&bits, &narrow, sizeof(bits));
        return (unsigned)bits;
    }};
    typedef result_t indices_t __attribute__((ext_vector_type({LANES}), aligned(4)));
    auto equals = [](const result_t* corners, result_t corner) {{
        bits_t narrow = __builtin_convertvector(*reinterpret_cast<const indices_t*>(corners) == corner, bits_t);
        unsigned short bits;
        __builtin_memcpy(&bits, &narrow, sizeof(bits));
        return (unsigned)bits;
    }};
    auto lowest_bit = [](unsigned bits) {{ return __builtin_ctz(bits); }};
    auto take = [&](result_t n) {{ return __atomic_fetch_add(total.data, n, __ATOMIC_RELAXED); }};
#endif
    auto boxes = reinterpret_cast<const float*>(target_box.data);
    auto own = reinterpret_cast<const float*>(query_box.data) + {6 * LANES} * (long long)g;
    result_t shared_world = root.shape[0] - 1;
    result_t first_world = world == shared_world ? 0 : world, last_world = world;
    auto of_lane = [](const float* node, result_t lane, float* q) {{ for (auto c = 0; c < 6; c++) q[c] = node[{LANES} * c + lane]; }};
    result_t found = 0, kept_query[most_pairs], kept_target[most_pairs];
    result_t* out_query = kept_query;
    result_t* out_target = kept_target;
    result_t room = most_pairs;
    float whole[6] = {{{FAR}f, {FAR}f, {FAR}f, -{FAR}f, -{FAR}f, -{FAR}f}}, q[6];  // of those that are numbers
    for (auto a = 0; a < {LANES}; a++) {{
        of_lane(own, a, q);
        for (auto c = 0; c < 3; c++) {{
            whole[c] = q[c] < whole[c] ? q[c] : whole[c];
            whole[c + 3] = q[c + 3] > whole[c + 3] ? q[c + 3] : whole[c + 3];
        }}
    }}
    result_t own_corner[3 * {LANES}];
    for (auto a = 0; a < {LANES}; a++)
        for (auto c = 0; c < query_corners; c++)
            own_corner[{LANES} * c + a] = query_corner.data[({LANES} * (long long)g + a) * query_corners + c];
    auto match = [&](result_t leaf) {{
        auto node = boxes + {6 * LANES} * (long long)leaf;
        for (auto near = meets(node, whole); near != 0; near &= near - 1) {{
            result_t b = lowest_bit(near), slot = {LANES} * leaf + b;
            of_lane(node, b, q);
            auto bits = meets(own, q);
            if (same != 0 && leaf == g) bits &= (1u << b) - 1;
            auto t = target_corner.data + (long long)slot * target_corners;
            for (auto k = 0; k < target_corners && bits != 0; k++)
                for (auto c = 0; c < query_corners; c++) bits &= ~equals(own_corner + {LANES} * c, t[k]);
            for (; bits != 0; bits &= bits - 1) {{
                if (found < room) {{
                    out_query[found] = {LANES} * g + lowest_bit(bits);
                    out_target[found] = slot;
                }}
                found++;
            }}
        }}
    }};
    auto walk = [&](result_t top) {{
        result_t stack[160], depth = 0;
        if (top >= 0) stack[depth++] = top;
        while (depth > 0) {{
            auto node = stack[--depth];
            auto first = child.data[node];
            if (first < 0) {{
                if (same == 0 || node >= g) match(node);
                continue;
            }}
            auto bits = meets(boxes + {6 * LANES} * (long long)node, whole);
            for (; bits != 0; bits &= bits - 1) stack[depth++] = first + lowest_bit(bits);
        }}
    }};
    auto search = [&]() {{
        found = 0;
        for (auto w = first_world; w <= last_world; w++) walk(root.data[w]);
        if (last_world != shared_world) walk(root.data[shared_world]);
    }};
    search();
    auto at = found > 0 ? take(found) : 0;
    start.data[g] = at;
    if (found == 0) return 0;
    if (at + found > capacity) return 0;
    if (found <= most_pairs) {{
        for (auto k = 0; k < found; k++) {{
            query_out.data[at + k] = kept_query[k];
            target_out.data[at + k] = kept_target[k];
        }}
    }} else {{
        out_query = query_out.data + at;
        out_target = target_out.data + at;
        room = found;
        search();
    }}
    return found;
"""


@wp.func_native(_VISIT)
def visit_boxes(
    query_box: wp.array2d(dtype=Lanes), query_corner: wp.array(dtype=wp.int32), query_corners: int, g: int, world: int,
    target_box: wp.array2d(dtype=Lanes), target_corner: wp.array(dtype=wp.int32), target_corners: int,
    child: wp.array(dtype=wp.int32), root: wp.array(dtype=wp.int32), same: int, capacity: int,
    start: wp.array(dtype=wp.int32), total: wp.array(dtype=wp.int32), query_out: wp.array(dtype=wp.int32),
    target_out: wp.array(dtype=wp.int32),
) -> int: ...  # fmt: skip


@wp.func
def visit_tree(
    query: TreeView, g: int, target: TreeView, same: int, start: wp.array(dtype=wp.int32), total: wp.array(dtype=wp.int32),
    query_out: wp.array(dtype=wp.int32), target_out: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Find the pairs of slots whose boxes meet and that share no corner, of leaf ``g`` with the target tree.

    A world meets itself and what belongs to none, that meets everything. With ``same`` the trees are one, and every pair is found
    once. They are written from ``start[g]`` on, as many as the function returns: 0 where there is no room. ``total`` counts all pairs.
    """
    return visit_boxes(
        query.box, query.corner, query.corners, g, query.world[g], target.box, target.corner, target.corners, target.child,
        target.root, same, query_out.shape[0], start, total, query_out, target_out,
    )  # fmt: skip


@wp.kernel(enable_backward=False)
def empty_extents(low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3)):
    w = wp.tid()
    low[w] = wp.vec3(FAR)
    high[w] = wp.vec3(-FAR)


@wp.kernel(enable_backward=False)
def measure_extents(
    x: wp.array(dtype=wp.vec3), corners: wp.array2d(dtype=wp.int32), world: wp.array(dtype=wp.int32), low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
):  # fmt: skip
    """The box around all corners of a world that are numbers; the extreme of several does not depend on their order."""
    e = wp.tid()
    for c in range(corners.shape[1]):
        place = x[corners[e, c]]
        if wp.isfinite(place):
            wp.atomic_min(low, world[e], place)
            wp.atomic_max(high, world[e], place)


@wp.func_native("""
    wp::int64 result = (wp::int64)world << 48;
    for (auto bit = 0; bit < 16; bit++) {
        result |= (wp::int64)((x >> bit) & 1) << (3 * bit);
        result |= (wp::int64)((y >> bit) & 1) << (3 * bit + 1);
        result |= (wp::int64)((z >> bit) & 1) << (3 * bit + 2);
    }
    return result;
""")
def curve_key(world: int, x: int, y: int, z: int) -> wp.int64:
    """The world, then the bits of three cell numbers below 2^16 by turns: close for cells that are close."""


@wp.kernel(enable_backward=False)
def write_keys(
    x: wp.array(dtype=wp.vec3), low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), corners: wp.array2d(dtype=wp.int32),
    world: wp.array(dtype=wp.int32), key: wp.array(dtype=wp.int64), primitive: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The world of every primitive, then the place of its middle along a curve through the box of its world."""
    e = wp.tid()
    middle = wp.vec3(0.0)
    for c in range(corners.shape[1]):
        middle += x[corners[e, c]]
    middle = middle / float(corners.shape[1])
    own = world[e]
    size = wp.max(wp.max(high[own] - low[own]), 1.0e-12)
    cell = wp.vec3(0.0)
    if wp.isfinite(middle):
        cell = 65535.0 * wp.min((middle - low[own]) / size, wp.vec3(1.0))
    key[e] = curve_key(own, int(cell[0]), int(cell[1]), int(cell[2]))
    primitive[e] = e


@wp.kernel(enable_backward=False)
def fill_slots(
    primitive: wp.array(dtype=wp.int32), slot: wp.array(dtype=wp.int32), index: wp.array2d(dtype=wp.int32), tree: TreeView
):  # fmt: skip
    k = wp.tid()
    e = primitive[k]
    tree.member[slot[k]] = e
    for c in range(index.shape[1]):
        tree.corner[slot[k] * tree.corners + c] = index[e, c]


@wp.func
def smaller_vector(a: VectorL, b: VectorL):
    return vector(smaller(a.x, b.x), smaller(a.y, b.y), smaller(a.z, b.z))


@wp.func
def larger_vector(a: VectorL, b: VectorL):
    return vector(larger(a.x, b.x), larger(a.y, b.y), larger(a.z, b.z))


@wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
def fit_leaves(
    work: Work, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), wanted: wp.array(dtype=wp.int32), tree: TreeView
):  # fmt: skip
    """The boxes of the primitives of a leaf around the boxes ``low ... high`` of their corners."""
    g = first_item(work, wp.tid())
    while g >= 0:
        if wanted[0] != 0:
            first = LANES * g * tree.corners
            index = strided_indices(tree.corner, first, tree.corners)
            lower = gather_vectors(low, index)
            upper = gather_vectors(high, index)
            for c in range(1, tree.corners):
                index = strided_indices(tree.corner, first + c, tree.corners)
                lower = smaller_vector(lower, gather_vectors(low, index))
                upper = larger_vector(upper, gather_vectors(high, index))
            tree.box[g, 0] = lower.x
            tree.box[g, 1] = lower.y
            tree.box[g, 2] = lower.z
            tree.box[g, 3] = upper.x
            tree.box[g, 4] = upper.y
            tree.box[g, 5] = upper.z
        g = next_item(work, g)


# The box around the boxes of each child, side by side.
@wp.func_native(f"""
    auto boxes = reinterpret_cast<float*>(box.data);
    auto out = boxes + {6 * LANES} * (long long)node;
    for (auto k = 0; k < {LANES}; k++) {{
        auto in = boxes + {6 * LANES} * (long long)(first + k);
        for (auto side = 0; side < 6; side++) {{
            auto face = side < 3 ? {FAR}f : -{FAR}f;
            if (k < children) {{
                for (auto l = 0; l < {LANES}; l++) {{
                    auto value = in[{LANES} * side + l];
                    face = side < 3 ? (value < face ? value : face) : (value > face ? value : face);
                }}
            }}
            out[{LANES} * side + k] = face;
        }}
    }}
""")
def merge_children(first: int, children: int, node: int, box: wp.array2d(dtype=Lanes)): ...


@wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
def merge_boxes(work: Work, children: wp.array(dtype=wp.int32), wanted: wp.array(dtype=wp.int32), tree: TreeView):
    """The boxes of the children of the nodes of a level."""
    node = first_item(work, wp.tid())
    while node >= 0:
        if wanted[0] != 0:
            merge_children(tree.child[node], children[node], node, tree.box)
        node = next_item(work, node)


class BoxTree:
    """A forest over primitives with the same number of corners.

    Args:
        particles: Corners of every primitive as particles, shape (n, corners): where they are when the tree is sorted.
        index: The same as indices of the arrays that boxes are fitted to.
        world: World of every primitive; -1 is none.
        worlds: Number of worlds.
        nobody: Index of a corner without place, for empty slots.
        device: Where the arrays live.

    Attributes:
        view: What kernels read.
        leaves: Number of leaf nodes; they come first.
    """

    def __init__(self, particles: np.ndarray, index: np.ndarray, world: np.ndarray, worlds: int, nobody: int, device: Any):
        self.device = device
        self.count, corners = particles.shape
        rank = np.where(world < 0, worlds, world).astype(np.int32)
        number = np.bincount(rank, minlength=worlds + 1)
        layout = _Layout(number)
        self.leaves, self._levels = layout.leaves, layout.levels
        self._particles = wp.array(np.ascontiguousarray(particles, np.int32), dtype=wp.int32, device=device)
        self._index = wp.array(np.ascontiguousarray(index, np.int32), dtype=wp.int32, device=device)
        self._rank = wp.array(rank, dtype=wp.int32, device=device)
        self._slot = wp.array(layout.slot, dtype=wp.int32, device=device)
        self._children = wp.array(layout.children, dtype=wp.int32, device=device)
        self._key = wp.zeros(2 * self.count, dtype=wp.int64, device=device)
        self._order = wp.zeros(2 * self.count, dtype=wp.int32, device=device)
        self._extents = [wp.zeros(worlds + 1, dtype=wp.vec3, device=device) for _ in range(2)]
        slots = LANES * self.leaves
        view = self.view = TreeView()
        view.box = wp.zeros((len(layout.children), 6), dtype=Lanes, device=device)
        view.child = wp.array(layout.child, dtype=wp.int32, device=device)
        view.member = wp.full(slots, -1, dtype=wp.int32, device=device)
        view.corner = wp.full(slots * corners, nobody, dtype=wp.int32, device=device)
        view.corners = corners
        view.index = self._index
        view.world = wp.array(layout.world, dtype=wp.int32, device=device)
        view.root = wp.array(layout.root, dtype=wp.int32, device=device)

    def sort(self, x: wp.array) -> None:
        """Put neighbours at positions ``x`` of the particles into the same leaves. Launches only; boxes are to be fitted anew."""
        if self.count == 0:
            return
        low, high = self._extents
        wp.launch(empty_extents, dim=len(low), inputs=[], outputs=[low, high], device=self.device)
        inputs = [x, self._particles, self._rank]
        wp.launch(measure_extents, dim=self.count, inputs=inputs, outputs=[low, high], device=self.device)
        inputs = [x, low, high, self._particles, self._rank]
        wp.launch(write_keys, dim=self.count, inputs=inputs, outputs=[self._key, self._order], device=self.device)
        wp.utils.radix_sort_pairs(self._key, self._order, self.count)
        wp.launch(
            fill_slots, dim=self.count, inputs=[self._order, self._slot, self._index], outputs=[self.view], device=self.device
        )

    def fit(self, low: wp.array, high: wp.array, wanted: wp.array, recorder: Any) -> None:
        """Fit the leaves to boxes of the corners, shape (indices,) [m]; nothing happens where ``wanted``, shape (1,), is 0."""
        recorder.launch(fit_leaves, self.leaves, [low, high, wanted], [self.view], grain=FEW)

    def merge(self, wanted: wp.array, recorder: Any) -> None:
        """Fit the nodes above to them; a tree that only asks needs none."""
        for first, count in self._levels:
            recorder.launch(merge_boxes, count, [self._children, wanted], [self.view], first=first, grain=FEW)


class _Layout:
    """Nodes for some numbers of primitives per world: leaves first, then level by level."""

    def __init__(self, number: np.ndarray):
        leaves = -(-number // LANES)
        first = np.concatenate([[0], np.cumsum(leaves)])
        self.leaves = int(first[-1])
        before = np.concatenate([[0], np.cumsum(number)])[:-1]
        rank = np.repeat(np.arange(len(number)), number)
        self.slot = (LANES * first[rank] + np.arange(number.sum()) - before[rank]).astype(np.int32)
        self.world = np.repeat(np.arange(len(number)), leaves).astype(np.int32)
        child, children = [np.full(self.leaves, -1)], [np.full(self.leaves, LANES)]
        self.root = np.where(leaves > 0, first[:-1], -1).astype(np.int32)
        self.levels: list[tuple[int, int]] = []
        total, begin, count = self.leaves, first[:-1], leaves
        while (count > 1).any():
            parents = np.where(count > 1, -(-count // LANES), 0)
            at = total + np.concatenate([[0], np.cumsum(parents)])[:-1]
            for w in np.flatnonzero(parents):
                steps = np.arange(parents[w]) * LANES
                child.append(begin[w] + steps)
                children.append(np.minimum(LANES, count[w] - steps))
            self.root = np.where(parents > 0, at, self.root).astype(np.int32)
            self.levels.append((total, int(parents.sum())))
            total, begin, count = total + int(parents.sum()), at, parents
        self.child = np.concatenate(child).astype(np.int32)
        self.children = np.concatenate(children).astype(np.int32)

"""Pairs of a surface found without a solver, and the same by trying all of them in float64."""

import numpy as np
import warp as wp

from hooke.collision.pair_search import PairSearch, SurfaceTrees
from hooke.collision.self_contact import Reach
from hooke.collision.surface import Surface, make_filter
from hooke.execution.recorder import Recorder
from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.box_tree import TreeView, visit_tree
from tests.geometry.closest_reference import point_triangle, segment_segment

NONE = np.empty((0, 2), np.int32)


def reach_of(low, high, radius=0.0, start=None):
    """A reach whose indices stay in boxes; two more places than indices, where nothing is."""
    n = len(low)
    nothing = np.full((2, 3), 3.0e37, np.float32)
    reach = Reach()
    reach.low = wp.array(np.concatenate([low, nothing]).astype(np.float32), dtype=wp.vec3, device="cpu")
    reach.high = wp.array(np.concatenate([high, -nothing]).astype(np.float32), dtype=wp.vec3, device="cpu")
    place = np.zeros((n + 2, 3), np.float32)
    place[:n] = low if start is None else start
    reach.start = wp.array(place, dtype=wp.vec3, device="cpu")
    reach.shift = wp.zeros(n + 2, dtype=wp.vec3, device="cpu")
    reach.radius = wp.full(n + 2, radius, dtype=wp.float32, device="cpu")
    reach.mover = wp.full(n + 2, 1.0, dtype=wp.float32, device="cpu")
    return reach


class Finder:
    """Searches on one surface.

    Args:
        triangles: Particles, shape (n, 3).
        edges: Rows (v0, v1); the sides of the triangles are added where they are missing.
        x: Positions, shape (count, 3).
        world: World of every particle; None puts all in world 0.
        rest: Positions of the rest shape; None is ``x``.
        room: Room of the buffers at first.
    """

    def __init__(self, triangles, x, world=None, rest=None, ring=1, exclusion=0.0, barred=(NONE, NONE), edges=None, room=(16, 16)):
        self.x = np.asarray(x, np.float32)
        count = len(self.x)
        world = np.zeros(count, np.int32) if world is None else np.asarray(world, np.int32)
        rows = np.empty((0, 4), np.int32) if edges is None else np.concatenate([np.full_like(edges, -1), edges], axis=1)
        self.surface = Surface(np.asarray(triangles, np.int32), rows, world)
        index = np.arange(count, dtype=np.int32)
        worlds = max(int(world.max(initial=0)) + 1, 1)
        self.trees = SurfaceTrees(self.surface, index, worlds, count, "cpu")
        rest = wp.array(self.x if rest is None else np.asarray(rest, np.float32), dtype=wp.vec3, device="cpu")
        self.filter = make_filter(self.surface, index, index, rest, ring, exclusion, *barred)
        self.search = PairSearch(self.trees, self.filter, 1e-5, room, "cpu")
        self.recorder = Recorder(wp.get_device("cpu"))
        self.grown = 0
        self.trees.sort(wp.array(self.x, dtype=wp.vec3, device="cpu"))

    def find(self, distance):
        """Pairs nearer than a distance: two dicts {(feature, feature): (distance, acts)}; edges are in ascending order."""
        x = self.x.astype(np.float64)
        room = 0.5 * distance * (1.0 + 1e-5) + 1e-6 * np.abs(x)
        reach = reach_of(x - room, x + room, 0.5 * distance, self.x)
        self.search.run(reach, self.recorder)
        while self.search.grow():
            self.grown += 1
            self.search.run(reach, self.recorder)
        return [self.pairs(pool) for pool in self.search.pools]

    def pairs(self, pool):
        count = pool.needed()[1]
        query, target, distance, acts = (
            a.numpy()[:count] for a in (pool.pairs.query, pool.pairs.target, pool.pairs.distance, pool.pairs.acts)
        )  # fmt: skip
        if pool is self.search.vertex_triangle:
            query = self.surface.vertices[query, 0]
        else:
            query, target = np.minimum(query, target), np.maximum(query, target)
        found = {(int(q), int(t)): (float(d), bool(a)) for q, t, d, a in zip(query, target, distance, acts, strict=True)}
        assert len(found) == count, "a pair is found more than once"
        return found

    def all_pairs(self):
        """All pairs that share no vertex and whose worlds meet, with their distances: (vertex, triangle, d) and (edge, edge, d)."""
        x, s = self.x.astype(np.float64), self.surface
        v, t = (a.reshape(-1) for a in np.meshgrid(np.arange(len(s.vertices)), np.arange(len(s.triangles)), indexing="ij"))
        own = (s.vertices[v] == s.triangles[t]).any(axis=1)
        meet = (s.worlds[0][v] == s.worlds[2][t]) | (s.worlds[0][v] < 0) | (s.worlds[2][t] < 0)
        v, t = v[meet & ~own], t[meet & ~own]
        first = s.vertices[v, 0], t, point_triangle(x[s.vertices[v, 0]], *(x[s.triangles[t, k]] for k in range(3)))
        a, b = np.triu_indices(len(s.edges), 1)
        own = (s.edges[a][:, :, None] == s.edges[b][:, None, :]).any(axis=(1, 2))
        meet = (s.worlds[1][a] == s.worlds[1][b]) | (s.worlds[1][a] < 0) | (s.worlds[1][b] < 0)
        a, b = a[meet & ~own], b[meet & ~own]
        ends = (x[s.edges[a, 0]], x[s.edges[a, 1]], x[s.edges[b, 0]], x[s.edges[b, 1]])
        return first, (a, b, segment_segment(*ends))


def check(found, wanted, distance, slack=2e-6):
    """Whether found pairs are those nearer than a distance, but for rounding, at the right distances."""
    a, b, d = wanted
    known = {(int(i), int(j)): e for i, j, e in zip(a, b, d, strict=True) if e < distance + slack}
    sure = {pair for pair, e in known.items() if e < distance - slack}
    assert sure <= set(found) <= set(known), (len(sure - set(found)), len(set(found) - set(known)))
    if found:
        assert max(abs(found[pair][0] - known[pair]) for pair in found) < slack
    return len(found)


@wp.kernel(enable_backward=False)
def visit(work: Work, query: TreeView, target: TreeView, same: int, start: wp.array(dtype=wp.int32), number: wp.array(dtype=wp.int32),
          total: wp.array(dtype=wp.int32), query_out: wp.array(dtype=wp.int32), target_out: wp.array(dtype=wp.int32)):  # fmt: skip
    g = first_item(work, wp.tid())
    while g >= 0:
        number[g] = visit_tree(query, g, target, same, start, total, query_out, target_out)
        g = next_item(work, g)


def candidates(query, target, same, low, high):
    """Pairs of members of two trees whose boxes around the boxes of their corners meet, as found; with no more room than they need."""
    recorder = Recorder(wp.get_device("cpu"))
    wanted = wp.ones(1, dtype=wp.int32, device="cpu")
    reach = reach_of(low, high)
    for tree in {id(query): query, id(target): target}.values():
        tree.fit(reach.low, reach.high, wanted, recorder)
        tree.merge(wanted, recorder)
    start, number = (wp.zeros(query.leaves, dtype=wp.int32, device="cpu") for _ in range(2))
    needed = 0
    for _ in range(2):
        total = wp.zeros(1, dtype=wp.int32, device="cpu")
        found = [wp.zeros(needed, dtype=wp.int32, device="cpu") for _ in range(2)]
        outputs = [start, number, total, *found]
        recorder.launch(visit, query.leaves, [query.view, target.view, int(same)], outputs)
        needed = int(total.numpy()[0])
    assert number.numpy().sum() == needed
    q = query.view.member.numpy()[found[0].numpy()]
    t = target.view.member.numpy()[found[1].numpy()]
    return np.stack([np.minimum(q, t), np.maximum(q, t)] if same else [q, t], axis=1)

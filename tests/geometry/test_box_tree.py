"""Trees of boxes: the pairs that meet, against all of them in NumPy."""

import numpy as np
import pytest
import warp as wp

from hooke.geometry.box_tree import BoxTree
from tests.collision.pairs import candidates


def make(corners, world, x, worlds=None):
    """A tree over primitives, sorted for positions."""
    worlds = int(np.max(world, initial=0)) + 1 if worlds is None else worlds
    tree = BoxTree(corners, corners, np.asarray(world), worlds, len(x), "cpu")
    tree.sort(wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device="cpu"))
    return tree


def expected(one, other, same, low, high):
    """Pairs of primitives (corners, world) that share no corner, whose worlds meet and whose boxes meet."""
    low, high = (np.asarray(a, np.float32) for a in (low, high))
    (p, u), (q, v) = one, other
    a, b = (
        np.triu_indices(len(p), 1)
        if same
        else (i.reshape(-1) for i in np.meshgrid(np.arange(len(p)), np.arange(len(q)), indexing="ij"))
    )
    meet = ((u[a] == v[b]) | (u[a] < 0) | (v[b] < 0)) & ~(p[a][:, :, None] == q[b][:, None, :]).any(axis=(1, 2))
    a, b = a[meet], b[meet]
    boxes = [low[p].min(axis=1), high[p].max(axis=1), low[q].min(axis=1), high[q].max(axis=1)]
    overlap = ((boxes[0][a] <= boxes[3][b]) & (boxes[1][a] >= boxes[2][b])).all(axis=1)
    return np.stack([a[overlap], b[overlap]], axis=1)


def agree(found, wanted):
    order = [pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))] for pairs in (found, wanted)]
    return np.array_equal(*order)


def cloud(rng, count, corners, points, worlds):
    """Random primitives, each with corners of its own world, and their worlds; world -1 is the last."""
    world = rng.integers(-1, worlds, count).astype(np.int32)
    per = points // (worlds + 1)
    return np.array([(w % (worlds + 1)) * per + rng.choice(per, corners, replace=False) for w in world], np.int32), world


@pytest.mark.parametrize("worlds", [1, 3, 40])
@pytest.mark.parametrize("count", [1, 16, 17, 300, 700])
def test_pairs_are_those_of_all_boxes(count, worlds):
    """Primitives of two and three corners, alone and against each other, some of them of no world, some worlds empty."""
    rng = np.random.default_rng(count + worlds)
    points = 12 * (worlds + 1) * max(1, count // 60)
    x = rng.uniform(-1.0, 1.0, (points, 3))
    half = rng.uniform(0.0, 0.1, (points, 1))
    low, high = x - half, x + half
    edges, triangles = cloud(rng, count, 2, points, worlds), cloud(rng, count, 3, points, worlds)
    trees = [make(*kind, x, worlds) for kind in (edges, triangles)]
    for own, tree in zip((edges, triangles), trees, strict=True):
        assert agree(candidates(tree, tree, True, low, high), expected(own, own, True, low, high))
    assert agree(candidates(*trees, False, low, high), expected(edges, triangles, False, low, high))
    for tree in trees:  # the same after sorting for other places
        tree.sort(wp.array(rng.normal(size=(points, 3)).astype(np.float32), dtype=wp.vec3, device="cpu"))
    assert agree(candidates(*trees, False, low, high), expected(edges, triangles, False, low, high))


def test_more_leaves_than_a_list_holds():
    """Everything meets everything: 5000 points, 313 leaves."""
    x = np.zeros((5000, 3))
    own = np.arange(5000, dtype=np.int32)[:, None], np.zeros(5000, np.int32)
    few = np.arange(20, dtype=np.int32)[:, None] + 4980, np.zeros(20, np.int32)
    found = candidates(make(*few, x), make(*own, x), False, x, x)
    assert len(found) == 20 * 4999


def test_points_that_are_no_numbers_are_met_by_nobody():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 3))
    x[::7] = np.nan
    x[1::7] = np.inf
    own = np.arange(200, dtype=np.int32)[:, None], np.zeros(200, np.int32)
    found = candidates(make(*own, x), make(*own, x), False, x - 0.1, x + 0.1)
    good = np.isfinite(x).all(axis=1)
    wanted = expected(own, own, False, np.where(good[:, None], x - 0.1, 9.0), np.where(good[:, None], x + 0.1, -9.0))
    kept = found[good[found].all(axis=1)]
    assert agree(kept, wanted[good[wanted].all(axis=1)])


def test_thousands_of_worlds():
    """20 000 worlds of two points: a tree each, without a loop over pairs of worlds."""
    count = 40_000
    x = np.repeat(np.arange(count // 2), 2)[:, None] * (0.0, 0.0, 0.0)
    own = np.arange(count, dtype=np.int32)[:, None], np.repeat(np.arange(count // 2), 2).astype(np.int32)
    tree = make(*own, x)
    assert tree.leaves == count // 2
    assert agree(candidates(tree, tree, True, x, x), np.arange(count).reshape(-1, 2))


def test_nothing():
    tree = make(np.empty((0, 2), np.int32), np.empty(0, np.int32), np.zeros((3, 3)))
    assert tree.leaves == 0
    assert len(candidates(tree, tree, True, np.zeros((3, 3)), np.zeros((3, 3)))) == 0

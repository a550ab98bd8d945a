"""Patches of a graph: what they promise, on grids, chains and with nodes that take no part."""

import numpy as np
import pytest

from hooke.geometry.aggregation import aggregate
from hooke.geometry.graph import Graph
from hooke.model.generate.cloth import grid_triangles


def distances(graph, source, member):
    """Number of edges from a node to all, by breadth first search; -1 where no way leads."""
    found = np.full(graph.count, -1)
    found[source], front = 0, [source]
    while front:
        reached = []
        for i in front:
            for j in graph.neighbor[graph.start[i] : graph.start[i + 1]]:
                if member[j] and found[j] < 0:
                    found[j] = found[i] + 1
                    reached.append(j)
        front = reached
    return found


def strip(cells):
    """A grid of triangles, and a chain beside it."""
    triangles = grid_triangles(cells, cells)
    count = (cells + 1) ** 2
    chain = count + np.stack([np.arange(20), np.arange(1, 21)], axis=1)
    return Graph.of_stencils(count + 21, [triangles, chain])


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_roots_are_far_apart_and_patches_near_them(reach):
    graph = strip(9)
    member = np.random.default_rng(0).random(graph.count) > 0.1
    patch, count = aggregate(graph, member, reach)
    assert ((patch >= 0) == member).all() and set(patch[member]) == set(range(count))
    roots, away = [], []
    for i in np.flatnonzero(member):
        if all(not 0 <= way[i] <= reach for way in away):
            roots.append(i)
            away.append(distances(graph, i, member))
    away = np.array(away)
    assert patch[roots].tolist() == list(range(count))
    for p in range(count):
        assert (away[p][patch == p] >= 0).all() and away[p][patch == p].max() <= reach
    far = np.where(away < 0, graph.count, away)
    own = far[patch[member], np.flatnonzero(member)]
    assert (own == far[:, member].min(axis=0)).all()


def test_a_chain_is_cut_in_equal_pieces():
    graph = Graph.of_stencils(12, [np.stack([np.arange(11), np.arange(1, 12)], axis=1)])
    patch, count = aggregate(graph, np.ones(12, bool), 2)
    assert count == 4 and patch.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3]


def test_nodes_without_neighbours_are_patches():
    patch, count = aggregate(Graph.of_stencils(3, []), np.array([True, False, True]), 3)
    assert count == 2 and patch.tolist() == [0, -1, 1]

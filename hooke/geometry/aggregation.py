"""Aggregates of a graph: connected patches of neighbouring nodes, about as wide as they are far apart."""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.graph import Graph
from hooke.geometry.incidence import run_sequential

__all__ = ["aggregate"]


def aggregate(graph: Graph, member: np.ndarray, reach: int) -> tuple[np.ndarray, int]:
    """Divide nodes into patches around roots that are more than ``reach`` edges apart.

    The roots are found in the order of the nodes, so the patches of a part of the graph do not depend on the others. Every node
    belongs to the root that is the fewest edges away.

    Args:
        graph: Neighbours of the nodes.
        member: Which nodes take part, bool (count,); ways lead through these only.
        reach: Edges, 1 or more.

    Returns:
        The patch of every node (-1 if it takes no part), int32 (count,), and the number of patches.
    """
    count = graph.count
    patch, mark, queue = np.full(count, -1, np.int32), np.full(count, -1, np.int32), np.empty(count, np.int32)
    total = np.zeros(1, np.int32)
    taking_part = np.asarray(member, np.int32)
    run_sequential(grow_patches, graph.start, graph.neighbor, taking_part, np.zeros(reach, np.int32), patch, mark, queue, total)
    return patch, int(total[0])


@wp.kernel(enable_backward=False)
def grow_patches(
    start: wp.array(dtype=wp.int32), neighbor: wp.array(dtype=wp.int32), member: wp.array(dtype=wp.int32),
    reach: wp.array(dtype=wp.int32), patch: wp.array(dtype=wp.int32), mark: wp.array(dtype=wp.int32),
    queue: wp.array(dtype=wp.int32), total: wp.array(dtype=wp.int32),
):  # fmt: skip
    """One thread: roots first, each with the nodes that are too near to be one (``mark`` 0 or more); then all grow by turns.

    ``reach`` has as many entries as there are edges to keep away.
    """
    for i in range(member.shape[0]):
        if member[i] != 0 and mark[i] < 0:
            patch[i] = total[0]
            total[0] = total[0] + 1
            # Where an earlier root is as near, all that is too near to this one behind it is too near to that one, and marked.
            mark[i] = 0
            queue[0] = i
            begin, end = int(0), int(1)
            for distance in range(reach.shape[0]):
                last = end
                for at in range(begin, last):
                    for k in range(start[queue[at]], start[queue[at] + 1]):
                        j = neighbor[k]
                        if member[j] != 0 and (mark[j] < 0 or mark[j] > distance + 1):
                            mark[j] = distance + 1
                            queue[end] = j
                            end += 1
                begin = last
    end = int(0)
    for i in range(member.shape[0]):
        if patch[i] >= 0:
            queue[end] = i
            end += 1
    at = int(0)
    while at < end:
        i = queue[at]
        for k in range(start[i], start[i + 1]):
            j = neighbor[k]
            if member[j] != 0 and patch[j] < 0:
                patch[j] = patch[i]
                queue[end] = j
                end += 1
        at += 1

"""Pairs of shapes that never meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.data.table import Rows

__all__ = ["filter_pairs"]


def filter_pairs(tables: dict[str, Rows]) -> np.ndarray:
    """Pairs (n, 2) in order, each once, the lesser shape first: the user's, and those of bodies whose joint says so.

    A shape of a child with ``collision_filter_parent`` off meets its parent all the same. A joint to the world separates the child
    from the static shapes of its world and of those that all share.
    """
    pairs = [tables["shape_filter"].columns["collision_filter_pairs_array"].array.astype(np.int64)]
    shapes, joints = tables["shape"].columns, tables["joint"].columns
    order = np.argsort(shapes["body"].array, kind="stable")
    of_body = shapes["body"].array[order]
    asks, world = shapes["collision_filter_parent"].array, shapes["world"].array
    rows = np.flatnonzero(joints["collision_filter_parent"].array)
    ends = np.stack([joints["parent"].array[rows], joints["child"].array[rows]], axis=1)
    starts, stops = np.searchsorted(of_body, ends), np.searchsorted(of_body, ends, side="right")
    counts = stops - starts
    total = counts.prod(axis=1)
    joint = np.repeat(np.arange(len(rows)), total)  # one row for every pair of a shape of the parent with one of the child
    place = np.arange(len(joint)) - np.repeat(np.cumsum(total) - total, total)
    a = order[starts[joint, 0] + place // counts[joint, 1]]
    b = order[starts[joint, 1] + place % counts[joint, 1]]
    apart = asks[b] & ((world[a] == world[b]) | (world[a] < 0) | (world[b] < 0))
    pairs.append(np.stack([a[apart], b[apart]], axis=1))
    found = np.sort(np.concatenate(pairs), axis=1)
    return np.unique(found, axis=0).astype(np.int32) if len(found) else found.reshape(0, 2).astype(np.int32)

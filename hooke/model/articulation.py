"""Trees of joints: which joint moves the parent of another, in which order to go, where an articulation begins and ends."""

from __future__ import annotations

import numpy as np

__all__ = ["ancestors_of", "articulation_ranges", "parents_first"]


def articulation_ranges(owner: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First joint of every articulation, then the number of joints (count + 1,), and the end of every one (count,)."""
    joints = np.flatnonzero(owner >= 0)
    start = np.full(count + 1, len(owner), np.int32)
    end = np.full(count, len(owner), np.int32)
    np.minimum.at(start, owner[joints], joints.astype(np.int32))
    last = np.full(count, -1, np.int32)
    np.maximum.at(last, owner[joints], joints.astype(np.int32))
    end[:] = np.where(last >= 0, last + 1, start[:count])
    return start, end


def ancestors_of(owner: np.ndarray, parent: np.ndarray, child: np.ndarray, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """The joint of the same articulation that moves a joint's parent body (-1 for none), and the joints that lead back to themselves."""
    inside = np.flatnonzero(owner >= 0)
    mover = np.full(bodies + 1, -1, np.int32)
    mover[child[inside]] = inside
    ancestor = np.where(owner >= 0, mover[np.where(parent >= 0, parent, bodies)], -1).astype(np.int32)
    ancestor[(ancestor >= 0) & (owner[ancestor] != owner)] = -1
    return ancestor, np.flatnonzero(_depths(ancestor) < 0)


def _depths(ancestor: np.ndarray) -> np.ndarray:
    """Joints between each and the root of its tree; -1 on and behind a cycle. Every pass doubles the reach."""
    hops = (ancestor >= 0).astype(np.int64)
    target = ancestor.copy()
    for _ in range(max(1, len(ancestor)).bit_length() + 1):
        live = target >= 0
        hops[live] += hops[target[live]]
        target[live] = target[target[live]]
    return np.where(target >= 0, -1, hops)


def parents_first(owner: np.ndarray, ancestor: np.ndarray) -> np.ndarray:
    """The joints so that within every articulation's range each comes behind the one that moves its parent."""
    order = np.arange(len(owner))
    if (ancestor < order).all():
        return order.astype(np.int32)
    inside = np.flatnonzero(owner >= 0)
    places = inside[np.lexsort((inside, owner[inside]))]
    order[places] = inside[np.lexsort((inside, _depths(ancestor)[inside], owner[inside]))]
    return order.astype(np.int32)

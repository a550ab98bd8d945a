"""Which shapes may collide: by flags, bodies, worlds, groups and filters (NumPy)."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.model.enums import ShapeFlags

__all__ = ["find_shape_pairs", "groups_meet", "vec2i_array", "world_lists"]


def groups_meet(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether collision groups collide: 0 never does, positive ones with their like, negative ones with all others but their like."""
    return (a != 0) & (b != 0) & np.where((a > 0) & (b > 0), a == b, a != b)


def world_lists(world: np.ndarray, worlds: int) -> tuple[np.ndarray, np.ndarray]:
    """What every world meets, in order: its own entities and the shared ones; the last list is that of what belongs to none: all.

    Returns:
        Start of every list, shape (worlds + 2,), and their entries.
    """
    shared = np.flatnonzero(world < 0)
    order = np.argsort(world, kind="stable")
    bounds = np.searchsorted(world[order], np.arange(worlds + 1))
    lists = [np.sort(np.concatenate([shared, order[bounds[w] : bounds[w + 1]]])) for w in range(worlds)]
    lists.append(np.arange(len(world)))
    return np.concatenate([[0], np.cumsum([len(entries) for entries in lists])]), np.concatenate(lists)


def find_shape_pairs(model: Any) -> np.ndarray:
    """Pairs i < j of shapes that may collide, int32 (n, 2), in order.

    Left out are shapes without COLLIDE_SHAPES, shapes of one body (all static ones count as one), of different worlds, of groups that do
    not meet, and those in ``model.shape_collision_filter_pairs``.
    """
    count = model.shape_count
    if count == 0:
        return np.zeros((0, 2), np.int32)
    flags, body, world, group = (getattr(model, f"shape_{n}").numpy() for n in ("flags", "body", "world", "collision_group"))
    active = np.flatnonzero((flags & int(ShapeFlags.COLLIDE_SHAPES)) != 0)
    shared, found = active[world[active] < 0], []
    for w in range(-1, int(world.max()) + 1):
        own = active[world[active] == w]
        i, j = np.triu_indices(len(own), 1)
        found.append(np.stack([own[i], own[j]], axis=1))
        if w >= 0:
            found.append(np.stack(np.meshgrid(own, shared, indexing="ij"), axis=-1).reshape(-1, 2))
    pairs = np.sort(np.concatenate(found), axis=1)
    i, j = pairs.T
    kept = (body[i] != body[j]) & groups_meet(group[i], group[j])
    barred = np.array(sorted(model.shape_collision_filter_pairs), np.int64).reshape(-1, 2)
    kept &= ~np.isin(i.astype(np.int64) * count + j, barred[:, 0] * count + barred[:, 1])
    pairs = pairs[kept]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int32)


def vec2i_array(pairs: Any, device: Any) -> wp.array:
    """Pairs of anything (n, 2) as an array of vec2i."""
    return wp.array(np.asarray(pairs, np.int32).reshape(-1, 2), dtype=wp.vec2i, device=device)

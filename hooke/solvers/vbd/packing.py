"""Which particle is worked on by which lane, and the records that lanes read, packed for sixteen particles at a time.

What is said of particles holds for patches of them (:mod:`hooke.solvers.vbd.patches`): nodes, which move corners of elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.elements.lanes import LaneRecords, LaneView
from hooke.geometry.incidence import run_sequential
from hooke.math import LANES, IndexLanes, Lanes
from hooke.solvers.vbd.patches import Entries

__all__ = ["Layout", "lanes_of", "pack_records"]

_REGION = 4096
"""Neighbours that are kept together, in every colour: then a worker mostly reads what it has written itself."""

_PIECE = 16384
"""Elements whose constants are computed at a time."""


class Layout:
    """Slots for the particles: 16 per group, one after the other by colour, region, number of records and place.

    Args:
        load: Number of elements of every particle, shape (n,).
        colors: Particles of every colour.
        place: Positions by which neighbours are put side by side, shape (n, 3).
        points: Number of points behind the particles.

    Attributes:
        slot: Slot of every particle and point, shape (n + points,); slot // 16 is the group of a particle.
        own: Particle of every slot, n where there is none, shape (groups, 16).
        ranges: First group and number of groups of every colour.
        empty: A slot behind the last group.
        point: The first slot of points, behind that.
        size: Number of slots, and one more that is read in passing.
    """

    def __init__(self, load: np.ndarray, colors: list[np.ndarray], place: np.ndarray, points: int = 0):
        count = len(place)
        key = _morton(place)
        region = np.empty(count, np.int32)
        region[np.argsort(key, kind="stable")] = np.arange(count) // _REGION
        self.slot = np.zeros(count + points, np.int32)
        self.ranges, groups = [], 0
        for color in colors:
            ordered = color[np.lexsort((key[color], load[color], region[color]))]
            self.slot[ordered] = LANES * groups + np.arange(len(ordered), dtype=np.int32)
            number = -(-len(ordered) // LANES)
            self.ranges.append((groups, number))
            groups += number
        self.groups = groups
        self.empty = LANES * groups
        self.own = np.full((groups, LANES), count, np.int32)
        self.own.reshape(-1)[self.slot[:count]] = np.arange(count)
        self.point = self.empty + 1
        self.size = self.point + points + 1
        self.slot[count:] = self.point + np.arange(points)


def _morton(place: np.ndarray) -> np.ndarray:
    """Numbers that are close for points that are close."""
    finite = np.nan_to_num(place.astype(np.float64))
    size = max(float(np.ptp(finite, axis=0).max(initial=0.0)), 1.0e-12)
    cell = np.clip((finite - finite.min(axis=0, initial=0.0)) / size * 1023.0, 0, 1023).astype(np.int32)
    code = np.zeros(len(place), np.int32)
    for bit in range(10):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code


def lanes_of(flat: np.ndarray, dtype: Any, device: Any) -> tuple[wp.array, wp.array]:
    """The same memory as an array of numbers and, without its last dimension of 16, as an array of lanes."""
    numbers = wp.array(flat, device=device)
    return numbers, wp.array(ptr=numbers.ptr, dtype=dtype, shape=flat.shape[:-1], device=device)


@wp.kernel(enable_backward=False)
def rank_entries(
    node: wp.array2d(dtype=wp.int32), slots: wp.array(dtype=wp.int32), rank: wp.array2d(dtype=wp.int32),
    number: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The how-manieth entry of its node every entry is, by one thread."""
    for s in range(slots.shape[0]):
        for e in range(node.shape[0]):
            i = node[e, slots[s]]
            if i >= 0:
                rank[s, e] = number[i]
                number[i] = number[i] + 1


def pack_records(
    layout: Layout, place: np.ndarray, empty: int, view: LaneView, entries: Entries, table: Any, device: Any
) -> tuple[LaneRecords, list[wp.array]]:
    """The records of one view.

    Args:
        layout: Lanes of the nodes.
        place: Where the displacement of every corner stands.
        empty: A place of nobody.
        view: The view.
        entries: The elements as the nodes see them.
        table: Their table.
        device: Where the arrays live.

    Returns:
        The records, and the arrays that hold them.
    """
    columns = {name: array.numpy() for name, array in table.arrays.items() if isinstance(array, wp.array)}
    node = np.ascontiguousarray(entries.node, np.int32)
    number = np.zeros(len(layout.slot) + 1, np.int32)
    rank = np.empty((len(view.orders), len(node)), np.int32)
    run_sequential(rank_entries, node, np.array(list(view.orders), np.int32), rank, number)
    first = np.zeros(layout.groups + 1, np.int32)
    np.cumsum(number[layout.own].max(axis=1, initial=0), out=first[1:])
    height = int(first[-1])
    particles = len(next(iter(view.orders.values())))
    index = np.full((height, particles, LANES), empty, np.int32)
    width = view.constants(columns, entries.rows[:0], entries.together(0, slice(0))).shape[1]
    values = np.zeros((height, width, LANES), np.float32)
    for s, (lead, order) in enumerate(view.orders.items()):
        for begin in range(0, len(node), _PIECE):
            piece = slice(begin, begin + _PIECE)
            moved = node[piece, lead] >= 0
            slot = layout.slot[node[piece, lead][moved]]
            row, lane = first[slot // LANES] + rank[s, piece][moved], slot % LANES
            index[row, :, lane] = place[entries.corners[piece][moved][:, list(order)]]
            values[row, :, lane] = view.constants(columns, entries.rows[piece][moved], entries.together(lead, piece)[moved])
    records = LaneRecords()
    records.first = wp.array(first, dtype=wp.int32, device=device)
    index_numbers, records.index = lanes_of(index, IndexLanes, device)
    constants, records.constant = lanes_of(values, Lanes, device)
    offsets, records.offset = lanes_of(np.zeros((height, 3 * (particles - 1), LANES), np.float32), Lanes, device)
    return records, [index_numbers, constants, offsets]

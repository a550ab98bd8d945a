"""The sums of the elements of sixteen particles at a time, for CPUs.

Particles of a colour are sorted by the number of their records and by place, and cut into groups of 16 lanes. Every view of an element
(:class:`~hooke.elements.lanes.LaneView`) has one table of records; a group has as many rows in it as its busiest particle needs,
and the rows that others lack have constants of zero.
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import Element
from hooke.elements.lanes import LaneRecords, LaneView
from hooke.execution.flags import lane_options
from hooke.math import LANES, BlockL, Lanes, VectorL, add, isotropic, symmetric, vector

__all__ = ["LaneSweep", "make_lane_kernels", "place_records"]


@functools.cache
def make_lane_kernels(view: LaneView, name: str) -> tuple[Any, Any]:
    """The kernels (sum, begin) of a view; begin is None where there is nothing to begin."""
    evaluate, begin = view.evaluate, view.begin
    options = {"module": "unique", "enable_backward": False, "module_options": lane_options()}

    def sum_records(
        group: int, records: LaneRecords, d: wp.array(dtype=wp.vec3), rate: float, first_view: int, sums: wp.array2d(dtype=Lanes)
    ):
        g = group + wp.tid()
        gradient = vector(Lanes(0.0), Lanes(0.0), Lanes(0.0))
        hessian = isotropic(Lanes(0.0))
        if first_view == 0:
            gradient = vector(sums[g, 0], sums[g, 1], sums[g, 2])
            hessian = symmetric(sums[g, 3], sums[g, 4], sums[g, 5], sums[g, 6], sums[g, 7], sums[g, 8])
        for k in range(records.first[g], records.first[g + 1]):
            dg, dh = evaluate(records, k, d, rate)
            gradient = gradient + dg
            hessian = hessian + dh
        sums[g, 0] = gradient.x
        sums[g, 1] = gradient.y
        sums[g, 2] = gradient.z
        sums[g, 3] = hessian.xx
        sums[g, 4] = hessian.yy
        sums[g, 5] = hessian.zz
        sums[g, 6] = hessian.xy
        sums[g, 7] = hessian.xz
        sums[g, 8] = hessian.yz

    def begin_records(records: LaneRecords):
        begin(records, wp.tid())

    sum_kernel = wp.kernel(sum_records, name=f"sum_{name}", **options)
    return sum_kernel, wp.kernel(begin_records, name=f"begin_{name}", **options) if begin is not None else None


@wp.kernel(enable_backward=False)
def place_records(
    index: wp.array3d(dtype=wp.int32), x_start: wp.array(dtype=wp.vec3), offset: wp.array3d(dtype=wp.float32)
):  # fmt: skip
    """Where the particles of a record start the step, seen from its first."""
    k, lane = wp.tid()
    origin = x_start[index[k, 0, lane]]
    for p in range(1, index.shape[1]):
        way = x_start[index[k, p, lane]] - origin
        for c in range(3):
            offset[k, 3 * (p - 1) + c, lane] = way[c]


def _lanes(rows: int, columns: int, device: Any) -> tuple[wp.array, wp.array]:
    """The same memory as (rows, columns, 16) floats and as (rows, columns) lanes."""
    flat = wp.zeros((rows, columns, LANES), dtype=wp.float32, device=device)
    lanes = wp.array(ptr=flat.ptr, dtype=Lanes, shape=(rows, columns), device=device)
    return flat, lanes


class ViewRecords:
    """The records of one view of one kind of element."""

    def __init__(self, name: str, view: LaneView, entries: tuple[np.ndarray, np.ndarray, np.ndarray], sweep: "LaneSweep"):
        own, index, constants = entries
        device = sweep.device
        group, lane = sweep.group_of[own], sweep.lane_of[own]
        rank = _rank_within(own)
        count = np.zeros(sweep.group_count, np.int64)
        np.maximum.at(count, group, rank + 1)
        first = np.concatenate([[0], np.cumsum(count)])
        rows, row = int(first[-1]), first[group] + rank
        packed = np.zeros((rows, index.shape[1], LANES), np.int32)
        packed[row, :, lane] = index
        values = np.zeros((rows, constants.shape[1], LANES), np.float32)
        values[row, :, lane] = constants
        self.rows = rows
        self.first_group = [int(count[a:b].sum() > 0) for a, b in sweep.ranges]
        self.index = wp.array(packed, dtype=wp.int32, device=device)
        self.offset, offset_lanes = _lanes(rows, 3 * (index.shape[1] - 1), device)
        self.constant, constant_lanes = _lanes(rows, constants.shape[1], device)
        self.constant.assign(values)
        records = self.records = LaneRecords()
        records.first = wp.array(first, dtype=wp.int32, device=device)
        index_type = LaneRecords.vars["index"].type.dtype
        records.index = wp.array(ptr=self.index.ptr, dtype=index_type, shape=packed.shape[:2], device=device)
        records.offset, records.constant = offset_lanes, constant_lanes
        self.sum, self.begin = make_lane_kernels(view, name)


def _rank_within(own: np.ndarray) -> np.ndarray:
    """The how-manieth entry of its particle every entry is."""
    order = np.argsort(own, kind="stable")
    ordered = own[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1]) if len(own) else np.empty(0, np.int64)
    length = np.diff(np.concatenate([starts, [len(own)]]))
    rank = np.empty(len(own), np.int64)
    rank[order] = np.arange(len(own)) - np.repeat(starts, length)
    return rank


class LaneSweep:
    """Groups of lanes of every colour, the records of all views, and their sums.

    Args:
        active: Kinds of elements that act, with the rows that do and their particles.
        tables: Tables of the model.
        colors: Particles of every colour (NumPy).
        place: Positions by which neighbours are put side by side, shape (n, 3).
        device: A CPU.
    """

    def __init__(self, active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], colors: list[np.ndarray],
                 place: np.ndarray, device: Any):  # fmt: skip
        self.device = device
        count = len(place)
        load = np.zeros(count, np.int64)
        for _element, _rows, stencils in active:
            load += np.bincount(stencils.reshape(-1), minlength=count)
        key = _morton(place)
        self.group_of, self.lane_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.ranges, self.colors, at = [], [], 0
        for color in colors:
            ordered = color[np.lexsort((key[color], load[color]))]
            lane = np.arange(len(ordered))
            self.group_of[ordered], self.lane_of[ordered] = at + lane // LANES, lane % LANES
            groups = -(-len(ordered) // LANES)
            self.ranges.append((at, at + groups))
            self.colors.append(wp.array(ordered.astype(np.int32), dtype=wp.int32, device=device))
            at += groups
        self.group_count = at
        self.sums, self.sum_lanes = _lanes(at, 9, device)
        self.views = [
            ViewRecords(f"{element.name}_{n}", view, _entries(element, view, rows, stencils, tables), self)
            for element, rows, stencils in active
            for n, view in enumerate(element.views)
        ]

    def begin(self, x_start: wp.array) -> None:
        """Before the sweeps of a step: where everything starts."""
        for view in self.views:
            wp.launch(
                place_records, dim=(view.rows, LANES), inputs=[view.index, x_start], outputs=[view.offset], device=self.device
            )
            if view.begin is not None:
                wp.launch(view.begin, dim=view.rows, inputs=[view.records], device=self.device)

    def sum_elements(self, color: int, displacement: wp.array, dt: float) -> None:
        """Derivatives of all elements at the particles of a colour."""
        first, last = self.ranges[color]
        for n, view in enumerate(self.views):
            inputs = [first, view.records, displacement, 1.0 / dt, int(n == 0)]
            wp.launch(view.sum, dim=last - first, inputs=inputs, outputs=[self.sum_lanes], device=self.device)


def _entries(element: Element, view: LaneView, rows: np.ndarray, stencils: np.ndarray, tables: dict[str, Any]) -> Any:
    """Particle, particles of the record, and constants of all records of a view."""
    columns = {name: array.numpy() for name, array in tables[element.name].arrays.items() if isinstance(array, wp.array)}
    own = [stencils[:, slot] for slot in view.orders]
    index = [stencils[:, list(order)] for order in view.orders.values()]
    constants = [view.constants(columns, rows, slot) for slot in view.orders]
    return np.concatenate(own), np.concatenate(index), np.concatenate(constants)


def _morton(place: np.ndarray) -> np.ndarray:
    """Numbers that are close for points that are close."""
    finite = np.nan_to_num(place.astype(np.float64))
    size = max(float(np.ptp(finite, axis=0).max(initial=0.0)), 1.0e-12)
    cell = np.clip((finite - finite.min(axis=0)) / size * 1023.0, 0, 1023).astype(np.int64)
    code = np.zeros(len(place), np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code

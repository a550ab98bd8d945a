"""Sweeps over sixteen particles at a time, for CPUs.

Particles of a colour are sorted by region, by the number of their records and by place, and cut into groups of 16 lanes. Every view
of an element (:class:`~hooke.elements.lanes.LaneView`) has one table of records; a group has as many rows in it as its busiest
particle needs. Rows that others lack, and lanes without a particle, stand for one that weighs nothing and never moves.
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import Element
from hooke.elements.lanes import IndexLanes, LaneRecords, LaneView, gather_vectors, scatter_vectors
from hooke.execution.flags import lane_options
from hooke.execution.work import Work, first_item, next_item
from hooke.math import LANES, Lanes, add, isotropic, mul, select, solve, spread, sub, symmetric, vector
from hooke.model.tables import Particles
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.workspace import VertexMotion

__all__ = ["LaneGroups", "LaneSweep", "make_lane_kernels"]


_REGION = 1024
"""Neighbours that are kept together, in every colour: then a worker mostly reads what it has written itself."""


@wp.struct
class LaneGroups:
    """The groups of a step: particles, their m/dt^2 (0 if fixed), whether any has contacts, and the sums of those that have.

    ``sums`` (groups, 9): gradient xyz, then the block xx yy zz xy xz yz.
    """

    own: wp.array(dtype=IndexLanes)
    inertia: wp.array(dtype=Lanes)
    touched: wp.array(dtype=wp.int32)
    sums: wp.array2d(dtype=Lanes)


@functools.cache
def _make_chain(views: tuple[LaneView, ...]) -> tuple[Any, Any]:
    """The records of some views as a chain of structs, and the function that sums their derivatives."""
    if not views:

        @wp.struct
        class ChainEnd:
            nothing: wp.int32

        @wp.func
        def sum_none(chain: ChainEnd, g: int, d: wp.array(dtype=wp.vec3), rate: float):
            zero = spread(0.0)
            return vector(zero, zero, zero), isotropic(zero)

        return ChainEnd, sum_none

    Rest, sum_rest = _make_chain(views[1:])
    evaluate = views[0].evaluate
    Chain = wp.struct(type(f"LaneChain{len(views)}", (), {"__annotations__": {"records": LaneRecords, "rest": Rest},
                                                        "__module__": __name__, "__qualname__": f"LaneChain{len(views)}"}))  # fmt: skip

    @wp.func
    def sum_views(chain: Chain, g: int, d: wp.array(dtype=wp.vec3), rate: float):
        gradient, hessian = sum_rest(chain.rest, g, d, rate)
        for k in range(chain.records.first[g], chain.records.first[g + 1]):
            dg, dh = evaluate(chain.records, k, d, rate)
            gradient = gradient + dg
            hessian = hessian + dh
        return gradient, hessian

    return Chain, sum_views


@functools.cache
def make_lane_kernels(views: tuple[LaneView, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The kernels for some views: the sweep over a colour, and for every view what begins a step."""
    Chain, sum_views = _make_chain(views)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def sweep_lanes(work: Work, chain: Chain, rate: float, groups: LaneGroups, vertices: VertexMotion):
        """Newton steps of the particles of a colour; for groups with contacts only the sums."""
        g = first_item(work, wp.tid())
        while g >= 0:
            gradient, hessian = sum_views(chain, g, vertices.displacement, rate)
            if groups.touched[g] != 0:
                groups.sums[g, 0] = gradient.x
                groups.sums[g, 1] = gradient.y
                groups.sums[g, 2] = gradient.z
                groups.sums[g, 3] = hessian.xx
                groups.sums[g, 4] = hessian.yy
                groups.sums[g, 5] = hessian.zz
                groups.sums[g, 6] = hessian.xy
                groups.sums[g, 7] = hessian.xz
                groups.sums[g, 8] = hessian.yz
            else:
                i = groups.own[g]
                m = groups.inertia[g]
                d = gather_vectors(vertices.displacement, i)
                step = solve(hessian + isotropic(m), gradient + m * (d - gather_vectors(vertices.target, i)))
                d = d - select(m, spread(1.0), spread(0.0)) * step
                scatter_vectors(d.x, d.y, d.z, i, vertices.displacement)
            g = next_item(work, g)

    return sweep_lanes, tuple(_make_begin_kernel(view.begin) for view in views)


@functools.cache
def _make_begin_kernel(begin: Any) -> Any:
    if begin is None:

        @wp.func
        def nothing(records: LaneRecords, k: int):
            return

        begin = nothing

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def begin_records(work: Work, x_start: wp.array(dtype=wp.vec3), records: LaneRecords):
        """Where the particles of a record start the step, seen from its first, and what follows from that."""
        k = first_item(work, wp.tid())
        while k >= 0:
            origin = gather_vectors(x_start, records.index[k, 0])
            for p in range(1, records.index.shape[1]):
                way = gather_vectors(x_start, records.index[k, p]) - origin
                c = 3 * (p - 1)
                records.offset[k, c] = way.x
                records.offset[k, c + 1] = way.y
                records.offset[k, c + 2] = way.z
            begin(records, k)
            k = next_item(work, k)

    return begin_records


@wp.kernel(enable_backward=False)
def weigh_lanes(
    work: Work, own: wp.array2d(dtype=wp.int32), particles: Particles, row_first: wp.array(dtype=wp.int32), dt: float,
    inertia: wp.array2d(dtype=wp.float32), touched: wp.array(dtype=wp.int32),
):  # fmt: skip
    """m/dt^2 of every lane, 0 for a particle that is fixed, and whether anything touches a group."""
    g = first_item(work, wp.tid())
    while g >= 0:
        rows = int(0)
        for lane in range(own.shape[1]):
            i = own[g, lane]
            inertia[g, lane] = 0.0
            if i < particles.mass.shape[0]:
                rows += row_first[i + 1] - row_first[i]
                if not is_fixed(particles, i):
                    inertia[g, lane] = particles.mass[i] / (dt * dt)
        touched[g] = rows
        g = next_item(work, g)


def _lanes(rows: int, columns: int, device: Any) -> tuple[wp.array, wp.array]:
    """The same memory as (rows, columns, 16) floats and as (rows, columns) lanes."""
    flat = wp.zeros((rows, columns, LANES), dtype=wp.float32, device=device)
    lanes = wp.array(ptr=flat.ptr, dtype=Lanes, shape=(rows, columns), device=device)
    return flat, lanes


class ViewRecords:
    """The records of one view of one kind of element."""

    def __init__(self, begin: Any, entries: tuple[np.ndarray, np.ndarray, np.ndarray], sweep: "LaneSweep"):
        own, index, constants = entries
        device = sweep.device
        group, lane = sweep.group_of[own], sweep.lane_of[own]
        rank = _rank_within(own)
        count = np.zeros(sweep.group_count, np.int64)
        np.maximum.at(count, group, rank + 1)
        first = np.concatenate([[0], np.cumsum(count)])
        rows, row = int(first[-1]), first[group] + rank
        packed = np.full((rows, index.shape[1], LANES), len(sweep.group_of), np.int32)
        packed[row, :, lane] = index
        values = np.zeros((rows, constants.shape[1], LANES), np.float32)
        values[row, :, lane] = constants
        self.rows = rows
        self.index = wp.array(packed, dtype=wp.int32, device=device)
        self.offset, offset_lanes = _lanes(rows, 3 * (index.shape[1] - 1), device)
        self.constant, constant_lanes = _lanes(rows, constants.shape[1], device)
        self.constant.assign(values)
        records = self.records = LaneRecords()
        records.first = wp.array(first, dtype=wp.int32, device=device)
        records.index = wp.array(ptr=self.index.ptr, dtype=IndexLanes, shape=packed.shape[:2], device=device)
        records.offset, records.constant = offset_lanes, constant_lanes
        self.begin = begin


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
    """Groups of lanes of every colour, and the records of all views.

    Args:
        active: Kinds of elements that act, with the rows that do and their particles.
        tables: Tables of the model.
        colors: Particles of every colour (NumPy).
        place: Positions by which neighbours are put side by side, shape (n, 3).
        recorder: Launches the kernels.
    """

    def __init__(self, active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], colors: list[np.ndarray],
                 place: np.ndarray, recorder: Any):  # fmt: skip
        device = self.device = recorder.device
        self._recorder = recorder
        count = len(place)
        load = np.zeros(count, np.int64)
        for _element, _rows, stencils in active:
            load += np.bincount(stencils.reshape(-1), minlength=count)
        key = _morton(place)
        region = np.empty(count, np.int64)
        region[np.argsort(key, kind="stable")] = np.arange(count) // _REGION
        self.group_of, self.lane_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.ranges, at = [], 0
        for color in colors:
            ordered = color[np.lexsort((key[color], load[color], region[color]))]
            lane = np.arange(len(ordered))
            self.group_of[ordered], self.lane_of[ordered] = at + lane // LANES, lane % LANES
            number = -(-len(ordered) // LANES)
            self.ranges.append((at, number))
            at += number
        self.group_count = at
        own = np.full((at, LANES), count, np.int32)
        own[self.group_of, self.lane_of] = np.arange(count)
        self.own = wp.array(own, dtype=wp.int32, device=device)
        self.inertia = wp.zeros((at, LANES), dtype=wp.float32, device=device)
        self.sums, sum_lanes = _lanes(at, 9, device)
        groups = self.groups = LaneGroups()
        groups.own = wp.array(ptr=self.own.ptr, dtype=IndexLanes, shape=at, device=device)
        groups.inertia = wp.array(ptr=self.inertia.ptr, dtype=Lanes, shape=at, device=device)
        groups.touched, groups.sums = wp.zeros(at, dtype=wp.int32, device=device), sum_lanes
        views = tuple(view for element, _, _ in active for view in element.views)
        self._sweep, begins = make_lane_kernels(views)
        entries = [_entries(element, view, rows, stencils, tables) for element, rows, stencils in active for view in element.views]
        self.views = [ViewRecords(begin, entry, self) for begin, entry in zip(begins, entries, strict=True)]
        self._chain = _pack_chain(views, self.views)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [weigh_lanes, *(view.begin for view in self.views), self._sweep]

    def begin(self, particles: Any, row_first: wp.array, x_start: wp.array, dt: float) -> None:
        """Before the sweeps of a step: what everything weighs, where it starts, and what is touched."""
        inputs = [self.own, particles, row_first, dt]
        self._recorder.launch(weigh_lanes, self.group_count, inputs, [self.inertia, self.groups.touched])
        for view in self.views:
            self._recorder.launch(view.begin, view.rows, [x_start], [view.records])

    def sweep(self, color: int, vertices: Any, dt: float) -> None:
        """Newton steps of the untouched particles of a colour, and the sums of the others."""
        first, count = self.ranges[color]
        self._recorder.launch(self._sweep, count, [self._chain, 1.0 / dt], [self.groups, vertices], first=first)


def _pack_chain(views: tuple[LaneView, ...], records: list[ViewRecords]) -> Any:
    chain = _make_chain(())[0]()
    for n in reversed(range(len(views))):
        link = _make_chain(views[n:])[0]()
        link.records, link.rest = records[n].records, chain
        chain = link
    return chain


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

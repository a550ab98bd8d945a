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
from hooke.elements.lanes import IndexLanes, LaneRecords, LaneView, gather_vectors
from hooke.execution.flags import lane_options
from hooke.math import LANES, Lanes, add, isotropic, mul, select, solve, sub, symmetric, vector
from hooke.model.tables import Particles
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.workspace import VertexMotion

__all__ = ["LaneSweep", "make_lane_kernels", "place_records"]


def _kernel(function: Any, name: str) -> Any:
    """A kernel in a module of its own: in one with others the compiler inlines less, and a sweep takes a fifth longer."""
    return wp.kernel(function, name=name, module="unique", enable_backward=False, module_options=lane_options())


@functools.cache
def make_lane_kernels(elements: tuple[Element, ...]) -> tuple[list[tuple[Any, Any]], Any]:
    """The kernels for some kinds of elements: (sum, begin) of every view, and the block solve."""
    views = [_make_view_kernels(view, f"{element.name}_{n}") for element in elements for n, view in enumerate(element.views)]
    return views, _make_solve_kernel()


@functools.cache
def _make_view_kernels(view: LaneView, name: str) -> tuple[Any, Any]:
    """The kernels (sum, begin) of a view; begin is None where there is nothing to begin."""
    evaluate = view.evaluate

    def sum_records(
        group: int, records: LaneRecords, d: wp.array(dtype=wp.vec3), rate: float, first_view: int, sums: wp.array2d(dtype=Lanes)
    ):
        g = group + wp.tid()
        gradient = vector(Lanes(0.0), Lanes(0.0), Lanes(0.0))
        hessian = isotropic(Lanes(0.0))
        if first_view == 0:
            gradient, hessian = read_sums(sums, g)
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

    return _kernel(sum_records, f"sum_{name}"), None if view.begin is None else _make_begin_kernel(view.begin)


@functools.cache
def _make_begin_kernel(begin: Any) -> Any:
    def begin_records(records: LaneRecords):
        begin(records, wp.tid())

    return _kernel(begin_records, "begin_records")


@functools.cache
def _make_solve_kernel() -> Any:
    def solve_lanes(
        group: int, own: wp.array(dtype=IndexLanes), inertia: wp.array(dtype=Lanes), sums: wp.array2d(dtype=Lanes),
        vertices: VertexMotion,
    ):  # fmt: skip
        """The Newton step of all particles of a group; inertia 0 marks those that are fixed, index -1 lanes without one."""
        g = group + wp.tid()
        i = own[g]
        m = inertia[g]
        d = gather_vectors(vertices.displacement, i)
        gradient, hessian = read_sums(sums, g)
        step = solve(hessian + isotropic(m), gradient + m * (d - gather_vectors(vertices.target, i)))
        free = select(m, Lanes(1.0), Lanes(0.0))
        d = d - free * step
        scatter(d.x, d.y, d.z, i, vertices.displacement)
        x = gather_vectors(vertices.start, i) + d
        scatter(x.x, x.y, x.z, i, vertices.x)

    return _kernel(solve_lanes, "solve_lanes")


@wp.func
def read_sums(sums: wp.array2d(dtype=Lanes), g: int):
    gradient = vector(sums[g, 0], sums[g, 1], sums[g, 2])
    return gradient, symmetric(sums[g, 3], sums[g, 4], sums[g, 5], sums[g, 6], sums[g, 7], sums[g, 8])


@wp.func_native(
    f"for (auto l = 0; l < {LANES}; l++) if (i[l] >= 0) {{ "
    "auto p = reinterpret_cast<float*>(target.data) + 3 * i[l]; p[0] = x[l]; p[1] = y[l]; p[2] = z[l]; }"
)
def scatter(x: Lanes, y: Lanes, z: Lanes, i: IndexLanes, target: wp.array(dtype=wp.vec3)): ...


@wp.kernel(enable_backward=False)
def weigh_lanes(own: wp.array2d(dtype=wp.int32), particles: Particles, dt: float, inertia: wp.array2d(dtype=wp.float32)):
    """m/dt^2 of every lane; 0 for a particle that is fixed, and for a lane without one."""
    g, lane = wp.tid()
    i = own[g, lane]
    inertia[g, lane] = 0.0
    if i >= 0:
        if not is_fixed(particles, i):
            inertia[g, lane] = particles.mass[i] / (dt * dt)


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

    def __init__(self, kernels: tuple[Any, Any], entries: tuple[np.ndarray, np.ndarray, np.ndarray], sweep: "LaneSweep"):
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
        self.index = wp.array(packed, dtype=wp.int32, device=device)
        self.offset, offset_lanes = _lanes(rows, 3 * (index.shape[1] - 1), device)
        self.constant, constant_lanes = _lanes(rows, constants.shape[1], device)
        self.constant.assign(values)
        records = self.records = LaneRecords()
        records.first = wp.array(first, dtype=wp.int32, device=device)
        records.index = wp.array(ptr=self.index.ptr, dtype=IndexLanes, shape=packed.shape[:2], device=device)
        records.offset, records.constant = offset_lanes, constant_lanes
        self.sum, self.begin = kernels


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
        own = np.full((at, LANES), -1, np.int32)
        own[self.group_of, self.lane_of] = np.arange(count)
        self.own = wp.array(own, dtype=wp.int32, device=device)
        self.own_lanes = wp.array(ptr=self.own.ptr, dtype=IndexLanes, shape=at, device=device)
        self.inertia = wp.zeros((at, LANES), dtype=wp.float32, device=device)
        self.inertia_lanes = wp.array(ptr=self.inertia.ptr, dtype=Lanes, shape=at, device=device)
        self.sums, self.sum_lanes = _lanes(at, 9, device)
        kernels, self._solve = make_lane_kernels(tuple(element for element, _, _ in active))
        entries = [_entries(element, view, rows, stencils, tables) for element, rows, stencils in active for view in element.views]
        self.views = [ViewRecords(pair, entry, self) for pair, entry in zip(kernels, entries, strict=True)]

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        views = [kernel for view in self.views for kernel in (view.sum, view.begin)]
        return [weigh_lanes, *views, self._solve]

    def begin(self, particles: Any, x_start: wp.array, dt: float) -> None:
        """Before the sweeps of a step: what everything weighs and where it starts."""
        inputs = [self.own, particles, dt]
        wp.launch(weigh_lanes, dim=(self.group_count, LANES), inputs=inputs, outputs=[self.inertia], device=self.device)
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

    def solve(self, color: int, vertices: Any) -> None:
        """Newton steps of the particles of a colour with the sums as they are."""
        first, last = self.ranges[color]
        inputs = [first, self.own_lanes, self.inertia_lanes, self.sum_lanes]
        wp.launch(self._solve, dim=last - first, inputs=inputs, outputs=[vertices], device=self.device)


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

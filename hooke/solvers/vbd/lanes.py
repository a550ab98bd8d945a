"""Sweeps over sixteen particles at a time, for CPUs.

Every view of an element (:class:`~hooke.elements.lanes.LaneView`) has one table of records; a group of 16 particles has as many rows in
it as its busiest particle needs. Rows that others lack, and lanes without a particle, stand for one that weighs nothing and never
moves. During the sweeps particles stand in the order of their lanes (:mod:`hooke.solvers.vbd.packing`): what a group owns is loaded
and stored at once, and what a worker writes lies apart from what others write.
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.contact.particle import make_slip_correction
from hooke.elements import Element
from hooke.elements.lanes import LaneRecords, LaneView
from hooke.execution.flags import lane_options
from hooke.execution.work import SOME, Work, first_item, next_item
from hooke.math import (
    LANES,
    BlockL,
    IndexLanes,
    Lanes,
    VectorL,
    add,
    apply,
    dot,
    gather_indices,
    gather_numbers,
    gather_vectors,
    isotropic,
    load_indices,
    load_vectors,
    mul,
    nth_index,
    select,
    solve,
    spread,
    store_vectors,
    sub,
    symmetric,
    vector,
)
from hooke.model.tables import Particles
from hooke.solvers.vbd.contacts import make_lane_contact
from hooke.solvers.vbd.features import FeatureContacts, add_lane_features
from hooke.solvers.vbd.packing import Layout, lanes_of, pack_records
from hooke.solvers.vbd.patches import particle_entries
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.vertices import ATTEMPTS, make_struct
from hooke.solvers.vbd.workspace import NOBODY, ContactRows, VertexMotion

__all__ = [
    "LaneGroups",
    "LaneMotion",
    "LaneSweep",
    "begin_kernel",
    "keep_sums",
    "kept_sums",
    "make_lane_chain",
    "make_lane_kernels",
    "make_touched_kernel",
    "pack_lane_chain",
]


@wp.struct
class LaneMotion:
    """Particles within a step in the order of lanes, see :class:`~hooke.solvers.vbd.workspace.VertexMotion`."""

    start: wp.array(dtype=wp.vec3)
    target: wp.array(dtype=wp.vec3)
    displacement: wp.array(dtype=wp.vec3)


@wp.struct
class LaneGroups:
    """The groups of a step: m/dt^2 of their particles (0 if fixed), their contacts, and the sums of groups that have contacts.

    The contacts of a lane with shapes are the rows ``row_first ... row_end``, at most ``touched`` in a group; -1 there is a group that
    has come to rest. Those with the surface itself are at most ``met``. ``sums`` (groups, 9): gradient xyz, then the block xx yy zz xy
    xz yz.
    """

    inertia: wp.array(dtype=Lanes)
    met: wp.array(dtype=wp.int32)
    touched: wp.array(dtype=wp.int32)
    row_first: wp.array(dtype=IndexLanes)
    row_end: wp.array(dtype=IndexLanes)
    sums: wp.array2d(dtype=Lanes)


@functools.cache
def make_lane_chain(views: tuple[LaneView, ...]) -> tuple[Any, Any]:
    """The records of some views as a chain of structs, and the function that sums their derivatives."""
    if not views:
        ChainEnd = make_struct("LaneChainEnd", {"nothing": wp.int32})

        @wp.func
        def sum_none(chain: ChainEnd, g: int, d: wp.array(dtype=wp.vec3), rate: float):
            zero = spread(0.0)
            return vector(zero, zero, zero), isotropic(zero)

        return ChainEnd, sum_none

    Rest, sum_rest = make_lane_chain(views[1:])
    evaluate = views[0].evaluate
    Chain = make_struct(f"LaneChain{len(views)}", {"records": LaneRecords, "rest": Rest})

    @wp.func
    def sum_views(chain: Chain, g: int, d: wp.array(dtype=wp.vec3), rate: float):
        gradient, hessian = sum_rest(chain.rest, g, d, rate)
        for k in range(chain.records.first[g], chain.records.first[g + 1]):
            dg, dh = evaluate(chain.records, k, d, rate)
            gradient = gradient + dg
            hessian = hessian + dh
        return gradient, hessian

    return Chain, sum_views


@wp.func
def move_group(groups: LaneGroups, g: int, d: VectorL, gradient: VectorL, hessian: BlockL, motion: LaneMotion):
    """The Newton step of the particles of a group that are free."""
    d = d - select(groups.inertia[g], spread(1.0), spread(0.0)) * solve(hessian, gradient)
    store_vectors(d.x, d.y, d.z, g, motion.displacement)


@wp.func
def keep_sums(sums: wp.array2d(dtype=Lanes), g: int, gradient: VectorL, hessian: BlockL):
    sums[g, 0] = gradient.x
    sums[g, 1] = gradient.y
    sums[g, 2] = gradient.z
    sums[g, 3] = hessian.xx
    sums[g, 4] = hessian.yy
    sums[g, 5] = hessian.zz
    sums[g, 6] = hessian.xy
    sums[g, 7] = hessian.xz
    sums[g, 8] = hessian.yz


@wp.func
def kept_sums(sums: wp.array2d(dtype=Lanes), g: int):
    """Gradient and block of a group, with what was added so far."""
    gradient = vector(sums[g, 0], sums[g, 1], sums[g, 2])
    hessian = symmetric(
        sums[g, 3], sums[g, 4], sums[g, 5], sums[g, 6], sums[g, 7], sums[g, 8]
    )  # fmt: skip
    return gradient, hessian


@functools.cache
def make_lane_kernels(views: tuple[LaneView, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The kernels for some views: the sweep over a colour, and for every view what begins a step."""
    Chain, sum_views = make_lane_chain(views)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def sweep_lanes(work: Work, chain: Chain, rate: float, groups: LaneGroups, motion: LaneMotion):
        """Newton steps of the groups of a colour that nothing touches; for the others the sums, with inertia."""
        g = first_item(work, wp.tid())
        while g >= 0:
            if groups.touched[g] >= 0:
                gradient, hessian = sum_views(chain, g, motion.displacement, rate)
                m = groups.inertia[g]
                d = load_vectors(motion.displacement, g)
                gradient = gradient + m * (d - load_vectors(motion.target, g))
                hessian = hessian + isotropic(m)
                if groups.touched[g] + groups.met[g] == 0:
                    move_group(groups, g, d, gradient, hessian, motion)
                else:
                    keep_sums(groups.sums, g, gradient, hessian)
            g = next_item(work, g)

    return sweep_lanes, tuple(begin_kernel(view.begin) for view in views)


@functools.cache
def make_touched_kernel(friction: str) -> Any:
    """The kernel that moves what is touched, with a friction law; in one with the elements, it would take registers from them."""
    evaluate, slip_correction = make_lane_contact(friction), make_slip_correction(friction)

    @wp.func
    def add_contacts(groups: LaneGroups, g: int, rows: ContactRows, d: VectorL, rate: float, gradient: VectorL, hessian: BlockL):
        """The sums with the contacts of a group, and the block sharpened where they slide."""
        none = rows.radius.shape[0] - NOBODY
        for k in range(groups.touched[g]):
            r = nth_index(groups.row_first[g], groups.row_end[g], k, none)
            dg, dh, _load, _secant = evaluate(rows, r, d, rate)
            gradient = gradient + dg
            hessian = hessian + dh
        for k in range(groups.touched[g]):
            r = nth_index(groups.row_first[g], groups.row_end[g], k, none)
            _g, _h, load, secant = evaluate(rows, r, d, rate)
            reach = gather_vectors(rows.reach, r) + d
            normal = gather_vectors(rows.normal, r)
            mu = gather_numbers(rows.mu, r)
            grip = gather_numbers(rows.grip, r)
            hessian = hessian + slip_correction(reach, normal, load, secant, mu, grip, gradient, hessian)
        return gradient, hessian

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def sweep_touched(work: Work, rows: ContactRows, rate: float, groups: LaneGroups, motion: LaneMotion):
        """Newton steps of the groups of a colour that have contacts, with shapes or with the surface itself."""
        g = first_item(work, wp.tid())
        while g >= 0:
            if groups.touched[g] >= 0 and groups.touched[g] + groups.met[g] > 0:
                gradient, hessian = kept_sums(groups.sums, g)
                before = load_vectors(motion.displacement, g)
                least = spread(-1.0)
                attempt = int(0)
                while attempt < ATTEMPTS:
                    d = load_vectors(motion.displacement, g)
                    slope, block = add_contacts(groups, g, rows, d, rate, gradient + apply(hessian, d - before), hessian)
                    square = dot(slope, slope)
                    move_group(groups, g, d, select(square - least, spread(1.0), spread(0.0)) * slope, block, motion)
                    least = square
                    attempt = wp.where(groups.touched[g] > 0, attempt + 1, ATTEMPTS)
            g = next_item(work, g)

    return sweep_touched


@wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
def sweep_met(work: Work, features: FeatureContacts, groups: LaneGroups):
    """Add what the surface exerts on itself. Particles of one colour may meet, so none moves before all are summed."""
    g = first_item(work, wp.tid())
    while g >= 0:
        if groups.touched[g] >= 0 and groups.met[g] > 0:
            gradient, hessian = kept_sums(groups.sums, g)
            first = load_indices(features.first, LANES * g)
            end = load_indices(features.first, LANES * g + 1)
            none = features.entry.shape[0] - 1
            for k in range(groups.met[g]):
                entry = gather_indices(features.entry, nth_index(first, end, k, none), 1, 0)
                gradient, hessian = add_lane_features(features, entry, gradient, hessian)
            keep_sums(groups.sums, g, gradient, hessian)
        g = next_item(work, g)


@functools.cache
def begin_kernel(begin: Any) -> Any:
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
def load_lanes(
    work: Work, own: wp.array2d(dtype=wp.int32), particles: Particles, vertices: VertexMotion, rows: ContactRows, dt: float,
    inertia: wp.array2d(dtype=wp.float32), touched: wp.array(dtype=wp.int32), row_range: wp.array3d(dtype=wp.int32),
    motion: LaneMotion,
):  # fmt: skip
    """The particles of a group as a step begins: motion, m/dt^2 (0 for one that is fixed), and contacts."""
    g = first_item(work, wp.tid())
    while g >= 0:
        most = int(0)
        for lane in range(own.shape[1]):
            i = own[g, lane]
            inertia[g, lane] = 0.0
            row_range[0, g, lane] = 0
            row_range[1, g, lane] = 0
            if i < particles.mass.shape[0]:
                row_range[0, g, lane] = rows.first[i]
                row_range[1, g, lane] = rows.first[i + 1]
                most = wp.max(most, rows.first[i + 1] - rows.first[i])
                if not is_fixed(particles, i):
                    inertia[g, lane] = particles.mass[i] / (dt * dt)
                slot = g * own.shape[1] + lane
                motion.start[slot] = vertices.start[i]
                motion.target[slot] = vertices.target[i]
                motion.displacement[slot] = vertices.displacement[i]
        touched[g] = most
        g = next_item(work, g)


@wp.kernel(enable_backward=False)
def load_points(work: Work, vertices: VertexMotion, first: int, slot: int, motion: LaneMotion):
    """The points behind the particles, from number ``first`` on, to the slots from ``slot`` on."""
    k = first_item(work, wp.tid())
    while k >= 0:
        motion.start[slot + k] = vertices.start[first + k]
        motion.displacement[slot + k] = vertices.displacement[first + k]
        k = next_item(work, k)


@wp.kernel(enable_backward=False)
def store_lanes(work: Work, own: wp.array2d(dtype=wp.int32), count: int, motion: LaneMotion, vertices: VertexMotion):
    """The displacements that the sweeps have found, back in the order of particles."""
    g = first_item(work, wp.tid())
    while g >= 0:
        for lane in range(own.shape[1]):
            i = own[g, lane]
            if i < count:
                vertices.displacement[i] = motion.displacement[g * own.shape[1] + lane]
        g = next_item(work, g)


@wp.kernel(enable_backward=False)
def halt_lanes(
    work: Work, own: wp.array2d(dtype=wp.int32), world: wp.array(dtype=wp.int32), done: wp.array(dtype=wp.int32),
    inertia: wp.array2d(dtype=wp.float32), touched: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Hold the particles of worlds that are done, as if they were fixed, and rest the groups that have no others."""
    g = first_item(work, wp.tid())
    while g >= 0:
        going = int(0)
        for lane in range(own.shape[1]):
            i = own[g, lane]
            if i < world.shape[0]:
                if done[world[i]] != 0:
                    inertia[g, lane] = 0.0
                else:
                    going = 1
        if going == 0:
            touched[g] = -1
        g = next_item(work, g)


class LaneSweep:
    """Groups of lanes of every colour, and the records of all views.

    Args:
        active: Kinds of elements that act, with the rows that do and their particles.
        tables: Tables of the model.
        colors: Particles of every colour (NumPy).
        place: Positions by which neighbours are put side by side, shape (n, 3).
        points: Number of points behind the particles that elements are tied to.
        friction: Name of the friction law.
        recorder: Launches the kernels.
    """

    def __init__(self, active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], colors: list[np.ndarray],
                 place: np.ndarray, points: int, friction: str, recorder: Any):  # fmt: skip
        device = recorder.device
        self._recorder, self._count = recorder, len(place)
        load = np.zeros(len(place), np.int64)
        for _element, _rows, stencils in active:
            load += np.bincount(stencils.reshape(-1), minlength=len(place))
        layout = self.layout = Layout(load, colors, place, points)
        self._count, self._points, self._slot = len(place), points, layout.point
        self.ranges = layout.ranges
        self.own = wp.array(layout.own, dtype=wp.int32, device=device)
        self.motion, self.groups = LaneMotion(), LaneGroups()
        for name in ("start", "target", "displacement"):
            setattr(self.motion, name, wp.zeros(layout.size, dtype=wp.vec3, device=device))
        self.inertia, self.groups.inertia = lanes_of(np.zeros((layout.groups + 1, LANES), np.float32), Lanes, device)
        self._sums, self.groups.sums = lanes_of(np.zeros((layout.groups, 9, LANES), np.float32), Lanes, device)
        self.row_range, ranges = lanes_of(np.zeros((2, layout.groups, LANES), np.int32), IndexLanes, device)
        self.groups.row_first, self.groups.row_end = ranges[0], ranges[1]
        self.groups.touched = wp.zeros(layout.groups, dtype=wp.int32, device=device)
        self.groups.met = wp.zeros(layout.groups, dtype=wp.int32, device=device)
        self.particle = layout.own.reshape(-1)
        views = tuple(view for element, _, _ in active for view in element.views)
        self._sweep, self._begins = make_lane_kernels(views)
        self._sweep_touched = make_touched_kernel(friction)
        packed = []
        for element, rows, stencils in active:
            table = tables[element.table.name]
            corners = element.corners(rows, stencils, table.count, len(layout.slot))
            entries = particle_entries(element, rows, corners)
            packed += [pack_records(layout, layout.slot, layout.empty, view, entries, table, device) for view in element.views]
        self.records = [records for records, _arrays in packed]
        self._arrays = [arrays for _records, arrays in packed]  # the memory of the records
        self._chain = pack_lane_chain(views, self.records)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [load_lanes, load_points, halt_lanes, store_lanes, *self._begins, self._sweep, sweep_met, self._sweep_touched]

    def begin(self, particles: Any, rows: Any, vertices: Any, dt: float) -> None:
        """Before the sweeps of a step: what everything weighs, where it starts, and what touches it."""
        outputs = [self.inertia, self.groups.touched, self.row_range, self.motion]
        self._recorder.launch(load_lanes, len(self.own), [self.own, particles, vertices, rows, dt], outputs)
        self.move_points(vertices)
        for begin, records in zip(self._begins, self.records, strict=True):
            self._recorder.launch(begin, len(records.index), [self.motion.start], [records])

    def move_points(self, vertices: Any) -> None:
        """After the points behind the particles were moved."""
        if self._points:
            self._recorder.launch(load_points, self._points, [vertices, self._count, self._slot], [self.motion])

    def sweep(self, color: int, rows: Any, features: Any, dt: float) -> None:
        """Newton steps of the particles of a colour; ``features`` are the contacts of the surface with itself, if there may be any."""
        first, count = self.ranges[color]
        outputs = [self.groups, self.motion]
        self._recorder.launch(self._sweep, count, [self._chain, 1.0 / dt], outputs, first=first)
        if features is not None:
            self._recorder.launch(sweep_met, count, [features], [self.groups], first=first, grain=SOME)
        if features is not None or len(rows.source) > NOBODY:
            self._recorder.launch(self._sweep_touched, count, [rows, 1.0 / dt], outputs, first=first, grain=SOME)

    def halt(self, particles: Any, done: wp.array) -> None:
        """Hold the particles of worlds that are done until the step ends."""
        outputs = [self.inertia, self.groups.touched]
        self._recorder.launch(halt_lanes, len(self.own), [self.own, particles.world, done], outputs)

    def finish(self, vertices: Any) -> None:
        """After the sweeps of a step."""
        self._recorder.launch(store_lanes, len(self.own), [self.own, self._count, self.motion], [vertices])


def pack_lane_chain(views: tuple[LaneView, ...], records: list[LaneRecords]) -> Any:
    chain = make_lane_chain(())[0]()
    for n in reversed(range(len(views))):
        link = make_lane_chain(views[n:])[0]()
        link.records, link.rest = records[n], chain
        chain = link
    return chain

"""Sweeps over patches of particles for CPUs: sixteen patches, or sixteen shares of their elements, at a time."""

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import Element
from hooke.elements.lanes import LaneView
from hooke.execution.flags import lane_options
from hooke.execution.work import FEW, SOME, Work, first_item, next_item
from hooke.math import (
    LANES,
    BlockL,
    IndexLanes,
    Lanes,
    VectorL,
    add,
    gather_indices,
    gather_numbers,
    gather_vectors,
    isotropic,
    mul,
    nth_index,
    select,
    spread,
    store_numbers,
    sub,
    vector,
)
from hooke.solvers.vbd.contacts import make_lane_contact
from hooke.solvers.vbd.features import FeatureContacts, add_lane_features
from hooke.solvers.vbd.lanes import LaneMotion, LaneSweep, begin_kernel, make_lane_chain, pack_lane_chain
from hooke.solvers.vbd.packing import Layout, lanes_of, pack_records
from hooke.solvers.vbd.patch_sweep import PatchSweep
from hooke.solvers.vbd.patches import Patches
from hooke.solvers.vbd.workspace import NOBODY, ContactRows

__all__ = ["LanePatches", "make_lane_member_kernel", "make_lane_share_kernel"]


@wp.struct
class LaneMembers:
    """The particles of the finest patches, sixteen of which are a group.

    The particles of group g are the rows ``first[g] ... first[g + 1]`` of ``member``, lane by lane: their places in arrays of the sweeps,
    one of nobody in lanes that have fewer; ``inertia`` is m/dt^2 by place (0 if held). The contacts of a row with shapes are the rows
    ``row_first ... row_end``, at most ``touched`` in a group; those with the surface ``met_first ... met_end`` of its lists, at most
    ``met``.
    """

    first: wp.array(dtype=wp.int32)
    member: wp.array(dtype=IndexLanes)
    inertia: wp.array(dtype=wp.float32)
    touched: wp.array(dtype=wp.int32)
    row_first: wp.array(dtype=IndexLanes)
    row_end: wp.array(dtype=IndexLanes)
    met: wp.array(dtype=wp.int32)
    met_first: wp.array(dtype=IndexLanes)
    met_end: wp.array(dtype=IndexLanes)


@wp.func
def store_vector(v: VectorL, at: int, stride: int, sums: wp.array(dtype=wp.float32)):
    """Sixteen entries from ``at`` on, of three rows."""
    store_numbers(v.x, at, sums)
    store_numbers(v.y, at + stride, sums)
    store_numbers(v.z, at + 2 * stride, sums)


@wp.func
def store_block(b: BlockL, at: int, stride: int, sums: wp.array(dtype=wp.float32)):
    """Sixteen entries of six rows."""
    store_vector(vector(b.xx, b.yy, b.zz), at, stride, sums)
    store_vector(vector(b.xy, b.xz, b.yz), at + 3 * stride, stride, sums)


@functools.cache
def make_lane_member_kernel(friction: str) -> Any:
    """The kernel that sums over the particles of the finest patches, with a friction law."""
    evaluate = make_lane_contact(friction)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def sum_lane_members(
        work: Work, members: LaneMembers, rows: ContactRows, features: FeatureContacts, rate: float, motion: LaneMotion, first: int,
        stride: int, sums: wp.array(dtype=wp.float32),
    ):  # fmt: skip
        """Group g has the patches from ``first`` + 16 g on; a row of ``sums`` has ``stride`` numbers."""
        g = first_item(work, wp.tid())
        while g >= 0:
            zero = spread(0.0)
            gradient = vector(zero, zero, zero)
            block = isotropic(zero)
            touch = isotropic(zero)
            weight = zero
            alive = zero
            none = rows.radius.shape[0] - NOBODY
            nothing = features.entry.shape[0] - 1
            for k in range(members.first[g], members.first[g + 1]):
                place = members.member[k]
                d = gather_vectors(motion.displacement, place)
                inertia = gather_numbers(members.inertia, place)
                gradient = gradient + inertia * (d - gather_vectors(motion.target, place))
                weight = weight + inertia
                alive = alive + select(inertia, spread(1.0), zero)
                for n in range(members.touched[g]):
                    dg, dh, _load, _secant = evaluate(rows, nth_index(members.row_first[k], members.row_end[k], n, none), d, rate)
                    gradient = gradient + dg
                    block = block + dh
                for n in range(members.met[g]):
                    r = nth_index(members.met_first[k], members.met_end[k], n, nothing)
                    gradient, touch = add_lane_features(features, gather_indices(features.entry, r, 1, 0), gradient, touch)
            at = first + LANES * g
            store_vector(gradient, at, stride, sums)
            store_block(block + isotropic(weight), at + 3 * stride, stride, sums)
            store_block(touch, at + 9 * stride, stride, sums)
            store_numbers(alive, at + 15 * stride, sums)
            g = next_item(work, g)

    return sum_lane_members


@functools.cache
def make_lane_share_kernel(views: tuple[LaneView, ...]) -> Any:
    """The kernel that sums over the elements of shares, for some views."""
    Chain, sum_views = make_lane_chain(views)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def sum_lane_shares(work: Work, chain: Chain, rate: float, motion: LaneMotion, stride: int, sums: wp.array(dtype=wp.float32)):
        g = first_item(work, wp.tid())
        while g >= 0:
            gradient, hessian = sum_views(chain, g, motion.displacement, rate)
            store_vector(gradient, LANES * g, stride, sums)
            store_block(hessian, LANES * g + 3 * stride, stride, sums)
            g = next_item(work, g)

    return sum_lane_shares


@wp.kernel(enable_backward=False)
def list_contacts(
    work: Work, first: wp.array(dtype=wp.int32), who: wp.array2d(dtype=wp.int32), start: wp.array(dtype=wp.int32),
    begin: wp.array2d(dtype=wp.int32), end: wp.array2d(dtype=wp.int32), most: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The contacts of every particle, those of i being ``start[i] ... start[i + 1]``, and the most that one of a group has."""
    g = first_item(work, wp.tid())
    while g >= 0:
        most[g] = 0
        for k in range(first[g], first[g + 1]):
            for lane in range(who.shape[1]):
                i = who[k, lane]
                begin[k, lane] = 0
                end[k, lane] = 0
                if i >= 0:
                    begin[k, lane] = start[i]
                    end[k, lane] = start[i + 1]
                    most[g] = wp.max(most[g], start[i + 1] - start[i])
        g = next_item(work, g)


class LanePatches(PatchSweep):
    """Patches, sixteen at a time.

    Args:
        patches: The patches.
        active: Kinds of elements that act, with the rows that do and their particles.
        tables: Tables of the model.
        q: Positions of the particles [m], shape (n, 3).
        lanes: The sweeps of particles.
        friction: Name of the friction law.
        recorder: Launches the kernels.

    Attributes:
        records: Records of the views of all elements that reach out of patches.
    """

    def __init__(
        self, patches: Patches, active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], q: np.ndarray,
        lanes: LaneSweep, friction: str, recorder: Any,
    ):  # fmt: skip
        outer, self._lanes = lanes.layout, lanes
        entries = patches.all_entries(active, tables, len(outer.slot))
        super().__init__(patches, entries, outer.slot, lanes.motion.displacement, recorder)
        layout = self._lay_out(q)
        self._ranges = layout.ranges
        views = tuple(view for element, _, _ in active for view in element.patch_views or element.views)
        self._sum_members, self._sum_shares = make_lane_member_kernel(friction), make_lane_share_kernel(views)
        self._begins = [begin_kernel(view.begin) for view in views]
        packed = []
        for (element, _rows, _stencils), shared in zip(active, self.entries, strict=True):
            table = tables[element.table.name]
            for view in element.patch_views or element.views:
                packed.append(pack_records(layout, outer.slot, outer.empty, view, shared, table, recorder.device))
        self.records = [records for records, _arrays in packed]
        self._memory: list[Any] = [arrays for _records, arrays in packed]
        self._chain = pack_lane_chain(views, self.records)
        self._list_members(outer)

    def _lay_out(self, q: np.ndarray) -> Layout:
        """Lanes for the shares."""
        shares = sum(map(len, self.share_colors))
        load, where = np.zeros(shares, np.int64), np.zeros((shares, 3))
        for entries in self.entries:
            row, corner = np.nonzero(entries.node >= 0)
            share = entries.node[row, corner]
            load += np.bincount(share, minlength=shares)
            where[share] = q[entries.corners[row, corner]]
        layout = Layout(load, self.share_colors, where)
        self.place_shares(layout.slot, LANES * layout.groups)
        return layout

    def _list_members(self, outer: Layout) -> None:
        """The particles of the finest patches, row by row."""
        particles, owner = self.patches.members(self.patches.levels[-1])
        start, count = self.finest
        size = np.bincount(owner - start, minlength=LANES * -(-count // LANES))
        first = np.concatenate([[0], np.cumsum(size.reshape(-1, LANES).max(axis=1))])
        row = first[(owner - start) // LANES] + np.arange(len(owner)) - (np.cumsum(size) - size)[owner - start]
        particle = np.full((first[-1], LANES), -1, np.int32)
        particle[row, (owner - start) % LANES] = particles
        place = np.where(particle >= 0, outer.slot[particle], -1).astype(np.int32)
        device, members = self._recorder.device, LaneMembers()
        self._particle, self._place, members.first = (wp.array(n, dtype=wp.int32, device=device) for n in (particle, place, first))
        arrays = {"member": np.where(place >= 0, place, outer.empty).astype(np.int32)}
        arrays |= {name: np.zeros_like(place) for name in ("row_first", "row_end", "met_first", "met_end")}
        self._numbers = {}
        for name, array in arrays.items():
            self._numbers[name], lanes = lanes_of(array, IndexLanes, device)
            setattr(members, name, lanes)
        self._groups = len(first) - 1
        members.touched, members.met = (wp.zeros(self._groups, dtype=wp.int32, device=device) for _ in range(2))
        members.inertia = self._lanes.inertia.flatten()
        self._members = members

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [*super().kernels, *self._begins, self._sum_members, self._sum_shares, list_contacts]

    def begin(self, rows: ContactRows, dt: float) -> None:
        """Before the sweeps of a step, after those of particles have begun."""
        for begin, records in zip(self._begins, self.records, strict=True):
            self._recorder.launch(begin, len(records.index), [self._lanes.motion.start], [records])
        self._list_contacts("row", self._particle, rows.first, self._members.touched)

    def _list_contacts(self, kind: str, who: wp.array, start: wp.array, most: wp.array) -> None:
        outputs = [self._numbers[f"{kind}_first"], self._numbers[f"{kind}_end"], most]
        self._recorder.launch(list_contacts, self._groups, [self._members.first, who, start], outputs, grain=FEW)

    def sum_members(self, rows: ContactRows, features: Any, done: wp.array, dt: float) -> None:
        """The sums of the patches of the finest level."""
        if features is not None:
            self._list_contacts("met", self._place, features.first, self._members.met)
        inputs = [self._members, rows, features or FeatureContacts(), 1.0 / dt, self._lanes.motion]
        inputs += [self.finest[0], self.sums.shape[1]]
        self._recorder.launch(self._sum_members, self._groups, inputs, [self.sums.flatten()], grain=SOME)

    def sum_shares(self, color: int, dt: float) -> None:
        """What elements exert on the patches of a colour."""
        first, count = self._ranges[color]
        inputs = [self._chain, 1.0 / dt, self._lanes.motion, self.elements.shape[1]]
        self._recorder.launch(self._sum_shares, count, inputs, [self.elements.flatten()], first=first)

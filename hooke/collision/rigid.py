"""Contacts between shapes: broad phase, narrow phase and rows, and the buffers for what they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.all_pairs import AllPairs
from hooke.collision.broad_phase import BroadPhase
from hooke.collision.listed_pairs import ListedPairs
from hooke.collision.matching import ContactMemory
from hooke.collision.midphase import Midphase
from hooke.collision.places import Moving, make_filter, make_places, place_shapes
from hooke.collision.rigid_rows import (
    BLOCK,
    MESHES,
    PairOrder,
    Pool,
    Touched,
    count_losses,
    make_collide_pairs,
    write_kinds,
    write_rigid_rows,
)
from hooke.collision.tree_pairs import TreePairs
from hooke.execution.reading import CountReader
from hooke.geometry.kind import GeoType
from hooke.model.contacts import Contacts
from hooke.model.enums import BodyFlags, ShapeFlags
from hooke.model.shape_pairs import find_shape_pairs, world_lists
from hooke.model.state import State

__all__ = ["RigidContacts", "RigidOptions"]

CROWD = 24
"""Shapes that a shape meets on average, above which a tree is quicker than asking each."""
RESORT = 16
"""Passes after which the shapes are put in order anew."""
FLOOR = 1000
"""Fewest rows that are made room for where shapes may meet."""
ROOM = 1.5
_ROWS = {GeoType.SPHERE: 4, GeoType.CAPSULE: 6}
"""Rows that a shape on a body is given at first; other kinds have twelve, what has triangles forty."""


@dataclass(frozen=True)
class RigidOptions:
    """What of a pipeline's arguments concerns contacts between shapes (see :class:`hooke.CollisionPipeline`)."""

    broad_phase: str | None = None
    shape_pairs_filtered: Any = None
    include_static_kinematic_pairs: bool = True
    shape_pairs_max: int | None = None
    max_triangle_pairs: int | None = None
    reduce_contacts: bool = True
    contact_matching: str = "disabled"
    contact_matching_pos_threshold: float = 5.0e-4
    contact_matching_normal_dot_threshold: float = 0.995
    contact_report: bool = False
    speculative_contact_gap_max: float | None = None


class RigidContacts:
    """Detection of contacts between the shapes of a model.

    Args:
        model: The model.
        tables: Its tables.
        options: Arguments of the pipeline.

    Attributes:
        active: Whether any two shapes may ever meet.
        rows: Rows to make room for at first.
        broad_phase: The way pairs are found.
        memory: What is remembered of the last pass.
    """

    def __init__(self, model: Any, tables: Any, options: RigidOptions):
        self.model, self.options, self.device = model, options, model.device
        self._shapes, self._bodies = tables["shape"], tables["body"]
        self.active = False
        self.rows = 0
        self._passes = 0
        self._columns = (
            {k: v.numpy() for k, v in self._shapes.arrays.items() if isinstance(v, wp.array)} if self._shapes.count else {}
        )
        listed = self._given_pairs()
        self.memory = ContactMemory(
            options.contact_matching, options.contact_matching_pos_threshold, options.contact_matching_normal_dot_threshold,
            options.contact_report, self.device,
        )  # fmt: skip
        if self._shapes.count < 2 or not self._may_meet():
            return
        self.active = True
        types, scales = self._columns["type"], self._columns["scale"]
        barred = getattr(model, "shape_collision_filter_pairs", None) or ()
        self._filters = make_filter(
            types, scales, self._columns["world"], model.world_count, barred, options.include_static_kinematic_pairs, self.device
        )
        self._places = make_places(types, scales, self.device)
        kinds = tuple(sorted({int(code) for code in types[self._colliding()]}))
        self._collide_pairs = make_collide_pairs(kinds)
        self.broad_phase = self._make_broad_phase(listed)
        self.midphase: Midphase | None = None
        if set(kinds) & set(MESHES):
            sources = self._shapes.arrays["source"]
            self.midphase = Midphase(
                self._columns, sources, kinds, options.reduce_contacts, options.max_triangle_pairs, self.device
            )
        self._order = PairOrder()
        self._sorts = not self.device.is_cpu and len(kinds) > 1  # a CPU does one pair at a time
        self._touched, self._pool = Touched(), Pool()
        self._total, self._end = CountReader(), CountReader()
        self._touched.total = wp.zeros(1, dtype=wp.int32, device=self.device)
        self._moving = Moving()
        self._no_bodies = wp.zeros(0, dtype=wp.transform, device=self.device)
        self._no_twists = wp.zeros(0, dtype=wp.spatial_vector, device=self.device)
        self.rows = self._estimate()
        self._reserve_pairs()
        self._reserve_pool(self.rows)

    # ---- what there is

    def _colliding(self) -> np.ndarray:
        return np.flatnonzero((self._columns["flags"] & int(ShapeFlags.COLLIDE_SHAPES)) != 0)

    def _may_meet(self) -> bool:
        """Whether there are two shapes that collide of different bodies; a rough answer, for scenes that never have contacts."""
        active = self._colliding()
        body, group = self._columns["body"][active], self._columns["collision_group"][active]
        carried = body >= 0
        if not self.options.include_static_kinematic_pairs and carried.any():
            flags = self._bodies.arrays["flags"].numpy()[body[carried]]
            carried[carried] = (flags & int(BodyFlags.KINEMATIC)) == 0
        return bool(len(active) > 1 and carried.any() and (group[carried] != 0).any() and len(np.unique(body)) > 1)

    def _given_pairs(self) -> np.ndarray | None:
        """The pairs of ``shape_pairs_filtered``, checked."""
        given = self.options.shape_pairs_filtered
        if given is None:
            return None
        pairs = np.asarray(given.numpy() if isinstance(given, wp.array) else given, np.int64)
        if pairs.size == 0:
            return np.zeros((0, 2), np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"CollisionPipeline: expected shape_pairs_filtered of shape (n, 2), found {pairs.shape}")
        bad = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= self._shapes.count).any(axis=1) | (pairs[:, 0] == pairs[:, 1]))
        if len(bad):
            raise ValueError(
                f"CollisionPipeline: shape_pairs_filtered[{bad[0]}] is {pairs[bad[0]].tolist()}, expected two different shapes from 0 to "
                f"{self._shapes.count - 1}; {len(bad)} pair(s) are wrong"
            )
        return np.unique(np.sort(pairs, axis=1), axis=0)

    def _make_broad_phase(self, listed: np.ndarray | None) -> BroadPhase:
        kind, room = self.options.broad_phase, self.options.shape_pairs_max
        tables = {"shape": self._shapes, "body": self._bodies}
        if listed is not None:
            kind = "explicit"
        if kind is None:
            start, _entries = world_lists(self._columns["world"], self.model.world_count)
            world = self._columns["world"]
            met = np.diff(start)[np.where(world < 0, self.model.world_count, world)]
            kind = "nxn" if met[self._columns["body"] >= 0].mean() <= CROWD else "sap"
        room = 8 * self._shapes.count if room is None else room
        shared = (tables, self._filters, self._places)
        if kind == "explicit":
            if listed is None:
                pairs = getattr(self.model, "shape_contact_pairs", None)
                listed = find_shape_pairs(self.model) if pairs is None else pairs.numpy().reshape(-1, 2)
            return ListedPairs(self._by_owner(listed), *shared, min(room, max(len(listed), 1)), self.device)
        if kind == "nxn":
            return AllPairs(*shared, room, self.device)
        return TreePairs(*shared, self.model.world_count, room, self.device)

    def _by_owner(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs as (owner, other), in order: the rule of :func:`hooke.collision.places.owner_of`."""
        rank = np.where(self._columns["body"] < 0, 2, self._filters.infinite.numpy())
        i, j = np.sort(pairs, axis=1).T
        swapped = rank[j] < rank[i]
        owner, other = np.where(swapped, j, i), np.where(swapped, i, j)
        order = np.lexsort((other, owner))
        return np.stack([owner[order], other[order]], axis=1)

    def _estimate(self) -> int:
        """Rows that a scene is likely to need."""
        chosen = self._colliding()
        types = self._columns["type"][chosen[self._columns["body"][chosen] >= 0]]
        rows = np.where(np.isin(types, MESHES), 40, 12)
        for code, number in _ROWS.items():
            rows = np.where(types == code, number, rows)
        return max(FLOOR, int(rows.sum()))

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a pass launches."""
        if not self.active:
            return []
        triangles = self.midphase.kernels if self.midphase else []
        rows = [write_kinds, write_rigid_rows, count_losses, *self.memory.kernels]
        return [place_shapes, *self.broad_phase.kernels, self._collide_pairs, *triangles, *rows]

    # ---- buffers

    def _reserve_pairs(self) -> None:
        self._room = self.broad_phase.room
        for name in ("number", "end", "start"):
            setattr(self._touched, name, wp.zeros(self._room, dtype=wp.int32, device=self.device))
        for name in ("kind", "pair"):
            setattr(self._order, name, wp.zeros(2 * self._room if self._sorts else 0, dtype=wp.int32, device=self.device))
        if self.midphase:
            self.midphase.reserve_pairs(self._room)

    def _reserve_pool(self, contacts: int) -> None:
        for name, annotation in Pool.vars.items():
            setattr(self._pool, name, wp.zeros(contacts, dtype=annotation.type.dtype, device=self.device))

    @property
    def blocks(self) -> int:
        """Blocks of pairs that there is room for."""
        return -(-self._room // int(BLOCK))

    def grow(self) -> bool:
        """Make room for what the last pass found; whether it had too little, and is to be done again. Reads the device."""
        grown = self.broad_phase.grow()
        if self.broad_phase.room > self._room:
            self._reserve_pairs()
        if self.midphase:
            grown = self.midphase.grow() or grown
        needed = self._total.read(self._touched.total)
        if needed > len(self._pool.feature):
            self._reserve_pool(int(ROOM * needed))
            grown = True
        return grown

    def needed(self) -> int:
        """Rows that the last pass found. Reads the device."""
        return self._end.read(self._touched.end)

    def lost(self) -> str:
        """What the last pass, in a capture, had no room for; empty if nothing. Reads the device."""
        if not self.active:
            return ""
        triangles = self.midphase.shortages() if self.midphase else []
        short = [
            *triangles,
            *self.broad_phase.shortages(),
            ("contacts", int(self._touched.total.numpy()[0]), len(self._pool.feature)),
        ]
        return "; ".join(f"{needed} {name} with room for {room}" for name, needed, room in short if needed > room)

    # ---- a pass

    def key(self, dt: float | None) -> tuple[Any, ...]:
        """All that the launches of a pass depend on, beside the contents of arrays and the arrays of the state."""
        if not self.active:
            return ()
        triangles = tuple(self.midphase.room) if self.midphase else ()
        sizes = self._room, len(self._pool.feature), self.memory.room, self.broad_phase.version, triangles
        return self._shapes.version, self._bodies.version, self._ahead(dt), sizes

    def _ahead(self, dt: float | None) -> tuple[float, float]:
        """How long, and how far at most, a pass looks ahead; 0 for the second is as far as shapes move."""
        most = self.options.speculative_contact_gap_max
        return (0.0, 0.0) if not dt or most == 0.0 else (dt, most or 0.0)

    def prepare(self, state: State, dt: float | None, captured: bool, recorder: Any) -> None:
        """Sort the shapes if it is time: every so many passes, and in a capture always. Launches outside of any recording."""
        if self._passes % RESORT == 0 or captured:
            self._place(state, dt, recorder)
            self.broad_phase.sort(recorder)
        self._passes += 1

    def find(self, state: State, dt: float | None, recorder: Any) -> None:
        """Find pairs and contacts; launches only."""
        self._place(state, dt, recorder)
        recorder.alone(self._touched.total.zero_)
        self.broad_phase.run(recorder)
        pairs, shapes = self.broad_phase.pairs, self._shapes.struct
        if self._sorts:
            recorder.launch(write_kinds, self._room, [pairs, shapes], [self._order])
            recorder.alone(wp.utils.radix_sort_pairs, self._order.kind, self._order.pair, self._room)
        inputs = [pairs, self._order, shapes, self._places]
        recorder.launch(self._collide_pairs, self.blocks, inputs, [self._touched, self._pool])
        if self.midphase:
            self.midphase.run(pairs, shapes, self._places, self._filters, self._touched, self._pool, recorder)
        recorder.alone(wp.utils.array_scan, self._touched.number, self._touched.end)

    def _place(self, state: State, dt: float | None, recorder: Any) -> None:
        self._moving.dt, self._moving.most = self._ahead(None if state.body_qd is None else dt)
        self._moving.gravity = self.model.gravity
        self._moving.body_q = self._no_bodies if state.body_q is None else state.body_q
        self._moving.body_qd = self._no_twists if state.body_qd is None else state.body_qd
        inputs = [self._shapes.struct, self._bodies.struct, self._filters, self._moving]
        recorder.launch(place_shapes, self._shapes.count, inputs, [self._places])

    def write(self, contacts: Contacts, recorder: Any) -> None:
        """Write the rows of what was found, and remember them; launches only."""
        inputs = [self.broad_phase.pairs, self._shapes.struct, self._places, self._touched, self._pool]
        recorder.launch(write_rigid_rows, self.blocks, inputs, [self.memory.memory, contacts.rigid_rows])
        inputs = [self.broad_phase.pairs, *self.broad_phase.boxes, self._touched, self._pool]
        recorder.launch(count_losses, 1, inputs, [contacts.contact_counters])
        if self.midphase:
            self.midphase.count_losses(contacts.contact_counters, recorder)
        self.memory.run(self._touched.end, contacts, recorder)

    @property
    def found(self) -> wp.array:
        """The last entry is the number of rows of the last pass."""
        return self._touched.end

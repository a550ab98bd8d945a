"""Contacts between bodies in SolverVBD: their rows, the groups of islands that they make, and what a step launches for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import FEW, whole_work
from hooke.model.contacts import rigid_rows
from hooke.solvers.vbd.body_balance import place_loads
from hooke.solvers.vbd.body_contacts import LIVE, BodyContacts, ContactOptions, judge_contacts
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.bounces import Restitution
from hooke.solvers.vbd.clusters import find_lone_groups, form_groups, is_small, make_groups, make_room, order_room
from hooke.solvers.vbd.contact_memory import (
    ContactPast,
    begin_contacts,
    finish_contacts,
    forget_contacts,
    list_contacts,
    remember_lists,
    set_penalties,
    sort_contacts,
    tame_groups,
    weigh_contacts,
)
from hooke.solvers.vbd.elimination_order import order_groups
from hooke.solvers.vbd.islands import Islands, make_islands
from hooke.solvers.vbd.workspace import allocate

__all__ = ["RigidContacts"]

_BY_BODY = ("first", "filled", "lone", "whole")


class RigidContacts:
    """The contacts between the bodies of a model.

    Args:
        model: The model.
        tables: Its tables.
        options: Arguments of the solver by name; read in every step.
        recorder: Launches the kernels.

    Attributes:
        rows: The rows as kernels take them.
        room: Rows there is room for.
        restitution: What they give back of an impact.
    """

    def __init__(self, model: Any, tables: dict[str, Any], options: dict[str, Any], recorder: Any):
        self._model, self._tables, self._given, self._recorder = model, tables, options, recorder
        self._device, self._bodies = recorder.device, tables["body"].count
        self.none = allocate(BodyContacts, 0, self._device)
        self.rows: Any = None
        self._past: Any = None
        self.room = -1
        self.restitution = Restitution(model, tables, options, recorder)
        if getattr(model, "rigid_contact_max", None):  # so that the first step may be captured
            self.reserve(model.rigid_contact_max)
        self.large: Islands | None = None

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        rows = [
            begin_contacts,
            list_contacts,
            sort_contacts,
            weigh_contacts,
            set_penalties,
            judge_contacts,
            tame_groups,
            finish_contacts,
            remember_lists,
        ]
        return [*rows, form_groups, order_groups, find_lone_groups, *self.restitution.kernels]

    def bind(self, islands: Islands, mimics: Any, moves: np.ndarray, *couplings: Any) -> None:
        """Which islands there are.

        Args:
            islands: All of them.
            mimics: The mimics among their nodes.
            moves: Which bodies move, bool (bodies,).
            *couplings: What else :func:`~hooke.solvers.vbd.islands.make_islands` is given for them.
        """
        first, item = islands.first.numpy(), islands.item.numpy()
        used = {end: getattr(islands, end).numpy() != -1 for end in ("parent", "child", "mimic")}
        self._mimics, joint_count = mimics, len(used["child"])
        small: list[tuple[list[int], int]] = []
        large, jointed = np.zeros(self._bodies, bool), np.zeros(self._bodies, np.int32)
        for k in range(len(first) - 1):
            nodes = item[first[k] : first[k + 1]]
            joints = -1 - nodes[(nodes < 0) & (nodes >= -joint_count)]
            follow = -1 - nodes[nodes < -joint_count] - joint_count
            jointed[nodes[nodes >= 0]] = int(len(joints) > 0)
            edges = int(used["parent"][joints].sum() + used["child"][joints].sum() + used["mimic"].reshape(-1, 4)[follow].sum())
            if is_small(len(nodes), edges):
                small.append((nodes.tolist(), edges))
            else:
                large[nodes[nodes >= 0]] = True
        self._jointed = wp.array(jointed, dtype=wp.int32, device=self._device)
        self._groups = make_groups(small, self._tables["body"].arrays["world"].numpy(), self._device)
        self._order = order_room(self._groups, self._device)
        self._first = make_room(self._groups, self._order, islands, None, self._device)
        self._second = make_room(self._groups, self._order, islands, self._first, self._device)
        self.large = make_islands(moves & large, *couplings) if large.any() else None
        if self.large is not None:
            self.large.first_end, self.large.end = islands.first_end, islands.end
        self._counts = len(small), 0 if self.large is None else len(self.large.first) - 1

    def needs(self, contacts: Any) -> bool:
        """Whether there is too little room for the rows of a buffer."""
        return contacts is not None and max(1, contacts.rigid_contact_max) > self.room

    def reserve(self, rows: int) -> None:
        """Make room for rows; what is remembered is kept."""
        room = max(1, rows)
        sizes = self._bodies + 1
        given = {name: wp.zeros(sizes, dtype=wp.int32, device=self._device) for name in _BY_BODY}
        given["number"] = wp.zeros(1, dtype=wp.int32, device=self._device)
        given |= {name: wp.zeros(sizes, dtype=wp.float32, device=self._device) for name in ("total", "bears", "fast")}
        lists = wp.zeros(2 * room, dtype=wp.int32, device=self._device)
        self.rows = allocate(BodyContacts, room, self._device, row=lists, **given)
        old = self._past
        first = wp.zeros(sizes, dtype=wp.int32, device=self._device)
        self._past = allocate(ContactPast, room, self._device, first=first, row=wp.zeros_like(lists))
        self._past.feature.fill_(-1)
        if old is not None:
            for name in ContactPast.vars:
                array = getattr(old, name)
                wp.copy(getattr(self._past, name), array, count=len(array))
        self._point = wp.zeros(room, dtype=wp.vec3, device=self._device)
        self.room = room
        self.restitution.reserve(room)

    @property
    def key(self) -> tuple[Any, ...]:
        """What the launches depend on beside the buffer."""
        return self.room, 0 if self.rows is None else self.rows.first.ptr, self.restitution.key

    @property
    def options(self) -> ContactOptions:
        """The options of the solver."""
        given, options = self._given, ContactOptions()
        alpha, beta = given["rigid_avbd_contact_alpha"], given["rigid_avbd_linear_beta"]
        options.hard = int(given["rigid_contact_hard"])
        options.alpha = given["rigid_avbd_alpha"] if alpha is None else alpha
        options.beta = given["rigid_avbd_beta"] if beta is None else beta
        options.gamma = given["rigid_avbd_gamma"]
        options.k_start = given["rigid_contact_k_start"]
        return options

    def begin(self, contacts: Any, motion: BodyMotion, dt: float) -> None:
        """The rows at the start of a step, and the groups."""
        launch, shapes, bodies = self._recorder.launch, self._tables["shape"].struct, self._tables["body"].struct
        rows, count, options = rigid_rows(contacts), contacts.rigid_contact_max, self.options
        self._recorder.alone(self._clear)
        inputs = [rows, shapes, bodies, motion, self._past, options, self._model.gravity, dt]
        launch(begin_contacts, count, inputs, [self.rows], grain=FEW)
        self._recorder.alone(self._scan)
        launch(list_contacts, self._blocks, [motion], [self.rows], grain=FEW)
        launch(sort_contacts, self._bodies, [], [self.rows], grain=FEW)
        launch(weigh_contacts, self._bodies, [bodies, motion, self._model.gravity, self._jointed], [self.rows], grain=FEW)
        joints, groups = self._tables["joint"].struct, self._groups
        for again in range(2 if groups.whole > 0 else 1):
            launch(form_groups, 1, [rows, motion, again], [groups, self.rows, self._first, self._second])
            inputs = [joints, self._mimics, self.rows, 1, again]
            launch(order_groups, self._counts[0], inputs, [self._order, self._first, groups.failed])
        inputs = [joints, self._mimics, self.rows, 2, 0]
        launch(order_groups, self._counts[0], inputs, [self._order, self._second, groups.failed])
        launch(find_lone_groups, self._counts[0], [bodies, self._first], [self.rows])
        if self.large is not None:
            launch(find_lone_groups, self._counts[1], [bodies, self.large], [self.rows])
        launch(set_penalties, self._blocks, [motion, options, dt], [self.rows], grain=FEW)

    @property
    def _blocks(self) -> int:
        """Blocks of rows that there is room for."""
        return -(-self.room // int(LIVE))

    def _clear(self) -> None:
        self.rows.filled.zero_()
        self.rows.number.zero_()

    def _scan(self) -> None:
        wp.utils.array_scan(self.rows.filled, self.rows.first, inclusive=False)
        self.rows.filled.zero_()

    def bounce(self, contacts: Any, motion: BodyMotion, dt: float) -> None:
        """What impacts of the step before give back, once the targets of the bodies are known."""
        if contacts is None:
            self.restitution.forget()
        else:
            self.restitution.begin(contacts, motion, self._past, self.rows, dt)

    def judge(self, motion: BodyMotion, number: int, dt: float) -> list[tuple[int, int, Islands, int]]:
        """Before iteration ``number``: the forces of all rows; and what to solve.

        That is bit of the grouping, whether groups with rows to others are left out, islands, and their largest number.
        """
        self._recorder.launch(judge_contacts, self._blocks, [self.options, number, dt], [motion, self.rows], grain=FEW)
        small = [(1, number % 2, self._first, self._counts[0])]
        if number % 2:
            small.append((2, 0, self._second, self._counts[0]))
        return small if self.large is None else [*small, (1 + number % 2, 0, self.large, self._counts[1])]

    def finish(self, contacts: Any, motion: BodyMotion, dt: float) -> None:
        """The forces at the end of a step."""
        launch = self._recorder.launch
        launch(tame_groups, self._counts[0], [self._first, self._jointed, self.rows, dt], [motion])
        launch(finish_contacts, self._blocks, [rigid_rows(contacts), motion, dt], [self.rows, self._past], grain=FEW)
        self.restitution.finish(contacts, motion, self.rows, dt)
        launch(remember_lists, self._bodies, [self.rows], [self._past], grain=FEW)

    def loads(self, contacts: Any, motion: BodyMotion) -> tuple[wp.array, wp.array] | None:
        """The force on body 1 of every row in the last step, and where it acts; None if the rows of a buffer were not solved."""
        if self.needs(contacts):
            return None
        count, device = contacts.rigid_contact_max, self._device
        inputs = [whole_work(0, count), rigid_rows(contacts), motion, self.rows]
        wp.launch(place_loads, dim=1 if device.is_cpu else count, inputs=inputs, outputs=[self._point], device=device)
        return self.rows.felt, self._point

    def reset(self, selected: wp.array) -> None:
        """Forget rows of selected worlds."""
        if self.room > 0 and self._tables["shape"].count:
            self.restitution.reset(selected, self._past)
            inputs = [self._tables["shape"].arrays["world"], selected]
            self._recorder.launch(forget_contacts, self.room, inputs, [self._past])

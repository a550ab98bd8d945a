"""Contacts between bodies in the formulation of the documented page: room for rows and history, and what a step launches for them."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.execution.work import FEW, whole_work
from hooke.model.contacts import rigid_rows
from hooke.solvers.vbd.bounces import Restitution
from hooke.solvers.vbd.page_contacts import (
    PageContactOptions,
    PageContactPast,
    PageContacts,
    PageLoads,
    begin_page_contacts,
    finish_page_contacts,
    forget_page_contacts,
    list_page_contacts,
    push_page,
    read_page_loads,
    sort_page_contacts,
    update_page_contacts,
)
from hooke.solvers.vbd.page_rows import PageBodyMotion
from hooke.solvers.vbd.workspace import allocate

__all__ = ["PageRigidContacts"]


class PageRigidContacts:
    """The contacts between the bodies of a model.

    Args:
        model: The model; where its ``rigid_contact_max`` is known, there is room for as many rows from the beginning.
        tables: Its tables.
        options: Arguments of the solver by name; read in every step.
        recorder: Launches the kernels.

    Attributes:
        rows: The rows as kernels take them.
        past: What the history keeps of them.
        room: Rows there is room for.
        loads: What they add to bodies.
        restitution: Not active; says so if shapes have some.
        none: An empty list.
        renews: Whether the step takes rows anew.
    """

    def __init__(self, model: Any, tables: dict[str, Any], options: dict[str, Any], recorder: Any):
        self._model, self._tables, self._given, self._recorder = model, tables, options, recorder
        self._device, self._bodies = recorder.device, tables["body"].count
        self.loads = allocate(PageLoads, self._bodies, self._device)
        self._forgotten = wp.zeros(model.world_count + 1, dtype=wp.bool, device=self._device)
        self.restitution = Restitution(model, tables, options, recorder)
        self.update, self.renews = True, True
        self.none = wp.zeros(0, dtype=wp.int32, device=self._device)
        self.room = -1
        self.rows: Any = None
        self.past: Any = None
        self._allocate(0)
        known = getattr(model, "rigid_contact_max", None)
        if known:
            self._allocate(max(1, known))

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        rows = [begin_page_contacts, list_page_contacts, sort_page_contacts, push_page, update_page_contacts]
        return [*rows, finish_page_contacts]

    def bind(self, *islands: Any) -> None:
        """Nothing: which bodies move is found out in every step."""

    def needs(self, contacts: Any) -> bool:
        """Whether there is too little room for the rows of a buffer."""
        return contacts is not None and max(1, contacts.rigid_contact_max) > self.room

    def reserve(self, rows: int) -> None:
        """Make room for rows; the history is kept."""
        self._allocate(max(1, rows))
        self.update = True  # rows that were not kept cannot be taken again

    def _allocate(self, room: int) -> None:
        device = self._device
        lists = {name: wp.zeros(self._bodies + 1, dtype=wp.int32, device=device) for name in ("first", "filled")}
        lists["row"] = wp.zeros(2 * room, dtype=wp.int32, device=device)
        inner = {"options": PageContactOptions(), "rows": PageContacts.vars["rows"].type()}
        self.rows = allocate(PageContacts, room, device, **lists, **inner)
        old = None if self.room <= 0 else self.past
        self.past = allocate(PageContactPast, room, device)
        self._load, self._point = (wp.zeros(room, dtype=wp.vec3, device=device) for _ in range(2))
        if old is not None:
            for name in PageContactPast.vars:
                array = getattr(old, name)
                wp.copy(getattr(self.past, name), array, count=len(array))
        self.room = room

    def prepare(self, contacts: Any) -> None:
        """Before a step is launched: whether it takes rows anew, which was asked for one step only.

        Raises:
            RuntimeError: The history has no matches to go by.
        """
        renew, self.update = self.update, True
        if renew and contacts is not None and contacts.rigid_contact_max and self._given["rigid_contact_history"]:
            if getattr(contacts, "rigid_contact_match_index", None) is None:
                raise RuntimeError(
                    "SolverVBD(rigid_contact_history=True): expected contacts with rigid_contact_match_index, found none; construct "
                    'CollisionPipeline(model, contact_matching="latest") and pass the buffers of its contacts(), or leave '
                    "rigid_contact_history at False"
                )
        self.renews = renew

    @property
    def key(self) -> tuple[Any, ...]:
        """What the launches depend on beside the buffer."""
        return self.room, self.rows.first.ptr, self.renews, self._given["friction_epsilon"]

    def view(self, contacts: Any) -> PageContacts:
        """The rows of a buffer with the options of now; without a buffer no row acts."""
        given, options = self._given, PageContactOptions()
        alpha, beta = given["rigid_avbd_contact_alpha"], given["rigid_avbd_linear_beta"]
        options.hard = int(given["rigid_contact_hard"] and contacts is not None)
        options.history, options.renew = int(given["rigid_contact_history"]), int(self.renews)
        options.alpha = given["rigid_avbd_alpha"] if alpha is None else alpha
        options.beta = given["rigid_avbd_beta"] if beta is None else beta
        options.gamma, options.k_start = given["rigid_avbd_gamma"], given["rigid_contact_k_start"]
        options.stick = given["rigid_contact_stick_motion_eps"]
        options.freeze_translation = given["rigid_contact_stick_freeze_translation_eps"]
        options.freeze_angular = given["rigid_contact_stick_freeze_angular_eps"]
        options.friction_speed = given["friction_epsilon"]
        self.rows.options = options
        if contacts is not None:
            self.rows.rows = rigid_rows(contacts)
        return self.rows

    def begin(self, contacts: Any, body_q: wp.array, motion: PageBodyMotion) -> None:
        """The rows at the start of a step."""
        if contacts is None:
            if self.renews:
                self._recorder.alone(self.rows.first.zero_)
            return
        launch, shapes, bodies = self._recorder.launch, self._tables["shape"].struct, self._tables["body"].struct
        rows, count = self.view(contacts), contacts.rigid_contact_max
        if self.renews:
            self._recorder.alone(rows.filled.zero_)
        inputs = [shapes, bodies, motion, body_q, self.past, self._forgotten]
        launch(begin_page_contacts, count, inputs, [rows], grain=FEW)
        if self.renews:
            self._recorder.alone(self._scan)
            launch(list_page_contacts, count, [motion], [rows], grain=FEW)
            launch(sort_page_contacts, self._bodies, [], [rows], grain=FEW)

    def _scan(self) -> None:
        wp.utils.array_scan(self.rows.filled, self.rows.first, inclusive=False)
        self.rows.filled.zero_()
        self._forgotten.zero_()

    def push(self, color: wp.array, contacts: Any, motion: PageBodyMotion, dt: float) -> None:
        """What contacts add to the bodies of a colour."""
        if contacts is not None:
            inputs = [color, self._tables["body"].struct, self.view(contacts), motion, dt]
            self._recorder.launch(push_page, len(color), inputs, [self.loads])

    def iterated(self, contacts: Any, motion: PageBodyMotion) -> None:
        """Multipliers and penalties after all colours."""
        if contacts is not None:
            self._recorder.launch(update_page_contacts, contacts.rigid_contact_max, [motion], [self.view(contacts)], grain=FEW)

    def finish(self, contacts: Any, motion: PageBodyMotion, dt: float) -> None:
        """Forces, and the history."""
        if contacts is not None:
            outputs = [self.view(contacts), self.past]
            self._recorder.launch(finish_page_contacts, contacts.rigid_contact_max, [motion, dt], outputs, grain=FEW)

    def read(self, contacts: Any, body_q: Any, body_q_prev: Any, dt: float) -> tuple[wp.array, wp.array] | None:
        """The force on body 1 of every row and where it acts, at some poses, or where the last step ended; None if there is no room."""
        if self.needs(contacts):
            return None
        if body_q is None or body_q_prev is None:
            return self.rows.load, self.rows.point
        inputs = [whole_work(0, contacts.rigid_contact_max), self.view(contacts), body_q, body_q_prev, dt]
        dim = 1 if self._device.is_cpu else contacts.rigid_contact_max
        wp.launch(read_page_loads, dim=dim, inputs=inputs, outputs=[self._load, self._point], device=self._device)
        return self._load, self._point

    def reset(self, selected: wp.array) -> None:
        """Rows of selected worlds begin anew when rows are next taken anew."""
        size = len(self._forgotten)
        wp.launch(forget_page_contacts, dim=size, inputs=[selected], outputs=[self._forgotten], device=self._device)

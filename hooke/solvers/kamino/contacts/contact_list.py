"""Contacts of SolverKamino: the list of a step, first guesses from the step before, and what is read out."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.model.contacts import rigid_rows
from hooke.solvers.kamino.contacts.memory import WARM_STARTS, make_memory, make_memory_kernels
from hooke.solvers.kamino.contacts.points import (
    MIXES,
    Materials,
    count_points,
    list_rows,
    make_fill_points,
    make_points,
    sort_points,
)
from hooke.solvers.kamino.reset.forget import forget_contacts

__all__ = ["ContactList"]

_BY_WORLD = ("first", "last", "filled")


def _make(struct: Any, worlds: int, room: int, device: Any) -> Any:
    """A struct of arrays: one entry more than worlds for what is by world, else ``room``."""
    made = struct()
    for name, annotation in struct.vars.items():
        setattr(made, name, wp.zeros(worlds + 1 if name in _BY_WORLD else room, dtype=annotation.type.dtype, device=device))
    return made


class ContactList:
    """The contacts of all worlds.

    Args:
        tables: Tables of the model.
        worlds: Number of worlds.
        still: Which bodies do not answer impulses, int32 (bodies,).
        recorder: Launches the kernels.
        scalar: Type of numbers, wp.float64 or wp.float32.

    Attributes:
        points: The list: ``points.first[w]`` is the first of world w.
        materials: Rules; may be changed between steps, after which recorded steps are to be forgotten.
        room: Contacts that there is room for.
    """

    def __init__(self, tables: dict[str, Any], worlds: int, still: wp.array, recorder: Any, scalar: Any):
        self._tables, self._worlds, self._still, self._recorder, self._scalar = tables, worlds, still, recorder, scalar
        self._device = recorder.device
        self._fill, self._kernels = make_fill_points(scalar), make_memory_kernels(scalar)
        self.materials = Materials()
        self.materials.friction, self.materials.restitution = MIXES["average"], MIXES["min"]
        self.materials.culls, self.materials.worlds, self.materials.most = 1, worlds, 0
        self._memory: Any = None
        self.room = 0
        self.reserve(1)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that it may launch."""
        return [forget_contacts, count_points, list_rows, sort_points, self._fill, *vars(self._kernels).values()]

    def needs(self, contacts: Any) -> bool:
        """Whether there is too little room for the rows of a buffer."""
        return contacts is not None and contacts.rigid_contact_max > self.room

    def reserve(self, rows: int) -> None:
        """Make room for rows; what is remembered is kept."""
        old, self.room = self._memory, max(1, rows)
        self.points = _make(make_points(self._scalar), self._worlds, self.room, self._device)
        self._world = wp.full(self.room, -1, dtype=wp.int32, device=self._device)
        self._memory = _make(make_memory(self._scalar), self._worlds, self.room, self._device)
        if old is not None:
            for name in make_memory(self._scalar).vars:
                wp.copy(getattr(self._memory, name), getattr(old, name), count=len(getattr(old, name)))
        self.points.slot.fill_(-1)

    def find(self, contacts: Any, body_q: wp.array) -> None:
        """List the contacts of a buffer at some poses; None has no contacts."""
        points = self.points
        self._recorder.alone(self._clear)
        if contacts is None:
            return
        launch, rows, count = self._recorder.launch, rigid_rows(contacts), contacts.rigid_contact_max
        shapes, bodies = self._tables["shape"].struct, self._tables["body"].struct
        launch(count_points, count, [rows, shapes, body_q, self._still, self.materials], [self._world, points.filled])
        self._recorder.alone(self._scan)
        launch(list_rows, count, [points.first, self._world], [points.filled, points.row, points.slot])
        launch(sort_points, self._worlds, [points.first], [points.row])
        launch(self._fill, count, [rows, shapes, bodies, body_q, self.materials, self._world], [points])

    def _clear(self) -> None:
        self.points.filled.zero_()
        self.points.first.zero_()
        self.points.slot.fill_(-1)

    def _scan(self) -> None:
        wp.utils.array_scan(self.points.filled, self.points.first, inclusive=False)
        self.points.filled.zero_()

    def recall(self, body_q: wp.array, start: wp.array, way: str, scale: float, problem: Any, dt: float) -> None:
        """First guesses of impulses from the step before.

        Args:
            body_q: The poses that contacts were found at.
            start: First row of contacts in the vectors of the problem, of every world; int32 (W,).
            way: One of :data:`WARM_STARTS`.
            scale: Share of the force that is kept.
            problem: Takes the guesses.
            dt: Time step [s].
        """
        inputs = [self.points, self._tables["body"].struct, body_q, self._memory, start, WARM_STARTS[way], self._scalar(scale * dt)]
        self._recorder.launch(self._kernels.recall, self.room, inputs, [problem])

    def remember(self, body_q: wp.array, start: wp.array, problem: Any, dt: float) -> None:
        """Keep the solution of this step."""
        inputs = [self.points, self._tables["body"].struct, body_q, problem, start, self._scalar(dt)]
        self._recorder.launch(self._kernels.remember, self.room, inputs, [self._memory])

    def forget(self, selected: wp.array) -> None:
        """Forget the contacts of selected worlds, bool (W,) or one more."""
        self._recorder.launch(forget_contacts, self._worlds, [selected, self._memory.first], [self._memory.last])

    def read(self, contacts: Any, body_q: wp.array, force: wp.array, wrench: wp.array) -> None:
        """The forces of the last step on the bodies of shapes 1, for the rows of the buffer that it was given."""
        rows = rigid_rows(contacts)
        inputs = [rows, self.points, self._memory, self._tables["body"].struct, body_q]
        self._recorder.launch(self._kernels.read_forces, len(force), inputs, [force, wrench])

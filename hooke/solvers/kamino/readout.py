"""What SolverKamino tells of a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from hooke.model.contacts import RigidRows, rigid_rows
from hooke.solvers.solver import Status

__all__ = ["KaminoStatus", "check_buffer", "copy_rows", "force_arrays"]


@dataclass(frozen=True)
class KaminoStatus(Status):
    """How the last step went. ``residual`` is the largest natural map of any world [N s or m/s].

    Attributes:
        worlds: Of every world the fields of :class:`~hooke.solvers.kamino.ncp.options.WorldStatus`, a structured array (W,); empty where no
            world can have rows that are iterated on.
    """

    worlds: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def converged(self) -> bool:
        """Whether all worlds met their tolerances."""
        return not len(self.worlds) or bool(self.worlds["converged"].all())


def check_buffer(contacts: Any, state: Any, last: Any, own: bool, captured: bool) -> None:
    """Refuse what contacts cannot be written to, see ``SolverKamino.update_contacts``.

    Args:
        contacts: The buffer.
        state: The state.
        last: The contacts of the last step, or None.
        own: Whether the solver's own detector found them.
        captured: Whether the host must not be read.
    """
    for name, value in (("contacts", contacts), ("state", state)):
        if value is None:
            raise ValueError(f"SolverKamino.update_contacts: expected {name}, found None")
    if getattr(contacts, "rigid_contact_count", None) is None or not hasattr(contacts, "rigid_contact_max"):
        raise TypeError(f"SolverKamino.update_contacts: expected contacts as a Contacts, found {contacts!r}")
    if getattr(state, "body_q", None) is None:
        raise TypeError(f"SolverKamino.update_contacts: expected state as a State with body_q, found {state!r}")
    if last is None or contacts is last:
        return
    if not own:
        raise ValueError("SolverKamino.update_contacts: expected the contacts that the last step was given")
    needed = last.rigid_contact_max if captured else min(last.rigid_contact_max, int(last.rigid_contact_count.numpy()[0]))
    if needed > contacts.rigid_contact_max:
        raise RuntimeError(
            f"SolverKamino.update_contacts: {needed} rows are needed, the buffer has {contacts.rigid_contact_max}; make it with "
            f"hooke.Contacts({needed}, 0)"
        )


def copy_rows(source: Any, target: Any) -> None:
    """Copy rows of contacts between shapes from one buffer to another."""
    if source is target:
        return
    rows, to = rigid_rows(source), rigid_rows(target)
    for name in RigidRows.vars:
        array, room = getattr(rows, name), getattr(to, name)
        if array is not None and room is not None and len(array) and len(room):
            wp.copy(room, array, count=min(len(array), len(room)))


def force_arrays(contacts: Any) -> tuple[wp.array, wp.array]:
    """The arrays of a buffer that take forces and wrenches; a spare one, or an empty one, where it has none."""
    device = contacts.rigid_contact_count.device
    force, wrench = getattr(contacts, "rigid_contact_force", None), getattr(contacts, "force", None)
    if force is None:
        force = wp.zeros(contacts.rigid_contact_max, dtype=wp.vec3, device=device)
    return force, wp.zeros(0, dtype=wp.spatial_vector, device=device) if wrench is None else wrench

"""Checks of what SolverVBD works on: the model's bodies, colours and contact settings, and the states of a step."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.recorder import captured_by_user
from hooke.geometry.coloring import find_conflict
from hooke.model.check import check_coloring

__all__ = ["Swaps", "check_arrays", "check_colors", "check_notice", "check_step"]


def check_colors(model: Any, tables: dict[str, Any], active: list[Any]) -> list[wp.array]:
    """The particles of every colour; refuses colours that leave out particles or let two of them share an element.

    Args:
        model: The model.
        tables: Its tables.
        active: Kinds of elements that act, with their rows and particles.
    """
    count, groups = tables["particle"].count, model.particle_color_groups
    if count and not groups:
        raise ValueError(
            f"SolverVBD: the model has {count} particles but model.particle_color_groups is empty; call ModelBuilder.color() or "
            "ModelBuilder.set_coloring() before finalize()"
        )
    if tables["body"].count and not model.body_color_groups:
        raise ValueError(
            "SolverVBD: the model has bodies but model.body_color_groups is empty; call ModelBuilder.color() before finalize()"
        )
    colors = check_coloring("particle", [group.numpy() for group in groups], count)
    for element, rows, stencils in active:
        conflict = find_conflict(colors, stencils)
        if conflict is not None:
            k, i, j = conflict
            raise ValueError(
                f"SolverVBD: particles {i} and {j} have the same colour but share {element.name} {rows[k]}; call "
                "ModelBuilder.color() after all elements are added"
            )
    return [group for group in groups if len(group)]


def check_step(solver: Any, state_in: Any, state_out: Any, contacts: Any, dt: float) -> None:
    """Refuse a time step, states and contacts that a solver cannot work with."""
    if not 0.0 < dt < math.inf:
        raise ValueError(f"SolverVBD.step: expected dt > 0 s, found {dt}")
    model, device = solver.model, solver.device
    _check_material(model)
    moved = ("body_q",) if solver.integrate_with_external_rigid_solver else ("body_q", "body_qd")
    for name, state in (("state_in", state_in), ("state_out", state_out)):
        fields = ("particle_q", "particle_qd", "particle_f") if name == "state_in" else ("particle_q", "particle_qd")
        check_arrays(f"SolverVBD.step: {name}", state, fields, model.particle_count, "particles", device)
        if model.body_count:
            check_arrays(f"SolverVBD.step: {name}", state, moved, model.body_count, "bodies", device)
    if contacts is not None and contacts.soft_contact_count.device != device:
        raise ValueError(f"SolverVBD.step: contacts are on device {contacts.soft_contact_count.device}, the solver on {device}")


def _check_material(model: Any) -> None:
    """Refuse settings of contact that are no material."""
    for name in ("soft_contact_ke", "soft_contact_kd", "soft_contact_mu"):
        value = getattr(model, name)
        if not 0.0 <= value < math.inf:
            raise ValueError(f"SolverVBD.step: expected model.{name} >= 0 and finite, found {value!r}")


def check_notice(flags: int, device: Any) -> None:
    """Refuse a notice of changes during a capture: what follows from it is found out on the host."""
    if flags and captured_by_user(device):
        raise RuntimeError("SolverVBD.notify_model_changed: called during a capture; call it before the capture begins")


def check_arrays(where: str, state: Any, fields: tuple[str, ...], rows: int, noun: str, device: Any) -> None:
    """Refuse arrays of a state that are missing, of another length than the model's or on another device.

    ``particle_f`` may be missing, and all may where the model has no rows.
    """
    for field in fields:
        array = getattr(state, field)
        if array is None and (not rows or field == "particle_f"):
            continue
        if array is None or len(array) != rows:
            raise ValueError(f"{where}.{field} has {0 if array is None else len(array)} rows, the model {rows} {noun}")
        if array.device != device:
            raise ValueError(f"{where}.{field} is on device {array.device}, the solver on {device}")


class Swaps:
    """Notices a loop that forgets to swap its states, which then stands still, and says so once."""

    def __init__(self) -> None:
        self._pair: tuple[int, int] | None = None
        self._steps = 0
        self._warned = False

    def forget(self) -> None:
        """After a reset."""
        self._pair = None

    def notice(self, motion: Callable[[], list[tuple[Any, Any, Any]]], state_in: Any, state_out: Any) -> None:
        """At the beginning of a step. Reads the device only when the pair repeats, in the first steps.

        Args:
            motion: Gives, for particles and bodies, where the last step began and ended, and where the input is now.
            state_in: State at the start.
            state_out: State at the end.
        """
        pair = (id(state_in), id(state_out))
        if pair == self._pair and state_in is not state_out and self._steps < 8 and not self._warned:
            parts = motion()
            moved = any(not np.array_equal(start, end) for start, end, _now in parts)
            if moved and all(np.array_equal(start, now) for start, _end, now in parts):
                self._warned = True
                warnings.warn(
                    "SolverVBD.step was called twice with the same states and an unchanged state_in, so the simulation stands still; "
                    "swap them after each step: state_in, state_out = state_out, state_in",
                    stacklevel=3,
                )
        self._pair = pair
        self._steps += 1

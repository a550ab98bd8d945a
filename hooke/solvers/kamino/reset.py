"""Resetting worlds to the model's initial state."""

from functools import cache
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.model.enums import StateFlags
from hooke.solvers.kamino.inequality import KEYS
from hooke.solvers.kamino.structure import Structure
from hooke.solvers.reset import is_selected, restore

__all__ = ["Restoring", "make_forget_joints"]


@cache
def make_forget_joints(scalar: Any) -> Any:
    """The kernel over a type of numbers."""

    @wp.kernel(enable_backward=False, module="unique")
    def forget_joints(
        work: Work, world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), known: wp.array(dtype=wp.int32),
        impulse: wp.array(dtype=scalar), velocity: wp.array(dtype=scalar),
    ):  # fmt: skip
        """Coordinates of joints of selected worlds are not known any more, nor are impulses of their rows."""
        j = first_item(work, wp.tid())
        while j >= 0:
            if is_selected(selected, world[j]):
                known[j] = 0
                for k in range(KEYS * j, KEYS * (j + 1)):
                    impulse[k] = scalar(0.0)
                    velocity[k] = scalar(0.0)
            j = next_item(work, j)

    return forget_joints


class Restoring:
    """The initial values of a model's states, and which world each belongs to.

    Args:
        model: The model.
        tables: Its tables.
        structure: Its structure.
        device: Where the states are.
    """

    def __init__(self, model: Any, tables: dict[str, Any], structure: Structure, device: Any):
        s = structure
        rows = np.diff(model.joint_cts_start.numpy()) if s.joint_count else np.zeros(0, np.int32)
        counts = {"coord": np.diff(s.joint_coord), "dof": np.diff(s.joint_dof), "row": rows}
        worlds = {name: np.repeat(s.joint_world, count).astype(np.int32) for name, count in counts.items()}
        worlds["body"], worlds["joint"] = s.body_world, s.joint_world
        self.worlds = {name: wp.array(world, dtype=wp.int32, device=device) for name, world in worlds.items()}
        arrays = {name: table.arrays for name, table in tables.items()}
        none = wp.zeros(s.body_count, dtype=wp.spatial_vector, device=device)
        q = arrays["joint_coord"]["q"]
        self.values = {
            "body_q": ("body", arrays["body"]["q"], StateFlags.BODY_Q), "body_qd": ("body", arrays["body"]["qd"], StateFlags.BODY_QD),
            "body_f": ("body", none, StateFlags.BODY_F), "body_f_total": ("body", none, StateFlags.BODY_F),
            "joint_q": ("coord", q, StateFlags.JOINT_Q), "joint_q_prev": ("coord", q, StateFlags.JOINT_Q),
            "joint_qd": ("dof", arrays["joint_dof"]["qd"], StateFlags.JOINT_QD),
            "joint_lambdas": ("row", wp.zeros(int(rows.sum()), dtype=wp.float32, device=device), StateFlags.JOINT_F),
        }  # fmt: skip

    def restore(self, state: Any, selected: wp.array, flags: Any) -> None:
        """Write initial values into a state.

        Args:
            state: Arrays that it lacks are passed over.
            selected: Which worlds, then whether what belongs to none.
            flags: StateFlags of the arrays; None is all.

        Raises:
            ValueError: An array has the wrong length or device; then nothing was changed.
        """
        chosen = []
        for name, (kind, initial, flag) in self.values.items():
            value = getattr(state, name, None)
            if value is None or (flags is not None and not int(flags) & int(flag)):
                continue
            if len(value) != len(initial) or value.device != initial.device:
                raise ValueError(
                    f"SolverKamino.reset: expected {name} of length {len(initial)} on {initial.device}, found {len(value)} on "
                    f"{value.device}"
                )
            chosen.append((self.worlds[kind], initial, value))
        for world, initial, value in chosen:
            if len(value):
                wp.launch(restore, dim=len(value), inputs=[world, selected, initial], outputs=[value], device=value.device)

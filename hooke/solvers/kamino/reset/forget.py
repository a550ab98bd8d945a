"""What a reset makes a solver forget: coordinates of joints, impulses of their rows, contacts."""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.solvers.kamino.inequality import KEYS
from hooke.solvers.reset import is_selected

__all__ = ["forget_contacts", "make_forget_joints"]


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


@wp.kernel(enable_backward=False)
def forget_contacts(work: Work, selected: wp.array(dtype=wp.bool), first: wp.array(dtype=wp.int32), last: wp.array(dtype=wp.int32)):
    """Nothing is remembered of the contacts of selected worlds."""
    w = first_item(work, wp.tid())
    while w >= 0:
        if is_selected(selected, w):
            last[w] = first[w]
        w = next_item(work, w)

"""The numbers of a collision pass."""

from __future__ import annotations

import warp as wp

from hooke.execution.work import Work, first_item, next_item

__all__ = ["finish_count"]


@wp.kernel(enable_backward=False)
def finish_count(
    work: Work, end: wp.array(dtype=wp.int32), rigid_end: wp.array(dtype=wp.int32), match_generation: wp.array(dtype=wp.int32),
    generation: wp.array(dtype=wp.int32), counters: wp.array(dtype=wp.int32),
):  # fmt: skip
    """The numbers of rows that a pass found, and its own number."""
    one = first_item(work, wp.tid())
    while one >= 0:
        counters[0] = 0
        counters[1] = 0
        if rigid_end.shape[0] > 0:
            counters[0] = rigid_end[rigid_end.shape[0] - 1]
        if end.shape[0] > 0:
            counters[1] = end[end.shape[0] - 1]
        generation[0] = wp.where(generation[0] == wp.int32(2147483647), 0, generation[0] + 1)
        if match_generation.shape[0] > 0:
            match_generation[0] = generation[0]
        one = next_item(work, one)

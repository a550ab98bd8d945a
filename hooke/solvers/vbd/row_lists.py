"""Rows of bodies in increasing order, so that sums do not depend on who came first."""

import warp as wp

__all__ = ["sort_rows"]

FEW_ROWS = wp.constant(24)


@wp.func
def sort_rows(row: wp.array(dtype=wp.int32), first: int, last: int):
    """Sort the entries ``first ... last`` (Shell's sort; few are sorted by insertion)."""
    stride = int(1)
    while stride < (last - first) // FEW_ROWS:
        stride = 3 * stride + 1
    while stride > 0:
        for i in range(first + stride, last):
            value, at = 1 * row[i], int(i)
            while at - stride >= first and row[wp.max(at - stride, first)] > value:
                row[at] = row[at - stride]
                at -= stride
            row[at] = value
        stride = stride // 3

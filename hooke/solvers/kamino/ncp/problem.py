"""The problem that is left of a step when bilateral rows are eliminated: of every world a dense matrix and a few vectors.

Find impulses l with, for v = S l + v_f and the De Saxce term s(v) = (0, 0, mu |v_t|) of every contact,

    C contains l,     v + s(v) in C*,     l . (v + s(v)) = 0                                             (1)

C is the product of the sets of :class:`RowKind`. Components of a contact are (tangent, tangent, normal).
"""

from enum import IntEnum
from functools import cache
from typing import Any

import warp as wp

__all__ = ["PAD", "RowKind", "make_problem"]

PAD = 8
"""Numbers of a register: rows of a matrix begin at multiples of it."""


class RowKind(IntEnum):
    """What set the impulse of a row lies in, and its dual."""

    BILATERAL = 0
    """Any impulse; v = 0. Only where joints are not eliminated."""
    BOX = 1
    """low <= l <= high; v >= 0 at the lower bound, v <= 0 at the upper, 0 between."""
    ONE_SIDED = 2
    """l >= 0, v >= 0."""
    CONTACT = 3
    """The first of the three rows of a contact: |l_t| <= mu l_n. The other two are of kind REST."""
    REST = 4


@cache
def make_problem(scalar: Any) -> Any:
    """The struct ``Problem`` over a type of numbers, wp.float64 or wp.float32.

    Of world w, n = ``count[w]`` rows lie from ``row[w]`` on in the vectors, and the matrix from ``entry[w]`` on, row by row, each of
    ``stride[w]`` numbers, the least multiple of PAD that is not below n; what is behind the n-th number is zero.
    """

    class Problem:
        row: wp.array(dtype=wp.int32)
        count: wp.array(dtype=wp.int32)
        entry: wp.array(dtype=wp.int32)
        stride: wp.array(dtype=wp.int32)
        kind: wp.array(dtype=wp.int32)
        matrix: wp.array(dtype=scalar)
        free: wp.array(dtype=scalar)
        friction: wp.array(dtype=scalar)
        low: wp.array(dtype=scalar)
        high: wp.array(dtype=scalar)
        member: wp.array(dtype=wp.int32)
        impulse: wp.array(dtype=scalar)
        velocity: wp.array(dtype=scalar)

    Problem.__doc__ = """Problems (1) of all worlds.

    Attributes:
        row: First row of every world.
        count: Its number of rows.
        entry: First number of its matrix.
        stride: Numbers of a row of its matrix.
        kind: RowKind of every row.
        matrix: S, without the proximal term.
        free: v_f [m/s or rad/s].
        friction: mu, at the first row of a contact.
        low: Lower bound of a BOX row [N s or N m s].
        high: Upper bound.
        member: Where only some rows of a world are a problem, the rows of one problem after those of another, counted from the first of the
            world, the three of a contact one after the other; empty where all rows are one problem. The matrix is in that order.
        impulse: l: the guess on entry, the solution on return.
        velocity: v = S l + v_f on return; on entry a guess of it, for the warm start.
    """
    Problem.__qualname__ = f"Problem_{scalar.__name__}"  # two kinds may be in one module
    return wp.struct(Problem)

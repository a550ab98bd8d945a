"""Records of elements for 16 particles at a time, and what an element's lane loader reads them with.

A record is one element as one of its particles sees it, or a patch of particles that holds some of them; sixteen, of sixteen particles
of one colour, stand side by side. Their particles are in the order of the element, so that all of them compute the same stress.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.math import IndexLanes, Lanes, VectorL, add, gather_vectors, vector

__all__ = ["LaneRecords", "LaneView", "change", "keep", "place", "start"]


@wp.struct
class LaneRecords:
    """Rows of records: those of the 16 particles g are ``first[g] ... first[g + 1]``.

    ``index`` (rows, particles); ``offset`` (rows, 3 (particles - 1)): where the particles but the first started, seen from the first;
    ``constant`` (rows, constants of the view).
    """

    first: wp.array(dtype=wp.int32)
    index: wp.array2d(dtype=IndexLanes)
    offset: wp.array2d(dtype=Lanes)
    constant: wp.array2d(dtype=Lanes)


@dataclass(frozen=True, eq=False)
class LaneView:
    """How an element looks from some of its slots.

    Args:
        orders: For every slot that has this view, the order in which a record lists the particles of the element.
        constants: ``constants(columns, rows, moves) -> (n, c)``: numbers of the elements ``rows`` of which the corners ``moves``
            (bool (n, size)) move together, zeros where ``begin`` writes.
        evaluate: ``evaluate(records, k, d, rate) -> (VectorL, BlockL)``: derivatives of row ``k``; ``rate`` = 1/dt.
        begin: ``begin(records, k)``: writes the constants of row ``k`` that depend on the start of the step; None if there are none.
    """

    orders: dict[int, tuple[int, ...]]
    constants: Callable[[dict[str, np.ndarray], np.ndarray, np.ndarray], np.ndarray]
    evaluate: Any
    begin: Any = None


@wp.func
def change(r: LaneRecords, k: int, place: int, d: wp.array(dtype=wp.vec3)):
    """Displacements of the particles at a place of row ``k``."""
    return gather_vectors(d, r.index[k, place])


@wp.func
def start(r: LaneRecords, k: int, place: int):
    """Where the particles at a place (1 and up) of row ``k`` started, seen from those at place 0."""
    c = 3 * (place - 1)
    return vector(r.offset[k, c], r.offset[k, c + 1], r.offset[k, c + 2])


@wp.func
def keep(r: LaneRecords, k: int, place: int, value: VectorL):
    """Put what a step needs of them in that place."""
    c = 3 * (place - 1)
    r.offset[k, c] = value.x
    r.offset[k, c + 1] = value.y
    r.offset[k, c + 2] = value.z


@wp.func
def place(r: LaneRecords, k: int, place: int, d: wp.array(dtype=wp.vec3)):
    """Where they are now, seen from where those at place 0 started."""
    return start(r, k, place) + change(r, k, place, d)

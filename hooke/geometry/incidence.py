"""Which elements touch a particle: a list of (element, slot) per particle, in increasing order of the element."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

__all__ = ["Incidence", "build_incidence", "list_members", "run_sequential"]


@wp.struct
class Incidence:
    """Elements of particle i are ``element[start[i] : start[i + 1]]``, in which it stands at ``slot``."""

    start: wp.array(dtype=wp.int32)
    element: wp.array(dtype=wp.int32)
    slot: wp.array(dtype=wp.int32)


def build_incidence(rows: np.ndarray, stencils: np.ndarray, count: int, device: wp.context.Device | str) -> Incidence:
    """Build the lists of ``count`` particles.

    Args:
        rows: Elements, shape (n,).
        stencils: Their particles, shape (n, size).
        count: Number of particles.
        device: Where the arrays live.
    """
    start, element, slot = list_members(stencils, count)
    incidence = Incidence()
    incidence.start = wp.array(start, dtype=wp.int32, device=device)
    incidence.element = wp.array(np.asarray(rows, np.int32)[element], dtype=wp.int32, device=device)
    incidence.slot = wp.array(slot, dtype=wp.int32, device=device)
    return incidence


def run_sequential(kernel: wp.Kernel, *inputs: Any) -> None:
    """Run a kernel of one thread on the CPU over NumPy arrays, which it reads and writes in place."""
    wp.launch(kernel, dim=1, inputs=inputs, device="cpu")


def list_members(stencils: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of ``stencils`` (n, size) that hold each of ``count`` nodes, in increasing order; negative entries are nobody.

    Returns:
        ``start`` (count + 1,), ``row`` and ``slot``, int32: node i is in the rows ``row[start[i] : start[i + 1]]`` at ``slot``.
    """
    stencils = np.ascontiguousarray(stencils, np.int32)
    flat = stencils.reshape(-1)
    start = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(flat[flat >= 0], minlength=count), out=start[1:])
    row, slot = np.empty(start[-1], np.int32), np.empty(start[-1], np.int32)
    run_sequential(sort_members, stencils, start[:-1].copy(), row, slot)
    return start, row, slot


@wp.kernel(enable_backward=False)
def sort_members(
    stencils: wp.array2d(dtype=wp.int32), end: wp.array(dtype=wp.int32), row: wp.array(dtype=wp.int32),
    slot: wp.array(dtype=wp.int32),
):  # fmt: skip
    """One thread walks through all rows; ``end`` is where the next row of every node goes."""
    for k in range(stencils.shape[0]):
        for s in range(stencils.shape[1]):
            i = stencils[k, s]
            if i >= 0:
                at = end[i]
                row[at] = k
                slot[at] = s
                end[i] = at + 1

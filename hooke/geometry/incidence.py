"""Which elements touch a particle: a list of (element, slot) per particle, in increasing order of the element."""

from __future__ import annotations

import numpy as np
import warp as wp

__all__ = ["Incidence", "build_incidence"]


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
    size = stencils.shape[1]
    particle = stencils.reshape(-1)
    order = np.argsort(particle, kind="stable")
    start = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(particle, minlength=count), out=start[1:])
    incidence = Incidence()
    incidence.start = wp.array(start, dtype=wp.int32, device=device)
    incidence.element = wp.array(np.repeat(rows, size)[order].astype(np.int32), dtype=wp.int32, device=device)
    incidence.slot = wp.array((order % size).astype(np.int32), dtype=wp.int32, device=device)
    return incidence

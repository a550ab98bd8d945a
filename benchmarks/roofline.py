"""What a sweep has to compute and to read at least, to set measured times beside the limits of the machine.

Flops are counted by hand from the formulas as hooke writes them: additions, multiplications, divisions, square roots, comparisons and
selections are one each, common subexpressions are counted once, fused operations as two. A *record* is one element as one of its
particles sees it. A dot product is 5, a cross product 9, a symmetric outer product 6, a sum of two blocks 6.

    spring       edge 12, length and direction 10, rate 13, tension 5, block 2 + 6 + 6 + 5, sum into the particle 9
    triangle     edges 6, changes of F 18, F 6; membrane: normal 18, w and dJ 18, s and clamp 5, gradient 45, block 47; damping: F m and
                 D m 18, F at the start 6, rates 22, gradient 12, block 45; elastic + damping 9, sum into the particle 9, rate 2
    hinge, tip   corners 9, normals and lengths 40, sine and cosine 20, turn 6, arc tangent 32, gradient 13, moment and block 22, sum 9
    hinge, rim   the same with a gradient of 44
    tetrahedron  edges 9, changes of F 45, F 9; elastic: cofactor 27, pressure 8, crushing 21, gradient 42, cof F m and F m 30, block 42;
                 damping: D m 15, F at the start 9, rates 33, gradient 19, block 59; elastic + damping 9, sum into the particle 9, rate 1
    solve        inertia 12, LDL^T and substitution 37, step and position 9

Bytes are those of the arrays that one sweep over all colours touches, each once: the records of all elements (indices, offsets,
constants) and the sums, as the solver holds them (:func:`sweep_bytes`), and per particle displacement (read and written), target,
start and position. Displacements of neighbours that are read again are taken to come from a cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["FLOPS", "PARTICLE_BYTES", "Roofline", "count_flops", "sweep_bytes"]

FLOPS: dict[str, int] = {
    "spring": 12 + 10 + 13 + 5 + 19 + 9,
    "triangle": 6 + 18 + 6 + (18 + 18 + 5 + 45 + 47) + (18 + 6 + 22 + 12 + 45) + 9 + 9 + 2,
    "hinge_tip": 9 + 40 + 20 + 6 + 32 + 13 + 22 + 9,
    "hinge_rim": 9 + 40 + 20 + 6 + 32 + 44 + 22 + 9,
    "tetrahedron": 9 + 45 + 9 + (27 + 8 + 21 + 42 + 30 + 42) + (15 + 9 + 33 + 19 + 59) + 9 + 9 + 1,
    "solve": 12 + 37 + 9,
}
"""Flops of one record of every kind, and of the block solve of one particle."""

PARTICLE_BYTES = 60
"""Displacement read and written, target and start read, position written: five vectors of 12 bytes."""

SWEEP_OWNERS = ("lanes", "_chain")
"""Where the sweeps of a solver may keep what they read, first come first."""


def count_flops(model: dict[str, np.ndarray]) -> int:
    """Flops of one sweep over all free particles.

    Args:
        model: Arrays of the model by their flat names (:func:`benchmarks.scene.export_model`).
    """
    free = model["particle_mass"] > 0.0
    total = FLOPS["solve"] * int(free.sum())
    if "tri_indices" in model:
        acts = (model["tri_materials"][:, :3] != 0.0).any(axis=1)
        total += FLOPS["triangle"] * int(free[model["tri_indices"][acts]].sum())
    if "edge_indices" in model:
        acts = (model["edge_indices"] >= 0).all(axis=1) & (model["edge_bending_properties"] != 0.0).any(axis=1)
        corners = free[model["edge_indices"][acts]]
        total += FLOPS["hinge_tip"] * int(corners[:, :2].sum()) + FLOPS["hinge_rim"] * int(corners[:, 2:].sum())
    if "tet_indices" in model:
        total += FLOPS["tetrahedron"] * int(free[model["tet_indices"]].sum())
    return total


def sweep_bytes(solver: Any) -> int:
    """Bytes that one sweep of a solver touches: all arrays of its lanes (or chain of elements), each once, and the particles.

    The layout is not assumed: whatever holds the data of a sweep is searched for arrays.
    """
    owner = next(
        (found for name in SWEEP_OWNERS if (found := getattr(solver._sweeps, name, None)) is not None and not callable(found)), None
    )
    arrays: dict[int, int] = {}
    _collect(owner, arrays, set())
    return sum(arrays.values()) + PARTICLE_BYTES * int(solver.model.particle_count) if arrays else 0


def _collect(thing: Any, arrays: dict[int, int], seen: set[int]) -> None:
    """Sizes of all arrays that ``thing`` holds, by address; views of the same memory count once."""
    if thing is None or isinstance(thing, (str, bytes, int, float, type)) or callable(thing) or id(thing) in seen:
        return
    seen.add(id(thing))
    if hasattr(thing, "ptr") and hasattr(thing, "capacity"):  # a Warp array
        if thing.ptr:
            size = int(thing.size) * int(np.prod(getattr(thing.dtype, "_shape_", ()) or (1,))) * _scalar_bytes(thing.dtype)
            arrays[thing.ptr] = max(arrays.get(thing.ptr, 0), size)
    elif isinstance(thing, dict):
        for value in thing.values():
            _collect(value, arrays, seen)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            _collect(value, arrays, seen)
    elif type(thing).__module__.startswith(("hooke", "warp")) and hasattr(thing, "__dict__"):
        for value in vars(thing).values():
            _collect(value, arrays, seen)


def _scalar_bytes(dtype: Any) -> int:
    import warp as wp

    return int(wp.types.type_size_in_bytes(getattr(dtype, "_wp_scalar_type_", dtype)))


@dataclass(frozen=True)
class Roofline:
    """How near a step comes to the machine's limits.

    Args:
        flops: Of all iterations of a step.
        bytes: Touched by all iterations of a step.
        seconds: Measured time of a step.
        peak_flops: Of the machine [1/s].
        peak_bandwidth: Of the machine, for a working set of this size [B/s].
    """

    flops: float
    bytes: float
    seconds: float
    peak_flops: float
    peak_bandwidth: float

    @property
    def compute_share(self) -> float:
        """Flops per second over the machine's peak."""
        return self.flops / self.seconds / self.peak_flops

    @property
    def bandwidth_share(self) -> float:
        """Bytes per second over the machine's bandwidth."""
        return self.bytes / self.seconds / self.peak_bandwidth

    @property
    def share(self) -> float:
        """The roofline: the larger of the two, what the tighter limit would take over what was taken."""
        return max(self.compute_share, self.bandwidth_share)

"""How far edges are from their rest lengths: what can be compared between engines that minimise different things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Strain", "clearance", "measure_strain"]


@dataclass(frozen=True)
class Strain:
    """Relative change of length of the edges of triangles and tetrahedra: the largest, and the root mean square."""

    largest: float
    rms: float


def measure_strain(model: dict[str, np.ndarray], x: np.ndarray) -> Strain:
    """Strain of the edges at the positions ``x`` (n, 3) [m]; infinite if a position is not finite.

    Args:
        model: ``edges`` (m, 2) and their rest ``lengths`` (m,) [m], or the arrays of a model, whose ``particle_q`` is at rest.
        x: Positions.
    """
    if not np.isfinite(x).all():
        return Strain(np.inf, np.inf)
    if "edges" in model:
        edges, rest = model["edges"], model["lengths"].astype(np.float64)
    else:
        edges = list_edges(model)
        rest = _lengths(edges, model["particle_q"])
    strain = _lengths(edges, x) / rest - 1.0
    return Strain(float(np.abs(strain).max()), float(np.sqrt(np.mean(strain**2))))


def list_edges(model: dict[str, np.ndarray]) -> np.ndarray:
    """Pairs of particles (m, 2) that share a tetrahedron, or a triangle if there are none, each once."""
    elements = model["tet_indices"] if "tet_indices" in model else model["tri_indices"]
    size = elements.shape[1]
    pairs = np.concatenate([elements[:, [a, b]] for a in range(size) for b in range(a + 1, size)]).astype(np.int64)
    return np.unique(np.sort(pairs, axis=1), axis=0)


def clearance(model: dict[str, np.ndarray], x: np.ndarray) -> float:
    """Smallest height [m] of a particle's surface above the ground z = 0."""
    return float((x[:, 2] - model["particle_radius"]).min())


def _lengths(edges: np.ndarray, x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)

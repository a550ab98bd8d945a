"""Tetrahedral mesh of a soft body."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.data.chunks import map_rows
from hooke.geometry.inertia import MassProperties, tetrahedra_mass_properties
from hooke.geometry.measure import lengths, signed_volumes
from hooke.geometry.repair import as_triangles, as_vertices, listed
from hooke.geometry.topology import surface_triangles

__all__ = ["TetMesh"]

FLAT = 1.0e-9
"""A tetrahedron whose volume is below this part of the cube of its longest edge is flat."""


class TetMesh:
    """Tetrahedral mesh.

    Args:
        vertices: Positions, shape (n, 3) [m].
        tet_indices: Tetrahedra, shape (t, 4) or flat (4 t). Those of negative volume are turned: two of their vertices are swapped.
        k_mu: First elastic parameter [Pa], one number or one for each tetrahedron; None leaves it to the model.
        k_lambda: Second elastic parameter [Pa], likewise.
        k_damp: Damping, likewise.
        density: [kg/m^3]; None leaves it to the model.
        custom_attributes: Arrays by name, carried along.

    Attributes:
        turned: Number of tetrahedra that were turned.

    Raises:
        ValueError: If an array has another shape, a vertex is not finite, an index is out of range or a tetrahedron is flat.
    """

    def __init__(
        self,
        vertices: Any,
        tet_indices: Any,
        *,
        k_mu: Any = None,
        k_lambda: Any = None,
        k_damp: Any = None,
        density: float | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ):
        self._vertices = as_vertices(vertices, "tetrahedral mesh")
        tets = as_triangles(tet_indices, len(self._vertices), "tetrahedral mesh", corners=4).copy()
        if len(tets) == 0:
            raise ValueError("tetrahedral mesh: expected at least one tetrahedron, found none")
        volumes = signed_volumes(self._vertices.astype(np.float64), tets)
        _refuse_flat(self._vertices, tets, volumes)
        tets[volumes < 0.0] = tets[volumes < 0.0][:, [0, 1, 3, 2]]
        self._tets = tets
        self._volumes = np.abs(volumes)
        self.turned = int((volumes < 0.0).sum())
        if density is not None and not (np.isfinite(density) and density > 0.0):
            raise ValueError(f"tetrahedral mesh: expected a positive density in kg/m^3, found {density}")
        self.density = density
        self.k_mu = _per_tet(k_mu, len(tets), "k_mu")
        self.k_lambda = _per_tet(k_lambda, len(tets), "k_lambda")
        self.k_damp = _per_tet(k_damp, len(tets), "k_damp")
        self.custom_attributes = dict(custom_attributes or {})
        self._surface = surface_triangles(tets).reshape(-1)

    @property
    def vertices(self) -> np.ndarray:
        """Positions, float32 (n, 3) [m]."""
        return self._vertices

    @property
    def tet_indices(self) -> np.ndarray:
        """Tetrahedra of positive volume, int32, flat (4 t)."""
        return self._tets.reshape(-1)

    @property
    def surface_tri_indices(self) -> np.ndarray:
        """Triangles of the boundary, wound outward, int32, flat."""
        return self._surface

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
        return len(self._vertices)

    @property
    def tet_count(self) -> int:
        """Number of tetrahedra."""
        return len(self._tets)

    @property
    def volume(self) -> float:
        """Sum of the volumes of the tetrahedra [m^3]."""
        return float(self._volumes.sum())

    def mass_properties(self, density: float | None = None) -> MassProperties:
        """Mass, centre of mass and inertia at a density [kg/m^3], by default its own or else 1."""
        return tetrahedra_mass_properties(self._vertices, self._tets, density or self.density or 1.0)

    @staticmethod
    def compute_surface_triangles(tet_indices: Any) -> np.ndarray:
        """Triangles of the boundary, int32, flat, of tetrahedra of positive volume."""
        return surface_triangles(tet_indices).reshape(-1)

    @staticmethod
    def create_from_file(path: Any, **options: Any) -> TetMesh:
        """Tetrahedral mesh of a file (options: see :func:`hooke.importers.load_tetmesh`)."""
        from hooke.importers import load_tetmesh

        return load_tetmesh(path, **options)

    @staticmethod
    def create_from_usd(source: Any, *, prim: Any = None, apply_stage_units: bool = True) -> TetMesh:
        """Tetrahedral mesh of a ``UsdGeom.TetMesh``, in the frame of that prim.

        Args:
            source: The ``Usd.Prim``, or a ``Usd.Stage`` or path of a file.
            prim: The ``Usd.Prim``, or its path in ``source``; default the only one there.
            apply_stage_units: Convert to metres.
        """
        from hooke.importers.usd_mesh import read_tet_prim

        vertices, tets = read_tet_prim(source, prim, apply_stage_units)
        return TetMesh(vertices, tets)

    def __repr__(self) -> str:
        return f"TetMesh({self.vertex_count} vertices, {self.tet_count} tetrahedra)"


def _refuse_flat(vertices: np.ndarray, tets: np.ndarray, volumes: np.ndarray) -> None:
    points = vertices.astype(np.float64)
    longest = map_rows(lambda rows: _longest_edges(points, rows), tets)
    flat = np.flatnonzero(np.abs(volumes) <= FLAT * longest**3)
    if len(flat):
        raise ValueError(
            f"tetrahedral mesh: {len(flat)} of {len(tets)} tetrahedra have no volume (first: {listed(flat)}, vertices "
            f"{tets[flat[0]].tolist()}); remove them or mesh the body again"
        )


def _longest_edges(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    corners = vertices[tets]
    pairs = corners[:, [0, 0, 0, 1, 1, 2]] - corners[:, [1, 2, 3, 2, 3, 3]]
    return lengths(pairs).max(axis=1)


def _per_tet(values: Any, count: int, name: str) -> np.ndarray | None:
    if values is None:
        return None
    array = np.atleast_1d(np.asarray(values, dtype=np.float32)).reshape(-1)
    if len(array) not in (1, count) or not np.all(np.isfinite(array)) or np.any(array < 0.0):
        raise ValueError(
            f"tetrahedral mesh: expected {name} as 1 or {count} finite numbers >= 0, found {array[:5].tolist()} ({len(array)})"
        )
    return np.broadcast_to(array, (count,)).copy()

"""Soft bodies from a grid or a tetrahedral mesh."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hooke.geometry.grid import grid_tetrahedra
from hooke.geometry.measure import signed_volumes
from hooke.geometry.topology import mesh_edges, surface_triangles
from hooke.model.generate.cloth import check_mesh, moved, placed, warn_unused

__all__ = ["soft_from_mesh", "soft_grid"]


def _soft(builder: Any, what: str, vertices: np.ndarray, tetrahedra: np.ndarray, mass: np.ndarray, options: dict) -> None:
    radius = options["particle_radius"]
    vel = np.asarray(options["vel"], np.float64)
    first = builder.add_particles(vertices, vel, mass, radius).start
    builder._add_tetrahedra(tetrahedra + np.int32(first), options["k_mu"], options["k_lambda"], options["k_damp"])
    triangles = surface_triangles(tetrahedra)
    given = {k: options[k] for k in ("tri_ke", "tri_ka", "tri_kd", "tri_drag", "tri_lift", "color", "opacity")}
    areas = builder._add_triangles(triangles + np.int32(first), **given)
    if options["add_surface_mesh_edges"]:
        edges, _crowded = mesh_edges(triangles[areas > 0.0])
        builder._add_edges(moved(edges, first), edge_ke=options["edge_ke"], edge_kd=options["edge_kd"])


def soft_grid(builder: Any, dims: tuple[int, int, int], cell: tuple[float, float, float], density: float, fixed: dict,
              options: dict) -> None:  # fmt: skip
    """The body of ``ModelBuilder.add_soft_grid``."""
    if min(dims) < 1:
        raise ValueError(f"add_soft_grid: expected at least one cell each way, found {dims[0]} x {dims[1]} x {dims[2]}")
    if not min(cell) > 0.0 or not np.isfinite(cell).all():
        raise ValueError(f"add_soft_grid: expected positive cell sizes, found {cell}")
    z, y, x = (a.reshape(-1) for a in np.meshgrid(*(np.arange(d + 1) for d in dims[::-1]), indexing="ij"))
    vertices = placed(options["pos"], options["rot"], 1.0, np.stack([x, y, z], axis=1) * np.asarray(cell))
    pinned = np.zeros(len(x), bool)
    for side, where in (("left", x == 0), ("right", x == dims[0]), ("top", y == dims[1]), ("bottom", y == 0)):
        if fixed[side]:
            pinned |= where
    mass = np.where(pinned, 0.0, density * float(np.prod(cell)))
    _soft(builder, "add_soft_grid", vertices, grid_tetrahedra(*dims), mass, options)


def soft_from_mesh(builder: Any, vertices: Any, indices: Any, density: float, options: dict) -> None:
    """The body of ``ModelBuilder.add_soft_mesh``."""
    what = f"add_soft_mesh({options['label'] or ''})"
    vertices, tetrahedra = check_mesh(what, vertices, indices, 4)
    vertices = placed(options["pos"], options["rot"], options["scale"], vertices)
    volume = signed_volumes(vertices, tetrahedra)
    flipped = volume < 0.0
    if options["validate_mesh"] and not (volume > 0.0).all():
        bad = int(np.flatnonzero(volume <= 0.0)[0])
        raise ValueError(f"{what}: {int((volume <= 0.0).sum())} tetrahedra are flat or inverted (the first is {bad})")
    if flipped.any():
        warnings.warn(
            f"{what}: {int(flipped.sum())} of {len(tetrahedra)} tetrahedra are inverted (the first is "
            f"{int(np.flatnonzero(flipped)[0])}); two of their vertices are exchanged",
            stacklevel=3,
        )
        tetrahedra = np.where(flipped[:, None], tetrahedra[:, [0, 2, 1, 3]], tetrahedra)
    mass = np.bincount(tetrahedra.reshape(-1), np.repeat(np.abs(volume) * density / 4.0, 4), minlength=len(vertices))
    warn_unused(what, tetrahedra[volume != 0.0], len(vertices))
    _soft(builder, what, vertices, tetrahedra, mass, options)

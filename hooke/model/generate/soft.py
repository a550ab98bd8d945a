"""Soft bodies from a grid or a tetrahedral mesh."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hooke.geometry.grid import grid_tetrahedra
from hooke.geometry.topology import mesh_edges, surface_triangles
from hooke.model.generate.cloth import check_mesh, placed, warn_unused

__all__ = ["soft_from_mesh", "soft_grid"]


def _soft(builder: Any, what: str, vertices: np.ndarray, tetrahedra: np.ndarray, mass: np.ndarray, options: dict) -> None:
    count = len(vertices)
    radius = options["particle_radius"]
    vel = np.broadcast_to(np.asarray(options["vel"], np.float64), (count, 3))
    first = builder.add_particles(vertices, vel, mass, None if radius is None else np.broadcast_to(radius, count)).start
    builder._add_tetrahedra(tetrahedra + first, options["k_mu"], options["k_lambda"], options["k_damp"])
    triangles = surface_triangles(tetrahedra)
    given = {k: options[k] for k in ("tri_ke", "tri_ka", "tri_kd", "tri_drag", "tri_lift", "color", "opacity")}
    areas = builder.add_triangles(*(triangles + first).T, **given)
    if options["add_surface_mesh_edges"]:
        edges, _crowded = mesh_edges(triangles[np.asarray(areas) > 0.0])
        edges = np.where(edges >= 0, edges + first, -1)
        builder.add_edges(*edges.T, edge_ke=options["edge_ke"], edge_kd=options["edge_kd"])


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
    corners = vertices[tetrahedra]
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
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

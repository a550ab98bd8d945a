"""Cloth from a grid or a triangle mesh."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hooke.geometry.measure import triangle_areas
from hooke.geometry.repair import check_triangles
from hooke.geometry.topology import mesh_edges
from hooke.model.enums import ParticleFlags
from hooke.model.motion import RigidMotion

__all__ = ["cloth_grid", "cloth_mesh", "grid_triangles"]


def placed(pos: Any, rot: Any, scale: Any, vertices: np.ndarray) -> np.ndarray:
    """Scale, then rotate, then move vertices (n, 3)."""
    pose = np.concatenate([np.asarray(pos, np.float64).reshape(3), np.asarray(rot, np.float64).reshape(4)])
    return RigidMotion(pose).apply("point", np.asarray(vertices, np.float64) * scale)


def moved(stencils: np.ndarray, first: int) -> np.ndarray:
    """Stencils (n, size) of particles of which the first is number ``first``; -1 stays."""
    return np.where(stencils >= 0, stencils + np.int32(first), np.int32(-1)) if first else stencils


def check_mesh(what: str, vertices: Any, indices: Any, corners: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and elements (m, corners) as arrays, refused when empty, not finite or out of range."""
    vertices = np.asarray(vertices, np.float64).reshape(-1, 3)
    flat = np.asarray(indices).reshape(-1)
    if len(vertices) == 0 or len(flat) == 0:
        raise ValueError(f"{what}: the mesh is empty ({len(vertices)} vertices, {len(flat) // corners} elements)")
    if len(flat) % corners:
        raise ValueError(f"{what}: expected a multiple of {corners} indices, found {len(flat)}")
    if flat.dtype.kind not in "iu" and not np.array_equal(flat, np.round(flat)):
        raise ValueError(f"{what}: expected whole numbers as indices, found {flat[flat != np.round(flat)][0]}")
    elements = flat.astype(np.int64, copy=False).reshape(-1, corners)
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise ValueError(f"{what}: vertex {bad[0]} is {vertices[bad[0]].tolist()}; {len(bad)} vertices are not finite")
    if elements.min() < 0 or elements.max() >= len(vertices):
        bad = np.flatnonzero(((elements < 0) | (elements >= len(vertices))).any(axis=1))
        raise ValueError(f"{what}: element {bad[0]} has vertices {elements[bad[0]].tolist()}; expected 0 to {len(vertices) - 1}")
    return vertices, elements.astype(np.int32)


def grid_triangles(dim_x: int, dim_y: int, reverse_winding: bool = False) -> np.ndarray:
    """Two triangles per cell of a grid of (dim_x + 1)(dim_y + 1) vertices, x fastest; shape (2 dim_x dim_y, 3)."""
    x, y = np.meshgrid(np.arange(dim_x, dtype=np.int32), np.arange(dim_y, dtype=np.int32))
    v0 = (y * (dim_x + 1) + x).reshape(-1)
    v1, v2, v3 = v0 + 1, v0 + dim_x + 1, v0 + dim_x + 2
    cells = [v0, v2, v1, v1, v2, v3] if reverse_winding else [v0, v1, v2, v1, v3, v2]
    return np.stack(cells, axis=1).reshape(-1, 3)


def cloth_mesh(builder: Any, what: str, vertices: np.ndarray, triangles: np.ndarray, mass: Any, vel: Any, options: dict) -> int:
    """Add particles, triangles, hinges on all edges and, if asked, springs. Returns the index of the first particle."""
    radius = options["particle_radius"]
    added = builder.add_particles(
        vertices,
        np.asarray(vel, np.float64),
        mass,
        radius,
        options.get("flags"),
        options["custom_attributes_particles"],
    )
    first = added.start
    given = {k: options[k] for k in ("tri_ke", "tri_ka", "tri_kd", "tri_drag", "tri_lift", "color", "opacity")}
    areas = builder._add_triangles(triangles + np.int32(first), **given, custom=options["custom_attributes_triangles"])
    edges, crowded = mesh_edges(triangles[areas > 0.0])
    if crowded:
        warnings.warn(f"{what}: {crowded} edges join more than two triangles; the cloth does not bend there", stacklevel=4)
    edges = moved(edges, first)
    builder._add_edges(edges, edge_ke=options["edge_ke"], edge_kd=options["edge_kd"], custom=options["custom_attributes_edges"])
    if options["add_springs"]:
        custom = options.get("custom_attributes_springs")
        builder._add_springs(edges[:, 2:], options["spring_ke"], options["spring_kd"], custom=custom)
    return first


def cloth_grid(builder: Any, dim_x: int, dim_y: int, cell_x: float, cell_y: float, mass: float, fixed: dict, options: dict) -> None:
    """The body of ``ModelBuilder.add_cloth_grid``."""
    if dim_x < 1 or dim_y < 1:
        raise ValueError(f"add_cloth_grid: expected at least one cell each way, found {dim_x} x {dim_y}")
    if not (cell_x > 0.0 and cell_y > 0.0):
        raise ValueError(f"add_cloth_grid: expected positive cell sizes, found {cell_x} x {cell_y}")
    x, y = (a.reshape(-1) for a in np.meshgrid(np.arange(dim_x + 1), np.arange(dim_y + 1)))
    vertices = np.stack([x * cell_x, y * cell_y, np.zeros_like(x)], axis=1)
    pinned = np.zeros(len(x), bool)
    for side, where in (("left", x == 0), ("right", x == dim_x), ("top", y == dim_y), ("bottom", y == 0)):
        if fixed[side]:
            pinned |= where
    options["flags"] = np.where(pinned, 0, int(ParticleFlags.ACTIVE))
    triangles = grid_triangles(dim_x, dim_y, options["reverse_winding"])
    vertices = placed(options["pos"], options["rot"], 1.0, vertices)
    cloth_mesh(builder, "add_cloth_grid", vertices, triangles, np.where(pinned, 0.0, mass), options["vel"], options)


def cloth_from_mesh(builder: Any, vertices: Any, indices: Any, density: float, options: dict) -> None:
    """The body of ``ModelBuilder.add_cloth_mesh``."""
    what = f"add_cloth_mesh({options['label'] or ''})"
    vertices, triangles = check_mesh(what, vertices, indices, 3)
    vertices = placed(options["pos"], options["rot"], options["scale"], vertices)
    area = triangle_areas(vertices, triangles)
    if options["validate_mesh"]:
        refuse_defects(what, vertices, triangles)
    mass = np.bincount(triangles.reshape(-1), np.repeat(area * density / 3.0, 3), minlength=len(vertices))
    warn_unused(what, triangles[area > 0.0], len(vertices))
    cloth_mesh(builder, what, vertices, triangles, mass, options["vel"], options)


def refuse_defects(what: str, vertices: np.ndarray, triangles: np.ndarray) -> None:
    """The check of ``validate_mesh=True``: every defect is an error instead of a repair."""
    defects = check_triangles(vertices, triangles, what).defects()
    if defects:
        raise ValueError(f"{what}: {'; '.join(defects)}")


def warn_unused(what: str, elements: np.ndarray, count: int) -> None:
    """Say how many vertices no element uses: they have no mass and stay where they are."""
    unused = np.flatnonzero(np.bincount(elements.reshape(-1), minlength=count) == 0)
    if len(unused):
        warnings.warn(
            f"{what}: {len(unused)} vertices belong to no element (the first is {unused[0]}); they become fixed particles",
            stacklevel=4,
        )

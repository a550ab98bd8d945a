"""Tetrahedra of a regular grid, and of the cells of a grid that lie in a closed surface."""

import numpy as np
import warp as wp

from hooke.geometry.measure import signed_volumes
from hooke.geometry.topology import surface_triangles

__all__ = ["cell_tetrahedra", "fill_surface", "grid_tetrahedra"]

# Corners of a cell by (x, y, z) bits; five tetrahedra: one on four corners that share no edge, and the four corners it cuts off.
_CELL = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)])
_EVEN = np.array([(0, 3, 5, 6), (1, 0, 3, 5), (2, 0, 3, 6), (4, 0, 5, 6), (7, 3, 5, 6)])


def _oriented(tetrahedra: np.ndarray, corners: np.ndarray) -> np.ndarray:
    flipped = signed_volumes(corners.astype(np.float64), tetrahedra) < 0.0
    return np.where(flipped[:, None], tetrahedra[:, [0, 2, 1, 3]], tetrahedra)


def cell_tetrahedra(cells: np.ndarray, dims: tuple[int, int, int]) -> np.ndarray:
    """Five tetrahedra per cell, mirrored in every other one so that neighbours fit.

    Args:
        cells: Cells (x, y, z), shape (n, 3).
        dims: Cells of the whole grid each way; its vertices go with x fastest, then y, then z.

    Returns:
        Vertices of the tetrahedra, shape (5 n, 4), positively oriented.
    """
    even, odd = _oriented(_EVEN, _CELL), _oriented(7 - _EVEN, _CELL)
    strides = np.array([1, dims[0] + 1, (dims[0] + 1) * (dims[1] + 1)])
    first = (cells @ strides).astype(np.int32)
    steps = (_CELL @ strides)[np.stack([even, odd])].astype(np.int32)
    return (first[:, None, None] + steps[cells.sum(axis=1) % 2]).reshape(-1, 4)


def grid_tetrahedra(dim_x: int, dim_y: int, dim_z: int) -> np.ndarray:
    """The tetrahedra of all cells of a grid, x fastest."""
    z, y, x = (a.reshape(-1) for a in np.meshgrid(np.arange(dim_z), np.arange(dim_y), np.arange(dim_x), indexing="ij"))
    return cell_tetrahedra(np.stack([x, y, z], axis=1), (dim_x, dim_y, dim_z))


@wp.kernel(enable_backward=False)
def ask_surface(
    mesh: wp.uint64, far: float, p: wp.array(dtype=wp.vec3), inside: wp.array(dtype=wp.bool), nearest: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    hit = wp.mesh_query_point_sign_winding_number(mesh, p[i], far)
    inside[i] = hit.result and hit.sign < 0.0
    nearest[i] = p[i]
    if hit.result:
        nearest[i] = wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v)


def _ask(mesh: wp.Mesh, far: float, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether points are inside, and the nearest points of the surface."""
    p = wp.array(points, dtype=wp.vec3, device="cpu")
    inside, nearest = wp.zeros(len(points), dtype=wp.bool, device="cpu"), wp.zeros_like(p)
    wp.launch(ask_surface, dim=len(points), inputs=[mesh.id, far, p], outputs=[inside, nearest], device="cpu")
    return inside.numpy(), nearest.numpy().astype(np.float64)


def fill_surface(vertices: np.ndarray, triangles: np.ndarray, resolution: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Fill a closed surface with tetrahedra: the cells of a grid whose centres are inside, their outer vertices moved to the surface.

    Args:
        vertices: Shape (n, 3) [m].
        triangles: Shape (m, 3), wound outward.
        resolution: Cells along the longest side of the surface.

    Returns:
        Vertices (k, 3) [m] and positively oriented tetrahedra (t, 4). The surface is followed to a fraction of a cell.

    Raises:
        ValueError: No cell is inside: the surface is open, inside out or thinner than a cell.
    """
    vertices = np.asarray(vertices, np.float64)
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    cell = float((upper - lower).max()) / resolution
    dims = np.maximum(1, np.ceil((upper - lower) / cell - 1.0e-9)).astype(int)
    origin = 0.5 * (lower + upper) - 0.5 * cell * dims
    points = wp.array(vertices, dtype=wp.vec3, device="cpu")
    indices = wp.array(np.asarray(triangles).reshape(-1), dtype=wp.int32, device="cpu")
    mesh = wp.Mesh(points, indices, support_winding_number=True)
    far = 4.0 * float(np.linalg.norm(upper - lower)) + 1.0
    z, y, x = (a.reshape(-1) for a in np.meshgrid(*(np.arange(d) for d in dims[::-1]), indexing="ij"))
    cells = np.stack([x, y, z], axis=1)
    inside, _ = _ask(mesh, far, origin + cell * (cells + 0.5))
    if not inside.any():
        raise ValueError(
            f"no cell of {cell:.3g} m lies inside the surface; close it, turn it outward, or use a finer resolution than {resolution}"
        )
    grid = cell_tetrahedra(cells[inside], tuple(dims.tolist()))
    used, tetrahedra = np.unique(grid, return_inverse=True)
    tetrahedra = tetrahedra.reshape(-1, 4)
    nodes = np.stack([used % (dims[0] + 1), used // (dims[0] + 1) % (dims[1] + 1), used // ((dims[0] + 1) * (dims[1] + 1))], axis=1)
    nodes = origin + cell * nodes
    return _to_surface(mesh, far, nodes, tetrahedra, cell), tetrahedra


def _to_surface(mesh: wp.Mesh, far: float, nodes: np.ndarray, tetrahedra: np.ndarray, cell: float) -> np.ndarray:
    """Move the outer nodes onto the surface, as far as every tetrahedron keeps a fifth of its volume."""
    outer = np.unique(surface_triangles(tetrahedra))
    _, nearest = _ask(mesh, far, nodes[outer])
    move = np.zeros_like(nodes)
    move[outer] = nearest - nodes[outer]
    reach = np.linalg.norm(move, axis=1, keepdims=True)
    move *= np.minimum(1.0, 0.8 * cell / np.maximum(reach, 1.0e-30))
    share = np.ones(len(nodes))
    least = 0.2 * signed_volumes(nodes, tetrahedra)
    for _ in range(8):
        crushed = signed_volumes(nodes + share[:, None] * move, tetrahedra) < least
        if not crushed.any():
            break
        share[np.unique(tetrahedra[crushed])] *= 0.6
    else:
        share[np.unique(tetrahedra[crushed])] = 0.0
    return nodes + share[:, None] * move

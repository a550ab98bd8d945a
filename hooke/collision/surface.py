"""The surface of a model's particles that meets itself: its vertices, edges and triangles, and which pairs of them never meet."""

from __future__ import annotations

import numpy as np
import warp as wp

from hooke.geometry.incidence import list_members
from hooke.geometry.topology import mesh_edges

__all__ = ["PairFilter", "Surface", "make_filter"]


@wp.struct
class PairFilter:
    """Pairs that are left out.

    ``ring`` (of index i ``ring_start[i] : ring_start[i + 1]``, sorted): vertices so near along the edges that pairs with them exert no
    force. ``barred_*``: the triangles of a vertex and the edges of an edge that it is not to meet at all. ``rest``: positions of the
    rest shape, where pairs closer than ``exclusion`` [m] exert no force. ``particle``: the particle of every index.
    """

    ring_start: wp.array(dtype=wp.int32)
    ring: wp.array(dtype=wp.int32)
    barred_triangle_start: wp.array(dtype=wp.int32)
    barred_triangle: wp.array(dtype=wp.int32)
    barred_edge_start: wp.array(dtype=wp.int32)
    barred_edge: wp.array(dtype=wp.int32)
    rest: wp.array(dtype=wp.vec3)
    exclusion: wp.float32
    particle: wp.array(dtype=wp.int32)


class Surface:
    """What of a model takes part in self-contact.

    Vertices of triangles take part: neither the inside of a body of tetrahedra nor loose particles do. Edges are the rows of the
    model's table of edges, under their numbers there, then the sides of triangles that have no row.

    Args:
        triangles: Particles, shape (n, 3).
        edges: Rows of the table of edges (o0, o1, v0, v1), shape (m, 4).
        world: World of every particle.

    Attributes:
        vertices: Particles, shape (k, 1).
        edges: Particles, shape (e, 2).
        triangles: Particles, shape (n, 3).
        worlds: World of every vertex, edge and triangle.
    """

    def __init__(self, triangles: np.ndarray, edges: np.ndarray, world: np.ndarray):
        self.count = len(world)
        self.triangles = np.asarray(triangles, np.int32).reshape(-1, 3)
        self.vertices = np.unique(self.triangles).astype(np.int32).reshape(-1, 1)
        rows = np.asarray(edges, np.int32).reshape(-1, 4)[:, 2:]
        sides = mesh_edges(self.triangles)[0][:, 2:]
        known = np.unique(_key(rows, self.count))
        self.edges = np.concatenate([rows, sides[~np.isin(_key(sides, self.count), known)]]).astype(np.int32)
        self.worlds = [world[x[:, 0]] for x in (self.vertices, self.edges, self.triangles)]

    def rings(self, distance: int) -> tuple[np.ndarray, np.ndarray]:
        """Particles within a number of edges of every particle, itself left out: ``start`` (count + 1,) and their sorted list."""
        start, row, slot = list_members(self.edges, self.count)
        near_start, near = start, self.edges[row, 1 - slot]
        ring_start, ring = np.zeros(self.count + 1, np.int32), np.empty(0, np.int32)
        for step in range(distance):
            if step == 0:
                owner = np.repeat(np.arange(self.count), np.diff(near_start))
                reached = near
            else:
                owner, reached = _step(ring_start, ring, near_start, near)
            key = np.unique(owner.astype(np.int64) * self.count + reached)
            owner, reached = key // self.count, key % self.count
            other = owner != reached
            owner, ring = owner[other], reached[other].astype(np.int32)
            ring_start = np.searchsorted(owner, np.arange(self.count + 1)).astype(np.int32)
        return ring_start, ring


def _key(pairs: np.ndarray, count: int) -> np.ndarray:
    return pairs.min(axis=1).astype(np.int64) * count + pairs.max(axis=1)


def _step(start: np.ndarray, ring: np.ndarray, near_start: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What can be reached by one more edge, with what was reached before."""
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    number = np.diff(near_start)[ring]
    first = np.repeat(near_start[ring], number)
    step = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    return np.concatenate([owner, np.repeat(owner, number)]), np.concatenate([ring, near[first + step]])


def _listed(pairs: np.ndarray, rows: int, both_ways: bool) -> tuple[np.ndarray, np.ndarray]:
    """Pairs as ``start`` of every row and a sorted list; the other way round too where both are of one kind."""
    if both_ways:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = np.unique(pairs, axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(rows + 1)).astype(np.int32), pairs[:, 1].astype(np.int32)


def make_filter(
    surface: Surface, index: np.ndarray, particle: np.ndarray, rest: wp.array, ring: int, exclusion: float,
    barred_triangles: np.ndarray, barred_edges: np.ndarray,
) -> PairFilter:  # fmt: skip
    """The filter of a surface.

    Args:
        surface: The surface.
        index: Index of every particle in the arrays that pairs are found in.
        particle: The particle of every such index.
        rest: Positions of the rest shape [m], read when pairs are found.
        ring: Pairs with vertices fewer than this many edges apart exert no force; 1 and less keeps all that share no vertex.
        exclusion: Pairs closer than this in the rest shape exert no force [m]; 0 keeps all.
        barred_triangles: Pairs (particle, triangle) that are not to meet, shape (n, 2).
        barred_edges: Pairs of edges, shape (n, 2); in whichever order.
    """
    start, near = surface.rings(max(ring - 1, 0))
    number = np.diff(start)
    size = len(particle)
    ring_start = np.zeros(size + 1, np.int64)
    ring_start[index + 1] = number
    ring_start = np.cumsum(ring_start)
    ring_list = np.empty(len(near), np.int32)
    owner = np.repeat(np.arange(surface.count), number)
    order = np.lexsort((index[near], index[owner]))
    ring_list[:] = index[near][order]
    device, result = rest.device, PairFilter()
    result.ring_start = wp.array(ring_start, dtype=wp.int32, device=device)
    result.ring = wp.array(ring_list, dtype=wp.int32, device=device)
    for name, lists in (
        ("barred_triangle", _listed(barred_triangles, surface.count, False)),
        ("barred_edge", _listed(barred_edges, len(surface.edges), True)),
    ):
        setattr(result, f"{name}_start", wp.array(lists[0], dtype=wp.int32, device=device))
        setattr(result, name, wp.array(lists[1], dtype=wp.int32, device=device))
    result.rest, result.exclusion = rest, float(exclusion)
    result.particle = wp.array(particle, dtype=wp.int32, device=device)
    return result

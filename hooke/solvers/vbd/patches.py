"""Patches of particles that move together, on levels from fine to coarse: what makes sweeps of stiff or fine meshes converge.

A sweep carries a force one ring of neighbours far. Before it, whole patches make a Newton step on the translation t they share,

    g_P = sum_{i in P} dG/dx_i,     H_P = d2G(x + t on P)/dt2,     t_P = - H_P^-1 g_P,     x_i += t_P for i in P          (1)

patch by patch in colours like particles, on the coarsest level first. An element changes with t only where it reaches out of a patch:
it enters like that of one particle, with the corners in the patch as one. So a level costs as much as its patches have borders.
The patches of a level are about three of the next finer one across, particles the finest. With one patch per particle, (1) is vertex
block descent itself; with exact solutions of the levels it is a multigrid cycle with piecewise constant interpolation (Vanek, Mandel,
Brezina 1996, smooth it; here the extrapolation of :mod:`hooke.solvers.vbd.acceleration` makes up for its steps being short).

A patch with a particle that is held (or belongs to a world that is done) does not move. Particles that are fixed when the
patches are made belong to none.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from hooke.elements import Element
from hooke.geometry.aggregation import aggregate
from hooke.geometry.coloring import color_worlds
from hooke.geometry.graph import Graph

__all__ = ["Entries", "Level", "Patches", "make_patches", "particle_entries", "share_out"]

REACH = 3
"""Edges that roots of patches are more than apart."""


@dataclass(frozen=True)
class Entries:
    """Elements as nodes see them: particles, or patches, which move several of their corners at once.

    Attributes:
        rows: Elements, shape (n,).
        corners: Their corners (particles, and the point if there is one), shape (n, size).
        node: Node that moves every corner, shape (n, size); -1 where none does or an earlier corner has the same.
        group: Corners with the same number move together, shape (n, size).
    """

    rows: np.ndarray
    corners: np.ndarray
    node: np.ndarray
    group: np.ndarray

    def together(self, lead: int, piece: slice = slice(None)) -> np.ndarray:
        """Which corners move with corner ``lead``, bool (n, size), for a piece of the elements."""
        return self.group[piece] == self.group[piece, lead, None]


def particle_entries(element: Element, rows: np.ndarray, corners: np.ndarray) -> Entries:
    """Every particle by itself."""
    node = corners.copy()
    node[:, element.particle_count :] = -1
    return Entries(rows, corners, node, np.broadcast_to(np.arange(element.size), corners.shape))


@dataclass(frozen=True)
class Level:
    """The patches of a level.

    Attributes:
        patch: Patch of every particle, -1 for none, int32 (particles,).
        parent: Patch of the next coarser level that every patch of this one is in, int32; empty on the coarsest.
        colors: Patches of every colour.
    """

    patch: np.ndarray
    parent: np.ndarray
    colors: list[np.ndarray]


@dataclass(frozen=True)
class Patches:
    """The patches of all levels, numbered from those of the coarsest level to those of the finest, in a level by colour.

    Attributes:
        levels: From the coarsest to the finest.
        count: Number of patches on all levels.
    """

    levels: list[Level]
    count: int

    @property
    def colors(self) -> list[np.ndarray]:
        """Patches of every colour, in the order in which they are swept."""
        return [color for level in self.levels for color in level.colors]

    @property
    def parent(self) -> np.ndarray:
        """The patch that every patch is in, ``count`` for those of the coarsest level, int32 (count,)."""
        known = [level.parent for level in self.levels]
        roots = self.count - sum(map(len, known))
        return np.concatenate([np.full(roots, self.count), *known]).astype(np.int32)

    def members(self, level: Level) -> tuple[np.ndarray, np.ndarray]:
        """The particles of a level by increasing patch, and their patches."""
        particle = np.flatnonzero(level.patch >= 0)
        particle = particle[np.argsort(level.patch[particle], kind="stable")].astype(np.int32)
        return particle, level.patch[particle]

    def all_entries(
        self, active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any], length: int
    ) -> list[Entries]:
        """:meth:`entries` of all kinds that act, in arrays of ``length``."""
        return [
            self.entries(element, rows, stencils, element.corners(rows, stencils, tables[element.table.name].count, length))
            for element, rows, stencils in active
        ]

    def entries(self, element: Element, rows: np.ndarray, stencils: np.ndarray, corners: np.ndarray) -> Entries:
        """The elements that reach out of patches, once per level; ``stencils`` are the particles of their ``corners``."""
        found = []
        for level in self.levels:
            group = np.full(corners.shape, -2, np.int32)  # a point moves with nobody
            group[:, : element.particle_count] = level.patch[stencils]
            out = (group != group[:, :1]).any(axis=1) & (group >= 0).any(axis=1)
            group = group[out]
            node = np.maximum(group, -1)
            for s in range(1, element.size):
                node[(group[:, :s] == group[:, s, None]).any(axis=1), s] = -1
            found.append(Entries(rows[out], corners[out], node, group))
        return Entries(*(np.concatenate([getattr(e, name) for e in found]) for name in ("rows", "corners", "node", "group")))


def share_out(entries: list[Entries], patches: Patches, most: int) -> tuple[list[Entries], np.ndarray]:
    """Divide the elements of every patch into shares of at most about ``most``.

    Returns:
        The entries with shares as their nodes, and the patch of every share, in increasing order of the patches; each has one or more.
    """
    counts = [np.bincount(e.node[e.node >= 0], minlength=patches.count) for e in entries]
    number = np.maximum(-(-sum(counts, np.zeros(patches.count, np.int64)) // most), 1)
    first = np.cumsum(number) - number
    shared = []
    for e, count in zip(entries, counts, strict=True):
        row, corner = np.nonzero(e.node >= 0)
        patch = e.node[row, corner]
        order = np.argsort(patch, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - (np.cumsum(count) - count)[patch[order]]
        node = np.full_like(e.node, -1)
        node[row, corner] = first[patch] + rank * number[patch] // np.maximum(count[patch], 1)
        shared.append(Entries(e.rows, e.corners, node, e.group))
    return shared, np.repeat(np.arange(patches.count), number)


def make_patches(active: list[tuple[Element, np.ndarray, np.ndarray]], free: np.ndarray, world: np.ndarray) -> Patches:
    """Patches of the particles that are free, until those of a level share no element.

    Args:
        active: Kinds of elements that act, with the rows that do and their particles.
        free: Which particles forces move, bool (n,).
        world: World of every particle, int32 (n,); equal worlds get equal patches.
    """
    stencils = [particles for _element, _rows, particles in active if particles.shape[1] > 1]
    found: list[Level] = []
    node, count, member = np.where(free, np.arange(len(free)), -1).astype(np.int32), len(free), free
    while True:
        reached = [rows[(rows != rows[:, :1]).any(axis=1)] for rows in (node[particles] for particles in stencils)]
        graph = Graph.of_stencils(count, reached)
        if found:
            world_of = np.empty(count, world.dtype)
            world_of[node[free]] = world[free]
            found[0].colors.extend(color_worlds(world_of, reached))
        if not graph.degree.any():
            break
        patch, number = aggregate(graph, member, REACH)
        if found:
            found[0] = Level(found[0].patch, patch, found[0].colors)
        node = np.where(node >= 0, patch[node], -1).astype(np.int32)
        count, member = number, np.ones(number, bool)
        found.insert(0, Level(node, np.empty(0, np.int32), []))
    return _number_patches(found)


def _number_patches(found: list[Level]) -> Patches:
    """Number the patches of all levels by colour."""
    levels: list[Level] = []
    offset, before = 0, np.empty(0, np.int32)  # before: new numbers of the patches of the coarser level
    for level in found:
        order = np.concatenate(level.colors)
        renamed = np.empty(len(order), np.int32)
        renamed[order] = offset + np.arange(len(order))
        bounds = offset + np.cumsum([0, *map(len, level.colors)])
        colors = [np.arange(a, b) for a, b in itertools.pairwise(bounds)]
        patch = np.where(level.patch >= 0, renamed[level.patch], -1).astype(np.int32)
        levels.append(Level(patch, before[level.parent[order]] if len(before) else level.parent, colors))
        offset, before = offset + len(order), renamed
    return Patches(levels, offset)

"""Sweeps over patches of particles (:mod:`hooke.solvers.vbd.patches`).

What inertia and contacts exert is summed over the particles of the finest patches, then from level to level; when the patch around
them has moved by t, patches take -H t for the change. What elements exert is taken from where all is now, in shares of a few
elements, so that a patch with many is worked on by many. Patches of one colour share no element, but they may touch each other:
contacts of the surface with itself count twice in the block that is solved, as if the other side gave way as much.
"""

import functools
import itertools
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import Element
from hooke.execution.work import FEW, Work, first_item, next_item
from hooke.math import LANES, add, apply, isotropic, solve, symmetric
from hooke.model.tables import Particles
from hooke.solvers.vbd.contacts import make_row_contact
from hooke.solvers.vbd.features import FeatureContacts, add_features
from hooke.solvers.vbd.patches import Entries, Patches, share_out
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.vertices import make_chain, pack_chain
from hooke.solvers.vbd.workspace import ContactRows, VertexMotion

__all__ = ["PatchSweep", "VertexPatches", "make_member_kernel", "make_share_kernel"]

COLUMNS = 16
"""Sums of a patch: gradient (3) of inertia and contacts, block (6) of inertia and contacts with shapes, block (6) of contacts with the
surface itself, and the number of particles that are free."""

SHARE = 24
"""Elements that are summed at a time, about."""

PIECE = 64
"""Particles that are moved at a time."""


@wp.struct
class PatchTree:
    """The patches of a model.

    Patch p is in ``parent[p]``, has ``size[p]`` particles, the elements of the shares
    ``share[first_share[p] : first_share[p + 1]]`` and, if it is not of the finest level, the patches
    ``child[first_child[p] : first_child[p + 1]]``. Particles are moved in pieces: piece b has those at the places
    ``member[start[b] : start[b + 1]]``, of ``patch[b]``.
    """

    parent: wp.array(dtype=wp.int32)
    size: wp.array(dtype=wp.int32)
    first_share: wp.array(dtype=wp.int32)
    share: wp.array(dtype=wp.int32)
    first_child: wp.array(dtype=wp.int32)
    child: wp.array(dtype=wp.int32)
    patch: wp.array(dtype=wp.int32)
    start: wp.array(dtype=wp.int32)
    member: wp.array(dtype=wp.int32)


@wp.struct
class PatchMotion:
    """Steps of the patches, and the ways they have moved with all around them; behind these that of what is around all."""

    step: wp.array(dtype=wp.vec3)
    way: wp.array(dtype=wp.vec3)


@wp.kernel(enable_backward=False)
def sum_children(work: Work, tree: PatchTree, sums: wp.array2d(dtype=wp.float32)):
    """The sums of patches from those of the patches in them."""
    p = first_item(work, wp.tid())
    while p >= 0:
        for c in range(sums.shape[0]):
            total = float(0.0)
            for k in range(tree.first_child[p], tree.first_child[p + 1]):
                total += sums[c, tree.child[k]]
            sums[c, p] = total
        p = next_item(work, p)


@wp.func
def block_at(sums: wp.array2d(dtype=wp.float32), c: int, i: int):
    """The block in the rows ``c`` to ``c`` + 5."""
    return symmetric(sums[c, i], sums[c + 1, i], sums[c + 2, i], sums[c + 3, i], sums[c + 4, i], sums[c + 5, i])


@wp.kernel(enable_backward=False)
def find_steps(
    work: Work, tree: PatchTree, sums: wp.array2d(dtype=wp.float32), elements: wp.array2d(dtype=wp.float32), motion: PatchMotion
):
    """Newton steps of the patches without a particle that is held; ``elements`` has gradient and block of every share."""
    p = first_item(work, wp.tid())
    while p >= 0:
        around = motion.way[tree.parent[p]]
        step = wp.vec3(0.0)
        if int(sums[15, p]) == tree.size[p]:
            block, touch = block_at(sums, 3, p), block_at(sums, 9, p)
            gradient = wp.vec3(sums[0, p], sums[1, p], sums[2, p]) + apply(block, around)
            hessian = block + touch + touch
            for k in range(tree.first_share[p], tree.first_share[p + 1]):
                s = tree.share[k]
                gradient += wp.vec3(elements[0, s], elements[1, s], elements[2, s])
                hessian = hessian + block_at(elements, 3, s)
            step = -solve(hessian, gradient)
        motion.step[p] = step
        motion.way[p] = around + step
        p = next_item(work, p)


@wp.kernel(enable_backward=False)
def move_members(work: Work, tree: PatchTree, motion: PatchMotion, displacement: wp.array(dtype=wp.vec3)):
    """Move the particles of patches by their steps."""
    b = first_item(work, wp.tid())
    while b >= 0:
        step = motion.step[tree.patch[b]]
        for k in range(tree.start[b], tree.start[b + 1]):
            displacement[tree.member[k]] = displacement[tree.member[k]] + step
        b = next_item(work, b)


class PatchSweep:
    """What does not depend on how many patches are summed at a time.

    Args:
        patches: The patches.
        entries: The elements that reach out of them, by kind.
        place: Place of every particle in ``displacement``.
        displacement: What is moved.
        recorder: Launches the kernels.

    Attributes:
        patches: The patches.
        entries: The elements with shares as their nodes.
        share_colors: Shares of every colour of patches.
        tree: The patches on the device.
        sums: Sums of inertia and contacts, (16, patches and some more).
        elements: Gradient and block of every share by its slot, (9, slots); made by whoever lays them out.
    """

    def __init__(self, patches: Patches, entries: list[Entries], place: np.ndarray, displacement: wp.array, recorder: Any):
        self._recorder, self._displacement, self.patches = recorder, displacement, patches
        self.entries, owner = share_out(entries, patches, SHARE)
        first = np.searchsorted(owner, np.arange(patches.count + 1))
        self._colors = [(int(color[0]), len(color)) for color in patches.colors]
        self.share_colors = [np.arange(first[a], first[a + n]) for a, n in self._colors]
        columns = {"parent": patches.parent, "first_share": first, **self._sort_children(), **self._cut_pieces(place)}
        self.tree = PatchTree()
        for name, column in columns.items():
            setattr(self.tree, name, wp.array(column, dtype=wp.int32, device=recorder.device))
        self._motion = PatchMotion()
        self._motion.step = wp.zeros(patches.count, dtype=wp.vec3, device=recorder.device)
        self._motion.way = wp.zeros(patches.count + 1, dtype=wp.vec3, device=recorder.device)
        self.sums = wp.zeros((COLUMNS, patches.count + LANES), dtype=wp.float32, device=recorder.device)
        self.elements: wp.array = None

    def place_shares(self, slot: np.ndarray, slots: int) -> None:
        """Say where the sums of every share go; makes room for ``slots``."""
        self.tree.share = wp.array(slot, dtype=wp.int32, device=self._recorder.device)
        self.elements = wp.zeros((9, slots), dtype=wp.float32, device=self._recorder.device)

    def _sort_children(self) -> dict[str, np.ndarray]:
        parent = self.patches.parent
        inner = np.flatnonzero(parent < self.patches.count)
        child = inner[np.argsort(parent[inner], kind="stable")]
        bounds = np.cumsum([0, *(sum(map(len, level.colors)) for level in self.patches.levels)])
        self._levels = [(int(a), int(b - a)) for a, b in itertools.pairwise(bounds)]
        return {"child": child, "first_child": np.searchsorted(parent[child], np.arange(self.patches.count + 1))}

    def _cut_pieces(self, place: np.ndarray) -> dict[str, np.ndarray]:
        patch, sizes, member = [], [], []
        for level in self.patches.levels:
            particle, owner = self.patches.members(level)
            count = np.bincount(owner, minlength=self.patches.count)
            number = -(-count // PIECE)
            of = np.repeat(np.arange(self.patches.count), number)
            within = np.arange(len(of)) - np.repeat(np.cumsum(number) - number, number)
            patch.append(of)
            sizes.append(np.minimum(count[of] - PIECE * within, PIECE))
            member.append(place[particle])
        patches = np.concatenate(patch)
        bounds = np.searchsorted(patches, [(a, a + n) for a, n in self._colors])
        self._pieces = [(int(a), int(b - a)) for a, b in bounds]
        size = np.bincount(patches, np.concatenate(sizes), self.patches.count)
        start = np.cumsum([0, *np.concatenate(sizes)])
        return {"patch": patches, "start": start, "member": np.concatenate(member), "size": size}

    @property
    def finest(self) -> tuple[int, int]:
        """The first patch of the finest level, and their number."""
        return self._levels[-1]

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [sum_children, find_steps, move_members]

    def begin(self, rows: ContactRows, dt: float) -> None:
        """Before the sweeps of a step, after those of particles have begun."""

    def sweep(self, rows: ContactRows, features: Any, done: wp.array, dt: float) -> None:
        """Newton steps of all patches, the coarsest first.

        Args:
            rows: Contacts with shapes.
            features: Contacts of the surface with itself, None if there cannot be any.
            done: 1 for worlds that rest.
            dt: Time step [s].
        """
        self.sum_members(rows, features, done, dt)
        for first, count in reversed(self._levels[:-1]):
            self._recorder.launch(sum_children, count, [self.tree], [self.sums], first=first, grain=FEW)
        parts = zip(self._colors, self._pieces, strict=True)
        for color, ((first, count), (first_piece, pieces)) in enumerate(parts):
            self.sum_shares(color, dt)
            inputs = [self.tree, self.sums, self.elements]
            self._recorder.launch(find_steps, count, inputs, [self._motion], first=first, grain=FEW)
            inputs = [self.tree, self._motion]
            self._recorder.launch(move_members, pieces, inputs, [self._displacement], first=first_piece, grain=FEW)

    def sum_members(self, rows: ContactRows, features: Any, done: wp.array, dt: float) -> None:
        """The sums of the patches of the finest level."""
        raise NotImplementedError

    def sum_shares(self, color: int, dt: float) -> None:
        """What elements exert on the patches of a colour."""
        raise NotImplementedError


# ---- one at a time


@functools.cache
def make_member_kernel(friction: str) -> Any:
    """The kernel that sums over the particles of the finest patches, with a friction law."""
    evaluate = make_row_contact(friction)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_members(
        work: Work, start: wp.array(dtype=wp.int32), member: wp.array(dtype=wp.int32), particles: Particles, rows: ContactRows,
        features: FeatureContacts, done: wp.array(dtype=wp.int32), vertices: VertexMotion, dt: float, first: int,
        sums: wp.array2d(dtype=wp.float32),
    ):  # fmt: skip
        """Patch ``first`` + p has the particles ``member[start[p] : start[p + 1]]``."""
        p = first_item(work, wp.tid())
        while p >= 0:
            gradient, block = wp.vec3(0.0), isotropic(float(0.0))
            touch = isotropic(float(0.0))
            alive = float(0.0)
            for m in range(start[p], start[p + 1]):
                i = member[m]
                if done[particles.world[i]] == 0 and not is_fixed(particles, i):
                    alive += 1.0
                inertia = particles.mass[i] / (dt * dt)
                gradient += inertia * (vertices.displacement[i] - vertices.target[i])
                block = block + isotropic(inertia)
                for r in range(rows.first[i], rows.first[i + 1]):
                    g, h, _load, _secant = evaluate(rows, r, vertices.displacement[i], dt)
                    gradient += g
                    block = block + h
                gradient, touch = add_features(features, i, gradient, touch)
            for c in range(3):
                sums[c, first + p] = gradient[c]
            store_block(block, 3, first + p, sums)
            store_block(touch, 9, first + p, sums)
            sums[15, first + p] = alive
            p = next_item(work, p)

    return sum_members


@wp.func
def store_block(block: Any, c: int, i: int, sums: wp.array2d(dtype=wp.float32)):
    sums[c, i] = block.xx
    sums[c + 1, i] = block.yy
    sums[c + 2, i] = block.zz
    sums[c + 3, i] = block.xy
    sums[c + 4, i] = block.xz
    sums[c + 5, i] = block.yz


@functools.cache
def make_share_kernel(elements: tuple[Element, ...]) -> Any:
    """The kernel that sums over the elements of shares, for some kinds of elements."""
    Chain, sum_elements = make_chain(elements)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_shares(work: Work, chain: Chain, vertices: VertexMotion, dt: float, sums: wp.array2d(dtype=wp.float32)):
        s = first_item(work, wp.tid())
        while s >= 0:
            gradient, hessian = sum_elements(chain, s, vertices.displacement, vertices.start, dt)
            for c in range(3):
                sums[c, s] = gradient[c]
            store_block(hessian, 3, s, sums)
            s = next_item(work, s)

    return sum_shares


class VertexPatches(PatchSweep):
    """Patches, one at a time.

    Args:
        patches: The patches.
        active: Kinds of elements that act, with the rows that do and their particles.
        tables: Tables of the model.
        vertices: Motion of the particles.
        friction: Name of the friction law.
        recorder: Launches the kernels.
    """

    def __init__(
        self, patches: Patches, active: list[tuple[Element, np.ndarray, np.ndarray]], tables: dict[str, Any],
        vertices: VertexMotion, friction: str, recorder: Any,
    ):  # fmt: skip
        entries = patches.all_entries(active, tables, len(vertices.displacement))
        super().__init__(patches, entries, np.arange(tables["particle"].count), vertices.displacement, recorder)
        self._particles, self._vertices = tables["particle"], vertices
        shares = sum(map(len, self.share_colors))
        self.place_shares(np.arange(shares), shares)
        kinds = [element for element, _, _ in active]
        self._chain = pack_chain(list(zip(kinds, self.entries, strict=True)), tables, shares, recorder.device)
        self._sum_members, self._sum_shares = make_member_kernel(friction), make_share_kernel(tuple(kinds))
        particle, owner = patches.members(patches.levels[-1])
        first, count = self.finest
        start = np.searchsorted(owner, first + np.arange(count + 1))
        self._start = wp.array(start, dtype=wp.int32, device=recorder.device)
        self._member = wp.array(particle, dtype=wp.int32, device=recorder.device)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [*super().kernels, self._sum_members, self._sum_shares]

    def sum_members(self, rows: ContactRows, features: Any, done: wp.array, dt: float) -> None:
        """The sums of the patches of the finest level."""
        first, count = self.finest
        inputs = [self._start, self._member, self._particles.struct, rows, features or FeatureContacts(), done, self._vertices, dt]
        self._recorder.launch(self._sum_members, count, [*inputs, first], [self.sums])

    def sum_shares(self, color: int, dt: float) -> None:
        """What elements exert on the patches of a colour."""
        shares = self.share_colors[color]
        inputs = [self._chain, self._vertices, dt]
        self._recorder.launch(self._sum_shares, len(shares), inputs, [self.elements], first=int(shares[0]))

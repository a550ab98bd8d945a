"""Contacts between features of a surface: which pairs exert a force, their rows, and the list of every particle.

A vertex above a ridge is nearest to the same point of two triangles, above a corner to that of six. Of the triangles on which the
nearest point is on a shared edge or corner, only the nearest exerts a force, so that stiffness does not depend on how a surface is
meshed. Edges do where they cross: there, the force fades as the crossing comes near an end, where a vertex takes over.

The normal and the weights of a contact are found anew in every iteration; within one, the distance follows the displacements.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.self_contact import Candidates, PairKind, Pairs, moved_corners, pair_count
from hooke.contact.barrier import feature_contact
from hooke.execution.flags import lane_options
from hooke.execution.work import FEW, Work, first_item, next_item
from hooke.math import (
    LANES,
    Block,
    BlockL,
    IndexLanes,
    Lanes,
    VectorL,
    add,
    div,
    dot,
    gather_index_quads,
    gather_quads,
    gather_vectors,
    larger,
    mul,
    neg,
    norm,
    positive,
    select,
    smaller,
    spread,
    strided_indices,
    sub,
    take_number,
    vector,
)
from hooke.model.tables import Particles
from hooke.solvers.vbd.predict import is_fixed

__all__ = ["FIELDS", "ROW", "FeatureContacts", "FeatureMaterial", "Features", "Owners", "add_features", "add_lane_features",
           "contact_change", "contact_derivatives", "count_features", "find_free", "list_features", "make_feature_kernels",
           "places_of", "sort_features"]  # fmt: skip

FIELDS = 16
"""Numbers of a row, a cache line: normal (3) and distance at the start of the step; weights of the corners (4); stiffness, c/dt, friction,
radius of interaction; tau of the barrier, then the motion (3) of the other side."""
ROW = wp.constant(FIELDS)
SAME = wp.constant(0.01)
"""Weight of a corner below which the nearest point counts as being on the opposite side."""
FADE = wp.constant(0.1)
"""Part of an edge near its ends within which a crossing fades."""


@wp.struct
class FeatureContacts:
    """Contacts of a step.

    ``row`` holds FIELDS numbers of every contact, ``corner`` its four indices; the last contact is one of nobody. Those of index i are
    ``entry[first[i]] ... entry[first[i + 1]]``: 4 contact + corner. ``place`` is the index of every particle, ``displacement`` the way
    of every index since the start of the step, ``slip`` [m] smooths friction.
    """

    row: wp.array(dtype=wp.float32)
    corner: wp.array(dtype=wp.int32)
    first: wp.array(dtype=wp.int32)
    entry: wp.array(dtype=wp.int32)
    place: wp.array(dtype=wp.int32)
    displacement: wp.array(dtype=wp.vec3)
    slip: wp.float32


@wp.struct
class FeatureMaterial:
    """The material of contacts of the surface with itself: radius of interaction [m], stiffness, c/dt and friction."""

    radius: wp.float32
    stiffness: wp.float32
    damping_rate: wp.float32
    mu: wp.float32


@wp.struct
class Owners:
    """Of every 16 pairs a bit for each that exerts a force, their number, and the running sum."""

    bits: wp.array(dtype=wp.int32)
    number: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)


@wp.func
def corner_at(pairs: Pairs, k: int, c: int):
    return pairs.corner[(4 * (k // LANES) + c) * LANES + k % LANES]


@wp.func
def weight_at(pairs: Pairs, k: int, c: int):
    return pairs.weight[(2 * (k // LANES) + c) * LANES + k % LANES]


@wp.func
def rests_on(pairs: Pairs, k: int, other: int):
    """Whether the point of triangle ``k`` that is nearest to its vertex is on triangle ``other`` too, to within ``SAME``."""
    v = weight_at(pairs, k, 0)
    w = weight_at(pairs, k, 1)
    for c in range(1, 4):
        part = wp.where(c == 1, 1.0 - v - w, wp.where(c == 2, v, w))
        if part > SAME:
            i = corner_at(pairs, k, c)
            if corner_at(pairs, other, 1) != i and corner_at(pairs, other, 2) != i and corner_at(pairs, other, 3) != i:
                return False
    return True


@wp.func
def yields_to(pairs: Pairs, k: int, other: int):
    """Whether triangle ``other`` takes over the contact of its vertex with triangle ``k``."""
    if pairs.acts[other] == 0:
        return False
    nearer = pairs.distance[other] < pairs.distance[k]
    first = pairs.distance[other] == pairs.distance[k] and pairs.target[other] < pairs.target[k]
    return (nearer or first) and rests_on(pairs, k, other)


@wp.func
def owns_vertex_triangle(pairs: Pairs, k: int, count: int):
    """Pairs of one vertex follow each other."""
    vertex = corner_at(pairs, k, 0)
    for step in range(2):
        other = k + 2 * step - 1
        while other >= 0 and other < count and corner_at(pairs, wp.clamp(other, 0, count - 1), 0) == vertex:
            if yields_to(pairs, k, other):
                return False
            other = other + 2 * step - 1
    return True


@wp.func
def owns_edge_edge(pairs: Pairs, k: int, count: int):
    s = weight_at(pairs, k, 0)
    t = weight_at(pairs, k, 1)
    return s > 0.0 and s < 1.0 and t > 0.0 and t < 1.0


@wp.func
def fade(s: Lanes, t: Lanes):
    one = spread(1.0)
    inner = smaller(smaller(s, one - s), smaller(t, one - t))
    return smaller(positive(inner) / spread(FADE), one)


@wp.func_native(f"""
    auto out = row.data + {FIELDS} * (long long)at;
    for (auto l = 0; l < {LANES}; l++, out += {FIELDS}) {{
        out[0] = nx[l]; out[1] = ny[l]; out[2] = nz[l]; out[3] = gap[l];
        out[4] = wa[l]; out[5] = wb[l]; out[6] = wc[l]; out[7] = wd[l];
        out[8] = stiffness[l]; out[9] = damping_rate[l];
        out[10] = mu; out[11] = radius; out[12] = tau; out[13] = out[14] = out[15] = 0.0f;
    }}
""")
def store_rows(
    nx: Lanes, ny: Lanes, nz: Lanes, gap: Lanes, wa: Lanes, wb: Lanes, wc: Lanes, wd: Lanes, stiffness: Lanes,
    damping_rate: Lanes, mu: float, radius: float, tau: float, at: int, row: wp.array(dtype=wp.float32),
): ...  # fmt: skip


@functools.cache
def make_feature_kernels(kind: PairKind, own_all: bool) -> tuple[Any, Any, Any]:
    """The kernels (own, write, refresh) of a kind of pair; with ``own_all`` every pair exerts a force, however many there are."""
    nearest = kind.nearest
    one_sided, everyone = int(kind.first == 1), int(own_all)
    owns = owns_vertex_triangle if one_sided else owns_edge_edge

    @wp.kernel(module="unique", enable_backward=False)
    def own_pairs(work: Work, candidates: Candidates, pairs: Pairs, owners: Owners):
        """Which of 16 pairs exert a force."""
        group = first_item(work, wp.tid())
        while group >= 0:
            bits = int(0)
            number = int(0)
            count = pair_count(candidates, pairs)
            for lane in range(LANES):
                k = LANES * group + lane
                if k < count:
                    mine = pairs.acts[k] != 0
                    if mine and everyone == 0:
                        mine = owns(pairs, k, count)
                    if mine:
                        bits = bits | (1 << lane)
                        number += 1
            owners.bits[group] = bits
            owners.number[group] = number
            group = next_item(work, group)

    @wp.kernel(module="unique", enable_backward=False)
    def write_contacts(work: Work, pairs: Pairs, owners: Owners, first: int, contacts: FeatureContacts):
        """The corners of the contacts from row ``first`` on."""
        group = first_item(work, wp.tid())
        while group >= 0:
            k = first + owners.end[group] - owners.number[group]
            for lane in range(LANES):
                if ((owners.bits[group] >> lane) & 1) != 0:
                    for c in range(4):
                        contacts.corner[4 * k + c] = corner_at(pairs, LANES * group + lane, c)
                    k += 1
            group = next_item(work, group)

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def refresh_contacts(
        work: Work, owners: Owners, first: int, start: wp.array(dtype=wp.vec3), parallel: float, material: FeatureMaterial,
        contacts: FeatureContacts,
    ):  # fmt: skip
        """Normal, distance and weights of 16 contacts where their corners are now."""
        group = first_item(work, wp.tid())
        while group >= 0:
            if owners.end[owners.end.shape[0] - 1] > LANES * group:
                at = first + LANES * group
                a = strided_indices(contacts.corner, 4 * at, 4)
                b = strided_indices(contacts.corner, 4 * at + 1, 4)
                c = strided_indices(contacts.corner, 4 * at + 2, 4)
                d = strided_indices(contacts.corner, 4 * at + 3, 4)
                xb, xc, xd = moved_corners(start, contacts.displacement, a, b, c, d)
                separation, v, w = nearest(xb, xc, xd, spread(parallel))
                distance = norm(separation)
                n = separation / larger(distance, spread(1.0e-30))
                one = spread(1.0)
                wa = one
                wb = v + w - one
                wc = neg(v)
                wd = neg(w)
                share = one
                if one_sided == 0:
                    wa = one - v
                    wb = v
                    wc = w - one
                    wd = neg(w)
                    if everyone == 0:
                        share = fade(v, w)
                way = wa * gather_vectors(contacts.displacement, a) + wb * gather_vectors(contacts.displacement, b)
                way = way + wc * gather_vectors(contacts.displacement, c) + wd * gather_vectors(contacts.displacement, d)
                share = select(distance, share, spread(0.0))  # without distance there is no direction
                store_rows(
                    n.x, n.y, n.z, distance - dot(n, way), wa, wb, wc, wd, material.stiffness * share,
                    material.damping_rate * share, material.mu, material.radius, 0.5 * material.radius, at, contacts.row,
                )  # fmt: skip
            group = next_item(work, group)

    return own_pairs, write_contacts, refresh_contacts


@wp.kernel(enable_backward=False)
def count_features(
    work: Work, end: wp.array(dtype=wp.int32), first: int, contacts: FeatureContacts, free: wp.array(dtype=wp.float32),
    number: wp.array(dtype=wp.int32),
):  # fmt: skip
    """How many contacts every index has that forces move: of the rows from ``first`` on, as many as ``end`` says last."""
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < end[end.shape[0] - 1]:
            for c in range(4):
                i = contacts.corner[4 * (first + k) + c]
                if free[i] > 0.0:
                    take_number(i + 1, number)
        k = next_item(work, k)


@wp.kernel(enable_backward=False)
def list_features(
    work: Work, end: wp.array(dtype=wp.int32), first: int, free: wp.array(dtype=wp.float32), filled: wp.array(dtype=wp.int32),
    contacts: FeatureContacts,
):  # fmt: skip
    """The contacts of every index, in no order yet."""
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < end[end.shape[0] - 1]:
            for c in range(4):
                i = contacts.corner[4 * (first + k) + c]
                if free[i] > 0.0:
                    contacts.entry[contacts.first[i] + take_number(i, filled)] = 4 * (first + k) + c
        k = next_item(work, k)


@wp.kernel(enable_backward=False)
def sort_features(work: Work, contacts: FeatureContacts, most: wp.array(dtype=wp.int32)):
    """Put the lists of 16 indices in order, whoever wrote them, and find the longest."""
    group = first_item(work, wp.tid())
    while group >= 0:
        longest = int(0)
        for lane in range(LANES):
            i = LANES * group + lane
            if i + 1 < contacts.first.shape[0]:
                begin = contacts.first[i]
                end = contacts.first[i + 1]
                longest = wp.max(longest, end - begin)
                for k in range(begin + 1, end):
                    value = contacts.entry[k]
                    j = k - 1
                    while j >= begin and contacts.entry[wp.max(j, 0)] > value:
                        contacts.entry[j + 1] = contacts.entry[j]
                        j -= 1
                    contacts.entry[j + 1] = value
        most[group] = longest
        group = next_item(work, group)


@wp.kernel(enable_backward=False)
def find_free(work: Work, particles: Particles, place: wp.array(dtype=wp.int32), free: wp.array(dtype=wp.float32)):
    """Which indices forces move, where self-contact does not say it."""
    p = first_item(work, wp.tid())
    while p >= 0:
        free[place[p]] = wp.where(is_fixed(particles, p), 0.0, 1.0)
        p = next_item(work, p)


def places_of(particle: np.ndarray, count: int) -> np.ndarray:
    """Index of every one of ``count`` particles, given the particle of every index."""
    place = np.zeros(count, np.int32)
    place[particle[particle < count]] = np.flatnonzero(particle < count)
    return place


class Features:
    """The contacts of a solver's indices, from several sources: the first are those of edges and faces with shapes, the others the
    pairs of self-contact.

    Args:
        place: Index of every particle.
        size: Number of indices.
        displacement: The way of every index since the start of the step.
        rooms: Contacts of every source.
        recorder: Launches the kernels.

    Attributes:
        contacts: What kernels read.
        most: Longest list of every 16 indices.
        first: First row of every source.
        ends: Array of every source whose last entry is the number of its contacts.
        free: 1 for every index that forces move, else 0.
    """

    def __init__(self, place: np.ndarray, size: int, displacement: wp.array, rooms: Sequence[int], recorder: Any):
        device, self._recorder = recorder.device, recorder
        self.ends = [wp.zeros(1, dtype=wp.int32, device=device) for _ in rooms]
        self.free = wp.zeros(size + 1, dtype=wp.float32, device=device)  # the last is of nobody
        self._number = wp.zeros(size + 1, dtype=wp.int32, device=device)
        self._filled = wp.zeros(size, dtype=wp.int32, device=device)
        self.most = wp.zeros(-(-size // LANES), dtype=wp.int32, device=device)
        contacts = self.contacts = FeatureContacts()
        contacts.first = wp.zeros(size + 1, dtype=wp.int32, device=device)
        contacts.place = wp.array(place, dtype=wp.int32, device=device)
        contacts.displacement = displacement
        self._size, self._rooms = size, [0] * len(rooms)
        self.reserve(0, rooms)

    def reserve(self, source: int, rooms: Sequence[int]) -> None:
        """Make room for some contacts of the sources from ``source`` on; the contacts of those before are kept."""
        device, contacts = self._recorder.device, self.contacts
        self._rooms[source : source + len(rooms)] = rooms
        self.first = [sum(self._rooms[:k]) for k in range(len(self._rooms))]
        old_row, old_corner, total, kept = contacts.row, contacts.corner, sum(self._rooms), self.first[source]
        contacts.row = wp.zeros(FIELDS * (total + 1), dtype=wp.float32, device=device)
        contacts.corner = wp.full(4 * (total + 1), self._size, dtype=wp.int32, device=device)
        contacts.entry = wp.full(4 * total + 1, 4 * total, dtype=wp.int32, device=device)
        if kept:
            wp.copy(contacts.row, old_row, count=FIELDS * kept)
            wp.copy(contacts.corner, old_corner, count=4 * kept)

    def list(self) -> None:
        """Make the list of every index."""
        self._recorder.alone(self._number.zero_)
        self._recorder.alone(self._filled.zero_)
        sources = list(zip(self.ends, self.first, self._rooms, strict=True))
        for end, first, room in sources:
            self._recorder.launch(count_features, room, [end, first, self.contacts, self.free], [self._number], grain=FEW)
        self._recorder.alone(wp.utils.array_scan, self._number, self.contacts.first)
        for end, first, room in sources:
            self._recorder.launch(list_features, room, [end, first, self.free], [self._filled, self.contacts], grain=FEW)
        self._recorder.launch(sort_features, len(self.most), [], [self.contacts, self.most], grain=FEW)


@wp.func
def contact_change(contacts: FeatureContacts, k: int):
    """How far the nearest points of contact ``k`` have moved relative to each other since the start of the step."""
    change = wp.vec3(0.0)
    for c in range(4):
        change += contacts.row[ROW * k + 4 + c] * contacts.displacement[contacts.corner[4 * k + c]]
    return change


@wp.func
def contact_derivatives(contacts: FeatureContacts, k: int):
    """Gradient and block of contact ``k`` by that."""
    r = ROW * k
    normal = wp.vec3(contacts.row[r], contacts.row[r + 1], contacts.row[r + 2])
    motion = wp.vec3(contacts.row[r + 13], contacts.row[r + 14], contacts.row[r + 15])
    return feature_contact(
        contact_change(contacts, k), motion, contacts.row[r + 3], normal, contacts.row[r + 11], contacts.row[r + 12],
        contacts.row[r + 8], contacts.row[r + 9], contacts.row[r + 10], contacts.slip,
    )  # fmt: skip


@wp.func
def add_features(contacts: FeatureContacts, particle: int, gradient: wp.vec3, hessian: Block):
    """The sums of a particle with its contacts."""
    if contacts.first.shape[0] > 0:
        i = contacts.place[particle]
        for e in range(contacts.first[i], contacts.first[i + 1]):
            entry = contacts.entry[e]
            g, h = contact_derivatives(contacts, entry // 4)
            weight = contacts.row[ROW * (entry // 4) + 4 + entry % 4]
            gradient = gradient + weight * g
            hessian = hessian + weight * weight * h
    return gradient, hessian


@wp.func_native(f"""
    wp::vec_t<{LANES}, int> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = entry[l] >> 2;
    return result;
""")
def contact_of(entry: IndexLanes) -> IndexLanes: ...


@wp.func_native(f"""
    wp::vec_t<{LANES}, float> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = row.data[{FIELDS} * (entry[l] >> 2) + 4 + (entry[l] & 3)];
    return result;
""")
def own_weight(row: wp.array(dtype=wp.float32), entry: IndexLanes) -> Lanes: ...


@wp.func
def add_lane_features(contacts: FeatureContacts, entry: IndexLanes, gradient: VectorL, hessian: BlockL):
    """The sums of 16 indices with one contact each."""
    k = contact_of(entry)
    corner = gather_index_quads(contacts.corner, k, 4, 0)
    place = gather_quads(contacts.row, k, ROW, 0)
    weight = gather_quads(contacts.row, k, ROW, 4)
    material = gather_quads(contacts.row, k, ROW, 8)
    rest = gather_quads(contacts.row, k, ROW, 12)
    change = weight.a * gather_vectors(contacts.displacement, corner.a) + weight.b * gather_vectors(contacts.displacement, corner.b)
    change = change + weight.c * gather_vectors(contacts.displacement, corner.c)
    change = change + weight.d * gather_vectors(contacts.displacement, corner.d)
    g, h = feature_contact(
        change, vector(rest.b, rest.c, rest.d), place.d, vector(place.a, place.b, place.c), material.d, rest.a, material.a,
        material.b, material.c, spread(contacts.slip),
    )  # fmt: skip
    own = own_weight(contacts.row, entry)
    return gradient + own * g, hessian + (own * own) * h

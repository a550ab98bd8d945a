"""Self-contact of a step: when pairs are looked for, what they exert, and how they keep apart.

A step goes through stages. Between them the host looks whether a search had too little room; then the buffers grow and the search is
done again, unless the launches go into a graph of the user. That search is then reported by the status.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.pair_search import PairSearch, SurfaceTrees
from hooke.collision.self_contact import Reach
from hooke.collision.surface import Surface, make_filter
from hooke.execution.recorder import captured_by_user, launch_directly
from hooke.execution.work import FEW, SOME
from hooke.math import LANES
from hooke.solvers.vbd.features import (
    FeatureMaterial,
    Features,
    Owners,
    count_features,
    list_features,
    make_feature_kernels,
    places_of,
    sort_features,
)
from hooke.solvers.vbd.separation import (
    Limits,
    Searched,
    apply_limits,
    begin_limits,
    keep_known,
    make_limit_kernel,
    reach_along,
    reach_around,
    settle_scales,
)
from hooke.solvers.vbd.workspace import allocate

__all__ = ["SelfContact", "SelfContactOptions", "Stage"]

FAR = 3.0e37

PHASES = {
    "begin": "detect", "look_around": "detect", "look_along": "detect", "bind": "detect", "certify": "truncate",
    "limit": "truncate", "refresh": "contact",
}  # fmt: skip
"""What the methods that launch are counted as; all else belongs to the sweeps."""

SORTED = 32
"""Steps after which the trees are sorted anew."""

ROUNDS = 6
"""In which ways are scaled until no pair meets; nearly always the first two have something to do."""


class SelfContactOptions:
    """What the constructor of the solver says about self-contact.

    Args:
        given: Its arguments by name.
        barred: Pairs (vertex, triangle) and (edge, edge) that are not to meet.
    """

    def __init__(self, given: dict[str, Any], barred: tuple[np.ndarray, np.ndarray]):
        self.radius = float(given["particle_self_contact_radius"])
        self.margin = float(given["particle_self_contact_margin"])
        self.relaxation = float(given["particle_conservative_bound_relaxation"])
        sizes = (given["particle_vertex_contact_buffer_size"], given["particle_edge_contact_buffer_size"])
        self.room = tuple(size / default for size, default in zip(sizes, (32, 64), strict=True))  # pairs per vertex and edge
        self.interval = int(given["particle_collision_detection_interval"])
        self.parallel = float(given["particle_edge_parallel_epsilon"])
        self.rings = int(given["particle_topological_contact_filter_threshold"])
        self.exclusion = float(given["particle_rest_shape_contact_exclusion_radius"])
        self.barred_triangles, self.barred_edges = barred
        self.own_all = given["particle_self_contact_ownership"] == "pair"


@dataclass(frozen=True)
class Stage:
    """Some launches of a step, and the search that they end with, if they do."""

    name: str
    launches: tuple[Callable[[], None], ...]
    search: PairSearch | None

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self) -> None:
        for launch in self.launches:
            launch()

    def time(self, key: Any, recorder: Any, times: dict[str, float]) -> None:
        """Run the launches one by one, each from its own graph, and add the milliseconds of every phase to ``times``."""
        for number, launch in enumerate(self.launches):
            start = time.perf_counter()
            recorder.run(("phase", number, *key), launch)
            phase = PHASES.get(getattr(launch, "func", launch).__name__, "sweep")
            times[phase] = times.get(phase, 0.0) + 1e3 * (time.perf_counter() - start)


class _Plan:
    """The stages of a step as they are put together."""

    def __init__(self, surface: SelfContact):
        self._surface = surface
        self._pending: list[Callable[[], None]] = []
        self.stages: list[Stage] = []

    def add(self, *launches: Callable[[], None]) -> None:
        self._pending.extend(launches)

    def _end_stage(self, search: PairSearch) -> None:
        self.stages.append(Stage(f"stage {len(self.stages)}", tuple(self._pending), search))
        self._pending.clear()

    def look_around(self, at_start: bool) -> None:
        """A new reference, its pairs, and the contacts among them."""
        self.add(functools.partial(self._surface.look_around, at_start))
        self._end_stage(self._surface.near)
        self.add(self._surface.bind)

    def look_along(self, first: bool = False) -> None:
        """The pairs on the ways since the reference."""
        self.add(functools.partial(self._surface.look_along, first))
        self._end_stage(self._surface.ways)

    def certify(self, first: bool = False) -> None:
        """Scale those ways."""
        self.look_along(first)
        self.add(self._surface.certify)


class SelfContact:
    """The surface of a model in a solver.

    Args:
        tables: Tables of the model.
        worlds: Number of worlds.
        options: Options.
        motion: Holds the arrays ``start`` and ``displacement`` of the indices; they are longer than these by two.
        particle: Particle of every index, the number of particles where there is none.
        seen: 0 for every particle that did not come out of a step where this one starts.
        recorder: Launches the kernels.
    """

    def __init__(
        self, tables: dict[str, Any], worlds: int, options: SelfContactOptions, motion: Any, particle: np.ndarray, seen: wp.array,
        recorder: Any,
    ):  # fmt: skip
        device = recorder.device
        self._recorder, self.options, self._particles = recorder, options, tables["particle"]
        self._motion, self.count, size = motion, tables["particle"].count, len(particle)
        q = tables["particle"].arrays["q"]
        self.surface = _surface_of(tables)
        place = places_of(particle, self.count)
        self.trees = SurfaceTrees(self.surface, place, worlds, size, device)
        shared = options.rings, options.exclusion, options.barred_triangles, options.barred_edges
        pair_filter = make_filter(self.surface, place, particle, q, *shared)
        room = [LANES + int(per * len(rows)) for per, rows in zip(options.room, self._queries(), strict=True)]
        self.near = PairSearch(self.trees, pair_filter, options.parallel, (room[0], room[1]), device)
        self.ways = PairSearch(self.trees, pair_filter, options.parallel, (room[0] // 4, room[1] // 4), device)
        self._limit_kernels = [make_limit_kernel(pool.kind) for pool in self.near.pools]
        self._feature_kernels = [make_feature_kernels(pool.kind, options.own_all) for pool in self.near.pools]
        self._particle = pair_filter.particle
        self._size = size
        self.reach = allocate(Reach, size + 2, device, start=motion.start)
        self.reach.low.fill_(wp.vec3(FAR))
        self.reach.high.fill_(wp.vec3(-FAR))
        self._searched = allocate(Searched, size, device)
        self._anew = wp.ones(worlds + 1, dtype=wp.int32, device=device)
        self._always = wp.ones(worlds + 1, dtype=wp.int32, device=device)
        self._seen = seen
        self.material = FeatureMaterial()
        self.features = Features(place, size, motion.displacement, [0, *(0 for _ in self.near.pools)], recorder)
        changed = wp.zeros(ROUNDS, dtype=wp.int32, device=device)
        self.limits = allocate(Limits, size, device, free=self.features.free, changed=changed)
        self._reserve()
        self.trees.sort(q)

    def _queries(self) -> tuple[np.ndarray, np.ndarray]:
        return self.surface.vertices, self.surface.edges

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        searches = [kernel for search in (self.near, self.ways) for kernel in search.kernels]
        features = [kernel for kernels in self._feature_kernels for kernel in kernels]
        own = [
            begin_limits,
            keep_known,
            settle_scales,
            reach_around,
            reach_along,
            apply_limits,
            count_features,
            list_features,
            sort_features,
        ]
        return [*searches, *features, *self._limit_kernels, *own]

    # ---- launches

    def begin(self) -> None:
        """As a step begins, after its first guess is known: its start is the reference; the pairs of the last one stay, if they do."""
        radius = 0.5 * self.options.margin
        inputs = [self._particle, self._particles.struct, self._seen, self._motion.displacement, self._searched, radius]
        self._recorder.launch(begin_limits, self._size, inputs, [self.limits, self.reach, self._anew], grain=FEW)
        self._recorder.launch(keep_known, self._size, [self._particle, self._particles.struct, self._anew], [self.reach], grain=FEW)
        self.near.separate(self.reach, self._recorder)

    def look_around(self, at_start: bool = False) -> None:
        """Make the places of now (or of the start of the step) the reference, and find the pairs nearer than the margin."""
        place = self.reach.shift if at_start else self._motion.displacement
        inputs = [self._particle, self.count, place, 0.5 * self.options.margin]
        self._recorder.launch(reach_around, self._size, inputs, [self.reach, self._searched], grain=FEW)
        self._recorder.alone(self._anew.zero_)
        self.near.run(self.reach, self._recorder)

    def look_along(self, first: bool) -> None:
        """Find the pairs on the ways since the reference that are not known.

        Args:
            first: Whether that is the way of the first guess from the start of the step.
        """
        radius, wanted = (0.0, self._anew) if first else (0.5 * self.options.margin, self._always)
        self._recorder.alone(self.ways.any_mover.zero_)
        inputs = [self._particle, self._particles.struct, self._motion.displacement, radius, wanted]
        self._recorder.launch(reach_along, self._size, inputs, [self.reach, self.ways.any_mover], grain=FEW)
        self.ways.run(self.reach, self._recorder)

    def limit(self) -> None:
        """Scale the ways since the reference of near pairs that would meet: one round, within iterations."""
        self._limit(self.near, 0)
        self._recorder.launch(apply_limits, self._size, [self.reach], [self.limits, self._motion.displacement], grain=FEW)

    def certify(self) -> None:
        """Scale the ways since the reference so that no pairs meet that are near or on ways that were looked along."""
        self._recorder.alone(self.limits.changed.zero_)
        for number in range(ROUNDS):
            if number > 0:
                self._recorder.launch(settle_scales, self._size, [number], [self.limits], grain=FEW)
            self._limit(self.near, number)
            self._limit(self.ways, number)
        self._recorder.launch(apply_limits, self._size, [self.reach], [self.limits, self._motion.displacement], grain=FEW)

    def _limit(self, search: PairSearch, number: int) -> None:
        for kernel, pool in zip(self._limit_kernels, search.pools, strict=True):
            inputs = [pool.candidates, pool.pairs, self._motion.displacement, self.options.relaxation, number]
            self._recorder.launch(kernel, pool.groups, inputs, [self.limits], grain=SOME)

    def bind(self) -> None:
        """The contacts of the pairs that exert a force, and the list of every index."""
        contacts, owners = self.features.contacts, self._owners
        parts = zip(self._feature_kernels, self.near.pools, owners, self.features.first[1:], strict=True)
        for (own_pairs, write_contacts, _refresh), pool, own, first in parts:
            self._recorder.launch(own_pairs, pool.groups, [pool.candidates, pool.pairs], [own], grain=FEW)
            self._recorder.alone(wp.utils.array_scan, own.number, own.end)
            self._recorder.launch(write_contacts, pool.groups, [pool.pairs, own, first], [contacts], grain=FEW)
        self.features.list()

    def refresh(self) -> None:
        """Normals, distances and weights of the contacts where everything is now."""
        parts = zip(self._feature_kernels, self.near.pools, self._owners, self.features.first[1:], strict=True)
        for (_own, _write, refresh_contacts), pool, own, first in parts:
            inputs = [own, first, self._motion.start, self.options.parallel, self.material]
            self._recorder.launch(refresh_contacts, pool.groups, inputs, [self.features.contacts], grain=SOME)

    def set_material(self, model: Any, friction_epsilon: float, dt: float) -> None:
        """The material of the contacts in the launches that follow."""
        material = self.material
        material.radius = self.options.radius
        material.stiffness = float(model.soft_contact_ke)
        material.damping_rate = float(model.soft_contact_kd) / dt
        material.mu = float(model.soft_contact_mu)
        self.features.contacts.slip = friction_epsilon * dt

    def stages(
        self, begin: Callable[[], None], iterations: Sequence[Callable[[], None]], limited: Callable[[], None],
        end: Callable[[], None],
    ) -> list[Stage]:  # fmt: skip
        """The launches of a step up to where the last ways are known, each stage up to a search.

        Args:
            begin: Launches what comes before all searches: the first guess.
            iterations: Launches of every iteration.
            limited: Launches what must know that ways were scaled.
            end: Launches what comes after the iterations.
        """
        plan, every = _Plan(self), self.options.interval
        plan.add(begin, self.begin)
        plan.certify(first=True)
        if every < 0:
            plan.look_around(at_start=True)
            plan.add(self.limit)
        for number, iterate in enumerate(iterations):
            if every >= 0 and (number == 0 or (every > 0 and number % every == 0)):
                if number > 0:
                    plan.certify()
                plan.look_around(at_start=False)
            plan.add(self.refresh, iterate, self.limit, limited)
        plan.add(end)
        plan.look_along(first=not iterations and every >= 0)
        return plan.stages

    # ---- beside the launches

    def keep_sorted(self, steps: int, q: wp.array) -> None:
        """Sort the trees for positions ``q`` of the particles after every so many steps. Results do not depend on it."""
        if steps % SORTED == SORTED - 1 and not captured_by_user(self._recorder.device):
            launch_directly(self.trees.sort, q)

    def settle(self, search: PairSearch) -> None:
        """After a search: where it had too little room make more, and search again. Never inside a capture of the user."""
        if captured_by_user(self._recorder.device):
            return
        while search.grow():
            self._recorder.forget()
            if search is self.near:
                launch_directly(self._reserve)
            launch_directly(search.run, self.reach, self._recorder)

    def _reserve(self) -> None:
        self._owners = [allocate(Owners, pool.groups, self._recorder.device) for pool in self.near.pools]
        self.features.reserve(1, [pool.room for pool in self.near.pools])
        self.features.ends[1:] = [own.end for own in self._owners]

    def overflow(self) -> dict[str, tuple[int, int]]:
        """Pairs that had no room in the last step, as {name: (needed, available)}. Reads the device."""
        lost: dict[str, tuple[int, int]] = {}
        for what, search in (("self_contact", self.near), ("self_contact_ways", self.ways)):
            for pool in search.pools:
                short = pool.shortage()
                if short is not None:
                    lost[f"{what} {pool.kind.name}"] = short
        return lost


def _surface_of(tables: dict[str, Any]) -> Surface:
    def rows(table: str, width: int) -> np.ndarray:
        data = tables[table]
        return data.arrays["indices"].numpy().reshape(-1, width) if data.count else np.empty((0, width), np.int32)

    return Surface(rows("tri", 3), rows("edge", 4), tables["particle"].arrays["world"].numpy())

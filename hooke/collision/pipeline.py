"""CollisionPipeline: finds the contacts of a model at a state."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.soft import (
    Candidates,
    Pass,
    Poses,
    Sightings,
    finish_count,
    make_detection,
    make_sightings,
    place_moving_shapes,
    place_shapes,
)
from hooke.collision.soft_surface import Facets, list_facets, make_surface_detection
from hooke.execution.compile import start_loading, wait_loaded
from hooke.execution.recorder import Recorder, captured_by_user, launch_directly, pointers
from hooke.geometry.kind import GeoType, SurfacePoint
from hooke.geometry.mesh import Mesh
from hooke.model.contacts import Contacts
from hooke.model.model import model_tables
from hooke.model.state import State

__all__ = ["CollisionPipeline", "soft_contact_default"]

_MESHES = (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD)
_BLOCK = 64  # particles, edges or faces per thread on a CPU


def soft_contact_default(particles: int, pairs: int, facets: int = 0) -> int:
    """Rows that are made in advance: for every pair, or for 8 contacts of every particle and 2 of every edge and face if that is less."""
    return min(pairs, 8 * particles + 2 * facets)


class CollisionPipeline:
    """Detection of contacts.

    Args:
        model: The model.
        soft_contact_max: Rows for contacts of particles with shapes; None makes room for every pair, or for 8 per particle (and 2
            per edge and face) if that is less. Outside a capture the buffer grows when more are found; inside one the number needed
            is reported.
        soft_contact_gap: Distance [m] beyond radius and margin at which a particle gets a row.
        soft_contact_margin: Former name of ``soft_contact_gap``.
        enable_rigid_soft_full_surface_contact: Also find shapes between the particles: rows of edges and faces of the model's
            triangles, where the point nearest to a shape lies inside. They follow the rows of particles, edges first.

    Attributes:
        soft_contact_pair_count: Number of pairs of a particle (edge, face) and a shape that may meet.

    Raises:
        ValueError: A size or distance is negative.
    """

    def __init__(
        self, model: Any, *, soft_contact_max: int | None = None, soft_contact_gap: float = 0.01,
        soft_contact_margin: float | None = None, enable_rigid_soft_full_surface_contact: bool = False,
    ):  # fmt: skip
        self.model = model
        self.soft_contact_gap = soft_contact_gap if soft_contact_margin is None else soft_contact_margin
        if not 0.0 <= self.soft_contact_gap < float("inf"):
            raise ValueError(f"CollisionPipeline: expected soft_contact_gap >= 0, found {self.soft_contact_gap}")
        if soft_contact_max is not None and soft_contact_max < 0:
            raise ValueError(f"CollisionPipeline: expected soft_contact_max >= 0, found {soft_contact_max}")
        self._tables = model_tables(model)
        self._recorder = Recorder(model.device)
        self._baked: list[Any] = []  # keeps meshes alive whose scale went into their vertices
        count = self._tables["particle"].count
        triangles = self._tables["tri"].arrays["indices"].numpy() if enable_rigid_soft_full_surface_contact else ()
        corners = list_facets(np.asarray(triangles))
        self._facets = Facets()
        self._facets.corners = wp.array(corners, dtype=wp.vec3i, device=model.device)
        self._candidates, self.soft_contact_pair_count = self._pair_up(corners)
        codes = self._tables["shape"].arrays["type"].numpy() if self._tables["shape"].count else []
        kinds = tuple(sorted({int(code) for code in codes}))
        self._detect_contacts = make_detection(kinds)
        self._detect_facets = make_surface_detection(kinds) if len(corners) else None
        self._poses = Poses()
        self._poses.pose = wp.zeros(len(codes), dtype=wp.transform, device=model.device)
        self._poses.inverse = wp.zeros(len(codes), dtype=wp.transform, device=model.device)
        self._poses.velocity = wp.zeros(len(codes), dtype=wp.vec3, device=model.device)
        self._poses.spin = wp.zeros(len(codes), dtype=wp.float32, device=model.device)
        self._seen = make_sightings(count, len(corners), model.device)
        self._end = wp.zeros(count + len(corners), dtype=wp.int32, device=model.device)
        self._no_body = wp.zeros(0, dtype=wp.transform, device=model.device)
        self._at_rest = wp.zeros(self._tables["body"].count, dtype=wp.spatial_vector, device=model.device)
        kernels = [self._detect_contacts, *([self._detect_facets] if self._detect_facets else []), place_shapes, finish_count]
        self._loading = start_loading(kernels if self.soft_contact_pair_count else [], model.device)
        if not model.device.is_cpu:
            self._wait()
        default = soft_contact_default(count, self.soft_contact_pair_count, len(corners))
        self.soft_contact_max = default if soft_contact_max is None else soft_contact_max
        self.rigid_contact_max = 0
        model.soft_contact_max = self.soft_contact_max
        model.rigid_contact_max = self.rigid_contact_max
        model.soft_contact_surface = len(corners) > 0

    def contacts(self) -> Contacts:
        """A new buffer of the pipeline's size."""
        requested = getattr(self.model, "requested_contact_attributes", None)
        made = Contacts(self.rigid_contact_max, self.soft_contact_max, device=self.model.device, requested_attributes=requested)
        made.soft_contact_surface = self._detect_facets is not None
        return made

    def collide(self, state: State, contacts: Contacts, *, soft_contact_margin: float | None = None) -> None:
        """Find all contacts at ``state`` and write them to ``contacts``.

        Args:
            state: Positions of particles and bodies.
            contacts: Buffer; its rows are replaced.
            soft_contact_margin: Detection gap of this pass [m]; None takes the pipeline's.
        """
        gap = self.soft_contact_gap if soft_contact_margin is None else soft_contact_margin
        if not 0.0 <= gap < float("inf"):
            raise ValueError(f"CollisionPipeline.collide: expected soft_contact_margin >= 0, found {gap}")
        self._wait()
        contacts.soft_contact_surface = self._detect_facets is not None
        with self._recorder.lock:  # the scratch memory is the pipeline's
            if contacts.soft_contact_max >= self.soft_contact_pair_count:
                self._recorder.run(self._key(state, contacts, gap), self._detect, state, contacts, float(gap))
                return
            self._recorder.run(("count", *self._key(state, contacts, gap)), self._count_contacts, state, contacts, float(gap))
            if not captured_by_user(self.model.device):
                launch_directly(self._make_room, contacts)  # reads the host: the number needed is known now
            self._recorder.run(("write", *self._key(state, contacts, gap)), self._write_contacts, state, contacts, float(gap))

    def _key(self, state: State, contacts: Contacts, gap: float) -> tuple[Any, ...]:
        """All that the launches depend on, beside the contents of arrays."""
        versions = self._tables["particle"].version, self._tables["shape"].version
        moving = contacts.lookahead, pointers(state.particle_qd, state.body_qd) if contacts.lookahead else ()
        return gap, contacts.soft_contact_max, *versions, pointers(state.particle_q, state.body_q, contacts), *moving

    def _wait(self) -> None:
        """Until the kernels are there: on a CPU they compile while other things are made, such as a solver with its own kernels."""
        if self._loading:
            wait_loaded(self._loading)
            self._loading = []

    def _detect(self, state: State, contacts: Contacts, gap: float) -> None:
        self._count_contacts(state, contacts, gap)
        self._write_contacts(state, contacts, gap)

    def _count_contacts(self, state: State, contacts: Contacts, gap: float) -> None:
        if self.soft_contact_pair_count:
            self._place_shapes(state, contacts.lookahead)
            self._pass(state, contacts, gap, writing=False)
            self._recorder.alone(wp.utils.array_scan, self._seen.number, self._end)

    def _place_shapes(self, state: State, lookahead: float) -> None:
        shapes = self._tables["shape"]
        body_q = self._no_body if state.body_q is None else state.body_q
        if lookahead > 0.0:
            body_qd = self._at_rest if state.body_qd is None else state.body_qd
            inputs = [shapes.struct, self._tables["body"].struct, body_q, body_qd, lookahead]
            self._recorder.launch(place_moving_shapes, shapes.count, inputs, [self._poses])
        else:
            self._recorder.launch(place_shapes, shapes.count, [shapes.struct, body_q], [self._poses])

    def _write_contacts(self, state: State, contacts: Contacts, gap: float) -> None:
        if self.soft_contact_pair_count:
            self._pass(state, contacts, gap, writing=True)
        outputs = [contacts.contact_generation, contacts.contact_counters]
        self._recorder.launch(finish_count, 1, [self._end], outputs)

    def _pass(self, state: State, contacts: Contacts, gap: float, writing: bool) -> None:
        todo = Pass()
        todo.gap, todo.writes, todo.x, todo.end = gap, int(writing), state.particle_q, self._end
        todo.lookahead, todo.v = contacts.lookahead, state.particle_qd
        todo.block = _BLOCK if self.model.device.is_cpu else 1
        tables = [self._tables["particle"].struct, self._tables["shape"].struct, self._candidates, self._poses]
        outputs = [contacts.soft_rows, self._seen]
        facets = len(self._facets.corners)
        self._recorder.launch(self._detect_contacts, -(-(len(self._end) - facets) // todo.block), [todo, *tables], outputs)
        self._recorder.launch(self._detect_facets, -(-facets // todo.block), [todo, self._facets, *tables], outputs)

    def _make_room(self, contacts: Contacts) -> None:
        needed = int(self._end[-1:].numpy()[0])
        if needed > contacts.soft_contact_max:
            contacts.resize_soft(needed + needed // 4)
            self.soft_contact_max = max(self.soft_contact_max, contacts.soft_contact_max)
            self.model.soft_contact_max = self.soft_contact_max

    def _pair_up(self, corners: np.ndarray) -> tuple[Candidates, int]:
        """The shapes of every world with the shared ones, and the number of pairs of particles, edges and faces with them."""
        shapes, particles, worlds = self._tables["shape"], self._tables["particle"], self.model.world_count
        world = shapes.arrays["world"].numpy() if shapes.count else np.empty(0, np.int32)
        shared = np.flatnonzero(world < 0)
        order = np.argsort(world, kind="stable")
        bounds = np.searchsorted(world[order], np.arange(worlds + 1))
        lists = [np.sort(np.concatenate([shared, order[bounds[w] : bounds[w + 1]]])) for w in range(worlds)]
        lists.append(np.arange(shapes.count))
        sizes = np.array([len(entries) for entries in lists])
        owner = particles.arrays["world"].numpy() if particles.count else np.empty(0, np.int32)
        if len(corners):
            owner = np.concatenate([owner, np.where(corners >= 0, owner[corners], -1).max(axis=1)])
        device = self.model.device
        candidates = Candidates()
        candidates.start = wp.array(np.concatenate([[0], np.cumsum(sizes)]), dtype=wp.int32, device=device)
        candidates.shape = wp.array(np.concatenate(lists), dtype=wp.int32, device=device)
        candidates.mesh, candidates.mesh_scale = self._geometry()
        candidates.is_open = wp.array(self._open_meshes(), dtype=wp.int32, device=device)
        return candidates, int(sizes[owner].sum()) if len(owner) else 0

    def _geometry(self) -> tuple[wp.array, wp.array]:
        """Handles and scales; a mirrored or uneven scale of a mesh goes into the vertices, since it changes which point is nearest."""
        arrays, device = self._tables["shape"].arrays, self.model.device
        if not self._tables["shape"].count:
            return wp.zeros(0, dtype=wp.uint64, device=device), wp.zeros(0, dtype=wp.vec3, device=device)
        types, sources = arrays["type"].numpy(), arrays["source"]
        handles, scales = arrays["source_ptr"].numpy().copy(), arrays["scale"].numpy().copy()
        known: dict[tuple[Any, ...], int] = {}
        for i in np.flatnonzero(np.isin(types, _MESHES)):
            scale = scales[i].copy()
            if scale[0] > 0.0 and (scale == scale[0]).all():
                continue
            key = (id(sources[i]), *scale)
            if key not in known:
                known[key] = self._bake(sources[i], scale)
            handles[i], scales[i] = known[key], 1.0
        return wp.array(handles, dtype=wp.uint64, device=device), wp.array(scales, dtype=wp.vec3, device=device)

    def _open_meshes(self) -> list[int]:
        """1 for every shape that is a mesh with holes."""
        shapes = self._tables["shape"]
        sources = shapes.arrays["source"] if shapes.count else []
        return [int(not getattr(source, "is_watertight", False)) for source in sources]

    def _bake(self, source: Any, scale: np.ndarray) -> int:
        vertices, indices = source.triangles() if hasattr(source, "triangles") else (source.vertices, source.indices)
        triangles = np.asarray(indices).reshape(-1, 3)
        if np.prod(scale) < 0.0:
            triangles = triangles[:, ::-1]
        mesh = Mesh(np.asarray(vertices) * scale, triangles.reshape(-1), compute_inertia=False)
        self._baked.append(mesh)
        return mesh.finalize(self.model.device)

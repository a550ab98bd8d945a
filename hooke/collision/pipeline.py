"""CollisionPipeline: finds the contacts of a model at a state."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.baked import bake_meshes
from hooke.collision.counters import finish_count
from hooke.collision.options import check_broad_phase, check_sizes, refuse
from hooke.collision.rigid import RigidContacts, RigidOptions
from hooke.collision.soft import (
    Candidates,
    Pass,
    Poses,
    Sightings,
    make_detection,
    make_sightings,
    place_moving_shapes,
    place_shapes,
)
from hooke.collision.soft_surface import Facets, list_facets, make_surface_detection
from hooke.execution.compile import start_loading, wait_loaded
from hooke.execution.recorder import Recorder, captured_by_user, launch_directly, pointers
from hooke.model.contacts import Contacts, check_matching
from hooke.model.model import model_tables
from hooke.model.shape_pairs import world_lists
from hooke.model.state import State

__all__ = ["CollisionPipeline", "soft_contact_default"]

_BLOCK = 64  # particles, edges or faces per thread on a CPU


def soft_contact_default(particles: int, pairs: int, facets: int = 0) -> int:
    """Rows that are made in advance: for every pair, or for 8 contacts of every particle and 2 of every edge and face if that is less."""
    return min(pairs, 8 * particles + 2 * facets)


class CollisionPipeline:
    """Detection of contacts: of shapes with each other, and of particles with shapes.

    Args:
        model: The model.
        reduce_contacts: Of the contacts of triangles keep, for every pair of shapes, a few that matter; False keeps all.
        rigid_contact_max: Rows for contacts between shapes; None takes ``model.rigid_contact_max``, else an estimate, at least 1000
            where shapes may meet. Outside a capture the buffer grows when more are found; inside one the number needed is reported.
        max_triangle_pairs: Pairs of a triangle and a shape to make room for at first; None is an estimate. Grows as the rows do.
        shape_pairs_filtered: Pairs of shapes to look at, (n, 2), whatever their groups and filters; None takes those of the model.
        include_static_kinematic_pairs: Also find contacts of two shapes of which neither is on a dynamic body. Two static shapes never
            have any.
        soft_contact_max: Rows for contacts of particles with shapes; None makes room for every pair, or for 8 per particle (and 2
            per edge and face) if that is less. Outside a capture the buffer grows when more are found; inside one the number needed
            is reported.
        soft_contact_gap: Distance [m] beyond radius and margin at which a particle gets a row.
        soft_contact_margin: Former name of ``soft_contact_gap``.
        enable_rigid_soft_full_surface_contact: Also find shapes between the particles: rows of edges and faces of the model's
            triangles, where the point nearest to a shape lies inside. They follow the rows of particles, edges first.
        requires_grad: Must not be True; gradients are not available yet.
        broad_phase: How pairs of shapes are found, with the same result: ``"explicit"`` goes through ``model.shape_contact_pairs``,
            ``"nxn"`` asks all shapes of a world about each other, ``"sap"`` searches a tree of boxes, which is quick for many shapes;
            None chooses between the last two.
        narrow_phase: Must be None; there is one narrow phase.
        sdf_hydroelastic_config: Must be None; shapes have no compliant interior.
        shape_pairs_max: Pairs of shapes to make room for at first; None is an estimate. Grows as the rows do.
        deterministic: Rows are always sorted by shapes and feature, and the same for any number of workers; either value will do.
        contact_matching: ``"latest"`` finds for every contact the row of the pass before that is the same contact; ``"sticky"`` also
            keeps its points; ``"disabled"`` does neither.
        contact_matching_pos_threshold: Motion [m] of the midpoint of a contact in the world, from pass to pass, up to which it matches.
        contact_matching_normal_dot_threshold: Least product of the normals of a match.
        contact_report: List new and broken contacts; needs matching.
        verify_buffers: Warn when a captured pass found more than the buffers of the pipeline had room for, at the next call outside a
            capture.
        contact_reduction_hashtable_size_factor: Accepted for compatibility; contacts are reduced without a table, in exact memory.
        body_pair_reduction: Must be False; contacts are reduced by pairs of shapes.
        speculative_contact_gap_max: How far ahead of moving shapes contacts are found, in the time that ``collide`` is given or
            ``contacts.rigid_lookahead`` says. None: as far as a shape moves, where that is more than its gap, so that contacts that the
            step reaches have rows already. A distance [m]: the gap grows by the way of the shape, at most so far. 0 is off.
        dynamic_shape_scale: Must be False; bounds of shapes are those of the scale they were finalized with.
        publish_capacity: Set ``rigid_contact_max`` and ``soft_contact_max`` of the model.

    Attributes:
        soft_contact_pair_count: Number of pairs of a particle (edge, face) and a shape that may meet.
        rigid_contact_max: Rows of rigid contacts of a new buffer.
        soft_contact_max: Rows of soft contacts of a new buffer.

    Raises:
        ValueError: A size, distance, mode or pair is out of range.
        NotImplementedError: An option that is not available is asked for.
    """

    def __init__(
        self, model: Any, *, reduce_contacts: bool = True, rigid_contact_max: int | None = None, max_triangle_pairs: int | None = None,
        shape_pairs_filtered: Any = None, include_static_kinematic_pairs: bool = True, soft_contact_max: int | None = None,
        soft_contact_gap: float = 0.01, soft_contact_margin: float | None = None, enable_rigid_soft_full_surface_contact: bool = False,
        requires_grad: bool | None = None, broad_phase: str | None = None, narrow_phase: Any = None, sdf_hydroelastic_config: Any = None,
        shape_pairs_max: int | None = None, deterministic: bool = False, contact_matching: bool | str = "disabled",
        contact_matching_pos_threshold: float = 5.0e-4, contact_matching_normal_dot_threshold: float = 0.995,
        contact_report: bool = False, verify_buffers: bool = True, contact_reduction_hashtable_size_factor: float = 0.25,
        body_pair_reduction: bool = False, speculative_contact_gap_max: float | None = None, dynamic_shape_scale: bool = False,
        publish_capacity: bool = True,
    ):  # fmt: skip
        self.model = model
        self.soft_contact_gap = soft_contact_gap if soft_contact_margin is None else soft_contact_margin
        self._verify, self._publishes, self._captured = verify_buffers, publish_capacity, False
        refuse(
            requires_grad=requires_grad, narrow_phase=narrow_phase, sdf_hydroelastic_config=sdf_hydroelastic_config,
            body_pair_reduction=body_pair_reduction, dynamic_shape_scale=dynamic_shape_scale,
        )  # fmt: skip
        check_sizes(
            rigid_contact_max=rigid_contact_max, max_triangle_pairs=max_triangle_pairs, soft_contact_max=soft_contact_max,
            shape_pairs_max=shape_pairs_max, soft_contact_gap=self.soft_contact_gap,
            contact_matching_pos_threshold=contact_matching_pos_threshold,
            contact_reduction_hashtable_size_factor=contact_reduction_hashtable_size_factor,
            speculative_contact_gap_max=speculative_contact_gap_max,
        )  # fmt: skip
        self._options = RigidOptions(
            check_broad_phase(broad_phase, shape_pairs_filtered), shape_pairs_filtered, include_static_kinematic_pairs, shape_pairs_max,
            max_triangle_pairs, reduce_contacts, check_matching(contact_matching), contact_matching_pos_threshold,
            contact_matching_normal_dot_threshold, contact_report, speculative_contact_gap_max,
        )  # fmt: skip
        self._tables = model_tables(model)
        self._recorder = Recorder(model.device)
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
        self._nothing = wp.zeros(0, dtype=wp.int32, device=model.device)
        self.rigid = RigidContacts(model, self._tables, self._options)
        self._load()
        default = soft_contact_default(count, self.soft_contact_pair_count, len(corners))
        self.soft_contact_max = default if soft_contact_max is None else soft_contact_max
        self.rigid_contact_max = self._rigid_rows(rigid_contact_max)
        self.rigid.memory.reserve(self.rigid_contact_max)
        self._publish()
        if publish_capacity:
            model.soft_contact_surface = len(corners) > 0

    def _load(self) -> None:
        """Begin to compile the kernels."""
        soft = [self._detect_contacts, *([self._detect_facets] if self._detect_facets else []), place_shapes]
        kernels = [*(soft if self.soft_contact_pair_count else []), *self.rigid.kernels]
        self._loading = start_loading([*kernels, finish_count] if kernels else [], self.model.device)
        if not self.model.device.is_cpu:
            self._wait()

    def _rigid_rows(self, asked: int | None) -> int:
        if asked is not None:
            return asked
        known = getattr(self.model, "rigid_contact_max", None)
        return known if known and self.rigid.active else self.rigid.rows

    def _publish(self) -> None:
        if self._publishes:
            self.model.soft_contact_max = self.soft_contact_max
            self.model.rigid_contact_max = self.rigid_contact_max

    def contacts(self) -> Contacts:
        """A new buffer of the pipeline's size."""
        requested = getattr(self.model, "requested_contact_attributes", None)
        made = Contacts(
            self.rigid_contact_max, self.soft_contact_max, device=self.model.device, requested_attributes=requested,
            contact_matching=self._options.contact_matching, contact_report=self._options.contact_report,
        )  # fmt: skip
        made.soft_contact_surface = self._detect_facets is not None
        return made

    def collide(
        self, state: State, contacts: Contacts, *, soft_contact_margin: float | None = None, soft_self_contact: bool = False,
        dt: float | None = None,
    ) -> None:  # fmt: skip
        """Find all contacts at ``state`` and write them to ``contacts``.

        Args:
            state: Positions of particles and bodies.
            contacts: Buffer; its rows are replaced.
            soft_contact_margin: Detection gap of particles in this pass [m]; None takes the pipeline's.
            soft_self_contact: Must be False: contacts of a surface with itself belong to the solver (``particle_enable_self_contact``).
            dt: Time step that follows [s], for ``speculative_contact_gap_max``; None takes ``contacts.rigid_lookahead``.

        Raises:
            ValueError: A distance or time is negative, or the buffer was made for another kind of matching.
        """
        gap = self.soft_contact_gap if soft_contact_margin is None else soft_contact_margin
        if not 0.0 <= gap < float("inf"):
            raise ValueError(f"CollisionPipeline.collide: expected soft_contact_margin >= 0, found {gap}")
        if dt is not None and not 0.0 <= dt < float("inf"):
            raise ValueError(f"CollisionPipeline.collide: expected dt >= 0, found {dt}")
        if soft_self_contact:
            raise NotImplementedError(
                "CollisionPipeline.collide(soft_self_contact=True): the solver finds contacts of a surface with itself; make it with "
                "particle_enable_self_contact=True"
            )
        dt = contacts.rigid_lookahead if dt is None else dt
        self._check_buffer(contacts)
        self._wait()
        contacts.soft_contact_surface = self._detect_facets is not None
        with self._recorder.lock:  # the scratch memory is the pipeline's
            self._collide(state, contacts, float(gap), dt)

    def _collide(self, state: State, contacts: Contacts, gap: float, dt: float | None) -> None:
        captured = captured_by_user(self.model.device)
        if self._captured and not captured:
            self._warn_of_losses()
        self._captured = captured
        if self.rigid.active:
            self._reserve_memory(contacts, captured)
            launch_directly(self.rigid.prepare, state, dt, captured, self._recorder)
        elif contacts.soft_contact_max >= self.soft_contact_pair_count:
            self._recorder.run(self._key(state, contacts, gap, dt), self._detect, state, contacts, gap, dt)
            return
        key = self._key(state, contacts, gap, dt)
        self._recorder.run(("count", *key), self._count_contacts, state, contacts, gap, dt)
        if not captured:
            while launch_directly(self.rigid.grow) if self.rigid.active else False:
                key = self._key(state, contacts, gap, dt)
                self._recorder.run(("count", *key), self._count_contacts, state, contacts, gap, dt)
            if launch_directly(self._make_room, contacts):  # reads the host: the number needed is known now
                key = self._key(state, contacts, gap, dt)
        self._recorder.run(("write", *key), self._write_contacts, state, contacts, gap, dt)

    def _reserve_memory(self, contacts: Contacts, captured: bool) -> None:
        """Let the memory of the last pass hold as many rows as a buffer."""
        memory = self.rigid.memory
        if memory.memory.mode and contacts.rigid_contact_max > memory.room:
            if captured:  # what is made in a capture is made anew in every replay
                raise ValueError(
                    f"CollisionPipeline.collide: the buffer has {contacts.rigid_contact_max} rows, the memory of contacts {memory.room}, "
                    "which cannot grow in a capture; take pipeline.contacts(), or collide once with this buffer outside the capture"
                )
            launch_directly(memory.reserve, contacts.rigid_contact_max)

    def reset_contact_matching(self, world_mask: Any = None) -> None:
        """Forget the contacts of the last pass: the next one has no matches there, and reports none as broken.

        Args:
            world_mask: Worlds to forget, bool (worlds,), or (worlds + 1,) with what belongs to none last; None is all.
        """
        if self.rigid.active:
            world = self._tables["shape"].arrays["world"]
            launch_directly(self.rigid.memory.forget, world, self.model.world_count, world_mask)

    def _check_buffer(self, contacts: Contacts) -> None:
        """Refuse a buffer that lacks what the pipeline writes."""
        mode = self._options.contact_matching
        if (mode != "disabled") != (contacts.contact_matching_mode != "disabled") or (
            self._options.contact_report and not contacts.contact_report
        ):
            raise ValueError(
                f"CollisionPipeline.collide: the pipeline matches contacts ({mode!r}, report {self._options.contact_report}), the buffer "
                f"was made for {contacts.contact_matching_mode!r}, report {contacts.contact_report}; take pipeline.contacts()"
            )

    def _warn_of_losses(self) -> None:
        lost = self.rigid.lost() if self._verify else ""
        if lost:
            warnings.warn(
                f"CollisionPipeline: a captured pass lost contacts: {lost}. Run one pass at that state outside the capture, or ask for "
                "more room: shape_pairs_max, max_triangle_pairs, rigid_contact_max",
                stacklevel=4,
            )

    def _key(self, state: State, contacts: Contacts, gap: float, dt: float | None) -> tuple[Any, ...]:
        """All that the launches depend on, beside the contents of arrays."""
        versions = self._tables["particle"].version, self._tables["shape"].version
        moving = contacts.lookahead, pointers(state.particle_qd, state.body_qd) if contacts.lookahead or dt else ()
        sizes = gap, contacts.soft_contact_max, contacts.rigid_contact_max
        return *sizes, *versions, pointers(state.particle_q, state.body_q, contacts), *moving, *self.rigid.key(dt)

    def _wait(self) -> None:
        """Until the kernels are there: on a CPU they compile while other things are made, such as a solver with its own kernels."""
        if self._loading:
            wait_loaded(self._loading)
            self._loading = []

    def _detect(self, state: State, contacts: Contacts, gap: float, dt: float | None) -> None:
        self._count_contacts(state, contacts, gap, dt)
        self._write_contacts(state, contacts, gap, dt)

    def _count_contacts(self, state: State, contacts: Contacts, gap: float, dt: float | None) -> None:
        if self.rigid.active:
            self.rigid.find(state, dt, self._recorder)
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

    def _write_contacts(self, state: State, contacts: Contacts, gap: float, dt: float | None) -> None:
        if self.soft_contact_pair_count:
            self._pass(state, contacts, gap, writing=True)
        found = self._nothing
        if self.rigid.active:
            self.rigid.write(contacts, self._recorder)
            found = self.rigid.found
        matched = getattr(contacts, "rigid_contact_match_generation", self._nothing)
        outputs = [matched, contacts.contact_generation, contacts.contact_counters]
        self._recorder.launch(finish_count, 1, [self._end, found], outputs)

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

    def _make_room(self, contacts: Contacts) -> bool:
        """Let a buffer hold what the last pass found; whether it had too little room."""
        before = contacts.soft_contact_max, contacts.rigid_contact_max
        needed = int(self._end[-1:].numpy()[0]) if self.soft_contact_pair_count else 0
        if needed > contacts.soft_contact_max:
            contacts.resize_soft(needed + needed // 4)
            self.soft_contact_max = max(self.soft_contact_max, contacts.soft_contact_max)
        needed = self.rigid.needed() if self.rigid.active else 0
        if needed > contacts.rigid_contact_max:
            contacts.resize_rigid(needed + needed // 4)
            self.rigid_contact_max = max(self.rigid_contact_max, contacts.rigid_contact_max)
            self.rigid.memory.reserve(contacts.rigid_contact_max)
        self._publish()
        return before != (contacts.soft_contact_max, contacts.rigid_contact_max)

    def _pair_up(self, corners: np.ndarray) -> tuple[Candidates, int]:
        """The shapes of every world with the shared ones, and the number of pairs of particles, edges and faces with them."""
        shapes, particles, worlds = self._tables["shape"], self._tables["particle"], self.model.world_count
        start, entries = world_lists(shapes.arrays["world"].numpy() if shapes.count else np.empty(0, np.int32), worlds)
        sizes = np.diff(start)
        owner = particles.arrays["world"].numpy() if particles.count else np.empty(0, np.int32)
        if len(corners):
            owner = np.concatenate([owner, np.where(corners >= 0, owner[corners], -1).max(axis=1)])
        device = self.model.device
        candidates = Candidates()
        candidates.start = wp.array(start, dtype=wp.int32, device=device)
        candidates.shape = wp.array(entries, dtype=wp.int32, device=device)
        candidates.mesh, candidates.mesh_scale, self._baked = bake_meshes(shapes, device)
        candidates.is_open = wp.array(self._open_meshes(), dtype=wp.int32, device=device)
        return candidates, int(sizes[owner].sum()) if len(owner) else 0

    def _open_meshes(self) -> list[int]:
        """1 for every shape that is a mesh with holes."""
        shapes = self._tables["shape"]
        sources = shapes.arrays["source"] if shapes.count else []
        return [int(not getattr(source, "is_watertight", False)) for source in sources]

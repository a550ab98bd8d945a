"""What a solver makes of rows beyond the forces on particles: forces on edges and faces, and planes that nothing passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.compile import load_kernels
from hooke.model.contacts import Contacts, soft_rows
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.contacts import ContactMaterial, has_facets, has_rows
from hooke.solvers.vbd.facets import FacetContacts
from hooke.solvers.vbd.features import FeatureContacts, Features, places_of
from hooke.solvers.vbd.self_contact import SelfContact
from hooke.solvers.vbd.shape_planes import ShapePlanes

__all__ = ["SurfaceRows"]


class SurfaceRows:
    """Edges, faces and planes of a solver.

    Args:
        tables: Tables of the model.
        surface: Self-contact of the surface, if there is any.
        motion: Holds the ``displacement`` of the indices.
        particle: Particle of every index.
        start: Where the particles start the step.
        lanes: The sweeps of groups, if there are any; they are told which groups meet something.
        recorder: Launches the kernels.

    Attributes:
        planes: None without self-contact or shapes.
    """

    def __init__(
        self, tables: dict[str, Any], surface: SelfContact | None, motion: Any, particle: np.ndarray, start: wp.array, lanes: Any,
        recorder: Any,
    ):  # fmt: skip
        self._tables, self._surface, self._start, self._lanes, self._recorder = tables, surface, start, lanes, recorder
        self._indices = places_of(particle, tables["particle"].count), len(particle), motion.displacement
        self._facets: FacetContacts | None = None
        self.planes: ShapePlanes | None = None
        if lanes is not None and surface is not None:
            lanes.groups.met = surface.features.most

    @property
    def kernels(self) -> list[Any]:
        """The kernels of planes."""
        return [] if self.planes is None else self.planes.kernels

    @property
    def features(self) -> FeatureContacts | None:
        """Contacts between features of the surface, and of edges and faces with shapes; None where there cannot be any."""
        owner = self._surface or self._facets
        return None if owner is None else owner.features.contacts

    # ---- room

    @property
    def facet_room(self) -> int:
        """Rows that there is room for if they may be of edges and faces."""
        return 0 if self._facets is None else self._facets.room

    def lacks_room(self, contacts: Any) -> bool:
        """Whether there is too little for a buffer."""
        if not has_rows(contacts):
            return False
        planes = contacts.soft_contact_max if self.planes is None else self.planes.room
        return contacts.soft_contact_max > planes or (has_facets(contacts) and contacts.soft_contact_max > self.facet_room)

    def reserve(self, rows: int, facets: bool) -> None:
        """Make room for some rows, with ``facets`` also of edges and faces."""
        if self.planes is not None:
            self.planes.reserve(rows)
        if facets:
            if self._facets is None:
                self._facets = self._make_facets()
            self._facets.reserve(rows)

    def add_planes(self, rows: int) -> None:
        """Keep particles outside of shapes from now on."""
        if self._tables["shape"].count and self._tables["particle"].count:
            self.planes = ShapePlanes(*self._indices, self._tables, self._start, self._recorder)
            self.planes.reserve(rows)

    def _make_facets(self) -> FacetContacts:
        surface, recorder = self._surface, self._recorder
        features = Features(*self._indices, [0], recorder) if surface is None else surface.features
        if self._lanes is not None:
            self._lanes.groups.met = features.most
        facets = FacetContacts(features, surface is not None, self._tables, self._start, recorder)
        load_kernels(facets.kernels, recorder.device)
        return facets

    # ---- the step

    def prepare(self, contacts: Any, dt: float, friction_epsilon: float) -> None:
        """What is told before the launches of a step."""
        if self._facets is not None:
            self._facets.features.contacts.slip = friction_epsilon * dt
        if self.planes is not None and isinstance(contacts, Contacts):
            contacts.lookahead = dt

    def begin(self, contacts: Any, bodies: tuple[wp.array, wp.array], material: ContactMaterial, dt: float, late: bool) -> None:
        """The rows of a step, and the first guess out of shapes; ``late`` says that they were found where bodies are when it ends."""
        if self._facets is not None:
            self._facets.bind(soft_rows(contacts) if has_facets(contacts) else None, bodies, material, dt)
        if self.planes is not None and has_rows(contacts):
            self.planes.bind(soft_rows(contacts), bodies, late)
            self.planes.project()

    def ramp(self, contacts: Any, material: ContactMaterial) -> None:
        """Between two iterations: contacts that are deep become stiffer."""
        if self._facets is not None and has_facets(contacts):
            self._facets.ramp(soft_rows(contacts), material)

    def stay_outside(self, contacts: Any, motion: BodyMotion | None) -> None:
        """With self-contact, ways that lead through a shape end before it; ``motion`` is that of bodies that the solver moves."""
        if self.planes is not None and has_rows(contacts):
            if motion is not None:
                self.planes.follow(soft_rows(contacts), motion)
            self.planes.project()

    def write_forces(self, contacts: Any) -> None:
        """The force of every row into ``contacts.force``."""
        if self._facets is not None and has_facets(contacts):
            self._facets.write_forces(soft_rows(contacts), contacts.rigid_contact_max, contacts.force)

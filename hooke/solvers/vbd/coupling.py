"""Particles and bodies that move, solved together in every iteration of SolverVBD."""

from __future__ import annotations

from typing import Any

import warp as wp

from hooke.elements.attachment import ATTACHMENT_TABLE
from hooke.execution.work import FEW
from hooke.model.contacts import SoftRows, soft_rows
from hooke.solvers.vbd.bodies import RigidBodies
from hooke.solvers.vbd.contacts import has_facets, has_rows
from hooke.solvers.vbd.features import FeatureContacts, places_of
from hooke.solvers.vbd.link_forces import hold_particles, make_link_kernels, make_push, pack_neighbours
from hooke.solvers.vbd.links import (
    Links,
    begin_links,
    follow_links,
    gather_links,
    list_links,
    merge_touching,
    sort_links,
    start_movers,
)
from hooke.solvers.vbd.sweeps import Sweeps
from hooke.solvers.vbd.workspace import Workspace, allocate

__all__ = ["Coupling", "rigid_part"]


def rigid_part(contacts: Any) -> Any:
    """Contacts as bodies take them: None where there cannot be any between them."""
    return None if contacts is None or not contacts.rigid_contact_max else contacts


class Coupling:
    """Contacts and attachments between particles and bodies that the solver moves.

    In the documented formulation bodies take what particles exert as if these were held, at their own points, and no particle goes along.

    Args:
        tables: Tables of the model.
        workspace: Holds the rows of particles.
        sweeps: The sweeps over particles.
        bodies: The bodies.
        friction: Name of the friction law.
        recorder: Launches the kernels.

    Attributes:
        bodies: The bodies.
        documented: Whether their formulation is that of the documented page.
    """

    def __init__(
        self, tables: dict[str, Any], workspace: Workspace, sweeps: Sweeps, bodies: RigidBodies, friction: str, recorder: Any
    ):
        self._tables, self._workspace, self._sweeps, self._recorder = tables, workspace, sweeps, recorder
        device = recorder.device
        self.bodies, self._motion, self._bodies = bodies, bodies.body_motion, tables["body"].count
        self.documented = bodies.documented
        self._attachments = tables[ATTACHMENT_TABLE.name]
        self._held = hold_particles(tables, device)
        if self.documented:
            self._push = make_push(friction)
        else:
            kinds, self._chain = pack_neighbours(sweeps.active, tables, device)
            self._mark, self._judge = make_link_kernels(kinds, friction)
        # What extrapolates the sweeps does not know where bodies are, and is misled by particles that go along with them.
        together = not self.documented and sweeps.acceleration is None
        place = places_of(sweeps.particle, tables["particle"].count if together else 0)
        self._place = wp.array(place, dtype=wp.int32, device=device)
        self._nobody = (SoftRows(), FeatureContacts())
        self._links: Any = None
        self._sizes = (-1, -1)
        self.reserve(0, 0)

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        links = [begin_links, list_links, sort_links, merge_touching, gather_links, follow_links]
        return [*links, self._push] if self.documented else [*links, start_movers, self._mark, self._judge]

    # ---- room

    def lacks_room(self, rows: int, facets: int) -> bool:
        """Whether there is too little for some rows of particles and of edges and faces."""
        return rows > self._sizes[0] or facets > self._sizes[1]

    def reserve(self, rows: int, facets: int) -> None:
        """Make room; nothing is remembered between steps."""
        device, size = self._recorder.device, self._bodies + 1
        self._sizes = rows, facets
        particles = self._tables["particle"].count
        sizes = {"first": size, "filled": size, "touching": size, "carrier": particles, "mark": particles}
        given = {name: wp.zeros(size, dtype=wp.int32, device=device) for name, size in sizes.items()}
        self._count = rows + facets + self._attachments.count
        counts = {"rows": rows, "facets": facets, "at_surface": int(self.documented)}
        self._links = allocate(Links, self._count, device, **counts, **given)
        self._recorder.forget()

    # ---- the step

    def enter(self, state: Any, dt: float) -> None:
        """Before poses are read: where the bodies start."""
        self.bodies.enter(state, dt)

    def start(self, body_q: wp.array) -> None:
        """Bodies that move are where the step begins, for rows and points; as documented they began where the step before ended."""
        if self.documented:
            return
        inputs = [self._motion, body_q]
        self._recorder.launch(start_movers, self._bodies, inputs, [self._workspace.body_q_prev], grain=FEW)

    def begin(self, state: Any, control: Any, contacts: Any, features: FeatureContacts | None, dt: float) -> None:
        """The links of a step, when rows and points are where bodies begin it; and the first guess of the bodies."""
        rigid = self.bodies.meet(rigid_part(contacts), dt)
        self._list(state.body_q, contacts, features, rigid)
        self.bodies.predict(state, control, rigid_part(contacts), self._links.touching, dt)
        self._follow(features)

    def iterate(self, number: int, iterations: int, contacts: Any, features: FeatureContacts | None, dt: float) -> None:
        """Before a sweep over the particles: a step of the bodies, against what the particles exert and how they give way."""
        self._judge_links(features, dt)
        self.bodies.iterate(number, iterations, rigid_part(contacts), dt)
        self._follow(features)

    def _list(self, body_q: wp.array, contacts: Any, features: FeatureContacts | None, rigid: wp.array) -> None:
        w, launch, links = self._workspace, self._recorder.launch, self._links
        soft = soft_rows(contacts) if has_rows(contacts) else self._nobody[0]
        facets = features if features is not None and has_facets(contacts) else self._nobody[1]
        self._recorder.alone(links.filled.zero_)
        inputs = [soft, w.rows, facets, self._attachments.struct, self._tables["shape"].struct, w.vertices, self._motion]
        inputs += [body_q]
        launch(begin_links, self._count, inputs, [links], grain=FEW)
        self._recorder.alone(self._scan)
        launch(list_links, self._count, [], [links], grain=FEW)
        launch(sort_links, self._bodies, [], [links], grain=FEW)
        launch(merge_touching, self._bodies + 1, [rigid], [links], grain=FEW)
        self._recorder.alone(links.carrier.fill_, -1)

    def _scan(self) -> None:
        wp.utils.array_scan(self._links.filled, self._links.first, inclusive=False)
        self._links.filled.zero_()

    def _judge_links(self, features: FeatureContacts | None, dt: float) -> None:
        w, launch, links = self._workspace, self._recorder.launch, self._links
        self._sweeps.store()
        inputs = [self._held, w.rows, features or self._nobody[1], w.vertices, dt]
        if self.documented:
            launch(self._push, self._count, inputs, [links])
        else:
            particles = self._tables["particle"]
            launch(self._mark, particles.count, [particles.struct, self._held, w.rows, w.vertices, dt], [links])
            launch(self._judge, self._count, [particles.struct, self._chain, *inputs], [links])
        launch(gather_links, self._bodies, [links], [self._motion])

    def _follow(self, features: FeatureContacts | None) -> None:
        """Rows and points where the bodies are now."""
        w = self._workspace
        self.bodies.locate()
        outputs = [self._links, w.rows, features or self._nobody[1], w.vertices, self._sweeps.motion.displacement]
        self._recorder.launch(follow_links, self._count, [self._motion, self._place], outputs)
        self._sweeps.move_points()

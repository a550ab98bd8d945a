"""Restitution of contacts between bodies in SolverVBD: compression in the step of the impact, restitution in the next.

A step ends bodies that meet where they touch, which takes their approach. What they shall have back is remembered with the row that
stopped them, and in the next step the row holds them apart at that speed: with the separation g at the start of that step, and u the
relative motion over it,

    n . u >= h s     instead of     g + n . u >= 0                                                              (1)

in the same solve as everything else: with its friction, with the joints that hang on the bodies, and equal and opposite at one point.
Not so in the step of the impact itself: it would turn bodies back before they touch, and would have to guess which rows they touch in.

The speed s is that of Stronge's hypothesis: what leaves along the normal has e^2 of the energy that came. Bodies that approach with v_-,
accelerated towards each other by a from outside (gravity), meet at the surface with v; the step takes m (v^2 - r^2) / 2 of it, where m
is the mass that the row moves and r is what is left of the approach, since the step ends at the surface and not before. In the
next step the row moves m' and approaches with c, so that

    v^2 = (v_- + a h / 2)^2 + 2 a g_-,     s = sqrt(e^2 (m (v^2 - r^2) / m' + c^2) - 2 a g) - a h / 2               (2)

Velocities of a step are those in its middle, hence a h / 2; g is a rest of penetration, or 0. So the height of a bounce depends neither
on where in a step the impact falls nor, to first order, on h.

Stronge: Rigid body collisions with friction. Proc. R. Soc. Lond. A 431, 1990. docs/decisions/0021-restitution.md.
"""

from __future__ import annotations

import warnings
from typing import Any

import warp as wp

from hooke.contact.mixing import mix_restitution
from hooke.execution.compile import load_kernels
from hooke.execution.recorder import captured_by_user, launch_directly
from hooke.execution.work import FEW, Work, first_item, next_item
from hooke.model.contacts import RigidRows, rigid_rows
from hooke.model.tables import Bodies, Shapes
from hooke.solvers.vbd.body_contacts import SURELY, BodyContacts, live_count, may_move, moved_point
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.contact_memory import ContactPast, fall_of, feature_of, point_velocity
from hooke.solvers.vbd.workspace import allocate

__all__ = ["Bounces", "Restitution", "begin_bounces", "finish_bounces"]

SLOW = wp.constant(2.0)
"""Approaches below this many times what gravity adds in a step do not bounce, so that what rests stays at rest."""


@wp.struct
class Bounces:
    """Of every row v of (2) [m/s] if this step may stop it, and of every row of the step before twice the energy that it owes."""

    speed: wp.array(dtype=wp.float32)
    owed: wp.array(dtype=wp.float32)


@wp.func
def owed_energy(past: ContactPast, bounces: Bounces, b: int, shape: wp.vec2i, feature: int, touches: bool):
    """What the same row of the step before owes, and whether there was one; a new one that touches owes what its pair of shapes does."""
    most, known = float(0.0), bool(False)
    for k in range(past.first[b], past.first[b + 1]):
        q = past.row[k]
        if past.shape[q][0] == shape[0] and past.shape[q][1] == shape[1]:
            if not known:
                if feature >= 0 and past.feature[q] == feature:
                    known = True
                    most = 1.0 * bounces.owed[q]
                else:
                    most = wp.max(most, bounces.owed[q])
    return wp.where(known or touches, most, 0.0)


@wp.func
def outer_pull(motion: BodyMotion, b: int, dt: float):
    """The acceleration of a body from outside."""
    a = wp.vec3(0.0)
    if may_move(motion, b):
        a = (motion.target[b] / dt - wp.spatial_top(motion.velocity[b])) / dt
    return a


@wp.kernel(enable_backward=False)
def begin_bounces(
    work: Work, rows: RigidRows, shapes: Shapes, bodies: Bodies, motion: BodyMotion, past: ContactPast,
    gravity: wp.array(dtype=wp.vec3), dt: float, contacts: BodyContacts, bounces: Bounces,
):  # fmt: skip
    """(1) for rows that owe a bounce, and v of (2) for the others."""
    r = first_item(work, wp.tid())
    while r >= 0:
        bounces.speed[r] = 0.0
        if r < live_count(rows):
            a, b, n, gap = contacts.body[r][0], contacts.body[r][1], contacts.normal[r], contacts.gap[r]
            if a >= 0 or b >= 0:
                s, t = rows.shape0[r], rows.shape1[r]
                owner = b
                if not may_move(motion, b):
                    owner = a
                pull = wp.dot(n, outer_pull(motion, a, dt) - outer_pull(motion, b, dt))
                owed = owed_energy(past, bounces, owner, wp.vec2i(s, t), feature_of(rows, r), gap <= contacts.reach[r])
                lever0, lever1 = contacts.lever0[r], contacts.lever1[r]
                closing = wp.dot(n, point_velocity(motion, a, lever0) - point_velocity(motion, b, lever1))
                if owed > 0.0:
                    e = mix_restitution(shapes.material_restitution[s], shapes.material_restitution[t])
                    came = owed / contacts.mass[r] + closing * closing
                    speed = wp.sqrt(wp.max(e * e * came - 2.0 * pull * gap, 0.0)) - 0.5 * dt * pull
                    if speed > 0.0:
                        contacts.aim[r] = -(gap + dt * speed)
                        contacts.reach[r] = contacts.reach[r] + dt * speed
                        contacts.blow[r] = contacts.blow[r] + SURELY * contacts.mass[r] * speed / dt
                elif closing > SLOW * wp.max(fall_of(bodies, gravity, owner, dt) / dt, dt * wp.abs(pull)):
                    v = closing + 0.5 * dt * pull
                    bounces.speed[r] = wp.sqrt(wp.max(v * v + 2.0 * pull * gap, 0.0))
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def finish_bounces(
    work: Work, rows: RigidRows, shapes: Shapes, motion: BodyMotion, dt: float, contacts: BodyContacts, bounces: Bounces
):  # fmt: skip
    """What is owed by the rows that stopped something."""
    r = first_item(work, wp.tid())
    while r >= 0:
        owed = float(0.0)
        if r < live_count(rows):
            n, v = contacts.normal[r], bounces.speed[r]
            if v > 0.0 and wp.dot(contacts.load[r], n) > 0.0:
                e = mix_restitution(shapes.material_restitution[rows.shape0[r]], shapes.material_restitution[rows.shape1[r]])
                pair = contacts.body[r]
                u = moved_point(motion, pair[1], contacts.lever1[r]) - moved_point(motion, pair[0], contacts.lever0[r])
                left = wp.dot(n, u) / dt
                if e > 0.0:
                    owed = contacts.mass[r] * (v * v - left * left)
        bounces.owed[r] = owed
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def forget_bounces(
    work: Work, shape_world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), past: ContactPast, bounces: Bounces
):
    """Rows of selected worlds owe nothing."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if bounces.owed[r] != 0.0:
            w = wp.max(shape_world[past.shape[r][0]], shape_world[past.shape[r][1]])
            if selected[wp.where(w < 0, selected.shape[0] - 1, w)]:
                bounces.owed[r] = 0.0
        r = next_item(work, r)


class Restitution:
    """The bounces of a model.

    Args:
        model: The model.
        tables: Its tables.
        options: Arguments of the solver by name.
        recorder: Launches the kernels.

    Attributes:
        active: Whether any shape has restitution; without one nothing is launched.
    """

    def __init__(self, model: Any, tables: dict[str, Any], options: dict[str, Any], recorder: Any):
        self._model, self._tables, self._given, self._recorder = model, tables, options, recorder
        self.active = False
        self._version = -1
        self._warned = False
        self._room = 0
        self._bounces: Any = None
        self.refresh()

    def refresh(self, changed: bool = False) -> None:
        """Find out whether any shape has restitution, if the materials were bound anew or are said to have changed."""
        shapes = self._tables["shape"]
        if not shapes.count or (shapes.version == self._version and not changed):
            return
        if not captured_by_user(self._recorder.device):
            launch_directly(self._bind, shapes)

    def _bind(self, shapes: Any) -> None:
        self._version = shapes.version
        bouncy = bool((shapes.arrays["material_restitution"].numpy() > 0.0).any())
        acts = bool(self._given["rigid_contact_hard"] and self._given["rigid_compliant_alm"])
        if bouncy and not acts and not self._warned:
            self._warned = True
            warnings.warn(
                "SolverVBD: shape_material_restitution acts on hard contacts of the default formulation only (rigid_contact_hard=True, "
                "rigid_compliant_alm=True)",
                stacklevel=8,
            )
        if bouncy and acts and not self.active:
            load_kernels(self._kernels, self._recorder.device)
        self.active = bouncy and acts
        if self.active:
            self._allocate()

    @property
    def _kernels(self) -> list[Any]:
        return [begin_bounces, finish_bounces, forget_bounces]

    @property
    def kernels(self) -> list[Any]:
        """The kernels of a step."""
        return self._kernels if self.active else []

    @property
    def key(self) -> tuple[Any, ...]:
        """What the launches depend on."""
        return self.active, 0 if self._bounces is None else self._bounces.owed.ptr

    def reserve(self, room: int) -> None:
        """Make room for the rows of a buffer; what is owed is kept."""
        self._room = room
        if self.active:
            self._allocate()

    def _allocate(self) -> None:
        old = self._bounces
        if self._room and (old is None or len(old.owed) < self._room):
            self._bounces = allocate(Bounces, self._room, self._recorder.device)
            if old is not None:
                wp.copy(self._bounces.owed, old.owed, count=len(old.owed))

    def begin(self, contacts: Any, motion: BodyMotion, past: ContactPast, rows: BodyContacts, dt: float) -> None:
        """Before the first solve of a step."""
        if self.active:
            shapes, bodies = self._tables["shape"].struct, self._tables["body"].struct
            inputs = [rigid_rows(contacts), shapes, bodies, motion, past, self._model.gravity, dt]
            self._recorder.launch(begin_bounces, contacts.rigid_contact_max, inputs, [rows, self._bounces], grain=FEW)

    def finish(self, contacts: Any, motion: BodyMotion, rows: BodyContacts, dt: float) -> None:
        """After the last solve of a step."""
        if self.active:
            inputs = [rigid_rows(contacts), self._tables["shape"].struct, motion, dt, rows]
            self._recorder.launch(finish_bounces, contacts.rigid_contact_max, inputs, [self._bounces], grain=FEW)

    def forget(self) -> None:
        """After a step without contacts nothing is owed."""
        if self.active and self._bounces is not None:
            self._recorder.alone(self._bounces.owed.zero_)

    def reset(self, selected: wp.array, past: ContactPast) -> None:
        """Forget bounces of selected worlds."""
        if self.active and self._bounces is not None:
            inputs = [self._tables["shape"].arrays["world"], selected, past]
            self._recorder.launch(forget_bounces, len(self._bounces.owed), inputs, [self._bounces])

"""Nothing passes through a shape while self-contact is on: planes that particles and triangles do not cross.

Every row of a collision pass has a plane through its point b of the surface with its normal n; both move with the body. A corner that
is outside when the step begins (s) ends outside of where the plane is then: with its way d,

    h = n_s.(x_s - b_s) > 0   implies   n.d >= min(h, e) - n.(x_s - b)                             (1)

where e, a small part of the thickness, leaves room for rounding: nearer than that the direction n is not known well. Corners in the
surface by less than the thickness get no deeper. They are brought there along n, so they may slide, and a body that moves pushes them.

The row is that of the point X of a particle, an edge or a face. Where the other corners of a triangle with X are no nearer to the plane,

    n_s.(x_s - X) >= 0                                                                             (2)

X is the point of the triangle that is nearest to a convex shape, and the plane is between all of both: then it holds all three corners.
Where (2) does not even hold for the row's own corners they approach the plane by no more than X may.

Planes are taken in turns, three times; where static ones meet in so sharp a corner that this is not enough, the way is scaled, which is
safe since a start outside of them is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.geometry.incidence import Incidence, build_incidence
from hooke.model.contacts import SoftRows
from hooke.model.tables import Particles, Shapes
from hooke.solvers.vbd.body_contacts import may_move
from hooke.solvers.vbd.body_motion import BodyMotion, turned
from hooke.solvers.vbd.contacts import body_pose, corners_of, row_count
from hooke.solvers.vbd.features import FeatureContacts, Features, count_features, list_features, sort_features
from hooke.solvers.vbd.predict import is_fixed
from hooke.solvers.vbd.workspace import allocate

__all__ = ["PlaneRows", "ShapePlanes", "Triangles", "bind_planes", "follow_planes", "stay_outside"]

ROUNDS = wp.constant(3)
FINE = wp.constant(2.0e-6)
"""How far outside of a plane particles end [m]."""
COARSE = wp.constant(1.0e-6)
"""By how much more, as a part of their coordinates."""
KEPT = wp.constant(0.05)
"""e of (1) as a part of the thickness."""
NEARER = wp.constant(0.25)
"""By how much of the distance of X other corners may be nearer to the plane: (2) within the tolerance of X."""
SHALLOW = wp.constant(0.05)
"""The same as a part of the thickness."""
FAR = wp.constant(1.0e30)


@wp.struct
class PlaneRows:
    """The planes of the rows: ``normal`` and ``point`` when the step ends and when it begins, the ``height`` of X above the plane then,
    the ``thickness`` of its particles, whether the body moves, and whether (2) holds for the row's own corners, ``is_level``.
    """

    normal: wp.array(dtype=wp.vec3)
    point: wp.array(dtype=wp.vec3)
    normal_start: wp.array(dtype=wp.vec3)
    point_start: wp.array(dtype=wp.vec3)
    height: wp.array(dtype=wp.float32)
    thickness: wp.array(dtype=wp.float32)
    moves: wp.array(dtype=wp.int32)
    is_level: wp.array(dtype=wp.int32)


@wp.struct
class Triangles:
    """Triangles and those of every particle."""

    corners: wp.array(dtype=wp.vec3i)
    incidence: Incidence


@wp.func
def height_above(planes: PlaneRows, r: int, x: wp.vec3):
    """How far a corner that starts at ``x`` is outside then."""
    return wp.dot(planes.normal_start[r], x - planes.point_start[r])


@wp.func
def lowest_beside(planes: PlaneRows, r: int):
    """How low corners may be for (2) within the tolerance of X."""
    return planes.height[r] - NEARER * wp.abs(planes.height[r]) - SHALLOW * planes.thickness[r]


@wp.kernel(enable_backward=False)
def bind_planes(
    work: Work, rows: SoftRows, particles: Particles, shapes: Shapes, start: wp.array(dtype=wp.vec3),
    body_q: wp.array(dtype=wp.transform), body_q_prev: wp.array(dtype=wp.transform), late: int, lists: FeatureContacts,
    end: wp.array(dtype=wp.int32), planes: PlaneRows,
):  # fmt: skip
    """The plane of every row, and its corners; ``late`` says that bodies were where the step ends when the rows were found."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if r == 0:
            end[0] = row_count(rows)
        if r < row_count(rows):
            for c in range(4):
                lists.corner[4 * r + c] = lists.first.shape[0] - 1
            body = shapes.body[rows.shape[r]]
            now = body_pose(body, body_q)
            before = body_pose(body, body_q_prev)
            found = before
            if late != 0:
                found = now
            local = wp.quat_rotate_inv(wp.transform_get_rotation(found), rows.normal[r])
            planes.normal[r] = wp.transform_vector(now, local)
            planes.point[r] = wp.transform_point(now, rows.body_pos[r])
            planes.normal_start[r] = wp.transform_vector(before, local)
            planes.point_start[r] = wp.transform_point(before, rows.body_pos[r])
            planes.moves[r] = wp.where(now == before, 0, 1)
            height = float(0.0)
            lowest = float(FAR)
            thickness = float(0.0)
            for c in range(corners_of(rows, r)):
                i = rows.indices[r][c]
                lists.corner[4 * r + c] = lists.place[i]
                height += rows.barycentric[r][c] * height_above(planes, r, start[i])
                lowest = wp.min(lowest, height_above(planes, r, start[i]))
                thickness = wp.max(thickness, particles.radius[i])
            planes.height[r] = height
            planes.thickness[r] = thickness + shapes.margin[rows.shape[r]]
            planes.is_level[r] = wp.where(lowest >= lowest_beside(planes, r), 1, 0)
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def follow_planes(work: Work, rows: SoftRows, shapes: Shapes, motion: BodyMotion, planes: PlaneRows):
    """Planes of bodies that the solver moves, where they are now."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if r < row_count(rows):
            b = shapes.body[rows.shape[r]]
            if may_move(motion, b):
                n, lever = planes.normal_start[r], planes.point_start[r] - motion.com[b]
                planes.normal[r] = wp.normalize(n + turned(motion.turn[b], n))
                planes.point[r] = planes.point_start[r] + (motion.way[b] + turned(motion.turn[b], lever))
                planes.moves[r] = 1
        r = next_item(work, r)


@wp.func
def room_of(x: wp.vec3):
    """What rounding may do."""
    return FINE + COARSE * wp.max(wp.abs(x))


@wp.func
def least_rise(planes: PlaneRows, r: int, x: wp.vec3):
    """The least n.d of a corner that starts at ``x``."""
    before = height_above(planes, r, x)
    now = wp.dot(planes.normal[r], x - planes.point[r])
    kept = room_of(x) + KEPT * planes.thickness[r]
    after = before
    if planes.is_level[r] == 0:
        after = before - wp.max(planes.height[r] - kept, 0.0)
    elif before > 0.0:
        after = wp.max(wp.min(before, kept), room_of(x))
    elif before < -planes.thickness[r]:
        after = -FAR
    return wp.where(planes.height[r] > -planes.thickness[r], after - now, -FAR)


@wp.func
def may_cross(planes: PlaneRows, r: int, x: wp.vec3, d: wp.vec3):
    """Whether a corner may end nearer than (1) says: where it does not, this is all that has to be read."""
    after = wp.dot(planes.normal[r], (x - planes.point[r]) + d)
    return after < room_of(x) + KEPT * planes.thickness[r] or planes.is_level[r] == 0


@wp.func
def separates(planes: PlaneRows, r: int, triangle: wp.vec3i, start: wp.array(dtype=wp.vec3)):
    """Whether (2) holds for the corners of a triangle."""
    x = height_above(planes, r, start[triangle[0]])
    x = wp.min(x, height_above(planes, r, start[triangle[1]]))
    x = wp.min(x, height_above(planes, r, start[triangle[2]]))
    return planes.is_level[r] != 0 and x >= lowest_beside(planes, r)


@wp.func
def is_within(lists: FeatureContacts, r: int, a: int, b: int):
    """Whether all corners of a row are among two indices."""
    nobody = lists.first.shape[0] - 1
    for c in range(3):
        i = lists.corner[4 * r + c]
        if i != a and i != b and i != nobody:
            return False
    return True


@wp.func
def held_by(planes: PlaneRows, r: int, x: wp.vec3, d: wp.vec3):
    """The way of a corner that starts at ``x`` and ends at least where (1) has it."""
    n = planes.normal[r]
    return d + wp.max(least_rise(planes, r, x) - wp.dot(n, d), 0.0) * n


@wp.func
def part_before(planes: PlaneRows, r: int, x: wp.vec3, d: wp.vec3):
    """The part of a way that ends before a static plane."""
    along = wp.dot(planes.normal[r], d)
    least = wp.min(least_rise(planes, r, x), 0.0)
    if planes.moves[r] == 0 and along < least - 0.25 * room_of(x):
        return least / along
    return 1.0


@wp.func
def take_planes(
    p: int, d: wp.vec3, scales: int, start: wp.array(dtype=wp.vec3), planes: PlaneRows, lists: FeatureContacts, triangles: Triangles
):  # fmt: skip
    """The way of particle ``p`` after all planes that hold it, in their order; scaled by the least part if ``scales``."""
    x = start[p]
    i = lists.place[p]
    part = float(1.0)
    for e in range(lists.first[i], lists.first[i + 1]):
        r = lists.entry[e] // 4
        if may_cross(planes, r, x, d):
            if scales != 0:
                part = wp.min(part, part_before(planes, r, x, d))
            else:
                d = held_by(planes, r, x, d)
    for k in range(triangles.incidence.start[p], triangles.incidence.start[p + 1]):
        triangle = triangles.corners[triangles.incidence.element[k]]
        slot = triangles.incidence.slot[k]
        a = lists.place[triangle[(slot + 1) % 3]]
        b = lists.place[triangle[(slot + 2) % 3]]
        for _side in range(2):
            for e in range(lists.first[a], lists.first[a + 1]):
                r = lists.entry[e] // 4
                if may_cross(planes, r, x, d) and is_within(lists, r, a, b):
                    if separates(planes, r, triangle, start):
                        if scales != 0:
                            part = wp.min(part, part_before(planes, r, x, d))
                        else:
                            d = held_by(planes, r, x, d)
            a, b = b, a
    return part * d


@wp.kernel(enable_backward=False)
def stay_outside(
    work: Work, particles: Particles, start: wp.array(dtype=wp.vec3), planes: PlaneRows, lists: FeatureContacts,
    triangles: Triangles, displacement: wp.array(dtype=wp.vec3),
):  # fmt: skip
    """Bring every particle to where (1) holds for its planes."""
    p = first_item(work, wp.tid())
    while p >= 0:
        if lists.first[lists.first.shape[0] - 1] > 0 and not is_fixed(particles, p):  # most scenes have steps without any plane
            d = displacement[lists.place[p]]
            turn = int(0)
            while turn <= ROUNDS:
                before = d
                d = take_planes(p, d, wp.where(turn == ROUNDS, 1, 0), start, planes, lists, triangles)
                turn += 1
                if d == before:
                    turn = ROUNDS + 1
            displacement[lists.place[p]] = d
        p = next_item(work, p)


class ShapePlanes:
    """The planes of a solver.

    Args:
        place: Index of every particle.
        size: Number of indices.
        displacement: The way of every index since the start of the step.
        tables: Tables of the model.
        start: Where the particles start the step.
        recorder: Launches the kernels.

    Attributes:
        room: Rows that there is room for.
    """

    def __init__(
        self, place: np.ndarray, size: int, displacement: wp.array, tables: dict[str, Any], start: wp.array, recorder: Any
    ):
        self._lists = Features(place, size, displacement, [0], recorder)
        self._lists.free[:size].fill_(1.0)  # neighbours of a particle may be fixed
        self._start, self._recorder, self.room = start, recorder, 0
        self._particles, self._shapes = tables["particle"], tables["shape"]
        corners = np.zeros((0, 3), np.int32)
        if tables["tri"].count:
            corners = tables["tri"].arrays["indices"].numpy().reshape(-1, 3)
        self._triangles = Triangles()
        self._triangles.corners = wp.array(corners, dtype=wp.vec3i, device=recorder.device)
        rows = np.arange(len(corners), dtype=np.int32)
        self._triangles.incidence = build_incidence(rows, corners, self._particles.count, recorder.device)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [bind_planes, follow_planes, stay_outside, count_features, list_features, sort_features]

    def reserve(self, rows: int) -> None:
        """Make room."""
        self.room = rows
        self._rows = allocate(PlaneRows, rows, self._recorder.device)
        self._lists.reserve(0, [rows])
        self._recorder.forget()

    def bind(self, rows: SoftRows, bodies: tuple[wp.array, wp.array], late: bool) -> None:
        """The planes of a step.

        Args:
            rows: Rows of the collision pass.
            bodies: Poses of the bodies when the step ends and when it begins.
            late: Whether the rows were found at the former.
        """
        lists = self._lists
        inputs = [rows, self._particles.struct, self._shapes.struct, self._start, *bodies, int(late)]
        self._recorder.launch(bind_planes, len(rows.particle), inputs, [lists.contacts, lists.ends[0], self._rows])
        lists.list()

    def follow(self, rows: SoftRows, motion: BodyMotion) -> None:
        """After bodies were moved."""
        self._recorder.launch(follow_planes, len(rows.particle), [rows, self._shapes.struct, motion], [self._rows])

    def project(self) -> None:
        """Bring every way to the outer side of its planes."""
        lists = self._lists.contacts
        inputs = [self._particles.struct, self._start, self._rows, lists, self._triangles]
        self._recorder.launch(stay_outside, self._particles.count, inputs, [lists.displacement])

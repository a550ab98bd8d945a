"""Nothing passes through a shape while self-contact is on: planes that particles, edges and faces do not cross.

Every row of a collision pass has a plane through its point b of the surface with its normal n; both move with the body. A corner that
is outside when the step begins (s), as the point of contact is, ends outside of where the plane is then: with its way d,

    n_s.(x_s - b_s) > 0   implies   n.d >= e - n.(x_s - b)                                         (1)

where e is what rounding may do. It is brought there along n, so it may slide, and a body that moves pushes it along. The plane keeps all
corners of an edge or face on one side of a convex shape, and so the whole of it. Planes are taken in turns, three times; where static
ones meet in so sharp a corner that this is not enough, the way is scaled, which is safe since a start outside of them is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.model.contacts import SoftRows
from hooke.model.tables import Shapes
from hooke.solvers.vbd.contacts import body_pose, row_count
from hooke.solvers.vbd.features import ROW, FeatureContacts, Features, count_features, find_free, list_features, sort_features

__all__ = ["ShapePlanes", "bind_planes", "stay_outside"]

ROUNDS = wp.constant(3)
FINE = wp.constant(2.0e-6)
"""How far outside of a plane particles end [m]."""
COARSE = wp.constant(1.0e-6)
"""By how much more, as a part of their coordinates."""


@wp.func
def turned(by: wp.transform, local: wp.vec3):
    return wp.quat_rotate(wp.transform_get_rotation(by), local)


@wp.func
def corners_of(rows: SoftRows, r: int):
    """How many corners a row has."""
    return 1 + wp.where(rows.indices[r][1] < 0, 0, 1) + wp.where(rows.indices[r][2] < 0, 0, 1)


@wp.func
def room_of(x: wp.vec3):
    """e of (1)."""
    return FINE + COARSE * wp.max(wp.abs(x))


@wp.func
def bind_plane(
    r: int, rows: SoftRows, start: wp.array(dtype=wp.vec3), now: wp.transform, before: wp.transform, found: wp.transform,
    planes: FeatureContacts,
):  # fmt: skip
    """The plane of row ``r`` whose body goes from ``before`` to ``now``, and whose normal was ``found`` in between."""
    local = wp.quat_rotate_inv(wp.transform_get_rotation(found), rows.normal[r])
    n = turned(now, local)
    n_start = turned(before, local)
    point = wp.transform_point(now, rows.body_pos[r])
    point_start = wp.transform_point(before, rows.body_pos[r])
    height = float(0.0)
    for c in range(corners_of(rows, r)):
        height += rows.barycentric[r][c] * wp.dot(n_start, start[rows.indices[r][c]] - point_start)
    for c in range(corners_of(rows, r)):
        i = rows.indices[r][c]
        if height > 0.0 and wp.dot(n_start, start[i] - point_start) > 0.0:
            planes.corner[4 * r + c] = planes.place[i]
            planes.row[ROW * r + 4 + c] = room_of(start[i]) - wp.dot(n, start[i] - point)
            planes.row[ROW * r + 8 + c] = room_of(start[i])
    for k in range(3):
        planes.row[ROW * r + k] = n[k]
    planes.row[ROW * r + 3] = wp.where(point == point_start and n == n_start, 0.0, 1.0)


@wp.kernel(enable_backward=False)
def bind_planes(
    work: Work, rows: SoftRows, shapes: Shapes, start: wp.array(dtype=wp.vec3), body_q: wp.array(dtype=wp.transform),
    body_q_prev: wp.array(dtype=wp.transform), late: int, end: wp.array(dtype=wp.int32), planes: FeatureContacts,
):  # fmt: skip
    """A plane for every row, as a contact with the normal and whether it moves, then least n.d and e of every corner; ``late`` says that
    bodies were where the step ends when the rows were found.
    """
    r = first_item(work, wp.tid())
    while r >= 0:
        if r == 0:
            end[0] = row_count(rows)
        if r < row_count(rows):
            for c in range(4):
                planes.corner[4 * r + c] = planes.first.shape[0] - 1
            body = shapes.body[rows.shape[r]]
            now = body_pose(body, body_q)
            before = body_pose(body, body_q_prev)
            found = before
            if late != 0:
                found = now
            bind_plane(r, rows, start, now, before, found, planes)
        r = next_item(work, r)


@wp.func
def normal_at(planes: FeatureContacts, e: int):
    r = ROW * (planes.entry[e] // 4)
    return wp.vec3(planes.row[r], planes.row[r + 1], planes.row[r + 2])


@wp.func
def number_at(planes: FeatureContacts, e: int, first: int):
    return planes.row[ROW * (planes.entry[e] // 4) + first + planes.entry[e] % 4]


@wp.kernel(enable_backward=False)
def stay_outside(work: Work, planes: FeatureContacts, displacement: wp.array(dtype=wp.vec3)):
    """Bring every index to where (1) holds for its planes."""
    i = first_item(work, wp.tid())
    while i >= 0:
        begin = planes.first[i]
        end = planes.first[i + 1]
        if begin < end:
            d = displacement[i]
            for _round in range(ROUNDS):
                for e in range(begin, end):
                    n = normal_at(planes, e)
                    d += wp.max(number_at(planes, e, 4) - wp.dot(n, d), 0.0) * n
            part = float(1.0)
            for e in range(begin, end):
                along = wp.dot(normal_at(planes, e), d)
                least = wp.min(number_at(planes, e, 4), 0.0)
                is_static = planes.row[ROW * (planes.entry[e] // 4) + 3] == 0.0
                if is_static and along < least - 0.25 * number_at(planes, e, 8):
                    part = wp.min(part, least / along)
            displacement[i] = part * d
        i = next_item(work, i)


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

    def __init__(self, place: np.ndarray, size: int, displacement: wp.array, tables: dict[str, Any], start: wp.array, recorder: Any):
        self._lists = Features(place, size, displacement, [0], recorder)
        self._size, self._start, self._recorder, self.room = size, start, recorder, 0
        self._particles, self._shapes = tables["particle"], tables["shape"]

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [bind_planes, stay_outside, find_free, count_features, list_features, sort_features]

    def reserve(self, rows: int) -> None:
        """Make room."""
        self.room = rows
        self._lists.reserve(0, [rows])
        self._recorder.forget()

    def bind(self, rows: SoftRows, bodies: tuple[wp.array, wp.array], late: bool) -> None:
        """The planes of a step.

        Args:
            rows: Rows of the collision pass.
            bodies: Poses of the bodies when the step ends and when it begins.
            late: Whether the rows were found at the former.
        """
        lists, particles = self._lists, self._particles
        inputs = [rows, self._shapes.struct, self._start, *bodies, int(late)]
        self._recorder.launch(bind_planes, len(rows.particle), inputs, [lists.ends[0], lists.contacts])
        self._recorder.launch(find_free, particles.count, [particles.struct, lists.contacts.place], [lists.free])
        lists.list()

    def project(self) -> None:
        """Bring every way to the outer side of its planes."""
        contacts = self._lists.contacts
        self._recorder.launch(stay_outside, self._size, [contacts], [contacts.displacement])

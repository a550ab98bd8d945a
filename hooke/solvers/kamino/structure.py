"""What of a model does not change while a solver lives: which bodies move, which rows every joint has, where worlds begin.

A degree of freedom has armature a, damping d, a passive spring k, a drive with gains kp and kd, an effort limit t and dry friction f.
It has up to four rows beside the locked motions of its joint:

    dynamic     a > 0 or d > 0 or k > 0, or a drive without effort limit: bilateral and compliant
    effort      a drive with an effort limit: an impulse within +- dt t
    friction    f > 0, the joint not being free: an impulse within +- dt f
    limit       a finite lower or upper limit, while it is violated

and the effort that is commanded goes the way of its effort row, else of its dynamic row, else acts on the bodies as a wrench. A joint
that is switched off or whose bodies both do not move has no rows. Values may change later; which rows there are may not
(:mod:`hooke.solvers.kamino.changes`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import warp as wp

from hooke.joints import CASES_OF_D6, D6, FREE, JOINTS
from hooke.joints.layout import coordinate_starts, velocity_starts
from hooke.joints.relative_motion import MOTIONS, is_left_handed, relative_motion
from hooke.model.enums import BodyFlags, JointTargetMode
from hooke.model.tables import UNLIMITED

__all__ = ["Actuation", "Route", "Structure", "make_structure"]

UNBOUNDED_EFFORT = 1.0e6
"""An effort limit from this on does not act [N or N m]."""


class Actuation(IntEnum):
    """What drives a degree of freedom; the greatest of a joint's is that of the joint."""

    PASSIVE = 0
    FORCE = 1
    POSITION = 2
    VELOCITY = 3
    POSITION_VELOCITY = 4


class Route(IntEnum):
    """Where the effort that is commanded for a degree of freedom goes."""

    NONE = 0
    """Nowhere: the joint is switched off, or neither of its bodies moves."""
    BODY_WRENCHES = 1
    DYNAMIC = 2
    EFFORT = 3


_ACTUATION = {
    JointTargetMode.NONE: Actuation.PASSIVE,
    JointTargetMode.EFFORT: Actuation.FORCE,
    JointTargetMode.POSITION: Actuation.POSITION,
    JointTargetMode.VELOCITY: Actuation.VELOCITY,
    JointTargetMode.POSITION_VELOCITY: Actuation.POSITION_VELOCITY,
}
_MODES = np.full(max(_ACTUATION) + 1, -1, np.int32)
_MODES[[int(mode) for mode in _ACTUATION]] = list(_ACTUATION.values())
_KIND = {id(kind): index for index, kind in enumerate(MOTIONS)}
_KINDS = np.full(max(int(kind.code) for kind in JOINTS) + 1, -1, np.int32)
for _kind in JOINTS:
    _KINDS[int(_kind.code)] = _KIND.get(id(_kind), -1)
_TRIADS = [_KIND[id(kind)] for kind in CASES_OF_D6 if kind.dof_dim == (0, 3)]


@dataclass(frozen=True, eq=False)
class Structure:
    """The structure of a model, in host arrays: B bodies, J joints, D degrees of freedom, W worlds.

    Attributes:
        world_count: W.
        body_start: First body of every world, then B; int32 (W + 1,).
        joint_start: First joint of every world, then J (W + 1,).
        coord_start: First coordinate of every world, then their number (W + 1,).
        dof_start: First degree of freedom of every world, then D (W + 1,).
        body_world: World of every body (B,); -1 is none, which only a model that is refused has.
        joint_world: World of every joint (J,).
        immovable: Whether a body stays where the caller puts it: it is kinematic, or has neither mass nor inertia; bool (B,).
        kinematic: Whether a body is flagged kinematic (B,).
        singular: Whether a body that is not kinematic has no mass, or an inertia that is not of full rank (B,).
        kind: Index in :data:`hooke.joints.relative_motion.MOTIONS` of every joint's relative motion, -1 of one that is refused (J,).
        left_handed: Whether the three angular axes of a joint are a left-handed triad (J,).
        parent: Parent body of every joint, -1 for the world (J,).
        child: Its child body (J,).
        enabled: Whether a joint is switched on (J,).
        acts: Whether it is, is of a known kind, and one of its bodies moves; others have no rows (J,).
        joint_coord: First coordinate of every joint, then their number (J + 1,).
        joint_dof: First degree of freedom of every joint, then D (J + 1,).
        dof_joint: Joint of every degree of freedom (D,).
        linear: Linear axes of every joint (J,); its other axes are angular.
        locked: Locked motions, which are rows of every joint: 6 less its degrees of freedom, 0 where it does not act (J,).
        mode: :class:`Actuation` of every degree of freedom, -1 of a target mode that does not exist (D,).
        joint_mode: The greatest of its degrees of freedom (J,).
        drive: Whether a degree of freedom has a drive with gains, which is integrated implicitly (D,).
        bounded: Whether its effort limit is finite, below 1e6 N or N m (D,).
        dynamic: Whether it has a dynamic row (D,).
        effort: Whether it has an effort row (D,).
        friction: Whether it has a friction row (D,).
        lower: Whether its lower limit is finite (D,); of a degree of freedom that has a limit the other may come and go.
        upper: Whether its upper limit is finite (D,).
        route: :class:`Route` of every degree of freedom (D,).
        base_joint: Of every world the free joint that moves its base body, or -1 (W,).
        base_body: Of every world the body that resets of the base are about, or -1 (W,).
        mimic_follower: Joints that follow another, one entry for each mimic that acts (M,).
        mimic_leader: Joints that they follow, with as many axes (M,).
        mimic_constraint: Row of the table of mimic constraints with the coefficients; -1 where they are ``mimic_coeffs`` of the
            follower (M,).
    """

    world_count: int
    body_start: np.ndarray
    joint_start: np.ndarray
    coord_start: np.ndarray
    dof_start: np.ndarray
    body_world: np.ndarray
    joint_world: np.ndarray
    immovable: np.ndarray
    kinematic: np.ndarray
    singular: np.ndarray
    kind: np.ndarray
    left_handed: np.ndarray
    parent: np.ndarray
    child: np.ndarray
    enabled: np.ndarray
    acts: np.ndarray
    joint_coord: np.ndarray
    joint_dof: np.ndarray
    dof_joint: np.ndarray
    linear: np.ndarray
    locked: np.ndarray
    mode: np.ndarray
    joint_mode: np.ndarray
    drive: np.ndarray
    bounded: np.ndarray
    dynamic: np.ndarray
    effort: np.ndarray
    friction: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    route: np.ndarray
    base_joint: np.ndarray
    base_body: np.ndarray
    mimic_follower: np.ndarray
    mimic_leader: np.ndarray
    mimic_constraint: np.ndarray

    @property
    def body_count(self) -> int:
        return len(self.immovable)

    @property
    def joint_count(self) -> int:
        return len(self.kind)

    @property
    def dof_count(self) -> int:
        return len(self.mode)

    @property
    def coord_count(self) -> int:
        return int(self.joint_coord[-1])

    @functools.cached_property
    def limited(self) -> np.ndarray:
        """Whether a degree of freedom has a finite limit, and so a row while one is violated; bool (D,)."""
        return self.lower | self.upper

    @functools.cached_property
    def actuated(self) -> np.ndarray:
        """Whether a joint is actuated: one of its degrees of freedom is not passive; bool (J,)."""
        return self.joint_mode != Actuation.PASSIVE

    @functools.cached_property
    def mixed(self) -> np.ndarray:
        """Whether a joint has passive and actuated degrees of freedom; bool (J,)."""
        passive = np.zeros(self.joint_count, bool)
        passive[self.dof_joint[self.mode == Actuation.PASSIVE]] = True
        return passive & self.actuated

    @functools.cached_property
    def actuated_coords(self) -> np.ndarray:
        """Indices of the coordinates of actuated joints, in order; int32."""
        return _entries(self.joint_coord, self.actuated)

    @functools.cached_property
    def actuated_dofs(self) -> np.ndarray:
        """Indices of the degrees of freedom of actuated joints, in order; int32."""
        return _entries(self.joint_dof, self.actuated)

    @functools.cached_property
    def actuated_coord_start(self) -> np.ndarray:
        """First entry of every world in :attr:`actuated_coords`, then their number; int32 (W + 1,)."""
        return np.searchsorted(self.actuated_coords, self.coord_start).astype(np.int32)

    @functools.cached_property
    def actuated_dof_start(self) -> np.ndarray:
        """First entry of every world in :attr:`actuated_dofs`, then their number; int32 (W + 1,)."""
        return np.searchsorted(self.actuated_dofs, self.dof_start).astype(np.int32)

    @functools.cached_property
    def free(self) -> np.ndarray:
        """Whether a joint leaves its child free; bool (J,)."""
        return self.kind == _KIND[id(FREE)]

    def per_joint(self, dofs: np.ndarray) -> np.ndarray:
        """How many of some degrees of freedom, bool (D,), every joint has; int32 (J,)."""
        return np.bincount(self.dof_joint[dofs], minlength=self.joint_count).astype(np.int32)

    def per_world(self, joints: np.ndarray) -> np.ndarray:
        """Sum over the joints of every world of numbers (J,), e.g. ``locked``; int32 (W,)."""
        total = np.concatenate([[0], np.cumsum(joints)])
        return np.diff(total[self.joint_start]).astype(np.int32)

    @functools.cached_property
    def mimic_rows(self) -> np.ndarray:
        """Rows of every mimic: the axes of its joints; int32 (M,)."""
        return np.diff(self.joint_dof)[self.mimic_follower].astype(np.int32)


def make_structure(model: Any, tables: dict[str, Any]) -> Structure:
    """Read the structure of a model; nothing is refused here (:mod:`hooke.solvers.kamino.check`).

    Args:
        model: The model.
        tables: Its tables, :func:`hooke.model.model.model_tables`.
    """
    worlds = int(model.world_count)
    joints, dofs, bodies = (_Host(tables[name]) for name in ("joint", "joint_dof", "body"))
    of_body, of_joint = _worlds(bodies["world"], worlds), _worlds(joints["world"], worlds)
    types, dims = joints["type"], joints["dof_dim"].reshape(-1, 2)
    joint_dof, joint_coord = velocity_starts(types, dims), coordinate_starts(types, dims)
    freedoms = np.diff(joint_dof)
    kind, left_handed = _relative_motions(types, dims, joint_dof, dofs["axis"].reshape(-1, 3))
    immovable, kinematic, singular = _bodies(bodies)
    parent, child, enabled = joints["parent"].copy(), joints["child"].copy(), joints["enabled"].astype(bool)
    movable = np.append(~immovable, False)
    acts = enabled & (kind >= 0) & (movable[child] | movable[parent])
    joint_start = _starts(of_joint, worlds)
    base_joint, base_body = _bases(kind, parent, child, joints["articulation"], of_joint, _starts(of_body, worlds))
    dof_joint = np.repeat(np.arange(len(types), dtype=np.int32), freedoms)
    rows = _rows(dofs, acts[dof_joint], (kind == _KIND[id(FREE)])[dof_joint])
    joint_mode = np.zeros(len(types), np.int32)
    np.maximum.at(joint_mode, dof_joint, rows["mode"])
    follower, leader, constraint = _mimics(joints, _Host(tables["constraint_mimic"]), enabled, acts)
    return Structure(
        world_count=worlds, body_start=_starts(of_body, worlds), joint_start=joint_start, coord_start=joint_coord[joint_start],
        dof_start=joint_dof[joint_start], body_world=of_body, joint_world=of_joint, immovable=immovable, kinematic=kinematic,
        singular=singular, kind=kind, left_handed=left_handed, parent=parent, child=child, enabled=enabled, acts=acts,
        joint_coord=joint_coord, joint_dof=joint_dof, dof_joint=dof_joint, linear=dims[:, 0].copy(),
        locked=np.where(acts, 6 - freedoms, 0).astype(np.int32), joint_mode=joint_mode, base_joint=base_joint, base_body=base_body,
        mimic_follower=follower, mimic_leader=leader, mimic_constraint=constraint, **rows,
    )  # fmt: skip


class _Host:
    """The columns of a table as host arrays. On a CPU they are views of the model's: what is kept must be a copy."""

    def __init__(self, table: Any):
        self._table = table

    def __getitem__(self, name: str) -> np.ndarray:
        array = self._table.arrays[name]
        return array.numpy() if isinstance(array, wp.array) else np.asarray(array)

    def __len__(self) -> int:
        return int(self._table.count)


def _worlds(world: np.ndarray, worlds: int) -> np.ndarray:
    """The world of every entity; a model of one world has all of them in it."""
    return np.zeros_like(world) if worlds == 1 else world.copy()


def _starts(world: np.ndarray, worlds: int) -> np.ndarray:
    return np.searchsorted(world, np.arange(worlds + 1)).astype(np.int32)


def _entries(start: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The numbers from ``start[j]`` to ``start[j + 1]`` of the joints that are chosen."""
    return np.flatnonzero(np.repeat(chosen, np.diff(start))).astype(np.int32)


def _bodies(bodies: _Host) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kinematic = (bodies["flags"] & int(BodyFlags.KINEMATIC)) != 0
    inverse = bodies["inv_inertia"].astype(np.float64).reshape(-1, 3, 3)
    weightless = bodies["inv_mass"] <= 0.0
    immovable = kinematic | (weightless & ~inverse.any(axis=(1, 2)))
    turns = np.linalg.eigvalsh(inverse) if len(inverse) else np.ones((0, 3))
    return immovable, kinematic, ~kinematic & (weightless | ~(turns[:, 0] > 1.0e-12 * turns[:, 2]))


def _relative_motions(
    types: np.ndarray, dims: np.ndarray, joint_dof: np.ndarray, axis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The kind of every joint, and whether three axes are left-handed; joints with equal axes are looked at once."""
    known = (types >= 0) & (types < len(_KINDS))
    kind = np.where(known, _KINDS[np.where(known, types, 0)], -1).astype(np.int32)
    left_handed = np.zeros(len(types), bool)
    cases = np.flatnonzero(types == int(D6.code))
    if not len(cases):
        return kind, left_handed
    counts = np.diff(joint_dof)[cases]
    key = np.zeros((len(cases), 20), np.float32)
    key[:, :2] = dims[cases]
    for k in range(6):
        has = counts > k
        key[has, 2 + 3 * k : 5 + 3 * k] = axis[joint_dof[cases[has]] + k]
    _, first, which = np.unique(key.view(np.dtype((np.void, key.itemsize * 20))).ravel(), return_index=True, return_inverse=True)
    found, left = np.full(len(first), -1, np.int32), np.zeros(len(first), bool)
    for n, row in enumerate(first.tolist()):
        axes = key[row, 2 : 2 + 3 * counts[row]].reshape(-1, 3)
        found[n] = _KIND.get(id(relative_motion(int(D6.code), dims[cases[row]], axes)), -1)
        left[n] = found[n] in _TRIADS and is_left_handed(axes)
    kind[cases], left_handed[cases] = found[which], left[which]
    return kind, left_handed


def _rows(dofs: _Host, acts: np.ndarray, free: np.ndarray) -> dict[str, np.ndarray]:
    """What is true of every degree of freedom."""
    target = dofs["target_mode"]
    known = (target >= 0) & (target < len(_MODES))
    mode = np.where(known, _MODES[np.where(known, target, 0)], -1).astype(np.int32)
    stiff, damped = dofs["target_ke"] > 0.0, dofs["target_kd"] > 0.0
    drive = np.where(mode == Actuation.VELOCITY, damped, (mode >= Actuation.POSITION) & (stiff | damped))
    bounded = dofs["effort_limit"] < UNBOUNDED_EFFORT
    passive = (dofs["armature"] > 0.0) | (dofs["damping"] > 0.0) | (dofs["stiffness"] > 0.0)
    effort = acts & drive & bounded
    dynamic = acts & (passive | (drive & ~bounded))
    route = np.where(effort, Route.EFFORT, np.where(dynamic, Route.DYNAMIC, Route.BODY_WRENCHES))
    return {
        "mode": mode, "drive": drive, "bounded": bounded, "dynamic": dynamic, "effort": effort,
        "friction": acts & ~free & (dofs["friction"] > 0.0), "lower": acts & (dofs["limit_lower"] > -UNLIMITED),
        "upper": acts & (dofs["limit_upper"] < UNLIMITED), "route": np.where(acts, route, Route.NONE).astype(np.int32),
    }  # fmt: skip


def _bases(
    kind: np.ndarray, parent: np.ndarray, child: np.ndarray, owner: np.ndarray, world: np.ndarray, body_start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Base joint and base body of every world.

    The free joint that is the root of its first articulation of which that is so, else its first free joint to the world; where no joint
    is with the world, its first body; else none.
    """
    worlds = len(body_start) - 1
    joint, body = np.full(worlds, -1, np.int32), np.full(worlds, -1, np.int32)
    rooted = np.bincount(world[(parent < 0) & (world >= 0)], minlength=worlds) > 0
    floating = ~rooted & (np.diff(body_start) > 0)
    body[floating] = body_start[:-1][floating]
    roots = np.flatnonzero((kind == _KIND[id(FREE)]) & (parent < 0) & (world >= 0))
    order = roots[np.lexsort((roots, owner[roots], owner[roots] < 0, world[roots]))]
    which, first = np.unique(world[order], return_index=True)
    joint[which] = order[first]
    body[which] = child[order[first]]
    return joint, body


def _mimics(joints: _Host, rows: _Host, enabled: np.ndarray, acts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Followers, leaders and rows of mimics: those of joints, then constraints that are enabled; without those that cannot act."""
    leader = joints["mimic_joint"]
    own = np.flatnonzero(leader >= 0)
    asked = np.flatnonzero(rows["enabled"].astype(bool)) if len(rows) else np.zeros(0, np.int64)
    follower = np.concatenate([own, rows["joint0"][asked]]).astype(np.int32)
    followed = np.concatenate([leader[own], rows["joint1"][asked]]).astype(np.int32)
    constraint = np.concatenate([np.full(len(own), -1), asked]).astype(np.int32)
    live = enabled[follower] & enabled[followed] & (acts[follower] | acts[followed]) if len(follower) else np.zeros(0, bool)
    return follower[live], followed[live], constraint[live]

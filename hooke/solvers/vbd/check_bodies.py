"""Checks of the bodies and joints that SolverVBD works on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import warp as wp

from hooke.geometry.coloring import find_conflict
from hooke.joints import JOINTS
from hooke.model.check import check_coloring
from hooke.model.enums import BodyFlags, JointTargetMode, ShapeFlags
from hooke.model.tables import UNLIMITED
from hooke.solvers.vbd.check_values import check_values
from hooke.solvers.vbd.joint_effort import NO_VELOCITY_LIMIT

__all__ = ["check_bodies", "idle_on_page", "is_joint_of", "meets_particles"]

NO_EFFORT_LIMIT = 1.0e6
"""The default of ``effort_limit``, which does not act."""

_ELASTIC = [int(kind.code) for kind in JOINTS if kind.strain is not None]
_FREE = [int(kind.code) for kind in JOINTS if kind.at_com and kind.strain is None and not kind.one_sided]
_BALLS = [int(kind.code) for kind in JOINTS if kind.quaternion and not kind.at_com]
_DISTANCES = [int(kind.code) for kind in JOINTS if kind.one_sided]
_LIMITS = ("limit_lower", "limit_upper")
_PASSIVE = ("stiffness", "damping", "armature", "friction", "velocity_limit", "effort_limit")
_IDLE = (
    (_FREE, ("target_ke", "target_kd", *_PASSIVE, *_LIMITS)),
    (_DISTANCES, ("target_ke", "target_kd", *_PASSIVE)),
    (_ELASTIC, (*_PASSIVE, *_LIMITS)),
    (_BALLS, ("velocity_limit", *_LIMITS)),
)
"""Kinds of joints, and columns of their degrees of freedom that do not act on them."""

_SAYS_SOMETHING = {
    **{name: lambda value: value != 0.0 for name in ("target_ke", "target_kd", "stiffness", "damping", "armature", "friction")},
    **{name: lambda value: np.abs(value) < UNLIMITED for name in _LIMITS},
    "velocity_limit": lambda value: value < NO_VELOCITY_LIMIT,
    "effort_limit": lambda value: value < NO_EFFORT_LIMIT,
}
"""Where values of such a column would mean something."""


def check_bodies(model: Any, tables: dict[str, Any], moved_by_another: bool) -> bool:
    """Whether there are bodies for this solver to move; refuses what it cannot do.

    Args:
        model: The model.
        tables: Its tables.
        moved_by_another: Another solver moves the bodies.

    Raises:
        ValueError: A dynamic body has a mass without an inertia or is held by a joint and has no mass; bodies of one colour share a
            joint; a value is no number or below its minimum.
        NotImplementedError: Dynamic bodies with what is not solved yet.
    """
    if moved_by_another or not tables["body"].count:
        return False
    check_values(model, tables)
    arrays = tables["body"].arrays
    flagged = (arrays["flags"].numpy() & int(BodyFlags.KINEMATIC)) == 0
    dynamic = flagged & (arrays["inv_mass"].numpy() > 0.0)
    held = _joined(tables, len(dynamic))
    _check_masses(arrays, flagged, dynamic, held)
    if not dynamic.any():
        return False
    _check_body_colors(model, tables)
    _check_joints(model, tables)
    return True


def is_joint_of(tables: dict[str, Any]) -> np.ndarray:
    """Which joints hold their child, bool (joints,): all but free ones."""
    if not tables["joint"].count:
        return np.zeros(0, bool)
    return ~np.isin(tables["joint"].arrays["type"].numpy(), _FREE)


def _joined(tables: dict[str, Any], bodies: int) -> np.ndarray:
    """Which bodies a joint holds, bool (bodies,)."""
    held = np.zeros(bodies + 1, bool)
    holds = is_joint_of(tables)
    for end in ("parent", "child") if len(holds) else ():
        held[tables["joint"].arrays[end].numpy()[holds]] = True
    return held[:bodies]


def _check_masses(arrays: dict[str, Any], flagged: np.ndarray, dynamic: np.ndarray, held: np.ndarray) -> None:
    """A dynamic body that a joint holds has a mass, and one with a mass an inertia; another without mass stays where it is."""
    label = arrays["label"]
    massless = flagged & ~dynamic & held
    if massless.any():
        b = int(np.flatnonzero(massless)[0])
        raise ValueError(
            f"SolverVBD: body {label[b]!r} (index {b}) is held by a joint but has no mass ({int(massless.sum())} in all), so no motion "
            "follows from forces on it; give it mass and inertia, a shape with density, or is_kinematic=True"
        )
    least = np.linalg.eigvalsh(arrays["inertia"].numpy().astype(np.float64).reshape(-1, 3, 3)).min(axis=1, initial=np.inf)
    thin = dynamic & (least <= 0.0)
    if thin.any():
        b = int(np.flatnonzero(thin)[0])
        raise ValueError(
            f"SolverVBD: body {label[b]!r} (index {b}) has mass {arrays['mass'].numpy()[b]} kg but an inertia whose least eigenvalue is "
            f"{least[b]} kg m^2 ({int(thin.sum())} in all); expected a positive one about every axis"
        )


def _check_body_colors(model: Any, tables: dict[str, Any]) -> None:
    """Bodies that share a joint differ in colour."""
    if not model.body_color_groups or not tables["joint"].count:
        return
    arrays = tables["joint"].arrays
    pairs = np.stack([arrays["parent"].numpy(), arrays["child"].numpy()], axis=1)
    rows = np.flatnonzero(pairs.min(axis=1) >= 0)
    colors = check_coloring("body", [group.numpy() for group in model.body_color_groups], tables["body"].count)
    conflict = find_conflict(colors, pairs[rows])
    if conflict is not None:
        k, i, j = conflict
        label, names = arrays["label"], tables["body"].arrays["label"]
        raise ValueError(
            f"SolverVBD: bodies {names[i]!r} (index {i}) and {names[j]!r} (index {j}) have the same colour but share joint "
            f"{label[rows[k]]!r} (index {rows[k]}); call ModelBuilder.color() after all joints are added"
        )


def _check_joints(model: Any, tables: dict[str, Any]) -> None:
    """Say what does not act."""
    if not tables["joint"].count:
        return
    arrays, dofs = tables["joint"].arrays, tables["joint_dof"].arrays
    _warn_of_idle_freedoms(model, arrays, dofs)


def _warn_of_idle_freedoms(model: Any, arrays: dict[str, Any], dofs: dict[str, Any]) -> None:
    """Say what is set of a degree of freedom whose kind of joint has no such thing; docs/guide/joints.md has the table."""
    types, starts = arrays["type"].numpy(), np.append(model.joint_qd_start.numpy()[: len(arrays["type"])], len(dofs["friction"]))
    owner = np.repeat(np.arange(len(types)), np.diff(starts))
    values = {name: dofs[name].numpy() for name in _SAYS_SOMETHING if dofs[name] is not None}
    found = []
    for kinds, names in _IDLE:
        of_kinds = np.isin(types[owner], kinds)
        for name in names:
            hit = owner[of_kinds & _SAYS_SOMETHING[name](values[name])] if name in values else []
            found += [(int(j), name) for j in np.unique(hit)]
    if found:
        first = min(found)[0]
        text = ", ".join(f"joint_{name}" for j, name in found if j == first)
        more = len({j for j, _name in found}) - 1
        others = f", nor do some of {more} other joint{'s' * (more > 1)}" if more else ""
        warnings.warn(
            f"SolverVBD: {text} of joint {arrays['label'][first]!r} (index {first}) do not act on its kind{others}", stacklevel=6
        )


def idle_on_page(model: Any, types: np.ndarray, dofs: dict[str, Any]) -> list[str]:
    """What is set of degrees of freedom and does not act in the documented formulation: names of columns."""
    values = {name: array.numpy() for name, array in dofs.items() if isinstance(array, wp.array)}
    found = [name for name in _PASSIVE if name in values and _SAYS_SOMETHING[name](values[name]).any()]
    owner = np.repeat(
        np.arange(len(types)), np.diff(np.append(model.joint_qd_start.numpy()[: len(types)], len(values["target_ke"])))
    )
    ke, driven = values["target_ke"] != 0.0, (values["target_ke"] != 0.0) | (values["target_kd"] != 0.0)
    found += ["target_ke, joint_target_kd of balls"] if (driven & np.isin(types[owner], _BALLS)).any() else []
    mode = values["target_mode"]
    ignored = ((mode == int(JointTargetMode.VELOCITY)) & ke) | ((mode == int(JointTargetMode.EFFORT)) & driven)
    return found + (["target_mode"] if (ignored & ~np.isin(types[owner], _ELASTIC)).any() else [])


def meets_particles(tables: dict[str, Any]) -> bool:
    """Whether particles may touch the shapes of dynamic bodies, or are attached to them."""
    if not tables["particle"].count:
        return False
    arrays = tables["body"].arrays
    dynamic = ((arrays["flags"].numpy() & int(BodyFlags.KINEMATIC)) == 0) & (arrays["inv_mass"].numpy() > 0.0)
    return any(dynamic[bodies[bodies >= 0]].any() for bodies in _touching(tables))


def _touching(tables: dict[str, Any]) -> list[np.ndarray]:
    """Bodies that particles may act on."""
    found = []
    if tables["shape"].count:
        shapes = tables["shape"].arrays
        meets = (shapes["flags"].numpy() & int(ShapeFlags.COLLIDE_PARTICLES)) != 0
        found.append(shapes["body"].numpy()[meets])
    held = tables["attachment_particle_body"]
    if held.count:
        found.append(held.arrays["body"].numpy())
    return found

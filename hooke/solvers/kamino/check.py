"""Checks of the models that SolverKamino works on. Every message names what it is about, by label and index."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import ELEMENTS
from hooke.joints import D6, FIXED
from hooke.joints.kind import JointType
from hooke.joints.relative_motion import MOTIONS
from hooke.model.enums import JointTargetMode
from hooke.solvers.kamino.config.attributes import fk_actuation_flags_of
from hooke.solvers.kamino.structure import Actuation, Structure

__all__ = ["base_warning", "body_name", "check_model", "find_problems", "joint_name", "listed"]

_NOUNS = {"tri": "triangles", "edge": "bending edges", "tet": "tetrahedra", "particle": "particles", "spring": "springs"}
_TRIADS = [k for k, kind in enumerate(MOTIONS) if kind.dof_dim in ((0, 2), (0, 3)) and not kind.quaternion]
_WELD = MOTIONS.index(FIXED)
_WITH_AXES = [k for k, kind in enumerate(MOTIONS) if not kind.quaternion]
_AXES = 1.0e-6  # how far universal and gimbal axes may be from orthogonal unit vectors
_UNIT = 1.0e-4  # how far other axes may be from unit length
_SHOWN = 4  # of many alike


def check_model(model: Any, tables: dict[str, Any], structure: Structure, use_fk: bool = False) -> None:
    """Refuse a model that cannot be simulated as it is; warn of what does not act.

    Args:
        model: The model.
        tables: Its tables.
        structure: Its structure.
        use_fk: Whether forward kinematics are asked for.

    Raises:
        ValueError: With everything that is wrong: particles and their elements; joints with no rigid relative motion; D6 joints whose axes
            make none of the known kinds; axes of universal and gimbal joints that are not orthogonal unit vectors; bodies without mass or
            with a singular inertia in joints that let them move; drives without gains; modes and flags that do not exist; bodies and
            joints of no world beside worlds; mimics between joints without scalar coordinates.
    """
    problems = find_problems(model, tables, structure, use_fk)
    if problems:
        raise ValueError(
            "SolverKamino cannot simulate this model due to unsupported features or invalid properties:\n"
            + "\n".join(f"  - {problem}" for problem in problems)
        )
    _warn_of_idle(tables, structure)


def find_problems(model: Any, tables: dict[str, Any], s: Structure, use_fk: bool = False) -> list[str]:
    """Everything that is wrong with a model, a sentence each; see :func:`check_model`."""
    return [
        *_elements(model, tables), *_worlds(tables, s), *_kinds(tables, s), *_axes(tables, s), *_masses(tables, s), *_drives(tables, s),
        *_fk_flags(model, tables, s, use_fk), *_mimics(tables, s),
    ]  # fmt: skip


def body_name(tables: dict[str, Any], body: int) -> str:
    """How a message calls a body."""
    return "the world" if body < 0 else f"body {tables['body'].arrays['label'][body]!r} (index {body})"


def joint_name(tables: dict[str, Any], joint: int) -> str:
    """How a message calls a joint."""
    return f"joint {tables['joint'].arrays['label'][joint]!r} (index {joint})"


def listed(rows: np.ndarray, name: Callable[[int], str]) -> str:
    """The names of the first of some rows, and how many there are."""
    shown = ", ".join(name(int(row)) for row in rows[:_SHOWN])
    return shown if len(rows) <= _SHOWN else f"{shown} and {len(rows) - _SHOWN} more"


def _of_dofs(tables: dict[str, Any], s: Structure, dofs: np.ndarray) -> str:
    """The names of the joints of some degrees of freedom."""

    def name(dof: int) -> str:
        joint = int(s.dof_joint[dof])
        return f"{joint_name(tables, joint)}, DoF={dof - int(s.joint_dof[joint])}"

    return listed(dofs, name)


def _host(tables: dict[str, Any], table: str, column: str) -> np.ndarray:
    array = tables[table].arrays[column]
    return array.numpy() if isinstance(array, wp.array) else np.asarray(array)


def _elements(model: Any, tables: dict[str, Any]) -> list[str]:
    """Only rigid bodies are simulated."""
    names = dict.fromkeys(("particle", *(element.table.name for element in ELEMENTS)))
    counts = {_NOUNS.get(name, name.replace("_", " ")): int(tables[name].count) for name in names}
    counts["muscles"] = int(getattr(model, "muscle_count", 0) or 0)
    expected = "expected a model of rigid bodies and joints; give them to another solver"
    return [f"{count} {noun}: {expected}" for noun, count in counts.items() if count]


def _worlds(tables: dict[str, Any], s: Structure) -> list[str]:
    """Every body and joint belongs to a world, and those of a world follow each other."""
    problems = []
    for what, world, name in (("bodies", s.body_world, body_name), ("joints", s.joint_world, joint_name)):
        bad = np.flatnonzero((world < 0) | (world >= s.world_count))
        if len(bad):
            problems.append(
                f"{what} of no world: {listed(bad, lambda row, name=name: name(tables, row))}; expected each between begin_world() and "
                f"end_world() in a model of {s.world_count} worlds (only shapes may be shared)"
            )
        elif (np.diff(world) < 0).any():
            row = int(np.argmax(np.diff(world) < 0)) + 1
            problems.append(
                f"{name(tables, row)} of world {world[row]} follows one of world {world[row - 1]}; expected worlds in order"
            )
    return problems


def _kinds(tables: dict[str, Any], s: Structure) -> list[str]:
    """Every joint has a kind of relative motion; D6 joints whose angular axes alone are at fault are left to :func:`_axes`."""
    unknown = np.flatnonzero(s.kind < 0)
    if not len(unknown):
        return []
    types, dims = _host(tables, "joint", "type"), _host(tables, "joint", "dof_dim").reshape(-1, 2)
    problems = []
    for code in np.unique(types[unknown]).tolist():
        of_type = unknown[types[unknown] == code]
        if code != int(D6.code):
            known = code in JointType.__members__.values()
            problems.append(
                f"{listed(of_type, lambda row: joint_name(tables, row))}: {JointType(code).name if known else f'type {code}'} joints are "
                f"not supported; expected one of {', '.join(kind.name for kind in MOTIONS)}"
            )
            continue
        for dim in np.unique(dims[of_type], axis=0).tolist():
            rows = of_type[(dims[of_type] == dim).all(axis=1)]
            if dim not in ([0, 2], [0, 3]):
                at_fault = (
                    "a linear and an angular axis that differ" if dim == [1, 1] else f"{dim[0]} linear and {dim[1]} angular axes"
                )
                problems.append(
                    f"{listed(rows, lambda row: joint_name(tables, row))}: a D6 joint with {at_fault} is not supported; expected none, one "
                    "linear, one angular, one of each along one line (cylindrical), two angular (universal), three linear (Cartesian) or "
                    "three angular (gimbal); split it into two joints with a body between"
                )
    return problems


def _axes(tables: dict[str, Any], s: Structure) -> list[str]:
    """Axes have unit length; those of universal and gimbal joints are orthogonal."""
    if not s.joint_count:
        return []
    axis = _host(tables, "joint_dof", "axis").astype(np.float64).reshape(-1, 3)
    dims = _host(tables, "joint", "dof_dim").reshape(-1, 2)
    crooked = (s.kind < 0) & (_host(tables, "joint", "type") == int(D6.code)) & (dims[:, 0] == 0) & (dims[:, 1] >= 2)
    off = np.nan_to_num(np.abs(np.linalg.norm(axis, axis=1) - 1.0), nan=np.inf)
    triad = np.isin(s.kind, _TRIADS)
    worst = np.zeros(s.joint_count)
    np.maximum.at(worst, s.dof_joint, off)
    crooked |= triad & (worst > _AXES)
    long = np.isin(s.kind, _WITH_AXES) & ~triad & (worst > _UNIT)
    problems = []
    if crooked.any():
        rows = np.flatnonzero(crooked)
        found = axis[s.joint_dof[rows[0]] : s.joint_dof[rows[0] + 1]].tolist()
        problems.append(
            f"{listed(rows, lambda row: joint_name(tables, row))}: universal and gimbal axes must be unit length and orthogonal to "
            f"{_AXES}, found {found} for the first"
        )
    if long.any():
        rows = np.flatnonzero(long)
        problems.append(
            f"{listed(rows, lambda row: joint_name(tables, row))}: expected axes of unit length, found "
            f"{axis[s.joint_dof[rows[0]]].tolist()} for the first; normalize joint_axis"
        )
    return problems


def _masses(tables: dict[str, Any], s: Structure) -> list[str]:
    """A body without mass or full inertia moves in no joint, nor is it welded to what moves; alone or on the world it may stand."""
    if not s.singular.any():
        return []
    movable, singular = np.append(~s.immovable, False), np.append(s.singular, False)
    weld, lacks = s.kind == _WELD, "no mass, or an inertia that is not positive about every axis"
    problems = []
    for end, other in ((s.child, s.parent), (s.parent, s.child)):

        def name(row: int, end: np.ndarray = end) -> str:
            return f"{body_name(tables, int(end[row]))} in {joint_name(tables, row)}"

        at = s.enabled & singular[end] & ~s.free
        moving, held = np.flatnonzero(at & ~weld), np.flatnonzero(at & weld & movable[other])
        if len(moving):
            problems.append(
                f"{listed(moving, name)}: {lacks}, in a joint that lets it move; give it mass and inertia, or is_kinematic=True"
            )
        if len(held):
            problems.append(
                f"{listed(held, name)}: {lacks}, and welded to a body that moves; call collapse_fixed_joints() before finalize(), or give "
                "it mass and inertia"
            )
    return problems


def _drives(tables: dict[str, Any], s: Structure) -> list[str]:
    """Target modes exist, and those with gains have some."""
    problems = []
    unknown = np.flatnonzero(s.mode < 0)
    if len(unknown):
        found = int(_host(tables, "joint_dof", "target_mode")[unknown[0]])
        problems.append(
            f"{_of_dofs(tables, s, unknown)}: joint_target_mode is {found}; expected one of "
            f"{', '.join(f'{mode.name} {int(mode)}' for mode in JointTargetMode)}"
        )
    idle = (s.mode >= Actuation.POSITION) & ~s.drive
    for what, rows in (
        ("velocity target requires a non-zero gain", np.flatnonzero(idle & (s.mode == Actuation.VELOCITY))),
        ("position target requires a non-zero gain", np.flatnonzero(idle & (s.mode != Actuation.VELOCITY))),
    ):
        if len(rows):
            gains = "joint_target_kd" if "velocity" in what else "joint_target_ke or joint_target_kd"
            problems.append(
                f"{_of_dofs(tables, s, rows)}: a {what}; expected {gains} > 0, found 0; set one, or another joint_target_mode"
            )
    return problems


def _fk_flags(model: Any, tables: dict[str, Any], s: Structure, use_fk: bool) -> list[str]:
    """Flags are -1, 0 or 1; for forward kinematics a joint is actuated or it is not."""
    problems = []
    flags = fk_actuation_flags_of(model)
    flags = np.full(s.joint_count, -1) if flags is None else np.asarray(flags)
    if len(flags) != s.joint_count:
        return [f"model.fk_actuation_flag: expected {s.joint_count} values, found {len(flags)}"]
    bad = np.flatnonzero(~np.isin(flags, (-1, 0, 1)))
    if len(bad):
        problems.append(
            f"{listed(bad, lambda row: joint_name(tables, row))}: fk_actuation_flag is {int(flags[bad[0]])}; expected -1 (as its target "
            "modes say), 0 (passive) or 1 (actuated)"
        )
    mixed = np.flatnonzero(s.mixed & (flags == -1)) if use_fk else np.zeros(0, np.int64)
    if len(mixed):
        problems.append(
            f"{listed(mixed, lambda row: joint_name(tables, row))}: passive and actuated degrees of freedom in one joint, which forward "
            "kinematics (use_fk_solver=True) cannot use; give all a target mode or none, or set its fk_actuation_flag"
        )
    return problems


def _mimics(tables: dict[str, Any], s: Structure) -> list[str]:
    """Joints of a mimic are of one world, and have scalar coordinates, and as many."""
    if not len(s.mimic_follower):
        return []
    axes = np.diff(s.joint_dof)
    scalar = np.append([not kind.quaternion and kind.dof_dim != (0, 0) for kind in MOTIONS], False)[s.kind]
    pairs = np.stack([s.mimic_follower, s.mimic_leader], axis=1)
    apart = s.joint_world[pairs[:, 0]] != s.joint_world[pairs[:, 1]]
    bad = np.flatnonzero(~scalar[pairs].all(axis=1) | (axes[pairs[:, 0]] != axes[pairs[:, 1]]) | apart)
    if not len(bad):
        return []
    names = listed(bad, lambda m: f"{joint_name(tables, int(pairs[m, 0]))} following {joint_name(tables, int(pairs[m, 1]))}")
    return [
        f"{names}: expected joints of one world with scalar coordinates, as many of the one as of the other, to mimic each other"
    ]


def base_warning(tables: dict[str, Any], s: Structure) -> str | None:
    """What a reset of bases says of worlds that have none; None where all worlds with bodies have one."""
    without = (s.base_body < 0) & (np.diff(s.body_start) > 0)
    if not without.any():
        return None
    owner = _host(tables, "joint", "articulation")
    rooted = np.unique(owner[(s.parent < 0) & ~s.free & (owner >= 0) & without[s.joint_world]])
    label = tables["articulation"].arrays["label"]
    names = (
        listed(rooted, lambda row: f"articulation {label[row]!r} (index {row})") if len(rooted) else "no articulation has a root"
    )
    return (
        f"SolverKamino: {int(without.sum())} worlds have no base, and their bases are not reset, because the root is not a free joint with "
        f"the world: {names}"
    )


def _warn_of_idle(tables: dict[str, Any], s: Structure) -> None:
    """Say once what does not act."""
    if not s.dof_count:
        return
    rubbed = np.flatnonzero(s.free[s.dof_joint] & (_host(tables, "joint_dof", "friction") > 0.0))
    if len(rubbed):
        warnings.warn(f"SolverKamino: joint_friction of free joints does not act: {_of_dofs(tables, s, rubbed)}", stacklevel=4)
    slow = np.flatnonzero(s.acts[s.dof_joint] & (_host(tables, "joint_dof", "velocity_limit") < 1.0e6))
    if len(slow):
        warnings.warn(f"SolverKamino: joint_velocity_limit does not act: {_of_dofs(tables, s, slow)}", stacklevel=4)

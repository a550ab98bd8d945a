"""Checks of what a builder holds, before it becomes a model. Every message names the entity."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hooke.data.table import Column, Rows, row_count
from hooke.elements import ELEMENTS
from hooke.geometry.inertia import validate_inertia
from hooke.joints.layout import coordinate_starts, velocity_starts
from hooke.model.enums import BodyFlags

__all__ = ["check_coloring", "check_inertia", "check_structure", "check_worlds", "name_of"]

_NOUN = {"tri": "triangle", "tet": "tetrahedron", "edge": "edge"}


def name_of(rows: Rows, index: int) -> str:
    """How a message calls a row, e.g. ``body 'arm' (index 3)`` or ``triangle 7``."""
    noun = _NOUN.get(rows.table.name, rows.table.name.replace("_", " "))
    label = rows.columns["label"][index] if "label" in rows.columns else ""
    return f"{noun} {label!r} (index {index})" if label else f"{noun} {index}"


def check_structure(tables: dict[str, Rows], world_count: int, leave_out: frozenset[str] = frozenset()) -> None:
    """Refuse columns of different lengths, values that are not finite or below their minimum, references to rows that do not exist."""
    counts = {name: rows.count for name, rows in tables.items()} | {"world": world_count}
    for name, rows in tables.items():
        if name in leave_out:
            continue
        for column in rows.declared.values():
            if row_count(rows.columns[column.name]) != rows.count:
                raise ValueError(
                    f"builder.{rows.table.prefix}{column.name} has {row_count(rows.columns[column.name])} rows, expected {rows.count} like "
                    f"builder.{rows.table.prefix}{next(iter(rows.columns))}"
                )
            if column.is_list or rows.count == 0:
                continue
            values = rows.columns[column.name].array
            _check_values(tables, rows, column, values)
            if column.refers in counts and (values.min() < -1 or values.max() >= counts[column.refers]):
                bad = np.flatnonzero(((values < -1) | (values >= counts[column.refers])).reshape(rows.count, -1).any(axis=1))
                raise ValueError(
                    f"{name_of(rows, bad[0])}: {public_name(rows, column)} is {values[bad[0]].tolist()}, expected -1 to "
                    f"{counts[column.refers] - 1}"
                )
    for table in dict.fromkeys(element.table for element in ELEMENTS):
        if "materials" in tables[table.name].columns:
            materials = tables[table.name].columns["materials"].array
            bad = np.flatnonzero(materials[:, 0] + materials[:, 1] < 0.0)
            if len(bad):
                raise ValueError(
                    f"{name_of(tables[table.name], bad[0])}: the Lame pair {materials[bad[0], :2].tolist()} has mu + lambda < 0, "
                    "which is not a stable material"
                )


def _name_of_number(tables: dict[str, Rows], rows: Rows, index: int) -> str:
    """As :func:`name_of`; a coordinate or degree of freedom goes by its joint."""
    starts = {"joint_coord": coordinate_starts, "joint_dof": velocity_starts}.get(rows.table.name)
    joints = tables["joint"]
    if starts is not None and joints.count:
        first = starts(joints.columns["type"].array, joints.columns["dof_dim"].array)
        joint = int(np.searchsorted(first, index, side="right")) - 1
        if 0 <= joint < joints.count:
            return f"{name_of(joints, joint)}, {rows.table.name.removeprefix('joint_')} {index - first[joint]} ({name_of(rows, index)})"
    return name_of(rows, index)


def public_name(rows: Rows, column: Column) -> str:
    """The name of a column on the builder and the model; a custom attribute goes by its key."""
    return rows.table.prefix + column.name if column in rows.table.columns else column.name


def _reaches(values: np.ndarray, minimum: Any) -> bool:
    """Whether no value (n, width) is below the minimum of its column."""
    if np.ndim(minimum) == 0:
        return minimum is None or values.min() >= minimum
    return all(values[:, k].min() >= least for k, least in enumerate(minimum))


def _check_values(tables: dict[str, Rows], rows: Rows, column: Column, values: np.ndarray) -> None:
    flat = values.reshape(rows.count, -1)
    if np.isfinite(flat.min()) and np.isfinite(flat.max()) and _reaches(flat, column.minimum):
        return
    finite = np.isfinite(flat).all(axis=1)
    low = np.zeros(rows.count, bool) if column.minimum is None else (flat < np.asarray(column.minimum)).any(axis=1)
    bad = np.flatnonzero(~finite | low)
    if len(bad):
        wanted = "finite values" if not finite[bad[0]] else f"values >= {column.minimum}"
        more = f"; {len(bad)} rows are wrong" if len(bad) > 1 else ""
        raise ValueError(
            f"{_name_of_number(tables, rows, bad[0])}: {public_name(rows, column)} is {values[bad[0]].tolist()} {column.unit}, expected "
            f"{wanted}{more}"
        )


def check_worlds(tables: dict[str, Rows]) -> None:
    """Refuse entities of one world that are not contiguous, and worlds out of order."""
    for rows in tables.values():
        if "world" not in rows.columns:
            continue
        world = rows.columns["world"].array
        local = np.flatnonzero(world >= 0)
        if len(local) == 0:
            continue
        inner = world[local[0] : local[-1] + 1]
        bad = np.flatnonzero((np.diff(inner) < 0) | (inner[1:] < 0))
        if len(bad):
            at = int(local[0] + bad[0] + 1)
            raise ValueError(
                f"{name_of(rows, at)} of world {world[at]} follows one of world {world[at - 1]}: the entities of a world must be "
                "contiguous and worlds in order; build each between begin_world() and end_world(), or with add_world()"
            )


def check_inertia(rows: Rows) -> np.ndarray:
    """The inertias (n, 3, 3), corrected where no body can have them; says so, and warns of dynamic bodies without mass."""
    corrected = rows.columns["inertia"].array.copy()
    massless = []
    for body in range(rows.count):
        mass = rows.columns["mass"].array[body]
        if mass <= 0.0:
            if rows.columns["flags"].array[body] & BodyFlags.DYNAMIC:
                massless.append(body)
            continue
        corrected[body], message = validate_inertia(mass, corrected[body], name_of(rows, body))
        if message:
            warnings.warn(message, stacklevel=5)
    if massless:
        warnings.warn(
            f"{len(massless)} dynamic bodies have no mass and will not move (the first is {name_of(rows, massless[0])}); give them a "
            "mass or a shape with a density, or pass is_kinematic=True",
            stacklevel=5,
        )
    return corrected


def check_coloring(what: str, groups: list[Any], count: int) -> np.ndarray:
    """The colour of every one of ``count`` particles or bodies, each of which must be in exactly one group."""
    colors, times = np.full(count, -1, np.int32), np.zeros(count, np.int32)
    for color, group in enumerate(groups):
        group = np.asarray(group).reshape(-1)
        outside = group[(group < 0) | (group >= count)]
        if len(outside):
            raise ValueError(f"{what} colour group {color} names {what} {outside[0]}; there are {count}")
        times += np.bincount(group, minlength=count).astype(np.int32)
        colors[group] = color
    repeated = np.flatnonzero(times > 1)
    if len(repeated):
        raise ValueError(f"{what} {repeated[0]} is in more than one colour group; call ModelBuilder.color()")
    missing = np.flatnonzero(colors < 0)
    if len(missing):
        raise ValueError(
            f"{len(missing)} of {count} entries of {what} have no colour (the first is {missing[0]}); call ModelBuilder.color() after "
            "the last one is added"
        )
    return colors

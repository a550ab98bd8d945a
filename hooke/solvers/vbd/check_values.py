"""Checks of the values of bodies, joints and shapes that SolverVBD works on.

A builder checks what it is given. What is written into a model afterwards, or comes from another package, is looked at here, when a solver
is made and with a notice of changes; values that change between are not, and :attr:`SolverVBD.status` says what came of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.model.tables import BODY, JOINT, JOINT_DOF, SHAPE

__all__ = ["check_values"]

_FINITE = {"body": ("mass", "inv_mass", "inertia", "inv_inertia", "com"), "joint": ("X_p", "X_c"), "joint_dof": (), "shape": ()}
_BOUNDS = ("limit_lower", "limit_upper")


def check_values(model: Any, tables: dict[str, Any]) -> None:
    """Refuse values below their minimum, and such as are no numbers, by the name of what they belong to.

    Args:
        model: The model.
        tables: Its tables.

    Raises:
        ValueError: There are some, or a lower limit is above the upper one.
    """
    for table in (BODY, JOINT, JOINT_DOF, SHAPE):
        if not tables[table.name].count:
            continue
        arrays = {name: array for name, array in tables[table.name].arrays.items() if isinstance(array, wp.array) and len(array)}
        for column in table.columns:
            if column.name in arrays and (column.minimum is not None or column.name in _FINITE[table.name]):
                _check_column(model, tables, table, column, arrays[column.name].numpy())
    bounds = [tables["joint_dof"].arrays[name] for name in _BOUNDS] if tables["joint_dof"].count else []
    if all(isinstance(array, wp.array) for array in bounds) and bounds:
        lower, upper = (array.numpy() for array in bounds)
        wrong = np.flatnonzero(~(lower <= upper))
        if len(wrong):
            found = [float(lower[wrong[0]]), float(upper[wrong[0]])]
            raise ValueError(
                f"SolverVBD: {_name_of(model, tables, JOINT_DOF, int(wrong[0]))}: expected joint_limit_lower <= joint_limit_upper, found "
                f"{found}"
            )


def _check_column(model: Any, tables: dict[str, Any], table: Any, column: Any, values: np.ndarray) -> None:
    flat, wanted = values.reshape(len(values), -1), "finite values"
    good = np.isfinite(flat).all(axis=1)
    if column.minimum is not None:
        good = (flat >= column.minimum).all(axis=1)
        wanted = f"values >= {column.minimum}"
    if not good.all():
        i = int(np.flatnonzero(~good)[0])
        raise ValueError(
            f"SolverVBD: {_name_of(model, tables, table, i)}: {table.prefix}{column.name} is {values[i].tolist()} {column.unit}, expected "
            f"{wanted} ({int((~good).sum())} in all)"
        )


def _name_of(model: Any, tables: dict[str, Any], table: Any, index: int) -> str:
    """A row by its label and index; a degree of freedom goes by its joint."""
    if table is not JOINT_DOF:
        return f"{table.name} {tables[table.name].arrays['label'][index]!r} (index {index})"
    starts = model.joint_qd_start.numpy()[: tables["joint"].count]
    joint = int(np.searchsorted(starts, index, side="right")) - 1
    return f"joint {tables['joint'].arrays['label'][joint]!r} (index {joint}), dof {index - starts[joint]}"

"""Checks of joints and articulations before they become a model. Every message names the joint and its bodies."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from hooke.data.table import Rows
from hooke.joints import joint_kind
from hooke.joints.layout import coordinate_starts, velocity_starts
from hooke.model.articulation import ancestors_of, articulation_ranges
from hooke.model.enums import BodyFlags

__all__ = ["check_joints", "depth_first_violation"]

_PARALLEL = 1.0e-6  # sine of an angle


def check_joints(tables: dict[str, Rows]) -> None:
    """Refuse joints and articulations that have no meaning; warn of several joints between the same bodies.

    Raises:
        ValueError: See the functions below.
    """
    if not tables["joint"].count:
        return
    _check_bodies(tables)
    _check_rows(tables)
    _check_axes(tables)
    _check_limits(tables)
    _check_articulations(tables)
    _check_worlds(tables)
    _check_mimics(tables)
    _warn_parallel(tables)


def joint_name(tables: dict[str, Rows], joint: Any) -> str:
    """How a message calls a joint, e.g. ``joint 'knee' (index 3, from body 'thigh' (index 1) to body 'shin' (index 2))``."""
    columns = tables["joint"].columns
    ends = [body_name(tables, int(columns[end].array[joint])) for end in ("parent", "child")]
    return f"joint {columns['label'][joint]!r} (index {joint}, from {ends[0]} to {ends[1]})"


def body_name(tables: dict[str, Rows], body: int) -> str:
    """How a message calls a body."""
    if body < 0:
        return "the world"
    labels = tables["body"].columns["label"]
    return f"body {labels[body]!r} (index {body})" if body < len(labels) else f"body {body}, which does not exist"


def _first(bad: np.ndarray) -> int:
    return int(np.argmax(bad))


def _check_bodies(tables: dict[str, Rows]) -> None:
    """A joint has a child, and another body or the world as its parent."""
    columns, count = tables["joint"].columns, tables["body"].count
    parent, child = columns["parent"].array, columns["child"].array
    bad = (child < 0) | (child >= count) | (parent < -1) | (parent >= count)
    if bad.any():
        raise ValueError(
            f"{joint_name(tables, _first(bad))}: expected a parent from -1 (world) to {count - 1} and a child from 0 to {count - 1}"
        )
    if (parent == child).any():
        raise ValueError(f"{joint_name(tables, _first(parent == child))}: parent and child are the same body")


def _check_rows(tables: dict[str, Rows]) -> None:
    """Types are known, and there are as many coordinates and degrees of freedom as they say; quaternions are not zero."""
    columns = tables["joint"].columns
    types, dims = columns["type"].array, columns["dof_dim"].array
    for joint, (code, dim) in enumerate(zip(types.tolist(), dims.tolist(), strict=True)):
        kind = joint_kind(code)
        if (kind.dof_dim or (min(dim[0], 3), min(dim[1], 3))) != tuple(dim) or min(dim) < 0:
            raise ValueError(f"{joint_name(tables, joint)}: joint_dof_dim is {tuple(dim)}, which a {kind.name} joint does not have")
    starts = {"joint_coord": coordinate_starts(types, dims), "joint_dof": velocity_starts(types, dims)}
    for name, start in starts.items():
        if tables[name].count != start[-1]:
            raise ValueError(
                f"the types and axes of the joints need {start[-1]} rows of {name.replace('_', ' ')}, found {tables[name].count}; "
                "add joints by the methods of the builder"
            )
    q = tables["joint_coord"].columns["q"].array
    for joint in np.flatnonzero([joint_kind(code).quaternion for code in types]).tolist():
        last = starts["joint_coord"][joint + 1]
        if np.linalg.norm(q[last - 4 : last]) < 1.0e-6:
            raise ValueError(f"{joint_name(tables, joint)}: the quaternion in joint_q is zero; expected x y z w of length 1")


def _check_axes(tables: dict[str, Rows]) -> None:
    """Axes are not zero, linear ones independent, and no angular one parallel to the one before it."""
    columns = tables["joint"].columns
    types, dims = columns["type"].array, columns["dof_dim"].array
    starts = velocity_starts(types, dims)
    axis = tables["joint_dof"].columns["axis"].array
    size = np.linalg.norm(axis, axis=1)
    if (size < 1.0e-6).any():
        dof = _first(size < 1.0e-6)
        joint = int(np.searchsorted(starts, dof, side="right")) - 1
        raise ValueError(
            f"{joint_name(tables, joint)}: axis {dof - starts[joint]} is {axis[dof].tolist()}; expected one that is not zero"
        )
    unit = axis / size[:, None] if len(size) else axis
    for joint in np.flatnonzero(dims.max(axis=1) > 1).tolist():
        if joint_kind(types[joint]).dof_dim is not None:
            continue
        linear = unit[starts[joint] : starts[joint] + dims[joint, 0]]
        angular = unit[starts[joint] + dims[joint, 0] : starts[joint + 1]]
        if len(linear) > 1 and np.linalg.svd(linear, compute_uv=False)[-1] < _PARALLEL:
            raise ValueError(f"{joint_name(tables, joint)}: its linear axes {linear.tolist()} are not independent")
        for a, b in pairwise(angular):
            if np.linalg.norm(np.cross(a, b)) < _PARALLEL:
                raise ValueError(
                    f"{joint_name(tables, joint)}: its angular axes {a.tolist()} and {b.tolist()} follow each other and are parallel"
                )


def _check_limits(tables: dict[str, Rows]) -> None:
    """The lower limit is not above the upper."""
    dofs, columns = tables["joint_dof"].columns, tables["joint"].columns
    bad = dofs["limit_lower"].array > dofs["limit_upper"].array
    if bad.any():
        dof = _first(bad)
        joint = int(np.searchsorted(velocity_starts(columns["type"].array, columns["dof_dim"].array), dof, side="right")) - 1
        raise ValueError(
            f"{joint_name(tables, joint)}: limit_lower {dofs['limit_lower'].array[dof]} is above limit_upper "
            f"{dofs['limit_upper'].array[dof]}"
        )


def _check_articulations(tables: dict[str, Rows]) -> None:
    """An articulation is contiguous and a tree; a joint outside of all starts at the world or closes a loop."""
    columns, labels = tables["joint"].columns, tables["articulation"].columns["label"]
    owner, parent, child = columns["articulation"].array, columns["parent"].array, columns["child"].array
    inside = np.flatnonzero(owner >= 0)
    start, end = articulation_ranges(owner, len(labels))
    size = np.bincount(owner[inside], minlength=len(labels))
    torn = np.flatnonzero(end - start[:-1] != size)
    if len(torn):
        articulation = int(torn[0])
        gap = int(start[articulation]) + _first(owner[start[articulation] : end[articulation]] != articulation)
        raise ValueError(
            f"articulation {labels[articulation]!r} (index {articulation}): its joints must follow each other, but "
            f"{joint_name(tables, gap)} lies between them and is not one of them"
        )
    order = np.argsort(child[inside], kind="stable")
    again = np.flatnonzero(np.diff(child[inside][order]) == 0)
    if len(again):
        first, second = inside[order[again[0]]], inside[order[again[0] + 1]]
        raise ValueError(
            f"{body_name(tables, int(child[first]))} has two parents: {joint_name(tables, first)} and "
            f"{joint_name(tables, second)} are both in articulations; leave the one that closes the loop out of add_articulation"
        )
    held = np.zeros(tables["body"].count, bool)
    held[child[inside]] = held[parent[inside][parent[inside] >= 0]] = True
    orphan = (owner < 0) & (parent >= 0) & ~held[child]
    if orphan.any():
        raise ValueError(
            f"{joint_name(tables, _first(orphan))} belongs to no articulation and closes no loop; pass it to add_articulation "
            f"({int(orphan.sum())} joints are without)"
        )
    _, cyclic = ancestors_of(owner, parent, child, tables["body"].count)
    if len(cyclic):
        raise ValueError(f"{joint_name(tables, cyclic[0])} is its own ancestor; an articulation must be a tree")
    flags = tables["body"].columns["flags"].array
    driven = (owner >= 0) & (parent >= 0) & ((flags[child] & int(BodyFlags.KINEMATIC)) != 0)
    if driven.any():
        raise ValueError(
            f"{joint_name(tables, _first(driven))}: the child is kinematic; only the root of an articulation, whose parent is the world, "
            "can be"
        )


def _check_worlds(tables: dict[str, Rows]) -> None:
    """A joint connects bodies of its own world; its parent may be a kinematic body that all share."""
    columns, bodies = tables["joint"].columns, tables["body"].columns
    world, child, parent = columns["world"].array, columns["child"].array, columns["parent"].array
    of_body = np.append(bodies["world"].array, 0)
    shared = np.append((bodies["flags"].array & int(BodyFlags.KINEMATIC)) != 0, True) & (of_body < 0)
    bad = (of_body[child] != world) | ((parent >= 0) & (of_body[parent] != world) & ~shared[parent])
    if bad.any():
        joint = _first(bad)
        ends = [f"{body_name(tables, int(b))} is in world {of_body[b]}" for b in (parent[joint], child[joint]) if b >= 0]
        raise ValueError(
            f"joint {columns['label'][joint]!r} (index {joint}) of world {world[joint]} reaches into another: {', '.join(ends)}"
        )
    owner = columns["articulation"].array
    of_articulation = tables["articulation"].columns["world"].array
    bad = (owner >= 0) & (np.append(of_articulation, 0)[owner] != world)
    if bad.any():
        joint = _first(bad)
        label = tables["articulation"].columns["label"][owner[joint]]
        raise ValueError(
            f"{joint_name(tables, joint)} is in world {world[joint]}, its articulation {label!r} (index {owner[joint]}) in world "
            f"{of_articulation[owner[joint]]}"
        )


def _check_mimics(tables: dict[str, Rows]) -> None:
    """A joint follows another of the same world, of the same articulation if both have one, and with as many axes."""
    columns = tables["joint"].columns
    leader, axes = columns["mimic_joint"].array, columns["dof_dim"].array.sum(axis=1)
    for joint in np.flatnonzero(leader >= 0):
        other = leader[joint]
        same = [columns[name].array[joint] == columns[name].array[other] for name in ("world", "articulation")]
        apart = not same[1] and min(columns["articulation"].array[[joint, other]]) >= 0
        if not same[0] or apart or axes[joint] != axes[other] or leader[other] >= 0:
            raise ValueError(
                f"{joint_name(tables, joint)} follows {joint_name(tables, other)}: expected a joint that follows none, of the same "
                "world and articulation and with as many axes"
            )
    rows = tables["constraint_mimic"].columns
    for k in range(tables["constraint_mimic"].count):
        a, b = int(rows["joint0"].array[k]), int(rows["joint1"].array[k])
        if min(a, b) < 0 or axes[a] != axes[b]:
            raise ValueError(
                f"constraint mimic {rows['label'][k]!r} (index {k}): expected two joints with as many axes each, "
                f"found joint0 {a} and joint1 {b}"
            )


def _warn_parallel(tables: dict[str, Rows]) -> None:
    columns = tables["joint"].columns
    ends = np.sort(np.stack([columns["parent"].array, columns["child"].array], axis=1), axis=1)
    order = np.lexsort(ends.T)
    again = np.flatnonzero((np.diff(ends[order], axis=0) == 0).all(axis=1))
    if len(again):
        first, second = order[again[0]], order[again[0] + 1]
        warnings.warn(
            f"{len(again)} joints connect two bodies that another connects already (the first is {joint_name(tables, second)}, "
            f"beside joint {columns['label'][first]!r}); a body of add_body has a free joint: use add_link for one that is held",
            stacklevel=5,
        )


def depth_first_violation(tables: dict[str, Any]) -> str:
    """What :meth:`ModelBuilder.validate_joint_ordering` warns of, or nothing."""
    columns = tables["joint"].columns
    owner, parent, child = columns["articulation"].array, columns["parent"].array, columns["child"].array
    path: list[int] = []
    for joint in range(len(owner)):
        if joint == 0 or owner[joint] != owner[joint - 1]:
            path = []
        if owner[joint] < 0:
            continue
        while path and path[-1] != parent[joint]:
            path.pop()
        if not path and parent[joint] >= 0 and (owner[child == parent[joint]] == owner[joint]).any():
            return f"{joint_name(tables, joint)} does not follow the joints of its branch depth first"
        path.append(int(child[joint]))
    return ""

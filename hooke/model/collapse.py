"""Merging of bodies that fixed joints connect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hooke.data.table import ColumnList
from hooke.geometry.inertia import MassProperties
from hooke.joints.layout import constraint_counts
from hooke.model.motion import RigidMotion, compose, inverse_pose

__all__ = ["collapse_fixed_joints"]


def collapse_fixed_joints(builder: Any, verbose: bool, joints_to_keep: Sequence[str | int] | None) -> dict[str, Any]:
    """See :meth:`~hooke.model.build_joints.JointMethods.collapse_fixed_joints`."""
    joints, bodies = builder._tables["joint"].columns, builder._tables["body"].columns
    gone = _collapsible(builder, joints_to_keep)
    merged: dict[int, tuple[int, np.ndarray]] = {}
    for joint in np.flatnonzero(gone):
        pose = compose(joints["X_p"].array[joint], inverse_pose(joints["X_c"].array[joint]))
        merged[int(joints["child"].array[joint])] = int(joints["parent"].array[joint]), pose
    for body in merged:
        merged[body] = _root(merged, body)
    labels = list(bodies["label"])
    data = {
        labels[body]: {"relative_xform": pose, "parent_body": labels[root] if root >= 0 else "world"}
        for body, (root, pose) in merged.items()
    }
    for body, (root, pose) in merged.items():
        _move(builder, body, root, pose)
        if verbose:
            print(f"body {labels[body]!r} (index {body}) became part of {labels[root] if root >= 0 else 'the world'!r}")
    remaps = _remove(builder, gone, merged)
    return {
        "body_remap": {-1: -1, **remaps["body"]},
        "joint_remap": remaps["joint"],
        "articulation_remap": remaps["articulation"],
        "body_merged_parent": {body: root for body, (root, _) in merged.items()},
        "body_merged_transform": {body: pose for body, (_, pose) in merged.items()},
        "merged_body_data": data,
    }


def _collapsible(builder: Any, joints_to_keep: Sequence[str | int] | None) -> np.ndarray:
    """Enabled joints that lock all motions, but for those to keep, whose child no other joint holds."""
    joints = builder._tables["joint"].columns
    child = joints["child"].array
    held = np.bincount(child[child >= 0], minlength=max(builder.body_count, 1))
    rigid = constraint_counts(joints["type"].array, joints["dof_dim"].array) == 6
    gone = rigid & joints["enabled"].array & (held[child] == 1)
    for key in joints_to_keep or ():
        index = key if isinstance(key, (int, np.integer)) else _find(joints["label"], key)
        if not 0 <= index < len(child):
            raise ValueError(f"collapse_fixed_joints: joints_to_keep names joint {key!r}, which does not exist")
        gone[index] = False
    return gone


def _find(labels: list[str], label: str) -> int:
    return labels.index(label) if label in labels else -1


def _root(merged: dict[int, tuple[int, np.ndarray]], body: int) -> tuple[int, np.ndarray]:
    """The body that takes ``body`` in the end, and its pose there."""
    root, pose = merged[body]
    for _ in merged:
        if root not in merged:
            return root, pose
        pose = compose(merged[root][1], pose)
        root = merged[root][0]
    raise ValueError(f"collapse_fixed_joints: fixed joints form a loop through body {body}")


def _move(builder: Any, body: int, root: int, pose: np.ndarray) -> None:
    """Give what ``body`` carries to ``root``."""
    bodies = builder._tables["body"].columns
    if root >= 0:
        own = MassProperties(bodies["mass"].array[body], bodies["com"].array[body], bodies["inertia"].array[body])
        builder._add_mass(root, own.transformed(pose))
    shapes, joints = builder._tables["shape"].columns, builder._tables["joint"].columns
    rows = shapes["body"].array == body
    shapes["transform"].array[rows] = compose(pose, shapes["transform"].array[rows])
    rows = joints["parent"].array == body
    joints["X_p"].array[rows] = compose(pose, joints["X_p"].array[rows])
    held = builder._tables["attachment_particle_body"].columns
    rows = held["body"].array == body
    held["body_point"].array[rows] = RigidMotion(pose).apply("point", held["body_point"].array[rows])


def _remove(builder: Any, gone: np.ndarray, merged: dict[int, tuple[int, np.ndarray]]) -> dict[str, dict[int, int]]:
    """Delete joints, merged bodies and empty articulations, and renumber what refers to them."""
    tables = builder._tables
    kept = {"joint": ~gone, "body": np.ones(builder.body_count, bool)}
    kept["body"][list(merged)] = False
    owner = tables["joint"].columns["articulation"].array
    had = np.bincount(owner[owner >= 0], minlength=builder.articulation_count) > 0
    has = np.bincount(owner[~gone & (owner >= 0)], minlength=builder.articulation_count) > 0
    kept["articulation"] = has | ~had
    numbers = {name: np.where(rows, np.cumsum(rows) - 1, -1) for name, rows in kept.items()}
    remaps = {name: {int(i): int(numbers[name][i]) for i in np.flatnonzero(rows)} for name, rows in kept.items()}
    for body, (root, _) in merged.items():
        numbers["body"][body] = numbers["body"][root] if root >= 0 else -1
    types, dims = tables["joint"].columns["type"].array, tables["joint"].columns["dof_dim"].array
    tables["joint_constraint"].keep(np.repeat(~gone, constraint_counts(types, dims)))
    for name, rows in kept.items():
        tables[name].keep(rows)
    for table in tables.values():
        for name, column in table.declared.items():
            values = table.columns[name]
            if column.refers in numbers and isinstance(values, ColumnList):
                known = values.array >= 0
                values.array[known] = numbers[column.refers][values.array[known]]
    builder.body_color_groups = []
    return remaps

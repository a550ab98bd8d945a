"""What SolverKamino keeps between and within steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.joints.layout import JointLayout
from hooke.solvers.kamino.closing import Followers
from hooke.solvers.kamino.data import make_types
from hooke.solvers.kamino.joint_rows import JointInputs
from hooke.solvers.kamino.mechanism import find_mimic_ends, make_mechanism
from hooke.solvers.kamino.mimic_rows import FollowedJoints
from hooke.solvers.kamino.structure import Structure

__all__ = ["Workspace", "allocate", "row_flags"]


FRICTION, EFFORT, LOWER, UPPER = 1, 2, 4, 8


def row_flags(s: Structure) -> np.ndarray:
    """Bits of the bounded rows of every degree of freedom."""
    flags = FRICTION * s.friction.astype(np.int32) + EFFORT * s.effort + LOWER * s.lower + UPPER * s.upper
    return flags.astype(np.int32)


def allocate(struct: Any, length: int, device: Any, **given: Any) -> Any:
    """An instance of a struct of arrays, all of ``length``, except those that are given."""
    instance = struct()
    for name, annotation in struct.vars.items():
        array = given.get(name)
        setattr(instance, name, wp.zeros(length, dtype=annotation.type.dtype, device=device) if array is None else array)
    return instance


class Workspace:
    """Arrays of a solver.

    Args:
        model: The model.
        tables: Its tables.
        structure: Its structure.
        eliminate: Whether joints are eliminated.
        scalar: The type of numbers.
        device: Where the arrays go.
    """

    def __init__(self, model: Any, tables: dict[str, Any], structure: Structure, eliminate: bool, scalar: Any, device: Any):
        self.device, self.scalar, self._model, self._tables = device, scalar, model, tables
        types, s = make_types(scalar), structure
        self.mechanism, self.patterns = make_mechanism(s, eliminate, device)
        nodes, blocks = (int(array.numpy()[-1]) for array in (self.patterns.node, self.patterns.block))
        self.start = allocate(types.Motion, s.body_count, device)
        self.end = allocate(types.Motion, s.body_count, device)
        self.matrix = allocate(types.Matrix, nodes, device, lower=wp.zeros(blocks, dtype=types.rows, device=device))
        own = {
            "q": wp.zeros(s.coord_count, dtype=scalar, device=device),
            "axis": wp.zeros(s.dof_count, dtype=types.vec3, device=device),
            "effort_gain": wp.zeros(s.dof_count, dtype=scalar, device=device),
            "effort_rate": wp.zeros(s.dof_count, dtype=scalar, device=device),
        }
        ends = find_mimic_ends(s)
        given = {"follower": s.mimic_follower[ends.order], "leader": s.mimic_leader[ends.order],
                 "constraint": s.mimic_constraint[ends.order], "body": ends.body.ravel(), "slot": ends.slot.ravel()}  # fmt: skip
        self.followed = FollowedJoints()
        for name, values in given.items():
            setattr(self.followed, name, wp.array(values.astype(np.int32), dtype=wp.int32, device=device))
        self.mimic_count, self.followers = len(ends.order), Followers()
        for name, annotation in types.JointRows.vars.items():
            if name.startswith("mimic"):
                each = 4 if name in ("mimic", "mimic_held") else 1
                own[name] = wp.zeros(each * self.mimic_count, dtype=annotation.type.dtype, device=device)
        self.joints = allocate(types.JointRows, s.joint_count, device, **own)
        self.inputs = JointInputs()
        self.everything = wp.full(s.world_count + 1, True, dtype=wp.bool, device=device)
        self.selected = wp.zeros(s.world_count + 1, dtype=wp.bool, device=device)
        self.middle = wp.zeros(s.body_count, dtype=wp.transform, device=device)
        self.no_force = wp.zeros(s.body_count, dtype=wp.spatial_vector, device=device)
        self.spare: dict[str, wp.array] = {}
        self.read(structure)

    def read(self, s: Structure) -> None:
        """Take over from the host what a change of the model may have changed."""
        layout = JointLayout()
        layout.q, layout.qd, layout.dim = (
            self._model.joint_q_start,
            self._model.joint_qd_start,
            self._tables["joint"].arrays["dof_dim"],
        )
        given = {name: getattr(s, name) for name in ("acts", "route", "mode", "drive", "bounded", "dynamic")}
        given["rows"] = row_flags(s)
        given["acts"] = s.acts.copy()
        given["acts"][np.concatenate([s.mimic_follower, s.mimic_leader])] = True  # rates of a joint between immovable bodies
        inputs = JointInputs()
        for name, values in given.items():
            old = getattr(self.inputs, name)
            if old is None or len(old) != len(values):
                old = wp.zeros(len(values), dtype=wp.int32, device=self.device)
            old.assign(np.asarray(values, np.int32))
            setattr(inputs, name, old)
        inputs.layout = layout
        self.inputs = inputs
        if s.dof_count:
            axis = self._tables["joint_dof"].arrays["axis"].numpy().astype(np.float64)
            axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
            self.joints.axis.assign(axis if self.scalar is wp.float64 else axis.astype(np.float32))

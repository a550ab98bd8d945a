"""The methods of ModelBuilder that add joints and articulations."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from hooke.data.table import Rows
from hooke.joints import JointKind, JointType, joint_kind
from hooke.joints.layout import constraint_counts, coordinate_counts, coordinate_starts, velocity_counts, velocity_starts
from hooke.model.articulation import articulation_ranges
from hooke.model.collapse import collapse_fixed_joints
from hooke.model.config import JointDofConfig, one_spelling
from hooke.model.custom import AttributeFrequency, table_of
from hooke.model.motion import compose, inverse_pose, named_pose

__all__ = ["JointMethods"]

_GIVEN = tuple(field.name for field in fields(JointDofConfig) if field.name not in ("axis", "target_pos", "target_vel"))
_JOINT_FREQUENCIES = ("joint", "joint_dof", "joint_coord", "joint_constraint")


class JointMethods:
    """Joints between bodies, articulations, mimics, pairs of shapes that do not collide."""

    _tables: dict[str, Rows]
    JointDofConfig = JointDofConfig

    # ---- any joint

    def add_joint(
        self, joint_type: int, parent: int, child: int, *, linear_axes: Sequence[JointDofConfig] | None = None,
        angular_axes: Sequence[JointDofConfig] | None = None, label: str | None = None, parent_xform: Any = None,
        child_xform: Any = None, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint of any type.

        Args:
            joint_type: JointType.
            parent: Parent body; -1 is the world.
            child: Child body.
            linear_axes: Linear axes in the parent anchor frame: JointDofConfig, Axis, name or vector each.
            angular_axes: Angular axes in the parent anchor frame.
            label: Name; None is ``joint_{i}``, counted from 1.
            parent_xform: Anchor in the parent body frame (in the world for ``parent`` -1); None is the identity.
            child_xform: Anchor in the child body frame; None is the identity.
            collision_filter_parent: Shapes of the two bodies do not collide; None is True, but False for a joint to the world that is
                not fixed.
            enabled: Whether the joint acts.
            custom_attributes: Values by key, of frequency JOINT, JOINT_DOF, JOINT_COORD or JOINT_CONSTRAINT; for the last three one
                value, a list with one for each, or a dictionary by index.

        Returns:
            Index of the joint.

        Raises:
            ValueError: A body does not exist, parent and child are the same, or the axes are not those of the type.
        """
        label = label or f"joint_{self.joint_count + 1}"
        kind = self._checked_kind(joint_type, parent, child, label)
        axes = [_as_dof(axis) for axis in (*(linear_axes or ()), *(angular_axes or ()))]
        dim = kind.dof_dim or (len(linear_axes or ()), len(angular_axes or ()))
        if not axes:
            axes = [JointDofConfig.create_unlimited(k) for count in dim for k in range(count)]
        elif dim != (len(linear_axes or ()), len(angular_axes or ())) or max(dim) > 3:
            most = "at most three of each" if kind.dof_dim is None else f"{dim[0]} linear and {dim[1]} angular"
            raise ValueError(
                f"joint {label!r} ({kind.name}): expected axes, {most}, found {len(linear_axes or ())} linear and "
                f"{len(angular_axes or ())} angular"
            )
        if collision_filter_parent is None:
            collision_filter_parent = parent >= 0 or (kind.constraints and kind.locked == (1,) * 6)
        anchors = (
            named_pose(parent_xform, f"joint {label!r}: parent_xform"),
            named_pose(child_xform, f"joint {label!r}: child_xform"),
        )
        joint = self._tables["joint"].append(
            type=int(kind.code), parent=parent, child=child, X_p=anchors[0], X_c=anchors[1], dof_dim=dim, enabled=enabled,
            collision_filter_parent=collision_filter_parent, world=self.current_world, label=label,
        )  # fmt: skip
        self._append_coordinates(kind, dim, axes, parent, child, anchors)
        self._author_joint(custom_attributes, joint)
        return joint

    def _checked_kind(self, joint_type: int, parent: int, child: int, label: str) -> JointKind:
        count = self.body_count
        if not -1 <= parent < count:
            raise ValueError(f"joint {label!r}: expected a parent body from -1 (world) to {count - 1}, found {parent}")
        if not 0 <= child < count:
            raise ValueError(f"joint {label!r}: expected a child body from 0 to {count - 1}, found {child}; add it first")
        if parent == child:
            raise ValueError(f"joint {label!r}: parent and child are both body {self.body_label[child]!r} (index {child})")
        try:
            return joint_kind(joint_type)
        except ValueError as error:
            raise ValueError(f"joint {label!r}: {error}") from None

    def _append_coordinates(
        self, kind: JointKind, dim: tuple[int, int], axes: list[JointDofConfig], parent: int, child: int, anchors: Any
    ) -> None:
        velocities = sum(dim)
        coordinates = velocities + kind.quaternion
        if kind.quaternion:  # the targets and the rest of scalar axes are those of their configurations
            rest = np.zeros(coordinates)
            rest[-1] = 1.0
            q = self._relative_pose(parent, child, *anchors) if coordinates == 7 else rest
            target = q if kind.constraints else rest
            rest = rest if kind.constraints else np.concatenate([np.zeros(3), q[3:]])
            self._tables["joint_coord"].extend(coordinates, q=q, target_q=target, rest_q=rest)
        else:
            target, rest = np.array([float(axis.target_q) for axis in axes]), np.array([axis.rest_q or 0.0 for axis in axes])
            self._tables["joint_coord"].extend(coordinates, target_q=target, rest_q=rest)
        rows = [axis.row() for axis in axes]
        values = {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}
        self._tables["joint_dof"].extend(velocities, **values)
        self._tables["joint_constraint"].extend(6 - velocities if kind.constraints else 0)

    def _relative_pose(self, parent: int, child: int, parent_xform: np.ndarray, child_xform: np.ndarray) -> np.ndarray:
        """Pose of the child anchor in the parent anchor frame, where the bodies are authored."""
        poses = self.body_q.array
        base = parent_xform if parent < 0 else compose(poses[parent], parent_xform)
        return compose(inverse_pose(base), compose(poses[child], child_xform))

    def _author_joint(self, values: dict[str, Any] | None, joint: int) -> None:
        """Write custom attributes of a new joint, its coordinates, degrees of freedom and constraints, the last rows of their tables."""
        for key, value in (values or {}).items():
            table = table_of(self._custom_attribute(key).frequency)
            if table not in _JOINT_FREQUENCIES:
                raise ValueError(f"custom attribute {key!r} has frequency {table!r}, which a joint does not have")
            types, dims = self.joint_type.array[joint:], self.joint_dof_dim.array[joint:]
            counts = {
                "joint": 1, "joint_dof": velocity_counts(types, dims)[0], "joint_coord": coordinate_counts(types, dims)[0],
                "joint_constraint": constraint_counts(types, dims)[0],
            }  # fmt: skip
            count = int(counts[table])
            first = self._tables[table].count - count
            if isinstance(value, dict):
                for index, entry in value.items():
                    if not 0 <= index < count:
                        raise ValueError(f"custom attribute {key!r}: the joint has {count} entries, found index {index}")
                    self._author(table, {key: entry}, first + index)
            else:
                self._author(table, {key: value}, first, count)

    def _dof(self, axis: Any, given: dict[str, Any]) -> JointDofConfig:
        """The configuration that the arguments of an adder mean: what they leave out is that of ``default_joint_cfg``."""
        if isinstance(axis, JointDofConfig):
            return axis
        default = self.default_joint_cfg
        values = {name: getattr(default, name) for name in _GIVEN}
        values |= {name: given[name] for name in _GIVEN if given.get(name) is not None}
        for name, alias in (("target_q", "target_pos"), ("target_qd", "target_vel")):
            values[name] = one_spelling(name, given.get(name), alias, given.get(alias), getattr(default, name))
        return JointDofConfig(axis=default.axis if axis is None else axis, **values)

    # ---- by kind

    def add_joint_free(
        self, child: int, *, parent_xform: Any = None, child_xform: Any = None, parent: int = -1, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint that leaves a body free; its coordinates are the pose of its anchor. Arguments as :meth:`add_joint`."""
        return self.add_joint(JointType.FREE, parent, child, **_common(locals()))

    def add_joint_fixed(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint whose anchors coincide. Arguments as :meth:`add_joint`."""
        return self.add_joint(JointType.FIXED, parent, child, **_common(locals()))

    def add_joint_revolute(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, axis: Any = None,
        target_q: float | None = None, target_qd: float | None = None, target_ke: float | None = None,
        target_kd: float | None = None, damping: float | None = None, stiffness: float | None = None, rest_q: float | None = None,
        limit_lower: float | None = None, limit_upper: float | None = None, limit_ke: float | None = None,
        limit_kd: float | None = None, armature: float | None = None, effort_limit: float | None = None,
        velocity_limit: float | None = None, friction: float | None = None, actuator_mode: Any = None,
        target_pos: float | None = None, target_vel: float | None = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a hinge about ``axis``.

        Args:
            parent: As :meth:`add_joint`.
            child: As :meth:`add_joint`.
            parent_xform: As :meth:`add_joint`.
            child_xform: As :meth:`add_joint`.
            axis: Axis in the parent anchor frame; a JointDofConfig is taken as it is, and the arguments below are not read. Like
                each of them None takes the value of ``default_joint_cfg``.
            target_q: As :class:`JointDofConfig`, like all up to ``target_vel``.
            target_qd: See above.
            target_ke: See above.
            target_kd: See above.
            damping: See above.
            stiffness: See above.
            rest_q: See above.
            limit_lower: See above.
            limit_upper: See above.
            limit_ke: See above.
            limit_kd: See above.
            armature: See above.
            effort_limit: See above.
            velocity_limit: See above.
            friction: See above.
            actuator_mode: See above.
            target_pos: Other name of ``target_q``.
            target_vel: Other name of ``target_qd``.
            label: As :meth:`add_joint`.
            collision_filter_parent: As :meth:`add_joint`.
            enabled: As :meth:`add_joint`.
            custom_attributes: As :meth:`add_joint`.

        Returns:
            Index of the joint.
        """
        given = locals()
        return self.add_joint(JointType.REVOLUTE, parent, child, angular_axes=[self._dof(axis, given)], **_common(given))

    def add_joint_prismatic(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, axis: Any = 0,
        target_q: float | None = None, target_qd: float | None = None, target_ke: float | None = None,
        target_kd: float | None = None, damping: float | None = None, stiffness: float | None = None, rest_q: float | None = None,
        limit_lower: float | None = None, limit_upper: float | None = None, limit_ke: float | None = None,
        limit_kd: float | None = None, armature: float | None = None, effort_limit: float | None = None,
        velocity_limit: float | None = None, friction: float | None = None, actuator_mode: Any = None,
        target_pos: float | None = None, target_vel: float | None = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a slider along ``axis`` (X). Arguments as :meth:`add_joint_revolute`."""
        given = locals()
        return self.add_joint(JointType.PRISMATIC, parent, child, linear_axes=[self._dof(axis, given)], **_common(given))

    def add_joint_ball(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, armature: float | None = None,
        friction: float | None = None, damping: float | None = None, stiffness: float | None = None, actuator_mode: Any = None,
        label: str | None = None, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a ball joint, with the same armature, friction, damping and stiffness about all axes.

        ``actuator_mode`` None is NONE; other arguments as :meth:`add_joint_revolute`. The rest orientation of the stiffness is the
        identity; write ``builder.joint_rest_q`` for another.
        """
        given = locals()
        cfg = self._dof(0, given)
        mode = 0 if actuator_mode is None else actuator_mode
        axes = [
            JointDofConfig(
                axis=k,
                armature=cfg.armature,
                friction=cfg.friction,
                damping=cfg.damping,
                stiffness=cfg.stiffness,
                actuator_mode=mode,
            )
            for k in range(3)
        ]
        return self.add_joint(JointType.BALL, parent, child, angular_axes=axes, **_common(given))

    def add_joint_d6(
        self, parent: int, child: int, *, linear_axes: Sequence[Any] | None = None, angular_axes: Sequence[Any] | None = None,
        label: str | None = None, parent_xform: Any = None, child_xform: Any = None, collision_filter_parent: bool | None = None,
        enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint with any linear and angular axes, up to three of each. Arguments as :meth:`add_joint`.

        Coordinates are first those of the linear, then those of the angular axes; rotations follow each other in the listed order.
        """
        return self.add_joint(JointType.D6, parent, child, linear_axes=linear_axes, angular_axes=angular_axes, **_common(locals()))

    def add_joint_distance(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, min_distance: float = -1.0,
        max_distance: float = 1.0, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None, label: str | None = None,
    ) -> int:  # fmt: skip
        """Add a joint that keeps the distance of its anchors from ``min_distance`` to ``max_distance`` [m]; negative is no limit.

        The limits are stored as those of the first degree of freedom. Other arguments as :meth:`add_joint`.
        """
        first = JointDofConfig(
            axis=0,
            limit_lower=-np.inf if min_distance < 0.0 else min_distance,
            limit_upper=np.inf if max_distance < 0.0 else max_distance,
        )
        linear = [first, JointDofConfig.create_unlimited(1), JointDofConfig.create_unlimited(2)]
        angular = [JointDofConfig.create_unlimited(k) for k in range(3)]
        return self.add_joint(JointType.DISTANCE, parent, child, linear_axes=linear, angular_axes=angular, **_common(locals()))

    # ---- articulations, mimics, filters

    def add_articulation(
        self, joints: Sequence[int], label: str | None = None, custom_attributes: dict[str, Any] | None = None
    ) -> int:
        """Group joints into a tree; a joint that closes a loop belongs to none.

        Args:
            joints: Joints that follow each other without gaps.
            label: Name; None is ``articulation_{i}``.
            custom_attributes: Values by key.

        Returns:
            Index of the articulation.

        Raises:
            ValueError: There is no joint, one does not exist or is in an articulation already, or there is a gap.
        """
        joints = list(joints)
        if not joints:
            raise ValueError("add_articulation: expected at least one joint")
        if joints != list(range(joints[0], joints[0] + len(joints))) or not 0 <= joints[0] <= joints[-1] < self.joint_count:
            raise ValueError(f"add_articulation: expected existing joints in increasing order without gaps, found {joints}")
        owner = self._tables["joint"].columns["articulation"].array[joints]
        if (owner >= 0).any():
            taken = joints[int(np.argmax(owner >= 0))]
            raise ValueError(f"add_articulation: joint {self.joint_label[taken]!r} (index {taken}) is in an articulation already")
        index = self._tables["articulation"].append(
            world=self.current_world, label=label or f"articulation_{self.articulation_count}"
        )
        self._tables["joint"].columns["articulation"].array[joints] = index
        self._author("articulation", custom_attributes, index)
        return index

    def set_joint_mimic(self, joint: int, reference_joint: int | None, *, coeffs: Any = (0.0, 1.0)) -> None:
        """Let a joint follow another with as many axes: q = c0 + c1 q_reference, qd = c1 qd_reference, component by component.

        Args:
            joint: Joint that follows.
            reference_joint: Joint that is followed; None makes ``joint`` independent.
            coeffs: (c0 [m or rad], c1).

        Raises:
            ValueError: A joint does not exist or has no scalar coordinates, the dimensions differ, the coefficients are not finite,
                or one of them follows or is followed already.
        """
        column, pairs = self.joint_mimic_joint.array, self.joint_mimic_coeffs.array
        if reference_joint is None:
            column[self._scalar_joint("set_joint_mimic", joint)] = -1
            pairs[joint] = (0.0, 1.0)
            return
        follower = self._scalar_joint("set_joint_mimic", joint)
        reference = self._scalar_joint("set_joint_mimic", reference_joint)
        values = np.asarray(coeffs, np.float64).reshape(-1)
        if values.shape != (2,) or not np.isfinite(values).all():
            raise ValueError(f"set_joint_mimic: expected two finite coefficients, found {coeffs}")
        names = (
            f"joint {self.joint_label[follower]!r} (index {follower}) and joint {self.joint_label[reference]!r} (index {reference})"
        )
        if follower == reference or sum(self.joint_dof_dim[follower]) != sum(self.joint_dof_dim[reference]):
            raise ValueError(f"set_joint_mimic: expected two joints with as many axes, found {names}")
        if column[reference] >= 0 or (column == follower).any():
            raise ValueError(f"set_joint_mimic: mimics do not chain; expected a reference that is independent, found {names}")
        column[follower], pairs[follower] = reference, values

    def _scalar_joint(self, method: str, joint: int) -> int:
        if not 0 <= joint < self.joint_count:
            raise ValueError(f"{method}: expected a joint from 0 to {self.joint_count - 1}, found {joint}")
        kind = joint_kind(self.joint_type[joint])
        if kind.quaternion or not kind.constraints or sum(self.joint_dof_dim[joint]) == 0:
            raise ValueError(
                f"{method}: joint {self.joint_label[joint]!r} (index {joint}) is {kind.name}; expected a prismatic, revolute or D6 joint"
            )
        return joint

    def add_constraint_mimic(
        self, joint0: int, joint1: int, coef0: float = 0.0, coef1: float = 1.0, enabled: bool = True, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add the constraint q[joint0] = coef0 + coef1 q[joint1] (:meth:`set_joint_mimic` is the newer form).

        Args:
            joint0: Joint that follows.
            joint1: Joint that is followed.
            coef0: Offset [m or rad].
            coef1: Factor.
            enabled: Whether the constraint acts.
            label: Name; None is ``constraint_mimic_{i}``.
            custom_attributes: Values by key.

        Returns:
            Index of the constraint.
        """
        for joint in (joint0, joint1):
            self._scalar_joint("add_constraint_mimic", joint)
        if joint0 == joint1:
            raise ValueError(f"add_constraint_mimic: joint {self.joint_label[joint0]!r} (index {joint0}) cannot follow itself")
        index = self._tables["constraint_mimic"].append(
            joint0=joint0, joint1=joint1, coef0=coef0, coef1=coef1, enabled=enabled, world=self.current_world,
            label=label or f"constraint_mimic_{self.constraint_mimic_count}",
        )  # fmt: skip
        self._author("constraint_mimic", custom_attributes, index)
        return index

    def add_shape_collision_filter_pair(self, shape_a: int, shape_b: int) -> None:
        """Let two shapes never collide.

        Raises:
            ValueError: A shape does not exist, or both are the same.
        """
        a, b = sorted((int(shape_a), int(shape_b)))
        if not 0 <= a < b < self.shape_count:
            raise ValueError(
                f"add_shape_collision_filter_pair: expected two different shapes from 0 to {self.shape_count - 1}, found {shape_a} "
                f"and {shape_b}"
            )
        self._tables["shape_filter"].append(collision_filter_pairs_array=(a, b))

    def validate_joint_ordering(self) -> bool:
        """Whether in every articulation a joint follows the one that moves its parent body, depth first; warns if not.

        Kinematics here do not need it: they go from parent to child in any order.
        """
        from hooke.model.check_joints import depth_first_violation

        message = depth_first_violation(self._tables)
        if message:
            warnings.warn(message, stacklevel=2)
        return not message

    def collapse_fixed_joints(self, verbose: bool = False, joints_to_keep: Sequence[str | int] | None = None) -> dict[str, Any]:
        """Merge bodies that fixed joints connect, and remove those joints.

        The child's mass, shapes, joints and held particles go to the parent body, to the world if that is the parent.

        Args:
            verbose: Print what was merged.
            joints_to_keep: Labels or indices of fixed joints to leave.

        Returns:
            ``body_remap``, ``joint_remap`` and ``articulation_remap`` from old to new indices of what is left (body -1 is itself),
            ``body_merged_parent`` and ``body_merged_transform`` from old indices of merged bodies to the old index of the body that
            took them and to their pose in it, and ``merged_body_data`` with both by label.
        """
        return collapse_fixed_joints(self, verbose, joints_to_keep)

    @property
    def joint_q_start(self) -> list[int]:
        """First coordinate of every joint."""
        return coordinate_starts(self.joint_type.array, self.joint_dof_dim.array)[:-1].tolist()

    @property
    def joint_qd_start(self) -> list[int]:
        """First degree of freedom of every joint."""
        return velocity_starts(self.joint_type.array, self.joint_dof_dim.array)[:-1].tolist()

    @property
    def articulation_start(self) -> list[int]:
        """First joint of every articulation."""
        return articulation_ranges(self.joint_articulation.array, self.articulation_count)[0][:-1].tolist()


def _as_dof(axis: Any) -> JointDofConfig:
    return axis if isinstance(axis, JointDofConfig) else JointDofConfig(axis=axis)


def _common(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that every adder passes on."""
    names = ("parent_xform", "child_xform", "label", "collision_filter_parent", "enabled", "custom_attributes")
    return {name: given[name] for name in names}

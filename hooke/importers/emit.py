"""Writes a description to a builder: all of it, or nothing if something is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hooke.importers.description import Body, Description, Joint, Options, Shape, identity
from hooke.importers.error import FileError
from hooke.importers.mesh_file import rotation_between
from hooke.importers.tree import Tree, spanning_trees
from hooke.joints.kind import JointType
from hooke.model.enums import Axis, BodyFlags
from hooke.model.motion import compose, inverse_pose, named_pose, quat_rotate

__all__ = ["emit"]


def emit(builder: Any, description: Description, options: Options) -> dict[str, Any]:
    """Add a description to a builder. Everything is first made in a builder of its own, so that an error leaves this one as it was.

    Args:
        builder: The ModelBuilder.
        description: What to add.
        options: Where and how.

    Returns:
        Indices in the builder by name (``bodies``, ``joints``, ``shapes``; bodies that were merged have the index of what took them)
        and ``collapse``, the result of :meth:`ModelBuilder.collapse_fixed_joints` in indices of the description, or None.

    Raises:
        FileError: The description is invalid; the message names the element.
        ValueError: An option is.
    """
    _check_options(builder, options)
    _set_roots(description, options)
    odd = description.check()
    scratch = type(builder)(up_axis=builder.up_axis, gravity=builder.gravity)
    scratch.default_shape_cfg, scratch.default_joint_cfg = builder.default_shape_cfg, builder.default_joint_cfg
    scratch.rigid_gap = builder.rigid_gap
    scratch._take_attributes(builder)
    try:
        result = _Emitter(scratch, description, options).run()
    except FileError:
        raise
    except (ValueError, TypeError) as error:
        raise FileError(description.path, str(error)) from error
    for message in odd:
        warnings.warn(f"{description.path}: {message}", stacklevel=4)
    return _merge(builder, scratch, description, options, result)


def _check_options(builder: Any, options: Options) -> None:
    if options.floating is not None and options.base_joint is not None:
        raise ValueError("floating and base_joint exclude each other: give one of them")
    if not -1 <= options.parent_body < builder.body_count:
        raise ValueError(f"parent_body: expected -1 (world) to {builder.body_count - 1}, found {options.parent_body}")
    if options.parent_body >= 0 and options.floating:
        raise ValueError("floating=True frees the root from parent_body: give one of them")
    if options.override_root_xform and options.xform is None:
        raise ValueError("override_root_xform=True needs xform: the pose that the root is to have")


def _set_roots(description: Description, options: Options) -> None:
    """Leave out the joints of the file that hold or free roots where the caller says how roots are held."""
    given = options.floating is not None or options.base_joint is not None
    given_here = {JointType.FREE, JointType.FIXED} if given else {JointType.FREE} if options.parent_body >= 0 else set()
    description.joints = [j for j in description.joints if j.parent >= 0 or j.loop or j.kind not in given_here]


class _Emitter:
    """The stages of writing to an empty builder."""

    def __init__(self, scratch: Any, description: Description, options: Options):
        self.to, self.what, self.options = scratch, description, options
        self.bodies: dict[int, int] = {-1: -1}
        self.joints: dict[int, int] = {}
        self.shapes: dict[int, int] = {}
        self.roots: list[int] = []
        self.frame = identity()

    def run(self) -> dict[str, Any]:
        trees, loops = spanning_trees(self.what, self.options.joint_ordering)
        self.frame = self._placement(trees)
        order = [body for tree in trees for body in tree.bodies] if self.options.bodies_follow_joint_ordering else []
        for index in order or range(len(self.what.bodies)):
            self.bodies[index] = self._add_body(self.what.bodies[index])
        for index, shape in enumerate(self.what.shapes):
            if self._wanted(shape):
                self.shapes[index] = self._add_shape(shape)
        for tree in trees:
            self._add_tree(tree)
        for index, joint in loops:
            self.joints[index] = self._add_joint(joint)
        self._hold_massless(trees)
        self._add_mimics()
        self._add_filters()
        return self._collapse(trees)

    def _placement(self, trees: list[Tree]) -> np.ndarray:
        own = named_pose(self.options.xform, "xform")
        if self.options.override_root_xform and trees:
            return compose(own, inverse_pose(self.what.bodies[trees[0].root].pose))
        axis = self.what.up_axis if self.options.up_axis is None else Axis.from_any(self.options.up_axis)
        matrix = rotation_between("xyz"[int(axis)], "xyz"[int(self.to.up_axis)])
        return compose(own, np.concatenate([np.zeros(3), _quarter_turn(matrix)]))

    def _add_body(self, body: Body) -> int:
        explicit = body.mass is not None and not self.options.ignore_inertial_definitions
        index = self.to.add_link(
            xform=compose(self.frame, body.pose), com=body.com if explicit else None, mass=(body.mass or 0.0) if explicit else 0.0,
            inertia=body.inertia if explicit else None, label=body.name, lock_inertia=explicit, is_kinematic=body.kinematic,
            custom_attributes=body.custom,
        )  # fmt: skip
        self.to.body_qd[index] = np.concatenate([quat_rotate(self.frame[3:], part) for part in np.split(body.velocity, 2)])
        return index

    def _wanted(self, shape: Shape) -> bool:
        return shape.collides or shape.site or not self.options.hide_visuals or shape.adds_mass

    def _add_shape(self, shape: Shape) -> int:
        cfg = self.to.default_shape_cfg.copy()
        for name, value in shape.settings.items():
            setattr(cfg, name, value)
        collides = shape.collides or (self.options.parse_visuals_as_colliders and not shape.site)
        if shape.site:
            cfg.mark_as_site()
        elif not collides:
            cfg.has_shape_collision = cfg.has_particle_collision = False
            cfg.collision_group = 0
        if not shape.adds_mass:
            cfg.density = 0.0
        cfg.is_visible = shape.visible and not (self.options.hide_visuals and not collides)
        if self.options.force_show_colliders and collides:
            cfg.is_visible = True
        pose = compose(self.frame, shape.pose) if shape.body < 0 else shape.pose
        return self.to.add_shape(
            body=self.bodies[shape.body], type=shape.kind, xform=pose, cfg=cfg, scale=shape.size, src=shape.source, color=shape.color,
            opacity=shape.opacity, label=shape.name, custom_attributes=shape.custom,
        )  # fmt: skip

    def _add_tree(self, tree: Tree) -> None:
        first = self.to.joint_count
        if not tree.grounded:
            self._add_base(tree.root)
        for index, joint in tree.joints:
            self.joints[index] = self._add_joint(joint)
        self.roots.append(first)
        self.to.add_articulation(range(first, self.to.joint_count), label=f"{self.what.bodies[tree.root].name}_articulation")

    def _hold_massless(self, trees: list[Tree]) -> None:
        """What has no mass and is fixed to the world is kinematic: it cannot move, and no solver needs its mass."""
        still = {-1}
        joints = [self.joints.get(index) for tree in trees for index, _ in tree.joints] + self.roots
        for joint in sorted(j for j in joints if j is not None):
            child = self.to.joint_child[joint]
            if (
                self.to.joint_type[joint] == JointType.FIXED
                and self.to.joint_parent[joint] in still
                and self.to.joint_enabled[joint]
            ):
                still.add(child)
                if self.to.body_mass[child] == 0.0:
                    self.to.body_flags[child] = int(BodyFlags.KINEMATIC)

    def _add_base(self, root: int) -> None:
        body, name = self.bodies[root], self.what.bodies[root].name
        pose = self.to.body_q[body]
        base = self.options.base_joint
        floating = self.what.roots_float if self.options.floating is None else self.options.floating
        if self.options.parent_body >= 0 and self.options.floating is None:
            floating = False
        if base is not None:
            given = {"label": f"{name}_base_joint", "parent_xform": pose, **base}
            kind = given.pop("joint_type", JointType.D6 if "linear_axes" in base or "angular_axes" in base else None)
            if kind is None:
                raise ValueError("base_joint: expected a dictionary with joint_type, or with linear_axes or angular_axes")
            self.to.add_joint(kind, -1, body, **given)
        elif floating:
            joint = self.to.add_joint_free(body, label=f"{name}_free_joint")
            start = self.to.joint_qd_start[joint]
            self.to.joint_qd[start : start + 6] = self.to.body_qd[body]
        else:
            self.to.add_joint_fixed(-1, body, parent_xform=pose, label=f"{name}_fixed_base")

    def _add_joint(self, joint: Joint) -> int:
        parent_pose = compose(self.frame, joint.parent_pose) if joint.parent < 0 else joint.parent_pose
        if joint.parent < 0 and joint.kind == JointType.FREE:
            parent_pose = identity()  # so that its coordinates are the pose of the body
        index = self.to.add_joint(
            joint.kind, self.bodies[joint.parent], self.bodies[joint.child], linear_axes=joint.linear or None,
            angular_axes=joint.angular or None, label=joint.name, parent_xform=parent_pose, child_xform=joint.child_pose,
            collision_filter_parent=joint.filter_parent, enabled=joint.enabled, custom_attributes=joint.custom,
        )  # fmt: skip
        q = joint.q if joint.q is not None else self._authored(joint, parent_pose)
        if q is not None:
            start = self.to.joint_q_start[index]
            self.to.joint_q[start : start + len(q)] = q
        if joint.kind == JointType.FREE:
            start = self.to.joint_qd_start[index]
            self.to.joint_qd[start : start + 6] = self.to.body_qd[self.bodies[joint.child]]
        return index

    def _authored(self, joint: Joint, parent_pose: np.ndarray) -> list[float] | None:
        """The coordinate at which the poses of the bodies hold a joint, where it is a number or a quaternion."""
        if joint.kind not in (JointType.REVOLUTE, JointType.PRISMATIC, JointType.BALL):
            return None
        base = parent_pose if joint.parent < 0 else compose(self.to.body_q[self.bodies[joint.parent]], parent_pose)
        pose = compose(inverse_pose(base), compose(self.to.body_q[self.bodies[joint.child]], joint.child_pose))
        if joint.kind == JointType.BALL:
            return pose[3:].tolist()
        axis = (joint.linear or joint.angular)[0].axis
        if joint.kind == JointType.PRISMATIC:
            return [float(pose[:3] @ axis)]
        angle = 2.0 * np.arctan2(pose[3:6] @ axis, pose[6])
        angle = float((angle + np.pi) % (2.0 * np.pi) - np.pi)
        return [0.0 if abs(angle) < 1.0e-7 else angle]

    def _add_mimics(self) -> None:
        names = {joint.name: index for index, joint in enumerate(self.what.joints)}
        for index, joint in enumerate(self.what.joints):
            if joint.mimic is None:
                continue
            leader, offset, factor = joint.mimic
            seen = {joint.name}
            while leader in names and self.what.joints[names[leader]].mimic is not None:  # q = c + f (c' + f' q')
                if leader in seen:
                    raise FileError(self.what.path, f"{joint.where}: it mimics itself through {leader!r}; break the cycle")
                seen.add(leader)
                further, more, times = self.what.joints[names[leader]].mimic  # type: ignore[misc]
                leader, offset, factor = further, offset + factor * more, factor * times
            if leader not in names:
                raise FileError(self.what.path, f"{joint.where}: it mimics joint {leader!r}, which does not exist")
            pair = self.joints[index], self.joints[names[leader]]
            owners = {int(self.to.joint_articulation[j]) for j in pair}
            if len(owners - {-1}) > 1:  # a joint follows others of its articulation only
                self.to.add_constraint_mimic(*pair, offset, factor, label=f"{joint.name}_mimic")
            else:
                self.to.set_joint_mimic(*pair, coeffs=(offset, factor))

    def _add_filters(self) -> None:
        for a, b in sorted(self.what.filters):
            if a in self.shapes and b in self.shapes and a != b:
                self.to.add_shape_collision_filter_pair(self.shapes[a], self.shapes[b])
        if not self.options.enable_self_collisions:
            own = [i for s, i in sorted(self.shapes.items()) if self.what.shapes[s].body >= 0 and self.what.shapes[s].collides]
            for k, a in enumerate(own):
                for b in own[k + 1 :]:
                    if self.to.shape_body[a] != self.to.shape_body[b]:
                        self.to.add_shape_collision_filter_pair(a, b)

    def _collapse(self, trees: list[Tree]) -> dict[str, Any]:
        """Merge what fixed joints connect, as far as asked; a root without mass that floats always takes what is fixed to it."""
        gone: set[int] = set()
        fixed = [j for j in range(self.to.joint_count) if self.to.joint_type[j] == JointType.FIXED]
        if self.options.collapse_fixed_joints:
            gone |= {j for j in fixed if j not in self.roots}
        for root in self.roots:
            body, floats = self.to.joint_child[root], self.to.joint_type[root] != JointType.FIXED
            if self.to.body_mass[body] > 0.0:
                continue
            if floats:
                gone |= {j for j in fixed if self.to.joint_parent[j] == body}
            elif self.options.collapse_massless_fixed_root:
                gone.add(root)
        maps: dict[str, Any] = {"bodies": self.bodies, "joints": self.joints, "roots": self.roots, "collapse": None}
        maps["shapes"] = self.shapes
        if not gone:
            return maps
        result = self.to.collapse_fixed_joints(self.options.verbose, [j for j in range(self.to.joint_count) if j not in gone])
        taken = {**result["body_remap"], **{b: result["body_remap"][r] for b, r in result["body_merged_parent"].items()}}
        maps["bodies"] = {k: taken[b] for k, b in self.bodies.items()}
        maps["joints"] = {k: result["joint_remap"][j] for k, j in self.joints.items() if j in result["joint_remap"]}
        maps["roots"] = [result["joint_remap"][j] for j in self.roots if j in result["joint_remap"]]
        maps["collapse"] = result
        return maps


def _quarter_turn(matrix: np.ndarray) -> np.ndarray:
    """Quaternion x y z w of a turn by 0 or 90 degrees about a coordinate axis."""
    axial = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    q = np.array([*axial, 1.0 + np.trace(matrix)])
    return q / np.linalg.norm(q)


def _merge(builder: Any, scratch: Any, description: Description, options: Options, maps: dict[str, Any]) -> dict[str, Any]:
    body0, joint0, shape0 = builder.body_count, builder.joint_count, builder.shape_count
    articulation0 = builder.articulation_count
    owner = -1
    if options.parent_body >= 0:
        owner = _articulation_to_extend(builder, options.parent_body)
    once = {key: value for key, value in description.custom.items() if builder.has_custom_attribute(key)}
    scratch.add_custom_values(**once)  # first where a value that does not fit does no harm
    builder.add_builder(scratch)
    builder.add_custom_values(**once)
    if options.parent_body >= 0:
        _attach(builder, options.parent_body, owner, (body0, joint0, shape0, articulation0))
    if options.take_gravity and description.gravity is not None:
        vector = quat_rotate(_gravity_frame(builder, description, options), description.gravity)
        if builder.current_world >= 0:
            builder.world_gravity[builder.current_world] = vector
        else:
            builder.gravity = vector
    moved = lambda table, offset: {k: v if v < 0 else v + offset for k, v in table.items()}
    return {
        "bodies": {description.bodies[k].name: v for k, v in moved(maps["bodies"], body0).items() if k >= 0},
        "joints": {description.joints[k].name: v for k, v in moved(maps["joints"], joint0).items()},
        "shapes": {description.shapes[k].name: v for k, v in moved(maps["shapes"], shape0).items()},
        "collapse": maps["collapse"],
    }


def _gravity_frame(builder: Any, description: Description, options: Options) -> np.ndarray:
    axis = description.up_axis if options.up_axis is None else Axis.from_any(options.up_axis)
    return _quarter_turn(rotation_between("xyz"[int(axis)], "xyz"[int(builder.up_axis)]))


def _articulation_to_extend(builder: Any, body: int) -> int:
    """The articulation of a body, which must be the last joints of the builder; -1 if it has none."""
    joints = np.flatnonzero(builder.joint_child.array == body)
    owners = builder.joint_articulation.array
    owner = int(owners[joints].max()) if len(joints) else -1
    if owner >= 0 and int(owners[-1]) != owner:
        raise ValueError(
            f"parent_body {builder.body_label[body]!r} (index {body}): its articulation {owner} is followed by other joints; add what "
            "it carries before them"
        )
    return owner


def _attach(builder: Any, parent: int, owner: int, firsts: tuple[int, int, int, int]) -> None:
    """Let what was added hang from a body instead of the world: its poses were in the frame of that body."""
    body0, joint0, shape0, articulation0 = firsts
    at = builder.body_q.array[parent].astype(np.float64)
    builder.body_q.array[body0:] = compose(at, builder.body_q.array[body0:])
    rows = builder.joint_parent.array[joint0:]
    rows[rows < 0] = parent
    builder.joint_collision_filter_parent.array[joint0:][rows == parent] = True
    rows = builder.shape_body.array[shape0:]
    rows[rows < 0] = parent
    if owner >= 0:
        rows = builder.joint_articulation.array[joint0:]
        rows[rows >= 0] = owner
        builder._tables["articulation"].keep(np.arange(articulation0))

"""ModelBuilder: collects what a model is made of, then ``finalize`` makes the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Rows, Table
from hooke.elements import ELEMENTS
from hooke.geometry.coloring import ColoringAlgorithm, color_worlds, merge_groups
from hooke.joints.layout import coordinate_starts, moves_freely, velocity_starts
from hooke.model.build_bodies import BodyMethods
from hooke.model.build_deformables import DeformableMethods
from hooke.model.build_imports import ImportMethods
from hooke.model.build_joints import JointMethods
from hooke.model.build_particles import ParticleMethods
from hooke.model.build_rods import RodMethods
from hooke.model.config import JointDofConfig, ShapeConfig
from hooke.model.custom import CustomAttribute, CustomFrequency, CustomMethods
from hooke.model.enums import Axis
from hooke.model.model import NAMES, Model
from hooke.model.motion import RigidMotion, compose, inverse_pose, quat_rotate
from hooke.model.tables import TABLES

__all__ = ["ModelBuilder"]

_COUNTS = {table.count_name: table.name for table in TABLES}
_ALIASES = {  # as the documented data model names them, or did before
    "joint_target_pos": "joint_target_q",
    "joint_target_vel": "joint_target_qd",
}


class ModelBuilder(ParticleMethods, DeformableMethods, BodyMethods, JointMethods, RodMethods, CustomMethods, ImportMethods):
    """Builds a :class:`Model`.

    Every column of the model is a list of the builder under the same name (``builder.particle_q``, ``builder.shape_margin`` ...):
    it can be read, assigned, appended to and sliced until ``finalize``.

    Args:
        up_axis: Axis against gravity.
        gravity: Acceleration along the up axis [m/s^2], or a vector (3,); None is -9.81.

    Attributes:
        default_shape_cfg: ShapeConfig of shapes that name none.
        default_joint_cfg: JointDofConfig of joints whose adders leave something out.
        default_particle_radius: Contact radius [m], 0.1.
        default_tri_ke: Shear modulus of membranes [N/m], 100.
        default_tri_ka: Area modulus of membranes [N/m], 100.
        default_tri_kd: Damping of membranes [N s/m], 10.
        default_tri_drag: Drag of triangles [kg/m^3], 0.
        default_tri_lift: Lift of triangles [kg/m^3], 0.
        default_edge_ke: Bending stiffness [N], 100.
        default_edge_kd: Bending damping [N s], 0.
        default_spring_ke: Stiffness of springs [N/m], 100.
        default_spring_kd: Damping of springs [N s/m], 0.
        default_tet_k_mu: Lame parameter of soft bodies [Pa], 1e3.
        default_tet_k_lambda: Lame parameter of soft bodies [Pa], 1e3.
        default_tet_k_damp: Damping of soft bodies [Pa s], 0.
        default_tet_density: Density of soft bodies [kg/m^3], 1.
        rigid_gap: Detection distance [m] of shapes whose configuration has none, 0.1.
        world_count: Number of worlds begun so far.
        world_gravity: Gravity vector per world [m/s^2].
        world_label: Name per world.
        current_world: World that new entities join; -1 is shared by all.
        particle_color_groups: Colouring of the particles (:meth:`color`).
        body_color_groups: Colouring of the bodies.
    """

    _reserved_names = frozenset(dir(Model)) | set(NAMES) | set(_COUNTS)
    CustomAttribute = CustomAttribute
    CustomFrequency = CustomFrequency
    ShapeConfig = ShapeConfig

    def __init__(self, up_axis: Axis | str | int = Axis.Z, gravity: Any = None):
        own = [Table(name, f"{name}_", ()) for name in ("once", "world")]
        self._tables = {table.name: Rows(table) for table in (*TABLES, *own)}
        self._tables["once"].append()
        self.custom_attributes: dict[str, CustomAttribute] = {}
        self.custom_frequencies: list[str] = []
        self.requested_contact_attributes: set[str] = set()
        self.up_axis = Axis.from_any(up_axis)
        self.gravity = -9.81 if gravity is None else gravity
        self.default_shape_cfg = ShapeConfig()
        self.default_joint_cfg = JointDofConfig()
        self.default_particle_radius = 0.1
        self.default_tri_ke, self.default_tri_ka, self.default_tri_kd = 100.0, 100.0, 10.0
        self.default_tri_drag, self.default_tri_lift = 0.0, 0.0
        self.default_edge_ke, self.default_edge_kd = 100.0, 0.0
        self.default_spring_ke, self.default_spring_kd = 100.0, 0.0
        self.default_tet_k_mu, self.default_tet_k_lambda, self.default_tet_k_damp = 1.0e3, 1.0e3, 0.0
        self.default_tet_density = 1.0
        self.rigid_gap = 0.1
        self.world_count = 0
        self.world_gravity: list[np.ndarray] = []
        self.world_label: list[str] = []
        self.current_world = -1
        self.particle_color_groups: list[np.ndarray] = []
        self.body_color_groups: list[np.ndarray] = []

    # ---- columns under their public names

    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__.get("_tables")
        name = _ALIASES.get(name, name)
        if tables is not None:
            if name in _COUNTS:
                return tables[_COUNTS[name]].count
            if name in NAMES:
                table, column = NAMES[name]
                if column in tables[table.name].columns:
                    return tables[table.name].columns[column]
        raise AttributeError(f"ModelBuilder has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        name = _ALIASES.get(name, name)
        if name in NAMES:
            column = getattr(self, name)
            if column is not value:  # `builder.column += rows` assigns the column to itself
                column[:] = value
        else:
            object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *NAMES, *_COUNTS})

    @property
    def gravity_vector(self) -> np.ndarray:
        """Gravity [m/s^2] of what belongs to no world, shape (3,)."""
        return self._gravity(self.gravity)

    def _gravity(self, gravity: Any) -> np.ndarray:
        vector = np.asarray(gravity, np.float64)
        if vector.shape not in ((), (3,)) or not np.isfinite(vector).all():
            raise ValueError(f"gravity: expected a finite number or vector of three, found {gravity}")
        return vector * np.asarray(Axis(self.up_axis).to_vector()) if vector.ndim == 0 else vector

    def request_contact_attributes(self, *attributes: str) -> None:
        """Ask for optional arrays of ``Contacts``: ``"force"``."""
        for attribute in attributes:
            if attribute != "force":
                raise ValueError(f"unknown contact attribute {attribute!r}; expected 'force'")
            self.requested_contact_attributes.add(attribute)

    # ---- worlds

    def begin_world(self, label: str | None = None, attributes: dict[str, Any] | None = None, gravity: Any = None) -> int:
        """Start a world: what is added until :meth:`end_world` belongs to it and never meets other worlds.

        Args:
            label: Name; None is ``world_{i}``.
            attributes: Values of custom attributes with frequency WORLD.
            gravity: Scalar along the up axis or vector [m/s^2]; None takes the builder's.

        Returns:
            Index of the world.
        """
        if self.current_world >= 0:
            raise RuntimeError(f"begin_world: world {self.current_world} is still open; call end_world() first")
        vector = self.gravity_vector if gravity is None else self._gravity(gravity)
        world = self.world_count
        self.world_count += 1
        self.world_label.append(label or f"world_{world}")
        self.world_gravity.append(vector)
        self._tables["world"].append()
        self._author("world", attributes, world)
        self.current_world = world
        return world

    def end_world(self) -> None:
        """End the world that :meth:`begin_world` started."""
        if self.current_world < 0:
            raise RuntimeError("end_world: no world is open; call begin_world() first")
        self.current_world = -1

    def add_world(self, builder: ModelBuilder, xform: Any = None, label_prefix: str | None = None) -> int:
        """Add all that another builder holds as one new world, with that builder's gravity. Returns the world's index."""
        world = self.begin_world(label=label_prefix, gravity=builder.gravity_vector)
        try:
            self.add_builder(builder, xform, label_prefix)
        finally:
            self.end_world()
        return world

    def replicate(
        self, builder: ModelBuilder, copy_count: int | None = None, spacing: Any = (0.0, 0.0, 0.0), *, separate_worlds: bool = True,
        xforms: Sequence[Any] | None = None, label_prefixes: Sequence[str] | None = None, world_count: int | None = None,
    ) -> None:  # fmt: skip
        """Add copies of another builder.

        Args:
            builder: What to copy; meshes are shared.
            copy_count: Number of copies.
            spacing: Distance between copies along each axis [m]; the grid is centred on the origin except along the up axis.
            separate_worlds: Every copy is a world of its own; otherwise all join the current world.
            xforms: Pose of every copy, instead of ``spacing``.
            label_prefixes: Prefix of every copy's labels; None is ``world_{i}``.
            world_count: Other name of ``copy_count``.
        """
        count = copy_count if copy_count is not None else world_count
        if count is None or count < 1:
            raise ValueError(f"replicate: expected copy_count >= 1, found {count}")
        poses: Any = xforms
        if poses is None:
            offsets = _grid_offsets(count, spacing, int(self.up_axis))
            poses = np.concatenate([offsets, np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))], axis=1)
        for i in range(count):
            prefix = label_prefixes[i] if label_prefixes is not None else f"world_{self.world_count}"
            if separate_worlds:
                self.add_world(builder, poses[i], prefix)
            else:
                self.add_builder(builder, poses[i], None if label_prefixes is None else prefix)

    def add_builder(self, builder: ModelBuilder, xform: Any = None, label_prefix: str | None = None) -> None:
        """Add all that another builder holds.

        Args:
            builder: Left unchanged.
            xform: Rigid motion applied to it; None is the identity.
            label_prefix: Labels become ``prefix/label``.

        Raises:
            ValueError: A world is open here and ``builder`` has worlds itself.
        """
        if self.current_world >= 0 and builder.world_count > 0:
            raise ValueError("add_builder: the builder holds worlds itself, so it cannot be added inside a world")
        for frequency in builder.custom_frequencies:
            self.add_custom_frequency(frequency)
        self._take_attributes(builder)
        motion = RigidMotion(xform)
        offsets = {name: rows.count for name, rows in self._tables.items()}
        offsets["world"] = self.world_count
        for name, rows in builder._tables.items():
            if name == "once" or rows.count == 0:
                continue
            replaced: dict[str, Any] = {}
            if "label" in rows.columns and label_prefix:
                replaced["label"] = [f"{label_prefix}/{label}" for label in rows.columns["label"]]
            if "world" in rows.columns and self.current_world >= 0:
                replaced["world"] = self.current_world
            self._tables[name].merge(rows, offsets, motion, **replaced)
        self._place_static(builder, offsets, motion)
        self._place_roots(builder, offsets["joint"], motion, (offsets["joint_coord"], offsets["joint_dof"]))
        self.particle_color_groups = _joined(self.particle_color_groups, builder.particle_color_groups, offsets["particle"])
        self.body_color_groups = _joined(self.body_color_groups, builder.body_color_groups, offsets["body"])
        self.requested_contact_attributes |= builder.requested_contact_attributes
        self.world_count += builder.world_count
        self.world_gravity += builder.world_gravity
        self.world_label += [f"{label_prefix}/{label}" if label_prefix else label for label in builder.world_label]

    def _place_static(self, builder: ModelBuilder, offsets: dict[str, int], motion: RigidMotion) -> None:
        static = builder.shape_body.array < 0
        target = self.shape_transform.array[offsets["shape"] : offsets["shape"] + builder.shape_count]
        target[static] = compose(motion.pose, target[static])
        static = builder.attachment_particle_body_body.array < 0
        points = self.attachment_particle_body_body_point.array[offsets["attachment_particle_body"] :]
        points[static] = motion.apply("point", points[static])

    def _place_roots(self, builder: ModelBuilder, first: int, motion: RigidMotion, starts: tuple[int, int]) -> None:
        """Joints to the world move with the builder: free ones through their coordinates, others through their parent anchor.

        The pose of a free one is X_p q X_c^-1, so a motion M takes q to (X_p^-1 M X_p) q.
        """
        types, roots = builder.joint_type.array, builder.joint_parent.array < 0
        anchors = self.joint_X_p.array[first : first + builder.joint_count]
        free = moves_freely(types)
        held = np.flatnonzero(roots & ~free)
        if len(held):
            anchors[held] = compose(motion.pose, anchors[held])
        dims, moved = builder.joint_dof_dim.array, np.flatnonzero(roots & free)
        if len(moved) == 0:
            return
        turn = compose(inverse_pose(anchors[moved]), compose(motion.pose, anchors[moved]))
        at = starts[0] + coordinate_starts(types, dims)[moved][:, None] + np.arange(7)
        for values in (self.joint_q.array, self.joint_target_q.array):
            values[at] = compose(turn, values[at])
        at = starts[1] + velocity_starts(types, dims)[moved][:, None] + np.arange(6)
        twists = self.joint_qd.array[at].reshape(-1, 2, 3)
        self.joint_qd.array[at] = quat_rotate(turn[:, None, 3:], twists).reshape(-1, 6)

    # ---- colouring

    def color(
        self, include_bending: bool = False, balance_colors: bool = True, target_max_min_color_ratio: float = 1.1,
        coloring_algorithm: ColoringAlgorithm = ColoringAlgorithm.MCS,
    ) -> None:  # fmt: skip
        """Group particles and bodies so that no two of one group act on each other.

        Elements that act couple their particles: springs, triangles, hinges and tetrahedra with a stiffness or a damping, triangles
        with drag or lift.

        Args:
            include_bending: Also separate the particles of hinges without stiffness, so that one can be given later.
            balance_colors: Even out the groups.
            target_max_min_color_ratio: Largest over smallest group at which balancing stops.
            coloring_algorithm: ColoringAlgorithm.MCS or GREEDY.
        """
        settings = (balance_colors, target_max_min_color_ratio, ColoringAlgorithm(coloring_algorithm))
        stencils = []
        for element in ELEMENTS:
            columns = {name: rows.array for name, rows in self._tables[element.table.name].columns.items()}
            stencils.append(element.stencils(columns)[1])
        if include_bending:
            stencils.append(self.edge_indices.array)
        self.particle_color_groups = color_worlds(self.particle_world.array, stencils, *settings)
        joints = np.stack([self.joint_parent.array, self.joint_child.array], axis=1)
        self.body_color_groups = color_worlds(self.body_world.array, [joints], *settings)

    def set_coloring(self, particle_color_groups: Sequence[Sequence[int]]) -> None:
        """Set the groups of particles by hand; ``finalize`` checks that every particle is in exactly one."""
        self.particle_color_groups = [np.asarray(group, np.int32).reshape(-1) for group in particle_color_groups]

    # ---- the model

    def finalize(
        self, device: Any = None, *, requires_grad: bool = False, skip_all_validations: bool = False,
        skip_validation_worlds: bool = False, skip_validation_joints: bool = False, skip_validation_shapes: bool = False,
        skip_validation_inertia: bool = False, skip_validation_structure: bool = False,
        skip_validation_joint_ordering: bool = True,
    ) -> Model:  # fmt: skip
        """Make the model.

        Args:
            device: Warp device; None is the current one.
            requires_grad: Gradients do not exist yet; True is refused.
            skip_all_validations: Skip all of the checks below.
            skip_validation_worlds: Skip the check that the entities of a world are contiguous.
            skip_validation_joints: Skip all checks of joints and articulations.
            skip_validation_shapes: Leave shapes out of the check of values and references.
            skip_validation_inertia: Skip the check and the correction of masses and inertias.
            skip_validation_structure: Skip the check of values and references.
            skip_validation_joint_ordering: Skip the check that joints follow each other depth first in their articulation.

        Raises:
            ValueError: Something is invalid; the message names it by label and index and says what to do.
        """
        from hooke.model.finalize import finalize

        if requires_grad:
            raise NotImplementedError("finalize(requires_grad=True): gradients are not available yet; pass False")
        skip = {
            "worlds": skip_validation_worlds, "joints": skip_validation_joints, "shapes": skip_validation_shapes,
            "inertia": skip_validation_inertia, "structure": skip_validation_structure,
            "joint_ordering": skip_validation_joint_ordering,
        }  # fmt: skip
        return finalize(self, wp.get_device(device), {name: skip_all_validations or value for name, value in skip.items()})


def _joined(groups: list[np.ndarray], others: list[np.ndarray], offset: int) -> list[np.ndarray]:
    others = [group + offset for group in others]
    return merge_groups(groups, others) if groups and others else groups or others


def _grid_offsets(count: int, spacing: Any, up: int) -> np.ndarray:
    """Positions of ``count`` copies on a grid over the axes with a spacing, centred except along the up axis; shape (count, 3)."""
    spacing = np.asarray(spacing, np.float64).reshape(3)
    axes = np.flatnonzero(spacing)
    offsets = np.zeros((count, 3))
    if len(axes) == 0:
        return offsets
    side = int(np.ceil(count ** (1.0 / len(axes)) - 1.0e-9))
    index = np.arange(count)
    for axis in axes:
        offsets[:, axis] = (index % side) * spacing[axis]
        index = index // side
    centre = 0.5 * (offsets.min(axis=0) + offsets.max(axis=0))
    centre[up] = 0.0
    return offsets - centre

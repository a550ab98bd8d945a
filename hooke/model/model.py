"""Model: what is simulated, on a device. Made by ``ModelBuilder.finalize``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table, TableData
from hooke.joints.kind import JointType
from hooke.model.contacts import Contacts
from hooke.model.control import Control, old_targets
from hooke.model.custom import AttributeAssignment, AttributeFrequency, AttributeNamespace, CustomAttribute
from hooke.model.state import State
from hooke.model.tables import TABLES

if TYPE_CHECKING:
    from hooke.collision.pipeline import CollisionPipeline

__all__ = ["NAMES", "Model", "model_tables"]

NAMES: dict[str, tuple[Table, str]] = {
    table.prefix + column.name: (table, column.name) for table in TABLES for column in table.columns
}
_COUNTS = {table.count_name: table.name for table in TABLES}


class Model:
    """The data of a simulation that does not change in a step.

    The arrays of its tables are attributes under their documented flat names, e.g. ``model.particle_mass`` or
    ``model.shape_material_mu`` (all of them: ``dir(model)``, ``docs/guide/model.md``). They are ``wp.array`` s on ``device``, and may
    be assigned a new array of the same type and length.

    Attributes:
        tables: The tables by name; ``tables["particle"].struct`` is what kernels take.
        device: Device of all arrays.
        up_axis: Axis against gravity, 0 to 2.
        world_count: Number of worlds, at least 1.
        gravity: Per world, then for what belongs to none [m/s^2]; one row when no world was begun.
        wind: Velocity of the air [m/s], one row; felt by triangles with drag or lift (:meth:`set_wind`).
        joint_q_start: First coordinate of every joint, then the number of all (joints + 1,).
        joint_qd_start: First degree of freedom of every joint, then the number of all (joints + 1,).
        joint_cts_start: First locked motion of every joint, then the number of all (joints + 1,).
        joint_coord_world_start: As ``joint_world_start``, for coordinates (worlds + 2,).
        joint_dof_world_start: As ``joint_world_start``, for degrees of freedom (worlds + 2,).
        joint_constraint_world_start: As ``joint_world_start``, for locked motions (worlds + 2,).
        joint_order: The joints so that in every articulation parents come first (joints,).
        articulation_start: First joint of every articulation, then the number of all (articulations + 1,).
        articulation_end: End of the joints of every articulation (articulations,).
        max_joints_per_articulation: Most joints of an articulation.
        max_dofs_per_articulation: Most degrees of freedom of an articulation.
        particle_color_groups: One int array of particles per colour.
        body_color_groups: One int array of bodies per colour.
        soft_contact_ke: Stiffness [N/m] of particles in contact, mixed with the shape's; 1e3.
        soft_contact_kd: Damping [N s/m] of particles in contact; 10.
        soft_contact_mu: Friction of particles in contact; 0.5.
        rigid_contact_max: Rows of rigid contacts, published by the collision pipeline.
        soft_contact_max: Rows of particle contacts, published by the collision pipeline.
        soft_contact_surface: Whether they may be of edges and faces, published by the collision pipeline.
    """

    AttributeAssignment = AttributeAssignment
    AttributeFrequency = AttributeFrequency

    def __init__(self, tables: dict[str, TableData], device: Any):
        object.__setattr__(self, "tables", tables)
        self.device = device
        self.requires_grad = False
        self.up_axis = 2
        self.world_count = 1
        self.world_label: list[str] = []
        self.gravity: wp.array = wp.zeros(1, dtype=wp.vec3, device=device)
        self.wind: wp.array = wp.zeros(1, dtype=wp.vec3, device=device)
        none = wp.zeros(0, dtype=wp.int32, device=device)
        self.joint_q_start = self.joint_qd_start = self.joint_cts_start = self.joint_order = none
        self.articulation_start = self.articulation_end = none
        self.max_joints_per_articulation = self.max_dofs_per_articulation = 0
        self.particle_color_groups: list[wp.array] = []
        self.body_color_groups: list[wp.array] = []
        self.soft_contact_ke = 1.0e3
        self.soft_contact_kd = 10.0
        self.soft_contact_mu = 0.5
        self.rigid_contact_max: int | None = None
        self.soft_contact_max: int | None = None
        self.soft_contact_surface = False
        self.requested_contact_attributes: set[str] = set()
        self.custom_attributes: dict[str, CustomAttribute] = {}
        self._custom_values: dict[str, Any] = {}
        self._collision_pipeline: CollisionPipeline | None = None

    # ---- arrays under their public names

    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__.get("tables", {})
        if name in NAMES:
            table, column = NAMES[name]
            return tables[table.name].arrays[column]
        if name in _COUNTS:
            return tables[_COUNTS[name]].count
        if name == "joint_target_pos":  # as the documented data model named them before
            return old_targets(self.joint_target_q, self.joint_target_qd)
        if name == "joint_target_vel":
            return self.joint_target_qd
        raise AttributeError(f"Model has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in NAMES:
            table, column = NAMES[name]
            self.tables[table.name].bind(table.column(column), value)
        elif name in _COUNTS:
            raise AttributeError(f"Model.{name} is fixed by finalize()")
        else:
            object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *NAMES, *_COUNTS})

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.tables[n].count} {n}" for n in self.tables if self.tables[n].count)
        return f"<Model on {self.device}: {self.world_count} world(s), {counts or 'empty'}>"

    # ---- what a simulation needs beside it

    def state(self, requires_grad: bool | None = None) -> State:
        """A new State at the initial positions and velocities.

        Raises:
            NotImplementedError: ``requires_grad`` is True; gradients are not available yet.
        """
        _refuse_gradients("Model.state", requires_grad)
        state = State()
        for name in State.FIELDS:
            table, column = NAMES.get(name, (None, None))
            if table is not None and self.tables[table.name].count:
                setattr(state, name, wp.clone(self.tables[table.name].arrays[column]))
        if state.particle_q is not None:
            state.particle_f = wp.zeros_like(state.particle_q)
        if state.body_q is not None:
            state.body_f = wp.zeros(len(state.body_q), dtype=wp.spatial_vector, device=self.device)
        self._give_custom(state, AttributeAssignment.STATE)
        return state

    def control(self, requires_grad: bool | None = None, clone_variables: bool = True) -> Control:
        """A new Control with the model's default inputs.

        Args:
            requires_grad: Must not be True.
            clone_variables: Copy the arrays; False shares them with the model.
        """
        _refuse_gradients("Model.control", requires_grad)
        control = Control()
        copy = wp.clone if clone_variables else lambda array: array
        for field, name in Control.SOURCES.items():
            table, column = NAMES[name]
            if self.tables[table.name].count:
                setattr(control, field, copy(self.tables[table.name].arrays[column]))
        self._give_custom(control, AttributeAssignment.CONTROL)
        return control

    def contacts(self, collision_pipeline: CollisionPipeline | None = None) -> Contacts:
        """A new Contacts buffer of ``collision_pipeline``, or of a default pipeline that the model keeps."""
        return self._pipeline(collision_pipeline).contacts()

    def collide(
        self, state: State, contacts: Contacts | None = None, *, collision_pipeline: CollisionPipeline | None = None
    ) -> Contacts:
        """Find the contacts at ``state`` and write them to ``contacts`` (a new buffer when None), which is returned."""
        pipeline = self._pipeline(collision_pipeline)
        contacts = pipeline.contacts() if contacts is None else contacts
        pipeline.collide(state, contacts)
        return contacts

    def _pipeline(self, given: CollisionPipeline | None) -> CollisionPipeline:
        from hooke.collision.pipeline import CollisionPipeline

        if given is None and self._collision_pipeline is None:
            self._collision_pipeline = CollisionPipeline(self)
        return given or self._collision_pipeline  # type: ignore[return-value]

    def set_gravity(self, gravity: Any, world: int | None = None) -> None:
        """Set gravity.

        Args:
            gravity: Vector (3,), a scalar along the up axis, or one vector per row of ``model.gravity`` [m/s^2].
            world: World it is for; -1 is what belongs to none; None is all.

        Raises:
            ValueError: The world does not exist or a value is not finite.
        """
        rows = self.gravity.numpy().copy()
        value = np.asarray(gravity, np.float64)
        if not np.isfinite(value).all():
            raise ValueError(f"set_gravity: expected finite values, found {gravity}")
        if value.ndim == 0:
            value = value * np.eye(3)[self.up_axis]
        if value.shape != (3,) and (world is not None or value.shape != rows.shape):
            raise ValueError(
                f"set_gravity: expected a number, a vector of three or an array {rows.shape}, found shape {value.shape}"
            )
        if world is not None and not -1 <= world < len(rows):
            raise ValueError(f"set_gravity: expected a world from -1 to {len(rows) - 1}, found {world}")
        rows[slice(None) if world is None else world] = value
        self.gravity.assign(rows.astype(np.float32))

    def set_wind(self, wind: Any) -> None:
        """Set the velocity of the air, a vector (3,) [m/s]; every step reads it.

        Raises:
            ValueError: It is not a vector of three finite values.
        """
        value = np.asarray(wind, np.float64)
        if value.shape != (3,) or not np.isfinite(value).all():
            raise ValueError(f"set_wind: expected a vector of three finite values [m/s], found {wind}")
        self.wind.assign(value.astype(np.float32)[None])

    def request_contact_attributes(self, *attributes: str) -> None:
        """Ask for optional arrays of contacts made from now on: ``"force"``."""
        for attribute in attributes:
            if attribute != "force":
                raise ValueError(f"unknown contact attribute {attribute!r}; expected 'force'")
            self.requested_contact_attributes.add(attribute)

    @property
    def body_shapes(self) -> dict[int, list[int]]:
        """Shapes of every body; -1 holds the static ones."""
        shapes: dict[int, list[int]] = {body: [] for body in range(-1, self.body_count)}
        for shape, body in enumerate(self.shape_body.numpy().tolist()):
            shapes[body].append(shape)
        return shapes

    @property
    def shape_collision_filter_pairs(self) -> set[tuple[int, int]]:
        """Pairs of shapes that never meet, the lesser first."""
        return {(a, b) for a, b in self.shape_collision_filter_pairs_array.numpy().tolist()}

    def shape_collision_filter_contains(self, shape_a: int, shape_b: int) -> bool:
        """Whether two shapes never meet, because a filter says so or one body carries both."""
        body = self.shape_body.numpy()
        if body[shape_a] == body[shape_b] >= 0:
            return True
        pair = sorted((int(shape_a), int(shape_b)))
        return bool((self.shape_collision_filter_pairs_array.numpy() == pair).all(axis=1).any())

    @property
    def joint_target_q_start(self) -> wp.array:
        """First position target of every joint: that of its coordinates."""
        return self.joint_q_start

    # ---- custom attributes

    def get_attribute_frequency(self, name: str) -> AttributeFrequency | str:
        """The kind of entity that an array of the model, or a custom attribute by its key, has one value for."""
        if name in self.custom_attributes:
            return self.custom_attributes[name].frequency
        if name not in NAMES:
            raise AttributeError(f"Model has no attribute {name!r}")
        table = NAMES[name][0].name
        long = {"tri": "triangle", "tet": "tetrahedron"}.get(table, table)
        return AttributeFrequency[long.upper()] if long.upper() in AttributeFrequency.__members__ else table

    def _give_custom(self, target: Any, assignment: AttributeAssignment) -> None:
        """Put the arrays of custom attributes on an object; the model keeps its own, others get copies."""
        for key, attribute in self.custom_attributes.items():
            if attribute.assignment != assignment:
                continue
            value = self._custom_values[key]
            if assignment != AttributeAssignment.MODEL:
                value = list(value) if isinstance(value, list) else wp.clone(value)
            holder = target
            if attribute.namespace:
                holder = target.__dict__.get(attribute.namespace)
                if holder is None:
                    holder = AttributeNamespace(attribute.namespace)
                    object.__setattr__(target, attribute.namespace, holder)
            object.__setattr__(holder, attribute.name, value)


def _refuse_gradients(what: str, requires_grad: bool | None) -> None:
    if requires_grad:
        raise NotImplementedError(f"{what}(requires_grad=True): gradients are not available yet; pass False")


def model_tables(model: Any) -> dict[str, TableData]:
    """The tables of a model: its own, or built without copies from any object with the documented flat arrays."""
    if isinstance(model, Model):
        return model.tables
    tables = {}
    for table in TABLES:
        count = getattr(model, table.count_name, None)
        if count is None:
            column: Column | None = table.columns[0] if table.columns else None
            array = None if column is None else getattr(model, table.prefix + column.name, None)
            known = column is not None and isinstance(array, (wp.array, np.ndarray, list))
            count = len(array) // (column.width if column.flat else 1) if known else 0  # type: ignore[union-attr, arg-type]
        tables[table.name] = TableData.from_object(table, model, int(count), model.device)
    _tell_rods_from_cables(tables["joint"])
    return tables


def _tell_rods_from_cables(joints: TableData) -> None:
    """Joints of another data model that have the type of a cable but three linear and three angular axes are rods."""
    if not joints.count:
        return
    types = joints.arrays["type"].numpy()
    rods = (types == JointType.CABLE) & (joints.arrays["dof_dim"].numpy() == 3).all(axis=1)
    if rods.any():
        types = np.where(rods, int(JointType.ROD), types).astype(np.int32)
        joints.bind(joints.table.column("type"), wp.array(types, dtype=wp.int32, device=joints.device))

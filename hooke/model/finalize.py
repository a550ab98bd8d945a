"""From a builder to a model: checks, derived columns, arrays on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from hooke.data.table import Rows, TableData
from hooke.geometry.kind import GeoType
from hooke.geometry.shapes import shape_kind
from hooke.joints.layout import constraint_counts, coordinate_starts, velocity_starts
from hooke.model.articulation import ancestors_of, articulation_ranges, parents_first
from hooke.model.check import check_coloring, check_inertia, check_structure, check_worlds
from hooke.model.check_joints import check_joints, depth_first_violation
from hooke.model.custom import AttributeAssignment, fill_pending_values, table_of
from hooke.model.filters import filter_pairs
from hooke.model.model import Model
from hooke.model.tables import TABLES

if TYPE_CHECKING:
    from hooke.model.builder import ModelBuilder

__all__ = ["finalize"]

_INFINITE_RADIUS = 1.0e6  # what stands for the radius of an infinite plane


def finalize(builder: ModelBuilder, device: Any, skip: dict[str, bool]) -> Model:
    """Make a model of what ``builder`` holds; ``skip`` names the checks to leave out."""
    tables = builder._tables
    if builder.current_world >= 0:
        raise RuntimeError(f"finalize: world {builder.current_world} is still open; call end_world() first")
    fill_pending_values(builder)
    if not skip["structure"]:
        leave_out = {"shape"} if skip["shapes"] else set()
        leave_out |= {"joint", "joint_dof", "joint_coord", "articulation"} if skip["joints"] else set()
        check_structure(tables, builder.world_count, frozenset(leave_out))
    if not skip["worlds"]:
        check_worlds(tables)
    if not (skip["joints"] or skip["structure"]):
        check_joints(tables)
    if not skip["joint_ordering"]:
        message = depth_first_violation(tables)
        if message:
            raise ValueError(message)
    inertia = tables["body"].columns["inertia"].array if skip["inertia"] else check_inertia(tables["body"])
    derived = {
        "particle": _particles(builder), "body": _bodies(tables["body"], inertia), "shape": _shapes(tables["shape"], device),
        "shape_filter": {"collision_filter_pairs_array": filter_pairs(tables)}, "joint": _trees(builder), "joint_dof": _axes(builder),
    }  # fmt: skip
    data = {}
    for table in TABLES:
        rows = tables[table.name]
        host = {name: column for name, column in rows.columns.items() if name in {c.name for c in table.columns}}
        host |= derived.get(table.name, {})
        arrays = {}
        for name, values in host.items():
            column = table.column(name)
            arrays[name] = list(values) if column.is_list else column.to_array(getattr(values, "array", values), device)
        count = len(host["collision_filter_pairs_array"]) if table.name == "shape_filter" else rows.count
        data[table.name] = TableData(table, arrays, count, device)
    model = Model(data, device)
    _worlds(model, builder)
    _joints(model, builder)
    to_device = {"dtype": wp.int32, "device": device}
    model.particle_color_groups = [wp.array(group, **to_device) for group in builder.particle_color_groups]
    if builder.body_color_groups:
        check_coloring("body", builder.body_color_groups, builder.body_count)
    model.body_color_groups = [wp.array(group, **to_device) for group in builder.body_color_groups]
    model.requested_contact_attributes = set(builder.requested_contact_attributes)
    _custom(model, builder)
    return model


def _particles(builder: ModelBuilder) -> dict[str, np.ndarray]:
    mass = builder.particle_mass.array
    derived = {"inv_mass": np.where(mass > 0.0, 1.0 / np.where(mass > 0.0, mass, 1.0), 0.0)}
    if builder.particle_color_groups:
        derived["colors"] = check_coloring("particle", builder.particle_color_groups, len(mass))
    return derived


def _bodies(rows: Rows, inertia: np.ndarray) -> dict[str, np.ndarray]:
    mass = rows.columns["mass"].array
    heavy = mass > 0.0
    inverse = np.zeros((rows.count, 3, 3))
    turning = heavy & (np.linalg.det(inertia) > 0.0) if rows.count else heavy
    inverse[turning] = np.linalg.inv(inertia[turning])
    return {"inv_mass": np.where(heavy, 1.0 / np.where(heavy, mass, 1.0), 0.0), "inertia": inertia, "inv_inertia": inverse}


def _shapes(rows: Rows, device: Any) -> dict[str, np.ndarray]:
    """Handles of meshes and local bounds, computed once per different geometry."""
    count = rows.count
    pointer = np.zeros(count, np.uint64)
    lower, upper = np.zeros((count, 3)), np.zeros((count, 3))
    known: dict[Any, tuple[int, np.ndarray, np.ndarray]] = {}
    types, scales, sources = rows.columns["type"].array, rows.columns["scale"].array, rows.columns["source"]
    for i in range(count):
        key = (types[i], *scales[i], id(sources[i]))
        if key not in known:
            handle = sources[i].finalize(device) if hasattr(sources[i], "finalize") else 0
            known[key] = (handle, *shape_kind(GeoType(types[i])).bounds(scales[i], sources[i]))
        pointer[i], lower[i], upper[i] = known[key]
    lower, upper = np.maximum(lower, -_INFINITE_RADIUS), np.minimum(upper, _INFINITE_RADIUS)
    radius = np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper)), axis=1)
    return {
        "source_ptr": pointer,
        "collision_aabb_lower": lower,
        "collision_aabb_upper": upper,
        "collision_radius": np.minimum(radius, _INFINITE_RADIUS),
    }


def world_starts(world: np.ndarray, world_count: int) -> np.ndarray:
    """First entity of every world, of the trailing shared ones, then the total; shape (world_count + 2,)."""
    starts = np.full(world_count + 2, len(world), np.int32)
    local = np.flatnonzero(world >= 0)
    if len(local) == 0:
        starts[: world_count + 1] = 0 if world_count else len(world)
        return starts
    bounds = np.searchsorted(world[local], np.arange(world_count + 1))
    starts[: world_count + 1] = local[0] + bounds
    return starts


def _worlds(model: Model, builder: ModelBuilder) -> None:
    model.up_axis = int(builder.up_axis)
    model.world_count = max(1, builder.world_count)
    model.world_label = list(builder.world_label)
    gravity = [*builder.world_gravity, builder.gravity_vector]
    model.gravity = wp.array(np.asarray(gravity, np.float32), dtype=wp.vec3, device=model.device)
    for name in ("particle", "body", "shape", "joint", "articulation"):
        starts = world_starts(getattr(builder, f"{name}_world").array, model.world_count)
        setattr(model, f"{name}_world_start", wp.array(starts, dtype=wp.int32, device=model.device))


def _trees(builder: ModelBuilder) -> dict[str, np.ndarray]:
    owner, parent, child = builder.joint_articulation.array, builder.joint_parent.array, builder.joint_child.array
    return {"ancestor": ancestors_of(owner, parent, child, builder.body_count)[0]}


def _axes(builder: ModelBuilder) -> dict[str, np.ndarray]:
    """Axes as unit vectors."""
    axis = builder.joint_axis.array
    size = np.linalg.norm(axis, axis=1, keepdims=True)
    return {"axis": axis / np.where(size > 0.0, size, 1.0)}


def _joints(model: Model, builder: ModelBuilder) -> None:
    """Where the numbers of joints and the joints of articulations are."""
    types, dims, owner = builder.joint_type.array, builder.joint_dof_dim.array, builder.joint_articulation.array
    coordinates, velocities = coordinate_starts(types, dims), velocity_starts(types, dims)
    start, end = articulation_ranges(owner, builder.articulation_count)
    constraints = np.concatenate([[0], np.cumsum(constraint_counts(types, dims))]).astype(np.int32)
    order = parents_first(owner, _trees(builder)["ancestor"])
    arrays = {
        "joint_q_start": coordinates, "joint_qd_start": velocities, "joint_cts_start": constraints, "joint_order": order,
        "articulation_start": start, "articulation_end": end,
    }  # fmt: skip
    for name, values in arrays.items():
        setattr(model, name, wp.array(values, dtype=wp.int32, device=model.device))
    first = np.minimum(world_starts(builder.joint_world.array, model.world_count), len(types))
    for name, starts in (("coord", coordinates), ("dof", velocities), ("constraint", constraints)):
        setattr(model, f"joint_{name}_world_start", wp.array(starts[first], dtype=wp.int32, device=model.device))
    sizes = [(j - i, velocities[j] - velocities[i]) for i, j in zip(start[:-1], end, strict=True)]
    model.max_joints_per_articulation = max((int(n) for n, _ in sizes), default=0)
    model.max_dofs_per_articulation = max((int(n) for _, n in sizes), default=0)


def _custom(model: Model, builder: ModelBuilder) -> None:
    model.custom_attributes = dict(builder.custom_attributes)
    for key, attribute in builder.custom_attributes.items():
        values = builder._tables[table_of(attribute.frequency)].columns[key]
        column = attribute.column
        model._custom_values[key] = list(values) if column.is_list else column.to_array(values.array, model.device)
    model._give_custom(model, AttributeAssignment.MODEL)

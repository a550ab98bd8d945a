"""Selection by label: indices of what a pattern names, and views of the articulations of many worlds as arrays (worlds, each, n)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.recorder import launch_directly
from hooke.joints.layout import moves_freely
from hooke.model.custom import table_of
from hooke.model.kinematics import eval_fk, kinematics_of
from hooke.model.model import NAMES, model_tables

__all__ = ["ArticulationView", "match_labels", "select"]

_KINDS = ("body", "joint", "shape", "articulation", "world")


def match_labels(labels: Sequence[str], pattern: Any) -> list[int]:
    """Indices of the labels that a pattern names, in order.

    Args:
        labels: Labels, such as ``world_0/arm/elbow``.
        pattern: A pattern with ``*``, ``?`` and ``[...]``, a compiled regular expression (of the whole), an index, or several of
            these. A label matches as a whole or by its part behind the last ``/``.

    Raises:
        ValueError: An index is out of range.
    """
    if isinstance(pattern, (str, re.Pattern, int, np.integer)):
        pattern = [pattern]
    found: set[int] = set()
    for one in pattern:
        if isinstance(one, (int, np.integer)):
            if not 0 <= one < len(labels):
                raise ValueError(f"selection: expected an index from 0 to {len(labels) - 1}, found {one}")
            found.add(int(one))
            continue
        fits = one.fullmatch if isinstance(one, re.Pattern) else re.compile(fnmatch.translate(one)).match
        found |= {k for k, label in enumerate(labels) if fits(label) or fits(label.rsplit("/", 1)[-1])}
    return sorted(found)


def select(model: Any, kind: str, pattern: Any = "*", worlds: Any = None) -> np.ndarray:
    """Indices of the bodies, joints, shapes, articulations or worlds that a pattern names.

    Args:
        model: The model.
        kind: "body", "joint", "shape", "articulation" or "world".
        pattern: As :func:`match_labels`.
        worlds: Only those of some worlds: a pattern of their labels, or indices, -1 being what is shared by all; None is any.

    Raises:
        ValueError: There is no such kind, or an index is out of range.
    """
    if kind not in _KINDS:
        raise ValueError(f"select: expected one of {', '.join(_KINDS)}, found {kind!r}")
    if kind == "world":
        return np.array(match_labels(list(model.world_label), pattern), np.int32)
    arrays = model_tables(model)[kind].arrays
    found = np.array(match_labels(arrays["label"], pattern), np.int32)
    if worlds is not None and len(found):
        asked = [worlds] if isinstance(worlds, (str, re.Pattern, int, np.integer)) else list(worlds)
        shared = [-1] if any(isinstance(w, (int, np.integer)) and w == -1 for w in asked) else []
        named = match_labels(list(model.world_label), [w for w in asked if not (isinstance(w, (int, np.integer)) and w == -1)])
        found = found[np.isin(arrays["world"].numpy()[found], shared + named)]
    return found


@wp.kernel(enable_backward=False)
def gather_rows(rows: wp.array(dtype=wp.int32), source: wp.array2d(dtype=wp.int32), values: wp.array2d(dtype=wp.int32)):
    i = wp.tid()
    for k in range(source.shape[1]):
        values[i, k] = source[rows[i], k]


@wp.kernel(enable_backward=False)
def scatter_rows(
    rows: wp.array(dtype=wp.int32), values: wp.array2d(dtype=wp.int32), mask: wp.array(dtype=wp.bool), each: int,
    target: wp.array2d(dtype=wp.int32),
):  # fmt: skip
    """Rows whose group of ``each`` is masked; all without a mask."""
    i = wp.tid()
    chosen = mask.shape[0] == 0
    if not chosen:
        chosen = mask[i / each]
    if chosen:
        for k in range(values.shape[1]):
            target[rows[i], k] = values[i, k]


@wp.kernel(enable_backward=False)
def spread_mask(rows: wp.array(dtype=wp.int32), mask: wp.array(dtype=wp.bool), each: int, target: wp.array(dtype=wp.bool)):
    i = wp.tid()
    target[rows[i]] = mask.shape[0] == 0 or mask[i / each]


class ArticulationView:
    """Articulations of the same build in one or many worlds, whose arrays are read and written as (worlds, each, n).

    Args:
        model: The model.
        pattern: Which articulations (:func:`match_labels`).
        include_joints: Joints of each, by the part of their label behind the last ``/`` or by number; None is all.
        exclude_joints: Joints to leave out.
        include_links: Bodies of each that joints move; None is all.
        exclude_links: Bodies to leave out.
        include_joint_types: JointTypes to take; None is all.
        exclude_joint_types: JointTypes to leave out.
        include_loop_closing_joints: Also take joints outside the articulation that close its loops; they come behind the others.
        verbose: Print what was found.

    Attributes:
        world_ids: World of every row of the first axis; [-1] where the articulations belong to none.
        world_count: Length of the first axis.
        count_per_world: Length of the second axis.
        count: Articulations in all.
        joint_names: Labels of the joints of the first, behind the last ``/``.
        link_names: Labels of the bodies of the first.
        is_floating_base: Whether the first joint is free.

    Raises:
        ValueError: Nothing matches, worlds have different numbers of matches, or the articulations are not of the same build.
    """

    def __init__(
        self, model: Any, pattern: Any, *, include_joints: Any = None, exclude_joints: Any = None, include_links: Any = None,
        exclude_links: Any = None, include_joint_types: Sequence[int] | None = None, exclude_joint_types: Sequence[int] | None = None,
        include_loop_closing_joints: bool = False, verbose: bool | None = None,
    ):  # fmt: skip
        self.model = model
        self._kinematics = kinematics_of(model)
        self._tables = self._kinematics.tables
        articulations = select(model, "articulation", pattern)
        if len(articulations) == 0:
            labels = self._tables["articulation"].arrays["label"]
            raise ValueError(f"ArticulationView: {pattern!r} matches none of {len(labels)} articulations, such as {labels[:3]}")
        self._arrange(articulations)
        joints, bodies = self._template(articulations, include_loop_closing_joints)
        types = self._host("joint", "type")[joints[0]]
        kept = _filtered([_name(self._labels("joint")[j]) for j in joints[0]], include_joints, exclude_joints)
        wanted = np.isin(types, include_joint_types) if include_joint_types is not None else np.ones(len(types), bool)
        wanted &= ~np.isin(types, exclude_joint_types or [])
        kept = [k for k in kept if wanted[k]]
        links = _filtered([_name(self._labels("body")[b]) for b in bodies[0]], include_links, exclude_links)
        self.is_floating_base = bool(moves_freely(types[:1])[0])
        self._roots = joints[:, 0]
        self._index(articulations, joints[:, kept], bodies[:, links])
        if verbose:
            print(f"{self.count} articulations in {self.world_count} worlds: joints {self.joint_names}, links {self.link_names}")

    def _host(self, table: str, column: str) -> np.ndarray:
        return self._tables[table].arrays[column].numpy()

    def _labels(self, table: str) -> list[str]:
        return self._tables[table].arrays["label"]

    def _arrange(self, articulations: np.ndarray) -> None:
        """Worlds and how many articulations each has."""
        world = self._host("articulation", "world")[articulations]
        ids, counts = np.unique(world, return_counts=True)
        if len(set(counts.tolist())) != 1:
            raise ValueError(
                "ArticulationView: worlds have different numbers of matches: "
                f"{dict(zip(ids.tolist(), counts.tolist(), strict=True))}; use a pattern that matches as many in each"
            )
        self.world_ids, self.world_count, self.count_per_world = ids.tolist(), len(ids), int(counts[0])
        self.count = len(articulations)

    def _template(self, articulations: np.ndarray, loops: bool) -> tuple[np.ndarray, np.ndarray]:
        """Joints and the bodies they move, one row for every articulation, after checking that all are of one build."""
        start, end = self._kinematics.tree.start.numpy(), self._kinematics.tree.end.numpy()
        owner, child = self._host("joint", "articulation"), self._host("joint", "child")
        types, dims = self._host("joint", "type"), self._host("joint", "dof_dim")
        outside, inside = np.flatnonzero(owner < 0), np.flatnonzero(owner >= 0)
        mover = np.full(self._tables["body"].count, -1)
        mover[child[inside]] = owner[inside]
        closes = mover[child[outside]]  # the articulation of the child
        closing = outside[np.argsort(closes, kind="stable")]
        bounds = (
            np.searchsorted(np.sort(closes), [articulations, articulations + 1])
            if loops
            else np.zeros((2, len(articulations)), int)
        )
        own = [np.arange(start[a], end[a]) for a in articulations]
        rows = [np.concatenate([joints, closing[i:j]]) for joints, i, j in zip(own, *bounds, strict=True)]
        bodies = [child[joints] for joints in own]
        for a, row in zip(articulations, rows, strict=True):
            same = len(row) == len(rows[0]) and (types[row] == types[rows[0]]).all() and (dims[row] == dims[rows[0]]).all()
            if not same:
                labels = self._labels("articulation")
                raise ValueError(
                    f"ArticulationView: articulation {labels[a]!r} (index {a}) has other joints than {labels[articulations[0]]!r}; select "
                    "articulations of one build"
                )
        return np.array(rows), np.array(bodies)

    def _index(self, articulations: np.ndarray, joints: np.ndarray, links: np.ndarray) -> None:
        """Rows of every table that belong to the view, one row of them for every articulation."""
        layout = self._kinematics.tree.layout
        coordinates, dofs = layout.q.numpy(), layout.qd.numpy()
        of_body = self._host("shape", "body") if self._tables["shape"].count else np.zeros(0, int)
        order = np.argsort(of_body, kind="stable")
        bounds = np.searchsorted(of_body[order], [links, links + 1])
        shapes = [
            np.sort(np.concatenate([order[:0], *(order[i:j] for i, j in zip(*ends, strict=True))]))
            for ends in bounds.transpose(1, 0, 2)
        ]
        self._rows: dict[str, np.ndarray] = {
            "articulation": articulations[:, None],
            "joint": joints,
            "body": links,
            "joint_coord": _spans(coordinates, joints),
            "joint_dof": _spans(dofs, joints),
        }
        if len({len(row) for row in shapes}) == 1:
            self._rows["shape"] = np.array(shapes)
        device = self._kinematics.device
        self._device_rows = {
            name: wp.array(rows.astype(np.int32).reshape(-1), dtype=wp.int32, device=device) for name, rows in self._rows.items()
        }
        root = _spans(coordinates, self._roots[:, None]), _spans(dofs, self._roots[:, None]), self._roots[:, None]
        self._root_rows = [wp.array(rows.astype(np.int32).reshape(-1), dtype=wp.int32, device=device) for rows in root]
        self.joint_names = [_name(self._labels("joint")[j]) for j in joints[0]]
        self.link_names = self.body_names = [_name(self._labels("body")[b]) for b in links[0]]

    @property
    def joint_count(self) -> int:
        """Joints of each articulation in the view."""
        return self._rows["joint"].shape[1]

    @property
    def joint_coord_count(self) -> int:
        """Coordinates of each articulation in the view."""
        return self._rows["joint_coord"].shape[1]

    @property
    def joint_dof_count(self) -> int:
        """Degrees of freedom of each articulation in the view."""
        return self._rows["joint_dof"].shape[1]

    @property
    def link_count(self) -> int:
        """Bodies of each articulation in the view."""
        return self._rows["body"].shape[1]

    # ---- any array

    def _table_of(self, name: str) -> str:
        key = name.replace(".", ":", 1)
        if key in getattr(self.model, "custom_attributes", {}):
            return table_of(self.model.custom_attributes[key].frequency)
        if name == "body_f":
            return "body"
        if name in NAMES:
            return NAMES[name][0].name
        raise AttributeError(f"ArticulationView: no array {name!r}; expected one of joints, bodies, shapes or articulations")

    def _source(self, name: str, source: Any) -> tuple[wp.array, str]:
        table = self._table_of(name)
        if table not in self._rows:
            raise AttributeError(
                f"ArticulationView: {name} has one row per {table}, of which the articulations have none or not as many each"
            )
        array = source
        for part in name.replace(":", ".").split("."):
            array = getattr(array, part)
        if not isinstance(array, wp.array):
            raise AttributeError(f"ArticulationView: {name} of {type(source).__name__} is {array!r}, not an array")
        return array, table

    def get_attribute(self, name: str, source: Any) -> wp.array:
        """A copy of the view's part of an array, shape (worlds, each, n).

        Args:
            name: Name of the array, such as ``joint_q``, ``body_q``, ``joint_limit_lower`` or ``namespace.name``.
            source: Model, State or Control that has it.
        """
        array, table = self._source(name, source)
        return self._read(array, self._device_rows[table])

    def set_attribute(self, name: str, target: Any, values: Any, mask: Any = None) -> None:
        """Write the view's part of an array.

        Args:
            name: As :meth:`get_attribute`.
            target: Model, State or Control that has it.
            values: Array (worlds, each, n), or one that is repeated to that shape.
            mask: Which to write, bool (worlds,) or (worlds, each); None is all.
        """
        array, table = self._source(name, target)
        self._write(array, self._device_rows[table], values, mask)

    def _read(self, array: wp.array, rows: wp.array) -> wp.array:
        shape = (self.world_count, self.count_per_world, len(rows) // self.count, *array.shape[1:])
        if _words_per_row(array) is None:
            return wp.array(array.numpy()[rows.numpy()].reshape(shape), dtype=array.dtype, device=array.device)
        made = wp.empty(shape, dtype=array.dtype, device=array.device)
        if made.size:
            inputs = [rows, _as_words(array, array.shape[0])]
            launch_directly(_launch, gather_rows, len(rows), inputs, [_as_words(made, len(rows))], array.device)
        return made

    def _write(self, array: wp.array, rows: wp.array, values: Any, mask: Any) -> None:
        shape = (self.world_count, self.count_per_world, len(rows) // self.count, *array.shape[1:])
        chosen, each = self._mask(mask)
        each *= len(rows) // self.count
        values = _as_array(values, shape, array)
        if not len(rows):
            return
        if _words_per_row(array) is None:
            host, kept = array.numpy(), np.ones(len(rows), bool)
            if len(chosen):
                kept = np.repeat(chosen.numpy(), each)
            host[rows.numpy()[kept]] = values.numpy().reshape(len(rows), *array.shape[1:])[kept]
            array.assign(host)
            return
        inputs = [rows, _as_words(values, len(rows)), chosen, each]
        launch_directly(_launch, scatter_rows, len(rows), inputs, [_as_words(array, array.shape[0])], array.device)

    def _mask(self, mask: Any) -> tuple[wp.array, int]:
        """A flat mask (empty for all), and how many articulations each of its entries stands for."""
        if mask is None:
            return self._kinematics.none, 1
        if not isinstance(mask, wp.array):
            mask = wp.array(np.asarray(mask, bool), dtype=wp.bool, device=self._kinematics.device)
        shapes = {(self.world_count,): self.count_per_world, (self.world_count, self.count_per_world): 1}
        if mask.shape not in shapes or mask.dtype not in (wp.bool, bool):
            raise ValueError(f"ArticulationView: expected a bool mask of shape {' or '.join(map(str, shapes))}, found {mask.shape}")
        return mask.flatten(), shapes[mask.shape]

    # ---- by name

    def get_dof_positions(self, source: Any) -> wp.array:
        """Coordinates of the joints, ``joint_q``."""
        return self.get_attribute("joint_q", source)

    def set_dof_positions(self, target: Any, values: Any, mask: Any = None) -> None:
        """Write coordinates of the joints, ``joint_q``; arguments as :meth:`set_attribute`."""
        self.set_attribute("joint_q", target, values, mask)

    def get_dof_velocities(self, source: Any) -> wp.array:
        """Velocities of the joints, ``joint_qd``."""
        return self.get_attribute("joint_qd", source)

    def set_dof_velocities(self, target: Any, values: Any, mask: Any = None) -> None:
        """Write velocities of the joints, ``joint_qd``; arguments as :meth:`set_attribute`."""
        self.set_attribute("joint_qd", target, values, mask)

    def get_dof_forces(self, source: Any) -> wp.array:
        """Efforts of a Control, ``joint_f``."""
        return self.get_attribute("joint_f", source)

    def set_dof_forces(self, target: Any, values: Any, mask: Any = None) -> None:
        """Write efforts of a Control, ``joint_f``; arguments as :meth:`set_attribute`."""
        self.set_attribute("joint_f", target, values, mask)

    def get_link_transforms(self, source: Any) -> wp.array:
        """Poses of the bodies, ``body_q``."""
        return self.get_attribute("body_q", source)

    def get_link_velocities(self, source: Any) -> wp.array:
        """Twists of the bodies, ``body_qd``."""
        return self.get_attribute("body_qd", source)

    def get_root_transforms(self, source: Any) -> wp.array:
        """Coordinates of the free root joint as transforms; without one the anchor of the root joint on its parent, of the model."""
        if not self.is_floating_base:
            return self._read(self._tables["joint"].arrays["X_p"], self._root_rows[2]).reshape(self._heads)
        return _retyped(self._read(source.joint_q, self._root_rows[0]), wp.transform, self._heads)

    def set_root_transforms(self, target: Any, values: Any, mask: Any = None) -> None:
        """Write what :meth:`get_root_transforms` reads; ``eval_fk`` then moves the bodies."""
        values = _as_array(values, self._heads, wp.empty(0, dtype=wp.transform, device=self._kinematics.device))
        if not self.is_floating_base:
            self._write(self._tables["joint"].arrays["X_p"], self._root_rows[2], values.reshape((*self._heads, 1)), mask)
            return
        self._write(target.joint_q, self._root_rows[0], _retyped(values, wp.float32, (*self._heads, 7)), mask)

    def get_root_velocities(self, source: Any) -> wp.array:
        """Velocities of the free root joint as spatial vectors.

        Raises:
            ValueError: The root joint is not free.
        """
        self._need_floating("get_root_velocities")
        return _retyped(self._read(source.joint_qd, self._root_rows[1]), wp.spatial_vector, self._heads)

    def set_root_velocities(self, target: Any, values: Any, mask: Any = None) -> None:
        """Write velocities of the free root joint; arguments as :meth:`set_attribute`, with shape (worlds, each) of spatial vectors.

        Raises:
            ValueError: The root joint is not free.
        """
        self._need_floating("set_root_velocities")
        values = _as_array(values, self._heads, wp.empty(0, dtype=wp.spatial_vector, device=self._kinematics.device))
        self._write(target.joint_qd, self._root_rows[1], _retyped(values, wp.float32, (*self._heads, 6)), mask)

    @property
    def _heads(self) -> tuple[int, int]:
        return self.world_count, self.count_per_world

    def _need_floating(self, method: str) -> None:
        if not self.is_floating_base:
            raise ValueError(f"ArticulationView.{method}: the root joint is not free; its velocities are get_dof_velocities")

    # ---- kinematics

    def get_model_articulation_mask(self, mask: Any = None) -> wp.array:
        """A mask of all articulations of the model, bool (articulations,), from one of the view."""
        chosen, each = self._mask(mask)
        made = wp.zeros(self._kinematics.articulations, dtype=wp.bool, device=self._kinematics.device)
        rows = self._device_rows["articulation"]
        launch_directly(_launch, spread_mask, len(rows), [rows, chosen, each], [made], made.device)
        return made

    def eval_fk(self, target: Any, mask: Any = None, *, joint_mask: wp.array | None = None) -> None:
        """Move the bodies of the view's articulations to where their coordinates put them (:func:`hooke.eval_fk`).

        Args:
            target: Model or State.
            mask: As :meth:`set_attribute`.
            joint_mask: Joints of the model to take, bool (joints,).
        """
        eval_fk(self.model, target.joint_q, target.joint_qd, target, self.get_model_articulation_mask(mask), joint_mask=joint_mask)


def _name(label: str) -> str:
    return label.rsplit("/", 1)[-1]


def _filtered(names: list[str], include: Any, exclude: Any) -> list[int]:
    kept = list(range(len(names))) if include is None else match_labels(names, include)
    dropped = set() if exclude is None else set(match_labels(names, exclude))
    return [k for k in kept if k not in dropped]


def _spans(starts: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Rows of the numbers of joints (n, m), with as many in each row."""
    spans = [np.concatenate([np.arange(starts[j], starts[j + 1]) for j in row]) if len(row) else np.zeros(0, int) for row in joints]
    return np.array(spans, int).reshape(len(joints), -1)


def _words_per_row(array: wp.array) -> int | None:
    """Words of 4 bytes in a row; None if it is no whole number of them."""
    size = wp.types.type_size_in_bytes(array.dtype) * int(np.prod(array.shape[1:], initial=1))
    return size // 4 if size % 4 == 0 else None


def _as_words(array: wp.array, rows: int) -> wp.array:
    """The memory of an array as rows of words."""
    if not array.is_contiguous:
        raise ValueError("ArticulationView: expected contiguous arrays")
    words = array.size * wp.types.type_size_in_bytes(array.dtype) // 4
    return wp.array(ptr=array.ptr, shape=(rows, words // rows), dtype=wp.int32, device=array.device)


def _retyped(array: wp.array, dtype: Any, shape: tuple[int, ...]) -> wp.array:
    """The same numbers under another type, in memory of their own."""
    made = wp.empty(shape, dtype=dtype, device=array.device)
    if made.size:
        launch_directly(wp.copy, _as_words(made, made.size), _as_words(array, made.size))
    return made


def _as_array(values: Any, shape: tuple[int, ...], like: wp.array) -> wp.array:
    """Values as an array of a shape and the type of another."""
    if isinstance(values, wp.array):
        if values.shape != shape or not wp.types.types_equal(values.dtype, like.dtype) or values.device != like.device:
            raise ValueError(
                f"ArticulationView: expected {like.dtype.__name__} {shape} on {like.device}, found {values.dtype.__name__} "
                f"{values.shape} on {values.device}"
            )
        return values.contiguous()
    inner = tuple(getattr(like.dtype, "_shape_", ()))
    host = np.broadcast_to(np.asarray(values), (*shape, *inner))
    return wp.array(np.ascontiguousarray(host), dtype=like.dtype, device=like.device)


def _launch(kernel: Any, count: int, inputs: list[Any], outputs: list[Any], device: Any) -> None:
    wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=device)

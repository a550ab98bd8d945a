"""Custom attributes: columns that a solver or a user adds to the tables under a namespace."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Rows, Table

__all__ = [
    "AttributeAssignment",
    "AttributeFrequency",
    "AttributeNamespace",
    "CustomAttribute",
    "CustomFrequency",
    "fill_pending_values",
]


class AttributeAssignment(IntEnum):
    """The object that receives the array of a custom attribute."""

    MODEL = 0
    STATE = 1
    CONTROL = 2
    CONTACT = 3


class AttributeFrequency(IntEnum):
    """The kind of entity that a custom attribute has one value for."""

    ONCE = 0
    JOINT = 1
    JOINT_DOF = 2
    JOINT_COORD = 3
    JOINT_CONSTRAINT = 4
    BODY = 5
    SHAPE = 6
    ARTICULATION = 7
    PARTICLE = 9
    EDGE = 10
    TRIANGLE = 11
    TETRAHEDRON = 12
    SPRING = 13
    CONSTRAINT_MIMIC = 14
    WORLD = 15


_SHORT = {"triangle": "tri", "tetrahedron": "tet"}


def table_of(kind: AttributeFrequency | str) -> str:
    """Name of the table that holds a kind of entity, named by its frequency or in words."""
    name = kind if isinstance(kind, str) else AttributeFrequency(kind).name.lower()
    return _SHORT.get(name, name)


@dataclass
class CustomFrequency:
    """A kind of entity that the user defines; its rows come from ``ModelBuilder.add_custom_values``."""

    name: str
    namespace: str | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}:{self.name}" if self.namespace else self.name


@dataclass
class CustomAttribute:
    """Declaration of a custom attribute.

    Args:
        name: Name of the array.
        dtype: Warp type, or ``str`` for a Python list.
        frequency: AttributeFrequency, or the key of a CustomFrequency.
        assignment: Object that receives the array.
        namespace: Appears as ``model.<namespace>.<name>``; None puts it on the object itself.
        references: Kind of entity whose indices the values are; merging adds that kind's offset.
        default: Value of entities that author none; None is zero.
        values: Values by index, or one value for ``ONCE``.
        usd_attribute_name: Name in USD files; None is ``newton:<namespace>:<name>``.
        mjcf_attribute_name: Name in MJCF files.
        urdf_attribute_name: Name in URDF files.
        usd_value_transformer: Applied to a value read from USD.
        mjcf_value_transformer: Applied to a value read from MJCF.
        urdf_value_transformer: Applied to a value read from URDF.
    """

    name: str
    dtype: Any
    frequency: AttributeFrequency | str
    assignment: AttributeAssignment = AttributeAssignment.MODEL
    namespace: str | None = None
    references: str | None = None
    default: Any = None
    values: Any = None
    usd_attribute_name: str | None = None
    mjcf_attribute_name: str | None = None
    urdf_attribute_name: str | None = None
    usd_value_transformer: Callable[..., Any] | None = None
    mjcf_value_transformer: Callable[..., Any] | None = None
    urdf_value_transformer: Callable[..., Any] | None = None
    column: Column = field(init=False)
    pending: dict[int, Any] = field(init=False, repr=False)

    def __post_init__(self):
        self.assignment = AttributeAssignment(self.assignment)
        if not isinstance(self.frequency, str):
            self.frequency = AttributeFrequency(self.frequency)
        if self.usd_attribute_name is None:
            self.usd_attribute_name = f"newton:{self.namespace}:{self.name}" if self.namespace else f"newton:{self.name}"
        dtype = {int: wp.int32, float: wp.float32, bool: wp.bool}.get(self.dtype, self.dtype)
        default = ("" if dtype is str else 0) if self.default is None else self.default
        refers = None if self.references is None else table_of(self.references)
        self.column = Column(self.key, dtype, default, refers=refers, kernel=False)
        self.pending = dict(self.values) if isinstance(self.values, dict) else {} if self.values is None else {0: self.values}

    @property
    def key(self) -> str:
        return f"{self.namespace}:{self.name}" if self.namespace else self.name


class AttributeNamespace:
    """Holder of the arrays of one namespace, e.g. ``model.vbd``."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}: {', '.join(k for k in vars(self) if not k.startswith('_'))}>"


class CustomMethods:
    """The methods of ModelBuilder that concern custom attributes."""

    _tables: dict[str, Rows]

    def add_custom_attribute(self, attribute: CustomAttribute) -> None:
        """Register an attribute; entities that exist take its default. Registering an equal one again does nothing."""
        known = self.custom_attributes.get(attribute.key)
        if known is not None:
            if not _same_declaration(known, attribute):
                raise ValueError(f"custom attribute {attribute.key!r} is already registered with another declaration")
            return
        if attribute.namespace is None and attribute.name in self._reserved_names:
            raise ValueError(f"custom attribute {attribute.name!r}: the model has an attribute of this name; give it a namespace")
        table = table_of(attribute.frequency)
        if table not in self._tables:
            raise ValueError(
                f"custom attribute {attribute.key!r}: unknown frequency {attribute.frequency!r}; register it first with "
                f"add_custom_frequency, or use one of {[f.name for f in AttributeFrequency]}"
            )
        refers = attribute.column.refers
        if refers is not None and refers not in self._tables:
            raise ValueError(f"custom attribute {attribute.key!r} references {attribute.references!r}, which is no kind of entity")
        rows = self._tables[table]
        rows.add_column(attribute.column)
        self.custom_attributes[attribute.key] = attribute = copy.copy(attribute)
        attribute.pending = {
            index: value for index, value in attribute.pending.items() if not self._fill(rows, attribute, index, value)
        }

    @staticmethod
    def _fill(rows: Rows, attribute: CustomAttribute, index: int, value: Any) -> bool:
        """Write a value of a declaration to its row, if there is one already."""
        if index < rows.count:
            rows.columns[attribute.key][index] = value
        return index < rows.count

    def _take_attributes(self, other: Any) -> None:
        """Register the attributes of another builder; their values come with its rows."""
        for key, attribute in other.custom_attributes.items():
            new = key not in self.custom_attributes
            attribute = copy.copy(attribute)
            attribute.pending = {}
            self.add_custom_attribute(attribute)
            if new and attribute.frequency == AttributeFrequency.ONCE:
                self._tables["once"].columns[key][0] = other._tables["once"].columns[key][0]

    def add_custom_frequency(self, frequency: CustomFrequency | str) -> None:
        """Register a kind of entity of the user's own."""
        key = frequency.key if isinstance(frequency, CustomFrequency) else frequency
        if key not in self._tables:
            self._tables[key] = Rows(Table(key, f"{key}:", ()))
            self.custom_frequencies.append(key)

    def add_custom_values(self, **values: Any) -> dict[str, int]:
        """Append one row to a custom frequency.

        Args:
            **values: Value by attribute key (``"namespace:name"``); all of one frequency.

        Returns:
            Row index by key.
        """
        tables = set()
        for key in values:
            attribute = self._custom_attribute(key)
            if attribute.frequency == AttributeFrequency.ONCE:
                self._tables["once"].columns[key][0] = values[key]
            elif not isinstance(attribute.frequency, str):
                raise TypeError(f"custom attribute {key!r} has frequency {attribute.frequency!r}: author it on the entity")
            else:
                tables.add(attribute.frequency)
        if len(tables) > 1:
            raise ValueError(f"add_custom_values: {sorted(values)} belong to different frequencies {sorted(tables)}")
        if not tables:
            return dict.fromkeys(values, 0)
        row = self._tables[tables.pop()].append(**values)
        return dict.fromkeys(values, row)

    def add_custom_values_batch(self, entries: Iterable[dict[str, Any]]) -> list[dict[str, int]]:
        """Append one row for every dictionary of values."""
        return [self.add_custom_values(**entry) for entry in entries]

    def has_custom_attribute(self, key: str) -> bool:
        """Whether an attribute is registered under ``key`` ("namespace:name")."""
        return key in self.custom_attributes

    def get_custom_attributes_by_frequency(self, frequencies: Iterable[AttributeFrequency | str]) -> list[CustomAttribute]:
        """The registered attributes of some frequencies."""
        wanted = set(frequencies)
        return [a for a in self.custom_attributes.values() if a.frequency in wanted]

    def get_custom_frequency_keys(self) -> set[str]:
        """Keys of the frequencies that :meth:`add_custom_frequency` registered."""
        return set(self.custom_frequencies)

    def _custom_attribute(self, key: str) -> CustomAttribute:
        if key not in self.custom_attributes:
            known = ", ".join(map(repr, self.custom_attributes)) or "none"
            raise ValueError(f"unknown custom attribute {key!r}; registered: {known}")
        return self.custom_attributes[key]

    def _author(self, table: str, values: dict[str, Any] | None, first: int, count: int = 1) -> None:
        """Write the ``custom_attributes`` of an adder to the rows ``first ... first + count`` of a table."""
        for key, value in (values or {}).items():
            attribute = self._custom_attribute(key)
            if table_of(attribute.frequency) != table:
                raise ValueError(f"custom attribute {key!r} has frequency {attribute.frequency!r}, not {table!r}")
            column = self._tables[table].columns[key]
            for k, entry in enumerate(_one_each(key, attribute.column, value, count)):
                column[first + k] = entry


def _one_each(key: str, column: Column, value: Any, count: int) -> list[Any]:
    """The values of ``count`` rows: one for all, or one for each."""
    if column.dtype is str or column.dtype is object:
        several = isinstance(value, (list, tuple, np.ndarray))
    else:
        several = np.ndim(value) > len(column.row_shape)
    if not several:
        return [value] * count
    if len(value) != count:
        raise ValueError(f"custom attribute {key!r}: expected one value, or one for each of {count} rows, found {len(value)}")
    return list(value)


def _same_declaration(a: CustomAttribute, b: CustomAttribute) -> bool:
    same = all(getattr(a, name) == getattr(b, name) for name in ("dtype", "frequency", "assignment", "references"))
    return same and np.array_equal(np.asarray(a.column.default), np.asarray(b.column.default))


def fill_pending_values(builder: Any) -> None:
    """Write the values of declarations whose rows came later, unless they were authored since.

    Raises:
        ValueError: A declaration has a value for a row that does not exist.
    """
    for key, attribute in builder.custom_attributes.items():
        rows = builder._tables[table_of(attribute.frequency)]
        for index, value in attribute.pending.items():
            if not 0 <= index < rows.count:
                raise ValueError(f"custom attribute {key!r} has a value for row {index}; there are {rows.count}")
            column = rows.columns[key]
            if np.array_equal(np.asarray(column[index]), np.asarray(attribute.column.default)):
                column[index] = value

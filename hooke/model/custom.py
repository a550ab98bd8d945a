"""Custom attributes: columns that a solver or a user adds to the tables under a namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import warp as wp

from hooke.data.table import Column, Rows, Table

__all__ = ["AttributeAssignment", "AttributeFrequency", "AttributeNamespace", "CustomAttribute", "CustomFrequency"]


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


_TABLE_OF = {
    AttributeFrequency.EDGE: "edge",
    AttributeFrequency.TRIANGLE: "tri",
    AttributeFrequency.TETRAHEDRON: "tet",
}


def table_of(frequency: AttributeFrequency | str) -> str:
    """Name of the table that a frequency counts the rows of."""
    if isinstance(frequency, str):
        return frequency
    frequency = AttributeFrequency(frequency)
    return _TABLE_OF.get(frequency, frequency.name.lower())


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

    def __post_init__(self):
        self.assignment = AttributeAssignment(self.assignment)
        if not isinstance(self.frequency, str):
            self.frequency = AttributeFrequency(self.frequency)
        if self.usd_attribute_name is None:
            self.usd_attribute_name = f"newton:{self.namespace}:{self.name}" if self.namespace else f"newton:{self.name}"
        dtype = {int: wp.int32, float: wp.float32, bool: wp.bool}.get(self.dtype, self.dtype)
        default = ("" if dtype is str else 0) if self.default is None else self.default
        self.column = Column(self.key, dtype, default, refers=self.references, kernel=False)

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
            same = ("dtype", "frequency", "assignment", "references", "default")
            if any(getattr(known, s) != getattr(attribute, s) for s in same):
                raise ValueError(f"custom attribute {attribute.key!r} is already registered with another declaration")
            return
        table = table_of(attribute.frequency)
        if table not in self._tables:
            raise ValueError(
                f"custom attribute {attribute.key!r}: unknown frequency {attribute.frequency!r}; register it first with "
                f"add_custom_frequency, or use one of {[f.name for f in AttributeFrequency]}"
            )
        rows = self._tables[table]
        rows.add_column(attribute.column)
        self.custom_attributes[attribute.key] = attribute
        if attribute.values is not None:
            values = attribute.values if isinstance(attribute.values, dict) else {0: attribute.values}
            for index, value in values.items():
                rows.columns[attribute.key][index] = value

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
            several = isinstance(value, (list, tuple)) and len(value) == count and not attribute.column.row_shape
            for k in range(count):
                column[first + k] = value[k] if several else value

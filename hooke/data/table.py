"""Tables: the one form in which a model keeps its data.

A kind of entity is declared once, as a :class:`Table` of :class:`Column` s. Everything else is generic over that declaration: the
growing columns of the builder (:class:`Rows`), the arrays of a model with the struct that kernels take (:class:`TableData`),
merging with offsets and rigid motions, the flat public names (``prefix + column``), tables read from a foreign object, and the
reference page.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

__all__ = ["Column", "ColumnList", "Rows", "Table", "TableData", "row_count"]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Args:
        name: Name without the table's prefix.
        dtype: Warp scalar, vector, matrix or transform type; ``str`` or ``object`` for a column that stays a Python list.
        default: Value of a row that is appended without one.
        unit: SI unit, empty where there is none.
        doc: Meaning, one sentence.
        width: Scalars per row; above 1 the array is two-dimensional (rows, width), unless ``flat``.
        flat: Store ``width`` scalars per row in one dimension.
        refers: Name of the table whose rows the values index (-1 = none); merging adds that table's offset.
        moves: How a rigid motion acts on a value: ``"point"``, ``"vector"``, ``"pose"`` or ``"twist"``.
        minimum: Smallest valid value, or one per scalar of a row; None allows any finite value.
        kernel: Whether the struct passed to kernels has this column.
        derived: Made by ``finalize`` from other columns; the builder has no such column.
    """

    name: str
    dtype: Any
    default: Any = 0
    unit: str = ""
    doc: str = ""
    width: int = 1
    flat: bool = False
    refers: str | None = None
    moves: str | None = None
    minimum: float | tuple[float, ...] | None = None
    kernel: bool = True
    derived: bool = False

    @property
    def is_list(self) -> bool:
        return self.dtype in (str, object)

    @property
    def scalar(self) -> type:
        """NumPy type of what the builder stores: int32, bool or float64 (what was written is read back)."""
        base = getattr(self.dtype, "_wp_scalar_type_", self.dtype)
        if base in (bool, wp.bool):
            return np.bool_
        if base in (int, wp.int32):
            return np.int32
        return np.uint64 if base is wp.uint64 else np.float64

    @property
    def row_shape(self) -> tuple[int, ...]:
        if self.width > 1:
            return (self.width,)
        return tuple(getattr(self.dtype, "_shape_", ()))

    @property
    def array_type(self) -> Any:
        """Annotation of this column in the struct that kernels take."""
        return wp.array(dtype=self.dtype, ndim=2 if self.width > 1 and not self.flat else 1)

    def to_array(self, values: Any, device: Any) -> wp.array:
        """Copy host values (rows, ...) to a Warp array of this column's type."""
        values = np.asarray(values)
        if self.flat:
            values = values.reshape(-1)
        ndim = 2 if self.width > 1 and not self.flat else 1
        if values.shape[0] == 0:
            return wp.empty((0, self.width) if ndim == 2 else 0, dtype=self.dtype, device=device)
        return wp.array(values, dtype=self.dtype, device=device)


@dataclass(frozen=True, eq=False)
class Table:
    """A kind of entity: its name in the singular, the prefix of its public names, and its columns."""

    name: str
    prefix: str
    columns: tuple[Column, ...]
    doc: str = ""
    struct: Any = field(default=None)

    def __post_init__(self):
        if self.struct is None:
            fields = {c.name: c.array_type for c in self.columns if c.kernel and not c.is_list}
            title = "".join(word.capitalize() for word in self.name.split("_"))
            body = {"__annotations__": fields, "__module__": __name__, "__qualname__": title, "__doc__": self.doc}
            object.__setattr__(self, "struct", wp.struct(type(title, (), body)) if fields else None)

    @property
    def count_name(self) -> str:
        return f"{self.name}_count"

    def column(self, name: str) -> Column:
        for c in self.columns:
            if c.name == name:
                return c
        raise KeyError(f"table {self.name!r} has no column {name!r}")


class ColumnList(MutableSequence):
    """A builder's column: behaves like a list, stores a growing NumPy array.

    Reading an item gives a Python scalar, a tuple (columns with a width) or a Warp value (vectors, matrices, transforms).
    ``column.array`` is a live view of all rows.
    """

    def __init__(self, column: Column, count: int = 0):
        self.column = column
        self._shape, self._scalar = column.row_shape, column.scalar
        self._data: np.ndarray = np.zeros((max(count, 8), *self._shape), dtype=self._scalar)
        self._count = 0
        if count:
            self.extend_array(count, column.default)

    @property
    def array(self) -> np.ndarray:
        return self._data[: self._count]

    def _reserve(self, count: int) -> None:
        if count > len(self._data):
            grown = np.zeros((max(count, 2 * len(self._data)), *self._data.shape[1:]), dtype=self._data.dtype)
            grown[: self._count] = self.array
            self._data = grown

    def extend_array(self, count: int, values: Any) -> None:
        """Append ``count`` rows; a single value is repeated."""
        self._reserve(self._count + count)
        self._data[self._count : self._count + count] = self._convert(values)
        self._count += count

    def replace_array(self, rows: np.ndarray) -> None:
        """Take other rows, as many as are given."""
        self._count = len(rows)
        self._data = np.array(rows, dtype=self._data.dtype)

    def _convert(self, values: Any) -> Any:
        shape = self._shape
        values = np.asarray(values, dtype=self._scalar)
        if not shape or values.ndim == 0 or values.shape[-len(shape) :] == shape:
            return values
        return values.reshape(*values.shape[:-1], *shape)  # a matrix authored as its entries in a row

    def _flat_index(self, index: int) -> tuple[int, int]:
        return divmod(index if index >= 0 else index + len(self), self.column.width)

    def _value(self, row: Any) -> Any:
        c = self.column
        if not c.row_shape:
            return row.item()
        if c.width > 1:
            return tuple(row.tolist())
        return c.dtype(*row.ravel().tolist())

    def __len__(self) -> int:
        return self._count * (self.column.width if self.column.flat else 1)

    def __getitem__(self, index: Any) -> Any:
        if self.column.flat:
            return self.array.reshape(-1)[index].tolist()
        if isinstance(index, slice):
            return [self._value(r) for r in self.array[index]]
        return self._value(self.array[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.column.flat:
            self.array.reshape(-1)[index] = value
        elif isinstance(index, slice):
            value = [np.asarray(v) for v in value] if not isinstance(value, np.ndarray) else value
            target = range(*index.indices(self._count))
            if len(value) != len(target):
                raise ValueError(f"cannot assign {len(value)} values to {len(target)} rows of column {self.column.name!r}")
            if len(target):
                self.array[index] = self._convert(value)
        else:
            self.array[index] = self._convert(value)

    def _refuse_flat(self, what: str) -> None:
        if self.column.flat:
            raise TypeError(
                f"cannot {what} column {self.column.name!r}: a row is {self.column.width} values; assign the whole column"
            )

    def __delitem__(self, index: Any) -> None:
        self._refuse_flat("delete from")
        kept = np.delete(self.array, index, axis=0)
        self._count = len(kept)
        self._data[: self._count] = kept

    def insert(self, index: int, value: Any) -> None:
        self._refuse_flat("insert into")
        self.extend_array(1, self.column.default)
        index = min(max(index if index >= 0 else index + self._count - 1, 0), self._count - 1)
        self._data[index + 1 : self._count] = self._data[index : self._count - 1].copy()
        self[index] = value

    def append(self, value: Any) -> None:
        """Append one row."""
        if self.column.flat and np.size(value) != self.column.width:
            raise ValueError(f"column {self.column.name!r}: expected {self.column.width} values per row, found {np.size(value)}")
        self.extend_array(1, value)

    def extend(self, values: Iterable[Any]) -> None:
        values = list(values) if not isinstance(values, np.ndarray) else values
        if len(values):
            rows = np.asarray(values) if isinstance(values, np.ndarray) else np.stack([np.asarray(v) for v in values])
            if self.column.flat:
                if rows.size % self.column.width:
                    raise ValueError(f"column {self.column.name!r}: expected {self.column.width} values per row, found {rows.size}")
                rows = rows.reshape(-1, self.column.width)
            self.extend_array(len(rows), rows)

    def __iadd__(self, values: Iterable[Any]):
        self.extend(values)
        return self

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (ColumnList, list, tuple, np.ndarray)):
            return NotImplemented
        if len(other) != len(self):
            return False
        other = other.array if isinstance(other, ColumnList) else other
        try:
            return bool(np.array_equal(self.array.reshape(-1), np.asarray(other).reshape(-1)))
        except (ValueError, TypeError):
            return False

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.array, dtype=dtype)

    def __repr__(self) -> str:
        return repr(self[:])


def row_count(data: Any) -> int:
    """Rows of a column of a builder, list or not."""
    return len(data.array) if isinstance(data, ColumnList) else len(data)


def _new_column(column: Column, count: int) -> Any:
    return [column.default] * count if column.is_list else ColumnList(column, count)


class Rows:
    """The rows of one table while a model is built."""

    def __init__(self, table: Table):
        self.table = table
        self._bare = 0  # rows of a table that has no column yet
        self.columns: dict[str, Any] = {}
        self.declared: dict[str, Column] = {}
        for column in table.columns:
            if not column.derived:
                self.add_column(column)

    @property
    def count(self) -> int:
        """Number of rows: that of the first column, since users may append to columns themselves."""
        for data in self.columns.values():
            return row_count(data)
        return self._bare

    def add_column(self, column: Column) -> None:
        """Add a column (a solver's custom attribute); rows that exist take its default."""
        count = self.count
        self.declared[column.name] = column
        self.columns[column.name] = _new_column(column, count)

    def append(self, **values: Any) -> int:
        """Append one row and return its index; columns that are not named take their defaults."""
        for name, data in self.columns.items():
            column = self.declared[name]
            value = values.pop(name, column.default)
            if column.is_list:
                data.append(value)
            else:
                data.extend_array(1, value)
        self._reject(values)
        self._bare += 1
        return self.count - 1

    def extend(self, count: int, **values: Any) -> range:
        """Append ``count`` rows; a value is one row's (repeated) or an array of ``count`` rows."""
        for name, data in self.columns.items():
            column = self.declared[name]
            value = values.pop(name, column.default)
            if column.is_list:
                data.extend(value if isinstance(value, list) else [value] * count)
            else:
                data.extend_array(count, value)
        self._reject(values)
        self._bare += count
        return range(self.count - count, self.count)

    def keep(self, kept: np.ndarray) -> None:
        """Leave only some rows: ``kept`` is a bool for each, or their indices in order."""
        indices = np.flatnonzero(kept) if kept.dtype == bool else kept
        for name, data in self.columns.items():
            if isinstance(data, ColumnList):
                data.replace_array(data.array[indices])
            else:
                self.columns[name] = [data[i] for i in indices]
        self._bare = len(indices)

    def _reject(self, unknown: dict[str, Any]) -> None:
        if unknown:
            raise TypeError(f"table {self.table.name!r} has no column {', '.join(map(repr, unknown))}")

    def merge(self, other: Rows, offsets: dict[str, int], motion: Any, **replaced: Any) -> range:
        """Append all rows of another builder's table: references get offsets, placed columns the rigid ``motion``."""
        values = dict(replaced)
        for name, data in other.columns.items():
            column = other.declared[name]
            if name not in self.columns:
                self.add_column(column)
            if name in values:
                continue
            if column.is_list:
                values[name] = list(data)
                continue
            rows = data.array
            if column.refers:
                rows = np.where(rows >= 0, rows + offsets.get(column.refers, 0), rows)
            if column.moves and motion is not None:
                rows = motion.apply(column.moves, rows)
            values[name] = rows
        return self.extend(other.count, **values)


class TableData:
    """The arrays of one table in a model, and the struct of them that kernels take.

    Attributes:
        arrays: Arrays (or lists) by column name.
        version: Grows with every re-bound array; recorded launches compare it.
    """

    def __init__(self, table: Table, arrays: dict[str, Any], count: int, device: Any):
        self.table = table
        self.arrays = {}
        self.count = count
        self.device = device
        self.version = 0
        self.struct = table.struct() if table.struct is not None else None
        for column in table.columns:
            if column.name in arrays:
                self.bind(column, arrays[column.name])
            elif column.is_list:
                self.arrays[column.name] = [column.default] * count
            else:
                rows: Any = np.broadcast_to(np.asarray(column.default, dtype=column.scalar), (count, *column.row_shape))
                self.bind(column, column.to_array(rows, device))
        self.version = 0

    @classmethod
    def from_object(cls, table: Table, source: Any, count: int, device: Any) -> TableData:
        """Read a table from any object with the documented flat arrays; nothing is copied."""
        arrays = {c.name: getattr(source, table.prefix + c.name, None) for c in table.columns}
        return cls(table, {k: v for k, v in arrays.items() if isinstance(v, (wp.array, np.ndarray, list))}, count, device)

    def bind(self, column: Column, value: Any) -> None:
        """Make ``value`` the array of a column, after checking its type, size and device."""
        if column.is_list:
            self.arrays[column.name] = value
            return
        name = self.table.prefix + column.name
        if not isinstance(value, wp.array):
            value = column.to_array(value, self.device)
        rows = self.count * (column.width if column.flat else 1)
        shape = (rows, column.width) if column.width > 1 and not column.flat else (rows,)
        if value.ndim != len(shape) or value.shape[1:] != shape[1:]:
            raise ValueError(f"{name}: expected an array of shape {shape}, found {value.shape}")
        if value.shape[0] != rows:
            raise ValueError(f"{name}: expected {rows} rows, found {value.shape[0]}")
        if not wp.types.types_equal(value.dtype, column.dtype):
            raise TypeError(f"{name}: expected an array of {column.dtype.__name__}, found {value.dtype.__name__}")
        if value.device != wp.get_device(self.device):
            raise ValueError(f"{name}: the array is on device {value.device}, the model on {self.device}")
        self.arrays[column.name] = value
        self.version += 1
        if self.struct is not None and column.kernel:
            setattr(self.struct, column.name, value)

"""A builder's column is a list: every operation is compared with the same operation on a Python list."""

import numpy as np
import pytest
import warp as wp

from hooke.data.table import Column, ColumnList, Rows, Table

MASS = Column("mass", wp.float32, 1.0)
FLAGS = Column("flags", wp.int32, 0)
LOCKED = Column("locked", wp.bool, False)
PLACE = Column("place", wp.vec3, (0.0, 0.0, 0.0))
POSE = Column("pose", wp.transform, (0.0,) * 6 + (1.0,))
PAIR = Column("pair", wp.int32, -1, width=2)
ENDS = Column("ends", wp.int32, -1, width=2, flat=True)

VALUES = {
    MASS: [0.5, 1.5, 0.1, 4.0, 2.0],
    FLAGS: [3, -1, 7, 0, 5],
    LOCKED: [True, False, True, True, False],
    PLACE: [wp.vec3(i, i + 0.5, -i) for i in range(5)],
    POSE: [wp.transform((i, 0, 1), wp.quat(0.0, 0.0, 1.0, 0.0)) for i in range(5)],
    PAIR: [(i, 2 * i) for i in range(5)],
}
KINDS = pytest.mark.parametrize("column", VALUES, ids=lambda c: c.name)
SLICES = [slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(-2, None), slice(3, 1), slice(0, 99)]


def filled(column):
    return ColumnList(column), list(VALUES[column])


def same(column_list, expected):
    assert len(column_list) == len(expected)
    assert list(column_list) == expected


@KINDS
def test_read(column):
    data, plain = filled(column)
    data.extend(plain)
    same(data, plain)
    for i in range(-5, 5):
        assert data[i] == plain[i]
    for s in SLICES:
        assert data[s] == plain[s], s
    for i in (5, -6, 100):
        with pytest.raises(IndexError):
            data[i]
    assert plain[2] in data
    assert data.index(plain[3]) == plain.index(plain[3])


@KINDS
def test_grow(column):
    data, plain = filled(column)
    for value in plain:
        data.append(value)
    data += plain
    data.extend(plain[:2])
    data.extend([])
    data.extend(np.asarray([np.asarray(v) for v in plain]))
    same(data, plain + plain + plain[:2] + plain)


@KINDS
def test_write(column):
    data, plain = filled(column)
    data.extend(plain)
    first = plain[0]
    data[1], plain[1] = first, first
    data[-1], plain[-1] = first, first
    same(data, plain)
    for s in SLICES:
        values = VALUES[column][: len(plain[s])]
        data[s] = values
        plain[s] = values
        same(data, plain)
    with pytest.raises(IndexError):
        data[5] = first
    with pytest.raises(ValueError, match=column.name):
        data[:] = plain[:3]


@KINDS
def test_insert_and_delete(column):
    data, plain = filled(column)
    value = plain[0]
    data.extend(plain)
    for i in (0, 3, -1, 99, -99, -2):
        data.insert(i, value)
        plain.insert(i, value)
        same(data, plain)
    for i in (0, -1, slice(1, 3), slice(None, None, 3)):
        del data[i]
        del plain[i]
        same(data, plain)
    assert data.pop() == plain.pop()
    assert data.pop(0) == plain.pop(0)
    data.reverse()
    plain.reverse()
    same(data, plain)
    data.clear()
    same(data, [])
    data.insert(0, value)
    data.insert(-1, value)
    same(data, [value, value])


@KINDS
def test_equality(column):
    data, plain = filled(column)
    data.extend(plain)
    assert data == plain
    assert plain == data
    assert data != plain[:-1]
    assert data != plain[::-1]
    other = ColumnList(column)
    assert data != other
    other.extend(plain)
    assert data == other
    assert data != "text"
    assert data != None and data != 3  # noqa: E711


def test_equality_is_left_to_what_knows_better():
    data = ColumnList(MASS)
    data.extend([1.0, 2.0])
    assert data == pytest.approx([1.0 + 1e-9, 2.0])


@KINDS
def test_an_empty_column_equals_an_empty_list(column):
    data = ColumnList(column)
    assert data == []
    assert data == ColumnList(column)
    assert data != VALUES[column][:1]


@KINDS
def test_numpy(column):
    data, plain = filled(column)
    data.extend(plain)
    expected = np.array([np.asarray(v) for v in plain])
    np.testing.assert_array_equal(np.asarray(data), expected)
    assert np.asarray(data, np.float32).dtype == np.float32
    data.array[0] = 0  # a live view
    np.testing.assert_array_equal(np.asarray(data[0], dtype=float), np.zeros(expected.shape[1:]))
    copied = np.array(data)
    copied[:] = 1
    np.testing.assert_array_equal(np.asarray(data[0], dtype=float), np.zeros(expected.shape[1:]))


def test_values_are_python_or_warp_values():
    data = {c.name: ColumnList(c) for c in VALUES}
    for c, values in VALUES.items():
        data[c.name].extend(values)
    assert type(data["mass"][0]) is float and type(data["flags"][0]) is int and type(data["locked"][0]) is bool
    assert isinstance(data["place"][0], wp.vec3) and isinstance(data["pose"][0], wp.transform)
    assert data["pair"][1] == (1, 2)
    data["mass"].append(0.1)
    assert data["mass"][-1] == 0.1  # no rounding to float32 before the model is made


def test_a_flat_column_counts_scalars():
    data = ColumnList(ENDS)
    data.extend([(0, 1), (2, 3)])
    data.extend([4, 5, 6, 7])
    assert len(data) == 8
    assert list(data) == list(range(8))
    assert data[-1] == 7 and data[2:5] == [2, 3, 4] and data[::2] == [0, 2, 4, 6]
    data[3] = 30
    data[0:2] = [10, 11]
    assert data == [10, 11, 2, 30, 4, 5, 6, 7]
    with pytest.raises(TypeError, match="ends"):
        data.insert(0, 1)
    with pytest.raises(IndexError):
        data[8]


def test_a_flat_column_refuses_half_a_row():
    data = ColumnList(ENDS)
    data.extend([(0, 1), (2, 3)])
    with pytest.raises((TypeError, ValueError), match="ends"):
        data.append(4)
    with pytest.raises((TypeError, ValueError), match="ends"):
        data.extend([4, 5, 6])
    with pytest.raises((TypeError, ValueError), match="ends"):
        del data[1]
    assert data == [0, 1, 2, 3]


def test_many_appends_keep_their_order():
    data = ColumnList(PLACE)
    for i in range(1000):
        data.append((i, 2 * i, 3 * i))
    np.testing.assert_array_equal(data.array, np.arange(1000)[:, None] * np.array([1, 2, 3]))


def test_random_operations_match_a_list():
    rng = np.random.default_rng(1)
    data, plain = ColumnList(FLAGS), []
    for _ in range(2000):
        which, i, v = rng.integers(6), int(rng.integers(-12, 12)), int(rng.integers(100))
        if which == 0:
            data.append(v), plain.append(v)
        elif which == 1:
            data.insert(i, v), plain.insert(i, v)
        elif which == 2 and -len(plain) <= i < len(plain):
            del data[i], plain[i]
        elif which == 3 and -len(plain) <= i < len(plain):
            data[i] = plain[i] = v
        elif which == 4:
            assert data[i : i + 4] == plain[i : i + 4]
        elif which == 5 and len(plain) > 20:
            del data[5:], plain[5:]
        assert list(data) == plain


TABLE = Table(
    "bead",
    "bead_",
    (
        Column("place", wp.vec3, (0.0, 0.0, 0.0), moves="point"),
        MASS,
        Column("next", wp.int32, -1, refers="bead"),
        Column("label", str, ""),
        Column("size", wp.float32, derived=True),
    ),
)


def test_rows_fill_in_defaults_and_refuse_unknown_columns():
    rows = Rows(TABLE)
    assert rows.append(place=(1, 2, 3), label="a") == 0
    assert rows.extend(2, mass=[2.0, 3.0], label="b") == range(1, 3)
    assert rows.columns["mass"] == [1.0, 2.0, 3.0]
    assert rows.columns["label"] == ["a", "b", "b"]
    assert rows.columns["next"] == [-1, -1, -1]
    assert "size" not in rows.columns
    with pytest.raises(TypeError, match="'weight'"):
        rows.append(weight=1.0)


def test_a_column_added_later_takes_its_default_in_existing_rows():
    rows = Rows(TABLE)
    rows.extend(3)
    rows.add_column(Column("ns:tau", wp.float32, 2.5))
    rows.append()
    assert rows.columns["ns:tau"] == [2.5] * 4


def test_merge_offsets_references_and_moves_places():
    from hooke.model.motion import RigidMotion

    a, b = Rows(TABLE), Rows(TABLE)
    a.extend(2)
    b.extend(3, place=[(1, 0, 0), (0, 1, 0), (0, 0, 1)], next=[1, 2, -1], label=["x", "y", "z"])
    turn = RigidMotion((0, 0, 5, 0, 0, np.sqrt(0.5), np.sqrt(0.5)))  # a quarter turn about z
    assert a.merge(b, {"bead": 2}, turn) == range(2, 5)
    assert a.columns["next"] == [-1, -1, 3, 4, -1]
    np.testing.assert_allclose(a.columns["place"].array[2:], [(0, 1, 5), (-1, 0, 5), (0, 0, 6)], atol=1e-15)
    assert a.columns["label"] == ["", "", "x", "y", "z"]
    assert b.columns["next"] == [1, 2, -1]

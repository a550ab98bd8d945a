"""Tables on the device: what is bound is what kernels see, and what does not fit is refused by its public name."""

from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

from hooke.data.table import Column, Table, TableData

BEAD = Table(
    "bead",
    "bead_",
    (
        Column("place", wp.vec3, (0.0, 0.0, 7.0)),
        Column("mass", wp.float32, 1.0),
        Column("flags", wp.int32, 3),
        Column("corners", wp.int32, -1, width=4),
        Column("ends", wp.int32, -1, width=2, flat=True),
        Column("note", wp.float32, 0.0, kernel=False),
        Column("label", str, ""),
    ),
)


def table(count=3, **arrays):
    return TableData(BEAD, arrays, count, "cpu")


def test_columns_that_are_not_given_take_their_defaults():
    data = table()
    np.testing.assert_array_equal(data.arrays["place"].numpy(), [(0, 0, 7)] * 3)
    assert data.arrays["mass"].numpy().tolist() == [1.0] * 3
    assert data.arrays["corners"].numpy().tolist() == [[-1] * 4] * 3
    assert data.arrays["ends"].numpy().tolist() == [-1] * 6
    assert data.arrays["label"] == ["", "", ""]
    assert data.version == 0


def test_an_empty_table_has_empty_arrays():
    data = table(0)
    assert data.arrays["place"].shape == (0,)
    assert data.arrays["corners"].shape == (0, 4)
    assert data.struct.mass.shape == (0,)


@wp.kernel(enable_backward=False)
def sum_masses(beads: BEAD.struct, total: wp.array(dtype=wp.float32)):
    for i in range(beads.mass.shape[0]):
        total[0] = total[0] + beads.mass[i] + beads.place[i][2] + float(beads.corners[i, 3]) + float(beads.ends[2 * i + 1])


def total_of(data):
    total = wp.zeros(1, dtype=wp.float32, device="cpu")
    wp.launch(sum_masses, dim=1, inputs=[data.struct], outputs=[total], device="cpu")
    return float(total.numpy()[0])


def test_the_struct_follows_a_bound_array():
    data = table()
    assert total_of(data) == 3 * (1 + 7 - 1 - 1)
    masses = wp.array([2.0, 3.0, 4.0], dtype=wp.float32, device="cpu")
    data.bind(BEAD.column("mass"), masses)
    assert data.arrays["mass"] is masses
    assert data.version == 1
    assert total_of(data) == 9 + 3 * (7 - 1 - 1)
    masses.assign([20.0, 30.0, 40.0])  # the array itself, not a copy
    assert total_of(data) == 90 + 3 * (7 - 1 - 1)
    data.bind(BEAD.column("corners"), np.full((3, 4), 5))
    assert total_of(data) == 90 + 3 * (7 + 5 - 1)


@pytest.mark.parametrize(
    "column, value, error",
    [
        ("mass", np.zeros(2, np.float32), ValueError),
        ("mass", np.zeros(4, np.float32), ValueError),
        ("mass", wp.zeros(2, dtype=wp.float32, device="cpu"), ValueError),
        ("mass", wp.zeros(3, dtype=wp.int32, device="cpu"), TypeError),
        ("mass", wp.zeros(3, dtype=wp.float64, device="cpu"), TypeError),
        ("flags", wp.zeros(3, dtype=wp.float32, device="cpu"), TypeError),
        ("place", wp.zeros(3, dtype=wp.float32, device="cpu"), TypeError),
        ("place", wp.zeros(3, dtype=wp.vec4, device="cpu"), TypeError),
        ("ends", wp.zeros(3, dtype=wp.int32, device="cpu"), ValueError),
        ("corners", wp.zeros((3, 5), dtype=wp.int32, device="cpu"), (ValueError, TypeError)),
        ("corners", wp.zeros((3, 3), dtype=wp.int32, device="cpu"), (ValueError, TypeError)),
        ("corners", wp.zeros(3, dtype=wp.int32, device="cpu"), (ValueError, TypeError)),
        ("corners", wp.zeros((2, 4), dtype=wp.int32, device="cpu"), ValueError),
        ("mass", wp.zeros((3, 2), dtype=wp.float32, device="cpu"), (ValueError, TypeError)),
    ],
)
def test_what_does_not_fit_is_refused_by_its_public_name(column, value, error):
    data = table()
    before = data.arrays[column]
    with pytest.raises(error, match=f"bead_{column}"):
        data.bind(BEAD.column(column), value)
    assert data.arrays[column] is before
    assert data.version == 0


def test_an_array_of_another_device_is_refused():
    wrong = wp.zeros(3, dtype=wp.float32, device="cpu")
    home, wrong.device = wrong.device, "cuda:0"  # as an array of a machine with a GPU would say
    try:
        with pytest.raises(ValueError, match=r"bead_mass.*cuda:0.*cpu"):
            table().bind(BEAD.column("mass"), wrong)
    finally:
        wrong.device = home


def test_reading_a_foreign_object_copies_nothing():
    foreign = SimpleNamespace(
        bead_place=wp.zeros(3, dtype=wp.vec3, device="cpu"),
        bead_mass=wp.zeros(3, dtype=wp.float32, device="cpu"),
        bead_corners=wp.zeros((3, 4), dtype=wp.int32, device="cpu"),
        bead_ends=wp.zeros(6, dtype=wp.int32, device="cpu"),
        bead_label=["a", "b", "c"],
        other=1,
    )
    data = TableData.from_object(BEAD, foreign, 3, "cpu")
    for name in ("place", "mass", "corners", "ends"):
        assert data.arrays[name] is getattr(foreign, f"bead_{name}")
        assert getattr(data.struct, name).ptr == getattr(foreign, f"bead_{name}").ptr
    assert data.arrays["label"] is foreign.bead_label
    assert data.arrays["flags"].numpy().tolist() == [3, 3, 3]  # the object has no such array
    foreign.bead_mass.fill_(5.0)
    assert total_of(data) == 15.0


def test_a_foreign_object_with_a_wrong_array_is_refused():
    foreign = SimpleNamespace(bead_mass=wp.zeros(3, dtype=wp.float64, device="cpu"))
    with pytest.raises(TypeError, match="bead_mass"):
        TableData.from_object(BEAD, foreign, 3, "cpu")


def test_kernels_see_only_columns_that_are_meant_for_them():
    assert set(BEAD.struct.vars) == {"place", "mass", "flags", "corners", "ends"}


def test_an_unknown_column_is_named():
    with pytest.raises(KeyError, match="weight"):
        BEAD.column("weight")

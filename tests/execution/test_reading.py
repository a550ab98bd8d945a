"""Reading what kernels counted."""

import warp as wp

from hooke.execution.reading import CountReader


def test_the_last_entry_is_read_as_it_is_now():
    reader, array = CountReader(), wp.array([1, 2, 3], dtype=wp.int32, device="cpu")
    assert reader.read(array) == 3
    array.assign([4, 5, 6])
    assert reader.read(array) == 6
    other = wp.array([7], dtype=wp.int32, device="cpu")
    assert reader.read(other) == 7
    assert reader.read(array) == 6

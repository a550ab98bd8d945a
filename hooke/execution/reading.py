"""Numbers that kernels count, as the host reads them after a pass."""

from __future__ import annotations

import warp as wp

__all__ = ["CountReader"]


class CountReader:
    """Reads the last entry of an array of integers; on a CPU through a view that is made once, for making it takes as long as a kernel."""

    def __init__(self) -> None:
        self._array: wp.array | None = None
        self._view: memoryview | None = None

    def read(self, array: wp.array) -> int:
        """The last entry. Waits for the device."""
        if array is not self._array:
            self._array = array
            self._view = memoryview(array.numpy()) if array.device.is_cpu else None
        return int(array[-1:].numpy()[0]) if self._view is None else int(self._view[-1])

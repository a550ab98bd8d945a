"""Recording: the launches of a function go into a graph the second time it is called with the same arguments, and are replayed then.

A launch from Python costs 10 to 30 microseconds, one in a graph a tenth of one; a step has a hundred of them. The first call runs as
it is: it loads modules and grows buffers, which no graph may do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import warp as wp

from hooke import config

__all__ = ["Recorder", "pointers"]


def pointers(*owners: Any) -> tuple[int, ...]:
    """Addresses of arrays, and of all arrays that objects hold; 0 for None. What a graph has baked in."""
    found: list[int] = []
    for owner in owners:
        if owner is None:
            found.append(0)
        elif isinstance(owner, wp.array):
            found.append(owner.ptr or 0)
        else:
            found += [array.ptr or 0 for array in vars(owner).values() if isinstance(array, wp.array)]
    return tuple(found)


class Recorder:
    """Graphs of one function by the arguments they were recorded with.

    Args:
        device: Device that the function launches on.
        limit: Graphs to keep; the one that was used longest ago is dropped.
    """

    def __init__(self, device: Any, limit: int = 16):
        self.device = device
        self.limit = limit
        self._graphs: OrderedDict[Hashable, Any] = OrderedDict()

    def run(self, key: Hashable, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function``, or replay what it launched before.

        Args:
            key: Everything that the launches depend on beside the contents of arrays: addresses, numbers, sizes.
            function: Launches only; it must not read the host.
            *arguments: Its arguments.
        """
        if not config.graphs or self.device.is_capturing:
            function(*arguments)
            return
        if key not in self._graphs:
            function(*arguments)
            self._graphs[key] = None
            if len(self._graphs) > self.limit:
                self._graphs.popitem(last=False)
            return
        self._graphs.move_to_end(key)
        if self._graphs[key] is None:
            with wp.ScopedCapture(device=self.device) as capture:
                function(*arguments)
            self._graphs[key] = capture.graph
        wp.capture_launch(self._graphs[key])

    def forget(self) -> None:
        """Drop all graphs, after something changed that no key shows."""
        self._graphs.clear()

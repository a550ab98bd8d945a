"""Large arrays in pieces: the intermediate results of a formula stay in the cache, and its peak of memory small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["map_rows"]

_ROWS = 16384


def map_rows(function: Callable[[np.ndarray], Any], rows: np.ndarray) -> Any:
    """``function(rows)``, evaluated for some thousand rows at a time.

    Args:
        function: Treats every row on its own; returns an array, or a tuple of arrays, with one row for each.
        rows: Shape (n, ...).
    """
    if len(rows) <= _ROWS:
        return function(rows)
    results: Any = None
    for first in range(0, len(rows), _ROWS):
        part = function(rows[first : first + _ROWS])
        parts = part if isinstance(part, tuple) else (part,)
        if results is None:
            single = not isinstance(part, tuple)
            results = tuple(np.empty((len(rows), *p.shape[1:]), p.dtype) for p in parts)
        for result, values in zip(results, parts, strict=True):
            result[first : first + _ROWS] = values
    return results[0] if single else results

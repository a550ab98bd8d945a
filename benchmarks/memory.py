"""Resident memory of this process."""

from __future__ import annotations

import contextlib
import gc
import sys
from pathlib import Path

__all__ = ["peak_memory", "reset_peak", "resident_memory"]

_STATUS = Path("/proc/self/status")


def _status(name: str) -> int | None:
    """A line of the process's status in bytes; None where there is no such file."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith(name + ":"):
                return 1024 * int(line.split()[1])
    return None


def peak_memory() -> int:
    """Largest resident memory since the start or the last :func:`reset_peak` [bytes]; 0 where the system does not say."""
    value = _status("VmHWM")
    if value is None:
        try:
            import resource
        except ImportError:  # Windows
            return 0
        value = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return value


def resident_memory() -> int:
    """Resident memory now [bytes]; where only the peak is known, that."""
    value = _status("VmRSS")
    return peak_memory() if value is None else value


def reset_peak() -> None:
    """Forget the peak, where the system allows it (Linux)."""
    gc.collect()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")

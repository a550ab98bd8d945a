"""Settings of the process.

Attributes:
    graphs: Record the launches of a repeated step into a graph and replay it. ``HOOKE_GRAPHS=0`` in the environment turns it off.
    workers: Threads that share a step on a CPU, 1 ... 256; None chooses by the cores and by what is measured. ``HOOKE_WORKERS=2`` in
        the environment sets it. Results do not depend on it.
    lanes: On a CPU, sum the elements of sixteen particles at a time. ``HOOKE_LANES=0`` in the environment turns it off.
"""

import os
import warnings

__all__ = ["graphs", "lanes", "workers"]


def _switch(name: str) -> bool:
    return os.environ.get(name, "1").lower() not in ("0", "false", "no", "off")


def _count(name: str) -> int | None:
    text = os.environ.get(name, "").strip()
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    if text and text.lower() != "auto":
        warnings.warn(f"{name}: expected a whole number of at least 1, found {text!r}; chosen automatically", stacklevel=2)
    return None


graphs: bool = _switch("HOOKE_GRAPHS")
lanes: bool = _switch("HOOKE_LANES")
workers: int | None = _count("HOOKE_WORKERS")

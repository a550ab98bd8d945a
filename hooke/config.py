"""Settings of the process.

Attributes:
    graphs: Record the launches of a repeated step into a graph and replay it. ``HOOKE_GRAPHS=0`` in the environment turns it off.
    lanes: On a CPU, sum the elements of sixteen particles at a time. ``HOOKE_LANES=0`` in the environment turns it off.
"""

import os

__all__ = ["graphs", "lanes"]


def _switch(name: str) -> bool:
    return os.environ.get(name, "1").lower() not in ("0", "false", "no", "off")


graphs: bool = _switch("HOOKE_GRAPHS")
lanes: bool = _switch("HOOKE_LANES")

"""Settings of the process.

Attributes:
    graphs: Record the launches of a repeated step into a graph and replay it. ``HOOKE_GRAPHS=0`` in the environment turns it off.
"""

import os

__all__ = ["graphs"]

graphs: bool = os.environ.get("HOOKE_GRAPHS", "1").lower() not in ("0", "false", "no", "off")

"""The algebra over numbers (see :mod:`hooke.math.algebra`), and lanes in memory (see :mod:`hooke.math.memory`)."""

from hooke.math import algebra, memory
from hooke.math.algebra import *  # noqa: F403
from hooke.math.memory import *  # noqa: F403

__all__ = [*algebra.__all__, *memory.__all__]

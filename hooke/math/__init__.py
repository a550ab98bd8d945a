"""The algebra over numbers (see :mod:`hooke.math.algebra`)."""

from hooke.math.algebra import *  # noqa: F403
from hooke.math.algebra import __all__ as __all__

"""``python -m hooke`` is the command ``hooke``."""

from hooke.cli import main

main()

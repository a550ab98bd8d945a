"""The one exception of the importers."""

from __future__ import annotations

from typing import Any

__all__ = ["FileError"]


class FileError(ValueError):
    """A file cannot be used: it is missing, of an unknown kind, damaged, or does not hold what was asked for.

    The message names the file, what was found, and what to do.
    """

    def __init__(self, path: Any, problem: str):
        super().__init__(f"{path}: {problem}")
        self.path = str(path)

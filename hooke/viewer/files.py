"""Files that are either whole or absent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield the path of an empty temporary file beside ``path``; it becomes ``path`` when the block succeeds.

    The temporary file has the ending of ``path``, since writers choose their format by it. When the block raises, the
    temporary file is removed and whatever was at ``path`` stays as it was. Missing parent folders are made.

    Args:
        path: Where the finished file shall be.

    Raises:
        OSError: The folder cannot be written to.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = mkstemp(prefix=f".{path.stem}.", suffix=f".tmp{path.suffix}", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes files private; the finished one is an ordinary file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)

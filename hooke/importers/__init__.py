"""Readers of files. Optional packages are imported when a file needs them, not before."""

from hooke.importers.error import FileError
from hooke.importers.mesh_file import MeshFile, describe, load_mesh, load_tetmesh

__all__ = ["FileError", "MeshFile", "describe", "load_mesh", "load_tetmesh"]

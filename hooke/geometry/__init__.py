"""Shapes, meshes and their mass properties."""

from hooke.geometry.heightfield import Heightfield
from hooke.geometry.inertia import MassProperties, validate_inertia
from hooke.geometry.intersect import intersecting_triangles, piercing_edges
from hooke.geometry.kind import GeoType, ShapeKind, SurfacePoint
from hooke.geometry.mesh import Mesh
from hooke.geometry.repair import TriangleReport, check_triangles, repair, weld
from hooke.geometry.shapes import SHAPES, shape_distance, shape_kind
from hooke.geometry.tetmesh import TetMesh

__all__ = [
    "SHAPES", "GeoType", "Heightfield", "MassProperties", "Mesh", "ShapeKind", "SurfacePoint", "TetMesh", "TriangleReport",
    "check_triangles", "intersecting_triangles", "piercing_edges", "repair", "shape_distance", "shape_kind", "validate_inertia", "weld",
]  # fmt: skip

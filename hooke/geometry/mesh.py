"""Triangle mesh as a shape: vertices, triangles and the mass properties they enclose."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.geometry.box import BOX
from hooke.geometry.capsule import CAPSULE
from hooke.geometry.cone import CONE
from hooke.geometry.cylinder import CYLINDER
from hooke.geometry.ellipsoid import ELLIPSOID
from hooke.geometry.heightfield import Heightfield
from hooke.geometry.hull import convex_hull
from hooke.geometry.inertia import MassProperties, mesh_mass_properties, shell_mass_properties
from hooke.geometry.plane import PLANE
from hooke.geometry.profile import revolve
from hooke.geometry.repair import as_triangles, as_vertices, check_triangles, weld
from hooke.geometry.sphere import SPHERE

__all__ = ["Mesh"]

SHELL_THICKNESS = 2.0e-3
"""Thickness of the wall [m] of a mesh that is not solid, where no other one is given."""

PICTURE_OPTIONS = frozenset({"compute_normals", "compute_uvs", "duplicate_vertices"})


class Mesh:
    """Triangle mesh.

    Args:
        vertices: Positions, shape (n, 3) [m].
        indices: Triangles, counter-clockwise seen from outside, shape (m, 3) or flat (3 m).
        normals: Vertex normals for pictures, shape (n, 3).
        uvs: Texture coordinates for pictures, shape (n, 2).
        compute_inertia: Compute ``mass``, ``com`` and ``inertia``; else they are zero.
        is_solid: Whether the mesh is full of matter or a wall of 2 mm along its triangles.
        maxhullvert: Largest number of vertices of its convex hull; default as many as it takes.
        color: RGB in [0, 1] for pictures.

    Attributes:
        mass: Mass at density 1 [kg]: the volume [m^3].
        com: Centre of mass, float64 (3,) [m].
        inertia: About the centre of mass at density 1, float64 (3, 3) [kg m^2].

    Raises:
        ValueError: If an array has another shape, a vertex is not finite or an index is out of range.
    """

    def __init__(
        self,
        vertices: Any,
        indices: Any,
        *,
        normals: Any = None,
        uvs: Any = None,
        compute_inertia: bool = True,
        is_solid: bool = True,
        maxhullvert: int | None = None,
        color: Any = None,
    ):
        self._vertices = as_vertices(vertices, "mesh")
        self._indices = as_triangles(indices, len(self._vertices), "mesh").reshape(-1)
        if maxhullvert is not None and maxhullvert < 4:
            raise ValueError(f"mesh: expected maxhullvert of at least 4, found {maxhullvert}; a hull has 4 vertices or more")
        self.normals = _per_vertex(normals, len(self._vertices), 3, "normals")
        self.uvs = _per_vertex(uvs, len(self._vertices), 2, "uvs")
        self.is_solid = bool(is_solid)
        self.maxhullvert = maxhullvert
        self.color = None if color is None else tuple(float(c) for c in color)
        self._watertight: bool | None = None
        self._handles: dict[str, wp.Mesh] = {}
        self._set_mass(self.mass_properties() if compute_inertia else MassProperties.zero())

    # --- data ---------------------------------------------------------------------------------------------------------

    @property
    def vertices(self) -> np.ndarray:
        """Positions, float32 (n, 3) [m]."""
        return self._vertices

    @vertices.setter
    def vertices(self, value: Any) -> None:
        vertices = as_vertices(value, "mesh")
        as_triangles(self._indices, len(vertices), "mesh")
        self._vertices = vertices
        self._forget()

    @property
    def indices(self) -> np.ndarray:
        """Triangles, int32, flat (3 m)."""
        return self._indices

    @indices.setter
    def indices(self, value: Any) -> None:
        self._indices = as_triangles(value, len(self._vertices), "mesh").reshape(-1)
        self._forget()

    @property
    def is_watertight(self) -> bool:
        """Whether the triangles enclose a volume, vertices at the same place counting as one."""
        if self._watertight is None:
            vertices, triangles, _ = weld(self._vertices, self._indices.reshape(-1, 3))
            self._watertight = check_triangles(vertices, triangles).watertight
        return self._watertight

    @property
    def faces_outward(self) -> bool:
        """Whether the triangles of a watertight mesh are counter-clockwise seen from outside; True for an open one."""
        if not self.is_watertight:
            return True
        corners = self._vertices.astype(np.float64)[self._indices.reshape(-1, 3)] - self._vertices.mean(axis=0)
        return float(np.linalg.det(corners).sum()) >= 0.0

    def mass_properties(self, density: float = 1.0) -> MassProperties:
        """Mass, centre of mass and inertia of the solid or of its wall at a density [kg/m^3]."""
        if self.is_solid:
            return mesh_mass_properties(self._vertices, self._indices, density)
        return shell_mass_properties(self._vertices, self._indices, density, SHELL_THICKNESS)

    def copy(self, vertices: Any = None, indices: Any = None, recompute_inertia: bool = False) -> Mesh:
        """An independent mesh, with other vertices [m] or triangles if given."""
        same_count = vertices is None or len(vertices) == len(self._vertices)
        mesh = Mesh(
            (self._vertices if vertices is None else as_vertices(vertices, "mesh")).copy(),
            (self._indices if indices is None else np.asarray(indices)).copy(),
            normals=self.normals if same_count else None,
            uvs=self.uvs if same_count else None,
            compute_inertia=recompute_inertia,
            is_solid=self.is_solid,
            maxhullvert=self.maxhullvert,
            color=self.color,
        )
        if not recompute_inertia:
            mesh._set_mass(MassProperties(self.mass, self.com.copy(), self.inertia.copy()))
        return mesh

    def finalize(self, device: Any = None) -> int:
        """Id of the ``wp.Mesh`` on a device; it lives as long as this object and is made once for each device.

        A watertight mesh that faces inward is turned there, so that its inside is inside.
        """
        device = wp.get_device(device)
        if device.alias not in self._handles:
            triangles = self._indices.reshape(-1, 3)
            if len(triangles) == 0:
                raise ValueError("mesh: cannot finalize a mesh without triangles; give it some or leave the shape out")
            triangles = triangles if self.faces_outward else triangles[:, ::-1]
            points = wp.array(self._vertices, dtype=wp.vec3, device=device)
            indices = wp.array(np.ascontiguousarray(triangles).reshape(-1), dtype=wp.int32, device=device)
            self._handles[device.alias] = wp.Mesh(points, indices)
        return int(self._handles[device.alias].id)

    def compute_convex_hull(self, replace: bool = False) -> Mesh:
        """Convex hull of the vertices, of at most ``maxhullvert`` vertices.

        Args:
            replace: Put the hull in place of this mesh, and return this mesh.

        Raises:
            ValueError: If the vertices lie in a plane.
        """
        vertices, indices = convex_hull(self._vertices, self.maxhullvert)
        if not replace:
            return Mesh(vertices, indices, is_solid=self.is_solid, maxhullvert=self.maxhullvert, color=self.color)
        self._vertices, self._indices = vertices, indices.reshape(-1)
        self.normals = self.uvs = None
        self._forget()
        self._set_mass(self.mass_properties())
        return self

    def _forget(self) -> None:
        self._watertight = None
        self._handles = {}

    def _set_mass(self, properties: MassProperties) -> None:
        self.mass, self.com, self.inertia = properties.mass, properties.com, properties.inertia

    def __repr__(self) -> str:
        return f"Mesh({len(self._vertices)} vertices, {len(self._indices) // 3} triangles)"

    # --- primitives ---------------------------------------------------------------------------------------------------
    # The documented options that only concern pictures (compute_normals, compute_uvs, duplicate_vertices) are accepted by
    # all of them; smooth vertex normals are stored for compute_normals=True.

    @staticmethod
    def create_box(
        hx: float, hy: float | None = None, hz: float | None = None, *, compute_inertia: bool = True, **options: bool
    ) -> Mesh:
        """Box of half extents ``hx``, ``hy``, ``hz`` [m], by default those of a cube."""
        half = (hx, hx if hy is None else hy, hx if hz is None else hz)
        return _generated(BOX.surface(half), 2, compute_inertia, options)

    @staticmethod
    def create_sphere(
        radius: float = 1.0,
        *,
        num_latitudes: int = 32,
        num_longitudes: int = 32,
        reverse_winding: bool = False,
        compute_inertia: bool = True,
        up_axis: Any = 1,
        **options: bool,
    ) -> Mesh:
        """Sphere of a radius [m], its poles on ``up_axis``; ``reverse_winding`` turns it inside out."""
        SPHERE.bounds((radius, 0.0, 0.0))
        return Mesh.create_ellipsoid(
            radius,
            radius,
            radius,
            num_latitudes=num_latitudes,
            num_longitudes=num_longitudes,
            reverse_winding=reverse_winding,
            compute_inertia=compute_inertia,
            up_axis=up_axis,
            **options,
        )

    @staticmethod
    def create_ellipsoid(
        rx: float = 1.0,
        ry: float = 1.0,
        rz: float = 1.0,
        *,
        num_latitudes: int = 32,
        num_longitudes: int = 32,
        reverse_winding: bool = False,
        compute_inertia: bool = True,
        up_axis: Any = 1,
        **options: bool,
    ) -> Mesh:
        """Ellipsoid of semi-axes ``rx``, ``ry``, ``rz`` [m] along X, Y, Z; its poles on ``up_axis``."""
        ELLIPSOID.bounds((rx, ry, rz))
        latitude = np.linspace(-0.5 * np.pi, 0.5 * np.pi, max(num_latitudes, 2) + 1)
        profile = np.stack((np.cos(latitude), np.sin(latitude)), axis=1)
        ball, triangles = revolve(profile, num_longitudes)
        vertices = _upright(ball, up_axis) * np.array([rx, ry, rz], dtype=np.float32)
        surface = vertices, triangles[:, ::-1] if reverse_winding else triangles
        return _generated(surface, 2, compute_inertia, options)

    @staticmethod
    def create_capsule(
        radius: float, half_height: float, *, up_axis: Any = 1, segments: int = 32, compute_inertia: bool = True, **options: bool
    ) -> Mesh:
        """Capsule along ``up_axis``; ``half_height`` [m] excludes the caps."""
        return _generated(CAPSULE.surface((radius, half_height, 0.0), None, segments), up_axis, compute_inertia, options)

    @staticmethod
    def create_cylinder(
        radius: float,
        half_height: float,
        *,
        up_axis: Any = 1,
        segments: int = 32,
        top_radius: float | None = None,
        compute_inertia: bool = True,
        **options: bool,
    ) -> Mesh:
        """Cylinder along ``up_axis``, narrowing to ``top_radius`` [m] if given."""
        CYLINDER.bounds((radius, half_height, 0.0))
        top = radius if top_radius is None else CYLINDER.bounds((top_radius, half_height, 0.0))[1][0]
        profile = np.array([[0.0, -half_height], [radius, -half_height], [top, half_height], [0.0, half_height]])
        return _generated(revolve(profile, segments), up_axis, compute_inertia, options)

    @staticmethod
    def create_cone(
        radius: float, half_height: float, *, up_axis: Any = 1, segments: int = 32, compute_inertia: bool = True, **options: bool
    ) -> Mesh:
        """Cone along ``up_axis``, base at ``-half_height`` and apex at ``+half_height`` [m]."""
        return _generated(CONE.surface((radius, half_height, 0.0), None, segments), up_axis, compute_inertia, options)

    @staticmethod
    def create_plane(width: float, length: float, *, up_axis: Any = 2, compute_inertia: bool = True, **options: bool) -> Mesh:
        """Rectangle of two triangles, ``width`` by ``length`` [m], facing ``up_axis`` (Z unlike the others)."""
        found = PLANE.surface((width, length, 0.0))
        if found is None:
            raise ValueError(f"plane: a mesh needs positive width and length in metres, found {width} and {length}")
        return _generated(found, up_axis, compute_inertia, options)

    @staticmethod
    def create_heightfield(
        heightfield: Heightfield | Any,
        extent_x: float | None = None,
        extent_y: float | None = None,
        center_x: float = 0.0,
        center_y: float = 0.0,
        ground_z: float = 0.0,
        *,
        compute_inertia: bool = True,
        **options: bool,
    ) -> Mesh:
        """Solid terrain, Z up: the heights on top, walls around and a flat bottom.

        Args:
            heightfield: A :class:`Heightfield`, or heights [m] of shape (n_x, n_y), the first index running along X.
            extent_x: Size along X [m]; needed for an array.
            extent_y: Size along Y [m]; needed for an array.
            center_x: Centre [m].
            center_y: Centre [m].
            ground_z: Height of the bottom [m], below all heights.
            compute_inertia: See :class:`Mesh`.
            options: Options that only concern pictures.
        """
        if not isinstance(heightfield, Heightfield):
            heights = np.asarray(heightfield, dtype=np.float64)
            if heights.ndim != 2 or extent_x is None or extent_y is None:
                raise ValueError(
                    "heightfield mesh: expected heights of shape (n_x, n_y) with extent_x and extent_y, or a Heightfield; "
                    f"found shape {heights.shape}, extents {extent_x} and {extent_y}"
                )
            heightfield = Heightfield(heights.T, *heights.shape[::-1], hx=0.5 * extent_x, hy=0.5 * extent_y)
        vertices, triangles = _walled(heightfield, ground_z)
        vertices[:, :2] += np.array([center_x, center_y], dtype=np.float32)
        return _generated((vertices, triangles), 2, compute_inertia, options)

    # --- files --------------------------------------------------------------------------------------------------------

    @staticmethod
    def create_from_file(
        path: Any, *, compute_inertia: bool = True, is_solid: bool = True, maxhullvert: int | None = None, **options: Any
    ) -> Mesh:
        """Mesh of a file: USD, OBJ, STL, PLY, ... (options: see :func:`hooke.importers.load_mesh`)."""
        from hooke.importers import load_mesh

        found = load_mesh(path, **options)
        return Mesh(found.vertices, found.indices, compute_inertia=compute_inertia, is_solid=is_solid, maxhullvert=maxhullvert)

    @staticmethod
    def create_from_usd(
        source: Any = None,
        *,
        prim: Any = None,
        apply_stage_units: bool = True,
        compute_inertia: bool = True,
        is_solid: bool = True,
        maxhullvert: int | None = None,
    ) -> Mesh:
        """Mesh of a USD prim, in the frame of that prim: its own placement in the stage is left to the caller.

        Args:
            source: A ``Usd.Prim``, or a ``Usd.Stage`` or path of a file.
            prim: A ``Usd.Prim``, or a prim path in ``source``; default the whole stage. All meshes below it are joined.
            apply_stage_units: Convert to metres.
            compute_inertia: See :class:`Mesh`.
            is_solid: See :class:`Mesh`.
            maxhullvert: See :class:`Mesh`.
        """
        from hooke.importers.usd_mesh import read_prim

        found = read_prim(source, prim, apply_stage_units)
        return Mesh(found.vertices, found.indices, compute_inertia=compute_inertia, is_solid=is_solid, maxhullvert=maxhullvert)


def _per_vertex(values: Any, count: int, width: int, name: str) -> np.ndarray | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float32).reshape(-1, width)
    if len(array) != count:
        raise ValueError(f"mesh: expected {name} for {count} vertices, found {len(array)}")
    return array


def _upright(vertices: np.ndarray, up_axis: Any) -> np.ndarray:
    """Turn Z to another axis (0, 1, 2 or "x", "y", "z")."""
    name = up_axis.lower() if isinstance(up_axis, str) else int(up_axis)
    x, y, z = vertices.T
    if name in (2, "z"):
        return vertices
    if name in (1, "y"):
        return np.stack((x, z, -y), axis=1)
    if name in (0, "x"):
        return np.stack((z, y, -x), axis=1)
    raise ValueError(f"up_axis: expected X, Y or Z (0, 1, 2), found {up_axis!r}")


def _generated(surface: Any, up_axis: Any, compute_inertia: bool, options: dict[str, bool]) -> Mesh:
    """The mesh of a surface (vertices, triangles) whose axis is Z, turned upright."""
    unknown = sorted(set(options) - PICTURE_OPTIONS)
    if unknown:
        raise TypeError(f"mesh primitive: unknown option {unknown[0]!r}; the options are {', '.join(sorted(PICTURE_OPTIONS))}")
    vertices, triangles = _upright(surface[0], up_axis), surface[1]
    normals = vertex_normals(vertices, triangles) if options.get("compute_normals") else None
    return Mesh(vertices, triangles, normals=normals, compute_inertia=compute_inertia)


def vertex_normals(vertices: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Smooth unit normals, float32 (n, 3): the sum of those of the triangles around a vertex, weighted by area."""
    triangles = np.asarray(indices).reshape(-1, 3)
    a, b, c = (np.asarray(vertices, dtype=np.float64)[triangles[:, k]] for k in range(3))
    face = np.cross(b - a, c - a)
    total = np.stack([np.bincount(triangles.reshape(-1), np.repeat(face[:, k], 3), len(vertices)) for k in range(3)], axis=1)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0]).astype(np.float32)


def _walled(field: Heightfield, ground_z: float) -> tuple[np.ndarray, np.ndarray]:
    """The surface of a height field, a copy of it flat at the ground and turned over, and the walls between their borders."""
    top, up = field.triangles()
    if not ground_z < field.min_z:
        raise ValueError(
            f"heightfield mesh: the bottom, ground_z = {ground_z:g}, is not below the lowest height {field.min_z:g}; lower ground_z"
        )
    bottom = top.copy()
    bottom[:, 2] = ground_z
    grid = np.arange(len(top)).reshape(field.nrow, field.ncol)
    rim = np.concatenate((grid[0, :-1], grid[:-1, -1], grid[-1, :0:-1], grid[:0:-1, 0]))
    following = np.roll(rim, -1)
    below, below_following = rim + len(top), following + len(top)
    walls = np.stack((below, below_following, following, below, following, rim), axis=-1).reshape(-1, 3)
    return np.concatenate((top, bottom)), np.concatenate((up, up[:, ::-1] + len(top), walls)).astype(np.int32)

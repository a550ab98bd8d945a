"""The methods of ModelBuilder that add whole cloths and soft bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.geometry.tetmesh import TetMesh
from hooke.model.generate.cloth import cloth_from_mesh, cloth_grid
from hooke.model.generate.soft import soft_from_mesh, soft_grid

__all__ = ["DeformableMethods"]


class DeformableMethods:
    """Cloth and soft bodies."""

    def add_cloth_grid(
        self, *, pos: Any, rot: Any, vel: Any, dim_x: int, dim_y: int, cell_x: float, cell_y: float, mass: float,
        reverse_winding: bool = False, fix_left: bool = False, fix_right: bool = False, fix_top: bool = False,
        fix_bottom: bool = False, tri_ke: float | None = None, tri_ka: float | None = None, tri_kd: float | None = None,
        tri_drag: float | None = None, tri_lift: float | None = None, edge_ke: float | None = None, edge_kd: float | None = None,
        add_springs: bool = False, spring_ke: float | None = None, spring_kd: float | None = None,
        particle_radius: float | None = None, color: Any = None, opacity: float | None = None,
        custom_attributes_particles: dict[str, Any] | None = None,
        custom_attributes_edges: dict[str, Any] | None = None, custom_attributes_triangles: dict[str, Any] | None = None,
        label: str | None = None,
    ) -> None:  # fmt: skip
        """Add a rectangular cloth in the local xy plane, (dim_x + 1)(dim_y + 1) particles with x fastest.

        Args:
            pos: Position [m] of the first corner.
            rot: Rotation, quaternion x y z w.
            vel: Initial velocity [m/s] of all particles.
            dim_x: Cells along x.
            dim_y: Cells along y.
            cell_x: Size of a cell along x [m].
            cell_y: Size of a cell along y [m].
            mass: Mass of each particle [kg].
            reverse_winding: Turn the triangles over.
            fix_left: Fix the particles at the lowest x (mass 0, not ACTIVE).
            fix_right: Fix those at the highest x.
            fix_top: Fix those at the highest y.
            fix_bottom: Fix those at the lowest y.
            tri_ke: Shear modulus mu of the sheet [N/m].
            tri_ka: Area modulus lambda [N/m].
            tri_kd: Damping [N s/m].
            tri_drag: Drag [kg/m^3], see :meth:`add_triangles`.
            tri_lift: Lift [kg/m^3].
            edge_ke: Bending stiffness [N].
            edge_kd: Bending damping [N s].
            add_springs: Add a spring along every edge.
            spring_ke: Stiffness of these springs [N/m].
            spring_kd: Damping of these springs [N s/m].
            particle_radius: Contact radius [m].
            color: Colour for pictures, three values from 0 to 1.
            opacity: Opacity for viewers that draw it.
            custom_attributes_particles: Values by key for the particles.
            custom_attributes_edges: Values by key for the hinges.
            custom_attributes_triangles: Values by key for the triangles.
            label: Name used in messages.
        """
        options = dict(locals())
        fixed = {side: options[f"fix_{side}"] for side in ("left", "right", "top", "bottom")}
        cloth_grid(self, dim_x, dim_y, cell_x, cell_y, mass, fixed, options)

    def add_cloth_mesh(
        self, *, pos: Any, rot: Any, scale: float, vel: Any, vertices: Any, indices: Any, density: float,
        tri_ke: float | None = None, tri_ka: float | None = None, tri_kd: float | None = None, tri_drag: float | None = None,
        tri_lift: float | None = None, edge_ke: float | None = None, edge_kd: float | None = None, add_springs: bool = False,
        spring_ke: float | None = None, spring_kd: float | None = None, particle_radius: float | None = None, color: Any = None,
        opacity: float | None = None,
        custom_attributes_particles: dict[str, Any] | None = None, custom_attributes_edges: dict[str, Any] | None = None,
        custom_attributes_triangles: dict[str, Any] | None = None, custom_attributes_springs: dict[str, Any] | None = None,
        validate_mesh: bool = False, label: str | None = None,
    ) -> None:  # fmt: skip
        """Add a cloth from a triangle mesh; every vertex becomes a particle with a third of its triangles' mass.

        Vertices of no triangle become fixed particles, triangles without area are dropped, and edges of more than two triangles do
        not bend; each is counted in a warning.

        Args:
            pos: Position [m].
            rot: Rotation, quaternion x y z w.
            scale: Factor applied to the vertices first.
            vel: Initial velocity [m/s].
            vertices: Shape (n, 3) [m].
            indices: Three per triangle.
            density: Mass per area [kg/m^2].
            tri_ke: Shear modulus mu of the sheet [N/m].
            tri_ka: Area modulus lambda [N/m].
            tri_kd: Damping [N s/m].
            tri_drag: Drag [kg/m^3], see :meth:`add_triangles`.
            tri_lift: Lift [kg/m^3].
            edge_ke: Bending stiffness [N].
            edge_kd: Bending damping [N s].
            add_springs: Add a spring along every edge.
            spring_ke: Stiffness of these springs [N/m].
            spring_kd: Damping of these springs [N s/m].
            particle_radius: Contact radius [m].
            color: Colour for pictures, three values from 0 to 1.
            opacity: Opacity for viewers that draw it.
            custom_attributes_particles: Values by key for the particles.
            custom_attributes_edges: Values by key for the hinges.
            custom_attributes_triangles: Values by key for the triangles.
            custom_attributes_springs: Values by key for the springs.
            validate_mesh: Make every defect of the mesh an error instead of a repair.
            label: Name used in messages.

        Raises:
            ValueError: The mesh is empty, has a vertex that is not finite or an index out of range.
        """
        options = dict(locals())
        cloth_from_mesh(self, vertices, indices, density, options)

    def add_soft_grid(
        self, *, pos: Any, rot: Any, vel: Any, dim_x: int, dim_y: int, dim_z: int, cell_x: float, cell_y: float, cell_z: float,
        density: float, k_mu: float, k_lambda: float, k_damp: float, fix_left: bool = False, fix_right: bool = False,
        fix_top: bool = False, fix_bottom: bool = False, tri_ke: float = 0.0, tri_ka: float = 0.0, tri_kd: float = 0.0,
        tri_drag: float = 0.0, tri_lift: float = 0.0, add_surface_mesh_edges: bool = True, edge_ke: float = 0.0,
        edge_kd: float = 0.0, particle_radius: float | None = None, color: Any = None, opacity: float | None = None,
        label: str | None = None,
    ) -> None:  # fmt: skip
        """Add a soft block of dim_x x dim_y x dim_z cells with five tetrahedra each, particles with x fastest, then y, then z.

        Every particle has the mass of one full cell. The surface gets triangles and hinges without stiffness unless one is given.

        Args:
            pos: Position [m] of the first corner.
            rot: Rotation, quaternion x y z w.
            vel: Initial velocity [m/s].
            dim_x: Cells along x.
            dim_y: Cells along y.
            dim_z: Cells along z.
            cell_x: Size of a cell along x [m].
            cell_y: Size of a cell along y [m].
            cell_z: Size of a cell along z [m].
            density: Density [kg/m^3].
            k_mu: Lame parameter mu [Pa].
            k_lambda: Lame parameter lambda [Pa].
            k_damp: Damping [Pa s].
            fix_left: Fix the particles at the lowest x (mass 0).
            fix_right: Fix those at the highest x.
            fix_top: Fix those at the highest y.
            fix_bottom: Fix those at the lowest y.
            tri_ke: Shear modulus of the surface [N/m].
            tri_ka: Area modulus of the surface [N/m].
            tri_kd: Damping of the surface [N s/m].
            tri_drag: Drag of the surface [kg/m^3], see :meth:`add_triangles`.
            tri_lift: Lift of the surface [kg/m^3].
            add_surface_mesh_edges: Add hinges on the edges of the surface.
            edge_ke: Bending stiffness of the surface [N].
            edge_kd: Bending damping of the surface [N s].
            particle_radius: Contact radius [m].
            color: Colour for pictures, three values from 0 to 1.
            opacity: Opacity for viewers that draw it.
            label: Name used in messages.
        """
        options = dict(locals())
        fixed = {side: options[f"fix_{side}"] for side in ("left", "right", "top", "bottom")}
        soft_grid(self, (dim_x, dim_y, dim_z), (cell_x, cell_y, cell_z), density, fixed, options)

    def add_soft_mesh(
        self, *, pos: Any, rot: Any, scale: float, vel: Any, mesh: TetMesh | None = None, vertices: Any = None, indices: Any = None,
        density: float | None = None, k_mu: float | None = None, k_lambda: float | None = None, k_damp: float | None = None,
        tri_ke: float = 0.0, tri_ka: float = 0.0, tri_kd: float = 0.0, tri_drag: float = 0.0, tri_lift: float = 0.0,
        add_surface_mesh_edges: bool = True, edge_ke: float = 0.0, edge_kd: float = 0.0, particle_radius: float | None = None,
        color: Any = None, opacity: float | None = None, validate_mesh: bool = False, label: str | None = None,
    ) -> None:  # fmt: skip
        """Add a soft body from a tetrahedral mesh; every vertex becomes a particle with a quarter of its tetrahedra's mass.

        Inverted tetrahedra are turned over and flat ones dropped, each counted in a warning.

        Args:
            pos: Position [m].
            rot: Rotation, quaternion x y z w.
            scale: Factor applied to the vertices first.
            vel: Initial velocity [m/s].
            mesh: Mesh with its material; what is given beside it takes precedence.
            vertices: Shape (n, 3) [m], without ``mesh``.
            indices: Four per tetrahedron, without ``mesh``.
            density: Density [kg/m^3]; None takes the mesh's, then ``default_tet_density``.
            k_mu: Lame parameter mu [Pa]; None takes the mesh's, then ``default_tet_k_mu``.
            k_lambda: Lame parameter lambda [Pa]; None takes the mesh's, then ``default_tet_k_lambda``.
            k_damp: Damping [Pa s]; None takes the mesh's, then ``default_tet_k_damp``.
            tri_ke: Shear modulus of the surface [N/m].
            tri_ka: Area modulus of the surface [N/m].
            tri_kd: Damping of the surface [N s/m].
            tri_drag: Drag of the surface [kg/m^3], see :meth:`add_triangles`.
            tri_lift: Lift of the surface [kg/m^3].
            add_surface_mesh_edges: Add hinges on the edges of the surface.
            edge_ke: Bending stiffness of the surface [N].
            edge_kd: Bending damping of the surface [N s].
            particle_radius: Contact radius [m].
            color: Colour for pictures, three values from 0 to 1.
            opacity: Opacity for viewers that draw it.
            validate_mesh: Make flat and inverted tetrahedra an error instead of a repair.
            label: Name used in messages.

        Raises:
            ValueError: Neither or both of ``mesh`` and ``vertices`` are given, or the mesh is not valid.
        """
        options = dict(locals())
        if (mesh is None) == (vertices is None or indices is None):
            raise ValueError("add_soft_mesh: expected either mesh, or vertices and indices")
        if mesh is not None:
            vertices, indices = mesh.vertices, np.asarray(mesh.tet_indices).reshape(-1, 4)
        for name in ("density", "k_mu", "k_lambda", "k_damp"):
            if options[name] is None:
                options[name] = getattr(mesh, name, None)
            if options[name] is None:
                options[name] = getattr(self, f"default_tet_{name}")
        soft_from_mesh(self, vertices, indices, options["density"], options)

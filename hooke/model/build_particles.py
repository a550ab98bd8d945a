"""The methods of ModelBuilder that add particles and deformable elements one by one or in bulk."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from hooke.data.chunks import map_rows
from hooke.data.table import Rows
from hooke.elements.bending import measure_hinges
from hooke.elements.tetrahedron import measure_tetrahedra
from hooke.elements.triangle import measure_triangles
from hooke.geometry.measure import lengths
from hooke.model.enums import ParticleFlags
from hooke.model.motion import quat_rotate

__all__ = ["ParticleMethods"]


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _columns(*columns: Any) -> np.ndarray:
    """Stencils (n, size) from the particles in every slot."""
    return np.stack([np.asarray(column, np.int64).reshape(-1) for column in columns], axis=1)


def _material_rows(*parameters: Any) -> np.ndarray:
    """Rows of parameters (n, len(parameters)); n is 1 if all are numbers."""
    return np.atleast_2d(np.stack(np.broadcast_arrays(*parameters), axis=-1))


def _kept(rows: np.ndarray, good: np.ndarray) -> np.ndarray:
    """The rows of elements that are kept; a single row is that of all."""
    return rows[good] if len(rows) == len(good) else rows


def _repeats(stencils: np.ndarray) -> np.ndarray:
    """Which stencils name a particle twice."""
    ordered = np.sort(stencils, axis=1)
    return ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)


class ParticleMethods:
    """Particles, springs, triangles, hinges, tetrahedra, attachments."""

    _tables: dict[str, Rows]

    def add_particle(
        self,
        pos: Any,
        vel: Any,
        mass: float,
        radius: float | None = None,
        flags: int = ParticleFlags.ACTIVE,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:
        """Add a particle.

        Args:
            pos: Position [m], shape (3,).
            vel: Velocity [m/s], shape (3,).
            mass: Mass [kg]; 0 is a fixed particle.
            radius: Radius [m] of contact with shapes; None takes ``default_particle_radius``.
            flags: ParticleFlags; without ACTIVE the particle is fixed and makes no contact.
            custom_attributes: Values by key.

        Returns:
            Index of the particle.
        """
        return self.add_particles([pos], [vel], [mass], None if radius is None else [radius], [flags], custom_attributes)[0]

    def add_particles(
        self,
        pos: Sequence[Any],
        vel: Sequence[Any],
        mass: Sequence[float],
        radius: Sequence[float] | None = None,
        flags: Sequence[int] | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> range:
        """Add particles from arrays of equal length; see :meth:`add_particle`. Returns their indices."""
        q = np.asarray(pos, np.float64).reshape(-1, 3)
        count = len(q)
        values: dict[str, np.ndarray] = {
            "qd": np.asarray(vel, np.float64).reshape(-1, 3),
            "mass": np.asarray(mass, np.float64).reshape(-1),
            "radius": np.asarray(_or(radius, self.default_particle_radius), np.float64).reshape(-1),
            "flags": np.asarray(_or(flags, int(ParticleFlags.ACTIVE))).astype(np.int32).reshape(-1),
        }
        for name, value in values.items():
            if len(value) not in (1, count):
                raise ValueError(f"add_particles: expected {count} values of {name}, one per position, found {len(value)}")
        added = self._tables["particle"].extend(count, q=q, world=self.current_world, **values)
        self._author("particle", custom_attributes, added.start, count)
        return added

    def add_spring(
        self, i: int, j: int, ke: float | None = None, kd: float | None = None, control: float = 0.0,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a spring whose rest length is the present distance of its particles.

        Args:
            i: First particle.
            j: Second particle.
            ke: Stiffness [N/m]; None takes ``default_spring_ke``.
            kd: Axial damping [N s/m]; None takes ``default_spring_kd``.
            control: Value kept for actuators of the user.
            custom_attributes: Values by key.

        Returns:
            Index of the spring.
        """
        return self._add_springs(np.array([[i, j]]), ke, kd, control, custom_attributes).start

    def _add_springs(self, pairs: np.ndarray, ke: Any = None, kd: Any = None, control: Any = 0.0, custom: Any = None) -> range:
        pairs = self._check_stencils("spring", pairs)
        added = self._tables["spring"].extend(
            len(pairs),
            indices=pairs,
            rest_length=self._present_lengths(pairs),
            stiffness=_or(ke, self.default_spring_ke),
            damping=_or(kd, self.default_spring_kd),
            control=control,
        )
        self._author("spring", custom, added.start, len(pairs))
        return added

    def add_triangle(
        self, i: int, j: int, k: int, *, tri_ke: float | None = None, tri_ka: float | None = None, tri_kd: float | None = None,
        tri_drag: float | None = None, tri_lift: float | None = None, color: Any = None, opacity: float | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> float:  # fmt: skip
        """Add a triangle; see :meth:`add_triangles`. Returns its rest area [m^2], 0 when it was dropped."""
        return self.add_triangles(
            [i], [j], [k], tri_ke=tri_ke, tri_ka=tri_ka, tri_kd=tri_kd, tri_drag=tri_drag, tri_lift=tri_lift, color=color,
            opacity=opacity, custom_attributes=custom_attributes,
        )[0]  # fmt: skip

    def add_triangles(
        self, i: Sequence[int], j: Sequence[int], k: Sequence[int], *, tri_ke: Any = None, tri_ka: Any = None,
        tri_kd: Any = None, tri_drag: Any = None, tri_lift: Any = None, color: Any = None, opacity: float | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> list[float]:  # fmt: skip
        """Add triangles; their present shape is the rest shape.

        Args:
            i: First particles.
            j: Second particles.
            k: Third particles.
            tri_ke: Shear modulus mu of the sheet [N/m], one or one per triangle; None takes ``default_tri_ke``.
            tri_ka: Area modulus lambda [N/m]; None takes ``default_tri_ka``.
            tri_kd: Damping [N s/m]; None takes ``default_tri_kd``.
            tri_drag: Drag rho C_D/2 [kg/m^3]: half the density of the air times the drag coefficient; 0 is none.
            tri_lift: Lift rho C_L/2 [kg/m^3]; 0 is none.
            color: Colour for pictures, three values from 0 to 1.
            opacity: Opacity for viewers that draw it.
            custom_attributes: Values by key.

        Returns:
            Rest areas [m^2]. A triangle without area is dropped with a warning that counts them, and has 0 here.
        """
        areas = self._add_triangles(
            _columns(i, j, k), tri_ke=tri_ke, tri_ka=tri_ka, tri_kd=tri_kd, tri_drag=tri_drag, tri_lift=tri_lift, color=color,
            opacity=opacity, custom=custom_attributes,
        )  # fmt: skip
        return areas.tolist()

    def _add_triangles(
        self, triangles: np.ndarray, *, tri_ke: Any, tri_ka: Any, tri_kd: Any, tri_drag: Any, tri_lift: Any, color: Any,
        opacity: float | None, custom: dict[str, Any] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Add triangles (n, 3); those without area are dropped with a counted warning. Returns areas, 0 where dropped."""
        triangles = self._check_stencils("triangle", triangles)
        x = self.particle_q.array
        poses, areas = map_rows(lambda t: measure_triangles(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]]), triangles)
        good = areas > 0.0
        materials = _material_rows(
            _or(tri_ke, self.default_tri_ke), _or(tri_ka, self.default_tri_ka), _or(tri_kd, self.default_tri_kd),
            _or(tri_drag, self.default_tri_drag), _or(tri_lift, self.default_tri_lift),
        )  # fmt: skip
        values = {"indices": triangles, "poses": poses, "areas": areas, "materials": materials}
        if not good.all():
            bad = np.flatnonzero(~good)
            values = {name: _kept(rows, good) for name, rows in values.items()}
            warnings.warn(
                f"{len(bad)} triangles have no area and are dropped; the first joins particles {triangles[bad[0]].tolist()}",
                stacklevel=3,
            )
        added = self._tables["tri"].extend(
            int(good.sum()), **values, color=_or(color, (-1.0, -1.0, -1.0)), opacity=_or(opacity, 1.0)
        )
        self._author("tri", custom, added.start, len(added))
        return areas

    def add_edge(
        self, i: int, j: int, k: int, l: int, *, rest: float | None = None, edge_ke: float | None = None,  # noqa: E741
        edge_kd: float | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add a bending hinge; see :meth:`add_edges`."""
        self.add_edges(
            [i], [j], [k], [l], rest=None if rest is None else [rest], edge_ke=edge_ke, edge_kd=edge_kd,
            custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_edges(
        self, i: Sequence[int], j: Sequence[int], k: Sequence[int], l: Sequence[int], *, rest: Any = None,  # noqa: E741
        edge_ke: Any = None, edge_kd: Any = None, custom_attributes: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add bending hinges.

        Args:
            i: Vertices opposite the edge in the triangles (i, k, l); -1 for none.
            j: Vertices opposite the edge in the triangles (j, l, k); -1 at a boundary.
            k: First vertices of the edges.
            l: Second vertices of the edges.
            rest: Rest angles [rad], one or one per hinge; None takes the present ones.
            edge_ke: Stiffness [N] (J per metre of edge and rad^2); None takes ``default_edge_ke``.
            edge_kd: Damping [N s]; None takes ``default_edge_kd``.
            custom_attributes: Values by key.
        """
        self._add_edges(_columns(i, j, k, l), rest=rest, edge_ke=edge_ke, edge_kd=edge_kd, custom=custom_attributes)

    def _add_edges(
        self, edges: np.ndarray, *, rest: Any = None, edge_ke: Any, edge_kd: Any, custom: dict[str, Any] | None = None
    ) -> None:
        """Add hinges (n, 4); see :meth:`add_edges`."""
        edges = self._check_stencils("edge", edges, least=(-1, -1, 0, 0))
        if rest is None:
            rest = map_rows(self._present_angles, edges)
        added = self._tables["edge"].extend(
            len(edges),
            indices=edges,
            rest_angle=rest,
            rest_length=self._present_lengths(edges[:, 2:]),
            bending_properties=_material_rows(_or(edge_ke, self.default_edge_ke), _or(edge_kd, self.default_edge_kd)),
        )
        self._author("edge", custom, added.start, len(edges))

    def _present_angles(self, edges: np.ndarray) -> np.ndarray:
        x = self.particle_q.array
        inner = (edges[:, 0] >= 0) & (edges[:, 1] >= 0)
        return np.where(inner, measure_hinges(*(x[edges[:, s]] for s in range(4))), 0.0)

    def _present_lengths(self, pairs: np.ndarray) -> np.ndarray:
        x = self.particle_q.array
        return map_rows(lambda p: lengths(x[p[:, 1]] - x[p[:, 0]]), pairs)

    def add_tetrahedron(
        self, i: int, j: int, k: int, l: int, k_mu: float = 1000.0, k_lambda: float = 1000.0,  # noqa: E741
        k_damp: float = 0.0, custom_attributes: dict[str, Any] | None = None,
    ) -> float:  # fmt: skip
        """Add a tetrahedron whose present shape is its rest shape.

        Args:
            i: First particle; (j - i) x (k - i) points to l.
            j: Second particle.
            k: Third particle.
            l: Fourth particle.
            k_mu: Lame parameter mu [Pa].
            k_lambda: Lame parameter lambda [Pa].
            k_damp: Damping [Pa s].
            custom_attributes: Values by key.

        Returns:
            Rest volume [m^3]; 0 when it is flat or inverted, and then dropped with a warning.
        """
        volumes = self._add_tetrahedra(np.array([[i, j, k, l]]), k_mu, k_lambda, k_damp, custom_attributes)
        return float(volumes[0])

    def _add_tetrahedra(self, tetrahedra: np.ndarray, k_mu: Any, k_lambda: Any, k_damp: Any, custom: Any = None) -> np.ndarray:
        """Add tetrahedra; flat and inverted ones are dropped with a counted warning. Returns volumes, 0 where dropped."""
        tetrahedra = self._check_stencils("tetrahedron", tetrahedra)
        x = self.particle_q.array
        poses, volumes = map_rows(lambda t: measure_tetrahedra(x[t]), tetrahedra)
        good = (volumes > 0.0) & poses[:, 0].any(axis=1)
        values = {"indices": tetrahedra, "poses": poses, "materials": _material_rows(k_mu, k_lambda, k_damp)}
        if not good.all():
            bad = np.flatnonzero(~good)
            values = {name: _kept(rows, good) for name, rows in values.items()}
            warnings.warn(
                f"{len(bad)} tetrahedra are flat or inverted and are dropped; the first joins particles "
                f"{tetrahedra[bad[0]].tolist()} with volume {volumes[bad[0]]:.3g} m^3",
                stacklevel=4,
            )
        added = self._tables["tet"].extend(int(good.sum()), **values)
        self._author("tet", custom, added.start, len(added))
        return np.where(good, volumes, 0.0)

    def add_attachment_particle_body(
        self, particle: int, body: int, *, body_point: Any = None, stiffness: float = 1.0e4, damping: float = 0.0,
        enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Hold a particle by a point of a body or of the world.

        Args:
            particle: The particle.
            body: The body; -1 is the world.
            body_point: Where it is held [m], in the body frame (in the world without a body), shape (3,); None takes where the
                particle is now.
            stiffness: Stiffness [N/m].
            damping: Damping [N s/m] of the motion relative to the point.
            enabled: Whether the attachment acts.
            custom_attributes: Values by key.

        Returns:
            Index of the attachment.

        Raises:
            ValueError: The particle or the body does not exist, or they are in different worlds.
        """
        index = self.attachment_particle_body_count
        for what, value, least in (("particle", particle, 0), ("body", body, -1)):
            count = self._tables[what].count
            if not least <= value < count:
                raise ValueError(f"attachment particle body {index}: expected a {what} from {least} to {count - 1}, found {value}")
        if body >= 0:
            worlds = self.particle_world[particle], self.body_world[body]
            if min(worlds) >= 0 and worlds[0] != worlds[1]:
                raise ValueError(
                    f"attachment particle body {index}: particle {particle} is in world {worlds[0]}, body {self.body_label[body]!r} "
                    f"(index {body}) in world {worlds[1]}; attach it to a body of its own world"
                )
        if body_point is None:
            body_point = self.particle_q.array[particle]
            if body >= 0:
                pose = self.body_q.array[body]
                body_point = quat_rotate(pose[3:] * (-1.0, -1.0, -1.0, 1.0), body_point - pose[:3])
        added = self._tables["attachment_particle_body"].append(
            particle=particle, body=body, body_point=body_point, stiffness=stiffness, damping=damping, enabled=enabled
        )
        self._author("attachment_particle_body", custom_attributes, added)
        return added

    def _check_stencils(self, what: str, indices: np.ndarray, least: Any = 0) -> np.ndarray:
        """Refuse elements whose particles do not exist or repeat."""
        count = self.particle_count
        lowest = np.broadcast_to(least, indices.shape[1])
        if len(indices) and (indices.max() >= count or any(indices[:, s].min() < lowest[s] for s in range(len(lowest)))):
            bad = np.flatnonzero(((indices < lowest) | (indices >= count)).any(axis=1))
            raise ValueError(
                f"{what} {bad[0]} of {len(indices)}: particles {indices[bad[0]].tolist()} are not all within 0 to {count - 1}"
            )
        if what != "triangle":  # a triangle that repeats a particle has no area and is dropped with a count
            bad = np.flatnonzero(map_rows(_repeats, indices))
            if len(bad):
                raise ValueError(f"{what} {bad[0]} of {len(indices)}: particles {indices[bad[0]].tolist()} repeat")
        return indices.astype(np.int32, copy=False)

"""The methods of ModelBuilder that add bodies and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.data.table import Rows
from hooke.geometry.heightfield import Heightfield
from hooke.geometry.inertia import MassProperties
from hooke.geometry.kind import GeoType
from hooke.geometry.mesh import Mesh
from hooke.geometry.shapes import shape_kind
from hooke.model.config import ShapeConfig
from hooke.model.enums import Axis, BodyFlags
from hooke.model.motion import named_pose

__all__ = ["BodyMethods"]


def _rotation_from_z(normal: np.ndarray) -> np.ndarray:
    """Shortest rotation that turns +Z into the unit vector ``normal``, quaternion x y z w."""
    if normal[2] < -1.0 + 1.0e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    q = np.array([-normal[1], normal[0], 0.0, 1.0 + normal[2]])
    return q / np.linalg.norm(q)


class BodyMethods:
    """Links, bodies, shapes, the ground."""

    _tables: dict[str, Rows]

    def add_link(
        self, *, xform: Any = None, com: Any = None, inertia: Any = None, mass: float = 0.0, label: str | None = None,
        lock_inertia: bool = False, is_kinematic: bool = False, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a body without a joint.

        Args:
            xform: Pose of the body frame in the world; None is the identity.
            com: Centre of mass in the body frame [m].
            inertia: Inertia about the centre of mass in body axes [kg m^2], shape (3, 3).
            mass: Mass [kg]; shapes with a density add to mass, centre of mass and inertia.
            label: Name; None is ``body_{i}``.
            lock_inertia: Shapes do not add mass.
            is_kinematic: The body moves as the caller says (``state.body_q``), not by forces.
            custom_attributes: Values by key.

        Returns:
            Index of the body.
        """
        label = label or f"body_{self.body_count}"
        index = self._tables["body"].append(
            q=named_pose(xform, f"body {label!r}"),
            com=np.zeros(3) if com is None else np.asarray(com, np.float64),
            mass=mass,
            inertia=np.zeros((3, 3)) if inertia is None else np.asarray(inertia, np.float64).reshape(3, 3),
            flags=int(BodyFlags.KINEMATIC if is_kinematic else BodyFlags.DYNAMIC),
            world=self.current_world,
            label=label,
            lock_inertia=lock_inertia,
        )
        self._author("body", custom_attributes, index)
        return index

    def add_body(
        self, *, xform: Any = None, com: Any = None, inertia: Any = None, mass: float = 0.0, label: str | None = None,
        lock_inertia: bool = False, is_kinematic: bool = False, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a body that is free to move: a link, its free joint and their articulation. Arguments as :meth:`add_link`."""
        body = self.add_link(
            xform=xform, com=com, inertia=inertia, mass=mass, label=label, lock_inertia=lock_inertia, is_kinematic=is_kinematic,
            custom_attributes=custom_attributes,
        )  # fmt: skip
        name = self.body_label[body]
        joint = self.add_joint_free(body, label=f"{name}_free_joint")
        self.add_articulation([joint], label=f"{name}_articulation")
        return body

    def add_shape(
        self, *, body: int, type: int, xform: Any = None, cfg: ShapeConfig | None = None, scale: Any = None, src: Any = None,
        is_static: bool = False, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a shape of any kind.

        Args:
            body: Body that carries it; -1 is static.
            type: GeoType.
            xform: Pose in the body frame, in the world for ``body`` -1.
            cfg: Material and collision settings; None takes ``default_shape_cfg``.
            scale: Dimensions; their meaning depends on the type.
            src: Mesh or Heightfield.
            is_static: The shape adds no mass.
            color: Colour for pictures, three values from 0 to 1.
            opacity: Opacity for pictures.
            label: Name; None is ``shape_{i}``.
            custom_attributes: Values by key.

        Returns:
            Index of the shape.

        Raises:
            ValueError: The body does not exist, or a dimension or setting is out of range.
        """
        cfg = (self.default_shape_cfg if cfg is None else cfg).copy()
        label = label or f"shape_{self.shape_count}"
        if not -1 <= body < self.body_count:
            raise ValueError(f"shape {label!r}: expected a body from -1 (static) to {self.body_count - 1}, found {body}")
        cfg.validate(GeoType(type))
        scale = np.ones(3) if scale is None else np.asarray(scale, np.float64).reshape(3)
        if not np.isfinite(scale).all() or (src is None and (scale < 0.0).any()):
            raise ValueError(f"shape {label!r}: expected finite dimensions >= 0, found {scale.tolist()}")
        pose = named_pose(xform, f"shape {label!r}")
        kind = self._shape_kind(type, scale, src, label)
        index = self._tables["shape"].append(
            type=int(type), flags=cfg.flags, body=body, transform=pose, scale=scale, source=src, margin=cfg.margin,
            gap=self.rigid_gap if cfg.gap is None else cfg.gap, material_ke=cfg.ke, material_kd=cfg.kd, material_kf=cfg.kf,
            material_ka=cfg.ka, material_mu=cfg.mu, material_restitution=cfg.restitution,
            material_mu_torsional=cfg.mu_torsional, material_mu_rolling=cfg.mu_rolling, collision_group=cfg.collision_group,
            collision_filter_parent=cfg.collision_filter_parent, is_solid=cfg.is_solid,
            color=(-1.0,) * 3 if color is None else color, opacity=1.0 if opacity is None else opacity,
            world=self.current_world, label=label,
        )  # fmt: skip
        if body >= 0 and cfg.density > 0.0 and not is_static and not self.body_lock_inertia[body]:
            thickness = None if cfg.is_solid else cfg.margin
            added = kind.mass_properties(scale, src, cfg.density, thickness)
            self._add_mass(body, added.transformed(pose))
        self._author("shape", custom_attributes, index)
        return index

    @staticmethod
    def _shape_kind(type: int, scale: np.ndarray, src: Any, label: str) -> Any:
        """The record of a shape's kind, after it has accepted the dimensions."""
        try:
            kind = shape_kind(type)
            kind.bounds(scale, src)
        except ValueError as error:
            raise ValueError(f"shape {label!r}: {error}") from error
        return kind

    def _add_mass(self, body: int, added: MassProperties) -> None:
        columns = self._tables["body"].columns
        total = MassProperties(columns["mass"].array[body], columns["com"].array[body], columns["inertia"].array[body]) + added
        columns["mass"].array[body] = total.mass
        columns["com"].array[body] = total.com
        columns["inertia"].array[body] = total.inertia

    def _add_primitive(self, type: GeoType, body: int, scale: Any, given: dict[str, Any]) -> int:
        """The tail of every adder below: ``given`` holds its keyword arguments."""
        options = {k: given[k] for k in ("xform", "cfg", "color", "opacity", "label", "custom_attributes")}
        if given.get("as_site"):
            options["cfg"] = (options["cfg"] or self.default_shape_cfg).copy()
            options["cfg"].mark_as_site()
        return self.add_shape(body=body, type=type, scale=scale, src=given.get("src"), **options)

    def add_shape_sphere(
        self, body: int, *, xform: Any = None, radius: float = 1.0, cfg: ShapeConfig | None = None, as_site: bool = False,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a sphere of ``radius`` [m]; other arguments as :meth:`add_shape`."""
        return self._add_primitive(GeoType.SPHERE, body, (radius, 0.0, 0.0), locals())

    def add_shape_box(
        self, body: int, *, xform: Any = None, hx: float = 0.5, hy: float = 0.5, hz: float = 0.5, cfg: ShapeConfig | None = None,
        as_site: bool = False, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a box with half extents ``hx``, ``hy``, ``hz`` [m]; other arguments as :meth:`add_shape`."""
        return self._add_primitive(GeoType.BOX, body, (hx, hy, hz), locals())

    def add_shape_capsule(
        self, body: int, *, xform: Any = None, radius: float = 1.0, half_height: float = 0.5, cfg: ShapeConfig | None = None,
        as_site: bool = False, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a capsule along Z; ``half_height`` [m] excludes the caps. Other arguments as :meth:`add_shape`."""
        return self._add_primitive(GeoType.CAPSULE, body, (radius, half_height, 0.0), locals())

    def add_shape_cylinder(
        self, body: int, *, xform: Any = None, radius: float = 1.0, half_height: float = 0.5, barrel_radius: float = 0.0,
        cfg: ShapeConfig | None = None, as_site: bool = False, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a cylinder along Z with flat ends (``barrel_radius`` must be 0). Other arguments as :meth:`add_shape`."""
        return self._add_primitive(GeoType.CYLINDER, body, (radius, half_height, barrel_radius), locals())

    def add_shape_cone(
        self, body: int, *, xform: Any = None, radius: float = 1.0, half_height: float = 0.5, cfg: ShapeConfig | None = None,
        as_site: bool = False, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a cone along Z, base at -half_height, apex at +half_height [m]. Other arguments as :meth:`add_shape`."""
        return self._add_primitive(GeoType.CONE, body, (radius, half_height, 0.0), locals())

    def add_shape_ellipsoid(
        self, body: int, *, xform: Any = None, rx: float = 1.0, ry: float = 0.75, rz: float = 0.5, cfg: ShapeConfig | None = None,
        as_site: bool = False, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add an ellipsoid with semi-axes ``rx``, ``ry``, ``rz`` [m]. Other arguments as :meth:`add_shape`."""
        return self._add_primitive(GeoType.ELLIPSOID, body, (rx, ry, rz), locals())

    def add_shape_mesh(
        self, body: int, *, xform: Any = None, mesh: Mesh | None = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a triangle mesh scaled by ``scale`` (three factors). Other arguments as :meth:`add_shape`."""
        return self._add_mesh(GeoType.MESH, body, mesh, locals())

    def add_shape_convex_hull(
        self, body: int, *, xform: Any = None, mesh: Mesh | None = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add the convex hull of a mesh (needs the ``mesh`` extra). Other arguments as :meth:`add_shape`."""
        return self._add_mesh(GeoType.CONVEX_MESH, body, None if mesh is None else mesh.compute_convex_hull(), locals())

    def _add_mesh(self, type: GeoType, body: int, mesh: Mesh | None, given: dict[str, Any]) -> int:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"shape {given['label'] or self.shape_count}: expected mesh=hooke.Mesh(...), found {mesh!r}")
        scale = (1.0, 1.0, 1.0) if given["scale"] is None else np.broadcast_to(given["scale"], 3)
        return self._add_primitive(type, body, scale, {**given, "src": mesh})

    def add_shape_heightfield(
        self, *, xform: Any = None, heightfield: Heightfield | None = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a static height field. Other arguments as :meth:`add_shape`."""
        if not isinstance(heightfield, Heightfield):
            raise TypeError(f"add_shape_heightfield: expected heightfield=hooke.Heightfield(...), found {heightfield!r}")
        scale = (1.0, 1.0, 1.0) if scale is None else scale
        return self._add_primitive(GeoType.HFIELD, -1, scale, {**locals(), "src": heightfield})

    def add_shape_plane(
        self, plane: Any = (0.0, 0.0, 1.0, 0.0), *, xform: Any = None, width: float = 10.0, length: float = 10.0, body: int = -1,
        cfg: ShapeConfig | None = None, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a plane.

        Args:
            plane: (a, b, c, d) of a x + b y + c z + d = 0; the normal (a, b, c) points out of the solid. Ignored with ``xform``.
            xform: Pose whose +Z is the normal.
            width: Extent along the local x [m]; 0 together with ``length`` 0 is infinite.
            length: Extent along the local y [m].
            body: Body that carries the plane; -1 is static.
            cfg: As :meth:`add_shape`.
            color: As :meth:`add_shape`.
            opacity: As :meth:`add_shape`.
            label: As :meth:`add_shape`.
            custom_attributes: As :meth:`add_shape`.
        """
        if xform is None:
            normal = np.asarray(plane[:3], np.float64)
            size = np.linalg.norm(normal)
            if not size > 0.0:
                raise ValueError(f"add_shape_plane: expected a normal that is not zero, found {tuple(plane)}")
            normal = normal / size
            xform = np.concatenate([-float(plane[3]) / size * normal, _rotation_from_z(normal)])
        return self._add_primitive(GeoType.PLANE, body, (width, length, 0.0), {**locals(), "xform": xform})

    def add_ground_plane(
        self, *, height: float = 0.0, cfg: ShapeConfig | None = None, color: Any = (0.125, 0.125, 0.15),
        opacity: float | None = None, label: str | None = None,
    ) -> int:  # fmt: skip
        """Add an infinite static plane at ``height`` [m] along the up axis. Returns the index of the shape."""
        normal = Axis(self.up_axis).to_vector()
        return self.add_shape_plane(
            (*normal, -height), width=0.0, length=0.0, cfg=cfg, color=color, opacity=opacity, label=label or "ground_plane"
        )

    @property
    def body_shapes(self) -> dict[int, list[int]]:
        """Shapes of every body; -1 holds the static ones."""
        shapes: dict[int, list[int]] = {body: [] for body in range(-1, self.body_count)}
        for shape, body in enumerate(self.shape_body.array.tolist()):
            shapes[body].append(shape)
        return shapes

"""The methods of ModelBuilder that read robots and scenes from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hooke.model.enums import Axis

__all__ = ["ImportMethods"]


class ImportMethods:
    """URDF, MJCF and USD (docs/guide/importers.md). An import that fails leaves the builder as it was."""

    default_joint_cfg: Any
    custom_attributes: dict[str, Any]
    up_axis: Any

    def add_urdf(
        self, source: Any, *, xform: Any = None, floating: bool | None = None, base_joint: dict[str, Any] | None = None,
        parent_body: int = -1, scale: float = 1.0, hide_visuals: bool = False, parse_visuals_as_colliders: bool = False,
        up_axis: Axis | str | int = Axis.Z, force_show_colliders: bool = False, enable_self_collisions: bool = True,
        ignore_inertial_definitions: bool = False, joint_ordering: str | None = "dfs", bodies_follow_joint_ordering: bool = True,
        collapse_fixed_joints: bool = False, collapse_massless_fixed_root: bool = False, mesh_maxhullvert: int | None = None,
        force_position_velocity_actuation: bool = False, override_root_xform: bool = False, joint_damping_mode: str = "passive",
        package_dirs: Any = None,
    ) -> None:  # fmt: skip
        """Add the robot of a URDF file.

        Args:
            source: Path, or the text itself.
            xform: Pose of the robot in the world, or in the frame of ``parent_body``; None is the identity.
            floating: True frees the root (a free joint), None and False fix it.
            base_joint: Joint of the root instead: arguments of :meth:`add_joint` (``joint_type``, ``linear_axes``, ...).
            parent_body: Body that carries the robot; -1 is the world. Its articulation, which must be the last one, grows.
            scale: Factor of all lengths; masses stay.
            hide_visuals: Leave visual shapes out.
            parse_visuals_as_colliders: Visual shapes collide too.
            up_axis: Up axis of the file; it becomes that of the builder.
            force_show_colliders: Draw the collision shapes.
            enable_self_collisions: Whether shapes of the robot meet each other; those of neighbours in the tree never do.
            ignore_inertial_definitions: Masses come from the collision shapes and the density of ``default_shape_cfg``, as they do for
                links without ``<inertial>``.
            joint_ordering: ``"dfs"``, ``"bfs"``, or None for that of the file.
            bodies_follow_joint_ordering: Bodies have the order of their joints, else that of the file.
            collapse_fixed_joints: Merge links that fixed joints connect; the joint of the root stays.
            collapse_massless_fixed_root: Merge a root without mass into the world.
            mesh_maxhullvert: Largest number of vertices of convex hulls of meshes.
            force_position_velocity_actuation: All axes take position and velocity targets.
            override_root_xform: ``xform`` is the pose of the root whatever the file says.
            joint_damping_mode: ``"passive"``: ``<dynamics damping>`` is passive damping; ``"drive"``: that of the drive.
            package_dirs: Directories in which ``package://`` is looked for, before those above the file.

        Raises:
            hooke.importers.FileError: The file is damaged; the message names line and element.
            ValueError: An argument is out of range.
        """
        from hooke.importers.emit import emit
        from hooke.importers.urdf import read_urdf

        if joint_damping_mode not in ("passive", "drive"):
            raise ValueError(f"joint_damping_mode: expected 'passive' or 'drive', found {joint_damping_mode!r}")
        options = _options(locals())
        description = read_urdf(
            source, scale=scale, package_dirs=package_dirs, joint_default=self.default_joint_cfg, mesh_maxhullvert=mesh_maxhullvert,
            force_position_velocity_actuation=force_position_velocity_actuation,
        )  # fmt: skip
        if joint_damping_mode == "drive":
            for dof in (dof for joint in description.joints for dof in (*joint.linear, *joint.angular)):
                dof.target_kd, dof.damping = dof.damping, 0.0
        emit(self, description, options)

    def add_mjcf(
        self, source: Any, *, xform: Any = None, floating: bool | None = None, base_joint: dict[str, Any] | None = None,
        parent_body: int = -1, armature_scale: float = 1.0, scale: float = 1.0, hide_visuals: bool = False,
        parse_visuals_as_colliders: bool = False, parse_meshes: bool = True, parse_sites: bool = True, parse_visuals: bool = True,
        parse_mujoco_options: bool = True, up_axis: Axis | str | int = Axis.Z, ignore_names: Sequence[str] = (),
        ignore_classes: Sequence[str] = (), visual_classes: Sequence[str] = ("visual",),
        collider_classes: Sequence[str] = ("collision",), no_class_as_colliders: bool = True, force_show_colliders: bool = False,
        enable_self_collisions: bool = True, ignore_inertial_definitions: bool = False, collapse_fixed_joints: bool = False,
        collapse_massless_fixed_root: bool = False, verbose: bool = False, skip_equality_constraints: bool = False,
        convert_mjc_equality_constraints: bool = True, convert_3d_hinge_to_ball_joints: bool = False,
        mesh_maxhullvert: int | None = None, ctrl_direct: bool = False, path_resolver: Any = None,
        override_root_xform: bool = False, legacy_margin_gap: bool = False,
    ) -> None:  # fmt: skip
        """Add the bodies of an MJCF file (needs the ``mjcf`` extra). Arguments that are not listed as :meth:`add_urdf`.

        Args:
            source: Path, or the text itself.
            xform: As :meth:`add_urdf`, like all that are not described here.
            floating: None does as the file says; True frees, False fixes all bodies of the first level that are free or fixed there.
            base_joint: See above.
            parent_body: See above.
            armature_scale: Factor of the armature of joints.
            scale: See above.
            hide_visuals: See above.
            parse_visuals_as_colliders: See above.
            parse_meshes: Read geoms that are meshes.
            parse_sites: Read sites, as shapes that are markers.
            parse_visuals: Read geoms that do not collide.
            parse_mujoco_options: Take the gravity of the file.
            up_axis: See above.
            ignore_names: Patterns (whole-name regular expressions) of bodies, with what they carry, geoms and sites to leave out.
            ignore_classes: Patterns of the classes of geoms to leave out.
            visual_classes: Patterns of classes whose geoms do not collide.
            collider_classes: Patterns of classes whose geoms do.
            no_class_as_colliders: Other geoms collide if their ``contype`` or ``conaffinity`` is not zero, else none of them does.
            force_show_colliders: See above.
            enable_self_collisions: See above.
            ignore_inertial_definitions: See above; densities and masses of geoms count.
            collapse_fixed_joints: See above.
            collapse_massless_fixed_root: See above.
            verbose: Print which bodies were merged.
            skip_equality_constraints: Leave equality constraints out.
            convert_mjc_equality_constraints: Make mimics and joints of equality constraints; False leaves them out too.
            convert_3d_hinge_to_ball_joints: Three hinges of one body become a ball.
            mesh_maxhullvert: See above.
            ctrl_direct: Make no drives of actuators; the caller applies efforts.
            path_resolver: Must be None: mujoco resolves the paths of a file.
            override_root_xform: See above.
            legacy_margin_gap: Must be False.

        Raises:
            hooke.importers.FileError: mujoco refuses the file; the message names its reason.
            ImportError: mujoco is not installed.
            NotImplementedError: An argument that must keep its default does not.
        """
        from hooke.importers.emit import emit
        from hooke.importers.mjcf import MjcfOptions, read_mjcf

        _refuse("add_mjcf", path_resolver=path_resolver, legacy_margin_gap=legacy_margin_gap)
        options = _options(locals(), take_gravity=parse_mujoco_options)
        names = (
            "scale armature_scale parse_meshes parse_sites parse_visuals ignore_names ignore_classes visual_classes collider_classes "
            "no_class_as_colliders convert_3d_hinge_to_ball_joints mesh_maxhullvert ctrl_direct"
        )
        given = locals()
        reading = MjcfOptions(
            joint_default=self.default_joint_cfg, up_axis=int(Axis.from_any(up_axis)),
            skip_equality_constraints=skip_equality_constraints or not convert_mjc_equality_constraints,
            **{name: given[name] for name in names.split()},
        )  # fmt: skip
        emit(self, read_mjcf(source, reading), options)

    def add_usd(
        self, source: Any, *, xform: Any = None, floating: bool | None = None, base_joint: dict[str, Any] | None = None,
        parent_body: int = -1, only_load_enabled_rigid_bodies: bool = False, only_load_enabled_joints: bool = True,
        joint_drive_gains_scaling: float = 1.0, verbose: bool = False, ignore_paths: Sequence[str] | None = None,
        collapse_fixed_joints: bool = False, enable_self_collisions: bool = True, apply_up_axis_from_stage: bool = False,
        root_path: str = "/", joint_ordering: str | None = "dfs", bodies_follow_joint_ordering: bool = True,
        skip_mesh_approximation: bool = False, load_sites: bool = True, load_visual_shapes: bool = True,
        load_static_visual_shapes: bool = True, hide_collision_shapes: bool = False, force_show_colliders: bool = False,
        parse_mujoco_options: bool = True, mesh_maxhullvert: int | None = None, schema_resolvers: Any = None,
        force_position_velocity_actuation: bool = False, convert_mjc_equality_constraints: bool = True,
        override_root_xform: bool = False, legacy_margin_gap: bool = False, return_deformable_results: bool = False,
        allow_unsafe_torch_checkpoints: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Add the bodies, shapes and joints of a USD stage (needs the ``usd`` extra). Arguments not listed as :meth:`add_urdf`.

        Custom attributes that are registered before (``SolverKamino.Config.register_custom_attributes`` ...) are read from the prims.

        Args:
            source: Path, or an open ``Usd.Stage``.
            xform: As :meth:`add_urdf`, like all that are not described here.
            floating: None and True free roots that no joint holds to the world, False fixes all roots.
            base_joint: See above.
            parent_body: See above.
            only_load_enabled_rigid_bodies: Leave out bodies with ``rigidBodyEnabled`` false.
            only_load_enabled_joints: Leave out joints with ``jointEnabled`` false.
            joint_drive_gains_scaling: Factor of stiffness and damping of drives.
            verbose: Print which bodies were merged.
            ignore_paths: Patterns (regular expressions that match from the start of a path) of prims to leave out.
            collapse_fixed_joints: See above.
            enable_self_collisions: See above.
            apply_up_axis_from_stage: The builder takes the up axis of the stage; else the stage is turned to that of the builder.
            root_path: Prim below which to read.
            joint_ordering: See above.
            bodies_follow_joint_ordering: See above.
            skip_mesh_approximation: Take the triangles of collision meshes whatever ``physics:approximation`` says.
            load_sites: Read prims with the site schemas of newton or mujoco as markers.
            load_visual_shapes: Read shapes of bodies that do not collide.
            load_static_visual_shapes: Read other shapes that do not collide.
            hide_collision_shapes: Do not draw collision shapes.
            force_show_colliders: See above.
            parse_mujoco_options: No effect: attributes of mujoco's schemas are not read.
            mesh_maxhullvert: See above.
            schema_resolvers: Must be None.
            force_position_velocity_actuation: See above.
            convert_mjc_equality_constraints: See ``parse_mujoco_options``.
            override_root_xform: See above.
            legacy_margin_gap: Must be False.
            return_deformable_results: Must be False.
            allow_unsafe_torch_checkpoints: Must be False.

        Returns:
            ``path_body_map``, ``path_joint_map``, ``path_shape_map`` from paths of prims to indices; ``up_axis``, ``linear_unit`` [m] and
            ``mass_unit`` [kg] of the stage; ``scene_attributes``, what the physics scene authors beside UsdPhysics; ``physics_dt`` [s]
            and ``max_solver_iterations`` if it says; ``collapse_results``.

        Raises:
            hooke.importers.FileError: The file is damaged; the message names the prim.
            ImportError: usd-core is not installed.
            NotImplementedError: An argument that must keep its default does not.
        """
        from hooke.importers.emit import emit
        from hooke.importers.usd import UsdOptions, read_usd_scene

        _refuse(
            "add_usd", schema_resolvers=schema_resolvers, legacy_margin_gap=legacy_margin_gap,
            return_deformable_results=return_deformable_results, allow_unsafe_torch_checkpoints=allow_unsafe_torch_checkpoints,
        )  # fmt: skip
        given = locals()
        names = (
            "only_load_enabled_rigid_bodies only_load_enabled_joints joint_drive_gains_scaling ignore_paths root_path "
            "skip_mesh_approximation load_sites load_visual_shapes load_static_visual_shapes hide_collision_shapes mesh_maxhullvert "
            "force_position_velocity_actuation"
        )
        reading = UsdOptions(
            joint_default=self.default_joint_cfg, custom_attributes=self.custom_attributes,
            **{name: given[name] for name in names.split()},
        )  # fmt: skip
        description, scene = read_usd_scene(source, reading)
        before = self.up_axis
        if apply_up_axis_from_stage:
            self.up_axis = Axis(description.up_axis)
        try:
            maps = emit(self, description, _options(given, take_gravity=True))
        except BaseException:
            self.up_axis = before
            raise
        maps["joints"] |= {path: maps["joints"][by] for path, by in scene.merged.items() if by in maps["joints"]}
        rate = scene.attributes.get("newton:timeStepsPerSecond")
        return {
            "path_body_map": maps["bodies"], "path_joint_map": maps["joints"], "path_shape_map": maps["shapes"],
            "up_axis": Axis(description.up_axis), "linear_unit": scene.length, "mass_unit": scene.mass,
            "scene_attributes": scene.attributes, "physics_dt": None if not rate else 1.0 / rate,
            "max_solver_iterations": scene.attributes.get("newton:maxSolverIterations"), "collapse_results": maps["collapse"],
        }  # fmt: skip


def _options(given: dict[str, Any], **more: Any) -> Any:
    """The arguments of an adder that say where and how a description enters."""
    from dataclasses import fields

    from hooke.importers.description import Options

    names = {field.name for field in fields(Options)}
    return Options(**{**{name: value for name, value in given.items() if name in names}, **more})


def _refuse(method: str, **values: Any) -> None:
    """Arguments of the documented signature that cannot be honoured are refused, not ignored."""
    for name, value in values.items():
        if value:
            raise NotImplementedError(f"{method}({name}={value!r}): not available; leave it at its default")

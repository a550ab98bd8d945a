"""The documented signatures: scenes written for the documented data model run with their arguments by name."""

import inspect

import pytest

from hooke import CollisionPipeline, Control, Model, ModelBuilder, State

SIGNATURES = {
    "add_articulation": "joints label=None custom_attributes=None",
    "add_attachment_particle_body": "particle body body_point=None stiffness=10000.0 damping=0.0 enabled=True custom_attributes=None",
    "add_body": "xform=None com=None inertia=None mass=0.0 label=None lock_inertia=False is_kinematic=False custom_attributes=None",
    "add_builder": "builder xform=None label_prefix=None",
    "add_cloth_grid": """pos rot vel dim_x dim_y cell_x cell_y mass reverse_winding=False fix_left=False fix_right=False fix_top=False
        fix_bottom=False tri_ke=None tri_ka=None tri_kd=None tri_drag=None tri_lift=None edge_ke=None edge_kd=None add_springs=False
        spring_ke=None spring_kd=None particle_radius=None color=None opacity=None custom_attributes_particles=None
        custom_attributes_edges=None custom_attributes_triangles=None label=None""",
    "add_cloth_mesh": """pos rot scale vel vertices indices density tri_ke=None tri_ka=None tri_kd=None tri_drag=None tri_lift=None
        edge_ke=None edge_kd=None add_springs=False spring_ke=None spring_kd=None particle_radius=None color=None opacity=None
        custom_attributes_particles=None custom_attributes_edges=None custom_attributes_triangles=None custom_attributes_springs=None
        validate_mesh=False label=None""",
    "add_custom_attribute": "attribute",
    "add_custom_frequency": "frequency",
    "add_custom_values_batch": "entries",
    "add_edge": "i j k l rest=None edge_ke=None edge_kd=None custom_attributes=None",
    "add_edges": "i j k l rest=None edge_ke=None edge_kd=None custom_attributes=None",
    "add_ground_plane": "height=0.0 cfg=None color=(0.125,0.125,0.15) opacity=None label=None",
    "add_constraint_mimic": "joint0 joint1 coef0=0.0 coef1=1.0 enabled=True label=None custom_attributes=None",
    "add_joint": """joint_type parent child linear_axes=None angular_axes=None label=None parent_xform=None
        child_xform=None collision_filter_parent=None enabled=True custom_attributes=None""",
    "add_joint_ball": """parent child parent_xform=None child_xform=None armature=None friction=None damping=None
        stiffness=None actuator_mode=None label=None collision_filter_parent=None enabled=True
        custom_attributes=None""",
    "add_joint_cable": """parent child parent_xform=None child_xform=None stretch_stiffness=None stretch_damping=None
        bend_stiffness=None bend_damping=None label=None collision_filter_parent=None enabled=True
        custom_attributes=None""",
    "add_joint_d6": """parent child linear_axes=None angular_axes=None label=None parent_xform=None child_xform=None
        collision_filter_parent=None enabled=True custom_attributes=None""",
    "add_joint_distance": """parent child parent_xform=None child_xform=None min_distance=-1.0 max_distance=1.0
        collision_filter_parent=None enabled=True custom_attributes=None label=None""",
    "add_joint_fixed": """parent child parent_xform=None child_xform=None label=None collision_filter_parent=None enabled=True
        custom_attributes=None""",
    "add_joint_free": """child parent_xform=None child_xform=None parent=-1 label=None collision_filter_parent=None
        enabled=True custom_attributes=None""",
    "add_joint_prismatic": """parent child parent_xform=None child_xform=None axis=0 target_q=None target_qd=None target_ke=None
        target_kd=None damping=None stiffness=None rest_q=None limit_lower=None limit_upper=None
        limit_ke=None limit_kd=None armature=None effort_limit=None velocity_limit=None friction=None
        actuator_mode=None target_pos=None target_vel=None label=None collision_filter_parent=None
        enabled=True custom_attributes=None""",
    "add_joint_revolute": """parent child parent_xform=None child_xform=None axis=None target_q=None target_qd=None
        target_ke=None target_kd=None damping=None stiffness=None rest_q=None limit_lower=None
        limit_upper=None limit_ke=None limit_kd=None armature=None effort_limit=None velocity_limit=None
        friction=None actuator_mode=None target_pos=None target_vel=None label=None
        collision_filter_parent=None enabled=True custom_attributes=None""",
    "add_joint_rod": """parent child parent_xform=None child_xform=None rest_rotation=None stretch_stiffness=None
        stretch_damping=None shear_stiffness=None shear_damping=None bend_stiffness=None bend_damping=None
        twist_stiffness=None twist_damping=None label=None collision_filter_parent=None enabled=True
        custom_attributes=None""",
    "add_rod": """positions=None rod=None quaternions=None radius=None cfg=None stretch_stiffness=None
        stretch_damping=None shear_stiffness=None shear_damping=None bend_stiffness=None bend_damping=None
        twist_stiffness=None twist_damping=None label=None wrap_in_articulation=True color=None
        body_frame_origin=None junction_collision_filter=True closed=False""",
    "add_rod_graph": """node_positions edges radius=0.1 cfg=None stretch_stiffness=None stretch_damping=None
        bend_stiffness=None bend_damping=None label=None wrap_in_articulation=True quaternions=None
        color=None junction_collision_filter=True body_frame_origin=None""",
    "add_shape_collision_filter_pair": "shape_a shape_b",
    "collapse_fixed_joints": "verbose=False joints_to_keep=None",
    "set_joint_mimic": "joint reference_joint coeffs=(0.0,1.0)",
    "validate_joint_ordering": """""",
    "add_link": "xform=None com=None inertia=None mass=0.0 label=None lock_inertia=False is_kinematic=False custom_attributes=None",
    "add_particle": "pos vel mass radius=None flags=1 custom_attributes=None",
    "add_particles": "pos vel mass radius=None flags=None custom_attributes=None",
    "add_shape": """body type xform=None cfg=None scale=None src=None is_static=False color=None opacity=None label=None
        custom_attributes=None""",
    "add_shape_box": """body xform=None hx=0.5 hy=0.5 hz=0.5 cfg=None as_site=False color=None opacity=None label=None
        custom_attributes=None""",
    "add_shape_capsule": """body xform=None radius=1.0 half_height=0.5 cfg=None as_site=False color=None opacity=None label=None
        custom_attributes=None""",
    "add_shape_cone": """body xform=None radius=1.0 half_height=0.5 cfg=None as_site=False color=None opacity=None label=None
        custom_attributes=None""",
    "add_shape_convex_hull": "body xform=None mesh=None scale=None cfg=None color=None opacity=None label=None custom_attributes=None",
    "add_shape_cylinder": """body xform=None radius=1.0 half_height=0.5 barrel_radius=0.0 cfg=None as_site=False color=None
        opacity=None label=None custom_attributes=None""",
    "add_shape_ellipsoid": """body xform=None rx=1.0 ry=0.75 rz=0.5 cfg=None as_site=False color=None opacity=None label=None
        custom_attributes=None""",
    "add_shape_heightfield": "xform=None heightfield=None scale=None cfg=None color=None opacity=None label=None custom_attributes=None",
    "add_shape_mesh": "body xform=None mesh=None scale=None cfg=None color=None opacity=None label=None custom_attributes=None",
    "add_shape_plane": """plane=(0.0,0.0,1.0,0.0) xform=None width=10.0 length=10.0 body=-1 cfg=None color=None opacity=None label=None
        custom_attributes=None""",
    "add_shape_sphere": "body xform=None radius=1.0 cfg=None as_site=False color=None opacity=None label=None custom_attributes=None",
    "add_soft_grid": """pos rot vel dim_x dim_y dim_z cell_x cell_y cell_z density k_mu k_lambda k_damp fix_left=False fix_right=False
        fix_top=False fix_bottom=False tri_ke=0.0 tri_ka=0.0 tri_kd=0.0 tri_drag=0.0 tri_lift=0.0 add_surface_mesh_edges=True edge_ke=0.0
        edge_kd=0.0 particle_radius=None color=None opacity=None label=None""",
    "add_soft_mesh": """pos rot scale vel mesh=None vertices=None indices=None density=None k_mu=None k_lambda=None k_damp=None tri_ke=0.0
        tri_ka=0.0 tri_kd=0.0 tri_drag=0.0 tri_lift=0.0 add_surface_mesh_edges=True edge_ke=0.0 edge_kd=0.0 particle_radius=None
        color=None opacity=None validate_mesh=False label=None""",
    "add_spring": "i j ke kd control custom_attributes=None",
    "add_tetrahedron": "i j k l k_mu=1000.0 k_lambda=1000.0 k_damp=0.0 custom_attributes=None",
    "add_triangle": """i j k tri_ke=None tri_ka=None tri_kd=None tri_drag=None tri_lift=None color=None opacity=None
        custom_attributes=None""",
    "add_triangles": """i j k tri_ke=None tri_ka=None tri_kd=None tri_drag=None tri_lift=None color=None opacity=None
        custom_attributes=None""",
    "add_world": "builder xform=None label_prefix=None",
    "begin_world": "label=None attributes=None gravity=None",
    "color": "include_bending=False balance_colors=True target_max_min_color_ratio=1.1 coloring_algorithm=0",
    "end_world": "",
    "finalize": """device=None requires_grad=False skip_all_validations=False skip_validation_worlds=False skip_validation_joints=False
        skip_validation_shapes=False skip_validation_inertia=False skip_validation_structure=False
        skip_validation_joint_ordering=True""",
    "get_custom_attributes_by_frequency": "frequencies",
    "get_custom_frequency_keys": "",
    "has_custom_attribute": "key",
    "replicate": "builder copy_count=None spacing=(0.0,0.0,0.0) separate_worlds=True xforms=None label_prefixes=None world_count=None",
    "set_coloring": "particle_color_groups",
    "add_mjcf": (
        "source xform=None floating=None base_joint=None parent_body=-1 armature_scale=1.0 scale=1.0 "
        "hide_visuals=False parse_visuals_as_colliders=False parse_meshes=True parse_sites=True "
        "parse_visuals=True parse_mujoco_options=True up_axis=2 ignore_names=() ignore_classes=() "
        "visual_classes=('visual',) collider_classes=('collision',) no_class_as_colliders=True "
        "force_show_colliders=False enable_self_collisions=True ignore_inertial_definitions=False "
        "collapse_fixed_joints=False collapse_massless_fixed_root=False verbose=False "
        "skip_equality_constraints=False convert_mjc_equality_constraints=True "
        "convert_3d_hinge_to_ball_joints=False mesh_maxhullvert=None ctrl_direct=False path_resolver=None "
        "override_root_xform=False legacy_margin_gap=False"
    ),
    "add_urdf": (
        "source xform=None floating=None base_joint=None parent_body=-1 scale=1.0 hide_visuals=False "
        "parse_visuals_as_colliders=False up_axis=2 force_show_colliders=False enable_self_collisions=True "
        "ignore_inertial_definitions=False joint_ordering='dfs' bodies_follow_joint_ordering=True "
        "collapse_fixed_joints=False collapse_massless_fixed_root=False mesh_maxhullvert=None "
        "force_position_velocity_actuation=False override_root_xform=False joint_damping_mode='passive' "
        "package_dirs=None"
    ),
    "add_usd": (
        "source xform=None floating=None base_joint=None parent_body=-1 only_load_enabled_rigid_bodies=False "
        "only_load_enabled_joints=True joint_drive_gains_scaling=1.0 verbose=False ignore_paths=None "
        "collapse_fixed_joints=False enable_self_collisions=True apply_up_axis_from_stage=False root_path='/' "
        "joint_ordering='dfs' bodies_follow_joint_ordering=True skip_mesh_approximation=False load_sites=True "
        "load_visual_shapes=True load_static_visual_shapes=True hide_collision_shapes=False "
        "force_show_colliders=False parse_mujoco_options=True mesh_maxhullvert=None schema_resolvers=None "
        "force_position_velocity_actuation=False convert_mjc_equality_constraints=True "
        "override_root_xform=False legacy_margin_gap=False return_deformable_results=False "
        "allow_unsafe_torch_checkpoints=False"
    ),
}


@pytest.mark.parametrize("method", SIGNATURES)
def test_builder_methods(method):
    """Every documented argument is there, in its place, with its default."""
    found = inspect.signature(getattr(ModelBuilder, method)).parameters
    positional = [name for name, p in found.items() if p.kind is p.POSITIONAL_OR_KEYWORD and name != "self"]
    documented = [entry.partition("=")[::2] for entry in SIGNATURES[method].split()]
    missing = [name for name, _ in documented if name not in found]
    assert missing == []
    for name, default in documented:
        if default:
            value = found[name].default
            assert value == eval(default) or (value is None and default == "None"), name
    names = [name for name, _ in documented]
    assert positional == names[: len(positional)]


@pytest.mark.parametrize(
    "owner, method, arguments",
    [
        (Model, "state", "requires_grad"),
        (Model, "control", "requires_grad clone_variables"),
        (Model, "contacts", "collision_pipeline"),
        (Model, "collide", "state contacts collision_pipeline"),
        (Model, "set_gravity", "gravity world"),
        (State, "assign", "other"),
        (State, "clear_forces", ""),
        (Control, "clear", "model"),
        (CollisionPipeline, "collide", "state contacts soft_contact_margin"),
        (CollisionPipeline, "contacts", ""),
    ],
)
def test_methods_at_run_time(owner, method, arguments):
    assert set(arguments.split()) <= set(inspect.signature(getattr(owner, method)).parameters)

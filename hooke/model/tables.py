"""The tables of a model. The elements declare theirs in their own files."""

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements import ELEMENTS
from hooke.joints.kind import JointType
from hooke.model.enums import BodyFlags, ParticleFlags, ShapeFlags

__all__ = [
    "ARTICULATION",
    "BODY",
    "CONSTRAINT_MIMIC",
    "JOINT",
    "JOINT_CONSTRAINT",
    "JOINT_COORD",
    "JOINT_DOF",
    "PARTICLE",
    "SHAPE",
    "SHAPE_FILTER",
    "TABLES",
    "UNLIMITED",
    "Bodies",
    "JointDofs",
    "Joints",
    "Particles",
    "Shapes",
]

UNLIMITED = 1.0e10  # what stands for "no limit" in a model's arrays

_WORLD = Column("world", wp.int32, -1, refers="world", doc="World the entity belongs to; -1 is shared by all.")
_LABEL = Column("label", str, "", doc="Name.")
_IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

PARTICLE = Table(
    "particle",
    "particle_",
    (
        Column("q", wp.vec3, (0.0, 0.0, 0.0), "m", "Position.", moves="point"),
        Column("qd", wp.vec3, (0.0, 0.0, 0.0), "m/s", "Velocity.", moves="vector"),
        Column("mass", wp.float32, 0.0, "kg", "Mass; 0 is a fixed particle.", minimum=0.0),
        Column("radius", wp.float32, 0.1, "m", "Radius of contact with shapes.", minimum=0.0),
        Column("flags", wp.int32, int(ParticleFlags.ACTIVE), "", "ParticleFlags."),
        _WORLD,
        Column("inv_mass", wp.float32, 0.0, "1/kg", "1/mass, 0 for a fixed particle.", derived=True),
        Column("colors", wp.int32, 0, "", "Colour group of each particle.", derived=True),
    ),
    doc="Point masses: the vertices of cloth and soft bodies.",
)
Particles = PARTICLE.struct

BODY = Table(
    "body",
    "body_",
    (
        Column("q", wp.transform, _IDENTITY, "m", "Pose of the body frame in the world.", moves="pose"),
        Column("qd", wp.spatial_vector, (0.0,) * 6, "m/s, rad/s", "Velocity of the centre of mass, angular velocity; world axes.",
               moves="twist"),
        Column("com", wp.vec3, (0.0, 0.0, 0.0), "m", "Centre of mass in the body frame."),
        Column("mass", wp.float32, 0.0, "kg", "Mass.", minimum=0.0),
        Column("inertia", wp.mat33, np.zeros((3, 3)), "kg m^2", "Inertia about the centre of mass, body axes."),
        Column("flags", wp.int32, int(BodyFlags.DYNAMIC), "", "BodyFlags."),
        _WORLD,
        _LABEL,
        Column("lock_inertia", wp.bool, False, "", "Shapes do not add to mass and inertia.", kernel=False),
        Column("inv_mass", wp.float32, 0.0, "1/kg", "1/mass, 0 for a massless body.", derived=True),
        Column("inv_inertia", wp.mat33, np.zeros((3, 3)), "1/(kg m^2)", "Inverse of the inertia.", derived=True),
    ),
    doc="Rigid bodies.",
)  # fmt: skip
Bodies = BODY.struct

SHAPE = Table(
    "shape",
    "shape_",
    (
        Column("type", wp.int32, 0, "", "GeoType."),
        Column("flags", wp.int32, int(ShapeFlags.VISIBLE), "", "ShapeFlags."),
        Column("body", wp.int32, -1, "", "Body that carries the shape; -1 is static.", refers="body"),
        Column("transform", wp.transform, _IDENTITY, "m", "Pose in the body frame (in the world when static)."),
        Column("scale", wp.vec3, (1.0, 1.0, 1.0), "m", "Dimensions; their meaning depends on the type."),
        Column("source", object, None, "", "Geometry object: Mesh or Heightfield."),
        Column("source_ptr", wp.uint64, 0, "", "Handle of the geometry on the device.", derived=True),
        Column("margin", wp.float32, 0.0, "m", "Distance by which the surface is offset outward."),
        Column("gap", wp.float32, 0.1, "m", "Distance beyond the margin at which contacts are detected."),
        Column("material_ke", wp.float32, 2.5e3, "N/m", "Contact stiffness.", minimum=0.0),
        Column("material_kd", wp.float32, 100.0, "N s/m", "Contact damping.", minimum=0.0),
        Column("material_kf", wp.float32, 1000.0, "N s/m", "Friction damping kept for other solvers.", kernel=False),
        Column("material_ka", wp.float32, 0.0, "m", "Adhesion distance kept for other solvers.", kernel=False),
        Column("material_mu", wp.float32, 1.0, "", "Coefficient of friction.", minimum=0.0),
        Column("material_restitution", wp.float32, 0.0, "", "Coefficient of restitution."),
        Column("material_mu_torsional", wp.float32, 0.005, "m", "Torsional friction.", minimum=0.0),
        Column("material_mu_rolling", wp.float32, 1.0e-4, "m", "Rolling friction.", minimum=0.0),
        Column("collision_group", wp.int32, 1, "", "0 never collides; equal positive groups or any negative group do."),
        Column("collision_filter_parent", wp.bool, True, "", "Does not meet the parent body of a joint that says so.", kernel=False),
        Column("is_solid", wp.bool, True, "", "Solid, or a hollow shell.", kernel=False),
        Column("color", wp.vec3, (-1.0, -1.0, -1.0), "", "Colour for pictures, 0 to 1; negative is chosen.", kernel=False),
        Column("opacity", wp.float32, 1.0, "", "Opacity for pictures.", kernel=False),
        _WORLD,
        _LABEL,
        Column("collision_radius", wp.float32, 0.0, "m", "Radius about the shape's origin that holds it.", derived=True),
        Column("collision_aabb_lower", wp.vec3, (0.0,) * 3, "m", "Lower bounds in the shape frame, margin excluded.", derived=True),
        Column("collision_aabb_upper", wp.vec3, (0.0,) * 3, "m", "Upper bounds in the shape frame, margin excluded.", derived=True),
    ),
    doc="Collision and visual shapes.",
)  # fmt: skip
Shapes = SHAPE.struct

SHAPE_FILTER = Table(
    "shape_filter",
    "shape_",
    (
        Column("collision_filter_pairs_array", wp.int32, (-1, -1), "", "Two shapes that never meet; in a model each once, lesser first.",
               width=2, refers="shape"),
    ),
    doc="Pairs of shapes that never meet: those of the user, and those of jointed bodies. Shapes of one body need none.",
)  # fmt: skip

JOINT = Table(
    "joint",
    "joint_",
    (
        Column("type", wp.int32, int(JointType.FREE), "", "JointType."),
        Column("parent", wp.int32, -1, "", "Parent body; -1 is the world.", refers="body"),
        Column("child", wp.int32, -1, "", "Child body.", refers="body"),
        Column("X_p", wp.transform, _IDENTITY, "m", "Anchor in the parent body frame."),
        Column("X_c", wp.transform, _IDENTITY, "m", "Anchor in the child body frame."),
        Column("dof_dim", wp.int32, 0, "", "Number of linear and of angular axes.", width=2),
        Column("enabled", wp.bool, True, "", "Whether the joint acts."),
        Column("collision_filter_parent", wp.bool, False, "", "Shapes of parent and child do not meet.", kernel=False),
        Column("articulation", wp.int32, -1, "", "Articulation the joint belongs to; -1 closes a loop or stands alone.",
               refers="articulation"),
        Column("mimic_joint", wp.int32, -1, "", "Joint whose coordinates this one follows.", refers="joint"),
        Column("mimic_coeffs", wp.vec2, (0.0, 1.0), "m or rad, 1", "q = first + second * q of the joint it follows."),
        _WORLD,
        _LABEL,
        Column("ancestor", wp.int32, -1, "", "Joint of the articulation that moves the parent body.", derived=True),
    ),
    doc="Joints.",
)  # fmt: skip
Joints = JOINT.struct

JOINT_DOF = Table(
    "joint_dof",
    "joint_",
    (
        Column("qd", wp.float32, 0.0, "m/s or rad/s", "Velocity."),
        Column("axis", wp.vec3, (1.0, 0.0, 0.0), "", "Axis in the parent anchor frame, a unit vector."),
        Column("f", wp.float32, 0.0, "N or N m", "Applied effort."),
        Column("act", wp.float32, 0.0, "", "Input of actuators."),
        Column("target_qd", wp.float32, 0.0, "m/s or rad/s", "Velocity target of the drive."),
        Column("target_mode", wp.int32, 0, "", "JointTargetMode."),
        Column("target_ke", wp.float32, 0.0, "N/m or N m/rad", "Stiffness of the drive.", minimum=0.0),
        Column("target_kd", wp.float32, 0.0, "N s/m or N m s/rad", "Damping of the drive.", minimum=0.0),
        Column("limit_lower", wp.float32, -UNLIMITED, "m or rad", "Lower limit."),
        Column("limit_upper", wp.float32, UNLIMITED, "m or rad", "Upper limit."),
        Column("limit_ke", wp.float32, 1.0e4, "N/m or N m/rad", "Stiffness of the limits.", minimum=0.0),
        Column("limit_kd", wp.float32, 10.0, "N s/m or N m s/rad", "Damping of the limits.", minimum=0.0),
        Column("stiffness", wp.float32, 0.0, "N/m or N m/rad", "Passive spring towards the rest coordinate.", minimum=0.0),
        Column("damping", wp.float32, 0.0, "N s/m or N m s/rad", "Passive damping.", minimum=0.0),
        Column("armature", wp.float32, 0.0, "kg or kg m^2", "Inertia added to the axis.", minimum=0.0),
        Column("friction", wp.float32, 0.0, "N or N m", "Dry friction.", minimum=0.0),
        Column("effort_limit", wp.float32, 1.0e6, "N or N m", "Largest effort of the drive.", minimum=0.0),
        Column("velocity_limit", wp.float32, 1.0e6, "m/s or rad/s", "Largest velocity.", minimum=0.0),
    ),
    doc="Degrees of freedom of joints.",
)
JointDofs = JOINT_DOF.struct

JOINT_COORD = Table(
    "joint_coord",
    "joint_",
    (
        Column("q", wp.float32, 0.0, "m or rad", "Coordinate."),
        Column("target_q", wp.float32, 0.0, "m or rad", "Position target of the drive."),
        Column("rest_q", wp.float32, 0.0, "m or rad", "Coordinate at rest of passive springs and of rods."),
    ),
    doc="Coordinates of joints.",
)

JOINT_CONSTRAINT = Table("joint_constraint", "joint_", (), doc="Locked relative motions of joints; columns are custom attributes.")

CONSTRAINT_MIMIC = Table(
    "constraint_mimic",
    "constraint_mimic_",
    (
        Column("joint0", wp.int32, -1, "", "Joint that follows.", refers="joint"),
        Column("joint1", wp.int32, -1, "", "Joint that is followed.", refers="joint"),
        Column("coef0", wp.float32, 0.0, "m or rad", "Offset."),
        Column("coef1", wp.float32, 1.0, "", "Factor."),
        Column("enabled", wp.bool, True, "", "Whether the constraint acts."),
        _WORLD,
        _LABEL,
    ),
    doc="Constraints q[joint0] = coef0 + coef1 q[joint1].",
)
Mimics = CONSTRAINT_MIMIC.struct

ARTICULATION = Table("articulation", "articulation_", (_WORLD, _LABEL), doc="Trees of joints.")

TABLES: tuple[Table, ...] = (
    PARTICLE,
    *dict.fromkeys(element.table for element in ELEMENTS),
    BODY,
    SHAPE,
    SHAPE_FILTER,
    JOINT,
    JOINT_DOF,
    JOINT_COORD,
    JOINT_CONSTRAINT,
    CONSTRAINT_MIMIC,
    ARTICULATION,
)

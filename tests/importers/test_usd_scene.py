import numpy as np
import pytest

import hooke
import hooke.model.motion
from hooke.importers import FileError
from tests.importers.robots import USDA, counts, from_text

pytest.importorskip("pxr.UsdPhysics")

HEAD = """#usda 1.0
(
    metersPerUnit = {meters}
    kilogramsPerUnit = {kilos}
    upAxis = "{up}"
)
{scene}
"""
BOX = """def Cube "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsCollisionAPI"])
{{
    double size = 1
    double3 xformOp:translate = ({x}, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {more}
}}
"""


def head(meters=1, kilos=1, up="Z", scene='def PhysicsScene "scene"\n{\n}'):
    return HEAD.format(meters=meters, kilos=kilos, up=up, scene=scene)


def boxes(*names, more=""):
    return "".join(BOX.format(name=name, x=2 * k, more=more) for k, name in enumerate(names))


def joint(kind, name, first, second, more="", schemas=""):
    ends = "".join(f"    rel physics:body{k} = </{end}>\n" for k, end in enumerate((first, second)) if end)
    applied = f" (prepend apiSchemas = [{schemas}])" if schemas else ""
    return f'def Physics{kind} "{name}"{applied}\n{{\n{ends}    {more}\n}}\n'


def locked(*axes):
    return "\n".join(f"float limit:{a}:physics:low = 1\nfloat limit:{a}:physics:high = -1" for a in axes)


def test_loop_of_four(tmp_path):
    """A spanning tree from a floating root; the joint that closes the loop belongs to no articulation."""
    side = "point3f physics:localPos0 = (1, 0, 0)"
    text = head() + boxes("a", "b", "c", "d")
    for name, (first, second) in zip("wxyz", (("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"))):
        text += joint("RevoluteJoint", name, first, second, side)
    builder = from_text(tmp_path, "usd", text)
    assert [label.strip("/") for label in builder.joint_label] == ["a_free_joint", "w", "x", "y", "z"]
    assert list(builder.joint_articulation) == [0, 0, 0, 0, -1]
    builder.finalize(device="cpu")
    away = from_text(
        tmp_path,
        "usd",
        text.replace("rel physics:body1 = </c>", "rel physics:body1 = </c>\n    bool physics:excludeFromArticulation = 1"),
    )
    assert list(away.joint_articulation).count(-1) == 1 and away.joint_articulation[away.joint_label.index("/x")] == -1
    rest = from_text(
        tmp_path, "usd", text.replace("rel physics:body1 = </c>", "rel physics:body1 = </c>\n    bool physics:jointEnabled = 0")
    )
    assert "/x" not in rest.joint_label and "/x" not in rest.result["path_joint_map"]


def test_joint_written_from_child_to_parent_keeps_its_coordinate(tmp_path):
    text = head() + boxes("a", "b") + joint("FixedJoint", "g", "", "a")
    limit = "float physics:lowerLimit = -30\n    float physics:upperLimit = 60"
    builder = from_text(
        tmp_path, "usd", text + joint("RevoluteJoint", "h", "b", "a", limit + "\n    point3f physics:localPos0 = (-2, 0, 0)")
    )
    index = builder.joint_label.index("/h")
    assert (builder.joint_parent[index], builder.joint_child[index]) == (0, 1)
    assert np.allclose(builder.joint_axis[0], (-1, 0, 0)) and np.allclose(
        (builder.joint_limit_lower[0], builder.joint_limit_upper[0]), np.radians((-30, 60))
    )


def test_d6_limits_and_drives(tmp_path):
    names = ["transX", "transY", "transZ", "rotX", "rotY", "rotZ"]
    schemas = ", ".join([f'"PhysicsLimitAPI:{n}"' for n in names if n != "transX"] + ['"PhysicsDriveAPI:rotZ"'])
    more = (
        locked("transY", "transZ", "rotX", "rotY")
        + """
    float limit:rotZ:physics:low = -90
    float limit:rotZ:physics:high = 45
    float drive:rotZ:physics:stiffness = 2
    float drive:rotZ:physics:damping = 0.5
    float drive:rotZ:physics:targetPosition = 30
    float drive:rotZ:physics:maxForce = 7"""
    )
    builder = from_text(tmp_path, "usd", head(meters=0.1) + boxes("a") + joint("Joint", "j", "", "a", more, schemas))
    assert builder.joint_type[0] == hooke.JointType.D6 and tuple(builder.joint_dof_dim[0]) == (1, 1)
    assert np.allclose(builder.joint_axis, [(1, 0, 0), (0, 0, 1)])
    assert np.allclose((builder.joint_limit_lower[1], builder.joint_limit_upper[1]), np.radians((-90, 45)))
    assert builder.joint_limit_upper[0] >= 1e10
    per_degree = 0.01 * 180 / np.pi  # kg (0.1 m)^2 / s^2 a degree
    assert np.isclose(builder.joint_target_ke[1], 2 * per_degree) and np.isclose(builder.joint_target_kd[1], 0.5 * per_degree)
    assert np.isclose(builder.joint_target_q[1], np.radians(30)) and np.isclose(builder.joint_effort_limit[1], 0.07)
    double = from_text(
        tmp_path, "usd", head() + boxes("a") + joint("Joint", "j", "", "a", more, schemas), joint_drive_gains_scaling=2.0
    )
    assert np.isclose(double.joint_target_ke[1], 4 * 180 / np.pi)


def test_other_joints(tmp_path):
    kinds = hooke.JointType
    for kind, wanted in (("SphericalJoint", kinds.BALL), ("PrismaticJoint", kinds.PRISMATIC), ("FixedJoint", kinds.FIXED)):
        builder = from_text(tmp_path, "usd", head() + boxes("a") + joint(kind, "j", "", "a"))
        assert builder.joint_type[0] == wanted
    with pytest.warns(UserWarning, match="distance joint /j"):
        builder = from_text(tmp_path, "usd", head() + boxes("a", "b") + joint("DistanceJoint", "j", "a", "b"), quiet=False)
    assert builder.joint_type[1] == kinds.DISTANCE


def test_masses(tmp_path):
    kilos, meters = 2.0, 0.5
    text = head(meters, kilos) + boxes("a", more="float physics:density = 3") + boxes("b", more="float physics:mass = 5")
    builder = from_text(tmp_path, "usd", text.replace('"b"', '"b"'))
    assert np.isclose(builder.body_mass[0], 3 * kilos) and np.isclose(builder.body_mass[1], 5 * kilos)
    assert np.allclose(builder.body_inertia[1], np.eye(3).reshape(-1) * 10 / 6 * meters**2)
    plain = from_text(tmp_path, "usd", head() + boxes("a"))
    assert np.isclose(plain.body_mass[0], 1000.0)
    with pytest.warns(UserWarning, match="inertia of /a"):
        alone = (
            BOX.format(name="a", x=0, more="float physics:mass = 1").replace("Cube", "Xform").replace(', "PhysicsCollisionAPI"', "")
        )
        from_text(tmp_path, "usd", head() + alone, quiet=False)


def test_shapes(tmp_path):
    kinds = hooke.GeoType
    rows = [
        ("Sphere", "double radius = 2", "(1, 1, 1)", kinds.SPHERE, (2, 0, 0)),
        ("Sphere", "double radius = 1", "(1, 2, 3)", kinds.ELLIPSOID, (1, 2, 3)),
        ("Cube", "double size = 2", "(1, 2, 3)", kinds.BOX, (1, 2, 3)),
        ("Capsule", 'double radius = 1\ndouble height = 4\nuniform token axis = "X"', "(2, 1, 1)", kinds.CAPSULE, (1, 4, 0)),
        ("Cylinder", 'double radius = 1\ndouble height = 4\nuniform token axis = "Y"', "(1, 1, 1)", kinds.CYLINDER, (1, 2, 0)),
        ("Cone", "double radius = 1\ndouble height = 4", "(1, 1, -1)", kinds.CONE, (1, 2, 0)),
        ("Plane", 'uniform token axis = "Y"', "(1, 1, 1)", kinds.PLANE, (0, 0, 0)),
        ("Mesh", "point3f[] points = [(0,0,0), (1,0,0), (0,1,0), (0,0,1)]\nint[] faceVertexCounts = [3,3,3,3]\n"
         "int[] faceVertexIndices = [0,2,1,0,1,3,1,2,3,0,3,2]", "(1, 1, 2)", kinds.MESH, (1, 1, 1)),
    ]  # fmt: skip
    text = head()
    for k, (name, more, scale, _, _) in enumerate(rows):
        text += f'def {name} "s{k}" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{{\n{more}\ndouble3 xformOp:scale = {scale}\n'
        text += 'uniform token[] xformOpOrder = ["xformOp:scale"]\n}\n'
    text += 'def Sphere "seen"\n{\n    color3f[] primvars:displayColor = [(1, 0, 0)]\n}\n'
    builder = from_text(tmp_path, "usd", text)
    assert builder.shape_label == [f"/s{k}" for k in range(len(rows))] + ["/seen"]
    for k, (_, _, _, kind, size) in enumerate(rows):
        assert builder.shape_type[k] == kind and np.allclose(builder.shape_scale[k], size), kind
    axis = hooke.model.motion.quat_rotate(np.asarray(builder.shape_transform)[:, 3:], (0.0, 0.0, 1.0))
    assert (
        np.allclose(np.abs(axis[3]), (1, 0, 0))
        and np.allclose(np.abs(axis[4]), (0, 1, 0))
        and np.allclose(axis[6], (0, 1, 0), atol=1e-6)
    )
    assert np.allclose(axis[5], (0, 0, -1), atol=1e-6)
    assert np.allclose(builder.shape_source[7].vertices.max(axis=0), (1, 1, 2))
    assert builder.shape_flags[8] == hooke.ShapeFlags.VISIBLE and np.allclose(builder.shape_color[8], (1, 0, 0))
    assert from_text(tmp_path, "usd", text, load_static_visual_shapes=False).shape_count == len(rows)


def test_materials_groups_and_pairs(tmp_path):
    text = head() + """def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI", "NewtonMaterialAPI"])
{
    float physics:dynamicFriction = 0.8
    float physics:restitution = 0.25
    float physics:density = 7
    float newton:rollingFriction = 0.01
}
""" + boxes("a", more="rel material:binding:physics = </rubber>") + boxes("b", "c").replace("(0, 0, 0)", "(9, 0, 0)") + """
def PhysicsCollisionGroup "g"
{
    rel physics:filteredGroups = </g>
    prepend rel collection:colliders:includes = [</b>, </c>]
    uniform token collection:colliders:expansionRule = "expandPrims"
}
"""  # fmt: skip
    text = text.replace(
        'def PhysicsCollisionGroup "g"', 'def PhysicsCollisionGroup "g" (prepend apiSchemas = ["CollectionAPI:colliders"])'
    )
    text = text.replace('def Cube "a" (prepend apiSchemas = [', 'def Cube "a" (prepend apiSchemas = ["MaterialBindingAPI", ')
    builder = from_text(tmp_path, "usd", text)
    assert np.isclose(builder.shape_material_mu[0], 0.8) and np.isclose(builder.shape_material_restitution[0], 0.25)
    assert np.isclose(builder.body_mass[0], 7.0) and np.isclose(builder.shape_material_mu_rolling[0], 0.01)
    assert [tuple(pair) for pair in builder.shape_collision_filter_pairs] == [(1, 2)]
    pairs = text.replace('def Cube "a" (prepend apiSchemas = [', 'def Cube "a" (prepend apiSchemas = ["PhysicsFilteredPairsAPI", ')
    pairs = pairs.replace("rel material:binding", "rel physics:filteredPairs = </b>\n    rel material:binding", 1)
    assert (0, 1) in [tuple(p) for p in from_text(tmp_path, "usd", pairs).shape_collision_filter_pairs]


def test_settings_of_solvers(tmp_path):
    from hooke.solvers import SolverKamino, SolverVBD

    scene = """def PhysicsScene "scene" (prepend apiSchemas = ["NewtonKaminoSceneAPI", "NewtonVbdSceneAPI"])
{
    uniform int newton:maxSolverIterations = 33
    uniform int newton:timeStepsPerSecond = 500
    uniform float newton:kamino:constraints:alpha = 0.25
    uniform token newton:kamino:jointCorrection = "continuous"
    uniform float newton:vbd:rigid:jointLinearStiffness = 12
}"""
    builder = hooke.ModelBuilder()
    SolverKamino.Config.register_custom_attributes(builder)
    SolverVBD.register_custom_attributes(builder, dahl_defaults_enabled=False)
    text = head(scene=scene) + boxes("a") + joint("RevoluteJoint", "j", "", "a", "int newton:vbd:joint_is_hard = 0")
    from_text(tmp_path, "usd", text, builder=builder)
    model = builder.finalize(device="cpu")
    config = SolverKamino.Config.from_model(model)
    assert config.padmm.max_iterations == 33 and np.isclose(config.constraints.alpha, 0.25)
    assert config.rotation_correction == "continuous" and model.vbd.joint_is_hard.numpy()[0] == 0
    assert (
        builder.result["physics_dt"] == 0.002
        and builder.result["scene_attributes"]["newton:vbd:rigid:jointLinearStiffness"] == 12.0
    )
    wrong = hooke.ModelBuilder()
    SolverKamino.Config.register_custom_attributes(wrong)
    with pytest.raises(FileError, match="prim /scene: .*alpha.*from 0 to 1"):
        from_text(tmp_path, "usd", text.replace("0.25", "2.5"), builder=wrong)
    assert wrong.body_count == 0


def test_mimic_armature_and_velocities(tmp_path):
    more = "rel newton:mimicJoint = </j>\n    float newton:mimicCoef0 = 90\n    float newton:mimicCoef1 = -2"
    text = head() + boxes(
        "a", "b", more="vector3f physics:angularVelocity = (0, 0, 180)\n    vector3f physics:velocity = (1, 2, 3)"
    )
    text += joint("RevoluteJoint", "j", "", "a", "float newton:armature = 0.2") + joint("RevoluteJoint", "k", "a", "b", more)
    builder = from_text(tmp_path, "usd", text)
    assert list(builder.joint_mimic_joint) == [-1, 0] and np.allclose(builder.joint_mimic_coeffs[1], (np.pi / 2, -2.0))
    assert np.isclose(builder.joint_armature[0], 0.2)
    assert np.allclose(builder.body_qd[1], (1, 2, 3, 0, 0, np.pi))
    free = from_text(tmp_path, "usd", head() + boxes("a", more="vector3f physics:velocity = (1, 2, 3)"))
    assert np.allclose(free.joint_qd[:3], (1, 2, 3))


MESH = 'def Mesh "m" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{{\n    point3f[] points = [(0,0,{}), (1,0,0), (0,1,0)]\n    int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0,1,{}]\n}}\n'  # noqa: E501
BAD = {
    "cut off": (USDA[:700], "not a readable USD file .line 2"),
    "nan vertex": (head() + MESH.format("nan", 2), "mesh '/m': vertex 0 is not finite"),
    "index": (head() + MESH.format("0", 7), "mesh '/m'.*but there are 3"),
    "flat": (head() + boxes("a").replace('double3 xformOp:translate = (0, 0, 0)', 'double3 xformOp:scale = (1, 0, 1)').replace("xformOp:translate", "xformOp:scale"), "prim /a: its transform"),  # noqa: E501
    "units": (head(meters=-1), "positive metersPerUnit"),
    "negative inertia": (head() + boxes("a", more="float physics:mass = 1\n    float3 physics:diagonalInertia = (-1, 1, 1)"), "prim /a: expected a mass"),  # noqa: E501
    "mimic": (head() + boxes("a") + joint("RevoluteJoint", "j", "", "a", "rel newton:mimicJoint = </none>"), "prim /j: it mimics joint '/none'"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_name_the_prim_and_leave_the_builder_alone(tmp_path, case):
    text, message = BAD[case]
    builder = hooke.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(mass=1.0))
    before = counts(builder)
    with pytest.raises(FileError, match=message):
        from_text(tmp_path, "usd", text, builder=builder)
    assert counts(builder) == before


def test_arguments(tmp_path):
    text = head() + boxes("a", "b")
    assert from_text(tmp_path, "usd", text, ignore_paths=["/b"]).body_count == 1
    assert from_text(tmp_path, "usd", text, root_path="/b").body_label == ["/b"]
    with pytest.raises(FileError, match="no prim /none"):
        from_text(tmp_path, "usd", text, root_path="/none")
    with pytest.raises(NotImplementedError, match="return_deformable_results"):
        from_text(tmp_path, "usd", text, return_deformable_results=True)
    builder = from_text(tmp_path, "usd", head(up="Y") + boxes("a"), apply_up_axis_from_stage=True)
    assert builder.up_axis == hooke.Axis.Y and np.allclose(builder.gravity, (0, -9.81, 0))
    stood = from_text(tmp_path, "usd", text, xform=[0, 0, 5, 0, 0, 0, 1], override_root_xform=True)
    assert np.allclose(stood.body_q[0][:3], (0, 0, 5))


def test_hinges_of_files_for_mujoco_between_the_same_bodies_are_one_joint(tmp_path):
    text = head() + boxes("a", "b") + joint("FixedJoint", "g", "", "a")
    place = "point3f physics:localPos0 = (2, 0, 0)\n    "
    for axis in "XZ":
        text += joint(
            "RevoluteJoint", f"h{axis}", "a", "b", place + f'uniform token physics:axis = "{axis}"\n    float mjc:damping = 1'
        )
    builder = from_text(tmp_path, "usd", text)
    assert builder.joint_count == 2 and tuple(builder.joint_dof_dim[1]) == (0, 2)
    assert np.allclose(builder.joint_axis, [(1, 0, 0), (0, 0, 1)])
    assert builder.result["path_joint_map"] == {"/g": 0, "/hX": 1, "/hZ": 1}
    builder.finalize(device="cpu")


def test_what_is_fixed_to_the_world_needs_no_mass(tmp_path):
    empty = BOX.format(name="a", x=0, more="").replace("Cube", "Xform").replace(', "PhysicsCollisionAPI"', "")
    text = head() + empty.replace("double size = 1", "") + boxes("b").replace("(0, 0, 0)", "(1, 0, 0)")
    text += joint("FixedJoint", "g", "", "a") + joint("RevoluteJoint", "h", "a", "b", "point3f physics:localPos0 = (1, 0, 0)")
    builder = from_text(tmp_path, "usd", text)
    assert list(builder.body_flags) == [hooke.BodyFlags.KINEMATIC, hooke.BodyFlags.DYNAMIC]
    loose = from_text(tmp_path, "usd", text, floating=True)
    assert hooke.BodyFlags.KINEMATIC not in list(loose.body_flags)


def test_limits_without_their_schema_lock(tmp_path):
    rows = "\n    ".join(
        f"float limit:{n}:physics:low = 0\n    float limit:{n}:physics:high = 0" for n in ("transX", "transY", "transZ", "rotX")
    )
    builder = from_text(tmp_path, "usd", head() + boxes("a") + joint("Joint", "j", "", "a", rows))
    assert tuple(builder.joint_dof_dim[0]) == (0, 2)


def test_a_scene_runs(tmp_path):
    """A ball that a USD file drops falls as it should."""
    from hooke.solvers import SolverKamino

    text = head() + boxes("a", more="vector3f physics:velocity = (1, 0, 0)")
    builder = from_text(tmp_path, "usd", text)
    model = builder.finalize(device="cpu")
    solver, state, other = SolverKamino(model), model.state(), model.state()
    for _ in range(100):
        solver.step(state, other, model.control(), None, 1.0e-3)
        state, other = other, state
    assert np.allclose(state.body_q.numpy()[0, :3], (0.1, 0.0, -0.5 * 9.81 * 0.01), atol=1e-3)

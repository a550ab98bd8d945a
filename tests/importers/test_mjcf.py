import numpy as np
import pytest

import hooke
from hooke.importers import FileError
from tests.importers.robots import MJCF, counts, from_text

mujoco = pytest.importorskip("mujoco")

BODIES = """<mujoco><compiler angle="radian"/>{top}<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1">{a}<geom name="ga" size="0.1"/>
<body name="b" pos="0.5 0 0"><joint name="jb" axis="0 1 0"/><geom name="gb" type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/></body></body>
<body name="c" pos="0 2 1"><joint name="jc" axis="0 0 1" ref="0.3"/><geom name="gc" type="box" size="0.1 0.1 0.1" mass="2"/></body>
</worldbody>{end}</mujoco>"""  # noqa: E501


def bodies(a="<freejoint/>", end="", top=""):
    return BODIES.format(a=a, end=end, top=top)


def test_joints(tmp_path):
    kinds = hooke.JointType
    builder = from_text(tmp_path, "mjcf", bodies())
    assert list(builder.joint_type) == [kinds.FREE, kinds.REVOLUTE, kinds.REVOLUTE]
    assert np.allclose(builder.joint_q[:3], (0, 0, 1)) and np.isclose(builder.joint_q[8], 0.3)
    hinges = '<joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="s" type="slide" axis="0 0 1"/>'
    builder = from_text(tmp_path, "mjcf", bodies(hinges))
    assert builder.joint_type[0] == kinds.D6 and tuple(builder.joint_dof_dim[0]) == (1, 2)
    three = "".join(f'<joint name="{n}" axis="{v}"/>' for n, v in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1")))
    assert from_text(tmp_path, "mjcf", bodies(three), convert_3d_hinge_to_ball_joints=True).joint_type[0] == kinds.BALL
    assert from_text(tmp_path, "mjcf", bodies('<joint type="ball"/>')).joint_type[0] == kinds.BALL
    assert from_text(tmp_path, "mjcf", bodies(""), collapse_fixed_joints=True).joint_type[0] == kinds.FIXED
    fixed = from_text(tmp_path, "mjcf", bodies(), floating=False)
    assert fixed.joint_type[0] == kinds.FIXED
    with pytest.raises(FileError, match="ball among other joints"):
        from_text(tmp_path, "mjcf", bodies('<joint type="ball"/><joint type="slide"/>'))


@pytest.mark.parametrize("q", [(0.4, -0.7, 0.2), (1.2, 0.3, -0.5)])
def test_poses_are_those_of_mujoco(tmp_path, q):
    """Forward kinematics of hinges with a slider before them, a reference coordinate and anchors off the origin."""
    text = bodies(
        '<joint name="s" type="slide" axis="0 1 1"/><joint name="x" pos="0.1 0 0.2" axis="1 0 0"/><joint name="y" pos="0.1 0 0.2" axis="0 1 1"/>'  # noqa: E501
    )
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qpos[:] = [*q, 0.6, 0.9]
    mujoco.mj_kinematics(m, data)
    model = from_text(tmp_path, "mjcf", text).finalize(device="cpu")
    state = model.state()
    model.joint_q.assign(np.array([*q, 0.6, 0.9], np.float32))
    hooke.eval_fk(model, model.joint_q, model.joint_qd, state)
    found = state.body_q.numpy()
    for name, index in (("a", 0), ("b", 1), ("c", 2)):
        body = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, name)
        assert np.allclose(found[index, :3], data.xpos[body], atol=2e-6)
        assert np.isclose(abs(found[index, 3:] @ data.xquat[body][[1, 2, 3, 0]]), 1.0, atol=1e-6)


def test_actuators_become_drives(tmp_path):
    end = """<actuator><position name="p" joint="jb" kp="50" kv="4" gear="2" forcerange="-5 5"/>
    <velocity name="v" joint="jc" kv="3"/></actuator>"""
    builder = from_text(tmp_path, "mjcf", bodies("", end))
    assert np.allclose(builder.joint_target_ke, (200.0, 0.0)) and np.allclose(builder.joint_target_kd, (16.0, 3.0))
    assert np.isclose(builder.joint_effort_limit[0], 10.0)
    modes = hooke.JointTargetMode
    assert list(builder.joint_target_mode) == [modes.POSITION, modes.VELOCITY]
    motor = from_text(tmp_path, "mjcf", bodies("", '<actuator><motor name="m" joint="jb" gear="3"/></actuator>'))
    assert list(motor.joint_target_mode) == [modes.EFFORT, modes.NONE]
    with pytest.warns(UserWarning, match="actuator 'm'"):
        from_text(tmp_path, "mjcf", bodies("", '<actuator><motor name="m" joint="jb"/></actuator>'), quiet=False, ctrl_direct=True)


def test_equalities(tmp_path):
    end = """<equality><joint joint1="jc" joint2="jb" polycoef="0.1 2 0 0 0"/><connect name="k" body1="b" body2="c" anchor="0.2 0 0"/>
    <weld name="w" body1="a"/></equality>"""
    builder = from_text(tmp_path, "mjcf", bodies(end=end))
    # the joints are in two articulations, which makes it a constraint; counted from the references of both joints
    assert (builder.constraint_mimic_joint0[0], builder.constraint_mimic_joint1[0]) == (2, 1)
    assert np.allclose((builder.constraint_mimic_coef0[0], builder.constraint_mimic_coef1[0]), (0.4, 2.0))
    assert list(builder.joint_articulation) == [0, 0, 1, -1, -1]
    assert list(builder.joint_type)[3:] == [hooke.JointType.BALL, hooke.JointType.FIXED]
    model = builder.finalize(device="cpu")
    assert np.allclose(model.joint_X_p.numpy()[3, :3], (0.2, 0.0, 0.0))
    assert from_text(tmp_path, "mjcf", bodies(end=end), skip_equality_constraints=True).joint_count == 3


def test_masks_excludes_and_classes(tmp_path):
    end = '<contact><exclude body1="a" body2="c"/></contact>'
    builder = from_text(tmp_path, "mjcf", bodies(end=end))
    names = [tuple(sorted((builder.shape_label[a], builder.shape_label[b]))) for a, b in builder.shape_collision_filter_pairs]
    assert names == [("ga", "gc")]
    masks = from_text(tmp_path, "mjcf", bodies().replace('name="gb"', 'name="gb" contype="2" conaffinity="4"'))
    assert len(masks.shape_collision_filter_pairs) == 3
    text = bodies(top='<default><default class="visual"/></default>').replace('name="gb"', 'name="gb" class="visual"')
    seen = from_text(tmp_path, "mjcf", text)
    index = seen.shape_label.index("gb")
    assert seen.shape_flags[index] == hooke.ShapeFlags.VISIBLE
    assert from_text(tmp_path, "mjcf", text, parse_visuals=False).shape_count == seen.shape_count - 1
    assert from_text(tmp_path, "mjcf", text, ignore_names=("b",)).body_count == 2


def test_meshes_and_height_fields(tmp_path):
    top = """<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" nrow="2" ncol="3" size="2 1 0.5 0.1" elevation="0 0 0 1 1 2"/></asset>"""  # noqa: E501
    text = bodies(top=top).replace('<geom name="floor" type="plane" size="1 1 1"/>', '<geom name="t" type="hfield" hfield="h"/>')
    text = text.replace('<geom name="ga" size="0.1"/>', '<geom name="ga" type="mesh" mesh="m"/>')
    builder = from_text(tmp_path, "mjcf", text)
    kinds = [int(kind) for kind in builder.shape_type]
    assert hooke.GeoType.HFIELD in kinds and hooke.GeoType.MESH in kinds
    field = builder.shape_source[kinds.index(int(hooke.GeoType.HFIELD))]
    assert (field.hx, field.hy, field.min_z, field.max_z) == (2.0, 1.0, 0.0, 0.5)
    m = mujoco.MjModel.from_xml_string(text)
    assert np.isclose(builder.body_mass[0], m.body_mass[1], rtol=1e-6)
    again = from_text(tmp_path, "mjcf", text, ignore_inertial_definitions=True)  # from the shapes and their densities
    assert np.allclose(again.body_mass, m.body_mass[1:], rtol=1e-5)


BAD = {
    "cut off": (MJCF[:500], "not readable MJCF"),
    "unknown element": (bodies("<surprise/>"), "surprise"),
    "missing mesh": (bodies(top='<asset><mesh name="m" file="gone.stl"/></asset>').replace('name="ga" size="0.1"', 'name="ga" type="mesh" mesh="m"'), "gone.stl"),  # noqa: E501
    "no mass": (bodies().replace('mass="2"', 'mass="0"'), "does not compile"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    text, message = BAD[case]
    builder = hooke.ModelBuilder()
    before = counts(builder)
    with pytest.raises(FileError, match=message):
        builder.add_mjcf(text)
    assert counts(builder) == before


def test_broken_sensors_and_missing_textures_do_not_matter(tmp_path):
    text = bodies(
        end='<sensor><touch site="gone"/></sensor>',
        top='<asset><texture name="t" type="2d" file="gone.png"/><material name="m" texture="t"/></asset>',
    ).replace('name="ga"', 'name="ga" material="m"')
    builder = hooke.ModelBuilder()
    with pytest.warns(UserWarning, match="sensors or textures left out"):
        builder.add_mjcf(text)
    assert builder.body_count == 3


def test_arguments_that_are_not_available(tmp_path):
    with pytest.raises(NotImplementedError, match="path_resolver"):
        hooke.ModelBuilder().add_mjcf(bodies(), path_resolver=lambda *_: None)

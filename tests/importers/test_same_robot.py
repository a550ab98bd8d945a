"""The same arm from three formats, against each other and against mujoco."""

import numpy as np
import pytest

import hooke
from tests.importers.robots import MJCF, URDF, USDA, from_text

TEXTS = {"urdf": URDF, "mjcf": MJCF, "usd": USDA}
NEEDS = {"urdf": "numpy", "mjcf": "mujoco", "usd": "pxr.UsdPhysics"}


def read(tmp_path, kind, **options):
    pytest.importorskip(NEEDS[kind])
    return from_text(tmp_path, kind, TEXTS[kind], **options)


@pytest.mark.parametrize("kind", TEXTS)
def test_bodies_joints_and_shapes(tmp_path, kind):
    reference, builder = from_text(tmp_path, "urdf", URDF), read(tmp_path, kind)
    assert [label.rpartition("/")[2] for label in builder.body_label] == ["base", "upper", "slider"]
    assert [label.rpartition("/")[2] for label in builder.joint_label][1:] == ["shoulder", "reach"]
    for name, tolerance in (
        ("body_q", 1e-6), ("body_mass", 1e-6), ("body_com", 1e-6), ("body_inertia", 1e-7), ("joint_limit_lower", 1e-6),
        ("joint_limit_upper", 1e-6), ("joint_damping", 1e-6), ("joint_friction", 1e-6), ("joint_q", 1e-6), ("shape_scale", 1e-6),
        ("joint_X_p", 1e-6), ("joint_X_c", 1e-6), ("joint_axis", 1e-6),
    ):  # fmt: skip
        found, wanted = (np.asarray(getattr(b, name), np.float64) for b in (builder, reference))
        assert np.allclose(found, wanted, rtol=0.0, atol=tolerance), name
    assert list(builder.joint_type) == list(reference.joint_type)
    assert list(builder.shape_type) == list(reference.shape_type)
    assert list(builder.joint_articulation) == [0, 0, 0]
    builder.finalize(device="cpu")


def test_what_only_some_formats_have(tmp_path):
    urdf = from_text(tmp_path, "urdf", URDF)
    assert np.allclose(urdf.joint_effort_limit, (40.0, 10.0)) and np.allclose(urdf.joint_velocity_limit, (7.0, 2.0))
    usd = read(tmp_path, "usd")
    assert np.isclose(usd.joint_velocity_limit[0], 7.0) and np.allclose(usd.gravity, (0.0, 0.0, -9.81))
    assert usd.result["linear_unit"] == 0.01 and usd.result["path_joint_map"]["/shoulder"] == 1


@pytest.mark.parametrize("kind", TEXTS)
def test_floating_and_turned(tmp_path, kind):
    pose = [1.0, 2.0, 3.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    text = TEXTS[kind].replace('def PhysicsFixedJoint "ground" { rel physics:body1 = </base> }', "")
    pytest.importorskip(NEEDS[kind])
    builder = from_text(tmp_path, kind, text, xform=pose, floating=True)
    assert builder.joint_type[0] == hooke.JointType.FREE and np.allclose(builder.joint_q[:7], pose, atol=1e-6)
    model = builder.finalize(device="cpu")
    state = model.state()
    wanted = state.body_q.numpy().copy()
    hooke.eval_fk(model, model.joint_q, model.joint_qd, state)
    assert np.allclose(np.abs(state.body_q.numpy()), np.abs(wanted), atol=1e-6)


@pytest.mark.parametrize("kind", TEXTS)
def test_up_axis_turns_the_file(tmp_path, kind):
    pytest.importorskip(NEEDS[kind])
    builder = from_text(tmp_path, kind, TEXTS[kind], builder=hooke.ModelBuilder(up_axis="Y"))
    assert np.allclose(np.asarray(builder.body_q)[1, :3], (0.1, 0.2, 0.0), atol=1e-6)
    assert np.allclose(builder.gravity_vector, (0.0, -9.81, 0.0), atol=1e-6)


@pytest.mark.parametrize("kind", TEXTS)
def test_on_a_parent_body(tmp_path, kind):
    pytest.importorskip(NEEDS[kind])
    builder = hooke.ModelBuilder()
    cart = builder.add_link(xform=[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], mass=1.0, inertia=np.eye(3), label="cart")
    builder.add_articulation([builder.add_joint_prismatic(-1, cart, parent_xform=[0, 0, 1.0, 0, 0, 0, 1])])
    from_text(tmp_path, kind, TEXTS[kind], builder=builder, parent_body=cart, xform=[0.0, 0.0, 0.5, 0, 0, 0, 1])
    assert builder.joint_parent[1] == cart and builder.articulation_count == 1
    assert np.allclose(np.asarray(builder.body_q)[1, :3], (0.0, 0.0, 1.5), atol=1e-6)
    model = builder.finalize(device="cpu")
    state = model.state()
    hooke.eval_fk(model, model.joint_q, model.joint_qd, state)
    assert np.allclose(state.body_q.numpy(), model.body_q.numpy(), atol=1e-6)


@pytest.mark.parametrize("text", [URDF, MJCF], ids=["urdf", "mjcf"])
def test_mass_and_inertia_are_those_of_mujoco(tmp_path, text):
    mujoco = pytest.importorskip("mujoco")
    kind = "urdf" if text is URDF else "mjcf"
    injected = text.replace('<robot name="arm">', '<robot name="arm"><mujoco><compiler fusestatic="false"/></mujoco>')
    m = mujoco.MjModel.from_xml_string(injected)
    builder = from_text(tmp_path, kind, text)
    for index, label in enumerate(builder.body_label):
        body = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, label)
        assert body > 0
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, m.body_iquat[body])
        turn = turn.reshape(3, 3)
        inertia = turn @ np.diag(m.body_inertia[body]) @ turn.T
        assert np.isclose(builder.body_mass[index], m.body_mass[body], rtol=1e-6)
        assert np.allclose(builder.body_com[index], m.body_ipos[body], atol=1e-6)
        assert np.allclose(np.reshape(builder.body_inertia[index], (3, 3)), inertia, atol=1e-6 * np.abs(inertia).max())

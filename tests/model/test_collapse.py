"""Collapsing fixed joints: what the merged body carried is where it was, and everything that referred to it still does."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import Model, ModelBuilder, ShapeConfig
from tests.joints.poses import compose, quat_rotate
from tests.model.mechanisms import Dof, link, pose, random_pose

AT = {"device": "cpu"}


def arm(rng):
    """base -hinge- a -fixed- b -fixed- c -hinge- d, with a shape on each, all with mass."""
    b = ModelBuilder()
    bodies = [link(b, label=name, com=rng.uniform(-0.2, 0.2, 3)) for name in ("base", "a", "b", "c", "d")]
    frames = [{"parent_xform": random_pose(rng), "child_xform": random_pose(rng)} for _ in range(5)]
    joints = [
        b.add_joint_free(bodies[0], label="root"),
        b.add_joint_revolute(bodies[0], bodies[1], axis="z", label="hip", **frames[1]),
        b.add_joint_fixed(bodies[1], bodies[2], label="weld", **frames[2]),
        b.add_joint_fixed(bodies[2], bodies[3], label="glue", **frames[3]),
        b.add_joint_revolute(bodies[3], bodies[4], axis="y", label="wrist", **frames[4]),
    ]  # fmt: skip
    b.add_articulation(joints, label="arm")
    for body in bodies:
        b.add_shape_box(body, xform=random_pose(rng), cfg=ShapeConfig(density=100.0))
    return b


def measured(b, q):
    """Poses of shapes, masses and inertias about the origin in the world, by forward kinematics."""
    model = b.finalize(**AT)
    state = model.state()
    state.joint_q.assign(np.asarray(q, np.float32))
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    poses = state.body_q.numpy().astype(float)
    shapes = [
        compose(poses[body], t) if body >= 0 else t
        for body, t in zip(model.shape_body.numpy(), model.shape_transform.numpy().astype(float))
    ]
    com = poses[:, :3] + quat_rotate(poses[:, 3:], model.body_com.numpy())
    mass = model.body_mass.numpy()
    return np.array(shapes), mass.sum(), mass @ com


def test_a_chain_of_fixed_joints():
    rng = np.random.default_rng(1)
    b = arm(rng)
    q = [*rng.uniform(-1, 1, 3), 0, 0, 0, 1, 0.4, -0.7]
    before = measured(b, q)
    found = b.collapse_fixed_joints()
    assert list(b.body_label) == ["base", "a", "d"] and list(b.joint_label) == ["root", "hip", "wrist"]
    assert b.joint_parent == [-1, 0, 1] and b.joint_child == [0, 1, 2] and b.joint_articulation == [0, 0, 0]
    assert found["body_remap"] == {-1: -1, 0: 0, 1: 1, 4: 2} and found["joint_remap"] == {0: 0, 1: 1, 4: 2}
    assert found["articulation_remap"] == {0: 0} and found["body_merged_parent"] == {2: 1, 3: 1}
    assert set(found["merged_body_data"]) == {"b", "c"} and found["merged_body_data"]["c"]["parent_body"] == "a"
    after = measured(b, q)
    same = np.sign((before[0][:, 3:] * after[0][:, 3:]).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(after[0] * np.column_stack([np.ones((5, 3)), np.tile(same, 4)]), before[0], atol=1e-5)
    assert after[1] == pytest.approx(before[1]) and b.joint_coord_count == 9
    np.testing.assert_allclose(after[2], before[2], rtol=1e-5, atol=1e-4)


def test_inertia_of_merged_bodies():
    b = ModelBuilder()
    bodies = [link(b), link(b, xform=pose((0, 0, 2)))]
    b.add_articulation([b.add_joint_revolute(-1, bodies[0]), b.add_joint_fixed(bodies[0], bodies[1], parent_xform=pose((0, 0, 1)))])
    b.collapse_fixed_joints()
    assert b.body_mass == [2.0]
    np.testing.assert_allclose(b.body_com.array, [(0, 0, 0.5)])
    np.testing.assert_allclose(b.body_inertia.array[0], np.diag([2.5, 2.5, 2.0]))  # two unit masses 0.5 from the middle


def test_what_is_fixed_to_the_world_becomes_static():
    b = ModelBuilder()
    post, gate = link(b, label="post"), link(b)
    shape = b.add_shape_box(post, xform=pose((0, 0, 1)), cfg=ShapeConfig(density=0.0))
    b.add_particle((0, 0, 0), (0, 0, 0), 1.0)
    b.add_attachment_particle_body(0, post, body_point=(1, 0, 0))
    joints = [
        b.add_joint_fixed(-1, post, parent_xform=pose((5, 0, 0))),
        b.add_joint_revolute(post, gate, parent_xform=pose((0, 1, 0))),
    ]
    b.add_articulation(joints)
    found = b.collapse_fixed_joints()
    assert found["body_merged_parent"] == {0: -1} and found["merged_body_data"]["post"]["parent_body"] == "world"
    assert b.body_count == 1 and b.shape_body[shape] == -1 and b.joint_parent == [-1] and b.joint_child == [0]
    np.testing.assert_allclose(b.shape_transform.array[shape, :3], (5, 0, 1))
    np.testing.assert_allclose(b.joint_X_p.array[0, :3], (5, 1, 0))
    assert b.attachment_particle_body_body == [-1]
    np.testing.assert_allclose(b.attachment_particle_body_body_point.array, [(6, 0, 0)])
    b.finalize(**AT)


def test_joints_that_are_kept(capsys):
    rng = np.random.default_rng(2)
    b = arm(rng)
    b.collapse_fixed_joints(verbose=True, joints_to_keep=["weld"])
    assert list(b.joint_label) == ["root", "hip", "weld", "wrist"] and "'c'" in capsys.readouterr().out
    b = arm(rng)
    b.collapse_fixed_joints(joints_to_keep=[2, 3])
    assert b.joint_count == 5 and b.body_count == 5
    with pytest.raises(ValueError, match="'nail', which does not exist"):
        b.collapse_fixed_joints(joints_to_keep=["nail"])
    b = arm(rng)
    b.joint_enabled[2] = b.joint_enabled[3] = False  # they hold nothing
    b.collapse_fixed_joints()
    assert b.joint_count == 5


def test_a_fixed_joint_that_closes_a_loop_is_kept():
    b = ModelBuilder()
    bodies = [link(b), link(b)]
    b.add_articulation([b.add_joint_free(bodies[0]), b.add_joint_revolute(bodies[0], bodies[1])])
    b.add_joint_fixed(-1, bodies[1], label="brace")
    b.collapse_fixed_joints()
    assert b.joint_count == 3 and b.body_count == 2


def test_empty_articulations_and_custom_values_go_along():
    b = ModelBuilder()
    for frequency in ("JOINT", "BODY", "ARTICULATION", "JOINT_CONSTRAINT"):
        b.add_custom_attribute(
            ModelBuilder.CustomAttribute(frequency.lower(), int, Model.AttributeFrequency[frequency], namespace="my")
        )
    b.add_custom_attribute(
        ModelBuilder.CustomAttribute("friend", int, Model.AttributeFrequency.BODY, namespace="my", references="body", default=-1)
    )
    bodies = [link(b, custom_attributes={"my:body": k, "my:friend": 1}) for k in range(3)]
    joints = [b.add_joint_fixed(-1, bodies[0], custom_attributes={"my:joint": 1, "my:joint_constraint": 1})]
    b.add_articulation(joints, custom_attributes={"my:articulation": 1})
    joints = [b.add_joint_revolute(bodies[0], bodies[1], custom_attributes={"my:joint": 2, "my:joint_constraint": 2})]
    joints.append(
        b.add_joint_d6(
            bodies[1], bodies[2], linear_axes=[Dof(axis="x")], custom_attributes={"my:joint": 3, "my:joint_constraint": 3}
        )
    )
    b.add_articulation(joints, custom_attributes={"my:articulation": 2})
    b.set_joint_mimic(joints[1], joints[0])
    found = b.collapse_fixed_joints()
    assert found["articulation_remap"] == {1: 0} and b.joint_mimic_joint == [-1, 0]
    model = b.finalize(**AT)
    assert model.my.joint.numpy().tolist() == [2, 3] and model.my.body.numpy().tolist() == [1, 2]
    assert model.my.articulation.numpy().tolist() == [2] and model.my.friend.numpy().tolist() == [0, 0]
    assert model.my.joint_constraint.numpy().tolist() == [2] * 5 + [3] * 5
    assert isinstance(model.joint_mimic_joint, wp.array)

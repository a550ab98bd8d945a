"""Joints and articulations that have no meaning: one message that names the joint, its bodies and what to do."""

import warnings

import numpy as np
import pytest

from hooke import BodyFlags, JointType, ModelBuilder
from tests.model.mechanisms import Dof, link, pose

KNEE = r"joint 'knee' \(index 1, from body 'thigh' \(index 0\) to body 'shin' \(index 1\)\)"


def leg(knee=None, articulated=True, **options):
    b = ModelBuilder()
    thigh, shin = link(b, label="thigh"), link(b, label="shin")
    joints = [b.add_joint_free(thigh, label="root")]
    joints.append(b.add_joint_revolute(thigh, shin, label="knee", **options) if knee is None else knee(b, thigh, shin))
    if articulated:
        b.add_articulation(joints, label="leg")
    return b


def refused(b, match, **options):
    with pytest.raises(ValueError, match=match):
        b.finalize(device="cpu", **options)


def test_a_sound_leg_is_accepted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert leg().finalize(device="cpu").joint_count == 2


def test_the_checks_can_be_skipped():
    for option in ("skip_validation_joints", "skip_all_validations", "skip_validation_structure"):
        b = leg(limit_lower=1.0, limit_upper=-1.0)
        refused(b, KNEE)
        b.finalize(device="cpu", **{option: True})


@pytest.mark.parametrize("column, value, match", [
    ("joint_parent", 1, r"joint 'knee' \(index 1, from body 'shin' .* to body 'shin' .*: parent and child are the same body"),
    ("joint_child", -1, r"joint 'knee'.*the world.*expected a parent from -1 \(world\) to 1 and a child from 0 to 1"),
    ("joint_child", 7, r"joint 'knee' \(index 1\): joint_child is 7"),
    ("joint_parent", -2, r"joint 'knee' \(index 1\): joint_parent is -2"),
    ("joint_type", 42, "joint type 42"),
    ("joint_type", int(JointType.BALL), rf"{KNEE}: joint_dof_dim is \(0, 1\), which a ball joint does not have"),
])  # fmt: skip
def test_bodies_and_types(column, value, match):
    b = leg()
    getattr(b, column)[1] = value
    refused(b, match)


def test_rows_that_were_appended_by_hand():
    b = leg()
    b.joint_q.append(0.0), b.joint_target_q.append(0.0), b.joint_rest_q.append(0.0)
    refused(b, "need 8 rows of joint coord, found 9")


def test_a_quaternion_of_zero():
    b = leg()
    b.joint_q[3:7] = [0, 0, 0, 0]
    refused(b, r"joint 'root' \(index 0, from the world to body 'thigh' \(index 0\)\): the quaternion in joint_q is zero")


def test_an_axis_of_zero():
    b = leg()
    b.joint_axis[6] = (0, 0, 0)
    refused(b, rf"{KNEE}: axis 0 is \[0\.0, 0\.0, 0\.0\]")


@pytest.mark.parametrize("axes, match", [
    ({"linear_axes": ["x", (1, 1, 0), (0, 1, 0)]}, "linear axes .* are not independent"), ({"linear_axes": ["x", "x"]}, "not independent"),
    ({"angular_axes": ["x", (1, 0, 0), "y"]}, "follow each other and are parallel"), ({"angular_axes": ["z", "y", (0, -2, 0)]}, "parallel"),
])  # fmt: skip
def test_dependent_axes(axes, match):
    refused(leg(lambda b, p, c: b.add_joint_d6(p, c, label="knee", **axes)), f"{KNEE}.*{match}")


def test_the_first_axis_again_is_an_axis():
    leg(lambda b, p, c: b.add_joint_d6(p, c, angular_axes=["z", "x", "z"])).finalize(device="cpu")


def test_limits_reversed():
    refused(leg(limit_lower=0.5, limit_upper=-0.5), rf"{KNEE}: limit_lower 0\.5 is above limit_upper -0\.5")


@pytest.mark.parametrize(
    "name", "target_ke target_kd limit_ke limit_kd damping stiffness armature friction effort_limit velocity_limit".split()
)
def test_negative_values(name):
    refused(leg(**{name: -0.5}), rf"joint 'knee' \(index 1\), dof 0 \(joint dof 6\): joint_{name} is -0\.5.*expected values >= 0")
    refused(leg(**{name: np.nan}), rf"joint 'knee' \(index 1\), dof 0 .*: joint_{name} is nan.*expected finite values")


def test_a_body_with_two_parents():
    b = leg(articulated=False)
    b.add_joint_ball(-1, 1, label="hip")
    b.add_articulation([0, 1, 2])
    refused(b, rf"body 'shin' \(index 1\) has two parents: {KNEE} and joint 'hip' \(index 2, from the world to .*add_articulation")
    b.joint_articulation[2] = -1  # it closes a loop
    b.finalize(device="cpu")


def test_two_articulations_that_move_one_body():
    b = leg()
    b.add_articulation([b.add_joint_ball(-1, 1, label="hip")])
    refused(b, "two parents.*'knee'.*'hip'")


def test_a_gap_in_an_articulation():
    b = leg(articulated=False)
    b.add_joint_revolute(1, link(b), label="ankle")
    b.add_articulation([0, 1, 2], label="leg")
    b.joint_articulation[1] = -1
    refused(b, rf"articulation 'leg' \(index 0\).*{KNEE} lies between them")


def test_a_joint_without_an_articulation():
    refused(leg(articulated=False), rf"{KNEE} belongs to no articulation and closes no loop; pass it to add_articulation")
    b = ModelBuilder()
    b.add_joint_revolute(-1, link(b))  # at the world it may stand alone
    b.finalize(device="cpu")


def test_a_circle_of_parents():
    b = leg()
    b.joint_parent[0] = 1
    refused(b, "is its own ancestor; an articulation must be a tree")


def test_a_kinematic_body_that_a_joint_moves():
    b = leg()
    b.body_flags[1] = int(BodyFlags.KINEMATIC)
    refused(b, rf"{KNEE}: the child is kinematic")
    b = leg()
    b.body_flags[0] = int(BodyFlags.KINEMATIC)
    b.finalize(device="cpu")


def test_a_joint_across_worlds():
    b = ModelBuilder()
    b.begin_world()
    thigh = link(b, label="thigh")
    b.end_world()
    b.begin_world()
    shin = link(b, label="shin")
    b.add_articulation([b.add_joint_revolute(thigh, shin, label="knee")])
    b.end_world()
    refused(
        b,
        r"joint 'knee' \(index 0\) of world 1 reaches into another: body 'thigh' .* is in world 0, body 'shin' .* is in world 1",
    )


@pytest.mark.parametrize("kinematic", [True, False])
def test_a_joint_to_a_shared_body(kinematic):
    b = ModelBuilder()
    post = link(b, label="post", is_kinematic=kinematic)
    b.begin_world()
    b.add_articulation([b.add_joint_revolute(post, link(b, label="gate"), label="hinge")])
    b.end_world()
    if kinematic:
        b.finalize(device="cpu")
    else:
        refused(b, r"joint 'hinge' \(index 0\) of world 0 reaches into another: body 'post' \(index 0\) is in world -1")


def test_an_articulation_across_worlds():
    b = ModelBuilder()
    for _ in range(2):
        b.begin_world()
        b.add_joint_revolute(-1, link(b), label="hinge")
        b.end_world()
    b.add_articulation([0, 1], label="both")
    refused(b, r"joint 'hinge' \(index 0.*in world 0, its articulation 'both' \(index 0\) in world -1")


def test_mimics_across_articulations_and_chains():
    b = ModelBuilder()
    joints = [b.add_joint_revolute(-1, link(b), label=name) for name in "abc"]
    for joint in joints:
        b.add_articulation([joint])
    b.set_joint_mimic(0, 1)
    refused(b, r"joint 'a' .* follows joint 'b' .*same world and articulation")
    b.joint_articulation[0] = -1
    b.finalize(device="cpu")
    b.joint_mimic_joint[1] = 2
    b.joint_articulation[1] = -1
    refused(b, "follows none")
    b.joint_mimic_joint[:] = [-1, -1, -1]
    b.add_constraint_mimic(0, 1, label="gear")
    b.constraint_mimic_joint1[0] = -1
    refused(b, r"constraint mimic 'gear' \(index 0\).*joint1 -1")


def test_two_joints_between_the_same_bodies_are_warned_of():
    b = leg()
    b.add_joint_ball(1, 0, label="second")
    b.joint_articulation[2] = -1
    with pytest.warns(UserWarning, match=r"1 joints.*'second' \(index 2.*beside joint 'knee'"):
        b.finalize(device="cpu")
    b = ModelBuilder()
    b.add_joint_fixed(-1, b.add_body(mass=1.0, inertia=np.eye(3), label="crate"))
    with pytest.warns(UserWarning, match="'crate'.*add_link"):
        b.finalize(device="cpu")


def test_order_of_joints_is_checked_when_asked():
    b = ModelBuilder()
    bodies = [link(b) for _ in range(4)]
    joints = [
        b.add_joint_revolute(-1, bodies[0]),
        b.add_joint_revolute(bodies[0], bodies[1]),
        b.add_joint_revolute(bodies[0], bodies[2]),
    ]
    joints.append(b.add_joint_revolute(bodies[1], bodies[3], label="late"))  # breadth first
    b.add_articulation(joints)
    with pytest.warns(UserWarning, match=r"joint 'late' .*depth first"):
        assert not b.validate_joint_ordering()
    refused(b, "joint 'late'.*depth first", skip_validation_joint_ordering=False)
    b.finalize(device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert leg().validate_joint_ordering()

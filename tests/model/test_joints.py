"""Joints in the builder: rows, defaults, drives, custom attributes, filters, copies and worlds."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import JointDofConfig, JointTargetMode, JointType, Model, ModelBuilder, ShapeConfig
from tests.joints.poses import compose, inverse_pose, quat_rotate
from tests.model.mechanisms import ADDERS, Dof, link, pose, random_coordinates, random_pose, random_tree, state_at

AT = {"device": "cpu"}
NO_MASS = ShapeConfig(density=0.0)
COUNTS = {
    "prismatic": (1, 1, 5), "revolute": (1, 1, 5), "ball": (4, 3, 3), "fixed": (0, 0, 6), "free": (7, 6, 0), "distance": (7, 6, 0),
    "rod": (7, 6, 0), "planar": (3, 3, 3), "all six": (6, 6, 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", COUNTS)
def test_counts(kind):
    b = ModelBuilder()
    joint = ADDERS[kind](b, -1, link(b))
    assert (b.joint_coord_count, b.joint_dof_count, b.joint_constraint_count) == COUNTS[kind]
    b.add_articulation([joint])
    model = b.finalize(**AT)
    assert model.joint_q_start.numpy()[-1] == COUNTS[kind][0] and model.joint_qd_start.numpy()[-1] == COUNTS[kind][1]
    assert model.joint_cts_start.numpy()[-1] == COUNTS[kind][2] == model.joint_constraint_count
    assert (model.max_joints_per_articulation, model.max_dofs_per_articulation) == (1, COUNTS[kind][1])
    control = model.control()
    for array, n in ((control.joint_target_q, 0), (control.joint_f, 1), (control.joint_target_qd, 1)):
        assert (0 if array is None else len(array)) == COUNTS[kind][n]


def test_labels_types_and_frames():
    b = ModelBuilder()
    parent, child = link(b), link(b)
    rng = np.random.default_rng(1)
    frames = random_pose(rng), random_pose(rng)
    first = b.add_joint_revolute(-1, parent)
    second = b.add_joint(
        JointType.PRISMATIC,
        parent,
        child,
        linear_axes=[Dof(axis="y")],
        parent_xform=frames[0],
        child_xform=frames[1],
        enabled=False,
    )
    third = b.add_joint_ball(-1, child, label="socket")
    assert (first, second, third) == (0, 1, 2)
    assert list(b.joint_label) == ["joint_1", "joint_2", "socket"]
    assert b.joint_type == [JointType.REVOLUTE, JointType.PRISMATIC, JointType.BALL]
    assert b.joint_parent == [-1, parent, -1] and b.joint_child == [parent, child, child]
    np.testing.assert_allclose(b.joint_X_p.array[1], np.array(frames[0]), atol=1e-6)
    np.testing.assert_allclose(b.joint_X_c.array[1], np.array(frames[1]), atol=1e-6)
    assert b.joint_enabled == [True, False, True]
    assert b.joint_q_start == [0, 1, 2] and b.joint_qd_start == [0, 1, 2]


def test_axes_are_named_or_unit_vectors():
    b = ModelBuilder()
    for axis in ("z", 2, hooke.Axis.Z, (0, 0, 5), wp.vec3(0.0, 0.0, 0.1)):
        b.add_joint_revolute(-1, link(b), axis=axis)
    np.testing.assert_allclose(b.joint_axis.array, [(0, 0, 1)] * 5, atol=1e-7)
    b.add_joint_revolute(-1, link(b))
    b.add_joint_prismatic(-1, link(b))
    np.testing.assert_array_equal(b.joint_axis.array[-2:], [(1, 0, 0)] * 2)
    b.joint_axis[0] = (0.0, 3.0, 0.0)  # edited: a unit vector in the model
    np.testing.assert_allclose(b.finalize(**AT).joint_axis.numpy()[0], (0, 1, 0))
    for wrong in ((0, 0, 0), (1, 2), "w", (np.nan, 0, 0)):
        with pytest.raises(ValueError, match="axis"):
            b.add_joint_revolute(-1, link(b), axis=wrong)


EVERYTHING = {
    "target_q": 0.1, "target_qd": 0.2, "target_ke": 3.0, "target_kd": 4.0, "damping": 5.0, "stiffness": 6.0, "rest_q": 0.7,
    "limit_lower": -8.0, "limit_upper": 9.0, "limit_ke": 10.0, "limit_kd": 11.0, "armature": 12.0, "effort_limit": 13.0,
    "velocity_limit": 14.0, "friction": 15.0,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_every_setting_reaches_its_array(kind):
    b = ModelBuilder()
    add = getattr(b, f"add_joint_{kind}")
    add(-1, link(b), axis="y", **EVERYTHING)
    add(-1, link(b), axis=JointDofConfig(axis="y", **EVERYTHING))
    b.default_joint_cfg = JointDofConfig(axis="y", **EVERYTHING)
    add(-1, link(b), axis="y")
    model = b.finalize(**AT)
    for name, value in EVERYTHING.items():
        np.testing.assert_allclose(getattr(model, f"joint_{name}").numpy(), [value] * 3, rtol=1e-6, err_msg=name)
    assert model.joint_target_mode.numpy().tolist() == [JointTargetMode.POSITION] * 3
    np.testing.assert_array_equal(model.joint_q.numpy(), 0.0)  # a target is no position


def test_documented_defaults():
    b = ModelBuilder()
    b.add_joint_revolute(-1, link(b))
    values = {name: getattr(b, f"joint_{name}")[0] for name in EVERYTHING}
    assert values == {**dict.fromkeys(EVERYTHING, 0.0), "limit_lower": -1e10, "limit_upper": 1e10, "limit_ke": 1e4, "limit_kd": 10.0,
                      "effort_limit": 1e6, "velocity_limit": 1e6}  # fmt: skip
    free = Dof.create_unlimited("z")
    assert (free.limit_lower, free.limit_upper, free.limit_ke, free.limit_kd, free.armature) == (-1e10, 1e10, 0, 0, 0)


@pytest.mark.parametrize("gains, mode", [((0, 0), "NONE"), ((1, 0), "POSITION"), ((1, 1), "POSITION"), ((0, 1), "VELOCITY")])
def test_mode_of_a_drive_follows_from_its_gains(gains, mode):
    b = ModelBuilder()
    b.add_joint_revolute(-1, link(b), target_ke=gains[0], target_kd=gains[1])
    b.add_joint_revolute(-1, link(b), target_ke=gains[0], target_kd=gains[1], actuator_mode=JointTargetMode.EFFORT)
    assert b.joint_target_mode == [JointTargetMode[mode], JointTargetMode.EFFORT]


def test_both_spellings_of_targets():
    b = ModelBuilder()
    b.add_joint_revolute(-1, link(b), target_pos=0.5, target_vel=-1.0)
    b.add_joint_d6(-1, link(b), linear_axes=[Dof(axis="x", target_pos=0.25, target_vel=2.0)])
    assert b.joint_target_q == [0.5, 0.25] and b.joint_target_qd == [-1.0, 2.0]
    assert b.joint_target_pos == b.joint_target_q and b.joint_target_vel == b.joint_target_qd
    b.joint_target_pos = [1.0, 2.0]
    assert b.joint_target_q == [1.0, 2.0]
    with pytest.raises(ValueError, match="target_pos is another name of target_q"):
        b.add_joint_revolute(-1, link(b), target_q=0.5, target_pos=0.6)
    model = b.finalize(**AT)
    assert model.control().joint_target_pos.numpy().tolist() == [1.0, 2.0]
    assert model.control().joint_target_vel.numpy().tolist() == model.joint_target_vel.numpy().tolist() == [-1.0, 2.0]
    assert model.joint_target_pos.ptr == model.joint_target_q.ptr
    b.add_joint_ball(-1, link(b))
    model = b.finalize(**AT)
    for owner in (model, model.control()):
        with pytest.raises(AttributeError, match=r"joint_target_pos.*5.*6 coordinates.*joint_target_q"):
            owner.joint_target_pos
        assert len(owner.joint_target_vel) == 5


def test_infinite_limits_are_the_largest_number_of_a_model():
    b = ModelBuilder()
    b.add_joint_revolute(-1, link(b), limit_lower=-np.inf, limit_upper=np.inf, effort_limit=np.inf)
    assert (b.joint_limit_lower[0], b.joint_limit_upper[0], b.joint_effort_limit[0]) == (-1e10, 1e10, 1e10)


def test_ball_free_and_distance():
    b = ModelBuilder()
    b.add_joint_ball(-1, link(b), armature=0.5, friction=0.25, damping=2.0, stiffness=3.0)
    assert b.joint_q == [0, 0, 0, 1] and b.joint_target_q == [0, 0, 0, 1] and b.joint_rest_q == [0, 0, 0, 1]
    assert (
        b.joint_armature == [0.5] * 3
        and b.joint_friction == [0.25] * 3
        and b.joint_damping == [2.0] * 3
        and b.joint_stiffness == [3.0] * 3
    )
    assert b.joint_target_mode == [JointTargetMode.NONE] * 3 and b.joint_dof_dim == [(0, 3)]
    b.add_joint_distance(-1, link(b), min_distance=0.1, max_distance=2.0)
    b.add_joint_distance(-1, link(b))
    np.testing.assert_allclose(b.joint_limit_lower.array[3:], [0.1, *[-1e10] * 5, *[-1e10] * 6])
    np.testing.assert_allclose(b.joint_limit_upper.array[3:], [2.0, *[1e10] * 5, 1.0, *[1e10] * 5])
    np.testing.assert_array_equal(b.joint_axis.array[:9], [*np.eye(3), *np.eye(3), *np.eye(3)])


def test_axes_that_a_type_does_not_have():
    b = ModelBuilder()
    child = link(b)
    with pytest.raises(ValueError, match=r"joint 'knee' \(revolute\).*0 linear and 1 angular.*found 1 linear"):
        b.add_joint(JointType.REVOLUTE, -1, child, linear_axes=["x"], label="knee")
    with pytest.raises(ValueError, match="at most three"):
        b.add_joint_d6(-1, child, linear_axes=["x", "y", "z", "x"])
    with pytest.raises(ValueError, match="joint type 77"):
        b.add_joint(77, -1, child)
    with pytest.raises(TypeError):
        b.add_joint_revolute(-1, child, twist_lower=1.0)
    assert b.joint_count == b.joint_dof_count == b.joint_coord_count == 0


@pytest.mark.parametrize("parent, child, match", [
    (-1, 2, r"'knee'.*child body from 0 to 1, found 2"), (-1, -1, r"'knee'.*child"), (5, 0, r"'knee'.*parent body.*found 5"),
    (-2, 0, r"'knee'.*parent"), (1, 1, r"'knee'.*both body 'b' \(index 1\)"),
])  # fmt: skip
def test_bodies_that_do_not_exist(parent, child, match):
    b = ModelBuilder()
    link(b, label="a"), link(b, label="b")
    with pytest.raises(ValueError, match=match):
        b.add_joint_fixed(parent, child, label="knee")


def test_custom_attributes_of_joints():
    b = ModelBuilder()
    for frequency in ("JOINT", "JOINT_DOF", "JOINT_COORD", "JOINT_CONSTRAINT"):
        b.add_custom_attribute(
            ModelBuilder.CustomAttribute(frequency.lower(), float, Model.AttributeFrequency[frequency], namespace="my", default=9.0)
        )
    b.add_custom_attribute(ModelBuilder.CustomAttribute("heat", float, Model.AttributeFrequency.BODY, namespace="my"))
    values = {"my:joint": 1.0, "my:joint_dof": [1.0, 2.0, 3.0], "my:joint_coord": {3: 4.0}, "my:joint_constraint": 5.0}
    joints = [
        b.add_joint_ball(-1, link(b), custom_attributes=values),
        b.add_joint_fixed(0, link(b), custom_attributes={"my:joint_dof": 1.0}),
    ]
    b.add_articulation(joints)
    model = b.finalize(**AT)
    assert model.my.joint.numpy().tolist() == [1, 9]
    assert model.my.joint_dof.numpy().tolist() == [1, 2, 3]
    assert model.my.joint_coord.numpy().tolist() == [9, 9, 9, 4]
    assert model.my.joint_constraint.numpy().tolist() == [5, 5, 5, *[9] * 6]
    for wrong, match in (
        ({"my:heat": 1.0}, "heat"),
        ({"my:joint_dof": [1.0]}, "joint_dof"),
        ({"my:joint_coord": {4: 1.0}}, "4 entries"),
        ({"no": 1}, "unknown"),
    ):
        with pytest.raises(ValueError, match=match):
            b.add_joint_ball(-1, link(b), custom_attributes=wrong)


# ---- articulations


def test_articulations():
    b = ModelBuilder()
    joints = [b.add_joint_revolute(-1, link(b)) for _ in range(4)]
    assert b.add_articulation(joints[:2]) == 0 and b.add_articulation(joints[2:3], label="arm") == 1
    assert list(b.articulation_label) == ["articulation_0", "arm"] and b.articulation_start == [0, 2]
    assert b.joint_articulation == [0, 0, 1, -1]
    for wrong, match in (
        ([], "one joint"),
        ([3, 2], "increasing"),
        ([7], "existing"),
        ([-1], "existing"),
        ([2, 3], r"'joint_3' \(index 2\).*already"),
    ):
        with pytest.raises(ValueError, match=match):
            b.add_articulation(wrong)
    assert b.joint_articulation == [0, 0, 1, -1] and b.articulation_count == 2


# ---- filters


def jointed(flag, child_asks=True, parent_asks=True, before=True):
    b = ModelBuilder()
    b.add_ground_plane()
    a, c = link(b), link(b)
    shapes = [(a, parent_asks), (c, child_asks), (c, child_asks)]
    adders = [lambda: [b.add_shape_box(body, cfg=ShapeConfig(density=0.0, collision_filter_parent=asks)) for body, asks in shapes]]
    adders.append(
        lambda: b.add_articulation([b.add_joint_revolute(-1, a), b.add_joint_revolute(a, c, collision_filter_parent=flag)])
    )
    for add in adders if before else adders[::-1]:
        add()
    return b.finalize(**AT)


@pytest.mark.parametrize("before", [True, False])
def test_shapes_of_jointed_bodies_do_not_meet(before):
    for flag in (None, True):
        model = jointed(flag, before=before)
        assert model.shape_collision_filter_pairs == {(1, 2), (1, 3)}
        assert model.shape_collision_filter_pairs_array.numpy().tolist() == [[1, 2], [1, 3]]
    assert jointed(False, before=before).shape_collision_filter_pairs == set()
    assert jointed(None, child_asks=False, before=before).shape_collision_filter_pairs == set()
    assert jointed(None, parent_asks=False, before=before).shape_collision_filter_pairs == {(1, 2), (1, 3)}


def test_what_is_fixed_to_the_world_does_not_meet_what_is_static():
    b = ModelBuilder()
    b.add_ground_plane()
    for fixed in (True, False):
        body = link(b)
        b.add_shape_box(body, cfg=NO_MASS)
        (b.add_joint_fixed if fixed else b.add_joint_revolute)(-1, body)
    b.add_shape_sphere(-1)
    model = b.finalize(**AT)
    assert model.shape_collision_filter_pairs == {(0, 1), (1, 3)}
    assert model.shape_collision_filter_contains(1, 0) and not model.shape_collision_filter_contains(0, 2)


def test_pairs_of_the_user():
    b = ModelBuilder()
    body = link(b)
    shapes = [b.add_shape_box(body, cfg=NO_MASS) for _ in range(2)] + [b.add_shape_sphere(-1), b.add_shape_sphere(-1)]
    b.add_shape_collision_filter_pair(shapes[2], shapes[0])
    b.add_shape_collision_filter_pair(0, 2)
    assert b.shape_collision_filter_pairs == [(0, 2), (0, 2)]
    b.add_joint_revolute(-1, body)
    model = b.finalize(**AT)
    assert model.shape_collision_filter_pairs == {(0, 2)} and model.shape_filter_count == 1
    assert model.shape_collision_filter_contains(0, 1) and not model.shape_collision_filter_contains(2, 3)
    for wrong in ((0, 0), (0, 4), (-1, 0)):
        with pytest.raises(ValueError, match="add_shape_collision_filter_pair"):
            b.add_shape_collision_filter_pair(*wrong)


def test_filters_of_copies():
    inner = ModelBuilder()
    a, c = link(inner), link(inner)
    for body in (a, c, -1):
        inner.add_shape_box(body, cfg=NO_MASS)
    inner.add_articulation([inner.add_joint_fixed(-1, a), inner.add_joint_revolute(a, c)])
    inner.add_shape_collision_filter_pair(1, 2)
    b = ModelBuilder()
    b.add_ground_plane()
    b.replicate(inner, 2)
    model = b.finalize(**AT)
    # shapes: ground, then body a, body c, static box of each world; the ground is shared, the other world's box is not
    assert model.shape_collision_filter_pairs == {(0, 1), (1, 2), (1, 3), (2, 3), (0, 4), (4, 5), (4, 6), (5, 6)}


# ---- copies


def test_replicated_mechanisms():
    rng = np.random.default_rng(2)
    inner = random_tree(rng)
    loop = inner.add_joint_ball(0, 5, label="closing")
    b = ModelBuilder()
    b.add_ground_plane()
    xforms = [random_pose(rng) for _ in range(3)]
    b.replicate(inner, 3, xforms=xforms)
    model = b.finalize(**AT)
    n, coordinates, dofs = inner.joint_count, inner.joint_coord_count, inner.joint_dof_count
    assert model.joint_world.numpy().tolist() == np.repeat(range(3), n).tolist()
    assert model.joint_world_start.numpy().tolist() == [0, n, 2 * n, 3 * n, 3 * n]
    for name, each in (("coord", coordinates), ("dof", dofs), ("constraint", inner.joint_constraint_count)):
        starts = getattr(model, f"joint_{name}_world_start").numpy().tolist()
        assert starts == [0, each, 2 * each, 3 * each, 3 * each], name
    assert model.joint_q_start.numpy()[::n].tolist() == [0, coordinates, 2 * coordinates, 3 * coordinates]
    assert model.joint_qd_start.numpy()[::n].tolist() == [0, dofs, 2 * dofs, 3 * dofs]
    assert model.articulation_start.numpy().tolist() == [0, n, 2 * n, 3 * n] and model.articulation_end.numpy().tolist() == [
        n - 1,
        2 * n - 1,
        3 * n - 1,
    ]
    assert model.joint_label[n + loop] == "world_1/closing" and model.joint_child.numpy()[n + loop] == inner.body_count + 5
    single = inner.finalize(**AT)
    q, qd = random_coordinates(single, rng)
    one = state_at(single, q, qd)
    hooke.eval_fk(single, one.joint_q, one.joint_qd, one)
    # the same coordinates, but for the free root, which the copy's pose is in
    state = state_at(model, np.tile(q, 3), np.tile(qd, 3))
    values, rates = state.joint_q.numpy().astype(float), state.joint_qd.numpy().astype(float)
    anchor = np.array(inner.joint_X_p[0], float)
    for k, xform in enumerate(xforms):
        turn = compose(compose(inverse_pose(anchor), np.array(xform, float)), anchor)
        values[k * coordinates : k * coordinates + 7] = compose(turn, q[:7])
        for at in (0, 3):
            rates[k * dofs + at : k * dofs + at + 3] = quat_rotate(turn[3:], qd[at : at + 3])
    state.joint_q.assign(values.astype(np.float32))
    state.joint_qd.assign(rates.astype(np.float32))
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    bodies = inner.body_count
    for k, xform in enumerate(xforms):
        expected = compose(np.array(xform, float), one.body_q.numpy().astype(float))
        found = state.body_q.numpy()[k * bodies : (k + 1) * bodies]
        found = found * np.where((found[:, 3:] * expected[:, 3:]).sum(axis=1, keepdims=True) < 0, [[1] * 3 + [-1] * 4], 1)
        np.testing.assert_allclose(found, expected, atol=3e-5)
        twists = one.body_qd.numpy()
        turned = np.column_stack([quat_rotate(np.array(xform)[3:], twists[:, :3]), quat_rotate(np.array(xform)[3:], twists[:, 3:])])
        np.testing.assert_allclose(state.body_qd.numpy()[k * bodies : (k + 1) * bodies], turned, atol=3e-4)


@pytest.mark.parametrize("kind", ADDERS)
def test_a_mechanism_at_the_world_moves_with_its_builder(kind):
    """The default coordinates and velocities of a copy give the moved poses and turned velocities."""
    rng = np.random.default_rng(3)
    inner = ModelBuilder()
    child = link(inner, rng)
    inner.add_articulation([ADDERS[kind](inner, -1, child, parent_xform=random_pose(rng), child_xform=random_pose(rng))])
    q, qd = random_coordinates(inner.finalize(**AT), rng)
    inner.joint_q[:], inner.joint_qd[:] = q, qd
    xform = random_pose(rng)
    b = ModelBuilder()
    b.add_builder(inner)
    b.add_builder(inner, xform=xform)
    model = b.finalize(**AT)
    state = model.state()
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    first, second = state.body_q.numpy()
    expected = compose(np.array(xform, float), first.astype(float))
    np.testing.assert_allclose(second[:3], expected[:3], atol=1e-5)
    assert min(np.abs(second[3:] - expected[3:]).max(), np.abs(second[3:] + expected[3:]).max()) < 1e-5
    v = state.body_qd.numpy()
    turn = np.array(xform)[3:]
    np.testing.assert_allclose(v[1], [*quat_rotate(turn, v[0, :3]), *quat_rotate(turn, v[0, 3:])], atol=1e-4)


# ---- mimics


def test_mimics_of_the_builder():
    b = ModelBuilder()
    joints = [
        b.add_joint_revolute(-1, link(b)),
        b.add_joint_prismatic(-1, link(b)),
        b.add_joint_ball(-1, link(b)),
        b.add_joint_fixed(-1, link(b)),
    ]
    b.set_joint_mimic(joints[0], joints[1], coeffs=(0.5, 2.0))
    assert b.joint_mimic_joint == [1, -1, -1, -1] and tuple(b.joint_mimic_coeffs[0]) == (0.5, 2.0)
    b.set_joint_mimic(joints[0], None)
    assert b.joint_mimic_joint[0] == -1 and tuple(b.joint_mimic_coeffs[0]) == (0.0, 1.0)
    for wrong, match in (
        ((0, 0), "as many axes"),
        ((0, 2), "'joint_3'.*ball"),
        ((3, 0), "fixed"),
        ((0, 9), "from 0 to 3, found 9"),
    ):
        with pytest.raises(ValueError, match=match):
            b.set_joint_mimic(*wrong)
    with pytest.raises(ValueError, match="two finite coefficients"):
        b.set_joint_mimic(0, 1, coeffs=(0.0, np.nan))
    assert b.add_constraint_mimic(0, 1, 1.0, 2.0, label="gear") == 0
    assert (
        b.constraint_mimic_joint0[0],
        b.constraint_mimic_joint1[0],
        b.constraint_mimic_coef1[0],
        b.constraint_mimic_label[0],
    ) == (0, 1, 2.0, "gear")
    b.set_joint_mimic(0, 1)
    with pytest.raises(ValueError, match="do not chain"):
        b.set_joint_mimic(1, 0)

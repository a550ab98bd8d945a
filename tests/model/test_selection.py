"""Selection by label, and views of the articulations of many worlds."""

import re

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import JointType, Model, ModelBuilder, ShapeConfig
from hooke.selection import ArticulationView, match_labels, select
from tests.model.mechanisms import link, pose, state_at

AT = {"device": "cpu"}
LABELS = ["world_0/arm/elbow", "world_0/arm/wrist", "world_1/arm/elbow", "base"]


@pytest.mark.parametrize("pattern, found", [
    ("*", [0, 1, 2, 3]), ("elbow", [0, 2]), ("*/wrist", [1]), ("world_1/*", [2]), ("b?se", [3]),
    (["elbow", "base"], [0, 2, 3]), ("Elbow", []),
    (re.compile(r"world_[01]/arm/e.*"), [0, 2]), (re.compile(r"e\w+"), [0, 2]), (3, [3]), ([3, "wrist"], [1, 3]),
    ([], []), ("[we]*", [0, 1, 2]),
])  # fmt: skip
def test_patterns(pattern, found):
    assert match_labels(LABELS, pattern) == found


def test_an_index_that_does_not_exist():
    with pytest.raises(ValueError, match="from 0 to 3, found 4"):
        match_labels(LABELS, 4)


def robot(base="free"):
    """A body, and two links on it; the second closes a loop to the first. With a shape each."""
    b = ModelBuilder()
    for attribute, frequency in (("score", "JOINT_DOF"), ("tag", "ARTICULATION")):
        b.add_custom_attribute(ModelBuilder.CustomAttribute(attribute, float, Model.AttributeFrequency[frequency], namespace="my"))
    bodies = [link(b, label=name) for name in ("trunk", "left", "right")]
    root = (
        b.add_joint_free(bodies[0], label="root") if base == "free" else b.add_joint_revolute(-1, bodies[0], label="root", axis="z")
    )
    joints = [
        root,
        b.add_joint_revolute(bodies[0], bodies[1], axis="z", label="hip_left"),
        b.add_joint_ball(bodies[0], bodies[2], label="hip_right"),
    ]
    b.add_articulation(joints, label="robot")
    b.add_joint_prismatic(bodies[1], bodies[2], label="brace")
    for body in bodies:
        b.add_shape_box(body, cfg=ShapeConfig(density=0.0))
    return b


def worlds(count=3, base="free"):
    b = ModelBuilder()
    b.add_ground_plane()
    b.replicate(robot(base), count, (2, 0, 0))
    return b.finalize(**AT)


def test_select():
    model = worlds()
    assert select(model, "body", "left").tolist() == [1, 4, 7]
    assert select(model, "joint", "hip_*").tolist() == [1, 2, 5, 6, 9, 10]
    assert select(model, "joint", "hip_*", worlds=[0, 2]).tolist() == [1, 2, 9, 10]
    assert select(model, "body", worlds="world_1").tolist() == [3, 4, 5]
    assert select(model, "shape", worlds=-1).tolist() == [0]
    assert select(model, "shape", "*", worlds=[-1, "world_0"]).tolist() == [0, 1, 2, 3]
    assert select(model, "world", "world_[12]").tolist() == [1, 2]
    assert select(model, "articulation").tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="body, joint"):
        select(model, "bodies")


def test_a_view_of_all_worlds():
    model = worlds()
    view = ArticulationView(model, "robot")
    assert (view.world_count, view.count_per_world, view.count, view.world_ids) == (3, 1, 3, [0, 1, 2])
    assert (view.joint_count, view.joint_coord_count, view.joint_dof_count, view.link_count) == (3, 12, 10, 3)
    assert view.joint_names == ["root", "hip_left", "hip_right"] and view.link_names == view.body_names == [
        "trunk",
        "left",
        "right",
    ]
    assert view.is_floating_base
    q = np.arange(model.joint_coord_count, dtype=float)
    state = state_at(model, q, np.arange(model.joint_dof_count))
    # 13 coordinates and 11 velocities per world: the brace has one and is not in the view
    np.testing.assert_array_equal(view.get_dof_positions(state).numpy(), np.array([q[0:12], q[13:25], q[26:38]])[:, None])
    np.testing.assert_array_equal(view.get_dof_velocities(state).numpy()[:, 0, 0], [0, 11, 22])
    assert view.get_link_transforms(state).shape == (3, 1, 3) and view.get_link_velocities(state).dtype == wp.spatial_vector
    np.testing.assert_allclose(view.get_link_transforms(state).numpy()[:, 0, 1], model.body_q.numpy()[1::3])


def test_writing_through_a_view():
    model = worlds()
    view = ArticulationView(model, "robot")
    state, control = model.state(), model.control()
    before = state.joint_q.numpy()
    values = np.arange(36.0).reshape(3, 1, 12)
    view.set_dof_positions(state, values)
    found = state.joint_q.numpy()
    np.testing.assert_array_equal(found.reshape(3, 13)[:, :12], values[:, 0])
    np.testing.assert_array_equal(found[12::13], before[12::13])
    for mask, rows in (
        ([True, False, True], [0, 2]),
        ([[False], [True], [False]], [1]),
        (wp.array([False] * 3, dtype=wp.bool, device="cpu"), []),
    ):
        view.set_dof_velocities(state, np.zeros((3, 1, 10)))
        view.set_dof_velocities(state, wp.full((3, 1, 10), 5.0, dtype=wp.float32, device="cpu"), mask)
        assert np.flatnonzero(state.joint_qd.numpy().reshape(3, 11)[:, 0]).tolist() == rows
    view.set_dof_forces(control, 2.0)
    np.testing.assert_array_equal(view.get_dof_forces(control).numpy(), np.full((3, 1, 10), 2.0))
    assert control.joint_f.numpy()[10] == 0
    for wrong in (np.zeros((3, 1, 11)), wp.zeros((3, 1, 11), dtype=wp.float32, device="cpu")):
        with pytest.raises(ValueError):
            view.set_dof_velocities(state, wrong)
    with pytest.raises(ValueError, match=r"mask of shape \(3,\) or \(3, 1\)"):
        view.set_dof_velocities(state, 0.0, [True])


def test_filters_of_joints_and_links():
    model = worlds(2)
    view = ArticulationView(model, "robot", include_joints="hip_*", exclude_joints=["*_right"], exclude_links="trunk")
    assert view.joint_names == ["hip_left"] and view.link_names == ["left", "right"]
    view = ArticulationView(model, "robot", exclude_joint_types=[JointType.FREE])
    assert view.joint_names == ["hip_left", "hip_right"]
    q = np.arange(26.0)
    state = state_at(model, q, np.zeros(model.joint_dof_count))
    np.testing.assert_array_equal(view.get_dof_positions(state).numpy()[:, 0], [q[7:12], q[20:25]])
    view = ArticulationView(model, "robot", include_joint_types=[JointType.BALL], include_links=[0])
    assert view.joint_names == ["hip_right"] and view.link_names == ["trunk"]


def test_closed_loops_in_a_view():
    model = worlds(2)
    view = ArticulationView(model, "robot", include_loop_closing_joints=True)
    assert view.joint_names == ["root", "hip_left", "hip_right", "brace"] and view.joint_coord_count == 13
    state = state_at(model, np.arange(26.0), np.zeros(22))
    np.testing.assert_array_equal(view.get_dof_positions(state).numpy().reshape(-1), np.arange(26.0))
    only = ArticulationView(model, "robot", include_loop_closing_joints=True, include_joints="brace")
    only.set_dof_positions(state, 7.0)
    np.testing.assert_array_equal(state.joint_q.numpy()[12::13], [7, 7])


def test_several_articulations_per_world():
    b = ModelBuilder()
    inner = ModelBuilder()
    for name in ("red", "blue"):
        inner.add_builder(robot(), label_prefix=name)
    b.replicate(inner, 2)
    model = b.finalize(**AT)
    view = ArticulationView(model, "robot")
    assert (view.world_count, view.count_per_world, view.count) == (2, 2, 4)
    state = model.state()
    view.set_dof_velocities(state, 1.0, [[True, False], [False, True]])
    np.testing.assert_array_equal(view.get_dof_velocities(state).numpy()[:, :, 0], [[1, 0], [0, 1]])
    red = ArticulationView(model, "*red/robot")
    assert (red.world_count, red.count_per_world) == (2, 1)
    mask = view.get_model_articulation_mask([[False, True], [True, False]])
    assert mask.numpy().tolist() == [False, True, True, False]
    assert red.get_model_articulation_mask().numpy().tolist() == [True, False, True, False]


@pytest.mark.parametrize("base", ["free", "hinge"])
def test_roots_and_kinematics(base):
    model = worlds(2, base)
    view = ArticulationView(model, "robot")
    state = model.state()
    places = [[(5, 0, 0, 0, 0, 0, 1)], [(6, 0, 0, 0, 0, 0, 1)]]
    view.set_root_transforms(state, places, mask=[False, True])
    np.testing.assert_allclose(view.get_root_transforms(state).numpy()[1], places[1])
    assert view.get_root_transforms(state).numpy()[0, 0, 0] == pytest.approx(-1.0)
    view.eval_fk(state, mask=[False, True])
    np.testing.assert_allclose(state.body_q.numpy()[3, :3], (6, 0, 0))
    np.testing.assert_allclose(state.body_q.numpy()[0], model.body_q.numpy()[0])
    if base == "hinge":
        with pytest.raises(ValueError, match="root joint is not free"):
            view.get_root_velocities(state)
        return
    view.set_root_velocities(state, (1, 2, 3, 4, 5, 6))
    np.testing.assert_array_equal(view.get_root_velocities(state).numpy()[:, 0], [(1, 2, 3, 4, 5, 6)] * 2)
    np.testing.assert_array_equal(state.joint_qd.numpy()[11:17], (1, 2, 3, 4, 5, 6))


def test_any_array():
    model = worlds(2)
    view = ArticulationView(model, "robot")
    assert view.get_attribute("joint_axis", model).shape == (2, 1, 10) and view.get_attribute("joint_axis", model).dtype == wp.vec3
    assert view.get_attribute("joint_dof_dim", model).numpy().tolist() == [[[[3, 3], [0, 1], [0, 3]]]] * 2
    assert view.get_attribute("joint_enabled", model).numpy().tolist() == [[[True] * 3]] * 2
    view.set_attribute("joint_enabled", model, False, [False, True])
    assert model.joint_enabled.numpy().tolist() == [True] * 4 + [False] * 3 + [True]
    view.set_attribute("my.score", model, np.arange(20.0).reshape(2, 1, 10))
    assert model.my.score.numpy()[11:21].tolist() == list(range(10, 20))
    view.set_attribute("my:tag", model, [[[3.0]], [[4.0]]])
    assert model.my.tag.numpy().tolist() == [3, 4]
    view.set_attribute("shape_material_mu", model, 0.25)
    assert model.shape_material_mu.numpy().tolist() == [1.0] + [0.25] * 6
    state = model.state()
    view.set_attribute("body_f", state, (1, 0, 0, 0, 0, 0))
    np.testing.assert_array_equal(state.body_f.numpy()[:, 0], np.ones(6))
    for name, match in (("particle_q", "particle"), ("nothing", "no array"), ("joint_label", "not an array")):
        with pytest.raises(AttributeError, match=match):
            view.get_attribute(name, model)


def test_views_that_make_no_sense():
    model = worlds()
    with pytest.raises(ValueError, match=r"'cat' matches none of 3 articulations, such as \['world_0/robot'"):
        ArticulationView(model, "cat")
    b = ModelBuilder()
    b.replicate(robot(), 2)
    b.add_world(robot("hinge"), label_prefix="odd")
    other = b.finalize(**AT)
    with pytest.raises(ValueError, match=r"'odd/robot' \(index 2\) has other joints"):
        ArticulationView(other, "robot")
    assert ArticulationView(other, "world_*/robot").world_ids == [0, 1]
    b = ModelBuilder()
    b.add_world(robot())
    inner = robot()
    inner.add_builder(robot(), label_prefix="second")
    b.add_world(inner)
    with pytest.raises(ValueError, match=r"different numbers of matches: \{0: 1, 1: 2\}"):
        ArticulationView(b.finalize(**AT), "robot")


def test_a_model_without_worlds():
    model = robot().finalize(**AT)
    view = ArticulationView(model, "robot", verbose=False)
    assert (view.world_count, view.world_ids) == (1, [-1])
    hooke.eval_fk(model, model.joint_q, model.joint_qd, model)
    view.eval_fk(model)
    assert view.get_dof_positions(model).shape == (1, 1, 12)

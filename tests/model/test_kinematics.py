"""Forward and inverse kinematics, Jacobians and mimics: the documented conventions, and round trips through every kind of joint."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import BodyFlags, ModelBuilder, check_joint_poses, eval_fk, eval_ik, eval_jacobian, eval_mimic, measure_joint_error
from tests.joints.poses import compose, exponential, inverse_pose, logarithm, quat_multiply, quat_rotate
from tests.model.mechanisms import ADDERS, Dof, link, pose, random_coordinates, random_pose, random_tree, state_at

AT = {"device": "cpu"}


def forward(model, q, qd=None):
    state = state_at(model, q, np.zeros(model.joint_dof_count) if qd is None else qd)
    eval_fk(model, state.joint_q, state.joint_qd, state)
    return state


def inverse(model, state):
    q, qd = (wp.zeros(n, dtype=wp.float32, device="cpu") for n in (model.joint_coord_count, model.joint_dof_count))
    eval_ik(model, state, q, qd)
    return q.numpy(), qd.numpy()


# ---- conventions, with their numbers


def test_the_documented_hinge():
    """Anchor (0, 0, 1), child anchor (0.5, 0, 0), q = 0.3 about Z: the body is at (-0.4777, -0.1478, 1)."""
    b = ModelBuilder()
    child = link(b)
    joint = b.add_joint_revolute(-1, child, axis="z", parent_xform=pose((0, 0, 1)), child_xform=pose((0.5, 0, 0)))
    b.add_articulation([joint])
    state = forward(b.finalize(**AT), [0.3])
    np.testing.assert_allclose(state.body_q.numpy()[0][:3], (-0.4777, -0.1478, 1), atol=5e-5)
    np.testing.assert_allclose(state.body_q.numpy()[0][3:], exponential([0, 0, 0.3]), atol=1e-6)


def test_a_positive_angle_turns_the_child_about_the_axis_of_the_parent_anchor():
    b = ModelBuilder()
    child = link(b)
    quarter = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))  # about x: z of the anchor is -y of the world
    b.add_articulation([b.add_joint_revolute(-1, child, axis="z", parent_xform=pose((0, 0, 0), quarter))])
    state = forward(b.finalize(**AT), [0.5], [2.0])
    np.testing.assert_allclose(state.body_qd.numpy()[0], (0, 0, 0, 0, -2, 0), atol=1e-6)


def test_d6_has_linear_coordinates_first_and_turns_in_the_listed_order():
    b = ModelBuilder()
    child = link(b)
    axes = {"linear_axes": [Dof(axis="z"), Dof(axis="x")], "angular_axes": [Dof(axis="y"), Dof(axis="z"), Dof(axis="x")]}
    b.add_articulation([b.add_joint_d6(-1, child, **axes)])
    assert b.joint_dof_dim[0] == (2, 3)
    q = [0.1, 0.2, 0.3, 0.4, 0.5]
    found = forward(b.finalize(**AT), q).body_q.numpy()[0]
    np.testing.assert_allclose(found[:3], (0.2, 0.0, 0.1), atol=1e-6)
    turn = quat_multiply(quat_multiply(exponential([0, 0.3, 0]), exponential([0, 0, 0.4])), exponential([0.5, 0, 0]))
    np.testing.assert_allclose(found[3:], turn, atol=1e-6)


def test_velocity_of_a_body_is_that_of_its_centre_of_mass():
    b = ModelBuilder()
    child = link(b, com=(1.0, 0.0, 0.0))
    b.add_articulation([b.add_joint_revolute(-1, child, axis="z")])
    np.testing.assert_allclose(forward(b.finalize(**AT), [0.0], [3.0]).body_qd.numpy()[0], (0, 3, 0, 0, 0, 3), atol=1e-6)


def test_velocity_of_a_free_joint_is_body_qd_in_the_parents_axes():
    """Linear: of the centre of mass, whatever the anchors; in the axes of the parent anchor."""
    b = ModelBuilder()
    rng = np.random.default_rng(1)
    child = link(b, rng)
    anchor = random_pose(rng)
    b.add_articulation([b.add_joint_free(child, parent_xform=anchor, child_xform=random_pose(rng))])
    model = b.finalize(**AT)
    qd = rng.normal(size=6)
    found = forward(model, model.joint_q.numpy(), qd).body_qd.numpy()[0]
    turn = np.array(anchor)[3:]
    np.testing.assert_allclose(found, [*quat_rotate(turn, qd[:3]), *quat_rotate(turn, qd[3:])], atol=1e-5)


@pytest.mark.parametrize("kind", ["free", "distance", "rod"])
def test_coordinates_of_free_joints_begin_where_the_bodies_are(kind):
    b = ModelBuilder()
    rng = np.random.default_rng(2)
    parent, child = link(b, rng), link(b, rng)
    joints = [b.add_joint_free(parent), ADDERS[kind](b, parent, child, parent_xform=random_pose(rng), child_xform=random_pose(rng))]
    b.add_articulation(joints)
    model = b.finalize(**AT)
    authored = model.body_q.numpy()
    np.testing.assert_allclose(forward(model, model.joint_q.numpy()).body_q.numpy(), authored, atol=2e-6)
    check_joint_poses(model)


def test_finalize_runs_no_kinematics():
    b = ModelBuilder()
    child = link(b, xform=pose((1, 2, 3)))
    b.add_articulation([b.add_joint_revolute(-1, child)])
    b.joint_q[0] = 0.5
    model = b.finalize(**AT)
    np.testing.assert_allclose(model.body_q.numpy()[0], (1, 2, 3, 0, 0, 0, 1))
    assert model.state().joint_q.numpy()[0] == 0.5


# ---- every kind


def reference(model, q, qd):
    """Poses by composing transforms, twists by differences of poses a moment later and before; float64."""
    poses = [_compose_all(model, advance(model, q, qd, dt)) for dt in (0.0, 1e-5, -1e-5)]
    com = model.body_com.numpy().astype(float)
    centre = [p[:, :3] + quat_rotate(p[:, 3:], com) for p in poses]
    v = (centre[1] - centre[2]) / 2e-5
    turns = quat_multiply(poses[1][:, 3:], poses[2][:, 3:] * [-1, -1, -1, 1])
    return poses[0], np.column_stack([v, [logarithm(r) / 2e-5 for r in turns]])


def advance(model, q, qd, dt):
    """Coordinates a time dt later. A free joint's linear velocity is that of the child's centre of mass in the parent's axes."""
    q = np.array(q, float)
    coordinates, velocities, dims = model.joint_q_start.numpy(), model.joint_qd_start.numpy(), model.joint_dof_dim.numpy()
    com, X_c = model.body_com.numpy().astype(float), model.joint_X_c.numpy().astype(float)
    for j, child in enumerate(model.joint_child.numpy()):
        i, k, n = coordinates[j], velocities[j], velocities[j + 1] - velocities[j]
        if coordinates[j + 1] - i == n:
            q[i : i + n] += dt * qd[k : k + n]
            continue
        omega = qd[k + n - 3 : k + n]
        turned = quat_multiply(exponential(dt * omega), q[i + n - 3 : i + n + 1])
        if dims[j, 0] == 3:
            arm = quat_rotate(X_c[j, 3:] * [-1, -1, -1, 1], com[child] - X_c[j, :3])  # from the child anchor to the centre of mass
            centre = q[i : i + 3] + quat_rotate(q[i + 3 : i + 7], arm) + dt * qd[k : k + 3]
            q[i : i + 3] = centre - quat_rotate(turned, arm)
        q[i + n - 3 : i + n + 1] = turned
    return q


def _compose_all(model, q):
    poses = np.zeros((model.body_count, 7))
    coordinates, velocities, dims = model.joint_q_start.numpy(), model.joint_qd_start.numpy(), model.joint_dof_dim.numpy()
    axis, frames = model.joint_axis.numpy().astype(float), [a.numpy().astype(float) for a in (model.joint_X_p, model.joint_X_c)]
    frames = [np.column_stack([f[:, :3], f[:, 3:] / np.linalg.norm(f[:, 3:], axis=1, keepdims=True)]) for f in frames]
    for j in range(model.joint_count):
        parent, child = model.joint_parent.numpy()[j], model.joint_child.numpy()[j]
        i, k, (linear, angular) = coordinates[j], velocities[j], dims[j]
        if coordinates[j + 1] - i == linear + angular:
            p = sum((q[i + n] * axis[k + n] for n in range(linear)), np.zeros(3))
            r = np.array([0, 0, 0, 1.0])
            for n in range(linear, linear + angular):
                r = quat_multiply(r, exponential(q[i + n] * axis[k + n]))
        else:
            p, r = (q[i : i + 3] if linear else np.zeros(3)), q[coordinates[j + 1] - 4 : coordinates[j + 1]]
        base = frames[0][j] if parent < 0 else compose(poses[parent], frames[0][j])
        poses[child] = compose(compose(base, np.concatenate([p, r])), inverse_pose(frames[1][j]))
    return poses


@pytest.mark.parametrize("kind", [*ADDERS, "all of them"])
def test_forward_kinematics(kind):
    rng = np.random.default_rng(3)
    for _ in range(3):
        model = random_tree(rng, tuple(ADDERS) if kind == "all of them" else (kind, kind)).finalize(**AT)
        q, qd = random_coordinates(model, rng)
        poses, twists = reference(model, q, qd)
        state = forward(model, q, qd)
        found = state.body_q.numpy()
        found[:, 3:] *= np.sign((found[:, 3:] * poses[:, 3:]).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(found, poses, atol=2e-5)
        np.testing.assert_allclose(state.body_qd.numpy(), twists, atol=2e-4)


@pytest.mark.parametrize("kind", [*ADDERS, "all of them"])
def test_inverse_kinematics_gives_the_coordinates_back(kind):
    rng = np.random.default_rng(4)
    for _ in range(3):
        model = random_tree(rng, tuple(ADDERS) if kind == "all of them" else (kind, kind)).finalize(**AT)
        q, qd = random_coordinates(model, rng, 0.7)
        found_q, found_qd = inverse(model, forward(model, q, qd))
        for first, last in zip(model.joint_q_start.numpy()[:-1], model.joint_q_start.numpy()[1:]):
            same = np.abs(found_q[first:last] - q[first:last]).max(initial=0.0)
            if last - first in (4, 7):  # q and -q are one rotation
                flipped = np.concatenate([q[first : last - 4], -q[last - 4 : last]])
                same = min(same, np.abs(found_q[first:last] - flipped).max())
            assert same < 3e-5
        np.testing.assert_allclose(found_qd, qd, atol=3e-4)


def test_jacobian_maps_joint_velocities_to_body_twists():
    rng = np.random.default_rng(5)
    b = random_tree(rng, builder=random_tree(rng, ("revolute", "ball", "planar")))  # two articulations of different size
    model = b.finalize(**AT)
    q, qd = random_coordinates(model, rng)
    state = forward(model, q, qd)
    state.joint_q.zero_()  # it follows from the poses alone
    jacobian = eval_jacobian(model, state)
    assert jacobian.shape == (2, 6 * model.max_joints_per_articulation, model.max_dofs_per_articulation)
    twists, first = state.body_qd.numpy(), 0
    for a, n in enumerate((4, len(ADDERS) + 1)):
        dofs = model.joint_qd_start.numpy()[model.articulation_start.numpy()[[a, a + 1]]]
        block = jacobian.numpy()[a, : 6 * n, : dofs[1] - dofs[0]]
        np.testing.assert_allclose((block @ qd[dofs[0] : dofs[1]]).reshape(-1, 6), twists[first : first + n], atol=1e-4)
        assert not jacobian.numpy()[a, 6 * n :].any() and not jacobian.numpy()[a, :, dofs[1] - dofs[0] :].any()
        first += n
    again = wp.full(jacobian.shape, 7.0, dtype=wp.float32, device="cpu")
    assert eval_jacobian(model, state, again, mask=wp.array([False, True], dtype=wp.bool, device="cpu")) is again
    np.testing.assert_array_equal(again.numpy()[0], 7.0)
    np.testing.assert_array_equal(again.numpy()[1], jacobian.numpy()[1])
    with pytest.raises(ValueError, match="shape"):
        eval_jacobian(model, state, wp.zeros((1, 6, 6), dtype=wp.float32, device="cpu"))
    assert eval_jacobian(ModelBuilder().finalize(**AT), ModelBuilder().finalize(**AT).state()) is None


def test_joints_may_be_listed_before_those_that_move_their_parent():
    b = ModelBuilder()
    bodies = [link(b) for _ in range(3)]
    last = b.add_joint_revolute(bodies[1], bodies[2], axis="z", parent_xform=pose((1, 0, 0)))
    middle = b.add_joint_revolute(bodies[0], bodies[1], axis="z", parent_xform=pose((1, 0, 0)))
    root = b.add_joint_revolute(-1, bodies[0], axis="z")
    b.add_articulation([last, middle, root])
    model = b.finalize(**AT)
    assert model.joint_order.numpy().tolist() == [2, 1, 0] and model.joint_ancestor.numpy().tolist() == [1, 2, -1]
    found = forward(model, [0.0, np.pi / 2, np.pi / 2]).body_q.numpy()
    np.testing.assert_allclose(found[:, :3], [(0, 0, 0), (0, 1, 0), (-1, 1, 0)], atol=1e-6)


def test_a_cable_leaves_its_child_where_it_is():
    b = ModelBuilder()
    bodies = [link(b, xform=pose((x, 0, 0))) for x in (0.0, 1.0, 2.0)]
    joints = [
        b.add_joint_revolute(-1, bodies[0]),
        b.add_joint_cable(bodies[0], bodies[1]),
        b.add_joint_revolute(bodies[1], bodies[2], axis="z", parent_xform=pose((1, 0, 0))),
    ]
    b.add_articulation(joints)
    model = b.finalize(**AT)
    state = forward(model, [0.3, 9.0, 9.0, np.pi / 2], [1.0, 9.0, 9.0, 2.0])
    np.testing.assert_allclose(state.body_q.numpy()[1], (1, 0, 0, 0, 0, 0, 1))
    np.testing.assert_allclose(state.body_q.numpy()[2], (2, 0, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)), atol=1e-6)
    q = wp.full(4, 5.0, dtype=wp.float32, device="cpu")
    eval_ik(model, state, q, wp.zeros(4, dtype=wp.float32, device="cpu"))
    np.testing.assert_allclose(q.numpy(), (0.3, 5.0, 5.0, np.pi / 2), atol=1e-6)
    jacobian = eval_jacobian(model, state).numpy()[0]
    assert jacobian[:6].any() and not jacobian[6:12].any() and not jacobian[12:, :3].any() and jacobian[12:, 3].any()


def test_angles_near_gimbal_lock_are_precise():
    b = ModelBuilder()
    b.add_articulation([b.add_joint_d6(-1, link(b), angular_axes=[Dof(axis="x"), Dof(axis="y"), Dof(axis="z")])])
    model = b.finalize(**AT)
    for away in (0.1, 0.01, 1e-3):
        q = [0.3, np.pi / 2 - away, -0.2]
        np.testing.assert_allclose(inverse(model, forward(model, q))[0], q, atol=1e-6 / away)
        assert inverse(model, forward(model, q))[0][1] == pytest.approx(q[1], abs=2e-6)


# ---- which joints a call concerns


def three_chains():
    """Three worlds with a chain of two hinges; the second body of each is kinematic in none."""
    inner = ModelBuilder()
    bodies = [link(inner), link(inner)]
    joints = [
        inner.add_joint_revolute(-1, bodies[0], axis="z"),
        inner.add_joint_revolute(bodies[0], bodies[1], axis="z", parent_xform=pose((1, 0, 0))),
    ]
    inner.add_articulation(joints)
    b = ModelBuilder()
    b.replicate(inner, 3, (0, 10, 0))
    return b


def written(model, **selection):
    """Bodies that a call writes."""
    state = state_at(model, np.full(model.joint_coord_count, 0.5), np.zeros(model.joint_dof_count))
    before = np.full_like(state.body_q.numpy(), 7.0)
    state.body_q.assign(before)
    eval_fk(model, state.joint_q, state.joint_qd, state, **selection)
    return np.flatnonzero((state.body_q.numpy() != before).any(axis=1)).tolist()


def test_masks_and_indices_of_articulations():
    model = three_chains().finalize(**AT)
    mask = wp.array([False, True, False], dtype=wp.bool, device="cpu")
    assert written(model) == [0, 1, 2, 3, 4, 5]
    assert written(model, mask=mask) == [2, 3]
    for _ in range(3):  # launched, recorded, replayed
        for indices, bodies in (([2, 0], [0, 1, 4, 5]), ([1, 5, -1], [2, 3]), ([], [])):
            assert written(model, indices=wp.array(indices, dtype=wp.int32, device="cpu")) == bodies
    with pytest.raises(ValueError, match="mask or indices"):
        written(model, mask=mask, indices=wp.array([0], dtype=wp.int32, device="cpu"))
    with pytest.raises(ValueError, match="mask of length 3"):
        written(model, mask=wp.array([True], dtype=wp.bool, device="cpu"))
    with pytest.raises(ValueError, match="mask as an array of bool"):
        written(model, mask=wp.array([1, 1, 1], dtype=wp.int32, device="cpu"))


def test_masks_of_joints_and_flags_of_bodies():
    b = three_chains()
    b.body_flags[0] = int(BodyFlags.KINEMATIC)
    model = b.finalize(**AT)
    second = wp.array([False, True] * 3, dtype=wp.bool, device="cpu")
    assert written(model, joint_mask=second) == [1, 3, 5]
    assert written(model, body_flag_filter=BodyFlags.KINEMATIC) == [0]
    assert written(model, body_flag_filter=BodyFlags.DYNAMIC) == [1, 2, 3, 4, 5]
    assert written(
        model, body_flag_filter=BodyFlags.DYNAMIC, joint_mask=second, indices=wp.array([1], dtype=wp.int32, device="cpu")
    ) == [3]
    with pytest.raises(ValueError, match="joint_mask of length 6"):
        written(model, joint_mask=wp.array([True], dtype=wp.bool, device="cpu"))


def test_a_joint_starts_from_its_parent_as_it_is():
    model = three_chains().finalize(**AT)
    state = state_at(model, np.zeros(6), np.zeros(6))
    eval_fk(model, state.joint_q, state.joint_qd, state)
    moved = state.body_q.numpy()
    moved[0] = (5, 6, 7, 0, 0, 0, 1)
    state.body_q.assign(moved)
    eval_fk(
        model, state.joint_q, state.joint_qd, state, joint_mask=wp.array([False, True] + [False] * 4, dtype=wp.bool, device="cpu")
    )
    np.testing.assert_allclose(state.body_q.numpy()[:2, :3], [(5, 6, 7), (6, 6, 7)])


def four_bar(b):
    """A parallelogram of unit links: three hinges of a chain, and one that closes it."""
    bodies = [link(b, xform=pose((0, 0, 0))), link(b, xform=pose((0, 1, 0))), link(b, xform=pose((1, 1, 0)))]
    hinge = {"axis": "z"}
    joints = [
        b.add_joint_revolute(-1, bodies[0], **hinge),
        b.add_joint_revolute(bodies[0], bodies[1], parent_xform=pose((0, 1, 0)), **hinge),
        b.add_joint_revolute(bodies[1], bodies[2], parent_xform=pose((1, 0, 0)), **hinge),
    ]
    b.add_articulation(joints)
    b.add_joint_revolute(-1, bodies[2], parent_xform=pose((1, 0, 0)), child_xform=pose((0, -1, 0)), label="closing", **hinge)
    return b


def test_loops_between_articulations():
    inner = four_bar(ModelBuilder())
    b = ModelBuilder()
    b.replicate(inner, 2, (5, 0, 0))
    model = b.finalize(**AT)
    assert model.articulation_start.numpy().tolist() == [0, 4, 8] and model.articulation_end.numpy().tolist() == [3, 7]
    assert model.joint_articulation.numpy().tolist() == [0, 0, 0, -1, 1, 1, 1, -1]
    t = 0.4
    state = forward(model, [t, -t, t, 99.0] * 2, [1, -1, 1, 99.0] * 2)
    found_q, found_qd = inverse(model, state)
    np.testing.assert_allclose(found_q, [t, -t, t, t] * 2, atol=1e-6)  # the joint that closes the loop too
    np.testing.assert_allclose(found_qd, [1, -1, 1, 1] * 2, atol=1e-5)
    q, qd = (wp.full(8, 9.0, dtype=wp.float32, device="cpu") for _ in range(2))
    eval_ik(model, state, q, qd, indices=wp.array([1], dtype=wp.int32, device="cpu"))
    np.testing.assert_allclose(q.numpy(), [9, 9, 9, 9, t, -t, t, 9], atol=1e-6)


def test_arrays_of_another_length_are_refused():
    model = three_chains().finalize(**AT)
    state = model.state()
    short = wp.zeros(3, dtype=wp.float32, device="cpu")
    with pytest.raises(ValueError, match="joint_q of length 6"):
        eval_fk(model, short, state.joint_qd, state)
    with pytest.raises(ValueError, match="joint_qd of length 6"):
        eval_ik(model, state, state.joint_q, short)
    with pytest.raises(ValueError, match=r"eval_fk: expected state\.body_q"):
        eval_fk(model, state.joint_q, state.joint_qd, hooke.State())


def test_the_model_can_be_written():
    model = three_chains().finalize(**AT)
    model.joint_q.assign(np.full(6, 0.5, np.float32))
    eval_fk(model, model.joint_q, model.joint_qd, model)
    assert measure_joint_error(model).angular.max() < 1e-6
    np.testing.assert_allclose(model.body_q.numpy()[::2, 3:], [exponential([0, 0, 0.5])] * 3, atol=1e-6)


def test_workers_change_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    inner = random_tree(rng)
    b = ModelBuilder()
    b.replicate(inner, 20)
    model = b.finalize(**AT)
    q, qd = random_coordinates(model, rng)
    found = []
    for workers in (1, 2, 4):
        monkeypatch.setattr(hooke.config, "workers", workers)
        state = state_at(model, q, qd)
        for _ in range(4):
            eval_fk(model, state.joint_q, state.joint_qd, state)
        found.append((state.body_q.numpy(), state.body_qd.numpy()))
    for poses, twists in found[1:]:
        np.testing.assert_array_equal(poses, found[0][0])
        np.testing.assert_array_equal(twists, found[0][1])


def test_rebound_arrays_are_seen():
    model = three_chains().finalize(**AT)
    state = state_at(model, np.zeros(6), np.zeros(6))
    for x in (1.0, 2.0, 3.0, 4.0):
        anchors = model.joint_X_p.numpy()
        anchors[1::2, 0] = x
        model.joint_X_p = wp.array(anchors, dtype=wp.transform, device="cpu")
        eval_fk(model, state.joint_q, state.joint_qd, state)
        np.testing.assert_allclose(state.body_q.numpy()[1::2, 0], x)


def test_calls_can_be_captured():
    model = three_chains().finalize(**AT)
    state, q, qd = model.state(), wp.zeros(6, dtype=wp.float32, device="cpu"), wp.zeros(6, dtype=wp.float32, device="cpu")
    indices = wp.array([0, 2], dtype=wp.int32, device="cpu")
    eval_fk(model, state.joint_q, state.joint_qd, state, indices=indices)  # loads what is needed
    with wp.ScopedCapture(device="cpu") as capture:
        eval_fk(model, state.joint_q, state.joint_qd, state, indices=indices)
        eval_ik(model, state, q, qd, indices=indices)
        jacobian = eval_jacobian(model, state)
    for angle in (0.25, 0.5):
        state.joint_q.assign(np.full(6, angle, np.float32))
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(q.numpy(), [angle, angle, 0, 0, angle, angle], atol=1e-6)
        np.testing.assert_allclose(jacobian.numpy()[0, 6:8, 0], (-np.sin(angle), np.cos(angle)), atol=1e-6)


# ---- mimics, consistency, another engine


def test_mimics():
    b = ModelBuilder()
    bodies = [link(b) for _ in range(4)]
    planar = {"linear_axes": [Dof(axis="x")], "angular_axes": [Dof(axis="z")]}
    joints = [b.add_joint_revolute(-1, bodies[0]), b.add_joint_revolute(bodies[0], bodies[1])]
    joints += [b.add_joint_d6(bodies[1], bodies[2], **planar), b.add_joint_d6(bodies[2], bodies[3], **planar)]
    b.add_articulation(joints)
    b.set_joint_mimic(joints[1], joints[0], coeffs=(0.5, -2.0))
    b.set_joint_mimic(joints[2], joints[3], coeffs=(1.0, 3.0))
    model = b.finalize(**AT)
    q, qd = np.arange(1.0, 7.0), np.arange(10.0, 16.0)
    state, out = state_at(model, q, qd), model.state()
    eval_mimic(model, state, out)
    np.testing.assert_allclose(out.joint_q.numpy(), [1, 0.5 - 2, 1 + 3 * 5, 1 + 3 * 6, 5, 6])
    np.testing.assert_allclose(out.joint_qd.numpy(), [10, -20, 42, 45, 14, 15])
    np.testing.assert_allclose(state.joint_q.numpy(), q)
    eval_mimic(model, state, mask=wp.array([False], dtype=wp.bool, device="cpu"))
    np.testing.assert_allclose(state.joint_q.numpy(), q)
    eval_mimic(model, state, indices=wp.array([0], dtype=wp.int32, device="cpu"))
    np.testing.assert_allclose(state.joint_q.numpy(), out.joint_q.numpy())


def test_mimic_constraints():
    for enabled in (True, False):
        b = ModelBuilder()
        joints = [b.add_joint_revolute(-1, link(b)) for _ in range(2)]
        b.add_constraint_mimic(joints[1], joints[0], 1.0, 2.0, enabled=enabled)
        model = b.finalize(**AT)
        state = state_at(model, [3.0, 4.0], [5.0, 6.0])
        eval_mimic(model, state)
        np.testing.assert_allclose(state.joint_q.numpy(), [3, 7 if enabled else 4])
        np.testing.assert_allclose(state.joint_qd.numpy(), [5, 10 if enabled else 6])


def test_bodies_that_do_not_fit_their_joints_are_named():
    b = ModelBuilder()
    thigh, shin = link(b, label="thigh", xform=pose((0, 0, 1))), link(b, label="shin", xform=pose((0.1, 0, 1)))
    b.add_articulation(
        [b.add_joint_fixed(-1, thigh, parent_xform=pose((0, 0, 1))), b.add_joint_revolute(thigh, shin, axis="z", label="knee")]
    )
    model = b.finalize(**AT)
    with pytest.raises(
        ValueError,
        match=r"1 joints.*joint 'knee' \(index 1, from body 'thigh' \(index 0\) to body 'shin' \(index 1\)\).*0\.1 m.*eval_fk",
    ):
        check_joint_poses(model)
    check_joint_poses(model, tolerance=0.2)
    error = measure_joint_error(model)
    np.testing.assert_allclose(error.linear, [0, 0.1], atol=1e-6)
    eval_fk(model, model.joint_q, model.joint_qd, model)
    check_joint_poses(model)
    state = model.state()
    poses = state.body_q.numpy()
    poses[0, :3] = np.nan
    state.body_q.assign(poses)
    with pytest.raises(ValueError, match="nan"):
        check_joint_poses(model, state)


def test_against_mujoco():
    """Poses and velocities of a random tree of hinges, sliders and balls."""
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(7)
    b, spec = ModelBuilder(), mujoco.MjSpec()
    bodies, parents, kinds = [], [spec.worldbody], []
    for k in range(12):
        kind = ("revolute", "prismatic", "ball")[k % 3]
        at = int(rng.integers(k)) if k else -1
        frame, anchor, axis = np.array(random_pose(rng)), rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
        own = {"mass": 1.0, "inertia": [1, 1, 1], "ipos": [0, 0, 0], "iquat": [1, 0, 0, 0], "explicitinertial": True}
        body = parents[at + 1].add_body(pos=frame[:3], quat=frame[[6, 3, 4, 5]], **own)
        types = {
            "revolute": mujoco.mjtJoint.mjJNT_HINGE,
            "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
            "ball": mujoco.mjtJoint.mjJNT_BALL,
        }
        body.add_joint(type=types[kind], pos=anchor, axis=axis)
        parents.append(body)
        bodies.append(link(b))
        xforms = {"parent_xform": compose(frame, [*anchor, 0, 0, 0, 1]), "child_xform": [*anchor, 0, 0, 0, 1]}
        parent = bodies[at] if at >= 0 else -1
        adders = {"revolute": b.add_joint_revolute, "prismatic": b.add_joint_prismatic, "ball": b.add_joint_ball}
        adders[kind](parent, bodies[-1], **xforms, **({} if kind == "ball" else {"axis": axis}))
        kinds.append(kind)
    b.add_articulation(range(12))
    model, peer = b.finalize(**AT), spec.compile()
    data = mujoco.MjData(peer)
    q, qd = random_coordinates(model, rng)
    starts, velocities = model.joint_q_start.numpy(), model.joint_qd_start.numpy()
    for j, kind in enumerate(kinds):  # bodies of the compiled model are in another order
        mine = parents[j + 1].id - 1
        at, of = peer.jnt_qposadr[mine], peer.jnt_dofadr[mine]
        part = q[starts[j] : starts[j + 1]]
        data.qpos[at : at + len(part)] = part[[3, 0, 1, 2]] if kind == "ball" else part
        rates = qd[velocities[j] : velocities[j + 1]]
        # there, the velocity of a ball is in the child's axes
        data.qvel[of : of + len(rates)] = quat_rotate(part * [-1, -1, -1, 1], rates) if kind == "ball" else rates
    mujoco.mj_forward(peer, data)
    state = forward(model, q, qd)
    for j in range(12):
        mine = parents[j + 1].id
        np.testing.assert_allclose(state.body_q.numpy()[j][:3], data.xpos[mine], atol=2e-5)
        turn = data.xquat[mine][[1, 2, 3, 0]]
        found = state.body_q.numpy()[j][3:]
        assert min(np.abs(found - turn).max(), np.abs(found + turn).max()) < 1e-5
        twist = np.zeros(6)
        mujoco.mj_objectVelocity(peer, data, mujoco.mjtObj.mjOBJ_BODY, mine, twist, 0)
        np.testing.assert_allclose(state.body_qd.numpy()[j], [*twist[3:], *twist[:3]], atol=2e-4)

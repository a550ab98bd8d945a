"""Resets: to the initial state, of bases, of joints; worlds, masks and flags; what is refused."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.model.enums import StateFlags
from hooke.scenes.four_bar import four_bar
from hooke.solvers import SolverKamino
from tests.kamino.loops import DRIVE, errors, rotate, stewart
from tests.kamino.test_forward_kinematics import floats, go, poses, solver_of
from tests.support import finalize

HALF = (0.0, 0.0, np.sin(0.35), np.cos(0.35))


def walker_builder(base=True):
    """A trunk that floats, with a driven leg and a passive tail, beside a box that floats by itself."""
    b = hooke.ModelBuilder()
    kinds = {"mass": 1.0, "inertia": np.diag([0.1, 0.2, 0.3])}
    trunk = b.add_link(xform=(0, 0, 1, 0, 0, 0, 1), com=(0.1, 0, 0.02), **kinds)
    leg = b.add_link(xform=(0.5, 0, 1, 0, 0, 0, 1), **kinds)
    tail = b.add_link(xform=(-0.5, 0, 1, 0, 0, 0, 1), **kinds)
    box = b.add_link(xform=(3, 0, 1, 0, 0, 0, 1), **kinds)
    joints = [b.add_joint_free(trunk)] if base else []
    right, left = {"parent_xform": (0.3, 0, 0, 0, 0, 0, 1), "child_xform": (-0.2, 0, 0, 0, 0, 0, 1)}, {
        "parent_xform": (-0.3, 0, 0, 0, 0, 0, 1), "child_xform": (0.2, 0, 0, 0, 0, 0, 1)
    }  # fmt: skip
    joints.append(b.add_joint_revolute(trunk, leg, axis="Y", **right, **DRIVE))
    joints.append(b.add_joint_ball(trunk, tail, **left))
    b.add_articulation(joints)
    if base:
        b.add_articulation([b.add_joint_free(box)])
    return b


def walker(worlds=1, base=True):
    whole = walker_builder(base)
    if worlds > 1:
        part, whole = whole, hooke.ModelBuilder()
        for _ in range(worlds):
            whole.add_world(part)
    return finalize(whole)


def with_fk(model, **options):
    return SolverKamino(model, SolverKamino.Config(use_fk_solver=True, **options))


def transforms(rows):
    return wp.array(np.asarray(rows, np.float32).reshape(-1, 7), dtype=wp.transform, device="cpu")


def twists(rows):
    return wp.array(np.asarray(rows, np.float32).reshape(-1, 6), dtype=wp.spatial_vector, device="cpu")


def mask(values, dtype=wp.bool):
    return wp.array(np.asarray(values), dtype=dtype, device="cpu")


def test_a_base_takes_its_component_with_it():
    """As one rigid body from where it is; without the box, and without forward kinematics."""
    model = walker()
    solver, state = SolverKamino(model), model.state()
    moved = state.body_q.numpy().copy()
    moved[:, 1] += 0.25
    state.body_q.assign(moved)
    solver.reset(state, base_q=transforms([1, 2, 3, *HALF]), base_u=twists([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    after, old = state.body_q.numpy().astype(np.float64), moved.astype(np.float64)
    assert after[0] == pytest.approx([1, 2, 3, *HALF], abs=1e-6)
    for k in (1, 2):
        assert after[k, :3] == pytest.approx(after[0, :3] + rotate(after[0, 3:], old[k, :3] - old[0, :3]), abs=1e-6)
        assert after[k, 3:] == pytest.approx(HALF, abs=1e-6)
    assert np.array_equal(after[3], old[3])
    center = after[:, :3] + [rotate(q[3:], c) for q, c in zip(after, model.body_com.numpy(), strict=True)]
    v, w = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6])
    for k in range(3):
        assert state.body_qd.numpy()[k] == pytest.approx([*(v + np.cross(w, center[k] - center[0])), *w], abs=1e-6)
    assert state.joint_q.numpy()[:7] == pytest.approx([1, 2, 3, *HALF], abs=1e-6)
    assert state.joint_q.numpy()[7:] == pytest.approx(model.joint_q.numpy()[7:] + [0, 0, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, 0], abs=1e-6)
    assert state.joint_qd.numpy()[6:] == pytest.approx(0.0, abs=1e-6)
    solver.reset(state, base_u=twists([1, 0, 0, 0, 0, 0]))
    assert state.body_q.numpy()[:3] == pytest.approx(model.body_q.numpy()[:3], abs=1e-6)  # the pose that is missing is the model's


def test_coordinates_of_all_joints():
    """Those of free joints and of passive ones that no loop decides are taken as well; bodies rest."""
    model = walker()
    solver, state = with_fk(model), model.state()
    q = np.array([1, 2, 3, *HALF, 0.4, *HALF, 5, 6, 7, 0, 0, 0, 1], np.float32)
    qd = np.linspace(-1.0, 1.0, model.joint_dof_count).astype(np.float32)
    solver.reset(state, joint_q=floats(q))
    assert solver.forward_kinematics.status.converged.all() and not state.body_qd.numpy().any()
    assert state.joint_q.numpy() == pytest.approx(q, abs=1e-6)
    expected = model.state()
    expected.joint_q.assign(q)
    hooke.eval_fk(model, expected.joint_q, floats(qd), expected)
    assert state.body_q.numpy() == pytest.approx(expected.body_q.numpy(), abs=2e-6)
    solver.reset(state, joint_q=floats(q), joint_u=floats(qd))
    assert state.joint_qd.numpy() == pytest.approx(qd, abs=1e-5)
    assert state.body_qd.numpy() == pytest.approx(expected.body_qd.numpy(), abs=1e-5)
    solver.reset(state, joint_q=floats(q), base_q=transforms([0, 0, 9, 0, 0, 0, 1]))
    assert state.joint_q.numpy()[:8] == pytest.approx([0, 0, 9, 0, 0, 0, 1, 0.4], abs=1e-6)
    q[3:7] = 0.0  # no rotation: the base is the model's
    solver.reset(state, joint_q=floats(q))
    assert state.joint_q.numpy()[:8] == pytest.approx([0, 0, 1, 0, 0, 0, 1, 0.4], abs=1e-6)


def random_pose(rng):
    q = rng.normal(size=4)
    return (*rng.uniform(-0.3, 0.3, 3), *(q / np.linalg.norm(q)))


def test_joints_of_all_kinds():
    """A chain with random anchors and centres of mass, against the kinematics of trees."""
    rng, b = np.random.default_rng(5), hooke.ModelBuilder()
    Dof = hooke.ModelBuilder.JointDofConfig
    x, y, z = (Dof(axis=a) for a in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    kinds = [
        lambda p, c, **k: b.add_joint_revolute(p, c, axis=(1, 2, 2), **k), lambda p, c, **k: b.add_joint_prismatic(p, c, axis="Z", **k),
        lambda p, c, **k: b.add_joint_ball(p, c, **k), lambda p, c, **k: b.add_joint_fixed(p, c, **k),
        lambda p, c, **k: b.add_joint_d6(p, c, angular_axes=[x, y], **k),
        lambda p, c, **k: b.add_joint_d6(p, c, angular_axes=[x, y, z], **k),
        lambda p, c, **k: b.add_joint_d6(p, c, linear_axes=[x], angular_axes=[x], **k),
        lambda p, c, **k: b.add_joint_d6(p, c, linear_axes=[x, y, z], **k),
        lambda p, c, **k: b.add_joint_d6(p, c, angular_axes=[y, x, z], **k),
    ]  # fmt: skip
    above = b.add_link(mass=1.0, inertia=np.eye(3), com=(0.1, 0.2, -0.1))
    joints = [b.add_joint_free(above, parent_xform=random_pose(rng), child_xform=random_pose(rng))]
    for add in kinds:
        below = b.add_link(mass=1.0, inertia=np.eye(3), com=rng.uniform(-0.2, 0.2, 3))
        joints.append(add(above, below, parent_xform=random_pose(rng), child_xform=random_pose(rng)))
        above = below
    b.add_articulation(joints)
    model = finalize(b)
    solver, state, expected = with_fk(model), model.state(), model.state()
    for _ in range(5):
        q = rng.uniform(-1.2, 1.2, model.joint_coord_count)
        for j in (0, 3):
            i = model.joint_q_start.numpy()[j] + (3 if j == 0 else 0)
            q[i : i + 4] = random_pose(rng)[3:]
        qd = rng.uniform(-1.0, 1.0, model.joint_dof_count)
        solver.reset(state, joint_q=floats(q), joint_u=floats(qd))
        hooke.eval_fk(model, floats(q), floats(qd), expected)
        status = solver.forward_kinematics.status
        assert status.converged[0] and status.residual[0] < 1e-9
        got, want = state.body_q.numpy(), expected.body_q.numpy()
        want[:, 3:] *= np.sign((got[:, 3:] * want[:, 3:]).sum(axis=1))[:, None]
        assert got == pytest.approx(want, abs=3e-6)
        assert state.body_qd.numpy() == pytest.approx(expected.body_qd.numpy(), abs=2e-5)
        assert state.joint_q.numpy() == pytest.approx(q, abs=5e-6)
        assert state.joint_qd.numpy() == pytest.approx(qd, abs=5e-5)


def test_worlds_need_not_be_alike():
    """A four-bar, a Stewart platform and a floating walker in one model."""
    whole = hooke.ModelBuilder()
    for part in (four_bar().builder, stewart(), walker_builder()):
        whole.add_world(part)
    model = finalize(whole)
    solver, state = with_fk(model), model.state()
    q = [0.7, 0.02, -0.01, 0.03, 0.0, 0.01, 0.02, 0.4]
    solver.reset(state, actuator_q=floats(q))
    status = solver.forward_kinematics.status
    assert status.converged.tolist() == [True] * 3 and status.residual.max() < 1e-9
    first = model.joint_q_start.numpy()[np.flatnonzero(solver._structure.actuated)]
    assert state.joint_q.numpy()[first] == pytest.approx(q, abs=1e-6)


def test_coordinates_of_actuated_joints():
    model = walker()
    solver, state = with_fk(model), model.state()
    state.joint_q_prev = floats(model.joint_q.numpy())
    solver.reset(state, actuator_q=floats([7.0]), actuator_u=floats([0.5]), base_u=twists([0, 0, 0, 0, 0, 2.0]))
    q = model.joint_q.numpy()
    q[7] = 7.0 - 2 * np.pi  # angles are reported within two turns
    assert state.joint_q.numpy() == pytest.approx(q, abs=1e-5)
    assert state.joint_q_prev.numpy()[7] == pytest.approx(7.0, abs=1e-5)
    assert state.joint_qd.numpy()[:7] == pytest.approx([0, 0, 0, 0, 0, 2.0, 0.5], abs=1e-5)


def test_a_world_without_joints_to_the_ground_has_its_first_body_as_base():
    model = walker(base=False)
    solver, state = with_fk(model), model.state()
    solver.reset(state, actuator_q=floats([0.3]), base_q=transforms([1, 2, 3, *HALF]), base_u=twists([1, 0, 0, 0, 0, 0]))
    assert state.body_q.numpy()[0] == pytest.approx([1, 2, 3, *HALF], abs=1e-6)
    assert state.joint_q.numpy()[0] == pytest.approx(0.3, abs=1e-6)
    assert state.body_qd.numpy()[:3] == pytest.approx(np.tile([1.0, 0, 0, 0, 0, 0], (3, 1)), abs=1e-6)


@pytest.mark.parametrize("dtype", [wp.bool, wp.int8])
@pytest.mark.parametrize("extra", [0, 1])
def test_masks_leave_other_worlds_alone(extra, dtype):
    model = walker(worlds=3)
    solver, state = with_fk(model), model.state()
    noise = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)
    state.body_qd.assign(noise)
    before = {name: getattr(state, name).numpy().copy() for name in ("body_q", "body_qd", "joint_q", "joint_qd")}
    success = mask([False] * 3)
    for _ in range(3):  # as it is, recorded, replayed
        solver.reset(state, mask([0, 1, 0] + [1] * extra, dtype), actuator_q=floats([0.1, 0.2, 0.3]), success_mask=success)
    assert success.numpy().tolist() == [False, True, False]
    assert solver.forward_kinematics.status.iterations.tolist()[::2] == [0, 0]
    for name, old in before.items():
        new = getattr(state, name).numpy()
        n = len(old) // 3
        assert np.array_equal(new[:n], old[:n]) and np.array_equal(new[2 * n :], old[2 * n :])
    assert state.joint_q.numpy().reshape(3, -1)[:, 7] == pytest.approx([0.0, 0.2, 0.0], abs=1e-6)


def test_worlds_are_solved_alike_whoever_solves_them():
    model = walker(worlds=5)
    solver, state = with_fk(model), model.state()
    found = []
    for _ in range(4):
        solver.reset(state, actuator_q=floats([0.3] * 5))
        found.append(state.body_q.numpy().reshape(5, -1, 7)[:, :, 3:].copy())
    assert all(np.array_equal(rows, found[0][:1].repeat(5, axis=0)) for rows in found)


def test_flags_choose_what_is_written():
    model = walker()
    solver, state = with_fk(model), model.state()
    state.body_f.fill_(1.0)
    solver.reset(state, actuator_q=floats([0.3]), actuator_u=floats([1.0]), flags=StateFlags.JOINT_Q)
    assert state.joint_q.numpy()[7] == pytest.approx(0.3, abs=1e-6)
    assert np.array_equal(state.body_q.numpy(), model.body_q.numpy()) and not state.joint_qd.numpy().any()
    assert state.body_f.numpy().all()
    solver.reset(state, None, StateFlags.JOINT_Q)
    assert np.array_equal(state.joint_q.numpy(), model.joint_q.numpy()) and state.body_f.numpy().all()
    solver.reset(state, actuator_q=floats([0.3]))
    assert not state.body_f.numpy().any()


def test_where_it_begins():
    """Either at the model's poses or at those of the state."""
    for anew in (True, False):
        solver = solver_of("four_bar", reset_state=anew, use_incremental_solve=True)
        state = go(solver, [1.0])
        go(solver, [1.1], state=state)
        assert solver.forward_kinematics.status.increments.tolist() == [7 if anew else 1]
        assert errors(solver.model, *poses(solver))[0].max() < 1e-9


def test_steps_go_on_from_a_reset():
    """A drive at a coordinate beyond a turn holds it: the angle is kept without jumps."""
    b = hooke.ModelBuilder(gravity=0.0)
    wheel = b.add_link(mass=1.0, inertia=np.eye(3))
    b.add_articulation([b.add_joint_revolute(-1, wheel, axis="Y", target_ke=50.0, target_kd=5.0, target_q=8.0, actuator_mode=1)])
    model = finalize(b)
    solver, state, other, control = with_fk(model), model.state(), model.state(), model.control()
    solver.reset(state, actuator_q=floats([8.0]))
    for _ in range(10):
        solver.step(state, other, control, None, 0.01)
        state, other = other, state
    assert state.joint_qd.numpy()[0] == pytest.approx(0.0, abs=1e-4)


def test_followers_follow():
    b = hooke.ModelBuilder()
    inertia = {"mass": 1.0, "inertia": np.eye(3)}
    bodies = [b.add_link(**inertia) for _ in range(2)]
    lead = b.add_joint_revolute(-1, bodies[0], axis="Y", **DRIVE)
    after = b.add_joint_revolute(-1, bodies[1], axis="Y")
    b.add_articulation([lead, after])
    b.add_constraint_mimic(after, lead, coef0=0.1, coef1=-2.0)
    model = finalize(b)
    solver, state = with_fk(model), model.state()
    solver.reset(state, actuator_q=floats([0.3]), actuator_u=floats([0.5]))
    assert state.joint_q.numpy() == pytest.approx([0.3, -0.5], abs=1e-6)
    assert state.joint_qd.numpy() == pytest.approx([0.5, -1.0], abs=1e-6)


def test_reset_by_configuration():
    """The form of version 1.8: joints and bases as the state has them, or not."""
    model, kinds = walker(), SolverKamino.ResetConfig
    solver, state = with_fk(model), model.state()
    q = np.array([1, 2, 3, *HALF, 0.4, *HALF, 5, 6, 7, 0, 0, 0, 1], np.float32)
    qd = np.linspace(-1.0, 1.0, model.joint_dof_count).astype(np.float32)
    expected = model.state()
    hooke.eval_fk(model, floats(q), floats(qd), expected)

    def asked(**parts):
        state.assign(model.state())
        state.joint_q.assign(q)
        state.joint_qd.assign(qd)
        solver.reset(state, config=kinds(**parts))
        return state.joint_q.numpy().copy(), state.joint_qd.numpy().copy()

    state.joint_q.assign(q)
    state.joint_qd.assign(qd)
    success = mask([False])
    solver.reset(state, config=kinds.from_joints(), success_mask=success)
    assert success.numpy()[0]
    for name in ("body_q", "body_qd"):
        assert getattr(state, name).numpy() == pytest.approx(getattr(expected, name).numpy(), abs=1e-5)
    kept = {name: getattr(state, name).numpy().copy() for name in ("body_q", "body_qd", "joint_q", "joint_qd")}
    solver.reset(state, config=kinds.preserve())
    assert all(np.array_equal(getattr(state, name).numpy(), old) for name, old in kept.items())
    solver.reset(state, config=kinds.to_default())
    assert state.body_q.numpy() == pytest.approx(model.body_q.numpy(), abs=1e-6) and not state.body_qd.numpy().any()
    found, rates = asked(body_poses=kinds.FromJointQ())  # the base stays where the model has it
    assert found == pytest.approx([0, 0, 1, 0, 0, 0, 1, *q[7:]], abs=1e-6) and not rates.any()
    found, rates = asked(body_poses=kinds.FromActuatorQ(floats([0.7])), base_pose=kinds.FromJointQ())
    assert found[:8] == pytest.approx([*q[:7], 0.7], abs=1e-6) and not rates.any()
    base = transforms([4, 5, 6, *HALF])
    found, rates = asked(
        body_poses=kinds.Preserve(), base_pose=kinds.FromBaseQ(base), body_velocities=kinds.FromActuatorU(floats([2.0]))
    )
    assert found[:8] == pytest.approx([4, 5, 6, *HALF, 0.0], abs=1e-6)
    assert rates[:7] == pytest.approx([0, 0, 0, 0, 0, 0, 2.0], abs=1e-5)
    found, rates = asked(body_velocities=kinds.Preserve(), base_velocity=kinds.FromBaseU(twists([1, 2, 3, 4, 5, 6])))
    assert found == pytest.approx(model.joint_q.numpy(), abs=1e-6)
    assert rates[:10] == pytest.approx([1, 2, 3, 4, 5, 6, *qd[6:10]], abs=1e-5)
    found, rates = asked(base_velocity=kinds.FromJointU())
    assert rates[:7] == pytest.approx([*qd[:6], 0.0], abs=1e-5)
    with pytest.raises(TypeError, match="expected body_poses as one of ToDefault, Preserve, FromJointQ, FromActuatorQ, found 3"):
        kinds(body_poses=3)
    with pytest.raises(ValueError, match="either config or targets"):
        solver.reset(state, config=kinds(), actuator_q=floats([0.0]))
    with pytest.raises(TypeError, match="expected config as a ResetConfig"):
        solver.reset(state, config="preserve")
    plain = SolverKamino(model)
    with pytest.raises(RuntimeError, match="forward kinematics solver must be enabled"):
        plain.reset(state, config=kinds.from_joints())
    plain.reset(state, config=kinds(base_pose=kinds.FromBaseQ(base)))
    assert state.body_q.numpy()[0] == pytest.approx([4, 5, 6, *HALF], abs=1e-6)


def test_callbacks():
    model = walker()
    solver, calls = with_fk(model), []
    solver.set_pre_reset_callback(lambda *a: calls.append(a))
    solver.set_post_reset_callback(lambda *a: calls.append(a))
    state = model.state()
    solver.reset(state, actuator_q=floats([0.3]))
    assert calls == [(solver, state)] * 2


def test_contacts_and_impulses_are_forgotten():
    """A box at rest, reset to where it is, steps as it did the first time."""
    b = hooke.ModelBuilder()
    box = b.add_body(xform=(0, 0, 0.1, 0, 0, 0, 1))
    b.add_shape_box(box, hx=0.1, hy=0.1, hz=0.1)
    b.add_ground_plane()
    model = finalize(b)
    solver, state, other, contacts = SolverKamino(model), model.state(), model.state(), model.contacts()
    found = []
    for _ in range(2):
        solver.reset(state, base_q=transforms([0, 0, 0.1, 0, 0, 0, 1]), base_u=twists([0.5, 0, 0, 0, 0, 0]))
        model.collide(state, contacts)
        solver.step(state, other, None, contacts, 0.01)
        found.append(
            (other.body_qd.numpy().copy(), solver.status.worlds["iterations"][0], solver._problem.contacts._memory.last.numpy()[0])
        )
    assert np.array_equal(found[0][0], found[1][0]) and found[0][1:] == found[1][1:] and found[0][2] == 4
    solver.reset(state)
    memory = solver._problem.contacts._memory
    assert memory.last.numpy()[0] == memory.first.numpy()[0]


def test_in_a_graph_of_the_user():
    """Nothing reads the host: targets and masks are read when the graph is launched."""
    model = walker(worlds=2)
    solver, state = with_fk(model), model.state()
    q, chosen = floats([0.1, 0.1]), mask([True, True])
    solver.reset(state, chosen, actuator_q=q)
    with wp.ScopedCapture(device="cpu") as capture:
        solver.reset(state, chosen, actuator_q=q)
    q.assign(np.array([0.2, 0.3], np.float32))
    chosen.assign(np.array([False, True]))
    wp.capture_launch(capture.graph)
    assert state.joint_q.numpy().reshape(2, -1)[:, 7] == pytest.approx([0.1, 0.3], abs=1e-6)


REFUSED = {
    "mixed": (ValueError, "combined joint and actuator targets", {"actuator_q": floats([0]), "joint_q": floats([0] * 19)}),
    "velocities": (ValueError, "actuator_u without actuator_q", {"actuator_u": floats([0])}),
    "joint velocities": (ValueError, "joint_u without joint_q", {"joint_u": floats([0] * 16)}),
    "length": (ValueError, r"expected joint_q of shape \(19,\) on cpu, found \(3,\)", {"joint_q": floats([0] * 3)}),
    "actuators": (ValueError, r"expected actuator_q of shape \(1,\)", {"actuator_q": floats([0] * 3)}),
    "base": (ValueError, r"expected base_q of shape \(1,\)", {"base_q": transforms(np.ones((2, 7)))}),
    "type": (TypeError, "expected joint_q as a Warp array of float32, found list", {"joint_q": [0.0] * 19}),
    "dtype": (TypeError, "expected base_u as a Warp array", {"base_u": floats([0] * 6)}),
    "mask": (ValueError, "expected world_mask of length 1 or 2", {"world_mask": mask([True] * 5)}),
    "success": (TypeError, "expected success_mask as a Warp array of bool", {"success_mask": [True]}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(name):
    kind, message, given = REFUSED[name]
    model = walker()
    solver, state = with_fk(model), model.state()
    state.body_qd.fill_(1.0)
    with pytest.raises(kind, match=message):
        solver.reset(state, **given)
    assert (state.body_qd.numpy() == 1.0).all()


def test_targets_of_joints_need_forward_kinematics():
    model = walker()
    with pytest.raises(RuntimeError, match="forward kinematics solver must be enabled"):
        SolverKamino(model).reset(model.state(), actuator_q=floats([0.1]))
    assert SolverKamino(model).forward_kinematics is None


def test_worlds_without_a_base_say_so():
    solver = solver_of("four_bar")
    state = solver.model.state()
    with pytest.warns(UserWarning, match="1 worlds have no base"):
        solver.reset(state, base_q=transforms([0, 0, 1, 0, 0, 0, 1]))
    assert np.array_equal(state.body_q.numpy(), solver.model.body_q.numpy())

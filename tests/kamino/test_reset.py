"""Resets: to the initial state, of bases, of joints; worlds, masks and flags; what is refused."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.model.enums import StateFlags
from hooke.solvers import SolverKamino
from tests.kamino.loops import DRIVE, errors, rotate
from tests.kamino.test_forward_kinematics import floats, go, poses, solver_of
from tests.support import finalize

HALF = (0.0, 0.0, np.sin(0.35), np.cos(0.35))


def walker(worlds=1, base=True):
    """A trunk that floats, with a driven leg, a passive tail, and a loop of two bars beside a box that floats by itself."""
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
    whole = hooke.ModelBuilder()
    for _ in range(worlds):
        whole.add_world(b)
    return finalize(whole if worlds > 1 else b)


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


def test_callbacks():
    model = walker()
    solver, calls = with_fk(model), []
    solver.set_pre_reset_callback(lambda *a: calls.append(a))
    solver.set_post_reset_callback(lambda *a: calls.append(a))
    state = model.state()
    solver.reset(state, actuator_q=floats([0.3]))
    assert calls == [(solver, state)] * 2


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

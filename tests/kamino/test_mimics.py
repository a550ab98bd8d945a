"""Joints that follow others: gears, racks and grippers against their closed forms."""

import numpy as np
import pytest

import hooke
from hooke.model.energy import measure_momentum
from hooke.solvers import ConstrainedDynamicsConfig, SolverKamino
from tests.kamino.scenes import Run, X, Y, at, builder_of, finished, link, replicated

DT = 1e-3
I_LEADER, I_FOLLOWER = 0.5, 0.2


def gears(b=None, c0=0.0, c1=-2.0, constraint=False):
    """Two wheels on hinges to the world, the second of which follows the first."""
    b = builder_of(0.0) if b is None else b
    wheels = [b.add_link(xform=at(x, 0, 0), mass=1.0, inertia=np.diag([i] * 3)) for x, i in ((0.0, I_LEADER), (1.0, I_FOLLOWER))]
    hinges = [b.add_joint_revolute(-1, w, axis=Y, parent_xform=at(float(k), 0, 0)) for k, w in enumerate(wheels)]
    if constraint:
        b.add_constraint_mimic(hinges[1], hinges[0], c0, c1)
    else:
        b.set_joint_mimic(hinges[1], hinges[0], coeffs=(c0, c1))
    return b


def driven(builder, efforts, steps, config=None):
    run = Run(finished(builder), config)
    run.control.joint_f.assign(np.asarray(efforts, np.float32))
    return run.step(steps, DT)


@pytest.mark.parametrize("constraint", [False, True])
def test_gears_share_their_inertia(constraint):
    """(I_l + c1^2 I_f) a = t, for several turns."""
    c1, effort, steps = -2.0, 30.0, 1000
    run = driven(gears(c1=c1, constraint=constraint), [effort, 0.0], steps)
    rate = effort / (I_LEADER + c1 * c1 * I_FOLLOWER) * steps * DT
    assert rate > 4.0 * np.pi
    assert run.joint_qd == pytest.approx([rate, c1 * rate], rel=1e-5)
    q = run.solver.workspace.joints.q.numpy()
    assert q[0] == pytest.approx(rate * (steps + 1) * DT / 2.0, rel=1e-5) and q[1] == pytest.approx(c1 * q[0], abs=1e-5)


def test_torque_on_the_follower_comes_back_through_the_gear():
    run = driven(gears(), [0.0, 1.0], 100)
    assert run.joint_qd[0] == pytest.approx(-2.0 * 100 * DT / (I_LEADER + 4.0 * I_FOLLOWER), rel=1e-5)


def test_an_offset_is_reached_and_held():
    run = driven(gears(c0=0.1, c1=0.5), [0.2, 0.0], 200)
    assert abs(run.joint_q[0]) > 1e-3
    assert run.joint_q[1] == pytest.approx(0.1 + 0.5 * run.joint_q[0], abs=1e-6)


def test_a_rack_follows_a_pinion():
    r, mass, effort = 0.1, 3.0, 2.0
    b = builder_of(0.0)
    pinion = b.add_link(mass=1.0, inertia=np.diag([0.01] * 3))
    rack = b.add_link(xform=at(0, 0, r), mass=mass, inertia=np.diag([0.1] * 3))
    turn = b.add_joint_revolute(-1, pinion, axis=Y)
    slide = b.add_joint_prismatic(-1, rack, axis=X, parent_xform=at(0, 0, r))
    b.set_joint_mimic(slide, turn, coeffs=(0.0, r))
    run = driven(b, [effort, 0.0], 100)
    rate = effort / (0.01 + mass * r * r) * 100 * DT
    assert run.joint_qd == pytest.approx([rate, r * rate], rel=1e-5)
    assert run.joint_q[1] == pytest.approx(r * run.solver.workspace.joints.q.numpy()[0], abs=1e-7)


def gripper(b=None):
    """Two fingers on a hand that floats, which close together."""
    b = builder_of(0.0) if b is None else b
    hand = link(b, (0, 0, 0), mass=2.0)
    joints, fingers = [b.add_joint_free(hand)], []
    for side in (1.0, -1.0):
        finger = link(b, (0.1 * side, 0, 0.1), half=(0.01, 0.01, 0.05))
        fingers.append(
            b.add_joint_revolute(hand, finger, axis=Y, parent_xform=at(0.1 * side, 0, 0.05), child_xform=at(0, 0, -0.05))
        )
    b.add_articulation(joints + fingers)
    b.set_joint_mimic(fingers[1], fingers[0], coeffs=(0.0, -1.0))
    return b


@pytest.mark.parametrize("eliminate", [True, False])
def test_fingers_close_together_and_momentum_is_kept(eliminate):
    """Two joints with a body in common; the pair of torques is internal."""
    config = SolverKamino.Config(dynamics=ConstrainedDynamicsConfig(eliminate_bilateral=eliminate))
    run = driven(gripper(), [0, 0, 0, 0, 0, 0, 0.05, 0], 100, config)
    assert abs(run.joint_q[-2]) > 0.01
    assert run.joint_q[-1] == pytest.approx(-run.joint_q[-2], abs=1e-6 if eliminate else 1e-4)
    assert np.abs(run.qd[0]).max() > 1e-4  # the hand recoils
    momentum = measure_momentum(run.model, run.state)
    assert np.abs(momentum.linear).max() < 1e-6 and np.abs(momentum.angular).max() < 1e-6


def test_gears_in_a_loop_that_fits_them():
    """A third wheel that follows both: one row is redundant."""
    b = gears()
    wheel = b.add_link(xform=at(2, 0, 0), mass=1.0, inertia=np.diag([0.1] * 3))
    third = b.add_joint_revolute(-1, wheel, axis=Y, parent_xform=at(2, 0, 0))
    b.add_constraint_mimic(third, 1, 0.0, -1.0)
    b.add_constraint_mimic(third, 0, 0.0, 2.0)
    run = driven(b, [1.0, 0.0, 0.0], 100)
    rate = 100 * DT / (I_LEADER + 4.0 * I_FOLLOWER + 4.0 * 0.1)
    assert run.joint_qd == pytest.approx([rate, -2.0 * rate, 2.0 * rate], rel=1e-5)


def test_a_leader_that_the_caller_turns_is_followed():
    b = builder_of(0.0)
    hand = b.add_link(mass=1.0, inertia=np.diag([1.0] * 3), is_kinematic=True)
    wheel = b.add_link(xform=at(1, 0, 0), mass=1.0, inertia=np.diag([1.0] * 3))
    joints = [b.add_joint_revolute(-1, body, axis=Y, parent_xform=at(float(k), 0, 0)) for k, body in enumerate((hand, wheel))]
    b.set_joint_mimic(joints[1], joints[0], coeffs=(0.0, 3.0))
    run = Run(finished(b))
    run.state.body_qd.assign(np.asarray([[0, 0, 0, 0, 0.5, 0], [0] * 6], np.float32))
    run.step(1, DT)
    assert run.joint_qd == pytest.approx([0.5, 1.5], rel=1e-6)


def test_coefficients_are_read_in_every_step_and_worlds_have_their_own():
    whole = hooke.ModelBuilder()
    for c1 in (-2.0, 0.5):
        whole.add_world(gears(c1=c1, constraint=True))
    whole.add_world(gripper())
    run = driven(whole, [1, 0, 1, 0] + [0] * 8, 50)
    assert run.joint_qd[1] == pytest.approx(-2.0 * run.joint_qd[0], rel=1e-6)
    assert run.joint_qd[3] == pytest.approx(0.5 * run.joint_qd[2], rel=1e-6) and run.joint_qd[2] > 0.01
    run.model.constraint_mimic_coef1.assign(np.asarray([-1.0, 0.5], np.float32))
    miss = run.joint_q[1] + run.joint_q[0]
    run.step(1, DT)
    assert run.joint_qd[1] == pytest.approx(-run.joint_qd[0] - 0.01 * miss / DT, abs=1e-6)
    assert run.joint_q[1] == pytest.approx(-run.joint_q[0], abs=1e-7)


@pytest.mark.parametrize("workers", [1, 2])
def test_replicas_with_mimics(workers, monkeypatch):
    monkeypatch.setattr(hooke.config, "workers", workers)
    effort = [0, 0, 0, 0, 0, 0, 0.05, 0]
    one, many = driven(gripper(), effort, 30), driven(replicated(gripper(), 4), effort * 4, 30)
    assert np.array_equal(many.q.reshape(4, -1), np.tile(one.q.reshape(1, -1), (4, 1)))


def test_mimics_across_worlds_are_refused():
    whole = hooke.ModelBuilder()
    for _ in range(2):
        whole.add_world(gears())
    whole.add_constraint_mimic(2, 1)
    with pytest.raises(ValueError, match="of one world"):
        SolverKamino(finished(whole))

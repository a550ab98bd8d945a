"""Rows of joints against finite differences: of what is locked, and of coordinates; for every kind of joint, far from closed."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import quat_multiply
from tests.kamino.scenes import Dof, Run, X, Y, Z, builder_of, finished, link

SKEW = ((0.6, 0.0, 0.8), (0.8, 0.0, -0.6), (0.0, 1.0, 0.0))
KINDS = {
    "revolute": lambda b, p, c, f: b.add_joint_revolute(p, c, axis=(0.6, 0.0, 0.8), **f),
    "prismatic": lambda b, p, c, f: b.add_joint_prismatic(p, c, axis=(0.0, 0.6, 0.8), **f),
    "ball": lambda b, p, c, f: b.add_joint_ball(p, c, **f),
    "fixed": lambda b, p, c, f: b.add_joint_fixed(p, c, **f),
    "cylindrical": lambda b, p, c, f: b.add_joint_d6(p, c, linear_axes=[Dof(axis=X)], angular_axes=[Dof(axis=X)], **f),
    "universal": lambda b, p, c, f: b.add_joint_d6(p, c, angular_axes=[Dof(axis=Y), Dof(axis=Z)], **f),
    "cartesian": lambda b, p, c, f: b.add_joint_d6(p, c, linear_axes=[Dof(axis=a) for a in (X, Y, Z)], **f),
    "gimbal": lambda b, p, c, f: b.add_joint_d6(p, c, angular_axes=[Dof(axis=a) for a in SKEW], **f),
}
STEP = 1e-3


def unit(q):
    return np.asarray(q) / np.linalg.norm(q)


FRAMES = {
    "parent_xform": (0.2, 0.1, -0.1, *unit([0.1, -0.2, 0.3, 0.9])), "child_xform": (-0.1, 0.05, 0.1, *unit([0.3, 0.1, -0.1, 0.9])),
}  # fmt: skip


def moved(poses, com, twist, time):
    """Poses of bodies after a time with a twist."""
    result = poses.copy()
    for k, pose in enumerate(poses):
        v, w = twist[k, :3], twist[k, 3:]
        angle = np.linalg.norm(w) * time
        turn = np.array([*(np.sin(angle / 2) * w / np.linalg.norm(w)), np.cos(angle / 2)]) if angle else np.array([0, 0, 0, 1.0])
        q = quat_multiply(turn, pose[3:])

        def place(q, local):
            return local + 2.0 * np.cross(q[:3], np.cross(q[:3], local) + q[3] * local)

        result[k, :3] = pose[:3] + place(pose[3:], com[k]) + time * v - place(q, com[k])
        result[k, 3:] = q
    return result


def rows_at(model, poses):
    """J of both bodies, residuals and coordinates."""
    run = Run(model)
    run.state.body_q.assign(poses.astype(np.float32))
    found = []

    def look(solver, *_):
        j = solver.workspace.joints
        found.append([v.numpy()[1].copy() for v in (j.child, j.parent, j.error)] + [j.q.numpy()[7:].copy()])

    run.solver.set_pre_step_callback(look)
    run.step(1, 1e-3)
    child, parent, error, q = found[0]
    return child[:, :6], parent[:, :6], error[:6], q


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_the_rates_of_residuals_and_coordinates(name):
    rng, b = np.random.default_rng(11), builder_of(0.0)
    bodies = [link(b, (0, 0, 0), com=(0.03, -0.02, 0.01)), link(b, (0, 0, 0), com=(-0.02, 0.01, 0.04))]
    b.add_articulation([b.add_joint_free(bodies[0]), KINDS[name](b, *bodies, FRAMES)])
    model = finished(b)
    com = model.body_com.numpy().astype(float)
    poses = np.array([[*0.1 * rng.normal(size=3), *unit([*0.3 * rng.normal(size=3), 1.0])] for _ in range(2)])
    poses = poses.astype(np.float32).astype(float)
    of_child, of_parent, _, _ = rows_at(model, poses)
    locked = 6 - (model.joint_qd_start.numpy()[2] - 6)
    for _ in range(3):
        twist = rng.normal(size=(2, 6))
        ends = [rows_at(model, moved(poses, com, twist, side * STEP)) for side in (-0.5, 0.5)]
        rates = of_child @ twist[1] + of_parent @ twist[0]
        assert rates[:locked] == pytest.approx(((ends[1][2] - ends[0][2]) / STEP)[:locked], abs=5e-4)
        if name in ("prismatic", "cartesian", "gimbal"):  # of others the coordinates of a joint that is open depend on how
            assert rates[locked:] == pytest.approx((ends[1][3] - ends[0][3]) / STEP, abs=5e-4)


@pytest.mark.parametrize("name", ["revolute", "cylindrical", "universal"])
def test_rates_of_coordinates_where_a_joint_is_closed(name):
    rng, b = np.random.default_rng(5), builder_of(0.0)
    bodies = [link(b, (0, 0, 0), com=(0.03, -0.02, 0.01)), link(b, (0, 0, 0), com=(-0.02, 0.01, 0.04))]
    b.add_articulation([b.add_joint_free(bodies[0]), KINDS[name](b, *bodies, FRAMES)])
    model = finished(b)
    com, state = model.body_com.numpy().astype(float), model.state()
    q = np.concatenate(
        [0.1 * rng.normal(size=3), unit([*0.3 * rng.normal(size=3), 1.0]), 0.7 * rng.normal(size=model.joint_coord_count - 7)]
    )
    state.joint_q.assign(q.astype(np.float32))
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    poses = state.body_q.numpy().astype(float)
    of_child, of_parent, error, _ = rows_at(model, poses)
    assert np.abs(error).max() < 1e-6
    for _ in range(3):
        twist = rng.normal(size=(2, 6))
        ends = [rows_at(model, moved(poses, com, twist, side * STEP))[3] for side in (-0.5, 0.5)]
        dofs = slice(6 - (model.joint_dof_count - 6), 6)
        assert (of_child @ twist[1] + of_parent @ twist[0])[dofs] == pytest.approx((ends[1] - ends[0]) / STEP, abs=1e-3)


def test_wrenches_are_those_of_numpy():
    """Force and torque of the rows of a hinge on both bodies: equal and opposite about any point."""
    rng, b = np.random.default_rng(3), builder_of(0.0)
    bodies = [link(b, (0, 0, 0)), link(b, (0.3, 0.1, 0.2))]
    b.add_articulation([b.add_joint_free(bodies[0]), KINDS["revolute"](b, *bodies, {"parent_xform": (0.1, 0, 0, 0, 0, 0, 1)})])
    poses = np.array([[0, 0, 0, *unit([0.1, 0.2, 0.3, 1.0])], [0.3, 0.1, 0.2, *unit([-0.2, 0.1, 0.3, 1.0])]])
    of_child, of_parent, _, _ = rows_at(finished(b), poses)
    impulse = rng.normal(size=6)
    child, parent = of_child.T @ impulse, of_parent.T @ impulse
    assert child[:3] == pytest.approx(-parent[:3], abs=1e-12)
    about_origin = [w[3:] + np.cross(p[:3], w[:3]) for w, p in ((child, poses[1]), (parent, poses[0]))]
    assert about_origin[0] == pytest.approx(-about_origin[1], abs=1e-6)

"""What a step writes beside poses: coordinates, rates, forces of joints and on bodies; bodies and joints that take no part."""

import numpy as np
import pytest

import hooke
from hooke.model.energy import measure_momentum
from hooke.solvers import ConstraintStabilizationConfig, SolverKamino
from tests.kamino.scenes import Dof, Run, X, Y, Z, at, builder_of, finished, four_bar, link, pendulum
from tests.kamino.test_mechanisms import gaps

G = 9.81


def menagerie(gravity=-9.81):
    """A body that floats, with a branch of every kind of joint."""
    b = builder_of(gravity)
    root = link(b, (0, 0, 0), mass=3.0, com=(0.05, 0.02, -0.03))
    joints, turn = [b.add_joint_free(root)], np.array([0.1, -0.2, 0.3, 0.9])
    turn = tuple(turn / np.linalg.norm(turn))
    frames = {"parent_xform": (0.2, 0.1, -0.1, *turn), "child_xform": (-0.1, 0.05, 0.1, *turn)}
    adders = [
        lambda p, c: b.add_joint_revolute(p, c, axis=(0.6, 0.0, 0.8), **frames),
        lambda p, c: b.add_joint_prismatic(p, c, axis=(0.0, 0.6, 0.8), **frames),
        lambda p, c: b.add_joint_ball(p, c, **frames),
        lambda p, c: b.add_joint_fixed(p, c, **frames),
        lambda p, c: b.add_joint_d6(p, c, linear_axes=[Dof(axis=X)], angular_axes=[Dof(axis=X)], **frames),
        lambda p, c: b.add_joint_d6(p, c, angular_axes=[Dof(axis=Y), Dof(axis=Z)], **frames),
        lambda p, c: b.add_joint_d6(p, c, linear_axes=[Dof(axis=a) for a in (X, Y, Z)], **frames),
        lambda p, c: b.add_joint_d6(p, c, angular_axes=[Dof(axis=a) for a in (X, Y, Z)], **frames),
    ]
    for k, add in enumerate(adders):
        body = link(b, (0.3 * np.cos(k), 0.3 * np.sin(k), 0.1 * k), half=(0.1, 0.06, 0.04), com=(0.01, -0.02, 0.03))
        joints.append(add(root, body))
    b.add_articulation(joints)
    return b


def moving(model, seed=3):
    """A state whose joints are closed, with random coordinates and rates."""
    rng, state = np.random.default_rng(seed), model.state()
    q, qd = model.joint_q.numpy().copy(), rng.normal(size=model.joint_dof_count).astype(np.float32)
    starts, kinds = model.joint_q_start.numpy(), model.joint_type.numpy()
    for j, kind in enumerate(kinds):
        own = slice(starts[j], starts[j + 1])
        if kind == int(hooke.JointType.BALL):
            q[own] = rng.normal(size=4)
            q[own] /= np.linalg.norm(q[own])
        elif kind != int(hooke.JointType.FREE):
            q[own] = 0.4 * rng.normal(size=len(q[own]))
    state.joint_q.assign(q)
    state.joint_qd.assign(qd)
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    return state


def test_coordinates_and_rates_are_those_of_inverse_kinematics():
    model = finished(menagerie())
    run = Run(model, state=moving(model)).step(5, 1e-3)
    q, qd = model.state().joint_q, model.state().joint_qd
    hooke.eval_ik(model, run.state, q, qd)
    assert run.joint_q == pytest.approx(q.numpy(), abs=2e-6)
    assert run.joint_qd == pytest.approx(qd.numpy(), abs=2e-4)


def test_efforts_are_conjugate_to_rates():
    """Their power is what the kinetic energy gains, for every kind of joint: dE = t . (qd before + qd after) / 2 dt."""
    model, dt = finished(menagerie(0.0)), 1e-5
    rng = np.random.default_rng(5)
    gains = []
    for effort in (rng.normal(size=model.joint_dof_count), np.zeros(model.joint_dof_count)):
        run = Run(model, state=moving(model))
        run.control.joint_f.assign((1e3 * effort).astype(np.float32))
        run.step(1, dt)
        gains.append((hooke.measure_energy(model, run.state).kinetic, run.joint_qd.copy(), effort))
    (driven, after, effort), (coasting, before, _) = gains
    assert driven - coasting == pytest.approx(1e3 * effort @ (0.5 * (before + after)) * dt, rel=2e-3)


def test_internal_forces_are_internal():
    """Random spins, every kind of joint: momenta constant to 1e-4 over a thousand steps."""
    model = finished(menagerie(0.0))
    run = Run(model, state=moving(model))
    before = measure_momentum(model, run.state)
    run.control.joint_f.assign(np.concatenate([np.zeros(6), np.full(model.joint_dof_count - 6, 0.01)]).astype(np.float32))
    run.step(1000, 1e-4)
    after = measure_momentum(model, run.state)
    scale = np.abs(before.angular).max()
    assert scale > 0.1
    assert after.linear == pytest.approx(before.linear, abs=1e-4 * np.abs(before.linear).max())
    assert after.angular == pytest.approx(before.angular, abs=1e-4 * scale)


def test_forces_on_bodies_are_all_but_gravity():
    """A rod that hangs still: the hinge carries its weight, and so does the sum of all forces on it."""
    mass = 2.0
    run = Run(finished(pendulum(1.0, mass, angle=0.5 * np.pi))).step(3, 1e-3)
    assert run.state.body_f_total.numpy()[0] == pytest.approx([0, 0, mass * G, 0, 0, 0], abs=2e-4)
    assert run.forces[:3] == pytest.approx([0.0, 0.0, mass * G], abs=2e-4)


def test_a_joint_carries_what_hangs_below_it():
    b, count, mass = builder_of(), 5, 1.5
    above, joints = -1, []
    for k in range(count):
        body = link(b, (0, 0, -0.2 * k - 0.1), mass=mass)
        joints.append(b.add_joint_fixed(above, body, parent_xform=at(0, 0, 0 if k == 0 else -0.1), child_xform=at(0, 0, 0.1)))
        above = body
    b.add_articulation(joints)
    run = Run(finished(b)).step(5, 1e-3)
    weights = run.forces.reshape(count, 6)[:, 2]
    assert weights == pytest.approx(mass * G * np.arange(count, 0, -1), rel=1e-5)


def test_states_have_the_registered_arrays():
    b = hooke.ModelBuilder()
    SolverKamino.register_custom_attributes(b)
    b.add_builder(four_bar(ground=True))
    model = finished(b)
    run = Run(model)
    given = {name: getattr(run.other, name) for name in ("body_f_total", "joint_q_prev", "joint_lambdas")}
    assert [len(value) for value in given.values()] == [4, model.joint_coord_count, model.joint_constraint_count]
    run.step(2, 1e-3)
    assert all(getattr(run.other, name) is value for name, value in given.items()) or all(
        getattr(run.state, name) is value for name, value in given.items()
    )
    assert np.abs(run.forces).max() > 1.0
    plain = Run(finished(four_bar(ground=True))).step(2, 1e-3)  # made by the first step that lacks them
    assert np.array_equal(plain.forces, run.forces)
    assert np.array_equal(plain.state.body_f_total.numpy(), run.state.body_f_total.numpy())


def test_a_joint_that_is_off_is_not_there():
    off = pendulum()
    off.joint_enabled[0] = False
    run = Run(finished(off)).step(100, 1e-3)
    assert run.qd[0, 2] == pytest.approx(-G * 0.1, rel=1e-5) and np.abs(run.qd[0, 3:]).max() == 0.0
    assert not run.forces.any()


def test_a_massless_body_welded_to_the_world_stays():
    b = builder_of()
    post = b.add_link(xform=at(0.5, 0, 1))
    rod = link(b, (1.0, 0, 1.0), half=(0.5, 0.01, 0.01))
    b.add_articulation([b.add_joint_fixed(-1, post, parent_xform=at(0.5, 0, 1))])
    b.add_joint_revolute(-1, rod, axis=Y, parent_xform=at(0.5, 0, 1), child_xform=at(-0.5, 0, 0))
    run = Run(finished(b)).step(200, 1e-3)
    assert np.array_equal(run.q[0], np.asarray([0.5, 0, 1, 0, 0, 0, 1])) and run.q[1, 2] < 0.9
    assert abs(np.linalg.norm(run.q[1, :3] - run.q[0, :3]) - 0.5) < 1e-6


def test_a_world_of_kinematic_bodies_is_left_as_it_is():
    b = builder_of()
    for k in range(2):
        link(b, (0.5 * k, 0, 0), is_kinematic=True)
    run = Run(finished(b))
    before = run.q
    run.step(5, 1e-2)
    assert np.array_equal(run.q, before)


@pytest.mark.parametrize(("time", "most", "speed"), [(None, np.inf, 0.1), (0.04, np.inf, 0.2), (0.04, 0.1, 0.1)])
def test_an_open_joint_closes_at_the_speed_that_is_asked(time, most, speed):
    """v = -alpha r / dt, or -r / (dt + T), or the most that is allowed; dt = 0.01 s, r = 0.01 m."""
    b = builder_of(0.0)
    body = link(b, (0.3, 0.01, 0.0))
    b.add_joint_prismatic(-1, body, axis=X)
    constraints = ConstraintStabilizationConfig(alpha=0.1, joint_recovery_time=time, joint_recovery_speed=most)
    run = Run(finished(b), SolverKamino.Config(constraints=constraints)).step(1, 0.01)
    assert run.qd[0] == pytest.approx([0, -speed, 0, 0, 0, 0], abs=1e-6)
    assert run.q[0, 1] == pytest.approx(0.0, abs=1e-7)  # the projection closes it at once


@pytest.mark.parametrize("correction", ["twopi", "continuous", "none"])
def test_reported_angles_have_no_influence_on_the_motion(correction):
    """Limits beyond a turn, springs and drives use the angle as it was turned."""
    b = builder_of(0.0)
    wheel = b.add_link(mass=1.0, inertia=np.diag([0.5] * 3))
    b.add_joint_revolute(-1, wheel, axis=Y, limit_upper=8.0, target_q=9.0, target_ke=1.0, target_kd=0.1, actuator_mode=1)
    run = Run(finished(b), SolverKamino.Config(rotation_correction=correction))
    seen = []
    run.step(2000, 1e-2, lambda r: seen.append(r.solver.workspace.joints.q.numpy()[0]))
    assert max(seen) > 7.9 and seen[-1] == pytest.approx(8.0, abs=2e-3)
    reported = {"twopi": 8.0 - 2.0 * np.pi, "continuous": 8.0, "none": 8.0 - 2.0 * np.pi}[correction]
    assert run.joint_q[0] == pytest.approx(reported, abs=2e-3)


def test_a_heavy_bob_on_a_light_chain():
    """A mass ratio of 1000 : 1; joints stay closed to rounding and the top one carries all."""
    b, above, joints = builder_of(), -1, []
    for k in range(10):
        heavy = k == 9
        body = link(b, (0.1 * k + 0.05, 0, 0), mass=100.0 if heavy else 0.1, half=(0.05, 0.01, 0.01))
        joints.append(b.add_joint_ball(above, body, parent_xform=at(0.05 if k else 0, 0, 0), child_xform=at(-0.05, 0, 0)))
        above = body
    b.add_articulation(joints)
    model = finished(b)
    run, worst, energies, depths = Run(model), [], [], []

    def look(r):
        worst.append(max(gaps(r)))
        energies.append(hooke.measure_energy(model, r.state).total)
        depths.append(r.q[-1, 2])

    run.step(1000, 1e-3, look)
    assert max(worst) < 1e-6
    assert min(depths) < -0.9
    assert np.abs(energies).max() < 0.002 * 100.0 * G * 0.95

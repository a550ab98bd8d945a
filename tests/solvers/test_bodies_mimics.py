"""Joints that follow others in SolverVBD: gears, grippers, racks, between up to four bodies, against known answers."""

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.islands import make_islands
from tests.support import GRAVITY, finalize

from .bodies import Dof, at, bar, coordinates, gaps, move, same_bodies, spin_of

DT = 0.01


def two_joints(kinds, coeffs, *, options=({}, {}), constraint=False, parent=False, gravity=0.0):
    """Two bodies on a joint each, at the world (or at a body of three kilograms); the first follows the second."""
    b = hooke.ModelBuilder(gravity=gravity)
    base = b.add_link(mass=3.0, inertia=np.diag([0.3, 0.2, 0.25])) if parent else -1
    joints = [b.add_joint_free(base)] if parent else []
    for k, kind in enumerate(kinds):
        link = b.add_link(mass=1.0 + k, inertia=0.1 * (1 + k) * np.eye(3), xform=at(0.0, float(k), 0.5))
        ends = {"parent_xform": at(0.0, float(k), 0.0), "child_xform": at(0.0, 0.0, -0.5)}
        joints.append(getattr(b, f"add_joint_{kind}")(base, link, **ends, **options[k]))
    if parent:
        b.add_articulation(joints)
    else:
        for joint in joints:
            b.add_articulation([joint])
    first, second = joints[-2:]
    if constraint or not parent:
        b.add_constraint_mimic(first, second, *coeffs)
    else:
        b.set_joint_mimic(first, second, coeffs=coeffs)
    return finalize(b)


HINGES = ({"axis": (0, 0, 1)}, {"axis": (0, 0, 1)})


def loaded(model, loads, steps, **options):
    control = model.control()
    control.joint_f.assign(np.asarray(loads, np.float32))
    return move(model, steps, DT, control=control, **options)


@pytest.mark.parametrize("factor", [1.0, -2.0, 0.25])
def test_a_gear_adds_inertias_with_its_ratio(factor):
    """A load T on the leader: (I_b + factor^2 I_a) alpha = T, and the follower turns by the factor."""
    model = two_joints(("revolute", "revolute"), (0.0, factor), options=HINGES)
    q, qd = coordinates(loaded(model, (0.0, 0.6), 50))
    expected = 0.6 / (0.2 + factor**2 * 0.1) * 50 * DT
    assert qd[1] == pytest.approx(expected, rel=1e-4) and qd[0] == pytest.approx(factor * expected, rel=1e-4)
    assert q[0] == pytest.approx(factor * q[1], abs=2e-6)


def test_a_load_on_the_follower_drives_the_leader():
    model = two_joints(("revolute", "revolute"), (0.0, 2.0), options=HINGES)
    qd = coordinates(loaded(model, (0.6, 0.0), 50))[1]
    assert qd[1] == pytest.approx(2.0 * 0.6 / (0.2 + 4.0 * 0.1) * 50 * DT, rel=1e-4)


def test_a_rack_lifts_by_the_radius_of_its_pinion():
    """A slider that follows a hinge by 0.1 m per radian: it hangs on a torque of m g r."""
    options = ({"axis": (0, 0, 1)}, {"axis": (0, 0, 1), "target_ke": 50.0, "target_kd": 5.0, "target_q": 2.0})
    model = two_joints(("prismatic", "revolute"), (0.3, 0.1), options=options, gravity=-GRAVITY)
    q = coordinates(move(model, 500, DT))[0]
    assert q[1] == pytest.approx(2.0 - GRAVITY * 0.1 / 50.0, abs=1e-4)
    assert q[0] == pytest.approx(0.3 + 0.1 * q[1], abs=1e-5)


def test_axes_follow_one_by_one():
    """A D6 joint of a slide and a turn after another one."""
    axes = {"linear_axes": [Dof(axis=0)], "angular_axes": [Dof(axis=2)]}
    model = two_joints(("d6", "d6"), (0.0, 0.5), options=(axes, axes))
    q, qd = coordinates(loaded(model, (0.0, 0.0, 1.0, 0.3), 40))
    assert np.allclose(q[:2], 0.5 * q[2:], atol=2e-6) and np.allclose(qd[:2], 0.5 * qd[2:], atol=2e-4)
    assert np.abs(qd[2:]).min() > 0.05


@pytest.mark.parametrize("kinds", [("revolute", "prismatic"), ("d6", "d6"), ("revolute", "revolute")])
def test_mimics_change_no_momentum(kinds):
    """On a base that floats, thrown with random velocities; and the joints follow within rounding."""
    rng = np.random.default_rng(4)
    given = {"revolute": {"axis": (0.0, 0.6, 0.8)}, "prismatic": {"axis": 0, "stiffness": 20.0},
             "d6": {"linear_axes": [Dof(axis=0, stiffness=30.0)], "angular_axes": [Dof(axis=1)]}}  # fmt: skip
    model = two_joints(kinds, (0.0, -1.5), options=tuple(given[k] for k in kinds), parent=True)
    model.body_qd.assign(np.concatenate([0.3 * rng.normal(size=(3, 3)), 2.0 * rng.normal(size=(3, 3))], axis=1).astype(np.float32))
    motion = move(model, 3, 1.0 / 200.0)
    spin, linear = spin_of(motion)
    motion = move(model, 500, 1.0 / 200.0, state=motion.state, solver=motion.solver)
    after = spin_of(motion)
    assert np.linalg.norm(after[0] - spin) < 1e-4 * np.linalg.norm(spin)
    assert np.linalg.norm(after[1] - linear) < 1e-4 * np.linalg.norm(linear)
    q = coordinates(motion)[0][7:]
    half = len(q) // 2
    gap = q[:half] + 1.5 * q[half:]
    assert np.abs(gap - 2.0 * np.pi * np.round(gap / (2.0 * np.pi))).max() < 1e-5


def test_a_gripper_closes_evenly():
    """Two fingers on a palm that hangs on a drive: one is driven and pushed, the other follows."""
    b = hooke.ModelBuilder()
    palm = b.add_link(mass=1.0, inertia=0.01 * np.eye(3))
    joints = [b.add_joint_prismatic(-1, palm, axis=2, target_ke=1e4, target_kd=100.0)]
    for side in (-1.0, 1.0):
        finger = b.add_link(mass=0.1, inertia=1e-4 * np.eye(3), xform=at(0.05 * side, 0.0, -0.1))
        drive = {"target_ke": 1e3, "target_kd": 20.0, "target_q": 0.03} if side > 0.0 else {}
        joints.append(b.add_joint_prismatic(palm, finger, axis=(-side, 0, 0), parent_xform=at(0.05 * side, 0.0, -0.1), **drive))
    b.add_articulation(joints)
    b.set_joint_mimic(joints[1], joints[2])
    model = finalize(b)
    run = move(model, 300, DT)
    q = coordinates(run)[0]
    assert q[1] == pytest.approx(0.03, abs=1e-5) and q[2] == pytest.approx(q[1], abs=1e-6)
    run = move(model, 300, DT, state=run.state, solver=run.solver, body_f=[[0.0] * 6, [-3.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 6])
    q = coordinates(run)[0]
    assert q[2] == pytest.approx(0.03 - 3.0 / 1e3, abs=1e-5) and q[2] == pytest.approx(q[1], abs=1e-6)


def test_a_chain_of_two_links_unfolds():
    """A joint that follows the one before it in the same chain: three bodies in two joints share one."""
    b = hooke.ModelBuilder(gravity=0.0)
    links = [bar(b, (0.5 + i, 0.0, 0.0), 1.0) for i in range(2)]
    ends = {"axis": (0, 0, 1), "child_xform": at(-0.5, 0.0, 0.0)}
    first = b.add_joint_revolute(-1, links[0], target_ke=300.0, target_kd=30.0, target_q=0.7, **ends)
    second = b.add_joint_revolute(links[0], links[1], parent_xform=at(0.5, 0.0, 0.0), **ends)
    b.add_articulation([first, second])
    b.set_joint_mimic(second, first, coeffs=(0.0, -2.0))
    run = move(finalize(b), 400, DT)
    q = coordinates(run)[0]
    assert q[0] == pytest.approx(0.7, abs=1e-4) and q[1] == pytest.approx(-1.4, abs=2e-4)
    assert run.q[1, 1] == pytest.approx(0.5 * np.sin(0.7), abs=1e-3)  # the tip stays on the axis of the first


def test_every_hinge_of_an_arm_follows_the_first():
    """Ten links that fall curl up together; what the mimics couple is full of loops."""
    b = hooke.ModelBuilder()
    joints, parent = [], -1
    for i in range(10):
        link = bar(b, ((i + 0.5) * 0.1, 0.0, 0.0), 0.1, 0.1, 0.02)
        ends = {"parent_xform": at(0.05 if i else 0.0, 0.0, 0.0), "child_xform": at(-0.05, 0.0, 0.0)}
        joints.append(b.add_joint_revolute(parent, link, axis=(0, 1, 0), **ends))
        parent = link
    b.add_articulation(joints)
    for joint in joints[1:]:
        b.set_joint_mimic(joint, joints[0], coeffs=(0.0, 0.1))
    run = move(finalize(b), 60, DT)
    q = coordinates(run)[0]
    assert abs(q[0]) > 0.3 and np.allclose(q[1:], 0.1 * q[0], atol=2e-6) and gaps(run).max() < 2e-6


def test_angles_follow_over_turns():
    """Eight turns of the leader are two of the follower."""
    options = ({"axis": (0, 0, 1)}, {"axis": (0, 0, 1), "target_kd": 1e4, "target_qd": 16.0 * np.pi / 2.0})
    model = two_joints(("revolute", "revolute"), (0.0, 0.25), options=options)
    turned = []
    move(model, 200, DT, each=lambda n, s: turned.append(s.body_qd.numpy()[:, 5] * DT))
    total = np.sum(turned, axis=0)
    assert total[1] == pytest.approx(16.0 * np.pi, rel=5e-3) and total[0] == pytest.approx(0.25 * total[1], abs=1e-3)


def test_limits_and_speeds_of_one_hold_both():
    """A wall and a velocity limit of the follower stop the leader, which a drive pushes."""
    options = ({"axis": (0, 0, 1), "limit_lower": -0.1, "limit_upper": 0.4, "limit_ke": 1e10, "velocity_limit": 0.2},
               {"axis": (0, 0, 1), "target_ke": 50.0, "target_kd": 5.0, "target_q": 3.0})  # fmt: skip
    model = two_joints(("revolute", "revolute"), (0.0, 0.5), options=options)
    seen = []
    run = move(model, 400, DT, each=lambda n, s: seen.append(s.body_qd.numpy()[:, 5].copy()))
    q = coordinates(run)[0]
    assert q[0] == pytest.approx(0.4, abs=1e-4) and q[1] == pytest.approx(0.8, abs=2e-4)
    assert np.max(seen, axis=0)[0] < 0.2 * 1.001 and np.max(seen, axis=0)[1] < 0.4 * 1.001


def test_a_kinematic_leader_is_followed():
    b = hooke.ModelBuilder(gravity=0.0)
    links = [b.add_link(mass=1.0, inertia=0.1 * np.eye(3), is_kinematic=bool(k)) for k in range(2)]
    joints = [b.add_joint_revolute(-1, link, axis=(0, 0, 1)) for link in links]
    for joint in joints:
        b.add_articulation([joint])
    b.add_constraint_mimic(joints[0], joints[1], 0.1, 2.0)
    model = finalize(b)
    solver, state, other = SolverVBD(model), model.state(), model.state()
    for n in range(300):
        angle = 0.5 * np.sin(0.02 * n)
        q = state.body_q.numpy()
        q[1, 5:] = np.sin(angle / 2.0), np.cos(angle / 2.0)
        state.body_q.assign(q)
        solver.step(state, other, None, None, DT)
        state, other = other, state
    q = state.body_q.numpy()[0].astype(np.float64)
    assert 2.0 * np.arctan2(q[5], q[6]) == pytest.approx(0.1 + 2.0 * angle, abs=1e-4)


def test_errors_at_the_start_fade_and_switches_are_heeded():
    """By alpha for each step; a mimic of a joint that is switched off does nothing, nor one that is not enabled."""
    model = two_joints(("revolute", "revolute"), (0.0, 1.0), options=HINGES)
    state = model.state()
    q = state.body_q.numpy()
    q[1, 3:] = (0.0, 0.0, np.sin(0.05), np.cos(0.05))
    state.body_q.assign(q)
    run = move(model, 1, DT, state=state, rigid_avbd_alpha=0.5)
    found = coordinates(run)[0]
    assert found[1] - found[0] == pytest.approx(0.05, rel=1e-3)
    model.joint_enabled.assign([True, False])
    run = loaded(model, (1.0, 0.0), 20)
    assert abs(run.qd[1]).max() == 0.0 and abs(run.qd[0, 5]) > 1.0
    model.joint_enabled.assign([True, True])
    model.constraint_mimic_enabled.assign([False])
    run.solver.notify_model_changed(hooke.ModelFlags.CONSTRAINT_PROPERTIES)
    run = loaded(model, (1.0, 0.0), 20, solver=run.solver)
    assert abs(run.qd[1]).max() == 0.0 and abs(run.qd[0, 5]) > 1.0
    model.constraint_mimic_enabled.assign([True])
    model.constraint_mimic_coef1.assign([-1.0])
    run.solver.notify_model_changed(hooke.ModelFlags.CONSTRAINT_PROPERTIES)
    run = loaded(model, (1.0, 0.0), 20, solver=run.solver)
    assert run.qd[1, 5] == pytest.approx(-run.qd[0, 5], rel=1e-4)


def test_a_factor_of_zero_holds_the_follower_alone():
    model = two_joints(("revolute", "revolute"), (0.2, 0.0), options=HINGES)
    run = loaded(model, (0.5, 0.5), 300)
    q, qd = coordinates(run)
    assert q[0] == pytest.approx(0.2, abs=1e-4) and qd[1] == pytest.approx(0.5 / 0.2 * 300 * DT, rel=1e-4)


def test_a_reset_equals_a_new_solver():
    model = two_joints(
        ("revolute", "prismatic"), (0.0, 2.0), options=({"axis": (0, 1, 0)}, {"axis": 0}), parent=True, gravity=-GRAVITY
    )
    fresh = move(model, 15, DT)
    used = move(model, 20, DT)
    used.solver.reset(used.state)
    assert same_bodies(move(model, 15, DT, state=used.state, solver=used.solver).state, fresh.state)


@pytest.mark.parametrize("settings", [{"workers": 3}, {"graphs": False}])
def test_worlds_workers_and_graphs(settings):
    """Every world is that of one alone, whoever computes it."""
    options = ({"axis": (0, 1, 0)}, {"axis": 0, "target_ke": 30.0, "target_q": 0.2, "velocity_limit": 0.3})
    one = hooke.ModelBuilder()
    base = one.add_link(mass=3.0, inertia=np.diag([0.3, 0.2, 0.25]))
    joints = [one.add_joint_free(base)]
    for k, kind in enumerate(("revolute", "prismatic")):
        link = one.add_link(mass=1.0 + k, inertia=0.1 * np.eye(3), xform=at(0.0, float(k), 0.5))
        joints.append(getattr(one, f"add_joint_{kind}")(base, link, child_xform=at(0.0, 0.0, -0.5), **options[k]))
    one.add_articulation(joints)
    one.set_joint_mimic(joints[1], joints[2], coeffs=(0.1, 2.0))
    many = hooke.ModelBuilder()
    many.replicate(one, 4)
    alone = move(finalize(one), 15, DT)
    old = {name: getattr(config, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(config, name, value)
        q = move(finalize(many), 15, DT).q.reshape(4, 3, 7)
    finally:
        for name, value in old.items():
            setattr(config, name, value)
    assert all(np.array_equal(q[k], alone.q) for k in range(4))


def test_islands_of_mimics():
    """What a mimic couples is one island, a loop in its graph; where it acts on nothing it costs nothing."""
    parent, child = np.array([-1, -1, 0], np.int32), np.array([0, 1, 2], np.int32)
    apart = make_islands(np.ones(3, bool), parent, child, np.ones(3, bool), "cpu")
    assert len(apart.first) == 3
    one = make_islands(np.ones(3, bool), parent, child, np.ones(3, bool), "cpu", [[2, 0, 1, -1]])
    assert len(one.first) == 2 and len(one.item) == 7 and (one.mimic.numpy()[:3] != -1).all() and one.mimic.numpy()[3] == -1
    none = make_islands(np.zeros(3, bool), parent, child, np.ones(3, bool), "cpu", [[2, 0, 1, -1]])
    assert len(none.item) == 0 and (none.mimic.numpy() == -1).all()


def test_the_documented_formulation_refuses_mimics():
    model = two_joints(("revolute", "revolute"), (0.0, 1.0), options=HINGES)
    with pytest.raises(NotImplementedError, match=r"joint 'joint_1' \(index 0\) follows another"):
        SolverVBD(model, rigid_compliant_alm=False)

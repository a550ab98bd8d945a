"""Chains and cables of bodies in SolverVBD: convergence in ten iterations, statics against beam theory, loops."""

from itertools import pairwise

import numpy as np
import pytest

import hooke
from tests.support import GRAVITY, finalize

from .bodies import Motion, at, bar, chain, gaps, move


@pytest.mark.parametrize(("count", "bob"), [(100, 1.0), (100, 1000.0), (20, 50000.0)])
def test_long_chains_with_heavy_bobs_do_not_stretch(count, bob):
    """At a sixtieth of a second with default settings: the largest gap in two seconds is under one per cent of a link."""
    worst = []
    model = chain(count, 0.1, bob=bob)

    def each(n, state):
        if n % 10 == 9:
            worst.append(gaps(motion_of(model, state)).max())

    motion = move(model, 120, 1.0 / 60.0, each=each)
    assert max(worst) < 1e-3
    assert motion.q[-1, 2] < -0.2 and np.abs(motion.qd).max() < 20.0 * max(1.0, np.sqrt(count * 0.1))


def motion_of(model, state):
    return Motion(model, state, None)


def test_one_iteration_is_nearly_enough_for_a_chain():
    """A Newton step of the whole chain: iterations correct for the curvature of the motion only."""
    tips = [move(chain(100, 0.1, bob=100.0), 60, 1.0 / 60.0, iterations=n).q[-1] for n in (1, 3, 10)]
    assert np.linalg.norm(tips[0][:3] - tips[2][:3]) < 0.05 and np.linalg.norm(tips[1][:3] - tips[2][:3]) < 5e-3


def test_a_hanging_chain_carries_what_hangs_below():
    """Soft joints stretch by that weight over their stiffness."""
    count, length, mass, ks = 12, 0.1, 0.2, 2e3
    b = hooke.ModelBuilder()
    joints, parent = [], -1
    for i in range(count):
        link = b.add_link(xform=at(0.0, 0.0, -(i + 0.5) * length), mass=mass, inertia=1e-3 * np.eye(3))
        ends = {"parent_xform": at(0.0, 0.0, -length / 2 if i else 0.0), "child_xform": at(0.0, 0.0, length / 2)}
        joints.append(b.add_joint_cable(parent, link, stretch_stiffness=ks, stretch_damping=20.0, bend_stiffness=1.0, **ends))
        parent = link
    b.add_articulation(joints)
    motion = move(finalize(b), 400, 1.0 / 60.0)
    assert np.allclose(gaps(motion), mass * GRAVITY * np.arange(count, 0, -1) / ks, rtol=2e-3)


def cable(count, length, bend, **options):
    """A clamped straight cable along X of ``count`` segments, with a stiffness ``bend`` of each joint."""
    return chain(count, length / count, joint="cable", gravity=0.0, stretch_stiffness=1e7, bend_stiffness=bend, bend_damping=0.4 * bend,
                 **options)  # fmt: skip


@pytest.mark.parametrize("count", [1, 8, 40])
def test_a_cantilever_bends_as_a_beam(count):
    """delta = F h^2 n (n + 1) (2 n + 1) / (6 k) for small loads; with many joints F L^3 / 3 E I."""
    length, stiffness, force = 1.0, 5.0, 0.05
    h, k = length / count, stiffness * count / length
    model = cable(count, length, k)
    wrench = np.zeros((count, 6))
    wrench[-1, 2], wrench[-1, 4] = -force, force * h / 2  # at the end of the last segment: moment r x f
    motion = move(model, 300, 1.0 / 60.0, body_f=wrench)
    tip = motion.q[-1, :3] + h / 2 * tangent(motion.q[-1])
    delta = force * h**2 * count * (count + 1) * (2 * count + 1) / (6 * k)
    assert -tip[2] == pytest.approx(delta, rel=5e-3)
    if count == 40:
        assert -tip[2] == pytest.approx(force * length**3 / (3.0 * stiffness), rel=0.05)


def tangent(pose):
    x, y, z, w = pose[3:]
    return np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])


def test_a_large_load_bends_a_cable_to_the_elastica():
    """F L^2 / E I = 5: the deflections of the tip are 0.71379 L and 0.38763 L."""
    count = 40
    model = cable(count, 1.0, 2.0 * count)
    wrench = np.zeros((count, 6))
    wrench[-1, 2] = -10.0
    motion = move(model, 600, 1.0 / 60.0, body_f=wrench)
    tip = motion.q[-1, :3] + 0.5 / count * tangent(motion.q[-1])
    assert np.allclose((1.0 - tip[0], -tip[2]), (0.38763, 0.71379), atol=0.02)


def test_an_end_moment_closes_a_cable_to_a_circle():
    """M = 2 pi E I / L turns every joint by 2 pi / n: beyond a quarter turn per joint, too."""
    for count in (3, 20):
        k = 4.0 * count
        wrench = np.zeros((count, 6))
        wrench[-1, 4] = -2.0 * np.pi * 4.0
        model = cable(count, 1.0, k)
        solver, done = None, None
        for share in np.linspace(0.1, 1.0, 10):  # slowly, so that no joint winds up
            done = move(model, 60, 1.0 / 60.0, state=None if done is None else done.state, solver=solver, body_f=share * wrench)
            solver = done.solver
        done = move(model, 200, 1.0 / 60.0, state=done.state, solver=solver, body_f=wrench)
        turn = np.arctan2(*np.array([tangent(done.q[-1])[2], tangent(done.q[-1])[0]]))
        assert abs(turn) < 0.02
        end = done.q[-1, :3] + 0.5 / count * tangent(done.q[-1])
        start = done.q[0, :3] - 0.5 / count * tangent(done.q[0])
        assert np.linalg.norm(end - start) < 0.03


def test_rods_twist_and_bend_each_by_their_own_stiffness():
    """Springs in series: the total twist is T n / k_twist; a shear force moves the tip by the bending of a cantilever."""
    b = hooke.ModelBuilder(gravity=0.0)
    joints, parent, count, h = [], -1, 6, 0.1
    for i in range(count):
        link = b.add_link(xform=at(0.0, 0.0, (i + 0.5) * h), mass=0.1, inertia=1e-4 * np.eye(3))
        ends = {"parent_xform": at(0.0, 0.0, h / 2 if i else 0.0), "child_xform": at(0.0, 0.0, -h / 2)}
        joints.append(
            b.add_joint_rod(parent, link, stretch_stiffness=1e6, shear_stiffness=1e6, bend_stiffness=3.0, bend_damping=0.1,
                            twist_stiffness=0.8, twist_damping=0.05, **ends)
        )  # fmt: skip
        parent = link
    b.add_articulation(joints)
    model = finalize(b)
    wrench = np.zeros((count, 6))
    wrench[-1, 5] = 0.2
    motion = move(model, 400, 1.0 / 60.0, body_f=wrench)
    assert 2.0 * np.arctan2(motion.q[-1, 5], motion.q[-1, 6]) == pytest.approx(0.2 * count / 0.8, rel=1e-3)
    wrench[-1] = (0.05, 0.0, 0.0, 0.0, 0.05 * h / 2, 0.0)
    motion = move(model, 400, 1.0 / 60.0, body_f=wrench)
    delta = 0.05 * h**2 * count * (count + 1) * (2 * count + 1) / (6 * 3.0)
    assert motion.q[-1, 0] == pytest.approx(delta - 0.5 * h * 0.05 * h * count * (count + 1) / 2 / 3.0, rel=1e-2)


def test_loops_close():
    """A four-bar mechanism of hinges, whose rows say more than they must, and a hanging ring of balls."""
    b = hooke.ModelBuilder()
    crank = bar(b, (0.0, 0.0, 0.0), 0.2)
    rod = bar(b, (0.0, 0.0, 0.0), 1.0)
    rocker = bar(b, (0.0, 0.0, 0.0), 1.0)
    hinge = {"axis": (0, 1, 0)}
    joints = [
        b.add_joint_revolute(-1, crank, child_xform=at(-0.1, 0.0, 0.0), **hinge),
        b.add_joint_revolute(crank, rod, parent_xform=at(0.1, 0.0, 0.0), child_xform=at(-0.5, 0.0, 0.0), **hinge),
        b.add_joint_revolute(rod, rocker, parent_xform=at(0.5, 0.0, 0.0), child_xform=at(-0.5, 0.0, 0.0), **hinge),
    ]
    b.add_articulation(joints)
    b.add_joint_revolute(-1, rocker, parent_xform=at(1.0, 0.0, 0.0), child_xform=at(0.5, 0.0, 0.0), **hinge)
    model = finalize(b)
    # crank up; rod and rocker of length 1 from its end to the pivot at (1, 0, 0)
    tip, pivot = np.array([0.0, 0.2]), np.array([1.0, 0.0])
    half = 0.5 * np.linalg.norm(pivot - tip)
    middle, normal = 0.5 * (tip + pivot), np.array([0.2, 1.0]) / np.hypot(0.2, 1.0)
    apex = middle + np.sqrt(1.0 - half**2) * normal
    ends = [(np.zeros(2), tip), (tip, apex), (apex, pivot)]
    poses = []
    for a, c in ends:
        angle = -np.arctan2(c[1] - a[1], c[0] - a[0])
        poses.append((0.5 * (a + c)[0], 0.0, 0.5 * (a + c)[1], 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)))
    state = model.state()
    state.body_q.assign(np.array(poses, np.float32))
    control = model.control()
    control.joint_f.assign(np.array([2.0, 0.0, 0.0, 0.0], np.float32))
    worst = []

    def each(n, s):
        if n % 5 == 4:
            worst.append(gaps(motion_of(model, s)).max())

    motion = move(model, 200, 1.0 / 100.0, state=state, control=control, each=each)
    assert max(worst) < 2e-4 and np.abs(motion.q[:, 1]).max() < 1e-4
    assert np.abs(motion.qd[0, 4]) > 1.0  # the crank turns


def test_a_ring_hangs_from_one_link():
    b = hooke.ModelBuilder()
    count, radius = 12, 0.3
    links = []
    side = 2.0 * radius * np.sin(np.pi / count)
    for i in range(count):
        a = 2.0 * np.pi * (i + 0.5) / count
        angle = a + np.pi / 2
        inner = radius * np.cos(np.pi / count)
        pose = (inner * np.cos(a), 0.0, inner * np.sin(a), 0.0, np.sin(-angle / 2), 0.0, np.cos(angle / 2))
        links.append(b.add_link(xform=pose, mass=0.1, inertia=1e-4 * np.eye(3)))
    ends = {"parent_xform": at(side / 2, 0.0, 0.0), "child_xform": at(-side / 2, 0.0, 0.0)}
    first = b.add_joint_ball(-1, links[0], parent_xform=at(radius, 0.0, 0.0), child_xform=at(-side / 2, 0.0, 0.0))
    b.add_articulation([first, *(b.add_joint_ball(p, c, **ends) for p, c in pairwise(links))])
    b.add_joint_ball(links[-1], links[0], **ends)
    model = finalize(b)
    motion = move(model, 300, 1.0 / 60.0)
    assert gaps(motion).max() < 1e-4
    assert motion.q[:, 2].min() < -0.4  # it has swung below its nail


def test_a_distance_is_kept():
    b = hooke.ModelBuilder()
    link = b.add_link(xform=at(0.5, 0.0, 0.0), mass=1.0, inertia=0.01 * np.eye(3))
    b.add_articulation([b.add_joint_distance(-1, link, min_distance=0.4, max_distance=1.0)])
    model = finalize(b)
    far = []
    move(model, 400, 1.0 / 100.0, each=lambda n, s: far.append(np.linalg.norm(s.body_q.numpy()[0, :3])))
    assert min(far) > 0.4 and max(far) < 1.0 + 1e-4 and max(far) > 0.999

"""Mechanisms in motion: reactions, loops and redundant joints against closed forms and minimal coordinates."""

import numpy as np
import pytest

import hooke
from hooke.model.energy import measure_momentum
from tests.kamino.scenes import Run, X, Y, Z, at, builder_of, cartpole, finished, four_bar, link, pendulum, replicated

G = 9.81


def rk4(rate, y, t, steps=2000):
    h = t / steps
    for _ in range(steps):
        a = rate(y)
        b = rate(y + 0.5 * h * a)
        c = rate(y + 0.5 * h * b)
        y = y + h / 6.0 * (a + 2 * b + 2 * c + rate(y + h * c))
    return y


def gaps(run):
    """Distances of the anchors of all joints but free ones [m]."""
    model = run.model
    x, kinds = run.q, model.joint_type.numpy()

    def place(body, anchor):
        p = anchor[:3].astype(np.float64)
        if body < 0:
            return p
        v, s = x[body, 3:6], x[body, 6]
        return x[body, :3] + p + 2.0 * np.cross(v, np.cross(v, p) + s * p)

    parents, children = model.joint_parent.numpy(), model.joint_child.numpy()
    return [
        np.linalg.norm(place(children[j], model.joint_X_c.numpy()[j]) - place(parents[j], model.joint_X_p.numpy()[j]))
        for j in np.flatnonzero(kinds != int(hooke.JointType.FREE))
    ]


def test_reaction_and_acceleration_of_a_rod_that_is_let_go():
    length, mass = 1.0, 2.0
    run = Run(finished(pendulum(length, mass))).step(1, 1e-5)
    assert run.joint_qd[0] / 1e-5 == pytest.approx(1.5 * G / length, rel=1e-3)
    assert run.forces[:3] == pytest.approx([0.0, 0.0, mass * G / 4.0], abs=2e-2)


def test_reaction_at_the_bottom():
    """Released horizontal: at the bottom w^2 = 3 g / L, and the pivot carries 5 m g / 2."""
    length, mass, dt = 1.0, 2.0, 1e-4
    run = Run(finished(pendulum(length, mass)))
    while run.joint_q[0] < 0.5 * np.pi:
        run.step(1, dt)
    assert run.joint_qd[0] ** 2 == pytest.approx(3.0 * G / length, rel=2e-3)
    assert run.forces[2] == pytest.approx(2.5 * mass * G, rel=5e-3)


def double_pendulum():
    b = pendulum(0.5, 1.0)
    second = b.add_link(xform=at(0.75, 0, 0), mass=1.0, inertia=np.diag([1e-4, 1.0 / 48.0, 1.0 / 48.0]))
    b.add_joint_revolute(0, second, axis=Y, parent_xform=at(0.25, 0, 0), child_xform=at(-0.25, 0, 0))
    b.add_articulation([0, 1])
    return b


def double_pendulum_rate(y):
    """Angles below the horizontal of two rods of length 0.5 and mass 1, and their rates."""
    length, inertia = 0.5, 1.0 / 48.0
    a, b, wa, wb = y
    c, s = np.cos(a - b), np.sin(a - b)
    h = 0.5 * length
    m = np.array([[inertia + h * h + length**2, length * h * c], [length * h * c, inertia + h * h]])
    f = np.array([-length * h * s * wb * wb + G * (h + length) * np.cos(a), length * h * s * wa * wa + G * h * np.cos(b)])
    return np.concatenate([[wa, wb], np.linalg.solve(m, f)])


def test_double_pendulum_converges_to_minimal_coordinates():
    expected = rk4(double_pendulum_rate, np.zeros(4), 0.5)
    model, errors = finished(double_pendulum()), []
    for steps in (250, 500):
        run = Run(model).step(steps, 0.5 / steps)
        errors.append(np.abs(np.cumsum(run.joint_q) - expected[:2]).max())
    assert errors[1] < 0.01 and errors[1] < 0.7 * errors[0]


def test_a_square_four_bar_turns_as_a_parallelogram():
    """Angles (t, -t, t, -t); three of its rows are redundant."""
    run = Run(finished(four_bar(ground=True)))
    run.control.joint_f.assign(np.asarray([0.05, 0, 0, 0], np.float32))
    run.step(400, 1e-3)
    t = run.joint_q[0]
    assert abs(t) > 0.3
    assert run.joint_q == pytest.approx([t, -t, t, -t], abs=1e-4)
    assert max(gaps(run)) < 1e-6


def test_loops_stay_closed_at_speed():
    """50 rad/s in steps of 1 ms: a gap of 0.1 mm would be a step of w^2 L dt^2 / 2; at rest rounding is left."""
    b = four_bar(ground=True, gravity=0.0)
    model = finished(b)
    run = Run(model)
    assert max(gaps(run.step(10, 1e-3))) < 1e-6
    v, side = 50.0, 0.112
    qd = np.zeros((4, 6), np.float32)
    qd[1], qd[3] = (0.5 * side * v, 0, 0, 0, v, 0), (0.5 * side * v, 0, 0, 0, v, 0)
    qd[2] = (side * v, 0, 0, 0, 0, 0)
    run.state.body_qd.assign(qd)
    largest = []
    run.step(200, 1e-3, lambda r: largest.append(max(gaps(r))))
    assert max(largest) < 1e-4
    assert np.abs(run.joint_qd[0]) > 10.0


def test_a_floating_loop_keeps_its_momentum():
    b = four_bar(gravity=0.0)
    model = finished(b)
    run = Run(model)
    qd = np.zeros((4, 6), np.float32)
    qd[:, 0] = 0.3
    run.state.body_qd.assign(qd)
    effort = np.zeros(model.joint_dof_count, np.float32)
    effort[6], effort[8] = 0.02, -0.01  # inner efforts at two of the hinges
    run.control.joint_f.assign(effort)
    before = measure_momentum(model, run.state)
    run.step(200, 1e-3)
    after = measure_momentum(model, run.state)
    assert np.abs(run.joint_qd[6:]).max() > 0.4
    assert after.linear == pytest.approx(before.linear, abs=2e-5)
    assert after.angular == pytest.approx(before.angular, abs=2e-5)


def test_a_joint_that_is_there_twice_changes_nothing():
    single, double = pendulum(), pendulum()
    double.add_joint_revolute(-1, 0, axis=Y, parent_xform=at(0, 0, 0), child_xform=at(-0.5, 0, 0))
    runs = [Run(finished(b)).step(300, 1e-3) for b in (single, double)]
    assert runs[1].q == pytest.approx(runs[0].q, abs=2e-5)


def test_slider_crank():
    """x = r cos t + sqrt(l^2 - r^2 sin^2 t)."""
    r, length = 0.1, 0.3
    b = builder_of()
    crank = link(b, (0.5 * r, 0, 0), half=(0.05, 0.01, 0.01))
    rod = link(b, (r + 0.5 * length, 0, 0), half=(0.15, 0.01, 0.01))
    slider = link(b, (r + length, 0, 0), half=(0.02, 0.02, 0.02))
    j = [b.add_joint_revolute(-1, crank, axis=Y, child_xform=at(-0.5 * r, 0, 0))]
    j.append(b.add_joint_revolute(crank, rod, axis=Y, parent_xform=at(0.5 * r, 0, 0), child_xform=at(-0.5 * length, 0, 0)))
    j.append(b.add_joint_revolute(rod, slider, axis=Y, parent_xform=at(0.5 * length, 0, 0)))
    b.add_articulation(j)
    b.add_joint_prismatic(-1, slider, axis=X, parent_xform=at(r + length, 0, 0))
    run = Run(finished(b))
    effort = np.zeros(run.model.joint_dof_count, np.float32)
    effort[0] = 0.2
    run.control.joint_f.assign(effort)
    run.step(300, 1e-3)
    t = run.joint_q[0]
    assert abs(t) > 1.0
    root = np.sqrt(length**2 - (r * np.sin(t)) ** 2)
    assert run.q[2, 0] == pytest.approx(r * np.cos(t) + root, abs=2e-6)
    rate = -r * np.sin(t) * run.joint_qd[0] * (1.0 + r * np.cos(t) / root)
    assert run.qd[2, 0] == pytest.approx(rate, abs=2e-2)


def test_cardan_joint():
    """tan t2 = tan t1 / cos beta for two shafts at the angle beta, t measured from where the fork lies in their plane."""
    beta = 0.5
    direction = np.array([np.cos(beta), 0.0, np.sin(beta)])
    half = -0.5 * beta
    b = builder_of(0.0)
    first = link(b, (-0.2, 0, 0), half=(0.2, 0.05, 0.05))
    second = link(b, 0.2 * direction, half=(0.2, 0.05, 0.05), rotation=(0.0, np.sin(half), 0.0, np.cos(half)))
    j = [b.add_joint_revolute(-1, first, axis=X, parent_xform=at(-0.4, 0, 0), child_xform=at(-0.2, 0, 0))]
    dof = hooke.ModelBuilder.JointDofConfig
    turned = (-0.2, 0.0, 0.0, 0.0, np.sin(-half), 0.0, np.cos(half))
    j.append(b.add_joint_d6(first, second, angular_axes=[dof(axis=Z), dof(axis=Y)], parent_xform=at(0.2, 0, 0), child_xform=turned))
    b.add_articulation(j)
    end = (*(0.4 * direction), 0.0, np.sin(half), 0.0, np.cos(half))
    b.add_joint_revolute(-1, second, axis=X, parent_xform=end, child_xform=at(0.2, 0, 0))
    run = Run(finished(b))
    effort = np.zeros(run.model.joint_dof_count, np.float32)
    effort[0] = 0.05
    run.control.joint_f.assign(effort)
    run.step(500, 1e-3)
    t1, t2 = run.joint_q[0], run.joint_q[-1]
    assert t1 > 0.5
    wanted = np.arctan2(np.sin(t1), np.cos(t1) * np.cos(beta)), np.arctan2(np.sin(t1) * np.cos(beta), np.cos(t1))
    assert min(abs((t2 - w + np.pi) % (2 * np.pi) - np.pi) for w in wanted) < 1e-4


def test_a_kinematic_body_drags_what_hangs_on_it():
    b = builder_of(0.0)
    hand = link(b, (0, 0, 0), is_kinematic=True)
    held = link(b, (0.5, 0, 0))
    b.add_articulation([b.add_joint_free(hand), b.add_joint_fixed(hand, held, parent_xform=at(0.5, 0, 0))])
    model = finished(b)
    run = Run(model)
    run.state.body_qd.assign(np.asarray([[0, 0.1, 0, 0, 0, 2.0], [0, 0, 0, 0, 0, 0]], np.float32))
    run.step(1, 1e-3)
    assert run.qd[1] == pytest.approx([0.0, 0.1 + 1.0, 0.0, 0.0, 0.0, 2.0], abs=1e-5)


@pytest.mark.parametrize("build", [four_bar, cartpole])
@pytest.mark.parametrize("workers", [1, 2])
def test_worlds_that_are_alike_move_alike(build, workers, monkeypatch):
    monkeypatch.setattr(hooke.config, "workers", workers)
    efforts = np.linspace(0.01, 0.05, finished(build()).joint_dof_count).astype(np.float32)
    runs = []
    for count in (1, 5):
        run = Run(finished(replicated(build(), count)))
        run.control.joint_f.assign(np.tile(efforts, count))
        runs.append(run.step(50, 1e-3))
    assert np.array_equal(runs[1].q.reshape(5, -1), np.tile(runs[0].q.reshape(1, -1), (5, 1)))


def test_worlds_of_several_kinds():
    whole, alone = hooke.ModelBuilder(), []
    for build in (four_bar, cartpole, pendulum, four_bar):
        whole.add_world(build())
        alone.append(Run(finished(build())).step(20, 1e-3).q)
    assert np.array_equal(Run(finished(whole)).step(20, 1e-3).q, np.concatenate(alone))

"""Mechanisms with closed loops, as they are found in machines: gaps, curves of their points, and rest.

Lengths are those of :mod:`hooke.scenes`. Errors of velocity-level constraints are of the second order, w^2 L dt^2 / 2 in a step: without
the projection of poses, what stabilisation takes back leaves w^2 L dt^2 / (2 alpha).
"""

import numpy as np
import pytest

import hooke
from hooke.scenes.jansen_leg import jansen_points
from hooke.scenes.linkage import add_bar, add_hinge, add_plate, at_distances
from hooke.solvers import ConstrainedDynamicsConfig, ConstraintStabilizationConfig, SolverKamino
from tests.kamino.scenes import Run, builder_of, finished, four_bar, replicated
from tests.kamino.test_mechanisms import gaps

CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.3, 0.25, 0.3
START = np.radians(20.0)


def motor(rate):
    """A drive that holds the speed of a crank; angles about Y are those from X to Z with the other sign."""
    return {} if rate is None else {"target_qd": -rate, "target_kd": 1.0e3, "actuator_mode": 2}


def crank_rocker(rate=None, gravity=-9.81, size=1.0, angle=START):
    b = builder_of(gravity)
    o, g = np.zeros(3), size * np.array([GROUND, 0, 0])
    p = size * CRANK * np.array([np.cos(angle), 0, np.sin(angle)])
    q = at_distances(p, g, size * COUPLER, size * ROCKER)
    bars = [add_bar(b, s, e, radius=0.01 * size) for s, e in ((o, p), (p, q), (q, g))]
    joints = [add_hinge(b, -1, bars[0], o, **motor(rate)), add_hinge(b, bars[0], bars[1], p), add_hinge(b, bars[1], bars[2], q)]
    b.add_articulation(joints)
    add_hinge(b, -1, bars[2], g)
    return b


def leg(rate=None, gravity=-9.81, angle=START):
    """Jansen's: seven parts, ten hinges, three loops."""
    b = builder_of(gravity)
    p = jansen_points(angle)
    o = np.zeros(3)
    crank = add_bar(b, o, p["crank"])
    upper, lower = add_bar(b, p["crank"], p["knee"]), add_bar(b, p["crank"], p["heel"])
    shoulder = add_plate(b, [p["pivot"], p["knee"], p["back"]])
    rod, tendon = add_bar(b, p["pivot"], p["heel"]), add_bar(b, p["back"], p["ankle"])
    foot = add_plate(b, [p["heel"], p["ankle"], p["foot"]])
    tree = [add_hinge(b, -1, crank, o, **motor(rate))]
    for first, second, place in (
        (crank, upper, "crank"), (crank, lower, "crank"), (upper, shoulder, "knee"), (lower, rod, "heel"), (shoulder, tendon, "back"),
        (tendon, foot, "ankle"),
    ):  # fmt: skip
        tree.append(add_hinge(b, first, second, p[place]))
    b.add_articulation(tree)
    for first, second, place in ((-1, shoulder, "pivot"), (-1, rod, "pivot"), (lower, foot, "heel")):
        add_hinge(b, first, second, p[place])
    return b


def middle_of_coupler(angle, size=1.0):
    p = size * CRANK * np.array([np.cos(angle), 0, np.sin(angle)])
    return 0.5 * (p + at_distances(p, size * np.array([GROUND, 0, 0]), size * COUPLER, size * ROCKER))


def middle_of_foot(angle):
    p = jansen_points(angle)
    return (p["heel"] + p["ankle"] + p["foot"]) / 3.0


MACHINES = {"crank and rocker": (crank_rocker, 1, middle_of_coupler), "leg": (leg, 6, middle_of_foot)}


@pytest.mark.parametrize("rate", [1.0, 10.0, 50.0])
@pytest.mark.parametrize("name", MACHINES)
def test_loops_are_closed_and_points_stay_on_their_curves(name, rate):
    """Gaps below 1e-6 m, at 50 rad/s in steps of 1 ms too, with default settings; the crank is brought to speed in one step."""
    build, body, point = MACHINES[name]
    run, worst = Run(finished(build(rate))), []

    def look(r):
        angle = START - r.solver.workspace.joints.q.numpy()[0]
        worst.append((max(gaps(r)), np.abs(r.q[body, :3] - point(angle)).max()))

    run.step(300, 1e-3, look)
    gap, off = np.max(worst, axis=0)
    assert gap < 1e-6 and off < 2e-6
    assert run.joint_qd[0] == pytest.approx(-rate, rel=0.05)


@pytest.mark.parametrize("size", [0.01, 10.0])
def test_gaps_are_those_of_rounding_whatever_the_size(size):
    """Ten metres at 50 rad/s, steps of 1 / 240 s: a fifth of a radian each."""
    run, worst = Run(finished(crank_rocker(50.0, size=size))), []
    run.step(100, 1.0 / 240.0, lambda r: worst.append(max(gaps(r))))
    assert max(worst) < 2e-6 * max(size, 0.05)


@pytest.mark.parametrize("name", MACHINES)
def test_a_mechanism_at_rest_stays_at_rest(name):
    run = Run(finished(MACHINES[name][0](gravity=0.0)))
    before = run.q.copy()
    run.step(1000, 1e-3)
    assert np.abs(run.q - before).max() < 1e-6 and max(gaps(run)) < 1e-6


def test_the_rocker_angle_is_that_of_freudenstein():
    """K1 cos f - K2 cos t + K3 = cos(t - f), K1 = d / a, K2 = d / c, K3 = (a^2 - b^2 + c^2 + d^2) / (2 a c)."""
    a, b, c, d = CRANK, COUPLER, ROCKER, GROUND
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2.0 * a * c)
    run = Run(finished(crank_rocker(10.0)))
    q = at_distances(CRANK * np.array([np.cos(START), 0, np.sin(START)]), np.array([GROUND, 0, 0]), COUPLER, ROCKER)
    first = np.arctan2(q[2], q[0] - GROUND)
    wrong = []

    def look(r):
        q = r.solver.workspace.joints.q.numpy()
        t, f = START - q[0], first + q[3] * np.sign(-1.0)
        wrong.append(abs(k1 * np.cos(f) - k2 * np.cos(t) + k3 - np.cos(t - f)))

    run.step(700, 1e-3, look)
    assert abs(run.solver.workspace.joints.q.numpy()[0]) > 2.0 * np.pi  # more than a turn of the crank
    assert max(wrong) < 2e-5


@pytest.mark.parametrize(("alpha", "bound"), [(0.01, 1.4e-4), (0.1, 1.4e-5)])
def test_stabilisation_alone_leaves_what_theory_says(alpha, bound):
    """The paper's formulation has no projection: w^2 L dt^2 / (2 alpha), for L = 0.112 m, 5 rad/s and 1 ms."""
    config = SolverKamino.Config(
        dynamics=ConstrainedDynamicsConfig(eliminate_bilateral=False), constraints=ConstraintStabilizationConfig(alpha=alpha)
    )
    run = Run(finished(four_bar(ground=True, gravity=0.0)), config)
    v, side = 5.0, 0.112
    qd = np.zeros((4, 6), np.float32)
    qd[1] = qd[3] = (0.5 * side * v, 0, 0, 0, v, 0)
    qd[2] = (side * v, 0, 0, 0, 0, 0)
    run.state.body_qd.assign(qd)
    largest = []
    run.step(round(3.0 / alpha), 1e-3, lambda r: largest.append(max(gaps(r))))
    assert 0.05 * bound < largest[-1] < 1.5 * bound


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_energy_of_a_loop(integrator):
    """The leg falls from rest under its own weight; what it gains in speed it loses in height."""
    config = SolverKamino.Config(integrator=integrator)
    model = finished(leg())
    run, energies = Run(model, config), []
    run.step(1000, 2.5e-4, lambda r: energies.append(hooke.measure_energy(model, r.state)))
    start, total = energies[0].total, np.array([e.total for e in energies])
    moved = max(e.kinetic for e in energies)
    assert moved > 0.02
    assert np.abs(total - start).max() < (0.01 if integrator == "euler" else 0.001) * moved
    assert max(gaps(run)) < 1e-6


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_replicas_are_the_single_world_bit_by_bit(workers, monkeypatch):
    """A thousand steps, with limits and dry friction in the loop."""
    monkeypatch.setattr(hooke.config, "workers", workers)
    runs = []
    for count in (1, 7):
        run = Run(finished(replicated(four_bar(ground=True, limit=0.4, friction=0.002), count)))
        run.control.joint_f.assign(np.tile(np.asarray([0.05, 0, 0, 0], np.float32), count))
        runs.append(run.step(1000, 1e-3))
    assert np.abs(runs[0].joint_q[0]) > 0.3
    for name in ("body_q", "body_qd", "joint_q", "joint_lambdas"):
        one, many = (getattr(r.state, name).numpy() for r in runs)
        assert np.array_equal(many.reshape(7, -1), np.tile(one.reshape(1, -1), (7, 1)))


def test_a_world_that_explodes_leaves_the_others_alone():
    runs = []
    for push in (0.0, 1e30):
        run = Run(finished(replicated(crank_rocker(), 3)))
        effort = np.zeros(run.model.joint_dof_count, np.float32)
        effort[[0, 4, 8]] = 0.1, push, 0.2
        run.control.joint_f.assign(effort)
        runs.append(run.step(50, 1e-3))
    a, b = (r.q.reshape(3, -1) for r in runs)
    assert np.array_equal(a[[0, 2]], b[[0, 2]]) and not np.array_equal(a[1], b[1])

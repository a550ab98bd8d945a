"""All parts of the effort along a degree of freedom at once, against the exact step in float64."""

import numpy as np
import pytest

from hooke.solvers import SolverVBD

from .bodies import chain, move, one_joint

DT = 0.01


def settings(rng, fast):
    """A slider of one kilogram with a drive, friction, walls, and a velocity limit if ``fast`` is not None."""
    return {
        "target_ke": 10.0 ** rng.uniform(0.0, 7.0), "target_kd": 10.0 ** rng.uniform(-1.0, 3.0), "target_q": rng.uniform(-1.0, 1.0),
        "effort_limit": 10.0 ** rng.uniform(0.0, 5.0), "friction": rng.choice([0.0, 1.0, 20.0]), "damping": rng.choice([0.0, 2.0]),
        "limit_lower": -rng.uniform(0.0, 0.5), "limit_upper": rng.uniform(0.0, 0.5), "limit_ke": 10.0 ** rng.uniform(2.0, 9.0),
        "limit_kd": rng.choice([0.0, 10.0]), "velocity_limit": 1e6 if fast is None else 10.0 ** rng.uniform(-1.5, 1.5),
    }  # fmt: skip


def exact(p, x0, v0, load):
    """Backward Euler of the unit mass by bisection: the imbalance grows with x."""
    target, reach = np.clip(p["target_q"], p["limit_lower"], p["limit_upper"]), DT * p["velocity_limit"]

    def imbalance(x, friction):
        rate = (x - x0) / DT
        e = (
            np.clip(p["target_ke"] * (target - x) - p["target_kd"] * rate, -p["effort_limit"], p["effort_limit"])
            - p["damping"] * rate
        )
        for side, bound in ((1.0, p["limit_lower"]), (-1.0, p["limit_upper"])):
            kd = p["limit_kd"] if side * (bound - x0) > 0.0 else 0.0
            e += side * max(0.0, side * (p["limit_ke"] * (bound - x) - kd * rate))
        return (x - x0 - DT * v0) / DT**2 - load - e + friction

    if abs(imbalance(x0, 0.0)) <= p["friction"]:
        return x0
    side = 1.0 if imbalance(x0, 0.0) < 0.0 else -1.0
    low, high = 0.0, min(reach, 1e3)
    if side * imbalance(x0 + side * reach, side * p["friction"]) < 0.0:
        return x0 + side * reach
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if side * imbalance(x0 + side * middle, side * p["friction"]) < 0.0 else (low, middle)
    return x0 + side * low


@pytest.mark.parametrize("fast", [None, 1.0], ids=["free", "limited"])
@pytest.mark.parametrize("iterations", [5, 10])
def test_any_mix_of_parts_is_met(fast, iterations):
    """Walls, drives that saturate, friction and velocity limits, from soft to stiff, under loads that jump."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        p = settings(rng, fast)
        model = one_joint("prismatic", axis=0, **p)
        control, solver, state, other = model.control(), SolverVBD(model, iterations=iterations), model.state(), model.state()
        load = 0.0
        for n in range(30):
            load = float(rng.normal() * 10.0 ** rng.uniform(0.0, 3.0)) if n % 5 == 0 else load
            control.joint_f.assign([load])
            x, v = float(state.body_q.numpy()[0, 0]), float(state.body_qd.numpy()[0, 0])
            solver.step(state, other, control, None, DT)
            state, other = other, state
            assert state.body_q.numpy()[0, 0] == pytest.approx(exact(p, x, v, np.float32(load)), abs=2e-5)


def test_what_lies_beyond_a_soft_wall_comes_back_against_friction():
    """It sticks where the wall's push is the friction, and not where it began."""
    model = one_joint("prismatic", axis=0, limit_lower=-1.0, limit_upper=0.2, limit_ke=100.0, friction=2.0, damping=20.0)
    state = model.state()
    q = state.body_q.numpy()
    q[0, 0] = 0.5
    state.body_q.assign(q)
    assert move(model, 600, DT, state=state).q[0, 0] == pytest.approx(0.22, abs=1e-3)


def test_hinges_in_a_row_meet_their_parts_together():
    """Six hinges with saturated drives, friction and walls: ten iterations give what many do."""
    model = chain(6, 0.2, mass=0.3, bob=5.0, joint="revolute", axis=(0, 1, 0), target_ke=200.0, target_kd=0.5, target_q=0.4,
                  effort_limit=3.0, friction=0.2, limit_lower=-0.3, limit_upper=0.3, limit_ke=1e4)  # fmt: skip
    few, many = SolverVBD(model), SolverVBD(model, iterations=60)
    state, a, b = model.state(), model.state(), model.state()
    for _ in range(60):
        few.step(state, a, None, None, DT)
        many.step(state, b, None, None, DT)
        assert np.allclose(a.body_qd.numpy(), b.body_qd.numpy(), atol=2e-3)
        state.assign(b)

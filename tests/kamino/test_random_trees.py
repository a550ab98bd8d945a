"""Trees of random bodies and joints that tumble freely: what no mechanism may do, whatever it is made of."""

import numpy as np
import pytest

import hooke
from hooke.solvers import SolverKamino
from tests.kamino.scenes import Dof, Run, X, Y, Z, builder_of, finished, link
from tests.kamino.test_readout import moving

ADDERS = (
    lambda b, p, c, f: b.add_joint_revolute(p, c, axis=Y, **f),
    lambda b, p, c, f: b.add_joint_prismatic(p, c, axis=X, limit_lower=-np.inf, limit_upper=np.inf, **f),
    lambda b, p, c, f: b.add_joint_ball(p, c, **f),
    lambda b, p, c, f: b.add_joint_fixed(p, c, **f),
    lambda b, p, c, f: b.add_joint_d6(p, c, angular_axes=[Dof(axis=Y), Dof(axis=Z)], **f),
    lambda b, p, c, f: b.add_joint_revolute(p, c, axis=Z, armature=0.01, **f),
)


def tree(rng, count):
    """Masses from 10 g to 10 kg, sizes from 1 to 30 cm."""

    def frame():
        turn = rng.normal(size=4)
        return (*0.2 * rng.normal(size=3), *turn / np.linalg.norm(turn))

    b, bodies, joints = builder_of(0.0), [], []
    for k in range(count):
        half = 10.0 ** rng.uniform(-2, -0.5, 3)
        bodies.append(
            link(b, 0.3 * rng.normal(size=3), mass=10.0 ** rng.uniform(-2, 1), half=half, com=tuple(0.05 * rng.normal(size=3)))
        )
        if k == 0:
            joints.append(b.add_joint_free(bodies[0]))
        else:
            frames = {"parent_xform": frame(), "child_xform": frame()}
            joints.append(ADDERS[rng.integers(len(ADDERS))](b, bodies[rng.integers(k)], bodies[k], frames))
    b.add_articulation(joints)
    return b


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
@pytest.mark.parametrize("seed", range(6))
def test_trees_keep_momentum_and_gain_no_energy(seed, integrator):
    """At moderate speed they keep their energy within 1 per cent; thrown about by radians in a step, they gain none."""
    rng = np.random.default_rng(seed)
    model = finished(tree(rng, int(rng.integers(3, 9))))
    for speed, dt, least in ((0.3, 1e-3, 0.99), (15.0, 1.0 / 60.0, 0.0)):
        state = moving(model, seed)
        state.joint_qd.assign((speed * state.joint_qd.numpy()).astype(np.float32))
        hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
        run = Run(model, SolverKamino.Config(integrator=integrator), state=state)
        before, start, energies = hooke.measure_momentum(model, run.state), hooke.measure_energy(model, run.state).kinetic, []
        for _ in range(150):
            energies.append(hooke.measure_energy(model, run.step(1, dt).state).kinetic)
        after = hooke.measure_momentum(model, run.state)
        assert least * start < min(energies) and max(energies) < 1.02 * start
        assert after.linear == pytest.approx(before.linear, abs=1e-5 * np.abs(before.linear).max() + 1e-6)
        if least > 0.0:
            assert after.angular == pytest.approx(before.angular, abs=1e-4 * np.abs(before.angular).max())

"""Bodies without joints: known answers of backward Euler, momentum, wrenches, what does not move, what is refused."""

import numpy as np
import pytest

import hooke
from hooke.model.energy import measure_energy
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, finalize

from .bodies import at, move, spin_of

FORMULATIONS = pytest.mark.parametrize("options", [{}, {"rigid_compliant_alm": False}], ids=["default", "page"])
TOP = (0.03, 0.05, 0.06)


def body(inertia=(0.1, 0.1, 0.1), gravity=0.0, qd=(0.0,) * 6, **options):
    b = hooke.ModelBuilder(gravity=gravity)
    b.add_body(mass=2.0, inertia=np.diag(inertia), **options)
    model = finalize(b)
    model.body_qd.assign(np.asarray([qd], np.float32))
    return model


def test_free_fall_is_that_of_symplectic_euler():
    dt, n = 1.0 / 60.0, 120
    motion = move(body(gravity=-GRAVITY, com=(0.1, 0.2, 0.3)), n, dt)
    t = n * dt
    assert motion.q[0, 2] == pytest.approx(-0.5 * GRAVITY * t * (t + dt), rel=1e-5)
    assert np.allclose(motion.q[0, 3:], UPRIGHT, atol=1e-6) and motion.qd[0, 2] == pytest.approx(-GRAVITY * t, rel=1e-5)


@pytest.mark.parametrize("speed", [1.0, 100.0])
def test_a_round_body_spins_on_for_ever(speed):
    """A quaternion of first order would lose omega^3 dt^2 / 12 in every step."""
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    motion = move(body(qd=(0.0, 0.0, 0.0, *(speed * axis))), 600, 1.0 / 60.0)
    assert np.allclose(motion.qd[0, 3:], speed * axis, rtol=1e-4)


@pytest.mark.parametrize("dt", [1.0 / 600.0, 1.0 / 60.0])
def test_an_asymmetric_top_keeps_its_angular_momentum_and_gains_no_energy(dt):
    """Spun about the middle axis, which is unstable. Backward Euler loses energy, like a body that is not quite rigid."""
    model = body(TOP, qd=(0.0, 0.0, 0.0, 0.1, 8.0, -0.1))
    start = spin_of(move(model, 0, dt))[0]
    energies = [measure_energy(model, model.state()).kinetic]
    flipped = []

    def each(n, state):
        if n % 20 == 0:
            energies.append(measure_energy(model, state).kinetic)
            flipped.append(float(state.body_q.numpy()[0, 5]) ** 2 + float(state.body_q.numpy()[0, 3]) ** 2)

    motion = move(model, 2000, dt, each=each)
    assert np.allclose(spin_of(motion)[0], start, atol=2e-5 * np.linalg.norm(start))
    assert max(flipped) > 0.5  # it has tumbled
    assert (np.diff(energies) < 1e-5 * energies[0]).all()
    least = 0.5 * start @ start / max(TOP)
    assert energies[-1] > least * (1.0 - 1e-4)


@FORMULATIONS
def test_a_wrench_acts_at_the_centre_of_mass(options):
    dt, n, wrench = 0.01, 50, np.array([4.0, 0.0, 0.0, 0.0, 0.0, 0.3])
    motion = move(body(com=(0.0, 0.5, 0.0)), n, dt, body_f=[wrench], **options)
    assert np.allclose(motion.qd[0], wrench / (2.0, 2.0, 2.0, 0.1, 0.1, 0.1) * n * dt, rtol=5e-4, atol=2e-5)


def test_what_forces_do_not_move_is_given_the_velocity_of_its_way():
    b = hooke.ModelBuilder(gravity=-GRAVITY)
    b.add_body(mass=1.0, inertia=np.eye(3))
    b.add_body(is_kinematic=True, label="hand", com=(0.2, 0.0, 0.0))
    b.add_body(label="ghost")
    model = finalize(b)
    solver, state, other = SolverVBD(model), model.state(), model.state()
    for n in range(3):
        q = state.body_q.numpy()
        q[1] = (0.1 * n, 0.0, 0.0, 0.0, 0.0, np.sin(0.1 * n), np.cos(0.1 * n))
        state.body_q.assign(q)
        before = state.body_q.numpy().copy(), state.body_qd.numpy().copy()
        solver.step(state, other, None, None, 0.1)
        assert np.array_equal(state.body_q.numpy(), before[0]) and np.array_equal(state.body_qd.numpy(), before[1])
        assert np.array_equal(other.body_q.numpy()[1:], before[0][1:])
        state, other = other, state
    com = [np.array((0.1 * n + 0.2 * np.cos(0.2 * n), 0.2 * np.sin(0.2 * n), 0.0)) for n in (1, 2)]
    assert np.allclose(state.body_qd.numpy()[1], [*((com[1] - com[0]) / 0.1), 0.0, 0.0, 2.0], atol=2e-5)
    assert not state.body_qd.numpy()[2].any() and state.body_qd.numpy()[0, 2] < -2.9


def test_what_the_caller_moves_needs_no_reset():
    """The start of a step is what its state says, and its velocity is not the way to there."""
    model = body(qd=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    motion = move(model, 3, 0.01)
    motion.state.body_q.assign([at(5.0, 5.0, 5.0)])
    motion = move(model, 1, 0.01, state=motion.state, solver=motion.solver)
    assert np.allclose(motion.q[0, :3], (5.01, 5.0, 5.0), atol=1e-6) and np.allclose(motion.qd[0, :3], (1.0, 0.0, 0.0), atol=1e-4)


def test_masses_that_make_no_motion_are_refused():
    b = hooke.ModelBuilder()
    arm = b.add_link(label="arm")
    b.add_articulation([b.add_joint_ball(-1, arm)])
    b.add_body(mass=1.0, inertia=np.eye(3))
    with pytest.raises(ValueError, match=r"'arm' \(index 0\).*no mass"):
        SolverVBD(finalize(b))
    model = body()
    model.body_inertia.assign(np.zeros((1, 3, 3), np.float32))
    with pytest.raises(ValueError, match="least eigenvalue"):
        SolverVBD(model)


@FORMULATIONS
def test_bodies_fall_by_the_gravity_of_their_world(options):
    one, many = hooke.ModelBuilder(), hooke.ModelBuilder()
    one.add_body(mass=1.0, inertia=np.eye(3))
    many.replicate(one, 2)
    model = finalize(many)
    model.set_gravity((0.0, 0.0, -1.0), world=0)
    model.set_gravity((2.0, 0.0, 0.0), world=1)
    motion = move(model, 10, 0.1, **options)
    assert np.allclose(motion.qd[:, :3], [(0.0, 0.0, -1.0), (2.0, 0.0, 0.0)], atol=1e-5)

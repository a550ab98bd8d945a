"""Field report "reset": after a reset a solver is a new one, and what the caller authors is what the next step starts from."""

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder, StateFlags
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT, add_points, finalize, simulate, surface

DT = 1 / 240


def cloth_on_ground():
    """A cloth dropped 1 cm on the ground at 0.5 m/s: it slides, and sticks after 0.1 s."""
    b = ModelBuilder()
    b.add_ground_plane(cfg=surface())
    b.add_cloth_grid(
        pos=(0, 0, 0.02), rot=UPRIGHT, vel=(0.5, 0.1, 0), dim_x=4, dim_y=4, cell_x=0.05, cell_y=0.05, mass=0.002, tri_ke=300.0,
        tri_ka=300.0, tri_kd=0.1, edge_ke=1e-3, edge_kd=1e-4, particle_radius=0.01,
    )  # fmt: skip
    return finalize(b)


def test_reset_equals_a_fresh_solver():
    """200 steps of sliding and sticking, reset, 100 steps: positions and velocities equal those of a new solver to 1e-6."""
    model = cloth_on_ground()
    fresh = simulate(model, steps=100, dt=DT)
    run = simulate(model, steps=200, dt=DT)
    assert np.abs(run.q - model.particle_q.numpy()).max() > 0.01
    run.solver.reset(run.state)
    np.testing.assert_array_equal(run.state.particle_q.numpy(), model.particle_q.numpy())
    np.testing.assert_array_equal(run.state.particle_qd.numpy(), model.particle_qd.numpy())
    run = simulate(model, steps=100, dt=DT, state=run.state, solver=run.solver, contacts=run.contacts)
    np.testing.assert_allclose(run.q, fresh.q, atol=1e-6)
    np.testing.assert_allclose(run.qd, fresh.qd, atol=1e-6)


def test_reset_restores_what_the_flags_name():
    """PARTICLE_Q alone, PARTICLE_QD alone, nothing: the other arrays keep what the caller wrote."""
    model = cloth_on_ground()
    solver = SolverVBD(model)
    for flags in (StateFlags.PARTICLE_Q, StateFlags.PARTICLE_QD, StateFlags.PARTICLE, StateFlags.BODY, StateFlags.NONE):
        state = model.state()
        state.particle_q.fill_(7.0)
        state.particle_qd.fill_(8.0)
        solver.reset(state, flags=flags)
        q = model.particle_q.numpy() if flags & StateFlags.PARTICLE_Q else np.full((25, 3), 7.0)
        qd = model.particle_qd.numpy() if flags & StateFlags.PARTICLE_QD else np.full((25, 3), 8.0)
        np.testing.assert_array_equal(state.particle_q.numpy(), q)
        np.testing.assert_array_equal(state.particle_qd.numpy(), qd)


def resting():
    """Three particles at rest on the ground, after a second of holding on by friction on a slope of 10 degrees."""
    b = ModelBuilder(gravity=(9.81 * np.sin(np.radians(10)), 0.0, -9.81 * np.cos(np.radians(10))))
    b.add_ground_plane(cfg=surface(mu=1.0))
    add_points(b, [(0, 0, 0.0945), (1, 0, 0.0945), (0, 1, 0.0945)])
    model = finalize(b)
    run = simulate(model, steps=240, dt=DT)
    assert np.abs(run.qd).max() < 1e-4
    return model, run


@pytest.mark.parametrize("reset", [True, False], ids=["with reset", "without reset"])
def test_a_teleported_particle_keeps_the_velocity_it_was_given(reset):
    """Particles that hold on to a slope are put 0.5 m aside and 1 m up with a velocity of (1, 2, 3): after one step without contact
    the velocity is (1, 2, 3) + g dt to 1e-6, with and without reset."""
    model, run = resting()
    state = run.state
    authored = state.particle_q.numpy() + np.array([0.5, 0.0, 1.0], np.float32)
    state.particle_q.assign(authored)
    state.particle_qd.assign(np.tile([1.0, 2.0, 3.0], (3, 1)).astype(np.float32))
    if reset:
        run.solver.reset(state, flags=0)
    run = simulate(model, steps=1, dt=DT, state=state, solver=run.solver, contacts=run.contacts)
    np.testing.assert_allclose(run.qd, np.tile(np.array([1, 2, 3]) + model.gravity.numpy()[0] * DT, (3, 1)), atol=1e-5)
    np.testing.assert_allclose(run.q, authored + DT * run.qd, atol=1e-6)


@pytest.mark.parametrize("reset", [True, False], ids=["with reset", "without reset"])
def test_a_teleported_particle_is_not_pulled_back(reset):
    """The same particles put 0.5 m aside on the slope at rest: they stay where they were put, to 1e-4 m in the next second."""
    model, run = resting()
    state = run.state
    authored = state.particle_q.numpy() + np.array([0.3, 0.4, 0.0], np.float32)
    state.particle_q.assign(authored)
    state.particle_qd.zero_()
    if reset:
        run.solver.reset(state, flags=0)
    run = simulate(model, steps=240, dt=DT, state=state, solver=run.solver, contacts=run.contacts)
    np.testing.assert_allclose(run.q, authored, atol=1e-4)


def carried():
    """A particle on a kinematic plate that moves at 1 m/s."""
    b = ModelBuilder()
    plate = b.add_body(is_kinematic=True, mass=1.0, inertia=np.eye(3))
    b.add_shape_box(plate, xform=(0, 0, -0.1, *UPRIGHT), hx=5, hy=5, hz=0.1, cfg=surface(mu=1.0))
    add_points(b, [(0, 0, 0.0945)])
    model = finalize(b)
    solver, contacts = SolverVBD(model), model.contacts()
    state, other = model.state(), model.state()
    for n in range(120):
        state.body_q.assign(np.array([(n * DT, 0, 0, *UPRIGHT)], np.float32))
        model.collide(state, contacts)
        solver.step(state, other, None, contacts, DT)
        state, other = other, state
    return model, solver, contacts, state, other


def test_a_plate_that_is_put_elsewhere_after_a_reset_has_not_moved_there():
    """The plate carries the particle (1 m/s within 1 %). Plate and particle are put back at the start by a reset: the first step
    leaves the particle at rest, to 1e-3 m/s, although the plate was elsewhere one step before."""
    model, solver, contacts, state, other = carried()
    assert state.particle_qd.numpy()[0, 0] == pytest.approx(1.0, rel=0.01)
    solver.reset(state)
    np.testing.assert_array_equal(state.body_q.numpy(), model.body_q.numpy())
    model.collide(state, contacts)
    solver.step(state, other, None, contacts, DT)
    assert np.abs(other.particle_qd.numpy()[0, :2]).max() < 1e-3


def test_arrays_of_another_device_are_refused():
    """reset names the array and the devices."""
    model = cloth_on_ground()
    state = model.state()
    home, state.particle_q.device = state.particle_q.device, "cuda:0"
    try:
        with pytest.raises(ValueError, match=r"state\.particle_q is on device cuda:0"):
            SolverVBD(model).reset(state)
    finally:
        state.particle_q.device = home


def test_absent_arrays_are_skipped():
    """A state without velocities is reset as far as it goes."""
    model = cloth_on_ground()
    state = model.state()
    state.particle_qd = None
    state.particle_q.fill_(1.0)
    SolverVBD(model).reset(state, wp.array([True], dtype=wp.bool, device="cpu"))
    # the mask of length world_count leaves out what belongs to no world, which is everything here
    assert (state.particle_q.numpy() == 1.0).all()
    SolverVBD(model).reset(state, wp.array([True, True], dtype=wp.bool, device="cpu"))
    np.testing.assert_array_equal(state.particle_q.numpy(), model.particle_q.numpy())

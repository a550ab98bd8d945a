"""Free fall and momentum: what internal forces must not change."""

import numpy as np
import pytest

import hooke
from tests.support import UPRIGHT, add_points, finalize, simulate


def everything(gravity, damping):
    """A free cloth, a soft block, a spring pair and a lone particle at the height 0, at rest."""
    builder = hooke.ModelBuilder(gravity=gravity)
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 0.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=3, dim_y=3, cell_x=0.1, cell_y=0.1, mass=0.01,
        tri_ke=1e3, tri_ka=1e3, tri_kd=damping, edge_ke=1.0, edge_kd=0.1 * damping,
    )  # fmt: skip
    builder.add_soft_grid(
        pos=(1.0, 0.0, 0.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=2, dim_y=2, dim_z=2, cell_x=0.15, cell_y=0.15, cell_z=0.15,
        density=1000.0, k_mu=5e4, k_lambda=5e4, k_damp=damping,
    )  # fmt: skip
    i = add_points(builder, [(2.0, 0.0, 0.0), (2.1, 0.0, 0.0), (3.0, 0.0, 0.0)]).start
    builder.add_spring(i, i + 1, 1e3, damping)
    return finalize(builder)


@pytest.mark.parametrize("damping", [0.0, 1.0])
@pytest.mark.parametrize(("dt", "steps", "g", "drop"), [(1 / 300, 60, 9.81, 0.19947), (1 / 600, 300, 1000.0, 125.41667)])
def test_free_fall_is_exact(dt, steps, g, drop, damping):
    """Theory notes, case 18: the drop is g dt^2 N (N + 1)/2 whatever the elasticity and damping of a body at rest; 1e-5 of it.

    No sideways drift: 1e-6 m over the first drop (field report "internal forces are internal").
    """
    assert abs(g * dt**2 * steps * (steps + 1) / 2.0 - drop) < 1e-5 * drop
    model = everything(-g, damping)
    start = model.particle_q.numpy()
    run = simulate(model, steps=steps, dt=dt)
    moved = run.q - start
    speed = g * dt * steps
    assert np.abs(moved[:, 2] + drop).max() < 1e-5 * drop
    assert np.abs(moved[:, :2]).max() < 5e-6 * drop
    assert np.abs(run.qd[:, 2] + speed).max() < 1e-4 * speed


def test_every_world_falls_with_its_own_gravity():
    """Theory notes, case 18: one step of 0.1 s in worlds with gravity -1 and -5: v -0.1 and -0.5, z -0.01 and -0.05; 1e-6.

    A particle outside the worlds takes the last entry of ``model.gravity``, the builder's gravity.
    """
    builder = hooke.ModelBuilder(gravity=-2.0)
    add_points(builder, [(0.0, 0.0, 0.0)])
    for gravity in (-1.0, -5.0):
        builder.begin_world(gravity=gravity)
        add_points(builder, [(0.0, 0.0, 0.0)])
        builder.end_world()
    run = simulate(finalize(builder), steps=1, dt=0.1)
    assert np.allclose(run.qd[:, 2], [-0.2, -0.1, -0.5], atol=1e-6)
    assert np.allclose(run.q[:, 2], [-0.02, -0.01, -0.05], atol=1e-6)


def test_external_forces_accelerate():
    """particle_f of 3 N on 2 kg for one step of 0.1 s: v 0.15, x 0.015; the solver leaves the array alone."""
    builder = hooke.ModelBuilder(gravity=0.0)
    add_points(builder, [(0.0, 0.0, 0.0)], mass=2.0)
    model = finalize(builder)
    state = model.state()
    state.particle_f.assign([(3.0, 0.0, 0.0)])
    run = simulate(model, steps=1, dt=0.1, state=state)
    assert np.allclose(run.qd, [(0.15, 0.0, 0.0)], atol=1e-7)
    assert np.allclose(run.q, [(0.015, 0.0, 0.0)], atol=1e-7)
    assert np.allclose(state.particle_f.numpy(), [(3.0, 0.0, 0.0)])


def test_internal_forces_keep_the_momentum():
    """Theory notes, case 30: deformed cloth, block and springs swing freely; linear momentum stays at zero to 1e-5 of the
    momenta inside, once every step is converged."""
    model = everything(0.0, 0.2)
    state = model.state()
    q = state.particle_q.numpy()
    rng = np.random.default_rng(31)
    state.particle_q.assign((q + rng.uniform(-0.01, 0.01, q.shape)).astype(np.float32))
    mass = model.particle_mass.numpy().astype(np.float64)
    exchanged = 0.0

    def each(n, state):
        nonlocal exchanged
        exchanged = max(exchanged, (mass[:, None] * np.abs(state.particle_qd.numpy())).sum())

    run = simulate(model, steps=50, dt=1 / 600, state=state, iterations=100, each=each)
    momentum = hooke.measure_momentum(model, run.state).linear
    assert exchanged > 1.0
    assert np.abs(momentum).max() < 1e-5 * exchanged


def test_folded_hinge_at_rest_stays():
    """Field report: a hinge whose rest shape is folded, without gravity, stays where it is to 2e-7 of its size in 1 s."""
    builder = hooke.ModelBuilder(gravity=0.0)
    add_points(builder, [(0.0, 0.8, 0.5), (0.0, -0.9, 0.4), (-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)], 0.1)
    builder.add_edge(0, 1, 2, 3, edge_ke=10.0, edge_kd=0.1)
    model = finalize(builder)
    run = simulate(model, steps=100, dt=0.01)
    assert np.abs(run.q - model.particle_q.numpy()).max() < 2e-7


def test_crumpled_cloth_falls_as_a_point():
    """Field report: a deformed cloth with bending and damping, thrown sideways: its centre of mass follows the closed form to 1e-6 m
    at the default number of iterations."""
    builder = hooke.ModelBuilder(gravity=-9.81)
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 0.0), rot=UPRIGHT, vel=(1.0, 0.0, 0.0), dim_x=4, dim_y=4, cell_x=0.1, cell_y=0.1, mass=0.01,
        tri_ke=100.0, tri_ka=100.0, tri_kd=0.1, edge_ke=0.1, edge_kd=0.01,
    )  # fmt: skip
    model = finalize(builder)
    state = model.state()
    q = state.particle_q.numpy()
    state.particle_q.assign((q + np.random.default_rng(32).uniform(-0.01, 0.01, q.shape)).astype(np.float32))
    start = hooke.measure_momentum(model, state).com
    steps, dt = 60, 1 / 300
    run = simulate(model, steps=steps, dt=dt, state=state)
    moved = hooke.measure_momentum(model, run.state).com - start
    assert np.allclose(moved, (dt * steps, 0.0, -9.81 * dt**2 * steps * (steps + 1) / 2.0), atol=1e-6)

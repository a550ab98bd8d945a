"""The penalty ramp of contacts with shapes: rigid_avbd_beta, rigid_avbd_linear_beta, rigid_contact_k_start."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.contact.normal import ramped_stiffness
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, add_points, finalize, simulate, surface, tilted

from .scenes import add_cloth, cloth_on_slope, same

DT = 0.01


@wp.kernel(enable_backward=False)
def ramp(c: wp.array2d(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = ramped_stiffness(c[i, 0], c[i, 1], c[i, 2], c[i, 3])


def test_law():
    """k + beta max(0, p), at most k_max."""
    rows = np.array([(100.0, 0.02, 1e4, 1e3), (100.0, -0.02, 1e4, 1e3), (900.0, 0.02, 1e4, 1e3), (100.0, 0.02, 0.0, 1e3)])
    out = wp.zeros(len(rows), dtype=wp.float64, device="cpu")
    wp.launch(ramp, dim=len(rows), inputs=[wp.array(rows, dtype=wp.float64, device="cpu")], outputs=[out], device="cpu")
    assert np.allclose(out.numpy(), [300.0, 100.0, 1000.0, 100.0], rtol=1e-15)


def particle_on_plane(mass=2.0, z=0.09, **material):
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(ke=3e3, kd=0.0, mu=0.5))
    add_points(builder, [(0.0, 0.0, z)], mass, radius=0.1)
    return finalize(builder, **{"ke": 1e3, "kd": 0.0, "mu": 0.5, **material})


def newton(iterations, beta, start, k=2e3, m=2.0, z=0.09, radius=0.1, dt=DT):
    """The first step of a particle on a plane, one Newton step per iteration; its height, and the force with the last stiffness."""
    d = target = -dt * dt * GRAVITY
    stiffness = min(start, k)
    for n in range(iterations):
        p = max(0.0, radius - z - d)
        if n:
            stiffness = min(stiffness + beta * p, k)
        d -= (m / dt**2 * (d - target) - stiffness * p) / (m / dt**2 + (p > 0.0) * stiffness)
    return z + d, stiffness * max(0.0, radius - z - d)


@pytest.mark.parametrize("iterations", [1, 2, 5, 12])
@pytest.mark.parametrize(("beta", "start"), [(2e4, 100.0), (1e5, 50.0), (1e6, 1e5), (1e-3, 700.0)])
def test_every_iteration_is_that_of_the_ramp(iterations, beta, start):
    """A first step against the same in float64: height to 2e-7 m, the force read afterwards is that of the last iteration, 1e-4."""
    model = particle_on_plane()
    run = simulate(model, steps=1, dt=DT, iterations=iterations, rigid_avbd_beta=beta, rigid_contact_k_start=start)
    z, force = newton(iterations, beta, start)
    assert abs(run.q[0, 2] - z) < 2e-7
    run.solver.update_contacts(run.contacts)
    assert abs(run.contacts.force.numpy()[0, 2] - force) < 1e-4 * force + 1e-3


def test_stiffness_starts_anew_in_every_step():
    """Nothing of the ramp is kept: steps of one solver equal steps of new ones that are reset in between."""
    model = particle_on_plane()
    options = {"iterations": 3, "rigid_avbd_beta": 1e4}
    run = simulate(model, steps=1, dt=DT, **options)
    for _ in range(5):
        state = run.state.clone()
        run.solver.reset(run.state, flags=0)
        run = simulate(model, steps=1, dt=DT, solver=run.solver, state=run.state)
        assert same(run.state, simulate(model, steps=1, dt=DT, state=state, **options).state)


@pytest.mark.parametrize(("beta", "iterations"), [(0.0, 1), (0.0, 7), (1e4, 1), (1e4, 7), (1e6, 7)])
def test_damping_is_not_ramped(beta, iterations):
    """A particle that is moved from z = 0.05 to 0.04 in 0.1 s: the damper of 20 N s/m adds 2 N to k p, whatever k has become."""
    model = particle_on_plane(mass=0.0, z=0.05, kd=40.0)
    forces = []
    for kd in (0.0, 40.0):
        model.soft_contact_kd = kd
        solver = SolverVBD(model, iterations=iterations, rigid_avbd_beta=beta)
        state, other, contacts = model.state(), model.state(), model.contacts()
        for z in (0.05, 0.04):
            state.particle_q.assign([(0.0, 0.0, z)])
            model.collide(state, contacts)
            solver.step(state, other, None, contacts, 0.1)
            state, other = other, state
        solver.update_contacts(contacts)
        forces.append(contacts.force.numpy()[0, :3].astype(np.float64))
    assert np.allclose(forces[1] - forces[0], (0.0, 0.0, 2.0), atol=2e-4)
    k = min(100.0 + (iterations - 1) * beta * 0.06, 2e3) if beta else 2e3
    assert np.allclose(forces[0], (0.0, 0.0, k * 0.06), atol=1e-3)


def test_without_a_ramp_nothing_changes():
    """beta = 0, or a linear beta of 0 beside another one: the start has no effect, bit by bit."""
    model = cloth_on_slope(height=0.03)
    wanted = simulate(model, steps=30, dt=DT).state
    assert same(simulate(model, steps=30, dt=DT, rigid_contact_k_start=1.0).state, wanted)
    assert same(simulate(model, steps=30, dt=DT, rigid_avbd_beta=1e5, rigid_avbd_linear_beta=0.0).state, wanted)
    assert not same(simulate(model, steps=30, dt=DT, rigid_avbd_beta=1e5).state, wanted)
    assert not same(simulate(model, steps=30, dt=DT, rigid_avbd_linear_beta=1e5).state, wanted)


def test_without_a_ramp_nothing_is_launched_for_it(monkeypatch):
    launched = []
    monkeypatch.setattr(SolverVBD, "_ramp_contacts", lambda self, contacts: launched.append(self))
    for beta in (0.0, 1e5):
        assert not launched
        simulate(particle_on_plane(), steps=1, dt=DT, iterations=4, rigid_avbd_beta=beta)
    assert len(launched) == 3  # between the iterations


def test_the_linear_one_is_the_one_that_acts():
    model = cloth_on_slope(height=0.03)
    wanted = simulate(model, steps=30, dt=DT, rigid_avbd_beta=1e5).state
    assert same(simulate(model, steps=30, dt=DT, rigid_avbd_linear_beta=1e5).state, wanted)
    assert same(simulate(model, steps=30, dt=DT, rigid_avbd_beta=3.0, rigid_avbd_linear_beta=1e5).state, wanted)


def test_a_start_at_the_ceiling_is_no_ramp():
    """k_start above the stiffness of the material: bit by bit as without a ramp, whatever beta."""
    model = cloth_on_slope(height=0.03)
    wanted = simulate(model, steps=30, dt=DT).state
    assert same(simulate(model, steps=30, dt=DT, rigid_avbd_beta=1e5, rigid_contact_k_start=1e9).state, wanted)


@pytest.mark.parametrize("beta", [1e5, 1e7])
def test_rest_height_and_force(beta):
    """After enough iterations the stiffness is the material's: the rest height is m g/k and the force m g, both to 1e-4."""
    model = particle_on_plane(kd=100.0)
    run = simulate(model, steps=200, dt=DT, iterations=40, rigid_avbd_beta=beta)
    assert abs(run.q[0, 2] - 0.1 + 2.0 * GRAVITY / 2e3) < 1e-6
    run.solver.update_contacts(run.contacts)
    assert abs(run.contacts.force.numpy()[0, 2] - 2.0 * GRAVITY) < 2e-3


@pytest.mark.parametrize("iterations", [3, 4, 10])
def test_contacts_that_stick_do_not_creep(iterations):
    """On a slope of tan = 0.5 mu the drift of the last second is below 1e-5 m/s also while k is ramped, since the grip is not (three
    iterations and more: after two, the load is still far from what the contact bears)."""
    builder = hooke.ModelBuilder(gravity=tilted(np.arctan(0.25)))
    builder.add_ground_plane(cfg=surface(mu=0.5))
    add_points(builder, [(0.0, 0.0, 0.1)], 0.1)
    model = finalize(builder, mu=0.5)
    options = {"iterations": iterations, "rigid_avbd_beta": 1e5}
    run = simulate(model, steps=300, dt=DT, **options)
    before = run.q.copy()
    run = simulate(model, steps=100, dt=DT, solver=run.solver, state=run.state)
    assert np.abs(run.q - before)[0, 0] < 1e-5


def landing(**options):
    model = cloth_on_slope(height=0.03)
    return simulate(model, steps=16, dt=DT, rigid_avbd_beta=2e4, **options)


@pytest.mark.parametrize("friction", ["anchored", "smoothed"])
def test_lanes_workers_and_graphs(monkeypatch, friction):
    """One worker and two, eager and replayed: the same bits; one particle at a time: the same to rounding."""
    monkeypatch.setattr(config, "graphs", False)
    wanted = landing(particle_contact_friction=friction)
    monkeypatch.setattr(config, "lanes", False)
    single = landing(particle_contact_friction=friction)
    assert np.abs(single.q - wanted.q).max() < 1e-6
    for run in (single, wanted):
        run.solver.update_contacts(run.contacts)
    count = int(wanted.contacts.soft_contact_count.numpy()[0])
    assert count > 10
    forces = [run.contacts.force.numpy()[:count] for run in (single, wanted)]
    assert np.allclose(*forces, rtol=1e-3, atol=1e-4)
    monkeypatch.undo()
    for workers in (1, 2):
        monkeypatch.setattr(config, "workers", workers)
        assert same(landing(particle_contact_friction=friction).state, wanted.state)


def test_in_a_capture():
    model = cloth_on_slope(height=0.03)
    wanted = landing().state
    solver, a, b, contacts = SolverVBD(model, rigid_avbd_beta=2e4), model.state(), model.state(), model.contacts()
    with wp.ScopedCapture(device="cpu") as capture:
        for state_in, state_out in ((a, b), (b, a)):
            model.collide(state_in, contacts)
            solver.step(state_in, state_out, None, contacts, DT)
    for _ in range(8):
        wp.capture_launch(capture.graph)
    assert same(a, wanted)


def test_order_of_rows_and_growing_buffers():
    """Five rows per particle at most, their buffer grown from one row: as with a large one."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    for slope in ((0.02, 0.0), (-0.02, 0.0), (0.0, 0.03), (0.01, -0.02)):
        builder.add_shape_plane((*slope, 1.0, 0.0), width=0.0, length=0.0, cfg=surface(mu=0.3))
    add_cloth(builder, 0.012)
    model = finalize(builder)
    wanted = simulate(model, steps=10, dt=DT, rigid_avbd_beta=2e4).state
    pipeline = hooke.CollisionPipeline(model, soft_contact_max=1)
    solver, state, other, contacts = SolverVBD(model, rigid_avbd_beta=2e4), model.state(), model.state(), pipeline.contacts()
    for _ in range(10):
        pipeline.collide(state, contacts)
        solver.step(state, other, None, contacts, DT)
        state, other = other, state
    assert same(state, wanted)


@pytest.mark.parametrize(("name", "value"), [
    ("rigid_avbd_beta", -1.0), ("rigid_avbd_beta", float("nan")), ("rigid_avbd_beta", float("inf")), ("rigid_avbd_beta", None),
    ("rigid_avbd_beta", "soft"), ("rigid_avbd_linear_beta", -1.0), ("rigid_avbd_linear_beta", float("nan")),
    ("rigid_contact_k_start", -1e-3), ("rigid_contact_k_start", -5.0), ("rigid_contact_k_start", float("nan")),
    ("rigid_contact_k_start", float("inf")), ("rigid_contact_k_start", None),
])  # fmt: skip
def test_values_out_of_range_are_named(name, value):
    with pytest.raises(ValueError, match=name) as error:
        SolverVBD(particle_on_plane(), **{name: value})
    assert repr(value) in str(error.value)

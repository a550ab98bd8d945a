"""Field report "force read-out": a thing at rest is carried by its weight, at any time step, and the figure does not flicker."""

import numpy as np
import pytest

from hooke import ModelBuilder
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate, surface, tilted


def soft_cube():
    """A cube of 20 cm, 27 particles of 0.1 kg, Lame parameters 30 kPa, set down on the ground."""
    b = ModelBuilder()
    b.add_ground_plane(cfg=surface())
    b.add_soft_grid(
        pos=(0, 0, 0.0192), rot=UPRIGHT, vel=(0, 0, 0), dim_x=2, dim_y=2, dim_z=2, cell_x=0.1, cell_y=0.1, cell_z=0.1, density=100.0,
        k_mu=3e4, k_lambda=3e4, k_damp=50.0, particle_radius=0.02,
    )  # fmt: skip
    return finalize(b)


def forces_at_rest(model, dt, seconds, last, **options):
    """Rows of ``contacts.force`` on the particles in the ``last`` steps, as (steps, particles, 6), and the state at the end."""
    model.request_contact_attributes("force")
    solver, contacts, steps = SolverVBD(model, **options), model.contacts(), round(seconds / dt)
    found = []

    def each(n, state):
        if n < steps - last:
            return
        solver.update_contacts(contacts)
        rows = int(contacts.soft_contact_count.numpy()[0])
        force = np.zeros((model.particle_count, 6))
        np.add.at(force, contacts.soft_contact_particle.numpy()[:rows], contacts.force.numpy()[:rows])
        found.append(force)

    run = simulate(model, steps=steps, dt=dt, solver=solver, contacts=contacts, each=each)
    return np.array(found), run


def check_cube(dt, **options):
    model = soft_cube()
    weight = float(model.particle_mass.numpy().sum()) * GRAVITY
    force, run = forces_at_rest(model, dt, 0.75, 20, **options)
    total = force[:, :, :3].sum(axis=1) / weight
    assert np.abs(run.qd).max() < 1e-3
    assert np.ptp(total[:, 2]) < 1e-3 and np.ptp(force[:, :, 2], axis=0).max() < 1e-3 * weight  # no flicker
    np.testing.assert_allclose(total[:, 2], 1.0, atol=0.01)
    assert np.abs(total[:, :2]).max() < 0.01
    assert (force[-1, :9, 2] > 0).all() and not force[-1, 9:].any()  # the lowest nine carry it


@pytest.mark.parametrize("dt", [1 / 60, 1 / 120, 1 / 240, 1 / 1000], ids=["1/60", "1/120", "1/240", "1/1000"])
def test_a_soft_cube_at_rest(dt):
    """A soft cube (26.5 N) at rest on the ground, 10 iterations (the default), dt = 1/60 to 1/1000 s: the reported forces add up to the
    weight within 1 % and change by less than 0.1 % of it over 20 steps."""
    check_cube(dt)


def test_a_soft_cube_at_rest_with_many_iterations():
    """The same at dt = 1/60 s with 60 iterations."""
    check_cube(1 / 60, iterations=60)


@pytest.mark.parametrize("dt", [1 / 60, 1 / 1000], ids=["1/60", "1/1000"])
def test_single_particles_at_rest(dt):
    """Particles of 0.2, 1 and 3 kg set down on a slope of 10 degrees, 1 mm above where they will rest: after 1 s each reports m g
    within 1 %, normal and tangential, and the torque r x F about the origin, r being the point of contact on the plane."""
    mass = np.array([0.2, 1.0, 3.0])
    gravity = tilted(np.radians(10))
    b = ModelBuilder(gravity=tuple(gravity))
    b.add_ground_plane(cfg=surface(mu=1.0))
    z = 0.1 + mass * gravity[2] / 1750.0 + 0.001  # the stiffness of 1000 and 2500 N/m mixed
    add_points(b, np.stack([(1, -3, 0), (2, 0, 5), z], axis=1), mass=mass)
    model = finalize(b)
    force, run = forces_at_rest(model, dt, 1.0, 5)
    np.testing.assert_allclose(force[:, :, :3], np.tile(-mass[:, None] * gravity, (5, 1, 1)), rtol=0.01, atol=1e-3)
    point = run.q * (1, 1, 0)
    np.testing.assert_allclose(force[-1, :, 3:], np.cross(point, force[-1, :, :3]), rtol=1e-4, atol=1e-3)


def test_forces_of_other_contacts_are_refused():
    """update_contacts before a step, or with contacts that the step was not given, raises."""
    b = ModelBuilder()
    b.add_ground_plane()
    add_points(b, [(0, 0, 0.0999)])
    model = finalize(b)
    solver, contacts, state = SolverVBD(model), model.contacts(), model.state()
    with pytest.raises(ValueError, match="update_contacts"):
        solver.update_contacts(contacts)
    model.collide(state, contacts)
    solver.step(state, model.state(), None, contacts, 0.01)
    with pytest.raises(ValueError, match="update_contacts"):
        solver.update_contacts(model.contacts())
    solver.update_contacts(contacts)
    assert len(contacts.force) == contacts.soft_contact_max  # made although nobody asked for it before

"""Particles and bodies at rest on shapes, and the forces that are reported of them (theory notes, case 25; field report "force
read-out")."""

import numpy as np
import pytest

import hooke
from hooke.model.generate.soft import grid_tetrahedra
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate, surface, tilted


def test_penetration_at_rest_with_default_materials():
    """1 kg on the ground, all defaults: k = (1e3 + 2.5e3)/2 = 1750 N/m, penetration m g / k = 5.6057 mm, 0.1 %; the margin of a shape
    lifts the particle by as much."""
    builder = hooke.ModelBuilder()
    builder.begin_world()
    builder.add_ground_plane()
    add_points(builder, [(0.0, 0.0, 0.1)])
    builder.end_world()
    builder.begin_world()
    builder.add_ground_plane(cfg=hooke.ShapeConfig(margin=0.02))
    add_points(builder, [(0.0, 0.0, 0.12)])
    builder.end_world()
    run = simulate(finalize(builder), steps=200, dt=1 / 60)
    assert np.abs(run.q[:, 2] - (0.1 - 5.6057e-3, 0.12 - 5.6057e-3)).max() < 1e-3 * 5.6057e-3
    assert np.abs(run.qd).max() < 1e-5


def test_reported_force_is_the_weight():
    """Case 25: radius 0.05, start 4 mm deep, dt 1/60, 300 steps: the force on the particle equals its weight to 1e-3, its torque about
    the origin is r x F with the point on the surface, and |v| <= 1e-4. Gravity is tilted, so that friction has a share."""
    gravity = tilted(0.2)
    builder = hooke.ModelBuilder(gravity=gravity)
    builder.add_ground_plane()
    where = np.array([(0.3, -0.2, 0.046), (-1.0, 2.0, 0.046)])
    add_points(builder, where, [1.0, 0.25], radius=0.05)
    model = finalize(builder)
    model.request_contact_attributes("force")
    run = simulate(model, steps=300, dt=1 / 60)
    run.solver.update_contacts(run.contacts)
    count = int(run.contacts.soft_contact_count.numpy()[0])
    assert count == 2
    force = run.contacts.force.numpy()[:count]
    particle = run.contacts.soft_contact_particle.numpy()[:count]
    weight = -model.particle_mass.numpy()[particle][:, None] * gravity
    assert np.abs(force[:, :3] - weight).max() < 1e-3 * GRAVITY * 0.25
    arm = np.column_stack([run.q[particle, :2], np.zeros(count)])
    assert np.allclose(force[:, 3:], np.cross(arm, force[:, :3]), atol=1e-4)
    assert np.abs(run.qd).max() <= 1e-4


def test_damping_of_mixed_materials():
    """Case 10 with the default materials, of which kd mixes to (10 + 100)/2 = 55: a particle that cannot be stopped goes from 0.05 to
    0.04 m above the ground in 0.1 s: k p = 1750 x 0.06 = 105 N, and 5.5 N of the damper. A surface that rises at 0.1 m/s by itself
    adds as much, one that sinks takes it away."""
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_ground_plane()
    add_points(builder, [(0.0, 0.0, 0.05)], 1e9, velocity=(0.0, 0.0, -0.1))
    model = finalize(builder)
    for surface_speed, damper in ((0.0, 5.5), (0.1, 11.0), (-0.1, 0.0), (-0.3, 0.0)):
        contacts = model.collide(model.state())
        contacts.soft_contact_body_vel.assign(np.tile((0.0, 0.0, surface_speed), (contacts.soft_contact_max, 1)))
        solver = SolverVBD(model)
        solver.step(model.state(), model.state(), None, contacts, 0.1)
        solver.update_contacts(contacts)
        assert np.allclose(contacts.force.numpy()[0, :3], (0.0, 0.0, 105.0 + damper), atol=2e-3)


@pytest.mark.parametrize("dt", [1 / 60, 1 / 240, 1 / 1000])
def test_reported_force_of_a_soft_cube_does_not_flicker(dt):
    """A soft cube of 0.1 kg at rest: the sum of the forces on its particles is the weight within 1 % in each of 20 steps."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    z, y, x = np.meshgrid(*[np.linspace(0.0, 0.05, 3)] * 3, indexing="ij")
    builder.add_soft_mesh(
        pos=(0.0, 0.0, 0.005), rot=UPRIGHT, scale=1.0, vel=(0.0, 0.0, 0.0), vertices=np.stack([x, y, z], axis=-1).reshape(-1, 3),
        indices=grid_tetrahedra(2, 2, 2).reshape(-1), density=800.0, k_mu=1e4, k_lambda=1e4, k_damp=10.0, particle_radius=0.005,
    )  # fmt: skip
    model = finalize(builder)
    run = simulate(model, steps=round(1.0 / dt), dt=dt, iterations=20)
    loads = []
    for _ in range(20):
        run = simulate(model, steps=1, dt=dt, state=run.state, solver=run.solver, contacts=run.contacts)
        run.solver.update_contacts(run.contacts)
        loads.append(run.contacts.force.numpy()[:, :3].sum(axis=0))
    weight = float(model.particle_mass.numpy().sum()) * GRAVITY
    assert np.abs(np.array(loads) - (0.0, 0.0, weight)).max() < 0.01 * weight


def test_contact_carries_no_tension():
    """A particle thrown up from the ground leaves it as in free flight: v - g t after 20 steps, 1e-4."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    add_points(builder, [(0.0, 0.0, 0.0999)], velocity=(0.0, 0.0, 2.0))
    run = simulate(finalize(builder), steps=20, dt=1 / 200)
    assert abs(run.qd[0, 2] - (2.0 - GRAVITY * 20 / 200)) < 1e-3


def test_damped_impact_sticks_to_no_energy_gain():
    """Dropped from 10 cm, a particle never rises above where it came from, and rests at the known height in the end."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    add_points(builder, [(0.0, 0.0, 0.2)])
    heights = []
    run = simulate(finalize(builder), steps=400, dt=1 / 200, each=lambda n, s: heights.append(float(s.particle_q.numpy()[0, 2])))
    assert max(heights) <= 0.2
    assert abs(run.q[0, 2] - 0.1 + 5.6057e-3) < 1e-5


def test_rest_on_two_surfaces():
    """In a groove of two planes at 90 deg without friction each carries m g / sqrt(2); the sum of both rows is the weight."""
    builder = hooke.ModelBuilder()
    for side in (1.0, -1.0):
        builder.add_shape_plane((side, 0.0, 1.0, 0.0), width=0.0, length=0.0, cfg=surface(mu=0.0))
    add_points(builder, [(0.0, 0.3, 0.14)])
    run = simulate(finalize(builder), steps=200, dt=1 / 60)
    run.solver.update_contacts(run.contacts)
    force = run.contacts.force.numpy()[:2, :3]
    assert np.allclose(np.linalg.norm(force, axis=1), GRAVITY / np.sqrt(2.0), rtol=1e-3)
    assert np.allclose(force.sum(axis=0), (0.0, 0.0, GRAVITY), atol=1e-3 * GRAVITY)
    depth = 0.1 - run.q[0, 2] / np.sqrt(2.0)
    assert abs(depth - GRAVITY / np.sqrt(2.0) / 1750.0) < 1e-5

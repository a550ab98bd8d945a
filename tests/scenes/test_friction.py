"""Friction on planes and slopes (theory notes, cases 26 and 27; field reports "friction that holds", "friction that slides").

A slope is a level plane with tilted gravity, one world per slope, so that many slopes run at once.
"""

import numpy as np
import pytest

import hooke
from hooke.model.generate.soft import grid_tetrahedra
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate, surface, tilted

SOFT_KE, SHAPE_KE, RADIUS = 1e3, 2.5e3, 0.05
STIFFNESS = 0.5 * (SOFT_KE + SHAPE_KE)


def lying(mass=1.0, g=GRAVITY):
    """Height [m] at which a particle of RADIUS lies on the plane z = 0 at rest."""
    return RADIUS - mass * g / STIFFNESS


def slopes_of_particles(cases, mass=0.1):
    """A model with one particle at rest per case (mu, angle), every one in a world with a plane of its own."""
    builder = hooke.ModelBuilder()
    for mu, angle in cases:
        builder.begin_world(gravity=tilted(angle))
        builder.add_ground_plane(cfg=surface(mu=mu * mu / 0.5, ke=SHAPE_KE))  # mixes with 0.5 to mu
        add_points(builder, [(0.0, 0.0, lying(mass, GRAVITY * np.cos(angle)))], mass, radius=RADIUS)
        builder.end_world()
    return finalize(builder)


def acceleration(mu, angle):
    return GRAVITY * (np.sin(angle) - mu * np.cos(angle))


def bodies_on_slopes(angles, stiffness, mu=0.5):
    """A soft block of 0.1 kg, 5 cm wide, and a strip of cloth on every slope; the mass and the world of every particle as well."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(mu=mu))
    z, y, x = np.meshgrid(*[np.linspace(0.0, 0.05, 3)] * 3, indexing="ij")
    for angle in angles:
        builder.begin_world(gravity=tilted(angle))
        builder.add_soft_mesh(
            pos=(0.0, 0.0, 0.005), rot=UPRIGHT, scale=1.0, vel=(0.0, 0.0, 0.0), vertices=np.stack([x, y, z], axis=-1).reshape(-1, 3),
            indices=grid_tetrahedra(2, 2, 2).reshape(-1), density=800.0, k_mu=stiffness, k_lambda=stiffness, k_damp=10.0,
            particle_radius=0.005,
        )  # fmt: skip
        builder.end_world()
        builder.begin_world(gravity=tilted(angle))
        builder.add_cloth_grid(
            pos=(0.0, 0.0, 0.005), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=6, dim_y=2, cell_x=0.05, cell_y=0.05, mass=0.002,
            tri_ke=0.01 * stiffness, tri_ka=0.01 * stiffness, tri_kd=0.01, edge_ke=0.01, edge_kd=0.0, particle_radius=0.005,
        )  # fmt: skip
        builder.end_world()
    return finalize(builder)


def per_world(model, values):
    """Mass-weighted means of particle values (n, 3) for every world."""
    mass, world = model.particle_mass.numpy().astype(np.float64), model.particle_world.numpy()
    total = np.bincount(world, mass)
    return np.stack([np.bincount(world, mass * values[:, c]) / total for c in range(3)], axis=1)


def drift_in_last_second(model, *, seconds, dt, **options):
    """How far any particle of a world moves in the last second of ``seconds`` [m/s], one value per world."""
    steps, second = round(seconds / dt), round(1.0 / dt)
    before = {}

    def each(n, state):
        if n + 1 == steps - second:
            before["q"] = state.particle_q.numpy().copy()

    run = simulate(model, steps=steps, dt=dt, each=each, **options)
    moved = np.linalg.norm(run.q - before["q"], axis=1)
    world = model.particle_world.numpy()
    return np.array([moved[world == w].max() for w in range(model.world_count)])


@pytest.mark.parametrize(("dt", "iterations", "epsilon"), [(1 / 60, 10, 1e-2), (1 / 100, 5, 1e-1), (1 / 200, 10, 1e-3)])
@pytest.mark.parametrize("ratio", [0.5, 0.95])
def test_bodies_hold_below_the_limit(ratio, dt, iterations, epsilon):
    """Field report: a block of 0.1 kg and a strip of cloth on a slope with tan = 0.5 mu and 0.95 mu, 10 s: drift in the last second
    below 1e-5 m/s, whatever friction_epsilon, dt and iterations."""
    model = bodies_on_slopes([np.arctan(0.5 * ratio)], 1e5)
    drift = drift_in_last_second(model, seconds=10.0, dt=dt, iterations=iterations, friction_epsilon=epsilon)
    assert drift.max() < 1e-5


def test_bodies_hold_and_slide_as_coulomb_says():
    """The same with softer bodies and steps that converge: at tan = 0.5 mu and 0.95 mu they hold (1e-5 m/s after 2 s), at 1.05 mu
    block and strip slide with g (sin - mu cos) within 2 %."""
    ratios, mu, dt = (0.5, 0.95, 1.05), 0.5, 1 / 240
    angles = np.arctan(mu * np.array(ratios))
    model = bodies_on_slopes(angles, 1e4)
    speeds, places = [], []

    def each(n, state):
        if n % 120 == 119:
            speeds.append(per_world(model, state.particle_qd.numpy())[:, 0])
            places.append(state.particle_q.numpy().copy())

    simulate(model, steps=480, dt=dt, iterations=30, each=each)
    moved = np.linalg.norm(places[-1] - places[-2], axis=1) / 0.5
    for w in range(6):
        here = model.particle_world.numpy() == w
        if ratios[w // 2] < 1.0:
            assert moved[here].max() < 1e-5
        else:
            a = acceleration(mu, angles[w // 2])
            assert abs(speeds[-1][w] - speeds[-2][w] - 0.5 * a) < 0.02 * 0.5 * a


@pytest.mark.parametrize("law", ["anchored", "smoothed"])
def test_grid_of_slopes(law):
    """Field report: mu 0.1 ... 0.8 and slopes of 5 ... 45 deg: a particle holds iff tan < mu, and else slides with
    g (sin - mu cos), 2 % plus 1e-3 of g.

    "Holds" is a drift below 1e-5 m/s with the anchored law, and below friction_epsilon with the smoothed one.
    """
    cases = [(mu, np.radians(angle)) for mu in np.arange(1, 9) / 10 for angle in range(5, 50, 5)]
    cases = [(mu, angle) for mu, angle in cases if abs(np.tan(angle) / mu - 1.0) > 0.01]
    model = slopes_of_particles(cases)
    speeds = []
    simulate(
        model, steps=100, dt=1 / 100, particle_contact_friction=law, friction_epsilon=1e-2,
        each=lambda n, s: speeds.append(s.particle_qd.numpy()[:, 0].copy()),
    )  # fmt: skip
    for w, (mu, angle) in enumerate(cases):
        if np.tan(angle) < mu:
            assert abs(speeds[-1][w]) < (1e-5 if law == "anchored" else 1e-2), (mu, angle)
        else:
            a = acceleration(mu, angle)
            assert abs((speeds[-1][w] - speeds[49][w]) / 0.5 - a) < 0.02 * a + 1e-3 * GRAVITY, (mu, angle)


@pytest.mark.parametrize("law", ["anchored", "smoothed"])
def test_light_particles_slide_like_heavy_ones(law):
    """The mass cancels: at tan = 1.05, 1.5 and 3 mu particles of 1 kg ... 2 g slide with g (sin - mu cos), 2 %, at default iterations."""
    cases = [(0.5, np.arctan(0.5 * ratio)) for ratio in (1.05, 1.5, 3.0)]
    for mass in (1.0, 0.1, 0.01, 0.002):
        model = slopes_of_particles(cases, mass)
        speeds = []
        simulate(
            model, steps=100, dt=1 / 100, particle_contact_friction=law, friction_epsilon=1e-3,
            each=lambda n, s, speeds=speeds: speeds.append(s.particle_qd.numpy()[:, 0].copy()),
        )  # fmt: skip
        wanted = np.array([acceleration(*case) for case in cases])
        assert (np.abs((speeds[-1] - speeds[49]) / 0.5 - wanted) < 0.02 * wanted).all(), mass


@pytest.mark.parametrize(("law", "ratio"), [("smoothed", 1.05), ("smoothed", 2.5), ("anchored", 2.5)])
@pytest.mark.parametrize("mass", [1.0, 0.002])
def test_sliding_converges_in_few_sweeps(law, ratio, mass):
    """Pushed from rest with `ratio` times the limit, a particle has the velocity (ratio - 1) mu g dt after one step of 4 iterations;
    0.5 %. A secant of the law alone is off by 1 / ratio^4."""
    mu, dt = 0.5, 0.01
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(mu=mu, ke=SHAPE_KE))
    add_points(builder, [(0.0, 0.0, lying(mass))], mass, radius=RADIUS)
    model = finalize(builder)
    state = model.state()
    push = ratio * mu * mass * GRAVITY
    state.particle_f.assign([(0.6 * push, 0.8 * push, 0.0)])
    run = simulate(model, steps=1, dt=dt, state=state, iterations=4, particle_contact_friction=law, friction_epsilon=1e-4)
    speed = (ratio - 1.0) * mu * GRAVITY * dt
    assert np.abs(run.qd[0] - (0.6 * speed, 0.8 * speed, 0.0)).max() < 5e-3 * speed


def test_smoothed_friction_creeps_at_the_known_speed():
    """Case 26: v = friction_epsilon (1 - sqrt(1 - tan / mu)): with mu 0.5 and 1e-2 m/s 4.784 mm/s at 20 deg, 7.404 mm/s at 25 deg (1 %);
    above 26.565 deg it slides with g (sin - mu cos) (2 %). The anchored law stands still on the same slopes."""
    angles = np.radians([20.0, 25.0, 30.0])
    for law in ("smoothed", "anchored"):
        speeds = []
        simulate(
            slopes_of_particles([(0.5, angle) for angle in angles]), steps=300, dt=1 / 300, particle_contact_friction=law,
            friction_epsilon=1e-2, each=lambda n, s, speeds=speeds: speeds.append(s.particle_qd.numpy()[:, 0].copy()),
        )  # fmt: skip
        creep = (4.784e-3, 7.404e-3) if law == "smoothed" else (0.0, 0.0)
        assert np.abs(speeds[-1][:2] - creep).max() < (0.01 * 4.784e-3 if law == "smoothed" else 1e-6)
        a = acceleration(0.5, angles[2])
        assert abs((speeds[-1][2] - speeds[149][2]) / 0.5 - a) < 0.02 * a


@pytest.mark.parametrize("law", ["anchored", "smoothed"])
def test_sliding_stop(law):
    """Case 27: thrown along the plane at 1 m/s with mu 0.5, a particle stops after v^2 / (2 mu g) - v dt / 2 = 0.10111 m at
    dt = 1/600; 0.3 %."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(mu=0.5))
    add_points(builder, [(0.0, 0.0, lying())], velocity=(0.6, -0.8, 0.0), radius=RADIUS)
    run = simulate(finalize(builder), steps=300, dt=1 / 600, particle_contact_friction=law, friction_epsilon=1e-3)
    way = run.q[0, :2]
    assert abs(1.0 / (2.0 * 0.5 * GRAVITY) - 1.0 / 1200.0 - 0.10111) < 1e-5
    assert abs(np.linalg.norm(way) - 0.10111) < 3e-3 * 0.10111
    assert np.abs(way / np.linalg.norm(way) - (0.6, -0.8)).max() < 1e-3  # friction is isotropic
    assert np.linalg.norm(run.qd) < 1e-3


def test_anchor_is_elastic_below_the_limit_and_dragged_at_it():
    """A side force of half the limit moves a particle by F / k and lets it return when it ends; twice the limit accelerates it with
    (F - mu m g) / m, and the force of the contact stays at mu N."""
    mu, mass = 0.5, 1.0
    limit = mu * mass * GRAVITY
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(mu=mu))
    add_points(builder, [(0.0, 0.0, lying(mass)), (1.0, 0.0, lying(mass))], mass, radius=RADIUS)
    model = finalize(builder)
    state = model.state()
    dt = 1 / 100
    grip = max(STIFFNESS, mass / dt**2)
    push = np.array([(0.5 * limit, 0.0, 0.0), (2.0 * limit, 0.0, 0.0)], np.float32)
    state.particle_f.assign(push)
    run = simulate(model, steps=100, dt=dt, state=state, each=lambda n, s: s.particle_f.assign(push))
    run.solver.update_contacts(run.contacts)
    force = run.contacts.force.numpy()[: model.particle_count, :3]
    assert abs(run.q[0, 0] - 0.5 * limit / grip) < 1e-3 * limit / grip
    assert abs(force[0, 0] + 0.5 * limit) < 1e-3 * limit
    assert abs(force[1, 0] + limit) < 1e-3 * limit
    assert abs(run.qd[1, 0] - limit / mass) < 5e-3 * limit / mass  # a = (2 - 1) limit / m for 1 s
    run.state.particle_f.zero_()
    run.other.particle_f.zero_()
    before = run.q[1, 0]
    run = simulate(model, steps=300, dt=dt, state=run.state, solver=run.solver, contacts=run.contacts)
    assert abs(run.q[0, 0]) < 1e-5  # back at its anchor
    speed = limit / mass
    assert abs(run.q[1, 0] - before - speed**2 / (2.0 * mu * GRAVITY) + 0.5 * speed * dt) < 5e-3  # slides out and stays
    assert np.abs(run.qd).max() < 1e-4

"""Accelerated sweeps, and sweeps that end early: known answers, safeguards, worlds, captures and workers."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.execution.recorder import Recorder
from hooke.model.model import model_tables
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.acceleration import ACCELERATIONS, WINDOW, Acceleration
from tests.support import UPRIGHT, add_points, finalize, simulate, surface

from .scenes import arrays_of, cloth_on_slope, cloths_in_worlds, same

both_kinds = pytest.mark.parametrize("kind", ACCELERATIONS)


def chain(ratio, dt=1 / 60, links=20):
    """A level chain held at one end; ``ratio`` is k h^2/m."""
    builder = hooke.ModelBuilder()
    nodes = [(k / links, 0.0, 0.0) for k in range(links + 1)]
    add_points(builder, nodes, [0.0] + [0.02] * links)
    for k in range(links):
        builder.add_spring(k, k + 1, ratio * 0.02 / dt**2, 0.0)
    return finalize(builder)


def stiff_cloth(ke=1e4, cells=10):
    builder = hooke.ModelBuilder()
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 1.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=cells, dim_y=cells, cell_x=0.1, cell_y=0.1, mass=2e-3,
        fix_left=True, tri_ke=ke, tri_ka=ke, tri_kd=0.0, particle_radius=0.04,
    )  # fmt: skip
    return finalize(builder)


def block_on_ground(mu=1e6):
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(ke=1e5, kd=1.0))
    builder.add_soft_grid(
        pos=(0.0, 0.0, 0.02), rot=UPRIGHT, vel=(0.3, 0.0, -1.0), dim_x=4, dim_y=4, dim_z=4, cell_x=0.05, cell_y=0.05, cell_z=0.05,
        density=1e3, k_mu=mu, k_lambda=mu, k_damp=1.0, particle_radius=0.01,
    )  # fmt: skip
    return finalize(builder, ke=1e5, kd=1.0, mu=0.5)


def shaken(model):
    """A state in which every particle has a velocity of its own, about 1 m/s."""
    state = model.state()
    state.particle_qd.assign(np.random.default_rng(0).normal(size=(model.particle_count, 3)))
    return state


@pytest.fixture(params=[True, False], ids=["lanes", "single"])
def both_paths(request, monkeypatch):
    monkeypatch.setattr(config, "lanes", request.param)


# ---- what it gains


def test_chain_after_fifty_sweeps(both_paths):
    """k h^2/m = 100, the sixth step of 1/60 s: of the error after a sweep, 50 plain ones leave a fifth, 50 accelerated ones 1/1000."""
    model = chain(100.0)
    start = simulate(model, steps=5, dt=1 / 60, iterations=300).state

    def ends(iterations, **options):
        state = model.state()
        state.assign(start)
        return simulate(model, steps=1, dt=1 / 60, state=state, iterations=iterations, **options).q

    exact = ends(1200)
    first, plain = (np.abs(ends(n) - exact).max() for n in (1, 50))
    accelerated = np.abs(ends(50, particle_acceleration="anderson") - exact).max()
    assert plain > first / 5 and accelerated < first / 1000


def test_residual_of_a_stiff_cloth():
    """20 steps with 10 sweeps: the residual is less than half of that of plain sweeps."""
    model = stiff_cloth()
    plain, accelerated = (
        simulate(model, steps=20, dt=1 / 600, iterations=10, particle_acceleration=kind).solver.status.residual
        for kind in (None, "anderson")
    )
    assert accelerated < plain / 2


@pytest.mark.parametrize(
    "scene", [lambda: chain(10.0), block_on_ground, lambda: stiff_cloth(30.0, 5)], ids=["chain", "block", "cloth"]
)
def test_converged_steps_are_those_of_plain_sweeps(scene, both_paths):
    """800 sweeps from one state end at one place, to 2e-6 m."""
    model = scene()
    start = simulate(model, steps=4, dt=1 / 120, iterations=100).state
    ends = []
    for kind in (None, *ACCELERATIONS):
        state = model.state()
        state.assign(start)
        ends.append(simulate(model, steps=1, dt=1 / 120, state=state, iterations=800, particle_acceleration=kind).q)
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=2e-6)


# ---- the method, on maps whose answer is known


class Sweeps:
    """An Acceleration that is driven by a map instead of sweeps, on unit masses."""

    def __init__(self, start, masses=1.0, tolerance=0.0, accelerate=True):
        builder = hooke.ModelBuilder()
        add_points(builder, np.zeros((len(start), 3)), masses)
        model = finalize(builder)
        particles = model_tables(model)["particle"]
        self.displacement = wp.array(start, dtype=wp.vec3, device="cpu")
        world = particles.arrays["world"].numpy()
        self.acceleration = Acceleration(
            accelerate, tolerance, world, model.world_count, np.arange(len(start)), self.displacement, Recorder(model.device)
        )
        self.particles = particles.struct
        self.acceleration.begin(self.particles)

    def sweep(self, result, iteration, last=False):
        """End a sweep at ``result``; where the next one starts."""
        self.displacement.assign(result)
        self.acceleration.accelerate(iteration, last)
        return self.displacement.numpy().astype(np.float64)


def anderson(starts, results, masses):
    """The next start by least squares in float64, over the differences that are not nearly in the span of newer ones."""
    steps = [np.sqrt(masses)[:, None] * (g - x) for x, g in zip(starts, results, strict=True)]
    used, columns = [], np.zeros((steps[0].size, 0))
    for j in reversed(range(len(steps) - 1)):
        change = (steps[j + 1] - steps[j]).reshape(-1, 1)
        rest = change - columns @ np.linalg.lstsq(columns, change, rcond=None)[0]
        if (rest**2).sum() > 0.1 * (change**2).sum():
            used, columns = [*used, j], np.hstack([columns, change])
    c = np.linalg.lstsq(columns, steps[-1].ravel(), rcond=None)[0]
    return results[-1] - sum(ci * (results[j + 1] - results[j]) for ci, j in zip(c, used, strict=True))


def test_starts_are_those_of_least_squares():
    """A linear map of 200 particles with masses: every start equals that of least squares in float64 to 1e-4."""
    rng = np.random.default_rng(1)
    masses = rng.uniform(0.1, 2.0, 200)
    rates, target = rng.uniform(0.0, 0.97, (200, 3)), rng.normal(size=(200, 3))
    x = np.zeros((200, 3))
    sweeps, starts, results = Sweeps(x, masses), [], []
    for n in range(WINDOW + 1):
        starts.append(x)
        results.append((target + rates * (x - target)).astype(np.float32).astype(np.float64))
        x = sweeps.sweep(results[-1], n)
        if n > 0:
            np.testing.assert_allclose(x, anderson(starts, results, masses), atol=1e-4)


def test_a_start_that_makes_things_worse_is_taken_back():
    """After a sweep twice as long, the next one starts at the result before the accelerated start, bit by bit."""
    sweeps = Sweeps(np.zeros((3, 3)))
    sweeps.sweep(np.full((3, 3), 1.0), 0)
    kept = np.full((3, 3), 1.9, np.float32)
    x = sweeps.sweep(kept, 1)
    assert (x > 5.0).all()  # 1 + 0.9 + 0.81 ... = 10
    x = sweeps.sweep(x + 2.0, 2, last=True)
    np.testing.assert_array_equal(x, kept)


def test_the_last_sweep_is_not_extrapolated():
    sweeps = Sweeps(np.zeros((3, 3)))
    sweeps.sweep(np.full((3, 3), 1.0), 0)
    assert (sweeps.sweep(np.full((3, 3), 1.5), 1, last=True) == 1.5).all()


def test_moves_between_sweeps_are_no_steps():
    """What another pass moves after a sweep does not count, once it is told: a step of 0.05 from there is within 0.1."""
    for told in (False, True):
        sweeps = Sweeps(np.zeros((3, 3)), tolerance=0.1, accelerate=False)
        sweeps.sweep(np.full((3, 3), 1.0), 0)
        sweeps.displacement.assign(np.full((3, 3), 5.0))
        if told:
            sweeps.acceleration.take_displacements(sweeps.particles)
        sweeps.sweep(np.full((3, 3), 5.05), 1)
        assert bool(sweeps.acceleration.progress.done.numpy().min()) == told


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_numbers_out_of_range_pass_through(bad):
    """What a sweep makes of a particle is left as it is."""
    sweeps, x = Sweeps(np.zeros((3, 3))), np.zeros((3, 3), np.float32)
    for n in range(4):
        x = x + np.array([0.1, 0.2, bad], np.float32)
        x = sweeps.sweep(x, n, last=n == 3).astype(np.float32)
    assert not np.isnan(x[:, :2]).any() or not np.isfinite(bad)


def test_fixed_particles_weigh_nothing():
    """A particle without mass that is far off does not change where the others start."""
    ends = []
    for off in (0.0, 7.0):
        sweeps = Sweeps(np.zeros((2, 3)), [1.0, 0.0])
        for n, way in enumerate((1.0, 1.5)):
            x = sweeps.sweep(np.array([[way] * 3, [off * n] * 3]), n)
        ends.append(x[0])
    np.testing.assert_array_equal(*ends)


# ---- safeguards


@pytest.mark.parametrize(("scene", "dt"), [
    (lambda: chain(1e4), 1 / 60), (lambda: stiff_cloth(1e8), 1 / 600), (lambda: stiff_cloth(1e3), 1 / 10),
    (block_on_ground, 1 / 30), (lambda: block_on_ground(1e3), 1 / 60), (cloth_on_slope, 1 / 30),
], ids=["stiff chain", "stiff cloth", "large step", "contact", "soft", "friction"])  # fmt: skip
@both_kinds
@pytest.mark.parametrize("iterations", [2, 5, 30])
def test_no_worse_than_plain_sweeps(request, scene, dt, iterations, kind):
    """From the states of a plain run: the residual is at most twice that of a plain step, give or take the weight of all particles.

    In a step in which contacts close, a few sweeps end with another of them not yet closed, accelerated or not. A few sweeps over
    patches of a cloth that falls by half a cell in the step do worse.
    """
    if kind == "multilevel" and "large step" in request.node.callspec.id and iterations < 10:
        pytest.skip("patches that move by as much as a cell leave more at their borders than few sweeps smooth")
    model = scene()
    weight = 9.81 * model.particle_mass.numpy().sum()
    start, other = model.state(), model.state()
    contacts = model.contacts() if model.shape_count else None
    plain = SolverVBD(model, iterations=iterations)
    for _ in range(12):
        if contacts is not None:
            model.collide(start, contacts)
        fast = SolverVBD(model, iterations=iterations, particle_acceleration=kind)
        slow = SolverVBD(model, iterations=iterations)
        residual = []
        for solver in (slow, fast):
            solver.step(start, other, None, contacts, dt)
            residual.append(solver.status.residual)
        assert residual[1] <= 2.0 * residual[0] + weight
        plain.step(start, other, None, contacts, dt)
        start, other = other, start


# ---- worlds


@both_kinds
@pytest.mark.parametrize("bad", [np.nan, 1e30, 3.0])
def test_worlds_are_separate(bad, kind, both_paths):
    """What happens in one world does not change another by a bit, whether that is done or not."""
    model = cloths_in_worlds()
    world, ends = model.particle_world.numpy(), []
    for value in (0.0, bad):
        state = model.state()
        velocity = state.particle_qd.numpy()
        velocity[world == 1] += value
        state.particle_qd.assign(velocity)
        ends.append(
            arrays_of(simulate(model, steps=30, dt=1 / 120, state=state, particle_acceleration=kind, particle_tolerance=1e-6).state)
        )
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one[world != 1], two[world != 1])
        assert not np.array_equal(one[world == 1], two[world == 1])


@both_kinds
def test_equal_worlds_do_the_same(kind, both_paths):
    model = cloths_in_worlds()
    run, world = simulate(model, steps=30, dt=1 / 120, particle_acceleration=kind), model.particle_world.numpy()
    for w in (1, 2):
        np.testing.assert_array_equal(run.q[world == w], run.q[world == 0])


# ---- the same whoever runs it


@both_kinds
def test_captured_and_eager_runs_are_the_same(kind, monkeypatch):
    ends, both = [], {"particle_acceleration": kind, "particle_tolerance": 1e-6}
    for graphs in (False, True):
        monkeypatch.setattr(config, "graphs", graphs)
        ends.append(simulate(cloth_on_slope(height=0.03), steps=30, dt=1 / 120, **both))
    assert same(ends[0].state, ends[1].state)

    model = cloth_on_slope(height=0.03)
    solver, a, b, contacts = SolverVBD(model, **both), model.state(), model.state(), model.contacts()
    with wp.ScopedCapture(device="cpu") as capture:
        for state_in, state_out in ((a, b), (b, a)):
            model.collide(state_in, contacts)
            solver.step(state_in, state_out, None, contacts, 1 / 120)
    for _ in range(15):
        wp.capture_launch(capture.graph)
    assert same(ends[0].state, a)


@both_kinds
@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_any_number_of_workers_does_the_same(tolerance, kind, both_paths, monkeypatch):
    ends = []
    for workers in (1, 2):
        monkeypatch.setattr(config, "workers", workers)
        options = {"particle_acceleration": kind, "particle_tolerance": tolerance}
        ends.append(simulate(stiff_cloth(cells=20), steps=12, dt=1 / 600, **options).state)
    assert same(*ends)


# ---- the tolerance


@pytest.mark.parametrize("kind", [None, *ACCELERATIONS])
def test_an_ended_step_is_that_of_fewer_iterations(kind, both_paths):
    """A step that ends by its tolerance after k sweeps equals a step of k iterations, bit by bit."""
    model = stiff_cloth(50.0, 5)
    options = {"steps": 1, "dt": 1 / 240, "particle_acceleration": kind}
    run = simulate(model, state=shaken(model), iterations=60, particle_tolerance=1e-5, **options)
    taken = run.solver.status.iterations
    assert 2 < taken < 60
    assert same(run.state, simulate(model, state=shaken(model), iterations=taken, **options).state)


def test_status_counts_iterations(both_paths):
    model = stiff_cloth(50.0, 5)
    assert SolverVBD(model).status.iterations == 0
    for tolerance, taken in ((0.0, 7), (1e3, 1), (1e-30, 7)):
        solver = simulate(model, state=shaken(model), steps=1, dt=1 / 240, iterations=7, particle_tolerance=tolerance).solver
        assert solver.status.iterations == taken and solver.status.residual > 0.0


def test_a_world_ends_alone(both_paths):
    """One world swings, the others have nothing to do: sweeps are counted for each."""
    model = cloths_in_worlds()
    state, velocity = model.state(), np.zeros((model.particle_count, 3), np.float32)
    velocity[model.particle_world.numpy() == 1] = np.random.default_rng(0).normal(size=(16, 3))
    state.particle_qd.assign(velocity)
    solver = simulate(model, steps=1, dt=1 / 120, state=state, iterations=20, particle_tolerance=1e-4).solver
    taken = solver._sweeps.acceleration.progress.iterations.numpy()
    assert taken[1] == solver.status.iterations > max(taken[[0, 2, 3]])


def test_what_is_not_a_number_never_ends(both_paths):
    model = cloths_in_worlds(1)
    state, velocity = model.state(), np.full((model.particle_count, 3), np.nan, np.float32)
    state.particle_qd.assign(velocity)
    run = simulate(model, steps=1, dt=1 / 120, state=state, iterations=9, particle_tolerance=1e3)
    assert run.solver.status.iterations == 9

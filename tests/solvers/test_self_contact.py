"""SolverVBD keeps a surface apart from itself: forces, momentum, worlds, lanes, workers, captures and buffers."""

import inspect

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.geometry.intersect import intersecting_triangles
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.lanes import LaneSweep
from tests.support import add_points, finalize

from .scenes import arrays_of, same
from .surfaces import OPTIONS, add_sheet, crossings, folded_sheets, run, two_sheets, weight_on_triangle

DT = 1 / 240
SCALAR = pytest.mark.parametrize("lanes", [True, False], ids=["lanes", "scalar"])


@pytest.fixture(scope="module")
def folded():
    return folded_sheets()


@pytest.fixture(scope="module")
def ended(folded):
    """Where it is after 20 steps."""
    return run(folded, steps=20)


# ---- forces


def test_distance_at_rest():
    """Theory notes, cases 9 and 29: r = 0.01, k = 1e3, loads of 1, 5, 10, 50 and 1000 N on every vertex over a fixed triangle rest at
    9, 5, 2.5, 0.5 and 0.025 mm; 1e-3, and 1 % in the innermost part."""
    result = run(weight_on_triangle([1.0, 5.0, 10.0, 50.0, 1000.0]), steps=400, dt=0.01)
    height = result.q.reshape(5, 6, 3)[:, 3:, 2]
    wanted = np.array([9e-3, 5e-3, 2.5e-3, 5e-4, 2.5e-5])
    assert np.allclose(height[:4], wanted[:4, None], rtol=1e-3)
    assert np.allclose(height[4], wanted[4], rtol=1e-2)


@pytest.mark.parametrize("spokes", [4, 6, 12])
@pytest.mark.parametrize("place", ["spoke", "between"])
def test_distance_does_not_depend_on_the_mesh(spokes, place):
    """A vertex pressed on a fan of triangles rests at the same height on an edge of it as inside of a triangle: 5 N at 5 mm."""
    assert abs(height_on_fan(spokes, 0.02, place) - 0.005) < 1e-5


def test_distance_on_a_vertex_does_not_depend_on_its_valence():
    """On the middle the height is that of two vertices, each of which presses on the other's triangles: half the load, 7.5 mm."""
    heights = [height_on_fan(spokes, 0.0, "spoke") for spokes in (4, 6, 12)]
    assert np.abs(np.array(heights) - 0.0075).max() < 1e-5


def test_pairs_count_with_the_other_ownership():
    """With "pair" both triangles at an edge press, and so does the edge with the edges that end at the vertex."""
    assert height_on_fan(6, 0.02, "spoke", particle_self_contact_ownership="pair") > 0.007


def height_on_fan(spokes, distance, place, **options):
    """Where a corner of a triangle rests that presses with 5 N near the middle of a fan; the other corners are far above, and fixed."""
    builder = hooke.ModelBuilder(gravity=(0.0, 0.0, -10.0))
    angle = 2 * np.pi * np.arange(spokes) / spokes
    rim = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    fan = add_points(builder, np.concatenate([[(0.0, 0.0, 0.0)], rim]), 0.0)
    turn = 0.0 if place == "spoke" else np.pi / spokes
    x, y = distance * np.cos(turn), distance * np.sin(turn)
    top = add_points(builder, [(x, y, 0.0098), (x + 0.01, y + 0.05, 1.0), (x - 0.01, y - 0.05, 1.0)], [0.5, 0.0, 0.0])
    for k in range(spokes):
        builder.add_triangle(int(fan[0]), int(fan[1 + k]), int(fan[1 + (k + 1) % spokes]))
    builder.add_triangle(*(int(i) for i in top), tri_ke=1e-4, tri_ka=1e-4, tri_kd=0.0)
    model = finalize(builder, ke=1e3, kd=20.0, mu=0.5)
    result = run(model, steps=300, dt=0.01, **options)
    assert np.abs(result.q[top[0], :2] - (x, y)).max() < 1e-3 and np.abs(result.qd[top[0]]).max() < 1e-4
    return result.q[top[0], 2]


def test_colliding_cloths_keep_their_momentum():
    """Two free cloths that collide at 0.5 m/s, 500 iterations: what they exchange is lost by one and gained by the other, linear
    momentum to 1e-3 and angular momentum to 2 % (backward Euler loses some of a rotation) of the exchange."""
    model = two_sheets(0.5, 0.0108)
    mass, start = model.particle_mass.numpy()[:, None].astype(float), model.particle_q.numpy().astype(float)
    before = mass * model.particle_qd.numpy()
    result = run(model, steps=4, iterations=500)
    change = mass * result.qd - before
    exchanged = np.abs(change[:25].sum(axis=0)).max()
    assert exchanged > 5e-4
    assert np.abs(change.sum(axis=0)).max() < 1e-3 * exchanged
    middle = (mass * start).sum(axis=0) / mass.sum()
    spin = np.cross(result.q - middle, mass * result.qd).sum(axis=0) - np.cross(start - middle, before).sum(axis=0)
    assert np.abs(spin).max() < 0.02 * exchanged * 0.1


def test_friction_carries_a_cloth_along():
    """A sheet that slides on another at 0.3 m/s drags it with friction only, and momentum stays."""
    speeds = {}
    for mu in (0.0, 0.5):
        builder = hooke.ModelBuilder(gravity=0.0)
        add_sheet(builder, (0.0, 0.0, 1.0))
        add_sheet(builder, (0.013, 0.017, 1.0081), vel=(0.3, 0.0, 0.0))
        model = finalize(builder, ke=1e3, kd=0.0, mu=mu)
        speeds[mu] = run(model, steps=3, iterations=200).qd.reshape(2, -1, 3)[:, :, 0].mean(axis=1)
    assert abs(speeds[0.0][0]) < 1e-3
    assert speeds[0.5][0] > 0.01
    assert abs(speeds[0.5].sum() - 0.3) < 3e-3


def test_residual_of_a_resting_contact():
    """A cloth that lies on a fixed one: small against its weight of 20 mN a particle at most, and finite."""
    result = run(folded_sheets(1), steps=300, iterations=30, dt=1 / 120)
    residual = result.solver.status.residual
    assert np.isfinite(residual) and residual < 1e-3
    assert np.abs(result.qd).max() < 0.05


# ---- nothing passes, and nothing is slowed without need


@pytest.mark.parametrize("iterations", [1, 10])
@pytest.mark.parametrize("stiffness", [0.0, 1e-3, 1e6])
def test_fast_cloths_do_not_pass(stiffness, iterations):
    """20 m/s, 33 cm a step, with contacts that exert next to nothing, and with stiff ones."""
    model, found = two_sheets(20.0, 0.5, ke=stiffness), []
    result = run(model, steps=12, dt=1 / 60, iterations=iterations, each=lambda n, state: found.append(crossings(model, state)))
    assert found == [0] * 12 and np.isfinite(result.q).all()
    heights = heights_above(result.q, model.tri_indices.numpy()[:32], np.arange(25, 50))
    assert len(heights) > 4 and heights.min() > 0.0 and np.abs(result.qd).max() < 100.0


def heights_above(x, triangles, points):
    """Heights of points over the triangles that are straight above or below them."""
    a, b, c = (x[triangles[:, k]] for k in range(3))
    heights = []
    for p in x[points]:
        area = np.cross(b - a, c - a)[:, 2]
        v, w = np.cross(p - a, c - a)[:, 2] / area, np.cross(b - a, p - a)[:, 2] / area
        on = np.minimum(np.minimum(v, w), 1.0 - v - w) >= 0.0
        heights.append((p - a - v[:, None] * (b - a) - w[:, None] * (c - a))[on, 2])
    return np.concatenate(heights)


def test_free_flight_is_not_slowed():
    """Theory notes, case 31: straight down at 50 m/s, 20 cm a step with a margin of 17.5 mm, on a parabola to rounding."""
    builder = hooke.ModelBuilder(gravity=(0.0, 0.0, -10.0))
    add_sheet(builder, (0.0, 0.0, 0.0), vel=(0.0, 0.0, 50.0))
    add_sheet(builder, (100.0, 0.0, 0.0))
    model = finalize(builder)
    result = run(model, steps=24)
    assert np.allclose(result.qd[:25], (0.0, 0.0, 50.0 - 10.0 * 24 * DT), atol=1e-3)
    plain = run(model, steps=24, particle_enable_self_contact=False)
    assert np.abs(result.q - plain.q).max() < 1e-5


@pytest.mark.parametrize("speed", [0.5, 2.0, 20.0])
def test_a_cloth_that_flies_along_itself_is_not_slowed(speed):
    """A flat sheet with cells of 5 mm, 60 steps a second, that flies in its own plane, many cells in a step."""
    builder = hooke.ModelBuilder(gravity=0.0)
    add_sheet(builder, (0.0, 0.0, 1.0), 8, 0.005, vel=(speed, 0.0, 0.0))
    result = run(finalize(builder), steps=3, dt=1 / 60, particle_self_contact_radius=0.001, particle_self_contact_margin=0.002)
    assert np.allclose(result.qd, (speed, 0.0, 0.0), atol=1e-3 * speed)


@pytest.mark.parametrize("interval", [-1, 0, 1])
def test_what_flies_together_is_not_slowed(interval):
    """Five sheets, 15 mm apart, in which nothing moves relative to anything, at 5 m/s: Galilean invariance."""
    builder = hooke.ModelBuilder(gravity=0.0)
    for n in range(5):
        add_sheet(builder, (0.0, 0.0, 1.0 + 0.015 * n), vel=(0.0, 0.0, -5.0))
    model = finalize(builder, ke=1e3, kd=0.0, mu=0.0)
    result = run(model, steps=1, dt=1 / 60, particle_collision_detection_interval=interval)
    assert np.allclose(result.qd, (0.0, 0.0, -5.0), atol=1e-3)


def test_a_spinning_cloth_keeps_its_spin():
    """10 rad/s, 60 steps a second, cells of 5 mm: angular momentum is what it is without self-contact."""
    builder = hooke.ModelBuilder(gravity=0.0)
    add_sheet(builder, (-0.1, -0.1, 1.0), 40, 0.005, tri_ke=1e4, tri_ka=1e4)
    model, spins = finalize(builder, ke=1e3, kd=0.0, mu=0.0), []
    x = model.particle_q.numpy()
    model.particle_qd.assign(np.cross((0.0, 0.0, 10.0), x - (0.0, 0.0, 1.0)).astype(np.float32))
    for enabled in (False, True):
        result = run(
            model, steps=6, dt=1 / 60, particle_enable_self_contact=enabled, particle_self_contact_radius=0.001,
            particle_self_contact_margin=0.002,
        )  # fmt: skip
        spins.append(np.cross(result.q, result.qd).sum(axis=0)[2])
    assert abs(spins[1] / spins[0] - 1.0) < 0.01


@pytest.mark.parametrize(("stiffness", "iterations", "interval"), [(1e3, 5, 0), (1e-3, 3, 0), (1e5, 5, 2), (1e3, 5, -1)])
def test_wild_cloths_never_cross(stiffness, iterations, interval):
    """Three worlds of two cloths, thrown about at up to 30 m/s a particle: no triangles meet, nor those that share a corner meet
    anywhere else."""
    builder = hooke.ModelBuilder(gravity=0.0)
    for _ in range(3):
        builder.begin_world()
        add_sheet(builder, (0.0, 0.0, 1.0), 7, edge_ke=1e-4)
        add_sheet(builder, (0.01, 0.02, 1.03), 7)
        builder.end_world()
    model = finalize(builder, ke=stiffness, kd=0.0, mu=0.2)
    options = {**OPTIONS, "particle_collision_detection_interval": interval}
    solver, a, b = SolverVBD(model, iterations=iterations, **options), model.state(), model.state()
    rng, beside = np.random.default_rng(1), (np.arange(model.particle_count) // 128 * 64.0)[:, None] * (1.0, 0.0, 0.0)
    for step in range(30):
        if step % 5 == 0:
            a.particle_qd.assign((rng.normal(size=(model.particle_count, 3)) * 10.0 ** rng.uniform(0, 1.5)).astype(np.float32))
        solver.step(a, b, None, None, 1 / 120)
        a, b = b, a
        x = a.particle_q.numpy().astype(float) + beside
        assert len(intersecting_triangles(x, model.tri_indices.numpy(), ignore_shared=False)) == 0
    assert solver.status.overflow == {}


def lifted(speed, dt, steps):
    """A fixed sheet that the caller raises under a free one: the model and the last state."""
    builder = hooke.ModelBuilder(gravity=(0.0, 0.0, -10.0))
    add_sheet(builder, (-0.05, -0.05, 1.0), 3, 0.1)
    builder.particle_flags.array[:] = 0
    add_sheet(builder, (0.013, 0.017, 1.012))
    model = finalize(builder, ke=1e3, kd=0.1, mu=0.2)
    solver, a, b = SolverVBD(model, **OPTIONS), model.state(), model.state()
    for _ in range(steps):
        q = a.particle_q.numpy()
        q[:16, 2] += speed * dt
        a.particle_q.assign(q)
        solver.step(a, b, None, None, dt)
        a, b = b, a
        assert crossings(model, a) == 0
    return a.particle_q.numpy()


def test_fixed_particles_push_what_is_in_their_way():
    """3 mm a step, a third of the radius: the free sheet is taken along."""
    q = lifted(0.72, DT, 60)
    assert q[16:, 2].min() > q[0, 2] > 1.179


@pytest.mark.xfail(strict=True, reason="what the caller moves goes through what is nearer than its way: nothing pushes it aside")
def test_fixed_particles_push_when_they_are_fast():
    """1 m/s at 60 steps a second, 17 mm a step, farther than the sheets are apart."""
    q = lifted(1.0, 1 / 60, 20)
    assert q[16:, 2].min() > q[0, 2]


@pytest.mark.parametrize("far", [0.0, 100.0, 1000.0])
def test_far_from_the_origin(far):
    """Sheets thrown on each other 1 km away do not pass, whatever the spacing of float32 there (61 um)."""
    model, found = two_sheets(5.0, 0.05, ke=1e3), []
    q = model.particle_q.numpy() + np.float32(far)
    model.particle_q.assign(q)
    run(model, steps=40, dt=DT, each=lambda n, state: found.append(crossings(model, state)))
    assert found == [0] * 40


# ---- the same whatever computes it


def test_worlds_are_separate():
    """Three worlds, each with its own sheets at the same place: the others do not change by a bit when one gets another velocity, nor
    when its particles are no numbers."""
    model = folded_sheets(2, worlds=3)
    count = model.particle_count // 3
    ends = []
    for change in (0.0, 3.0, np.nan):
        solver, a, b = SolverVBD(model, **OPTIONS), model.state(), model.state()
        qd = a.particle_qd.numpy()
        qd[count : 2 * count] += change
        a.particle_qd.assign(qd)
        for _ in range(10):
            solver.step(a, b, None, None, DT)
            a, b = b, a
        ends.append(a.particle_q.numpy().reshape(3, count, 3))
    for end in ends[1:]:
        assert np.array_equal(end[[0, 2]], ends[0][[0, 2]])
        assert not np.array_equal(end[1], ends[0][1])
    assert np.array_equal(ends[0][0], ends[0][2])


def test_worlds_are_separate_when_trees_are_rebuilt():
    model = folded_sheets(2, worlds=2)
    count = model.particle_count // 2
    ends = []
    for change in (0.0, 50.0):
        solver, a, b = SolverVBD(model, **OPTIONS), model.state(), model.state()
        qd = a.particle_qd.numpy()
        qd[count:, 2] += change
        a.particle_qd.assign(qd)
        for _ in range(10):
            solver.rebuild_bvh(a)
            solver.step(a, b, None, None, DT)
            a, b = b, a
        ends.append(a.particle_q.numpy()[:count])
    assert np.array_equal(*ends)


def test_lanes_move_like_single_particles(monkeypatch, folded, ended):
    """20 steps with friction and damping, 1e-4 m."""
    assert isinstance(ended.solver._sweeps.lanes, LaneSweep)
    monkeypatch.setattr(config, "lanes", False)
    single = run(folded, steps=20)
    assert single.solver._sweeps.lanes is None
    assert np.abs(ended.q - single.q).max() < 1e-4
    assert np.abs(ended.q - folded.particle_q.numpy()).max() > 0.005


@SCALAR
def test_workers_make_no_difference(monkeypatch, folded, lanes):
    """Launched one by one, recorded for one worker, and for two: the same bits."""
    monkeypatch.setattr(config, "lanes", lanes)
    ends = []
    for graphs, workers in ((False, 1), (True, 1), (True, 2), (True, 3)):
        monkeypatch.setattr(config, "graphs", graphs)
        monkeypatch.setattr(config, "workers", workers)
        ends.append(arrays_of(run(folded, steps=15).state))
    for end in ends[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(end, ends[0], strict=True))


def test_a_run_repeats(folded, ended):
    assert same(run(folded, steps=20).state, ended.state)


def test_rebuilding_the_trees_changes_only_the_order(folded, ended):
    """Pairs are the same; rows are summed in another order, so positions differ by rounding."""
    rebuilt = {}

    def rebuild(n, state):
        rebuilt["solver"].rebuild_bvh(state)

    rebuilt["solver"] = SolverVBD(folded, **OPTIONS)
    result = run(folded, steps=20, solver=rebuilt["solver"], each=rebuild)
    assert np.abs(result.q - ended.q).max() < 1e-4


def test_reset_forgets(folded, ended):
    """A step after a reset equals the first step of a new solver."""
    solver, state, other = ended.solver, folded.state(), folded.state()
    solver.reset(state)
    solver.step(state, other, None, None, DT)
    assert same(other, run(folded, steps=1).state)


@pytest.mark.parametrize("interval", [-1, 0, 1, 3])
def test_detection_intervals(folded, interval):
    """All keep apart and hold the sheets up; a search more often changes the result but little."""
    found = []
    result = run(
        folded, steps=40, particle_collision_detection_interval=interval, each=lambda n, s: found.append(crossings(folded, s))
    )
    assert found == [0] * 40 and result.solver.status.ok
    assert result.q[16:, 2].min() > 1.0 - 0.02
    stages = result.solver._surface.stages(lambda: None, [lambda: None] * 7, lambda: None, lambda: None)
    assert len(stages) == {-1: 3, 0: 3, 1: 2 * 7 + 1, 3: 2 * 3 + 1}[interval]


# ---- captures and buffers


@SCALAR
def test_a_capture_equals_the_eager_run(monkeypatch, folded, lanes):
    monkeypatch.setattr(config, "lanes", lanes)
    roomy = {"particle_vertex_contact_buffer_size": 256, "particle_edge_contact_buffer_size": 512}
    eager = run(folded, steps=12, **roomy)
    solver, a, b = SolverVBD(folded, **OPTIONS, **roomy), folded.state(), folded.state()
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(a, b, None, None, DT)
        solver.step(b, a, None, None, DT)
    for _ in range(6):
        wp.capture_launch(capture.graph)
    assert same(a, eager.state) and solver.status.ok


def crowded():
    """Sheets on one spot, each near all triangles of the others."""
    builder = hooke.ModelBuilder(gravity=0.0)
    for n in range(4):
        add_sheet(builder, (0.0, 0.0, 1.0 + 0.004 * n), cells=5, cell=0.01)
    return finalize(builder, ke=10.0, kd=0.0, mu=0.1)


def test_buffers_grow_outside_of_a_capture():
    """From the least to as much as is needed: the result is that of large buffers, bit by bit, in the first step already."""
    model, wide = crowded(), {"particle_self_contact_margin": 0.05}
    small = run(model, steps=3, particle_vertex_contact_buffer_size=1, particle_edge_contact_buffer_size=1, **wide)
    large = run(model, steps=3, particle_vertex_contact_buffer_size=4000, particle_edge_contact_buffer_size=9000, **wide)
    room = [pool.room for pool in small.solver._surface.near.pools]
    assert room[0] > 16 + 4 * 144 and small.solver.status.ok and large.solver.status.ok
    assert same(small.state, large.state)


def test_overflow_in_a_capture_is_reported_with_the_number_needed():
    model = crowded()
    options = {**OPTIONS, "particle_self_contact_margin": 0.05}
    tight = {"particle_vertex_contact_buffer_size": 1, "particle_edge_contact_buffer_size": 1}
    solver, a, b = SolverVBD(model, **options, **tight), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(a, b, None, None, DT)
    wp.capture_launch(capture.graph)
    with pytest.warns(UserWarning, match="lost"):
        status = solver.status
    assert not status.ok
    needed, available = status.overflow["self_contact vertex-triangle"]
    assert needed > available > 0
    assert needed <= model.particle_count * model.tri_count
    assert "self_contact edge-edge" in status.overflow


def test_a_step_after_an_overflow_in_a_capture_makes_room():
    model = crowded()
    options = {**OPTIONS, "particle_self_contact_margin": 0.05, "particle_vertex_contact_buffer_size": 1}
    solver, a, b = SolverVBD(model, **options), model.state(), model.state()
    with wp.ScopedCapture(device="cpu"):
        solver.step(a, b, None, None, DT)
    solver.step(a, b, None, None, DT)
    assert solver.status.ok
    assert same(b, run(model, steps=1, particle_self_contact_margin=0.05).state)


# ---- what takes part


def test_without_contacts_and_without_triangles():
    """No contacts argument is needed; a model without triangles steps as if it were off."""
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 1.0), (0.0, 0.0, 1.001)])
    model = finalize(builder)
    assert same(run(model, steps=3).state, run(model, steps=3, particle_enable_self_contact=False).state)
    assert list(inspect.signature(SolverVBD.step).parameters)[1:] == ["state_in", "state_out", "control", "contacts", "dt"]


def test_loose_particles_and_the_inside_of_bodies_take_no_part():
    builder = hooke.ModelBuilder(gravity=0.0)
    add_sheet(builder, (0.0, 0.0, 1.0))
    add_points(builder, [(0.1, 0.1, 1.005)], velocity=(0.0, 0.0, -1.0))
    model = finalize(builder, ke=1e3)
    result = run(model, steps=5)
    assert np.allclose(result.qd[-1], (0.0, 0.0, -1.0)) and np.abs(result.qd[:-1]).max() < 1e-5


def test_soft_bodies_collide():
    """Two blocks that fly at each other at 2 m/s: their surfaces stay apart."""
    builder = hooke.ModelBuilder(gravity=0.0)
    for z, speed in ((0.0, 1.0), (0.33, -1.0)):
        builder.add_soft_grid(
            pos=(0.013 * z, 0.0, z), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, speed), dim_x=3, dim_y=3, dim_z=3, cell_x=0.1, cell_y=0.1,
            cell_z=0.1, density=100.0, k_mu=2e3, k_lambda=2e3, k_damp=0.0,
        )  # fmt: skip
    model, found = finalize(builder, ke=1e3, kd=0.0, mu=0.0), []
    result = run(model, steps=60, each=lambda n, state: found.append(crossings(model, state)))
    speed = result.qd.reshape(2, -1, 3)[:, :, 2].mean(axis=1)
    assert sum(found) == 0 and speed[0] < 0.2 and speed[1] > -0.2

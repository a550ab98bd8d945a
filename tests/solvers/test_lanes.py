"""Sixteen particles at a time: the same forces, the same motion as one at a time, to rounding."""

import itertools

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.elements import ELEMENTS
from hooke.solvers.vbd.lanes import LaneSweep
from hooke.solvers.vbd.packing import Layout
from tests.support import GRAVITY, UPRIGHT, finalize, surface


def everything(seed=0):
    """Cloth in the wind, a soft block and springs over a sphere, some held, crumpled; 120 particles, no multiple of 16."""
    builder = hooke.ModelBuilder()
    builder.add_cloth_grid(
        pos=(-0.3, -0.3, 0.5), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=7, dim_y=8, cell_x=0.08, cell_y=0.08, mass=0.01, fix_left=True,
        tri_ke=200.0, tri_ka=100.0, tri_kd=0.2, edge_ke=0.05, edge_kd=1e-3, add_springs=True, spring_ke=30.0, spring_kd=0.1,
        tri_drag=2.0, tri_lift=1.0, particle_radius=0.02,
    )  # fmt: skip
    builder.add_soft_grid(
        pos=(0.4, -0.1, 0.3), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=3, dim_y=3, dim_z=2, cell_x=0.08, cell_y=0.08, cell_z=0.08,
        density=400.0, k_mu=2e4, k_lambda=3e4, k_damp=5.0, particle_radius=0.02,
    )  # fmt: skip
    hand = builder.add_body(xform=(0.4, -0.1, 0.5, 0.0, 0.0, 0.0, 1.0), is_kinematic=True)
    for particle in (100, 101, 101, 119):
        builder.add_attachment_particle_body(particle, hand, body_point=(0.0, 0.1, 0.1), stiffness=300.0, damping=0.5)
    builder.add_attachment_particle_body(50, -1, stiffness=50.0, damping=0.1)
    builder.add_shape_sphere(-1, xform=(0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0), radius=0.2, cfg=surface())
    builder.add_ground_plane(cfg=surface())
    q = builder.particle_q.array
    q += 0.01 * np.random.default_rng(seed).normal(size=q.shape)
    model = finalize(builder)
    model.set_wind((1.0, 0.5, 0.0))
    return model


def moved(model, steps, **options):
    solver, a, b, contacts = hooke.solvers.SolverVBD(model, **options), model.state(), model.state(), model.contacts()
    for _ in range(steps):
        model.collide(a, contacts)
        solver.step(a, b, None, contacts, 1.0 / 300.0)
        a, b = b, a
    return a.particle_q.numpy().astype(float), solver


@pytest.mark.parametrize("friction", ["anchored", "smoothed"])
def test_lanes_move_like_single_particles(monkeypatch, friction):
    """0.1 s: all kinds of elements, contacts and fixed particles; 1e-4 m (later the folds of a crumpled cloth part by themselves)."""
    model = everything()
    lanes, solver = moved(model, 30, particle_contact_friction=friction)
    assert isinstance(solver._sweeps.lanes, LaneSweep) and len({element.name for element, _, _ in solver._sweeps.active}) == len(
        ELEMENTS
    )
    monkeypatch.setattr(config, "lanes", False)
    single, solver = moved(model, 30, particle_contact_friction=friction)
    assert solver._sweeps.lanes is None
    assert np.abs(lanes - single).max() < 1e-4
    assert np.abs(lanes - model.particle_q.numpy()).max() > 0.04
    assert lanes[:, 2].min() > 0.0 and GRAVITY > 0.0


def test_one_step_is_the_same_to_rounding(monkeypatch):
    model = everything()
    lanes, _ = moved(model, 1, iterations=3)
    monkeypatch.setattr(config, "lanes", False)
    single, _ = moved(model, 1, iterations=3)
    assert 0.0 < np.abs(lanes - single).max() < 2e-7


@pytest.mark.parametrize("count", [1, 2, 16, 17])
def test_any_number_of_particles(monkeypatch, count):
    """Groups that are not full, and colours of one particle."""
    builder = hooke.ModelBuilder()
    for i in range(count + 1):
        builder.add_particle((0.1 * i, 0.0, 1.0), (0.0, 0.0, 0.0), 0.0 if i == 0 else 0.1)
    for i in range(count):
        builder.add_spring(i, i + 1, 500.0, 0.5, 0.0)
    model = finalize(builder)
    states = []
    for lanes in (True, False):
        monkeypatch.setattr(config, "lanes", lanes)
        solver, a, b = hooke.solvers.SolverVBD(model), model.state(), model.state()
        for _ in range(20):
            solver.step(a, b, None, None, 0.01)
            a, b = b, a
        states.append(a.particle_q.numpy())
    assert np.isfinite(states[0]).all() and np.abs(states[0] - states[1]).max() < 1e-5


def test_every_record_has_a_place_of_its_own():
    """Slots are a permutation, colours do not share a group, and each group is as high as its busiest particle needs."""
    model = everything()
    _, solver = moved(model, 1)
    sweep, count = solver._sweeps.lanes, model.particle_count
    own = sweep.own.numpy()
    assert sorted(own[own < count]) == list(range(count)) and (own[own >= count] == count).all()
    for (first, number), color in zip(sweep.ranges, solver._sweeps.colors, strict=True):
        group = own[first : first + number]
        assert sorted(group[group < count]) == sorted(color.numpy())
    for records in sweep.records:
        first, index = records.first.numpy(), records.index.numpy()
        assert first[0] == 0 and first[-1] == len(index) and (np.diff(first) >= 0).all()
        filled = (index != own.size).all(axis=1)  # (rows, 16); the slot behind the last group is nobody's
        heights = [filled[a:b].sum(axis=0).max(initial=0) for a, b in itertools.pairwise(first)]
        assert heights == np.diff(first).tolist()


def test_neighbours_share_a_region():
    """Equal places and loads: the order of particles; far places: by place, whatever the order."""
    layout = Layout(np.zeros(40, np.int64), [np.arange(40)], np.zeros((40, 3)))
    assert layout.slot.tolist() == list(range(40)) and layout.ranges == [(0, 3)] and layout.own[2, 8:].tolist() == [40] * 8
    place = np.zeros((4096, 3))
    place[:, 0] = np.random.default_rng(0).permutation(4096)
    layout = Layout(np.zeros(4096, np.int64), [np.arange(4096)], place)
    assert np.ptp(place[layout.own][:, :, 0], axis=1).max() < 64


def test_loads_of_lanes_stay_inside_the_arrays():
    """A load takes four numbers; the slot that stands in where lanes have none is the last that is loaded."""
    sweep = hooke.solvers.SolverVBD(everything())._sweeps.lanes
    last = max(int(records.index.numpy().max()) for records in sweep.records)
    for array in (sweep.motion.start, sweep.motion.target, sweep.motion.displacement):
        assert 3 * last + 4 <= 3 * len(array)

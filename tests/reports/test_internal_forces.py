"""Field report "internal forces are internal": what acts only between the parts of a thing does not move the whole."""

import numpy as np
import pytest

from hooke import ModelBuilder, measure_energy, measure_momentum
from tests.elements.samples import random_rotations
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate


def cloth(crumpled, size=5, seed=0):
    b = ModelBuilder()
    b.add_cloth_grid(
        pos=(0, 0, 0), rot=(0.18257419, 0.36514837, 0.54772256, 0.73029674), vel=(0, 0, 0), dim_x=size, dim_y=size, cell_x=0.1,
        cell_y=0.1, mass=0.01, tri_ke=100.0, tri_ka=100.0, tri_kd=0.1, edge_ke=0.01, edge_kd=1e-3,
    )  # fmt: skip
    model = finalize(b)
    state = model.state()
    q = state.particle_q.numpy()
    state.particle_q.assign(q + crumpled * 0.1 * np.random.default_rng(seed).normal(size=q.shape).astype(np.float32))
    return model, state


@pytest.mark.parametrize("crumpled, iterations", [(0.0, 10), (0.2, 100)])
def test_free_fall_of_a_cloth(crumpled, iterations):
    """A turned cloth of 0.5 m with bending and damping falls for 1 s: its centre of mass moves sideways by less than 1e-6 m, and
    down by g dt^2 N (N + 1) / 2. Flat at 10 iterations, and with its vertices displaced by 20 % of an edge at 100."""
    model, state = cloth(crumpled)
    start = measure_momentum(model, state).com
    elastic = sum(measure_energy(model, state).elastic.values())
    run = simulate(model, steps=100, dt=0.01, state=state, iterations=iterations)
    moved = measure_momentum(model, run.state).com - start
    assert np.abs(moved[:2]).max() < 1e-6
    assert moved[2] == pytest.approx(-GRAVITY * 0.01**2 * 100 * 101 / 2, rel=1e-5)
    if crumpled:
        assert elastic > 0.05
        assert sum(measure_energy(model, run.state).elastic.values()) < 0.1 * elastic  # it did move inside


def test_momentum_of_a_crumpled_cloth_without_gravity():
    """The same cloth without gravity, 100 steps at 100 iterations: momentum below 1e-5 of the largest sum of m |v| on the way."""
    model, state = cloth(0.2)
    model.set_gravity(0.0)
    mass, largest = model.particle_mass.numpy().astype(float), []
    each = lambda n, s: largest.append((mass * np.linalg.norm(s.particle_qd.numpy(), axis=1)).sum())
    run = simulate(model, steps=100, dt=0.01, state=state, iterations=100, each=each)
    assert max(largest) > 0.1
    assert np.linalg.norm(measure_momentum(model, run.state).linear) < 1e-5 * max(largest)


def folded(size, angle, rotation, membrane, bending=1.0):
    """Two triangles with an edge of length ``size`` folded by ``angle``, at rest."""
    h = 0.8 * size
    x = np.array([(0, h, 0), (0, -h * np.cos(angle), h * np.sin(angle)), (-size / 2, 0, 0), (size / 2, 0, 0)])
    b = ModelBuilder(gravity=0.0)
    add_points(b, (x @ rotation.T).astype(np.float32), mass=0.1)
    b.add_triangles([0, 1], [2, 3], [3, 2], tri_ke=membrane, tri_ka=membrane, tri_kd=0.1 if membrane else 0.0)
    b.add_edge(0, 1, 2, 3, edge_ke=bending * size, edge_kd=0.1 * size)
    return finalize(b)


ANGLES = np.radians([0, 30, 90, 150, 175, -90])


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("membrane", [0.0, 100.0], ids=["hinge alone", "with membranes"])
def test_a_folded_hinge_at_rest(size, membrane):
    """Hinges folded by 0 to 175 degrees, 1 cm to 100 m, in two orientations, at rest without gravity for 1 s: no vertex moves by
    more than 3e-7 of the length of the edge up to 90 degrees and 5e-7 beyond, where one unit of the last place of the angle is 2.4e-7.
    With membranes of 100 N/m the rounding of their stress, 1e-7 of the stiffness, drives it by up to 5e-6."""
    moved = {}
    for k, rotation in enumerate((np.eye(3), random_rotations(np.random.default_rng(5), 1)[0])):
        for angle in ANGLES:
            model = folded(size, angle, rotation, membrane)
            run = simulate(model, steps=100, dt=0.01)
            moved[k, round(np.degrees(angle))] = np.abs(run.q - model.particle_q.numpy()).max() / size
    limits = {case: 1e-5 if membrane else 3e-7 if abs(case[1]) <= 90 else 5e-7 for case in moved}
    assert {case: f"{value:.1e}" for case, value in moved.items() if value > limits[case]} == {}


def test_a_stiff_sheet_at_rest():
    """The hinge of 1 m folded by 90 degrees with membranes of 1e5 N/m and masses of 0.1 kg, 1 s at rest: it moves by less than 1 mm.
    Rounding leaves forces of 1e-7 of the stiffness, here 0.01 N; what matters is that they do not add up: alone they would move a
    vertex by 50 mm."""
    model = folded(1.0, np.radians(90), random_rotations(np.random.default_rng(5), 1)[0], 1e5)
    run = simulate(model, steps=100, dt=0.01)
    assert np.abs(run.q - model.particle_q.numpy()).max() < 1e-3


def test_the_hinge_holds_its_fold():
    """The hinge folded by 90 degrees, opened by 20 degrees and let go with damping: it comes back to 90 within 1 degree in 5 s."""
    model = folded(1.0, np.radians(90), np.eye(3), 100.0, bending=5.0)
    state = model.state()
    q = state.particle_q.numpy()
    q[1] = (0, -0.8 * np.cos(np.radians(70)), 0.8 * np.sin(np.radians(70)))
    state.particle_q.assign(q)
    run = simulate(model, steps=1000, dt=0.005, state=state)
    x = run.q
    edge = x[3] - x[2]
    wing = [x[i] - x[2] - edge * np.dot(x[i] - x[2], edge) / np.dot(edge, edge) for i in (0, 1)]
    opening = np.degrees(np.arccos(np.dot(*wing) / np.linalg.norm(wing[0]) / np.linalg.norm(wing[1])))
    assert opening == pytest.approx(90, abs=1.0)

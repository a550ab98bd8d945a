"""Field report "worlds are separate": whatever happens in one world, the others do not change by a single bit."""

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT, add_points, finalize, simulate, surface

DT = 1 / 240


def cloth_over_box():
    part = ModelBuilder()
    part.add_shape_box(-1, xform=(0, 0, 0.1, *UPRIGHT), hx=0.1, hy=0.1, hz=0.1, cfg=surface())
    part.add_cloth_grid(
        pos=(-0.1, -0.12, 0.22), rot=UPRIGHT, vel=(0.3, 0, 0), dim_x=4, dim_y=4, cell_x=0.05, cell_y=0.05, mass=0.002, tri_ke=300.0,
        tri_ka=300.0, tri_kd=0.1, edge_ke=1e-3, edge_kd=1e-4, particle_radius=0.01,
    )  # fmt: skip
    return part


def three_worlds():
    b = ModelBuilder()
    b.add_ground_plane(cfg=surface())  # shared
    b.replicate(cloth_over_box(), 3)
    return finalize(b)


@pytest.fixture(scope="module")
def model():
    return three_worlds()


def world(state, w):
    return [getattr(state, name).numpy()[25 * w : 25 * (w + 1)] for name in ("particle_q", "particle_qd")]


def assert_same(one, two):
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_gravity_of_each_world():
    """Gravity -1 and -5 m/s^2, one step of 0.1 s from rest: v = -0.1, -0.5 m/s and z = -0.01, -0.05 m to 1e-6."""
    b = ModelBuilder(gravity=-10.0)
    for g in (-1.0, -5.0):
        b.begin_world(gravity=g)
        add_points(b, [(0, 0, 0)])
        b.end_world()
    add_points(b, [(0, 0, 0)])  # of no world
    run = simulate(finalize(b), steps=1, dt=0.1)
    np.testing.assert_allclose(run.qd[:, 2], (-0.1, -0.5, -1.0), atol=1e-6)
    np.testing.assert_allclose(run.q[:, 2], (-0.01, -0.05, -0.1), atol=1e-6)


def test_equal_worlds_do_the_same(model):
    """Three copies at one place, 60 steps with contact: equal positions in all, bitwise."""
    run = simulate(model, steps=60, dt=DT)
    assert_same(world(run.state, 0), world(run.state, 1))
    assert_same(world(run.state, 0), world(run.state, 2))
    assert np.ptp(run.q[:25, 2]) > 1e-3  # the cloth has draped


def test_gravity_of_another_world(model):
    """World 1 of three gets gravity (3, 0, -5): worlds 0 and 2 are bitwise as before, world 1 is not."""
    before = simulate(model, steps=60, dt=DT)
    changed = three_worlds()
    changed.set_gravity((3.0, 0.0, -5.0), world=1)
    after = simulate(changed, steps=60, dt=DT)
    for w in (0, 2):
        assert_same(world(before.state, w), world(after.state, w))
    assert np.abs(world(before.state, 1)[0] - world(after.state, 1)[0]).max() > 1e-3


@pytest.mark.parametrize("length", [3, 4])
def test_reset_of_one_world(model, length):
    """60 steps, reset of world 1 of three, 60 steps: worlds 0 and 2 bitwise as without reset, world 1 bitwise as a fresh run."""
    whole, fresh = simulate(model, steps=120, dt=DT), simulate(model, steps=60, dt=DT)
    run = simulate(model, steps=60, dt=DT)
    mask = np.array([False, True, False, False][:length])
    run.solver.reset(run.state, wp.array(mask, dtype=wp.bool, device="cpu"))
    np.testing.assert_array_equal(world(run.state, 1)[0], model.particle_q.numpy()[25:50])
    run = simulate(model, steps=60, dt=DT, state=run.state, solver=run.solver, contacts=run.contacts)
    for w in (0, 2):
        assert_same(world(run.state, w), world(whole.state, w))
    assert_same(world(run.state, 1), world(fresh.state, 1))


@pytest.mark.parametrize("name", ["particle_q", "particle_qd", "particle_f"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_one_world_explodes(model, name, value):
    """A NaN, an infinity or 1e30 in one particle of world 1: worlds 0 and 2 are bitwise as in a clean run, 40 steps."""
    clean = simulate(model, steps=40, dt=DT)
    state = model.state()
    values = getattr(state, name).numpy().copy()
    values[30] = value
    getattr(state, name).assign(values)
    run = simulate(model, steps=40, dt=DT, state=state)
    for w in (0, 2):
        assert_same(world(run.state, w), world(clean.state, w))
    broken = np.abs(run.q[25:50])
    assert not np.isfinite(broken).all() or broken.max() > 1e3
    assert not run.solver.status.ok or value == 1e30


def test_an_exploded_world_comes_back(model):
    """World 1 full of NaN for 20 steps, then reset: it is bitwise a fresh run, and the others go on."""
    state = model.state()
    values = state.particle_q.numpy().copy()
    values[25:50] = np.nan
    state.particle_q.assign(values)
    run = simulate(model, steps=20, dt=DT, state=state)
    run.solver.reset(run.state, wp.array([False, True, False], dtype=wp.bool, device="cpu"))
    run = simulate(model, steps=40, dt=DT, state=run.state, solver=run.solver, contacts=run.contacts)
    assert_same(world(run.state, 1), world(simulate(model, steps=40, dt=DT).state, 1))
    assert_same(world(run.state, 0), world(simulate(model, steps=60, dt=DT).state, 0))


def test_a_world_does_what_it_does_alone():
    """World 0 alone and beside two others that started elsewhere: the same to 1e-5 m after 60 steps (the order of rows may differ)."""
    b = ModelBuilder()
    b.add_ground_plane(cfg=surface())
    b.replicate(cloth_over_box(), 1)
    alone = simulate(finalize(b), steps=60, dt=DT)
    model = three_worlds()
    state = model.state()
    q = state.particle_q.numpy().copy()
    q[25:] += (0.02, 0.01, 0.05)
    state.particle_q.assign(q)
    together = simulate(model, steps=60, dt=DT, state=state)
    np.testing.assert_allclose(together.q[:25], alone.q, atol=1e-5)


def test_shapes_of_other_worlds_are_not_met(model):
    """The boxes of three worlds stand at one place; a particle of world 2 has rows with shapes 0 (shared) and 3 only."""
    run = simulate(model, steps=60, dt=DT)
    n = int(run.contacts.soft_contact_count.numpy()[0])
    assert n > 0
    w = run.contacts.soft_contact_particle.numpy()[:n] // 25
    shape = run.contacts.soft_contact_shape.numpy()[:n]
    assert set(zip(w.tolist(), shape.tolist())) <= {(w, s) for w in range(3) for s in (0, w + 1)}


def test_masks_that_do_not_fit(model):
    """A mask of another type or length is refused."""
    solver, state = SolverVBD(model), model.state()
    with pytest.raises(TypeError, match="bool"):
        solver.reset(state, wp.zeros(3, dtype=wp.int32, device="cpu"))
    with pytest.raises(TypeError, match="bool"):
        solver.reset(state, [True, False, True])
    for length in (2, 5):
        with pytest.raises(ValueError, match="3 or 4"):
            solver.reset(state, wp.zeros(length, dtype=wp.bool, device="cpu"))

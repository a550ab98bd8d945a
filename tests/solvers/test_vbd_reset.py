"""Reset: worlds go back to the model's initial state, and the solver forgets them."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.model.enums import StateFlags
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, add_points, finalize, simulate, surface, tilted

from .scenes import arrays_of, cloth_on_slope, cloths_in_worlds, falling_particles, same
from .test_vbd_arguments import _Elsewhere


def mask(*values):
    return wp.array(list(values), dtype=wp.bool, device="cpu")


def test_reset_then_step_equals_a_new_solver():
    """After 200 steps on a slope, anchors included: 1e-6 after the reset, in each of 20 steps."""
    model = cloth_on_slope(height=0.03)
    run = simulate(model, steps=200, dt=0.01)
    run.solver.reset(run.state)
    assert same(run.state, model.state())
    again, fresh = [], []
    simulate(model, steps=20, dt=0.01, solver=run.solver, state=run.state, each=lambda n, s: again.append(arrays_of(s)))
    simulate(model, steps=20, dt=0.01, each=lambda n, s: fresh.append(arrays_of(s)))
    for a, b in zip(again, fresh, strict=True):
        assert max(np.abs(x - y).max() for x, y in zip(a, b, strict=True)) < 1e-6


def test_reset_forgets_the_anchors():
    """A particle that rests on a slope hangs on its anchor by m g sin / grip. Without a reset it stays; after one that restores
    nothing (flags 0) it sticks where it is, and so gives way by the same stretch once more."""
    angle, dt = 0.2, 0.01
    builder = hooke.ModelBuilder(gravity=tilted(angle))
    builder.add_ground_plane(cfg=surface(mu=0.5))
    add_points(builder, [(0.0, 0.0, 0.1 - GRAVITY * np.cos(angle) / 1750.0)])
    model = finalize(builder)
    run = simulate(model, steps=100, dt=dt)
    rest = run.q[0, 0]
    stretch = GRAVITY * np.sin(angle) / max(1750.0, 1.0 / dt**2)
    assert abs(rest - stretch) < 0.01 * stretch
    run = simulate(model, steps=100, dt=dt, solver=run.solver, state=run.state)
    assert abs(run.q[0, 0] - rest) < 1e-3 * stretch
    run.solver.reset(run.state, flags=0)
    run = simulate(model, steps=100, dt=dt, solver=run.solver, state=run.state)
    assert abs(run.q[0, 0] - rest - stretch) < 0.01 * stretch


def test_reset_leaves_nothing_of_the_past():
    """From any state, a solver that was reset with flags 0 gives the same bits as a new one."""
    model = cloth_on_slope(height=0.03)
    run = simulate(model, steps=30, dt=0.01)
    state = run.state.clone()
    run.solver.reset(run.state, flags=0)
    again = simulate(model, steps=3, dt=0.01, solver=run.solver, state=run.state)
    assert same(again.state, simulate(model, steps=3, dt=0.01, state=state).state)


@pytest.mark.parametrize("cleared", [False, True])
def test_teleport(cleared):
    """Field report: put back to the start by hand, with and without a reset, the cloth moves as in a new solver (1e-6), its first
    velocity the authored one."""
    model = cloth_on_slope(height=0.015)
    run = simulate(model, steps=200, dt=0.01)
    run.state.assign(model.state())
    if cleared:
        run.solver.reset(run.state, flags=0)
    again, fresh = [], []
    simulate(model, steps=5, dt=0.01, solver=run.solver, state=run.state, each=lambda n, s: again.append(arrays_of(s)))
    simulate(model, steps=5, dt=0.01, each=lambda n, s: fresh.append(arrays_of(s)))
    for a, b in zip(again, fresh, strict=True):
        assert np.abs(a[0] - b[0]).max() < 1e-6
        assert np.abs(a[1] - b[1]).max() < 1e-4


@pytest.mark.parametrize("length", [3, 4])
def test_one_of_three_worlds(length):
    """Masks with and without the entry of what belongs to no world; the other worlds go on bit by bit as if nothing had happened."""
    model = cloths_in_worlds(3)
    world = model.particle_world.numpy()
    plain = simulate(model, steps=25, dt=0.01)
    run = simulate(model, steps=20, dt=0.01)
    run.solver.reset(run.state, mask(*[False, True, False, False][:length]))
    run = simulate(model, steps=5, dt=0.01, solver=run.solver, state=run.state)
    fresh = simulate(model, steps=5, dt=0.01)
    for result, untouched, restarted in zip(*(arrays_of(r.state) for r in (run, plain, fresh)), strict=True):
        assert np.array_equal(result[world != 1], untouched[world != 1])
        assert np.abs(result[world == 1] - restarted[world == 1]).max() < 1e-6
        assert np.abs(result[world == 1] - untouched[world == 1]).max() > 1e-5


def test_only_what_belongs_to_no_world():
    model = cloths_in_worlds(2)
    world = model.particle_world.numpy()
    run = simulate(model, steps=20, dt=0.01)
    before = arrays_of(run.state)
    run.solver.reset(run.state, mask(False, False, True))
    for result, old, initial in zip(arrays_of(run.state), before, arrays_of(model.state()), strict=True):
        assert np.array_equal(result[world >= 0], old[world >= 0])
        assert np.array_equal(result[world < 0], initial[world < 0])
    assert not np.array_equal(before[0][world < 0], arrays_of(model.state())[0][world < 0])


def test_a_short_mask_leaves_out_what_belongs_to_no_world():
    model = cloths_in_worlds(2)
    world = model.particle_world.numpy()
    run = simulate(model, steps=5, dt=0.01)
    before = arrays_of(run.state)
    run.solver.reset(run.state, mask(True, True))
    assert np.array_equal(arrays_of(run.state)[0][world < 0], before[0][world < 0])
    assert np.array_equal(arrays_of(run.state)[0][world >= 0], model.particle_q.numpy()[world >= 0])


def test_flags_choose_the_arrays():
    model = falling_particles()
    run = simulate(model, steps=5, dt=0.01)
    q, qd = arrays_of(run.state)
    run.solver.reset(run.state, flags=0)
    assert np.array_equal(run.state.particle_q.numpy(), q) and np.array_equal(run.state.particle_qd.numpy(), qd)
    run.solver.reset(run.state, flags=StateFlags.PARTICLE_QD)
    assert np.array_equal(run.state.particle_q.numpy(), q)
    assert np.array_equal(run.state.particle_qd.numpy(), model.particle_qd.numpy())
    run.solver.reset(run.state, flags=StateFlags.PARTICLE_Q)
    assert np.array_equal(run.state.particle_q.numpy(), model.particle_q.numpy())


def test_arrays_that_are_missing_are_skipped():
    model = falling_particles()
    state = model.state()
    state.particle_qd = None
    state.particle_q.zero_()
    SolverVBD(model).reset(state)
    assert np.array_equal(state.particle_q.numpy(), model.particle_q.numpy())


def test_masks_that_are_refused():
    model = cloths_in_worlds(2)
    solver, state = SolverVBD(model), model.state()
    state.particle_q.zero_()
    with pytest.raises(TypeError, match="world_mask"):
        solver.reset(state, [True, False])
    with pytest.raises(TypeError, match="world_mask"):
        solver.reset(state, wp.array([1, 0], dtype=wp.int32, device="cpu"))
    with pytest.raises(ValueError, match="length 2 or 3"):
        solver.reset(state, mask(True))
    with pytest.raises(ValueError, match="length 2 or 3"):
        solver.reset(state, mask(True, True, True, True))
    with pytest.raises(ValueError, match="world_mask"):
        solver.reset(state, wp.zeros((1, 2), dtype=wp.bool, device="cpu"))
    elsewhere = mask(True, True)
    elsewhere.device = "cuda:7"
    with pytest.raises(ValueError, match="device"):
        solver.reset(state, elsewhere)
    assert not state.particle_q.numpy().any()  # nothing was touched


def test_state_on_another_device():
    model = falling_particles()
    state = model.state()
    state.particle_q = _Elsewhere(3)
    with pytest.raises(ValueError, match=r"state\.particle_q is on device"):
        SolverVBD(model).reset(state)


@pytest.mark.parametrize("rows", [1, 5])
def test_states_of_another_length(rows):
    """Refused before anything is changed: a long one would be read past the end of the model's arrays."""
    model = falling_particles()
    state, solver = model.state(), SolverVBD(model)
    state.particle_q.zero_()
    state.particle_qd = wp.zeros(rows, dtype=wp.vec3, device="cpu")
    with pytest.raises(ValueError, match=rf"state\.particle_qd has {rows} rows, the model 3 particles"):
        solver.reset(state)
    assert not state.particle_q.numpy().any()
    solver.reset(state, flags=StateFlags.PARTICLE_Q)
    assert np.array_equal(state.particle_q.numpy(), model.particle_q.numpy())

"""What a step does with its states, with fixed particles and with changes of the model."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.model.enums import ModelFlags, ParticleFlags
from hooke.model.model import NAMES
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, add_points, finalize, simulate, surface

from .scenes import add_cloth, arrays_of, cloth_on_slope, falling_particles, same


def test_no_iterations_leave_the_particles_where_inertia_takes_them():
    """iterations = 0: x + dt v + dt^2 (g + f/m) and v + dt (g + f/m), springs and contacts ignored."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)], [1.0, 2.0, 0.0], (0.0, 1.0, 0.5))
    builder.add_spring(0, 1, 1e4, 0.0)
    model = finalize(builder)
    state = model.state()
    state.particle_q.assign([(0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.0, 0.0, 0.0)])
    state.particle_f.assign([(4.0, 0.0, 0.0)] * 3)
    before = state.clone()
    run = simulate(model, steps=1, dt=0.1, state=state, iterations=0)
    velocity = np.array([(0.4, 1.0, 0.5 - 0.1 * GRAVITY), (0.2, 1.0, 0.5 - 0.1 * GRAVITY), (0.0, 0.0, 0.0)])
    assert np.allclose(run.qd, velocity, atol=1e-6)
    assert np.allclose(run.q, before.particle_q.numpy() + 0.1 * velocity, atol=1e-6)


@pytest.mark.parametrize("iterations", [0, 3])
def test_state_in_is_never_written(iterations):
    model = cloth_on_slope(height=0.015)
    solver = SolverVBD(model, iterations=iterations)
    state, other = model.state(), model.state()
    contacts = model.collide(state)
    before = {name: value.numpy().copy() for name, value in vars(state).items() if isinstance(value, wp.array)}
    solver.step(state, other, None, contacts, 0.01)
    for name, value in before.items():
        assert np.array_equal(getattr(state, name).numpy(), value), name
    assert not same(state, other)


def test_one_state_for_both():
    """state_in may be state_out; the result is the same bit by bit."""
    model = cloth_on_slope(height=0.03)
    swapped = simulate(model, steps=20, dt=0.01).state
    solver, state, contacts = SolverVBD(model), model.state(), model.contacts()
    for _ in range(20):
        model.collide(state, contacts)
        solver.step(state, state, None, contacts, 0.01)
    assert same(state, swapped)


def test_fixed_particles_stay_bit_by_bit():
    """Inactive, without mass or without inverse mass: the position is kept, the velocity is zero, forces and neighbours do nothing."""
    builder = hooke.ModelBuilder()
    x = np.array([(0.1, 0.2, 0.3), (1.1, 0.2, 0.3), (2.1, 0.2, 0.3), (3.1, 0.2, 0.3)])
    add_points(builder, x, [1.0, 0.0, 1.0, 1.0], (1.0, 2.0, 3.0))
    for i in range(3):
        builder.add_spring(i, i + 1, 100.0, 1.0)
    builder.particle_flags[0] = 0
    model = finalize(builder)
    inverse = model.particle_inv_mass.numpy()
    inverse[2] = 0.0
    model.particle_inv_mass.assign(inverse)
    state = model.state()
    state.particle_f.assign([(5.0, 5.0, 5.0)] * 4)
    run = simulate(model, steps=5, dt=0.01, state=state)
    start = model.particle_q.numpy()
    assert np.array_equal(run.state.particle_q.numpy()[:3], start[:3])
    assert np.array_equal(run.state.particle_qd.numpy()[:3], np.zeros((3, 3)))
    assert np.abs(run.q[3] - start[3]).min() > 1e-2


def test_fixed_particles_follow_their_caller():
    """A fixed particle is where state_in has it, so a caller can drive it; springs follow."""
    builder = hooke.ModelBuilder(gravity=0.0)
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [0.0, 0.01])
    builder.add_spring(0, 1, 1000.0, 1.0)
    model = finalize(builder)
    solver, state, other = SolverVBD(model), model.state(), model.state()
    for n in range(100):
        q = state.particle_q.numpy().copy()
        q[0] = (0.01 * (n + 1), 0.0, 0.0)
        state.particle_q.assign(q)
        solver.step(state, other, None, None, 0.01)
        assert np.array_equal(other.particle_q.numpy()[0], q[0])
        state, other = other, state
    assert abs(state.particle_q.numpy()[1, 0] - 2.0) < 0.02


def test_pin_and_unpin_at_run_time():
    """model.particle_flags is read in every step: pinned for 5 steps, a particle falls as if it were new afterwards."""
    model = falling_particles(2)
    flags = model.particle_flags.numpy().copy()
    solver = SolverVBD(model)
    run = simulate(model, steps=3, dt=0.01, solver=solver)
    model.particle_flags.assign([0, flags[1]])
    held = run.state.particle_q.numpy().copy()
    run = simulate(model, steps=5, dt=0.01, solver=solver, state=run.state)
    assert np.array_equal(run.state.particle_q.numpy()[0], held[0])
    assert np.array_equal(run.state.particle_qd.numpy()[0], np.zeros(3))
    model.particle_flags.assign(flags)
    run = simulate(model, steps=4, dt=0.01, solver=solver, state=run.state)
    assert np.allclose(run.q[0] - held[0], (0.0, 0.0, -GRAVITY * 1e-4 * 10.0), atol=1e-6)
    assert np.allclose(run.qd[1], (1.0, 0.0, 2.0 - 12 * 0.01 * GRAVITY), atol=1e-5)
    assert model.particle_flags.numpy()[0] & ParticleFlags.ACTIVE


def test_unswapped_loop_is_noticed_once():
    """The same pair with an unchanged input stands still: one warning, and the result of every step is that of the first."""
    model = falling_particles()
    solver, state, other = SolverVBD(model), model.state(), model.state()
    solver.step(state, other, None, None, 0.01)
    first = arrays_of(other)
    with pytest.warns(UserWarning, match="swap") as caught:
        for _ in range(4):
            solver.step(state, other, None, None, 0.01)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(np.array_equal(a, b) for a, b in zip(first, arrays_of(other), strict=True))


def test_correct_loops_are_not_warned_of():
    """Swapping; copying back; one state; driving the input by hand; starting again after a reset; a body at rest."""
    model = falling_particles()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(model, steps=6, dt=0.01)
        solver, state, other = SolverVBD(model), model.state(), model.state()
        for _ in range(4):
            solver.step(state, other, None, None, 0.01)
            state.assign(other)
        for _ in range(4):
            solver.step(state, state, None, None, 0.01)
        solver = SolverVBD(model)
        for _ in range(3):
            solver.reset(state)
            solver.step(state, other, None, None, 0.01)
        solver, state = SolverVBD(model), model.state()
        for n in range(4):
            state.particle_q.assign(model.particle_q.numpy() + np.float32(0.1 * n))
            solver.step(state, other, None, None, 0.01)


def test_resting_scene_with_copied_states_is_not_warned_of():
    """Particles at rest, floating or on the ground: input and output are equal although the loop copies as it should."""
    for gravity in (0.0, -GRAVITY):
        builder = hooke.ModelBuilder(gravity=gravity)
        builder.add_ground_plane()
        add_points(builder, [(0.0, 0.0, 0.1 + gravity / 1750.0)])
        model = finalize(builder)
        solver, state, other = SolverVBD(model), model.state(), model.state()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(6):
                solver.step(state, other, None, model.collide(state), 0.01)
                state.assign(other)


def test_runs_repeat_bit_by_bit():
    model = cloth_on_slope(height=0.03)
    a, b = (simulate(model, steps=50, dt=0.01) for _ in range(2))
    assert same(a.state, b.state)
    assert np.abs(a.q - model.particle_q.numpy()).max() > 1e-3


def test_status_counts_steps_and_measures_convergence():
    model = cloth_on_slope(height=0.03)
    solver = SolverVBD(model, iterations=100)
    assert (solver.status.steps, solver.status.residual) == (0, None)
    run = simulate(model, steps=9, dt=0.01, solver=solver)
    fine = solver.status
    assert fine.steps == 9 and fine.ok and not fine.overflow
    coarse = SolverVBD(model, iterations=1)
    simulate(model, steps=1, dt=0.01, solver=coarse, state=run.state)
    assert 0.0 < 10.0 * fine.residual < coarse.status.residual


def test_lost_contacts_are_reported():
    """Contacts of a detector of the user's whose count exceeds its rows: the status says so, one warning, the rows there are used."""
    model = cloth_on_slope(height=0.015)
    contacts = model.collide(model.state())
    found = contacts.soft_contact_max
    contacts.contact_counters.assign([0, found + 3, 0, 0])
    solver = SolverVBD(model)
    solver.step(model.state(), model.state(), None, contacts, 0.01)
    with pytest.warns(UserWarning, match="lost") as caught:
        assert solver.status.overflow == {"soft_contact": (found + 3, found)}
        assert not solver.status.ok
    assert len(caught) == 1


# ---- changes of the model


def test_rebound_and_assigned_arrays_are_seen_by_the_next_step():
    """Materials given later act like those a model is built with: a new array at once, changes in place after notify_model_changed."""
    stiff = hooke.ModelBuilder()
    add_cloth(stiff, tri_ke=900.0, tri_ka=500.0, edge_ke=0.05)
    stiff.particle_flags[0] = 0
    wanted = simulate(finalize(stiff), steps=10, dt=0.01).state
    for way in ("rebind", "assign"):
        builder = hooke.ModelBuilder()
        add_cloth(builder)
        builder.particle_flags[0] = 0
        model = finalize(builder)
        solver = SolverVBD(model)
        simulate(model, steps=2, dt=0.01, solver=solver)
        solver.reset(model.state())
        tri, edge = model.tri_materials.numpy().copy(), model.edge_bending_properties.numpy().copy()
        tri[:, :2], edge[:, 0] = (900.0, 500.0), 0.05
        if way == "rebind":
            model.tri_materials = wp.array(tri, dtype=wp.float32, device="cpu")
            model.edge_bending_properties = wp.array(edge, dtype=wp.float32, device="cpu")
        else:
            model.tri_materials.assign(tri)
            model.edge_bending_properties.assign(edge)
            solver.notify_model_changed(hooke.ModelFlags.MODEL_PROPERTIES)
        assert same(simulate(model, steps=10, dt=0.01, solver=solver).state, wanted), way


def test_masses_gravity_and_contact_materials_are_read_in_every_step():
    model = cloth_on_slope(height=0.015)
    solver = SolverVBD(model)
    simulate(model, steps=2, dt=0.01, solver=solver)

    def change(model):
        model.particle_mass.assign(2.0 * model.particle_mass.numpy())
        model.particle_inv_mass.assign(0.5 * model.particle_inv_mass.numpy())
        model.shape_material_mu = wp.array([0.1], dtype=wp.float32, device="cpu")
        model.set_gravity((0.5, 0.0, -3.0))
        model.soft_contact_ke = 3e3

    before = simulate(model, steps=10, dt=0.01).state
    change(model)
    solver.reset(model.state())
    after = simulate(model, steps=10, dt=0.01, solver=solver).state
    fresh = cloth_on_slope(height=0.015)
    change(fresh)
    assert same(after, simulate(fresh, steps=10, dt=0.01).state)
    assert not same(after, before)


@pytest.mark.parametrize("way", ["rebind", "assign"])
def test_elements_that_begin_to_act_are_like_those_of_a_new_solver(way):
    """A spring whose stiffness was zero acts once its array is re-bound, or changed in place and MODEL_PROPERTIES noticed."""
    builder = hooke.ModelBuilder(gravity=0.0)
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)])
    builder.add_spring(0, 1, 100.0, 0.0)
    model = finalize(builder)
    model.spring_stiffness.assign([0.0])
    solver, state = SolverVBD(model), model.state()
    state.particle_q.assign([(0.0, 0.0, 0.0), (1.5, 0.0, 0.0)])
    run = simulate(model, steps=1, dt=0.01, solver=solver, state=state.clone())
    assert np.array_equal(run.q, state.particle_q.numpy())
    if way == "rebind":
        model.spring_stiffness = wp.array([100.0], dtype=wp.float32, device="cpu")
    else:
        model.spring_stiffness.assign([100.0])
        solver.notify_model_changed(ModelFlags.MODEL_PROPERTIES)
    solver.reset(model.state())
    run = simulate(model, steps=5, dt=0.01, solver=solver, state=state.clone())
    assert run.q[0, 0] > 1e-3
    assert same(run.state, simulate(model, steps=5, dt=0.01, state=state.clone()).state)


def test_notice_checks_bodies_and_colours_again():
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 0.0)])
    builder.add_shape_box(builder.add_body(label="cart", is_kinematic=True, mass=1.0), hx=0.1, hy=0.1, hz=0.1)
    model = finalize(builder)
    model.body_inertia.zero_()
    solver = SolverVBD(model)
    model.body_flags.assign([int(hooke.BodyFlags.DYNAMIC)])
    solver.notify_model_changed(ModelFlags.TENDON_PROPERTIES)
    with pytest.raises(ValueError, match="'cart'"):
        solver.notify_model_changed(ModelFlags.BODY_PROPERTIES)
    model.particle_color_groups = []
    with pytest.raises(ValueError, match="color"):
        solver.notify_model_changed(ModelFlags.MODEL_PROPERTIES)


# ---- models of other origin


def foreign(model):
    """A model as another package would hand it over: a plain object with the documented flat arrays."""
    other = SimpleNamespace(**{name: getattr(model, name) for name in NAMES if hasattr(model, name)})
    for table in model.tables.values():
        setattr(other, f"{table.table.name}_count", table.count)
    for name in ("device", "world_count", "gravity", "up_axis", "particle_color_groups", "body_color_groups",
                 "soft_contact_ke", "soft_contact_kd", "soft_contact_mu"):  # fmt: skip
        setattr(other, name, getattr(model, name))
    return other


def foreign_state(model):
    state = model.state()
    return SimpleNamespace(**{name: getattr(state, name) for name in hooke.State.FIELDS})


def everything():
    """Worlds with their own gravity, all kinds of elements, shapes and a kinematic body."""
    builder = hooke.ModelBuilder(gravity=-5.0)
    builder.add_ground_plane(cfg=surface(mu=0.4))
    add_points(builder, [(3.0, 0.0, 0.3)], 0.1, radius=0.02)
    for gravity in (-9.81, -2.0):
        builder.begin_world(gravity=gravity)
        add_cloth(builder, 0.05)
        i = builder.particle_count
        builder.add_soft_grid(
            pos=(1.0, 0.0, 0.05), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=1, dim_y=1, dim_z=1, cell_x=0.1, cell_y=0.1,
            cell_z=0.1, density=100.0, k_mu=1e3, k_lambda=1e3, k_damp=1.0, particle_radius=0.02,
        )  # fmt: skip
        builder.add_spring(i, 0 + i - 1, 50.0, 0.1)
        body = builder.add_body(xform=(0.15, 0.15, 0.0, 0.0, 0.0, 0.0, 1.0), is_kinematic=True)
        builder.add_shape_sphere(body, radius=0.06, cfg=surface(mu=0.4))
        builder.end_world()
    return finalize(builder)


def test_model_and_states_of_another_package():
    """A plain object with the documented arrays steps to the same bits as the hooke Model they came from."""
    model = everything()
    wanted = simulate(model, steps=20, dt=0.01)
    assert int(wanted.contacts.soft_contact_count.numpy()[0]) > 10
    other = foreign(model)
    pipeline = hooke.CollisionPipeline(other)
    contacts, solver = pipeline.contacts(), SolverVBD(other)
    state, out = foreign_state(model), foreign_state(model)
    for _ in range(20):
        pipeline.collide(state, contacts)
        solver.step(state, out, None, contacts, 0.01)
        state, out = out, state
    assert same(state, wanted.state)


def test_contacts_of_another_package():
    """A plain object with the documented contact arrays works like Contacts."""
    model = cloth_on_slope(height=0.015)
    contacts = model.collide(model.state())
    plain = SimpleNamespace(**{name: value for name, value in vars(contacts).items() if name.startswith("soft_contact")})
    results = []
    for given in (contacts, plain):
        out = model.state()
        SolverVBD(model).step(model.state(), out, None, given, 0.01)
        results.append(out)
    assert same(*results)

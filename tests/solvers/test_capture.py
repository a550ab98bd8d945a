"""A captured step: from the first one on, equal to the eager run bitwise; buffers that cannot grow say so."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.scenes import cloth_on_mesh

DT = 1.0 / 300.0


def build():
    scene = cloth_on_mesh(n=8)
    scene.builder.color()
    model = scene.builder.finalize(device="cpu")
    return model, hooke.solvers.SolverVBD(model, iterations=3), model.state(), model.state()


def two_steps(model, solver, a, b, contacts):
    for state_in, state_out in ((a, b), (b, a)):
        model.collide(state_in, contacts)
        solver.step(state_in, state_out, None, contacts, DT)


def test_a_capture_of_the_first_steps_equals_the_eager_run():
    model, solver, a, b = build()
    contacts = model.contacts()
    for _ in range(40):
        two_steps(model, solver, a, b, contacts)
    eager = a.particle_q.numpy().copy()
    assert contacts.soft_contact_count.numpy()[0] > 0  # the cloth has landed

    model, solver, a, b = build()
    contacts = model.contacts()
    with wp.ScopedCapture(device="cpu") as capture:
        two_steps(model, solver, a, b, contacts)
    for _ in range(40):
        wp.capture_launch(capture.graph)
    assert np.array_equal(a.particle_q.numpy(), eager)


def test_masked_reset_can_be_captured():
    """The graph reads the mask when it runs; a mask with one entry per world leaves alone what belongs to none."""
    one, many = hooke.ModelBuilder(), hooke.ModelBuilder()
    one.add_particle((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 1.0)
    many.add_particle((5.0, 0.0, 1.0), (0.0, 0.0, 0.0), 1.0)
    many.replicate(one, 2, spacing=(2.0, 0.0, 0.0))
    many.color()
    model = many.finalize(device="cpu")
    solver, state = hooke.solvers.SolverVBD(model), model.state()
    start = model.particle_q.numpy().copy()
    state.particle_q.assign(start + 1.0)
    mask = wp.array([False, True], dtype=wp.bool, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        solver.reset(state, mask)
    for selected, moved in (([False, True], [True, True, False]), ([True, False], [True, False, False])):
        mask.assign(selected)
        wp.capture_launch(capture.graph)
        assert np.array_equal(state.particle_q.numpy(), np.where(np.array(moved)[:, None], start + 1.0, start))


def test_overflow_in_a_capture_is_reported_with_the_number_needed():
    model, solver, a, b = build()
    pipeline = hooke.CollisionPipeline(model, soft_contact_max=2)
    solver = hooke.solvers.SolverVBD(model, iterations=1)
    contacts = pipeline.contacts()
    low = a.particle_q.numpy()
    low[:, 2] = 0.005
    a.particle_q.assign(low)
    with wp.ScopedCapture(device="cpu") as capture:
        pipeline.collide(a, contacts)
        solver.step(a, b, None, contacts, DT)
    wp.capture_launch(capture.graph)
    with pytest.warns(UserWarning, match="contacts were lost"):
        status = solver.status
    needed, available = status.overflow["soft_contact"]
    assert needed >= 81 and available == 2 and not status.ok  # every particle touches the ground


def test_rows_that_do_not_fit_are_refused_in_a_capture():
    _model, solver, a, b = build()
    big = hooke.Contacts(0, 10_000, device="cpu")
    with wp.ScopedCapture(device="cpu"), pytest.raises(RuntimeError, match="before the capture"):
        solver.step(a, b, None, big, DT)


def test_rebinding_in_a_capture_is_refused():
    model, solver, a, b = build()
    model.tri_materials = wp.clone(model.tri_materials)
    with wp.ScopedCapture(device="cpu"), pytest.raises(RuntimeError, match="before the capture"):
        solver.step(a, b, None, None, DT)

"""Recorded steps: the same as launched ones bit by bit, and recorded anew for everything that a graph has baked in."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.execution.recorder import Recorder, pointers
from hooke.scenes import cloth_on_mesh
from tests.support import add_points, finalize


def drape(steps=60, change=None):
    """A cloth on a mesh, ``change(model, solver)`` applied half way; positions at the end."""
    scene = cloth_on_mesh(n=8)
    scene.builder.color()
    model = scene.builder.finalize(device="cpu")
    solver, a, b = hooke.solvers.SolverVBD(model, iterations=3), model.state(), model.state()
    contacts, dt = model.contacts(), 1.0 / 200.0
    for n in range(steps):
        if n == steps // 2 and change is not None:
            dt = change(model, solver) or dt
        model.collide(a, contacts)
        solver.step(a, b, None, contacts, dt)
        a, b = b, a
    return a.particle_q.numpy().copy(), solver


def stiffer(model, solver):
    model.soft_contact_ke = 5e4


def slipperier(model, solver):
    model.soft_contact_mu = 0.0


def shorter(model, solver):
    return 1.0 / 400.0


def more_sweeps(model, solver):
    solver.iterations = 6


def new_gravity(model, solver):
    model.gravity = wp.array(model.gravity.numpy() * 2.0, dtype=wp.vec3, device="cpu")


def new_material(model, solver):
    model.tri_materials = wp.array(model.tri_materials.numpy() * 3.0, dtype=wp.float32, device="cpu")


def same_material_in_place(model, solver):
    model.tri_materials.assign(model.tri_materials.numpy() * 3.0)
    solver.notify_model_changed(hooke.ModelFlags.MODEL_PROPERTIES)


def heavier(model, solver):
    model.particle_mass = wp.array(model.particle_mass.numpy() * 2.0, dtype=wp.float32, device="cpu")
    model.particle_inv_mass = wp.array(model.particle_inv_mass.numpy() * 0.5, dtype=wp.float32, device="cpu")


CHANGES = [stiffer, slipperier, shorter, more_sweeps, new_gravity, new_material, same_material_in_place, heavier]


def test_replayed_steps_equal_launched_ones(monkeypatch):
    recorded, solver = drape()
    assert any(solver._recorder._recorded.values())
    monkeypatch.setattr(config, "graphs", False)
    launched, solver = drape()
    assert not solver._recorder._recorded
    assert np.array_equal(recorded, launched)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_changes_between_steps_takes_effect(monkeypatch, change):
    recorded, _ = drape(change=change)
    monkeypatch.setattr(config, "graphs", False)
    launched, _ = drape(change=change)
    assert np.array_equal(recorded, launched)
    assert not np.array_equal(recorded, drape()[0])


def test_a_contact_buffer_that_grows_is_recorded_anew():
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    add_points(builder, [(0.3 * i, 0.0, 0.1 + 0.02 * i) for i in range(20)], 1.0)
    model = finalize(builder)
    ends = []
    for rows in (None, 1):
        pipeline = hooke.CollisionPipeline(model, soft_contact_max=rows)
        solver, a, b, contacts = hooke.solvers.SolverVBD(model), model.state(), model.state(), pipeline.contacts()
        for _ in range(80):
            pipeline.collide(a, contacts)
            solver.step(a, b, None, contacts, 0.01)
            a, b = b, a
        ends.append(a.particle_q.numpy().copy())
    assert np.array_equal(*ends)


def test_the_recorder_keeps_few_graphs_and_forgets_the_oldest():
    value = wp.zeros(1, dtype=wp.float32, device="cpu")
    recorder, calls = Recorder(wp.get_device("cpu"), limit=2), []

    def fill(number):
        calls.append(number)
        value.fill_(float(number))

    for number in (1, 1, 1, 2, 2, 3, 1):
        recorder.run(number, fill, number)
        assert value.numpy()[0] == number
    assert calls == [1, 1, 2, 2, 3, 1]  # launched, recorded and replayed, replayed; 1 was forgotten for 3
    assert list(recorder._recorded) == [3, 1]
    recorder.forget()
    assert not recorder._recorded


def test_inside_a_capture_of_the_user_nothing_is_recorded():
    value = wp.zeros(1, dtype=wp.float32, device="cpu")
    recorder = Recorder(wp.get_device("cpu"))
    with wp.ScopedCapture(device="cpu") as capture:
        for _ in range(3):
            recorder.run("key", value.fill_, 7.0)
    assert not recorder._recorded
    wp.capture_launch(capture.graph)
    assert value.numpy()[0] == 7.0


def test_pointers_tell_arrays_apart():
    a, b = wp.zeros(3, dtype=wp.float32, device="cpu"), wp.zeros(3, dtype=wp.float32, device="cpu")

    class Holder:
        def __init__(self, array):
            self.array, self.number = array, 5

    assert pointers(a, None) == (a.ptr, 0) and pointers(Holder(a)) == (a.ptr,) and pointers(Holder(a)) != pointers(Holder(b))

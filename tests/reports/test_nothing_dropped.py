"""Field report "nothing dropped": a buffer of contacts that is too small must not change what happens."""

import numpy as np
import pytest

from hooke import CollisionPipeline, ModelBuilder
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT, finalize, simulate, surface


def cloth_on_box():
    """A cloth of 9 x 9 particles falls 2 cm on a box of 20 cm, and its rim on the ground."""
    b = ModelBuilder()
    b.add_ground_plane(cfg=surface())
    b.add_shape_box(-1, xform=(0, 0, 0.1, *UPRIGHT), hx=0.1, hy=0.1, hz=0.1, cfg=surface())
    b.add_cloth_grid(
        pos=(-0.2, -0.2, 0.23), rot=UPRIGHT, vel=(0, 0, 0), dim_x=8, dim_y=8, cell_x=0.05, cell_y=0.05, mass=0.002, tri_ke=300.0,
        tri_ka=300.0, tri_kd=0.1, edge_ke=1e-3, edge_kd=1e-4, particle_radius=0.01,
    )  # fmt: skip
    return finalize(b)


@pytest.fixture(scope="module")
def model():
    return cloth_on_box()


@pytest.fixture(scope="module")
def expected(model):
    pipeline = CollisionPipeline(model, soft_contact_max=1000)
    run = simulate(model, steps=120, dt=1 / 240, contacts=pipeline.contacts())
    assert len(run.contacts.soft_contact_particle) == 1000  # large enough from the start
    assert int(run.contacts.soft_contact_count.numpy()[0]) > 20
    return run


@pytest.mark.parametrize("size", [1, 2, 4])
def test_contact_buffers_that_are_too_small(model, expected, size):
    """Cloth on a box, 120 steps, buffer of 1, 2, 4 rows: bitwise the same positions and velocities as with 1000, no overflow."""
    pipeline = CollisionPipeline(model, soft_contact_max=size)
    solver = SolverVBD(model)
    contacts = pipeline.contacts()
    assert contacts.soft_contact_max == size
    state, other = model.state(), model.state()
    for _ in range(120):
        pipeline.collide(state, contacts)
        solver.step(state, other, None, contacts, 1 / 240)
        state, other = other, state
        assert int(contacts.soft_contact_count.numpy()[0]) <= contacts.soft_contact_max
    np.testing.assert_array_equal(state.particle_q.numpy(), expected.state.particle_q.numpy())
    np.testing.assert_array_equal(state.particle_qd.numpy(), expected.state.particle_qd.numpy())
    assert solver.status.overflow == {}


def test_the_box_holds_the_cloth(expected):
    """The same scene: after 0.5 s the particles over the box are still on it, within 5 mm below its top plus their radius."""
    q = expected.q.reshape(9, 9, 3)
    assert (q[3:6, 3:6, 2] > 0.21 - 0.005).all()
    assert q[0, 0, 2] < 0.15  # while the corners hang down


def test_rows_that_do_not_fit_are_reported(model):
    """A buffer of 1 row that nobody let grow (a foreign detector): the solver reports (needed, available) and warns once."""
    pipeline = CollisionPipeline(model, soft_contact_max=1)
    solver, contacts = SolverVBD(model), pipeline.contacts()
    contacts.soft_contact_count.fill_(9)
    state, other = model.state(), model.state()
    solver.step(state, other, None, contacts, 1 / 240)
    with pytest.warns(UserWarning, match=r"contacts were lost.*\(9, 1\)"):
        status = solver.status
    assert status.overflow == {"soft_contact": (9, 1)} and not status.ok

"""What is built of many bodies stands: pyramids that are one group."""

import numpy as np
import pytest

import hooke
from tests.support import finalize

from .bodies import at
from .touching import touch


def pyramid(rows):
    """Boxes of 0.2 m, 0.01 m apart, every row on the one below."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=hooke.ShapeConfig(mu=0.6))
    for r in range(rows):
        for i in range(rows - r):
            body = b.add_body(xform=at(0.21 * (i - 0.5 * (rows - r - 1)), 0.0, 0.1 + 0.2 * r))
            b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=hooke.ShapeConfig(mu=0.6, gap=0.005))
    return finalize(b)


def stands(rows, seconds, dt):
    """Largest motion and largest speed in any step of a pyramid, and its solver."""
    model = pyramid(rows)
    start, most = model.body_q.numpy()[:, :3].copy(), np.zeros(2)

    def look(_n, _solver, state):
        moved = np.linalg.norm(state.body_q.numpy()[:, :3] - start, axis=1).max()
        most[:] = np.maximum(most, (moved, np.linalg.norm(state.body_qd.numpy()[:, :3], axis=1).max()))

    motion = touch(model, round(seconds / dt), dt, each=look)
    return most[0], most[1], motion.solver


@pytest.mark.parametrize("rows", [16, 20])
def test_a_large_pyramid_is_one_group_and_rests_from_the_first_step_on(rows):
    moved, speed, solver = stands(rows, 0.5, 1.0 / 60.0)
    assert moved < 1e-5 and speed < 2e-4
    contacts = solver._rigid.contacts
    assert contacts._first.count.numpy()[0] == 1
    assert contacts.rows.lone.numpy()[: rows * (rows + 1) // 2].all()


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "dt"), [(16, 1.0 / 60.0), (20, 1.0 / 60.0), (16, 1.0 / 300.0), (20, 1.0 / 300.0)])
def test_a_large_pyramid_stands_for_a_minute(rows, dt):
    moved, speed, _ = stands(rows, 60.0, dt)
    assert moved < 1e-5 and speed < 2e-4


def test_layers_of_boxes_each_on_four_rest_too():
    """204 boxes in eight layers; in three dimensions elimination fills in, but not yet too much."""
    b = hooke.ModelBuilder()
    b.add_ground_plane(cfg=hooke.ShapeConfig(mu=0.6))
    for layer in range(8):
        for i, k in np.ndindex(8 - layer, 8 - layer):
            body = b.add_body(xform=at(0.21 * (i + 0.5 * layer), 0.21 * (k + 0.5 * layer), 0.1 + 0.2 * layer))
            b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=hooke.ShapeConfig(mu=0.6, gap=0.005))
    model = finalize(b)
    motion = touch(model, 30, 1.0 / 60.0)
    assert motion.solver._rigid.contacts._first.count.numpy()[0] == 1
    assert np.linalg.norm(motion.q[:, :3] - model.body_q.numpy()[:, :3], axis=1).max() < 1e-5
    assert np.linalg.norm(motion.qd[:, :3], axis=1).max() < 2e-4

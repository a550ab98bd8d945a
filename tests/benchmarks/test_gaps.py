"""The constraint errors of chains and stacks that benchmarks/gaps.py draws."""

import numpy as np
import pytest

from benchmarks.gaps import joint_gap, measure_chain, measure_stack, solve_stack
from hooke.scenes import heavy_pendulum


def test_a_gap_is_the_distance_of_anchors():
    scene = heavy_pendulum(bodies=4)
    scene.builder.color()
    model = scene.builder.finalize(device="cpu")
    pose = model.body_q.numpy()
    assert joint_gap(model, pose) < 1e-6
    pose[3, :3] += (0.0, 0.03, 0.04)
    assert joint_gap(model, pose) == pytest.approx(0.05, rel=1e-4)


def test_one_box_on_a_spring_is_a_damped_oscillator():
    """(m/h^2 + c/h + k) x = ... after one step, and m g / k at rest."""
    x = solve_stack(np.array([400.0]), 2.0, 0.1, 0.02, 2000)[:, 0]
    assert x[1] == pytest.approx(-2.0 * 9.81 / (2.0 / 0.02**2 + 40.0 / 0.02 + 400.0))
    assert x[-1] == pytest.approx(-2.0 * 9.81 / 400.0)


def test_sweeps_leave_gaps_that_islands_do_not():
    hard = measure_chain(heavy_pendulum(bodies=20), 0.5)
    assert len(hard) == 31 and hard.max() < 5e-4
    assert measure_chain(heavy_pendulum(bodies=20), 0.5, rigid_compliant_alm=False).max() > 20.0 * hard.max()


def test_the_stack_is_where_backward_euler_has_it():
    """Stiffness 1 : 100,000."""
    error = measure_stack(10, 2.0)
    assert error[0] == 0.0 and error.max() < 3e-6

"""A mass on a spring: amplitude and phase of backward Euler (theory notes, case 19)."""

import numpy as np
import pytest

import hooke
from tests.support import add_points, finalize, simulate


@pytest.mark.parametrize(("k", "c", "dt", "modulus", "phase"), [
    (1000.0, 0.0, 0.01, 0.95346, 0.30628), (100.0, 2.0, 0.01, 0.985329, 0.098197),
])  # fmt: skip
def test_linear_oscillator(k, c, dt, modulus, phase):
    """One kg on a spring: every step turns the phase by atan(w dt) and shrinks the amplitude by 1/sqrt(1 + w^2 dt^2) without damping.

    With an axial damper (1 + dt^2 w^2 + dt c/m) u+ = (2 + dt c/m) u - u-. One iteration suffices: the block is the problem. The
    recurrence u+ = a u - b u- is fitted to 40 steps; modulus sqrt(b), phase acos(a / (2 modulus)), both to 1e-4.
    """
    builder = hooke.ModelBuilder(gravity=0.0)
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [0.0, 1.0])
    builder.add_spring(0, 1, k, c)
    model = finalize(builder)
    state = model.state()
    state.particle_q.assign([(0.0, 0.0, 0.0), (1.1, 0.0, 0.0)])
    u = [0.1]
    simulate(model, steps=40, dt=dt, state=state, iterations=1, each=lambda n, s: u.append(float(s.particle_q.numpy()[1, 0]) - 1.0))
    u = np.array(u[:1] + u)  # at rest before the start
    (a, b), *_ = np.linalg.lstsq(np.stack([u[1:-1], -u[:-2]], axis=1), u[2:], rcond=None)
    assert abs(np.sqrt(b) - modulus) < 1e-4
    assert abs(np.arccos(a / (2.0 * np.sqrt(b))) - phase) < 1e-4

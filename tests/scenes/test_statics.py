"""Hanging, stretched, standing and bent bodies at rest, against closed forms (theory notes, cases 20-24).

Equilibrium is approached by steps whose velocities are scaled down, which changes the way but not the end; every test asserts that
the end is reached.
"""

import numpy as np
import pytest

import hooke
from hooke.model.generate.cloth import grid_triangles
from hooke.model.generate.soft import grid_tetrahedra
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate, surface


def settle(model, frequency, *, fraction=0.1, steps=200, iterations=50, still, state=None):
    """Step with dt = fraction / frequency, the lowest mode critically damped, until nothing is faster than ``still`` [m/s]."""

    def damp(n, state):
        if n < steps - 1:
            state.particle_qd.assign(state.particle_qd.numpy() * (1.0 - 2.0 * fraction))

    run = simulate(model, steps=steps, dt=fraction / frequency, iterations=iterations, state=state, each=damp)
    assert np.abs(run.qd).max() < still
    return run.q


def stretch_at(stress, mu, lam):
    """Stretch along and across a strip that carries the nominal stress [N/m] along and is free across; stable neo-Hookean, by
    bisection of P = mu l1 + (L (l1 l2 - 1) - mu) l2 with l2 = (mu + L) l1 / (mu + L l1^2), L = lambda + mu."""
    hat = lam + mu
    low, high = 1.0, 10.0
    for _ in range(60):
        l1 = 0.5 * (low + high)
        l2 = (mu + hat) * l1 / (mu + hat * l1 * l1)
        low, high = (l1, high) if mu * l1 + (hat * (l1 * l2 - 1.0) - mu) * l2 < stress else (low, l1)
    return l1, l2


def bar_stretch_at(stress, mu, lam):
    """The same for a bar [Pa]: P = mu (l1 - l2^2 / l1), l2^2 = (alpha - mu / (L l1)) / l1, alpha = 1 + mu / L."""
    hat = lam + mu
    low, high = 0.5, 2.0
    for _ in range(60):
        l1 = 0.5 * (low + high)
        square = (1.0 + mu / hat - mu / (hat * l1)) / l1
        low, high = (l1, high) if mu * (l1 - square / l1) < stress else (low, l1)
    return l1, np.sqrt(square)


def test_hanging_chain():
    """Case 20: 10 springs of 1e3 N/m, nodes of 0.1 kg: the last node sags m g n (n + 1)/(2 k) = 53.955 mm; 0.1 %."""
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, -0.1 * i) for i in range(11)], [0.0] + [0.1] * 10)
    for i in range(10):
        builder.add_spring(i, i + 1, 1e3, 0.0)
    frequency = np.sqrt(1e3 / 0.1) * np.pi / 20.0
    q = settle(finalize(builder), frequency, fraction=0.2, steps=100, iterations=20, still=1e-4)
    assert abs(-q[-1, 2] - 1.0 - 53.955e-3) < 1e-3 * 53.955e-3


def test_hanging_strip():
    """Case 21: strips of 1 m with ke = ka = 1e3 N/m and free sides under 0.2, 20 and 100 kg/m^2: sag 0.36797, 37.734, 211.998 mm.

    The top edge is held at the width that it has in uniaxial stress, so that the clamp does not stiffen the strip. What remains is
    the mesh, one cell wide and 40 long: 0.5 %.
    """
    ke = 1e3
    builder = hooke.ModelBuilder()
    n, cell = 40, 1 / 40
    x, z = np.meshgrid(np.arange(2) * cell, -np.arange(n + 1) * cell)
    vertices = np.stack([x, 0.0 * x, z], axis=-1).reshape(-1, 3)
    sags = {0.2: 0.36797e-3, 20.0: 37.734e-3, 100.0: 211.998e-3}
    start = []
    for density in sags:  # one mass, and a gravity that gives the weight: all worlds swing alike
        builder.begin_world(gravity=-GRAVITY * density / 0.2)
        first = builder.particle_count
        builder.add_cloth_mesh(
            pos=(0.0, 0.0, 0.0), rot=UPRIGHT, scale=1.0, vel=(0.0, 0.0, 0.0), vertices=vertices,
            indices=grid_triangles(1, n).reshape(-1), density=0.2, tri_ke=ke, tri_ka=ke, tri_kd=0.0, edge_ke=0.0,
        )  # fmt: skip
        builder.particle_mass[first] = builder.particle_mass[first + 1] = 0.0
        builder.end_world()
        held = vertices.copy()
        held[:2, 0] = 0.5 * cell + (held[:2, 0] - 0.5 * cell) * stretch_at(density * GRAVITY, ke, ke)[1]
        start.append(held)
    model = finalize(builder)
    state = model.state()
    state.particle_q.assign(np.concatenate(start).astype(np.float32))
    frequency = np.sqrt(8e3 / 3.0 / 0.2) * np.pi / 2.0
    q = settle(model, frequency, steps=250, iterations=80, still=1e-2, state=state).reshape(3, -1, 3)
    for world, (density, sag) in enumerate(sags.items()):
        s = np.linspace(0.0, 1.0, 2001)
        exact = np.trapezoid([stretch_at(density * GRAVITY * t, ke, ke)[0] - 1.0 for t in s], s)
        assert abs(exact - sag) < 1e-3 * sag  # the number of the notes
        assert abs(-q[world, -2:, 2].mean() - 1.0 - sag) < 5e-3 * sag


def test_uniaxial_stretch_with_free_sides():
    """Case 22: stretched to twice its length, a sheet with Poisson ratio 0.1 ... 0.49 has the area 1.5094, 1.4286, 1.3559, 1.2903,
    1.2365 of before; the middle of a long strip, 1 %."""
    builder = hooke.ModelBuilder(gravity=0.0)
    ratios, areas = (0.1, 0.2, 0.3, 0.4, 0.49), (1.5094, 1.4286, 1.3559, 1.2903, 1.2365)
    nx, ny, cell, ke = 24, 4, 0.05, 1e3
    for nu in ratios:
        builder.add_cloth_grid(
            pos=(0.0, 0.0, 0.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=nx, dim_y=ny, cell_x=cell, cell_y=cell, mass=2.5e-3,
            fix_left=True, fix_right=True, tri_ke=ke, tri_ka=2.0 * ke * nu / (1.0 - nu), tri_kd=0.0, edge_ke=0.0,
        )  # fmt: skip
    model = finalize(builder)
    state = model.state()
    state.particle_q.assign(state.particle_q.numpy() * np.float32((2.0, 1.0, 1.0)))
    frequency = np.sqrt(ke / 1.0) * np.pi / (nx * cell)
    q = settle(model, frequency, fraction=0.2, steps=120, iterations=30, still=5e-3, state=state)
    q = q.reshape(len(ratios), ny + 1, nx + 1, 3)
    for strip, nu, area in zip(q, ratios, areas, strict=True):
        s, hat = 2.0, ke + 2.0 * ke * nu / (1.0 - nu)
        assert abs(s * (ke + hat) * s / (ke + hat * s * s) - area) < 1e-4
        middle = strip[:, nx // 2 - 1 : nx // 2 + 2]
        width = middle[-1, :, 1] - middle[0, :, 1]
        length = middle[:, -1, 0] - middle[:, 0, 0]
        assert abs(width.mean() * length.mean() / (ny * cell * 2.0 * cell) - area) < 1e-2 * area


def add_bar(builder, x, width, cells, layers, lam, hanging):
    """A bar 1 m high with a square section, on the plane or hanging above it; returns its nodes at the bottom and at the top."""
    side = np.linspace(-0.5 * width, 0.5 * width, cells + 1)
    z, y, x = np.meshgrid(np.linspace(0.0, 1.0, layers + 1), side, x + side, indexing="ij")
    vertices = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    first = builder.particle_count
    builder.add_soft_mesh(
        pos=(0.0, 0.0, 1.0 if hanging else 0.0), rot=UPRIGHT, scale=1.0, vel=(0.0, 0.0, 0.0), vertices=vertices,
        indices=grid_tetrahedra(cells, cells, layers).reshape(-1), density=1e3, k_mu=5e4, k_lambda=lam, k_damp=0.0,
        particle_radius=0.01, add_surface_mesh_edges=False,
    )  # fmt: skip
    bottom, top = first + np.flatnonzero(vertices[:, 2] == 0.0), first + np.flatnonzero(vertices[:, 2] == 1.0)
    for i in top if hanging else ():
        builder.particle_mass[int(i)] = 0.0
    return bottom, top


def test_bars_under_their_own_weight():
    """Case 23: bars of 1 m, mu 5e4 Pa, 1e3 kg/m^3, hanging and standing: +49.249 / -49.348 mm for lambda 0, +40.510 / -38.048 mm for
    lambda = mu; 1 %.

    The hanging ones are held at the width that their top has in uniaxial stress. The standing ones are wide, so that they do not
    buckle, and stand on a plane without friction.
    """
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(height=-0.01, cfg=surface(mu=0.0, ke=2e7, kd=0.0))
    cases = [(0.0, True, 49.249e-3), (5e4, True, 40.510e-3), (0.0, False, -49.348e-3), (5e4, False, -38.048e-3)]
    ends = []
    for n, (lam, hanging, _) in enumerate(cases):
        size = (0.1, 1, 10) if hanging else (0.6, 4, 8)
        ends.append(add_bar(builder, 2.0 * n, *size, lam, hanging))
    model = finalize(builder, ke=2e7, kd=0.0)
    state = model.state()
    q = state.particle_q.numpy()
    for n, ((_bottom, top), (lam, hanging, _)) in enumerate(zip(ends, cases, strict=True)):
        if hanging:
            centre = (2.0 * n, 0.0)
            q[top, :2] = centre + (q[top, :2] - centre) * bar_stretch_at(1e3 * GRAVITY, 5e4, lam)[1]
    state.particle_q.assign(q)
    q = settle(model, np.sqrt(1e5 / 1e3) * np.pi / 2.0, fraction=0.2, steps=80, iterations=20, still=1e-4, state=state)
    s = np.linspace(0.0, 1.0, 2001)
    for (bottom, top), (lam, hanging, change) in zip(ends, cases, strict=True):
        sign = 1.0 if hanging else -1.0
        exact = np.trapezoid([bar_stretch_at(sign * 1e3 * GRAVITY * t, 5e4, lam)[0] - 1.0 for t in s], s)
        assert abs(exact - change) < 1e-3 * abs(change)  # the number of the notes
        assert abs(q[top, 2].mean() - q[bottom, 2].mean() - 1.0 - change) < 1e-2 * abs(change)


@pytest.mark.parametrize(("n", "fraction", "steps", "iterations"), [
    (10, 0.01, 2000, 8), pytest.param(20, 0.003, 5000, 20, marks=pytest.mark.slow),
])  # fmt: skip
def test_cantilever_strip(n, fraction, steps, iterations):
    """Case 24: a strip of square cells, clamped at one end, ke 0.01 N, 1e-5 N per metre of width at the tip; 1 %.

    The strip is a chain of triangles, so the moment at every hinge is known. The hinges across give F s^2 n (n + 1)(2 n + 1)/(6 ke w)
    (7.175 mm for n = 20 hinges at s = 0.05 m, case 24). A diagonal of length l turns by F x w / (ke l^2), of which w / l counts,
    x being the distance from the middle of its cell to the tip.
    """
    s, ke = 1.0 / n, 0.01
    w, force = s, 1e-5 * s
    builder = hooke.ModelBuilder(gravity=0.0)
    x, y = np.meshgrid(np.arange(n + 2) * s, (0.0, w))
    vertices = np.stack([x, y, 0.0 * x], axis=-1).reshape(-1, 3)
    builder.add_cloth_mesh(
        pos=(0.0, 0.0, 0.0), rot=UPRIGHT, scale=1.0, vel=(0.0, 0.0, 0.0), vertices=vertices,
        indices=grid_triangles(n + 1, 1).reshape(-1), density=0.01, tri_ke=0.02, tri_ka=0.02, tri_kd=0.0, edge_ke=ke, edge_kd=0.0,
    )  # fmt: skip
    for i in np.flatnonzero(vertices[:, 0] < 1.5 * s):
        builder.particle_mass[int(i)] = 0.0
    model = finalize(builder)
    tip = vertices[:, 0] > (n + 0.5) * s
    load = np.zeros_like(vertices, dtype=np.float32)
    load[tip, 2] = 0.5 * force
    across = force * s * s * n * (n + 1) * (2 * n + 1) / (6.0 * ke * w)
    if n == 20:
        assert abs(across - 7.175e-3) < 1e-6
    arms = (np.arange(n) + 0.5) * s
    diagonal = force * (arms**2).sum() * w * w / (ke * np.hypot(s, w) ** 3)
    dt = fraction / (3.516 * np.sqrt(ke * s / 0.01))
    state, other = model.state(), model.state()
    solver = SolverVBD(model, iterations=iterations)
    for _ in range(steps):
        state.particle_f.assign(load)
        solver.step(state, other, None, None, dt)
        state, other = other, state
        state.particle_qd.assign(state.particle_qd.numpy() * (1.0 - 2.0 * fraction))
    assert np.abs(state.particle_qd.numpy()).max() < 1e-4
    assert abs(state.particle_q.numpy()[tip, 2].mean() - across - diagonal) < 1e-2 * (across + diagonal)

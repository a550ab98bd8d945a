"""Drag and lift of triangles: closed forms, and what they cost where there are none."""

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, add_points, finalize, simulate

CORNERS = np.array([(0.0, 0.0, 0.0), (0.4, 0.0, 0.0), (0.0, 0.5, 0.0)])
AREA = 0.1
NONE = {"tri_ke": 0.0, "tri_ka": 0.0, "tri_kd": 0.0}


@pytest.fixture(params=[True, False], ids=["lanes", "single"], autouse=True)
def lanes(request, monkeypatch):
    monkeypatch.setattr(config, "lanes", request.param)


def sheet(drag=0.0, lift=0.0, mass=0.01, velocity=(0.0, 0.0, 0.0), gravity=None, corners=CORNERS, order=(0, 1, 2)):
    """A triangle of 0.1 m^2 in the plane z = 0, of three particles and without elasticity."""
    builder = hooke.ModelBuilder(gravity=gravity)
    add_points(builder, corners, mass, velocity)
    builder.add_triangles(*np.array(order)[:, None], **NONE, tri_drag=drag, tri_lift=lift)
    return finalize(builder)


def formula(u, n, area, drag, lift):
    """Force of the air on a triangle that moves with u relative to it."""
    across, speed = n @ u, np.linalg.norm(u)
    force = -drag * area * abs(across) * u - lift * area * across * (speed * n - across * u / speed)
    return (n @ force) * n if lift * abs(across) > drag * speed else force


def test_terminal_velocity():
    """Face-on, 3 m g = D A v^2: v = sqrt(0.03 * 9.81/(0.6 * 0.1)) = 2.215 m/s, to 1e-5; all corners alike."""
    run = simulate(sheet(drag=0.6), steps=400, dt=0.01)
    assert np.abs(run.qd - (0.0, 0.0, -np.sqrt(0.03 * GRAVITY / (0.6 * AREA)))).max() < 2e-5


def test_every_step_is_backward_euler():
    """Falling face-on: 3 m (v1 - v0)/h = 3 m g - D A v1^2, a quadratic for v1."""
    dt, v = 0.02, 0.0
    speeds = []
    simulate(sheet(drag=2.0), steps=30, dt=dt, each=lambda n, state: speeds.append(-state.particle_qd.numpy()[:, 2]), iterations=60)
    c = 2.0 * AREA * dt / 0.03
    for found in speeds:
        v = (-1.0 + np.sqrt(1.0 + 4.0 * c * (v + dt * GRAVITY))) / (2.0 * c)
        assert found == pytest.approx(v, rel=2e-5)


@pytest.mark.parametrize("drag, lift", [(0.6, 0.0), (0.0, 0.4), (0.6, 0.4), (0.1, 0.9)])
def test_total_force_is_the_formula(drag, lift):
    """Oblique wind past a heavy triangle that stands: the change of momentum over a step, to 2e-4."""
    corners = np.array([(0.1, 0.2, 0.3), (0.5, 0.3, 0.1), (0.0, 0.6, 0.4)])
    wind, mass, dt = np.array([-5.0, 1.5, 0.5]), 100.0, 0.01
    model = sheet(drag, lift, mass=mass, gravity=0.0, corners=corners)
    model.set_wind(wind)
    normal = 0.5 * np.cross(corners[1] - corners[0], corners[2] - corners[0])
    area = np.linalg.norm(normal)
    run = simulate(model, steps=1, dt=dt)
    force = mass * run.qd.sum(axis=0) / dt
    wanted = formula(-wind, normal / area, area, drag, lift)
    assert np.abs(force - wanted).max() < 2e-4 * np.abs(wanted).max()
    assert np.ptp(run.qd, axis=0).max() < 1e-4 * np.abs(run.qd).max()


def test_no_force_in_still_air_and_none_along_the_wind():
    """At rest, and carried with the wind: bitwise nothing. Edge-on: no force either."""
    run = simulate(sheet(0.6, 0.4, gravity=0.0), steps=20, dt=0.01)
    assert np.abs(run.qd).max() == 0.0
    model = sheet(0.6, 0.4, gravity=0.0, velocity=(1.0, 2.0, 4.0))
    model.set_wind((1.0, 2.0, 4.0))
    assert np.abs(simulate(model, steps=20, dt=1.0 / 64.0).qd - (1.0, 2.0, 4.0)).max() < 1e-6
    run = simulate(sheet(0.6, 0.4, gravity=0.0, velocity=(1.0, 2.0, 0.0)), steps=20, dt=0.01)
    assert np.abs(run.qd - (1.0, 2.0, 0.0)).max() < 1e-6


def test_front_and_back_are_alike():
    runs = [simulate(sheet(0.6, 0.4, velocity=(2.0, 0.0, 0.0), order=o), steps=50, dt=0.01).q for o in ((0, 1, 2), (0, 2, 1))]
    assert np.abs(runs[0] - runs[1]).max() < 1e-5


def test_sinks_when_lift_carries():
    """Sliding level at 10 m/s, lift holds the sheet up: it falls more slowly than with drag alone."""
    falls = [simulate(sheet(0.3, lift, velocity=(10.0, 0.0, 0.0)), steps=100, dt=0.01).q[0, 2] for lift in (0.0, 2.0)]
    assert falls[1] > 0.5 * falls[0]


@pytest.mark.parametrize("drag", [1e2, 1e6, 1e10])
@pytest.mark.parametrize("share", [0.0, 0.5, 3.0])
def test_any_drag_and_lift_are_stable(drag, share):
    """Up to 1e10 times those of air, in steps of 10 ms: energy only falls; the first step takes most of it."""
    energy = [0.01 * 0.5 * 3.0 * (3.0**2 + 50.0**2)]

    def note(n, state):
        q, v = state.particle_q.numpy().astype(float), state.particle_qd.numpy().astype(float)
        energy.append(0.01 * (0.5 * (v**2).sum() + GRAVITY * q[:, 2].sum()))

    simulate(sheet(drag, share * drag, velocity=(3.0, 0.0, 50.0)), steps=200, dt=0.01, each=note)
    assert np.diff(energy).max() < 1e-2 * energy[0] and energy[1] < 0.5 * energy[0] and np.isfinite(energy).all()


def test_wind_is_read_in_every_step():
    """Repeated steps come from a graph; the wind turns nevertheless. A heavy sheet takes D A w^2 t of momentum."""
    model = sheet(1.0, mass=10.0, gravity=0.0)
    model.set_wind((0.0, 0.0, 3.0))
    run = simulate(model, steps=10, dt=0.01)
    up = run.qd[:, 2].sum() * 10.0
    assert up == pytest.approx(1.0 * AREA * 9.0 * 0.1, rel=1e-2)
    model.set_wind((0.0, 0.0, -3.0))
    run = simulate(model, steps=10, dt=0.01, state=run.state, solver=run.solver)
    assert abs(run.qd[:, 2].sum() * 10.0) < 2e-2 * up


@pytest.mark.parametrize("wind", [3.0, (1.0, 2.0), (0.0, np.nan, 0.0)])
def test_wind_that_is_no_velocity_is_refused(wind):
    with pytest.raises(ValueError, match="set_wind: expected a vector of three finite values"):
        sheet().set_wind(wind)


def test_no_element_where_there_is_no_drag():
    solver = SolverVBD(sheet())
    assert solver._sweeps.active == [] and not solver._sweeps.tied
    builder = hooke.ModelBuilder()
    add_points(builder, CORNERS, 1.0)
    builder.add_triangle(0, 1, 2)
    solver = SolverVBD(finalize(builder))
    assert [element.name for element, _, _ in solver._sweeps.active] == ["tri"]
    assert solver._sweeps.lanes is None or (solver._sweeps.lanes._points == 0 and len(solver._sweeps.lanes.records) == 1)


def test_drag_couples_colours():
    """Triangles with nothing but drag: their corners differ in colour, and a model where they do not is refused."""
    model = sheet(0.6)
    assert len(model.particle_color_groups) == 3
    builder = hooke.ModelBuilder()
    add_points(builder, CORNERS, 1.0)
    builder.add_triangles([0], [1], [2], **NONE, tri_drag=0.6)
    builder.set_coloring([[0, 1, 2]])
    with pytest.raises(ValueError, match="particles 0 and 1 have the same colour but share aerodynamics 0"):
        SolverVBD(builder.finalize(device="cpu"))


def test_cloth_in_the_wind_hangs_askew():
    """A cloth held at its top edge: the wind carries it, downwind and up."""
    builder = hooke.ModelBuilder()
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 0.0), rot=(np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), vel=(0.0, 0.0, 0.0), dim_x=4, dim_y=4, cell_x=0.1,
        cell_y=0.1, mass=0.005, fix_top=True, tri_ke=100.0, tri_ka=100.0, tri_kd=0.1, tri_drag=0.6, tri_lift=0.3,
    )  # fmt: skip
    model = finalize(builder)
    model.set_wind((0.0, 4.0, 0.0))
    run = simulate(model, steps=400, dt=0.01)
    edge = run.q[:5]
    assert edge[:, 1].min() > 0.1 and edge[:, 2].max() < 0.4 and np.isfinite(run.q).all()

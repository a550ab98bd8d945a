"""Fixed particles that the caller moves: dampers, friction and contact see their motion; they end exactly where they were put."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT, add_points, finalize, surface

from .scenes import add_cloth, same

DT = 0.01


class Drive:
    """The documented loop, where the caller writes the positions of some particles before every step."""

    def __init__(self, model, handles, **options):
        self.model, self.handles = model, handles
        self.solver, self.state, self.other = SolverVBD(model, **options), model.state(), model.state()
        self.contacts = model.contacts() if model.shape_count else None

    def step(self, positions, dt=DT):
        put(self.state, self.handles, positions)
        if self.contacts is not None:
            self.model.collide(self.state, self.contacts)
        self.solver.step(self.state, self.other, None, self.contacts, dt)
        self.state, self.other = self.other, self.state
        return self.state.particle_q.numpy().astype(np.float64)


def put(state, handles, positions):
    q = state.particle_q.numpy().copy()
    q[handles] = positions
    state.particle_q.assign(q)


def damped_strip():
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 0.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=6, dim_y=2, cell_x=0.1, cell_y=0.1, mass=0.01, fix_left=True,
        tri_ke=50.0, tri_ka=50.0, tri_kd=5.0, edge_ke=0.01, edge_kd=0.05, add_springs=True, spring_ke=20.0, spring_kd=0.5,
    )  # fmt: skip
    return finalize(builder)


@pytest.mark.parametrize("lanes", [True, False])
@pytest.mark.parametrize("velocity", [(1.0, 0.0, 0.0), (0.3, -0.4, 0.8)])
def test_a_strip_that_is_dragged_evenly_is_not_braked(monkeypatch, lanes, velocity):
    """All kinds of dampers but tetrahedra, 0.5 s at constant velocity: the strip moves as a rigid body does, to 5e-6 m. Dampers that
    took the handles for standing still would stretch it by kd v/ke = 0.1 m/s tri_kd/tri_ke, millimetres to centimetres."""
    monkeypatch.setattr(config, "lanes", lanes)
    model, velocity = damped_strip(), np.array(velocity)
    handles = np.flatnonzero(model.particle_mass.numpy() == 0.0)
    rest = model.particle_q.numpy().astype(np.float64)
    drive = Drive(model, handles)
    drive.step(rest[handles])  # from now on the handles have a past
    start = np.tile(velocity, (model.particle_count, 1))
    start[handles] = 0.0
    drive.state.particle_qd.assign(start)
    for n in range(50):
        q = drive.step(rest[handles] + velocity * DT * (n + 1))
        assert np.abs(q - velocity * DT * (n + 1) - rest).max() < 5e-6
        assert drive.solver.status.residual < 1e-3
    free = np.setdiff1d(np.arange(len(rest)), handles)
    assert np.allclose(drive.state.particle_qd.numpy()[free], velocity, atol=1e-3)
    assert not drive.state.particle_qd.numpy()[handles].any()


def spring_and_handle(inactive=False):
    builder = hooke.ModelBuilder(gravity=0.0)
    add_points(builder, [(0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)], [0.5 if inactive else 0.0, 0.2])
    builder.add_spring(0, 1, 40.0, 3.0)
    if inactive:
        builder.particle_flags[0] = 0
    return finalize(builder)


def pulled(path, k=40.0, c=3.0, m=0.2, length=1.0, dt=DT):
    """Backward Euler for m x'' = k (p - x - l) + c (p' - x') along a path p(t_n) of the handle; the first p has no past."""
    x, v, p, places = -length, 0.0, path[0], []
    for new in path:
        v = (m * v + dt * k * (new - x - length) + c * (new - p)) / (m + dt * c + dt * dt * k)
        x, p = x + dt * v, new
        places.append(x)
    return np.array(places)


@pytest.mark.parametrize("inactive", [False, True])
@pytest.mark.parametrize("path", ["ramp", "shake", "jump"])
def test_damped_spring_to_a_moving_handle(inactive, path):
    """A particle that hangs on a handle by a damped spring follows the closed form of every step, 1e-5 m over 1 s; without mass or
    without the ACTIVE flag."""
    t = DT * np.arange(100)
    motion = {"ramp": 2.0 * t, "shake": 0.2 * np.sin(30.0 * t), "jump": 0.5 * (t > 0.3)}[path]
    drive = Drive(spring_and_handle(inactive), [0])
    found = np.array([drive.step((p, 0.0, 0.0))[1] for p in motion])
    assert np.abs(found[:, 0] - pulled(motion)).max() < 1e-5
    assert np.abs(found[:, 1:]).max() == 0.0


def test_steady_drag_is_free_of_lag():
    """The solution in time: pulled at V from rest, the lag behind the handle decays like V exp(-c t/2m) sin(wt)/w; 2 %."""
    k, c, m, speed, dt = 40.0, 3.0, 0.2, 1.0, 1e-3
    drive = Drive(spring_and_handle(), [0])
    drive.step((0.0, 0.0, 0.0), dt)
    w = np.sqrt(k / m - (0.5 * c / m) ** 2)
    lag = []
    for n in range(1, 1001):
        lag.append(speed * n * dt - 1.0 - drive.step((speed * n * dt, 0.0, 0.0), dt)[1, 0])
    t = dt * np.arange(1, 1001)
    wanted = speed * np.exp(-0.5 * c / m * t) * np.sin(w * t) / w
    assert np.abs(lag - wanted).max() < 0.02 * wanted.max()
    assert abs(lag[-1]) < 1e-4


@pytest.mark.parametrize("friction", ["anchored", "smoothed"])
def test_a_handle_through_a_surface(friction):
    """Down through the ground, along it and up again at constant velocities: load k p, damper c v on approach alone, and friction
    mu k p against the motion; the normal force of every step to 0.2 N of 134 N, friction to 5 %."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(mu=0.4, ke=3e3, kd=50.0))
    add_points(builder, [(0.0, 0.0, 0.113)], 0.0, radius=0.1)
    model = finalize(builder, ke=1e3, kd=10.0, mu=0.4)
    k, c, mu = 2e3, 30.0, 0.4
    drive = Drive(model, [0], particle_contact_friction=friction)
    x = drive.step((0.0, 0.0, 0.113))[0]
    velocities = [(1.0, 0.0, -1.0)] * 8 + [(0.0, 2.0, 0.0)] * 8 + [(0.0, 0.0, 1.5)] * 8
    for n, v in enumerate(np.array(velocities)):
        x = x + DT * v
        drive.step(x)
        drive.solver.update_contacts(drive.contacts)
        force = drive.contacts.force.numpy()[0, :3]
        depth = max(0.0, 0.1 - x[2])
        if depth == 0.0:
            assert np.abs(force).max() == 0.0
            continue
        wanted = k * depth - c * min(v[2], 0.0)
        assert abs(force[2] - wanted) < 0.2
        assert np.hypot(*force[:2]) <= mu * k * depth * 1.001
        if n in (6, 7, 14, 15):  # it slides, and an anchor has nearly swung in behind it
            assert np.allclose(force[:2], -mu * k * depth * v[:2] / np.hypot(*v[:2]), atol=0.05 * mu * k * depth)
        if friction == "smoothed" and n >= 16:  # a slip within the step
            assert np.abs(force[:2]).max() == 0.0


def test_handles_end_where_they_were_put():
    """Bit by bit, at any coordinates, whichever state is which, with and without iterations; their velocity stays 0."""
    model = damped_strip()
    handles = np.flatnonzero(model.particle_mass.numpy() == 0.0)
    rest = model.particle_q.numpy()[handles]
    for iterations in (0, 3):
        ends = []
        for in_place in (False, True):
            rng = np.random.default_rng(5)
            drive, before = Drive(model, handles, iterations=iterations), None
            if in_place:
                drive.other = drive.state
            for n in range(20):
                place = (rest + rng.normal(size=rest.shape) * 10.0 ** rng.integers(-6, 1) + 3.0 * n).astype(np.float32)
                drive.step(place)
                assert np.array_equal(drive.state.particle_q.numpy()[handles], place)
                assert not drive.state.particle_qd.numpy()[handles].any()
                if before is not None:
                    assert np.array_equal(drive.solver.particle_q_prev.numpy()[handles], before)
                before = place
            ends.append(drive.state)
        assert same(*ends)


def worlds_with_handles(count):
    builder = hooke.ModelBuilder(gravity=0.0)
    for _ in range(count):
        builder.begin_world()
        add_points(builder, [(0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)], [0.0, 0.2])
        builder.add_spring(builder.particle_count - 2, builder.particle_count - 1, 40.0, 3.0)
        builder.end_world()
    return finalize(builder)


def test_a_reset_world_has_no_past():
    """A handle that is put elsewhere after a reset has always been there; in the other world it moves, and its damper pulls."""
    drive = Drive(worlds_with_handles(2), [0, 2])
    at = np.zeros((2, 3))
    for _ in range(5):
        drive.step(at)
    drive.solver.reset(drive.state, wp.array([False, True], dtype=wp.bool, device="cpu"), flags=0)
    q = drive.step(at + (0.1, 0.0, 0.0))
    fresh = pulled(np.array([0.1]))[0] - pulled(np.array([0.0]))[0]
    dragged = pulled(np.array([0.0, 0.1]))[1] + 1.0
    assert abs(q[1, 0] + 1.0 - dragged) < 1e-6 and abs(q[3, 0] + 1.0 - fresh) < 1e-6
    assert dragged > 5.0 * fresh


def test_pinned_and_released_while_it_moves():
    """A particle that is pinned at run time and moved begins where its free motion ended; once it is released it falls from rest."""
    builder = hooke.ModelBuilder(gravity=-10.0)
    add_points(builder, [(0.0, 0.0, 1.0), (-1.0, 0.0, 1.0)], [1.0, 0.2], (0.0, 0.0, 1.0))
    builder.add_spring(0, 1, 40.0, 3.0)
    model = finalize(builder)
    drive, flags = Drive(model, [0]), model.particle_flags.numpy().copy()
    q = drive.step(drive.state.particle_q.numpy()[0])
    model.particle_flags.assign([0, flags[1]])
    for _ in range(10):
        new = drive.step(q[0] + (0.02, 0.0, 0.0))
        assert np.allclose(drive.solver.particle_q_prev.numpy()[0], q[0], atol=1e-7)
        q = new
    assert not drive.state.particle_qd.numpy()[0].any()
    model.particle_flags.assign(flags)
    model.spring_stiffness.assign([0.0])
    model.spring_damping.assign([0.0])
    drive.solver.notify_model_changed(hooke.ModelFlags.MODEL_PROPERTIES)
    new = drive.step(q[0])
    assert np.allclose(new[0] - q[0], (0.0, 0.0, -10.0 * DT * DT), atol=1e-6)


def cloth_with_handles():
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=surface(mu=0.5))
    add_cloth(builder, 0.015, cells=5, fix_left=True, tri_kd=1.0)
    return finalize(builder)


def dragged(model, handles, steps=24):
    drive = Drive(model, handles)
    rest = model.particle_q.numpy()[handles]
    for n in range(steps):
        drive.step(rest + (-0.01 * n, 0.002 * n, 0.01 * np.sin(n)))
    return drive


def test_workers_and_graphs_change_nothing(monkeypatch):
    """A cloth that is dragged over the ground: launched one by one, by one worker and by two, the same bits; lanes to rounding."""
    model = cloth_with_handles()
    handles = np.flatnonzero(model.particle_mass.numpy() == 0.0)
    monkeypatch.setattr(config, "graphs", False)
    wanted = dragged(model, handles)
    assert int(wanted.contacts.soft_contact_count.numpy()[0]) > 0
    monkeypatch.setattr(config, "lanes", False)
    single = dragged(model, handles).state.particle_q.numpy()
    monkeypatch.undo()
    assert np.abs(single - wanted.state.particle_q.numpy()).max() < 2e-4
    for workers in (1, 2):
        monkeypatch.setattr(config, "workers", workers)
        assert same(dragged(model, handles).state, wanted.state)


def test_handles_in_a_capture():
    """The graph reads where the handles are when it runs."""
    model = cloth_with_handles()
    handles = np.flatnonzero(model.particle_mass.numpy() == 0.0)
    rest = model.particle_q.numpy()[handles]
    wanted = dragged(model, handles)
    solver, a, b, contacts = SolverVBD(model), model.state(), model.state(), model.contacts()
    place = wp.array(model.particle_q.numpy(), dtype=wp.vec3, device="cpu")
    rows = wp.array(handles, dtype=wp.int32, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(_put, dim=len(handles), inputs=[rows, place], outputs=[a.particle_q], device="cpu")
        model.collide(a, contacts)
        solver.step(a, b, None, contacts, DT)
        a.assign(b)
    for n in range(24):
        q = place.numpy()
        q[handles] = rest + (-0.01 * n, 0.002 * n, 0.01 * np.sin(n))
        place.assign(q)
        wp.capture_launch(capture.graph)
    assert same(b, wanted.state)


@wp.kernel
def _put(rows: wp.array(dtype=wp.int32), place: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):
    i = rows[wp.tid()]
    q[i] = place[i]

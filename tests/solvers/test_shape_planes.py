"""With self-contact on, nothing passes through shapes: fast particles and cloth, thin cords, and bodies that are moved through cloth."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.geometry import piercing_edges
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, simulate, surface

from .scenes import same
from .surfaces import OPTIONS, add_sheet, crossings, run

DT = 1.0 / 60.0
LYING = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))  # a Z axis along X
SMALL = {**OPTIONS, "particle_self_contact_radius": 0.004, "particle_self_contact_margin": 0.006}


def full(model, **options):
    return hooke.CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True, **options)


class Drive:
    """Steps of a model in which kinematic bodies are moved before each collision pass."""

    def __init__(self, model, dt, pipeline=None, **options):
        self.model, self.dt = model, dt
        self.pipeline = full(model) if pipeline is None else pipeline
        self.contacts, self.solver = self.pipeline.contacts(), SolverVBD(model, **options)
        self.contacts.lookahead = dt
        self.state, self.other = model.state(), model.state()

    def step(self, poses=None, twists=None):
        if poses is not None:
            self.state.body_q.assign(np.asarray(poses, np.float32))
            self.state.body_qd.assign(np.asarray(twists, np.float32))
        self.pipeline.collide(self.state, self.contacts)
        self.solver.step(self.state, self.other, None, self.contacts, self.dt)
        self.state, self.other = self.other, self.state
        return self.q

    @property
    def q(self):
        return self.state.particle_q.numpy().astype(float)


@pytest.mark.parametrize("lanes", [True, False], ids=["lanes", "single"])
@pytest.mark.parametrize("ke", [1.0, 1e4])
def test_fast_particles_and_a_box(monkeypatch, lanes, ke):
    """50 m/s is 0.83 m per step, the box is 2 cm thick: particles and a cloth stop at it, from both sides."""
    monkeypatch.setattr(config, "lanes", lanes)
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_shape_box(-1, xform=(0.1, 0.1, 0.0, *UPRIGHT), hx=0.6, hy=0.6, hz=0.01, cfg=surface(ke=ke, kd=0.0))
    heights = (0.3, 0.9, 1.7, 2.1, 2.6)
    for h in heights:
        add_points(builder, [(0.4, 0.0, h)], 0.01, velocity=(0.0, 0.0, -50.0), radius=0.005)
        add_points(builder, [(0.4, 0.1, -h)], 0.01, velocity=(0.0, 0.0, 50.0), radius=0.005)
    add_sheet(builder, (0.0, 0.0, 2.0), vel=(1.0, 0.0, -50.0))
    drive = Drive(finalize(builder, ke=ke, kd=0.0), DT, pipeline=None, **OPTIONS)
    above = drive.q[:, 2] > 0.0
    for _ in range(8):
        q = drive.step()
        assert (q[above, 2] > 0.01).all() and (q[~above, 2] < -0.01).all()
        assert crossings(drive.model, drive.state) == 0


@pytest.mark.parametrize("ke", [1.0, 1e3])
def test_a_thin_cord_between_vertices(ke):
    """A cloth flies at 50 m/s, and falls, on a cord of 5 mm: its axis never pierces a triangle and all of it stays above."""
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_shape_capsule(-1, xform=(0.1, 0.109, 0.0, *LYING), radius=0.0025, half_height=0.3, cfg=surface(ke=ke, kd=0.0))
    add_sheet(builder, (0.0, 0.0, 0.5), vel=(0.0, 0.0, -50.0), particle_radius=0.003)
    drive = Drive(finalize(builder, ke=ke, kd=0.0), DT, **SMALL)
    triangles, axis = drive.model.tri_indices.numpy(), np.array([(-0.2, 0.109, 0.0), (0.4, 0.109, 0.0)])
    for n in range(6):
        q = drive.step()
        count = len(q)
        pierced = piercing_edges(np.concatenate([q, axis]), [(count, count + 1)], triangles)
        assert len(pierced) == 0
        if n < 2:
            assert q[:, 2].max() > 0.0  # 0.83 m would have taken it through


def hanging(shape, ke=1e3, other=False):
    """A cloth in the plane y = 0 that hangs from its upper edge, and a kinematic body that goes through it along y; or two."""
    builder = hooke.ModelBuilder()
    cell = 0.03
    builder.add_cloth_grid(
        pos=(-0.15, 0.0, 0.7), rot=(np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), vel=(0.0, 0.0, 0.0), dim_x=10, dim_y=10, cell_x=cell,
        cell_y=cell, mass=0.2 * cell * cell, fix_top=True, tri_ke=500.0, tri_ka=500.0, tri_kd=0.01, edge_ke=1e-3, edge_kd=1e-4,
        particle_radius=0.004,
    )  # fmt: skip
    hand = builder.add_body(xform=(0.011, -0.12, 0.78, *UPRIGHT), is_kinematic=True)
    if shape == "box":
        builder.add_shape_box(hand, hx=0.04, hy=0.01, hz=0.02, cfg=surface(ke=ke, kd=0.0))
    else:
        builder.add_shape_capsule(hand, xform=(0.0, 0.0, 0.0, *LYING), radius=0.006, half_height=0.04, cfg=surface(ke=ke, kd=0.0))
    if other:
        hand = builder.add_body(xform=(0.011, 0.12, 0.78, *UPRIGHT), is_kinematic=True)
        builder.add_shape_box(hand, hx=0.04, hy=0.01, hz=0.02, cfg=surface(ke=ke, kd=0.0))
    return finalize(builder, ke=ke, kd=0.0, mu=0.3)


@pytest.mark.parametrize(("dt", "ke"), [(1 / 60, 1e3), (1 / 600, 1e3), (1 / 60, 1.0), (1 / 600, 1.0)])
@pytest.mark.parametrize("shape", ["box", "capsule"])
def test_a_finger_through_hanging_cloth(shape, dt, ke):
    """5 m/s over 0.2 m, a step of 83 mm at 1/60 s: it carries the cloth along, and nothing of the cloth is behind it."""
    model = hanging(shape, ke)
    drive = Drive(model, dt, **SMALL)
    triangles = model.tri_indices.numpy()
    steps = int(round(0.2 / (5.0 * dt)))
    start = np.array([0.011, -0.12, 0.78, *UPRIGHT])
    drive.step([start], np.zeros((1, 6)))
    for n in range(1, steps + 1):
        pose = start.copy()
        pose[1] += 5.0 * dt * n
        q = drive.step([pose], [(0.0, 5.0, 0.0, 0.0, 0.0, 0.0)])
        count = len(q)
        axis = pose[:3] + np.array([(-0.04, 0.0, 0.0), (0.04, 0.0, 0.0)])
        back = pose[:3] + np.array([(0.0, -1.0, 0.0), (0.0, 0.0, 0.0)])  # whatever is behind the axis
        pierced = piercing_edges(np.concatenate([q, axis, back]), [(count, count + 1), (count + 2, count + 3)], triangles)
        assert len(pierced) == 0
        assert crossings(model, drive.state) == 0
    assert q[:, 1].max() > pose[1] + 0.005  # carried along


@pytest.mark.parametrize("ke", [1.0, 1e3])
def test_a_pinch(ke):
    """Two fingers close to 6 mm on the cloth and carry it 0.25 m along their normal at 3 m/s, 50 mm per step."""
    model = hanging("box", ke, other=True)
    drive = Drive(model, DT, **SMALL)
    middle, apart, near = 0.0, 0.05, None
    for n in range(8):
        speed = (-1.22 if n in (1, 2) else 0.0, 3.0 if n >= 3 else 0.0)
        apart, middle = apart + speed[0] * DT, middle + speed[1] * DT
        poses = [(0.011, middle + side * (0.01 + apart), 0.78, *UPRIGHT) for side in (-1, 1)]
        q = drive.step(poses, [(0.0, speed[1] + side * speed[0], 0.0, 0.0, 0.0, 0.0) for side in (-1, 1)])
        rest = model.particle_q.numpy()
        near = (np.abs(rest[:, 0] - 0.011) < 0.03) & (np.abs(rest[:, 2] - 0.78) < 0.015) if near is None else near
        assert near.any() and (np.abs(q[near, 1] - middle) < apart).all()
        assert crossings(model, drive.state) == 0
    assert middle > 0.24


def test_a_lever_swings_through_hanging_cloth():
    """A capsule on an arm of 0.2 m turns at 25 rad/s, 24 degrees per step of 1/60 s: its axis pierces nothing."""
    model = hanging("capsule")
    drive = Drive(model, DT, **SMALL)
    triangles, pivot = model.tri_indices.numpy(), np.array([0.011, -0.01, 0.98])
    for n in range(5):
        angle = 25.0 * DT * n - 0.6
        tip = pivot + 0.2 * np.array([0.0, np.sin(angle), -np.cos(angle)])
        speed = 5.0 * np.array([0.0, np.cos(angle), np.sin(angle)])
        pose = [*tip, np.sin(0.5 * angle), 0.0, 0.0, np.cos(0.5 * angle)]
        q = drive.step([pose], [(*speed, 25.0, 0.0, 0.0) if n else (0.0,) * 6])
        count = len(q)
        axis = tip + np.array([(-0.04, 0.0, 0.0), (0.04, 0.0, 0.0)])
        back = tip - np.array([(0.0, 0.03 * np.cos(angle), 0.03 * np.sin(angle)), (0.0, 0.0, 0.0)])
        assert len(piercing_edges(np.concatenate([q, axis, back]), [(count, count + 1), (count + 2, count + 3)], triangles)) == 0
        assert crossings(model, drive.state) == 0
    assert q[:, 1].max() > 0.03


def lying(ke=1e3, radius=0.01, **options):
    """A cloth that comes to lie on a box; with full surface contact it hangs over its rim."""
    builder = hooke.ModelBuilder()
    builder.add_shape_box(-1, xform=(0.0, 0.0, -0.1, *UPRIGHT), hx=0.13, hy=0.3, hz=0.1, cfg=surface(ke=ke, kd=1.0))
    add_sheet(builder, (-0.1, -0.1, radius), particle_radius=radius)
    return finalize(builder, ke=ke, kd=1.0)


def test_a_resting_cloth_is_left_alone():
    """Where the penalty holds, planes do nothing: bit by bit as without them, and the rows carry the weight to 1 %."""
    ends = []
    for planes in (True, False):
        model = lying()
        solver = SolverVBD(model, **OPTIONS)
        if not planes:
            solver._surface_rows.planes = None
        drive = simulate(model, steps=200, dt=1 / 240, solver=solver)
        assert drive.contacts.lookahead == (1 / 240 if planes else 0.0)
        ends.append(drive)
    assert same(ends[0].state, ends[1].state)
    weight = GRAVITY * model.particle_mass.numpy().sum()
    ends[0].solver.update_contacts(ends[0].contacts)
    assert np.allclose(ends[0].contacts.force.numpy()[:, :3].sum(axis=0), (0.0, 0.0, weight), atol=0.01 * weight)


def test_soft_contact_holds_at_the_surface():
    """At 1 N/m a weight would rest 5 mm deep, more than its radius of 2 mm: it lies on the surface for 600 steps."""
    model = lying(ke=1.0, radius=0.002)
    drive = run(model, steps=600, dt=1 / 240)
    assert drive.q[:, 2].min() > 0.0
    assert drive.q[:, 2].max() < 2e-3


def test_without_self_contact_there_are_no_planes():
    model = lying()
    drive = simulate(model, steps=3, dt=1 / 240)
    assert drive.solver._surface_rows.planes is None and drive.contacts.lookahead == 0.0


def test_between_walls():
    """A particle flies into sharp wedges of two and three static planes; it stays outside of all, and what slides along one keeps its
    speed."""
    builder = hooke.ModelBuilder(gravity=0.0)
    normals = np.array([(0.1, 0.0, 0.995), (0.1, 0.2, -0.97), (0.3, -1.0, 0.1)])
    for n in normals:
        builder.add_shape_plane((*n, 0.0), width=0.0, length=0.0, cfg=surface(ke=1.0, kd=0.0, mu=0.0))
    speed = np.array([(-60.0, 1.0, 2.0), (-60.0, -30.0, 0.0), (-10.0, 5.0, -7.0), (0.0, -50.0, 30.0)])
    for v in speed:
        add_points(builder, [(1.0, 0.0, 0.0)], 0.01, velocity=v, radius=1e-4)
    model = finalize(builder, ke=1.0, kd=0.0, mu=0.0)
    drive = Drive(model, DT, pipeline=hooke.CollisionPipeline(model), **OPTIONS)
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    for _ in range(20):
        q = drive.step()
        assert (q @ unit.T > 0.0).all()


def test_sliding_along_a_wall():
    """Only the part of the way along the normal is taken."""
    builder = hooke.ModelBuilder(gravity=0.0)
    builder.add_ground_plane(cfg=surface(ke=1.0, kd=0.0, mu=0.0))
    add_points(builder, [(0.0, 0.0, 0.2)], 1.0, velocity=(20.0, 0.0, -40.0), radius=0.001)
    drive = Drive(finalize(builder, ke=1.0, kd=0.0, mu=0.0), DT, pipeline=None, **OPTIONS)
    q = drive.step()[0]
    assert q[0] == pytest.approx(20.0 * DT, rel=1e-5) and 0.0 < q[2] < 6e-5
    assert drive.state.particle_qd.numpy()[0, 0] == pytest.approx(20.0, rel=1e-5)


@pytest.mark.parametrize("lanes", [True, False], ids=["lanes", "single"])
def test_workers_make_no_difference(monkeypatch, lanes):
    monkeypatch.setattr(config, "lanes", lanes)
    ends = []
    for graphs, workers in ((False, 1), (True, 1), (True, 2)):
        monkeypatch.setattr(config, "graphs", graphs)
        monkeypatch.setattr(config, "workers", workers)
        ends.append(finger_run(Drive(hanging("capsule"), 1 / 240, **SMALL), 12))
    assert same(ends[0], ends[1]) and same(ends[0], ends[2])


def finger_run(drive, steps):
    pose = np.array([0.011, -0.03, 0.78, *UPRIGHT])
    for _ in range(steps):
        pose[1] += 3.0 * drive.dt
        drive.step([pose], [(0.0, 3.0, 0.0, 0.0, 0.0, 0.0)])
    return drive.state


def test_a_captured_step():
    model = hanging("box")
    wanted = Drive(model, 1 / 240, **SMALL)
    for _ in range(8):
        wanted.step()
    drive = Drive(model, 1 / 240, **SMALL)
    with wp.ScopedCapture(device="cpu") as capture:
        for one, other in ((drive.state, drive.other), (drive.other, drive.state)):
            drive.pipeline.collide(one, drive.contacts)
            drive.solver.step(one, other, None, drive.contacts, drive.dt)
    for _ in range(4):
        wp.capture_launch(capture.graph)
    assert same(drive.state, wanted.state)

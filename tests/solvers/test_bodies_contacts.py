"""Contacts between bodies in SolverVBD against known answers (the numbers in brackets are those of the notes on augmented VBD)."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from tests.solvers.bodies import at
from tests.support import finalize

Shape = hooke.ModelBuilder.ShapeConfig
G = 9.81


def ground(**shape):
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=Shape(**shape))
    return builder


def box(builder, *p, half=(0.5, 0.5, 0.5), rotation=(0.0, 0.0, 0.0, 1.0), **shape):
    body = builder.add_body(xform=(*p, *rotation))
    builder.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=Shape(**shape))
    return body


def stack(count, ratio=1.0, gap=0.0):
    builder = ground()
    for i in range(count):
        box(builder, 0.0, 0.0, 0.5 + i + gap * (i + 1), density=1000.0 * ratio**i)
    return finalize(builder)


class Run:
    """A model, stepped with its contacts."""

    def __init__(self, model, dt=1.0 / 60.0, *, qd=None, **options):
        self.model, self.dt = model, dt
        self.solver = SolverVBD(model, **options)
        self.pipeline = hooke.CollisionPipeline(model)
        self.contacts = self.pipeline.contacts()
        self.state, self.other = model.state(), model.state()
        if qd is not None:
            self.state.body_qd.assign(np.asarray(qd, np.float32))

    def step(self, count=1, each=None):
        for n in range(count):
            self.pipeline.collide(self.state, self.contacts)
            self.solver.step(self.state, self.other, None, self.contacts, self.dt)
            self.state, self.other = self.other, self.state
            if each is not None:
                each(n)
        return self

    @property
    def q(self):
        return self.state.body_q.numpy().astype(np.float64)

    @property
    def qd(self):
        return self.state.body_qd.numpy().astype(np.float64)

    @property
    def rows(self):
        return int(self.contacts.rigid_contact_count.numpy()[0])

    def load_on_ground(self):
        """Upward force of what stands still, N."""
        rows = self.solver._rigid.contacts.rows
        body, load = rows.body.numpy()[: self.rows], rows.load.numpy()[: self.rows].astype(np.float64)
        return float(load[(body.min(axis=1) < 0) & (body.max(axis=1) >= 0), 2].sum())

    @property
    def weight(self):
        return float(self.model.body_mass.numpy().astype(np.float64).sum() * G)


def tilt(model, degrees):
    angle = np.radians(degrees)
    model.set_gravity((G * np.sin(angle), 0.0, -G * np.cos(angle)))


@pytest.mark.parametrize("dt", [1.0 / 60.0, 1e-3])
def test_what_rests_is_carried_without_flicker(dt):
    run = Run(stack(1), dt)
    loads, counts = [], set()
    run.step(30, lambda n: (loads.append(run.load_on_ground()), counts.add(run.rows)))
    assert np.allclose(loads, run.weight, rtol=1e-5)
    assert counts == {4}
    assert np.abs(run.qd).max() < 1e-6


@pytest.mark.parametrize(("count", "ratio"), [(20, 1.0), (2, 1000.0), (2, 5e4), (6, 8.0), (4, 0.1)])
def test_stacks_stand_at_once(count, ratio):
    """Twenty boxes, a heavy one on a light one, eightfold masses (A23, A24): no sinking, in the first step already."""
    run = Run(stack(count, ratio)).step(1)
    assert np.abs(run.qd).max() < 1e-5
    run.step(59)
    assert np.abs(run.q[:, 2] - 0.5 - np.arange(count)).max() < 1e-5
    assert np.isclose(run.load_on_ground(), run.weight, rtol=1e-4)
    assert np.abs(run.qd).max() < 1e-5


def test_a_stack_stands_for_a_minute():
    run = Run(stack(10))
    start, counts = run.q, set()
    run.step(3600, lambda _n: counts.add(run.rows))
    assert counts == {40}
    assert np.abs(run.q - start).max() < 1e-5


def test_a_stack_that_falls_comes_to_rest():
    run = Run(stack(8, gap=0.05)).step(90)
    assert np.abs(run.qd).max() < 1e-3  # what it got into each other in the fall goes at 5 % a step
    assert np.abs(run.q[:, 2] - 0.5 - np.arange(8)).max() < 1e-3


@pytest.mark.parametrize(
    ("mu", "degrees"), [(0.1, 5), (0.1, 10), (0.1, 30), (0.3, 15), (0.3, 20), (0.3, 45), (0.5, 25), (0.5, 30), (0.8, 35), (0.8, 40)]
)
def test_a_box_on_a_slope(mu, degrees):
    """(A6) It holds if and only if tan < mu, and else slides with g (sin - mu cos)."""
    builder = ground(mu=mu)
    box(builder, 0.0, 0.0, 0.05, half=(0.2, 0.2, 0.05), mu=mu)
    model = finalize(builder)
    tilt(model, degrees)
    run = Run(model).step(60)
    angle = np.radians(degrees)
    expected = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)))
    assert np.isclose(run.qd[0, 0], expected, rtol=0.02, atol=1e-5)
    if expected == 0.0:
        x = run.q[0, 0]
        assert abs(run.step(60).q[0, 0] - x) < 1e-6


@pytest.mark.parametrize("mu", [0.2, 0.7])
def test_a_sliding_box_stops(mu):
    """(A7) After v^2 / (2 mu g), less half a step, since the friction of a step acts from its start."""
    builder = ground(mu=mu)
    box(builder, 0.0, 0.0, 0.25, half=(0.25, 0.25, 0.25), mu=mu)
    run = Run(finalize(builder), 1.0 / 240.0, qd=[[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]]).step(480)
    assert np.isclose(run.q[0, 0], 4.0 / (2.0 * mu * G) - run.dt, rtol=5e-3)
    assert np.abs(run.qd).max() < 1e-6


def test_a_sliding_sphere_rolls_in_the_end():
    """(A8) With 5/7 of its speed."""
    builder = ground(mu=0.3)
    body = builder.add_body(xform=at(0.0, 0.0, 0.1))
    builder.add_shape_sphere(body, radius=0.1, cfg=Shape(mu=0.3))
    run = Run(finalize(builder), 1.0 / 240.0, qd=[[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]]).step(240)
    assert np.isclose(run.qd[0, 0], 2.0 * 5.0 / 7.0, rtol=0.01)
    assert np.isclose(run.qd[0, 4], run.qd[0, 0] / 0.1, rtol=2e-3)


def two_boxes(offset=0.0, speed=2.0):
    builder = hooke.ModelBuilder(gravity=0.0)
    box(builder, -0.52, 0.0, 0.0, density=1000.0)
    box(builder, 0.52, offset, 0.0, density=500.0)
    return finalize(builder), [[speed, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 6]


def momentum(run):
    m, inertia = run.model.body_mass.numpy().astype(np.float64), run.model.body_inertia.numpy().astype(np.float64)
    p = m[:, None] * run.qd[:, :3]
    spin = np.einsum("bij,bj->bi", inertia, run.qd[:, 3:])  # of cubes, whatever their rotation
    return p.sum(axis=0), (np.cross(run.q[:, :3], p) + spin).sum(axis=0)


def test_bodies_that_meet_move_on_together():
    """(A27) Without restitution with m1 v1 / (m1 + m2), from one step to the next."""
    model, qd = two_boxes()
    run = Run(model, qd=qd).step(4)
    assert np.allclose(run.qd[:, 0], 2.0 * 2.0 / 3.0, rtol=1e-5)


def test_momentum_of_what_collides_is_kept():
    model, qd = two_boxes(offset=0.6)
    run = Run(model, qd=qd)
    before = momentum(run)
    exchanged = abs(before[0][0])
    run.step(30)
    after = momentum(run)
    assert np.abs(run.qd[:, 5]).min() > 0.1, "they did not meet off centre"
    assert np.abs(after[0] - before[0]).max() < 1e-5 * exchanged
    assert np.abs(after[1] - before[1]).max() < 1e-5 * exchanged


def test_what_stands_on_a_moving_base_moves_with_it():
    """(A25, A28) A stack on a kinematic plate: started at rest it takes v / (mu g) to follow, then nothing is left to tell."""
    builder = hooke.ModelBuilder()
    plate = builder.add_body(xform=at(0.0, 0.0, 0.0), is_kinematic=True)
    builder.add_shape_box(plate, hx=20.0, hy=2.0, hz=0.1, cfg=Shape(mu=0.2))
    for i in range(3):
        box(builder, 0.0, 0.0, 0.35 + 0.5 * i, half=(0.25, 0.25, 0.25), mu=0.2)
    run = Run(finalize(builder))
    for n in range(90):
        q = run.state.body_q.numpy()
        q[0, 0] = 0.5 * (n + 1) * run.dt
        run.state.body_q.assign(q)
        run.step()
    assert np.allclose(run.qd[1:, 0], 0.5, atol=1e-4)
    assert np.abs(run.qd[1:, 1:]).max() < 1e-4
    late = run.q[1:, 0] - run.q[0, 0]
    assert np.allclose(late, -(0.5**2) / (2.0 * 0.2 * G), atol=0.5 * run.dt)


def test_a_soft_contact_gives_way():
    """(A1) By m g / k, shared by four corners."""
    builder = ground(ke=2e4, kd=0.0)
    box(builder, 0.0, 0.0, 0.5, ke=2e4, kd=500.0, density=100.0)
    run = Run(finalize(builder), rigid_contact_hard=False).step(240)
    assert np.isclose(0.5 - run.q[0, 2], 100.0 * G / (4.0 * 2e4), rtol=1e-3)
    assert np.isclose(run.load_on_ground(), run.weight, rtol=1e-3)


def test_alpha_is_what_is_left_of_a_penetration_after_a_step():
    for options, left in ({}, 0.95), ({"rigid_avbd_contact_alpha": 0.5}, 0.5), ({"rigid_avbd_alpha": 0.0}, 0.0):
        builder = ground()
        box(builder, 0.0, 0.0, 0.49)
        run = Run(finalize(builder), **options).step(1)
        assert np.isclose(0.5 - run.q[0, 2], 0.01 * left, atol=2e-5), options


def test_penalties_that_are_ramped_begin_softly():
    deep = []
    for options in {}, {"rigid_avbd_beta": 1.0}, {"rigid_avbd_beta": 1e9}, {"rigid_avbd_beta": 1.0, "rigid_contact_k_start": 1e6}:
        run = (
            Run(stack(1), rigid_contact_k_start=1e2, **options)
            if "rigid_contact_k_start" not in options
            else Run(stack(1), **options)
        )
        deep.append(0.5 - run.step(2).q[0, 2])
    assert abs(deep[0]) < 1e-5
    assert deep[1] > 1e-3
    assert deep[1] > 2.0 * deep[3]
    assert deep[2] < 0.5 * deep[1]


def test_gamma_is_what_multipliers_keep():
    """Without iterations to find them anew, forces are those of the step before."""
    loads = []
    for gamma in 1.0, 0.0:
        run = Run(stack(1), rigid_avbd_gamma=gamma, iterations=1).step(3)
        loads.append(abs(run.load_on_ground() / run.weight - 1.0))
    assert loads[0] < 1e-3
    assert loads[1] != loads[0]


def heap(count=10, density=1000.0):
    rng = np.random.default_rng(3)
    builder = ground()
    for i in range(count):
        q, place = rng.normal(size=4), rng.uniform(-0.15, 0.15, 2)
        rotation = tuple(q / np.linalg.norm(q))
        box(builder, *place, 0.4 + 0.45 * i, half=(0.15, 0.15, 0.15), rotation=rotation, density=density)
    return finalize(builder)


def test_a_heap_comes_to_rest():
    run = Run(heap())
    energy, mass = [], run.model.body_mass.numpy().astype(np.float64)

    def measure(_n):
        spin = 0.5 * mass * 0.015 * (run.qd[:, 3:] ** 2).sum(axis=1)
        energy.append(float((mass * G * run.q[:, 2] + 0.5 * mass * (run.qd[:, :3] ** 2).sum(axis=1) + spin).sum()))

    run.step(300, measure)
    assert np.abs(run.qd).max() < 0.01
    assert np.isclose(run.load_on_ground(), run.weight, rtol=0.01)
    assert run.q[:, 2].min() > 0.14
    assert np.diff(energy).max() < 0.02 * energy[0], "energy out of nothing"


def test_the_unit_of_mass_does_not_matter():
    """Masses a power of two apart move alike to the last bit."""
    found = [Run(heap(6, density)).step(40).q for density in (1.0, 1024.0)]
    assert np.array_equal(*found)


@pytest.mark.parametrize("yaw", [0.0, 10.0])
def test_a_thin_cable_lies_still(yaw):
    """5 mm thick, dropped flat from 0.1 m."""
    builder, angle = ground(), np.radians(yaw)
    points = [(np.cos(angle) * 0.02 * k, np.sin(angle) * 0.02 * k, 0.1) for k in range(21)]
    builder.add_rod(points, radius=0.0025, bend_stiffness=1e-3, bend_damping=1e-5, stretch_stiffness=1e6)
    run = Run(finalize(builder)).step(180)
    mass = run.model.body_mass.numpy().astype(np.float64)
    assert 0.5 * (mass * (run.qd[:, :3] ** 2).sum(axis=1)).sum() < 1e-6 * run.weight * 0.1
    assert np.abs(run.q[:, 2] - 0.0025).max() < 1e-5


@pytest.mark.parametrize("dt", [1.0 / 60.0, 1.0 / 240.0])
def test_violence_makes_no_energy(dt):
    """Boxes of masses 1 to 1000 that are thrown into each other, some of them overlapping: energy never grows."""
    rng = np.random.default_rng(1)
    builder = ground(mu=0.7)
    for i in range(20):
        q, half = rng.normal(size=4), rng.uniform(0.02, 0.2, 3)
        place = (*rng.uniform(-0.4, 0.4, 2), 0.3 + 0.12 * i)
        box(builder, *place, half=half, rotation=tuple(q / np.linalg.norm(q)), density=10.0 ** rng.uniform(1.0, 4.0), mu=0.7)
    run = Run(finalize(builder), dt, qd=10.0 * rng.normal(size=(20, 6)))
    mass = run.model.body_mass.numpy().astype(np.float64)

    def energy():
        linear = 0.5 * mass * (run.qd[:, :3] ** 2).sum(axis=1)
        return float((mass * G * run.q[:, 2] + linear).sum())

    found = [energy()]
    run.step(int(1.0 / dt), lambda _n: found.append(energy()))
    assert np.isfinite(run.q).all()
    assert np.diff(found).max() < 0.05 * found[0]
    assert found[-1] < found[0]


def test_runs_repeat_whatever_the_workers(monkeypatch):
    """(A30) With one and two workers, and launch by launch."""
    found = []
    for workers, graphs in (1, True), (2, True), (1, False):
        monkeypatch.setattr(config, "workers", workers)
        monkeypatch.setattr(config, "graphs", graphs)
        run = Run(heap()).step(80)
        found.append((run.q, run.qd))
    for q, qd in found[1:]:
        assert np.array_equal(q, found[0][0])
        assert np.array_equal(qd, found[0][1])


def test_forty_boxes_repeat_with_any_number_of_workers(monkeypatch):
    """Field report "repeatability": a pile of forty, twice with one worker and with two and four."""
    found = []
    for workers in (1, 1, 2, 4):
        monkeypatch.setattr(config, "workers", workers)
        run = Run(heap(40)).step(40)
        found.append((run.q, run.qd))
    for q, qd in found[1:]:
        assert np.array_equal(q, found[0][0]) and np.array_equal(qd, found[0][1])


def test_a_capture_of_the_first_steps_of_a_heap_equals_the_eager_run():
    """(A30; field report "capture") Contacts found and solved in a graph."""
    model = heap()
    eager = Run(model).step(40)
    pipeline = hooke.CollisionPipeline(model)
    solver, contacts, a, b = SolverVBD(model), pipeline.contacts(), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        for state, other in ((a, b), (b, a)):
            pipeline.collide(state, contacts)
            solver.step(state, other, None, contacts, eager.dt)
    for _ in range(20):
        wp.capture_launch(capture.graph)
    assert np.array_equal(a.body_q.numpy(), eager.q.astype(np.float32)) and np.array_equal(
        a.body_qd.numpy(), eager.qd.astype(np.float32)
    )


def test_reset_forgets_contacts():
    model = heap()
    fresh = Run(model).step(70)
    run = Run(model).step(90)
    run.solver.reset(run.state)
    run.step(70)
    assert np.abs(run.q - fresh.q).max() < 1e-6


def test_bodies_of_a_mechanism_stand_on_the_ground():
    """A table with four legs and a heavy top: joints and contacts are solved together."""
    builder = ground()
    top = builder.add_link(xform=at(0.0, 0.0, 0.525))
    builder.add_shape_box(top, hx=0.5, hy=0.5, hz=0.025, cfg=Shape(density=4000.0))
    joints = [builder.add_joint_free(top)]
    for x in (-0.45, 0.45):
        for y in (-0.45, 0.45):
            leg = builder.add_link(xform=at(x, y, 0.25))
            builder.add_shape_box(leg, hx=0.02, hy=0.02, hz=0.25, cfg=Shape(density=100.0))
            joints.append(builder.add_joint_fixed(top, leg, parent_xform=at(x, y, -0.025), child_xform=at(0.0, 0.0, 0.25)))
    builder.add_articulation(joints)
    run = Run(finalize(builder)).step(30)
    assert np.abs(run.qd).max() < 1e-4
    assert np.isclose(run.load_on_ground(), run.weight, rtol=1e-3)
    assert abs(run.q[0, 2] - 0.525) < 1e-4


def test_a_chain_lies_on_the_ground():
    """More links than fit into a group of islands."""
    builder = ground()
    points = [(0.05 * k, 0.0, 0.03) for k in range(73)]
    builder.add_rod(points, radius=0.012, bend_stiffness=0.1, bend_damping=1e-3, stretch_stiffness=1e6)
    run = Run(finalize(builder)).step(60)
    assert np.abs(run.qd).max() < 1e-3
    assert np.isclose(run.load_on_ground(), run.weight, rtol=1e-3)
    assert np.abs(run.q[:, 2] - 0.012).max() < 1e-4


def test_contacts_without_rows_are_no_contacts():
    model = stack(1)
    run, free = Run(model), Run(model)
    run.contacts.clear()
    run.solver.step(run.state, run.other, None, run.contacts, run.dt)
    free.solver.step(free.state, free.other, None, None, free.dt)
    assert np.array_equal(run.other.body_q.numpy(), free.other.body_q.numpy())

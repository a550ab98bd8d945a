"""Particles and dynamic bodies in the documented formulation (``rigid_compliant_alm=False``): its law, momentum, weight, grip, reuse."""

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.model.energy import measure_momentum
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, surface

from .test_coupling_bodies import INERTIA, add_box, arrays_of, at, cloth_on_a_free_box, grid, gripper, same
from .test_coupling_bodies import take as take_any

PAGE = {"rigid_compliant_alm": False}
DT = 1 / 120


def take(model, steps, dt=DT, **options):
    return take_any(model, steps, dt, **(options if "solver" in options else PAGE | options))


# ---- the law


def falls_on_a_box(ke=1.0e3, kd=0.0, inertia=1.0e6):
    """A particle above the middle of a free box, without gravity."""
    b = hooke.ModelBuilder(gravity=0.0)
    body = b.add_body(mass=1.0, inertia=inertia * np.eye(3))
    b.add_shape_box(body, hx=0.2, hy=0.2, hz=0.1, cfg=surface(mu=0.5, ke=ke, kd=kd))
    add_points(b, [(0.0, 0.0, 0.115)], 0.3, velocity=(0.4, 0.0, -1.0), radius=0.02)
    return finalize(b, ke=ke, kd=kd, mu=0.5)


def expected(iterations, ke, kd, beta=0.0, k=None, steps=1):
    """Ways of box and particle along the normal and across it (without rotation), velocities, and k; float64."""
    h, m, mass, mu, eps = DT, np.array([0.3, 0.3]), np.array([1.0, 1.0]), 0.5, 1e-2 * DT
    x, y = np.array([0.0, 0.115]), np.array([0.0, 0.0])  # (across, along) of the particle and of the surface
    v, w = np.array([0.4, -1.0]), np.zeros(2)
    k = (min(1.0e2, ke) if beta else ke) if k is None else k

    def law(d, u, k):
        """Force on the particle and blocks, for its way d and that of the surface u."""
        depth = 0.02 - (x[1] + d[1] - 0.1 - y[1] - u[1])
        if depth <= 0.0:
            return np.zeros(2), np.zeros(2), 0.0
        rate, slip = d[1] - u[1], d[0] - u[0]
        f, block = k * depth, k
        if rate < 0.0:
            f, block = f - kd / h * rate, block + kd / h
        phi = 1.0 / abs(slip) if abs(slip) > eps else (2.0 - abs(slip) / eps) / eps
        grip = mu * k * depth * phi
        return np.array([-grip * slip, f]), np.array([grip, block]), depth

    for _ in range(steps):
        d, u = h * v, h * w
        aim, goal = d.copy(), u.copy()
        for _ in range(iterations):
            f, block, _ = law(d, u, k)
            u = u + (mass / h**2 * (goal - u) - f) / (mass / h**2 + block)
            k = min(ke, k + beta * max(law(d, u, k)[2], 0.0))
            f, block, _ = law(d, u, k)
            d = d + (m / h**2 * (aim - d) + f) / (m / h**2 + block)
        x, y, v, w = x + d, y + u, d / h, u / h
    return v, w, k


@pytest.mark.parametrize(("iterations", "kd", "beta"), [(1, 0.0, 0.0), (3, 5.0, 0.0), (2, 0.0, 1.0e5), (4, 5.0, 1.0e5)])
def test_the_law_of_the_page(iterations, kd, beta):
    """Bodies first, against particles as they are; then k grows; then particles. A box that cannot turn is a closed form."""
    model = falls_on_a_box(kd=kd)
    options = {"rigid_avbd_linear_beta": beta, "particle_contact_friction": "smoothed", "iterations": iterations}
    state, solver, _ = take(model, 1, **options)
    v, w, k = expected(iterations, 1.0e3, kd, beta)
    body, particle = state.body_qd.numpy()[0], state.particle_qd.numpy()[0]
    assert body[2] == pytest.approx(w[1], rel=1e-5) and w[1] < -0.05
    assert particle[2] == pytest.approx(v[1], rel=1e-4)
    assert solver.workspace.rows.stiffness.numpy()[0] == pytest.approx(k, rel=1e-4)
    if iterations == 1:  # from the second on the block of a sliding particle is sharper than the page's
        assert body[0] == pytest.approx(w[0], rel=1e-4)


def test_a_step_on_kept_rows_goes_on_with_their_stiffness():
    model = falls_on_a_box()
    found = []
    for update in (True, False):
        contacts, state, other = model.contacts(), model.state(), model.state()
        solver = SolverVBD(model, iterations=2, rigid_avbd_linear_beta=1.0e4, **PAGE)
        model.collide(state, contacts)
        for n in range(3):
            solver.set_rigid_history_update(update or n == 0)
            solver.step(state, other, None, contacts, DT)
            state, other = other, state
            found.append(float(solver.workspace.rows.stiffness.numpy()[0]))
    renewed, kept = found[:3], found[3:]
    assert all(100.0 < k < 600.0 for k in renewed)
    assert kept[0] == renewed[0] and kept[1] > renewed[1] + 200.0 and kept[2] == 1.0e3  # up to that of the material


def test_the_reaction_acts_where_the_surface_is_now():
    """One iteration on a box that spins and whose centre of mass is not its origin, against the 6x6 system in float64."""
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.2, 0.15, 0.1), com=(0.03, -0.02, 0.01))
    add_points(b, [(0.12, 0.05, 0.119)], 0.3, radius=0.02)
    model = finalize(b, ke=1.0e3, kd=0.0, mu=0.0)
    model.shape_material_kd.fill_(0.0)
    model.shape_material_ke.fill_(1.0e3)
    state, other, contacts = model.state(), model.state(), model.contacts()
    model.collide(state, contacts)
    held = SolverVBD(model, iterations=0, **PAGE)
    spin = [(0.1, 0.0, 0.2, 0.5, -0.3, 0.8)]
    state.body_qd.assign(spin)
    held.step(state, other, None, contacts, DT)
    q = other.body_q.numpy()[0].astype(np.float64)  # the prediction
    turn = np.array(wp_matrix(q[3:]))
    com = q[:3] + turn @ (0.03, -0.02, 0.01)
    point = q[:3] + turn @ contacts.soft_contact_body_pos.numpy()[0]
    n = np.array([0.0, 0.0, 1.0])
    f = -1.0e3 * (0.02 - n @ (np.array([0.12, 0.05, 0.119]) - point)) * n
    jacobian = np.concatenate([n, np.cross(point - com, n)])
    inertia = np.zeros((6, 6))
    inertia[:3, :3], inertia[3:, 3:] = np.eye(3), turn @ INERTIA @ turn.T
    step = np.linalg.solve(inertia / DT**2 + 1.0e3 * np.outer(jacobian, jacobian), jacobian * (n @ f))
    after = model.state()
    SolverVBD(model, iterations=1, **PAGE).step(state, after, None, contacts, DT)
    moved = after.body_q.numpy()[0].astype(np.float64)
    new_com = moved[:3] + wp_matrix(moved[3:]) @ (0.03, -0.02, 0.01)
    assert np.abs(new_com - com - step[:3]).max() < 1e-3 * np.abs(step[:3]).max() and n @ f < -1.0
    change = wp_matrix(moved[3:]) @ turn.T
    way = 0.5 * np.array([change[2, 1] - change[1, 2], change[0, 2] - change[2, 0], change[1, 0] - change[0, 1]])
    assert np.abs(way - step[3:]).max() < 1e-3 * np.abs(step[3:]).max()


def wp_matrix(q):
    """The rotation matrix of a quaternion x y z w."""
    x, y, z, w = q / np.linalg.norm(q)
    s = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * s + 2.0 * s @ s


# ---- momentum


def exchange(iterations, kd, friction="anchored"):
    """A particle on a box that spins: what they exchange, and the errors of linear and angular momentum over that."""
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.2, 0.15, 0.1), com=(0.03, -0.02, 0.01))
    add_points(b, [(0.12, 0.05, 0.15)], 0.3, velocity=(0.5, 0.2, -1.0), radius=0.02)
    model = finalize(b, ke=1.0e3, kd=kd)
    model.shape_material_kd.fill_(kd)
    state = model.state()
    state.body_qd.assign([(0.1, 0.0, 0.2, 0.5, -0.3, 0.8)])
    start, before = measure_momentum(model, state), state.particle_qd.numpy()[0].astype(np.float64)
    state, _, _ = take(model, 30, state=state, iterations=iterations, particle_contact_friction=friction)
    exchanged = 0.3 * np.linalg.norm(state.particle_qd.numpy()[0] - before)
    end = measure_momentum(model, state)
    linear, angular = (np.abs(getattr(end, n) - getattr(start, n)).max() / exchanged for n in ("linear", "angular"))
    return exchanged, linear, angular / 0.15


def test_reactions_are_opposite_where_sweeps_converge():
    """Linear momentum to rounding; angular not, since the body's lever is its own point of contact, now."""
    exchanged, linear, angular = exchange(10, 0.0)
    assert exchanged > 0.25 and linear < 1e-5
    assert 1e-3 < angular < 0.05


def test_a_cloth_and_a_free_box_keep_their_momentum():
    """Without dampers; a damper of the whole step begins with a jump, across which sweeps run to and fro."""
    errors = []
    for kd in (0.0, 10.0):
        model, state = cloth_on_a_free_box()
        model.soft_contact_kd = kd
        model.shape_material_kd.fill_(kd)
        start = measure_momentum(model, state)
        state, _, _ = take(model, 12, state=state, iterations=40, particle_acceleration="multilevel")
        end = measure_momentum(model, state)
        pushed = float(model.body_mass.numpy()[0]) * np.linalg.norm(state.body_qd.numpy()[0, :3])
        errors.append(np.abs(end.linear - start.linear).max() / pushed)
    assert errors[0] < 1e-5 < errors[1]


def test_a_face_pushes_a_free_box():
    """A small box under the middle of a large triangle, none of whose corners is near it."""
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.05, 0.05, 0.05), xform=at(0.02, 0.01, 0.0))
    add_points(b, [(-0.5, -0.4, 0.08), (0.5, -0.4, 0.08), (0.0, 0.6, 0.08)], 0.1, velocity=(0.2, 0.0, -1.0), radius=0.01)
    b.add_triangle(0, 1, 2, tri_ke=1.0e3, tri_ka=1.0e3, tri_kd=0.0)
    model = finalize(b, ke=2.0e3, kd=0.0)
    model.shape_material_kd.fill_(0.0)
    pipeline = hooke.CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True)
    start = measure_momentum(model, model.state())
    state, _, _ = take(model, 20, pipeline=pipeline, iterations=40)
    end = measure_momentum(model, state)
    pushed = float(model.body_mass.numpy()[0]) * np.linalg.norm(state.body_qd.numpy()[0, :3])
    assert pushed > 0.05
    assert abs(end.linear - start.linear)[2] < 1e-5 * pushed
    assert np.abs(end.linear - start.linear).max() < 1e-3 * pushed  # friction of faces is smoothed


# ---- attachments


def test_a_particle_held_by_a_spinning_body_keeps_both_turning():
    b = hooke.ModelBuilder(gravity=0.0)
    body = b.add_body(xform=at(0.0, 0.0, 0.0), mass=1.0, inertia=INERTIA)
    add_points(b, [(0.3, 0.1, 0.0)], 0.4)
    b.add_attachment_particle_body(0, body, body_point=(0.3, 0.1, 0.0), stiffness=1.0e4)
    model = finalize(b)
    state = model.state()
    state.body_qd.assign([(0.0, 0.0, 0.0, 0.5, 0.3, 2.0)])
    state.particle_qd.assign([np.cross((0.5, 0.3, 2.0), (0.3, 0.1, 0.0))])
    start = measure_momentum(model, state)
    state, _, _ = take(model, 100, state=state, iterations=60)
    end = measure_momentum(model, state)
    assert np.abs(end.linear - start.linear).max() < 1e-4
    assert np.linalg.norm(end.angular - start.angular) < 0.2 * np.linalg.norm(start.angular)
    distance = np.linalg.norm(state.particle_q.numpy()[0] - state.body_q.numpy()[0, :3])
    assert distance == pytest.approx(np.hypot(0.3, 0.1), abs=1e-3)


def test_a_body_hangs_from_a_fixed_particle():
    """Off its centre: it comes to rest below its point of attachment, which gives way by m g / k."""
    b = hooke.ModelBuilder()
    body = b.add_body(xform=at(0.1, 0.0, -0.2), mass=2.0, inertia=0.02 * np.eye(3))
    add_points(b, [(0.0, 0.0, 0.0)], 0.0)
    b.add_attachment_particle_body(0, body, body_point=(-0.1, 0.0, 0.2), stiffness=2.0e3, damping=50.0)
    model = finalize(b)
    state, _, _ = take(model, 900, 1 / 60, iterations=20)
    assert np.abs(state.body_qd.numpy()).max() < 5e-2
    down = np.hypot(0.1, 0.2) + 2.0 * GRAVITY / 2.0e3
    assert np.allclose(state.body_q.numpy()[0, :3], (0.0, 0.0, -down), atol=3e-3)


# ---- weight and grip


def test_a_pinned_cloth_carries_the_weight_of_a_box():
    b = hooke.ModelBuilder()
    grid(b, 6, 0.6, 0.0, 0.01, pinned=True)
    add_box(b, (0.12, 0.12, 0.05), 1.0, at(0.0, 0.0, 0.06), label="crate")
    model = finalize(b, ke=1.0e4)
    state, solver, contacts = take(model, 240, 1 / 60, iterations=20, particle_acceleration="anderson")
    solver.update_contacts(contacts)
    assert -contacts.force.numpy()[:, 2].sum() == pytest.approx(GRAVITY, rel=2e-3)
    assert np.abs(state.body_qd.numpy()[0]).max() < 1e-3
    assert solver.collect_rigid_contact_forces(state.body_q, state.body_q, contacts, 1 / 60)[5].numpy()[0] == 0


def test_a_soft_cube_is_gripped_and_lifted():
    """Between driven fingers, at 240 Hz: it comes along without slip, and the wrist carries all."""
    model = gripper()
    control = model.control()
    gravity = model.gravity.numpy().copy()
    heights = []

    def each(n, state):
        model.gravity.assign(gravity if n >= 120 else np.zeros_like(gravity))
        close, up = 0.035 * min(n / 72, 1.0), 0.1 * min(max((n - 144) / 120, 0.0), 1.0)
        control.joint_target_q.assign(np.array([up, close, -close], np.float32))
        heights.append(state.particle_q.numpy()[:, 2].mean() - state.body_q.numpy()[1:, 2].mean())

    state, _, _ = take(model, 600, 1 / 240, control=control, each=each, iterations=20)
    assert state.body_q.numpy()[0, 2] > 0.24
    assert np.ptp(heights[240:]) < 5e-4 and abs(heights[-1] - heights[-120]) < 1e-5
    weight = GRAVITY * (model.particle_mass.numpy().sum() + model.body_mass.numpy().sum())
    assert 2.0e4 * (0.25 - state.body_q.numpy()[0, 2]) == pytest.approx(weight, rel=0.02)


# ---- graphs, workers, buffers, reset, changes


def test_workers_graphs_buffers_and_resets_make_no_difference(monkeypatch):
    results = []
    for graphs, workers, size in ((False, 1, 256), (True, 1, 1), (True, 2, 2)):
        monkeypatch.setattr(config, "graphs", graphs)
        monkeypatch.setattr(config, "workers", workers)
        model, state = cloth_on_a_free_box()
        begin = arrays_of(state)
        pipeline = hooke.CollisionPipeline(model, soft_contact_max=size)
        options = {"pipeline": pipeline, "rigid_avbd_linear_beta": 1.0e6, "rigid_body_particle_contact_buffer_size": size}
        state, solver, _ = take(model, 8, state=state, **options)
        assert not solver.status.overflow
        results.append(state)
        again = model.state()
        solver.reset(again)
        for name, value in zip(("particle_q", "particle_qd", "body_q", "body_qd"), begin, strict=True):
            getattr(again, name).assign(value)
        results.append(take(model, 8, state=again, solver=solver, pipeline=pipeline)[0])
    assert np.linalg.norm(results[0].body_qd.numpy()[0, :3]) > 0.05
    assert all(same(result, results[0]) for result in results[1:])


def test_a_body_that_becomes_dynamic_is_pushed_from_then_on():
    b = hooke.ModelBuilder(gravity=0.0)
    add_box(b, (0.2, 0.2, 0.1), is_kinematic=True)
    add_points(b, [(0.0, 0.0, 0.125)], 0.5, velocity=(0.0, 0.0, -1.0), radius=0.02)
    add_box(b, (0.2, 0.2, 0.1), xform=at(3.0, 0.0, 0.0))
    model = finalize(b, kd=0.0)
    solver = SolverVBD(model, **PAGE)
    state, _, _ = take(model, 2, solver=solver)
    assert not state.body_qd.numpy()[0].any()
    model.body_flags.assign([int(hooke.BodyFlags.DYNAMIC), int(hooke.BodyFlags.DYNAMIC)])
    solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    state, _, _ = take(model, 5, state=state, solver=solver)
    assert state.body_qd.numpy()[0, 2] < -0.1
    assert not state.body_qd.numpy()[1].any()


def test_bodies_apart_from_particles_begin_at_rest():
    """Where particles and bodies do not meet, the first step of a body has no way from elsewhere."""
    b = hooke.ModelBuilder(gravity=0.0)
    body = b.add_body(xform=at(3.0, 2.0, 1.0), mass=1.0, inertia=INERTIA)
    add_points(b, [(0.0, 0.0, 1.0)])
    model = finalize(b)
    state, _, _ = take(model, 1)
    assert not state.body_qd.numpy()[body].any()

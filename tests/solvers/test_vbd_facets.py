"""Contacts of edges and faces with shapes in the solver: their law, who takes which share, buffers, workers and captures."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, UPRIGHT, add_points, finalize, surface

from .scenes import same
from .surfaces import OPTIONS

DT = 1.0 / 300.0
SELF = pytest.mark.parametrize("more", [{}, OPTIONS], ids=["plain", "self-contact"])
LANES = pytest.mark.parametrize("lanes", [True, False], ids=["lanes", "single"])


def full(model, **options):
    return hooke.CollisionPipeline(model, enable_rigid_soft_full_surface_contact=True, **options)


def triangle(margin=0.0, stiffness=10.0):
    """A soft triangle above a static box whose top is z = 0; mixed stiffness 1750 N/m, no friction, no damping, no gravity."""
    builder = hooke.ModelBuilder(gravity=0.0)
    cfg = hooke.ShapeConfig(mu=0.0, ke=2500.0, kd=0.0, density=0.0, margin=margin)
    builder.add_shape_box(-1, xform=(0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0), hx=1.0, hy=1.0, hz=1.0, cfg=cfg)
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], 0.5, radius=[0.05, 0.02, 0.01])
    builder.add_triangle(0, 1, 2, tri_ke=stiffness, tri_ka=stiffness, tri_kd=0.0)
    return finalize(builder, ke=1000.0, kd=0.0, mu=0.0)


def contacts_of(rows, room=4):
    """A buffer with some rows (corners, weights, point) of shape 0, normal up."""
    contacts = hooke.Contacts(0, room, device="cpu")
    contacts.soft_contact_surface = True
    table = {
        name: getattr(contacts, f"soft_contact_{name}").numpy().copy() for name in ("indices", "barycentric", "body_pos", "normal")
    }
    for r, (corners, weights, point) in enumerate(rows):
        table["indices"][r], table["barycentric"][r], table["body_pos"][r] = corners, weights, point
        table["normal"][r] = (0.0, 0.0, 1.0)
    for name, values in table.items():
        getattr(contacts, f"soft_contact_{name}").assign(values)
    contacts.soft_contact_particle.assign(np.full(room, -1, np.int32))
    contacts.soft_contact_count.assign(np.array([len(rows)], np.int32))
    return contacts


@pytest.mark.parametrize(("margin", "depth"), [(0.0, 0.05), (0.02, 0.07)])
def test_shares_of_the_corners(margin, depth):
    """Theory notes, case 12: weights 0.6, 0.3, 0.1 and 0.05 m deep at a mixed stiffness of 1750: 52.5, 26.25 and 8.75 N; a margin adds
    to the depth. The row has all of it, with its torque."""
    weights = np.array([0.6, 0.3, 0.1])
    model = triangle(margin)
    contacts = contacts_of([((0, 1, 2), weights, (0.3, 0.1, 0.0))])
    solver = SolverVBD(model, iterations=0)
    solver.step(model.state(), model.state(), None, contacts, DT)
    assert solver.status.residual == pytest.approx(1750.0 * depth * 0.6, rel=1e-5)
    assert np.allclose(solver.workspace.imbalance.numpy(), 1750.0 * depth * weights, rtol=1e-5)
    solver.update_contacts(contacts)
    force = contacts.force.numpy()[0]
    assert np.allclose(force[:3], (0.0, 0.0, 1750.0 * depth), rtol=1e-5)
    assert np.allclose(force[3:], np.cross((0.3, 0.1, 0.0), force[:3]), atol=1e-4)


@LANES
@pytest.mark.parametrize("corners", [(0, 1, 2), (1, 0, -1)], ids=["face", "edge"])
def test_blocks_of_the_corners(monkeypatch, lanes, corners):
    """One sweep of Newton steps with beta f and beta^2 k, in float64."""
    monkeypatch.setattr(config, "lanes", lanes)
    model = triangle(stiffness=1e-3)
    weights = np.array([0.6, 0.3, 0.1] if corners[2] >= 0 else [0.7, 0.3, 0.0])
    contacts = contacts_of([(corners, weights, (0.3, 0.1, 0.0))])
    solver, out = SolverVBD(model, iterations=1), model.state()
    solver.step(model.state(), out, None, contacts, DT)
    radius = max(model.particle_radius.numpy()[c] for c in corners if c >= 0)
    z = np.zeros(3)
    share = dict(zip(corners, weights, strict=True))
    for color in model.particle_color_groups:
        for i in color.numpy():
            if i in share:
                load = 1750.0 * (radius - sum(w * z[c] for c, w in share.items() if c >= 0))
                inertia = 0.5 / DT**2
                z[i] -= (inertia * z[i] - share[i] * load) / (inertia + 1750.0 * share[i] ** 2)
    assert np.allclose(out.particle_q.numpy()[:, 2], z, rtol=1e-5, atol=1e-9)


@SELF
@LANES
def test_an_edge_over_a_post(monkeypatch, lanes, more):
    """Theory notes, 9.4: vertices 0.4 m away, 0.03 m deep: pushed by more than 1 mm in one step; without full surface
    not at all."""
    monkeypatch.setattr(config, "lanes", lanes)
    rises = []
    for surface_contact in (True, False):
        builder = hooke.ModelBuilder(gravity=0.0)
        builder.add_shape_capsule(-1, xform=(0.0, 0.0, -0.42, 0.0, 0.0, 0.0, 1.0), radius=0.05, half_height=0.4, cfg=surface())
        add_points(builder, [(-0.4, 0.0, 0.0), (0.4, 0.0, 0.0), (0.0, 0.8, 0.0)], 0.1, radius=0.01)
        builder.add_triangle(0, 1, 2, tri_ke=100.0, tri_ka=100.0, tri_kd=0.0)
        model = finalize(builder)
        pipeline = full(model) if surface_contact else hooke.CollisionPipeline(model)
        contacts, out = pipeline.contacts(), model.state()
        pipeline.collide(model.state(), contacts)
        SolverVBD(model, **more).step(model.state(), out, None, contacts, 1.0 / 60.0)
        rises.append(out.particle_q.numpy()[:2, 2].min())
    assert rises[0] > 1e-3
    assert rises[1] == 0.0


def on_posts(cells=6, material=1e3):
    """A cloth above thin posts that stand under the middles of its cells; its mass is 0.036 kg per (cells / 6)^2."""
    builder = hooke.ModelBuilder()
    cell = 0.05
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 0.008), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=cells, dim_y=cells, cell_x=cell, cell_y=cell, mass=1e-3,
        tri_ke=500.0, tri_ka=500.0, tri_kd=0.1, edge_ke=0.01, edge_kd=1e-3, particle_radius=0.005,
    )  # fmt: skip
    for i in range(cells):
        for j in range(cells):
            place = ((i + 0.3) * cell, (j + 0.4) * cell, -0.1)
            builder.add_shape_capsule(
                -1, xform=(*place, *UPRIGHT), radius=0.003, half_height=0.1 - 0.003, cfg=surface(kd=1.0, mu=0.5)
            )
    return finalize(builder, ke=material, kd=1.0, mu=0.5)


def lie(model, steps, pipeline=None, dt=DT, start=None, **options):
    pipeline = full(model) if pipeline is None else pipeline
    contacts, solver = pipeline.contacts(), SolverVBD(model, **options)
    state, other = model.state() if start is None else start, model.state()
    for _ in range(steps):
        pipeline.collide(state, contacts)
        solver.step(state, other, None, contacts, dt)
        state, other = other, state
    return state, solver, contacts


@SELF
def test_a_cloth_lies_on_posts_between_its_vertices(more):
    """The rows of faces and edges carry its weight to 1 %; without them it falls through."""
    model = on_posts()
    more = {**more, "particle_self_contact_radius": 0.004, "particle_self_contact_margin": 0.006} if more else more
    state, solver, contacts = lie(model, 400, **more)
    q = state.particle_q.numpy()
    assert q[:, 2].min() > -0.02 and np.abs(state.particle_qd.numpy()).max() < 0.05
    solver.update_contacts(contacts)
    count = int(contacts.soft_contact_count.numpy()[0])
    force = contacts.force.numpy()[:count]
    weight = GRAVITY * model.particle_mass.numpy().sum()
    assert (contacts.soft_contact_particle.numpy()[:count] == -1).all()
    assert np.allclose(force[:, :3].sum(axis=0), (0.0, 0.0, weight), atol=0.01 * weight)
    moment = np.cross(q, model.particle_mass.numpy()[:, None] * np.array([0.0, 0.0, GRAVITY])).sum(axis=0)
    assert np.allclose(force[:, 3:].sum(axis=0), moment, atol=0.01 * np.abs(moment).max())
    fallen, _, _ = lie(model, 60, pipeline=hooke.CollisionPipeline(model), **more)
    assert fallen.particle_q.numpy()[:, 2].max() < -0.05


@SELF
@LANES
def test_workers_make_no_difference(monkeypatch, lanes, more):
    monkeypatch.setattr(config, "lanes", lanes)
    ends = []
    for graphs, workers in ((False, 1), (True, 1), (True, 2)):
        monkeypatch.setattr(config, "graphs", graphs)
        monkeypatch.setattr(config, "workers", workers)
        ends.append(lie(on_posts(4), 15, **more)[0])
    assert same(ends[0], ends[1]) and same(ends[0], ends[2])


def test_lanes_move_like_single_particles(monkeypatch):
    ends = []
    for lanes in (True, False):
        monkeypatch.setattr(config, "lanes", lanes)
        ends.append(lie(on_posts(4), 30)[0].particle_q.numpy())
    assert np.abs(ends[0] - ends[1]).max() < 1e-4


def test_buffers_grow():
    """A pipeline with room for four rows gives the same bits; inside a capture it is said that there is no room."""
    wanted = lie(on_posts(4), 20)[0]
    model = on_posts(4)
    assert same(lie(model, 20, pipeline=full(model, soft_contact_max=4))[0], wanted)
    model = on_posts(4)
    solver, contacts = SolverVBD(model), full(model, soft_contact_max=10).contacts()
    with pytest.raises(RuntimeError, match="edges and faces.*during a capture"), wp.ScopedCapture(device="cpu"):
        solver.step(model.state(), model.state(), None, contacts, DT)


@SELF
def test_the_first_steps_can_be_captured(more):
    model = on_posts(4)
    wanted = lie(model, 20, **more)[0]
    pipeline = full(model)
    contacts, solver, a, b = pipeline.contacts(), SolverVBD(model, **more), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        for one, other in ((a, b), (b, a)):
            pipeline.collide(one, contacts)
            solver.step(one, other, None, contacts, DT)
    for _ in range(10):
        wp.capture_launch(capture.graph)
    assert same(a, wanted)


def test_contacts_with_and_without_such_rows_may_take_turns():
    """What one buffer said is forgotten in a step with another, or with none."""
    model = triangle()
    solver, still, out = SolverVBD(model), model.state(), model.state()
    solver.step(still, out, None, contacts_of([((0, 1, -1), (0.5, 0.5, 0.0), (0.5, 0.0, 0.0))]), DT)
    assert out.particle_q.numpy()[:2, 2].min() > 1e-4
    for contacts in (None, hooke.Contacts(0, 4, device="cpu"), contacts_of([])):
        out = model.state()
        solver.step(still, out, None, contacts, DT)
        assert np.array_equal(out.particle_q.numpy(), still.particle_q.numpy())


def test_friction_and_damping():
    """A fixed face that is driven down into and along a surface: k p + c v, and mu k p against the motion."""
    model = triangle()
    model.particle_mass.zero_()
    model.particle_inv_mass.zero_()
    model.soft_contact_kd, model.soft_contact_mu = 20.0, 0.5
    model.shape_material_mu.fill_(0.5)
    contacts = contacts_of([((0, 1, 2), (0.6, 0.3, 0.1), (0.3, 0.1, 0.0))])
    solver, state, out = SolverVBD(model), model.state(), model.state()
    solver.step(state, out, None, contacts, DT)
    state.particle_q.assign(out.particle_q.numpy() + np.array([1.0, 0.0, -0.5]) * DT)
    solver.step(state, out, None, contacts, DT)
    solver.update_contacts(contacts)
    load = 1750.0 * (0.05 + 0.5 * DT)
    assert np.allclose(contacts.force.numpy()[0, :3], (-0.5 * load, 0.0, load + 10.0 * 0.5), rtol=1e-4, atol=1e-3)


def test_the_ramp_holds_for_them_too():
    """Stiffness begins at rigid_contact_k_start and grows by beta times the penetration: 100 + 1e4 0.05 = 600 in the second sweep."""
    model = triangle()
    model.particle_mass.zero_()
    model.particle_inv_mass.zero_()
    contacts = contacts_of([((0, 1, 2), (0.6, 0.3, 0.1), (0.3, 0.1, 0.0))])
    for iterations, stiffness in ((1, 100.0), (2, 600.0), (9, 1750.0)):
        solver = SolverVBD(model, iterations=iterations, rigid_avbd_beta=1e4)
        solver.step(model.state(), model.state(), None, contacts, DT)
        solver.update_contacts(contacts)
        assert contacts.force.numpy()[0, 2] == pytest.approx(0.05 * stiffness, rel=1e-5)

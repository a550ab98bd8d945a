"""Contacts between bodies in the documented formulation (``rigid_compliant_alm=False``): closed forms, worked examples, scenes."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.collision.pipeline import CollisionPipeline
from hooke.execution.work import whole_work
from hooke.model.contacts import Contacts
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.page_contacts import PageContactOptions, PageContacts, PageLoads, push_page, update_page_contacts
from hooke.solvers.vbd.page_rows import PageBodyMotion
from hooke.solvers.vbd.workspace import allocate
from tests.support import GRAVITY, UPRIGHT, finalize, surface

from .bodies import at, same_bodies
from .touching import PAGE, ball, boxes, rows_of, touch

K, N = 2500.0, 10
"""Stiffness of the default material and number of iterations."""


def decay(dt):
    """r^n: what n iterations leave of an error of a kilogram on a row."""
    return (1.0 / dt**2 / (1.0 / dt**2 + K)) ** N


# ---- closed forms


@pytest.mark.parametrize(("mode", "dt", "steps", "text"), [
    ("soft", 1.0 / 600.0, 3000, 3.924), ("cold", 1.0 / 600.0, 1000, 7.61), ("warm", 1.0 / 600.0, 3000, 0.388),
    ("cold", 1.0 / 60.0, 300, 0.281), ("held", 1.0 / 600.0, 3000, 0.388),
])  # fmt: skip
def test_depth_of_a_resting_ball(mode, dt, steps, text):
    """Soft m g / k; hard g dt^2 (1 - alpha gamma) / (1 - alpha) r^n / (1 - r^n), cold (no history) with gamma 0. Depths in mm.

    A history is warm, and so are the rows of one collision pass that are held from step to step.
    """
    model = ball(kd=100.0 if mode == "soft" else 0.0)
    solver = SolverVBD(model, rigid_contact_hard=mode != "soft", rigid_contact_history=mode == "warm", **PAGE)
    if mode == "held":
        pipeline = CollisionPipeline(model)
        state, other, contacts = model.state(), model.state(), pipeline.contacts()
        pipeline.collide(state, contacts)
        for n in range(steps):
            solver.set_rigid_history_update(n == 0)
            solver.step(state, other, None, contacts, dt)
            state, other = other, state
        depth = 0.02 - state.body_q.numpy()[0, 2]
    else:
        depth = 0.02 - touch(model, steps, dt, solver=solver).q[0, 2]
    fade = 0.999 * 0.95 if mode in ("warm", "held") else 0.0
    wanted = GRAVITY / K if mode == "soft" else GRAVITY * dt**2 * (1.0 - fade) / 0.05 * decay(dt) / (1.0 - decay(dt))
    assert depth == pytest.approx(wanted, rel=1e-3)
    assert 1e3 * depth == pytest.approx(text, rel=2e-3)


@pytest.mark.parametrize("history", [False, True])
def test_creep_on_a_slope(history):
    """Without a history friction below its limit creeps at g sin(theta) dt r^n / (1 - r^n); with one it holds."""
    dt, angle = 1.0 / 600.0, np.pi / 6.0
    run = touch(ball(angle, spin=1e9), 2000, dt, rigid_contact_history=history, **PAGE)
    wanted = 0.0 if history else GRAVITY * np.sin(angle) * dt * decay(dt) / (1.0 - decay(dt))
    assert run.qd[0, 0] == pytest.approx(wanted, rel=1e-3, abs=1e-4)
    if not history:
        assert wanted == pytest.approx(0.118, rel=0.05)


# ---- worked examples


def worked_example(stick):
    """Four rows of a body at the origin with partners that moved along x, only the last of which forces move; depth 0.1, k 10, mu 0.5."""
    contacts = Contacts(4, 0, device="cpu")
    contacts.rigid_contact_count.assign([4])
    for name, value in (("normal", (0.0, 0.0, 1.0)), ("margin0", 0.05), ("margin1", 0.05)):
        getattr(contacts, f"rigid_contact_{name}").fill_(value if name != "normal" else wp.vec3(*value))
    inner = {"options": PageContactOptions(), "rows": contacts.rigid_rows}
    rows = allocate(PageContacts, 4, "cpu", **inner)
    options = PageContactOptions()
    options.hard, options.stick = 1, stick
    rows.options = options
    rows.body.assign([(0, 1), (0, 2), (0, 3), (0, 4)])
    for array, value in ((rows.penalty, 10.0), (rows.most, 10.0), (rows.mu, 0.5)):
        array.fill_(value)
    motion = allocate(PageBodyMotion, 5, "cpu")
    motion.moves.assign([1, 0, 0, 0, 1])
    motion.q.assign([at(x, 0.0, 0.0) for x in (0.0, 1.0, 0.03, 0.01, 0.01)])
    motion.previous.assign([at(0.0, 0.0, 0.0)] * 5)
    wp.launch(update_page_contacts, dim=1, inputs=[whole_work(0, 4), motion], outputs=[rows], device="cpu")
    return rows.multiplier.numpy(), rows.flag.numpy(), rows.penalty.numpy()


def test_worked_example_of_the_dual_update():
    """Clipped friction, a residual above eps, a partner that does not move, and one that does."""
    multiplier, flag, penalty = worked_example(0.02)
    np.testing.assert_allclose(multiplier, [(-0.5, 0.0, 1.0), (-0.3, 0.0, 1.0), (-0.1, 0.0, 1.0), (-0.1, 0.0, 1.0)], atol=1e-6)
    assert flag.tolist() == [0, 0, 1, 2] and (penalty == 10.0).all()
    multiplier, flag, _ = worked_example(0.0)
    assert multiplier[0, 0] == pytest.approx(-0.5) and not flag.any()


def pushed(hard, way, penalty=30.0):
    """Two bodies that meet in one row, and what their contacts add to them; and the force that the row says."""
    contacts = Contacts(1, 0, device="cpu")
    contacts.rigid_contact_count.assign([1])
    contacts.rigid_contact_normal.assign([NORMAL])
    contacts.rigid_contact_margin0.fill_(0.2)
    contacts.rigid_contact_margin1.fill_(0.1)
    for k, name in enumerate(("point0", "point1", "offset0", "offset1")):
        getattr(contacts, f"rigid_contact_{name}").assign(POINTS[k : k + 1])
    options = PageContactOptions()
    options.hard, options.alpha, options.friction_speed = int(hard), 0.5, 0.4
    options.stick, options.beta = 1.0, 0.0
    lists = {"first": wp.array([0, 1, 2], dtype=wp.int32), "row": wp.array([0, 0], dtype=wp.int32)}
    rows = allocate(PageContacts, 1, "cpu", options=options, rows=contacts.rigid_rows, **lists)
    rows.body.assign([(0, 1)])
    for array, value in ((rows.penalty, penalty), (rows.most, 30.0), (rows.mu, 0.5), (rows.damping, 2.0)):
        array.fill_(value)
    if hard:
        rows.multiplier.assign([0.3 * NORMAL + (0.1, 0.0, 0.0) - 0.1 * NORMAL[0] * NORMAL])
        rows.start.assign([0.02 * NORMAL])
    motion = allocate(PageBodyMotion, 2, "cpu")
    motion.moves.assign([1, 1])
    motion.previous.assign([at(0.0, 0.0, 0.0), at(0.1, 0.0, 0.5)])
    motion.q.assign([at(0.0, 0.0, 0.0), at(*(np.array([0.1, 0.0, 0.5]) + way))])
    loads, model = allocate(PageLoads, 2, "cpu"), two_shapes()
    model.body_com.assign([(0.0, 0.1, 0.0), (0.05, 0.0, 0.0)])
    color = wp.array([0, 1], dtype=wp.int32)
    inputs = [whole_work(0, 2), color, model.tables["body"].struct, rows, motion, DT]
    wp.launch(push_page, dim=1, inputs=inputs, outputs=[loads], device="cpu")
    return {name: getattr(loads, name).numpy().astype(np.float64) for name in ("force", "ll", "al", "aa")}


DT, NORMAL = 0.1, np.array([0.36, 0.48, 0.8])
POINTS = np.array([(0.1, 0.05, 0.1), (0.0, 0.02, -0.2), (0.01, 0.02, 0.03), (-0.02, 0.0, -0.05)])


@pytest.mark.parametrize("way", [(0.0, 0.0, -0.02), (0.2, 0.0, 0.01), (0.0, 0.0, 1.0)])
@pytest.mark.parametrize("hard", [False, True])
def test_force_law(hard, way):
    """Against the formulas in float64: forces at their points, levers, damping while it closes, what sticks, slides and is apart."""
    found, way, n = pushed(hard, way), np.array(way), NORMAL
    x0, x1, com0, com1 = np.zeros(3), np.array([0.1, 0.0, 0.5]) + way, np.array([0.0, 0.1, 0.0]), np.array([0.05, 0.0, 0.0])
    p0, p1, p = x0 + POINTS[0], x1 + POINTS[1], 30.0
    a0, a1, across = p0 + POINTS[2], p1 + POINTS[3], np.eye(3) - np.outer(n, n)
    depth, u = 0.3 - n @ (p1 - p0), across @ way
    held = 0.3 if hard else 0.0
    normal = p * (depth - (0.5 * 0.02 if hard else 0.0)) + held
    if held <= 0.0 and normal <= 0.0:
        assert not any(value.any() for value in found.values()) and way[2] == 1.0
        return
    normal, k = max(normal, 0.0), p
    f, grip, limit = normal * n, 0.0, 0.5 * normal
    if normal > 0.0:
        rate = n @ way / DT
        f, k = f - 2.0 * min(rate, 0.0) * n, p + (2.0 / DT if rate < 0.0 else 0.0)
    t = np.zeros(3)
    if normal > 0.0 and hard:
        t, grip = across @ (0.1, 0.0, 0.0) - p * u, p
        t *= min(1.0, limit / np.linalg.norm(t))
    elif normal > 0.0:
        eps, size = 0.4 * DT, np.linalg.norm(u)
        grip = limit * (1.0 / size if size > eps else (2.0 - size / eps) / eps)
        t = -grip * u
    for b, sign, point, surface_point, com in ((0, -1.0, p0, a0, x0 + com0), (1, 1.0, p1, a1, x1 + com1)):
        r, q = (np.cross(lever, np.eye(3)).T for lever in (point - com, surface_point - com))
        kn, kt = k * np.outer(n, n), grip * across
        wanted = {
            "force": sign * np.concatenate([f + t, r @ f + q @ t]), "ll": kn + kt, "al": r @ kn + q @ kt,
            "aa": r @ kn @ r.T + q @ kt @ q.T,
        }  # fmt: skip
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name][b], value, atol=2e-5 * (1.0 + np.abs(value).max()), err_msg=name)


@pytest.mark.parametrize("penalty", [1.0, 10.0, 30.0])
def test_damping_does_not_depend_on_the_ramp(penalty):
    """(10.2) Bodies that close by 1 m/s with a damping of 2 N s/m: 2 N, however far a penalty has grown."""
    still, closing = (pushed(False, way, penalty)["force"][1, :3] for way in (np.zeros(3), -DT * NORMAL))
    np.testing.assert_allclose((closing - still) @ NORMAL, 2.0 + penalty * DT, rtol=1e-5)


def two_shapes(worlds=1):
    """Two balls of ke 100 and 200, kd 1 and 3, mu 0.25 and 1."""
    one = hooke.ModelBuilder(gravity=0.0)
    for k, material in enumerate(({"ke": 100.0, "kd": 1.0, "mu": 0.25}, {"ke": 200.0, "kd": 3.0, "mu": 1.0})):
        body = one.add_body(mass=1.0, inertia=np.eye(3), xform=at(0.0, 0.0, 1.0 * k))
        one.add_shape_sphere(body, radius=0.5, cfg=surface(**material))
    scene = hooke.ModelBuilder(gravity=0.0)
    for _ in range(worlds):
        scene.add_world(one)
    return finalize(scene)


MATCH, KEPT_K, KEPT_FLAG = [2, -1, 0, -2], [20.0, 30.0, 40.0], [0, 1, 2]
KEPT = [(0.5, 0.0, 1.0), (4.0, 5.0, 6.0), (0.0, 0.0, 7.0)]


def restored(hard=True, forgotten=False):
    """The rows of a step that finds four, of which two were there before, and the buffer with points that say which row they are of."""
    model = two_shapes()
    options = {"rigid_avbd_beta": 1.0, "rigid_contact_k_start": 10.0, "rigid_avbd_gamma": 1.0, "rigid_avbd_contact_alpha": 1.0}
    solver = SolverVBD(model, rigid_contact_history=True, rigid_contact_hard=hard, **options, **PAGE)
    contacts, rigid = Contacts(4, 0, device="cpu", contact_matching="latest"), solver._rigid
    contacts.rigid_contact_count.assign([4])
    contacts.rigid_contact_shape0.fill_(0)
    contacts.rigid_contact_shape1.fill_(1)
    contacts.rigid_contact_normal.fill_(wp.vec3(0.0, 0.0, 1.0))
    contacts.rigid_contact_match_index.assign(MATCH)
    rigid.contacts.reserve(4)
    past = rigid.contacts.past
    for k, name in enumerate(("point0", "point1", "offset0", "offset1")):
        getattr(contacts, f"rigid_contact_{name}").assign([(k, row, 0.0) for row in range(4)])
        getattr(past, name).assign([(k, row, 1.0) for row in range(3)] + [(0.0, 0.0, 0.0)])
    for name, values in (("penalty", [*KEPT_K, 77.0]), ("multiplier", [*KEPT, (7.0, 7.0, 7.0)]), ("flag", [*KEPT_FLAG, 7])):
        getattr(past, name).assign(values)
    past.normal.fill_(wp.vec3(0.0, 0.0, 1.0))
    rigid._page.moves.fill_(1)
    if forgotten:
        solver.reset(model.state())
    rigid.contacts.prepare(contacts)
    rigid.contacts.begin(contacts, model.state().body_q, rigid._page)
    return solver, contacts, rigid.contacts


def test_worked_example_of_the_history():
    _solver, contacts, found = restored()
    assert found.rows.penalty.numpy().tolist() == [40.0, 10.0, 20.0, 10.0]
    assert found.rows.multiplier.numpy().tolist() == [[0.0, 0.0, 7.0], [0.0] * 3, [0.5, 0.0, 1.0], [0.0] * 3]
    for name, wanted in (("most", 150.0), ("damping", 2.0), ("mu", 0.5)):
        assert getattr(found.rows, name).numpy().tolist() == [wanted] * 4
    for k, name in enumerate(("point0", "point1", "offset0", "offset1")):  # only row 0 was row 2, which stuck
        points = getattr(contacts, f"rigid_contact_{name}").numpy().tolist()
        assert points == [[k, 2.0, 1.0], [k, 1.0, 0.0], [k, 2.0, 0.0], [k, 3.0, 0.0]]
    assert found.rows.first.numpy()[:3].tolist() == [0, 4, 8] and found.rows.row.numpy().tolist() == [0, 1, 2, 3] * 2


def test_what_the_history_keeps():
    """Rows below the count."""
    solver, contacts, found = restored()
    contacts.rigid_contact_count.assign([2])
    solver._rigid._page.q.assign(solver.model.body_q)
    solver._rigid._page.previous.assign(solver.model.body_q)
    found.finish(contacts, solver._rigid._page, 0.01)
    assert found.past.penalty.numpy().tolist() == [40.0, 10.0, 40.0, 77.0]
    assert found.past.multiplier.numpy().tolist() == [[0.0, 0.0, 7.0], [0.0] * 3, [0.0, 0.0, 7.0], [7.0] * 3]
    assert found.past.point0.numpy()[:, :2].tolist() == [[0.0, 2.0], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]]


def test_history_of_soft_rows_and_of_worlds_that_were_reset():
    _solver, contacts, found = restored(hard=False)
    assert found.rows.penalty.numpy().tolist() == [40.0, 10.0, 20.0, 10.0] and not found.rows.multiplier.numpy().any()
    assert contacts.rigid_contact_point0.numpy()[0].tolist() == [0.0, 0.0, 0.0]
    _solver, contacts, found = restored(forgotten=True)
    assert found.rows.penalty.numpy().tolist() == [10.0] * 4 and not found.rows.multiplier.numpy().any()
    assert contacts.rigid_contact_point0.numpy()[0].tolist() == [0.0, 0.0, 0.0]


# ---- sticking


def pressed(**options):
    """Two balls that overlap by a millimetre and drift and turn a little: one step."""
    b = hooke.ModelBuilder(gravity=0.0)
    for z in (0.0, 0.999):
        body = b.add_body(mass=1.0, inertia=np.eye(3), xform=at(0.0, 0.0, z))
        b.add_shape_sphere(body, radius=0.5, cfg=surface(kd=0.0))
    model = finalize(b)
    model.body_qd.assign(np.tile(np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.002], np.float32), (2, 1)))
    eps = {f"rigid_contact_stick_freeze_{name}_eps": 1e-3 for name in ("translation", "angular")}
    run = touch(model, 1, 0.01, **{**eps, **options}, **PAGE)
    return run, rows_of(run)[2].tolist(), np.array_equal(run.q, model.body_q.numpy()) and not run.qd.any()


def test_bodies_that_stick_to_each_other_are_put_back():
    """Where all that moved less than the thresholds; either threshold, or the one of sticking, switches it off with 0."""
    assert pressed()[1:] == ([2], True)
    assert pressed(rigid_contact_stick_motion_eps=0.0)[1:] == ([0], False)
    for name in ("translation", "angular"):
        assert pressed(**{f"rigid_contact_stick_freeze_{name}_eps": 0.0})[1:] == ([2], False)
    assert pressed(rigid_contact_stick_freeze_translation_eps=5e-5)[1:] == ([2], False)
    assert pressed(rigid_contact_stick_freeze_angular_eps=1e-5)[1:] == ([2], False)
    assert pressed(rigid_contact_hard=False)[1:] == ([0], False)


@pytest.mark.parametrize("freeze", [True, False])
def test_rows_stick_to_the_ground_and_to_each_other(freeze):
    """The box above is put back in every step, and so carries less than its weight; without that all carry what lies on them."""
    steps, eps = (40, 1e-4) if freeze else (400, 0.0)
    run = touch(boxes(2), steps, 1.0 / 600.0, rigid_contact_history=True, rigid_contact_stick_freeze_translation_eps=eps, **PAGE)
    _multiplier, load, flag, _penalty = rows_of(run)
    pair = run.solver._rigid.contacts.rows.body.numpy()[: len(flag)]
    loaded, ground = load[:, 2] != 0.0, pair.min(axis=1) < 0
    assert (loaded & ground).sum() == (loaded & ~ground).sum() == 4
    assert (flag == np.where(loaded, np.where(ground, 1, 2), 0)).all()
    if freeze:
        assert run.qd[0].any() and not run.qd[1].any()
    else:
        weights = [load[rows, 2].sum() for rows in (ground, ~ground)]
        assert weights == pytest.approx([2.0 * GRAVITY, GRAVITY], rel=5e-3)


# ---- scenes


@pytest.mark.parametrize("hard", [False, True])
def test_a_box_rests_on_the_ground(hard):
    """It carries its weight, level and still, as deep as four rows of the closed form."""
    dt = 1.0 / 600.0
    run = touch(boxes(kd=0.0 if hard else 100.0), 1500, dt, rigid_contact_hard=hard, rigid_contact_history=True, **PAGE)
    _multiplier, load, flag, penalty = rows_of(run)
    assert len(load) == 4 and (penalty == K).all() and (flag == int(hard)).all()
    assert load[:, 2].sum() == pytest.approx(GRAVITY, rel=1e-3) and np.abs(load[:, :2]).max() < 1e-3
    assert np.abs(run.qd).max() < 1e-4 and np.abs(run.q[0, 3:] - UPRIGHT).max() < 1e-4
    r = (1.0 / dt**2 / (1.0 / dt**2 + 4.0 * K)) ** N
    depth = GRAVITY * dt**2 * (1.0 - 0.95 * 0.999) / 0.05 * r / (1.0 - r) if hard else GRAVITY / (4.0 * K)
    assert 0.05 - run.q[0, 2] == pytest.approx(depth, rel=2e-3)


def test_weight_of_a_heavy_ball():
    run = touch(ball(mass=3.0, spin=1.0, kd=100.0), 600, 1.0 / 600.0, rigid_contact_history=True, **PAGE)
    weight = np.array([0.0, 0.0, 3.0 * GRAVITY])
    assert rows_of(run)[1][0] == pytest.approx(weight, abs=1e-3 * weight[2])
    poses = run.state.body_q
    for given in ((None, None), (poses, poses)):
        load, point = run.solver._rigid.contact_loads(run.contacts, *given, 1.0 / 600.0)
        assert load.numpy()[0] == pytest.approx(weight, abs=1e-3 * weight[2])
        assert point.numpy()[0] == pytest.approx(0.0, abs=2e-3)


@pytest.mark.parametrize("hard", [False, True])
def test_a_box_slides_down_a_slope(hard):
    """With g (sin - mu cos) once its rows carry it; what friction can hold stays, or, soft, creeps below ``friction_epsilon``."""
    angle, mu, dt, speed = np.deg2rad(20.0), 0.2, 1.0 / 600.0, []
    options = {"rigid_contact_hard": hard, "rigid_contact_history": True, **PAGE}
    touch(boxes(angle=angle, mu=mu), 500, dt, **options, each=lambda n, solver, state: speed.append(state.body_qd.numpy()[0, 0]))
    wanted = GRAVITY * (np.sin(angle) - mu * np.cos(angle))
    assert (speed[-1] - speed[399]) / (100 * dt) == pytest.approx(wanted, rel=0.01)
    held = touch(boxes(angle=angle, mu=0.6), 300, dt, **options)
    assert abs(held.qd[0, 0]) < (1e-5 if hard else 0.01)


@pytest.mark.parametrize("options", [PAGE, {}], ids=["page", "default"])
def test_a_spinning_capsule_rolls(options):
    """Friction acts at the surface: a capsule on its side that spins about its axis is driven off and loses spin."""
    b = hooke.ModelBuilder()
    radius, half = 0.3, 0.7
    turned = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))
    body = b.add_body(mass=1.0, inertia=np.diag([0.2, 0.2, 0.045]), xform=(0.0, 0.0, radius, *turned))
    b.add_shape_capsule(body, radius=radius, half_height=half, cfg=surface(mu=0.5))
    b.add_ground_plane(cfg=surface(mu=0.5))
    model = finalize(b)
    model.body_qd.assign([(0.0, 0.0, 0.0, 5.0, 0.0, 0.0)])
    run = touch(model, 300, 1.0 / 600.0, **options)
    assert run.qd[0, 1] < -0.1 and run.qd[0, 3] < 4.0


def test_penalties_ramp_by_the_depth():
    """From k_start up to the material, and fade by gamma between steps, which a history carries over."""
    options = {"rigid_avbd_linear_beta": 1e3, "rigid_contact_k_start": 100.0, "rigid_avbd_gamma": 0.9, **PAGE}
    penalties = {}
    for history in (False, True):
        found = []
        touch(
            ball(), 40, 1.0 / 600.0, rigid_contact_history=history, **options,
            each=lambda n, solver, state, found=found: found.append(float(solver._rigid.contacts.rows.penalty.numpy()[0])),
        )  # fmt: skip
        penalties[history] = np.array(found)
    assert (penalties[False] >= 100.0).all() and (penalties[True] <= K).all()
    assert penalties[True][-1] > penalties[False][-1] > 100.0


# ---- what is kept between steps


def test_reset_waits_for_new_rows():
    """It outlasts steps without contacts and steps that hold their rows; then worlds begin as new ones, and only they."""
    model, options = boxes(worlds=2), {"rigid_contact_history": True, **PAGE}
    run = touch(model, 20, 1.0 / 600.0, **options)
    on = run.solver._rigid.contacts
    before = rows_of(run)[0]
    run.solver.reset(run.state, wp.array([True, False], dtype=wp.bool, device="cpu"), flags=0)
    run.solver.set_rigid_history_update(False)
    run.solver.step(run.state, model.state(), None, run.contacts, 1.0 / 600.0)
    run.solver.step(run.state, model.state(), None, None, 1.0 / 600.0)
    assert on._forgotten.numpy().tolist() == [True, False, False]
    run.solver.reset(run.state, wp.array([True, False], dtype=wp.bool, device="cpu"))
    run.pipeline.collide(run.state, run.contacts)
    on.prepare(run.contacts)
    on.begin(run.contacts, run.state.body_q, run.solver._rigid._page)
    after, world = rows_of(run)[0], model.shape_world.numpy()[run.contacts.rigid_contact_shape1.numpy()[: len(before)]]
    world = np.maximum(world, model.shape_world.numpy()[run.contacts.rigid_contact_shape0.numpy()[: len(before)]])
    assert sorted(set(world.tolist())) == [0, 1] and not after[world == 0].any() and (after[world == 1][:, 2] > 0.0).all()
    assert not on._forgotten.numpy().any()


def test_a_world_that_was_reset_runs_as_a_new_one():
    options = {"rigid_contact_history": True, "rigid_avbd_beta": 1e5, **PAGE}
    model = boxes(3, drop=0.002, angle=0.1)
    fresh = touch(model, 30, 1.0 / 300.0, **options)
    again = touch(model, 25, 1.0 / 300.0, **options)
    again.solver.reset(again.state)
    more = {"state": again.state, "solver": again.solver, "pipeline": again.pipeline, "contacts": again.contacts}
    assert same_bodies(touch(model, 30, 1.0 / 300.0, **more).state, fresh.state)


def test_holding_rows_lasts_for_one_step():
    """Every other step is cold: in between the depths of a warm and of a cold start."""
    model = ball()
    run = touch(
        model, 3000, 1.0 / 600.0, **PAGE,
        each=lambda n, solver, state: solver.set_rigid_history_update(n % 2 == 0),
    )  # fmt: skip
    assert 0.5 < 1e3 * (0.02 - run.q[0, 2]) < 7.0


def test_history_needs_matches():
    model = ball()
    solver, pipeline = SolverVBD(model, rigid_contact_history=True, **PAGE), CollisionPipeline(model)
    contacts, state = pipeline.contacts(), model.state()
    pipeline.collide(state, contacts)
    with pytest.raises(
        RuntimeError, match=r'rigid_contact_match_index, found none.*CollisionPipeline\(model, contact_matching="latest"\)'
    ):
        solver.step(state, model.state(), None, contacts, 0.01)
    SolverVBD(model, **PAGE).step(state, model.state(), None, contacts, 0.01)
    solver.step(state, model.state(), None, None, 0.01)


def test_runs_and_workers_agree_bitwise():
    """Bodies of one colour that touch are moved from the same poses; also with few rows of room at first."""
    model = boxes(6, drop=0.001, angle=0.2, worlds=3)
    options = {"rigid_contact_history": True, "rigid_avbd_beta": 1e5, **PAGE}
    assert len([group for group in model.body_color_groups if len(group)]) == 1
    runs = [touch(model, 12, 1.0 / 200.0, **options)]
    old = config.workers
    try:
        for workers in (1, 2):
            config.workers = workers
            runs.append(touch(model, 12, 1.0 / 200.0, **options))
    finally:
        config.workers = old
    model.rigid_contact_max = None
    assert SolverVBD(model, **options)._rigid.contacts.room == 0
    runs.append(touch(model, 12, 1.0 / 200.0, solver=SolverVBD(model, **options)))
    for run in runs[1:]:
        assert same_bodies(run.state, runs[0].state)
        assert all(np.array_equal(a, b) for a, b in zip(rows_of(run), rows_of(runs[0]), strict=True))


def test_capture():
    """With the pipeline made first, whatever is asked for; without room, an error that says what to do."""
    model, options, dt = boxes(2, angle=0.1), {"rigid_contact_history": True, **PAGE}, 1.0 / 200.0
    eager = touch(model, 8, dt, **options)
    pipeline = CollisionPipeline(model, contact_matching="latest")
    solver, contacts, a, b = SolverVBD(model, **options), pipeline.contacts(), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        for state, other in ((a, b), (b, a)):
            pipeline.collide(state, contacts)
            solver.step(state, other, None, contacts, dt)
    for _ in range(4):
        wp.capture_launch(capture.graph)
    assert same_bodies(a, eager.state)
    model.rigid_contact_max = None
    solver = SolverVBD(model, **options)
    with pytest.raises(RuntimeError, match="construct the CollisionPipeline before the solver"), wp.ScopedCapture(device="cpu"):
        solver.step(a, b, None, contacts, dt)

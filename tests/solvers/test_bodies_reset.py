"""Reset, notices and captures of bodies, line by line of the documented page, in both formulations."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.collision.pipeline import CollisionPipeline
from hooke.model.enums import StateFlags
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, finalize, surface

from .bodies import at, chain, move, one_joint, same_bodies
from .test_bodies_solver import add_mechanism
from .test_vbd_arguments import _Elsewhere
from .touching import boxes, touch

DT = 1.0 / 100.0
PAGE = {"rigid_compliant_alm": False, "rigid_contact_history": True}
FORMULATIONS = pytest.mark.parametrize("options", [{}, PAGE], ids=["default", "page"])


def mask(*values):
    return wp.array(list(values), dtype=wp.bool, device="cpu")


def balls(worlds=0, unassigned=0, gravity=0.0):
    """Free bodies, one in every world and some in none, that drift along x."""
    one, b = hooke.ModelBuilder(gravity=gravity), hooke.ModelBuilder(gravity=gravity)
    one.add_body(mass=1.0, inertia=0.1 * np.eye(3))
    for _ in range(worlds):
        b.add_world(one)
    for _ in range(unassigned):
        b.add_body(mass=1.0, inertia=0.1 * np.eye(3))
    model = finalize(b)
    model.body_qd.assign(np.tile(np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.2], np.float32), (worlds + unassigned, 1)))
    return model


def shift(state, x, rows=slice(None)):
    q = state.body_q.numpy()
    q[rows, 0] += x
    state.body_q.assign(q)


def speeds(model, run):
    """Velocities along x after one more step."""
    return move(model, 1, DT, state=run.state, solver=run.solver).qd[:, 0]


# ---- what is restored


@FORMULATIONS
def test_flags_choose_the_arrays(options):
    model = balls(1)
    idle = StateFlags.JOINT_Q | StateFlags.JOINT_QD | StateFlags.PARTICLE_Q
    bodies = "body_q", "body_qd"
    for flags, names in (
        (0, ()),
        (StateFlags.BODY_Q, bodies[:1]),
        (int(StateFlags.BODY_QD), bodies[1:]),
        (idle, ()),
        (None, bodies),
    ):
        run = move(model, 3, DT, body_f=[(1.0, 2.0, 3.0, 0.0, 0.0, 0.0)], **options)
        before = {name: getattr(run.state, name).numpy().copy() for name in bodies}
        run.solver.reset(run.state, flags=flags)
        for name, value in before.items():
            wanted = getattr(model, name).numpy() if name in names else value
            assert np.array_equal(getattr(run.state, name).numpy(), wanted), (flags, name)
            assert not np.array_equal(value, getattr(model, name).numpy())


@FORMULATIONS
def test_arrays_that_are_missing_or_wrong(options):
    """Missing ones are skipped; wrong ones are refused before anything is changed, if they are asked for."""
    model = balls(2)
    solver, state = SolverVBD(model, **options), model.state()
    state.body_q.zero_()
    state.body_qd = wp.zeros(5, dtype=wp.spatial_vector, device="cpu")
    with pytest.raises(ValueError, match=r"state\.body_qd has 5 rows, the model 2 bodies"):
        solver.reset(state)
    state.body_qd = _Elsewhere(2)
    with pytest.raises(ValueError, match=r"state\.body_qd is on device"):
        solver.reset(state)
    assert not state.body_q.numpy().any()
    solver.reset(state, flags=StateFlags.JOINT_Q)
    assert not state.body_q.numpy().any()
    state.body_qd = None
    solver.reset(state)
    assert np.array_equal(state.body_q.numpy(), model.body_q.numpy())


@FORMULATIONS
def test_masks_of_both_lengths_and_what_belongs_to_no_world(options):
    """Pose and velocity of what is selected, and only that, also in the memory: a jump by hand is one of what was not."""
    for chosen, hit in (
        ((True, False), [0]),
        ((False, False, True), [2, 3]),
        ((True, True), [0, 1]),
        ((True, True, True), [0, 1, 2, 3]),
    ):
        model = balls(2, 2)
        run = move(model, 3, DT, **options)
        before = run.q.copy()
        run.solver.reset(run.state, mask(*chosen))
        rest = [i for i in range(4) if i not in hit]
        assert np.array_equal(run.q[hit], model.body_q.numpy()[hit]) and np.array_equal(run.q[rest], before[rest])
        shift(run.state, 0.1)
        found = speeds(model, run)
        assert np.allclose(found[hit], 0.5, atol=1e-4)
        expected = found[rest] * 0.0 + (0.5 + 0.1 / DT if options else 0.5)
        assert np.allclose(found[rest], expected, atol=2e-3)


@FORMULATIONS
def test_resets_add_up(options):
    """Two resets of one world each before a step are one of both; contacts that wait for rows, too."""
    model = boxes(worlds=3)
    run = touch(model, 20, DT, **options)
    for chosen in ((True, False, False), (False, True, False)):
        run.solver.reset(run.state, mask(*chosen), flags=0)
    shift(run.state, 0.1)
    pipeline, contacts = run.pipeline, run.contacts
    pipeline.collide(run.state, contacts)
    other = model.state()
    run.solver.step(run.state, other, None, contacts, DT)
    moved = np.abs(other.body_qd.numpy()[:, 0])
    assert (moved[:2] < 1e-3).all() and (moved[2] > 1.0 if options else moved[2] < 1e-3)


@FORMULATIONS
def test_edits_between_a_reset_and_the_step_count(options):
    """By hand or by ``eval_fk``, of bodies that forces move and that they do not: no way, and so no velocity, comes of them."""
    b = hooke.ModelBuilder(gravity=0.0)
    hand = b.add_body(is_kinematic=True)
    arm = b.add_link(xform=at(2.0, 0.0, 0.0), mass=1.0, inertia=0.1 * np.eye(3))
    b.add_articulation([b.add_joint_prismatic(-1, arm, axis=0, parent_xform=at(2.0, 0.0, 0.0))])
    model = finalize(b)
    run = move(model, 3, DT, **options)
    run.solver.reset(run.state)
    q = model.joint_q.numpy()
    q[-1] = 0.7
    hooke.eval_fk(model, wp.array(q, dtype=wp.float32, device="cpu"), model.joint_qd, run.state)
    shift(run.state, 1.0, hand)
    run = move(model, 1, DT, state=run.state, solver=run.solver)
    assert np.abs(run.qd).max() < 1e-4 and run.q[:, 0] == pytest.approx([1.0, 2.7], abs=1e-6)
    shift(run.state, 0.1, hand)  # the reset is used up, also by a step without contacts
    assert speeds(model, run)[0] == pytest.approx(0.1 / DT, rel=1e-4)


def heap_of_mechanisms(drop=0.0):
    """A mechanism with a cable, a drive, a limit and a loop in the air, and two boxes on the ground."""
    b = hooke.ModelBuilder()
    SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
    b.add_ground_plane(cfg=surface())
    add_mechanism(b)
    for i in range(2):
        body = b.add_body(xform=at(3.0, 0.0, 0.1 + (0.2 + drop) * i), mass=1.0, inertia=0.01 * np.eye(3))
        b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=surface())
    return b


@pytest.mark.filterwarnings("ignore:SolverVBD")
@pytest.mark.parametrize("distance", [True, False], ids=["default", "page"])
def test_nothing_is_left_of_the_past(distance):
    """With flags 0 the next steps are those of a new solver from the same state, bit by bit: multipliers, penalties, modes, turns,
    hysteresis, contacts."""
    b = heap_of_mechanisms()
    options = {"rigid_avbd_beta": 1e5} if distance else {"rigid_avbd_beta": 1e5, **PAGE}
    if not distance:
        b.joint_type[b.joint_type.index(hooke.JointType.DISTANCE)] = hooke.JointType.FREE
    model = finalize(b)
    model.vbd.dahl_eps_max.fill_(0.1)
    model.vbd.dahl_tau.fill_(0.1)
    used = touch(model, 17, DT, **options)
    start = used.state.clone()
    used.solver.reset(used.state, flags=0)
    again = touch(model, 5, DT, state=used.state, solver=used.solver)
    assert same_bodies(again.state, touch(model, 5, DT, state=start, **options).state)


def test_bodies_of_another_solver_are_let_alone():
    """Neither restored nor looked at; masks are checked all the same."""
    model = balls(2)
    solver, state = SolverVBD(model, integrate_with_external_rigid_solver=True), model.state()
    state.body_q = wp.zeros(7, dtype=wp.transform, device="cpu")
    solver.reset(state)
    assert not state.body_q.numpy().any()
    with pytest.raises(ValueError, match="length 2 or 3"):
        solver.reset(state, mask(True))


# ---- captures


@FORMULATIONS
def test_a_graph_heeds_a_reset_once(options):
    """A step is captured; a reset before a replay acts on that replay only."""
    model = balls(1)
    solver, a, b = SolverVBD(model, **options), model.state(), model.state()
    solver.step(a, b, None, None, DT)
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(b, a, None, None, DT)
        wp.copy(b.body_q, a.body_q)
        wp.copy(b.body_qd, a.body_qd)
    found = []
    for reset in (False, True, False, False):
        shift(b, 0.1)
        if reset:
            solver.reset(b, flags=0)
        wp.capture_launch(capture.graph)
        found.append(float(b.body_qd.numpy()[0, 0]))
        if not reset:
            b.body_qd.assign(model.body_qd)
    jump = 0.5 + 0.1 / DT if options else 0.5
    assert np.allclose(found, [jump, 0.5, jump, jump], atol=5e-3)


@FORMULATIONS
def test_a_reset_may_be_captured(options):
    """A graph that resets the first of two worlds and steps does what the calls do."""
    model = boxes(2, worlds=2, drop=0.01)
    results = []
    for graph in (False, True):
        pipeline = CollisionPipeline(model, contact_matching="latest")
        solver, contacts, a, b = SolverVBD(model, **options), pipeline.contacts(), model.state(), model.state()
        chosen = mask(True, False)

        def frame(solver=solver, pipeline=pipeline, contacts=contacts, a=a, b=b, chosen=chosen):
            for state, other in ((a, b), (b, a)):
                pipeline.collide(state, contacts)
                solver.step(state, other, None, contacts, DT)
            solver.reset(a, chosen)

        if graph:
            with wp.ScopedCapture(device="cpu") as capture:
                frame()
        for _ in range(5):
            wp.capture_launch(capture.graph) if graph else frame()
        results.append(a)
    assert same_bodies(*results)
    assert np.array_equal(results[0].body_q.numpy()[:2], model.body_q.numpy()[:2]) and results[0].body_qd.numpy()[2:].any()


@FORMULATIONS
def test_a_graph_heeds_the_mode_of_a_joint(options):
    """Switched between replays: hard, soft, hard, and the soft one gives way by m g / k."""
    model = one_joint("ball", gravity=-GRAVITY, mass=2.0)
    solver, a, b = SolverVBD(model, rigid_joint_linear_ke=1e4, rigid_joint_linear_kd=400.0, **options), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(a, b, None, None, DT)
        solver.step(b, a, None, None, DT)
    depth = []
    for hard in (True, False, True):
        solver.set_joint_constraint_mode(0, hard)
        for _ in range(150):
            wp.capture_launch(capture.graph)
        depth.append(-float(a.body_q.numpy()[0, 2]))
    soft = 2.0 * GRAVITY / 1e4
    assert depth[1] == pytest.approx(soft, rel=5e-3)
    assert abs(depth[0]) < (0.1 * soft if options else 1e-6) and depth[2] == pytest.approx(depth[0], abs=0.02 * soft)


# ---- changes of the model


@FORMULATIONS
def test_gains_masses_and_limits_are_read_in_every_step(options):
    """Also such as are larger than at the start."""
    model = one_joint("prismatic", axis=2, gravity=-10.0, target_ke=100.0, target_kd=20.0)
    run = move(model, 300, DT, **options)
    assert run.q[0, 2] == pytest.approx(-0.1, abs=1e-4)
    model.joint_target_ke.assign([1000.0])
    run = move(model, 300, DT, state=run.state, solver=run.solver)
    assert run.q[0, 2] == pytest.approx(-0.01, abs=1e-4)
    model.body_mass.assign([3.0])
    model.body_inv_mass.assign([1.0 / 3.0])
    run = move(model, 300, DT, state=run.state, solver=run.solver)
    assert run.q[0, 2] == pytest.approx(-0.03, abs=1e-4)
    for name, value in (("target_ke", 0.0), ("target_kd", 20.0), ("limit_lower", -0.05), ("limit_ke", 3e3), ("limit_kd", 100.0)):
        getattr(model, f"joint_{name}").assign([value])
    run = move(model, 500, DT, state=run.state, solver=run.solver)
    assert run.q[0, 2] == pytest.approx(-0.05 - 30.0 / 3e3, abs=2e-4)


@FORMULATIONS
def test_bodies_become_kinematic_and_dynamic_again(options):
    """Made kinematic a link stays where it was put and the chain hangs on it; dynamic again all swing on."""
    model = chain(3, 0.2)
    run = move(model, 5, DT, **options)
    model.body_flags.assign([int(hooke.BodyFlags.KINEMATIC), *[int(hooke.BodyFlags.DYNAMIC)] * 2])
    run.solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    before = run.q[0].copy()
    run = move(model, 20, DT, state=run.state, solver=run.solver)
    assert np.array_equal(run.q[0], before) and np.abs(run.qd[1:]).max() > 0.1
    model.body_flags.fill_(int(hooke.BodyFlags.DYNAMIC))
    run.solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    run = move(model, 20, DT, state=run.state, solver=run.solver)
    assert np.abs(run.q[0, :3] - before[:3]).max() > 0.01


# ---- worlds


@FORMULATIONS
@pytest.mark.parametrize("value", [np.nan, 1e30])
def test_a_world_that_explodes_is_alone(options, value):
    """The others go on bit by bit."""
    results = []
    for bad in (False, True):
        model = boxes(2, worlds=3, drop=0.005)
        run = touch(model, 4, DT, **options)
        if bad:
            q = run.state.body_q.numpy()
            q[2, 0] = value
            run.state.body_q.assign(q)
        more = {"state": run.state, "solver": run.solver, "pipeline": run.pipeline, "contacts": run.contacts}
        results.append(touch(model, 10, DT, **more))
    keep = [0, 1, 4, 5]
    assert np.array_equal(results[0].q[keep], results[1].q[keep]) and np.array_equal(results[0].qd[keep], results[1].qd[keep])
    assert not results[1].solver.status.ok or value == 1e30

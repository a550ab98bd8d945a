"""Rigid bodies in SolverVBD as a solver: reset, worlds, workers, captures, changes of the model, arguments, refusals."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.model.model import NAMES
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.islands import make_islands
from tests.collision.test_pipeline import reachable_bytes
from tests.support import add_points, finalize

from .bodies import Dof, at, bar, chain, clamped, gaps, move, one_joint, same_bodies

DT = 1.0 / 60.0


def add_mechanism(b):
    """A tree of five bodies with a drive, a limit, friction, a cable and a loop, thrown into the air."""
    links = [bar(b, (0.4 * i, 0.0, 1.0), 0.4, mass=1.0 + i) for i in range(5)]
    ends = {"parent_xform": at(0.2, 0.0, 0.0), "child_xform": at(-0.2, 0.0, 0.0)}
    joints = [
        b.add_joint_free(links[0]),
        b.add_joint_revolute(links[0], links[1], axis=(0, 1, 0), target_ke=50.0, target_kd=1.0, target_q=0.5, friction=0.1, **ends),
        b.add_joint_ball(links[1], links[2], **ends),
        b.add_joint_d6(links[2], links[3], angular_axes=[Dof(axis=1, limit_lower=-0.2, limit_upper=0.2), Dof(axis=2)], **ends),
        b.add_joint_cable(links[3], links[4], bend_stiffness=20.0, bend_damping=0.1, **ends),
    ]
    b.add_articulation(joints)
    b.add_joint_distance(links[0], links[4], min_distance=0.3, max_distance=1.7)
    for i, link in enumerate(links):
        b.body_qd[link] = (0.0, 0.3 * i, 2.0 - i, 1.0, 2.0, 0.5)


def mechanism(worlds=0):
    one = hooke.ModelBuilder()
    add_mechanism(one)
    if not worlds:
        return finalize(one)
    many = hooke.ModelBuilder()
    many.replicate(one, worlds)
    return finalize(many)


def test_worlds_are_equal_and_those_of_one_alone():
    many, one = move(mechanism(3), 40, DT), move(mechanism(), 40, DT)
    q, qd = many.q.reshape(3, 5, 7), many.qd.reshape(3, 5, 6)
    assert np.array_equal(q[0], q[1]) and np.array_equal(q[1], q[2]) and np.array_equal(qd[0], qd[2])
    assert np.array_equal(q[0], one.q) and gaps(one)[1:4].max() < 1e-5


@pytest.mark.parametrize("workers", [2, 3])
def test_results_do_not_depend_on_workers_or_graphs(workers):
    def result(**settings):
        old = {name: getattr(config, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(config, name, value)
            return move(mechanism(4), 20, DT).state
        finally:
            for name, value in old.items():
                setattr(config, name, value)

    assert same_bodies(result(workers=1), result(workers=workers))
    assert same_bodies(result(workers=1), result(graphs=False))


def test_a_capture_of_the_first_steps_equals_the_eager_run():
    model = mechanism()
    eager = move(model, 20, DT)
    solver, a, b, control = SolverVBD(model), model.state(), model.state(), model.control()
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(a, b, control, None, DT)
        solver.step(b, a, control, None, DT)
    for _ in range(10):
        wp.capture_launch(capture.graph)
    assert same_bodies(a, eager.state)


def test_a_reset_equals_a_new_solver():
    """All that is remembered is forgotten: multipliers, penalties, modes of limits, counted turns, poses."""
    options = {"rigid_avbd_beta": 1e4}
    model = mechanism()
    fresh = move(model, 15, DT, **options)
    used = move(model, 33, DT, **options)
    used.solver.reset(used.state)
    again = move(model, 15, DT, state=used.state, solver=used.solver)
    assert same_bodies(again.state, fresh.state)


@pytest.mark.parametrize("length", [3, 4])
def test_selected_worlds_are_reset(length):
    model = mechanism(3)
    run = move(model, 12, DT)
    before = run.q.copy()
    mask = wp.array([False, True, False, False][:length], dtype=wp.bool, device="cpu")
    run.solver.reset(run.state, mask)
    after = run.q.reshape(3, 35)
    start = model.body_q.numpy().reshape(3, 35)
    assert np.array_equal(after[1], start[1]) and np.array_equal(after[[0, 2]], before.reshape(3, 35)[[0, 2]])
    more = move(model, 12, DT, state=run.state, solver=run.solver)
    assert np.array_equal(more.q.reshape(3, 35)[1], before.reshape(3, 35)[1])  # as it went from the start the first time
    untouched = move(model, 24, DT)
    assert np.array_equal(more.q.reshape(3, 35)[[0, 2]], untouched.q.reshape(3, 35)[[0, 2]])


def test_a_reset_without_flags_keeps_the_state_and_starts_a_kinematic_body_anew():
    b = hooke.ModelBuilder(gravity=0.0)
    hand = b.add_link(is_kinematic=True)
    link = bar(b, (0.5, 0.0, 0.0), 1.0)
    b.add_articulation([b.add_joint_free(hand), b.add_joint_fixed(hand, link, parent_xform=at(0.5, 0.0, 0.0))])
    model = finalize(b)
    run = move(model, 2, DT)
    q = run.state.body_q.numpy() + np.array([at(3.0, 0.0, 0.0)], np.float32) * np.array([1, 1, 1, 0, 0, 0, 0], np.float32)
    run.state.body_q.assign(q)
    run.solver.reset(run.state, flags=0)
    assert np.array_equal(run.state.body_q.numpy(), q)
    run = move(model, 1, DT, state=run.state, solver=run.solver)
    assert np.abs(run.qd).max() < 1e-3


def test_changes_of_the_model():
    """Inertia, gains, anchors and targets are read in every step; flags and rest poses after notify_model_changed."""
    model = one_joint("prismatic", axis=2, gravity=-10.0, stiffness=100.0, damping=50.0, mass=1.0)
    run = move(model, 300, DT)
    assert run.q[0, 2] == pytest.approx(-0.1, abs=1e-5)
    model.body_mass.assign([2.0])
    model.body_inv_mass.assign([0.5])
    run = move(model, 300, DT, state=run.state, solver=run.solver)
    assert run.q[0, 2] == pytest.approx(-0.2, abs=1e-5)
    model.joint_stiffness.assign([200.0])
    model.joint_rest_q.assign([0.3])
    run = move(model, 300, DT, state=run.state, solver=run.solver)
    assert run.q[0, 2] == pytest.approx(0.2, abs=1e-5)
    model.body_flags.assign([int(hooke.BodyFlags.KINEMATIC)])
    run.solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    still = move(model, 10, DT, state=run.state, solver=run.solver)
    assert np.array_equal(still.q, run.q)
    model.body_flags.assign([int(hooke.BodyFlags.DYNAMIC)])
    run.solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES | hooke.ModelFlags.JOINT_PROPERTIES)
    model.joint_rest_q.assign([0.0])
    run = move(model, 300, DT, state=run.state, solver=run.solver)
    assert run.q[0, 2] == pytest.approx(-0.1, abs=1e-5)


def test_targets_of_a_control_and_of_the_model():
    model = one_joint("revolute", axis=2, target_ke=100.0, target_kd=20.0, target_q=0.4)
    assert move(model, 200, DT).q[0, 5] == pytest.approx(np.sin(0.2), abs=1e-4)
    control = model.control()
    control.joint_target_q.assign([-0.6])
    run = move(model, 200, DT, control=control)
    assert run.q[0, 5] == pytest.approx(-np.sin(0.3), abs=1e-4)
    control.joint_target_q.assign([0.2])  # the launches are recorded by now
    assert move(model, 200, DT, control=control, state=run.state, solver=run.solver).q[0, 5] == pytest.approx(np.sin(0.1), abs=1e-4)


@pytest.mark.parametrize("name", ["rigid_joint_linear_k_start", "rigid_joint_angular_k_start"])
def test_seeds_act_with_a_ramp(name):
    ramp = {"iterations": 2, "rigid_avbd_beta": 1e3}
    assert not same_bodies(clamped(**ramp, **{name: 1e6}), clamped(**ramp))
    assert same_bodies(clamped(**{name: 1e6}), clamped())


def test_negative_damping_is_none():
    assert same_bodies(clamped(rigid_joint_linear_kd=-5.0, rigid_joint_angular_kd=-1.0), clamped())


def test_errors_at_the_start_fade_by_alpha():
    """Of a gap a share of 1 - alpha goes in every step."""
    for alpha in (0.95, 0.5):
        model = one_joint("ball", length=0.0)
        state = model.state()
        state.body_q.assign([at(0.1, 0.0, 0.0)])
        seen = []
        move(model, 3, DT, state=state, rigid_avbd_alpha=alpha, each=lambda n, s, seen=seen: seen.append(s.body_q.numpy()[0, 0]))
        assert seen[0] == pytest.approx(0.1 * alpha, rel=1e-3)


def test_bodies_of_one_colour_that_share_a_joint():
    model = chain(3, 0.1)
    assert len(model.body_color_groups) == 2
    model.body_color_groups = [wp.array([0, 1, 2], dtype=wp.int32, device="cpu")]
    with pytest.raises(ValueError, match=r"bodies .* have the same colour but share joint 'joint_2' \(index 1\)"):
        SolverVBD(model)
    model.body_color_groups = []
    with pytest.raises(ValueError, match=r"body_color_groups is empty; call ModelBuilder.color\(\)"):
        SolverVBD(model)


def test_positive_defaults_of_hysteresis_are_deprecated():
    b = hooke.ModelBuilder()
    with pytest.warns(DeprecationWarning, match="dahl_defaults_enabled=False"):
        SolverVBD.register_custom_attributes(b)
    b.add_articulation([b.add_joint_cable(-1, bar(b, (0.0, 0.0, 0.0), 1.0), label="wire")])
    model = finalize(b)
    assert model.vbd.dahl_eps_max.numpy()[0] == 0.5 and model.vbd.dahl_tau.numpy()[0] == 1.0
    SolverVBD(model)


def test_particles_that_do_not_meet_bodies_move_beside_them():
    b = hooke.ModelBuilder()
    add_points(b, [(0.0, 0.0, 5.0)])
    b.add_articulation([b.add_joint_ball(-1, bar(b, (0.5, 0.0, 0.0), 1.0), child_xform=at(-0.5, 0.0, 0.0))])
    run = move(finalize(b), 20, DT)
    assert run.state.particle_qd.numpy()[0, 2] == pytest.approx(-9.81 * 20 * DT, rel=1e-4)
    assert run.q[0, 2] < -0.1 and gaps(run)[0] < 1e-5


def test_elimination_of_a_tree_fills_in_nothing_and_of_a_loop_little():
    parent = np.array([-1, 0, 1, 1, 3], np.int32)
    child = np.arange(5, dtype=np.int32)
    tree = make_islands(np.ones(5, bool), parent, child, np.ones(5, bool), "cpu")
    assert len(tree.row) == 9 - 0 and len(tree.target) == 0 and tree.first.numpy().tolist() == [0, 10]
    loop = make_islands(np.ones(5, bool), np.append(parent, 4), np.append(child, 0), np.ones(6, bool), "cpu")
    assert len(loop.row) > len(tree.row) + 2 and len(loop.target) > 0
    apart = make_islands(np.array([True, False, True]), np.array([0, 1]), np.array([1, 2]), np.ones(2, bool), "cpu")
    assert apart.first.numpy().tolist() == [0, 2, 4]


def test_a_loop_that_forgets_to_swap_is_told_so():
    model = chain(2, 0.1)
    solver, a, b = SolverVBD(model), model.state(), model.state()
    solver.step(a, b, None, None, DT)
    with pytest.warns(UserWarning, match="the simulation stands still"):
        solver.step(a, b, None, None, DT)
    assert solver.status.iterations == 10 and solver.status.ok


def test_models_of_another_package_move_the_same():
    """Any object with the documented flat arrays is taken; columns that it does not have take their defaults."""
    model = mechanism()
    left_out = ("joint_stiffness", "joint_damping", "joint_rest_q", "joint_mimic_joint", "joint_ancestor")
    names = [
        name
        for name in (*NAMES, "joint_q_start", "joint_qd_start", "body_color_groups", "particle_color_groups")
        if name not in left_out
    ]
    other = SimpleNamespace(**{name: getattr(model, name) for name in names if hasattr(model, name)})
    for name in ("body_count", "joint_count", "joint_dof_count", "joint_coord_count", "world_count", "device", "gravity"):
        setattr(other, name, getattr(model, name))
    other.soft_contact_ke, other.soft_contact_kd, other.soft_contact_mu = 1e3, 10.0, 0.5
    other.particle_count = other.shape_count = 0
    solver, a, b = SolverVBD(other), model.state(), model.state()
    for _ in range(10):
        solver.step(a, b, None, None, DT)
        a, b = b, a
    assert same_bodies(a, move(model, 10, DT).state)


@pytest.mark.parametrize("alm", [True, False], ids=["default", "page"])
def test_memory_is_linear_in_the_number_of_worlds(alm):
    """Field report "linear memory", with bodies on joints that touch: bytes(2 W) / bytes(W) <= 2.05."""
    one = hooke.ModelBuilder()
    for k in range(8):
        one.add_shape_box(-1, xform=at(0.3 * k, 0.0, -0.1), hx=0.1, hy=0.1, hz=0.1)
    links = [bar(one, (0.3 * k, 0.0, 0.1), 0.2) for k in range(3)]
    for link in links:
        one.add_shape_sphere(link, radius=0.05)
    ends = {"parent_xform": at(0.15, 0.0, 0.0), "child_xform": at(-0.15, 0.0, 0.0)}
    one.add_articulation([one.add_joint_free(links[0]), *(one.add_joint_ball(p, c, **ends) for p, c in pairwise(links))])
    used = {}
    for worlds in (16, 32, 64, 128):
        many = hooke.ModelBuilder()
        many.replicate(one, worlds)
        model = finalize(many)
        pipeline = hooke.CollisionPipeline(model, contact_matching="latest")
        solver, contacts, a, b = SolverVBD(model, rigid_compliant_alm=alm), pipeline.contacts(), model.state(), model.state()
        pipeline.collide(a, contacts)
        solver.step(a, b, None, contacts, DT)
        used[worlds] = reachable_bytes(solver, contacts)
    assert used[16] > 50_000 and all(used[2 * w] / used[w] <= 2.05 for w in (16, 32, 64)), used

"""Forward kinematics: loops closed to rounding at the coordinates that are asked for, velocities, and what cannot be reached."""

import functools

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.scenes.delta_robot import delta_robot
from hooke.scenes.four_bar import four_bar
from hooke.scenes.jansen_leg import jansen_leg
from hooke.scenes.linkage import add_bar, add_hinge
from hooke.scenes.slider_crank import slider_crank
from hooke.scenes.stewart_platform import stewart_platform
from hooke.solvers import SolverKamino
from hooke.solvers.kamino.config.parts import ConstrainedDynamicsConfig, ForwardKinematicsSolverConfig
from hooke.solvers.kamino.fk.structure import make_fk_structure
from hooke.solvers.kamino.structure import make_structure
from tests.kamino.loops import DRIVE, delta, errors, rotate, stewart
from tests.support import finalize

SCENES = {
    "four_bar": (lambda: four_bar().builder, np.pi),
    "slider_crank": (lambda: slider_crank().builder, np.pi),
    "jansen_leg": (lambda: jansen_leg().builder, np.pi),
    "stewart": (stewart, 0.06),
    "delta": (delta, 0.5),
    "stewart_platform": (lambda: stewart_platform().builder, 0.05),
    "delta_robot": (lambda: delta_robot().builder, 0.4),
}


@functools.cache
def solver_of(name, **settings):
    fk = ForwardKinematicsSolverConfig(**settings)
    return SolverKamino(finalize(SCENES[name][0]()), SolverKamino.Config(use_fk_solver=True, fk=fk))


def floats(values):
    return wp.array(np.asarray(values, np.float32), dtype=wp.float32, device="cpu")


def poses(solver):
    space = solver.forward_kinematics.space
    return space.com.numpy().copy(), space.rotation.numpy().copy()


def go(solver, q, u=None, **options):
    state = options.pop("state", None) or solver.model.state()
    solver.reset(state, actuator_q=floats(q), actuator_u=None if u is None else floats(u), **options)
    return state


def driven(solver):
    return np.flatnonzero(solver._structure.actuated)


@pytest.mark.parametrize("name", SCENES)
def test_random_targets_are_reached_to_rounding(name):
    """30 of each; the residual is measured anew, from poses in double precision."""
    solver, span = solver_of(name), SCENES[name][1]
    rng, joints = np.random.default_rng(7), driven(solver_of(name))
    for _ in range(30):
        q = rng.uniform(-span, span, len(joints)).astype(np.float32)
        state = go(solver, q)
        status = solver.forward_kinematics.status
        worst, found = errors(solver.model, *poses(solver))
        assert status.converged.all() and status.residual.max() < 1e-9
        assert worst.max() < 1e-9
        away = found[joints] - q
        assert np.abs(away if span < 0.1 else np.angle(np.exp(1j * away))).max() < 1e-9  # of a slide or of an angle
        first = solver.model.joint_q_start.numpy()[joints]
        assert state.joint_q.numpy()[first] == pytest.approx(q, abs=1e-6)
        assert not state.body_qd.numpy().any()


@pytest.mark.parametrize("name", SCENES)
def test_velocities_are_the_differences_of_poses(name):
    solver, span = solver_of(name), SCENES[name][1]
    rng, n, h = np.random.default_rng(3), len(driven(solver)), 2.0**-11
    q = np.round(rng.uniform(-span, span, n) * 2**16) / 2**16  # so that q +- h u is exact in single precision
    u = np.round(rng.uniform(-1.0, 1.0, n) * 2**5) / 2**5
    go(solver, q + h * u)
    (c1, r1), config = poses(solver), solver.forward_kinematics
    go(solver, q - h * u)
    c0, r0 = poses(solver)
    state = go(solver, q, u)
    twist = config.space.twist.numpy()[:, :6]
    assert config.status.rate.max() < 1e-8
    assert twist[:, :3] == pytest.approx((c1 - c0) / (2 * h), abs=2e-5)
    sign = np.sign((r0 * r1).sum(axis=1))
    dq = (sign[:, None] * r1 - r0) / (2 * h)
    r = 0.5 * (sign[:, None] * r1 + r0)
    omega = 2.0 * (r[:, 3:] * dq[:, :3] - dq[:, 3:] * r[:, :3] - np.cross(dq[:, :3], r[:, :3]))
    assert twist[:, 3:] == pytest.approx(omega, abs=2e-5)
    assert state.body_qd.numpy() == pytest.approx(twist, abs=1e-5)
    dofs = solver.model.joint_qd_start.numpy()[driven(solver)]
    assert state.joint_qd.numpy()[dofs] == pytest.approx(u, abs=1e-5)


def test_slider_crank_is_where_the_closed_form_says():
    """x = r cos t + sqrt(l^2 - r^2 sin^2 t), and its rate."""
    solver, r, length = solver_of("slider_crank"), 0.1, 0.3
    for t in np.linspace(-3.0, 3.0, 7):
        go(solver, [t], [1.5])
        angle = 0.5 * np.pi - t  # the scene begins at 90 degrees, and turns the other way round
        s = np.sqrt(length**2 - (r * np.sin(angle)) ** 2)
        com, _ = poses(solver)
        speed = (r * np.sin(angle) + r**2 * np.sin(angle) * np.cos(angle) / s) * 1.5
        assert com[2] == pytest.approx([r * np.cos(angle) + s, 0.0, 0.3], abs=1e-7)
        assert solver.forward_kinematics.space.twist.numpy()[2, 0] == pytest.approx(speed, abs=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"use_incremental_solve": False},
        {"use_sparsity": True, "preconditioner": "jacobi_diagonal", "use_adaptive_cg_tolerance": False},
        {"use_sparsity": True, "preconditioner": "none"},
        {"use_sparsity": True},
        {"use_regularization": True},
        {"max_linear_incremental_step": 0.01, "max_angular_incremental_step": 0.02},
    ],
    ids=lambda s: "-".join(map(str, s.values())),
)
def test_ways_to_the_same_pose(settings):
    plain, other = solver_of("delta"), solver_of("delta", **settings)
    for q in ([0.3, -0.2, 0.1], [-0.4, 0.4, 0.4]):
        go(plain, q)
        go(other, q)
        assert other.forward_kinematics.status.converged.all()
        for a, b in zip(poses(plain), poses(other), strict=True):
            assert b == pytest.approx(a, abs=1e-7)


def test_increments_are_as_many_as_steps_ask():
    for step in (0.1, 0.25):
        solver = solver_of("four_bar", max_angular_incremental_step=step)
        go(solver, [1.0])
        assert solver.forward_kinematics.status.increments.tolist() == [round(1.0 / step)]
    go(solver_of("four_bar", use_incremental_solve=False), [1.0])
    assert solver_of("four_bar", use_incremental_solve=False).forward_kinematics.status.increments.tolist() == [1]


def test_tolerance_and_iterations_are_obeyed():
    rough = solver_of("jansen_leg", use_incremental_solve=False, max_newton_iterations=1)
    state = go(rough, [1.0])
    status = rough.forward_kinematics.status
    assert not status.converged[0] and status.iterations[0] <= 2
    assert state.body_q.numpy() == pytest.approx(rough.model.body_q.numpy(), abs=1e-6)  # what is not closed is not written
    loose = solver_of("jansen_leg", use_incremental_solve=False, tolerance=0.02)
    tight = solver_of("jansen_leg", use_incremental_solve=False, tolerance=1e-12)
    counts = [(go(s, [1.0]), s.forward_kinematics.status.iterations[0])[1] for s in (loose, tight)]
    assert counts[0] < counts[1] and tight.forward_kinematics.status.residual[0] < 1e-12


def test_rods_between_balls_do_not_spin():
    """Where nothing else says so; with the rows for it, whatever the way there."""
    ways = [{"max_angular_incremental_step": step} for step in (0.05, 0.5)]
    spun = []
    for axes in (True, False):
        found = []
        for way in ways:
            solver = solver_of("delta", add_axis_joints=axes, **way)
            go(solver, [0.5, -0.5, 0.2])
            found.append(poses(solver)[1])
        spun.append(np.abs(found[0] - found[1]).max())
    assert spun[0] < 1e-9 < 1e-6 < spun[1]


def test_a_target_out_of_reach_is_reported():
    """Legs of 10 m more: the poses are the last that could be reached, and closed."""
    for settings in ({}, {"use_incremental_solve": False}):
        solver = solver_of("stewart", **settings)
        state = go(solver, [10.0, -0.1, 0.0, 0.0, 0.0, 0.0], [1.0] * 6)
        status = solver.forward_kinematics.status
        assert not status.converged[0] and status.residual[0] > 1.0
        assert errors(solver.model, *poses(solver))[0].max() < 1e-6
        assert all(np.isfinite(getattr(state, name).numpy()).all() for name in ("body_q", "body_qd", "joint_q", "joint_qd"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_number_is_no_target(bad):
    solver = solver_of("four_bar")
    state = go(solver, [bad])
    assert not solver.forward_kinematics.status.converged[0]
    assert np.isfinite(state.body_q.numpy()).all() and np.isfinite(state.joint_q.numpy()).all()


def test_regularization_stays_near_the_start():
    """A passive arm of two hinges between what is driven and the ground: a whole line of poses is left to choose from."""
    b, height = hooke.ModelBuilder(), np.sqrt(1.0 - 0.9**2)
    points = [np.array([0.9 * k, 0.0, height * (k % 2)]) for k in range(5)]
    bars = [add_bar(b, points[k], points[k + 1]) for k in range(4)]
    joints = [add_hinge(b, -1, bars[0], points[0], **DRIVE)]
    joints += [add_hinge(b, bars[k], bars[k + 1], points[k + 1]) for k in range(3)]
    b.add_articulation(joints)
    add_hinge(b, -1, bars[3], points[4])
    model, ways = finalize(b), []
    start = model.body_q.numpy()[:, :3]
    for weight in (None, 1.0):
        fk = ForwardKinematicsSolverConfig(
            use_incremental_solve=False, use_regularization=weight is not None, regularization_weight=weight or 0.0
        )
        solver = SolverKamino(model, SolverKamino.Config(use_fk_solver=True, fk=fk))
        go(solver, [0.5])
        assert solver.forward_kinematics.status.converged[0]
        ways.append(poses(solver)[0])
    assert np.abs(ways[0] - ways[1]).max() > 1e-6
    assert np.linalg.norm(ways[1] - start) < np.linalg.norm(ways[0] - start)


def test_what_has_targets():
    """Actuated joints, and the only connections of two parts; components of bases go with them."""
    b = hooke.ModelBuilder()
    trunk, arm, hand, tail = (b.add_link(mass=1.0, inertia=np.eye(3), label=n) for n in ("trunk", "arm", "hand", "tail"))
    joints = [b.add_joint_free(trunk), b.add_joint_revolute(trunk, arm, **DRIVE), b.add_joint_revolute(arm, hand)]
    joints.append(b.add_joint_ball(trunk, tail))
    b.add_articulation(joints)
    b.add_joint_ball(trunk, hand)
    model = finalize(b)
    s = make_structure(model, hooke.model.model.model_tables(model))
    f = make_fk_structure(s, s.actuated)
    assert f.kind.tolist() == [0, 2, 1, 2, 1] and f.root.tolist() == [0, 0, 0, 0]
    assert f.coord_of.tolist() == [-1] * 7 + [0, -1] + [-1] * 8


def rocker_driven(**settings):
    """The four-bar, with the rocker for what is driven and the crank for what is not."""
    b = four_bar().builder
    SolverKamino.register_custom_attributes(b, fk_actuation_flags={"motor": 0, "ground_pin": 1})
    fk = ForwardKinematicsSolverConfig(**settings)
    dynamics = ConstrainedDynamicsConfig(eliminate_bilateral=False)  # has nothing to say here
    return SolverKamino(finalize(b), SolverKamino.Config(use_fk_solver=True, fk=fk, dynamics=dynamics))


def test_flags_say_what_is_driven():
    solver = rocker_driven()
    state = go(solver, [0.1])
    assert solver.forward_kinematics.status.converged[0]
    assert state.joint_q.numpy()[3] == pytest.approx(0.1, abs=1e-6) and abs(state.joint_q.numpy()[0]) > 0.05


def test_the_last_pose_on_the_way_is_near_the_end_of_the_reach():
    """Beyond it the crank and the coupler would have to be longer: they are in line there."""
    solver = rocker_driven()
    state = go(solver, [-2.0])
    status = solver.forward_kinematics.status
    assert not status.converged[0] and np.isfinite(state.body_q.numpy()).all()
    worst, _ = errors(solver.model, *poses(solver))
    assert worst.max() < 1e-9 and status.residual[0] > 0.5
    bars = state.body_q.numpy()[:2, 3:]
    directions = [rotate(q, np.array([0.0, 0.0, 1.0])) for q in bars.astype(np.float64)]
    assert abs(directions[0] @ directions[1]) > 0.97


def test_changes_of_anchors_are_taken_over():
    b = hooke.ModelBuilder()
    body = b.add_link(mass=1.0, inertia=np.eye(3))
    b.add_articulation([b.add_joint_revolute(-1, body, axis="Y", **DRIVE)])
    model = finalize(b)
    solver = SolverKamino(model, SolverKamino.Config(use_fk_solver=True))
    model.joint_axis.assign(np.array([[0.0, 0.0, 1.0]], np.float32))
    model.joint_X_p.assign(np.array([[1.0, 2.0, 3.0, 0, 0, 0, 1]], np.float32))
    solver.notify_model_changed(hooke.ModelFlags.JOINT_PROPERTIES | hooke.ModelFlags.JOINT_DOF_PROPERTIES)
    state = go(solver, [0.3])
    assert state.body_q.numpy()[0] == pytest.approx([1, 2, 3, 0, 0, np.sin(0.15), np.cos(0.15)], abs=1e-6)


def test_bodies_that_are_moved_from_outside_stay_and_pull():
    """A kinematic trolley with a driven arm: the arm is found on it, and has its velocity."""
    b = hooke.ModelBuilder()
    trolley = b.add_link(xform=(0, 0, 1, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3), is_kinematic=True)
    arm = b.add_link(xform=(0.5, 0, 1, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3))
    rail = b.add_joint_free(trolley)
    b.add_articulation([rail, b.add_joint_revolute(trolley, arm, axis="Y", child_xform=(-0.5, 0, 0, 0, 0, 0, 1), **DRIVE)])
    model = finalize(b)
    fk = ForwardKinematicsSolverConfig(reset_state=False)
    solver, state = SolverKamino(model, SolverKamino.Config(use_fk_solver=True, fk=fk)), model.state()
    go(solver, [np.pi / 2], [2.0], state=state, base_u=wp.array([[3, 0, 0, 0, 0, 0]], dtype=wp.spatial_vector, device="cpu"))
    assert state.body_q.numpy()[:, :3] == pytest.approx(np.array([[0, 0, 1], [0, 0, 0.5]]), abs=1e-6)
    assert state.body_qd.numpy() == pytest.approx(np.array([[3, 0, 0, 0, 0, 0], [2.0, 0, 0, 0, 2, 0]]), abs=1e-5)

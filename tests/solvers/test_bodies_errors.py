"""What SolverVBD refuses about bodies, and what it says then; the errors of the documented page and those around them."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import SolverVBD
from tests.support import finalize

from .bodies import at, chain, one_joint
from .test_bodies_contacts import Run, box, ground, stack

FORMULATIONS = pytest.mark.parametrize("options", [{}, {"rigid_compliant_alm": False}], ids=["default", "page"])


@FORMULATIONS
@pytest.mark.parametrize("flags", [None, 0])
def test_reset_wants_a_state(options, flags):
    with pytest.raises(ValueError, match="expected a state, found None"):
        SolverVBD(chain(2, 0.1), **options).reset(None, flags=flags)


@FORMULATIONS
@pytest.mark.parametrize("value", [2, -1])
def test_hardness_is_0_or_1(options, value):
    b = hooke.ModelBuilder()
    SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
    link = b.add_link(mass=1.0, inertia=np.eye(3))
    b.add_articulation([b.add_joint_fixed(-1, link, label="clamp", custom_attributes={"vbd:joint_is_hard": value})])
    model = finalize(b)
    with pytest.raises(ValueError, match=rf"joint_is_hard as 0 or 1, found {value} at joint 'clamp' \(index 0\)"):
        SolverVBD(model, **options)


@FORMULATIONS
def test_joints_and_slots_that_do_not_exist(options):
    """Indices out of range, of another type, drive slots, slots that the kind does not have; None on a free joint sets nothing."""
    solver = SolverVBD(one_joint("ball"), **options)
    for joint in (1, -1, "0", 1.5, None, True):
        with pytest.raises(ValueError, match="expected a joint from 0 to 0, found"):
            solver.set_joint_constraint_mode(joint, True)
    for slot in (1, 2, -1, 0.0, "LINEAR"):
        with pytest.raises(ValueError, match=r"index 0, ball\) has the structural slots \[0\], found"):
            solver.set_joint_constraint_mode(0, True, slot)
    solver.set_joint_constraint_mode(np.int32(0), False, SolverVBD.JointSlot.LINEAR)
    b = hooke.ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    solver = SolverVBD(finalize(b), **options)
    solver.set_joint_constraint_mode(0, True)
    with pytest.raises(ValueError, match=r"structural slots \[\]"):
        solver.set_joint_constraint_mode(0, True, 0)


@FORMULATIONS
@pytest.mark.parametrize(
    "flag", ["BODY_PROPERTIES", "BODY_INERTIAL_PROPERTIES", "JOINT_PROPERTIES", "SHAPE_PROPERTIES", "MODEL_PROPERTIES"]
)
def test_notices_and_modes_during_a_capture(options, flag):
    """Both find things out on the host; a graph could not repeat that."""
    model = chain(2, 0.1)
    solver, a, b = SolverVBD(model, **options), model.state(), model.state()
    solver.step(a, b, None, None, 0.01)
    with wp.ScopedCapture(device="cpu"):
        with pytest.raises(RuntimeError, match="called during a capture; call it before"):
            solver.notify_model_changed(hooke.ModelFlags[flag])
        with pytest.raises(RuntimeError, match="called during a capture; call it before"):
            solver.set_joint_constraint_mode(0, False)
        solver.step(a, b, None, None, 0.01)


@FORMULATIONS
def test_poses_before_a_step_are_those_of_the_model_and_then_those_it_ended_with(options):
    """``body_q_prev`` (documented): the same array throughout, advanced by the step."""
    model = chain(2, 0.1)
    solver, a, b = SolverVBD(model, **options), model.state(), model.state()
    previous = solver.body_q_prev
    np.testing.assert_array_equal(previous.numpy(), model.body_q.numpy())
    for _ in range(3):
        solver.step(a, b, None, None, 0.01)
        assert solver.body_q_prev.ptr == previous.ptr
        np.testing.assert_array_equal(previous.numpy(), b.body_q.numpy())
        a, b = b, a


@FORMULATIONS
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_body_that_is_nowhere_is_noticed(options, value):
    """``status.ok`` is False and the residual no finite number after poses that are none."""
    run = Run(stack(2), **options)
    assert run.step(2).solver.status.ok
    q = run.state.body_q.numpy()
    q[1, 0] = value
    run.state.body_q.assign(q)
    status = run.step().solver.status
    assert not status.ok and not np.isfinite(status.residual)


def test_rows_without_room_in_a_capture():
    """A pipeline that is made after the solver: the message says how many rows there is room for, and what to do."""
    model = stack(1)
    solver = SolverVBD(model)
    pipeline = hooke.CollisionPipeline(model)
    contacts, a, b = pipeline.contacts(), model.state(), model.state()
    with (
        pytest.raises(
            RuntimeError, match=r"room for \d+ rows between bodies, the solver for 0, .*CollisionPipeline before the solver"
        ),
        wp.ScopedCapture(device="cpu"),
    ):
        pipeline.collide(a, contacts)
        solver.step(a, b, None, contacts, 0.01)


def test_rows_that_do_not_fit_in_a_capture_are_reported():
    """Ten boxes fall on each other in a graph whose buffer has 4 rows: ``status`` says how many were needed, and warns."""
    b = ground()
    for i in range(10):
        box(b, 0.0, 0.0, 0.5 + 1.05 * i)
    model = finalize(b)
    pipeline = hooke.CollisionPipeline(model, rigid_contact_max=4)
    solver, contacts, one, two = SolverVBD(model), pipeline.contacts(), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        for state, other in ((one, two), (two, one)):
            pipeline.collide(state, contacts)
            solver.step(state, other, None, contacts, 1.0 / 60.0)
    for _ in range(20):
        wp.capture_launch(capture.graph)
    with pytest.warns(UserWarning, match="contacts were lost"):
        needed, room = solver.status.overflow["rigid_contact"]
    assert room == 4 and needed > 20


def test_a_kinematic_body_may_be_held_and_moved():
    """No mass is asked of it; a step with it alone leaves it where it is."""
    b = hooke.ModelBuilder()
    hand = b.add_link(is_kinematic=True, xform=at(1.0, 2.0, 3.0))
    b.add_articulation([b.add_joint_ball(-1, hand, parent_xform=at(1.0, 2.0, 3.0))])
    model = finalize(b)
    a, other = model.state(), model.state()
    SolverVBD(model).step(a, other, None, None, 0.01)
    np.testing.assert_array_equal(other.body_q.numpy(), model.body_q.numpy())


@FORMULATIONS
@pytest.mark.parametrize("name", ["target_ke", "target_kd", "limit_ke", "limit_kd", "stiffness", "damping", "armature", "friction",
                                  "effort_limit", "velocity_limit"])  # fmt: skip
def test_values_that_were_written_into_a_model(options, name):
    """Below zero or no number: refused by name at the start and with a notice, before a step."""
    b = hooke.ModelBuilder()
    links = [b.add_link(mass=1.0, inertia=np.eye(3)) for _ in range(2)]
    b.add_articulation([b.add_joint_revolute(-1, links[0]), b.add_joint_revolute(links[0], links[1], label="elbow")])
    model = finalize(b)
    solver, array = SolverVBD(model, **options), getattr(model, f"joint_{name}")
    good = array.numpy().copy()
    for value in (-0.5, np.nan):
        array.assign(np.array([good[0], value], np.float32))
        for call in (
            lambda: SolverVBD(model, **options),
            lambda: solver.notify_model_changed(hooke.ModelFlags.JOINT_DOF_PROPERTIES),
        ):
            with pytest.raises(
                ValueError, match=rf"joint 'elbow' \(index 1\), dof 0: joint_{name} is {value}.*expected values >= 0"
            ):
                call()
    array.assign(good)
    solver.notify_model_changed(hooke.ModelFlags.JOINT_DOF_PROPERTIES)
    model.joint_limit_lower.assign([-1.0, 2.0])
    model.joint_limit_upper.assign([1.0, 1.0])
    with pytest.raises(
        ValueError, match=r"'elbow' \(index 1\), dof 0: expected joint_limit_lower <= joint_limit_upper, found \[2.0, 1.0\]"
    ):
        SolverVBD(model, **options)


@FORMULATIONS
@pytest.mark.parametrize("name", ["body_mass", "body_inv_mass", "body_inertia", "body_com", "joint_X_p", "joint_X_c", "shape_material_mu",
                                  "shape_material_ke"])  # fmt: skip
def test_bodies_joints_and_shapes_that_are_no_numbers(options, name):
    model = stack(2)
    array = getattr(model, name)
    values = array.numpy().copy()
    values.reshape(len(values), -1)[1, -1] = np.nan
    array.assign(values)
    with pytest.raises(ValueError, match=rf"SolverVBD: \w+ '.*' \(index 1\): {name} is .*nan.*, expected .* \(1 in all\)"):
        SolverVBD(model, **options)

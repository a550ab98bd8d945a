"""What a change of the model makes a solver read again, and what it cannot take over."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import BodyFlags, ModelFlags
from hooke.model.model import model_tables
from hooke.solvers.kamino.changes import Reread, check_change, what_to_reread
from hooke.solvers.kamino.structure import Actuation, make_structure
from tests.kamino.mechanisms import Dof, build, cartpole, four_bar, free_box, legged, link, one_joint
from tests.kamino.test_check import edit

F = ModelFlags
DOFS = F.JOINT_DOF_PROPERTIES


@pytest.mark.parametrize(
    ("flags", "reread"),
    [
        (F.JOINT_DOF_PROPERTIES, Reread(dofs=True, frames=True)),
        (F.JOINT_DOF_FORCE_PROPERTIES, Reread(dofs=True)),
        (F.JOINT_DOF_INERTIAL_PROPERTIES, Reread(dofs=True)),
        (F.ACTUATOR_PROPERTIES, Reread(dofs=True)),
        (F.BODY_PROPERTIES, Reread(bodies=True)),
        (F.BODY_INERTIAL_PROPERTIES, Reread(bodies=True, frames=True, shapes=True)),
        (F.JOINT_PROPERTIES, Reread(frames=True)),
        (F.SHAPE_PROPERTIES, Reread(shapes=True)),
        (F.SHAPE_TYPE_AND_SOURCE, Reread(shapes=True)),
        (F.MODEL_PROPERTIES, Reread()),
        (F.JOINT_REFERENCE_POSE_PROPERTIES, Reread()),
        (F.CONSTRAINT_PROPERTIES, Reread()),
        (F.TENDON_PROPERTIES, Reread()),
        (0, Reread()),
        (F.BODY_PROPERTIES | F.SHAPE_PROPERTIES, Reread(bodies=True, shapes=True)),
    ],
)
def test_table_of_flags(flags, reread):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert what_to_reread(flags) == reread
        assert what_to_reread(int(flags), own_detector=True).materials == bool(flags & F.SHAPE_PROPERTIES)


def test_flags_that_are_not_known_are_said_once():
    with pytest.warns(UserWarning, match="flags 0x6000 are not known") as caught:
        assert what_to_reread(0x6000 | int(F.BODY_PROPERTIES)) == Reread(bodies=True)
    assert len(caught) == 1


class Case:
    """A model and the structure that a solver would have been made for."""

    def __init__(self, builder):
        self.model = build(builder)
        self.tables = model_tables(self.model)
        self.old = make_structure(self.model, self.tables)

    def change(self, flags=DOFS, use_fk=False, **values):
        edit(self.model, **values)
        return check_change(self.model, self.tables, self.old, flags, use_fk)


def hinge(**options):
    return Case(one_joint(lambda b, p, c: b.add_joint_revolute(p, c, label="knee", **options)))


DRIVE = {"actuator_mode": 3, "target_ke": 5.0, "target_kd": 1.0}


@pytest.mark.parametrize(
    ("options", "change", "reason"),
    [
        ({}, {"joint_armature": {6: 1.0}}, "joint dynamics allocation"),
        ({"armature": 1.0}, {"joint_armature": {6: 0.0}}, "joint dynamics allocation"),
        ({}, {"joint_damping": {6: 1.0}}, "joint dynamics allocation"),
        ({}, {"joint_stiffness": {6: 1.0}}, "joint dynamics allocation"),
        ({**DRIVE, "armature": 1.0}, {"joint_effort_limit": {6: 5.0}}, "effort-limit allocation"),
        (DRIVE, {"joint_effort_limit": {6: 5.0}}, "joint dynamics allocation"),
        ({**DRIVE, "effort_limit": 5.0}, {"joint_effort_limit": {6: 1e6}}, "effort-limit allocation"),
        ({**DRIVE, "effort_limit": 5.0}, {"joint_target_mode": {6: 4}}, "effort-limit allocation"),
        ({**DRIVE, "effort_limit": 5.0}, {"joint_target_mode": {6: 0}}, "effort-limit allocation"),
        ({**DRIVE, "effort_limit": 5.0}, {"joint_target_ke": {6: 0.0}, "joint_target_kd": {6: 0.0}}, "effort-limit allocation"),
        ({}, {"joint_friction": {6: 1.0}}, "joint friction allocation"),
        ({}, {"joint_limit_lower": {6: -1.0}}, "joint limit allocation"),
        ({"limit_upper": 1.0}, {"joint_limit_upper": {6: 1e10}}, "joint limit allocation"),
        (DRIVE, {"joint_target_ke": {6: 0.0}, "joint_target_kd": {6: 0.0}}, "joint dynamics allocation"),
        ({}, {"joint_target_mode": {6: 4}}, "passive and actuated joints"),
        ({"actuator_mode": 4}, {"joint_target_mode": {6: 0}}, "passive and actuated joints"),
    ],
    ids=str,
)
def test_changes_that_need_another_solver(options, change, reason):
    case = hinge(**options)
    with pytest.raises(RuntimeError, match="recreate SolverKamino") as caught:
        case.change(**change)
    assert reason in str(caught.value) and "joint 'knee' (index 1)" in str(caught.value)


def test_rows_that_move_to_another_degree_of_freedom():
    def adder(b, p, c):
        return b.add_joint_d6(p, c, label="wrist", angular_axes=[Dof(axis="x", armature=1.0), Dof(axis="y")])

    with pytest.raises(RuntimeError, match="joint 'wrist'.*DoF=0, has a row.*DoF=1, needs a row"):
        Case(one_joint(adder)).change(joint_armature={6: 0.0, 7: 1.0})


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"armature": 1.0}, {"joint_armature": {6: 2.0}}),
        ({"armature": 1.0}, {"joint_damping": {6: 2.0}}),
        ({"friction": 1.0}, {"joint_friction": {6: 2.0}}),
        ({"friction": 1.0}, {"joint_friction": {6: 0.0}}),
        ({"limit_lower": -1.0}, {"joint_limit_lower": {6: -2.0}, "joint_limit_ke": {6: 5.0}}),
        ({"limit_lower": -1.0}, {"joint_limit_lower": {6: -1e10}, "joint_limit_upper": {6: 2.0}}),
        ({**DRIVE, "effort_limit": 5.0}, {"joint_effort_limit": {6: 7.0}}),
        (DRIVE, {"joint_target_ke": {6: 8.0}, "joint_target_kd": {6: 0.0}}),
        (DRIVE, {"joint_target_mode": {6: 1}}),
        (DRIVE, {"joint_target_mode": {6: 2}}),
        ({"actuator_mode": 4}, {"joint_effort_limit": {6: 7.0}}),
        ({}, {"joint_X_p": {1: (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)}, "joint_axis": {6: (0.0, 0.0, 1.0)}}),
        ({}, {"body_com": {1: (1.0, 0.0, 0.0)}, "body_inv_mass": {1: 0.5}, "body_q": {0: (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)}}),
    ],
    ids=str,
)
def test_changes_that_are_taken_over(options, change):
    case = hinge(**options)
    new = case.change(F.ALL, **change)
    for name in ("dynamic", "effort", "friction", "limited", "kind", "acts"):
        assert np.array_equal(getattr(new, name), getattr(case.old, name)), name
    again = check_change(case.model, case.tables, new, F.ALL)  # a friction of zero keeps its row for good
    assert np.array_equal(again.friction, case.old.friction)


def test_modes_are_read_anew():
    new = hinge(**DRIVE).change(joint_target_mode={6: 2})
    assert new.mode[6] == Actuation.VELOCITY == new.joint_mode[1]


@pytest.mark.parametrize(
    ("options", "change", "match"),
    [
        (DRIVE, {"joint_target_mode": {6: 9}}, "joint_target_mode is 9"),
        ({"armature": 1.0, **DRIVE}, {"joint_target_ke": {6: 0.0}, "joint_target_kd": {6: 0.0}}, "requires a non-zero gain"),
        ({**DRIVE, "effort_limit": 5.0}, {"joint_target_mode": {6: 9}}, "joint_target_mode is 9"),
        ({"armature": 1.0, **DRIVE}, {"joint_target_mode": {6: 2}, "joint_target_kd": {6: 0.0}}, "requires a non-zero gain"),
        ({}, {"joint_axis": {6: (2.0, 0.0, 0.0)}}, "unit length"),
    ],
    ids=str,
)
def test_changes_that_make_a_model_that_is_refused(options, change, match):
    with pytest.raises(ValueError, match=match):
        hinge(**options).change(**change)


def triad(axes="xyz"):
    return Case(one_joint(lambda b, p, c: b.add_joint_d6(p, c, label="gimbal", angular_axes=[Dof(axis=a) for a in axes])))


def test_axes_of_a_gimbal():
    x, y, z = np.eye(3).tolist()
    assert triad().change(joint_axis={6: y, 7: z, 8: x}).kind[1] == triad().old.kind[1]
    with pytest.raises(ValueError, match=r"joint 'gimbal' \(index 1\): gimbal axes must preserve the solver's original handedness"):
        triad().change(joint_axis={6: y, 7: x})
    with pytest.raises(ValueError, match="must be unit length and orthogonal"):
        triad().change(joint_axis={6: (0.6, 0.8, 0.0)})
    assert triad("zyx").change(joint_axis={6: x, 7: z, 8: y}).left_handed[1]


def test_bodies_that_begin_or_cease_to_move():
    for values, match in (
        ({"body_flags": {1: int(BodyFlags.KINEMATIC)}}, r"immovability: body 'arm' \(index 1\) is immovable now"),
        ({"body_flags": {0: int(BodyFlags.KINEMATIC)}}, r"immovability: body 'parent' \(index 0\) is immovable now"),
    ):
        with pytest.raises(RuntimeError, match=match):
            hinge().change(F.BODY_PROPERTIES, **values)
    with pytest.raises(ValueError, match="body 'arm'"):
        hinge().change(F.BODY_INERTIAL_PROPERTIES, body_inv_mass={1: 0.0})
    with pytest.raises(RuntimeError, match="immovability: body 'box'"):
        Case(free_box()).change(F.BODY_INERTIAL_PROPERTIES, body_inv_mass={0: 0.0}, body_inv_inertia={0: np.zeros((3, 3))})


def test_joints_that_are_switched_or_connect_others():
    with pytest.raises(RuntimeError, match=r"joint_enabled: joint 'hinge 3' \(index 3\) from True to False"):
        Case(four_bar()).change(F.JOINT_PROPERTIES, joint_enabled={3: False})
    with pytest.raises(RuntimeError, match=r"parent: joint 'hinge 3' \(index 3\) from 3 to 1"):
        Case(four_bar()).change(F.JOINT_PROPERTIES, joint_parent={3: 1})
    with pytest.raises(RuntimeError, match=r"kind of joint: joint 'pivot' \(index 1\) from revolute to prismatic"):
        Case(cartpole()).change(F.JOINT_PROPERTIES, joint_type={1: 0}, joint_dof_dim={1: (1, 0)})


def test_mimics():
    b = four_bar()
    b.set_joint_mimic(1, 0)
    b.add_constraint_mimic(2, 0)
    case = Case(b)
    assert len(case.change(F.CONSTRAINT_PROPERTIES, constraint_mimic_coef1={0: 2.0}).mimic_follower) == 2
    with pytest.raises(RuntimeError, match="mimics: 2 acted, 1 do now"):
        case.change(F.CONSTRAINT_PROPERTIES, constraint_mimic_enabled={0: False})


def test_forward_kinematics_and_mixed_joints():
    def adder(b, p, c):
        return b.add_joint_d6(p, c, label="wrist", angular_axes=[Dof(axis=a, actuator_mode=4) for a in "xy"])

    assert Case(one_joint(adder)).change(joint_target_mode={6: 0}).mixed[1]
    with pytest.raises(ValueError, match="passive and actuated"):
        Case(one_joint(adder)).change(joint_target_mode={6: 0}, use_fk=True)


def test_all_reasons_are_named():
    with pytest.raises(RuntimeError) as caught:
        Case(legged()).change(F.ALL, joint_friction={6: 1.0}, joint_limit_upper={7: 1.0}, joint_armature={8: 1.0})
    message = str(caught.value)
    for word in ("friction allocation", "limit allocation", "dynamics allocation", "'hip 0'", "'knee 0'", "'hip 1'"):
        assert word in message


class Capturing:
    """A device that says it is being captured, whose model must not be read."""

    is_capturing = True


def test_in_a_capture_only_anchors_may_change():
    case = hinge()
    case.model.device = Capturing()
    assert check_change(case.model, None, case.old, F.JOINT_PROPERTIES | F.MODEL_PROPERTIES) is case.old
    assert check_change(case.model, None, case.old, F.SHAPE_PROPERTIES) is case.old
    with pytest.raises(RuntimeError, match="capture"):
        check_change(case.model, None, case.old, DOFS)

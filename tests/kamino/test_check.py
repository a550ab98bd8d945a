"""Models that SolverKamino refuses, and what it says of them."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import BodyFlags, ModelBuilder
from hooke.model.model import model_tables
from hooke.solvers.kamino.check import base_warning, check_model, find_problems
from hooke.solvers.kamino.config.attributes import fk_actuated, register_solver_attributes
from hooke.solvers.kamino.structure import make_structure
from tests.kamino.mechanisms import Dof, build, cartpole, four_bar, free_box, legged, link, nunchaku, one_joint
from tests.kamino.test_structure import heterogeneous


def model_of(b, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return b if not isinstance(b, ModelBuilder) else build(b, **options)


def problems_of(b, use_fk=False, **options):
    model = model_of(b, **options)
    tables = model_tables(model)
    return find_problems(model, tables, make_structure(model, tables), use_fk)


def refused(b, *words, use_fk=False, count=1, **options):
    """The model is refused for ``count`` reasons, and all the words are in the message."""
    model = model_of(b, **options)
    tables = model_tables(model)
    with pytest.raises(ValueError, match="cannot simulate this model due to unsupported features") as caught:
        check_model(model, tables, make_structure(model, tables), use_fk)
    message = str(caught.value)
    assert message.count("\n  - ") == count, message
    for word in words:
        assert word in message, message


def edit(model, **values):
    """Change entries of arrays of a model: {name: {index: value}}."""
    for name, entries in values.items():
        array = getattr(model, name)
        host = array.numpy()
        for index, value in entries.items():
            host[index] = value
        array.assign(host)
    return model


@pytest.mark.parametrize(
    "make", [four_bar, cartpole, legged, nunchaku, free_box, heterogeneous, ModelBuilder], ids=lambda m: m.__name__
)
def test_sound_models(make):
    model = build(make())
    tables = model_tables(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_model(model, tables, make_structure(model, tables), use_fk=True)


def test_particles_and_their_elements():
    b = ModelBuilder()
    p = [b.add_particle((float(k == 1), float(k == 2), float(k == 3)), (0, 0, 0), 1.0) for k in range(4)]
    refused(b, "4 particles", "rigid bodies")
    b.add_spring(p[0], p[1], 1.0, 0.0, 0)
    b.add_triangle(*p[:3])
    b.add_edge(*p)
    b.add_tetrahedron(*p)
    refused(b, "4 particles", "1 springs", "1 triangles", "1 bending edges", "1 tetrahedra", count=5)
    model = build(four_bar())
    model.muscle_count = 2
    refused(model, "2 muscles")


@pytest.mark.parametrize("name", ["distance", "rod", "cable"])
def test_joints_without_rigid_motion(name):
    b = one_joint(lambda b, p, c: getattr(b, f"add_joint_{name}")(p, c, label="bad"))
    refused(b, f"{name.upper()} joints are not supported", "joint 'bad' (index 1)", "revolute")


@pytest.mark.parametrize(
    ("linear", "angular", "words"),
    [
        ("xy", "z", ("2 linear and 1 angular axes",)),
        ("xyz", "xyz", ("3 linear and 3 angular axes",)),
        ("x", "y", ("a linear and an angular axis that differ", "cylindrical")),
        ("", [(1, 0, 0), (1, 1, 0)], ("must be unit length and orthogonal",)),
        ("", [(1, 0, 0), (0, 1, 0), (0, 1, 1)], ("must be unit length and orthogonal",)),
    ],
)
def test_cases_of_d6_that_are_no_kind(linear, angular, words):
    def adder(b, p, c):
        axes = {"linear_axes": [Dof(axis=a) for a in linear], "angular_axes": [Dof(axis=a) for a in angular]}
        return b.add_joint_d6(p, c, label="bad", **axes)

    refused(one_joint(adder), "joint 'bad' (index 1)", *words)


def test_axes_of_the_wrong_length():
    universal = one_joint(lambda b, p, c: b.add_joint_d6(p, c, label="bad", angular_axes=[Dof(axis="x"), Dof(axis="y")]))
    refused(edit(build(universal), joint_axis={6: (1.00001, 0, 0)}), "joint 'bad' (index 1)", "must be unit length and orthogonal")
    assert not problems_of(edit(build(universal), joint_axis={6: (1.0000005, 0, 0)}))
    refused(edit(build(universal), joint_axis={6: (1.0, 1e-5, 0)}), "must be unit length and orthogonal")
    hinge = one_joint(lambda b, p, c: b.add_joint_revolute(p, c, label="bad"))
    refused(
        edit(build(hinge), joint_axis={6: (2.0, 0, 0)}), "joint 'bad' (index 1)", "expected axes of unit length", "[2.0, 0.0, 0.0]"
    )
    refused(edit(build(hinge), joint_axis={6: (np.nan, 0, 0)}), "expected axes of unit length")


POINT = {"mass": 1.0, "inertia": np.zeros((3, 3))}
NOTHING = {"mass": 0.0, "inertia": np.zeros((3, 3))}


@pytest.mark.parametrize("body", [POINT, NOTHING], ids=["point", "massless"])
def test_bodies_with_singular_mass(body):
    options = {"skip_validation_inertia": True}
    tip = one_joint(lambda b, p, c: b.add_joint_revolute(p, c, label="hinge"), **body)
    refused(tip, "body 'arm' (index 1) in joint 'hinge' (index 1)", "lets it move", "is_kinematic=True", **options)
    root = ModelBuilder()
    bodies = [link(root, "base", **body), link(root, "arm")]
    root.add_articulation([root.add_joint_free(bodies[0]), root.add_joint_ball(*bodies, label="ball")])
    refused(root, "body 'base' (index 0) in joint 'ball' (index 1)", **options)
    welded = one_joint(lambda b, p, c: b.add_joint_fixed(p, c, label="weld"), **body)
    refused(welded, "body 'arm' (index 1) in joint 'weld' (index 1)", "collapse_fixed_joints()", **options)


def test_inertia_of_less_than_full_rank():
    model = build(one_joint(lambda b, p, c: b.add_joint_revolute(p, c, label="hinge")))
    refused(edit(model, body_inv_inertia={1: np.diag([1.0, 0.0, 1.0])}), "body 'arm' (index 1) in joint 'hinge' (index 1)")


@pytest.mark.parametrize("body", [POINT, NOTHING], ids=["point", "massless"])
def test_bodies_with_singular_mass_that_are_accepted(body):
    """On the world, free, alone, kinematic, or in a joint that is switched off."""
    b = ModelBuilder()
    fixed, further, free, _alone = (link(b, name, **body) for name in ("fixed", "further", "free", "alone"))
    off, driven, arm = link(b, "off", **body), link(b, "driven", is_kinematic=True, **body), link(b, "arm")
    b.add_articulation([b.add_joint_fixed(-1, fixed)])
    b.add_articulation([b.add_joint_free(free)])
    b.add_articulation([b.add_joint_revolute(-1, off, enabled=False)])
    b.add_articulation([b.add_joint_fixed(-1, driven), b.add_joint_revolute(driven, arm)])
    if body is NOTHING:
        b.add_articulation([b.add_joint_fixed(-1, further)])
        b.add_joint_fixed(fixed, further)
    assert not problems_of(b, skip_validation_inertia=True)


def drive(mode, ke, kd):
    return lambda b, p, c: b.add_joint_revolute(p, c, label="knee", actuator_mode=mode, target_ke=ke, target_kd=kd)


@pytest.mark.parametrize(
    ("mode", "ke", "kd", "word"),
    [
        (2, 0.0, 0.0, "velocity target requires a non-zero gain"),
        (2, 1.0, 0.0, "velocity target requires a non-zero gain"),
        (1, 0.0, 0.0, "position target requires a non-zero gain"),
        (3, 0.0, 0.0, "position target requires a non-zero gain"),
    ],
)
def test_drives_without_gains(mode, ke, kd, word):
    refused(one_joint(drive(mode, ke, kd)), word, "joint 'knee' (index 1), DoF=0", "joint_target_kd")


@pytest.mark.parametrize(("mode", "ke", "kd"), [(0, 0, 0), (4, 0, 0), (1, 1, 0), (1, 0, 1), (2, 0, 1), (3, 1, 0), (3, 0, 1)])
def test_drives_that_are_accepted(mode, ke, kd):
    assert not problems_of(one_joint(drive(mode, float(ke), float(kd))))


@pytest.mark.parametrize("mode", [-1, 5, 99])
def test_modes_that_do_not_exist(mode):
    model = edit(build(cartpole()), joint_target_mode={1: mode})
    refused(model, "joint 'pivot' (index 1), DoF=0", f"joint_target_mode is {mode}", "POSITION_VELOCITY 3")


def two_axes(**flags):
    def adder(b, p, c):
        axes = [Dof(axis="x", actuator_mode=4), Dof(axis="y", actuator_mode=0)]
        return b.add_joint_d6(p, c, angular_axes=axes, label="wrist")

    b = one_joint(adder)
    register_solver_attributes(b, fk_actuation_flags=flags or None)
    return b


def test_forward_kinematics_needs_joints_that_are_actuated_or_not():
    assert not problems_of(two_axes())
    refused(two_axes(), "joint 'wrist' (index 1)", "passive and actuated", "fk_actuation_flag", use_fk=True)
    for flag in (0, 1):
        assert not problems_of(two_axes(wrist=flag), use_fk=True)


def test_flags_of_forward_kinematics():
    model = build(two_axes())
    model.fk_actuation_flag.assign(np.array([-1, 2], np.int32))
    refused(model, "joint 'wrist' (index 1)", "fk_actuation_flag is 2")
    model.fk_actuation_flag = wp.array([-1], dtype=wp.int32, device="cpu")
    refused(model, "expected 2 values, found 1")


def test_bodies_and_joints_of_no_world():
    b = heterogeneous()
    free_box(b)
    refused(b, "bodies of no world: body 'box' (index 19)", "joints of no world: joint 'box_free_joint' (index 19)", count=2)


def test_mimics_of_joints_without_scalar_coordinates():
    model = build(nunchaku())
    refused(
        edit(model, joint_mimic_joint={2: 1}), "joint 'ball 1' (index 2) following joint 'ball 0' (index 1)", "scalar coordinates"
    )
    b = four_bar()
    b.set_joint_mimic(1, 0)
    assert not problems_of(b)


def test_everything_is_said_at_once_and_replicas_are_summed_up():
    inner = one_joint(lambda b, p, c: b.add_joint_distance(p, c, label="rope"))
    inner.add_articulation([inner.add_joint_revolute(-1, link(inner, "arm 2"), label="elbow", actuator_mode=2)])
    b = ModelBuilder()
    b.add_particle((0, 0, 0), (0, 0, 0), 1.0)
    b.replicate(inner, 20)
    refused(
        b,
        "1 particles",
        "DISTANCE",
        "joint 'world_0/rope' (index 1)",
        "and 16 more",
        "joint 'world_0/elbow' (index 2), DoF=0",
        count=3,
    )


def test_what_does_not_act_is_said():
    b = free_box()
    b.joint_friction[:] = [1.0] * 6
    model = build(b)
    tables = model_tables(model)
    with pytest.warns(UserWarning, match=r"joint_friction of free joints does not act: joint 'box_free_joint' \(index 0\), DoF=0"):
        check_model(model, tables, make_structure(model, tables))
    model = build(cartpole(velocity_limit=3.0))
    tables = model_tables(model)
    with pytest.warns(UserWarning, match=r"joint_velocity_limit does not act: joint 'pivot' \(index 1\), DoF=0"):
        check_model(model, tables, make_structure(model, tables))


def test_kinematic_bodies_need_no_mass():
    b = ModelBuilder()
    b.add_articulation([b.add_joint_revolute(-1, link(b, "wheel", is_kinematic=True, **NOTHING))])
    assert not problems_of(b)
    assert model_of(b).body_flags.numpy()[0] & BodyFlags.KINEMATIC


def test_flags_come_before_modes():
    for flags, actuated in (({}, [False, True]), ({"wrist": 0}, [False, False]), ({"root": 1}, [True, True])):
        model = build(two_axes(**flags))
        assert fk_actuated(model, make_structure(model, model_tables(model)).actuated).tolist() == actuated
    assert fk_actuated(build(cartpole()), np.array([True, False])).tolist() == [True, False]


def test_worlds_without_a_base():
    model = build(heterogeneous())
    tables = model_tables(model)
    message = base_warning(tables, make_structure(model, tables))
    assert "1 worlds have no base" in message and "articulation 'articulation_2' (index 2)" in message
    for make in (four_bar, legged, ModelBuilder):
        model = build(make())
        tables = model_tables(model)
        assert base_warning(tables, make_structure(model, tables)) is None
    b = ModelBuilder()
    b.add_joint_revolute(-1, link(b, "loose"))
    model = build(b)
    tables = model_tables(model)
    assert "no articulation has a root" in base_warning(tables, make_structure(model, tables))

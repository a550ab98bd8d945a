"""Which bodies move, which rows joints have and where worlds begin."""

import numpy as np
import pytest

from hooke import ModelBuilder
from hooke.joints.relative_motion import MOTIONS
from hooke.model.model import model_tables
from hooke.solvers.kamino.structure import Actuation, Route, make_structure
from tests.kamino.mechanisms import Dof, build, cartpole, four_bar, free_box, legged, link, nunchaku, one_joint


def structure_of(b, **options):
    model = b if not isinstance(b, ModelBuilder) else build(b, **options)
    return make_structure(model, model_tables(model))


def hinge(**options):
    """Rows of a hinge: [dynamic, effort, friction, lower, upper], and its route."""
    s = structure_of(one_joint(lambda b, p, c: b.add_joint_revolute(p, c, axis="Z", **options)))
    k = s.joint_dof[1]
    assert not s.dynamic[:k].any() and not s.effort[:k].any() and not s.friction[:k].any() and not s.limited[:k].any()
    return [int(getattr(s, name)[k]) for name in ("dynamic", "effort", "friction", "lower", "upper")], Route(s.route[k])


def test_four_bar_that_floats():
    s = structure_of(four_bar())
    assert (s.locked == 5).all() and s.locked.sum() == 20
    assert s.lower.all() and s.upper.all() and not s.dynamic.any() and not s.effort.any() and not s.friction.any()
    assert s.base_body.tolist() == [0] and s.base_joint.tolist() == [-1]
    assert not s.actuated.any() and len(s.actuated_coords) == 0 and s.acts.all() and not s.immovable.any()
    assert s.per_world(s.per_joint(s.limited)).tolist() == [4]
    assert (s.route == Route.BODY_WRENCHES).all()


def test_four_bar_with_a_fixed_bar_has_no_base():
    s = structure_of(four_bar(fixed=True))
    assert sorted(s.locked.tolist()) == [5, 5, 5, 5, 6] and s.base_body.tolist() == [-1] == s.base_joint.tolist()


def test_cartpole():
    s = structure_of(cartpole(armature=0.1, friction=0.2))
    assert s.mode.tolist() == [Actuation.FORCE, Actuation.PASSIVE] and s.actuated.tolist() == [True, False]
    assert s.effort.tolist() == [False, False]  # a force is clamped, it needs no row
    assert s.dynamic.tolist() == [False, True] and s.friction.tolist() == [False, True] and s.limited.tolist() == [True, False]
    assert s.route.tolist() == [Route.BODY_WRENCHES, Route.DYNAMIC] and s.base_body.tolist() == [-1]
    assert s.actuated_coords.tolist() == [0] and s.actuated_dof_start.tolist() == [0, 1]


def test_legs():
    s = structure_of(legged())
    assert s.base_joint.tolist() == [0] and s.base_body.tolist() == [0] and s.free.tolist() == [True] + [False] * 8
    assert s.effort[6:].all() and not s.effort[:6].any() and not s.dynamic.any() and (s.route[6:] == Route.EFFORT).all()
    assert (s.route[:6] == Route.BODY_WRENCHES).all() and s.locked.tolist() == [0] + [5] * 8
    assert s.actuated_coords.tolist() == list(range(7, 15)) and s.actuated_dofs.tolist() == list(range(6, 14))
    unbounded = structure_of(legged(effort_limit=1.0e6))
    assert unbounded.dynamic[6:].all() and not unbounded.effort.any() and (unbounded.route[6:] == Route.DYNAMIC).all()


@pytest.mark.parametrize(
    ("options", "rows", "route"),
    [
        ({}, [0, 0, 0, 0, 0], Route.BODY_WRENCHES),
        ({"armature": 0.1}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"damping": 0.1}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"stiffness": 0.1}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"friction": 0.1}, [0, 0, 1, 0, 0], Route.BODY_WRENCHES),
        ({"limit_lower": -1.0}, [0, 0, 0, 1, 0], Route.BODY_WRENCHES),
        ({"limit_upper": 1.0}, [0, 0, 0, 0, 1], Route.BODY_WRENCHES),
        ({"actuator_mode": 4}, [0, 0, 0, 0, 0], Route.BODY_WRENCHES),
        ({"actuator_mode": 4, "effort_limit": 5.0, "target_ke": 5.0}, [0, 0, 0, 0, 0], Route.BODY_WRENCHES),
        ({"actuator_mode": 0, "target_ke": 5.0, "target_kd": 1.0}, [0, 0, 0, 0, 0], Route.BODY_WRENCHES),
        ({"actuator_mode": 1, "target_ke": 5.0}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"actuator_mode": 1, "target_kd": 5.0}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"actuator_mode": 2, "target_kd": 5.0}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"actuator_mode": 2, "target_ke": 5.0}, [0, 0, 0, 0, 0], Route.BODY_WRENCHES),
        ({"actuator_mode": 3, "target_ke": 5.0}, [1, 0, 0, 0, 0], Route.DYNAMIC),
        ({"actuator_mode": 1, "target_ke": 5.0, "effort_limit": 2.0}, [0, 1, 0, 0, 0], Route.EFFORT),
        ({"actuator_mode": 1, "target_ke": 5.0, "effort_limit": 0.0}, [0, 1, 0, 0, 0], Route.EFFORT),
        ({"actuator_mode": 1, "target_ke": 5.0, "effort_limit": 2.0, "armature": 1.0}, [1, 1, 0, 0, 0], Route.EFFORT),
        ({"actuator_mode": 1, "target_ke": 5.0, "effort_limit": float("inf")}, [1, 0, 0, 0, 0], Route.DYNAMIC),
    ],
    ids=str,
)
def test_rows_of_a_hinge(options, rows, route):
    if options.get("effort_limit") == float("inf"):  # a builder refuses it, a model may have it
        model = build(one_joint(lambda b, p, c: b.add_joint_revolute(p, c, axis="Z", actuator_mode=1, target_ke=5.0)))
        limit = model.joint_effort_limit.numpy()
        limit[6] = np.inf
        model.joint_effort_limit.assign(limit)
        s = structure_of(model)
        assert s.dynamic[6] and not s.effort[6] and s.route[6] == route
        return
    assert hinge(**options) == (rows, route)


def test_modes():
    for target, mode in [(0, 0), (4, 1), (1, 2), (2, 3), (3, 4)]:
        s = structure_of(
            one_joint(lambda b, p, c, m=target: b.add_joint_revolute(p, c, actuator_mode=m, target_ke=1.0, target_kd=1.0))
        )
        assert s.mode[6] == mode == s.joint_mode[1]
    s = structure_of(
        one_joint(
            lambda b, p, c: b.add_joint_d6(p, c, angular_axes=[Dof(axis="x", actuator_mode=4), Dof(axis="y", actuator_mode=0)])
        )
    )
    assert s.mixed.tolist() == [False, True] and s.actuated[1] and s.joint_mode[1] == Actuation.FORCE


def motion_of(linear=(), angular=()):
    s = structure_of(
        one_joint(
            lambda b, p, c: b.add_joint_d6(
                p, c, linear_axes=[Dof(axis=a) for a in linear], angular_axes=[Dof(axis=a) for a in angular]
            )
        )
    )
    return (MOTIONS[s.kind[1]].name if s.kind[1] >= 0 else None), int(s.locked[1]), bool(s.left_handed[1])


@pytest.mark.parametrize(
    ("linear", "angular", "expected"),
    [
        ("", "", ("fixed", 6, False)),
        ("z", "", ("prismatic", 5, False)),
        ("", "y", ("revolute", 5, False)),
        ("z", "z", ("cylindrical", 4, False)),
        ("z", "x", (None, 0, False)),
        ("", "xz", ("universal", 4, False)),
        ("xyz", "", ("cartesian", 3, False)),
        ("", "xyz", ("gimbal", 3, False)),
        ("", "zyx", ("gimbal", 3, True)),
        ("xy", "z", (None, 0, False)),
        ("xyz", "xyz", (None, 0, False)),
        ("", [(1, 0, 0), (1, 1, 0)], (None, 0, False)),
    ],
)
def test_kinds_of_d6(linear, angular, expected):
    assert motion_of(list(linear), list(angular)) == expected


def test_kinds_of_other_joints():
    adders = {
        "revolute": lambda b, p, c: b.add_joint_revolute(p, c), "prismatic": lambda b, p, c: b.add_joint_prismatic(p, c),
        "ball": lambda b, p, c: b.add_joint_ball(p, c), "fixed": lambda b, p, c: b.add_joint_fixed(p, c),
        "free": lambda b, p, c: b.add_joint_free(c, parent=p), None: lambda b, p, c: b.add_joint_distance(p, c),
    }  # fmt: skip
    for name, adder in adders.items():
        s = structure_of(one_joint(adder))
        assert (MOTIONS[s.kind[1]].name if s.kind[1] >= 0 else None) == name
        assert s.locked[1] == {"revolute": 5, "prismatic": 5, "ball": 3, "fixed": 6, "free": 0, None: 0}[name]


def test_friction_of_a_free_joint_is_no_row():
    b = free_box()
    b.joint_friction[:] = [1.0] * 6
    b.joint_armature[:] = [1.0] * 6
    s = structure_of(b)
    assert not s.friction.any() and s.dynamic.all()


def test_immovable_bodies():
    b = ModelBuilder()
    link(b, "dynamic")
    link(b, "kinematic", is_kinematic=True)
    link(b, "massless", mass=0.0, inertia=np.zeros((3, 3)))
    link(b, "point", inertia=np.zeros((3, 3)))
    s = structure_of(b, skip_validation_inertia=True)
    assert s.immovable.tolist() == [False, True, True, False]
    assert s.kinematic.tolist() == [False, True, False, False] and s.singular.tolist() == [False, False, True, True]
    assert s.base_body.tolist() == [0]  # no joint is with the world


def test_joints_that_cannot_move_or_are_off_have_no_rows():
    options = {"friction": 1.0, "armature": 1.0, "limit_lower": -1.0}
    b = ModelBuilder()
    held, other, arm = link(b, "held", is_kinematic=True), link(b, "other", is_kinematic=True), link(b, "arm")
    b.add_articulation([b.add_joint_revolute(-1, held, **options)])
    b.add_articulation([b.add_joint_revolute(-1, other, **options)])
    b.add_articulation([b.add_joint_revolute(-1, arm, enabled=False, **options)])
    b.add_joint_revolute(held, arm, **options)
    s = structure_of(b)
    assert s.acts.tolist() == [False, False, False, True] and s.locked.tolist() == [0, 0, 0, 5]
    for name in ("dynamic", "friction", "lower"):
        assert getattr(s, name).tolist() == [False, False, False, True], name
    assert s.route.tolist() == [Route.NONE, Route.NONE, Route.NONE, Route.DYNAMIC]


def heterogeneous():
    b = ModelBuilder()
    for make in (four_bar, nunchaku, cartpole, free_box, legged):
        b.begin_world()
        make(b)
        b.end_world()
    return b


def test_heterogeneous_worlds():
    s = structure_of(heterogeneous())
    assert s.world_count == 5 and s.body_start.tolist() == [0, 4, 7, 9, 10, 19]
    assert s.joint_start.tolist() == [0, 4, 7, 9, 10, 19] and s.dof_start.tolist() == [0, 4, 16, 18, 24, 38]
    assert s.coord_start.tolist() == [0, 4, 19, 21, 28, 43] and s.coord_count == 43 and s.dof_count == 38
    assert s.actuated_coord_start.tolist() == [0, 0, 0, 1, 1, 9] and s.actuated_dof_start.tolist() == [0, 0, 0, 1, 1, 9]
    assert s.base_body.tolist() == [0, 4, -1, 9, 10] and s.base_joint.tolist() == [-1, 4, -1, 9, 10]
    assert s.per_world(s.locked).tolist() == [20, 6, 10, 0, 40]
    assert s.per_world(s.per_joint(s.effort)).tolist() == [0, 0, 0, 0, 8]
    assert s.body_world.tolist() == [0] * 4 + [1] * 3 + [2] * 2 + [3] + [4] * 9


def test_replicas_are_alike():
    one, b = structure_of(four_bar()), ModelBuilder()
    b.replicate(four_bar(), 3)
    s = structure_of(b)
    assert s.body_start.tolist() == [0, 4, 8, 12] and s.base_body.tolist() == [0, 4, 8]
    for name in ("kind", "locked", "lower", "dynamic", "route", "immovable"):
        assert getattr(s, name).tolist() == getattr(one, name).tolist() * 3, name


def test_the_base_is_the_free_root_of_the_first_articulation_that_has_one():
    b = ModelBuilder()
    held, tip, body = link(b, "held"), link(b, "tip"), link(b, "body")
    b.add_articulation([b.add_joint_revolute(-1, held), b.add_joint_revolute(held, tip)])
    b.add_articulation([b.add_joint_free(body, label="root")])
    s = structure_of(b)
    assert s.base_joint.tolist() == [2] and s.base_body.tolist() == [2]


def test_a_loose_free_joint_is_the_base_when_no_articulation_has_one():
    b = ModelBuilder()
    loose, held = link(b, "loose"), link(b, "held")
    b.add_joint_free(loose)
    b.add_articulation([b.add_joint_revolute(-1, held)])
    s = structure_of(b)
    assert s.base_joint.tolist() == [0] and s.base_body.tolist() == [0]


def test_a_model_of_one_world_has_the_entities_of_no_world_in_it():
    b = ModelBuilder()
    b.begin_world()
    four_bar(b)
    b.end_world()
    free_box(b)
    s = structure_of(b)
    assert s.body_start.tolist() == [0, 5] and s.joint_start.tolist() == [0, 5] and s.base_joint.tolist() == [4]


def test_nothing_at_all():
    s = structure_of(ModelBuilder())
    assert s.body_count == s.joint_count == s.dof_count == s.coord_count == 0
    assert s.body_start.tolist() == s.joint_start.tolist() == s.actuated_coord_start.tolist() == [0, 0]
    assert s.base_body.tolist() == s.base_joint.tolist() == [-1] and s.per_world(s.locked).tolist() == [0]


def test_mimics():
    b = cartpole()
    extra = link(b, "extra")
    b.add_articulation([b.add_joint_revolute(-1, extra, label="follower")])
    b.set_joint_mimic(2, 1, coeffs=(0.0, 2.0))
    b.add_constraint_mimic(0, 1)
    b.add_constraint_mimic(1, 0, enabled=False)
    b.add_constraint_mimic(1, 2)
    s = structure_of(b, skip_validation_joints=True)
    assert s.mimic_follower.tolist() == [2, 0, 1] and s.mimic_leader.tolist() == [1, 1, 2]
    assert s.mimic_constraint.tolist() == [-1, 0, 2] and s.mimic_rows.tolist() == [1, 1, 1]
    b.joint_enabled[0] = False
    assert structure_of(b, skip_validation_joints=True).mimic_follower.tolist() == [2, 1]


def test_it_is_a_copy():
    """What is changed in place later is compared with it."""
    model = build(heterogeneous())
    s = structure_of(model)
    kept = {name: value for name, value in vars(s).items() if isinstance(value, np.ndarray)}
    columns = [array.numpy() for table in model.tables.values() for array in table.arrays.values() if hasattr(array, "numpy")]
    assert len(kept) > 30 and columns
    assert not [name for name, value in kept.items() if any(np.shares_memory(value, column) for column in columns)]

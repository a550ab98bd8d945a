"""Field report "options live": every argument of SolverVBD, set to an extreme, changes the result or raises, or is exempt by name."""

import inspect
import warnings

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import SolverVBD
from tests.support import finalize, surface

from .bodies import clamped, same_bodies
from .scenes import add_cloth, same
from .surfaces import run, two_sheets
from .touching import boxes, touch

DT = 0.01


def range_of(count):
    return list(range(count))


ACTS = {
    "iterations": (1, {}),
    "friction_epsilon": (10.0, {"particle_contact_friction": "smoothed"}),
    "integrate_with_external_rigid_solver": (True, {}),
    "particle_contact_friction": ("smoothed", {}),
    "particle_acceleration": ("anderson", {}),
    "particle_tolerance": (1.0, {}),
    "rigid_avbd_beta": (1e5, {}),
    "rigid_avbd_linear_beta": (1e5, {}),
    "rigid_contact_k_start": (1.0, {"rigid_avbd_beta": 1e5}),
}
"""An extreme value of every argument that acts, and the other arguments that it needs for that."""

EXEMPT = {
    "particle_enable_tile_solve": False,  # on a CPU sixteen particles are swept at a time with every setting
    "deterministic": max(getattr(wp, "DeterministicMode", [None])),  # sums are deterministic anyway
    "particle_vertex_contact_buffer_size": 1,  # starting sizes
    "particle_edge_contact_buffer_size": 1,
    "rigid_body_contact_buffer_size": 1,
    "rigid_body_particle_contact_buffer_size": 1,
}
"""Arguments that must not change a result, with an extreme value of each."""

WIDE = {"particle_self_contact_radius": 0.06, "particle_self_contact_margin": 0.1}

ACTS_ON_SURFACE = {
    "particle_enable_self_contact": (False, {}),
    "particle_self_contact_radius": (0.001, {}),
    "particle_self_contact_margin": (0.01, {}),
    "particle_conservative_bound_relaxation": (0.01, {}),
    "particle_collision_detection_interval": (1, {}),
    "particle_edge_parallel_epsilon": (1.0, {}),
    "particle_topological_contact_filter_threshold": (10, WIDE),
    "particle_rest_shape_contact_exclusion_radius": (100.0, {}),
    "particle_external_vertex_contact_filtering_map": ({v: range_of(64) for v in range(50)}, {}),
    "particle_external_edge_contact_filtering_map": ({e: range_of(112) for e in range(112)}, {}),
    "particle_self_contact_ownership": ("pair", {}),
}
"""The same of self-contact, in a scene of two cloths that collide."""

ACTS_ON_JOINTS = {
    "rigid_avbd_alpha": (0.0, {}),
    "rigid_avbd_joint_alpha": (0.1, {}),
    "rigid_avbd_gamma": (0.0, {}),
    "rigid_avbd_angular_beta": (1e3, {}),
    "rigid_joint_linear_ke": (1e12, {}),
    "rigid_joint_angular_ke": (1e12, {}),
    "rigid_joint_linear_k_start": (1e6, {"rigid_avbd_beta": 1e3}),
    "rigid_joint_angular_k_start": (1e6, {"rigid_avbd_beta": 1e3}),
    "rigid_joint_linear_kd": (1e3, {}),
    "rigid_joint_angular_kd": (10.0, {}),
    "rigid_compliant_alm": (False, {}),
}
"""The same of joints, in a scene of two bodies on fixed joints."""

ACTS_ON_CONTACTS = {
    "rigid_contact_hard": (False, {}),
    "rigid_avbd_contact_alpha": (0.1, {}),
}
"""The same of contacts between bodies, in a scene of a box that has sunk into the ground."""

ACTS_ON_PAGE = {
    "rigid_contact_history": (True, {}),
    "rigid_contact_stick_motion_eps": (0.0, {}),
    "rigid_contact_stick_freeze_translation_eps": (0.0, {}),
    "rigid_contact_stick_freeze_angular_eps": (0.0, {}),
}
"""The same in the documented formulation only, in a scene of two boxes that fall on each other."""

MORE_ON_PAGE = {
    "rigid_contact_hard": (False, {}),
    "rigid_avbd_contact_alpha": (0.1, {}),
    "iterations": (3, {}),
    "friction_epsilon": (10.0, {"rigid_contact_hard": False}),
    "rigid_avbd_alpha": (0.1, {}),
    "rigid_avbd_gamma": (0.0, {"rigid_contact_history": True}),
    "rigid_avbd_beta": (1e5, {}),
    "rigid_avbd_linear_beta": (1e5, {}),
    "rigid_contact_k_start": (1.0, {"rigid_avbd_beta": 1e5}),
}
"""Arguments that act there, too."""

PARAMETERS = [p for p in inspect.signature(SolverVBD.__init__).parameters.values() if p.name not in ("self", "model")]


@pytest.fixture(scope="module")
def model():
    """A cloth on a box that moves sideways and up."""
    builder = hooke.ModelBuilder()
    body = builder.add_body(xform=(0.15, 0.15, -0.5, 0.0, 0.0, 0.0, 1.0), is_kinematic=True)
    builder.add_shape_box(body, hx=1.0, hy=1.0, hz=0.5, cfg=surface(mu=0.5))
    add_cloth(builder, 0.02)
    return finalize(builder)


def moved(model, steps=15, change=None, **options):
    """The last state; ``change`` (solver) is called halfway."""
    solver = SolverVBD(model, **options)
    state, other, contacts = model.state(), model.state(), model.contacts()
    for n in range(steps):
        if change is not None and n == steps // 2:
            change(solver)
        state.body_q.assign([(0.15 + 0.004 * n, 0.15, -0.5 + 0.002 * n, 0.0, 0.0, 0.0, 1.0)])
        other.body_q.assign([(0.15 + 0.004 * (n + 1), 0.15, -0.5 + 0.002 * (n + 1), 0.0, 0.0, 0.0, 1.0)])
        model.collide(state, contacts)
        solver.step(state, other, None, contacts, DT)
        state, other = other, state
    assert int(contacts.soft_contact_count.numpy()[0]) == model.particle_count and solver.status.ok
    return state


def test_every_argument_is_listed_once():
    names = [p.name for p in PARAMETERS]
    lists = [*ACTS, *EXEMPT, *ACTS_ON_SURFACE, *ACTS_ON_JOINTS, *ACTS_ON_CONTACTS, *ACTS_ON_PAGE]
    assert len(lists) == len(set(lists)) and set(lists) <= set(names)
    assert set(names) - set(lists) == set()


@pytest.mark.parametrize("name", ACTS)
def test_arguments_that_act(model, name):
    value, others = ACTS[name]
    default = next(p.default for p in PARAMETERS if p.name == name)
    assert not same(moved(model, **others, **{name: value}), moved(model, **others, **{name: default}))


@pytest.mark.parametrize("name", EXEMPT)
def test_arguments_that_are_exempt(model, cloths, stack, name):
    assert same(moved(model, **{name: EXEMPT[name]}), moved(model))
    assert same_bodies(stacked(stack, **{name: EXEMPT[name]}), stacked(stack))
    assert same(collided(cloths, **{name: EXEMPT[name]}), collided(cloths))


@pytest.fixture(scope="module")
def cloths():
    return two_sheets(5.0, 0.03, kd=0.1, mu=0.3)


def collided(cloths, **options):
    """The state after two cloths have met."""
    result = run(cloths, steps=5, **options)
    assert result.solver.status.overflow == {}
    return result.state


@pytest.mark.parametrize("name", ACTS_ON_SURFACE)
def test_arguments_that_act_on_surfaces(model, cloths, name):
    """They change a collision, and nothing where self-contact is off."""
    value, others = ACTS_ON_SURFACE[name]
    assert not same(collided(cloths, **{**others, name: value}), collided(cloths, **others))
    if name != "particle_enable_self_contact":
        assert same(moved(model, **{name: value_off(name, value)}), moved(model))


@pytest.mark.parametrize("name", [*ACTS_ON_JOINTS, "iterations", "rigid_avbd_beta", "rigid_avbd_linear_beta"])
def test_arguments_that_act_on_joints(model, name):
    """They change the motion of bodies, and nothing where there are none."""
    value, others = ACTS_ON_JOINTS.get(name, (5, {}))
    default = next(p.default for p in PARAMETERS if p.name == name)
    others = {"iterations": 2, **others}
    assert not same_bodies(clamped(**{**others, name: value}), clamped(**{**others, name: default}))
    if name in ACTS_ON_JOINTS:
        assert same(moved(model, **{name: value}), moved(model))


@pytest.mark.parametrize(
    "name", [*(n for n in ACTS_ON_JOINTS if n != "rigid_compliant_alm"), "iterations", "rigid_avbd_beta", "rigid_avbd_linear_beta"]
)
def test_arguments_that_act_on_joints_in_the_documented_formulation(name):
    value, others = ACTS_ON_JOINTS.get(name, (5, {}))
    others = {"rigid_compliant_alm": False, "iterations": 2, **others}
    result = clamped(**{**others, name: value})
    assert not same_bodies(result, clamped(**others)) and np.isfinite(result.body_q.numpy()).all()


def sunk(**options):
    """The pose after a step of a box that has sunk into the ground."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    builder.add_shape_box(builder.add_body(xform=(0.0, 0.0, 0.45, 0.0, 0.0, 0.0, 1.0)), hx=0.5, hy=0.5, hz=0.5)
    built = finalize(builder)
    state, other, contacts = built.state(), built.state(), built.contacts()
    built.collide(state, contacts)
    SolverVBD(built, **options).step(state, other, None, contacts, DT)
    return other.body_q.numpy()


@pytest.mark.parametrize("name", ACTS_ON_CONTACTS)
def test_arguments_that_act_on_contacts(model, name):
    """They change the motion of bodies that touch, and nothing where there are none."""
    value, others = ACTS_ON_CONTACTS[name]
    assert not np.array_equal(sunk(**others, **{name: value}), sunk(**others))
    assert same(moved(model, **{name: value}), moved(model))


@pytest.fixture(scope="module")
def stack():
    return boxes(2, drop=0.0005, angle=0.1, mu=0.3)


def stacked(stack, change=None, **options):
    """The last state of two boxes that have fallen on each other; ``change`` (solver) is called halfway."""
    options = {"rigid_compliant_alm": False, **options}
    half = touch(stack, 10, DT, **options)
    if change is not None:
        change(half.solver)
    more = {"solver": half.solver, "state": half.state, "pipeline": half.pipeline, "contacts": half.contacts}
    return touch(stack, 10, DT, **more).state


@pytest.mark.parametrize("name", [*ACTS_ON_PAGE, *MORE_ON_PAGE])
def test_arguments_that_act_in_the_documented_formulation(stack, name):
    value, others = {**ACTS_ON_PAGE, **MORE_ON_PAGE}[name]
    default = next(p.default for p in PARAMETERS if p.name == name)
    result = stacked(stack, **{**others, name: value})
    assert not same_bodies(result, stacked(stack, **{**others, name: default}))
    assert np.isfinite(result.body_q.numpy()).all()


def value_off(name, value):
    """Maps must name what there is."""
    return {0: [1]} if name.endswith("_map") else value


@pytest.mark.parametrize(("name", "value", "others"), [
    ("iterations", 1, {}), ("friction_epsilon", 10.0, {"particle_contact_friction": "smoothed"}),
    ("rigid_avbd_linear_beta", 1e5, {}), ("rigid_contact_k_start", 1.0, {"rigid_avbd_beta": 1e5}),
])  # fmt: skip
def test_attributes_that_are_changed_between_steps(model, name, value, others):
    """From the next step on, recorded or not."""
    result = moved(model, change=lambda solver: setattr(solver, name, value), **others)
    assert not same(result, moved(model, **others))
    assert not same(result, moved(model, **others, **{name: value}))
    assert np.isfinite(result.particle_q.numpy()).all()


@pytest.mark.parametrize("name", ["friction_epsilon", "rigid_avbd_linear_beta", "rigid_contact_k_start"])
def test_attributes_that_are_changed_between_steps_of_bodies(stack, name):
    value, others = MORE_ON_PAGE[name]
    result = stacked(stack, change=lambda solver: setattr(solver, name, value), **others)
    assert not same_bodies(result, stacked(stack, **others))
    assert not same_bodies(result, stacked(stack, **others, **{name: value}))


@pytest.mark.parametrize("beta", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("alm", [True, False], ids=["default", "page"])
def test_ramps_may_begin_at_nothing(stack, alm, beta):
    """Seeds and stiffness of 0 are allowed: what begins at nothing ramps, and what has no stiffness does not act; all is finite."""
    seeds = {f"rigid_{name}_k_start": 0.0 for name in ("contact", "joint_linear", "joint_angular")}
    options = {"rigid_compliant_alm": alm, "rigid_avbd_beta": beta, **seeds}
    for state in (clamped(**options), stacked(stack, **options), stacked(stack, rigid_contact_hard=False, **options)):
        assert np.isfinite(state.body_q.numpy()).all() and np.abs(state.body_qd.numpy()).max() < 10.0
    loose = clamped(rigid_compliant_alm=alm, rigid_joint_linear_ke=0.0, rigid_joint_angular_ke=0.0)
    assert np.isfinite(loose.body_q.numpy()).all()
    for law in ("anchored", "smoothed"):
        builder = hooke.ModelBuilder()
        builder.add_ground_plane(cfg=surface(mu=0.5))
        add_cloth(builder, 0.02)
        cloth = finalize(builder)
        solver = SolverVBD(cloth, rigid_avbd_beta=beta, rigid_contact_k_start=0.0, particle_contact_friction=law)
        state, other, contacts = cloth.state(), cloth.state(), cloth.contacts()
        for _ in range(30):
            cloth.collide(state, contacts)
            solver.step(state, other, None, contacts, DT)
            state, other = other, state
        assert np.isfinite(state.particle_q.numpy()).all()


@pytest.mark.parametrize("name", [name for name in ACTS_ON_PAGE if "stick" in name])
def test_thresholds_of_sticking_say_where_they_do_not_act(stack, name):
    """By default there is nothing to freeze: another threshold is warned of and changes nothing; 0 is what is done anyway."""
    with pytest.warns(UserWarning, match=f"{name} will have no effect"):
        result = stacked(stack, rigid_compliant_alm=True, **{name: 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_bodies(result, stacked(stack, rigid_compliant_alm=True, **{name: 0.0}))

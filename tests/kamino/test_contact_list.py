"""Contacts of SolverKamino: lists by world, frames, materials, first guesses, read-out. No solver: impulses are made up."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.execution.recorder import Recorder
from hooke.model.model import model_tables
from hooke.solvers.kamino.config.parts import CollisionDetectorConfig
from hooke.solvers.kamino.contacts.contact_list import ContactList
from hooke.solvers.kamino.contacts.detector import Detector
from hooke.solvers.kamino.contacts.memory import WARM_STARTS
from hooke.solvers.kamino.contacts.points import MIXES
from hooke.solvers.kamino.ncp.problem import make_problem
from tests.support import UPRIGHT

UP = np.array([0.0, 0.0, 1.0])


def boxes(heights, worlds=1, mu=(0.5, 0.5), restitution=(0.0, 0.0)):
    """A stack of boxes of 0.2 m on the ground in every world."""
    tower = hooke.ModelBuilder()
    for z in heights:
        body = tower.add_body(xform=wp.transform(wp.vec3(0.3, 0.0, z), wp.quat(*UPRIGHT)))
        config = hooke.ModelBuilder.ShapeConfig(mu=mu[1], restitution=restitution[1], gap=0.01)
        tower.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=config)
    builder = hooke.ModelBuilder()
    ground = hooke.ModelBuilder.ShapeConfig(mu=mu[0], restitution=restitution[0], gap=0.01)
    builder.add_ground_plane(cfg=ground)
    builder.replicate(tower, worlds)
    return builder.finalize(device="cpu")


def found(model, culls=False, **materials):
    state, contacts = model.state(), None
    contacts = model.collide(state)
    still = wp.zeros(model.body_count, dtype=wp.int32, device="cpu")
    contact_list = ContactList(model_tables(model), model.world_count, still, Recorder(model.device), wp.float64)
    contact_list.reserve(contacts.rigid_contact_max)
    contact_list.materials.culls = int(culls)
    for name, rule in materials.items():
        setattr(contact_list.materials, name, MIXES[rule])
    contact_list.find(contacts, state.body_q)
    return contact_list, contacts, state


def problem(contact_list):
    made = make_problem(wp.float64)()
    for name, annotation in make_problem(wp.float64).vars.items():
        setattr(made, name, wp.zeros(3 * contact_list.room, dtype=annotation.type.dtype, device="cpu"))
    return made


def column(contact_list, name):
    return getattr(contact_list.points, name).numpy()[: int(contact_list.points.first.numpy()[-1])]


def test_worlds_have_their_own_contacts():
    """Three worlds of two boxes: eight contacts in each, of bodies of that world alone."""
    contact_list, _, _ = found(boxes((0.1, 0.3), worlds=3))
    assert contact_list.points.first.numpy().tolist() == [0, 8, 16, 24]
    for w in range(3):
        mine = slice(8 * w, 8 * w + 8)
        assert set(column(contact_list, "world")[mine]) == {w}
        assert set(column(contact_list, "body_b")[mine]) == {2 * w, 2 * w + 1}
        assert set(column(contact_list, "body_a")[mine]) == {-1, 2 * w}


def test_normals_point_to_b_and_arms_to_surfaces():
    contact_list, _, _ = found(boxes((0.0995, 0.3)))
    bottom = column(contact_list, "body_a") == -1
    assert np.allclose(column(contact_list, "normal"), UP)
    assert np.allclose(column(contact_list, "distance")[bottom], -0.0005, atol=1e-7)
    assert np.allclose(column(contact_list, "distance")[~bottom], 0.0005, atol=1e-7)
    assert np.allclose(np.abs(column(contact_list, "arm_b") - (0.0, 0.0, 0.0)), 0.1, atol=1e-6)
    assert np.allclose(column(contact_list, "arm_a")[bottom][:, 2], 0.0, atol=1e-7)


def test_what_is_apart_is_culled_on_request():
    assert len(column(found(boxes((0.0995, 0.3)), culls=True)[0], "world")) == 4
    assert len(column(found(boxes((0.0995, 0.3)), culls=False)[0], "world")) == 8


def test_the_deepest_of_a_pair_are_kept():
    """A tilted box on the ground: of four corners the two that are deepest."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.01)
    builder.add_shape_box(builder.add_body(xform=wp.transform(wp.vec3(0.0, 0.0, 0.0985), turn)), hx=0.1, hy=0.1, hz=0.1)
    model = builder.finalize(device="cpu")
    contact_list, contacts, state = found(model)
    depths = np.sort(column(contact_list, "distance"))
    assert len(depths) == 4 and depths[1] < depths[2] - 1e-3
    contact_list.materials.most = 2
    contact_list.find(contacts, state.body_q)
    assert np.allclose(np.sort(column(contact_list, "distance")), depths[:2])


@pytest.mark.parametrize("broadphase", ["explicit", "nxn", "sap"])
def test_the_own_detector_sees_as_far_as_it_is_told(broadphase):
    """Shapes without a gap, 0.5 mm apart: four contacts within 1 mm, none within the default of 1e-5 m."""
    config = hooke.ModelBuilder.ShapeConfig(gap=0.0)
    builder = hooke.ModelBuilder()
    builder.add_ground_plane(cfg=config)
    builder.add_shape_box(builder.add_body(xform=wp.transform((0.0, 0.0, 0.1005), UPRIGHT)), hx=0.1, hy=0.1, hz=0.1, cfg=config)
    model = builder.finalize(device="cpu")
    for gap, number in ((None, 0), (1.0e-3, 4)):
        detector = Detector(model, CollisionDetectorConfig(default_gap=gap, broadphase=broadphase))
        assert int(detector.detect(model.state()).rigid_contact_count.numpy()[0]) == number
    assert not model.shape_gap.numpy().any()


def test_the_primitive_detector_names_what_it_does_not_know():
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    builder.add_shape_cone(builder.add_body(), radius=0.1, half_height=0.1, label="hat")
    with pytest.raises(ValueError, match=r'"hat" \(index 1\), a cone'):
        Detector(builder.finalize(device="cpu"), CollisionDetectorConfig(pipeline="primitive"))


@pytest.mark.parametrize(
    ("rule", "value"), [("average", 0.5), ("multiply", 0.16), ("max", 0.8), ("min", 0.2), ("geometric_average", 0.4)]
)
def test_materials_are_mixed_by_rule(rule, value):
    """Theory 3.7 at 0.8 and 0.2."""
    model = boxes((0.1,), mu=(0.8, 0.2), restitution=(0.8, 0.2))
    contact_list, _, _ = found(model, friction=rule, restitution=rule)
    assert np.allclose(column(contact_list, "friction"), value)
    assert np.allclose(column(contact_list, "restitution"), value)


def test_nothing_is_left_of_a_buffer_of_none():
    contact_list, _, state = found(boxes((0.1,)))
    contact_list.find(None, state.body_q)
    assert contact_list.points.first.numpy().tolist() == [0, 0]


def remembered(forces, worlds=1, heights=(0.1, 0.3)):
    """A list that remembers some forces (t, o, n) [N]."""
    contact_list, contacts, state = found(boxes(heights, worlds))
    given, start = problem(contact_list), wp.array(3 * contact_list.points.first.numpy()[:-1], dtype=wp.int32, device="cpu")
    impulse = np.zeros(3 * contact_list.room)
    impulse[: forces.size] = 0.01 * forces.reshape(-1)
    given.impulse.assign(impulse)
    contact_list.remember(state.body_q, start, given, 0.01)
    given.impulse.zero_()
    return contact_list, contacts, state, given, start


def test_contacts_are_found_again():
    """The same pass: every contact begins with its own force, times the share that is asked for."""
    forces = np.random.default_rng(0).uniform(0.0, 1.0, (16, 3)) * (0.1, 0.1, 1.0)
    forces[:, 2] += 1.0
    contact_list, _, state, given, start = remembered(forces, worlds=2)
    contact_list.recall(state.body_q, start, "key_and_position", 0.9, given, 0.02)
    assert np.allclose(given.impulse.numpy()[:48].reshape(-1, 3), 0.9 * 0.02 * forces, atol=1e-12)


def test_worlds_are_forgotten_alone():
    forces = np.tile((0.0, 0.0, 1.0), (16, 1))
    contact_list, _, state, given, start = remembered(forces, worlds=2)
    contact_list.forget(wp.array([True, False], dtype=wp.bool, device="cpu"))
    contact_list.recall(state.body_q, start, "key_and_position", 1.0, given, 0.01)
    assert np.allclose(given.impulse.numpy()[:48].reshape(-1, 3)[:, 2], [0.0] * 8 + [0.01] * 8)


def test_pairs_share_their_force():
    """Theory 5.6: the sum of a pair over the number of its contacts, in the new cone."""
    forces = np.zeros((4, 3))
    forces[0] = (0.4, 0.0, 8.0)
    contact_list, _, state, given, start = remembered(forces, heights=(0.1,))
    contact_list.recall(state.body_q, start, "geom_pair_net_force", 1.0, given, 0.01)
    assert np.allclose(given.impulse.numpy()[:12].reshape(-1, 3), np.tile((0.001, 0.0, 0.02), (4, 1)), atol=1e-12)


@pytest.mark.parametrize("way", WARM_STARTS)
def test_guesses_lie_in_the_cone(way):
    """A force of much friction on one contact of four, every way: mu = 0.5 bounds each guess."""
    forces = np.zeros((4, 3))
    forces[0] = (30.0, 40.0, 8.0)
    contact_list, _, state, given, start = remembered(forces, heights=(0.1,))
    contact_list.recall(state.body_q, start, way, 1.0, given, 0.01)
    guess = given.impulse.numpy()[:12].reshape(-1, 3)
    assert (np.hypot(guess[:, 0], guess[:, 1]) <= 0.5 * guess[:, 2] + 1e-15).all()
    assert guess.max() > 0.0


def test_forces_are_read_for_the_shape_that_rows_name_second():
    """Force on the body of shape 1 and torque about the origin, whichever side of the contact that is."""
    forces = np.tile((0.0, 0.0, 2.0), (8, 1))
    contact_list, contacts, state, _, _ = remembered(forces)
    force = wp.zeros(contact_list.room, dtype=wp.vec3, device="cpu")
    wrench = wp.zeros(contact_list.room, dtype=wp.spatial_vector, device="cpu")
    contact_list.read(contacts, state.body_q, force, wrench)
    assert np.allclose(force.numpy()[:8], 2.0 * UP)
    assert not force.numpy()[8:].any()
    total = wrench.numpy()[:4].sum(axis=0)
    assert np.allclose(total, (0.0, 0.0, 8.0, 0.0, -8.0 * 0.3, 0.0), atol=1e-5)  # the lower box stands at x = 0.3

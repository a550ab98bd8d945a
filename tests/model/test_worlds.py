"""Worlds: who belongs to which, gravity per world, replicated builders, and how the rules are enforced."""

import numpy as np
import pytest
import warp as wp

from hooke import Mesh, ModelBuilder

ZERO = (0.0, 0.0, 0.0)
KINDS = ("particle", "body", "shape", "joint", "articulation")


def fill(b, particles=1, bodies=1):
    """Particles, bodies with a shape each, and one static shape."""
    for _ in range(particles):
        b.add_particle(ZERO, ZERO, 1.0)
    for _ in range(bodies):
        b.add_shape_box(b.add_body())
    b.add_shape_sphere(-1)
    return b


def part(particles=1, bodies=1, **options):
    return fill(ModelBuilder(**options), particles, bodies)


def test_without_worlds_everything_is_shared():
    m = part(2, 3).finalize(device="cpu")
    assert m.world_count == 1
    for kind, count in zip(KINDS, (2, 3, 4, 3, 3)):
        assert getattr(m, f"{kind}_world").numpy().tolist() == [-1] * count
        assert getattr(m, f"{kind}_world_start").numpy().tolist() == [0, 0, count]
    assert m.gravity.numpy().shape == (1, 3)
    np.testing.assert_allclose(m.gravity.numpy(), [(0, 0, -9.81)])


def test_starts_with_shared_entities_before_and_after():
    b = ModelBuilder()
    b.add_ground_plane()
    b.add_particle(ZERO, ZERO, 1.0)
    for n in (2, 0, 1):
        b.begin_world()
        for _ in range(n):
            b.add_particle(ZERO, ZERO, 1.0)
        b.add_shape_box(-1)
        b.end_world()
    b.add_particle(ZERO, ZERO, 1.0)
    m = b.finalize(device="cpu")
    assert m.world_count == 3
    assert m.particle_world.numpy().tolist() == [-1, 0, 0, 2, -1]
    assert m.particle_world_start.numpy().tolist() == [1, 3, 3, 4, 5]  # worlds 0 to 2, trailing shared ones, total
    assert m.shape_world.numpy().tolist() == [-1, 0, 1, 2]
    assert m.shape_world_start.numpy().tolist() == [1, 2, 3, 4, 4]
    assert m.body_world_start.numpy().tolist() == [0, 0, 0, 0, 0]


def test_begin_and_end():
    b = ModelBuilder()
    assert b.begin_world() == 0
    assert b.current_world == 0
    with pytest.raises(RuntimeError, match=r"begin_world.*world 0.*end_world"):
        b.begin_world()
    fill(b)
    with pytest.raises(RuntimeError, match=r"finalize.*world 0.*end_world"):
        b.finalize(device="cpu")
    b.end_world()
    assert b.current_world == -1
    with pytest.raises(RuntimeError, match=r"end_world.*begin_world"):
        b.end_world()
    assert b.begin_world("arena") == 1
    b.end_world()
    m = b.finalize(device="cpu")
    assert m.world_count == 2
    assert m.world_label == ["world_0", "arena"]


def test_gravity_of_every_world():
    b = ModelBuilder(gravity=-3.0)
    b.begin_world()
    b.end_world()
    b.begin_world(gravity=-5.0)
    b.end_world()
    b.add_world(part(gravity=(1.0, 0.0, 0.0)))
    b.replicate(part(gravity=-1.0), 2)
    m = b.finalize(device="cpu")
    expected = [(0, 0, -3), (0, 0, -5), (1, 0, 0), (0, 0, -1), (0, 0, -1), (0, 0, -3)]  # the last is of what has no world
    np.testing.assert_allclose(m.gravity.numpy(), expected)


def test_set_gravity():
    b = ModelBuilder(up_axis="y")
    b.replicate(part(), 2)
    m = b.finalize(device="cpu")
    m.set_gravity(-2.0)
    np.testing.assert_allclose(m.gravity.numpy(), [(0, -2, 0)] * 3)
    m.set_gravity((1, 2, 3), world=1)
    m.set_gravity(0.0, world=-1)
    np.testing.assert_allclose(m.gravity.numpy(), [(0, -2, 0), (1, 2, 3), (0, 0, 0)])
    m.set_gravity([(1, 0, 0), (2, 0, 0), (3, 0, 0)])
    np.testing.assert_allclose(m.gravity.numpy()[:, 0], (1, 2, 3))
    for wrong in (3, -2):
        with pytest.raises(ValueError, match=rf"set_gravity.*{wrong}"):
            m.set_gravity(-1.0, world=wrong)
    with pytest.raises(ValueError, match=r"set_gravity.*nan"):
        m.set_gravity((0, 0, np.nan))
    with pytest.raises(ValueError, match="set_gravity"):
        m.set_gravity([(1, 0, 0), (2, 0, 0)])
    np.testing.assert_allclose(m.gravity.numpy()[:, 0], (1, 2, 3))


def test_set_gravity_keeps_the_array():
    """What a solver has bound, or a graph recorded, is the array."""
    m = part().finalize(device="cpu")
    before = m.gravity.ptr
    m.set_gravity(-1.0)
    assert m.gravity.ptr == before


@pytest.mark.parametrize(
    "count, spacing, expected",
    [
        (3, (2, 0, 0), [(-2, 0, 0), (0, 0, 0), (2, 0, 0)]),
        (2, (0, 3, 0), [(0, -1.5, 0), (0, 1.5, 0)]),
        (1, (2, 2, 0), [(0, 0, 0)]),
        (4, (2, 4, 0), [(-1, -2, 0), (1, -2, 0), (-1, 2, 0), (1, 2, 0)]),
        (3, (0, 0, 0), [(0, 0, 0)] * 3),
        (2, (0, 0, 5), [(0, 0, 0), (0, 0, 5)]),  # not centred along the up axis: nothing goes below the ground
    ],
)
def test_replicate_places_copies_on_a_centred_grid(count, spacing, expected):
    inner = ModelBuilder()
    inner.add_particle((0.5, 0, 0), ZERO, 1.0)
    b = ModelBuilder()
    b.replicate(inner, count, spacing)
    places = b.particle_q.array - np.array([0.5, 0, 0])
    np.testing.assert_allclose(sorted(places.tolist()), sorted(map(list, expected)))
    assert b.world_count == count and list(b.particle_world) == list(range(count))


def test_replicate_options():
    inner = part()
    for wrong in (0, -1, None):
        with pytest.raises(ValueError, match="copy_count"):
            ModelBuilder().replicate(inner, wrong)
    b = ModelBuilder()
    b.replicate(inner, world_count=2, label_prefixes=["left", "right"])
    assert list(b.body_label) == ["left/body_0", "right/body_0"]
    b = ModelBuilder()
    b.replicate(inner, 2, xforms=[(1, 0, 0, 0, 0, 0, 1), wp.transform((0, 2, 0), wp.quat(0.0, 0.0, 1.0, 0.0))])
    np.testing.assert_allclose(b.particle_q.array, [(1, 0, 0), (0, 2, 0)])
    b = ModelBuilder()
    b.begin_world()
    b.replicate(inner, 3, (1, 0, 0), separate_worlds=False)
    b.end_world()
    assert b.world_count == 1 and list(b.particle_world) == [0, 0, 0]
    np.testing.assert_allclose(b.particle_q.array[:, 0], (-1, 0, 1))


def test_copies_share_their_meshes():
    mesh = Mesh.create_sphere(0.5, num_latitudes=8, num_longitudes=8)
    inner = ModelBuilder()
    inner.add_shape_mesh(-1, mesh=mesh)
    b = ModelBuilder()
    b.replicate(inner, 3, (2, 0, 0))
    assert all(source is mesh for source in b.shape_source)
    m = b.finalize(device="cpu")
    pointers = m.shape_source_ptr.numpy()
    assert pointers[0] != 0 and len(set(pointers.tolist())) == 1


def test_shared_and_local_entities_of_replicated_worlds():
    b = ModelBuilder()
    b.add_ground_plane()
    b.replicate(part(2, 1), 3)
    m = b.finalize(device="cpu")
    assert m.particle_world.numpy().tolist() == [0, 0, 1, 1, 2, 2]
    assert m.shape_world.numpy().tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert m.shape_body.numpy().tolist() == [-1, 0, -1, 1, -1, 2, -1]
    assert m.joint_world.numpy().tolist() == m.articulation_world.numpy().tolist() == [0, 1, 2]
    assert m.joint_child.numpy().tolist() == [0, 1, 2]


def test_worlds_do_not_nest():
    inner = ModelBuilder()
    inner.add_world(part())
    b = ModelBuilder()
    b.begin_world()
    with pytest.raises(ValueError, match=r"add_builder.*worlds"):
        b.add_builder(inner)
    b.end_world()
    with pytest.raises(ValueError, match=r"add_builder.*worlds"):
        b.add_world(inner)
    assert b.particle_count == 0


def test_worlds_of_an_added_builder_follow_those_that_exist():
    inner = ModelBuilder(gravity=-2.0)
    inner.replicate(part(gravity=-1.0), 2)
    b = ModelBuilder()
    b.add_world(part())
    b.add_builder(inner, label_prefix="more")
    assert list(b.particle_world) == [0, 1, 2] and b.world_count == 3
    assert list(b.body_label)[1:] == ["more/world_0/body_0", "more/world_1/body_0"]
    m = b.finalize(device="cpu")
    np.testing.assert_allclose(m.gravity.numpy()[:, 2], (-9.81, -1, -1, -9.81), rtol=1e-6)
    assert m.world_label[1:] == ["more/world_0", "more/world_1"]


def test_entities_of_a_world_must_be_contiguous():
    b = ModelBuilder()
    b.replicate(part(2), 2)
    b.particle_world[0] = 1
    with pytest.raises(ValueError, match=r"particle 1 of world 0 follows one of world 1.*begin_world"):
        b.finalize(device="cpu")
    b.finalize(device="cpu", skip_validation_worlds=True)
    b.finalize(device="cpu", skip_all_validations=True)


def test_a_shared_entity_between_worlds_is_named_by_its_label():
    b = ModelBuilder()
    b.replicate(part(), 2)
    b.shape_label[2] = "lid"
    b.shape_world[2] = -1
    with pytest.raises(ValueError, match=r"shape 'lid' \(index 2\) of world -1 follows one of world 0"):
        b.finalize(device="cpu")


def test_a_world_that_does_not_exist():
    b = part()
    b.particle_world[0] = 3
    with pytest.raises(ValueError, match=r"particle 0.*particle_world is 3"):
        b.finalize(device="cpu")

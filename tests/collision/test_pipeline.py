"""CollisionPipeline: order of rows, counters, buffers that grow, worlds, flags, and memory that is linear in the number of worlds."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import CollisionPipeline, Contacts, ModelBuilder, ParticleFlags, ShapeConfig, ShapeFlags, solvers

ZERO = (0.0, 0.0, 0.0)


def at(x, y, z):
    return wp.transform(wp.vec3(x, y, z), wp.quat_identity())


def particles(b, points, **options):
    return b.add_particles(points, [ZERO] * len(points), [1.0] * len(points), [0.1] * len(points), **options)


def boxes_and_plane(points, boxes=3):
    """Boxes of side 1 in a row, 1.05 apart, on a ground plane."""
    b = ModelBuilder()
    for k in range(boxes):
        b.add_shape_box(-1, xform=at(1.05 * k, 0.0, 0.5))
    b.add_ground_plane()
    particles(b, points)
    return b.finalize(device="cpu")


CROWD = np.random.default_rng(0).uniform((-1, -0.7, -0.05), (3.2, 0.7, 1.1), size=(200, 3))


def rows_of(contacts):
    n = min(int(contacts.soft_contact_count.numpy()[0]), contacts.soft_contact_max)
    names = ("particle", "shape", "body_pos", "normal", "tids")
    return {name: getattr(contacts, f"soft_contact_{name}").numpy()[:n] for name in names}


def detect(model, **options):
    pipeline = CollisionPipeline(model, **options)
    contacts = pipeline.contacts()
    pipeline.collide(model.state(), contacts)
    return contacts


def pairs(contacts):
    rows = rows_of(contacts)
    return list(zip(rows["particle"].tolist(), rows["shape"].tolist()))


# ---- rows and counters


def test_rows_are_sorted_by_particle_then_shape():
    contacts = detect(boxes_and_plane(CROWD))
    found = pairs(contacts)
    assert len(found) > 150
    assert len({p for p, _ in found}) < len(found)  # some particles touch several shapes
    assert found == sorted(set(found))


def test_detection_repeats_bitwise():
    model = boxes_and_plane(CROWD)
    one, two = rows_of(detect(model)), rows_of(detect(model))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_counters_and_generation():
    model = boxes_and_plane(CROWD)
    pipeline = CollisionPipeline(model)
    contacts = pipeline.contacts()
    assert contacts.contact_generation.numpy().tolist() == [0]
    for n in range(1, 4):
        pipeline.collide(model.state(), contacts)
        assert contacts.contact_generation.numpy().tolist() == [n]
        assert contacts.soft_contact_count.numpy().tolist() == [len(pairs(contacts))]
        assert contacts.contact_counters.numpy().tolist() == [0, len(pairs(contacts)), 0, 0]
        assert contacts.rigid_contact_count.numpy().tolist() == [0]
    contacts.contact_generation.fill_(2**31 - 1)
    pipeline.collide(model.state(), contacts)
    assert contacts.contact_generation.numpy().tolist() == [0]


def test_contacts_that_end_are_gone():
    model = boxes_and_plane([(0, 0, 1.05), (0, 0, 5)])
    contacts, state = model.contacts(), model.state()
    model.collide(state, contacts)
    assert pairs(contacts) == [(0, 0)]
    state.particle_q.assign([(0, 0, 5), (0, 0, 5)])
    model.collide(state, contacts)
    assert pairs(contacts) == []
    assert contacts.soft_contact_count.numpy().tolist() == [0]
    state.particle_q.assign([(0, 0, 5), (1.05, 0, 1)])
    assert model.collide(state, contacts) is contacts
    assert pairs(contacts) == [(1, 1)]


def test_model_collide_makes_a_buffer():
    model = boxes_and_plane([(0, 0, 1.05)])
    contacts = model.collide(model.state())
    assert isinstance(contacts, Contacts) and pairs(contacts) == [(0, 0)]
    wide = CollisionPipeline(model, soft_contact_gap=5.0)
    contacts = model.collide(model.state(), collision_pipeline=wide)
    assert pairs(contacts) == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert model.contacts(wide).soft_contact_max == wide.soft_contact_max


def test_the_default_gap_is_a_centimetre():
    reach = 0.1 + 0.01
    for z, found in ((1 + reach - 1e-4, True), (1 + reach + 1e-4, False)):
        assert bool(pairs(detect(boxes_and_plane([(0, 0, z)])))) is found


# ---- buffers


def test_the_sizes_are_published():
    model = boxes_and_plane(CROWD)
    pipeline = CollisionPipeline(model)
    assert pipeline.soft_contact_pair_count == 200 * 4
    assert model.soft_contact_max == pipeline.soft_contact_max == pipeline.contacts().soft_contact_max == 800
    assert model.rigid_contact_max == pipeline.rigid_contact_max == 0
    pipeline = CollisionPipeline(model, soft_contact_max=7)
    assert model.soft_contact_max == pipeline.contacts().soft_contact_max == 7


@pytest.mark.parametrize("size", [0, 1, 2, 4, 100])
def test_a_buffer_that_is_too_small_grows(size):
    model = boxes_and_plane(CROWD)
    large = detect(model)
    small = detect(model, soft_contact_max=size)
    needed = len(pairs(large))
    assert size < needed <= small.soft_contact_max == model.soft_contact_max
    assert small.soft_contact_count.numpy().tolist() == [needed]
    one, two = rows_of(large), rows_of(small)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])
    assert len(small.soft_rows.particle) == small.soft_contact_max


def test_a_buffer_that_is_large_enough_stays():
    model = boxes_and_plane(CROWD)
    needed = len(pairs(detect(model)))
    pipeline = CollisionPipeline(model, soft_contact_max=needed)
    contacts = pipeline.contacts()
    before = contacts.soft_contact_particle.ptr
    pipeline.collide(model.state(), contacts)
    assert contacts.soft_contact_particle.ptr == before and contacts.soft_contact_max == needed
    assert len(pairs(contacts)) == needed


def test_growth_keeps_the_force_column():
    model = boxes_and_plane(CROWD)
    model.request_contact_attributes("force")
    contacts = detect(model, soft_contact_max=1)
    assert len(contacts.force) == contacts.soft_contact_max


def test_no_shapes_no_particles_nothing():
    empty = ModelBuilder().finalize(device="cpu")
    contacts = empty.collide(empty.state())
    assert contacts.soft_contact_max == 0 and contacts.contact_counters.numpy().tolist() == [0, 0, 0, 0]
    b = ModelBuilder()
    particles(b, CROWD)
    model = b.finalize(device="cpu")
    contacts = model.collide(model.state())
    assert contacts.soft_contact_max == 0 and contacts.contact_generation.numpy().tolist() == [1]
    b = ModelBuilder()
    b.add_ground_plane()
    model = b.finalize(device="cpu")
    contacts = model.collide(model.state())
    assert contacts.soft_contact_max == 0 and contacts.contact_counters.numpy().tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("options", [{"soft_contact_gap": -0.01}, {"soft_contact_gap": np.nan}, {"soft_contact_max": -1}])
def test_options_out_of_range(options):
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"CollisionPipeline.*{name}.*{value}"):
        CollisionPipeline(boxes_and_plane(CROWD), **options)


def test_the_former_name_of_the_gap():
    model = boxes_and_plane([(0, 0, 1.3)])
    assert pairs(detect(model)) == []
    assert pairs(detect(model, soft_contact_margin=0.25)) == [(0, 0)]


def test_a_gap_of_one_pass_that_is_out_of_range():
    model = boxes_and_plane(CROWD)
    pipeline = CollisionPipeline(model)
    with pytest.raises(ValueError, match="soft_contact_margin"):
        pipeline.collide(model.state(), pipeline.contacts(), soft_contact_margin=-1.0)


def test_a_particle_at_nan_has_no_contact_and_disturbs_no_other():
    points = CROWD.copy()
    clean = pairs(detect(boxes_and_plane(points)))
    model = boxes_and_plane(points)
    pipeline, state = CollisionPipeline(model), model.state()
    for value in (np.nan, np.inf, -np.inf):
        broken = points.copy()
        broken[7] = value
        state.particle_q.assign(broken.astype(np.float32))
        contacts = pipeline.contacts()
        pipeline.collide(state, contacts)
        assert pairs(contacts) == [pair for pair in clean if pair[0] != 7]


# ---- who meets whom


def test_flags_of_shapes():
    b = ModelBuilder()
    off = ShapeConfig(has_particle_collision=False)
    alone = ShapeConfig(has_shape_collision=False, is_visible=False, collision_group=0)
    for cfg, site in ((None, False), (off, False), (alone, False), (None, True)):
        b.add_shape_box(-1, cfg=cfg, as_site=site)
    b.add_ground_plane(height=-10.0)
    particles(b, [(0, 0, 0.55)])
    model = b.finalize(device="cpu")
    assert pairs(detect(model)) == [(0, 0), (0, 2)]
    contacts = model.contacts()
    flags = model.shape_flags.numpy()
    flags[0] &= ~int(ShapeFlags.COLLIDE_PARTICLES)
    model.shape_flags.assign(flags)  # read live
    model.collide(model.state(), contacts)
    assert pairs(contacts) == [(0, 2)]


def test_flags_of_particles():
    b = ModelBuilder()
    b.add_shape_box(-1)
    b.add_ground_plane(height=-10.0)
    particles(b, [(0, 0, 0.55)] * 4, flags=[1, 0, int(ParticleFlags.PROXY), 3])
    b.particle_mass[0] = 0.0  # fixed, but it may hold something up one day
    model = b.finalize(device="cpu")
    assert pairs(detect(model)) == [(0, 0), (3, 0)]
    contacts = model.contacts()
    model.particle_flags = np.array([0, 1, 0, 0])
    model.collide(model.state(), contacts)
    assert pairs(contacts) == [(1, 0)]


def test_radius_and_margin_are_read_live():
    model = boxes_and_plane([(0, 0, 1.5)])
    contacts = model.contacts()
    model.collide(model.state(), contacts)
    assert pairs(contacts) == []
    model.particle_radius = np.array([0.6])
    model.collide(model.state(), contacts)
    assert pairs(contacts) == [(0, 0)]
    model.particle_radius = np.array([0.1])
    model.shape_margin = np.array([0.0, 0.0, 0.0, 1.45])
    model.collide(model.state(), contacts)
    assert pairs(contacts) == [(0, 3)]


def in_worlds():
    """A shared box, a box in each of two worlds, all at one place; particles of both worlds and a shared one, all at one place."""
    b = ModelBuilder()
    b.add_shape_box(-1, label="shared")
    b.add_ground_plane(height=-10.0)
    for _ in range(2):
        b.begin_world()
        b.add_shape_box(-1)
        particles(b, [(0, 0, 0.55)])
        b.end_world()
    particles(b, [(0, 0, 0.55)])
    return b.finalize(device="cpu")


def test_worlds():
    """Shapes 0 and 1 are shared, 2 is of world 0, 3 of world 1; particles 0 and 1 are of these worlds, 2 is shared."""
    model = in_worlds()
    assert pairs(detect(model)) == [(0, 0), (0, 2), (1, 0), (1, 3), (2, 0), (2, 2), (2, 3)]
    assert CollisionPipeline(model).soft_contact_pair_count == 3 + 3 + 4


def test_pairs_are_counted_by_world():
    b = ModelBuilder()
    b.add_shape_box(-1)
    b.add_ground_plane()
    part = ModelBuilder()
    part.add_shape_box(-1)
    particles(part, CROWD[:5])
    b.replicate(part, 4)
    assert CollisionPipeline(b.finalize(device="cpu")).soft_contact_pair_count == 4 * 5 * 3


def test_every_world_finds_what_it_finds_alone():
    part = ModelBuilder()
    for k in range(3):
        part.add_shape_box(-1, xform=at(1.05 * k, 0.0, 0.5))
    particles(part, CROWD)
    alone = ModelBuilder()
    alone.add_builder(part)
    alone.add_ground_plane()
    expected = rows_of(detect(alone.finalize(device="cpu")))
    b = ModelBuilder()
    b.replicate(part, 3)
    b.add_ground_plane()  # shape 9, shared
    rows = rows_of(detect(b.finalize(device="cpu")))
    for w in range(3):
        mine = rows["particle"] // len(CROWD) == w
        np.testing.assert_array_equal(rows["particle"][mine] - w * len(CROWD), expected["particle"])
        shape = np.where(rows["shape"][mine] == 9, 3, rows["shape"][mine] - 3 * w)
        order = np.lexsort((shape, rows["particle"][mine]))
        np.testing.assert_array_equal(shape[order], expected["shape"])
        np.testing.assert_array_equal(rows["normal"][mine][order], expected["normal"])
        np.testing.assert_array_equal(rows["body_pos"][mine][order], expected["body_pos"])


# ---- memory


def reachable_bytes(*roots):
    """Bytes of all different arrays that can be reached from some objects."""
    seen, total, stack = set(), {}, list(roots)
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, (str, bytes, int, float, type(None), type)):
            continue
        seen.add(id(thing))
        if isinstance(thing, wp.array):
            if thing.ptr:
                total[thing.ptr] = max(total.get(thing.ptr, 0), thing.capacity)
        elif isinstance(thing, np.ndarray):
            total[("numpy", thing.ctypes.data)] = thing.nbytes
        elif isinstance(thing, dict):
            stack += list(thing.values())
        elif isinstance(thing, (list, tuple, set)):
            stack += list(thing)
        elif hasattr(thing, "_cls") and hasattr(thing._cls, "vars"):  # an instance of a wp.struct
            stack += [getattr(thing, name) for name in thing._cls.vars]
        elif type(thing).__module__.startswith("hooke") and hasattr(thing, "__dict__"):
            stack += list(vars(thing).values())
    return sum(total.values())


def crowded_worlds(count):
    """8 static boxes and a soft block in every world."""
    part = ModelBuilder()
    for k in range(8):
        part.add_shape_box(-1, xform=at(0.3 * k - 1.0, 0.0, -0.11), hx=0.1, hy=0.1, hz=0.1)
    part.add_soft_grid(
        pos=wp.vec3(0.0), rot=wp.quat_identity(), vel=wp.vec3(0.0), dim_x=2, dim_y=2, dim_z=2, cell_x=0.1, cell_y=0.1, cell_z=0.1,
        density=100.0, k_mu=1e4, k_lambda=1e4, k_damp=0.0, particle_radius=0.02,
    )  # fmt: skip
    part.color()
    b = ModelBuilder()
    b.replicate(part, count, (3.0, 0.0, 0.0))
    b.add_ground_plane(height=-1.0)
    return b.finalize(device="cpu")


def test_reachable_bytes_are_those_of_all_arrays():
    model = crowded_worlds(1)
    least = sum(a.capacity for t in model.tables.values() for a in t.arrays.values() if isinstance(a, wp.array))
    assert least > 10000
    assert least <= reachable_bytes(model) < 2 * least
    contacts = model.contacts()
    assert reachable_bytes(contacts) >= contacts.soft_contact_max * 60
    assert reachable_bytes(contacts, contacts) == reachable_bytes(contacts)


def test_memory_is_linear_in_the_number_of_worlds():
    """{8 static boxes + soft grid} in 16 to 128 worlds: bytes(2 W) / bytes(W) <= 2.05."""
    used = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in (16, 32, 64, 128):
            model = crowded_worlds(count)
            contacts = model.contacts()
            model.collide(model.state(), contacts)
            solver = solvers.SolverVBD(model)
            assert CollisionPipeline(model).soft_contact_pair_count == count * 27 * 9
            assert int(contacts.soft_contact_count.numpy()[0]) % count == 0
            used[count] = reachable_bytes(model, contacts, solver)
    for count in (16, 32, 64):
        assert used[2 * count] / used[count] <= 2.05, used
    assert used[128] / used[16] > 6.0  # it is the arrays that are counted

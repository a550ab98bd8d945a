"""Which shapes may meet, and the broad phases: against loops over all pairs that follow the documented rules."""

import itertools

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import CollisionPipeline, GeoType, ModelBuilder, ShapeConfig, ShapeFlags
from hooke.model.enums import BodyFlags
from tests.support import UPRIGHT

MARGIN, GAP = 0.01, 0.03
BROAD_PHASES = ("explicit", "nxn", "sap")


def may_meet(model, i, j, idle=True):
    """The documented rules, one after the other."""
    flags, body, world, group = (getattr(model, f"shape_{n}").numpy() for n in ("flags", "body", "world", "collision_group"))
    if not (flags[i] & ShapeFlags.COLLIDE_SHAPES and flags[j] & ShapeFlags.COLLIDE_SHAPES):
        return False
    if body[i] == body[j]:  # of one body, or both static
        return False
    if world[i] != world[j] and min(world[i], world[j]) >= 0:
        return False
    if group[i] == 0 or group[j] == 0:
        return False
    if group[i] > 0 and group[j] > 0 and group[i] != group[j]:
        return False
    if group[i] < 0 and group[i] == group[j]:
        return False
    if (min(i, j), max(i, j)) in model.shape_collision_filter_pairs:
        return False
    still = [b < 0 or bool(model.body_flags.numpy()[b] & BodyFlags.KINEMATIC) for b in (body[i], body[j])]
    return idle or not all(still)


def random_scene(seed, worlds=3, per_world=14, shared=6):
    """Spheres on bodies with one or two shapes, static ones, planes, in worlds and shared, with groups, flags and filters at random."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder()

    def fill(count, planes):
        for k in range(count):
            place = (*rng.uniform(-0.5, 0.5, 3), *UPRIGHT)
            body = -1 if k % 5 == 0 else b.add_body(xform=place, is_kinematic=k % 7 == 3)
            for _ in range(rng.integers(1, 3)):
                cfg = ShapeConfig(
                    margin=MARGIN, gap=GAP, collision_group=int(rng.choice([1, 1, 1, 2, -1, -2, 0])),
                    has_shape_collision=bool(rng.random() < 0.9),
                )  # fmt: skip
                b.add_shape_sphere(body, radius=float(rng.uniform(0.05, 0.2)), cfg=cfg, xform=place if body < 0 else None)
        for _ in range(planes):
            b.add_ground_plane(height=float(rng.uniform(-0.4, 0.0)), cfg=ShapeConfig(margin=MARGIN, gap=GAP))

    fill(shared, 1)
    for _ in range(worlds):
        b.begin_world()
        fill(per_world, 1)
        b.end_world()
    fill(shared, 1)
    for _ in range(20):
        i, j = rng.choice(b.shape_count, 2, replace=False)
        b.add_shape_collision_filter_pair(int(i), int(j))
    return b.finalize(device="cpu")


def centers(model, state):
    body, local = model.shape_body.numpy(), model.shape_transform.numpy()[:, :3].astype(np.float64)
    moved = state.body_q.numpy()[:, :3].astype(np.float64)
    return np.where(body[:, None] >= 0, moved[np.maximum(body, 0)] + local, local)


def surface_distance(model, x, i, j):
    """Between spheres, or a sphere and a horizontal plane; None of two planes."""
    types, radius = model.shape_type.numpy(), model.shape_scale.numpy()[:, 0].astype(np.float64)
    planes = [k for k in (i, j) if types[k] == GeoType.PLANE]
    if len(planes) == 2:
        return None
    if planes:
        sphere = j if planes[0] == i else i
        return x[sphere, 2] - x[planes[0], 2] - radius[sphere]
    return np.linalg.norm(x[i] - x[j]) - radius[i] - radius[j]


def found_pairs(pipeline):
    pairs, count = pipeline.rigid.broad_phase.pairs, pipeline.rigid.broad_phase.needed()
    return np.stack([pairs.owner.numpy()[:count], pairs.other.numpy()[:count]], axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_model_lists_pairs_by_the_documented_rules(seed):
    model = random_scene(seed)
    expected = [(i, j) for i, j in itertools.combinations(range(model.shape_count), 2) if may_meet(model, i, j)]
    assert len(expected) > 100
    assert [tuple(pair) for pair in model.shape_contact_pairs.numpy().tolist()] == expected
    assert model.shape_contact_pair_count == len(expected)


@pytest.mark.parametrize("idle", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_broad_phases_find_the_same_pairs(seed, idle):
    """Every pair whose surfaces are within reach, none that may not meet, none whose boxes are apart; the same rows from all."""
    model = random_scene(seed)
    state = model.state()
    x, reach = centers(model, state), 2 * (MARGIN + GAP)
    near, boxed = set(), set()
    radius = np.where(model.shape_type.numpy() == GeoType.PLANE, np.inf, model.shape_scale.numpy()[:, 0])
    for i, j in itertools.combinations(range(model.shape_count), 2):
        distance = surface_distance(model, x, i, j) if may_meet(model, i, j, idle) else None
        if distance is None:
            continue
        apart = np.abs(x[i] - x[j]) - radius[i] - radius[j]
        if distance < reach + 1e-6 or (np.isfinite(apart).all() and (apart < reach + 1e-5).all()):
            boxed.add((i, j))
        if distance < reach - 1e-6:
            near.add((i, j))
    rows = {}
    for name in BROAD_PHASES:
        pipeline = CollisionPipeline(model, broad_phase=name, include_static_kinematic_pairs=idle)
        contacts = pipeline.contacts()
        pipeline.collide(state, contacts)
        pairs = found_pairs(pipeline)
        found = {tuple(sorted(pair)) for pair in pairs.tolist()}
        assert len(found) == len(pairs)
        assert near <= found <= boxed, name
        count = int(contacts.rigid_contact_count.numpy()[0])
        assert count >= len(near) > 20
        rows[name] = [pairs, *(v.numpy()[:count] for v in (contacts.rigid_contact_shape0, contacts.rigid_contact_point0))]
    for name in BROAD_PHASES[1:]:
        for a, b in zip(rows["explicit"], rows[name], strict=True):
            np.testing.assert_array_equal(a, b)


def test_owners_come_in_order():
    """Pairs are sorted by owner and other: what moves owns what does not, and of two that move the smaller index the other."""
    model = random_scene(5)
    pipeline = CollisionPipeline(model, broad_phase="sap")
    pipeline.collide(model.state(), pipeline.contacts())
    pairs, static = found_pairs(pipeline), model.shape_body.numpy() < 0
    assert (np.lexsort((pairs[:, 1], pairs[:, 0])) == np.arange(len(pairs))).all()
    assert not static[pairs[:, 0]].any()
    both = ~static[pairs[:, 1]]
    assert (pairs[both, 0] < pairs[both, 1]).all()
    assert both.any() and not both.all()


def test_many_partners_of_one_shape():
    """A body that meets hundreds of others: the order within an owner does not depend on how they are found."""
    b = ModelBuilder()
    b.add_shape_sphere(b.add_body(), radius=1.0)
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(300, 3)):
        b.add_shape_sphere(b.add_body(xform=(*(direction / np.linalg.norm(direction)), *UPRIGHT)), radius=0.01)
    model = b.finalize(device="cpu")
    rows = []
    for name in ("sap", "nxn"):
        pipeline = CollisionPipeline(model, broad_phase=name)
        pipeline.collide(model.state(), pipeline.contacts())
        rows.append(found_pairs(pipeline))
        assert rows[-1][:300].tolist() == [[0, j] for j in range(1, 301)]
    np.testing.assert_array_equal(*rows)


def two_spheres(**settings):
    b = ModelBuilder()
    for k in range(2):
        cfg = ShapeConfig(**{name: value[k] if isinstance(value, tuple) else value for name, value in settings.items()})
        b.add_shape_sphere(b.add_body(xform=(0.9 * k, 0.0, 0.0, *UPRIGHT)), radius=0.5, cfg=cfg)
    return b


def count_rows(model, **options):
    pipeline = CollisionPipeline(model, **options)
    contacts = pipeline.contacts()
    pipeline.collide(model.state(), contacts)
    return int(contacts.rigid_contact_count.numpy()[0])


@pytest.mark.parametrize(
    "groups, meet", [((1, 1), 1), ((1, 2), 0), ((0, 1), 0), ((0, -1), 0), ((-1, 1), 1), ((-1, -1), 0), ((-1, -2), 1)]
)
def test_groups(groups, meet):
    model = two_spheres(collision_group=groups).finalize(device="cpu")
    for name in BROAD_PHASES:
        assert count_rows(model, broad_phase=name) == meet


def test_groups_and_flags_are_read_live():
    model = two_spheres().finalize(device="cpu")
    pipeline = CollisionPipeline(model)
    contacts = pipeline.contacts()

    def count():
        pipeline.collide(model.state(), contacts)
        return int(contacts.rigid_contact_count.numpy()[0])

    assert count() == 1
    model.shape_collision_group = np.array([1, 2])
    assert count() == 0
    model.shape_collision_group = np.array([1, 1])
    assert count() == 1
    model.shape_flags = np.array([int(ShapeFlags.COLLIDE_SHAPES), 0])
    assert count() == 0


def test_filter_pairs():
    b = two_spheres()
    b.add_shape_collision_filter_pair(1, 0)
    assert b.shape_collision_filter_pairs == [(0, 1)]
    model = b.finalize(device="cpu")
    assert model.shape_collision_filter_pairs == {(0, 1)}
    assert model.shape_collision_filter_contains(1, 0)
    assert model.shape_collision_filter_pairs_array.numpy().tolist() == [[0, 1]]
    assert [count_rows(model, broad_phase=name) for name in BROAD_PHASES] == [0, 0, 0]
    assert count_rows(model, shape_pairs_filtered=[(1, 0)]) == 1  # given pairs are taken as they are


def test_filter_pairs_move_with_their_builder():
    both = ModelBuilder()
    b = two_spheres()
    b.add_shape_collision_filter_pair(0, 1)
    both.add_builder(b)
    both.add_builder(b, xform=(5.0, 0.0, 0.0, *UPRIGHT))
    both.add_builder(two_spheres(), xform=(10.0, 0.0, 0.0, *UPRIGHT))
    model = both.finalize(device="cpu")
    assert model.shape_collision_filter_pairs == {(0, 1), (2, 3)}
    assert count_rows(model) == 1
    both.shape_collision_filter_pairs = [(5, 4)]
    assert count_rows(both.finalize(device="cpu")) == 2


@pytest.mark.parametrize("pair", [(0, 0), (0, 2), (-1, 0)])
def test_filter_pairs_are_checked(pair):
    with pytest.raises(ValueError, match="two different shapes from 0 to 1"):
        two_spheres().add_shape_collision_filter_pair(*pair)
    b = two_spheres()
    b.shape_collision_filter_pairs.append((0, 7))
    with pytest.raises(ValueError, match="shape_collision_filter_pairs"):
        b.finalize(device="cpu")


def test_shapes_of_one_body_and_static_shapes_do_not_meet():
    b = ModelBuilder()
    body = b.add_body()
    for owner in (body, body, -1, -1):
        b.add_shape_sphere(owner, radius=0.5)
    model = b.finalize(device="cpu")
    for name in BROAD_PHASES:
        assert count_rows(model, broad_phase=name) == 4
    static = ModelBuilder()
    for _ in range(2):
        static.add_shape_sphere(-1, radius=0.5)
    pipeline = CollisionPipeline(static.finalize(device="cpu"))
    assert not pipeline.rigid.active
    assert pipeline.rigid_contact_max == 0


def test_static_and_kinematic_pairs():
    b = ModelBuilder()
    b.add_shape_sphere(-1, radius=0.5)
    for kinematic in (True, True, False):
        b.add_shape_sphere(b.add_body(is_kinematic=kinematic), radius=0.5)
    model = b.finalize(device="cpu")
    for name in BROAD_PHASES:
        assert count_rows(model, broad_phase=name) == 6
        assert count_rows(model, broad_phase=name, include_static_kinematic_pairs=False) == 3
    assert count_rows(model, shape_pairs_filtered=[(0, 1), (2, 3)], include_static_kinematic_pairs=False) == 1


def test_default_broad_phase():
    model = two_spheres().finalize(device="cpu")
    assert CollisionPipeline(model).rigid.broad_phase.name == "nxn"
    part, many = two_spheres(), ModelBuilder()
    many.replicate(part, 40)
    assert CollisionPipeline(many.finalize(device="cpu")).rigid.broad_phase.name == "nxn"  # two shapes in every world
    crowd = ModelBuilder()
    for k in range(60):
        crowd.add_builder(part, xform=(3.0 * k, 0.0, 0.0, *UPRIGHT))
    assert CollisionPipeline(crowd.finalize(device="cpu")).rigid.broad_phase.name == "sap"


@pytest.mark.parametrize(
    "pairs, message",
    [([(0, 2)], "0 to 1"), ([(1, 1)], "two different"), ([(-1, 0)], "0 to 1"), ([0, 1, 1], "shape")],
)
def test_given_pairs_are_checked(pairs, message):
    with pytest.raises(ValueError, match=message):
        CollisionPipeline(two_spheres().finalize(device="cpu"), shape_pairs_filtered=pairs)


def test_given_pairs():
    b = ModelBuilder()
    for k in range(4):
        b.add_shape_sphere(b.add_body(xform=(0.1 * k, 0.0, 0.0, *UPRIGHT)), radius=0.5)
    model = b.finalize(device="cpu")
    given = wp.array([[3, 0], [0, 3], [2, 1]], dtype=wp.vec2i, device="cpu")
    pipeline = CollisionPipeline(model, shape_pairs_filtered=given)
    contacts = pipeline.contacts()
    pipeline.collide(model.state(), contacts)
    assert contacts.rigid_contact_shape0.numpy()[:3].tolist() == [0, 1, -1]
    assert contacts.rigid_contact_shape1.numpy()[:2].tolist() == [3, 2]
    assert count_rows(model, shape_pairs_filtered=[]) == 0
    model.shape_contact_pairs = [(0, 1)]
    assert count_rows(model, broad_phase="explicit") == 1


def test_arguments():
    model = two_spheres().finalize(device="cpu")
    for name in ("narrow_phase", "sdf_hydroelastic_config"):
        with pytest.raises(NotImplementedError, match=name):
            CollisionPipeline(model, **{name: object()})
    for name in ("requires_grad", "body_pair_reduction", "dynamic_shape_scale"):
        with pytest.raises(NotImplementedError, match=name):
            CollisionPipeline(model, **{name: True})
        CollisionPipeline(model, **{name: False})
    for name in ("rigid_contact_max", "shape_pairs_max", "max_triangle_pairs", "contact_matching_pos_threshold"):
        with pytest.raises(ValueError, match=name):
            CollisionPipeline(model, **{name: -1})
    with pytest.raises(ValueError, match="broad_phase"):
        CollisionPipeline(model, broad_phase="bvh")
    with pytest.raises(ValueError, match="explicit"):
        CollisionPipeline(model, broad_phase="sap", shape_pairs_filtered=[(0, 1)])
    with pytest.raises(ValueError, match="contact_matching"):
        CollisionPipeline(model, contact_matching="last")
    pipeline = CollisionPipeline(model)
    with pytest.raises(NotImplementedError, match="solver"):
        pipeline.collide(model.state(), pipeline.contacts(), soft_self_contact=True)
    with pytest.raises(ValueError, match="dt"):
        pipeline.collide(model.state(), pipeline.contacts(), dt=-1.0)
    assert hooke.CollisionPipeline is CollisionPipeline

"""Rows of contacts between shapes: the documented conventions, their order, buffers that grow, captures and workers."""

import warnings

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import CollisionPipeline, Contacts, GeoType, ModelBuilder, ShapeConfig
from hooke.model.motion import quat_rotate
from tests.support import UPRIGHT

ROWS = ("shape0", "shape1", "point0", "point1", "normal", "offset0", "offset1", "margin0", "margin1", "point_id", "tids")


def detect(model, state=None, **options):
    pipeline = CollisionPipeline(model, **options)
    contacts = pipeline.contacts()
    pipeline.collide(model.state() if state is None else state, contacts)
    return contacts


def rows_of(contacts, names=ROWS):
    count = int(contacts.rigid_contact_count.numpy()[0])
    assert count <= contacts.rigid_contact_max
    return {name: getattr(contacts, f"rigid_contact_{name}").numpy()[:count].copy() for name in names}


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


def in_world(model, state, shape, point):
    """Points of the frames of the bodies of shapes in the world, float64."""
    body = model.shape_body.numpy()[shape]
    pose = state.body_q.numpy().astype(np.float64)[np.maximum(body, 0)]
    moved = pose[:, :3] + quat_rotate(pose[:, 3:], point.astype(np.float64))
    return np.where(body[:, None] >= 0, moved, point)


def separation(model, state, rows):
    """The signed separation of every row by its documented formula."""
    p0, p1 = (in_world(model, state, rows[f"shape{k}"], rows[f"point{k}"]) for k in (0, 1))
    return np.einsum("ij,ij->i", rows["normal"], p1 - p0) - rows["margin0"] - rows["margin1"]


# ---- the numbers of the documented conventions


def test_sphere_on_the_ground():
    """A sphere of radius 0.5 at height 0.45: the plane is shape 0, points are cores, the offset leads to the surface."""
    b = ModelBuilder()
    b.add_shape_sphere(b.add_body(xform=(0.0, 0.0, 0.45, *UPRIGHT)), radius=0.5)
    b.add_ground_plane()
    model = b.finalize(device="cpu")
    rows = rows_of(detect(model))
    assert (rows["shape0"].tolist(), rows["shape1"].tolist()) == ([1], [0])
    np.testing.assert_allclose(rows["point0"], [[0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(rows["point1"], [[0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(rows["normal"], [[0, 0, 1]], atol=1e-6)
    np.testing.assert_allclose(rows["offset0"], [[0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(rows["offset1"], [[0, 0, -0.5]], atol=1e-6)
    assert (rows["margin0"][0], rows["margin1"][0]) == (0.0, 0.5)
    np.testing.assert_allclose(separation(model, model.state(), rows), [-0.05], atol=1e-6)


def test_two_spheres_that_overlap():
    """Radius 0.5, overlap 0.01, one above the other: the normal points from the first to the second, the middle is between them."""
    b = ModelBuilder()
    for height in (0.0, 0.99):
        b.add_shape_sphere(b.add_body(xform=(0.0, 0.0, height, *UPRIGHT)), radius=0.5)
    model = b.finalize(device="cpu")
    rows = rows_of(detect(model))
    np.testing.assert_allclose(rows["normal"], [[0, 0, 1]], atol=1e-6)
    np.testing.assert_allclose(separation(model, model.state(), rows), [-0.01], atol=1e-6)
    surface = in_world(model, model.state(), rows["shape0"], rows["point0"] + rows["offset0"])
    np.testing.assert_allclose(surface, [[0, 0, 0.5]], atol=1e-6)


@pytest.mark.parametrize("gap, margin, found", [(0.0, 0.0, 0), (0.06, 0.0, 1), (0.04, 0.0, 0), (0.0, 0.06, 1), (0.02, 0.04, 1)])
def test_margin_and_gap(gap, margin, found):
    """Spheres 0.1 m apart: a row where the distance less both margins is below the sum of the gaps."""
    b = ModelBuilder()
    for x in (0.0, 1.1):
        b.add_shape_sphere(b.add_body(xform=(x, 0.0, 0.0, *UPRIGHT)), radius=0.5, cfg=ShapeConfig(gap=gap, margin=margin))
    model = b.finalize(device="cpu")
    rows = rows_of(detect(model))
    assert len(rows["shape0"]) == found
    if found:
        np.testing.assert_allclose(rows["margin1"], 0.5 + margin, rtol=1e-6)
        np.testing.assert_allclose(rows["offset1"], [[-0.5 - margin, 0.0, 0.0]], atol=1e-6)
        np.testing.assert_allclose(separation(model, model.state(), rows), 0.1 - 2 * margin, atol=1e-6)


def test_default_gaps_look_ahead_by_their_sum():
    b = ModelBuilder()
    for x in (0.0, 1.199, 2.41):
        b.add_shape_sphere(b.add_body(xform=(x, 0.0, 0.0, *UPRIGHT)), radius=0.5)
    rows = rows_of(detect(b.finalize(device="cpu")))
    assert (rows["shape0"].tolist(), rows["shape1"].tolist()) == ([0], [1])


def tilted_scene(origin=(0.0, 0.0, 0.0)):
    """Spheres and boxes with offsets of their shapes, turned bodies, a tilted static plane and a static box, about a place."""
    rng = np.random.default_rng(3)
    origin = np.asarray(origin, np.float64)
    b = ModelBuilder()
    b.rigid_gap = 0.02

    def turn():
        q = rng.normal(size=4)
        return q / np.linalg.norm(q)

    b.add_shape_plane(xform=(*origin, 0.1, 0.2, 0.05, np.sqrt(1 - 0.0525)), width=0.0, length=0.0, cfg=ShapeConfig(margin=0.004))
    b.add_shape_box(-1, xform=(*(origin + (0.2, 0.1, 0.1)), *turn()), hx=0.3, hy=0.2, hz=0.1)
    for k in range(40):
        body = b.add_body(xform=(*(origin + rng.uniform(-0.4, 0.4, 3)), *turn()))
        local = (*rng.uniform(-0.1, 0.1, 3), *turn())
        cfg = ShapeConfig(margin=float(rng.uniform(0.0, 0.01)))
        if k % 3:
            b.add_shape_sphere(body, radius=float(rng.uniform(0.05, 0.12)), xform=local, cfg=cfg)
        else:
            b.add_shape_box(body, hx=0.05, hy=0.08, hz=0.1, xform=local, cfg=cfg)
    return b.finalize(device="cpu")


def test_rows_follow_the_convention():
    """Shape order, unit normals, offsets along the normal in body frames, margins; nearest points of spheres in float64."""
    model = tilted_scene()
    state = model.state()
    rows = rows_of(detect(model))
    a, b = rows["shape0"], rows["shape1"]
    types, bodies, margins = model.shape_type.numpy(), model.shape_body.numpy(), model.shape_margin.numpy()
    assert len(a) > 60
    assert ((types[a] < types[b]) | ((types[a] == types[b]) & (a < b))).all()
    np.testing.assert_allclose(np.linalg.norm(rows["normal"], axis=1), 1.0, atol=2e-6)
    core = np.where(types == GeoType.SPHERE, model.shape_scale.numpy()[:, 0], 0.0)
    for side, sign in ((0, 1.0), (1, -1.0)):
        shape = rows[f"shape{side}"]
        np.testing.assert_allclose(rows[f"margin{side}"], core[shape] + margins[shape], rtol=1e-6)
        pose = state.body_q.numpy().astype(np.float64)[np.maximum(bodies[shape], 0)]
        turned = np.where(bodies[shape][:, None] >= 0, quat_rotate(pose[:, 3:], rows[f"offset{side}"].astype(np.float64)),
                          rows[f"offset{side}"])  # fmt: skip
        np.testing.assert_allclose(turned, sign * rows[f"margin{side}"][:, None] * rows["normal"], atol=1e-6)
        ball = types[shape] == GeoType.SPHERE
        local = model.shape_transform.numpy()[shape[ball], :3]
        np.testing.assert_allclose(rows[f"point{side}"][ball], local, atol=1e-6)
    away = separation(model, state, rows)
    assert (away < 0.04 + 1e-4).all()
    both = (types[a] == GeoType.SPHERE) & (types[b] == GeoType.SPHERE)
    p, q = (in_world(model, state, s[both], model.shape_transform.numpy()[s[both], :3]) for s in (a, b))
    distance = np.linalg.norm(q - p, axis=1)
    np.testing.assert_allclose(away[both], distance - rows["margin0"][both] - rows["margin1"][both], atol=1e-6)
    np.testing.assert_allclose(rows["normal"][both], (q - p) / distance[:, None], atol=1e-5)


def test_rows_are_sorted():
    """By pair of shapes, then by feature; candidate pairs (tids) come in order too."""
    rows = rows_of(detect(tilted_scene()))
    order = np.lexsort((rows["point_id"], rows["tids"]))
    assert (order == np.arange(len(order))).all()
    pairs = np.stack([rows["shape0"], rows["shape1"]], axis=1)
    assert (np.diff(rows["tids"])[(pairs[1:] != pairs[:-1]).any(axis=1)] > 0).all()


def test_far_from_the_origin():
    """At 8192 m poses are rounded to 1/1024 m; on poses that are not rounded there, contacts are those at the origin."""
    near = ModelBuilder()
    near.rigid_gap = 0.05
    rng = np.random.default_rng(1)
    places = np.round(rng.uniform(-0.5, 0.5, (40, 3)) * 1024) / 1024
    far = ModelBuilder()
    far.rigid_gap = 0.05
    for b, origin in ((near, 0.0), (far, 8192.0)):
        for place in places:
            b.add_shape_sphere(b.add_body(xform=(*(place + origin), *UPRIGHT)), radius=0.1, xform=(0.01234, 0.02, 0.03, *UPRIGHT))
    rows = [rows_of(detect(b.finalize(device="cpu"), broad_phase="sap")) for b in (near, far)]
    assert len(rows[0]["shape0"]) > 50
    rows[0].pop("tids")  # boxes there are a little larger
    assert same(*rows)


# ---- workers, captures, buffers


@pytest.mark.parametrize("broad_phase", ["nxn", "sap"])
def test_the_same_for_any_number_of_workers(broad_phase, monkeypatch):
    model = tilted_scene()
    pipeline = CollisionPipeline(model, broad_phase=broad_phase, contact_matching="latest")
    contacts = pipeline.contacts()
    found = []
    for workers in (1, 2, 3):
        monkeypatch.setattr(hooke.config, "workers", workers)
        pipeline.reset_contact_matching()
        for _ in range(4):
            pipeline.collide(model.state(), contacts)
        found.append(rows_of(contacts, (*ROWS, "match_index")))
    assert same(found[0], found[1]) and same(found[0], found[2])


@pytest.mark.parametrize("broad_phase", ["explicit", "nxn", "sap"])
def test_pairs_in_the_order_of_their_kinds_have_the_same_rows(broad_phase):
    """As a GPU treats them."""
    model = tilted_scene()
    expected = rows_of(detect(model))
    pipeline = CollisionPipeline(model, broad_phase=broad_phase, shape_pairs_max=1)
    pipeline.rigid._sorts = True
    pipeline.rigid._reserve_pairs()
    contacts = pipeline.contacts()
    for _ in range(2):
        pipeline.collide(model.state(), contacts)
        assert same(rows_of(contacts), expected)
    kinds = pipeline.rigid._order.kind.numpy()[: pipeline.rigid.broad_phase.room]
    assert (np.diff(kinds) >= 0).all()
    assert len(np.unique(kinds)) > 3


def moved(model, k):
    state = model.state()
    q = state.body_q.numpy()
    q[:, 2] -= 0.02 * k
    state.body_q.assign(q)
    return state


@pytest.mark.parametrize("broad_phase", ["explicit", "nxn", "sap"])
def test_captured_equals_eager(broad_phase):
    model = tilted_scene()
    state = model.state()
    pipeline = CollisionPipeline(model, broad_phase=broad_phase, contact_matching="sticky", contact_report=True)
    contacts = pipeline.contacts()
    with wp.ScopedCapture(device="cpu") as capture:
        pipeline.collide(state, contacts)
    names = (*ROWS, "match_index")
    eager_pipeline = CollisionPipeline(model, broad_phase=broad_phase, contact_matching="sticky", contact_report=True)
    eager = eager_pipeline.contacts()
    for k in range(4):
        state.assign(moved(model, k // 2))
        wp.capture_launch(capture.graph)
        eager_pipeline.collide(state, eager)
        assert same(rows_of(contacts, names), rows_of(eager, names))
        assert contacts.rigid_contact_new_count.numpy()[0] == eager.rigid_contact_new_count.numpy()[0]
        assert contacts.rigid_contact_broken_count.numpy()[0] == eager.rigid_contact_broken_count.numpy()[0]


@pytest.mark.parametrize("broad_phase", ["explicit", "nxn", "sap"])
def test_buffers_grow(broad_phase):
    """From room for one of everything to the rows of a pipeline that had room."""
    model = tilted_scene()
    expected = rows_of(detect(model))
    model.rigid_contact_max = None
    small = CollisionPipeline(model, broad_phase=broad_phase, rigid_contact_max=1, shape_pairs_max=1)
    contacts = small.contacts()
    assert contacts.rigid_contact_max == 1
    small.collide(model.state(), contacts)
    assert same(rows_of(contacts), expected)
    assert contacts.contact_counters.numpy()[2] == 0
    assert small.rigid_contact_max == model.rigid_contact_max == contacts.rigid_contact_max >= len(expected["shape0"])


def test_overflow_of_rows_in_a_capture():
    """The number found is reported, and the rows that fit are the first ones."""
    model = tilted_scene()
    expected = rows_of(detect(model))
    pipeline = CollisionPipeline(model)
    contacts = Contacts(10, 0, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        pipeline.collide(model.state(), contacts)
    wp.capture_launch(capture.graph)
    assert contacts.rigid_contact_count.numpy()[0] == len(expected["shape0"]) > 10
    np.testing.assert_array_equal(contacts.rigid_contact_point1.numpy(), expected["point1"][:10])


@pytest.mark.parametrize("broad_phase", ["nxn", "sap"])
@pytest.mark.parametrize("verify", [True, False])
def test_overflow_of_pairs_in_a_capture(broad_phase, verify):
    """It is counted on the device, and said at the next pass outside of a capture, which then has room."""
    model = tilted_scene()
    expected = rows_of(detect(model))
    pipeline = CollisionPipeline(model, shape_pairs_max=1, broad_phase=broad_phase, verify_buffers=verify)
    contacts = pipeline.contacts()
    with wp.ScopedCapture(device="cpu") as capture:
        pipeline.collide(model.state(), contacts)
    wp.capture_launch(capture.graph)
    assert contacts.contact_counters.numpy()[2] > 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pipeline.collide(model.state(), contacts)
        pipeline.collide(model.state(), contacts)
    assert [str(w.message).count("shape_pairs_max") for w in said] == ([1] if verify else [])
    assert same(rows_of(contacts), expected)
    assert contacts.contact_counters.numpy()[2] == 0


def test_counters_and_generation():
    model = tilted_scene()
    pipeline = CollisionPipeline(model)
    contacts = pipeline.contacts()
    for k in range(3):
        pipeline.collide(model.state(), contacts)
        assert contacts.contact_generation.numpy()[0] == k + 1
    state = model.state()
    q = state.body_q.numpy()
    q[:, 0] += 100.0 * np.arange(len(q)) + 50.0
    q[:, 2] += 100.0
    state.body_q.assign(q)
    pipeline.collide(state, contacts)
    assert contacts.rigid_contact_count.numpy()[0] == 0
    contacts.clear()
    assert contacts.contact_generation.numpy()[0] == 5


def test_poses_that_are_not_numbers_meet_nobody():
    model = tilted_scene()
    whole = rows_of(detect(model))
    state = model.state()
    q = state.body_q.numpy()
    q[5, 1] = np.nan
    state.body_q.assign(q)
    shape = int(np.flatnonzero(model.shape_body.numpy() == 5)[0])
    for name in ("nxn", "sap"):
        rows = rows_of(detect(model, state, broad_phase=name))
        others = (whole["shape0"] != shape) & (whole["shape1"] != shape)
        assert others.sum() == len(rows["shape0"]) < len(others)
        np.testing.assert_array_equal(rows["point0"], whole["point0"][others])


def test_every_world_finds_what_it_finds_alone():
    part = ModelBuilder()
    part.rigid_gap = 0.02
    rng = np.random.default_rng(4)
    for _ in range(12):
        part.add_shape_sphere(part.add_body(xform=(*rng.uniform(-0.2, 0.2, 3), *UPRIGHT)), radius=0.08)
    alone = ModelBuilder()
    alone.add_builder(part)
    alone.add_ground_plane()
    expected = rows_of(detect(alone.finalize(device="cpu")))
    many = ModelBuilder()
    many.replicate(part, 5)
    many.add_ground_plane()
    for name in ("nxn", "sap"):
        rows = rows_of(detect(many.finalize(device="cpu"), broad_phase=name))
        count = len(expected["shape0"])
        assert len(rows["shape0"]) == 5 * count
        for w in range(5):
            mine = slice(w * count, (w + 1) * count)
            for side in ("shape0", "shape1"):
                shape = np.where(rows[side][mine] == 60, 12, rows[side][mine] - 12 * w)
                np.testing.assert_array_equal(shape, expected[side])
            for column in ("point0", "point1", "normal", "offset1", "point_id"):
                np.testing.assert_array_equal(rows[column][mine], expected[column])


def test_speculative_gap():
    """A sphere 1 m above the ground that falls at 30 m/s is seen in a step of 1/20 s, as far as it is allowed to look."""
    b = ModelBuilder()
    b.rigid_gap = 0.0
    b.add_shape_sphere(b.add_body(xform=(0.0, 0.0, 1.1, *UPRIGHT)), radius=0.1)
    b.add_ground_plane()
    model = b.finalize(device="cpu")
    state = model.state()
    state.body_qd.assign(np.array([[0.0, 0.0, -30.0, 0.0, 0.0, 0.0]]))
    for most, dt, found in (
        (0.0, 0.05, 0), (None, None, 0), (None, 0.05, 1), (None, 0.02, 0), (2.0, None, 0), (2.0, 0.05, 1), (2.0, 0.01, 0), (0.5, 0.05, 0),
    ):  # fmt: skip
        for name in ("nxn", "sap", "explicit"):
            pipeline = CollisionPipeline(model, speculative_contact_gap_max=most, broad_phase=name)
            contacts = pipeline.contacts()
            pipeline.collide(state, contacts, dt=dt)
            assert contacts.rigid_contact_count.numpy()[0] == found, (most, dt, name)
            contacts.rigid_lookahead = dt or 0.0
            pipeline.collide(state, contacts)
            assert contacts.rigid_contact_count.numpy()[0] == found, (most, dt, name)


def test_a_pass_looks_as_far_as_the_gap_or_the_motion():
    """A sphere with a gap of 5 cm, 20 cm above the ground. In 0.1 s gravity moves it by 10 cm at most; the rest is 1.5 times speed
    or spin."""
    b = ModelBuilder()
    b.rigid_gap = 0.05
    body = b.add_body(xform=(0.0, 0.0, 0.3, *UPRIGHT))
    b.add_shape_sphere(body, radius=0.1)
    b.add_ground_plane(cfg=ShapeConfig(gap=0.0))
    model = b.finalize(device="cpu")
    model.set_gravity((0.0, 0.0, -10.0))
    pipeline, state = CollisionPipeline(model), model.state()
    contacts = pipeline.contacts()
    cases = [(0.0, 0.0, 0.1, 0), (0.6, 0.0, 0.1, 0), (0.7, 0.0, 0.1, 1), (-0.7, 0.0, 0.1, 1), (0.7, 0.0, 0.05, 0)]
    cases += [(0.0, 3.5, 0.1, 0), (0.0, 7.0, 0.1, 1), (0.0, 0.0, 0.15, 1), (0.7, 0.0, 0.0, 0)]
    for speed, spin, dt, found in cases:
        state.body_qd.assign(np.array([[0.0, 0.0, speed, spin, 0.0, 0.0]]))
        pipeline.collide(state, contacts, dt=dt)
        assert contacts.rigid_contact_count.numpy()[0] == found, (speed, spin, dt)


def test_conveniences_and_publishing():
    model = tilted_scene()
    contacts = model.collide(model.state())
    assert contacts.rigid_contact_count.numpy()[0] == len(rows_of(detect(model))["shape0"])
    assert model.rigid_contact_max == model.contacts().rigid_contact_max >= 1000
    quiet = CollisionPipeline(model, rigid_contact_max=7, publish_capacity=False)
    assert (quiet.rigid_contact_max, quiet.contacts().rigid_contact_max) == (7, 7)
    assert model.rigid_contact_max >= 1000
    assert CollisionPipeline(model).rigid_contact_max == model.rigid_contact_max

"""Matching of contacts between passes: indices, thresholds, sticky anchors, reports and forgetting."""

import numpy as np
import pytest

from hooke import CollisionPipeline, Contacts, ModelBuilder
from hooke.model.contacts import check_matching
from tests.support import UPRIGHT

STEP = 2.0e-4  # below the threshold of 5e-4


def boxes_on_ground(count=3, worlds=0):
    part = ModelBuilder()
    part.rigid_gap = 0.02
    for k in range(count):
        part.add_shape_box(part.add_body(xform=(1.0 * k, 0.0, 0.1, *UPRIGHT)), hx=0.1, hy=0.1, hz=0.1)
    b = ModelBuilder()
    if worlds:
        b.replicate(part, worlds)
    else:
        b.add_builder(part)
    b.rigid_gap = 0.02
    b.add_ground_plane()
    return b.finalize(device="cpu")


class Passes:
    """Passes over a model whose bodies are moved between them."""

    def __init__(self, model, mode="latest", **options):
        self.state = model.state()
        self.pipeline = CollisionPipeline(model, contact_matching=mode, **options)
        self.contacts = self.pipeline.contacts()

    def move(self, body, by):
        q = self.state.body_q.numpy()
        q[body, :3] += by
        self.state.body_q.assign(q)

    def match(self, **moves):
        """One pass; the match of every row."""
        self.pipeline.collide(self.state, self.contacts)
        return self.rows("match_index").tolist()

    def rows(self, name):
        return getattr(self.contacts, f"rigid_contact_{name}").numpy()[: self.contacts.rigid_contact_count.numpy()[0]].copy()


@pytest.mark.parametrize("mode", ["latest", "sticky"])
def test_states_of_a_match(mode):
    """-1 for a new pair, the old row while it stays, -2 where the pair goes on but moved too far, -1 after it was apart."""
    run = Passes(boxes_on_ground(2), mode)
    assert run.match() == [-1] * 8
    assert run.match() == list(range(8))
    run.move(0, (STEP, 0.0, 0.0))
    assert run.match() == list(range(8))
    run.move(1, (0.05, 0.0, 0.0))
    assert run.match() == [0, 1, 2, 3, -2, -2, -2, -2]
    run.move(0, (0.0, 0.0, 1.0))
    assert run.match() == [4, 5, 6, 7]
    run.move(0, (0.0, 0.0, -1.0))
    assert run.match() == [-1, -1, -1, -1, 0, 1, 2, 3]


def test_thresholds():
    run = Passes(boxes_on_ground(1), contact_matching_pos_threshold=0.02)
    run.match()
    run.move(0, (0.03, 0.0, 0.0))  # the midpoint moves with the corner of the box
    assert run.match() == [-2] * 4
    run.move(0, (0.015, 0.0, 0.0))
    assert run.match() == [0, 1, 2, 3]
    q = run.state.body_q.numpy()
    strict = Passes(boxes_on_ground(1), contact_matching_pos_threshold=1.0, contact_matching_normal_dot_threshold=1.1)
    strict.match()
    assert strict.match() == [-2] * 4  # no normals agree that well
    assert q.shape == (1, 7)


def test_no_two_rows_have_the_same_match():
    """With a threshold larger than the box every corner is near every other one."""
    run = Passes(boxes_on_ground(1), contact_matching_pos_threshold=10.0)
    run.match()
    for by in ((0.11, 0.13, 0.0), (-0.3, 0.01, 0.0), (0.02, -0.4, 0.0)):
        run.move(0, by)
        assert sorted(run.match()) == [0, 1, 2, 3]


def test_latest_takes_new_points_and_sticky_keeps_them():
    """A sphere that rolls: its contact point on the ground goes along, the anchor of a sticky one stays."""
    b = ModelBuilder()
    b.add_shape_sphere(b.add_body(xform=(0.0, 0.0, 0.1, *UPRIGHT)), radius=0.1)
    b.add_ground_plane()
    model = b.finalize(device="cpu")
    places = {}
    for mode in ("latest", "sticky"):
        run = Passes(model, mode)
        places[mode] = []
        for _ in range(9):
            run.match()
            places[mode].append(run.rows("point0")[0, 0])
            run.move(0, (STEP, 0.0, 0.0))
    np.testing.assert_allclose(places["latest"], STEP * np.arange(9), atol=1e-7)
    # The midpoint of anchors 0 and k STEP is at k STEP / 2: by 6 steps it is 6e-4 behind, so after five the anchor is new.
    np.testing.assert_allclose(places["sticky"], STEP * np.array([0, 0, 0, 0, 0, 5, 5, 5, 5]), atol=1e-7)


def test_sticky_keeps_anchors_of_boxes():
    run = Passes(boxes_on_ground(1), "sticky")
    run.match()
    before = {name: run.rows(name) for name in ("point0", "point1", "offset0", "offset1")}
    run.move(0, (STEP, 0.0, -1.0e-5))
    assert run.match() == [0, 1, 2, 3]
    for name, values in before.items():
        np.testing.assert_array_equal(run.rows(name), values)
    p0, p1 = run.rows("point0"), run.rows("point1") + run.state.body_q.numpy()[:1, :3]
    np.testing.assert_allclose(np.einsum("ij,ij->i", run.rows("normal"), p1 - p0), -1.0e-5, atol=1e-6)  # the depth is that of now


def test_report():
    run = Passes(boxes_on_ground(2), contact_report=True)

    def report():
        new, broken = (getattr(run.contacts, f"rigid_contact_{name}_indices").numpy() for name in ("new", "broken"))
        count = [int(getattr(run.contacts, f"rigid_contact_{name}_count").numpy()[0]) for name in ("new", "broken")]
        return new[: count[0]].tolist(), broken[: count[1]].tolist()

    run.match()
    assert report() == (list(range(8)), [])
    run.match()
    assert report() == ([], [])
    run.move(1, (0.05, 0.0, 0.0))
    run.match()
    assert report() == ([4, 5, 6, 7], [4, 5, 6, 7])
    run.move(0, (0.0, 0.0, 1.0))
    run.match()
    assert report() == ([], [0, 1, 2, 3])


def test_generation_says_which_pass_wrote_the_matches():
    run = Passes(boxes_on_ground(1))
    assert run.contacts.rigid_contact_match_generation.numpy()[0] == -1
    for k in range(3):
        run.match()
        assert run.contacts.rigid_contact_match_generation.numpy()[0] == run.contacts.contact_generation.numpy()[0] == k + 1


def test_buffers_may_alternate():
    """The memory is the pipeline's."""
    run = Passes(boxes_on_ground(1))
    run.match()
    run.contacts = run.pipeline.contacts()
    assert run.match() == [0, 1, 2, 3]


@pytest.mark.parametrize("mask, forgotten", [(None, (0, 1, 2)), ([0, 1, 0], (1,)), ([1, 0, 1, 1], (0, 2)), ([0, 0, 0, 1], ())])
def test_forgetting(mask, forgotten):
    run = Passes(boxes_on_ground(1, worlds=3), contact_report=True)
    run.match()
    run.pipeline.reset_contact_matching(None if mask is None else np.array(mask, bool))
    expected = [-1 if k // 4 in forgotten else k for k in range(12)]
    assert run.match() == expected
    assert run.contacts.rigid_contact_broken_count.numpy()[0] == 0
    assert run.match() == list(range(12))


def test_forgetting_what_belongs_to_no_world():
    run = Passes(boxes_on_ground(1))
    for mask in ([True], [False, True]):
        run.match()
        run.pipeline.reset_contact_matching(mask)
        assert run.match() == [-1] * 4
    run.pipeline.reset_contact_matching([False])
    assert run.match() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="world_mask"):
        run.pipeline.reset_contact_matching([True, True, False])


def test_growth_keeps_what_is_remembered():
    model = boxes_on_ground(3)
    run = Passes(model, rigid_contact_max=4)
    for body in (1, 2):
        run.move(body, (0.0, 0.0, 1.0))
    run.match()
    for body in (1, 2):
        run.move(body, (0.0, 0.0, -1.0))
    assert run.match() == [0, 1, 2, 3, *[-1] * 8]
    assert run.contacts.rigid_contact_max > 4


def test_buffers_belong_to_a_mode():
    model = boxes_on_ground(1)
    matching, plain = CollisionPipeline(model, contact_matching="latest"), CollisionPipeline(model)
    with pytest.raises(ValueError, match=r"pipeline.contacts\(\)"):
        matching.collide(model.state(), plain.contacts())
    with pytest.raises(ValueError, match=r"pipeline.contacts\(\)"):
        plain.collide(model.state(), matching.contacts())
    with pytest.raises(ValueError, match="contact_matching"):
        Contacts(1, 0, contact_report=True, device="cpu")
    assert plain.contacts().contact_matching_mode == "disabled"
    assert not hasattr(plain.contacts(), "rigid_contact_match_index")
    assert [check_matching(mode) for mode in (True, False, "sticky")] == ["latest", "disabled", "sticky"]

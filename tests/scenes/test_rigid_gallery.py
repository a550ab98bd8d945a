"""What the built-in scenes of rigid bodies, joints and cables show, small where they can be."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import compose
from hooke.scenes import (
    box_stack,
    cable_pile,
    cable_twist,
    cantilever_cable,
    card_house,
    plank_bridge,
    plectoneme,
    pyramid,
    ragdoll_pile,
    wrecking_ball,
)
from tests.support import GRAVITY


def play(scene, **settings):
    """Run a scene; returns the result and the poses of all frames."""
    result = hooke.run(scene, **settings)
    return result, result.trajectory.body_q.astype(np.float64)


def gaps(model, pose):
    """Distances of the anchors of the joints that hold something."""
    world = np.vstack([pose, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)])
    ends = [
        compose(world[body.numpy()], anchor.numpy().astype(np.float64))[:, :3]
        for body, anchor in ((model.joint_parent, model.joint_X_p), (model.joint_child, model.joint_X_c))
    ]
    return np.linalg.norm(ends[0] - ends[1], axis=1)[model.joint_type.numpy() != int(hooke.JointType.FREE)]


def stands(scene, seconds, drift):
    result, q = play(scene, seconds=seconds)
    assert np.linalg.norm(q - q[0], axis=2).max() < drift
    return result


@pytest.mark.parametrize(
    "scene", [box_stack(), box_stack(count=5, ratio=8.0), card_house(levels=3)], ids=["even", "heavy", "cards"]
)
def test_what_is_built_stands(scene):
    assert stands(scene, 0.5, 1e-5).summary["max_penetration_m"] < 1e-6


def test_the_pyramid_stands():
    stands(pyramid(rows=6), 0.5, 1e-5)


@pytest.mark.slow
def test_five_levels_of_cards_stand_for_ten_seconds():
    """The outer pairs find their friction within a millimetre, in the first tenth of a second."""
    _, q = play(card_house(levels=5), seconds=10.0)
    assert np.linalg.norm(q[:, :, :3] - q[0, :, :3], axis=2).max() < 1.5e-3
    assert np.linalg.norm(q[-1] - q[60], axis=1).max() < 2e-4


def test_cards_of_little_friction_fall():
    _, q = play(card_house(levels=1, mu=0.1), seconds=0.5)
    assert q[-1, :, 2].max() < 0.5 * q[0, :, 2].max()


def test_cards_touch_at_the_start():
    """The pairs of a level end where the lying cards begin, and those are on one height."""
    q = card_house(levels=3).builder.body_q.array
    lying = q[np.abs(q[:, 3:6]).max(axis=1) < 1e-9]
    assert len(q) == 15 and len(lying) == 3
    height = 0.088 * np.cos(np.radians(20.0)) + 3e-4 * np.sin(np.radians(20.0))
    assert np.allclose(np.sort(lying[:, 2]), (height + 1.5e-4, height + 1.5e-4, 2.0 * height + 4.5e-4))


def test_cables_sink_as_the_elastica():
    """Tip of a heavy elastica EI theta'' = -w (L - s) cos(theta), integrated; nylon of 1, 2 and 4 mm, 0.5 m long."""
    result, q = play(cantilever_cable(), seconds=4.0)
    labels = result.model.body_label
    for k, (radius, drop) in enumerate(zip((0.001, 0.002, 0.004), (0.131911, 0.034812, 0.008735), strict=True)):
        last = max(i for i, label in enumerate(labels) if label.startswith(f"cable_{k}_"))
        tip = compose(q[-1, last], (0.0, 0.0, 0.25 / 19.5, 0.0, 0.0, 0.0, 1.0))[2]
        assert 0.6 - tip == pytest.approx(drop, rel=0.02), radius


def test_a_pile_of_cables_stays_a_pile():
    """Two layers of 12 mm: above the ground, within its width and 0.1 m, and nearly at rest after two seconds."""
    wide = 0.5 * 0.6 + 0.1
    _, q = play(cable_pile(layers=2, cables=3, segments=12, length=0.6, radius=0.012), seconds=2.0)
    assert q[:, :, 2].min() > 0.012 - 1e-3 and np.abs(q[-1, :, :2]).max() < wide
    assert np.linalg.norm(q[-1, :, :3] - q[-10, :, :3], axis=1).max() < 1e-3


def test_twisted_cables_lie_around_each_other():
    result, q = play(cable_twist(cables=2, segments=12, turns=1.0, rate=2.0 * np.pi))
    first, second = (
        q[-1, [i for i, label in enumerate(result.model.body_label) if label.startswith(f"cable_{k}_")]] for k in (0, 1)
    )
    across = second[:, :3] - first[:, :3]
    angle = np.unwrap(np.arctan2(across[:, 2], across[:, 1]))
    assert abs(angle[-1] - angle[0]) == pytest.approx(2.0 * np.pi, rel=0.12)  # the ends are those of the outer segments
    assert gaps(result.model, q[-1]).max() < 1e-3


@pytest.mark.slow
def test_the_twisted_rod_winds_around_itself():
    """Parts that are far from each other along the rod come to lie side by side, and do not pass through."""
    result, q = play(plectoneme())
    rod = q[-1, [i for i, label in enumerate(result.model.body_label) if label.startswith("rod_")], :3]
    apart = np.linalg.norm(rod[:, None] - rod[None], axis=2)
    near = apart[np.abs(np.subtract.outer(np.arange(len(rod)), np.arange(len(rod)))) > 8]
    assert near.min() < 0.016 and result.summary["max_penetration_m"] < 0.004


def test_dolls_hold_together():
    result, q = play(ragdoll_pile(count=2), seconds=1.2)
    assert max(gaps(result.model, pose).max() for pose in q) < 0.02
    assert q[-1, :, 2].min() > 0.0 and q[-1, :, 2].max() < 1.7


def test_the_ball_breaks_the_wall_and_stays_on_its_chain():
    """50,000 : 1."""
    scene = wrecking_ball(links=10, wide=3, high=7, angle=40.0)
    mass = scene.builder.body_mass.array
    result, q = play(scene, seconds=1.6)
    assert mass[10] / mass[0] > 2.4e4
    assert max(gaps(result.model, pose).max() for pose in q) < 2e-3
    assert (np.linalg.norm(q[-1, 11:, :3] - q[0, 11:, :3], axis=1) > 0.1).sum() > 5


def test_the_bridge_carries_its_crates():
    result, q = play(plank_bridge(planks=10, crates=2), seconds=1.5)
    planks = q[:, :10]
    assert max(gaps(result.model, pose).max() for pose in q) < 1e-3
    assert q[-1, 10:, 2].min() > planks[-1, :, 2].min() and np.abs(q[-1, 10:, 1]).max() < 0.6
    lost = GRAVITY * float(result.model.body_mass.numpy() @ (q[0, :, 2] - q[-1, :, 2]))
    assert result.summary["kinetic_end_J"] < 0.02 * lost

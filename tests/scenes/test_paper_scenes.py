"""What the scenes of the AVBD paper, the gripper and the bag show at steps of 1/60 s with ten iterations."""

import numpy as np
import pytest

import hooke
from benchmarks.gaps import joint_gap
from hooke.scenes import card_tower, cloth_bag_of_boxes, gripper_soft_cube, heavy_pendulum, stiffness_stack, two_balls
from tests.support import GRAVITY


def play(scene, **settings):
    """Run a scene; returns the result, the poses of bodies and the positions of particles in all frames."""
    assert scene.substeps == 1 and scene.fps == 60.0
    result = hooke.run(scene, **settings)
    return result, result.trajectory.body_q.astype(np.float64), result.trajectory.particle_q.astype(np.float64)


def hangs_together(scene, seconds, gap):
    """The bodies stay on their chain, and the whole does not gain energy."""
    result, q, _ = play(scene, seconds=seconds)
    assert max(joint_gap(result.model, pose) for pose in q) < gap
    assert result.summary["energy_end_J"] < result.summary["energy_start_J"]
    return result, q


def test_the_pendulum_of_fifty_thousand_to_one_hangs_together():
    """The light chain is a rod: the tip stays at its distance, and falls as a compound pendulum does, v^2 = 2 g h less what steps take."""
    scene = heavy_pendulum(bodies=50)
    mass = scene.builder.body_mass.array
    assert len(mass) == 50 and mass[-1] / mass[0] == pytest.approx(5.0e4, rel=1e-3)
    _, q = hangs_together(scene, 2.0, 5e-4)
    pivot = q[0, 0, :3] - (0.1, 0.0, 0.0)
    reach = np.linalg.norm(q[:, -1, :3] - pivot, axis=1)
    assert np.abs(reach - reach[0]).max() < 0.02
    speed = np.linalg.norm(np.diff(q[:, -1, :3], axis=0), axis=1) * 60.0
    fall = q[0, -1, 2] - 0.5 * (q[1:, -1, 2] + q[:-1, -1, 2])
    low = fall.argmax()
    assert speed[low] == pytest.approx(np.sqrt(2.0 * GRAVITY * fall[low]), rel=0.05)


def test_two_balls_stay_on_their_chain():
    scene = two_balls()
    _, q = hangs_together(scene, 3.0, 2e-4)
    balls = [i for i, label in enumerate(scene.builder.body_label) if label.startswith("ball")]
    assert len(balls) == 2 and scene.builder.body_mass.array[balls[0]] == pytest.approx(1000.0, rel=1e-3)
    apart = np.linalg.norm(q[:, balls[1], :3] - q[:, balls[0], :3], axis=1)
    assert apart.max() < apart[0] + 1e-3


def test_the_stack_of_soft_and_stiff_springs_rests():
    """Every spring is shorter by the weight above it over its stiffness, 2e3 or 2e8 N/m, and nothing moves."""
    result, q, _ = play(stiffness_stack(count=10))
    ways = q[-1, :, 2] - q[0, :, 2]
    shorter = -np.diff(np.concatenate([[0.0], ways]))
    assert np.allclose(shorter[::2], np.arange(10, 0, -2) * GRAVITY / 2.0e3, rtol=1e-3)
    assert np.abs(shorter[1::2]).max() < 2e-6
    assert np.abs(result.state.body_qd.numpy()).max() < 1e-4


def test_a_tower_of_cards_stands():
    result, q, _ = play(card_tower(storeys=4, lean=20.0), seconds=0.5, iterations=10)
    assert np.linalg.norm(q - q[0], axis=2).max() < 1e-5 and result.summary["max_penetration_m"] < 1e-6


def test_light_cards_keep_the_forces_of_a_high_tower():
    """The lowest cards bear 110 times their weight; what they take over from a step at rest is all of it."""
    _, q, _ = play(card_tower(storeys=16, lean=10.0), seconds=1.0)
    assert np.linalg.norm(q[:, :, :3] - q[0, :, :3], axis=2).max() < 5e-5


@pytest.mark.slow
def test_twenty_storeys_of_cards_stand_for_ten_seconds():
    _, q, _ = play(card_tower())
    assert len(q[0]) == 100 and len(q) == 601
    assert np.linalg.norm(q[:, :, :3] - q[0, :, :3], axis=2).max() < 5e-5


def test_the_gripper_holds_the_cube():
    """It slips along the fingers by less than a percent of its size from when they are closed, and then hangs still."""
    scene = gripper_soft_cube(n=3)
    assert scene.solver["particle_acceleration"] == "multilevel"
    _, q, p = play(scene, seconds=2.4)
    fingers, cube = q[:, 1:3, 2].mean(axis=1), p[:, :, 2].mean(axis=1)
    assert fingers[-1] - fingers[36] == pytest.approx(0.15, rel=0.02)
    slip = (cube - fingers)[36:] - (cube - fingers)[36]
    assert np.abs(slip).max() < 1e-3
    assert np.linalg.norm(p[-1] - p[-13], axis=1).max() < 2e-4  # it hangs still
    assert p[-1, :, 2].min() > 0.14


def test_a_cube_without_friction_stays_behind():
    _, q, p = play(gripper_soft_cube(n=2, mu=0.0), seconds=2.0)
    assert q[-1, 1, 2] > 0.2 and p[-1, :, 2].min() < 0.01


@pytest.mark.slow
def test_the_gripper_of_full_size_holds_the_cube():
    _, q, p = play(gripper_soft_cube())
    slip = (p[:, :, 2].mean(axis=1) - q[:, 1:3, 2].mean(axis=1))[36:]
    assert np.abs(slip - slip[0]).max() < 5e-4


def in_the_bag(scene, seconds):
    """Boxes end above the lowest point of the cloth, below its corners and near the middle, and off the ground."""
    result, q, p = play(scene, seconds=seconds)
    held = result.model.particle_inv_mass.numpy() == 0.0
    assert held.sum() == 4
    assert q[-1, :, 2].min() > p[-1, :, 2].min() > 0.2
    assert q[-1, :, 2].max() < p[-1, held, 2].min() - 0.2
    assert np.linalg.norm(q[-1, :, :2], axis=1).max() < np.linalg.norm(p[-1, held, :2], axis=1).min()
    return np.linalg.norm(np.diff(q[-13:, :, :3], axis=0), axis=2).max() * 60.0


def test_boxes_stay_in_the_bag():
    assert in_the_bag(cloth_bag_of_boxes(n=12, boxes=3), 3.0) < 0.1


@pytest.mark.slow
def test_boxes_stay_in_the_bag_of_full_size():
    assert in_the_bag(cloth_bag_of_boxes(), 4.0) < 0.1

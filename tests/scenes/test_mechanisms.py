"""What the built-in scenes of SolverKamino show: loops stay closed, targets are reached, momentum and friction are right."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import compose, quat_rotate
from hooke.scenes import (
    bouncing_balls,
    box_pendulum,
    cartpole,
    conveyor,
    delta_robot,
    four_bar,
    jansen_leg,
    newton_cradle,
    nunchaku,
    quadruped,
    rolling_balls,
    slider_crank,
    stewart_platform,
)
from hooke.scenes.jansen_leg import jansen_points
from hooke.scenes.linkage import at_distances
from tests.support import GRAVITY

GAP = 1e-6
HELD = [int(getattr(hooke.JointType, name)) for name in ("REVOLUTE", "BALL", "D6")]


def play(scene, **settings):
    """Run a scene; joints without linear freedom stay closed. Returns the result and the poses of all frames."""
    result = hooke.run(scene, **settings)
    assert result.summary["converged"] and not result.summary["overflow"]
    q = result.trajectory.body_q.astype(np.float64)
    assert max(gaps(result.model, pose).max(initial=0.0) for pose in q) < GAP
    return result, q


def gaps(model, pose):
    """Distances of the anchors of hinges, universal and ball joints [m]."""
    world = np.vstack([pose, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)])
    ends = [
        compose(world[body.numpy()], anchor.numpy().astype(np.float64))[:, :3]
        for body, anchor in ((model.joint_parent, model.joint_X_p), (model.joint_child, model.joint_X_c))
    ]
    return np.linalg.norm(ends[0] - ends[1], axis=1)[np.isin(model.joint_type.numpy(), HELD)]


def body(result, label):
    return list(result.model.body_label).index(label)


def end_of(pose, length):
    """The upper end of a bar [m]."""
    return compose(pose, (0.0, 0.0, 0.5 * length, 0.0, 0.0, 0.0, 1.0))[:3]


def step_of(result):
    return result.trajectory.info["dt"]


def test_the_crank_drives_the_rocker():
    """Where the end of the crank is, the rocker must be where lengths put it; the crank turns at its rate."""
    result, q = play(four_bar(), seconds=1.5)
    first, axis = body(result, "crank"), np.array([0.0, 0.0, 0.3])
    pins = np.array([end_of(pose[first], 0.1) for pose in q])
    turned = np.unwrap(np.arctan2(pins[:, 2] - 0.3, pins[:, 0]))
    assert turned[-1] - turned[0] == pytest.approx(6.0 * 1.5, rel=1e-3)
    ground = axis + (0.3, 0.0, 0.0)
    tops = np.array([end_of(pose[body(result, "coupler")], 0.3) for pose in q])
    assert np.allclose(tops, [at_distances(pin, ground, 0.3, 0.25) for pin in pins], atol=1e-5)
    assert np.allclose(np.linalg.norm(pins - axis, axis=1), 0.1, atol=GAP)


def test_the_piston_is_where_the_crank_puts_it():
    result, q = play(slider_crank(), seconds=1.0)
    pins = np.array([end_of(pose[body(result, "crank")], 0.1) for pose in q]) - (0.0, 0.0, 0.3)
    piston = q[:, body(result, "piston")]
    assert np.allclose(piston[:, 0], pins[:, 0] + np.sqrt(0.3**2 - pins[:, 2] ** 2), atol=2e-6)
    assert np.ptp(piston[:, 0]) == pytest.approx(0.2, abs=1e-3)
    assert np.allclose(piston[:, 1:3], (0.0, 0.3), atol=GAP)


def test_the_foot_of_the_leg_takes_steps():
    """The foot is where circles around the hinges meet, and goes along a nearly level line for half a turn."""
    result, q = play(jansen_leg(), seconds=1.5)
    axis = np.array([0.0, 0.0, 1.2])
    pins = np.array([end_of(pose[body(result, "crank")], 0.15) for pose in q]) - axis
    points = [jansen_points(np.arctan2(pin[2], pin[0])) for pin in pins]
    leg, start = body(result, "leg"), jansen_points(np.radians(20.0))
    own = start["foot"] - np.mean([start[name] for name in ("heel", "ankle", "foot")], axis=0)
    feet = np.array([pose[leg, :3] + quat_rotate(pose[leg, 3:], own) for pose in q]) - axis
    assert np.allclose(feet, [p["foot"] for p in points], atol=1e-5)
    once = feet[: int(2.0 * np.pi / 5.0 * 60.0)]
    low = once[once[:, 2] < once[:, 2].min() + 0.03]
    assert len(low) > 0.4 * len(once) and np.ptp(low[:, 0]) > 0.8 * np.ptp(once[:, 0])


@pytest.mark.parametrize("build", [four_bar, jansen_leg])
def test_loops_stay_closed_at_fifty_radians_per_second(build):
    result = hooke.run(build(rate=50.0), seconds=0.5, substeps=17)  # 1020 steps per second
    assert max(gaps(result.model, pose.astype(np.float64)).max() for pose in result.trajectory.body_q) < 1e-4
    assert result.state.body_qd.numpy()[0, 4] == pytest.approx(-50.0, rel=0.03)


def test_the_plate_of_six_legs_goes_where_it_should():
    scene = stewart_platform()
    result, q = play(scene, seconds=2.0)
    plate, dt = body(result, "plate"), step_of(result)
    wanted = [scene.command.path.pose(time - dt) for time in result.trajectory.times[1:]]
    assert np.allclose(q[1:, plate, :3], [place for place, _ in wanted], atol=1e-3)
    assert np.allclose(np.abs([turn @ pose for (_, turn), pose in zip(wanted, q[1:, plate, 3:], strict=True)]), 1.0, atol=1e-5)
    assert np.ptp(q[:, plate, 2]) > 0.1


def test_the_plate_of_three_arms_goes_where_it_should_and_never_turns():
    scene = delta_robot()
    result, q = play(scene, seconds=2.0)
    plate, dt = body(result, "plate"), step_of(result)
    wanted = np.array([scene.command.path.place(time - dt) for time in result.trajectory.times[1:]])
    assert np.allclose(q[1:, plate, :3] - (0.0, 0.0, 0.97), wanted, atol=6e-4)
    assert np.abs(q[:, plate, 3:6]).max() < 1e-5
    assert np.ptp(q[60:, plate, 0]) > 0.25


def test_targets_go_to_the_joints_of_every_world():
    result, q = play(delta_robot(), seconds=0.5, worlds=3)
    plates = q[:, [k for k, label in enumerate(result.model.body_label) if label.endswith("plate")], :3]
    moved = plates[-1] - plates[0]
    assert moved.shape == (3, 3) and np.linalg.norm(moved[0]) > 0.05
    assert np.allclose(moved, moved[0], atol=1e-6)


def test_the_cart_balances_its_pole_where_it_is_sent():
    _, q = play(cartpole(), seconds=4.2, worlds=2)
    carts, poles = q[:, ::2], q[:, 1::2]
    lean = 2.0 * np.degrees(np.arctan2(poles[..., 4], poles[..., 6]))
    assert np.allclose(lean[0], 15.0) and np.abs(lean[-1]).max() < 0.1
    assert np.allclose(carts[-1, :, 0] - carts[0, :, 0], 0.5, atol=5e-3)
    assert np.allclose(carts[..., 2], 0.5, atol=GAP)


def test_the_box_swings_as_a_physical_pendulum():
    """theta'' = -m g a / (I + m a^2) sin(theta), integrated by the midpoint rule in small steps."""
    _, q = play(box_pendulum(), seconds=1.5)
    square = (0.1**2 + 0.5**2) / 12.0 + 0.3**2
    angle, rate, dt, exact = 0.5 * np.pi, 0.0, 1.0 / 12000.0, []
    for n in range(18001):
        if n % 200 == 0:
            exact.append(angle)
        middle = angle + 0.5 * dt * rate
        rate -= dt * GRAVITY * 0.3 / square * np.sin(middle)
        angle = middle + 0.5 * dt * rate
    found = np.unwrap(2.0 * np.arctan2(q[:, 0, 4], q[:, 0, 6]))
    assert np.allclose(found, exact, atol=0.03)


def test_the_sticks_come_to_lie():
    result, q = play(nunchaku(), seconds=2.0)
    assert q[-1, :, 2].max() < 0.03 and q[-1, :, 2].min() > 0.005
    assert result.summary["kinetic_end_J"] < 1e-3


@pytest.mark.parametrize("lifted", [1, 2])
def test_the_cradle_hands_on_its_momentum(lifted):
    """As many balls as fall in swing out, as high, and the others stay."""
    result, q = play(newton_cradle(lifted=lifted), seconds=1.2)
    lean = np.degrees(2.0 * np.arctan2(q[..., 4], q[..., 6]))
    most = -lean.min(axis=0)
    assert np.allclose(most[-lifted:], 35.0, atol=0.7)
    assert np.abs(lean[:, lifted:-lifted]).max() < 2.5
    speed = result.model.body_mass.numpy()[0] * GRAVITY
    assert result.summary["energy_start_J"] - result.summary["energy_end_J"] < 0.03 * speed * 0.5 * (1.0 - np.cos(np.radians(35.0)))


def test_balls_roll_or_slip_as_friction_says():
    """5/7 g sin(a) where they stick, g (sin(a) - mu cos(a)) with a spin of 5/2 mu g cos(a) / r where they do not."""
    frictions, angle, radius, time = (0.0, 0.05, 0.2, 0.4), np.radians(25.0), 0.08, 0.75
    result, q = play(rolling_balls(frictions), seconds=time)
    sticks = np.array(frictions) > 2.0 / 7.0 * np.tan(angle)
    assert sticks.tolist() == [False, False, True, True]
    pull = GRAVITY * (np.sin(angle) - np.array(frictions) * np.cos(angle))
    expected = np.where(sticks, 5.0 / 7.0 * GRAVITY * np.sin(angle), pull)
    spin = np.where(sticks, expected / radius, 2.5 * np.array(frictions) * GRAVITY * np.cos(angle) / radius)
    down, qd = np.array([np.cos(angle), 0.0, -np.sin(angle)]), result.state.body_qd.numpy().astype(np.float64)
    assert np.allclose(qd[:, :3] @ down, expected * time, rtol=5e-3)
    assert np.allclose(qd[:, 4], spin * time, rtol=5e-3, atol=1e-4)
    assert np.allclose((qd[:, :3] @ down - radius * qd[:, 4])[sticks], 0.0, atol=1e-4)
    assert np.allclose((q[-1, :, :3] - q[0, :, :3]) @ down, 0.5 * expected * time**2, rtol=5e-3)


def test_balls_bounce_to_the_square_of_their_restitution():
    restitutions = (0.0, 0.5, 0.8, 1.0)
    _, q = play(bouncing_balls(restitutions), seconds=1.3, fps=240.0, substeps=5)
    height, fall = q[:, :, 2] - 0.08, np.sqrt(2.0 / GRAVITY)
    times = np.arange(len(q)) / 240.0
    for k, e in enumerate(restitutions):
        between = (times > fall) & (times < fall * (1.0 + 2.0 * max(e, 0.1)) - 0.02)
        assert height[between, k].max() == pytest.approx(e * e, abs=0.02)


def test_the_belts_carry_the_crate_at_their_speed():
    result, q = play(conveyor(crates=1), seconds=3.0)
    crate = q[:, body(result, "crate_0")]
    assert crate[12, 0] - crate[6, 0] == pytest.approx(0.6 * 0.1, rel=2e-2)
    moved = crate[-1] - crate[-31]
    assert moved[1] == pytest.approx(0.6 * 0.5, rel=2e-2) and abs(moved[0]) < 5e-3
    assert crate[-1, 2] == pytest.approx(0.4, abs=2e-3)


def test_the_machine_stands():
    scene = quadruped(speed=0.0, rough=0.0)
    assert scene.builder.body_count == 13 and scene.builder.joint_dof_count == 6 + 12
    result, q = play(scene, seconds=1.5)
    assert np.abs(q[-1, 0, :3] - q[0, 0, :3]).max() < 0.03 and np.abs(q[-1, 0, 3:6]).max() < 0.02
    assert result.summary["kinetic_end_J"] < 1e-3


def test_the_machine_trots():
    _, q = play(quadruped(rough=0.0), seconds=3.0)
    assert q[-1, 0, 0] > 0.4 and abs(q[-1, 0, 1]) < 0.1
    assert q[:, 0, 2].min() > 0.33 and np.abs(q[:, 0, 3:5]).max() < 0.1


@pytest.mark.slow
def test_the_machine_trots_over_uneven_ground():
    _, q = play(quadruped())
    assert q[-1, 0, 0] > 1.2 and abs(q[-1, 0, 1]) < 0.3
    assert q[:, 0, 2].min() > 0.33 and np.abs(q[:, 0, 3:5]).max() < 0.15

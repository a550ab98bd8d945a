"""Bodies on things that the caller moves: belts, turntables, drums, jaws (A25, A28 of the notes on augmented VBD, and section 10.2)."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import quat_multiply
from tests.support import GRAVITY, finalize

from .bodies import at
from .test_bodies_contacts import Run, Shape, stack

LYING = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
PAGE = {"rigid_compliant_alm": False}


def carry(run, count, place):
    """Steps before each of which body 0 is put where ``place(n)`` says (step n, from 0 on)."""
    for n in range(count):
        q = run.state.body_q.numpy()
        q[0] = place(n)
        run.state.body_q.assign(q)
        run.step()
    return run


def moving(half, mu, kind="box", z=0.0, rotation=(0.0, 0.0, 0.0, 1.0)):
    """A builder with a kinematic body of one shape."""
    b = hooke.ModelBuilder()
    body = b.add_body(xform=(0.0, 0.0, z, *rotation), is_kinematic=True)
    sizes = {"hx": half[0], "hy": half[1], "hz": half[2]} if kind == "box" else {"radius": half[0], "half_height": half[2]}
    getattr(b, f"add_shape_{kind}")(body, cfg=Shape(mu=mu), **sizes)
    return b


@pytest.mark.parametrize("speed", [1.0, -3.0])
@pytest.mark.parametrize("dt", [1.0 / 60.0, 1.0 / 240.0])
@pytest.mark.parametrize(("shape", "share"), [("sphere", 2.0 / 7.0), ("cylinder", 1.0 / 3.0), ("capsule", None)])
def test_what_rolls_on_a_belt_keeps_its_angular_momentum(shape, share, dt, speed):
    """(A25) Set down on a belt at speed u it ends rolling with u k / (1 + k), k = I / (m r^2): 2/7 of u for a ball, 1/3 for a cylinder.

    About a line in the surface, forces of contact have no moment. Within 0.5 % after two seconds, whatever the speed of the belt.
    """
    b = moving((40.0, 2.0, 0.1), 0.3, z=-0.1)
    body = b.add_body(xform=(0.0, 0.0, 0.1, *LYING))
    sizes = {"radius": 0.1} if shape == "sphere" else {"radius": 0.1, "half_height": 0.05}
    getattr(b, f"add_shape_{shape}")(body, cfg=Shape(mu=0.3), **sizes)
    model = finalize(b)
    run = carry(Run(model, dt), round(2.0 / dt), lambda n: at(speed * n * dt, 0.0, -0.1))
    k = float(model.body_inertia.numpy()[1, 2, 2] / model.body_mass.numpy()[1]) / 0.1**2
    wanted = k / (1.0 + k)
    assert share is None or wanted == pytest.approx(share, rel=1e-3)
    assert run.qd[1, 0] == pytest.approx(wanted * speed, rel=5e-3)
    assert run.qd[1, 4] == pytest.approx(-(1.0 - wanted) * speed / 0.1, rel=5e-3)
    assert abs(run.q[1, 2] - 0.1) < 1e-4


@pytest.mark.parametrize(("omega", "dt"), [(0.5, 1.0 / 60.0), (2.0, 1.0 / 60.0), (2.0, 1.0 / 240.0), (4.0, 1.0 / 240.0)])
def test_what_stands_on_a_turntable_goes_round_with_it(omega, dt):
    """A box 0.3 m off the axis, mu 1: it stays at its radius within 1 % over two seconds (it slips once, before it has a force),
    turns with the table, and does not lag."""
    b = moving((2.0, 2.0, 0.1), 1.0, "cylinder", z=-0.1)
    body = b.add_body(xform=at(0.3, 0.0, 0.05))
    b.add_shape_box(body, hx=0.05, hy=0.05, hz=0.05, cfg=Shape(mu=1.0))
    run = Run(finalize(b), dt, qd=[[0.0] * 6, [0.0, 0.3 * omega, 0.0, 0.0, 0.0, omega]])
    run = carry(run, round(2.0 / dt), lambda n: (0.0, 0.0, -0.1, 0.0, 0.0, np.sin(omega * n * dt / 2), np.cos(omega * n * dt / 2)))
    x, y = run.q[1, :2]
    assert np.hypot(x, y) == pytest.approx(0.3, rel=1e-2)
    lag = (np.arctan2(y, x) - omega * (2.0 - dt) + np.pi) % (2.0 * np.pi) - np.pi
    assert abs(lag) < 1.5 * omega * dt  # the first step does not know yet that the table turns
    assert run.qd[1, 5] == pytest.approx(omega, rel=2e-3) and abs(run.q[1, 2] - 0.05) < 1e-5


@pytest.mark.parametrize("omega", [1.0, 10.0, 30.0])
@pytest.mark.parametrize("dt", [1.0 / 60.0, 1.0 / 240.0])
def test_a_drum_that_turns_carries_what_lies_on_it(omega, dt):
    """A ball on a vertical rail on top of a drum of 1 m that turns at up to 30 rad/s (half a radian per step): it neither sinks nor
    hops by more than 1e-5 m, and feels its weight and mu times it, at the top, within 1 %."""
    b = moving((1.0, 1.0, 0.5), 0.5, "cylinder", rotation=LYING)
    ball = b.add_link(xform=at(0.0, 0.0, 1.1))
    b.add_shape_sphere(ball, radius=0.1, cfg=Shape(mu=0.5))
    b.add_articulation([b.add_joint_prismatic(-1, ball, axis=(0, 0, 1), parent_xform=at(0.0, 0.0, 0.0))])
    model = finalize(b)
    run = Run(model, dt)
    heights = []

    def place(n):
        heights.append(run.q[1, 2])
        half = 0.5 * omega * n * dt
        return (0.0, 0.0, 0.0, *quat_multiply(np.array([0.0, np.sin(half), 0.0, np.cos(half)]), np.array(LYING)))

    carry(run, round(0.75 / dt), place)
    assert np.abs(np.array(heights) - 1.1).max() < 1e-5
    body0, _, point0, point1, force, count = run.solver.collect_rigid_contact_forces(run.state.body_q, None, run.contacts, dt)
    n, weight = int(count.numpy()[0]), GRAVITY * float(model.body_mass.numpy()[1])
    sign = -1.0 if body0.numpy()[0] == 1 else 1.0
    assert n == 1
    np.testing.assert_allclose(sign * force.numpy()[0] / weight, (0.5, 0.0, 1.0), atol=0.01)
    np.testing.assert_allclose((point0.numpy()[0], point1.numpy()[0]), [(0.0, 0.0, 1.0)] * 2, atol=1e-5)


@pytest.mark.parametrize("speed", [-1.0, 0.5])
def test_a_lift_takes_along_what_stands_on_it(speed):
    """A stack of two on a plate that goes up or down at constant speed: it ends on the plate, within 1e-4 m, and at its speed."""
    b = moving((1.0, 1.0, 0.1), 0.5, z=-0.1)
    for k in range(2):
        body = b.add_body(xform=at(0.0, 0.0, 0.2 + 0.4 * k))
        b.add_shape_box(body, hx=0.2, hy=0.2, hz=0.2)
    dt = 1.0 / 60.0
    run = carry(Run(finalize(b), dt), 60, lambda n: at(0.0, 0.0, -0.1 + speed * n * dt))
    assert np.allclose(run.qd[:, 2], speed, atol=1e-4)
    top = run.q[0, 2] + 0.1
    assert np.allclose(run.q[1:, 2] - top, (0.2, 0.6), atol=1e-4)


def lift_capsule(options, mu, ke, kd, substeps=4, iterations=5):
    """Jaws close on a lying capsule by 1.5 mm and lift it by 0.3 m in 100 frames; how far it rose, and slipped in the jaws."""
    cfg = Shape(mu=mu, ke=ke, kd=kd, density=1000.0)
    b = hooke.ModelBuilder()
    for side in (-1.0, 1.0):
        jaw = b.add_body(xform=at(side * 0.08, 0.0, 0.12), is_kinematic=True)
        b.add_shape_box(jaw, hx=0.02, hy=0.05, hz=0.05, cfg=cfg)
    capsule = b.add_body(xform=at(0.0, 0.0, 0.1))
    b.add_shape_capsule(capsule, radius=0.05, half_height=0.05, cfg=cfg)
    b.add_ground_plane(cfg=cfg)
    dt = 1.0 / 60.0 / substeps
    run, held, slip = Run(finalize(b), dt, iterations=iterations, **options), None, 0.0
    for n in range(100 * substeps):
        t = n * dt
        q = run.state.body_q.numpy()
        for jaw, side in ((0, -1.0), (1, 1.0)):
            q[jaw, :3] = (side * (0.08 - 0.0115 * min(t / 0.25, 1.0)), 0.0, 0.12 + min(0.3 * max(0.0, t - 0.4), 0.35))
        run.state.body_q.assign(q)
        run.step()
        if t > 0.4:
            held = run.q[2, 2] - run.q[0, 2] if held is None else held
            slip = max(slip, abs(run.q[2, 2] - run.q[0, 2] - held))
    return run.q[2, 2] - 0.1, slip


@pytest.mark.parametrize("options", [{}, {"rigid_contact_hard": False}, PAGE, {**PAGE, "rigid_contact_hard": False}],
                         ids=["default", "soft", "page", "page soft"])  # fmt: skip
def test_jaws_lift_a_capsule(options):
    """(10.2) mu 1000, ke 1e4, kd 1e6, four substeps, five iterations, 100 frames: lifted by more than 0.25 m, slip below 0.01 m."""
    rise, slip = lift_capsule(options, 1000.0, 1e4, 1e6)
    assert rise > 0.25 and slip < 0.01


def test_jaws_of_common_material_do_not_slip():
    """With mu 0.3 and the default material the capsule does not move in the jaws at all, to 1e-6 m."""
    rise, slip = lift_capsule({}, 0.3, 2.5e3, 100.0)
    assert rise > 0.34 and slip < 1e-6


def test_bodies_are_made_kinematic_and_dynamic_again_at_run_time():
    """(10.2) While kinematic it stays in the air where it was put (below 1e-3 m); then it falls g t (t + dt) / 2 (more than 0.05 m)."""
    model = stack(1)
    run = Run(model).step(3)
    model.body_flags.assign([int(hooke.BodyFlags.KINEMATIC)])
    run.solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    run.state.body_q.assign([at(0.0, 0.0, 2.0)])
    assert abs(run.step(20).q[0, 2] - 2.0) < 1e-3
    model.body_flags.assign([int(hooke.BodyFlags.DYNAMIC)])
    run.solver.notify_model_changed(hooke.ModelFlags.BODY_PROPERTIES)
    run.step(20)
    assert run.q[0, 2] == pytest.approx(2.0 - 0.5 * GRAVITY * (20 / 60) * (21 / 60), rel=1e-4)

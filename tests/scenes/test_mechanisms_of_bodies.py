"""Closed loops in SolverVBD with default settings (field report "closed loops"): four bars, a slider-crank and Jansen's leg.

Gaps below 1e-4 m untuned with the crank at 1, 10 and 50 rad/s, points on their closed-form curves, and no motion where a mechanism lies
on the ground.
"""

import numpy as np
import pytest

import hooke
from hooke.model.motion import quat_rotate
from tests.solvers.bodies import Motion, at, gaps, move
from tests.solvers.test_bodies_contacts import Run
from tests.support import finalize

SPEEDS = [1.0, 10.0, 50.0]


def point(p):
    """A point of the plane y = 0."""
    return np.array([p[0], 0.0, p[1]])


def meet(a, b, ra, rb, side):
    """The point at distances ``ra`` from a and ``rb`` from b, to the left (1) or right (-1) of the way from a to b."""
    d = np.linalg.norm(b - a)
    x = (ra**2 - rb**2 + d**2) / (2.0 * d)
    along = (b - a) / d
    return a + x * along + side * np.sqrt(ra**2 - x**2) * np.array([-along[1], along[0]])


def planar(parts, pins, crank, gravity=-9.81, speed=None, slide=None):
    """A mechanism of hinges about y, as it stands.

    Args:
        parts: {name: points of the plane that belong to it}; its frame is at their middle, its mass 0.2 kg.
        pins: (part or None for the world, part, point); those that close loops last.
        crank: The part that is driven, by its pin to the world.
        gravity: Along z.
        speed: Of its drive [rad/s].
        slide: (part, point): on a rail along x.
    """
    b = hooke.ModelBuilder(gravity=gravity)
    middles = {name: np.mean(points, axis=0) for name, points in parts.items()}
    links = {name: b.add_link(xform=at(*point(p)), mass=0.2, inertia=2e-3 * np.eye(3), label=name) for name, p in middles.items()}
    seen, tree, loops = set(), [], []
    for first, second, place in pins:
        joint = {"axis": (0, 1, 0), "child_xform": at(*point(place - middles[second]))}
        joint["parent_xform"] = at(*point(place if first is None else place - middles[first]))
        if second == crank and speed is not None:
            joint |= {"target_kd": 1e3, "target_qd": -speed}  # a positive angle about y turns z to x
        (loops if second in seen else tree).append((-1 if first is None else links[first], links[second], joint))
        seen.add(second)
    b.add_articulation([b.add_joint_revolute(parent, child, **joint) for parent, child, joint in tree])
    for parent, child, joint in loops:
        b.add_joint_revolute(parent, child, **joint)
    if slide is not None:
        name, place = slide
        b.add_joint_d6(-1, links[name], linear_axes=[0], angular_axes=[(0, 1, 0)], parent_xform=at(*point(place)),
                       child_xform=at(*point(place - middles[name])))  # fmt: skip
    return finalize(b), middles


def where(q, part, offset):
    """Points of the plane where points of bodies are, in float64; ``offset`` from the middle of the part."""
    moved = q[part, :3] + quat_rotate(q[part : part + 1, 3:], point(offset)[None])[0]
    return moved[[0, 2]]


def check(model, speed, seconds, wanted, seen, tolerance):
    """Gaps and closed form in every tenth step; ``wanted`` (angle of the crank), ``seen`` (poses)."""
    dt = min(1.0 / 60.0, 0.1 / speed)
    steps, worst, off, angles = round(seconds / dt), [], [], []
    hinges = model.joint_type.numpy() == int(hooke.JointType.REVOLUTE)

    def each(n, state):
        if n % 5 == 4:
            motion = Motion(model, state, None)
            worst.append(gaps(motion)[hinges].max())
            angle = -2.0 * np.arctan2(motion.q[0, 4], motion.q[0, 6])
            angles.append(angle)
            off.append(np.linalg.norm(wanted(angle) - seen(motion.q)))

    run = move(model, steps, dt, each=each)
    assert max(worst) < 1e-4 and max(off) < tolerance
    turned = np.unwrap(angles)[-1]
    assert turned == pytest.approx(speed * dt * (len(angles) * 5), rel=0.02) and np.abs(run.q[:, 1]).max() < 1e-5


@pytest.mark.parametrize("speed", SPEEDS)
def test_four_bars(speed):
    """Crank 0.1 m, coupler 0.4 m, rocker 0.3 m, frame 0.4 m: the point where coupler and rocker meet, and the middle of the coupler."""
    o, c = np.zeros(2), np.array([0.4, 0.0])

    def joints(angle):
        a = 0.1 * np.array([np.cos(angle), np.sin(angle)])
        return a, meet(a, c, 0.4, 0.3, 1.0)

    a, b = joints(0.0)
    parts = {"crank": [o, a], "coupler": [a, b], "rocker": [c, b]}
    pins = [(None, "crank", o), ("crank", "coupler", a), (None, "rocker", c), ("coupler", "rocker", b)]
    model, middles = planar(parts, pins, "crank", speed=speed)
    check(model, speed, min(3.0, 12.0 / speed), lambda t: np.mean(joints(t), axis=0), lambda q: where(q, 1, np.zeros(2)), 2e-4)
    assert np.allclose(middles["coupler"], np.mean([a, b], axis=0))


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_slider_crank(speed):
    """Crank 0.1 m, rod 0.3 m: the slider is at r cos + (l^2 - r^2 sin^2)^1/2."""
    o, a, s = np.zeros(2), np.array([0.1, 0.0]), np.array([0.4, 0.0])
    parts = {"crank": [o, a], "rod": [a, s], "slider": [s]}
    model, _ = planar(
        parts, [(None, "crank", o), ("crank", "rod", a), ("rod", "slider", s)], "crank", speed=speed, slide=("slider", s)
    )

    def curve(t):
        return np.array([0.1 * np.cos(t) + np.sqrt(0.09 - 0.01 * np.sin(t) ** 2), 0.0])

    check(model, speed, min(3.0, 12.0 / speed), curve, lambda q: where(q, 2, np.zeros(2)), 2e-4)


A, B, C, D, E, F, G, H, I, J, K, L, M = 0.01 * np.array([38, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49, 50, 61.9, 7.8, 15])
"""Jansen's holy numbers [m]."""


def leg(angle):
    """Points of Jansen's leg: tip of the crank, top, back, knee, ankle, foot; and the fixed pivot."""
    tip, pivot = M * np.array([np.cos(angle), np.sin(angle)]), np.array([-A, -L])
    top, knee = meet(tip, pivot, J, B, -1.0), meet(tip, pivot, K, C, 1.0)
    back = meet(pivot, top, D, E, 1.0)
    ankle = meet(back, knee, F, G, -1.0)
    return tip, top, back, knee, ankle, meet(knee, ankle, H, I, 1.0), pivot


@pytest.mark.parametrize("speed", SPEEDS)
def test_the_leg_of_jansen(speed):
    """Seven bodies, ten hinges: the foot is on its curve to 2e-4 m."""
    o, (tip, top, back, knee, ankle, foot, pivot) = np.zeros(2), leg(0.3)
    assert foot[1] < min(p[1] for p in (tip, top, back, knee, ankle, pivot)) - 0.2  # it stands on its foot
    parts = {"crank": [o, tip], "j": [tip, top], "k": [tip, knee], "upper": [pivot, top, back], "c": [pivot, knee], "f": [back, ankle],
             "lower": [knee, ankle, foot]}  # fmt: skip
    pins = [(None, "crank", o), ("crank", "j", tip), ("crank", "k", tip), (None, "upper", pivot), (None, "c", pivot), ("upper", "f", back),
            ("c", "lower", knee), ("j", "upper", top), ("k", "c", knee), ("f", "lower", ankle)]  # fmt: skip
    model, middles = planar(parts, pins, "crank", speed=speed)
    check(model, speed, min(3.0, 12.0 / speed), lambda t: leg(t + 0.3)[5], lambda q: where(q, 6, foot - middles["lower"]), 2e-4)


def test_a_loop_that_lies_on_the_ground_stays_there():
    """Four bars flat on the ground, hinges upright: not a micrometre in a second."""
    b = hooke.ModelBuilder()
    b.add_ground_plane()
    corners, h = np.array([(0.0, 0.0), (0.1, 0.3), (0.5, 0.35), (0.4, 0.0)]), 0.01
    links, joints = [], []
    for i in range(3):
        p, q = corners[i], corners[i + 1]
        angle, length = np.arctan2(*(q - p)[::-1]), np.linalg.norm(q - p)
        links.append(b.add_link(xform=(*(0.5 * (p + q)), h, 0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2))))
        b.add_shape_box(links[-1], hx=0.5 * length, hy=0.01, hz=h)
        back = float(np.linalg.norm(corners[i] - corners[i - 1])) / 2 if i else 0.0
        ends = {"parent_xform": at(back, 0.0, 0.0 if i else h), "child_xform": at(-0.5 * length, 0.0, 0.0)}
        joints.append(b.add_joint_revolute(links[i - 1] if i else -1, links[-1], axis=(0, 0, 1), **ends))
    b.add_articulation(joints)
    b.add_joint_revolute(-1, links[-1], axis=(0, 0, 1), parent_xform=at(*corners[3], h), child_xform=at(0.5 * length, 0.0, 0.0))
    run = Run(finalize(b))
    start = run.q
    run.step(60)
    assert np.abs(run.q[:, :3] - start[:, :3]).max() < 1e-6 and np.abs(run.qd).max() < 1e-5

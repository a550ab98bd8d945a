"""Every kind of joint proves itself: coordinates invert the pose, motions are its derivative, residuals have theirs. In float64."""

import numpy as np
import pytest
import warp as wp

from hooke.joints import CASES_OF_D6, JOINTS, JointType, joint_kind
from hooke.joints.layout import constraint_counts, coordinate_counts, coordinate_starts, velocity_counts, velocity_starts
from hooke.joints.relative_motion import MOTIONS, is_left_handed, relative_motion
from tests.joints.kernels import Joint, Pair, strains
from tests.joints.poses import (
    compose,
    exponential,
    inverse_pose,
    logarithm,
    moved_by,
    quat_multiply,
    quat_rotate,
    random_pose,
    same_pose,
)

SMALL = 1.0e-6


def joints():
    """Every kind with every example of its axes."""
    found = []
    for kind in (*JOINTS, *CASES_OF_D6):
        for number, (linear, angular) in enumerate(kind.examples):
            dim = kind.dof_dim or (len(linear), len(angular))
            axes = [np.asarray(a, float).reshape(-1, 3) if a else np.eye(3)[:n] for a, n in zip((linear, angular), dim)]
            found.append(pytest.param(Joint(kind, *axes), id=f"{kind.name}{number or ''}"))
    return found


ALL = joints()
POSED = [p for p in ALL if p.values[0].kind.transform is not None]


def random_q(joint, rng):
    """Coordinates where they are unique: angles up to a right angle, the second of three as far as its cosine (or sine) is positive."""
    q = rng.uniform(-1.5, 1.5, joint.coordinates)
    if joint.kind.quaternion:
        q[-4:] /= np.linalg.norm(q[-4:])
    if len(joint.angular) == 3 and not joint.kind.quaternion and np.allclose(joint.angular[0], joint.angular[2]):
        q[-2] = abs(q[-2]) + 0.05
    return q


def advanced(joint, q, k, dt):
    """Coordinates after a unit of qd_k for a time dt."""
    q = np.array(q)
    if not joint.kind.quaternion or k < len(joint.linear):
        q[k] += dt
    else:
        q[-4:] = quat_multiply(exponential(dt * np.eye(3)[k - len(joint.linear)]), q[-4:])
    return q


@pytest.mark.parametrize("joint", POSED)
def test_coordinates_invert_the_pose(joint):
    rng = np.random.default_rng(1)
    for _ in range(20):
        q = random_q(joint, rng)
        found = joint.evaluate(q)[1]
        np.testing.assert_allclose(found, q, atol=1e-12)


@pytest.mark.parametrize("joint", POSED)
def test_axes_are_the_derivative_of_the_pose(joint):
    """Of the child anchor; for kinds whose velocities are of the centre of mass, that is where it is here."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        q = random_q(joint, rng)
        axes = joint.evaluate(q)[2]
        for k in range(joint.velocities):
            ahead, behind = (joint.evaluate(advanced(joint, q, k, dt))[0] for dt in (SMALL, -SMALL))
            v = (ahead[:3] - behind[:3]) / (2 * SMALL)
            omega = logarithm(quat_multiply(ahead[3:], behind[3:] * [-1, -1, -1, 1])) / (2 * SMALL)
            np.testing.assert_allclose(axes[k], [*v, *omega], atol=1e-8)


@pytest.mark.parametrize("joint", POSED)
def test_rates_are_the_inverse_of_axes(joint):
    rng = np.random.default_rng(3)
    for _ in range(20):
        _, _, axes, rates = joint.evaluate(random_q(joint, rng))
        np.testing.assert_allclose(rates @ axes.T, np.eye(joint.velocities), atol=1e-9)


def test_coordinates_far_off_stay_finite_and_at_gimbal_lock_the_pose_is_right():
    gimbal = Joint(joint_kind(JointType.D6), np.zeros((0, 3)), np.eye(3))
    for q in ([0.4, np.pi / 2, 0.3], [-0.2, -np.pi / 2, 1.0]):
        pose, found, _axes, rates = gimbal.evaluate(np.array(q))
        same_pose(gimbal.evaluate(found)[0], pose, 1e-7)
        assert np.isfinite(rates).all() and np.abs(rates).max() < 1.0e7
    rng = np.random.default_rng(4)
    for param in POSED:
        joint = param.values[0]
        assert np.isfinite(joint.evaluate(random_q(joint, rng), random_pose(rng))[1]).all()


def pair_of(joint, q, rng, off=0.0):
    """Two bodies that obey the joint at q, or are a little off it."""
    X_p, X_c, parent = (random_pose(rng) for _ in range(3))
    child = compose(compose(compose(parent, X_p), joint.evaluate(q)[0]), inverse_pose(X_c))
    child = moved_by(child, rng.uniform(-off, off, 6))
    return {"parent": parent, "child": child, "X_p": X_p, "X_c": X_c, "com": rng.uniform(-0.5, 0.5, (2, 3))}


def as_struct(given, parent=None, child=None, twists=((0.0,) * 6,) * 2):
    pair = Pair()
    pair.parent = wp.transformd(*(given["parent"] if parent is None else parent).tolist())
    pair.child = wp.transformd(*(given["child"] if child is None else child).tolist())
    pair.X_p, pair.X_c = (wp.transformd(*given[name].tolist()) for name in ("X_p", "X_c"))
    pair.com_parent, pair.com_child = (wp.vec3d(*c.tolist()) for c in given["com"])
    pair.twist_parent, pair.twist_child = (wp.types.vector(length=6, dtype=wp.float64)(*np.asarray(t).tolist()) for t in twists)
    return pair


CONSTRAINED = [p for p in ALL if p.values[0].kind.constraints]


@pytest.mark.parametrize("joint", CONSTRAINED)
def test_residuals_vanish_where_the_joint_is_obeyed(joint):
    rng = np.random.default_rng(5)
    for _ in range(10):
        residual, _, _ = joint.rows(as_struct(pair_of(joint, random_q(joint, rng), rng)))
        np.testing.assert_allclose(residual[joint.locked], 0.0, atol=1e-12)


def test_residuals_of_a_hinge_do_not_care_how_far_it_has_turned():
    hinge = Joint(joint_kind(JointType.REVOLUTE), np.zeros((0, 3)), np.array([[0.0, 0.0, 1.0]]))
    tilt = np.concatenate([np.zeros(3), exponential([0.01, 0.0, 0.0])])
    identity = np.array([0, 0, 0, 0, 0, 0, 1.0])
    found = []
    for angle in (0.0, 1.0, 3.1, np.pi, 3.2, 6.0):
        turned = np.concatenate([np.zeros(3), exponential([0, 0, angle])])
        given = {"parent": identity, "child": compose(tilt, turned), "X_p": identity, "X_c": identity, "com": np.zeros((2, 3))}
        found.append(hinge.rows(as_struct(given))[0][[4, 5]])
    np.testing.assert_allclose(found, [found[0]] * 6, atol=1e-12)
    assert np.linalg.norm(found[0]) == pytest.approx(np.sin(0.01))


@pytest.mark.parametrize("joint", CONSTRAINED)
def test_jacobians_are_the_derivative_of_residuals(joint):
    """Also where the joint is not obeyed: the levers are exact."""
    rng = np.random.default_rng(6)
    for _ in range(3):
        given = pair_of(joint, random_q(joint, rng), rng, off=0.3)
        _, jacobian, _ = joint.rows(as_struct(given))
        for column in range(12):
            twists = np.zeros((2, 6))
            twists.flat[column] = 1.0
            values = []
            for dt in (SMALL, -SMALL):
                poses = [moved_by(given[name], t, c, dt) for name, t, c in zip(("parent", "child"), twists, given["com"])]
                values.append(joint.rows(as_struct(given, *poses))[0])
            rate = (values[0] - values[1]) / (2 * SMALL)
            np.testing.assert_allclose(jacobian[joint.locked, column], rate[joint.locked], atol=2e-8)


@pytest.mark.parametrize("joint", POSED)
def test_velocity_maps_against_finite_differences(joint):
    """Two bodies that move freely along the joint: rates of the relative twist are the derivative of the coordinates."""
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = random_q(joint, rng)
        given = pair_of(joint, q, rng)
        qd = rng.normal(size=joint.velocities)
        _, _, axes, rates = joint.evaluate(q)
        x = compose(inverse_pose(compose(given["parent"], given["X_p"])), compose(given["child"], given["X_c"]))
        ahead, behind = (moved_by(x, qd @ axes, dt=dt) for dt in (SMALL, -SMALL))
        found = [joint.evaluate(q, pose)[1] for pose in (ahead, behind)]
        n = joint.coordinates - 4 if joint.kind.quaternion else joint.coordinates
        np.testing.assert_allclose((found[0] - found[1])[:n] / (2 * SMALL), qd[:n], atol=1e-7)
        if joint.kind.quaternion:
            turn = logarithm(quat_multiply(found[0][-4:], found[1][-4:] * [-1, -1, -1, 1])) / (2 * SMALL)
            np.testing.assert_allclose(turn, qd[-3:], atol=1e-7)
        np.testing.assert_allclose(rates @ (qd @ axes), qd, atol=1e-9)


def test_relative_twist_is_the_motion_of_the_child_anchor_seen_from_the_parent():
    rng = np.random.default_rng(8)
    joint = Joint(joint_kind(JointType.FREE), np.eye(3), np.eye(3))
    for _ in range(5):
        given = pair_of(joint, random_q(joint, rng), rng)
        twists = rng.normal(size=(2, 6))
        found = joint.rows(as_struct(given, twists=twists))[2]
        poses = []
        for dt in (SMALL, -SMALL):
            parent, child = (moved_by(given[name], t, c, dt) for name, t, c in zip(("parent", "child"), twists, given["com"]))
            poses.append(compose(inverse_pose(compose(parent, given["X_p"])), compose(child, given["X_c"])))
        v = (poses[0][:3] - poses[1][:3]) / (2 * SMALL)
        omega = logarithm(quat_multiply(poses[0][3:], poses[1][3:] * [-1, -1, -1, 1])) / (2 * SMALL)
        np.testing.assert_allclose(found, [*v, *omega], atol=1e-7)


# ---- elastic joints and the distance joint


def test_strains_of_rods_and_cables_and_their_rates():
    rng = np.random.default_rng(9)
    for _ in range(20):
        rest = np.concatenate([np.zeros(3), exponential(rng.uniform(-0.5, 0.5, 3))])
        x = np.concatenate([rng.uniform(-0.1, 0.1, 3), quat_multiply(exponential(rng.uniform(-0.7, 0.7, 3)), rest[3:])])
        strain, rate, _ = strains(x, rest)
        np.testing.assert_allclose(strain[:, :3], [x[:3]] * 2, atol=1e-15)
        for axis in np.eye(3):
            moved = [np.concatenate([x[:3], quat_multiply(exponential(dt * axis), x[3:])]) for dt in (SMALL, -SMALL)]
            found = [strains(m, rest)[0][:, 3:] for m in moved]
            np.testing.assert_allclose(rate @ axis, (found[0] - found[1]) / (2 * SMALL), atol=1e-8)
        np.testing.assert_allclose(strains(rest, rest)[0], 0.0, atol=1e-14)


def test_strains_of_known_shapes():
    straight = np.array([0, 0, 0, 0, 0, 0, 1.0])
    for angle in (0.1, 1.0, 2.5):
        bend = strains(np.concatenate([np.zeros(3), exponential([angle, 0, 0])]), straight)[0][0]
        np.testing.assert_allclose(bend, [0, 0, 0, 2 * np.tan(angle / 2), 0, 0], atol=1e-12)
        twist = strains(np.concatenate([np.zeros(3), exponential([0, 0, angle])]), straight)[0][0]
        np.testing.assert_allclose(twist, [0, 0, 0, 0, 0, angle], atol=1e-12)
    folded = strains(np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0]]), straight)
    assert np.isfinite(folded[0]).all() and np.isfinite(folded[1]).all()


def test_distance_of_anchors():
    for p in ((3.0, 0.0, -4.0), (0.0, 0.0, 0.0)):
        found = strains(np.array([*p, 0, 0, 0, 1.0]), np.array([0, 0, 0, 0, 0, 0, 1.0]))[2]
        assert found[0] == np.linalg.norm(p) and np.linalg.norm(found[1:]) == pytest.approx(1.0)
        np.testing.assert_allclose(found[0] * found[1:], p)


# ---- layout, cases of D6


COUNTS = {  # coordinates, velocities, constraints, as documented
    JointType.PRISMATIC: (1, 1, 5), JointType.REVOLUTE: (1, 1, 5), JointType.BALL: (4, 3, 3), JointType.FIXED: (0, 0, 6),
    JointType.FREE: (7, 6, 0), JointType.DISTANCE: (7, 6, 0), JointType.CABLE: (2, 2, 0), JointType.ROD: (7, 6, 0),
}  # fmt: skip


def test_counts():
    assert [int(kind.code) for kind in JOINTS] == list(range(9))
    types = np.array([*COUNTS, JointType.D6, JointType.D6])
    dims = np.array([*(joint_kind(code).dof_dim for code in COUNTS), (2, 1), (0, 3)])
    expected = np.array([*COUNTS.values(), (3, 3, 3), (3, 3, 3)])
    np.testing.assert_array_equal(coordinate_counts(types, dims), expected[:, 0])
    np.testing.assert_array_equal(velocity_counts(types, dims), expected[:, 1])
    np.testing.assert_array_equal(constraint_counts(types, dims), expected[:, 2])
    np.testing.assert_array_equal(coordinate_starts(types, dims), [0, *np.cumsum(expected[:, 0])])
    np.testing.assert_array_equal(velocity_starts(types, dims), [0, *np.cumsum(expected[:, 1])])


def test_locked_axes_agree_with_the_counts():
    for kind in (*MOTIONS, *CASES_OF_D6):
        assert sum(kind.locked) + sum(kind.dof_dim) == 6
    with pytest.raises(ValueError, match="joint type 99.*PRISMATIC 0"):
        joint_kind(99)


@pytest.mark.parametrize("kind", CASES_OF_D6, ids=lambda k: k.name)
def test_cases_of_d6_are_told_by_their_axes(kind):
    for linear, angular in kind.examples:
        axes = np.array([*linear, *angular], float)
        assert relative_motion(JointType.D6, (len(linear), len(angular)), axes) is kind
        assert is_left_handed(np.array(angular)) == (kind.name == "gimbal" and angular[2][2] < 0) if len(angular) == 3 else True


@pytest.mark.parametrize("dim, axes, name", [
    ((0, 0), [], "fixed"), ((1, 0), [(1, 0, 0)], "prismatic"), ((0, 1), [(1, 0, 0)], "revolute"),
    ((1, 1), [(1, 0, 0), (0, 1, 0)], "d6"), ((0, 2), [(1, 0, 0), (0.6, 0.8, 0)], "d6"), ((2, 1), np.eye(3), "d6"),
    ((0, 3), [(1, 0, 0), (0, 1, 0), (1, 0, 0)], "d6"), ((3, 3), [*np.eye(3), *np.eye(3)], "d6"),
])  # fmt: skip
def test_other_axes(dim, axes, name):
    assert relative_motion(JointType.D6, dim, axes).name == name
    assert relative_motion(JointType.BALL, (0, 3), np.eye(3)).name == "ball"

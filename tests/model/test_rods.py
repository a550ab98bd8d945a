"""Cables and rods: points, frames, poses, joints, stiffness, loops, graphs. Numbers of chains agree with the documented ones."""

import warnings

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import JointType, ModelBuilder, Rod, ShapeConfig, check_joint_poses, utils
from tests.joints.poses import compose, exponential, quat_multiply, quat_rotate
from tests.model.mechanisms import link, pose

AT = {"device": "cpu"}
BENT = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 2)]
SQUARE = [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (1, 0, 0)]


# ---- helpers


def test_stiffness_from_moduli():
    assert utils.create_cable_stiffness_from_elastic_moduli(1e6, 0.01, 0.1) == pytest.approx((3141.59, 0.0785398), rel=1e-6)
    for wrong in ((0.0, 0.01, 0.1), (1e6, -1.0, 0.1), (1e6, 0.01, np.nan), (np.inf, 0.01, 0.1)):
        with pytest.raises(ValueError, match="> 0 and finite"):
            utils.create_cable_stiffness_from_elastic_moduli(*wrong)


def test_straight_points_and_frames():
    points, frames = utils.create_straight_cable_points_and_quaternions((1, 2, 3), (0, 0, -5), 2.0, 4, twist_total=1.0)
    np.testing.assert_allclose(points, [(1, 2, 3 - 0.5 * k) for k in range(5)], atol=1e-6)
    assert len(frames) == 4
    for q in frames:
        np.testing.assert_allclose(quat_rotate(np.array(q), (0, 0, 1)), (0, 0, -1), atol=1e-6)
    base = np.array(utils.create_parallel_transport_cable_quaternions(points)[0])
    for k, q in enumerate(frames):  # equal parts of the twist, the first segment's included
        turned = quat_multiply(exponential([0, 0, -(k + 1) / 4]), base)
        assert min(np.abs(np.array(q) - turned).max(), np.abs(np.array(q) + turned).max()) < 1e-6
    for wrong in (((0, 0, 0), 1.0, 2), ((0, 0, 1), 0.0, 2), ((0, 0, 1), 1.0, 0)):
        with pytest.raises(ValueError, match="expected"):
            utils.create_straight_cable_points((0, 0, 0), *wrong)


def test_frames_are_carried_without_twist():
    """On a curve in a plane, the axis across the plane stays; around a circle frames come back to themselves."""
    t = np.linspace(0, 2 * np.pi, 41)
    points = np.column_stack([np.cos(t), np.sin(t), 0 * t])
    frames = np.array(utils.create_parallel_transport_cable_quaternions(points))
    across = [quat_rotate(q, quat_rotate(frames[0] * [-1, -1, -1, 1], (0, 0, 1))) for q in frames]
    np.testing.assert_allclose(across, [(0, 0, 1)] * 40, atol=1e-6)
    along = np.diff(points, axis=0)
    np.testing.assert_allclose(
        [quat_rotate(q, (0, 0, 1)) for q in frames], along / np.linalg.norm(along, axis=1)[:, None], atol=1e-6
    )
    back = np.array(utils.create_parallel_transport_cable_quaternions([(0, 0, 0), (0, 0, 1), (0, 0, 0.5)]))  # turns round
    np.testing.assert_allclose(quat_rotate(back[1], (0, 0, 1)), (0, 0, -1), atol=1e-6)


# ---- the rod


def test_rigidities_of_a_round_section():
    rod = Rod(BENT, radius=0.05, youngs_modulus=1e6, poissons_ratio=0.3)
    area, g = np.pi * 0.05**2, 1e6 / 2.6
    np.testing.assert_allclose(rod.rigidities(), (1e6 * area, 0.9 * g * area, 1e6 * area * 0.05**2 / 4, g * area * 0.05**2 / 2))
    np.testing.assert_allclose(Rod(BENT, radius=0.05, youngs_modulus=1e6, shear_modulus=g).rigidities(), rod.rigidities())
    given = {"stretch_rigidity": 1.0, "shear_rigidity": 2.0, "bend_rigidity": 3.0, "twist_rigidity": 4.0}
    assert Rod(BENT, **given).rigidities() == (1, 2, 3, 4) and Rod(BENT).rigidities() is None
    for wrong in (
        {"youngs_modulus": 1e6}, {"radius": 0.1, "youngs_modulus": 1e6},
        {"radius": 0.1, "youngs_modulus": 1e6, "poissons_ratio": 0.3, "shear_modulus": 1},
        {"stretch_rigidity": 1.0}, {**given, "radius": 0.1, "youngs_modulus": 1e6, "poissons_ratio": 0.3}, {**given, "bend_rigidity": -1.0},
        {"radius": 0.1, "youngs_modulus": -1.0, "poissons_ratio": 0.3},
        {"radius": 0.1, "youngs_modulus": 1.0, "poissons_ratio": 0.7}, {"radius": 0.0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="Rod"):
            Rod(BENT, **wrong)


@pytest.mark.parametrize("options, match", [
    ({"points": [(0, 0, 0)]}, "two or more"), ({"points": [(0, 0, 0), (0, 0, np.nan)]}, "finite"),
    ({"points": [(0, 0, 0)] * 2}, "segment 0 has length 0"),
    ({"edges": [(0, 0)]}, "point 0 with itself"), ({"edges": [(0, 1), (1, 0)]}, "same points"),
    ({"edges": [(0, 9)]}, "from 0 to 3"), ({"edges": []}, "one or more"),
    ({"closed": True}, "last point to be the first"), ({"closed": True, "edges": [(0, 1)]}, "closed=True is for a chain"),
    ({"rest_straight": True, "rest_points": BENT}, "rest_straight"), ({"rest_points": BENT[:2]}, "4 rest_points"),
    ({"quaternions": [(0, 0, 0, 1)] * 2}, "3 finite quaternions"), ({"quaternions": [(0, 0, 0, 1)] * 3}, "not along its segment"),
    ({"quaternions": [(0, 0, 0, 0)] * 3}, "is zero"),
])  # fmt: skip
def test_rods_that_make_no_sense(options, match):
    with pytest.raises(ValueError, match=match):
        Rod(**{"points": BENT, **options})


def test_straight_rods_copies_and_frames():
    rod = Rod.create_straight((0, 0, 1), (1, 0, 0), 2.0, segment_count=4, twist_total=0.4, radius=0.02)
    assert (rod.point_count, rod.segment_count, rod.radius) == (5, 4, 0.02)
    np.testing.assert_allclose(rod.segment_lengths, 0.5, rtol=1e-6)
    moved = rod.copy()
    moved.points *= 2.0
    np.testing.assert_allclose(moved.rest_lengths, 1.0, rtol=1e-6)
    twin = rod.copy()
    twin.points[:] = 0
    assert rod.points.any()
    rod.compute_frames()
    np.testing.assert_allclose(rod.quaternions, [rod.quaternions[0]] * 4, atol=1e-7)
    with pytest.raises(ValueError, match="twist_total"):
        Rod(BENT, edges=[(0, 1), (1, 2)]).compute_frames(twist_total=1.0)
    with pytest.raises(TypeError, match="closed"):
        Rod.create_straight((0, 0, 0), (0, 0, 1), 1.0, segment_count=2, closed=True)


# ---- joints


def test_cable_joints():
    b = ModelBuilder()
    first, second = link(b), link(b, xform=pose((0, 0, 1)))
    joint = b.add_joint_cable(
        first,
        second,
        parent_xform=pose((0, 0, 1)),
        stretch_stiffness=5.0,
        stretch_damping=6.0,
        bend_stiffness=7.0,
        bend_damping=8.0,
    )
    assert b.joint_type[joint] == JointType.CABLE == 7
    assert (b.joint_coord_count, b.joint_dof_count, b.joint_constraint_count, b.joint_dof_dim[0]) == (2, 2, 0, (1, 1))
    assert b.joint_target_ke == [5.0, 7.0] and b.joint_target_kd == [6.0, 8.0] and b.joint_target_mode == [0, 0]
    b.add_joint_cable(-1, first)
    assert b.joint_target_ke[2:] == [1e5, 0.0] and b.joint_target_kd[2:] == [0.0, 0.0]
    assert b.joint_collision_filter_parent == [True, False]
    for name in ("stretch_stiffness", "stretch_damping", "bend_stiffness", "bend_damping"):
        with pytest.raises(ValueError, match=f"'tow': expected {name} finite and >= 0, found -1"):
            b.add_joint_cable(first, second, label="tow", **{name: -1.0})
    assert b.joint_count == 2


def test_rod_joints():
    b = ModelBuilder()
    first, second = link(b), link(b, xform=pose((0, 0, 1), exponential([0.3, 0, 0])))
    frames = {"parent_xform": pose((0, 0, 1))}
    b.add_joint_rod(first, second, **frames, stretch_stiffness=1.0, shear_stiffness=2.0, bend_stiffness=3.0, twist_stiffness=4.0,
                    stretch_damping=5.0, shear_damping=6.0, bend_damping=7.0, twist_damping=8.0)  # fmt: skip
    assert b.joint_type[0] == JointType.ROD == 8 and b.joint_dof_dim[0] == (3, 3)
    assert b.joint_target_ke == [2, 2, 1, 3, 3, 4] and b.joint_target_kd == [6, 6, 5, 7, 7, 8]
    np.testing.assert_array_equal(b.joint_axis.array, [*np.eye(3), *np.eye(3)])
    np.testing.assert_allclose(b.joint_q.array, [0, 0, 0, *exponential([0.3, 0, 0])], atol=1e-7)
    np.testing.assert_allclose(b.joint_rest_q.array, b.joint_q.array, atol=1e-7)
    b.add_joint_rod(
        first,
        second,
        **frames,
        rest_rotation=(0, 0, 0, 2),
        stretch_stiffness=1.0,
        stretch_damping=2.0,
        bend_stiffness=3.0,
        bend_damping=4.0,
    )
    assert b.joint_target_ke[6:] == [1, 1, 1, 3, 3, 3] and b.joint_target_kd[6:] == [
        2,
        2,
        2,
        4,
        4,
        4,
    ]  # shear as stretch, twist as bend
    np.testing.assert_array_equal(b.joint_rest_q.array[7:], [0, 0, 0, 0, 0, 0, 1])
    b.add_joint_rod(first, second, shear_stiffness=1.0, stretch_damping=2.0, twist_stiffness=1.0, bend_damping=3.0)
    assert b.joint_target_ke[12:] == [1, 1, 1e5, 0, 0, 1] and b.joint_target_kd[12:] == [0, 0, 2, 3, 3, 0]
    for wrong in ((0, 0, 0, 0), (0, 0, np.nan, 1), (0, 0, 1)):
        with pytest.raises(ValueError, match="rest_rotation"):
            b.add_joint_rod(first, second, rest_rotation=wrong)
    with pytest.raises(ValueError, match="twist_damping"):
        b.add_joint_rod(first, second, twist_damping=-1.0)


# ---- chains


def test_a_rod_of_rod_joints():
    b = ModelBuilder()
    bodies, joints = b.add_rod(rod=Rod(BENT, radius=0.05, youngs_modulus=1e6, poissons_ratio=0.3), label="c")
    assert (bodies, joints) == ([0, 1, 2], [1, 2])
    assert list(b.body_label) == ["c_edge_body_0", "c_edge_body_1", "c_edge_body_2"]
    assert list(b.shape_label) == ["c_edge_capsule_0", "c_edge_capsule_1", "c_edge_capsule_2"]
    assert list(b.joint_label) == ["c_free_joint", "c_cable_1", "c_cable_2"] and list(b.articulation_label) == ["c_articulation"]
    assert b.joint_articulation == [0, 0, 0] and b.joint_parent == [-1, 0, 1] and b.joint_child == [0, 1, 2]
    h = np.sqrt(0.5)
    np.testing.assert_allclose(
        b.body_q.array, [(0.5, 0, 0, 0, h, 0, h), (1, 0.5, 0, -0.5, 0.5, 0.5, 0.5), (1, 1, 1, 0, 0, h, h)], atol=1e-9
    )
    np.testing.assert_allclose(b.joint_X_p.array[1:, :3], [(0, 0, 0.5)] * 2)
    np.testing.assert_allclose(b.joint_X_c.array[1:, :3], [(0, 0, -0.5), (0, 0, -1)])
    np.testing.assert_allclose(b.shape_scale.array, [(0.05, 0.5, 0), (0.05, 0.5, 0), (0.05, 1, 0)])
    cylinder, cap = 1000.0 * np.pi * 0.05**2, 1000.0 * 2.0 / 3.0 * np.pi * 0.05**3
    np.testing.assert_allclose(b.body_mass, [cylinder + cap, cylinder, 2.0 * cylinder + cap], rtol=1e-9)
    np.testing.assert_allclose(
        b.joint_target_ke.array[6:12], [2718.68595, 2718.68595, 7853.981634, 4.9087385, 4.9087385, 3.7759527], rtol=1e-7
    )
    np.testing.assert_allclose(
        b.joint_target_ke.array[12:], b.joint_target_ke.array[6:12] / 1.5, rtol=1e-9
    )  # mean of lengths 1 and 2
    model = b.finalize(**AT)
    check_joint_poses(model, tolerance=1e-5)
    assert model.shape_collision_filter_pairs == {(0, 1), (1, 2)}


def test_a_rod_of_cable_joints():
    """The older spelling: bodies begin at the start of their segment, the first has no joint."""
    b = ModelBuilder()
    options = {"stretch_stiffness": 2.0, "stretch_damping": 3.0, "bend_stiffness": 4.0, "bend_damping": 5.0}
    bodies, joints = b.add_rod([wp.vec3(*p) for p in BENT], radius=0.05, label="c", **options)
    assert (bodies, joints) == ([0, 1, 2], [0, 1])
    assert b.joint_type == [JointType.CABLE] * 2 and b.joint_articulation == [0, 0]
    np.testing.assert_allclose(b.body_q.array[:, :3], BENT[:3], atol=1e-9)
    cap = 2.0 / 3.0 * 0.05  # length of rod that weighs as much as the half ball at an end
    first, last = (0.5 - cap * 0.375 * 0.05) / (1.0 + cap), (2.0 + cap * (2.0 + 0.375 * 0.05)) / (2.0 + cap)
    np.testing.assert_allclose(b.body_com.array, [(0, 0, first), (0, 0, 0.5), (0, 0, last)], atol=1e-9)
    np.testing.assert_allclose(b.joint_X_p.array[:, :3], [(0, 0, 1)] * 2)
    np.testing.assert_allclose(b.joint_X_c.array[:, :3], 0.0, atol=1e-12)
    assert b.joint_target_ke == [2, 4] * 2 and b.joint_target_kd == [3, 5] * 2
    assert b.shape_scale.array[:, 0].tolist() == [0.05] * 3
    middle = b.add_rod(BENT, body_frame_origin="com")[0]
    np.testing.assert_allclose(b.body_q.array[middle, :3], [(0.5, 0, 0), (1, 0.5, 0), (1, 1, 1)], atol=1e-9)
    assert b.shape_scale[-1][0] == pytest.approx(0.1)
    model = b.finalize(**AT)
    for frames, ends in zip(model.joint_X_p.numpy(), model.joint_X_c.numpy()):
        assert np.isfinite(frames).all() and np.isfinite(ends).all()
    poses, anchors = model.body_q.numpy().astype(float), [a.numpy().astype(float) for a in (model.joint_X_p, model.joint_X_c)]
    for j, (p, c) in enumerate(zip(model.joint_parent.numpy(), model.joint_child.numpy())):  # at rest the anchors coincide
        np.testing.assert_allclose(compose(poses[p], anchors[0][j])[:3], compose(poses[c], anchors[1][j])[:3], atol=1e-6)


@pytest.mark.parametrize("spelling", ["rod", "positions"])
def test_closed_rods(spelling):
    b = ModelBuilder()
    bodies, joints = b.add_rod(rod=Rod(SQUARE, closed=True)) if spelling == "rod" else b.add_rod(SQUARE, closed=True)
    first = 1 if spelling == "rod" else 0
    assert len(bodies) == 4 and joints == list(range(first, first + 4))
    assert b.joint_parent[-1] == 3 and b.joint_child[-1] == 0
    assert b.joint_articulation == [0] * (first + 3) + [-1]
    model = b.finalize(**AT)
    assert model.shape_collision_filter_pairs == {(0, 1), (1, 2), (2, 3), (0, 3)}
    assert model.articulation_end.numpy().tolist() == [first + 3]
    if spelling == "rod":
        check_joint_poses(model, tolerance=1e-5)
        np.testing.assert_allclose(model.joint_rest_q.numpy()[-7:-4], 0.0)


def whole(b, bodies):
    """Mass, centre and inertia about it of several bodies together, in world axes."""
    q, m = b.body_q.array[bodies], b.body_mass.array[bodies]
    centres = q[:, :3] + [quat_rotate(p[3:], c) for p, c in zip(q, b.body_com.array[bodies])]
    centre = m @ centres / m.sum()
    inertia = np.zeros((3, 3))
    for k, (arm, pose_k) in enumerate(zip(centres - centre, q)):
        turn = np.column_stack([quat_rotate(pose_k[3:], axis) for axis in np.eye(3)])
        inertia += turn @ b.body_inertia.array[bodies[k]] @ turn.T + m[k] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return m.sum(), centre, inertia


@pytest.mark.parametrize("origin", ["start", "com"])
@pytest.mark.parametrize("cfg", [ShapeConfig(density=800.0), ShapeConfig(density=800.0, is_solid=False, margin=0.02)])
def test_a_straight_rod_weighs_what_one_capsule_does(cfg, origin):
    """Whatever the number of segments: mass, centre and inertia are those of the whole; the caps within do not count."""
    for segments in (2, 5, 20):
        b = ModelBuilder()
        points = np.linspace((0.0, 1.0, 0.0), (2.0, 1.0, 0.0), segments + 1)
        bodies, _ = b.add_rod(points, radius=0.1, cfg=cfg, body_frame_origin=origin)
        one = b.add_body(xform=(1.0, 1.0, 0.0, *wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), float(np.pi / 2))))
        b.add_shape_capsule(one, radius=0.1, half_height=1.0, cfg=cfg)
        for found, expected in zip(whole(b, bodies), whole(b, [one])):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        assert cfg.density == 800.0


def test_masses_of_rings_and_graphs():
    """A ring has no ends; of a star of three edges every edge has one, and its node no half ball at all."""
    density, r = 1000.0, 0.1
    cylinder, cap = density * np.pi * r**2, density * 2.0 / 3.0 * np.pi * r**3
    b = ModelBuilder()
    ring, _ = b.add_rod(SQUARE, radius=r, closed=True)
    np.testing.assert_allclose(b.body_mass.array[ring], np.sqrt(2.0) * cylinder, rtol=1e-9)
    loop, _ = b.add_rod_graph(SQUARE[:4], [(0, 1), (1, 2), (2, 3), (3, 0)], radius=r, wrap_in_articulation=False)
    np.testing.assert_allclose(b.body_mass.array[loop], np.sqrt(2.0) * cylinder, rtol=1e-9)
    star, _ = b.add_rod_graph([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 1), (2, 0), (0, 3)], radius=r)
    np.testing.assert_allclose(b.body_mass.array[star], cylinder + cap, rtol=1e-9)
    middle = (0.5 + cap / cylinder * (1.0 + 0.375 * r)) / (1.0 + cap / cylinder)
    np.testing.assert_allclose(b.body_com.array[star, 2], [middle, 1.0 - middle, middle], rtol=1e-9)
    light, _ = b.add_rod(BENT, cfg=ShapeConfig(density=0.0))
    assert not b.body_mass.array[light].any()


def test_options_of_rods():
    b = ModelBuilder()
    cfg = ShapeConfig(density=10.0, mu=0.25)
    b.add_rod(rod=Rod(BENT), cfg=cfg, color=(1, 0, 0), wrap_in_articulation=False, bend_stiffness=2.0, twist_damping=3.0)
    assert b.shape_material_mu == [0.25] * 3 and tuple(b.shape_color[0]) == (1, 0, 0)
    assert b.articulation_count == 0 and b.joint_type == [JointType.ROD] * 2
    assert b.joint_target_ke[:6] == [1e5, 1e5, 1e5, 2, 2, 2] and b.joint_target_kd[:6] == [0, 0, 0, 0, 0, 3]
    damped = ModelBuilder()
    damped.add_rod(rod=Rod(BENT, radius=0.05, youngs_modulus=1e6, poissons_ratio=0.3), stretch_damping=1.0, bend_damping=2.0)
    assert damped.joint_target_kd[6:12] == [1, 1, 1, 2, 2, 2]
    overridden = ModelBuilder()
    material = {"radius": 0.05, "youngs_modulus": 1e6, "poissons_ratio": 0.3}
    overridden.add_rod(rod=Rod(BENT, **material), bend_stiffness=9.0)
    assert overridden.joint_target_ke[9:11] == [9.0, 9.0] and overridden.joint_target_ke[8] == pytest.approx(7853.98, rel=1e-5)
    for wrong, match in (
        ({}, "rod=hooke.Rod"), ({"rod": Rod(BENT), "radius": 0.1}, "those of rod"), ({"rod": BENT}, "found"),
        ({"positions": BENT[:2]}, "three or more"),
        ({"positions": BENT, "twist_stiffness": 1.0}, "a cable has none"), ({"positions": BENT, "bend_stiffness": -1.0}, "bend_stiffness"),
        ({"rod": Rod(BENT), "shear_damping": -1.0}, "shear_damping"), ({"positions": BENT, "body_frame_origin": "end"}, "'start' or 'com'"),
        ({"positions": BENT, "closed": True}, "last point"), ({"positions": BENT, "quaternions": [(0, 0, 0, 1)] * 3}, "not along"),
    ):  # fmt: skip
        before = b.body_count
        with pytest.raises((ValueError, TypeError), match=match):
            b.add_rod(**wrong)
        assert b.body_count == before


def test_rest_shape():
    """Lengths, anchors and masses are those at rest; the bodies are where the rod is now; strains are against the rest."""
    now = np.array([(0, 0, 0), (0, 0, 1), (0, 1, 1)], float)
    b = ModelBuilder()
    b.add_rod(rod=Rod(now, rest_points=[(0, 0, 0), (0, 0, 2), (0, 0, 4)]))
    np.testing.assert_allclose(b.shape_scale.array[:, 1], [1, 1])
    np.testing.assert_allclose(b.body_q.array[:, :3], [(0, 0, 0.5), (0, 0.5, 1)], atol=1e-9)
    np.testing.assert_allclose(b.joint_rest_q.array[7:], [0, 0, 0, 0, 0, 0, 1], atol=1e-9)
    assert abs(b.joint_q.array[10]) > 0.5  # bent now
    b.add_rod(rod=Rod(now, rest_straight=True))
    np.testing.assert_allclose(b.joint_rest_q.array[-7:], [0, 0, 0, 0, 0, 0, 1], atol=1e-9)
    twisted = Rod.create_straight((0, 0, 0), (0, 0, 1), 1.0, segment_count=2, twist_total=0.5)
    b.add_rod(rod=twisted)
    np.testing.assert_allclose(b.joint_rest_q.array[-4:], exponential([0, 0, 0.25]), atol=1e-6)
    twisted.rest_quaternions = np.array([(0, 0, 0, 1), (0, 0, 0, 1.0)])
    b.add_rod(rod=twisted)
    np.testing.assert_allclose(b.joint_rest_q.array[-4:], (0, 0, 0, 1), atol=1e-9)


# ---- graphs

STAR = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (-1, 0, 1), (0, 0, 3), (5, 5, 5), (5, 5, 6)]
STAR_EDGES = [(0, 1), (1, 2), (1, 3), (1, 4), (5, 6)]
TRIANGLE = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (-1, 0, 1)]
TRIANGLE_EDGES = [(0, 1), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("spelling", ["rod", "graph"])
def test_graphs_become_trees(spelling):
    b = ModelBuilder()
    if spelling == "rod":
        bodies, joints = b.add_rod(rod=Rod(STAR, edges=STAR_EDGES), label="s")
        assert list(b.joint_label) == ["s_free_joint_0", "s_cable_1", "s_cable_2", "s_cable_3", "s_free_joint_1"]
        assert b.joint_parent == [-1, 0, 0, 0, -1] and b.joint_child == [0, 1, 2, 3, 4] and b.joint_articulation == [0, 0, 0, 0, 1]
        assert list(b.articulation_label) == ["s_articulation_0", "s_articulation_1"]
    else:
        bodies, joints = b.add_rod_graph(STAR, STAR_EDGES, stretch_stiffness=2.0, bend_stiffness=3.0)
        assert b.joint_parent == [0, 0, 0] and b.joint_child == [1, 2, 3] and b.joint_articulation == [0, 0, 0]
        assert b.joint_target_ke == [2.0, 3.0] * 3
    assert len(bodies) == 5 and len(joints) == 3
    model = b.finalize(**AT)
    assert model.shape_collision_filter_pairs == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    if spelling == "rod":
        check_joint_poses(model, tolerance=1e-5)


def test_junctions_may_collide():
    b = ModelBuilder()
    b.add_rod_graph(STAR, STAR_EDGES, junction_collision_filter=False)
    assert b.finalize(**AT).shape_collision_filter_pairs == {(0, 1), (0, 2), (0, 3)}


def test_loops_of_graphs():
    b = ModelBuilder()
    with pytest.warns(UserWarning, match=r"1 connections close loops.*wrap_in_articulation=False"):
        assert b.add_rod(rod=Rod(TRIANGLE, edges=TRIANGLE_EDGES))[1] == [1, 2, 3]
    assert b.joint_parent == [-1, 0, 0, 1] and b.joint_child == [0, 1, 2, 3]
    b = ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joints = b.add_rod_graph(TRIANGLE, TRIANGLE_EDGES, wrap_in_articulation=False)[1]
    assert joints == [0, 1, 2, 3] and b.joint_parent == [0, 0, 1, 2] and b.joint_child == [1, 2, 3, 3]
    b.add_articulation(joints[:3])
    b.finalize(**AT)  # the last closes the loop


def test_material_of_graphs():
    material = {"radius": 0.05, "youngs_modulus": 1e6, "poissons_ratio": 0.3}
    b = ModelBuilder()
    chain = Rod(BENT, edges=[(0, 1), (1, 2), (2, 3)], **material)
    b.add_rod(rod=chain)
    b.add_rod(rod=Rod(BENT, **material))
    np.testing.assert_allclose(b.joint_target_ke.array[:18], b.joint_target_ke.array[18:])
    with pytest.raises(ValueError, match="three segments meet or a loop is cut; give stretch_stiffness"):
        b.add_rod(rod=Rod(STAR, edges=STAR_EDGES, **material))
    every = {f"{mode}_stiffness": 1.0 for mode in ("stretch", "shear", "bend", "twist")}
    b.add_rod(rod=Rod(STAR, edges=STAR_EDGES, **material), **every)


def test_segments_that_point_at_each_other_go_on_along_the_curve():
    """Rest strains are finite: the anchors' +Z axes agree although the segments' do not."""
    b = ModelBuilder()
    b.add_rod(rod=Rod([(0, 0, 0), (0, 0, 1), (0, 0, 2)], edges=[(0, 1), (2, 1)]))
    model = b.finalize(**AT)
    check_joint_poses(model, tolerance=1e-5)
    rest = model.joint_rest_q.numpy()[-4:].astype(float)
    np.testing.assert_allclose(quat_rotate(rest, (0, 0, 1)), (0, 0, 1), atol=1e-6)
    np.testing.assert_allclose(model.joint_q.numpy()[-7:], [0, 0, 0, *rest], atol=1e-6)


@pytest.mark.parametrize("nodes, edges, match", [
    (STAR[:1], [(0, 0)], "two or more"), (STAR, [], "one or more"), (STAR, [(0, 9)], "from 0 to 6"), (STAR, [(1, 1)], "itself"),
    ([(0, 0, 0), (0, 0, 0)], [(0, 1)], "length"),
])  # fmt: skip
def test_graphs_that_make_no_sense(nodes, edges, match):
    with pytest.raises(ValueError, match=match):
        ModelBuilder().add_rod_graph(nodes, edges)
    with pytest.raises(ValueError, match="bend_damping"):
        ModelBuilder().add_rod_graph(STAR, STAR_EDGES, bend_damping=-1.0)


def test_rods_in_worlds():
    inner = ModelBuilder()
    inner.add_rod(rod=Rod(SQUARE, closed=True))
    b = ModelBuilder()
    b.replicate(inner, 3, (4, 0, 0))
    model = b.finalize(**AT)
    check_joint_poses(model, tolerance=1e-5)
    assert model.articulation_start.numpy().tolist() == [0, 5, 10, 15] and model.articulation_end.numpy().tolist() == [4, 9, 14]
    state = model.state()
    hooke.eval_fk(model, state.joint_q, state.joint_qd, state)
    np.testing.assert_allclose(state.body_q.numpy()[:, :3], model.body_q.numpy()[:, :3], atol=1e-5)

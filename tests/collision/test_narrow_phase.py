"""The contact of two convex shapes against brute force in float64, known contacts, and what must not change under small motions."""

import itertools

import numpy as np
import pytest

from hooke.geometry import GeoType, shape_kind

from .convex_reference import rotation, separation, signed_distance
from .narrow import SCALES, ask, cube_hull, geometry, make_meet, prism_hull, random_poses, shape

PAIRS = list(itertools.combinations_with_replacement(SCALES, 2))
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
MOST = 8
REACH = 0.2
ROUNDING = 2.0e-6
every_pair = pytest.mark.parametrize("first, second", PAIRS, ids=lambda code: code.name.lower())


def tolerance_of(first, second):
    """Of distances [m]. A face, or a way out of deep overlap, may take the place of a better one up to a thousandth of the radius."""
    if GeoType.SPHERE in (first, second):
        return 3.0e-5 if GeoType.CONVEX_MESH in (first, second) else 3.0e-6
    return 3.0e-5 if {first, second} == {GeoType.CAPSULE} else 8.4e-4


def point_tolerance_of(first, second):
    """Of points, how far they may lie off their shapes and beside each other: deep in round shapes normals are less exact."""
    return 3.0e-5 if GeoType.SPHERE in (first, second) else 8.0e-3


def nearest(manifolds):
    """The smallest distance of every manifold; infinite where there is no contact."""
    there = np.arange(MOST) < manifolds["count"][:, None]
    return np.where(there, manifolds["distance"], np.inf).min(axis=1)


def points_of(manifolds, poses):
    """Points on both shapes in the frame of shape 0, (m, 8, 3) each, and which of them there are (m, 8)."""
    there = np.arange(MOST) < manifolds["count"][:, None]
    placed = np.einsum("mij,mkj->mki", rotation(poses[:, 3:]), manifolds["point1"].astype(float)) + poses[:, None, :3]
    return manifolds["point0"].astype(float), placed, there


def inside_by(body, points):
    """How far points (m, 3) lie beyond a convex body: the largest over many directions of n . p - support."""
    from .convex_reference import DIRECTIONS

    support = np.einsum("ki,ki->k", DIRECTIONS, body.support(DIRECTIONS))
    return (points @ DIRECTIONS.T - support).max(axis=1)


def compare(first, second, count, seed):
    a, body_a = shape(first)
    b, body_b = shape(second)
    poses = random_poses(count, 1.2, seed).astype(float)
    found = ask(a, b, poses, REACH)
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    q, t = poses[:, 3:], poses[:, :3]
    expected, _ = signed_distance(body_a, body_b, q, t, seed)
    normal = found["normal"].astype(float)
    hit = found["count"] > 0
    along = separation(body_a, body_b, rotation(q), t, normal[:, None])[:, 0]
    best = np.maximum(expected, np.where(hit, along, -np.inf))
    distance = nearest(found)
    tolerance, beside = tolerance_of(first, second), point_tolerance_of(first, second)
    assert not np.any((best < REACH - tolerance) & ~hit), "missed"
    assert not np.any((best > REACH + ROUNDING) & hit), "not there"
    assert np.abs(np.linalg.norm(normal[hit], axis=1) - 1.0).max() < 1.0e-5
    assert np.abs(distance - along)[hit].max() < tolerance, "distance is that of its normal"
    assert (best - distance)[hit].max() < tolerance, "another direction is better"
    p, q1, there = points_of(found, poses)
    apart = np.einsum("mki,mi->mk", q1 - p, normal)
    assert np.abs(apart - found["distance"])[there].max() < ROUNDING
    assert np.linalg.norm(q1 - p - apart[..., None] * normal[:, None], axis=2)[there].max() < beside
    other = found["point1"].astype(float)
    for body, points in ((body_a, p), (body_b, other)):
        assert inside_by(body, points[there]).max() < beside, "a point is off its shape"
    return hit.sum()


@every_pair
def test_distance_normal_and_points(first, second):
    assert compare(first, second, 100, int(first) * 16 + int(second)) > 40


@pytest.mark.slow
@every_pair
def test_distance_normal_and_points_of_many(first, second):
    for seed in range(20):
        compare(first, second, 500, 1000 + seed)


@pytest.mark.parametrize("code", SCALES, ids=lambda code: code.name.lower())
def test_plane_against_support(code):
    b, body = shape(code)
    poses = random_poses(2000, 1.0, int(code)).astype(float)
    found = ask(geometry(GeoType.PLANE, (0.0, 0.0, 0.0)), b, poses, REACH)
    r = rotation(poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True))
    down = -r[:, 2, :]
    expected = poses[:, 2] - np.einsum("mi,mi->m", down, body.support(down))
    hit = found["count"] > 0
    assert np.array_equal(hit, expected < REACH) or np.abs(expected[hit != (expected < REACH)] - REACH).max() < ROUNDING
    assert np.abs(nearest(found) - expected)[hit].max() < 1.0e-4 * 0.7 + ROUNDING
    p, q, there = points_of(found, poses)
    assert np.abs(p[there][:, 2]).max() < ROUNDING
    assert np.abs(q[there][:, 2] - found["distance"][there]).max() < ROUNDING


def test_a_kernel_of_few_kinds_answers_the_same():
    kernel = make_meet(tuple(shape_kind(code) for code in (GeoType.PLANE, GeoType.SPHERE, GeoType.CAPSULE)), finite_planes=False)
    for first, second in ((PLANE, ROD), (PLANE, shape(GeoType.SPHERE)[0]), (shape(GeoType.SPHERE)[0], ROD), (ROD, ROD)):
        poses = random_poses(500, 1.0, 4)
        few, all_kinds = ask(first, second, poses, kernel=kernel), ask(first, second, poses)
        assert (few["count"] > 0).sum() > 50
        for name in few.dtype.names:
            np.testing.assert_allclose(few[name], all_kinds[name], atol=1e-6)


# Known contacts


def test_spheres_that_overlap():
    s = geometry(GeoType.SPHERE, (0.5, 0.0, 0.0))
    m = ask(s, s, [[0.0, 0.0, 0.99, *UPRIGHT]], 0.0)[0]
    assert m["count"] == 1
    np.testing.assert_allclose(m["normal"], (0.0, 0.0, 1.0), atol=1e-7)
    np.testing.assert_allclose(m["distance"][0], -0.01, atol=1e-6)
    np.testing.assert_allclose(m["point0"][0], (0.0, 0.0, 0.5), atol=1e-6)
    np.testing.assert_allclose(m["point1"][0], (0.0, 0.0, -0.5), atol=1e-6)


def on_box(scale, pose, reach=0.0, base=(1.0, 1.0, 0.5), code=GeoType.BOX):
    return ask(geometry(GeoType.BOX, base), geometry(code, scale), [pose], reach)[0]


def corners(m):
    return sorted(tuple(np.round(p[:2].astype(float), 5) + 0.0) for p in m["point0"][: m["count"]])


def test_box_on_a_larger_box():
    m = on_box((0.5, 0.5, 0.5), (0.0, 0.0, 0.999, *UPRIGHT))
    assert m["count"] == 4
    assert corners(m) == [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]
    np.testing.assert_allclose(m["distance"][:4], -0.001, atol=1e-6)


@pytest.mark.parametrize("second", ["box", "hull"])
def test_box_turned_on_an_equal_box(second):
    """The faces have an octagon in common, and all of its corners are kept."""
    cube = geometry(GeoType.BOX, (0.5, 0.5, 0.5))
    m = ask(cube, cube if second == "box" else cube_hull(), [(0.0, 0.0, 0.999, *turned("z", 45.0))], 0.0)[0]
    assert m["count"] == 8
    octagon = [(x * 0.5, y * 0.2071068) for x in (-1, 1) for y in (-1, 1)]
    assert np.allclose(corners(m), sorted(octagon + [(y, x) for x, y in octagon]), atol=2e-5)
    np.testing.assert_allclose(m["distance"], -0.001, atol=1e-6)
    assert len(set(m["feature"])) == 8


def test_corners_that_add_little_are_left_out():
    """Of two squares nearly in line: the common octagon has four corners that lie almost between the others."""
    for degrees, count in ((2.0, 4), (-3.0, 4), (10.0, 8), (-30.0, 8)):
        m = on_box((0.5, 0.5, 0.5), (0.0, 0.0, 0.999, *turned("z", degrees)), base=(0.5, 0.5, 0.5))
        assert m["count"] == count
        common = 2.0 / (1.0 + np.sin(np.radians(abs(degrees))) + np.cos(np.radians(degrees)))
        assert area_of(m["point0"][None, :count]) > 0.97 * common


def test_a_corner_that_is_deeper_stays():
    """A box tilted by 0.01 about an axis across, and turned by 2 degrees: the deepest of the corners in common is one of those kept."""
    from scipy.spatial.transform import Rotation

    for axis in range(24):
        away = 2.0 * np.pi * axis / 24
        q = (
            Rotation.from_rotvec(0.01 * np.array([np.cos(away), np.sin(away), 0.0])) * Rotation.from_euler("z", 2.0, degrees=True)
        ).as_quat()
        m = on_box((0.5, 0.5, 0.5), (0.0, 0.0, 0.999, *q), reach=0.1, base=(0.5, 0.5, 0.5))
        assert 4 <= m["count"] <= 8
        lowest = Rotation.from_quat(q).apply([(x, y, -0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])[:, 2].min()
        assert abs(m["distance"][: m["count"]].min() - (lowest + 0.499)) < 1.2e-3


@pytest.mark.parametrize("corners, most", [(5, 5), (6, 6), (8, 8), (9, 8), (11, 8), (12, 4)])
def test_a_face_of_many_corners(corners, most):
    """On a plane and on a larger box: up to eight are kept, well spread; a face of twelve counts as round."""
    prism = prism_hull(corners)
    whole = 0.5 * corners * np.sin(2.0 * np.pi / corners) * 0.25
    for base, height in ((PLANE, 0.0), (geometry(GeoType.BOX, (1.0, 1.0, 0.5)), 0.5)):
        poses = perturbed(500, (0.1, 0.0, height + 0.499), turned("z", 20.0))
        m = ask(base, prism, poses, 0.0)
        assert set(m["count"]) == {most}
        assert np.abs(m["distance"][:, :most] + 1e-3).max() < 2e-4
        assert area_of(m["point0"][:, :most]).min() > (0.84 if most == 8 else 0.63) * whole


@pytest.mark.parametrize("first, second", [("drum", "drum"), ("drum", "box"), ("hull", "hull"), ("hull", "box"), ("hull", "drum")])
@pytest.mark.parametrize("height", [0.9995, 1.0, 1.0005])
def test_faces_that_overlap_in_part(first, second, height):
    """One shifted sideways on the other, by up to half of its width, and turned: never fewer than three points, at the right depth, that
    span most of what the faces have in common, and as many after a small motion.
    """
    shapes = {"drum": (DRUM, circle(24)), "box": (CUBE, 0.5 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])),
              "hull": (prism_hull(6), circle(6))}  # fmt: skip
    (a, below), (b, above) = shapes[first], shapes[second]
    rng = np.random.default_rng(3)
    changed = 0
    for _ in range(60):
        shift, turn = rng.uniform(-0.35, 0.35, 2), rng.uniform(-180.0, 180.0)
        poses = perturbed(50, (*shift, height), turned("z", turn))
        m = ask(a, b, poses, 2.0e-3)
        assert m["count"].min() >= 3
        assert np.abs(nearest(m) - (height - 1.0)).max() < 2.0e-4
        assert np.abs(m["normal"] - (0.0, 0.0, 1.0)).max() < 1.0e-3
        common = common_area(below, np.asarray(above) @ rotation(turned("z", turn)[None])[0, :2, :2].T + shift)
        spans = [area_of(one["point0"][None, : one["count"]])[0] for one in m]
        assert min(spans) > (0.97 if "drum" not in (first, second) else 0.55) * common
        changed += len(set(m["count"])) > 1
    assert changed <= 3  # where a corner of one is right above a side of the other


def test_corner_on_a_face():
    tilt = np.arctan(np.sqrt(2.0))  # a diagonal upright
    axis = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
    m = on_box((0.5, 0.5, 0.5), (0.0, 0.0, 0.5 + 0.8660254 - 0.001, *(np.sin(tilt / 2) * axis), np.cos(tilt / 2)))
    assert m["count"] == 1
    np.testing.assert_allclose(m["normal"], (0.0, 0.0, 1.0), atol=1e-6)
    np.testing.assert_allclose(m["distance"][0], -0.001, atol=1e-6)
    np.testing.assert_allclose(m["point0"][0, :2], 0.0, atol=1e-5)


def test_boxes_a_little_apart():
    pose = (0.0, 0.0, 1.000001, *UPRIGHT)
    assert on_box((0.5, 0.5, 0.5), pose)["count"] == 0
    assert on_box((0.5, 0.5, 0.5), pose, reach=1e-3)["count"] == 4


def test_edge_on_edge():
    """A box on its edge across another on its edge: one point, whose normal is perpendicular to both."""
    half = np.pi / 8
    lying = np.array([0.0, np.sin(half), 0.0, np.cos(half)])  # edge along y on top
    m = ask(
        geometry(GeoType.BOX, (0.5, 0.5, 0.5)),
        geometry(GeoType.BOX, (0.5, 0.5, 0.5)),
        [edge_pose(lying)],
        0.0,
    )[0]
    assert m["count"] == 1
    np.testing.assert_allclose(m["distance"][0], -0.01, atol=1e-5)
    up = rotation(lying).T @ np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(m["normal"], up, atol=1e-5)


def edge_pose(lying):
    """Second box turned on its edge along x, above the first, in the frame of the first, which is turned by ``lying``."""
    from scipy.spatial.transform import Rotation

    first = Rotation.from_quat(lying)
    second = Rotation.from_euler("x", 45.0, degrees=True)
    offset = first.inv().apply((0.0, 0.0, np.sqrt(2.0) - 0.01))
    return [*offset, *(first.inv() * second).as_quat()]


@pytest.mark.parametrize("code, count", [(GeoType.CYLINDER, 4), (GeoType.CONE, 4), (GeoType.BOX, 4)])
def test_flat_on_a_plane_and_on_a_box(code, count):
    scale = (0.3, 0.4, 0.4)
    for base, height in ((geometry(GeoType.PLANE, (0.0, 0.0, 0.0)), 0.0), (geometry(GeoType.BOX, (1.0, 1.0, 0.5)), 0.5)):
        m = ask(base, geometry(code, scale), [(0.1, 0.0, height + 0.4 - 1e-3, *UPRIGHT)], 0.0)[0]
        assert m["count"] == count
        np.testing.assert_allclose(m["distance"][:count], -1e-3, atol=1e-6)
        area = np.ptp(m["point0"][:count], axis=0)
        assert area[0] > 0.55 and area[1] > 0.55


@pytest.mark.parametrize("code", [GeoType.CYLINDER, GeoType.CAPSULE, GeoType.CONE], ids=lambda code: code.name.lower())
def test_lying_on_the_side(code):
    """Two points, at the ends of the line that touches."""
    from scipy.spatial.transform import Rotation

    lying = 90.0 + (np.degrees(np.arctan2(0.3, 0.8)) if code == GeoType.CONE else 0.0)
    q = Rotation.from_euler("y", lying, degrees=True).as_quat()
    height = 0.3
    if code == GeoType.CONE:
        height = 0.4 * 0.3 / np.hypot(0.3, 0.8)
    for base, top in ((geometry(GeoType.PLANE, (0.0, 0.0, 0.0)), 0.0), (geometry(GeoType.BOX, (2.0, 2.0, 0.5)), 0.5)):
        m = ask(base, geometry(code, (0.3, 0.4, 0.0)), [(0.1, 0.2, top + height - 1e-3, *q)], 0.0)[0]
        assert m["count"] == 2
        np.testing.assert_allclose(m["distance"][:2], -1e-3, atol=2e-6)
        assert np.linalg.norm(m["point0"][0] - m["point0"][1]) > 0.79


def test_parallel_capsules():
    c = geometry(GeoType.CAPSULE, (0.2, 0.5, 0.0))
    m = ask(c, c, [(0.39, 0.0, 0.2, *UPRIGHT)], 0.0)[0]
    assert m["count"] == 2
    np.testing.assert_allclose(sorted(m["point0"][:2, 2]), (-0.3, 0.5), atol=1e-6)
    np.testing.assert_allclose(m["distance"][:2], -0.01, atol=1e-6)


@pytest.mark.parametrize("first, second", PAIRS, ids=lambda code: code.name.lower())
def test_concentric(first, second):
    """A definite normal, and the whole depth."""
    a, body_a = shape(first)
    b, body_b = shape(second)
    m = ask(a, b, [(0.0, 0.0, 0.0, *UPRIGHT)], 0.0)
    assert m["count"][0] >= 1
    normal = m["normal"][0].astype(float)
    np.testing.assert_allclose(np.linalg.norm(normal), 1.0, atol=1e-5)
    q, t = np.array([UPRIGHT]), np.zeros((1, 3))
    expected, _ = signed_distance(body_a, body_b, q, t)
    along = separation(body_a, body_b, rotation(q), t, normal[None, None])[0, 0]
    assert abs(nearest(m)[0] - along) < tolerance_of(first, second)
    assert along > expected[0] - tolerance_of(first, second)


# Quality


@pytest.mark.parametrize("first, second", [pair for pair in PAIRS if GeoType.BOX in pair], ids=lambda code: code.name.lower())
def test_rigid_motion(first, second):
    """Two shapes moved together have the same contact, as far as the pose between them has digits."""
    from scipy.spatial.transform import Rotation

    a, b = shape(first)[0], shape(second)[0]
    poses = random_poses(300, 0.8, 3).astype(float)
    before = ask(a, b, poses, 0.05)
    motion, at = Rotation.random(300, random_state=1), np.random.default_rng(2).uniform(-10.0, 10.0, (300, 3))
    q, t = Rotation.from_quat(poses[:, 3:]), poses[:, :3]
    q0, q1 = (turn.as_quat().astype(np.float32) for turn in (motion, motion * q))
    t0, t1 = at.astype(np.float32), (at + motion.apply(t)).astype(np.float32)
    back = Rotation.from_quat(q0).inv()
    after = ask(a, b, np.concatenate((back.apply(t1 - t0), (back * Rotation.from_quat(q1)).as_quat()), axis=1), 0.05)
    hit = (before["count"] > 0) & (after["count"] > 0)
    assert hit.sum() > 100
    assert ((before["count"] > 0) != (after["count"] > 0)).sum() <= 1
    assert np.abs(nearest(before)[hit] - nearest(after)[hit]).max() < 8.4e-4
    same = np.linalg.norm(before["normal"][hit] - after["normal"][hit], axis=1) < 1e-3
    assert same.mean() > 0.98
    assert (before["count"][hit][same] == after["count"][hit][same]).mean() > 0.97


def area_of(points):
    """Areas of convex polygons seen from above, (m,): corners (m, n, 3) in any order."""
    p = points[:, :, :2].astype(float)
    p = p - p.mean(axis=1, keepdims=True)
    order = np.argsort(np.arctan2(p[:, :, 1], p[:, :, 0]), axis=1)
    p = np.take_along_axis(p, order[:, :, None], axis=1)
    q = np.roll(p, -1, axis=1)
    return 0.5 * (p[:, :, 0] * q[:, :, 1] - p[:, :, 1] * q[:, :, 0]).sum(axis=1)


def circle(corners, radius=0.5):
    """Corners (n, 2) of a regular polygon, anticlockwise."""
    angle = 2.0 * np.pi * np.arange(corners) / corners
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def common_area(polygon, other):
    """Area that two convex polygons have in common (Sutherland and Hodgman)."""
    for p, q in zip(other, np.roll(other, -1, axis=0), strict=True):
        height = (q[0] - p[0]) * (polygon[:, 1] - p[1]) - (q[1] - p[1]) * (polygon[:, 0] - p[0])
        kept = []
        for k in range(len(polygon)):
            m = (k + 1) % len(polygon)
            if height[k] >= 0.0:
                kept.append(polygon[k])
            if (height[k] >= 0.0) != (height[m] >= 0.0):
                kept.append(polygon[k] + height[k] / (height[k] - height[m]) * (polygon[m] - polygon[k]))
        polygon = np.array(kept)
    return area_of(polygon[None])[0]


def turned(axis, degrees):
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler(axis, degrees, degrees=True).as_quat()


PLANE = geometry(GeoType.PLANE, (0.0, 0.0, 0.0))
CUBE = geometry(GeoType.BOX, (0.5, 0.5, 0.5))
DRUM = geometry(GeoType.CYLINDER, (0.5, 0.5, 0.0))
ROD = geometry(GeoType.CAPSULE, (0.2, 0.5, 0.0))
CONE_LYING = 90.0 + np.degrees(np.arctan2(0.4, 1.0))
RESTING = {
    "box on plane": (PLANE, CUBE, 0.5, UPRIGHT, 4),
    "cylinder on plane": (PLANE, DRUM, 0.5, UPRIGHT, 4),
    "cone on plane": (PLANE, geometry(GeoType.CONE, (0.4, 0.5, 0.0)), 0.5, UPRIGHT, 4),
    "hull on plane": (PLANE, "hull", 0.5, UPRIGHT, 4),
    "cylinder lying on plane": (PLANE, DRUM, 0.5, turned("y", 90.0), 2),
    "cone lying on plane": (PLANE, geometry(GeoType.CONE, (0.4, 0.5, 0.0)), 0.2 / np.hypot(0.4, 1.0), turned("y", CONE_LYING), 2),
    "capsule lying on plane": (PLANE, ROD, 0.2, turned("y", 90.0), 2),
    "box on its edge on plane": (PLANE, CUBE, np.sqrt(0.5), turned("x", 45.0), 2),
    "box on equal box": (CUBE, CUBE, 1.0, UPRIGHT, 4),
    "box on turned box": (CUBE, CUBE, 1.0, turned("z", 45.0), 8),
    "box on box turned a little": (CUBE, CUBE, 1.0, turned("z", 1.5), 4),
    "box on box turned by a third": (CUBE, CUBE, 1.0, turned("z", 30.0), 8),
    "box on long box": (geometry(GeoType.BOX, (2.0, 0.5, 0.5)), geometry(GeoType.BOX, (0.5, 0.4, 0.5)), 1.0, UPRIGHT, 4),
    "plank on box": (CUBE, geometry(GeoType.BOX, (1.0, 0.3, 0.01)), 0.51, UPRIGHT, 4),
    "box on its edge on box": (CUBE, CUBE, 0.5 + np.sqrt(0.5), turned("x", 45.0), 2),
    "box on cylinder": (DRUM, CUBE, 1.0, UPRIGHT, 4),
    "cone on box": (CUBE, geometry(GeoType.CONE, (0.4, 0.5, 0.0)), 1.0, UPRIGHT, 4),
    "cylinder on cylinder": (DRUM, DRUM, 1.0, UPRIGHT, 4),
    "hull on box": (CUBE, "hull", 1.0, UPRIGHT, 4),
    "hull on hull": ("hull", "hull", 1.0, UPRIGHT, 4),
    "hull on turned box": (CUBE, "hull", 1.0, turned("z", 45.0), 8),
    "hull on turned hull": ("hull", "hull", 1.0, turned("z", 45.0), 8),
    "capsule below box": (ROD, CUBE, 0.7, turned("y", 90.0), 2),
    "hull on capsule": (ROD, "hull", 0.7, turned("y", 90.0), 2),
    "cylinder on parallel capsule": (ROD, DRUM, 0.7, UPRIGHT, 2),
    "capsules side by side": (ROD, ROD, 0.4, UPRIGHT, 2),
}
"""Two shapes, how far apart their centres are, how the second is turned, and the number of points."""
SIDEWAYS = ("capsules side by side", "cylinder on parallel capsule", "capsule below box", "hull on capsule")
"""Pairs whose second shape is on the +X side of the first."""


def perturbed(count, offset, q, seed=0):
    """Poses near one, moved and turned by 1e-7 to 1e-4."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-7.0, -4.0, (count, 1))
    moved = np.asarray(offset) + size * rng.uniform(-1.0, 1.0, (count, 3))
    spin = Rotation.from_rotvec(size * rng.uniform(-1.0, 1.0, (count, 3)))
    return np.concatenate((moved, (spin * Rotation.from_quat(q)).as_quat()), axis=1)


@pytest.mark.parametrize("name", RESTING)
@pytest.mark.parametrize("offset", [0.0, -2.0e-4, -1.0e-3])
def test_count_is_constant_under_small_motions(name, offset):
    a, b, height, q, count = RESTING[name]
    a, b = (cube_hull() if isinstance(g, str) else g for g in (a, b))
    up = np.array([1.0, 0.0, 0.0] if name in SIDEWAYS else [0.0, 0.0, 1.0])
    poses = perturbed(10000, (height + offset) * up, q)
    found = ask(a, b, poses, 1.0e-3)
    assert set(found["count"]) == {count}
    assert (found["normal"] @ up).min() > 1.0 - 1.0e-6
    p = points_of(found, poses)[0]
    area = area_of(p[:, :count]) if count > 2 else np.linalg.norm(p[:, 1] - p[:, 0], axis=1)
    assert area.min() > 0.6 * area.max()


def test_a_grain_on_a_mountain():
    """A box of a millimetre far out on one of a hundred metres: as exact as single precision says where it is."""
    poses = [(30.0, 20.0, 50.0005 - 2e-5, *UPRIGHT), (-49.0, 49.0, 50.0005 - 2e-5, *turned("z", 30.0))]
    for small in (geometry(GeoType.BOX, (5e-4, 5e-4, 5e-4)), cube_hull((1e-3, 1e-3, 1e-3))):
        m = ask(geometry(GeoType.BOX, (50.0, 50.0, 50.0)), small, poses, 1e-4)
        assert (m["count"] == 4).all()
        assert np.abs(m["distance"][:, :4] + 2e-5).max() < 1e-5
        assert np.abs(np.abs(m["point1"][:, :4]) - 5e-4).max() < 2e-5
        assert np.allclose(m["normal"], (0.0, 0.0, 1.0), atol=1e-6)


def as_sets_agree(p, q, there, tolerance):
    """Whether every point of p (m, 8, 3) has one of q near it, and the other way round."""
    d = np.linalg.norm(p[:, :, None] - q[:, None], axis=3)
    d = np.where(there[:, :, None] & there[:, None], d, np.inf)
    back = np.where(there, d.min(axis=2), 0.0).max(axis=1)
    forth = np.where(there, d.min(axis=1), 0.0).max(axis=1)
    return np.maximum(back, forth) < tolerance


def inverse(poses):
    r = np.swapaxes(rotation(poses[:, 3:]), 1, 2)
    return np.concatenate((-np.einsum("mij,mj->mi", r, poses[:, :3]), poses[:, 3:] * (-1.0, -1.0, -1.0, 1.0)), axis=1)


@pytest.mark.parametrize("code", SCALES, ids=lambda code: code.name.lower())
def test_exchange(code):
    a, _ = shape(code)
    b, _ = shape(code, np.multiply(SCALES[code], 0.8))
    poses = random_poses(2000, 1.0, int(code)).astype(float)
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    back = inverse(poses)
    m, w = ask(a, b, poses, 0.05), ask(b, a, back, 0.05)
    one, two = m["count"] > 0, w["count"] > 0
    assert (one != two).sum() <= 2
    both = one & two
    turned = -np.einsum("mij,mj->mi", rotation(poses[:, 3:]), w["normal"].astype(float))
    same = np.linalg.norm(turned - m["normal"], axis=1) < 2e-3
    assert np.abs(nearest(m)[both] - nearest(w)[both]).max() < 1.0e-3
    assert same[both].mean() > 0.985  # the rest has two directions that are as good
    p, _, there = points_of(m, poses)
    q = w["point1"].astype(float)
    alike = both & same & (m["count"] == w["count"])
    assert alike.sum() > 0.97 * (both & same).sum()
    assert as_sets_agree(p, q, there, 5e-3)[alike].mean() > 0.97


SIZES = (1.0e-3, 1.0e-2, 1.0, 100.0)


def degenerate_pairs(count, seed):
    """Shapes with sizes from a millimetre to a hundred metres and beyond their proportions, at poses where origins and faces coincide."""
    rng = np.random.default_rng(seed)
    codes = np.array([int(code) for code in SCALES])
    scale = np.asarray(SIZES)[rng.integers(0, 4, (count, 2, 1))] * 10.0 ** rng.uniform(-3.0, 0.0, (count, 2, 3))
    scale[rng.random(count) < 0.3] = np.asarray(SIZES)[rng.integers(0, 4)] * 0.5
    kinds = np.sort(codes[rng.integers(0, len(codes), (count, 2))], axis=1)
    poses = random_poses(count, 1.0, seed + 1).astype(float)
    reach = np.linalg.norm(scale, axis=2).sum(axis=1)
    poses[:, :3] *= (reach * 10.0 ** rng.uniform(-4.0, 0.2, count))[:, None]
    aligned = rng.random(count) < 0.4
    quarter = np.array([(0, 0, 0, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1), (1, 1, 1, 1), (1, 0, 0, 0)], float)
    quarter /= np.linalg.norm(quarter, axis=1, keepdims=True)
    poses[aligned, 3:] = quarter[rng.integers(0, len(quarter), aligned.sum())]
    on_face = rng.random(count) < 0.3  # the origin of b on a face, edge or corner of a
    poses[on_face, :3] = (rng.integers(-1, 2, (count, 3)) * scale[:, 0])[on_face]
    return kinds, scale, poses


def fuzz(count, seed):
    kinds, scale, poses = degenerate_pairs(count, seed)
    hull = shape(GeoType.CONVEX_MESH)[0]
    sides = []
    for k in range(2):
        g = geometry(GeoType.BOX, scale[:, k], count)
        for code in SCALES:
            own = kinds[:, k] == code
            g[own] = geometry(code, scale[own, k], own.sum())
        is_hull = g["type"] == GeoType.CONVEX_MESH
        g["scale"][is_hull] = scale[is_hull, k, :1]
        g["radius"][is_hull] = 0.4 * scale[is_hull, k, 0]
        g["source"][is_hull] = hull["source"][0]
        sides.append(g)
    found = ask(*sides, poses, 1.0e-3)
    for name in ("normal", "point0", "point1", "distance"):
        assert np.isfinite(found[name]).all(), name
    hit = found["count"] > 0
    assert np.abs(np.linalg.norm(found["normal"][hit], axis=1) - 1.0).max() < 1e-4
    # deep: the origins of both lie inside both, or a ball inside one reaches the origin of the other
    smallest = np.where(kinds == GeoType.SPHERE, scale[:, :, 0], np.minimum(scale[:, :, 0], scale[:, :, 1]))
    smallest = np.where(np.isin(kinds, (GeoType.BOX, GeoType.ELLIPSOID)), scale.min(axis=2), smallest)
    smallest = np.where(kinds == GeoType.CONVEX_MESH, 0.15 * scale[:, :, 0], smallest)
    smallest = np.where(kinds == GeoType.CONE, 0.25 * smallest, smallest)
    deep = np.linalg.norm(poses[:, :3], axis=1) < 0.9 * smallest.sum(axis=1)
    assert deep.sum() > count // 10
    missed = deep & ~hit
    assert not missed.any(), [(kinds[i], scale[i], poses[i]) for i in np.flatnonzero(missed)[:3]]
    shallow = deep & (nearest(found) > 0.0)
    assert not shallow.any(), [(kinds[i], scale[i], poses[i], found[i]) for i in np.flatnonzero(shallow)[:3]]


def test_fuzz():
    fuzz(2000, 0)


@pytest.mark.slow
def test_fuzz_long():
    for seed in range(10):
        fuzz(10000, 100 + seed)

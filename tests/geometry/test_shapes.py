"""Every kind of shape against brute force. A new kind is tested by being in SHAPES and having examples."""

import numpy as np
import pytest

from hooke.geometry import SHAPES, GeoType, Mesh, shape_kind
from hooke.geometry.inertia import mesh_mass_properties

from .reference import CASES, SHEETS, ask, box_points, closest_points, size_of, surface_of, surface_points, terrain, wedge, winding

every_shape = pytest.mark.parametrize("kind, scale, source", CASES)
SAGITTA = 1.0 - np.cos(np.pi / 72.0)
"""Distance of a circle from its polygon of 72 sides, relative to its radius."""


def inside_or_outside(kind, points, vertices, triangles):
    """-1 or +1 for every point, by what the surface encloses or has below it."""
    if kind.code in SHEETS:
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        below = np.zeros(len(points), dtype=bool)
        for i, p in enumerate(points):  # the triangle above or below p, and whether it is above
            weights = [(v - u)[:, 0] * (p - u)[:, 1] - (v - u)[:, 1] * (p - u)[:, 0] for u, v in ((b, c), (c, a), (a, b))]
            hit = np.flatnonzero((np.array(weights) >= 0.0).all(axis=0))
            if len(hit):
                w = np.array(weights)[:, hit[0]]
                below[i] = p[2] < (w @ np.array([a[hit[0], 2], b[hit[0], 2], c[hit[0], 2]])) / w.sum()
        return np.where(below, -1.0, 1.0)
    return np.where(winding(points, vertices, triangles) > 0.5, -1.0, 1.0)


@every_shape
def test_distance_is_that_of_a_dense_surface(kind, scale, source):
    points = box_points(kind, scale, source, 250)
    vertices, triangles = surface_of(kind, scale, source)
    distance, normal, found = ask(kind.code, scale, source, points)
    nearest = closest_points(points, vertices, triangles)
    expected = np.linalg.norm(points - nearest, axis=1) * inside_or_outside(kind, points, vertices, triangles)
    heard = found == 1
    assert heard.sum() > 100
    if kind.code not in SHEETS:
        assert heard.all()
    size = size_of(kind, scale, source)
    assert np.abs(distance - expected)[heard].max() < 2.5 * SAGITTA * size + 1.0e-6
    # what is seen is the surface: the point that distance and normal lead to lies on it
    seen = points - distance[:, None] * normal
    assert np.linalg.norm(closest_points(seen[heard], vertices, triangles) - seen[heard], axis=1).max() < SAGITTA * size + 2.0e-6


@every_shape
def test_closest_point_lies_on_the_surface(kind, scale, source):
    """Much sharper than any tessellation: asked again from the closest point, the distance is zero."""
    points = box_points(kind, scale, source, 4000, seed=1)
    distance, normal, found = ask(kind.code, scale, source, points)
    seen = (points - distance[:, None] * normal)[found == 1]
    again, _, _ = ask(kind.code, scale, source, seen)
    assert np.abs(again).max() < 3.0e-6 * max(size_of(kind, scale, source), 1.0)


@every_shape
def test_normal_is_the_gradient_of_the_distance(kind, scale, source):
    size = size_of(kind, scale, source)
    points = box_points(kind, scale, source, 1000, seed=2)
    _, normal, found = ask(kind.code, scale, source, points)
    step = 2.0e-3 * size
    gradient = np.empty_like(points)
    for axis in range(3):
        offset = step * np.eye(3)[axis]
        ahead, _, found_ahead = ask(kind.code, scale, source, points + offset)
        behind, _, found_behind = ask(kind.code, scale, source, points - offset)
        gradient[:, axis] = (ahead.astype(np.float64) - behind) / (2.0 * step)
        found = found & found_ahead & found_behind
    smooth = (found == 1) & (np.abs(np.linalg.norm(gradient, axis=1) - 1.0) < 2.0e-3)  # not across a crease of the distance
    assert smooth.sum() > 300
    error = np.linalg.norm(normal - gradient, axis=1)[smooth]
    assert np.quantile(error, 0.95) < 0.02
    assert error.max() < 0.2


@every_shape
def test_normal_on_the_surface_is_that_of_the_surface(kind, scale, source):
    """Where distance has no digits left the normal still has them."""
    points, facing = surface_points(kind, scale, source, 500)
    distance, normal, found = ask(kind.code, scale, source, points)
    size = size_of(kind, scale, source)
    assert np.abs(distance).max() < 2.0 * SAGITTA * size
    agreement = np.einsum("ni,ni->n", normal, facing)
    assert (found == 1).all()
    assert np.quantile(agreement, 0.05) > 0.97  # facets of curved shapes differ a little, edges more
    assert np.mean(agreement > 0.9) > 0.95


@every_shape
def test_degenerate_points_have_an_answer(kind, scale, source):
    vertices, triangles = surface_of(kind, scale, source, 12)
    corners = vertices[triangles]
    middles = 0.5 * (corners + np.roll(corners, 1, axis=1)).reshape(-1, 3)
    line = np.linspace(-1.0, 1.0, 21)[:, None] * size_of(kind, scale, source)
    axes = np.concatenate([line * np.eye(3)[k] for k in range(3)])
    tiny = np.array([[1e-20, 0, 0], [1e-30, -1e-30, 1e-25], [0, 1e-12, 0], [-0.0, -0.0, -0.0], [0, 0, 1e-38]])
    far = np.array([[1e6, 0, 0], [0, -1e6, 1e6], [1e4, 1e4, 1e4]])
    points = np.concatenate((np.zeros((1, 3)), axes, vertices, middles, corners.mean(axis=1), tiny, far))
    distance, normal, found = ask(kind.code, scale, source, points)
    assert np.isfinite(distance).all()
    assert np.isin(found, (0, 1)).all()
    assert np.abs(np.linalg.norm(normal, axis=1) - 1.0).max() < 1.0e-5


@every_shape
def test_points_inside_are_found_whatever_the_reach(kind, scale, source):
    points = box_points(kind, scale, source, 1000, seed=4, margin=0.0)
    far_sighted, _, found = ask(kind.code, scale, source, points)
    inside = (found == 1) & (far_sighted < 0.0)
    short_sighted, _, still = ask(kind.code, scale, source, points, reach=1.0e-4)
    if kind.code != GeoType.PLANE:  # nothing of a plane's box is inside it
        assert inside.any()
    assert (still[inside] == 1).all()
    assert np.array_equal(short_sighted[inside], far_sighted[inside])


@every_shape
def test_bounds_hold_the_surface_and_no_more(kind, scale, source):
    lower, upper = kind.bounds(scale, source)
    assert lower.dtype == upper.dtype == np.float64
    surface = kind.surface(scale, source, 72)
    if surface is None:
        assert np.isinf(lower).any() and np.isinf(upper).any()
        return
    vertices, triangles = surface
    assert vertices.dtype == np.float32 and triangles.dtype == np.int32
    slack = 1.0e-6 * size_of(kind, scale, source)
    assert np.all(vertices >= lower - slack) and np.all(vertices <= upper + slack)
    faces = slice(0, 2 if kind.code in SHEETS else 3)  # sheets act on what is below them
    room = 2.0 * SAGITTA * size_of(kind, scale, source)
    assert np.all(vertices.min(axis=0)[faces] - lower[faces] < room) and np.all(upper - vertices.max(axis=0) < room)


@every_shape
def test_surface_faces_outward(kind, scale, source):
    surface = kind.surface(scale, source, 24)
    if surface is None:
        return
    vertices, triangles = surface
    corners = vertices.astype(np.float64)[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(normal, axis=1).min() > 0.0
    if kind.code in SHEETS:
        assert np.all(normal[:, 2] > 0.0)
    else:
        mesh = Mesh(vertices, triangles)
        assert mesh.is_watertight and mesh.faces_outward


@every_shape
def test_mass_properties_by_summing_small_cubes(kind, scale, source):
    """All volume elements whose middle the distance finds inside, 48 across the box of the shape."""
    body = kind.mass_properties(scale, source, 800.0)
    if kind.code in SHEETS:
        assert body.mass == 0.0 and not body.inertia.any()
        return
    lower, upper = kind.bounds(scale, source)
    count = 48
    cell = (upper - lower) / count
    ticks = [lower[k] + (np.arange(count) + 0.5) * cell[k] for k in range(3)]
    middles = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    distance, _, _ = ask(kind.code, scale, source, middles)
    inside = middles[distance < 0.0]
    element = 800.0 * np.prod(cell)
    com = inside.mean(axis=0)
    r = inside - com
    second = element * (r.T @ r + len(r) * np.diag(cell**2) / 12.0)
    inertia = np.trace(second) * np.eye(3) - second
    assert body.mass == pytest.approx(element * len(inside), rel=0.02)
    assert np.abs(body.com - com).max() < 0.005 * (upper - lower).max()
    assert np.abs(body.inertia - inertia).max() < 0.03 * np.abs(inertia).max()


@every_shape
def test_mass_properties_are_the_limit_of_tessellations(kind, scale, source):
    if kind.code in SHEETS:
        return
    body = kind.mass_properties(scale, source, 1.0)
    fine = mesh_mass_properties(*kind.surface(scale, source, 256))
    assert fine.mass == pytest.approx(body.mass, rel=5.0e-4)
    assert np.abs(fine.com - body.com).max() < 1.0e-4 * size_of(kind, scale, source)
    assert np.abs(fine.inertia - body.inertia).max() < 1.0e-3 * np.abs(body.inertia).max()


@every_shape
def test_hollow_shapes(kind, scale, source):
    if kind.code in SHEETS:
        return
    solid = kind.mass_properties(scale, source, 1000.0)
    vertices, triangles = surface_of(kind, scale, source, 128)
    corners = vertices[triangles]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    thickness = 1.0e-3 * solid.mass / 1000.0 / area
    hollow = kind.mass_properties(scale, source, 1000.0, thickness)
    thin = 1000.0 * area * thickness
    if kind.code == GeoType.ELLIPSOID:  # its wall is thinner than that away from the axes
        assert 0.4 * thin < hollow.mass < 1.001 * thin
    else:
        assert hollow.mass == pytest.approx(thin, rel=0.01)
    assert np.linalg.eigvalsh(hollow.inertia).min() > 0.0
    if kind.code not in (GeoType.MESH, GeoType.CONVEX_MESH):
        assert kind.mass_properties(scale, source, 1000.0, 10.0).mass == pytest.approx(solid.mass)
    with pytest.raises(ValueError, match="thickness"):
        kind.mass_properties(scale, source, 1000.0, -0.1)


@every_shape
@pytest.mark.parametrize("size", [-1.0, np.nan])
def test_wrong_sizes_are_refused(kind, scale, source, size):
    wrong = (size, *scale[1:])
    for function in (kind.bounds, kind.surface):
        if kind.code in (GeoType.MESH, GeoType.CONVEX_MESH) and size == -1.0:
            function(wrong, source)  # a mirrored mesh is a mesh
        else:
            with pytest.raises(ValueError, match=r"plane|heightfield|expected"):
                function(wrong, source)


def test_registry():
    assert len({kind.code for kind in SHAPES}) == len({kind.name for kind in SHAPES}) == len(SHAPES)
    assert {kind.code for kind in SHAPES} == set(GeoType) - {GeoType.NONE, GeoType.GAUSSIAN}
    for kind in SHAPES:
        assert shape_kind(int(kind.code)) is kind
        assert kind.examples
    for code in (0, 11, 99, -1):
        with pytest.raises(ValueError, match="BOX 7"):
            shape_kind(code)
        _, normal, found = ask(code, (1.0, 1.0, 1.0), None, np.zeros((1, 3)))
        assert found[0] == 0 and np.array_equal(normal[0], [0.0, 0.0, 1.0])


def test_known_masses():
    box = shape_kind(GeoType.BOX).mass_properties((0.5, 0.5, 0.5), None, 1000.0)
    assert box.mass == pytest.approx(1000.0)
    assert np.allclose(box.inertia, np.eye(3) * 1000.0 / 6.0, atol=1.0e-9)
    sphere = shape_kind(GeoType.SPHERE).mass_properties((0.5, 0.0, 0.0), None, 1000.0)
    assert sphere.mass == pytest.approx(523.59877560)
    assert sphere.inertia[0, 0] == pytest.approx(52.35987756)
    cone = shape_kind(GeoType.CONE).mass_properties((0.3, 0.8, 0.0))
    assert np.allclose(cone.com, [0.0, 0.0, -0.4])
    shell = shape_kind(GeoType.BOX).mass_properties((0.5, 0.5, 0.5), None, 1000.0, 0.1)
    assert shell.mass == pytest.approx(1000.0 * (1.0 - 0.8**3))


def test_barrels_are_refused():
    with pytest.raises(ValueError, match="barrel_radius 2 is not supported"):
        shape_kind(GeoType.CYLINDER).bounds((0.5, 0.5, 2.0))


@pytest.mark.parametrize("axes", [(0.1, 1.0, 1.0), (1.0, 0.1, 0.1), (0.02, 1.0, 0.3), (0.7, 0.7, 0.7)])
def test_flat_and_long_ellipsoids(axes):
    """Stationary: the closest point x has (x/e)^2 = 1 and the normal of the ellipsoid, to float precision, also on its axes."""
    rng = np.random.default_rng(5)
    points = [rng.normal(size=(3000, 3)) * axes, rng.normal(size=(500, 3)) * 5.0]
    for k in range(3):
        line = np.zeros((200, 3))
        line[:, k] = rng.uniform(-1.5, 1.5, 200) * axes[k]
        plane = rng.normal(size=(500, 3)) * axes
        plane[:, k] = 0.0
        points += [line, plane]
    points = np.concatenate(points).astype(np.float32).astype(np.float64)
    distance, normal, _ = ask(GeoType.ELLIPSOID, axes, None, points)
    e = np.array(axes)
    x = points - distance[:, None] * normal
    scale = np.linalg.norm(points, axis=1) + e.max()
    off = (np.linalg.norm(x / e, axis=1) - 1.0) * e.min() / scale
    assert np.abs(off).max() < 1.0e-6
    away = np.abs(distance) > 1.0e-3 * scale
    outward = x / e**2
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    assert np.linalg.norm(normal - outward, axis=1)[away].max() < 2.0e-2
    # no surface point is closer than the one found
    ball = rng.normal(size=(4000, 3))
    samples = ball / np.linalg.norm(ball, axis=1, keepdims=True) * e
    few = points[::10]
    closest = np.linalg.norm(few[:, None] - samples, axis=2).min(axis=1)
    assert np.all(np.abs(distance[::10]) < closest + 1.0e-5)


def test_one_sided_plane():
    points = np.array([[0, 0, -0.05], [0, 0, -0.2], [1.5, 0, -0.01], [1.5, 0, 0.0], [1.5, 1.0, 1.0], [0.3, 0.2, 0.4]])
    distance, normal, found = ask(GeoType.PLANE, (2.0, 1.0, 0.0), None, points)
    assert found.tolist() == [1, 0, 0, 1, 1, 1]
    assert np.allclose(distance[[0, 3, 4, 5]], [-0.05, 0.5, np.sqrt(0.5**2 + 0.5**2 + 1.0), 0.4])
    assert np.allclose(normal[[0, 3, 5]], [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
    _, _, found = ask(GeoType.PLANE, (0.0, 0.0, 0.0), None, np.array([[500.0, -80.0, -1000.0]]))
    assert found[0] == 1


def test_terrain_is_solid_below_and_open_beside():
    field = terrain()
    points = np.array([[0.1, 0.2, -50.0], [0.1, 0.2, 3.0], [1.5, 0.0, -0.5], [1.5, 0.0, 0.8]])
    distance, normal, found = ask(GeoType.HFIELD, (1.0, 1.0, 1.0), field, points)
    assert found.tolist() == [1, 1, 0, 1]
    assert distance[0] < -49.0 and distance[1] > 2.5 and distance[3] > 0.5
    assert normal[0, 2] > 0.5 and normal[1, 2] > 0.5


@pytest.mark.parametrize(
    "make", [lambda: Mesh.create_cylinder(0.3, 0.5, segments=200), lambda: Mesh.create_cone(0.4, 0.5, segments=64)]
)
def test_the_middle_of_a_mesh_is_inside(make):
    """On the axis faces on all sides are equally close and their normals cancel; inside is inside all the same."""
    mesh = make()
    rng = np.random.default_rng(6)
    points = np.zeros((500, 3))
    points[:, 1] = rng.uniform(-0.3, 0.0, 500)
    points[:, [0, 2]] = rng.normal(size=(500, 2)) * 1.0e-4
    distance, _, found = ask(GeoType.MESH, (1.0, 1.0, 1.0), mesh, points)
    assert (found == 1).all() and distance.max() < -0.1


def test_a_mesh_that_faces_inward_is_turned():
    mesh = wedge()
    turned = Mesh(mesh.vertices, mesh.indices.reshape(-1, 3)[:, ::-1])
    points = box_points(shape_kind(GeoType.MESH), (1.0, 1.0, 1.0), mesh, 300)
    expected, _, _ = ask(GeoType.MESH, (1.0, 1.0, 1.0), mesh, points)
    distance, _, _ = ask(GeoType.MESH, (1.0, 1.0, 1.0), turned, points)
    assert not turned.faces_outward and mesh.faces_outward
    assert np.allclose(distance, expected, atol=1.0e-6)

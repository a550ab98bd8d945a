"""Contacts of particles with every kind of shape against closed forms: static, and on a kinematic body that was moved and turned.

A row exists if and only if distance < radius + gap + margin. Its surface point s (given in the body frame) and its normal n satisfy
x = s + d n with the distance d of the closed form, and s lies on the surface: so s is the closest point and n its direction.
"""

import functools

import numpy as np
import pytest
import warp as wp

from hooke import CollisionPipeline, Heightfield, Mesh, ModelBuilder, ShapeConfig

from . import closed_form

GAP = 0.03
ROUNDING = 3.0e-5  # of positions up to 150 m

# An L with its long leg along x: closed, not convex, without any symmetry.
PROFILE = [(0, 0), (1, 0), (1, 0.3), (0.4, 0.3), (0.4, 0.7), (0, 0.7)]
L_VERTICES = np.array([(x - 0.4, y - 0.3, z) for z in (-0.2, 0.35) for x, y in PROFILE])
L_TRIANGLES = (
    [t[::-1] for t in [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]]
    + [(a + 6, b + 6, c + 6) for a, b, c in [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]]
    + [t for i in range(6) for t in [(i, (i + 1) % 6, (i + 1) % 6 + 6), (i, (i + 1) % 6 + 6, i + 6)]]
)
HEIGHTS = np.random.default_rng(3).uniform(0.0, 0.4, size=(4, 5))


def mesh(scale, inward=False):
    triangles = [t[::-1] for t in L_TRIANGLES] if inward else L_TRIANGLES
    return (
        lambda b, body, **o: b.add_shape_mesh(body, mesh=Mesh(L_VERTICES, triangles), scale=scale, **o),
        lambda p: closed_form.polyhedron(p, L_VERTICES * np.array(scale), L_TRIANGLES),
        np.abs(L_VERTICES * np.array(scale)).max(axis=0),
    )


def hull(b, body, **options):
    return b.add_shape_convex_hull(body, mesh=Mesh(L_VERTICES, L_TRIANGLES), **options)


def heightfield(b, body, scale=(1, 1, 1), **options):
    return b.add_shape_heightfield(heightfield=Heightfield(HEIGHTS, 4, 5, hx=0.8, hy=0.6), scale=scale, **options)


@functools.cache
def hull_distance():
    from scipy.spatial import ConvexHull

    return lambda p: closed_form.polyhedron(p, L_VERTICES, _oriented(ConvexHull(L_VERTICES).simplices))


def _oriented(triangles):
    x = L_VERTICES[triangles]
    inward = np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x.mean(axis=1) - L_VERTICES.mean(axis=0)) < 0
    return np.where(inward[:, None], triangles[:, ::-1], triangles)


def of(adder, dimensions, distance, extent):
    """A kind of shape: how it is added, its distance, and the half extent of the region to look at."""
    return (
        lambda b, body, **o: getattr(b, f"add_shape_{adder}")(body=body, **dimensions, **o),
        lambda p: distance(p, *dimensions.values()),
        np.array(extent),
    )


KINDS = {
    "plane": of("plane", {"width": 0.0, "length": 0.0}, closed_form.plane, (1, 1, 0.3)),
    "finite plane": of("plane", {"width": 1.5, "length": 0.8}, closed_form.plane, (0.7, 0.35, -0.05)),
    "sphere": of("sphere", {"radius": 0.4}, closed_form.sphere, (0.4, 0.4, 0.4)),
    "capsule": of("capsule", {"radius": 0.2, "half_height": 0.5}, closed_form.capsule, (0.2, 0.2, 0.7)),
    "ellipsoid": of("ellipsoid", {"rx": 0.6, "ry": 0.35, "rz": 0.2}, closed_form.ellipsoid, (0.6, 0.35, 0.2)),
    "cylinder": of("cylinder", {"radius": 0.4, "half_height": 0.3}, closed_form.cylinder, (0.4, 0.4, 0.3)),
    "box": of("box", {"hx": 0.5, "hy": 0.3, "hz": 0.2}, closed_form.box, (0.5, 0.3, 0.2)),
    "cone": of("cone", {"radius": 0.4, "half_height": 0.5}, closed_form.cone, (0.4, 0.4, 0.5)),
    "mesh": mesh((1.0, 1.0, 1.0)),
    "mesh, scaled": mesh((0.4, 0.4, 0.4)),
    "mesh, stretched": mesh((1.3, 0.5, 0.8)),
    "mesh, mirrored": mesh((-0.9, 0.6, 1.1)),
    "mesh, turned inside out": mesh((-0.8, -0.8, -0.8)),
    "mesh, facing inward": mesh((1.0, 1.0, 1.0), inward=True),
    "hull": (hull, lambda p: hull_distance()(p), np.abs(L_VERTICES).max(axis=0)),
    "heightfield": (heightfield, lambda p: closed_form.heightfield(p, HEIGHTS, 0.8, 0.6), np.array([0.8, 0.6, 0.4])),
    "heightfield, stretched": (
        functools.partial(heightfield, scale=(1.5, 0.7, 2.0)),
        lambda p: closed_form.heightfield(p, 2.0 * HEIGHTS, 1.2, 0.42),
        np.array([1.2, 0.42, 0.8]),
    ),
}
COUNT = 300  # particles around every shape


def rotation(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def transform(p, q):
    return wp.transform(wp.vec3(*map(float, p)), wp.quat(*map(float, q)))


class Scene:
    """Every kind of shape twice, static and on a body, each in a world of its own: an infinite plane does not meet the others."""

    def __init__(self):
        rng = np.random.default_rng(0)
        b = ModelBuilder()
        self.names, self.shapes, self.local, self.margins, self.poses, body_q = [], [], [], [], [], []
        for moving in (False, True):
            for k, (name, (add, _distance, extent)) in enumerate(KINDS.items()):
                if moving and name.startswith("heightfield"):
                    continue  # height fields are static
                b.begin_world()
                margin = 0.0 if k % 2 else 0.05
                inner = transform((0.1 * k, -3, 2), rotation(rng))
                body, outer = -1, transform((0, 0, 0), (0, 0, 0, 1))
                if moving:
                    body = b.add_body(xform=transform((50, 0, 0), rotation(rng)), is_kinematic=True, mass=1.0, inertia=np.eye(3))
                    outer = transform((10 * k, 5, -7), rotation(rng))  # where it is when contacts are detected
                    body_q.append(outer)
                cfg = ShapeConfig(density=0.0, margin=margin)
                self.shapes.append(add(b, body, xform=inner, cfg=cfg))
                p = rng.uniform(-1, 1, size=(COUNT, 3)) * (extent + 0.25)
                if name.startswith("heightfield"):  # beside the grid, what is neither above all of it nor below is not defined
                    beside = (np.abs(p[:, :2]) > extent[:2]).any(axis=1) & (p[:, 2] > 0)
                    p[beside, 2] += extent[2]
                pose = outer * inner
                x = [np.array(wp.transform_point(pose, wp.vec3(*q.tolist()))) for q in p]
                radius = rng.uniform(0.01, 0.12, COUNT)
                b.add_particles(x, np.zeros((COUNT, 3)), np.ones(COUNT), radius)
                b.end_world()
                self.names.append(name + (", moving" if moving else ""))
                self.margins.append(margin)
                self.poses.append((pose, outer))
        self.model = b.finalize(device="cpu")
        self.state = self.model.state()
        self.state.body_q.assign(np.array(body_q, np.float32))
        self.radius = self.model.particle_radius.numpy().astype(float)
        self.x = self.model.particle_q.numpy().astype(float)

    def detect(self, **options):
        pipeline = CollisionPipeline(self.model, soft_contact_gap=GAP)
        contacts = pipeline.contacts()
        pipeline.collide(self.state, contacts, **options)
        n = int(contacts.soft_contact_count.numpy()[0])
        names = "particle shape body_pos body_vel normal indices barycentric".split()
        return {name: getattr(contacts, f"soft_contact_{name}").numpy()[:n] for name in names}

    def local_points(self, case):
        inverse = wp.transform_inverse(self.poses[case][0])
        x = self.x[case * COUNT : (case + 1) * COUNT]
        return np.array([np.array(wp.transform_point(inverse, wp.vec3(*q.tolist()))) for q in x], float)


@pytest.fixture(scope="module")
def scene():
    pytest.importorskip("scipy")
    return Scene()


@pytest.fixture(scope="module")
def rows(scene):
    return scene.detect()


CASES = [*KINDS, *(f"{name}, moving" for name in KINDS if not name.startswith("heightfield"))]


def distances(scene, name):
    case = scene.names.index(name)
    return case, KINDS[name.removesuffix(", moving")][1](scene.local_points(case))


@pytest.mark.parametrize("name", CASES)
def test_a_row_for_every_particle_within_reach(scene, rows, name):
    case, d = distances(scene, name)
    shape, particles = scene.shapes[case], np.arange(case * COUNT, (case + 1) * COUNT)
    reach = scene.radius[particles] + GAP + scene.margins[case]
    found = np.isin(particles, rows["particle"][rows["shape"] == shape])
    sure = np.abs(d - reach) > ROUNDING
    np.testing.assert_array_equal(found[sure], (d < reach)[sure])
    assert 0.1 < found.mean() < 0.99  # the scene tests both sides
    assert (d[found] < 0).any() and (d[found] > 0).any()


@pytest.mark.parametrize("name", CASES)
def test_rows_hold_the_closest_point_and_its_normal(scene, rows, name):
    case, d = distances(scene, name)
    mine = np.flatnonzero(rows["shape"] == scene.shapes[case])
    particle = rows["particle"][mine]
    outer = scene.poses[case][1]
    surface = np.array([np.array(wp.transform_point(outer, wp.vec3(*q.tolist()))) for q in rows["body_pos"][mine]], float)
    normal = rows["normal"][mine].astype(float)
    expected = d[particle - case * COUNT]
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(np.einsum("ij,ij->i", normal, scene.x[particle] - surface), expected, atol=3 * ROUNDING)
    np.testing.assert_allclose(surface + expected[:, None] * normal, scene.x[particle], atol=4 * ROUNDING)
    inverse = wp.transform_inverse(scene.poses[case][0])
    on_surface = np.array([np.array(wp.transform_point(inverse, wp.vec3(*s.tolist()))) for s in surface], float)
    lifted = on_surface + np.array([0, 0, 1e-6]) if "plane" in name or "heightfield" in name else on_surface
    back = KINDS[name.removesuffix(", moving")][1](lifted)
    np.testing.assert_allclose(back, 0.0, atol=4 * ROUNDING)


def test_other_columns(rows):
    n = len(rows["particle"])
    np.testing.assert_array_equal(rows["indices"], np.stack([rows["particle"], np.full(n, -1), np.full(n, -1)], axis=1))
    np.testing.assert_array_equal(rows["barycentric"], np.tile([1, 0, 0], (n, 1)))
    assert not rows["body_vel"].any()


def test_the_detection_distance_can_be_given_for_one_pass(scene, rows):
    none = scene.detect(soft_contact_margin=0.0)
    wide = scene.detect(soft_contact_margin=0.1)
    key = lambda r: set(zip(r["particle"].tolist(), r["shape"].tolist()))
    assert key(none) < key(rows) < key(wide)
    case, d = distances(scene, "sphere")
    particles = np.arange(case * COUNT, (case + 1) * COUNT)
    reach = scene.radius[particles] + 0.1 + scene.margins[case]
    found = np.isin(particles, wide["particle"][wide["shape"] == scene.shapes[case]])
    sure = np.abs(d - reach) > ROUNDING
    np.testing.assert_array_equal(found[sure], (d < reach)[sure])


def test_nothing_beyond_its_own_world(scene, rows):
    np.testing.assert_array_equal(rows["particle"] // COUNT, rows["shape"])


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (1, -2, 1), (-1, -1, 1)])
def test_an_open_sheet_keeps_facing_up_when_mirrored(scale):
    """A rectangle as a mesh, facing up: a particle 5 cm above it has a row with its normal up, whatever the sheet is mirrored in."""
    b = ModelBuilder()
    b.add_shape_mesh(-1, mesh=Mesh.create_plane(1.0, 2.0), scale=scale)
    b.add_particle((0.1, 0.2, 0.05), (0, 0, 0), 1.0, 0.1)
    model = b.finalize(device="cpu")
    contacts = model.collide(model.state())
    assert contacts.soft_contact_count.numpy().tolist() == [1]
    np.testing.assert_allclose(contacts.soft_contact_normal.numpy()[0], (0, 0, 1), atol=1e-5)
    np.testing.assert_allclose(contacts.soft_contact_body_pos.numpy()[0], (0.1, 0.2, 0), atol=1e-5)

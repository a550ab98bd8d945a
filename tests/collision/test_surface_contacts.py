"""Rows of edges and faces against the minimum of the closed form of the distance over each, found by sampling in double precision.

A row exists if and only if that minimum is within reach, lies inside and is lower than on the border. Its point is the minimum: for a
convex shape always, for a mesh where the facet does not cut the surface; where it does, a point lower than the border.
"""

import numpy as np
import pytest
import warp as wp

from hooke import CollisionPipeline, ModelBuilder, ShapeConfig

from .test_particle_contacts import KINDS, rotation, transform

GAP = 0.03
COUNT = 60
EXACT = 2.0e-5  # error of the distance of a reported point [m]; facets measure up to 0.8 m
SURE = 2.0e-4  # by which the inside must be lower than the border for a row to be sure [m]
CONVEX = [name for name in KINDS if not name.startswith(("mesh", "heightfield"))]
FIELDS = ("particle", "indices", "barycentric", "shape", "body_pos", "body_vel", "normal", "tids")


def lattice(corners, n):
    """Barycentric weights of a regular lattice on a segment or a triangle."""
    grid = np.array([(i, j) for i in range(n + 1) for j in range(n + 1 - i if corners == 3 else 1)]) / n
    return np.column_stack([1 - grid.sum(axis=1), grid] if corners == 3 else [1 - grid[:, 0], grid[:, 0]])


def lowest(distance, x):
    """Lowest distance on facets ``x`` (m, corners, 3), by sampling ever more finely around the four lowest points; (m,)."""
    m, corners, _ = x.shape
    n = 20 if corners == 3 else 60
    value = lambda w: distance(np.einsum("mkc,mcd->mkd", w, x).reshape(-1, 3)).reshape(m, -1)
    w = np.broadcast_to(lattice(corners, n), (m, len(lattice(corners, n)), corners))
    d = value(w)
    finite = np.isfinite(d).all(axis=1)
    local = lattice(corners, 4) - 1.0 / corners
    local = np.concatenate([local, -local])
    step = 2.0 / n
    for _ in range(9):
        best = np.argsort(d, axis=1)[:, :4]
        centre = np.take_along_axis(w, best[:, :, None], axis=1)
        w = (centre[:, :, None] + step * local).reshape(m, -1, corners)
        w = np.maximum(np.concatenate([w, centre], axis=1), 0.0)
        w = w / w.sum(axis=2, keepdims=True)
        d = value(w)
        step *= 0.5
    return np.where(finite, d.min(axis=1), np.nan)


def triangles_around(distance, extent, rng):
    """Triangles of all sizes that a surface comes near to or goes through, (COUNT, 3, 3)."""
    many = 40 * COUNT
    size = rng.uniform(0.05, 0.4, size=many)
    centre = rng.uniform(-1, 1, size=(many, 3)) * (np.abs(extent) + 0.1)
    near = np.flatnonzero(np.abs(distance(centre)) < 0.5 * size)[:COUNT]
    x = rng.normal(size=(COUNT, 3, 3))
    x = centre[near, None] + size[near, None, None] * (x - x.mean(axis=1, keepdims=True))
    if (
        distance(np.array([[9.0, 0.0, -0.1]])) == np.inf
    ):  # beside a height field, what is neither above all of it nor below is not defined
        beside = (np.abs(x[..., :2]) > extent[:2]).any(axis=2) & (x[..., 2] > 0)
        x[beside, 2] += extent[2]
    return x


class Scene:
    """Every kind of shape in a world of its own, amid triangles of all sizes."""

    def __init__(self):
        rng = np.random.default_rng(5)
        b = ModelBuilder()
        self.shape, self.pose, self.margin = [], [], []
        for k, (_name, (add, distance, extent)) in enumerate(KINDS.items()):
            b.begin_world()
            pose = transform((0.1 * k, -3, 2), rotation(rng))
            margin = 0.0 if k % 2 else 0.02
            self.shape.append(add(b, -1, xform=pose, cfg=ShapeConfig(margin=margin)))
            p = triangles_around(distance, extent, rng)
            first = b.particle_count
            x = [np.array(wp.transform_point(pose, wp.vec3(*q.tolist()))) for q in p.reshape(-1, 3)]
            b.add_particles(x, np.zeros((3 * COUNT, 3)), np.ones(3 * COUNT), rng.uniform(0.01, 0.05, 3 * COUNT))
            for t in range(COUNT):
                b.add_triangle(*(first + 3 * t + np.arange(3)).tolist())
            b.end_world()
            self.pose.append(pose)
            self.margin.append(margin)
        self.model = b.finalize(device="cpu")
        self.x = self.model.particle_q.numpy().astype(float)
        self.radius = self.model.particle_radius.numpy().astype(float)
        pipeline = CollisionPipeline(self.model, soft_contact_gap=GAP, enable_rigid_soft_full_surface_contact=True)
        self.rows = rows_of(self.model, pipeline)

    def local(self, case, x):
        inverse = wp.transform_inverse(self.pose[case])
        turn = np.array(wp.quat_to_matrix(wp.transform_get_rotation(inverse)), float).reshape(3, 3)
        return x @ turn.T + np.array(wp.transform_get_translation(inverse), float)


def rows_of(model, pipeline, state=None):
    contacts = pipeline.contacts()
    pipeline.collide(model.state() if state is None else state, contacts)
    n = int(contacts.soft_contact_count.numpy()[0])
    return {name: getattr(contacts, f"soft_contact_{name}").numpy()[:n].copy() for name in FIELDS}


@pytest.fixture(scope="module")
def scene():
    pytest.importorskip("scipy")
    return Scene()


def facets(case, corners):
    """Particles of the facets of a case, (m, corners)."""
    triangles = 3 * COUNT * case + np.arange(3 * COUNT).reshape(-1, 3)
    return triangles if corners == 3 else triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)


def row_at(rows, shape, corners):
    """Rows of facets (m, corners) with a shape; -1 where there is none."""
    mine = np.flatnonzero((rows["shape"] == shape) & ((rows["indices"] >= 0).sum(axis=1) == corners.shape[1]))
    known = {tuple(sorted(rows["indices"][r][: corners.shape[1]].tolist())): r for r in mine}
    assert len(known) == len(mine)
    return np.array([known.get(tuple(sorted(c.tolist())), -1) for c in corners])


@pytest.mark.parametrize("corners", [2, 3])
@pytest.mark.parametrize("name", KINDS)
def test_the_nearest_point_inside_has_a_row(scene, name, corners):
    case = list(KINDS).index(name)
    distance = KINDS[name][1]
    particles = facets(case, corners)
    x = scene.local(case, scene.x[particles])
    row = row_at(scene.rows, scene.shape[case], particles)
    found = row >= 0
    d = distance(np.einsum("mc,mcd->md", scene.rows["barycentric"][row][:, :corners].astype(float), x))
    d[~found] = np.inf
    least = np.fmin(lowest(distance, x), d)  # it is a point too
    if corners == 3:
        border = np.min([lowest(distance, x[:, pair]) for pair in ([0, 1], [1, 2], [2, 0])], axis=0)
    else:
        border = distance(x.reshape(-1, 3)).reshape(-1, 2).min(axis=1)
    reach = scene.radius[particles].max(axis=1) + GAP + scene.margin[case]
    known = np.isfinite(least) & np.isfinite(border)
    sure = known & (least < reach - SURE) & (least < border - SURE)
    exact = known if name in CONVEX else known & (least > 0.0)
    assert found[sure & exact].all()
    assert not found[known & (least > reach + SURE)].any()
    assert not found[exact & (least > border)].any()
    assert (d[found & exact] < least[found & exact] + EXACT).all()
    error = d[found & known] - least[found & known]
    if len(error) > 5:  # of a mesh, facets that cut it and are as large as it is
        assert found[sure].mean() > 0.8
        assert np.median(error) < 1e-4 and np.quantile(error, 0.8) < 6e-3
    if corners == 2 and not name.endswith("plane"):
        assert 0 < found.sum() < len(found)


@pytest.mark.parametrize("name", KINDS)
def test_rows_hold_the_surface_point_and_its_normal(scene, name):
    case = list(KINDS).index(name)
    rows = scene.rows
    mine = (rows["shape"] == scene.shape[case]) & (rows["indices"][:, 1] >= 0)
    if name == "plane":
        assert not mine.any()
        return
    w = rows["barycentric"][mine].astype(float)
    corner = rows["indices"][mine]
    assert (rows["particle"][mine] == -1).all() and not rows["body_vel"][mine].any()
    assert ((w > 0) == (corner >= 0)).all()
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-6)
    x = np.einsum("mc,mcd->md", w, scene.x[np.maximum(corner, 0)])
    normal = rows["normal"][mine].astype(float)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-5)
    d = KINDS[name][1](scene.local(case, x))
    known = np.isfinite(d)  # beside a height field no distance is defined
    np.testing.assert_allclose((rows["body_pos"][mine] + d[:, None] * normal)[known], x[known], atol=5e-5)

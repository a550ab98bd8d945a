"""Bodies and shapes in the builder: labels, poses, mass properties, and the settings of shapes."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import BodyFlags, GeoType, JointType, ModelBuilder, ShapeConfig, ShapeFlags

QUARTER_X = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
NO_MASS = ShapeConfig(density=0.0)


def pose(p=(0.0, 0.0, 0.0), q=(0.0, 0.0, 0.0, 1.0)):
    return wp.transform(p, wp.quat(*q))


def test_defaults():
    b = ModelBuilder()
    np.testing.assert_array_equal(b.gravity_vector, (0, 0, -9.81))
    assert (b.default_tri_ke, b.default_tri_ka, b.default_tri_kd) == (100, 100, 10)
    assert (b.default_tri_drag, b.default_tri_lift) == (0, 0)
    assert (b.default_edge_ke, b.default_edge_kd, b.default_spring_ke, b.default_spring_kd) == (100, 0, 100, 0)
    assert (b.default_tet_k_mu, b.default_tet_k_lambda, b.default_tet_k_damp, b.default_tet_density) == (1e3, 1e3, 0, 1)
    assert (b.default_particle_radius, b.rigid_gap, b.world_count, b.current_world) == (0.1, 0.1, 0, -1)
    assert b.particle_count == b.body_count == b.shape_count == b.joint_count == b.tri_count == b.tet_count == 0


@pytest.mark.parametrize("axis, index", [("x", 0), ("Y", 1), (hooke.Axis.Z, 2), (1, 1)])
def test_up_axis(axis, index):
    b = ModelBuilder(up_axis=axis, gravity=-5.0)
    np.testing.assert_array_equal(b.gravity_vector, -5.0 * np.eye(3)[index])
    np.testing.assert_array_equal(ModelBuilder(axis, gravity=(1, 2, 3)).gravity_vector, (1, 2, 3))
    b.add_ground_plane(height=2.0)
    m = b.finalize(device="cpu")
    assert m.up_axis == index
    transform = m.shape_transform.numpy()[0]
    np.testing.assert_allclose(transform[:3], 2.0 * np.eye(3)[index], atol=1e-7)
    normal = np.array(wp.quat_rotate(wp.quat(*transform[3:].tolist()), wp.vec3(0.0, 0.0, 1.0)))
    np.testing.assert_allclose(normal, np.eye(3)[index], atol=1e-6)
    assert m.shape_scale.numpy()[0].tolist() == [0, 0, 0]
    assert m.shape_collision_radius.numpy()[0] == 1e6


def test_unknown_axis_and_gravity_are_refused():
    with pytest.raises(ValueError, match="'w'"):
        ModelBuilder(up_axis="w")
    with pytest.raises(ValueError, match="gravity"):
        ModelBuilder(gravity=(0, 0, np.nan)).gravity_vector
    with pytest.raises(ValueError, match="gravity"):
        ModelBuilder().begin_world(gravity=np.inf)


def test_labels():
    b = ModelBuilder()
    for _ in range(2):
        b.add_link(mass=1.0)
        b.add_shape_sphere(-1)
    b.add_body(label="a")
    b.add_shape_box(2, label="lid")
    b.add_ground_plane()
    joint = b.add_joint_free(b.add_link(mass=1.0))
    assert list(b.body_label) == ["body_0", "body_1", "a", "body_3"]
    assert list(b.shape_label) == ["shape_0", "shape_1", "lid", "ground_plane"]
    assert list(b.joint_label) == ["a_free_joint", "joint_2"]
    assert list(b.articulation_label) == ["a_articulation"]
    assert joint == 1


def test_labels_of_copies():
    inner = ModelBuilder()
    inner.add_body(label="a", mass=1.0)
    inner.add_shape_sphere(0)
    b = ModelBuilder()
    b.add_builder(inner, label_prefix="left")
    b.add_builder(inner)
    b.replicate(inner, 2)
    assert list(b.body_label) == ["left/a", "a", "world_0/a", "world_1/a"]
    assert list(b.shape_label) == ["left/shape_0", "shape_0", "world_0/shape_0", "world_1/shape_0"]
    assert list(b.joint_label) == ["left/a_free_joint", "a_free_joint", "world_0/a_free_joint", "world_1/a_free_joint"]
    assert next(iter(b.articulation_label)) == "left/a_articulation"


def test_a_body_is_a_link_with_a_free_joint():
    b = ModelBuilder()
    where = pose((1, 2, 3), QUARTER_X)
    body = b.add_body(xform=where, com=(0.1, 0, 0), mass=2.0, inertia=np.eye(3))
    assert b.joint_type == [int(JointType.FREE)]
    assert (b.joint_parent[0], b.joint_child[0], b.joint_articulation[0]) == (-1, body, 0)
    np.testing.assert_allclose(b.joint_q, np.array(where), atol=1e-7)
    np.testing.assert_allclose(b.body_q[body], np.array(where), atol=1e-7)
    assert b.joint_qd == [0.0] * 6
    np.testing.assert_array_equal(b.joint_X_p[0], pose())
    np.testing.assert_array_equal(b.joint_X_c[0], pose())
    m = b.finalize(device="cpu")
    assert (m.joint_coord_count, m.joint_dof_count, m.joint_count, m.articulation_count) == (7, 6, 1, 1)
    assert m.joint_q_start.numpy().tolist() == [0, 7] and m.joint_qd_start.numpy().tolist() == [0, 6]
    assert m.articulation_start.numpy().tolist() == [0, 1]
    assert b.add_link() == 1 and b.joint_count == 1  # a link has no joint


def test_box_of_water():
    b = ModelBuilder()
    body = b.add_body()
    b.add_shape_box(body)
    assert b.body_mass[body] == pytest.approx(1000.0)
    np.testing.assert_allclose(np.array(b.body_inertia[body]).reshape(3, 3), np.eye(3) * 1000.0 / 6.0, atol=1e-9)
    m = b.finalize(device="cpu")
    assert m.body_inv_mass.numpy()[0] == pytest.approx(1e-3)
    np.testing.assert_allclose(m.body_inv_inertia.numpy()[0], np.eye(3) * 6e-3, atol=1e-8)


def box_inertia(mass, hx, hy, hz):
    return mass / 3.0 * np.diag([hy * hy + hz * hz, hx * hx + hz * hz, hx * hx + hy * hy])


def test_offset_shapes_add_up_by_the_parallel_axes_theorem():
    b = ModelBuilder()
    body = b.add_body(com=(0.0, 0.0, 1.0), mass=3.0, inertia=np.diag([0.1, 0.2, 0.3]))
    b.add_shape_box(body, xform=pose((1, 0, 0), QUARTER_X), hx=0.1, hy=0.2, hz=0.3, cfg=ShapeConfig(density=500.0))
    b.add_shape_sphere(body, xform=pose((0, -2, 0)), radius=0.25, cfg=ShapeConfig(density=200.0))
    box, ball = 8 * 0.1 * 0.2 * 0.3 * 500.0, 4 / 3 * np.pi * 0.25**3 * 200.0
    turn = np.array([(1, 0, 0), (0, 0, -1), (0, 1, 0)])
    parts = [
        (3.0, np.array([0.0, 0.0, 1.0]), np.diag([0.1, 0.2, 0.3])),
        (box, np.array([1.0, 0.0, 0.0]), turn @ box_inertia(box, 0.1, 0.2, 0.3) @ turn.T),
        (ball, np.array([0.0, -2.0, 0.0]), 0.4 * ball * 0.25**2 * np.eye(3)),
    ]
    mass = sum(p[0] for p in parts)
    com = sum(p[0] * p[1] for p in parts) / mass
    inertia = sum(i + m * (np.dot(c - com, c - com) * np.eye(3) - np.outer(c - com, c - com)) for m, c, i in parts)
    assert b.body_mass[body] == pytest.approx(mass)
    np.testing.assert_allclose(b.body_com[body], com, rtol=1e-6)
    np.testing.assert_allclose(np.array(b.body_inertia[body]).reshape(3, 3), inertia, rtol=1e-6, atol=1e-9)
    mean = b.finalize(device="cpu").body_com.numpy()[0]
    np.testing.assert_allclose(mean, com, rtol=1e-6)


@pytest.mark.parametrize("how", ["locked", "density 0", "static", "site"])
def test_shapes_that_add_no_mass(how):
    b = ModelBuilder()
    body = b.add_body(mass=2.0, inertia=np.eye(3), lock_inertia=how == "locked")
    if how == "static":
        b.add_shape(body=body, type=GeoType.BOX, scale=(1, 1, 1), is_static=True)
    else:
        b.add_shape_box(body, xform=pose((1, 0, 0)), cfg=NO_MASS if how == "density 0" else None, as_site=how == "site")
    assert b.body_mass == [2.0]
    np.testing.assert_array_equal(np.array(b.body_inertia[0]).reshape(3, 3), np.eye(3))
    np.testing.assert_array_equal(b.body_com[0], np.zeros(3))


def test_a_plane_has_no_mass():
    b = ModelBuilder()
    body = b.add_body(mass=2.0, inertia=np.eye(3))
    b.add_shape_plane(body=body, width=1.0, length=1.0)
    assert b.body_mass == [2.0]


def test_a_hollow_box_is_a_box_less_a_smaller_one():
    b = ModelBuilder()
    body = b.add_body()
    b.add_shape_box(body, hx=0.5, hy=0.4, hz=0.3, cfg=ShapeConfig(is_solid=False, margin=0.05))
    outer, inner = 8 * 0.5 * 0.4 * 0.3 * 1000, 8 * 0.45 * 0.35 * 0.25 * 1000
    assert b.body_mass[body] == pytest.approx(outer - inner)
    expected = box_inertia(outer, 0.5, 0.4, 0.3) - box_inertia(inner, 0.45, 0.35, 0.25)
    np.testing.assert_allclose(np.array(b.body_inertia[body]).reshape(3, 3), expected, atol=1e-9)
    with pytest.raises(ValueError, match="margin > 0"):
        b.add_shape_box(body, cfg=ShapeConfig(is_solid=False))


def test_kinematic_bodies_keep_their_mass():
    b = ModelBuilder()
    still, moving = b.add_body(is_kinematic=True), b.add_body()
    for body in (still, moving):
        b.add_shape_box(body)
    assert b.body_flags == [BodyFlags.KINEMATIC, BodyFlags.DYNAMIC]
    assert list(b.body_mass) == pytest.approx([1000.0, 1000.0])
    m = b.finalize(device="cpu")
    assert m.body_flags.numpy().tolist() == [2, 1]
    np.testing.assert_allclose(m.body_mass.numpy(), [1000, 1000])


@pytest.mark.parametrize(
    "add, type_, scale",
    [
        (lambda b: b.add_shape_sphere(-1, radius=0.3), GeoType.SPHERE, (0.3, 0, 0)),
        (lambda b: b.add_shape_box(-1, hx=1, hy=2, hz=3), GeoType.BOX, (1, 2, 3)),
        (lambda b: b.add_shape_capsule(-1, radius=0.3, half_height=2), GeoType.CAPSULE, (0.3, 2, 0)),
        (lambda b: b.add_shape_cylinder(-1, radius=0.3, half_height=2), GeoType.CYLINDER, (0.3, 2, 0)),
        (lambda b: b.add_shape_cone(-1, radius=0.3, half_height=2), GeoType.CONE, (0.3, 2, 0)),
        (lambda b: b.add_shape_ellipsoid(-1, rx=1, ry=2, rz=3), GeoType.ELLIPSOID, (1, 2, 3)),
        (lambda b: b.add_shape_plane(), GeoType.PLANE, (10, 10, 0)),
        (lambda b: b.add_shape_mesh(-1, mesh=hooke.Mesh.create_box(1.0), scale=(1, 2, -3)), GeoType.MESH, (1, 2, -3)),
        (lambda b: b.add_shape_mesh(-1, mesh=hooke.Mesh.create_box(1.0)), GeoType.MESH, (1, 1, 1)),
        (
            lambda b: b.add_shape_heightfield(heightfield=hooke.Heightfield(np.eye(3), 3, 3)),
            GeoType.HFIELD,
            (1, 1, 1),
        ),
    ],
)
def test_kind_and_dimensions(add, type_, scale):
    b = ModelBuilder()
    assert add(b) == 0
    assert b.shape_type == [int(type_)]
    np.testing.assert_array_equal(b.shape_scale[0], np.array(scale, np.float32))
    assert b.shape_body == [-1]


def test_convex_hull():
    pytest.importorskip("scipy")
    b = ModelBuilder()
    b.add_shape_convex_hull(-1, mesh=hooke.Mesh.create_box(1.0), scale=2.0)
    assert b.shape_type == [int(GeoType.CONVEX_MESH)]
    assert len(b.shape_source[0].vertices) == 8
    np.testing.assert_array_equal(b.shape_scale[0], (2, 2, 2))


@pytest.mark.parametrize("plane", [(0, 0, 2, -6), (3, 0, 4, 10), (0, 0, -1, 1), (1, 1, 1, 0), (0, 1e-6, 0, -2e-6)])
def test_plane_equation(plane):
    """a x + b y + c z + d = 0, whatever the length of the normal."""
    b = ModelBuilder()
    b.add_shape_plane(plane)
    transform = np.array(b.shape_transform[0], float)
    normal = np.array(wp.quat_rotate(wp.quat(*transform[3:].tolist()), wp.vec3(0.0, 0.0, 1.0)))
    length = np.linalg.norm(plane[:3])
    np.testing.assert_allclose(normal, np.array(plane[:3]) / length, atol=1e-6)
    assert np.dot(plane[:3], transform[:3]) / length + plane[3] / length == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ValueError, match="normal"):
        b.add_shape_plane((0, 0, 0, 1))


def test_what_is_no_shape_is_refused():
    b = ModelBuilder()
    b.add_body(mass=1.0)
    for wrong in (1, -2, 7):
        with pytest.raises(ValueError, match=f"'lid'.*{wrong}"):
            b.add_shape_box(wrong, label="lid")
    with pytest.raises(TypeError, match=r"hooke\.Mesh"):
        b.add_shape_mesh(-1, mesh=None)
    with pytest.raises(TypeError, match=r"hooke\.Heightfield"):
        b.add_shape_heightfield(heightfield=np.eye(3))
    with pytest.raises(ValueError, match="'lid'"):
        b.add_shape_box(-1, hx=-1.0, label="lid")
    with pytest.raises(ValueError, match="'lid'"):
        b.add_shape_box(-1, hx=np.nan, label="lid")
    with pytest.raises(ValueError, match="99"):
        b.add_shape(body=-1, type=99)
    assert b.shape_count == 0


@pytest.mark.parametrize("body", [-1, 0])
def test_a_shape_without_size_is_refused_by_its_label(body):
    b = ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    with pytest.raises(ValueError, match="'dot'"):
        b.add_shape_sphere(body, radius=0.0, label="dot")
        b.finalize(device="cpu")


def test_a_pose_that_is_not_finite_is_refused_by_the_label():
    b = ModelBuilder()
    with pytest.raises(ValueError, match="'arm'"):
        b.add_link(xform=pose((np.nan, 0, 0)), label="arm")
    with pytest.raises(ValueError, match="'lid'"):
        b.add_shape_box(-1, xform=(0, 0, 0, 0, 0, 0, 0), label="lid")
    assert b.body_count == b.shape_count == 0


def test_quaternions_are_normalised():
    b = ModelBuilder()
    b.add_body(xform=(0, 0, 0, 0, 0, 0, 2.0), mass=1.0)
    b.add_shape_box(0, xform=(0, 0, 0, 0, 0, 3, 4))
    np.testing.assert_allclose(b.body_q[0], (0, 0, 0, 0, 0, 0, 1))
    np.testing.assert_allclose(b.shape_transform[0], (0, 0, 0, 0, 0, 0.6, 0.8), rtol=1e-6)


def test_body_shapes():
    b = ModelBuilder()
    b.add_body(mass=1.0)
    b.add_body(mass=1.0)
    b.add_ground_plane()
    for body in (1, 0, 1):
        b.add_shape_box(body)
    assert b.body_shapes == {-1: [0], 0: [2], 1: [1, 3]}
    assert b.finalize(device="cpu").body_shapes == {-1: [0], 0: [2], 1: [1, 3]}


# ---- ShapeConfig


def test_shape_config_defaults():
    cfg = ShapeConfig()
    assert (cfg.density, cfg.ke, cfg.kd, cfg.kf, cfg.ka, cfg.mu, cfg.restitution) == (1000, 2500, 100, 1000, 0, 1, 0)
    assert (cfg.mu_torsional, cfg.mu_rolling, cfg.margin, cfg.gap, cfg.is_solid) == (0.005, 1e-4, 0, None, True)
    assert (cfg.collision_group, cfg.collision_filter_parent, cfg.is_visible, cfg.is_site) == (1, True, True, False)
    assert (cfg.has_shape_collision, cfg.has_particle_collision) == (True, True)
    with pytest.raises(TypeError):
        ShapeConfig(1000.0)  # keywords only
    assert ModelBuilder.ShapeConfig is ShapeConfig


def test_the_configuration_reaches_the_model_and_is_copied():
    b = ModelBuilder()
    cfg = ShapeConfig(ke=1, kd=2, kf=3, ka=4, mu=5, restitution=0.6, mu_torsional=7, mu_rolling=8, margin=9, gap=10,
                      collision_group=-3, is_visible=False)  # fmt: skip
    b.add_shape_box(-1, cfg=cfg)
    cfg.mu = 99.0
    b.default_shape_cfg.mu = 0.25
    b.rigid_gap = 0.5
    b.add_shape_box(-1)
    b.default_shape_cfg.mu = 99.0
    m = b.finalize(device="cpu")
    values = {
        "material_ke": (1, 2500), "material_kd": (2, 100), "material_kf": (3, 1000), "material_ka": (4, 0),
        "material_mu": (5, 0.25), "material_restitution": (0.6, 0), "material_mu_torsional": (7, 0.005),
        "material_mu_rolling": (8, 1e-4), "margin": (9, 0), "gap": (10, 0.5), "collision_group": (-3, 1),
    }  # fmt: skip
    for name, expected in values.items():
        np.testing.assert_allclose(getattr(m, f"shape_{name}").numpy(), expected, rtol=1e-6, err_msg=name)


def test_flags():
    every = ShapeFlags.VISIBLE | ShapeFlags.COLLIDE_SHAPES | ShapeFlags.COLLIDE_PARTICLES
    cfg = ShapeConfig()
    assert cfg.flags == every
    cfg.has_shape_collision = False
    assert cfg.flags == ShapeFlags.VISIBLE | ShapeFlags.COLLIDE_PARTICLES
    for flags in (0, 1, 2, 4, 7, 6, int(ShapeFlags.SITE), int(ShapeFlags.SITE | ShapeFlags.VISIBLE)):
        cfg.flags = flags
        assert cfg.flags == flags
    assert not cfg.has_shape_collision and not cfg.has_particle_collision and cfg.is_site


def test_sites():
    b = ModelBuilder()
    cfg = ShapeConfig()
    b.add_shape_box(-1, as_site=True, cfg=cfg)
    assert b.shape_flags[0] & ShapeFlags.SITE
    assert not b.shape_flags[0] & (ShapeFlags.COLLIDE_SHAPES | ShapeFlags.COLLIDE_PARTICLES)
    assert b.shape_collision_group[0] == 0
    assert not cfg.is_site and cfg.density == 1000.0  # the caller's own stays as it was
    cfg.mark_as_site()
    assert (cfg.density, cfg.collision_group, cfg.is_site) == (0, 0, True)


@pytest.mark.parametrize("name", ["density", "ke", "kd", "kf", "mu", "mu_torsional", "mu_rolling"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_settings_out_of_range(name, value):
    with pytest.raises(ValueError, match=rf"ShapeConfig\.{name}\b"):
        ModelBuilder().add_shape_box(-1, cfg=ShapeConfig(**{name: value}))


@pytest.mark.parametrize("setting", [{"restitution": 1.5}, {"restitution": -0.1}, {"margin": np.nan}, {"gap": np.inf}])
def test_other_settings_out_of_range(setting):
    b = ModelBuilder()
    with pytest.raises(ValueError, match=next(iter(setting))):
        b.add_shape_box(-1, cfg=ShapeConfig(**setting))
        b.finalize(device="cpu")

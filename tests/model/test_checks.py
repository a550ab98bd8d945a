"""Degenerate input: one message that names the entity and says what was expected; never NaN, never silence."""

import warnings

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder, ShapeConfig

ZERO = (0.0, 0.0, 0.0)
BAD = [np.nan, np.inf, -np.inf]


def particles(count=4):
    b = ModelBuilder()
    points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    b.add_particles(points[:count], [ZERO] * count, [1.0] * count)
    return b


def everything():
    b = particles()
    b.add_spring(0, 1)
    b.add_triangle(0, 1, 2)
    b.add_edge(0, 3, 1, 2)
    b.add_tetrahedron(0, 1, 2, 3)
    b.add_body(label="arm", mass=1.0, inertia=np.eye(3))
    b.add_shape_box(0, label="lid", cfg=ShapeConfig(density=0.0))
    return b


NAMES = {
    "particle": "particle 0", "spring": "spring 0", "tri": "triangle 0", "edge": "edge 0", "tet": "tetrahedron 0",
    "body": r"body 'arm' \(index 0\)", "shape": r"shape 'lid' \(index 0\)", "joint": "joint dof 0|joint coord 0|joint 'arm_free_joint'",
}  # fmt: skip
FLOATS = """particle_q particle_qd particle_mass particle_radius spring_rest_length spring_stiffness spring_damping tri_poses tri_areas
    tri_materials edge_rest_angle edge_rest_length edge_bending_properties tet_poses tet_materials body_q body_qd body_com body_mass
    body_inertia shape_transform shape_scale shape_margin shape_gap shape_material_ke shape_material_kd shape_material_mu
    shape_material_restitution joint_q joint_qd joint_X_p joint_limit_lower joint_target_ke""".split()
NONNEGATIVE = """particle_mass particle_radius spring_rest_length spring_stiffness spring_damping tri_areas edge_rest_length
    edge_bending_properties body_mass shape_material_ke shape_material_kd shape_material_mu joint_target_ke joint_target_kd
    joint_armature""".split()


def spoil(b, name, value, scalar=-1):
    """Write a value into the last scalar of the first row."""
    getattr(b, name).array.reshape(len(getattr(b, name)), -1)[0, scalar] = value


@pytest.mark.parametrize("name", FLOATS)
def test_values_that_are_not_finite(name):
    for value in BAD:
        b = everything()
        spoil(b, name, value)
        with pytest.raises(ValueError, match=rf"({NAMES[name.split('_')[0]]}).*{name} is .*{str(value).strip('-')}.*expected"):
            b.finalize(device="cpu")


@pytest.mark.parametrize("name", NONNEGATIVE)
def test_negative_values(name):
    b = everything()
    spoil(b, name, -0.5)
    with pytest.raises(ValueError, match=rf"({NAMES[name.split('_')[0]]}).*{name} is .*-0\.5.*expected values >= 0"):
        b.finalize(device="cpu")


@pytest.mark.parametrize("name, scalars", [("tri_materials", (0, 2, 3, 4)), ("tet_materials", (0, 2))])
def test_negative_materials(name, scalars):
    for scalar in scalars:
        b = everything()
        spoil(b, name, -0.5, scalar)
        with pytest.raises(ValueError, match=rf"{NAMES[name[:3]]}.*{name} is"):
            b.finalize(device="cpu")


@pytest.mark.parametrize("kind", ["triangle", "tetrahedron"])
def test_a_negative_lame_lambda_is_a_material_as_long_as_it_is_stable(kind):
    for lam in (-0.5, -1.5):
        b = particles()
        if kind == "triangle":
            b.add_triangle(0, 1, 2, tri_ke=1.0, tri_ka=lam)
        else:
            b.add_tetrahedron(0, 1, 2, 3, k_mu=1.0, k_lambda=lam)
        if lam > -1.0:
            b.finalize(device="cpu")
        else:
            with pytest.raises(ValueError, match=rf"{kind} 0.*mu \+ lambda < 0"):
                b.finalize(device="cpu")


@pytest.mark.parametrize("index", [17, 400])
def test_the_entity_is_named(index):
    b = ModelBuilder()
    b.add_particles(np.zeros((500, 3)), np.zeros((500, 3)), np.ones(500))
    for i in (index, 450, 499):
        b.particle_q[i] = wp.vec3(0.0, np.nan, 0.0)
    with pytest.raises(ValueError, match=rf"particle {index}\b.*particle_q.*3 rows"):
        b.finalize(device="cpu")


@pytest.mark.parametrize(
    "name, value, match",
    [
        ("spring_indices", 4, "spring 0.*spring_indices"), ("spring_indices", -2, "spring 0.*spring_indices"),
        ("tri_indices", 4, "triangle 0.*tri_indices"), ("edge_indices", 9, "edge 0.*edge_indices"),
        ("tet_indices", 4, "tetrahedron 0.*tet_indices"), ("shape_body", 1, r"shape 'lid'.*shape_body is 1.*-1 to 0"),
        ("joint_child", 5, r"joint 'arm_free_joint'.*joint_child"), ("joint_parent", -3, r"joint 'arm_free_joint'.*joint_parent"),
    ],
)  # fmt: skip
def test_references_that_do_not_exist(name, value, match):
    b = everything()
    getattr(b, name).array.reshape(-1)[0] = value
    with pytest.raises(ValueError, match=match):
        b.finalize(device="cpu")


@pytest.mark.parametrize("name", ["spring_indices", "tri_indices", "tet_indices"])
def test_an_element_without_a_particle_is_refused(name):
    """-1 means none, and only a hinge may lack a particle."""
    b = everything()
    getattr(b, name).array.reshape(-1)[0] = -1
    with pytest.raises(ValueError, match=f"{NAMES[name.split('_')[0]]}.*{name}"):
        b.finalize(device="cpu")


def test_the_checks_can_be_skipped():
    for option in ("skip_validation_structure", "skip_all_validations"):
        b = everything()
        b.particle_q[0] = wp.vec3(np.nan, 0.0, 0.0)
        assert np.isnan(b.finalize(device="cpu", **{option: True}).particle_q.numpy()).any()


# ---- bodies


def test_a_dynamic_body_without_mass_is_warned_about():
    b = ModelBuilder()
    b.add_body(label="anchor", is_kinematic=True)
    b.add_body(label="ghost")
    b.add_body(label="spirit")
    b.add_body(mass=1.0, inertia=np.eye(3))
    with pytest.warns(UserWarning, match=r"2 dynamic bodies.*'ghost' \(index 1\).*is_kinematic=True"):
        m = b.finalize(device="cpu")
    assert m.body_inv_mass.numpy().tolist() == [0, 0, 0, 1]
    assert np.isfinite(m.body_inv_inertia.numpy()).all()


@pytest.mark.parametrize(
    "inertia",
    [
        np.diag([1.0, 1.0, 10.0]),  # a + b < c
        np.diag([1.0, -1.0, 1.0]),
        np.array([(1.0, 0.5, 0), (-0.5, 1.0, 0), (0, 0, 1.0)]),  # not symmetric
        np.diag([1.0, 1.0, 0.0]),
        np.zeros((3, 3)),
    ],
)
def test_an_impossible_inertia_is_corrected_with_a_warning(inertia):
    b = ModelBuilder()
    b.add_body(label="wheel", mass=2.0, inertia=inertia)
    with pytest.warns(UserWarning, match=r"body 'wheel' \(index 0\)"):
        m = b.finalize(device="cpu")
    found = m.body_inertia.numpy()[0].astype(float)
    np.testing.assert_allclose(found, found.T, atol=1e-6)
    moments = np.linalg.eigvalsh(found)
    assert moments[0] > 0 and moments[0] + moments[1] >= moments[2] * (1 - 1e-5)
    np.testing.assert_allclose(m.body_inv_inertia.numpy()[0] @ found, np.eye(3), atol=1e-3)


def test_a_possible_inertia_is_kept():
    b = ModelBuilder()
    b.add_body(mass=2.0, inertia=np.diag([1.0, 2.0, 3.0]))  # a thin plate
    b.add_shape_box(b.add_body(), hx=1.0, hy=1.0, hz=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = b.finalize(device="cpu")
    np.testing.assert_array_equal(m.body_inertia.numpy()[0], np.diag([1.0, 2.0, 3.0]))
    b = ModelBuilder()
    b.add_body(mass=2.0, inertia=np.diag([1.0, 1.0, 10.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = b.finalize(device="cpu", skip_validation_inertia=True)
    np.testing.assert_array_equal(m.body_inertia.numpy()[0], np.diag([1.0, 1.0, 10.0]))


def test_finalize_leaves_the_builder_as_it_was():
    b = ModelBuilder()
    b.add_body(mass=2.0, inertia=np.diag([1.0, 1.0, 10.0]))
    with pytest.warns(UserWarning):
        b.finalize(device="cpu")
    np.testing.assert_array_equal(np.array(b.body_inertia[0]).reshape(3, 3), np.diag([1.0, 1.0, 10.0]))


@pytest.mark.parametrize("mass", [-1.0, np.nan])
def test_a_bad_mass(mass):
    b = ModelBuilder()
    b.add_body(label="arm", mass=mass, inertia=np.eye(3))
    with pytest.raises(ValueError, match=rf"body 'arm' \(index 0\).*body_mass is {mass}"):
        b.finalize(device="cpu")


def test_columns_of_different_lengths():
    b = particles()
    b.particle_mass.append(1.0)
    with pytest.raises(ValueError, match="particle_mass"):
        b.finalize(device="cpu")


# ---- colours


def test_particles_added_after_color():
    b = particles()
    b.color()
    b.add_particles([ZERO, ZERO], [ZERO] * 2, [1.0] * 2)
    with pytest.raises(ValueError, match=r"2 of 6.*particle.*the first is 4.*color\(\)"):
        b.finalize(device="cpu")


@pytest.mark.parametrize(
    "groups, match",
    [
        ([[0, 1], [2]], r"1 of 4.*the first is 3.*color\(\)"),
        ([[0, 1], [2, 3, 1]], r"particle 1 is in more than one"),
        ([[0, 1, 2, 2], [3]], r"particle 2 is in more than one"),
        ([[0, 1], [2, 3, 4]], r"group 1.*particle 4.*there are 4"),
        ([[0, 1], [2, 3, -1]], r"group 1.*particle -1.*there are 4"),
    ],
)
def test_groups_by_hand(groups, match):
    b = particles()
    b.set_coloring(groups)
    with pytest.raises(ValueError, match=match):
        b.finalize(device="cpu")


def test_good_groups_by_hand():
    b = particles()
    b.set_coloring([[3, 0], np.array([1]), [], [2]])
    m = b.finalize(device="cpu")
    assert [g.numpy().tolist() for g in m.particle_color_groups if len(g)] == [[3, 0], [1], [2]]
    assert m.particle_colors.numpy().tolist() == [0, 1, 3, 0]


def test_bodies_added_after_color():
    b = ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    b.color()
    b.add_body(label="late", mass=1.0, inertia=np.eye(3))
    with pytest.raises(ValueError, match=r"body.*color\(\)"):
        b.finalize(device="cpu")

"""add_builder: a rigid motion of all that has a place, and offsets on all that refers to something."""

import numpy as np
import pytest
import warp as wp

from hooke import Model, ModelBuilder, ShapeConfig
from hooke.elements import ELEMENTS
from hooke.model.tables import TABLES

QUARTER_Z = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
MOTION = (10.0, 20.0, 30.0, *QUARTER_Z)  # x -> y, y -> -x, then (10, 20, 30)
Frequency = Model.AttributeFrequency


def moved(p):
    x, y, z = p
    return np.array([10 - y, 20 + x, 30 + z])


def turned(v):
    return np.array([-v[1], v[0], v[2]])


def everything():
    """One or more rows of every table."""
    b = ModelBuilder()
    points = [(0, 1, 4), (9, 16, 25), (36, 49, 64), (0, 0, 100)]
    b.add_particles(points, np.arange(12, 24).reshape(4, 3), [1.0] * 4)
    b.add_spring(0, 1)
    b.add_triangle(0, 1, 2)
    b.add_edge(0, -1, 1, 2)
    b.add_edge(0, 3, 1, 2)
    b.add_tetrahedron(0, 2, 1, 3)
    body = b.add_body(xform=(1, 2, 3, *QUARTER_Z), com=(0.1, 0.2, 0.3), mass=1.0, inertia=np.diag([1.0, 2.0, 2.5]))
    b.body_qd[body] = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    b.add_shape_box(body, xform=(4, 5, 6, 0, 0, 0, 1), cfg=ShapeConfig(density=0.0))
    b.add_shape_sphere(-1, xform=(7, 8, 9, 0, 0, 0, 1))
    b.add_body(mass=1.0, inertia=np.eye(3))
    b.joint_parent[1] = body
    b.add_shape_collision_filter_pair(0, 1)
    other = [b.add_joint_revolute(-1, b.add_link(mass=1.0, inertia=np.eye(3))) for _ in range(2)]
    b.set_joint_mimic(other[1], other[0])
    b.add_constraint_mimic(*other)
    b.add_attachment_particle_body(0, body, body_point=(0.1, 0.2, 0.3))
    b.add_attachment_particle_body(1, -1, body_point=(4, 5, 6))
    return b


@pytest.fixture(scope="module")
def pair():
    inner = everything()
    b = ModelBuilder()
    b.add_builder(inner)
    b.add_builder(inner, xform=wp.transform(MOTION[:3], wp.quat(*MOTION[3:])), label_prefix="second")
    return inner, b


def rows(b, name):
    return np.asarray(getattr(b, name), float)


def test_what_has_a_place_moves(pair):
    inner, b = pair
    np.testing.assert_allclose(rows(b, "particle_q")[4:], [moved(p) for p in rows(inner, "particle_q")], rtol=1e-6)
    np.testing.assert_allclose(rows(b, "particle_qd")[4:], [turned(v) for v in rows(inner, "particle_qd")], rtol=1e-6)
    np.testing.assert_allclose(rows(b, "body_q")[4], (*moved((1, 2, 3)), 0, 0, 1, 0), atol=1e-6)
    np.testing.assert_allclose(rows(b, "body_qd")[4], (-2, 1, 3, -5, 4, 6), atol=1e-6)
    n = len(rows(inner, "joint_q"))
    for name in ("joint_q", "joint_target_q"):
        np.testing.assert_allclose(rows(b, name)[n : n + 7], rows(b, "body_q")[len(rows(inner, "body_q"))], atol=1e-6)
        np.testing.assert_array_equal(rows(b, name)[n + 7 :], rows(inner, name)[7:])  # relative to its parent body
    np.testing.assert_allclose(rows(b, "shape_transform")[3], (*moved((7, 8, 9)), *QUARTER_Z), atol=1e-6)
    np.testing.assert_allclose(rows(b, "attachment_particle_body_body_point")[3], moved((4, 5, 6)), rtol=1e-6)


def test_what_is_in_a_body_frame_stays(pair):
    inner, b = pair
    np.testing.assert_array_equal(rows(b, "shape_transform")[2], rows(inner, "shape_transform")[0])
    np.testing.assert_array_equal(rows(b, "body_com")[4], rows(inner, "body_com")[0])
    np.testing.assert_array_equal(rows(b, "attachment_particle_body_body_point")[2], (0.1, 0.2, 0.3))
    np.testing.assert_array_equal(rows(b, "body_inertia")[4], rows(inner, "body_inertia")[0])
    np.testing.assert_array_equal(rows(b, "joint_X_p")[4], rows(inner, "joint_X_p")[0])
    np.testing.assert_array_equal(rows(b, "joint_X_c")[4], rows(inner, "joint_X_c")[0])
    for name in ("tri_poses", "tet_poses", "edge_rest_angle", "spring_rest_length", "tri_areas"):
        values = rows(b, name)
        np.testing.assert_array_equal(values[len(values) // 2 :], rows(inner, name))


def test_the_first_copy_is_the_builder_itself(pair):
    inner, b = pair
    for table in TABLES:
        for column in table.columns:
            if not column.derived:
                mine, copy = getattr(inner, table.prefix + column.name), getattr(b, table.prefix + column.name)
                assert list(copy[: len(mine)]) == list(mine), table.prefix + column.name


REFERRING = [(table, column) for table in TABLES for column in table.columns if column.refers and column.refers != "world"]


@pytest.mark.parametrize("table, column", REFERRING, ids=lambda x: x.name)
def test_references_are_offset(pair, table, column):
    """All columns that refer to something, found in the declarations: -1 stays, the others count from the second copy."""
    inner, b = pair
    name = table.prefix + column.name
    mine, copy = np.asarray(getattr(inner, name)), np.asarray(getattr(b, name))
    assert len(mine) and (mine >= 0).any()
    offset = getattr(inner, f"{column.refers}_count")
    assert offset > 0
    np.testing.assert_array_equal(copy[len(mine) :], np.where(mine >= 0, mine + offset, mine))


def test_the_columns_that_should_refer_do():
    found = {table.prefix + column.name for table, column in REFERRING}
    assert found >= {"shape_body", "joint_parent", "joint_child", "joint_articulation"}
    assert found >= {e.table.prefix + e.particles for e in ELEMENTS}


def test_the_builder_that_was_added_is_unchanged(pair):
    inner, _ = pair
    fresh = everything()
    for table in TABLES:
        for column in table.columns:
            if not column.derived:
                name = table.prefix + column.name
                assert list(getattr(inner, name)) == list(getattr(fresh, name)), name


def test_a_model_of_two_copies(pair):
    _, b = pair
    m = b.finalize(device="cpu")
    assert m.joint_q_start.numpy().tolist() == [0, 7, 14, 15, 16, 23, 30, 31, 32]
    assert m.articulation_start.numpy().tolist() == [0, 1, 4, 5, 8]
    assert m.spring_indices.numpy().tolist() == [0, 1, 4, 5]
    assert list(b.body_label) == [f"{prefix}body_{k}" for prefix in ("", "second/") for k in range(4)]


def test_motions_compose():
    """A builder within a builder within a builder."""
    inner = ModelBuilder()
    inner.add_body(xform=(1, 0, 0, 0, 0, 0, 1), mass=1.0, inertia=np.eye(3))
    inner.add_particle((1, 0, 0), (1, 0, 0), 1.0)
    middle, outer = ModelBuilder(), ModelBuilder()
    middle.add_builder(inner, xform=MOTION)
    outer.add_builder(middle, xform=MOTION)
    twice = moved(moved((1, 0, 0)))
    np.testing.assert_allclose(rows(outer, "particle_q")[0], twice, rtol=1e-6)
    np.testing.assert_allclose(rows(outer, "particle_qd")[0], (-1, 0, 0), atol=1e-6)
    np.testing.assert_allclose(rows(outer, "body_q")[0], (*twice, 0, 0, 1, 0), atol=1e-6)
    np.testing.assert_allclose(rows(outer, "joint_q"), rows(outer, "body_q")[0], atol=1e-6)


def test_a_bad_transform_is_refused():
    for wrong in ((np.nan, 0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 0, 0)):
        with pytest.raises(ValueError, match="transform"):
            ModelBuilder().add_builder(ModelBuilder(), xform=wrong)


# ---- custom attributes with references

REFERENCES = {
    "particle": 4, "spring": 1, "triangle": 1, "edge": 2, "tetrahedron": 1, "body": 4, "shape": 2, "joint": 4, "joint_dof": 14,
    "joint_coord": 16, "articulation": 2, "joint_constraint": 10, "constraint_mimic": 1,
}  # fmt: skip


@pytest.mark.parametrize("kind", REFERENCES)
def test_references_of_custom_attributes_are_offset(kind):
    inner = everything()
    inner.add_custom_attribute(
        ModelBuilder.CustomAttribute("link", wp.int32, Frequency.PARTICLE, namespace="my", references=kind, default=-1)
    )
    inner.add_particle((0, 0, 0), (0, 0, 0), 1.0, custom_attributes={"my:link": 0})
    b = ModelBuilder()
    b.add_builder(inner)
    b.add_builder(inner)
    count = REFERENCES[kind] + (kind == "particle")
    values = b.finalize(device="cpu").my.link.numpy()
    assert values.tolist() == [-1] * 4 + [0] + [-1] * 4 + [count]


def test_references_to_a_custom_frequency_are_offset():
    inner = ModelBuilder()
    inner.add_custom_frequency(ModelBuilder.CustomFrequency("muscle", "my"))
    inner.add_custom_attribute(ModelBuilder.CustomAttribute("force", wp.float32, "my:muscle", namespace="my"))
    inner.add_custom_attribute(
        ModelBuilder.CustomAttribute("muscle", wp.int32, Frequency.PARTICLE, namespace="my", references="my:muscle", default=-1)
    )
    inner.add_custom_values(**{"my:force": 1.0})
    inner.add_custom_values(**{"my:force": 2.0})
    inner.add_particle((0, 0, 0), (0, 0, 0), 1.0, custom_attributes={"my:muscle": 1})
    b = ModelBuilder()
    b.replicate(inner, 2)
    m = b.finalize(device="cpu")
    assert m.my.force.numpy().tolist() == [1, 2, 1, 2]
    assert m.my.muscle.numpy().tolist() == [1, 3]


def test_an_unknown_kind_of_reference_is_refused():
    with pytest.raises(ValueError, match=r"my:link.*partikel"):
        ModelBuilder().add_custom_attribute(
            ModelBuilder.CustomAttribute("link", wp.int32, Frequency.PARTICLE, namespace="my", references="partikel")
        )


def test_a_reference_out_of_range_is_refused():
    b = ModelBuilder()
    b.add_custom_attribute(ModelBuilder.CustomAttribute("link", wp.int32, Frequency.PARTICLE, references="triangle"))
    b.add_particle((0, 0, 0), (0, 0, 0), 1.0, custom_attributes={"link": 5})
    with pytest.raises(ValueError, match=r"particle 0.*link is 5"):
        b.finalize(device="cpu")


def test_attributes_of_an_added_builder_come_along():
    inner = ModelBuilder()
    inner.add_particle((0, 0, 0), (0, 0, 0), 1.0)
    inner.add_custom_attribute(
        ModelBuilder.CustomAttribute("heat", wp.float32, Frequency.PARTICLE, namespace="my", default=3.0, values={0: 4.0})
    )
    inner.add_custom_attribute(ModelBuilder.CustomAttribute("mode", wp.int32, Frequency.ONCE, namespace="my", default=1))
    inner.add_custom_values(**{"my:mode": 9})
    b = ModelBuilder()
    b.add_particle((1, 0, 0), (0, 0, 0), 1.0)
    b.add_builder(inner)
    b.add_particle((2, 0, 0), (0, 0, 0), 1.0)
    m = b.finalize(device="cpu")
    assert m.my.heat.numpy().tolist() == [3.0, 4.0, 3.0]
    assert m.my.mode.numpy().tolist() == [9]

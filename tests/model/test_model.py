"""Model, State, Control and Contacts: names, copies, and what may be changed."""

import numpy as np
import pytest
import warp as wp

from hooke import Contacts, ModelBuilder
from hooke.model.model import model_tables
from hooke.model.tables import TABLES

ZERO = (0.0, 0.0, 0.0)


def small():
    b = ModelBuilder()
    b.add_particles([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(1, 2, 3)] * 4, [1.0, 2.0, 3.0, 0.0])
    b.add_spring(0, 1)
    b.add_triangle(0, 1, 2)
    b.add_edge(0, -1, 1, 2)
    b.add_tetrahedron(0, 1, 2, 3)
    body = b.add_body(xform=(1, 2, 3, 0, 0, 0, 1))
    b.add_shape_box(body)
    b.add_ground_plane()
    b.body_qd[body] = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    b.joint_f[2] = 5.0
    b.joint_target_q[0] = 7.0
    b.color()
    return b.finalize(device="cpu")


@pytest.fixture
def model():
    return small()


def test_every_column_has_its_public_name(model):
    names = dir(model)
    for table in TABLES:
        assert table.count_name in names
        count = getattr(model, table.count_name)
        for column in table.columns:
            name = table.prefix + column.name
            assert name in names
            value = getattr(model, name)
            if column.is_list:
                assert isinstance(value, list) and len(value) == count
            else:
                assert value.shape[0] == count * (column.width if column.flat else 1)
                assert str(value.device) == "cpu"


def test_documented_names(model):
    """Those of the documented data model that concern what exists so far."""
    documented = """
        particle_q particle_qd particle_mass particle_inv_mass particle_radius particle_flags particle_world particle_world_start
        particle_color_groups particle_colors spring_indices spring_rest_length spring_stiffness spring_damping spring_control
        tri_indices tri_poses tri_areas tri_materials tri_activations edge_indices edge_rest_angle edge_rest_length
        edge_bending_properties tet_indices tet_poses tet_materials tet_activations body_q body_qd body_com body_mass body_inv_mass
        body_inertia body_inv_inertia body_flags body_world body_world_start body_label body_color_groups joint_type joint_parent
        joint_child joint_X_p joint_X_c joint_axis joint_q joint_qd joint_q_start joint_qd_start joint_dof_dim joint_enabled
        joint_target_mode joint_target_ke joint_target_kd joint_limit_lower joint_limit_upper joint_limit_ke joint_limit_kd
        joint_armature joint_damping joint_friction joint_effort_limit joint_velocity_limit joint_world joint_world_start joint_label
        joint_f joint_act joint_target_q joint_target_qd joint_articulation articulation_start articulation_world
        articulation_world_start shape_type shape_flags shape_body shape_transform shape_scale shape_source shape_source_ptr
        shape_margin shape_gap shape_material_ke shape_material_kd shape_material_kf shape_material_ka shape_material_mu
        shape_material_restitution shape_material_mu_torsional shape_material_mu_rolling shape_collision_group shape_world
        shape_world_start shape_collision_radius shape_collision_aabb_lower shape_collision_aabb_upper shape_is_solid shape_color
        shape_opacity shape_label body_shapes gravity world_count up_axis device requires_grad rigid_contact_max soft_contact_max
        soft_contact_ke soft_contact_kd soft_contact_mu particle_count body_count shape_count joint_count tri_count tet_count
        edge_count spring_count joint_dof_count joint_coord_count articulation_count
    """.split()
    missing = [name for name in documented if not hasattr(model, name)]
    assert missing == []


def test_shapes_and_types_of_the_documented_arrays(model):
    expected = {
        "particle_q": (wp.vec3, (4,)), "spring_indices": (wp.int32, (2,)), "tri_indices": (wp.int32, (1, 3)),
        "tri_poses": (wp.mat22, (1,)), "tri_materials": (wp.float32, (1, 5)), "edge_indices": (wp.int32, (1, 4)),
        "edge_bending_properties": (wp.float32, (1, 2)), "tet_indices": (wp.int32, (1, 4)), "tet_poses": (wp.mat33, (1,)),
        "tet_materials": (wp.float32, (1, 3)), "body_q": (wp.transform, (1,)), "body_qd": (wp.spatial_vector, (1,)),
        "body_inertia": (wp.mat33, (1,)), "joint_dof_dim": (wp.int32, (1, 2)), "joint_axis": (wp.vec3, (6,)),
        "joint_q": (wp.float32, (7,)), "joint_qd": (wp.float32, (6,)), "shape_source_ptr": (wp.uint64, (2,)),
        "shape_transform": (wp.transform, (2,)), "joint_enabled": (wp.bool, (1,)),
    }  # fmt: skip
    for name, (dtype, shape) in expected.items():
        array = getattr(model, name)
        assert wp.types.types_equal(array.dtype, dtype) and array.shape == shape, name


def test_defaults_of_contact(model):
    assert (model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu) == (1e3, 10, 0.5)


def test_rebinding_an_array(model):
    mass = wp.array([5.0, 6.0, 7.0, 8.0], dtype=wp.float32, device="cpu")
    model.particle_mass = mass
    assert model.particle_mass is mass
    assert model.tables["particle"].struct.mass.ptr == mass.ptr
    model.particle_radius = np.full(4, 0.25)
    assert model.particle_radius.numpy().tolist() == [0.25] * 4
    with pytest.raises(ValueError, match=r"particle_mass.*expected 4"):
        model.particle_mass = np.zeros(3)
    with pytest.raises(TypeError, match="particle_mass"):
        model.particle_mass = wp.zeros(4, dtype=wp.vec3, device="cpu")
    with pytest.raises((TypeError, ValueError), match="tri_indices"):
        model.tri_indices = wp.zeros((1, 4), dtype=wp.int32, device="cpu")
    assert model.particle_mass is mass


def test_counts_are_fixed(model):
    for table in TABLES:
        with pytest.raises(AttributeError, match=table.count_name):
            setattr(model, table.count_name, 3)
    with pytest.raises(AttributeError, match="particle_masses"):
        model.particle_masses


def test_repr(model):
    assert "4 particle" in repr(model) and "1 body" in repr(model)
    assert "empty" in repr(ModelBuilder().finalize(device="cpu"))


def test_a_builder_makes_independent_models():
    b = ModelBuilder()
    b.add_particle(ZERO, ZERO, 1.0)
    one = b.finalize(device="cpu")
    b.add_particle(ZERO, ZERO, 2.0)
    b.particle_mass[0] = 9.0
    two = b.finalize(device="cpu")
    one.particle_q.fill_(5.0)
    assert (one.particle_count, two.particle_count) == (1, 2)
    assert one.particle_mass.numpy().tolist() == [1.0]
    assert two.particle_q.numpy().max() == 0.0


def test_tables_of_a_foreign_model_copy_nothing(model):
    class Foreign:
        device = model.device

    foreign = Foreign()
    for name in dir(model):
        if not name.startswith("_") and name not in ("tables", "device"):
            value = getattr(model, name)
            if not callable(value):
                setattr(foreign, name, value)
    tables = model_tables(foreign)
    assert model_tables(model) is model.tables
    for name, data in tables.items():
        mine = model.tables[name]
        assert data.count == mine.count
        for column, array in mine.arrays.items():
            if isinstance(array, wp.array):
                assert data.arrays[column].ptr == array.ptr, f"{name}.{column}"
    del foreign.spring_count
    assert model_tables(foreign)["spring"].count == 1  # counted from the flat indices


# ---- state


def test_state_starts_at_the_initial_values(model):
    s = model.state()
    for name in ("particle_q", "particle_qd", "body_q", "body_qd", "joint_q", "joint_qd"):
        array = getattr(s, name)
        np.testing.assert_array_equal(array.numpy(), getattr(model, name).numpy())
        assert array.ptr != getattr(model, name).ptr
    assert s.particle_f.numpy().tolist() == [[0, 0, 0]] * 4
    assert s.body_f.numpy().tolist() == [[0] * 6]
    assert (s.particle_count, s.body_count, s.joint_coord_count, s.joint_dof_count) == (4, 1, 7, 6)
    assert s.requires_grad is False


def test_what_is_absent_is_none():
    s = ModelBuilder().finalize(device="cpu").state()
    assert all(getattr(s, name) is None for name in s.FIELDS)
    assert (s.particle_count, s.body_count, s.joint_coord_count, s.joint_dof_count) == (0, 0, 0, 0)
    s.clear_forces()
    b = ModelBuilder()
    b.add_particle(ZERO, ZERO, 1.0)
    s = b.finalize(device="cpu").state()
    assert s.particle_q is not None and s.body_q is None and s.body_f is None and s.joint_q is None


def test_clear_forces(model):
    s = model.state()
    s.particle_f.fill_(1.0)
    s.body_f.fill_(1.0)
    s.clear_forces()
    assert not s.particle_f.numpy().any() and not s.body_f.numpy().any()
    assert s.particle_qd.numpy().any()


def test_clone_and_assign(model):
    s = model.state()
    s.particle_q.fill_(3.0)
    s.body_f.fill_(2.0)
    twin = s.clone()
    for name in s.FIELDS:
        np.testing.assert_array_equal(getattr(twin, name).numpy(), getattr(s, name).numpy())
        assert getattr(twin, name).ptr != getattr(s, name).ptr
    other = model.state()
    pointer = other.particle_q.ptr
    other.assign(s)
    assert other.particle_q.ptr == pointer
    for name in s.FIELDS:
        np.testing.assert_array_equal(getattr(other, name).numpy(), getattr(s, name).numpy())


def test_states_of_different_models_are_not_assigned(model):
    b = ModelBuilder()
    b.add_particle(ZERO, ZERO, 1.0)
    other, s = b.finalize(device="cpu").state(), model.state()
    before = s.particle_q.numpy().copy()
    for a, c in ((s, other), (other, s)):
        with pytest.raises(ValueError, match=r"State\.assign: particle_q"):
            a.assign(c)
    np.testing.assert_array_equal(s.particle_q.numpy(), before)


# ---- control and contacts


def test_control(model):
    c = model.control()
    assert c.joint_f.numpy().tolist() == [0, 0, 5, 0, 0, 0]
    assert c.joint_target_q.shape == (7,) and c.joint_target_q.numpy()[0] == 7.0
    assert c.joint_target_qd.shape == c.joint_act.shape == (6,)
    assert c.tri_activations.shape == (1,) and c.tet_activations.shape == (1,)
    c.joint_f.fill_(1.0)
    assert model.joint_f.numpy()[2] == 5.0
    c.clear(model)
    assert c.joint_f.numpy().tolist() == [0, 0, 5, 0, 0, 0]
    c.clear()
    assert not c.joint_f.numpy().any() and not c.joint_target_q.numpy().any()
    shared = model.control(clone_variables=False)
    assert shared.joint_f.ptr == model.joint_f.ptr
    assert ModelBuilder().finalize(device="cpu").control().joint_f is None


def test_contacts():
    c = Contacts(3, 5, device="cpu")
    assert (c.rigid_contact_max, c.soft_contact_max) == (3, 5)
    assert c.contact_counters.shape == (4,) and c.contact_generation.shape == (1,)
    names = "particle indices barycentric shape body_pos body_vel normal tids".split()
    assert all(getattr(c, f"soft_contact_{n}").shape == (5,) for n in names)
    names = "shape0 shape1 point0 point1 normal offset0 offset1 margin0 margin1 point_id tids".split()
    assert all(getattr(c, f"rigid_contact_{n}").shape == (3,) for n in names)
    assert not hasattr(c, "force")
    assert Contacts(3, 5, device="cpu", requested_attributes=["force"]).force.shape == (8,)
    for wrong in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="-1"):
            Contacts(*wrong, device="cpu")


def test_counters_are_views():
    c = Contacts(3, 5, device="cpu")
    c.contact_counters.assign([1, 2, 0, 0])
    assert c.rigid_contact_count.numpy().tolist() == [1] and c.soft_contact_count.numpy().tolist() == [2]
    c.clear()
    assert c.contact_counters.numpy().tolist() == [0, 0, 0, 0]
    assert c.contact_generation.numpy().tolist() == [1]
    c.clear(bump_generation=False)
    assert c.contact_generation.numpy().tolist() == [1]
    c.contact_generation.fill_(2**31 - 1)
    c.clear()
    assert c.contact_generation.numpy().tolist() == [0]


def test_requested_attributes(model):
    b = ModelBuilder()
    b.request_contact_attributes("force")
    assert b.finalize(device="cpu").contacts().force.shape == (0,)
    model.request_contact_attributes("force")
    contacts = model.contacts()
    assert len(contacts.force) == contacts.rigid_contact_max + contacts.soft_contact_max
    for owner in (b, model):
        with pytest.raises(ValueError, match="'forces'"):
            owner.request_contact_attributes("forces")


def test_gradients_are_refused(model):
    with pytest.raises(NotImplementedError, match=r"finalize.*gradients"):
        ModelBuilder().finalize(device="cpu", requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"Model\.state.*gradients"):
        model.state(requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"Model\.control.*gradients"):
        model.control(requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"Contacts.*gradients"):
        Contacts(1, 1, requires_grad=True, device="cpu")
    model.state(requires_grad=False)


def test_frequency_of_a_column(model):
    F = model.AttributeFrequency
    for name, frequency in {"joint_q": F.JOINT_COORD, "joint_qd": F.JOINT_DOF, "joint_type": F.JOINT, "tri_poses": F.TRIANGLE,
                            "tet_poses": F.TETRAHEDRON, "edge_indices": F.EDGE, "body_mass": F.BODY,
                            "attachment_particle_body_body": "attachment_particle_body"}.items():  # fmt: skip
        assert model.get_attribute_frequency(name) == frequency
    with pytest.raises(AttributeError, match="particle_masses"):
        model.get_attribute_frequency("particle_masses")

"""Custom attributes: every kind of entity, the three objects that carry them, namespaces, values, and what is refused."""

import numpy as np
import pytest
import warp as wp

from hooke import Model, ModelBuilder

Attribute, CustomFrequency = ModelBuilder.CustomAttribute, ModelBuilder.CustomFrequency
Frequency, Assignment = Model.AttributeFrequency, Model.AttributeAssignment
ZERO = (0.0, 0.0, 0.0)


def everything():
    """Particles 5, springs 1, triangles 1, edges 1, tetrahedra 1, bodies 2 with their joints, shapes 3, worlds 1."""
    b = ModelBuilder()
    b.begin_world()
    b.add_particles([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0)], [ZERO] * 5, [1.0] * 5)
    b.add_spring(0, 1)
    b.add_triangle(0, 1, 2)
    b.add_edge(0, -1, 1, 2)
    b.add_tetrahedron(0, 1, 2, 3)
    for _ in range(2):
        b.add_shape_box(b.add_body())
    b.add_shape_box(-1)
    b.end_world()
    return b


COUNTS = {
    Frequency.ONCE: 1, Frequency.JOINT: 2, Frequency.JOINT_DOF: 12, Frequency.JOINT_COORD: 14, Frequency.JOINT_CONSTRAINT: 0,
    Frequency.BODY: 2, Frequency.SHAPE: 3, Frequency.ARTICULATION: 2, Frequency.PARTICLE: 5, Frequency.EDGE: 1,
    Frequency.TRIANGLE: 1, Frequency.TETRAHEDRON: 1, Frequency.SPRING: 1, Frequency.CONSTRAINT_MIMIC: 0, Frequency.WORLD: 1,
}  # fmt: skip


def test_values_of_the_enumerations():
    assert [int(f) for f in Frequency] == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15]
    assert [int(a) for a in Assignment] == [0, 1, 2, 3]
    assert set(COUNTS) == set(Frequency)


@pytest.mark.parametrize("frequency", Frequency, ids=lambda f: f.name)
@pytest.mark.parametrize("when", ["before", "after"])
def test_one_value_for_every_entity(frequency, when):
    attribute = Attribute("tau", wp.float32, frequency, namespace="my", default=2.5)
    if when == "after":
        b = everything()
        b.add_custom_attribute(attribute)
    else:
        b = ModelBuilder()
        b.add_custom_attribute(attribute)
        b.add_builder(everything())
    m = b.finalize(device="cpu")
    assert m.my.tau.dtype is wp.float32
    assert m.my.tau.numpy().tolist() == [2.5] * COUNTS[frequency]
    assert m.get_attribute_frequency("my:tau") == frequency


@pytest.mark.parametrize(
    "dtype, default, shape",
    [
        (wp.int32, 3, ()), (int, 3, ()), (float, 0.5, ()), (wp.bool, True, ()), (bool, True, ()), (wp.vec3, (1, 2, 3), (3,)),
        (wp.vec2, (1, 2), (2,)), (wp.quat, (0, 0, 0, 1), (4,)), (wp.mat33, np.eye(3), (3, 3)),
        (wp.transform, (0, 0, 0, 0, 0, 0, 1), (7,)), (wp.spatial_vector, (1, 2, 3, 4, 5, 6), (6,)),
    ],
)  # fmt: skip
def test_types(dtype, default, shape):
    b = everything()
    b.add_custom_attribute(Attribute("given", dtype, Frequency.BODY, default=default))
    b.add_custom_attribute(Attribute("zero", dtype, Frequency.BODY))
    m = b.finalize(device="cpu")
    assert m.given.numpy().shape == (2, *shape)
    np.testing.assert_array_equal(m.given.numpy()[1], np.asarray(default))
    np.testing.assert_array_equal(m.zero.numpy(), np.zeros((2, *shape)))


def test_strings_stay_a_list():
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("group", str, Frequency.BODY, namespace="my", default="none"))
    b.add_body(mass=1.0, inertia=np.eye(3), custom_attributes={"my:group": "arm"})
    b.add_body(mass=1.0, inertia=np.eye(3))
    b.add_custom_attribute(Attribute("solver", str, Frequency.ONCE, namespace="my"))
    m = b.finalize(device="cpu")
    assert m.my.group == ["arm", "none"]
    assert m.my.solver == [""]


def test_on_model_state_and_control():
    b = everything()
    for assignment in (Assignment.MODEL, Assignment.STATE, Assignment.CONTROL):
        b.add_custom_attribute(Attribute(f"x{assignment}", wp.float32, Frequency.BODY, assignment, "my", default=float(assignment)))
        b.add_custom_attribute(Attribute(f"plain{assignment}", wp.vec3, Frequency.SHAPE, assignment))
    m = b.finalize(device="cpu")
    owners = {0: m, 1: m.state(), 2: m.control()}
    for assignment, owner in owners.items():
        assert getattr(owner.my, f"x{assignment}").numpy().tolist() == [assignment] * 2
        assert getattr(owner, f"plain{assignment}").shape == (3,)
        for other in set(owners) - {assignment}:
            assert not hasattr(owner, f"plain{other}")
            assert not hasattr(owner.my, f"x{other}")
    one, two = m.state(), m.state()
    one.my.x1.fill_(7.0)  # every state has its own
    assert two.my.x1.numpy().tolist() == [1, 1]
    assert m.state().my.x1.numpy().tolist() == [1, 1]


def test_cloned_and_assigned_states_carry_them():
    b = everything()
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.BODY, Assignment.STATE, "my"))
    b.add_custom_attribute(Attribute("plain", wp.float32, Frequency.BODY, Assignment.STATE))
    m = b.finalize(device="cpu")
    state = m.state()
    state.my.heat.fill_(3.0)
    state.plain.fill_(4.0)
    twin = state.clone()
    state.my.heat.fill_(0.0)
    assert twin.my.heat.numpy().tolist() == [3, 3] and twin.plain.numpy().tolist() == [4, 4]
    state.assign(twin)
    assert state.my.heat.numpy().tolist() == [3, 3]
    assert state.my.heat.ptr != twin.my.heat.ptr


def test_two_namespaces_and_none():
    b = everything()
    for namespace in ("a", "b", None):
        b.add_custom_attribute(Attribute("gain", wp.int32, Frequency.BODY, namespace=namespace, default=len(namespace or "")))
    b.add_custom_attribute(Attribute("bias", wp.int32, Frequency.BODY, namespace="b", default=5))
    m = b.finalize(device="cpu")
    assert m.a.gain.numpy().tolist() == m.b.gain.numpy().tolist() == [1, 1]
    assert m.gain.numpy().tolist() == [0, 0] and m.b.bias.numpy().tolist() == [5, 5]
    assert b.has_custom_attribute("a:gain") and b.has_custom_attribute("gain") and not b.has_custom_attribute("c:gain")
    found = b.get_custom_attributes_by_frequency([Frequency.BODY])
    assert [a.key for a in found] == ["a:gain", "b:gain", "gain", "b:bias"]
    assert b.get_custom_attributes_by_frequency([Frequency.SHAPE]) == []
    with pytest.raises(AttributeError):
        m.c


def test_names_in_usd_files():
    assert Attribute("tau", wp.float32, Frequency.JOINT, namespace="vbd").usd_attribute_name == "newton:vbd:tau"
    assert Attribute("tau", wp.float32, Frequency.JOINT).usd_attribute_name == "newton:tau"
    assert Attribute("tau", wp.float32, Frequency.JOINT, usd_attribute_name="x:y").usd_attribute_name == "x:y"


def test_a_name_of_the_model_cannot_be_taken():
    b = everything()
    b.add_custom_attribute(Attribute("particle_mass", wp.float32, Frequency.PARTICLE, namespace="my", default=9.0))
    m = b.finalize(device="cpu")
    assert m.particle_mass.numpy().tolist() == [1.0] * 5
    with pytest.raises((ValueError, AttributeError), match="particle_mass"):
        b = everything()
        b.add_custom_attribute(Attribute("particle_mass", wp.float32, Frequency.PARTICLE, default=9.0))
        b.finalize(device="cpu")


# ---- values


def test_authored_on_single_entities():
    b = ModelBuilder()
    kinds = {"p": Frequency.PARTICLE, "s": Frequency.SPRING, "t": Frequency.TRIANGLE, "e": Frequency.EDGE, "q": Frequency.TETRAHEDRON,
             "b": Frequency.BODY, "h": Frequency.SHAPE, "w": Frequency.WORLD}  # fmt: skip
    for name, frequency in kinds.items():
        b.add_custom_attribute(Attribute(name, wp.int32, frequency))
    b.begin_world(attributes={"w": 10})
    for x in [(0, 0, 0), (1, 0, 0), (0, 1, 0)]:
        b.add_particle(x, ZERO, 1.0)
    b.add_particle((0, 0, 1), ZERO, 1.0, custom_attributes={"p": 1})
    b.add_spring(0, 1)
    b.add_spring(0, 1, 1.0, 0.0, 0.0, {"s": 2})
    b.add_triangle(0, 1, 2)
    b.add_triangle(0, 1, 2, custom_attributes={"t": 3})
    b.add_edge(0, -1, 1, 2, custom_attributes={"e": 4})
    b.add_tetrahedron(0, 1, 2, 3, custom_attributes={"q": 5})
    body = b.add_body(mass=1.0, inertia=np.eye(3), custom_attributes={"b": 6})
    b.add_shape_box(body, custom_attributes={"h": 7})
    b.add_shape_sphere(-1, custom_attributes={"h": 8})
    b.end_world()
    m = b.finalize(device="cpu")
    found = {name: getattr(m, name).numpy().tolist() for name in kinds}
    assert found == {"p": [0, 0, 0, 1], "s": [0, 2], "t": [0, 3], "e": [4], "q": [5], "b": [6], "h": [7, 8], "w": [10]}


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_one_value_for_all_or_one_for_each(form):
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.PARTICLE, default=-1.0))
    b.add_custom_attribute(Attribute("wind", wp.vec3, Frequency.PARTICLE))
    b.add_particle(ZERO, ZERO, 1.0)
    points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    b.add_particles(points, [ZERO] * 3, [1.0] * 3, custom_attributes={"heat": form([1.0, 2.0, 3.0]), "wind": form([1.0, 2.0, 3.0])})
    b.add_particles(points, [ZERO] * 3, [1.0] * 3, custom_attributes={"heat": 5.0, "wind": form(points)})
    m = b.finalize(device="cpu")
    assert m.heat.numpy().tolist() == [-1, 1, 2, 3, 5, 5, 5]
    np.testing.assert_array_equal(m.wind.numpy(), [ZERO, *[(1, 2, 3)] * 3, *points])


def test_a_wrong_number_of_values_is_refused():
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.PARTICLE))
    with pytest.raises((ValueError, TypeError), match="heat"):
        b.add_particles([ZERO] * 3, [ZERO] * 3, [1.0] * 3, custom_attributes={"heat": [1.0, 2.0]})


def test_on_generated_cloth():
    b = ModelBuilder()
    for name, frequency in (("p", Frequency.PARTICLE), ("t", Frequency.TRIANGLE), ("e", Frequency.EDGE), ("s", Frequency.SPRING)):
        b.add_custom_attribute(Attribute(name, wp.float32, frequency))
    place = {"pos": ZERO, "rot": wp.quat_identity(), "vel": ZERO}
    b.add_cloth_grid(
        **place, dim_x=1, dim_y=1, cell_x=1.0, cell_y=1.0, mass=1.0, add_springs=True,
        custom_attributes_particles={"p": [1, 2, 3, 4]}, custom_attributes_triangles={"t": 5}, custom_attributes_edges={"e": 6},
    )  # fmt: skip
    b.add_cloth_mesh(
        **place, scale=1.0, vertices=np.eye(3), indices=[0, 1, 2], density=1.0, add_springs=True,
        custom_attributes_particles={"p": 7}, custom_attributes_springs={"s": 8},
    )  # fmt: skip
    m = b.finalize(device="cpu")
    assert m.p.numpy().tolist() == [1, 2, 3, 4, 7, 7, 7]
    assert m.t.numpy().tolist() == [5, 5, 0] and m.e.numpy().tolist() == [6] * 5 + [0] * 3
    assert m.s.numpy().tolist() == [0] * 5 + [8] * 3


def test_values_of_the_declaration():
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("steps", wp.int32, Frequency.ONCE, namespace="my", default=-1, values=7))
    b.add_custom_attribute(Attribute("wind", wp.vec3, Frequency.ONCE, namespace="my", values={0: (1, 2, 3)}))
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.BODY, namespace="my", values={1: 5.0}))
    for _ in range(3):
        b.add_body(mass=1.0, inertia=np.eye(3))
    m = b.finalize(device="cpu")
    assert m.my.steps.numpy().tolist() == [7]
    assert m.my.wind.numpy().tolist() == [[1, 2, 3]]
    assert m.my.heat.numpy().tolist() == [0, 5, 0]


def test_once():
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("steps", wp.int32, Frequency.ONCE, default=-1))
    b.add_custom_values(steps=4)
    assert b.finalize(device="cpu").steps.numpy().tolist() == [4]


# ---- frequencies of the user


def muscles():
    b = ModelBuilder()
    b.add_custom_frequency(CustomFrequency("muscle", "my"))
    b.add_custom_attribute(Attribute("force", wp.float32, "my:muscle", namespace="my", default=1.5))
    b.add_custom_attribute(Attribute("name", str, "my:muscle", namespace="my"))
    return b


def test_rows_of_a_custom_frequency():
    b = muscles()
    assert b.get_custom_frequency_keys() == {"my:muscle"}
    assert b.add_custom_values(**{"my:force": 2.0}) == {"my:force": 0}
    assert b.add_custom_values(**{"my:name": "biceps"}) == {"my:name": 1}
    batch = b.add_custom_values_batch([{"my:force": 3.0, "my:name": "a"}, {"my:force": 4.0}])
    assert [row["my:force"] for row in batch] == [2, 3]
    m = b.finalize(device="cpu")
    assert m.my.force.numpy().tolist() == [2.0, 1.5, 3.0, 4.0]
    assert m.my.name == ["", "biceps", "a", ""]
    assert m.get_attribute_frequency("my:force") == "my:muscle"
    b.add_custom_frequency("my:muscle")  # again: nothing happens
    assert len(b.finalize(device="cpu").my.force) == 4


def test_one_row_belongs_to_one_frequency():
    b = muscles()
    b.add_custom_frequency("bone")
    b.add_custom_attribute(Attribute("length", wp.float32, "bone"))
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.BODY))
    with pytest.raises(ValueError, match=r"my:force.*bone.*my:muscle|bone.*my:muscle"):
        b.add_custom_values(**{"my:force": 1.0, "length": 2.0})
    with pytest.raises(TypeError, match=r"heat.*BODY"):
        b.add_custom_values(heat=1.0)
    with pytest.raises(ValueError, match=r"'my:tau'.*'my:force'"):
        b.add_custom_values(**{"my:tau": 1.0})


# ---- what is refused


def test_unknown_keys_and_wrong_kinds():
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.BODY, namespace="my"))
    with pytest.raises(ValueError, match=r"'my:haet'.*'my:heat'"):
        b.add_body(mass=1.0, custom_attributes={"my:haet": 1.0})
    with pytest.raises(ValueError, match=r"my:heat.*BODY.*shape"):
        b.add_shape_box(-1, custom_attributes={"my:heat": 1.0})
    with pytest.raises(ValueError, match=r"tau.*'my:muscle'.*add_custom_frequency"):
        b.add_custom_attribute(Attribute("tau", wp.float32, "my:muscle"))


@pytest.mark.parametrize(
    "other",
    [
        {"dtype": wp.int32}, {"frequency": Frequency.SHAPE}, {"assignment": Assignment.STATE}, {"default": 2.0},
        {"references": "body"},
    ],
)  # fmt: skip
def test_registering_again(other):
    given = {"dtype": wp.float32, "frequency": Frequency.BODY, "default": 1.0, "namespace": "my"}
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("heat", **given))
    b.add_custom_attribute(Attribute("heat", **given))  # equal: nothing happens
    with pytest.raises(ValueError, match=r"'my:heat' is already registered"):
        b.add_custom_attribute(Attribute("heat", **{**given, **other}))


def test_registering_an_array_default_again():
    b = ModelBuilder()
    for _ in range(2):
        b.add_custom_attribute(Attribute("frame", wp.mat33, Frequency.BODY, default=np.eye(3)))
    with pytest.raises(ValueError, match="frame"):
        b.add_custom_attribute(Attribute("frame", wp.mat33, Frequency.BODY, default=2 * np.eye(3)))


def test_numbers_that_are_not_finite():
    b = ModelBuilder()
    b.add_custom_attribute(Attribute("heat", wp.float32, Frequency.BODY, namespace="my"))
    b.add_body(label="arm", mass=1.0, inertia=np.eye(3), custom_attributes={"my:heat": np.nan})
    with pytest.raises(ValueError, match=r"'arm'.*heat.*nan"):
        b.finalize(device="cpu")

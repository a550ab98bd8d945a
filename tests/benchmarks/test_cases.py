"""The cases: their parameters are those of the design, and every one builds and hangs free for as long as it is timed."""

import dataclasses

import numpy as np
import pytest

import hooke
from benchmarks import twist
from benchmarks.cases import CASES, GRAVITY, SCALING, find_case
from benchmarks.contact import measure_self_contact
from benchmarks.engines import WAYS, build_engine
from benchmarks.scene import export_model, fill_builder
from benchmarks.strain import measure_strain
from benchmarks.twist import RATE

EVERY = [*CASES.values(), *(case for family in SCALING.values() for case in family)]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_nothing_reaches_the_ground_while_it_is_timed(case):
    """A tip falls no deeper than a beam that turns about its fixed end, 3/2 of free fall; it starts at 4 m or 1 m."""
    fall = 0.75 * GRAVITY * (case.total_steps * case.dt) ** 2
    assert fall < (0.85 if case.kind == "soft" else 3.9)


def test_families_span_what_they_promise():
    assert [SCALING["cloth"][i].vertices for i in (0, -1)] == [1089, 1_002_001]
    assert [SCALING["soft"][i].vertices for i in (0, -1)] == [1000, 250_047]


@pytest.mark.parametrize("name", ["cloth_64", "cloth_64_bending", "soft_8"])
def test_a_case_builds(name):
    case = dataclasses.replace(find_case(name), n=4)
    builder = hooke.ModelBuilder()
    fill_builder(builder, case)
    arrays = export_model(builder.finalize(device="cpu"))
    mass = arrays["particle_mass"]
    assert len(mass) == case.vertices
    assert len(arrays["tri_indices" if case.kind == "cloth" else "tet_indices"]) == case.elements
    assert int((mass == 0.0).sum()) == 5 ** (1 if case.kind == "cloth" else 2)  # one side is held
    assert np.allclose(mass[mass > 0.0], 25.6 if case.kind == "cloth" else 1.0)
    if case.kind == "cloth":
        x = arrays["particle_q"]
        assert np.allclose(np.ptp(x, axis=0), (6.4, 6.4, 0.0), atol=1e-5)
        assert (arrays["edge_bending_properties"][:, 0] == case.edge_ke).all()


def test_self_contact_is_that_of_the_design():
    for n in (64, 128):
        case = find_case(f"cloth_{n}_self")
        assert (case.contact_distance, case.contact_gap, case.edge_ke) == (1.28 / n, 0.64 / n, 10.0)
        assert dataclasses.replace(case, name=f"cloth_{n}_bending", contact_distance=0.0, contact_gap=0.0) == find_case(
            f"cloth_{n}_bending"
        )
    twist = find_case("cloth_twist")
    assert (twist.vertices, twist.iterations, twist.contact_distance, twist.reach) == (2500, 4, 2e-3, 3.5e-3)


def test_the_twist_turns_what_is_held():
    case = dataclasses.replace(find_case("cloth_twist"), n=4, start="", contact_distance=0.0)
    engine = build_engine("hooke", case)
    held = engine.export()["particle_mass"] == 0.0
    assert held.sum() == 10
    rest = engine.state()[0]
    for _ in range(60):
        engine.step()
    engine.move_held()
    x = engine.state()[0]
    angle = RATE * 60 * case.dt * np.sign(rest[held, 0])
    assert np.allclose(x[held, 1], rest[held, 1] * np.cos(angle), atol=1e-6)
    assert np.allclose(x[held, 2] - 4.0, rest[held, 1] * np.sin(angle), atol=1e-6)
    assert np.abs(x[~held, 2] - 4.0).max() > 0.01


def test_a_stored_state_is_where_a_case_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(twist, "FOLDER", tmp_path)
    tiny = dataclasses.replace(find_case("cloth_twist"), n=3, contact_distance=0.0)
    monkeypatch.setattr(twist, "find_case", lambda name: tiny)
    twist.store_start("hooke", 2)
    x, v, steps = twist.load_start(tiny)
    engine = build_engine("hooke", tiny)
    assert steps == 20 == engine.twist.steps
    assert np.array_equal(engine.state()[0], x) and np.array_equal(engine.state()[1], v)
    engine.step()
    other = build_engine("hooke", dataclasses.replace(tiny, start=""))
    for _ in range(21):
        other.step()
    assert np.allclose(engine.state()[0], other.state()[0], atol=1e-5)


def test_the_stored_twist_is_a_rope_that_does_not_intersect_itself():
    case = find_case("cloth_twist")
    builder = hooke.ModelBuilder()
    fill_builder(builder, case)
    model = export_model(builder.finalize(device="cpu"))
    x, v, steps = twist.load_start(case)
    assert x.shape == v.shape == (case.vertices, 3) and steps == 2500
    assert measure_strain(model, x).largest < case.strain_bound
    contact = measure_self_contact(model["tri_indices"], x, case.reach)
    assert contact.intersections == 0 and contact.near.mean() > 0.5
    moved = x.copy()
    twist.Twist(model["particle_q"], model["particle_mass"] == 0.0, steps - 1, case.dt).move(moved)
    assert np.abs(moved - x).max() < 1e-5  # the state at the end of the last step, which began a step before


def test_unknown_names_are_refused_with_a_list():
    with pytest.raises(KeyError, match="cloth_64_bending"):
        find_case("cloth")


def test_hooke_has_no_other_way():
    assert WAYS["hooke"] == ("plain",)
    engine = build_engine("hooke", dataclasses.replace(find_case("cloth_64"), n=2))
    with pytest.raises(ValueError, match="plain"):
        engine.start_graph()

"""The cases: their parameters are those of the design, and every one builds and hangs free for as long as it is timed."""

import dataclasses

import numpy as np
import pytest

import hooke
from benchmarks.cases import CASES, GRAVITY, SCALING, find_case
from benchmarks.engines import WAYS, build_engine
from benchmarks.scene import export_model, fill_builder

EVERY = [*CASES.values(), *(case for family in SCALING.values() for case in family)]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_nothing_reaches_the_ground_while_it_is_timed(case):
    """A tip falls no deeper than a beam that turns about its fixed end, 3/2 of free fall; it starts at 4 m or 1 m."""
    fall = 0.75 * GRAVITY * (case.total_steps * case.dt) ** 2
    assert fall < (3.9 if case.kind == "cloth" else 0.85)


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


def test_unknown_names_are_refused_with_a_list():
    with pytest.raises(KeyError, match="cloth_64_bending"):
        find_case("cloth")


def test_hooke_has_no_other_way():
    assert WAYS["hooke"] == ("plain",)
    engine = build_engine("hooke", dataclasses.replace(find_case("cloth_64"), n=2))
    with pytest.raises(ValueError, match="plain"):
        engine.start_graph()

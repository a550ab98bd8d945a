"""The residual: its forces are the derivatives of the reference energies, it agrees with the solver's, and iterations make it fall."""

import dataclasses

import numpy as np
import pytest

from benchmarks.cases import find_case
from benchmarks.engines import build_engine
from benchmarks.residual import _angle, elastic_gradient, measure_residual
from benchmarks.strain import clearance, list_edges, measure_strain
from tests.elements.reference import REFERENCES, gradient, wrapped

DT = 1.0 / 600.0


def arrays_of(name, n=3):
    engine = build_engine("hooke", dataclasses.replace(find_case(name), n=n))
    return {key: a.astype(np.float64) if a.dtype.kind == "f" else a for key, a in engine.export().items()}


def nodal(model, kind, material, indices, start, x):
    """The gradient of the reference energies of one kind, summed at the particles."""
    rest = model["particle_q"][indices]
    slopes = gradient(REFERENCES[kind](rest, material), x[indices], start[indices], DT)
    total = np.zeros_like(x)
    np.add.at(total, indices, slopes)
    return total


@pytest.mark.parametrize("name", ["cloth_64_bending", "soft_8"])
def test_forces_are_derivatives_of_the_reference_energies(name):
    model = arrays_of(name)
    rng = np.random.default_rng(3)
    cell = 6.4 / 3 if name.startswith("cloth") else 0.1
    start = model["particle_q"] + 0.1 * cell * rng.standard_normal(model["particle_q"].shape)
    x = start + 0.05 * cell * rng.standard_normal(start.shape)
    expected = np.zeros_like(x)
    if name.startswith("cloth"):
        model["edge_bending_properties"][:, 1] = 0.3
        expected += nodal(model, "tri", model["tri_materials"][:, :3], model["tri_indices"], start, x)
        hinges = (model["edge_indices"] >= 0).all(axis=1)
        expected += nodal(model, "edge", model["edge_bending_properties"][hinges], model["edge_indices"][hinges], start, x)
    else:
        expected += nodal(model, "tet", model["tet_materials"], model["tet_indices"], start, x)
    found = elastic_gradient("hooke", model, start, x, DT)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_particles_in_contact_are_left_out():
    model = arrays_of("cloth_64_bending")
    x, v = model["particle_q"], np.zeros_like(model["particle_q"])
    v[-1] = (0.0, 0.0, 5.0)
    whole = measure_residual("hooke", model, (x, v), (x, v), DT)
    left_out = np.zeros(len(x), bool)
    left_out[-1] = True
    partial = measure_residual("hooke", model, (x, v), (x, v), DT, left_out)
    assert partial.largest < whole.largest and np.isfinite(partial.rms)
    with pytest.raises(ValueError, match="left out"):
        measure_residual("hooke", model, (x, v), (x, v), DT, ~left_out | left_out)


def test_energies_of_engines_differ_where_documented():
    """The crushed term of a tetrahedron, and an angle beyond pi from rest, are hooke's alone."""
    soft = arrays_of("soft_8", 1)
    x = 0.5 * soft["particle_q"]
    assert not np.allclose(elastic_gradient("hooke", soft, x, x, DT), elastic_gradient("newton", soft, x, x, DT))
    assert np.allclose(*(elastic_gradient(engine, soft, y, y, DT) for engine in ("hooke", "newton") for y in (soft["particle_q"],)))
    cloth = arrays_of("cloth_64_bending", 1)
    x = cloth["particle_q"]
    cloth["edge_rest_angle"] = np.full_like(cloth["edge_rest_angle"], -3.5)
    folded, plain = (elastic_gradient(engine, cloth, x, x, DT) for engine in ("hooke", "newton"))
    inner = (cloth["edge_indices"] >= 0).all(axis=1)
    theta, slopes = _angle(x[cloth["edge_indices"][inner]])
    assert inner.sum() == 1 and theta[0] == pytest.approx(0.0, abs=1e-6)
    scale = cloth["edge_rest_length"][inner][0] * 10.0 * np.abs(slopes).max()
    assert np.abs(plain).max() == pytest.approx(3.5 * scale)
    assert np.abs(folded).max() == pytest.approx(abs(wrapped(3.5)) * scale)


def step_residual(name, iterations):
    """Residual of a step, by this package and by the solver, both over the weight of a particle."""
    case = dataclasses.replace(find_case(name), n=40 if name.startswith("cloth") else 8)
    engine = build_engine("hooke", case)
    for _ in range(30):
        engine.step()
    engine.solver.iterations = iterations
    before = engine.state()
    engine.step()
    model = engine.export()
    weight = 9.81 * np.sqrt(np.mean(model["particle_mass"][model["particle_mass"] > 0.0] ** 2))
    return measure_residual("hooke", model, before, engine.state(), case.dt), engine.solver.status.residual / weight


@pytest.mark.parametrize("name", ["cloth_64", "cloth_64_bending", "soft_8"])
def test_iterations_make_it_fall(name):
    few, theirs = step_residual(name, 1)
    assert few.largest <= theirs * 1.001 and few.largest > 0.5 * theirs  # a component and a length of the same vector
    assert few.drift < 1e-6
    many, _ = step_residual(name, 200)
    assert many.largest < 5e-3 * few.largest and many.rms < 5e-3 * few.rms


def test_other_engines_have_none():
    with pytest.raises(KeyError, match="mujoco"):
        measure_residual("mujoco", {}, (np.zeros(1), np.zeros(1)), (np.zeros(1), np.zeros(1)), DT)


def test_strain_and_clearance_of_a_stretched_triangle():
    x = np.array([(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 2.0)])
    model = {"particle_q": x, "tri_indices": np.array([(0, 1, 2)]), "particle_radius": np.array([0.1, 0.2, 0.3])}
    assert list_edges(model).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert measure_strain(model, 1.1 * x).largest == pytest.approx(0.1)
    assert measure_strain(model, 1.1 * x).rms == pytest.approx(0.1)
    assert measure_strain(model, x * np.nan).largest == np.inf
    given = {"edges": np.array([(0, 1)]), "lengths": np.array([0.5])}
    assert measure_strain(given, x).largest == pytest.approx(1.0)
    assert clearance(model, x) == pytest.approx(0.8)

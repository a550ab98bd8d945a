"""Field report "inverted elements": a soft body gets its shape back, whatever was done to its vertices.

A cube of 30 cm, density 1000 kg/m^3, without gravity and contact; after 2 s its volume is right within 1 % and every det F > 0.
"""

import numpy as np
import pytest

from hooke import ModelBuilder
from tests.support import UPRIGHT, finalize, simulate

SIZE = 0.3
MATERIALS = {"mu = lambda": (5e4, 5e4), "nu = 0.45": (5e4, 4.5e5)}


def cube(cells, mu, lam):
    b = ModelBuilder(gravity=0.0)
    c = SIZE / cells
    b.add_soft_grid(
        pos=(-SIZE / 2,) * 3, rot=UPRIGHT, vel=(0, 0, 0), dim_x=cells, dim_y=cells, dim_z=cells, cell_x=c, cell_y=c, cell_z=c,
        density=1000.0, k_mu=mu, k_lambda=lam, k_damp=1.0,
    )  # fmt: skip
    return finalize(b)


def volumes(model, q):
    x = np.asarray(q, float)[model.tet_indices.numpy()]
    return np.linalg.det(np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)) / 6


def assert_recovers(cells, material, deform, iterations=50, seed=0):
    model = cube(cells, *MATERIALS[material])
    rest = model.particle_q.numpy().astype(float)
    state = model.state()
    state.particle_q.assign(deform(rest, np.random.default_rng(seed)).astype(np.float32))
    run = simulate(model, steps=200, dt=0.01, state=state, iterations=iterations)
    ratio = volumes(model, run.q) / volumes(model, rest)
    total = volumes(model, run.q).sum() / SIZE**3
    assert total == pytest.approx(1.0, abs=0.01), (
        f"volume {total:.4f} of that at rest, det F {ratio.min():.3f} to {ratio.max():.3f}"
    )
    assert ratio.min() > 0.0


def flattened(x, rng):
    return x * (1, 1, 0)


def squeezed(x, rng):
    return 0.1 * x


def turned_inside_out(x, rng):
    return x * (1, 1, -1)


def noisy(x, rng):
    """Every vertex is moved by up to 60 % of a cell each way: about a sixth of the tetrahedra are inverted."""
    return x + rng.uniform(-0.6, 0.6, size=x.shape) * SIZE / 2


def scrambled(x, rng):
    """Every vertex anywhere in the cube."""
    return rng.uniform(-SIZE / 2, SIZE / 2, size=x.shape)


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("cells", [1, 2])
def test_flattened_to_a_plane(material, cells):
    """All vertices at z = 0."""
    assert_recovers(cells, material, flattened)


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("cells", [1, 2])
def test_squeezed_to_a_thousandth(material, cells):
    """F = diag(0.1, 0.1, 0.1)."""
    assert_recovers(cells, material, squeezed)


@pytest.mark.parametrize("material", MATERIALS)
def test_noisy_vertices(material):
    """Vertices displaced at random by up to 60 % of a cell, two samples."""
    for seed in (0, 1):
        assert_recovers(2, material, noisy, seed=seed)


@pytest.mark.parametrize("material", MATERIALS)
def test_scrambled_vertices(material):
    """The 8 vertices of one cell at random places within the cube, three samples."""
    for seed in (0, 1, 3):
        assert_recovers(1, material, scrambled, seed=seed)


def test_turned_inside_out():
    """Mirrored, every tetrahedron inverted."""
    assert_recovers(2, "mu = lambda", turned_inside_out)


def test_the_samples_are_inverted():
    """What the tests start from is as bad as they say."""
    model = cube(2, 5e4, 5e4)
    x, rng = model.particle_q.numpy().astype(float), np.random.default_rng(0)
    start = volumes(model, x)
    assert (volumes(model, turned_inside_out(x, rng)) < 0).all()
    assert 0.1 < (volumes(model, noisy(x, rng)) < 0).mean() < 0.4
    np.testing.assert_allclose(volumes(model, squeezed(x, rng)) / start, 1e-3, rtol=1e-3)
    np.testing.assert_allclose(volumes(model, flattened(x, rng)), 0.0, atol=1e-12)

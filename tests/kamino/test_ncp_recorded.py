"""Problems recorded from other simulators (the collection of the Siconos project), where a checkout has them beside it."""

import numpy as np
import pytest

from benchmarks.friction_contact import NAMES, folder, read_problem
from hooke.solvers.kamino.ncp.solve import solve_ncp
from tests.kamino.ncp_problems import project_cone

LARGE = ("Capsules-i100-889", "Confeti-ex13-Fc3D-SBM")
SMALL = tuple(name for name in NAMES if name not in LARGE)

pytestmark = pytest.mark.skipif(folder() is None, reason="the recorded problems are not there")


def natural_map(W, q, mu, r):
    """max |r - P(r - u - s)|, components (normal, tangent, tangent)."""
    u = (W @ r.reshape(-1) + q).reshape(-1, 3)
    u[:, 0] += mu * np.hypot(u[:, 1], u[:, 2])
    return max(np.abs(x - project_cone((x - v)[[1, 2, 0]], m)[[2, 0, 1]]).max() for x, v, m in zip(r, u, mu))


@pytest.mark.parametrize("name", SMALL)
def test_small_recorded_problem(name):
    check(name, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bound"), list(zip(LARGE, (1e-6, 1e-8))))
def test_large_recorded_problem(name, bound):
    """321 rows; 828 rows with a matrix of rank 549."""
    check(name, bound)


def check(name, bound):
    W, q, mu = read_problem(name)
    found = solve_ncp(W, q, mu)
    residual = natural_map(W, q, mu, found.impulses)
    told = f"{name}: {len(q)} rows, {found.status['newton_steps']} Newton steps, {found.status['iterations']} iterations, {residual:.1e}"
    print(told)
    assert residual < bound, told
    assert found.status["converged"] == 1, told
    assert found.residual == pytest.approx(residual, rel=1e-3, abs=0.1 * bound)


def test_names_are_those_of_the_folder():
    assert sorted(NAMES) == sorted(path.stem for path in folder().glob("*.npz"))

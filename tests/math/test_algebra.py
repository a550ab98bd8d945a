"""The algebra of blocks against NumPy in float64, in both kinds of numbers."""

from typing import Any

import numpy as np
import pytest
import warp as wp

from hooke.math import add, apply, constant, cross, div, dot, isotropic, mul, norm, outer, solve, sub, symmetric

KINDS = {"float32": (wp.float32, wp.vec3, np.float32), "float64": (wp.float64, wp.vec3d, np.float64)}


@wp.func
def unpack(entries: wp.array2d(dtype=Any), i: int):
    return symmetric(entries[i, 0], entries[i, 1], entries[i, 2], entries[i, 3], entries[i, 4], entries[i, 5])


@wp.kernel(enable_backward=False)
def evaluate(
    entries: wp.array2d(dtype=Any), v: wp.array(dtype=Any), solved: wp.array(dtype=Any), applied: wp.array(dtype=Any),
    combined: wp.array(dtype=Any), turned: wp.array(dtype=Any), scalars: wp.array2d(dtype=Any),
):  # fmt: skip
    """For a block A, a vector v and its neighbour w: A^-1 v, A v, ((2 v v^T + 3 I - A) / 2) w, v x w, (v.w, |v|)."""
    i = wp.tid()
    a = unpack(entries, i)
    w = v[(i + 1) % v.shape[0]]
    two = constant(2.0, a.xx)
    solved[i] = solve(a, v[i])
    applied[i] = apply(a, v[i])
    combined[i] = apply((two * outer(v[i]) + isotropic(constant(3.0, a.xx)) - a) / two, w)
    turned[i] = cross(v[i], w)
    scalars[i, 0] = dot(v[i], w)
    scalars[i, 1] = norm(v[i])


def run(kind, matrices, v):
    """Evaluate on ``matrices`` (n, 3, 3) and ``v`` (n, 3), rounded to the kind of number."""
    scalar, vector, numpy = KINDS[kind]
    entries = np.stack([matrices[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], axis=1)
    n = len(v)
    out = [wp.zeros(n, dtype=vector, device="cpu") for _ in range(4)]
    scalars = wp.zeros((n, 2), dtype=scalar, device="cpu")
    inputs = [wp.array(entries.astype(numpy), dtype=scalar, device="cpu"), wp.array(v.astype(numpy), dtype=vector, device="cpu")]
    wp.launch(evaluate, dim=n, inputs=inputs, outputs=[*out, scalars], device="cpu")
    return [a.numpy().astype(np.float64) for a in (*out, scalars)]


def relative(found, wanted):
    return np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted, axis=1)


def random_blocks(rng, count, condition):
    """Random SPD blocks with eigenvalues from 1 to ``condition``, as both kinds of numbers represent them."""
    q, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    values = condition ** rng.uniform(size=(count, 3))
    blocks = np.einsum("nij,nj,nkj->nik", q, values, q)
    return (0.5 * (blocks + blocks.swapaxes(1, 2))).astype(np.float32).astype(np.float64)


def single(values):
    """As float32 holds them, so that both kinds are given the same numbers."""
    return values.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 3e-5), ("float64", 1e-13)])
def test_solve_equals_numpy_on_spd_blocks(kind, tolerance):
    rng = np.random.default_rng(1)
    a, v = random_blocks(rng, 2000, 50.0), single(rng.normal(size=(2000, 3)))
    assert relative(run(kind, a, v)[0], np.linalg.solve(a, v[..., None])[..., 0]).max() < tolerance


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_solve_does_not_depend_on_the_unit(scale):
    """Blocks of light particles or stiff contacts are far from 1: no absolute threshold may decide."""
    rng = np.random.default_rng(2)
    a, v = random_blocks(rng, 200, 50.0), single(rng.normal(size=(200, 3)))
    x = run("float32", a * scale, v)[0] * scale
    assert relative(x, np.linalg.solve(a, v[..., None])[..., 0]).max() < 3e-5


@pytest.mark.parametrize(("kind", "stiff", "tolerance"), [
    ("float32", 1e4, 1e-2), ("float32", 1e5, 1e-2), ("float64", 1e4, 1e-10), ("float64", 1e5, 1e-9),
])  # fmt: skip
def test_one_stiff_direction_does_not_spoil_the_soft_ones(kind, stiff, tolerance):
    """I + R n n^T, as a contact or a stiff spring on a light particle makes it (theory notes, section 10.2).

    The rounding of the matrix to float32 alone costs about 7e-5 at R = 1e4 and 7e-4 at 1e5 (median); an inverse by cofactors loses
    all digits at 1e5.
    """
    rng = np.random.default_rng(3)
    n = rng.normal(size=(2000, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    v = single(rng.normal(size=(2000, 3)))
    a = np.eye(3) + stiff * np.einsum("ni,nj->nij", n, n)
    error = relative(run(kind, a, v)[0], np.linalg.solve(a, v[..., None])[..., 0])
    assert error.max() < tolerance
    assert np.median(error) < 0.2 * tolerance


@pytest.mark.parametrize("kind", KINDS)
def test_singular_blocks_move_by_a_bounded_amount(kind):
    """Blocks of rank 0, 1 and 2: the step is finite and bounded by |b| / trace, and exact where the block resists.

    The bound: 1e7 from the least pivot, and up to 1e4 from the elimination, which does not exchange rows.
    """
    rng = np.random.default_rng(4)
    n = rng.normal(size=(600, 3, 2))
    n[:100, :, 1] = 0.0  # rank 1
    n[100:110] = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])  # along an axis
    n[110:120] = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    n[120:130] = 0.0
    a = single(np.einsum("nik,njk->nij", n, n))
    v = rng.normal(size=(600, 3))
    x = run(kind, a, v)[0]
    assert np.isfinite(x).all()
    trace = np.trace(a, axis1=1, axis2=2)
    held = trace > 0.0
    growth = np.linalg.norm(x, axis=1)[held] * trace[held] / np.linalg.norm(v, axis=1)[held]
    assert growth.max() < 1e12
    inside = single(np.einsum("nij,nj->ni", a, v))
    x = run(kind, a[130:], inside[130:])[0]
    back = np.einsum("nij,nj->ni", a[130:], x)
    assert np.median(relative(back, inside[130:])) < 1e-4


@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 2e-6), ("float64", 1e-14)])
def test_products_and_sums_equal_numpy(kind, tolerance):
    rng = np.random.default_rng(5)
    a, v = random_blocks(rng, 500, 10.0), single(rng.normal(size=(500, 3)))
    w = np.roll(v, -1, axis=0)
    _, applied, combined, turned, scalars = run(kind, a, v)

    def close(found, wanted, scale):
        assert np.abs(found - wanted).max() <= tolerance * scale

    close(applied, np.einsum("nij,nj->ni", a, v), np.abs(a).max() * np.abs(v).max())
    block = (2.0 * np.einsum("ni,nj->nij", v, v) + 3.0 * np.eye(3) - a) / 2.0
    close(combined, np.einsum("nij,nj->ni", block, w), np.abs(block).max() * np.abs(w).max())
    close(turned, np.cross(v, w), np.abs(v).max() ** 2)
    close(scalars, np.stack([(v * w).sum(1), np.linalg.norm(v, axis=1)], axis=1), np.abs(v).max() ** 2)

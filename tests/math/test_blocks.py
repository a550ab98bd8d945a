"""Elimination by blocks against NumPy: quasi-definite systems of chains, branches and loops, in any order of columns."""

import numpy as np
import pytest
import warp as wp

from hooke.math.blocks import Rows, eliminate_column, solve_block, substitute_back


@wp.kernel(enable_backward=False)
def solve_columns(
    count: int, block: wp.array(dtype=int), row: wp.array(dtype=int), pair: wp.array(dtype=int), target: wp.array(dtype=int),
    side: wp.array(dtype=int), diagonal: wp.array(dtype=Rows), lower: wp.array(dtype=Rows),
    scaled: wp.array(dtype=Rows), solution: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    for n in range(count):
        eliminate_column(n, block[n], block[n + 1], pair[n], row, target, side, diagonal, lower, scaled, solution)
    for back in range(count):
        n = count - 1 - back
        substitute_back(n, block[n], block[n + 1], row, side, lower, scaled, solution)


@wp.kernel(enable_backward=False)
def solve_blocks(m: wp.array(dtype=wp.spatial_matrix), b: wp.array(dtype=wp.spatial_vector), x: wp.array(dtype=wp.spatial_vector)):
    i = wp.tid()
    x[i] = solve_block(m[i], b[i])


def random_blocks(rng, count):
    """Symmetric blocks with eigenvalues from 1 to 1000."""
    q = np.linalg.qr(rng.normal(size=(count, 6, 6)))[0]
    return q @ (10.0 ** rng.uniform(0.0, 3.0, (count, 6, 1)) * np.swapaxes(q, 1, 2))


def compare(sides, couplings, scale=1.0):
    """Solutions by blocks and by NumPy of a random system with ``couplings`` between columns (earlier, later)."""
    count = len(sides)
    rng = np.random.default_rng(count)
    sign = np.where(np.asarray(sides) < 0, -1.0, 1.0)
    d, b = random_blocks(rng, count), rng.normal(size=(count, 6))
    blocks = {pair: (0.03 if sign[pair[0]] == sign[pair[1]] else 1.0) * rng.normal(size=(6, 6)) for pair in couplings}
    whole = np.zeros((count, 6, count, 6))
    for n in range(count):
        whole[n, :, n] = sign[n] * d[n]
    for (j, i), value in blocks.items():
        whole[i, :, j], whole[j, :, i] = value, value.T
    rows = [sorted(i for j, i in couplings if j == n) for n in range(count)]
    for n in range(count):  # what elimination fills in
        for k, i in enumerate(rows[n]):
            rows[i] = sorted({*rows[i], *rows[n][k + 1 :]})
    place = {pair: k for k, pair in enumerate((n, i) for n in range(count) for i in rows[n])}
    pairs = [[place[r[f], r[e]] for e in range(len(r)) for f in range(e)] for r in rows]
    lower, diagonal = np.zeros((len(place), 6, 8)), np.zeros((count, 6, 8))
    for pair, value in blocks.items():
        lower[place[pair], :, :6] = value.T
    diagonal[:, :, :6], diagonal[:, :, 6] = d, b
    starts = [np.cumsum([0, *map(len, group)]) for group in (rows, pairs)]
    flat = [[x for r in group for x in r] or [0] for group in (rows, pairs)]
    indices = [wp.array(np.asarray(x), dtype=wp.int32, device="cpu") for x in (starts[0], flat[0], starts[1], flat[1], sides)]
    arrays = [wp.array(scale * x, dtype=Rows, device="cpu") for x in (diagonal, lower, 0.0 * lower)]
    found = wp.zeros(count, dtype=wp.spatial_vector, device="cpu")
    wp.launch(solve_columns, dim=1, inputs=[count, *indices, *arrays], outputs=[found], device="cpu")
    return found.numpy(), np.linalg.solve(whole.reshape(6 * count, -1), b.reshape(-1)).reshape(count, 6)


SYSTEMS = {
    "tree": ([0, 0, -1, -1, 0, -1, 0], [(0, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6)]),
    "loop": ([0, -1, 0, -1, 0, -1], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]),
    "ladder": ([0, 0, -1, 0, -1, -1, 0, 0], [(0, 2), (0, 4), (0, 5), (1, 2), (1, 7), (2, 3), (3, 5), (4, 6), (5, 7)]),
    "bodies": ([0, 0, 0], [(0, 1), (0, 2), (1, 2)]),
    "apart": ([0, -1], []),
}


@pytest.mark.parametrize("scale", [1.0, 1e-18, 1e18])
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_of_blocks(name, scale):
    """float32 and eigenvalues over three decades: 1e-4; in any units, also where products of two pivots leave the range of float32."""
    found, expected = compare(*SYSTEMS[name], scale)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
def test_single_blocks(scale):
    rng = np.random.default_rng(0)
    m, b = random_blocks(rng, 50), rng.normal(size=(50, 6))
    x = wp.zeros(50, dtype=wp.spatial_vector, device="cpu")
    inputs = [
        wp.array(scale * m, dtype=wp.spatial_matrix, device="cpu"),
        wp.array(scale * b, dtype=wp.spatial_vector, device="cpu"),
    ]
    wp.launch(solve_blocks, dim=50, inputs=inputs, outputs=[x], device="cpu")
    expected = np.linalg.solve(m, b[:, :, None])[:, :, 0]
    assert np.abs(x.numpy() - expected).max() < 1e-4 * np.abs(expected).max()


def test_a_direction_that_nothing_resists_moves_little():
    """A pivot of zero counts as 1e-7 of the diagonal it came from."""
    v = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    m = 2.0 * np.eye(6) - np.outer(v, v)  # resists nothing along v
    x = wp.zeros(1, dtype=wp.spatial_vector, device="cpu")
    inputs = [wp.array(m[None], dtype=wp.spatial_matrix, device="cpu"), wp.array(v[None], dtype=wp.spatial_vector, device="cpu")]
    wp.launch(solve_blocks, dim=1, inputs=inputs, outputs=[x], device="cpu")
    assert 1e6 < x.numpy()[0, 0] < 1e8 and np.allclose(x.numpy()[0, 2:], 0.0)

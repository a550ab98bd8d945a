"""Elimination in sparse matrices of blocks against NumPy: chains, trees, loops and redundant constraints."""

from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

from hooke.linalg.block_ldl import make_block_ldl, make_row, make_rows
from hooke.linalg.elimination import Patterns, find_elimination, make_patterns

TINY = 1.0e-8  # what stands for a compliance of zero


def make_kernel(scalar):
    functions = make_block_ldl(scalar)
    factor_blocks, solve_blocks, solve_eight = functions.factor, functions.solve, functions.solve_eight

    def solve_all(
        patterns: Patterns, diagonal: wp.array(dtype=make_rows(scalar)), lower: wp.array(dtype=make_rows(scalar)),
        x: wp.array(dtype=make_row(scalar)), eight: wp.array(dtype=make_rows(scalar)), order: wp.array(dtype=wp.int32),
    ):  # fmt: skip
        m = wp.tid()
        factor_blocks(m, patterns, diagonal, lower)
        solve_blocks(m, patterns, diagonal, lower, x)
        for k in range(patterns.size[patterns.kind[m]]):
            order[patterns.node[m] + k] = k
        solve_eight(m, patterns.node[m], patterns.node[m], patterns.size[patterns.kind[m]], order, patterns, diagonal, lower, eight)

    solve_all.__qualname__ += scalar.__name__
    return wp.kernel(solve_all, enable_backward=False, module="unique")


KERNELS = {scalar: make_kernel(scalar) for scalar in (wp.float64, wp.float32)}


def mechanism(bodies, joints):
    """Masses and constraints of joints between bodies, -1 for the ground."""
    count = bodies + len(joints)
    couplings = [(b, bodies + j) for j, pair in enumerate(joints) for b in pair if b >= 0]
    return SimpleNamespace(bodies=bodies, joints=joints, count=count, couplings=couplings)


SYSTEMS = {
    "chain": mechanism(4, [(-1, 0), (0, 1), (1, 2), (2, 3)]),
    "tree": mechanism(6, [(-1, 0), (0, 1), (0, 2), (2, 3), (2, 4), (0, 5)]),
    "floating loop": mechanism(4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "grounded loops": mechanism(5, [(-1, 0), (0, 1), (1, 2), (2, -1), (1, 3), (3, 4), (4, -1)]),
    "bodies alone": mechanism(3, []),
}


def blocks_of(system, rng, locked=5):
    """The dense matrix, and its blocks by (row node, column node); every joint locks some of its rows and leaves the others out."""
    n, b = system.count, system.bodies
    blocks = {}
    for i in range(b):
        q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        blocks[i, i] = q * 10.0 ** rng.uniform(-1.0, 1.0, 6) @ q.T
    for j, pair in enumerate(system.joints):
        c = np.full(6, TINY)
        c[locked:] = 1.0
        blocks[b + j, b + j] = -np.diag(c)
        for body in pair:
            if body >= 0:
                rates = rng.normal(size=(6, 6))
                rates[locked:] = 0.0
                blocks[b + j, body] = rates
    whole = np.zeros((n, 6, n, 6))
    for (i, j), block in blocks.items():
        whole[i, :, j], whole[j, :, i] = block, block.T
    return whole.reshape(6 * n, 6 * n), blocks


def stored(elimination, blocks, scalar):
    """Blocks where the elimination wants them."""
    diagonal = np.zeros((len(elimination.order), 6, 8))
    lower = np.zeros((len(elimination.row), 6, 8))
    for (i, j), block in blocks.items():
        if i == j:
            diagonal[elimination.place[i], :, :6] = block
        else:
            e, of_second = elimination.block(i, j)
            lower[e, :, :6] = block.T if of_second else block
    return diagonal, lower


def run(scalar, eliminations, kind, parts):
    """Solutions of one right side and of eight, of matrices one after the other, for the parts (diagonal, lower, x, eight) of each."""
    patterns = make_patterns(eliminations, np.asarray(kind), "cpu")
    types = (make_rows(scalar), make_rows(scalar), make_row(scalar), make_rows(scalar))
    joined = [np.concatenate([part[i] for part in parts]) for i in range(4)]
    dtype = np.float64 if scalar is wp.float64 else np.float32
    arrays = [wp.array(np.ascontiguousarray(a, dtype=dtype), dtype=t, device="cpu") for a, t in zip(joined, types, strict=True)]
    wp.launch(
        KERNELS[scalar],
        dim=len(kind),
        inputs=[patterns],
        outputs=[*arrays, wp.zeros(len(joined[0]), dtype=wp.int32, device="cpu")],
        device="cpu",
    )
    return arrays[2].numpy()[:, :6].astype(np.float64), arrays[3].numpy()[:, :6].astype(np.float64)


def prepare(name, seed, scalar):
    system, rng = SYSTEMS[name], np.random.default_rng(seed)
    whole, blocks = blocks_of(system, rng)
    elimination = find_elimination(system.count, system.couplings, range(system.bodies, system.count))
    right = rng.normal(size=(system.count, 6, 9))
    x = np.zeros((system.count, 8))
    x[:, :6] = right[:, :, 8]
    return whole, elimination, right, (*stored(elimination, blocks, scalar), x[elimination.order], right[elimination.order, :, :8])


@pytest.mark.parametrize("name", SYSTEMS)
def test_solutions_are_those_of_numpy(name):
    whole, elimination, right, parts = prepare(name, 3, wp.float64)
    one, eight = run(wp.float64, [elimination], [0], [parts])
    expected = np.linalg.solve(whole, right.reshape(-1, 9)).reshape(right.shape)
    scale = np.abs(expected).max()
    assert np.abs(one[elimination.place] - expected[:, :, 8]).max() < 1e-15 * scale * max(1e3, np.linalg.cond(whole))
    assert np.abs(eight[elimination.place] - expected[:, :, :8]).max() < 1e-15 * scale * max(1e3, np.linalg.cond(whole))


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_float32(name):
    whole, elimination, right, parts = prepare(name, 3, wp.float32)
    one, _eight = run(wp.float32, [elimination], [0], [parts])
    expected = np.linalg.solve(whole, right[:, :, 8].reshape(-1)).reshape(-1, 6)
    assert np.abs(one[elimination.place] - expected).max() < 2e-3 * np.abs(expected).max()


def test_matrices_of_several_kinds():
    names = ["tree", "chain", "tree"]
    made = [prepare(name, seed, wp.float64) for seed, name in enumerate(names)]
    one, _eight = run(wp.float64, [made[0][1], made[1][1]], [0, 1, 0], [m[3] for m in made])
    start = 0
    for whole, elimination, right, _parts in made:
        expected = np.linalg.solve(whole, right[:, :, 8].reshape(-1)).reshape(-1, 6)
        found = one[start : start + len(expected)][elimination.place]
        start += len(expected)
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_redundant_rows_share_what_they_hold():
    """The same joint twice: velocities are those of one, and the constraint holds to the compliance."""
    rng = np.random.default_rng(5)
    single, double = mechanism(2, [(-1, 0), (0, 1)]), mechanism(2, [(-1, 0), (0, 1), (0, 1)])
    blocks = blocks_of(single, rng)[1]
    twice = {**blocks, (4, 4): blocks[3, 3], (4, 0): blocks[3, 0], (4, 1): blocks[3, 1]}
    results = []
    for system, values in ((single, blocks), (double, twice)):
        elimination = find_elimination(system.count, system.couplings, range(2, system.count))
        x = np.zeros((system.count, 8))
        x[:2, :6] = np.arange(12).reshape(2, 6)
        parts = (*stored(elimination, values, wp.float64), x[elimination.order], np.zeros((system.count, 6, 8)))
        results.append(run(wp.float64, [elimination], [0], [parts])[0][elimination.place])
    assert np.abs(results[1][:2] - results[0][:2]).max() < 1e-6
    assert np.allclose(results[1][3] + results[1][4], results[0][3], atol=1e-6)
    assert np.abs(blocks[3, 0] @ results[1][0] + blocks[3, 1] @ results[1][1])[:5].max() < 1e-6


def test_a_tree_fills_in_nothing():
    system = SYSTEMS["tree"]
    elimination = find_elimination(system.count, system.couplings, range(system.bodies, system.count))
    assert len(elimination.row) == len(system.couplings)


def test_constraints_wait_for_what_they_hold():
    """In a loop a joint may be eliminated only when both its bodies are."""
    system = SYSTEMS["floating loop"]
    elimination = find_elimination(system.count, system.couplings, range(4, 8))
    assert sorted(elimination.order[:4].tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_coupling_has_a_block(name):
    system = SYSTEMS[name]
    elimination = find_elimination(system.count, system.couplings, range(system.bodies, system.count))
    assert sorted(elimination.order.tolist()) == list(range(system.count))
    for a, b in system.couplings:
        e, of_second = elimination.block(a, b)
        column = int(np.searchsorted(elimination.column, e, side="right")) - 1
        assert {elimination.order[column], elimination.order[elimination.row[e]]} == {a, b}
        assert (elimination.order[column] == b) == of_second

"""The algebra of lanes against NumPy in float64, from 1e-18 to 1e18 and at zero."""

import numpy as np
import pytest
import warp as wp

from hooke.execution.flags import lane_options
from hooke.math import (
    LANES,
    IndexLanes,
    Lanes,
    add,
    angle,
    apply,
    constant,
    cross,
    div,
    dot,
    exact_angle,
    gather_vectors,
    isotropic,
    larger,
    load_vectors,
    mul,
    neg,
    norm,
    outer,
    root,
    rounded,
    select,
    smaller,
    solve,
    spread,
    store_vectors,
    sub,
    symmetric,
    unit_scale,
    vector,
)
from hooke.math.algebra import reciprocal

from .test_algebra import random_blocks, relative, single

wp.set_module_options(lane_options())

GROUPS = 256
EXACT = ("sum", "difference", "product", "negative", "root", "larger", "smaller", "selected", "scaled", "spread", "rounded")
NAMES = (*EXACT, "quotient", "angle", "exact_angle", "unit_scale", "reciprocal")


@wp.kernel(enable_backward=False)
def evaluate(a: wp.array(dtype=Lanes), b: wp.array(dtype=Lanes), c: wp.array(dtype=Lanes), s: float, out: wp.array2d(dtype=Lanes)):
    """The columns of ``NAMES``."""
    i = wp.tid()
    size = larger(a[i], neg(a[i]))
    out[i, 0] = a[i] + b[i]
    out[i, 1] = a[i] - b[i]
    out[i, 2] = a[i] * b[i]
    out[i, 3] = neg(a[i])
    out[i, 4] = root(size)
    out[i, 5] = larger(a[i], b[i])
    out[i, 6] = smaller(a[i], b[i])
    out[i, 7] = select(c[i], a[i], b[i])
    out[i, 8] = s * a[i]
    out[i, 9] = spread(s)
    out[i, 10] = rounded(a[i] * b[i]) - rounded(c[i] * a[i])
    out[i, 11] = a[i] / b[i]
    out[i, 12] = angle(a[i], b[i])
    out[i, 13] = exact_angle(a[i], b[i])
    out[i, 14] = unit_scale(size)
    out[i, 15] = reciprocal(b[i])


def lanes(values):
    """Rows of 16 from the last axis."""
    values = np.ascontiguousarray(values, np.float32)
    return wp.array(values.reshape(*values.shape[:-1], -1, LANES), dtype=Lanes, device="cpu")


def run(a, b, c, s=0.3):
    """The results by name, shape (n,)."""
    out = wp.zeros((len(a) // LANES, len(NAMES)), dtype=Lanes, device="cpu")
    wp.launch(evaluate, dim=len(a) // LANES, inputs=[lanes(a), lanes(b), lanes(c), s], outputs=[out], device="cpu")
    return dict(zip(NAMES, out.numpy().transpose(1, 0, 2).reshape(len(NAMES), -1), strict=True))


@pytest.fixture(scope="module")
def numbers():
    """Numbers of both signs from 1e-18 to 1e18; among a and c are zeros, and half of c are b."""
    rng = np.random.default_rng(1)
    a, b, c = (rng.choice((-1.0, 1.0), (3, GROUPS * LANES)) * 10.0 ** rng.uniform(-18, 18, (3, GROUPS * LANES))).astype(np.float32)
    a[:64], a[64:128], c[:32] = b[:64], 0.0, 0.0
    c[1::2] = b[1::2]
    return a, b, c


@pytest.fixture(scope="module")
def results(numbers):
    return run(*numbers)


@pytest.mark.parametrize("name", EXACT)
def test_single_operations_are_rounded_once(name, numbers, results):
    """Float64 holds these results, or so many more digits of them that rounding again to float32 changes nothing."""
    a, b, c = (v.astype(np.float64) for v in numbers)
    s = float(np.float32(0.3))
    wanted = {
        "sum": a + b, "difference": a - b, "product": a * b, "negative": -a, "root": np.sqrt(np.abs(a)), "larger": np.maximum(a, b),
        "smaller": np.minimum(a, b), "selected": np.where(c > 0.0, a, b), "scaled": s * a, "spread": np.full_like(a, s),
        "rounded": single(a * b) - single(c * a),
    }[name]  # fmt: skip
    assert np.array_equal(results[name], wanted.astype(np.float32))


def test_equal_products_cancel(numbers, results):
    """A fused operation would leave the rounding of one of them."""
    a, b, c = numbers
    assert (results["rounded"][b == c] == 0.0).all() and (b == c).sum() > len(a) // 3


def test_quotients(numbers, results):
    """2e-7: the error of the reciprocal and a rounding."""
    a, b, _ = (v.astype(np.float64) for v in numbers)
    assert (np.abs(results["quotient"] - a / b) <= 2e-7 * np.abs(a / b)).all()
    assert (np.abs(results["reciprocal"] * b - 1.0) <= 1.5e-7).all()


def test_reciprocals_at_the_ends_of_the_range():
    """Zeros give infinity of their sign, numbers up to the largest and down to the denormal ones what a division gives."""
    ends = np.array([0.0, -0.0, 1e-45, -1e-45, 3e-39, -1e-38, 1e-30, 1e30, -1e38, 3.4e38, np.inf, -np.inf], np.float32)
    b = np.resize(ends, 2 * LANES)
    with np.errstate(divide="ignore", over="ignore"):
        wanted = np.float32(1.0) / b
    ones = np.ones_like(b)
    found = run(ones, b, ones)
    for name in ("reciprocal", "quotient"):
        finite = np.isfinite(wanted)
        assert np.array_equal(found[name][~finite], wanted[~finite])
        assert np.allclose(found[name][finite], wanted[finite], rtol=1e-6, atol=0.0)


def test_roots_at_the_ends_of_the_range():
    a = np.resize(np.array([0.0, 1e-45, 1e-38, 1e-30, 2.0, 1e38, 3.4e38, np.inf], np.float32), LANES)
    ones = np.ones_like(a)
    assert np.array_equal(run(a, ones, ones)["root"], np.sqrt(a))


def directions():
    """Points all around zero, on the axes and the diagonals too, of sizes from 1e-18 to 1e18, and pairs of unlike numbers."""
    rng = np.random.default_rng(2)
    n = GROUPS * LANES // 2
    t, size = np.linspace(-np.pi, np.pi, n), 10.0 ** rng.uniform(-18, 18, n)
    y, x = size * np.sin(t), size * np.cos(t)
    y[:9], x[:9] = (0, 0, 1, -1, 1, 1, -1, -1, 0), (1, -1, 0, 0, 1, -1, 1, -1, 0)
    unlike = rng.choice((-1.0, 1.0), (2, n)) * 10.0 ** rng.uniform(-18, 18, (2, n))
    return (np.concatenate([p, q]).astype(np.float32) for p, q in zip((y, x), unlike, strict=True))


def test_angle():
    """3e-7 rad in all quadrants and on the axes; small angles keep their digits."""
    y, x = directions()
    found, wanted = run(y, x, x)["angle"].astype(np.float64), np.arctan2(y.astype(np.float64), x.astype(np.float64))
    error = np.abs(found - wanted)
    assert error.max() < 3e-7
    small = (np.abs(y) < x) & (np.abs(wanted) > 1e-37)
    assert (error[small] <= 4e-7 * np.abs(wanted[small])).all() and small.sum() > 900


def test_exact_angle():
    """Rounded once from float64: another number than NumPy's only where the angle is within 1e-12 of the middle of two numbers."""
    y, x = directions()
    found, angles = run(y, x, x)["exact_angle"], np.arctan2(y.astype(np.float64), x.astype(np.float64))
    wanted = angles.astype(np.float32)
    middle = (found.astype(np.float64) + wanted) / 2.0
    neighbours = (np.nextafter(found, wanted) == wanted) & (np.abs(angles - middle) < 1e-12 * np.abs(angles))
    assert ((found == wanted) | neighbours).all()
    assert (found == wanted).mean() > 0.999


def test_unit_scale_is_a_power_of_two(numbers, results):
    size = np.abs(numbers[0])
    positive = size > 0.0
    scale = results["unit_scale"][positive]
    assert (np.frexp(scale)[0] == 0.5).all()
    product = scale * size[positive]
    assert (product >= 1.0).all() and (product < 2.0).all()


@wp.kernel(enable_backward=False)
def combine(entries: wp.array2d(dtype=Lanes), v: wp.array2d(dtype=Lanes), out: wp.array2d(dtype=Lanes)):
    """For a block A and vectors v, w: A^-1 v, A v, ((2 v v^T + 3 I - A) / 2) w, v x w - (-v) / 2, (v.w, |v|)."""
    i = wp.tid()
    a = symmetric(entries[0, i], entries[1, i], entries[2, i], entries[3, i], entries[4, i], entries[5, i])
    p = vector(v[0, i], v[1, i], v[2, i])
    w = vector(v[3, i], v[4, i], v[5, i])
    two = constant(2.0, a.xx)
    solved = solve(a, p)
    applied = apply(a, p)
    combined = apply((two * outer(p) + isotropic(constant(3.0, a.xx)) - a) / two, w)
    turned = cross(p, w) - neg(p) / two
    out[0, i] = solved.x
    out[1, i] = solved.y
    out[2, i] = solved.z
    out[3, i] = applied.x
    out[4, i] = applied.y
    out[5, i] = applied.z
    out[6, i] = combined.x
    out[7, i] = combined.y
    out[8, i] = combined.z
    out[9, i] = turned.x
    out[10, i] = turned.y
    out[11, i] = turned.z
    out[12, i] = dot(p, w)
    out[13, i] = norm(p)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_blocks_equal_numpy(scale):
    """The bounds are those of float32 in test_algebra; every lane has a block and vectors of its own."""
    rng = np.random.default_rng(3)
    n = 64 * LANES
    a, v, w = single(scale * random_blocks(rng, n, 50.0)), single(rng.normal(size=(n, 3))), single(rng.normal(size=(n, 3)))
    entries = [a[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    out = wp.zeros((14, n // LANES), dtype=Lanes, device="cpu")
    inputs = [lanes(np.stack(entries)), lanes(np.concatenate([v.T, w.T]))]
    wp.launch(combine, dim=n // LANES, inputs=inputs, outputs=[out], device="cpu")
    found = out.numpy().reshape(14, n).T.astype(np.float64)
    block = (2.0 * np.einsum("ni,nj->nij", v, v) + 3.0 * np.eye(3) - a) / 2.0
    size = np.abs(block).max(axis=(1, 2)) * np.abs(w).max(axis=1)
    assert relative(found[:, :3], np.linalg.solve(a, v[..., None])[..., 0]).max() < 3e-5
    assert np.abs(found[:, 3:6] - np.einsum("nij,nj->ni", a, v)).max() <= 2e-6 * np.abs(a).max() * np.abs(v).max()
    assert (np.abs(found[:, 6:9] - np.einsum("nij,nj->ni", block, w)).max(axis=1) <= 2e-6 * size).all()
    assert np.abs(found[:, 9:12] - (np.cross(v, w) + v / 2.0)).max() <= 2e-6 * np.abs(v).max() ** 2
    assert np.abs(found[:, 12] - (v * w).sum(axis=1)).max() <= 2e-6 * np.abs(v).max() ** 2
    assert np.abs(found[:, 13] / np.linalg.norm(v, axis=1) - 1.0).max() <= 2e-6


@wp.kernel(enable_backward=False)
def gather(x: wp.array(dtype=wp.vec3), index: wp.array(dtype=IndexLanes), out: wp.array2d(dtype=Lanes)):
    i = wp.tid()
    v = gather_vectors(x, index[i])
    out[0, i] = v.x
    out[1, i] = v.y
    out[2, i] = v.z


@wp.kernel(enable_backward=False)
def move_groups(x: wp.array(dtype=wp.vec3), moved: wp.array(dtype=wp.vec3)):
    g = wp.tid()
    v = load_vectors(x, g + 1)
    store_vectors(v.x, v.y, v.z, g, moved)


def index_lanes(index):
    return wp.array(index.reshape(-1, LANES).astype(np.int32), dtype=IndexLanes, device="cpu")


def test_gathered_vectors_are_those_of_the_array():
    """Any order, with repetitions, the first and the last; behind the last is room for one more, as a load needs."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(101, 3)).astype(np.float32)
    index = rng.integers(0, 100, 64 * LANES)
    index[:4] = (0, 99, 99, 0)
    out = wp.zeros((3, 64), dtype=Lanes, device="cpu")
    wp.launch(
        gather, dim=64, inputs=[wp.array(values, dtype=wp.vec3, device="cpu"), index_lanes(index)], outputs=[out], device="cpu"
    )
    assert np.array_equal(out.numpy().reshape(3, -1).T, values[index])


def test_groups_are_loaded_and_stored_whole():
    """Every group takes the place of the one before; what is behind the last is left as it was."""
    x = np.random.default_rng(5).normal(size=(9 * LANES, 3)).astype(np.float32)
    moved = wp.full(9 * LANES, wp.vec3(7.0, 8.0, 9.0), dtype=wp.vec3, device="cpu")
    wp.launch(move_groups, dim=8, inputs=[wp.array(x, dtype=wp.vec3, device="cpu")], outputs=[moved], device="cpu")
    assert np.array_equal(moved.numpy()[: 8 * LANES], x[LANES:])
    assert (moved.numpy()[8 * LANES :] == [7.0, 8.0, 9.0]).all()

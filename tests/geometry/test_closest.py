"""Nearest points of a triangle to a point and of two segments, as numbers and as lanes, against distances in float64."""

from typing import Any

import numpy as np
import pytest
import warp as wp

from hooke.execution.flags import lane_options
from hooke.geometry.closest import crossing, nearest_on_segments, nearest_on_triangle
from hooke.math import LANES, Lanes, spread, sub, vector

from .closest_reference import norm, point_triangle, segment_segment

wp.set_module_options(lane_options())
FLOATS = {np.float32: (wp.float32, wp.vec3), np.float64: (wp.float64, wp.vec3d)}
PARALLEL = 1e-5


@wp.kernel(enable_backward=False)
def evaluate(x: wp.array2d(dtype=Any), parallel: wp.array(dtype=Any), out: wp.array2d(dtype=Any)):
    """Of corners 0 to 3 the weights of a point and a triangle, then the places on two segments."""
    i = wp.tid()
    v, w = nearest_on_triangle(x[i, 0] - x[i, 1], x[i, 2] - x[i, 1], x[i, 3] - x[i, 1])
    s, t = nearest_on_segments(x[i, 0] - x[i, 2], x[i, 1] - x[i, 0], x[i, 3] - x[i, 2], parallel[0])
    out[i, 0] = v
    out[i, 1] = w
    out[i, 2] = s
    out[i, 3] = t


@wp.kernel(enable_backward=False)
def evaluate_lanes(x: wp.array2d(dtype=Lanes), parallel: float, out: wp.array2d(dtype=Lanes)):
    i = wp.tid()
    a = vector(x[i, 0], x[i, 1], x[i, 2])
    b = vector(x[i, 3], x[i, 4], x[i, 5]) - a
    c = vector(x[i, 6], x[i, 7], x[i, 8]) - a
    d = vector(x[i, 9], x[i, 10], x[i, 11]) - a
    zero = a - a
    v, w = nearest_on_triangle(zero - b, c - b, d - b)
    s, t = nearest_on_segments(zero - c, b, d - c, spread(parallel))
    out[i, 0] = v
    out[i, 1] = w
    out[i, 2] = s
    out[i, 3] = t


def weights(corners, kind):
    """v, w, s, t, shape (4, n), for corners (n, 4, 3) rounded to float32; ``kind`` is a float or "lanes"."""
    n = len(corners)
    if kind == "lanes":
        groups = -(-n // LANES)
        padded = np.zeros((groups * LANES, 12), np.float32)
        padded[:n] = np.asarray(corners, np.float32).reshape(n, 12)
        x = wp.array(np.ascontiguousarray(padded.reshape(groups, LANES, 12).transpose(0, 2, 1)), dtype=Lanes, device="cpu")
        out = wp.zeros((groups, 4), dtype=Lanes, device="cpu")
        wp.launch(evaluate_lanes, groups, inputs=[x, PARALLEL], outputs=[out], device="cpu")
        return out.numpy().transpose(1, 0, 2).reshape(4, -1)[:, :n].astype(np.float64)
    scalar, vec = FLOATS[kind]
    x = wp.array(np.asarray(corners, np.float32).astype(kind), dtype=vec, device="cpu")
    out = wp.zeros((n, 4), dtype=scalar, device="cpu")
    parallel = wp.array([PARALLEL], dtype=scalar, device="cpu")
    wp.launch(evaluate, n, inputs=[x, parallel], outputs=[out], device="cpu")
    return out.numpy().astype(np.float64).T


def errors(corners, kind):
    """By how much the distances at the weights differ from the least ones, for triangles and segments, and the weights."""
    x = np.asarray(corners, np.float32).astype(np.float64)
    v, w, s, t = found = weights(corners, kind)
    a, b, c, d = (x[:, k] for k in range(4))
    at_triangle = norm(a - b - v[:, None] * (c - b) - w[:, None] * (d - b))
    at_segments = norm(c - a + t[:, None] * (d - c) - s[:, None] * (b - a))
    return at_triangle - point_triangle(a, b, c, d), at_segments - segment_segment(a, b, c, d), found


KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64, "lanes"], ids=["float32", "float64", "lanes"])


def random_corners(rng, count, size=1.0):
    return rng.uniform(-size, size, (count, 4, 3))


@KINDS
def test_random_features(kind):
    """The weights are inside, and nothing is nearer than the point that they name; 1e-6 of the size (float64: 1e-12)."""
    triangle, segments, (v, w, s, t) = errors(random_corners(np.random.default_rng(0), 4000), kind)
    bound = 1e-12 if kind is np.float64 else 1e-6
    assert np.abs(triangle).max() < bound and np.abs(segments).max() < bound
    slack = 1e-6
    assert min(v.min(), w.min(), (1 - v - w).min(), s.min(), t.min(), (1 - s).min(), (1 - t).min()) > -slack


@KINDS
def test_every_feature_is_nearest_somewhere(kind):
    """Points around a triangle: its face, three sides and three corners, on either side."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 2.0, 13)] * 2, [-0.5, 0.0, 0.5]), axis=-1).reshape(-1, 3)
    triangle = np.broadcast_to([(0.0, 0.0, 0.0), (1.0, 0.1, 0.0), (0.2, 1.0, 0.0)], (len(grid), 3, 3))
    error, _, (v, w, _, _) = errors(np.concatenate([grid[:, None], triangle], axis=1), kind)
    assert np.abs(error).max() < 1e-6
    bary = np.stack([1 - v - w, v, w]) > 1e-6
    assert len({tuple(column) for column in bary.T}) == 7


@KINDS
@pytest.mark.parametrize("thin", [1e-2, 1e-4, 1e-6, 0.0])
def test_slivers(kind, thin):
    """Triangles with a corner next to the opposite side, down to those without area; the distance of the point is as large as
    their length."""
    rng = np.random.default_rng(1)
    x = random_corners(rng, 2000)
    x[:, 3] = x[:, 1] + rng.uniform(0, 1, (2000, 1)) * (x[:, 2] - x[:, 1]) + thin * rng.normal(size=(2000, 3))
    error, _, _ = errors(x, kind)
    assert np.abs(error).max() < (1e-6 if kind is np.float64 else 3e-6)


@KINDS
def test_degenerate_features(kind):
    """Triangles and edges that are a point, or twice the same edge."""
    x = random_corners(np.random.default_rng(2), 400)
    x[::4, 3] = x[::4, 2]
    x[1::4, 2] = x[1::4, 3] = x[1::4, 1]
    x[2::4, 1] = x[2::4, 0]
    x[3::4, 2:] = x[3::4, :2]
    triangle, segments, found = errors(x, kind)
    assert np.isfinite(found).all()
    assert np.abs(triangle).max() < 2e-6 and np.abs(segments).max() < 2e-6


@KINDS
@pytest.mark.parametrize("turn", [0.0, 1e-7, 1e-4, 1e-3, 1e-2])
def test_parallel_segments(kind, turn):
    """Segments that are parallel or nearly: an end may be taken for a crossing below the threshold, sin^2 = 1e-5, which is farther
    by no more than their length times that angle over 2."""
    rng = np.random.default_rng(3)
    x = random_corners(rng, 2000)
    along = x[:, 1] - x[:, 0]
    x[:, 3] = x[:, 2] + rng.uniform(-1.5, 1.5, (2000, 1)) * along + turn * rng.normal(size=(2000, 3))
    _, error, _ = errors(x, kind)
    assert error.min() > -1e-6
    assert error.max() < 2e-6 + (2e-3 if turn else 0.0)


@KINDS
@pytest.mark.parametrize("far", [1.0, 100.0])
def test_small_features_far_away(kind, far):
    """Features of 0.5 mm at 1 m and 100 m: only what their corners are rounded to is lost, and that the reference has lost too."""
    x = random_corners(np.random.default_rng(4), 2000, 5e-4) + far
    triangle, segments, _ = errors(x, kind)
    assert np.abs(triangle).max() < 5e-4 * 3e-6 and np.abs(segments).max() < 5e-4 * 1e-3
    assert np.quantile(np.abs(segments), 0.99) < 5e-4 * 1e-5


def test_crossing_says_whether_it_is_inside():
    @wp.kernel(enable_backward=False, module="unique")
    def ask(r: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
        i = wp.tid()
        s, t, inside = crossing(r[i], wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0), 1.0e-5)
        out[i, 0] = s
        out[i, 1] = t
        out[i, 2] = inside

    r = wp.array([(-0.5, 0.25, 1.0), (-1.5, 0.25, 1.0), (-0.5, -0.25, 1.0)], dtype=wp.vec3, device="cpu")
    out = wp.zeros((3, 3), dtype=float, device="cpu")
    wp.launch(ask, 3, inputs=[r], outputs=[out], device="cpu")
    s, t, inside = out.numpy().T
    assert np.allclose(s, [0.5, 1.5, 0.5]) and np.allclose(t, [0.25, 0.25, -0.25])
    assert inside[0] > 0.0 and (inside[1:] <= 0.0).all()

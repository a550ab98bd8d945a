"""Contact of two features: the normal law and its values, and the derivatives of a whole stencil against its energy, in float64."""

from typing import Any

import numpy as np
import pytest
import warp as wp

from hooke.contact.barrier import barrier, feature_contact
from hooke.execution.flags import lane_options
from hooke.math import LANES, Lanes, vector

wp.set_module_options(lane_options())
FLOATS = {np.float32: (wp.float32, wp.vec3), np.float64: (wp.float64, wp.vec3d)}
KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64, "lanes"], ids=["float32", "float64", "lanes"])
COLUMNS = ("distance", "radius", "stiffness", "rate", "mu", "threshold", "tau", "motion_x", "motion_y", "motion_z")


@wp.kernel(enable_backward=False)
def laws(change: wp.array(dtype=Any), normal: wp.array(dtype=Any), c: wp.array2d(dtype=Any), out: wp.array2d(dtype=Any)):
    """Force and slope at the distance itself, then gradient and block with the displacement."""
    i = wp.tid()
    force, slope = barrier(c[i, 0], c[i, 1], c[i, 6], c[i, 2])
    motion = vector(c[i, 7], c[i, 8], c[i, 9])
    g, h = feature_contact(change[i], motion, c[i, 0], normal[i], c[i, 1], c[i, 6], c[i, 2], c[i, 3], c[i, 4], c[i, 5])
    out[i, 0] = force
    out[i, 1] = slope
    out[i, 2] = g.x
    out[i, 3] = g.y
    out[i, 4] = g.z
    out[i, 5] = h.xx
    out[i, 6] = h.yy
    out[i, 7] = h.zz
    out[i, 8] = h.xy
    out[i, 9] = h.xz
    out[i, 10] = h.yz


@wp.kernel(enable_backward=False)
def lane_laws(v: wp.array2d(dtype=Lanes), c: wp.array2d(dtype=Lanes), out: wp.array2d(dtype=Lanes)):
    i = wp.tid()
    force, slope = barrier(c[i, 0], c[i, 1], c[i, 6], c[i, 2])
    change = vector(v[i, 0], v[i, 1], v[i, 2])
    normal = vector(v[i, 3], v[i, 4], v[i, 5])
    motion = vector(c[i, 7], c[i, 8], c[i, 9])
    g, h = feature_contact(change, motion, c[i, 0], normal, c[i, 1], c[i, 6], c[i, 2], c[i, 3], c[i, 4], c[i, 5])
    out[i, 0] = force
    out[i, 1] = slope
    out[i, 2] = g.x
    out[i, 3] = g.y
    out[i, 4] = g.z
    out[i, 5] = h.xx
    out[i, 6] = h.yy
    out[i, 7] = h.zz
    out[i, 8] = h.xy
    out[i, 9] = h.xz
    out[i, 10] = h.yz


def evaluate(kind, change=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0), **columns):
    """Force, slope, gradient (n, 3) and block (n, 3, 3); columns are those of ``COLUMNS``, 0 unless given, tau half the radius."""
    columns = {"tau": 0.5 * np.asarray(columns.get("radius", 0.0)), **columns}
    values = [columns.get(name, 1.0 if name == "threshold" else 0.0) for name in COLUMNS]
    rows = [np.atleast_1d(v) for v in values] + [np.atleast_2d(v)[:, 0] for v in (change, normal)]
    n = max(len(r) for r in rows)
    c = np.stack([np.broadcast_to(r, n) for r in rows[: len(COLUMNS)]], axis=1)
    v = np.concatenate([np.broadcast_to(np.atleast_2d(x), (n, 3)) for x in (change, normal)], axis=1)
    if kind == "lanes":
        groups = -(-n // LANES)
        arrays = []
        for x in (v, c):
            padded = np.ones((groups * LANES, x.shape[1]), np.float32)
            padded[:n] = x
            arrays.append(
                wp.array(np.ascontiguousarray(padded.reshape(groups, LANES, -1).transpose(0, 2, 1)), dtype=Lanes, device="cpu")
            )
        out = wp.zeros((groups, 11), dtype=Lanes, device="cpu")
        wp.launch(lane_laws, groups, inputs=arrays, outputs=[out], device="cpu")
        result = out.numpy().transpose(0, 2, 1).reshape(-1, 11)[:n].astype(np.float64)
    else:
        scalar, vec = FLOATS[kind]
        inputs = [wp.array(np.ascontiguousarray(x.astype(kind)), dtype=vec, device="cpu") for x in (v[:, :3], v[:, 3:])]
        out = wp.zeros((n, 11), dtype=scalar, device="cpu")
        wp.launch(laws, n, inputs=[*inputs, wp.array(c.astype(kind), dtype=scalar, device="cpu")], outputs=[out], device="cpu")
        result = out.numpy().astype(np.float64)
    return result[:, 0], result[:, 1], result[:, 2:5], result[:, 5:][:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]]


def normal_energy(d, r, k):
    """The normal law as an energy, from its definition."""
    tau = 0.5 * r
    d0 = np.minimum(1e-5, 0.5 * tau)
    safe = np.maximum(d, d0)
    log = k * tau**2 * (0.5 + np.log(tau / safe))
    deep = d0 - np.minimum(d, d0)
    log = log + k * tau**2 * (deep / d0 + 0.5 * (deep / d0) ** 2)
    return np.where(d >= r, 0.0, np.where(d >= tau, 0.5 * k * (r - d) ** 2, log))


@KINDS
def test_values(kind):
    """Theory notes, case 9: r = 0.01, k = 1e3; with its slopes k, k tau^2/d^2, and nothing from r on."""
    d = np.array([0.02, 0.01, 0.009, 0.0075, 0.005, 0.0025, 0.0005, 2.5e-5, 1e-5, 0.0])
    force, slope, _, _ = evaluate(kind, distance=d, radius=0.01, stiffness=1e3)
    assert np.allclose(force, [0, 0, 1, 2.5, 5, 10, 50, 1000, 2500, 5000], rtol=1e-5, atol=2e-6)
    assert np.allclose(slope[2:], [1e3, 1e3, 1e3, 4e3, 1e5, 4e7, 2.5e8, 2.5e8], rtol=1e-5)
    assert slope[0] == 0.0


@pytest.mark.parametrize(("radius", "tolerance"), [(0.02, 1e-3), (1.5e-5, 1e-2)])
def test_continuity(radius, tolerance):
    """Case 9: force and slope are continuous at r/2 and at min(1e-5, r/4), the force at r too."""
    for place in (0.5 * radius, min(1e-5, 0.25 * radius)):
        force, slope, _, _ = evaluate(np.float64, distance=place * (1.0 + np.array([-1e-6, 1e-6])), radius=radius, stiffness=1e3)
        assert np.allclose(force[0], force[1], rtol=tolerance) and np.allclose(slope[0], slope[1], rtol=tolerance)
    force, _, _, _ = evaluate(np.float64, distance=radius * (1.0 + np.array([-1e-9, 1e-9])), radius=radius, stiffness=1e3)
    assert abs(force[0] - force[1]) < 1e-6 * radius * 1e3


def test_force_and_slope_belong_to_the_energy():
    rng = np.random.default_rng(0)
    r = rng.uniform(1e-5, 0.05, 3000)
    d = r * 10.0 ** rng.uniform(-6.0, 0.1, 3000)
    k = 10.0 ** rng.uniform(0.0, 5.0, 3000)
    force, slope, _, _ = evaluate(np.float64, distance=d, radius=r, stiffness=k)
    step = 1e-4 * np.maximum(d, np.minimum(1e-5, 0.25 * r))
    energy = [normal_energy(d + s, r, k) for s in (-step, step)]
    assert np.allclose(force, (energy[0] - energy[1]) / (2.0 * step), rtol=1e-6, atol=1e-6 * (k * r).max())
    forces = [evaluate(np.float64, distance=d + s, radius=r, stiffness=k)[0] for s in (-step, step)]
    smooth = np.abs(d - r) > 2.0 * step
    measured = ((forces[0] - forces[1]) / (2.0 * step))[smooth]
    assert np.allclose(slope[smooth], measured, rtol=2e-3)


# ---- a whole stencil, with what a vertex-triangle pair and a pair of edges give as weights


def stencils(rng, count):
    """Weights (n, 4), normals, distances at the start and columns for pairs with all that acts."""
    v, w, s, t = rng.uniform(0.05, 0.45, (4, count))
    triangle = np.stack([np.ones(count), v + w - 1.0, -v, -w], axis=1)
    edges = np.stack([1.0 - s, s, t - 1.0, -t], axis=1)
    weights = np.where(rng.uniform(size=(count, 1)) < 0.5, triangle, edges)
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    radius = rng.uniform(0.005, 0.02, count)
    columns = {
        "distance": radius * rng.uniform(0.05, 1.2, count), "radius": radius, "stiffness": 10.0 ** rng.uniform(1, 4, count),
        "rate": 10.0 ** rng.uniform(0, 3, count), "mu": rng.uniform(0.0, 1.5, count), "threshold": 10.0 ** rng.uniform(-5, -3, count),
    }  # fmt: skip
    return weights, normal, columns


def stencil_energy(x, x_start, weights, normal, load, columns):
    """Of one pair at corners x (4, 3): the normal law, a damper on approach, and the smoothed friction of a constant load."""
    distance, radius, stiffness, rate, mu, threshold = (columns[name] for name in COLUMNS[:6])
    change = weights @ (x - x_start)
    along = normal @ change
    energy = normal_energy(distance + along, radius, stiffness)
    if load > 0.0 and along < 0.0:
        energy += 0.5 * rate * along**2
    slip = np.linalg.norm(change - along * normal)
    q = slip / threshold
    return energy + mu * load * threshold * (q * q - q**3 / 3.0 if q < 1.0 else q - 1.0 / 3.0)


def test_gradient_belongs_to_the_energy_of_the_stencil():
    """200 stencils: the gradient at each corner is its weight times that of the displacement, to 1e-5 of the load."""
    rng = np.random.default_rng(1)
    weights, normal, columns = stencils(rng, 200)
    ways = rng.normal(size=(200, 4, 3)) * 0.2 * columns["radius"][:, None, None]
    change = np.einsum("nc,nci->ni", weights, ways)
    _, _, gradient, _ = evaluate(np.float64, change, normal, **columns)
    along = (change * normal).sum(axis=1)
    load = evaluate(np.float64, **{**columns, "distance": columns["distance"] + along})[0]
    for n in range(200):
        own = {name: columns[name][n] for name in COLUMNS[:6]}
        step = 1e-5 * own["threshold"] + 1e-7 * own["radius"]
        for corner in range(4):
            for axis in range(3):
                energies = []
                for side in (-step, step):
                    x = ways[n].copy()
                    x[corner, axis] += side
                    energies.append(stencil_energy(x, 0.0, weights[n], normal[n], load[n], own))
                measured = (energies[1] - energies[0]) / (2.0 * step)
                size = load[n] * (1.0 + own["mu"]) + own["rate"] * abs(along[n]) + 1e-9
                assert abs(measured - weights[n, corner] * gradient[n, axis]) < 1e-4 * size + 1e-12 / step


def test_block_is_positive_and_bounds_the_energy():
    """The block is positive semidefinite; along the normal it is the slope with the damper, across it the secant of friction."""
    rng = np.random.default_rng(2)
    _, normal, columns = stencils(rng, 3000)
    change = rng.normal(size=(3000, 3)) * 0.2 * columns["radius"][:, None]
    _, _, gradient, block = evaluate(np.float64, change, normal, **columns)
    along = (change * normal).sum(axis=1)
    load, slope, _, _ = evaluate(np.float64, **{**columns, "distance": columns["distance"] + along})
    least = np.linalg.eigvalsh(block)
    assert (least[:, 0] >= -1e-9 * np.maximum(least[:, 2], 1.0)).all()
    damper = np.where((load > 0.0) & (along < 0.0), columns["rate"], 0.0)
    assert np.allclose(np.einsum("ni,nij,nj->n", normal, block, normal), slope + damper, rtol=1e-9)
    slip = change - along[:, None] * normal
    friction = gradient - (gradient * normal).sum(axis=1, keepdims=True) * normal
    assert np.allclose(np.einsum("nij,nj->ni", block, slip), friction, atol=1e-9)
    assert (np.linalg.norm(friction, axis=1) <= columns["mu"] * load * (1.0 + 1e-9)).all()


def test_uniform_motion_feels_no_damper():
    """Case 11, and case 7: a translation of all corners changes neither force nor block, a rotation about any axis no force."""
    rng = np.random.default_rng(3)
    weights, normal, columns = stencils(rng, 100)
    columns["distance"] = 0.4 * columns["radius"]
    still = evaluate(np.float64, np.zeros((100, 3)), normal, **{**columns, "mu": 0.0, "rate": 0.0})
    moved = evaluate(np.float64, np.einsum("nc,ni->ni", weights, rng.normal(size=(100, 3))), normal, **columns)
    assert np.allclose(still[2], moved[2], rtol=1e-9, atol=1e-9)
    for turned in range(100):
        w = weights[turned]
        corners = rng.normal(size=(4, 3))
        corners -= np.outer(w, (w @ corners - columns["distance"][turned] * normal[turned])) / (w @ w)
        omega = 1e-4 * rng.normal(size=3)
        change = w @ np.cross(omega, corners)  # across the normal: the separation only turns
        own = {name: columns[name][turned] for name in COLUMNS[:6]} | {"mu": 0.0, "rate": 500.0}
        _, _, g, _ = evaluate(np.float64, change[None], normal[turned][None], **own)
        assert np.abs(g - still[2][turned]).max() <= 1e-4


@KINDS
def test_no_load_no_contact(kind):
    """From the radius on nothing acts, whatever the damper and friction."""
    change = np.array([(1e-4, 0.0, -1e-4)])
    columns = {"distance": 0.0102, "radius": 0.01, "stiffness": 1e3, "rate": 1e3, "mu": 1.0, "threshold": 1e-3}
    _, _, g, h = evaluate(kind, change, np.array([(0.0, 0.0, 1.0)]), **columns)
    assert not g.any() and not h.any()


@pytest.mark.parametrize("kind", [np.float32, "lanes"], ids=["float32", "lanes"])
def test_single_precision(kind):
    """Within 1e-5 of float64, lanes too."""
    rng = np.random.default_rng(4)
    _, normal, columns = stencils(rng, 2000)
    change = rng.normal(size=(2000, 3)) * 0.02 * columns["radius"][:, None]
    exact, found = (evaluate(k, change, normal, **columns) for k in (np.float64, kind))
    near = np.abs(columns["distance"] + (change * normal).sum(axis=1) - columns["radius"]) > 1e-5 * columns["radius"]
    near &= np.abs((change * normal).sum(axis=1)) > 1e-6 * columns["radius"]
    for a, b in zip(exact[2:], found[2:], strict=True):
        size = np.abs(a[near]).reshape(near.sum(), -1).max(axis=1) + 1e-3
        assert (np.abs(a - b)[near].reshape(near.sum(), -1).max(axis=1) < 1e-3 * size).all()


@KINDS
def test_the_other_side_may_move(kind):
    """With its motion m: the same as the way less m, from a distance that is larger by n.m."""
    rng = np.random.default_rng(5)
    n = 50
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    change, motion = rng.normal(scale=2e-3, size=(n, 3)), rng.normal(scale=2e-3, size=(n, 3))
    distance = rng.uniform(2e-3, 1e-2, n)
    law = {"radius": 1e-2, "stiffness": 1e3, "rate": 3e2, "mu": 0.4, "threshold": 1e-3}
    moved = evaluate(
        kind, change, normal, distance=distance, motion_x=motion[:, 0], motion_y=motion[:, 1], motion_z=motion[:, 2], **law
    )
    still = evaluate(kind, change - motion, normal, distance=distance + (normal * motion).sum(axis=1), **law)
    for a, b in zip(moved[2:], still[2:], strict=True):
        assert np.abs(a - b).max() < 2e-4 * np.abs(b).max()


@KINDS
def test_a_penalty_has_no_barrier(kind):
    """With tau 0 the law is k (r - d) at every distance, behind the surface too."""
    distance = np.array([-0.03, -0.01, 0.0, 1e-6, 0.004, 0.009, 0.01, 0.02])
    force, slope = evaluate(kind, distance=distance, radius=0.01, stiffness=1e3, tau=0.0)[:2]
    assert np.allclose(force, 1e3 * np.maximum(0.01 - distance, 0.0), atol=1e-3)
    assert np.allclose(slope, np.where(distance < 0.01, 1e3, 0.0))

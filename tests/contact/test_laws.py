"""Contact laws on their own: normal force, both friction laws and their sum, in float32 and float64."""

from typing import Any

import numpy as np
import pytest
import warp as wp

from hooke.contact.coulomb import anchored_friction, smoothed_friction
from hooke.contact.normal import normal_force
from hooke.contact.particle import FRICTION_LAWS, make_particle_contact

anchored_contact = make_particle_contact("anchored")
smoothed_contact = make_particle_contact("smoothed")
FLOATS = {np.float32: (wp.float32, wp.vec3), np.float64: (wp.float64, wp.vec3d)}
LAWS = {"anchored": 0, "smoothed": 1}
both_laws = pytest.mark.parametrize("law", FRICTION_LAWS)
both_kinds = pytest.mark.parametrize("number", FLOATS, ids=lambda number: number.__name__)


@wp.kernel(enable_backward=False)
def scalars(c: wp.array2d(dtype=Any), out: wp.array2d(dtype=Any)):
    """``c``: penetration, approach, stiffness, damping / dt, slip, load, mu, threshold, grip."""
    i = wp.tid()
    load, force, curvature = normal_force(c[i, 0], c[i, 1], c[i, 2], c[i, 3])
    out[i, 0] = load
    out[i, 1] = force
    out[i, 2] = curvature
    out[i, 3] = smoothed_friction(c[i, 4], c[i, 5], c[i, 6], c[i, 7])
    out[i, 4] = anchored_friction(c[i, 4], c[i, 5], c[i, 6], c[i, 8])


@wp.kernel(enable_backward=False)
def rows(
    law: int, v: wp.array2d(dtype=Any), c: wp.array2d(dtype=Any), gradient: wp.array(dtype=Any), hessian: wp.array2d(dtype=Any),
    loads: wp.array2d(dtype=Any),
):  # fmt: skip
    """``v``: offset, motion, reach, normal; ``c``: radius, stiffness, damping / dt, mu, grip."""
    i = wp.tid()
    g, h, load, tangential = anchored_contact(v[i, 0], v[i, 1], v[i, 2], v[i, 3], c[i, 0], c[i, 1], c[i, 2], c[i, 3], c[i, 4])
    if law == 1:
        g, h, load, tangential = smoothed_contact(v[i, 0], v[i, 1], v[i, 2], v[i, 3], c[i, 0], c[i, 1], c[i, 2], c[i, 3], c[i, 4])
    gradient[i] = g
    hessian[i, 0] = h.xx
    hessian[i, 1] = h.yy
    hessian[i, 2] = h.zz
    hessian[i, 3] = h.xy
    hessian[i, 4] = h.xz
    hessian[i, 5] = h.yz
    loads[i, 0] = load
    loads[i, 1] = tangential


def evaluate_scalars(
    number, *, penetration=0.0, approach=0.0, stiffness=0.0, rate=0.0, slip=0.0, load=0.0, mu=0.0, threshold=1.0, grip=0.0
):
    """Columns load, force, curvature of the normal law, then the secants of the smoothed and of the anchored friction."""
    values = np.broadcast_arrays(penetration, approach, stiffness, rate, slip, load, mu, threshold, grip)
    c = np.stack([np.atleast_1d(v) for v in values], axis=1).astype(number)
    out = wp.zeros((len(c), 5), dtype=FLOATS[number][0], device="cpu")
    wp.launch(scalars, dim=len(c), inputs=[wp.array(c, dtype=FLOATS[number][0], device="cpu")], outputs=[out], device="cpu")
    return out.numpy().astype(np.float64).T


def evaluate_rows(law, v, c, number=np.float64):
    """Forces (n, 3), blocks (n, 3, 3), loads and secants (n,) of contact rows."""
    scalar, vec = FLOATS[number]
    n = len(v)
    inputs = [LAWS[law], wp.array(np.asarray(v, number), dtype=vec, device="cpu")]
    inputs.append(wp.array(np.asarray(c, number), dtype=scalar, device="cpu"))
    outputs = [wp.zeros(n, dtype=vec, device="cpu"), wp.zeros((n, 6), dtype=scalar, device="cpu")]
    outputs.append(wp.zeros((n, 2), dtype=scalar, device="cpu"))
    wp.launch(rows, dim=n, inputs=inputs, outputs=outputs, device="cpu")
    gradient, six, loads = (a.numpy().astype(np.float64) for a in outputs)
    block = six[:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
    return -gradient, block, loads[:, 0], loads[:, 1]


def random_rows(law, rng, count, depth=0.02):
    """Rows with random normals, penetrations and slips: (v, c) of :func:`evaluate_rows` and the tangential slips (n, 3)."""
    grip = 2000.0 if law == "anchored" else 0.01
    n = rng.normal(size=(count, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    radius = rng.uniform(0.05, 0.1, count)
    side = rng.uniform(-0.02, 0.02, (count, 3))
    offset = (radius - rng.uniform(-depth, depth, count))[:, None] * n + side - (side * n).sum(1, keepdims=True) * n
    motion = rng.uniform(-0.01, 0.01, (count, 3))
    reach = rng.uniform(-0.02, 0.02, (count, 3))
    c = np.column_stack([radius, rng.uniform(100, 2000, count), rng.uniform(0, 500, count), rng.uniform(0.1, 1.0, count),
                         np.full(count, grip)])  # fmt: skip
    slip = reach - (reach * n).sum(1, keepdims=True) * n
    return np.stack([offset, motion, reach, n], axis=1), c, slip


@both_kinds
def test_normal_law(number):
    """k p inside, nothing outside; the damper acts on approach only and is no part of the load."""
    p = np.array([-0.01, 0.0, 0.001, 0.02, 0.02, 0.02])
    approach = np.array([1.0, 1.0, 0.0, 0.005, -0.005, 0.0])
    load, force, curvature, _, _ = evaluate_scalars(number, penetration=p, approach=approach, stiffness=1000.0, rate=200.0)
    assert np.allclose(load, [0.0, 0.0, 1.0, 20.0, 20.0, 20.0], rtol=1e-6)
    assert np.allclose(force, [0.0, 0.0, 1.0, 21.0, 20.0, 20.0], rtol=1e-6)
    assert np.allclose(curvature, [0.0, 0.0, 1000.0, 1200.0, 1000.0, 1000.0], rtol=1e-6)


@both_kinds
def test_smoothed_friction_ramp(number):
    """mu N (2 q - q^2) below the threshold, mu N above; the secant at rest is its limit 2 mu N / threshold.

    Theory notes, case 28: 0.75 mu N at q = 0.5.
    """
    q = np.array([0.0, 1e-6, 0.1, 0.5, 0.9, 1.0, 1.0 + 1e-6, 2.0, 100.0])
    threshold, load, mu = 1e-3, 40.0, 0.3
    secant = evaluate_scalars(number, slip=q * threshold, load=load, mu=mu, threshold=threshold)[3]
    wanted = np.where(q < 1.0, 2.0 * q - q * q, 1.0) * mu * load
    assert np.allclose(secant * q * threshold, wanted, rtol=2e-6)
    assert abs(secant[3] * 0.5 * threshold - 0.75 * mu * load) < 1e-6 * mu * load
    assert abs(secant[0] - 2.0 * mu * load / threshold) < 1e-6 * secant[0]


@both_kinds
def test_smoothed_friction_is_continuously_differentiable(number):
    """Slope of the magnitude at the threshold: 0 from both sides."""
    q = 1.0 + np.linspace(-0.02, 0.02, 5)
    force = evaluate_scalars(number, slip=q, load=1.0, mu=1.0, threshold=1.0)[3] * q
    assert np.allclose(np.diff(force), [-((0.01) ** 2 - 0.02**2), 0.01**2, 0.0, 0.0], atol=2e-7)


@both_kinds
def test_anchored_friction_is_a_spring_with_a_limit(number):
    """grip s up to mu N, then mu N; the grip itself at zero stretch."""
    s = np.array([0.0, 1e-12, 1e-5, 0.5e-3, 0.999e-3, 1e-3, 1.001e-3, 0.1])
    secant = evaluate_scalars(number, slip=s, load=10.0, mu=0.5, grip=5000.0)[4]
    assert np.allclose(secant * s, np.minimum(5000.0 * s, 5.0), rtol=1e-6)
    assert secant[0] == 5000.0


@both_laws
def test_friction_without_load_or_coefficient_vanishes(law):
    column = 3 + (law == "anchored")
    for given in ({"load": 0.0, "mu": 0.5}, {"load": 5.0, "mu": 0.0}):
        secant = evaluate_scalars(np.float32, slip=np.array([1e-4, 1.0]), threshold=1e-3, grip=100.0, **given)[column]
        assert (secant == 0.0).all()


@both_laws
@both_kinds
def test_cone_bound_excludes_damping(law, number):
    """|f_t| <= mu k p whatever the slip and the approach; f_t opposes the slip; nothing acts without penetration."""
    v, c, slip = random_rows(law, np.random.default_rng(21), 2000)
    force, _, load, secant = evaluate_rows(law, v, c, number)
    n = v[:, 3]
    p = c[:, 0] - (v[:, 0] * n).sum(axis=1)
    tangential = force - (force * n).sum(axis=1, keepdims=True) * n
    scale = 1e-5 if number is np.float32 else 1e-12
    assert np.allclose(load, c[:, 1] * np.maximum(p, 0.0), atol=scale * 40.0)
    assert (np.linalg.norm(tangential, axis=1) <= c[:, 3] * load + scale * 40.0).all()
    assert np.allclose(tangential, -secant[:, None] * slip, atol=scale * 40.0)
    assert (secant >= 0.0).all()
    approach = -np.minimum((v[:, 1] * n).sum(axis=1), 0.0)
    wanted = np.where(p > 0.0, c[:, 1] * p + c[:, 2] * approach, 0.0)
    assert np.allclose((force * n).sum(axis=1), wanted, atol=scale * 40.0)
    assert np.abs(force[p < -1e-6]).max() == 0.0
    slipping = (np.linalg.norm(slip, axis=1) > 0.012) if law == "smoothed" else secant < 0.999 * c[:, 4]
    slipping &= p > 1e-4
    assert slipping.sum() > 100
    assert np.allclose(np.linalg.norm(tangential, axis=1)[slipping], (c[:, 3] * load)[slipping], rtol=1e-4, atol=scale * 40.0)


@both_laws
def test_block_is_semidefinite_and_exact_along_the_normal(law):
    """n.H.n is the derivative of the normal force; the tangential part is the secant of friction."""
    v, c, _ = random_rows(law, np.random.default_rng(22), 500)
    _, block, _, secant = evaluate_rows(law, v, c)
    n, h = v[:, 3], 1e-7
    v0, v1 = v.copy(), v.copy()
    for column in (0, 1):  # a displacement changes offset and motion alike
        v0[:, column] -= h * n
        v1[:, column] += h * n
    slope = -((evaluate_rows(law, v1, c)[0] - evaluate_rows(law, v0, c)[0]) * n).sum(axis=1) / (2.0 * h)
    assert np.allclose(np.einsum("ni,nij,nj->n", n, block, n), slope, rtol=1e-5, atol=1e-3)
    tangent = np.cross(n, [0.3, 0.5, -0.2])
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    assert np.allclose(np.einsum("ni,nij,nj->n", tangent, block, tangent), secant, rtol=1e-9)
    values = np.linalg.eigvalsh(block)
    assert (values[:, 0] >= -1e-12 * np.maximum(values[:, 2], 1.0)).all()


@both_laws
def test_secant_majorises_the_law(law):
    """The model that a sweep minimises, secant u^2 / 2 fitted at s, lies above the law's potential everywhere: it descends."""
    s = np.linspace(0.0, 0.03, 301)
    column = 3 + (law == "anchored")
    secant = evaluate_scalars(np.float64, slip=s, load=10.0, mu=0.5, threshold=0.01, grip=1000.0)[column]
    force = secant * s
    potential = np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(s))])
    for k in range(0, 301, 10):
        model = potential[k] + 0.5 * secant[k] * (s**2 - s[k] ** 2)
        assert (model >= potential - 1e-6).all()


@both_laws
def test_contact_damping_is_absolute(law):
    """Theory notes, case 10: radius 0.1, z from 0.05 to 0.04 in dt 0.1, kd 20: adds exactly (0, 0, 2) N for ke 400 and for 100."""
    for ke in (400.0, 100.0):
        forces = []
        for kd in (0.0, 20.0):
            v = [[(0.0, 0.0, 0.04), (0.0, 0.0, -0.01), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]]
            forces.append(evaluate_rows(law, v, [[0.1, ke, kd / 0.1, 0.5, 1e-3]], np.float32)[0][0])
        assert np.allclose(forces[0], (0.0, 0.0, 0.06 * ke), rtol=1e-6)
        assert np.allclose(forces[1] - forces[0], (0.0, 0.0, 2.0), rtol=1e-5, atol=0.0)


def test_friction_inside_the_ramp():
    """Theory notes, case 28: a slip of 0.5 friction_epsilon dt drags with 0.75 mu k p, any above it with mu k p, damped or not."""
    k, p, mu, threshold = 1750.0, 0.004, 0.6, 1e-2 / 60.0
    for rate in (0.0, 3300.0):
        v = [[(0.0, 0.0, 0.1 - p), (0.0, 0.0, -0.01), (q * threshold, 0.0, 0.3), (0.0, 0.0, 1.0)] for q in (0.5, 1.0, 7.0)]
        force = evaluate_rows("smoothed", v, [[0.1, k, rate, mu, threshold]] * 3)[0]
        assert np.allclose(force[:, 0], np.array([-0.75, -1.0, -1.0]) * mu * k * p, rtol=1e-12)
        assert np.allclose(force[:, 1], 0.0)

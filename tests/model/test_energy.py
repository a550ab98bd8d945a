"""Energies and momenta of a state against sums in NumPy."""

import numpy as np
import pytest
import warp as wp

from hooke import ModelBuilder, ShapeConfig, measure_energy, measure_momentum

X = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (3, 1, 2)], float)
V = np.array([(1, 2, 3), (0, 1, 0), (-1, 0, 2), (4, 0, 0), (0, 0, -1)], float)
MASS = np.array([1.0, 2.0, 0.5, 3.0, 0.0])
MOVED = X + np.array([(0, 0, 0), (0.1, 0.2, 0), (0, 0.3, -0.1), (0, 0.1, 0.2), (0, 0, 0)])


def elastic_model():
    b = ModelBuilder()
    b.add_particles(X, V, MASS)
    b.add_spring(0, 1, ke=10.0)
    b.add_spring(2, 4, ke=3.0)
    b.add_triangle(0, 1, 2, tri_ke=5.0, tri_ka=7.0)
    b.add_edge(0, 3, 1, 2, edge_ke=2.0)
    b.add_edge(0, -1, 1, 2, edge_ke=2.0)
    b.add_tetrahedron(0, 1, 2, 3, k_mu=11.0, k_lambda=13.0)
    return b.finalize(device="cpu")


def energy_density(F, mu, lam, size):
    """Stable neo-Hookean energy of a sheet (2) or a solid (3), zero at rest; J is the ratio of areas or volumes."""
    J = np.linalg.norm(np.cross(F[:, 0], F[:, 1])) if size == 2 else np.linalg.det(F)
    return 0.5 * mu * ((F * F).sum() - size) - mu * (J - 1) + 0.5 * (lam + mu) * (J - 1) ** 2


def dihedral(x0, x1, x2, x3):
    """Angle between the normals of (x0, x2, x3) and (x1, x3, x2)."""
    n1, n2 = np.cross(x2 - x0, x3 - x0), np.cross(x3 - x1, x2 - x1)
    return np.arccos(np.dot(n1, n2) / np.linalg.norm(n1) / np.linalg.norm(n2))


def test_at_rest():
    m = elastic_model()
    energy = measure_energy(m, m.state())
    assert set(energy.elastic) == {"spring", "tri", "edge", "tet"}
    assert max(abs(e) for e in energy.elastic.values()) < 1e-6
    assert energy.kinetic == pytest.approx(0.5 * (MASS * (V * V).sum(axis=1)).sum(), rel=1e-6)
    assert energy.gravity == pytest.approx(9.81 * (MASS * X[:, 2]).sum(), rel=1e-6)
    assert energy.total == pytest.approx(energy.kinetic + energy.gravity + sum(energy.elastic.values()))


def test_elastic_energies():
    m = elastic_model()
    s = m.state()
    s.particle_q.assign(MOVED.astype(np.float32))
    found = measure_energy(m, s).elastic
    y = MOVED

    def stretch(i, j):
        return np.linalg.norm(y[i] - y[j]) - np.linalg.norm(X[i] - X[j])

    assert found["spring"] == pytest.approx(5.0 * stretch(0, 1) ** 2 + 1.5 * stretch(2, 4) ** 2, rel=1e-5)
    F = np.stack([y[1] - y[0], y[2] - y[0]], axis=1)  # the rest edges are orthonormal
    assert found["tri"] == pytest.approx(0.5 * energy_density(F, 5.0, 7.0, 2), rel=1e-4)
    turn = dihedral(*y[[0, 3, 1, 2]]) - dihedral(*X[[0, 3, 1, 2]])
    assert found["edge"] == pytest.approx(np.sqrt(2.0) * turn**2, rel=1e-4)
    F = np.stack([y[1] - y[0], y[2] - y[0], y[3] - y[0]], axis=1)
    assert found["tet"] == pytest.approx(energy_density(F, 11.0, 13.0, 3) / 6, rel=1e-4)


def test_momentum_of_particles():
    m = elastic_model()
    found = measure_momentum(m, m.state())
    assert found.mass == pytest.approx(MASS.sum())
    np.testing.assert_allclose(found.com, MASS @ X / MASS.sum(), rtol=1e-6)
    np.testing.assert_allclose(found.linear, MASS @ V, rtol=1e-6)
    np.testing.assert_allclose(found.angular, MASS @ np.cross(X, V), rtol=1e-6)


def spinning():
    """A box with its centre of mass off the origin of its frame, turned, moving and spinning, and a particle."""
    b = ModelBuilder(gravity=(1.0, -2.0, 3.0))
    turn = wp.quat_from_axis_angle(wp.normalize(wp.vec3(1.0, 2.0, -1.0)), 0.7)
    body = b.add_body(xform=wp.transform((1.0, 2.0, 3.0), turn))
    b.add_shape_box(body, xform=(0.5, 0.1, 0, 0, 0, 0, 1), hx=0.1, hy=0.2, hz=0.3, cfg=ShapeConfig(density=400.0))
    b.body_qd[body] = wp.spatial_vector(1.0, -1.0, 2.0, 3.0, 4.0, -5.0)
    b.add_particle((2, 0, 1), (0, 3, 0), 1.5)
    return b.finalize(device="cpu"), np.array(wp.quat_to_matrix(turn)).reshape(3, 3)


def test_a_spinning_body():
    m, R = spinning()
    mass = 400.0 * 8 * 0.1 * 0.2 * 0.3
    inertia = R @ (mass / 3 * np.diag([0.2**2 + 0.3**2, 0.1**2 + 0.3**2, 0.1**2 + 0.2**2])) @ R.T
    com = np.array([1, 2, 3]) + R @ np.array([0.5, 0.1, 0.0])
    v, w = np.array([1.0, -1.0, 2.0]), np.array([3.0, 4.0, -5.0])
    s = m.state()
    energy, momentum = measure_energy(m, s), measure_momentum(m, s)
    assert energy.kinetic == pytest.approx(0.5 * mass * v @ v + 0.5 * w @ inertia @ w + 0.5 * 1.5 * 9, rel=1e-5)
    gravity = np.array([1.0, -2.0, 3.0])
    assert energy.gravity == pytest.approx(-mass * gravity @ com - 1.5 * gravity @ np.array([2, 0, 1]), rel=1e-5)
    assert energy.elastic == {}
    assert momentum.mass == pytest.approx(mass + 1.5)
    np.testing.assert_allclose(momentum.com, (mass * com + 1.5 * np.array([2, 0, 1])) / (mass + 1.5), rtol=1e-5)
    np.testing.assert_allclose(momentum.linear, mass * v + np.array([0, 4.5, 0]), rtol=1e-5)
    expected = mass * np.cross(com, v) + inertia @ w + 1.5 * np.cross([2, 0, 1], [0, 3, 0])
    np.testing.assert_allclose(momentum.angular, expected, rtol=1e-5, atol=1e-4)


def test_the_gravity_of_every_world():
    b = ModelBuilder(gravity=-10.0)
    for g in (-1.0, -5.0):
        b.begin_world(gravity=g)
        b.add_particle((0, 0, 2), (0, 0, 0), 3.0)
        b.end_world()
    b.add_particle((0, 0, 2), (0, 0, 0), 3.0)
    m = b.finalize(device="cpu")
    assert measure_energy(m, m.state()).gravity == pytest.approx(6.0 * (1 + 5 + 10))
    m.set_gravity(0.0)
    assert measure_energy(m, m.state()).gravity == 0.0


def test_an_empty_model():
    m = ModelBuilder().finalize(device="cpu")
    energy, momentum = measure_energy(m, m.state()), measure_momentum(m, m.state())
    assert energy.total == 0.0 and momentum.mass == 0.0
    assert momentum.linear.tolist() == momentum.com.tolist() == [0, 0, 0]

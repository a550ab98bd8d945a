"""The physics functions in float64 against differences of their energies, and in float32 against float64."""

import numpy as np
import pytest

from hooke.elements.tetrahedron import measure_tetrahedra
from hooke.elements.triangle import measure_triangles

from .kernels import KERNELS, evaluate
from .reference import REFERENCES, Air, Membrane, Volume, block, elastic_block, gradient, wrapped
from .samples import DT, SAMPLES, random_rotations

every_kind = pytest.mark.parametrize("name", KERNELS)


def constants_of(name, reference, dt=DT):
    """What the physics functions of a kind are given, from the rest corners and materials of its reference."""
    rest, material = reference.rest, reference.material
    rate = material[:, -1:] / dt
    if name == "attachment_particle_body":
        return np.column_stack([material[:, 0], rate])
    if name == "aerodynamics":
        return np.column_stack([material, np.full(len(material), dt)])
    if name == "spring":
        return np.column_stack([reference.size(), material[:, 0], rate])
    if name == "edge":
        return np.column_stack([reference.rest_angle(), material[:, 0], rate])
    lame = np.column_stack([material[:, 0], material[:, 0] + material[:, 1]])
    if name == "tri":
        poses, areas = measure_triangles(rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0])
        assert np.allclose(areas, reference.size(), rtol=1e-12)
    else:
        poses, volumes = measure_tetrahedra(rest)
        assert np.allclose(volumes, reference.size(), rtol=1e-12)
    return np.column_stack([poses.reshape(len(rest), -1), lame, rate])


def measure_of(name, reference):
    """What the functions are per: area, length, volume; a spring is whole, and what is tied to a point."""
    return 1.0 if name == "spring" else reference.size()[:, None, None]


def make(name, rng, count=200, damping=20.0, amount=0.3):
    sample = SAMPLES[name]
    rest = np.array(sample.rest) + rng.uniform(-0.1, 0.1, (count, len(sample.rest), 3))
    material = np.column_stack([rng.uniform(0.5, 2.0, (count, len(sample.stiffness))) * sample.stiffness, np.full(count, damping)])
    reference = REFERENCES[name](rest, material)
    r = random_rotations(rng, count)
    x, start = (np.einsum("nij,nsj->nsi", r, rest + rng.uniform(-amount, amount, rest.shape)) for _ in range(2))
    return reference, x * rng.uniform(0.8, 1.8, (count, 1, 1)), start


@every_kind
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_float64_forces_and_blocks_are_the_derivatives(name, damping):
    """Forces to 1e-8 of the element's largest; blocks to 1e-6 where they are exact, hinges and dampers by Gauss-Newton."""
    reference, x, start = make(name, np.random.default_rng(11), damping=damping)
    _, slope, found = evaluate(name, np.float64, x, start, constants_of(name, reference))
    slope, found = slope * measure_of(name, reference), found * np.asarray(measure_of(name, reference))[..., None]
    wanted = gradient(reference, x, start, DT)
    assert np.abs(slope - wanted).max() < 1e-8 * np.abs(found).max()
    exact = reference.exact(x, start) | (name == "edge")
    wanted = block(reference, x, start, DT)
    assert np.abs(found - wanted)[exact].max() < 1e-6 * np.abs(found).max()
    assert exact.sum() > 20


def test_air_acts_by_the_formula():
    """float64, drag and lift: -D A |u_n| u - L A u_n (|u| n - u_n u/|u|), a third for every corner, the opposite for the air.

    Where lift would pull the sheet along itself, only the part along its normal is left.
    """
    reference, x, start = make("aerodynamics", np.random.default_rng(14))
    _, slope, _ = evaluate("aerodynamics", np.float64, x, start, constants_of("aerodynamics", reference))
    lift, drag = reference.material.T
    area, u, across, along = reference.flow(x, start, DT)
    speed = np.linalg.norm(u, axis=1, keepdims=True)
    normal = (u - along) / across[:, None]
    a, s, un = area[:, None], np.abs(across)[:, None], across[:, None]
    force = -drag[:, None] * a * s * u - lift[:, None] * a * un * (speed * normal - un * u / speed)
    pulls = lift * np.abs(across) > drag * speed[:, 0]
    force[pulls] = ((force * normal).sum(axis=1, keepdims=True) * normal)[pulls]
    assert 10 < pulls.sum() < 190
    assert np.abs(slope[:, :3] + force[:, None] / 3.0).max() < 1e-10 * np.abs(force).max()
    assert np.abs(slope[:, 3] - force).max() < 1e-10 * np.abs(force).max()
    assert ((force * u).sum(axis=1) <= 0.0).all()
    drags = Air(reference.rest, reference.material * (0.0, 1.0))
    _, drag_slope, _ = evaluate("aerodynamics", np.float64, x, start, constants_of("aerodynamics", drags))
    work = ((slope - drag_slope)[:, 3] * u).sum(axis=1)
    assert np.abs(work[~pulls]).max() < 1e-10 * np.abs(force * u).max()  # lift does none


@every_kind
def test_float32_agrees_with_float64(name):
    """3e-4 of the largest entry per element, for shapes near and far from rest."""
    for amount in (0.01, 0.3, 1.0):
        reference, x, start = make(name, np.random.default_rng(12), amount=amount)
        constants = constants_of(name, reference)
        x, start, constants = (v.astype(np.float32) for v in (x, start, constants))
        _, slope, block = evaluate(name, np.float64, x, start, constants)
        _, slope32, block32 = evaluate(name, np.float32, x, start, constants)
        size = np.abs(block).max(axis=(1, 2, 3))
        assert (np.abs(slope32 - slope).max(axis=(1, 2)) < 3e-4 * np.maximum(np.abs(slope).max(axis=(1, 2)), 0.1 * size)).all()
        assert (np.abs(block32 - block).max(axis=(1, 2, 3)) < 3e-4 * size).all()


SLIVERS = np.array([
    [(0.0, 0.0, 0.0), (0.02, 0.0, 0.0), (0.0, 0.02, 0.0)],  # rest
    [(0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.3, 1e-4, 0.0)],  # stretched fifteenfold to a sliver
    [(0.1, 0.2, 0.3), (0.4, 0.2, 0.3), (0.25, 0.2001, 0.3)],
    [(0.0, 0.0, 0.0), (0.02, 0.0, 0.0), (0.04, 0.0, 0.0)],  # collinear
    [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.02, 0.0)],  # collapsed to an edge
    [(0.5, 0.5, 0.5)] * 3,  # collapsed to a point
    [(0.0, 0.0, 0.0), (1e-4, 0.0, 0.0), (0.0, 1e-4, 0.0)],  # shrunk
    [(0.0, 0.0, 0.0), (0.05, 0.01, 0.02), (-0.01, 0.04, 0.01)],  # stretched
])  # fmt: skip


def test_membrane_in_float32_with_slivers():
    """Theory notes, case 5: poses about 50, area 2e-4, mu 1e4, lambda + mu 2e4: within 3e-4 of float64, finite, block PSD.

    A Gram determinant in place of the cross product fails here: it loses all digits of the area of a sliver.
    """
    rest = np.tile(SLIVERS[:1], (len(SLIVERS), 1, 1))
    reference = Membrane(rest, np.tile([1e4, 1e4, 0.0], (len(rest), 1)))
    constants = constants_of("tri", reference).astype(np.float32)
    x = SLIVERS.astype(np.float32)
    _, slope, block = evaluate("tri", np.float64, x, x, constants)
    _, slope32, block32 = evaluate("tri", np.float32, x, x, constants)
    assert np.isfinite(slope32).all() and np.isfinite(block32).all()
    for k in range(len(x)):
        assert np.abs(slope32[k] - slope[k]).max() <= 3e-4 * max(np.abs(slope[k]).max(), 1e4)
        assert np.abs(block32[k] - block[k]).max() <= 3e-4 * np.abs(block[k]).max()
    values = np.linalg.eigvalsh(block32)
    assert (values[..., 0] >= -1e-6 * values[..., 2]).all()


def test_tetrahedron_for_any_lame_pair():
    """Theory notes, case 6: 30 random pairs, negative ones too: float32 forces to 1e-4 (atol 0.1), blocks to 1e-2."""
    rng = np.random.default_rng(13)
    rest = np.tile(np.array(SAMPLES["tet"].rest), (30, 1, 1)) + rng.uniform(-0.1, 0.1, (30, 4, 3))
    material = np.column_stack([rng.uniform(-1e3, 1e3, (30, 2)), np.zeros(30)])
    material[np.abs(material[:, 0] + material[:, 1]) < 50.0, 1] += 200.0  # the reference divides by lambda + mu
    reference = Volume(rest, material)
    x = rest + rng.uniform(-0.3, 0.3, rest.shape)
    _, slope, block = evaluate("tet", np.float32, x, x, constants_of("tet", reference))
    slope, block = slope * measure_of("tet", reference), block * measure_of("tet", reference)[..., None]
    assert np.allclose(slope, gradient(reference, x, x, DT), rtol=1e-4, atol=0.1)
    wanted = elastic_block(reference, x)
    assert np.allclose(block, wanted, rtol=1e-2, atol=1e-3 * np.abs(wanted).max())


def hinges(angle):
    """Hinges on the edge along x whose second wing is turned by ``angle`` (n,), first wing flat; theta = angle."""
    angle = np.asarray(angle, np.float64)
    x = np.zeros((len(angle), 4, 3))
    x[:, 0] = (0.0, 1.0, 0.0)
    x[:, 1] = np.stack([np.zeros_like(angle), -np.cos(angle), -np.sin(angle)], axis=1)
    x[:, 2], x[:, 3] = (-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)
    return x


def moment(angle, start, rest, stiffness=2.0, rate=0.0, number=np.float64):
    """dE/dtheta of hinges per length, from the force on the first wing, whose gradient is (0, 0, -1)."""
    constants = np.stack(np.broadcast_arrays(np.asarray(rest, np.float64), stiffness, rate), axis=1)
    constants = np.broadcast_to(constants, (len(angle), 3))
    theta, slope, _ = evaluate("edge", number, hinges(angle), hinges(start), constants)
    assert np.abs(wrapped(theta - angle)).max() < 1e-5
    return -slope[:, 0, 2]


def test_fold_through_pi_within_a_step_does_not_flip():
    """From 3.1 rad on to 3.3 rad (measured as -2.98): the moment goes on growing as k (theta - rest)."""
    turns = np.linspace(0.0, 0.3, 7)
    for sign in (1.0, -1.0):
        found = moment(sign * (3.1 + turns), np.full(7, sign * 3.1), np.zeros(7))
        assert np.abs(found - sign * 2.0 * (3.1 + turns)).max() < 2e-6


def test_fold_past_pi_from_rest_returns_the_short_way():
    """Rest angle 2.5, bent on to 3.78 rad, which is measured as -2.5: the moment is k (2 pi - 5), not -5 k."""
    for sign in (1.0, -1.0):
        found = moment(np.array([-sign * 2.5]), np.array([-sign * 2.5]), [sign * 2.5])
        assert abs(found[0] - sign * 2.0 * (2.0 * np.pi - 5.0)) < 2e-6


def test_hinge_damping_follows_a_fold_through_pi():
    """The rate is the angle turned over the step, also across the cut at pi: c/dt 0.2, not c/dt (0.2 - 2 pi)."""
    found = moment(np.array([-np.pi + 0.1, np.pi - 0.1]), np.array([np.pi - 0.1, -np.pi + 0.1]), [0.0, 0.0], 0.0, 5.0)
    assert np.abs(found - [1.0, -1.0]).max() < 2e-6

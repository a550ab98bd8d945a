"""What every kind of element owes, for all of ``hooke.elements.ELEMENTS``: as the solver calls it, in float32."""

import numpy as np
import pytest

from hooke.elements import ELEMENTS

from .reference import REFERENCES, block, gradient
from .samples import DT, SAMPLES, deformed, make_batch, random_batch, random_rotations, single

every_kind = pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: element.name)
every_elastic_kind = pytest.mark.parametrize("element", [e for e in ELEMENTS if e.energy], ids=lambda element: element.name)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def scale_of(values):
    """The largest magnitude per element, with its axes kept for division."""
    axes = tuple(range(1, values.ndim))
    return np.abs(values).max(axis=axes, keepdims=True)


def test_every_kind_is_sampled_and_has_a_reference():
    names = {element.name for element in ELEMENTS}
    assert names == set(SAMPLES) == set(REFERENCES)


def force_scale(slope, block):
    """The largest force per element, or the force of a strain of 0.1 where that is larger."""
    return np.maximum(scale_of(slope), 0.1 * scale_of(block)[..., 0])


@every_elastic_kind
def test_force_is_the_slope_of_the_energy(element, rng):
    """Fourth-order differences of the energy function in float32: 0.2 % of the element's largest force."""
    batch = random_batch(element, rng)
    x = deformed(rng, batch, 0.2)
    _, slope, block = batch.evaluate(x)
    h = 0.02
    measured = np.zeros_like(slope)
    for s in range(element.size):
        for c in range(3):
            change = np.zeros((element.size, 3))
            change[s, c] = h
            e = [batch.evaluate(x + n * change)[0] for n in (-2, -1, 1, 2)]
            measured[:, s, c] = (e[0] - 8.0 * e[1] + 8.0 * e[2] - e[3]) / (12.0 * h)
    assert (np.abs(slope - measured) / force_scale(slope, block)).max() < 2e-3


@every_kind
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_force_equals_the_float64_reference(element, damping, rng):
    """Differences of energy and dissipation written in NumPy: 3e-4 of the element's largest force."""
    batch = random_batch(element, rng, damping=damping)
    x, start = deformed(rng, batch, 0.3), deformed(rng, batch, 0.3)
    _, slope, block = batch.evaluate(x, start)
    wanted = gradient(REFERENCES[element.name](batch.rest, batch.material), x, start, DT)
    assert (np.abs(slope - wanted) / force_scale(wanted, block)).max() < 3e-4


@every_elastic_kind
def test_energy_equals_the_float64_reference(element, rng):
    batch = random_batch(element, rng)
    x = deformed(rng, batch, 0.3)
    wanted = REFERENCES[element.name](batch.rest, batch.material).energy(x)
    assert np.abs(batch.evaluate(x)[0] - wanted).max() < 1e-5 * np.abs(wanted).max()


@every_kind
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_block_is_exact_where_it_can_be_and_above_elsewhere(element, damping, rng):
    """The block is the second derivative where that is positive semidefinite (tetrahedra, stretched springs and membranes) and a
    majorant of it elsewhere; a hinge and all damping have Gauss-Newton blocks, the air that of its potential."""
    batch = random_batch(element, rng, damping=damping)
    x, start = deformed(rng, batch, 0.3), deformed(rng, batch, 0.3)
    x = single(x * rng.uniform(0.8, 1.8, (len(x), 1, 1)))
    _, _, found = batch.evaluate(x, start)
    reference = REFERENCES[element.name](batch.rest, batch.material)
    wanted = block(reference, x, start, DT)
    error = (found - wanted) / scale_of(wanted)
    exact = reference.exact(x, start) if element.name != "edge" else np.ones(len(x), bool)
    assert exact.sum() > 10
    assert np.abs(error[exact]).max() < 5e-4
    assert np.linalg.eigvalsh(error).min() > -5e-4


@every_kind
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_corners_that_move_together(element, damping, rng):
    """Their force is the sum of theirs and the opposite of that on the other corners, whose block is the same; for two corners it is the
    sum of their blocks and twice the mixed one, which is what three pairs of them tell of each other."""
    batch = random_batch(element, rng, damping=damping)
    x, start = deformed(rng, batch, 0.3), deformed(rng, batch, 0.3)
    everything = (1 << element.size) - 1
    slots = range(1, everything)
    _, single_slope, single_block = batch.evaluate(x, start)
    _, slope, block = batch.evaluate_moved(start, x - start, slots=list(slots))
    force, stiffness = force_scale(single_slope, single_block), scale_of(single_block)
    for n, bits in enumerate(slots):
        corners = [s for s in range(element.size) if bits >> s & 1]
        assert (np.abs(slope[:, n] - single_slope[:, corners].sum(axis=1)) / force[:, 0]).max() < 1e-5
        assert (np.abs(block[:, n] - block[:, (everything ^ bits) - 1]) / stiffness[:, 0]).max() < 1e-5
        assert (np.linalg.eigvalsh(block[:, n]).min(axis=1) > -1e-5 * stiffness[:, 0, 0, 0]).all()
    if element.size == 4:  # b(01) + b(02) + b(12) = b(0) + b(1) + b(2) + b(012) for a quadratic form, and b(012) = b(3)
        pairs = block[:, [0b0011 - 1, 0b0101 - 1, 0b0110 - 1]].sum(axis=1)
        assert (np.abs(pairs - single_block.sum(axis=1)) / stiffness[:, 0]).max() < 1e-4


@every_kind
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_block_is_positive_semidefinite_everywhere(element, damping, rng):
    """Shapes far from rest, compressed and turned inside out: the least eigenvalue is above -1e-6 of the largest."""
    batch = random_batch(element, rng, count=1000, damping=damping)
    for amount in (0.0, 0.3, 1.0, 3.0):
        _, _, block = batch.evaluate(deformed(rng, batch, amount), deformed(rng, batch, amount))
        values = np.linalg.eigvalsh(block)
        assert (values[..., 0] >= -1e-6 * values[..., 2]).all()


@every_elastic_kind
def test_no_force_and_no_energy_at_rest(element, rng):
    """At rest, wherever and however the element stands: forces below 3e-6 of stiffness times size."""
    batch = random_batch(element, rng, damping=20.0)
    for x in (batch.rest, batch.rest + (3.0, -2.0, 1.0), deformed(rng, batch, 0.0)):
        energy, slope, block = batch.evaluate(x)
        assert np.abs(slope).max() < 3e-6 * np.abs(block).max()
        assert np.abs(energy).max() < 1e-6 * np.abs(block).max()


@every_kind
def test_rigid_motion_turns_forces_and_keeps_the_energy(element, rng):
    batch = random_batch(element, rng, damping=20.0)
    x, start = deformed(rng, batch, 0.3), deformed(rng, batch, 0.3)
    energy, slope, block = batch.evaluate(x, start)
    r = random_rotations(rng, len(x))
    shift = rng.uniform(-2.0, 2.0, (len(x), 1, 3))
    moved = [np.einsum("nij,nsj->nsi", r, y) + shift for y in (x, start)]
    energy_moved, slope_moved, block_moved = batch.evaluate(*moved)
    assert np.abs(energy_moved - energy).max() <= 1e-5 * np.abs(energy).max()
    wanted = np.einsum("nij,nsj->nsi", r, slope)
    assert (np.abs(slope_moved - wanted) / force_scale(wanted, block)).max() < 2e-4
    wanted = np.einsum("nij,nsjk,nlk->nsil", r, block, r)
    assert (np.abs(block_moved - wanted) / scale_of(wanted)).max() < 2e-4


@every_kind
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_internal_forces_have_no_resultant(element, damping, rng):
    """The sums of forces and of torques vanish to float32, dampers included. What is tied to a point is turned by damping, and by lift."""
    batch = random_batch(element, rng, damping=damping)
    x, start = deformed(rng, batch, 0.3), deformed(rng, batch, 0.3)
    _, slope, block = batch.evaluate(x, start)
    scale = force_scale(slope, block)[:, 0]
    assert (np.abs(slope.sum(axis=1)) / scale).max() < 1e-5
    if element.point is None or (element.energy and damping == 0.0):
        assert (np.abs(np.cross(x, slope).sum(axis=1)) / scale).max() < 1e-5


@every_elastic_kind
def test_rigid_motion_is_not_damped(element, rng):
    """Theory notes, case 7: 100 random rigid motions of one shape, damping 10, dt 0.1: forces of the damper at most 1e-4 N."""
    rest = np.tile(np.array(SAMPLES[element.name].rest), (100, 1, 1))
    material = np.zeros((100, len(SAMPLES[element.name].stiffness) + 1))
    material[:, -1] = 10.0
    batch = make_batch(element, rest, material)
    x = np.einsum("nij,nsj->nsi", random_rotations(rng, 100), rest) + rng.uniform(-0.5, 0.5, (100, 1, 3))
    _, slope, block = batch.evaluate(x, rest, 0.1)
    assert np.linalg.norm(slope, axis=2).max() <= 1e-4
    assert np.abs(block).max() > 1.0  # the damper is there


@every_kind
def test_damping_takes_energy_and_never_gives_any(element, rng):
    """The force of the damper opposes the motion d over the step: d.f <= 0 up to terms of second order in d."""
    batch = random_batch(element, rng, stiffness=0.0, damping=20.0)
    start = deformed(rng, batch, 0.2)
    x = single(start + rng.uniform(-0.02, 0.02, start.shape))
    _, slope, _ = batch.evaluate(x, start)
    lost = ((x - start) * slope).sum(axis=(1, 2))
    assert lost.max() > 1e-3
    assert lost.min() >= -1e-2 * lost.max()


@every_elastic_kind
def test_damping_scales_with_rate_not_with_stiffness(element, rng):
    """Damping is in absolute units: its force is linear in kd / dt and the same for every stiffness."""
    soft = random_batch(element, np.random.default_rng(1), stiffness=0.0, damping=20.0)
    stiff = random_batch(element, np.random.default_rng(1), stiffness=1.0, damping=20.0)
    elastic = random_batch(element, np.random.default_rng(1), stiffness=1.0, damping=0.0)
    start = deformed(rng, soft, 0.1)
    x = single(start + rng.uniform(-0.1, 0.1, start.shape))
    damper = soft.evaluate(x, start)[1]
    assert (np.abs(stiff.evaluate(x, start)[1] - elastic.evaluate(x, start)[1] - damper) / scale_of(damper)).max() < 1e-3
    assert (np.abs(soft.evaluate(x, start, 2.0 * DT)[1] * 2.0 - damper) / scale_of(damper)).max() < 1e-5


@every_elastic_kind
@pytest.mark.parametrize("size", [5e-4, 1.0, 100.0])
def test_elements_work_at_every_size(element, size, rng):
    """A shape `size` times as large has the same strain: forces scale with a power of the size and do not vanish."""
    sample = SAMPLES[element.name]
    rest = np.array(sample.rest)[None]
    material = np.array([[*sample.stiffness, 0.0]])
    strained = rest + rng.uniform(-0.1, 0.1, rest.shape)
    unit = make_batch(element, single(rest), material).evaluate(strained)
    scaled = make_batch(element, single(rest * size), material).evaluate(strained * size)
    for order in range(3):
        assert np.allclose(
            scaled[order] * size ** (order - sample.power), unit[order], rtol=2e-4, atol=2e-4 * np.abs(unit[order]).max()
        )


@every_kind
def test_digits_are_kept_far_from_the_origin(element, rng):
    """1024 m from the origin, where float32 resolves 0.1 mm: for a start that both places can hold, and displacements of 10 um,
    forces are those at the origin to 1e-5."""
    sample = SAMPLES[element.name]
    rest = np.round(np.array(sample.rest)[None] * 1024.0) / 1024.0
    batch = make_batch(element, np.tile(rest, (50, 1, 1)), np.tile([*sample.stiffness, 20.0], (50, 1)))
    start = np.round((batch.rest + rng.uniform(-0.1, 0.1, batch.rest.shape)) * 1024.0) / 1024.0
    d = rng.uniform(-1e-5, 1e-5, start.shape)
    for dt in (1.0, 1e-4):  # at the small one the damper, which lives on the displacements, rules
        near, far = (batch.evaluate_moved(start + shift, d, dt)[1] for shift in (0.0, 1024.0))
        assert (np.abs(far - near) / scale_of(near)).max() < 1e-5


@every_kind
def test_degenerate_shapes_have_finite_forces(element):
    """Corners in one point, on a line, in a plane, pairwise coincident; the same for the start of the step."""
    size = element.size
    line = np.linspace(0.0, 1.0, size)[:, None] * (1.0, 0.5, 0.25)
    plane = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])[:size]
    pairs = np.repeat(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), 2, axis=0)[:size]
    crossed = np.repeat(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), 2, axis=0)[[0, 2, 1, 3]][:size]
    shapes = np.stack([np.zeros((size, 3)), line, plane, plane * 1e-20, pairs, crossed, np.array(SAMPLES[element.name].rest)])
    n = len(shapes)
    rest = np.tile(np.array(SAMPLES[element.name].rest), (n * n, 1, 1))
    material = np.tile([*SAMPLES[element.name].stiffness, 20.0], (n * n, 1))
    batch = make_batch(element, rest, material)
    energy, slope, block = batch.evaluate(np.repeat(shapes, n, axis=0), np.tile(shapes, (n, 1, 1)))
    for values in (energy, slope, block):
        assert np.isfinite(values).all()
    assert (np.linalg.eigvalsh(block)[..., 0] >= -1e-6 * np.abs(block).max()).all()

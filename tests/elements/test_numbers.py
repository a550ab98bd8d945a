"""Elements with known numbers: theory notes, section 9.1, cases 1-4 and 8."""

import numpy as np
import pytest

import hooke
from hooke.elements.bending import measure_hinges
from hooke.model.generate.cloth import grid_triangles
from hooke.model.generate.soft import grid_tetrahedra

from .samples import KINDS, make_batch

HINGE = np.array([[(0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)]])


def nodal(batch, elements, x):
    """Forces of a batch summed at the nodes of a mesh."""
    force = np.zeros_like(x)
    np.add.at(force, elements, -batch.evaluate(x[elements])[1])
    return force


@pytest.mark.parametrize(
    ("stretch", "stress"), [((1.0, 1.0), (0.0, 0.0)), ((1.1, 1.1), (346.5, 346.5)), ((1.1, 1.0), (250.0, 65.0))]
)
def test_membrane_patch(stretch, stress):
    """Case 1: mu 1000, lambda 500 N/m: P11, P22 = 346.5, 346.5 at (1.1, 1.1) and 250, 65 N/m at (1.1, 1); inner nodes have no
    force, an edge of the boundary with length L gives P L/2 to each end; 1e-4 of mu."""
    n, cell = 4, 0.25
    triangles = grid_triangles(n, n)
    grid = np.stack(np.meshgrid(np.arange(n + 1) * cell, np.arange(n + 1) * cell), axis=-1).reshape(-1, 2)
    rest = np.column_stack([grid, np.zeros(len(grid))])
    batch = make_batch(KINDS["tri"], rest[triangles], np.tile([1000.0, 500.0, 0.0], (len(triangles), 1)))
    force = nodal(batch, triangles, rest * (*stretch, 1.0))
    wanted = np.zeros_like(rest)
    for axis in range(2):
        other = grid[:, 1 - axis]
        share = np.where((other == 0.0) | (other == n * cell), 0.5, 1.0) * cell
        wanted[:, axis] = stress[axis] * share * ((grid[:, axis] == 0.0).astype(float) - (grid[:, axis] == n * cell))
    assert np.abs(force - wanted).max() < 0.1 * cell


def test_tetrahedron_patch():
    """Case 2: mu 1000, lambda 500 Pa, stretch (1.1, 1, 1): P11 250, P22 and P33 65 Pa on the faces, no force on inner nodes."""
    n, cell = 3, 0.5
    tetrahedra = grid_tetrahedra(n, n, n)
    z, y, x = np.meshgrid(*[np.arange(n + 1) * cell] * 3, indexing="ij")
    rest = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    batch = make_batch(KINDS["tet"], rest[tetrahedra], np.tile([1000.0, 500.0, 0.0], (len(tetrahedra), 1)))
    force = nodal(batch, tetrahedra, rest * (1.1, 1.0, 1.0))
    assert np.abs(nodal(batch, tetrahedra, rest)).max() < 1e-3
    inner = ((rest > 0.0) & (rest < n * cell)).all(axis=1)
    assert inner.sum() == 8
    assert np.abs(force[inner]).max() < 1e-3
    area = (n * cell) ** 2
    for axis, stress in enumerate((250.0, 65.0, 65.0)):
        for side, sign in ((0.0, 1.0), (n * cell, -1.0)):
            face = rest[:, axis] == side
            assert abs(force[face, axis].sum() - sign * stress * area) < 1e-4 * 250.0 * area
            middle = face & ((rest > 0.0) & (rest < n * cell))[:, [a for a in range(3) if a != axis]].all(axis=1)
            assert np.abs(np.delete(force[middle], axis, axis=1)).max() < 1e-3


def test_hinge():
    """Case 3: theta 0 with gradients -1, -1, 1, 1 along z; with L 1, ke 2, rest 0.3: force -0.6 on x0, +0.6 on x2, block 2."""
    builder = hooke.ModelBuilder()
    builder.add_particles(HINGE[0], np.zeros((4, 3)), np.ones(4))
    builder.add_edge(0, 1, 2, 3, rest=0.3, edge_ke=2.0, edge_kd=0.0)
    batch = make_batch(KINDS["edge"], HINGE, np.array([[2.0, 0.0]]))
    batch.table.arrays["rest_angle"].assign(builder.edge_rest_angle.array.astype(np.float32))
    assert batch.table.arrays["rest_length"].numpy()[0] == 1.0
    _, slope, block = batch.evaluate(HINGE)
    assert np.allclose(-slope[0], [(0, 0, -0.6), (0, 0, -0.6), (0, 0, 0.6), (0, 0, 0.6)], atol=1e-6)
    wanted = np.zeros((4, 3, 3))
    wanted[:, 2, 2] = 2.0
    assert np.allclose(block[0], wanted, atol=1e-6)


def test_sign_of_the_hinge_angle():
    """Lifting both wings by 0.2 towards the common normal: theta = -2 atan(0.2) = -0.39479; lowering them: +0.39479."""
    lifted = HINGE.copy()
    lifted[:, :2, 2] += 0.2
    theta = measure_hinges(*lifted.swapaxes(0, 1))
    assert abs(theta[0] + 0.39479) < 1e-5
    batch = make_batch(KINDS["edge"], HINGE, np.array([[2.0, 0.0]]))
    energy, slope, _ = batch.evaluate(lifted)
    assert abs(energy[0] - 0.39479**2) < 1e-5
    assert slope[0, 0, 2] > 0.0  # the lifted wing is pulled back down
    lifted[:, :2, 2] = -0.2
    assert abs(measure_hinges(*lifted.swapaxes(0, 1))[0] - 0.39479) < 1e-5


def test_axial_damping_of_a_spring():
    """Case 4: ends at (+-0.5, 0, 0), turned from a start at 0.1 rad, ke 0, kd 20, dt 0.1: no force, block diag(200, 0, 0)."""
    x = np.array([[(-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)]])
    c, s = np.cos(0.1), np.sin(0.1)
    start = x @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    _, slope, block = make_batch(KINDS["spring"], x, np.array([[0.0, 20.0]])).evaluate(x, start, 0.1)
    assert np.abs(slope).max() < 2e-5
    assert np.allclose(block, np.diag([200.0, 0.0, 0.0]), atol=1e-3)


def test_damping_numbers():
    """A stretch by 10 % over dt 0.1 with kd 20, by hand.

    Spring of 1 m: kd 0.1/0.1 = 20 N. Membrane, uniaxial along x: dC/dt = (1.21 - 1)/0.1 = 2.1, P11 = 2 kd F dC/dt = 92.4 N/m,
    that is 46.2 N on an edge of 1 m shared by two nodes. Hinge opened by 0.1 rad at L 1: moment kd L 0.1/0.1 = 20 N m.
    """
    x = np.array([[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]])
    slope = make_batch(KINDS["spring"], x, np.array([[0.0, 20.0]])).evaluate(x * (1.1, 1.0, 1.0), x, 0.1)[1]
    assert np.allclose(slope[0], [(-20.0, 0.0, 0.0), (20.0, 0.0, 0.0)], rtol=1e-5)
    square = np.array([[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)]])
    slope = make_batch(KINDS["tri"], square, np.tile([0.0, 0.0, 20.0], (2, 1))).evaluate(square * (1.1, 1.0, 1.0), square, 0.1)[1]
    assert np.allclose(slope[0, 1] + slope[1, 0], (46.2, 0.0, 0.0), rtol=1e-5, atol=1e-4)
    assert np.allclose(slope[0, 0], (-46.2, 0.0, 0.0), rtol=1e-5, atol=1e-4)
    bent = HINGE.copy()
    bent[0, 1] = (0.0, -np.cos(0.1), -np.sin(0.1))
    slope = make_batch(KINDS["edge"], HINGE, np.array([[0.0, 20.0]])).evaluate(bent, HINGE, 0.1)[1]
    assert np.allclose(slope[0, 0], (0.0, 0.0, -20.0), rtol=1e-4, atol=1e-4)


def test_tetrahedron_damping_number():
    """Uniaxial stretch by 10 % over dt 0.1, k_damp 20 Pa s: P11 = 2 kd F dC/dt = 92.4 Pa; the corner on x gets P11 V = 92.4/6 N."""
    x = np.array([[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]])
    slope = make_batch(KINDS["tet"], x, np.array([[0.0, 0.0, 20.0]])).evaluate(x * (1.1, 1.0, 1.0), x, 0.1)[1]
    assert np.allclose(slope[0], [(-15.4, 0.0, 0.0), (15.4, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)], rtol=1e-5, atol=1e-5)


def test_hinge_damping_from_coincident_points():
    """Case 8: all corners in one point at the start of the step, ke 0, kd 20: finite, no force, flat or bent."""
    bent = HINGE.copy()
    bent[0, 1] = (0.0, -np.cos(0.3), -np.sin(0.3))
    _, slope, block = make_batch(KINDS["edge"], np.repeat(HINGE, 2, axis=0), np.array([[0.0, 20.0]] * 2)).evaluate(
        np.concatenate([HINGE, bent]), np.zeros((2, 4, 3)), 0.1
    )
    assert np.isfinite(block).all()
    assert np.abs(slope).max() == 0.0


def test_hinges_of_garment_scale_bend():
    """Edges of 0.5 mm folded by 0.2 rad: the moment about the edge is ke L theta, as for large ones; absolute limits cut it off."""
    size = 5e-4
    rest = HINGE * size
    batch = make_batch(KINDS["edge"], rest, np.array([[1e-4, 0.0]]))
    bent = rest.copy()
    bent[0, 1] = size * np.array([0.0, -np.cos(0.2), -np.sin(0.2)])
    _, slope, _ = batch.evaluate(bent)
    moment = slope[0, 0, 2] * size  # the first wing is `size` high
    assert abs(moment + 1e-4 * size * 0.2) < 1e-3 * 1e-4 * size * 0.2

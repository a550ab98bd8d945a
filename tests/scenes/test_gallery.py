"""What the built-in scenes of self-contact show, small: what should lie, hang, wrap or move on does, and no triangles intersect."""

import numpy as np
import pytest

import hooke
from hooke.geometry import intersecting_triangles
from hooke.scenes import cloth_on_rollers, cloth_stack, cloth_twist, garment, rope_net, soft_pile
from tests.support import GRAVITY


def play(scene, every=5, **settings):
    """Run a scene; no triangles intersect in any ``every``-th frame. Returns the result and the positions of all frames."""
    result = hooke.run(scene, **settings)
    triangles, q = result.model.tri_indices.numpy(), result.trajectory.particle_q
    for frame in {*range(0, len(q), every), len(q) - 1}:
        assert len(intersecting_triangles(q[frame], triangles)) == 0, frame
    return result, q.astype(np.float64)


def drop_energy(result, q):
    """What the particles lost in height [J]."""
    return GRAVITY * float(result.model.particle_mass.numpy().astype(np.float64) @ (q[0, :, 2] - q[-1, :, 2]))


def rests(result, q, share):
    return result.summary["kinetic_end_J"] < share * drop_energy(result, q)


def test_cards_come_to_rest():
    result, q = play(cloth_stack(cards=5, n=4), seconds=2.0)
    assert rests(result, q, 1e-6)
    assert (np.diff(q[-1].reshape(5, -1, 3)[:, :, 2].mean(axis=1)) > 0.0).all()


@pytest.mark.slow
def test_twenty_cards_come_to_rest():
    """Verification list, "thin things": kinetic energy < 1e-6 of the drop after 3 s, no intersection in any frame."""
    result, q = play(cloth_stack(), every=1, seconds=3.0)
    assert rests(result, q, 1e-6)
    assert (np.diff(q[-1].reshape(20, -1, 3)[:, :, 2].mean(axis=1)) > 0.0).all()


def test_rollers_carry_the_band_straight_and_without_slip():
    _, q = play(cloth_on_rollers(n=10), seconds=0.8)
    band = q.reshape(len(q), 11, 31, 3) if np.allclose(q[0, :11, 1], q[0, 0, 1]) else q.reshape(len(q), 31, 11, 3).swapaxes(1, 2)
    middle = band[:, :, 10, :2]  # across, at a third of the length
    way = np.diff(middle[[24, 42]].mean(axis=1), axis=0)[0]
    assert way[0] == pytest.approx(0.4 * 0.3, rel=0.15) and abs(way[1]) < 0.01
    assert abs(middle[42, 0, 0] - middle[42, -1, 0]) < 0.05  # it does not turn either


@pytest.mark.slow
def test_rollers_let_the_band_fall_and_lie():
    result, q = play(cloth_on_rollers(), seconds=4.0)
    assert q[-1, :, 2].max() < 0.3 and q[-1, :, 0].min() > -0.05 and np.abs(q[-1, :, 1]).max() < 0.4
    assert rests(result, q, 1e-3)


def test_the_pile_stays_in_its_box_the_right_way_out():
    scene = soft_pile(count=5, n=3)
    result, q = play(scene, seconds=1.0)
    assert np.abs(q[-1, :, :2]).max() < 1.5 * 0.2 + 0.01 and q[-1, :, 2].min() > -0.005
    corners = q[:, result.model.tet_indices.numpy()]
    volume = np.linalg.det(corners[:, :, 1:] - corners[:, :, :1])
    assert (volume[-1] > 0.2 * volume[0]).all()
    assert rests(result, q, 0.1)


@pytest.mark.slow
def test_the_pile_settles():
    result, q = play(soft_pile(), seconds=3.0)
    assert rests(result, q, 1e-3)


def test_the_tunic_is_sewn_and_hangs_on_the_body():
    scene = garment(n=10)
    seams = scene.builder.spring_indices.array.reshape(-1, 2)
    result, q = play(scene, seconds=1.0)
    gap = np.linalg.norm(q[:, seams[:, 0]] - q[:, seams[:, 1]], axis=2)
    assert gap[0].min() > 0.3 and gap[-1].max() < 0.06 and np.median(gap[-1]) < 0.02
    assert result.summary["max_penetration_m"] < 0.01
    assert np.abs(np.median(q[-1], axis=0)[:2]).max() < 0.1 and q[-1, :, 2].min() > 0.3 and q[-1, :, 2].max() < 1.55
    assert np.quantile(np.linalg.norm(result.state.particle_qd.numpy(), axis=1), 0.95) < 0.5


def test_the_net_wraps_the_cloth_on_the_ball():
    scene = rope_net(meshes=5, links=3, n=12)
    _, q = play(scene, seconds=1.2)
    cloth, net = q[-1, : 13 * 13], q[-1, 13 * 13 :]
    far = np.linalg.norm(net - (0.0, 0.0, 0.35), axis=1)
    assert far.min() > 0.35 and np.mean(far < 0.48) > 0.5
    assert net[:, 2].max() > cloth[:, 2].max()  # the net lies on top
    assert np.linalg.norm(net.mean(axis=0)[:2]) < 0.2


def test_twisted_ends_are_a_turn_apart():
    """The line between the long sides of the cloth turns by 2 pi on the way from end to end, by less than pi from column to column."""
    _, q = play(cloth_twist(n=14, turns=1.0, rate=2.0 * np.pi))
    grid = q[-1].reshape(14, 14, 3)
    grid = grid if np.ptp(grid[0, :, 0]) > np.ptp(grid[:, 0, 0]) else grid.swapaxes(0, 1)
    across = grid[-1] - grid[0]
    angle = np.unwrap(np.arctan2(across[:, 2], across[:, 1]))
    assert np.abs(np.diff(angle)).max() < 0.8 * np.pi
    assert abs(angle[-1] - angle[0]) == pytest.approx(2.0 * np.pi, rel=1e-3)

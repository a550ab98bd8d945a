import numpy as np
import pytest

from hooke.viewer import Camera
from hooke.viewer.camera import extent, moved

from .fake import IDENTITY, moving, state


def test_projection():
    camera = Camera(position=(0, -10, 0), target=(0, 0, 0), fov=90.0)
    pixels = camera.project([[0, 0, 0], [10, 0, 0], [0, 0, 10], [0, -5, -5]], 200, 100)
    np.testing.assert_allclose(pixels, [[100, 50, 10], [150, 50, 10], [100, 0, 10], [100, 100, 5]], atol=1e-9)


@pytest.mark.parametrize("up_axis", [0, 1, 2])
@pytest.mark.parametrize("azimuth, elevation", [(-60, 20), (10, 0), (130, 85), (0, 90)])
def test_framing_is_tight(up_axis, azimuth, elevation):
    points = np.random.default_rng(3).normal(size=(500, 3)) * [3, 1, 0.5] + [10, -4, 7]
    camera = Camera.framing(points, azimuth=azimuth, elevation=elevation, up_axis=up_axis, aspect=2.0)
    x, y, depth = camera.project(points, 200, 100).T
    assert depth.min() > 0 and x.min() > 0 and x.max() < 200 and y.min() > 0 and y.max() < 100
    room = np.array([x.min(), 200 - x.max(), y.min(), 100 - y.max()])
    assert abs(room[0] - room[1]) < 0.1 and abs(room[2] - room[3]) < 0.1  # centred
    assert min(room[0] / 200, room[2] / 100) < 0.05  # near
    closer = Camera.framing(points, azimuth=azimuth, elevation=elevation, up_axis=up_axis, aspect=2.0, zoom=2.0)
    assert np.linalg.norm(np.subtract(closer.position, closer.target)) == pytest.approx(
        0.5 * np.linalg.norm(np.subtract(camera.position, camera.target))
    )


def test_framing_direction():
    camera = Camera.framing([(-1, -1, -1), (1, 1, 1)], azimuth=90, elevation=0)
    assert camera.position[1] > 2 and np.allclose([camera.position[0], camera.position[2]], 0, atol=1e-6)
    camera = Camera.framing([(-1, -1, -1), (1, 1, 1)], azimuth=90, elevation=0, up_axis=1)  # Y up: from Z on to X
    assert camera.position[0] > 2 and camera.up == (0, 1, 0)


def test_framing_a_recording_shows_all_that_moves():
    t = moving(20)
    camera = Camera.framing(t, aspect=1.0)
    points = [t.particle_q.reshape(-1, 3)]
    points += [moved(moved(t.shapes[0].vertices, t.shapes[0].transform), pose) for pose in t.body_q[:, 0]]
    x, y, depth = camera.project(np.concatenate(points), 100, 100).T
    assert depth.min() > 0 and min(x.min(), y.min()) > 0 and max(x.max(), y.max()) < 100


def test_a_huge_obstacle_does_not_make_the_rest_small():
    t = moving(2)
    t.shapes[1].vertices = t.shapes[1].vertices * 1000
    assert np.ptp(extent(t), axis=0).max() < 20


def test_a_position_that_is_no_number_is_left_out():
    t = moving(2)
    t.append(state(np.full((7, 3), np.nan), [IDENTITY]), 1.0)
    assert np.isfinite(extent(t)).all() and np.isfinite(Camera.framing(t).position).all()


def test_bad_camera():
    with pytest.raises(ValueError, match="own position"):
        Camera((1, 2, 3), (1, 2, 3)).axes()

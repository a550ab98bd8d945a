import os
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

from hooke.viewer import Camera, Style, Trajectory, render
from hooke.viewer.movie import gif_delays, kind_of, numbered
from hooke.viewer.record import Plane, ShapeMesh
from hooke.viewer.render import Scene, render_frame
from hooke.viewer.scene import linear

from .fake import IDENTITY, SQUARE, box, model, moving, state

FRONT = Camera(position=(0, -10, 0), target=(0, 0, 0), fov=40.0)
FLAT = Style(background="#000000", spread=None, occlusion=0, sun=(0, -1, 0.5))  # no shadows, black where nothing is
W, H = 64, 48


def soft(triangles, *frames, **more):
    """A recording of a deformable mesh."""
    points = np.array(frames[0], np.float32)
    radius = np.full(len(points), more.pop("radius", 0.1), np.float32)
    t = Trajectory(fps=30.0, particle_radius=radius, triangles=np.array(triangles, np.int32).reshape(-1, 3), **more)
    for f, q in enumerate(frames):
        t.append(state(q, [IDENTITY] * len(t.body_label)), f / 30.0)
    return t


def shape(vertices, triangles, *, at=(0, 0, 0), body=-1, color=None, size=None):
    return ShapeMesh("shape", body, np.array([*at, 0, 0, 0, 1], np.float32), vertices, triangles, color, size)


def still(*shapes, planes=()):
    t = Trajectory(fps=30.0, shapes=list(shapes), planes=list(planes))
    t.append(state(), 0.0)
    return t


def picture(t, camera=FRONT, style=FLAT, samples=1, frame=0):
    scene = Scene(t, device="cpu")
    scene.pose(frame)
    return render_frame(scene, camera, W, H, samples, style).astype(int)


def at(image, camera, point):
    x, y, _ = camera.project(point, W, H)[0]
    return image[int(y), int(x)]


def test_a_triangle_covers_its_pixels():
    corners = np.array([(-2, 0, -1.5), (2.5, 1, -1), (0.3, -1, 2)], np.float32)
    image = picture(soft([(0, 1, 2)], corners))
    seen = image.max(axis=2) > 0
    x, y = np.meshgrid(np.arange(W) + 0.5, np.arange(H) + 0.5)
    a, b, c = FRONT.project(corners, W, H)[:, :2]
    sides = [(q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) for p, q in ((a, b), (b, c), (c, a))]
    lengths = [np.hypot(*(q - p)) for p, q in ((a, b), (b, c), (c, a))]
    inside = np.all([-s > 0.01 * n for s, n in zip(sides, lengths)], axis=0)  # by more than a hundredth of a pixel
    outside = np.any([-s < -0.01 * n for s, n in zip(sides, lengths)], axis=0)
    assert inside.sum() > 200 and seen[inside].all() and not seen[outside].any()


def test_the_nearer_one_is_seen():
    vertices, triangles = box(1.0)
    red = shape(vertices, triangles, at=(0, 0, 0), color=(1, 0, 0))
    green = shape(vertices, triangles, at=(0.5, -3, 0), color=(0, 1, 0))
    for order in ((red, green), (green, red)):
        image = picture(still(*order))
        r, g, _ = at(image, FRONT, [0.5, -4, 0])
        assert g > 100 > r
        r, g, _ = at(image, FRONT, [-0.95, -1, 0])
        assert r > 100 > g


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_shadow_falls_away_from_the_sun(spread):
    vertices, triangles = box(0.5)
    floor = Plane("floor", np.zeros(3, np.float32), np.array([0, 0, 1], np.float32))
    t = still(shape(vertices, triangles, at=(0, 0, 0.5)), planes=[floor])
    camera = Camera.framing([(-2, -2, 0), (2, 2, 1)], elevation=88.0, aspect=W / H)
    for sun, dark, light in (((1, 0, 1), (-0.9, 0, 0), (0.9, 0, 0)), ((0, -1, 1), (0, 0.9, 0), (0, -0.9, 0))):
        image = picture(t, camera, Style(sun=sun, spread=spread, occlusion=0))
        assert at(image, camera, dark).sum() < 0.85 * at(image, camera, light).sum()
        unshadowed = picture(t, camera, Style(sun=sun, spread=None, occlusion=0))
        assert at(unshadowed, camera, dark).sum() > 0.95 * at(image, camera, light).sum()


def test_corners_near_things_are_darker():
    vertices, triangles = box(0.5)
    floor = Plane("floor", np.zeros(3, np.float32), np.array([0, 0, 1], np.float32))
    t = still(shape(vertices, triangles, at=(0, 0, 0.5)), planes=[floor])
    camera = Camera.framing([(-2, -2, 0), (2, 2, 1)], elevation=88.0, aspect=W / H)
    night = (0, 0, -1)  # only the sky shines
    open_sky, image = (picture(t, camera, Style(sun=night, occlusion=rays)) for rays in (0, 4))
    near, far = (0, -0.6, 0), (0, -1.5, 0)
    assert at(image, camera, near).sum() < 0.95 * at(image, camera, far).sum()
    assert at(open_sky, camera, near).sum() > 0.98 * at(open_sky, camera, far).sum()


def test_both_sides_are_drawn_in_different_colours():
    corners = [(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)]
    front = at(picture(soft(SQUARE, corners)), FRONT, (0, 0, 0))
    back = at(picture(soft(SQUARE[:, ::-1], corners)), FRONT, (0, 0, 0))
    assert front.sum() > 100 and back.sum() > 100 and np.abs(front - back).max() > 20


def test_capsules_and_spheres_are_round():
    t = Trajectory(
        fps=30.0,
        particle_radius=np.array([0.5, 0.5, 0.9], np.float32),
        springs=np.array([[0, 1]], np.int32),
        points=np.array([2], np.int32),
        shapes=[shape(*box(1.0), at=(0, 0, 0), body=0, size=(0.4, 1.0))],
        body_label=["bar"],
    )
    s = np.sqrt(0.5)
    t.append(state([(-3, 0, -1), (-3, 0, 1), (2.5, 0, 0.5)], [(0, 0, 0.2, 0, s, 0, s)]), 0.0)  # the bar lies along x
    lit = picture(t).max(axis=2) > 0
    x, y = np.meshgrid(np.arange(W) + 0.5, np.arange(H) + 0.5)
    scale = H / (2 * np.tan(np.radians(20.0)) * 10)  # pixels per metre at the depth of the centres
    px, pz = (x - W / 2) / scale, (H / 2 - y) / scale
    gaps = (
        np.hypot(px - 2.5, pz - 0.5) - 0.9,
        np.hypot(np.maximum(np.abs(px) - 1.0, 0), pz - 0.2) - 0.4,
        np.hypot(px + 3, np.maximum(np.abs(pz) - 1.0, 0)) - 0.16,  # thin: 0.08 of its length
    )
    gap = np.min(gaps, axis=0)
    assert lit[gap < -0.02].all() and not lit[gap > 0.1].any()  # perspective widens the outlines a little
    assert (gap < -0.02).sum() > 200


def test_smooth_and_sharp_normals():
    # A roof of two planes at 40 degrees is shaded as one curved surface, at 80 degrees as two flat ones.
    def steps(angle):
        x = np.array([-1.5, 0, 1.5])
        y = np.abs(x) * np.tan(np.radians(angle / 2))
        points = [(a, b, z) for a, b in zip(x, y) for z in (-1, 1)]
        image = picture(soft([(0, 2, 1), (1, 2, 3), (2, 4, 3), (3, 4, 5)], points), style=Style("#000000", sun=(1, -1, 0)))
        row = image[H // 2].sum(axis=1)
        lit = row[row > 0]
        return np.abs(np.diff(lit)).max() / np.ptp(lit)

    assert steps(40) < 0.3 and steps(80) > 0.9


def test_a_moving_mesh_is_refitted_and_the_result_repeats():
    a = [(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)]
    b = [(x + 2.5, y, z) for x, y, z in a]
    t = soft(SQUARE, a, b, a, b)
    scene = Scene(t, device="cpu")
    images = []
    for f in range(4):
        scene.pose(f)
        images.append(render_frame(scene, FRONT, W, H, 2, FLAT))
        point = (0.0, 0, 0) if f % 2 == 0 else (2.5, 0, 0)
        other = (2.5, 0, 0) if f % 2 == 0 else (0.0, 0, 0)
        assert at(images[-1], FRONT, point).max() > 0 and at(images[-1], FRONT, other).max() == 0
    assert np.array_equal(images[0], images[2]) and np.array_equal(images[1], images[3])
    fresh = Scene(t, device="cpu")
    fresh.pose(3)
    assert np.array_equal(render_frame(fresh, FRONT, W, H, 2, FLAT), images[3])


def test_edges_are_smoothed_only_with_samples():
    corners = [(-2, 0, -2), (2, 0, -1.7), (2, 0, 1.2), (-2, 0, 1.5)]
    t = soft(SQUARE, corners)
    rough, fine = picture(t, samples=1), picture(t, samples=3)
    inner = at(rough, FRONT, (0, 0, 0)).sum()
    partial = [((image.sum(axis=2) > 0.1 * inner) & (image.sum(axis=2) < 0.8 * inner)).sum() for image in (rough, fine)]
    assert partial[0] == 0 and partial[1] > 20


def test_bands_of_threads_make_the_same_picture(monkeypatch):
    t = moving()
    camera = Camera.framing(t)
    scene = Scene(t, device="cpu")
    many = render_frame(scene, camera, 200, 120)  # large enough for bands
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert np.array_equal(render_frame(scene, camera, 200, 120), many)


def test_real_shapes_are_drawn():
    vertices, triangles = box(1.0)
    m = model(
        shapes=[
            (1, (0, 0, 0), (0, 0, -1, 0, 0, 0, 1), -1, None),
            (3, (0.8, 0, 0), (-2.2, 0, 0, 0, 0, 0, 1), -1, None),
            (7, (0.7, 0.7, 0.7), IDENTITY, 0, None),
            (
                8,
                (0.7, 0.7, 0.7),
                (2.2, 0, 0, 0, 0, 0, 1),
                -1,
                SimpleNamespace(vertices=vertices, indices=triangles.ravel()),
            ),
        ],
        bodies=1,
        shape_color=np.array([(0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 0, 1)]),
    )
    t = Trajectory.from_model(m)
    t.append(state(bodies=[(0, 0, 0.5, 0, 0, 0, 1)]), 0.0)
    camera = Camera((0, -10, 1), (0, 0, 0), fov=40.0)
    image = picture(t, camera)
    for point, color in (
        ((-2.2, -0.8, 0), (1, 0, 0)),
        ((0, -0.7, 0.5), (0, 1, 0)),
        ((2.2, -0.7, 0), (1, 0, 1)),
        ((0, -4, -1), (0, 0, 1)),
    ):
        seen = at(image, camera, point)
        assert (seen[np.array(color) == 1] > 90).all() and (seen[np.array(color) == 0] < 90).all(), (point, seen)


def test_positions_that_are_no_numbers_do_not_stop_the_picture():
    bad = np.full((4, 3), np.nan)
    t = soft(SQUARE, [(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)], bad, points=np.array([0], np.int32))
    assert picture(t, frame=1).shape == (H, W, 3)
    assert picture(soft(SQUARE, bad)).shape == (H, W, 3)


def test_png(tmp_path):
    image = pytest.importorskip("PIL.Image")
    t = moving()
    calls = []
    (path,) = render(t, tmp_path / "a.png", width=W, height=H, device="cpu", progress=lambda *c: calls.append(c))
    with image.open(path) as last:
        assert last.size == (W, H) and calls == [(1, 1)]
        pixels = np.array(last)
    render(t, tmp_path / "b.png", frame=3, width=W, height=H, device="cpu")
    render(t, tmp_path / "c.png", frame=0, width=W, height=H, device="cpu")
    assert np.array_equal(np.array(image.open(tmp_path / "b.png")), pixels)
    assert not np.array_equal(np.array(image.open(tmp_path / "c.png")), pixels)
    files = render(t, tmp_path / "n_%03d.png", width=W, height=H, device="cpu", start=1)
    assert [f.name for f in files] == ["n_000.png", "n_001.png", "n_002.png"]
    assert np.array_equal(np.array(image.open(files[-1])), pixels)
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.png", "c.png", "n_000.png", "n_001.png", "n_002.png"]


def test_gif(tmp_path):
    image = pytest.importorskip("PIL.Image")
    t = moving(6)
    calls = []
    render(t, tmp_path / "a.gif", width=W, height=H, device="cpu", progress=lambda *c: calls.append(c))
    with image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 6 and film.size == (W, H) and film.info["loop"] == 0
        assert calls == [(i, 6) for i in range(1, 7)]
        durations = []
        for f in range(6):
            film.seek(f)
            durations.append(film.info["duration"])
        assert sum(durations) == 200  # six frames at 30 per second
    render(t, tmp_path / "b.gif", width=W, height=H, device="cpu", every=2, stop=5, fps=10)
    with image.open(tmp_path / "b.gif") as film:
        assert film.n_frames == 3 and film.info["duration"] == 100


def test_mp4(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    pytest.importorskip("imageio_ffmpeg")
    t = moving(6)
    render(t, tmp_path / "a.mp4", width=W, height=H, device="cpu")
    with imageio.get_reader(tmp_path / "a.mp4") as film:
        frames = [np.array(f) for f in film]
        assert film.get_meta_data()["fps"] == 30.0
    assert len(frames) == 6 and frames[0].shape == (H, W, 3)
    scene = Scene(t, device="cpu")
    expected = render_frame(scene, Camera.framing(t, aspect=W / H), W, H).astype(int)
    assert np.abs(frames[-1] - expected).mean() < 8
    with pytest.raises(ValueError, match="even"):
        render(t, tmp_path / "b.mp4", width=63, height=H)
    assert os.listdir(tmp_path) == ["a.mp4"]


def test_wrong_requests_are_named(tmp_path):
    t = moving(2)
    with pytest.raises(ValueError, match=r"\.jpg.*\.png.*\.gif.*\.mp4"):
        render(t, tmp_path / "a.jpg")
    with pytest.raises(ValueError, match="no frame"):
        render(Trajectory(fps=1.0), tmp_path / "a.png")
    with pytest.raises(ValueError, match="recording has 2"):
        render(t, tmp_path / "a.gif", start=5, device="cpu")
    with pytest.raises(IndexError, match="frame 2 of a recording of 2 frames"):
        render(t, tmp_path / "a.png", frame=2, device="cpu")
    with pytest.raises(ValueError, match="colour"):
        render(t, tmp_path / "a.png", style=Style(ground="red"), device="cpu")
    with pytest.raises(ValueError, match="1 or more"):
        render(t, tmp_path / "a.png", width=0, device="cpu", camera=FRONT)
    assert os.listdir(tmp_path) == []


def test_names_and_times():
    assert [kind_of(f"x/{n}") for n in ("a.png", "a.GIF", "a.mp4", "a_{}.png", "a_{:04d}.png", "a%04d.png")] == [
        "png", "gif", "mp4", "pngs", "pngs", "pngs",
    ]  # fmt: skip
    from pathlib import Path

    assert numbered(Path("d_{}/a_{:03d}.png"), 7) == Path("d_{}/a_007.png")
    assert numbered(Path("a%04d.png"), 12).name == "a0012.png" and numbered(Path("a{}.png"), 12).name == "a12.png"
    assert gif_delays(6, 30) == [30, 40, 30, 30, 40, 30] and sum(gif_delays(100, 24)) == 4170
    np.testing.assert_allclose(linear("#ff8000"), [1, 0.21586, 0], atol=1e-5)


@pytest.mark.parametrize("arch", [75, 90])
def test_kernels_compile_for_cuda(tmp_path, arch):
    import hooke.viewer.pose
    import hooke.viewer.trace

    if arch not in wp.get_cuda_supported_archs():
        pytest.skip(f"this Warp cannot compile for sm_{arch}")
    for module in (hooke.viewer.pose, hooke.viewer.trace):
        files = wp.compile_aot_module(module, device=None, arch=arch, use_ptx=True, module_dir=tmp_path)
        assert files[0].stat().st_size > 1000

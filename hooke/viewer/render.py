"""Pictures and films of a recording, by casting rays on any Warp device: no window, no graphics library."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from hooke.viewer.camera import Camera
from hooke.viewer.movie import kind_of, numbered, write_gif, write_mp4, write_png
from hooke.viewer.record import Trajectory
from hooke.viewer.scene import Scene, linear
from hooke.viewer.trace import Film, Light, View, expose, resolve

__all__ = ["Camera", "Scene", "Style", "render", "render_frame"]

GIF_FPS = 34.0  # faster films are thinned out: players slow a GIF down when its frames are shorter than 20 to 30 ms
HORIZON, ZENITH = "#e9eef3", "#8fb4d9"


@dataclass(frozen=True)
class Style:
    """Light and colours of a picture; colours are ``"#rrggbb"`` or three numbers from 0 to 1.

    Attributes:
        background: One colour, or None for a sky.
        ground: Colour of infinite planes, or None for that of the recording.
        sun: Direction towards the sun, or None for one over the left shoulder of the camera.
        spread: Angular radius of the sun [degrees]: 0 makes hard shadows, None none.
        occlusion: Rays per pixel that find how much sky a point sees; 0 is faster and flatter.
    """

    background: Any = None
    ground: Any = None
    sun: tuple[float, float, float] | None = None
    spread: float | None = 1.0
    occlusion: int = 4


def render_frame(
    scene: Scene, camera: Camera, width: int = 960, height: int = 540, samples: int = 2, style: Style | None = None
) -> np.ndarray:
    """Draw the current pose of a scene.

    Args:
        scene: Geometry, at the pose that :meth:`Scene.pose` was last asked for (the last frame if never).
        camera: Where to look from.
        width: Pixels across.
        height: Pixels down.
        samples: Rays per pixel along each axis where something ends inside it; 1 turns anti-aliasing off.
        style: Light and colours.

    Returns:
        The picture, uint8 sRGB, shape (height, width, 3).

    Raises:
        ValueError: No pixels or no samples.
    """
    if width < 1 or height < 1 or samples < 1:
        raise ValueError(f"expected a width, height and samples of 1 or more, found {width}, {height} and {samples}")
    if scene.frame < 0:
        scene.pose(-1)
    style, device, count = style or Style(), scene.device, width * height
    view = view_of(camera, width, height)
    light = light_of(camera, style, scene)
    film: Any = Film()
    film.part = wp.empty(count, dtype=wp.int32, device=device)
    for name in ("position", "normal", "sun", "sky"):
        setattr(film, name, wp.empty(count, dtype=wp.vec3, device=device))
    film.seen = wp.empty(count, dtype=wp.vec2, device=device)
    film.haze = wp.empty(count, dtype=wp.float32, device=device)
    image = wp.empty((count, 3), dtype=wp.uint8, device=device)
    run(expose, count, width, [view, scene.geometry, light], [film], device)
    run(resolve, count, width, [view, scene.geometry, light, film], [int(samples), image], device)
    return image.numpy().reshape(height, width, 3)


def run(kernel: Any, count: int, width: int, before: list, after: list, device: Any) -> None:
    """Launch a kernel over pixels; on the CPU one thread per core draws bands of rows, with the same result."""
    threads = 1 if device.is_cuda else min(os.cpu_count() or 1, 16)
    if threads == 1 or count < 16384:
        wp.launch(kernel, count, [*before, 0, *after], device=device)
        return
    band = width * max(count // width // (8 * threads), 1)

    def draw(first: int) -> None:
        wp.launch(kernel, min(band, count - first), [*before, first, *after], device=device, record_tape=False)

    draw(0)  # compiles the module if need be, on one thread
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(draw, range(band, count, band)))


def view_of(camera: Camera, width: int, height: int) -> Any:
    right, up, forward = camera.axes()
    tangent = np.tan(0.5 * np.radians(camera.fov))
    view: Any = View()
    view.origin = wp.vec3(*camera.position)
    view.right = wp.vec3(*(right * tangent * width / height).tolist())
    view.up = wp.vec3(*(up * tangent).tolist())
    view.forward = wp.vec3(*forward.tolist())
    view.width, view.height = width, height
    view.pixel = float(2.0 * tangent / height)
    return view


def light_of(camera: Camera, style: Style, scene: Scene) -> Any:
    up = np.roll([0.0, 0.0, 1.0], scene.trajectory.up_axis - 2)
    if style.sun is None:
        right = camera.axes()[0]
        level = np.cross(up, right)  # forward along the ground
        sun = -0.75 * right - 0.3 * level + 1.0 * up
    else:
        sun = np.asarray(style.sun, np.float64)
    light: Any = Light()
    light.sun = wp.vec3(*(sun / np.linalg.norm(sun)).tolist())
    light.spread = -1.0 if style.spread is None else float(np.radians(style.spread))
    light.sun_color = wp.vec3(1.0, 0.94, 0.85)
    light.sky_color = wp.vec3(0.40, 0.45, 0.52)
    light.ground_color = wp.vec3(0.24, 0.23, 0.22)
    plain = style.background is not None
    light.horizon = wp.vec3(*linear(style.background if plain else HORIZON).tolist())
    light.zenith = wp.vec3(*linear(style.background if plain else ZENITH).tolist())
    light.up = wp.vec3(*up.tolist())
    light.occlusion = int(style.occlusion)
    light.reach = scene.size
    return light


def render(
    trajectory: Trajectory,
    path: str | os.PathLike,
    *,
    frame: int | None = None,
    start: int = 0,
    stop: int | None = None,
    every: int | None = None,
    width: int = 960,
    height: int = 540,
    samples: int = 2,
    fps: float | None = None,
    camera: Camera | None = None,
    azimuth: float = -60.0,
    elevation: float = 20.0,
    zoom: float = 1.0,
    fov: float = 35.0,
    style: Style | None = None,
    device: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Draw a recording into a file.

    The ending says what: ``.png``, ``.gif`` or ``.mp4``; a ``.png`` with ``{}`` or ``%04d`` in its name is a numbered
    picture for every frame.

    Args:
        trajectory: The recording.
        path: File to write; it appears when it is complete.
        frame: Frame of a single ``.png``, counted from the end when negative; the last one if None.
        start: First frame of a film.
        stop: Frame before which a film ends; the end of the recording if None.
        every: Draw every so many frames; 1 if None, and for a GIF what brings it to about 30 frames per second.
        width: Pixels across.
        height: Pixels down.
        samples: Rays per pixel along each axis where something ends inside it.
        fps: Frames per second of the film; real time if None.
        camera: Where to look from; if None, :meth:`Camera.framing` with the next four.
        azimuth: Direction of the camera around the up axis [degrees].
        elevation: Height of the camera above the horizon [degrees].
        zoom: Larger than 1 comes closer.
        fov: Vertical angle of view [degrees].
        style: Light and colours.
        device: Warp device, the default one if None.
        progress: Called with the numbers of pictures done and to do, after each of them.

    Returns:
        The files that were written.

    Raises:
        ValueError: Unknown ending, a recording without frames, an empty range of frames, or an odd size for an MP4.
        IndexError: No such frame.
        ImportError: The extra ``hooke[render]`` is not installed.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == "mp4" and (width % 2 or height % 2):
        raise ValueError(f"{path}: an MP4 needs an even width and height, found {width} x {height}")
    style = style or Style()
    scene = Scene(trajectory, device=device, ground=style.ground)
    if camera is None:
        camera = Camera.framing(trajectory, azimuth=azimuth, elevation=elevation, zoom=zoom, fov=fov, aspect=width / height)

    def draw(number: int, w: int = width, h: int = height) -> np.ndarray:
        scene.pose(number)
        return render_frame(scene, camera, w, h, samples, style)

    if kind == "png":
        write_png(path, draw(-1 if frame is None else frame))
        if progress:
            progress(1, 1)
        return [path]

    frames, rate = chosen(trajectory, kind, start, stop, every, fps)

    def images() -> Iterator[np.ndarray]:
        for done, number in enumerate(frames):
            yield draw(number)
            if progress:
                progress(done + 1, len(frames))

    if kind == "pngs":
        files = [numbered(path, i) for i in range(len(frames))]
        for file, image in zip(files, images()):
            write_png(file, image)
        return files
    if kind == "gif":
        small = [draw(frames[i], max(width // 2, 1), max(height // 2, 1)) for i in (0, len(frames) // 2, -1)]
        write_gif(path, images(), len(frames), rate, np.concatenate(small))
    else:
        write_mp4(path, images(), rate)
    return [path]


def chosen(
    trajectory: Trajectory, kind: str, start: int, stop: int | None, every: int | None, fps: float | None
) -> tuple[range, float]:
    """The frames of a film and how many of them to show per second."""
    if every is None:
        every = max(1, int(np.ceil(trajectory.fps / GIF_FPS))) if kind == "gif" and fps is None else 1
    frames = range(trajectory.frame_count)[start:stop:every]
    if not frames:
        raise ValueError(f"no frames from {start} to {stop}: the recording has {trajectory.frame_count}")
    rate = trajectory.fps / every if fps is None else fps
    if not rate > 0:
        raise ValueError(f"a film needs a positive number of frames per second, found {rate}")
    return frames, rate

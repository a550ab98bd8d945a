"""Pictures into files: one PNG, numbered PNGs, an animated GIF, an MP4."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hooke.viewer.files import replacing

__all__ = ["gif_delays", "kind_of", "numbered", "write_gif", "write_mp4", "write_png"]

ENDINGS = "a picture ends in .png, a film in .gif or .mp4; numbered pictures have {} or %04d in the name and end in .png"
NUMBER = re.compile(r"%0?\d*d|\{(:0?\d*d?)?\}")


def kind_of(path: str | os.PathLike) -> str:
    """What to write by the name of a file: "png", "pngs", "gif" or "mp4".

    Raises:
        ValueError: Another ending.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending in (".gif", ".mp4"):
        return ending[1:]
    if ending == ".png":
        return "pngs" if NUMBER.search(path.name) else "png"
    raise ValueError(f"{path}: unknown ending {path.suffix!r}; {ENDINGS}")


def numbered(path: Path, number: int) -> Path:
    """The name of a numbered picture."""

    def digits(match: re.Match) -> str:
        text = match.group()
        return text % number if text[0] == "%" else text.format(number)

    return path.with_name(NUMBER.sub(digits, path.name, count=1))


def write_png(path: Path, image: np.ndarray) -> None:
    """Write one picture, uint8, shape (H, W, 3)."""
    pillow = import_pillow()
    with replacing(path) as temporary:
        pillow.fromarray(image).save(temporary, format="PNG")


def gif_delays(count: int, fps: float) -> list[int]:
    """How long to show each of the frames [ms]: a GIF counts in 10 ms, so the rounding is spread over the frames."""
    ticks = np.round(np.arange(count + 1) * 100.0 / fps)
    return [int(10 * max(delay, 1)) for delay in np.diff(ticks)]


def write_gif(path: Path, images: Iterable[np.ndarray], count: int, fps: float, preview: np.ndarray) -> None:
    """Write an animated GIF that loops for ever.

    Args:
        path: Its name.
        images: Pictures, uint8, shape (H, W, 3).
        count: Number of pictures.
        fps: Pictures per second.
        preview: A picture with the colours of the film, from which its 256 are chosen: one palette keeps them steady.
    """
    pillow = import_pillow()
    palette = pillow.fromarray(distinct_colors(preview)).quantize(256, method=pillow.Quantize.MEDIANCUT, kmeans=2)
    frames = (pillow.fromarray(image).quantize(palette=palette, dither=pillow.Dither.NONE) for image in images)
    with replacing(path) as temporary:
        first = next(frames)
        first.save(temporary, format="GIF", save_all=True, append_images=frames, duration=gif_delays(count, fps), loop=0)


def distinct_colors(image: np.ndarray) -> np.ndarray:
    """Colours of a picture, a repeated one the square root as often, so that small things keep theirs; shape (1, n, 3)."""
    _, first, count = np.unique(image.reshape(-1, 3) >> 2, axis=0, return_index=True, return_counts=True)
    return np.repeat(image.reshape(-1, 3)[first], np.sqrt(count).astype(int), axis=0)[None]


def write_mp4(path: Path, images: Iterable[np.ndarray], fps: float) -> None:
    """Write an H.264 film; the pictures must have an even width and height."""
    try:
        import imageio.v2 as imageio
        import imageio_ffmpeg  # noqa: F401 the plugin that writes films
    except ImportError as error:
        raise ImportError(f'writing {path.name} needs imageio with ffmpeg: pip install "hooke[render]"') from error
    with replacing(path) as temporary:
        options: dict[str, Any] = {
            "format": "FFMPEG",
            "fps": fps,
            "codec": "libx264",
            "quality": 8,
            "macro_block_size": 2,
        }
        with imageio.get_writer(temporary, **options) as writer:
            for image in images:
                writer.append_data(image)


def import_pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('writing pictures needs Pillow: pip install "hooke[render]"') from error
    return Image

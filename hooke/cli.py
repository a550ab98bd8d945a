"""The command ``hooke``: arguments in, tables and files out. What it does is in :mod:`hooke.simulate` and below."""

from __future__ import annotations

import contextlib
import inspect
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Simulate cloth, soft bodies, springs, rigid bodies and cables, and picture them.",
)
out = Console()
err = Console(stderr=True)
LOG = logging.getLogger("hooke")
BUILT_IN = (
    "bouncing_balls", "box_pendulum", "box_stack", "cable_pile", "cable_twist", "cantilever_cable", "card_house", "cartpole",
    "cloth_hanging", "cloth_on_mesh", "cloth_on_rollers", "cloth_stack", "cloth_twist", "conveyor", "delta_robot", "four_bar",
    "garment", "jansen_leg", "newton_cradle", "nunchaku", "plank_bridge", "plectoneme", "pyramid", "quadruped", "ragdoll_pile",
    "rolling_balls", "rope_net", "slider_crank", "soft_drop", "soft_pile", "spring_chain", "stewart_platform", "wrecking_ball",
)  # fmt: skip
"""Names of the built-in scenes, written out so that help needs no import of them."""


def _vector(text: str, what: str, count: int = 3) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError:
        values = ()
    if len(values) != count:
        raise ValueError(f"{what} {text!r}: expected {count} numbers separated by commas")
    return values


def _spread(values: list[str] | None, count: int, what: str) -> list[str | None]:
    """One value for every part: the same for all, or one each."""
    if not values:
        return [None] * count
    if len(values) not in (1, count):
        raise ValueError(f"{what} is given {len(values)} times for {count} files: give it once, or once per file in their order")
    return list(values * count if len(values) == 1 else values)


@app.command()
def run(
    what: Annotated[
        list[str], typer.Argument(help=f"FILE:ROLE ... (roles cloth, soft, rigid, obstacle), or a scene: {', '.join(BUILT_IN)}.")
    ],
    output: Annotated[list[Path] | None, typer.Option("--output", "-o", help="File .npz, .usd, .usda; may repeat.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time \\[s].")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second.")] = None,
    substeps: Annotated[int | None, typer.Option(help="Steps per frame.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Sweeps per step (vbd), most iterations (kamino).")] = None,
    solver: Annotated[str | None, typer.Option(help="Solver: vbd or kamino; by default the scene's, vbd for files.")] = None,
    material: Annotated[str | None, typer.Option(help="Preset, or constants: E=1e6,nu=0.4,density=1100,thickness=1e-3.")] = None,
    scale: Annotated[list[str] | None, typer.Option(help="Factor or 'fit', once or per file.")] = None,
    rotate: Annotated[list[str] | None, typer.Option(help="Degrees about x,y,z, once or per file.")] = None,
    place: Annotated[list[str] | None, typer.Option(help="Middle x,y,z \\[m] ('-' leaves it), once or per file.")] = None,
    up: Annotated[str | None, typer.Option(help="Up axis of files that do not say: x, y or z.")] = None,
    units: Annotated[str | None, typer.Option(help="Unit of files that do not say: m, cm, mm, in, ft.")] = None,
    pin: Annotated[list[str] | None, typer.Option(help="Fix box:x0,y0,z0,x1,y1,z1 or plane:a,b,c,d; may repeat.")] = None,
    ground: Annotated[str, typer.Option(help="Height of the ground \\[m], 'auto' or 'none' (files only).")] = "auto",
    resolution: Annotated[int, typer.Option(help="Cells along the longest side of a soft body made from a surface.")] = 14,
    hull: Annotated[bool, typer.Option("--hull", help="FILE:rigid takes the convex hull of the mesh.")] = False,
    worlds: Annotated[int, typer.Option(help="Copies side by side, each its own world.")] = 1,
    device: Annotated[str | None, typer.Option(help="Warp device, such as cpu or cuda:0.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no table.")] = False,
) -> None:
    """Simulate a built-in scene or meshes from files, and record it."""
    import warp as wp

    wp.config.log_level = wp.LOG_ERROR
    if quiet:
        LOG.setLevel(logging.WARNING)
    from hooke.simulate import METHODS, SimulationError, prepare
    from hooke.simulate import run as simulate

    if solver is not None and solver not in METHODS:
        raise ValueError(f"unknown solver {solver!r}; expected one of {', '.join(METHODS)}")
    built_in = {"--scale": scale, "--rotate": rotate, "--place": place, "--up": up, "--units": units, "--hull": hull}
    from_files = len(what) > 1 or ":" in what[0]
    given = [name for name, value in built_in.items() if value and not from_files]
    if given:
        raise ValueError(f"{', '.join(given)}: only for FILE:ROLE, not for the built-in scene {what[0]!r}")
    prepare(device)
    if from_files:
        scene = _from_files(what, scale, rotate, place, up, units, resolution, material, ground, hull)
    else:
        scene = _built_in(what[0], material)
    from hooke.scenes.from_files import pin_particles

    for text in pin or []:
        pin_particles(scene.builder, text)
    files = output or [Path("results") / f"{scene.name}.npz"]
    _check_outputs(files)
    settings = {"seconds": seconds, "fps": fps, "substeps": substeps, "iterations": iterations, "device": device, "worlds": worlds,
                "method": solver}  # fmt: skip
    try:
        result = _with_progress(simulate, scene, settings, quiet)
    except SimulationError as error:
        _save(error.result, files)
        raise
    _save(result, files)
    if not quiet:
        _print_summary(result)
    if result.interrupted:
        err.print(f"interrupted after {result.trajectory.frame_count - 1} frames; what was simulated is saved", highlight=False)
    for path in result.files:
        out.print(f"recording: {path}", highlight=False, soft_wrap=True)


def _built_in(name: str, material: str | None) -> Any:
    from hooke.scenes import SCENES

    if name not in SCENES:
        raise ValueError(f"unknown scene {name!r}; expected one of {', '.join(SCENES)}, or FILE:ROLE")
    if material is None:
        return SCENES[name]()
    if "material" not in inspect.signature(SCENES[name]).parameters:
        raise ValueError(f"scene {name!r} has no material to choose")
    try:
        return SCENES[name](material=material)
    except KeyError:
        from hooke.model.material import CLOTH_PRESETS, SOFT_PRESETS

        presets = SOFT_PRESETS if name.startswith("soft") else CLOTH_PRESETS
        raise ValueError(f"scene {name!r} takes a preset as its material: {', '.join(presets)}; found {material!r}") from None


def _from_files(
    what: list[str], scale: Any, rotate: Any, place: Any, up: str | None, units: str | None, resolution: int, material: str | None,
    ground: str, hull: bool = False,
) -> Any:  # fmt: skip
    from hooke.scenes.from_files import parse_part, scene_from_files

    parts = [parse_part(text) for text in what]
    count = len(parts)
    scales, turns, places = _spread(scale, count, "--scale"), _spread(rotate, count, "--rotate"), _spread(place, count, "--place")
    for part, factor, turn, where in zip(parts, scales, turns, places, strict=True):
        part.up, part.units, part.resolution, part.hull = up, units, resolution, hull
        if factor is not None:
            part.scale = factor if factor == "fit" else _vector(factor, "--scale", 1)[0]
        if turn is not None:
            part.rotate = _vector(turn, "--rotate")  # type: ignore[assignment]
        if where not in (None, "-"):
            part.place = _vector(where, "--place")  # type: ignore[assignment,arg-type]
        part.__post_init__()
    height = ground if ground == "auto" else None if ground == "none" else _vector(ground, "--ground", 1)[0]
    return scene_from_files(parts, material=material, ground=height)


def _check_outputs(files: list[Path]) -> None:
    """Refuse outputs that cannot be written before anything is simulated."""
    for path in files:
        if path.suffix.lower() not in (".npz", ".usd", ".usda", ".usdc"):
            raise ValueError(f"output {path}: expected a file ending in .npz, .usd, .usda or .usdc")
        if path.suffix.lower() != ".npz":
            try:
                import pxr  # noqa: F401
            except ImportError:
                raise ImportError(f'output {path}: writing USD needs usd-core; install it with: pip install "hooke[usd]"') from None
        path.parent.mkdir(parents=True, exist_ok=True)


def _save(result: Any, files: list[Path]) -> None:
    for path in files:
        result.save(path)


def _with_progress(simulate: Any, scene: Any, settings: dict[str, Any], quiet: bool) -> Any:
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("frame {task.completed}/{task.total}"),
        TextColumn("{task.fields[speed]}"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=err, disable=quiet, transient=not err.is_terminal) as bar:
        task = bar.add_task(f"{scene.name} (preparing)", total=None, speed="")

        def advance(done: int, total: int, seconds: float) -> None:
            rate = bar.tasks[0].speed or 0.0
            bar.update(task, completed=done, total=total, description=scene.name, speed=f"{rate:.1f} frames/s, t = {seconds:.2f} s")

        return simulate(scene, progress=advance, **settings)


def _print_summary(result: Any) -> None:
    s = result.summary

    def number(value: Any, unit: str = "", digits: int = 3) -> str:
        return "-" if value is None else f"{value:.{digits}g} {unit}".strip()

    rows = [
        ("steps", f"{s['steps']} ({s['frames']} frames, {s['simulated_s']:.3g} s)"),
        ("first frame after", number(s["first_frame_s"], "s")),
        ("time per step", number(s["step_ms"], "ms")),
        ("real-time factor", number(s["real_time_factor"])),
        ("max penetration", number(1.0e3 * s["max_penetration_m"], "mm")),
        ("contacts (most)", str(s["contacts"])),
        ("overflow", ", ".join(f"{k}: {n} needed, {m} available" for k, (n, m) in s["overflow"].items()) or "none"),
        ("residual", _residual(s, number)),
        ("energy", f"{s['energy_start_J']:.4g} -> {s['energy_end_J']:.4g} J (kinetic {s['kinetic_end_J']:.3g} J)"),
    ]
    table = Table(title=f"{result.scene.name} on {result.model.device}", show_header=False, title_justify="left")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _residual(s: dict[str, Any], number: Any) -> str:
    """How well the last step was solved, in the measure of the solver."""
    if "natural_map" not in s:
        return str(number(s["residual_N"], "N"))
    return number(s["natural_map"]) + (", converged" if s["converged"] else ", not converged")


@app.command()
def warmup(
    what: Annotated[
        list[str] | None, typer.Argument(help="Built-in scenes (default: all), and FILE:ROLE ... as one scene.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Warp device, such as cpu or cuda:0.")] = None,
) -> None:
    """Compile all kernels that scenes need, so that their first run starts at once."""
    import warp as wp

    wp.config.log_level = wp.LOG_ERROR
    from hooke.scenes import SCENES
    from hooke.simulate import prepare, run

    began = time.perf_counter()
    names = [text for text in what or SCENES if ":" not in text]
    files = [text for text in what or [] if ":" in text]
    scenes = [_built_in(name, None) for name in names]
    if files:
        scenes.append(_from_files(files, ["fit"], None, None, None, None, 14, None, "auto"))
    prepare(device)
    cache = Path(wp.config.kernel_cache_dir)
    before = _entries(cache)
    for scene in scenes:
        out.print(f"{scene.name} ...", highlight=False)
        run(scene, seconds=1.0 / 60.0, fps=60.0, substeps=3, iterations=1, device=device)
    made = len(_entries(cache) - before)
    said = f"compiled {made} modules in {time.perf_counter() - began:.1f} s; they stay" if made else "everything is"
    out.print(f"{said} in the cache, {cache}", highlight=False, soft_wrap=True)


def _entries(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


@app.command()
def render(
    result: Annotated[Path, typer.Argument(help="A recording (.npz) of hooke run.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File .png, .gif or .mp4; %04d.png for a series.")] = None,
    frame: Annotated[int | None, typer.Option(help="Frame of a single picture; negative counts from the end.")] = None,
    start: Annotated[int, typer.Option(help="First frame of a film.")] = 0,
    stop: Annotated[int | None, typer.Option(help="Frame before which a film ends.")] = None,
    every: Annotated[int | None, typer.Option(help="Draw every so many frames.")] = None,
    width: Annotated[int, typer.Option(help="Pixels across.")] = 960,
    height: Annotated[int, typer.Option(help="Pixels down.")] = 540,
    samples: Annotated[int, typer.Option(help="Rays per pixel along each axis at edges.")] = 2,
    fps: Annotated[float | None, typer.Option(help="Frames per second of the film; real time by default.")] = None,
    azimuth: Annotated[float | None, typer.Option(help="Direction of the camera around the up axis [degrees].")] = None,
    elevation: Annotated[float | None, typer.Option(help="Height of the camera above the horizon [degrees].")] = None,
    zoom: Annotated[float, typer.Option(help="Larger than 1 comes closer.")] = 1.0,
    eye: Annotated[str | None, typer.Option(help="Position x,y,z of the camera \\[m]; needs --look.")] = None,
    look: Annotated[str | None, typer.Option(help="Point x,y,z that the camera looks at \\[m].")] = None,
    background: Annotated[str | None, typer.Option(help="Colour such as '#ffffff' instead of a sky.")] = None,
    device: Annotated[str | None, typer.Option(help="Warp device.")] = None,
) -> None:
    """Picture a recording: PNG, GIF or MP4, without a display."""
    import warp as wp

    wp.config.log_level = wp.LOG_ERROR
    from hooke.viewer import Camera, Trajectory
    from hooke.viewer import render as draw
    from hooke.viewer.render import Style

    trajectory = Trajectory.load(result)
    output = output or result.with_suffix(".png")
    output.parent.mkdir(parents=True, exist_ok=True)
    own = trajectory.info.get("camera", {})
    view = {
        "azimuth": own.get("azimuth", -60.0) if azimuth is None else azimuth,
        "elevation": own.get("elevation", 20.0) if elevation is None else elevation,
        "zoom": zoom,
    }
    camera = None
    if (eye is None) != (look is None):
        raise ValueError("--eye and --look go together")
    if eye is not None and look is not None:
        up = tuple(1.0 if i == trajectory.up_axis else 0.0 for i in range(3))
        camera = Camera(_vector(eye, "--eye"), _vector(look, "--look"), up)  # type: ignore[arg-type]
    with Progress(console=err, transient=not err.is_terminal) as bar:
        task = bar.add_task("rendering", total=None)
        files = draw(
            trajectory, output, frame=frame, start=start, stop=stop, every=every, width=width, height=height, samples=samples,
            fps=fps, camera=camera, style=Style(background=background), device=device,
            progress=lambda done, total: bar.update(task, completed=done, total=total), **view,
        )  # fmt: skip
    shown = str(files[0]) if len(files) == 1 else f"{files[0]} ... {files[-1]} ({len(files)} files)"
    out.print(f"picture: {shown}", highlight=False, soft_wrap=True)


@app.command()
def info(file: Annotated[Path | None, typer.Argument(help="A mesh file or a recording; none lists the scenes.")] = None) -> None:
    """Say what is in a mesh file or in a recording, or what the built-in scenes are."""
    if file is None:
        rows = _scene_rows()
    elif file.suffix.lower() == ".npz":
        rows = _recording_rows(file)
    else:
        rows = _mesh_rows(file)
    table = Table(title=str(file or "built-in scenes"), show_header=False, title_justify="left")
    for name, value in rows:
        table.add_row(name, value)
    out.print(table)


def _scene_rows() -> list[tuple[str, str]]:
    from hooke.scenes import SCENES

    return [(name, (inspect.getdoc(scene) or "").splitlines()[0]) for name, scene in SCENES.items()]


def _recording_rows(file: Path) -> list[tuple[str, str]]:
    from hooke.viewer.record import Trajectory

    t = Trajectory.load(file)
    rows = [
        ("kind", "recording"),
        ("frames", f"{t.frame_count} at {t.fps:g} per second, {t.times[-1] if t.frame_count else 0.0:.3g} s"),
        ("particles", str(len(t.particle_radius))),
        ("triangles", str(len(t.triangles))),
        ("bodies, shapes", f"{len(t.body_label)}, {len(t.shapes) + len(t.planes)}"),
    ]
    summary = t.info.get("summary", {})
    facts = {k: v for k, v in (t.info | summary).items() if k not in ("summary", "camera", "frames")}
    return rows + [(k, f"{v:.4g}" if isinstance(v, float) else str(v)) for k, v in facts.items()]


def _mesh_rows(file: Path) -> list[tuple[str, str]]:
    from hooke.importers import describe

    d = describe(file)
    lower, upper = d["bounds"]
    rows = [
        ("kind", f"mesh, {d['format']}"),
        ("up axis", str(d["up_axis"] or "not stated")),
        ("metres per unit", str(d["meters_per_unit"] or "not stated")),
        ("vertices, triangles", f"{d['vertices']}, {d['triangles']}"),
        ("bounds [m]", f"{[round(v, 4) for v in lower]} to {[round(v, 4) for v in upper]}"),
        ("watertight", "yes" if d["watertight"] else "no"),
    ]
    for part in d["parts"]:
        defects = "; ".join(part["defects"]) or "no defects"
        rows.append((f"part {part['name']}", f"{part['vertices']} vertices, {part['triangles']} triangles, {defects}"))
    return rows


@contextlib.contextmanager
def _compile_messages() -> Iterator[None]:
    """Print which kernels compile, so that a first run does not look hung."""
    handler, level = logging.Handler(), LOG.level
    handler.emit = lambda record: err.print(record.getMessage(), style="dim", highlight=False, markup=False)  # type: ignore[method-assign]
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)


def main() -> None:
    """Run the command; what is wrong with the input is one line and exit code 2, a simulation that failed exit code 1."""
    warnings.showwarning = lambda message, *_args, **_kw: err.print(f"[yellow]warning:[/] {message}", highlight=False)
    try:
        with _compile_messages():
            app(standalone_mode=False)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if hasattr(error, "show"):  # a usage error of the command line
            error.show()
            sys.exit(2)
        from hooke.simulate import SimulationError

        expected = (ValueError, TypeError, OSError, ImportError, IndexError, NotImplementedError, SimulationError)
        if isinstance(error, expected):
            err.print(f"[red]error:[/] {_escaped(error)}", highlight=False, soft_wrap=True)
            sys.exit(1 if isinstance(error, SimulationError) else 2)
        raise


def _escaped(error: Exception) -> str:
    from rich.markup import escape

    if isinstance(error, OSError) and error.filename is not None:
        return escape(f"{error.filename}: {error.strerror}")
    return escape(str(error))


if __name__ == "__main__":
    main()

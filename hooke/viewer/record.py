"""Recording of a simulation: what does not change once, and the poses of every frame.

A recording is made from the documented flat arrays of a model (``particle_q``, ``tri_indices`` ...), so it takes any
model that has them. It needs neither the model nor a solver afterwards.
"""

import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hooke.viewer.files import replacing
from hooke.viewer.surface import tetrahedra_surface

__all__ = ["Plane", "ShapeMesh", "Trajectory"]

FORMAT = 1
KIND = "hooke trajectory"
NONE, PLANE, SPHERE, CAPSULE, GAUSSIAN = 0, 1, 3, 4, 11  # GeoType
VISIBLE, ACTIVE = 1, 1  # ShapeFlags, ParticleFlags
PLANE_ON_BODY = 10.0  # half width [m] of the piece that is drawn of an infinite plane which moves with a body


@dataclass(eq=False)
class ShapeMesh:
    """A shape as triangles.

    Attributes:
        label: Name of the shape.
        body: Body the shape is fixed to, -1 for the world.
        transform: Pose in the body frame, position [m] and quaternion x, y, z, w, shape (7,).
        vertices: Local positions [m], shape (V, 3).
        triangles: Vertex indices, shape (T, 3), counter-clockwise seen from outside.
        color: Display colour (sRGB, 0 to 1), None where the model gives none.
        round: Radius and half height along Z [m] of a capsule, of a sphere with half height 0; None for other shapes.
    """

    label: str
    body: int
    transform: np.ndarray
    vertices: np.ndarray
    triangles: np.ndarray
    color: tuple[float, float, float] | None = None
    round: tuple[float, float] | None = None


@dataclass(eq=False)
class Plane:
    """An infinite plane that does not move.

    Attributes:
        label: Name of the shape.
        point: A point on it [m], shape (3,).
        normal: Unit normal, shape (3,).
        color: Display colour (sRGB, 0 to 1), None where the model gives none.
    """

    label: str
    point: np.ndarray
    normal: np.ndarray
    color: tuple[float, float, float] | None = None


class Frames:
    """Growing array of float32 frames in one block, so that a long recording is never held twice."""

    def __init__(self, shape: tuple[int, ...], capacity: int = 0):
        self.count = 0
        self.data = np.empty((capacity, *shape), np.float32)

    def append(self, values: np.ndarray) -> None:
        if self.count == len(self.data):
            shape = (max(16, self.count + self.count // 2), *self.data.shape[1:])
            try:
                self.data.resize(shape)  # moves pages of memory where the system can
            except ValueError:  # someone holds a view of the frames: leave those to him
                data = np.empty(shape, np.float32)
                data[: self.count] = self.data
                self.data = data
        self.data[self.count] = values
        self.count += 1

    @property
    def view(self) -> np.ndarray:
        return self.data[: self.count]


@dataclass(eq=False)
class Trajectory:
    """Poses of particles and bodies over time, with everything that is needed to draw them.

    Attributes:
        fps: Frames per second of simulated time.
        up_axis: 0, 1 or 2 for X, Y or Z.
        particle_radius: Radii [m], shape (N,).
        triangles: Particle indices of all deformable surfaces, including those of tetrahedra, shape (T, 3).
        triangle_color: Display colours of the triangles (sRGB, 0 to 1; negative is chosen), shape (T, 3), or none at all, (0, 3).
        springs: Particle indices of the springs that lie on no surface, shape (S, 2).
        points: Indices of the particles to draw as spheres (on no surface, active or held by a spring), shape (P,).
        shapes: Visible shapes as triangle meshes.
        planes: Infinite planes.
        body_label: Names of the B bodies.
        info: Facts about the run (scene, solver, dt, device ...), anything that JSON can hold.
    """

    fps: float
    up_axis: int = 2
    particle_radius: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    triangle_color: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    springs: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    points: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    shapes: list[ShapeMesh] = field(default_factory=list)
    planes: list[Plane] = field(default_factory=list)
    body_label: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    capacity: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if not self.fps > 0:
            raise ValueError(f"fps of a Trajectory must be positive, found {self.fps!r}")
        self._times: list[float] = []
        self._particle_q = Frames((len(self.particle_radius), 3), self.capacity)
        self._body_q = Frames((len(self.body_label), 7), self.capacity)

    @classmethod
    def from_model(
        cls, model: Any, *, fps: float = 60.0, info: dict | None = None, segments: int | None = None, frames: int = 0
    ) -> "Trajectory":
        """Start an empty recording of a model.

        Args:
            model: Object with the documented flat arrays of a model; arrays it lacks count as empty.
            fps: Frames per second of simulated time.
            info: Facts about the run, stored with the recording.
            segments: Number of straight pieces around a round shape; 48 if None, fewer with hundreds of shapes.
            frames: Expected number of frames; memory for as many is set aside, and more may follow.

        Returns:
            A recording without frames.
        """
        position = host(model, "particle_q", (-1, 3))
        count = len(position)
        triangles = host(model, "tri_indices", (-1, 3), np.int32)
        tetrahedra = host(model, "tet_indices", (-1, 4), np.int32)
        surface = tetrahedra_surface(tetrahedra, position, triangles)
        color = host(model, "tri_color", (-1, 3))
        if len(color) == len(triangles) and (color >= 0).any():
            color = np.concatenate([color, np.full((len(surface), 3), -1.0, np.float32)])
        else:
            color = np.zeros((0, 3), np.float32)
        triangles = np.concatenate([triangles, surface])

        covered = np.zeros(count, bool)
        covered[triangles] = True
        covered[tetrahedra] = True
        springs = host(model, "spring_indices", (-1, 2), np.int32)
        springs = springs[~covered[springs].all(axis=1)]
        drawn = ~covered
        flags = host(model, "particle_flags", (-1,), np.int32)
        if len(flags) == count:
            drawn &= (flags & ACTIVE) != 0
        drawn[springs] |= ~covered[springs]

        shapes, planes = shapes_of(model, segments)
        bodies = len(host(model, "body_q", (-1, 7)))
        labels = list(getattr(model, "body_label", None) or [])
        return cls(
            fps=float(fps),
            up_axis=int(getattr(model, "up_axis", 2)),
            particle_radius=radii(model, count),
            triangles=triangles,
            triangle_color=color,
            springs=springs,
            points=np.flatnonzero(drawn).astype(np.int32),
            shapes=shapes,
            planes=planes,
            body_label=[str(labels[b]) if b < len(labels) else f"body_{b}" for b in range(bodies)],
            info=dict(info or {}),
            capacity=int(frames),
        )

    def append(self, state: Any, time: float) -> None:
        """Copy the poses of a state to the end of the recording.

        Args:
            state: Object with ``particle_q`` (N vec3) and ``body_q`` (B transforms) as Warp or NumPy arrays; None where
                there are none.
            time: Simulated time [s], later than that of the frame before.

        Raises:
            ValueError: Wrong number of particles or bodies, or a time that is not later than the last.
        """
        if not np.isfinite(time) or (self._times and not time > self._times[-1]):
            last = f", later than {self._times[-1]}" if self._times else ""
            raise ValueError(f"frame {self.frame_count}: expected a finite time{last}, found {time!r}")
        particles, bodies = host(state, "particle_q", (-1, 3)), host(state, "body_q", (-1, 7))
        for kind, found, frames in (("particles", particles, self._particle_q), ("bodies", bodies, self._body_q)):
            if found.shape != frames.data.shape[1:]:
                raise ValueError(
                    f"frame {self.frame_count}: expected {frames.data.shape[1]} {kind}, found {len(found)}; "
                    "append states of the model that the recording was made from"
                )
        self._particle_q.append(particles)
        self._body_q.append(bodies)
        self._times.append(float(time))

    @property
    def frame_count(self) -> int:
        """Number of frames F."""
        return len(self._times)

    @property
    def times(self) -> np.ndarray:
        """Simulated time [s] of every frame, float64, shape (F,)."""
        return np.array(self._times, np.float64)

    @property
    def particle_q(self) -> np.ndarray:
        """Particle positions [m], float32, shape (F, N, 3); a view of the recording."""
        return self._particle_q.view

    @property
    def body_q(self) -> np.ndarray:
        """Body poses (position [m], quaternion x, y, z, w), float32, shape (F, B, 7); a view of the recording."""
        return self._body_q.view

    def save(self, path: str | os.PathLike) -> Path:
        """Write the recording to an ``.npz`` file of plain arrays and one JSON text.

        The file at ``path`` is replaced only when the new one is complete.

        Args:
            path: File name ending in ``.npz``.

        Returns:
            The path.

        Raises:
            ValueError: Another ending.
            TypeError: ``info`` holds something that JSON cannot.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"{path}: a recording is saved as .npz, found the ending {path.suffix!r}")
        header = {
            "kind": KIND,
            "format": FORMAT,
            "fps": self.fps,
            "up_axis": self.up_axis,
            "body_label": self.body_label,
            "shape_label": [s.label for s in self.shapes],
            "plane_label": [p.label for p in self.planes],
            "info": self.info,
        }
        text = json.dumps(header, default=plain)
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, header=np.array(text), **self._arrays())
        return path

    def _arrays(self) -> dict[str, Any]:
        shapes, planes = self.shapes, self.planes
        meshes = list({id(s.vertices): s for s in shapes}.values())  # copies of one shape share their arrays
        order = {id(m.vertices): i for i, m in enumerate(meshes)}
        return {
            "times": self.times,
            "particle_q": self.particle_q,
            "body_q": self.body_q,
            "particle_radius": self.particle_radius,
            "triangles": self.triangles,
            "triangle_color": self.triangle_color,
            "springs": self.springs,
            "points": self.points,
            "shape_body": np.array([s.body for s in shapes], np.int32),
            "shape_transform": rows([s.transform for s in shapes], 7),
            "shape_color": colors([s.color for s in shapes]),
            "shape_round": rows([(np.nan, np.nan) if s.round is None else s.round for s in shapes], 2),
            "shape_mesh": np.array([order[id(s.vertices)] for s in shapes], np.int32),
            "mesh_vertex_start": np.cumsum([0] + [len(m.vertices) for m in meshes]),
            "mesh_vertices": np.concatenate([np.zeros((0, 3), np.float32)] + [m.vertices for m in meshes]),
            "mesh_triangle_start": np.cumsum([0] + [len(m.triangles) for m in meshes]),
            "mesh_triangles": np.concatenate([np.zeros((0, 3), np.int32)] + [m.triangles for m in meshes]),
            "plane_point": rows([p.point for p in planes], 3),
            "plane_normal": rows([p.normal for p in planes], 3),
            "plane_color": colors([p.color for p in planes]),
        }

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Trajectory":
        """Read a recording.

        Args:
            path: File written by :meth:`save`.

        Returns:
            The recording; more frames may be appended.

        Raises:
            FileNotFoundError: No such file.
            ValueError: The file is truncated, damaged, not a recording, or of a newer format.
        """
        if not zipfile.is_zipfile(path):
            open(path, "rb").close()  # a missing file says so itself
            raise ValueError(f"{path}: not a whole recording of hooke: hooke run writes them as .npz")
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                header = json.loads(str(archive["header"]))
                if header["kind"] != KIND:
                    raise ValueError(f"its kind is {header['kind']!r}")
                if header["format"] > FORMAT:
                    raise ValueError(f"its format is {header['format']}, this version of hooke reads up to {FORMAT}")
                return cls._assemble(header, archive)
        except OSError:
            raise
        except Exception as error:  # a damaged archive fails in many ways: zip, zlib, struct, JSON, shapes
            raise ValueError(f"{path}: not a whole recording of hooke: {error}") from error

    @classmethod
    def _assemble(cls, header: dict, archive: Any) -> "Trajectory":
        """Build the recording from the arrays of a file and check that they fit each other."""
        data = {name: archive[name] for name in archive.files if name != "header"}
        particles, bodies = len(data["particle_radius"]), len(header["body_label"])
        frames, shapes, planes = len(data["times"]), len(header["shape_label"]), len(header["plane_label"])
        expect(data, "particle_q", (frames, particles, 3), "f4")
        expect(data, "body_q", (frames, bodies, 7), "f4")
        for name, width in (("triangles", 3), ("springs", 2), ("points", None)):
            expect(data, name, (None,) if width is None else (None, width), "i4")
            within(name, data[name], particles)
        colored = len(data["triangle_color"])
        expect(data, "triangle_color", (len(data["triangles"]) if colored else 0, 3), "f4")
        for name, row in (("body", ()), ("transform", (7,)), ("color", (3,)), ("round", (2,)), ("mesh", ())):
            expect(data, f"shape_{name}", (shapes, *row))
        for name in ("point", "normal", "color"):
            expect(data, f"plane_{name}", (planes, 3))
        expect(data, "mesh_vertices", (None, 3), "f4")
        expect(data, "mesh_triangles", (None, 3), "i4")
        within("shape_body", data["shape_body"] + 1, bodies + 1)

        vertex, triangle = data["mesh_vertex_start"], data["mesh_triangle_start"]
        meshes = []
        for m in range(len(vertex) - 1):
            vertices = data["mesh_vertices"][vertex[m] : vertex[m + 1]]
            triangles = data["mesh_triangles"][triangle[m] : triangle[m + 1]]
            if not len(triangles):
                raise ValueError(f"mesh {m} has no triangles")
            within("mesh_triangles", triangles, len(vertices))
            meshes.append((vertices, triangles))
        within("shape_mesh", data["shape_mesh"], len(meshes))
        solids = []
        for s, label in enumerate(header["shape_label"]):
            color, size = optional(data["shape_color"][s]), optional(data["shape_round"][s])
            vertices, triangles = meshes[data["shape_mesh"][s]]
            body, transform = int(data["shape_body"][s]), data["shape_transform"][s]
            solids.append(ShapeMesh(label, body, transform, vertices, triangles, color, size))
        result = cls(
            fps=float(header["fps"]),
            up_axis=int(header["up_axis"]),
            particle_radius=data["particle_radius"],
            triangles=data["triangles"],
            triangle_color=data["triangle_color"],
            springs=data["springs"],
            points=data["points"],
            shapes=solids,
            planes=[
                Plane(label, data["plane_point"][p], data["plane_normal"][p], optional(data["plane_color"][p]))
                for p, label in enumerate(header["plane_label"])
            ],
            body_label=header["body_label"],
            info=header["info"],
        )
        result._times = data["times"].tolist()
        for buffer, name in ((result._particle_q, "particle_q"), (result._body_q, "body_q")):
            buffer.data, buffer.count = data[name], frames
        return result


def host(owner: Any, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """The documented array ``name`` of a model or state as NumPy, empty where it is absent."""
    values = getattr(owner, name, None)
    if values is None:
        values = ()
    if hasattr(values, "numpy"):
        values = values.numpy()
    values = np.asarray(values, dtype)
    return values.reshape(shape) if values.size else np.zeros((0, *shape[1:]), dtype)


def radii(model: Any, count: int) -> np.ndarray:
    values = host(model, "particle_radius", (-1,))
    return values.copy() if len(values) == count else np.zeros(count, np.float32)


def shapes_of(model: Any, segments: int | None) -> tuple[list[ShapeMesh], list[Plane]]:
    """Triangles of every visible shape of a model, and its infinite planes."""
    kinds = host(model, "shape_type", (-1,), np.int32)
    bodies = host(model, "shape_body", (-1,), np.int32)
    transforms = host(model, "shape_transform", (-1, 7))
    scales = host(model, "shape_scale", (-1, 3))
    flags = host(model, "shape_flags", (-1,), np.int32)
    tints = shape_colors(model, len(kinds))
    sources = list(getattr(model, "shape_source", None) or [None] * len(kinds))
    labels = list(getattr(model, "shape_label", None) or [f"shape_{s}" for s in range(len(kinds))])
    segments = segments or int(np.clip(48 * np.sqrt(200 / max(len(kinds), 1)), 12, 48))
    shapes: list[ShapeMesh] = []
    planes: list[Plane] = []
    known: dict[tuple, tuple[np.ndarray, np.ndarray] | None] = {}
    for s, kind in enumerate(kinds.tolist()):
        if kind in (NONE, GAUSSIAN) or (len(flags) and not flags[s] & VISIBLE):
            continue
        label, body, scale = str(labels[s]), int(bodies[s]), scales[s]
        if kind == PLANE and not scale[:2].any():
            if body < 0:
                planes.append(Plane(label, transforms[s, :3].copy(), turned_z(transforms[s, 3:]), tints[s]))
                continue
            scale = np.array([2.0, 2.0, 0.0], np.float32) * PLANE_ON_BODY
        key = (kind, scale.tobytes(), id(sources[s]))
        if key not in known:
            known[key] = tessellate(kind, scale, sources[s], segments)
        surface = known[key]
        if surface is None:
            continue
        size = None
        if kind in (SPHERE, CAPSULE):
            size = (float(scale[0]), float(scale[1]) if kind == CAPSULE else 0.0)
        shapes.append(ShapeMesh(label, body, transforms[s].copy(), *surface, tints[s], size))
    return shapes, planes


def tessellate(kind: int, scale: np.ndarray, source: Any, segments: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Vertices (V, 3) and triangles (T, 3) of a shape, None for a kind that has no surface."""
    from hooke.geometry.shapes import shape_kind

    surface = shape_kind(kind).surface(scale, source, segments)
    if surface is None:
        return None
    vertices = np.asarray(surface[0], np.float32).reshape(-1, 3)
    triangles = np.asarray(surface[1], np.int32).reshape(-1, 3)
    return (vertices, triangles) if len(triangles) else None


def shape_colors(model: Any, count: int) -> list[tuple[float, float, float] | None]:
    values = getattr(model, "shape_color", None)
    if values is None or len(values) != count:
        return [None] * count
    values = values.numpy() if hasattr(values, "numpy") else values
    return [None if v is None else optional(v) for v in values]


def optional(values: Any) -> Any:
    """A tuple of numbers, None for one that is not set (NaN or negative)."""
    values = tuple(float(v) for v in values)
    return values if min(values) >= 0.0 else None


def colors(values: list) -> np.ndarray:
    return rows([(np.nan,) * 3 if v is None else v for v in values], 3)


def rows(values: list, width: int) -> np.ndarray:
    return np.array(values, np.float32).reshape(-1, width)


def turned_z(q: np.ndarray) -> np.ndarray:
    """The Z axis turned by a quaternion x, y, z, w."""
    x, y, z, w = (float(c) for c in q)
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], np.float32)


def plain(value: Any) -> Any:
    """NumPy values as JSON ones."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"info of a Trajectory can hold what JSON can, found {type(value).__name__} {value!r}")


def expect(data: dict, name: str, expected: tuple, dtype: str | None = None) -> None:
    found = data[name]
    if len(found.shape) != len(expected) or any(e is not None and e != f for e, f in zip(expected, found.shape)):
        raise ValueError(f"{name} has the shape {found.shape}, expected {expected}")
    if dtype and found.dtype != np.dtype(dtype):
        raise ValueError(f"{name} is {found.dtype}, expected {np.dtype(dtype)}")


def within(name: str, indices: np.ndarray, count: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise ValueError(f"{name} refers to {indices.min()}..{indices.max()}, there are {count}")

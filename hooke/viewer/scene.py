"""A recording as geometry that rays can be cast against: built once, moved to the pose of any frame."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.viewer.camera import extent, moved
from hooke.viewer.pose import bead_bounds, corner_normals, face_normals, place
from hooke.viewer.record import ShapeMesh, Trajectory
from hooke.viewer.surface import connected_pieces, smooth_corners, weld
from hooke.viewer.trace import Geometry

__all__ = ["Scene", "linear", "part_colors"]

CREASE = np.radians(50.0)
REBUILD = 16  # frames between fresh trees; in between they are refitted to the moved geometry
SOFT = ["#cf4d42", "#e59a2f", "#3b78b5", "#5f9c48", "#83599c", "#cf7295"]
HARD = ["#2f8f8a", "#4a74b0", "#e2a63b", "#7c9c5a", "#c8614f", "#85689b", "#b98d66", "#5d6c80"]
GROUND = "#bfc4cb"
SPRING = "#8a8f98"
DARK = 0.03  # linear; the nearly black default of the data model's ground plane counts as no choice


@dataclass(eq=False)
class Piece:
    """Triangles of one object before they are joined with others.

    A vertex follows a particle (source >= 0), the world (-1) or body b (-2 - b); a triangle has the colours of a part.
    ``corners`` says which faces are smooth at the corners of the triangles (see ``smooth_corners``).
    """

    source: np.ndarray
    local: np.ndarray
    triangles: np.ndarray
    part: np.ndarray
    corners: tuple[np.ndarray, np.ndarray]


class Surface:
    """Joined pieces on a device, with the tree of their triangles."""

    def __init__(self, pieces: list[Piece], device: Any):
        vertices = np.cumsum([0] + [len(p.source) for p in pieces])
        faces = np.cumsum([0] + [len(p.triangles) for p in pieces])
        source = np.concatenate([p.source for p in pieces])
        indices = np.concatenate([p.triangles + v for p, v in zip(pieces, vertices)])
        shared = np.concatenate([p.corners[1] + f for p, f in zip(pieces, faces)])
        start = np.cumsum(np.concatenate([[0]] + [np.diff(p.corners[0]) for p in pieces]))
        self.face_count = int(faces[-1])
        self.part = np.concatenate([p.part for p in pieces])
        self.moves = bool((source != -1).any())
        self.source = on_device(source, wp.int32, device)
        self.local = on_device(np.concatenate([p.local for p in pieces]), wp.vec3, device)
        self.indices = on_device(indices.ravel(), wp.int32, device)
        self.corner_start = on_device(start, wp.int32, device)
        self.corner_faces = on_device(shared, wp.int32, device)
        self.points = wp.zeros(len(source), dtype=wp.vec3, device=device)
        self.face_normal = wp.zeros(self.face_count, dtype=wp.vec3, device=device)
        self.mesh: Any = None

    def pose(self, particle_q: Any, body_q: Any, first_face: int, normal: Any, rebuild: bool) -> bool:
        """Move the vertices; returns whether the tree was built anew, which changes its handle."""
        device = self.points.device
        wp.launch(place, len(self.points), [particle_q, body_q, self.source, self.local], [self.points], device=device)
        wp.launch(face_normals, self.face_count, [self.points, self.indices], [self.face_normal], device=device)
        inputs = [self.corner_start, self.corner_faces, self.face_normal, 3 * first_face]
        wp.launch(corner_normals, 3 * self.face_count, inputs, [normal], device=device)
        if self.mesh is None or rebuild:
            self.mesh = wp.Mesh(points=self.points, indices=self.indices)
            return True
        self.mesh.refit()
        return False


class Scene:
    """Geometry of a recording on a device.

    Args:
        trajectory: The recording, with at least one frame.
        device: Warp device, the default one if None.
        ground: Colour of infinite planes (``"#rrggbb"`` or three sRGB numbers), that of the recording if None.

    Attributes:
        center: Middle of what is drawn [m], shape (3,).
        size: Half the diagonal of what is drawn [m].
        frame: The frame it is posed at, -1 before the first.

    Raises:
        ValueError: The recording has no frame, or a wrong colour.
    """

    def __init__(self, trajectory: Trajectory, *, device: Any = None, ground: Any = None):
        if not trajectory.frame_count:
            raise ValueError("the recording has no frame to draw; append a state to it first")
        self.trajectory = t = trajectory
        self.device = wp.get_device(device)
        points = extent(t)
        self.center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        self.size = max(float(np.linalg.norm(np.ptp(points, axis=0))) / 2, 1e-6)
        self.frame = -1
        self._poses = 0
        self._particle_q = wp.zeros(max(len(t.particle_radius), 1), dtype=wp.vec3, device=self.device)
        self._body_q = wp.zeros(max(len(t.body_label), 1), dtype=wp.transform, device=self.device)

        piece_of = connected_pieces(t.triangles, len(t.particle_radius))
        softs = int(piece_of.max()) + 1 if len(piece_of) else 0
        still, moving = shape_pieces(t, softs)
        if len(t.triangles):
            moving.append(soft_piece(t, piece_of))
        self.surfaces = [Surface(pieces, self.device) for pieces in (still, moving) if pieces]
        self.geometry: Any = Geometry()
        self._describe(part_colors(t, piece_of, ground))
        self._add_beads(softs)
        self._add_planes(softs + len(t.shapes) + 1)

    def _describe(self, colors: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        g, device = self.geometry, self.device
        counts = [s.face_count for s in self.surfaces]
        self._first_face = np.cumsum([0] + counts)
        g.mesh_count = len(counts)
        g.meshes = wp.zeros(len(counts) + 1, dtype=wp.uint64, device=device)
        g.face_start = on_device(self._first_face, wp.int32, device)
        g.corner_normal = wp.zeros(3 * sum(counts) + 1, dtype=wp.vec3, device=device)
        g.face_part = on_device(np.concatenate([s.part for s in self.surfaces] + [[0]]), wp.int32, device)
        g.front = on_device(colors[0], wp.vec3, device)
        g.back = on_device(colors[1], wp.vec3, device)
        g.gloss = on_device(colors[2], wp.float32, device)
        g.center = wp.vec3(*self.center.tolist())
        g.size = self.size
        decade = 10.0 ** np.floor(np.log10(self.size))
        g.grid = float(max(m * decade for m in (0.2, 0.5, 1.0, 2.0, 5.0) if m * decade <= 0.5 * self.size))

    def _add_beads(self, softs: int) -> None:
        """Spheres and capsules: round shapes, springs, loose particles."""
        t, g, device = self.trajectory, self.geometry, self.device
        spring_part = softs + len(t.shapes)
        rounds = [(softs + s, shape) for s, shape in enumerate(t.shapes) if shape.round]
        tips = [moved([[0.0, 0.0, -s.round[1]], [0.0, 0.0, s.round[1]]], s.transform) for _, s in rounds if s.round]
        follow = np.repeat([follows(s) for _, s in rounds], 2)
        held = np.concatenate([t.springs.ravel(), np.repeat(t.points, 2)])
        source = np.concatenate([follow, held]).astype(np.int32)
        local = np.concatenate([np.zeros((0, 3)), *tips, np.zeros((len(held), 3))])
        radius = [np.array([s.round[0] for _, s in rounds if s.round]), spring_radius(t, 1e-3 * self.size)]
        part = [part for part, _ in rounds] + [spring_part] * len(t.springs)
        part += [spring_part + 1 + len(t.planes)] * len(t.points)

        g.bead_count = len(part)
        g.bead_radius = on_device(np.concatenate([*radius, t.particle_radius[t.points]]), wp.float32, device)
        g.bead_part = on_device(np.array(part), wp.int32, device)
        g.bead_ends = wp.zeros(2 * len(part), dtype=wp.vec3, device=device)
        self._bead_source = on_device(source, wp.int32, device)
        self._bead_local = on_device(local, wp.vec3, device)
        self._lower, self._upper = (wp.zeros(len(part), dtype=wp.vec3, device=device) for _ in range(2))
        self._tree: Any = None

    def _add_planes(self, part: int) -> None:
        planes, g = self.trajectory.planes, self.geometry
        g.plane_count = len(planes)
        g.plane_point = on_device(np.array([p.point for p in planes]), wp.vec3, self.device)
        g.plane_normal = on_device(np.array([p.normal for p in planes]), wp.vec3, self.device)
        g.plane_part = on_device(part + np.arange(len(planes)), wp.int32, self.device)

    def pose(self, frame: int) -> None:
        """Move everything to the poses of a frame.

        Args:
            frame: Index of the frame, counted from the end when negative.

        Raises:
            IndexError: No such frame.
        """
        t, g = self.trajectory, self.geometry
        if not -t.frame_count <= frame < t.frame_count:
            raise IndexError(f"frame {frame} of a recording of {t.frame_count} frames")
        frame %= t.frame_count
        if frame == self.frame:
            return
        rebuild = self._poses % REBUILD == 0
        if len(t.particle_radius):
            self._particle_q.assign(t.particle_q[frame])
        if len(t.body_label):
            self._body_q.assign(t.body_q[frame])
        renewed = False
        for k, surface in enumerate(self.surfaces):
            if surface.moves or surface.mesh is None:
                first = int(self._first_face[k])
                renewed |= surface.pose(self._particle_q, self._body_q, first, g.corner_normal, rebuild)
        if renewed:
            g.meshes.assign(np.array([s.mesh.id for s in self.surfaces] + [0], np.uint64))
        if g.bead_count:
            self._pose_beads(rebuild)
        self.frame = frame
        self._poses += 1

    def _pose_beads(self, rebuild: bool) -> None:
        g, device = self.geometry, self.device
        inputs = [self._particle_q, self._body_q, self._bead_source, self._bead_local]
        wp.launch(place, 2 * g.bead_count, inputs, [g.bead_ends], device=device)
        inputs = [g.bead_ends, g.bead_radius]
        wp.launch(bead_bounds, g.bead_count, inputs, [self._lower, self._upper], device=device)
        if self._tree is None or rebuild:
            self._tree = wp.Bvh(self._lower, self._upper)
            g.beads = self._tree.id
        else:
            self._tree.refit()


def on_device(values: Any, dtype: Any, device: Any) -> Any:
    """A Warp array of NumPy values, which may be empty."""
    return wp.array(values, dtype=dtype, device=device) if len(values) else wp.zeros(0, dtype=dtype, device=device)


def follows(shape: ShapeMesh) -> int:
    """The source of the vertices of a shape (see Piece)."""
    return -2 - shape.body if shape.body >= 0 else -1


def shape_pieces(t: Trajectory, first_part: int) -> tuple[list[Piece], list[Piece]]:
    """Pieces of all shapes that are not round: those fixed to the world, and those that move."""
    still: list[Piece] = []
    moving: list[Piece] = []
    known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for s, shape in enumerate(t.shapes):
        if shape.round:
            continue
        if id(shape.vertices) not in known:
            welded = weld(shape.vertices)[shape.triangles]
            known[id(shape.vertices)] = smooth_corners(shape.vertices, welded, CREASE)
        source = np.full(len(shape.vertices), follows(shape), np.int32)
        part = np.full(len(shape.triangles), first_part + s, np.int32)
        local = moved(shape.vertices, shape.transform).astype(np.float32)
        piece = Piece(source, local, shape.triangles, part, known[id(shape.vertices)])
        (still if shape.body < 0 else moving).append(piece)
    return still, moving


def soft_piece(t: Trajectory, part: np.ndarray) -> Piece:
    """All deformable surfaces; the first frame decides where they have creases."""
    used, triangles = np.unique(t.triangles, return_inverse=True)
    triangles = triangles.reshape(-1, 3).astype(np.int32)
    corners = smooth_corners(t.particle_q[0][used], triangles, CREASE)
    return Piece(used.astype(np.int32), np.zeros((len(used), 3), np.float32), triangles, part.astype(np.int32), corners)


def spring_radius(t: Trajectory, least: float) -> np.ndarray:
    """Radius to draw springs with [m], shape (S,): thinner than their particles and than they are long."""
    a, b = t.particle_q[0][t.springs[:, 0]], t.particle_q[0][t.springs[:, 1]]
    length = np.nan_to_num(np.linalg.norm(b - a, axis=1))
    return np.maximum(np.minimum(0.4 * t.particle_radius[t.springs].min(axis=1), 0.08 * length), least)


def soft_colors(t: Trajectory, piece_of: np.ndarray) -> list[np.ndarray]:
    """Linear colours of the soft pieces: that of their first triangle that has one, else one of the palette."""
    softs = int(piece_of.max()) + 1 if len(piece_of) else 0
    chosen = [linear(SOFT[i % len(SOFT)]) for i in range(softs)]
    own = np.flatnonzero((t.triangle_color >= 0).all(axis=1))
    pieces, first = np.unique(piece_of[own], return_index=True)
    for piece, k in zip(pieces, first):
        chosen[piece] = linear(t.triangle_color[own[k]])
    return chosen


def part_colors(t: Trajectory, piece_of: np.ndarray, ground: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear front colours, back colours and gloss of all parts: soft pieces, shapes, springs, planes, particles."""
    front = soft_colors(t, piece_of)
    softs = len(front)
    gloss = [0.25] * softs
    for s, shape in enumerate(t.shapes):
        front.append(linear(HARD[s % len(HARD)] if shape.color is None else shape.color))
        gloss.append(1.0)
    front.append(linear(SPRING))
    gloss.append(0.6)
    for plane in t.planes:
        own = ground if ground is not None else plane.color
        front.append(linear(GROUND if own is None or (ground is None and linear(own).max() < DARK) else own))
        gloss.append(0.0)
    front.append(linear(SOFT[(softs + 1) % len(SOFT)]))
    gloss.append(0.8)
    colors = np.array(front)
    return colors, 0.55 * colors + 0.45 * (0.35 + 0.4 * colors.mean(axis=1, keepdims=True)), np.array(gloss)


def linear(color: Any) -> np.ndarray:
    """An sRGB colour (``"#rrggbb"`` or three numbers from 0 to 1) as linear intensities, float64, shape (3,)."""
    values = color
    try:
        if isinstance(color, str):
            values = [int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5)] if color[0] == "#" and len(color) == 7 else []
        c = np.clip(np.asarray(values, np.float64), 0.0, 1.0)
    except (ValueError, TypeError):
        c = np.zeros(0)
    if c.shape != (3,):
        raise ValueError(f"expected a colour as '#rrggbb' or three numbers from 0 to 1, found {color!r}")
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)

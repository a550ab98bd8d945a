"""Questions about the shapes of a model: what a ray hits, which surface is nearest to a point, which shapes a ball touches.

Rays go to meshes and heightfields through their bounding volume hierarchies. To all other shapes a ray goes in steps of the distance to
the surface, which never pass through it (sphere tracing); a ray that starts inside a shape hits it at once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.collision.baked import bake_meshes
from hooke.collision.places import Moving, Places, ShapeFilter, make_filter, make_places, place_shapes
from hooke.execution.compile import load_kernels
from hooke.execution.recorder import launch_directly
from hooke.execution.work import whole_work
from hooke.geometry.kind import GeoType, SurfacePoint
from hooke.geometry.shapes import shape_distance_of, shape_kind
from hooke.model.enums import ShapeFlags
from hooke.model.model import model_tables
from hooke.model.state import State
from hooke.model.tables import Shapes

__all__ = ["ShapeQuery", "SurfaceHits"]

MESH = wp.constant(int(GeoType.MESH))
CONVEX_MESH = wp.constant(int(GeoType.CONVEX_MESH))
HFIELD = wp.constant(int(GeoType.HFIELD))
COLLIDE_SHAPES = wp.constant(int(ShapeFlags.COLLIDE_SHAPES))
UNLIMITED = wp.constant(1.0e10)
STEPS = wp.constant(256)
NEAR = wp.constant(2.0e-6)
"""Distance at which a ray has arrived, relative to the size of the shape and to the way."""


@dataclass(frozen=True)
class SurfaceHits:
    """Answers to some questions, as arrays on the device.

    Attributes:
        shape: Shape of each answer, int32; -1 where there is none.
        distance: Along the ray, or from the point to the surface (negative inside) [m], float32; the largest distance asked for where
            there is none.
        point: Point of the surface in the world [m], vec3.
        normal: Unit normal out of the shape there, in world axes, vec3.
    """

    shape: wp.array
    distance: wp.array
    point: wp.array
    normal: wp.array


@wp.struct
class Sources:
    """Handles and scales of the meshes of shapes; ``open`` is 1 for a mesh with holes, which is asked however far it is."""

    mesh: wp.array(dtype=wp.uint64)
    scale: wp.array(dtype=wp.vec3)
    open: wp.array(dtype=wp.int32)


@wp.struct
class Answers:
    """See :class:`SurfaceHits`."""

    shape: wp.array(dtype=wp.int32)
    distance: wp.array(dtype=wp.float32)
    point: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)


@wp.struct
class Hit:
    """Where a ray meets a shape, in the frame of the shape; at ``UNLIMITED`` it does not."""

    distance: wp.float32
    normal: wp.vec3


@wp.func
def into_shape(s: int, p: wp.vec3, places: Places):
    return wp.quat_rotate_inv(places.rotation[s], (p - places.base[s]) - places.arm[s])


@wp.func
def meets_box(origin: wp.vec3, direction: wp.vec3, limit: float, low: wp.vec3, high: wp.vec3):
    """Whether a ray meets a box before ``limit``."""
    first = float(0.0)
    last = limit
    for k in range(3):
        if wp.abs(direction[k]) > 1.0e-12:
            a = (low[k] - origin[k]) / direction[k]
            b = (high[k] - origin[k]) / direction[k]
            first = wp.max(first, wp.min(a, b))
            last = wp.min(last, wp.max(a, b))
        elif origin[k] < low[k] or origin[k] > high[k]:
            last = -1.0
    return first <= last


@wp.func
def cast_to_mesh(mesh: wp.uint64, scale: wp.vec3, origin: wp.vec3, direction: wp.vec3, limit: float):
    """A ray in the frame of a shape against its mesh, whose scale is uniform."""
    seen = wp.mesh_query_ray(mesh, origin / scale[0], direction, limit / scale[0])
    if not seen.result:
        return Hit(UNLIMITED, direction)
    normal = seen.normal
    if wp.dot(normal, direction) > 0.0:
        normal = -normal
    return Hit(seen.t * scale[0], normal)


@wp.func
def world_lists_of(world: int, filters: ShapeFilter):
    """The world whose lists a question goes through; below 0 the last, which has all shapes."""
    return wp.where(world < 0, filters.met_start.shape[0] - 2, world)


@functools.cache
def make_query_kernels(codes: tuple[int, ...]) -> tuple[Any, Any]:
    """The kernels (rays, nearest points) for the kinds of shapes of a scene."""
    distance = shape_distance_of(tuple(shape_kind(code) for code in codes))

    @wp.func
    def trace(s: int, origin: wp.vec3, direction: wp.vec3, limit: float, shapes: Shapes, sources: Sources):
        """A ray in the frame of a shape, in steps of the distance to the surface."""
        t = float(0.0)
        size = wp.min(shapes.collision_radius[s], 1.0)
        hit = Hit(UNLIMITED, direction)
        running = bool(True)
        n = int(0)
        while running:
            seen = distance(shapes.type[s], origin + t * direction, sources.scale[s], sources.mesh[s], UNLIMITED)
            n += 1
            if seen.found == 0:
                running = False
            elif seen.distance <= NEAR * (size + t):
                hit.distance = t
                hit.normal = seen.normal
                running = False
            else:
                t += seen.distance
                running = t < limit and n < STEPS
        return hit

    @wp.func
    def cast(s: int, origin: wp.vec3, direction: wp.vec3, limit: float, shapes: Shapes, places: Places, sources: Sources):
        o = into_shape(s, origin, places)
        d = wp.quat_rotate_inv(places.rotation[s], direction)
        if shapes.type[s] == MESH or shapes.type[s] == HFIELD or shapes.type[s] == CONVEX_MESH:
            return cast_to_mesh(sources.mesh[s], sources.scale[s], o, d, limit)
        return trace(s, o, d, limit, shapes, sources)

    @wp.func
    def nearest(s: int, p: wp.vec3, limit: float, shapes: Shapes, places: Places, sources: Sources):
        reach = wp.where(sources.open[s] != 0, UNLIMITED, limit)
        seen = distance(shapes.type[s], into_shape(s, p, places), sources.scale[s], sources.mesh[s], reach)
        if seen.distance >= limit:
            seen.found = 0
        return seen

    @wp.kernel(module="unique", enable_backward=False)
    def cast_rays(
        origins: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3), worlds: wp.array(dtype=wp.int32), limit: float,
        shapes: Shapes, filters: ShapeFilter, places: Places, sources: Sources, answers: Answers,
    ):  # fmt: skip
        r = wp.tid()
        best = limit
        found = int(-1)
        normal = wp.vec3(0.0)
        direction = wp.normalize(directions[r])
        w = world_lists_of(worlds[r], filters)
        boxed = filters.met_start[w + 1] - filters.met_start[w]
        planes = filters.plane_start[w + 1] - filters.plane_start[w]
        for c in range(boxed + planes):
            s = int(0)
            near = bool(True)
            if c < boxed:
                s = filters.met[filters.met_start[w] + c]
                near = meets_box(origins[r], direction, best, places.low[s], places.high[s])
            else:
                s = filters.plane[filters.plane_start[w] + c - boxed]
                near = (shapes.flags[s] & COLLIDE_SHAPES) != 0
            if near:
                hit = cast(s, origins[r], direction, best, shapes, places, sources)
                if hit.distance < best:
                    best = hit.distance
                    found = s
                    normal = wp.quat_rotate(places.rotation[s], hit.normal)
        answers.shape[r] = found
        answers.distance[r] = best
        answers.point[r] = origins[r] + best * direction
        answers.normal[r] = normal

    @wp.kernel(module="unique", enable_backward=False)
    def find_nearest(
        points: wp.array(dtype=wp.vec3), worlds: wp.array(dtype=wp.int32), limit: float, shapes: Shapes, filters: ShapeFilter,
        places: Places, sources: Sources, touched: wp.array2d(dtype=wp.bool), answers: Answers,
    ):  # fmt: skip
        """The nearest surface, or, with room in ``touched``, all shapes nearer than the limit."""
        r = wp.tid()
        p = points[r]
        best = limit
        found = int(-1)
        normal = wp.vec3(0.0)
        w = world_lists_of(worlds[r], filters)
        boxed = filters.met_start[w + 1] - filters.met_start[w]
        planes = filters.plane_start[w + 1] - filters.plane_start[w]
        for c in range(boxed + planes):
            s = int(0)
            near = bool(True)
            reach = wp.where(touched.shape[0] > 0, limit, best)
            if c < boxed:
                s = filters.met[filters.met_start[w] + c]
                beside = wp.max(places.low[s] - p, p - places.high[s])
                near = wp.max(beside) < reach
            else:
                s = filters.plane[filters.plane_start[w] + c - boxed]
                near = (shapes.flags[s] & COLLIDE_SHAPES) != 0
            if near:
                seen = nearest(s, p, reach, shapes, places, sources)
                if seen.found != 0:
                    if touched.shape[0] > 0:
                        touched[r, s] = True
                    if seen.distance < best:
                        best = seen.distance
                        found = s
                        normal = wp.quat_rotate(places.rotation[s], seen.normal)
        answers.shape[r] = found
        answers.distance[r] = best
        answers.point[r] = p - best * normal
        answers.normal[r] = normal

    return cast_rays, find_nearest


class ShapeQuery:
    """Questions about the shapes of a model that collide (``ShapeFlags.COLLIDE_SHAPES``); margins do not count.

    Every question goes through the boxes of all shapes of a world, so its cost grows with their number.

    Args:
        model: The model.
        state: Where its bodies are; None is the model's own pose. :meth:`update` moves them.

    Example:
        ``hits = ShapeQuery(model, state).raycast([(0, 0, 5)], [(0, 0, -1)])``
    """

    def __init__(self, model: Any, state: State | None = None):
        self.model, self.device = model, model.device
        tables = model_tables(model)
        self._shapes, self._bodies = tables["shape"], tables["body"]
        columns = {name: self._column(name) for name in ("type", "scale", "world")}
        self._filters = make_filter(columns["type"], columns["scale"], columns["world"], model.world_count, (), True, self.device)
        self._places = make_places(columns["type"], columns["scale"], self.device)
        sources = self._sources = Sources()
        sources.mesh, sources.scale, self._baked = bake_meshes(self._shapes, self.device)
        opened = [int(not getattr(source, "is_watertight", False)) for source in self._shapes.arrays["source"]]
        sources.open = wp.array(opened[: self._shapes.count], dtype=wp.int32, device=self.device)
        self._cast_rays, self._find_nearest = make_query_kernels(tuple(sorted({int(code) for code in columns["type"]})))
        load_kernels([place_shapes, self._cast_rays, self._find_nearest], self.device)
        self.update(model.state() if state is None else state)

    def _column(self, name: str) -> np.ndarray:
        width = 3 if name == "scale" else 1
        return self._shapes.arrays[name].numpy() if self._shapes.count else np.zeros((0, 3) if width == 3 else 0)

    def update(self, state: State) -> None:
        """Move the shapes to where the bodies of a state are."""
        if self._shapes.count == 0:
            return
        moving = Moving()
        moving.body_q = wp.zeros(0, dtype=wp.transform, device=self.device) if state.body_q is None else state.body_q
        moving.body_qd = wp.zeros(0, dtype=wp.spatial_vector, device=self.device)
        work = whole_work(0, self._shapes.count)
        inputs = [work, self._shapes.struct, self._bodies.struct, self._filters, moving]
        dim = 1 if self.device.is_cpu else self._shapes.count
        launch_directly(_launch, place_shapes, dim, inputs, [self._places], self.device)

    def raycast(self, origins: Any, directions: Any, worlds: Any = None, max_distance: float = 1.0e10) -> SurfaceHits:
        """The first shape that each ray hits.

        Args:
            origins: Where rays begin [m], (n, 3) or an array of vec3.
            directions: Their directions, of any length but zero.
            worlds: World of each ray, (n,) or one for all; -1 sees all shapes, None is 0 in a model with one world and -1 else.
            max_distance: How far rays go [m].

        Returns:
            The hits; of a ray that begins inside a shape at distance 0. A mesh is hit from both sides, and its normal looks back.

        Raises:
            ValueError: Sizes do not agree, a direction is zero, or a world does not exist.
        """
        origins, directions = self._vectors(origins, "origins"), self._vectors(directions, "directions")
        if len(origins) != len(directions):
            raise ValueError(f"raycast: expected as many directions as origins, found {len(directions)} and {len(origins)}")
        zero = np.flatnonzero(np.linalg.norm(directions.numpy(), axis=1) == 0.0)
        if len(zero):
            raise ValueError(f"raycast: direction {zero[0]} is zero; give every ray a direction")
        answers = self._answers(len(origins))
        inputs = [origins, directions, self._worlds(worlds, len(origins)), self._limit(max_distance), *self._scene]
        launch_directly(_launch, self._cast_rays, len(origins), inputs, [answers], self.device)
        return _hits(answers)

    def closest_point(self, points: Any, worlds: Any = None, max_distance: float = 1.0e10) -> SurfaceHits:
        """The nearest surface of each point; the deepest, for a point in several shapes.

        Args:
            points: Places [m], (n, 3) or an array of vec3.
            worlds: As :meth:`raycast`.
            max_distance: How far surfaces are looked for [m].
        """
        return self._nearest(points, worlds, max_distance, wp.zeros((0, 0), dtype=wp.bool, device=self.device))

    def overlap(self, centers: Any, radius: float, worlds: Any = None) -> list[list[int]]:
        """The shapes that each ball touches, in order.

        Args:
            centers: Middles of the balls [m], (n, 3) or an array of vec3.
            radius: Their radius [m].
            worlds: As :meth:`raycast`.
        """
        centers = self._vectors(centers, "centers")
        touched = wp.zeros((len(centers), self._shapes.count), dtype=wp.bool, device=self.device)
        self._nearest(centers, worlds, radius, touched)
        return [np.flatnonzero(row).tolist() for row in touched.numpy()]

    def _nearest(self, points: Any, worlds: Any, limit: float, touched: wp.array) -> SurfaceHits:
        points = self._vectors(points, "points")
        answers = self._answers(len(points))
        inputs = [points, self._worlds(worlds, len(points)), self._limit(limit), *self._scene]
        launch_directly(_launch, self._find_nearest, len(points), inputs, [touched, answers], self.device)
        return _hits(answers)

    @property
    def _scene(self) -> list[Any]:
        return [self._shapes.struct, self._filters, self._places, self._sources]

    def _vectors(self, values: Any, name: str) -> wp.array:
        if isinstance(values, wp.array):
            return values
        array = np.asarray(values, np.float32)
        if array.ndim != 2 or array.shape[1] != 3 or not np.isfinite(array).all():
            raise ValueError(f"ShapeQuery: expected {name} of shape (n, 3), finite, found {array.shape}")
        return wp.array(array, dtype=wp.vec3, device=self.device)

    def _worlds(self, worlds: Any, count: int) -> wp.array:
        if isinstance(worlds, wp.array):
            return worlds
        given = (0 if self.model.world_count == 1 else -1) if worlds is None else worlds
        array = np.broadcast_to(np.asarray(given, np.int32), (count,))
        if count and not (array.min() >= -1 and array.max() < self.model.world_count):
            raise ValueError(f"ShapeQuery: expected worlds from -1 to {self.model.world_count - 1}, found {array.tolist()}")
        return wp.array(np.ascontiguousarray(array), dtype=wp.int32, device=self.device)

    def _limit(self, distance: float) -> float:
        if not 0.0 <= distance < float("inf"):
            raise ValueError(f"ShapeQuery: expected a finite distance >= 0 m, found {distance}")
        return float(distance)

    def _answers(self, count: int) -> Answers:
        answers = Answers()
        for name, annotation in Answers.vars.items():
            setattr(answers, name, wp.zeros(count, dtype=annotation.type.dtype, device=self.device))
        return answers


def _launch(kernel: Any, dim: int, inputs: list[Any], outputs: list[Any], device: Any) -> None:
    wp.launch(kernel, dim=dim, inputs=inputs, outputs=outputs, device=device)


def _hits(answers: Answers) -> SurfaceHits:
    return SurfaceHits(answers.shape, answers.distance, answers.point, answers.normal)

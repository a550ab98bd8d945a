"""Kernels that ask for the contact of many pairs of shapes or triangles, in one module, and what they answer as NumPy arrays."""

from __future__ import annotations

import functools

import numpy as np
import warp as wp

from hooke.collision.manifold import Manifold
from hooke.collision.narrow_phase import make_pair_contact, make_triangle_contact
from hooke.collision.sheet_contact import exchanged, triangle_geometry
from hooke.geometry import SHAPES, GeoType, Mesh, shape_kind
from hooke.geometry.convex import ShapeGeometry, Sheet

from .convex_reference import Body

CONVEX = tuple(kind for kind in SHAPES if kind.convex is not None)
pair_contact = make_pair_contact((shape_kind(GeoType.PLANE), *CONVEX))
triangle_contact = make_triangle_contact(CONVEX)


@wp.kernel(enable_backward=False)
def meet(
    a: wp.array(dtype=ShapeGeometry),
    b: wp.array(dtype=ShapeGeometry),
    relative: wp.array(dtype=wp.transform),
    reach: float,
    found: wp.array(dtype=Manifold),
):
    i = wp.tid()
    found[i] = pair_contact(a[i], b[i], relative[i], reach)


@wp.kernel(enable_backward=False)
def meet_triangles(
    corners: wp.array2d(dtype=wp.vec3),
    neighbours: wp.array2d(dtype=wp.vec3),
    b: wp.array(dtype=ShapeGeometry),
    relative: wp.array(dtype=wp.transform),
    reach: float,
    found: wp.array2d(dtype=Manifold),
):
    i, f = wp.tid()
    a = triangle_geometry(corners[f, 0], corners[f, 1], corners[f, 2])
    around = Sheet()
    for k in range(3):
        around[k] = neighbours[f, k]
    m = triangle_contact(a, b[i], relative[i], reach, around)
    found[i, f] = exchanged(exchanged(m, relative[i]), wp.transform_inverse(relative[i]))


def make_meet(kinds, finite_planes=True):
    """A kernel like :func:`meet` for some kinds."""
    contact_of_few = make_pair_contact(kinds, finite_planes)

    @wp.kernel(module="unique", enable_backward=False)
    def meet_few(
        a: wp.array(dtype=ShapeGeometry),
        b: wp.array(dtype=ShapeGeometry),
        relative: wp.array(dtype=wp.transform),
        reach: float,
        found: wp.array(dtype=Manifold),
    ):
        i = wp.tid()
        found[i] = contact_of_few(a[i], b[i], relative[i], reach)

    return meet_few


@functools.cache
def hull_mesh(seed=5, count=24):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    points = 0.4 * points / np.linalg.norm(points, axis=1, keepdims=True) * (1.0, 0.8, 0.6)
    return Mesh(points.astype(np.float32), np.arange(3)).compute_convex_hull()


@functools.cache
def cube_mesh(half=0.5):
    """A cube whose faces are four triangles or more, as hulls of clouds have them: with points inside its sides."""
    x = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)], np.float32) * half
    return Mesh(x, np.arange(3)).compute_convex_hull()


def cube_hull(scale=(1.0, 1.0, 1.0), count=1):
    return geometry(GeoType.CONVEX_MESH, scale, count, cube_mesh().finalize("cpu"), radius=np.sqrt(0.75) * max(scale))


@functools.cache
def prism_mesh(corners):
    """A prism of half height 0.5 over a regular polygon of radius 0.5."""
    angle = 2.0 * np.pi * np.arange(corners) / corners
    x = np.concatenate([np.stack([0.5 * np.cos(angle), 0.5 * np.sin(angle), np.full(corners, z)], axis=1) for z in (-0.5, 0.5)])
    return Mesh(x.astype(np.float32), np.arange(3)).compute_convex_hull()


def prism_hull(corners):
    return geometry(GeoType.CONVEX_MESH, (1.0, 1.0, 1.0), 1, prism_mesh(corners).finalize("cpu"), radius=np.sqrt(0.5))


def geometry(code, scale, count=1, source=0, radius=None):
    """``count`` equal shapes; ``scale`` (3,) or (count, 3)."""
    g = np.zeros(count, dtype=ShapeGeometry.numpy_dtype())
    g["type"], g["scale"], g["source"] = int(code), scale, source
    scale = np.broadcast_to(np.asarray(scale, float), (count, 3))
    if radius is None:
        radius = np.linalg.norm(scale, axis=1)
        if code == GeoType.PLANE:
            radius = np.where(radius == 0.0, 1.0e6, 0.5 * radius)
        if code == GeoType.CAPSULE:
            radius = scale[:, 0] + scale[:, 1]
        if code == GeoType.ELLIPSOID:
            radius = scale.max(axis=1)
        if code == GeoType.CONVEX_MESH:
            radius = 0.4 * scale[:, 0]
    g["radius"] = radius
    return g


def ask(a, b, relative, reach=0.01, kernel=meet):
    """Manifolds of pairs of shapes ``a``, ``b`` (arrays of :func:`geometry`) at poses (n, 7)."""
    relative = np.ascontiguousarray(relative, np.float32)
    found = wp.zeros(len(relative), dtype=Manifold, device="cpu")
    arrays = [wp.array(np.broadcast_to(g, len(relative)), dtype=ShapeGeometry, device="cpu") for g in (a, b)]
    arrays.append(wp.array(relative, dtype=wp.transform, device="cpu"))
    wp.launch(kernel, len(relative), inputs=[*arrays, reach], outputs=[found], device="cpu")
    return found.numpy()


SCALES = {
    GeoType.SPHERE: (0.4, 0.0, 0.0),
    GeoType.CAPSULE: (0.2, 0.4, 0.0),
    GeoType.ELLIPSOID: (0.5, 0.3, 0.2),
    GeoType.CYLINDER: (0.3, 0.4, 0.0),
    GeoType.BOX: (0.5, 0.35, 0.2),
    GeoType.CONE: (0.4, 0.4, 0.0),
    GeoType.CONVEX_MESH: (1.0, 1.0, 1.0),
}
"""Sizes of the shapes of the tests, whose radius is about half a metre."""


def shape(code, scale=None, count=1):
    """A shape for the kernel, and for the reference."""
    scale = SCALES[code] if scale is None else scale
    if code == GeoType.CONVEX_MESH:
        mesh = hull_mesh()
        vertices = np.asarray(mesh.vertices, float) * scale
        return geometry(code, scale, count, mesh.finalize("cpu")), Body(code, scale, vertices)
    return geometry(code, scale, count), Body(code, scale)


def random_poses(count, reach, seed):
    """Poses (n, 7) with offsets up to ``reach``, evenly in length."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    t = rng.normal(size=(count, 3))
    t *= rng.uniform(0.0, reach, (count, 1)) / np.linalg.norm(t, axis=1, keepdims=True)
    return np.concatenate((t, q / np.linalg.norm(q, axis=1, keepdims=True)), axis=1).astype(np.float32)

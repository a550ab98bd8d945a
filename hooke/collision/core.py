"""Cores of convex shapes (:mod:`hooke.geometry.convex`) by the type of a shape: the kinds of a scene, and sheets."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import reduce
from typing import Any

import warp as wp

from hooke.geometry.convex import SHEET, ShapeGeometry, vertex
from hooke.geometry.kind import ShapeKind
from hooke.geometry.sheet import sheet_edge, sheet_face, sheet_support

__all__ = ["Core", "make_core"]


@dataclass(frozen=True)
class Core:
    """``@wp.func`` s that tell kinds apart: ``support(d, g)``, ``face(n, g)``, ``edge(n, g)``, and the ``radius(g)`` around the core."""

    support: Any
    face: Any
    edge: Any
    radius: Any


@wp.func
def no_support(d: wp.vec3d, g: ShapeGeometry):
    return wp.vec3d()


@wp.func
def no_face(n: wp.vec3, g: ShapeGeometry):
    return vertex(wp.vec3(), n, 0)


@wp.func
def no_radius(g: ShapeGeometry):
    return float(0.0)


def _support_or(code: int, own: Any, others: Any) -> Any:
    @wp.func
    def support(d: wp.vec3d, g: ShapeGeometry):
        if g.type == code:
            return own(d, g)
        return others(d, g)

    return support


def _face_or(code: int, own: Any, others: Any) -> Any:
    @wp.func
    def face(n: wp.vec3, g: ShapeGeometry):
        if g.type == code:
            return own(n, g)
        return others(n, g)

    return face


def _radius_or(code: int, others: Any) -> Any:
    @wp.func
    def radius(g: ShapeGeometry):
        if g.type == code:
            return g.scale[0]
        return others(g)

    return radius


@functools.cache
def make_core(kinds: tuple[ShapeKind, ...], sheets: bool = False) -> Core:
    """The functions for some kinds of shapes; those that are not convex are passed over. ``sheets`` adds flat polygons."""
    convex = [(int(kind.code), kind.convex) for kind in kinds if kind.convex is not None]
    supports = [(code, c.support) for code, c in convex] + [(SHEET, sheet_support)] * sheets
    faces = [(code, c.face) for code, c in convex] + [(SHEET, sheet_face)] * sheets
    edges = [(code, c.edge) for code, c in convex] + [(SHEET, sheet_edge)] * sheets
    rounded = [code for code, c in convex if c.rounded]
    return Core(
        reduce(lambda others, own: _support_or(int(own[0]), own[1], others), reversed(supports), no_support),
        reduce(lambda others, own: _face_or(int(own[0]), own[1], others), reversed(faces), no_face),
        reduce(lambda others, own: _face_or(int(own[0]), own[1], others), reversed(edges), no_face),
        reduce(lambda others, code: _radius_or(code, others), reversed(rounded), no_radius),
    )

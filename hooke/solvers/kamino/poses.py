"""Vectors, quaternions and rotations over the numbers of a solver."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.solvers.kamino.data import make_types

__all__ = ["make_pose_functions"]


@cache
def make_pose_functions(scalar: Any) -> SimpleNamespace:
    """``widened``, ``unit``, ``turned`` and ``rotated`` over a type of numbers."""
    t = make_types(scalar)
    vec3, quat = t.vec3, t.quat

    @wp.func
    def widened(v: wp.vec3):
        return vec3(scalar(v[0]), scalar(v[1]), scalar(v[2]))

    @wp.func
    def unit(q: wp.quat):
        return wp.normalize(quat(scalar(q[0]), scalar(q[1]), scalar(q[2]), scalar(q[3])))

    @wp.func
    def turned(q: quat, phi: vec3):
        """exp(phi) q, of unit length."""
        square = scalar(0.25) * wp.dot(phi, phi)
        s = scalar(0.5) - square * (scalar(1.0 / 12.0) - square * (scalar(1.0 / 240.0) - square * scalar(1.0 / 10080.0)))
        c = scalar(1.0) - square * (scalar(0.5) - square * (scalar(1.0 / 24.0) - square * scalar(1.0 / 720.0)))
        if square > scalar(1.0e-3):
            half = wp.sqrt(square)
            s = scalar(0.5) * wp.sin(half) / half
            c = wp.cos(half)
        return wp.normalize(quat(s * phi[0], s * phi[1], s * phi[2], c) * q)

    @wp.func
    def rotated(v: vec3, phi: vec3):
        """exp(phi) v."""
        square = wp.dot(phi, phi)
        a = scalar(1.0) - square * (scalar(1.0 / 6.0) - square * (scalar(1.0 / 120.0) - square * scalar(1.0 / 5040.0)))
        b = scalar(0.5) - square * (scalar(1.0 / 24.0) - square * (scalar(1.0 / 720.0) - square * scalar(1.0 / 40320.0)))
        if square > scalar(4.0e-3):
            angle = wp.sqrt(square)
            a = wp.sin(angle) / angle
            b = (scalar(1.0) - wp.cos(angle)) / square
        across = wp.cross(phi, v)
        return v + a * across + b * wp.cross(phi, across)

    return SimpleNamespace(widened=widened, unit=unit, turned=turned, rotated=rotated)

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
        angle = wp.length(phi)
        half = scalar(0.5) * angle
        s = scalar(0.5) - angle * angle / scalar(48.0)
        if angle > scalar(1.0e-3):
            s = wp.sin(half) / angle
        return wp.normalize(quat(s * phi[0], s * phi[1], s * phi[2], wp.cos(half)) * q)

    @wp.func
    def rotated(v: vec3, phi: vec3):
        """exp(phi) v."""
        return wp.quat_rotate(turned(quat(scalar(0.0), scalar(0.0), scalar(0.0), scalar(1.0)), phi), v)

    return SimpleNamespace(widened=widened, unit=unit, turned=turned, rotated=rotated)

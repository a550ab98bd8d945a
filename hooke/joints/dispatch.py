"""The one place that tells kinds of joints apart inside a kernel: chains of closures over the registry (docs/decisions/0006)."""

from __future__ import annotations

from functools import reduce
from typing import Any

import warp as wp

from hooke.joints import JOINTS
from hooke.joints.axes import axes_of_axes, coordinates_of_axes, rates_of_axes, transform_of_axes
from hooke.joints.cable import cable_strain
from hooke.joints.kind import JointKind, Place

__all__ = [
    "has_quaternion", "has_transform", "is_at_com", "is_elastic", "is_one_sided", "joint_axes", "joint_coordinates", "joint_rates",
    "joint_strain", "joint_transform",
]  # fmt: skip


def _flag(kinds: list[JointKind]) -> Any:
    """A ``@wp.func`` (code: int) -> bool: whether the code is that of one of some kinds."""
    mask = sum(1 << int(kind.code) for kind in kinds)

    @wp.func
    def one_of(code: int):
        return ((mask >> code) & 1) == 1

    return one_of


has_transform = _flag([kind for kind in JOINTS if kind.transform is not None])
"""``@wp.func (code: int) -> bool``: whether coordinates give the pose of the child."""

is_at_com = _flag([kind for kind in JOINTS if kind.at_com])
"""``@wp.func (code: int) -> bool``: whether linear velocities are those of the child's centre of mass."""

has_quaternion = _flag([kind for kind in JOINTS if kind.quaternion])
"""``@wp.func (code: int) -> bool``: whether the rotation is a quaternion, so that angular coordinates are no angles."""

is_elastic = _flag([kind for kind in JOINTS if kind.strain is not None])
"""``@wp.func (code: int) -> bool``: whether it resists by strains and material rather than by constraints."""

is_one_sided = _flag([kind for kind in JOINTS if kind.one_sided])
"""``@wp.func (code: int) -> bool``: whether it limits a distance."""


def _transform_link(kind: JointKind, others: Any) -> Any:
    own, transform = int(kind.code), kind.transform

    @wp.func
    def chosen(code: int, place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
        if code == own:
            return transform(place, axis, q)
        return others(code, place, axis, q)

    return chosen


def _coordinates_link(kind: JointKind, others: Any) -> Any:
    own, coordinates = int(kind.code), kind.coordinates

    @wp.func
    def chosen(code: int, place: Place, axis: wp.array(dtype=Any), x: Any):
        if code == own:
            return coordinates(place, axis, x)
        return others(code, place, axis, x)

    return chosen


def _motion_link(kind: JointKind, name: str, others: Any) -> Any:
    own, motion = int(kind.code), getattr(kind, name)

    @wp.func
    def chosen(code: int, place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
        if code == own:
            return motion(place, axis, q, k)
        return others(code, place, axis, q, k)

    return chosen


def _strain_link(kind: JointKind, others: Any) -> Any:
    own, strain = int(kind.code), kind.strain

    @wp.func
    def chosen(code: int, x: Any, rest: Any):
        if code == own:
            return strain(x, rest)
        return others(code, x, rest)

    return chosen


@wp.func
def _last_strain(code: int, x: Any, rest: Any):
    return cable_strain(x, rest)


@wp.func
def _last_transform(code: int, place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any)):
    return transform_of_axes(place, axis, q)


@wp.func
def _last_coordinates(code: int, place: Place, axis: wp.array(dtype=Any), x: Any):
    return coordinates_of_axes(place, axis, x)


@wp.func
def _last_axes(code: int, place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    return axes_of_axes(place, axis, q, k)


@wp.func
def _last_rates(code: int, place: Place, axis: wp.array(dtype=Any), q: wp.array(dtype=Any), k: int):
    return rates_of_axes(place, axis, q, k)


_OTHERS = [kind for kind in JOINTS if kind.locked is not None]  # the chains end in the general case, D6

joint_transform = reduce(lambda others, kind: _transform_link(kind, others), [k for k in _OTHERS if k.transform], _last_transform)
"""``@wp.func (code, place, axis, q) -> transform``: J(q) of any kind."""

joint_coordinates = reduce(lambda others, kind: _coordinates_link(kind, others), _OTHERS, _last_coordinates)
"""``@wp.func (code, place, axis, x) -> vector of 7``: coordinates of any kind."""

joint_axes = reduce(lambda others, kind: _motion_link(kind, "axes", others), _OTHERS, _last_axes)
"""``@wp.func (code, place, axis, q, k) -> (vec3, vec3)``: relative motion of any kind for a unit of qd_k."""

joint_rates = reduce(lambda others, kind: _motion_link(kind, "rates", others), _OTHERS, _last_rates)
"""``@wp.func (code, place, axis, q, k) -> (vec3, vec3)``: the wrench of any kind whose power is qd_k."""

joint_strain = reduce(lambda others, kind: _strain_link(kind, others), [k for k in JOINTS if k.strain], _last_strain)
"""``@wp.func (code, x, rest) -> (vec3, vec3, mat33)``: strains of an elastic kind."""

"""Checks of the arguments of SolverVBD."""

from __future__ import annotations

import inspect
import math
import numbers
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import warp as wp

from hooke.contact.particle import FRICTION_LAWS
from hooke.model.model import Model
from hooke.solvers.vbd.acceleration import ACCELERATIONS

__all__ = ["check_options", "read_filter_map", "read_filter_maps", "warn_of_particle_pairs"]

_FLAGS = (
    "integrate_with_external_rigid_solver",
    "particle_enable_self_contact",
    "particle_enable_tile_solve",
    "rigid_compliant_alm",
    "rigid_contact_hard",
    "rigid_contact_history",
)

_INTEGERS = {
    "iterations": 0,
    "particle_vertex_contact_buffer_size": 1,
    "particle_edge_contact_buffer_size": 1,
    "particle_collision_detection_interval": None,
    "particle_topological_contact_filter_threshold": 0,
    "rigid_body_contact_buffer_size": 0,
    "rigid_body_particle_contact_buffer_size": 0,
}
"""Arguments that are integers, with the least value."""

_NUMBERS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "friction_epsilon": ("> 0 m/s", lambda value: value > 0.0),
    "particle_self_contact_radius": ("> 0 m", lambda value: value > 0.0),
    "particle_self_contact_margin": ("> 0 m", lambda value: value > 0.0),
    "particle_conservative_bound_relaxation": ("between 0 and 1", lambda value: 0.0 < value < 1.0),
    "particle_tolerance": (">= 0 m", lambda value: value >= 0.0),
    "particle_edge_parallel_epsilon": (">= 0", lambda value: value >= 0.0),
    "particle_rest_shape_contact_exclusion_radius": (">= 0 m", lambda value: value >= 0.0),
    "rigid_avbd_beta": (">= 0 N/m^2", lambda value: value >= 0.0),
    "rigid_avbd_linear_beta": (">= 0 N/m^2", lambda value: value >= 0.0),
    "rigid_contact_k_start": (">= 0 N/m", lambda value: value >= 0.0),
    "rigid_avbd_alpha": ("from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "rigid_avbd_joint_alpha": ("from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "rigid_avbd_contact_alpha": ("from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "rigid_contact_stick_motion_eps": (">= 0 m", lambda value: value >= 0.0),
    "rigid_contact_stick_freeze_translation_eps": (">= 0 m", lambda value: value >= 0.0),
    "rigid_contact_stick_freeze_angular_eps": (">= 0 rad", lambda value: value >= 0.0),
    "rigid_avbd_gamma": ("from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "rigid_avbd_angular_beta": (">= 0 N m/rad^2", lambda value: value >= 0.0),
    "rigid_joint_linear_ke": (">= 0 N/m", lambda value: value >= 0.0),
    "rigid_joint_angular_ke": (">= 0 N m/rad", lambda value: value >= 0.0),
    "rigid_joint_linear_k_start": (">= 0 N/m", lambda value: value >= 0.0),
    "rigid_joint_angular_k_start": (">= 0 N m/rad", lambda value: value >= 0.0),
    "rigid_joint_linear_kd": ("of N s/m; negative is 0", lambda value: True),
    "rigid_joint_angular_kd": ("of N m s/rad; negative is 0", lambda value: True),
}
"""Arguments that are finite numbers: what is expected, in words and as a test."""

_ON_PAGE = (
    "rigid_contact_stick_motion_eps",
    "rigid_contact_stick_freeze_translation_eps",
    "rigid_contact_stick_freeze_angular_eps",
)
"""Arguments that act in the documented formulation only."""

_PAIR_SETTINGS = ("ke", "kd", "kf", "mu", "cohesion", "adhesion", "grid")
"""Attributes ``particle_*`` of a model for contact between loose particles."""


def check_options(constructor: Any, given: dict[str, Any]) -> None:
    """Refuse values out of range, and say which have no effect.

    Args:
        constructor: ``SolverVBD.__init__``, whose signature holds the defaults.
        given: Its arguments by name.

    Raises:
        ValueError: A value is out of range or of the wrong kind.
    """
    defaults = {name: parameter.default for name, parameter in inspect.signature(constructor).parameters.items()}
    for name in _FLAGS:
        if not isinstance(given[name], (bool, np.bool_)):
            raise ValueError(f"SolverVBD: expected {name} as True or False, found {given[name]!r}")
    for name, least in _INTEGERS.items():
        _check_integer(name, given[name], least)
    for name, (wanted, accepts) in _NUMBERS.items():
        if given[name] is None and defaults[name] is None:
            continue
        if not _is_number(given[name]) or not accepts(float(given[name])):
            raise ValueError(f"SolverVBD: expected {name} as a finite number {wanted}, found {given[name]!r}")
    law, mode, ownership = (
        given[name] for name in ("particle_contact_friction", "deterministic", "particle_self_contact_ownership")
    )
    if ownership not in ("feature", "pair"):
        raise ValueError(f"SolverVBD: expected particle_self_contact_ownership as 'feature' or 'pair', found {ownership!r}")
    if law not in FRICTION_LAWS:
        raise ValueError(f"SolverVBD: expected particle_contact_friction as one of {sorted(FRICTION_LAWS)}, found {law!r}")
    if mode is not None and not isinstance(mode, getattr(wp, "DeterministicMode", ())):
        raise ValueError(f"SolverVBD: expected deterministic as a warp.DeterministicMode or None, found {mode!r}")
    if given["particle_enable_self_contact"]:
        _check_self_contact_distances(given["particle_self_contact_radius"], given["particle_self_contact_margin"])
    if given["particle_acceleration"] not in (None, *ACCELERATIONS):
        found = given["particle_acceleration"]
        raise ValueError(f"SolverVBD: expected particle_acceleration as None or one of {list(ACCELERATIONS)}, found {found!r}")
    idle = [name for name in _ON_PAGE if given["rigid_compliant_alm"] and given[name] not in (0.0, defaults[name])]
    if idle:
        warnings.warn(
            f"SolverVBD: {', '.join(idle)} will have no effect: only the documented formulation (rigid_compliant_alm=False) takes "
            "contacts to stick below such ways; by default friction holds without",
            stacklevel=4,
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _check_integer(name: str, value: Any, least: int | None) -> None:
    if not _is_integer(value) or (least is not None and value < least):
        wanted = "an integer" if least is None else f"an integer >= {least}"
        raise ValueError(f"SolverVBD: expected {name} as {wanted}, found {value!r}")


def _check_self_contact_distances(radius: float, margin: float) -> None:
    if margin < radius:
        raise ValueError(
            f"SolverVBD: particle_self_contact_margin ({margin} m) is smaller than particle_self_contact_radius ({radius} m), so "
            "pairs would act before they are found; take 1.5 to 2 times the radius as the margin"
        )


def read_filter_maps(given: dict[str, Any], tables: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (vertex, triangle) and (edge, edge) that self-contact is to leave out, see :func:`read_filter_map`."""
    vertex, triangle, edge = (
        (noun, tables[table].count) for noun, table in (("vertex", "particle"), ("triangle", "tri"), ("edge", "edge"))
    )
    names = "particle_external_vertex_contact_filtering_map", "particle_external_edge_contact_filtering_map"
    return read_filter_map(names[0], given[names[0]], vertex, triangle), read_filter_map(names[1], given[names[1]], edge, edge)


def read_filter_map(name: str, given: Any, keys: tuple[str, int], values: tuple[str, int]) -> np.ndarray:
    """The pairs of a map of contacts to leave out.

    Args:
        name: Argument, for messages.
        given: ``{key: list or set of values}``; None is no pairs.
        keys: What a key is, in words, and how many of them there are.
        values: The same for the values.

    Returns:
        Pairs (key, value) int32, shape (n, 2), sorted, each once.

    Raises:
        ValueError: It is no such map, or names something that does not exist.
    """
    if given is None:
        return np.empty((0, 2), np.int32)
    if not isinstance(given, Mapping):
        raise ValueError(f"SolverVBD: expected {name} as a dict from {keys[0]} to a list or set of {values[0]}s, found {given!r}")
    pairs = set()
    for key, entries in given.items():
        _check_index(name, "key", key, *keys)
        if not isinstance(entries, (list, tuple, set, frozenset, np.ndarray)):
            raise ValueError(f"SolverVBD: expected {name}[{key!r}] as a list or set of {values[0]}s, found {entries!r}")
        for entry in entries:
            _check_index(f"{name}[{key!r}]", "entry", entry, *values)
            pairs.add((int(key), int(entry)))
    return np.array(sorted(pairs), np.int32).reshape(-1, 2)


def _check_index(name: str, role: str, value: Any, noun: str, count: int) -> None:
    if not _is_integer(value) or not 0 <= value < count:
        raise ValueError(f"SolverVBD: expected every {role} of {name} as a {noun} from 0 to {count - 1}, found {value!r}")


def warn_of_particle_pairs(model: Any) -> None:
    """Say that loose particles do not meet, where a model has settings for that.

    Models of other packages have them all, whether somebody asks or not; cohesion and adhesion act only when they are set.
    """
    if isinstance(model, Model):
        asked = [name for name in _PAIR_SETTINGS if vars(model).get(f"particle_{name}") is not None]
    else:
        asked = [name for name in ("cohesion", "adhesion") if getattr(model, f"particle_{name}", None)]
    if asked:
        found = ", ".join(f"model.particle_{name}" for name in asked)
        warnings.warn(
            f"SolverVBD: {found} will have no effect: this solver has no contact between loose particles, which pass through each "
            "other; particles meet shapes only",
            stacklevel=3,
        )

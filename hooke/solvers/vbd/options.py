"""Checks of the arguments of SolverVBD."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any

from hooke.contact.particle import FRICTION_LAWS

__all__ = ["check_options"]

_RAMP = ("rigid_avbd_beta", "rigid_avbd_linear_beta", "rigid_contact_k_start")
"""Arguments named after rigid bodies that act on contacts of particles as well."""


def _check_number(given: dict[str, Any], name: str, wanted: str, accepts: Callable[[float], bool]) -> None:
    """Refuse what is not a finite number that is accepted."""
    value = given[name]
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value) or not accepts(float(value)):
        raise ValueError(f"SolverVBD: expected {name} as a finite number {wanted}, found {value!r}")


def check_options(constructor: Any, given: dict[str, Any]) -> None:
    """Refuse values out of range, and options of what the solver does not do yet.

    Args:
        constructor: ``SolverVBD.__init__``, whose signature holds the defaults.
        given: Its arguments by name.

    Raises:
        ValueError: A value is out of range.
        NotImplementedError: An option asks for self-contact or rigid bodies.
    """
    iterations, law = given["iterations"], given["particle_contact_friction"]
    if isinstance(iterations, bool) or not isinstance(iterations, numbers.Integral) or iterations < 0:
        raise ValueError(f"SolverVBD: expected iterations as an integer >= 0, found {iterations!r}")
    _check_number(given, "friction_epsilon", "> 0 m/s", lambda value: value > 0.0)
    if law not in FRICTION_LAWS:
        raise ValueError(f"SolverVBD: expected particle_contact_friction as one of {sorted(FRICTION_LAWS)}, found {law!r}")
    _check_number(given, "particle_conservative_bound_relaxation", "between 0 and 1", lambda value: 0.0 < value < 1.0)
    _check_number(given, "rigid_avbd_beta", ">= 0 N/m^2", lambda value: value >= 0.0)
    if given["rigid_avbd_linear_beta"] is not None:
        _check_number(given, "rigid_avbd_linear_beta", ">= 0 N/m^2", lambda value: value >= 0.0)
    _check_number(given, "rigid_contact_k_start", "> 0 N/m", lambda value: value > 0.0)
    defaults = inspect.signature(constructor).parameters
    for name, value in given.items():
        if name == "particle_enable_self_contact" and value:
            raise NotImplementedError("SolverVBD(particle_enable_self_contact=True): self-contact is not available yet")
        if name.startswith("rigid_") and name not in _RAMP and value != defaults[name].default:
            raise NotImplementedError(
                f"SolverVBD({name}={value!r}): rigid bodies are not available yet, so this argument must keep its default "
                f"{defaults[name].default!r}"
            )

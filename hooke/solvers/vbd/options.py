"""Checks of the arguments of SolverVBD."""

from __future__ import annotations

import inspect
import numbers
from typing import Any

from hooke.contact.particle import FRICTION_LAWS
from hooke.solvers.vbd.acceleration import ACCELERATIONS

__all__ = ["check_options"]


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
    if not 0.0 < given["friction_epsilon"] < float("inf"):
        raise ValueError(f"SolverVBD: expected friction_epsilon > 0 m/s, found {given['friction_epsilon']!r}")
    if law not in FRICTION_LAWS:
        raise ValueError(f"SolverVBD: expected particle_contact_friction as one of {sorted(FRICTION_LAWS)}, found {law!r}")
    if given["particle_acceleration"] not in (None, *ACCELERATIONS):
        found = given["particle_acceleration"]
        raise ValueError(f"SolverVBD: expected particle_acceleration as None or one of {list(ACCELERATIONS)}, found {found!r}")
    if not 0.0 <= given["particle_tolerance"] < float("inf"):
        raise ValueError(f"SolverVBD: expected particle_tolerance >= 0 m, found {given['particle_tolerance']!r}")
    if not 0.0 < given["particle_conservative_bound_relaxation"] < 1.0:
        raise ValueError(
            "SolverVBD: expected particle_conservative_bound_relaxation between 0 and 1, found "
            f"{given['particle_conservative_bound_relaxation']!r}"
        )
    defaults = inspect.signature(constructor).parameters
    for name, value in given.items():
        if name == "particle_enable_self_contact" and value:
            raise NotImplementedError("SolverVBD(particle_enable_self_contact=True): self-contact is not available yet")
        if name.startswith("rigid_") and value != defaults[name].default:
            raise NotImplementedError(
                f"SolverVBD({name}={value!r}): rigid bodies are not available yet, so this argument must keep its default "
                f"{defaults[name].default!r}"
            )

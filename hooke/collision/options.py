"""Checks of what a collision pipeline is asked for."""

from __future__ import annotations

from typing import Any

__all__ = ["BROAD_PHASES", "check_broad_phase", "check_sizes", "refuse"]

BROAD_PHASES = ("explicit", "nxn", "sap")

_REFUSED = {
    "requires_grad": "gradients are not available yet; pass False",
    "narrow_phase": "there is one narrow phase; pass None",
    "sdf_hydroelastic_config": "shapes have no compliant interior; pass None, and give them ke and kd",
    "body_pair_reduction": "contacts are reduced by pairs of shapes; pass False",
    "dynamic_shape_scale": "bounds of shapes are those of the scale they were finalized with; pass False",
}


def refuse(**options: Any) -> None:
    """Refuse options that are not available.

    Raises:
        NotImplementedError: One of them is neither None nor False.
    """
    for name, value in options.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"CollisionPipeline({name}={value!r}): {_REFUSED[name]}")


def check_sizes(**values: float | None) -> None:
    """Refuse sizes and distances that are negative or not finite; None is left alone.

    Raises:
        ValueError: One of them is.
    """
    for name, value in values.items():
        if value is not None and not 0.0 <= value < float("inf"):
            raise ValueError(f"CollisionPipeline: expected {name} >= 0, found {value}")


def check_broad_phase(name: str | None, pairs: Any) -> str | None:
    """The name of a broad phase, which goes with given pairs of shapes.

    Raises:
        ValueError: There is none of this name, or it does not go through given pairs.
    """
    if name is not None and name not in BROAD_PHASES:
        raise ValueError(f"CollisionPipeline: expected broad_phase None or one of {BROAD_PHASES}, found {name!r}")
    if pairs is not None and name not in (None, "explicit"):
        raise ValueError(f'CollisionPipeline: shape_pairs_filtered goes with broad_phase "explicit", found {name!r}')
    return "explicit" if pairs is not None else name

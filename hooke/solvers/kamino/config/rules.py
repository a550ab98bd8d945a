"""What values the fields of a configuration may have, and how they are read from a model."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

__all__ = ["Rule", "Section", "choice", "flag", "integer", "number", "read_attribute"]


@dataclass(frozen=True)
class Rule:
    """What a field may be.

    Attributes:
        wanted: In words, behind "expected ... as".
        typed: Whether a value is of the right type; if not that is a TypeError.
        accepts: Whether a value of that type is allowed; if not that is a ValueError.
        optional: Whether None is allowed.
    """

    wanted: str
    typed: Callable[[Any], bool]
    accepts: Callable[[Any], bool] = lambda value: True
    optional: bool = False


def number(wanted: str, accepts: Callable[[float], bool], *, optional: bool = False, infinite: bool = False) -> Rule:
    """A real number; not NaN, and finite unless ``infinite``."""
    finite = (lambda value: not math.isnan(value)) if infinite else math.isfinite
    return Rule(
        f"a {'' if infinite else 'finite '}number {wanted}", _is_number, lambda value: finite(value) and accepts(value), optional
    )


def integer(least: int, *, optional: bool = False) -> Rule:
    """An integer not below ``least``."""
    return Rule(f"an integer >= {least}", _is_integer, lambda value: value >= least, optional)


def flag() -> Rule:
    """True or False."""
    return Rule("True or False", lambda value: isinstance(value, (bool, np.bool_)))


def choice(*names: str) -> Rule:
    """One of some words."""
    return Rule(f"one of {list(names)}", lambda value: True, lambda value: isinstance(value, str) and value in names)


def mapping() -> Rule:
    """A dictionary of keyword arguments."""
    return Rule("a dict of keyword arguments", lambda value: isinstance(value, Mapping))


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


class Section:
    """A dataclass of settings with a rule for every field. Values are checked when it is made, and by :meth:`validate`."""

    RULES: ClassVar[dict[str, Rule]] = {}
    ATTRIBUTES: ClassVar[dict[str, str]] = {}
    """Custom attribute ``kamino:name`` of the model, by the field that it sets."""

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Check the values that the fields have now.

        Raises:
            TypeError: A value is of the wrong type.
            ValueError: A value is not allowed.
        """
        for name, rule in self.RULES.items():
            value = getattr(self, name)
            if value is None and rule.optional:
                continue
            wanted = rule.wanted + (" or None" if rule.optional else "")
            if not rule.typed(value):
                raise TypeError(f"{type(self).__name__}: expected {name} as {wanted}, found {value!r}")
            if not rule.accepts(value):
                raise ValueError(f"{type(self).__name__}: expected {name} as {wanted}, found {value!r}")

    @classmethod
    def from_model(cls, model: Any, **kwargs: Any) -> Any:
        """Make one from keyword arguments, then take what the model's custom attributes say, which comes before them.

        Args:
            model: The model, which may have been made without the attributes.
            **kwargs: Fields.

        Raises:
            TypeError: A value is of the wrong type, or there is no such field.
            ValueError: A value is not allowed.
        """
        return cls(**{**kwargs, **cls.read(model)})

    @classmethod
    def read(cls, model: Any) -> dict[str, Any]:
        """The fields that attributes of a model set."""
        found = {field: read_attribute(model, name) for field, name in cls.ATTRIBUTES.items()}
        return {field: value for field, value in found.items() if value is not None}

    def fields(self) -> dict[str, Any]:
        """The values by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}  # type: ignore[arg-type]


def read_attribute(model: Any, name: str) -> Any:
    """The value of a custom attribute ``kamino:name`` that a model has once, None where it has none."""
    held = getattr(getattr(model, "kamino", None), name, None)
    if isinstance(held, wp.array):
        held = held.numpy()
    if held is None or isinstance(held, str):
        return held
    value = np.ravel(np.asarray(held, dtype=object) if isinstance(held, list) else held)
    if len(value) != 1:
        raise ValueError(f"model.kamino.{name}: expected one value, found {len(value)}")
    if isinstance(value[0], np.floating):
        return float(str(value[0]))  # 1e-6 and not the number of double precision that is nearest to its single one
    return value[0].item() if isinstance(value[0], np.generic) else value[0]

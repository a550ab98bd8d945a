"""Custom attributes of SolverKamino: settings that a model carries, and arrays that a state may have."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import warp as wp

from hooke.model.custom import AttributeAssignment, AttributeFrequency, CustomAttribute

__all__ = ["fk_actuated", "fk_actuation_flags_of", "register_config_attributes", "register_solver_attributes"]

_LEAST_TOLERANCE = 1.0e-10


def _ranged(name: str, wanted: str, accepts: Callable[[Any], bool]) -> Callable[..., Any]:
    """What checks a number of a USD file."""

    def read(value: Any, *_context: Any, **_more: Any) -> Any:
        if not accepts(value):
            raise ValueError(f"USD attribute {name}: expected {wanted}, found {value!r}")
        return value

    return read


def _word(name: str, *words: str) -> Callable[..., Any]:
    """What reads a word of a USD file, in any case."""

    def read(value: Any, *_context: Any, **_more: Any) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"USD attribute {name}: expected one of {list(words)}, found {value!r}")
        return word

    return read


def _settings() -> list[CustomAttribute]:
    tolerance = (f">= {_LEAST_TOLERANCE}", lambda value: value >= _LEAST_TOLERANCE)
    fraction = ("from 0 to 1", lambda value: 0.0 <= value <= 1.0)
    padmm, constraints = "newton:kamino:padmm:", "newton:kamino:constraints:"
    rows: list[tuple[str, Any, Any, str, Any]] = [
        ("max_solver_iterations", wp.int32, -1, "newton:maxSolverIterations", (">= -1", lambda value: value >= -1)),
        ("padmm_primal_tolerance", wp.float32, 1.0e-6, padmm + "primalTolerance", tolerance),
        ("padmm_dual_tolerance", wp.float32, 1.0e-6, padmm + "dualTolerance", tolerance),
        ("padmm_complementarity_tolerance", wp.float32, 1.0e-6, padmm + "complementarityTolerance", tolerance),
        ("padmm_use_acceleration", wp.bool, True, padmm + "useAcceleration", None),
        ("padmm_warmstarting", str, "containers", padmm + "warmstarting", ("none", "internal", "containers")),
        ("constraints_alpha", wp.float32, 0.01, constraints + "alpha", fraction),
        ("constraints_beta", wp.float32, 0.01, constraints + "beta", fraction),
        ("constraints_gamma", wp.float32, 0.01, constraints + "gamma", fraction),
        ("constraints_use_preconditioning", wp.bool, True, constraints + "usePreconditioning", None),
        ("joint_correction", str, "twopi", "newton:kamino:jointCorrection", ("none", "twopi", "continuous")),
    ]
    return [
        CustomAttribute(
            name=name, dtype=dtype, frequency=AttributeFrequency.ONCE, namespace="kamino", default=default, usd_attribute_name=usd,
            usd_value_transformer=None if rule is None else _word(usd, *rule) if dtype is str else _ranged(usd, *rule),
        )
        for name, dtype, default, usd, rule in rows
    ]  # fmt: skip


def register_config_attributes(builder: Any) -> None:
    """Register the settings that a model may carry, one value each, in the namespace ``kamino``."""
    for attribute in _settings():
        builder.add_custom_attribute(attribute)


def register_solver_attributes(builder: Any, *, fk_actuation_flags: Any = None) -> None:
    """Register all custom attributes of the solver.

    Beside the settings, of the state: ``body_f_total``, the wrench of everything that acts on a body [N, N m]; ``joint_q_prev``, the
    coordinates before the step; ``joint_lambdas``, the effort of every locked motion of joints [N or N m]. Of the model:
    ``fk_actuation_flag``, whether forward kinematics takes a joint as actuated: 1 yes, 0 no, -1 as its target modes say.

    Args:
        builder: The builder.
        fk_actuation_flags: Flags by index or label of joints, or one for each of the joints that there are; None is -1 for all.

    Raises:
        ValueError: A flag is not -1, 0 or 1, or is for a joint that does not exist.
    """
    flags = _flags(builder, fk_actuation_flags)
    register_config_attributes(builder)
    state = AttributeAssignment.STATE
    for name, dtype, frequency in (
        ("body_f_total", wp.spatial_vector, AttributeFrequency.BODY), ("joint_q_prev", wp.float32, AttributeFrequency.JOINT_COORD),
        ("joint_lambdas", wp.float32, AttributeFrequency.JOINT_CONSTRAINT),
    ):  # fmt: skip
        builder.add_custom_attribute(CustomAttribute(name=name, dtype=dtype, frequency=frequency, assignment=state))
    name = "fk_actuation_flag"
    builder.add_custom_attribute(CustomAttribute(name=name, dtype=wp.int32, frequency=AttributeFrequency.JOINT, default=-1))
    column = builder._tables["joint"].columns[name]
    for joint, value in flags.items():
        column[joint] = value


def _flags(builder: Any, given: Any) -> dict[int, int]:
    """Flags by joint."""
    if given is None:
        return {}
    labels = list(builder.joint_label)
    if not isinstance(given, Mapping):
        values = list(given)
        if len(values) != len(labels):
            raise ValueError(f"fk_actuation_flags: expected one flag for each of {len(labels)} joints, found {len(values)}")
        given = dict(enumerate(values))
    flags = {}
    for key, value in given.items():
        joint = labels.index(key) if isinstance(key, str) and labels.count(key) == 1 else key
        if not isinstance(joint, numbers.Integral) or not 0 <= joint < len(labels):
            raise ValueError(
                f"fk_actuation_flags: expected the index or the unique label of one of {len(labels)} joints, found {key!r}"
            )
        if isinstance(value, bool) or value not in (-1, 0, 1):
            raise ValueError(f"fk_actuation_flags of joint {labels[joint]!r} (index {joint}): expected -1, 0 or 1, found {value!r}")
        flags[int(joint)] = int(value)
    return flags


def fk_actuation_flags_of(model: Any) -> Any:
    """The flags of a model's joints, int32 (joints,), or None where it has none."""
    flags = getattr(model, "fk_actuation_flag", None)
    return flags.numpy() if isinstance(flags, wp.array) else flags


def fk_actuated(model: Any, actuated: np.ndarray) -> np.ndarray:
    """Whether forward kinematics takes a joint as actuated, bool (joints,): as its flag says, else as its target modes do.

    Args:
        model: The model.
        actuated: What target modes say, :attr:`hooke.solvers.kamino.structure.Structure.actuated`.
    """
    flags = fk_actuation_flags_of(model)
    return actuated if flags is None else np.where(np.asarray(flags) == -1, actuated, np.asarray(flags) == 1)

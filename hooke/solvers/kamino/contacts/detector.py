"""The collision detector of SolverKamino, for steps that are given no contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.collision.pipeline import CollisionPipeline
from hooke.geometry.kind import GeoType
from hooke.geometry.shapes import shape_kind

__all__ = ["Detector"]

DEFAULT_GAP = 1.0e-5
PRIMITIVES = (GeoType.PLANE, GeoType.SPHERE, GeoType.CAPSULE, GeoType.BOX, GeoType.CYLINDER, GeoType.ELLIPSOID)
"""Shapes of the detector ``"primitive"``."""


class _Widened:
    """A model whose shapes see at least so far; everything else is that of the model."""

    def __init__(self, model: Any, gap: float):
        self._model, self._gap = model, gap
        self.shape_gap = wp.empty_like(model.shape_gap)
        self.read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def read(self) -> None:
        """Take over gaps of shapes that have changed."""
        self.shape_gap.assign(np.maximum(self._model.shape_gap.numpy(), np.float32(self._gap)))


class Detector:
    """Finds the contacts of a model.

    Args:
        model: The model.
        config: A CollisionDetectorConfig.

    Attributes:
        contacts: What was found.

    Raises:
        ValueError: With ``pipeline="primitive"`` a shape that collides is none of the primitive ones.
    """

    def __init__(self, model: Any, config: Any):
        self._model = _Widened(model, DEFAULT_GAP if config.default_gap is None else config.default_gap)
        if config.pipeline == "primitive":
            check_primitive(model)
        rows = config.max_contacts
        if config.max_contacts_per_world is not None:
            rows = config.max_contacts_per_world * max(1, model.world_count)
        self._pipeline = CollisionPipeline(
            self._model, broad_phase=config.broadphase, rigid_contact_max=rows, max_triangle_pairs=config.max_triangle_pairs,
            soft_contact_max=0, contact_matching="disabled", publish_capacity=False,
        )  # fmt: skip
        self.contacts = self._pipeline.contacts()

    def read(self) -> None:
        """Take over properties of shapes that have changed."""
        self._model.read()

    def detect(self, state: Any) -> Any:
        """The contacts at the poses of a state."""
        self._pipeline.collide(state, self.contacts)
        return self.contacts


def check_primitive(model: Any) -> None:
    """Refuse shapes that the analytic detector does not know."""
    types, pairs = model.shape_type.numpy(), model.shape_contact_pairs
    used = np.unique(pairs.numpy()) if pairs is not None and len(pairs) else np.zeros(0, np.int32)
    others = [s for s in used.tolist() if int(types[s]) not in {int(kind) for kind in PRIMITIVES}]
    if others:
        s = others[0]
        kind = shape_kind(int(types[s])).name
        raise ValueError(
            f'SolverKamino: collision_detector.pipeline="primitive" knows {", ".join(k.name.lower() for k in PRIMITIVES)}, found shape '
            f'"{model.shape_label[s]}" (index {s}), a {kind}, and {len(others) - 1} more; use pipeline="unified"'
        )

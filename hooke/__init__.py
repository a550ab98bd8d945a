"""hooke: physics of cloth, soft bodies, cables and mechanisms on NVIDIA Warp.

The names below are loaded when they are first used, so that ``import hooke`` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Axis": "hooke.model.enums",
    "BodyFlags": "hooke.model.enums",
    "JointTargetMode": "hooke.model.enums",
    "JointType": "hooke.joints.kind",
    "ModelFlags": "hooke.model.enums",
    "ParticleFlags": "hooke.model.enums",
    "ShapeFlags": "hooke.model.enums",
    "StateFlags": "hooke.model.enums",
    "GeoType": "hooke.geometry.kind",
    "Heightfield": "hooke.geometry.heightfield",
    "Mesh": "hooke.geometry.mesh",
    "Rod": "hooke.geometry.rod",
    "TetMesh": "hooke.geometry.tetmesh",
    "ColoringAlgorithm": "hooke.geometry.coloring",
    "Model": "hooke.model.model",
    "ModelBuilder": "hooke.model.builder",
    "JointDofConfig": "hooke.model.config",
    "ShapeConfig": "hooke.model.config",
    "State": "hooke.model.state",
    "Control": "hooke.model.control",
    "Contacts": "hooke.model.contacts",
    "eval_fk": "hooke.model.kinematics",
    "eval_ik": "hooke.model.kinematics",
    "eval_jacobian": "hooke.model.kinematics",
    "eval_mimic": "hooke.model.kinematics",
    "check_joint_poses": "hooke.model.kinematics",
    "measure_joint_error": "hooke.model.kinematics",
    "measure_energy": "hooke.model.energy",
    "measure_momentum": "hooke.model.energy",
    "CollisionPipeline": "hooke.collision.pipeline",
    "run": "hooke.simulate",
    "RunResult": "hooke.simulate",
    "Trajectory": "hooke.viewer.record",
    "Camera": "hooke.viewer.camera",
    "render": "hooke.viewer.render",
}
_MODULES = ("solvers", "scenes", "geometry", "viewer", "utils", "selection")

__all__ = ["__version__", *sorted(_HOME), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"hooke.{name}")
    raise AttributeError(f"module 'hooke' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Joints of USD stages: axes, limits, drives, and the attributes of newton's and PhysX' schemas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hooke.importers.description import Joint, pose_of
from hooke.importers.error import FileError
from hooke.importers.tree import turned
from hooke.importers.usd_values import authored, first_authored, quaternion, vector
from hooke.joints.kind import JointType
from hooke.model.config import JointDofConfig
from hooke.model.enums import JointTargetMode
from hooke.model.motion import compose, inverse_pose, quat_rotate

__all__ = ["merge_parallel", "read_joint"]

_DOFS = ("TransX", "TransY", "TransZ", "RotX", "RotY", "RotZ")
_FREE = 1.0e10


def read_joint(scene: Any, path: str, desc: Any) -> Joint | None:
    """A joint, or None if it is disabled (and only enabled ones are wanted) or holds nothing that moves."""
    if not desc.jointEnabled and scene.options.only_load_enabled_joints:
        return None
    prim = scene.prim(path)
    ends = [scene.bodies.get(str(body), -1) for body in (desc.body0, desc.body1)]
    for body in (desc.body0, desc.body1):
        if str(body) and not body.isEmpty and str(body) not in scene.bodies:
            scene.left_out.append(f"{path} (its body {body} is not loaded)")
            return None
    for relation in (desc.rel0, desc.rel1):
        if not relation.isEmpty and not scene.prim(relation):
            raise FileError(scene.path, f"prim {path}: its body {relation} does not exist")
    if ends[0] == ends[1]:
        if ends[0] >= 0:
            raise FileError(scene.path, f"prim {path}: both of its bodies are {desc.body0}")
        scene.left_out.append(f"{path} (none of its ends is a rigid body)")
        return None
    frames = [
        pose_of(vector(p) * scene.length, quaternion(q))
        for p, q in (
            (desc.localPose0Position, desc.localPose0Orientation), (desc.localPose1Position, desc.localPose1Orientation),
        )
    ]  # fmt: skip
    joint = Joint(
        path, f"prim {path}", JointType.FIXED, *ends, *frames, enabled=bool(desc.jointEnabled),
        loop=bool(desc.excludeFromArticulation), filter_parent=not desc.collisionEnabled,
        custom={**scene.custom("joint", prim), **scene.custom("joint_dof", prim)},
    )  # fmt: skip
    kind = str(desc.type).rpartition(".")[2]
    {"RevoluteJoint": _single, "PrismaticJoint": _single, "SphericalJoint": _ball, "DistanceJoint": _distance, "D6Joint": _d6}.get(
        kind, lambda *_: None
    )(scene, prim, desc, joint)
    _mimic(scene, prim, joint)
    return _world_first(scene, joint)


def _world_first(scene: Any, joint: Joint) -> Joint:
    """The world is the parent, never the child."""
    if joint.child >= 0:
        return joint
    if (len(joint.linear) > 0 and len(joint.angular) > 0) or (len(joint.angular) > 1 and joint.kind == JointType.D6):
        raise FileError(scene.path, f"{joint.where}: body1 is the world; a joint with these axes needs it as body0")
    return turned(joint)


def _units(scene: Any, angular: bool) -> tuple[float, float, float]:
    """Of a coordinate, of an effort, and of stiffness or damping: to SI, radians."""
    if angular:
        degree = np.pi / 180.0
        torque = scene.mass * scene.length**2
        return degree, torque, torque / degree
    return scene.length, scene.mass * scene.length, scene.mass


def _dof(scene: Any, prim: Any, axis: int, angular: bool, names: tuple[str, ...], limit: Any, drive: Any) -> JointDofConfig:
    """One axis; ``names`` are how schemas call it (``angular``, ``rotX``)."""
    unit, effort, gain = _units(scene, angular)
    dof = replace(scene.options.joint_default, axis=axis)
    if limit is not None:
        low, high = float(limit.lower) * unit, float(limit.upper) * unit
        dof.limit_lower = low if np.isfinite(low) else -_FREE
        dof.limit_upper = high if np.isfinite(high) else _FREE
    if drive is not None and drive.enabled:
        _drive(scene, prim, dof, drive, (unit, effort, gain))
    rows = (
        ("armature", effort / unit if not angular else effort, ("newton:armature", "physxJoint:armature")),
        ("friction", effort, ("newton:friction",)),
        ("damping", gain, ("newton:damping",)),
        ("velocity_limit", unit, ("newton:velocityLimit", "physxJoint:maxJointVelocity")),
        ("limit_ke", gain, ("newton:limitStiffness", *(f"physxLimit:{name}:stiffness" for name in names))),
        ("limit_kd", gain, ("newton:limitDamping", *(f"physxLimit:{name}:damping" for name in names))),
    )
    for field, factor, spellings in rows:
        value = first_authored(prim, *spellings)
        if value is not None and np.isfinite(float(value)):
            setattr(dof, field, float(value) * factor)
    return dof


def _drive(scene: Any, prim: Any, dof: JointDofConfig, drive: Any, units: tuple[float, float, float]) -> None:
    unit, effort, gain = units
    scaling = scene.options.joint_drive_gains_scaling
    dof.target_ke, dof.target_kd = (float(x) * gain * scaling for x in (drive.stiffness, drive.damping))
    dof.target_q = dof.target_pos = float(drive.targetPosition) * unit
    dof.target_qd = dof.target_vel = float(drive.targetVelocity) * unit
    dof.effort_limit = min(float(drive.forceLimit) * effort, _FREE)
    if drive.acceleration:
        scene.left_out.append(f"{prim.GetPath()} (its drive of type acceleration acts as one of type force)")
    force = scene.options.force_position_velocity_actuation
    dof.actuator_mode = JointTargetMode.from_gains(dof.target_ke, dof.target_kd, force, True)


def _single(scene: Any, prim: Any, desc: Any, joint: Joint) -> None:
    angular = str(desc.type).endswith("RevoluteJoint")
    axis = "XYZ".index(str(desc.axis).rpartition(".")[2])
    names = ("angular" if angular else "linear", "XYZ"[axis], ("rot" if angular else "trans") + "XYZ"[axis])
    dof = _dof(scene, prim, axis, angular, names, desc.limit, desc.drive)
    joint.kind = JointType.REVOLUTE if angular else JointType.PRISMATIC
    (joint.angular if angular else joint.linear).append(dof)


def _ball(scene: Any, prim: Any, desc: Any, joint: Joint) -> None:
    joint.kind = JointType.BALL
    joint.angular = [_dof(scene, prim, k, True, ("angular",), None, None) for k in range(3)]
    if desc.limit.enabled:
        scene.left_out.append(f"the cone limit of {prim.GetPath()}")


def _distance(scene: Any, prim: Any, desc: Any, joint: Joint) -> None:
    joint.kind = JointType.DISTANCE
    scene.left_out.append(f"the limits of the distance joint {prim.GetPath()} (its bodies are free of each other)")


def _d6(scene: Any, prim: Any, desc: Any, joint: Joint) -> None:
    limits = {str(pair.first).rpartition(".")[2]: pair.second for pair in desc.jointLimits}
    drives = {str(pair.first).rpartition(".")[2]: pair.second for pair in desc.jointDrives}
    for k, name in enumerate(_DOFS):
        letter, angular = "XYZ"[k % 3], k >= 3
        limit = limits.get(name)
        if _locks(prim, ("rot" if angular else "trans") + letter, limit):
            continue
        names = (("rot" if angular else "trans") + letter,)
        dof = _dof(scene, prim, k % 3, angular, names, limit, drives.get(name))
        (joint.angular if angular else joint.linear).append(dof)
    if joint.linear or joint.angular:
        joint.kind = JointType.D6
    if "Distance" in limits:
        scene.left_out.append(f"the limit of the distance of {prim.GetPath()}")


def _locks(prim: Any, name: str, limit: Any) -> bool:
    """Whether a limit has its lower end above its upper one or both at 0; also one without LimitAPI, which the parser passes over."""
    low, high = (authored(prim, f"limit:{name}:physics:{end}") for end in ("low", "high"))
    if limit is not None:
        low, high = limit.lower, limit.upper
    return low is not None and high is not None and (low > high or low == high == 0.0)


def _mimic(scene: Any, prim: Any, joint: Joint) -> None:
    relation = prim.GetRelationship("newton:mimicJoint")
    targets = relation.GetTargets() if relation else []
    if not targets or authored(prim, "newton:mimicEnabled") is False:
        return
    angular = joint.kind == JointType.REVOLUTE
    offset = float(first_authored(prim, "newton:mimicCoef0") or 0.0) * _units(scene, angular)[0]
    factor = first_authored(prim, "newton:mimicCoef1")
    joint.mimic = (str(targets[0]), offset, 1.0 if factor is None else float(factor))


def merge_parallel(scene: Any, joints: list[Joint]) -> tuple[list[Joint], dict[str, str]]:
    """Make one D6 joint of hinges and sliders that join the same bodies in files written for mujoco, where they act one after the other.

    Returns:
        The joints, and the path of the joint that took another, by the path of the latter.
    """
    kept: dict[tuple[int, int], Joint] = {}
    result, taken = [], {}
    for joint in joints:
        key, first = (joint.parent, joint.child), kept.get((joint.parent, joint.child))
        if joint.kind not in (JointType.REVOLUTE, JointType.PRISMATIC) or joint.loop or not _of_mujoco(scene.prim(joint.name)):
            result.append(joint)
        elif first is None:
            kept[key] = joint
            result.append(joint)
        else:
            _join(scene, first, joint)
            taken[joint.name] = first.name
    return result, taken


def _of_mujoco(prim: Any) -> bool:
    return any(str(name).startswith("mjc:") for name in prim.GetAuthoredPropertyNames()) or any(
        str(schema).startswith("Mjc") for schema in prim.GetAppliedSchemas()
    )


def _join(scene: Any, first: Joint, joint: Joint) -> None:
    """Add the axis of a joint, in the anchor frame of the first."""
    turn = compose(inverse_pose(first.child_pose), joint.child_pose)
    if np.linalg.norm(turn[:3]) > 1.0e-4:
        scene.left_out.append(f"the anchor of {joint.name} (its axis is at that of {first.name})")
    first.kind, first.custom = JointType.D6, first.custom | joint.custom
    first.linear += [replace(dof, axis=quat_rotate(turn[3:], dof.axis)) for dof in joint.linear]
    first.angular += [replace(dof, axis=quat_rotate(turn[3:], dof.axis)) for dof in joint.angular]
    if max(len(first.linear), len(first.angular)) > 3:
        raise FileError(scene.path, f"{joint.where}: more than three hinges or sliders between two bodies")

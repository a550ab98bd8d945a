"""Joints, actuators and equality constraints of a compiled MJCF file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hooke.importers.description import Description, Joint, pose_of
from hooke.importers.error import FileError
from hooke.joints.kind import JointType
from hooke.model.config import JointDofConfig
from hooke.model.enums import JointTargetMode
from hooke.model.motion import compose, inverse_pose, quat_multiply

__all__ = ["read_actuators", "read_equalities", "read_joints"]

_FREE, _BALL, _SLIDE, _HINGE = 0, 1, 2, 3  # mjtJoint


def read_joints(c: Any, what: Description) -> None:
    """One joint for every body: that of the file, or a D6 joint of all of them, or a fixed one where there is none."""
    for index, number in c.numbers.items():
        if number < 0:
            continue
        parent = c.numbers[int(c.m.body_parentid[index])]
        first, count = int(c.m.body_jntadr[index]), int(c.m.body_jntnum[index])
        joints = list(range(first, first + count)) if count else []
        what.joints.append(_joint(c, index, parent, number, joints))


def _joint(c: Any, body: int, parent: int, child: int, joints: list[int]) -> Joint:
    m, scale = c.m, c.options.scale
    types = [int(m.jnt_type[j]) for j in joints]
    name = "_".join(c.name("joint", j) for j in joints) or f"{c.name('body', body)}_fixed"
    if int(m.body_mocapid[body]) >= 0:
        return Joint(name.replace("_fixed", "_mocap"), f"body {c.name('body', body)!r}", JointType.FREE, parent, child)
    where = f"joint {name!r}"
    anchor = pose_of(m.jnt_pos[joints[0]] * scale) if joints else pose_of(np.zeros(3))
    frame = pose_of(m.body_pos[body] * scale, m.body_quat[body][[1, 2, 3, 0]])
    joint = Joint(name, where, JointType.FIXED, parent, child, compose(frame, anchor), anchor)
    if _FREE in types:
        joint.kind, joint.parent_pose, joint.child_pose = JointType.FREE, pose_of(np.zeros(3)), pose_of(np.zeros(3))
    elif types == [_BALL]:
        joint.kind = JointType.BALL
        dof = replace(c.options.joint_default)
        _passive(c, joints[0], dof)
        joint.angular = [replace(dof, axis=k, limit_lower=-1.0e10, limit_upper=1.0e10) for k in range(3)]
        if m.jnt_limited[joints[0]]:
            c.left_out.append(f"the limit of ball {where}")
    elif _BALL in types:
        raise FileError(c.path, f"{where}: a ball among other joints of one body; give each its own body")
    elif joints:
        _scalar(c, joint, joints, types)
    return joint


def _scalar(c: Any, joint: Joint, joints: list[int], types: list[int]) -> None:
    """Hinges and sliders: axes in the frame of the body, and the coordinates ``ref`` at which the file shows the body."""
    m, scale = c.m, c.options.scale
    dofs = [_dof(c, j) for j in joints]
    joint.linear = [dof for dof, t in zip(dofs, types, strict=True) if t == _SLIDE]
    joint.angular = [dof for dof, t in zip(dofs, types, strict=True) if t == _HINGE]
    if max(len(joint.linear), len(joint.angular)) > 3:
        raise FileError(c.path, f"{joint.where}: more than three hinges or sliders on one body; give some their own body")
    if _SLIDE in types[types.index(_HINGE) :] if _HINGE in types else False:
        c.left_out.append(f"{joint.where}: the order of a slider after a hinge (its axis does not turn with the hinge)")
    hinges = [j for j, t in zip(joints, types, strict=True) if t == _HINGE]
    if any(not np.allclose(m.jnt_pos[j], m.jnt_pos[hinges[0]], atol=1.0e-9) for j in hinges):
        c.left_out.append(f"{joint.where}: anchors of its hinges but the first (they act at one point)")
    if hinges:
        anchor = pose_of(m.jnt_pos[hinges[0]] * scale)
        joint.parent_pose = compose(compose(joint.parent_pose, inverse_pose(joint.child_pose)), anchor)
        joint.child_pose = anchor
    joint.kind = JointType.D6 if len(joints) > 1 else JointType.PRISMATIC if joint.linear else JointType.REVOLUTE
    ref = [float(m.qpos0[m.jnt_qposadr[j]]) * (scale if t == _SLIDE else 1.0) for j, t in zip(joints, types, strict=True)]
    ref = [r for r, t in zip(ref, types, strict=True) if t == _SLIDE] + [r for r, t in zip(ref, types, strict=True) if t == _HINGE]
    if c.options.convert_3d_hinge_to_ball_joints and types == [_HINGE] * 3 and not any(ref):
        joint.kind = JointType.BALL
        return
    joint.q = ref
    joint.child_pose = compose(joint.child_pose, _motion(joint, ref))


def _motion(joint: Joint, q: list[float]) -> np.ndarray:
    """Pose of the child anchor in the parent anchor at coordinates ``q``."""
    count = len(joint.linear)
    p = sum((qi * dof.axis for qi, dof in zip(q[:count], joint.linear, strict=True)), np.zeros(3))
    turn = np.array([0.0, 0.0, 0.0, 1.0])
    for angle, dof in zip(q[count:], joint.angular, strict=True):
        turn = quat_multiply(turn, [*(np.sin(0.5 * angle) * dof.axis), np.cos(0.5 * angle)])
    return pose_of(p, turn)


def _dof(c: Any, j: int) -> JointDofConfig:
    m = c.m
    unit = c.options.scale if int(m.jnt_type[j]) == _SLIDE else 1.0
    dof = replace(c.options.joint_default, axis=m.jnt_axis[j])
    if m.jnt_limited[j]:
        dof.limit_lower, dof.limit_upper = (float(r) * unit for r in m.jnt_range[j])
    _passive(c, j, dof)
    dof.stiffness = float(np.atleast_1d(m.jnt_stiffness[j])[0])
    dof.rest_q = float(m.qpos_spring[m.jnt_qposadr[j]]) * unit
    if m.jnt_actfrclimited[j]:
        dof.effort_limit = float(np.abs(m.jnt_actfrcrange[j]).max())
    return dof


def _passive(c: Any, j: int, dof: JointDofConfig) -> None:
    d = int(c.m.jnt_dofadr[j])
    dof.damping = float(np.atleast_1d(c.m.dof_damping[d])[0])
    dof.friction = float(c.m.dof_frictionloss[d])
    dof.armature = float(c.m.dof_armature[d]) * c.options.armature_scale


def read_actuators(c: Any, what: Description) -> None:
    """Drives of actuators on joints: what they say is a force affine in control, position and velocity."""
    m = c.m
    dofs = {id(dof): dof for joint in what.joints for dof in (*joint.linear, *joint.angular)}
    by_name = _dofs_by_name(c, what)
    for index in range(m.nu):
        name = c.name("actuator", index)
        joint = int(m.actuator_trnid[index, 0])
        on_joint = int(m.actuator_trntype[index]) in (0, 1)
        dof = by_name.get(joint) if on_joint else None
        if dof is None or id(dof) not in dofs or c.options.ctrl_direct:
            c.left_out.append(f"actuator {name!r}" + ("" if on_joint else " (not on a joint)"))
            continue
        _drive(c, index, dof)


def _dofs_by_name(c: Any, what: Description) -> dict[int, JointDofConfig]:
    """Axis of every scalar joint of the file, by its index there."""
    m, found = c.m, {}
    by_child = {joint.child: joint for joint in what.joints if not joint.loop}
    for index, number in c.numbers.items():
        if number < 0 or number not in by_child:
            continue
        joint = by_child[number]
        linear, angular = list(joint.linear), list(joint.angular)
        first, count = int(m.body_jntadr[index]), int(m.body_jntnum[index])
        for j in range(first, first + count):
            waiting = linear if int(m.jnt_type[j]) == _SLIDE else angular if int(m.jnt_type[j]) == _HINGE else []
            if waiting:
                found[j] = waiting.pop(0)
    return found


def _drive(c: Any, index: int, dof: JointDofConfig) -> None:
    """Force gear (g ctrl + b0 + b1 gear q + b2 gear qd), as stiffness and damping towards a target."""
    m = c.m
    gear, gain, bias = float(m.actuator_gear[index, 0]), float(m.actuator_gainprm[index, 0]), m.actuator_biasprm[index]
    affine = int(m.actuator_biastype[index]) == 1
    ke = -float(bias[1]) * gear * gear if affine else 0.0
    kd = -float(bias[2]) * gear * gear if affine else 0.0
    if ke > 0.0:
        dof.target_ke, dof.target_kd, dof.actuator_mode = ke, max(kd, 0.0), JointTargetMode.POSITION
    elif kd > 0.0:
        dof.target_ke, dof.target_kd, dof.actuator_mode = 0.0, kd, JointTargetMode.VELOCITY
    else:
        dof.actuator_mode = JointTargetMode.EFFORT
        if m.actuator_ctrllimited[index] and not m.actuator_forcelimited[index]:
            dof.effort_limit = min(dof.effort_limit, abs(gear * gain) * float(np.abs(m.actuator_ctrlrange[index]).max()))
    if m.actuator_forcelimited[index]:
        dof.effort_limit = min(dof.effort_limit, abs(gear) * float(np.abs(m.actuator_forcerange[index]).max()))


def read_equalities(c: Any, what: Description) -> None:
    """``joint`` as mimic, ``connect`` as ball and ``weld`` as fixed joint that closes a loop."""
    m, kinds, scale = c.m, c.mujoco.mjtEq, c.options.scale
    names = {}
    for joint in what.joints:
        for part in c.spec.joints:
            if joint.name == part.name:
                names[part.id] = joint
    for e in range(m.neq):
        kind, name, data = int(m.eq_type[e]), c.name("equality", e), m.eq_data[e]
        one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        if kind == kinds.mjEQ_JOINT:
            follower, leader = names.get(one), names.get(two)
            if follower is None or leader is None or np.any(data[2:5]) or not m.eq_active0[e]:
                c.left_out.append(f"equality {name!r} (of one joint, of joints that share a body, not linear or not active)")
                continue
            q0 = [float(m.qpos0[m.jnt_qposadr[j]]) for j in (one, two)]  # mujoco counts both from ref
            follower.mimic = (leader.name, q0[0] + float(data[0]) - float(data[1]) * q0[1], float(data[1]))
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD) and int(m.eq_objtype[e]) == 1:
            _loop(c, what, e, name, (one, two), data * scale if kind == kinds.mjEQ_CONNECT else data)
        else:
            c.left_out.append(f"equality {name!r}")


def _loop(c: Any, what: Description, e: int, name: str, ends: tuple[int, int], data: np.ndarray) -> None:
    weld = int(c.m.eq_type[e]) == c.mujoco.mjtEq.mjEQ_WELD
    if any(body not in c.numbers for body in ends):
        return
    first, second = (c.poses[body] for body in ends)
    if weld:  # data: anchor in the second body, place and orientation of the second in the first
        kind, second_pose = JointType.FIXED, pose_of(data[:3] * c.options.scale)
        relative = pose_of(data[3:6] * c.options.scale, data[[7, 8, 9, 6]])
        if np.linalg.norm(relative[3:]) < 0.5:
            relative = compose(inverse_pose(first), second)
        first_pose = compose(relative, second_pose)
    else:
        first_pose, second_pose, kind = pose_of(data[:3]), pose_of(data[3:6]), JointType.BALL
        first_pose = pose_of(first_pose[:3], quat_multiply([*-first[3:6], first[6]], second[3:]))
    parent, child, poses = c.numbers[ends[0]], c.numbers[ends[1]], (first_pose, second_pose)
    if child < 0:
        parent, child, poses = child, parent, poses[::-1]
    what.joints.append(
        Joint(
            name, f"equality {name!r}", kind, parent, child, *poses, loop=True, enabled=bool(c.m.eq_active0[e]), filter_parent=False
        )
    )

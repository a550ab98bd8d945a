"""Joints where their bodies are: anchors, residuals and coordinates, and what a step keeps of them."""

from typing import Any

import warp as wp

from hooke.joints.dispatch import has_quaternion, is_at_com, is_elastic, is_one_sided, joint_coordinates, joint_strain
from hooke.joints.gimbal import nearest_angles, nearest_turn
from hooke.joints.kind import Place
from hooke.joints.layout import JointLayout
from hooke.joints.rotation import rotation_vector
from hooke.joints.rows import angular_rows, bases_of_joint, is_locked, linear_rows
from hooke.model.tables import Bodies, JointDofs, Joints
from hooke.solvers.vbd.body_motion import BodyMotion, turned, unit_again

__all__ = [
    "HARD", "JointInputs", "JointMemory", "JointOptions", "JointPose", "acts", "begin_joint", "freedoms", "is_structural", "joint_pose",
    "material_dof", "may_act", "rows_of", "six", "slot", "structure", "wrench_of",
]  # fmt: skip

HARD = wp.constant(1.0e5)  # of masses over dt^2, see docs/decisions/0019-rigid.md


@wp.struct
class JointOptions:
    """Options of SolverVBD; pairs are (linear, angular)."""

    ke: wp.vec2
    kd: wp.vec2
    k_start: wp.vec2
    beta: wp.vec2
    alpha: wp.float32
    gamma: wp.float32


@wp.struct
class JointInputs:
    """What joints are given: targets and efforts, rest poses, which slots are hard, hysteresis, and where their numbers are."""

    layout: JointLayout
    target_q: wp.array(dtype=wp.float32)
    target_qd: wp.array(dtype=wp.float32)
    force: wp.array(dtype=wp.float32)
    initial: wp.array(dtype=wp.float32)
    rest_q: wp.array(dtype=wp.float32)
    rest: wp.array(dtype=wp.transform)
    hard: wp.array2d(dtype=wp.int32)
    eps_max: wp.array(dtype=wp.float32)
    tau: wp.array(dtype=wp.float32)


@wp.struct
class JointMemory:
    """What is kept between iterations and steps: multipliers, efforts, penalties, coordinates.

    Of degrees of freedom ``mode`` says which limit holds them, ``before`` is the effort of the iteration before the last, and ``give`` how
    the system gives way to them (:mod:`hooke.solvers.vbd.joint_effort`).
    ``stress``, ``bent`` and ``heading`` are the hysteresis of bending (:mod:`hooke.solvers.vbd.hysteresis`). What a step begins with and
    does not change: ``gap`` and levers ``on_child`` and ``on_parent`` of the anchors, their orientations ``end`` (child) and ``base``
    (parent), ``rotation`` of one in the other, bases of the ``linear`` and ``angular`` axes, and what :class:`JointPose` has of them.
    """

    known: wp.array(dtype=wp.int32)
    multiplier: wp.array(dtype=wp.spatial_vector)
    effort: wp.array(dtype=wp.spatial_vector)
    penalty: wp.array(dtype=wp.spatial_vector)
    mode: wp.array(dtype=wp.spatial_vector)
    before: wp.array(dtype=wp.spatial_vector)
    give: wp.array(dtype=wp.spatial_vector)
    start: wp.array(dtype=wp.spatial_vector)
    now: wp.array(dtype=wp.spatial_vector)
    rate: wp.array(dtype=wp.spatial_vector)
    gap: wp.array(dtype=wp.vec3)
    on_child: wp.array(dtype=wp.vec3)
    on_parent: wp.array(dtype=wp.vec3)
    base: wp.array(dtype=wp.quat)
    end: wp.array(dtype=wp.quat)
    rotation: wp.array(dtype=wp.quat)
    linear: wp.array(dtype=wp.quat)
    angular: wp.array(dtype=wp.quat)
    scale: wp.array(dtype=wp.vec2)
    inverse_child: wp.array(dtype=wp.vec2)
    inverse_parent: wp.array(dtype=wp.vec2)
    coordinates: wp.array(dtype=wp.float32)
    applied: wp.array(dtype=wp.spatial_vector)
    stress: wp.array(dtype=wp.vec3)
    bent: wp.array(dtype=wp.vec3)
    heading: wp.array(dtype=wp.vec3)


@wp.struct
class JointPose:
    """Anchors of a joint: relative pose, axes of the parent anchor, levers of the child anchor on both bodies, bases of its axes.

    ``scale`` is how stiff hard rows are, (linear, angular), ``inverse_child`` and ``inverse_parent`` inverse masses and inertias.
    """

    x: wp.transform
    axes: wp.quat
    on_child: wp.vec3
    on_parent: wp.vec3
    linear: wp.quat
    angular: wp.quat
    scale: wp.vec2
    inverse_child: wp.vec2
    inverse_parent: wp.vec2
    joined: wp.int32


@wp.func
def lever(rotation: wp.quat, anchor: wp.transform, com: wp.vec3):
    return wp.quat_rotate(rotation, wp.transform_get_translation(anchor) - com)


@wp.func
def inverse_scale(bodies: Bodies, motion: BodyMotion, b: int):
    """1/m and a mean of 1/I of a body; 0 for one that forces do not move."""
    w = wp.vec2(0.0, 0.0)
    if b >= 0:
        if motion.moves[b] != 0:
            w = wp.vec2(bodies.inv_mass[b], wp.trace(bodies.inv_inertia[b]) / 3.0)
    return w


@wp.func
def begin_joint(
    joints: Joints, dofs: JointDofs, bodies: Bodies, motion: BodyMotion, memory: JointMemory, place: Place, j: int, dt: float
):
    """Keep what a step begins with."""
    child, parent = joints.child[j], joints.parent[j]
    base, local, com = wp.quat(0.0, 0.0, 0.0, 1.0), wp.transform_get_translation(joints.X_p[j]), wp.vec3(0.0)
    if parent >= 0:
        base, local, com = 1.0 * motion.rotation[parent], local - bodies.com[parent], 1.0 * motion.com[parent]
    on_child, on_parent = lever(motion.rotation[child], joints.X_c[j], bodies.com[child]), wp.quat_rotate(base, local)
    memory.on_child[j] = on_child
    memory.on_parent[j] = on_parent
    memory.gap[j] = (motion.com[child] - com) + (on_child - on_parent)
    memory.base[j] = wp.normalize(base * wp.transform_get_rotation(joints.X_p[j]))
    memory.end[j] = wp.normalize(motion.rotation[child] * wp.transform_get_rotation(joints.X_c[j]))
    linear, angular = bases_of_joint(place, dofs.axis)
    memory.linear[j] = linear
    memory.angular[j] = angular
    w_c, w_p = inverse_scale(bodies, motion, child), inverse_scale(bodies, motion, parent)
    w = w_c + w_p
    memory.inverse_child[j] = w_c
    memory.inverse_parent[j] = w_p
    memory.scale[j] = wp.vec2(HARD / (dt * dt * wp.max(w[0], 1.0e-20)), HARD / (dt * dt * wp.max(w[1], 1.0e-20)))


@wp.func
def joint_pose(joints: Joints, motion: BodyMotion, memory: JointMemory, j: int, at_start: bool):
    """The anchors now, or at the start of the step."""
    pose = JointPose()
    child, parent = joints.child[j], joints.parent[j]
    turn_c, way_c = wp.quat(0.0, 0.0, 0.0, 1.0), wp.vec3(0.0)
    turn_p, way_p = turn_c, way_c
    if not at_start:
        turn_c, way_c = 1.0 * motion.turn[child], 1.0 * motion.way[child]
        if parent >= 0:
            turn_p, way_p = 1.0 * motion.turn[parent], 1.0 * motion.way[parent]
    r_c, r_p = memory.on_child[j], memory.on_parent[j]
    moved_c, moved_p = turned(turn_c, r_c), turned(turn_p, r_p)
    gap = memory.gap[j] + ((way_c + moved_c) - (way_p + moved_p))
    pose.axes = turn_p * memory.base[j]
    relative = wp.quat_inverse(pose.axes) * (turn_c * memory.end[j])
    pose.x = wp.transform(wp.quat_rotate_inv(pose.axes, gap), unit_again(relative))
    pose.on_child = r_c + moved_c
    pose.on_parent = r_p + moved_p + gap
    pose.linear = memory.linear[j]
    pose.angular = memory.angular[j]
    pose.scale = memory.scale[j]
    pose.inverse_child = memory.inverse_child[j]
    pose.inverse_parent = memory.inverse_parent[j]
    pose.joined = int(pose.inverse_child[0] + pose.inverse_parent[0] > 0.0)
    return pose


@wp.func
def rows_of(code: int):
    """Six, as a number that the compiler does not unroll loops for."""
    return wp.where(code < 0, 0, 6)


@wp.func
def six(a: wp.vec3, b: wp.vec3):
    return wp.spatial_vector(a[0], a[1], a[2], b[0], b[1], b[2])


@wp.func
def structure(code: int, place: Place, dofs: JointDofs, inputs: JointInputs, pose: JointPose, j: int):
    """Residuals of locked motions, or strains, with the matrices that map relative velocities to their rates."""
    if is_elastic(code):
        u, k, rate = joint_strain(code, pose.x, inputs.rest[j])
        return six(u, k), wp.identity(n=3, dtype=wp.float32), rate
    p, across = linear_rows(pose.linear, wp.transform_get_translation(pose.x))
    c, turn = angular_rows(place, dofs.axis, pose.angular, wp.transform_get_rotation(pose.x))
    return six(p, c), across, turn


@wp.func
def freedoms(code: int, place: Place, dofs: JointDofs, pose: JointPose, memory: JointMemory, j: int, near: wp.spatial_vector):
    """The coordinates in the rows of their degrees of freedom, angles next to ``near``; writes them for the rates of the kind.

    Of a quaternion it is the rotation since the start of the step.
    """
    found = joint_coordinates(code, place, dofs.axis, pose.x)
    x = wp.spatial_vector()
    for k in range(7):
        if k < place.linear + place.angular + int(has_quaternion(code)):
            memory.coordinates[place.q + k] = found[k]
    for k in range(place.linear):
        x[k] = found[k]
    if has_quaternion(code):
        turn = rotation_vector(wp.transform_get_rotation(pose.x) * wp.quat_inverse(memory.rotation[j]))
        for k in range(3):
            x[3 + k] = turn[k]
    else:
        angles = wp.vec3(found[place.linear], 0.0, 0.0)
        before = wp.vec3(near[3], near[4], near[5])
        if place.angular > 1:
            angles[1] = found[place.linear + 1]
        if place.angular > 2:
            angles[2] = found[place.linear + 2]
            angles = nearest_angles(angles, before)
        for k in range(place.angular):
            x[3 + k] = nearest_turn(angles[k], before[k])
    return x


@wp.func
def wrench_of(pose: JointPose, f: wp.vec3, t: wp.vec3):
    """A wrench at the child anchor, given in the axes of the parent anchor, on the child and on the parent (with the other sign)."""
    force, moment = wp.quat_rotate(pose.axes, f), wp.quat_rotate(pose.axes, t)
    on_child = six(force, wp.cross(pose.on_child, force) + moment)
    on_parent = six(force, wp.cross(pose.on_parent, force) + moment)
    return on_child, -on_parent


@wp.func
def slot(i: int):
    return wp.where(i < 3, 0, 1)


@wp.func
def material_dof(place: Place, i: int):
    """Degree of freedom that holds the material of strain ``i``."""
    d = place.qd + wp.min(i, place.linear - 1)
    if i >= 3:
        d = place.qd + place.linear + wp.min(i - 3, place.angular - 1)
    return d


@wp.func
def may_act(code: int):
    """Whether a kind of joint holds anything."""
    return (not is_at_com(code)) or is_elastic(code) or is_one_sided(code)


@wp.func
def acts(joints: Joints, code: int, place: Place, pose: JointPose, j: int):
    """Whether a joint has rows at all."""
    return joints.enabled[j] and pose.joined != 0 and may_act(code)


@wp.func
def is_structural(code: int, place: Place, i: int):
    return is_elastic(code) or (is_locked(place, i) and not is_one_sided(code))

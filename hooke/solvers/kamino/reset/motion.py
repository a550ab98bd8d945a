"""Bodies and joints of a reset: where bodies begin, what velocities they have with their base, and what goes into the state.

A root goes where it is asked to be, and all bodies of its component with it, as one rigid body; so do velocities,
v = v_root + omega x (r - r_root). Forward kinematics begins there.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import has_quaternion, is_at_com, joint_coordinates, joint_rates
from hooke.joints.gimbal import nearest_angles, nearest_turn
from hooke.joints.layout import joint_place
from hooke.model.tables import Bodies, Joints
from hooke.solvers.kamino.fk.data import FkSpace, Targets
from hooke.solvers.kamino.fk.joints import anchors_of, unit_quaternion, widened
from hooke.solvers.kamino.fk.linear import six
from hooke.solvers.kamino.fk.motion import goal_of, rate_of
from hooke.solvers.kamino.fk.structure import Chain
from hooke.solvers.reset import is_selected

__all__ = ["make_keep_coordinates", "place_bodies", "spin_bodies", "write_bodies", "write_joints"]

vec3d: Any = wp.vec3d


@wp.func
def doubled(x: wp.transform):
    return wp.transformation(widened(wp.transform_get_translation(x)), unit_quaternion(wp.transform_get_rotation(x)))


@wp.func
def takes_part(chain: Chain, targets: Targets, b: int):
    """Whether a reset is about a body: all are, or those of the base."""
    return targets.whole != 0 or (chain.root[b] >= 0 and chain.root[b] == chain.base[chain.body_world[b]])


@wp.func
def pose_of_root(joints: Joints, chain: Chain, targets: Targets, b: int):
    """Where a root is to be."""
    w, j = chain.body_world[b], chain.root_joint[b]
    pose, base = doubled(targets.pose[b]), b == chain.base[w]
    if base:
        pose = doubled(targets.default_pose[b])
    given, x = int(0), wp.transform_identity(wp.float64)
    if base and targets.base_q.shape[0] > 0:
        given, x = 1, doubled(targets.base_q[w])
    elif j >= 0 and targets.q.shape[0] > 0 and ((base and targets.base_of_q != 0) or (not base and targets.joints == 1)):
        i = joint_place(chain.layout, j).q
        r = wp.quat(targets.q[i + 3], targets.q[i + 4], targets.q[i + 5], targets.q[i + 6])
        if wp.length(r) > 0.5:
            given, x = 1, doubled(wp.transform(wp.vec3(targets.q[i], targets.q[i + 1], targets.q[i + 2]), r))
    if given == 1:
        pose = x
        if j >= 0:
            pose = doubled(joints.X_p[j]) * x * wp.transform_inverse(doubled(joints.X_c[j]))
    return pose


@wp.kernel(enable_backward=False)
def place_bodies(
    work: Work, selected: wp.array(dtype=wp.bool), joints: Joints, bodies: Bodies, chain: Chain, targets: Targets, space: FkSpace
):
    """Poses to begin with; what hangs on a root goes with it."""
    b = first_item(work, wp.tid())
    while b >= 0:
        if is_selected(selected, chain.body_world[b]):
            pose, root = doubled(targets.pose[b]), 1 * chain.root[b]
            if root >= 0:
                now = doubled(targets.pose[root])
                if root == b:
                    pose = pose_of_root(joints, chain, targets, root)
                else:
                    pose = pose_of_root(joints, chain, targets, root) * (wp.transform_inverse(now) * pose)
            q = wp.normalize(wp.transform_get_rotation(pose))
            space.rotation[b] = q
            space.com[b] = wp.transform_get_translation(pose) + wp.quat_rotate(q, widened(bodies.com[b]))
        b = next_item(work, b)


@wp.func
def twist_of_root(joints: Joints, chain: Chain, targets: Targets, b: int):
    """The twist that a root is to have."""
    w, j = chain.body_world[b], chain.root_joint[b]
    v, omega, given = vec3d(), vec3d(), int(0)
    base = b == chain.base[w]
    if base and targets.base_qd.shape[0] > 0:
        v, omega, given = widened(wp.spatial_top(targets.base_qd[w])), widened(wp.spatial_bottom(targets.base_qd[w])), 1
    elif j >= 0 and targets.qd.shape[0] > 0 and ((base and targets.base_of_qd != 0) or (not base and targets.joints != 0)):
        d = joint_place(chain.layout, j).qd
        v = widened(wp.vec3(targets.qd[d], targets.qd[d + 1], targets.qd[d + 2]))
        omega = widened(wp.vec3(targets.qd[d + 3], targets.qd[d + 4], targets.qd[d + 5]))
        given = 1
    elif base:
        v, omega = widened(wp.spatial_top(targets.default_twist[b])), widened(wp.spatial_bottom(targets.default_twist[b]))
    if given == 1 and j >= 0:
        axes = unit_quaternion(wp.transform_get_rotation(joints.X_p[j]))
        v, omega = wp.quat_rotate(axes, v), wp.quat_rotate(axes, omega)
    return v, omega


@wp.kernel(enable_backward=False)
def spin_bodies(
    work: Work, selected: wp.array(dtype=wp.bool), joints: Joints, chain: Chain, moves: wp.array(dtype=wp.int32), targets: Targets,
    space: FkSpace,
):  # fmt: skip
    """Velocities as of rigid components; of bodies that are moved from outside, their own."""
    b = first_item(work, wp.tid())
    while b >= 0:
        if is_selected(selected, chain.body_world[b]):
            root, u = 1 * chain.root[b], six(vec3d(), vec3d())
            if root >= 0:
                v, omega = twist_of_root(joints, chain, targets, root)
                u = six(v + wp.cross(omega, space.com[b] - space.com[root]), omega)
            if (root < 0 and moves[b] == 0) or not takes_part(chain, targets, b):
                u = six(widened(wp.spatial_top(targets.twist[b])), widened(wp.spatial_bottom(targets.twist[b])))
            space.twist[b] = u
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def write_bodies(
    work: Work, selected: wp.array(dtype=wp.bool), bodies: Bodies, chain: Chain, targets: Targets, space: FkSpace,
    body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Poses and twists of a state; arrays of length 0 are passed over."""
    b = first_item(work, wp.tid())
    while b >= 0:
        if is_selected(selected, chain.body_world[b]) and takes_part(chain, targets, b):
            q, u = space.rotation[b], space.twist[b]
            p = space.com[b] - wp.quat_rotate(q, widened(bodies.com[b]))
            if b < body_q.shape[0]:
                body_q[b] = wp.transform(
                    wp.vec3(float(p[0]), float(p[1]), float(p[2])), wp.quat(float(q[0]), float(q[1]), float(q[2]), float(q[3]))
                )
            if b < body_qd.shape[0]:
                body_qd[b] = wp.spatial_vector(float(u[0]), float(u[1]), float(u[2]), float(u[3]), float(u[4]), float(u[5]))
        b = next_item(work, b)


@wp.func
def near_of(targets: Targets, chain: Chain, c: int):
    """The coordinate that one is reported next to."""
    value, has = goal_of(targets, chain, c)
    return wp.where(has == 1 and wp.isfinite(value), value, wp.float64(targets.near[c]))


@wp.func
def reported(value: wp.float64, correction: int):
    """An angle in the range that is asked for."""
    turn, result = wp.float64(6.283185307179586), value
    if correction == 0:
        result = value - turn * wp.float64(int(value / turn))
    elif correction == 2:
        result = nearest_turn(value, wp.float64(0.0))
    return result


@wp.kernel(enable_backward=False)
def write_joints(
    work: Work, selected: wp.array(dtype=wp.bool), joints: Joints, bodies: Bodies, chain: Chain, targets: Targets, space: FkSpace,
    q: wp.array(dtype=wp.float64), joint_q: wp.array(dtype=wp.float32), joint_qd: wp.array(dtype=wp.float32),
    joint_q_prev: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Coordinates and rates of all joints at the new poses, next to what was asked for; arrays of length 0 are passed over."""
    j = first_item(work, wp.tid())
    while j >= 0:
        if is_selected(selected, chain.joint_world[j]):
            place, code, parent, child = joint_place(chain.layout, j), joints.type[j], joints.parent[j], joints.child[j]
            frames = anchors_of(joints, bodies, space.com, space.rotation, j)
            found = joint_coordinates(code, place, chain.axis, frames.x)
            freedoms, first = place.linear + place.angular, place.q + place.linear
            if has_quaternion(code):
                dot = wp.float64(0.0)
                for k in range(4):
                    dot += near_of(targets, chain, first + k) * found[place.linear + k]
                for k in range(4):
                    found[place.linear + k] = wp.where(dot < wp.float64(0.0), -found[place.linear + k], found[place.linear + k])
            else:
                angles, old = vec3d(), vec3d()
                for k in range(place.angular):
                    angles[k] = found[place.linear + k]
                    old[k] = near_of(targets, chain, first + k)
                if place.angular == 3:
                    angles = nearest_angles(angles, old)
                for k in range(place.angular):
                    found[place.linear + k] = nearest_turn(angles[k], old[k])
            for k in range(freedoms + wp.where(has_quaternion(code), 1, 0)):
                value = found[k]
                q[place.q + k] = value
                if place.q + k < joint_q_prev.shape[0]:
                    joint_q_prev[place.q + k] = float(value)
                if k >= place.linear and not has_quaternion(code):
                    value = reported(value, targets.correction)
                if place.q + k < joint_q.shape[0]:
                    joint_q[place.q + k] = float(value)
            u, base = space.twist[child], six(vec3d(), vec3d())
            if parent >= 0:
                base = wp.float64(1.0) * space.twist[parent]
            arm, omega = wp.float64(1.0) * frames.on_child, vec3d(base[3], base[4], base[5])
            lever = wp.float64(1.0) * frames.on_parent
            if is_at_com(code):
                arm, lever = vec3d(), wp.float64(1.0) * frames.coms
            turn = vec3d(u[3], u[4], u[5])
            v = vec3d(u[0], u[1], u[2]) + wp.cross(turn, arm) - vec3d(base[0], base[1], base[2]) - wp.cross(omega, lever)
            v, omega = wp.quat_rotate_inv(frames.axes, v), wp.quat_rotate_inv(frames.axes, turn - omega)
            for k in range(freedoms):
                if place.qd + k < joint_qd.shape[0]:
                    f, torque = joint_rates(code, place, chain.axis, q, k)
                    joint_qd[place.qd + k] = float(wp.dot(f, v) + wp.dot(torque, omega))
        j = next_item(work, j)


@cache
def make_keep_coordinates(scalar: Any) -> Any:
    """The kernel over a type of numbers."""

    @wp.kernel(enable_backward=False, module="unique")
    def keep_coordinates(
        work: Work, selected: wp.array(dtype=wp.bool), chain: Chain, q: wp.array(dtype=wp.float64), known: wp.array(dtype=wp.int32),
        kept: wp.array(dtype=scalar),
    ):  # fmt: skip
        """What the solver goes on from."""
        j = first_item(work, wp.tid())
        while j >= 0:
            if is_selected(selected, chain.joint_world[j]):
                for c in range(chain.layout.q[j], chain.layout.q[j + 1]):
                    kept[c] = scalar(q[c])
                known[j] = 1
            j = next_item(work, j)

    return keep_coordinates

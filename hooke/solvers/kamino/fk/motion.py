"""Where the targets of joints are, how far poses are from them, and steps of poses."""

import warp as wp

from hooke.joints.dispatch import has_quaternion, joint_coordinates
from hooke.joints.gimbal import nearest_angles, nearest_turn
from hooke.joints.layout import joint_place
from hooke.joints.rotation import rotation_vector, twist_angle
from hooke.linalg.elimination import Patterns
from hooke.model.tables import Bodies, Joints
from hooke.solvers.kamino.fk.data import FkOptions, FkSpace, Row, Targets
from hooke.solvers.kamino.fk.joints import anchors_of, update_joint, widened
from hooke.solvers.kamino.fk.linear import is_tied, lower_part
from hooke.solvers.kamino.fk.structure import TARGET, Chain
from hooke.solvers.kamino.mechanism import Mechanism

__all__ = [
    "copy_poses",
    "count_increments",
    "follow_leaders",
    "goal_of",
    "measure_world",
    "move_bodies",
    "rate_of",
    "set_start",
    "set_targets",
]

WELDED = wp.constant(TARGET)
HUGE = wp.constant(wp.float64(1.0e30))


@wp.func
def goal_of(targets: Targets, chain: Chain, c: int):
    """What is asked for coordinate c, and whether anything is."""
    value, has = wp.float64(0.0), int(0)
    if targets.joints == 2:
        has = 0
    elif targets.actuator_q.shape[0] > 0:
        if chain.coord_of[c] >= 0:
            value, has = wp.float64(targets.actuator_q[chain.coord_of[c]]), 1
    elif targets.q.shape[0] > 0:
        value, has = wp.float64(targets.q[c]), 1
    return value, has


@wp.func
def rate_of(targets: Targets, chain: Chain, d: int):
    """The rate that degree of freedom d is to have."""
    value = wp.float64(0.0)
    if targets.actuator_qd.shape[0] > 0:
        if chain.dof_of[d] >= 0:
            value = wp.float64(targets.actuator_qd[chain.dof_of[d]])
    elif targets.qd.shape[0] > 0:
        value = wp.float64(targets.qd[d])
    return value


@wp.func
def exponential(k: wp.vec3d):
    """The rotation of a rotation vector."""
    angle = wp.length(k)
    s = wp.float64(0.5) - angle * angle / wp.float64(48.0)
    if angle > wp.float64(1.0e-3):
        s = wp.sin(wp.float64(0.5) * angle) / angle
    return wp.quatd(s * k[0], s * k[1], s * k[2], wp.cos(wp.float64(0.5) * angle))


@wp.func
def quaternion_at(q: wp.array(dtype=wp.float64), i: int):
    return wp.normalize(wp.quatd(q[i], q[i + 1], q[i + 2], q[i + 3]))


@wp.func
def place_of_anchor(joints: Joints, bodies: Bodies, space: FkSpace, tie: int):
    """Where the anchor of a joint on one of its bodies is in the world."""
    j = tie // 2
    b, anchor = 1 * joints.parent[j], wp.transform_get_translation(joints.X_p[j])
    if tie % 2 == 1:
        b, anchor = 1 * joints.child[j], wp.transform_get_translation(joints.X_c[j])
    return space.com[b] + wp.quat_rotate(space.rotation[b], widened(anchor) - widened(bodies.com[b]))


@wp.func
def measure_spin(joints: Joints, bodies: Bodies, chain: Chain, space: FkSpace, b: int):
    """Update the angle by which a part has spun about the line between its two anchors, and return it."""
    a = place_of_anchor(joints, bodies, space, chain.tie[b][1]) - place_of_anchor(joints, bodies, space, chain.tie[b][0])
    angle, gradient = wp.float64(0.0), wp.vec3d()
    if wp.length(a) > wp.float64(1.0e-9):
        now = wp.normalize(a)
        own = wp.quat_rotate_inv(space.rotation[b], now)
        before = wp.quat_rotate(space.reference_rotation[b], own)
        angle = twist_angle(wp.quat_inverse(space.reference_rotation[b]) * space.rotation[b], own)
        gradient = (before + now) / wp.max(wp.float64(1.0) + wp.dot(before, now), wp.float64(1.0e-3))
    space.spin[b] = angle
    space.gradient[b] = gradient
    return angle


@wp.func
def measure_world(w: int, mechanism: Mechanism, joints: Joints, bodies: Bodies, chain: Chain, option: FkOptions, space: FkSpace):
    """Update residuals and rows; the sum of their squares and the largest."""
    length = chain.length[w]
    largest, total = wp.float64(0.0), wp.float64(0.0)
    for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
        if chain.kind[j] > 0:
            most, square = update_joint(joints, bodies, chain, space, j, length)
            largest = wp.max(largest, most)
            total += square
    for b in range(mechanism.body[w], mechanism.body[w + 1]):
        if is_tied(chain, option, b):
            angle = measure_spin(joints, bodies, chain, space, b)
            largest = wp.max(largest, wp.abs(angle))
            total += length * length * angle * angle
    if not (total < HUGE):
        total, largest = HUGE, HUGE
    return total, largest


@wp.func
def copy_poses(w: int, mechanism: Mechanism, com: wp.array(dtype=wp.vec3d), rotation: wp.array(dtype=wp.quatd),
               to_com: wp.array(dtype=wp.vec3d), to_rotation: wp.array(dtype=wp.quatd)):  # fmt: skip
    for b in range(mechanism.body[w], mechanism.body[w + 1]):
        to_com[b] = com[b]
        to_rotation[b] = rotation[b]


@wp.func
def move_bodies(w: int, patterns: Patterns, mechanism: Mechanism, t: wp.float64, space: FkSpace):
    """Poses at t times the step from where it begins."""
    k, start = patterns.kind[w], patterns.node[w]
    for n in range(patterns.size[k]):
        i = mechanism.item[patterns.of_place[k] + n]
        if i >= 0:
            b, d = mechanism.body[w] + i, wp.where(t > wp.float64(0.0), t * space.x[start + n], Row())
            space.com[b] = space.kept_com[b] + wp.vec3d(d[0], d[1], d[2])
            space.rotation[b] = wp.normalize(exponential(lower_part(d)) * space.kept_rotation[b])


@wp.func
def set_start(w: int, joints: Joints, bodies: Bodies, mechanism: Mechanism, chain: Chain, targets: Targets, space: FkSpace):
    """Coordinates of joints with targets where they are, and what is asked for them."""
    for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
        if chain.kind[j] == WELDED:
            place, code = joint_place(chain.layout, j), joints.type[j]
            x = anchors_of(joints, bodies, space.com, space.rotation, j).x
            found = joint_coordinates(code, place, chain.axis, x)
            size = wp.float64(0.0)
            count = place.linear + place.angular + wp.where(has_quaternion(code), 1, 0)
            for k in range(count):
                value, has = goal_of(targets, chain, place.q + k)
                space.start[place.q + k] = found[k]
                space.goal[place.q + k] = wp.where(has == 1, value, found[k])
                if k >= place.linear:
                    size += value * value
            if has_quaternion(code) and size < wp.float64(0.25):  # no rotation
                for k in range(place.linear, count):
                    space.goal[place.q + k] = found[k]


@wp.func
def follow_leaders(w: int, mechanism: Mechanism, chain: Chain, space: FkSpace):
    """Targets of joints that follow others."""
    for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
        if chain.leader[j] >= 0:
            place, leader = joint_place(chain.layout, j), joint_place(chain.layout, chain.leader[j])
            for k in range(place.linear + place.angular):
                space.goal[place.q + k] = chain.follow[j][0] + chain.follow[j][1] * space.goal[leader.q + k]


@wp.func
def count_increments(w: int, joints: Joints, mechanism: Mechanism, chain: Chain, option: FkOptions, space: FkSpace):
    """Bring goals near the starts, and count how many increments there are between them."""
    most = wp.float64(1.0)
    for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
        if chain.kind[j] == WELDED:
            place = joint_place(chain.layout, j)
            first = place.q + place.linear
            for k in range(place.linear):
                most = wp.max(most, wp.abs(space.goal[place.q + k] - space.start[place.q + k]) / option.linear)
            if has_quaternion(joints.type[j]):
                way = rotation_vector(quaternion_at(space.goal, first) * wp.quat_inverse(quaternion_at(space.start, first)))
                most = wp.max(most, wp.length(way) / option.angular)
            else:
                if place.angular == 3:
                    goal = wp.vec3d(space.goal[first], space.goal[first + 1], space.goal[first + 2])
                    start = nearest_angles(wp.vec3d(space.start[first], space.start[first + 1], space.start[first + 2]), goal)
                    for k in range(3):
                        space.start[first + k] = start[k]
                for k in range(place.angular):
                    goal_angle = nearest_turn(space.goal[first + k], space.start[first + k])
                    space.goal[first + k] = goal_angle
                    most = wp.max(most, wp.abs(goal_angle - space.start[first + k]) / option.angular)
    return wp.where(option.incremental != 0, wp.ceil(wp.min(most, wp.float64(1.0e6)) - wp.float64(1.0e-9)), wp.float64(1.0))


@wp.func
def set_targets(w: int, f: wp.float64, joints: Joints, mechanism: Mechanism, chain: Chain, space: FkSpace):
    """Targets at the fraction f of the way."""
    for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
        if chain.kind[j] == WELDED:
            place = joint_place(chain.layout, j)
            first = place.q + place.linear
            for k in range(place.linear):
                space.q[place.q + k] = space.start[place.q + k] + f * (space.goal[place.q + k] - space.start[place.q + k])
            if has_quaternion(joints.type[j]):
                start = quaternion_at(space.start, first)
                q = exponential(f * rotation_vector(quaternion_at(space.goal, first) * wp.quat_inverse(start))) * start
                for k in range(4):
                    space.q[first + k] = q[k]
            else:
                for k in range(place.angular):
                    space.q[first + k] = space.start[first + k] + f * (space.goal[first + k] - space.start[first + k])

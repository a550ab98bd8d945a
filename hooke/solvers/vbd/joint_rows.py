"""The rows of joints in SolverVBD: six for every joint, each either locked, a strain, or a degree of freedom.

A row has a residual c with rates J_child and J_parent (:mod:`hooke.joints.rows`), and exerts the effort f = -dE/dc along it. The last
solve was about (c, f); the next is for f_new = base - nu with

    S (J delta + g) = nu                                                                                        (1)

    locked     base = multiplier,  S = k + kd/h,  S g = k (c - alpha c_0) + kd (c - c_0) / h,  multiplier_new = f_new without damping
    strain     base = 0,           S = K + kd/h,  S g = K c + kd (c - c_0) / h
    freedom    base = constant,    S, -S g = stiffness and pull of :mod:`hooke.solvers.vbd.joint_effort`

c_0 is the residual at the start: of an error at the start the part alpha is left to later steps. k is the penalty of the augmented
Lagrangian, max(ke, HARD / (h^2 w)) with w the inverse mass (inertia) that the joint connects: so stiff that one solve nearly meets the
row, and finite so that rows that say the same (loops) share the effort. Slack 1/S enters the equations, never S itself
(:mod:`hooke.solvers.vbd.island_solve`).

A force f at a lever r, on a body that turns by theta, does the work f . (exp(theta) r - r), whose second derivative is
-(f . r) 1 + (r f^T + f r^T) / 2. Its part that stiffens is bounded by

    G = (|f||r| + f . r) / 2 (1 - s s^T),     s along r/|r| + f/|f|                                             (2)

with equality for a pull along the lever (a link of a taut chain: without G light links between heavy ones overshoot).
"""

from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import (
    has_quaternion,
    is_at_com,
    is_elastic,
    is_one_sided,
    joint_coordinates,
    joint_rates,
    joint_strain,
)
from hooke.joints.distance import distance_row
from hooke.joints.gimbal import nearest_angles, nearest_turn
from hooke.joints.kind import Place
from hooke.joints.layout import JointLayout, joint_place
from hooke.joints.rotation import rotation_vector
from hooke.joints.rows import angular_rows, bases_of_joint, is_locked, linear_rows
from hooke.model.tables import Bodies, JointDofs, Joints
from hooke.solvers.vbd.body_motion import BodyMotion, turned
from hooke.solvers.vbd.joint_effort import UNLIMITED, Coordinate, Effort, dof_effort, limit_effort

__all__ = ["JointInputs", "JointMemory", "JointOptions", "JointRows", "begin_joints", "linearise_joints"]

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
    """What joints are given: targets and efforts, rest poses, which slots are hard, and where their numbers are."""

    layout: JointLayout
    target_q: wp.array(dtype=wp.float32)
    target_qd: wp.array(dtype=wp.float32)
    force: wp.array(dtype=wp.float32)
    initial: wp.array(dtype=wp.float32)
    rest_q: wp.array(dtype=wp.float32)
    rest: wp.array(dtype=wp.transform)
    hard: wp.array2d(dtype=wp.int32)


@wp.struct
class JointMemory:
    """What is kept between iterations and steps: multipliers, efforts, penalties, pieces of efforts, coordinates."""

    known: wp.array(dtype=wp.int32)
    multiplier: wp.array(dtype=wp.spatial_vector)
    effort: wp.array(dtype=wp.spatial_vector)
    penalty: wp.array(dtype=wp.spatial_vector)
    mode: wp.array(dtype=wp.spatial_matrix)
    start: wp.array(dtype=wp.spatial_vector)
    now: wp.array(dtype=wp.spatial_vector)
    rate: wp.array(dtype=wp.spatial_vector)
    gap: wp.array(dtype=wp.vec3)
    rotation: wp.array(dtype=wp.quat)
    coordinates: wp.array(dtype=wp.float32)
    applied: wp.array(dtype=wp.spatial_vector)


@wp.struct
class JointRows:
    """The rows as they are solved: rates, g and 1/S of (1), the base of the efforts, what of nu goes to the multipliers, and (2)."""

    child: wp.array(dtype=wp.spatial_matrix)
    parent: wp.array(dtype=wp.spatial_matrix)
    residual: wp.array(dtype=wp.spatial_vector)
    slack: wp.array(dtype=wp.spatial_vector)
    base: wp.array(dtype=wp.spatial_vector)
    share: wp.array(dtype=wp.spatial_vector)
    shift: wp.array(dtype=wp.spatial_vector)
    stiffen_child: wp.array(dtype=wp.mat33)
    stiffen_parent: wp.array(dtype=wp.mat33)


@wp.struct
class Row:
    """One row: a unit wrench in the axes of the parent anchor, S and -S g of (1), the base, and what the multiplier takes of nu."""

    f: wp.vec3
    t: wp.vec3
    stiffness: wp.float32
    pull: wp.float32
    base: wp.float32
    share: wp.float32
    shift: wp.float32


@wp.struct
class JointPose:
    """Anchors of a joint: relative pose, axes of the parent anchor, levers of the child anchor on both bodies, inverse masses."""

    x: wp.transform
    axes: wp.quat
    on_child: wp.vec3
    on_parent: wp.vec3
    scale: wp.vec2
    joined: wp.int32


@wp.func
def lever(rotation: wp.quat, anchor: wp.transform, com: wp.vec3):
    return wp.quat_rotate(rotation, wp.transform_get_translation(anchor) - com)


@wp.func
def frame_of(motion: BodyMotion, b: int, at_start: int):
    """Orientation at the start and the turn since, centre of mass at the start and its way since; of the world for -1."""
    none = wp.quat(0.0, 0.0, 0.0, 1.0)
    if b < 0:
        return none, none, wp.vec3(0.0), wp.vec3(0.0)
    if at_start != 0:
        return 1.0 * motion.rotation[b], none, 1.0 * motion.com[b], wp.vec3(0.0)
    return 1.0 * motion.rotation[b], 1.0 * motion.turn[b], 1.0 * motion.com[b], 1.0 * motion.way[b]


@wp.func
def inverse_scale(bodies: Bodies, motion: BodyMotion, b: int):
    """1/m and a mean of 1/I of a body; 0 for one that forces do not move."""
    w = wp.vec2(0.0, 0.0)
    if b >= 0:
        if motion.moves[b] != 0:
            w = wp.vec2(bodies.inv_mass[b], wp.trace(bodies.inv_inertia[b]) / 3.0)
    return w


@wp.func
def joint_pose(joints: Joints, bodies: Bodies, motion: BodyMotion, memory: JointMemory, j: int, dt: float, at_start: int):
    """The anchors now, or at the start of the step, which sets the gap that ways are added to."""
    pose = JointPose()
    child, parent = joints.child[j], joints.parent[j]
    rotation_c, turn_c, com_c, way_c = frame_of(motion, child, at_start)
    rotation_p, turn_p, com_p, way_p = frame_of(motion, parent, at_start)
    local_p = wp.transform_get_translation(joints.X_p[j])
    if parent >= 0:
        local_p = local_p - bodies.com[parent]
    r_c = lever(rotation_c, joints.X_c[j], bodies.com[child])
    r_p = wp.quat_rotate(rotation_p, local_p)
    if at_start != 0:
        memory.gap[j] = (com_c - com_p) + (r_c - r_p)
    moved_c, moved_p = turned(turn_c, r_c), turned(turn_p, r_p)
    gap = memory.gap[j] + ((way_c + moved_c) - (way_p + moved_p))
    pose.axes = turn_p * rotation_p * wp.transform_get_rotation(joints.X_p[j])
    relative = wp.quat_inverse(pose.axes) * turn_c * rotation_c * wp.transform_get_rotation(joints.X_c[j])
    pose.x = wp.transform(wp.quat_rotate_inv(pose.axes, gap), wp.normalize(relative))
    pose.on_child = r_c + moved_c
    pose.on_parent = r_p + moved_p + gap
    w = inverse_scale(bodies, motion, child) + inverse_scale(bodies, motion, parent)
    pose.joined = int(w[0] > 0.0)
    pose.scale = wp.vec2(HARD / (dt * dt * wp.max(w[0], 1.0e-20)), HARD / (dt * dt * wp.max(w[1], 1.0e-20)))
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
    linear, angular = bases_of_joint(place, dofs.axis)
    p, across = linear_rows(linear, wp.transform_get_translation(pose.x))
    c, turn = angular_rows(place, dofs.axis, angular, wp.transform_get_rotation(pose.x))
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
def apply_efforts(code: int, place: Place, dofs: JointDofs, inputs: JointInputs, memory: JointMemory, pose: JointPose, j: int,
                  coms: wp.vec3):  # fmt: skip
    """Efforts ``joint_f`` as wrenches on child and parent; ``coms`` is the child's centre seen from the parent's."""
    on_child, on_parent = wp.spatial_vector(), wp.spatial_vector()
    for k in range(place.linear + place.angular):
        effort = inputs.force[place.qd + k]
        if effort != 0.0:
            f, t = joint_rates(code, place, dofs.axis, memory.coordinates, k)
            c, p = wrench_of(pose, effort * f, effort * t)
            if is_at_com(code):
                force, moment = wp.quat_rotate(pose.axes, effort * f), wp.quat_rotate(pose.axes, effort * t)
                c, p = six(force, moment), -six(force, wp.cross(coms, force) + moment)
            on_child += c
            on_parent += p
    memory.applied[2 * j] = on_child
    memory.applied[2 * j + 1] = on_parent


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
def ceiling(options: JointOptions, dofs: JointDofs, inputs: JointInputs, code: int, place: Place, pose: JointPose, j: int, i: int):
    """The largest stiffness of a locked motion or strain."""
    ke = 1.0 * options.ke[slot(i)]
    if is_elastic(code):
        ke = 1.0 * dofs.target_ke[material_dof(place, i)]
    if inputs.hard[j, slot(i)] != 0:
        ke = wp.max(ke, pose.scale[slot(i)])
    return ke


@wp.func
def acts(joints: Joints, code: int, place: Place, pose: JointPose, j: int):
    """Whether a joint has rows at all."""
    bound = (not is_at_com(code)) or is_elastic(code) or is_one_sided(code)
    return joints.enabled[j] and pose.joined != 0 and bound


@wp.func
def is_structural(code: int, place: Place, i: int):
    return is_elastic(code) or (is_locked(place, i) and not is_one_sided(code))


@wp.kernel(enable_backward=False)
def begin_joints(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, bodies: Bodies, motion: BodyMotion, inputs: JointInputs,
    dt: float, memory: JointMemory,
):  # fmt: skip
    """Residuals and coordinates at the start of a step, what is left of multipliers and penalties, and the efforts that are applied."""
    j = first_item(work, wp.tid())
    while j >= 0:
        code, place = joints.type[j], joint_place(inputs.layout, j)
        pose = joint_pose(joints, bodies, motion, memory, j, dt, 1)
        memory.rotation[j] = wp.transform_get_rotation(pose.x)
        near = 1.0 * memory.now[j]
        if memory.known[j] == 0:
            near = wp.spatial_vector()
            if not has_quaternion(code):
                for k in range(place.angular):
                    near[3 + k] = inputs.initial[place.q + place.linear + k]
        memory.known[j] = 1
        start, _across, _turn = structure(code, place, dofs, inputs, pose, j)
        x = wp.spatial_vector()
        if not is_elastic(code) or is_at_com(code):
            x = freedoms(code, place, dofs, pose, memory, j, near)
        parent, child = joints.parent[j], joints.child[j]
        coms, twist_p = 1.0 * motion.com[child], wp.spatial_vector()
        if parent >= 0:
            coms = coms - motion.com[parent]
            twist_p = twist_p + motion.velocity[parent]
        memory.applied[2 * j] = wp.spatial_vector()
        memory.applied[2 * j + 1] = wp.spatial_vector()
        if joints.enabled[j]:
            apply_efforts(code, place, dofs, inputs, memory, pose, j, coms)
        alive = acts(joints, code, place, pose, j)
        rate, penalty, multiplier = wp.spatial_vector(), wp.spatial_vector(), wp.spatial_vector()
        for i in range(rows_of(code)):
            if alive and is_structural(code, place, i):
                most = ceiling(options, dofs, inputs, code, place, pose, j, i)
                penalty[i] = most
                if options.beta[slot(i)] > 0.0:
                    penalty[i] = wp.clamp(options.gamma * memory.penalty[j][i], wp.min(options.k_start[slot(i)], most), most)
                if inputs.hard[j, slot(i)] != 0:
                    multiplier[i] = options.gamma * memory.multiplier[j][i]
            elif alive and not is_elastic(code) and not is_at_com(code):
                start[i] = x[i]
                f, t = joint_rates(code, place, dofs.axis, memory.coordinates, wp.where(i < 3, i, place.linear + i - 3))
                on_child, on_parent = wrench_of(pose, f, t)
                rate[i] = wp.dot(on_child, motion.velocity[child]) + wp.dot(on_parent, twist_p)
        memory.rate[j] = rate
        memory.penalty[j] = penalty
        memory.multiplier[j] = multiplier
        memory.start[j] = start
        memory.now[j] = start
        if not alive:
            memory.effort[j] = wp.spatial_vector()
        j = next_item(work, j)


@wp.func
def stiffening(f: wp.vec3, r: wp.vec3):
    """G of (2)."""
    g = wp.mat33()
    size = wp.length(f) * wp.length(r)
    if size > 0.0:
        s = wp.normalize(r / wp.length(r) + f / wp.length(f))
        g = (0.5 * (size + wp.dot(f, r))) * (wp.identity(n=3, dtype=wp.float32) - wp.outer(s, s))
    return g


@wp.func
def turn_from(inputs: JointInputs, place: Place, pose: JointPose, rest: wp.quat):
    """Rotation vectors from the rest and from the target of a joint whose rotation is a quaternion."""
    i = place.q + place.linear
    target = wp.quat(inputs.target_q[i], inputs.target_q[i + 1], inputs.target_q[i + 2], inputs.target_q[i + 3])
    now = wp.transform_get_rotation(pose.x)
    return rotation_vector(now * wp.quat_inverse(rest)), rotation_vector(now * wp.quat_inverse(wp.normalize(target)))


@wp.func
def freedom_effort(
    dofs: JointDofs, inputs: JointInputs, memory: JointMemory, code: int, place: Place, pose: JointPose, j: int, i: int, x: float,
    stretch: float, passed: float, number: int, dt: float,
):  # fmt: skip
    """The effort of the degree of freedom in row ``i``, and its pieces."""
    k = wp.where(i < 3, i, place.linear + i - 3)
    c = Coordinate()
    c.x = x
    c.start = memory.start[j][i]
    c.rate = memory.rate[j][i]
    c.target_qd = inputs.target_qd[place.qd + k]
    c.hard = pose.scale[slot(i)]
    c.effort = memory.effort[j][i]
    c.solved = number
    c.stretch = stretch
    c.left = -passed
    c.bounds = wp.vec2(-UNLIMITED, UNLIMITED)
    if not has_quaternion(code):
        c.bounds = wp.vec2(dofs.limit_lower[place.qd + k], dofs.limit_upper[place.qd + k])
        c.left = wp.clamp(inputs.target_q[place.q + k], c.bounds[0], c.bounds[1]) - x
        c.stretch = x - inputs.rest_q[place.q + k]
    modes = wp.vec3(memory.mode[j][0, i], memory.mode[j][1, i], memory.mode[j][2, i])
    return dof_effort(dofs, place.qd + k, c, dt, modes)


@wp.func
def limit_distance(dofs: JointDofs, memory: JointMemory, place: Place, pose: JointPose, j: int, number: int, dt: float):
    """The effort of a distance, whose limits are hard, its direction and its piece."""
    distance, n = distance_row(wp.transform_get_translation(pose.x))
    bounds = wp.vec2(dofs.limit_lower[place.qd], dofs.limit_upper[place.qd])
    mode = memory.mode[j][2, 0]
    side = wp.where(mode < 0.0, bounds[1], bounds[0])
    solved = wp.where(number > 0, memory.effort[j][0], pose.scale[0] * (side - distance))
    return limit_effort(Effort(), bounds, pose.scale[0], 0.0, distance, distance, solved, dt, mode), n, distance


@wp.func
def structural_row(
    options: JointOptions, dofs: JointDofs, inputs: JointInputs, memory: JointMemory, code: int, place: Place, j: int, i: int,
    k: float, c: float, dt: float,
):  # fmt: skip
    """Stiffness, pull and multiplier of a locked motion or a strain with the residual ``c`` and the penalty ``k``."""
    row = Row()
    hard = inputs.hard[j, slot(i)] != 0
    kd, aim = 1.0 * options.kd[slot(i)], float(0.0)
    if is_elastic(code):
        kd = 1.0 * dofs.target_kd[material_dof(place, i)]
    if hard:
        aim = options.alpha * memory.start[j][i]
        row.base = 1.0 * memory.multiplier[j][i]
    row.stiffness = k + kd / dt
    row.pull = -(k * (c - aim) + (kd / dt) * (c - memory.start[j][i]))
    if hard and row.stiffness > 0.0:
        row.share = k / row.stiffness
        row.shift = -row.share * (row.pull + row.stiffness * (c - aim))
    return row


@wp.func
def next_penalty(options: JointOptions, k: float, most: float, i: int, sizes: wp.vec2):
    """The ramp of a penalty from one iteration to the next."""
    return wp.min(most, k + options.beta[slot(i)] * sizes[slot(i)])


@wp.func
def residual_sizes(code: int, place: Place, c: wp.spatial_vector):
    """Sizes of the linear and of the angular residual."""
    linear, angular = float(0.0), float(0.0)
    for i in range(rows_of(code)):
        if is_structural(code, place, i):
            if i < 3:
                linear += c[i] * c[i]
            else:
                angular += c[i] * c[i]
    return wp.vec2(wp.sqrt(linear), wp.sqrt(angular))


@wp.func
def store_row(rows: JointRows, pose: JointPose, j: int, i: int, row: Row):
    """Write a row; one that exerts nothing stays empty, and its effort zero."""
    none = wp.spatial_vector()
    on_child, on_parent = wrench_of(pose, row.f, row.t)
    slack, g = 1.0 / wp.max(row.stiffness, 1.0e-20), float(0.0)
    if row.stiffness == 0.0 and row.base == 0.0:
        on_child, on_parent, slack = none, none, 1.0
    else:
        g = -row.pull * slack
    for k in range(rows_of(i)):
        rows.child[j][i, k] = on_child[k]
        rows.parent[j][i, k] = on_parent[k]
    rows.residual[j][i] = g
    rows.slack[j][i] = slack
    rows.base[j][i] = row.base
    rows.share[j][i] = row.share
    rows.shift[j][i] = row.shift


@wp.kernel(enable_backward=False)
def linearise_joints(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, bodies: Bodies, motion: BodyMotion, inputs: JointInputs,
    number: int, dt: float, memory: JointMemory, rows: JointRows,
):  # fmt: skip
    """The rows (1) where the bodies are now."""
    j = first_item(work, wp.tid())
    while j >= 0:
        code, place = joints.type[j], joint_place(inputs.layout, j)
        pose = joint_pose(joints, bodies, motion, memory, j, dt, 0)
        alive = acts(joints, code, place, pose, j)
        c, across, turn = structure(code, place, dofs, inputs, pose, j)
        x, stretch, passed = wp.spatial_vector(), wp.vec3(0.0), wp.vec3(0.0)
        if alive and not is_elastic(code) and not is_one_sided(code):
            x = freedoms(code, place, dofs, pose, memory, j, memory.start[j])
            if has_quaternion(code):
                stretch, passed = turn_from(inputs, place, pose, wp.transform_get_rotation(inputs.rest[j]))
        sizes = residual_sizes(code, place, c)
        force = wp.vec3(0.0)
        for i in range(rows_of(code)):
            row = Row()
            if alive:
                if is_structural(code, place, i):
                    k = memory.penalty[j][i]
                    if number > 0 and options.beta[slot(i)] > 0.0:
                        k = next_penalty(options, k, ceiling(options, dofs, inputs, code, place, pose, j, i), i, sizes)
                        memory.penalty[j][i] = k
                    row = structural_row(options, dofs, inputs, memory, code, place, j, i, k, c[i], dt)
                    row.f = wp.where(i < 3, across[i % 3], wp.vec3(0.0))
                    row.t = wp.where(i < 3, wp.vec3(0.0), turn[i % 3])
                    memory.now[j][i] = c[i]
                elif is_one_sided(code):
                    if i == 0:
                        e, n, distance = limit_distance(dofs, memory, place, pose, j, number, dt)
                        row.f = n
                        row.stiffness = e.stiffness
                        row.pull = e.pull
                        memory.now[j][0] = distance
                        memory.mode[j][2, 0] = e.mode
                else:
                    e, pieces = freedom_effort(
                        dofs, inputs, memory, code, place, pose, j, i, x[i], stretch[i % 3], passed[i % 3], number, dt
                    )
                    f, t = joint_rates(code, place, dofs.axis, memory.coordinates, wp.where(i < 3, i, place.linear + i - 3))
                    row.f = f
                    row.t = t
                    row.stiffness = e.stiffness
                    row.pull = e.pull
                    row.base = e.constant
                    memory.now[j][i] = x[i]
                    for part in range(3):
                        memory.mode[j][part, i] = pieces[part]
                force += memory.effort[j][i] * wp.quat_rotate(pose.axes, row.f)
            store_row(rows, pose, j, i, row)
        rows.stiffen_child[j] = stiffening(force, pose.on_child)
        rows.stiffen_parent[j] = stiffening(-force, pose.on_parent)
        j = next_item(work, j)

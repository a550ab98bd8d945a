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

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import has_quaternion, is_at_com, is_elastic, is_one_sided, joint_rates
from hooke.joints.distance import distance_row
from hooke.joints.kind import Place
from hooke.joints.layout import joint_place
from hooke.joints.rotation import rotation_vector
from hooke.joints.rows import is_locked
from hooke.math.blocks import Rows, store_block
from hooke.model.tables import Bodies, JointDofs, Joints
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.hysteresis import BendRows, bend_rows
from hooke.solvers.vbd.joint_effort import NO_VELOCITY_LIMIT, UNLIMITED, Coordinate, dof_effort, limit_effort
from hooke.solvers.vbd.joint_frames import (
    JointInputs,
    JointMemory,
    JointOptions,
    JointPose,
    acts,
    begin_joint,
    freedoms,
    is_structural,
    joint_pose,
    material_dof,
    may_act,
    rows_of,
    six,
    slot,
    structure,
    wrench_of,
)

__all__ = ["JointRows", "begin_joints", "linearise_joints"]

FIRST_GIVE = wp.constant(0.01)  # of that of two bodies alone: what else holds them makes them give way less


@wp.struct
class JointRows:
    """The rows as they are solved: rates (the child's transposed), g and 1/S of (1), base of the efforts, what of nu multipliers take.

    And for child and parent, one after the other, the wrench of the base and the matrix (2).
    """

    child: wp.array(dtype=Rows)
    parent: wp.array(dtype=Rows)
    residual: wp.array(dtype=wp.spatial_vector)
    slack: wp.array(dtype=wp.spatial_vector)
    base: wp.array(dtype=wp.spatial_vector)
    share: wp.array(dtype=wp.spatial_vector)
    shift: wp.array(dtype=wp.spatial_vector)
    load: wp.array(dtype=wp.spatial_vector)
    stiffen: wp.array(dtype=wp.mat33)


@wp.struct
class Row:
    """The row of a degree of freedom: a unit wrench in the axes of the parent anchor, S and -S g of (1), and the base."""

    f: wp.vec3
    t: wp.vec3
    stiffness: wp.float32
    pull: wp.float32
    base: wp.float32


@wp.struct
class Sums:
    """Force and moment of the bases of all rows, and force of their efforts, in the world."""

    f: wp.vec3
    t: wp.vec3
    tension: wp.vec3


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
def ceiling(options: JointOptions, dofs: JointDofs, inputs: JointInputs, code: int, place: Place, pose: JointPose, j: int, i: int):
    """The largest stiffness of a locked motion or strain."""
    ke = 1.0 * options.ke[slot(i)]
    if is_elastic(code):
        ke = 1.0 * dofs.target_ke[material_dof(place, i)]
    if inputs.hard[j, slot(i)] != 0:
        ke = wp.max(ke, pose.scale[slot(i)])
    return ke


@wp.kernel(enable_backward=False)
def begin_joints(
    work: Work, options: JointOptions, bodies: Bodies, joints: Joints, dofs: JointDofs, motion: BodyMotion, inputs: JointInputs,
    dt: float, memory: JointMemory,
):  # fmt: skip
    """Residuals and coordinates at the start of a step, what is left of multipliers and penalties, and the efforts that are applied."""
    state = flush_denormals()
    j = first_item(work, wp.tid())
    while j >= 0:
        code, place = joints.type[j], joint_place(inputs.layout, j)
        begin_joint(joints, dofs, bodies, motion, memory, place, j, dt)
        pose = joint_pose(joints, motion, memory, j, True)
        memory.rotation[j] = wp.transform_get_rotation(pose.x)
        near = 1.0 * memory.now[j]
        if memory.known[j] == 0:
            near = wp.spatial_vector()
            if not has_quaternion(code):
                for k in range(place.angular):
                    near[3 + k] = inputs.initial[place.q + place.linear + k]
        start, _across, _turn = structure(code, place, dofs, inputs, pose, j)
        if memory.known[j] == 0:
            memory.give[j] = wp.spatial_vector()
            memory.stress[j] = wp.vec3(0.0)
            memory.heading[j] = wp.vec3(0.0)
            memory.bent[j] = wp.spatial_bottom(start)
        memory.known[j] = 1
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
            elif not is_structural(code, place, i) and not is_at_com(code):
                start[i] = x[i]
                if alive:
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
    restore_denormals(state)


@wp.func
def stiffening(f: wp.vec3, r: wp.vec3, lengths: float):
    """G of (2) as (|f||r| + f . r)/2 1 - u u^T / (4 |f||r|) with u = |f| r + |r| f; ``lengths`` is |f|.

    Without a branch: a matrix that one of two branches writes waits on its way through memory.
    """
    size = wp.length(r)
    product = size * lengths
    u = lengths * r + size * f
    less = wp.where(product > 1.0e-30, 0.25 / wp.max(product, 1.0e-30), 0.0)
    return (0.5 * (product + wp.dot(f, r))) * wp.identity(n=3, dtype=wp.float32) - wp.outer(less * u, u)


@wp.func
def turn_from(inputs: JointInputs, place: Place, pose: JointPose, rest: wp.quat):
    """Rotation vectors from the rest and from the target of a joint whose rotation is a quaternion."""
    i = place.q + place.linear
    target = wp.quat(inputs.target_q[i], inputs.target_q[i + 1], inputs.target_q[i + 2], inputs.target_q[i + 3])
    now = wp.transform_get_rotation(pose.x)
    return rotation_vector(now * wp.quat_inverse(rest)), rotation_vector(now * wp.quat_inverse(wp.normalize(target)))


@wp.func
def own_give(pose: JointPose, f: wp.vec3, t: wp.vec3, dt: float):
    """How far the two bodies alone would go for a unit of the effort with wrench (f, t)."""
    on_child, on_parent = wrench_of(pose, f, t)
    w = pose.inverse_child[0] * wp.length_sq(wp.spatial_top(on_child)) + pose.inverse_child[1] * wp.length_sq(
        wp.spatial_bottom(on_child)
    )
    w += pose.inverse_parent[0] * wp.length_sq(wp.spatial_top(on_parent))
    w += pose.inverse_parent[1] * wp.length_sq(wp.spatial_bottom(on_parent))
    return dt * dt * w


@wp.func
def system_give(memory: JointMemory, j: int, i: int, x: float, own: float, number: int):
    """How far the coordinate went for a change of its effort between the last two iterations, where that can be told."""
    give = memory.give[j][i]
    if give <= 0.0 or give > own:
        give = FIRST_GIVE * own
    if number > 0:
        way, change = x - memory.now[j][i], memory.effort[j][i] - memory.before[j][i]
        if wp.abs(way) > 1.0e-6 * (1.0 + wp.abs(x)) and way * change > 0.0:
            give = wp.clamp(way / change, 1.0e-5 * own, own)
    memory.give[j][i] = give
    memory.before[j][i] = wp.where(number > 0, memory.effort[j][i], 0.0)
    return give


@wp.func
def freedom_effort(
    dofs: JointDofs, inputs: JointInputs, memory: JointMemory, code: int, place: Place, pose: JointPose, j: int, i: int, x: float,
    stretch: float, passed: float, give: float, number: int, dt: float,
):  # fmt: skip
    """The effort of the degree of freedom in row ``i``."""
    k = wp.where(i < 3, i, place.linear + i - 3)
    c = Coordinate()
    c.x = x
    c.start = memory.start[j][i]
    c.rate = memory.rate[j][i]
    c.target_qd = inputs.target_qd[place.qd + k]
    c.hard = pose.scale[slot(i)]
    c.effort = memory.effort[j][i]
    c.solved = number
    c.give = give
    c.held = memory.mode[j][i]
    c.stretch = stretch
    c.left = -passed
    c.bounds = wp.vec2(-UNLIMITED, UNLIMITED)
    c.fastest = NO_VELOCITY_LIMIT
    if not has_quaternion(code):
        c.bounds = wp.vec2(dofs.limit_lower[place.qd + k], dofs.limit_upper[place.qd + k])
        c.left = wp.clamp(inputs.target_q[place.q + k], c.bounds[0], c.bounds[1]) - x
        c.stretch = x - inputs.rest_q[place.q + k]
        c.fastest = dofs.velocity_limit[place.qd + k]
    return dof_effort(dofs, place.qd + k, c, dt)


@wp.func
def limit_distance(dofs: JointDofs, memory: JointMemory, place: Place, pose: JointPose, j: int, number: int):
    """The effort of a distance, whose limits are hard, its direction and its piece."""
    distance, n = distance_row(wp.transform_get_translation(pose.x))
    bounds = wp.vec2(dofs.limit_lower[place.qd], dofs.limit_upper[place.qd])
    mode = memory.mode[j][0]
    side = wp.where(mode < 0.0, bounds[1], bounds[0])
    solved = wp.where(number > 0, memory.effort[j][0], pose.scale[0] * (side - distance))
    return limit_effort(bounds, pose.scale[0], distance, solved, mode), n, distance


@wp.func
def residual_sizes(code: int, place: Place, c: wp.spatial_vector):
    """Sizes of the linear and of the angular residual."""
    linear, angular = float(0.0), float(0.0)
    for i in range(3):
        if is_structural(code, place, i):
            linear += c[i] * c[i]
        if is_structural(code, place, 3 + i):
            angular += c[3 + i] * c[3 + i]
    return wp.vec2(wp.sqrt(linear), wp.sqrt(angular))


@wp.func
def ramp_penalties(
    options: JointOptions, dofs: JointDofs, inputs: JointInputs, memory: JointMemory, code: int, place: Place, pose: JointPose, j: int,
    c: wp.spatial_vector,
):  # fmt: skip
    """The penalties of an iteration: from each to the next they grow by beta times the residual."""
    sizes = residual_sizes(code, place, c)
    for i in range(rows_of(code)):
        if options.beta[slot(i)] > 0.0 and is_structural(code, place, i):
            most = ceiling(options, dofs, inputs, code, place, pose, j, i)
            memory.penalty[j][i] = wp.min(most, memory.penalty[j][i] + options.beta[slot(i)] * sizes[slot(i)])


@wp.func
def damping_rates(options: JointOptions, dofs: JointDofs, code: int, place: Place, dt: float):
    """kd/h of the locked motions or strains; 0 of other rows."""
    rate = wp.spatial_vector()
    for i in range(6):
        if is_elastic(code):
            rate[i] = dofs.target_kd[material_dof(place, i)] / dt
        elif is_locked(place, i):
            rate[i] = options.kd[slot(i)] / dt
    return rate


@wp.func
def store_structure(
    options: JointOptions, inputs: JointInputs, memory: JointMemory, j: int, bends: BendRows, k: wp.spatial_vector, rate: wp.spatial_vector,
    c: wp.spatial_vector, rows: JointRows,
):  # fmt: skip
    """Write the rows of locked motions or strains but their wrenches: penalties ``k``, damping ``rate``, residuals ``c``.

    Returns which rows exert something, 1 or 0; the others stay empty, and their efforts zero.
    """
    start, base = 1.0 * memory.start[j], 1.0 * memory.multiplier[j]
    residual, slack, share, shift, lives = (
        wp.spatial_vector(),
        wp.spatial_vector(),
        wp.spatial_vector(),
        wp.spatial_vector(),
        wp.spatial_vector(),
    )
    for i in range(6):
        hard = wp.where(inputs.hard[j, slot(i)] != 0, 1.0, 0.0)
        way = c[i] - hard * options.alpha * start[i]
        stiffness = k[i] + rate[i]
        pull = -(k[i] * way + rate[i] * (c[i] - start[i]))
        if i >= 3 and bends.acts != 0:
            stiffness = bends.stiffness[i - 3]
            pull = bends.pull[i - 3]
        lives[i] = wp.where(stiffness > 0.0 or base[i] != 0.0, 1.0, 0.0)
        compliance = 1.0 / wp.max(stiffness, 1.0e-20)
        residual[i] = -lives[i] * pull * compliance
        slack[i] = wp.where(lives[i] > 0.0, compliance, 1.0)
        share[i] = wp.where(stiffness > 0.0, hard * k[i] * compliance, 0.0)
        shift[i] = -share[i] * (pull + stiffness * way)
    rows.residual[j] = residual
    rows.slack[j] = slack
    rows.base[j] = base
    rows.share[j] = share
    rows.shift[j] = shift
    return lives


@wp.func
def store_wrenches(rows: JointRows, pose: JointPose, j: int, forces: wp.mat33, moments: wp.mat33):
    """Write the rates of rows whose unit wrenches in the world are first three forces, then three moments."""
    f0, f1, f2, none = forces[0], forces[1], forces[2], wp.vec3(0.0)
    t0, t1, t2 = six(none, moments[0]), six(none, moments[1]), six(none, moments[2])
    c, p = pose.on_child, pose.on_parent
    child = wp.matrix_from_cols(six(f0, wp.cross(c, f0)), six(f1, wp.cross(c, f1)), six(f2, wp.cross(c, f2)), t0, t1, t2)
    parent = wp.matrix_from_rows(six(f0, wp.cross(p, f0)), six(f1, wp.cross(p, f1)), six(f2, wp.cross(p, f2)), t0, t1, t2)
    store_block(j, child, wp.spatial_vector(), rows.child)
    store_block(j, -parent, wp.spatial_vector(), rows.parent)


@wp.func
def store_row(rows: JointRows, pose: JointPose, j: int, i: int, row: Row, force: wp.vec3, moment: wp.vec3):
    """Write the row of a degree of freedom with its wrench in the world over an empty one."""
    if row.stiffness != 0.0 or row.base != 0.0:
        on_child = six(force, wp.cross(pose.on_child, force) + moment)
        on_parent = six(force, wp.cross(pose.on_parent, force) + moment)
        for k in range(6):
            rows.child[j][k, i] = on_child[k]
            rows.parent[j][i, k] = -on_parent[k]
        slack = 1.0 / wp.max(row.stiffness, 1.0e-20)
        rows.residual[j][i] = -row.pull * slack
        rows.slack[j][i] = slack
        rows.base[j][i] = row.base


@wp.func
def linearise_freedoms(
    dofs: JointDofs, inputs: JointInputs, memory: JointMemory, code: int, place: Place, pose: JointPose, j: int, sums: Sums, number: int,
    dt: float, rows: JointRows,
):  # fmt: skip
    """The rows of degrees of freedom, and of a distance; adds to the sums."""
    x, stretch, passed = wp.spatial_vector(), wp.vec3(0.0), wp.vec3(0.0)
    if not is_one_sided(code):
        x = freedoms(code, place, dofs, pose, memory, j, memory.start[j])
        if has_quaternion(code):
            stretch, passed = turn_from(inputs, place, pose, wp.transform_get_rotation(inputs.rest[j]))
    for i in range(rows_of(code)):
        if not is_locked(place, i) and (i == 0 or not is_one_sided(code)):
            row = Row()
            if is_one_sided(code):
                e, n, distance = limit_distance(dofs, memory, place, pose, j, number)
                row.f = n
                row.stiffness = e.stiffness
                row.pull = e.pull
                memory.now[j][0] = distance
                memory.mode[j][0] = e.mode
            else:
                f, t = joint_rates(code, place, dofs.axis, memory.coordinates, wp.where(i < 3, i, place.linear + i - 3))
                give = system_give(memory, j, i, x[i], own_give(pose, f, t, dt), number)
                e = freedom_effort(
                    dofs, inputs, memory, code, place, pose, j, i, x[i], stretch[i % 3], passed[i % 3], give, number, dt
                )
                row.f = f
                row.t = t
                row.stiffness = e.stiffness
                row.pull = e.pull
                row.base = e.constant
                memory.now[j][i] = x[i]
                memory.mode[j][i] = e.mode
            force, moment = wp.quat_rotate(pose.axes, row.f), wp.quat_rotate(pose.axes, row.t)
            sums.f += row.base * force
            sums.t += row.base * moment
            sums.tension += memory.effort[j][i] * force
            store_row(rows, pose, j, i, row, force, moment)
    return sums


@wp.kernel(enable_backward=False)
def linearise_joints(
    work: Work, options: JointOptions, joints: Joints, dofs: JointDofs, motion: BodyMotion, inputs: JointInputs,
    number: int, dt: float, memory: JointMemory, rows: JointRows,
):  # fmt: skip
    """The rows (1) where the bodies are now."""
    state = flush_denormals()
    j = first_item(work, wp.tid())
    while j >= 0:
        if may_act(joints.type[j]):  # rows of others stay empty
            code, place = joints.type[j], joint_place(inputs.layout, j)
            pose = joint_pose(joints, motion, memory, j, False)
            alive = acts(joints, code, place, pose, j)
            c, across, turn = structure(code, place, dofs, inputs, pose, j)
            k, rate, bends = wp.spatial_vector(), wp.spatial_vector(), BendRows()
            if alive and not is_one_sided(code):
                if number > 0 and (options.beta[0] > 0.0 or options.beta[1] > 0.0):
                    ramp_penalties(options, dofs, inputs, memory, code, place, pose, j, c)
                k = 1.0 * memory.penalty[j]
                rate = damping_rates(options, dofs, code, place, dt)
                bends = bend_rows(dofs, inputs, memory, code, place, j, k, c, turn, dt)
                now = 1.0 * memory.now[j]
                for i in range(6):
                    if is_structural(code, place, i):
                        now[i] = c[i]
                memory.now[j] = now
            if bends.acts != 0:
                turn = bends.moment
            lives = store_structure(options, inputs, memory, j, bends, k, rate, c, rows)
            to_world = wp.transpose(wp.quat_to_matrix(pose.axes))
            forces = wp.diag(wp.spatial_top(lives)) * across * to_world
            moments = wp.diag(wp.spatial_bottom(lives)) * turn * to_world
            store_wrenches(rows, pose, j, forces, moments)
            sums, base = Sums(), 1.0 * memory.multiplier[j]
            sums.f = wp.transpose(forces) * wp.spatial_top(base)
            sums.t = wp.transpose(moments) * wp.spatial_bottom(base)
            sums.tension = wp.transpose(forces) * wp.spatial_top(memory.effort[j])
            if alive and not is_elastic(code) and place.linear + place.angular > 0:
                sums = linearise_freedoms(dofs, inputs, memory, code, place, pose, j, sums, number, dt, rows)
            rows.load[2 * j] = six(sums.f, wp.cross(pose.on_child, sums.f) + sums.t)
            rows.load[2 * j + 1] = -six(sums.f, wp.cross(pose.on_parent, sums.f) + sums.t)
            tension = wp.length(sums.tension)
            rows.stiffen[2 * j] = stiffening(sums.tension, pose.on_child, tension)
            rows.stiffen[2 * j + 1] = stiffening(-sums.tension, pose.on_parent, tension)
        j = next_item(work, j)
    restore_denormals(state)

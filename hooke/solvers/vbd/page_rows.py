"""Joints in the formulation of the documented page (``rigid_compliant_alm=False``): slots with a scalar penalty each.

With the anchors P and C in the world, origins x_p and x_c, axes R_p of the parent anchor, and rest rotation R_rest,

    C = x_c - x_p,     k = rotation vector of R_p^T R_c R_rest^-1,     J = R_p Jr^-1(k),     k' = J^T (omega_c - omega_p)      (1)

P_lin and P_ang leave out the free axes, C_0 is the residual at the poses X^- of the step before. Every slot exerts

    hard   f = k_s P (C - alpha C_0) + P lambda + k_d P C',    lambda <- P lambda + k_s P (C - alpha C_0)
    soft   f = k_s P C + k_d P C'                                                                          (2)
    both   k_s <- min(k_max, k_s + beta |P C|)

with rates C' = (C - C^-) / h, on the parent as +f and on the child as -f, both at x_c (the page's parent lever x_p would make a moment of
its own once a slider is out), and moments J m. A free axis has one soft slot for its drive or, out of bounds, its limit.

Hysteresis of a soft bend is explicit, and each component is by itself: with the ways D of k since the end of the step before,

    s = sign D,     sigma' = s sigma_max (1 - e^(-s D / tau)) + sigma e^(-s D / tau)                       (3)

sigma_0 = sigma' at X^-, within +-sigma_max, is a constant moment for the step, (sigma_max - s sigma_0) / (tau + |D|) is added to the
stiffness only, and sigma <- sigma' at the end.
"""

from typing import Any

import warp as wp

from hooke.joints.axes import axis_or_none
from hooke.joints.dispatch import has_quaternion, is_at_com, is_elastic
from hooke.joints.kind import Place
from hooke.joints.layout import joint_place
from hooke.joints.rotation import inverse_jacobian, rotation_vector, skew
from hooke.model.tables import Bodies, JointDofs, Joints
from hooke.solvers.vbd.hysteresis import DEADBAND, is_hysteretic
from hooke.solvers.vbd.joint_frames import JointInputs, JointOptions, material_dof, rows_of

__all__ = [
    "PageBend", "PageBodyMotion", "PageJoint", "PageMemory", "begin_page_joint", "free_axis", "joint_at", "page_bend", "page_wrench",
    "projectors", "update_page_joint",
]  # fmt: skip

UNLIMITED = wp.constant(1.0e10)


@wp.struct
class PageBodyMotion:
    """Poses now, at the end of the step before and where inertia takes the bodies; which of them move.

    ``pull`` and ``stiffening`` are what particles exert and how it changes (:mod:`hooke.solvers.vbd.links`).
    """

    moves: wp.array(dtype=wp.int32)
    q: wp.array(dtype=wp.transform)
    previous: wp.array(dtype=wp.transform)
    target: wp.array(dtype=wp.transform)
    pull: wp.array(dtype=wp.spatial_vector)
    stiffening: wp.array(dtype=wp.spatial_matrix)


@wp.struct
class PageMemory:
    """Penalties (linear, angular) and of free axes by row, multipliers, residuals at X^-; rest poses and angles.

    Of hysteresis: sigma, k at the end of the step before and the way to it, and sigma_0 with its stiffness.
    """

    known: wp.array(dtype=wp.int32)
    penalty: wp.array(dtype=wp.vec2)
    drive: wp.array(dtype=wp.spatial_vector)
    multiplier: wp.array(dtype=wp.spatial_vector)
    start: wp.array(dtype=wp.spatial_vector)
    rest: wp.array(dtype=wp.quat)
    angle: wp.array(dtype=wp.spatial_vector)
    stress: wp.array(dtype=wp.vec3)
    bent: wp.array(dtype=wp.vec3)
    way: wp.array(dtype=wp.vec3)
    held: wp.array(dtype=wp.vec3)
    grip: wp.array(dtype=wp.vec3)


@wp.struct
class PageJoint:
    """A joint at some poses: (1), and the levers of x_c on its bodies."""

    axes: wp.quat
    linear: wp.vec3
    angular: wp.vec3
    jacobian: wp.mat33
    on_child: wp.vec3
    on_parent: wp.vec3


@wp.func
def joint_at(joints: Joints, bodies: Bodies, memory: PageMemory, j: int, body_q: wp.array(dtype=wp.transform)):
    """(1) at some poses."""
    c, p = joints.child[j], joints.parent[j]
    end = body_q[c] * joints.X_c[j]
    base = 1.0 * joints.X_p[j]
    com_p = wp.vec3(0.0)
    if p >= 0:
        base = body_q[p] * joints.X_p[j]
        com_p = wp.transform_point(body_q[p], bodies.com[p])
    joint = PageJoint()
    x_c = wp.transform_get_translation(end)
    joint.axes = wp.transform_get_rotation(base)
    joint.linear = x_c - wp.transform_get_translation(base)
    turn = wp.quat_inverse(joint.axes) * wp.transform_get_rotation(end) * wp.quat_inverse(memory.rest[j])
    joint.angular = rotation_vector(wp.normalize(turn))
    joint.jacobian = wp.quat_to_matrix(joint.axes) * wp.transpose(inverse_jacobian(joint.angular))
    joint.on_child = x_c - wp.transform_point(body_q[c], bodies.com[c])
    joint.on_parent = x_c - com_p
    return joint


@wp.func
def free_axis(place: Place, dofs: JointDofs, axes: wp.quat, i: int):
    """Axis of the free motion in row ``i``: linear ones in the world, angular ones in the parent anchor; zero without one."""
    a = wp.vec3(0.0)
    if i < 3:
        a = wp.quat_rotate(axes, axis_or_none(dofs.axis, place.qd, place.linear, i))
    else:
        a = axis_or_none(dofs.axis, place.qd + place.linear, place.angular, i - 3)
    return a


@wp.func
def projectors(code: int, place: Place, dofs: JointDofs, axes: wp.quat):
    """P_lin and P_ang; of a joint with a quaternion all rotations are free, of an elastic one none."""
    p, q = wp.identity(n=3, dtype=wp.float32), wp.identity(n=3, dtype=wp.float32)
    if not is_elastic(code):
        for i in range(rows_of(code)):
            a = free_axis(place, dofs, axes, i)
            if i < 3:
                p = p - wp.outer(a, a)
            else:
                q = q - wp.outer(a, a)
        if has_quaternion(code) or place.angular == 3:
            q = wp.mat33()
        if place.linear == 3:
            p = wp.mat33()
    return p, q


@wp.func
def slot_material(options: JointOptions, dofs: JointDofs, code: int, place: Place, slot: int):
    """Ceiling of a structural penalty, and damping."""
    m = wp.vec2(options.ke[slot], options.kd[slot])
    if is_elastic(code):
        d = material_dof(place, 3 * slot)
        m = wp.vec2(dofs.target_ke[d], dofs.target_kd[d])
    return m


@wp.func
def seed(options: JointOptions, most: float, slot: int):
    """The floor of a penalty."""
    return wp.where(options.beta[slot] > 0.0, wp.min(options.k_start[slot], most), most)


@wp.struct
class PageBend:
    """sigma', its stiffness, and D of (3)."""

    stress: wp.vec3
    stiffness: wp.vec3
    way: wp.vec3


@wp.func
def page_bend(
    options: JointOptions, dofs: JointDofs, inputs: JointInputs, memory: PageMemory, code: int, place: Place, j: int, k: wp.vec3
):
    """(3) at ``k``; nothing of a joint that is not hysteretic."""
    bend = PageBend()
    if is_hysteretic(inputs, code, j):
        tau, most = inputs.tau[j], inputs.eps_max[j] * slot_material(options, dofs, code, place, 1)[0]
        bend.way = k - memory.bent[j]
        for i in range(3):
            way = bend.way[i]
            s = wp.where(memory.way[j][i] >= 0.0, 1.0, -1.0)
            if wp.abs(way) > DEADBAND:
                s = wp.sign(way)
            fade = wp.exp(-s * way / tau)
            bend.stress[i] = s * most * (1.0 - fade) + fade * memory.stress[j][i]
            bend.stiffness[i] = wp.max((most - s * wp.clamp(bend.stress[i], -most, most)) / (tau + wp.abs(way)), 0.0)
    return bend


@wp.func
def begin_page_bend(
    options: JointOptions, dofs: JointDofs, inputs: JointInputs, memory: PageMemory, code: int, place: Place, j: int, k: wp.vec3,
    acts: bool,
):  # fmt: skip
    """sigma_0 and its stiffness at X^-; after a reset that is where (3) begins."""
    none = wp.vec3(0.0)
    if memory.known[j] == 0:
        memory.stress[j] = none
        memory.way[j] = none
        memory.bent[j] = k
    memory.known[j] = 1
    bend = PageBend()
    if acts:
        bend = page_bend(options, dofs, inputs, memory, code, place, j, k)
    most = inputs.eps_max[j] * slot_material(options, dofs, code, place, 1)[0]
    for i in range(3):
        memory.held[j][i] = wp.clamp(bend.stress[i], -most, most)
    memory.grip[j] = bend.stiffness


@wp.func
def begin_page_joint(
    options: JointOptions,
    joints: Joints,
    dofs: JointDofs,
    inputs: JointInputs,
    memory: PageMemory,
    now: PageJoint,
    j: int,
    acts: bool,
):
    """Penalties, multipliers and C_0 for a step; ``now`` is the joint at X^-."""
    code, place = joints.type[j], joint_place(inputs.layout, j)
    k, multiplier, start = wp.vec2(0.0, 0.0), wp.spatial_vector(), wp.spatial_vector()
    for s in range(2):
        m = slot_material(options, dofs, code, place, s)
        k[s] = wp.clamp(options.gamma * memory.penalty[j][s], seed(options, m[0], s), m[0])
        if acts and inputs.hard[j, s] != 0:
            c = wp.where(s == 0, now.linear, now.angular)
            for i in range(3):
                multiplier[3 * s + i] = options.alpha * options.gamma * memory.multiplier[j][3 * s + i]
                start[3 * s + i] = c[i]
    memory.penalty[j] = k
    memory.multiplier[j] = multiplier
    memory.start[j] = start
    begin_page_bend(options, dofs, inputs, memory, code, place, j, now.angular, acts)
    for i in range(rows_of(code)):
        if not is_elastic(code) and not has_quaternion(code) and wp.length_sq(free_axis(place, dofs, now.axes, i)) > 0.0:
            d = place.qd + wp.where(i < 3, i, place.linear + i - 3)
            most = wp.max(dofs.target_ke[d], dofs.limit_ke[d])
            slot = wp.where(i < 3, 0, 1)
            memory.drive[j][i] = wp.clamp(options.gamma * memory.drive[j][i], seed(options, most, slot), most)


@wp.struct
class FreeEffort:
    """Effort towards larger coordinates with the other sign, its stiffness, and the error that its penalty grows with."""

    force: wp.float32
    stiffness: wp.float32
    error: wp.float32


@wp.func
def free_effort(dofs: JointDofs, d: int, k: float, q: float, rate: float, target: float, target_qd: float, dt: float):
    """The limit of an axis that is out of bounds, else its drive."""
    e = FreeEffort()
    ke, kd, limit = dofs.target_ke[d], dofs.target_kd[d], dofs.limit_ke[d]
    lower, upper = dofs.limit_lower[d], dofs.limit_upper[d]
    limited = limit > 0.0 and (lower > -UNLIMITED or upper < UNLIMITED)
    if limited and (q < lower or q > upper):
        e.error = wp.where(q < lower, q - lower, q - upper)
        e.stiffness = wp.min(k, limit) + dofs.limit_kd[d] / dt
        e.force = wp.min(k, limit) * e.error + dofs.limit_kd[d] * rate
    elif ke > 0.0 or kd > 0.0:
        aim = wp.where(limited, wp.clamp(target, lower, upper), target)
        e.error = wp.where(ke > 0.0, q - aim, 0.0)
        e.stiffness = wp.min(k, ke) + kd / dt
        e.force = wp.min(k, ke) * (q - aim) + kd * (rate - target_qd)
    return e


@wp.func
def free_row(dofs: JointDofs, inputs: JointInputs, memory: PageMemory, now: PageJoint, before: PageJoint, rate: wp.vec3, place: Place,
             j: int, i: int, dt: float):  # fmt: skip
    """The effort of the free motion in row ``i``; ``rate`` is k'."""
    a = free_axis(place, dofs, now.axes, i)
    k = wp.where(i < 3, i, place.linear + i - 3)
    q, speed = wp.dot(now.linear, a), wp.dot(now.linear - before.linear, a) / dt
    if i >= 3:
        q, speed = wp.dot(now.angular, a) + memory.angle[j][i], wp.dot(rate, a)
    return free_effort(
        dofs, place.qd + k, memory.drive[j][i], q, speed, inputs.target_q[place.q + k], inputs.target_qd[place.qd + k], dt
    )


@wp.struct
class PageWrench:
    """Force and moment on a body and the blocks of its 6x6 matrix."""

    f: wp.vec3
    t: wp.vec3
    ll: wp.mat33
    al: wp.mat33
    aa: wp.mat33


@wp.func
def add_point(w: PageWrench, f: wp.vec3, r: wp.vec3, k: wp.mat33):
    """A force at a lever, and its world stiffness."""
    x = skew(r)
    w.f += f
    w.t += wp.cross(r, f)
    w.ll += k
    w.al += x * k
    w.aa += x * k * wp.transpose(x)
    return w


@wp.func
def page_wrench(
    w: PageWrench, options: JointOptions, joints: Joints, dofs: JointDofs, inputs: JointInputs, memory: PageMemory, now: PageJoint,
    before: PageJoint, omega: wp.vec3, j: int, side: float, dt: float,
):  # fmt: skip
    """Add what a joint does to its child (``side`` -1) or parent (+1); ``omega`` is the relative angular velocity."""
    code, place = joints.type[j], joint_place(inputs.layout, j)
    r = wp.where(side > 0.0, now.on_parent, now.on_child)
    p, q = projectors(code, place, dofs, now.axes)
    rate = wp.transpose(now.jacobian) * omega
    start, multiplier = memory.start[j], memory.multiplier[j]
    linear, angular = slot_material(options, dofs, code, place, 0), slot_material(options, dofs, code, place, 1)
    k = memory.penalty[j]
    alpha = options.alpha
    c0 = wp.vec3(start[0], start[1], start[2])
    f = k[0] * (now.linear - alpha * c0) + wp.spatial_top(multiplier) + (linear[1] / dt) * (now.linear - before.linear)
    w = add_point(w, side * (p * f), r, (k[0] + linear[1] / dt) * p)
    a0 = wp.vec3(start[3], start[4], start[5])
    m = k[1] * (now.angular - alpha * a0) + wp.spatial_bottom(multiplier) + angular[1] * rate
    w.t += side * (now.jacobian * (q * m + memory.held[j]))
    w.aa += now.jacobian * ((k[1] + angular[1] / dt) * q + wp.diag(memory.grip[j])) * wp.transpose(now.jacobian)
    for i in range(rows_of(code)):
        a = free_axis(place, dofs, now.axes, i)
        if not is_elastic(code) and not has_quaternion(code) and wp.length_sq(a) > 0.0:
            e = free_row(dofs, inputs, memory, now, before, rate, place, j, i, dt)
            if i < 3:
                w = add_point(w, (side * e.force) * a, r, e.stiffness * wp.outer(a, a))
            else:
                u = now.jacobian * a
                w.t += (side * e.force) * u
                w.aa += e.stiffness * wp.outer(u, u)
    return w


@wp.func
def update_page_joint(
    options: JointOptions, joints: Joints, dofs: JointDofs, inputs: JointInputs, memory: PageMemory, now: PageJoint, before: PageJoint,
    omega: wp.vec3, j: int, dt: float,
):  # fmt: skip
    """The multipliers and penalties of (2) after all bodies have moved."""
    code, place = joints.type[j], joint_place(inputs.layout, j)
    p, q = projectors(code, place, dofs, now.axes)
    k = 1.0 * memory.penalty[j]
    start = memory.start[j]
    for s in range(2):
        across = wp.where(s == 0, p, q)
        c = wp.where(s == 0, now.linear, now.angular)
        c0 = wp.vec3(start[3 * s], start[3 * s + 1], start[3 * s + 2])
        if inputs.hard[j, s] != 0:
            old = wp.vec3(memory.multiplier[j][3 * s], memory.multiplier[j][3 * s + 1], memory.multiplier[j][3 * s + 2])
            new = across * (old + k[s] * (c - options.alpha * c0))
            for i in range(3):
                memory.multiplier[j][3 * s + i] = new[i]
        most = slot_material(options, dofs, code, place, s)[0]
        k[s] = wp.min(most, k[s] + options.beta[s] * wp.length(across * c))
    memory.penalty[j] = k
    rate = wp.transpose(now.jacobian) * omega
    for i in range(rows_of(code)):
        if not is_elastic(code) and not has_quaternion(code) and wp.length_sq(free_axis(place, dofs, now.axes, i)) > 0.0:
            e = free_row(dofs, inputs, memory, now, before, rate, place, j, i, dt)
            d = place.qd + wp.where(i < 3, i, place.linear + i - 3)
            most = wp.max(dofs.target_ke[d], dofs.limit_ke[d])
            memory.drive[j][i] = wp.min(most, memory.drive[j][i] + options.beta[wp.where(i < 3, 0, 1)] * wp.abs(e.error))

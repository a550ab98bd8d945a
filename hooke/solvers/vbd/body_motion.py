"""Bodies within a step: where they start, where inertia takes them, and the way found so far.

With the centre of mass at c + d and the orientation exp(phi) R, where c and R are those at the start, backward Euler asks that

    m (d - d*) / h^2 = f,             d* = h v + h^2 (g + f_ext / m)                                            (1)
    (exp(phi) I phi - h L*) / h^2 = t,     L* = I omega + h t_ext,     I = R I_body R^T                         (2)

with the forces f and moments t of joints at the end of the step. exp(phi) I phi / h is the angular momentum at the end for the angular
velocity phi / h (exp(phi) leaves phi alone), so (2) balances angular momentum, gyroscopic moment included, whatever the spin: what acts
between bodies changes no sum. Without moments it is solved by Newton's method with its exact Jacobian.

That a force acts at the end of a step and the velocity of its lever is that over the step leaves one term: between bodies c and p a
force f turns the whole by h (d_p - d_c) x f. An island that nothing holds is given back what it lost, as a rotation of the whole,
which strains no joint (:func:`restore_momentum`).
"""

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.rotation import inverse_jacobian, rotation_vector, skew
from hooke.model.enums import BodyFlags
from hooke.model.tables import Bodies

__all__ = [
    "BodyMotion", "begin_bodies", "finish_bodies", "forget_joints", "inertia_now", "inertial_force", "predict_bodies",
    "rotation_of", "solve_columns", "turned", "unit_again",
]  # fmt: skip

KINEMATIC = wp.constant(int(BodyFlags.KINEMATIC))
SMALL = wp.constant(1.0e-20)
CONVERGED = wp.constant(1.0e-8)  # square of a relative change after which the next one would be below rounding


@wp.struct
class BodyMotion:
    """Arrays over bodies. ``way`` and ``turn`` lead from the start of the step to now, ``target`` and ``spin`` are d* and h L*; ``gain``
    is the change of velocity of the step before, over h, ``lightness`` 1/m. ``pull`` and ``stiffening`` are what particles exert, and how
    much it changes with the way and turn of the body (:mod:`hooke.solvers.vbd.links`); ``pushed`` tells whether it does.
    ``busy`` tells of even and of odd iterations whether anything was solved.
    """

    moves: wp.array(dtype=wp.int32)
    com: wp.array(dtype=wp.vec3)
    rotation: wp.array(dtype=wp.quat)
    inertia: wp.array(dtype=wp.mat33)
    velocity: wp.array(dtype=wp.spatial_vector)
    target: wp.array(dtype=wp.vec3)
    spin: wp.array(dtype=wp.vec3)
    way: wp.array(dtype=wp.vec3)
    turn: wp.array(dtype=wp.quat)
    gain: wp.array(dtype=wp.vec3)
    lightness: wp.array(dtype=wp.float32)
    pull: wp.array(dtype=wp.spatial_vector)
    stiffening: wp.array(dtype=wp.spatial_matrix)
    pushed: wp.array(dtype=wp.int32)
    busy: wp.array(dtype=wp.int32)


@wp.func
def rotation_of(k: wp.vec3):
    """exp(k)."""
    s = wp.dot(k, k)
    scale, real = 0.5 - s / 48.0, 1.0 - s / 8.0
    if s > 1.0e-4:
        angle = wp.sqrt(s)
        scale, real = wp.sin(0.5 * angle) / angle, wp.cos(0.5 * angle)
    return wp.quat(scale * k[0], scale * k[1], scale * k[2], real)


@wp.func
def unit_again(q: wp.quat):
    """A quaternion that is a unit one but for rounding, as one."""
    return (1.5 - 0.5 * wp.dot(q, q)) * q


@wp.func
def turned(turn: wp.quat, v: wp.vec3):
    """How far a rotation moves the end of v; precise for small rotations."""
    u = wp.vec3(turn[0], turn[1], turn[2])
    w = wp.cross(u, v)
    return 2.0 * (turn[3] * w + wp.cross(u, w))


@wp.func
def inertial_force(bodies: Bodies, motion: BodyMotion, b: int, dt: float):
    """Minus the left sides of (1) and (2)."""
    phi = rotation_vector(motion.turn[b])
    scale = 1.0 / (dt * dt)
    f = (scale * bodies.mass[b]) * (motion.target[b] - motion.way[b])
    held = motion.inertia[b] * phi
    t = scale * (motion.spin[b] - held - turned(motion.turn[b], held))  # a turn is 1 to rounding, which must not scale momentum
    return wp.spatial_vector(f[0], f[1], f[2], t[0], t[1], t[2])


@wp.func
def inertia_now(motion: BodyMotion, b: int, dt: float):
    """Inertia over h^2, as it is now."""
    turn = wp.quat_to_matrix(motion.turn[b])
    return (1.0 / (dt * dt)) * (turn * motion.inertia[b] * wp.transpose(turn))


@wp.func
def solve_columns(m: wp.mat33, b: wp.vec3):
    """The solution of a system of three equations by cross products of its rows; zero where it has none."""
    r0, r1, r2 = m[0], m[1], m[2]
    c0, c1, c2 = wp.cross(r1, r2), wp.cross(r2, r0), wp.cross(r0, r1)
    volume = wp.dot(r0, c0)
    x = wp.vec3(0.0)
    if wp.abs(volume) > 1.0e-30:
        x = (b[0] * c0 + b[1] * c1 + b[2] * c2) / volume
    return x


@wp.func
def free_rotation(inertia: wp.mat33, spin: wp.vec3, guess: wp.vec3):
    """The rotation phi of (2) without moments."""
    size = wp.max(wp.max(inertia[0, 0], inertia[1, 1]), wp.max(inertia[2, 2], SMALL))
    unit, wanted = inertia / size, spin / size
    phi = guess
    step = int(0)
    while step < 6:
        turn = rotation_of(phi)
        spun = unit * phi
        held = spun + turned(turn, spun)
        jacobian = wp.quat_to_matrix(turn) * unit * inverse_jacobian(phi) - skew(held)
        change = solve_columns(jacobian, wanted - held)
        phi = rotation_vector(rotation_of(change) * turn)
        step += 1
        if wp.length_sq(change) <= CONVERGED * wp.length_sq(phi):
            step = 6
    return phi


@wp.kernel(enable_backward=False)
def begin_bodies(
    work: Work, bodies: Bodies, body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector),
    known: wp.array(dtype=wp.int32), previous: wp.array(dtype=wp.transform), dt: float, motion: BodyMotion,
):  # fmt: skip
    """Where bodies start. What the caller moves starts where it was at the end of the step before and has arrived already."""
    state = flush_denormals()
    b = first_item(work, wp.tid())
    while b >= 0:
        end = body_q[b]
        moves = (bodies.flags[b] & KINEMATIC) == 0 and bodies.inv_mass[b] > 0.0
        start = wp.where(not moves and known[b] != 0, previous[b], end)
        rotation = wp.transform_get_rotation(start)
        motion.moves[b] = int(moves)
        motion.lightness[b] = bodies.inv_mass[b]
        motion.rotation[b] = rotation
        motion.com[b] = wp.transform_point(start, bodies.com[b])
        matrix = wp.quat_to_matrix(rotation)
        motion.inertia[b] = matrix * bodies.inertia[b] * wp.transpose(matrix)
        motion.way[b] = wp.transform_point(end, bodies.com[b]) - motion.com[b]
        turn = wp.normalize(wp.transform_get_rotation(end) * wp.quat_inverse(rotation))
        velocity = 1.0 * body_qd[b]
        if not moves:
            v, omega = motion.way[b] / dt, rotation_vector(turn) / dt
            velocity = wp.spatial_vector(v[0], v[1], v[2], omega[0], omega[1], omega[2])
        else:
            turn = wp.quat(0.0, 0.0, 0.0, 1.0)
        motion.turn[b] = turn
        motion.velocity[b] = velocity
        if known[b] == 0:
            motion.gain[b] = wp.vec3(0.0)
        b = next_item(work, b)
    restore_denormals(state)


@wp.func
def guessed_way(target: wp.vec3, coast: wp.vec3, gain: wp.vec3, dt: float):
    """The first guess of a body that touches something: from ``coast``, h v, towards the target as far as it went the step before."""
    pull = target - coast
    share = dt * dt * wp.dot(gain, pull) / wp.max(wp.length_sq(pull), SMALL)
    return coast + wp.clamp(share, 0.0, 1.0) * pull


@wp.kernel(enable_backward=False)
def predict_bodies(
    work: Work, bodies: Bodies, gravity: wp.array(dtype=wp.vec3), body_f: wp.array(dtype=wp.spatial_vector),
    first: wp.array(dtype=wp.int32), source: wp.array(dtype=wp.int32), applied: wp.array(dtype=wp.spatial_vector),
    touching: wp.array(dtype=wp.int32), dt: float, motion: BodyMotion,
):  # fmt: skip
    """Targets of (1) and (2), which are the first guess of bodies without contacts, those from ``touching[b]`` on to that of the next.

    ``applied`` are efforts of joints, gathered by body.
    """
    state = flush_denormals()
    b = first_item(work, wp.tid())
    while b >= 0:
        if motion.moves[b] != 0:
            wrench = wp.spatial_vector()
            if body_f.shape[0] > 0:
                wrench = wrench + body_f[b]
            for k in range(first[b], first[b + 1]):
                wrench += applied[source[k]]
            f, t = wp.spatial_top(wrench), wp.spatial_bottom(wrench)
            v, omega = wp.spatial_top(motion.velocity[b]), wp.spatial_bottom(motion.velocity[b])
            g = gravity[wp.where(bodies.world[b] < 0, gravity.shape[0] - 1, bodies.world[b])]
            motion.target[b] = dt * v + (dt * dt) * (g + f * bodies.inv_mass[b])
            motion.spin[b] = dt * (motion.inertia[b] * omega + dt * t)
            motion.way[b] = motion.target[b]
            if touching.shape[0] > 0:
                if touching[b + 1] > touching[b]:
                    motion.way[b] = guessed_way(motion.target[b], dt * v, motion.gain[b], dt)
            motion.turn[b] = rotation_of(free_rotation(motion.inertia[b], motion.spin[b], dt * omega))
        b = next_item(work, b)
    restore_denormals(state)


@wp.kernel(enable_backward=False)
def finish_bodies(
    work: Work, bodies: Bodies, given_q: wp.array(dtype=wp.transform), dt: float, motion: BodyMotion,
    body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector), known: wp.array(dtype=wp.int32),
    previous: wp.array(dtype=wp.transform), began: wp.array(dtype=wp.transform),
):  # fmt: skip
    """Poses at the end of a step, and velocities by backward differences."""
    state = flush_denormals()
    b = first_item(work, wp.tid())
    while b >= 0:
        rotation = wp.normalize(motion.turn[b] * motion.rotation[b])
        origin = motion.com[b] + motion.way[b] - wp.quat_rotate(rotation, bodies.com[b])
        pose = wp.where(motion.moves[b] != 0, wp.transform(origin, rotation), given_q[b])
        v, omega = motion.way[b] / dt, rotation_vector(motion.turn[b]) / dt
        began[b] = given_q[b]
        motion.gain[b] = (v - wp.spatial_top(motion.velocity[b])) / dt
        body_q[b] = pose
        body_qd[b] = wp.spatial_vector(v[0], v[1], v[2], omega[0], omega[1], omega[2])
        known[b] = 1
        previous[b] = pose
        b = next_item(work, b)
    restore_denormals(state)


@wp.kernel(enable_backward=False)
def forget_joints(
    work: Work, world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), known: wp.array(dtype=wp.int32),
    multiplier: wp.array(dtype=wp.spatial_vector), effort: wp.array(dtype=wp.spatial_vector),
    penalty: wp.array(dtype=wp.spatial_vector), mode: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Joints of selected worlds begin anew."""
    j = first_item(work, wp.tid())
    while j >= 0:
        if selected[wp.where(world[j] < 0, selected.shape[0] - 1, world[j])]:
            known[j] = 0
            multiplier[j] = wp.spatial_vector()
            effort[j] = wp.spatial_vector()
            penalty[j] = wp.spatial_vector()
            mode[j] = wp.spatial_vector()
        j = next_item(work, j)

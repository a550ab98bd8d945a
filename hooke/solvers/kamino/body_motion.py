"""Bodies in a step: where they are, what momentum they have without joints and contacts, and the integration.

    p = M u + dt (m g + f, tau_gyro + t),     r <- r + dt v,     q <- exp(dt w) q                                (1)

The gyroscopic torque turns the angular momentum L = I w without changing its length: with the inertia I in the world's axes where the
equations are set up, and the angular impulse T of everything,

    I w' = exp(-dt w' / 2) (exp(-dt w / 2) I w + T),                                                             (2)

to first order L - dt w x L + T. A free body keeps its momentum, and its energy without drift: (2) is the leapfrog scheme on rotations, the
momentum being that between two poses. Where a body turns by a third of a radian or more in a step, (2) means little, and is only kept
from gaining energy.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.model.tables import Bodies
from hooke.solvers.kamino.data import Step, make_types
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.poses import make_pose_functions

__all__ = ["QUICK", "make_body_kernels"]

QUICK = wp.constant(0.3)
"""Turn in a step from which on rotations are not resolved [rad]."""


@cache
def make_body_kernels(scalar: Any) -> SimpleNamespace:
    """``begin``, ``place``, ``integrate`` and ``finish`` over a type of numbers."""
    t = make_types(scalar)
    vec3, quat, row, mat33, Motion = t.vec3, t.quat, t.row, t.mat33, t.Motion

    poses = make_pose_functions(scalar)
    widened, unit, turned, rotated = poses.widened, poses.unit, poses.turned, poses.rotated

    @wp.func
    def upper(u: row):
        return vec3(u[0], u[1], u[2])

    @wp.func
    def lower(u: row):
        return vec3(u[3], u[4], u[5])

    @wp.func
    def six(a: vec3, b: vec3):
        return row(a[0], a[1], a[2], b[0], b[1], b[2], scalar(0.0), scalar(0.0))

    @wp.func
    def tamed(spin: vec3, energy: scalar, inverse: mat33):
        """An angular momentum, made smaller if its energy is more than it was."""
        more = wp.dot(spin, inverse * spin)
        if more > energy:
            return wp.sqrt(energy / more) * spin
        return spin

    @wp.kernel(enable_backward=False, module="unique")
    def begin_bodies(
        work: Work, step: Step, bodies: Bodies, mechanism: Mechanism, gravity: wp.array(dtype=wp.vec3),
        body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector), body_f: wp.array(dtype=wp.spatial_vector),
        motion: Motion,
    ):  # fmt: skip
        """Poses where the equations are set up, and momenta (1)."""
        state = flush_denormals()
        b = first_item(work, wp.tid())
        while b >= 0:
            p, given, u = wp.transform_get_translation(body_q[b]), wp.transform_get_rotation(body_q[b]), body_qd[b]
            q = unit(given)
            v, w = widened(wp.spatial_top(u)), widened(wp.spatial_bottom(u))
            com = widened(p) + wp.quat_rotate(q, widened(bodies.com[b]))
            dt = scalar(step.dt)
            if mechanism.moves[b] != 0:
                com += scalar(step.half) * v
                if step.half != wp.float64(0.0):
                    q = turned(q, scalar(step.half) * w)
                own, m, turn = bodies.inertia[b], scalar(bodies.mass[b]), wp.quat_to_matrix(q)
                local = mat33(
                    scalar(own[0, 0]), scalar(own[0, 1]), scalar(own[0, 2]), scalar(own[1, 0]), scalar(own[1, 1]), scalar(own[1, 2]),
                    scalar(own[2, 0]), scalar(own[2, 1]), scalar(own[2, 2]),
                )  # fmt: skip
                inertia = turn * local * wp.transpose(turn)
                g = widened(gravity[wp.where(bodies.world[b] < 0, gravity.shape[0] - 1, bodies.world[b])])
                f, torque = widened(wp.spatial_top(body_f[b])), widened(wp.spatial_bottom(body_f[b]))
                motion.mass[b] = m
                motion.inertia[b] = inertia
                half, given_spin, inverse = scalar(0.5) * dt, dt * torque, wp.inverse(inertia)
                spin = rotated(inertia * w, -half * w)
                later, rate = scalar(1.0) * spin, scalar(1.0) * w
                for _k in range(wp.where(mechanism.moves[b] != 0, 4, 0)):
                    later = rotated(spin + given_spin, -half * rate) - given_spin
                    rate = inverse * (later + given_spin)
                if dt * dt * wp.dot(w, w) > scalar(QUICK) * scalar(QUICK):
                    later = tamed(rotated(spin, -half * rate), wp.dot(w, inertia * w), inverse)
                motion.spin[b] = spin
                motion.carried_spin[b] = later
                motion.momentum[b] = six(m * v + dt * (m * g + f), later + given_spin)
            motion.com[b] = com
            motion.rotation[b] = q
            motion.twist[b] = six(v, w)
            b = next_item(work, b)
        restore_denormals(state)

    @wp.func
    def narrowed(com: vec3, q: quat, local: wp.vec3):
        """The pose of a body frame."""
        p = com - wp.quat_rotate(q, widened(local))
        return wp.transform(
            wp.vec3(float(p[0]), float(p[1]), float(p[2])), wp.quat(float(q[0]), float(q[1]), float(q[2]), float(q[3]))
        )

    @wp.kernel(enable_backward=False, module="unique")
    def place_bodies(work: Work, bodies: Bodies, motion: Motion, body_q: wp.array(dtype=wp.transform)):
        """Poses as states have them."""
        b = first_item(work, wp.tid())
        while b >= 0:
            body_q[b] = narrowed(motion.com[b], motion.rotation[b], bodies.com[b])
            b = next_item(work, b)

    @wp.kernel(enable_backward=False, module="unique")
    def integrate_bodies(work: Work, step: Step, mechanism: Mechanism, start: Motion, x: wp.array(dtype=row), motion: Motion):
        """Twists and poses at the end (1)."""
        state = flush_denormals()
        b = first_item(work, wp.tid())
        while b >= 0:
            com, q, u = scalar(1.0) * start.com[b], scalar(1.0) * start.rotation[b], scalar(1.0) * start.twist[b]
            if mechanism.moves[b] != 0:
                u = scalar(1.0) * x[mechanism.node[b]]
                w = (scalar(1.0) - scalar(step.damping) * scalar(step.dt)) * lower(u)
                way = scalar(step.dt) - scalar(step.half)
                u = six(upper(u), w)
                com += way * upper(u)
                q = turned(q, way * w)
            motion.com[b] = com
            motion.rotation[b] = q
            motion.twist[b] = u
            b = next_item(work, b)
        restore_denormals(state)

    @wp.kernel(enable_backward=False, module="unique")
    def finish_bodies(
        work: Work, step: Step, bodies: Bodies, mechanism: Mechanism, start: Motion, motion: Motion,
        given: wp.array(dtype=wp.transform), given_f: wp.array(dtype=wp.spatial_vector),
        body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector), total: wp.array(dtype=wp.spatial_vector),
    ):  # fmt: skip
        """What goes into the state."""
        state = flush_denormals()
        b = first_item(work, wp.tid())
        while b >= 0:
            pose, force = 1.0 * given[b], 1.0 * given_f[b]
            u = scalar(1.0) * motion.twist[b]
            if mechanism.moves[b] != 0:
                pose = narrowed(motion.com[b], motion.rotation[b], bodies.com[b])
                whole = scalar(1.0) - scalar(step.damping) * scalar(step.dt)
                w = lower(u)
                if whole > scalar(0.0):
                    w = w / whole
                gained = six(start.mass[b] * upper(u), start.inertia[b] * w) - start.momentum[b]
                for i in range(6):
                    force[i] = force[i] + float(gained[i] / scalar(step.dt))
            body_q[b] = pose
            body_qd[b] = wp.spatial_vector(float(u[0]), float(u[1]), float(u[2]), float(u[3]), float(u[4]), float(u[5]))
            total[b] = force
            b = next_item(work, b)
        restore_denormals(state)

    return SimpleNamespace(begin=begin_bodies, place=place_bodies, integrate=integrate_bodies, finish=finish_bodies)

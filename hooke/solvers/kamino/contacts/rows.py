"""Rows of contacts: of each the velocity of B relative to A along two tangents and the normal from A to B.

With d the distance, pi = sign(d) max(0, |d| - delta), v the normal velocity at the start of the step, h the time that the step still
moves bodies, and k = gamma / dt or 1 / (dt + T), the bias of the normal row is

    - max(k |pi|, -e v)          surfaces that touch: they part at the speed of the rebound, or as fast as they recover            (1)
    pi / dt                      surfaces that do not touch: they may come together within the step                           (2)
    e v                          the same, where e > 0 and they would meet
    k pi, k = 1 / (h + T)        springs and dampers, with c = k / (dt ke) and T = kd / ke unless it is given: implicit Euler     (3)

with a recovery of at most ``contact_speed``, and none where e >= 1, so that no energy is gained.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.linalg.elimination import Patterns
from hooke.solvers.kamino.contacts.points import contact_frame, make_points
from hooke.solvers.kamino.data import Step, make_types
from hooke.solvers.kamino.inequality import make_row_types
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.ncp.problem import RowKind, make_problem

__all__ = ["make_contact_rows"]

CONTACT, REST = wp.constant(int(RowKind.CONTACT)), wp.constant(int(RowKind.REST))


@cache
def make_contact_rows(scalar: Any) -> Any:
    """The kernel over a type of numbers."""
    t, Points, Rows, problems = make_types(scalar), make_points(scalar), make_row_types(scalar), make_problem(scalar)
    vec3, row, Motion = t.vec3, t.row, t.Motion
    zero, one = wp.constant(scalar(0.0)), wp.constant(scalar(1.0))

    @wp.func
    def rate_of(d: vec3, arm: vec3):
        """J of a body's twist: d . (v + w x arm)."""
        a = wp.cross(arm, d)
        return row(d[0], d[1], d[2], a[0], a[1], a[2], zero, zero)

    @wp.func
    def beyond(d: scalar, delta: scalar):
        """Pi."""
        return wp.where(d < zero, wp.min(d + delta, zero), wp.max(d - delta, zero))

    @wp.func
    def hard_bias(step: Step, pi: scalar, e: scalar, v: scalar):
        """(1) and (2)."""
        approach = wp.max(-v, zero)
        recovery = wp.min(scalar(step.contact_speed), -scalar(step.contact_rate) * wp.min(pi, zero))
        if e >= one:
            recovery = zero
        bias = -wp.max(recovery, e * approach)
        if pi > zero:
            bias = pi / scalar(step.dt)
            if e > zero and approach > bias:
                bias = -e * approach
        return bias

    @wp.func
    def soft_bias(step: Step, pi: scalar, stiffness: scalar, damping: scalar):
        """Bias and c of (3)."""
        time = scalar(step.contact_time)
        if time < zero:
            time = damping / stiffness
        rate = one / (scalar(step.dt) - scalar(step.half) + time)
        bias = wp.max(-scalar(step.contact_speed), rate * wp.min(pi, zero)) + wp.max(pi, zero) / scalar(step.dt)
        return bias, rate / (scalar(step.dt) * stiffness)

    @wp.kernel(enable_backward=False, module="unique")
    def fill_rows(
        work: Work,
        step: Step,
        points: Points,
        patterns: Patterns,
        mechanism: Mechanism,
        motion: Motion,
        problem: problems,
        out: Rows,
    ):
        """The three rows of every contact."""
        k = first_item(work, wp.tid())
        while k >= 0:
            if k < points.first[points.first.shape[0] - 1]:
                w, a, b = points.world[k], points.body_a[k], points.body_b[k]
                at = out.of_contacts[w] + 3 * (k - points.first[w])
                arm_a, arm_b, n = scalar(1.0) * points.arm_a[k], scalar(1.0) * points.arm_b[k], scalar(1.0) * points.normal[k]
                place_a, place_b = int(-1), int(-1)
                before, carried = vec3(), vec3()  # velocity of B relative to A: at the start, and what immovable bodies have of it
                if a >= 0:
                    u = scalar(1.0) * motion.twist[a]
                    v = vec3(u[0], u[1], u[2]) + wp.cross(vec3(u[3], u[4], u[5]), arm_a)
                    before -= v
                    if mechanism.moves[a] != 0:
                        place_a = mechanism.node[a] - patterns.node[w]
                    else:
                        carried -= v
                if b >= 0:
                    u = scalar(1.0) * motion.twist[b]
                    v = vec3(u[0], u[1], u[2]) + wp.cross(vec3(u[3], u[4], u[5]), arm_b)
                    before += v
                    if mechanism.moves[b] != 0:
                        place_b = mechanism.node[b] - patterns.node[w]
                    else:
                        carried += v
                t, o = contact_frame(n)
                for i in range(3):
                    d = wp.where(i == 0, t, wp.where(i == 1, o, n))
                    r = at + i
                    out.first_place[r] = place_b
                    out.second_place[r] = place_a
                    out.first[r] = rate_of(d, arm_b)
                    out.second[r] = -rate_of(d, arm_a)
                    out.compliance[r] = zero
                    out.bias[r] = wp.dot(d, carried)
                    out.key[r] = -1
                    problem.kind[r] = wp.where(i == 0, CONTACT, REST)
                    problem.friction[r] = wp.where(i == 0, scalar(1.0) * points.friction[k], zero)
                    problem.low[r] = zero
                    problem.high[r] = zero
                    problem.impulse[r] = zero
                    problem.velocity[r] = zero
                pi = beyond(points.distance[k], scalar(step.dead_zone))
                bias, compliance = hard_bias(step, pi, points.restitution[k], wp.dot(n, before)), scalar(0.0)
                stiffness = scalar(1.0) * points.stiffness[k]
                if step.contact_compliance != 0 and stiffness > zero:
                    soft, c = soft_bias(step, pi, stiffness, points.damping[k])
                    bias = soft
                    compliance = c
                out.bias[at + 2] = out.bias[at + 2] + bias
                out.compliance[at + 2] = compliance
            k = next_item(work, k)

    return fill_rows

"""Forward kinematics of a world: poses that satisfy all joints and have the coordinates that are asked for; then velocities.

    d_k by (1) of :mod:`hooke.solvers.kamino.fk.linear`, mu_k = c_k |r_k|^2 / length^2, and a step of t d_k with the first of t = 1, 1/2,
    1/4 ... for which |r| < (1 - t / 10^4) |r_k|

With such a mu the convergence is quadratic where rows are redundant too (Yamashita, Fukushima: On the rate of convergence of the
Levenberg-Marquardt method, Computing Suppl. 15, 2001); c_k falls after full steps and grows after shorter ones. Targets move from where
coordinates are to where they are asked for in increments, so that a mechanism stays in the assembly that it is in; an increment that
cannot be solved is halved, and after a few halvings the target counts as out of reach: poses are the last whose joints were closed.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.flags import lane_options
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import joint_axes
from hooke.joints.layout import joint_place
from hooke.linalg.block_ldl import make_block_ldl
from hooke.linalg.elimination import Patterns
from hooke.model.tables import Bodies, Joints
from hooke.solvers.kamino.fk.data import FkOptions, FkReport, FkSpace, Row, Targets
from hooke.solvers.kamino.fk.linear import make_direction
from hooke.solvers.kamino.fk.motion import (
    copy_poses,
    count_increments,
    follow_leaders,
    measure_world,
    move_bodies,
    rate_of,
    set_start,
    set_targets,
)
from hooke.solvers.kamino.fk.structure import TARGET, Chain
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.reset import is_selected

__all__ = ["make_fk_kernel"]

rates_of = make_block_ldl(wp.float64).rates_of
WELDED = wp.constant(TARGET)
CLOSED = wp.constant(wp.float64(1.0e-4))  # residual at which the next increment may begin
LEAST_MU, MOST_MU = wp.constant(wp.float64(1.0e-12)), wp.constant(wp.float64(1.0))
LEAST_DAMPING, MOST_DAMPING = wp.constant(wp.float64(1.0e-6)), wp.constant(wp.float64(1.0e2))
FEWEST = wp.constant(wp.float64(1.0 / 16.0))  # of an increment, at most
ONE = wp.constant(wp.float64(1.0))
ROUNDING = wp.constant(wp.float64(1.0e-10))
RATE_MU = wp.constant(wp.float64(1.0e-9))
CLOSE_START, RATES, GO_ON, MEASURE, CLOSE_END, FINISHED = (wp.constant(k) for k in range(6))
"""Stages: assemble what is not, (velocities alone,) follow the targets, say how far they are, close the joints where they are."""
RATE_STEPS = wp.constant(2)  # the second takes what rounding left


@wp.struct
class Progress:
    """Squares of the residuals, the largest of them, and what was done to make them small."""

    total: wp.float64
    largest: wp.float64
    iterations: wp.int32
    weight: wp.float64


@wp.func
def relative_rates(w: int, joints: Joints, mechanism: Mechanism, chain: Chain, targets: Targets, space: FkSpace):
    """Write into ``space.error`` how far the rates of all rows are from what they are to be; the largest."""
    largest = wp.float64(0.0)
    for j in range(mechanism.joint[w], mechanism.joint[w + 1]):
        if chain.kind[j] > 0:
            place, code = joint_place(chain.layout, j), joints.type[j]
            rate = rates_of(j, space.child, space.twist[joints.child[j]])
            if joints.parent[j] >= 0:
                rate += rates_of(j, space.parent, space.twist[joints.parent[j]])
            if chain.kind[j] == WELDED:
                v, omega = wp.vec3d(), wp.vec3d()
                for k in range(place.linear + place.angular):
                    along, about = joint_axes(code, place, chain.axis, space.q, k)
                    asked = rate_of(targets, chain, place.qd + k)
                    if chain.leader[j] >= 0:
                        leader = joint_place(chain.layout, chain.leader[j])
                        asked = chain.follow[j][1] * rate_of(targets, chain, leader.qd + k)
                    v += asked * along
                    omega += asked * about
                for k in range(3):
                    rate[k] = rate[k] - v[k]
                    rate[3 + k] = rate[3 + k] - chain.length[w] * omega[k]
            for k in range(6):
                largest = wp.max(largest, wp.abs(rate[k]) / wp.where(k < 3, ONE, wp.min(ONE, chain.length[w])))
            space.error[j] = rate
    return largest


@wp.func
def begin_poses(
    w: int, joints: Joints, bodies: Bodies, mechanism: Mechanism, chain: Chain, option: FkOptions, targets: Targets, space: FkSpace
):
    """Remember where everything is, find out where targets are, and return how large the increments to there are."""
    copy_poses(w, mechanism, space.com, space.rotation, space.reference_com, space.reference_rotation)
    copy_poses(w, mechanism, space.com, space.rotation, space.good_com, space.good_rotation)
    set_start(w, joints, bodies, mechanism, chain, targets, space)
    follow_leaders(w, mechanism, chain, space)
    return wp.float64(1.0) / count_increments(w, joints, mechanism, chain, option, space)


@wp.func
def turn_bodies(w: int, steps: int, patterns: Patterns, mechanism: Mechanism, space: FkSpace):
    """Add the solution to the twists, or before the first of them forget angles that are no rates."""
    for b in range(mechanism.body[w], mechanism.body[w + 1]):
        space.spin[b] = wp.float64(0.0)
    k, start = patterns.kind[w], patterns.node[w]
    for n in range(patterns.size[k]):
        i = mechanism.item[patterns.of_place[k] + n]
        if i >= 0 and steps >= 0:
            b = mechanism.body[w] + i
            space.twist[b] = space.twist[b] + space.x[start + n]


@wp.func
def keep_or_return(w: int, closed: bool, mechanism: Mechanism, space: FkSpace):
    """Keep poses whose joints are closed, or return to those that were kept."""
    for b in range(mechanism.body[w], mechanism.body[w + 1]):
        if closed:
            space.good_com[b] = space.com[b]
            space.good_rotation[b] = space.rotation[b]
        else:
            space.com[b] = space.good_com[b]
            space.rotation[b] = space.good_rotation[b]


@cache
def make_fk_kernel(sparse: bool) -> Any:
    """The kernel that finds poses (stage CLOSE_START) or velocities (stage RATES) of worlds; ``sparse`` is by conjugate gradients."""
    find_direction = make_direction(sparse)

    @wp.func
    def search_step(w: int, most: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain,
               option: FkOptions, space: FkSpace, before: Progress):  # fmt: skip
        """Take the longest step that does enough, with at most so many halvings (-1 is none at all); and its length, 0 for none."""
        after = before
        t, found = wp.float64(2.0), wp.float64(-1.0)
        copy_poses(w, mechanism, space.com, space.rotation, space.kept_com, space.kept_rotation)
        k = int(0)
        while found < wp.float64(0.0):
            t = wp.where(k <= most, wp.float64(0.5) * t, wp.float64(0.0))
            move_bodies(w, patterns, mechanism, t, space)
            total, largest = measure_world(w, mechanism, joints, bodies, chain, option, space)
            if t == wp.float64(0.0) or total < (ONE - wp.float64(2.0e-4) * t) * before.total:
                found = t
                after.total = total
                after.largest = largest
            k += 1
        return after, found

    @wp.func
    def approach_targets(w: int, rates: int, goal: wp.float64, limit: int, joints: Joints, bodies: Bodies, patterns: Patterns,
                 mechanism: Mechanism, chain: Chain, option: FkOptions, targets: Targets, space: FkSpace, before: Progress):  # fmt: skip
        """At most ``limit`` steps until the largest residual is at the goal, and a few more where that is the tolerance.

        With ``rates`` twists are changed by the least that gives joints their rates, and poses stay.
        """
        now = before
        two = chain.length[w] * chain.length[w]
        damping, steps, t, open, extra = wp.float64(1.0e-3), int(-1), wp.float64(0.0), int(1), int(0)
        while open == 1:
            done = steps >= 0 and now.largest <= goal
            halvings = int(-1)
            if steps >= 0:
                size = wp.where(rates != 0, wp.float64(0.0), wp.sqrt(now.total))
                mu = wp.where(rates != 0, RATE_MU, wp.clamp(damping * size * size / two, LEAST_MU, MOST_MU))
                weight = now.weight * wp.min(ONE, size * size / two) / mu
                find_direction(w, patterns, mechanism, chain, option, mu, weight, size, space)
                halvings = wp.where(done, 0, option.halvings)
            if rates == 0 or steps < 0:
                now, t = search_step(w, halvings, joints, bodies, patterns, mechanism, chain, option, space, now)
            if rates != 0:
                turn_bodies(w, steps, patterns, mechanism, space)
                now.largest = relative_rates(w, joints, mechanism, chain, targets, space)
            elif done:  # rounding is a step or two away
                extra += 1
                if t == wp.float64(0.0) or extra == 2 or now.largest <= ROUNDING:
                    open = 0
            elif steps >= 0 and t > wp.float64(0.0):
                damping = wp.where(t == ONE, damping * wp.float64(0.1), damping * wp.float64(10.0))
                damping = wp.clamp(damping, LEAST_DAMPING, MOST_DAMPING)
            elif steps >= 0 and now.weight > wp.float64(0.0):
                now.weight = wp.float64(0.0)
            elif steps >= 0 and damping < MOST_DAMPING:
                damping = damping * wp.float64(1.0e3)
            elif steps >= 0:
                open = 0
            steps += 1
            near = now.largest <= goal and (goal > option.tolerance or now.largest == wp.float64(0.0))
            if steps >= limit or near:
                open = 0
        now.iterations += wp.max(steps, 0)
        return now, now.largest <= goal

    @wp.func
    def solve_kinematics(w: int, stage: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain,
                    option: FkOptions, targets: Targets, space: FkSpace, report: FkReport):  # fmt: skip
        """Poses for the targets, where they are out of reach the last on the way there; or in the stage RATES velocities."""
        now, closed, rates = Progress(), bool(False), wp.where(stage == RATES, 1, 0)
        now.weight = option.weight
        good, f, stride, least, increments = wp.float64(-1.0), wp.float64(0.0), wp.float64(1.0), wp.float64(1.0), int(0)
        if rates == 0:
            stride = begin_poses(w, joints, bodies, mechanism, chain, option, targets, space)
            least = stride
            if option.incremental != 0:
                least = FEWEST * stride
            else:
                good, f, stage = wp.float64(0.0), wp.float64(1.0), int(GO_ON)
        while stage != FINISHED:
            goal, limit = wp.max(option.tolerance, CLOSED), wp.where(stage == MEASURE, 0, option.iterations)
            if f == ONE or stage == CLOSE_END:
                goal = wp.float64(option.tolerance)
            if rates != 0:
                goal, limit = wp.float64(-1.0), int(RATE_STEPS)
            else:
                set_targets(w, f, joints, mechanism, chain, space)
            now, closed = approach_targets(
                w, rates, goal, limit, joints, bodies, patterns, mechanism, chain, option, targets, space, now
            )  # fmt: skip
            if stage == CLOSE_START:
                if closed:
                    good = wp.float64(0.0)
                else:  # as it is, in one go
                    stride, least = wp.float64(1.0), wp.float64(1.0)
                stage = GO_ON
            elif stage == GO_ON:
                increments += 1
                if closed:
                    good = f
                else:
                    stride = wp.float64(0.5) * stride
            elif stage == MEASURE:
                report.residual[w] = now.largest
                stage = wp.where(good < wp.float64(0.0), int(FINISHED), int(CLOSE_END))
            else:
                stage = FINISHED
            if stage == GO_ON:
                keep_or_return(w, closed, mechanism, space)
            f = wp.max(good, wp.float64(0.0)) + stride
            if f > ONE - wp.float64(0.01) * stride:
                f = wp.float64(1.0)
            if stage == GO_ON and good == ONE:
                report.residual[w] = now.largest
                stage = FINISHED
            elif stage == GO_ON and stride < least:  # say how far the target is, then close the joints where they are
                stage = MEASURE
                f = wp.float64(1.0)
            elif stage == CLOSE_END:
                f = wp.max(good, wp.float64(0.0))
        if rates != 0:
            report.rate[w] = now.largest
        else:
            report.converged[w] = wp.where(good == ONE, 1, 0)
            report.iterations[w] = now.iterations
            report.increments[w] = increments

    @wp.kernel(enable_backward=False, module="unique", module_options=lane_options())
    def solve_worlds(
        work: Work, stage: int, selected: wp.array(dtype=wp.bool), joints: Joints, bodies: Bodies, patterns: Patterns,
        mechanism: Mechanism, chain: Chain, option: FkOptions, targets: Targets, space: FkSpace, report: FkReport,
    ):  # fmt: skip
        """Poses or velocities of the bodies of selected worlds."""
        w = first_item(work, wp.tid())
        while w >= 0:
            if is_selected(selected, w):
                begin = int(stage)
                solve_kinematics(w, begin, joints, bodies, patterns, mechanism, chain, option, targets, space, report)
            w = next_item(work, w)

    return solve_worlds

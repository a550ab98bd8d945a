"""Forward kinematics of a world: poses that satisfy all joints and have the coordinates that are asked for; then velocities.

    d_k by (1) of :mod:`hooke.solvers.kamino.fk_linear`, mu_k = c_k |r_k|^2 / length^2, and a step of t d_k with the first of t = 1, 1/2,
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
from hooke.solvers.kamino.fk_data import FkOptions, FkReport, FkSpace, Row, Targets
from hooke.solvers.kamino.fk_linear import make_direction
from hooke.solvers.kamino.fk_motion import (
    copy_poses,
    count_increments,
    follow_leaders,
    measure,
    move,
    rate_of,
    set_start,
    set_targets,
)
from hooke.solvers.kamino.fk_structure import TARGET, Chain
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
RATE_MU = wp.constant(wp.float64(1.0e-9))
CLOSE_START, GO_ON, MEASURE, CLOSE_END, FINISHED = (wp.constant(k) for k in range(5))
"""Stages of a solve: assemble what is not, follow the targets, say how far they are, close the joints where they are."""


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
def forget_spin(w: int, mechanism: Mechanism, space: FkSpace):
    for b in range(mechanism.body[w], mechanism.body[w + 1]):
        space.spin[b] = wp.float64(0.0)


@cache
def make_fk_kernel(sparse: bool) -> Any:
    """The kernel that finds poses (stage 0) or velocities (stage 1) of worlds; ``sparse`` is by conjugate gradients."""
    find_direction = make_direction(sparse)

    @wp.func
    def search(w: int, most: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain,
               option: FkOptions, space: FkSpace, before: Progress):  # fmt: skip
        """Take the longest step that does enough, with at most so many halvings (-1 is none at all); and its length, 0 for none."""
        after = before
        t, found = wp.float64(2.0), wp.float64(-1.0)
        copy_poses(w, mechanism, space.com, space.rotation, space.kept_com, space.kept_rotation)
        k = int(0)
        while found < wp.float64(0.0):
            t = wp.where(k <= most, wp.float64(0.5) * t, wp.float64(0.0))
            move(w, patterns, mechanism, t, space)
            total, largest = measure(w, mechanism, joints, bodies, chain, option, space)
            if t == wp.float64(0.0) or total < (ONE - wp.float64(2.0e-4) * t) * before.total:
                found = t
                after.total = total
                after.largest = largest
            k += 1
        return after, found

    @wp.func
    def approach(w: int, goal: wp.float64, limit: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism,
                 chain: Chain, option: FkOptions, space: FkSpace, before: Progress):  # fmt: skip
        """At most ``limit`` steps until the largest residual is at the goal, and one more where that is the tolerance."""
        now = before
        two = chain.length[w] * chain.length[w]
        damping, steps, t, open = wp.float64(1.0e-3), int(-1), wp.float64(0.0), int(1)
        while open == 1:
            done = steps >= 0 and now.largest <= goal
            halvings = int(-1)
            if steps >= 0:
                mu = wp.clamp(damping * now.total / two, LEAST_MU, MOST_MU)
                weight = now.weight * wp.min(ONE, now.total / two) / mu
                find_direction(w, patterns, mechanism, chain, option, mu, weight, wp.sqrt(now.total), space)
                halvings = wp.where(done, 0, option.halvings)
            now, t = search(w, halvings, joints, bodies, patterns, mechanism, chain, option, space, now)
            if steps >= 0:
                if done:
                    open = 0
                elif t > wp.float64(0.0):
                    damping = wp.where(t == ONE, damping * wp.float64(0.1), damping * wp.float64(10.0))
                    damping = wp.clamp(damping, LEAST_DAMPING, MOST_DAMPING)
                elif now.weight > wp.float64(0.0):
                    now.weight = wp.float64(0.0)
                elif damping < MOST_DAMPING:
                    damping = damping * wp.float64(1.0e3)
                else:
                    open = 0
            steps += 1
            near = now.largest <= goal and (goal > option.tolerance or now.largest == wp.float64(0.0))
            if steps >= limit or near:
                open = 0
        now.iterations += wp.max(steps, 0)
        return now, now.largest <= goal

    @wp.func
    def solve_poses(w: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions,
                    targets: Targets, space: FkSpace, report: FkReport):  # fmt: skip
        """Poses for the targets; where they are out of reach, the last on the way there."""
        copy_poses(w, mechanism, space.com, space.rotation, space.reference_com, space.reference_rotation)
        copy_poses(w, mechanism, space.com, space.rotation, space.good_com, space.good_rotation)
        set_start(w, joints, bodies, mechanism, chain, targets, space)
        follow_leaders(w, mechanism, chain, space)
        stride = ONE / count_increments(w, joints, mechanism, chain, option, space)
        least = wp.where(option.incremental != 0, FEWEST, ONE) * stride
        now, closed = Progress(), bool(False)
        now.weight = option.weight
        good, f, increments = wp.float64(-1.0), wp.float64(0.0), int(0)
        stage = wp.where(option.incremental != 0, int(CLOSE_START), int(GO_ON))
        if stage == GO_ON:
            good, f, least = wp.float64(0.0), ONE, ONE
        while stage != FINISHED:
            limit = wp.where(stage == MEASURE, 0, option.iterations)
            goal = wp.where(f == ONE or stage == CLOSE_END, option.tolerance, wp.max(option.tolerance, CLOSED))
            set_targets(w, f, joints, mechanism, chain, space)
            now, closed = approach(w, goal, limit, joints, bodies, patterns, mechanism, chain, option, space, now)
            if stage == CLOSE_START:
                if closed:
                    good = wp.float64(0.0)
                else:  # as it is, in one go
                    stride, least = ONE, ONE
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
            if closed and stage == GO_ON:
                copy_poses(w, mechanism, space.com, space.rotation, space.good_com, space.good_rotation)
            elif stage == GO_ON:
                copy_poses(w, mechanism, space.good_com, space.good_rotation, space.com, space.rotation)
            f = wp.max(good, wp.float64(0.0)) + stride
            if f > ONE - wp.float64(0.01) * stride:
                f = ONE
            if stage == GO_ON and good == ONE:
                report.residual[w] = now.largest
                stage = FINISHED
            elif stage == GO_ON and stride < least:  # say how far the target is, then close the joints where they are
                stage = MEASURE
                f = ONE
            elif stage == CLOSE_END:
                f = wp.max(good, wp.float64(0.0))
        report.converged[w] = wp.where(good == ONE, 1, 0)
        report.iterations[w] = now.iterations
        report.increments[w] = increments

    @wp.func
    def solve_twists(w: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions,
                     targets: Targets, space: FkSpace, report: FkReport):  # fmt: skip
        """Change twists by the least that gives joints the rates that are asked for."""
        measure(w, mechanism, joints, bodies, chain, option, space)
        forget_spin(w, mechanism, space)
        k, start = patterns.kind[w], patterns.node[w]
        for _pass in range(wp.where(option.tolerance > wp.float64(0.0), 2, 0)):  # the second takes what rounding left
            relative_rates(w, joints, mechanism, chain, targets, space)
            find_direction(w, patterns, mechanism, chain, option, RATE_MU, wp.float64(0.0), wp.float64(0.0), space)
            for n in range(patterns.size[k]):
                i = mechanism.item[patterns.of_place[k] + n]
                if i >= 0:
                    b = mechanism.body[w] + i
                    space.twist[b] = space.twist[b] + space.x[start + n]
        report.rate[w] = relative_rates(w, joints, mechanism, chain, targets, space)

    @wp.kernel(enable_backward=False, module="unique", module_options=lane_options())
    def solve_worlds(
        work: Work, stage: int, selected: wp.array(dtype=wp.bool), joints: Joints, bodies: Bodies, patterns: Patterns,
        mechanism: Mechanism, chain: Chain, option: FkOptions, targets: Targets, space: FkSpace, report: FkReport,
    ):  # fmt: skip
        """Poses or velocities of the bodies of selected worlds."""
        w = first_item(work, wp.tid())
        while w >= 0:
            if is_selected(selected, w):
                if stage == 0:
                    solve_poses(w, joints, bodies, patterns, mechanism, chain, option, targets, space, report)
                else:
                    solve_twists(w, joints, bodies, patterns, mechanism, chain, option, targets, space, report)
            w = next_item(work, w)

    return solve_worlds

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


@wp.struct
class Progress:
    """Squares of the residuals, the largest of them, and what was done to make them small."""

    total: wp.float64
    largest: wp.float64
    iterations: wp.int32
    weight: wp.float64


@wp.func
def relative_rates(w: int, joints: Joints, patterns: Patterns, mechanism: Mechanism, chain: Chain, targets: Targets, space: FkSpace):
    """Write into ``space.error`` how far the rates of all rows are from what they are to be; the largest."""
    start, first, largest = patterns.node[w], mechanism.of_joint[patterns.kind[w]], wp.float64(0.0)
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
    def search(w: int, most: int, least: wp.float64, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism,
               chain: Chain, option: FkOptions, space: FkSpace, before: Progress):  # fmt: skip
        """The longest of the steps that does enough, and its length, 0 for none; a total of ``least`` of the old one will do."""
        after = before
        t, found = wp.float64(2.0), wp.float64(0.0)
        copy_poses(w, mechanism, space.com, space.rotation, space.kept_com, space.kept_rotation)
        k = int(0)
        while k <= most and found == wp.float64(0.0):
            t = wp.float64(0.5) * t
            move(w, patterns, mechanism, t, space)
            total, largest = measure(w, mechanism, joints, bodies, chain, option, space)
            after.total = total
            after.largest = largest
            if after.total < least * (ONE - wp.float64(2.0e-4) * t) * before.total:
                found = t
            k += 1
        if found == wp.float64(0.0):
            copy_poses(w, mechanism, space.kept_com, space.kept_rotation, space.com, space.rotation)
            total, largest = measure(w, mechanism, joints, bodies, chain, option, space)
            after.total = total
            after.largest = largest
        return after, found

    @wp.func
    def approach(w: int, last: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain,
                 option: FkOptions, space: FkSpace, before: Progress):  # fmt: skip
        """Steps until the joints are closed: to the tolerance and one more, or if not ``last`` as is enough to go on."""
        now = before
        total, largest = measure(w, mechanism, joints, bodies, chain, option, space)
        now.total = total
        now.largest = largest
        tolerance = wp.where(last != 0, option.tolerance, wp.max(option.tolerance, CLOSED))
        two = chain.length[w] * chain.length[w]
        damping, steps, open = wp.float64(1.0e-3), int(0), int(1)
        while open == 1 and steps < option.iterations:
            done = now.largest <= tolerance
            if done and (last == 0 or now.largest == wp.float64(0.0)):
                open = 0
            else:
                mu = wp.clamp(damping * now.total / two, LEAST_MU, MOST_MU)
                weight = now.weight * wp.min(ONE, now.total / two) / mu
                find_direction(w, patterns, mechanism, chain, option, mu, weight, wp.sqrt(now.total), space)
                halvings = wp.where(done, 0, option.halvings)
                now, t = search(w, halvings, ONE, joints, bodies, patterns, mechanism, chain, option, space, now)
                steps += 1
                if done:
                    open = 0
                elif t == wp.float64(0.0):
                    if now.weight == wp.float64(0.0) and damping >= MOST_DAMPING:
                        open = 0
                    damping = wp.where(now.weight > wp.float64(0.0), damping, damping * wp.float64(1.0e3))
                    now.weight = wp.float64(0.0)
                else:
                    damping = wp.where(t == ONE, damping * wp.float64(0.1), damping * wp.float64(10.0))
                    damping = wp.clamp(damping, LEAST_DAMPING, MOST_DAMPING)
        now.iterations += steps
        return now, now.largest <= tolerance

    @wp.func
    def solve_poses(w: int, joints: Joints, bodies: Bodies, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions,
                    targets: Targets, space: FkSpace, report: FkReport):  # fmt: skip
        """Poses for the targets; where they are out of reach, the last on the way there."""
        copy_poses(w, mechanism, space.com, space.rotation, space.reference_com, space.reference_rotation)
        copy_poses(w, mechanism, space.com, space.rotation, space.good_com, space.good_rotation)
        set_start(w, joints, bodies, mechanism, chain, targets, space)
        follow_leaders(w, mechanism, chain, space)
        count = count_increments(w, joints, mechanism, chain, option, space)
        now = Progress()
        now.weight = option.weight
        set_targets(w, wp.float64(0.0), joints, mechanism, chain, space)
        now, closed = approach(w, 0, joints, bodies, patterns, mechanism, chain, option, space, now)
        good = wp.where(closed, wp.float64(0.0), wp.float64(-1.0))
        if closed:
            copy_poses(w, mechanism, space.com, space.rotation, space.good_com, space.good_rotation)
        if not closed or option.incremental == 0:  # as it is, in one go
            copy_poses(w, mechanism, space.good_com, space.good_rotation, space.com, space.rotation)
            count = ONE
        stride, increments = ONE / count, int(0)
        least = wp.where(option.incremental != 0, FEWEST, ONE) * stride
        while good < ONE and stride >= least:
            f = wp.max(good, wp.float64(0.0)) + stride
            if f > ONE - wp.float64(0.01) * stride:
                f = ONE
            set_targets(w, f, joints, mechanism, chain, space)
            last = wp.where(f == ONE, 1, 0)
            now, closed = approach(w, last, joints, bodies, patterns, mechanism, chain, option, space, now)
            increments += 1
            if closed:
                good = f
                copy_poses(w, mechanism, space.com, space.rotation, space.good_com, space.good_rotation)
            else:
                copy_poses(w, mechanism, space.good_com, space.good_rotation, space.com, space.rotation)
                stride = wp.float64(0.5) * stride
                if good < wp.float64(0.0):
                    stride = wp.float64(0.0)
        if good < ONE:  # say how far the target is, and close the joints where they are
            set_targets(w, ONE, joints, mechanism, chain, space)
            total, largest = measure(w, mechanism, joints, bodies, chain, option, space)
            now.total = total
            now.largest = largest
            report.residual[w] = now.largest
            set_targets(w, wp.max(good, wp.float64(0.0)), joints, mechanism, chain, space)
            if good >= wp.float64(0.0):
                now, closed = approach(w, 1, joints, bodies, patterns, mechanism, chain, option, space, now)
        else:
            report.residual[w] = now.largest
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
            relative_rates(w, joints, patterns, mechanism, chain, targets, space)
            find_direction(w, patterns, mechanism, chain, option, LEAST_MU, wp.float64(0.0), wp.float64(0.0), space)
            for n in range(patterns.size[k]):
                i = mechanism.item[patterns.of_place[k] + n]
                if i >= 0:
                    b = mechanism.body[w] + i
                    space.twist[b] = space.twist[b] + space.x[start + n]
        report.rate[w] = relative_rates(w, joints, patterns, mechanism, chain, targets, space)

    @wp.kernel(enable_backward=False, module="unique")
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

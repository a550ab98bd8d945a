"""The solve of the problem of one world: Newton steps from the guess, then proximal ADMM with Newton steps from its active sets.

Where these fail twice a smooth path is followed from no impulses, with trials of Newton steps on the way, and later once more from the
best that was found; then ADMM goes on.

What counts is the point with the smallest natural map of all that were tried, the guess included; so no solve returns what is worse
than no change. Newton steps are taken without a line search and given up when the natural map has not fallen for a few steps.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.solvers.kamino.ncp.dense import make_dense
from hooke.solvers.kamino.ncp.history import make_history
from hooke.solvers.kamino.ncp.newton import make_newton, measures_type
from hooke.solvers.kamino.ncp.options import Options, PenaltyMethod, WorldStatus, make_report
from hooke.solvers.kamino.ncp.padmm import make_padmm
from hooke.solvers.kamino.ncp.problem import make_problem
from hooke.solvers.kamino.ncp.scratch import NO_BOUND, Vector, make_scratch
from hooke.solvers.kamino.ncp.smoothing import make_smoothing

__all__ = ["make_solve_world"]

BALANCED, SPECTRAL = wp.constant(int(PenaltyMethod.BALANCED)), wp.constant(int(PenaltyMethod.SPECTRAL))
Y, POINT, BEST, BASE = (wp.constant(k) for k in (Vector.Y, Vector.POINT, Vector.BEST, Vector.BASE))
PATIENCE = wp.constant(10)
"""Newton steps without a smaller natural map, after which a trial is given up."""
POWER_STEPS = wp.constant(12)
FIRST_PATH, SECOND_PATH = wp.constant(2), wp.constant(4)
"""Trials of Newton steps after which the smooth path is followed."""
AFFORDABLE = wp.constant(96)
"""Rows above which the path gets fewer steps."""


@cache
def make_solve_world(scalar: Any, collect: bool = False) -> Any:
    """The function ``solve_world(w, start, n, slot, problem, options, space, report)`` over a type of numbers.

    It solves the problem of the n rows of world ``w`` from member ``start`` on, in slot ``slot`` of ``space``, writes impulses and
    velocities into ``problem`` and returns what became of it; ``report`` takes the history of the iterations, where ``collect`` is asked.
    """
    dense, padmm = make_dense(scalar), make_padmm(scalar)
    problems, scratch, reports = make_problem(scalar), make_scratch(scalar), make_report(scalar)
    newton = make_newton(scalar, problems)
    evaluate_path, extent, shift = make_smoothing(scalar)
    clear, record = make_history(scalar, collect)
    eliminate, factor, solve, multiply, substitute = dense
    prepare, guess, right_side, project, advance, power, size_of, take_iterate = padmm
    classify, assemble, move, measure, copy, clear_point, project_point, write = newton
    several = wp.types.vector(length=5, dtype=scalar)
    rounding = scalar(1.0e-15 if scalar is wp.float64 else 1.0e-7)
    proximal = scalar(1.0e-9 if scalar is wp.float64 else 1.0e-5)

    @wp.func
    def within(measures: measures_type(scalar), option: Options):
        """Whether a measured point satisfies the tolerances, as far as rounding lets one know."""
        return (
            wp.float64(measures[6]) <= option.primal_tolerance
            and wp.float64(measures[7]) <= option.dual_tolerance
            and wp.float64(measures[8]) <= option.compl_tolerance
        )

    @wp.func
    def newton_step(space: scratch, slot: int, n: int, singles: int, epsilon: scalar):
        """Move ``point``."""
        faces = classify(space, slot, n, singles)
        if faces % 2 == 1:
            multiply(space, slot, n, POINT)
        m = faces // 2
        if m > 0:
            assemble(space, slot, n, singles, m, epsilon)
            eliminate(space, slot, n, m, 1)
            substitute(space, slot, n, m)
            move(space, slot, n, m)

    @wp.func
    def polish(space: scratch, slot: int, n: int, singles: int, option: Options, gentle: bool, least: scalar, target: scalar):
        """Newton steps from ``point``; the best of them and of what was best before is kept.

        Returns its natural map, how many steps were taken, and whether one of them satisfies the tolerances.
        """
        multiply(space, slot, n, POINT)
        found = measure(space, slot, n, singles)
        good = within(found, option)
        best = least
        if found[0] < best or good:
            best = found[0]
            copy(space, slot, n, POINT, BEST)
        lowest = found[0]
        damping = wp.where(gentle, scalar(0.2), scalar(0.0))
        taken = int(0)
        waited = int(0)
        settle = int(0)  # put a point that looks like a solution into its sets, to see whether it is one
        while (taken < option.polish_steps and waited < PATIENCE and lowest > target) or settle == 1:
            if settle == 1:
                project_point(space, slot, n, singles)
            else:
                newton_step(space, slot, n, singles, wp.clamp(damping * found[5], proximal, scalar(0.06)))
                damping *= scalar(0.9)
                taken += 1
            multiply(space, slot, n, POINT)
            found = measure(space, slot, n, singles)
            inside = within(found, option)
            if (found[0] < best and (inside or not good)) or (inside and settle == 1 and not good):
                best = found[0]
                copy(space, slot, n, POINT, BEST)
            if settle == 1:
                good = good or inside
                settle = 0
            else:
                waited = wp.where(found[0] < lowest, 0, waited + 1)
                if good and found[0] > scalar(0.5) * lowest:  # rounding
                    waited = PATIENCE
                if inside and not good:
                    settle = 1
            lowest = wp.min(lowest, found[0])
        return best, taken, good

    @wp.func
    def smooth_step(space: scratch, slot: int, n: int, singles: int, t: scalar, above: scalar):
        """A Newton step for F_t, shortened until |F_t| is below ``above``; |F_t| after it, and the part of the step that was taken."""
        evaluate_path(space, slot, n, singles, t, 1)
        eliminate(space, slot, n, n, 1)
        substitute(space, slot, n, n)
        copy(space, slot, n, POINT, BASE)
        part = scalar(2.0)
        found = scalar(NO_BOUND)
        while not (found <= (scalar(1.0) - scalar(0.01) * part) * above) and part > scalar(0.01):
            part *= scalar(0.5)
            shift(space, slot, n, part)
            multiply(space, slot, n, POINT)
            found = evaluate_path(space, slot, n, singles, t, 0)
        return found, part

    @wp.func
    def follow_path(
        space: scratch, slot: int, n: int, singles: int, option: Options, from_best: bool, least: scalar, target: scalar
    ):
        """Along the smooth path from no impulses or the best ones, with trials of Newton steps; what :func:`polish` returns."""
        begin = extent(space, slot, n, singles)
        t = begin
        if from_best:
            copy(space, slot, n, BEST, POINT)
            t *= scalar(0.03)
        else:
            clear_point(space, slot, n)
        multiply(space, slot, n, POINT)
        best = least
        good = bool(False)
        steps = int(0)
        falls = int(0)
        count = int(0)
        recent = several()
        stuck = int(0)
        most = wp.min(option.path_steps, option.path_steps * AFFORDABLE / n)
        while steps < most and stuck < 4 and not good and t > scalar(1.0e-9) * begin:
            recent[count % 5] = evaluate_path(space, slot, n, singles, t, 0)
            found, part = smooth_step(space, slot, n, singles, t, wp.max(recent))
            steps += 1
            count += 1
            stuck = wp.where(part > scalar(0.02), 0, stuck + 1)
            if part == scalar(1.0) or found < scalar(0.1) * t * wp.sqrt(scalar(n)):
                t *= scalar(0.7)
                recent = several()
                falls += 1
                if t < scalar(0.02) * begin and falls % 2 == 0:
                    copy(space, slot, n, POINT, BASE)
                    best, taken, good = polish(space, slot, n, singles, option, falls % 4 == 0, best, target)
                    copy(space, slot, n, BASE, POINT)
                    multiply(space, slot, n, POINT)
                    steps += taken
        return best, steps, good

    @wp.func
    def first_penalty(space: scratch, slot: int, n: int, option: Options):
        """The penalty to begin with, and the factor by which it changes."""
        rho = wp.max(scalar(option.rho_0), scalar(option.rho_min))
        step = scalar(option.tau)
        if option.penalty_update_method == SPECTRAL:
            largest = power(space, slot, n, 1)
            for _k in range(POWER_STEPS):
                largest = power(space, slot, n, 0)
            ratio = wp.max(largest / scalar(option.eta), scalar(1.0))
            rho = wp.max(rho * wp.sqrt(largest * scalar(option.eta)) * wp.pow(ratio, scalar(0.2)), scalar(option.rho_min))
            step = wp.pow(ratio, scalar(0.05))
        return rho, step

    @wp.func
    def next_penalty(rho: scalar, step: scalar, status: WorldStatus, option: Options):
        """The penalty after an iteration, by the ratio of its residuals."""
        result = rho
        frequency = option.penalty_update_freq
        if option.penalty_update_method > 0 and frequency > 0 and status.iterations % wp.max(frequency, 1) == 0:
            if status.r_p > option.alpha * status.r_d:
                result = rho * step
            elif status.r_d > option.alpha * status.r_p:
                result = wp.max(rho / step, scalar(option.rho_min))
        return result

    @wp.func
    def iterate(space: scratch, slot: int, n: int, singles: int, rho: scalar, option: Options, before: WorldStatus):
        """One iteration of the proximal ADMM; the status after it, and whether all is finite."""
        status = before
        right_side(space, slot, n, singles, rho, scalar(option.eta))
        solve(space, slot, n)
        found = project(space, slot, n, singles, rho, scalar(option.eta))
        status.iterations += 1
        status.r_p = wp.float64(found[0])
        status.r_d = wp.float64(found[1])
        status.r_c = wp.float64(found[2])
        status.r_dx = wp.float64(found[3])
        status.r_dy = wp.float64(found[4])
        status.r_dz = wp.float64(found[5])
        finite = found[6] < scalar(NO_BOUND)  # |x|, which is not a number if anything is not
        done = (
            finite and status.r_p <= option.primal_tolerance and status.r_d <= option.dual_tolerance
            and status.r_c <= option.compl_tolerance
        )  # fmt: skip
        status.converged = wp.where(done and status.iterations > 1, 1, 0)
        status.restart = 0
        ahead = wp.float64(0.0)
        penalty = wp.float64(rho)
        combined = penalty * status.r_dy * status.r_dy + status.r_dz * status.r_dz / penalty
        if option.use_acceleration != 0 and status.converged == 0:
            if status.iterations == 1 or combined < option.restart_tolerance * status.r_a:
                a = (wp.float64(1.0) + wp.sqrt(wp.float64(1.0) + wp.float64(4.0) * status.a * status.a)) / wp.float64(2.0)
                ahead = (status.a - wp.float64(1.0)) / a
                status.a = a
            else:
                status.restart = 1
                status.num_restarts += 1
                status.a = option.a_0
                combined = status.r_a / option.restart_tolerance
        status.r_a_pp = status.r_a_p
        status.r_a_p = status.r_a
        status.r_a = combined
        advance(space, slot, n, scalar(ahead), status.restart)
        return status, finite

    @wp.func
    def run(w: int, space: scratch, slot: int, n: int, singles: int, option: Options, start: WorldStatus, report: reports):
        """Newton steps from the guess, then iterations with Newton steps now and then; the status after them."""
        status = start
        target = rounding * (scalar(1.0) + size_of(space, slot, n))
        least = scalar(NO_BOUND)
        rho = scalar(option.rho_0)
        step = scalar(option.tau)
        trial = int(0)
        due = int(0)  # when the next trial is; there are fewer of them when they have failed
        changed = int(1)
        finite = bool(True)
        open = int(1)
        while open == 1:
            last = status.converged == 1 or status.iterations >= option.max_iterations or not finite
            if option.polish != 0 and (last or status.iterations >= due):
                copy(space, slot, n, Y, POINT)
                least, taken, good = polish(space, slot, n, singles, option, trial % 2 == 0, least, target)
                status.newton_steps += taken
                trial += 1
                due = status.iterations + wp.max(option.polish_every, 1) * wp.max(1, trial - 3)
                second = trial == SECOND_PATH
                if not good and (second or trial == FIRST_PATH):
                    least, taken, good = follow_path(space, slot, n, singles, option, second, least, target)
                    status.newton_steps += taken
                last = last or good
            if last:
                open = 0
            else:
                if status.iterations == 0:
                    rho, step = first_penalty(space, slot, n, option)
                if changed == 1:
                    factor(space, slot, n, rho + scalar(option.eta))
                status, finite = iterate(space, slot, n, singles, rho, option, status)
                record(w, space, slot, n, singles, option, status, report)
                after = next_penalty(rho, step, status, option)
                changed = wp.where(after == rho, 0, 1)
                status.num_rho_updates += changed
                rho = after
        status.rho = wp.float64(rho)
        return status

    @wp.func
    def conclude(space: scratch, slot: int, n: int, singles: int, option: Options, before: WorldStatus):
        """Take the best point as the solution; the status with what holds for it."""
        status = before
        if option.polish != 0:
            copy(space, slot, n, BEST, POINT)
        else:
            copy(space, slot, n, Y, POINT)
        project_point(space, slot, n, singles)
        multiply(space, slot, n, POINT)
        found = measure(space, slot, n, singles)
        if status.converged == 0 and not within(found, option):
            copy(space, slot, n, POINT, BEST)
            clear_point(space, slot, n)
            project_point(space, slot, n, singles)
            multiply(space, slot, n, POINT)
            nothing = measure(space, slot, n, singles)
            if nothing[0] < found[0] or not (found[0] < scalar(NO_BOUND)):
                found = nothing
            else:
                copy(space, slot, n, BEST, POINT)
                multiply(space, slot, n, POINT)
        if option.polish == 0 and status.converged == 1:
            take_iterate(space, slot, n, singles)
            found = measure(space, slot, n, singles)
        status.natural_map = wp.where(found[1] < scalar(NO_BOUND), wp.float64(found[1]), wp.float64(wp.inf))
        if option.polish != 0:
            status.r_p = wp.float64(found[2])
            status.r_d = wp.float64(found[3])
            status.r_c = wp.float64(found[4])
            if within(found, option):
                status.converged = 1
        return status

    @wp.func
    def solve_world(
        w: int, start: int, n: int, slot: int, problem: problems, options: wp.array(dtype=Options), space: scratch, report: reports
    ):  # fmt: skip
        """Solve the n rows of world ``w`` from member ``start`` on in slot ``slot``; what became of them."""
        option = options[wp.min(w, options.shape[0] - 1)]
        status = WorldStatus()
        status.a = option.a_0
        status.rho = option.rho_0
        clear(w, option, report)
        if n == 0:
            status.converged = 1
        elif n > space.rows:
            status.natural_map = wp.float64(wp.inf)
            for i in range(n):
                row = start + i
                if problem.member.shape[0] > 0:
                    row = 1 * problem.member[problem.row[w] + row]
                problem.impulse[problem.row[w] + row] = scalar(0.0)
        else:
            singles = prepare(space, slot, n, problem, w, start, option.warm_start, option.preconditioning)
            guess(space, slot, n, singles)
            status = run(w, space, slot, n, singles, option, status, report)
            status = conclude(space, slot, n, singles, option, status)
            write(space, slot, n, problem, w)
        return status

    return solve_world

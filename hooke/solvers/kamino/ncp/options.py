"""What the solve of a problem is told, and what it tells, as structs that a device reads and writes."""

from enum import IntEnum
from functools import cache
from typing import Any

import warp as wp

__all__ = ["COLUMNS", "Options", "PenaltyMethod", "WorldStatus", "make_options", "make_report", "solve_nothing", "worse_of"]


class PenaltyMethod(IntEnum):
    """How the penalty of the proximal ADMM is chosen."""

    FIXED = 0
    """rho_0."""
    BALANCED = 1
    """From rho_0 on, by the factor tau when one of the primal and the dual residual is alpha times the other."""
    SPECTRAL = 2
    """sqrt(L m) (L / m)^p of the extreme eigenvalues L and m, times rho_0; p changes as the residuals say."""


@wp.struct
class Options:
    """Options of the solve of one world; an array of them has one entry for all worlds, or one for each.

    Attributes:
        primal_tolerance: Bound of r_p [N s].
        dual_tolerance: Bound of r_d [m/s].
        compl_tolerance: Bound of r_c [J].
        restart_tolerance: The least decrease of the combined residual that keeps the acceleration.
        eta: Weight of the proximal term.
        rho_0: Penalty to begin with.
        rho_min: Least penalty.
        a_0: First number of Nesterov's sequence.
        alpha: Ratio of residuals at which the penalty changes.
        tau: Factor by which it does.
        max_iterations: Iterations of the proximal ADMM, at most.
        penalty_update_freq: Iterations between changes of the penalty; 0 for none.
        penalty_update_method: A PenaltyMethod.
        use_acceleration: Whether to extrapolate.
        preconditioning: Whether to scale the rows.
        warm_start: Whether the impulses and velocities of the problem are a guess.
        polish: Whether to take Newton steps.
        polish_every: Iterations before Newton steps are tried, and between their trials; more and more between those after the fourth.
        polish_steps: Newton steps of a trial, at most.
        path_steps: Newton steps along the smooth path, at most; 0 for none. Worlds of more than 96 rows n have 96 / n of them.
    """

    primal_tolerance: wp.float64
    dual_tolerance: wp.float64
    compl_tolerance: wp.float64
    restart_tolerance: wp.float64
    eta: wp.float64
    rho_0: wp.float64
    rho_min: wp.float64
    a_0: wp.float64
    alpha: wp.float64
    tau: wp.float64
    max_iterations: wp.int32
    penalty_update_freq: wp.int32
    penalty_update_method: wp.int32
    use_acceleration: wp.int32
    preconditioning: wp.int32
    warm_start: wp.int32
    polish: wp.int32
    polish_every: wp.int32
    polish_steps: wp.int32
    path_steps: wp.int32


DEFAULTS = {
    "primal_tolerance": 1e-6, "dual_tolerance": 1e-6, "compl_tolerance": 1e-6, "restart_tolerance": 0.999, "eta": 1e-5, "rho_0": 1.0,
    "rho_min": 1e-5, "a_0": 1.0, "alpha": 10.0, "tau": 1.5, "max_iterations": 200, "penalty_update_freq": 1,
    "penalty_update_method": int(PenaltyMethod.FIXED), "use_acceleration": 1, "preconditioning": 1, "warm_start": 0, "polish": 1,
    "polish_every": 15, "polish_steps": 25, "path_steps": 250,
}  # fmt: skip


def make_options(**values: Any) -> Options:
    """Options with their documented defaults, but for the given ones."""
    options = Options()
    for name, value in {**DEFAULTS, **values}.items():
        if name not in DEFAULTS:
            raise TypeError(f"there is no option {name!r} of the solve; there are {', '.join(DEFAULTS)}")
        setattr(options, name, int(value) if isinstance(DEFAULTS[name], int) else float(value))
    return options


@wp.struct
class WorldStatus:
    """What became of the problem of a world.

    Attributes:
        converged: Whether all residuals are within their tolerances.
        iterations: Iterations of the proximal ADMM.
        r_p: Primal residual [N s], max norm.
        r_d: Dual residual [m/s].
        r_c: Complementarity residual [J].
        r_dx: Change of x in the last iteration [N s], 2-norm.
        r_dy: Change of y from where it was extrapolated to.
        r_dz: Change of z from there [m/s].
        r_a: Combined residual of the acceleration.
        r_a_p: That of the iteration before.
        r_a_pp: That of the iteration before that.
        restart: Whether the last iteration restarted the acceleration.
        num_restarts: How many did.
        num_rho_updates: How often the penalty changed.
        newton_steps: Newton steps, of all trials.
        natural_map: max |l - P(l - v - s(v))| of the impulses that were returned.
        rho: The last penalty.
        a: The last number of Nesterov's sequence.
    """

    converged: wp.int32
    iterations: wp.int32
    r_p: wp.float64
    r_d: wp.float64
    r_c: wp.float64
    r_dx: wp.float64
    r_dy: wp.float64
    r_dz: wp.float64
    r_a: wp.float64
    r_a_p: wp.float64
    r_a_pp: wp.float64
    restart: wp.int32
    num_restarts: wp.int32
    num_rho_updates: wp.int32
    newton_steps: wp.int32
    natural_map: wp.float64
    rho: wp.float64
    a: wp.float64


@wp.func
def solve_nothing(option: Options):
    """What becomes of a problem without rows."""
    status = WorldStatus()
    status.converged = 1
    status.a = option.a_0
    status.rho = option.rho_0
    return status


@wp.func
def worse_of(a: WorldStatus, b: WorldStatus):
    """What became of two problems: the one with the larger natural map, and Newton steps of both."""
    status = b
    if a.natural_map > b.natural_map:
        status = a
    status.converged = a.converged * b.converged
    status.iterations = wp.max(a.iterations, b.iterations)
    status.newton_steps = a.newton_steps + b.newton_steps
    return status


COLUMNS = (
    "num_restarts", "num_rho_updates", "a", "norm_s", "norm_x", "norm_y", "norm_z", "r_dx", "r_dy", "r_dz", "r_primal", "r_dual",
    "r_compl", "r_pd", "r_dp", "r_comb", "r_comb_ratio", "r_ncp_primal", "r_ncp_dual", "r_ncp_compl", "r_ncp_natmap", "f_ccp", "f_ncp",
)  # fmt: skip
"""What is written of every iteration, theory 5.8."""


@cache
def make_report(scalar: Any) -> Any:
    """The struct ``Report`` over a type of numbers."""

    class Report:
        world: wp.array(dtype=WorldStatus)
        history: wp.array2d(dtype=scalar)

    Report.__doc__ = """What the solve tells.

    Attributes:
        world: Of every world.
        history: Of every iteration, in row world * max_iterations + iteration, the numbers named by COLUMNS; without rows none is kept.
    """
    Report.__qualname__ = f"Report_{scalar.__name__}"
    return wp.struct(Report)

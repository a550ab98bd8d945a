"""What happens in every iteration of the proximal ADMM, for who wants to see it (theory 5.8): it takes longer than the iteration."""

from functools import cache
from typing import Any

import warp as wp

from hooke.solvers.kamino.ncp.dense import make_dense
from hooke.solvers.kamino.ncp.newton import make_newton
from hooke.solvers.kamino.ncp.options import COLUMNS, Options, WorldStatus, make_report
from hooke.solvers.kamino.ncp.padmm import constants_code
from hooke.solvers.kamino.ncp.problem import make_problem
from hooke.solvers.kamino.ncp.scratch import Vector, make_scratch, native_code

__all__ = ["make_history"]

Y, POINT = wp.constant(Vector.Y), wp.constant(Vector.POINT)
WIDTH = wp.constant(len(COLUMNS))

# |s| of z, |x|, |y|, |z|; l . (v + v_f) / 2, the same and l . s, of point and velocity
_NORMS = """
    const int contacts = (n - singles) / 3;
    lanes_t xx = all(0), yy = all(0), zz = all(0), work = all(0);
    for (int j = 0; j < width; j += 8) {
        const lanes_t a = load(x + j), b = load(y + j), c = load(z + j);
        xx = xx + a * a;
        yy = yy + b * b;
        zz = zz + c * c;
        work = work + load(point + j) * (load(velocity + j) + load(free + j));
    }
    real_t slips = 0, dissipated = 0;
    for (int t = singles, o = t + contacts, k = o + contacts; t < singles + contacts; t++, o++, k++) {
        slips += friction[t] * friction[t] * (z[t] * z[t] + z[o] * z[o]);
        dissipated += point[k] * friction[t] * sqrt(velocity[t] * velocity[t] + velocity[o] * velocity[o]);
    }
    wp::vec_t<8, real_t> result;
    result.c[0] = sqrt(slips); result.c[1] = sqrt(sum(xx)); result.c[2] = sqrt(sum(yy)); result.c[3] = sqrt(sum(zz));
    result.c[4] = sum(work) / 2; result.c[5] = result.c[4] + dissipated; result.c[6] = 0; result.c[7] = 0;
    return result;
"""


@cache
def make_history(scalar: Any, collect: bool) -> tuple[Any, Any]:
    """The functions that clear the history of a world and add an iteration to it; without ``collect`` they do nothing."""
    scratch, reports = make_scratch(scalar), make_report(scalar)
    multiply = make_dense(scalar).multiply
    newton = make_newton(scalar, make_problem(scalar))
    measure, copy = newton.measure, newton.copy
    measures = wp.types.vector(length=8, dtype=scalar)

    @wp.func_native(native_code(scalar, _NORMS, constants_code()))
    def norms(space: scratch, slot: int, n: int, singles: int) -> measures:
        """Norms of the iterate, and the two energies of ``point``."""

    @wp.func
    def clear(w: int, option: Options, report: reports):
        """Zeros for all iterations of a world."""
        for k in range(option.max_iterations):
            for c in range(WIDTH):
                report.history[w * option.max_iterations + k, c] = scalar(0.0)

    @wp.func
    def record(w: int, space: scratch, slot: int, n: int, singles: int, option: Options, status: WorldStatus, report: reports):
        """The numbers of the iteration that the status is of, in the order of COLUMNS."""
        copy(space, slot, n, Y, POINT)
        multiply(space, slot, n, POINT)
        found = measure(space, slot, n, singles)
        norm = norms(space, slot, n, singles)
        tiny = wp.float64(2.220446049250313e-16)
        k = w * option.max_iterations + status.iterations - 1
        report.history[k, 0] = scalar(status.num_restarts)
        report.history[k, 1] = scalar(status.num_rho_updates)
        report.history[k, 2] = scalar(status.a)
        for c in range(4):
            report.history[k, 3 + c] = norm[c]
        report.history[k, 7] = scalar(status.r_dx)
        report.history[k, 8] = scalar(status.r_dy)
        report.history[k, 9] = scalar(status.r_dz)
        report.history[k, 10] = scalar(status.r_p)
        report.history[k, 11] = scalar(status.r_d)
        report.history[k, 12] = scalar(status.r_c)
        report.history[k, 13] = scalar(status.r_p / (status.r_d + tiny))
        report.history[k, 14] = scalar(status.r_d / (status.r_p + tiny))
        report.history[k, 15] = scalar(status.r_a)
        report.history[k, 16] = scalar(status.r_a / (status.r_a_pp + tiny))
        report.history[k, 17] = found[2]
        report.history[k, 18] = found[3]
        report.history[k, 19] = found[4]
        report.history[k, 20] = found[1]
        report.history[k, 21] = norm[4]
        report.history[k, 22] = norm[5]

    @wp.func
    def clear_nothing(w: int, option: Options, report: reports):
        """Where nothing is kept."""

    @wp.func
    def record_nothing(
        w: int, space: scratch, slot: int, n: int, singles: int, option: Options, status: WorldStatus, report: reports
    ):
        """Where nothing is kept."""

    return (clear, record) if collect else (clear_nothing, record_nothing)

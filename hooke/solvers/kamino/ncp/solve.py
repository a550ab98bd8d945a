"""The nonlinear complementarity problem of rigid contact by itself: kernels over worlds, and ``solve_ncp`` for one problem."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from hooke.execution.compile import load_kernels
from hooke.execution.work import Work, first_item, loops, next_item, whole_work
from hooke.solvers.kamino.ncp.options import Options, PenaltyMethod, WorldStatus, make_options, make_report
from hooke.solvers.kamino.ncp.problem import PAD, RowKind, make_problem
from hooke.solvers.kamino.ncp.scratch import make_scratch, scratch_places, scratch_size
from hooke.solvers.kamino.ncp.world import make_solve_world

__all__ = ["GivenProblem", "NcpSolution", "make_solve_worlds", "problem_of", "scratch_slot", "solve_ncp"]


@wp.func
def scratch_slot(work: Work, w: int):
    """The slot of whoever works on world ``w``: the worker's on a CPU, one for every world on CUDA."""
    return wp.where(loops() == 0, w, work.worker)


@cache
def make_solve_worlds(scalar: Any, collect: bool = False) -> Any:
    """The kernel that solves the problems of all worlds, over a type of numbers, with a history of the iterations or without."""
    solve_world = make_solve_world(scalar, collect)
    problems, scratch, reports = make_problem(scalar), make_scratch(scalar), make_report(scalar)

    @wp.kernel(enable_backward=False, module="unique")
    def solve_worlds(work: Work, options: wp.array(dtype=Options), problem: problems, space: scratch, report: reports):
        w = first_item(work, wp.tid())
        while w >= 0:
            report.world[w] = solve_world(w, 0, problem.count[w], scratch_slot(work, w), problem, options, space, report)
            w = next_item(work, w)

    return solve_worlds


class NcpSolution(NamedTuple):
    """What :func:`solve_ncp` found.

    Attributes:
        impulses: r of every contact, (normal, tangent 1, tangent 2), shape (contacts, 3).
        status: The fields of :class:`~hooke.solvers.kamino.ncp.options.WorldStatus`, a record of NumPy; ``status["converged"]`` is 0 where
            the tolerances were not reached.
        residual: max |r - P(r - u - s(u))|, the natural map of ``impulses`` with W as it was given.
        velocities: u = W r + q, shape (contacts, 3).
    """

    impulses: np.ndarray
    status: np.void
    residual: float
    velocities: np.ndarray


def solve_ncp(W: Any, q: Any, mu: Any, *, guess: Any = None, **options: Any) -> NcpSolution:
    """Solve a problem of rigid contacts with Coulomb friction in impulses.

    Find an impulse r_k = (r_n, r_t) for every contact k, with its velocity u_k of u = W r + q and s_k = (mu_k |u_t|, 0, 0), so that

        |r_t| <= mu r_n,     mu |u_t| <= u_n + mu |u_t|,     r_k . (u_k + s_k) = 0

    that is: contacts do not approach, impulses push, a contact that separates has none, one that slips has friction mu r_n against
    its motion (De Saxce, Feng 1998). The method is that of SolverKamino: semismooth Newton steps (Alart, Curnier 1991), and proximal
    ADMM where they do not find the solution (Carpentier, Le Lidec, Montaut 2024). W may be singular and slightly unsymmetric; it is
    used as it is.

    Args:
        W: Delassus matrix [1/kg], shape (3 n, 3 n), positive semidefinite up to what it is unsymmetric.
        q: Velocities without impulses [m/s], shape (3 n,), of every contact (normal, tangent 1, tangent 2).
        mu: Coefficient of friction of every contact, shape (n,) or a number.
        guess: Impulses to begin from [N s], shape (3 n,) or (n, 3); None for zeros.
        **options: Fields of :class:`~hooke.solvers.kamino.ncp.options.Options`, such as ``max_iterations=1000`` or ``dual_tolerance=1e-8``.

    Returns:
        Impulses, status, residual and velocities. Where nothing converged it is the point with the smallest natural map.

    Raises:
        ValueError: A shape does not fit, a number is not finite, or a coefficient of friction is negative.
        TypeError: There is no such option.
    """
    given = problem_of(W, q, mu, guess)
    told = make_options(**{**_DEFAULTS, "warm_start": guess is not None, **options})
    device = given.problem.row.device
    kernel = make_solve_worlds(wp.float64)
    load_kernels([kernel], device)
    inputs = [whole_work(0, 1), wp.array([told], dtype=Options, device=device), given.problem, given.space, given.report]
    wp.launch(kernel, dim=1, inputs=inputs, device=device)
    n = given.problem.kind.shape[0]
    impulses, velocities = np.empty(n), np.empty(n)
    order = _inside(n)
    impulses[order], velocities[order] = given.problem.impulse.numpy(), given.problem.velocity.numpy()
    status = given.report.world.numpy()[0]
    return NcpSolution(impulses.reshape(-1, 3), status, float(status["natural_map"]), velocities.reshape(-1, 3))


_DEFAULTS = {
    "penalty_update_method": int(PenaltyMethod.SPECTRAL), "primal_tolerance": 1e-9, "dual_tolerance": 1e-9, "compl_tolerance": 1e-9,
    "max_iterations": 1000, "path_steps": 400,
}  # fmt: skip


def _checked(W: Any, q: Any, mu: Any, guess: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The arguments of :func:`solve_ncp` as arrays of doubles."""
    matrix, free = np.asarray(W, dtype=np.float64), np.asarray(q, dtype=np.float64).reshape(-1)
    n = len(free)
    if n % 3 != 0:
        raise ValueError(f"q holds three numbers for every contact, (normal, tangent 1, tangent 2); it has {n}")
    if matrix.shape != (n, n) and not (n == 0 and matrix.size == 0):
        raise ValueError(f"W has shape {matrix.shape}; q of {n} numbers needs ({n}, {n})")
    friction = np.asarray(mu, dtype=np.float64)
    if friction.shape not in ((), (n // 3,)):
        raise ValueError(f"mu has shape {friction.shape}; it is a number or one for each of the {n // 3} contacts")
    friction = np.broadcast_to(friction, (n // 3,))
    start = np.zeros(n) if guess is None else np.asarray(guess, dtype=np.float64).reshape(-1)
    if len(start) != n:
        raise ValueError(f"guess has {len(start)} numbers; there are {n} impulses")
    for name, values in (("W", matrix), ("q", free), ("mu", friction), ("guess", start)):
        if not np.isfinite(values).all():
            where = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(f"{name}{where.tolist()} is {values[tuple(where)]}; all numbers must be finite")
    if (friction < 0).any():
        k = int(np.argmin(friction))
        raise ValueError(f"mu[{k}] is {friction[k]}; a coefficient of friction is not negative")
    return matrix.reshape(n, n), free, friction, start


class GivenProblem(NamedTuple):
    """A problem as the kernel takes it, the memory to solve it in, and what will be told."""

    problem: Any
    space: Any
    report: Any


def problem_of(W: Any, q: Any, mu: Any, guess: Any = None, copies: int = 1) -> GivenProblem:
    """The problem of :func:`solve_ncp`, which see, as that of so many worlds that are alike, on the CPU.

    Raises:
        ValueError: As :func:`solve_ncp`.
    """
    matrix, free, friction, start = _checked(W, q, mu, guess)
    n, wide, order = len(free), -(-len(free) // PAD) * PAD, _inside(len(free))
    padded, first = np.zeros((n, wide)), np.zeros(n)
    padded[:, :n] = matrix[np.ix_(order, order)]
    first[::3] = friction
    kinds = np.tile([int(RowKind.CONTACT), int(RowKind.REST), int(RowKind.REST)], n // 3)

    def whole(values: Any) -> wp.array:
        return wp.array(np.asarray(values, dtype=np.int32).reshape(-1), dtype=wp.int32, device="cpu")

    def numbers(values: Any) -> wp.array:
        return wp.array(np.tile(np.asarray(values, dtype=np.float64).reshape(-1), copies), dtype=wp.float64, device="cpu")

    problem = make_problem(wp.float64)()
    problem.row, problem.count = whole(n * np.arange(copies)), whole(np.full(copies, n))
    problem.entry, problem.stride = whole(n * wide * np.arange(copies)), whole(np.full(copies, wide))
    problem.kind, problem.friction = whole(np.tile(kinds, copies)), numbers(first)
    problem.matrix, problem.free = numbers(padded), numbers(free[order])
    problem.low, problem.high = numbers(np.zeros(n)), numbers(np.zeros(n))
    problem.impulse, problem.velocity = numbers(start[order]), numbers((matrix @ start + free)[order])
    space = make_scratch(wp.float64)()
    space.rows, space.size = n, scratch_size(n)
    space.numbers = wp.zeros(max(1, space.size), dtype=wp.float64, device="cpu")
    space.places = wp.zeros(scratch_places(n), dtype=wp.int32, device="cpu")
    report = make_report(wp.float64)()
    report.world = wp.zeros(copies, dtype=WorldStatus, device="cpu")
    report.history = wp.zeros((0, 0), dtype=wp.float64, device="cpu")
    return GivenProblem(problem, space, report)


def _inside(n: int) -> np.ndarray:
    """Where (tangent, tangent, normal) of every contact are among (normal, tangent, tangent)."""
    return np.arange(n).reshape(-1, 3)[:, [1, 2, 0]].reshape(-1)

"""Complementarity problems for tests: many in one launch, references in NumPy, and scenes that they come from."""

from itertools import pairwise

import numpy as np
import warp as wp

from hooke.execution.work import whole_work
from hooke.solvers.kamino.ncp.options import COLUMNS, Options, WorldStatus, make_options, make_report
from hooke.solvers.kamino.ncp.problem import PAD, RowKind, make_problem
from hooke.solvers.kamino.ncp.scratch import make_scratch, scratch_places, scratch_size
from hooke.solvers.kamino.ncp.solve import make_solve_worlds

CPU = "cpu"
CONTACT_ROWS = [int(RowKind.CONTACT), int(RowKind.REST), int(RowKind.REST)]
INFINITY = np.inf


def rows(S, v, kinds=None, mu=0.0, low=-INFINITY, high=INFINITY):
    """A problem as a dictionary; without kinds all rows are contacts. mu is for the contacts, in their order, or for all."""
    n = len(v)
    kinds = np.array(CONTACT_ROWS * (n // 3) if kinds is None else [int(k) for k in kinds])
    friction = np.zeros(n)
    friction[kinds == RowKind.CONTACT] = mu
    fill = lambda value: np.broadcast_to(np.asarray(value, dtype=float), (n,)).copy()
    return {
        "S": np.asarray(S, float),
        "v": np.asarray(v, float),
        "kinds": kinds,
        "mu": friction,
        "low": fill(low),
        "high": fill(high),
    }


class Solved:
    """What the kernel makes of problems, of one world each: ``impulse``, ``velocity`` and ``status`` of every one, and its ``history``.

    Args:
        problems: See :func:`rows`; with "impulse" and "velocity" for a warm start.
        scalar: wp.float64 or wp.float32.
        collect: Whether to keep the history.
        room: Rows that there is memory for; None for enough.
        each: Options that differ between worlds, name to list.
        options: Options of all.
    """

    def __init__(self, problems, scalar=wp.float64, collect=False, room=None, each=None, **options):
        self.scalar = scalar
        sizes = np.array([len(p["v"]) for p in problems])
        wide = -(-sizes // PAD) * PAD
        row, entry = np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([[0], np.cumsum(sizes * wide)])
        matrix = np.zeros(entry[-1] + PAD)
        for k, p in enumerate(problems):
            padded = np.zeros((sizes[k], wide[k]))
            padded[:, : sizes[k]] = p["S"]
            matrix[entry[k] : entry[k + 1]] = padded.reshape(-1)
        problem = make_problem(scalar)()
        problem.row, problem.count, problem.entry, problem.stride = map(self._whole, (row[:-1], sizes, entry[:-1], wide))
        problem.matrix, problem.kind = self._numbers(matrix), self._whole(self._all(problems, "kinds"))
        names = {"v": "free", "mu": "friction", "low": "low", "high": "high", "impulse": "impulse", "velocity": "velocity"}
        for name, field in names.items():
            setattr(problem, field, self._numbers(self._all(problems, name)))
        space = make_scratch(scalar)()
        space.rows = int(sizes.max(initial=0)) if room is None else room
        space.size = scratch_size(space.rows)
        space.numbers = wp.zeros(space.size + 1, dtype=scalar, device=CPU)
        space.places = wp.zeros(scratch_places(space.rows), dtype=wp.int32, device=CPU)
        different = [dict(zip(each, values)) for values in zip(*each.values())] if each else [{}]
        told = [make_options(**{**options, **own}) for own in different]
        report, most = make_report(scalar)(), told[0].max_iterations
        report.world = wp.zeros(len(problems), dtype=WorldStatus, device=CPU)
        report.history = wp.full((len(problems) * most, len(COLUMNS)) if collect else (0, 0), 7.0, dtype=scalar, device=CPU)
        options_of = wp.array(told, dtype=Options, device=CPU)
        inputs = [whole_work(0, len(problems)), options_of, problem, space, report]
        wp.launch(make_solve_worlds(scalar, collect), dim=1, inputs=inputs, device=CPU)
        impulses, velocities = problem.impulse.numpy(), problem.velocity.numpy()
        self.impulse = [impulses[a:b] for a, b in pairwise(row)]
        self.velocity = [velocities[a:b] for a, b in pairwise(row)]
        self.status = report.world.numpy()
        kept = report.history.numpy()
        self.history = [dict(zip(COLUMNS, kept[w * most : (w + 1) * most].T)) for w in range(len(problems))] if collect else []

    def _all(self, problems, name):
        parts = [np.asarray(p.get(name, np.zeros(len(p["v"])))) for p in problems]
        return np.concatenate([*parts, np.zeros(1)])

    def _whole(self, values):
        return wp.array(np.asarray(values, dtype=np.int32), dtype=wp.int32, device=CPU)

    def _numbers(self, values):
        kind = np.float64 if self.scalar is wp.float64 else np.float32
        return wp.array(np.asarray(values, dtype=kind), dtype=self.scalar, device=CPU)


def project_cone(a, mu):
    """The point of {|t| <= mu n} nearest to a = (t, t, n)."""
    t = np.hypot(a[0], a[1])
    if mu * t <= -a[2]:
        return np.zeros(3)
    if t <= mu * a[2]:
        return a.copy()
    n = (mu * t + a[2]) / (mu * mu + 1)
    return np.array([a[0] * mu * n / t, a[1] * mu * n / t, n])


def each_block(p):
    """(slice, mu or None, low, high) of every contact and every other row."""
    i, bounds = 0, {int(RowKind.BILATERAL): (-INFINITY, INFINITY), int(RowKind.ONE_SIDED): (0.0, INFINITY)}
    while i < len(p["v"]):
        kind = int(p["kinds"][i])
        if kind == RowKind.CONTACT:
            yield slice(i, i + 3), p["mu"][i], None, None
            i += 3
        else:
            yield slice(i, i + 1), None, *bounds.get(kind, (p["low"][i], p["high"][i]))
            i += 1


def scales(p, scaled=True):
    """1 / sqrt(S_ii), for the rows of a contact the least of the three."""
    scale, diagonal = np.ones(len(p["v"])), np.diag(p["S"])
    for at, *_ in each_block(p):
        most = diagonal[at].max()
        scale[at] = 1.0 / np.sqrt(most) if scaled and most > 1e-35 else 1.0
    return scale


def project(p, a, scale=None):
    """The point of the sets of all rows that is nearest to a, for l divided by ``scale``."""
    scale = np.ones(len(a)) if scale is None else scale
    result = np.empty_like(a)
    for at, mu, low, high in each_block(p):
        result[at] = np.clip(a[at], low / scale[at], high / scale[at]) if mu is None else project_cone(a[at], mu)
    return result


def de_saxce(p, v):
    s = np.zeros(len(v))
    for at, mu, _, _ in each_block(p):
        if mu is not None:
            s[at.stop - 1] = mu * np.hypot(v[at.start], v[at.start + 1])
    return s


def natural_map(p, impulse, scaled=False):
    """max |l - P(l - v - s(v))|, of l / scale and scale v if ``scaled``."""
    if len(impulse) == 0:
        return 0.0
    scale = scales(p, scaled)
    x, z = np.asarray(impulse, float) / scale, (p["S"] @ np.asarray(impulse, float) + p["v"]) * scale
    return float(np.abs(x - project(p, x - z - de_saxce(p, z), scale)).max())


def reference(p, sweeps=4000):
    """A solution by block Gauss-Seidel, each block by a fixed point, for problems with a definite matrix of moderate size."""
    impulse = np.zeros(len(p["v"]))
    part = {k: {name: value[at] for name, value in p.items() if name != "S"} | {"S": p["S"][at, at]} for k, (at, *_) in blocks(p)}
    for _ in range(sweeps):
        before = impulse.copy()
        for k, (at, *_) in blocks(p):
            own, x = part[k], impulse[at]
            rest, step = p["S"][at] @ impulse + p["v"][at] - own["S"] @ x, 1.0 / np.linalg.eigvalsh(own["S"]).max()
            for _ in range(100):
                v = own["S"] @ x + rest
                moved = project(own, x - step * (v + de_saxce(own, v)))
                done, x = np.abs(moved - x).max() < 1e-15 * (1 + np.abs(x).max()), moved
                if done:
                    break
            impulse[at] = x
        if np.abs(impulse - before).max() < 1e-14 * (1 + np.abs(impulse).max()):
            break
    return impulse


def blocks(p):
    return list(enumerate(each_block(p)))


def proximal_admm(p, iterations, rho=1.0, eta=1e-5, accelerated=True, restart_tolerance=0.999, scaled=True, a_0=1.0):
    """Theory 5.2 and 5.3: a list of what holds after every iteration, and the impulses P y."""
    n, scale = len(p["v"]), scales(p, scaled)
    A, q = scale[:, None] * p["S"] * scale, scale * p["v"]
    inverse = np.linalg.inv(A + (eta + rho) * np.eye(n))
    x_old = y_old = z_old = y_ahead = z_ahead = np.zeros(n)
    a, r_a, restarts, told = a_0, np.inf, 0, []
    for _ in range(iterations):
        x = inverse @ (-q - de_saxce(p, z_ahead) + eta * x_old + rho * y_ahead + z_ahead)
        y = project(p, x - z_ahead / rho, scale)
        z = z_ahead + rho * (y - x)
        r_p, r_d = np.abs(scale * (x - y)).max(), np.abs((eta * (x - x_old) + rho * (y - y_ahead)) / scale).max()
        r_dx, r_dy = np.linalg.norm(scale * (x - x_old)), np.linalg.norm(scale * (y - y_ahead))
        r_dz, restart = np.linalg.norm((z - z_ahead) / scale), False
        combined = rho * r_dy**2 + r_dz**2 / rho
        y_ahead, z_ahead = y, z
        if accelerated:
            if combined < restart_tolerance * r_a:
                a_next = (1 + np.sqrt(1 + 4 * a * a)) / 2
                factor, a = (a - 1) / a_next, a_next
                y_ahead, z_ahead = y + factor * (y - y_old), z + factor * (z - z_old)
            else:
                y_ahead, z_ahead, a, restart, combined = y_old, z_old, a_0, True, r_a / restart_tolerance
        restarts += restart
        r_a, x_old, y_old, z_old = combined, x, y, z
        told.append(
            {"num_restarts": restarts, "a": a, "norm_x": np.linalg.norm(x), "norm_y": np.linalg.norm(y), "norm_z": np.linalg.norm(z),
             "norm_s": np.linalg.norm(de_saxce(p, z)), "r_dx": r_dx, "r_dy": r_dy, "r_dz": r_dz, "r_primal": r_p, "r_dual": r_d,
             "r_comb": r_a, "restart": restart, "impulse": scale * y, "z": z}
        )  # fmt: skip
    return told


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def tangents(n):
    t = np.cross(n, [1.0, 0, 0] if abs(n[0]) < 0.7 else [0, 1.0, 0])
    t /= np.linalg.norm(t)
    return t, np.cross(n, t)


def contact_rows(point, centre, n):
    """Rows (t, o, n) of a body that a point is of."""
    r = np.hstack([np.eye(3), -skew(np.asarray(point) - centre)])
    return np.array([*tangents(np.asarray(n, float)), n]) @ r


def of_bodies(J, inverse, twist, mu, bias=0.0, **more):
    """The problem of rows J of bodies with an inverse mass matrix and a twist."""
    return rows(J @ inverse @ J.T, J @ twist + bias, mu=mu, **more)


def box_on_plane(velocity, mu, mass=1.0, half=0.1, dt=1e-3, gravity=9.81):
    """(problem, J, M^-1, twist without contacts) of a cube that stands on a plane and moves: four contacts, of which S has rank six."""
    corners = half * np.array([[x, y, -1.0] for x in (-1, 1) for y in (-1, 1)])
    J = np.vstack([contact_rows(c, np.zeros(3), [0.0, 0, 1]) for c in corners])
    inverse = np.diag([1 / mass] * 3 + [1.5 / (mass * half * half)] * 3)
    twist = np.array([*velocity, 0, 0, 0.0])
    twist[2] -= dt * gravity
    return of_bodies(J, inverse, twist, mu), J, inverse, twist


def sphere_on_plane(velocity, mu, mass=1.0, radius=0.1):
    """The same of a sphere, with one contact: S = diag(7/2, 7/2, 1) / m."""
    J = contact_rows([0, 0, -radius], np.zeros(3), [0.0, 0, 1])
    inverse = np.diag([1 / mass] * 3 + [2.5 / (mass * radius * radius)] * 3)
    twist = np.array([*velocity, 0, 0, 0.0])
    return of_bodies(J, inverse, twist, mu), J, inverse, twist


def random_pile(rng, spread=6.0, most=30):
    """Bodies with masses 1 ... 10^spread, in contact at up to ``most`` points, many in one plane, with friction 0 ... 2.

    All contacts can separate at once, so that there is a solution.
    """
    contacts = int(rng.integers(1, most + 1))
    bodies = int(rng.integers(1, contacts // 2 + 2))
    mass, centre = 10 ** rng.uniform(0, spread, bodies), 2 * rng.normal(size=(bodies, 3))
    inverse, twist = np.zeros((6 * bodies, 6 * bodies)), rng.normal(size=6 * bodies) * rng.choice([0.01, 1, 5])
    for b in range(bodies):
        turn, at = np.linalg.qr(rng.normal(size=(3, 3)))[0], slice(6 * b + 3, 6 * b + 6)
        inverse[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.eye(3) / mass[b]
        inverse[at, at] = turn @ np.diag(1 / (mass[b] * rng.uniform(0.05, 0.5, 3))) @ turn.T
    twist[2::6] -= rng.choice([0.0981, 1, 3])
    J, mu, bias = np.zeros((0, 6 * bodies)), [], []
    while len(mu) < contacts:
        b, a = int(rng.integers(bodies)), int(rng.integers(-1, bodies))
        if a == b or rng.random() < 0.4:
            a = -1
        n = centre[b] - centre[a] if a >= 0 else np.array([0, 0, 1.0]) + 0.1 * rng.normal(size=3) * rng.integers(2)
        middle = (centre[b] + centre[a]) / 2 if a >= 0 else centre[b] - [0, 0, 0.5]
        n, count = n / np.linalg.norm(n), min(contacts - len(mu), int(rng.choice([1, 1, 2, 4, 4, 8])))
        friction = rng.choice([0, 0.1, 0.3, 0.5, 0.8, 1, 2, rng.uniform(0, 2)])
        for _ in range(count):
            point, block = middle + rng.uniform(-0.5, 0.5, 2) @ np.array(tangents(n)), np.zeros((3, 6 * bodies))
            block[:, 6 * b : 6 * b + 6] = contact_rows(point, centre[b], n)
            if a >= 0:
                block[:, 6 * a : 6 * a + 6] = -contact_rows(point, centre[a], n)
            J, mu = np.vstack([J, block]), [*mu, friction]
            bias += [0, 0, rng.choice([0, 0, 0, -0.01, 0.05])]
    return of_bodies(J, inverse, twist, mu, np.array(bias))
